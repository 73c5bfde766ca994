#include "controller/plan/accept_plan.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/field_rules.h"
#include "common/units.h"
#include "controller/plan/criteria.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_defaults.h"

namespace plimsoll {
namespace {

// A trend needs five whole seconds (MakeTrend).
constexpr int64_t kLeastSteadyNs = 5 * kNsPerSecond;

// With fewer writes, chance alone makes IO/s of five intervals unsteady: of 1,750 in each, the standard deviation
// is 2.4 %, a quarter of the slope that SNIA's rule allows.
constexpr double kLeastRandomWrites = 5 * 1750;

// Writes per second that start at random; 0: none do.
double RandomWritesPerSecond(const v1::TestPlan& plan) {
  double rate = 0;
  for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) {
    const v1::LogWorkload workload = EffectiveWorkload(plan, host);
    if (workload.arrival() != v1::ARRIVAL_POISSON) return 0;
    if (!HasPlacement(plan)) rate += workload.rate_per_second() * workload.qm();
  }
  for (const v1::PlacedQueueManager& placed : plan.placement()) rate += placed.rate_per_second();
  return rate;
}

// Fewer writes beyond a percentile show nothing of it (docs/plan.md, "Percentiles and chance").
constexpr double kWritesBeyond = 10;

// The criterion's scope with the fewest writes per second; 0: a host of it has no rate, and writes as fast as possible,
// or the scope is a host of a placement, whose rate is another in each step.
double LeastWritesPerSecond(const v1::TestPlan& plan, CriterionScope scope) {
  double least = 0;
  double all = 0;
  if (HasPlacement(plan)) {
    if (scope == CriterionScope::kHost) return 0;
    for (const v1::PlacedQueueManager& placed : plan.placement()) {
      least = all == 0 ? placed.rate_per_second() : std::min(least, placed.rate_per_second());
      all += placed.rate_per_second();
    }
    return scope == CriterionScope::kQm ? least : all;
  }
  for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) {
    const v1::LogWorkload workload = EffectiveWorkload(plan, host);
    const double rate = workload.rate_per_second() * (scope == CriterionScope::kQm ? 1 : workload.qm());
    if (rate <= 0) return 0;
    least = host == 0 ? rate : std::min(least, rate);
    all += rate;
  }
  return scope == CriterionScope::kQm || scope == CriterionScope::kHost ? least : all;
}

// Random arrivals are the default for the sake of the search; a host without a rate has nothing to arrive.
void LeaveArrivalsToPacedHosts(v1::TestPlan& load) {
  if (HasPlacement(load)) return;
  for (int host = 0; host < load.hosts_size(); ++host) {
    const v1::LogWorkload workload = EffectiveWorkload(load, host);
    if (workload.rate_per_second() > 0 || workload.arrival() != v1::ARRIVAL_POISSON) continue;
    load.mutable_hosts(host)->mutable_workload()->set_arrival(v1::ARRIVAL_EVEN);
  }
  // Those that have a rate of their own keep what the plan gives to all.
  if (load.workload().rate_per_second() > 0 || load.workload().arrival() != v1::ARRIVAL_POISSON) return;
  for (int host = 0; host < load.hosts_size(); ++host) {
    if (!load.hosts(host).workload().has_arrival()) {
      load.mutable_hosts(host)->mutable_workload()->set_arrival(v1::ARRIVAL_POISSON);
    }
  }
  load.mutable_workload()->set_arrival(v1::ARRIVAL_EVEN);
}

// What keeps a plan from showing anything about the storage.
void AddUnsyncedHosts(const v1::TestPlan& plan, std::vector<std::string>& problems) {
  for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) {
    if (EffectiveWorkload(plan, host).sync() != v1::SYNC_MODE_NONE) continue;
    const bool own = host < plan.hosts_size() && plan.hosts(host).workload().has_sync();
    problems.push_back(absl::StrCat("--sync (workload.sync) none",
                                    own ? absl::StrCat(" on ", ShortAddress(plan.hosts(host).address())) : "",
                                    " measures memory, not storage; use dsync, as MQ's logger does"));
    if (!own) return;
  }
}

