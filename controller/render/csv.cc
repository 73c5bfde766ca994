#include "controller/render/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/units.h"
#include "controller/render/columns.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
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

std::string Quantile(const google::protobuf::RepeatedFieldRef<uint64_t>& column, int row) {
  const uint64_t value_ns = row < column.size() ? column.Get(row) : 0;
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
  for (const SeriesColumn& column : SeriesLatencyColumns()) {
    const FieldDescriptor& field = *v1::SeriesReport::descriptor()->FindFieldByName(column.field);
    table.Column(column.csv_name, [&field](const SecondRow& row) {
      return Quantile(row.series.GetReflection()->GetRepeatedFieldRef<uint64_t>(row.series, &field), row.row);
    });
  }
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
        return IsThin(of(point), name) ? std::string() : CsvCell(get(of(point)));
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
  table.Column("recovered", [](const v1::LimitPoint& point) { return CsvCell(point.not_recovered() ? "no" : "yes"); });
  table.Column("limit", [](const v1::LimitPoint& point) { return CsvCell(point.confidence().criterion()); });
  const auto confidence = [&table](const char* name, bool averages, double (*get)(const v1::LimitConfidence&)) {
    table.Column(name, [averages, get](const v1::LimitPoint& point) {
      const bool known = point.has_confidence() && point.confidence().has_average_ns() == averages;
      return known ? CsvCell(get(point.confidence())) : std::string();
    });
  };
  confidence("beyond_percent", false, [](const v1::LimitConfidence& one) { return one.beyond_percent(); });
  confidence("beyond_low_percent", false, [](const v1::LimitConfidence& one) { return one.low_percent(); });
  confidence("beyond_high_percent", false, [](const v1::LimitConfidence& one) { return one.high_percent(); });
  confidence("beyond_allowed_percent", false, [](const v1::LimitConfidence& one) { return one.allowed_percent(); });
  confidence("average_ns", true, [](const v1::LimitConfidence& one) { return one.average_ns(); });
  confidence("average_low_ns", true, [](const v1::LimitConfidence& one) { return one.low_ns(); });
  confidence("average_high_ns", true, [](const v1::LimitConfidence& one) { return one.high_ns(); });
  confidence("average_allowed_ns", true, [](const v1::LimitConfidence& one) { return one.allowed_ns(); });
  std::string csv = table.Heading();
  for (const v1::LimitPoint* const point : LimitCurve(report.limit())) csv += table.Line(*point);
  return csv;
}

