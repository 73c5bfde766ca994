#include "controller/xdisk/xdisk_output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr double kBytesPerMebibyte = 1 << 20;
constexpr double kNsOfMs = 1e6;
constexpr size_t kLabelWidth = 20;
// Width of a share in a distribution, where columns are aligned.
constexpr size_t kShareWidth = 3;

constexpr std::array<const char*, 16> kColumns = {"BS",      "Proc",    "AIO",     "read%",   "IO",      "Flag",
                                                  "IO/s",    "MB/s",    "rMin-ms", "rMax-ms", "rAvg-ms", "WtAvg",
                                                  "wMin-ms", "wMax-ms", "wAvg-ms", "WwAvg"};
// The columns of -c, in iostat's words and order; those of reads are behind the device's name.
constexpr std::array<const char*, 7> kDeviceColumns = {"Device", "w/s", "wMB/s", "w_await", "f/s", "f_await", "%util"};
constexpr std::array<const char*, 3> kDeviceReadColumns = {"r/s", "rMB/s", "r_await"};
// The columns of -x: buckets by their lower ends, behind their units. "us" is the bucket below 1 us; the columns of the
// other units stay empty.
constexpr std::array<const char*, 24> kShareColumns = {"us",  "1",   "2",   "4",   "8",   "16",  "32", "64",
                                                       "128", "256", "512", "ms",  "1",   "2",   "4",  "8",
                                                       "16",  "32",  "64",  "128", "256", "512", "s",  "1"};
constexpr std::array<size_t, 2> kEmptyShares = {11, 22};

struct XdiskLocale {
  const char* name;
  char group;
};
// The decimal point stays a point, as in the guide's sample of de_DE.
constexpr XdiskLocale kLocales[] = {{"en_US", ','}, {"de_DE", '.'}};

std::string WithGroups(const std::string& text, const std::string& locale) {
  const auto known = std::ranges::find_if(kLocales, [&locale](const XdiskLocale& each) { return each.name == locale; });
  if (known == std::end(kLocales)) return text;
  const size_t whole = std::min(text.find('.'), text.size());
  std::string grouped;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && i < whole && (whole - i) % 3 == 0) grouped += known->group;
    grouped += text[i];
  }
  return grouped;
}

// 64K, 1M, 512.
std::string BlockSizeText(uint64_t bytes) {
  if (bytes % (1U << 20U) == 0) return absl::StrCat(bytes >> 20U, "M");
  if (bytes % (1U << 10U) == 0) return absl::StrCat(bytes >> 10U, "K");
  return absl::StrCat(bytes);
}

// "64 KB".
std::string BlockSizeInWords(uint64_t bytes) {
  if (bytes % (1U << 20U) == 0) return absl::StrCat(bytes >> 20U, " MB");
  if (bytes % (1U << 10U) == 0) return absl::StrCat(bytes >> 10U, " KB");
  return absl::StrCat(bytes, " Byte");
}

std::string ReadsInWords(uint32_t percent) {
  if (percent == 0) return "Write Only";
  if (percent == kOnlyReads) return "Read Only";
  if (percent == 50) return "Equal read and write";
  return absl::StrCat(percent, "% read, ", kOnlyReads - percent, "% write");
}

