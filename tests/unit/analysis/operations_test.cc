// Figures of the parts of a write, beside the write's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/live_stats.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kMs = kNsPerMs;

// Writes of 1 ms, of which 900 us are the sync; every hundredth takes 20 ms, of which 19.5 ms are the sync.
SimRun WithSyncs(std::vector<std::string> criteria = {}) {
  SimRun run = TwoHosts();
  for (SimHost& host : run.hosts) {
    for (std::vector<SimWriter>& step : host.steps) {
      for (SimWriter& writer : step) {
        writer = ClosedLoop(2 * kNsPerSecond, 1'000,
                            [](uint64_t number, int64_t) { return number % 100 == 0 ? 20 * kMs : kMs; });
      }
    }
    host.sync_ns = [](uint64_t number) { return number % 100 == 0 ? 19'500'000 : 900'000; };
  }
  run.criteria = std::move(criteria);
  return run;
}

TEST(Operations, ThePartsOfAWriteHaveFiguresOfTheirOwnAndTheWritesStayAsTheyWere) {
  SimRun run = WithSyncs();
  const v1::Report report = Analyze(MakeJournal(run));
  for (SimHost& host : run.hosts) host.sync_ns = nullptr;
  const v1::Report without = Analyze(MakeJournal(run));
  ASSERT_EQ(report.run().state(), v1::RUN_STATE_COMPLETE);
  EXPECT_EQ(report.verdict().reasons_size(), without.verdict().reasons_size());
  ASSERT_EQ(report.steps_size(), without.steps_size());
  for (int i = 0; i < report.steps_size(); ++i) {
    v1::StepReport step = report.steps(i);
    ASSERT_EQ(step.operations_size(), 2);
    for (const v1::ScopeReport& scope : step.scopes()) {
      const auto* const call = FindScope(OperationOf(step, "write_call"), scope);
      const auto* const sync = FindScope(OperationOf(step, "sync"), scope);
      ASSERT_TRUE(call != nullptr && sync != nullptr);
      EXPECT_EQ(sync->latency().count(), scope.latency().count());
      EXPECT_EQ(call->latency().sum_ns() + sync->latency().sum_ns(), scope.latency().sum_ns());
      EXPECT_EQ(sync->latency().max_ns(), 19'500'000U);
      EXPECT_EQ(call->latency().max_ns(), 500'000U);
      EXPECT_EQ(sync->slowest().latency_ns(), 19'500'000U);
      EXPECT_EQ(sync->slowest().number() % 100, 0U);
    }
    // Nothing else of the step changes.
    step.clear_operations();
    EXPECT_EQ(step.SerializeAsString(), without.steps(i).SerializeAsString());
  }
}

TEST(Operations, ACriterionOfAPartIsAboutThatPartAlone) {
  const v1::Report report = Analyze(
      MakeJournal(WithSyncs({"sync_p50<1ms", "sync_p50<800us", "write_call_max<1ms", "write_call_max@cluster<400us",
                             "p50<1100us", "p50<950us", "sync_max@host<19ms", "max<21ms"})));
  EXPECT_EQ(OutcomeOf(report, "sync_p50<1ms"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "sync_p50<800us"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "write_call_max<1ms"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "write_call_max@cluster<400us"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "p50<1100us"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "p50<950us"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "sync_max@host<19ms"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "max<21ms"), v1::OUTCOME_PASS);
}

// A live view after the last frame shows each operation as the report does.
TEST(Operations, LiveFiguresOfEachOperationAreThoseOfTheReport) {
  const std::vector<std::string> criteria = {"max<10ms",    "write_call_max<10ms", "sync_max<10ms",
                                             "sync_p50<1s", "write_call_avg<1us",  "avg<1s"};
  Analyzer analyzer;
  std::vector<LiveCriterion> live;
  const std::vector<v1::JournalRecord> records = MakeJournal(WithSyncs(criteria));
  for (const v1::JournalRecord& record : records) {
    // The run has one step.
    if (record.has_step_end()) live = analyzer.LiveCriteria();
    analyzer.Add(record);
  }
  const v1::Report report = analyzer.Finish();
  ASSERT_THAT(live, SizeIs(criteria.size()));
  for (const LiveCriterion& one : live) {
    const auto& reported = report.verdict().criteria();
    const auto final = std::ranges::find(reported, one.text, &v1::CriterionReport::criterion);
    ASSERT_NE(final, reported.end()) << one.text;
    EXPECT_EQ(one.value, final->value_text()) << one.text;
    EXPECT_EQ(one.state, final->outcome() == v1::OUTCOME_PASS ? LiveState::kPassing : LiveState::kFailing) << one.text;
  }
}

TEST(Operations, ACriterionOfAPartThatWasNotMeasuredIsNeverMet) {
  SimRun run = WithSyncs({"sync_p50<1s"});
  for (SimHost& host : run.hosts) host.sync_ns = nullptr;
  EXPECT_EQ(Analyze(MakeJournal(run)).verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

// The records with every frame, or all totals, of the sync of alpha's first writer left out.
v1::Report Without(bool frames) {
  std::vector<v1::JournalRecord> records = MakeJournal(WithSyncs({"sync_p50<1s", "p50<1s"}));
  for (v1::JournalRecord& record : records) {
    const auto of_sync = [](const auto& one) { return one.qm() == 1 && one.operation() == kSyncOperation; };
    if (frames && record.has_frames() && record.frames().host() == 0) {
      auto& all = *record.mutable_frames()->mutable_frames();
      all.erase(std::remove_if(all.begin(), all.end(), of_sync), all.end());
    }
    if (!frames && record.has_step_done() && record.step_done().host() == 0) {
      auto& all = *record.mutable_step_done()->mutable_done()->mutable_writers();
      all.erase(std::remove_if(all.begin(), all.end(), of_sync), all.end());
    }
  }
  return Analyze(records);
}

TEST(Operations, AMissingPartIsNoticedAndLeavesTheCriterionOfTheWriteAlone) {
  for (const bool frames : {true, false}) {
    const v1::Report report = Without(frames);
    EXPECT_EQ(OutcomeOf(report, "sync_p50<1s"), v1::OUTCOME_INCONCLUSIVE) << frames;
    EXPECT_EQ(OutcomeOf(report, "p50<1s"), v1::OUTCOME_PASS) << frames;
  }
}

TEST(Operations, APartThatAWriterNeverReportedIsNamedAndNeverPassed) {
  std::vector<v1::JournalRecord> records = MakeJournal(WithSyncs({"sync_p50<1s", "p50<1s", "stalls==0"}));
  const auto of_part = [](const auto& one) { return one.qm() == 1 && one.operation() != kMainOperation; };
  for (v1::JournalRecord& record : records) {
    if (record.has_frames() && record.frames().host() == 0) {
      auto& frames = *record.mutable_frames()->mutable_frames();
      frames.erase(std::remove_if(frames.begin(), frames.end(), of_part), frames.end());
    }
    if (record.has_step_done() && record.step_done().host() == 0) {
      auto& totals = *record.mutable_step_done()->mutable_done()->mutable_writers();
      totals.erase(std::remove_if(totals.begin(), totals.end(), of_part), totals.end());
    }
  }
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("nothing was reported of the sync")));
  EXPECT_EQ(OutcomeOf(report, "p50<1s"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "stalls==0"), v1::OUTCOME_PASS);
}

TEST(Operations, AWriterWithFewerPartsThanWritesLeavesTheirCriterionUndecided) {
  std::vector<v1::JournalRecord> records = MakeJournal(WithSyncs({"sync_p50<1s", "p50<1s"}));
  for (v1::JournalRecord& record : records) {
    if (record.has_frames() && record.frames().host() == 0) {
      for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
        if (frame.operation() != kSyncOperation || frame.latency().count() == 0) continue;
        Histogram one;
        one.Record(900'000);
        *frame.mutable_latency() = one.ToProto();
        frame.clear_slowest();
      }
    }
    if (!record.has_step_done() || record.step_done().host() != 0) continue;
    for (v1::WriterTotals& totals : *record.mutable_step_done()->mutable_done()->mutable_writers()) {
      if (totals.operation() != kSyncOperation) continue;
      totals.set_writes(8);
      totals.set_latency_sum_ns(8 * 900'000);
      totals.set_latency_max_ns(900'000);
    }
  }
  const v1::Report report = Analyze(records);
  EXPECT_EQ(OutcomeOf(report, "sync_p50<1s"), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(OutcomeOf(report, "p50<1s"), v1::OUTCOME_PASS);
}

TEST(Operations, APartThatDiffersFromTheWritersOwnCountIsNamed) {
  std::vector<v1::JournalRecord> records = MakeJournal(WithSyncs({"sync_p50<1s"}));
  for (v1::JournalRecord& record : records) {
    if (!record.has_step_done()) continue;
    for (v1::WriterTotals& totals : *record.mutable_step_done()->mutable_done()->mutable_writers()) {
      if (totals.operation() == kSyncOperation) totals.set_latency_sum_ns(totals.latency_sum_ns() + 1);
    }
  }
  const v1::Report report = Analyze(records);
  EXPECT_NE(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("sync: the writer counted")));
}

TEST(Operations, AnOperationThatThisVersionDoesNotKnowIsLeftOutAndNeverPassed) {
  std::vector<v1::JournalRecord> records = MakeJournal(WithSyncs({"p50<1s"}));
  for (v1::JournalRecord& record : records) {
    if (!record.has_run_begin()) continue;
    for (v1::LogStep& step : *record.mutable_run_begin()->mutable_steps()) {
      v1::Operation& unknown = *step.add_operations();
      unknown.set_name("seek");
      unknown.set_kind(static_cast<v1::OperationKind>(77));
    }
  }
  const v1::Report report = Analyze(records);
  ASSERT_EQ(report.steps_size(), 1);
  EXPECT_EQ(report.steps(0).operations_size(), 2);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("does not know the operation 'seek'")));
}

// A search with one step, whose writes are those of WithSyncs: the figure by which its criterion is decided.
v1::LimitConfidence ConfidenceOf(const std::string& criterion) {
  SimRun run = WithSyncs({criterion});
  run.verdict_rules = 5;
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (!record.has_run_begin()) continue;
    v1::RunBegin& begin = *record.mutable_run_begin();
    begin.mutable_plan()->mutable_limit()->set_over(v1::LIMIT_OVER_RATE);
    for (v1::LogStep& step : *begin.mutable_steps()) step.set_purpose(v1::STEP_PURPOSE_SEARCH);
  }
  const v1::Report report = Analyze(records);
  if (report.limit().points_size() != 1) throw std::runtime_error("not one point of a search");
  return report.limit().points(0).confidence();
}

TEST(Operations, ASearchCountsTheTimesOfWritesAndPartsApart) {
  EXPECT_EQ(ConfidenceOf("p50<950us").beyond_percent(), 100);
  EXPECT_NEAR(ConfidenceOf("sync_p50<950us").beyond_percent(), 1, 0.2);
  EXPECT_NEAR(ConfidenceOf("p50<1100us").beyond_percent(), 1, 0.2);
  EXPECT_NEAR(ConfidenceOf("write_call_p50<400us").beyond_percent(), 1, 0.2);
  EXPECT_NEAR(ConfidenceOf("avg<5ms").average_ns(), 1'190'000, 20'000);
  EXPECT_NEAR(ConfidenceOf("sync_avg<5ms").average_ns(), 1'086'000, 20'000);
}

TEST(Operations, TextJsonAndCsvHaveTheParts) {
  const v1::Report report = Analyze(MakeJournal(WithSyncs()));
  EXPECT_THAT(RenderText(report), HasSubstr("Part of the service time: sync"));
  EXPECT_THAT(RenderText(report), HasSubstr("Part of the service time: write_call"));
  EXPECT_THAT(RenderJson(report), HasSubstr("\"operations\""));
  const std::string csv = RenderCsv(report);
  EXPECT_THAT(csv.substr(0, csv.find('\n')), AllOf(HasSubstr("sync_p99_ns"), HasSubstr("write_call_max_ns")));
  SimRun writes = WithSyncs();
  for (SimHost& host : writes.hosts) host.sync_ns = nullptr;
  const v1::Report without = Analyze(MakeJournal(writes));
  EXPECT_THAT(RenderCsv(without), Not(HasSubstr("sync_")));
  EXPECT_THAT(RenderTimelineCsv(without), Not(HasSubstr("sync_")));
  EXPECT_THAT(RenderJson(without), Not(HasSubstr("\"operations\"")));
}

using CsvRow = std::map<std::string, std::string>;

// The rows of a timeline.csv without quotes, by the names of their columns.
std::vector<CsvRow> TimelineOf(const v1::Report& report) {
  const std::vector<std::string> lines = absl::StrSplit(RenderTimelineCsv(report), "\r\n", absl::SkipEmpty());
  const std::vector<std::string> names = absl::StrSplit(lines.at(0), ',');
  std::vector<CsvRow> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
    if (cells.size() != names.size()) throw std::runtime_error("another number of cells than of names: " + lines[i]);
    CsvRow& row = rows.emplace_back();
    for (size_t n = 0; n < names.size(); ++n) row[names[n]] = cells[n];
  }
  return rows;
}

// The cells of a row for the parts of its writes.
std::vector<std::string> PartsOf(const CsvRow& row) {
  return {row.at("sync_avg_ns"), row.at("sync_max_ns"), row.at("write_call_avg_ns"), row.at("write_call_max_ns")};
}

TEST(Operations, TheTimelineHasThePartsOfEachSecond) {
  v1::Report report = Analyze(MakeJournal(WithSyncs()));
  for (v1::OperationReport& operation : *report.mutable_steps(0)->mutable_operations()) {
    if (operation.name() != "write_call") continue;
    // The call of a write that is in flight at the end is over before the write.
    for (v1::SeriesReport& series : *operation.mutable_series()) series.mutable_irregular(0)->set_length_ns(0);
  }
  const std::vector<CsvRow> rows = TimelineOf(report);
  EXPECT_FALSE(rows.at(0).contains("sync_p99_ns")) << "it would always be empty";
  size_t with_parts = 0;
  for (const CsvRow& row : rows) {
    if (row.at("kind") == "qm") {
      EXPECT_THAT(PartsOf(row), Each(""));
      continue;
    }
    ++with_parts;
    const bool slow = row.at("latency_max_ns") == "20000000";
    EXPECT_EQ(row.at("sync_max_ns"), slow ? "19500000" : "900000");
    EXPECT_EQ(row.at("write_call_max_ns"), slow ? "500000" : "100000");
    EXPECT_NEAR(std::stod(row.at("sync_avg_ns")) + std::stod(row.at("write_call_avg_ns")),
                std::stod(row.at("latency_avg_ns")), 1);
  }
  // Of two hosts, two storages and the cluster: two seconds, and the writes in flight at the end.
  EXPECT_EQ(with_parts, 15U);
}

TEST(Operations, TheTimelineHasPartsWhereARowOfTheWritesCoversTheSameTime) {
  SimRun run = TwoHosts(3 * kNsPerSecond);
  run.hosts[0].sync_ns = [](uint64_t) { return 900'000; };
  // Its first two seconds are one row, which is a row of the cluster, too.
  run.hosts[1].coalesce = 8;
  std::map<std::string, std::vector<std::string>> syncs;
  for (const CsvRow& row : TimelineOf(Analyze(MakeJournal(run)))) {
    if (row.at("kind") == "host" || row.at("kind") == "cluster") {
      syncs[row.at("host")].push_back(row.at("second") + ": " + row.at("sync_max_ns"));
    }
  }
  EXPECT_THAT(syncs["alpha"], ElementsAre("0: 900000", "1: 900000", "2: 900000"));
  EXPECT_THAT(syncs["beta"], ElementsAre("0: ", "2: "));
  EXPECT_THAT(syncs[""], ElementsAre("0: ", "2: 900000"));
}

TEST(Operations, TheTimelineOfADamagedReportLeavesOutThePartsThatDoNotFit) {
  v1::Report report = Analyze(MakeJournal(WithSyncs()));
  *report.add_steps() = report.steps(0);
  report.mutable_steps(1)->set_number(2);
  report.mutable_steps(1)->clear_operations();
  for (v1::OperationReport& operation : *report.mutable_steps(0)->mutable_operations()) {
    for (v1::SeriesReport& series : *operation.mutable_series()) {
      if (operation.name() == "sync") {
        series.mutable_writes()->Truncate(1);
        series.clear_latency_max_ns();
        series.mutable_irregular(0)->set_row(4'000'000'000);
      } else {
        series.set_second(0, 77);
      }
    }
  }
  for (const CsvRow& row : TimelineOf(report)) {
    EXPECT_NE(row.at("latency_max_ns"), "");
    const bool first = row.at("step") == "1" && row.at("kind") != "qm" && row.at("second") == "0";
    EXPECT_EQ(row.at("sync_avg_ns") != "", first) << row.at("second");
    EXPECT_EQ(row.at("sync_max_ns"), "");
    EXPECT_EQ(row.at("write_call_avg_ns"), "");
    EXPECT_EQ(row.at("write_call_max_ns"), "");
  }
}

}  // namespace
}  // namespace plimsoll::tests
