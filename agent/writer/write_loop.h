// The loop that is measured: one write after the other, as a queue manager's logger writes, or writes and reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/writer/access_order.h"
#include "agent/writer/block_source.h"
#include "agent/writer/commit_source.h"
#include "agent/writer/log_files.h"
#include "agent/writer/log_source.h"
#include "agent/writer/rate_schedule.h"
#include "agent/writer/writer_state.h"

namespace plimsoll {

// One step of one writer.
struct WriteLoopParams {
  uint32_t epoch = 0;  // of the stamps
  ExtentLayout layout;
  // Sizes of the blocks, of which the layout's is the largest; absent: all have the layout's.
  std::optional<SizeMix> mix = std::nullopt;
  // Reads, random order, a pass and pauses; absent for a log.
  std::optional<Access> access = std::nullopt;
  // Clients whose commits gather into the writes, in place of blocks; the layout's block is the largest write. Excludes
  // a mix, `access`, a first block, a schedule and pauses.
  std::optional<CommitLoad> commits = std::nullopt;
  // Buffer for reads: the largest block size, aligned for O_DIRECT. Null if the step does not read.
  std::byte* read_buffer = nullptr;
  // Block of the log at which the first write goes: its place and, plus one, its sequence number. A log that another
  // writer left goes on behind its end. 0 where sizes differ, and with `access`.
  uint64_t first_block = 0;
  int64_t start_ns = 0;
  // No write starts at or after it.
  int64_t end_ns = 0;
  // Pause after each write; 0: no pause.
  int64_t delay_ns = 0;
  // Pause after each operation, as MeanPause computes it, if there is no delay; 0: no pause. Only with `access`.
  double pause_percent = 0;
  // Operations of a pass: after these the loop ends, if the step has not ended before. 0: no pass. Only with `access`.
  uint64_t pass_blocks = 0;
  // Each write is followed by a sync within its latency.
  bool sync_each_write = false;
  // The sync is also a sample of its own (kSyncOperation), before that of its write.
  bool measure_parts = false;
  // Open loop.
  std::optional<RateSchedule> schedule;
};

// Writes until the step or its pass ends, the control stops it, the lease runs out or a write fails; then sets
// state.finished and touches `state` no more. Called at the step's start. With `access`, it also reads.
//
// Env is the world: a template parameter so that the real one costs no virtual call and a test's one can script it.
//   int64_t Now()                          CLOCK_MONOTONIC
//   int64_t Write(extent, offset_bytes, const std::byte*, size_bytes)   bytes written, or -errno
//   int64_t Read(extent, offset_bytes, std::byte*, size_bytes)          bytes read, or -errno; only where a step reads
//   int Sync(extent)                       0, or -errno
//   void SleepUntil(int64_t)               one sleep, as long as asked
//   void AwaitRoom()                       a short sleep while the recorder drains the ring
//   void AwaitPlace(uint64_t sequence)     only in worlds where the place of a block may still be needed: waits, before
//                                          the write's clock, until it may be overwritten or the control stops it
//   void Yield()                           once, after the first write: gives the thread all its CPUs back where it was
//                                          pinned for the start, and lets the others that start now go first
//
// Per write, the loop stamps the block, reads the clock, writes, reads the clock, pushes one ring entry and does plain
// stores. It takes no lock, allocates nothing, and makes no other system call; only Yield makes some, once a step.
// measure_parts adds a clock reading, a ring entry and four stores for the sync. A schedule adds, before the first
// clock reading, the computation of when the write is due (a few nanoseconds, some 50 for random arrivals) and the
// sleep until then. With `commits`, some 0.2 us for each commit come between two writes.
template <typename Env>
void RunWriteLoop(const WriteLoopParams& params, StopControl& control, BlockSource& source, WriterState& state,
                  Env& env);

namespace write_loop_internal {

// Long sleeps are cut in pieces of this length, so that a stop is noticed in time.
inline constexpr int64_t kLongestSleepNs = 100'000'000;

// Sleeps until `moment_ns`; false, and not so long, where no write may start any more.
template <typename Env>
bool SleepWhileAllowed(int64_t now_ns, int64_t moment_ns, const StopControl& control, Env& env) {
  while (now_ns < moment_ns) {
    if (now_ns >= control.limit_ns()) return false;
    if (moment_ns - now_ns <= kLongestSleepNs) {
      env.SleepUntil(moment_ns);
      return true;
    }
    env.SleepUntil(now_ns + kLongestSleepNs);
    now_ns = env.Now();
  }
  return true;
}

// The writer's own count of its writes. Local, with a plain store of each cell after each write.
struct Counts {
  // Reads that completed beside the writes.
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t bytes = 0;
  uint64_t latency_sum_ns = 0;
  uint64_t latency_max_ns = 0;
  uint64_t max_behind_ns = 0;