namespace {

// A step as mqldt sees it.
struct MqldtFigures {
  uint64_t writes = 0;
  uint64_t iops = 0;
  uint64_t bytes = 0;
  uint64_t max_bytes_per_second = 0;
  uint64_t min_bytes_per_second = 0;
  uint64_t avg_bytes_per_second = 0;
  uint64_t max_latency_ns = 0;
  uint64_t max_write = 0;  // its number; 0: not known
  uint64_t min_latency_ns = 0;
  uint64_t min_write = 0;
  uint64_t avg_latency_ns = 0;
  uint64_t slowest_bytes_per_second = 0;
  uint64_t fastest_bytes_per_second = 0;
};

uint64_t Rounded(double value) {
  return std::isfinite(value) && value > 0 ? static_cast<uint64_t>(std::llround(value)) : 0;
}

// Bytes per second if every write took that long; 0 where there was none.
uint64_t BandwidthAt(uint64_t block_size_bytes, uint64_t latency_ns) {
  if (latency_ns == 0) return 0;
  return Rounded(static_cast<double>(block_size_bytes) * static_cast<double>(kNsPerSecond) /
                 static_cast<double>(latency_ns));
}

// `value` of the scope's whole seconds; over the whole step where that was shorter than one.
uint64_t OverSeconds(const v1::ScopeReport& scope, double value) {
  return Rounded(scope.bandwidth().seconds() > 0 ? value : scope.mb_per_second() * kBytesPerMegabyte);
}

uint64_t MostOfSecond(const v1::ScopeReport& scope) {
  return OverSeconds(scope, static_cast<double>(scope.bandwidth().max_bytes_per_second()));
}

uint64_t LeastOfSecond(const v1::ScopeReport& scope) {
  return OverSeconds(scope, static_cast<double>(scope.bandwidth().min_bytes_per_second()));
}

MqldtFigures FiguresOf(const v1::StepReport& step, bool of_single_qms) {
  MqldtFigures figures;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (const v1::ScopeReport& scope :
       OfKind(step.scopes(), of_single_qms ? v1::SCOPE_KIND_QM : v1::SCOPE_KIND_CLUSTER)) {
    figures.max_bytes_per_second = std::max(figures.max_bytes_per_second, MostOfSecond(scope));
    least = std::min(least, LeastOfSecond(scope));
  }
  if (least != std::numeric_limits<uint64_t>::max()) figures.min_bytes_per_second = least;
  const v1::ScopeReport* const cluster = ClusterOf(step);
  if (cluster == nullptr) return figures;
  figures.writes = cluster->writes();
  figures.iops = Rounded(cluster->iops());
  figures.bytes = cluster->bytes();
  figures.avg_bytes_per_second = OverSeconds(*cluster, cluster->bandwidth().avg_bytes_per_second());
  figures.max_latency_ns = cluster->latency().max_ns();
  figures.max_write = cluster->slowest().number();
  figures.min_latency_ns = cluster->latency().min_ns();
  figures.min_write = cluster->fastest_number();
  figures.avg_latency_ns = Rounded(cluster->latency().avg_ns());
  figures.slowest_bytes_per_second = BandwidthAt(step.block_size_bytes(), cluster->latency().max_ns());
  figures.fastest_bytes_per_second = BandwidthAt(step.block_size_bytes(), cluster->latency().min_ns());
  return figures;
}

constexpr absl::string_view kWrites = "Total writes to files";
constexpr absl::string_view kBytes = "Total bytes written to files";
constexpr absl::string_view kMaxOfSecond = "Max bytes/sec written to files (over 1 sec interval)";
constexpr absl::string_view kMinOfSecond = "Min bytes/sec written to files (over 1 sec interval)";
constexpr absl::string_view kAvg = "Avg bytes/sec written to files";
constexpr absl::string_view kMaxOfQmSecond = "Max bytes/sec written to files by a single qm (over 1 sec interval)";
constexpr absl::string_view kMinOfQmSecond = "Min bytes/sec written to files by a single qm (over 1 sec interval)";
constexpr absl::string_view kAvgOfQms = "Avg bytes/sec written to files by all queue managers";
constexpr absl::string_view kMaxLatency = "Max latency of write (ns)";
constexpr absl::string_view kMinLatency = "Min latency of write (ns)";
constexpr absl::string_view kAvgLatency = "Avg latency of write (ns)";
constexpr absl::string_view kSlowest = "Min bytes/sec (slowest write)";
constexpr absl::string_view kFastest = "Max bytes/sec (fastest write)";

// Groups digits as the user's locale does.
class Grouping {
 public:
  std::string operator()(uint64_t value, int width = 0) const {
    std::ostringstream text;
    text.imbue(locale_);
    text << std::setw(width) << value;
    return text.str();
  }

 private:
  // That of the environment; the classic one where the system does not have it.
  static std::locale OfUser() {
    try {
      return {std::locale::classic(), "", std::locale::numeric};
    } catch (const std::runtime_error&) {
      return std::locale::classic();
    }
  }

  const std::locale locale_ = OfUser();
};

}  // namespace

