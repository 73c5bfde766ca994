// Reports of runs that read: reads beside the writes, or in place of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/protocol.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/live_stats.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

constexpr int64_t kMixedReadNs = 400'000;
constexpr int64_t kMixedWriteNs = 900'000;
// Place of the reads where no part of a write is measured.
constexpr uint32_t kMixedRead = 1;

// Time of an operation by its number: reads take 400 to 406 us, writes 900 to 906 us.
int64_t MixedNs(const SimRun& run, const SimHost& host, uint64_t number) {
  return (IsRead(run, host, number) ? kMixedReadNs : kMixedWriteNs) + static_cast<int64_t>(number % 7) * 1'000;
}

// Gives the writers of the run operations with a microsecond between them.
void MakeOperations(SimRun& run) {
  for (SimHost& host : run.hosts) {
    for (tests::SimWriter& writer : host.steps[0]) {
      writer = tests::ClosedLoop(
          run.duration_ns, 1'000, [&run, &host](uint64_t number, int64_t) { return MixedNs(run, host, number); },
          run.warmup_ns);
    }
  }
}

// Run of alpha and beta in which 30 of each hundred operations of a writer read.
SimRun MixedRun(std::vector<std::string> criteria = {}) {
  SimRun run = tests::TwoHosts();
  run.read_percent = 30;
  run.criteria = std::move(criteria);
  MakeOperations(run);
  return run;
}

// Mixed run whose writers start 500 operations a second, each a millisecond after its scheduled start.
SimRun PacedMixedRun(std::vector<std::string> criteria) {
  SimRun run = MixedRun(std::move(criteria));
  for (SimHost& host : run.hosts) {
    host.rate_per_second = 500;
    host.schedule_lag_ns = kNsPerMs;
    for (tests::SimWriter& writer : host.steps[0]) {
      writer.clear();
      for (int64_t due_ns = 0; due_ns < run.duration_ns; due_ns += 2 * kNsPerMs) {
        writer.push_back({due_ns + host.schedule_lag_ns, MixedNs(run, host, writer.size() + 1)});
      }
    }
  }
  return run;
}

// Counts of the writes, or of the reads, of one writer.
struct MixedCounts {
  // Operations that completed within the measured time, were in flight at its end, or belong to the warm-up.
  uint64_t completed = 0;
  uint64_t closing = 0;
  uint64_t warmup = 0;
  // Sum and maximum of the latencies, without the warm-up.
  uint64_t sum_ns = 0;
  uint64_t max_ns = 0;
};

MixedCounts CountsOf(const SimRun& run, const SimHost& host, uint32_t qm, bool reads) {
  MixedCounts counts;
  for (const tests::SimWrite& one : OperationsOf(run, host, 0, qm, reads)) {
    if (one.end_ns() < 0) {
      ++counts.warmup;
      continue;
    }
    ++(one.end_ns() < run.duration_ns ? counts.completed : counts.closing);
    counts.sum_ns += static_cast<uint64_t>(one.latency_ns);
    counts.max_ns = std::max(counts.max_ns, static_cast<uint64_t>(one.latency_ns));
  }
  return counts;
}

