#include "controller/plan/plan_defaults.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/files_plan.h"
#include "controller/plan/group_commit_plan.h"
#include "controller/plan/host_list.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/sweep.h"
#include "controller/plan/watch_plan.h"
#include "controller/report/run_kind.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;

// A value beside a list stays, for the check to find.
void ClearWhatIsEqual(const v1::TestPlan& plan, v1::LogWorkload& own) {
  const v1::LogWorkload& common = plan.workload();
  for (const FieldDescriptor& field : FieldsOf(*own.GetDescriptor())) {
    const int count = CountOf(field, own);
    if (count == 0 || CountOf(field, common) != count || SweptCount(plan, field) > 0) continue;
    bool equal = true;
    for (int n = 0; n < count; ++n) equal = equal && FormatValue(field, own, n) == FormatValue(field, common, n);
    if (equal) own.GetReflection()->ClearField(&own, &field);
  }
}

// p99:10ms is p99<10ms everywhere but where it was written.
void SpellOutCriteria(v1::TestPlan& plan) {
  for (std::string& text : *plan.mutable_criteria()) {
    if (const auto spell = PlanKindOf(plan).spell_criterion; spell != nullptr) {
      text = spell(text);
    } else if (auto criterion = ParseCriterion(text); criterion.ok()) {
      // Where all operations read, read_p99 is p99; where one call is the main operation, its p99 is.
      const std::string call = MainCall(plan);
      const bool of_main_call = !call.empty() && absl::EqualsIgnoreCase(criterion->operation, call);
      if (of_main_call || (plan.read_percent() == kOnlyReads && criterion->operation == kReadName)) {
        criterion->operation.clear();
        criterion->text = FormatCriterion(*criterion);
      }
      text = criterion->text;
    }
  }
}

// Directories of their own count the queue managers, where nothing else does.
void CountQmDirs(v1::LogWorkload& workload) {
  if (workload.qm_dirs().empty() || workload.has_qm()) return;
  workload.set_qm(static_cast<uint32_t>(workload.qm_dirs_size()));
}

}  // namespace

std::vector<std::string> PairHosts(const std::string& pair) {
  std::vector<std::string> hosts = absl::StrSplit(pair, '+');
  for (std::string& host : hosts) host = WithPort(std::string(absl::StripAsciiWhitespace(host)));
  return hosts;
}

bool AnyTakeover(const v1::HaPlan& plan) {
  return std::any_of(plan.faults().begin(), plan.faults().end(), [](int fault) {
    return fault != v1::HA_FAULT_KIND_HANG && fault != v1::HA_FAULT_KIND_SERVER_RESTART;
  });
}

void FillDefaults(v1::TestPlan& plan) {
  for (const PlanKind* const kind : kPlanKinds) {
    if (kind->fill != nullptr && HasSection(plan, kind->kind)) kind->fill(plan);
  }
  // A placement lists the queue managers itself.
  const bool gives_qm = plan.workload().has_qm();
  CountQmDirs(*plan.mutable_workload());
  FillFiles(plan);
  FillGroupCommit(plan);
  const v1::LogWorkload given = plan.workload();
  const v1::TestPlan without_defaults = plan;
  if (const auto mix = ParseSizeMix(plan.block_size_mix()); mix.ok()) {
    std::vector<std::string> shares;
    // Only a plain run takes a mix: CheckPlan refuses it for others.
    const bool listed = !plan.block_size_bytes().empty() || RunKindOf(plan) != RunKind::kRun;
    for (const v1::SizeShare& share : mix->size_mix()) {
      shares.push_back(absl::StrCat(FormatSize(share.block_size_bytes()), "=", share.percent()));
      if (!listed) plan.add_block_size_bytes(share.block_size_bytes());
    }
    plan.set_block_size_mix(absl::StrJoin(shares, ","));
  }
  FillMessage(plan);
  ForgetExtents(given, *plan.mutable_workload());
  ForgetWriting(without_defaults, plan);
  ForgetGroupCommit(without_defaults, plan);
  SpellOutCriteria(plan);
  if (HasPlacement(plan) && !gives_qm && plan.has_workload()) plan.mutable_workload()->clear_qm();
  for (v1::HostSpec& host : *plan.mutable_hosts()) {
    const auto addresses = ParseHostList(host.address());
    if (addresses.ok() && addresses->size() == 1) host.set_address(addresses->front());
    if (!host.has_workload()) continue;
    CountQmDirs(*host.mutable_workload());
    const uint32_t qm = host.workload().qm();
    ClearWhatIsEqual(plan, *host.mutable_workload());
    // Without it, its directories would count anew.
    if (!host.workload().qm_dirs().empty()) host.mutable_workload()->set_qm(qm);
    if (host.workload().ByteSizeLong() == 0) host.clear_workload();
  }
  if (HasPlacement(plan)) FillPlacement(plan);
}

