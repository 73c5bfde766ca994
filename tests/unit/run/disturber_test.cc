// Commands that disturb the storage: when they start, and that what they did is undone, in virtual time.
#include "controller/run/disturber.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "common/units.h"
#include "controller/live/live_feed.h"
#include "controller/live/run_log.h"
#include "tests/testing.h"
#include "tests/unit/run/fake_commands.h"
#include "tests/virtual_clock.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kStepNs = 60 * kNsPerSecond;

class DisturberTest : public ::testing::Test {
 protected:
  DisturberTest() {
    log_.Watch([this](const v1::JournalRecord& record) { records_.push_back(record); });
  }

  // `do` is "break NAME", `undo` "fix NAME".
  v1::Disturbance& Add(const std::string& name, int64_t at_s, int64_t hold_s) {
    v1::Disturbance& one = *plan_.add_disturb();
    one.set_name(name);
    one.set_at_ns(at_s * kNsPerSecond);
    one.set_hold_ns(hold_s * kNsPerSecond);
    one.set_command_limit_ns(20 * kNsPerSecond);
    one.add_do_("break");
    one.add_do_(name);
    one.add_undo("fix");
    one.add_undo(name);
    return one;
  }

  Disturber& Begin() {
    start_ = clock_.Now();
    Disturber& disturber = disturber_.emplace(Disturber::Options{
        plan_, &commands_, &clock_, &log_, &feed_, [this](const std::string& text) { said_.push_back(text); }});
    disturber.Begin(start_, start_ + kStepNs);
    return disturber;
  }

  // Lets time pass until so long after the start, with each update at its moment.
  void PassUntil(int64_t offset_ns) {
    const MonotonicNs until = start_ + offset_ns;
    while (disturber_->next_update() <= until) {
      clock_.SleepUntil(std::max(disturber_->next_update(), clock_.Now()));
      disturber_->Update(clock_.Now());
    }
    clock_.SleepUntil(until);
  }

  // The commands and how long after the start they were started, to the tenth of a second.
  std::vector<std::pair<std::string, int64_t>> StartedAt() const {
    std::vector<std::pair<std::string, int64_t>> at;
    for (const FakeCommands::Started& one : commands_.started) {
      at.emplace_back(one.command, (one.at - start_) / (100 * kNsPerMs));
    }
    return at;
  }

  // Errors that the journal has of commands that ended, by command.
  std::vector<std::tuple<uint32_t, bool, std::string>> Ends() const {
    std::vector<std::tuple<uint32_t, bool, std::string>> ends;
    for (const v1::JournalRecord& record : records_) {
      const v1::DisturbCommandDone& done = record.disturb().command_done();
      if (record.disturb().has_command_done()) ends.emplace_back(done.disturbance(), done.undo(), done.error());
    }
    return ends;
  }

  VirtualClock clock_;
  RunLog log_{nullptr, clock_};
  LiveFeed feed_;
  FakeCommands commands_{clock_};
  v1::TestPlan plan_;
  std::optional<Disturber> disturber_;
  MonotonicNs start_;
  std::vector<v1::JournalRecord> records_;
  std::vector<std::string> said_;
};

TEST_F(DisturberTest, UndoStartsTheHoldAfterTheEndOfDo) {
  Add("a", 10, 5);
  Add("b", 30, 2);
  commands_.ends["break a"] = {.length_ns = 3 * kNsPerSecond};
  Begin();
  PassUntil(kStepNs);
  EXPECT_THAT(StartedAt(), ElementsAre(std::pair("break a", 100), std::pair("fix a", 180), std::pair("break b", 300),
                                       std::pair("fix b", 320)));
  EXPECT_THAT(Ends(), ElementsAre(std::tuple(0U, false, ""), std::tuple(0U, true, ""), std::tuple(1U, false, ""),
                                  std::tuple(1U, true, "")));
  EXPECT_TRUE(disturber_->idle());
  ASSERT_FALSE(records_.empty());
  EXPECT_TRUE(records_[0].disturb().has_command()) << "before the command starts";
  EXPECT_EQ(records_[0].time_ns(), (start_ + 10 * kNsPerSecond).value);
  EXPECT_THAT(said_, ::testing::Contains("disturbance 'a': do started"));
}