  // Operations that completed: the number of the next one, from 0.
  template <bool kAccess>
  uint64_t Completed() const {
    return kAccess ? writes + reads : writes;
  }

  void Take(const Sample& sample, uint64_t block_bytes, WriterState& state) {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    if (writes == 0) state.first_start_ns.store(sample.start_ns, kRelaxed);
    ++writes;
    bytes += block_bytes;
    latency_sum_ns += sample.latency_ns();
    state.writes.store(writes, kRelaxed);
    state.bytes.store(bytes, kRelaxed);
    state.latency_sum_ns.store(latency_sum_ns, kRelaxed);
    state.last_end_ns.store(sample.end_ns(), kRelaxed);
    if (sample.latency_ns() > latency_max_ns) {
      latency_max_ns = sample.latency_ns();
      state.latency_max_ns.store(latency_max_ns, kRelaxed);
    }
  }

  // Counts a read of a step that writes as well. Only this thread stores the cells.
  [[gnu::noinline]] void TakeRead(const Sample& sample, uint64_t block_bytes, WriterState& state) {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    if (reads == 0) state.read_first_start_ns.store(sample.start_ns, kRelaxed);
    ++reads;
    const auto add = [](std::atomic<uint64_t>& cell, uint64_t more) {
      cell.store(cell.load(kRelaxed) + more, kRelaxed);
    };
    state.reads.store(reads, kRelaxed);
    add(state.read_bytes, block_bytes);
    add(state.read_latency_sum_ns, sample.latency_ns());
    state.last_end_ns.store(sample.end_ns(), kRelaxed);
    if (sample.latency_ns() > state.read_latency_max_ns.load(kRelaxed)) {
      state.read_latency_max_ns.store(sample.latency_ns(), kRelaxed);
    }
  }
};

// Writes or reads the block: bytes done, or -errno. Without `kAccess`, every block is written.
template <bool kAccess, typename Env>
int64_t Transfer(const LogSource::Block& block, [[maybe_unused]] std::byte* read_buffer, Env& env) {
  constexpr bool kReads =
      kAccess && requires { env.Read(block.place.extent, block.place.offset_bytes, read_buffer, block.bytes); };
  if constexpr (kReads) {
    if (block.data == nullptr) return env.Read(block.place.extent, block.place.offset_bytes, read_buffer, block.bytes);
  }
  return env.Write(block.place.extent, block.place.offset_bytes, block.data, block.bytes);
}

// What went wrong with the block: `done` is what Transfer returned.
[[gnu::cold]] inline WriteFailure FailureOf(const LogSource::Block& block, int64_t done, int sync_result,
                                            int64_t start_ns) {
  using Kind = WriteFailure::Kind;
  WriteFailure failure{.extent = block.place.extent,
                       .offset_bytes = block.place.offset_bytes,
                       .asked_bytes = block.bytes,
                       .done_bytes = static_cast<uint64_t>(std::max<int64_t>(done, 0)),
                       .start_ns = start_ns};
  if (sync_result != 0) {
    failure.kind = Kind::kSync;
    failure.error_number = -sync_result;
  } else if (done < 0) {
    failure.kind = block.data == nullptr ? Kind::kRead : Kind::kWrite;
    failure.error_number = static_cast<int>(-done);
  } else {
    failure.kind = block.data == nullptr ? Kind::kShortRead : Kind::kShortWrite;
  }
  return failure;
}

// Counts one part of a write. Only this thread stores the cells.
inline void CountPart(uint64_t latency_ns, WriterState::PartCount& count) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  count.latency_sum_ns.store(count.latency_sum_ns.load(kRelaxed) + latency_ns, kRelaxed);
  if (latency_ns > count.latency_max_ns.load(kRelaxed)) count.latency_max_ns.store(latency_ns, kRelaxed);
}

// Waits, between two writes, until the recorder has made room.
template <typename Env>
void PushWaiting(const Sample& sample, WriterState& state, Env& env) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const int64_t full_since_ns = env.Now();
  state.ring_full_waits.store(state.ring_full_waits.load(kRelaxed) + 1, kRelaxed);
  const uint64_t waited_before_ns = state.ring_full_wait_ns.load(kRelaxed);
  do {
    env.AwaitRoom();
    state.ring_full_wait_ns.store(waited_before_ns + static_cast<uint64_t>(env.Now() - full_since_ns), kRelaxed);
  } while (!state.ring.TryPush(sample));
}

