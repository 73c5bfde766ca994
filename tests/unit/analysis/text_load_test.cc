// How a step's evenness and its hosts' load are shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_split.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

std::vector<std::string> TextCells(const std::string& line) {
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

v1::StepReport WithHosts(int hosts) {
  v1::StepReport step;
  for (int i = 0; i < hosts; ++i) {
    v1::ScopeReport& scope = *step.add_scopes();
    scope.set_kind(v1::SCOPE_KIND_HOST);
    scope.set_host("host" + std::to_string(i));
    scope.set_writes(10);
    scope.mutable_latency()->set_count(10);
    scope.mutable_latency()->set_avg_ns(1'234'567);
    v1::HostLoadReport& load = *step.add_load();
    load.set_host(scope.host());
    load.set_agent_cpu_percent(12.34);
  }
  return step;
}

TEST(TextLoad, NothingIsSaidWhereNothingIsKnown) {
  EXPECT_THAT(TextEvenness(v1::StepReport()), IsEmpty());
  EXPECT_THAT(TextLoad(v1::StepReport()), IsEmpty());
}

TEST(TextLoad, OneHostHasNoFairnessOverHosts) {
  v1::StepReport step;
  step.mutable_fairness()->set_queue_managers(0.5);
  EXPECT_THAT(TextEvenness(step), ElementsAre("  Fairness (Jain's index): 0.500 over queue managers"));
}

TEST(TextLoad, AChangeFromNothingIsADash) {
  v1::StepReport step;
  v1::TrendReport& trend = *step.mutable_trend();
  trend.set_last_iops(250);
  trend.set_last_avg_ns(4e6);
  trend.set_iops_change_percent(std::numeric_limits<double>::quiet_NaN());
  trend.set_avg_change_percent(std::numeric_limits<double>::quiet_NaN());
  trend.set_stretch_ns(12'000'000'000);
  EXPECT_THAT(TextEvenness(step),
              ElementsAre("  Trend: IO/s 0.00 to 250 (–), avg – to 4.000 ms (–)",
                          "  Not steady: range 0.0 % (limit 20), slope 0.0 % (limit 10), over 5 x 12 s"));
}

TEST(TextLoad, ColumnsOfWhatNobodyHasAreNotThere) {
  v1::StepReport step = WithHosts(1);
  const std::vector<std::string> lines = TextLoad(step);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(TextCells(lines[3]), ElementsAre("host0", "1.235", "|", "12.3", "0.00", "0.000"));
  step.mutable_load(0)->mutable_disk()->set_device("sda");
  step.mutable_load(0)->mutable_disk()->set_writes(7);
  step.mutable_load(0)->mutable_disk()->set_write_ms(0.5);
  const std::vector<std::string> more = TextLoad(step);
  ASSERT_THAT(more, SizeIs(8));
  EXPECT_EQ(more[3], lines[3]);
  EXPECT_THAT(TextCells(more[7]), ElementsAre("host0", "1.235", "|", "sda", "0.500", "\u2013", "0.0"));
}

TEST(TextLoad, TheKernelsReadsHaveAColumnOfDevicesAndARowOfNfs) {
  v1::StepReport step = WithHosts(2);
  for (v1::HostLoadReport& load : *step.mutable_load()) {
    load.mutable_disk()->set_device("sda");
    load.mutable_disk()->set_writes(7);
    load.mutable_disk()->set_write_ms(0.5);
  }
  step.mutable_load(0)->mutable_disk()->set_reads(9);
  step.mutable_load(0)->mutable_disk()->set_read_ms(0.25);
  v1::NfsOperationReport& read = *step.mutable_load(1)->mutable_nfs()->mutable_read();
  read.set_operations(3);
  read.set_execute_ms(2);
  const std::vector<std::string> lines = TextLoad(step, 100);
  ASSERT_THAT(lines, SizeIs(15));
  EXPECT_THAT(TextCells(lines[7]),
              ElementsAre("host", "measured", "avg", "|", "device", "read", "write", "flush", "busy", "%"));
  EXPECT_THAT(TextCells(lines[8]), ElementsAre("host0", "1.235", "|", "sda", "0.250", "0.500", "\u2013", "0.0"));
  EXPECT_THAT(TextCells(lines[9]), ElementsAre("host1", "1.235", "|", "sda", "\u2013", "0.500", "\u2013", "0.0"))
      << "unknown, not 0";
  EXPECT_THAT(TextCells(lines[13]), ElementsAre("host1", "1.235", "|", "READ", "3", "0.000", "0.000", "2.000", "0"));
  EXPECT_THAT(TextCells(lines[14]), ElementsAre("host1", "|", "WRITE", "0", "\u2013", "\u2013", "\u2013", "0"));
  // The measured averages of a mixed run are those of its writes.
  const std::vector<std::string> mixed = TextLoad(step, 30);
  ASSERT_THAT(mixed, SizeIs(16));
  EXPECT_THAT(TextCells(mixed[13]), ElementsAre("host1", "|", "READ", "3", "0.000", "0.000", "2.000", "0"));
  EXPECT_THAT(TextCells(mixed[14]),
              ElementsAre("host1", "1.235", "|", "WRITE", "0", "\u2013", "\u2013", "\u2013", "0"));
  EXPECT_EQ(mixed[15], "  Measured avg is that of the writes.");
}

TEST(TextLoad, AWarningNamesTheHost) {
  v1::StepReport step = WithHosts(2);
  step.mutable_load(1)->set_bottleneck("its recorder ran up to 73 ms late");
  EXPECT_THAT(TextLoad(step),
              Contains(HasSubstr("  Warning: host1: the load generator may be CPU-bound: its recorder ran up")));
}

TEST(TextLoad, APassHasTheWarningRightBelowIt) {
  const auto lines_of = [](v1::Report& shown) {
    shown.mutable_verdict()->clear_warnings();
    for (const std::string& warning : VerdictWarnings(shown)) shown.mutable_verdict()->add_warnings(warning);
    return TextVerdict(shown, TextDetail::kShort);
  };
  v1::Report report;
  report.mutable_run()->set_state(v1::RUN_STATE_COMPLETE);
  report.mutable_verdict()->set_outcome(v1::OUTCOME_PASS);
  for (uint32_t number = 1; number <= 3; ++number) {
    *report.add_steps() = WithHosts(1);
    report.mutable_steps()->rbegin()->set_number(number);
  }
  EXPECT_THAT(lines_of(report), ElementsAre("Verdict   PASS"));
  report.mutable_steps(1)->mutable_load(0)->set_bottleneck("its recorder ran up to 73 ms late");
  EXPECT_THAT(
      lines_of(report),
      ElementsAre("Verdict   PASS", "          Warning: The load generator may be CPU-bound in step 2; the criteria",
                  "          hold for the load that was reached."));
  report.mutable_steps(2)->mutable_load(0)->set_bottleneck("its recorder ran up to 73 ms late");
  EXPECT_THAT(lines_of(report), Contains(HasSubstr("may be CPU-bound in 2 steps; ")));
  // A FAIL has its reasons with the criteria.
  report.mutable_verdict()->set_outcome(v1::OUTCOME_FAIL);
  EXPECT_THAT(lines_of(report), ElementsAre("Verdict   FAIL"));
}

TEST(TextLoad, NoLineIsTooWideAndNothingSteersTheTerminal) {
  v1::StepReport step = WithHosts(3);
  for (v1::HostLoadReport& load : *step.mutable_load()) {
    load.set_host("\x1b[31m" + std::string(200, 'x') + load.host());
    load.set_bottleneck(std::string(300, 'y') + "\x1b");
    load.set_agent_cpu_percent(123'456.7);
    load.set_recorder_late_max_ns(UINT64_MAX);
    load.set_pauses(7);
    load.set_paused_ns(INT64_MAX);
    load.mutable_disk()->set_device("\x1b]0;" + std::string(100, 'd'));
    load.mutable_disk()->set_writes(1);
    load.mutable_disk()->set_write_ms(1e9);
    load.mutable_nfs()->mutable_write()->set_operations(UINT64_MAX);
    load.mutable_nfs()->mutable_write()->set_execute_ms(1e9);
    load.mutable_nfs()->mutable_commit()->set_operations(UINT64_MAX);
  }
  step.mutable_trend()->set_first_iops(1e18);
  for (const std::vector<std::string>& lines : {TextLoad(step), TextEvenness(step)}) {
    EXPECT_THAT(lines, Each(Not(HasSubstr("\x1b"))));
    for (const std::string& line : lines) EXPECT_THAT(DisplayWidth(line), Le(size_t{80})) << line;
  }
}

}  // namespace
}  // namespace plimsoll
