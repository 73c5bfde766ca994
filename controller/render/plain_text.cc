#include "controller/render/plain_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

constexpr char kEllipsis[] = "\u2026";

struct Range {
  uint32_t first;
  uint32_t last;
};

template <size_t N>
bool In(const std::array<Range, N>& ranges, uint32_t value) {
  return std::ranges::any_of(ranges,
                             [value](const Range& range) { return value >= range.first && value <= range.last; });
}

// Marks that take no column of their own; the common ones.
constexpr std::array<Range, 8> kNoWidth = {{{0x0300, 0x036F},
                                            {0x0483, 0x0489},
                                            {0x0591, 0x05BD},
                                            {0x064B, 0x065F},
                                            {0x200B, 0x200D},
                                            {0x20D0, 0x20FF},
                                            {0xFE00, 0xFE0F},
                                            {0xFE20, 0xFE2F}}};

// Characters that take two columns (East Asian wide and full-width, emoji).
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115F},
                                         {0x2E80, 0x303E},
                                         {0x3041, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0x1F300, 0x1FAFF},
                                         {0x20000, 0x3FFFD}}};

size_t WidthOf(uint32_t code_point) {
  if (code_point < kNoWidth[0].first) return 1;
  if (In(kNoWidth, code_point)) return 0;
  return In(kWide, code_point) ? 2 : 1;
}

// A text with the place of each of its characters, so that it is measured once for however many cuts.
class MeasuredText {
 public:
  explicit MeasuredText(const std::string& text) : text_(text) {
    size_t columns = 0;
    for (size_t pos = 0; pos < text.size();) {
      const CodePoint point = DecodeUtf8(text, pos);
      pos += point.bytes;
      columns += WidthOf(point.value);
      bytes_.push_back(pos);
      columns_.push_back(columns);
    }
  }

  const std::string& text() const { return text_; }
  size_t width() const { return columns_.back(); }
  // The first characters that fit `width` columns.
  std::string Head(size_t width) const {
    const auto beyond = std::upper_bound(columns_.begin() + 1, columns_.end(), width);
    return text_.substr(0, bytes_[static_cast<size_t>(beyond - columns_.begin()) - 1]);
  }
  // The last ones.
  std::string Tail(size_t width) const {
    const size_t left = this->width() - std::min(width, this->width());
    const auto first = std::ranges::lower_bound(columns_, left);
    return text_.substr(bytes_[static_cast<size_t>(first - columns_.begin())]);
  }
  // As ShortenMiddle.
  std::string Middle(size_t width, size_t tail) const {
    if (this->width() <= width) return text_;
    // The head with its ellipsis; a tail of nothing is a cut at the end.
    return absl::StrCat(tail + 1 >= width ? "" : Head(width - tail - 1), kEllipsis, Tail(tail));
  }

 private:
  std::string text_;
  // Before each character, and at the end.
  std::vector<size_t> bytes_ = {0};
  std::vector<size_t> columns_ = {0};
};

}  // namespace

size_t DisplayWidth(const std::string& text) {
  size_t width = 0;
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    pos += point.bytes;
    width += WidthOf(point.value);
  }
  return width;
}

std::string Shorten(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  std::string shortened;
  size_t used = 1;  // the ellipsis
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    used += WidthOf(point.value);
    if (used > width) break;
    shortened.append(text, pos, point.bytes);
    pos += point.bytes;
  }
  return shortened + kEllipsis;
}

std::string ShortenMiddle(const std::string& text, size_t width, size_t tail) {
  return DisplayWidth(text) <= width ? text : MeasuredText(text).Middle(width, tail);
}

