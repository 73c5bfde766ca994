// A report as CSV (RFC 4180): a heading, then rows; a cell is quoted where it must be; control characters are replaced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Quoted where RFC 4180 asks for it; control characters and what is not UTF-8 become U+FFFD. A text that is not a
// number and begins with =, +, - or @ gets an apostrophe in front: no spreadsheet takes it for a formula.
std::string CsvCell(const std::string& text);
// The shortest spelling that reads back the same; empty where it is not a finite number.
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
  bool Has(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }
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

// One row a step and scope. Thin percentiles and what does not apply are empty cells.
std::string RenderCsv(const v1::Report& report);

// One row a step, scope and second. Where a step's frames were folded by age, the rows of hosts and queue managers end
// at StepReport.whole_seconds, and later percentiles are empty cells.
std::string RenderTimelineCsv(const v1::Report& report);

// Whether a step has series by minute.
bool HasMinutes(const v1::Report& report);
// One row a step, scope and minute, with the columns of RenderTimelineCsv; `second` is the minute's first one. Only of
// steps that have minutes.
std::string RenderMinutesCsv(const v1::Report& report);

}  // namespace plimsoll
