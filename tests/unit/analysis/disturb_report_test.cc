// What the journal of a run shows of its disturbances: pauses, when the load is as before, and lost writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/judge.h"
#include "controller/disturb/load_seconds.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

constexpr int64_t kDisturbedWriteNs = 5 * kNsPerMs;
constexpr int64_t kDisturbedStepNs = 30 * kNsPerSecond;
// Of each log: more than are written.
constexpr uint64_t kLogBlocks = 100'000;

int64_t Seconds(double seconds) {
  return static_cast<int64_t>(seconds * static_cast<double>(kNsPerSecond));
}

// A command of a disturbance, from the beginning of the measured time.
struct SimCommand {
  uint32_t disturbance = 0;
  bool undo = false;
  double begin_s = 0;
  double length_s = 0.1;
  std::string error = {};
  bool ends = true;
};

// Two hosts with a queue manager each, whose writes take 5 ms; beta's in flight during the stalls last until their
// ends.
SimRun RunWithStalls(const std::vector<SimStall>& stalls) {
  SimRun run;
  run.duration_ns = kDisturbedStepNs;
  const auto usual = [](uint64_t /*number*/, int64_t /*start_ns*/) { return kDisturbedWriteNs; };
  for (const char* label : {"alpha", "beta"}) {
    SimHost host;
    host.label = label;
    host.clock_ahead_ns = run.hosts.empty() ? 0 : 7'000 * kNsPerSecond;
    host.steps = {
        {ClosedLoop(kDisturbedStepNs, 1'000,
                    run.hosts.empty() ? std::function<int64_t(uint64_t, int64_t)>(usual) : WithStalls(usual, stalls))}};
    run.hosts.push_back(host);
  }
  return run;
}

// The answer of a host that has lost nothing.
v1::HostReadBack WholeReadBack(const std::vector<v1::JournalRecord>& records, uint32_t host) {
  v1::HostReadBack read_back;
  read_back.set_host(host);
  for (const v1::JournalRecord& record : records) {
    if (!record.has_step_done() || record.step_done().host() != host) continue;
    for (const v1::WriterTotals& totals : record.step_done().done().writers()) {
      v1::WriterReadBack& writer = *read_back.mutable_done()->add_writers();
      writer.set_qm(totals.qm());
      writer.set_acknowledged_writes(totals.writes());
      writer.set_blocks(kLogBlocks);
      writer.set_written_blocks(std::min(totals.writes(), kLogBlocks));
      writer.set_read_bytes(kLogBlocks * 4096);
      writer.set_direct(true);
    }
  }
  return read_back;
}

// The journal of the run with these commands; `change` changes what each host reads back, or takes its answer away by
// returning false.
std::vector<v1::JournalRecord> DisturbedJournal(
    const SimRun& run, const std::vector<SimCommand>& commands,
    const std::function<bool(v1::HostReadBack&)>& change = [](v1::HostReadBack&) { return true; }) {
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  int64_t measured_ns = 0;
  for (v1::JournalRecord& record : records) {
    if (record.has_step_begin()) measured_ns = record.step_begin().start_ns() + run.warmup_ns;
    if (!record.has_run_begin()) continue;
    for (const SimCommand& command : commands) {
      auto& list = *record.mutable_run_begin()->mutable_plan()->mutable_disturb();
      while (list.size() <= static_cast<int>(command.disturbance)) {
        list.Add()->set_name(list.size() == 1 ? "takeover" : "snapshot");
      }
      if (command.undo) list.Mutable(static_cast<int>(command.disturbance))->add_undo("fix");
    }
  }
  const auto insert = [&records](v1::JournalRecord record) {
    const auto after = std::find_if(records.begin(), records.end(), [&record](const v1::JournalRecord& other) {
      return other.time_ns() > record.time_ns();
    });
    records.insert(after, std::move(record));
  };
  for (const SimCommand& command : commands) {
    v1::JournalRecord begin;
    begin.set_time_ns(measured_ns + Seconds(command.begin_s));
    begin.mutable_disturb()->mutable_command()->set_disturbance(command.disturbance);
    begin.mutable_disturb()->mutable_command()->set_undo(command.undo);
    insert(begin);
    if (!command.ends) continue;
    v1::JournalRecord end;
    end.set_time_ns(measured_ns + Seconds(command.begin_s + command.length_s));
    end.mutable_disturb()->mutable_command_done()->set_disturbance(command.disturbance);
    end.mutable_disturb()->mutable_command_done()->set_undo(command.undo);
    end.mutable_disturb()->mutable_command_done()->set_error(command.error);
    end.mutable_disturb()->mutable_command_done()->set_exit_code(command.error.empty() ? 0 : 1);
    insert(end);
  }
  for (uint32_t host = 0; host < run.hosts.size(); ++host) {
    v1::JournalRecord record;
    record.set_time_ns(records.back().time_ns());
    *record.mutable_disturb()->mutable_read_back() = WholeReadBack(records, host);
    if (run.hosts[host].lost_after_ns || !change(*record.mutable_disturb()->mutable_read_back())) continue;
    records.insert(records.end() - 1, record);
  }
  return records;
}

