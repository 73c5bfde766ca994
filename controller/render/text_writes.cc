// The text report's parts about the writes of a step: stalls, the slowest ones, and how latencies are distributed.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"

namespace plimsoll {

const char* StallClassName(v1::StallClass stall_class) {
  switch (stall_class) {
    case v1::STALL_CLASS_HOST_PAUSED:
      return "host paused";
    case v1::STALL_CLASS_ALL_HOSTS:
      return "all hosts: the storage";
    case v1::STALL_CLASS_SOME_HOSTS:
      return "some hosts, not all";
    case v1::STALL_CLASS_ONE_HOST:
      return "one host: its path";
    case v1::STALL_CLASS_ONE_QM:
      return "one QM of a host";
    case v1::STALL_CLASS_SINGLE_HOST:
      return "storage or path (undetermined)";
    case v1::STALL_CLASS_SOME_QMS:
      return "some QMs of a host";
    default:
      return "not known";
  }
}

namespace {

constexpr size_t kStallsShown = 10;
// Columns for the names of the affected.
constexpr size_t kWhoWidth = 26;
// The class alone, for a column.
const char* ShortMeaning(v1::StallClass stall_class) {
  switch (stall_class) {
    case v1::STALL_CLASS_ALL_HOSTS:
      return "all hosts";
    case v1::STALL_CLASS_SOME_HOSTS:
      return "some hosts";
    case v1::STALL_CLASS_ONE_HOST:
      return "one host";
    case v1::STALL_CLASS_ONE_QM:
      return "one QM";
    case v1::STALL_CLASS_SINGLE_HOST:
      return "undetermined";
    case v1::STALL_CLASS_SOME_QMS:
      return "some QMs";
    default:
      return StallClassName(stall_class);
  }
}

// Hosts by name; a single one with its writers where not all of its writers stalled.
std::string Who(const v1::Report& report, const v1::StallReport& stall) {
  const bool by_qm = stall.stall_class() == v1::STALL_CLASS_ONE_QM || stall.stall_class() == v1::STALL_CLASS_SOME_QMS;
  if (!by_qm) return absl::StrJoin(stall.hosts(), ", ");
  std::vector<uint32_t> qms;
  for (const v1::StalledWriterReport& writer : stall.writers()) qms.push_back(writer.qm());
  std::sort(qms.begin(), qms.end());
  const std::string host = stall.hosts().empty() ? "" : stall.hosts(0);
  std::string who = absl::StrCat(host, "/qm", absl::StrJoin(qms, ","));
  if (HasPlacement(report)) {
    who = absl::StrCat(host, "/", absl::StrJoin(qms, ",", [&](std::string* out, uint32_t qm) {
                         absl::StrAppend(out, QmText(report, host, qm));
                       }));
  }
  if (stall.writers_count() > qms.size()) absl::StrAppend(&who, ",...");
  return who;
}

// What counted, where the writers' medians made it something else than the report's least.
std::string Threshold(const v1::StallsReport& stalls) {
  std::string least = FormatLength(stalls.threshold_ns());
  if (!stalls.threshold_by_median()) return least;
  if (stalls.largest_threshold_ns() <= stalls.threshold_ns()) {
    return absl::StrCat(least, " (or 20x median, whichever is greater)");
  }
  const std::string largest = FormatShortTime(stalls.largest_threshold_ns());
  if (stalls.least_threshold_ns() == stalls.largest_threshold_ns()) {
    return absl::StrCat(largest, " (20x median, which is greater than ", least, ")");
  }
  return absl::StrCat(FormatShortTime(stalls.least_threshold_ns()), " to ", largest, " (", least,
                      " or 20x the writer's median, whichever is greater)");
}

// The most writes in one of its writers' stall intervals.
uint64_t MostWrites(const v1::StallReport& stall) {
  uint64_t most = 0;
  for (const v1::StalledWriterReport& writer : stall.writers()) most = std::max(most, writer.writes());
  return most;
}

std::string Counts(const v1::StallsReport& stalls) {
  std::vector<std::string> parts;
  for (const v1::StallCount& count : stalls.classes()) {
    parts.push_back(absl::StrCat(FormatCount(count.count()), " x ", StallClassName(count.stall_class())));
  }
  return absl::StrJoin(parts, "; ");
}

std::vector<const v1::StallReport*> Longest(const v1::StallsReport& stalls) {
  std::vector<const v1::StallReport*> longest;
  for (const v1::StallReport& stall : stalls.stalls()) longest.push_back(&stall);
  StableSort(longest,
             [](const v1::StallReport* a, const v1::StallReport* b) { return a->length_ns() > b->length_ns(); });
  longest.resize(std::min(longest.size(), kStallsShown));
  // Back into the order of time.
  StableSort(longest,
             [](const v1::StallReport* a, const v1::StallReport* b) { return a->offset_ns() < b->offset_ns(); });
  return longest;
}

}  // namespace

std::vector<std::string> TextStalls(const v1::Report& report, const v1::StepReport& step) {
  if (!step.has_stalls()) return {};
  const v1::StallsReport& stalls = step.stalls();
  std::vector<std::string> lines;
  const uint32_t read_percent = report.plan().read_percent();
  const bool calls = !MainCall(report.plan()).empty();
  const std::string operation = calls ? "call" : AnyOperation(read_percent);
  const std::string operations = operation + "s";
  const std::string one = calls ? "a call" : OneOperation(read_percent);
  const std::string what = absl::StrCat("in flight or overdue for ", Threshold(stalls));
  if (stalls.count() == 0 && stalls.left_out() == 0) {
    AddIndented(absl::StrCat("No stalls: no ", operation, " was ", what), lines);
  } else if (stalls.count() == 0) {
    AddIndented(absl::StrCat("Stalls: none known of ", one, " ", what), lines);
  } else {
    AddIndented(absl::StrCat("Stalls: ", one, " ", what), lines);
    AddIndented(Counts(stalls), lines);
    const std::vector<const v1::StallReport*> longest = Longest(stalls);
    const bool several = std::any_of(longest.begin(), longest.end(),
                                     [](const v1::StallReport* stall) { return MostWrites(*stall) > 1; });
    std::vector<std::string> headings = {"began", "class", "affected", "|", "length ms", "error ms"};
    // The table leaves no room for the word "operations".
    const std::string column = ReadsAndWrites(read_percent) ? "IOs" : operations;
    if (several) headings.insert(headings.end() - 1, column);
    const std::vector<std::string> host_names = HostNamesOf(report);
    TextTable table(headings, 3, {2}, host_names);
    bool long_names = false;
    for (const v1::StallReport* stall : longest) {
      const std::string who = SanitizeForTerminal(Who(report, *stall));
      long_names = long_names || DisplayWidth(who) > kWhoWidth;
      // One name has whatever room there is.
      const bool one_host = stall->hosts_size() == 1;
      std::vector<std::string> cells = {FormatTimeOfDay(stall->begin(), report.run().begin()),
                                        ShortMeaning(stall->stall_class()),
                                        one_host ? who : ShortenNamesIn(who, host_names, kWhoWidth),
                                        FormatLatency(static_cast<double>(stall->length_ns()), kNsPerMs),
                                        FormatLatency(static_cast<double>(stall->error_ns()), kNsPerMs)};
      if (several) {
        const uint64_t writes = MostWrites(*stall);
        cells.insert(cells.end() - 1, writes == 0 ? kDash : FormatCount(writes));
      }
      table.AddRow(cells, stall->open() ? " open" : "");
    }
    AppendLines(table.Lines(), lines);
    if (several) {
      AddIndented(absl::StrCat(column, ": the most ", operations, " in one writer's stall interval (with --rate, ",
                               operations, " that were overdue; with --stall, a run of slow ", operations, ")."),
                  lines);
    }
    if (stalls.count() > longest.size()) {
      AddIndented(absl::StrCat("These are the ", longest.size(), " longest of ", FormatCount(stalls.count()),
                               "; report.json has up to 100 of them."),
                  lines);
    } else if (long_names) {
      AddIndented("report.json lists all affected queue managers.", lines);
    }
  }
  if (stalls.left_out() > 0) {
    AddIndented(
        absl::StrCat(
            FormatCount(stalls.left_out()),
            " possible stall intervals are not counted: too many to report or analyse, or no clock probe covers them."),
        lines);
  }
  return lines;
}

std::vector<std::string> TextSlowest(const v1::Report& report, const v1::StepReport& step) {
  const bool by_response = !step.response().slowest().empty();
  const auto& slowest = by_response ? step.response().slowest() : step.slowest();
  if (slowest.empty()) return {};
  std::vector<std::string> lines = {absl::StrCat("  Slowest ", MainOperations(report.plan()), ", by ",
                                                 by_response ? "response" : "service", " time",
                                                 by_response ? "; times in ms" : "")};
  const char* const place = UsesFiles(report.plan().workload()) ? "file" : "extent";
  std::vector<std::string> headings = {"QM", place, "began", "|", "ms", "number", "offset", "error ms"};
  if (by_response) headings = {"QM", place, "began", "|", "response", "service", "number", "offset"};
  TextTable table(headings, 3, {0, 1}, HostNamesOf(report));
  for (const v1::SlowestReport& write : slowest) {
    // The end of a path is what differs between files.
    std::string extent = ExtentName(report, write.host(), write.extent());
    extent = extent.substr(extent.rfind('/') + 1);
    const bool mapped = write.has_start();
    std::vector<std::string> cells = {
        SanitizeForTerminal(absl::StrCat(write.host(), "/", QmText(report, write.host(), write.qm()))),
        Shorten(SanitizeForTerminal(extent), 20),
        mapped ? FormatTimeOfDay(write.start(), report.run().begin()) : kDash};
    if (by_response) cells.push_back(FormatLatency(static_cast<double>(write.response_ns()), kNsPerMs));
    cells.insert(cells.end(), {FormatLatency(static_cast<double>(write.latency_ns()), kNsPerMs),
                               FormatCount(write.number()), FormatCount(write.offset_bytes())});
    // The two times leave no room for the clock error; report.json has it.
    if (!by_response) cells.push_back(mapped ? FormatLatency(static_cast<double>(write.error_ns()), kNsPerMs) : kDash);
    table.AddRow(cells);
  }
  AppendLines(table.Lines(), lines);
  return lines;
}

namespace {

__extension__ using Wide = unsigned __int128;

// Values that all rows but the last hold, in percent.
constexpr uint64_t kHeldPercent = 95;
constexpr size_t kWidestBar = 50;
// Above this value the narrowest rows that anybody wants are wider than any number of them.
constexpr uint64_t kWidestRowNs = 10'000'000'000'000;

// One bucket: values in [from, to).
struct Bucket {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  uint64_t count = 0;
};

// How wide the bucket of a DistributionReport is that begins there.
uint64_t BucketWidthNs(uint64_t from_ns) {
  const auto bits = static_cast<uint32_t>(64 - std::countl_zero(from_ns | 1));
  return uint64_t{1} << (bits > 8 ? bits - 8 : 0);
}

std::vector<Bucket> BucketsOf(const v1::DistributionReport& distribution, const v1::LatencyReport& latency) {
  std::vector<Bucket> buckets;
  for (int i = 0; i < std::min(distribution.from_ns_size(), distribution.count_size()); ++i) {
    const uint64_t from_ns = distribution.from_ns(i);
    buckets.push_back({from_ns, from_ns + BucketWidthNs(from_ns), distribution.count(i)});
  }
  if (buckets.empty()) return buckets;
  Bucket& first = buckets.front();
  Bucket& last = buckets.back();
  // The exact extremes; values beyond the histogram's end count in its last bucket.
  if (latency.max_ns() >= last.from_ns && latency.max_ns() < last.to_ns) last.to_ns = latency.max_ns() + 1;
  if (latency.min_ns() > first.from_ns && latency.min_ns() < first.to_ns) first.from_ns = latency.min_ns();
  return buckets;
}

uint64_t Total(const std::vector<Bucket>& buckets) {
  uint64_t total = 0;
  for (const Bucket& bucket : buckets) total += bucket.count;
  return total;
}

// How many values are less than `edge_ns`, to the nearest whole number; never falls as the edge rises.
class Below {
 public:
  explicit Below(const std::vector<Bucket>& buckets) : buckets_(buckets) {}

