// Runs in which PASS would be wrong.
#include "tests/unit/analysis/planted_scenarios.h"

namespace plimsoll::tests {

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
      // 3,793 writes/s.
      {"ARateOf20000OnStorageThatServes3800",
       [] { return OverloadedOpenLoop({"p99<50ms"}); },
       fail,
       {"OUTCOME_FAIL p99<50ms: 32", "OUTCOME_FAIL rate_achieved>=99%: 18.96 %"}},
      {"SlowWritesOfAWriterThatAlsoStartsSomeLate",
       [] { return SometimesWithoutACpu(12 * kMs, {"p90<5ms"}); },
       fail,
       {"OUTCOME_FAIL p90<5ms: 30.0"}},
      {"SlowWritesOfAWriterThatStartsAllALittleLateAndOneVeryLate",
       [] {
         OpenLoopRun run;
         run.rate_per_second = 20;
         run.duration_ns = 20 * kSecond;
         run.service_ns = [](int64_t) { return 20 * kMs; };
         run.late_ns = [](int64_t since_start_ns) { return since_start_ns == 5 * kSecond ? 30 * kMs : 150'000; };
         run.criteria = {"p90<10ms", "max<15ms"};
         return Written(run);
       },
       fail,
       {"OUTCOME_FAIL p90<10ms: 20.1", "OUTCOME_FAIL max<15ms: 50.0"}},
      {"AWriteThatNeitherALateStartNorWaitingForACpuExplains",
       [] {
         SimRun run = ShortOfCpu({"max<670ms"});
         for (SimHost& host : run.hosts) host.rate_per_second = 10;
         run.hosts[0].steps[0][0] = ClosedLoop(run.duration_ns, 99 * kMs, [](uint64_t, int64_t) { return kMs; });
         run.hosts[1].steps[0][0] = ClosedLoop(run.duration_ns, 130 * kMs, [](uint64_t, int64_t start_ns) {
           return start_ns > 200 * kMs ? 1'700 * kMs : kMs;
         });
         return Edited(run, [](v1::JournalRecord& record) {
           if (!record.has_frames() || record.frames().host() != 1) return;
           for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
             if (frame.response().count() == 0) continue;
             frame.mutable_start_delay()->set_max_ns(static_cast<uint64_t>(60 * kMs));
             frame.mutable_start_delay()->set_late_writes(1);
           }
         });
       },
       fail,
       {"OUTCOME_FAIL max<670ms: 1"}},
      {"WritesNotIssuedOfARateOf20000OnStorageThatServes3800",
       [] { return OverloadedOpenLoop({"not_issued==0", "service_p99<50ms"}); },
       fail,
       {"OUTCOME_FAIL not_issued==0: 64,828 writes", "OUTCOME_PASS service_p99<50ms: 0.264 ms"}},
      {"WritesThatAreSlowerThanWaitingForACpuExplains",
       [] {
         SimRun run = ShortOfCpu({"p90<5ms"});
         run.hosts[1].steps[0][0] = Steady(run.duration_ns, 20 * kMs);
         return Journal(run);
       },
       fail,
       {"OUTCOME_FAIL p90<5ms: 20.0", "h2/qm1"}},
      {"WritesThatAreSlowerThanTheThrottlingOfACpuLimitExplains",
       [] {
         SimRun run = Throttled({"p90<5ms"});
         run.hosts[1].steps[0][0] = Steady(run.duration_ns, 20 * kMs);
         return Journal(run);
       },
       fail,
       {"OUTCOME_FAIL p90<5ms: 20.0", "h2/qm1"}},
      {"WritesOnAHostShortOfCpusInAJournalOfAnOlderVersion",
       [] {
         SimRun run = ShortOfCpu({"p50<5ms"});
         run.verdict_rules = 1;
         return Journal(run);
       },
       fail,
       {"OUTCOME_FAIL p50<5ms: 8.0", "h2/qm1"}},
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
      {"MoreWritesNotIssuedThanLateStartsExplain",
       [] { return NotIssuedByAStartDelay(900, 10 * kMs, {"not_issued==0", "rate_achieved>=99%"}); },
       fail,
       {"OUTCOME_FAIL not_issued==0: 400 writes", "OUTCOME_FAIL rate_achieved>=99%: 90.00 %"}},
      {"APercentileOfResponseTimesWithGoodServiceTimes",
       [] { return Journal(OpenLoop(970, {"p99<50ms", "rate_achieved>=1%"})); },
       fail,
       {"OUTCOME_FAIL p99<50ms", "h2/qm1"}},
      {"ARateOfOneWriteThatDidNotComplete",
       [] {
         SimRun run = Fleet(2, 1, kSecond, kMs, {"hosts>=1"});
         for (SimHost& host : run.hosts) host.rate_per_second = 1;
         run.hosts[0].steps[0][0] = Steady(run.duration_ns, kMs, kSecond);
         run.hosts[1].steps[0][0] = Steady(run.duration_ns, 5 * kSecond, kSecond);
         return Journal(run);
       },
       unsure,
       {"h2/qm1", "use a longer step"}},
      {"AStallThatMayHaveBeenTheStorages",
       [] {
         SimRun run = Stalled(true, {"stalls[storage]==0"});
         run.hosts.resize(1);
         return Journal(run);
       },
       unsure,
       {"is undetermined"}},
      {"AStallThatMayHaveBeenThePaths",
       [] {
         SimRun run = Stalled(true, {"longest_stall[host_path]<100ms"});
         run.hosts.resize(1);
         return Journal(run);
       },
       unsure,
       {"is undetermined"}},
      {"ALongestStallBelowWhatCountsAsOne",
       [] { return Journal(Fleet(2, 1, 2 * kSecond, 90 * kMs, {"longest_stall<50ms"})); },
       unsure,
       {"shorter ones count as no stalls"}},
      {"FairnessWhereNobodyCompletedAWrite",
       [] { return Journal(Fleet(2, 1, kSecond, 1'500 * kMs, {"fairness>=0.9"})); },
       unsure,
       {"no write completed"}},
      {"APercentileNearNothing",
       [] { return Journal(Fleet(1, 1, 20 * kSecond, 10 * kMs, {"p0.00001@cluster<1ms"})); },
       unsure,
       {"1,999 of 1,999 writes are beyond it"}},
      {"AQueueManagerBeyondTheLimitAmongSixteenHundred",
       [] {
         SimRun run = Fleet(200, 8, 2 * kSecond, kMs, {"p98<10ms"});
         run.stall_ns = 0;
         run.hosts[77].steps[0][3] = OneIn(20, run.duration_ns);
         return Journal(run);
       },
       fail,
       {"h78/qm4"}},
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
       {"nothing in its scope was measured"}},
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
      {"ASlowGenerator", [] { return SlowGenerator({"max<10ms"}); }, unsure, {"the load generator was the bottleneck"}},
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
       {"undetermined within the clock error"}},
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
      {"RetransmitsOfOneHost",
       [] {
         return Journal(OverNfs(2, [](int host, int64_t second) { return host == 1 && second >= 3 ? 2U : 0U; },
                                {"nfs_retransmits@host==0"}));
       },
       fail,
       {"nfs_retransmits@host==0: 2 retransmits h2"}},
      {"RetransmitsOfAKernelWhoseCounterWentBack",
       [] {
         return Journal(OverNfs(2, [](int host, int64_t second) { return host == 1 && second == 2 ? 500U : 0U; },
                                {"nfs_retransmits<=600"}));
       },
       unsure,
       {"h2: a kernel counter of the host decreased"}},
      {"RetransmitsThatMayBeOfTheWarmUpOrNot",
       [] {
         SimRun run = OverNfs(1, [](int, int64_t second) { return second >= 2 ? 3U : 0U; }, {"nfs_retransmits==0"});
         run.warmup_ns = 1'750 * kMs;
         run.duration_ns = 4'250 * kMs;
         run.hosts[0].steps[0][0] =
             ClosedLoop(run.duration_ns, 10'000, [](uint64_t, int64_t) { return kMs; }, run.warmup_ns);
         return Journal(run);
       },
       unsure,
       {"between two samples of the host, the first of them in the warm-up"}},
      {"RetransmitsOfAHostThatWasNotSampledToTheEnd",
       [] {
         SimRun run = OverNfs(1, [](int, int64_t) { return 0U; }, {"nfs_retransmits==0"});
         return Edited(run, [](v1::JournalRecord& record) {
           if (record.has_frames() && record.frames().sample().nfs().write().operations() > 250) {
             record.mutable_frames()->clear_sample();
           }
         });
       },
       unsure,
       {"no sample of the host covers them to the end of the step"}},
      {"AClockErrorBeyondItsLimit",
       [] { return Journal(Fleet(2, 1, 2 * kSecond, kMs, {"clock_error<10us"})); },
       fail,
       {"OUTCOME_FAIL clock_error<10us"}},
      {"AHostThatTakesAll",
       [] {
         SimRun run = Fleet(4, 2, 2 * kSecond, 100 * kMs, {"fairness@host>=0.9"});
         for (SimWriter& writer : run.hosts[2].steps[0]) writer = Steady(run.duration_ns, kMs, 10'000);
         return Journal(run);
       },
       fail,
       {"OUTCOME_FAIL fairness@host>=0.9: 0.2"}},
      {"AMissedRateOfRandomArrivals",
       [] {
         return Edited(OpenLoop(500, {"service_p99<50ms"}), [](v1::JournalRecord& record) {
           if (!record.has_host_joined()) return;
           v1::HostPlan& plan = *record.mutable_host_joined()->mutable_plan();
           plan.mutable_log()->mutable_workload()->set_arrival(v1::ARRIVAL_POISSON);
         });
       },
       fail,
       {"OUTCOME_FAIL rate_achieved>=99%: 50.", "h2/qm1"}},
      {"AMissedRateInAJournalThatDoesNotShowHowWritersStart",
       [] { return Journal(OpenLoop(980, {"service_p99<50ms"})); },
       fail,
       {"OUTCOME_FAIL rate_achieved>=99%: 98.00 %", "h2/qm1"}},
      {"AStartSkewInAJournalThatDoesNotShowHowWritersStart",
       [] {
         SimRun run = Fleet(2, 1, 2 * kSecond, kMs, {"start_skew<10ms", "rate_achieved>=1%"});
         for (SimHost& host : run.hosts) host.rate_per_second = 500;
         run.hosts[1].steps[0][0] =
             ClosedLoop(run.duration_ns, kMs, [](uint64_t, int64_t) { return kMs; }, 0, 15 * kMs);
         return WithRefusedFrame(run, 0);
       },
       fail,
       {"OUTCOME_FAIL start_skew<10ms: 15.000 ms"}},
      {"AHostThatFailed", [] { return OneFailed({"p90<10ms"}); }, unsure, {"h2/qm1 failed: pwritev2 "}},
      {"AHostThatFailedWhereMoreAreAskedFor",
       [] { return OneFailed({"hosts>=3", "p90<10ms"}); },
       fail,
       {"OUTCOME_FAIL hosts>=3: 2 hosts"}},
      {"AMeanOfWritesAboveOneHour",
       [] {
         SimRun run = Fleet(1, 1, 10 * 3'600 * kSecond, 3'600 * kSecond, {"wavg<=1h"});
         run.stall_ns = 0;
         run.interval_ns = kSecond;
         run.hosts[0].steps[0][0] = ClosedLoop(run.duration_ns, 0, [](uint64_t number, int64_t) {
           return number % 2 == 0 ? kSecond : 2 * 3'600 * kSecond;
         });
         return Journal(run);
       },
       unsure,
       {"only sum and maximum are known"}},
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

}  // namespace plimsoll::tests
