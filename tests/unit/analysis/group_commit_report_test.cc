// Reports of simulated clients, from frames that the agent's loop and recorder made in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "agent/writer/work_setup.h"
#include "agent/writer/writer_tally.h"
#include "common/protocol.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {
namespace {

constexpr uint32_t kClientsOfAlpha = 12;
constexpr int64_t kAlphaThinkNs = 300'000;

// What one queue manager's writer and recorder report of a step in which each write takes 200 us.
struct SimulatedStep {
  SimulatedStep(const v1::HostPlan& plan, int64_t start_ns) {
    const auto setup = MakeWorkSetup(plan);
    if (!setup.ok()) throw std::runtime_error(std::string(setup.status().message()));
    const WriteLoopParams loop = setup->LoopOf(0, start_ns, 1);
    FakeWriter writer(FakeWriter::MakeSource(setup->FilesOf(1).block_bytes), SampleRing::kDefaultCapacity);
    writer.env.latency = [](size_t) { return int64_t{200'000}; };
    writer.Run(loop);
    std::atomic<int64_t> stop_trace_at_ns{0};
    WriterTally tally(setup->TallyOf(0, start_ns, 1), writer.state, stop_trace_at_ns);
    tally.Poll(writer.env.now_ns + kNsPerSecond, frames);
    *done.add_writers() = tally.Totals(loop.end_ns);
    tally.AddMoreTotals(loop.end_ns, done);
  }

  google::protobuf::RepeatedPtrField<v1::Frame> frames;
  v1::StepDone done;
};

// The journal of a run of alpha alone, whose queue manager has clients.
std::vector<v1::JournalRecord> ClientsJournal(const std::vector<std::string>& criteria = {}) {
  SimRun run;
  run.criteria = criteria;
  run.duration_ns = 2 * kNsPerSecond;
  run.hosts.push_back(
      {.label = "alpha", .steps = {{Steady(run.duration_ns, 200'000)}}, .sees = {}, .lost_after_ns = {}});
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  std::unique_ptr<SimulatedStep> simulated;
  v1::LogStep step;
  v1::HostPlan host_plan;
  bool placed = false;
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) {
      v1::TestPlan& plan = *record.mutable_run_begin()->mutable_plan();
      plan.mutable_group_commit()->set_clients(kClientsOfAlpha);
      plan.mutable_group_commit()->set_think_time_ns(kAlphaThinkNs);
      FillDefaults(plan);
      step = ExpandSteps(plan)[0];
      record.mutable_run_begin()->clear_steps();
      *record.mutable_run_begin()->add_steps() = step;
    } else if (record.has_host_joined()) {
      v1::HostPlan& plan = *record.mutable_host_joined()->mutable_plan();
      plan.mutable_log()->clear_steps();
      *plan.mutable_log()->add_steps() = step;
      host_plan = plan;
      host_plan.set_run_id("00ff");
      host_plan.set_run_token(std::string(16, 'x'));
      host_plan.set_host_label("alpha");
      host_plan.set_frame_interval_ns(run.interval_ns);
      v1::LogWorkload& workload = *host_plan.mutable_log()->mutable_workload();
      workload.set_dir("/mnt/mqlog");
      workload.set_file_prefix("S");
      workload.set_qm(1);
      workload.set_num_files(3);
      workload.set_file_size_bytes(16 << 20);
      workload.set_sync(v1::SYNC_MODE_DSYNC);
      workload.set_direct(v1::DIRECT_MODE_AUTO);
    } else if (record.has_step_begin()) {
      simulated = std::make_unique<SimulatedStep>(host_plan, record.step_begin().host_start_ns(0));
    } else if (record.has_frames()) {
      record.mutable_frames()->clear_frames();
      if (!std::exchange(placed, true)) *record.mutable_frames()->mutable_frames() = simulated->frames;
    } else if (record.has_step_done()) {
      *record.mutable_step_done()->mutable_done()->mutable_writers() = simulated->done.writers();
    }
  }
  return records;
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
