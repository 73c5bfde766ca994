// The text report as a whole: what comes first, what a large run shows, and that every line fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "controller/render/csv.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Hosts of two queue managers with three block sizes; a host's writes are the slower the later it is in `order`.
v1::Report LargeReport(int hosts) {
  SimRun run;
  run.block_sizes = {4096, 16384, 65536};
  run.duration_ns = 5 * kNsPerSecond;
  run.criteria = {"avg<10s"};
  for (int i = 0; i < hosts; ++i) {
    SimHost host;
    host.label = absl::StrCat("node", 10 + i);
    const int rank = (i * 5) % hosts;
    for (int step = 0; step < 3; ++step) {
      const int64_t latency_ns = 10 * kNsPerMs + rank * kNsPerMs;
      host.steps.push_back({tests::Steady(run.duration_ns, latency_ns), tests::Steady(run.duration_ns, latency_ns)});
    }
    host.sample = [](uint32_t, int64_t since_start_ns) {
      const auto ms = static_cast<uint64_t>(since_start_ns / kNsPerMs);
      v1::HostSample sample;
      sample.set_agent_cpu_ns(ms * 23'000);
      sample.mutable_nfs()->mutable_write()->set_operations(ms / 25);
      sample.mutable_nfs()->mutable_write()->set_round_trip_ms(ms / 25 * 19);
      return sample;
    };
    for (int other = 0; other < hosts; ++other) host.sees.push_back(absl::StrCat("node", 10 + other));
    run.hosts.push_back(host);
  }
  return tests::Analyze(tests::MakeJournal(run));
}

// Labels of the hosts with a row "all" in the first step's tables.
std::vector<std::string> HostRows(const std::string& text) {
  std::vector<std::string> hosts;
  for (const std::string& line : LinesOf(text)) {
    const std::vector<std::string> cells = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (line.starts_with("Step 2")) break;
    if (line.starts_with("  node") && cells.size() > 1 && cells[1] == "all") hosts.push_back(cells[0]);
  }
  return hosts;
}

TEST(TextReport, DirectoriesAreShownWithTheQueueManagersThatWriteInEach) {
  v1::Report report = LargeReport(1);
  v1::LogWorkload& workload = *report.mutable_hosts(0)->mutable_workload();
  const auto shown = [&](const std::vector<std::string>& dirs) {
    workload.mutable_qm_dirs()->Assign(dirs.begin(), dirs.end());
    workload.set_qm(static_cast<uint32_t>(dirs.size()));
    const std::vector<std::string> lines = TextHeading(report);
    std::string text;
    bool found = false;
    for (const std::string& line : lines) {
      found = (found && line.starts_with("     ")) || line.starts_with("  Directories");
      if (found) absl::StrAppend(&text, line, " ");
    }
    return absl::StrJoin(absl::StrSplit(text, ' ', absl::SkipEmpty()), " ");
  };
  EXPECT_THAT(shown({"/q1", "/q2", "/q1"}), StartsWith("Directories --qm-dirs /q1 (qm1, qm3), /q2 (qm2)"));
  EXPECT_THAT(shown({"/q1", "/q1", "/q1", "/q2", "/q2", "/q1"}),
              StartsWith("Directories --qm-dirs /q1 (qm1-qm3, qm6), /q2 (qm4, qm5)"));
  std::vector<std::string> many;
  for (int i = 0; i < 20; ++i) many.insert(many.end(), {"/q1", "/q2"});
  EXPECT_THAT(shown(many), HasSubstr("/q1 (qm1, qm3, qm5, qm7, qm9, qm11, qm13, qm15, 12 more), /q2 (qm2,"));
}

// The value of a row of the configuration; empty: there is none.
std::string Configured(const v1::Report& report, const std::string& label) {
  for (const ConfigurationRow& row : ConfigurationRows(report)) {
    if (row.label == label) return row.value;
  }
  return "";
}

TEST(TextReport, ClientAddressesMakeNoDifferenceOfMounts) {
  v1::Report report = LargeReport(3);
  for (int i = 0; i < 3; ++i) {
    v1::MountReport& mount = *report.mutable_hosts(i)->mutable_mount();
    mount.set_fs_type("nfs4");
    mount.set_remote("filer1:/mq");
    mount.set_mount_options(absl::StrCat("rw,hard,clientaddr=10.0.0.", i, ",proto=tcp"));
  }
  EXPECT_EQ(Configured(report, "File system"), "nfs4 from filer1:/mq, rw,hard,proto=tcp");
  report.mutable_hosts(2)->mutable_mount()->set_mount_options("rw,soft");
  EXPECT_EQ(Configured(report, "File system"), "differs between hosts; see Hosts");
}

TEST(TextReport, APlacedQueueManagerIsShownWithItsDirectory) {
  v1::Report report = LargeReport(2);
  report.mutable_placement();
  v1::PlacedQueueManager& placed = *report.mutable_plan()->add_placement();
  placed.set_qm("PAYMENTS");
  placed.set_home("alpha");
  placed.set_standby("beta");
  placed.set_block_size_bytes(4096);
  placed.set_rate_per_second(100);
  placed.set_dir("/payments");
  EXPECT_EQ(Configured(report, "Placement"), "PAYMENTS: alpha, standby beta; 4 KiB, 100 writes/s; in /payments");
  EXPECT_EQ(Configured(report, "Write block size"), "");
}

TEST(TextReport, TheConfigurationBeginsWithTheChangeAndTheOperatorWhateverTheRunDoes) {
  for (const bool watch : {false, true}) {
    v1::Report report = LargeReport(1);
    if (watch) report.mutable_plan()->mutable_watch()->set_pid(1);
    EXPECT_EQ(Configured(report, "Change") + Configured(report, "Operator"), "") << "neither was given";
    report.mutable_plan()->set_change("CHG0012345\033[2J");
    report.mutable_plan()->set_operator_("J. Doe");
    const std::vector<ConfigurationRow> rows = ConfigurationRows(report);
    ASSERT_GE(rows.size(), 2U);
    EXPECT_EQ(rows[0].label + " " + rows[0].option, "Change --change");
    EXPECT_EQ(rows[1].label + " " + rows[1].option + " " + rows[1].value, "Operator --operator J. Doe");
    const std::string text = absl::StrJoin(TextHeading(report), "\n");
    EXPECT_THAT(text, ContainsRegex("\n  Change +--change +CHG0012345"));
    EXPECT_THAT(text, ContainsRegex("\n  Operator +--operator +J. Doe"));
    EXPECT_THAT(text, Not(HasSubstr("\033")));
  }
}

TEST(TextReport, TheTextLeavesOutRowsOfTheConfigurationThatThePageHas) {
  v1::Report report = LargeReport(1);
  report.mutable_plan()->set_seed(7);
  const std::string text = absl::StrJoin(TextHeading(report), "\n");
  for (const char* label : {"Criteria", "Stall threshold", "Seed", "Queue managers"}) {
    EXPECT_NE(Configured(report, label), "") << label;
    EXPECT_THAT(text, Not(HasSubstr(label)));
  }
  for (const ConfigurationRow& row : ConfigurationRows(report)) {
    EXPECT_NE(row.label, "") << row.value;
    if (row.text != ConfigurationRow::Text::kRow) continue;
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n  ", row.label, " "))) << text;
  }
}

TEST(TextReport, ABlankFollowsEachOptionOfTheConfigurationHoweverLong) {
  v1::Report report = LargeReport(1);
  for (v1::HostReport& host : *report.mutable_hosts()) host.mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  EXPECT_THAT(absl::StrJoin(TextHeading(report), "\n"), HasSubstr("--sync fdatasync "));
}

TEST(TextReport, TheVerdictComesFirstThenTheCriteriaByStepThenTheSummary) {
  const std::string text = RenderText(LargeReport(2));
  const std::vector<std::string> lines = LinesOf(text);
  EXPECT_EQ(lines[0], "Verdict   PASS");
  size_t last = 0;
  for (const char* next :
       {"\nCriteria, ", "\n  avg<10s    PASS       1", "\n  avg<10s    PASS       2", "\n  avg<10s    PASS       3",
        "\nSummary: ", "\nRun ", "\nConfiguration\n", "\nStep 1 of 3 ", "\nStep 3 of 3 ", "\nClocks", "\nHosts "}) {
    const size_t found = text.find(next);
    ASSERT_NE(found, std::string::npos) << next << "\n" << text;
    EXPECT_GT(found, last) << next;
    last = found;
  }
}

TEST(TextReport, StepsOfRoundsAreNotCalledTheLast) {
  v1::Report report = LargeReport(2);
  report.mutable_plan()->set_until_steady_ns(60 * kNsPerSecond);
  report.mutable_plan()->clear_block_size_bytes();
  report.mutable_plan()->add_block_size_bytes(4096);
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("\nStep 1, round 1   "));
  EXPECT_THAT(text, HasSubstr("\nStep 3, round 3   "));
}

