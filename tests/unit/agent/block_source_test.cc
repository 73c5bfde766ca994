#include "agent/writer/block_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <random>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "tests/random_seed.h"

namespace plimsoll {
namespace {

constexpr BlockSource::Identity kIdentity{{9, 8, 7, 6}, 3, 12};

std::string PayloadOf(const std::byte* page, size_t length) {
  return {reinterpret_cast<const char*>(page) + kStampBytes, length - kStampBytes};
}

TEST(BlockSource, EveryPageIsWholeAndSaysWhoseItIs) {
  const std::vector<uint64_t> sizes = {512, 4096, 6144, 65536, 5000};
  BlockSource source(kIdentity, sizes);
  for (const uint64_t size : sizes) {
    source.StartEpoch(4, size, 100);
    for (uint64_t seq = 1; seq <= 600; ++seq) {
      const std::byte* block = source.Next(seq);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0U);
      for (uint64_t at = 0; at < size; at += 4096) {
        PageStamp stamp;
        ASSERT_EQ(ReadStamp({block + at, std::min<uint64_t>(4096, size - at)}, stamp), StampState::kWhole)
            << size << " " << seq << " " << at;
        ASSERT_EQ(stamp, (PageStamp{kIdentity.run_token, 3, 12, 4, static_cast<uint32_t>(at / 4096), seq}));
      }
    }
  }
}

TEST(BlockSource, AnEndTooShortForAStampIsLeftRandom) {
  const std::vector<uint64_t> sizes = {4096 + 20};
  BlockSource source(kIdentity, sizes);
  source.StartEpoch(1, sizes[0], 100);
  PageStamp stamp;
  EXPECT_EQ(ReadStamp({source.Next(1), 4096}, stamp), StampState::kWhole);
}

TEST(BlockSource, WritersHostsAndRunsHaveOtherBytes) {
  const std::vector<uint64_t> sizes = {4096};
  std::set<std::string> payloads;
  for (const BlockSource::Identity& identity :
       {kIdentity, BlockSource::Identity{kIdentity.run_token, 3, 13}, BlockSource::Identity{kIdentity.run_token, 4, 12},
        BlockSource::Identity{{1}, 3, 12}}) {
    BlockSource source(identity, sizes);
    source.StartEpoch(1, 4096, 100);
    payloads.insert(PayloadOf(source.Next(1), 4096));
  }
  EXPECT_EQ(payloads.size(), 4U);
}

TEST(BlockSource, TheSameWriterMakesTheSameBytes) {
  const std::vector<uint64_t> sizes = {4096};
  BlockSource one(kIdentity, sizes);
  BlockSource two(kIdentity, sizes);
  for (BlockSource* source : {&one, &two}) source->StartEpoch(1, 4096, 100);
  for (uint64_t seq = 1; seq < 10; ++seq) ASSERT_EQ(std::memcmp(one.Next(seq), two.Next(seq), 4096), 0);
}

TEST(BlockSource, ItsBytesAreTheSameOnEveryMachine) {
  const std::vector<uint64_t> sizes = {4096};
  BlockSource source(kIdentity, sizes);
  EXPECT_EQ(absl::BytesToHexString(PayloadOf(source.NextOfSize(1, 4096), 4096).substr(0, 16)),
            "a3339111986cb9dcd4f2a9a6d1d1c3e8");
}

TEST(BlockSource, CannotBeCompressed) {
  const std::vector<uint64_t> sizes = {65536};
  BlockSource source(kIdentity, sizes);
  source.StartEpoch(1, 65536, 100);
  std::string many;
  for (uint64_t seq = 1; seq <= 8; ++seq) many.append(reinterpret_cast<const char*>(source.Next(seq)), 65536);
  uLongf packed = compressBound(many.size());
  std::string out(packed, '\0');
  ASSERT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &packed, reinterpret_cast<const Bytef*>(many.data()),
                      many.size(), 9),
            Z_OK);
  EXPECT_GT(packed, many.size() * 98 / 100);
}

TEST(BlockSource, NoPageIsWrittenTwice) {
  const std::vector<uint64_t> sizes = {512, 4096, 16384, 1048576};
  BlockSource source(kIdentity, sizes);
  std::set<std::string> heads;
  size_t pages = 0;
  uint32_t epoch = 0;
  for (const uint64_t size : {uint64_t{4096}, uint64_t{16384}, uint64_t{4096}, uint64_t{512}}) {
    source.StartEpoch(++epoch, size, 12);
    for (uint64_t seq = 1; seq <= 1000; ++seq) {
      const std::byte* block = source.Next(seq);
      for (uint64_t at = 0; at < size; at += 4096) {
        heads.emplace(reinterpret_cast<const char*>(block) + at, kStampBytes);
        ++pages;
      }
    }
  }
  EXPECT_EQ(heads.size(), pages);
}

// The page at each place of the extents, as the pool page that it came from, over three laps.
TEST(PoolWalk, ThePageAtOnePlaceChangesFromLapToLap) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 10'000; ++round) {
    // Multiples of the primes are the hard cases.
    const uint64_t prime = PoolWalk::kPrimes[random() % PoolWalk::kPrimes.size()];
    const uint64_t pages = random() % 3 == 0 ? prime * (1 + random() % 60) : 1 + random() % 16384;
    const uint64_t lap = random() % 3 == 0 ? prime : 1 + random() % 600;
    PoolWalk walk(static_cast<uint32_t>(random()), pages, lap);
    std::vector<uint64_t> windows;
    for (uint64_t n = 0; n < 3 * lap; ++n) {
      windows.push_back(walk.window());
      ASSERT_LT(walk.window(), PoolWalk::kWindows);
      walk.Advance();
    }
    for (uint64_t n = lap; n < windows.size(); ++n) {
      ASSERT_NE(windows[n], windows[n - lap]) << pages << " pages, lap " << lap;
    }
  }
}

TEST(PoolWalk, LapsThatManyPrimesDivideChangeToo) {
  // The largest product of the primes that a lap can be, and a block that one of the others divides.
  const auto& primes = PoolWalk::kPrimes;
  const uint64_t lap = primes[0] * primes[1] * primes[2] * primes[3];
  const uint64_t pages = primes[4];
  PoolWalk walk(0, pages, lap);
  walk.Advance();
  const uint64_t stride = walk.window();
  ASSERT_EQ(stride, pages % primes[5]);
  EXPECT_NE((lap % primes[5]) * stride % primes[5], 0U);
}

}  // namespace
}  // namespace plimsoll
