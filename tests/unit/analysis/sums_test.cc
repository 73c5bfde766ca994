// Sums of a step: response times beyond 64 bits, and what is in flight at its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/histogram.h"
#include "controller/render/json.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

SimHost HostOf(const std::vector<tests::SimWriter>& writers, double rate_per_second = 0) {
  SimHost host;
  host.label = "alpha";
  host.steps.push_back(writers);
  host.rate_per_second = rate_per_second;
  return host;
}

// 64 writers are asked for 1,000 writes a second each and make 500: write k, from 0, is due after k ms and completes
// after 2 (k + 1) ms. Frames are of one second.
class TwiceTheCapacity {
 public:
  static constexpr uint32_t kWriters = 64;
  static constexpr uint64_t kPerSecond = 500;
  static constexpr uint64_t kUnit = kNsPerMs;

  explicit TwiceTheCapacity(int64_t seconds) : seconds_(seconds) {}

  v1::Report Report() {
    SimRun run;
    run.duration_ns = seconds_ * kNsPerSecond;
    run.interval_ns = kNsPerSecond;
    run.stall_ns = 0;
    run.hosts = {HostOf(std::vector<tests::SimWriter>(kWriters), 1000)};
    std::vector<v1::JournalRecord> records = MakeJournal(run);
    for (v1::JournalRecord& record : records) {
      if (record.has_step_begin()) start_ns_ = record.step_begin().host_start_ns(0);
      if (record.has_frames()) {
        for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) Fill(frame);
      }
      if (!record.has_step_done()) continue;
      for (v1::WriterTotals& totals : *record.mutable_step_done()->mutable_done()->mutable_writers()) Fill(totals);
    }
    return Analyze(records);
  }

  uint64_t writes() const { return kPerSecond * static_cast<uint64_t>(seconds_); }
  // Of one writer: completed writes take k + 2 ms, and those that were not started are 1 to writes() ms old.
  absl::uint128 response_sum_ns() const {
    const absl::uint128 n = writes();
    return (n * (n - 1) / 2 + 2 * n + n * (n + 1) / 2) * kUnit;
  }

 private:
  void Fill(v1::Frame& frame) const {
    const auto first = kPerSecond * static_cast<uint64_t>(frame.first_interval());
    Histogram latency;
    Histogram response;
    latency.RecordN(2 * kUnit, kPerSecond);
    for (uint64_t k = first; k < first + kPerSecond; ++k) response.Record((k + 2) * kUnit);
    *frame.mutable_latency() = latency.ToProto();
    *frame.mutable_response() = response.ToProto();
    frame.set_bytes(kPerSecond * 4096);
    frame.set_first_seq(first + 1);
    frame.set_last_end_ns(start_ns_ + (frame.first_interval() + 1) * kNsPerSecond);
  }

  void Fill(v1::WriterTotals& totals) const {
    totals.set_writes(writes());
    totals.set_bytes(writes() * 4096);
    totals.set_latency_sum_ns(writes() * 2 * kUnit);
    totals.set_latency_max_ns(2 * kUnit);
    if (ages_.count() == 0) {
      for (uint64_t age = 1; age <= writes(); ++age) ages_.Record(age * kUnit);
    }
    totals.set_not_issued(writes());
    *totals.mutable_not_issued_age() = ages_.ToProto();
  }

  int64_t seconds_;
  int64_t start_ns_ = 0;
  mutable Histogram ages_;
};

