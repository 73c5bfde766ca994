#include "common/units.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(Units, ReadsSizes) {
  const std::pair<const char*, uint64_t> cases[] = {{"0", 0},
                                                    {"4096", 4096},
                                                    {"4k", 4096},
                                                    {"4K", 4096},
                                                    {"4kb", 4096},
                                                    {"4KiB", 4096},
                                                    {"64M", 64ULL << 20},
                                                    {"1g", 1ULL << 30},
                                                    {"2t", 2ULL << 40},
                                                    {"2TiB", 2ULL << 40},
                                                    {"7b", 7},
                                                    {"18446744073709551615", UINT64_MAX},
                                                    {"0k", 0},
                                                    {"16777215t", 16777215ULL << 40}};
  for (const auto& [text, size_bytes] : cases) {
    const absl::StatusOr<uint64_t> read = ParseSize(text);
    ASSERT_THAT(read, IsOk()) << text;
    EXPECT_EQ(*read, size_bytes) << text;
  }
}

TEST(Units, RefusesWhatIsNoSize) {
  for (const char* text : {"", "64q", "-1k", "+1k", "k", "1.5k", " 4k", "4k ", "4 k", "0x10", "4kk", "4ib", "4bb",
                           "4kbb", "4bib", "b", "1e3", "18446744073709551616"}) {
    EXPECT_THAT(ParseSize(text), StatusIs(kInvalid, "is not a size")) << text;
    EXPECT_THAT(ParseSize(text), StatusIs(kInvalid, std::string("'") + text + "'")) << "names what it refuses";
  }
  EXPECT_THAT(ParseSize(std::string("4k\0", 3)), StatusIs(kInvalid, "is not a size"));
  EXPECT_THAT(ParseSize("16777216t"), StatusIs(kInvalid, "64 bits"));
}

