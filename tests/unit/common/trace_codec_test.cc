#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <random>

#include "absl/strings/escaping.h"
#include "common/trace.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using Writes = std::vector<TracedWrite>;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string Encode(const Writes& writes) {
  const bool parts = !writes.empty() && writes.front().write_call_ns >= 0;
  TraceEncoder encoder({}, parts);
  for (const TracedWrite& write : writes) {
    encoder.Add(write.start_ns, write.latency_ns, 0, static_cast<uint64_t>(std::max<int64_t>(write.write_call_ns, 0)));
  }
  return encoder.Finish();
}

// Writes of a kind that is chosen at random: from all alike to any value that 64 bits hold.
Writes RandomWrites(std::mt19937_64& random) {
  const size_t count = random() % 5 == 0 ? random() % 1000 : random() % 140;
  const auto latency_bits = static_cast<uint32_t>(random() % 64);
  const auto gap_bits = static_cast<uint32_t>(random() % 40);
  const uint64_t outliers_in = 1 + random() % 200;
  Writes writes;
  auto start = static_cast<int64_t>(random()) >> (random() % 64);
  for (size_t i = 0; i < count; ++i) {
    uint64_t latency = random() >> (63 - latency_bits) >> 1U;
    uint64_t advance = (random() >> (63 - gap_bits) >> 1U) + (random() % 2 == 0 ? latency : 0);
    if (random() % outliers_in == 0) latency = random() >> (random() % 64);
    if (random() % outliers_in == 0) advance = random() >> (random() % 64);
    writes.push_back({start, latency});
    // Unsigned, because from the one end of time to the other is more than a signed number holds.
    const auto from = static_cast<uint64_t>(start);
    if (advance <= static_cast<uint64_t>(INT64_MAX) - from) start = static_cast<int64_t>(from + advance);
  }
  return writes;
}

TEST(TraceCodec, GivesBackWhatItWasGiven) {
  constexpr uint64_t kSeed = 20261120;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    const Writes writes = RandomWrites(random);
    const std::string block = Encode(writes);
    ASSERT_EQ(block.empty(), writes.empty());
    Writes read;
    ASSERT_THAT(DecodeTrace(block, read), IsOk()) << "seed " << kSeed << ", case " << i;
    ASSERT_EQ(read, writes) << "seed " << kSeed << ", case " << i;
    ASSERT_LE(writes.size(), block.size());
  }
}

// Each write costs the bits of its size's place in the list, beside what it costs in a block of one size.
TEST(TraceCodec, GivesBackTheSizesOfWritesThatDiffer) {
  constexpr uint64_t kSeed = 20261126;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 2'000; ++i) {
    Writes writes = RandomWrites(random);
    std::vector<uint64_t> sizes;
    const size_t count = 2 + random() % (i % 10 == 0 ? 2047 : 15);
    for (size_t size = 0; size < count; ++size) sizes.push_back(1 + (random() >> (random() % 64)) / 2);
    TraceEncoder encoder(sizes);
    for (TracedWrite& write : writes) {
      const auto size = static_cast<uint32_t>(random() % count);
      encoder.Add(write.start_ns, write.latency_ns, size);
      write.bytes = sizes[size];
    }
    const std::string block = encoder.Finish();
    Writes read;
    ASSERT_THAT(DecodeTrace(block, read), IsOk()) << "seed " << kSeed << ", case " << i;
    ASSERT_EQ(read, writes) << "seed " << kSeed << ", case " << i;
    if (writes.empty()) continue;
    const size_t bits = static_cast<size_t>(std::bit_width(count - 1));
    const size_t groups = (writes.size() + 127) / 128;
    ASSERT_LE(block.size(), Encode(writes).size() + 2 + 10 * count + (writes.size() * bits) / 8 + groups);
    for (size_t size = 1; size < block.size(); size += 1 + block.size() / 37) {
      ASSERT_THAT(DecodeTrace(block.substr(0, size), read), StatusIs(kInvalid, "trace block")) << size;
    }
  }
}