  // Edges rise from call to call.
  uint64_t operator()(uint64_t edge_ns) {
    for (; next_ < buckets_.size() && buckets_[next_].to_ns <= edge_ns; ++next_) below_ += buckets_[next_].count;
    if (next_ == buckets_.size() || buckets_[next_].from_ns >= edge_ns) return below_;
    const Bucket& bucket = buckets_[next_];
    const uint64_t width_ns = bucket.to_ns - bucket.from_ns;
    const Wide share = Wide{bucket.count} * (edge_ns - bucket.from_ns);
    return below_ + static_cast<uint64_t>((share + width_ns / 2) / width_ns);
  }

 private:
  const std::vector<Bucket>& buckets_;
  size_t next_ = 0;
  uint64_t below_ = 0;
};

// Rows are as narrow as the buckets that most values are in, not narrower: they would only show the buckets.
uint64_t ResolvableWidthNs(const std::vector<Bucket>& buckets, uint64_t total) {
  uint64_t below = 0;
  for (const Bucket& bucket : buckets) {
    below += bucket.count;
    if (below >= total - total / 2) return BucketWidthNs(bucket.from_ns);
  }
  return 1;
}

uint64_t RowWidthNs(const std::vector<Bucket>& buckets, uint64_t total, uint32_t rows) {
  const uint64_t resolvable_ns = ResolvableWidthNs(buckets, total);
  const auto wanted = static_cast<uint64_t>((Wide{total} * kHeldPercent + 99) / 100);
  for (uint64_t power = 1; power < kWidestRowNs; power *= 10) {
    for (const uint64_t width_ns : {power, 2 * power, 5 * power}) {
      if (width_ns < resolvable_ns) continue;
      const uint64_t start_ns = buckets.front().from_ns / width_ns * width_ns;
      if (Below(buckets)(start_ns + (rows - 1) * width_ns) >= wanted) return width_ns;
    }
  }
  return kWidestRowNs;
}

struct Unit {
  int64_t unit_ns = 1;
  const char* name = "ns";
};

Unit UnitOf(uint64_t largest_ns) {
  if (largest_ns < 10 * static_cast<uint64_t>(kNsPerUs)) return {1, "ns"};
  if (largest_ns < 10 * static_cast<uint64_t>(kNsPerMs)) return {kNsPerUs, "us"};
  if (largest_ns < 10 * static_cast<uint64_t>(kNsPerSecond)) return {kNsPerMs, "ms"};
  return {kNsPerSecond, "s"};
}

// Decimals that distinguish multiples of the width.
int DecimalsOf(uint64_t width_ns, const Unit& unit) {
  int decimals = 0;
  for (auto size = static_cast<uint64_t>(unit.unit_ns); size > width_ns && decimals < 9; size /= 10) ++decimals;
  return decimals;
}

}  // namespace

std::vector<HistogramRow> HistogramRows(const v1::DistributionReport& distribution, const v1::LatencyReport& latency,
                                        uint32_t rows) {
  const std::vector<Bucket> buckets = BucketsOf(distribution, latency);
  const uint64_t total = Total(buckets);
  if (total == 0) return {};
  const uint64_t width_ns = RowWidthNs(buckets, total, std::clamp<uint32_t>(rows, 2, kMaxHistogramRows));
  std::vector<HistogramRow> made;
  Below below(buckets);
  uint64_t before = 0;
  uint64_t from_ns = buckets.front().from_ns / width_ns * width_ns;
  while (made.size() + 1 < rows && before < total) {
    const uint64_t now = below(from_ns + width_ns);
    made.push_back({from_ns, from_ns + width_ns, now - before, false});
    before = now;
    from_ns += width_ns;
  }
  if (before < total) made.push_back({from_ns, std::max(latency.max_ns(), from_ns), total - before, true});
  return made;
}

namespace {

// Draws a histogram. `what`: what it counts, such as "writes". `which`: their kind of time, " (response time)", or
// empty.
std::vector<std::string> HistogramLines(const std::vector<HistogramRow>& made, const std::string& what,
                                        const std::string& which) {
  if (made.empty()) return {};
  const uint64_t width_ns = made.front().to_ns - made.front().from_ns;
  const Unit unit = UnitOf(made.back().from_ns);
  const int decimals = DecimalsOf(width_ns, unit);
  const auto in_unit = [&](uint64_t value_ns) {
    return FormatFixed(static_cast<double>(value_ns) / static_cast<double>(unit.unit_ns), decimals);
  };
  uint64_t total = 0;
  uint64_t highest = 1;
  for (const HistogramRow& row : made) {
    total += row.count;
    highest = std::max(highest, row.count);
  }
  std::vector<std::array<std::string, 4>> cells = {
      {absl::StrCat("from ", unit.name), absl::StrCat("below ", unit.name), what, "%"}};
  for (const HistogramRow& row : made) {
    cells.push_back({in_unit(row.from_ns), row.tail ? "or more" : in_unit(row.to_ns), FormatCount(row.count),
                     FormatFixed(100 * static_cast<double>(row.count) / static_cast<double>(total), 2)});
  }
  std::array<size_t, 4> widths{};
  for (const auto& row : cells) {
    for (size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], DisplayWidth(row[column]));
    }
  }
  std::vector<std::string> lines = {absl::StrCat("  Histogram of the cluster's ", FormatCount(total), " ", what, which,
                                                 "; each row is ", in_unit(width_ns), " ", unit.name, " wide")};
  size_t front = 2;  // the bar's own gap
  for (const size_t width : widths) front += 2 + width;
  const size_t widest_bar = front + 1 < kTextWidth ? std::min(kWidestBar, kTextWidth - front) : 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string line;
    for (size_t column = 0; column < widths.size(); ++column) line += "  " + PadLeft(cells[i][column], widths[column]);
    if (i > 0) {
      const HistogramRow& row = made[i - 1];
      const auto bar = static_cast<size_t>(
          std::ceil(static_cast<double>(widest_bar) * static_cast<double>(row.count) / static_cast<double>(highest)));
      if (bar > 0) line += "  " + std::string(bar, '#');
    }
    lines.push_back(line);
  }
  if (made.back().tail) {
    const std::string reach =
        absl::StrCat("  everything above, up to ", FormatShortTime(static_cast<int64_t>(made.back().to_ns)));
    if (DisplayWidth(lines.back() + reach) > kTextWidth) lines.emplace_back();
    lines.back() += reach;
  }
  return lines;
}

}  // namespace