// A takeover at 10 s, and back at 20 s.
std::vector<SimCommand> Takeover() {
  return {{.begin_s = 10}, {.undo = true, .begin_s = 20}};
}

TEST(DisturbReport, APauseIsFoundWithItsQueueManagerItsLengthAndWhenTheLoadIsAsBefore) {
  const v1::Report report = Analyze(DisturbedJournal(RunWithStalls({{Seconds(10.4), Seconds(13.6)}}), Takeover()));
  ASSERT_EQ(report.disturb().disturbances_size(), 1);
  const v1::DisturbanceReport& takeover = report.disturb().disturbances(0);
  EXPECT_EQ(takeover.name(), "takeover");
  EXPECT_GE(takeover.longest_pause_ns(), Seconds(3.2));
  EXPECT_LE(takeover.longest_pause_ns(), Seconds(3.2) + kDisturbedWriteNs);
  EXPECT_EQ(takeover.pause_host(), "beta");
  EXPECT_EQ(takeover.pause_qm(), 1U);
  EXPECT_NEAR(static_cast<double>(takeover.pause_start_ns()), 0.4e9, 6e6);
  EXPECT_LT(takeover.pause_error_ns(), kNsPerMs);
  EXPECT_FALSE(takeover.pause_open());
  EXPECT_EQ(takeover.failed_writers(), 0U);
  EXPECT_EQ(takeover.observed_ns(), Seconds(20));
  EXPECT_EQ(takeover.do_().start_ns(), Seconds(10));
  EXPECT_EQ(takeover.do_().duration_ns(), Seconds(0.1));
  EXPECT_EQ(takeover.do_().longest_pause_ns(), takeover.longest_pause_ns());
  EXPECT_EQ(takeover.undo().longest_pause_ns(), kDisturbedWriteNs);
  // The pause ends in second 13.
  EXPECT_EQ(takeover.do_().recovery_ns(), Seconds(4));
  ASSERT_TRUE(takeover.undo().has_recovery_ns());
  EXPECT_EQ(takeover.undo().recovery_ns(), 0);
  EXPECT_EQ(takeover.recovery_ns(), Seconds(4));
  EXPECT_EQ(report.disturb().baseline_seconds(), 10U);
  EXPECT_NEAR(report.disturb().baseline_writes_per_second(), 400, 1);
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE);
}

TEST(DisturbReport, APauseLongAfterTheCommandCountsUntilItsEnd) {
  const v1::Report report = Analyze(DisturbedJournal(RunWithStalls({{Seconds(15.2), Seconds(17.6)}}), Takeover()));
  EXPECT_EQ(report.disturb().disturbances(0).recovery_ns(), Seconds(8)) << "not the calm seconds before it";
  EXPECT_FALSE(report.disturb().disturbances(0).do_().has_recovery_ns()) << "two calm seconds are left before undo";
}

TEST(DisturbReport, APauseOfTheUndoCountsFromItsOwnStartToo) {
  const v1::Report report = Analyze(DisturbedJournal(RunWithStalls({{Seconds(20.4), Seconds(22.6)}}), Takeover()));
  const v1::DisturbanceReport& takeover = report.disturb().disturbances(0);
  EXPECT_EQ(takeover.do_().recovery_ns(), 0);
  EXPECT_EQ(takeover.do_().longest_pause_ns(), kDisturbedWriteNs);
  EXPECT_EQ(takeover.undo().recovery_ns(), Seconds(3));
  EXPECT_EQ(takeover.recovery_ns(), Seconds(13));
  EXPECT_NEAR(static_cast<double>(takeover.pause_start_ns()), 10.4e9, 6e6);
}

