// Until when the data of a host reach, and why they end there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/analysis/analyzer.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// beta is lost when all that it had to say has come, before the step's end is noted.
void LoseBeta(std::vector<v1::JournalRecord>& journal) {
  const auto end =
      std::find_if(journal.begin(), journal.end(), [](const auto& record) { return record.has_step_end(); });
  v1::JournalRecord lost;
  lost.set_time_ns(end->time_ns());
  lost.mutable_host_lost()->set_host(1);
  lost.mutable_host_lost()->set_reason("the session broke");
  journal.insert(end, lost);
}

// Both hosts write for a second; then their StepDones give these reasons, and the step the first of all.
v1::Report StoppedAfterASecond(const std::string& cut_short, const std::string& alpha, const std::string& beta,
                               bool beta_is_lost) {
  SimRun run = TwoHosts();
  for (SimHost& host : run.hosts) {
    for (tests::SimWriter& writes : host.steps[0]) {
      std::erase_if(writes, [](const tests::SimWrite& write) { return write.end_ns() > kNsPerSecond; });
    }
  }
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  for (v1::JournalRecord& record : journal) {
    if (record.has_step_end()) record.mutable_step_end()->set_cut_short(cut_short);
    if (!record.has_step_done()) continue;
    record.mutable_step_done()->mutable_done()->set_stopped(record.step_done().host() == 0 ? alpha : beta);
  }
  if (beta_is_lost) LoseBeta(journal);
  return Analyze(journal);
}

TEST(AnalyzerEnds, AHostThatStoppedByItselfSaysSoInAStepThatEndedForThatReason) {
  const v1::Report report = StoppedAfterASecond("host beta failed: disk full", "host beta failed: disk full",
                                                "qm1: disk full", /*beta_is_lost=*/false);
  const v1::ScopeReport& beta = Scope(report.steps(0), v1::SCOPE_KIND_HOST, "beta");
  EXPECT_TRUE(beta.has_data_until());
  EXPECT_EQ(beta.data_until_reason(), "qm1: disk full");
  EXPECT_EQ(Scope(report.steps(0), v1::SCOPE_KIND_QM, "beta", 2).data_until_reason(), "qm1: disk full");
  const v1::ScopeReport& alpha = Scope(report.steps(0), v1::SCOPE_KIND_HOST, "alpha");
  EXPECT_FALSE(alpha.has_data_until()) << "the controller stopped it";
  EXPECT_FALSE(alpha.has_data_until_reason());
  EXPECT_FALSE(Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).has_data_until_reason()) << "of one host, not of all";
}

TEST(AnalyzerEnds, HostsThatAllStoppedByThemselvesSaySoWhicheverWasLost) {
  std::vector<v1::Report> reports;
  for (const bool beta_is_lost : {false, true}) {
    const v1::Report& report = reports.emplace_back(
        StoppedAfterASecond("host alpha failed: the lease", "the lease", "the lease", beta_is_lost));
    for (const char* host : {"alpha", "beta"}) {
      EXPECT_TRUE(Scope(report.steps(0), v1::SCOPE_KIND_HOST, host).has_data_until()) << host;
      EXPECT_EQ(Scope(report.steps(0), v1::SCOPE_KIND_HOST, host).data_until_reason(), "the lease") << host;
    }
    EXPECT_EQ(report.hosts(1).lost().has_data_until(), beta_is_lost);
  }
  EXPECT_EQ(reports[0].steps(0).DebugString(), reports[1].steps(0).DebugString()) << "the loss changes no figure";
}

TEST(AnalyzerEnds, AHostThatWasStoppedWithTheOthersAndThenLostSaysUntilWhenItsDataReach) {
  const v1::Report report = StoppedAfterASecond("interrupted", "interrupted", "interrupted", /*beta_is_lost=*/true);
  EXPECT_TRUE(report.hosts(1).lost().has_data_until());
  EXPECT_EQ(Scope(report.steps(0), v1::SCOPE_KIND_HOST, "beta").data_until_reason(), "interrupted");
  EXPECT_FALSE(Scope(report.steps(0), v1::SCOPE_KIND_HOST, "alpha").has_data_until());
}

TEST(AnalyzerEnds, AHostThatWasLostAfterItsWholeStepHasNothingToSayOfItsDatasEnd) {
  std::vector<v1::JournalRecord> journal = MakeJournal(TwoHosts());
  LoseBeta(journal);
  const v1::Report report = Analyze(journal);
  EXPECT_FALSE(report.hosts(1).lost().has_data_until());
  EXPECT_FALSE(Scope(report.steps(0), v1::SCOPE_KIND_HOST, "beta").has_data_until());
}

TEST(AnalyzerEnds, AHostOfAJournalThatEndsSaysThatItIsTheJournalThatEnds) {
  std::vector<v1::JournalRecord> journal = MakeJournal(TwoHosts());
  journal.erase(std::find_if(journal.begin(), journal.end(), [](const auto& record) { return record.has_step_done(); }),
                journal.end());
  const v1::Report report = Analyze(journal);
  EXPECT_EQ(Scope(report.steps(0), v1::SCOPE_KIND_HOST, "alpha").data_until_reason(), "the journal ends");
}

}  // namespace
}  // namespace plimsoll
