#include "controller/limit/step_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "common/histogram.h"
#include "common/student_t.h"

namespace plimsoll {
namespace {

// More parts than this are made half as many, of twice the length.
constexpr size_t kMostParts = 40;
// Fewer parts than this are not made by folding.
constexpr size_t kFewestParts = 8;
// With which each bound may be wrong.
constexpr double kChance = 0.01;

// Student's t has so many degrees of freedom where no parts show how much writes depend on one another: the normal
// distribution.
constexpr double kManyDegrees = 1e6;

}  // namespace

void StepParts::Series::Fold() {
  for (size_t i = 0; i < parts_.size(); i += 2) {
    Part both = parts_[i];
    if (i + 1 < parts_.size()) {
      both.writes += parts_[i + 1].writes;
      both.sum += parts_[i + 1].sum;
    }
    parts_[i / 2] = both;
  }
  parts_.resize((parts_.size() + 1) / 2);
  intervals_ *= 2;
}

void StepParts::Series::Add(int64_t interval, const Part& part) {
  while (interval / intervals_ >= static_cast<int64_t>(kMostParts)) Fold();
  const auto at = static_cast<size_t>(interval / intervals_);
  if (at >= parts_.size()) parts_.resize(at + 1);
  parts_[at].writes += part.writes;
  parts_[at].sum += part.sum;
}

void StepParts::Series::Merge(Series other) {
  while (intervals_ < other.intervals_) Fold();
  while (other.intervals_ < intervals_) other.Fold();
  if (parts_.size() < other.parts_.size()) parts_.resize(other.parts_.size());
  for (size_t i = 0; i < other.parts_.size(); ++i) {
    parts_[i].writes += other.parts_[i].writes;
    parts_[i].sum += other.parts_[i].sum;
  }
}

StepParts::StepParts(const std::vector<Criterion>& criteria, bool averages) {
  for (const Criterion& criterion : criteria) {
    const bool has_figure =
        criterion.metric == Metric::kPercentile || (averages && criterion.metric == Metric::kAverage);
    if (has_figure && WantsSmall(criterion)) cases_.push_back({criterion, {}, false});
  }
}

StepParts::Part StepParts::PartOf(const Criterion& criterion, const v1::Distribution& latency) {
  Part part;
  if (criterion.metric == Metric::kAverage) {
    part.writes = static_cast<double>(latency.count());
    part.sum = static_cast<double>(SumNs(latency));
    return part;
  }
  const v1::SparseHistogram& histogram = latency.histogram();
  uint64_t index = 0;
  for (int i = 0; i < std::min(histogram.index_delta_size(), histogram.count_size()); ++i) {
    index += histogram.index_delta(i);
    if (index >= HistogramLayout::kBuckets) break;
    const auto count = static_cast<double>(histogram.count(i));
    const uint64_t highest_ns = std::min(HistogramLayout::HighestNs(static_cast<uint32_t>(index)), latency.max_ns());
    part.writes += count;
    if (!Fulfils(criterion, static_cast<double>(highest_ns))) part.sum += count;
  }
  return part;
}

void StepParts::Add(uint32_t host, const v1::Frame& frame, const std::string& operation) {
  if (frame.first_interval() < 0) return;
  for (Case& one : cases_) {
    if (one.criterion.operation != operation) continue;
    const bool paced = frame.has_response() && !one.criterion.service_time;
    const Part part = PartOf(one.criterion, paced ? frame.response() : frame.latency());
    one.paced = one.paced || paced;
    one.writers[{host, frame.qm()}].Add(frame.first_interval(), part);
  }
}

StepFigure StepParts::ShareIn(const Case& one, const std::vector<Part>& parts, int64_t measured_ns, size_t places) {
  StepFigure share;
  share.allowed = 1 - one.criterion.percentile / 100;
  double writes = 0;
  double beyond = 0;
  for (const Part& part : parts) {
    writes += part.writes;
    beyond += part.sum;
  }
  if (writes <= 0) return share;
  const double p = beyond / writes;
  share.measured = p;
  // Where writes have scheduled starts, one beyond the limit delays those that are due in as long a time.
  const double rate = writes / static_cast<double>(std::max<int64_t>(measured_ns, 1));
  double burst = one.paced ? 1 + rate * one.criterion.limit : 1;
  const auto count = static_cast<double>(parts.size());
  double degrees = kManyDegrees;
  if (parts.size() >= 2 && beyond > 0 && beyond < writes) {
    double squares = 0;
    for (const Part& part : parts) squares += (part.sum - p * part.writes) * (part.sum - p * part.writes);
    burst = std::max(burst, count / (count - 1) * squares / (p * (1 - p) * writes));
    degrees = count - 1;
  }
  const double n = writes / burst;
  const auto bound = [&](double chance, double sign) {
    const double z = CriticalT(2 * chance, degrees);
    const double root = std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return std::clamp((p + z * z / (2 * n) + sign * z * root) / (1 + z * z / n), 0.0, 1.0);
  };
  share.low = bound(kChance / static_cast<double>(places), -1);
  share.high = bound(kChance, 1);
  return share;
}

std::optional<StepFigure> StepParts::AverageIn(Series series, size_t places) {
  double writes = 0;
  double sum_ns = 0;
  for (const Part& part : series.parts()) {
    writes += part.writes;
    sum_ns += part.sum;
  }
  if (writes <= 0 || series.parts().size() < 2) return std::nullopt;
  StepFigure average;
  average.is_average = true;
  average.measured = sum_ns / writes;
  average.low = std::numeric_limits<double>::infinity();
  average.high = 0;
  for (size_t count = series.parts().size();; count = series.parts().size()) {
    double squares = 0;
    for (const Part& part : series.parts()) {
      squares += (part.sum - average.measured * part.writes) * (part.sum - average.measured * part.writes);
    }
    const auto degrees = static_cast<double>(count - 1);
    const double error_ns = std::sqrt(static_cast<double>(count) / degrees * squares) / writes;
    const auto width_ns = [&](double chance) { return CriticalT(2 * chance, degrees) * error_ns; };
    average.low = std::min(average.low, average.measured - width_ns(kChance / static_cast<double>(places)));
    average.high = std::max(average.high, average.measured + width_ns(kChance));
    if (count < 2 * kFewestParts) break;
    series.Fold();
  }
  average.low = std::max(average.low, 0.0);
  return average;
}

std::optional<StepFigure> StepParts::FigureOf(const std::string& criterion, int64_t measured_ns,
                                              const std::map<uint32_t, uint32_t>& storages) const {
  const auto found = std::ranges::find_if(cases_, [&](const Case& one) { return one.criterion.text == criterion; });
  if (found == cases_.end()) return std::nullopt;
  std::map<std::pair<uint32_t, uint32_t>, Series> places;
  for (const auto& [writer, series] : found->writers) {
    std::pair<uint32_t, uint32_t> place = writer;
    if (found->criterion.scope == CriterionScope::kHost) place = {writer.first, 0};
    if (found->criterion.scope == CriterionScope::kStorage) {
      const auto storage = storages.find(writer.first);
      place = {storage == storages.end() ? 0 : storage->second, 0};
    }
    if (found->criterion.scope == CriterionScope::kCluster) place = {0, 0};
    places[place].Merge(series);
  }
  std::optional<StepFigure> worst;
  for (const auto& [place, series] : places) {
    const std::optional<StepFigure> figure = found->criterion.metric == Metric::kAverage
                                                 ? AverageIn(series, places.size())
                                                 : ShareIn(*found, series.parts(), measured_ns, places.size());
    if (!figure) return std::nullopt;
    if (!worst) worst = figure;
    if (worst->is_average) worst->allowed = found->criterion.limit;
    worst->measured = std::max(worst->measured, figure->measured);
    worst->low = std::max(worst->low, figure->low);
    worst->high = std::max(worst->high, figure->high);
  }
  return worst;
}

}  // namespace plimsoll
