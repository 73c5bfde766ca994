// What the analysis makes of journals of runs that went wrong, and of journals that are wrong themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "controller/analysis/analyzer.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

using Change = std::function<void(v1::JournalRecord&)>;

// The journal with a change made to every record.
std::vector<v1::JournalRecord> Changed(const SimRun& run, const Change& change) {
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  for (v1::JournalRecord& record : journal) change(record);
  return journal;
}

// A change to beta/qm2's frame of interval 3.
Change ToOneFrame(const std::function<void(v1::Frame&)>& change) {
  return [change](v1::JournalRecord& record) {
    if (!record.has_frames() || record.frames().host() != 1) return;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.qm() == 2 && frame.first_interval() == 3) change(frame);
    }
  };
}

// The frame is left out, named, and its 125 writes are in no sum.
void ExpectLeftOut(const std::vector<v1::JournalRecord>& journal, const std::string& why) {
  const v1::Report report = Analyze(journal);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr(why)));
  const v1::StepReport& step = report.steps(0);
  EXPECT_EQ(Scope(step, v1::SCOPE_KIND_QM, "beta", 2).writes(), 1000 - 125);
  EXPECT_EQ(Scope(step, v1::SCOPE_KIND_QM, "beta", 1).writes(), 2000);
  EXPECT_EQ(Scope(step, v1::SCOPE_KIND_CLUSTER).writes(), 6000 - 125);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("beta/qm2, step 1: the writer counted 1,000 writes")));
}

TEST(AnalyzerTrouble, AFrameWhoseHistogramContradictsItselfIsLeftOut) {
  ExpectLeftOut(Changed(TwoHosts(), ToOneFrame([](v1::Frame& frame) {
                          frame.mutable_latency()->mutable_histogram()->set_count(0, 1'000);
                        })),
                "buckets hold");
}

TEST(AnalyzerTrouble, AFrameWhoseSumCannotBeIsLeftOut) {
  ExpectLeftOut(Changed(TwoHosts(), ToOneFrame([](v1::Frame& frame) { frame.mutable_latency()->set_sum_ns(5); })),
                "a sum outside minimum and maximum times count");
}

TEST(AnalyzerTrouble, AFrameWithOtherBytesThanItsWritesIsLeftOut) {
  ExpectLeftOut(Changed(TwoHosts(), ToOneFrame([](v1::Frame& frame) { frame.set_bytes(frame.bytes() + 1); })),
                "bytes that are not writes times block size");
}

TEST(AnalyzerTrouble, AFrameOfAWriterThatIsNotThereIsLeftOut) {
  ExpectLeftOut(Changed(TwoHosts(), ToOneFrame([](v1::Frame& frame) { frame.set_qm(9); })),
                "a frame of beta/qm9, step 1: a writer that the host does not have");
}

TEST(AnalyzerTrouble, AFrameOfAnotherStepIsLeftOut) {
  ExpectLeftOut(Changed(TwoHosts(), ToOneFrame([](v1::Frame& frame) { frame.set_step(7); })), "step 8 was not running");
}

TEST(AnalyzerTrouble, AFrameAfterTheStepsEndIsLeftOut) {
  ExpectLeftOut(Changed(TwoHosts(), ToOneFrame([](v1::Frame& frame) { frame.set_first_interval(8); })),
                "an interval after the step's end");
}

TEST(AnalyzerTrouble, AnIntervalThatComesTwiceIsCountedOnce) {
  ExpectLeftOut(Changed(TwoHosts(), ToOneFrame([](v1::Frame& frame) { frame.set_first_interval(2); })),
                "interval 2 for the second time");
}

TEST(AnalyzerTrouble, AFrameWithAMomentThatNoClockShowsIsLeftOut) {
  ExpectLeftOut(Changed(TwoHosts(), ToOneFrame([](v1::Frame& frame) { frame.set_last_end_ns(INT64_MIN); })),
                "a moment that no clock shows");
}

TEST(AnalyzerTrouble, RecordsOfUnknownHostsAreLeftOut) {
  const v1::Report report = Analyze(Changed(TwoHosts(), [](v1::JournalRecord& record) {
    if (record.has_frames() && record.frames().host() == 1) record.mutable_frames()->set_host(77);
  }));
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("host number 77 did not join")));
  EXPECT_EQ(Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).writes(), 3000);
}

TEST(AnalyzerTrouble, TotalsThatDisagreeMakeTheResultInconclusive) {
  const v1::Report report = Analyze(Changed(TwoHosts(), [](v1::JournalRecord& record) {
    if (!record.has_step_done() || record.step_done().host() != 0) return;
    v1::WriterTotals& totals = *record.mutable_step_done()->mutable_done()->mutable_writers(0);
    totals.set_latency_sum_ns(totals.latency_sum_ns() + 1);
  }));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("alpha/qm1, step 1: the writer counted")));
  EXPECT_EQ(ExitCode(report), 3);
}

TEST(AnalyzerTrouble, TimeThatIsNotAccountedForMakesTheResultInconclusive) {
  const v1::Report report = Analyze(Changed(
      TwoHosts(), ToOneFrame([](v1::Frame& frame) { frame.set_between_ns(frame.between_ns() - 100'000'000); })));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(),
              Contains(HasSubstr("beta/qm2, step 1: time in writes and between them is 95.0 %")));
}

TEST(AnalyzerTrouble, AWriterThatWaitedForItsRecorderMakesTheResultInconclusive) {
  const auto waited = [](uint64_t wait_ns) {
    return Analyze(Changed(TwoHosts(), ToOneFrame([wait_ns](v1::Frame& frame) {
                             frame.set_ring_full_waits(3);
                             frame.set_ring_full_wait_ns(wait_ns);
                           })));
  };
  // 0.1 % of 2 s is 2 ms.
  EXPECT_EQ(waited(2'000'000).verdict().outcome(), v1::OUTCOME_DONE);
  const v1::Report report = waited(2'000'001);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("the load generator was the bottleneck")));
  EXPECT_EQ(Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).ring_full_waits(), 3);
}

TEST(AnalyzerTrouble, ACoarseClockMakesTheResultInconclusive) {
  const v1::Report report = Analyze(Changed(TwoHosts(), [](v1::JournalRecord& record) {
    if (record.has_host_joined()) record.mutable_host_joined()->mutable_description()->set_clock_resolution_ns(20'000);
  }));
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("the clock is too coarse")));
}

TEST(AnalyzerTrouble, AWallClockThatIsSetIsNotedAndChangesNothing) {
  constexpr int64_t kDayNs = 86'400 * kNsPerSecond;
  int batches = 0;
  const v1::Report plain = Analyze(MakeJournal(TwoHosts()));
  const v1::Report report = Analyze(Changed(TwoHosts(), [&batches](v1::JournalRecord& record) {
    if (!record.has_probes() || record.probes().host() != 1 || ++batches < 2) return;
    for (v1::ProbeResult& probe : *record.mutable_probes()->mutable_probes()) {
      probe.set_agent_wall_clock_ns(probe.agent_wall_clock_ns() + kDayNs);
    }
  }));
  ASSERT_GE(batches, 2);
  EXPECT_THAT(report.notes(),
              Contains("beta: its wall clock was set by 86400.000 s during the run (display only; nothing "
                       "here depends on it)."));
  EXPECT_THAT(plain.notes(), Not(Contains(HasSubstr("was set"))));
  EXPECT_EQ(report.verdict().DebugString(), plain.verdict().DebugString());
  EXPECT_EQ(report.steps(0).DebugString(), plain.steps(0).DebugString());
}

TEST(AnalyzerTrouble, ALostHostKeepsItsDataAndSaysUntilWhen) {
  SimRun run = TwoHosts();
  run.hosts[1].lost_after_ns = 1'250 * kNsPerMs;
  run.cut_short = "beta was lost";
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_EQ(report.run().state(), v1::RUN_STATE_ABORTED);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("beta was lost: no message for 10 s")));
  const v1::StepReport& step = report.steps(0);
  const v1::ScopeReport& beta = Scope(step, v1::SCOPE_KIND_HOST, "beta");
  EXPECT_EQ(beta.measured_ns(), 1'250 * kNsPerMs);
  EXPECT_EQ(beta.writes(), 1250 + 625);
  EXPECT_NEAR(beta.iops(), 1500, 2);
  ASSERT_TRUE(beta.has_data_until());
  EXPECT_EQ(beta.data_until().seconds() * 1000 + beta.data_until().nanos() / 1'000'000,
            step.start().seconds() * 1000 + step.start().nanos() / 1'000'000 + 1250);
  EXPECT_FALSE(Scope(step, v1::SCOPE_KIND_HOST, "alpha").has_data_until());
  EXPECT_TRUE(Scope(step, v1::SCOPE_KIND_CLUSTER).has_data_until());
  // Its loss does not shorten the others' seconds.
  EXPECT_EQ(Scope(step, v1::SCOPE_KIND_CLUSTER).bandwidth().seconds(), 2);
  EXPECT_EQ(report.hosts(1).lost().step(), 1);
  EXPECT_EQ(report.hosts(1).lost().data_until().nanos(), beta.data_until().nanos());
}

