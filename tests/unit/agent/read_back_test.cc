// What reading a log back finds, on logs in memory that the product's own sources of blocks have written.
#include "agent/writer/read_back.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/writer/log_source.h"
#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

constexpr BlockSource::Identity kOwner{{9, 8, 7, 6}, 3, 12};
constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = kKiB * 1024;

// A log in memory. Beside its bytes it knows which of them are certain: neither of a write that was cut off, nor of an
// end that is too short for a stamp.
class MemoryLog final : public ExtentReader {
 public:
  struct Range {
    uint32_t extent = 0;
    uint64_t offset_bytes = 0;
    uint64_t size_bytes = 0;
  };

  // Fills the extents as LogFiles does. `sizes`: of the blocks to come.
  MemoryLog(uint64_t file_size_bytes, uint32_t num_files, const std::vector<uint64_t>& sizes)
      : log_{.identity = kOwner, .file_size_bytes = file_size_bytes, .num_files = num_files},
        source_(kOwner, WithChunks(file_size_bytes, sizes)) {
    source_.StartEpoch(0, std::min(file_size_bytes, LogFiles::kChunkBytes), 1);
    uint64_t sequence = 0;
    for (uint32_t extent = 0; extent < num_files; ++extent) {
      extents_.emplace_back(file_size_bytes);
      certain_.emplace_back(file_size_bytes);
      for (uint64_t offset = 0; offset < file_size_bytes; offset += LogFiles::kChunkBytes) {
        const uint64_t size_bytes = std::min(LogFiles::kChunkBytes, file_size_bytes - offset);
        Put(source_.NextOfSize(++sequence, size_bytes), size_bytes, {extent, offset, size_bytes});
      }
    }
  }

  // Writes so many blocks, and of one more its first `open_bytes`.
  void Run(uint32_t epoch, uint64_t block_bytes, uint64_t writes, std::optional<uint64_t> open_bytes = std::nullopt) {
    const WrittenRun run{epoch, block_bytes, writes, open_bytes.has_value()};
    LogSource blocks(log_.LayoutOf(run), std::nullopt, std::nullopt, epoch, 0, source_);
    for (uint64_t write = 0; write < writes; ++write) {
      const LogSource::Block block = blocks.Next();
      Put(block.data, block.bytes, {block.place.extent, block.place.offset_bytes, block.bytes});
    }
    if (open_bytes) {
      const LogSource::Block block = blocks.Next();
      const Range range{block.place.extent, block.place.offset_bytes, *open_bytes};
      Put(block.data, block.bytes, range);
      const auto first = certain_[range.extent].begin() + static_cast<std::ptrdiff_t>(range.offset_bytes);
      std::fill(first, first + static_cast<std::ptrdiff_t>(block.bytes), false);
    }
    log_.Add(run);
  }
  // The step that is read back wrote nothing.
  void RunNothing(uint32_t epoch, uint64_t block_bytes) { log_.runs.push_back({epoch, block_bytes}); }

  const WrittenLog& log() const { return log_; }
  ExtentLayout layout() const { return log_.LayoutOf(log_.runs.back()); }
  Range RangeOf(uint64_t place) const {
    const BlockPlace at = layout().PlaceOf(place);
    return {at.extent, at.offset_bytes, layout().block_bytes()};
  }
  // Before there is a run of blocks of that size.
  Range RangeOfPlace(uint64_t place, uint64_t block_bytes) const {
    const BlockPlace at = log_.LayoutOf({0, block_bytes}).PlaceOf(place);
    return {at.extent, at.offset_bytes, block_bytes};
  }
  std::span<std::byte> BytesOf(const Range& range) {
    return std::span(extents_[range.extent]).subspan(range.offset_bytes, range.size_bytes);
  }
  bool IsCertain(const Range& range, uint64_t byte) const { return certain_[range.extent][range.offset_bytes + byte]; }
  // Whether a byte that is certain is not as in `before`.
  bool Differs(const Range& range, std::span<const std::byte> before) {
    const std::span<const std::byte> now = BytesOf(range);
    for (uint64_t byte = 0; byte < range.size_bytes; ++byte) {
      if (now[byte] != before[byte] && IsCertain(range, byte)) return true;
    }
    return false;
  }
  // Reads that touch these bytes fail.
  void Break(const Range& range) { broken_.push_back(range); }
  void BreakOpen(uint32_t extent) { unopened_.insert(extent); }

