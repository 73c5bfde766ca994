#include "controller/render/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

// Their latencies: sync_count, sync_p99_ns.
void AddOperationColumns(const std::vector<std::string>& names, CsvTable<ScopeRow>& table) {
  const google::protobuf::Descriptor& type = *v1::LatencyReport::descriptor();
  for (size_t n = 0; n < names.size(); ++n) {
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (!IsNumber(field)) continue;
      table.Column(CsvCell(absl::StrCat(names[n], "_", field.name())), [n, &field](const ScopeRow& row) {
        return row.operations[n] == nullptr ? std::string() : CsvFigure(row.operations[n]->latency(), field);
      });
    }
  }
}

// Finds the figures that the operations of a step have in its scopes, which come in the same order in each of them.
class OperationScopes {
 public:
  OperationScopes(const std::vector<std::string>& names, const v1::StepReport& step) {
    for (const std::string& name : names) {
      const auto found = std::ranges::find(step.operations(), name, &v1::OperationReport::name);
      places_.push_back({found == step.operations().end() ? nullptr : &*found});
    }
  }
  // Of the step's next scope, by operation; null where it has none.
  std::vector<const v1::OperationScopeReport*> Next(const v1::ScopeReport& scope) {
    std::vector<const v1::OperationScopeReport*> scopes;
    for (Place& place : places_) {
      const bool more = place.operation != nullptr && place.next < place.operation->scopes_size();
      const v1::OperationScopeReport* const own = more ? &place.operation->scopes(place.next) : nullptr;
      scopes.push_back(own != nullptr && IsSameScope(*own, scope) ? own : nullptr);
      if (scopes.back() != nullptr) ++place.next;
    }
    return scopes;
  }

 private:
  struct Place {
    const v1::OperationReport* operation = nullptr;
    int next = 0;
  };
  std::vector<Place> places_;
};

}  // namespace

std::string RenderCsv(const v1::Report& report) {
  CsvTable<ScopeRow> table = ScopeTable();
  const std::vector<std::string> operations = OperationNames(report);
  AddOperationColumns(operations, table);
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

struct SecondRow {
  const v1::Report& report;
  const v1::StepReport& step;
  const v1::SeriesReport& series;
  // Series of the response times of the same writes; null where there are none.
  const v1::SeriesReport* response = nullptr;
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

std::string Quantile(const google::protobuf::RepeatedFieldRef<uint64_t>& column, int row) {
  const uint64_t value_ns = row < column.size() ? column.Get(row) : 0;
  return value_ns == 0 ? std::string() : CsvCell(value_ns);
}

std::string StartOf(const SecondRow& row) {
  google::protobuf::Timestamp start = row.step.start();
  start.set_seconds(std::clamp<int64_t>(start.seconds(), 0, INT64_MAX / 2) + row.series.second(row.row));
  return FormatMoment(start);
}

// The figures of one time of the writes, from the series that `of` returns; empty where it is null.
void AddTimes(const std::string& prefix, const v1::SeriesReport* (*of)(const SecondRow& row),
              CsvTable<SecondRow>& table) {
  table.Column(absl::StrCat(prefix, "avg_ns"), [of](const SecondRow& row) {
    const v1::SeriesReport* const series = of(row);
    const uint64_t writes = series == nullptr ? 0 : At(series->writes(), row.row);
    if (writes == 0 || row.row >= series->latency_sum_ns_size()) return std::string();
    return CsvCell(static_cast<double>(At(series->latency_sum_ns(), row.row)) / static_cast<double>(writes));
  });
  for (const SeriesColumn& column : SeriesLatencyColumns()) {
    const FieldDescriptor& field = *v1::SeriesReport::descriptor()->FindFieldByName(column.field);
    table.Column(absl::StrCat(prefix, column.csv_figure), [of, &field](const SecondRow& row) {
      const v1::SeriesReport* const series = of(row);
      if (series == nullptr) return std::string();
      return Quantile(series->GetReflection()->GetRepeatedFieldRef<uint64_t>(*series, &field), row.row);
    });
  }
}

// The series of the response times of the same writes; null where it lacks or does not fit.
const v1::SeriesReport* ResponseOf(const v1::StepReport& step, const v1::SeriesReport& series) {
  for (const v1::SeriesReport& response : step.response().series()) {
    const bool same = response.kind() == series.kind() && response.host() == series.host() &&
                      response.qm() == series.qm() && response.storage() == series.storage();
    if (!same) continue;
    const auto& seconds = response.second();
    const bool fits = std::equal(seconds.begin(), seconds.end(), series.second().begin(), series.second().end());
    return fits ? &response : nullptr;
  }
  return nullptr;
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
  AddTimes("latency_", [](const SecondRow& row) { return &row.series; }, table);
  AddTimes("response_", [](const SecondRow& row) { return row.response; }, table);
  return table;
}

}  // namespace

std::string RenderTimelineCsv(const v1::Report& report) {
  CsvTable<SecondRow> table = SecondColumns();
  if (HasPlacement(report)) {
    table.Column("queue_manager", [](const SecondRow& row) {
      return row.series.qm() == 0 ? "" : CsvCell(QmText(row.report, row.series.host(), row.series.qm()));
    });
    table.Column("down_host", [](const SecondRow& row) { return CsvCell(row.step.down_host()); });
  }
  AddSweptColumns(report, table);
  std::string csv = table.Heading();
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::SeriesReport& series : step.series()) {
      const v1::SeriesReport* const response = ResponseOf(step, series);
      int next = 0;
      for (int row = 0; row < series.second_size(); ++row) {
        SecondRow second{report, step, series, response, row};
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
