// Each run with a planted fault gets the verdict that it deserves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/analysis/planted_scenarios.h"

namespace plimsoll::tests {
namespace {

// Everything that a reader of the verdict sees.
std::string TextOf(const v1::VerdictReport& verdict) {
  std::string text = verdict.remark();
  for (const v1::CriterionReport& one : verdict.criteria()) {
    absl::StrAppend(&text, "\n", v1::Outcome_Name(one.outcome()), " ", one.criterion(), ": ", one.value_text(), " ",
                    one.host(), "/qm", one.qm(), " ", one.reason());
  }
  for (const std::string& reason : verdict.reasons()) absl::StrAppend(&text, "\n", reason);
  return text;
}

class PlantedVerdict : public ::testing::TestWithParam<Scenario> {};

TEST_P(PlantedVerdict, IsTheRightOneWithItsReason) {
  const Scenario& scenario = GetParam();
  const v1::VerdictReport verdict = Analyze(scenario.make()).verdict();
  const std::string text = TextOf(verdict);
  EXPECT_EQ(v1::Outcome_Name(verdict.outcome()), v1::Outcome_Name(scenario.outcome)) << text;
  for (const std::string& word : scenario.words) EXPECT_THAT(text, HasSubstr(word));
}

std::string NameOf(const ::testing::TestParamInfo<Scenario>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(PassWouldBeWrong, PlantedVerdict, ::testing::ValuesIn(PassWouldBeWrong()), NameOf);
INSTANTIATE_TEST_SUITE_P(FailWouldBeWrong, PlantedVerdict, ::testing::ValuesIn(FailWouldBeWrong()), NameOf);

TEST(PlantedRemark, AMissedRateIsSaidWhereThereIsNoCriterion) {
  const v1::VerdictReport verdict = Analyze(Journal(OpenLoop(200, {}))).verdict();
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_DONE);
  EXPECT_THAT(verdict.remark(), HasSubstr("target rate missed: 20.00 %"));
}

TEST(PlantedRemark, ARateThatAHostShortOfCpuMissedIsSaidWithItsCause) {
  SimRun run = ShortOfCpu({});
  for (SimHost& host : run.hosts) host.rate_per_second = 200;
  const v1::VerdictReport verdict = Analyze(Journal(run)).verdict();
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_DONE);
  EXPECT_THAT(verdict.remark(), ::testing::MatchesRegex("achieved [0-9.]+ % of the target rate \\(step 1, h2/qm1: the "
                                                        "load generator may be CPU-bound.*\\)"));
}

}  // namespace
}  // namespace plimsoll::tests
