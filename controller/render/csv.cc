#include "controller/render/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/render/columns.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/reflection.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;

struct ScopeRow {
  const v1::Report& report;
  const v1::StepReport& step;
  const v1::ScopeReport& scope;
  // Figures of the operations that some step measures beside the writes (OperationNames); null where it has none here.
  std::vector<const v1::OperationScopeReport*> operations = {};
};

std::string KindName(v1::ScopeKind kind) {
  return EnumName(*v1::ScopeKind_descriptor(), kind);
}

bool IsNumber(const FieldDescriptor& field) {
  const FieldDescriptor::CppType type = field.cpp_type();
  return !field.is_repeated() && (type == FieldDescriptor::CPPTYPE_UINT32 || type == FieldDescriptor::CPPTYPE_UINT64 ||
                                  type == FieldDescriptor::CPPTYPE_INT64 || type == FieldDescriptor::CPPTYPE_DOUBLE);
}

void AddFigure(const ColumnGroup& group, const std::string& name, const FieldDescriptor& field,
               CsvTable<ScopeRow>& table) {
  table.Column(name, [of = group.of, &field](const ScopeRow& row) {
    const google::protobuf::Message* const message = of(row.scope);
    return message == nullptr ? std::string() : CsvFigure(*message, field);
  });
}

// The figures of the list.
void AddGroup(const ColumnGroup& group, CsvTable<ScopeRow>& table) {
  const google::protobuf::Descriptor& type = *group.type();
  for (const FigureColumn& column : group.columns) {
    const FieldDescriptor& field = *type.FindFieldByName(column.field);
    AddFigure(group, column.csv_name != nullptr ? column.csv_name : absl::StrCat(group.csv_prefix, column.field), field,
              table);
  }
}

// The numbers of the group's message, those alone that end with `suffix`, that have no column yet, in the order of the
// proto.
void AddOtherColumns(const ColumnGroup& group, const std::string& suffix, CsvTable<ScopeRow>& table) {
  const google::protobuf::Descriptor& type = *group.type();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string name = absl::StrCat(group.csv_prefix, field.name());
    if (IsNumber(field) && absl::EndsWith(name, suffix) && !table.Has(name)) AddFigure(group, name, field, table);
  }
}

void AddLatencies(const ColumnGroup& group, CsvTable<ScopeRow>& table) {
  AddGroup(group, table);
  AddOtherColumns(group, "_ns", table);
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
  AddNameColumns(table);
  AddGroup(kWriteColumns, table);
  AddGroup(kThroughputColumns, table);
  AddLatencies(kLatencyColumns, table);
  AddGroup(kTimeColumns, table);
  AddGroup(kBandwidthColumns, table);
  AddSlowestColumns(table);
  AddGroup(kRateColumns, table);
  AddLatencies(kResponseColumns, table);
  AddGroup(kRecorderColumns, table);
  table.Column("data_until_utc", [](const ScopeRow& row) {
    return row.scope.has_data_until() ? FormatMoment(row.scope.data_until()) : std::string();
  });
  AddGroup(kClosingColumns, table);
  AddOtherColumns(kWriteColumns, "", table);
  return table;
}

// Whether the first character that is not blank begins a formula. Some programs drop blanks first, some take the wide
// forms of East Asian text for the plain ones. Unprintable characters are U+FFFD by now.
bool BeginsLikeFormula(const std::string& text) {
  constexpr std::array<uint32_t, 8> kBegins = {'=', '+', '-', '@', 0xFF1D, 0xFF0B, 0xFF0D, 0xFF20};
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    pos += point.bytes;
    const bool blank = point.value == ' ' || point.value == 0xA0 || point.value == 0x1680 ||
                       (point.value >= 0x2000 && point.value <= 0x200A) || point.value == 0x202F ||
                       point.value == 0x205F || point.value == 0x3000 || point.value == 0xFFFD;
    if (!blank) return std::find(kBegins.begin(), kBegins.end(), point.value) != kBegins.end();
  }
  return false;
}

}  // namespace

