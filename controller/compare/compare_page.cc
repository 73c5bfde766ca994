// A comparison as one self-contained HTML file.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/histogram.h"
#include "common/units.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/compare_words.h"
#include "controller/compare/step_data.h"
#include "controller/page/assets.h"
#include "controller/page/html_page.h"
#include "controller/render/json.h"
#include "controller/report/scopes.h"
#include "controller/statistics/second_statistics.h"

namespace plimsoll {
namespace {

using Column = std::vector<int64_t>;

int64_t Packable(uint64_t value) {
  return static_cast<int64_t>(std::min(value, static_cast<uint64_t>(kMaxPacked)));
}

// Highest value of a bucket of SecondDistributionsReport.
int64_t BucketEndNs(uint32_t bucket) {
  const double end_ns = std::exp2((bucket + 1) / SecondHistograms::kBucketsPerOctave);
  return std::llround(std::min(end_ns, static_cast<double>(kMaxPacked)));
}

// The percentile of the writes, by the highest value of its bucket; 0: there is none.
int64_t QuantileNs(const std::map<uint32_t, uint64_t>& buckets, double percent) {
  uint64_t total = 0;
  for (const auto& [bucket, count] : buckets) total += count;
  uint64_t rank = PercentileRank(total, percent);
  for (const auto& [bucket, count] : buckets) {
    if (count >= rank) return BucketEndNs(bucket);
    rank -= count;
  }
  return 0;
}

// Whole seconds of one run at one block size, steps that repeat it one behind another; or whole minutes, where a run of
// the comparison has nothing finer.
class RunSeconds {
 public:
  explicit RunSeconds(TimeUnit unit) : unit_(unit) {}

  void Add(const v1::StepReport& step) {
    const bool folded = unit_ == TimeUnit::kMinute && step.has_whole_seconds();
    const v1::SeriesReport* const series = ClusterOf(folded ? step.minutes() : step.series());
    if (series != nullptr && (folded || unit_ == TimeUnit::kSecond)) AddSeries(*series);
    if (series != nullptr && unit_ == TimeUnit::kMinute && !folded) AddMinutes(*series, step.seconds());
    // The next repetition begins where this one was meant to end.
    start_ = std::max(start_ + std::clamp<int64_t>(step.measured_ns() / kNsPerSecond, 0, UINT32_MAX),
                      seconds_.empty() ? 0 : seconds_.back() + static_cast<int64_t>(unit_));
  }

  void Write(int limit, JsonWriter& json) const {
    std::vector<ThinColumn> columns;
    columns.reserve(columns_.size());
    for (const auto& [name, values] : columns_) columns.push_back({values, name != "writes"});
    const auto rows = static_cast<int>(seconds_.size());
    const std::vector<int> kept = ThinRows(columns, rows, limit, {});
    json.Key("of").Int(rows);
    if (unit_ != TimeUnit::kSecond) json.Key("row_seconds").UInt(static_cast<uint32_t>(unit_));
    WritePacked("second", KeepRows(seconds_, kept), json);
    for (const auto& [name, values] : columns_) WritePacked(name, KeepRows(values, kept), json);
  }

 private:
  void AddSeries(const v1::SeriesReport& series) {
    std::set<uint32_t> irregular;
    for (const v1::IrregularRow& row : series.irregular()) irregular.insert(row.row());
    // A column that is not there, or too short, holds zeros: nothing is known.
    const auto value = [](const auto& column, int row) { return row < column.size() ? Packable(column.Get(row)) : 0; };
    for (int row = 0; row < series.second_size(); ++row) {
      if (irregular.count(static_cast<uint32_t>(row)) > 0) continue;
      seconds_.push_back(start_ + series.second(row));
      columns_["writes"].push_back(value(series.writes(), row));
      columns_["latency_sum_ns"].push_back(value(series.latency_sum_ns(), row));
      columns_["latency_max_ns"].push_back(value(series.latency_max_ns(), row));
      columns_["p50_ns"].push_back(value(series.p50_ns(), row));
      columns_["p99_ns"].push_back(value(series.p99_ns(), row));
      columns_["p99_9_ns"].push_back(value(series.p99_9_ns(), row));
    }
  }

