// Pictures of a drill's faults: what is on them, where, and how large they get.
#include "controller/ha/ha_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/algorithm.h"
#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "tests/testing.h"
#include "tests/unit/ha/sim_drill.h"

namespace plimsoll::tests {
namespace {

v1::Report ReportOf(const std::vector<v1::JournalRecord>& records) {
  Analyzer analyzer;
  for (const v1::JournalRecord& record : records) analyzer.Add(record);
  return analyzer.Finish();
}

const v1::HaPictureState* StateIn(const v1::HaPictureLane& lane, v1::HaPictureState::State state) {
  const auto found = std::find_if(lane.states().begin(), lane.states().end(),
                                  [state](const v1::HaPictureState& one) { return one.state() == state; });
  return found == lane.states().end() ? nullptr : &*found;
}

uint64_t WritesBetween(const v1::HaPicture& picture, const v1::HaPictureLane& lane, int64_t from_ns, int64_t to_ns) {
  uint64_t sum = 0;
  for (int bin = 0; bin < lane.writes_size(); ++bin) {
    const int64_t at_ns = picture.from_ns() + bin * picture.bin_ns() + picture.bin_ns() / 2;
    if (at_ns >= from_ns && at_ns < to_ns) sum += lane.writes(bin);
  }
  return sum;
}

#define EXPECT_WITHIN(value_ns, wanted_ns, error_ns) \
  EXPECT_NEAR(static_cast<double>(value_ns), static_cast<double>(wanted_ns), static_cast<double>(error_ns))

// A kill: granted 2 s after it, lock free 10 ms before that, replayed 20 ms and written 23 ms after the grant.
TEST(HaPicture, ShowsATakeoverWhereItsTimesAre) {
  const v1::Report report = AnalyzeDrill({});
  ASSERT_EQ(report.ha().pictures_size(), 3);
  const v1::HaPicture& picture = report.ha().pictures(1);
  EXPECT_EQ(picture.round(), 2U);
  EXPECT_LT(picture.from_ns(), -kNsPerSecond / 4);
  EXPECT_GT(picture.to_ns(), 2 * kNsPerSecond + 23 * kNsPerMs);
  EXPECT_EQ(report.ha().rounds(1).takeovers(0).fault_at().nanos(), picture.zero().nanos());
  const int64_t error_ns = 2 * kNsPerMs;
  EXPECT_LT(picture.error_ns(), error_ns);
  ASSERT_EQ(picture.queue_managers_size(), 1);
  const v1::HaPictureQueueManager& qm = picture.queue_managers(0);
  EXPECT_EQ(qm.fault_ns(), 0);
  EXPECT_LT(qm.last_write_ns(), 0);
  EXPECT_WITHIN(qm.granted_ns(), 2 * kNsPerSecond, error_ns);
  EXPECT_WITHIN(qm.replayed_ns() - qm.granted_ns(), 20 * kNsPerMs, 10 * kNsPerUs);
  EXPECT_WITHIN(qm.first_write_ns() - qm.granted_ns(), 23 * kNsPerMs, 10 * kNsPerUs);
  EXPECT_WITHIN(qm.free_ns(), 2 * kNsPerSecond - 35 * kNsPerMs, error_ns)
      << "the poller was refused 50 ms before it was granted, 10 ms before the grant: the middle";

  ASSERT_EQ(qm.lanes_size(), 2);
  const v1::HaPictureLane& old = qm.lanes(0);
  const v1::HaPictureLane& next = qm.lanes(1);
  EXPECT_EQ(old.host(), "beta");
  EXPECT_EQ(next.host(), "alpha");
  const v1::HaPictureState* const was_active = StateIn(old, v1::HaPictureState::STATE_ACTIVE);
  ASSERT_NE(was_active, nullptr);
  EXPECT_GE(was_active->from_ns(), picture.from_ns());
  EXPECT_WITHIN(was_active->to_ns(), 0, error_ns);
  const v1::HaPictureState* const replaying = StateIn(next, v1::HaPictureState::STATE_REPLAYING);
  ASSERT_NE(replaying, nullptr);
  EXPECT_EQ(replaying->from_ns(), qm.granted_ns());
  EXPECT_WITHIN(replaying->to_ns() - replaying->from_ns(), 21 * kNsPerMs, 10 * kNsPerUs);
  const v1::HaPictureState* const active = StateIn(next, v1::HaPictureState::STATE_ACTIVE);
  ASSERT_NE(active, nullptr);
  EXPECT_EQ(active->from_ns(), replaying->to_ns());

  EXPECT_EQ(WritesBetween(picture, old, picture.from_ns(), picture.bin_ns()), 90U)
      << "all that it wrote, before the fault";
  EXPECT_EQ(WritesBetween(picture, old, picture.bin_ns(), picture.to_ns()), 0U);
  EXPECT_EQ(WritesBetween(picture, next, picture.from_ns(), qm.granted_ns()), 0U);
  EXPECT_GT(WritesBetween(picture, next, qm.granted_ns(), picture.to_ns()), 0U);
}

TEST(HaPicture, ShowsTheLocksOfTheNewActiveInstanceFromTheirGrants) {
  const v1::Report report = AnalyzeDrill({});
  const v1::HaPictureQueueManager& qm = report.ha().pictures(0).queue_managers(0);
  ASSERT_EQ(qm.lanes_size(), 2);
  std::vector<std::pair<v1::HaLock, int64_t>> locks;
  for (const v1::HaPictureLock& lock : qm.lanes(1).locks()) locks.emplace_back(lock.lock(), lock.from_ns());
  std::sort(locks.begin(), locks.end());
  // The poller keeps the lock `poll` that it found free, 10 ms before the grant.
  EXPECT_THAT(locks, ElementsAre(Pair(v1::HA_LOCK_ACTIVE, qm.granted_ns()),
                                 Pair(v1::HA_LOCK_POLL, qm.granted_ns() - 10 * kNsPerMs)));
}

TEST(HaPicture, ShowsALateWriteOfTheOldInstanceAndTheCommandThatCausedTheFault) {
  SimDrill drill;
  drill.rounds = 1;
  drill.fault = v1::HA_FAULT_KIND_FREEZE;
  drill.late_by_ns = 3 * kNsPerSecond;
  const v1::Report report = AnalyzeDrill(drill);
  ASSERT_EQ(report.ha().pictures_size(), 1);
  const v1::HaPicture& picture = report.ha().pictures(0);
  const v1::HaPictureQueueManager& qm = picture.queue_managers(0);
  EXPECT_EQ(WritesBetween(picture, qm.lanes(0), qm.granted_ns(), picture.to_ns()), 1U);
  ASSERT_EQ(picture.commands_size(), 1);
  EXPECT_FALSE(picture.commands(0).undo());
  EXPECT_EQ(picture.commands(0).to_ns() - picture.commands(0).from_ns(), 5 * kNsPerMs);
}

TEST(HaPicture, ARoundWithoutATakeoverHasOneWithoutPhases) {
  SimDrill drill;
  drill.rounds = 1;
  drill.never_released = true;
  const v1::Report report = AnalyzeDrill(drill);
  ASSERT_EQ(report.ha().pictures_size(), 1);
  const v1::HaPictureQueueManager& qm = report.ha().pictures(0).queue_managers(0);
  EXPECT_TRUE(qm.has_fault_ns());
  EXPECT_FALSE(qm.has_granted_ns());
  EXPECT_GT(report.ha().pictures(0).to_ns(), 60 * kNsPerSecond) << "so long the takeover was waited for";
}

// The journal with another pair's queue manager 2: from the first round's begin on it writes ten times a frame, 1 ms
// each, and in the frame of 1 s after it once for 80 ms.
std::vector<v1::JournalRecord> JournalWithAnother() {
  std::vector<v1::JournalRecord> records = MakeDrillJournal({});
  const auto begin = std::find_if(records.begin(), records.end(),
                                  [](const v1::JournalRecord& record) { return record.ha().has_round_begin(); });
  const int64_t begin_ns = begin->time_ns();
  constexpr uint32_t kInstance = 901;
  constexpr int64_t kFrameNs = 250 * kNsPerMs;
  v1::JournalRecord order;
  order.set_time_ns(begin_ns);
  order.mutable_host_command()->mutable_command()->mutable_ha()->mutable_start()->set_instance(kInstance);
  order.mutable_host_command()->mutable_command()->mutable_ha()->mutable_start()->set_qm(2);
  v1::JournalRecord record;
  record.set_time_ns(begin_ns);
  v1::HaEvent& writing = *record.mutable_ha()->mutable_events()->mutable_events()->add_events();
  writing.set_instance(kInstance);
  writing.set_qm(2);
  writing.set_at_ns(begin_ns - 4 * kFrameNs);
  writing.mutable_writing()->set_first_sequence(1);
  std::vector<v1::JournalRecord> more = {order, record};
  for (int number = 0; number < 16; ++number) {
    record.Clear();
    v1::Frame& frame = *record.mutable_frames()->add_frames();
    record.set_time_ns(std::max(begin_ns, begin_ns + (number - 3) * kFrameNs));
    frame.set_step(kInstance);
    frame.set_qm(2);
    frame.set_first_interval(number);
    frame.set_interval_count(1);
    const bool slow = number == 8;
    frame.mutable_latency()->set_count(slow ? 1 : 10);
    frame.mutable_latency()->set_sum_ns(slow ? 80 * kNsPerMs : 10 * kNsPerMs);
    frame.mutable_latency()->set_max_ns(slow ? 80 * kNsPerMs : kNsPerMs);
    frame.mutable_slowest()->set_start_ns(begin_ns + (number - 4) * kFrameNs + 50 * kNsPerMs);
    more.push_back(record);
  }
  records.insert(records.end(), more.begin(), more.end());
  StableSort(records, [](const auto& a, const auto& b) { return a.time_ns() < b.time_ns(); });
  return records;
}

TEST(HaPicture, ShowsTheFramesOfAQueueManagerThatTheFaultDidNotStrike) {
  const v1::Report report = ReportOf(JournalWithAnother());
  ASSERT_GE(report.ha().pictures_size(), 1);
  const v1::HaPicture& picture = report.ha().pictures(0);
  EXPECT_EQ(picture.frame_ns(), 250 * kNsPerMs);
  ASSERT_EQ(picture.others_size(), 1);
  const v1::HaPictureOther& other = picture.others(0);
  EXPECT_EQ(other.qm(), 2U);
  EXPECT_EQ(other.host(), "alpha");
  EXPECT_GT(other.before().count(), 0U);
  EXPECT_EQ(other.before().max_ns(), static_cast<uint64_t>(kNsPerMs));
  EXPECT_EQ(other.during().max_ns(), static_cast<uint64_t>(80 * kNsPerMs));
  EXPECT_EQ(picture.others_during().count(), other.during().count());
  const auto slow =
      std::find_if(other.frames().begin(), other.frames().end(), [](const auto& frame) { return frame.count() == 1; });
  ASSERT_NE(slow, other.frames().end());
  // It begins 1 s after the round, whose fault comes within 10 ms.
  EXPECT_WITHIN(slow->from_ns(), kNsPerSecond, 11 * kNsPerMs);
  EXPECT_WITHIN(slow->slowest_from_ns() - slow->from_ns(), 50 * kNsPerMs, kNsPerMs);
  EXPECT_EQ(slow->to_ns() - slow->from_ns(), picture.frame_ns());
}

TEST(HaPictures, OfManyRoundsTheWorstAreShownAndThoseThatFailedFirst) {
  SimDrill drill;
  drill.rounds = 50;
  drill.dropped = 3;
  const v1::Report report = AnalyzeDrill(drill);
  ASSERT_EQ(report.ha().rounds_size(), 50);
  ASSERT_EQ(static_cast<size_t>(report.ha().pictures_size()), HaPictures::kMost);
  EXPECT_EQ(report.ha().pictures().rbegin()->round(), 50U) << "its last one lost writes";
  for (int i = 1; i < report.ha().pictures_size(); ++i) {
    EXPECT_LT(report.ha().pictures(i - 1).round(), report.ha().pictures(i).round());
  }
  uint64_t least_ns = UINT64_MAX;
  for (const v1::HaPicture& picture : report.ha().pictures()) {
    const int64_t gap_ns = report.ha().rounds(static_cast<int>(picture.round()) - 1).takeovers(0).gap().ns();
    if (picture.round() != 50) least_ns = std::min(least_ns, static_cast<uint64_t>(gap_ns));
    EXPECT_LE(picture.queue_managers(0).lanes(0).writes_size(), kMostPictureBins);
  }
  const auto longer = std::count_if(report.ha().rounds().begin(), report.ha().rounds().end(), [&](const auto& round) {
    return static_cast<uint64_t>(round.takeovers(0).gap().ns()) > least_ns;
  });
  EXPECT_LT(static_cast<size_t>(longer), HaPictures::kMost) << "none with a longer gap is left out";
}

// What the verdict makes of a round decides, not what a picture would by itself.
TEST(HaPictures, ARoundThatProvesNothingByTheVerdictIsShown) {
  SimDrill drill;
  drill.rounds = 40;
  drill.writes = 2;
  drill.fault = v1::HA_FAULT_KIND_HANG;
  drill.short_hang_round = 35;
  const v1::Report report = AnalyzeDrill(drill);
  ASSERT_FALSE(report.ha().rounds(34).reasons().empty());
  const auto& shown = report.ha().pictures();
  EXPECT_TRUE(std::any_of(shown.begin(), shown.end(), [](const auto& picture) { return picture.round() == 35; }));
}

// A block is found to be lost by the final scan only, long after its round.
TEST(HaPictures, ARoundThatLostABlockByTheFinalScanIsShownFirst) {
  SimDrill drill;
  drill.rounds = 18;
  drill.in_flight = InFlight::kLate;
  const v1::Report report = AnalyzeDrill(drill);
  ASSERT_EQ(report.ha().rounds(17).takeovers(0).findings().lost(), 1U);
  EXPECT_EQ(report.ha().pictures().rbegin()->round(), 18U);
}

TEST(HaPictures, AJournalThatEndsInARoundHasThePictureOfWhatIsThere) {
  std::vector<v1::JournalRecord> records = MakeDrillJournal({});
  const auto end = std::find_if(records.begin(), records.end(),
                                [](const v1::JournalRecord& record) { return record.ha().has_round_end(); });
  records.erase(end, records.end());
  EXPECT_EQ(ReportOf(records).ha().pictures_size(), 1);
}

TEST(HaWriteBins, LoseNoWriteWhenTheyBecomeWider) {
  HaWriteBins bins;
  constexpr uint64_t kWrites = 5 * HaWriteBins::kMostBins;
  for (uint64_t i = 0; i < kWrites; ++i) bins.Add(static_cast<int64_t>(i) * HaWriteBins::kLeastBinNs, 2);
  EXPECT_LE(bins.size(), HaWriteBins::kMostBins);
  uint64_t sum = 0;
  int64_t last_ns = -1;
  bins.ForEach([&](int64_t at_ns, uint64_t writes) {
    EXPECT_GT(at_ns, last_ns);
    last_ns = at_ns;
    sum += writes;
  });
  EXPECT_EQ(sum, 2 * kWrites);
  bins.Trim(INT64_MAX / 4);
  EXPECT_EQ(bins.size(), 0U);
}

TEST(HaTracks, KeepOfAnInstanceThatIsNotHeldTheLastSecondsOnly) {
  HaTracks tracks;
  v1::HaEvents events;
  v1::HaEvent& writing = *events.add_events();
  writing.set_instance(1);
  writing.set_qm(1);
  writing.set_at_ns(kNsPerSecond);
  writing.mutable_writing();
  tracks.TakeEvents(0, events);
  const auto frames = [&](int from, int to) {
    for (int number = from; number < to; ++number) {
      v1::Frame frame;
      frame.set_step(1);
      frame.set_qm(1);
      frame.set_first_interval(number);
      frame.set_interval_count(1);
      frame.mutable_latency()->set_count(1);
      tracks.TakeFrame(0, frame);
      tracks.TakeFrame(1, frame);  // another host has no such instance
    }
  };
  frames(0, 1'000);
  const auto kept = static_cast<size_t>(HaTracks::kKeptNs / tracks.frame_interval_ns() + 1);
  EXPECT_LE(tracks.Find(1)->frames.size(), kept);
  tracks.Hold({});
  frames(1'000, 6'000);
  EXPECT_LE(tracks.Find(1)->frames.size(), HaTracks::kMostFrames);
  const std::deque<HaFrame>& held = tracks.Find(1)->frames;
  const uint64_t sum = std::accumulate(held.begin(), held.end(), uint64_t{0},
                                       [](uint64_t count, const HaFrame& frame) { return count + frame.count; });
  EXPECT_GE(sum, 5'000U) << "joined frames hold the writes of both";
  EXPECT_LE(sum, 5'000U + kept);
  tracks.Drop();
  EXPECT_LE(tracks.Find(1)->frames.size(), kept);
}

}  // namespace
}  // namespace plimsoll::tests
