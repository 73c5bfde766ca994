// What a log's pages say, judged without a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "agent/ha/log_pages.h"
#include "agent/ha/log_upkeep.h"
#include "agent/writer/block_source.h"
#include "agent/writer/log_files.h"
#include "tests/random_seed.h"

namespace plimsoll {
namespace {

using State = BlockFinding::State;
using Kind = v1::HaFaultyBlock;

constexpr uint32_t kQm = 4;

// Two extents of eight blocks of two pages, as filled.
class LogPagesTest : public ::testing::Test {
 protected:
  LogPagesTest() {
    shape_.run_token.fill(7);
    shape_.qm = kQm;
    shape_.block_bytes = 2 * kStampedPageBytes;
    shape_.file_size_bytes = 8 * shape_.block_bytes;
    shape_.num_files = 2;
    log_.resize(shape_.blocks_per_lap() * shape_.block_bytes);
    for (uint32_t extent = 0; extent < shape_.num_files; ++extent) {
      Source(0)->StartEpoch(0, shape_.file_size_bytes, 1);
      std::memcpy(log_.data() + extent * shape_.file_size_bytes,
                  Source(0)->NextOfSize(extent + 1, shape_.file_size_bytes), shape_.file_size_bytes);
    }
  }

  BlockSource* Source(uint32_t host) {
    auto& source = sources_[host];
    if (source == nullptr) {
      const std::vector<uint64_t> sizes = {shape_.block_bytes, shape_.file_size_bytes};
      source = std::make_unique<BlockSource>(BlockSource::Identity{shape_.run_token, host, kQm}, sizes);
    }
    return source.get();
  }
  // Writes the blocks as an instance of `host` does.
  void Write(uint32_t epoch, uint64_t first, uint64_t last, uint32_t host = 1) {
    Source(host)->StartEpoch(epoch, shape_.block_bytes, shape_.blocks_per_lap());
    for (uint64_t sequence = first; sequence <= last; ++sequence) {
      std::memcpy(At(sequence), Source(host)->Next(sequence), shape_.block_bytes);
    }
  }
  std::byte* At(uint64_t sequence) { return log_.data() + shape_.PlaceOf(sequence) * shape_.block_bytes; }
  std::span<const std::byte> Block(uint64_t place) const {
    return std::span(log_).subspan(place * shape_.block_bytes, shape_.block_bytes);
  }
  BlockFinding Judge(uint64_t sequence) const {
    return JudgeBlock(shape_, shape_.PlaceOf(sequence), Block(shape_.PlaceOf(sequence)));
  }
  LogReplay Replay(uint64_t checkpoint) const {
    LogReplay replay(shape_, checkpoint);
    while (replay.next() != 0) replay.Take(Block(shape_.PlaceOf(replay.next())));
    return replay;
  }
  v1::HaScanned Scan() const {
    LogScan scan(shape_);
    for (uint64_t place = 0; place < shape_.blocks_per_lap(); ++place) scan.Take(Block(place));
    return scan.Finish();
  }