// Counts the two parts of a write, and pushes the sync: the call is what is left of the write.
template <typename Env>
void PushSync(int64_t start_ns, int64_t sync_start_ns, int64_t end_ns, WriterState& state, Env& env) {
  const Sample sync(sync_start_ns, static_cast<uint64_t>(end_ns - sync_start_ns), kSyncOperation);
  CountPart(Sample(start_ns, static_cast<uint64_t>(sync_start_ns - start_ns)).latency_ns(), state.write_call);
  CountPart(sync.latency_ns(), state.sync);
  if (!state.ring.TryPush(sync)) [[unlikely]]
    PushWaiting(sync, state, env);
}

// Counts the commits that a write completed. Only this thread stores the cells.
inline void CountCommit(const CommitModel::Commit& commit, WriterState::CommitCount& count) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const uint64_t latency_ns = Sample(commit.arrived_ns, static_cast<uint64_t>(commit.latency_ns)).latency_ns();
  const uint64_t commits = count.commits.load(kRelaxed);
  if (commits == 0) count.first_start_ns.store(commit.arrived_ns, kRelaxed);
  count.commits.store(commits + 1, kRelaxed);
  count.bytes.store(count.bytes.load(kRelaxed) + commit.bytes, kRelaxed);
  count.latency_sum_ns.store(count.latency_sum_ns.load(kRelaxed) + latency_ns, kRelaxed);
  if (latency_ns > count.latency_max_ns.load(kRelaxed)) count.latency_max_ns.store(latency_ns, kRelaxed);
}

// The blocks of the loop: of a log that is written block by block, or of group commit.
template <bool kCommits>
auto MakeLoopSource(const WriteLoopParams& params, BlockSource& source) {
  if constexpr (kCommits) {
    return CommitSource(*params.commits, params.layout, params.epoch, params.start_ns, source);
  } else {
    return LogSource(params.layout, params.mix, params.access, params.epoch, params.first_block, source);
  }
}

inline LoopEnd WhyNoWriteMayStart(int64_t now_ns, int64_t end_ns, StopControl& control) {
  if (now_ns >= end_ns) return LoopEnd::kRanToEnd;
  if (now_ns >= control.stop_at_ns()) return LoopEnd::kStopped;
  // The others must not continue if a message comes just now: the step is lost for all.
  control.StopAt(now_ns);
  return LoopEnd::kLease;
}

