// Days of amqsrua's output: read in parts, which interval is played, and all of them as points.
#include "controller/mq/log_intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/histogram.h"
#include "controller/mq/mq_files.h"
#include "controller/mq/mq_plan.h"
#include "controller/mq/text_lines.h"
#include "controller/plan/mq_log_plan.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_yaml.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/mq/mq_samples.h"

namespace plimsoll {
namespace {

std::string IntervalText(int64_t bytes, int64_t size) {
  return absl::StrCat("Publication received PutDate:20260304 PutTime:13560170 Interval:10.000 seconds\n",
                      "Log - physical bytes written ", bytes, "\nLog - write latency 306 uSec\nLog - write size ", size,
                      "\n\n");
}

StoredInterval Interval(int64_t bytes, int64_t size, size_t line = 1) {
  StoredInterval interval;
  interval.line = line;
  interval.length_ms = 10'000;
  interval.physical_bytes = bytes;
  interval.write_size = size;
  return interval;
}

// Bytes 1 to `count`, in an order that is not theirs.
std::vector<StoredInterval> Shuffled(size_t count) {
  std::vector<StoredInterval> intervals;
  for (size_t i = 1; i <= count; ++i) intervals.push_back(Interval(static_cast<int64_t>(i), 4096, i));
  std::shuffle(intervals.begin(), intervals.end(), std::mt19937_64(7));
  return intervals;
}

std::vector<std::string> LinesInParts(std::string_view text, size_t part) {
  std::vector<std::string> lines;
  TextLines reader([&lines](std::string_view line) { lines.emplace_back(line); });
  for (; !text.empty(); text.remove_prefix(std::min(part, text.size()))) reader.Feed(text.substr(0, part));
  if (const std::string last = reader.End(); !last.empty()) lines.push_back(last);
  return lines;
}

TEST(TextLines, PartsOfAnyLengthGiveTheSameLines) {
  const std::string text = "a\r\n\r\r\nbb\rc\n\n\r\r\r\nlast";
  const std::vector<std::string> lines = {"a", "", "bb", "c", "", "", "", "last"};
  for (const size_t part : {1U, 2U, 3U, 5U, 100U}) {
    EXPECT_EQ(LinesInParts(text, part), lines) << part;
    EXPECT_EQ(LinesInParts("\xef\xbb\xbf" + text, part), lines) << part;
    EXPECT_EQ(LinesInParts(tests::Utf16(text, false), part), lines) << part;
    EXPECT_EQ(LinesInParts(tests::Utf16(text, true), part), lines) << part;
  }
  // A character of two units.
  const std::string smile("\xff\xfe\x3d\xd8\x0a\xde\n\0", 8);
  for (const size_t part : {1U, 2U, 3U, 8U}) EXPECT_THAT(LinesInParts(smile, part), ElementsAre("\xf0\x9f\x98\x8a"));
  EXPECT_THAT(LinesInParts("", 1), ElementsAre());
  EXPECT_THAT(LinesInParts("ab", 1), ElementsAre("ab"));
  EXPECT_THAT(LinesInParts("\xff\xfe", 1), ElementsAre());
}

TEST(TextLines, ALineThatIsTooLongIsCutAndReported) {
  TextLines lines([](std::string_view) {});
  lines.Feed("short\n");
  for (int i = 0; i < 5; ++i) lines.Feed(std::string(size_t{1} << 20U, 'x'));
  lines.Feed("\nnext\n");
  EXPECT_EQ(lines.too_long(), 2U);
  EXPECT_FALSE(lines.has_nul());
}

TEST(AmqsruaInParts, GiveWhatTheWholeTextGives) {
  const std::string text = absl::StrCat(tests::kWholePublication, "\n", tests::kPublication, "\n", tests::kPublication);
  const LogRecording whole = ReadAmqsrua(text, "log.txt").value();
  for (const size_t part : {1U, 7U, 64U, 4096U}) {
    AmqsruaReader reader("log.txt");
    for (size_t at = 0; at < text.size(); at += part) reader.Feed(std::string_view(text).substr(at, part));
    const LogRecording parts = reader.Finish().value();
    EXPECT_EQ(parts.publications, whole.publications);
    EXPECT_EQ(parts.intervals.size(), whole.intervals.size());
    EXPECT_EQ(parts.busiest.line, whole.busiest.line);
    EXPECT_EQ(parts.busiest.values, whole.busiest.values);
    EXPECT_EQ(parts.notes, whole.notes);
  }
}

TEST(AmqsruaInParts, AWeekIsReadWithItsPeakAndPercentilesExact) {
  constexpr int64_t kWeek = 60'480;
  AmqsruaReader reader("log.txt");
  // A multiplier that is coprime to the length visits each figure once.
  for (int64_t i = 0; i < kWeek; ++i) reader.Feed(IntervalText((i * 12'347 % kWeek + 1) * 10'000, 4096 + i % 100));
  const LogRecording recording = reader.Finish().value();
  EXPECT_EQ(recording.with_writes, 60'480U);
  ASSERT_EQ(recording.intervals.size(), 60'480U);
  EXPECT_EQ(recording.busiest.BytesPerSecond(), 60'480'000);
  EXPECT_EQ(IntervalAt(recording.intervals, 95).ToInterval().BytesPerSecond(), 57'456'000);
  EXPECT_EQ(IntervalAt(recording.intervals, 50).ToInterval().BytesPerSecond(), 30'240'000);
  const std::vector<LoadPoint> points = LoadPoints(recording.intervals, kMostMqPoints);
  EXPECT_LE(points.size(), 2'000U);
  EXPECT_GE(points.size(), 1'990U);
}

TEST(AmqsruaInParts, ALongLineWithoutBreaksTakesLinearTime) {
  // Dashes that a mail has doubled: each is looked at on its own.
  std::string line;
  while (line.size() < size_t{2} << 20U) line += "Log -- write size 4096 ";
  const auto recording = ReadAmqsrua(
      "Publication received PutDate:20260304 PutTime:13560170 Interval:10.000 seconds\n" + line + "\n", "log.txt");
  EXPECT_THAT(std::string(recording.status().message()), HasSubstr("is given twice"));
}

TEST(StoredIntervals, KeepWhatAPlanNeeds) {
  const LogInterval interval = ReadAmqsrua(tests::kWholePublication, "log.txt").value().busiest;
  const LogInterval stored = StoredInterval::Of(interval).ToInterval();
  EXPECT_EQ(stored.line, interval.line);
  EXPECT_EQ(stored.put, "2024-02-29 23:59:59.99");
  EXPECT_EQ(stored.length_ms, interval.length_ms);
  EXPECT_EQ(stored.BytesPerSecond(), interval.BytesPerSecond());
  for (const LogElement element :
       {LogElement::kPhysicalBytesWritten, LogElement::kLogicalBytesWritten, LogElement::kWriteLatency,
        LogElement::kWriteSize, LogElement::kSlowestWrite, LogElement::kSlowestWriteTime}) {
    EXPECT_EQ(stored.value(element), interval.value(element));
  }
}

TEST(IntervalChoice, IsARankOrALine) {
  EXPECT_EQ(ParseIntervalChoice("peak").value().by, IntervalChoice::By::kPeak);
  EXPECT_EQ(ParseIntervalChoice("median").value().percentile, 50);
  EXPECT_EQ(ParseIntervalChoice("p99.9").value().percentile, 99.9);
  EXPECT_EQ(ParseIntervalChoice("p95").value().Text(), "p95");
  EXPECT_EQ(ParseIntervalChoice("21").value().line, 21U);
  EXPECT_EQ(ParseIntervalChoice("21").value().Text(), "the interval at line 21");
  for (const char* wrong : {"", "p", "p0", "p101", "p-1", "pnan", "p1e1", "0", "-1", "1.5", "Peak", "p95%", "first"}) {
    EXPECT_THAT(std::string(ParseIntervalChoice(wrong).status().message()), HasSubstr("is not an interval")) << wrong;
  }
}

TEST(IntervalAtRank, IsTheNearestRankByBytesPerSecond) {
  const std::vector<StoredInterval> intervals = Shuffled(200);
  EXPECT_EQ(IntervalAt(intervals, 100).physical_bytes, 200);
  EXPECT_EQ(IntervalAt(intervals, 95).physical_bytes, 190);
  EXPECT_EQ(IntervalAt(intervals, 50).physical_bytes, 100);
  EXPECT_EQ(IntervalAt(intervals, 0.1).physical_bytes, 1);
  EXPECT_EQ(IntervalAt(Shuffled(1), 95).physical_bytes, 1);
  EXPECT_EQ(IntervalAt(Shuffled(10), 95).physical_bytes, 10);
  // A longer interval with more bytes has fewer of them per second.
  std::vector<StoredInterval> two = {Interval(1'000, 1), Interval(900, 1)};
  two[0].length_ms = 20'000;
  EXPECT_EQ(IntervalAt(two, 100).physical_bytes, 900);
  EXPECT_EQ(IntervalAt({Interval(5, 1, 1), Interval(5, 1, 9)}, 100).line, 1U)
      << "of equal ones the earlier ranks higher";
}

TEST(LoadPointsOf, FewIntervalsAreAllOfThem) {
  std::vector<StoredInterval> intervals = {Interval(300, 10), Interval(100, 20), Interval(200, -1), Interval(50, 0)};
  const std::vector<LoadPoint> points = LoadPoints(intervals, 10);
  ASSERT_EQ(points.size(), 2U) << "those without an average write are none";
  EXPECT_EQ(points[0].write_size_bytes, 20U);
  EXPECT_EQ(points[0].bytes_per_second, 10);
  EXPECT_EQ(points[1].bytes_per_second, 30);
  EXPECT_THAT(LoadPoints({}, 10), IsEmpty());
}

TEST(LoadPointsOf, ManyAreThinnedWithoutLosingARankThatReportsName) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    const size_t count = 11 + random() % 3'000;
    std::vector<StoredInterval> intervals;
    for (size_t i = 0; i < count; ++i) {
      intervals.push_back(
          Interval(static_cast<int64_t>(random() % 500 + 1), static_cast<int64_t>(random() % 9'000 + 1)));
    }
    const std::vector<LoadPoint> points = LoadPoints(intervals, 20);
    ASSERT_LE(points.size(), 20U);
    uint64_t all = 0;
    std::vector<double> expanded;
    for (const LoadPoint& point : points) {
      all += point.intervals;
      expanded.insert(expanded.end(), point.intervals, point.bytes_per_second);
    }
    ASSERT_EQ(all, count);
    EXPECT_TRUE(std::ranges::is_sorted(expanded));
    for (const double percent : {50.0, 95.0, 100.0}) {
      EXPECT_EQ(expanded[PercentileRank(count, percent) - 1],
                IntervalAt(intervals, percent).ToInterval().BytesPerSecond());
    }
    const auto [smallest, largest] = std::ranges::minmax(points, {}, &LoadPoint::write_size_bytes);
    const auto [least, most] = std::ranges::minmax(intervals, {}, &StoredInterval::write_size);
    EXPECT_EQ(smallest.write_size_bytes, static_cast<uint64_t>(least.write_size));
    EXPECT_EQ(largest.write_size_bytes, static_cast<uint64_t>(most.write_size));
  }
}

TEST(SweepSizesOf, EncloseTheWrites) {
  constexpr uint64_t kMost = uint64_t{64} << 20U;
  EXPECT_THAT(SweepSizes(5'122, 10'076, kMost), ElementsAre(4'096, 8'192, 16'384));
  EXPECT_THAT(SweepSizes(304'454, 304'454, kMost), ElementsAre(262'144, 524'288));
  EXPECT_THAT(SweepSizes(4'096, 4'096, kMost), ElementsAre(4'096));
  EXPECT_THAT(SweepSizes(100, 100, kMost), ElementsAre(4'096)) << "smaller than a log page";
  EXPECT_THAT(SweepSizes(8'192, 16'384, kMost), ElementsAre(8'192, 16'384));
  EXPECT_EQ(SweepSizes(4'096, 16 << 20, kMost).size(), 13U);
  // An extent of 200 KiB holds no block of 256 KiB.
  EXPECT_THAT(SweepSizes(100'000, 150'000, 204'800), ElementsAre(65'536, 131'072, 204'800));
  EXPECT_THAT(SweepSizes(500'000, 600'000, 262'144), ElementsAre(262'144));
}

v1::TestPlan PlanOf(const MqPlan& made) {
  const auto plan = ReadPlan(made.yaml, "plan.yaml");
  EXPECT_TRUE(plan.ok()) << plan.status().message() << made.yaml;
  if (!plan.ok()) return {};
  EXPECT_THAT(PlanProblems(*plan), ElementsAre()) << made.yaml;
  return *plan;
}

// Bytes of 1 to 100 MB/s with writes of 5,000 to 104,000 bytes; a heading every five lines.
LogRecording Hundred() {
  std::string text;
  for (int64_t i = 1; i <= 100; ++i) text += IntervalText(i * 10'000'000, 4'000 + i * 1'000);
  return ReadAmqsrua(text, "log.txt").value();
}

MqPlan MakePlan(const MqLoad& load, const std::vector<LogRecording>& recordings = {Hundred()}) {
  return MakeMqPlan({ReadQmIni(tests::kQmIni, "qm.ini").value()}, recordings, {}, load).value();
}

std::string PlanError(const MqLoad& load, const std::vector<LogRecording>& recordings) {
  return std::string(MakeMqPlan({ReadQmIni(tests::kQmIni, "qm.ini").value()}, recordings, {}, load).status().message());
}

TEST(ChosenInterval, IsPlayedAndTheOthersAreOffered) {
  const MqPlan peak = MakePlan({});
  EXPECT_THAT(peak.yaml, HasSubstr("# Load, from the interval with the most physical bytes per second"));
  EXPECT_THAT(peak.yaml, HasSubstr("#   p95    log.txt:471, put 2026-03-04 13:56:01.70 GMT, 10.000 s long: 95.00 MB/s, "
                                   "average write 99,000 bytes\n"));
  EXPECT_THAT(peak.yaml, HasSubstr("#   median log.txt:246, put "));
  const MqPlan p95 = MakePlan({ParseIntervalChoice("p95").value()});
  EXPECT_THAT(p95.yaml, HasSubstr("# Load, from p95 of each recording, by the physical bytes per second of its "
                                  "intervals with writes:\n# - log.txt:471, "));
  EXPECT_THAT(PlanOf(p95).block_size_bytes(), ElementsAre(24U * 4096));
  EXPECT_THAT(PlanOf(p95).name(), HasSubstr("at 1x of p95; "));
  EXPECT_NEAR(PlanOf(p95).workload().rate_per_second(), 95e6 / (24 * 4096), 0.01);
  EXPECT_THAT(MakePlan({ParseIntervalChoice("471").value()}).yaml,
              HasSubstr("# Load, from the interval at line 471:\n# - log.txt:471, "));
}

TEST(ChosenInterval, ThatIsNotThereIsAnErrorWithTheWayOut) {
  EXPECT_EQ(PlanError({ParseIntervalChoice("472").value()}, {Hundred()}),
            "log.txt:472: no interval with writes begins here; pass the line of a 'Publication received', such as "
            "--interval 476");
  EXPECT_THAT(PlanError({ParseIntervalChoice("9999").value()}, {Hundred()}), HasSubstr("such as --interval 496"));
  EXPECT_THAT(PlanError({ParseIntervalChoice("471").value()}, {Hundred(), Hundred()}),
              HasSubstr("is a line of one file, and there are several --amqsrua"));
  EXPECT_EQ(PlanError({ParseIntervalChoice("p95").value()}, {}),
            "--interval needs --amqsrua: the intervals are in its output");
  EXPECT_EQ(PlanError({{}, true}, {}), "--sweep needs --amqsrua: the intervals are in its output");
  const std::string unsized = absl::StrReplaceAll(IntervalText(400, 4'096), {{"Log - write size 4096\n", ""}});
  EXPECT_THAT(PlanError({ParseIntervalChoice("median").value()},
                        {ReadAmqsrua(unsized + IntervalText(500, 4'096), "log.txt").value()}),
              HasSubstr("log.txt:1: the interval (the median) has no 'Log - write size'"));
}

TEST(SweepPlan, MeasuresTheSizesOfMqsWritesAndHoldsItsIntervals) {
  const MqPlan made = MakePlan({{}, true});
  const v1::TestPlan plan = PlanOf(made);
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(4'096, 8'192, 16'384, 32'768, 65'536, 131'072));
  EXPECT_FALSE(plan.workload().has_rate_per_second());
  EXPECT_EQ(plan.mq_log().source(), "100 intervals of log.txt");
  ASSERT_EQ(plan.mq_log().write_size_bytes_size(), 100);
  EXPECT_EQ(plan.mq_log().write_size_bytes(94), 99'000U);
  EXPECT_EQ(plan.mq_log().bandwidth_mb(94), 95);
  EXPECT_EQ(plan.mq_log().intervals_size(), 0);
  EXPECT_EQ(made.brief, "1 queue manager, 16 extents of 64 MiB each, 6 block sizes, 100 points of MQ's");
  EXPECT_THAT(made.yaml, HasSubstr("#   p95    log.txt:471, put "));
}

TEST(SweepPlan, OfAWeekIsBounded) {
  AmqsruaReader reader("log.txt");
  for (int64_t i = 1; i <= 60'480; ++i) reader.Feed(IntervalText(i * 100'003, 4'099 + i * 7 % 300'000));
  const MqPlan made = MakePlan({{}, true}, {reader.Finish().value()});
  const v1::TestPlan plan = PlanOf(made);
  EXPECT_LE(plan.mq_log().write_size_bytes_size(), kMostMqPoints);
  uint64_t intervals = 0;
  for (const uint32_t count : plan.mq_log().intervals()) intervals += count;
  EXPECT_EQ(intervals, 60'480U);
  EXPECT_LT(made.yaml.size(), size_t{100} << 10U);
  EXPECT_THAT(made.yaml, HasSubstr(" of 60,480 intervals, at even distances by rank"));
}

TEST(SweepPlan, HasNothingThatLimitsTheWrites) {
  v1::TestPlan plan = PlanOf(MakePlan({{}, true}));
  const auto problem = [](const v1::TestPlan& changed) {
    std::string text;
    for (const PlanProblem& each : PlanProblems(changed)) absl::StrAppend(&text, each.text, "\n");
    return text;
  };
  v1::TestPlan rate = plan;
  rate.mutable_workload()->set_rate_per_second(100);
  EXPECT_THAT(problem(rate), HasSubstr("--rate (workload.rate) limits the writes, and MQ's log is compared with the "
                                       "bandwidth of log writes at full speed: leave it out, or mq_log"));
  v1::TestPlan reads = plan;
  reads.set_read_percent(10);
  EXPECT_THAT(problem(reads), HasSubstr("reads as well"));
  v1::TestPlan limit = plan;
  limit.mutable_limit();
  EXPECT_THAT(problem(limit), HasSubstr("mq_log: a search for the highest load does not measure the storage's"));
  v1::TestPlan uneven = plan;
  uneven.mutable_mq_log()->add_bandwidth_mb(1);
  EXPECT_THAT(problem(uneven), HasSubstr("mq_log: write_size has 100 values, bandwidth_mb 101"));
  v1::TestPlan many = plan;
  for (int i = 0; i < kMostMqPoints; ++i) many.mutable_mq_log()->add_write_size_bytes(4'096);
  EXPECT_THAT(problem(many), HasSubstr("2,100 points; a plan has at most 2,000"));
  v1::TestPlan none = plan;
  none.mutable_mq_log()->clear_write_size_bytes();
  EXPECT_THAT(problem(none), HasSubstr("mq_log: no points"));
}

}  // namespace
}  // namespace plimsoll
