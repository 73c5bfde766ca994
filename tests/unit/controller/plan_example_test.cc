#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_yaml.h"
#include "plimsoll/v1/plan.pb.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

TEST(PlanExample, ReadsBackAndCanBeRun) {
  const auto plan = ReadPlan(ExamplePlan(), "example.yaml");
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(ProblemsOf(*plan), IsEmpty());
  EXPECT_THAT(PlanNotes(*plan), IsEmpty());
}

TEST(PlanExample, ShowsEveryKeyWithItsHelpItsOptionAndItsLimits) {
  const std::string example = ExamplePlan();
  for (const auto* message : {v1::TestPlan::descriptor(), v1::HostSpec::descriptor(), v1::LogWorkload::descriptor()}) {
    for (int i = 0; i < message->field_count(); ++i) {
      const auto& field = *message->field(i);
      if (RuleOf(field).section()) continue;  // of another command
      EXPECT_THAT(example, HasSubstr(FieldKey(field) + ":"));
      EXPECT_THAT(example, HasSubstr("# " + RuleOf(field).help()));
      EXPECT_THAT(example, HasSubstr(Summary(field)));
      if (!RuleOf(field).flag().empty()) {
        EXPECT_THAT(example, HasSubstr("#   --" + RuleOf(field).flag()));
      }
    }
  }
}

TEST(PlanExample, APlacementReadsBackAndCanBeRunAndExplainsEachOfItsKeys) {
  const std::string example = ExamplePlacement();
  const auto plan = ReadPlan(example, "example.yaml");
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(ProblemsOf(*plan), IsEmpty());
  const auto& message = *v1::PlacedQueueManager::descriptor();
  for (int i = 0; i < message.field_count(); ++i) EXPECT_THAT(example, HasSubstr(RuleOf(*message.field(i)).help()));
}

TEST(PlanReference, TheCommittedFileIsWhatTheRulesSay) {
  const auto committed = ReadFile(absl::StrCat(PLIMSOLL_SOURCE_DIR, "/docs/plan.md"), 1 << 20);
  ASSERT_THAT(committed, IsOk());
  EXPECT_EQ(*committed, PlanReference()) << "make it again with: plimsoll plan reference > docs/plan.md";
}

}  // namespace
}  // namespace plimsoll