  // Adds the minutes all of whose seconds are known. Their percentiles are those of the added distributions of the
  // seconds, up to 2.2 % too high; 0 where a second has none.
  void AddMinutes(const v1::SeriesReport& series, const v1::SecondDistributionsReport& distributions) {
    constexpr uint32_t kLength = static_cast<uint32_t>(TimeUnit::kMinute);
    struct Minute {
      uint32_t seconds = 0;
      uint32_t known = 0;
      uint64_t writes = 0;
      uint64_t latency_sum_ns = 0;
      uint64_t latency_max_ns = 0;
      std::map<uint32_t, uint64_t> buckets;
    };
    std::map<uint32_t, Minute> minutes;
    std::set<uint32_t> irregular;
    for (const v1::IrregularRow& row : series.irregular()) irregular.insert(row.row());
    const int rows = std::min(
        {series.second_size(), series.writes_size(), series.latency_sum_ns_size(), series.latency_max_ns_size()});
    for (int row = 0; row < rows; ++row) {
      if (irregular.count(static_cast<uint32_t>(row)) > 0) continue;
      Minute& minute = minutes[series.second(row) / kLength];
      ++minute.seconds;
      minute.writes += series.writes(row);
      minute.latency_sum_ns += series.latency_sum_ns(row);
      minute.latency_max_ns = std::max(minute.latency_max_ns, series.latency_max_ns(row));
    }
    int next = 0;
    const int entries = std::min(distributions.bucket_size(), distributions.count_size());
    for (int row = 0; row < std::min(distributions.second_size(), distributions.buckets_size()); ++row) {
      Minute& minute = minutes[distributions.second(row) / kLength];
      ++minute.known;
      for (uint32_t i = 0; i < distributions.buckets(row) && next < entries; ++i, ++next) {
        minute.buckets[distributions.bucket(next)] += distributions.count(next);
      }
    }
    for (const auto& [number, minute] : minutes) {
      if (minute.seconds < kLength) continue;
      seconds_.push_back(start_ + int64_t{number} * kLength);
      columns_["writes"].push_back(Packable(minute.writes));
      columns_["latency_sum_ns"].push_back(Packable(minute.latency_sum_ns));
      columns_["latency_max_ns"].push_back(Packable(minute.latency_max_ns));
      for (const auto& [name, percent] : {std::pair{"p50_ns", 50.0}, {"p99_ns", 99.0}, {"p99_9_ns", 99.9}}) {
        const int64_t value_ns = minute.known == kLength ? QuantileNs(minute.buckets, percent) : 0;
        columns_[name].push_back(std::min(value_ns, Packable(minute.latency_max_ns)));
      }
    }
  }

