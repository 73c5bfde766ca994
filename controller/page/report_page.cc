#include "controller/page/report_page.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/page/assets.h"
#include "controller/page/html_page.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"
#include "google/protobuf/util/field_mask_util.h"

namespace plimsoll {

void CopyBut(const google::protobuf::Message& from, const std::set<std::string>& left_out,
             google::protobuf::Message& to) {
  google::protobuf::FieldMask mask;
  const google::protobuf::Descriptor& type = *from.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (left_out.count(type.field(i)->name()) == 0) mask.add_paths(type.field(i)->name());
  }
  google::protobuf::util::FieldMaskUtil::MergeMessageTo(from, mask, {}, &to);
}

namespace {

using Column = std::vector<int64_t>;

// A column as packed numbers; `rows` long, whatever a damaged report claims.
template <typename Field>
Column ColumnOf(const Field& field, int rows) {
  Column column(static_cast<size_t>(rows), 0);
  for (int row = 0; row < std::min(rows, field.size()); ++row) {
    const auto value = static_cast<uint64_t>(field.Get(row));
    column[static_cast<size_t>(row)] = static_cast<int64_t>(std::min(value, static_cast<uint64_t>(kMaxPacked)));
  }
  return column;
}

// A column of doubles in steps of 1/scale.
Column Scaled(const google::protobuf::RepeatedField<double>& field, int rows, double scale) {
  Column column(static_cast<size_t>(rows), 0);
  for (int row = 0; row < std::min(rows, field.size()); ++row) {
    const double value = field.Get(row) * scale;
    if (!std::isfinite(value)) continue;
    const double bound = static_cast<double>(kMaxPacked);
    column[static_cast<size_t>(row)] = std::llround(std::clamp(value, -bound, bound));
  }
  return column;
}

// What the share of `rows` in `limit` is, where all have `total` together.
int Share(int rows, int64_t total, int limit) {
  if (total <= limit) return rows;
  return static_cast<int>(static_cast<int64_t>(limit) * rows / total);
}

class PageData {
 public:
  PageData(const v1::Report& report, const PageLimits& limits)
      : report_(report), limits_(limits), second_buckets_left_(limits.second_buckets) {
    for (const v1::StepReport& step : report.steps()) {
      AddShown(step, RowsOf(step, step));
      AddShown(step, RowsOf(step, step.response()));
      for (const v1::OperationReport& operation : step.operations()) AddShown(step, RowsOf(step, operation));
      for (const v1::HostLoadReport& load : step.load()) load_rows_ += load.offset_ns_size();
    }
    ChooseDistributions();
  }

  std::string Write(const std::string& digest) {
    json_.BeginObject();
    WriteJson(WithoutColumns(), json_.Key("report"));
    json_.Key("cause").String(PrimaryCause(report_.verdict()));
    json_.Key("configuration").BeginArray();
    for (const ConfigurationRow& row : ConfigurationRows(report_)) {
      json_.BeginArray();
      for (const std::string& text : {row.label, row.option, row.value}) json_.String(text);
      json_.EndArray();
    }
    json_.EndArray();
    json_.Key("steps").BeginArray();
    for (const v1::StepReport& step : report_.steps()) WriteStep(step);
    json_.EndArray();
    if (RunKindOf(report_) == RunKind::kHa) {
      json_.Key("ha");
      WriteHaPageData(report_.ha(), limits_.takeovers, json_);
    }
    if (!digest.empty()) json_.Key("digest").String(digest);
    json_.EndObject();
    return json_.Take();
  }

 private:
  using AllSeries = google::protobuf::RepeatedPtrField<v1::SeriesReport>;
  using AllDistributions = google::protobuf::RepeatedPtrField<v1::DistributionReport>;

  // Operation that a series is of. The series of an operation beside the main one has no percentiles; that of a part of
  // the writes has no bytes either.
  enum class Of { kMain, kReads, kPart };
  static constexpr uint32_t kMinuteSeconds = 60;

  struct NamedColumn {
    const char* name;
    Column values;
  };

  static bool IsQm(const v1::SeriesReport& series) { return series.kind() == v1::SCOPE_KIND_QM; }

  static Of OfOperation(const v1::OperationReport& operation) {
    return operation.name() == kReadName ? Of::kReads : Of::kPart;
  }

  // The series that the page draws: by second, or by minute over the whole of a step whose seconds are not all known.
  template <typename Times>
  static const AllSeries& RowsOf(const v1::StepReport& step, const Times& times) {
    return step.has_whole_seconds() ? times.minutes() : times.series();
  }

