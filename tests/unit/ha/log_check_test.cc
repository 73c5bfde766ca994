// What a replay and a scan find, held against what was acknowledged: each kind of damage by itself.
#include "controller/ha/log_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

constexpr HaLogShape kShape{4096, 10, 30};

v1::HaFaultyBlock Faulty(v1::HaFaultyBlock::Kind kind, uint64_t sequence) {
  v1::HaFaultyBlock block;
  block.set_kind(kind);
  block.set_sequence(sequence);
  return block;
}

v1::HaReplayed Replayed(uint64_t last, const std::vector<v1::HaFaultyBlock>& blocks) {
  v1::HaReplayed replayed;
  replayed.set_last_sequence(last);
  for (const v1::HaFaultyBlock& block : blocks) *replayed.mutable_faults()->add_blocks() = block;
  return replayed;
}

// A scan of a log whose places hold the blocks from `first` of one epoch, and of `then` from the block `from` on.
v1::HaScanned Scanned(uint32_t epoch, uint32_t then, uint64_t from) {
  v1::HaScanned scanned;
  for (uint64_t place = 0; place < kShape.lap_blocks; ++place) {
    v1::HaLogRange& range = *scanned.add_ranges();
    range.set_first_place(place);
    range.set_blocks(1);
    range.set_epoch(place + 1 < from ? epoch : then);
    range.set_first_sequence(place + 1);
  }
  return scanned;
}

// Epoch 1 had acknowledged the blocks up to 10, the replay found `replayed`, epoch 2 went on to 30.
std::vector<HaAcknowledged> TwoEpochs(uint64_t replayed) {
  return {{1, 1, 10, 10, replayed}, {2, replayed + 1, 30, 30, UINT64_MAX}};
}

TEST(CheckReplay, EachKindOfDamageCountsAsWhatItIs) {
  std::set<uint64_t> known;
  const HaLogFindings found = CheckReplay(
      Replayed(20, {Faulty(v1::HaFaultyBlock::KIND_TORN, 3), Faulty(v1::HaFaultyBlock::KIND_MIXED, 4),
                    Faulty(v1::HaFaultyBlock::KIND_MISPLACED, 5), Faulty(v1::HaFaultyBlock::KIND_UNSTAMPED, 6),
                    Faulty(v1::HaFaultyBlock::KIND_MISSING, 7), Faulty(v1::HaFaultyBlock::KIND_EPOCH_REVERSED, 8)}),
      20, known);
  EXPECT_EQ(found.torn, 2U) << "a mixed block is one of whose pages some are another write's";
  EXPECT_EQ(found.misplaced, 1U);
  EXPECT_EQ(found.missing, 3U);
  EXPECT_EQ(found.order_broken, 2U);
  EXPECT_EQ(found.unknown, "");
  EXPECT_THAT(known, ElementsAre(3, 4, 5, 6, 7, 8));
}

TEST(CheckReplay, ABlockCountsOnceOverAllReplays) {
  std::set<uint64_t> known;
  const v1::HaReplayed replayed = Replayed(20, {Faulty(v1::HaFaultyBlock::KIND_TORN, 3)});
  EXPECT_EQ(CheckReplay(replayed, 20, known).torn, 1U);
  EXPECT_EQ(CheckReplay(replayed, 20, known).torn, 0U);
}

TEST(CheckReplay, WhatIsMissingAtTheEndCountsByItsNumberAndWhatWasNotAcknowledgedDoesNot) {
  std::set<uint64_t> known;
  EXPECT_EQ(CheckReplay(Replayed(17, {}), 20, known).missing, 3U);
  EXPECT_EQ(CheckReplay(Replayed(21, {Faulty(v1::HaFaultyBlock::KIND_TORN, 22)}), 20, known).torn, 0U);
  // The first block behind the end is torn, the two after it are missing.
  const HaLogFindings tail = CheckReplay(Replayed(17, {Faulty(v1::HaFaultyBlock::KIND_TORN, 18)}), 20, known);
  EXPECT_EQ(tail.torn, 1U);
  EXPECT_EQ(tail.missing, 2U);
}

TEST(CheckReplay, DamageThatItLeftOutIsNotKnown) {
  std::set<uint64_t> known;
  v1::HaReplayed replayed = Replayed(20, {});
  replayed.mutable_faults()->set_left_out(5);
  EXPECT_THAT(CheckReplay(replayed, 20, known).unknown, HasSubstr("left out 5 faulty blocks"));
}

// Epoch 1 had acknowledged 1 to 40, epoch 2 has 41 to 100; what is read back of a log of 30 blocks.
class CheckReadBackTest : public ::testing::Test {
 protected:
  HaLogFindings Check(const HaReadings& readings) {
    known_.clear();
    return CheckReadBack(readings, {{1, 1, 40, 40, 40}, {2, 41, 100, 100, UINT64_MAX}}, kShape, known_);
  }
  // Every block, but for those that are `wrong`.
  static HaReadings All(const std::vector<HaReadings::Wrong>& wrong) {
    HaReadings readings;
    uint64_t first = 1;
    for (const HaReadings::Wrong& one : wrong) {
      readings.Append({{{one.sequence <= 40 ? 1U : 2U, first, one.sequence - 1}}, {one}, false});
      first = one.sequence + 1;
    }
    if (first <= 40) readings.Append({{{1, first, 40}}, {}, false});
    readings.Append({{{2, std::max<uint64_t>(first, 41), 72}}, {}, false});
    return readings;
  }
  std::set<uint64_t> known_;
};

