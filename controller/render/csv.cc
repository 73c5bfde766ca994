#include "controller/render/csv.h"

#include <array>
#include <charconv>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/units.h"
#include "controller/render/csv_table.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

struct ScopeRow {
  const v1::Report& report;
  const v1::StepReport& step;
  const v1::ScopeReport& scope;
};

using LatencyOf = std::function<const v1::LatencyReport*(const ScopeRow&)>;
using Figure = std::function<std::string(const v1::LatencyReport&)>;

std::string KindName(v1::ScopeKind kind) {
  return EnumName(*v1::ScopeKind_descriptor(), kind);
}

// Empty where the number stands for "all" or "none".
void AddLatencyColumns(const std::string& prefix, const LatencyOf& latency_of, CsvTable<ScopeRow>& table) {
  const auto add = [&](const std::string& name, const Figure& figure) {
    table.Column(prefix + name, [latency_of, figure](const ScopeRow& row) {
      const v1::LatencyReport* latency = latency_of(row);
      return latency == nullptr || latency->count() == 0 ? std::string() : figure(*latency);
    });
  };
  const auto percentile = [&](const std::string& name, auto get) {
    add(name + "_ns", [name, get](const v1::LatencyReport& latency) {
      return absl::c_linear_search(latency.thin(), name) ? std::string() : CsvCell(get(latency));
    });
  };
  add("min_ns", [](const v1::LatencyReport& latency) { return CsvCell(latency.min_ns()); });
  add("avg_ns", [](const v1::LatencyReport& latency) { return CsvCell(latency.avg_ns()); });
  add("wavg_ns", [](const v1::LatencyReport& latency) { return CsvCell(latency.wavg_ns()); });
  percentile("p50", [](const v1::LatencyReport& latency) { return latency.p50_ns(); });
  percentile("p90", [](const v1::LatencyReport& latency) { return latency.p90_ns(); });
  percentile("p99", [](const v1::LatencyReport& latency) { return latency.p99_ns(); });
  percentile("p99_9", [](const v1::LatencyReport& latency) { return latency.p99_9_ns(); });
  percentile("p99_99", [](const v1::LatencyReport& latency) { return latency.p99_99_ns(); });
  add("max_ns", [](const v1::LatencyReport& latency) { return CsvCell(latency.max_ns()); });
  add("sum_ns", [](const v1::LatencyReport& latency) {
    return latency.has_sum_ns() ? CsvCell(latency.sum_ns()) : std::string();
  });
}

void AddNameColumns(CsvTable<ScopeRow>& table) {
  table.Column("run_id", [](const ScopeRow& row) { return CsvCell(row.report.run().id()); });
  table.Column("step", [](const ScopeRow& row) { return CsvCell(uint64_t{row.step.number()}); });
  table.Column("repetition", [](const ScopeRow& row) { return CsvCell(uint64_t{row.step.repetition()}); });
  table.Column("block_size_bytes", [](const ScopeRow& row) { return CsvCell(row.step.block_size_bytes()); });
  table.Column("start_utc", [](const ScopeRow& row) { return FormatMoment(row.step.start()); });
  table.Column("kind", [](const ScopeRow& row) { return KindName(row.scope.kind()); });
  table.Column("host", [](const ScopeRow& row) { return CsvCell(row.scope.host()); });
  table.Column("qm", [](const ScopeRow& row) { return NonZeroCell(row.scope.qm()); });
  table.Column("storage", [](const ScopeRow& row) { return NonZeroCell(row.scope.storage()); });
}

void AddRateColumns(CsvTable<ScopeRow>& table) {
  const auto add = [&table](const std::string& name, auto get) {
    table.Column(name, [get](const ScopeRow& row) {
      return row.scope.has_rate() ? CsvCell(get(row.scope.rate())) : std::string();
    });
  };
  add("asked_iops", [](const v1::RateReport& rate) { return rate.asked_iops(); });
  add("rate_held", [](const v1::RateReport& rate) { return std::string(rate.held() ? "true" : "false"); });
  add("unserved", [](const v1::RateReport& rate) { return rate.unserved(); });
  add("max_behind_writes", [](const v1::RateReport& rate) { return rate.max_behind_writes(); });
  add("max_behind_ns", [](const v1::RateReport& rate) { return rate.max_behind_ns(); });
  AddLatencyColumns(
      "response_", [](const ScopeRow& row) { return row.scope.has_rate() ? &row.scope.rate().response() : nullptr; },
      table);
}

void AddSecondColumns(CsvTable<ScopeRow>& table) {
  const auto add = [&table](const std::string& name, auto get) {
    table.Column(name, [get](const ScopeRow& row) {
      const v1::BandwidthReport& bandwidth = row.scope.bandwidth();
      return bandwidth.seconds() == 0 ? std::string() : CsvCell(get(bandwidth));
    });
  };
  table.Column("whole_seconds", [](const ScopeRow& row) { return CsvCell(uint64_t{row.scope.bandwidth().seconds()}); });
  add("max_bytes_per_second", [](const v1::BandwidthReport& b) { return b.max_bytes_per_second(); });
  add("min_bytes_per_second", [](const v1::BandwidthReport& b) { return b.min_bytes_per_second(); });
  add("avg_bytes_per_second", [](const v1::BandwidthReport& b) { return b.avg_bytes_per_second(); });
  add("averaged_seconds", [](const v1::BandwidthReport& b) { return uint64_t{b.averaged_seconds()}; });
}

