#include "controller/plan/plan_defaults.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/host_list.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_schema.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// An agent's lease in a drill, beyond the longest takeover that is waited for.
constexpr int64_t kHaSpareLeaseNs = 30 * kNsPerSecond;
// How long a host may take to return, and how much longer than its agent's lease at least.
constexpr int64_t kHaRestoreNs = 300 * kNsPerSecond;
constexpr int64_t kHaSpareRestoreNs = 60 * kNsPerSecond;

// A search's first step: writes per second of all hosts, but at least 1 and at most 10 of each queue manager, and time.
constexpr double kFirstProbeWrites = 100;
constexpr double kMostFirstProbeRate = 10;
constexpr int64_t kFirstProbeNs = 2 * kNsPerSecond;

// What the storage takes for a write before a search has loaded it.
v1::LogStep FirstProbe(const v1::TestPlan& plan) {
  double writers = 0;
  for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) writers += EffectiveWorkload(plan, host).qm();
  v1::LogStep step;
  step.set_block_size_bytes(plan.block_size_bytes(0));
  step.set_duration_ns(std::min(plan.duration_ns(), kFirstProbeNs));
  step.set_warmup_ns(plan.warmup_ns());
  step.set_purpose(v1::STEP_PURPOSE_PROBE);
  if (plan.limit().over() == v1::LIMIT_OVER_RATE) {
    step.set_rate_per_second(std::clamp(kFirstProbeWrites / std::max(writers, 1.0), 1.0, kMostFirstProbeRate));
  } else {
    step.set_qm(1);
  }
  return step;
}

// Lists of messages get none: each of their elements stands for itself.
void FillMessage(Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (KindOf(field) == ValueKind::kMessage) {
      if (field.is_repeated() || (RuleOf(field).section() && CountOf(field, message) == 0)) continue;
      FillMessage(*message.GetReflection()->MutableMessage(&message, &field));
      continue;
    }
    if (CountOf(field, message) > 0) continue;
    for (const std::string& text : SplitList(field, RuleOf(field).default_value())) {
      // SchemaProblems finds defaults that their own field refuses; a test checks that there are none.
      StoreValue(field, ParseValue(field, text).value(), message);
    }
  }
}

// What a drill has other defaults for, and its hosts, which the pairs name.
void FillHaDefaults(v1::TestPlan& plan) {
  FillMessage(*plan.mutable_ha());
  if (!plan.has_lease_ns()) plan.set_lease_ns(plan.ha().takeover_limit_ns() + kHaSpareLeaseNs);
  if (!plan.ha().has_restore_limit_ns()) {
    plan.mutable_ha()->set_restore_limit_ns(std::max(kHaRestoreNs, plan.lease_ns() + kHaSpareRestoreNs));
  }
  if (plan.criteria().empty()) {
    for (const char* criterion : {"lost==0", "split_brain==0"}) plan.add_criteria(criterion);
    if (AnyTakeover(plan.ha())) plan.add_criteria("takeover_max<60s");
  }
  std::set<std::string> listed;
  for (const v1::HostSpec& host : plan.hosts()) listed.insert(WithPort(host.address()));
  for (const std::string& pair : plan.ha().pairs()) {
    for (const std::string& address : PairHosts(pair)) {
      if (!address.empty() && listed.insert(address).second) plan.add_hosts()->set_address(address);
    }
  }
}

// A serial writer shows its service time up to 95 % load where its writes come evenly: there is no knee.
void FillLimitDefaults(v1::TestPlan& plan) {
  FillMessage(*plan.mutable_limit());
  if (plan.limit().over() == v1::LIMIT_OVER_RATE && !plan.workload().has_arrival()) {
    plan.mutable_workload()->set_arrival(v1::ARRIVAL_POISSON);
  }
}