TEST(TraceCodec, GivesBackTheTimesOfWriteCalls) {
  constexpr uint64_t kSeed = 20261127;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 2'000; ++i) {
    Writes writes = RandomWrites(random);
    const std::vector<uint64_t> sizes = i % 2 == 0 ? std::vector<uint64_t>{} : std::vector<uint64_t>{4096, 65536};
    TraceEncoder encoder(sizes, /*parts=*/true);
    for (TracedWrite& write : writes) {
      const auto size = static_cast<uint32_t>(sizes.empty() ? 0 : random() % sizes.size());
      if (!sizes.empty()) write.bytes = sizes[size];
      // From 0 to the whole latency.
      write.write_call_ns =
          static_cast<int64_t>(std::min({random() >> (random() % 64), write.latency_ns, uint64_t{INT64_MAX}}));
      encoder.Add(write.start_ns, write.latency_ns, size, static_cast<uint64_t>(write.write_call_ns));
    }
    const std::string block = encoder.Finish();
    Writes read;
    ASSERT_THAT(DecodeTrace(block, read), IsOk()) << "seed " << kSeed << ", case " << i;
    ASSERT_EQ(read, writes) << "seed " << kSeed << ", case " << i;
    for (size_t size = 1; size < block.size(); size += 1 + block.size() / 37) {
      ASSERT_THAT(DecodeTrace(block.substr(0, size), read), StatusIs(kInvalid, "trace block")) << size;
    }
  }
}

TEST(TraceCodec, RefusesAWriteCallThatIsLongerThanItsWrite) {
  Writes read;
  EXPECT_THAT(DecodeTrace(Encode({{100, 5, 0, 5}}), read), IsOk());
  EXPECT_EQ(read, (Writes{{100, 5, 0, 5}}));
  EXPECT_THAT(DecodeTrace(Encode({{100, 5, 0, 6}}), read), StatusIs(kInvalid, "trace block"));
  // A reference and a packed value whose sum wraps around to 5.
  std::string block = {3, 1, 0, 8, 0, 5, 0, 8, 0};
  for (int i = 0; i < 9; ++i) block.push_back(static_cast<char>(0xFF));
  block += {1, 6};
  EXPECT_THAT(DecodeTrace(block, read), StatusIs(kInvalid, "trace block"));
}

// Blocks are in journals, which machines of either byte order read.
TEST(TraceCodec, KeepsItsLayout) {
  const std::string block = Encode({{1000, 0x1000}, {0x3000, 0x1345}});
  EXPECT_EQ(absl::BytesToHexString(block),
            "0102d00f"
            "0a00802000140d"
            "0000b070");
  Writes read;
  ASSERT_THAT(DecodeTrace(block, read), IsOk());
  EXPECT_EQ(read, (Writes{{1000, 0x1000}, {0x3000, 0x1345}}));
}

TEST(TraceCodec, TakesTheExtremesOfItsTypes) {
  const Writes writes = {{INT64_MIN, 0}, {INT64_MIN, UINT64_MAX}, {-1, 0},       {0, UINT64_MAX},
                         {0, 0},         {INT64_MAX, UINT64_MAX}, {INT64_MAX, 0}};
  Writes read;
  ASSERT_THAT(DecodeTrace(Encode(writes), read), IsOk());
  EXPECT_EQ(read, writes);
}

TEST(TraceCodec, AppendsBlockToBlock) {
  const Writes first = {{100, 5}, {110, 6}};
  const Writes second = {{50, 7}};
  Writes read;
  ASSERT_THAT(DecodeTrace(Encode(first), read), IsOk());
  ASSERT_THAT(DecodeTrace("", read), IsOk());
  ASSERT_THAT(DecodeTrace(Encode(second), read), IsOk());
  EXPECT_EQ(read, (Writes{{100, 5}, {110, 6}, {50, 7}}));
}

TEST(TraceCodec, FinishEmptiesTheEncoder) {
  TraceEncoder encoder;
  EXPECT_EQ(encoder.Finish(), "");
  encoder.Add(1, 2);
  EXPECT_EQ(encoder.size(), 1U);
  EXPECT_EQ(encoder.Finish(), Encode({{1, 2}}));
  EXPECT_EQ(encoder.size(), 0U);
  EXPECT_EQ(encoder.Finish(), "");
}

TEST(TraceCodec, RefusesStartsThatGoBack) {
  Writes read = {{1, 1}};
  EXPECT_THAT(DecodeTrace(Encode({{100, 5}, {99, 5}}), read), StatusIs(kInvalid, "trace block"));
  EXPECT_EQ(read, (Writes{{1, 1}}));
}

