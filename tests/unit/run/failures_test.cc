// Every cell of the table of failures (docs/failures.md), played in this process and in virtual time.
//
// Of the product, the whole of `plimsoll run` takes part, from its arguments to its exit code: preflight, Coordinator,
// RunLog, journal, analysis, report files and what is printed, with the agents' Session, Lease, Outbox, StepBudget,
// LogFiles, write loop and recorder. Of each row are checked the lines seen, the exit code, what was kept, that the
// agents end and release what they made, and how long it took, to two round trips and a write.
//
// Only the rows with real processes (tests/integration/failures) show: files that are left on disk or removed, and the
// agent's own look at them ("is gone", what a next run finds), that an agent takes the next run or refuses it, gRPC's
// and the kernel's part (sockets, retransmissions, signals), the processes' own logs, exit codes of the processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/unit/run/failure_faults.h"
#include "tests/unit/run/failure_outcomes.h"
#include "tests/unit/run/failure_scene.h"
#include "tests/unit/run/failure_table.h"

namespace plimsoll::tests {
namespace {

const std::vector<FailureRow>& Table() {
  static const std::vector<FailureRow> kTable = ReadFailureTable(PLIMSOLL_FAILURE_TABLE);
  return kTable;
}

// "controller-frozen", "running" as a name that GoogleTest takes.
std::string NameOf(const ::testing::TestParamInfo<FailureRow>& info) {
  std::string name = info.param.fault + "_" + info.param.state;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class EveryFailure : public ::testing::TestWithParam<FailureRow> {};

TEST_P(EveryFailure, GoesAsTheTableSays) {
  const FailureRow& row = GetParam();
  // A row that is not known here is not played: that must not pass.
  ASSERT_TRUE(SimulatedFaults().contains(row.fault)) << row.fault;
  ASSERT_TRUE(KeptChecks().contains(row.kept)) << row.kept;
  ASSERT_TRUE(CleanedChecks().contains(row.cleaned)) << row.cleaned;
  ASSERT_TRUE(TakesChecks().contains(row.takes)) << row.takes;
  for (const Course& course : CoursesOf(row)) {
    SCOPED_TRACE(course.name);
    FailureScene scene(row, course);
    scene.Play(SimulatedFaults().at(row.fault));
    SCOPED_TRACE(scene.printed());
    ASSERT_TRUE(scene.injected()) << "the run was over before it was in the state";
    EXPECT_EQ(scene.code(), row.code);
    TakesChecks().at(row.takes)(scene);
    ExpectSeen(scene);
    KeptChecks().at(row.kept)(scene);
    CleanedChecks().at(row.cleaned)(scene);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryFailure, ::testing::ValuesIn(Table()), NameOf);

// Two hosts whose leases expired while the controller was suspended: which of them the controller finds out about first
// decides which is lost, and nothing of what is said of their data.
class LeasesThatExpireWhileTheControllerIsSuspended : public ::testing::TestWithParam<bool> {
 protected:
  static const FailureRow& Row() {
    return *std::find_if(Table().begin(), Table().end(), [](const FailureRow& row) {
      return row.fault == "controller-frozen" && row.state == "running";
    });
  }
};

TEST_P(LeasesThatExpireWhileTheControllerIsSuspended, AreReportedOfEachHostWithTheEndOfItsDataAndTheReason) {
  const bool alpha_first = GetParam();
  const Course course{.name = "one is read first",
                      .reads_alpha_ns = alpha_first ? 0 : 20 * kNsPerMs,
                      .reads_beta_ns = alpha_first ? 20 * kNsPerMs : 0};
  FailureScene scene(Row(), course);
  scene.Play(SimulatedFaults().at(Row().fault));
  const v1::Report report = scene.JournalReport();
  SCOPED_TRACE(scene.printed());
  const std::string first = alpha_first ? "alpha" : "beta";
  const std::string why = "lease expired: no message from the controller for 1s";
  ASSERT_EQ(report.steps_size(), 1);
  EXPECT_EQ(report.steps(0).cut_short(), "host " + first + " failed: " + why);
  ASSERT_EQ(report.hosts_size(), 2);
  for (const v1::HostReport& host : report.hosts()) {
    EXPECT_EQ(host.has_lost(), host.label() == first) << "the other is released before its end is read";
    const auto scope =
        std::find_if(report.steps(0).scopes().begin(), report.steps(0).scopes().end(),
                     [&](const auto& of) { return of.kind() == v1::SCOPE_KIND_HOST && of.host() == host.label(); });
    ASSERT_NE(scope, report.steps(0).scopes().end());
    ASSERT_TRUE(scope->has_data_until()) << host.label();
    EXPECT_EQ(scope->data_until_reason(), why);
    // The last write before the lease's end: they start 25 ms apart, and take one.
    const int64_t until_ns = scope->data_until().seconds() * kNsPerSecond + scope->data_until().nanos();
    const int64_t expired_ns = scene.world().WallNow().value - (scene.world().Now() - *scene.resumed_at());
    EXPECT_LE(until_ns, expired_ns);
    EXPECT_GE(until_ns, expired_ns - 60 * kNsPerMs);
    if (!host.has_lost()) continue;
    EXPECT_EQ(host.lost().data_until().DebugString(), scope->data_until().DebugString());
    EXPECT_EQ(host.lost().reason(), "the session broke: " + why);
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, LeasesThatExpireWhileTheControllerIsSuspended, ::testing::Bool(),
                         [](const auto& order) { return order.param ? "AlphaFirst" : "BetaFirst"; });

TEST(FailureTable, HasARowForEveryFaultThatIsKnownHere) {
  std::set<std::string> in_table;
  for (const FailureRow& row : Table()) in_table.insert(row.fault);
  for (const auto& [key, fault] : SimulatedFaults()) EXPECT_TRUE(in_table.contains(key)) << key;
}

}  // namespace
}  // namespace plimsoll::tests
