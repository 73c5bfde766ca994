#include "controller/analysis/mq_log_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/histogram.h"
#include "common/units.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

struct MqRank {
  const char* name;
  double percent;
};
constexpr MqRank kMqRanks[] = {{"peak", 100}, {"p95", 95}, {"median", 50}};

// Seconds of a write by a million.
double WriteTime(const v1::MqSizeReport& size) {
  return static_cast<double>(size.block_size_bytes()) / size.mb_per_second();
}

class MqLogMaker {
 public:
  explicit MqLogMaker(const v1::Report& report) : report_(report), log_(report.plan().mq_log()) {}

  v1::MqLogReport Make() {
    made_.set_source(log_.source());
    AddSizes();
    AddPoints();
    AddRanks();
    return made_;
  }

 private:
  // Megabytes per second of one queue manager, on average; nothing where the step does not show it.
  static std::optional<double> BandwidthOf(const v1::StepReport& step) {
    const v1::ScopeReport* const cluster = ClusterOf(step);
    const auto qms = std::ranges::distance(OfKind(step.scopes(), v1::SCOPE_KIND_QM));
    if (cluster == nullptr || qms == 0 || step.block_size_bytes() == 0 || !(cluster->mb_per_second() > 0) ||
        !step.cut_short().empty() || cluster->has_data_until() || cluster->has_rate()) {
      return std::nullopt;
    }
    return cluster->mb_per_second() / static_cast<double>(qms);
  }

  void AddSizes() {
    std::map<uint64_t, std::vector<double>> bandwidths;
    std::map<uint64_t, std::vector<uint32_t>> numbers;
    std::vector<uint32_t> left_out;
    for (const v1::StepReport& step : report_.steps()) {
      const std::optional<double> bandwidth = BandwidthOf(step);
      if (!bandwidth) {
        left_out.push_back(step.number());
        continue;
      }
      bandwidths[step.block_size_bytes()].push_back(*bandwidth);
      numbers[step.block_size_bytes()].push_back(step.number());
    }
    for (const auto& [size, each] : bandwidths) {
      v1::MqSizeReport& row = *made_.add_sizes();
      row.set_block_size_bytes(size);
      row.set_mb_per_second(std::reduce(each.begin(), each.end()) / static_cast<double>(each.size()));
      for (const uint32_t step : numbers[size]) row.add_steps(step);
    }
    if (bandwidths.empty()) {
      made_.add_notes(
          "No step measured the storage's bandwidth to its end: there is nothing to compare MQ's log with.");
    } else if (!left_out.empty()) {
      constexpr size_t kMostNamed = 10;
      const size_t named = std::min(left_out.size(), kMostNamed);
      const std::vector<uint32_t> first(left_out.begin(), left_out.begin() + static_cast<std::ptrdiff_t>(named));
      made_.add_notes(
          absl::StrCat(left_out.size() == 1 ? "Step " : "Steps ", absl::StrJoin(first, ", "),
                       named < left_out.size() ? absl::StrCat(" and ", left_out.size() - named, " more") : "",
                       left_out.size() == 1 ? " is" : " are", " left out of the comparison with MQ's log: it ",
                       "takes steps at full speed that ran to their end with the data of all hosts."));
    }
  }

  void AddPoints() {
    const int points = std::min(log_.write_size_bytes_size(), log_.bandwidth_mb_size());
    std::vector<int> order(static_cast<size_t>(points));
    std::iota(order.begin(), order.end(), 0);
    // Whatever a damaged journal holds.
    const auto bandwidth_of = [this](int point) {
      return std::isfinite(log_.bandwidth_mb(point)) ? log_.bandwidth_mb(point) : 0;
    };
    StableSort(order, [&bandwidth_of](int a, int b) { return bandwidth_of(a) < bandwidth_of(b); });
    const uint64_t smallest = made_.sizes().empty() ? 0 : made_.sizes().begin()->block_size_bytes();
    for (const int point : order) {
      const uint64_t size = log_.write_size_bytes(point);
      const double bandwidth = bandwidth_of(point);
      const uint32_t count = point < log_.intervals_size() ? log_.intervals(point) : 1;
      const std::optional<double> storage = StorageBandwidth(made_.sizes(), size);
      made_.add_write_size_bytes(size);
      made_.add_mb_per_second(bandwidth);
      made_.add_count(count);
      made_.add_storage_mb_per_second(storage.value_or(0));
      made_.add_percent(storage ? bandwidth / *storage * 100 : 0);
      all_ += count;
      if (storage || made_.sizes().empty()) continue;
      if (size < smallest) {
        made_.set_below_sizes(made_.below_sizes() + count);
      } else {
        made_.set_above_sizes(made_.above_sizes() + count);
      }
    }
  }

  void AddRanks() {
    for (const MqRank& rank : kMqRanks) {
      if (all_ == 0) return;
      const uint64_t wanted = PercentileRank(all_, rank.percent);
      int point = 0;
      for (uint64_t seen = made_.count(0); seen < wanted; seen += made_.count(point)) ++point;
      v1::MqIntervalReport& row = *made_.add_intervals();
      row.set_name(rank.name);
      row.set_write_size_bytes(made_.write_size_bytes(point));
      row.set_mb_per_second(made_.mb_per_second(point));
      if (!(made_.storage_mb_per_second(point) > 0)) continue;
      row.set_storage_mb_per_second(made_.storage_mb_per_second(point));
      row.set_percent(made_.percent(point));
    }
  }

  const v1::Report& report_;
  const v1::MqLog& log_;
  uint64_t all_ = 0;
  v1::MqLogReport made_;
};

}  // namespace

std::optional<double> StorageBandwidth(const google::protobuf::RepeatedPtrField<v1::MqSizeReport>& sizes,
                                       uint64_t write_size_bytes) {
  const auto upper = std::ranges::lower_bound(sizes, write_size_bytes, {}, &v1::MqSizeReport::block_size_bytes);
  if (upper == sizes.end()) return std::nullopt;
  if (upper->block_size_bytes() == write_size_bytes) return upper->mb_per_second();
  if (upper == sizes.begin()) return std::nullopt;
  const v1::MqSizeReport& lower = *std::prev(upper);
  const auto of = [](uint64_t bytes) { return static_cast<double>(bytes); };
  const double part =
      of(write_size_bytes - lower.block_size_bytes()) / of(upper->block_size_bytes() - lower.block_size_bytes());
  return of(write_size_bytes) / (WriteTime(lower) + (WriteTime(*upper) - WriteTime(lower)) * part);
}

v1::MqLogReport MakeMqLogReport(const v1::Report& report) {
  return MqLogMaker(report).Make();
}

}  // namespace plimsoll
