// What must hold for folded frames, whatever the writers did and however their frames arrived.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "controller/fold/aged_seconds.h"
#include "tests/random_seed.h"
#include "tests/unit/fold/random_frames.h"

namespace plimsoll::tests {
namespace {

FrameScene RandomScene(Random& random) {
  FrameScene scene;
  scene.interval_ns = Between(random, 0, 1) == 0 ? kNsPerSecond : 250 * kNsPerMs;
  scene.hosts = static_cast<uint32_t>(Between(random, 1, 3));
  scene.qms = static_cast<uint32_t>(Between(random, 1, 3));
  scene.operations = static_cast<uint32_t>(Between(random, 1, 2));
  scene.rated = Between(random, 0, 1) == 1;
  scene.from_second = 40;
  scene.to_second = 60 + Between(random, 100, 400);
  scene.intervals_of_stall = Between(random, 0, 3) == 0 ? 0 : Between(random, 20, 400);
  scene.latest_report_ns = Between(random, 0, 1) * 16 * kNsPerSecond;
  // Operations of a writer are cut together.
  scene.frames_of_coalesced = scene.operations > 1 ? 0 : Between(random, 0, 60);
  return scene;
}

FoldRules RulesOf(const FrameScene& scene, Random& random) {
  FoldRules rules;
  rules.interval_ns = scene.interval_ns;
  rules.whole_seconds = 60;
  rules.stall_ns = Between(random, 0, 1) * 200 * kNsPerMs;
  rules.most_whole_of_hour = Between(random, 0, 60);
  return rules;
}

// What was given out of the seconds from the first that is folded on.
std::vector<std::string> FoldedPart(const RecordedFold& fold, const FoldRules& rules) {
  std::vector<HostFrame> part;
  for (const HostFrame& frame : fold.out()) {
    const int64_t second = frame.second.first_interval() / (kNsPerSecond / rules.interval_ns);
    if (second >= rules.whole_seconds) part.push_back(frame);
  }
  return BytesOf(part);
}

// What is given out of each stream when all frames have come, in any order.
auto FoldedStreams(const FoldRules& rules, const FrameScene& scene, const Frames& frames, Random& random) {
  RecordedFold fold(rules, scene);
  fold.TakeAll(Arrive(frames, random));
  fold.fold().Finish();
  return fold.ByStream();
}

constexpr int kScenes = 20;

// The frames of several writers arrive in any order, one by one or many at once: the same bytes come out, in the same
// order.
TEST(FoldProperty, GivesTheSameBytesHoweverFramesArrive) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kScenes; ++i) {
    const FrameScene scene = RandomScene(random);
    const FoldRules rules = RulesOf(scene, random);
    const Frames frames = MakeFrames(scene, random);
    std::vector<std::string> first;
    for (const size_t most_ahead : {size_t{0}, size_t{7}, size_t{40}, size_t{100'000}}) {
      RecordedFold fold(rules, scene);
      fold.TakeAll(Arrive(frames, random, most_ahead));
      fold.fold().Finish();
      const std::vector<std::string> bytes = FoldedPart(fold, rules);
      if (most_ahead == 0) first = bytes;
      ASSERT_EQ(bytes.size(), first.size()) << i;
      ASSERT_TRUE(bytes == first) << i;
    }
  }
}

// A fold that continues after any minute, with what an earlier one gave out and what that one had not settled, gives
// out the rest of the same bytes.
TEST(FoldProperty, ContinuesAfterEveryMinuteAsIfItHadNeverStopped) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  size_t boundaries = 0;
  for (int i = 0; i < kScenes; ++i) {
    const FrameScene scene = RandomScene(random);
    const FoldRules rules = RulesOf(scene, random);
    const Frames frames = MakeFrames(scene, random);
    const std::vector<HostFrame> arrived = Arrive(frames, random);
    RecordedFold whole(rules, scene);
    whole.TakeAll(arrived);
    whole.fold().Finish();
    for (const auto& [mark, given] : whole.marks()) {
      ++boundaries;
      RecordedFold rest(rules, scene);
      for (size_t n = 0; n < given; ++n) rest.fold().Restore(whole.out()[n].first, whole.out()[n].second);
      rest.fold().Resume(mark);
      for (const auto& [host, frame] : arrived) {
        const int64_t second = frame.first_interval() / (kNsPerSecond / scene.interval_ns);
        if (second >= mark.settled_seconds) rest.fold().Take(host, frame);
      }
      rest.fold().Finish();
      const std::vector<HostFrame> expected(whole.out().begin() + static_cast<std::ptrdiff_t>(given),
                                            whole.out().end());
      // The first hour's frames that come after the mark are not settled by it.
      std::vector<HostFrame> of_minutes;
      for (const HostFrame& frame : expected) {
        const int64_t second = frame.second.first_interval() / (kNsPerSecond / scene.interval_ns);
        if (second >= mark.settled_seconds) of_minutes.push_back(frame);
      }
      ASSERT_EQ(rest.out().size(), of_minutes.size()) << i << ", " << mark.settled_seconds;
      ASSERT_TRUE(BytesOf(rest.out()) == BytesOf(of_minutes)) << i << ", " << mark.settled_seconds;
    }
  }
  EXPECT_GT(boundaries, 20U);
}

// Everything that a sum of frames has is exact.
TEST(FoldProperty, LosesNothingThatIsSummed) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kScenes; ++i) {
    const FrameScene scene = RandomScene(random);
    const FoldRules rules = RulesOf(scene, random);
    const Frames frames = MakeFrames(scene, random);
    const auto folded = FoldedStreams(rules, scene, frames, random);
    ASSERT_EQ(folded.size(), frames.streams.size());
    for (const auto& [key, truth] : frames.streams) {
      const std::vector<v1::Frame>& out = folded.at(key);
      ASSERT_LT(out.size(), truth.size());
      ASSERT_EQ(SecondsOf(out, scene.interval_ns), SecondsOf(truth, scene.interval_ns)) << i;
      Histogram latency;
      Histogram response;
      Histogram true_latency;
      Histogram true_response;
      v1::Frame sums;
      v1::Frame true_sums;
      uint64_t frames_in = 0;
      int64_t next_interval = truth.front().first_interval();
      const auto add = [](const v1::Frame& frame, Histogram& times, Histogram& responses, v1::Frame& sum) {
        ASSERT_TRUE(times.Merge(frame.latency()).ok());
        ASSERT_TRUE(responses.Merge(frame.response()).ok());
        sum.set_bytes(sum.bytes() + frame.bytes());
        sum.set_between_ns(sum.between_ns() + frame.between_ns());
        sum.mutable_stalls()->MergeFrom(frame.stalls());
        sum.mutable_start_delay()->set_max_ns(std::max(sum.start_delay().max_ns(), frame.start_delay().max_ns()));
        sum.set_last_end_ns(std::max(sum.last_end_ns(), frame.last_end_ns()));
        if (frame.first_seq() == 1) sum.set_first_phase_ns(frame.first_phase_ns());
      };
      for (const v1::Frame& frame : truth) add(frame, true_latency, true_response, true_sums);
      for (const v1::Frame& frame : out) {
        add(frame, latency, response, sums);
        frames_in += frame.has_aged() ? frame.aged().frames() : 1;
        ASSERT_EQ(frame.first_interval(), next_interval);
        next_interval = frame.first_interval() + std::max<int64_t>(frame.interval_count(), 1);
        ASSERT_TRUE(!frame.has_aged() || CheckAgedSeconds(frame, kNsPerSecond / scene.interval_ns).ok());
      }
      EXPECT_EQ(frames_in, truth.size());
      EXPECT_EQ(latency.ToProto().SerializeAsString(), true_latency.ToProto().SerializeAsString());
      EXPECT_EQ(response.ToProto().SerializeAsString(), true_response.ToProto().SerializeAsString());
      EXPECT_EQ(sums.SerializeAsString(), true_sums.SerializeAsString());
    }
  }
}