TEST(ReadsReport, ReadsHaveFiguresOfTheirOwnBesideThoseOfTheWrites) {
  SimRun run = MixedRun();
  run.warmup_ns = 300 * kNsPerMs;
  run.hosts[0].clock_ahead_ns = 77 * kNsPerSecond;
  run.hosts[1].coalesce = 3;
  MakeOperations(run);
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE);
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  const v1::StepReport& step = report.steps(0);
  ASSERT_EQ(step.operations_size(), 1);
  const v1::OperationReport& read = OperationOf(step, "read");
  uint64_t all_writes = 0;
  uint64_t all_reads = 0;
  uint64_t all_read_ns = 0;
  for (const SimHost& host : run.hosts) {
    for (const uint32_t qm : {1U, 2U}) {
      SCOPED_TRACE(host.label + "/qm" + std::to_string(qm));
      const MixedCounts writes = CountsOf(run, host, qm, /*reads=*/false);
      const MixedCounts reads = CountsOf(run, host, qm, /*reads=*/true);
      ASSERT_GT(reads.completed, 700U);
      EXPECT_GT(reads.warmup, 100U);
      EXPECT_EQ(writes.closing + reads.closing, 1U);
      const v1::ScopeReport& scope = Scope(step, v1::SCOPE_KIND_QM, host.label, qm);
      EXPECT_EQ(scope.writes(), writes.completed);
      EXPECT_EQ(scope.bytes(), writes.completed * 4096);
      EXPECT_EQ(scope.closing().writes(), writes.closing);
      EXPECT_EQ(scope.warmup_writes(), writes.warmup);
      EXPECT_EQ(scope.latency().count(), writes.completed + writes.closing);
      EXPECT_EQ(scope.latency().sum_ns(), writes.sum_ns);
      EXPECT_EQ(scope.latency().max_ns(), writes.max_ns);
      EXPECT_NEAR(scope.accounted_percent(), 100, 1e-6);
      const v1::OperationScopeReport* const own = FindScope(read, scope);
      ASSERT_NE(own, nullptr);
      EXPECT_EQ(own->throughput().count(), reads.completed);
      EXPECT_EQ(own->throughput().bytes(), reads.completed * 4096);
      EXPECT_NEAR(own->throughput().iops(), static_cast<double>(reads.completed) / 2, 1e-9);
      EXPECT_NEAR(own->throughput().mb_per_second(), static_cast<double>(reads.completed) * 4096 / 2 / 1e6, 1e-9);
      EXPECT_EQ(own->latency().count(), reads.completed + reads.closing);
      EXPECT_EQ(own->latency().sum_ns(), reads.sum_ns);
      EXPECT_EQ(own->latency().max_ns(), reads.max_ns);
      EXPECT_EQ(own->slowest().latency_ns(), reads.max_ns);
      EXPECT_EQ(own->warmup_count(), reads.warmup);
      EXPECT_FALSE(own->has_response()) << "a closed loop";
      all_writes += writes.completed;
      all_reads += reads.completed;
      all_read_ns += reads.sum_ns;
    }
  }
  const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
  const v1::OperationScopeReport* const reads = FindScope(read, cluster);
  ASSERT_NE(reads, nullptr);
  EXPECT_EQ(cluster.writes(), all_writes);
  EXPECT_EQ(reads->throughput().count(), all_reads);
  EXPECT_EQ(reads->latency().sum_ns(), all_read_ns);
  uint64_t of_hosts = 0;
  for (const v1::OperationScopeReport& host : OfKind(read.scopes(), v1::SCOPE_KIND_HOST)) {
    of_hosts += host.throughput().count();
  }
  EXPECT_EQ(of_hosts, all_reads);
  const v1::SeriesReport* const series = ClusterOf(read.series());
  ASSERT_NE(series, nullptr);
  uint64_t in_rows = 0;
  for (const uint64_t row : series->writes()) in_rows += row;
  EXPECT_EQ(in_rows, reads->latency().count());
}

TEST(ReadsReport, AReadInFlightAtTheEndIsAmongTheReads) {
  SimRun run = MixedRun();
  // The last operation of each writer is a read.
  run.duration_ns = OperationsOf(run, run.hosts[0], 0, 1, /*reads=*/true).back().start_ns + 1;
  MakeOperations(run);
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  const v1::StepReport& step = report.steps(0);
  for (const v1::ScopeReport& scope : step.scopes()) {
    const v1::OperationScopeReport* const reads = FindScope(OperationOf(step, "read"), scope);
    ASSERT_NE(reads, nullptr);
    const uint64_t writers = scope.kind() == v1::SCOPE_KIND_QM ? 1 : scope.kind() == v1::SCOPE_KIND_CLUSTER ? 4 : 2;
    EXPECT_EQ(reads->latency().count(), reads->throughput().count() + writers);
    EXPECT_EQ(scope.closing().writes(), 0U);
    EXPECT_EQ(scope.latency().count(), scope.writes());
    EXPECT_NEAR(scope.accounted_percent(), 100, 1e-6);
  }
}

