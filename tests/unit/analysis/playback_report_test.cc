// Reports of recorded writes that are played, from frames that the agent's loop and recorder made in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/junit_xml.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/analysis/commits_journal.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {
namespace {

// 1,000 writes/s of 8 KiB, for 10 s.
LoadPattern EvenRecording() {
  constexpr int kSeconds = 10;
  return {std::vector<PatternEntry>(kSeconds, {1'000'000'000, 2, 1'000}), kSeconds * kNsPerSecond};
}

v1::Report PlayedReport(v1::PlaybackMode mode, double load_factor, const std::vector<std::string>& criteria = {},
                        const LatencyOfCall& latency = kUsualLatency) {
  return Analyze(CommitsJournal(
      [&](v1::GroupCommit& commits) {
        commits.set_pattern("/var/watched/pattern.plimsoll");
        commits.set_pattern_sha256(std::string(64, '7'));
        commits.set_playback(mode);
        commits.set_load_factor(load_factor);
      },
      criteria, EvenRecording(), latency));
}

// The text in one line, as if nothing were wrapped.
std::string Unwrapped(const std::string& text) {
  std::string line = text;
  for (std::string before; before != line;) {
    before = line;
    line = absl::StrReplaceAll(line, {{"\n", " "}, {"  ", " "}});
  }
  return line;
}

TEST(PlaybackReport, EachRecordedWriteIsACommitAndTheLoadFactorIsTheStepsLoad) {
  const v1::Report report = PlayedReport(v1::PLAYBACK_MODE_DEMAND, 2, {"commit_p99<10ms", "commit_p50<1us"});
  EXPECT_EQ(OutcomeOf(report, "commit_p99<10ms"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "commit_p50<1us"), v1::OUTCOME_FAIL);
  EXPECT_THAT(report.verdict().reasons(), IsEmpty()) << "writer and recorder count the same";
  const v1::StepReport& step = report.steps(0);
  EXPECT_EQ(step.load_factor(), 2);
  EXPECT_FALSE(step.has_clients());
  const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
  const v1::OperationScopeReport* const commits = FindScope(OperationOf(step, kCommitName), cluster);
  ASSERT_NE(commits, nullptr);
  EXPECT_NEAR(commits->throughput().iops(), 2'000, 2);
  // A write takes 200 us, and the next one comes 500 us later.
  EXPECT_NEAR(cluster.iops(), 2'000, 2);
  EXPECT_NEAR(step.group_commit().mean_write_bytes(), 8'192, 1);
}

TEST(PlaybackReport, CommitsThatStillWaitWhenTheStepEndsCountWithTheTimeThatTheyHaveWaited) {
  // Of some 2,000 commits, the last hundred arrive while one write hangs beyond the end: all but one never complete.
  constexpr size_t kHangingCall = 1'900;
  const std::vector<std::string> criteria = {"commit_p99<50ms", "commit_p50<1ms"};
  const v1::Report report = PlayedReport(v1::PLAYBACK_MODE_DEMAND, 1, criteria, [](size_t call) {
    return call == kHangingCall ? 5 * kNsPerSecond : int64_t{200'000};
  });
  EXPECT_EQ(OutcomeOf(report, "commit_p99<50ms"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "commit_p50<1ms"), v1::OUTCOME_PASS);
  EXPECT_THAT(report.notes(),
              Contains(ContainsRegex("step 1: [0-9]+ commits had arrived and not ended when the step did")));
}

TEST(PlaybackReport, TextMarkdownAndJsonNameTheRecordingAndSayThatCommitsAreSimulated) {
  const v1::Report report = PlayedReport(v1::PLAYBACK_MODE_DEMAND, 1.5);
  const std::string text = RenderText(report);
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n')))
    EXPECT_LE(line.size(), 90U) << line;
  EXPECT_THAT(
      Unwrapped(text),
      AllOf(HasSubstr(
                "Recording --pattern /var/watched/pattern.plimsoll (sha256 7777777777777777...), by demand, 1.5 times "
                "as fast as recorded; each recorded write is a commit (simulated); buffer of 512 pages"),
            HasSubstr("Commit latency (simulated: a commit for each recorded write)"), Not(HasSubstr("client"))));
  const std::string sentence =
      "Recording, by demand (simulated), 1.5 times as fast as recorded: 1,500 commits/s, each a recorded write; mean "
      "write 8.2 KB; 1.00 recorded writes in each write";
  EXPECT_THAT(Unwrapped(text), HasSubstr(sentence));
  EXPECT_THAT(Unwrapped(RenderBrief(report, {"results"})), HasSubstr(sentence));
  EXPECT_THAT(RenderMarkdown(report, ""), HasSubstr(sentence));
  EXPECT_THAT(RenderJson(report), AllOf(HasSubstr("\"load_factor\": 1.5"), HasSubstr("\"pattern_sha256\": \"7777")));
  EXPECT_THAT(text, Not(HasSubstr("what MQ would issue")));
}

TEST(PlaybackReport, ShowsHowManyRecordedWritesSlowerStorageMerges) {
  // Every 100 us, and a write takes twice as long.
  const v1::Report report = PlayedReport(v1::PLAYBACK_MODE_DEMAND, 10);
  EXPECT_THAT(RenderMarkdown(report, ""),
              ContainsRegex("mean write 16\\.[34] KB; 2\\.00 recorded writes in each write"));
}

TEST(PlaybackReport, WritesAsRecordedAreLabelledInEveryOutputAndNeverJudged) {
  // No plan with criteria passes the check: a journal with both is no more judged.
  for (const std::vector<std::string>& criteria : {std::vector<std::string>{}, {"commit_p99<10ms"}}) {
    const v1::Report report = PlayedReport(v1::PLAYBACK_MODE_WRITES, 1, criteria);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE);
    const std::string label = "not what MQ would issue here";
    EXPECT_THAT(Unwrapped(RenderText(report)),
                AllOf(HasSubstr("COMPLETED"), HasSubstr("Recording, writes as recorded, " + label),
                      HasSubstr("(sha256 7777777777777777...), writes as recorded, " + label)));
    EXPECT_THAT(Unwrapped(RenderBrief(report, {"results"})), HasSubstr(label));
    EXPECT_THAT(RenderMarkdown(report, ""), HasSubstr(label));
    EXPECT_THAT(RenderJson(report), HasSubstr(label));
    EXPECT_THAT(RenderReportJUnit(report), HasSubstr(label));
  }
}

}  // namespace
}  // namespace plimsoll::tests
