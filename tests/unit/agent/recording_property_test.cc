// The writer's loop and the recorder together, interleaved at random moments under a clock that the test moves: no
// write is ever lost, counted twice, or counted in another interval than the one in which it completed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "agent/log/writer_tally.h"
#include "common/histogram.h"
#include "common/trace_codec.h"
#include "tests/status_matchers.h"
#include "tests/unit/agent/fake_env.h"

namespace plimsoll::testing {
namespace {

using google::protobuf::RepeatedPtrField;

constexpr int64_t kStartNs = 10'000'000'000;

struct Scenario {
  WriteLoopParams loop;
  TallyParams tally;
};

// All times are multiples of `grain_ns`: with a coarse one many writes end exactly on a boundary.
Scenario RandomScenario(std::mt19937_64& random, int64_t grain_ns) {
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
  return {{.epoch = 1,
           .layout = layout,
           .start_ns = kStartNs,
           .end_ns = times.end_ns(),
           .delay_ns = delay,
           .sync_each_write = false,
           .schedule = schedule},
          {.step = 0, .qm = 1, .times = times, .layout = layout, .schedule = schedule, .trace = true}};
}

// What the frames say, against what was done.
void Check(const Scenario& run, const FakeWriter& writer, const std::vector<Sample>& truth,
           const RepeatedPtrField<v1::Frame>& frames, const v1::WriterTotals& totals) {
  std::map<int32_t, std::vector<Sample>> by_interval;
  for (const Sample& sample : truth) by_interval[run.tally.times.IntervalOf(sample.end_ns())].push_back(sample);

  int64_t measured_latency_ns = 0;
  int64_t measured_between_ns = 0;
  int64_t measured_end_ns = run.tally.times.measured_start_ns();
  uint64_t waits = 0;
  uint64_t wait_ns = 0;
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
      ASSERT_EQ(traced[i].latency_ns, wanted[i].latency_ns);
      histogram.Record(traced[i].latency_ns);
    }
    ASSERT_EQ(frame.latency().SerializeAsString(), histogram.ToProto().SerializeAsString());
    if (!wanted.empty()) {
      ASSERT_EQ(frame.first_seq(), next_seq);
      ASSERT_EQ(frame.last_end_ns(), wanted.back().end_ns());
    }
    next_seq += wanted.size();
    waits += frame.ring_full_waits();
    wait_ns += frame.ring_full_wait_ns();
    if (frame.first_interval() >= 0 && !wanted.empty()) {
      measured_latency_ns += static_cast<int64_t>(frame.latency().sum_ns());
      measured_between_ns += frame.between_ns();
      measured_end_ns = frame.last_end_ns();
    }
    by_interval.erase(frame.first_interval());
  }
  for (const auto& [interval, samples] : by_interval) ASSERT_TRUE(samples.empty()) << "no frame for " << interval;
  ASSERT_EQ(measured_latency_ns + measured_between_ns, measured_end_ns - run.tally.times.measured_start_ns());
  ASSERT_EQ(totals.writes(), truth.size());
  ASSERT_EQ(totals.ring_full_waits(), waits);
  ASSERT_EQ(totals.ring_full_wait_ns(), wait_ns);
  ASSERT_EQ(totals.writes(), writer.env.calls.size());
}

TEST(Recording, EveryWriteIsInTheIntervalInWhichItCompletedWhateverTheInterleaving) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto source = FakeWriter::MakeSource({4096});
  for (int round = 0; round < 10'000; ++round) {
    SCOPED_TRACE(round);
    const int64_t grain_ns = random() % 2 == 0 ? 1 : 1'000'000;
    const Scenario run = RandomScenario(random, grain_ns);
    FakeWriter writer(source, 16);
    std::atomic<int64_t> stop_trace{StopControl::kNever};
    WriterTally tally(run.tally, writer.state, stop_trace);
    RepeatedPtrField<v1::Frame> frames;
    const auto usual_ns = static_cast<int64_t>(1000 + random() % 2'000'000);
    if (random() % 5 == 0) {
      writer.control.StopAt(kStartNs + static_cast<int64_t>(random() % 200'000'000));
    }
    // Somebody else has the CPU for a while, the recorder perhaps.
    const auto interrupt = [&](uint64_t one_in) {
      if (random() % one_in != 0) return;
      writer.env.now_ns += static_cast<int64_t>(random() % 60'000'000) / grain_ns * grain_ns;
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
        truth.push_back({write_start_ns, static_cast<uint64_t>(writer.env.now_ns - write_start_ns)});
        write_start_ns = 0;
      }
      interrupt(4);
    };
    writer.env.in_sleep = [&] { interrupt(3); };
    writer.env.await_room = [&] { tally.Poll(writer.env.now_ns, frames); };
    writer.Run(run.loop);
    tally.Poll(writer.env.now_ns + 1, frames);
    ASSERT_TRUE(tally.done());
    ASSERT_NO_FATAL_FAILURE(Check(run, writer, truth, frames, tally.Totals(run.loop.end_ns)));
  }
}

}  // namespace
}  // namespace plimsoll::testing
