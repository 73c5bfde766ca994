// Rows of cells as CSV.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll {

// Quoted where RFC 4180 asks for it; control characters and what is not UTF-8 become U+FFFD. A text that is no number
// and begins with =, +, - or @ gets an apostrophe in front: no spreadsheet takes it for a formula.
std::string CsvCell(const std::string& text);
// The shortest spelling that reads back the same; empty where it is no finite number.
std::string CsvCell(double value);
std::string CsvCell(uint64_t value);
std::string CsvCell(int64_t value);
// Empty for 0, which stands for "all of them" in a column of numbers that begin at 1.
inline std::string NonZeroCell(uint32_t number) {
  return number == 0 ? std::string() : CsvCell(uint64_t{number});
}

// Columns of a table, each with the function that makes its cell of a row.
template <typename Row>
class CsvTable {
 public:
  using Cell = std::function<std::string(const Row&)>;

  // `cell` makes a finished cell (CsvCell).
  void Column(const std::string& name, Cell cell) {
    names_.push_back(name);
    cells_.push_back(std::move(cell));
  }
  std::string Heading() const {
    std::string line;
    for (const std::string& name : names_) line += (line.empty() ? "" : ",") + CsvCell(name);
    return line + "\r\n";
  }
  std::string Line(const Row& row) const {
    std::string line;
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (i > 0) line += ',';
      line += cells_[i](row);
    }
    return line + "\r\n";
  }

 private:
  std::vector<std::string> names_;
  std::vector<Cell> cells_;
};

}  // namespace plimsoll
