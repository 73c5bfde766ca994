// A WriterTally, its writer played by the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "agent/writer/writer_tally.h"
#include "tests/unit/agent/step_moments.h"

namespace plimsoll::tests {

// A step of 1 s with intervals of 250 ms; the test plays the writer.
class WriterTallyTest : public ::testing::Test {
 protected:
  TallyParams Params(int64_t warmup_ns = 0, int64_t duration_ns = 1000 * kMs) {
    return {.step = 2,
            .qm = 7,
            .times = StepTimes(kStartNs, warmup_ns, duration_ns, 250 * kMs),
            .layout = ExtentLayout(65536, 3, 4096),
            .schedule = std::nullopt,
            .trace = true};
  }
  void Push(int64_t start_ns, int64_t latency_ns) {
    ASSERT_TRUE(state_.ring.TryPush({start_ns, static_cast<uint64_t>(latency_ns)}));
  }
  void FinishAt(int64_t now_ns) {
    state_.mark = WriterState::kIdle;
    state_.finished_ns = now_ns;
    state_.finished = true;
  }

  WriterState state_;
  std::atomic<int64_t> stop_trace_at_ns_{StopControl::kNever};
  google::protobuf::RepeatedPtrField<v1::Frame> frames_;
};

}  // namespace plimsoll::tests