TEST(TraceCodec, RefusesABlockCutOffAnywhereAndAnythingBehindIt) {
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 200; ++i) {
    const Writes writes = RandomWrites(random);
    if (writes.empty()) continue;
    const std::string block = Encode(writes);
    Writes read = {{1, 1}};
    for (size_t size = 1; size < block.size(); size += 1 + block.size() / 97) {
      ASSERT_THAT(DecodeTrace(block.substr(0, size), read), StatusIs(kInvalid, "trace block")) << size;
    }
    for (int junk : {0, 1, 0x7F, 0xFF}) {
      ASSERT_THAT(DecodeTrace(block + static_cast<char>(junk), read), StatusIs(kInvalid, "trace block"));
    }
    ASSERT_EQ(read, (Writes{{1, 1}})) << "what was there must stay";
  }
}

TEST(TraceCodec, ADamagedBlockIsRefusedOrStaysWithinItsBounds) {
  constexpr uint64_t kSeed = 8;
  std::mt19937_64 random(kSeed);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string block = Encode(RandomWrites(random));
    if (block.empty()) continue;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      block[random() % block.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    Writes read;
    if (!DecodeTrace(block, read).ok()) {
      ++refused;
      ASSERT_TRUE(read.empty());
      continue;
    }
    ASSERT_LE(read.size(), block.size()) << "seed " << kSeed << ", case " << i;
    ASSERT_TRUE(std::is_sorted(read.begin(), read.end(),
                               [](const TracedWrite& a, const TracedWrite& b) { return a.start_ns < b.start_ns; }));
    Writes again;
    ASSERT_THAT(DecodeTrace(Encode(read), again), IsOk());
    ASSERT_EQ(again, read);
  }
  EXPECT_GT(refused, 100);
}

// One write at 0 ns: version, count, start, then the column of latencies: width, exceptions, reference, packed value.
TEST(TraceCodec, RefusesEachKindOfBadBlock) {
  const auto decode = [](std::initializer_list<int> bytes) {
    std::string block;
    for (const int byte : bytes) block.push_back(static_cast<char>(byte));
    Writes read;
    return DecodeTrace(block, read);
  };
  EXPECT_THAT(decode({1, 1, 0, 8, 0, 5, 0}), IsOk());
  EXPECT_THAT(decode({5, 1, 0, 8, 0, 5, 0}), StatusIs(kInvalid, "trace block")) << "version";
  EXPECT_THAT(decode({2, 1, 0, 3, 7, 8, 9, 8, 0, 5, 0, 2}), IsOk());
  EXPECT_THAT(decode({2, 1, 0, 3, 7, 8, 9, 8, 0, 5, 0, 3}), StatusIs(kInvalid, "trace block")) << "a size not listed";
  EXPECT_THAT(decode({2, 1, 0, 3, 7, 8, 9, 8, 0, 5, 0, 4}), StatusIs(kInvalid, "trace block")) << "filling bits set";
  EXPECT_THAT(decode({2, 1, 0, 3, 7, 0, 9, 8, 0, 5, 0, 2}), StatusIs(kInvalid, "trace block")) << "a size of 0";
  EXPECT_THAT(decode({2, 1, 0, 1, 7, 8, 0, 5, 0, 0}), StatusIs(kInvalid, "trace block")) << "one size";
  EXPECT_THAT(decode({2, 1, 0, 0x81, 0x10, 8, 0, 5, 0}), StatusIs(kInvalid, "trace block")) << "too many sizes";
  EXPECT_THAT(decode({1, 0, 0, 8, 0, 5, 0}), StatusIs(kInvalid, "trace block")) << "no write";
  EXPECT_THAT(decode({1, 0x81, 0, 0, 8, 0, 5, 0}), StatusIs(kInvalid, "trace block")) << "a longer varint than needed";
  EXPECT_THAT(decode({1, 100, 0, 8, 0, 5, 0}), StatusIs(kInvalid, "trace block")) << "more writes than bytes";
  EXPECT_THAT(decode({1, 1, 0, 7, 0, 5, 0}), StatusIs(kInvalid, "trace block")) << "latency narrower than a byte";
  EXPECT_THAT(decode({1, 1, 0, 65, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0}), StatusIs(kInvalid, "trace block")) << "width";
  EXPECT_THAT(decode({1, 1, 0, 9, 0, 5, 0, 2}), StatusIs(kInvalid, "trace block")) << "filling bits set";
  EXPECT_THAT(decode({1, 1, 0, 8, 2, 5, 0, 0, 1, 0, 1}), StatusIs(kInvalid, "trace block")) << "exceptions > values";
  EXPECT_THAT(decode({1, 1, 0, 8, 1, 5, 0, 0, 1}), IsOk());
  EXPECT_THAT(decode({1, 1, 0, 8, 1, 5, 0, 1, 1}), StatusIs(kInvalid, "trace block")) << "place outside the column";
  EXPECT_THAT(decode({1, 1, 0, 8, 1, 5, 0, 0, 0}), StatusIs(kInvalid, "trace block")) << "an exception that is none";
  EXPECT_THAT(decode({1, 1, 0, 8, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0}), IsOk());
  EXPECT_THAT(decode({1, 1, 0, 8, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1}),
              StatusIs(kInvalid, "trace block"))
      << "latency beyond 64 bits";
  EXPECT_THAT(decode({1, 1, 0, 8, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2, 0}),
              StatusIs(kInvalid, "trace block"))
      << "varint beyond 64 bits";
}

