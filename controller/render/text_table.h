// Tables of the text report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plimsoll {

// Widest line of a text report, in columns.
inline constexpr size_t kTextWidth = 80;

// Cells in columns as wide as their widest cell. Columns of names are shortened, in the middle and so that names still
// differ, where a line would become wider than kTextWidth; where that is not enough, numbers lose their separators.
// Cells are neutral text (plain_text.h).
class TextTable {
 public:
  // Headings; "|" is a rule in every row. The first `left` columns are left-aligned, all others right-aligned; `names`
  // are those that may be shortened.
  explicit TextTable(std::vector<std::string> headings, size_t left = 1, std::vector<size_t> names = {0});

  // As many cells as there are headings, those of rules left out. `mark` is put behind the row ("*").
  void AddRow(const std::vector<std::string>& cells, const std::string& mark = "");

  // A line between rows, across the columns.
  void AddLine(const std::string& text);

  // The headings and the rows, with two blanks in front.
  std::vector<std::string> Lines() const;
  size_t Width() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string mark;
    std::string across;  // instead of cells
  };
  // The rows as they are, or with plain numbers where they would not fit otherwise.
  std::vector<Row> FittingRows() const;
  std::vector<size_t> Widths(const std::vector<Row>& rows) const;
  std::string Line(const Row& row, const std::vector<size_t>& widths) const;
  // Shortens the cells of a column together.
  void ShortenColumn(size_t column, size_t width, std::vector<Row>& rows) const;

  std::vector<std::string> headings_;
  size_t left_;
  std::vector<size_t> names_;
  std::vector<Row> rows_;
};

}  // namespace plimsoll
