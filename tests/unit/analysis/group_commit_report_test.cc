// Reports of simulated clients, from frames that the agent's loop and recorder made in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/protocol.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/analysis/commits_journal.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {
namespace {

constexpr uint32_t kClientsOfAlpha = 12;
constexpr int64_t kAlphaThinkNs = 300'000;

std::vector<v1::JournalRecord> ClientsJournal(const std::vector<std::string>& criteria = {}) {
  return CommitsJournal(
      [](v1::GroupCommit& commits) {
        commits.set_clients(kClientsOfAlpha);
        commits.set_think_time_ns(kAlphaThinkNs);
      },
      criteria);
}

TEST(GroupCommitReport, HasCommitsBesideWritesAndAgreesWithTheWritersCount) {
  const v1::Report report = Analyze(ClientsJournal({"commit_p99<10ms", "commit_iops>=1000", "commit_p50<1us"}));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "commit_p99<10ms"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "commit_iops>=1000"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "commit_p50<1us"), v1::OUTCOME_FAIL);
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  const v1::StepReport& step = report.steps(0);
  EXPECT_EQ(step.clients(), kClientsOfAlpha);
  const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
  const v1::OperationScopeReport* const commits = FindScope(OperationOf(step, kCommitName), cluster);
  ASSERT_NE(commits, nullptr);
  // Little's law: clients = commits/s x (latency + think time).
  const double in_system_s = (commits->latency().avg_ns() + static_cast<double>(kAlphaThinkNs)) / 1e9;
  EXPECT_NEAR(commits->throughput().iops() * in_system_s / kClientsOfAlpha, 1, 0.01);
  EXPECT_GT(commits->latency().p50_ns(), cluster.latency().p50_ns());
  const v1::GroupCommitReport& made = step.group_commit();
  EXPECT_DOUBLE_EQ(made.commits_per_second(), commits->throughput().iops());
  EXPECT_NEAR(made.mean_write_bytes(), static_cast<double>(cluster.bytes()) / static_cast<double>(cluster.writes()), 1);
  EXPECT_GT(made.physical_over_logical(), 1);
  EXPECT_LT(made.physical_over_logical(), 2);
}

TEST(GroupCommitReport, SaysThatItsClientsAreSimulated) {
  const v1::Report report = Analyze(ClientsJournal());
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("Group commit (simulated): "));
  EXPECT_THAT(text, HasSubstr("of 12 clients per queue manager"));
  EXPECT_THAT(text, HasSubstr("Commit latency of simulated clients"));
  EXPECT_THAT(text, HasSubstr("12 per QM (simulated)"));
  EXPECT_THAT(text, HasSubstr("TripleWrite"));
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n')))
    EXPECT_LE(line.size(), 90U) << line;
  EXPECT_THAT(RenderMarkdown(report, ""), HasSubstr("Group commit (simulated): "));
  EXPECT_THAT(RenderBrief(report, {"results"}, {}), HasSubstr("Group commit (simulated): "));
  EXPECT_THAT(text, ContainsRegex("host +qm +commits/s +MB/s"));
  // Such runs have no traces: not worth a note in each of them.
  EXPECT_THAT(text, Not(HasSubstr("in no trace")));
  const std::string csv = RenderCsv(report);
  EXPECT_THAT(csv, HasSubstr("commit_completed"));
  EXPECT_THAT(csv, HasSubstr("commit_p99_ns"));
  EXPECT_THAT(RenderJson(report), HasSubstr("\"physical_over_logical\""));
}

}  // namespace
}  // namespace plimsoll::tests