std::string RenderMqldtOptions(const MqldtOptions& options) {
  std::string text = absl::StrCat("Options (specified or defaulted to)\n", std::string(85, '='), "\n");
  const auto add = [&text](absl::string_view name, absl::string_view option, const auto& value) {
    absl::StrAppendFormat(&text, "%-27s %-22s : %s\n", name, absl::StrCat("(--", option, ")"), absl::StrCat(value));
  };
  add("Write blocksize", "bsize", options.block_sizes);
  add("Directory to write to", "dir", options.dir);
  add("Test file prefix", "filePrefix", options.file_prefix);
  add("Number of files to write to", "numFiles", options.num_files);
  add("Size of test files", "fileSize", options.file_size_bytes);
  add("Test duration", "duration", options.duration_s);
  if (options.delay_us > 0) add("Delay (microsec)", "delay", options.delay_us);
  if (options.alignment_bytes) add("Record alignment", "alignment", *options.alignment_bytes);
  if (options.background_threads > 0) add("Background Threads", "backgroundThreads", options.background_threads);
  if (options.qm > 1) add("Queue Managers", "qm", options.qm);
  if (!options.csv_file.empty()) add("CSV File", "csvFile", options.csv_file);
  return text + "\n";
}

std::string RenderMqldtStep(const v1::StepReport& step, uint32_t qm) {
  const bool several = qm > 1;
  const MqldtFigures figures = FiguresOf(step, several);
  const Grouping number;
  std::string text;
  const auto total = [&](absl::string_view name, uint64_t value) {
    absl::StrAppendFormat(&text, "%-*s : %s\n", several ? 67 : 52, name, number(value, 15));
  };
  total(kWrites, figures.writes);
  total("IOPS", figures.iops);
  total(kBytes, figures.bytes);
  total(several ? kMaxOfQmSecond : kMaxOfSecond, figures.max_bytes_per_second);
  total(several ? kMinOfQmSecond : kMinOfSecond, figures.min_bytes_per_second);
  total(several ? kAvgOfQms : kAvg, figures.avg_bytes_per_second);
  text += "\n";
  const auto latency = [&](absl::string_view name, uint64_t value, uint64_t write) {
    absl::StrAppendFormat(&text, "%-30s : %s%s\n", name, number(value, 15),
                          write == 0 ? "" : absl::StrCat(" (#", number(write), ")"));
  };
  latency(kMaxLatency, figures.max_latency_ns, figures.max_write);
  latency(kSlowest, figures.slowest_bytes_per_second, 0);
  latency(kMinLatency, figures.min_latency_ns, figures.min_write);
  latency(kFastest, figures.fastest_bytes_per_second, 0);
  latency(kAvgLatency, figures.avg_latency_ns, 0);
  return text + "\n";
}

std::string RenderMqldtCsv(const v1::Report& report, uint32_t qm) {
  const bool several = qm > 1;
  struct Row {
    const v1::StepReport& step;
    MqldtFigures figures;
  };
  CsvTable<Row> table;
  const auto add = [&table](absl::string_view name, uint64_t MqldtFigures::* figure) {
    table.Column(std::string(name), [figure](const Row& row) { return CsvCell(row.figures.*figure); });
  };
  table.Column("Blocksize", [](const Row& row) { return CsvCell(row.step.block_size_bytes()); });
  add(kWrites, &MqldtFigures::writes);
  add(kBytes, &MqldtFigures::bytes);
  add(several ? kMaxOfQmSecond : kMaxOfSecond, &MqldtFigures::max_bytes_per_second);
  add(several ? kMinOfQmSecond : kMinOfSecond, &MqldtFigures::min_bytes_per_second);
  add(several ? kAvgOfQms : kAvg, &MqldtFigures::avg_bytes_per_second);
  add(kMaxLatency, &MqldtFigures::max_latency_ns);
  add(kMinLatency, &MqldtFigures::min_latency_ns);
  add(kAvgLatency, &MqldtFigures::avg_latency_ns);
  add(kSlowest, &MqldtFigures::slowest_bytes_per_second);
  add(kFastest, &MqldtFigures::fastest_bytes_per_second);
  std::string csv = several ? absl::StrCat("Running MQLDT over ", qm, " Queue Managers\n") : "";
  csv += table.Heading();
  for (const v1::StepReport& step : report.steps()) csv += table.Line({step, FiguresOf(step, several)});
  return absl::StrReplaceAll(csv, {{"\r\n", "\n"}});
}

}  // namespace plimsoll