TEST_F(CheckReadBackTest, BlocksThatAreAllThereHaveNothingWrong) {
  const HaLogFindings found = Check(All({}));
  EXPECT_EQ(found.missing + found.torn + found.misplaced + found.overwritten + found.order_broken + found.late, 0U);
  EXPECT_EQ(found.unknown, "");
}

TEST_F(CheckReadBackTest, EachKindOfDamageCountsOnceAndIsKnownAfterwards) {
  const HaLogFindings found = Check(All({{50, v1::HaFaultyBlock::KIND_MISSING, 1, 20},
                                         {55, v1::HaFaultyBlock::KIND_TORN, 2, 55},
                                         {60, v1::HaFaultyBlock::KIND_MISPLACED, 2, 61}}));
  EXPECT_EQ(found.missing, 1U);
  EXPECT_EQ(found.order_broken, 1U);
  EXPECT_EQ(found.torn, 1U);
  EXPECT_EQ(found.misplaced, 1U);
  EXPECT_EQ(found.unknown, "");
  EXPECT_THAT(known_, ElementsAre(50, 55, 60));
}

TEST_F(CheckReadBackTest, ABlockOfAnOldEpochBeyondItsReplayIsLate) {
  // Its write behind the one that was in flight, over epoch 2's block of the same number; and a lap before.
  HaReadings readings;
  readings.runs = {{1, 1, 40}, {2, 41, 41}, {1, 42, 42}, {2, 43, 72}};
  HaLogFindings found = Check(readings);
  EXPECT_EQ(found.late, 1U);
  EXPECT_EQ(found.overwritten, 1U);
  EXPECT_EQ(found.missing, 0U);
  found = Check(All({{15, v1::HaFaultyBlock::KIND_MISSING, 1, 45}}));
  EXPECT_EQ(found.late, 1U);
  EXPECT_EQ(found.missing, 0U);
  // The write in flight itself is in doubt.
  found = Check(All({{11, v1::HaFaultyBlock::KIND_MISSING, 1, 41}}));
  EXPECT_EQ(found.late, 0U);
  EXPECT_EQ(found.in_doubt_late, 1U);
  EXPECT_EQ(found.overwritten_by[1].in_flight, 1U) << "the block that it destroyed is not";
}

TEST_F(CheckReadBackTest, ABlockOfAnOldEpochThatALaterOneHadWrittenAgainIsMissing) {
  known_.clear();
  // Epoch 1 had acknowledged 45 blocks; the replay after it reported all; epoch 2 wrote from 41 on.
  const HaLogFindings found = CheckReadBack({{{1, 1, 42}, {2, 43, 72}}, {}, false},
                                            {{1, 1, 45, 45, 45}, {2, 41, 100, 100, UINT64_MAX}}, kShape, known_);
  EXPECT_EQ(found.missing, 2U);
}

TEST_F(CheckReadBackTest, WhatWasWrittenAgainWithoutBeingReadIsNotKnown) {
  HaReadings readings;
  readings.runs = {{1, 1, 12}, {1, 14, 40}, {2, 41, 72}};
  EXPECT_THAT(Check(readings).unknown, HasSubstr("block 13 of its log was written again before it was read back"));
  readings.runs = {{1, 1, 40}, {2, 41, 69}};
  EXPECT_THAT(Check(readings).unknown, HasSubstr("block 70"));
  // The final scan finds those of the last lap.
  readings.runs = {{1, 1, 40}, {2, 41, 70}};
  EXPECT_EQ(Check(readings).unknown, "");
  // It was the next lap's already: this proves nothing of it.
  EXPECT_THAT(Check(All({{13, v1::HaFaultyBlock::KIND_MISSING, 2, 43}})).unknown, HasSubstr("block 13"));
  readings.left_out = true;
  EXPECT_THAT(Check(readings).unknown, HasSubstr("more was wrong"));
}