v1::LogWorkload EffectiveWorkload(const v1::TestPlan& plan, int host_index) {
  if (plan.has_watch()) return WatchedWorkload(plan.watch());
  v1::LogWorkload workload = plan.workload();
  CountQmDirs(workload);
  if (host_index < plan.hosts_size()) {
    v1::LogWorkload own = plan.hosts(host_index).workload();
    CountQmDirs(own);
    // The host's own dir or qm_dirs replace those of the plan.
    if (own.has_dir() || !own.qm_dirs().empty()) {
      workload.clear_dir();
      workload.clear_qm_dirs();
    }
    workload.MergeFrom(own);
  }
  const v1::LogWorkload given = workload;
  FillMessage(workload);
  ForgetExtents(given, workload);
  if (HasPlacement(plan)) PlaceQueueManagers(plan, static_cast<uint32_t>(host_index), workload);
  if (!workload.qm_dirs().empty()) workload.set_dir(workload.qm_dirs(0));
  return workload;
}

std::vector<v1::LogWorkload> EffectiveWorkloads(const v1::TestPlan& plan) {
  std::vector<v1::LogWorkload> workloads;
  for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) workloads.push_back(EffectiveWorkload(plan, host));
  return workloads;
}

bool MeasuresParts(const v1::TestPlan& plan) {
  if (plan.read_percent() == kOnlyReads) return false;
  const auto syncs_after = [](v1::SyncMode sync) { return SyncsAfterWrite(sync); };
  const v1::SyncMode of_plan = plan.workload().sync();
  if (plan.hosts().empty()) return syncs_after(of_plan);
  return std::ranges::any_of(plan.hosts(), [&](const v1::HostSpec& host) {
    return syncs_after(host.workload().has_sync() ? host.workload().sync() : of_plan);
  });
}

absl::StatusOr<v1::LogStep> ParseSizeMix(const std::string& text) {
  v1::LogStep step;
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::vector<std::string> parts = absl::StrSplit(entry, '=');
    uint32_t percent = 0;
    const absl::StatusOr<uint64_t> bytes = ParseSize(std::string(absl::StripAsciiWhitespace(parts[0])));
    if (parts.size() != 2 || !bytes.ok() ||
        !absl::SimpleAtoi(absl::StripSuffix(absl::StripAsciiWhitespace(parts[1]), "%"), &percent)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(entry), " is not a size with its share in percent, such as 4k=70"));
    }
    v1::SizeShare& share = *step.add_size_mix();
    share.set_block_size_bytes(*bytes);
    share.set_percent(percent);
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckSizeMix(step.size_mix()));
  return step;
}

