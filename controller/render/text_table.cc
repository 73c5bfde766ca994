#include "controller/render/text_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kNarrowestFirst = 6;
constexpr char kRule[] = "|";

}  // namespace

TextTable::TextTable(std::vector<std::string> headings, size_t left) : headings_(std::move(headings)), left_(left) {}

void TextTable::AddRow(const std::vector<std::string>& cells, const std::string& mark) {
  Row row;
  row.mark = mark;
  size_t next = 0;
  for (const std::string& heading : headings_) row.cells.push_back(heading == kRule ? kRule : cells[next++]);
  rows_.push_back(std::move(row));
}

std::vector<size_t> TextTable::Widths() const {
  std::vector<size_t> widths;
  size_t marks = 0;
  for (const Row& row : rows_) marks = std::max(marks, DisplayWidth(row.mark));
  for (size_t column = 0; column < headings_.size(); ++column) {
    size_t width = DisplayWidth(headings_[column]);
    for (const Row& row : rows_) width = std::max(width, DisplayWidth(row.cells[column]));
    widths.push_back(width);
  }
  // Two blanks between columns where there is room, but one beside a rule; else one everywhere.
  const auto rules = static_cast<size_t>(std::count(headings_.begin(), headings_.end(), kRule));
  size_t total = kIndent + marks;
  for (const size_t width : widths) total += width;
  const size_t gaps = widths.size() - 1;
  const size_t gap = total + 2 * (gaps - rules) <= kTextWidth ? 2 : 1;
  total += gap == 2 ? 2 * (gaps - rules) : gaps;
  if (total > kTextWidth) {
    const size_t excess = total - kTextWidth;
    widths[0] = std::max(kNarrowestFirst, widths[0] > excess ? widths[0] - excess : 0);
  }
  widths.push_back(gap);
  return widths;
}

std::string TextTable::Line(const Row& row, const std::string& first, const std::vector<size_t>& widths) const {
  std::string line(kIndent, ' ');
  line += PadRight(first, widths[0]);
  for (size_t column = 1; column < row.cells.size(); ++column) {
    const bool beside_rule = headings_[column] == kRule || headings_[column - 1] == kRule;
    line.append(beside_rule ? 1 : widths.back(), ' ');
    line += column < left_ ? PadRight(row.cells[column], widths[column]) : PadLeft(row.cells[column], widths[column]);
  }
  line += row.mark;
  line.erase(line.find_last_not_of(' ') + 1);
  // Only figures that no run reaches are too wide even so.
  return Shorten(line, kTextWidth);
}

size_t TextTable::Width() const {
  return DisplayWidth(Line({headings_, ""}, headings_[0], Widths()));
}

std::vector<std::string> TextTable::Lines() const {
  const std::vector<size_t> widths = Widths();
  // Names are shortened together, so that they still differ; a name may stand in several rows.
  std::vector<std::string> names;
  std::map<std::string, size_t> index;
  for (const Row& row : rows_) {
    if (index.try_emplace(row.cells[0], names.size()).second) names.push_back(row.cells[0]);
  }
  const std::vector<std::string> shortened = ShortenNames(names, widths[0]);
  std::vector<std::string> lines;
  lines.push_back(Line({headings_, ""}, headings_[0], widths));
  for (const Row& row : rows_) lines.push_back(Line(row, shortened[index.at(row.cells[0])], widths));
  return lines;
}

}  // namespace plimsoll
