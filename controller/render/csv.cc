#include "controller/render/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace plimsoll {
namespace {

struct ScopeRow {
  const v1::Report& report;
  const v1::StepReport& step;
  const v1::ScopeReport& scope;
};

using LatencyOf = std::function<const v1::LatencyReport*(const ScopeRow&)>;

std::string KindName(v1::ScopeKind kind) {
  return EnumName(*v1::ScopeKind_descriptor(), kind);
}

// A number of a report; empty where it is of another type.
std::string NumberCell(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& read = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return CsvCell(uint64_t{read.GetUInt32(message, &field)});
    case FieldDescriptor::CPPTYPE_UINT64:
      return CsvCell(read.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return CsvCell(read.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return CsvCell(read.GetDouble(message, &field));
    default:
      return "";
  }
}

bool IsNumber(const google::protobuf::FieldDescriptor& field) {
  using google::protobuf::FieldDescriptor;
  const FieldDescriptor::CppType type = field.cpp_type();
  return !field.is_repeated() && (type == FieldDescriptor::CPPTYPE_UINT32 || type == FieldDescriptor::CPPTYPE_UINT64 ||
                                  type == FieldDescriptor::CPPTYPE_INT64 || type == FieldDescriptor::CPPTYPE_DOUBLE);
}

// Every time of a LatencyReport, in the order of the proto; sum_ns is the last of those that were there first. A cell
// is empty where there is no write, and of a percentile that is known only roughly.
void AddLatencyColumns(const std::string& prefix, const LatencyOf& latency_of, CsvTable<ScopeRow>& table) {
  constexpr char kNs[] = "_ns";
  const auto add = [&](const google::protobuf::FieldDescriptor& field) {
    const std::string percentile(absl::StripSuffix(field.name(), kNs));
    table.Column(prefix + field.name(), [latency_of, percentile, &field](const ScopeRow& row) {
      const v1::LatencyReport* latency = latency_of(row);
      if (latency == nullptr || latency->count() == 0 || absl::c_linear_search(latency->thin(), percentile))
        return std::string();
      if (field.has_presence() && !latency->GetReflection()->HasField(*latency, &field)) return std::string();
      return NumberCell(*latency, field);
    });
  };
  const google::protobuf::Descriptor& type = *v1::LatencyReport::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (!IsNumber(field) || !absl::EndsWith(field.name(), kNs) || field.name() == "sum_ns") continue;
    add(field);
    if (field.name() == "max_ns") add(*type.FindFieldByName("sum_ns"));
  }
}

// The numbers of a ScopeReport that have no column yet, in the order of the proto.
void AddOtherColumns(CsvTable<ScopeRow>& table) {
  const google::protobuf::Descriptor& type = *v1::ScopeReport::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (!IsNumber(field) || table.Has(field.name())) continue;
    table.Column(field.name(), [&field](const ScopeRow& row) { return NumberCell(row.scope, field); });
  }
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
  AddOtherColumns(table);
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
  CsvTable<ScopeRow> table = ScopeTable();
  if (report.has_placement()) {
    table.Column("queue_manager", [](const ScopeRow& row) { return CsvCell(row.scope.queue_manager()); });
    table.Column("down_host", [](const ScopeRow& row) { return CsvCell(row.step.down_host()); });
  }
  std::string csv = table.Heading();
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) csv += table.Line({report, step, scope});
  }
  return csv;
}

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

CsvTable<SecondRow> SecondColumns() {
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
  CsvTable<SecondRow> table = SecondColumns();
  if (report.has_placement()) {
    table.Column("queue_manager", [](const SecondRow& row) {
      return row.series.qm() == 0 ? "" : CsvCell(QmText(row.report, row.series.host(), row.series.qm()));
    });
    table.Column("down_host", [](const SecondRow& row) { return CsvCell(row.step.down_host()); });
  }
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

std::string RenderCurveCsv(const v1::Report& report) {
  CsvTable<v1::LimitPoint> table;
  const bool over_rate = report.limit().over() == v1::LIMIT_OVER_RATE;
  table.Column("step", [](const v1::LimitPoint& point) { return CsvCell(uint64_t{point.step()}); });
  table.Column(over_rate ? "rate_per_queue_manager" : "queue_managers_per_host",
               [](const v1::LimitPoint& point) { return CsvCell(point.load()); });
  table.Column("iops", [](const v1::LimitPoint& point) { return CsvCell(point.iops()); });
  table.Column("criteria", [](const v1::LimitPoint& point) {
    return CsvCell(point.state() == v1::LIMIT_STATE_MEETS     ? "met"
                   : point.state() == v1::LIMIT_STATE_EXCEEDS ? "exceeded"
                                                              : "undecided");
  });
  table.Column("worst_host", [](const v1::LimitPoint& point) { return CsvCell(point.worst_host()); });
  const auto add = [&table](const std::string& where, const v1::LimitLatency& (*of)(const v1::LimitPoint&)) {
    const auto percentile = [&, of](const char* name, uint64_t (*get)(const v1::LimitLatency&)) {
      table.Column(absl::StrCat(where, "_", name, "_ns"), [of, get, name](const v1::LimitPoint& point) {
        const auto& thin = of(point).thin();
        return std::find(thin.begin(), thin.end(), name) == thin.end() ? CsvCell(get(of(point))) : std::string();
      });
    };
    table.Column(absl::StrCat(where, "_avg_ns"),
                 [of](const v1::LimitPoint& point) { return CsvCell(of(point).avg_ns()); });
    percentile("p50", [](const v1::LimitLatency& latency) { return latency.p50_ns(); });
    percentile("p99", [](const v1::LimitLatency& latency) { return latency.p99_ns(); });
    percentile("p99_9", [](const v1::LimitLatency& latency) { return latency.p99_9_ns(); });
    percentile("max", [](const v1::LimitLatency& latency) { return latency.max_ns(); });
  };
  add("cluster", [](const v1::LimitPoint& point) -> const v1::LimitLatency& { return point.cluster(); });
  add("worst_host", [](const v1::LimitPoint& point) -> const v1::LimitLatency& { return point.worst(); });
  std::string csv = table.Heading();
  for (const v1::LimitPoint* const point : LimitCurve(report.limit())) csv += table.Line(*point);
  return csv;
}

}  // namespace plimsoll