namespace {

// A step for each block size, or one for a mix; of a sweep, for each combination with its rates and its numbers of
// queue managers.
std::vector<v1::LogStep> MakeListedSteps(const v1::TestPlan& plan) {
  std::vector<v1::LogStep> steps;
  const v1::Sweep& sweep = plan.sweep();
  std::vector<uint64_t> sizes(plan.block_size_bytes().begin(), plan.block_size_bytes().end());
  // A plan whose mix is wrong is refused before its steps are used.
  const v1::LogStep mixed = ParseSizeMix(plan.block_size_mix()).value_or(v1::LogStep());
  if (plan.has_block_size_mix() || plan.has_group_commit()) sizes = {0};
  for (const uint64_t block_size_bytes : sizes) {
    for (int rate = 0; rate < std::max(sweep.rate_per_second_size(), 1); ++rate) {
      for (int qm = 0; qm < std::max(sweep.qm_size(), 1); ++qm) {
        v1::LogStep& step = steps.emplace_back(mixed);
        step.set_block_size_bytes(block_size_bytes);
        step.set_duration_ns(plan.duration_ns());
        step.set_warmup_ns(plan.warmup_ns());
        if (sweep.rate_per_second_size() > 0) step.set_rate_per_second(sweep.rate_per_second(rate));
        if (sweep.qm_size() > 0) step.set_qm(sweep.qm(qm));
      }
    }
  }
  return steps;
}

}  // namespace

std::vector<v1::LogStep> ExpandSteps(const v1::TestPlan& plan) {
  std::vector<v1::LogStep> steps;
  const auto steps_of = PlanKindOf(plan).steps;
  for (uint32_t repetition = 0; repetition < plan.repeat(); ++repetition) {
    for (v1::LogStep& step : steps_of != nullptr ? steps_of(plan) : MakeListedSteps(plan)) {
      steps.emplace_back(std::move(step)).set_repetition(repetition);
    }
  }
  // The steps that a search adds read, access blocks and measure as its first one does.
  for (v1::LogStep& step : steps) {
    if (plan.read_percent() > 0) step.set_read_percent(plan.read_percent());
    if (plan.access() == v1::ACCESS_RANDOM) step.set_random_order(true);
    SetGroupCommit(plan, step);
    if (step.operations().empty()) SetOperations(MeasuresParts(plan), step);
  }
  return steps;
}

uint32_t MostRounds(const v1::TestPlan& plan) {
  if (plan.until_steady_ns() <= 0 || plan.duration_ns() <= 0) return 1;
  return static_cast<uint32_t>(std::min<int64_t>(plan.until_steady_ns() / plan.duration_ns(), INT32_MAX));
}

v1::HostPlan MakeHostPlan(const v1::TestPlan& plan, int host_index, const std::string& host_label,
                          const std::string& run_id, const std::string& run_token, int64_t frame_interval_ns) {
  v1::HostPlan host;
  host.set_run_id(run_id);
  host.set_run_token(run_token);
  host.set_host_label(host_label);
  host.set_host_index(static_cast<uint32_t>(host_index));
  host.set_lease_ns(plan.lease_ns());
  host.set_frame_interval_ns(frame_interval_ns);
  host.set_keep_files(plan.keep_files());
  if (plan.has_watch()) {
    *host.mutable_watch() = MakeWatchWork(plan);
    return host;
  }
  v1::LogWork& work = *host.mutable_log();
  *work.mutable_workload() = EffectiveWorkload(plan, host_index);
  for (const v1::LogStep& step : ExpandSteps(plan)) {
    *work.add_steps() = step;
    // The first step says it for all: repeated, names and sizes would make a plan of many steps larger than an agent
    // takes.
    if (work.steps_size() == 1) continue;
    work.mutable_steps(work.steps_size() - 1)->clear_operations();
    work.mutable_steps(work.steps_size() - 1)->clear_size_mix();
  }
  for (v1::LogQueueManager& qm : QueueManagersOf(plan, static_cast<uint32_t>(host_index))) {
    *work.add_queue_managers() = std::move(qm);
  }
  work.set_placed(static_cast<uint32_t>(plan.placement_size()));
  work.set_seed(plan.seed());
  work.set_hosts(static_cast<uint32_t>(std::max(plan.hosts_size(), 1)));
  work.set_trace(plan.trace() == v1::TOGGLE_ON);
  work.set_stall_ns(plan.has_stall_ns() ? plan.stall_ns() : kUsualStallNs);
  return host;
}

}  // namespace plimsoll
