#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "controller/analysis/analyzer.h"
#include "controller/render/live_view.h"
#include "controller/render/plain_text.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

SimRun TwoHosts(int64_t duration_ns) {
  SimRun run;
  run.duration_ns = duration_ns;
  for (const char* label : {"alpha", "beta"}) {
    SimHost host;
    host.label = label;
    host.steps = {{tests::Steady(duration_ns, 1'999'000), tests::Steady(duration_ns, 3'999'000)}};
    run.hosts.push_back(host);
  }
  return run;
}

std::vector<IntervalRow> RowsOf(const std::vector<v1::JournalRecord>& records, int64_t interval_ns) {
  std::vector<IntervalRow> rows;
  Analyzer analyzer;
  analyzer.SetIntervalListener(interval_ns, [&rows](const IntervalRow& row) { rows.push_back(row); });
  for (const v1::JournalRecord& record : records) analyzer.Add(record);
  analyzer.Finish();
  return rows;
}

std::vector<IntervalRow> RowsOf(const SimRun& run, int64_t interval_ns) {
  return RowsOf(tests::MakeJournal(run), interval_ns);
}

std::vector<int64_t> EndsMs(const std::vector<IntervalRow>& rows) {
  std::vector<int64_t> ends;
  ends.reserve(rows.size());
  for (const IntervalRow& row : rows) ends.push_back(row.end_ns / kNsPerMs);
  return ends;
}

// Rows add up to the report, step by step, and their totals are those of the rows before.
void ExpectRowsAddUp(const std::vector<IntervalRow>& rows, const v1::Report& report) {
  std::map<uint32_t, IntervalSums> steps;
  for (const IntervalRow& row : rows) {
    IntervalSums& sums = steps[row.step];
    EXPECT_EQ(row.max_before_ns, sums.latency_max_ns);
    sums.Merge(row.interval);
    EXPECT_EQ(row.total.writes, sums.writes);
    EXPECT_EQ(row.total.latency_sum_ns, sums.latency_sum_ns);
    EXPECT_EQ(row.total.latency_max_ns, sums.latency_max_ns);
    EXPECT_EQ(row.total.latency_min_ns, sums.latency_min_ns);
  }
  for (const v1::StepReport& step : report.steps()) {
    const v1::LatencyReport& latency = tests::Scope(step, v1::SCOPE_KIND_CLUSTER).latency();
    EXPECT_EQ(steps[step.number()].writes, latency.count());
    EXPECT_EQ(steps[step.number()].latency_sum_ns, latency.sum_ns());
    EXPECT_EQ(steps[step.number()].latency_max_ns, latency.max_ns());
  }
}

