#include "controller/fold/step_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/fold/aged_seconds.h"
#include "tests/unit/fold/random_frames.h"

namespace plimsoll::tests {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kSeed = 4;

// One host and one writer with a frame a second, from the last seconds before the first that are folded on.
FrameScene CalmScene() {
  FrameScene scene;
  scene.interval_ns = kNsPerSecond;
  scene.hosts = 1;
  scene.qms = 1;
  scene.from_second = 3'590;
  scene.to_second = 3'800;
  scene.intervals_of_stall = 0;
  scene.frames_of_coalesced = 0;
  return scene;
}

FoldRules RulesFor(const FrameScene& scene) {
  FoldRules rules;
  rules.interval_ns = scene.interval_ns;
  return rules;
}

struct Sent {
  explicit Sent(const FrameScene& asked) : scene(asked) {
    Random random(kSeed);
    frames = MakeFrames(scene, random);
    arrived = Arrive(frames, random, 0);
  }
  const FrameScene scene;
  Frames frames;
  std::vector<HostFrame> arrived;
};

// First interval and number of intervals of each frame.
std::vector<std::pair<int64_t, int64_t>> Spans(const std::vector<HostFrame>& frames) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const auto& [host, frame] : frames) spans.emplace_back(frame.first_interval(), frame.interval_count());
  return spans;
}

v1::Frame FrameAt(v1::Frame frame, int32_t first_interval) {
  frame.set_first_interval(first_interval);
  return frame;
}

TEST(StepFold, GivesTheFirstHourOnAtOnceAsItCame) {
  FrameScene scene = CalmScene();
  scene.to_second = 3'600;
  const Sent sent(scene);
  RecordedFold fold(RulesFor(scene), scene);
  for (size_t i = 0; i + 1 < sent.arrived.size(); ++i) {
    fold.fold().Take(0, sent.arrived[i].second);
    ASSERT_EQ(fold.out().size(), i + 1);
  }
  EXPECT_EQ(BytesOf(fold.out()), BytesOf(std::vector<HostFrame>(sent.arrived.begin(), sent.arrived.end() - 1)));
}

