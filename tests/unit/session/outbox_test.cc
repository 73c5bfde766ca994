#include "agent/session/outbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "tests/random_seed.h"

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

TEST(Outbox, ACoalescedFrameNamesTheFastestWriteOfAll) {
  Outbox box({.coalesce_above_bytes = 1, .drop_traces_above_bytes = 1});
  for (const auto& [interval, latency_ns] : {std::pair{0, 900}, {1, 300}, {2, 300}, {3, 500}}) {
    Histogram latencies;
    latencies.Record(static_cast<uint64_t>(latency_ns));
    v1::FrameBatch batch;
    v1::Frame& frame = *batch.add_frames();
    frame.set_qm(1);
    frame.set_first_interval(interval);
    frame.set_interval_count(1);
    *frame.mutable_latency() = latencies.ToProto();
    frame.set_fastest_seq(static_cast<uint64_t>(interval) + 1);
    box.PushFrames(std::move(batch));
  }
  uint64_t fastest = 0;
  uint64_t fastest_ns = UINT64_MAX;
  size_t frames = 0;
  while (const std::optional<v1::AgentMessage> message = box.Pop()) {
    for (const v1::Frame& frame : message->frames().frames()) {
      ++frames;
      if (frame.latency().min_ns() >= fastest_ns) continue;
      fastest = frame.fastest_seq();
      fastest_ns = frame.latency().min_ns();
    }
  }
  EXPECT_LT(frames, 4U) << "nothing was coalesced";
  EXPECT_EQ(fastest, 2U);
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

v1::AgentMessage MakeLedger(uint32_t instance, uint64_t first, uint64_t last) {
  v1::AgentMessage message;
  v1::HaLedgerEntry& entry = *message.mutable_ha()->add_ledger();
  entry.set_instance(instance);
  entry.set_first_sequence(first);
  entry.set_last_sequence(last);
  return message;
}

TEST(Outbox, LedgersAndFramesOfADrillStayBoundedAndLoseNoWrite) {
  Outbox box({.coalesce_above_bytes = 1'000, .drop_traces_above_bytes = 1'000});
  std::mt19937_64 random(1);
  constexpr uint64_t kWrites = 20'000;
  uint64_t frame_writes = 0;
  for (uint64_t sequence = 1; sequence <= kWrites; ++sequence) {
    box.Push(MakeLedger(1, sequence, sequence));
    box.Push(MakeLedger(2, 2 * sequence - 1, 2 * sequence));
    if (sequence % 250 != 0) continue;
    box.PushFrames(MakeBatch(1, static_cast<int32_t>(sequence / 250), 10, random));
    frame_writes += 10;
  }
  EXPECT_LT(box.queued_bytes(), 100'000U);
  // An event holds its place between the ledgers around it.
  v1::AgentMessage event;
  event.mutable_ha()->add_events()->set_instance(1);
  box.Push(event);
  box.Push(MakeLedger(1, kWrites + 1, kWrites + 1));
  uint64_t next[] = {0, 1, 1};
  bool saw_event = false;
  while (auto message = box.Pop()) {
    for (const v1::Frame& frame : message->frames().frames()) frame_writes -= frame.latency().count();
    saw_event = saw_event || !message->ha().events().empty();
    for (const v1::HaLedgerEntry& entry : message->ha().ledger()) {
      EXPECT_EQ(entry.first_sequence(), next[entry.instance()]);
      next[entry.instance()] = entry.last_sequence() + 1;
      EXPECT_EQ(entry.last_sequence() > kWrites && entry.instance() == 1, saw_event);
    }
  }
  EXPECT_EQ(next[1], kWrites + 2);
  EXPECT_EQ(next[2], 2 * kWrites + 1);
  EXPECT_EQ(frame_writes, 0U);
}

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
  const uint64_t seed = tests::RandomSeed();
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

TEST(Outbox, ReadsLoseTheirTracesAsWritesDoAndPartsOfWritesHaveNone) {
  std::mt19937_64 random(9);
  const auto batch_of = [&random](int32_t interval) {
    v1::FrameBatch batch = MakeBatch(1, interval, 50, random);
    v1::Frame sync = batch.frames(0);
    sync.set_operation(2);
    sync.clear_bytes();
    sync.clear_trace();
    v1::Frame read = batch.frames(0);
    read.set_operation(3);
    *batch.add_frames() = std::move(sync);
    *batch.add_frames() = std::move(read);
    return batch;
  };
  v1::FrameBatch batch = batch_of(0);
  CoalesceBatch(batch_of(1), /*keep_trace=*/false, batch);
  ASSERT_EQ(batch.frames_size(), 3) << "one of each operation";
  EXPECT_EQ(batch.frames(2).operation(), 3U);
  EXPECT_EQ(batch.frames(2).latency().count(), 100U);
  EXPECT_EQ(batch.frames(2).trace_size(), 1);
  EXPECT_EQ(batch.frames(2).untraced_writes(), 50U);
  DropTraces(batch);
  for (const int whole : {0, 2}) {
    EXPECT_EQ(batch.frames(whole).trace_size(), 0);
    EXPECT_EQ(batch.frames(whole).untraced_writes(), 100U);
  }
  EXPECT_EQ(batch.frames(1).latency().count(), 100U);
  EXPECT_EQ(batch.frames(1).untraced_writes(), 0U);
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
    for (uint64_t i = 1; i <= 2; ++i) {
      v1::WriteSample& slow = *frame.add_slow();
      slow.set_seq(static_cast<uint64_t>(interval) * 10 + i);
      // Those of every second interval are the slowest; all of them are alike.
      slow.set_latency_ns(interval % 2 == 0 ? 500 : 400);
      // By response time, those of the other intervals are.
      slow.set_response_ns(interval % 2 == 0 ? 600 : 700);
      *frame.add_slow_responses() = slow;
    }
    if (interval % 3 == 0) frame.add_stalls()->set_begin_ns(interval);
    if (interval % 4 == 0) {
      batch.mutable_sample()->set_time_ns(interval);
      batch.mutable_sample()->set_recorder_late_max_ns(static_cast<uint64_t>(100 - interval));
      batch.mutable_sample()->add_pauses()->set_begin_ns(interval);
    }
    box.PushFrames(std::move(batch));
  }
  std::vector<uint64_t> slow;
  std::vector<uint64_t> slow_responses;
  std::vector<int64_t> stalls;
  std::vector<int64_t> pauses;
  int messages = 0;
  uint64_t late_ns = 0;
  while (auto message = box.Pop()) {
    ++messages;
    for (const v1::Frame& frame : message->frames().frames()) {
      for (const v1::WriteSample& write : frame.slow()) slow.push_back(write.seq());
      for (const v1::WriteSample& write : frame.slow_responses()) slow_responses.push_back(write.seq());
      for (const v1::StalledInterval& stall : frame.stalls()) stalls.push_back(stall.begin_ns());
    }
    for (const v1::RecorderPause& pause : message->frames().sample().pauses()) pauses.push_back(pause.begin_ns());
    late_ns = std::max(late_ns, message->frames().sample().recorder_late_max_ns());
  }
  EXPECT_LT(messages, 20);
  EXPECT_EQ(late_ns, 100U);
  EXPECT_EQ(pauses, (std::vector<int64_t>{0, 4, 8, 12, 16}));
  EXPECT_EQ(stalls, (std::vector<int64_t>{0, 3, 6, 9, 12, 15, 18}));
  // Of the frame that was made of all the ten slowest are kept, of equal ones the earlier.
  EXPECT_EQ(slow, (std::vector<uint64_t>{1, 2, 21, 22, 41, 42, 61, 62, 81, 82}));
  EXPECT_EQ(slow_responses, (std::vector<uint64_t>{11, 12, 31, 32, 51, 52, 71, 72, 91, 92}));
}

TEST(Outbox, StaysWithinItsBoundHoweverLongNobodyReads) {
  // An hour of 8 writers that stand all the time, with the controller's heartbeats answered all the while.
  constexpr int32_t kBatches = 14'400;
  constexpr uint32_t kWriters = 8;
  constexpr int64_t kStalls = 250;
  Outbox box;
  v1::FrameBatch batch;
  for (uint32_t qm = 1; qm <= kWriters; ++qm) {
    v1::Frame& frame = *batch.add_frames();
    frame.set_qm(qm);
    frame.set_interval_count(1);
    for (uint64_t i = 0; i < 10; ++i) frame.add_slow()->set_latency_ns(i + 1);
    for (int64_t i = 0; i < kStalls; ++i) {
      v1::StalledInterval& stall = *frame.add_stalls();
      stall.set_begin_ns(int64_t{1} << 60);
      stall.set_end_ns((int64_t{1} << 60) + 1'000'000);
      stall.set_writes(1);
      stall.set_longest_ns(1'000'000);
    }
  }
  batch.mutable_sample()->add_pauses()->set_begin_ns(int64_t{1} << 60);
  size_t most_bytes = 0;
  size_t most_after_a_minute_bytes = 0;
  for (int32_t interval = 0; interval < kBatches; ++interval) {
    for (v1::Frame& frame : *batch.mutable_frames()) frame.set_first_interval(interval);
    box.PushFrames(batch);
    if (interval % 4 == 0) {
      v1::AgentMessage alive;
      alive.mutable_alive()->set_id(static_cast<uint64_t>(interval));
      box.Push(alive);
    }
    most_bytes = std::max(most_bytes, box.queued_bytes());
    if (interval == 240) most_after_a_minute_bytes = most_bytes;
  }
  EXPECT_LT(most_bytes, size_t{16} << 20);
  // One pause a batch, up to 10,000 of them, is all that grows.
  EXPECT_LT(most_bytes, most_after_a_minute_bytes + (size_t{1} << 20));
  uint64_t stalls = 0;
  uint64_t pauses = 0;
  uint64_t last_alive = 0;
  while (auto message = box.Pop()) {
    if (message->has_alive()) last_alive = message->alive().id();
    pauses +=
        static_cast<uint64_t>(message->frames().sample().pauses_size()) + message->frames().sample().pauses_left_out();
    for (const v1::Frame& frame : message->frames().frames()) {
      EXPECT_LE(frame.stalls_size(), 1'000);
      EXPECT_LE(frame.slow_size(), 10);
      stalls += static_cast<uint64_t>(frame.stalls_size()) + frame.stalls_left_out();
    }
  }
  EXPECT_EQ(stalls, uint64_t{kBatches} * kWriters * kStalls);
  EXPECT_EQ(pauses, static_cast<uint64_t>(kBatches));
  EXPECT_EQ(last_alive, static_cast<uint64_t>(kBatches) - 4);
}

TEST(Outbox, FramesAreMergedBehindWhatOnlySaysThatTheAgentLives) {
  std::mt19937_64 random(6);
  Outbox box({.coalesce_above_bytes = 0, .drop_traces_above_bytes = 1'000'000});
  const auto frames = [&](int32_t interval) { box.PushFrames(MakeBatch(1, interval, 5, random)); };
  frames(0);
  v1::AgentMessage alive;
  alive.mutable_alive()->set_id(7);
  box.Push(alive);
  frames(1);
  v1::AgentMessage done;
  done.mutable_step_done();
  box.Push(done);
  frames(2);
  EXPECT_EQ(box.Pop()->frames().frames(0).interval_count(), 2U);
  EXPECT_EQ(box.Pop()->alive().id(), 7U);
  EXPECT_TRUE(box.Pop()->has_step_done()) << "nothing passes the end of a step";
  EXPECT_EQ(box.Pop()->frames().frames(0).first_interval(), 2);
}

TEST(Outbox, OfIntervalsThatAreNotOverTheLastReportedCounts) {
  for (const int32_t intervals : {2, 3}) {
    std::mt19937_64 random(8);
    Outbox box({.coalesce_above_bytes = 0, .drop_traces_above_bytes = 1'000'000});
    for (int32_t interval = 0; interval < intervals; ++interval) {
      v1::FrameBatch batch = MakeBatch(1, interval, 5, random);
      if (interval < 2) batch.mutable_frames(0)->mutable_growing_stall()->set_end_ns(interval + 1);
      box.PushFrames(std::move(batch));
    }
    const auto told = box.Pop();
    const v1::Frame& frame = told->frames().frames(0);
    ASSERT_EQ(frame.interval_count(), static_cast<uint32_t>(intervals));
    EXPECT_EQ(frame.has_growing_stall(), intervals == 2) << "it was over, or none, in the last frame";
    EXPECT_EQ(frame.growing_stall().end_ns(), intervals == 2 ? 2 : 0);
  }
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
