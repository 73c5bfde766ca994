#include "agent/writer/log_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/random_seed.h"

namespace plimsoll {
namespace {

constexpr uint64_t kPage = kStampedPageBytes;

TEST(SizeMix, SizesHaveTheirShares) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const uint32_t first = 1 + static_cast<uint32_t>(random() % 60);
    const uint32_t second = 1 + static_cast<uint32_t>(random() % 39);
    const std::vector<SizeMix::Share> shares = {
        {kPage, first}, {2 * kPage, second}, {kPage * 16, 100 - first - second}};
    const SizeMix mix(shares, {static_cast<uint32_t>(random()), 1, 2});
    constexpr int kBlocks = 100'000;
    std::vector<int> counts(shares.size());
    for (uint64_t block = 0; block < kBlocks; ++block) ++counts[mix.SizeOf(block)];
    for (size_t size = 0; size < shares.size(); ++size) {
      const double share = shares[size].percent / 100.0;
      // Six standard deviations of the binomial distribution.
      EXPECT_NEAR(counts[size], share * kBlocks, 6 * std::sqrt(kBlocks * share * (1 - share)));
    }
  }
}

TEST(SizeMix, EachWriterHasAnOrderOfItsOwnAndTheSameOneAgain) {
  const std::vector<SizeMix::Share> shares = {{kPage, 50}, {2 * kPage, 50}};
  const auto order = [&shares](SizeMix::Key key) {
    const SizeMix mix(shares, key);
    std::string sizes;
    for (uint64_t block = 0; block < 200; ++block) sizes += mix.SizeOf(block) == 0 ? 's' : 'l';
    return sizes;
  };
  const std::string one = order({7, 0, 1});
  EXPECT_EQ(order({7, 0, 1}), one);
  EXPECT_NE(order({8, 0, 1}), one);
  EXPECT_NE(order({7, 1, 1}), one);
  EXPECT_NE(order({7, 0, 2}), one);
}

// A log as its writer leaves it, page by page.
TEST(LogSource, APageOfAnySizeOfBlockDiffersBehindItsStampFromThePageThatItOverwrites) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const uint64_t largest = kPage * (2 + random() % 40);
    const uint64_t file_bytes = largest + kPage * (random() % 100) + random() % 2 * 512;
    const auto files = static_cast<uint32_t>(1 + random() % 4);
    const std::vector<uint64_t> sizes = {kPage, largest};
    const std::optional<SizeMix> mix(std::in_place, std::vector<SizeMix::Share>{{kPage, 60}, {largest, 40}},
                                     SizeMix::Key{static_cast<uint32_t>(random()), 0, 1});
    BlockSource blocks({{1, 2, 3}, 0, 1}, sizes);
    LogSource log(ExtentLayout(file_bytes, files, largest), mix, std::nullopt, 1 + static_cast<uint32_t>(random() % 9),
                  0, blocks);
    std::map<std::pair<uint32_t, uint64_t>, std::string> pages;
    int overwritten = 0;
    for (uint64_t sequence = 1; overwritten < 2000; ++sequence) {
      const LogSource::Block block = log.Next();
      ASSERT_EQ(log.sequence(), sequence);
      ASSERT_EQ(block.bytes, sizes[block.size]);
      ASSERT_EQ(block.size, mix->SizeOf(sequence - 1));
      ASSERT_LE(block.place.offset_bytes + block.bytes, file_bytes);
      for (uint64_t at = 0; at < block.bytes; at += kPage) {
        const std::span<const std::byte> page(block.data + at, kPage);
        PageStamp stamp;
        ASSERT_EQ(ReadStamp(page, stamp), StampState::kWhole);
        ASSERT_EQ(stamp.sequence, sequence);
        ASSERT_EQ(stamp.page, at / kPage);
        const std::string payload(reinterpret_cast<const char*>(page.data()) + kStampBytes, kPage - kStampBytes);
        std::string& there = pages[{block.place.extent, block.place.offset_bytes + at}];
        if (!there.empty()) ++overwritten;
        ASSERT_NE(there, payload);
        there = payload;
      }
    }
  }
}

TEST(LogSource, BlocksOfOneSizeGoOnFromAnyBlockOfTheLog) {
  const std::vector<uint64_t> sizes = {kPage};
  BlockSource blocks({{1, 2, 3}, 0, 1}, sizes);
  const ExtentLayout layout(4 * kPage, 3, kPage);
  LogSource log(layout, std::nullopt, std::nullopt, 1, 10, blocks);
  for (uint64_t block = 10; block < 40; ++block) {
    const LogSource::Block next = log.Next();
    EXPECT_EQ(next.place, layout.PlaceOf(block));
    EXPECT_EQ(next.bytes, kPage);
    EXPECT_EQ(log.sequence(), block + 1);
  }
}

TEST(LogSource, ARandomOrderReadsItsShareAndWritesStampedBlocks) {
  const std::vector<uint64_t> sizes = {kPage};
  BlockSource blocks({{1, 2, 3}, 0, 1}, sizes);
  const std::optional<Access> access(std::in_place, true, 30, 1, Access::Key{5, 0, 1});
  LogSource log(ExtentLayout(10 * kPage, 5, kPage), std::nullopt, access, 1, 0, blocks);
  uint64_t reads = 0;
  for (uint64_t number = 0; number < 1'000; ++number) {
    const LogSource::Block block = log.Next();
    EXPECT_EQ(block.data == nullptr, access->Reads(number));
    EXPECT_EQ(block.bytes, kPage);
    if (block.data == nullptr) {
      ++reads;
      continue;
    }
    PageStamp stamp;
    ASSERT_EQ(ReadStamp(std::span(block.data, kPage), stamp), StampState::kWhole);
    EXPECT_EQ(stamp.sequence, number + 1);
  }
  EXPECT_EQ(reads, 300U);
}

}  // namespace
}  // namespace plimsoll
