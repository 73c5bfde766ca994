#include "controller/plan/accept_plan.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/field_rules.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

// Rounds of a drill for which the plan has no `ha`.
constexpr uint64_t kUsualDrillRounds = 10;

// A trend needs five whole seconds (MakeTrend).
constexpr int64_t kLeastSteadyNs = 5 * kNsPerSecond;

// With fewer writes, chance alone makes IO/s of five intervals unsteady: of 1,750 in each, the standard deviation
// is 2.4 %, a quarter of the slope that SNIA's rule allows.
constexpr double kLeastRandomWrites = 5 * 1750;

// Writes per second that start at random; 0: none do.
double RandomWritesPerSecond(const v1::TestPlan& plan) {
  double rate = 0;
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) {
    if (workload.arrival() != v1::ARRIVAL_POISSON) return 0;
    if (!HasPlacement(plan)) rate += workload.rate_per_second() * workload.qm();
  }
  for (const v1::PlacedQueueManager& placed : plan.placement()) rate += placed.rate_per_second();
  return rate;
}

// Random arrivals are the default for the sake of the search; a host without a rate has nothing to arrive.
void LeaveArrivalsToPacedHosts(v1::TestPlan& load) {
  if (HasPlacement(load)) return;
  for (int host = 0; host < load.hosts_size(); ++host) {
    const v1::LogWorkload workload = EffectiveWorkload(load, host);
    if (workload.rate_per_second() > 0 || workload.arrival() != v1::ARRIVAL_POISSON) continue;
    load.mutable_hosts(host)->mutable_workload()->set_arrival(v1::ARRIVAL_EVEN);
  }
  // Hosts that have a rate of their own keep what the plan gives to all.
  if (load.workload().rate_per_second() > 0 || load.workload().arrival() != v1::ARRIVAL_POISSON) return;
  for (int host = 0; host < load.hosts_size(); ++host) {
    if (!load.hosts(host).workload().has_arrival()) {
      load.mutable_hosts(host)->mutable_workload()->set_arrival(v1::ARRIVAL_POISSON);
    }
  }
  load.mutable_workload()->set_arrival(v1::ARRIVAL_EVEN);
}

