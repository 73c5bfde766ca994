// What a plan says of group commit, by clients or by recorded writes, checked and as a CommitLoad.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "agent/writer/commit_model.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Whether the step plays recorded writes.
inline bool PlaysPattern(const v1::LogStep& step) {
  return step.group_commit().has_pattern();
}

// Checks a step with group commit; its writes are of whole pages, up to the log buffer. `own_loads`: the queue managers
// have block sizes of their own. `file_size_bytes`: of an extent; the largest number where the plan names its files.
// Returns INVALID_ARGUMENT, naming the field and what is accepted.
absl::Status CheckCommits(const v1::LogStep& step, bool own_loads, uint64_t file_size_bytes);

// The load of the step's writers, but for what is a writer's own: key, extents and pattern. Nothing without group
// commit.
std::optional<CommitLoad> CommitsOf(const v1::LogStep& step);

// Whether what was prepared for a step with `prepared` suits one with `added`: the same log buffer and, of recorded
// writes, the same way to play them. The number of clients and the load factor do not matter.
bool SuitsCommits(const std::optional<CommitLoad>& prepared, const std::optional<CommitLoad>& added);

}  // namespace plimsoll