TEST(IntervalRows, RowsAreAlignedToTheStepAndAddUp) {
  SimRun run = TwoHosts(7'500 * kNsPerMs);
  run.block_sizes = {4096, 8192};
  run.warmup_ns = 500 * kNsPerMs;
  for (SimHost& host : run.hosts) host.steps.push_back(host.steps[0]);
  const std::vector<IntervalRow> rows = RowsOf(run, 3 * kNsPerSecond);
  EXPECT_THAT(EndsMs(rows), ElementsAre(3'000, 6'000, 7'500, 3'000, 6'000, 7'500));
  EXPECT_EQ(rows[0].step, 1);
  EXPECT_EQ(rows[3].step, 2);
  EXPECT_EQ(rows[3].steps, 2);
  EXPECT_EQ(rows[3].block_size_bytes, 8192);
  EXPECT_NEAR(static_cast<double>(rows[1].interval.writes), 3 * 2 * 750, 4);
  EXPECT_EQ(rows[0].max_host, "alpha");
  EXPECT_EQ(rows[0].max_qm, 2);
  ExpectRowsAddUp(rows, tests::Analyze(tests::MakeJournal(run)));
}

TEST(IntervalRows, ARowIsThereAsSoonAsAllHostsHavePassedIt) {
  std::optional<int64_t> first_row_at_ns;
  int64_t now_ns = 0;
  int64_t start_ns = 0;
  Analyzer analyzer;
  analyzer.SetIntervalListener(2 * kNsPerSecond, [&](const IntervalRow&) {
    if (!first_row_at_ns) first_row_at_ns = now_ns - start_ns;
  });
  for (const v1::JournalRecord& record : tests::MakeJournal(TwoHosts(6 * kNsPerSecond))) {
    now_ns = record.time_ns();
    if (record.has_step_begin()) start_ns = record.step_begin().start_ns();
    analyzer.Add(record);
  }
  ASSERT_TRUE(first_row_at_ns.has_value());
  EXPECT_GE(*first_row_at_ns, 2 * kNsPerSecond);
  EXPECT_LT(*first_row_at_ns, 2'100 * kNsPerMs);
}

TEST(IntervalRows, ALostHostHoldsNobodyBackFromItsLossOn) {
  SimRun run = TwoHosts(6 * kNsPerSecond);
  run.hosts[1].lost_after_ns = 2'500 * kNsPerMs;
  // The builder tells of the loss at the end of the step: until then the host is waited for.
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  const auto lost = std::find_if(records.begin(), records.end(),
                                 [](const v1::JournalRecord& record) { return record.has_host_lost(); });
  const std::vector<v1::JournalRecord> before(records.begin(), lost);
  std::vector<IntervalRow> rows;
  Analyzer analyzer;
  analyzer.SetIntervalListener(kNsPerSecond, [&rows](const IntervalRow& row) { rows.push_back(row); });
  for (const v1::JournalRecord& record : before) analyzer.Add(record);
  EXPECT_THAT(EndsMs(rows), ElementsAre(1'000, 2'000));
  // A loss that is told of in the middle of the step.
  std::rotate(records.begin() + static_cast<int64_t>(before.size()) / 2, lost, lost + 1);
  ExpectRowsAddUp(RowsOf(records, kNsPerSecond), tests::Analyze(tests::MakeJournal(run)));
  EXPECT_THAT(EndsMs(RowsOf(records, kNsPerSecond)), ElementsAre(1'000, 2'000, 3'000, 4'000, 5'000, 6'000));
}

TEST(IntervalRows, IntervalsWithoutAWriteHaveTheirRow) {
  SimRun run = TwoHosts(5 * kNsPerSecond);
  for (SimHost& host : run.hosts) {
    for (tests::SimWriter& writer : host.steps[0]) {
      std::erase_if(writer, [](const tests::SimWrite& write) {
        return write.start_ns > kNsPerSecond && write.start_ns < 4 * kNsPerSecond;
      });
    }
  }
  const std::vector<IntervalRow> rows = RowsOf(run, kNsPerSecond);
  ASSERT_THAT(rows, SizeIs(5));
  EXPECT_EQ(rows[2].interval.writes, 0);
  EXPECT_GT(rows[2].total.writes, 0);
  EXPECT_EQ(IntervalLines(kNsPerSecond).Add(rows[2]).back(),
            "     3        0 |     1,504    3.999   1.999   2.667 |       –       –        –");
}

TEST(IntervalRows, CoalescedResultsBlurTheirRows) {
  SimRun run = TwoHosts(4 * kNsPerSecond);
  run.hosts[0].coalesce = 6;
  const std::vector<IntervalRow> rows = RowsOf(run, kNsPerSecond);
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_TRUE(rows[0].blurred);
  EXPECT_TRUE(rows[1].blurred);
  ExpectRowsAddUp(rows, tests::Analyze(tests::MakeJournal(run)));
  for (const IntervalRow& row : RowsOf(TwoHosts(4 * kNsPerSecond), kNsPerSecond)) EXPECT_FALSE(row.blurred);
}

TEST(IntervalRows, AJournalThatEndsInAStepHasARowForTheRest) {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(TwoHosts(30 * kNsPerSecond));
  int64_t start_ns = 0;
  for (const v1::JournalRecord& record : records) {
    if (record.has_step_begin()) start_ns = record.step_begin().start_ns();
  }
  std::erase_if(records, [start_ns](const v1::JournalRecord& record) {
    return start_ns > 0 && record.time_ns() > start_ns + 13'300 * kNsPerMs;
  });
  const std::vector<IntervalRow> rows = RowsOf(records, 10 * kNsPerSecond);
  EXPECT_THAT(EndsMs(rows), ElementsAre(10'000, 13'250));
  ExpectRowsAddUp(rows, tests::Analyze(records));
}

TEST(IntervalRows, RowsOfAnyRunAddUp) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    SimRun run;
    run.duration_ns = static_cast<int64_t>(200 + random() % 5'000) * kNsPerMs;
    run.warmup_ns = static_cast<int64_t>(random() % 3) * 333 * kNsPerMs;
    run.interval_ns = std::vector<int64_t>{100, 125, 250, 1000}[random() % 4] * kNsPerMs;
    for (uint64_t h = 0; h <= random() % 4; ++h) {
      SimHost host;
      host.label = "host" + std::to_string(h);
      host.coalesce = static_cast<uint32_t>(1 + random() % 3 * (random() % 20));
      if (random() % 4 == 0) host.lost_after_ns = static_cast<int64_t>(random() % 5'000) * kNsPerMs;
      for (uint64_t qm = 0; qm <= random() % 3; ++qm) {
        if (qm == 0) host.steps.emplace_back();
        host.steps[0].push_back(tests::ClosedLoop(
            run.duration_ns, 1'000,
            [&random](uint64_t, int64_t) { return static_cast<int64_t>(1'000'000 + random() % 300'000'000); },
            run.warmup_ns));
      }
      run.hosts.push_back(host);
    }
    const std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
    ExpectRowsAddUp(RowsOf(records, static_cast<int64_t>(1 + random() % 4) * kNsPerSecond), tests::Analyze(records));
  }
}

TEST(IntervalRows, DamagedRecordsMakeABoundedNumberOfRows) {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(TwoHosts(2 * kNsPerSecond));
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) record.mutable_run_begin()->mutable_steps(0)->set_duration_ns(int64_t{1} << 61);
    if (!record.has_frames()) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      frame.set_first_interval(INT32_MAX);
      frame.set_interval_count(UINT32_MAX);
      frame.mutable_latency()->set_count(UINT64_MAX);
    }
  }
  EXPECT_LE(RowsOf(records, kNsPerSecond).size(), 1'000'000U);
}