std::string CsvCell(const std::string& text) {
  std::string neutral = SanitizeForTerminal(text);
  // A spreadsheet takes such a cell for a formula; an apostrophe makes it text.
  double number = 0;
  if (BeginsLikeFormula(neutral) && !absl::SimpleAtod(neutral, &number)) neutral.insert(0, 1, '\'');
  // A semicolon or a tab separates cells where a comma is in numbers.
  if (neutral.find_first_of(",;\"") == std::string::npos) return neutral;
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

namespace {

// What a sweep gives to the row's step.
template <typename Row>
void AddSweptColumns(const v1::Report& report, CsvTable<Row>& table) {
  if (report.plan().sweep().rate_per_second_size() > 0) {
    table.Column("rate_per_queue_manager", [](const Row& row) { return CsvCell(row.step.rate_per_second()); });
  }
  if (report.plan().sweep().qm_size() > 0) {
    table.Column("queue_managers_per_host", [](const Row& row) { return NonZeroCell(row.step.queue_managers()); });
  }
}

// Names of the operations that some step measures beside the writes, each once.
std::vector<std::string> OperationNames(const v1::Report& report) {
  std::set<std::string> names;
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::OperationReport& operation : step.operations()) names.insert(operation.name());
  }
  return {names.begin(), names.end()};
}

// Adds a column for each number in one message of an operation's figures. `n`: the operation's place in ScopeRow. `of`
// returns the message, or null where the figures lack it.
void AddOperationFigures(const std::string& prefix, size_t n, const google::protobuf::Descriptor& type,
                         const google::protobuf::Message* (*of)(const v1::OperationScopeReport& figures),
                         CsvTable<ScopeRow>& table) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!IsNumber(field)) continue;
    table.Column(CsvCell(absl::StrCat(prefix, field.name())), [n, of, &field](const ScopeRow& row) {
      const google::protobuf::Message* const message = row.operations[n] == nullptr ? nullptr : of(*row.operations[n]);
      return message == nullptr ? std::string() : CsvFigure(*message, field);
    });
  }
}

// Whether some step of the report has the operation with a throughput of its own.
bool HasWhole(const v1::Report& report, const std::string& name) {
  return std::ranges::any_of(report.steps(), [&name](const v1::StepReport& step) {
    return std::ranges::any_of(step.operations(), [&name](const v1::OperationReport& operation) {
      return operation.name() == name && IsWhole(operation);
    });
  });
}

// Adds the throughput of an operation, as the columns of a scope have that of its writes: reads, read_bytes, read_iops;
// of calls MQPUT_completed, MQPUT_bytes, MQPUT_iops.
void AddThroughputColumns(const std::string& operation, size_t n, CsvTable<ScopeRow>& table) {
  const auto add = [n, &table](const std::string& name, auto get) {
    table.Column(CsvCell(name), [n, get](const ScopeRow& row) {
      const bool known = row.operations[n] != nullptr && row.operations[n]->has_throughput();
      return known ? CsvCell(get(row.operations[n]->throughput())) : std::string();
    });
  };
  const bool reads = operation == kReadName;
  add(reads ? "reads" : operation + "_completed",
      [](const v1::OperationThroughputReport& all) { return uint64_t{all.count()}; });
  add(operation + "_bytes", [](const v1::OperationThroughputReport& all) { return uint64_t{all.bytes()}; });
  add(operation + "_iops", [](const v1::OperationThroughputReport& all) { return all.iops(); });
  add(operation + "_mb_per_second", [](const v1::OperationThroughputReport& all) { return all.mb_per_second(); });
}

// Adds the latencies of the operations: sync_count, sync_p99_ns; for reads and calls also throughput, for reads
// response times.
void AddOperationColumns(const v1::Report& report, const std::vector<std::string>& names, CsvTable<ScopeRow>& table) {
  const google::protobuf::Descriptor& type = *v1::LatencyReport::descriptor();
  for (size_t n = 0; n < names.size(); ++n) {
    const bool reads = names[n] == kReadName;
    if (HasWhole(report, names[n])) AddThroughputColumns(names[n], n, table);
    AddOperationFigures(
        names[n] + "_", n, type,
        [](const v1::OperationScopeReport& figures) -> const google::protobuf::Message* { return &figures.latency(); },
        table);
    if (!reads) continue;
    AddOperationFigures(
        "read_response_", n, type,
        [](const v1::OperationScopeReport& figures) -> const google::protobuf::Message* {
          return figures.has_response() ? &figures.response() : nullptr;
        },
        table);
  }
}

// The step's figures of an operation; an empty report where the step lacks it.
const v1::OperationReport& OperationOf(const v1::StepReport& step, const std::string& name) {
  const auto found = std::ranges::find(step.operations(), name, &v1::OperationReport::name);
  return found == step.operations().end() ? v1::OperationReport::default_instance() : *found;
}