TEST(DisturbReport, WhatDisturbsNothingHasNothingToRecoverFrom) {
  const v1::Report report = Analyze(DisturbedJournal(RunWithStalls({}), {{.begin_s = 10}}));
  const v1::DisturbanceReport& one = report.disturb().disturbances(0);
  ASSERT_TRUE(one.has_recovery_ns());
  EXPECT_EQ(one.recovery_ns(), 0);
  EXPECT_EQ(one.longest_pause_ns(), kDisturbedWriteNs);
  EXPECT_FALSE(one.has_undo());
}

TEST(DisturbReport, WhatIsNotOverWhenTheNextOneStartsHasNoRecovery) {
  const v1::Report report = Analyze(DisturbedJournal(RunWithStalls({{Seconds(10.4), Seconds(16)}}),
                                                     {{.begin_s = 10}, {.disturbance = 1, .begin_s = 14.5}}));
  ASSERT_EQ(report.disturb().disturbances_size(), 2);
  EXPECT_FALSE(report.disturb().disturbances(0).has_recovery_ns());
  EXPECT_EQ(report.disturb().disturbances(0).observed_ns(), Seconds(4.5));
  // The write is in flight in both.
  EXPECT_EQ(report.disturb().disturbances(0).longest_pause_ns(), report.disturb().disturbances(1).longest_pause_ns());
  EXPECT_LT(report.disturb().disturbances(1).pause_start_ns(), 0);
}

TEST(DisturbReport, ATimeTooShortForThreeSecondsInARowShowsNoRecoveryNorThatThereWasNone) {
  const std::vector<SimCommand> commands = {{.begin_s = 10}, {.undo = true, .begin_s = 12}};
  const v1::Report report = Analyze(DisturbedJournal(RunWithStalls({{Seconds(10.4), Seconds(11.2)}}), commands));
  const v1::DisturbanceReport& one = report.disturb().disturbances(0);
  EXPECT_FALSE(one.do_().has_recovery_ns());
  EXPECT_EQ(one.do_().recovery_unknown(), "observed for 2.0 s, too short for 3 seconds in a row");
  EXPECT_FALSE(one.undo().has_recovery_unknown());
  EXPECT_FALSE(one.has_recovery_unknown()) << "the undo was observed for long";
  EXPECT_EQ(one.recovery_ns(), Seconds(2));
  std::string text = RenderText(report);
  absl::RemoveExtraAsciiWhitespace(&text);
  EXPECT_THAT(text, Not(HasSubstr("> 2.0")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat(kDash, " : the next command, or")));
}

TEST(DisturbReport, WithTooFewSecondsBeforeTheFirstDisturbanceNothingIsKnownOfRecovery) {
  const v1::Report report = Analyze(DisturbedJournal(RunWithStalls({}), {{.begin_s = 2}}));
  const v1::DisturbanceReport& one = report.disturb().disturbances(0);
  EXPECT_FALSE(one.has_recovery_ns());
  EXPECT_EQ(one.recovery_unknown(), "too few seconds with writes before the first disturbance");
}

TEST(DisturbReport, AWriteThatNeverEndsIsAPauseOfAtLeastSoLong) {
  SimRun run = RunWithStalls({{Seconds(12), Seconds(60)}});
  run.hosts[1].lost_after_ns = Seconds(15);
  const v1::Report report = Analyze(DisturbedJournal(run, Takeover()));
  const v1::DisturbanceReport& takeover = report.disturb().disturbances(0);
  EXPECT_TRUE(takeover.pause_open());
  EXPECT_NEAR(static_cast<double>(takeover.longest_pause_ns()), 3e9, 10e6);
  EXPECT_EQ(takeover.pause_host(), "beta");
  EXPECT_FALSE(takeover.has_recovery_ns()) << "half of the load is gone";
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(),
              Contains("beta: its acknowledged writes were not all read back: it was lost: no message for 10 s."));
  EXPECT_THAT(RenderText(report), HasSubstr("takeover: longest pause at least 3.0"));
}

