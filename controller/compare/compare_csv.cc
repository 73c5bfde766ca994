#include "controller/compare/compare_csv.h"

#include "controller/render/csv_table.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

struct Line {
  const v1::Comparison& comparison;
  const v1::BlockSizeComparison& block_size;
  const v1::PairComparison& pair;
  const v1::ComparedRow& row;
};

}  // namespace

std::string RenderCompareCsv(const v1::Comparison& comparison) {
  CsvTable<Line> table;
  table.Column("block_size_bytes",
               [](const Line& line) { return CsvCell(uint64_t{line.block_size.block_size_bytes()}); });
  table.Column("first", [](const Line& line) { return CsvCell(line.comparison.sides(0).label()); });
  table.Column("second", [](const Line& line) { return CsvCell(line.pair.side()); });
  table.Column("figure",
               [](const Line& line) { return CsvCell(EnumName(*v1::Figure_descriptor(), line.row.figure())); });
  table.Column("first_value", [](const Line& line) { return CsvCell(line.row.first()); });
  table.Column("second_value", [](const Line& line) { return CsvCell(line.row.second()); });
  table.Column("ratio", [](const Line& line) { return CsvCell(line.row.ratio()); });
  table.Column("low", [](const Line& line) { return line.row.has_low() ? CsvCell(line.row.low()) : ""; });
  table.Column("high", [](const Line& line) { return line.row.has_high() ? CsvCell(line.row.high()) : ""; });
  table.Column("p", [](const Line& line) { return line.row.has_p() ? CsvCell(line.row.p()) : ""; });
  table.Column("adjusted_p",
               [](const Line& line) { return line.row.has_adjusted_p() ? CsvCell(line.row.adjusted_p()) : ""; });
  table.Column("finding",
               [](const Line& line) { return CsvCell(EnumName(*v1::Finding_descriptor(), line.row.finding())); });
  table.Column("gate", [](const Line& line) {
    return line.row.gate() == v1::OUTCOME_UNSPECIFIED ? std::string()
                                                      : CsvCell(EnumName(*v1::Outcome_descriptor(), line.row.gate()));
  });
  table.Column("slower_bound_percent", [](const Line& line) {
    return line.row.has_slower_bound_percent() ? CsvCell(line.row.slower_bound_percent()) : "";
  });
  table.Column("slower_p",
               [](const Line& line) { return line.row.has_slower_p() ? CsvCell(line.row.slower_p()) : ""; });
  table.Column("reason", [](const Line& line) { return CsvCell(line.row.reason()); });
  std::string text = table.Heading();
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (const v1::PairComparison& pair : block_size.pairs()) {
      for (const v1::ComparedRow& row : pair.rows()) text += table.Line({comparison, block_size, pair, row});
    }
  }
  return text;
}

}  // namespace plimsoll
