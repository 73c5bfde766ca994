// The report of a measurement of restart I/O, from hand-made journals.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/restart_plan.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/junit_xml.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

// Plays the journal of a run whose every call takes as long as its side says.
class RestartJournal {
 public:
  explicit RestartJournal(const std::string& section, const std::string& dirs = "[/san, /nfs]") {
    plan_ = PlanOf(absl::StrCat("workload: {qm_dirs: ", dirs, "}\nrestart_time: ", section, "\n"));
    FillDefaults(plan_);
    v1::JournalRecord begin;
    begin.mutable_run_begin()->set_run_id("abc123");
    begin.mutable_run_begin()->set_version("test");
    *begin.mutable_run_begin()->mutable_plan() = plan_;
    begin.mutable_run_begin()->set_frame_interval_ns(250 * kNsPerMs);
    begin.mutable_run_begin()->set_wall_clock_ns(1'700'000'000 * kNsPerSecond);
    Add(begin);
    v1::JournalRecord host;
    host.mutable_host_joined()->set_label("alpha");
    *host.mutable_host_joined()->mutable_plan()->mutable_restart() = MakeRestartWork(plan_);
    for (const std::string& dir : RestartDirs(plan_)) {
      v1::DirectoryDescription& described = *host.mutable_host_joined()->mutable_description()->add_directories();
      described.set_path(dir);
      described.set_fs_type(dir == "/san" ? "xfs" : "nfs4");
    }
    Add(host);
  }

  const v1::TestPlan& plan() const { return plan_; }

  void Add(v1::JournalRecord record) {
    record.set_time_ns(now_ns_ += kNsPerMs);
    analyzer_.Add(record);
  }

  // An ordered trial; returns its number.
  uint32_t Order(const v1::RestartTrial& trial, uint32_t round, uint32_t side) {
    v1::JournalRecord record;
    v1::RestartTrialBegin& begin = *record.mutable_restart()->mutable_trial_begin();
    begin.set_round(round);
    *begin.mutable_trial() = trial;
    begin.mutable_trial()->set_trial(++trials_);
    begin.mutable_trial()->set_side(side);
    Add(record);
    return trials_;
  }

  // Its answer: so many calls to queue files, each of `call_ns`, and `log_ns` for reading the log.
  v1::RestartTrialDone Answer(uint32_t number, const v1::RestartTrial& trial, uint64_t calls, int64_t call_ns,
                              int64_t log_ns) {
    v1::RestartTrialDone done;
    done.set_trial(number);
    done.set_start_ns(1000 * kNsPerSecond);
    done.set_end_ns(1000 * kNsPerSecond + log_ns + static_cast<int64_t>(calls) * call_ns);
    done.mutable_log_reads()->set_count(1);
    done.mutable_log_reads()->set_bytes(trial.redo().records() * trial.redo().record_bytes());
    done.mutable_log_reads()->set_sum_ns(log_ns);
    done.mutable_queue_reads()->set_count(calls / 2);
    done.mutable_queue_writes()->set_count(calls - calls / 2);
    done.mutable_queue_reads()->set_sum_ns(static_cast<int64_t>(calls) * call_ns);
    return done;
  }

  void Done(const v1::RestartTrialDone& done) {
    v1::JournalRecord record;
    *record.mutable_restart()->mutable_trial_done() = done;
    Add(record);
  }

  void End(const std::string& cut_short = "") {
    v1::JournalRecord record;
    record.mutable_run_end()->set_cut_short(cut_short);
    Add(record);
  }

  v1::Report Finish() { return analyzer_.Finish(); }

 private:
  v1::TestPlan plan_;
  Analyzer analyzer_;
  int64_t now_ns_ = kNsPerSecond;
  uint32_t trials_ = 0;
};

uint64_t CallsOf(const v1::RestartTrial& trial) {
  const v1::RestartRedo& redo = trial.redo();
  return redo.way() == v1::RESTART_REDO_WAY_COALESCED ? redo.records() / 100 : redo.records() * 24 / 10;
}

// 0.1 ms a call on the SAN, 1 ms on NFS, in every round.
v1::Report WholeRun(RestartJournal& journal) {
  for (uint32_t round = 1; round <= journal.plan().restart_time().rounds(); ++round) {
    for (const v1::RestartTrial& trial : RestartCases(journal.plan())) {
      for (uint32_t side = 0; side < 2; ++side) {
        const uint32_t number = journal.Order(trial, round, side);
        journal.Done(journal.Answer(number, trial, CallsOf(trial), side == 0 ? kNsPerMs / 10 : kNsPerMs, 5 * kNsPerMs));
      }
    }
  }
  journal.End();
  return journal.Finish();
}

TEST(RestartReport, ShowsTheSlopeThatWasPlantedOfEachSideAndWay) {
  RestartJournal journal("{rounds: 3}");
  const v1::Report report = WholeRun(journal);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE);
  ASSERT_EQ(report.restart_time().sides_size(), 2);
  const v1::RestartSide& nfs = report.restart_time().sides(1);
  EXPECT_EQ(nfs.directory(), "/nfs");
  EXPECT_EQ(nfs.fs_type(), "nfs4");
  ASSERT_EQ(nfs.redo_size(), 2);
  EXPECT_EQ(nfs.redo(0).way(), v1::RESTART_REDO_WAY_COALESCED) << "the way of today comes first";
  const v1::RestartRedoReport& before = nfs.redo(1);
  EXPECT_NEAR(before.slope_us(), 2400, 1e-6);
  EXPECT_NEAR(before.intercept_us(), 5000, 1e-6);
  EXPECT_NEAR(before.r_squared(), 1, 1e-9);
  EXPECT_NEAR(before.extended_seconds(), 144.005, 1e-6);
  EXPECT_NEAR(before.calls_per_record(), 2.4, 1e-9);
  ASSERT_EQ(before.points_size(), 3);
  EXPECT_EQ(before.points(1).records(), 1000U);
  EXPECT_EQ(before.points(1).rounds(), 3U);
  EXPECT_NEAR(before.points(1).median_seconds(), 2.405, 1e-9);
  EXPECT_NEAR(before.points(1).log_seconds(), 0.005, 1e-12);
  EXPECT_NEAR(report.restart_time().sides(0).redo(1).slope_us(), 240, 1e-6);
  EXPECT_EQ(report.restart_time().measurements_size(), 36);
  EXPECT_FALSE(nfs.has_cold()) << "no counter was reported";
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("The storage's share of a restart, in a model: not MQ's restart time"));
  EXPECT_THAT(text, HasSubstr("per-record"));
  EXPECT_THAT(text, HasSubstr("144.0"));
  EXPECT_THAT(text, HasSubstr("What the model assumes"));
  EXPECT_THAT(RenderJson(report), HasSubstr("\"extended_to_records\": 60000"));
  EXPECT_THAT(RenderReportJUnit(report), Not(HasSubstr("<failure")));
}