  const TimeUnit unit_;
  int64_t start_ = 0;
  Column seconds_;
  std::map<std::string, Column> columns_ = {{"writes", {}}, {"latency_sum_ns", {}}, {"latency_max_ns", {}},
                                            {"p50_ns", {}}, {"p99_ns", {}},         {"p99_9_ns", {}}};
};

// The distribution of all steps: of the cluster where each step has it, else that of their seconds. By the highest
// value of the bucket.
std::map<uint64_t, uint64_t> DistributionOf(const std::vector<const v1::StepReport*>& steps) {
  size_t fine_steps = 0;
  std::map<uint64_t, uint64_t> fine;
  std::map<uint64_t, uint64_t> coarse;
  for (const v1::StepReport* step : steps) {
    for (const v1::DistributionReport& distribution : OfKind(step->distributions(), v1::SCOPE_KIND_CLUSTER)) {
      ++fine_steps;
      for (int i = 0; i < std::min(distribution.from_ns_size(), distribution.count_size()); ++i) {
        fine[DistributionEndNs(distribution.from_ns(i))] += distribution.count(i);
      }
    }
    for (const v1::SecondDistributionsReport* const rows : {&step->seconds(), &step->minute_distributions()}) {
      for (int i = 0; i < std::min(rows->bucket_size(), rows->count_size()); ++i) {
        if (rows->bucket(i) >= SecondHistograms::kBuckets) continue;
        coarse[static_cast<uint64_t>(BucketEndNs(rows->bucket(i)))] += rows->count(i);
      }
    }
  }
  return fine_steps < steps.size() ? coarse : fine;
}

void WriteRun(const v1::Report& report, uint64_t block_size_bytes, TimeUnit unit, int row_limit, JsonWriter& json) {
  std::vector<const v1::StepReport*> steps;
  RunSeconds seconds(unit);
  for (const v1::StepReport& step : report.steps()) {
    if (step.block_size_bytes() != block_size_bytes) continue;
    steps.push_back(&step);
    seconds.Add(step);
  }
  Column to_ns;
  Column count;
  for (const auto& [to, number] : DistributionOf(steps)) {
    to_ns.push_back(Packable(to));
    count.push_back(Packable(number));
  }
  json.BeginObject();
  seconds.Write(row_limit, json);
  WritePacked("to_ns", to_ns, json);
  WritePacked("count", count, json);
  json.EndObject();
}

// The last part of a result's path, or what of it names the run: "san1", of "results/san1/" and "san1/report.json".
std::string SourceName(const std::string& source) {
  std::vector<std::string> parts = absl::StrSplit(source, '/', absl::SkipEmpty());
  if (parts.size() > 1 && parts.back() == "report.json") parts.pop_back();
  return parts.empty() ? "" : parts.back();
}

// "san1, san2" of the runs of a side, by a name that `name_of` gives each of them; empty where one has none.
template <typename NameOf>
std::string SideName(const v1::ComparedSide& side, const NameOf& name_of) {
  constexpr size_t kMost = 3;
  std::vector<std::string> names;
  for (const v1::ComparedRun& run : side.runs()) {
    const std::string name = name_of(run);
    if (name.empty()) return "";
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.size() <= kMost) return absl::StrJoin(names, ", ");
  const size_t more = names.size() - kMost + 1;
  names.resize(kMost - 1);
  return absl::StrCat(absl::StrJoin(names, ", "), " and ", more, " more");
}

// "NFS (B) against SAN (A)": by the sides' names, the runs' names, or their directories, where these distinguish the
// sides; else "B against A".
std::string Title(const v1::Comparison& comparison) {
  std::vector<std::string> labels;
  const auto& sides = comparison.sides();
  bool named = false;
  for (int i = 0; i < sides.size(); ++i) named = named || sides[i].label() != SideLabel(static_cast<size_t>(i));
  for (const bool by_source : {false, true}) {
    if (named) break;
    std::set<std::string> different;
    labels.clear();
    for (const v1::ComparedSide& side : comparison.sides()) {
      const std::string name = SideName(
          side, [by_source](const v1::ComparedRun& run) { return by_source ? SourceName(run.source()) : run.name(); });
      if (!name.empty()) different.insert(name);
      labels.push_back(absl::StrCat(name, " (", side.label(), ")"));
    }
    if (different.size() == labels.size()) break;
    labels.clear();
  }
  if (labels.empty()) {
    for (const v1::ComparedSide& side : comparison.sides()) labels.push_back(side.label());
  }
  if (labels.empty()) return "Comparison";
  const std::string first = labels.front();
  labels.erase(labels.begin());
  return absl::StrCat(absl::StrJoin(labels, ", "), " against ", first);
}

void WriteTexts(const std::vector<std::pair<std::string, std::string>>& members, JsonWriter& json) {
  json.BeginObject();
  for (const auto& [key, text] : members) {
    json.Key(key).String(text);
  }
  json.EndObject();
}

}  // namespace

std::string ComparePageData(const std::vector<SideInput>& sides, const v1::Comparison& comparison, int row_limit) {
  size_t runs = 0;
  for (const SideInput& side : sides) runs += side.runs.size();
  const size_t parts = std::max<size_t>(runs * static_cast<size_t>(comparison.block_sizes_size()), 1);
  JsonWriter json(/*compact=*/true);
  json.BeginObject();
  WriteJson(comparison, json.Key("comparison"));
  json.Key("title").String(Title(comparison));
  if (const uint32_t read_percent = sides.front().runs.front().report.plan().read_percent(); read_percent > 0) {
    json.Key("plan").BeginObject();
    json.Key("read_percent").UInt(read_percent);
    json.EndObject();
  }
  json.Key("figures").BeginArray();
  for (const ComparedFigure& one : ComparedFigures()) {
    WriteTexts({{"key", EnumName(*v1::Figure_descriptor(), one.figure)},
                {"name", one.name},
                {"format", FigureFormatName(one.format)}},
               json);
  }
  json.EndArray();
  json.Key("findings").BeginArray();
  for (const NamedFinding& one : NamedFindings()) {
    WriteTexts({{"key", EnumName(*v1::Finding_descriptor(), one.finding)}, {"name", one.name}, {"tone", one.tone}},
               json);
  }
  json.EndArray();
  json.Key("block_sizes").BeginArray();
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    json.BeginObject();
    json.Key("runs").BeginArray();
    const TimeUnit unit = CommonUnit(sides, block_size.block_size_bytes());
    for (const SideInput& side : sides) {
      for (const RunInput& run : side.runs) {
        WriteRun(run.report, block_size.block_size_bytes(), unit, row_limit / static_cast<int>(parts), json);
      }
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string RenderComparePage(const std::vector<SideInput>& sides, const v1::Comparison& comparison) {
  HtmlPage page;
  page.title = absl::StrCat(Title(comparison), " \u2013 Plimsoll");
  page.body = Asset("compare.html");
  page.styles = {Asset("report.css"), Asset("compare.css")};
  page.scripts = {Asset("compare_model.js"), Asset("compare_summary.js"), Asset("compare_detail.js"),
                  Asset("compare.js")};
  page.data = ComparePageData(sides, comparison);
  return RenderHtmlPage(page);
}

}  // namespace plimsoll
