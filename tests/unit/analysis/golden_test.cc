// The formats of a report, from fixed journals to exact bytes.
//
// After a wanted change: PLIMSOLL_UPDATE_GOLDEN=1 build/dev/bin/report_golden_test, then look at the differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/mqldt.h"
#include "controller/render/text.h"
#include "tests/golden_files.h"
#include "tests/testing.h"
#include "tests/unit/analysis/commits_journal.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/analysis/watched_journal.h"

namespace plimsoll {
namespace {

void ExpectGoldenReport(const std::string& name, const v1::Report& report) {
  ExpectGolden("tests/golden/" + name + ".txt", RenderText(report));
  ExpectGolden("tests/golden/" + name + ".json", RenderJson(report));
  ExpectGolden("tests/golden/" + name + ".csv", RenderCsv(report));
  ExpectGolden("tests/golden/" + name + ".timeline.csv", RenderTimelineCsv(report));
  ExpectGolden("tests/golden/" + name + ".mqldt.csv", RenderMqldtCsv(report));
}

// Latencies around `base_ns` that look natural and are the same on every machine.
std::function<int64_t(uint64_t, int64_t)> Jitter(int64_t base_ns, uint64_t seed) {
  return [base_ns, seed](uint64_t number, int64_t) {
    uint64_t mixed = (number + seed) * 0x9E3779B97F4A7C15U;
    mixed ^= mixed >> 29;
    const auto part = static_cast<int64_t>(mixed % 1000);
    const int64_t tail = part >= 995 ? base_ns * (part - 990) : 0;
    return base_ns + base_ns * part / 2000 + tail;
  };
}

// Three hosts whose clocks are far apart, two block sizes, two queue managers each, a verdict.
SimRun ClusterRun() {
  SimRun run;
  run.block_sizes = {4096, 65536};
  run.duration_ns = 3 * kNsPerSecond;
  run.warmup_ns = 500 * kNsPerMs;
  run.criteria = {"p99<10ms", "iops@4k>=1000"};
  uint64_t seed = 1;
  for (const char* label : {"alpha", "beta", "gamma"}) {
    SimHost host;
    host.label = label;
    host.clock_ahead_ns = static_cast<int64_t>(seed) * 100'000 * kNsPerSecond;
    host.sees = {"alpha", "beta", "gamma"};
    // In the first step: the storage, the path of beta, one queue manager of gamma, and alpha itself.
    std::vector<tests::SimStall> stalls = {{500 * kNsPerMs, 900 * kNsPerMs}};
    if (host.label == "beta") stalls.push_back({1'300 * kNsPerMs, 1'550 * kNsPerMs});
    if (host.label == "alpha") {
      stalls.push_back({2'200 * kNsPerMs, 2'520 * kNsPerMs});
      host.pauses.push_back({0, 2'203 * kNsPerMs, 2'520 * kNsPerMs});
    }
    for (const int64_t base_ns : {400'000, 1'300'000}) {
      std::vector<tests::SimWriter>& writers = host.steps.emplace_back();
      for (int qm = 0; qm < 2; ++qm, ++seed) {
        if (host.label == "gamma" && qm == 1 && host.steps.size() == 1)
          stalls.push_back({1'800 * kNsPerMs, 1'960 * kNsPerMs});
        writers.push_back(ClosedLoop(run.duration_ns, 2'000, tests::WithStalls(Jitter(base_ns, seed), stalls),
                                     run.warmup_ns, static_cast<int64_t>(seed) * 1'000));
      }
      stalls.clear();
    }
    run.hosts.push_back(host);
  }
  return run;
}

// Two hosts on two storages with a rate; one is lost, and its name tries to steer the terminal.
SimRun TroubledRun() {
  SimRun run;
  run.duration_ns = 2 * kNsPerSecond;
  run.criteria = {"p99.9<1ms"};
  run.stall_given = true;
  for (const std::string& label : {std::string("alpha"), std::string("b\x1b[31meta, \"<script>\"")}) {
    SimHost host;
    host.label = label;
    host.rate_per_second = 500;
    // Before the second one is lost it hangs.
    std::vector<tests::SimStall> stalls;
    if (!run.hosts.empty()) stalls.push_back({900 * kNsPerMs, 60 * kNsPerSecond});
    host.steps.push_back({ClosedLoop(run.duration_ns, 1'500'000, WithStalls(Jitter(500'000, label.size()), stalls))});
    run.hosts.push_back(host);
  }
  run.hosts[1].lost_after_ns = 1'250 * kNsPerMs;
  run.cut_short = "a host was lost";
  return run;
}

// Two hosts on NFS and one on a disk of its own, long enough for a trend, with what their kernels say; one of them was
// short of CPU, and everything became slower.
SimRun LoadedRun() {
  SimRun run;
  run.duration_ns = 6 * kNsPerSecond;
  for (const char* label : {"alpha", "beta", "gamma"}) {
    SimHost host;
    host.label = label;
    const bool nfs = run.hosts.size() < 2;
    if (nfs) host.sees = {"alpha", "beta"};
    const auto slower = [jitter = Jitter(20'000'000, run.hosts.size())](uint64_t number, int64_t start_ns) {
      return jitter(number, start_ns) + start_ns / 500;
    };
    host.steps.push_back({ClosedLoop(run.duration_ns, 2'000, slower)});
    host.sample = [nfs, beta = run.hosts.size() == 1](uint32_t, int64_t since_start_ns) {
      const auto ms = static_cast<uint64_t>(since_start_ns / kNsPerMs);
      v1::HostSample sample;
      sample.set_agent_cpu_ns(ms * 23'000);
      sample.set_writer_cpu_wait_ns(ms * (beta ? 61'000 : 120));
      sample.set_recorder_late_max_ns(beta ? 72'000'000 : 411'000);
      if (beta && ms / 1'000 == 3) {
        v1::RecorderPause& pause = *sample.add_pauses();
        pause.set_begin_ns(600 * kNsPerSecond);
        pause.set_end_ns(600 * kNsPerSecond + 72'000'000);
      }
      if (nfs) {
        v1::NfsOperation& write = *sample.mutable_nfs()->mutable_write();
        write.set_operations(ms / 25);
        write.set_transmissions(ms / 25 + (beta ? ms / 2'000 : 0));
        write.set_queue_ms(ms / 100);
        write.set_round_trip_ms(ms / 25 * 19);
        write.set_execute_ms(ms / 25 * 20);
      } else {
        v1::DiskCounters& disk = *sample.mutable_disk();
        disk.set_device("nvme0n1p2");
        disk.set_writes(ms / 20);
        disk.set_written_bytes(ms / 20 * 4096);
        disk.set_write_time_ms(ms / 20 * 11);
        disk.set_flushes(ms / 40);
        disk.set_flush_time_ms(ms / 5);
        disk.set_busy_ms(ms * 8 / 10);
      }
      return sample;
    };
    run.hosts.push_back(host);
  }
  return run;
}

TEST(Golden, LoadedReport) {
  ExpectGoldenReport("loaded", tests::Analyze(tests::MakeJournal(LoadedRun())));
}

TEST(Golden, ClusterReport) {
  ExpectGoldenReport("cluster", tests::Analyze(tests::MakeJournal(ClusterRun())));
}

TEST(Golden, TroubledReport) {
  ExpectGoldenReport("troubled", tests::Analyze(tests::MakeJournal(TroubledRun())));
}

// With one host down the others do not keep up.
TEST(Golden, WatchReport) {
  SimRun run = tests::WatchedHosts();
  run.criteria = {"p99<10ms", "mqput_p99<2ms", "stalls==0"};
  uint64_t seed = 1;
  for (SimHost& host : run.hosts) host.steps = {{ClosedLoop(run.duration_ns, 200'000, Jitter(300'000, seed++))}};
  tests::WatchedRun watched = tests::WatchedQm1();
  watched.watch.set_profile(true);
  watched.watch.set_max_overhead_percent(1);
  v1::WatchProfile& profile = *watched.done.mutable_profile();
  profile.add_open_flags("O_RDWR|O_DSYNC|O_DIRECT");
  profile.add_locks("master: POSIX write, pid 4711, held");
  profile.add_calls("pwrite64 3000");
  for (const auto& [bytes, writes] : {std::pair(4'096U, 2'000U), {8'192U, 900U}, {65'536U, 100U}}) {
    v1::WatchedSize& size = *profile.add_sizes();
    size.set_bytes(bytes);
    size.set_writes(writes);
  }
  profile.set_sequential_writes(2'700);
  profile.set_rewriting_writes(298);
  profile.set_other_writes(2);
  profile.set_extent_changes(1);
  const v1::Report report = Analyze(tests::AsWatch(run, watched));
  ExpectGolden("tests/golden/watch.txt", RenderText(report));
  ExpectGolden("tests/golden/watch.json", RenderJson(report));
  ExpectGolden("tests/golden/watch.csv", RenderCsv(report));
  ExpectGolden("tests/golden/watch.timeline.csv", RenderTimelineCsv(report));
}

// 1,000 writes/s of 8 KiB, played ten times as fast on a storage that takes 200 us for each write.
TEST(Golden, PlaybackReport) {
  constexpr int kSeconds = 30;
  std::vector<v1::JournalRecord> records = tests::CommitsJournal(
      [](v1::GroupCommit& commits) {
        commits.set_pattern("/var/watched/pattern.plimsoll");
        commits.set_pattern_sha256(std::string(64, '7'));
        commits.set_load_factor(10);
      },
      {"commit_p99<10ms"}, {std::vector<PatternEntry>(kSeconds, {1'000'000'000, 2, 1'000}), kSeconds * kNsPerSecond});
  v1::JournalRecord note;
  note.mutable_note()->set_text(
      "The recording (watch 7f3a21) has 30,000 log writes of node1/QM1 within 30s, 246 MB in whole pages.");
  records.insert(records.begin() + 1, note);
  const v1::Report report = tests::Analyze(records);
  ExpectGolden("tests/golden/playback.txt", RenderText(report));
  ExpectGolden("tests/golden/playback.json", RenderJson(report));
}

TEST(Golden, PlacementReport) {
  SimRun run = tests::Placement(3 * kNsPerSecond);
  run.criteria = {"p50<5ms"};
  // STOCK, on its standby host, takes 8 ms a write where 200 writes/s were due.
  run.hosts[0].steps[2][1] = tests::Steady(run.duration_ns, 8 * kNsPerMs);
  const v1::Report report = tests::Analyze(tests::MakeJournal(run));
  // mqldt's columns are not for steps of several block sizes.
  ExpectGolden("tests/golden/placement.txt", RenderText(report));
  ExpectGolden("tests/golden/placement.json", RenderJson(report));
  ExpectGolden("tests/golden/placement.csv", RenderCsv(report));
  ExpectGolden("tests/golden/placement.timeline.csv", RenderTimelineCsv(report));
}

TEST(Golden, EmptyReport) {
  ExpectGoldenReport("empty", tests::Analyze({}));
}

// The committed schema is made from report.proto, with its comments as descriptions.
TEST(Golden, SchemaIsThatOfTheProto) {
  tests::ExpectGoldenSchema("docs/report.schema.json", "Report");
}

}  // namespace
}  // namespace plimsoll
