#include "agent/session/outbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "common/histogram.h"

namespace plimsoll {
namespace {

// A frame of one writer and one interval with `writes` latencies around 300 us and one trace block.
v1::FrameBatch MakeBatch(uint32_t qm, int32_t interval, uint64_t writes, std::mt19937_64& random) {
  v1::FrameBatch batch;
  v1::Frame& frame = *batch.add_frames();
  frame.set_qm(qm);
  frame.set_first_interval(interval);
  frame.set_interval_count(1);
  Histogram latencies;
  for (uint64_t i = 0; i < writes; ++i) latencies.Record(250'000 + random() % 100'000);
  *frame.mutable_latency() = latencies.ToProto();
  frame.set_bytes(writes * 4096);
  frame.set_between_ns(static_cast<int64_t>(writes) * 700);
  if (writes > 0) {
    frame.set_first_seq(static_cast<uint64_t>(interval + 100) * 1'000);
    frame.mutable_slowest()->set_latency_ns(latencies.max_ns());
    frame.add_trace(std::string(writes * 4, 'x'));
  }
  return batch;
}

struct Sums {
  uint64_t writes = 0;
  uint64_t bytes = 0;
  uint64_t latency_ns = 0;
  int64_t between_ns = 0;
  uint64_t intervals = 0;
  uint64_t traced = 0;
  uint64_t untraced = 0;
  Histogram histogram;

  void Add(const v1::FrameBatch& batch) {
    for (const v1::Frame& frame : batch.frames()) {
      writes += frame.latency().count();
      bytes += frame.bytes();
      latency_ns += frame.latency().sum_ns();
      between_ns += frame.between_ns();
      intervals += frame.interval_count();
      untraced += frame.untraced_writes();
      for (const std::string& block : frame.trace()) traced += block.size() / 4;
      EXPECT_TRUE(histogram.Merge(frame.latency()).ok());
    }
  }
};

TEST(Outbox, KeepsMessagesInOrder) {
  Outbox box;
  std::mt19937_64 random(1);
  box.PushFrames(MakeBatch(1, 0, 3, random));
  v1::AgentMessage done;
  done.mutable_step_done();
  box.Push(done);
  EXPECT_TRUE(box.Pop()->has_frames());
  EXPECT_TRUE(box.Pop()->has_step_done());
  EXPECT_FALSE(box.Pop().has_value());
}

TEST(Outbox, LosesNothingButResolutionWhenItCoalesces) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Outbox box({.coalesce_above_bytes = 4'000, .drop_traces_above_bytes = 1'000'000});
  Sums given;
  for (int32_t interval = -4; interval < 200; ++interval) {
    for (uint32_t qm = 1; qm <= 3; ++qm) {
      v1::FrameBatch batch = MakeBatch(qm, interval, random() % 40, random);
      given.Add(batch);
      box.PushFrames(std::move(batch));
    }
  }
  Sums received;
  size_t messages = 0;
  while (auto message = box.Pop()) {
    ++messages;
    received.Add(message->frames());
    for (const v1::Frame& frame : message->frames().frames()) {
      EXPECT_EQ(frame.first_interval() < 0, frame.first_interval() + static_cast<int32_t>(frame.interval_count()) <= 0)
          << "warm-up and measured intervals must stay apart";
    }
  }
  EXPECT_LT(messages, 100U) << "nothing was coalesced";
  EXPECT_EQ(received.writes, given.writes);
  EXPECT_EQ(received.bytes, given.bytes);
  EXPECT_EQ(received.latency_ns, given.latency_ns);
  EXPECT_EQ(received.between_ns, given.between_ns);
  EXPECT_EQ(received.intervals, given.intervals);
  EXPECT_EQ(received.traced, given.traced);
  EXPECT_EQ(received.untraced, 0U);
  for (uint32_t i = 0; i < HistogramLayout::kBuckets; ++i) {
    ASSERT_EQ(received.histogram.CountAt(i), given.histogram.CountAt(i)) << "bucket " << i;
  }
}

TEST(Outbox, CountsTheWritesWhoseTracesItDrops) {
  std::mt19937_64 random(2);
  Outbox box({.coalesce_above_bytes = 1'000, .drop_traces_above_bytes = 5'000});
  Sums given;
  for (int32_t interval = 0; interval < 100; ++interval) {
    v1::FrameBatch batch = MakeBatch(1, interval, 50, random);
    given.Add(batch);
    box.PushFrames(std::move(batch));
  }
  EXPECT_LT(box.queued_bytes(), 20'000U);
  Sums received;
  while (auto message = box.Pop()) received.Add(message->frames());
  EXPECT_EQ(received.writes, given.writes);
  EXPECT_GT(received.untraced, 0U);
  EXPECT_EQ(received.traced + received.untraced, given.writes);
}

TEST(Outbox, KeepsClosingFramesApart) {
  std::mt19937_64 random(3);
  Outbox box({.coalesce_above_bytes = 0, .drop_traces_above_bytes = 1'000'000});
  box.PushFrames(MakeBatch(1, 0, 5, random));
  v1::FrameBatch closing = MakeBatch(1, 1, 1, random);
  closing.mutable_frames(0)->set_closing(true);
  box.PushFrames(std::move(closing));
  uint32_t frames = 0;
  while (auto message = box.Pop()) frames += static_cast<uint32_t>(message->frames().frames_size());
  EXPECT_EQ(frames, 2U);
}

TEST(Outbox, KeepsSlowWritesStallsAndPausesWhenItCoalesces) {
  std::mt19937_64 random(5);
  Outbox box({.coalesce_above_bytes = 0, .drop_traces_above_bytes = 1'000'000});
  for (int32_t interval = 0; interval < 20; ++interval) {
    v1::FrameBatch batch = MakeBatch(1, interval, 3, random);
    v1::Frame& frame = *batch.mutable_frames(0);
    for (uint64_t i = 1; i <= 2; ++i) frame.add_slow()->set_seq(static_cast<uint64_t>(interval) * 10 + i);
    if (interval % 3 == 0) frame.add_stalls()->set_begin_ns(interval);
    if (interval % 4 == 0) {
      batch.mutable_sample()->set_time_ns(interval);
      batch.mutable_sample()->set_recorder_late_max_ns(static_cast<uint64_t>(100 - interval));
      batch.mutable_sample()->add_pauses()->set_begin_ns(interval);
    }
    box.PushFrames(std::move(batch));
  }
  std::vector<uint64_t> slow;
  std::vector<int64_t> stalls;
  std::vector<int64_t> pauses;
  int messages = 0;
  uint64_t late_ns = 0;
  while (auto message = box.Pop()) {
    ++messages;
    for (const v1::Frame& frame : message->frames().frames()) {
      for (const v1::WriteSample& write : frame.slow()) slow.push_back(write.seq());
      for (const v1::StalledStretch& stall : frame.stalls()) stalls.push_back(stall.begin_ns());
    }
    for (const v1::RecorderPause& pause : message->frames().sample().pauses()) pauses.push_back(pause.begin_ns());
    late_ns = std::max(late_ns, message->frames().sample().recorder_late_max_ns());
  }
  EXPECT_LT(messages, 20);
  EXPECT_EQ(late_ns, 100U);
  EXPECT_EQ(pauses, (std::vector<int64_t>{0, 4, 8, 12, 16}));
  EXPECT_EQ(stalls, (std::vector<int64_t>{0, 3, 6, 9, 12, 15, 18}));
  ASSERT_EQ(slow.size(), 40U);
  EXPECT_TRUE(std::is_sorted(slow.begin(), slow.end()));
}

TEST(Outbox, KeepsNothingAfterClose) {
  std::mt19937_64 random(4);
  Outbox box;
  box.PushFrames(MakeBatch(1, 0, 5, random));
  box.Close();
  box.PushFrames(MakeBatch(1, 1, 5, random));
  EXPECT_TRUE(box.empty());
  EXPECT_EQ(box.queued_bytes(), 0U);
}

}  // namespace
}  // namespace plimsoll