TEST(TextReport, EachStepHasTheCriterionsWorstValueAndItsPlace) {
  v1::Report report = LargeReport(2);
  report.mutable_verdict()->clear_criteria();
  v1::CriterionReport& criterion = *report.mutable_verdict()->add_criteria();
  criterion.set_criterion("p99@qm<10ms");
  criterion.set_outcome(v1::OUTCOME_FAIL);
  for (uint32_t number = 1; number <= 3; ++number) {
    v1::CriterionStepReport& step = *criterion.add_steps();
    step.set_step(number);
    step.set_outcome(number == 2 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
    step.set_value_text(absl::StrCat(number, "1.000 ms"));
    step.set_kind(v1::SCOPE_KIND_QM);
    step.set_host("node11");
    step.set_qm(number);
  }
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("PASS       1   4 KiB |   11.000 ms  node11/qm1\n"));
  EXPECT_THAT(text, HasSubstr("FAIL       2  16 KiB |   21.000 ms  node11/qm2\n"));
  EXPECT_THAT(text, HasSubstr("PASS       3  64 KiB |   31.000 ms  node11/qm3\n"));
}

TEST(TextReport, ALargeRunShowsEveryHostAndQueueManager) {
  const v1::Report report = LargeReport(12);
  const std::string full = RenderText(report);
  EXPECT_THAT(full, Not(HasSubstr("3 best and 3 worst of")));
  // Two tables, each with every host and queue manager.
  for (int i = 0; i < 12; ++i) {
    const std::string name = absl::StrCat("node", 10 + i);
    const std::vector<std::string> rows = HostRows(full);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), name), 2) << name;
    for (const char* qm : {"1", "2"}) {
      EXPECT_THAT(full, HasSubstr(absl::StrCat("\n  ", name, "   ", qm, " "))) << name;
    }
  }
  // The heading, and a row for each of 24 queue managers, 12 hosts, their storage and the cluster, in three steps.
  EXPECT_THAT(LinesOf(RenderCsv(report)), SizeIs(1 + 3 * (24 + 12 + 1 + 1)));
}

