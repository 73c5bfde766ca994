// Runs with a planted fault, each with the verdict that it deserves: first those in which PASS would be wrong, then
// those in which FAIL would be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

using testing::ClosedLoop;
using ::testing::HasSubstr;
using testing::SimHost;
using testing::SimRun;
using testing::SimWriter;
using testing::Steady;

constexpr int64_t kMs = kNsPerMs;
constexpr int64_t kSecond = kNsPerSecond;

using Records = std::vector<v1::JournalRecord>;

struct Scenario {
  std::string name;
  std::function<Records()> make;
  v1::Outcome outcome;
  // Each is in a criterion's reason, value or place, in a reason or in the remark.
  std::vector<std::string> words;
};

void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

// `hosts` hosts on one storage, named h1, h2, ..., with `qms` writers each; every write takes `latency_ns`.
SimRun Fleet(int hosts, int qms, int64_t duration_ns, int64_t latency_ns, std::vector<std::string> criteria) {
  SimRun run;
  run.duration_ns = duration_ns;
  run.stall_ns = 100 * kMs;
  run.stall_given = true;
  run.criteria = std::move(criteria);
  for (int i = 1; i <= hosts; ++i) {
    SimHost& host = run.hosts.emplace_back();
    host.label = absl::StrCat("h", i);
    // A chain: who sees one another shares a storage.
    host.sees = {absl::StrCat("h", i - 1), absl::StrCat("h", i + 1)};
    host.steps.emplace_back(static_cast<size_t>(qms), Steady(duration_ns, latency_ns, 10'000));
  }
  return run;
}

Records Journal(const SimRun& run) {
  return MakeJournal(run);
}

// One of 200 hosts takes 100 ms a write, the others 2 ms.
Records SickHost(const std::string& criterion) {
  SimRun run = Fleet(200, 1, 2 * kSecond, 2 * kMs, {criterion});
  run.hosts[122].steps[0][0] = Steady(run.duration_ns, 100 * kMs, 10'000);
  run.stall_ns = 0;
  return Journal(run);
}

// Writes of 1 ms, of which one in `every` takes 20 ms; the first of those is number `first`.
SimWriter OneIn(uint64_t every, int64_t duration_ns, uint64_t first = 1) {
  return ClosedLoop(duration_ns, 10'000, [every, first](uint64_t number, int64_t) {
    return number % every == first % every ? 20 * kMs : kMs;
  });
}

// Two hosts with a target of 1,000 writes/s each; a write takes 0.3 ms, but for `issued` of them nobody got to the
// rest.
SimRun OpenLoop(int64_t issued_per_second, std::vector<std::string> criteria) {
  SimRun run = Fleet(2, 1, 4 * kSecond, 300'000, std::move(criteria));
  for (SimHost& host : run.hosts) host.rate_per_second = 1'000;
  SimHost& behind = run.hosts[1];
  behind.steps[0][0] = Steady(run.duration_ns, 300'000, kSecond / issued_per_second - 300'000);
  run.hosts[0].steps[0][0] = Steady(run.duration_ns, 300'000, 700'000);
  behind.not_issued = static_cast<uint64_t>(std::max<int64_t>(4 * (1'000 - issued_per_second), 0));
  if (behind.not_issued > 0) behind.schedule_lag_ns = 500 * kMs;
  return run;
}

// h2's frame of interval `interval` is made such that it is refused.
Records WithRefusedFrame(const SimRun& run, int interval) {
  Records records = Journal(run);
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames() || record.frames().host() != 1) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.first_interval() == interval && !frame.closing()) frame.set_bytes(frame.bytes() + 1);
    }
  }
  return records;
}

Records Edited(const SimRun& run, const std::function<void(v1::JournalRecord&)>& edit) {
  Records records = Journal(run);
  for (v1::JournalRecord& record : records) edit(record);
  return records;
}

Records Without(const SimRun& run, const std::function<bool(const v1::JournalRecord&)>& drop) {
  Records records = Journal(run);
  records.erase(std::remove_if(records.begin(), records.end(), drop), records.end());
  return records;
}

// Of three hosts h2 is lost after a second of two.
SimRun OneLost(std::vector<std::string> criteria) {
  SimRun run = Fleet(3, 1, 2 * kSecond, kMs, std::move(criteria));
  run.hosts[1].lost_after_ns = kSecond;
  return run;
}

// h1's writes stop from 1.5 s to 2.0 s of 3 s; those of all hosts if `all`.
SimRun Stalled(bool all, std::vector<std::string> criteria) {
  SimRun run = Fleet(3, 1, 3 * kSecond, kMs, std::move(criteria));
  for (size_t i = 0; i < (all ? 3U : 1U); ++i) {
    run.hosts[i].steps[0][0] =
        ClosedLoop(run.duration_ns, 10'000,
                   testing::WithStalls([](uint64_t, int64_t) { return kMs; }, {{1'500 * kMs, 2'000 * kMs}}));
  }
  return run;
}

// Writes that take 1 ms in the first half of 10 s, and `later_ns` in the second.
SimRun Slower(int64_t later_ns, std::vector<std::string> criteria) {
  SimRun run = Fleet(1, 1, 10 * kSecond, kMs, std::move(criteria));
  run.hosts[0].steps[0][0] = ClosedLoop(run.duration_ns, 10'000, [later_ns](uint64_t, int64_t start_ns) {
    return start_ns < 5 * kSecond ? kMs : later_ns;
  });
  return run;
}

// The writers of h2 waited for their recorder a tenth of the time, which they would have written in.
Records SlowHarness(std::vector<std::string> criteria) {
  SimRun run = Fleet(2, 1, 2 * kSecond, kMs, std::move(criteria));
  run.hosts[1].steps[0][0] = Steady(run.duration_ns, kMs, 111'000);
  return Edited(run, [](v1::JournalRecord& record) {
    if (!record.has_frames() || record.frames().host() != 1) return;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.closing()) continue;
      frame.set_ring_full_waits(1);
      frame.set_ring_full_wait_ns(25 * kMs);
    }
  });
}

// h2's frames cover eight intervals each: two seconds.
SimRun Averaged(std::vector<std::string> criteria) {
  SimRun run = Fleet(2, 1, 4 * kSecond, kMs, std::move(criteria));
  run.hosts[1].coalesce = 8;
  return run;
}

// 1,600 queue managers of 1,000 writes each, of which one in a hundred is slow, by chance.
Records ManyAtTheLimit() {
  SimRun run = Fleet(200, 8, 2 * kSecond, kMs, {"p98<10ms"});
  run.stall_ns = 0;
  uint64_t seed = 0x2545F4914F6CDD1D;
  for (SimHost& host : run.hosts) {
    for (SimWriter& writer : host.steps[0]) {
      writer = ClosedLoop(run.duration_ns, 10'000, [&seed](uint64_t, int64_t) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed % 1'000 < 19 ? 20 * kMs : kMs;
      });
    }
  }
  return Journal(run);
}

std::vector<Scenario> PassWouldBeWrong() {
  const v1::Outcome fail = v1::OUTCOME_FAIL;
  const v1::Outcome unsure = v1::OUTCOME_INCONCLUSIVE;
  return {
      {"ASickHostIn200", [] { return SickHost("p99<10ms"); }, fail, {"h123", "100.", "p99<10ms"}},
      {"ASickHostIn200WithTooFewWritesForThePercentile", [] { return SickHost("p99.99<10ms"); }, fail, {"h123"}},
      {"ASickHostIn200AndAMean", [] { return SickHost("avg<10ms"); }, fail, {"h123"}},
      {"ASickHostIn200AndItsOwnPercentileByHost", [] { return SickHost("p90@host<10ms"); }, fail, {"h123"}},
      {"OneSlowWriteOf1600Writers",
       [] {
         SimRun run = Fleet(200, 8, kSecond, 4 * kMs, {"max<90ms"});
         run.hosts[7].steps[0][3] =
             ClosedLoop(run.duration_ns, 10'000, [](uint64_t n, int64_t) { return n == 20 ? 95 * kMs : 4 * kMs; });
         return Journal(run);
       },
       fail,
       {"h8/qm4", "95.000 ms"}},
      {"AMissedRateWithGoodServiceTimes",
       [] { return Journal(OpenLoop(200, {"p99<50ms"})); },
       fail,
       {"p99<50ms", "rate_achieved>=99%", "20.00 %", "h2/qm1"}},
      {"AMissedRateWhereOnlyServiceTimesAreAskedFor",
       [] { return Journal(OpenLoop(200, {"service_p99<50ms"})); },
       fail,
       {"rate_achieved>=99%", "20.00 %"}},
      {"AMissedRateOfOneHostThatTheOthersHide",
       [] { return Journal(OpenLoop(970, {"iops>=1900"})); },
       fail,
       {"97.00 %", "h2/qm1"}},
      {"AMissedRateThatAnotherBlockSizeMayMiss",
       [] { return Journal(OpenLoop(500, {"rate_achieved@64k>=10%"})); },
       fail,
       {"50.00 %"}},
      {"WritesThatWereNeverIssued",
       [] { return Journal(OpenLoop(200, {"not_issued==0", "rate_achieved>=1%"})); },
       fail,
       {"3,200 writes"}},
      {"APercentileOfTooFewWrites",
       [] { return Journal(Fleet(1, 1, 2 * kSecond, kMs, {"p99.9<10ms"})); },
       unsure,
       {"needs 10,000 writes, has 1,9", "a duration of 11 s would be enough"}},
      {"APercentileOfTooFewWritesInOneQueueManagerOfMany",
       [] {
         SimRun run = Fleet(10, 1, 4 * kSecond, kMs, {"p99<50ms"});
         run.hosts[4].steps[0][0] = Steady(run.duration_ns, 40 * kMs, 10'000);
         return Journal(run);
       },
       unsure,
       {"h5/qm1", "needs 1,000 writes, has 100"}},
      {"ARefusedFrameThatCouldHoldTheSlowestWrite",
       [] { return WithRefusedFrame(Fleet(2, 1, 2 * kSecond, kMs, {"max<10ms"}), 3); },
       unsure,
       {"h2/qm1", "data are missing", "Left out: a frame of h2/qm1"}},
      {"ARefusedFrameThatCouldTurnTheMean",
       [] { return WithRefusedFrame(Fleet(2, 1, 2 * kSecond, kMs, {"avg<10ms"}), 3); },
       unsure,
       {"data are missing"}},
      {"ARefusedFrameThatCouldTurnThePercentile",
       [] { return WithRefusedFrame(Fleet(2, 1, 4 * kSecond, kMs, {"p99<10ms"}), 3); },
       unsure,
       {"data are missing"}},
      {"ARefusedFrameAndALimitThatTheRestBreaks",
       [] {
         SimRun run = Fleet(2, 1, 2 * kSecond, kMs, {"max<10ms"});
         run.hosts[1].steps[0][0] = OneIn(100, run.duration_ns);
         return WithRefusedFrame(run, 3);
       },
       fail,
       {"h2/qm1", "20.000 ms"}},
      {"FramesThatNeverCame",
       [] {
         return Without(Fleet(2, 1, 2 * kSecond, kMs, {"p99@cluster<10ms"}), [](const v1::JournalRecord& record) {
           return record.has_frames() && record.frames().host() == 1 && record.frames().frames_size() > 0 &&
                  record.frames().frames(0).first_interval() == 4;
         });
       },
       unsure,
       {"data are missing", "its frames hold"}},
      {"AWriterOfWhichNothingWasReported",
       [] {
         return Edited(Fleet(2, 2, 2 * kSecond, kMs, {"max<10ms"}), [](v1::JournalRecord& record) {
           if (record.has_frames() && record.frames().host() == 1 && record.frames().frames_size() == 2) {
             record.mutable_frames()->mutable_frames()->RemoveLast();
           }
           if (record.has_step_done() && record.step_done().host() == 1) {
             record.mutable_step_done()->mutable_done()->mutable_writers()->RemoveLast();
           }
         });
       },
       unsure,
       {"h2/qm2, step 1: nothing was reported"}},
      {"ASecondThatIsKnownAsAnAverageOnly",
       [] { return Journal(Averaged({"min_second_iops@qm>=900"})); },
       unsure,
       {"h2/qm1", "only averages are known"}},
      {"AnAverageThatBreaksTheLimitByItself",
       [] { return Journal(Averaged({"min_second_iops@qm>=1000"})); },
       fail,
       {"min_second_iops"}},
      {"ALostHost", [] { return Journal(OneLost({"p90<10ms"})); }, unsure, {"h2 was lost"}},
      {"ALostHostThatHadToStay", [] { return Journal(OneLost({"hosts>=3"})); }, fail, {"2 hosts"}},
      {"ALostHostAndACriterionThatAnyNumberFulfils",
       [] { return Journal(OneLost({"hosts<=200"})); },
       unsure,
       {"h2 was lost"}},
      {"AHostThatTookNoPart",
       [] {
         SimRun run = Fleet(3, 1, 2 * kSecond, kMs, {"p90<10ms"});
         Records records = Without(run, [](const v1::JournalRecord& record) {
           return (record.has_frames() && record.frames().host() == 2) ||
                  (record.has_step_done() && record.step_done().host() == 2);
         });
         for (v1::JournalRecord& record : records) {
           if (record.has_step_begin()) record.mutable_step_begin()->set_host_start_ns(2, 0);
         }
         return records;
       },
       unsure,
       {"h3 took no part in step 1"}},
      {"StallsOfTheStorage",
       [] { return Journal(Stalled(true, {"stalls[storage]==0", "p90<10ms"})); },
       fail,
       {"1 stall", "stalls[storage]==0"}},
      {"AStallOfOneHostsPath", [] { return Journal(Stalled(false, {"stalls[host_path]==0"})); }, fail, {"1 stall"}},
      {"AStallThatLastsTooLong", [] { return Journal(Stalled(false, {"longest_stall<=400ms"})); }, fail, {"50"}},
      {"AClockThatIsTooCoarse",
       [] {
         SimRun run = Fleet(1, 1, 4 * kSecond, kMs, {"p99<3ms"});
         run.hosts[0].clock_resolution_ns = 4'000'000;
         return Journal(run);
       },
       unsure,
       {"the clock is too coarse"}},
      {"AStepThatNeverRan",
       [] {
         SimRun run = Fleet(1, 1, 4 * kSecond, kMs, {"p99<10ms"});
         run.block_sizes = {4096, 65536};
         run.hosts[0].steps.push_back(run.hosts[0].steps[0]);
         bool second = false;
         return Without(run, [&second](const v1::JournalRecord& record) {
           second = second || (record.has_step_begin() && record.step_begin().step() == 1);
           return second && !record.has_run_end();
         });
       },
       unsure,
       {"Only 1 of 2 steps ran"}},
      {"ABlockSizeThatWasNotMeasured",
       [] { return Journal(Fleet(1, 1, 4 * kSecond, kMs, {"p99@64k<10ms"})); },
       unsure,
       {"nothing that it looks at was measured"}},
      {"WritesInTheWarmUpOnly",
       [] {
         SimRun run = Fleet(1, 1, kSecond, kMs, {"max<10ms"});
         run.warmup_ns = kSecond;
         run.hosts[0].steps[0][0] = ClosedLoop(-kMs, 10'000, [](uint64_t, int64_t) { return kMs / 2; }, kSecond);
         return Journal(run);
       },
       unsure,
       {"there was no write"}},
      {"AnInterruptedRun",
       [] {
         SimRun run = Fleet(1, 1, 4 * kSecond, kMs, {"p99<10ms"});
         run.cut_short = "interrupted";
         return Journal(run);
       },
       unsure,
       {"interrupted"}},
      {"AJournalThatEndsEarly",
       [] {
         return Without(Fleet(1, 1, 4 * kSecond, kMs, {"p99<10ms"}),
                        [](const v1::JournalRecord& record) { return record.has_run_end(); });
       },
       unsure,
       {"The journal ends before the run does"}},
      {"ASlowHarness", [] { return SlowHarness({"max<10ms"}); }, unsure, {"the harness was the bottleneck"}},
      {"ThroughputThatFalls", [] { return Journal(Slower(2 * kMs, {"drift_iops>=-10%"})); }, fail, {"-49."}},
      {"LatencyThatRises", [] { return Journal(Slower(2 * kMs, {"drift_latency<=10%"})); }, fail, {"+10"}},
      {"ThroughputThatIsNotSteady", [] { return Journal(Slower(2 * kMs, {"steady"})); }, fail, {"no", "steady"}},
      {"AStepThatIsTooShortToBeSteady",
       [] { return Journal(Fleet(1, 1, 3 * kSecond, kMs, {"steady"})); },
       unsure,
       {"fewer than five whole seconds"}},
      {"OneWriterThatTakesAll",
       [] {
         SimRun run = Fleet(1, 4, 2 * kSecond, 100 * kMs, {"fairness>=0.9"});
         run.hosts[0].steps[0][2] = Steady(run.duration_ns, kMs, 10'000);
         return Journal(run);
       },
       fail,
       {"0.2"}},
      {"AStartSkewAsLargeAsTheClockError",
       [] {
         SimRun run = Fleet(2, 1, 2 * kSecond, kMs, {"start_skew<50us"});
         return Journal(run);
       },
       unsure,
       {"the clocks' errors leave it open"}},
      {"AClockThatNobodyKnows",
       [] {
         return Without(Fleet(2, 1, 2 * kSecond, kMs, {"clock_error<1s"}), [](const v1::JournalRecord& record) {
           return record.has_probes() && record.probes().host() == 1;
         });
       },
       unsure,
       {"h2", "no clock probe was answered"}},
      {"RetransmitsThatNoKernelReports",
       [] { return Journal(Fleet(2, 1, 2 * kSecond, kMs, {"nfs_retransmits==0"})); },
       unsure,
       {"no NFS mount"}},
      {"APercentileJustAboveItsLimit",
       [] {
         SimRun run = Fleet(1, 1, 20 * kSecond, kMs, {"p99<10ms"});
         run.hosts[0].steps[0][0] = OneIn(97, run.duration_ns);
         return Journal(run);
       },
       unsure,
       {"too close to the limit", "would be enough"}},
  };
}

std::vector<Scenario> FailWouldBeWrong() {
  const v1::Outcome pass = v1::OUTCOME_PASS;
  const v1::Outcome unsure = v1::OUTCOME_INCONCLUSIVE;
  return {
      {"SomeOf1600QueueManagersByChance", ManyAtTheLimit, unsure, {"too close to the limit", "may be chance"}},
      {"ASickHostWhereTheClusterIsMeant", [] { return SickHost("p90@cluster<10ms"); }, pass, {}},
      {"ARateThatIsReachedWithLateWritesWhereServiceTimesAreAskedFor",
       [] {
         SimRun run = OpenLoop(1'000, {"service_p99<10ms"});
         run.hosts[1].schedule_lag_ns = 300 * kMs;
         return Journal(run);
       },
       pass,
       {"rate_achieved>=99%", "100.00 %"}},
      {"AMissedRateThatThePlanAllows",
       [] { return Journal(OpenLoop(500, {"service_p99<50ms", "rate_achieved>=45%"})); },
       pass,
       {"50.00 %"}},
      {"AMissedRateInAJournalOfAnOlderVersion",
       [] {
         SimRun run = OpenLoop(500, {"service_p99<50ms"});
         run.verdict_rules = 0;
         return Journal(run);
       },
       pass,
       {}},
      {"ThroughputThatARefusedFrameWouldComplete",
       [] { return WithRefusedFrame(Fleet(2, 1, 2 * kSecond, kMs, {"iops>=1900"}), 3); },
       unsure,
       {"data are missing"}},
      {"AWorstSecondThatARefusedFrameWouldComplete",
       [] { return WithRefusedFrame(Fleet(2, 1, 2 * kSecond, kMs, {"min_second_iops>=1900"}), 3); },
       unsure,
       {"data are missing"}},
      {"APercentileThatRefusedFastWritesWouldMend",
       [] {
         SimRun run = Fleet(2, 1, 4 * kSecond, kMs, {"p93.5<10ms"});
         run.hosts[1].steps[0][0] = ClosedLoop(run.duration_ns, 10'000, [](uint64_t, int64_t start_ns) {
           return start_ns >= 2 * kSecond && start_ns < 3'750 * kMs ? 12 * kMs : kMs;
         });
         return WithRefusedFrame(run, 0);
       },
       unsure,
       {"data are missing"}},
      {"ThroughputThatALostHostWouldHaveBrought",
       [] { return Journal(OneLost({"iops>=2800"})); },
       unsure,
       {"a host of it was lost", "h2 was lost"}},
      {"ALostHostThatThePlanAllows",
       [] { return Journal(OneLost({"hosts>=2", "p90<10ms", "iops>=2000"})); },
       pass,
       {"2 hosts"}},
      {"ALostHostThatThePlanAllowsWithAWriteInFlight",
       [] {
         SimRun run = OneLost({"hosts>=2", "max<10s", "p90<10ms"});
         run.hosts[1].steps[0][0] = ClosedLoop(run.duration_ns, 10'000, [](uint64_t, int64_t start_ns) {
           return start_ns > 500 * kMs ? 60 * kSecond : kMs;
         });
         return Journal(run);
       },
       pass,
       {}},
      {"AClockThatIsTooCoarse",
       [] {
         SimRun run = Fleet(1, 1, 8 * kSecond, 4 * kMs, {"p99<3ms"});
         run.hosts[0].clock_resolution_ns = 4'000'000;
         return Journal(run);
       },
       unsure,
       {"the clock is too coarse"}},
      {"ThroughputThatTheHarnessHeldBack",
       [] { return SlowHarness({"iops>=1950"}); },
       unsure,
       {"the load generator was the bottleneck"}},
      {"StallsOfAnotherClass", [] { return Journal(Stalled(true, {"stalls[host_path]==0"})); }, pass, {"0 stalls"}},
      {"AStartSkewWithinTheClockError",
       [] {
         SimRun run = Fleet(2, 1, 2 * kSecond, kMs, {"start_skew<100us"});
         run.hosts[1].steps[0][0] =
             ClosedLoop(run.duration_ns, 10'000, [](uint64_t, int64_t) { return kMs; }, 0, 120'000);
         return Journal(run);
       },
       unsure,
       {"the clocks' errors leave it open"}},
  };
}

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
  const v1::VerdictReport verdict = testing::Analyze(scenario.make()).verdict();
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
  const v1::VerdictReport verdict = testing::Analyze(Journal(OpenLoop(200, {}))).verdict();
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_DONE);
  EXPECT_THAT(verdict.remark(), HasSubstr("target rate missed: 20.00 %"));
}

}  // namespace
}  // namespace plimsoll