struct Traffic {
  const char* name;
  double latency_ns;
  double latency_sd_ns;
  double outlier_share;  // of 10 ms
  double gap_ns;
  double gap_spread_ns;
  double budget_bytes;
  // 2: two sizes, as often the one as the other.
  size_t sizes = 0;
  // Each write has a write call of 3 to 7 us.
  bool parts = false;
};

// Bytes a write over frames of 250 ms, with everything that a block carries.
double BytesPerWrite(const Traffic& traffic, std::mt19937_64& random) {
  std::normal_distribution<double> latency(traffic.latency_ns, traffic.latency_sd_ns);
  std::uniform_real_distribution<double> gap(traffic.gap_ns - traffic.gap_spread_ns,
                                             traffic.gap_ns + traffic.gap_spread_ns);
  std::uniform_real_distribution<double> chance(0, 1);
  double now = 5e12;
  size_t writes = 0;
  size_t bytes = 0;
  for (int frame = 0; frame < 100; ++frame) {
    TraceEncoder encoder(std::vector<uint64_t>(traffic.sizes, 4096), traffic.parts);
    for (const double end = now + 250e6; now < end;) {
      double took = std::max(1e3, latency(random));
      if (chance(random) < traffic.outlier_share) took = 10e6 * (0.5 + chance(random));
      encoder.Add(static_cast<int64_t>(now), static_cast<uint64_t>(took),
                  chance(random) < 0.5 && traffic.sizes > 0 ? 1 : 0,
                  traffic.parts ? static_cast<uint64_t>(3e3 + chance(random) * 4e3) : 0);
      now += took + gap(random);
    }
    writes += encoder.size();
    bytes += encoder.Finish().size();
  }
  return static_cast<double>(bytes) / static_cast<double>(writes);
}

TEST(TraceCodec, StaysWithinItsBudgetOfBytesPerWrite) {
  constexpr uint64_t kSeed = 9;
  std::mt19937_64 random(kSeed);
  for (const Traffic& traffic : {
           Traffic{"closed loop", 300e3, 60e3, 0.002, 1.25e3, 0.75e3, 4.5},
           Traffic{"closed loop, many outliers", 300e3, 60e3, 0.05, 1.25e3, 0.75e3, 4.5},
           Traffic{"closed loop, memory speed", 5e3, 2e3, 0.001, 200, 100, 4.5},
           // Noise of 1 ms is 22 bits in each latency and 11 in each gap: no code can do with less than 4.1 bytes.
           Traffic{"closed loop, slow and noisy", 5e6, 1e6, 0.01, 2e3, 1e3, 4.8},
           Traffic{"closed loop, two sizes", 300e3, 60e3, 0.002, 1.25e3, 0.75e3, 5.5, 2},
           Traffic{"closed loop, in parts", 300e3, 60e3, 0.002, 1.25e3, 0.75e3, 6.2, 0, true},
           Traffic{"paced, 1 kHz", 300e3, 60e3, 0.002, 700e3, 100e3, 6.5},
           Traffic{"paced, wide jitter", 300e3, 60e3, 0.01, 3e6, 2.9e6, 6.5},
       }) {
    const double bytes = BytesPerWrite(traffic, random);
    RecordProperty(traffic.name, std::to_string(bytes));
    EXPECT_LE(bytes, traffic.budget_bytes) << traffic.name;
    EXPECT_GE(bytes, 1) << traffic.name;
    std::printf("%-28s %.2f bytes a write (budget %.1f)\n", traffic.name, bytes, traffic.budget_bytes);
  }
}

}  // namespace
}  // namespace plimsoll
