// What the text report says of a step's stalls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/units.h"
#include "controller/render/text.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class TextStallsTest : public ::testing::Test {
 protected:
  TextStallsTest() {
    stalls_.set_threshold_ns(100 * kNsPerMs);
    stalls_.set_threshold_by_median(true);
    SetUsed(100 * kNsPerMs, 100 * kNsPerMs);
  }
  void SetUsed(int64_t least_ns, int64_t largest_ns) {
    stalls_.set_least_threshold_ns(least_ns);
    stalls_.set_largest_threshold_ns(largest_ns);
  }
  // One stall of a writer that holds so many writes.
  void AddStall(uint64_t writes) {
    stalls_.set_count(stalls_.count() + 1);
    v1::StallReport& stall = *stalls_.add_stalls();
    stall.set_stall_class(v1::STALL_CLASS_ONE_HOST);
    stall.add_hosts("alpha");
    stall.set_length_ns(60 * kNsPerSecond);
    stall.add_writers()->set_writes(writes);
  }
  // As one line.
  std::string Text() const {
    v1::StepReport step;
    *step.mutable_stalls() = stalls_;
    std::string text;
    for (const std::string& line : TextStalls(v1::Report(), step)) {
      for (const char character : line + " ") {
        if (character != ' ' || !text.ends_with(' ')) text += character;
      }
    }
    return text;
  }

  v1::StallsReport stalls_;
};

TEST_F(TextStallsTest, TheThresholdsThatWereUsedAreNamed) {
  EXPECT_THAT(
      Text(),
      HasSubstr("No stalls: no write was in flight or overdue for 100 ms (or 20x median, whichever is greater)"));
  SetUsed(100 * kNsPerMs, 615 * kNsPerMs);
  EXPECT_THAT(Text(),
              HasSubstr("for 100.000 ms to 615.000 ms (100 ms or 20x the writer's median, whichever is greater)"));
  SetUsed(615 * kNsPerMs, 615 * kNsPerMs);
  EXPECT_THAT(Text(), HasSubstr("for 615.000 ms (20x median, which is greater than 100 ms)"));
  stalls_.set_threshold_by_median(false);
  SetUsed(100 * kNsPerMs, 100 * kNsPerMs);
  EXPECT_THAT(Text(), HasSubstr("overdue for 100 ms "));
}

TEST_F(TextStallsTest, WhereIntervalsAreLeftOutItIsNotSaidThatThereWasNoStall) {
  stalls_.set_left_out(12);
  EXPECT_THAT(Text(), Not(HasSubstr("No stall")));
  EXPECT_THAT(Text(), HasSubstr("none known"));
  EXPECT_THAT(Text(), HasSubstr("12 possible stall intervals are not counted"));
}

TEST_F(TextStallsTest, HowManyWritesAnIntervalHoldsIsShownWhereItIsMoreThanOne) {
  AddStall(1);
  EXPECT_THAT(Text(), Not(HasSubstr("writes")));
  AddStall(10'000);
  EXPECT_THAT(Text(), HasSubstr("60,000 10,000 0.000"));
  EXPECT_THAT(Text(), HasSubstr("writes: the most writes in one writer"));
}

}  // namespace
}  // namespace plimsoll
