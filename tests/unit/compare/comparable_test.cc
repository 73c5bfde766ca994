#include "controller/compare/comparable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/compare/compare_render.h"
#include "tests/testing.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll {
namespace {

std::string Refusal(const v1::Report& first, const v1::Report& second) {
  const absl::StatusOr<v1::Comparison> comparison = Compare({Side({first}), Side({second})}, Quick());
  return comparison.ok() ? "no refusal" : std::string(comparison.status().message());
}

TEST(Comparable, DifferencesAreListedStorageFirst) {
  v1::Report first = Simulated(1, 1);
  v1::Report second = Simulated(1, 2);
  v1::HostReport& host = *second.mutable_hosts(0);
  host.mutable_mount()->set_fs_type("ext4");
  host.mutable_mount()->set_remote("");
  host.mutable_mount()->set_fs_source("/dev/sdb1");
  host.mutable_mount()->set_mount_options("noatime");
  host.set_kernel("Linux 6.8.0 x86_64");
  host.mutable_workload()->set_file_size_bytes(64 << 20);
  first.mutable_hosts(0)->mutable_workload()->set_file_size_bytes(16 << 20);
  second.mutable_plan()->set_duration_ns(60 * kNsPerSecond);
  const v1::Comparison comparison = Compared({Side({first}), Side({second})});
  std::vector<std::string> what;
  for (const v1::ComparedDifference& difference : comparison.differences()) what.push_back(difference.what());
  EXPECT_THAT(what, ElementsAre("storage", "mount options", "kernel", "--file-size", "--duration"));
  EXPECT_THAT(Strings(comparison.differences(0).values()), ElementsAre("nfs4 filer1:/mq", "ext4 /dev/sdb1"));
  EXPECT_THAT(Strings(comparison.differences(3).values()), ElementsAre("16m", "64m"));
  EXPECT_THAT(Strings(comparison.differences(4).values()), ElementsAre("not given", "1m"));
  EXPECT_THAT(comparison.warnings(), IsEmpty());
}

TEST(Comparable, ASweepIsRefusedInsteadOfPoolingItsLoads) {
  v1::Report swept = Simulated(1, 1);
  for (const uint32_t qm : {1U, 2U}) swept.mutable_plan()->mutable_sweep()->add_qm(qm);
  EXPECT_THAT(
      Refusal(Simulated(1, 2), swept),
      HasSubstr(": not comparable: it is a sweep, whose steps have different loads (--rate, --qm); compare runs "
                "(`plimsoll run`) with one --rate and one --qm"));
}

TEST(Comparable, AStepWithMoreOperationsThanAnyStepHasIsRefused) {
  v1::Report report = Simulated(1, 1);
  for (int i = 0; i < 33; ++i) report.mutable_steps(0)->add_operations()->set_name(absl::StrCat("part", i));
  EXPECT_THAT(Refusal(report, report), HasSubstr(": step 1 has 33 operations, and a step has at most 8"));
}

TEST(Comparable, OfRunsOfOneMixTheBandwidthIsThatOfTheirBytes) {
  v1::Report first = Simulated(1, 1);
  first.mutable_plan()->set_block_size_mix("4k=70,64k=30");
  double bytes = 0;
  double seconds = 0;
  for (v1::StepReport& step : *first.mutable_steps()) {
    step.set_block_size_bytes(0);
    for (v1::ScopeReport& scope : *step.mutable_scopes()) {
      scope.set_bytes(scope.writes() * 22'528);
      if (scope.kind() != v1::SCOPE_KIND_CLUSTER) continue;
      bytes += static_cast<double>(scope.bytes());
      seconds += static_cast<double>(scope.measured_ns()) / 1e9;
    }
  }
  ASSERT_GT(bytes, 0);
  const v1::Comparison comparison = Compared({Side({first}), Side({first})});
  ASSERT_EQ(comparison.block_sizes_size(), 1);
  bool found = false;
  for (const v1::ComparedRow& row : comparison.block_sizes(0).pairs(0).rows()) {
    if (row.figure() != v1::FIGURE_MB_PER_SECOND) continue;
    found = true;
    EXPECT_NEAR(row.first(), bytes / seconds / 1e6, bytes / seconds / 1e9);
  }
  EXPECT_TRUE(found);
}

TEST(Comparable, WhatDoesNotMeasureTheSameIsRefused) {
  const v1::Report report = Simulated(1, 1);
  v1::Report other = report;
  other.mutable_hosts(0)->mutable_workload()->set_sync(v1::SYNC_MODE_NONE);
  const std::string id = report.run().id();
  EXPECT_EQ(
      Refusal(report, other),
      absl::StrCat("not comparable: how writes are made durable (--sync): dsync in run-", id, ", none in run-", id,
                   "; a write that waits for less is not the same write; if that is what you compare, pass "
                   "--differs sync"));
  other = report;
  other.mutable_plan()->set_block_size_mix("4k=70,64k=30");
  EXPECT_THAT(Refusal(report, other), HasSubstr("mixed block sizes (--bsize-mix): none in "));
  other = report;
  other.mutable_hosts(0)->mutable_mount()->set_direct(false);
  EXPECT_THAT(Refusal(report, other), HasSubstr("O_DIRECT in effect: yes in "));
  other = report;
  other.mutable_hosts(0)->mutable_workload()->set_rate_per_second(100);
  EXPECT_THAT(Refusal(report, other), HasSubstr("pace: closed loop in "));
  EXPECT_EQ(
      Refusal(SteadyReport("a", {4'096}, 20, {100'000}), SteadyReport("b", {8'192, 65'536}, 20, {100'000})),
      "not comparable: no block size was measured in all runs: 4k in run-a, 8k,64k in run-b; measure all with one "
      "--bsize");
  EXPECT_THAT(Refusal(report, SteadyReport("b", {}, 0, {})), HasSubstr("nothing was measured in this run"));
}

TEST(Comparable, EachRefusalNamesTheOptionThatAllowsIt) {
  const v1::Report report = Simulated(1, 1);
  const auto changed = [&report](const std::function<void(v1::HostReport&)>& change) {
    v1::Report other = report;
    change(*other.mutable_hosts(0));
    return other;
  };
  const std::vector<v1::Report> others = {
      changed([](v1::HostReport& host) { host.mutable_workload()->set_sync(v1::SYNC_MODE_NONE); }),
      changed([](v1::HostReport& host) { host.mutable_mount()->set_direct(false); }),
      changed([](v1::HostReport& host) { host.mutable_workload()->set_rate_per_second(100); })};
  std::vector<std::string> allowed;
  for (const v1::Report& other : others) {
    const std::string refusal = Refusal(report, other);
    const size_t at = refusal.find("--differs ");
    ASSERT_NE(at, std::string::npos) << refusal;
    allowed.push_back(refusal.substr(at + 10));
    CompareSettings settings = Quick();
    settings.differs = ParseDiffers(allowed.back()).value();
    EXPECT_TRUE(Compare({Side({report}), Side({other})}, settings).ok()) << refusal;
    // Within a side it allows nothing, and is not named.
    const absl::StatusOr<v1::Comparison> mixed = Compare({Side({report, other}), Side({report})}, settings);
    EXPECT_THAT(std::string(mixed.status().message()), HasSubstr("make them sides of their own"));
  }
  EXPECT_THAT(allowed, ElementsAre("sync", "direct", "rate"));
  // Of several all are named at once.
  v1::Report all = others[0];
  all.mutable_hosts(0)->mutable_workload()->set_rate_per_second(100);
  EXPECT_THAT(Refusal(report, all), ::testing::EndsWith("pass --differs rate,sync"));
  v1::Report drill = report;
  drill.mutable_ha();
  EXPECT_THAT(Refusal(report, drill), HasSubstr("not comparable: it is an HA drill"));
}

TEST(Comparable, ReadsAreNeverComparedWithWrites) {
  const v1::Report writes = Simulated(1, 1);
  v1::Report reads = writes;
  reads.mutable_plan()->set_read_percent(100);
  const std::string id = writes.run().id();
  const std::string refusal = absl::StrCat("not comparable: measured operations: writes in run-", id, ", reads in run-",
                                           id, "; a read is not a write");
  EXPECT_EQ(Refusal(writes, reads), refusal);
  CompareSettings settings = Quick();
  settings.differs = ParseDiffers("read-percent").value();
  for (const uint32_t percent : {0U, 50U}) {
    v1::Report other = writes;
    other.mutable_plan()->set_read_percent(percent);
    EXPECT_EQ(std::string(Compare({Side({other}), Side({reads})}, settings).status().message()), refusal);
  }
  EXPECT_TRUE(Compare({Side({reads}), Side({reads})}, Quick()).ok());
}

TEST(Comparable, ReadsThroughThePageCacheDecideNothing) {
  std::vector<v1::Report> reports;
  for (const char* id : {"a", "b"}) {
    v1::Report& report = reports.emplace_back(SteadyReport(id, {4'096}, 12, std::vector<uint64_t>(1'000, 1'000'000)));
    report.mutable_plan()->set_read_percent(100);
    *report.add_hosts() = report.hosts(0);
    report.mutable_hosts(1)->set_label("beta");
  }
  CompareSettings settings = Quick();
  settings.percentile_intervals = false;
  settings.fail_if_slower = 0.1;
  const auto compared = [&] { return Compared({Side({reports[0]}), Side({reports[1]})}, settings); };
  EXPECT_THAT(compared().warnings(), IsEmpty());
  EXPECT_EQ(compared().gate(), v1::OUTCOME_PASS);
  for (v1::Report& report : reports) report.mutable_hosts(1)->mutable_mount()->set_direct(false);
  const std::string memory =
      ": the reads of beta went through the page cache, and may show the host's memory in place of the storage";
  EXPECT_THAT(Strings(compared().warnings()), ElementsAre("A" + memory, "B" + memory));
  EXPECT_THAT(Strings(compared().undecided()), ElementsAre("A" + memory, "B" + memory));
  EXPECT_EQ(compared().gate(), v1::OUTCOME_INCONCLUSIVE);
  // Writes reach the storage through the page cache, too.
  for (v1::Report& report : reports) report.mutable_plan()->set_read_percent(0);
  EXPECT_THAT(compared().warnings(), IsEmpty());
  EXPECT_EQ(compared().gate(), v1::OUTCOME_PASS);
}

TEST(Comparable, AnotherShareOfReadsOrOrderOfBlocksIsRefusedUnlessStated) {
  const v1::Report report = Simulated(1, 1);
  const std::string id = report.run().id();
  v1::Report more = report;
  more.mutable_plan()->set_read_percent(30);
  EXPECT_EQ(Refusal(report, more),
            absl::StrCat("not comparable: percentage of reads (--read-percent): 0 in run-", id, ", 30 in run-", id,
                         "; reads and writes take turns, so that each has less time the more the other has; if that "
                         "is what you compare, pass --differs read-percent"));
  v1::Report random = report;
  random.mutable_plan()->set_access(v1::ACCESS_RANDOM);
  EXPECT_EQ(Refusal(report, random),
            absl::StrCat("not comparable: order of blocks (--access): sequential in run-", id, ", random in run-", id,
                         "; the same storage is faster or slower where blocks come in another order; if that is what "
                         "you compare, pass --differs access"));
  CompareSettings settings = Quick();
  settings.differs = {"access"};
  const v1::Comparison stated = Compared({Side({report}), Side({random})}, settings);
  ASSERT_EQ(stated.differences_size(), 1);
  EXPECT_EQ(stated.differences(0).what(), "--access");
  EXPECT_THAT(Strings(stated.differences(0).values()), ElementsAre("sequential", "random"));
  EXPECT_THAT(std::string(Compare({Side({report, random}), Side({report})}, settings).status().message()),
              HasSubstr("make them sides of their own"));
}

TEST(Comparable, SeedsOfReadsMayDiffer) {
  v1::Report first = Simulated(1, 1);
  first.mutable_plan()->set_read_percent(30);
  first.mutable_plan()->set_access(v1::ACCESS_RANDOM);
  first.mutable_plan()->set_seed(7);
  v1::Report second = first;
  second.mutable_plan()->set_seed(8);
  EXPECT_EQ(Refusal(first, second), "no refusal");
}

TEST(Comparable, ARunOfAVersionWithoutReadsWroteInSequence) {
  v1::Report second = Simulated(1, 2);
  second.mutable_plan()->set_read_percent(0);
  second.mutable_plan()->set_access(v1::ACCESS_SEQUENTIAL);
  EXPECT_THAT(Compared({Side({Simulated(1, 1)}), Side({second})}).differences(), IsEmpty());
}

TEST(Comparable, MoreStepsThanARunCanHaveAreRefused) {
  v1::Report many = Simulated(1, 1);
  while (many.steps_size() <= 10'000) many.add_steps()->set_block_size_bytes(static_cast<uint64_t>(many.steps_size()));
  EXPECT_THAT(Refusal(Simulated(1, 2), many), HasSubstr("10001 steps, and a run has at most 10000"));
}

TEST(Comparable, RunsOfOneSideMustMeasureTheSameToo) {
  v1::Report other = Simulated(1, 2);
  other.mutable_hosts(0)->mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  EXPECT_FALSE(Compare({Side({Simulated(1, 1), other}), Side({Simulated(1, 3)})}, Quick()).ok());
}

TEST(Comparable, BlockSizesThatOnlyOneSideMeasuredAreLeftOutAndNamed) {
  const v1::Comparison comparison = Compared({Side({SteadyReport("a", {4'096, 8'192}, 20, {100'000})}),
                                              Side({SteadyReport("b", {4'096, 65'536}, 20, {100'000})})});
  ASSERT_EQ(comparison.block_sizes_size(), 1);
  EXPECT_THAT(Strings(comparison.limits()),
              Contains("Not compared, because not every run measured them: 8 KiB, 64 KiB."));
}

TEST(Comparable, IncompleteRunsAreComparedWithAWarning) {
  v1::Report second = Simulated(1, 2);
  second.mutable_run()->set_state(v1::RUN_STATE_ABORTED);
  second.mutable_run()->set_state_reason("host alpha was lost");
  second.mutable_verdict()->set_outcome(v1::OUTCOME_INCONCLUSIVE);
  second.mutable_verdict()->add_reasons("host alpha was lost");
  second.mutable_hosts(0)->mutable_lost()->set_step(1);
  second.mutable_steps(0)->set_cut_short("a host was lost");
  const v1::Comparison comparison = Compared({Side({Simulated(1, 1)}), Side({second})});
  EXPECT_THAT(Strings(comparison.warnings()),
              ElementsAre("B is incomplete (aborted): host alpha was lost", "B is INCONCLUSIVE: host alpha was lost",
                          "B lost host alpha in step 1", "B: step 1 (4 KiB) ended early: a host was lost"));
  EXPECT_THAT(RenderCompareText(comparison), HasSubstr("\nWARNING   B is INCONCLUSIVE"));
}

TEST(Comparable, ALoadGeneratorThatMayBeCpuBoundIsWarnedOfWithSideRunStepAndHost) {
  std::vector<v1::Report> runs = {SteadyReport("a", {4'096, 65'536}, 20, {100'000}),
                                  SteadyReport("b", {4'096, 65'536}, 20, {100'000})};
  for (const char* host : {"alpha", "beta"}) {
    v1::HostLoadReport& load = *runs[1].mutable_steps(1)->add_load();
    load.set_host(host);
    load.set_bottleneck("its recorder ran up to 73 ms late");
  }
  const v1::Report other = SteadyReport("c", {4'096, 65'536}, 20, {100'000});
  EXPECT_THAT(
      Strings(Compared({Side({other}), Side(runs)}).warnings()),
      ElementsAre("B2: step 2 (64 KiB): the load generator on alpha may be CPU-bound: its recorder ran up to 73 "
                  "ms late (and 1 more time at this block size)"));
  // It has no part in a comparison of other block sizes.
  const v1::Report small = SteadyReport("c", {4'096}, 20, {100'000});
  EXPECT_THAT(Compared({Side({small}), Side(runs)}).warnings(), IsEmpty());
}

TEST(Comparable, ARunWhoseCriterionIsNotDecidedIsNamedWithIt) {
  v1::Report second = Simulated(1, 2);
  second.mutable_verdict()->set_outcome(v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(Strings(Compared({Side({Simulated(1, 1)}), Side({second})}).warnings()),
              ElementsAre("B is INCONCLUSIVE"));
  v1::CriterionReport& passed = *second.mutable_verdict()->add_criteria();
  passed.set_criterion("p50<10ms");
  passed.set_outcome(v1::OUTCOME_PASS);
  v1::CriterionReport& undecided = *second.mutable_verdict()->add_criteria();
  undecided.set_criterion("p99.9<10ms");
  undecided.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  undecided.set_reason("needs 10,000 writes, has 120");
  EXPECT_THAT(Strings(Compared({Side({Simulated(1, 1)}), Side({second})}).warnings()),
              ElementsAre("B is INCONCLUSIVE: p99.9<10ms: needs 10,000 writes, has 120"));
}

TEST(Comparable, ARunThatFailedIsNamedWithWhatMakesItsFiguresUncertainAndNotWithItsCriteria) {
  v1::Report second = Simulated(1, 2);
  second.mutable_verdict()->set_outcome(v1::OUTCOME_FAIL);
  v1::CriterionReport& failed = *second.mutable_verdict()->add_criteria();
  failed.set_criterion("p99@64k<10ms");
  failed.set_outcome(v1::OUTCOME_FAIL);
  CompareSettings settings = Quick();
  settings.fail_if_slower = 0.2;
  const auto compared = [&] { return Compared({Side({Simulated(1, 1)}), Side({second})}, settings); };
  EXPECT_THAT(compared().warnings(), IsEmpty());
  EXPECT_THAT(compared().undecided(), IsEmpty());
  second.mutable_verdict()->add_reasons("h2's clock runs at 0.50x the controller's.");
  second.mutable_verdict()->add_reasons("h2 was lost: no message for 10 s.");
  const std::string uncertain =
      "B is FAIL, and its figures are uncertain: h2's clock runs at 0.50x the controller's (and 1 more reason)";
  EXPECT_THAT(Strings(compared().warnings()), ElementsAre(uncertain));
  EXPECT_THAT(Strings(compared().undecided()), ElementsAre(uncertain));
  EXPECT_EQ(compared().gate(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(Comparable, AnotherLoadIsWarnedOf) {
  v1::Report second = Simulated(1, 2);
  second.mutable_run()->set_queue_managers(4);
  second.mutable_run()->set_hosts(2);
  EXPECT_THAT(
      Strings(Compared({Side({Simulated(1, 1)}), Side({second})}).warnings()),
      ElementsAre("B and A do not carry the same load, writers: 4 writers on 2 hosts against 1 writer on 1 host; "
                  "more writers mean more IO/s and longer latencies on the same storage"));
}

TEST(Comparable, ARunThatDoesNotShowHowItsWritersStartedStartedThemAtOnce) {
  v1::Report first = Simulated(1, 1);
  first.mutable_hosts(0)->mutable_workload()->set_rate_per_second(100);
  v1::Report second = Simulated(1, 2);
  *second.mutable_hosts(0)->mutable_workload() = first.hosts(0).workload();
  first.mutable_hosts(0)->mutable_workload()->clear_arrival();
  second.mutable_hosts(0)->mutable_workload()->set_arrival(v1::ARRIVAL_ALIGNED);
  EXPECT_THAT(Compared({Side({first}), Side({second})}).warnings(), IsEmpty());
  second.mutable_hosts(0)->mutable_workload()->set_arrival(v1::ARRIVAL_EVEN);
  EXPECT_THAT(Strings(Compared({Side({first}), Side({second})}).warnings()),
              ElementsAre(HasSubstr("when writes start (--arrival): even against aligned")));
}

// Its steps look alike and are not: a different host is down in each.
TEST(Comparable, APlacementIsRefused) {
  v1::Report second = Simulated(1, 2);
  second.mutable_placement();
  const absl::StatusOr<v1::Comparison> refused = Compare({Side({Simulated(1, 1)}), Side({second})}, Quick());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("it is a placement, whose steps have different hosts"));
}

// A run of a recording, whose file has a digest of so many of the same digit.
v1::Report PlayedRun(uint64_t seed, char digit, v1::PlaybackMode mode = v1::PLAYBACK_MODE_DEMAND) {
  v1::Report report = Simulated(1, seed);
  v1::GroupCommit& commits = *report.mutable_plan()->mutable_group_commit();
  commits.set_pattern(absl::StrCat("/", seed, "/pattern.plimsoll"));
  commits.set_pattern_sha256(std::string(64, digit));
  commits.set_playback(mode);
  commits.set_load_factor(1);
  return report;
}

TEST(Comparable, RecordingsAreToldApartByTheirDigestsAndNotByWhereTheyAre) {
  const v1::Comparison same = Compared({Side({PlayedRun(1, 'a')}), Side({PlayedRun(2, 'a')})});
  EXPECT_THAT(same.differences(), IsEmpty());
  EXPECT_THAT(same.warnings(), IsEmpty());
  EXPECT_THAT(Strings(same.limits()), Contains(HasSubstr("Commits are simulated, one for each recorded write")));
  EXPECT_THAT(Refusal(PlayedRun(1, 'a'), PlayedRun(2, 'b')),
              AllOf(HasSubstr("simulated clients or recording (--clients, --pattern)"),
                    HasSubstr("--pattern sha256 aaaaaaaaaaaaaaaa... --playback demand --load-factor 1"),
                    HasSubstr("--pattern sha256 bbbbbbbbbbbbbbbb...")));
}

TEST(Comparable, ALoadFactorMayDifferWhereThatIsWhatIsCompared) {
  v1::Report faster = PlayedRun(2, 'a');
  faster.mutable_plan()->mutable_group_commit()->set_load_factor(1.5);
  EXPECT_THAT(Refusal(PlayedRun(1, 'a'), faster), HasSubstr("pass --differs"));
  CompareSettings settings = Quick();
  settings.differs = {"load-factor"};
  const v1::Comparison compared = Compared({Side({PlayedRun(1, 'a')}), Side({faster})}, settings);
  ASSERT_EQ(compared.differences_size(), 1);
  EXPECT_EQ(compared.differences(0).what(), "--load-factor");
  EXPECT_THAT(Strings(compared.differences(0).values()), ElementsAre("1", "1.5"));
}

TEST(Comparable, WritesAsRecordedAreLabelledAndNeverGated) {
  const v1::Report first = PlayedRun(1, 'a', v1::PLAYBACK_MODE_WRITES);
  const v1::Report second = PlayedRun(2, 'a', v1::PLAYBACK_MODE_WRITES);
  EXPECT_THAT(
      Strings(Compared({Side({first}), Side({second})}).warnings()),
      ElementsAre(HasSubstr("A issued the recorded writes as they are (--playback writes), which is not what MQ "
                            "would issue here"),
                  HasSubstr("B issued the recorded writes")));
  CompareSettings gated = Quick();
  gated.fail_if_slower = 0.1;
  EXPECT_THAT(Compare({Side({first}), Side({second})}, gated).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "never judged"));
}

TEST(SideLabel, GoesOnBehindZ) {
  EXPECT_EQ(SideLabel(0), "A");
  EXPECT_EQ(SideLabel(25), "Z");
  EXPECT_EQ(SideLabel(26), "AA");
  EXPECT_EQ(SideLabel(27), "AB");
}

}  // namespace
}  // namespace plimsoll