TEST(ResponseSums, OfWritersFarBehindTheirScheduleAreExactHoweverLargeTheyAre) {
  TwiceTheCapacity run(800);
  const v1::Report report = run.Report();
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  const absl::uint128 all_ns = TwiceTheCapacity::kWriters * run.response_sum_ns();
  ASSERT_GT(all_ns, absl::uint128(INT64_MAX)) << "else this shows nothing";
  const v1::ScopeReport& cluster = Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER);
  EXPECT_EQ(cluster.writes(), TwiceTheCapacity::kWriters * run.writes());
  EXPECT_DOUBLE_EQ(cluster.iops(), TwiceTheCapacity::kWriters * 500.0);
  EXPECT_FALSE(cluster.rate().held());
  EXPECT_EQ(cluster.rate().unserved(), TwiceTheCapacity::kWriters * run.writes());
  const v1::LatencyReport& response = cluster.rate().response();
  const uint64_t count = 2 * TwiceTheCapacity::kWriters * run.writes();
  EXPECT_EQ(response.count(), count);
  EXPECT_DOUBLE_EQ(response.avg_ns(), static_cast<double>(all_ns) / static_cast<double>(count));
  EXPECT_FALSE(response.has_sum_ns());
  EXPECT_THAT(RenderJson(response), HasSubstr("\"sum_ns\": null"));
  // One writer's stays within 63 bits.
  const v1::LatencyReport& one = Scope(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 64).rate().response();
  EXPECT_EQ(one.sum_ns(), absl::Uint128Low64(run.response_sum_ns()));
  EXPECT_THAT(RenderJson(one), Not(HasSubstr("null")));
}

// Three writers with writes of 400 ms: two are done within the second, the third is in flight when it ends.
TEST(ClosingWrites, AreInTheLatenciesButInNoRate) {
  SimRun run;
  run.block_sizes = {64 << 20};
  const tests::SimWriter writer = tests::Steady(run.duration_ns, 400 * kNsPerMs, 0);
  ASSERT_EQ(writer.size(), 3U);
  run.hosts = {HostOf({writer, writer, writer})};
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  struct Row {
    v1::ScopeKind kind;
    uint32_t qm;
    uint64_t writers;
  };
  for (const auto& [kind, qm, writers] :
       {Row{v1::SCOPE_KIND_QM, 1, 1}, Row{v1::SCOPE_KIND_HOST, 0, 3}, Row{v1::SCOPE_KIND_CLUSTER, 0, 3}}) {
    const std::string host = kind == v1::SCOPE_KIND_CLUSTER ? "" : "alpha";
    const v1::ScopeReport& scope = Scope(report.steps(0), kind, host, qm);
    EXPECT_EQ(scope.writes(), 2 * writers);
    EXPECT_EQ(scope.bytes(), 2 * writers * (64ULL << 20));
    EXPECT_DOUBLE_EQ(scope.iops(), static_cast<double>(2 * writers));
    EXPECT_DOUBLE_EQ(scope.mb_per_second(), static_cast<double>(2 * writers) * 67.108864);
    EXPECT_EQ(scope.latency().count(), 3 * writers);
    EXPECT_EQ(scope.latency().sum_ns(), 1'200'000'000 * writers);
    EXPECT_EQ(scope.closing().writes(), writers);
    EXPECT_EQ(scope.closing().bytes(), writers * (64ULL << 20));
    EXPECT_EQ(scope.closing().latency_sum_ns(), 400'000'000 * writers);
    EXPECT_EQ(scope.closing().latency_max_ns(), 400'000'000U);
    EXPECT_EQ(scope.closing().length_ns(), 200 * kNsPerMs);
    EXPECT_DOUBLE_EQ(scope.accounted_percent(), 100);
    EXPECT_THAT(Series(report.steps(0), kind, host, qm).writes(), ElementsAre(2 * writers, writers));
  }
}

TEST(ClosingWrites, DoNotMakeATargetRateHeld) {
  SimRun run;
  tests::SimWriter writer;
  for (int64_t i = 0; i < 97; ++i) writer.push_back({i * 10 * kNsPerMs, 9 * kNsPerMs});
  writer.push_back({970 * kNsPerMs, 60 * kNsPerMs});
  run.hosts = {HostOf({writer}, 100)};
  EXPECT_FALSE(Scope(Analyze(MakeJournal(run)).steps(0), v1::SCOPE_KIND_CLUSTER).rate().held());
}

}  // namespace
}  // namespace plimsoll