// Finds the figures that the operations of a step have in its scopes, which come in the same order in each of them.
class OperationScopes {
 public:
  OperationScopes(const std::vector<std::string>& names, const v1::StepReport& step) {
    for (const std::string& name : names) places_.push_back({OperationOf(step, name)});
  }
  // Of the step's next scope, by operation; null where it has none.
  std::vector<const v1::OperationScopeReport*> Next(const v1::ScopeReport& scope) {
    std::vector<const v1::OperationScopeReport*> scopes;
    for (Place& place : places_) {
      const bool more = place.next < place.operation.scopes_size();
      const v1::OperationScopeReport* const own = more ? &place.operation.scopes(place.next) : nullptr;
      scopes.push_back(own != nullptr && IsSameScope(*own, scope) ? own : nullptr);
      if (scopes.back() != nullptr) ++place.next;
    }
    return scopes;
  }

 private:
  struct Place {
    const v1::OperationReport& operation;
    int next = 0;
  };
  std::vector<Place> places_;
};

}  // namespace

std::string RenderCsv(const v1::Report& report) {
  CsvTable<ScopeRow> table = ScopeTable();
  const std::vector<std::string> operations = OperationNames(report);
  AddOperationColumns(report, operations, table);
  if (HasPlacement(report)) {
    table.Column("queue_manager", [](const ScopeRow& row) { return CsvCell(row.scope.queue_manager()); });
    table.Column("down_host", [](const ScopeRow& row) { return CsvCell(row.step.down_host()); });
  }
  AddSweptColumns(report, table);
  std::string csv = table.Heading();
  for (const v1::StepReport& step : report.steps()) {
    OperationScopes own(operations, step);
    for (const v1::ScopeReport& scope : step.scopes()) csv += table.Line({report, step, scope, own.Next(scope)});
  }
  return csv;
}

namespace {

// What a row of a series covers.
struct RowSpan {
  // From the step's measured start.
  uint32_t second = 0;
  int64_t length_ns = kNsPerSecond;
  // Empty for a row that lasts one second.
  std::string_view irregular = "";

  bool closing() const { return irregular == "closing"; }
  // Whether both rows hold the same writes, or a part of them. A call that was in flight at the step's end is over
  // before its write.
  bool Fits(const RowSpan& other) const {
    return second == other.second && irregular == other.irregular && (closing() || length_ns == other.length_ns);
  }
};

// A row of a series. `series` is null where the row is missing.
struct SeriesPlace {
  const v1::SeriesReport* series = nullptr;
  int row = 0;
};

// Goes through the rows of a series, in order. A null series has no rows.
class SeriesRows {
 public:
  // `row_ns`: length of a row that is not irregular.
  explicit SeriesRows(const v1::SeriesReport* series, int64_t row_ns = kNsPerSecond)
      : series_(series), row_ns_(row_ns) {
    Read();
  }

  bool done() const { return series_ == nullptr || row_ >= series_->second_size(); }
  // Undefined after the last row.
  int row() const { return row_; }
  const RowSpan& span() const { return span_; }
  SeriesPlace here() const { return {series_, row_}; }
  void Next() {
    ++row_;
    Read();
  }
  // Goes on to the first row that does not begin before the span, and returns it if it fits.
  SeriesPlace Find(const RowSpan& span) {
    while (!done() && span_.second < span.second) Next();
    return !done() && span_.Fits(span) ? SeriesPlace{series_, row_} : SeriesPlace{};
  }

 private:
  void Read() {
    if (done()) return;
    span_ = RowSpan{series_->second(row_), row_ns_};
    if (next_irregular_ == series_->irregular_size()) return;
    const v1::IrregularRow& irregular = series_->irregular(next_irregular_);
    if (static_cast<int>(irregular.row()) != row_) return;
    ++next_irregular_;
    span_.length_ns = irregular.length_ns();
    span_.irregular = irregular.closing() ? "closing" : irregular.coalesced() ? "coalesced" : "partial";
  }

  const v1::SeriesReport* series_;
  int64_t row_ns_;
  int row_ = 0;
  int next_irregular_ = 0;
  RowSpan span_;
};

// The series of a list by their scopes. The list must outlive it.
class SeriesByScope {
 public:
  explicit SeriesByScope(const google::protobuf::RepeatedPtrField<v1::SeriesReport>& list) {
    for (const v1::SeriesReport& series : list) by_scope_.try_emplace(ScopeOf(series), &series);
  }
  // The rows of the scope that `series` is about; no rows where the list lacks that scope.
  SeriesRows RowsLike(const v1::SeriesReport& series, int64_t row_ns) const {
    const auto found = by_scope_.find(ScopeOf(series));
    return SeriesRows(found == by_scope_.end() ? nullptr : found->second, row_ns);
  }

