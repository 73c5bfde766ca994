#include "agent/server/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class StillClock final : public Clock {
 public:
  MonotonicNs Now() const override { return now; }
  WallNs WallNow() const override { return {}; }
  void SleepUntil(MonotonicNs /*moment*/) const override {}
  bool WaitUntil(Mutex& /*mutex*/, CondVar& /*changed*/, MonotonicNs /*moment*/) const override { return false; }

  MonotonicNs now{1'000'000'000'000};
};

class RefusalsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Take() { return std::exchange(lines_, {}); }
  void Pass(int64_t ns) {
    clock_.now = clock_.now + ns;
    refusals_.Tick();
  }

  StillClock clock_;
  std::vector<std::string> lines_;
  Refusals refusals_{clock_, [this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(RefusalsTest, ReportsTheFirstAtOnceAndSumsTheRest) {
  for (int i = 0; i < 7; ++i) refusals_.Add("10.0.0.5", absl::StrCat("10.0.0.5:", 4000 + i), "no certificate");
  EXPECT_THAT(Take(), ElementsAre("refused 10.0.0.5:4000: no certificate"));
  Pass(Refusals::kPeriodNs - 1);
  EXPECT_THAT(Take(), IsEmpty());
  Pass(1);
  EXPECT_THAT(Take(), ElementsAre("refused 10.0.0.5 6 more times: no certificate"));
  Pass(Refusals::kPeriodNs);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(RefusalsTest, ReasonsAndPeersAreSummedApart) {
  refusals_.Add("a", "a:1", "x");
  refusals_.Add("a", "a:2", "y");
  refusals_.Add("b", "b:1", "x");
  EXPECT_THAT(Take(), ElementsAre("refused a:1: x", "refused a:2: y", "refused b:1: x"));
}

TEST_F(RefusalsTest, OneThatComesAgainLaterIsNewsAgain) {
  refusals_.Add("a", "a:1", "x");
  Pass(2 * Refusals::kPeriodNs);
  refusals_.Add("a", "a:2", "x");
  EXPECT_THAT(Take(), ElementsAre("refused a:1: x", "refused a:2: x"));
}

TEST_F(RefusalsTest, NoMoreLinesThanItsShareWhoeverComes) {
  for (int i = 0; i < 100'000; ++i) {
    const std::string who = absl::StrCat("peer", i);
    refusals_.Add(who, who, "x");
  }
  EXPECT_THAT(Take(), SizeIs(Refusals::kLinesPerPeriod));
  // What was not told comes bit by bit, and nothing is lost: each pair once, and the rest as one sum.
  size_t told = Refusals::kLinesPerPeriod;
  bool others = false;
  for (int i = 0; i < 100; ++i) {
    Pass(Refusals::kPeriodNs);
    const auto lines = Take();
    EXPECT_LE(lines.size(), static_cast<size_t>(Refusals::kLinesPerPeriod));
    for (const std::string& line : lines) {
      const bool sum =
          line == absl::StrCat("refused other peers ", 100'000 - Refusals::kMaxPairs, " more times: various reasons");
      others |= sum;
      told += sum ? 0 : 1;
    }
  }
  EXPECT_EQ(told, Refusals::kMaxPairs);
  EXPECT_TRUE(others);
}

TEST(PlainText, HasNothingThatDisturbsALog) {
  EXPECT_EQ(PlainText("it's fine"), "it's fine");
  EXPECT_EQ(PlainText("a\nb\x1b[2J\xc3"), "a\\x0ab\\x1b[2J\\xc3");
  EXPECT_LE(PlainText(std::string(1 << 20, '\n')).size(), 1600U);
}

}  // namespace
}  // namespace plimsoll