namespace {

// Cuts all names. Nothing where two are the same then, as the first such pair shows.
template <typename Cut>
std::optional<std::vector<std::string>> CutDifferently(const std::vector<MeasuredText>& names, Cut cut) {
  std::vector<std::string> shortened;
  std::set<std::string> seen;
  for (const MeasuredText& name : names) {
    shortened.push_back(cut(name));
    if (!seen.insert(shortened.back()).second) return std::nullopt;
  }
  return shortened;
}

// Columns that the names which are wider than `width` begin with alike.
size_t CommonColumns(const std::vector<MeasuredText>& names, size_t width) {
  std::vector<const std::string*> wide;
  for (const MeasuredText& name : names) {
    if (name.width() > width) wide.push_back(&name.text());
  }
  if (wide.empty()) return 0;
  size_t common = 0;
  const auto same = [&](const std::string* name) {
    return common < name->size() && (*name)[common] == (*wide[0])[common];
  };
  while (std::ranges::all_of(wide, same)) ++common;
  return DisplayWidth(wide[0]->substr(0, common));
}

// A name that is too wide without its first `begin` columns.
std::string CutFrom(const MeasuredText& name, size_t width, size_t begin) {
  if (name.width() <= width) return name.text();
  // The end stays, as of names that are cut in the middle: a line that ends with an ellipsis is cut itself.
  if (begin == 0) return name.Middle(width, 1);
  return kEllipsis + ShortenMiddle(name.Tail(name.width() - std::min(begin, name.width())), width - 1, 1);
}

}  // namespace

std::vector<std::string> ShortenNames(const std::vector<std::string>& names, size_t width) {
  const size_t kept = width - 1;  // besides the ellipsis
  const std::vector<MeasuredText> measured(names.begin(), names.end());
  const auto cut = [&](size_t tail) {
    return CutDifferently(measured, [&](const MeasuredText& name) { return name.Middle(width, tail); });
  };
  // In the middle, or as near to it as leaves them different.
  for (size_t moved = 0; moved <= kept; ++moved) {
    if (kept / 2 + moved <= kept) {
      if (auto shortened = cut(kept / 2 + moved)) return *std::move(shortened);
    }
    if (moved < kept / 2) {
      if (auto shortened = cut(kept / 2 - moved)) return *std::move(shortened);
    }
  }
  // Around the place from which on they differ, with as much before it as leaves them different.
  const size_t common = CommonColumns(measured, width);
  for (size_t before = kept / 2 + 1; before-- > 0;) {
    const size_t begin = common > before ? common - before : 0;
    auto shortened = CutDifferently(measured, [&](const MeasuredText& name) { return CutFrom(name, width, begin); });
    if (shortened) return *std::move(shortened);
  }
  std::vector<std::string> numbered;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string number = measured[i].width() <= width ? "" : absl::StrCat("#", i + 1);
    numbered.push_back(Shorten(names[i], width - std::min(number.size(), width - 1)) + number);
  }
  return numbered;
}

namespace {

// As ShortenNamesIn. `shorten` gives the names with a width.
template <typename ShortenAll>
std::string ReplaceNames(const std::string& text, const std::vector<std::string>& names, size_t width,
                         ShortenAll shorten) {
  if (DisplayWidth(text) <= width) return text;
  constexpr char kMark[] = "\x01";  // not in neutral text
  // Of several names, some are shown well rather than all of them badly.
  constexpr size_t kLeastOfSeveral = 12;
  constexpr size_t kLeast = 6;
  std::vector<std::pair<std::string, std::string>> replaced;
  replaced.reserve(names.size());
  for (const std::string& name : names) replaced.emplace_back(name.empty() ? kMark : name, kMark);
  const std::string rest = absl::StrReplaceAll(text, replaced);
  const auto count = static_cast<size_t>(std::ranges::count(rest, kMark[0]));
  if (count == 0) return Shorten(text, width);
  const size_t others = DisplayWidth(rest) - count * DisplayWidth(kMark);
  const size_t room = width > others ? (width - others) / count : 0;
  const std::vector<std::string>& shortened = shorten(std::max(room, count > 1 ? kLeastOfSeveral : kLeast));
  for (size_t i = 0; i < names.size(); ++i) replaced[i].second = shortened[i];
  return Shorten(absl::StrReplaceAll(text, replaced), width);
}

}  // namespace