TEST(Units, ReadsTimes) {
  const std::pair<const char*, int64_t> cases[] = {{"250us", 250'000},
                                                   {"1.5s", 1'500'000'000},
                                                   {"10m", 600 * kNsPerSecond},
                                                   {"1h", 3'600 * kNsPerSecond},
                                                   {"2d", 172'800 * kNsPerSecond},
                                                   {"100ns", 100},
                                                   {"5min", 300 * kNsPerSecond},
                                                   {"2hours", 7'200 * kNsPerSecond},
                                                   {"250µs", 250'000},
                                                   {"1h30m", 5'400 * kNsPerSecond},
                                                   {"1d2h3min4sec5ms", 93'784'005'000'000},
                                                   {"0h0.5s", 500'000'000},
                                                   {"20ms", 20'000'000},
                                                   {"10", 10 * kNsPerSecond},
                                                   {"0.25", 250'000'000},
                                                   {"0", 0},
                                                   {"-3s", -3 * kNsPerSecond},
                                                   {"-0.5ms", -500'000},
                                                   {"0.5ns", 1},
                                                   {"0.4ns", 0},
                                                   {"0.1s", 100'000'000},
                                                   {"1.000000001s", 1'000'000'001},
                                                   {"1000000000.000000001s", 1'000'000'000'000'000'001},
                                                   {"4611686018427387903ns", INT64_MAX / 2}};
  for (const auto& [text, ns] : cases) {
    const absl::StatusOr<int64_t> read = ParseDuration(text);
    ASSERT_THAT(read, IsOk()) << text;
    EXPECT_EQ(*read, ns) << text;
  }
  EXPECT_EQ(*ParseDuration("250", kNsPerUs), 250'000) << "a bare number in the unit that was asked for";
  EXPECT_EQ(*ParseDuration("250s", kNsPerUs), 250 * kNsPerSecond);
  EXPECT_EQ(*ParseDuration("1." + std::string(10'000, '0') + "1s"), kNsPerSecond) << "as many digits as anyone types";
  EXPECT_EQ(*ParseDuration("0." + std::string(10'000, '9') + "s"), kNsPerSecond);
}

TEST(Units, RefusesWhatIsNoTime) {
  for (const char* text :
       {"",    "-",   "--1s", "+1s",  "s",    ".5s",  "1.s",   "1.5.5s", "10x",  "10S",    "1 s",   "1s ",     "s1",
        "1e3", "nan", "inf",  "1,5s", "0x1s", "1h30", "30m1h", "1h1h",   "0m30", "1h-30m", "5 min", "5minutes"}) {
    EXPECT_THAT(ParseDuration(text), StatusIs(kInvalid, "is not a time")) << text;
  }
  for (const char* text : {"4611686018427387904ns", "200000d", "99999999999999999999s", "-200000d"}) {
    EXPECT_THAT(ParseDuration(text), StatusIs(kInvalid, "too long")) << text;
  }
}

TEST(Units, ReadsBackEverySizeThatItWrites) {
  constexpr uint64_t kSeed = 1;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t size_bytes = (random() >> (random() % 64)) << (random() % 41);
    ASSERT_EQ(*ParseSize(FormatSize(size_bytes)), size_bytes) << "seed " << kSeed;
  }
  EXPECT_EQ(FormatSize(0), "0");
  EXPECT_EQ(FormatSize(4096), "4k");
  EXPECT_EQ(FormatSize(5000), "5000");
  EXPECT_EQ(FormatSize(1ULL << 40), "1t");
  EXPECT_EQ(FormatSize(1536), "1536");
}

TEST(Units, ReadsBackEveryTimeThatItWrites) {
  constexpr uint64_t kSeed = 2;
  std::mt19937_64 random(kSeed);
  constexpr int64_t kUnits[] = {1, kNsPerUs, kNsPerMs, kNsPerSecond, 60 * kNsPerSecond, 86'400 * kNsPerSecond};
  for (int i = 0; i < 10'000; ++i) {
    auto ns = static_cast<int64_t>(random() >> (14 + random() % 50)) * kUnits[random() % 2];
    if (random() % 2 == 0) ns = static_cast<int64_t>(random() % 10'000) * kUnits[random() % 6];
    if (random() % 4 == 0) ns = -ns;
    ASSERT_EQ(*ParseDuration(FormatDuration(ns)), ns) << "seed " << kSeed << " " << FormatDuration(ns);
    const std::string readable = FormatReadableDuration(ns);
    ASSERT_EQ(*ParseDuration(readable), ns) << "seed " << kSeed << " " << readable;
  }
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(250'000), "250us");
  EXPECT_EQ(FormatDuration(10 * kNsPerSecond), "10s");
  EXPECT_EQ(FormatDuration(90 * kNsPerSecond), "90s");
  EXPECT_EQ(FormatDuration(120 * kNsPerSecond), "2m");
  EXPECT_EQ(FormatDuration(-1), "-1ns");
  EXPECT_EQ(FormatReadableDuration(315'360'002 * kNsPerSecond), "3650d2s");
  EXPECT_EQ(FormatReadableDuration(315'360'000 * kNsPerSecond), "3650d");
  EXPECT_EQ(FormatReadableDuration(5'400 * kNsPerSecond), "1h30m");
  EXPECT_EQ(FormatReadableDuration(10'500 * kNsPerMs), "10.5s");
  EXPECT_EQ(FormatReadableDuration(123'500 * kNsPerMs), "123.5s");
  EXPECT_EQ(FormatReadableDuration(kNsPerSecond + 1), "1.000000001s");
  EXPECT_EQ(FormatReadableDuration(90 * kNsPerSecond), "90s");
  EXPECT_EQ(FormatReadableDuration(250 * kNsPerMs), "250ms");
  EXPECT_EQ(FormatReadableDuration(0), "0s");
}

TEST(Units, WritesForPeople) {
  EXPECT_EQ(FormatSizeForPeople(0), "0 B");
  EXPECT_EQ(FormatSizeForPeople(1023), "1,023 B");
  EXPECT_EQ(FormatSizeForPeople(4096), "4 KiB");
  EXPECT_EQ(FormatSizeForPeople(1536), "1.5 KiB");
  EXPECT_EQ(FormatSizeForPeople(5000), "5,000 B");
  EXPECT_EQ(FormatSizeForPeople(50'000), "48.8 KiB");
  EXPECT_EQ(FormatSizeForPeople(48ULL << 20), "48 MiB");
  EXPECT_EQ(FormatSizeForPeople((1ULL << 30) + 1), "1,024 MiB");
  EXPECT_EQ(FormatSizeForPeople(UINT64_MAX), "16,777,215.9 TiB");
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Units, RoundsTimesTheSameWithAndWithoutAUnit) {
  EXPECT_EQ(FormatSeconds(1'884'600'000), "1.885");
  EXPECT_EQ(FormatRoundedTime(1'884'600'000), "1.885 s");
  EXPECT_EQ(FormatSeconds(1'884'499'999), "1.884");
  EXPECT_EQ(FormatRoundedTime(1'884'499'999), "1.884 s");
  EXPECT_EQ(FormatRoundedTime(88'500'000), "89 ms");
  EXPECT_EQ(FormatSeconds(88'500'000), "0.089");
  EXPECT_EQ(FormatRoundedTime(999'500'000), "1.000 s");
  EXPECT_EQ(FormatSeconds(0), "0.000");
  EXPECT_EQ(FormatRoundedTime(-1'500'000), "-2 ms");
}

TEST(Units, WritesMomentsInUtcToTheNanosecond) {
  EXPECT_EQ(FormatUtc(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(FormatUtc(1'795'202'411'000'000'042), "2026-11-20T19:20:11.000000042Z");
  EXPECT_EQ(FormatUtc(-1), "1969-12-31T23:59:59.999999999Z");
}

}  // namespace
}  // namespace plimsoll