  absl::Status Open(uint32_t extent) override {
    if (unopened_.contains(extent)) return absl::NotFoundError("gone");
    open_ = extent;
    return absl::OkStatus();
  }
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset_bytes, uint64_t size_bytes) override {
    EXPECT_LE(size_bytes, kMostBytes);
    EXPECT_LE(offset_bytes + size_bytes, log_.file_size_bytes);
    for (const Range& range : broken_) {
      const bool apart = offset_bytes + size_bytes <= range.offset_bytes ||
                         offset_bytes >= range.offset_bytes + range.size_bytes || range.extent != open_;
      if (!apart) return absl::DataLossError(absl::StrCat("no byte at ", offset_bytes));
    }
    return BytesOf({open_, offset_bytes, size_bytes});
  }
  std::string PathOf(uint32_t extent) const override { return absl::StrCat("/log/", extent); }

  v1::WriterReadBack ReadBack() {
    const auto result = ReadLogBack(log_, *this, [](uint32_t /*extent*/) { return absl::OkStatus(); });
    EXPECT_THAT(result, IsOk());
    return result.value_or(v1::WriterReadBack());
  }

 private:
  static std::vector<uint64_t> WithChunks(uint64_t file_size_bytes, std::vector<uint64_t> sizes) {
    std::ranges::copy(LogFiles::ChunkSizes(file_size_bytes), std::back_inserter(sizes));
    return sizes;
  }

  // The first bytes of a block of `block_bytes`, as many as the range has.
  void Put(const std::byte* data, uint64_t block_bytes, const Range& range) {
    if (range.size_bytes > 0) std::memcpy(BytesOf(range).data(), data, range.size_bytes);
    const uint64_t rest = block_bytes % kStampedPageBytes;
    const uint64_t stamped = rest < kStampBytes ? block_bytes - rest : block_bytes;
    for (uint64_t byte = 0; byte < range.size_bytes; ++byte) {
      certain_[range.extent][range.offset_bytes + byte] = byte < stamped;
    }
  }

  WrittenLog log_;
  BlockSource source_;
  std::vector<std::vector<std::byte>> extents_;
  std::vector<std::vector<bool>> certain_;
  std::vector<Range> broken_;
  std::set<uint32_t> unopened_;
  uint32_t open_ = 0;
};

uint64_t Faults(const v1::WriterReadBack& read) {
  return read.lost() + read.torn() + read.foreign() + read.altered() + read.unreadable();
}

std::string TextAt(const v1::WriterReadBack& read, const std::string& path, uint64_t offset_bytes) {
  for (const v1::ReadBackFinding& finding : read.findings()) {
    if (finding.path() == path && finding.offset_bytes() == offset_bytes) return finding.text();
  }
  return "none";
}