std::string ShortenNamesIn(const std::string& text, const std::vector<std::string>& names, size_t width) {
  return ReplaceNames(text, names, width, [&](size_t each) { return ShortenNames(names, each); });
}

void AppendLines(const std::vector<std::string>& more, std::vector<std::string>& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

std::vector<std::string> HostNamesOf(const v1::Report& report) {
  std::vector<std::string> names;
  for (const v1::HostReport& host : report.hosts()) names.push_back(SanitizeForTerminal(host.label()));
  return names;
}

std::vector<std::string> AlignColumns(const std::vector<std::vector<std::string>>& rows, const std::string& align) {
  std::vector<size_t> widths(align.size());
  for (const std::vector<std::string>& row : rows) {
    for (size_t column = 0; column < align.size(); ++column) {
      widths[column] = std::max(widths[column], DisplayWidth(row[column]));
    }
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows) {
    std::string& line = lines.emplace_back();
    for (size_t column = 0; column < align.size(); ++column) {
      if (column > 0) line += "  ";
      line += align[column] == 'r' ? PadLeft(row[column], widths[column]) : PadRight(row[column], widths[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

std::string PadRight(const std::string& text, size_t width) {
  const size_t used = DisplayWidth(text);
  return used >= width ? text : text + std::string(width - used, ' ');
}

std::string PadLeft(const std::string& text, size_t width) {
  const size_t used = DisplayWidth(text);
  return used >= width ? text : std::string(width - used, ' ') + text;
}

std::vector<std::string> Wrap(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  for (std::string word : words) {
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines.push_back(line);
      line.clear();
    }
    // A word that is wider than a line is cut, unless it is a path: one must be able to copy it.
    while (word.front() != '/' && DisplayWidth(word) > width) {
      std::string part;
      size_t pos = 0;
      while (pos < word.size()) {
        const CodePoint point = DecodeUtf8(word, pos);
        if (DisplayWidth(part) + WidthOf(point.value) > width) break;
        part.append(word, pos, point.bytes);
        pos += point.bytes;
      }
      lines.push_back(part);
      word.erase(0, pos);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::vector<std::string> WrapCommand(const std::string& command, size_t width) {
  std::vector<std::string> arguments(1);
  bool quoted = false;
  for (const char c : command) {
    quoted ^= c == '\'';
    if (c == ' ' && !quoted) {
      arguments.emplace_back();
    } else {
      arguments.back() += c;
    }
  }
  constexpr size_t kBackslash = 2;
  std::vector<std::string> lines;
  for (const std::string& argument : arguments) {
    if (!lines.empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(argument) + kBackslash <= width) {
      absl::StrAppend(&lines.back(), " ", argument);
      continue;
    }
    if (!lines.empty()) lines.back() += " \\";
    lines.push_back(argument);
  }
  return lines;
}

std::string FormatThroughput(double mb_per_second) {
  return FormatFixed(mb_per_second, mb_per_second < 1'000 ? 2 : mb_per_second < 10'000 ? 1 : 0);
}

std::string FormatLatency(double time_ns, int64_t unit_ns) {
  const double value = time_ns / static_cast<double>(unit_ns);
  return FormatFixed(value, value < 100 ? 3 : value < 1'000 ? 2 : value < 10'000 ? 1 : 0);
}

std::string FormatShortTime(int64_t time_ns) {
  const auto value = static_cast<double>(time_ns);
  const double size = std::abs(value);
  if (size < 1e3) return absl::StrFormat("%.0f ns", value);
  if (size < 1e4) return absl::StrFormat("%.1f us", value / 1e3);
  if (size < 1e6) return absl::StrFormat("%.0f us", value / 1e3);
  if (size < 1e9) return absl::StrFormat("%.3f ms", value / 1e6);
  return FormatFixed(value / 1e9, 3) + " s";
}

std::string FormatStepNumber(uint32_t step, uint32_t steps, uint32_t round_steps, const char* of) {
  if (round_steps == 0 || step == 0) return absl::StrCat(step, of, steps);
  return absl::StrCat(step, ", round ", (step - 1) / round_steps + 1);
}

std::string FormatDateTime(const google::protobuf::Timestamp& moment) {
  const std::string utc = FormatMoment(moment);
  return absl::StrCat(utc.substr(0, 10), " ", utc.substr(11, 8), " UTC");
}

std::string FormatTimeOfDay(const google::protobuf::Timestamp& moment, const google::protobuf::Timestamp& begin) {
  const std::string utc = FormatMoment(moment);
  const std::string time = utc.substr(11, 12);
  const std::string date = utc.substr(0, 10);
  return date == FormatMoment(begin).substr(0, 10) ? time : absl::StrCat(date, " ", time);
}

std::vector<v1::MountReport> MountsOf(const v1::HostReport& host) {
  std::vector<v1::MountReport> mounts = {host.mount()};
  mounts.insert(mounts.end(), host.more_mounts().begin(), host.more_mounts().end());
  return mounts;
}

std::string SharedMountOptions(const std::string& options) {
  std::vector<std::string> shared;
  for (std::string& option : std::vector<std::string>(absl::StrSplit(options, ','))) {
    if (!absl::StartsWith(option, "clientaddr=")) shared.push_back(std::move(option));
  }
  return absl::StrJoin(shared, ",");
}

namespace {

constexpr size_t kIndent = 2;
constexpr size_t kNarrowestName = 6;
constexpr char kRule[] = "|";

}  // namespace

TextTable::TextTable(std::vector<std::string> headings, size_t left, std::vector<size_t> names,
                     std::vector<std::string> known)
    : headings_(std::move(headings)), left_(left), names_(std::move(names)), known_(std::move(known)) {}

void TextTable::AddRow(const std::vector<std::string>& cells, const std::string& mark) {
  Row row;
  row.mark = mark;
  size_t next = 0;
  for (const std::string& heading : headings_) row.cells.push_back(heading == kRule ? kRule : cells[next++]);
  rows_.push_back(std::move(row));
}

void TextTable::AddLine(const std::string& text) {
  rows_.push_back({{}, "", text});
}

std::vector<size_t> TextTable::Widths(const std::vector<Row>& rows) const {
  std::vector<size_t> widths;
  size_t marks = 0;
  for (const Row& row : rows) marks = std::max(marks, DisplayWidth(row.mark));
  for (size_t column = 0; column < headings_.size(); ++column) {
    size_t width = DisplayWidth(headings_[column]);
    for (const Row& row : rows) {
      if (!row.cells.empty()) width = std::max(width, DisplayWidth(row.cells[column]));
    }
    widths.push_back(width);
  }
  // Two blanks between columns where there is room, but one beside a rule; else one everywhere.
  const auto rules = static_cast<size_t>(std::ranges::count(headings_, kRule));
  size_t total = kIndent + marks;
  for (const size_t width : widths) total += width;
  const size_t gaps = widths.size() - 1;
  const size_t gap = total + 2 * (gaps - rules) <= kTextWidth ? 2 : 1;
  total += gap == 2 ? 2 * (gaps - rules) : gaps;
  // The widest names give first.
  for (; total > kTextWidth; --total) {
    const auto widest =
        std::ranges::max_element(names_, [&widths](size_t a, size_t b) { return widths[a] < widths[b]; });
    if (widest == names_.end() || widths[*widest] <= kNarrowestName) break;
    --widths[*widest];
  }
  widths.push_back(gap);
  return widths;
}

std::string TextTable::Line(const Row& row, const std::vector<size_t>& widths) const {
  std::string line(kIndent, ' ');
  if (row.cells.empty()) return Shorten(line + row.across, kTextWidth);
  for (size_t column = 0; column < row.cells.size(); ++column) {
    if (column > 0) {
      const bool beside_rule = headings_[column] == kRule || headings_[column - 1] == kRule;
      line.append(beside_rule ? 1 : widths.back(), ' ');
    }
    line += column < left_ ? PadRight(row.cells[column], widths[column]) : PadLeft(row.cells[column], widths[column]);
  }
  line += row.mark;
  line.erase(line.find_last_not_of(' ') + 1);
  // Only figures that no run reaches are too wide even so.
  return Shorten(line, kTextWidth);
}

void TextTable::ShortenColumn(size_t column, size_t width, std::vector<Row>& rows) const {
  // Together, so that they still differ; a name may stand in several rows.
  std::vector<std::string> names;
  std::map<std::string, size_t> index;
  for (const Row& row : rows) {
    if (row.cells.empty()) continue;
    if (index.try_emplace(row.cells[column], names.size()).second) names.push_back(row.cells[column]);
  }
  const size_t room = std::max(width, kNarrowestName);
  std::vector<std::string> shortened;
  // Once for all rows: each looks at all names.
  std::map<size_t, std::vector<std::string>> known_by_width;
  const auto shorten_known = [&](size_t each) -> const std::vector<std::string>& {
    const auto [found, added] = known_by_width.try_emplace(each);
    if (added) found->second = ShortenNames(known_, each);
    return found->second;
  };
  for (const std::string& name : names) {
    const bool knows = std::ranges::any_of(
        known_, [&name](const std::string& known) { return !known.empty() && name.find(known) != std::string::npos; });
    if (knows) shortened.push_back(ReplaceNames(name, known_, room, shorten_known));
  }
  if (shortened.size() < names.size()) shortened = ShortenNames(names, room);
  for (Row& row : rows) {
    if (!row.cells.empty()) row.cells[column] = shortened[index.at(row.cells[column])];
  }
}

std::vector<TextTable::Row> TextTable::FittingRows() const {
  std::vector<Row> rows = rows_;
  const std::vector<size_t> widths = Widths(rows);
  size_t total = kIndent + widths.size() - 2;
  for (size_t column = 0; column < headings_.size(); ++column) total += widths[column];
  size_t marks = 0;
  for (const Row& row : rows) marks = std::max(marks, DisplayWidth(row.mark));
  total += marks;
  if (widths.back() > 1 || total <= kTextWidth) return rows;
  for (Row& row : rows) {
    for (size_t column = left_; column < row.cells.size(); ++column) {
      row.cells[column] = absl::StrReplaceAll(row.cells[column], {{",", ""}});
    }
  }
  return rows;
}

size_t TextTable::Width() const {
  return DisplayWidth(Line({headings_, "", ""}, Widths(FittingRows())));
}

std::vector<std::string> TextTable::Lines() const {
  std::vector<Row> rows = FittingRows();
  const std::vector<size_t> widths = Widths(rows);
  for (const size_t column : names_) ShortenColumn(column, widths[column], rows);
  std::vector<std::string> lines;
  lines.push_back(Line({headings_, "", ""}, widths));
  for (const Row& row : rows) lines.push_back(Line(row, widths));
  return lines;
}

std::string ShortenFiles(const v1::LogWorkload& workload) {
  const uint32_t count = CountUsedFiles(workload);
  if (count == 0) return "";
  const std::string& last = workload.files(static_cast<int>(count) - 1);
  if (count == 1) return last;
  return absl::StrCat(workload.files(0), count == 2 ? ", " : " ... ", last, " (", FormatCount(count), " files)");
}

std::string TimeLeft(int64_t ns) {
  const int64_t seconds = std::max<int64_t>((ns + kNsPerSecond - 1) / kNsPerSecond, 0);
  if (seconds < 60) return absl::StrCat(seconds, " s");
  if (seconds < 3600) return absl::StrFormat("%d min %02d s", seconds / 60, seconds % 60);
  return absl::StrFormat("%d h %02d min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace plimsoll
