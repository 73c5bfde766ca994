// The end result for a textfile collector.
#include <map>
#include <string>

#include "controller/accept/accept_report.h"
#include "controller/render/prometheus_text.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/metrics/parsed_metrics.h"

namespace plimsoll {
namespace {

TEST(ReportMetrics, HaveTheVerdictAndTheFiguresOfEachStep) {
  SimRun run = TwoHosts();
  run.criteria = {"p99<1s", "p99<1us"};
  const v1::Report report = tests::Analyze(MakeJournal(run));
  const std::map<std::string, double> shown = tests::ParseMetrics(RenderMetrics(report));
  EXPECT_EQ(shown.at("plimsoll_verdict{outcome=\"fail\"}"), 1);
  EXPECT_EQ(shown.at("plimsoll_verdict{outcome=\"pass\"}"), 0);
  EXPECT_EQ(shown.at("plimsoll_criterion_outcome{criterion=\"p99<1s\",outcome=\"pass\"}"), 1);
  EXPECT_EQ(shown.at("plimsoll_criterion_outcome{criterion=\"p99<1us\",outcome=\"fail\"}"), 1);
  const v1::ScopeReport& cluster = Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER);
  const std::string of_cluster = "{step=\"1\",scope=\"cluster\",operation=\"write\"";
  EXPECT_EQ(shown.at("plimsoll_step_operation_duration_seconds_count" + of_cluster + "}"),
            static_cast<double>(cluster.latency().count()));
  EXPECT_DOUBLE_EQ(shown.at("plimsoll_step_operation_duration_seconds" + of_cluster + ",quantile=\"0.99\"}"),
                   static_cast<double>(cluster.latency().p99_ns()) / 1e9);
  EXPECT_DOUBLE_EQ(shown.at("plimsoll_step_operations_per_second" + of_cluster + "}"), cluster.iops());
  EXPECT_EQ(shown.at("plimsoll_step_bytes{step=\"1\",scope=\"host\",host=\"beta\",operation=\"write\"}"),
            static_cast<double>(Scope(report.steps(0), v1::SCOPE_KIND_HOST, "beta").bytes() +
                                Scope(report.steps(0), v1::SCOPE_KIND_HOST, "beta").closing().bytes()));
  EXPECT_EQ(shown.at("plimsoll_step_stalls{step=\"1\"}"), static_cast<double>(report.steps(0).stalls().count()));
}

TEST(ReportMetrics, PercentilesThatAreNotKnownAreLeftOut) {
  v1::Report report;
  v1::ScopeReport& cluster = *report.add_steps()->add_scopes();
  cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
  cluster.mutable_latency()->set_count(100);
  cluster.mutable_latency()->add_thin("p99_9");
  const std::string text = RenderMetrics(report);
  EXPECT_THAT(text, HasSubstr("quantile=\"0.99\""));
  EXPECT_THAT(text, Not(HasSubstr("quantile=\"0.999\"")));
}

TEST(ReportMetrics, HostileTextsStayLabels) {
  v1::Report report;
  report.mutable_run()->set_name("a\"} 1\nplimsoll_verdict{outcome=\"pass\"} 1\\");
  const std::map<std::string, double> shown = tests::ParseMetrics(RenderMetrics(report));
  EXPECT_EQ(shown.at("plimsoll_verdict{outcome=\"pass\"}"), 0);
}

TEST(ReportMetrics, WithoutAVerdictNoOutcomeIsShown) {
  for (const auto& [sample, value] : tests::ParseMetrics(RenderUnfinishedMetrics())) EXPECT_EQ(value, 0) << sample;
  EXPECT_THAT(tests::ParseMetrics(RenderUnfinishedMetrics()), SizeIs(4));
}

TEST(ReportMetrics, AnAcceptanceHasItsPartsAndFigures) {
  v1::AcceptReport report;
  report.set_outcome(v1::OUTCOME_PASS);
  v1::AcceptRun& run = *report.add_runs();
  run.set_part(v1::ACCEPT_PART_LOAD);
  run.set_run(2);
  run.set_began(true);
  run.set_outcome(v1::OUTCOME_PASS);
  v1::AcceptFigure& figure = *report.add_figures();
  figure.set_part(v1::ACCEPT_PART_LOAD);
  figure.set_name("4 KiB, p99");
  figure.set_unit("ms");
  figure.add_values()->set_run(2);
  figure.mutable_values(0)->set_value(1.5);
  const std::map<std::string, double> shown = tests::ParseMetrics(RenderAcceptMetrics(report));
  EXPECT_EQ(shown.at("plimsoll_verdict{outcome=\"pass\"}"), 1);
  EXPECT_EQ(shown.at("plimsoll_accept_part_outcome{part=\"load\",run=\"2\",outcome=\"pass\"}"), 1);
  EXPECT_EQ(shown.at("plimsoll_accept_figure{part=\"load\",run=\"2\",figure=\"4 KiB, p99\",unit=\"ms\"}"), 1.5);
}

}  // namespace
}  // namespace plimsoll