TEST_F(DisturberTest, WhatIsDueWhileAnotherOneIsNotUndoneStartsAfterIt) {
  Add("a", 10, 5);
  Add("b", 16, 5);
  commands_.ends["break a"] = {.length_ns = 4 * kNsPerSecond};
  commands_.ends["fix a"] = {.length_ns = 2 * kNsPerSecond};
  Begin();
  PassUntil(kStepNs);
  EXPECT_THAT(StartedAt(), ElementsAre(std::pair("break a", 100), std::pair("fix a", 190), std::pair("break b", 210),
                                       std::pair("fix b", 260)));
}

TEST_F(DisturberTest, ACommandThatTakesTooLongIsKilledAndUndone) {
  Add("a", 10, 1);
  commands_.ends["break a"] = {.length_ns = 3600 * kNsPerSecond};
  Begin();
  PassUntil(kStepNs);
  EXPECT_THAT(StartedAt(), ElementsAre(std::pair("break a", 100), std::pair("fix a", 310)));
  EXPECT_TRUE(commands_.started[0].killed);
  EXPECT_TRUE(commands_.started[0].left) << "a process that does not end must not hold up the run";
  EXPECT_THAT(Ends(), ElementsAre(std::tuple(0U, false, "killed after 20s (command_limit)"), std::tuple(0U, true, "")));
}

TEST_F(DisturberTest, ADoThatFailsIsUndoneAndOneThatCannotBeStartedIsNot) {
  Add("a", 10, 1);
  Add("b", 20, 1);
  commands_.ends["break a"] = {.error = "exit code 1"};
  commands_.ends["break b"] = {.not_started = "start break: No such file or directory (2)"};
  Begin();
  PassUntil(kStepNs);
  EXPECT_THAT(commands_.Names(), ElementsAre("break a", "fix a"));
  EXPECT_THAT(Ends(), ElementsAre(std::tuple(0U, false, "exit code 1"), std::tuple(0U, true, ""),
                                  std::tuple(1U, false, "start break: No such file or directory (2)")));
  EXPECT_TRUE(disturber_->idle());
}

TEST_F(DisturberTest, AStepThatEndsDuringTheHoldIsUndoneAtOnceAndNothingMoreIsDone) {
  Add("a", 10, 30);
  Add("b", 50, 1);
  Begin();
  PassUntil(20 * kNsPerSecond);
  EXPECT_FALSE(disturber_->idle());
  disturber_->Finish();
  PassUntil(kStepNs);
  EXPECT_THAT(StartedAt(), ElementsAre(std::pair("break a", 100), std::pair("fix a", 200)));
  EXPECT_TRUE(disturber_->idle());
}

TEST_F(DisturberTest, AStepThatEndsWhileDoRunsIsUndoneAsSoonAsThatHasEnded) {
  Add("a", 10, 30);
  commands_.ends["break a"] = {.length_ns = 5 * kNsPerSecond};
  Begin();
  PassUntil(12 * kNsPerSecond);
  disturber_->Finish();
  PassUntil(kStepNs);
  EXPECT_THAT(StartedAt(), ElementsAre(std::pair("break a", 100), std::pair("fix a", 150)));
  EXPECT_FALSE(commands_.started[0].killed);
}

// Writes that hang because of it end only then, and the step waits for them.
TEST_F(DisturberTest, AtTheEndOfTheMeasuredTimeUndoWaitsNoLonger) {
  Add("a", 10, 40);
  commands_.ends["break a"] = {.length_ns = 15 * kNsPerSecond};
  Begin();
  PassUntil(kStepNs + kNsPerSecond);
  EXPECT_THAT(StartedAt(), ElementsAre(std::pair("break a", 100), std::pair("fix a", 600)));
}

TEST_F(DisturberTest, WhatIsStillDueAtTheEndOfTheMeasuredTimeIsNotDone) {
  Add("a", 10, 1);
  Add("b", 30, 1);
  commands_.ends["break a"] = {.length_ns = 19 * kNsPerSecond};
  commands_.ends["fix a"] = {.length_ns = 19 * kNsPerSecond};
  plan_.mutable_disturb(1)->set_at_ns(kStepNs);
  Begin();
  PassUntil(kStepNs + kNsPerSecond);
  EXPECT_THAT(commands_.Names(), ElementsAre("break a", "fix a"));
  EXPECT_TRUE(disturber_->idle());
}

