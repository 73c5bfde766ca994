#include "controller/render/columns.h"

#include "absl/strings/strip.h"
#include "common/units.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr uint32_t kTables = kTextTable | kPageTable;
constexpr uint32_t kSummaries = kTextSummary | kPageSummary;

constexpr FigureColumn kWriteFigures[] = {
    {"measured_ns"},
    {"writes", "writes", FigureFormat::kCount, kTextCounts | kPageTable},
    {"bytes", "bytes", FigureFormat::kCount, kPageTable},
};

constexpr FigureColumn kThroughputFigures[] = {
    {"iops", "IO/s", FigureFormat::kRate, kTables | kSummaries | kTextMixed,
     "writes completed per second of the measured time"},
    {"mb_per_second", "MB/s", FigureFormat::kThroughput, kTables | kSummaries | kTextMixed,
     "millions of bytes (10\u2076) written per second"},
};

// Figures of a LatencyReport, and as far as it has them of a LimitLatency.
constexpr FigureColumn kLatencyFigures[] = {
    {"min_ns", "min", FigureFormat::kLatency, kTextCounts | kPageTable, "the fastest write"},
    {"avg_ns", "avg", FigureFormat::kLatency, kTables | kPageSummary | kTextMixed, "average"},
    {"wavg_ns", "wavg", FigureFormat::kLatency, kTextCounts | kPageTable,
     "weighted average as xdisk computes it, \u03a3n\u00b2t / \u03a3n\u00b2 over the histogram\u2019s buckets (n "
     "writes of "
     "time t): close to the most common latency"},
    {"p50_ns", "p50", FigureFormat::kLatency, kTables | kSummaries,
     "median: half of the writes took no longer than this"},
    {"p90_ns", "p90", FigureFormat::kLatency, kTables, "90 % of the writes took no longer than this"},
    {"p99_ns", "p99", FigureFormat::kLatency, kTables | kSummaries | kTextMixed,
     "99 % of the writes took no longer than this"},
    {"p99_9_ns", "p99.9", FigureFormat::kLatency, kTables | kSummaries,
     "99.9 % of the writes took no longer than this"},
    {"p99_99_ns", "p99.99", FigureFormat::kLatency, kTextCounts | kPageTable,
     "99.99 % of the writes took no longer than this"},
    {"max_ns", "max", FigureFormat::kLatency, kTables | kSummaries | kTextMixed, "the slowest write"},
    {"sum_ns"},
};

constexpr FigureColumn kTimeFigures[] = {
    {"time_between_writes_ns", "idle %", FigureFormat::kIdlePercent, kTextCounts | kPageTable,
     "share of the time in which a writer had no write in flight"},
    {"accounted_percent"},
};

constexpr FigureColumn kBandwidthFigures[] = {
    {.field = "seconds", .csv_name = "whole_seconds"},
    {"max_bytes_per_second", "max MB/s", FigureFormat::kMegabytes, kTextCounts | kPageTable, "", "max"},
    {"min_bytes_per_second", "min MB/s", FigureFormat::kMegabytes, kTextCounts | kPageTable, "", "min"},
    {"avg_bytes_per_second", "avg MB/s", FigureFormat::kMegabytes, kTextCounts | kPageTable, "", "avg"},
    {"averaged_seconds"},
};

constexpr FigureColumn kRateFigures[] = {
    {"asked_iops", "target", FigureFormat::kRate, kTextSummary},
    {.field = "held",
     .heading = "target rate",
     .format = FigureFormat::kHeld,
     .tables = kPageTable,
     .help = "writes per second that --rate sets for each queue manager; missed below 99 % of it",
     .csv_name = "rate_held"},
    {"unserved", "not issued", FigureFormat::kCount, kTables,
     "writes, and reads beside them, that were overdue when the step ended; their age then counts as their response "
     "time"},
    {"max_behind_writes"},
    {"max_behind_ns", "lag", FigureFormat::kLatency, kTables, "the longest schedule lag of a writer"},
};

constexpr FigureColumn kRecorderFigures[] = {
    {"ring_full_waits"}, {"ring_full_wait_ns"}, {"warmup_writes"}, {"untraced_writes"}};

constexpr FigureColumn kClosingFigures[] = {
    {"writes"}, {"bytes"}, {"latency_sum_ns"}, {"latency_max_ns"}, {"length_ns"}};

constexpr SeriesColumn kSeriesFigures[] = {
    {"p50_ns", "p50_ns", "p50", 50},
    {"p99_ns", "p99_ns", "p99", 99},
    {"p99_9_ns", "p99_9_ns", "p99.9", 99.9},
    {"latency_max_ns", "max_ns", "max", 0},
};

const Message* Scope(const v1::ScopeReport& scope) {
  return &scope;
}
const Message* Latency(const v1::ScopeReport& scope) {
  return &scope.latency();
}
const Message* Response(const v1::ScopeReport& scope) {
  return scope.has_rate() ? &scope.rate().response() : nullptr;
}
const Message* Felt(const v1::ScopeReport& scope) {
  return &FeltLatency(scope);
}
const Message* Rate(const v1::ScopeReport& scope) {
  return scope.has_rate() ? &scope.rate() : nullptr;
}
const Message* Bandwidth(const v1::ScopeReport& scope) {
  return &scope.bandwidth();
}
const Message* Closing(const v1::ScopeReport& scope) {
  return &scope.closing();
}

const FieldDescriptor& FieldOf(const Message& message, const std::string& name) {
  return *message.GetDescriptor()->FindFieldByName(name);
}

double NumberOf(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& read = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return read.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(read.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return static_cast<double>(read.GetUInt32(message, &field));
    default:
      return static_cast<double>(read.GetUInt64(message, &field));
  }
}

// Whether the message has the figure: not where nothing was measured, nor a percentile that is known only roughly.
// `message` has a field of that name.
bool HasFigure(const Message& message, const std::string& field) {
  const FieldDescriptor& descriptor = FieldOf(message, field);
  if (descriptor.has_presence() && !message.GetReflection()->HasField(message, &descriptor)) return false;
  const std::string figure(absl::StripSuffix(field, "_ns"));
  if (const auto* latency = dynamic_cast<const v1::LatencyReport*>(&message); latency != nullptr) {
    return IsKnown(*latency, figure);
  }
  if (const auto* latency = dynamic_cast<const v1::LimitLatency*>(&message); latency != nullptr) {
    return IsKnown(*latency, figure);
  }
  if (const auto* bandwidth = dynamic_cast<const v1::BandwidthReport*>(&message); bandwidth != nullptr) {
    return bandwidth->seconds() > 0 || field == "seconds";
  }
  return true;
}

std::string IdlePercent(const v1::ScopeReport& scope) {
  const auto idle_ns = static_cast<double>(scope.time_between_writes_ns());
  const double time_ns = static_cast<double>(scope.latency().sum_ns()) + idle_ns;
  return time_ns <= 0 ? kDash : FormatFixed(100 * idle_ns / time_ns, 2);
}

}  // namespace

constinit const ColumnGroup kWriteColumns{"writes", "", "", v1::ScopeReport::descriptor, Scope, kWriteFigures};
constinit const ColumnGroup kThroughputColumns{"throughput",      "", "", v1::ScopeReport::descriptor, Scope,
                                               kThroughputFigures};
constinit const ColumnGroup kLatencyColumns{"latency", "latency",      "latency_", v1::LatencyReport::descriptor,
                                            Latency,   kLatencyFigures};
constinit const ColumnGroup kTimeColumns{"time", "", "", v1::ScopeReport::descriptor, Scope, kTimeFigures};
constinit const ColumnGroup kBandwidthColumns{"bandwidth", "bandwidth",      "", v1::BandwidthReport::descriptor,
                                              Bandwidth,   kBandwidthFigures};
constinit const ColumnGroup kRateColumns{"rate", "rate", "", v1::RateReport::descriptor, Rate, kRateFigures};
constinit const ColumnGroup kResponseColumns{"response", "rate.response", "response_", v1::LatencyReport::descriptor,
                                             Response,   kLatencyFigures};
constinit const ColumnGroup kFeltColumns{"felt", "", "", v1::LatencyReport::descriptor, Felt, kLatencyFigures};
constinit const ColumnGroup kRecorderColumns{"recorder", "", "", v1::ScopeReport::descriptor, Scope, kRecorderFigures};
constinit const ColumnGroup kClosingColumns{"closing", "closing",      "closing_", v1::ClosingReport::descriptor,
                                            Closing,   kClosingFigures};

std::span<const SeriesColumn> SeriesLatencyColumns() {
  return kSeriesFigures;
}

std::string CsvFigure(const Message& message, const FieldDescriptor& field) {
  if (!HasFigure(message, field.name())) return "";
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
    case FieldDescriptor::CPPTYPE_BOOL:
      return read.GetBool(message, &field) ? "true" : "false";
    default:
      return "";
  }
}