// Copies of bytes, for putting them elsewhere or back.
std::vector<std::byte> CopyOf(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

void Put(std::span<const std::byte> bytes, std::span<std::byte> to) {
  ASSERT_EQ(bytes.size(), to.size());
  std::ranges::copy(bytes, to.begin());
}

TEST(BlockSource, ABlockIsMadeAgainFromItsNumber) {
  const std::vector<uint64_t> sizes = {512, 4096, 6144, 65536};
  BlockSource written(kOwner, sizes);
  BlockSource again(kOwner, sizes);
  for (const uint64_t size : sizes) {
    written.StartEpoch(4, size, 100);
    again.StartEpoch(4, size, 100);
    std::vector<std::vector<std::byte>> blocks;
    for (uint64_t seq = 1; seq <= 600; ++seq) blocks.push_back(CopyOf({written.Next(seq), size}));
    for (uint64_t seq = 600; seq > 0; --seq) {
      ASSERT_EQ(std::memcmp(again.Repeat(seq), blocks[seq - 1].data(), size), 0) << size << " " << seq;
    }
  }
}

TEST(WrittenLog, KnowsTheLastWriteToEachPlace) {
  const WrittenLog log{.identity = kOwner, .file_size_bytes = 10 * kKiB, .num_files = 3};
  for (const uint64_t writes : {0U, 1U, 5U, 6U, 7U, 12U, 13U, 100U}) {
    const WrittenRun run{1, 4096, writes};
    std::map<uint64_t, uint64_t> last;
    for (uint64_t write = 1; write <= writes; ++write) last[(write - 1) % 6] = write;
    for (uint64_t place = 0; place < 6; ++place) EXPECT_EQ(log.LastWriteTo(run, place), last[place]) << writes;
  }
}

TEST(WrittenLog, ForgetsRunsOfWhichNothingIsLeft) {
  WrittenLog log{.identity = kOwner, .file_size_bytes = 16 * kKiB, .num_files = 1};
  log.Add({1, 4096, 3});
  log.Add({2, 4096, 2});
  EXPECT_EQ(log.runs.size(), 2U);
  log.Add({3, 4096, 2, true});
  EXPECT_EQ(log.runs.size(), 2U) << "what it failed to write may be there, too";
  log.Add({4, 8192, 2});
  EXPECT_EQ(log.runs.size(), 3U) << "blocks of another size leave other ends of the extents";
  log.Add({5, 8192, 100});
  EXPECT_EQ(log.runs.size(), 3U);
  EXPECT_EQ(log.runs.back().epoch, 5U);
}

TEST(ReadBack, FindsEveryAcknowledgedWriteWhereItShouldBe) {
  for (const uint64_t size : {uint64_t{512}, 4 * kKiB, 6 * kKiB, 64 * kKiB}) {
    for (const uint64_t writes : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{2'000}}) {
      SCOPED_TRACE(absl::StrCat(size, " bytes, ", writes, " writes"));
      MemoryLog log(200 * kKiB, 2, {size});
      if (writes == 0) log.RunNothing(1, size);
      if (writes > 0) log.Run(1, size, writes);
      const v1::WriterReadBack read = log.ReadBack();
      const uint64_t blocks = 2 * (200 * kKiB / size);
      EXPECT_EQ(read.qm(), 12U);
      EXPECT_EQ(read.acknowledged_writes(), writes);
      EXPECT_EQ(read.blocks(), blocks);
      EXPECT_EQ(read.written_blocks(), std::min(writes, blocks));
      EXPECT_EQ(read.read_bytes(), blocks * size);
      EXPECT_FALSE(read.has_open_write());
      EXPECT_EQ(Faults(read), 0U);
      EXPECT_THAT(read.findings(), IsEmpty());
    }
  }
}

TEST(ReadBack, AnOlderBlockIsALostWrite) {
  MemoryLog log(16 * kKiB, 2, {4 * kKiB});
  const std::vector<std::byte> filled = CopyOf(log.BytesOf({1, 4096, 4096}));
  log.Run(1, 4 * kKiB, 8);
  const std::vector<std::byte> first_lap = CopyOf(log.BytesOf({1, 4096, 4096}));
  log.Run(2, 4 * kKiB, 19);

  Put(first_lap, log.BytesOf({1, 4096, 4096}));
  v1::WriterReadBack read = log.ReadBack();
  EXPECT_EQ(read.lost(), 1U);
  EXPECT_EQ(Faults(read), 1U);
  ASSERT_THAT(read.findings(), SizeIs(1));
  EXPECT_EQ(read.findings(0).path(), "/log/1");
  EXPECT_EQ(read.findings(0).offset_bytes(), 4096U);
  EXPECT_EQ(read.findings(0).expected_sequence(), 14U);
  EXPECT_EQ(read.findings(0).text(), "lost: holds write 6 of an earlier step");

  Put(filled, log.BytesOf({1, 4096, 4096}));
  read = log.ReadBack();
  EXPECT_EQ(read.lost(), 1U);
  EXPECT_EQ(TextAt(read, "/log/1", 4096), "lost: holds what preparing wrote");

  // A write that went to another place, too.
  Put(CopyOf(log.BytesOf({0, 4096, 4096})), log.BytesOf({1, 4096, 4096}));
  read = log.ReadBack();
  EXPECT_EQ(read.lost(), 1U);
  EXPECT_EQ(TextAt(read, "/log/1", 4096), "lost: holds write 18 of this step");
}

TEST(ReadBack, ABlockThatIsSmallerThanAPageOfTheFillingIsLostToo) {
  MemoryLog log(16 * kKiB, 1, {512});
  const std::vector<std::byte> filled = CopyOf(log.BytesOf({0, 512, 1024}));
  log.Run(1, 512, 10);
  Put(filled, log.BytesOf({0, 512, 1024}));
  const v1::WriterReadBack read = log.ReadBack();
  EXPECT_EQ(read.lost(), 2U);
  EXPECT_EQ(Faults(read), 2U);
  EXPECT_EQ(TextAt(read, "/log/0", 1024), "lost: holds what was there before the step");
}

TEST(ReadBack, PagesOfTwoWritesAreATornBlock) {
  MemoryLog log(32 * kKiB, 1, {8 * kKiB});
  log.Run(1, 8 * kKiB, 2);
  const std::vector<std::byte> older = CopyOf(log.BytesOf({0, 12 * kKiB, 4096}));
  log.Run(2, 8 * kKiB, 6);
  Put(older, log.BytesOf({0, 12 * kKiB, 4096}));
  // And the stamp of the right write over other bytes.
  log.BytesOf({0, 600, 1})[0] ^= std::byte{1};
  const v1::WriterReadBack read = log.ReadBack();
  EXPECT_EQ(read.torn(), 2U);
  EXPECT_EQ(Faults(read), 2U);
  EXPECT_EQ(TextAt(read, "/log/0", 8 * kKiB), "torn: page 2 of 2 holds write 2 of an earlier step");
  EXPECT_EQ(TextAt(read, "/log/0", 0), "torn: page 1 of 2 holds the stamp of write 5 of this step over other bytes");
}

TEST(ReadBack, WhatThisWriterNeverWroteIsForeign) {
  MemoryLog log(32 * kKiB, 1, {4 * kKiB});
  log.Run(5, 4 * kKiB, 8);
  const std::vector<uint64_t> sizes = {4 * kKiB};
  const auto put = [&](const BlockSource::Identity& identity, uint32_t epoch, uint64_t sequence, uint64_t place) {
    BlockSource other(identity, sizes);
    other.StartEpoch(epoch, 4 * kKiB, 8);
    Put({other.Next(sequence), 4 * kKiB}, log.BytesOf(log.RangeOf(place)));
  };
  put({kOwner.run_token, 3, 13}, 5, 1, 0);
  put({kOwner.run_token, 2, 12}, 5, 2, 1);
  put({{1}, 3, 12}, 5, 3, 2);
  put(kOwner, 5, 12, 3);
  put(kOwner, 6, 5, 4);
  std::ranges::fill(log.BytesOf(log.RangeOf(5)), std::byte{0});
  std::ranges::fill(log.BytesOf(log.RangeOf(6)), std::byte{7});
  const v1::WriterReadBack read = log.ReadBack();
  EXPECT_EQ(read.foreign(), 7U);
  EXPECT_EQ(Faults(read), 7U);
  EXPECT_EQ(TextAt(read, "/log/0", 0), "foreign: holds a page of qm13");
  EXPECT_EQ(TextAt(read, "/log/0", 4 * kKiB), "foreign: holds a page of qm12 of another host");
  EXPECT_EQ(TextAt(read, "/log/0", 8 * kKiB), "foreign: holds a page of another run");
  EXPECT_EQ(TextAt(read, "/log/0", 12 * kKiB), "foreign: holds write 12 of this step, which was never written");
  EXPECT_EQ(TextAt(read, "/log/0", 16 * kKiB), "foreign: holds write 5 of a later step, which was never written");
  EXPECT_EQ(TextAt(read, "/log/0", 20 * kKiB), "foreign: holds zeros");
  EXPECT_EQ(TextAt(read, "/log/0", 24 * kKiB), "foreign: holds bytes without a stamp");
}

TEST(ReadBack, ABlockThatTheStepDidNotReachIsAsBefore) {
  MemoryLog log(64 * kKiB, 1, {4 * kKiB, 8 * kKiB});
  log.Run(1, 8 * kKiB, 4);
  log.Run(2, 4 * kKiB, 3);
  EXPECT_EQ(Faults(log.ReadBack()), 0U);
  // In the half of a block that the step has left, behind it, and in what was never written.
  log.BytesOf({0, 12 * kKiB + 5, 1})[0] ^= std::byte{1};
  Put(CopyOf(log.BytesOf({0, 4 * kKiB, 4 * kKiB})), log.BytesOf({0, 20 * kKiB, 4 * kKiB}));
  std::ranges::fill(log.BytesOf({0, 60 * kKiB, 4 * kKiB}), std::byte{0});
  const v1::WriterReadBack read = log.ReadBack();
  EXPECT_EQ(read.altered(), 3U);
  EXPECT_EQ(Faults(read), 3U);
  ASSERT_THAT(read.findings(), SizeIs(3));
  EXPECT_EQ(read.findings(0).expected_sequence(), 2U);
  EXPECT_EQ(
      read.findings(0).text(),
      "altered: its byte 5 is not that of write 2 of an earlier step; the page there holds bytes without a stamp");
  EXPECT_EQ(read.findings(1).expected_sequence(), 3U);
  EXPECT_THAT(read.findings(1).text(), EndsWith("the page there holds write 2 of this step"));
  EXPECT_EQ(read.findings(2).expected_sequence(), 0U);
  EXPECT_EQ(read.findings(2).text(),
            "altered: its byte 0 is not that of what preparing wrote; the page there holds zeros");
}

TEST(ReadBack, ABlockWhoseWriteFailedMayHoldTheOldTheNewOrAPart) {
  for (const uint64_t writes : {3U, 11U}) {
    for (const uint64_t arrived : {uint64_t{0}, uint64_t{100}, 4 * kKiB, 6 * kKiB, 8 * kKiB}) {
      SCOPED_TRACE(absl::StrCat(writes, " writes, ", arrived, " bytes of one more"));
      MemoryLog log(64 * kKiB, 1, {8 * kKiB});
      log.Run(1, 8 * kKiB, writes, arrived);
      v1::WriterReadBack read = log.ReadBack();
      EXPECT_TRUE(read.has_open_write());
      EXPECT_EQ(read.acknowledged_writes(), writes);
      EXPECT_EQ(read.written_blocks(), std::min<uint64_t>(writes, 8));
      EXPECT_EQ(Faults(read), 0U);
      // The one before it was acknowledged.
      log.BytesOf(log.RangeOf((writes - 1) % 8))[9] ^= std::byte{1};
      EXPECT_EQ(Faults(log.ReadBack()), 1U);
      // No write of this writer leaves another one's page.
      const std::vector<uint64_t> sizes = {8 * kKiB};
      BlockSource other({kOwner.run_token, 3, 1}, sizes);
      other.StartEpoch(1, 8 * kKiB, 8);
      Put({other.Next(writes + 1), 8 * kKiB}, log.BytesOf(log.RangeOf(writes % 8)));
      read = log.ReadBack();
      EXPECT_EQ(read.foreign(), 1U);
      EXPECT_EQ(Faults(read), 2U);
    }
  }
}

TEST(ReadBack, ABlockWhoseWriteFailedHoldsNothingElseThanThatOrItsLastAcknowledgedWrite) {
  // Eight blocks of two pages; the twelfth write began in the place of the fourth, and got through its first page.
  MemoryLog log(64 * kKiB, 1, {8 * kKiB});
  const MemoryLog::Range place = log.RangeOfPlace(3, 8 * kKiB);
  const std::vector<std::byte> filled = CopyOf(log.BytesOf(place));
  log.Run(1, 8 * kKiB, 11, 4 * kKiB);
  const std::vector<std::byte> found = CopyOf(log.BytesOf(place));
  EXPECT_EQ(Faults(log.ReadBack()), 0U);
  const auto with = [&](const std::vector<std::byte>& bytes) {
    Put(bytes, log.BytesOf(place));
    return log.ReadBack();
  };
  v1::WriterReadBack read = with(filled);
  EXPECT_EQ(read.lost(), 1U);
  EXPECT_EQ(TextAt(read, "/log/0", place.offset_bytes), "lost: holds what preparing wrote");
  read = with(CopyOf(log.BytesOf(log.RangeOf(2))));
  EXPECT_EQ(read.lost(), 1U);
  EXPECT_EQ(TextAt(read, "/log/0", place.offset_bytes), "lost: holds write 11 of this step");
  EXPECT_EQ(read.findings(0).expected_sequence(), 4U);
  // The first page of the failed write in the place of its second one.
  std::vector<std::byte> misplaced = found;
  std::copy_n(found.begin(), 4 * kKiB, misplaced.begin() + 4 * kKiB);
  read = with(misplaced);
  EXPECT_EQ(read.torn(), 1U);
  EXPECT_EQ(TextAt(read, "/log/0", place.offset_bytes), "torn: page 2 of 2 holds page 1 of write 12 of this step");
  std::vector<std::byte> half = found;
  std::copy_n(filled.begin(), 512, half.begin() + 6 * kKiB);
  EXPECT_EQ(with(half).torn(), 1U);
  EXPECT_EQ(with(std::vector<std::byte>(8 * kKiB)).foreign(), 1U);
  EXPECT_EQ(Faults(with(found)), 0U);
}

TEST(ReadBack, BlocksThatCannotBeReadAreThoseAlone) {
  MemoryLog log(64 * kKiB, 2, {4 * kKiB});
  log.Run(1, 4 * kKiB, 40);
  log.Break({0, 8 * kKiB, 1});
  log.BreakOpen(1);
  const v1::WriterReadBack read = log.ReadBack();
  EXPECT_EQ(read.unreadable(), 1U + 16U);
  EXPECT_EQ(Faults(read), 17U);
  EXPECT_EQ(read.read_bytes(), 15 * 4 * kKiB);
  EXPECT_EQ(TextAt(read, "/log/0", 8 * kKiB), "unreadable: no byte at 8192");
  EXPECT_EQ(TextAt(read, "/log/1", 0), "unreadable, as all 16 blocks of the extent: gone");
}

TEST(ReadBack, LargeBlocksAreCheckedInParts) {
  const uint64_t size = 2 * kMiB + 12 * kKiB;
  MemoryLog log(2 * size + 4096, 1, {size});
  log.Run(1, size, 1);
  EXPECT_EQ(Faults(log.ReadBack()), 0U);
  log.BytesOf({0, 2 * kMiB + 9 * kKiB, 1})[0] ^= std::byte{1};
  log.BytesOf({0, size + kMiB + 77, 1})[0] ^= std::byte{1};
  v1::WriterReadBack read = log.ReadBack();
  EXPECT_EQ(read.torn(), 1U);
  EXPECT_EQ(read.altered(), 1U);
  EXPECT_THAT(TextAt(read, "/log/0", 0), StartsWith("torn: page 515 of 515 holds the stamp of write 1 of this step"));
  EXPECT_THAT(TextAt(read, "/log/0", size), StartsWith(absl::StrCat("altered: its byte ", kMiB + 77, " is not")));
  log.Break({0, size - 1, 2});
  read = log.ReadBack();
  EXPECT_EQ(read.unreadable(), 2U);
  EXPECT_EQ(Faults(read), 2U);
}

TEST(ReadBack, TheFirstTenFindingsAreKeptAndAllAreCounted) {
  MemoryLog log(64 * kKiB, 1, {4 * kKiB});
  log.Run(1, 4 * kKiB, 16);
  std::ranges::fill(log.BytesOf({0, 0, 64 * kKiB}), std::byte{0});
  const v1::WriterReadBack read = log.ReadBack();
  EXPECT_EQ(read.foreign(), 16U);
  ASSERT_THAT(read.findings(), SizeIs(10));
  EXPECT_EQ(read.findings(9).offset_bytes(), 9 * 4 * kKiB);
}

TEST(ReadBack, AnErrorBeforeACallEndsIt) {
  MemoryLog log(64 * kKiB, 4, {4 * kKiB});
  log.Run(1, 4 * kKiB, 16);
  for (int calls = 0; calls < 8; ++calls) {
    int made = 0;
    const auto read = ReadLogBack(log.log(), log, [&](uint32_t extent) {
      EXPECT_EQ(extent, static_cast<uint32_t>(made / 2)) << "each is opened, and read in one call";
      return made++ < calls ? absl::OkStatus() : absl::CancelledError("enough");
    });
    EXPECT_THAT(read, StatusIs(absl::StatusCode::kCancelled, "enough"));
    EXPECT_EQ(made, calls + 1);
  }
}

// Random logs with random damage, against what the test itself has changed.
class RandomReadBack {
 public:
  explicit RandomReadBack(uint64_t seed) : random_(seed) {}

  void Round() {
    static constexpr uint64_t kSizes[] = {512, 1000, 4096, 4096 + 32, 6144, 10240, 65536};
    std::vector<uint64_t> sizes;
    const uint64_t runs = 1 + Below(3);
    for (uint64_t run = 0; run < runs; ++run) sizes.push_back(kSizes[Below(std::size(kSizes))]);
    const uint64_t file_size_bytes = std::max<uint64_t>(*std::ranges::max_element(sizes), 4096) + 512 * Below(400);
    MemoryLog log(file_size_bytes, static_cast<uint32_t>(1 + Below(3)), sizes);
    for (uint64_t run = 0; run < runs; ++run) {
      const ExtentLayout layout = log.log().LayoutOf({0, sizes[run]});
      const uint64_t writes = Below(layout.blocks_per_lap() * 5 / 2) + 1;
      const bool open = Below(3) == 0;
      log.Run(static_cast<uint32_t>(run + 1), sizes[run], writes,
              open ? std::optional<uint64_t>(Below(sizes[run] + 1)) : std::nullopt);
    }
    ASSERT_EQ(Faults(log.ReadBack()), 0U);
    const std::set<uint64_t> damaged = Damage(log);
    const v1::WriterReadBack read = log.ReadBack();
    uint64_t altered = 0;
    for (const uint64_t place : damaged) {
      const MemoryLog::Range range = log.RangeOf(place);
      if (log.log().LastWriteTo(log.log().runs.back(), place) == 0) ++altered;
      EXPECT_NE(TextAt(read, log.PathOf(range.extent), range.offset_bytes), "none") << place;
    }
    EXPECT_EQ(Faults(read), damaged.size());
    EXPECT_EQ(read.altered(), altered);
    EXPECT_EQ(read.unreadable(), 0U);
    for (const uint64_t place : damaged) log.Break(log.RangeOf(place));
    EXPECT_EQ(log.ReadBack().unreadable(), damaged.size());
    EXPECT_EQ(Faults(log.ReadBack()), damaged.size());
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }

  // Damages some blocks, and returns those of which a byte that is certain has changed. The block of the open write
  // stays as it is.
  std::set<uint64_t> Damage(MemoryLog& log) {
    std::set<uint64_t> damaged;
    const uint64_t places = log.layout().blocks_per_lap();
    const WrittenRun& last = log.log().runs.back();
    for (int i = 0; i < 6; ++i) {
      const uint64_t place = Below(places);
      if (damaged.contains(place) || (last.open_write && last.acknowledged % places == place)) continue;
      const MemoryLog::Range range = log.RangeOf(place);
      const std::vector<std::byte> before = CopyOf(log.BytesOf(range));
      const std::span<std::byte> bytes = log.BytesOf(range);
      switch (Below(4)) {
        case 0:
          bytes[Below(bytes.size())] ^= std::byte{4};
          break;
        case 1:
          std::ranges::fill(bytes, std::byte{0});
          break;
        case 2:
          std::ranges::fill(bytes.subspan(Below(bytes.size())), std::byte{0});
          break;
        default:
          Put(CopyOf(log.BytesOf(log.RangeOf(Below(places)))), bytes);
      }
      if (log.Differs(range, before)) damaged.insert(place);
    }
    return damaged;
  }

  std::mt19937_64 random_;
};

TEST(ReadBackProperty, ExactlyTheDamagedBlocksAreReported) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  RandomReadBack random(seed);
  for (int round = 0; round < 100 && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    random.Round();
  }
}

}  // namespace
}  // namespace plimsoll::tests
