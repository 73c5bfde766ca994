// With a target rate the response times decide: what the report has of them by second, as a distribution, and write by
// write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

constexpr int64_t kLateWriteNs = 70 * kNsPerMs;

// Two hosts, the first of which is late with each write.
SimRun LateHostRun() {
  SimRun run = tests::TwoHosts(3 * kNsPerSecond);
  for (SimHost& host : run.hosts) host.rate_per_second = 500;
  run.hosts[0].schedule_lag_ns = kLateWriteNs;
  return run;
}

const v1::SeriesReport& SeriesOfHost(const google::protobuf::RepeatedPtrField<v1::SeriesReport>& all,
                                     const std::string& host) {
  return *std::find_if(all.begin(), all.end(), [&host](const v1::SeriesReport& series) {
    return series.host() == host && series.kind() == (host.empty() ? v1::SCOPE_KIND_CLUSTER : v1::SCOPE_KIND_HOST);
  });
}

TEST(ResponseTimes, AStepHasThemByScopeAndSecondBesideTheServiceTimes) {
  const v1::Report report = tests::Analyze(tests::MakeJournal(LateHostRun()));
  const v1::StepReport& step = report.steps(0);
  const v1::ResponseReport& response = step.response();
  EXPECT_EQ(response.series_size(), step.series_size());
  for (const char* host : {"", "alpha", "beta"}) {
    SCOPED_TRACE(host);
    const v1::SeriesReport& felt = SeriesOfHost(response.series(), host);
    const v1::SeriesReport& service = SeriesOfHost(step.series(), host);
    ASSERT_EQ(felt.second_size(), service.second_size());
    for (int row = 0; row < felt.second_size(); ++row) {
      EXPECT_EQ(felt.writes(row), service.writes(row));
      const uint64_t lag_ns = std::string(host) == "beta" ? 1'000 : kLateWriteNs;
      if (std::string(host).empty()) {
        EXPECT_GE(felt.latency_max_ns(row), lag_ns);
      } else {
        EXPECT_EQ(felt.latency_max_ns(row), service.latency_max_ns(row) + lag_ns);
        EXPECT_EQ(felt.latency_sum_ns(row), service.latency_sum_ns(row) + lag_ns * service.writes(row));
        if (service.p99_ns(row) > 0) {
          EXPECT_GT(felt.p99_ns(row), service.p99_ns(row));
        }
      }
    }
  }
  // The second in which the criterion fails shows it.
  EXPECT_GE(*std::max_element(SeriesOfHost(response.series(), "").latency_max_ns().begin(),
                              SeriesOfHost(response.series(), "").latency_max_ns().end()),
            ClusterOf(step)->rate().response().max_ns());
}

TEST(ResponseTimes, DistributionsHoldAllOfThem) {
  const v1::Report report = tests::Analyze(tests::MakeJournal(LateHostRun()));
  const v1::StepReport& step = report.steps(0);
  EXPECT_EQ(step.response().distributions_size(), step.distributions_size());
  for (const v1::DistributionReport& distribution : step.response().distributions()) {
    uint64_t count = 0;
    for (const uint64_t each : distribution.count()) count += each;
    for (const v1::ScopeReport& scope : step.scopes()) {
      if (scope.kind() != distribution.kind() || scope.host() != distribution.host()) continue;
      if (scope.kind() == v1::SCOPE_KIND_STORAGE) continue;
      EXPECT_EQ(count, scope.rate().response().count()) << scope.host();
    }
  }
  EXPECT_EQ(step.response().seconds().second_size(), step.seconds().second_size());
}

TEST(ResponseTimes, TheSlowestWritesAreThoseThatCallersWaitedForLongest) {
  const v1::Report report = tests::Analyze(tests::MakeJournal(LateHostRun()));
  const v1::StepReport& step = report.steps(0);
  ASSERT_THAT(step.response().slowest(), SizeIs(10));
  for (const v1::SlowestReport& write : step.response().slowest()) EXPECT_EQ(write.host(), "alpha");
  EXPECT_GT(step.response().slowest(0).response_ns(), static_cast<uint64_t>(kLateWriteNs));
  EXPECT_LT(step.slowest(0).latency_ns(), static_cast<uint64_t>(kLateWriteNs));
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("Slowest writes, by response time; times in ms"));
  EXPECT_THAT(text, HasSubstr("Slowest write (response time): 7"));
}

TEST(ResponseTimes, AClosedLoopHasNone) {
  const v1::Report report = tests::Analyze(tests::MakeJournal(tests::TwoHosts(3 * kNsPerSecond)));
  EXPECT_FALSE(report.steps(0).has_response());
  EXPECT_THAT(RenderText(report), HasSubstr("Slowest writes, by service time"));
}

TEST(ResponseTimes, OfOlderAgentsTheSlowestWritesAreThoseByServiceTime) {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(LateHostRun());
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames()) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      frame.clear_slow_responses();
      for (v1::WriteSample& write : *frame.mutable_slow()) write.clear_response_ns();
      frame.mutable_slowest()->clear_response_ns();
    }
  }
  const v1::Report report = tests::Analyze(records);
  EXPECT_THAT(report.steps(0).response().slowest(), IsEmpty());
  EXPECT_THAT(RenderText(report), HasSubstr("Slowest writes, by service time"));
  EXPECT_THAT(RenderText(report), HasSubstr("Slowest write (service time)"));
}

TEST(ResponseTimes, ASlowResponseThatIsNoneOfTheFramesIsRefused) {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(LateHostRun());
  const auto record = std::find_if(records.begin(), records.end(), [](const v1::JournalRecord& one) {
    return one.has_frames() && !one.frames().frames(0).slow_responses().empty();
  });
  ASSERT_NE(record, records.end());
  record->mutable_frames()->mutable_frames(0)->mutable_slow_responses(0)->set_response_ns(UINT64_MAX);
  EXPECT_THAT(tests::Analyze(records).verdict().reasons(),
              ::testing::Contains(HasSubstr("a slow write that is none of the frame's")));
}

}  // namespace
}  // namespace plimsoll
