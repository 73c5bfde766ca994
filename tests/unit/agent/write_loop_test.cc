#include "agent/writer/write_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "common/page_stamp.h"
#include "tests/testing.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/agent/step_moments.h"

namespace plimsoll::tests {
namespace {

// One step over two extents of four 4 KiB blocks.
WriteLoopParams Params(int64_t duration_ns, uint64_t block_bytes = 4096, uint64_t file_size_bytes = 16384) {
  return {.epoch = 1,
          .layout = ExtentLayout(file_size_bytes, 2, block_bytes),
          .start_ns = kStartNs,
          .end_ns = kStartNs + duration_ns,
          .delay_ns = 0,
          .sync_each_write = false,
          .schedule = std::nullopt};
}

TEST(WriteLoop, RecordsTheStartAndTheLatencyOfEveryWrite) {
  FakeWriter writer({4096});
  writer.env.latency = [](size_t call) { return int64_t{100} * (1 + static_cast<int64_t>(call)); };
  writer.Run(Params(1000));
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(4));
  EXPECT_EQ(samples[0].start_ns, kStartNs);
  EXPECT_EQ(samples[0].latency_ns(), 100);
  EXPECT_EQ(samples[3].start_ns, kStartNs + 600);
  EXPECT_EQ(samples[3].latency_ns(), 400);
  EXPECT_EQ(writer.state.writes.load(), 4);
  EXPECT_EQ(writer.state.bytes.load(), 4 * 4096);
  EXPECT_EQ(writer.state.latency_sum_ns.load(), 1000);
  EXPECT_EQ(writer.state.latency_max_ns.load(), 400);
  EXPECT_EQ(writer.state.first_start_ns.load(), kStartNs);
  EXPECT_EQ(writer.state.last_end_ns.load(), kStartNs + 1000);
  EXPECT_TRUE(writer.state.finished.load());
  EXPECT_EQ(writer.state.end, LoopEnd::kRanToEnd);
  EXPECT_EQ(writer.state.finished_ns, kStartNs + 1000);
  EXPECT_EQ(writer.state.mark.load(), WriterState::kIdle);
}

TEST(WriteLoop, WritesBlockAfterBlockAndStartsAgainAtTheFirstExtent) {
  FakeWriter writer({4096});
  writer.Run(Params(1000));
  ASSERT_THAT(writer.env.calls, SizeIs(10));
  for (size_t i = 0; i < writer.env.calls.size(); ++i) {
    EXPECT_EQ(writer.env.calls[i].extent, i / 4 % 2) << i;
    EXPECT_EQ(writer.env.calls[i].offset_bytes, i % 4 * 4096) << i;
    EXPECT_EQ(writer.env.calls[i].size_bytes, 4096);
  }
}

TEST(WriteLoop, ABlockThatDoesNotFitInTheRestGoesToTheNextExtent) {
  FakeWriter writer({12288});
  writer.Run(Params(300, 12288));
  ASSERT_THAT(writer.env.calls, SizeIs(3));
  EXPECT_EQ(writer.env.calls[1].extent, 1U);
  EXPECT_EQ(writer.env.calls[1].offset_bytes, 0U);
  EXPECT_EQ(writer.env.calls[2].extent, 0U);
}

TEST(WriteLoop, WritesBeyondFourGibibytesOfAnExtent) {
  constexpr uint64_t kBlock = 64U << 20U;
  FakeWriter writer({kBlock});
  writer.Run(Params(100 * 170, kBlock, uint64_t{5} << 30U));
  ASSERT_THAT(writer.env.calls, SizeIs(170));
  EXPECT_EQ(writer.env.calls[79].extent, 0U);
  EXPECT_EQ(writer.env.calls[79].offset_bytes, 79 * kBlock);
  EXPECT_GT(writer.env.calls[79].offset_bytes, uint64_t{1} << 32U);
  EXPECT_EQ(writer.env.calls[80].extent, 1U);
  EXPECT_EQ(writer.env.calls[160].extent, 0U);
  EXPECT_EQ(writer.state.bytes.load(), 170 * kBlock);
}

TEST(WriteLoop, BlocksOfAMixHaveTheSizesThatWereDrawnAndAreCountedWithThem) {
  FakeWriter writer({4096, 12288});
  WriteLoopParams params = Params(100 * 100, 12288, 40960);
  params.mix.emplace(std::vector<SizeMix::Share>{{4096, 50}, {12288, 50}}, SizeMix::Key{1, 2, 3});
  writer.Run(params);
  ASSERT_THAT(writer.env.calls, SizeIs(100));
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(100));
  ExtentWalk walk(params.layout, 0);
  uint64_t bytes = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint64_t size = params.mix->bytes(params.mix->SizeOf(i));
    EXPECT_EQ(writer.env.calls[i].size_bytes, size);
    EXPECT_EQ((BlockPlace{writer.env.calls[i].extent, writer.env.calls[i].offset_bytes}), walk.Take(size));
    EXPECT_EQ(params.mix->bytes(samples[i].size()), size);
    bytes += size;
  }
  EXPECT_EQ(writer.state.bytes.load(), bytes);
}