TEST(RestartReport, WhetherTheLogWasReadFromTheStorageFollowsFromTheKernelsCounters) {
  for (const bool cold : {true, false}) {
    RestartJournal journal("{rounds: 1, records: [500], redo: coalesced}", "[/san]");
    const v1::RestartTrial trial = RestartCases(journal.plan())[0];
    v1::RestartTrialDone done = journal.Answer(journal.Order(trial, 1, 0), trial, 10, kNsPerMs, kNsPerMs);
    done.mutable_queue_reads()->set_bytes(40'960);
    done.set_storage_read_bytes(done.log_reads().bytes() + done.queue_reads().bytes() - (cold ? 0 : 1));
    journal.Done(done);
    journal.End();
    const v1::Report report = journal.Finish();
    ASSERT_TRUE(report.restart_time().sides(0).has_cold());
    EXPECT_EQ(report.restart_time().sides(0).cold(), cold);
    EXPECT_FALSE(report.restart_time().sides(0).redo(0).has_slope_us()) << "one number of records makes no line";
    EXPECT_THAT(RenderText(report), HasSubstr(cold ? "as many bytes were read from the" : "NOT ALL of it was"));
  }
}

TEST(RestartReport, ALineThatMayEndAtNothingIsNotExtended) {
  RestartJournal journal("{rounds: 1, redo: coalesced}", "[/san]");
  int64_t log_ns = 50 * kNsPerMs;
  for (const v1::RestartTrial& trial : RestartCases(journal.plan())) {
    journal.Done(journal.Answer(journal.Order(trial, 1, 0), trial, 1, 0, log_ns));
    log_ns -= 10 * kNsPerMs;
  }
  journal.End();
  const v1::Report report = journal.Finish();
  const v1::RestartRedoReport& redo = report.restart_time().sides(0).redo(0);
  EXPECT_LT(redo.slope_us(), 0);
  EXPECT_FALSE(redo.has_extended_seconds());
}

TEST(RestartReport, AMeasurementThatFailedIsNamedAndMakesItInconclusive) {
  RestartJournal journal("{rounds: 1, records: [500], redo: coalesced}");
  const v1::RestartTrial trial = RestartCases(journal.plan())[0];
  journal.Done(journal.Answer(journal.Order(trial, 1, 0), trial, 10, kNsPerMs, kNsPerMs));
  v1::RestartTrialDone torn;
  torn.set_trial(journal.Order(trial, 1, 1));
  torn.set_code(static_cast<int32_t>(absl::StatusCode::kDataLoss));
  torn.set_message("/nfs/active/S0000000.LOG: page 7 is torn");
  journal.Done(torn);
  journal.End();
  const v1::Report report = journal.Finish();
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("page 7 is torn")));
  EXPECT_EQ(report.restart_time().sides(0).redo_size(), 1);
  EXPECT_EQ(report.restart_time().sides(1).redo_size(), 0);
}

