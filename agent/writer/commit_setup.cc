#include "agent/writer/commit_setup.h"

#include <limits>

#include "common/field_rules.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// MQ's smallest extent (LogFilePages).
constexpr uint64_t kLeastCommitPages = 64;
// What PoissonArrivals takes.
constexpr double kMostCommitsPerSecond = 1e6;

absl::Status CheckClients(const v1::GroupCommit& given) {
  v1::GroupCommit commits = given;
  const bool open_loop = commits.has_client_rate_per_second();
  if (!open_loop) commits.set_client_rate_per_second(1);
  // A recording's load factor is not part of a step of clients; its range needs a value to be checked.
  if (!commits.has_load_factor()) commits.set_load_factor(1);
  PLIMSOLL_RETURN_IF_ERROR(CheckRanges(commits));
  if (!commits.has_clients() || !commits.has_message_size_bytes() || !commits.has_log_buffer_pages()) {
    return absl::InvalidArgumentError("group_commit needs clients, message_size and log_buffer_pages");
  }
  if (commits.has_think_time_ns() == open_loop) {
    return absl::InvalidArgumentError("group_commit needs think_time or client_rate, not both");
  }
  if (open_loop && commits.clients() * commits.client_rate_per_second() > kMostCommitsPerSecond) {
    return absl::InvalidArgumentError("group_commit: clients times client_rate is more than 1,000,000 commits/s");
  }
  if (!v1::LogWriteIntegrity_IsValid(commits.log_write_integrity()) ||
      commits.log_write_integrity() == v1::LOG_WRITE_INTEGRITY_UNSPECIFIED) {
    return absl::InvalidArgumentError("log_write_integrity must be triplewrite, singlewrite or doublewrite");
  }
  return absl::OkStatus();
}

// What else clients need means nothing to a recording, and may be there.
absl::Status CheckPlayback(const v1::GroupCommit& given) {
  if (given.has_clients() || given.has_think_time_ns() || given.has_client_rate_per_second()) {
    return absl::InvalidArgumentError(
        "group_commit has a pattern, which takes neither clients, think_time nor client_rate");
  }
  v1::GroupCommit commits = given;
  commits.set_clients(1);
  commits.set_client_rate_per_second(1);
  PLIMSOLL_RETURN_IF_ERROR(CheckRanges(commits));
  if (!commits.has_log_buffer_pages() || !commits.has_load_factor()) {
    return absl::InvalidArgumentError("group_commit with a pattern needs log_buffer_pages and load_factor");
  }
  if (!v1::PlaybackMode_IsValid(commits.playback()) || commits.playback() == v1::PLAYBACK_MODE_UNSPECIFIED) {
    return absl::InvalidArgumentError("playback must be demand or writes");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCommits(const v1::LogStep& step, bool own_loads, uint64_t file_size_bytes) {
  if (own_loads || step.block_size_bytes() != 0 || !step.size_mix().empty()) {
    return absl::InvalidArgumentError(
        "a step with group_commit has neither block sizes nor queue managers of a placement");
  }
  if (step.read_percent() > 0 || step.random_order() || step.rate_per_second() > 0) {
    return absl::InvalidArgumentError("a step with group_commit takes neither read_percent, random_order nor rate");
  }
  PLIMSOLL_RETURN_IF_ERROR(PlaysPattern(step) ? CheckPlayback(step.group_commit()) : CheckClients(step.group_commit()));
  // One page of an extent holds copies.
  if (file_size_bytes < kLeastCommitPages * kLogPageBytes || file_size_bytes == std::numeric_limits<uint64_t>::max()) {
    return absl::InvalidArgumentError("group_commit needs extents of at least 256k, and no named files");
  }
  return absl::OkStatus();
}

std::optional<CommitLoad> CommitsOf(const v1::LogStep& step) {
  if (!step.has_group_commit()) return std::nullopt;
  const v1::GroupCommit& commits = step.group_commit();
  CommitLoad load;
  load.buffer_pages = commits.log_buffer_pages();
  if (PlaysPattern(step)) {
    load.copies_partial_pages = false;
    load.load_factor = commits.load_factor();
    load.one_by_one = commits.playback() == v1::PLAYBACK_MODE_WRITES;
    return load;
  }
  load.clients = commits.clients();
  load.message_bytes = commits.message_size_bytes();
  load.think_ns = commits.think_time_ns();
  load.rate_per_second = commits.clients() * commits.client_rate_per_second();
  load.copies_partial_pages = commits.log_write_integrity() != v1::LOG_WRITE_INTEGRITY_SINGLEWRITE;
  return load;
}

bool SuitsCommits(const std::optional<CommitLoad>& prepared, const std::optional<CommitLoad>& added) {
  if (prepared.has_value() != added.has_value()) return false;
  return !added || (prepared->buffer_pages == added->buffer_pages && prepared->plays() == added->plays() &&
                    prepared->one_by_one == added->one_by_one);
}

}  // namespace plimsoll