std::vector<std::string> TextHistogram(const v1::StepReport& step, uint32_t rows, const std::string& main_operations) {
  const bool response = !step.response().distributions().empty();
  const auto& distributions = response ? step.response().distributions() : step.distributions();
  const v1::ScopeReport* const scope = ClusterOf(step);
  const v1::DistributionReport* const distribution = ClusterOf(distributions);
  std::vector<std::string> lines;
  if (scope != nullptr && distribution != nullptr) {
    lines = HistogramLines(HistogramRows(*distribution, response ? FeltLatency(*scope) : scope->latency(), rows),
                           main_operations, response ? " (response time)" : "");
  }
  for (const v1::OperationReport& operation : step.operations()) {
    const v1::OperationScopeReport* const whole = IsWhole(operation) ? ClusterOf(operation.scopes()) : nullptr;
    const v1::DistributionReport* const of_whole = ClusterOf(operation.distributions());
    if (whole == nullptr || of_whole == nullptr) continue;
    if (!lines.empty()) lines.emplace_back();
    // The report has no distribution of the reads' response times.
    AppendLines(
        HistogramLines(HistogramRows(*of_whole, whole->latency(), rows),
                       SanitizeForTerminal(WholeOperations(operation.name())), response ? " (service time)" : ""),
        lines);
  }
  return lines;
}

}  // namespace plimsoll
