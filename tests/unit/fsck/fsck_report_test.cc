// The report of a check as text, JSON and JUnit XML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "controller/fsck/checks.h"
#include "controller/render/json.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

v1::CheckResult Result(const std::string& name, v1::CheckRequirement requirement, v1::CheckOutcome outcome,
                       const std::string& reason = "") {
  v1::CheckResult result;
  result.set_name(name);
  result.set_requirement(requirement);
  result.set_level(v1::CHECK_LEVEL_QUICK);
  result.set_outcome(outcome);
  result.set_reason(reason);
  result.set_duration_ns(1'250'000'000);
  return result;
}

v1::CheckReport Sample() {
  v1::CheckReport report;
  report.set_format(1);
  report.set_directory("/mnt/<mq>\x1b[31m");
  report.set_level(v1::CHECK_LEVEL_QUICK);
  report.set_duration_ns(5'000'000'000);
  *report.add_checks() = Result("lock.exclusive", v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS, v1::CHECK_OUTCOME_FAIL,
                                "granted twice: \"beta\" & alpha");
  *report.add_checks() = Result("lock.wait-poll", v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE,
                                v1::CHECK_OUTCOME_UNSUPPORTED, "fcntl: No locks available (37)");
  *report.add_checks() =
      Result("data.rename-atomic", v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY, v1::CHECK_OUTCOME_PASS);
  report.mutable_checks(2)->add_evidence("50 replacements");
  *report.add_checks() = Result("data.direct-buffered-agree", v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY,
                                v1::CHECK_OUTCOME_UNSUPPORTED, "refuses O_DIRECT");
  *report.add_checks() = Result("data.order-two-files", v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY,
                                v1::CHECK_OUTCOME_UNDECIDED, "no answer");
  *report.add_checks() = Result("data.dsync-survives-server-restart", v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY,
                                v1::CHECK_OUTCOME_NOT_TESTED, "needs --level full");
  report.mutable_checks(5)->set_level(v1::CHECK_LEVEL_FULL);
  v1::CheckHost& host = *report.add_hosts();
  host.set_label("alpha");
  host.set_fs_type("nfs4");
  JudgeChecks({}, report);
  return report;
}

TEST(FsckReportTest, TheTextHasVerdictsFirstAndNamesWhatTheLevelOmits) {
  const std::string text = RenderFsckText(Sample());
  EXPECT_EQ(text.rfind("Verdict   FAIL  (level quick, /mnt/<mq>", 0), 0U) << text;
  EXPECT_THAT(text, HasSubstr("  guaranteed exclusive access  FAIL\n      lock.exclusive: granted twice"));
  EXPECT_THAT(text, HasSubstr("  data write integrity         NOT TESTED\n"));
  EXPECT_THAT(text, HasSubstr("omitted at this level: data.dsync-survives-server-restart"));
  EXPECT_THAT(text, HasSubstr("  data.rename-atomic                     pass         1.2 s\n      50 replacements"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(FsckReportTest, TheNodeOfAPodIsShownWithItsHost) {
  v1::CheckReport report = Sample();
  EXPECT_THAT(RenderFsckText(report), HasSubstr("\n  alpha: nfs4"));
  EXPECT_THAT(RenderJson(report), Not(HasSubstr("\"node\"")));
  report.mutable_hosts(0)->set_node("worker-7\x1b[2J");
  const std::string text = RenderFsckText(report);
  EXPECT_THAT(text, HasSubstr("\n  alpha on node worker-7"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(RenderJson(report), HasSubstr("\"node\": \"worker-7"));
  EXPECT_THAT(RenderJUnit(report), HasSubstr("alpha on node worker-7"));
}

TEST(FsckReportTest, TheBriefTextHasWhatDidNotPassAndEndsWithTheVerdict) {
  const std::string text = RenderFsckBrief(Sample());
  EXPECT_EQ(text.rfind("Verdict   FAIL  (level quick, /mnt/<mq>", 0), 0U) << text;
  EXPECT_THAT(text, HasSubstr("\n  guaranteed exclusive access  FAIL  lock.exclusive: granted twice"));
  EXPECT_THAT(text, HasSubstr("\nChecks    pass 1, FAIL 1, undecided 1, unsupported 2\n"
                              "  FAIL: lock.exclusive: granted twice: \"beta\" & alpha\n"));
  EXPECT_THAT(text, Not(HasSubstr("50 replacements")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, ::testing::ContainsRegex("\nFAIL   /mnt/<mq>[^\n]*\n$"));
}

TEST(FsckReportTest, TheBriefTextHasAtMostFortyLines) {
  v1::CheckReport report = Sample();
  for (int i = 0; i < 60; ++i) {
    *report.add_checks() =
        Result(absl::StrCat("lock.made-up-", i), v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS, v1::CHECK_OUTCOME_FAIL,
               absl::StrCat("reason ", i, " ", std::string(static_cast<size_t>(i), 'x')));
    report.add_notes(absl::StrCat("note ", i));
  }
  const std::string text = RenderFsckBrief(report);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << text;
  EXPECT_THAT(text, HasSubstr("more lines (--full)"));
  // Those with one reason are one sentence.
  v1::CheckReport alike = Sample();
  for (const char* name : {"lock.a", "lock.b"}) {
    *alike.add_checks() =
        Result(name, v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS, v1::CHECK_OUTCOME_NOT_TESTED, "interrupted");
  }
  EXPECT_THAT(RenderFsckBrief(alike), HasSubstr("\n  not tested: lock.a, lock.b: interrupted\n"));
}

TEST(FsckReportTest, TheJUnitSuiteIsGreenWhereTheVerdictIsPassAndNowhereElse) {
  v1::CheckReport report;
  for (int i = v1::CheckRequirement_MIN; i <= v1::CheckRequirement_MAX; ++i) {
    const auto requirement = static_cast<v1::CheckRequirement>(i);
    if (requirement == v1::CHECK_REQUIREMENT_UNSPECIFIED || requirement == v1::CHECK_REQUIREMENT_NONE) continue;
    v1::CheckRequirementResult& result = *report.add_requirements();
    result.set_requirement(requirement);
    result.set_verdict(v1::CHECK_VERDICT_PASS);
  }
  EXPECT_THAT(RenderJUnit(report), HasSubstr("tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\""));
  report.mutable_requirements(1)->set_verdict(v1::CHECK_VERDICT_NOT_TESTED);
  report.mutable_requirements(1)->add_reasons("lock.released-at-host-death: needs --level full");
  EXPECT_THAT(RenderJUnit(report), HasSubstr("tests=\"3\" failures=\"0\" errors=\"1\" skipped=\"0\""));
  EXPECT_THAT(RenderJUnit(report),
              HasSubstr("<error message=\"NOT TESTED: lock.released-at-host-death: needs --level full\"/>"));
  report.mutable_requirements(1)->set_verdict(v1::CHECK_VERDICT_FAIL);
  EXPECT_THAT(RenderJUnit(report), HasSubstr("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\""));
}

TEST(FsckReportTest, JUnitSkipsWhatWasNotTestedAndHasAnErrorForWhatIsUndecided) {
  const std::string xml = RenderJUnit(Sample());
  EXPECT_THAT(xml, HasSubstr("tests=\"9\" failures=\"4\" errors=\"2\" skipped=\"2\" time=\"5.000\""));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"fsck.exclusive_access\" name=\"lock.exclusive\" time=\"1.250\">\n"
                             "    <failure message=\"granted twice: &quot;beta&quot; &amp; alpha\"/>"));
  EXPECT_THAT(xml, HasSubstr("<error message=\"no answer\"/>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"needs --level full\"/>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"refuses O_DIRECT\"/>"));
  EXPECT_THAT(xml, HasSubstr("/mnt/&lt;mq&gt;"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"verdict\" value=\"FAIL\"/>"));
  EXPECT_THAT(xml, Not(HasSubstr("\x1b")));
}

TEST(FsckReportTest, JsonNamesVerdictsOutcomesAndRequirements) {
  const std::string json = RenderJson(Sample());
  EXPECT_THAT(json, HasSubstr("\"verdict\": \"fail\""));
  EXPECT_THAT(json, HasSubstr("\"requirement\": \"exclusive_access\""));
  EXPECT_THAT(json, HasSubstr("\"outcome\": \"undecided\""));
  EXPECT_THAT(json, HasSubstr("\"omitted\": ["));
}

}  // namespace
}  // namespace plimsoll
