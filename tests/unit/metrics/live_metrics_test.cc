// What a scrape shows follows from the records: at the end its counts are those of the report, and on the way there
// none of them goes back.
#include "controller/metrics/live_metrics.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/analysis/analyzer.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/metrics/parsed_metrics.h"

namespace plimsoll {
namespace {

using Samples = std::map<std::string, double>;

// Gives records to an analysis, and to the metrics, in the order in which a run does.
class MetricsRun {
 public:
  explicit MetricsRun(LiveMetrics& metrics) : metrics_(metrics) { metrics_.OnBegin(analyzer_); }

  void Add(const v1::JournalRecord& record) {
    metrics_.OnRecord(record);
    analyzer_.Add(record);
  }
  v1::Report Finish() { return analyzer_.Finish(); }

 private:
  LiveMetrics& metrics_;
  Analyzer analyzer_;
};

Samples Scrape(const LiveMetrics& metrics) {
  return tests::ParseMetrics(RenderMetrics(metrics.Snapshot()));
}

std::string OfWriter(const std::string& metric, const std::string& host, const std::string& qm,
                     const std::string& operation, const std::string& more = "") {
  return absl::StrCat(metric, "{host=\"", host, "\",qm=\"", qm, "\",operation=\"", operation, "\"", more, "}");
}

TEST(LiveMetrics, TheCountsAtTheEndAreThoseOfTheReport) {
  SimRun run = TwoHosts();
  run.warmup_ns = kNsPerSecond;
  run.block_sizes = {4096, 65536};
  for (SimHost& host : run.hosts) host.steps.push_back(host.steps.front());
  LiveMetrics metrics(/*of_parts=*/false);
  MetricsRun observed(metrics);
  for (const v1::JournalRecord& record : MakeJournal(run)) observed.Add(record);
  const v1::Report report = observed.Finish();
  Samples expected;
  std::map<std::string, uint64_t> sums_ns;
  ASSERT_EQ(report.steps_size(), 2);
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) {
      if (scope.kind() != v1::SCOPE_KIND_QM) continue;
      const std::string qm = absl::StrCat(scope.qm());
      expected[OfWriter("plimsoll_operations_total", scope.host(), qm, "write")] +=
          static_cast<double>(scope.latency().count());
      expected[OfWriter("plimsoll_operation_duration_seconds_count", scope.host(), qm, "write")] +=
          static_cast<double>(scope.latency().count());
      expected[OfWriter("plimsoll_operation_duration_seconds_bucket", scope.host(), qm, "write", ",le=\"+Inf\"")] +=
          static_cast<double>(scope.latency().count());
      expected[OfWriter("plimsoll_bytes_total", scope.host(), qm, "write")] +=
          static_cast<double>(scope.bytes() + scope.closing().bytes());
      sums_ns[OfWriter("plimsoll_operation_duration_seconds_sum", scope.host(), qm, "write")] +=
          scope.latency().sum_ns();
    }
  }
  ASSERT_THAT(expected, SizeIs(16));
  const Samples shown = Scrape(metrics);
  for (const auto& [sample, value] : expected) {
    ASSERT_TRUE(shown.contains(sample)) << sample;
    EXPECT_EQ(shown.at(sample), value) << sample;
    EXPECT_GT(value, 0) << sample;
  }
  for (const auto& [sample, ns] : sums_ns) EXPECT_DOUBLE_EQ(shown.at(sample), static_cast<double>(ns) / 1e9) << sample;
}

TEST(LiveMetrics, NoCountGoesBackFromOneRecordToTheNext) {
  SimRun run = TwoHosts();
  run.read_percent = 30;
  LiveMetrics metrics(/*of_parts=*/false);
  MetricsRun observed(metrics);
  Samples before;
  for (const v1::JournalRecord& record : MakeJournal(run)) {
    observed.Add(record);
    Samples now = Scrape(metrics);
    for (const auto& [sample, value] : before) {
      if (!absl::StrContains(sample, "_total") && !absl::StrContains(sample, "_seconds_")) continue;
      ASSERT_TRUE(now.contains(sample)) << sample;
      EXPECT_GE(now.at(sample), value) << sample;
    }
    before = std::move(now);
  }
  EXPECT_GT(before.at(OfWriter("plimsoll_operations_total", "alpha", "1", "read")), 0);
}

TEST(LiveMetrics, BucketsAreCumulativeAndEndWithTheCount) {
  LiveMetrics metrics(/*of_parts=*/false);
  MetricsRun observed(metrics);
  for (const v1::JournalRecord& record : MakeJournal(TwoHosts())) observed.Add(record);
  const std::string text = RenderMetrics(metrics.Snapshot());
  const Samples shown = tests::ParseMetrics(text);
  double before = 0;
  size_t buckets = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (!absl::StartsWith(line, "plimsoll_operation_duration_seconds_bucket{host=\"beta\",qm=\"2\"")) continue;
    const double value = shown.at(line.substr(0, line.rfind(' ')));
    EXPECT_GE(value, before) << line;
    before = value;
    ++buckets;
  }
  EXPECT_EQ(buckets, kBucketBoundsNs.size() + 1);
  EXPECT_EQ(before, shown.at(OfWriter("plimsoll_operation_duration_seconds_count", "beta", "2", "write")));
  for (const char* bound : {"0.0000625", "0.0005", "0.001", "0.002", "0.128", "8.192"}) {
    EXPECT_TRUE(shown.contains(OfWriter("plimsoll_operation_duration_seconds_bucket", "alpha", "1", "write",
                                        absl::StrCat(",le=\"", bound, "\""))))
        << bound;
  }
}

