// How hosts are prepared: who sees whose directories, and whether the storage has room for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing.h"
#include "tests/unit/run/coordinator_fixture.h"

namespace plimsoll::tests {
namespace {

// Two hosts with kernels of their own, and 1.5 times the space that one of them needs.
class CoordinatorSpaceTest : public CoordinatorTest {
 protected:
  CoordinatorSpaceTest() {
    plan_.mutable_workload()->set_file_size_bytes(kNeeded);
    plan_.mutable_workload()->set_num_files(1);
    for (size_t i = 0; i < scripts_.size(); ++i) {
      scripts_[i].boot_id = scripts_[i].name;
      scripts_[i].total_bytes = 10 * kNeeded;
      scripts_[i].free_bytes = kNeeded * 3 / 2 + i;
      scripts_[i].on_preparing = [this, i](const std::string& what) {
        sequence_.push_back(scripts_[i].name + " " + what);
        times_.push_back(clock_.Now());
      };
    }
  }

  static constexpr uint64_t kNeeded = uint64_t{64} << 20;
  std::vector<std::string> sequence_;
  std::vector<MonotonicNs> times_;
};

TEST_F(CoordinatorSpaceTest, NothingIsFilledBeforeEveryHostHasLookedForAllDirectories) {
  scripts_[0].visible_hosts = {"alpha"};
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(sequence_, ElementsAre("alpha prepare", "beta prepare", "alpha look", "beta look", "alpha look",
                                     "beta look", "alpha fill", "beta fill"))
      << "what share no storage look a second time";
}

TEST_F(CoordinatorSpaceTest, HostsThatSeeOneAnotherAreSummedBeforeAnythingIsFilled) {
  for (FakeScript& script : scripts_) script.visible_hosts = {"alpha", "beta"};
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kWrong);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("alpha, beta: the storage that they share (they see one another's "
                                                    "run directories) below /fake has ")));
  EXPECT_THAT(sequence_, ElementsAre("alpha prepare", "beta prepare", "alpha look", "beta look"));
  for (const FakeDiary& diary : diaries_) EXPECT_THAT(diary, Contains("release"));
}

TEST_F(CoordinatorSpaceTest, ItIsEnoughThatOneOfThemSeesTheOther) {
  scripts_[1].visible_hosts = {"alpha", "beta"};
  EXPECT_TRUE(Run().has_value());
  EXPECT_THAT(sequence_, Not(Contains("alpha fill")));
}

TEST_F(CoordinatorSpaceTest, ASecondLookFindsWhatTheFirstDidNot) {
  const auto note = scripts_[0].on_preparing;
  int looks = 0;
  scripts_[0].on_preparing = [&, note](const std::string& what) {
    note(what);
    if (what == "look" && ++looks == 2) scripts_[0].visible_hosts = {"alpha", "beta"};
  };
  EXPECT_TRUE(Run().has_value());
  EXPECT_THAT(sequence_, Not(Contains("beta fill")));
}

TEST_F(CoordinatorSpaceTest, WhatMustStayFreeIsPartOfTheSum) {
  scripts_[1].min_free_bytes = kNeeded;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("beta: the storage below /fake has ")));
  EXPECT_THAT(failure->lines.front(), HasSubstr("free (--min-free)"));
}

TEST_F(CoordinatorSpaceTest, TheStorageHasItsTimeToSettleBeforeTheFirstStep) {
  plan_.set_settle_ns(300 * kNsPerMs);
  MonotonicNs armed;
  scripts_[1].on_running = [&] { armed = clock_.Now(); };
  EXPECT_FALSE(Run().has_value());
  EXPECT_GE(armed - times_.back(), 300 * kNsPerMs);
}

}  // namespace
}  // namespace plimsoll::tests
