// Comparing runs in pairs, side names and stated differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "tests/testing.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll {
namespace {

// Runs of `rounds` rounds, each slower than the one before it by far more than B is slower than A.
std::vector<SideInput> Drifting(size_t rounds, double b_slower) {
  std::vector<SideInput> sides(2);
  for (size_t round = 0; round < rounds; ++round) {
    const double machine = 1 + 0.2 * static_cast<double>(round);
    for (size_t side = 0; side < 2; ++side) {
      v1::Report report = Simulated(machine * (side == 0 ? 1 : b_slower), 100 * round + side, 0.2, 20);
      report.mutable_run()->set_id(absl::StrCat(round, side));
      sides[side].runs.push_back({absl::StrCat("round-", round, side == 0 ? "-a" : "-b"), report});
    }
  }
  return sides;
}

CompareSettings Paired() {
  CompareSettings settings = Quick();
  settings.paired.emplace();
  return settings;
}

const v1::ComparedRow& RowOf(const v1::Comparison& comparison, v1::Figure figure) {
  for (const v1::ComparedRow& row : comparison.block_sizes(0).pairs(0).rows()) {
    if (row.figure() == figure) return row;
  }
  static const v1::ComparedRow none;
  ADD_FAILURE() << "no such row";
  return none;
}

TEST(PairedCompare, FindsADifferenceThatDriftHidesFromUnpairedRuns) {
  const std::vector<SideInput> sides = Drifting(8, 1.1);
  const v1::Comparison paired = Compared(sides, Paired());
  const v1::ComparedRow& mean = RowOf(paired, v1::FIGURE_AVG);
  EXPECT_EQ(mean.finding(), v1::FINDING_WORSE);
  EXPECT_EQ(mean.rounds().ratio_size(), 8);
  EXPECT_GT(mean.low(), 1.03);
  EXPECT_LT(mean.low(), 1.1);
  EXPECT_GT(mean.high(), 1.1);
  EXPECT_EQ(paired.paired().complete_rounds(), 8U);
  EXPECT_EQ(RowOf(Compared(sides), v1::FIGURE_AVG).finding(), v1::FINDING_NOT_CLEAR);
  EXPECT_EQ(RowOf(Compared(Drifting(8, 1), Paired()), v1::FIGURE_AVG).finding(), v1::FINDING_NOT_CLEAR);
}

TEST(PairedCompare, FiveRoundsClaimNothing) {
  const v1::Comparison comparison = Compared(Drifting(5, 2), Paired());
  EXPECT_EQ(RowOf(comparison, v1::FIGURE_IOPS).finding(), v1::FINDING_NOT_TESTED);
  EXPECT_EQ(RowOf(comparison, v1::FIGURE_IOPS).reason(), "5 rounds of at least 6");
  EXPECT_THAT(Strings(comparison.limits()),
              Contains("Nothing was tested: there are 5 complete rounds, the first test is after 6."));
  EXPECT_FALSE(IsDecided(comparison, {v1::FIGURE_IOPS}));
}

TEST(PairedCompare, TheGateHasThreeAnswers) {
  CompareSettings settings = Paired();
  settings.fail_if_slower = 0.05;
  const v1::Comparison slower = Compared(Drifting(8, 1.2), settings);
  EXPECT_EQ(slower.gate(), v1::OUTCOME_FAIL);
  EXPECT_THAT(Strings(slower.slower()), Contains(HasSubstr("B is slower than A at 4 KiB: mean longer by ")));
  EXPECT_EQ(Compared(Drifting(5, 1.2), settings).gate(), v1::OUTCOME_INCONCLUSIVE);
  settings.fail_if_slower = 0.5;
  EXPECT_EQ(Compared(Drifting(8, 1.2), settings).gate(), v1::OUTCOME_PASS);
}

TEST(PairedCompare, MoreRoundsAreNeededUntilTheIntervalIsBeyondTheMinimumOrNarrow) {
  CompareSettings settings = Paired();
  const std::vector<v1::Figure> mean = {v1::FIGURE_AVG};
  EXPECT_TRUE(IsDecided(Compared(Drifting(8, 1.3), settings), mean)) << "beyond";
  settings.min_effect = 0.2;
  EXPECT_TRUE(IsDecided(Compared(Drifting(8, 1), settings), mean)) << "narrow";
  settings.min_effect = 0.0001;
  EXPECT_FALSE(IsDecided(Compared(Drifting(8, 1), settings), mean));
  settings.min_effect = 0.2;
  settings.fail_if_slower = 0.0001;
  settings.gate = {v1::FIGURE_AVG};
  EXPECT_FALSE(IsDecided(Compared(Drifting(8, 1), settings), mean)) << "the gate has no answer";
}

TEST(PairedCompare, NothingIsDecidedWhereALoadGeneratorMayBeCpuBoundInARound) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    std::vector<SideInput> sides = Drifting(8, 1.3);
    EXPECT_TRUE(IsDecided(Compared(sides, Paired()), {v1::FIGURE_AVG})) << "else this shows nothing";
    v1::HostLoadReport& load = *sides[side].runs[3].report.mutable_steps(0)->add_load();
    load.set_host("alpha");
    load.set_bottleneck("its recorder ran up to 73 ms late");
    const v1::Comparison comparison = Compared(sides, Paired());
    EXPECT_FALSE(IsDecided(comparison, {v1::FIGURE_AVG}));
    EXPECT_EQ(RowOf(comparison, v1::FIGURE_AVG).finding(), v1::FINDING_INCONCLUSIVE);
    EXPECT_THAT(Strings(comparison.warnings()), Contains(HasSubstr(side == 0 ? "A4: step 1" : "B4: step 1")));
  }
}