TEST(ReadsReport, ReadsAreNoPartsOfWrites) {
  SimRun run = MixedRun();
  const v1::Report without = Analyze(MakeJournal(run));
  for (SimHost& host : run.hosts) host.sync_ns = [](uint64_t) { return 700'000; };
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  v1::StepReport step = report.steps(0);
  ASSERT_EQ(step.operations_size(), 3);
  EXPECT_EQ(step.operations(2).name(), "read");
  EXPECT_EQ(step.operations(2).SerializeAsString(), without.steps(0).operations(0).SerializeAsString());
  for (const v1::ScopeReport& scope : step.scopes()) {
    const v1::OperationScopeReport* const sync = FindScope(OperationOf(step, "sync"), scope);
    ASSERT_NE(sync, nullptr);
    EXPECT_EQ(sync->latency().count(), scope.latency().count());
    EXPECT_FALSE(sync->has_throughput());
  }
  // The writes are as they were.
  step.clear_operations();
  v1::StepReport writes = without.steps(0);
  writes.clear_operations();
  EXPECT_EQ(step.SerializeAsString(), writes.SerializeAsString());
}

TEST(ReadsReport, ACriterionOfReadsIsAboutThemAlone) {
  // Each of four writers makes some 398 reads and 928 writes a second.
  const std::vector<std::pair<std::string, v1::Outcome>> wanted = {
      {"read_p50<410us", v1::OUTCOME_PASS},    {"read_p50<390us", v1::OUTCOME_FAIL},
      {"read_max<500us", v1::OUTCOME_PASS},    {"read_avg@cluster<400us", v1::OUTCOME_FAIL},
      {"read_iops>=1500", v1::OUTCOME_PASS},   {"read_iops>=2000", v1::OUTCOME_FAIL},
      {"read_iops@qm>=350", v1::OUTCOME_PASS}, {"read_mbps>=6", v1::OUTCOME_PASS},
      {"read_mbps@host>=6", v1::OUTCOME_FAIL}, {"p50<800us", v1::OUTCOME_FAIL},
      {"min>=900us", v1::OUTCOME_PASS},        {"iops>=3500", v1::OUTCOME_PASS},
      {"iops>=4000", v1::OUTCOME_FAIL},
  };
  std::vector<std::string> criteria;
  for (const auto& [criterion, outcome] : wanted) criteria.push_back(criterion);
  const v1::Report report = Analyze(MakeJournal(MixedRun(criteria)));
  for (const auto& [criterion, outcome] : wanted) EXPECT_EQ(OutcomeOf(report, criterion), outcome) << criterion;
}

// A live view after the last frame shows reads as the report does.
TEST(ReadsReport, LiveFiguresOfReadsAreThoseOfTheReport) {
  const std::vector<std::string> criteria = {"read_p50<1s",  "read_max@host<1us", "read_avg<1us",
                                             "read_iops>=1", "read_mbps>=1000",   "max<1us"};
  Analyzer analyzer;
  std::vector<LiveCriterion> live;
  for (const v1::JournalRecord& record : MakeJournal(MixedRun(criteria))) {
    // The run has one step.
    if (record.has_step_end()) live = analyzer.LiveCriteria();
    analyzer.Add(record);
  }
  const v1::Report report = analyzer.Finish();
  ASSERT_THAT(live, SizeIs(criteria.size()));
  for (size_t i = 0; i < live.size(); ++i) {
    const v1::CriterionReport& reported = report.verdict().criteria(static_cast<int>(i));
    EXPECT_EQ(live[i].text, reported.criterion());
    EXPECT_EQ(live[i].value, reported.value_text()) << live[i].text;
    EXPECT_NE(live[i].value, "") << live[i].text;
    EXPECT_EQ(live[i].state, reported.outcome() == v1::OUTCOME_PASS ? LiveState::kPassing : LiveState::kFailing)
        << live[i].text;
  }
}

TEST(ReadsReport, ATargetRateIsThatOfReadsAndWritesTogether) {
  const SimRun run = PacedMixedRun({"rate_achieved>=100%", "read_p50<1ms", "read_p50<2ms", "p50<1ms"});
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  // By response times: each operation starts a millisecond late.
  EXPECT_EQ(OutcomeOf(report, "rate_achieved>=100%"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "read_p50<1ms"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "read_p50<2ms"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "p50<1ms"), v1::OUTCOME_FAIL);
  const v1::StepReport& step = report.steps(0);
  for (const SimHost& host : run.hosts) {
    for (const uint32_t qm : {1U, 2U}) {
      SCOPED_TRACE(host.label + "/qm" + std::to_string(qm));
      const v1::ScopeReport& scope = Scope(step, v1::SCOPE_KIND_QM, host.label, qm);
      EXPECT_EQ(scope.writes(), 700U);
      EXPECT_NEAR(scope.rate().asked_iops(), 500, 1e-9);
      EXPECT_TRUE(scope.rate().held());
      EXPECT_EQ(scope.rate().response().count(), 700U);
      EXPECT_NEAR(scope.accounted_percent(), 100, 1e-6);
      const v1::OperationScopeReport* const reads = FindScope(OperationOf(step, "read"), scope);
      ASSERT_NE(reads, nullptr);
      EXPECT_EQ(reads->throughput().count(), 300U);
      EXPECT_NEAR(reads->throughput().iops(), 150, 1e-9);
      EXPECT_EQ(reads->response().count(), 300U);
      EXPECT_EQ(reads->response().max_ns(), reads->latency().max_ns() + static_cast<uint64_t>(kNsPerMs));
    }
  }
}

TEST(ReadsReport, OperationsThatWereNotIssuedAreAmongTheWritesOrTheReadsWhicheverTheyWouldHaveBeen) {
  for (const auto& [writes, reads] : {std::pair{3U, 0U}, {0U, 5U}, {3U, 5U}}) {
    SCOPED_TRACE(std::to_string(writes) + " writes, " + std::to_string(reads) + " reads");
    SimRun run = PacedMixedRun({"max<500ms", "read_max<500ms", "not_issued<=2"});
    run.hosts[0].not_issued = writes;
    run.hosts[0].reads_not_issued = reads;
    const v1::Report report = Analyze(MakeJournal(run));
    EXPECT_THAT(report.verdict().reasons(), IsEmpty());
    const v1::StepReport& step = report.steps(0);
    const v1::ScopeReport& scope = Scope(step, v1::SCOPE_KIND_QM, "alpha", 1);
    EXPECT_EQ(scope.rate().unserved(), writes + reads);
    EXPECT_EQ(scope.rate().max_behind_writes(), writes + reads);
    EXPECT_EQ(scope.rate().max_behind_ns(), static_cast<uint64_t>(run.hosts[0].not_issued_age_ns));
    EXPECT_EQ(scope.rate().response().count(), 700U + writes);
    const v1::OperationScopeReport* const own = FindScope(OperationOf(step, "read"), scope);
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(own->response().count(), 300U + reads);
    // They were due a second before the end.
    EXPECT_EQ(OutcomeOf(report, "max<500ms"), writes > 0 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
    EXPECT_EQ(OutcomeOf(report, "read_max<500ms"), reads > 0 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
    // The cluster has the operations of two writers.
    EXPECT_EQ(Scope(step, v1::SCOPE_KIND_CLUSTER).rate().unserved(), 2 * (writes + reads));
    EXPECT_EQ(report.verdict().criteria(2).value_text(), std::to_string(2 * (writes + reads)) + " operations");
  }
}

// Whether a frame, or totals, are of the reads of qm1.
template <typename Part>
bool IsOfFirstReads(const Part& part) {
  return part.qm() == 1 && part.operation() == kMixedRead;
}

// Returns the journal without alpha/qm1's totals of reads; with `frames` also without the frames of its reads.
std::vector<v1::JournalRecord> WithoutFirstReads(const SimRun& run, bool frames) {
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (frames && record.has_frames() && record.frames().host() == 0) {
      auto& all = *record.mutable_frames()->mutable_frames();
      all.erase(std::remove_if(all.begin(), all.end(), IsOfFirstReads<v1::Frame>), all.end());
    }
    if (record.has_step_done() && record.step_done().host() == 0) {
      auto& all = *record.mutable_step_done()->mutable_done()->mutable_writers();
      all.erase(std::remove_if(all.begin(), all.end(), IsOfFirstReads<v1::WriterTotals>), all.end());
    }
  }
  return records;
}

TEST(ReadsReport, ReadsThatAreMissingLeaveTheTargetRateUndecided) {
  const SimRun run = PacedMixedRun({"rate_achieved>=99%"});
  std::vector<v1::JournalRecord> refused = MakeJournal(run);
  int changed = 0;
  for (v1::JournalRecord& record : refused) {
    if (!record.has_frames() || record.frames().host() != 0) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (!IsOfFirstReads(frame) || frame.first_interval() != 2) continue;
      frame.set_bytes(frame.bytes() + 1);
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1);
  for (const std::vector<v1::JournalRecord>& records : {refused, WithoutFirstReads(run, /*frames=*/true)}) {
    const v1::Report report = Analyze(records);
    EXPECT_EQ(report.verdict().criteria(0).outcome(), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_THAT(report.verdict().criteria(0).reason(), HasSubstr("alpha/qm1: data are missing"));
    // The rest of its operations falls short of the rate.
    EXPECT_LT(report.verdict().criteria(0).value(), 97);
    EXPECT_TRUE(Scope(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1).rate().held());
    EXPECT_THAT(report.notes(), Not(Contains(HasSubstr("target rate missed"))));
  }
}

TEST(ReadsReport, AWriterThatWaitedForItsRecorderMightHaveReadMore) {
  // The cluster makes some 1,592 reads a second. Of the 8 s of its writers, one waits for 1 s.
  std::vector<v1::JournalRecord> records = MakeJournal(MixedRun({"read_iops>=1700", "read_iops>=2000"}));
  EXPECT_EQ(OutcomeOf(Analyze(records), "read_iops>=1700"), v1::OUTCOME_FAIL);
  int changed = 0;
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames() || record.frames().host() != 0) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.qm() != 1 || frame.operation() != kMainOperation || frame.first_interval() != 0) continue;
      frame.set_ring_full_waits(1);
      frame.set_ring_full_wait_ns(kNsPerSecond);
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1);
  const v1::Report report = Analyze(records);
  EXPECT_EQ(OutcomeOf(report, "read_iops>=1700"), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().criteria(0).reason(), HasSubstr("the load generator was the bottleneck"));
  EXPECT_EQ(OutcomeOf(report, "read_iops>=2000"), v1::OUTCOME_FAIL);
}