  // The cluster's distributions of these rows.
  template <typename Times>
  static const v1::SecondDistributionsReport& RowDistributionsOf(const v1::StepReport& step, const Times& times) {
    return step.has_whole_seconds() ? times.minute_distributions() : times.seconds();
  }

  // Notes those series of a step that are not at the same time those of a larger scope: the only queue manager of a
  // host, or the only storage.
  void AddShown(const v1::StepReport& step, const AllSeries& all) {
    std::map<std::string, int> qms;
    const auto storages = std::ranges::distance(OfKind(step.scopes(), v1::SCOPE_KIND_STORAGE));
    for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_QM)) ++qms[scope.host()];
    for (const v1::SeriesReport& series : all) {
      if (IsQm(series) && qms[series.host()] == 1) continue;
      if (series.kind() == v1::SCOPE_KIND_STORAGE && storages == 1) continue;
      shown_.insert(&series);
      (IsQm(series) ? qm_rows_ : wide_rows_) += series.second_size();
    }
  }

  // The widest scopes first, of all steps, as long as there is room; in each kind of scope the writes and the reads
  // before the parts of the writes.
  void ChooseDistributions() {
    std::vector<const AllDistributions*> whole;
    std::vector<const AllDistributions*> parts;
    for (const v1::StepReport& step : report_.steps()) {
      whole.push_back(&step.response().distributions());
      whole.push_back(&step.distributions());
      for (const v1::OperationReport& operation : step.operations()) {
        (OfOperation(operation) == Of::kPart ? parts : whole).push_back(&operation.distributions());
      }
    }
    int64_t left = limits_.distribution_buckets;
    for (const v1::ScopeKind kind : {v1::SCOPE_KIND_CLUSTER, v1::SCOPE_KIND_STORAGE, v1::SCOPE_KIND_HOST}) {
      for (const AllDistributions* all : whole) ChooseDistributions(*all, kind, left);
      for (const AllDistributions* all : parts) ChooseDistributions(*all, kind, left);
    }
  }

  void ChooseDistributions(const AllDistributions& all, v1::ScopeKind kind, int64_t& left) {
    for (const v1::DistributionReport& distribution : OfKind(all, kind)) {
      if (distribution.from_ns_size() > left) continue;
      left -= distribution.from_ns_size();
      distributions_.insert(&distribution);
    }
  }

  v1::Report WithoutColumns() const {
    v1::Report bare;
    CopyBut(report_, {"steps", "ha"}, bare);
    // The page reads them, of a report without them too.
    bare.mutable_run();
    bare.mutable_verdict();
    bare.mutable_plan();
    // Its points are in the report's own mq_log.
    bare.mutable_plan()->clear_mq_log();
    for (const v1::StepReport& step : report_.steps()) {
      v1::StepReport& copy = *bare.add_steps();
      CopyBut(
          step,
          {"series", "distributions", "seconds", "minutes", "minute_distributions", "load", "response", "operations"},
          copy);
      for (const v1::OperationReport& operation : step.operations()) {
        CopyBut(operation, {"series", "distributions", "minutes"}, *copy.add_operations());
      }
      if (step.has_response()) {
        CopyBut(step.response(), {"series", "distributions", "seconds", "minutes", "minute_distributions"},
                *copy.mutable_response());
      }
      for (const v1::HostLoadReport& load : step.load()) {
        CopyBut(load,
                {"offset_ns", "agent_cpu", "writer_cpu_wait", "disk_write_ms", "disk_busy", "nfs_round_trip_ms",
                 "nfs_execute_ms", "nfs_retransmits", "disk_read_ms", "nfs_read_round_trip_ms", "nfs_read_execute_ms"},
                *copy.add_load());
      }
    }
    return bare;
  }

  void WriteStep(const v1::StepReport& step) {
    json_.BeginObject();
    if (step.has_whole_seconds()) json_.Key("row_seconds").UInt(kMinuteSeconds);
    WriteTimes(step, step, Of::kMain);
    WriteSeconds(RowDistributionsOf(step, step));
    if (step.has_response()) {
      json_.Key("response").BeginObject();
      WriteTimes(step, step.response(), Of::kMain);
      WriteSeconds(RowDistributionsOf(step, step.response()));
      json_.EndObject();
    }
    if (!step.operations().empty()) {
      json_.Key("operations").BeginArray();
      for (const v1::OperationReport& operation : step.operations()) {
        json_.BeginObject();
        WriteTimes(step, operation, OfOperation(operation));
        json_.EndObject();
      }
      json_.EndArray();
    }
    json_.Key("load").BeginArray();
    for (const v1::HostLoadReport& load : step.load()) WriteLoad(load);
    json_.EndArray();
    json_.EndObject();
  }

  // Series and distributions of a step's service times, of its response times, or of an operation beside the main one.
  template <typename Times>
  void WriteTimes(const v1::StepReport& step, const Times& times, Of of) {
    json_.Key("series").BeginArray();
    const char* kept = "all";
    const AllSeries& all = RowsOf(step, times);
    const std::set<uint32_t> seconds = WideSeconds(all, of, kept);
    for (const v1::SeriesReport& series : all) {
      if (shown_.count(&series) > 0) WriteSeries(step.block_size_bytes(), series, of, seconds);
    }
    json_.EndArray();
    json_.Key("kept").String(kept);
    json_.Key("distributions").BeginArray();
    uint64_t left_out = 0;
    for (const v1::DistributionReport& distribution : times.distributions()) {
      if (distributions_.count(&distribution) == 0) {
        ++left_out;
        continue;
      }
      json_.BeginObject();
      WriteScope(distribution);
      const int rows = std::min(distribution.from_ns_size(), distribution.count_size());
      WritePacked("from_ns", ColumnOf(distribution.from_ns(), rows), json_);
      WritePacked("count", ColumnOf(distribution.count(), rows), json_);
      json_.EndObject();
    }
    json_.EndArray();
    json_.Key("distributions_left_out").UInt(left_out);
  }

  template <typename Scope>
  void WriteScope(const Scope& scope) {
    json_.Key("kind").String(EnumName(*v1::ScopeKind_descriptor(), scope.kind()));
    json_.Key("host").String(scope.host());
    json_.Key("storage").UInt(scope.storage());
  }

  static std::vector<NamedColumn> LatencyColumns(const v1::SeriesReport& series, Of of) {
    const int rows = series.second_size();
    std::vector<NamedColumn> columns = {{"latency_sum_ns", ColumnOf(series.latency_sum_ns(), rows)},
                                        {"latency_max_ns", ColumnOf(series.latency_max_ns(), rows)}};
    if (of != Of::kMain) return columns;
    columns.push_back({"p50_ns", ColumnOf(series.p50_ns(), rows)});
    columns.push_back({"p99_ns", ColumnOf(series.p99_ns(), rows)});
    columns.push_back({"p99_9_ns", ColumnOf(series.p99_9_ns(), rows)});
    return columns;
  }

  static std::vector<ThinColumn> ThinColumns(const v1::SeriesReport& series, Of of) {
    std::vector<ThinColumn> thin = {{ColumnOf(series.writes(), series.second_size()), false}};
    for (NamedColumn& column : LatencyColumns(series, of)) thin.push_back({std::move(column.values), true});
    return thin;
  }

  static std::vector<int> IrregularRows(const v1::SeriesReport& series) {
    std::vector<int> rows;
    for (const v1::IrregularRow& irregular : series.irregular()) {
      const auto row = static_cast<int>(irregular.row());
      if (row < series.second_size()) rows.push_back(row);
    }
    return rows;
  }

  static void AddSeconds(const v1::SeriesReport& series, const std::vector<int>& rows, std::set<uint32_t>& seconds) {
    for (const int row : rows) seconds.insert(series.second(row));
  }

  // The seconds that stay of the series of cluster, storages and hosts; empty: all. `kept` becomes what the page shows
  // of them (report_page.h).
  std::set<uint32_t> WideSeconds(const AllSeries& all, Of of, const char*& kept) const {
    std::set<uint32_t> seconds;
    if (wide_rows_ <= limits_.wide_rows) return seconds;
    std::vector<const v1::SeriesReport*> parts;
    const v1::SeriesReport* const cluster = ClusterOf(all);
    for (const v1::SeriesReport& series : all) {
      if (series.kind() != v1::SCOPE_KIND_CLUSTER && !IsQm(series) && shown_.count(&series) > 0)
        parts.push_back(&series);
    }
    if (cluster == nullptr) return seconds;
    const int rows = cluster->second_size();
    const int budget = Share(rows, wide_rows_, limits_.wide_rows);
    const int for_parts = parts.empty() ? 0 : budget / 2;
    AddSeconds(*cluster, ThinRows(ThinColumns(*cluster, of), rows, budget - for_parts, {}), seconds);
    // The smallest and the largest value of two columns.
    constexpr int kExtremes = 4;
    const int each = parts.empty() ? 0 : for_parts / static_cast<int>(parts.size());
    kept = each >= kExtremes || parts.empty() ? "each" : "longest";
    if (each < kExtremes) {
      AddLongest(parts, static_cast<size_t>(for_parts), seconds);
      return seconds;
    }
    for (const v1::SeriesReport* part : parts) {
      const int length = part->second_size();
      AddSeconds(*part,
                 ThinRows({{ColumnOf(part->latency_max_ns(), length), true}, {ColumnOf(part->writes(), length), false}},
                          length, each, {}),
                 seconds);
    }
    return seconds;
  }

  // The second of the longest write of each part, the longest of them first, until there are `most`.
  static void AddLongest(const std::vector<const v1::SeriesReport*>& parts, size_t most, std::set<uint32_t>& seconds) {
    std::vector<std::pair<uint64_t, uint32_t>> longest;
    for (const v1::SeriesReport* part : parts) {
      const int rows = std::min(part->second_size(), part->latency_max_ns_size());
      const auto* begin = part->latency_max_ns().data();
      if (rows == 0) continue;
      const auto row = static_cast<int>(std::max_element(begin, begin + rows) - begin);
      longest.emplace_back(part->latency_max_ns(row), part->second(row));
    }
    std::sort(longest.begin(), longest.end(), std::greater<>());
    for (size_t i = 0; i < std::min(most, longest.size()); ++i) seconds.insert(longest[i].second);
  }

  std::vector<int> KeptRows(const v1::SeriesReport& series, Of of, const std::set<uint32_t>& seconds) const {
    const int rows = series.second_size();
    const std::vector<int> irregular = IrregularRows(series);
    if (IsQm(series)) return ThinRows(ThinColumns(series, of), rows, Share(rows, qm_rows_, limits_.qm_rows), irregular);
    if (seconds.empty()) return ThinRows({}, rows, rows, {});
    std::set<int> kept(irregular.begin(), irregular.end());
    for (int row = 0; row < rows; ++row) {
      if (seconds.count(series.second(row)) > 0) kept.insert(row);
    }
    return {kept.begin(), kept.end()};
  }

  void WriteSeries(uint64_t block_size_bytes, const v1::SeriesReport& series, Of of,
                   const std::set<uint32_t>& seconds) {
    const int rows = series.second_size();
    const std::vector<int> kept = KeptRows(series, of, seconds);
    std::map<int, uint32_t> numbers;
    for (const int row : kept) numbers.emplace(row, static_cast<uint32_t>(numbers.size()));
    json_.BeginObject();
    WriteScope(series);
    json_.Key("qm").UInt(series.qm());
    json_.Key("of").Int(rows);
    json_.Key("irregular").BeginArray();
    for (const v1::IrregularRow& irregular : series.irregular()) {
      const auto found = numbers.find(static_cast<int>(irregular.row()));
      if (found == numbers.end()) continue;
      v1::IrregularRow here = irregular;
      here.set_row(found->second);
      WriteJson(here, json_);
    }
    json_.EndArray();
    const Column writes = ColumnOf(series.writes(), rows);
    const Column bytes = ColumnOf(series.bytes(), rows);
    WritePacked("second", KeepRows(ColumnOf(series.second(), rows), kept), json_);
    WritePacked("writes", KeepRows(writes, kept), json_);
    const double block = static_cast<double>(block_size_bytes);
    const bool plain = std::equal(writes.begin(), writes.end(), bytes.begin(), [block](int64_t count, int64_t size) {
      return static_cast<double>(count) * block == static_cast<double>(size);
    });
    if (!plain && of != Of::kPart) WritePacked("bytes", KeepRows(bytes, kept), json_);
    for (const NamedColumn& column : LatencyColumns(series, of)) {
      WritePacked(column.name, KeepRows(column.values, kept), json_);
    }
    json_.EndObject();
  }

  void WriteSeconds(const v1::SecondDistributionsReport& seconds) {
    const int rows = std::min(seconds.second_size(), seconds.buckets_size());
    const int entries = std::min(seconds.bucket_size(), seconds.count_size());
    if (rows == 0 || entries > second_buckets_left_) return;
    second_buckets_left_ -= entries;
    json_.Key("seconds").BeginObject();
    WritePacked("second", ColumnOf(seconds.second(), rows), json_);
    WritePacked("buckets", ColumnOf(seconds.buckets(), rows), json_);
    WritePacked("bucket", ColumnOf(seconds.bucket(), entries), json_);
    WritePacked("count", ColumnOf(seconds.count(), entries), json_);
    json_.EndObject();
  }

  void WriteLoad(const v1::HostLoadReport& load) {
    const int rows = load.offset_ns_size();
    Column offsets;
    for (const int64_t offset_ns : load.offset_ns())
      offsets.push_back(std::llround(static_cast<double>(offset_ns) / 1e6));
    std::vector<NamedColumn> columns;
    const auto add = [&](const char* name, const google::protobuf::RepeatedField<double>& field, double scale) {
      if (!field.empty()) columns.push_back({name, Scaled(field, rows, scale)});
    };
    add("agent_cpu", load.agent_cpu(), 100);
    add("writer_cpu_wait", load.writer_cpu_wait(), 100);
    add("disk_read_us", load.disk_read_ms(), 1'000);
    add("disk_write_us", load.disk_write_ms(), 1'000);
    add("disk_busy", load.disk_busy(), 100);
    add("nfs_read_round_trip_us", load.nfs_read_round_trip_ms(), 1'000);
    add("nfs_read_execute_us", load.nfs_read_execute_ms(), 1'000);
    add("nfs_round_trip_us", load.nfs_round_trip_ms(), 1'000);
    add("nfs_execute_us", load.nfs_execute_ms(), 1'000);
    if (!load.nfs_retransmits().empty()) columns.push_back({"nfs_retransmits", ColumnOf(load.nfs_retransmits(), rows)});
    std::vector<ThinColumn> thin;
    thin.reserve(columns.size());
    for (const NamedColumn& column : columns) thin.push_back({column.values, false});
    const std::vector<int> kept = ThinRows(thin, rows, Share(rows, load_rows_, limits_.load_rows), {});
    json_.BeginObject();
    json_.Key("host").String(load.host());
    json_.Key("of").Int(rows);
    WritePacked("offset_ms", KeepRows(offsets, kept), json_);
    for (const NamedColumn& column : columns) WritePacked(column.name, KeepRows(column.values, kept), json_);
    json_.EndObject();
  }

  const v1::Report& report_;
  const PageLimits limits_;
  std::set<const v1::SeriesReport*> shown_;
  std::set<const v1::DistributionReport*> distributions_;
  int64_t wide_rows_ = 0;
  int64_t qm_rows_ = 0;
  int64_t load_rows_ = 0;
  int second_buckets_left_;
  JsonWriter json_{true};
};

// "FAIL ", or with what the verdict is confined to "PASS on one kernel: "; empty where nothing was judged.
std::string VerdictInTitle(const v1::VerdictReport& verdict) {
  switch (verdict.outcome()) {
    case v1::OUTCOME_UNSPECIFIED:
      return "";
    case v1::OUTCOME_DONE:
      return "COMPLETED ";
    default:
      return absl::StrCat(OutcomeText(verdict), verdict.scope().empty() ? " " : ": ");
  }
}

}  // namespace

std::string ReportPageData(const v1::Report& report, const PageLimits& limits, const std::string& digest) {
  return PageData(report, limits).Write(digest);
}

std::string RenderReportPage(const v1::Report& report, const std::string& digest) {
  const v1::RunReport& run = report.run();
  HtmlPage page;
  page.title = absl::StrCat(VerdictInTitle(report.verdict()), FactsOf(RunKindOf(report)).title, " ",
                            run.name().empty() ? run.id() : run.name(), " \u2013 Plimsoll");
  page.body = Asset("report.html");
  page.styles = {Asset("report.css")};
  page.scripts = {Asset("report_model.js"), Asset("report_summary.js"),      Asset("report_plan.js"),
                  Asset("report_sheet.js"), Asset("report_figures.js"),      Asset("report_heat.js"),
                  Asset("report_time.js"),  Asset("report_distribution.js"), Asset("report_stalls.js"),
                  Asset("report_hosts.js"), Asset("report_load.js")};
  // One of each kind of run, which adds itself to the page.
  for (const std::string_view script : AssetsOf("kind_")) page.scripts.push_back(script);
  page.scripts.push_back(Asset("report.js"));
  page.data = ReportPageData(report, {}, digest);
  return RenderHtmlPage(page);
}

}  // namespace plimsoll