std::string FlagsInWords(const XdiskOptions& options) {
  std::vector<std::string> names;
  if (options.HasFlag('S')) names.emplace_back("O_SYNC");
  if (options.HasFlag('W')) names.emplace_back("O_DSYNC");
  if (options.HasFlag('D')) names.emplace_back("O_DIRECT");
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

std::string InfoLine(const std::string& label, const std::string& value) {
  return absl::StrCat(label, std::string(kLabelWidth - std::min(kLabelWidth, label.size()), ' '), ": ", value, "\n");
}

// A line of cells: separated by single blanks (-V), or aligned below the names of their columns.
class XdiskLine {
 public:
  explicit XdiskLine(bool aligned) : aligned_(aligned) {}

  void Add(const std::string& cell, size_t width = 0) {
    if (!text_.empty()) text_ += ' ';
    text_ += cell;
    if (aligned_ && cell.size() < width) text_.append(width - cell.size(), ' ');
  }
  void AddRight(const std::string& cell, size_t width) {
    Add(aligned_ && cell.size() < width ? std::string(width - cell.size(), ' ') + cell : cell);
  }
  size_t size() const { return text_.size(); }
  std::string Text() const {
    std::string text = text_.substr(0, text_.find_last_not_of(' ') + 1);
    return text + "\n";
  }

 private:
  bool aligned_;
  std::string text_;
};

void AddNames(std::span<const char* const> names, XdiskLine& line) {
  for (const char* const name : names) line.Add(name, std::string_view(name).size());
}

void AddShareNames(XdiskLine& line) {
  for (const char* const name : kShareColumns) line.AddRight(name, kShareWidth);
}

// Minimum, maximum, average and weighted average in milliseconds.
void AddSide(const XdiskSide& side, const std::string& locale, std::span<const char* const> names, XdiskLine& line) {
  const double times_ns[] = {side.min_ns, side.max_ns, side.avg_ns, side.weighted_avg_ns};
  for (size_t i = 0; i < std::size(times_ns); ++i) {
    const std::string text = side.count == 0 ? "0.0" : FormatXdiskNumber(times_ns[i] / kNsOfMs, locale);
    line.Add(text, std::string_view(names[i]).size());
  }
}

std::vector<const char*> DeviceColumns(const XdiskOptions& options) {
  std::vector<const char*> names(kDeviceColumns.begin(), kDeviceColumns.end());
  if (options.shows_device_reads) {
    names.insert(names.begin() + 1, kDeviceReadColumns.begin(), kDeviceReadColumns.end());
  }
  return names;
}

// A dash for reads that the agent of a known device does not report.
void AddDevices(const XdiskDevices& devices, const XdiskOptions& options, XdiskLine& line) {
  std::vector<std::string> cells = {devices.name.empty() ? "-" : SanitizeForTerminal(devices.name)};
  const auto add = [&](double figure) { cells.push_back(FormatXdiskNumber(figure, options.locale)); };
  if (options.shows_device_reads && !devices.reads.has_value() && !devices.name.empty()) {
    cells.insert(cells.end(), kDeviceReadColumns.size(), "-");
  } else if (options.shows_device_reads) {
    const XdiskDeviceReads reads = devices.reads.value_or(XdiskDeviceReads());
    for (const double figure : {reads.per_second, reads.bytes_per_second / kBytesPerMebibyte, reads.read_ms}) {
      add(figure);
    }
  }
  for (const double figure : {devices.writes_per_second, devices.bytes_per_second / kBytesPerMebibyte, devices.write_ms,
                              devices.flushes_per_second, devices.flush_ms, devices.busy_percent}) {
    add(figure);
  }
  const std::vector<const char*> names = DeviceColumns(options);
  for (size_t i = 0; i < cells.size(); ++i) line.Add(cells[i], std::string_view(names[i]).size());
}

// In 1/1000, rounded down. `summary`: -V.
std::string ShareText(uint64_t count, uint64_t all, bool summary) {
  const uint64_t share =
      all == 0 ? 0 : static_cast<uint64_t>(static_cast<double>(count) * 1000 / static_cast<double>(all));
  if (share > 0 || summary) return absl::StrCat(share);
  return count == 0 ? "___" : "---";
}

void AddShares(const XdiskSide& side, bool summary, XdiskLine& line) {
  uint64_t all = 0;
  for (const uint64_t count : side.buckets) all += count;
  size_t bucket = 0;
  for (size_t column = 0; column < kShareColumns.size(); ++column) {
    const bool none = std::ranges::find(kEmptyShares, column) != kEmptyShares.end();
    line.AddRight(ShareText(none ? 0 : side.buckets[bucket], all, summary), kShareWidth);
    if (!none) ++bucket;
  }
}
static_assert(std::tuple_size_v<XdiskBuckets> + kEmptyShares.size() == kShareColumns.size());

// The columns before the distributions.
XdiskLine FiguresLine(const XdiskOptions& options, const XdiskFigures& figures) {
  XdiskLine line(!options.summary);
  const double mb_per_second = figures.per_second() * static_cast<double>(options.block_size_bytes) / kBytesPerMebibyte;
  const std::string cells[] = {
      BlockSizeText(options.block_size_bytes),
      absl::StrCat(options.processes),
      absl::StrCat(options.async),
      absl::StrCat(options.read_percent),
      absl::StrCat(options.random ? "R" : "S", options.creates() ? "C" : ""),
      absl::StrCat("-", options.flags),
      FormatXdiskNumber(figures.per_second(), options.locale),
      FormatXdiskNumber(mb_per_second, options.locale),
  };
  for (size_t i = 0; i < std::size(cells); ++i) line.Add(cells[i], std::string_view(kColumns[i]).size());
  const std::span<const char* const> names(kColumns);
  AddSide(figures.reads, options.locale, names.subspan(8, 4), line);
  AddSide(figures.writes, options.locale, names.subspan(12, 4), line);
  if (options.shows_devices) AddDevices(figures.devices, options, line);
  return line;
}

}  // namespace