// The loop, with and without reads, random order, a pass and pauses, and with and without group commit: a log pays
// nothing for them.
template <bool kAccess, bool kCommits, typename Env>
void RunLoop(const WriteLoopParams& params, StopControl& control, BlockSource& source, WriterState& state, Env& env) {
  const int64_t end_ns = params.end_ns;
  auto log = MakeLoopSource<kCommits>(params, source);
  Counts counts;
  [[maybe_unused]] MeanPause pause(params.pause_percent);
  int64_t previous_end_ns = params.start_ns;
  LoopEnd loop_end = LoopEnd::kRanToEnd;
  int64_t now_ns = 0;

  while (true) {
    int64_t due_ns = 0;
    if constexpr (kCommits) due_ns = log.NextStart();
    const LogSource::Block block = log.Next();
    bool allowed = true;
    if constexpr (kCommits) allowed = SleepWhileAllowed(previous_end_ns, std::min(due_ns, end_ns), control, env);
    if (params.schedule) {
      due_ns = params.schedule->DueAt(counts.Completed<kAccess>());
      // Late writes follow back to back. After the last one the writer waits for the step's end.
      allowed = SleepWhileAllowed(previous_end_ns, std::min(due_ns, end_ns), control, env);
    }

    if constexpr (requires { env.AwaitPlace(log.sequence()); }) env.AwaitPlace(log.sequence());
    now_ns = env.Now();
    if (!allowed || now_ns >= std::min(end_ns, control.limit_ns())) [[unlikely]] {
      loop_end = WhyNoWriteMayStart(now_ns, end_ns, control);
      break;
    }
    const int64_t start_ns = now_ns;
    state.extent.store(block.place.extent, std::memory_order_relaxed);
    // Release: the sample of the write before is published.
    state.mark.store(start_ns, std::memory_order_release);
    const int64_t done = Transfer<kAccess>(block, params.read_buffer, env);
    const bool is_write = !kAccess || block.data != nullptr;
    int sync_result = 0;
    int64_t sync_start_ns = start_ns;
    if (params.sync_each_write && is_write && done == static_cast<int64_t>(block.bytes)) {
      if (params.measure_parts) sync_start_ns = env.Now();
      sync_result = env.Sync(block.place.extent);
    }
    // Before the clock: a reader that does not see this mark yet knows that the end is yet to be read.
    state.mark.store(WriterState::kReturned, std::memory_order_release);
    now_ns = env.Now();

    if (done != static_cast<int64_t>(block.bytes) || sync_result != 0) [[unlikely]] {
      state.failure = FailureOf(block, done, sync_result, start_ns);
      loop_end = LoopEnd::kFailed;
      control.StopAt(now_ns);
      break;
    }

    if (params.schedule && start_ns - due_ns > static_cast<int64_t>(counts.max_behind_ns)) {
      counts.max_behind_ns = static_cast<uint64_t>(start_ns - due_ns);
      state.max_behind_ns.store(counts.max_behind_ns, std::memory_order_relaxed);
      state.max_behind_writes.store(params.schedule->DueBefore(start_ns + 1) - counts.Completed<kAccess>() - 1,
                                    std::memory_order_relaxed);
    }
    const auto latency_ns = static_cast<uint64_t>(now_ns - start_ns);
    Sample sample{start_ns, latency_ns, kMainOperation, block.size};
    if (!kAccess || is_write || params.access->read_operation() == kMainOperation) {
      counts.Take(sample, block.bytes, state);
      if (params.measure_parts) PushSync(start_ns, sync_start_ns, now_ns, state, env);
    } else {
      sample = {start_ns, latency_ns, params.access->read_operation(), block.size};
      counts.TakeRead(sample, block.bytes, state);
    }
    if (!state.ring.TryPush(sample)) [[unlikely]]
      PushWaiting(sample, state, env);
    // Release: who sees it finds the sample in the ring.
    state.mark.store(WriterState::kIdle, std::memory_order_release);

    previous_end_ns = now_ns;
    if constexpr (kCommits) {
      // By the sample's end: the recorder's copy of the model knows no other.
      log.End(sample.end_ns(), [&state](const CommitModel::Commit& commit) { CountCommit(commit, state.commits); });
    }
    // On few CPUs the other writers get theirs at once instead of after a time slice.
    if (counts.Completed<kAccess>() == 1) [[unlikely]]
      env.Yield();
    if constexpr (kAccess) {
      // The loop ends with the last operation: what follows belongs to no pass.
      if (counts.Completed<kAccess>() == params.pass_blocks) break;
      if (const int64_t pause_ns = pause.After(!is_write, sample.latency_ns()); pause_ns > 0) {
        SleepWhileAllowed(now_ns, std::min(now_ns + pause_ns, end_ns), control, env);
      }
    }
    if (params.delay_ns > 0) {
      SleepWhileAllowed(now_ns, std::min(now_ns + params.delay_ns, end_ns), control, env);
    }
  }

  state.mark.store(WriterState::kIdle, std::memory_order_release);
  state.end = loop_end;
  state.finished_ns = now_ns;
  state.finished.store(true, std::memory_order_release);
}

}  // namespace write_loop_internal

template <typename Env>
void RunWriteLoop(const WriteLoopParams& params, StopControl& control, BlockSource& source, WriterState& state,
                  Env& env) {
  if (params.commits) {
    write_loop_internal::RunLoop<false, true>(params, control, source, state, env);
  } else if (params.access) {
    write_loop_internal::RunLoop<true, false>(params, control, source, state, env);
  } else {
    write_loop_internal::RunLoop<false, false>(params, control, source, state, env);
  }
}

}  // namespace plimsoll