TEST(ReadsReport, TotalsThatDisagreeOnReadsMakeTheResultInconclusive) {
  std::vector<v1::JournalRecord> records = MakeJournal(MixedRun({"read_p50<1s", "p50<1s"}));
  int changed = 0;
  for (v1::JournalRecord& record : records) {
    if (!record.has_step_done() || record.step_done().host() != 0) continue;
    for (v1::WriterTotals& totals : *record.mutable_step_done()->mutable_done()->mutable_writers()) {
      if (!IsOfFirstReads(totals)) continue;
      totals.set_bytes(totals.bytes() + 4096);
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1);
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("alpha/qm1, step 1, read: the writer counted")));
  EXPECT_EQ(OutcomeOf(report, "read_p50<1s"), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(OutcomeOf(report, "p50<1s"), v1::OUTCOME_PASS);
}

TEST(ReadsReport, ReadsThatAreMissingLeaveTheirCriteriaUndecidedAndNotThoseOfWrites) {
  const SimRun run = MixedRun({"read_max@host<1s", "p50<1s"});
  for (const bool frames : {false, true}) {
    SCOPED_TRACE(frames);
    const v1::Report report = Analyze(WithoutFirstReads(run, frames));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(OutcomeOf(report, "read_max@host<1s"), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(OutcomeOf(report, "p50<1s"), v1::OUTCOME_PASS);
    if (!frames) continue;
    EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("alpha/qm1, step 1: nothing was reported of the read")));
    // The time of the reads is in no figure.
    EXPECT_THAT(report.verdict().reasons(),
                Contains(HasSubstr("alpha/qm1, step 1: time in operations and between them")));
  }
}

