// The text report as a whole: what comes first, what a large run shows, and that every line fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/render/csv.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_rows.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::SimHost;
using testing::SimRun;
using ::testing::SizeIs;
using ::testing::StartsWith;

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
  run.criteria = {"p99<10s"};
  for (int i = 0; i < hosts; ++i) {
    SimHost host;
    host.label = absl::StrCat("node", 10 + i);
    const int rank = (i * 5) % hosts;
    for (int step = 0; step < 3; ++step) {
      const int64_t latency_ns = 10 * kNsPerMs + rank * kNsPerMs;
      host.steps.push_back(
          {testing::Steady(run.duration_ns, latency_ns), testing::Steady(run.duration_ns, latency_ns)});
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
  return testing::Analyze(testing::MakeJournal(run));
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

TEST(TextReport, TheVerdictComesFirstThenTheCriteriaByStepThenTheSummary) {
  const std::string text = RenderText(LargeReport(2));
  const std::vector<std::string> lines = LinesOf(text);
  EXPECT_EQ(lines[0], "Verdict   PASS");
  size_t last = 0;
  for (const char* next :
       {"\nCriteria, ", "\n  p99<10s    PASS       1", "\n  p99<10s    PASS       2", "\n  p99<10s    PASS       3",
        "\nSummary: ", "\nRun ", "\nConfiguration\n", "\nStep 1 of 3 ", "\nStep 3 of 3 ", "\nClocks", "\nHosts "}) {
    const size_t found = text.find(next);
    ASSERT_NE(found, std::string::npos) << next << "\n" << text;
    EXPECT_GT(found, last) << next;
    last = found;
  }
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

TEST(TextReport, ALargeRunShowsTheBestAndTheWorstUnlessAllAreAskedFor) {
  const v1::Report report = LargeReport(12);
  const std::string brief = RenderText(report);
  EXPECT_LE(LinesOf(brief).size(), 120U) << brief;
  // By rank: 0, 5, 10 are the first three multiples of 5 modulo 12 that are smallest.
  std::vector<std::string> expected;
  for (const int rank : {0, 1, 2, 9, 10, 11}) {
    for (int i = 0; i < 12; ++i) {
      if ((i * 5) % 12 == rank) expected.push_back(absl::StrCat("node", 10 + i));
    }
  }
  EXPECT_EQ(HostRows(brief), expected);
  EXPECT_THAT(brief, HasSubstr("3 best and 3 worst of 12 hosts, by p99 of the service time"));
  EXPECT_THAT(brief, HasSubstr("3 best and 3 worst of 24 queue managers, by p99 of the service time"));
  EXPECT_THAT(brief, HasSubstr("\n  cluster  all"));

  const std::string full = RenderText(report, 0, TextDetail::kFull);
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

TEST(TextReport, EightHostsAreAllShown) {
  const std::string text = RenderText(LargeReport(4));
  EXPECT_THAT(text, Not(HasSubstr("best and")));
  EXPECT_THAT(HostRows(text), SizeIs(2 * 4));
}

// A host with a target rate that its writes keep, or miss.
v1::Report PacedReport(bool missed, const std::vector<std::string>& criteria) {
  SimRun run;
  run.duration_ns = kNsPerSecond;
  run.criteria = criteria;
  SimHost host;
  host.label = "alpha";
  host.rate_per_second = missed ? 100 : 40;
  host.steps = {{testing::Steady(run.duration_ns, 20 * kNsPerMs)}};
  run.hosts.push_back(host);
  v1::Report report = testing::Analyze(testing::MakeJournal(run));
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
              StartsWith("Verdict   COMPLETED (no criteria), target rate missed in step 1: 50.00 of 100\n"));
  EXPECT_THAT(RenderText(PacedReport(true, {"max<1s"})), Not(HasSubstr("target rate missed in step")));
}

// Reports as no run makes them, but within what figures can be.
class RandomReport {
 public:
  explicit RandomReport(uint64_t seed) : random_(seed) {}

  v1::Report Make() {
    v1::Report report;
    report.mutable_run()->set_id("7f3a21");
    report.mutable_run()->set_name(Name());
    report.mutable_run()->set_state(static_cast<v1::RunState>(1 + Below(4)));
    report.mutable_run()->set_state_reason(Name());
    const uint64_t hosts = 1 + Below(Below(3) == 0 ? 60 : 10);
    const uint64_t qms = 1 + Below(6);
    report.mutable_run()->set_hosts(static_cast<uint32_t>(hosts));
    report.mutable_run()->set_queue_managers(static_cast<uint32_t>(hosts * qms));
    const std::string common = Name();
    for (uint64_t i = 0; i < hosts; ++i) {
      v1::HostReport& host = *report.add_hosts();
      host.set_label(absl::StrCat(common, i, Below(2) == 0 ? Name() : ".example.org"));
      host.set_address(Name());
      host.mutable_workload()->set_dir("/" + Name());
      host.mutable_mount()->set_fs_type("nfs4");
      host.mutable_mount()->set_fs_source(Name());
      host.mutable_mount()->set_mount_options(Name());
      host.mutable_clock()->set_probes(Below(2));
      host.mutable_clock()->set_error_ns(TimeNs());
      host.mutable_clock()->set_wall_clock_difference_ns(-TimeNs());
      if (Below(5) == 0) host.mutable_lost()->set_reason(Name());
      hosts_.push_back(host.label());
    }
    const uint64_t steps = 1 + Below(12);
    const bool paced = Below(2) == 0;
    for (uint64_t i = 0; i < steps; ++i) {
      report.mutable_plan()->add_block_size_bytes(4096);
      AddStep(static_cast<uint32_t>(i + 1), static_cast<uint32_t>(qms), paced, *report.add_steps());
    }
    AddVerdict(static_cast<uint32_t>(steps), *report.mutable_verdict());
    for (uint64_t i = Below(20); i > 0; --i) report.add_notes(Name() + " " + Name());
    return report;
  }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  int64_t TimeNs() { return static_cast<int64_t>(Below(100'000'000'000) >> Below(30)); }

  std::string Name() {
    static const std::vector<std::string> kParts = {
        "node", "a", "logger-7", "\u65e5\u672c", "\u00e4", ".", "\x1b[31m", "datacentre", " ", "0"};
    std::string name;
    for (uint64_t i = 1 + Below(20); i > 0; --i) name += kParts[Below(kParts.size())];
    return name;
  }

  void SetLatency(v1::LatencyReport& latency) {
    latency.set_count(Below(20) == 0 ? 0 : 1 + Below(1'000'000));
    std::vector<uint64_t> times;
    for (int i = 0; i < 7; ++i) times.push_back(static_cast<uint64_t>(TimeNs()));
    std::sort(times.begin(), times.end());
    latency.set_min_ns(times[0]);
    latency.set_p50_ns(times[1]);
    latency.set_avg_ns(static_cast<double>(times[2]));
    latency.set_wavg_ns(static_cast<double>(times[1]));
    latency.set_p90_ns(times[3]);
    latency.set_p99_ns(times[4]);
    latency.set_p99_9_ns(times[5]);
    latency.set_p99_99_ns(times[5]);
    latency.set_max_ns(times[6]);
    if (Below(4) == 0) latency.add_thin("p99_9");
  }

  void AddScope(v1::ScopeKind kind, const std::string& host, uint32_t qm, bool paced, v1::StepReport& step) {
    v1::ScopeReport& scope = *step.add_scopes();
    scope.set_kind(kind);
    scope.set_host(host);
    scope.set_qm(qm);
    scope.set_writes(Below(1'000'000'000));
    scope.set_bytes(scope.writes() * 4096);
    scope.set_iops(static_cast<double>(Below(1'000'000)));
    scope.set_mb_per_second(static_cast<double>(Below(20'000'000)) / 1'000);
    SetLatency(*scope.mutable_latency());
    scope.mutable_bandwidth()->set_seconds(1);
    scope.mutable_bandwidth()->set_max_bytes_per_second(Below(20'000'000'000));
    if (paced) {
      scope.mutable_rate()->set_asked_iops(static_cast<double>(Below(1'000'000)));
      scope.mutable_rate()->set_held(Below(2) == 0);
      scope.mutable_rate()->set_unserved(Below(10'000'000));
      scope.mutable_rate()->set_max_behind_ns(static_cast<uint64_t>(TimeNs()));
      SetLatency(*scope.mutable_rate()->mutable_response());
    }
    if (kind == v1::SCOPE_KIND_CLUSTER) SetSlowest(*scope.mutable_slowest());
  }

  void SetSlowest(v1::SlowestReport& slowest) {
    slowest.set_host(hosts_[Below(hosts_.size())]);
    slowest.set_qm(1 + static_cast<uint32_t>(Below(6)));
    slowest.set_number(Below(1'000'000'000));
    slowest.set_extent(static_cast<uint32_t>(Below(100)));
    slowest.set_offset_bytes(Below(1'000'000'000));
    slowest.mutable_start()->set_seconds(static_cast<int64_t>(1'795'402'411 + Below(100'000)));
    slowest.set_error_ns(TimeNs());
    slowest.set_latency_ns(static_cast<uint64_t>(TimeNs()));
  }

  void AddStep(uint32_t number, uint32_t qms, bool paced, v1::StepReport& step) {
    step.set_number(number);
    step.set_block_size_bytes(uint64_t{512} << Below(12));
    if (Below(4) == 0) step.set_cut_short(Name());
    for (const std::string& host : hosts_) {
      for (uint32_t qm = 1; qm <= qms; ++qm) AddScope(v1::SCOPE_KIND_QM, host, qm, paced, step);
      AddScope(v1::SCOPE_KIND_HOST, host, 0, paced, step);
    }
    AddScope(v1::SCOPE_KIND_CLUSTER, "", 0, paced, step);
    for (int i = 0; i < 10; ++i) SetSlowest(*step.add_slowest());
    step.mutable_trend()->set_stretch_ns(1'000'000'000);
    step.mutable_stalls()->set_threshold_ns(100'000'000);
    for (uint64_t i = Below(20); i > 0; --i) {
      v1::StallReport& stall = *step.mutable_stalls()->add_stalls();
      stall.set_stall_class(static_cast<v1::StallClass>(1 + Below(7)));
      stall.set_length_ns(TimeNs());
      stall.set_error_ns(TimeNs());
      stall.set_open(Below(2) == 0);
      stall.mutable_begin()->set_seconds(static_cast<int64_t>(1'795'402'411 + Below(1'000'000)));
      for (uint64_t host = 0; host < 1 + Below(hosts_.size()); ++host) stall.add_hosts(hosts_[host]);
      for (uint64_t writer = Below(16); writer > 0; --writer) stall.add_writers()->set_writes(Below(100'000));
      step.mutable_stalls()->set_count(step.stalls().count() + 1);
    }
    for (const std::string& host : hosts_) {
      v1::HostLoadReport& load = *step.add_load();
      load.set_host(host);
      load.set_agent_cpu_percent(static_cast<double>(Below(6'400)) / 10);
      load.set_recorder_late_max_ns(static_cast<uint64_t>(TimeNs()));
      load.set_pauses(static_cast<uint32_t>(Below(2)));
      load.set_paused_ns(TimeNs());
      if (Below(2) == 0) load.set_bottleneck(Name());
      load.mutable_disk()->set_device(Name());
      load.mutable_disk()->set_writes(Below(1'000'000));
      load.mutable_disk()->set_write_ms(static_cast<double>(TimeNs()) / 1e6);
      load.mutable_nfs()->mutable_write()->set_operations(Below(100'000'000));
      load.mutable_nfs()->mutable_write()->set_execute_ms(static_cast<double>(TimeNs()) / 1e6);
      load.mutable_nfs()->mutable_commit()->set_operations(Below(2));
    }
  }

  void AddVerdict(uint32_t steps, v1::VerdictReport& verdict) {
    verdict.set_outcome(static_cast<v1::Outcome>(1 + Below(4)));
    for (uint64_t i = Below(4); i > 0; --i) {
      v1::CriterionReport& criterion = *verdict.add_criteria();
      criterion.set_criterion(absl::StrCat("p99.99@64k:storage", std::string(Below(60), '9'), "<10ms"));
      criterion.set_outcome(static_cast<v1::Outcome>(1 + Below(3)));
      if (Below(2) == 0) criterion.set_reason(Name());
      for (uint32_t number = 1; number <= steps; ++number) {
        v1::CriterionStepReport& step = *criterion.add_steps();
        step.set_step(number);
        step.set_outcome(static_cast<v1::Outcome>(1 + Below(3)));
        step.set_value_text(absl::StrCat(Below(1'000'000'000), " writes/s"));
        step.set_kind(v1::SCOPE_KIND_QM);
        step.set_host(hosts_[Below(hosts_.size())]);
        step.set_qm(1);
      }
    }
    for (uint64_t i = Below(15); i > 0; --i) verdict.add_reasons(Name());
  }

  std::mt19937_64 random_;
  std::vector<std::string> hosts_;
};

TEST(TextReportProperty, NoLineIsWiderThanEightyColumnsNorCutAndTheVerdictIsFirst) {
  const uint64_t seed = std::random_device()();
  for (uint64_t round = 0; round < 60; ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, " round ", round));
    const v1::Report report = RandomReport(seed + round).Make();
    EXPECT_LE(TextSummary(report, TextDetail::kShort).size(), 15U);
    for (const TextDetail detail : {TextDetail::kShort, TextDetail::kFull}) {
      const std::string text = RenderText(report, 40, detail);
      EXPECT_THAT(text, StartsWith("Verdict   "));
      for (const std::string& line : LinesOf(text)) {
        ASSERT_LE(DisplayWidth(line), 80) << line;
        ASSERT_FALSE(line.ends_with("\u2026")) << line;
        ASSERT_EQ(line.find('\x1b'), std::string::npos) << line;
      }
    }
  }
}

TEST(BestAndWorst, AreByP99OfWhatCallersFeltAndOneWithoutAWriteIsTheWorst) {
  const uint64_t seed = std::random_device()();
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

}  // namespace
}  // namespace plimsoll