TEST(DisturbReport, AWriterThatFailsIsCountedWithItsDisturbance) {
  std::vector<v1::JournalRecord> records = DisturbedJournal(RunWithStalls({}), Takeover());
  v1::JournalRecord fault;
  for (size_t i = 0; i < records.size(); ++i) {
    if (!records[i].disturb().command().undo()) continue;
    fault.set_time_ns(records[i].time_ns());
    fault.mutable_fault()->set_host(1);
    fault.mutable_fault()->mutable_fault()->set_qm(1);
    fault.mutable_fault()->mutable_fault()->set_message("pwritev2: Input/output error (5)");
    records.insert(records.begin() + static_cast<std::ptrdiff_t>(i), fault);
    break;
  }
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.disturb().disturbances(0).failed_writers(), 1U);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(DisturbReport, ALostWriteFailsTheRunWhateverItsCriteriaAre) {
  for (const bool criteria : {false, true}) {
    SimRun run = RunWithStalls({});
    if (criteria) run.criteria = {"p50<1s"};
    const v1::Report report = Analyze(DisturbedJournal(run, Takeover(), [](v1::HostReadBack& read_back) {
      if (read_back.host() == 0) return true;
      v1::WriterReadBack& writer = *read_back.mutable_done()->mutable_writers(0);
      writer.set_lost(2);
      writer.set_torn(1);
      v1::ReadBackFinding& finding = *writer.add_findings();
      finding.set_path("/mnt/mqlog/qm1/active/S0000001.LOG");
      finding.set_offset_bytes(65536);
      finding.set_text("holds write 12 in place of 345");
      return true;
    }));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
    EXPECT_EQ(ExitCode(report), 1);
    ASSERT_GE(report.verdict().criteria_size(), 1);
    const v1::CriterionReport& lost = report.verdict().criteria(0);
    EXPECT_EQ(lost.criterion(), "lost==0");
    EXPECT_EQ(lost.outcome(), v1::OUTCOME_FAIL);
    EXPECT_EQ(lost.value_text(), "3 blocks");
    EXPECT_EQ(lost.host(), "beta");
    EXPECT_EQ(lost.reason(),
              "3 blocks do not hold the last acknowledged write; first: /mnt/mqlog/qm1/active/S0000001.LOG at offset "
              "65,536: holds write 12 in place of 345");
    EXPECT_EQ(report.verdict().criteria_size(), criteria ? 2 : 1);
    EXPECT_EQ(report.disturb().lost_blocks(), 3U);
    const std::string text = RenderText(report);
    EXPECT_THAT(text, HasSubstr("3 blocks do not hold the last acknowledged write"));
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
  }
}

TEST(DisturbReport, WhatOneAgentCountsDoesNotHideTheLossOfAnotherHost) {
  SimRun run = RunWithStalls({});
  run.criteria = {"p50<1s"};
  const v1::Report report = Analyze(DisturbedJournal(run, Takeover(), [](v1::HostReadBack& read_back) {
    if (read_back.host() == 0) {
      read_back.mutable_done()->mutable_writers(0)->set_lost(64);
      return true;
    }
    // With alpha's 64, the sum of all counts is 2^64.
    const v1::WriterReadBack whole = read_back.done().writers(0);
    for (int i = 0; i < 64; ++i) {
      v1::WriterReadBack& again = *read_back.mutable_done()->add_writers();
      again = whole;
      again.set_lost((uint64_t{1} << 58) - 1);
    }
    return true;
  }));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_FAIL);
  EXPECT_GE(report.disturb().lost_blocks(), 64U);
}

TEST(DisturbReport, ARunThatLostNothingPassesItsCriteriaAndThatOne) {
  SimRun run = RunWithStalls({{Seconds(10.4), Seconds(13.6)}});
  run.criteria = {"max<20s"};
  const v1::Report report = Analyze(DisturbedJournal(run, Takeover()));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_PASS);
  EXPECT_THAT(RenderText(report), HasSubstr("acknowledged writes, all there"));
  run.criteria = {"max<3s"};
  EXPECT_EQ(Analyze(DisturbedJournal(run, Takeover())).verdict().outcome(), v1::OUTCOME_FAIL) << "judges the pause";
}