TEST(AnalyzerTrouble, AWriteThatNeverEndsIsShownInFlight) {
  SimRun run = TwoHosts();
  run.hosts[1].steps[0][0].resize(500);
  run.hosts[1].steps[0][0].push_back({500 * kNsPerMs, 3600 * kNsPerSecond});
  run.hosts[1].lost_after_ns = 1'500 * kNsPerMs;
  const v1::Report report = Analyze(MakeJournal(run));
  bool found = false;
  for (const v1::InFlightReport& write : report.steps(0).in_flight()) {
    if (write.host() != "beta" || write.qm() != 1) continue;
    found = true;
    EXPECT_EQ(write.age_ns(), kNsPerSecond);
    EXPECT_TRUE(write.has_since());
  }
  EXPECT_TRUE(found);
}

// beta/qm1 writes for half a second and then hangs; its agent said for 75 s that it does, and was given up.
std::vector<v1::JournalRecord> HungWrite(const std::vector<std::string>& criteria) {
  SimRun run = TwoHosts();
  run.criteria = criteria;
  run.hosts[1].steps[0][0].resize(500);
  run.hosts[1].steps[0][0].push_back({500 * kNsPerMs, 3600 * kNsPerSecond});
  run.hosts[1].lost_after_ns = 1'500 * kNsPerMs;
  int64_t since_ns = 0;
  return Changed(run, [&since_ns](v1::JournalRecord& record) {
    for (const v1::Frame& frame : record.frames().frames()) {
      if (record.frames().host() == 1 && frame.qm() == 1) since_ns = frame.in_flight_since_ns();
    }
    if (!record.has_host_lost()) return;
    v1::InFlight& write = *record.mutable_host_lost()->add_in_flight();
    write.set_qm(1);
    write.set_since_ns(since_ns);
    write.set_age_ns(75 * kNsPerSecond);
    write.set_path("/mnt/a/qm1/active/S0000001.LOG");
  });
}

TEST(AnalyzerTrouble, AWriteThatHangsUntilItsHostIsGivenUpIsShownWithItsFileAndMissed) {
  const v1::Report report = Analyze(HungWrite({}));
  EXPECT_THAT(
      report.verdict().reasons(),
      Contains(HasSubstr("beta/qm1, step 1: the figures do not include a write that had been in flight for 75.0 s")));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  const auto& writes = report.steps(0).in_flight();
  const auto hung = std::find_if(writes.begin(), writes.end(),
                                 [](const auto& write) { return write.host() == "beta" && write.qm() == 1; });
  ASSERT_NE(hung, writes.end());
  EXPECT_EQ(hung->age_ns(), 75 * kNsPerSecond);
  EXPECT_EQ(hung->path(), "/mnt/a/qm1/active/S0000001.LOG");
  EXPECT_TRUE(hung->has_since());
}