TEST(WriteLoop, EveryBlockCarriesItsNumberAndEpoch) {
  FakeWriter writer({8192});
  std::vector<PageStamp> stamps;
  writer.env.in_write = [&] {
    for (const size_t page : {0U, 1U}) {
      PageStamp stamp;
      const std::byte* data = writer.env.calls.back().data + page * 4096;
      ASSERT_EQ(ReadStamp({data, 4096}, stamp), StampState::kWhole);
      stamps.push_back(stamp);
    }
  };
  writer.Run(Params(300, 8192));
  ASSERT_THAT(stamps, SizeIs(6));
  for (size_t i = 0; i < stamps.size(); ++i) {
    EXPECT_EQ(stamps[i].sequence, 1 + i / 2);
    EXPECT_EQ(stamps[i].page, i % 2);
    EXPECT_EQ(stamps[i].epoch, 1U);
    EXPECT_EQ(stamps[i].host_index, 4U);
    EXPECT_EQ(stamps[i].qm, 5U);
  }
}

TEST(WriteLoop, NoWriteStartsAtTheEndButTheLastOneMayPassIt) {
  FakeWriter writer({4096});
  writer.env.latency = [](size_t) { return int64_t{300}; };
  writer.Run(Params(900));
  EXPECT_THAT(writer.Drain(), SizeIs(3));
  FakeWriter longer({4096});
  longer.env.latency = [](size_t) { return int64_t{300}; };
  longer.Run(Params(901));
  const std::vector<Sample> samples = longer.Drain();
  ASSERT_THAT(samples, SizeIs(4));
  EXPECT_EQ(samples.back().end_ns(), kStartNs + 1200);
}

TEST(WriteLoop, NoWriteStartsAtOrAfterAStop) {
  FakeWriter writer({4096});
  writer.control.StopAt(kStartNs + 250);
  writer.control.StopAt(kStartNs + 900);  // a later moment does not take the earlier one back
  writer.Run(Params(1000));
  EXPECT_THAT(writer.Drain(), SizeIs(3));
  EXPECT_EQ(writer.state.end, LoopEnd::kStopped);
  EXPECT_EQ(writer.state.finished_ns, kStartNs + 300);
}

TEST(WriteLoop, NoWriteStartsAtOrAfterTheLeaseAndAllWritersStop) {
  FakeWriter writer({4096});
  writer.lease_deadline_ns = kStartNs + 200;
  writer.Run(Params(1000));
  EXPECT_THAT(writer.Drain(), SizeIs(2));
  EXPECT_EQ(writer.state.end, LoopEnd::kLease);
  EXPECT_EQ(writer.control.stop_at_ns(), kStartNs + 200);
}

