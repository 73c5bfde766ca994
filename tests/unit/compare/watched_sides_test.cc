// A watched program beside runs.
#include "controller/compare/watched_sides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/compare/compare_render.h"
#include "tests/testing.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll::tests {
namespace {

// A run of one block size.
v1::Report OneSize(double slower, uint64_t seed) {
  v1::Report report = Simulated(slower, seed);
  report.mutable_steps()->DeleteSubrange(1, report.steps_size() - 1);
  report.mutable_plan()->clear_block_size_bytes();
  report.mutable_plan()->add_block_size_bytes(report.steps(0).block_size_bytes());
  return report;
}

// The report of a watch that saw the writes of this one.
v1::Report WatchedOf(v1::Report report) {
  report.mutable_plan()->clear_workload();
  report.mutable_plan()->clear_block_size_bytes();
  report.mutable_plan()->mutable_watch()->add_queue_managers("QM1");
  report.mutable_watch()->add_hosts()->set_host("alpha");
  for (v1::StepReport& step : *report.mutable_steps()) step.set_block_size_bytes(0);
  for (v1::HostReport& host : *report.mutable_hosts()) host.clear_workload();
  return report;
}

TEST(WatchedSides, AWatchIsComparedWithARunOfOneSize) {
  std::vector<SideInput> sides = {Side({WatchedOf(OneSize(1, 1))}), Side({OneSize(1.5, 2)})};
  ASSERT_THAT(AlignWithWatched(sides), IsOk());
  const absl::StatusOr<v1::Comparison> comparison = Compare(sides, Quick());
  ASSERT_THAT(comparison, IsOk());
  ASSERT_EQ(comparison->block_sizes_size(), 1);
  EXPECT_EQ(comparison->block_sizes(0).block_size_bytes(), 0U);
  EXPECT_THAT(comparison->block_sizes(0).pairs(0).summary(), HasSubstr("slower on B"));
  std::vector<std::string> differences;
  for (const v1::ComparedDifference& difference : comparison->differences()) {
    differences.push_back(difference.what());
  }
  EXPECT_THAT(differences, AllOf(Contains("what wrote"), Not(Contains(StartsWith("--")))));
  EXPECT_THAT(comparison->warnings(), Contains(HasSubstr("A was watched")));
  EXPECT_THAT(RenderCompareText(*comparison), HasSubstr("a watched program"));
}

TEST(WatchedSides, ARunOfSeveralSizesIsRefused) {
  std::vector<SideInput> sides = {Side({WatchedOf(OneSize(1, 1))}), Side({Simulated(1, 2)})};
  EXPECT_THAT(AlignWithWatched(sides), StatusIs(absl::StatusCode::kFailedPrecondition, "--bsize-mix"));
}

TEST(WatchedSides, RunsAloneStayAsTheyAre) {
  std::vector<SideInput> sides = {Side({Simulated(1, 1)}), Side({Simulated(1, 2)})};
  const std::string before = sides[0].runs[0].report.SerializeAsString();
  ASSERT_THAT(AlignWithWatched(sides), IsOk());
  EXPECT_EQ(sides[0].runs[0].report.SerializeAsString(), before);
  EXPECT_THAT(WatchWarnings(sides), IsEmpty());
  EXPECT_THAT(WatchDifferences(sides), IsEmpty());
}

TEST(WatchedSides, OpenFlagsThatWereSeenDuringTheWatchCountAndNoneAreNotNone) {
  v1::Report watched = WatchedOf(OneSize(1, 1));
  for (v1::HostReport& host : *watched.mutable_hosts()) host.mutable_mount()->clear_open_flags();
  std::vector<SideInput> sides = {Side({watched}), Side({OneSize(1, 2)})};
  ASSERT_THAT(AlignWithWatched(sides), IsOk());
  EXPECT_EQ(sides[0].runs[0].report.hosts(0).mount().open_flags(), "not known");
  watched.mutable_watch()->mutable_hosts(0)->mutable_counts()->mutable_profile()->add_open_flags("O_RDWR|O_DSYNC");
  sides = {Side({watched}), Side({OneSize(1, 2)})};
  ASSERT_THAT(AlignWithWatched(sides), IsOk());
  EXPECT_EQ(sides[0].runs[0].report.hosts(0).mount().open_flags(), "O_RDWR|O_DSYNC");
}

TEST(WatchedSides, BoundsAreNamed) {
  v1::Report bounded = WatchedOf(OneSize(1, 1));
  bounded.mutable_watch()->set_bounds(true);
  const std::vector<SideInput> sides = {Side({bounded}), Side({WatchedOf(OneSize(1, 2))})};
  EXPECT_THAT(WatchWarnings(sides), ElementsAre(HasSubstr("A: some figures of the watch are bounds")));
}

}  // namespace
}  // namespace plimsoll::tests