TEST(AnalyzerTrouble, AWriteInFlightFailsALimitThatItBreaksForCertainAndNoOther) {
  const v1::Report report = Analyze(HungWrite({"max<10s", "p99@cluster<10s", "max<100s", "max@qm<10s"}));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  const auto& criteria = report.verdict().criteria();
  EXPECT_EQ(criteria[0].outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(criteria[0].value(), 75e9);
  EXPECT_EQ(criteria[1].outcome(), v1::OUTCOME_PASS) << "one write in thousands is beyond the percentile";
  EXPECT_EQ(criteria[2].outcome(), v1::OUTCOME_INCONCLUSIVE) << "75 s are less, but nobody knows when it ends";
  EXPECT_EQ(criteria[3].outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(criteria[3].host(), "beta");
  EXPECT_EQ(criteria[3].qm(), 1U);
}

// Writes that were never issued have no start that would show how late they are.
TEST(AnalyzerTrouble, TheBacklogIsAsLongAsTheOldestWriteThatWasNeverIssuedHadBeenDue) {
  SimRun run = TwoHosts(3 * kNsPerSecond);
  run.hosts.resize(1);
  SimHost& host = run.hosts.front();
  host.steps[0].resize(1);
  host.rate_per_second = 400;
  // The last write hangs from 0.5 s to the end.
  host.steps[0][0] = tests::ClosedLoop(kNsPerSecond / 2, 1'500'000, [](uint64_t number, int64_t) {
    return number == 200 ? 2'505 * kNsPerMs : kNsPerMs;
  });
  host.not_issued = 998;
  host.not_issued_age_ns = 2'500 * kNsPerMs;
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_THAT(report.notes(), Contains(HasSubstr("998 writes not issued at the end, backlog of up to 2.500 s")));
  const v1::RateReport& rate = Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).rate();
  EXPECT_EQ(rate.max_behind_writes(), 998U);
  EXPECT_EQ(rate.max_behind_ns(), 2'500'000'000U);
}

TEST(AnalyzerTrouble, WhereNothingWasWrittenThereIsNoFairness) {
  SimRun run = TwoHosts();
  for (SimHost& host : run.hosts) {
    for (tests::SimWriter& writer : host.steps[0]) writer.clear();
  }
  run.cut_short = "interrupted";
  EXPECT_FALSE(Analyze(MakeJournal(run)).steps(0).has_fairness());
  run.hosts[1].steps[0][0] = Steady(run.duration_ns, kNsPerMs);
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_DOUBLE_EQ(report.steps(0).fairness().queue_managers(), 0.25);
  EXPECT_DOUBLE_EQ(report.steps(0).fairness().hosts(), 0.5);
}

TEST(AnalyzerTrouble, AnInterruptedRunSaysSo) {
  SimRun run = TwoHosts();
  run.cut_short = "interrupted";
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_EQ(report.run().state(), v1::RUN_STATE_INTERRUPTED);
  EXPECT_EQ(ExitCode(report), 3);
}

TEST(AnalyzerTrouble, StoppedWritersAreRatedOverTheTimeThatTheyHad) {
  SimRun run = TwoHosts();
  for (SimHost& host : run.hosts) {
    for (tests::SimWriter& writes : host.steps[0]) {
      std::erase_if(writes, [](const tests::SimWrite& write) { return write.end_ns() > kNsPerSecond; });
    }
  }
  const v1::Report report = Analyze(Changed(run, [](v1::JournalRecord& record) {
    if (record.has_step_done()) record.mutable_step_done()->mutable_done()->set_stopped("interrupted");
    if (record.has_step_end()) record.mutable_step_end()->set_cut_short("interrupted");
  }));
  const v1::ScopeReport& alpha = Scope(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1);
  EXPECT_NEAR(static_cast<double>(alpha.measured_ns()), 1e9, 2e6);
  EXPECT_NEAR(alpha.iops(), 1000, 2);
  EXPECT_EQ(report.steps(0).cut_short(), "interrupted");
}

TEST(AnalyzerTrouble, AHostThatStoppedByItselfSaysUntilWhenItsDataReachWhereTheOthersWentOn) {
  SimRun run = TwoHosts();
  for (tests::SimWriter& writes : run.hosts[1].steps[0]) {
    std::erase_if(writes, [](const tests::SimWrite& write) { return write.end_ns() > kNsPerSecond; });
  }
  const v1::Report report = Analyze(Changed(run, [](v1::JournalRecord& record) {
    if (record.has_step_done() && record.step_done().host() == 1) {
      record.mutable_step_done()->mutable_done()->set_stopped("the agent was stopped");
    }
  }));
  const v1::StepReport& step = report.steps(0);
  for (const uint32_t qm : {0U, 1U, 2U}) {
    const v1::ScopeKind kind = qm == 0 ? v1::SCOPE_KIND_HOST : v1::SCOPE_KIND_QM;
    EXPECT_TRUE(Scope(step, kind, "beta", qm).has_data_until()) << qm;
    EXPECT_FALSE(Scope(step, kind, "alpha", qm).has_data_until()) << qm;
    EXPECT_NEAR(static_cast<double>(Scope(step, kind, "beta", qm).measured_ns()), 1e9, 3e6) << qm;
  }
  const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
  EXPECT_TRUE(cluster.has_data_until());
  EXPECT_EQ(cluster.measured_ns(), run.duration_ns);
  EXPECT_EQ(cluster.bandwidth().seconds(), 2U) << "the second in which beta was gone is a second of alpha";
}

TEST(AnalyzerTrouble, EveryBeginningOfAJournalGivesAReport) {
  SimRun run = TwoHosts();
  run.block_sizes = {4096, 8192};
  for (SimHost& host : run.hosts) host.steps.push_back(host.steps[0]);
  const std::vector<v1::JournalRecord> journal = MakeJournal(run);
  uint64_t last_writes = 0;
  for (size_t length = 0; length <= journal.size(); ++length) {
    const v1::Report report = Analyze({journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(length)});
    const bool whole = length == journal.size();
    EXPECT_EQ(report.run().state(), whole ? v1::RUN_STATE_COMPLETE : v1::RUN_STATE_CUT_OFF) << length;
    EXPECT_EQ(report.verdict().outcome(), whole ? v1::OUTCOME_DONE : v1::OUTCOME_INCONCLUSIVE) << length;
    EXPECT_EQ(report.verdict().reasons_size(), whole ? 0 : 1) << length;
    uint64_t writes = 0;
    for (const v1::StepReport& step : report.steps()) {
      const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
      EXPECT_NEAR(cluster.accounted_percent(), 100, 1e-6) << length;
      writes += cluster.writes();
    }
    EXPECT_GE(writes, last_writes) << length;
    last_writes = writes;
  }
  EXPECT_EQ(last_writes, 12'000);
}

TEST(AnalyzerTrouble, AHostThatWasNotArmedTakesNoPart) {
  SimRun run = TwoHosts();
  run.block_sizes = {4096, 8192};
  for (SimHost& host : run.hosts) host.steps.push_back(host.steps[0]);
  std::vector<v1::JournalRecord> journal = Changed(run, [](v1::JournalRecord& record) {
    if (record.has_step_begin() && record.step_begin().step() == 1)
      record.mutable_step_begin()->set_host_start_ns(1, 0);
  });
  std::erase_if(journal, [](const v1::JournalRecord& record) {
    return (record.has_frames() && record.frames().host() == 1 && record.frames().frames(0).step() == 1) ||
           (record.has_step_done() && record.step_done().host() == 1 && record.step_done().done().step() == 1);
  });
  const v1::Report report = Analyze(journal);
  EXPECT_EQ(report.steps(1).scopes_size(), 5);  // two QMs, their host, its storage, the cluster
  EXPECT_THAT(report.verdict().reasons(), Contains("beta took no part in step 2."));
}

TEST(AnalyzerTrouble, AnAgentOfAnotherVersionIsNoted) {
  const v1::Report report = Analyze(Changed(TwoHosts(), [](v1::JournalRecord& record) {
    if (!record.has_host_joined() || record.host_joined().label() != "beta") return;
    record.mutable_host_joined()->mutable_description()->set_version("0.2.0");
  }));
  EXPECT_THAT(report.notes(), Contains("beta: its agent is version 0.2.0, the controller 0.1.0; both speak the same "
                                       "protocol."));
  EXPECT_THAT(Analyze(MakeJournal(TwoHosts())).notes(), Not(Contains(HasSubstr("its agent is version"))));
}

TEST(AnalyzerTrouble, DamageThatTheReaderFoundIsAReason) {
  Analyzer analyzer;
  for (const v1::JournalRecord& record : MakeJournal(TwoHosts())) analyzer.Add(record);
  analyzer.AddDamage("The journal is damaged at byte 17.");
  EXPECT_THAT(analyzer.Finish().verdict().reasons(), Contains("The journal is damaged at byte 17."));
}

}  // namespace
}  // namespace plimsoll
