// Group commit in the write loop, and in the recorder, whose copy of the model sees nothing but the samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "agent/writer/commit_source.h"
#include "agent/writer/work_setup.h"
#include "common/protocol.h"
#include "common/units.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/agent/host_plan.h"
#include "tests/unit/agent/recorded_step.h"

namespace plimsoll::tests {
namespace {

v1::HostPlan CommitPlan(uint32_t clients, v1::LogWriteIntegrity integrity = v1::LOG_WRITE_INTEGRITY_TRIPLEWRITE) {
  v1::HostPlan plan = TwoQueueManagers();
  plan.mutable_log()->set_seed(7);
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  step.clear_block_size_bytes();
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

RecordedStep Record(const v1::HostPlan& plan, uint32_t seed) {
  return RecordedStep(*MakeWorkSetup(plan), RandomLatency(seed));
}

TEST(CommitRecording, TheRecordersModelAgreesWithTheWriters) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  for (const uint32_t clients : {1U, 12U, 60U}) {
    SCOPED_TRACE(clients);
    const RecordedStep run = Record(CommitPlan(clients), seed);
    ASSERT_EQ(run.done.writers_size(), 2);
    ExpectFramesAndTotalsAgree(run, 1'000);
  }
}

TEST(CommitRecording, ACopyGoesToTheLastPageOfItsExtentBeforeThePageIsWrittenAgain) {
  const RecordedStep run = Record(CommitPlan(12), 1);
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
  const RecordedStep run = Record(CommitPlan(12, v1::LOG_WRITE_INTEGRITY_SINGLEWRITE), 1);
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
  const RecordedStep run = Record(plan, 1);
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
