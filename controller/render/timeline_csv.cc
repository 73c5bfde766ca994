// The per-second series as CSV.
#include <algorithm>

#include "common/units.h"
#include "controller/render/csv.h"
#include "controller/render/csv_table.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

struct SecondRow {
  const v1::Report& report;
  const v1::StepReport& step;
  const v1::SeriesReport& series;
  int row = 0;
  int64_t length_ns = kNsPerSecond;
  // Empty for a row that lasts one second.
  const char* irregular = "";
};

// Element `row` of a column; 0 where the column is shorter, which a damaged report's may be.
uint64_t At(const google::protobuf::RepeatedField<uint64_t>& column, int row) {
  return row < column.size() ? column.Get(row) : 0;
}

// Rates over a row that has no length of its own mean nothing.
std::string PerSecond(const SecondRow& row, double amount) {
  const bool closing = row.length_ns <= 0 || std::string(row.irregular) == "closing";
  if (closing) return "";
  return CsvCell(amount * static_cast<double>(kNsPerSecond) / static_cast<double>(row.length_ns));
}

std::string Quantile(const google::protobuf::RepeatedField<uint64_t>& column, int row) {
  const uint64_t value_ns = At(column, row);
  return value_ns == 0 ? std::string() : CsvCell(value_ns);
}

std::string StartOf(const SecondRow& row) {
  google::protobuf::Timestamp start = row.step.start();
  start.set_seconds(std::clamp<int64_t>(start.seconds(), 0, INT64_MAX / 2) + row.series.second(row.row));
  return FormatMoment(start);
}

CsvTable<SecondRow> SecondTable() {
  CsvTable<SecondRow> table;
  table.Column("run_id", [](const SecondRow& row) { return CsvCell(row.report.run().id()); });
  table.Column("step", [](const SecondRow& row) { return CsvCell(uint64_t{row.step.number()}); });
  table.Column("block_size_bytes", [](const SecondRow& row) { return CsvCell(uint64_t{row.step.block_size_bytes()}); });
  table.Column("kind", [](const SecondRow& row) { return EnumName(*v1::ScopeKind_descriptor(), row.series.kind()); });
  table.Column("host", [](const SecondRow& row) { return CsvCell(row.series.host()); });
  table.Column("qm", [](const SecondRow& row) { return NonZeroCell(row.series.qm()); });
  table.Column("storage", [](const SecondRow& row) { return NonZeroCell(row.series.storage()); });
  table.Column("second", [](const SecondRow& row) { return CsvCell(uint64_t{row.series.second(row.row)}); });
  table.Column("start_utc", StartOf);
  table.Column("length_ns", [](const SecondRow& row) { return CsvCell(row.length_ns); });
  table.Column("irregular", [](const SecondRow& row) { return std::string(row.irregular); });
  table.Column("writes", [](const SecondRow& row) { return CsvCell(At(row.series.writes(), row.row)); });
  table.Column("bytes", [](const SecondRow& row) { return CsvCell(At(row.series.bytes(), row.row)); });
  table.Column("iops", [](const SecondRow& row) {
    return PerSecond(row, static_cast<double>(At(row.series.writes(), row.row)));
  });
  table.Column("mb_per_second", [](const SecondRow& row) {
    return PerSecond(row, static_cast<double>(At(row.series.bytes(), row.row)) / kBytesPerMegabyte);
  });
  table.Column("latency_avg_ns", [](const SecondRow& row) {
    const uint64_t writes = At(row.series.writes(), row.row);
    if (writes == 0) return std::string();
    return CsvCell(static_cast<double>(At(row.series.latency_sum_ns(), row.row)) / static_cast<double>(writes));
  });
  table.Column("latency_p50_ns", [](const SecondRow& row) { return Quantile(row.series.p50_ns(), row.row); });
  table.Column("latency_p99_ns", [](const SecondRow& row) { return Quantile(row.series.p99_ns(), row.row); });
  table.Column("latency_p99_9_ns", [](const SecondRow& row) { return Quantile(row.series.p99_9_ns(), row.row); });
  table.Column("latency_max_ns", [](const SecondRow& row) { return Quantile(row.series.latency_max_ns(), row.row); });
  return table;
}

}  // namespace

std::string RenderTimelineCsv(const v1::Report& report) {
  const CsvTable<SecondRow> table = SecondTable();
  std::string csv = table.Heading();
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::SeriesReport& series : step.series()) {
      int next = 0;
      for (int row = 0; row < series.second_size(); ++row) {
        SecondRow second{report, step, series, row};
        if (next < series.irregular_size() && static_cast<int>(series.irregular(next).row()) == row) {
          const v1::IrregularRow& irregular = series.irregular(next++);
          second.length_ns = irregular.length_ns();
          second.irregular = irregular.closing() ? "closing" : irregular.coalesced() ? "coalesced" : "partial";
        }
        csv += table.Line(second);
      }
    }
  }
  return csv;
}

}  // namespace plimsoll