TEST(DisturbReport, ACommandThatFailsOrDoesNotEndIsInconclusive) {
  const auto reasons_of = [](const std::vector<SimCommand>& commands) {
    const v1::Report report = Analyze(DisturbedJournal(RunWithStalls({}), commands));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
    return report.verdict().reasons();
  };
  EXPECT_THAT(reasons_of({{.begin_s = 10, .error = "exit code 255"}}),
              ElementsAre("Disturbance 'takeover': do failed: exit code 255."));
  EXPECT_THAT(reasons_of({{.begin_s = 10, .ends = false}}), ElementsAre("Disturbance 'takeover': do did not end."));
  EXPECT_THAT(reasons_of({{.begin_s = 10}, {.undo = true, .begin_s = 20, .error = "exit code 1"}}),
              ElementsAre("Disturbance 'takeover': undo failed: exit code 1."));
  // The first one was never started: the plan has two.
  EXPECT_THAT(reasons_of({{.disturbance = 1, .begin_s = 20}}),
              ElementsAre("Disturbance 'takeover': do was not started."));
}

TEST(DisturbReport, WhatWasNotReadBackPassesNothing) {
  const auto reason_of = [](const std::function<bool(v1::HostReadBack&)>& change) {
    SimRun run = RunWithStalls({});
    run.criteria = {"p50<1s"};
    const v1::Report report = Analyze(DisturbedJournal(
        run, Takeover(), [&](v1::HostReadBack& read_back) { return read_back.host() == 0 || change(read_back); }));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(report.verdict().reasons_size(), 1);
    return report.verdict().reasons().empty() ? "" : report.verdict().reasons(0);
  };
  EXPECT_THAT(reason_of([](v1::HostReadBack&) { return false; }), HasSubstr("read back: there is no answer."));
  EXPECT_THAT(reason_of([](v1::HostReadBack& read_back) {
                read_back.mutable_done()->set_error("the agent refused to read them back: busy");
                return true;
              }),
              HasSubstr("read back: the agent refused to read them back: busy."));
  EXPECT_THAT(reason_of([](v1::HostReadBack& read_back) {
                read_back.mutable_done()->clear_writers();
                return true;
              }),
              HasSubstr("there is no answer of qm1"));
  EXPECT_THAT(reason_of([](v1::HostReadBack& read_back) {
                read_back.mutable_done()->mutable_writers(0)->set_unreadable(1);
                return true;
              }),
              HasSubstr("1 block of qm1 could not be read"));
  EXPECT_THAT(reason_of([](v1::HostReadBack& read_back) {
                read_back.mutable_done()->mutable_writers(0)->set_acknowledged_writes(10);
                return true;
              }),
              HasSubstr("qm1 looked for 10 of "));
  EXPECT_THAT(reason_of([](v1::HostReadBack& read_back) {
                read_back.mutable_done()->mutable_writers(0)->set_written_blocks(7);
                return true;
              }),
              HasSubstr("qm1 did not read its whole log: 409,600,000 bytes of 100,000 blocks, 7 of them written"));
  EXPECT_THAT(reason_of([](v1::HostReadBack& read_back) {
                read_back.mutable_done()->mutable_writers(0)->set_read_bytes(4096);
                return true;
              }),
              HasSubstr("qm1 did not read its whole log: 4,096 bytes of 100,000 blocks"));
  EXPECT_THAT(reason_of([](v1::HostReadBack& read_back) {
                read_back.mutable_done()->mutable_writers(0)->set_direct(false);
                return true;
              }),
              HasSubstr("may hide a lost write"));
  EXPECT_THAT(reason_of([](v1::HostReadBack& read_back) {
                read_back.mutable_done()->set_step(3);
                return true;
              }),
              HasSubstr("the answer is about another step"));
}

