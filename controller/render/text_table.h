// Tables of the text report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plimsoll {

// Widest line of a text report, in columns.
inline constexpr size_t kTextWidth = 100;

// Hosts in a table of the text report; report.json and report.csv have all of them.
inline constexpr int kMostHostLines = 64;

// Cells in columns as wide as their widest cell. The first column is on the left side and is shortened where a line
// would become wider than kTextWidth; all others are right-aligned. Cells are neutral text (plain_text.h).
class TextTable {
 public:
  // Headings; "|" is a rule in every row. `left` columns stand on the left side of their column.
  explicit TextTable(std::vector<std::string> headings, size_t left = 1);

  // As many cells as there are headings, those of rules left out. `mark` is put behind the row ("*").
  void AddRow(const std::vector<std::string>& cells, const std::string& mark = "");

  // The headings and the rows, with two blanks in front.
  std::vector<std::string> Lines() const;
  size_t Width() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string mark;
  };
  std::vector<size_t> Widths() const;
  std::string Line(const Row& row, const std::string& first, const std::vector<size_t>& widths) const;

  std::vector<std::string> headings_;
  size_t left_;
  std::vector<Row> rows_;
};

}  // namespace plimsoll