// Whether more load can break it: what a search takes.
bool SuitsSearch(const std::string& text, uint64_t block_size_bytes) {
  const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
  if (!criterion.ok()) return false;
  const MetricInfo& info = InfoOf(criterion->metric);
  if (!info.has_service_time && !info.has_stall_class) return false;
  if (criterion->block_size_bytes != 0 && criterion->block_size_bytes != block_size_bytes) return false;
  return WantsSmall(*criterion) || criterion->comparison == Comparison::kEqual;
}

bool RequiresSteady(const v1::TestPlan& plan) {
  return std::any_of(plan.criteria().begin(), plan.criteria().end(), [](const std::string& text) {
    const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    return criterion.ok() && criterion->metric == Metric::kSteady && criterion->block_size_bytes == 0 &&
           criterion->limit == 1;
  });
}

}  // namespace

void AddThinPercentiles(const v1::TestPlan& plan, std::vector<std::string>& problems) {
  const double seconds = static_cast<double>(plan.duration_ns()) / static_cast<double>(kNsPerSecond);
  for (const std::string& text : plan.criteria()) {
    const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    if (!criterion.ok() || criterion->metric != Metric::kPercentile) continue;
    const double rate = LeastWritesPerSecond(plan, criterion->scope);
    const double needed = kWritesBeyond / (1 - criterion->percentile / 100);
    // Rounding decides nothing here: the report does.
    if (rate <= 0 || rate * seconds > 0.99 * needed) continue;
    problems.push_back(absl::StrFormat(
        "--duration (duration) %s is too short for %s: %.0f writes at %.4g a second, and it needs %.0f; use %.0fs or "
        "more",
        FormatDuration(plan.duration_ns()), text, rate * seconds, rate, needed, std::ceil(1.02 * needed / rate)));
  }
}

bool HasPart(const v1::TestPlan& plan, v1::AcceptPart part) {
  const auto& parts = plan.accept().parts();
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

v1::TestPlan LoadPlanOf(const v1::TestPlan& plan) {
  v1::TestPlan load = plan;
  load.clear_accept();
  load.clear_limit();
  if (load.until_steady_ns() == 0 && !RequiresSteady(load)) load.add_criteria("steady");
  LeaveArrivalsToPacedHosts(load);
  FillDefaults(load);
  return load;
}

v1::TestPlan SearchPlanOf(const v1::TestPlan& plan) {
  v1::TestPlan search = plan;
  // Whatever other section there is belongs to the load.
  const google::protobuf::Descriptor& type = *v1::TestPlan::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (RuleOf(field).section() && field.number() != v1::TestPlan::kLimitFieldNumber) {
      search.GetReflection()->ClearField(&search, &field);
    }
  }
  search.clear_until_steady_ns();
  search.clear_repeat();
  search.set_duration_ns(plan.accept().search_step_ns());
  const uint64_t block_size_bytes = plan.block_size_bytes_size() > 0 ? plan.block_size_bytes(0) : 0;
  search.clear_criteria();
  for (const std::string& text : plan.criteria()) {
    if (SuitsSearch(text, block_size_bytes)) search.add_criteria(text);
  }
  if (plan.limit().over() != v1::LIMIT_OVER_QM) {
    search.mutable_workload()->clear_rate_per_second();
    for (v1::HostSpec& host : *search.mutable_hosts()) host.mutable_workload()->clear_rate_per_second();
  }
  FillDefaults(search);
  return search;
}

uint64_t LargestWriteOf(const v1::TestPlan& plan) {
  const std::vector<uint64_t> sizes = BlockSizesOf(plan);
  return sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
}