TEST(DisturbReport, RecordsThatContradictOneAnotherAreLeftOutAndNamed) {
  std::vector<v1::JournalRecord> records = DisturbedJournal(RunWithStalls({}), Takeover());
  const auto command =
      std::find_if(records.begin(), records.end(), [](const auto& record) { return record.disturb().has_command(); });
  records.insert(command + 1, *command);
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(),
              Contains("Left out: a record (record of a disturbance): a command starts for the second time."));
  // A run whose plan has none.
  std::vector<v1::JournalRecord> other = MakeJournal(TwoHosts());
  v1::JournalRecord stray = other.back();
  stray.mutable_disturb()->mutable_command();
  other.insert(other.end() - 1, stray);
  EXPECT_THAT(Analyze(other).verdict().reasons(), Contains(HasSubstr("the run disturbs nothing")));
}

// Of a run whose second host's log has so many blocks, with a command 10 s after the beginning of 30 s.
v1::Report ReportOfSmallLog(uint64_t blocks) {
  SimRun run = RunWithStalls({});
  run.criteria = {"p50<1s"};
  return Analyze(DisturbedJournal(run, {{.begin_s = 10}}, [&](v1::HostReadBack& read_back) {
    if (read_back.host() == 0) return true;
    v1::WriterReadBack& writer = *read_back.mutable_done()->mutable_writers(0);
    writer.set_blocks(blocks);
    writer.set_written_blocks(blocks);
    writer.set_read_bytes(blocks * 4096);
    return true;
  }));
}

