// Prints the page, or with --json the JSON report, of a made-up run: page_sample
// cutoff|drill|empty|hostile|hour|long-drill|lost|many|minutes|mixed|mq-log|parts|placement|plain|queues|reads|restart|search|
// sweep|storages.
//
// For the browser tests, and to look at; what it shows was never measured.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/analysis/mq_log_report.h"
#include "controller/page/report_page.h"
#include "controller/render/json.h"
#include "controller/report/scopes.h"
#include "tests/unit/page/report_builder.h"

namespace plimsoll {
namespace {

v1::Report SweepReport() {
  tests::MadeUp made_up;
  made_up.block_sizes = {4'096, 16'384, 65'536, 131'072};
  made_up.seconds = 120;
  return tests::MakeReport(made_up);
}

v1::Report StoragesReport() {
  tests::MadeUp made_up;
  made_up.hosts = {"alpha", "beta", "gamma", "delta", "epsilon"};
  made_up.storages = 2;
  made_up.qms = 3;
  made_up.seconds = 300;
  return tests::MakeReport(made_up);
}

// More hosts than a chart can tell apart.
v1::Report ManyReport() {
  tests::MadeUp made_up;
  made_up.hosts.clear();
  for (int host = 1; host <= 256; ++host) made_up.hosts.push_back(absl::StrCat("node", host));
  made_up.qms = 2;
  made_up.seconds = 300;
  return tests::MakeReport(made_up);
}

// One host with more queue managers than a chart shows at once.
v1::Report QueuesReport() {
  tests::MadeUp made_up;
  made_up.hosts = {"alpha"};
  made_up.qms = 30;
  made_up.seconds = 20;
  return tests::MakeReport(made_up);
}

// Each write is a call and a sync after it.
v1::Report PartsReport() {
  tests::MadeUp made_up;
  made_up.parts = true;
  return tests::MakeReport(made_up);
}

// Two steps that write and read.
v1::Report MixedReport() {
  tests::MadeUp made_up;
  made_up.read_percent = 30;
  made_up.block_sizes = {4'096, 65'536};
  return tests::MakeReport(made_up);
}

// All operations read.
v1::Report ReadsReport() {
  tests::MadeUp made_up;
  made_up.read_percent = 100;
  return tests::MakeReport(made_up);
}

// The second of three hosts is lost in the middle of the step.
v1::Report LostReport() {
  tests::MadeUp made_up;
  made_up.qms = 1;
  made_up.seconds = 120;
  v1::Report report = tests::MakeReport(made_up);
  constexpr int kUntil = 47;
  v1::StepReport& step = *report.mutable_steps(0);
  std::vector<uint64_t> missing;
  for (v1::SeriesReport& series : *step.mutable_series()) {
    if (series.host() != "beta") continue;
    if (series.kind() == v1::SCOPE_KIND_HOST) missing.assign(series.writes().begin(), series.writes().end());
    series.mutable_second()->Truncate(kUntil);
    for (auto* column : {series.mutable_writes(), series.mutable_bytes(), series.mutable_latency_sum_ns(),
                         series.mutable_latency_max_ns(), series.mutable_p50_ns(), series.mutable_p99_ns(),
                         series.mutable_p99_9_ns()}) {
      column->Truncate(kUntil);
    }
  }
  for (v1::SeriesReport& series : *step.mutable_series()) {
    if (!series.host().empty()) continue;
    for (int row = kUntil; row < series.writes_size(); ++row) {
      series.set_writes(row, series.writes(row) - missing[static_cast<size_t>(row)]);
      series.set_bytes(row, series.writes(row) * step.block_size_bytes());
    }
  }
  report.mutable_hosts(1)->mutable_lost()->set_reason("the session broke");
  report.mutable_hosts(1)->mutable_lost()->set_step(1);
  return report;
}

// A queue manager's log over four measured sizes, of which one interval is larger than all.
v1::Report MqLogSample() {
  v1::Report report = SweepReport();
  v1::MqLog& log = *report.mutable_plan()->mutable_mq_log();
  log.set_source("400 intervals of <b>log.txt</b>");
  double smallest = 1e9;
  for (const v1::StepReport& step : report.steps()) {
    if (const v1::ScopeReport* const cluster = ClusterOf(step); cluster != nullptr) {
      smallest = std::min(smallest, cluster->mb_per_second());
    }
  }
  for (int i = 1; i <= 200; ++i) {
    log.add_write_size_bytes(i == 200 ? 200'000 : 4'096 + static_cast<uint64_t>(i * 7'919 % 500 * i));
    log.add_bandwidth_mb(smallest / 6 * (0.2 + i / 400.0));
    log.add_intervals(2);
  }
  *report.mutable_mq_log() = MakeMqLogReport(report);
  return report;
}

// What every report has, and nothing else.
v1::Report PlainReport() {
  tests::MadeUp made_up;
  made_up.details = false;
  made_up.hosts = {"alpha"};
  made_up.qms = 1;
  made_up.seconds = 3;
  return tests::MakeReport(made_up);
}

// A search for the highest load: a curve whose latencies rise towards the limit, which is the knee too, and two points
// beyond it, of which one wrote less than half of what the limit did.
v1::Report SearchReport() {
  tests::MadeUp made_up;
  made_up.seconds = 20;
  v1::Report report = tests::MakeReport(made_up);
  v1::LimitReport& limit = *report.mutable_limit();
  report.mutable_plan()->mutable_limit()->set_over(v1::LIMIT_OVER_RATE);
  report.mutable_plan()->clear_criteria();
  report.mutable_plan()->add_criteria("p99<5ms");
  limit.set_over(v1::LIMIT_OVER_RATE);
  limit.set_limit(480);
  limit.set_exceeded_at(503.1);
  limit.set_held(true);
  limit.set_step(1);
  limit.set_iops(480 * 6);
  limit.set_maximum(702);
  limit.set_knee(480);
  limit.set_cause(v1::LIMIT_CAUSE_STORAGE);
  limit.set_cause_text(
      "at 503.1 writes/s per queue manager (step 14) all 3 hosts are affected, p99 from 5.310 ms to 6.020 ms");
  uint32_t step = 0;
  for (const double load : {48.0, 240.0, 336.0, 384.0, 432.0, 456.0, 480.0, 503.1, 561.0}) {
    v1::LimitPoint& point = *limit.add_points();
    point.set_step(++step);
    point.set_purpose(load == 480 ? v1::STEP_PURPOSE_HOLD : v1::STEP_PURPOSE_SEARCH);
    point.set_load(load);
    point.set_state(load > 480 ? v1::LIMIT_STATE_EXCEEDS : v1::LIMIT_STATE_MEETS);
    point.set_criterion("p99<5ms");
    point.set_iops(load == 561 ? 1'210 : 6 * load);
    v1::LimitConfidence& confidence = *point.mutable_confidence();
    confidence.set_criterion("p99<5ms");
    confidence.set_beyond_percent(load / 800);
    confidence.set_low_percent(load > 480 ? 1.1 : load / 900);
    confidence.set_high_percent(load > 480 ? 9 : load / 500);
    confidence.set_allowed_percent(1);
    if (load == 561) point.set_not_recovered(true);
    point.set_curve(true);
    for (v1::LimitLatency* const latency : {point.mutable_cluster(), point.mutable_worst()}) {
      const double more = latency == &point.worst() ? 1.3 : 1;
      const auto at = [&](double ns) { return static_cast<uint64_t>(more * ns * 702 / (702 - load)); };
      latency->set_avg_ns(static_cast<double>(at(600e3)));
      latency->set_p50_ns(at(500e3));
      latency->set_p99_ns(at(1'500e3));
      latency->set_p99_9_ns(at(4e6));
      latency->set_max_ns(at(30e6));
    }
    // The first one had too few writes.
    if (step == 1) point.mutable_cluster()->add_thin("p99_9");
    point.set_worst_host("beta");
    point.set_value(absl::StrCat(point.cluster().p99_ns() / 1000, " us"));
  }
  return report;
}

// A placement: one host's failure is carried, one is not, one was not played.
v1::Report PlacedReport() {
  tests::MadeUp made_up;
  made_up.seconds = 20;
  v1::Report report = tests::MakeReport(made_up);
  v1::PlacementReport& placement = *report.mutable_placement();
  placement.set_outcome(v1::OUTCOME_FAIL);
  placement.set_answer("No: not with beta down; 1 of 4 steps decides nothing.");
  for (v1::HostReport& host : *report.mutable_hosts()) {
    for (uint32_t qm = 0; qm < host.workload().qm(); ++qm) {
      v1::LogQueueManager& placed = *host.add_queue_managers();
      placed.set_name(absl::StrCat("PAYMENTS.OF.", host.label(), ".", qm + 1));
      placed.set_block_size_bytes(4096);
      placed.set_rate_per_second(100);
    }
  }
  v1::PlacedQueueManager& qm = *report.mutable_plan()->add_placement();
  qm.set_qm("PAYMENTS.OF.alpha.1");
  qm.set_home("alpha:7461");
  qm.set_standby("beta:7461");
  qm.set_block_size_bytes(4096);
  qm.set_rate_per_second(100);
  for (const std::string down : {"", "alpha", "beta", "gamma"}) {
    v1::PlacementStepReport& step = *placement.add_steps();
    step.set_step(static_cast<uint32_t>(placement.steps_size()));
    step.set_down_host(down);
    step.set_asked_iops(1'200);
    step.set_outcome(down == "beta" ? v1::OUTCOME_FAIL : down == "gamma" ? v1::OUTCOME_INCONCLUSIVE : v1::OUTCOME_PASS);
    for (int i = 0; i < (down.empty() ? 0 : 6); ++i) {
      v1::MovedReport& moved = *step.add_moved();
      moved.set_queue_manager(absl::StrCat("PAYMENTS.OF.", down, ".", i + 1));
      moved.set_host("alpha");
    }
    if (down == "gamma") {
      step.set_reason("did not run");
      continue;
    }
    step.set_played(true);
    step.set_iops(down == "beta" ? 1'031 : 1'200);
    step.set_p50_ns(510'000);
    step.set_p99_ns(1'910'000);
    step.set_max_ns(71'000'000);
    step.set_worst_host("alpha");
    if (down == "beta") step.set_reason("p99<5ms: 14.211 ms at alpha/PAYMENTS.OF.beta.3; the schedule fell behind");
  }
  return report;
}

// Three rounds of one way to read and apply a log, and the line through them. Everything takes `slower` times as long.
void AddRedo(v1::RestartRedoWay way, uint32_t side, double slower, v1::RestartReport& restart) {
  constexpr double kUs = 1e6;
  constexpr uint32_t kRounds = 3;
  const bool coalesced = way == v1::RESTART_REDO_WAY_COALESCED;
  v1::RestartRedoReport& redo = *restart.mutable_sides(static_cast<int>(side))->add_redo();
  redo.set_way(way);
  redo.set_message_size_bytes(2'048);
  redo.set_slope_us(slower * (coalesced ? 3 : 200));
  redo.set_intercept_us(slower * 20'000);
  redo.set_slope_error_us(0.02 * redo.slope_us());
  redo.set_r_squared(0.998);
  const auto seconds = [&redo](uint64_t records) {
    return (redo.intercept_us() + redo.slope_us() * static_cast<double>(records)) / kUs;
  };
  redo.set_extended_seconds(seconds(restart.extended_to_records()));
  redo.set_extended_error_seconds(0.02 * redo.extended_seconds());
  redo.set_calls_per_record(coalesced ? 0.04 : 2.4);
  for (const uint64_t records : {500U, 1'000U, 2'000U}) {
    v1::RestartPoint& point = *redo.add_points();
    point.set_records(records);
    point.set_rounds(kRounds);
    point.set_median_seconds(seconds(records));
    point.set_min_seconds(0.9 * seconds(records));
    point.set_max_seconds(1.1 * seconds(records));
    point.set_log_seconds(0.1 * seconds(records));
    point.set_queue_seconds(0.85 * seconds(records));
    point.set_log_bytes(2'600 * records);
    point.set_queue_calls(coalesced ? records / 25 : 12 * records / 5);
    for (uint32_t round = 1; round <= kRounds; ++round) {
      v1::RestartMeasurement& measurement = *restart.add_measurements();
      measurement.set_round(round);
      measurement.set_side(side);
      measurement.set_way(way);
      measurement.set_message_size_bytes(2'048);
      measurement.set_records(records);
      measurement.set_seconds((0.8 + 0.1 * round) * seconds(records));
    }
  }
}

// A measurement of restart I/O on two directories, of which one answered from a cache, beside three restarts of a queue
// manager; the records of one are not known.
v1::Report RestartSample() {
  tests::MadeUp made_up;
  made_up.name = "Restart of PAYMENTS";
  made_up.hosts = {"alpha"};
  made_up.qms = 1;
  v1::Report report = tests::MakeReport(made_up);
  report.clear_steps();
  report.clear_verdict();
  report.mutable_verdict()->set_outcome(v1::OUTCOME_DONE);
  report.mutable_plan()->clear_criteria();
  report.mutable_plan()->mutable_restart_time();
  v1::RestartReport& restart = *report.mutable_restart_time();
  restart.set_extended_to_records(60'000);
  restart.add_assumptions("Each log record changes one page of a queue file: <b>MQ's records differ</b>.");
  restart.add_assumptions("2.4 calls for each record is fitted to one study.");
  for (uint32_t number = 0; number < 2; ++number) {
    const double slower = number == 0 ? 1 : 10;
    v1::RestartSide& side = *restart.add_sides();
    side.set_directory(number == 0 ? "/mnt/san" : "/mnt/nfs");
    side.set_fs_type(number == 0 ? "xfs" : "nfs4");
    side.set_fs_source(number == 0 ? "/dev/mapper/mpatha" : "filer1:/mq");
    side.set_cold(number == 0);
    AddRedo(v1::RESTART_REDO_WAY_COALESCED, number, slower, restart);
    AddRedo(v1::RESTART_REDO_WAY_PER_RECORD, number, slower, restart);
    for (const uint64_t depth : {250'000U, 1'000'000U}) {
      v1::RestartLoadReport& load = *side.add_load();
      load.set_way(v1::RESTART_LOAD_WAY_PARALLEL);
      load.set_depth(depth);
      load.set_rounds(3);
      load.set_median_seconds(slower * static_cast<double>(depth) / 2e7);
      load.set_min_seconds(0.9 * load.median_seconds());
      load.set_max_seconds(1.1 * load.median_seconds());
      load.set_bytes(1'280 * depth);
      load.set_calls(depth / 50);
    }
    v1::RestartUndoReport& undo = *side.add_undo();
    undo.set_message_size_bytes(2'048);
    undo.set_uncommitted(400'000);
    undo.set_transactions(10);
    undo.set_rounds(3);
    undo.set_median_seconds(slower * 48);
    undo.set_min_seconds(slower * 46);
    undo.set_max_seconds(slower * 51);
    undo.set_queue_calls(800'000);
    undo.set_log_writes(10);
  }
  for (const uint64_t records : {1'731U, 812U, 0U}) {
    v1::RealRestart& real = *restart.add_real();
    real.set_queue_manager("PAYMENTS");
    real.set_begin_s(1'763'665'211);
    real.set_seconds(0.5 + static_cast<double>(records) / 250);
    real.set_without_channel_initiator(records == 812);
    if (records > 0) real.set_records(records);
    real.set_file("AMQERR01.LOG");
  }
  return report;
}

// As many rounds as a drill may have, on a host whose name would be a script if it were not text.
v1::Report LongDrillReport() {
  return tests::DrillReport(10'000, "<script>window.broken=1</script>");
}

int Main(const std::string& kind, bool json) {
  const std::map<std::string, v1::Report (*)()> kinds = {{"hour", tests::HourReport},
                                                         {"minutes", tests::MinutesReport},
                                                         {"hostile", tests::HostileReport},
                                                         {"cutoff", tests::CutOffReport},
                                                         {"placement", PlacedReport},
                                                         {"restart", RestartSample},
                                                         {"search", SearchReport},
                                                         {"sweep", SweepReport},
                                                         {"storages", StoragesReport},
                                                         {"plain", PlainReport},
                                                         {"many", ManyReport},
                                                         {"mq-log", MqLogSample},
                                                         {"queues", QueuesReport},
                                                         {"parts", PartsReport},
                                                         {"mixed", MixedReport},
                                                         {"reads", ReadsReport},
                                                         {"lost", LostReport},
                                                         {"drill", [] { return tests::DrillReport(); }},
                                                         {"long-drill", LongDrillReport},
                                                         {"empty", [] { return v1::Report(); }}};
  const auto found = kinds.find(kind);
  if (found == kinds.end()) {
    std::cerr << "page_sample: no such sample: " << kind << "\n";
    return 2;
  }
  const v1::Report report = found->second();
  const std::string digest = "sha256:" + std::string(64, '0');
  std::cout << (json ? RenderJson(report) : RenderReportPage(report, digest)) << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return plimsoll::Main(argc > 1 ? argv[1] : "", argc > 2 && std::string(argv[2]) == "--json");
}
