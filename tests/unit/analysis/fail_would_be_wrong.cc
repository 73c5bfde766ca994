// Runs in which FAIL would be wrong.
#include "tests/unit/analysis/planted_scenarios.h"

namespace plimsoll::tests {

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
      {"ThroughputThatTheGeneratorHeldBack",
       [] { return SlowGenerator({"iops>=1950"}); },
       unsure,
       {"the load generator was the bottleneck"}},
      {"WritesThatAreTooSlowForLessThanTheirWritersWaitedForACpu",
       [] { return Journal(ShortOfCpu({"p50<5ms"})); },
       unsure,
       {"p50<5ms: 8.000 ms h2/qm1 step 1, h2/qm1: the load generator may be CPU-bound"}},
      {"WritesThatAreTooSlowForLessThanACpuLimitThrottledThem",
       [] { return Journal(Throttled({"p50<5ms"})); },
       unsure,
       {"p50<5ms: 8.000 ms h2/qm1 step 1, h2/qm1: the load generator may be CPU-bound"}},
      {"ARateThatWritersMissedWhileTheyWaitedForACpu",
       [] {
         SimRun run = ShortOfCpu({"p50<50ms"});
         for (SimHost& host : run.hosts) host.rate_per_second = 200;
         return Journal(run);
       },
       unsure,
       {"rate_achieved>=99%", "the load generator may be CPU-bound"}},
      {"ResponseTimesOfWritesThatTheirWriterStartedLate",
       [] { return SometimesWithoutACpu(42'000, {"p90<5ms"}); },
       unsure,
       {"p90<5ms: 18.0", "the load generator started writes up to 18.000 ms late"}},
      {"TheLongestResponseOfAWriterThatStartedLate",
       [] { return SometimesWithoutACpu(42'000, {"max<5ms"}); },
       unsure,
       {"the load generator started writes up to 18.000 ms late"}},
      {"TheLongestResponseOfAWriterThatStartedLateByACoarseClock",
       [] {
         Records records = SometimesWithoutACpu(12 * kMs, {"max<10ms"});
         for (v1::JournalRecord& record : records) {
           if (!record.has_host_joined()) continue;
           record.mutable_host_joined()->mutable_description()->set_clock_resolution_ns(4'000'000);
         }
         return records;
       },
       unsure,
       {"max<10ms: 30"}},
      {"WritesThatTheirWriterStartedTooLateToIssue",
       [] { return NotIssuedByAStartDelay(998, 10 * kMs, {"not_issued==0"}); },
       unsure,
       {"not_issued==0: 8 writes", "the load generator started writes up to 10.000 ms late"}},
      {"ARateThatAWriterMissedByStartingLate",
       [] { return NotIssuedByAStartDelay(980, 30 * kMs, {"rate_achieved>=99%"}); },
       unsure,
       {"rate_achieved>=99%: 98.00 %", "the load generator started writes up to 30.000 ms late"}},
      {"ARateThatAWriteDueAtTheEndMissed",
       [] { return NotIssuedByAStartDelay(999, 20'000, {"rate_achieved>=99.95%"}); },
       unsure,
       {"a writer's last write may have been due too late to complete; use a longer step"}},
      {"AnUnfairShareOfAHostShortOfCpus",
       [] { return Journal(ShortOfCpu({"fairness@host>=0.9"})); },
       unsure,
       {"fairness@host>=0.9: ", "the load generator may be CPU-bound"}},
      {"StallsOfAnotherClass", [] { return Journal(Stalled(true, {"stalls[host_path]==0"})); }, pass, {"0 stalls"}},
      {"ThroughputOfTheStepAfterALoss",
       [] {
         SimRun run = OneLost({"iops>=2500"});
         run.block_sizes = {4096, 8192};
         for (SimHost& host : run.hosts) host.steps.push_back(host.steps[0]);
         return Journal(run);
       },
       unsure,
       {"a host of it was lost"}},
      {"StartsThatAreSpreadOnPurpose",
       [] { return SpreadStarts({"start_skew<10ms", "rate_achieved>=1%"}, /*first_frame_refused=*/false); },
       pass,
       {}},
      {"StartsThatAreSpreadOnPurposeOfAHostWhoseFirstFrameWasRefused",
       [] { return SpreadStarts({"start_skew<10ms", "rate_achieved>=1%"}, /*first_frame_refused=*/true); },
       unsure,
       {"a host has no first write, or its clock is not known"}},
      {"RandomArrivalsOfWhichChanceMadeFewer",
       [] {
         SimRun run = OpenLoop(980, {"service_p99<50ms"});
         run.hosts[1].not_issued = 0;
         return Edited(run, [](v1::JournalRecord& record) {
           if (!record.has_host_joined()) return;
           v1::HostPlan& plan = *record.mutable_host_joined()->mutable_plan();
           plan.mutable_log()->mutable_workload()->set_arrival(v1::ARRIVAL_POISSON);
         });
       },
       pass,
       {"OUTCOME_PASS rate_achieved>=99%: 99.97 %"}},
      {"ABacklogOfTheWarmUpWithEvenArrivals",
       [] { return BacklogOfTheWarmup(v1::ARRIVAL_EVEN); },
       pass,
       {"OUTCOME_PASS rate_achieved>=99%: 100.00 %"}},
      {"ABacklogOfTheWarmUpWithRandomArrivals",
       [] { return BacklogOfTheWarmup(v1::ARRIVAL_POISSON); },
       pass,
       {"OUTCOME_PASS rate_achieved>=99%: 100.00 %"}},
      {"RetransmitsOfTheWarmUpAlone",
       [] {
         SimRun run = OverNfs(2, [](int, int64_t) { return 7U; }, {"nfs_retransmits==0"});
         run.warmup_ns = 2 * kSecond;
         for (SimHost& host : run.hosts) {
           host.steps[0][0] = ClosedLoop(run.duration_ns, 10'000, [](uint64_t, int64_t) { return kMs; }, run.warmup_ns);
         }
         return Journal(run);
       },
       pass,
       {"0 retransmits"}},
      {"AClockErrorWithinItsLimit",
       [] { return Journal(Fleet(2, 1, 2 * kSecond, kMs, {"clock_error<1s"})); },
       pass,
       {"OUTCOME_PASS clock_error<1s: "}},
      {"HostsThatShareEvenlyWhereTheirWritersDoNot",
       [] {
         SimRun run = Fleet(4, 2, 2 * kSecond, 100 * kMs, {"fairness@host>=0.9"});
         for (SimHost& host : run.hosts) host.steps[0][0] = Steady(run.duration_ns, kMs, 10'000);
         return Journal(run);
       },
       pass,
       {"fairness@host>=0.9: 1.0000"}},
      {"AHostThatFailedWhereThePlanAllowsIt",
       [] { return OneFailed({"hosts>=2", "p90<10ms", "iops>=2000"}); },
       pass,
       {"2 hosts"}},
      {"ThroughputThatAHostThatFailedWouldHaveBrought",
       [] { return OneFailed({"iops>=2800"}); },
       unsure,
       {"a host of it was lost or failed"}},
      {"AStartSkewWithinTheClockError",
       [] {
         SimRun run = Fleet(2, 1, 2 * kSecond, kMs, {"start_skew<100us"});
         run.hosts[1].steps[0][0] =
             ClosedLoop(run.duration_ns, 10'000, [](uint64_t, int64_t) { return kMs; }, 0, 120'000);
         return Journal(run);
       },
       unsure,
       {"undetermined within the clock error"}},
  };
}

}  // namespace plimsoll::tests