TEST(RestartReport, AnAnswerThatCannotBeIsLeftOutAndNamed) {
  RestartJournal journal("{rounds: 1, records: [500], redo: coalesced}");
  const v1::RestartTrial trial = RestartCases(journal.plan())[0];
  v1::RestartTrialDone backwards = journal.Answer(journal.Order(trial, 1, 0), trial, 10, kNsPerMs, kNsPerMs);
  backwards.set_end_ns(backwards.start_ns() - 1);
  journal.Done(backwards);
  v1::RestartTrialDone unasked = journal.Answer(77, trial, 10, kNsPerMs, kNsPerMs);
  journal.Done(unasked);
  journal.End();
  const v1::Report report = journal.Finish();
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(RenderText(report), HasSubstr("measurement of restart I/O"));
  EXPECT_EQ(report.restart_time().measurements_size(), 0);
}

TEST(RestartReport, AJournalThatWasCutOffShowsHowManyMeasurementsCameToAnEnd) {
  RestartJournal journal("{rounds: 1, records: [500], redo: coalesced}");
  const v1::RestartTrial trial = RestartCases(journal.plan())[0];
  journal.Done(journal.Answer(journal.Order(trial, 1, 0), trial, 10, kNsPerMs, kNsPerMs));
  journal.Order(trial, 1, 1);
  const v1::Report report = journal.Finish();
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("Of 2 measurements, 1 came to an end.")));
}

TEST(RestartReport, LoadingAndBackingOutHaveTablesOfTheirOwn) {
  RestartJournal journal(
      "{rounds: 2, records: [500], redo: coalesced, depth: [0, 1000], uncommitted: [0, 400], transactions: 10}",
      "[/san]");
  for (uint32_t round = 1; round <= 2; ++round) {
    for (const v1::RestartTrial& trial : RestartCases(journal.plan())) {
      const uint32_t number = journal.Order(trial, round, 0);
      v1::RestartTrialDone done = journal.Answer(number, trial, trial.has_undo() ? 800 : 20, kNsPerMs, 0);
      if (trial.has_undo()) done.mutable_log_writes()->set_count(10);
      if (trial.has_load()) done.mutable_queue_reads()->set_bytes(1'310'720);
      journal.Done(done);
    }
  }
  journal.End();
  const v1::Report report = journal.Finish();
  const v1::RestartSide& side = report.restart_time().sides(0);
  ASSERT_EQ(side.load_size(), 1);
  EXPECT_EQ(side.load(0).depth(), 1000U);
  EXPECT_EQ(side.load(0).rounds(), 2U);
  ASSERT_EQ(side.undo_size(), 1);
  EXPECT_EQ(side.undo(0).uncommitted(), 400U);
  EXPECT_EQ(side.undo(0).queue_calls(), 800U);
  EXPECT_EQ(side.undo(0).log_writes(), 10U);
  EXPECT_NEAR(side.undo(0).median_seconds(), 0.8, 1e-9);
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("Loading the queues, in seconds"));
  EXPECT_THAT(text, HasSubstr("Backing out uncommitted messages, in seconds"));
}

}  // namespace
}  // namespace plimsoll
