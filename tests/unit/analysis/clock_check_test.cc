// A clock at the wrong speed makes the figures of its host void: they pass nothing and fail nothing.
#include "controller/analysis/clock_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "controller/analysis/verdict_cause.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {
namespace {

// Hosts h1, h2, ... for 4 s, each write 1 ms, with clocks that gain so much per second.
SimRun RunWithSpeeds(const std::vector<double>& speeds, const std::string& criterion = "p99<10ms") {
  SimRun run;
  run.duration_ns = 4 * kNsPerSecond;
  run.criteria = {criterion};
  for (const double speed : speeds) {
    SimHost& host = run.hosts.emplace_back();
    host.label = "h" + std::to_string(run.hosts.size());
    host.steps = {{Steady(run.duration_ns, kNsPerMs)}};
    host.clock_gain_ns = [speed](int64_t since_ns) {
      return static_cast<int64_t>((speed - 1) * static_cast<double>(since_ns));
    };
  }
  return run;
}

v1::Report PaceReport(const SimRun& run) {
  return Analyze(MakeJournal(run));
}

std::string NotesOf(const v1::Report& report) {
  std::string notes;
  for (const std::string& note : report.notes()) notes += note + "\n";
  return notes;
}

TEST(ClockPace, OfOneHostAtTheWrongSpeedPassesNothing) {
  const struct {
    double speed;
    const char* text;
  } kCases[] = {{0.5, "h2's clock runs at 0.50x the controller's"},
                {0.95, "h2's clock runs at 0.95x the controller's"},
                {1.02, "h2's clock runs at 1.02x the controller's"},
                {2.0, "h2's clock runs at 2.00x the controller's"},
                {0.999, "h2's clock runs 1000 ppm slower than the controller's"},
                {1.0007, "h2's clock runs 700 ppm faster than the controller's"}};
  for (const auto& one : kCases) {
    const v1::Report report = PaceReport(RunWithSpeeds({1, one.speed, 1}));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << one.speed;
    EXPECT_EQ(PrimaryCause(report.verdict()), one.text);
    EXPECT_EQ(report.verdict().criteria(0).outcome(), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(report.verdict().criteria(0).reason(), std::string("step 1: ") + one.text);
    EXPECT_NEAR(report.hosts(1).clock().drift_ppm(), (one.speed - 1) * 1e6, 1e3 * std::abs(one.speed - 1) + 50);
    EXPECT_NEAR(report.hosts(0).clock().drift_ppm(), 0, 50);
    EXPECT_THAT(NotesOf(report), AllOf(HasSubstr("h2, step 1: its clock "), HasSubstr("--max-slew (500 ppm) allows"),
                                       Not(HasSubstr("its clock stepped"))));
  }
}

TEST(ClockPace, AtTheAllowedSlewOrBelowIsNotAccused) {
  for (const double ppm : {-500.0, -499.0, -10.0, 0.0, 30.0, 500.0}) {
    const v1::Report report = PaceReport(RunWithSpeeds({1, 1 + ppm / 1e6}));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << ppm;
    EXPECT_EQ(NotesOf(report), "") << ppm;
  }
}

TEST(ClockPace, IsMeasuredAgainstTheSlewOfThePlan) {
  std::vector<v1::JournalRecord> records = MakeJournal(RunWithSpeeds({1, 1.0008}));
  EXPECT_EQ(Analyze(records).verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  records.front().mutable_run_begin()->mutable_plan()->set_max_slew_ppm(1000);
  EXPECT_EQ(Analyze(records).verdict().outcome(), v1::OUTCOME_PASS);
}

TEST(ClockPace, OfAWrongClockFailsNothing) {
  const v1::Report report = PaceReport(RunWithSpeeds({1, 2}, "p99<0.9ms"));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(ClockPace, LeavesWhatNoClockMeasures) {
  const v1::Report report = PaceReport(RunWithSpeeds({1, 0.5}, "hosts>=3"));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
}

TEST(ClockPace, OfMostHostsAlikeNamesTheControllersOwnClock) {
  EXPECT_EQ(PrimaryCause(PaceReport(RunWithSpeeds({0.5, 0.5, 0.5})).verdict()),
            "the controller's clock runs at 2.00x that of all 3 hosts");
  const v1::Report report = PaceReport(RunWithSpeeds({1.02, 1, 1.02, 1.02, 0.7}));
  EXPECT_THAT(report.verdict().reasons(), ElementsAre("the controller's clock runs at 0.98x that of 3 of 5 hosts.",
                                                      "h5's clock runs at 0.70x the controller's."));
  // One of one is no majority.
  EXPECT_EQ(PrimaryCause(PaceReport(RunWithSpeeds({0.5})).verdict()), "h1's clock runs at 0.50x the controller's");
  // Nor are two that deviate each in its own way.
  EXPECT_THAT(PaceReport(RunWithSpeeds({0.5, 1.5, 1})).verdict().reasons(),
              ElementsAre("h1's clock runs at 0.50x the controller's.", "h2's clock runs at 1.50x the controller's."));
}

TEST(ClockPace, OfAClockThatRunsToAndFroIsAddedUp) {
  SimRun run = RunWithSpeeds({1, 1});
  run.hosts[1].clock_gain_ns = [](int64_t since_ns) { return since_ns / kNsPerSecond % 2 == 0 ? 0 : 20 * kNsPerMs; };
  EXPECT_EQ(PrimaryCause(PaceReport(run).verdict()), "h2's clock is not steady");
}

// The measured time begins 2.05 s after the run.
std::function<int64_t(int64_t)> StepAt(int64_t after_ns, int64_t by_ns) {
  return [after_ns, by_ns](int64_t since_ns) { return since_ns < after_ns ? 0 : by_ns; };
}

TEST(ClockPace, OfOneStepWithinTheAllowedSlewIsNotAccused) {
  for (const int64_t by_ns : {-kNsPerMs, kNsPerMs}) {
    SimRun run = RunWithSpeeds({1, 1});
    run.hosts[1].clock_gain_ns = StepAt(4 * kNsPerSecond, by_ns);
    const v1::Report report = PaceReport(run);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
    EXPECT_THAT(NotesOf(report), HasSubstr("h2: its clock stepped 1 times"));
    EXPECT_EQ(report.hosts(1).clock().steps_size(), 1);
  }
}

TEST(ClockPace, OfAStepOutsideTheMeasuredTimeIsNotAccused) {
  SimRun run = RunWithSpeeds({1, 1});
  run.hosts[1].clock_gain_ns = StepAt(kNsPerSecond / 10, -kNsPerSecond);
  run.warmup_ns = 3 * kNsPerSecond;
  for (SimHost& host : run.hosts) {
    host.steps[0][0] = ClosedLoop(run.duration_ns, 1'000, [](uint64_t, int64_t) { return kNsPerMs; }, run.warmup_ns);
  }
  EXPECT_EQ(PaceReport(run).verdict().outcome(), v1::OUTCOME_PASS);
}

TEST(ClockPace, OfAStepIsNamedAsOne) {
  SimRun run = RunWithSpeeds({1, 1});
  run.duration_ns = 8 * kNsPerSecond;
  for (SimHost& host : run.hosts) host.steps[0][0] = Steady(run.duration_ns, kNsPerMs);
  run.hosts[1].clock_gain_ns = StepAt(6 * kNsPerSecond, -1'500 * kNsPerMs);
  const v1::Report report = PaceReport(run);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(PrimaryCause(report.verdict()), "h2's clock stepped by -1.500 s");
}

TEST(ClockPace, OfAClockThatStoppedWhileItsHostReportsThatItWasSuspendedIsNotAccused) {
  SimRun run = RunWithSpeeds({1, 1});
  run.hosts[1].clock_gain_ns = StepAt(4 * kNsPerSecond, -300 * kNsPerMs);
  EXPECT_EQ(PaceReport(run).verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  // As long, and between the same two probes; from the step's start, by the host's clock.
  run.hosts[1].pauses = {{0, 1'200 * kNsPerMs, 1'500 * kNsPerMs}};
  EXPECT_EQ(PaceReport(run).verdict().outcome(), v1::OUTCOME_PASS) << PrimaryCause(PaceReport(run).verdict());
  // It explains no gain, and nothing that happened at another time.
  run.hosts[1].clock_gain_ns = StepAt(4 * kNsPerSecond, 300 * kNsPerMs);
  EXPECT_EQ(PaceReport(run).verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  run.hosts[1].clock_gain_ns = StepAt(5'500 * kNsPerMs, -300 * kNsPerMs);
  EXPECT_EQ(PaceReport(run).verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

// The probes have a connection of their own: a host may measure on and not answer them.
TEST(ClockPace, OfAHostThatAnswersNoProbeWhileItMeasuresIsNotKnownAndPassesNothing) {
  const std::vector<v1::JournalRecord> records = MakeJournal(RunWithSpeeds({1, 1}));
  const auto analyze = [&](int64_t from_ns, int64_t to_ns) {
    Analyzer analyzer;
    for (const v1::JournalRecord& record : records) {
      constexpr int64_t kRunBeginNs = 500 * kNsPerSecond;
      const bool lost = record.has_probes() && record.probes().host() == 1 &&
                        record.probes().probes(0).sent_ns() - kRunBeginNs >= from_ns &&
                        record.probes().probes(0).sent_ns() - kRunBeginNs < to_ns;
      if (!lost) analyzer.Add(record);
    }
    return analyzer.Finish();
  };
  // The step is measured from about 2 s to 6 s after the run's begin.
  for (const int64_t from_ns : {INT64_MIN, kNsPerSecond, 4 * kNsPerSecond}) {
    const v1::Report report = analyze(from_ns, INT64_MAX);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << from_ns;
    EXPECT_THAT(PrimaryCause(report.verdict()),
                HasSubstr("the speed of h2's clock is not known: it answered no probe"));
  }
  // Before and after a gap the clock shows the same.
  EXPECT_EQ(analyze(3 * kNsPerSecond, 5 * kNsPerSecond).verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(analyze(INT64_MAX, INT64_MAX).verdict().outcome(), v1::OUTCOME_PASS);
}

TEST(ClockPace, OfAClockThatWasNeverProbedIsNotKnown) {
  EXPECT_FALSE(IsWrongPace(ClockChange()));
  EXPECT_EQ(PacePpm(ClockChange()), 0);
  EXPECT_THAT(WrongClocks({{"h1", ClockChange()}}), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::tests