TEST(ReadsReport, ALostHostKeepsTheReadsThatItReported) {
  SimRun run = MixedRun();
  run.hosts[1].lost_after_ns = 1'250 * kNsPerMs;
  run.cut_short = "beta was lost";
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  const v1::StepReport& step = report.steps(0);
  const v1::OperationReport& read = OperationOf(step, "read");
  uint64_t completed = 0;
  for (const uint32_t qm : {1U, 2U}) {
    for (const tests::SimWrite& one : OperationsOf(run, run.hosts[1], 0, qm, /*reads=*/true)) {
      completed += one.end_ns() < *run.hosts[1].lost_after_ns ? 1U : 0U;
    }
  }
  const v1::OperationScopeReport* const beta = FindScope(read, Scope(step, v1::SCOPE_KIND_HOST, "beta"));
  ASSERT_NE(beta, nullptr);
  EXPECT_EQ(beta->throughput().count(), completed);
  EXPECT_NEAR(beta->throughput().iops(), static_cast<double>(completed) / 1.25, 1e-6);
  const MixedCounts one = CountsOf(run, run.hosts[0], 1, /*reads=*/true);
  const MixedCounts two = CountsOf(run, run.hosts[0], 2, /*reads=*/true);
  const v1::OperationScopeReport* const alpha = FindScope(read, Scope(step, v1::SCOPE_KIND_HOST, "alpha"));
  ASSERT_NE(alpha, nullptr);
  EXPECT_EQ(alpha->throughput().count(), one.completed + two.completed);
  for (const v1::ScopeReport& scope : step.scopes()) EXPECT_NEAR(scope.accounted_percent(), 100, 1e-6);
}