TEST_F(DisturberTest, AProgramThatExitsAtOnceStartsUndoAndLeavesItRunning) {
  Add("a", 10, 30);
  commands_.ends["fix a"] = {.length_ns = 5 * kNsPerSecond};
  Begin();
  PassUntil(20 * kNsPerSecond);
  disturber_->Leave();
  disturber_.reset();
  EXPECT_THAT(commands_.Names(), ElementsAre("break a", "fix a"));
  EXPECT_TRUE(commands_.started[1].left);
  EXPECT_FALSE(commands_.started[1].killed);
}

TEST_F(DisturberTest, AProgramThatExitsAtOnceKillsDoAndStartsUndo) {
  Add("a", 10, 30);
  commands_.ends["break a"] = {.length_ns = 10 * kNsPerSecond};
  Begin();
  PassUntil(12 * kNsPerSecond);
  disturber_->Leave();
  EXPECT_THAT(commands_.Names(), ElementsAre("break a", "fix a"));
  EXPECT_TRUE(commands_.started[0].killed);
  EXPECT_TRUE(commands_.started[1].left);
  EXPECT_THAT(Ends(), ElementsAre(std::tuple(0U, false, "killed: interrupted")));
}

TEST_F(DisturberTest, AnExceptionThatEndsTheRunUndoes) {
  Add("a", 10, 30);
  Begin();
  PassUntil(20 * kNsPerSecond);
  disturber_.reset();
  EXPECT_THAT(commands_.Names(), ElementsAre("break a", "fix a"));
  EXPECT_TRUE(commands_.started[1].left);
}

TEST_F(DisturberTest, AnUndoThatCannotBeStartedForLackOfMemoryIsTriedAgain) {
  Add("a", 10, 5);
  commands_.ends["fix a"] = {.length_ns = kNsPerSecond, .without_memory = 50};
  Begin();
  PassUntil(kStepNs);
  // 50 times 20 ms after its time.
  EXPECT_THAT(StartedAt(), ElementsAre(std::pair("break a", 100), std::pair("fix a", 160)));
  EXPECT_THAT(Ends(), ElementsAre(std::tuple(0U, false, ""), std::tuple(0U, true, "")));
  const auto begun = std::ranges::count_if(
      records_, [](const v1::JournalRecord& record) { return record.disturb().command().undo(); });
  EXPECT_EQ(begun, 1) << "one command, however often it was tried";
  EXPECT_THAT(disturber_->not_undone(), ::testing::IsEmpty());
}

TEST_F(DisturberTest, WhatWasNotUndoneIsKeptWithTheCommandToRunByHand) {
  Add("a", 6, 1);
  Add("b c", 30, 1);
  commands_.ends["fix a"] = {.length_ns = 3600 * kNsPerSecond};
  commands_.ends["fix b c"] = {.without_memory = INT64_MAX};
  Begin();
  PassUntil(2 * kStepNs);
  EXPECT_TRUE(disturber_->idle());
  const std::vector<std::string> lines = disturber_->not_undone();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "not undone: run by hand: fix a (disturbance 'a', undo: killed after 20s (command_limit))");
  EXPECT_EQ(lines[1],
            "not undone: run by hand: fix 'b c' (disturbance 'b c', undo: start fix: Cannot allocate memory (12))");
  std::vector<std::string> notes;
  for (const v1::JournalRecord& record : records_) {
    if (record.has_note()) notes.push_back(record.note().text());
  }
  EXPECT_EQ(notes, lines);
}

TEST_F(DisturberTest, BeforeTheMeasuredTimeNothingIsDone) {
  Add("a", 10, 1);
  Disturber disturber({plan_, &commands_, &clock_, &log_, &feed_, [](const std::string&) {}});
  EXPECT_EQ(disturber.next_update(), MonotonicNs{INT64_MAX});
  disturber.Update(clock_.Now());
  disturber.Finish();
  disturber.Leave();
  EXPECT_TRUE(disturber.idle());
  EXPECT_THAT(commands_.started, ::testing::IsEmpty());
}

}  // namespace
}  // namespace plimsoll::tests