// The ten slowest writes of a stream, found among those that its frames report.
std::vector<uint64_t> Slowest(const std::vector<v1::Frame>& frames, bool response) {
  std::vector<v1::WriteSample> all;
  for (const v1::Frame& frame : frames) {
    const auto& slow = response ? frame.slow_responses() : frame.slow();
    all.insert(all.end(), slow.begin(), slow.end());
  }
  std::ranges::sort(all, [response](const v1::WriteSample& a, const v1::WriteSample& b) {
    const uint64_t of_a = response ? a.response_ns() : a.latency_ns();
    const uint64_t of_b = response ? b.response_ns() : b.latency_ns();
    return of_a != of_b ? of_a > of_b : a.seq() < b.seq();
  });
  std::vector<uint64_t> numbers;
  for (size_t i = 0; i < std::min<size_t>(all.size(), 10); ++i) numbers.push_back(all[i].seq());
  return numbers;
}

TEST(FoldProperty, KeepsTheSlowestWritesAndTheExtremes) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kScenes; ++i) {
    const FrameScene scene = RandomScene(random);
    const FoldRules rules = RulesOf(scene, random);
    const Frames frames = MakeFrames(scene, random);
    const auto folded = FoldedStreams(rules, scene, frames, random);
    for (const auto& [key, truth] : frames.streams) {
      const std::vector<v1::Frame>& out = folded.at(key);
      for (const bool response : {false, true}) ASSERT_EQ(Slowest(out, response), Slowest(truth, response));
      const auto extremes = [](const std::vector<v1::Frame>& all) {
        uint64_t slowest = 0;
        uint64_t slowest_ns = 0;
        uint64_t fastest = 0;
        uint64_t fastest_ns = UINT64_MAX;
        for (const v1::Frame& frame : all) {
          if (frame.latency().count() == 0) continue;
          if (frame.latency().max_ns() > slowest_ns) {
            slowest_ns = frame.latency().max_ns();
            slowest = frame.slowest().seq();
          }
          if (frame.latency().min_ns() < fastest_ns) {
            fastest_ns = frame.latency().min_ns();
            fastest = frame.fastest_seq();
          }
        }
        return std::pair(slowest, fastest);
      };
      ASSERT_EQ(extremes(out), extremes(truth));
    }
  }
}