std::vector<std::string> AcceptPlanProblems(const v1::TestPlan& plan) {
  std::vector<std::string> problems;
  const auto add = [&problems](const auto&... parts) { problems.push_back(absl::StrCat(parts...)); };
  if (plan.has_ha()) add("ha and accept are both given: a plan is either a drill or an acceptance");
  if (HasPlacement(plan) && HasPart(plan, v1::ACCEPT_PART_LIMIT)) {
    add("--parts (accept.parts): limit raises one rate on all hosts, which a placement does not have; leave it out: "
        "storage,fsck,load");
  }
  const auto& parts = plan.accept().parts();
  if (std::set<int>(parts.begin(), parts.end()).size() != static_cast<size_t>(parts.size())) {
    add("--parts (accept.parts): a part is listed twice; list each once");
  }
  if (plan.keep_files()) {
    add("--keep-files (keep_files): an acceptance prepares and removes its files for each part; leave it out");
  }
  const bool load = HasPart(plan, v1::ACCEPT_PART_LOAD);
  const bool limit = HasPart(plan, v1::ACCEPT_PART_LIMIT);
  if (load || limit) AddUnsyncedHosts(plan, problems);
  if (HasPart(plan, v1::ACCEPT_PART_FSCK) && plan.hosts_size() > kMostCheckedHosts) {
    add("--parts (accept.parts): fsck checks at most ", kMostCheckedHosts, " hosts, and there are ", plan.hosts_size(),
        "; leave fsck out of --parts (accept.parts), and run `plimsoll fsck` on some of them");
  }
  // One that cannot be read is named by its own check.
  const bool all_read = std::all_of(plan.criteria().begin(), plan.criteria().end(),
                                    [](const std::string& text) { return ParseCriterion(text).ok(); });
  if (load && plan.criteria().empty()) {
    add("--require (criteria) is missing: an acceptance needs a limit to accept by, such as p99<10ms");
  } else if (limit && all_read && SearchPlanOf(plan).criteria().empty()) {
    add("--require (criteria): the search for the limit needs a latency or stalls, such as p99<10ms; or leave limit "
        "out "
        "of --parts (accept.parts)");
  }
  if (load && plan.until_steady_ns() == 0 && plan.duration_ns() < kLeastSteadyNs) {
    add("--duration (duration) ", FormatDuration(plan.duration_ns()), " is too short to be steady: use 5s or more",
        HasPlacement(plan) ? "" : ", or --until-steady (until_steady)");
  }
  const double random = RandomWritesPerSecond(LoadPlanOf(plan));
  const double seconds = static_cast<double>(plan.duration_ns()) / static_cast<double>(kNsPerSecond);
  if (load && problems.empty() && plan.until_steady_ns() == 0 && random > 0 && random * seconds < kLeastRandomWrites) {
    add("--duration (duration) ", FormatDuration(plan.duration_ns()), " is too short for ",
        absl::StrFormat("%.4g", random),
        " writes/s in all that start at random: chance alone makes their rate unsteady; use ",
        static_cast<int64_t>(std::ceil(kLeastRandomWrites / random)), "s or more",
        HasPlacement(plan) ? "" : ", --until-steady (until_steady)", ", or --arrival even (workload.arrival)");
  }
  if (load && problems.empty()) AddThinPercentiles(plan, problems);
  if (limit && plan.block_size_bytes_size() > 1) {
    add("--bsize (block_size): the search for the limit takes one block size; accept each with a plan of its own, or "
        "leave limit out of --parts (accept.parts)");
  }
  constexpr char kOneDirectory[] =
      ": an acceptance is of one directory that all queue managers use; accept each directory by itself, with --dir "
      "(workload.dir)";
  for (int number = 0; number < plan.placement_size(); ++number) {
    if (!plan.placement(number).has_dir()) continue;
    add("placement[", number + 1, "].dir", kOneDirectory);
    break;
  }
  for (int host = 0; !HasPlacement(plan) && host < std::max(1, plan.hosts_size()); ++host) {
    if (EffectiveWorkload(plan, host).qm_dirs().empty()) continue;
    add("--qm-dirs (workload.qm_dirs)", kOneDirectory);
    break;
  }
  for (int host = 0; HasPart(plan, v1::ACCEPT_PART_FSCK) && host < plan.hosts_size(); ++host) {
    const std::string dir = EffectiveWorkload(plan, host).dir();
    if (dir == EffectiveWorkload(plan, 0).dir()) continue;
    add("--dir (workload.dir) on ", plan.hosts(host).address(),
        ": fsck checks one directory that all hosts share, and ", dir, " is not ", EffectiveWorkload(plan, 0).dir(),
        "; leave fsck out of --parts (accept.parts)");
    break;
  }
  return problems;
}

}  // namespace plimsoll
