// The lines of a watch that is under way.
#include "controller/render/watch_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/render/plain_text.h"
#include "tests/unit/analysis/watched_journal.h"

namespace plimsoll::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One host, whose writes take 1 ms, and from `slow_ns` on 3 ms.
SimRun OneHost(int64_t duration_ns, int64_t slow_ns) {
  SimRun run;
  SimHost host;
  host.label = "alpha";
  host.steps = {{ClosedLoop(duration_ns, 1'000, [slow_ns](uint64_t /*number*/, int64_t start_ns) {
    return start_ns >= slow_ns ? 3 * kNsPerMs : kNsPerMs;
  })}};
  run.hosts.push_back(std::move(host));
  run.duration_ns = duration_ns;
  return run;
}

std::vector<std::string> LinesOf(const SimRun& run, const WatchedRun& watched, int64_t interval_ns,
                                 uint32_t histogram_rows = 0) {
  WatchLines lines(interval_ns, histogram_rows);
  std::vector<std::string> all;
  for (const v1::JournalRecord& record : AsWatch(run, watched)) {
    for (std::string& line : lines.Take(record)) all.push_back(std::move(line));
  }
  return all;
}

// The lines that hold a text.
std::vector<std::string> Holding(const std::vector<std::string>& lines, const std::string& text) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) found.push_back(line);
  }
  return found;
}

TEST(WatchLines, HaveEachOperationOfEachIntervalAndSinceTheStart) {
  const std::vector<std::string> lines = LinesOf(OneHost(4 * kNsPerSecond, INT64_MAX), WatchedQm1(), kNsPerSecond);
  EXPECT_THAT(lines[0], HasSubstr("every 1 s, in us"));
  EXPECT_THAT(lines[1], HasSubstr("operation"));
  const std::vector<std::string> writes = Holding(lines, "write ");
  const std::vector<std::string> puts = Holding(lines, "MQPUT");
  ASSERT_THAT(writes, SizeIs(4));
  EXPECT_THAT(puts, SizeIs(4));
  // 999 writes of 1,001 us a second.
  EXPECT_THAT(writes[0], ::testing::ContainsRegex(" 1 write +99[89] +1000 +1000 +1000 \\| +99[89] +1000 +1000 +1000$"));
  EXPECT_THAT(writes[3], ::testing::ContainsRegex(" 4 write .*\\| +3,99[0-9] +1000 +1000 +1000$"));
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
}

TEST(WatchLines, NameANewMaximumWithItsProcess) {
  const std::vector<std::string> lines =
      LinesOf(OneHost(4 * kNsPerSecond, 2'500 * kNsPerMs), WatchedQm1(), kNsPerSecond);
  const std::vector<std::string> warnings = Holding(lines, "** Warning **");
  ASSERT_THAT(warnings, SizeIs(2));
  EXPECT_THAT(warnings[0], HasSubstr("new maximum of write: 3.000 ms, was 1.000 ms; alpha/QM1"));
  EXPECT_THAT(Holding(lines, "amqzmuc0[4711]"), SizeIs(2));
}

TEST(WatchLines, HaveAHeadingAboveEveryTenthInterval) {
  WatchedRun watched = WatchedQm1();
  watched.watch.clear_calls();
  EXPECT_THAT(Holding(LinesOf(OneHost(21 * kNsPerSecond, INT64_MAX), watched, kNsPerSecond), "since the start"),
              SizeIs(3));
}

TEST(WatchLines, EndWithTheProgram) {
  WatchedRun watched = WatchedQm1();
  watched.watch.clear_calls();
  const std::vector<std::string> lines = LinesOf(OneHost(2'500 * kNsPerMs, INT64_MAX), watched, kNsPerSecond);
  EXPECT_THAT(Holding(lines, " 2.5 write"), SizeIs(1));
}

TEST(WatchLines, ShowTheHistogramOfAnInterval) {
  WatchedRun watched = WatchedQm1();
  watched.watch.clear_calls();
  const std::vector<std::string> lines =
      LinesOf(OneHost(2 * kNsPerSecond, INT64_MAX), watched, 2 * kNsPerSecond, /*histogram_rows=*/10);
  EXPECT_THAT(Holding(lines, "write, alpha/QM1, amqzmuc0[4711]"), SizeIs(1));
  EXPECT_THAT(Holding(lines, "1,99"), ::testing::Not(IsEmpty()));
}

TEST(WatchLines, SayNothingBeforeAHostHasPassedTheInterval) {
  WatchLines lines(kNsPerSecond, 0);
  SimRun run = WatchedHosts();
  for (const v1::JournalRecord& record : AsWatch(run, WatchedQm1())) {
    // Of beta nothing comes.
    if (record.has_frames() && record.frames().host() == 1) continue;
    if (record.has_step_done() || record.has_step_end()) break;
    EXPECT_THAT(lines.Take(record), IsEmpty());
  }
}

}  // namespace
}  // namespace plimsoll::tests