  LogShape shape_;
  std::vector<std::byte> log_;
  std::map<uint32_t, std::unique_ptr<BlockSource>> sources_;
};

TEST_F(LogPagesTest, AFilledLogHasNoBlockAndNoFault) {
  const LogReplay replay = Replay(0);
  EXPECT_EQ(replay.last_sequence(), 0U);
  EXPECT_EQ(replay.faults().blocks_size(), 0);
  const v1::HaScanned scanned = Scan();
  ASSERT_EQ(scanned.ranges_size(), 2);
  EXPECT_EQ(scanned.ranges(1).extent(), 1U);
  EXPECT_EQ(scanned.ranges(1).blocks(), 8U);
  EXPECT_EQ(scanned.ranges(1).epoch(), 0U);
  EXPECT_EQ(scanned.faults().blocks_size(), 0);
}

TEST_F(LogPagesTest, FillingInSeveralChunksIsJudgedByItsPlace) {
  // Extents of one chunk and a half: the places of the second extent begin in its third chunk.
  shape_.block_bytes = kStampedPageBytes;
  shape_.file_size_bytes = LogFiles::kChunkBytes * 3 / 2;
  PageStamp stamp{shape_.run_token, 0, kQm, 0, 1, 3};
  std::vector<std::byte> page(kStampedPageBytes);
  WriteStamp(stamp, PayloadChecksum(std::span(page).subspan(kStampBytes)), page.data());
  const uint64_t second_extent = shape_.file_size_bytes / shape_.block_bytes;
  EXPECT_EQ(JudgeBlock(shape_, second_extent + 1, page).state, State::kFilled);
  EXPECT_EQ(JudgeBlock(shape_, second_extent + 2, page).state, State::kMisplaced);
}

TEST_F(LogPagesTest, TheEndIsTheLastBlockThatContinuesTheLog) {
  Write(1, 1, 5);
  Write(2, 6, 9, 2);
  const LogReplay replay = Replay(3);
  EXPECT_EQ(replay.last_sequence(), 9U);
  EXPECT_EQ(replay.last_epoch(), 2U);
  EXPECT_EQ(replay.faults().blocks_size(), 0);
}

TEST_F(LogPagesTest, TheEndIsFoundBehindTheFirstLap) {
  Write(1, 1, 37);  // two laps and five
  const LogReplay replay = Replay(30);
  EXPECT_EQ(replay.last_sequence(), 37U);
  EXPECT_EQ(replay.faults().blocks_size(), 0);
}

TEST_F(LogPagesTest, AFullLapBehindTheCheckpointIsReplayedWhole) {
  Write(1, 1, 20);
  const LogReplay replay = Replay(4);
  EXPECT_EQ(replay.last_sequence(), 20U);
  EXPECT_EQ(replay.pages_checked(), 32U);
}

TEST_F(LogPagesTest, ATornPageIsNamed) {
  Write(1, 1, 6);
  std::memset(At(4) + kStampedPageBytes + 512, 0, kStampedPageBytes - 512);
  const LogReplay replay = Replay(0);
  EXPECT_EQ(replay.last_sequence(), 6U);
  EXPECT_EQ(replay.faults().torn_pages(), 1U);
  ASSERT_EQ(replay.faults().blocks_size(), 1);
  const Kind& block = replay.faults().blocks(0);
  EXPECT_EQ(block.kind(), Kind::KIND_TORN);
  EXPECT_EQ(block.sequence(), 4U);
  EXPECT_EQ(block.page(), 1U);
  EXPECT_EQ(block.found_sequence(), 4U);
}

TEST_F(LogPagesTest, ATornBlockAtTheEndIsNotPartOfTheLog) {
  Write(1, 1, 6);
  std::memset(At(6) + 512, 0, kStampedPageBytes - 512);
  const LogReplay replay = Replay(0);
  EXPECT_EQ(replay.last_sequence(), 5U);
  ASSERT_EQ(replay.faults().blocks_size(), 1);
  EXPECT_EQ(replay.faults().blocks(0).sequence(), 6U);
}

TEST_F(LogPagesTest, AMissingBlockIsNamedWhereALaterOneIsThere) {
  const std::vector<std::byte> before(log_);
  Write(1, 1, 7);
  std::memcpy(At(3), before.data() + shape_.PlaceOf(3) * shape_.block_bytes, 2 * shape_.block_bytes);  // 3 and 4
  const LogReplay replay = Replay(0);
  EXPECT_EQ(replay.last_sequence(), 7U);
  EXPECT_EQ(replay.faults().missing_blocks(), 2U);
  EXPECT_EQ(replay.faults().blocks(1).sequence(), 4U);
}

TEST_F(LogPagesTest, BlocksThatAreLostAtTheEndShortenTheLog) {
  const std::vector<std::byte> before(log_);
  Write(1, 1, 7);
  std::memcpy(At(6), before.data() + shape_.PlaceOf(6) * shape_.block_bytes, 2 * shape_.block_bytes);
  const LogReplay replay = Replay(0);
  EXPECT_EQ(replay.last_sequence(), 5U);
  EXPECT_EQ(replay.faults().blocks_size(), 0);
}

TEST_F(LogPagesTest, ABlockInAnothersPlaceIsMisplaced) {
  Write(1, 1, 7);
  std::memcpy(At(3), At(5), shape_.block_bytes);
  EXPECT_EQ(Judge(3).state, State::kMisplaced);
  const LogReplay replay = Replay(0);
  EXPECT_EQ(replay.faults().misplaced_pages(), 2U);
  EXPECT_EQ(replay.faults().blocks(0).found_sequence(), 5U);
  EXPECT_EQ(replay.last_sequence(), 7U);
}

TEST_F(LogPagesTest, PagesOfAnotherRunOrQueueManagerAreMisplaced) {
  Write(1, 1, 1);
  LogShape other = shape_;
  other.qm = kQm + 1;
  EXPECT_EQ(JudgeBlock(other, 0, Block(0)).state, State::kMisplaced);
  other = shape_;
  other.run_token.fill(8);
  EXPECT_EQ(JudgeBlock(other, 0, Block(0)).state, State::kMisplaced);
}

TEST_F(LogPagesTest, ABlockOfTwoWritesIsMixed) {
  Write(1, 1, 3);
  const std::vector<std::byte> old(At(2), At(2) + shape_.block_bytes);
  Write(2, 2, 2, 2);
  std::memcpy(At(2) + kStampedPageBytes, old.data() + kStampedPageBytes, kStampedPageBytes);
  const BlockFinding finding = Judge(2);
  EXPECT_EQ(finding.state, State::kMixed);
  EXPECT_EQ(finding.page, 1U);
  EXPECT_EQ(finding.stamp.epoch, 1U);
}

TEST_F(LogPagesTest, APageWithoutAStampIsNamed) {
  Write(1, 1, 3);
  std::memset(At(2), 0, kStampedPageBytes);
  EXPECT_EQ(Judge(2).state, State::kUnstamped);
  EXPECT_EQ(Replay(0).faults().unstamped_pages(), 1U);
}

TEST_F(LogPagesTest, AnOldEpochsBlockBehindATakeoverEndsTheLog) {
  Write(1, 1, 9);
  // A takeover that found five of nine, and wrote two.
  Write(2, 6, 7, 2);
  const LogReplay replay = Replay(0);
  EXPECT_EQ(replay.last_sequence(), 7U);
  EXPECT_EQ(replay.faults().blocks_size(), 0);
}

TEST_F(LogPagesTest, AnOldEpochsBlockAmongNewOnesIsReversed) {
  Write(1, 1, 9);
  Write(2, 6, 8, 2);
  Write(1, 7, 7);  // the write of an instance that was replaced
  const LogReplay replay = Replay(0);
  EXPECT_EQ(replay.last_sequence(), 8U);
  EXPECT_EQ(replay.faults().epoch_reversals(), 1U);
  EXPECT_EQ(replay.faults().blocks(0).kind(), Kind::KIND_EPOCH_REVERSED);
  EXPECT_EQ(replay.faults().blocks(0).found_epoch(), 1U);
  EXPECT_EQ(replay.faults().blocks(0).found_host_index(), 1U);
}

TEST_F(LogPagesTest, AScanReportsWhoWroteWhatWhere) {
  Write(1, 1, 10);
  Write(2, 11, 18, 2);
  Write(1, 17, 17);  // late
  std::memset(At(13) + 512, 0, 512);
  const v1::HaScanned scanned = Scan();
  // Places 0 (17, epoch 1), 1 (18), 2 to 7 (3 to 8), extent 1: 8 and 9 (9, 10), 10 and 11 (11, 12), 13 is torn, 13
  // to 15.
  ASSERT_EQ(scanned.ranges_size(), 6);
  EXPECT_EQ(scanned.ranges(0).epoch(), 1U);
  EXPECT_EQ(scanned.ranges(0).first_sequence(), 17U);
  EXPECT_EQ(scanned.ranges(1).first_sequence(), 18U);
  EXPECT_EQ(scanned.ranges(1).host_index(), 2U);
  EXPECT_EQ(scanned.ranges(2).first_sequence(), 3U);
  EXPECT_EQ(scanned.ranges(2).blocks(), 6U);
  EXPECT_EQ(scanned.ranges(3).first_place(), 8U);
  EXPECT_EQ(scanned.ranges(4).first_sequence(), 11U);
  EXPECT_EQ(scanned.ranges(4).blocks(), 2U);
  EXPECT_EQ(scanned.ranges(5).first_sequence(), 14U);
  EXPECT_EQ(scanned.faults().torn_pages(), 1U);
  EXPECT_EQ(scanned.faults().blocks(0).extent(), 1U);
  EXPECT_EQ(scanned.faults().blocks(0).offset_bytes(), 4 * shape_.block_bytes);
  EXPECT_EQ(scanned.pages_checked(), 32U);
}

TEST_F(LogPagesTest, WhatIsReadBackIsNamedByItsEpochAndWhatIsWrongByItsNumber) {
  Write(1, 1, 20);
  const std::vector<std::byte> before(log_);
  Write(1, 21, 22);
  Write(2, 23, 30, 2);
  // 24 was never done: block 8 of the lap before is there. 27 is torn.
  std::memcpy(At(24), before.data() + shape_.PlaceOf(24) * shape_.block_bytes, shape_.block_bytes);
  std::memset(At(27) + 512, 0, 512);
  LogReadBack blocks(shape_, 18);
  while (blocks.next() <= 30) blocks.Take(Block(shape_.PlaceOf(blocks.next())));
  const v1::HaReadBack read = blocks.Finish();
  EXPECT_EQ(read.first_sequence(), 18U);
  EXPECT_EQ(read.last_sequence(), 30U);
  ASSERT_EQ(read.ranges_size(), 4);
  EXPECT_EQ(read.ranges(0).epoch(), 1U);
  EXPECT_EQ(read.ranges(0).blocks(), 5U) << "18 to 22";
  EXPECT_EQ(read.ranges(1).first_sequence(), 23U);
  EXPECT_EQ(read.ranges(1).epoch(), 2U);
  EXPECT_EQ(read.ranges(2).first_sequence(), 25U);
  EXPECT_EQ(read.ranges(3).first_sequence(), 28U);
  EXPECT_EQ(read.ranges(3).blocks(), 3U);
  ASSERT_EQ(read.faults().blocks_size(), 2);
  EXPECT_EQ(read.faults().blocks(0).kind(), Kind::KIND_MISSING);
  EXPECT_EQ(read.faults().blocks(0).sequence(), 24U);
  EXPECT_EQ(read.faults().blocks(0).found_sequence(), 8U);
  EXPECT_EQ(read.faults().blocks(1).kind(), Kind::KIND_TORN);
  EXPECT_EQ(read.faults().blocks(1).sequence(), 27U);
}

// The writer never has to wait for a block to be read that it reaches before the reader looks again, and no block is
// read that is not written yet.
TEST(ReadBackTest, BlocksAreReadInTheLastQuarterOfALapBeforeTheirPlacesAreWrittenAgain) {
  for (const uint64_t lap : {1U, 2U, 3U, 7U, 16U, 30U, 1'000U}) {
    for (uint64_t completed = 0; completed < 3 * lap; ++completed) {
      const uint64_t target = ReadBack::Target(completed, lap);
      EXPECT_LE(target, completed);
      EXPECT_GE(target + lap, completed + 1) << "the next place is free once the target is read";
      EXPECT_LE(target + lap, std::max(completed + std::max<uint64_t>(lap / 4, 1), lap)) << "no sooner than needed";
      const uint64_t gone = ReadBack::Gone(completed, lap);
      EXPECT_LE(gone, target) << "a takeover leaves nothing out that is still there";
      EXPECT_GE(gone + lap, completed + 1) << "the first write of a takeover need not wait";
    }
  }
  LogShape shape;
  shape.block_bytes = 4096;
  shape.num_files = 2;
  for (const uint64_t blocks : {1U, 8U, 100'000U}) {
    shape.file_size_bytes = blocks * shape.block_bytes;
    const uint64_t room = std::max<uint64_t>(shape.blocks_per_lap() / ReadBack::kRoomPart, 1);
    EXPECT_GE(ReadBack::Piece(shape), 1U);
    EXPECT_LE(ReadBack::Piece(shape), room);
    EXPECT_LE(ReadBack::Piece(shape), static_cast<uint64_t>(LogFaults::kMostBlocks)) << "no fault is left out";
  }
}

TEST_F(LogPagesTest, FaultsBeyondTheFirstThousandAreCounted) {
  LogFaults faults(shape_);
  BlockFinding torn;
  torn.state = State::kTorn;
  torn.torn_pages = 1;
  for (int i = 0; i < 1'500; ++i) faults.AddFaulty(0, 1, torn);
  EXPECT_EQ(faults.faults().blocks_size(), 1'000);
  EXPECT_EQ(faults.faults().left_out(), 500U);
  EXPECT_EQ(faults.faults().torn_pages(), 1'500U);
}

// Whatever is lost or torn, replay ends, ends at a block that is whole, and loses none that it reports as found.
TEST_F(LogPagesTest, ReplayOfADamagedLogEndsAtAWholeBlock) {
  const auto seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::byte> filled(log_);
  for (int round = 0; round < 500; ++round) {
    log_ = filled;
    const uint64_t last = random() % 40;
    Write(1, 1, last);
    for (uint32_t damages = random() % 4; damages > 0; --damages) {
      const size_t page = random() % (log_.size() / kStampedPageBytes);
      const size_t from = page * kStampedPageBytes + (random() % 8) * 512;
      std::memcpy(log_.data() + from, filled.data() + from, 512);
    }
    const uint64_t checkpoint = last > 16 ? last - random() % 16 : random() % (last + 1);
    const LogReplay replay = Replay(checkpoint);
    ASSERT_LE(replay.last_sequence(), last);
    ASSERT_GE(replay.last_sequence(), checkpoint);
    if (replay.last_sequence() == checkpoint) continue;
    const BlockFinding found = Judge(replay.last_sequence());
    ASSERT_EQ(found.state, State::kWritten);
    ASSERT_EQ(found.stamp.sequence, replay.last_sequence());
  }
}

}  // namespace
}  // namespace plimsoll