void ClearWhatIsEqual(const v1::LogWorkload& common, v1::LogWorkload& own) {
  const Descriptor& type = *own.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const int count = CountOf(field, own);
    if (count == 0 || CountOf(field, common) != count) continue;
    bool equal = true;
    for (int n = 0; n < count; ++n) equal = equal && FormatValue(field, own, n) == FormatValue(field, common, n);
    if (equal) own.GetReflection()->ClearField(&own, &field);
  }
}

// p99:10ms is p99<10ms everywhere but where it was written.
void SpellOutCriteria(v1::TestPlan& plan) {
  for (std::string& text : *plan.mutable_criteria()) {
    if (plan.has_ha()) {
      if (const auto criterion = ParseHaCriterion(text); criterion.ok()) text = criterion->text;
    } else if (const auto criterion = ParseCriterion(text); criterion.ok()) {
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
  if (plan.has_ha()) FillHaDefaults(plan);
  // An acceptance has a search, whether the plan changes anything about it or not.
  if (plan.has_accept()) plan.mutable_limit();
  if (plan.has_limit()) FillLimitDefaults(plan);
  // A placement lists the queue managers itself.
  const bool gives_qm = plan.workload().has_qm();
  CountQmDirs(*plan.mutable_workload());
  FillMessage(plan);
  SpellOutCriteria(plan);
  if (HasPlacement(plan) && !gives_qm) plan.mutable_workload()->clear_qm();
  for (v1::HostSpec& host : *plan.mutable_hosts()) {
    const auto addresses = ParseHostList(host.address());
    if (addresses.ok() && addresses->size() == 1) host.set_address(addresses->front());
    if (!host.has_workload()) continue;
    CountQmDirs(*host.mutable_workload());
    const uint32_t qm = host.workload().qm();
    ClearWhatIsEqual(plan.workload(), *host.mutable_workload());
    // Without it, its directories would count anew.
    if (!host.workload().qm_dirs().empty()) host.mutable_workload()->set_qm(qm);
    if (host.workload().ByteSizeLong() == 0) host.clear_workload();
  }
  if (HasPlacement(plan)) FillPlacement(plan);
}

v1::LogWorkload EffectiveWorkload(const v1::TestPlan& plan, int host_index) {
  v1::LogWorkload workload = plan.workload();
  CountQmDirs(workload);
  if (host_index < plan.hosts_size()) {
    v1::LogWorkload own = plan.hosts(host_index).workload();
    CountQmDirs(own);
    // Of dir and qm_dirs the host's own stand in place of the plan's.
    if (own.has_dir() || !own.qm_dirs().empty()) {
      workload.clear_dir();
      workload.clear_qm_dirs();
    }
    workload.MergeFrom(own);
  }
  FillMessage(workload);
  if (HasPlacement(plan)) PlaceQueueManagers(plan, static_cast<uint32_t>(host_index), workload);
  if (!workload.qm_dirs().empty()) workload.set_dir(workload.qm_dirs(0));
  return workload;
}

std::vector<v1::LogStep> ExpandSteps(const v1::TestPlan& plan) {
  std::vector<v1::LogStep> steps;
  if (plan.has_limit()) return {FirstProbe(plan)};
  for (uint32_t repetition = 0; repetition < plan.repeat(); ++repetition) {
    if (HasPlacement(plan)) {
      for (v1::LogStep& step : PlacementSteps(plan)) steps.emplace_back(std::move(step)).set_repetition(repetition);
      continue;
    }
    for (const uint64_t block_size_bytes : plan.block_size_bytes()) {
      v1::LogStep& step = steps.emplace_back();
      step.set_block_size_bytes(block_size_bytes);
      step.set_duration_ns(plan.duration_ns());
      step.set_warmup_ns(plan.warmup_ns());
      step.set_repetition(repetition);
    }
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
  v1::LogWork& work = *host.mutable_log();
  *work.mutable_workload() = EffectiveWorkload(plan, host_index);
  for (const v1::LogStep& step : ExpandSteps(plan)) *work.add_steps() = step;
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
