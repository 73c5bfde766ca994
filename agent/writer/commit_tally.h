// The commits that a writer's log writes completed, of the recorder's copy of the model.
#pragma once

#include <cstdint>

#include "agent/writer/commit_model.h"
#include "agent/writer/commit_source.h"
#include "agent/writer/log_files.h"
#include "agent/writer/writer_state.h"
#include "agent/writer/writer_tally.h"
#include "common/histogram.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Takes a writer's samples, which hold no more than when each write started and ended, and knows what each one held and
// which commits it completed. Allocates nothing after its construction. Not thread-safe.
class CommitTally {
 public:
  CommitTally(const CommitLoad& load, const ExtentLayout& layout, int64_t start_ns) : walk_(load, layout, start_ns) {}

  // When the next write is due.
  int64_t NextStart() const { return walk_.NextStart(); }

  // Takes the next write: returns what it held, and adds the commits that it completed to the open frame.
  CommitWalk::Write Take(const Sample& write) {
    const CommitWalk::Write taken = walk_.Next();
    walk_.End(write.end_ns(), [&](const CommitModel::Commit& commit) {
      const Sample sample(commit.arrived_ns, static_cast<uint64_t>(commit.latency_ns));
      figures_.Take(++taken_, sample, taken.place, commit.arrived_ns);
      bytes_ += commit.bytes;
    });
    return taken;
  }

  // In an open loop, how long the commits that had arrived and were not completed at `end_ns` had waited by then.
  v1::Distribution WaitingAges(int64_t end_ns) const {
    Histogram ages;
    walk_.ForEachWaiting(end_ns, [&](int64_t arrived_ns) { ages.Record(static_cast<uint64_t>(end_ns - arrived_ns)); });
    return ages.ToProto();
  }

  // Of the open frame.
  const OperationTally& figures() const { return figures_; }
  // Adds everything but figures() to the frame, and starts the next one. Commits are not in traces.
  void Report(v1::Frame& frame) {
    frame.set_bytes(bytes_);
    figures_.Clear();
    bytes_ = 0;
  }

 private:
  CommitWalk walk_;
  OperationTally figures_;
  uint64_t taken_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace plimsoll
