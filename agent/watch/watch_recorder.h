// Records one step of watching: from the rings to frames.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/watch/call_pairing.h"
#include "agent/watch/settled_time.h"
#include "agent/watch/watch_profile.h"
#include "agent/watch/watch_setup.h"
#include "agent/watch/watch_tally.h"
#include "agent/watch/watch_targets.h"
#include "agent/work/work.h"
#include "agent/writer/writer_state.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Takes the records of all rings in one order of time. A record is taken once nothing before it can arrive any more
// (SettledTime), so that pairing, files and intervals see what happened in the order in which it happened; an interval
// is cut when the settled time has passed its end.
//
// It has no thread or clock of its own. Not thread-safe.
class WatchRecorder {
 public:
  // Interval between polls: how often the rings are emptied.
  static constexpr int64_t kTickNs = 4'000'000;
  // Records that may wait for the settled time; beyond, they are dropped and counted as lost.
  static constexpr size_t kMostPending = 2'000'000;

  struct Context {
    const WatchSetup& setup;
    WatchTargets& targets;
    const SettledTime& settled;
    const StopControl& control;
    const std::atomic<int64_t>& stop_trace_at_ns;
    WorkSink& sink;
    // The host's counters, once a second and at the step's end.
    std::function<v1::HostSample()> sample_host;
  };
  // The step starts at `start_ns`. What the context refers to must outlive the object.
  WatchRecorder(Context context, uint32_t step, int64_t start_ns);

  // Empties the rings, and takes what is settled. `late_ns`: how much later than requested the caller was woken.
  // Returns when to poll again.
  int64_t Poll(int64_t now_ns, int64_t late_ns);
  // All frames are sent.
  bool done() const { return done_; }
  // The step's last message, once done. `reason`: why a stop was requested.
  v1::StepDone Finish(const std::string& reason);

  // Log writes in flight, the oldest of each writer.
  const std::vector<v1::InFlight>& in_flight() const { return in_flight_; }

 private:
  // When the step ends, as far as it is known.
  int64_t LimitNs() const;
  void EndAt(int64_t moment_ns);
  void Drain(int64_t now_ns);
  void TakeUntil(int64_t settled_ns, int64_t now_ns);
  void TakeRecord(const PerfRecord& record, std::span<const PerfRecord> upcoming);
  void TakeCall(const CompletedCall& call, std::span<const PerfRecord> upcoming);
  void TakeAccess(const CallDescription& description, const CompletedCall& call, std::span<const PerfRecord> upcoming);
  void Count(uint32_t writer, const WatchedOperation& operation);
  // Counts the process if a thread of the kernel submits for it, without calls: the figures are bounds then.
  void CountSubmissionThread(uint32_t pid);
  // Whether a call that ended then is the step's.
  bool InStep(int64_t end_ns) const;
  void WatchOverlap(const PerfRecord& record);
  void CutThrough(int64_t moment_ns, int64_t now_ns);
  void CutAll(int64_t now_ns);
  // Start of each writer's oldest log write in flight, and its file.
  std::vector<std::optional<std::pair<int64_t, std::string>>> OldestOpen() const;
  void NoteSeconds(int64_t moment_ns);
  // Adds up what was paid since the last call; returns it as a share of a second, in percent.
  double TakeCost();
  // Notes what has been in flight at the end for longer than all that completed.
  void AddOpen();
  void ShowInFlight(int64_t now_ns);
  void LookAround(int64_t now_ns);
  void Observe();
  void NoteEnded(std::vector<std::string> ended, int64_t now_ns);
  void Send(int64_t now_ns);

  const Context context_;
  const uint32_t step_;
  const StepTimes times_;
  std::vector<WatchTally> tallies_;
  CallPairing pairing_;
  ProfileTally profile_;
  v1::WatchDone counts_;
  // Processes for which a thread of the kernel submits.
  std::set<uint32_t> self_submitting_;
  uint64_t lost_before_ = 0;
  // Records in the order of time, from `next_` on not taken yet.
  std::vector<PerfRecord> pending_;
  size_t next_ = 0;
  uint64_t dropped_ = 0;
  // Everything before it was taken.
  int64_t taken_until_ns_ = 0;
  int64_t last_operation_ns_;
  int64_t ends_at_ns_ = std::numeric_limits<int64_t>::max();
  // The cost of the probes: entries at the last full second, and when that was.
  int64_t second_ns_;
  uint64_t syscalls_before_ = 0;
  uint64_t functions_before_ = 0;
  uint64_t cost_ns_ = 0;
  int64_t next_look_ns_ = 0;
  int64_t next_sample_ns_;
  int64_t next_observation_ns_ = 0;
  uint64_t late_max_ns_ = 0;
  google::protobuf::RepeatedPtrField<v1::RecorderPause> pauses_;
  v1::FrameBatch batch_;
  std::vector<v1::InFlight> in_flight_;
  bool done_ = false;
};

}  // namespace plimsoll
