// Group commit in the write loop, and in the recorder, whose copy of the model sees nothing but the samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "agent/writer/commit_source.h"
#include "agent/writer/work_setup.h"
#include "agent/writer/write_loop.h"
#include "agent/writer/writer_tally.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "common/units.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/agent/step_moments.h"

namespace plimsoll::tests {
namespace {

using google::protobuf::RepeatedPtrField;

v1::HostPlan CommitPlan(uint32_t clients, v1::LogWriteIntegrity integrity = v1::LOG_WRITE_INTEGRITY_TRIPLEWRITE) {
  v1::HostPlan plan;
  plan.set_run_id("00ff");
  plan.set_run_token(std::string(16, 'x'));
  plan.set_host_label("node1");
  plan.set_frame_interval_ns(250 * kNsPerMs);
  v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
  workload.set_dir("/mnt/mq");
  workload.set_qm(2);
  workload.set_file_size_bytes(1 << 20);
  workload.set_num_files(3);
  workload.set_file_prefix("S");
  workload.set_sync(v1::SYNC_MODE_DSYNC);
  workload.set_direct(v1::DIRECT_MODE_AUTO);
  plan.mutable_log()->set_seed(7);
  v1::LogStep& step = *plan.mutable_log()->add_steps();
  step.set_duration_ns(kNsPerSecond);
  step.set_warmup_ns(300 * kNsPerMs);
  v1::GroupCommit& commits = *step.mutable_group_commit();
  commits.set_clients(clients);
  commits.set_message_size_bytes(2048);
  commits.set_think_time_ns(200'000);
  commits.set_log_buffer_pages(128);
  commits.set_log_write_integrity(integrity);
  SetOperations(/*parts=*/false, step);
  return plan;
}

// Writes a step with latencies at random, and records it while the loop runs.
struct Recorded {
  Recorded(const v1::HostPlan& plan, uint64_t seed) : setup(*MakeWorkSetup(plan)), loop(setup.LoopOf(0, kStartNs, 1)) {
    const LogFilesOptions options = setup.FilesOf(1);
    FakeWriter writer(FakeWriter::MakeSource(options.block_bytes), SampleRing::kDefaultCapacity);
    writer.env.latency = [&seed](size_t) {
      seed = MixBits(seed + 1);
      return static_cast<int64_t>(50'000 + seed % 400'000);
    };
    writer.env.clock_ns = 20;
    WriterTally tally(setup.TallyOf(0, kStartNs, 1), writer.state, stop_trace_at_ns);
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
  RepeatedPtrField<v1::Frame> frames;
  std::vector<FakeEnv::Call> calls;
  v1::StepDone done;
};

TEST(CommitRecording, TheRecordersModelAgreesWithTheWriters) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  for (const uint32_t clients : {1U, 12U, 60U}) {
    SCOPED_TRACE(clients);
    const Recorded run(CommitPlan(clients), seed);
    ASSERT_EQ(run.done.writers_size(), 2);
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
      EXPECT_GT(totals.writes(), 1'000U);
      EXPECT_EQ(totals.writes(), count[totals.operation()]);
      EXPECT_EQ(totals.bytes(), bytes[totals.operation()]);
      EXPECT_EQ(totals.latency_sum_ns(), latency_ns[totals.operation()]);
      EXPECT_EQ(totals.latency_max_ns(), longest_ns[totals.operation()]);
    }
  }
}

TEST(CommitRecording, ACopyGoesToTheLastPageOfItsExtentBeforeThePageIsWrittenAgain) {
  const Recorded run(CommitPlan(12), 1);
  const uint64_t copy_bytes = run.loop.layout.file_size_bytes() - kLogPageBytes;
  uint64_t copies = 0;
  uint64_t end_bytes = 0;
  for (size_t i = 0; i + 1 < run.calls.size(); ++i) {
    const FakeEnv::Call& call = run.calls[i];
    if (call.offset_bytes != copy_bytes) {
      end_bytes = call.offset_bytes + call.size_bytes;
      ASSERT_LE(end_bytes, copy_bytes);
      continue;
    }
    ++copies;
    ASSERT_EQ(call.size_bytes, kLogPageBytes);
    ASSERT_EQ(run.calls[i + 1].extent, call.extent);
    ASSERT_EQ(run.calls[i + 1].offset_bytes + kLogPageBytes, end_bytes);
  }
  EXPECT_GT(copies, 100U);
}

TEST(CommitRecording, WritesOfALogNeverOverlapButInAPageThatWasPartlyFilled) {
  const Recorded run(CommitPlan(12, v1::LOG_WRITE_INTEGRITY_SINGLEWRITE), 1);
  uint64_t rewritten = 0;
  for (size_t i = 1; i < run.calls.size(); ++i) {
    const FakeEnv::Call& before = run.calls[i - 1];
    const FakeEnv::Call& call = run.calls[i];
    if (call.extent != before.extent) {
      ASSERT_EQ(call.offset_bytes, 0U);
      ASSERT_EQ(before.offset_bytes + before.size_bytes, run.loop.layout.file_size_bytes());
      continue;
    }
    const uint64_t end_bytes = before.offset_bytes + before.size_bytes;
    const bool again = call.offset_bytes + kLogPageBytes == end_bytes;
    rewritten += again ? 1 : 0;
    ASSERT_TRUE(again || call.offset_bytes == end_bytes);
  }
  EXPECT_GT(rewritten, 100U);
  EXPECT_LT(rewritten, run.calls.size());
}

TEST(CommitRecording, AWriteIsDueWhenCommitsWaitAndNoGapIsAStall) {
  // One client that thinks for 10 ms on average: most of the time nothing waits.
  v1::HostPlan plan = CommitPlan(1);
  plan.mutable_log()->mutable_steps(0)->mutable_group_commit()->set_think_time_ns(10 * kNsPerMs);
  plan.mutable_log()->set_stall_ns(2 * kNsPerMs);
  const Recorded run(plan, 1);
  for (const v1::Frame& frame : run.frames) EXPECT_TRUE(frame.stalls().empty());
}

TEST(CommitRecording, RefusesWhatCannotBeCombined) {
  const auto refuses = [](const char* text, const auto& change) {
    v1::HostPlan plan = CommitPlan(2);
    change(plan, *plan.mutable_log()->mutable_steps(0));
    EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, text)) << text;
  };
  refuses("neither block sizes", [](auto&, v1::LogStep& step) { step.set_block_size_bytes(4096); });
  refuses("neither read_percent", [](auto&, v1::LogStep& step) { step.set_random_order(true); });
  refuses("clients", [](auto&, v1::LogStep& step) { step.mutable_group_commit()->set_clients(0); });
  refuses("clients", [](auto&, v1::LogStep& step) { step.mutable_group_commit()->set_clients(UINT32_MAX); });
  refuses("message_size",
          [](auto&, v1::LogStep& step) { step.mutable_group_commit()->set_message_size_bytes(1 << 30); });
  refuses("log_buffer_pages", [](auto&, v1::LogStep& step) { step.mutable_group_commit()->set_log_buffer_pages(0); });
  refuses("log_buffer_pages",
          [](auto&, v1::LogStep& step) { step.mutable_group_commit()->set_log_buffer_pages(5000); });
  refuses("think_time", [](auto&, v1::LogStep& step) { step.mutable_group_commit()->set_think_time_ns(-1); });
  refuses("client_rate", [](auto&, v1::LogStep& step) {
    step.mutable_group_commit()->clear_think_time_ns();
    step.mutable_group_commit()->set_client_rate_per_second(std::numeric_limits<double>::quiet_NaN());
  });
  refuses("not both", [](auto&, v1::LogStep& step) { step.mutable_group_commit()->clear_think_time_ns(); });
  refuses("not both", [](auto&, v1::LogStep& step) { step.mutable_group_commit()->set_client_rate_per_second(1); });
  refuses("1,000,000 commits/s", [](auto&, v1::LogStep& step) {
    step.mutable_group_commit()->clear_think_time_ns();
    step.mutable_group_commit()->set_client_rate_per_second(900'000);
  });
  refuses("triplewrite", [](auto&, v1::LogStep& step) { step.mutable_group_commit()->clear_log_write_integrity(); });
  refuses("must measure commits", [](auto&, v1::LogStep& step) { step.clear_operations(); });
  refuses("must measure commits", [](auto&, v1::LogStep& step) { step.clear_group_commit(); });
  refuses("delay", [](v1::HostPlan& plan, auto&) { plan.mutable_log()->mutable_workload()->set_delay_ns(1000); });
  refuses("256k",
          [](v1::HostPlan& plan, auto&) { plan.mutable_log()->mutable_workload()->set_file_size_bytes(128 * 1024); });
}

}  // namespace
}  // namespace plimsoll::tests