void AddSlowestColumns(CsvTable<ScopeRow>& table) {
  const auto add = [&table](const std::string& name, auto get) {
    table.Column(name, [get](const ScopeRow& row) {
      return row.scope.has_slowest() ? get(row.scope.slowest()) : std::string();
    });
  };
  add("slowest_host", [](const v1::SlowestReport& slowest) { return CsvCell(slowest.host()); });
  add("slowest_qm", [](const v1::SlowestReport& slowest) { return CsvCell(uint64_t{slowest.qm()}); });
  add("slowest_number", [](const v1::SlowestReport& slowest) { return CsvCell(slowest.number()); });
  add("slowest_extent", [](const v1::SlowestReport& slowest) { return CsvCell(uint64_t{slowest.extent()}); });
  add("slowest_offset_bytes", [](const v1::SlowestReport& slowest) { return CsvCell(slowest.offset_bytes()); });
  add("slowest_start_utc", [](const v1::SlowestReport& slowest) {
    return slowest.has_start() ? FormatMoment(slowest.start()) : std::string();
  });
  add("slowest_error_ns", [](const v1::SlowestReport& slowest) {
    return slowest.has_start() ? CsvCell(slowest.error_ns()) : std::string();
  });
}

CsvTable<ScopeRow> ScopeTable() {
  CsvTable<ScopeRow> table;
  const auto add = [&table](const std::string& name, auto get) {
    table.Column(name, [get](const ScopeRow& row) { return CsvCell(get(row.scope)); });
  };
  AddNameColumns(table);
  add("measured_ns", [](const v1::ScopeReport& scope) { return scope.measured_ns(); });
  add("writes", [](const v1::ScopeReport& scope) { return scope.writes(); });
  add("bytes", [](const v1::ScopeReport& scope) { return scope.bytes(); });
  add("iops", [](const v1::ScopeReport& scope) { return scope.iops(); });
  add("mb_per_second", [](const v1::ScopeReport& scope) { return scope.mb_per_second(); });
  AddLatencyColumns("latency_", [](const ScopeRow& row) { return &row.scope.latency(); }, table);
  add("time_between_writes_ns", [](const v1::ScopeReport& scope) { return scope.time_between_writes_ns(); });
  add("accounted_percent", [](const v1::ScopeReport& scope) { return scope.accounted_percent(); });
  AddSecondColumns(table);
  AddSlowestColumns(table);
  AddRateColumns(table);
  add("ring_full_waits", [](const v1::ScopeReport& scope) { return scope.ring_full_waits(); });
  add("ring_full_wait_ns", [](const v1::ScopeReport& scope) { return scope.ring_full_wait_ns(); });
  add("warmup_writes", [](const v1::ScopeReport& scope) { return scope.warmup_writes(); });
  add("untraced_writes", [](const v1::ScopeReport& scope) { return scope.untraced_writes(); });
  table.Column("data_until_utc", [](const ScopeRow& row) {
    return row.scope.has_data_until() ? FormatMoment(row.scope.data_until()) : std::string();
  });
  add("closing_writes", [](const v1::ScopeReport& scope) { return scope.closing().writes(); });
  add("closing_bytes", [](const v1::ScopeReport& scope) { return scope.closing().bytes(); });
  add("closing_latency_sum_ns", [](const v1::ScopeReport& scope) { return scope.closing().latency_sum_ns(); });
  add("closing_latency_max_ns", [](const v1::ScopeReport& scope) { return scope.closing().latency_max_ns(); });
  add("closing_length_ns", [](const v1::ScopeReport& scope) { return scope.closing().length_ns(); });
  return table;
}

}  // namespace

std::string CsvCell(const std::string& text) {
  std::string neutral = SanitizeForTerminal(text);
  // A spreadsheet takes such a cell for a formula; an apostrophe makes it text.
  double number = 0;
  if (!neutral.empty() && absl::StrContains("=+-@", neutral.substr(0, 1)) && !absl::SimpleAtod(neutral, &number)) {
    neutral.insert(0, 1, '\'');
  }
  if (neutral.find_first_of(",\"") == std::string::npos) return neutral;
  return absl::StrCat("\"", absl::StrReplaceAll(neutral, {{"\"", "\"\""}}), "\"");
}

std::string CsvCell(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 40> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() ? std::string(digits.data(), end) : std::string();
}

std::string CsvCell(uint64_t value) {
  return std::to_string(value);
}

std::string CsvCell(int64_t value) {
  return std::to_string(value);
}

std::string RenderCsv(const v1::Report& report) {
  const CsvTable<ScopeRow> table = ScopeTable();
  std::string csv = table.Heading();
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) csv += table.Line({report, step, scope});
  }
  return csv;
}

}  // namespace plimsoll