const char* FigureFormatName(FigureFormat format) {
  switch (format) {
    case FigureFormat::kCount:
      return "count";
    case FigureFormat::kRate:
      return "rate";
    case FigureFormat::kThroughput:
      return "throughput";
    case FigureFormat::kMegabytes:
      return "megabytes";
    case FigureFormat::kLatency:
      return "latency";
    case FigureFormat::kIdlePercent:
      return "idle";
    case FigureFormat::kHeld:
      return "held";
  }
  return "";
}

std::string TextFigure(const Message& message, const FigureColumn& column, const LatencyUnit& unit) {
  if (!HasFigure(message, column.field)) return kDash;
  const FieldDescriptor& field = FieldOf(message, column.field);
  switch (column.format) {
    case FigureFormat::kCount:
      return FormatCount(message.GetReflection()->GetUInt64(message, &field));
    case FigureFormat::kRate:
      return FormatRate(NumberOf(message, field));
    case FigureFormat::kThroughput:
      return FormatThroughput(NumberOf(message, field));
    case FigureFormat::kMegabytes:
      return FormatThroughput(NumberOf(message, field) / kBytesPerMegabyte);
    case FigureFormat::kLatency:
      return FormatLatency(NumberOf(message, field), unit.unit_ns);
    case FigureFormat::kIdlePercent:
      return IdlePercent(dynamic_cast<const v1::ScopeReport&>(message));
    case FigureFormat::kHeld:
      return message.GetReflection()->GetBool(message, &field) ? "held" : "missed";
  }
  return kDash;
}

std::string TextFigure(const v1::ScopeReport& scope, const ColumnGroup& group, const FigureColumn& column,
                       const LatencyUnit& unit) {
  const Message* const message = group.of(scope);
  return message == nullptr ? kDash : TextFigure(*message, column, unit);
}

FigureTable::FigureTable(std::initializer_list<const ColumnGroup*> groups, uint32_t table) {
  for (const ColumnGroup* const group : groups) {
    if (group == nullptr) {
      entries_.push_back({nullptr, nullptr});
    } else {
      Add(*group, table);
    }
  }
}

FigureTable FigureTable::Summary(bool paced, bool swept, bool mixed) {
  FigureTable summary({&kThroughputColumns, nullptr, &kFeltColumns}, mixed ? kTextMixed : kTextSummary);
  if (swept) {
    summary.entries_.erase(summary.entries_.begin() + 1);
    return summary;
  }
  if (!paced || mixed) return summary;
  // The target stands behind IO/s.
  const FigureTable rate({&kRateColumns}, kTextSummary);
  summary.entries_.insert(summary.entries_.begin() + 1, rate.entries_.begin(), rate.entries_.end());
  return summary;
}

void FigureTable::Add(const ColumnGroup& group, uint32_t table) {
  for (const FigureColumn& column : group.columns) {
    if (column.IsIn(table)) entries_.push_back({&group, &column});
  }
}

void FigureTable::AddHeadings(std::vector<std::string>& headings) const {
  for (const auto& [group, column] : entries_) {
    headings.emplace_back(column == nullptr                 ? "|"
                          : column->text_heading != nullptr ? column->text_heading
                                                            : column->heading);
  }
}

void FigureTable::AddCells(const v1::ScopeReport& scope, const LatencyUnit& unit,
                           std::vector<std::string>& cells) const {
  for (const auto& [group, column] : entries_) {
    if (column != nullptr) cells.push_back(TextFigure(scope, *group, *column, unit));
  }
}

std::string ColumnsJson() {
  JsonWriter json(/*compact=*/true);
  const auto text = [&json](const char* key, const std::string& value) { json.Key(key).String(value); };
  json.BeginObject();
  for (const ColumnGroup* const group : {&kWriteColumns, &kThroughputColumns, &kLatencyColumns, &kTimeColumns,
                                         &kBandwidthColumns, &kRateColumns, &kResponseColumns}) {
    json.Key(group->name).BeginArray();
    for (const FigureColumn& column : group->columns) {
      if (!column.IsIn(kPageTable | kPageSummary)) continue;
      json.BeginObject();
      text("in", group->json_path);
      text("field", column.field);
      text("title", column.heading);
      text("format", FigureFormatName(column.format));
      text("help", column.help);
      json.Key("table").Bool(column.IsIn(kPageTable));
      json.Key("summary").Bool(column.IsIn(kPageSummary));
      json.EndObject();
    }
    json.EndArray();
  }
  json.Key("series").BeginArray();
  for (const SeriesColumn& column : SeriesLatencyColumns()) {
    json.BeginObject();
    text("field", column.field);
    text("title", column.heading);
    json.Key("percent").Double(column.percent);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace plimsoll