 private:
  using Scope = std::tuple<v1::ScopeKind, std::string, uint32_t, uint32_t>;
  static Scope ScopeOf(const v1::SeriesReport& series) {
    return {series.kind(), series.host(), series.qm(), series.storage()};
  }

  std::map<Scope, const v1::SeriesReport*> by_scope_;
};

struct SecondRow {
  const v1::Report& report;
  const v1::StepReport& step;
  const v1::SeriesReport& series;
  int row = 0;
  RowSpan span = {};
  // The response times of the same writes.
  SeriesPlace response = {};
  // The times of the operations that some step measures beside the writes (OperationNames). Where only the reads have
  // the row, `row` is past the end of `series`.
  std::vector<SeriesPlace> operations = {};
};

// Element `row` of a column; 0 where the column is shorter, which a damaged report's may be.
uint64_t At(const google::protobuf::RepeatedField<uint64_t>& column, int row) {
  return row < column.size() ? column.Get(row) : 0;
}

// Rates over a row that has no length of its own mean nothing.
std::string PerSecond(const SecondRow& row, double amount) {
  if (row.span.length_ns <= 0 || row.span.closing()) return "";
  return CsvCell(amount * static_cast<double>(kNsPerSecond) / static_cast<double>(row.span.length_ns));
}

std::string Quantile(const google::protobuf::RepeatedFieldRef<uint64_t>& column, int row) {
  const uint64_t value_ns = row < column.size() ? column.Get(row) : 0;
  return value_ns == 0 ? std::string() : CsvCell(value_ns);
}

std::string StartOf(const SecondRow& row) {
  google::protobuf::Timestamp start = row.step.start();
  start.set_seconds(std::clamp<int64_t>(start.seconds(), 0, INT64_MAX / 2) + row.span.second);
  return FormatMoment(start);
}

// Where one time of a row's writes is: the service time, the response time, or that of an operation.
using SeriesPlaceOf = std::function<SeriesPlace(const SecondRow& row)>;

// The figures of the time that `of` finds; empty where it finds none.
void AddTimes(const std::string& prefix, const SeriesPlaceOf& of, bool percentiles, CsvTable<SecondRow>& table) {
  table.Column(absl::StrCat(prefix, "avg_ns"), [of](const SecondRow& row) {
    const SeriesPlace at = of(row);
    const uint64_t writes = at.series == nullptr ? 0 : At(at.series->writes(), at.row);
    if (writes == 0 || at.row >= at.series->latency_sum_ns_size()) return std::string();
    return CsvCell(static_cast<double>(At(at.series->latency_sum_ns(), at.row)) / static_cast<double>(writes));
  });
  for (const SeriesColumn& column : SeriesLatencyColumns()) {
    if (column.percent > 0 && !percentiles) continue;
    const FieldDescriptor& field = *v1::SeriesReport::descriptor()->FindFieldByName(column.field);
    table.Column(absl::StrCat(prefix, column.csv_figure), [of, &field](const SecondRow& row) {
      const SeriesPlace at = of(row);
      if (at.series == nullptr) return std::string();
      return Quantile(at.series->GetReflection()->GetRepeatedFieldRef<uint64_t>(*at.series, &field), at.row);
    });
  }
}

// `operations`: those that some step measures beside the writes.
CsvTable<SecondRow> SecondColumns(const v1::Report& report, const std::vector<std::string>& operations) {
  CsvTable<SecondRow> table;
  table.Column("run_id", [](const SecondRow& row) { return CsvCell(row.report.run().id()); });
  table.Column("step", [](const SecondRow& row) { return CsvCell(uint64_t{row.step.number()}); });
  table.Column("block_size_bytes", [](const SecondRow& row) { return CsvCell(uint64_t{row.step.block_size_bytes()}); });
  table.Column("kind", [](const SecondRow& row) { return EnumName(*v1::ScopeKind_descriptor(), row.series.kind()); });
  table.Column("host", [](const SecondRow& row) { return CsvCell(row.series.host()); });
  table.Column("qm", [](const SecondRow& row) { return NonZeroCell(row.series.qm()); });
  table.Column("storage", [](const SecondRow& row) { return NonZeroCell(row.series.storage()); });
  table.Column("second", [](const SecondRow& row) { return CsvCell(uint64_t{row.span.second}); });
  table.Column("start_utc", StartOf);
  table.Column("length_ns", [](const SecondRow& row) { return CsvCell(row.span.length_ns); });
  table.Column("irregular", [](const SecondRow& row) { return std::string(row.span.irregular); });
  table.Column("writes", [](const SecondRow& row) { return CsvCell(At(row.series.writes(), row.row)); });
  table.Column("bytes", [](const SecondRow& row) { return CsvCell(At(row.series.bytes(), row.row)); });
  table.Column("iops", [](const SecondRow& row) {
    return PerSecond(row, static_cast<double>(At(row.series.writes(), row.row)));
  });
  table.Column("mb_per_second", [](const SecondRow& row) {
    return PerSecond(row, static_cast<double>(At(row.series.bytes(), row.row)) / kBytesPerMegabyte);
  });
  AddTimes("latency_", [](const SecondRow& row) { return SeriesPlace{&row.series, row.row}; }, true, table);
  AddTimes("response_", [](const SecondRow& row) { return row.response; }, true, table);
  for (size_t n = 0; n < operations.size(); ++n) {
    if (HasWhole(report, operations[n])) {
      const auto add = [n, &table](const std::string& name, const auto& column) {
        table.Column(CsvCell(name), [n, column](const SecondRow& row) {
          const SeriesPlace& at = row.operations[n];
          return at.series == nullptr ? std::string() : CsvCell(At(column(*at.series), at.row));
        });
      };
      add(operations[n] + "_count", [](const v1::SeriesReport& series) -> const auto& { return series.writes(); });
      add(operations[n] + "_bytes", [](const v1::SeriesReport& series) -> const auto& { return series.bytes(); });
    }
    // The series of operations have no percentiles.
    AddTimes(absl::StrCat(operations[n], "_"), [n](const SecondRow& row) { return row.operations[n]; }, false, table);
  }
  return table;
}

// The series of a step's times by second, or by minute.
template <typename Times>
const google::protobuf::RepeatedPtrField<v1::SeriesReport>& RowsOf(const Times& times, bool minutes) {
  return minutes ? times.minutes() : times.series();
}

std::string RenderSeriesCsv(const v1::Report& report, bool minutes) {
  const int64_t row_ns = (minutes ? 60 : 1) * kNsPerSecond;
  const std::vector<std::string> operations = OperationNames(report);
  CsvTable<SecondRow> table = SecondColumns(report, operations);
  if (HasPlacement(report)) {
    table.Column("queue_manager", [](const SecondRow& row) {
      return row.series.qm() == 0 ? "" : CsvCell(QmText(row.report, row.series.host(), row.series.qm()));
    });
    table.Column("down_host", [](const SecondRow& row) { return CsvCell(row.step.down_host()); });
  }
  AddSweptColumns(report, table);
  const auto read = std::ranges::find(operations, kReadName);
  std::optional<size_t> reads;
  if (read != operations.end()) reads = static_cast<size_t>(read - operations.begin());
  std::string csv = table.Heading();
  for (const v1::StepReport& step : report.steps()) {
    const SeriesByScope responses(RowsOf(step.response(), minutes));
    std::vector<SeriesByScope> parts;
    for (const std::string& name : operations) parts.emplace_back(RowsOf(OperationOf(step, name), minutes));
    for (const v1::SeriesReport& series : RowsOf(step, minutes)) {
      SeriesRows response = responses.RowsLike(series, row_ns);
      std::vector<SeriesRows> part_rows;
      for (const SeriesByScope& part : parts) part_rows.push_back(part.RowsLike(series, row_ns));
      bool closed = false;
      for (SeriesRows rows(&series, row_ns); !rows.done(); rows.Next()) {
        SecondRow second{report, step, series, rows.row(), rows.span(), response.Find(rows.span())};
        for (SeriesRows& part : part_rows) second.operations.push_back(part.Find(rows.span()));
        csv += table.Line(second);
        closed = closed || rows.span().closing();
      }
      if (closed || !reads) continue;
      // Where only reads were in flight at the step's end, the writes have no row for it.
      SeriesRows& read_rows = part_rows[*reads];
      while (!read_rows.done() && !read_rows.span().closing()) read_rows.Next();
      if (read_rows.done()) continue;
      SecondRow second{report, step, series, series.second_size(), read_rows.span()};
      second.operations.resize(part_rows.size());
      second.operations[*reads] = read_rows.here();
      csv += table.Line(second);
    }
  }
  return csv;
}

}  // namespace

std::string RenderTimelineCsv(const v1::Report& report) {
  return RenderSeriesCsv(report, /*minutes=*/false);
}

bool HasMinutes(const v1::Report& report) {
  return std::ranges::any_of(report.steps(), [](const v1::StepReport& step) { return step.has_whole_seconds(); });
}

std::string RenderMinutesCsv(const v1::Report& report) {
  return RenderSeriesCsv(report, /*minutes=*/true);
}

}  // namespace plimsoll
