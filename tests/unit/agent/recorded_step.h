// A step with group commit in virtual time: one writer writes it, and a recorder records it while the loop runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "agent/writer/work_setup.h"
#include "agent/writer/write_loop.h"
#include "agent/writer/writer_tally.h"
#include "common/integers.h"
#include "google/protobuf/repeated_field.h"
#include "plimsoll/v1/agent.pb.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/agent/step_moments.h"

namespace plimsoll::tests {

// Latencies of 50 to 450 us.
inline std::function<int64_t(size_t call)> RandomLatency(uint64_t seed) {
  return [seed](size_t) mutable {
    seed = MixBits(seed + 1);
    return static_cast<int64_t>(50'000 + seed % 400'000);
  };
}

struct RecordedStep {
  RecordedStep(WorkSetup given, const std::function<int64_t(size_t call)>& latency, uint32_t qm = 1)
      : setup(std::move(given)), loop(setup.LoopOf(0, kStartNs, qm)) {
    const LogFilesOptions options = setup.FilesOf(qm);
    FakeWriter writer(FakeWriter::MakeSource(options.block_bytes), SampleRing::kDefaultCapacity);
    writer.env.latency = latency;
    writer.env.clock_ns = 20;
    WriterTally tally(setup.TallyOf(0, kStartNs, qm), writer.state, stop_trace_at_ns);
    // The recorder looks in the middle of a write, as its own thread would.
    writer.env.in_write = [&] {
      if (writer.env.calls.size() % 50 == 0) tally.Poll(writer.env.now_ns - 1, frames);
    };
    writer.Run(loop);
    tally.Poll(writer.env.now_ns + kMarginNs, frames);
    EXPECT_TRUE(tally.done());
    calls = writer.env.calls;
    done.add_writers()->CopyFrom(tally.Totals(loop.end_ns));
    tally.AddMoreTotals(loop.end_ns, done);
  }

  WorkSetup setup;
  WriteLoopParams loop;
  std::atomic<int64_t> stop_trace_at_ns{StopControl::kNever};
  google::protobuf::RepeatedPtrField<v1::Frame> frames;
  std::vector<FakeEnv::Call> calls;
  v1::StepDone done;
};

// Of each operation, the frames hold what the writer counted, and it counted more than `least`.
inline void ExpectFramesAndTotalsAgree(const RecordedStep& run, uint64_t least) {
  std::map<uint32_t, uint64_t> count;
  std::map<uint32_t, uint64_t> bytes;
  std::map<uint32_t, uint64_t> latency_ns;
  std::map<uint32_t, uint64_t> longest_ns;
  for (const v1::Frame& frame : run.frames) {
    count[frame.operation()] += frame.latency().count();
    bytes[frame.operation()] += frame.bytes();
    latency_ns[frame.operation()] += frame.latency().sum_ns();
    longest_ns[frame.operation()] = std::max(longest_ns[frame.operation()], frame.latency().max_ns());
  }
  for (const v1::WriterTotals& totals : run.done.writers()) {
    SCOPED_TRACE(totals.operation());
    EXPECT_GT(totals.writes(), least);
    EXPECT_EQ(totals.writes(), count[totals.operation()]);
    EXPECT_EQ(totals.bytes(), bytes[totals.operation()]);
    EXPECT_EQ(totals.latency_sum_ns(), latency_ns[totals.operation()]);
    EXPECT_EQ(totals.latency_max_ns(), longest_ns[totals.operation()]);
  }
}

}  // namespace plimsoll::tests