// A step as long as a journal can claim, in which all data but a little come at its end.
TEST(IntervalRows, NoStepMakesMoreThanAMillionRows) {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(TwoHosts(2 * kNsPerSecond));
  constexpr int64_t kDurationNs = 500'000'000 * kNsPerSecond;
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) record.mutable_run_begin()->mutable_steps(0)->set_duration_ns(kDurationNs);
    if (!record.has_frames() || record.time_ns() < records.back().time_ns() - kNsPerSecond) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (!frame.closing()) frame.set_first_interval(frame.first_interval() + 1'999'000'000);
    }
  }
  Analyzer analyzer;
  uint64_t rows = 0;
  analyzer.SetIntervalListener(kNsPerSecond, [&rows](const IntervalRow&) { ++rows; });
  for (const v1::JournalRecord& record : records) analyzer.Add(record);
  analyzer.Finish();
  EXPECT_EQ(rows, 1'000'000U);
}

// What the report refuses is in no row: figures that contradict each other, an interval for the second time, a frame
// after the closing one, and one of a queue manager that the host does not have.
TEST(IntervalRows, FramesThatTheReportRefusesAreInNoRow) {
  const auto change_one = [](std::vector<v1::JournalRecord>& records, const auto& change) {
    for (v1::JournalRecord& record : records) {
      if (!record.has_frames()) continue;
      for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
        if (frame.first_interval() != 5 || frame.latency().count() == 0) continue;
        change(*record.mutable_frames(), frame);
        return;
      }
    }
    FAIL() << "no frame to change";
  };
  const std::vector<v1::JournalRecord> whole = tests::MakeJournal(TwoHosts(4 * kNsPerSecond));
  const uint64_t all = tests::Scope(tests::Analyze(whole).steps(0), v1::SCOPE_KIND_CLUSTER).latency().count();
  const std::vector<std::pair<bool, std::function<void(v1::HostFrames&, v1::Frame&)>>> changes = {
      {true, [](v1::HostFrames&, v1::Frame& frame) { frame.mutable_latency()->set_sum_ns(1); }},
      {true, [](v1::HostFrames&, v1::Frame& frame) { frame.set_bytes(frame.bytes() + 1); }},
      {true, [](v1::HostFrames&, v1::Frame& frame) { frame.set_qm(3); }},
      {false, [](v1::HostFrames& frames, v1::Frame& frame) { *frames.add_frames() = v1::Frame(frame); }},
      {false,
       [](v1::HostFrames& frames, v1::Frame& frame) {
         v1::Frame before = frame;
         before.set_first_interval(1);
         *frames.add_frames() = before;
       }},
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<v1::JournalRecord> records = whole;
    change_one(records, changes[i].second);
    const v1::Report report = tests::Analyze(records);
    const uint64_t counted = tests::Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).latency().count();
    EXPECT_EQ(counted < all, changes[i].first);
    EXPECT_THAT(report.verdict().reasons(), ::testing::Contains(HasSubstr("Left out: a frame")));
    for (const int64_t seconds : {1, 3}) ExpectRowsAddUp(RowsOf(records, seconds * kNsPerSecond), report);
  }
  // After the closing frame of its writer, and after the host's own end.
  for (const bool after_end : {false, true}) {
    std::vector<v1::JournalRecord> records = whole;
    v1::JournalRecord late;
    for (size_t i = 0; i < records.size(); ++i) {
      if (!records[i].has_frames()) continue;
      for (const v1::Frame& frame : records[i].frames().frames()) {
        if (frame.first_interval() == 15 && late.record_case() == v1::JournalRecord::RECORD_NOT_SET) {
          late = records[i];
        }
      }
    }
    const auto end = std::find_if(records.begin(), records.end(), [after_end](const v1::JournalRecord& record) {
      return after_end ? record.has_step_end() : record.has_step_done();
    });
    records.insert(end, late);
    ExpectRowsAddUp(RowsOf(records, kNsPerSecond), tests::Analyze(records));
  }
}

