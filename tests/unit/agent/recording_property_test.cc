// The writer's loop and the recorder together, interleaved at random moments under a clock that the test moves: no
// write or read is ever lost, counted twice, or counted in another interval than the one in which it completed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "agent/writer/writer_tally.h"
#include "common/algorithm.h"
#include "common/histogram.h"
#include "common/trace.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/agent/fake_env.h"

namespace plimsoll::tests {
namespace {

using google::protobuf::RepeatedPtrField;

constexpr int64_t kStartNs = 10'000'000'000;

struct Scenario {
  WriteLoopParams loop;
  TallyParams tally;
};

// Place of the read in the list of operations of a step that reads and writes.
constexpr uint32_t kReadOperation = 1;

// Returns nothing (a log) in most cases; otherwise half of the operations read, or all.
std::optional<Access> RandomAccess(std::mt19937_64& random) {
  const bool in_random_order = random() % 2 == 0;
  const Access::Key key{static_cast<uint32_t>(random()), 0, 1};
  switch (random() % 6) {
    case 0:
    case 1:
      return Access(in_random_order, 50, kReadOperation, key);
    case 2:
      return Access(in_random_order, kOnlyReads, kMainOperation, key);
    default:
      return std::nullopt;
  }
}

// All times are multiples of `grain_ns`: with a coarse one many writes end exactly on a boundary.
Scenario RandomScenario(std::mt19937_64& random, int64_t grain_ns, std::byte* read_buffer) {
  const auto grained = [&](int64_t ns) { return (ns + grain_ns - 1) / grain_ns * grain_ns; };
  const uint64_t block = 4096;
  const ExtentLayout layout(block * (1 + random() % 5), static_cast<uint32_t>(1 + random() % 3), block);
  const int64_t interval = grained(static_cast<int64_t>(1'000'000 + random() % 30'000'000));
  const int64_t warmup = random() % 2 == 0 ? 0 : grained(static_cast<int64_t>(random() % 50'000'000));
  const int64_t duration = grained(static_cast<int64_t>(1 + random() % 200'000'000));
  const StepTimes times(kStartNs, warmup, duration, interval);
  std::optional<RateSchedule> schedule;
  if (random() % 3 == 0) schedule.emplace(kStartNs, 50.0 + static_cast<double>(random() % 5000));
  const int64_t delay = !schedule && random() % 4 == 0 ? static_cast<int64_t>(random() % 3'000'000) : 0;
  const std::optional<Access> access = RandomAccess(random);
  return {{.epoch = 1,
           .layout = layout,
           .access = access,
           .read_buffer = read_buffer,
           .start_ns = kStartNs,
           .end_ns = times.end_ns(),
           .delay_ns = delay,
           .sync_each_write = false,
           .schedule = schedule},
          {.step = 0,
           .qm = 1,
           .times = times,
           .layout = layout,
           .access = access,
           .schedule = schedule,
           .trace = true,
           .delay_ns = delay,
           .stall_ns = random() % 4 == 0 ? 0 : grained(static_cast<int64_t>(1'000'000 + random() % 20'000'000))}};
}

std::vector<Sample> OnlyOf(const std::vector<Sample>& samples, uint32_t operation) {
  std::vector<Sample> only;
  std::ranges::copy_if(samples, std::back_inserter(only),
                       [operation](const Sample& sample) { return sample.operation() == operation; });
  return only;
}

RepeatedPtrField<v1::Frame> OnlyOf(const RepeatedPtrField<v1::Frame>& frames, uint32_t operation) {
  RepeatedPtrField<v1::Frame> only;
  for (const v1::Frame& frame : frames) {
    if (frame.operation() == operation) *only.Add() = frame;
  }
  return only;
}

// What the frames of all operations add up to.
struct Told {
  // Time in the operations of the measured part and between them, and the end of the last one.
  int64_t accounted_ns = 0;
  int64_t end_ns = 0;
  uint64_t waits = 0;
  uint64_t wait_ns = 0;
};

// Checks the frames of one kind of operations against what was done, and adds them to `told`.
void CheckFrames(const Scenario& run, const FakeWriter& writer, const std::vector<Sample>& truth,
                 const RepeatedPtrField<v1::Frame>& frames, Told& told) {
  std::map<int32_t, std::vector<Sample>> by_interval;
  for (const Sample& sample : truth) by_interval[run.tally.times.IntervalOf(sample.end_ns())].push_back(sample);

  uint64_t next_seq = 1;
  int32_t expected = run.tally.times.first_interval();
  for (const v1::Frame& frame : frames) {
    ASSERT_EQ(frame.first_interval(), expected++);
    if (!frame.closing() && writer.state.end == LoopEnd::kRanToEnd) {
      ASSERT_GE(frame.cut_ns(), run.tally.times.EndOf(frame.first_interval()));
    }
    const std::vector<Sample>& wanted = by_interval[frame.first_interval()];
    std::vector<TracedWrite> traced;
    for (const std::string& block : frame.trace()) ASSERT_THAT(DecodeTrace(block, traced), IsOk());
    ASSERT_EQ(traced.size(), wanted.size()) << "interval " << frame.first_interval();
    Histogram histogram;
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(traced[i].start_ns, wanted[i].start_ns);
      ASSERT_EQ(traced[i].latency_ns, wanted[i].latency_ns());
      histogram.Record(traced[i].latency_ns);
    }
    ASSERT_EQ(frame.latency().SerializeAsString(), histogram.ToProto().SerializeAsString());
    if (!wanted.empty()) {
      ASSERT_EQ(frame.first_seq(), next_seq);
      ASSERT_EQ(frame.last_end_ns(), wanted.back().end_ns());
    }
    next_seq += wanted.size();
    told.waits += frame.ring_full_waits();
    told.wait_ns += frame.ring_full_wait_ns();
    if (frame.first_interval() >= 0) {
      told.accounted_ns += static_cast<int64_t>(frame.latency().sum_ns()) + frame.between_ns();
      if (!wanted.empty()) told.end_ns = std::max(told.end_ns, frame.last_end_ns());
    }
    by_interval.erase(frame.first_interval());
  }
  for (const auto& [interval, samples] : by_interval) ASSERT_TRUE(samples.empty()) << "no frame for " << interval;
}

// Checks all frames and the totals against what was done.
void Check(const Scenario& run, const FakeWriter& writer, const std::vector<Sample>& truth,
           const RepeatedPtrField<v1::Frame>& frames, const v1::WriterTotals& totals) {
  Told told{.end_ns = run.tally.times.measured_start_ns()};
  for (const uint32_t operation : {kMainOperation, kReadOperation}) {
    ASSERT_NO_FATAL_FAILURE(CheckFrames(run, writer, OnlyOf(truth, operation), OnlyOf(frames, operation), told));
  }
  ASSERT_EQ(told.accounted_ns, told.end_ns - run.tally.times.measured_start_ns());
  const size_t reads = OnlyOf(truth, kReadOperation).size();
  ASSERT_EQ(totals.writes(), truth.size() - reads);
  ASSERT_EQ(writer.state.reads.load(), reads);
  ASSERT_EQ(totals.ring_full_waits(), told.waits);
  ASSERT_EQ(totals.ring_full_wait_ns(), told.wait_ns);
  ASSERT_EQ(truth.size(), writer.env.calls.size());
}

// The intervals in which the writer stood, by their definition.
std::vector<v1::StalledInterval> Intervals(const Scenario& run, const FakeWriter& writer,
                                           const std::vector<Sample>& truth) {
  std::vector<v1::StalledInterval> intervals;
  const int64_t stall_ns = run.tally.stall_ns;
  if (stall_ns == 0) return intervals;
  const auto add = [&](int64_t begin_ns, int64_t end_ns, uint64_t seq, int64_t stalled_ns) {
    // Those of a closed loop only touch, and stand alone.
    if (!intervals.empty() && begin_ns < intervals.back().end_ns()) {
      intervals.back().set_end_ns(std::max(intervals.back().end_ns(), end_ns));
      intervals.back().set_longest_ns(std::max(intervals.back().longest_ns(), stalled_ns));
    } else {
      v1::StalledInterval& interval = intervals.emplace_back();
      interval.set_begin_ns(begin_ns);
      interval.set_end_ns(end_ns);
      interval.set_first_seq(seq);
      interval.set_longest_ns(stalled_ns);
    }
  };
  const auto due_at = [&](size_t index) {
    if (run.tally.schedule) return run.tally.schedule->DueAt(index);
    return index == 0 ? kStartNs : truth[index - 1].end_ns() + run.tally.delay_ns;
  };
  for (size_t i = 0; i < truth.size(); ++i) {
    const int64_t due_ns = due_at(i);
    const int64_t stalled_ns = std::max(static_cast<int64_t>(truth[i].latency_ns()), truth[i].start_ns - due_ns);
    if (stalled_ns >= stall_ns) add(due_ns, truth[i].end_ns(), i + 1, stalled_ns);
  }
  const int64_t until_ns = std::min(writer.state.finished_ns, run.tally.times.end_ns());
  const int64_t left_ns = until_ns - due_at(truth.size());
  if (left_ns >= stall_ns) add(due_at(truth.size()), until_ns, 0, left_ns);
  for (v1::StalledInterval& interval : intervals) {
    for (const Sample& write : truth) {
      if (write.end_ns() <= interval.begin_ns() || write.start_ns >= interval.end_ns()) continue;
      interval.set_in_flight_ns(interval.in_flight_ns() + std::min(write.end_ns(), interval.end_ns()) -
                                std::max(write.start_ns, interval.begin_ns()));
      if (interval.first_seq() > 0 && write.start_ns >= truth[interval.first_seq() - 1].start_ns) {
        interval.set_writes(interval.writes() + 1);
      }
    }
  }
  return intervals;
}

// When somebody else had the writer's CPU: from, and until.
using Interruptions = std::vector<std::pair<int64_t, int64_t>>;

// Until when a recorder may take a writer for one that stands which stood until `end_ns`: the writer may lose its CPU
// before it can say that it goes on, or has ended.
int64_t SeemsToStandUntil(int64_t end_ns, const Scenario& run, const std::vector<Sample>& truth,
                          const Interruptions& interruptions) {
  constexpr int64_t kBetweenMarksNs = 100;  // A few readings of the clock.
  int64_t until_ns = end_ns;
  for (const auto& [from_ns, to_ns] : interruptions) {
    if (from_ns <= until_ns + kBetweenMarksNs) until_ns = std::max(until_ns, to_ns);
    // On a schedule a later write belongs to the interval where it was due within it and started late. One whose writer
    // lost its CPU between its clock and its mark seems to start later than it did.
    if (!run.tally.schedule) continue;
    for (size_t i = 0; i < truth.size() && run.tally.schedule->DueAt(i) < end_ns; ++i) {
      if (std::abs(from_ns - truth[i].start_ns) <= kBetweenMarksNs) until_ns = std::max(until_ns, to_ns);
    }
  }
  return until_ns;
}

// What frames tell of intervals that were not over is the beginning of what was told of them when they were; and where
// one had certainly been one for long it is told.
void CheckGrowing(const Scenario& run, const FakeWriter& writer, const std::vector<v1::StalledInterval>& wanted,
                  const std::vector<Sample>& truth, const Interruptions& interruptions,
                  const RepeatedPtrField<v1::Frame>& frames) {
  for (const v1::Frame& frame : frames) {
    const int64_t end_ns = run.tally.times.EndOf(frame.first_interval());
    const v1::StalledInterval& growing = frame.growing_stall();
    const auto across = std::find_if(wanted.begin(), wanted.end(), [&](const v1::StalledInterval& interval) {
      return interval.begin_ns() < end_ns && interval.end_ns() >= end_ns;
    });
    if (frame.has_growing_stall()) {
      ASSERT_FALSE(frame.closing());
      const auto same = std::find_if(wanted.begin(), wanted.end(), [&](const v1::StalledInterval& interval) {
        return interval.begin_ns() == growing.begin_ns();
      });
      ASSERT_GE(growing.longest_ns(), run.tally.stall_ns);
      if (same == wanted.end()) {
        // A writer that lost its CPU between its clock and its mark: the write seemed not to have started.
        ASSERT_EQ(growing.first_seq(), 0U);
        continue;
      }
      ASSERT_LE(growing.end_ns(), end_ns);
      // A writer that lost its CPU between its clock and its mark seems to be in the write that is over, and one that
      // lost it when it had decided to end seems to go on.
      ASSERT_LE(growing.end_ns(), SeemsToStandUntil(same->end_ns(), run, truth, interruptions));
      const auto begun = std::count_if(truth.begin(), truth.end(), [&](const Sample& write) {
        return write.start_ns >= growing.begin_ns() && write.start_ns < growing.end_ns();
      });
      ASSERT_LE(growing.writes(), static_cast<uint64_t>(begun) + 1);
      ASSERT_LE(growing.longest_ns(), growing.end_ns() - growing.begin_ns());
      ASSERT_LE(growing.in_flight_ns(), growing.end_ns() - growing.begin_ns());
    } else if (across != wanted.end() && frame.cut_ns() < writer.state.finished_ns) {
      ASSERT_LT(end_ns - across->begin_ns(), 2 * run.tally.stall_ns) << "of a interval nothing was told";
    }
  }
}

void CheckStalls(const Scenario& run, const FakeWriter& writer, const std::vector<Sample>& truth,
                 const Interruptions& interruptions, const RepeatedPtrField<v1::Frame>& frames) {
  std::vector<v1::StalledInterval> told;
  for (const v1::Frame& frame : frames) {
    for (const v1::StalledInterval& interval : frame.stalls()) {
      ASSERT_LE(interval.end_ns(), frame.cut_ns());
      told.push_back(interval);
    }
  }
  const std::vector<v1::StalledInterval> wanted = Intervals(run, writer, truth);
  ASSERT_EQ(told.size(), wanted.size());
  for (size_t i = 0; i < told.size(); ++i) {
    ASSERT_EQ(told[i].begin_ns(), wanted[i].begin_ns());
    ASSERT_EQ(told[i].end_ns(), wanted[i].end_ns());
    ASSERT_EQ(told[i].first_seq(), wanted[i].first_seq());
    ASSERT_EQ(told[i].writes(), wanted[i].writes());
    // A writer that is behind is taken to write without a pause.
    ASSERT_GE(told[i].in_flight_ns(), wanted[i].in_flight_ns());
    ASSERT_LE(told[i].in_flight_ns(), told[i].end_ns() - told[i].begin_ns());
    if (!run.tally.schedule) {
      ASSERT_EQ(told[i].in_flight_ns(), wanted[i].in_flight_ns());
    }
    ASSERT_EQ(told[i].longest_ns(), wanted[i].longest_ns());
  }
  CheckGrowing(run, writer, wanted, truth, interruptions, frames);
}

// The frames hold the ten slowest measured writes, and no write that is none.
void CheckSlow(const Scenario& run, const std::vector<Sample>& truth, const RepeatedPtrField<v1::Frame>& frames) {
  std::map<uint64_t, Sample> told;
  for (const v1::Frame& frame : frames) {
    uint64_t previous = 0;
    for (const v1::WriteSample& slow : frame.slow()) {
      ASSERT_GE(frame.first_interval(), 0);
      ASSERT_GT(slow.seq(), previous);
      ASSERT_GE(slow.seq(), frame.first_seq());
      ASSERT_LT(slow.seq(), frame.first_seq() + frame.latency().count());
      ASSERT_EQ(slow.start_ns(), truth[slow.seq() - 1].start_ns);
      ASSERT_EQ(slow.latency_ns(), truth[slow.seq() - 1].latency_ns());
      previous = slow.seq();
      told[slow.seq()] = truth[slow.seq() - 1];
    }
  }
  std::vector<uint64_t> by_latency;
  for (uint64_t seq = 1; seq <= truth.size(); ++seq) {
    if (truth[seq - 1].end_ns() >= run.tally.times.measured_start_ns()) by_latency.push_back(seq);
  }
  StableSort(by_latency, [&](uint64_t a, uint64_t b) { return truth[a - 1].latency_ns() > truth[b - 1].latency_ns(); });
  by_latency.resize(std::min<size_t>(by_latency.size(), SlowestWrites::kKept));
  for (const uint64_t seq : by_latency) ASSERT_TRUE(told.contains(seq)) << seq;
}

TEST(Recording, EveryWriteIsInTheIntervalInWhichItCompletedWhateverTheInterleaving) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto source = FakeWriter::MakeSource({4096});
  std::array<std::byte, 4096> read_buffer{};
  for (int round = 0; round < 10'000; ++round) {
    SCOPED_TRACE(round);
    const int64_t grain_ns = random() % 2 == 0 ? 1 : 1'000'000;
    const Scenario run = RandomScenario(random, grain_ns, read_buffer.data());
    FakeWriter writer(source, 16);
    std::atomic<int64_t> stop_trace{StopControl::kNever};
    WriterTally tally(run.tally, writer.state, stop_trace);
    RepeatedPtrField<v1::Frame> frames;
    const auto usual_ns = static_cast<int64_t>(1000 + random() % 2'000'000);
    if (random() % 5 == 0) {
      writer.control.StopAt(kStartNs + static_cast<int64_t>(random() % 200'000'000));
    }
    // Somebody else has the CPU for a while, the recorder perhaps.
    Interruptions interruptions;
    const auto interrupt = [&](uint64_t one_in) {
      if (random() % one_in != 0) return;
      const int64_t from_ns = writer.env.now_ns;
      writer.env.now_ns += static_cast<int64_t>(random() % 60'000'000) / grain_ns * grain_ns;
      interruptions.emplace_back(from_ns, writer.env.now_ns);
      // The recorder, too, may be interrupted after it has read the clock.
      if (random() % 4 != 0) tally.Poll(writer.env.now_ns - static_cast<int64_t>(random() % 10'000'000), frames);
    };
    std::vector<Sample> truth;
    int64_t write_start_ns = 0;
    writer.env.clock_ns = grain_ns == 1 ? 20 : 0;
    writer.env.latency = [&](size_t) {
      return (static_cast<int64_t>(random() % static_cast<uint64_t>(usual_ns)) / grain_ns + 1) * grain_ns;
    };
    writer.env.in_write = [&] {
      write_start_ns = writer.state.mark.load();
      interrupt(4);
    };
    writer.env.after_clock = [&] {
      // The clock after a write is the one that is read in the state "returned".
      if (write_start_ns != 0 && writer.state.mark.load() == WriterState::kReturned) {
        truth.push_back({write_start_ns, static_cast<uint64_t>(writer.env.now_ns - write_start_ns),
                         writer.env.calls.back().is_read ? run.loop.access->read_operation() : kMainOperation});
        write_start_ns = 0;
      }
      interrupt(4);
    };
    writer.env.in_sleep = [&] { interrupt(3); };
    writer.env.await_room = [&] {
      // It gives its CPU away for that.
      interruptions.emplace_back(writer.env.now_ns - FakeEnv::kRoomNs, writer.env.now_ns);
      tally.Poll(writer.env.now_ns, frames);
    };
    writer.Run(run.loop);
    tally.Poll(writer.env.now_ns + 1, frames);
    ASSERT_TRUE(tally.done());
    ASSERT_NO_FATAL_FAILURE(Check(run, writer, truth, frames, tally.Totals(run.loop.end_ns)));
    // Stalls are those of all operations together.
    ASSERT_NO_FATAL_FAILURE(CheckStalls(run, writer, truth, interruptions, OnlyOf(frames, kMainOperation)));
    for (const uint32_t operation : {kMainOperation, kReadOperation}) {
      ASSERT_NO_FATAL_FAILURE(CheckSlow(run, OnlyOf(truth, operation), OnlyOf(frames, operation)));
    }
  }
}

}  // namespace
}  // namespace plimsoll::tests