// A folded frame never claims a shorter gap than its frames prove, and keeps the bounds of its ends.
TEST(FoldProperty, ProvesNoMoreOfTheServiceThanTheFramesDid) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kScenes; ++i) {
    FrameScene scene = RandomScene(random);
    scene.operations = 1;
    const FoldRules rules = RulesOf(scene, random);
    const Frames frames = MakeFrames(scene, random);
    for (const auto& [key, out] : FoldedStreams(rules, scene, frames, random)) {
      auto next = frames.streams.at(key).begin();
      for (const v1::Frame& frame : out) {
        std::optional<ServedSpan> truth;
        for (uint64_t n = frame.has_aged() ? frame.aged().frames() : 1; n > 0; --n, ++next) {
          const std::optional<ServedSpan> one = ServedBy(*next);
          if (truth && one) truth->Append(*one);
          if (!truth) truth = one;
        }
        const std::optional<ServedSpan> served = ServedBy(frame);
        ASSERT_EQ(served.has_value(), truth.has_value());
        if (!served) continue;
        EXPECT_EQ(served->first_start_ns, truth->first_start_ns);
        EXPECT_EQ(served->first_end_ns, truth->first_end_ns);
        EXPECT_EQ(served->last_start_ns, truth->last_start_ns);
        EXPECT_EQ(served->last_end_ns, truth->last_end_ns);
        EXPECT_EQ(served->longest_gap_ns, truth->longest_gap_ns);
      }
    }
  }
}

// Around each stall, within the bound, the frames of all writers are as the agents sent them; and no more seconds of an
// hour stay whole than may.
TEST(FoldProperty, KeepsTheFramesAroundStallsWhole) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  size_t stalls = 0;
  for (int i = 0; i < kScenes; ++i) {
    FrameScene scene = RandomScene(random);
    scene.operations = 1;
    scene.frames_of_coalesced = 0;
    scene.latest_report_ns = 0;
    FoldRules rules = RulesOf(scene, random);
    rules.stall_ns = 200 * kNsPerMs;
    const int64_t per_second = kNsPerSecond / scene.interval_ns;
    const Frames frames = MakeFrames(scene, random);
    std::set<int64_t> near;
    const auto add = [&](int64_t offset_ns) {
      const int64_t second = offset_ns / kNsPerSecond;
      for (int64_t at = second - rules.around_stall_seconds; at <= second + rules.around_stall_seconds; ++at) {
        if (at >= rules.whole_seconds && at < scene.to_second) near.insert(at);
      }
    };
    for (const auto& [key, all] : frames.streams) {
      const int64_t start_ns = FrameScene::MeasuredStartNs(std::get<0>(key));
      for (const v1::Frame& frame : all) {
        for (const v1::StalledInterval& stall : frame.stalls()) {
          if (stall.longest_ns() < rules.stall_ns) continue;
          add(stall.begin_ns() - start_ns);
          add(stall.end_ns() - start_ns);
        }
        if (frame.growing_stall().longest_ns() >= rules.stall_ns) add(frame.growing_stall().begin_ns() - start_ns);
      }
    }
    stalls += near.size();
    // The earliest of them fit in the hour's bound.
    std::set<int64_t> whole;
    for (const int64_t second : near) {
      if (static_cast<int64_t>(whole.size()) < rules.most_whole_of_hour) whole.insert(second);
    }
    for (const auto& [key, out] : FoldedStreams(rules, scene, frames, random)) {
      for (const v1::Frame& frame : out) {
        if (frame.closing() || frame.first_interval() < rules.whole_seconds * per_second) continue;
        const int64_t first = frame.first_interval() / per_second;
        const int64_t last = (int64_t{frame.first_interval()} + frame.interval_count() - 1) / per_second;
        for (int64_t second = first; second <= last; ++second) {
          EXPECT_EQ(!frame.has_aged(), whole.contains(second)) << i << ": second " << second;
        }
      }
    }
  }
  EXPECT_GT(stalls, 0U);
}

}  // namespace
}  // namespace plimsoll::tests