TEST(IntervalRows, ASecondBeginOfTheRunChangesNothing) {
  const SimRun run = TwoHosts(3 * kNsPerSecond);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  v1::JournalRecord again;
  again.mutable_run_begin()->set_run_id("again");
  records.insert(records.begin() + static_cast<int64_t>(records.size()) / 2, again);
  EXPECT_THAT(RowsOf(records, kNsPerSecond), SizeIs(3));
}

TEST(IntervalLines, OfRoundsTheNumberOfTheRoundIsShown) {
  std::vector<v1::JournalRecord> records = MakeJournal(TwoHosts(2 * kNsPerSecond));
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) record.mutable_run_begin()->mutable_plan()->set_until_steady_ns(20 * kNsPerSecond);
  }
  const std::vector<IntervalRow> rows = RowsOf(records, kNsPerSecond);
  ASSERT_FALSE(rows.empty());
  EXPECT_THAT(IntervalLines(kNsPerSecond).Add(rows[0]).front(), ::testing::StartsWith("Step 1, round 1   4 KiB   "));
}

TEST(IntervalLines, HeadingsStandAboveEveryTenth) {
  SimRun run = TwoHosts(12 * kNsPerSecond);
  run.hosts[1].steps[0][0] = tests::ClosedLoop(run.duration_ns, 0, [](uint64_t, int64_t start_ns) {
    return start_ns < 2 * kNsPerSecond ? 1'000'000 : start_ns < 3 * kNsPerSecond ? 12'000'000 : 2'000'000;
  });
  IntervalLines lines(kNsPerSecond);
  std::vector<std::string> text;
  for (const IntervalRow& row : RowsOf(run, kNsPerSecond)) {
    for (const std::string& line : lines.Add(row)) text.push_back(line);
  }
  ASSERT_THAT(text, SizeIs(2 + 12 + 2 + 1));
  EXPECT_EQ(text[0], "Step 1 of 1   4 KiB   writes of all hosts; service time in ms");
  EXPECT_EQ(text[1], "  every 1 s     | step so far                        | interval");
  EXPECT_EQ(text[2], "     s   writes |  in total      max     min     avg |     p50     p99      max");
  EXPECT_EQ(text[3], "     1    1,999 |     1,999    3.999   1.000   2.000 |   2.000   3.999    3.999");
  EXPECT_EQ(text[6], "** Warning ** new maximum: 12.000 ms, was 3.999 ms (beta/qm1)");
  EXPECT_EQ(text[14], text[2]);
  for (const std::string& line : text) EXPECT_LE(DisplayWidth(line), 80) << line;
}

TEST(IntervalLines, LargeFiguresAndLongNamesStayWithinEightyColumns) {
  IntervalRow row;
  row.end_ns = 86'400 * kNsPerSecond;
  row.interval.writes = 99'999'999;
  row.total.writes = 999'999'999;
  row.interval.latency_max_ns = 9'999'000'000'000;
  row.p50_ns = row.p99_ns = 98'765'432'100;
  row.interval.latency_min_ns = 98'765'432'100;
  row.max_before_ns = 1'234'567'890;
  row.total.latency_max_ns = 9'999'000'000'000;
  row.total.latency_min_ns = 98'765'432'100;
  row.max_host = std::string(100, 'h');
  row.blurred = true;
  const std::vector<std::string> lines = IntervalLines(kNsPerSecond).Add(row);
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), 80) << line;
  EXPECT_THAT(lines[lines.size() - 2], HasSubstr(" 98765.4 "));
}

TEST(IntervalLines, NamesFromElsewhereDoNotSteerTheTerminal) {
  IntervalRow row;
  row.interval.writes = row.total.writes = 1;
  row.max_before_ns = 1;
  row.total.latency_max_ns = 2;
  row.max_host = "\x1b[31mevil";
  EXPECT_THAT(IntervalLines(kNsPerSecond).Add(row).back(), HasSubstr("(\ufffd[31mevil/qm0)"));
}

}  // namespace
}  // namespace plimsoll