// Some 200 writes a second: 2,000 before the command, and 4,000 after it.
TEST(DisturbReport, WritesSinceTheFirstCommandThatWereOverwrittenLeaveItUndecided) {
  const v1::Report report = ReportOfSmallLog(3'000);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_INCONCLUSIVE);
  ASSERT_EQ(report.verdict().reasons_size(), 1);
  EXPECT_THAT(report.verdict().reasons(0),
              StartsWith("beta: its acknowledged writes were not all read back: qm1 wrote "));
  EXPECT_THAT(report.verdict().reasons(0),
              HasSubstr(" times since the first command, and its log has only 3,000 blocks: the earlier ones were "
                        "overwritten and could not be looked for; use a larger file_size or num_files (at least 16m "
                        "together)"));
  EXPECT_THAT(RenderText(report), Not(HasSubstr("all there")));
}

TEST(DisturbReport, WritesBeforeTheFirstCommandMayBeOverwritten) {
  const v1::Report report = ReportOfSmallLog(4'400);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(report.disturb().looked_for_writes(),
            4'400 + report.disturb().read_back(0).writers(0).acknowledged_writes());
  EXPECT_LT(report.disturb().looked_for_writes(), report.disturb().acknowledged_writes());
  EXPECT_THAT(RenderText(report), HasSubstr("Read back: the last 10,"));
}

TEST(DisturbReport, AHostThatDidNotReportTheEndOfItsStepHasNotReadEverythingBack) {
  std::vector<v1::JournalRecord> records = DisturbedJournal(RunWithStalls({}), Takeover());
  std::erase_if(records, [](const v1::JournalRecord& record) {
    return record.has_step_done() && record.step_done().host() == 1;
  });
  EXPECT_THAT(Analyze(records).verdict().reasons(), Contains(HasSubstr("did not report the end of the step")));
}

// Alpha writes 2,000 times a second, beta 200 times: what beta does changes the load by less than a tenth.
SimRun RunWithSmallShare(const std::vector<SimStall>& alpha, const std::vector<SimStall>& beta) {
  SimRun run = RunWithStalls(beta);
  const auto fast = [](uint64_t /*number*/, int64_t /*start_ns*/) { return 499 * kNsPerUs; };
  run.hosts[0].steps = {{ClosedLoop(kDisturbedStepNs, 1'000, WithStalls(fast, alpha))}};
  return run;
}

TEST(DisturbReport, APauseThatDidNotEndHasNoRecoveryHoweverSmallItsShareOfTheLoad) {
  SimRun run = RunWithSmallShare({}, {{Seconds(12), Seconds(60)}});
  run.hosts[1].lost_after_ns = Seconds(15);
  const v1::DisturbanceReport takeover = Analyze(DisturbedJournal(run, Takeover())).disturb().disturbances(0);
  EXPECT_TRUE(takeover.pause_open());
  EXPECT_TRUE(takeover.do_().pause_open());
  EXPECT_FALSE(takeover.do_().has_recovery_ns());
  EXPECT_FALSE(takeover.has_recovery_ns());
}

TEST(DisturbReport, APauseOfALostHostIsOpenBesideALongerOneThatEnded) {
  SimRun run = RunWithSmallShare({{Seconds(10.5), Seconds(15)}}, {{Seconds(12), Seconds(60)}});
  run.hosts[1].lost_after_ns = Seconds(14);
  const v1::Report report = Analyze(DisturbedJournal(run, Takeover()));
  const v1::DisturbanceReport& takeover = report.disturb().disturbances(0);
  EXPECT_EQ(takeover.pause_host(), "alpha");
  EXPECT_GE(takeover.longest_pause_ns(), Seconds(4.5));
  EXPECT_TRUE(takeover.pause_open());
  EXPECT_TRUE(takeover.do_().pause_open());
  EXPECT_THAT(RenderText(report), HasSubstr("\u2265 4.5"));
}

TEST(DisturbReport, AReadThatWasUnderWayWhenAHostWasLostIsNoPause) {
  for (const int32_t step : {-1, 0}) {
    std::vector<v1::JournalRecord> records = DisturbedJournal(RunWithStalls({}), Takeover());
    v1::JournalRecord lost;
    lost.set_time_ns(records.back().time_ns());
    lost.mutable_host_lost()->set_host(1);
    lost.mutable_host_lost()->set_step(step);
    v1::InFlight& read = *lost.mutable_host_lost()->add_in_flight();
    read.set_qm(1);
    read.set_since_ns(lost.time_ns() + 7'000 * kNsPerSecond - Seconds(12));
    read.set_age_ns(Seconds(12));
    read.set_read_percent(100);
    records.insert(records.end() - 1, lost);
    const v1::DisturbanceReport takeover = Analyze(records).disturb().disturbances(0);
    EXPECT_EQ(takeover.longest_pause_ns(), kDisturbedWriteNs) << step;
    EXPECT_TRUE(step == 0 || !takeover.pause_open());
  }
}

TEST(DisturbReport, TheShareOfTheTargetRateIsShownAndNotDemanded) {
  for (const bool criteria : {false, true}) {
    SimRun run = RunWithStalls({{Seconds(10.4), Seconds(13.6)}});
    for (SimHost& host : run.hosts) host.rate_per_second = 200;
    if (criteria) run.criteria = {"service_max<20s"};
    const v1::Report report = Analyze(DisturbedJournal(run, Takeover()));
    EXPECT_NE(report.verdict().outcome(), v1::OUTCOME_FAIL);
    for (const v1::CriterionReport& criterion : report.verdict().criteria()) {
      EXPECT_FALSE(criterion.added()) << criterion.criterion();
    }
    EXPECT_THAT(report.verdict().remark(),
                MatchesRegex("The target rate is not demanded under disturbances: [0-9.]+ % of "
                             "it in step 1, (alpha|beta)/qm1."));
    // Never in the line of the outcome and its cause.
    EXPECT_THAT(RenderText(report), HasSubstr("\n          The target rate is not demanded under disturbances: "));
  }
}

// Seconds with so many writes, of an average latency of 1 ms, but for those of `slow_ms`.
std::vector<LoadSecond> Load(const std::vector<uint64_t>& writes, const std::map<size_t, double>& slow_ms = {}) {
  std::vector<LoadSecond> seconds;
  for (const uint64_t count : writes) seconds.push_back({.writes = count, .average_ns = 1e6});
  for (const auto& [second, ms] : slow_ms) seconds[second].average_ns = ms * 1e6;
  return seconds;
}

TEST(LoadSeconds, TheBaselineIsTheRangeOfTheSecondsBeforeTheFirstDisturbance) {
  const std::vector<LoadSecond> seconds = Load({100, 90, 110, 100, 10, 0}, {{2, 1.2}});
  const auto baseline = BaselineOf(seconds, Seconds(4.7));
  ASSERT_TRUE(baseline.has_value());
  EXPECT_EQ(baseline->seconds, 4U) << "the fifth is not over";
  EXPECT_EQ(baseline->least_writes, 90U);
  EXPECT_EQ(baseline->most_average_ns, 1.2e6);
  EXPECT_EQ(baseline->writes_per_second, 100);
  EXPECT_TRUE(IsAsBefore({.writes = 81, .average_ns = 1.32e6}, *baseline));
  EXPECT_FALSE(IsAsBefore({.writes = 80, .average_ns = 1e6}, *baseline));
  EXPECT_FALSE(IsAsBefore({.writes = 500, .average_ns = 1.33e6}, *baseline)) << "a backlog is worked off";
  EXPECT_FALSE(IsAsBefore({.averaged = true, .writes = 100, .average_ns = 1e6}, *baseline));
  EXPECT_FALSE(IsAsBefore({.paused = true, .writes = 100, .average_ns = 1e6}, *baseline)) << "one of many waited";
  EXPECT_FALSE(BaselineOf(seconds, Seconds(2.9)).has_value()) << "two seconds";
  EXPECT_FALSE(BaselineOf(Load({1, 0, 1, 1}), Seconds(4)).has_value()) << "a load too small for seconds";
}

TEST(LoadSeconds, ThreeCalmSecondsInARowDecide) {
  const auto recovery = [](const std::vector<uint64_t>& after, StepTime pause = {}) {
    std::vector<uint64_t> writes = {100, 100, 100, 100};
    writes.insert(writes.end(), after.begin(), after.end());
    const std::vector<LoadSecond> seconds = Load(writes);
    return RecoveryOf(seconds, *BaselineOf(seconds, Seconds(4)), {Seconds(4.5), Seconds(4.0 + double(after.size()))},
                      pause);
  };
  EXPECT_EQ(recovery({100, 100, 100, 100}), 0);
  EXPECT_EQ(recovery({50, 100, 100, 100}), Seconds(0.5)) << "the second in which it begins counts";
  EXPECT_EQ(recovery({100, 0, 0, 100, 100, 100}), Seconds(2.5));
  EXPECT_EQ(recovery({100, 0, 100, 100, 0, 100, 100, 100}), Seconds(4.5)) << "two calm seconds are too few";
  EXPECT_EQ(recovery({100, 0, 100, 100, 100, 50, 100, 100}), Seconds(1.5)) << "one second later decides nothing";
  EXPECT_EQ(recovery({100, 50, 100, 100, 100, 0, 0, 100, 100, 100}, {Seconds(9.2), Seconds(10.8)}), Seconds(6.5))
      << "the longest pause is over first";
  EXPECT_EQ(recovery({100, 50, 100, 100, 100, 100, 100}, {Seconds(9.2), Seconds(9.3)}), Seconds(1.5))
      << "a pause that no second shows";
  EXPECT_FALSE(recovery({100, 0, 100, 100}).has_value());
  EXPECT_FALSE(recovery({0, 0, 0, 0, 0, 0}).has_value());
  EXPECT_FALSE(recovery({100, 100}).has_value()) << "too short to say";
}

TEST(LoadSeconds, WithATargetRateTheyAreThoseOfResponseTimes) {
  v1::StepReport step;
  step.set_measured_ns(Seconds(2.5));
  const auto add = [](uint64_t latency_sum_ns, auto* all) {
    v1::SeriesReport& series = *all->Add();
    series.set_kind(v1::SCOPE_KIND_CLUSTER);
    for (const uint32_t second : {0U, 1U, 2U}) {
      series.add_second(second);
      series.add_writes(10);
      series.add_latency_sum_ns(latency_sum_ns);
    }
  };
  add(10'000'000, step.mutable_series());
  EXPECT_EQ(LoadSecondsOf(step).size(), 2U) << "whole seconds";
  EXPECT_EQ(LoadSecondsOf(step)[1].average_ns, 1e6);
  add(90'000'000, step.mutable_response()->mutable_series());
  EXPECT_EQ(LoadSecondsOf(step)[1].average_ns, 9e6);
  v1::IrregularRow& row = *step.mutable_response()->mutable_series(0)->add_irregular();
  row.set_row(0);
  row.set_length_ns(Seconds(2));
  row.set_coalesced(true);
  step.mutable_response()->mutable_series(0)->mutable_second()->Set(1, 2);
  EXPECT_TRUE(LoadSecondsOf(step)[0].averaged);
  EXPECT_TRUE(LoadSecondsOf(step)[1].averaged);
}

}  // namespace
}  // namespace plimsoll