// What keeps a plan from showing anything about the storage.
void AddUnsyncedHosts(const v1::TestPlan& plan, std::vector<PlanProblem>& problems) {
  for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) {
    if (EffectiveWorkload(plan, host).sync() != v1::SYNC_MODE_NONE) continue;
    const bool own = host < plan.hosts_size() && plan.hosts(host).workload().has_sync();
    problems.emplace_back(PlanKey("workload.sync"), " none",
                          own ? absl::StrCat(" on ", ShortAddress(plan.hosts(host).address())) : "",
                          " measures memory, not storage; use dsync, as MQ's logger does");
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

// Whether an outage of the storage, or a failover, may break it: what a load under disturbances is judged by.
bool SuitsDisturbances(const std::string& text, uint64_t block_size_bytes) {
  const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
  return criterion.ok() && criterion->metric == Metric::kMax && !IsReversed(*criterion) &&
         (criterion->block_size_bytes == 0 || criterion->block_size_bytes == block_size_bytes);
}

// Whether the plan measures a load or searches for one. Parts that are not given are the default ones.
bool MeasuresLoad(const v1::TestPlan& plan) {
  return plan.accept().parts().empty() || HasPart(plan, v1::ACCEPT_PART_LOAD) || HasPart(plan, v1::ACCEPT_PART_LIMIT);
}

// An acceptance has a search, whether the plan changes anything about it or not. Where the plan names pairs of
// multi-instance queue managers and no criterion, its load has MQ's own limit.
void FillAcceptance(v1::TestPlan& plan) {
  kLimitPlanKind.fill(plan);
  if (plan.criteria().empty() && !plan.ha().pairs().empty() && MeasuresLoad(plan)) {
    plan.add_criteria(kLongestPauseCriterion);
  }
}

// Queue managers that are at home on one host, at most.
uint32_t MostAtHome(const v1::TestPlan& plan) {
  std::map<std::string, uint32_t> at_home;
  uint32_t most = 0;
  for (const v1::PlacedQueueManager& placed : plan.placement()) most = std::max(most, ++at_home[placed.home()]);
  return most;
}

// Whether load or search leave a writer to write as fast as possible: one that hangs then writes nothing meanwhile, and
// its percentiles hardly show it.
bool HasClosedLoop(const v1::TestPlan& plan) {
  const bool load = HasPart(plan, v1::ACCEPT_PART_LOAD);
  const bool search = HasPart(plan, v1::ACCEPT_PART_LIMIT) && plan.limit().over() == v1::LIMIT_OVER_QM;
  const auto unpaced = [](const v1::LogWorkload& workload) { return workload.rate_per_second() <= 0; };
  return (load || search) && !HasPlacement(plan) && std::ranges::any_of(EffectiveWorkloads(plan), unpaced);
}

// Whether each step has a criterion that a single long write fails.
bool LimitsStalls(const v1::TestPlan& plan) {
  const auto limits = [&plan](uint64_t size) {
    return std::any_of(plan.criteria().begin(), plan.criteria().end(), [size](const std::string& text) {
      const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
      if (!criterion.ok() || (criterion->block_size_bytes != 0 && criterion->block_size_bytes != size)) return false;
      if (!WantsSmall(*criterion) && criterion->comparison != Comparison::kEqual) return false;
      const bool stalls = criterion->metric == Metric::kStalls || criterion->metric == Metric::kLongestStall;
      const bool longest = criterion->metric == Metric::kMax && criterion->operation.empty();
      return longest || (stalls && criterion->stall_class == v1::STALL_CLASS_UNSPECIFIED);
    });
  };
  const std::vector<uint64_t> sizes = BlockSizesOf(plan);
  return std::all_of(sizes.begin(), sizes.end(), limits);
}

bool RequiresSteady(const v1::TestPlan& plan) {
  return std::any_of(plan.criteria().begin(), plan.criteria().end(), [](const std::string& text) {
    const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    return criterion.ok() && criterion->metric == Metric::kSteady && criterion->block_size_bytes == 0 &&
           criterion->limit == 1;
  });
}

}  // namespace