TEST(WriteLoop, AProcessThatWasFrozenBeyondItsLeaseWritesNothingMore) {
  FakeWriter writer({4096});
  writer.lease_deadline_ns = kStartNs + 5000;
  // Frozen between a write and the next look at the clock.
  writer.env.latency = [&](size_t call) { return call == 2 ? int64_t{1'000'000'000} : int64_t{100}; };
  writer.Run(Params(10'000'000'000));
  EXPECT_THAT(writer.env.calls, SizeIs(3));
  EXPECT_EQ(writer.state.end, LoopEnd::kLease);
}

TEST(WriteLoop, AnErrorNamesTheWriteAndStopsAllWriters) {
  FakeWriter writer({4096});
  writer.env.result = [](size_t call, uint64_t size) { return call == 5 ? -EIO : static_cast<int64_t>(size); };
  writer.Run(Params(10'000));
  EXPECT_THAT(writer.Drain(), SizeIs(5));
  EXPECT_EQ(writer.state.writes.load(), 5);
  EXPECT_EQ(writer.state.end, LoopEnd::kFailed);
  EXPECT_EQ(writer.state.failure.kind, WriteFailure::Kind::kWrite);
  EXPECT_EQ(writer.state.failure.error_number, EIO);
  EXPECT_EQ(writer.state.failure.extent, 1U);
  EXPECT_EQ(writer.state.failure.offset_bytes, 4096U);
  EXPECT_EQ(writer.control.stop_at_ns(), kStartNs + 600);
  EXPECT_EQ(writer.state.mark.load(), WriterState::kIdle);
}

TEST(WriteLoop, AShortWriteIsAnError) {
  FakeWriter writer({4096});
  writer.env.result = [](size_t call, uint64_t size) { return static_cast<int64_t>(call == 1 ? 512 : size); };
  writer.Run(Params(10'000));
  EXPECT_THAT(writer.Drain(), SizeIs(1));
  EXPECT_EQ(writer.state.failure.kind, WriteFailure::Kind::kShortWrite);
  EXPECT_EQ(writer.state.failure.offset_bytes, 4096U);
  EXPECT_EQ(writer.state.failure.asked_bytes, 4096U);
  EXPECT_EQ(writer.state.failure.done_bytes, 512U);
  EXPECT_EQ(writer.state.failure.error_number, 0);
}

TEST(WriteLoop, TheSyncIsPartOfTheLatency) {
  FakeWriter writer({4096});
  writer.env.sync_ns = 50;
  WriteLoopParams params = Params(300);
  params.sync_each_write = true;
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[1].latency_ns(), 150);
  EXPECT_EQ(writer.env.syncs, 2);
}

TEST(WriteLoop, TheSyncOfAWriteComesBeforeItAndEndsWithIt) {
  FakeWriter writer({4096});
  writer.env.sync_ns = 50;
  WriteLoopParams params = Params(300);
  params.sync_each_write = true;
  params.measure_parts = true;
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(4));
  for (const size_t sync : {size_t{0}, size_t{2}}) {
    EXPECT_EQ(samples[sync].operation(), kSyncOperation);
    EXPECT_EQ(samples[sync].latency_ns(), 50U);
    EXPECT_EQ(samples[sync + 1].operation(), kMainOperation);
    EXPECT_EQ(samples[sync + 1].latency_ns(), 150U);
    EXPECT_EQ(samples[sync].end_ns(), samples[sync + 1].end_ns());
  }
  EXPECT_EQ(writer.state.writes.load(), 2U);
  EXPECT_EQ(writer.state.write_call.latency_sum_ns.load(), 200U);
  EXPECT_EQ(writer.state.write_call.latency_max_ns.load(), 100U);
  EXPECT_EQ(writer.state.sync.latency_sum_ns.load(), 100U);
  EXPECT_EQ(writer.state.sync.latency_max_ns.load(), 50U);
}

// Half of the operations read.
WriteLoopParams ReadingParams(int64_t duration_ns, std::vector<std::byte>& buffer) {
  WriteLoopParams params = Params(duration_ns);
  params.access.emplace(/*random=*/false, /*read_percent=*/50, /*read_operation=*/1, Access::Key{});
  params.read_buffer = buffer.data();
  return params;
}

TEST(WriteLoop, ReadsAndWritesAreCountedApartAndTakeTheBlocksInOneOrder) {
  FakeWriter writer({4096});
  writer.env.latency = [](size_t call) { return static_cast<int64_t>(100 + call); };
  std::vector<std::byte> buffer(4096);
  WriteLoopParams params = ReadingParams(15'000, buffer);
  params.sync_each_write = true;
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(writer.env.calls.size()));
  ASSERT_GT(samples.size(), 100U);
  uint64_t reads = 0;
  uint64_t read_sum_ns = 0;
  uint64_t write_sum_ns = 0;
  uint64_t read_max_ns = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const FakeEnv::Call& call = writer.env.calls[i];
    EXPECT_EQ(call.extent, i / 4 % 2) << i;
    EXPECT_EQ(call.offset_bytes, i % 4 * 4096) << i;
    EXPECT_EQ(samples[i].operation(), call.is_read ? 1U : kMainOperation) << i;
    EXPECT_EQ(call.is_read, call.data == buffer.data()) << i;
    (call.is_read ? read_sum_ns : write_sum_ns) += samples[i].latency_ns();
    if (!call.is_read) continue;
    ++reads;
    read_max_ns = samples[i].latency_ns();
  }
  // Exactly half of each hundred.
  EXPECT_NEAR(static_cast<double>(reads), static_cast<double>(samples.size()) / 2, 50);
  EXPECT_EQ(writer.env.syncs, static_cast<int>(samples.size() - reads)) << "no sync follows a read";
  EXPECT_EQ(writer.state.reads.load(), reads);
  EXPECT_EQ(writer.state.read_bytes.load(), reads * 4096);
  EXPECT_EQ(writer.state.read_latency_sum_ns.load(), read_sum_ns);
  EXPECT_EQ(writer.state.read_latency_max_ns.load(), read_max_ns);
  EXPECT_EQ(writer.state.writes.load(), samples.size() - reads);
  EXPECT_EQ(writer.state.bytes.load(), (samples.size() - reads) * 4096);
  EXPECT_EQ(writer.state.latency_sum_ns.load(), write_sum_ns);
  const auto first_write = std::ranges::find(samples, kMainOperation, &Sample::operation);
  ASSERT_NE(first_write, samples.end());
  EXPECT_EQ(writer.state.first_start_ns.load(), first_write->start_ns);
  const auto first_read = std::ranges::find(samples, 1U, &Sample::operation);
  ASSERT_NE(first_read, samples.end());
  EXPECT_EQ(writer.state.read_first_start_ns.load(), first_read->start_ns);
  EXPECT_EQ(writer.state.last_end_ns.load(), samples.back().end_ns());
}

TEST(WriteLoop, TheFirstReadAndTheFirstWriteHaveStartsOfTheirOwn) {
  FakeWriter writer({4096});
  std::vector<std::byte> buffer(4096);
  WriteLoopParams params = ReadingParams(3'000, buffer);
  Access::Key key;
  while (!Access(false, 50, 1, key).Reads(0)) ++key.seed;
  params.access.emplace(/*random=*/false, /*read_percent=*/50, /*read_operation=*/1, key);
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_FALSE(samples.empty());
  EXPECT_EQ(samples.front().operation(), 1U);
  const auto first_write = std::ranges::find(samples, kMainOperation, &Sample::operation);
  ASSERT_NE(first_write, samples.end());
  EXPECT_GT(first_write->start_ns, kStartNs);
  EXPECT_EQ(writer.state.first_start_ns.load(), first_write->start_ns);
  EXPECT_EQ(writer.state.read_first_start_ns.load(), kStartNs);
  EXPECT_EQ(writer.env.yields, 1) << "after the first operation";
}

TEST(WriteLoop, TheReadsOfAStepWithoutWritesAreItsMainOperation) {
  FakeWriter writer({4096});
  std::vector<std::byte> buffer(4096);
  WriteLoopParams params = ReadingParams(1'000, buffer);
  params.access.emplace(/*random=*/false, kOnlyReads, kMainOperation, Access::Key{});
  params.sync_each_write = true;
  writer.env.latency = [](size_t call) { return int64_t{100} * (1 + static_cast<int64_t>(call)); };
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(4));
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].operation(), kMainOperation);
    EXPECT_TRUE(writer.env.calls[i].is_read);
    EXPECT_EQ(writer.env.calls[i].data, buffer.data());
    EXPECT_EQ(writer.env.calls[i].offset_bytes, i * 4096);
  }
  EXPECT_EQ(writer.env.syncs, 0);
  EXPECT_EQ(writer.state.writes.load(), 4U);
  EXPECT_EQ(writer.state.bytes.load(), 4U * 4096);
  EXPECT_EQ(writer.state.latency_sum_ns.load(), 1'000U);
  EXPECT_EQ(writer.state.latency_max_ns.load(), 400U);
  EXPECT_EQ(writer.state.first_start_ns.load(), kStartNs);
  EXPECT_EQ(writer.state.last_end_ns.load(), kStartNs + 1'000);
  EXPECT_EQ(writer.state.reads.load(), 0U);
  EXPECT_EQ(writer.state.read_bytes.load(), 0U);
  EXPECT_EQ(writer.state.read_first_start_ns.load(), 0);
}

TEST(WriteLoop, AScheduleCountsReadsAndWritesTogether) {
  FakeWriter writer({4096});
  std::vector<std::byte> buffer(4096);
  WriteLoopParams params = ReadingParams(100'000, buffer);
  params.schedule = RateSchedule(kStartNs, 1e5);  // one in 10 us
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(10));
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].start_ns, kStartNs + static_cast<int64_t>(i) * 10'000) << i;
  }
}

TEST(WriteLoop, AReadThatFailsOrIsShortIsAnErrorWithItsPlace) {
  for (const int64_t result : {int64_t{-EIO}, int64_t{512}, int64_t{0}}) {
    FakeWriter writer({4096});
    writer.env.result = [result](size_t call, uint64_t size_bytes) {
      return call == 1 ? result : static_cast<int64_t>(size_bytes);
    };
    std::vector<std::byte> buffer(4096);
    WriteLoopParams params = ReadingParams(1000, buffer);
    params.access.emplace(/*random=*/false, kOnlyReads, kMainOperation, Access::Key{});
    writer.Run(params);
    EXPECT_THAT(writer.Drain(), SizeIs(1));
    EXPECT_EQ(writer.state.end, LoopEnd::kFailed);
    EXPECT_EQ(writer.state.failure.kind, result < 0 ? WriteFailure::Kind::kRead : WriteFailure::Kind::kShortRead);
    EXPECT_EQ(writer.state.failure.offset_bytes, 4096U);
    EXPECT_EQ(writer.state.failure.asked_bytes, 4096U);
    EXPECT_EQ(writer.state.failure.done_bytes, static_cast<uint64_t>(std::max<int64_t>(result, 0)));
    EXPECT_EQ(writer.state.failure.error_number, result < 0 ? EIO : 0);
    EXPECT_EQ(writer.state.writes.load(), 1U);
  }
}

TEST(WriteLoop, AFailedSyncIsAnError) {
  FakeWriter writer({4096});
  writer.env.sync_result = -EDQUOT;
  WriteLoopParams params = Params(300);
  params.sync_each_write = true;
  writer.Run(params);
  EXPECT_THAT(writer.Drain(), IsEmpty());
  EXPECT_EQ(writer.state.failure.kind, WriteFailure::Kind::kSync);
  EXPECT_EQ(writer.state.failure.error_number, EDQUOT);
}

TEST(WriteLoop, GivesItsCpuAwayOnceAfterTheFirstWrite) {
  FakeWriter writer({4096});
  writer.Run(Params(1000));
  EXPECT_EQ(writer.env.yields, 1);
  EXPECT_THAT(writer.env.sleeps_until_ns, IsEmpty());
}

TEST(WriteLoop, TheDelayIsOneSleepAfterEachWriteOutsideItsLatency) {
  FakeWriter writer({4096});
  WriteLoopParams params = Params(1000);
  params.delay_ns = 250;
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(3));
  EXPECT_EQ(samples[1].start_ns, kStartNs + 350);
  EXPECT_EQ(samples[2].start_ns, kStartNs + 700);
  EXPECT_EQ(samples[2].latency_ns(), 100);
  // The last one ends with the step.
  EXPECT_THAT(writer.env.sleeps_until_ns, ElementsAre(kStartNs + 350, kStartNs + 700, kStartNs + 1000));
}

TEST(WriteLoop, AStopEndsALongDelay) {
  constexpr int64_t kHour = 3'600'000'000'000;
  FakeWriter writer({4096});
  WriteLoopParams params = Params(10 * kHour);
  params.delay_ns = kHour;
  writer.env.in_sleep = [&] {
    if (writer.env.sleeps_until_ns.size() == 3) writer.control.StopAt(writer.env.now_ns);
  };
  writer.Run(params);
  EXPECT_THAT(writer.env.sleeps_until_ns, SizeIs(3));
  EXPECT_EQ(writer.state.writes.load(), 1);
  EXPECT_EQ(writer.state.end, LoopEnd::kStopped);
  EXPECT_EQ(writer.state.finished_ns, kStartNs + 100 + 300'000'000);
}

TEST(WriteLoop, AFullRingWaitsBetweenWritesAndLosesNothing) {
  FakeWriter writer({4096}, 8);
  std::vector<Sample> samples;
  const auto drain = [&](const Sample& sample) { samples.push_back(sample); };
  int naps = 0;
  writer.env.await_room = [&] {
    if (++naps % 3 == 0) writer.state.ring.Drain(drain);
  };
  writer.Run(Params(100'000));
  writer.state.ring.Drain(drain);
  EXPECT_EQ(samples.size(), writer.state.writes.load());
  EXPECT_GT(writer.state.ring_full_waits.load(), 2);
  EXPECT_EQ(writer.state.ring_full_wait_ns.load(), writer.state.ring_full_waits.load() * 3000);
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].latency_ns(), 100);
    if (i > 0) {
      EXPECT_GE(samples[i].start_ns, samples[i - 1].end_ns());
    }
  }
}

TEST(WriteLoop, ARateStartsEachWriteWhenItIsDue) {
  FakeWriter writer({4096});
  WriteLoopParams params = Params(10'000'000);
  params.schedule.emplace(kStartNs, 1000.0);
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(10));
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].start_ns, kStartNs + static_cast<int64_t>(i) * 1'000'000);
  }
  EXPECT_EQ(writer.state.max_behind_writes.load(), 0);
  EXPECT_EQ(writer.state.max_behind_ns.load(), 0);
  // One sleep between two writes, and one to the step's end.
  EXPECT_THAT(writer.env.sleeps_until_ns, SizeIs(10));
  EXPECT_EQ(writer.state.finished_ns, params.end_ns);
}

