#include "common/file_regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

std::vector<NamedFile> Files(const std::vector<uint64_t>& sizes) {
  std::vector<NamedFile> files;
  for (const uint64_t size : sizes) files.push_back({"/mnt/f" + std::to_string(files.size()), size});
  return files;
}

TEST(FileRegions, AsManyThreadsAsFilesOrFewerHaveAFileEach) {
  const auto regions = DivideFiles(Files({16384, 8192 + 100, 4096}), {.threads = 2, .block_bytes = 4096});
  ASSERT_THAT(regions, IsOk());
  EXPECT_EQ(*regions, (std::vector<FileRegion>{{0, 0, 16384}, {1, 0, 8192}})) << "whole blocks; the third is not used";
}

TEST(FileRegions, MoreThreadsThanFilesHaveRangesOfWholeBlocks) {
  const auto regions = DivideFiles(Files({5 * 4096, 4 * 4096}), {.threads = 5, .block_bytes = 4096});
  ASSERT_THAT(regions, IsOk());
  // Threads 0 to 2 have file 0, as t * 2 / 5 says.
  EXPECT_EQ(
      *regions,
      (std::vector<FileRegion>{
          {0, 0, 4096}, {0, 4096, 2 * 4096}, {0, 3 * 4096, 2 * 4096}, {1, 0, 2 * 4096}, {1, 2 * 4096, 2 * 4096}}));
}

TEST(FileRegions, HostsWithRangesDivideEachFile) {
  const FileDivision first{.threads = 2, .block_bytes = 512, .hosts = 2, .host_index = 0};
  FileDivision second = first;
  second.host_index = 1;
  EXPECT_EQ(*DivideFiles(Files({8 * 512}), first), (std::vector<FileRegion>{{0, 0, 1024}, {0, 1024, 1024}}));
  EXPECT_EQ(*DivideFiles(Files({8 * 512}), second), (std::vector<FileRegion>{{0, 2048, 1024}, {0, 3072, 1024}}));
  EXPECT_EQ(*DivideFiles(Files({8 * 512, 1024}), second), (std::vector<FileRegion>{{0, 2048, 2048}, {1, 512, 512}}));
}

TEST(FileRegions, AThreadWithoutABlockIsAnErrorThatNamesFileSizeBlockAndThreads) {
  EXPECT_THAT(DivideFiles(Files({16384, 4095}), {.threads = 2, .block_bytes = 4096}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "/mnt/f1 has 4095, which is not a block of 4k for each of 1 thread;"));
  EXPECT_THAT(DivideFiles(Files({16384}), {.threads = 5, .block_bytes = 4096}),
              StatusIs(absl::StatusCode::kInvalidArgument, "a block of 4k for each of 5 threads;"));
  EXPECT_THAT(DivideFiles(Files({16384}), {.threads = 3, .block_bytes = 4096, .hosts = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument, "for each of 3 threads on each of 2 hosts; use larger"));
}

TEST(FileRegions, TheLargestPlanFitsIntoItsNumbers) {
  constexpr uint64_t kSize = uint64_t{1} << 62;
  const auto regions =
      DivideFiles(Files({kSize}), {.threads = 4096, .block_bytes = 512, .hosts = 4096, .host_index = 4095});
  ASSERT_THAT(regions, IsOk());
  EXPECT_EQ(regions->back().offset_bytes + regions->back().size_bytes, kSize);
  EXPECT_EQ(regions->back().size_bytes, kSize >> 24);
}

// Every block of every used file belongs to exactly one thread of one host, and the shares differ by a block at most.
TEST(FileRegions, AreDisjointCompleteAndFair) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&random](uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 10'000; ++round) {
    FileDivision division{.threads = static_cast<uint32_t>(1 + below(40)),
                          .block_bytes = 512 * (1 + below(16)),
                          .hosts = static_cast<uint32_t>(1 + below(5))};
    std::vector<uint64_t> sizes(1 + below(10));
    for (uint64_t& size : sizes) size = division.block_bytes * (200 + below(500)) + below(division.block_bytes);
    const size_t used = std::min<size_t>(sizes.size(), division.threads);
    std::map<std::pair<size_t, uint64_t>, uint64_t> ends;
    std::map<size_t, std::pair<uint64_t, uint64_t>> least_and_most;
    for (division.host_index = 0; division.host_index < division.hosts; ++division.host_index) {
      const auto regions = DivideFiles(Files(sizes), division);
      ASSERT_THAT(regions, IsOk());
      ASSERT_EQ(regions->size(), division.threads);
      for (size_t thread = 0; thread < regions->size(); ++thread) {
        const FileRegion& region = (*regions)[thread];
        ASSERT_EQ(region.file, thread * used / division.threads);
        ASSERT_GE(region.size_bytes, division.block_bytes);
        ASSERT_EQ(region.offset_bytes % division.block_bytes, 0U);
        ASSERT_EQ(region.size_bytes % division.block_bytes, 0U);
        ASSERT_TRUE(
            ends.emplace(std::pair(region.file, region.offset_bytes), region.offset_bytes + region.size_bytes).second);
        auto& [least, most] = least_and_most.try_emplace(region.file, UINT64_MAX, 0).first->second;
        least = std::min(least, region.size_bytes);
        most = std::max(most, region.size_bytes);
      }
    }
    for (size_t file = 0; file < used; ++file) {
      uint64_t at = 0;
      for (auto next = ends.find({file, 0}); next != ends.end(); next = ends.find({file, at})) at = next->second;
      ASSERT_EQ(at, sizes[file] / division.block_bytes * division.block_bytes);
      ASSERT_LE(least_and_most[file].second - least_and_most[file].first, division.block_bytes);
    }
    ASSERT_EQ(least_and_most.size(), used);
  }
}

}  // namespace
}  // namespace plimsoll::tests