TEST(LiveMetrics, QueueManagersOfAPlacementHaveTheirNames) {
  LiveMetrics metrics(/*of_parts=*/false);
  MetricsRun observed(metrics);
  for (const v1::JournalRecord& record : MakeJournal(tests::Placement())) observed.Add(record);
  EXPECT_GT(Scrape(metrics).at(OfWriter("plimsoll_operations_total", "alpha", "PAYMENTS", "write")), 0);
  EXPECT_GT(Scrape(metrics).at(OfWriter("plimsoll_operation_response_seconds_count", "alpha", "PAYMENTS", "write")), 0);
}

TEST(LiveMetrics, AHostThatIsLostIsDown) {
  SimRun run = TwoHosts();
  run.hosts[1].lost_after_ns = kNsPerSecond;
  LiveMetrics metrics(/*of_parts=*/false);
  MetricsRun observed(metrics);
  bool was_up = false;
  for (const v1::JournalRecord& record : MakeJournal(run)) {
    observed.Add(record);
    const Samples now = Scrape(metrics);
    const auto up = now.find("plimsoll_host_up{host=\"beta\"}");
    was_up = was_up || (up != now.end() && up->second == 1);
  }
  EXPECT_TRUE(was_up);
  EXPECT_EQ(Scrape(metrics).at("plimsoll_host_up{host=\"beta\"}"), 0);
  EXPECT_EQ(Scrape(metrics).at("plimsoll_host_up{host=\"alpha\"}"), 1);
}

// A moment of the run, as the feed makes it.
std::shared_ptr<LiveMoment> MomentOf(LivePhase phase, uint32_t step, uint64_t stalls) {
  auto moment = std::make_shared<LiveMoment>();
  moment->phase = phase;
  moment->view.now.step = step;
  moment->view.stalls_so_far = stalls;
  return moment;
}

TEST(LiveMetrics, StallsAddUpOverTheStepsAndDoNotGoBackWhereTwoBecomeOne) {
  LiveMetrics metrics(/*of_parts=*/false);
  const auto stalls_at = [&](uint32_t step, uint64_t stalls) {
    metrics.OnMoment(MomentOf(LivePhase::kRunning, step, stalls));
    return Scrape(metrics).at("plimsoll_stalls_total");
  };
  EXPECT_EQ(stalls_at(1, 3), 3);
  EXPECT_EQ(stalls_at(1, 2), 3);
  EXPECT_EQ(stalls_at(2, 0), 3);
  EXPECT_EQ(stalls_at(2, 2), 5);
  EXPECT_EQ(Scrape(metrics).at("plimsoll_step"), 2);
}

TEST(LiveMetrics, ShowsThePhaseTheClockAndTheVerdict) {
  LiveMetrics metrics(/*of_parts=*/false);
  MetricsRun observed(metrics);
  for (const v1::JournalRecord& record : MakeJournal(TwoHosts())) observed.Add(record);
  const auto moment = MomentOf(LivePhase::kDraining, 1, 0);
  LiveHost& alpha = moment->view.now.hosts.emplace_back();
  alpha.label = "alpha";
  alpha.clock_error_ns = 40'000;
  metrics.OnMoment(moment);
  Samples now = Scrape(metrics);
  EXPECT_EQ(now.at("plimsoll_phase{phase=\"draining\"}"), 1);
  EXPECT_EQ(now.at("plimsoll_phase{phase=\"running\"}"), 0);
  EXPECT_DOUBLE_EQ(now.at("plimsoll_clock_error_bound_seconds{host=\"alpha\"}"), 4e-5);
  EXPECT_FALSE(now.contains("plimsoll_clock_error_bound_seconds{host=\"beta\"}"));
  EXPECT_EQ(now.at("plimsoll_verdict{outcome=\"pass\"}"), 0);
  v1::Report report;
  report.mutable_verdict()->set_outcome(v1::OUTCOME_PASS);
  metrics.OnReport(report);
  EXPECT_EQ(Scrape(metrics).at("plimsoll_verdict{outcome=\"pass\"}"), 1);
}

TEST(LiveMetrics, PartsOfAnAcceptanceAddUpAndHaveNoVerdict) {
  LiveMetrics metrics(/*of_parts=*/true);
  const std::string sample = OfWriter("plimsoll_operations_total", "alpha", "1", "write");
  double first = 0;
  for (int part = 1; part <= 2; ++part) {
    MetricsRun observed(metrics);
    for (const v1::JournalRecord& record : MakeJournal(TwoHosts())) observed.Add(record);
    metrics.OnReport(observed.Finish());
    if (part == 1) first = Scrape(metrics).at(sample);
  }
  EXPECT_EQ(Scrape(metrics).at(sample), 2 * first);
  EXPECT_EQ(Scrape(metrics).at("plimsoll_verdict{outcome=\"done\"}"), 0);
  metrics.SetOutcome(v1::OUTCOME_FAIL);
  EXPECT_EQ(Scrape(metrics).at("plimsoll_verdict{outcome=\"fail\"}"), 1);
}

}  // namespace
}  // namespace plimsoll
