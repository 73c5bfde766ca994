#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "controller/export/run_index.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {
namespace {

std::vector<TraceBlock> ReadBack(const BlockList& list) {
  std::vector<TraceBlock> blocks;
  BlockList::Reader reader(list);
  for (TraceBlock block; reader.Next(block);) blocks.push_back(block);
  return blocks;
}

TEST(BlockList, GivesBackAnyBlocks) {
  constexpr uint64_t kSeed = 3;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 1'000; ++i) {
    std::vector<TraceBlock> blocks(random() % 20);
    uint64_t offset = 0;
    for (TraceBlock& block : blocks) {
      offset += random() >> (1 + random() % 60 + 3);
      block = {offset,
               static_cast<uint32_t>(1 + random() % 1'000'000),
               random() >> (random() % 64),
               static_cast<uint32_t>(random() % 3),
               random() % 2 == 0,
               random() % 3 == 0 ? 0 : random() >> 20U};
      offset += block.bytes;
    }
    BlockList list;
    for (const TraceBlock& block : blocks) list.Append(block);
    ASSERT_EQ(ReadBack(list), blocks) << "seed " << kSeed << ", case " << i;
  }
}

TEST(BlockList, OfAnOrdinaryRunTakesAFewBytesABlock) {
  BlockList list;
  uint64_t offset = 1'000;
  uint64_t seq = 1;
  constexpr uint64_t kBlocks = 100'000;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    const TraceBlock block{offset, 3'400, 830, 0, false, seq};
    list.Append(block);
    offset += 3'400 + 60'000;
    seq += 830;
  }
  // A string may have grown to twice what it holds.
  EXPECT_LE(list.bytes(), 2 * 8 * kBlocks);
  EXPECT_EQ(ReadBack(list).size(), kBlocks);
}

TEST(TracePlaces, AreThoseOfTheParsedFrames) {
  constexpr uint64_t kSeed = 4;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 500; ++i) {
    v1::JournalRecord record;
    record.set_time_ns(static_cast<int64_t>(random() >> 2U));
    for (uint64_t frames = random() % 5; frames > 0; --frames) {
      v1::Frame& frame = *record.mutable_frames()->add_frames();
      frame.set_step(static_cast<uint32_t>(random() % 3));
      frame.set_first_interval(static_cast<int32_t>(random() % 5) - 2);
      frame.mutable_latency()->set_count(random() % 1'000);
      frame.mutable_latency()->mutable_histogram()->add_count(random() % 300);
      for (uint64_t blocks = random() % 4; blocks > 0; --blocks) {
        frame.add_trace(std::string(random() % 400, static_cast<char>(random() % 100)));
      }
      if (random() % 2 == 0) frame.set_untraced_writes(random() % 300);
    }
    record.mutable_frames()->mutable_sample()->set_time_ns(17);
    const std::string payload = record.SerializeAsString();
    std::vector<std::string> found;
    for (const PayloadPart& part : FindTraceBlocks(payload)) found.push_back(payload.substr(part.offset, part.bytes));
    std::vector<std::string> wanted;
    for (const v1::Frame& frame : record.frames().frames()) {
      wanted.insert(wanted.end(), frame.trace().begin(), frame.trace().end());
    }
    ASSERT_EQ(found, wanted) << "seed " << kSeed << ", case " << i;
  }
}

TEST(TracePlaces, OfWhatIsNoRecordAreNone) {
  EXPECT_TRUE(FindTraceBlocks("").empty());
  EXPECT_TRUE(FindTraceBlocks("\xff\xff\xff\xff nothing of the kind").empty());
  v1::JournalRecord note;
  note.mutable_note()->set_text("frames");
  EXPECT_TRUE(FindTraceBlocks(note.SerializeAsString()).empty());
}

}  // namespace
}  // namespace plimsoll
