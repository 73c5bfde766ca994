#include "controller/render/text_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_replace.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kNarrowestName = 6;
constexpr char kRule[] = "|";

}  // namespace

TextTable::TextTable(std::vector<std::string> headings, size_t left, std::vector<size_t> names)
    : headings_(std::move(headings)), left_(left), names_(std::move(names)) {}

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
  const auto rules = static_cast<size_t>(std::count(headings_.begin(), headings_.end(), kRule));
  size_t total = kIndent + marks;
  for (const size_t width : widths) total += width;
  const size_t gaps = widths.size() - 1;
  const size_t gap = total + 2 * (gaps - rules) <= kTextWidth ? 2 : 1;
  total += gap == 2 ? 2 * (gaps - rules) : gaps;
  // The widest names give first.
  for (; total > kTextWidth; --total) {
    const auto widest =
        std::max_element(names_.begin(), names_.end(), [&widths](size_t a, size_t b) { return widths[a] < widths[b]; });
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
  const std::vector<std::string> shortened = ShortenNames(names, std::max(width, kNarrowestName));
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

}  // namespace plimsoll
