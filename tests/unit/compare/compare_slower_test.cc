// What --fail-if-slower names, and where nothing can be told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/compare_words.h"
#include "tests/testing.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll {
namespace {

TEST(CompareSlower, NamesWhatIsSlowerThanAllowed) {
  CompareSettings settings = Quick();
  settings.fail_if_slower = 0.1;
  const std::vector<SideInput> sides = {Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)})};
  EXPECT_THAT(Strings(Compared(sides, settings).slower()),
              Contains(StartsWith("B is slower than A at 4 KiB: mean longer by ")));
  EXPECT_THAT(Compared({sides[1], sides[0]}, settings).slower(), IsEmpty()) << "faster is not slower";
  settings.fail_if_slower = 0.4;
  EXPECT_THAT(Compared(sides, settings).slower(), IsEmpty());
  EXPECT_THAT(Compared(sides).slower(), IsEmpty());
}

// So many writes in each of 30 seconds, all alike.
v1::Report Even(const std::string& id, size_t writes) {
  return SteadyReport(id, {4'096}, 30, std::vector<uint64_t>(writes, 100'000));
}

TEST(CompareSlower, LowerRatesCountAsMuchAsLongerTimes) {
  CompareSettings settings = Quick();
  settings.fail_if_slower = 0.105;
  EXPECT_THAT(Strings(Compared({Side({Even("a", 50)}), Side({Even("b", 45)})}, settings).slower()),
              ElementsAre("B is slower than A at 4 KiB: IO/s lower by 10 %"))
      << "A makes 11.1 % more";
  EXPECT_THAT(Compared({Side({Even("a", 50)}), Side({Even("b", 46)})}, settings).slower(), IsEmpty());
  settings.fail_if_slower = 1.5;
  EXPECT_THAT(Strings(Compared({Side({Even("a", 50)}), Side({Even("b", 15)})}, settings).slower()),
              ElementsAre("B is slower than A at 4 KiB: IO/s lower by 70 %"));
}

TEST(CompareSlower, WhatCouldNotBeTestedIsNotReportedAsNoSlower) {
  CompareSettings settings = Quick();
  settings.fail_if_slower = 0.1;
  v1::Report first = Simulated(1, 1);
  for (v1::StepReport& step : *first.mutable_steps()) step.clear_seconds();
  const std::vector<SideInput> sides = {Side({first}), Side({Simulated(1, 2)})};
  EXPECT_THAT(Strings(Compared(sides, settings).undecided()),
              ::testing::UnorderedElementsAre(
                  "B against A at 4 KiB: p50 was not tested: A: the report has no distributions by second",
                  "B against A at 4 KiB: p99 was not tested: A: the report has no distributions by second",
                  "B against A at 64 KiB: p50 was not tested: A: the report has no distributions by second",
                  "B against A at 64 KiB: p99 was not tested: A: the report has no distributions by second"));
  EXPECT_THAT(Compared(sides).undecided(), IsEmpty()) << "nobody asked";

  v1::Report lost = Simulated(1, 2);
  lost.mutable_hosts(0)->mutable_lost()->set_reason("the session broke");
  // After the last step.
  lost.mutable_hosts(0)->mutable_lost()->mutable_at()->set_seconds(4'000'000'000);
  EXPECT_THAT(Strings(Compared({Side({Simulated(1, 1)}), Side({lost})}, settings).undecided()),
              ElementsAre("B lost host alpha"));
  v1::Report inconclusive = Simulated(1, 2);
  inconclusive.mutable_verdict()->set_outcome(v1::OUTCOME_INCONCLUSIVE);
  inconclusive.mutable_verdict()->add_reasons("the clock is too coarse");
  EXPECT_THAT(Strings(Compared({Side({Simulated(1, 1)}), Side({inconclusive})}, settings).undecided()),
              ElementsAre("B is INCONCLUSIVE: the clock is too coarse"));
  EXPECT_THAT(Compared({Side({Simulated(1, 1)}), Side({Simulated(1, 2)})}, settings).undecided(), IsEmpty())
      << "the maximum is never tested, and nothing else is missing";
}

TEST(CompareSlower, WithManyTestsAnyOfThemCanStillBeClear) {
  std::vector<uint64_t> sizes;
  for (uint64_t size = 1; size <= 60; ++size) sizes.push_back(512 * size);
  std::vector<SideInput> sides;
  for (const size_t writes : {50U, 40U, 60U, 70U}) {
    sides.push_back(Side({SteadyReport(absl::StrCat(writes), sizes, 12, std::vector<uint64_t>(writes, 100'000))}));
  }
  CompareSettings settings;
  settings.percentile_intervals = false;
  const v1::Comparison comparison = Compared(sides, settings);
  EXPECT_GT(comparison.tests(), 500U);
  EXPECT_GE(comparison.options().replicates(), 20 * comparison.tests());
  EXPECT_EQ(comparison.block_sizes(0).pairs(0).rows(0).finding(), v1::FINDING_WORSE);
}

TEST(CompareSlower, SaysWhereThereAreTooManyTestsForAnyToBeClear) {
  const std::vector<SideInput> sides = {Side({Even("a", 50)}), Side({Even("b", 45)})};
  v1::Comparison comparison;
  comparison.mutable_options()->set_replicates(kMostReplicates);
  comparison.set_tests(4'999);
  EXPECT_THAT(LimitsInWords(sides, comparison), Not(Contains(HasSubstr("cannot make any difference"))));
  comparison.set_tests(5'000);
  EXPECT_THAT(LimitsInWords(sides, comparison), Contains(HasSubstr("With so many tests (5,000)")));
}

}  // namespace
}  // namespace plimsoll