TEST(StepFold, LeavesTheWarmUpAlone) {
  FrameScene scene = CalmScene();
  RecordedFold fold(RulesFor(scene), scene);
  v1::Frame frame;
  frame.set_qm(1);
  frame.set_first_interval(-9'000);
  frame.set_interval_count(1);
  fold.fold().Take(0, frame);
  EXPECT_EQ(BytesOf(fold.out()), BytesOf({{0, frame}}));
}

// An agent may name any moment.
TEST(StepFold, KeepsNothingOfSecondsThatTheStepDoesNotHave) {
  FrameScene scene = CalmScene();
  FoldRules rules = RulesFor(scene);
  rules.end_second = 4'000;
  v1::Frame frame;
  frame.set_qm(1);
  frame.set_interval_count(1);
  v1::StalledInterval& stall = *frame.add_stalls();
  stall.set_begin_ns(FrameScene::MeasuredStartNs(0) + 3'999 * kNsPerSecond);
  stall.set_end_ns(FrameScene::MeasuredStartNs(0) + 900'000 * kNsPerSecond);
  stall.set_longest_ns(896'001 * kNsPerSecond);
  EXPECT_TRUE(WaitsToBeFolded(FrameAt(frame, 3'999), rules));
  EXPECT_FALSE(WaitsToBeFolded(FrameAt(frame, 4'000), rules));
  RecordedFold fold(rules, scene);
  fold.fold().Take(0, FrameAt(frame, 900'000));
  EXPECT_EQ(BytesOf(fold.out()), BytesOf({{0, FrameAt(frame, 900'000)}}));
}

TEST(StepFold, GivesOneFrameForEachMinuteOnceEveryWriterHasPassedIt) {
  const Sent sent(CalmScene());
  const FoldRules rules = RulesFor(sent.scene);
  RecordedFold fold(rules, sent.scene);
  size_t next = 0;
  const auto take_below = [&](int64_t second) {
    while (sent.arrived[next].second.first_interval() < second) fold.fold().Take(0, sent.arrived[next++].second);
  };
  take_below(3'660 + rules.settle_seconds);
  EXPECT_EQ(fold.out().size(), 11U);
  EXPECT_EQ(fold.out().back().second.first_interval(), 3'600);
  EXPECT_EQ(fold.out().back().second.interval_count(), 60U);
  EXPECT_TRUE(fold.out().back().second.has_aged());
  ASSERT_EQ(fold.marks().size(), 1U);
  EXPECT_EQ(fold.marks().front().first, (StepFold::Mark{3'660, 0}));
  take_below(3'720 + rules.settle_seconds - 1);
  EXPECT_EQ(fold.out().size(), 11U);
  take_below(3'720 + rules.settle_seconds);
  EXPECT_EQ(fold.out().size(), 12U);
}

TEST(StepFold, WaitsForAWriterThatIsBehindAndNotForALostHost) {
  FrameScene scene = CalmScene();
  scene.hosts = 2;
  const Sent sent(scene);
  RecordedFold fold(RulesFor(scene), scene);
  const std::vector<v1::Frame>& ahead = sent.frames.streams.at({0, 1, 0});
  for (const v1::Frame& frame : ahead) fold.fold().Take(0, frame);
  EXPECT_EQ(fold.out().size(), 10U);
  const std::vector<v1::Frame>& behind = sent.frames.streams.at({1, 1, 0});
  for (size_t i = 0; i < 85; ++i) fold.fold().Take(1, behind[i]);
  // Ten each of the first hour, and a minute of both.
  EXPECT_EQ(fold.out().size(), 22U);
  fold.fold().Leave(1);
  fold.fold().Finish();
  EXPECT_THAT(Spans({fold.out().end() - 3, fold.out().end()}),
              ElementsAre(std::pair(3'720, 60), std::pair(3'780, 20), std::pair(3'800, 0)));
}

TEST(StepFold, FoldsWhatALostHostSentBeforeItWasLost) {
  FrameScene scene = CalmScene();
  scene.hosts = 2;
  const Sent sent(scene);
  RecordedFold fold(RulesFor(scene), scene);
  for (size_t i = 0; i < 50; ++i) fold.fold().Take(1, sent.frames.streams.at({1, 1, 0})[i]);
  fold.fold().Leave(1);
  for (const v1::Frame& frame : sent.frames.streams.at({0, 1, 0})) fold.fold().Take(0, frame);
  fold.fold().Finish();
  const std::vector<v1::Frame> of_lost = fold.ByStream().at({1, 1, 0});
  ASSERT_EQ(of_lost.size(), 11U);
  EXPECT_EQ(of_lost.back().interval_count(), 40U);
}

// A frame without writes that reports the stall, which is over.
v1::Frame WithStall(v1::Frame frame, int64_t begin_ns, int64_t length_ns) {
  v1::StalledInterval& stall = *frame.add_stalls();
  stall.set_begin_ns(begin_ns);
  stall.set_end_ns(begin_ns + length_ns);
  return frame;
}

TEST(StepFold, FoldsAroundTheSecondsNearAStall) {
  const Sent sent(CalmScene());
  RecordedFold fold(RulesFor(sent.scene), sent.scene);
  for (const auto& [host, frame] : sent.arrived) {
    const bool stalled = frame.first_interval() == 3'640;
    fold.fold().Take(host, stalled
                               ? WithStall(frame, FrameScene::MeasuredStartNs(0) + 3'640 * kNsPerSecond, 300 * kNsPerMs)
                               : frame);
  }
  fold.fold().Finish();
  EXPECT_THAT(Spans({fold.out().begin() + 10, fold.out().begin() + 20}),
              ElementsAre(std::pair(3'600, 37), std::pair(3'637, 1), std::pair(3'638, 1), std::pair(3'639, 1),
                          std::pair(3'640, 1), std::pair(3'641, 1), std::pair(3'642, 1), std::pair(3'643, 1),
                          std::pair(3'644, 16), std::pair(3'660, 60)));
}

TEST(StepFold, KeepsNothingWholeForWhatIsTooShortForAStall) {
  const Sent sent(CalmScene());
  RecordedFold fold(RulesFor(sent.scene), sent.scene);
  for (const auto& [host, frame] : sent.arrived) {
    const bool stalled = frame.first_interval() == 3'640;
    fold.fold().Take(
        host, stalled ? WithStall(frame, FrameScene::MeasuredStartNs(0) + 3'640 * kNsPerSecond, 60 * kNsPerMs) : frame);
  }
  fold.fold().Finish();
  EXPECT_EQ(fold.out().size(), 15U);
  EXPECT_EQ(fold.out()[10].second.stalls_size(), 1);
}

TEST(StepFold, KeepsNoMoreOfAnHourWholeThanMayBe) {
  const Sent sent(CalmScene());
  FoldRules rules = RulesFor(sent.scene);
  rules.most_whole_of_hour = 20;
  RecordedFold fold(rules, sent.scene);
  for (const auto& [host, frame] : sent.arrived) {
    const int64_t second = frame.first_interval();
    const bool stalled = second >= 3'600 && second < 3'790;
    fold.fold().Take(
        host,
        stalled ? WithStall(frame, FrameScene::MeasuredStartNs(0) + second * kNsPerSecond, 300 * kNsPerMs) : frame);
  }
  fold.fold().Finish();
  size_t whole = 0;
  for (const auto& [host, frame] : fold.out()) {
    whole += !frame.has_aged() && frame.first_interval() >= 3'600 && !frame.closing() ? 1U : 0U;
  }
  EXPECT_EQ(whole, 20U);
}

TEST(StepFold, LeavesFramesWholeThatItCannotFold) {
  const Sent sent(CalmScene());
  RecordedFold fold(RulesFor(sent.scene), sent.scene);
  for (const auto& [host, frame] : sent.arrived) {
    v1::Frame changed = frame;
    if (frame.first_interval() == 3'610) changed.set_stalls_left_out(2);
    if (frame.first_interval() == 3'620) changed.mutable_latency()->set_count(changed.latency().count() + 1);
    fold.fold().Take(host, changed);
  }
  fold.fold().Finish();
  EXPECT_THAT(Spans({fold.out().begin() + 10, fold.out().begin() + 15}),
              ElementsAre(std::pair(3'600, 10), std::pair(3'610, 1), std::pair(3'611, 9), std::pair(3'620, 1),
                          std::pair(3'621, 39)));
}

}  // namespace
}  // namespace plimsoll::tests