TEST(ReadsReport, ARunWhoseOperationsAllReadHasThemAsItsMainFigures) {
  SimRun run = MixedRun({"p50<1ms", "iops>=1000"});
  run.read_percent = 0;
  MakeOperations(run);
  const v1::Report of_writes = Analyze(MakeJournal(run));
  run.read_percent = kOnlyReads;
  const v1::Report of_reads = Analyze(MakeJournal(run));
  EXPECT_EQ(of_reads.plan().read_percent(), kOnlyReads);
  EXPECT_EQ(of_reads.steps(0).operations_size(), 0);
  EXPECT_EQ(of_reads.steps(0).SerializeAsString(), of_writes.steps(0).SerializeAsString());
  EXPECT_EQ(of_reads.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(of_reads.verdict().reasons(), IsEmpty());
}

TEST(ReadsReport, AWriterStartsWithItsFirstOperationEvenIfThatReads) {
  SimRun run = MixedRun();
  run.hosts[1].reads_first = 5;
  MakeOperations(run);
  // beta's first write starts 2 ms after alpha's first operation; its first read starts with alpha.
  const v1::StartSkewReport skew = Analyze(MakeJournal(run)).steps(0).start_skew();
  EXPECT_EQ(skew.hosts_size(), 2);
  EXPECT_LT(skew.skew_ns(), kNsPerMs);
}

// Returns the journal without the frames in which beta's first reads completed.
std::vector<v1::JournalRecord> WithoutFrameOfFirstReads(std::vector<v1::JournalRecord> records) {
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames() || record.frames().host() != 1) continue;
    auto& all = *record.mutable_frames()->mutable_frames();
    const auto is_first = [](const v1::Frame& frame) {
      return frame.operation() == kMixedRead && frame.first_seq() == 1;
    };
    all.erase(std::remove_if(all.begin(), all.end(), is_first), all.end());
  }
  return records;
}

