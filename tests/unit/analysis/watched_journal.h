// Makes journals of watches from those of simulated writers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/watch.pb.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {

// What a journal of a watch has beside its frames.
struct WatchedRun {
  v1::WatchPlan watch;
  // Of every host.
  v1::WatchPrepared prepared;
  v1::WatchDone done;
};

// The journal of writers as that of a watch: what they wrote is what was watched, and each call of the plan took as
// long as the write beside it, with a buffer of 100 bytes. Without a log, the writes are the first call.
inline std::vector<v1::JournalRecord> AsWatch(const SimRun& run, const WatchedRun& watched) {
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  const bool log = !watched.watch.queue_managers().empty() || watched.watch.has_log_dir();
  v1::LogStep step;
  step.set_duration_ns(run.duration_ns);
  step.set_warmup_ns(run.warmup_ns);
  if (log) step.add_operations()->set_name("write");
  for (const std::string& call : watched.watch.calls()) {
    step.add_operations()->set_name(call);
    step.mutable_operations()->rbegin()->set_kind(v1::OPERATION_CALL);
  }
  const auto calls = static_cast<uint32_t>(step.operations_size());
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) {
      v1::TestPlan& plan = *record.mutable_run_begin()->mutable_plan();
      plan.clear_workload();
      plan.clear_block_size_bytes();
      *plan.mutable_watch() = watched.watch;
      plan.set_duration_ns(run.duration_ns);
      record.mutable_run_begin()->clear_steps();
      *record.mutable_run_begin()->add_steps() = step;
    } else if (record.has_host_joined()) {
      v1::WatchWork& work = *record.mutable_host_joined()->mutable_plan()->mutable_watch();
      *work.mutable_watch() = watched.watch;
      *work.add_steps() = step;
      work.set_stall_ns(run.stall_ns);
    } else if (record.has_host_prepared()) {
      *record.mutable_host_prepared()->mutable_prepared()->mutable_watch() = watched.prepared;
    } else if (record.has_frames()) {
      const std::vector<v1::Frame> frames(record.frames().frames().begin(), record.frames().frames().end());
      for (uint32_t operation = 1; operation < calls; ++operation) {
        for (v1::Frame frame : frames) {
          frame.set_operation(operation);
          frame.set_bytes(100 * frame.latency().count());
          frame.clear_between_ns();
          frame.clear_in_flight_since_ns();
          frame.clear_stalls();
          *record.mutable_frames()->add_frames() = frame;
        }
      }
    } else if (record.has_step_done()) {
      v1::StepDone& done = *record.mutable_step_done()->mutable_done();
      *done.mutable_watch() = watched.done;
      const std::vector<v1::WriterTotals> totals(done.writers().begin(), done.writers().end());
      for (uint32_t operation = 1; operation < calls; ++operation) {
        for (v1::WriterTotals of_call : totals) {
          of_call.set_operation(operation);
          of_call.set_bytes(100 * of_call.writes());
          *done.add_writers() = of_call;
        }
      }
    }
  }
  return records;
}

// Two hosts of one queue manager each, QM1, whose log and MQPUT are watched: 1 ms a write.
inline SimRun WatchedHosts() {
  SimRun run;
  for (const char* const label : {"alpha", "beta"}) {
    SimHost host;
    host.label = label;
    host.steps = {{Steady(2 * kNsPerSecond, kNsPerMs)}};
    run.hosts.push_back(std::move(host));
  }
  run.duration_ns = 2 * kNsPerSecond;
  return run;
}

inline WatchedRun WatchedQm1() {
  WatchedRun watched;
  watched.watch.add_queue_managers("QM1");
  watched.watch.add_calls("MQPUT");
  v1::WatchedWriter& writer = *watched.prepared.add_writers();
  writer.set_qm(1);
  writer.set_log_dir("/var/mqm/log/QM1/active");
  writer.set_fs_type("ext4");
  writer.add_probes("/opt/mqm/lib64/libmqm_r.so:MQPUT");
  v1::WatchedProcess& process = *writer.add_processes();
  process.set_pid(4711);
  process.set_name("amqzmuc0");
  process.set_threads(2);
  watched.prepared.set_write_overhead_ns(500);
  watched.prepared.set_call_overhead_ns(1'700);
  watched.done.set_overhead_percent(0.25);
  watched.done.set_max_overhead_percent(0.5);
  return watched;
}

}  // namespace plimsoll::tests
