// The columns of mqldt's CSV file, so that what reads mqldt's results reads ours.
#include <cmath>

#include "common/units.h"
#include "controller/render/csv.h"
#include "controller/render/csv_table.h"

namespace plimsoll {
namespace {

struct ClusterRow {
  const v1::StepReport& step;
  const v1::ScopeReport& cluster;
};

uint64_t Rounded(double value) {
  return std::isfinite(value) && value > 0 ? static_cast<uint64_t>(std::llround(value)) : 0;
}

// Bytes per second if every write took that long; 0 where there was none.
uint64_t BandwidthAt(const ClusterRow& row, uint64_t latency_ns) {
  if (latency_ns == 0) return 0;
  return Rounded(static_cast<double>(row.step.block_size_bytes()) * static_cast<double>(kNsPerSecond) /
                 static_cast<double>(latency_ns));
}

// Over whole seconds; over the whole step where that was shorter than one.
uint64_t OverSeconds(const ClusterRow& row, double value) {
  return Rounded(row.cluster.bandwidth().seconds() > 0 ? value : row.cluster.mb_per_second() * 1e6);
}

CsvTable<ClusterRow> MqldtTable() {
  CsvTable<ClusterRow> table;
  const auto add = [&table](const std::string& name, auto get) {
    table.Column(name, [get](const ClusterRow& row) { return CsvCell(uint64_t{get(row)}); });
  };
  add("Blocksize", [](const ClusterRow& row) { return row.step.block_size_bytes(); });
  add("Total writes to files", [](const ClusterRow& row) { return row.cluster.writes(); });
  add("Total bytes written to files", [](const ClusterRow& row) { return row.cluster.bytes(); });
  add("Max bytes/sec written to files (over 1 sec interval)", [](const ClusterRow& row) {
    return OverSeconds(row, static_cast<double>(row.cluster.bandwidth().max_bytes_per_second()));
  });
  add("Min bytes/sec written to files (over 1 sec interval)", [](const ClusterRow& row) {
    return OverSeconds(row, static_cast<double>(row.cluster.bandwidth().min_bytes_per_second()));
  });
  add("Avg bytes/sec written to files",
      [](const ClusterRow& row) { return OverSeconds(row, row.cluster.bandwidth().avg_bytes_per_second()); });
  add("Max latency of write (ns)", [](const ClusterRow& row) { return row.cluster.latency().max_ns(); });
  add("Min latency of write (ns)", [](const ClusterRow& row) { return row.cluster.latency().min_ns(); });
  add("Avg latency of write (ns)", [](const ClusterRow& row) { return Rounded(row.cluster.latency().avg_ns()); });
  add("Min bytes/sec (slowest write)",
      [](const ClusterRow& row) { return BandwidthAt(row, row.cluster.latency().max_ns()); });
  add("Max bytes/sec (fastest write)",
      [](const ClusterRow& row) { return BandwidthAt(row, row.cluster.latency().min_ns()); });
  return table;
}

}  // namespace

std::string RenderMqldtCsv(const v1::Report& report) {
  const CsvTable<ClusterRow> table = MqldtTable();
  std::string csv = table.Heading();
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) {
      if (scope.kind() == v1::SCOPE_KIND_CLUSTER) csv += table.Line({step, scope});
    }
  }
  return csv;
}

}  // namespace plimsoll