TEST(PairedCompare, StepsOfTwoRunsArePairedInTheirOrder) {
  std::vector<SideInput> sides = Drifting(8, 1.1);
  for (SideInput& side : sides) {
    v1::Report whole = side.runs.front().report;
    for (size_t i = 1; i < side.runs.size(); ++i) {
      for (v1::StepReport step : side.runs[i].report.steps()) {
        step.set_number(static_cast<uint32_t>(whole.steps_size()) + 1);
        *whole.add_steps() = step;
      }
    }
    side.runs = {{"whole", whole}};
  }
  const absl::Status paired = PairUp(sides);
  ASSERT_TRUE(paired.ok()) << paired;
  ASSERT_EQ(sides[1].runs.size(), 8U);
  EXPECT_EQ(sides[1].runs[2].source, "whole (repetition 3)");
  const v1::Comparison comparison = Compared(sides, Paired());
  EXPECT_EQ(RowOf(comparison, v1::FIGURE_AVG).finding(), v1::FINDING_WORSE);
  EXPECT_THAT(Strings(comparison.warnings()), IsEmpty()) << "steps of one run are not the same run twice";
}

TEST(PairedCompare, PairsNeedTwoSidesWithAsManyRuns) {
  std::vector<SideInput> sides = Drifting(3, 1);
  sides[1].runs.pop_back();
  EXPECT_EQ(PairUp(sides).message(), "pairs need as many runs of one side as of the other: 3 of A and 2 of B");
  sides.pop_back();
  EXPECT_EQ(PairUp(sides).message(), "pairs need two sides, A and B, there are 1");
}

TEST(PairedCompare, NamesStandInPlaceOfLetters) {
  std::vector<SideInput> sides = Drifting(8, 1.3);
  sides[0].name = "san";
  sides[1].name = "nfs";
  const std::string text = RenderCompareText(Compared(sides, Paired()));
  EXPECT_THAT(text, HasSubstr("4 KiB   nfs against san"));
  EXPECT_THAT(text, HasSubstr("nfs / san"));
  EXPECT_THAT(text, HasSubstr("fewer writes per second than san"));
  EXPECT_THAT(text, HasSubstr("IO/s of nfs / san by round: 0."));
}

void SetSync(v1::SyncMode sync, SideInput& side) {
  for (RunInput& run : side.runs) {
    for (v1::HostReport& host : *run.report.mutable_hosts()) host.mutable_workload()->set_sync(sync);
  }
}

TEST(StatedDifferences, MayDifferBetweenSidesButNotWithinOne) {
  std::vector<SideInput> sides = Drifting(2, 1);
  SetSync(v1::SYNC_MODE_NONE, sides[1]);
  EXPECT_THAT(std::string(Compare(sides, Quick()).status().message()), HasSubstr("--sync"));
  CompareSettings settings = Quick();
  const absl::StatusOr<StatedDifferences> stated = ParseDiffers("--sync,rate");
  ASSERT_TRUE(stated.ok()) << stated.status();
  settings.differs = *stated;
  const v1::Comparison comparison = Compared(sides, settings);
  EXPECT_THAT(Strings(comparison.warnings()), IsEmpty());
  EXPECT_THAT(comparison.options().differs(), ElementsAre("rate", "sync"));
  sides[1].runs[0].report.mutable_hosts(0)->mutable_workload()->set_sync(v1::SYNC_MODE_DSYNC);
  EXPECT_FALSE(Compare(sides, settings).ok());
}

TEST(StatedDifferences, SilenceTheWarningAboutTheLoad) {
  std::vector<SideInput> sides = Drifting(2, 1);
  for (RunInput& run : sides[1].runs) run.report.mutable_run()->set_queue_managers(7);
  EXPECT_THAT(Strings(Compared(sides).warnings()), Contains(HasSubstr("do not carry the same load")));
  CompareSettings settings = Quick();
  settings.differs = {"qm"};
  EXPECT_THAT(Strings(Compared(sides, settings).warnings()), IsEmpty());
}

TEST(StatedDifferences, AreOptionsOfAPlan) {
  EXPECT_THAT(std::string(ParseDiffers("sinc").status().message()),
              HasSubstr("'sinc' is not an option of a plan; the options are "));
}

}  // namespace
}  // namespace plimsoll