TEST_F(CheckReadBackTest, RunsThatContinueOneAnotherAreKeptAsOne) {
  HaReadings readings;
  for (uint64_t block = 1; block <= 500'000; ++block) readings.Append({{{1, block, block}}, {}, false});
  ASSERT_EQ(readings.runs.size(), 1U);
  EXPECT_EQ(readings.runs[0].last, 500'000U);
  EXPECT_FALSE(readings.left_out);
}

TEST(CheckScan, ALogThatIsWholeHasNothingWrong) {
  const HaLogFindings found = CheckScan(Scanned(1, 2, 11), TwoEpochs(10), kShape, {});
  EXPECT_EQ(found.missing + found.torn + found.misplaced + found.overwritten + found.order_broken + found.late, 0U);
  EXPECT_EQ(found.in_doubt_late, 0U);
  EXPECT_EQ(found.unknown, "");
}

TEST(CheckScan, TheWriteInFlightThatLandsLateIsInDoubt) {
  v1::HaScanned scanned = Scanned(1, 2, 11);
  scanned.mutable_ranges(10)->set_epoch(1);
  const HaLogFindings found = CheckScan(scanned, TwoEpochs(10), kShape, {});
  EXPECT_EQ(found.late, 0U);
  EXPECT_EQ(found.in_doubt_late, 1U);
}

TEST(CheckScan, TheAcknowledgedBlockThatTheWriteInFlightDestroyedIsOverwritten) {
  v1::HaScanned scanned = Scanned(1, 2, 11);
  scanned.mutable_ranges(10)->set_epoch(1);
  HaLogFindings found = CheckScan(scanned, TwoEpochs(10), kShape, {});
  EXPECT_EQ(found.overwritten, 1U);
  EXPECT_EQ(found.overwritten_by[1].blocks, 1U);
  EXPECT_EQ(found.overwritten_by[1].in_flight, 1U);
  EXPECT_EQ(found.overwritten_by[1].first_sequence, 11U);
  EXPECT_EQ(found.overwritten_by[1].first_epoch, 2U);
  // Counted once: it was read back before.
  EXPECT_EQ(CheckScan(scanned, TwoEpochs(10), kShape, {11}).overwritten, 0U);
}

// Its entry in the ledger comes with those of later writes, or not at all: what the replay found was complete.
TEST(CheckScan, TheWriteInFlightIsTheOneBehindTheReplayWhereTheLedgerEndsSooner) {
  v1::HaScanned scanned = Scanned(1, 2, 13);
  scanned.mutable_ranges(12)->set_epoch(1);
  const HaLogFindings found = CheckScan(scanned, TwoEpochs(12), kShape, {});
  EXPECT_EQ(found.late, 0U);
  EXPECT_EQ(found.overwritten_by.at(1).in_flight, 1U);
  EXPECT_EQ(found.in_doubt_late, 1U);
}

TEST(CheckScan, LaterWritesOfTheOldEpochAreLateAndWhatTheyOverwriteIsCounted) {
  v1::HaScanned scanned = Scanned(1, 2, 11);
  for (const int place : {11, 12}) scanned.mutable_ranges(place)->set_epoch(1);
  const HaLogFindings found = CheckScan(scanned, TwoEpochs(10), kShape, {});
  EXPECT_EQ(found.late, 2U);
  EXPECT_EQ(found.overwritten, 2U);
}

TEST(CheckScan, ABlockThatIsAsItWasFilledIsMissingAndBreaksTheOrder) {
  v1::HaScanned scanned = Scanned(1, 2, 11);
  scanned.mutable_ranges(4)->set_epoch(0);
  const HaLogFindings found = CheckScan(scanned, TwoEpochs(10), kShape, {});
  EXPECT_EQ(found.missing, 1U);
  EXPECT_EQ(found.order_broken, 1U);
  EXPECT_EQ(CheckScan(scanned, TwoEpochs(10), kShape, {5}).missing, 0U) << "it was counted at a replay";
}

TEST(CheckScan, FaultyBlocksCountAsWhatTheyAre) {
  v1::HaScanned scanned = Scanned(1, 2, 11);
  const std::vector<v1::HaFaultyBlock::Kind> kinds = {v1::HaFaultyBlock::KIND_TORN, v1::HaFaultyBlock::KIND_MISPLACED,
                                                      v1::HaFaultyBlock::KIND_UNSTAMPED};
  for (size_t place = 0; place < kinds.size(); ++place) {
    v1::HaFaultyBlock& block = *scanned.mutable_faults()->add_blocks();
    block = Faulty(kinds[place], place + 1);
    block.set_offset_bytes(place * 4096);
  }
  scanned.mutable_ranges()->DeleteSubrange(0, 3);
  const HaLogFindings found = CheckScan(scanned, TwoEpochs(10), kShape, {});
  EXPECT_EQ(found.torn, 1U);
  EXPECT_EQ(found.misplaced, 1U);
  EXPECT_EQ(found.missing, 1U);
  EXPECT_EQ(found.unknown, "");
}

TEST(CheckScan, PlacesThatItNamesNowhereOrTwiceAreNotKnown) {
  v1::HaScanned gap = Scanned(1, 2, 11);
  gap.mutable_ranges()->DeleteSubrange(3, 1);
  EXPECT_THAT(CheckScan(gap, TwoEpochs(10), kShape, {}).unknown, HasSubstr("left out"));
  v1::HaScanned twice = Scanned(1, 2, 11);
  twice.mutable_ranges(5)->set_first_place(3);
  EXPECT_THAT(CheckScan(twice, TwoEpochs(10), kShape, {}).unknown, HasSubstr("contradicts itself"));
}

}  // namespace
}  // namespace plimsoll::tests