bool HasPart(const v1::TestPlan& plan, v1::AcceptPart part) {
  const auto& parts = plan.accept().parts();
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

bool IsOptional(v1::AcceptPart part) {
  return part == v1::ACCEPT_PART_HA || part == v1::ACCEPT_PART_RESTART_TIME || part == v1::ACCEPT_PART_DISTURB;
}

std::optional<RestartCriterion> ParseRestartCriterion(const std::string& text) {
  const std::string plain = absl::StrReplaceAll(absl::AsciiStrToLower(text), {{" ", ""}});
  absl::string_view rest = plain;
  if (!absl::ConsumePrefix(&rest, "restart")) return std::nullopt;
  RestartCriterion criterion{text};
  criterion.or_equal = absl::ConsumePrefix(&rest, "<=");
  if (!criterion.or_equal && !absl::ConsumePrefix(&rest, "<") && !absl::ConsumePrefix(&rest, ":")) return std::nullopt;
  const absl::StatusOr<int64_t> limit_ns = ParseDuration(std::string(rest));
  if (!limit_ns.ok() || *limit_ns <= 0) return std::nullopt;
  criterion.limit_ns = *limit_ns;
  return criterion;
}

namespace {

// Without the sections of other parts, and without criteria for restarts.
v1::TestPlan WithoutOtherParts(const v1::TestPlan& plan) {
  v1::TestPlan part = plan;
  part.clear_accept();
  part.clear_limit();
  part.clear_ha();
  part.clear_restart_time();
  part.clear_disturb();
  part.clear_criteria();
  for (const std::string& text : plan.criteria()) {
    if (!ParseRestartCriterion(text).has_value()) part.add_criteria(text);
  }
  return part;
}

// Without what only runs of log writing have: a drill and a restart have rounds of their own, and no guard.
void ForgetRunOptions(v1::TestPlan& plan) {
  for (const google::protobuf::FieldDescriptor& field : FieldsOf(*v1::TestPlan::descriptor())) {
    if (RuleOf(field).run_only()) plan.GetReflection()->ClearField(&plan, &field);
  }
  plan.clear_placement();
  plan.clear_criteria();
}

}  // namespace

v1::TestPlan DrillPlanOf(const v1::TestPlan& plan, v1::HaFence fence) {
  v1::TestPlan drill = WithoutOtherParts(plan);
  ForgetRunOptions(drill);
  *drill.mutable_ha() = plan.ha();
  v1::HaPlan& ha = *drill.mutable_ha();
  if (ha.faults().empty()) {
    ha.add_faults(v1::HA_FAULT_KIND_SWITCH);
    ha.add_faults(v1::HA_FAULT_KIND_KILL);
  }
  for (int host = 0; plan.ha().pairs().empty() && host + 1 < plan.hosts_size(); host += 2) {
    ha.add_pairs(absl::StrCat(plan.hosts(host).address(), "+", plan.hosts(host + 1).address()));
  }
  // A host without a partner has no drill; a pair that names another host adds it.
  std::set<std::string> paired;
  for (const std::string& pair : ha.pairs()) {
    for (const std::string& address : PairHosts(pair)) paired.insert(address);
  }
  auto& hosts = *drill.mutable_hosts();
  hosts.erase(std::remove_if(hosts.begin(), hosts.end(),
                             [&paired](const v1::HostSpec& host) { return !paired.contains(host.address()); }),
              hosts.end());
  ha.set_fence(fence);
  // A round is one fault in one pair: every pair gets every fault.
  const uint64_t least = static_cast<uint64_t>(ha.pairs_size()) * static_cast<uint64_t>(ha.faults_size());
  const uint64_t usual = plan.has_ha() ? plan.ha().rounds() : kUsualDrillRounds;
  ha.set_rounds(static_cast<uint32_t>(std::max(usual, least)));
  if (drill.block_size_bytes_size() > 1) drill.mutable_block_size_bytes()->Truncate(1);
  // The lease of an acceptance is too short for a takeover.
  drill.clear_lease_ns();
  LeaveArrivalsToPacedHosts(drill);
  FillDefaults(drill);
  return drill;
}

v1::TestPlan RestartPlanOf(const v1::TestPlan& plan) {
  v1::TestPlan restart = WithoutOtherParts(plan);
  ForgetRunOptions(restart);
  *restart.mutable_restart_time() = plan.restart_time();
  if (restart.hosts_size() > 1) restart.mutable_hosts()->DeleteSubrange(1, restart.hosts_size() - 1);
  const v1::LogWorkload workload = EffectiveWorkload(plan, 0);
  for (v1::HostSpec& host : *restart.mutable_hosts()) host.clear_workload();
  restart.clear_workload();
  restart.mutable_workload()->set_dir(workload.dir());
  restart.mutable_workload()->set_file_size_bytes(workload.file_size_bytes());
  restart.mutable_workload()->set_num_files(workload.num_files());
  if (workload.has_min_free_bytes()) restart.mutable_workload()->set_min_free_bytes(workload.min_free_bytes());
  FillDefaults(restart);
  return restart;
}

v1::TestPlan DisturbPlanOf(const v1::TestPlan& plan) {
  v1::TestPlan disturbed = WithoutOtherParts(plan);
  *disturbed.mutable_disturb() = plan.disturb();
  // One step.
  disturbed.clear_until_steady_ns();
  disturbed.clear_repeat();
  if (disturbed.block_size_bytes_size() > 1) disturbed.mutable_block_size_bytes()->Truncate(1);
  const uint64_t block_size_bytes = disturbed.block_size_bytes_size() > 0 ? disturbed.block_size_bytes(0) : 0;
  const std::vector<std::string> criteria(disturbed.criteria().begin(), disturbed.criteria().end());
  disturbed.clear_criteria();
  bool limits_pauses = false;
  for (const std::string& text : criteria) {
    if (!SuitsDisturbances(text, block_size_bytes)) continue;
    disturbed.add_criteria(text);
    // A part of a write, such as its sync, may be short where the write is not.
    limits_pauses = limits_pauses || ParseCriterion(text)->operation.empty();
  }
  if (!limits_pauses) disturbed.add_criteria(kLongestPauseCriterion);
  LeaveArrivalsToPacedHosts(disturbed);
  FillDefaults(disturbed);
  return disturbed;
}

v1::TestPlan PlanOfRun(const v1::TestPlan& plan, v1::AcceptPart part, uint32_t run) {
  switch (part) {
    case v1::ACCEPT_PART_LOAD:
      return LoadPlanOf(plan);
    case v1::ACCEPT_PART_HA:
      return DrillPlanOf(plan, run == 1 ? v1::HA_FENCE_EXTENTS : v1::HA_FENCE_NONE);
    case v1::ACCEPT_PART_RESTART_TIME:
      return RestartPlanOf(plan);
    case v1::ACCEPT_PART_DISTURB:
      return DisturbPlanOf(plan);
    default:
      return SearchPlanOf(plan);
  }
}

uint32_t RunsOf(const v1::TestPlan& plan, v1::AcceptPart part) {
  switch (part) {
    case v1::ACCEPT_PART_STORAGE:
    case v1::ACCEPT_PART_RESTART_TIME:
    case v1::ACCEPT_PART_DISTURB:
      return 1;
    case v1::ACCEPT_PART_HA:
      return plan.accept().locks_extents() ? 1 : 2;
    default:
      return plan.accept().runs();
  }
}

v1::TestPlan LoadPlanOf(const v1::TestPlan& plan) {
  v1::TestPlan load = WithoutOtherParts(plan);
  if (load.until_steady_ns() == 0 && !RequiresSteady(load)) load.add_criteria("steady");
  LeaveArrivalsToPacedHosts(load);
  FillDefaults(load);
  return load;
}

v1::TestPlan SearchPlanOf(const v1::TestPlan& plan) {
  v1::TestPlan search = plan;
  // Whatever other section there is belongs to the load.
  for (const google::protobuf::FieldDescriptor& field : FieldsOf(*v1::TestPlan::descriptor())) {
    if (RuleOf(field).section() && field.number() != v1::TestPlan::kLimitFieldNumber) {
      search.GetReflection()->ClearField(&search, &field);
    }
  }
  search.clear_until_steady_ns();
  search.clear_repeat();
  search.set_duration_ns(plan.accept().search_step_ns());
  if (HasPlacement(plan)) {
    // One load for all: on each host as many queue managers as one has at home, at most, and the largest of their
    // writes.
    search.mutable_workload()->set_qm(MostAtHome(plan));
    search.clear_block_size_bytes();
    search.add_block_size_bytes(LargestWriteOf(plan));
  }
  const uint64_t block_size_bytes = search.block_size_bytes_size() > 0 ? search.block_size_bytes(0) : 0;
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

namespace {

// What keeps the part `disturb` from being done, beyond the problems of its plan.
void AddDisturbProblems(const v1::TestPlan& plan, std::vector<PlanProblem>& problems) {
  const PlanKey parts("accept.parts");
  if (plan.disturb().empty()) {
    problems.emplace_back(parts, ": disturb needs commands that disturb the storage; list them in ", PlanKey("disturb"),
                          ", or leave disturb out");
  }
  if (HasPlacement(plan)) {
    problems.emplace_back(parts, ": disturb takes no ", PlanKey("placement"),
                          ", whose load is measured anew for each host that is down; leave disturb out, and accept it "
                          "with a plan that has ",
                          PlanKey("workload.qm"), " and ", PlanKey("workload.rate"));
  }
  if (plan.block_size_bytes_size() > 1) {
    problems.emplace_back(
        PlanKey("block_size"),
        ": disturb takes one block size; accept each with a plan of its own, or leave disturb out of ", parts);
  }
}

// What keeps the plan from being an acceptance, beyond the problems of its parts' plans.
std::vector<PlanProblem> OwnProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  const auto add = [&problems](const auto&... parts) { problems.emplace_back(parts...); };
  for (const auto& [section, part, name, given] :
       {std::tuple("ha", v1::ACCEPT_PART_HA, "ha", plan.has_ha()),
        std::tuple("restart_time", v1::ACCEPT_PART_RESTART_TIME, "restart-time", plan.has_restart_time()),
        std::tuple("disturb", v1::ACCEPT_PART_DISTURB, "disturb", !plan.disturb().empty())}) {
    if (!given || HasPart(plan, part)) continue;
    add(PlanKey(section), " is given, and ", PlanKey("accept.parts"), " has no part for it: add ", name,
        ", or leave the section out");
  }
  if (plan.accept().parts_size() == 1 && HasPart(plan, v1::ACCEPT_PART_RESTART_TIME)) {
    add(PlanKey("accept.parts"), ": restart-time informs and decides nothing; add another part");
  }
  if (HasPart(plan, v1::ACCEPT_PART_HA) && plan.hosts_size() < 2) {
    add(PlanKey("accept.parts"), ": ha needs two ", PlanKey("hosts", "--hosts"),
        " for each pair of queue managers; name them, or leave ha out");
  }
  const bool unguarded = HasPart(plan, v1::ACCEPT_PART_HA) || HasPart(plan, v1::ACCEPT_PART_RESTART_TIME);
  for (const auto& [given, key] : {std::pair(!plan.abort_if().empty(), "abort_if"),
                                   std::pair(plan.has_end_by(), "end_by"), std::pair(plan.has_protect(), "protect")}) {
    if (given && unguarded) {
      add(PlanKey(key), ": the parts ha and restart-time have no guard; leave them out of ", PlanKey("accept.parts"),
          ", or leave this out");
    }
  }
  const bool limits_restart = std::ranges::any_of(
      plan.criteria(), [](const std::string& text) { return ParseRestartCriterion(text).has_value(); });
  if (limits_restart && (!HasPart(plan, v1::ACCEPT_PART_RESTART_TIME) || plan.restart_time().real().empty())) {
    add(PlanKey("criteria"), ": restart is the time of a real queue manager: add restart-time to ",
        PlanKey("accept.parts"), ", and its error log with --restart-log AMQERR01.LOG");
  }
  const auto& parts = plan.accept().parts();
  if (std::set<int>(parts.begin(), parts.end()).size() != static_cast<size_t>(parts.size())) {
    add(PlanKey("accept.parts"), ": a part is listed twice; list each once");
  }
  if (plan.keep_files()) {
    add(PlanKey("keep_files"), ": an acceptance prepares and removes its files for each part; leave it out");
  }
  const bool load = HasPart(plan, v1::ACCEPT_PART_LOAD);
  const bool limit = HasPart(plan, v1::ACCEPT_PART_LIMIT);
  const bool disturb = HasPart(plan, v1::ACCEPT_PART_DISTURB);
  const bool placed = HasPlacement(plan);
  if (load || limit || disturb) AddUnsyncedHosts(plan, problems);
  if (disturb) AddDisturbProblems(plan, problems);
  if (HasPart(plan, v1::ACCEPT_PART_FSCK) && plan.hosts_size() > kMostCheckedHosts) {
    add(PlanKey("accept.parts"), ": fsck checks at most ", kMostCheckedHosts, " ", PlanKey("hosts"), ", and there are ",
        plan.hosts_size(), "; leave fsck out of ", PlanKey("accept.parts"),
        ", and run `plimsoll fsck` on some of them");
  }
  // One that cannot be read, or bounds the wrong side, is named by its own check.
  const bool all_read = std::all_of(plan.criteria().begin(), plan.criteria().end(), [](const std::string& text) {
    if (ParseRestartCriterion(text).has_value()) return true;
    const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    return criterion.ok() && !IsReversed(*criterion);
  });
  if (load && WithoutOtherParts(plan).criteria().empty()) {
    add(PlanKey("criteria"), " is missing: an acceptance needs a limit to accept by, such as p99<10ms");
  } else if (limit && all_read && SearchPlanOf(plan).criteria().empty()) {
    add(PlanKey("criteria"),
        ": the search for the limit needs a latency or stalls, such as p99<10ms; or leave limit out of ",
        PlanKey("accept.parts"));
  } else if (all_read && HasClosedLoop(plan) && !LimitsStalls(plan)) {
    add(PlanKey("criteria"), ": without ", PlanKey("workload.rate"),
        ", percentiles hardly show a queue manager that hangs, as it writes nothing meanwhile; add a limit for its "
        "longest write or for stalls, such as max<500ms or stalls==0, or set the rate");
  }
  if (load && plan.until_steady_ns() == 0 && plan.duration_ns() < kLeastSteadyNs) {
    add(PlanKey("duration"), " ", FormatReadableDuration(plan.duration_ns()),
        " is too short to be steady: use 5s or more",
        placed ? PlanKey("", "") : PlanKey("until_steady", ", or --until-steady (until_steady)"));
  }
  const double random = RandomWritesPerSecond(LoadPlanOf(plan));
  const double seconds = static_cast<double>(plan.duration_ns()) / static_cast<double>(kNsPerSecond);
  if (load && problems.empty() && plan.until_steady_ns() == 0 && random > 0 && random * seconds < kLeastRandomWrites) {
    add(PlanKey("duration"), " ", FormatReadableDuration(plan.duration_ns()), " is too short for ",
        absl::StrFormat("%.4g", random),
        " writes/s in all that start at random: chance alone makes their rate unsteady; use ",
        static_cast<int64_t>(std::ceil(kLeastRandomWrites / random)), "s or more",
        placed ? PlanKey("", "") : PlanKey("until_steady", ", --until-steady (until_steady)"), ", or ",
        PlanKey("workload.arrival", "--arrival even (workload.arrival)"));
  }
  if (limit && plan.block_size_bytes_size() > 1) {
    add(PlanKey("block_size"),
        ": the search for the limit takes one block size; accept each with a plan of its own, or leave limit out of ",
        PlanKey("accept.parts"));
  }
  constexpr char kOneDirectory[] =
      ": an acceptance is of one directory that all queue managers use; accept each directory by itself, with ";
  for (int number = 0; number < plan.placement_size(); ++number) {
    if (!plan.placement(number).has_dir()) continue;
    add(PlanKey(absl::StrCat("placement[", number + 1, "].dir")), kOneDirectory, PlanKey("workload.dir"));
    break;
  }
  const auto lists_dirs = [](const v1::LogWorkload& workload) { return !workload.qm_dirs().empty(); };
  if (!placed && std::ranges::any_of(EffectiveWorkloads(plan), lists_dirs)) {
    add(PlanKey("workload.qm_dirs"), kOneDirectory, PlanKey("workload.dir"));
  }
  for (int host = 0; HasPart(plan, v1::ACCEPT_PART_FSCK) && host < plan.hosts_size(); ++host) {
    const std::string dir = EffectiveWorkload(plan, host).dir();
    if (dir == EffectiveWorkload(plan, 0).dir()) continue;
    add(PlanKey("workload.dir"), " on ", plan.hosts(host).address(),
        ": fsck checks one directory that all hosts share, and ", dir, " is not ", EffectiveWorkload(plan, 0).dir(),
        "; leave fsck out of ", PlanKey("accept.parts"));
    break;
  }
  return problems;
}

// Beyond that the problems of its parts' plans.
std::vector<PlanProblem> AcceptPlanProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems = OwnProblems(plan);
  if (RunKindOf(plan) != RunKind::kAccept) return problems;
  const bool has_search = problems.empty() && HasPart(plan, v1::ACCEPT_PART_LIMIT);
  // The parts are checked as what they are: a run and a search.
  for (PlanProblem& problem : PlanProblems(LoadPlanOf(plan))) problems.push_back(std::move(problem));
  const auto add_of = [&problems](const v1::TestPlan& part) {
    for (PlanProblem& problem : PlanProblems(part)) problems.push_back(std::move(problem));
  };
  if (HasPart(plan, v1::ACCEPT_PART_HA) && plan.hosts_size() > 1) {
    add_of(DrillPlanOf(plan, v1::HA_FENCE_EXTENTS));
  }
  if (HasPart(plan, v1::ACCEPT_PART_RESTART_TIME)) add_of(RestartPlanOf(plan));
  const bool disturb = HasPart(plan, v1::ACCEPT_PART_DISTURB) && !plan.disturb().empty() && !HasPlacement(plan);
  if (disturb) add_of(DisturbPlanOf(plan));
  if (!has_search) return problems;
  const v1::TestPlan search = SearchPlanOf(plan);
  if (search.criteria().empty()) return problems;  // what is wrong with them is named
  const PlanKey duration("duration");
  const PlanKey step("accept.search_step");
  for (PlanProblem& problem : PlanProblems(search)) {
    if (problem.key == duration.key) problem.key = step.key;
    std::replace(problem.mentions.begin(), problem.mentions.end(), duration.key, step.key);
    problem.text = absl::StrReplaceAll(problem.text, {{duration.text, step.text}});
    problems.push_back(std::move(problem));
  }
  return problems;
}

WritingTime AcceptWriting(const v1::TestPlan& plan) {
  const bool load = HasPart(plan, v1::ACCEPT_PART_LOAD);
  const bool limit = HasPart(plan, v1::ACCEPT_PART_LIMIT);
  const int64_t run_ns =
      (load ? WritingTimeOf(LoadPlanOf(plan)).ns : 0) + (limit ? WritingTimeOf(SearchPlanOf(plan)).ns : 0);
  const bool disturb = HasPart(plan, v1::ACCEPT_PART_DISTURB);
  const int64_t disturbed_ns = disturb ? WritingTimeOf(DisturbPlanOf(plan)).ns : 0;
  return {plan.accept().runs() * run_ns + disturbed_ns, limit || plan.until_steady_ns() > 0};
}

}  // namespace

constinit const PlanKind kAcceptPlanKind{.kind = RunKind::kAccept,
                                         .fill = FillAcceptance,
                                         .problems = AcceptPlanProblems,
                                         .of_parts = true,
                                         .writing = AcceptWriting,
                                         .of = "an acceptance of ",
                                         .reference = R"(
An acceptance of storage, for `plimsoll accept` ([accept.md](accept.md)). The load is the plan's own; the search is that of `limit`, with
steps of `search_step`. Arrivals are `poisson` where they are not given. It needs criteria, for which `max<20s`, MQ's own limit for
multi-instance queue managers, stands where `ha` names pairs; where a host has no rate, one of them on `max`,
`stalls` or `longest_stall`. `plimsoll plan example --accept` prints such a plan with every key explained; `--ready NAME` prints one for a kind of storage, with limits and their sources.
)"};

}  // namespace plimsoll