TEST(ReadsReport, WithARateAWriterIsAsLateAsItsFirstOperationEvenIfThatReads) {
  SimRun run = PacedMixedRun({});
  run.hosts[1].reads_first = 1;
  // beta's first read starts half a millisecond later than alpha's first write; its first write is as late as alpha's.
  for (tests::SimWriter& writer : run.hosts[1].steps[0]) writer.front().start_ns += kNsPerMs / 2;
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  const v1::StartSkewReport skew = Analyze(records).steps(0).start_skew();
  EXPECT_EQ(skew.hosts_size(), 2);
  EXPECT_NEAR(static_cast<double>(skew.skew_ns()), 500'000, 200);
  // The writers' own counts have it, too.
  records = WithoutFrameOfFirstReads(std::move(records));
  EXPECT_EQ(Analyze(records).steps(0).start_skew().skew_ns(), skew.skew_ns());
  // But where starts are spread, only the frame shows when the first read was due.
  for (v1::JournalRecord& record : records) {
    if (!record.has_host_joined()) continue;
    record.mutable_host_joined()->mutable_plan()->mutable_log()->mutable_workload()->set_arrival(v1::ARRIVAL_EVEN);
  }
  const v1::StartSkewReport of_alpha = Analyze(records).steps(0).start_skew();
  ASSERT_EQ(of_alpha.hosts_size(), 1);
  EXPECT_EQ(of_alpha.hosts(0).host(), "alpha");
}

TEST(ReadsReport, TheTrendCountsReadsAndWrites) {
  SimRun run = MixedRun();
  run.duration_ns = 6 * kNsPerSecond;
  MakeOperations(run);
  MixedCounts first;
  MixedCounts last;
  for (const SimHost& host : run.hosts) {
    for (const tests::SimWriter& writer : host.steps[0]) {
      for (const tests::SimWrite& one : writer) {
        const int64_t third = one.end_ns() / (2 * kNsPerSecond);
        if (third != 0 && third != 2) continue;
        MixedCounts& counts = third == 0 ? first : last;
        ++counts.completed;
        counts.sum_ns += static_cast<uint64_t>(one.latency_ns);
      }
    }
  }
  const v1::TrendReport trend = Analyze(MakeJournal(run)).steps(0).trend();
  for (const auto& [counts, iops, avg_ns] : {std::tuple{first, trend.first_iops(), trend.first_avg_ns()},
                                             std::tuple{last, trend.last_iops(), trend.last_avg_ns()}}) {
    EXPECT_NEAR(iops, static_cast<double>(counts.completed) / 2, 1e-6);
    EXPECT_NEAR(avg_ns, static_cast<double>(counts.sum_ns) / static_cast<double>(counts.completed), 1e-3);
  }
}

TEST(ReadsReport, WhatStallsFollowsFromTheSlowerOfReadsAndWrites) {
  SimRun run = MixedRun();
  run.duration_ns = 10 * kNsPerSecond;
  run.hosts.resize(1);
  SimHost& host = run.hosts[0];
  const auto usual = [&](uint64_t number, int64_t) { return (IsRead(run, host, number) ? 40 : 1) * kNsPerMs; };
  host.steps = {{tests::ClosedLoop(
      run.duration_ns, 1'000,
      tests::WithStalls(usual, {{4'000 * kNsPerMs, 4'300 * kNsPerMs}, {6'000 * kNsPerMs, 8'000 * kNsPerMs}}))}};
  const v1::StallsReport stalls = Analyze(MakeJournal(run)).steps(0).stalls();
  // 20 medians of its reads.
  EXPECT_NEAR(static_cast<double>(stalls.largest_threshold_ns()), 800e6, 2e6);
  ASSERT_EQ(stalls.count(), 1U);
  EXPECT_GT(stalls.stalls(0).length_ns(), 1'900 * kNsPerMs);
  ASSERT_EQ(stalls.stalls(0).writers_size(), 1);
  EXPECT_EQ(stalls.stalls(0).writers(0).number(), 0U) << "neither a read's nor a write's number";
}

TEST(ReadsReport, AHostThatStoppedIsAWitnessUpToItsLastRead) {
  SimRun run = MixedRun();
  // The first of each hundred operations of a writer writes: one in a second.
  run.read_percent = 99;
  const auto usual = [](uint64_t, int64_t) { return 10 * kNsPerMs; };
  for (SimHost& host : run.hosts) host.sees = {"alpha", "beta"};
  run.hosts[0].steps = {
      {tests::ClosedLoop(run.duration_ns, 1'000, tests::WithStalls(usual, {{1'200 * kNsPerMs, 1'500 * kNsPerMs}}))}};
  run.hosts[1].steps = {{tests::ClosedLoop(1'900 * kNsPerMs, 1'000, usual)}};
  ASSERT_LT(OperationsOf(run, run.hosts[1], 0, 1, /*reads=*/false).back().end_ns(), 1'200 * kNsPerMs);
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (!record.has_step_done() || record.step_done().host() != 1) continue;
    record.mutable_step_done()->mutable_done()->set_stopped("qm1: a read failed");
  }
  const v1::StallsReport stalls = Analyze(records).steps(0).stalls();
  ASSERT_EQ(stalls.count(), 1U);
  EXPECT_EQ(stalls.stalls(0).stall_class(), v1::STALL_CLASS_ONE_HOST);
  EXPECT_THAT(stalls.stalls(0).others(), ElementsAre("beta"));
}

TEST(ReadsReport, ReadsThroughThePageCacheMeetNoCriterion) {
  SimRun run = MixedRun({"p50<1s"});
  run.hosts[1].direct = false;
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), ElementsAre(HasSubstr("beta: its reads went through the page cache")));
  EXPECT_EQ(OutcomeOf(report, "p50<1s"), v1::OUTCOME_PASS);

  // Without criteria, a refused O_DIRECT is a note.
  run.criteria.clear();
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (!record.has_host_prepared() || record.host_prepared().host() != 1) continue;
    record.mutable_host_prepared()->mutable_prepared()->set_direct_refused("Invalid argument (22)");
  }
  const v1::Report unjudged = Analyze(records);
  EXPECT_EQ(unjudged.verdict().outcome(), v1::OUTCOME_DONE);
  EXPECT_THAT(unjudged.verdict().reasons(), IsEmpty());
  EXPECT_THAT(unjudged.notes(), Contains(AllOf(HasSubstr("beta: O_DIRECT was refused (Invalid argument (22))"),
                                               HasSubstr("went through the page cache"))));

  // Writes reach the storage through the page cache, too.
  run.criteria = {"p50<1s"};
  run.read_percent = 0;
  MakeOperations(run);
  EXPECT_EQ(Analyze(MakeJournal(run)).verdict().outcome(), v1::OUTCOME_PASS);
}

}  // namespace
}  // namespace plimsoll