bool IsXdiskLocale(const std::string& name) {
  return std::ranges::any_of(kLocales, [&name](const XdiskLocale& each) { return each.name == name; });
}

std::string FormatXdiskNumber(double value, const std::string& locale) {
  if (!std::isfinite(value) || value <= 0) return "0.0";
  // Rounding may add a digit before the point, which takes the place of a decimal.
  int decimals = 3;
  for (double scale = 1; decimals > 0 && std::round(value * std::pow(10, decimals)) >= scale * std::pow(10, decimals);
       scale *= 10) {
    --decimals;
  }
  return WithGroups(absl::StrFormat("%.*f", decimals, value), locale);
}

std::string RenderXdiskInfo(const XdiskOptions& options, const std::string& start) {
  std::string text = "IO Disk test\n";
  absl::StrAppend(&text, InfoLine("No. IO threads", absl::StrCat(options.processes)));
  absl::StrAppend(&text, InfoLine("No. Async threads", absl::StrCat(options.async)));
  if (options.creates()) absl::StrAppend(&text, InfoLine("I/O type", "Create file"));
  absl::StrAppend(&text, InfoLine("I/O type", options.random ? "Random" : "Sequential"));
  absl::StrAppend(&text, InfoLine("Block size", BlockSizeInWords(options.block_size_bytes)));
  absl::StrAppend(&text, InfoLine("", ReadsInWords(options.read_percent)));
  absl::StrAppend(&text, InfoLine("Start time", start));
  absl::StrAppend(&text, InfoLine("Sync type", options.uses_fsync() ? "fsync() after each write." : "no fsync()."));
  absl::StrAppend(&text, InfoLine("File open Flag", FlagsInWords(options)));
  absl::StrAppend(&text, InfoLine("Number of files", absl::StrCat(options.files.size())));
  const uint64_t size = options.creates() ? options.create_bytes : options.size_bytes;
  if (size > 0) {
    absl::StrAppend(&text, InfoLine("File size", absl::StrCat(size >> 20U, " MB, ", size >> 30U, " GB")));
  }
  absl::StrAppend(&text, InfoLine("Run time", absl::StrCat(options.one_pass ? 0 : options.duration_s, " seconds")));
  if (options.warmup_s > 0) {
    absl::StrAppend(&text, InfoLine("Warm up time", absl::StrCat(options.warmup_s, " seconds")));
  }
  absl::StrAppend(&text, InfoLine("Snooze %", absl::StrCat(options.snooze_percent, " percent")));
  absl::StrAppend(&text, InfoLine("File Names", absl::StrCat("\"", SanitizeForTerminal(options.files_text), "\"")));
  if (!options.host_names.empty()) {
    absl::StrAppend(&text, InfoLine("Hosts", SanitizeForTerminal(absl::StrJoin(options.host_names, ","))));
  }
  return text;
}

std::string RenderXdiskHeader(const XdiskOptions& options) {
  XdiskLine line(!options.summary);
  AddNames(kColumns, line);
  if (options.shows_devices) AddNames(DeviceColumns(options), line);
  if (options.shows_reads || options.shows_writes) AddShareNames(line);
  if (options.summary && options.shows_reads && options.shows_writes) AddShareNames(line);
  return line.Text();
}

std::string RenderXdiskResult(const XdiskOptions& options, const XdiskResult& result) {
  std::vector<const XdiskSide*> sides;
  if (options.shows_reads) sides.push_back(&result.all.reads);
  if (options.shows_writes) sides.push_back(&result.all.writes);
  XdiskLine line = FiguresLine(options, result.all);
  if (options.summary) {
    for (const XdiskSide* const side : sides) AddShares(*side, /*summary=*/true, line);
    return line.Text();
  }
  std::string text;
  const size_t indent = line.size();
  for (size_t i = 0; i < sides.size(); ++i) {
    if (i > 0) {
      text += line.Text();
      line = XdiskLine(/*aligned=*/true);
      line.Add(std::string(indent, ' '));
    }
    AddShares(*sides[i], /*summary=*/false, line);
  }
  text += line.Text();
  if (result.hosts.size() < 2) return text;
  for (size_t number = 0; number < result.hosts.size(); ++number) {
    const XdiskFigures& host = result.hosts[number];
    XdiskLine own = FiguresLine(options, host);
    // If each host of -n has figures, the name that the user gave.
    const bool all_named = result.hosts.size() == options.host_names.size();
    own.Add(SanitizeForTerminal(all_named ? options.host_names[number] : host.host));
    text += own.Text();
  }
  return text;
}

}  // namespace plimsoll
