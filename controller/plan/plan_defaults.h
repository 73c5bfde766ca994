// A plan with its defaults, and what each host makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// From here on agents report stalls if the plan sets no threshold; the analysis then leaves those out that are usual
// for their writer.
inline constexpr int64_t kUsualStallNs = 100 * kNsPerMs;

// Sets every field that has a default and was not given. The workload's defaults go to the plan's workload; a host
// keeps only what differs from it. Addresses get their port. Filling in twice changes nothing.
//
// A placement fills in what its queue managers do not have of their own, and where the plan lists no hosts, those that
// it names. An HA drill has criteria and a lease of its own by default, and the hosts of its pairs are added to those
// listed. A search over the rate has random arrivals by default. An acceptance has a search.
//
// Files have names in place of NAME..., and none of the defaults of extents; see controller/plan/files_plan.h.
void FillDefaults(v1::TestPlan& plan);

// Whether one of the drill's faults makes a standby take over.
bool AnyTakeover(const v1::HaPlan& plan);

// The addresses that a pair of a drill names, with their ports: "node1+node2". Two, unless it is not a pair.
std::vector<std::string> PairHosts(const std::string& pair);

// What a host writes: the plan's workload, defaults included, with the host's own values over it. Takes any plan.
// `host_index` counts plan.hosts(); 0 where the plan has no hosts. With a placement it has as many queue managers as
// the placement has at home or on standby there.
v1::LogWorkload EffectiveWorkload(const v1::TestPlan& plan, int host_index);
// That of each host in turn; of this machine where the plan has no hosts.
std::vector<v1::LogWorkload> EffectiveWorkloads(const v1::TestPlan& plan);

// Whether a sync follows each write of some host (sync fdatasync or fsync), so that the two parts of a write are
// measured.
bool MeasuresParts(const v1::TestPlan& plan);

// What a step holds of block_size_mix: its size_mix. INVALID_ARGUMENT, saying what is wrong.
absl::StatusOr<v1::LogStep> ParseSizeMix(const std::string& text);

// The steps of a run: block sizes in their order, or one mix of them, each with the combinations of a sweep, or with a
// placement all hosts up and then each host down, the whole list `repeat` times; of a search, its first step. The plan
// must have its defaults filled in; CheckPlan bounds the number of steps.
std::vector<v1::LogStep> ExpandSteps(const v1::TestPlan& plan);

// Rounds over which SNIA's rule must hold.
inline constexpr uint32_t kSteadyRounds = 5;
// With --until-steady: how often a step is measured at most; else 1. The plan must have its defaults.
uint32_t MostRounds(const v1::TestPlan& plan);

// One host's part of a plan that CheckPlan has passed and that has its defaults filled in. `run_token` is 16 bytes.
v1::HostPlan MakeHostPlan(const v1::TestPlan& plan, int host_index, const std::string& host_label,
                          const std::string& run_id, const std::string& run_token, int64_t frame_interval_ns);

}  // namespace plimsoll