TEST(WriteLoop, LateWritesFollowBackToBackAndTheScheduleDoesNotMove) {
  FakeWriter writer({4096});
  WriteLoopParams params = Params(10'000'000);
  params.schedule.emplace(kStartNs, 1000.0);
  writer.env.latency = [](size_t call) { return call == 2 ? int64_t{3'500'000} : int64_t{100}; };
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(10));
  EXPECT_EQ(samples[3].start_ns, kStartNs + 5'500'000);
  EXPECT_EQ(samples[4].start_ns, kStartNs + 5'500'100);
  EXPECT_EQ(samples[5].start_ns, kStartNs + 5'500'200);
  EXPECT_EQ(samples[6].start_ns, kStartNs + 6'000'000);
  // Write 3 was due at 3 ms; 4 and 5 were due when it started.
  EXPECT_EQ(writer.state.max_behind_ns.load(), 2'500'000);
  EXPECT_EQ(writer.state.max_behind_writes.load(), 2);
}

TEST(WriteLoop, ALeaseThatIsExtendedWhileTheWriterGivesUpLetsNoWriteStartEarly) {
  FakeWriter writer({4096});
  WriteLoopParams params = Params(10'000'000'000);
  params.schedule.emplace(kStartNs, 1.0);
  writer.lease_deadline_ns = kStartNs + 50'000'000;
  int clocks = 0;
  writer.env.after_clock = [&] {
    // The first two clocks belong to the first write, the third to the wait for the second.
    if (++clocks == 4) writer.lease_deadline_ns = StopControl::kNever;
  };
  writer.Run(params);
  EXPECT_THAT(writer.env.calls, SizeIs(1));
  EXPECT_EQ(writer.state.end, LoopEnd::kLease);
}

TEST(WriteLoop, ShowsTheWriteInFlight) {
  FakeWriter writer({4096});
  std::vector<int64_t> marks;
  writer.env.in_write = [&] { marks.push_back(writer.state.mark.load()); };
  writer.Run(Params(300));
  EXPECT_THAT(marks, ElementsAre(kStartNs, kStartNs + 100, kStartNs + 200));
}

}  // namespace
}  // namespace plimsoll::tests
