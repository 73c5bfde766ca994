// Entries and returns become calls only where they certainly belong together.
#include <gtest/gtest.h>

#include <vector>

#include "agent/watch/call_pairing.h"
#include "tests/testing.h"
#include "tests/unit/agent/watch_records.h"

namespace plimsoll {
namespace {

using Kind = PerfRecord::Kind;

class CallPairingTest : public ::testing::Test {
 protected:
  void Take(const std::vector<PerfRecord>& records) {
    for (const PerfRecord& record : records) {
      pairing_.Take(record, [this](const CompletedCall& call) { calls_.push_back(call); });
    }
  }
  // Start and end of each call.
  std::vector<std::pair<int64_t, int64_t>> Times() const {
    std::vector<std::pair<int64_t, int64_t>> times;
    for (const CompletedCall& call : calls_) times.emplace_back(call.start_ns, call.end_ns);
    return times;
  }

  CallPairing pairing_;
  std::vector<CompletedCall> calls_;
};

TEST_F(CallPairingTest, PairsNeighboursOfOneThread) {
  Take({Enter(10, 1, SYS_pwrite64, 7, 0, 4096, 8192), Exit(30, 1, SYS_pwrite64, 4096)});
  ASSERT_EQ(calls_.size(), 1U);
  EXPECT_EQ(calls_[0].start_ns, 10);
  EXPECT_EQ(calls_[0].end_ns, 30);
  EXPECT_EQ(calls_[0].args[3], 8192U);
  EXPECT_EQ(calls_[0].result, 4096);
  EXPECT_EQ(pairing_.unpaired(), 0U);
}

TEST_F(CallPairingTest, KeepsInterleavedThreadsApartAndReportsThemInTheOrderOfTheirEnds) {
  Take({Enter(10, 1, SYS_write), Enter(12, 2, SYS_write), Exit(20, 2, SYS_write), Exit(30, 1, SYS_write)});
  EXPECT_THAT(Times(), ElementsAre(Pair(12, 20), Pair(10, 30)));
}

TEST_F(CallPairingTest, PairsNothingAcrossAMissingReturn) {
  Take({Enter(10, 1, SYS_write), Enter(20, 1, SYS_write), Exit(30, 1, SYS_write)});
  EXPECT_THAT(Times(), ElementsAre(Pair(20, 30)));
  EXPECT_EQ(pairing_.unpaired(), 1U);
}

TEST_F(CallPairingTest, PairsNothingAcrossAMissingEntry) {
  Take({Enter(10, 1, SYS_write), Exit(30, 1, SYS_fsync), Exit(40, 1, SYS_write)});
  EXPECT_THAT(Times(), IsEmpty());
  EXPECT_EQ(pairing_.unpaired(), 2U);
}

TEST_F(CallPairingTest, DoesNotCountTheReturnOfACallThatHadBegunBeforeTheWatch) {
  Take({Exit(5, 1, SYS_fcntl), Enter(10, 1, SYS_write), Exit(30, 1, SYS_write)});
  EXPECT_THAT(Times(), ElementsAre(Pair(10, 30)));
  EXPECT_EQ(pairing_.unpaired(), 0U);
}

TEST_F(CallPairingTest, ForgetsWhatHadBegunBeforeTheEndOfAGap) {
  // Had the return at 30 and the entry at 40 been lost, the entry at 10 would pair with the return at 60.
  Take({Enter(10, 1, SYS_write), Border(Kind::kGapBegin, 20), Enter(45, 2, SYS_write), Border(Kind::kGapEnd, 50),
        Exit(60, 1, SYS_write), Exit(61, 2, SYS_write), Enter(70, 1, SYS_write), Exit(80, 1, SYS_write)});
  EXPECT_THAT(Times(), ElementsAre(Pair(70, 80)));
  EXPECT_EQ(pairing_.unpaired(), 4U);
}

TEST_F(CallPairingTest, WaitsForTheEndOfEveryGapThatOverlaps) {
  Take({Border(Kind::kGapBegin, 10), Border(Kind::kGapBegin, 20), Border(Kind::kGapEnd, 30), Enter(35, 1, SYS_write),
        Exit(36, 1, SYS_write), Border(Kind::kGapEnd, 40), Enter(50, 1, SYS_write), Exit(60, 1, SYS_write)});
  EXPECT_THAT(Times(), ElementsAre(Pair(50, 60)));
}

TEST_F(CallPairingTest, TakesAThreadThatIsReportedTwiceOnce) {
  // It inherited the events of thread 1 and has some of its own.
  PerfRecord inherited_enter = Enter(10, 2, SYS_write);
  PerfRecord inherited_exit = Exit(20, 2, SYS_write);
  inherited_enter.owner = inherited_exit.owner = 1;
  Take({inherited_enter, Enter(10, 2, SYS_write), inherited_exit, Exit(20, 2, SYS_write)});
  EXPECT_THAT(Times(), ElementsAre(Pair(10, 20)));
  EXPECT_EQ(pairing_.unpaired(), 0U);
}

TEST_F(CallPairingTest, PairsFunctionsApartFromTheSystemCallsInThem) {
  Take({CallEnter(10, 1, 0, 2048), Enter(12, 1, SYS_write), Exit(14, 1, SYS_write), CallReturn(20, 1, 0)});
  ASSERT_EQ(calls_.size(), 2U);
  EXPECT_FALSE(calls_[0].function);
  EXPECT_TRUE(calls_[1].function);
  EXPECT_EQ(calls_[1].args[0], 2048U);
}

TEST_F(CallPairingTest, ForgetsTheCallsOfAProcessThatStartsAnotherProgram) {
  PerfRecord exec = Enter(15, 1, 0);
  exec.kind = Kind::kExec;
  Take({Enter(10, 1, SYS_write), exec, Exit(20, 1, SYS_write)});
  EXPECT_THAT(Times(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll
