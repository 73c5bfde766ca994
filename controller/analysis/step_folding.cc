#include "controller/analysis/step_folding.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/units.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {
namespace {

// Beyond it, no rule is one that a run can have.
constexpr int64_t kMostWholeSeconds = 864'000;
constexpr int64_t kMostSettleSeconds = 600;
constexpr int64_t kWholeSecondsStep = 60;
// A write that hangs at the end of a step is waited for.
constexpr int64_t kSecondsBehindStep = 3'600;

}  // namespace

int64_t StallOf(const v1::TestPlan& plan) {
  return plan.stall_ns() > 0 && IsSaneMoment(plan.stall_ns()) ? plan.stall_ns() : 0;
}

absl::StatusOr<FoldRules> FoldRulesOf(const v1::StepFoldRules& rules, int64_t interval_ns, int64_t stall_ns,
                                      int64_t duration_ns) {
  const bool fine = rules.whole_seconds() >= 0 && rules.whole_seconds() <= kMostWholeSeconds &&
                    rules.whole_seconds() % kWholeSecondsStep == 0 && rules.settle_seconds() <= kMostSettleSeconds &&
                    rules.around_stall_seconds() >= 0 && rules.around_stall_seconds() < rules.settle_seconds() &&
                    rules.most_whole_of_hour() >= 0;
  if (!fine) return absl::InvalidArgumentError("a fold that no step can have");
  FoldRules made;
  made.interval_ns = interval_ns;
  made.stall_ns = stall_ns;
  made.whole_seconds = rules.whole_seconds();
  made.settle_seconds = rules.settle_seconds();
  made.around_stall_seconds = rules.around_stall_seconds();
  made.most_whole_of_hour = rules.most_whole_of_hour();
  made.end_second = std::max<int64_t>(duration_ns, 0) / kNsPerSecond + kSecondsBehindStep;
  return made;
}

void ExpectWriters(const v1::StepBegin& begin, const v1::LogStep& step, const HostTable& hosts, StepFold& fold) {
  for (const auto& [number, facts] : hosts) {
    if (facts.lost || number >= static_cast<uint32_t>(begin.host_start_ns_size())) continue;
    const int64_t start_ns = begin.host_start_ns(static_cast<int>(number));
    // It was not armed.
    if (start_ns == 0) continue;
    std::vector<uint32_t> qms;
    const std::vector<std::optional<BlockRange>> blocks = facts.Blocks(step);
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i]) qms.push_back(static_cast<uint32_t>(i + 1));
    }
    fold.Expect(number, qms, start_ns + step.warmup_ns());
  }
}

}  // namespace plimsoll
