// Rounds of a step until they are steady: how many there are, and what a report shows of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/units.h"
#include "controller/analysis/whole_run.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Rounds of steps of 2 s with these block sizes, at most so many.
SteadyRounds RoundsOf(const std::vector<uint64_t>& block_sizes, int64_t most_rounds) {
  google::protobuf::RepeatedPtrField<v1::LogStep> steps;
  for (const uint64_t size : block_sizes) {
    v1::LogStep& step = *steps.Add();
    step.set_block_size_bytes(size);
    step.set_duration_ns(2 * kNsPerSecond);
  }
  return {steps, most_rounds * 2 * kNsPerSecond};
}

v1::StepReport SteadyRound(uint32_t number, double iops) {
  v1::StepReport step;
  step.set_number(number);
  step.set_duration_ns(2 * kNsPerSecond);
  step.set_measured_ns(2 * kNsPerSecond);
  v1::ScopeReport& cluster = *step.add_scopes();
  cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
  cluster.set_iops(iops);
  return step;
}

// What is asked for after rounds with these figures: block sizes, 0 for the end.
std::vector<uint64_t> AskedFor(SteadyRounds& rounds, const std::vector<double>& iops) {
  std::vector<uint64_t> asked;
  uint32_t number = 0;
  for (const double each : iops) {
    rounds.OnStep(SteadyRound(++number, each));
    const std::optional<v1::LogStep> next = rounds.NextStep();
    asked.push_back(next ? next->block_size_bytes() : 0);
  }
  return asked;
}

TEST(SteadyRounds, EndWhereTheLastFiveAreSteady) {
  SteadyRounds rounds = RoundsOf({4096}, 20);
  // The third one is out of the last five after the eighth.
  EXPECT_THAT(AskedFor(rounds, {100, 140, 200, 100, 101, 99, 100, 100}),
              ElementsAre(4096, 4096, 4096, 4096, 4096, 4096, 4096, 0));
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  EXPECT_THAT(reasons, IsEmpty());
  EXPECT_THAT(notes, ElementsAre("4 KiB: steady after 8 rounds of 2s: IO/s of the last 5 have a range of 2.0 % of "
                                 "their mean (limit 20) and a slope of -0.4 % (limit 10)."));
}

TEST(SteadyRounds, EndAtTheirLimitAndSayWhatWasMissing) {
  SteadyRounds rounds = RoundsOf({4096}, 6);
  EXPECT_THAT(AskedFor(rounds, {100, 110, 120, 130, 140, 150}), ElementsAre(4096, 4096, 4096, 4096, 4096, 0));
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  EXPECT_THAT(notes, IsEmpty());
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_THAT(reasons[0], HasSubstr("Not steady at 4 KiB after 6 rounds of 2s, the limit of --until-steady: "));
}

// A line can rise within the range: both halves of the rule count.
TEST(SteadyRounds, ASlopeAloneIsNotSteady) {
  SteadyRounds rounds = RoundsOf({4096}, 5);
  AskedFor(rounds, {100, 104, 108, 112, 116});
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_THAT(reasons[0],
              HasSubstr("have a range of 14.8 % of their mean (limit 20) and a slope of 14.8 % (limit 10)."));
}

// A round measures every step; they end together, with a whole round, when all are steady.
TEST(SteadyRounds, EachStepOfThePlanHasToBeSteady) {
  SteadyRounds rounds = RoundsOf({4096, 8192}, 9);
  EXPECT_THAT(AskedFor(rounds, {100, 200, 100, 300, 100, 300, 100, 300, 100, 300, 100, 300}),
              ElementsAre(8192, 4096, 8192, 4096, 8192, 4096, 8192, 4096, 8192, 4096, 8192, 0));
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  EXPECT_EQ(notes.size(), 2U);
  EXPECT_THAT(reasons, IsEmpty());
}

// What was steady and is not any more does not count.
TEST(SteadyRounds, TheLastRoundsCount) {
  SteadyRounds rounds = RoundsOf({4096, 8192}, 6);
  AskedFor(rounds, {100, 200, 100, 300, 100, 300, 100, 300, 100, 300, 400, 300});
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("8 KiB: steady after 6 rounds of 2s: ")));
  EXPECT_THAT(reasons, ElementsAre(HasSubstr("Not steady at 4 KiB after 6 rounds of 2s, the limit of --until-steady")));
}

TEST(SteadyRounds, ARoundThatWasCutShortCountsAsNone) {
  SteadyRounds rounds = RoundsOf({4096}, 9);
  AskedFor(rounds, {100, 100, 100, 100});
  v1::StepReport cut = SteadyRound(5, 100);
  cut.set_cut_short("interrupted");
  rounds.OnStep(cut);
  EXPECT_TRUE(rounds.NextStep().has_value());
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  EXPECT_THAT(reasons, ElementsAre("Not steady at 4 KiB after 4 rounds of 2s: SNIA's rule needs 5 rounds."));
}

TEST(SteadyRounds, OfAMixedRunCountReadsAndWrites) {
  SteadyRounds rounds = RoundsOf({4096}, 9);
  uint32_t number = 0;
  for (const double writes : {100.0, 200.0, 100.0, 200.0, 100.0}) {
    EXPECT_TRUE(rounds.NextStep().has_value());
    v1::StepReport step = SteadyRound(++number, writes);
    v1::OperationReport& reads = *step.add_operations();
    reads.set_name("read");
    v1::OperationScopeReport& cluster = *reads.add_scopes();
    cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
    cluster.mutable_throughput()->set_iops(300 - writes);
    rounds.OnStep(step);
  }
  EXPECT_FALSE(rounds.NextStep().has_value()) << "all rounds have 300 IO/s";
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  EXPECT_THAT(reasons, IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("4 KiB: steady after 5 rounds of 2s: ")));
}

TEST(SteadyRounds, WhatWasNeverMeasuredIsNotSteady) {
  SteadyRounds rounds = RoundsOf({4096, 8192}, 9);
  AskedFor(rounds, {100});
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(reasons, ElementsAre("Not steady at 4 KiB after 1 round of 2s: SNIA's rule needs 5 rounds.",
                                   "Not steady at 8 KiB after 0 rounds of 2s: SNIA's rule needs 5 rounds."));
}

TEST(SteadyRounds, WithoutStepsNothingIsSteady) {
  const SteadyRounds rounds = RoundsOf({}, 5);
  EXPECT_FALSE(rounds.NextStep().has_value());
  std::vector<std::string> notes;
  std::vector<std::string> reasons;
  rounds.Finish(notes, reasons);
  EXPECT_FALSE(reasons.empty()) << "nothing was shown to be steady";
}

}  // namespace
}  // namespace plimsoll