// A host with a target rate that its writes keep, or miss.
v1::Report PacedReport(bool missed, const std::vector<std::string>& criteria) {
  SimRun run;
  run.duration_ns = kNsPerSecond;
  run.criteria = criteria;
  SimHost host;
  host.label = "alpha";
  host.rate_per_second = missed ? 100 : 40;
  host.steps = {{tests::Steady(run.duration_ns, 20 * kNsPerMs)}};
  run.hosts.push_back(host);
  v1::Report report = tests::Analyze(tests::MakeJournal(run));
  for (v1::ScopeReport& scope : *report.mutable_steps(0)->mutable_scopes()) {
    scope.mutable_rate()->set_held(!missed);
    scope.mutable_rate()->mutable_response()->set_p50_ns(77 * kNsPerMs);
  }
  return report;
}

TEST(TextReport, WithATargetRateTheResponseTimeIsAmongTheKeyFigures) {
  const std::string text = RenderText(PacedReport(false, {}));
  EXPECT_THAT(text, HasSubstr("Summary: all hosts, response time in ms"));
  // Key figures first, then the tables: the response time's before the service time's.
  EXPECT_LT(text.find("77.000"), text.find("Configuration"));
  EXPECT_LT(text.find("Response time, from the scheduled start"), text.find("Service time, of the write call"));
  EXPECT_THAT(RenderText(LargeReport(1)), Not(HasSubstr("esponse time")));
}

TEST(TextReport, WithoutCriteriaARunCompletedAndAMissedRateIsInTheVerdict) {
  EXPECT_THAT(RenderText(LargeReport(1)), StartsWith("Verdict   PASS\n"));
  EXPECT_THAT(RenderText(PacedReport(false, {})), StartsWith("Verdict   COMPLETED (no criteria)\n"));
  EXPECT_THAT(RenderText(PacedReport(true, {})),
              StartsWith("Verdict   COMPLETED (no criteria), target rate missed: 49.00 % of it in step 1,\n"));
  EXPECT_THAT(RenderText(PacedReport(true, {"max<1s"})), Not(HasSubstr("target rate missed: 49")));
}

TEST(BestAndWorst, AreByP99OfWhatCallersFeltAndOneWithoutAWriteIsTheWorst) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<v1::ScopeReport> scopes(random() % 30);
    std::vector<const v1::ScopeReport*> all;
    std::vector<uint64_t> order;
    for (v1::ScopeReport& scope : scopes) {
      scope.mutable_latency()->set_count(1);
      scope.mutable_latency()->set_p99_ns(random() % 1'000);
      uint64_t felt = scope.latency().p99_ns();
      if (random() % 2 == 0) {
        scope.mutable_rate()->mutable_response()->set_count(1);
        scope.mutable_rate()->mutable_response()->set_p99_ns(felt = random() % 1'000);
      }
      if (random() % 10 == 0) {
        scope.clear_rate();
        scope.clear_latency();
        felt = UINT64_MAX;
      }
      all.push_back(&scope);
      order.push_back(felt);
    }
    const std::vector<const v1::ScopeReport*> shown = BestAndWorst(all);
    if (all.size() <= 8) {
      EXPECT_EQ(shown, all);
      continue;
    }
    std::sort(order.begin(), order.end());
    ASSERT_THAT(shown, SizeIs(6));
    for (size_t i = 0; i < 6; ++i) {
      const v1::LatencyReport& felt = FeltLatency(*shown[i]);
      EXPECT_EQ(felt.count() == 0 ? UINT64_MAX : felt.p99_ns(), order[i < 3 ? i : order.size() - 6 + i]);
    }
  }
}

TEST(VerdictText, KeepsARemarkThatEndsWithTheDotOfAHostsName) {
  v1::VerdictReport verdict;
  verdict.set_outcome(v1::OUTCOME_DONE);
  verdict.set_remark("target rate missed: 20.00 % of it in step 1, node1.example.com.");
  EXPECT_THAT(VerdictText(verdict), HasSubstr(", target rate missed: 20.00 % of it in step 1, node1.example.com."));
  verdict.set_remark("The target rate is not demanded under disturbances.");
  EXPECT_THAT(VerdictText(verdict), Not(HasSubstr("target rate")));
}

}  // namespace
}  // namespace plimsoll
