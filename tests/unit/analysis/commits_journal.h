// The journal of a run with group commit, whose frames the agent's loop and recorder made in virtual time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "agent/writer/pattern_intake.h"
#include "agent/writer/work_setup.h"
#include "agent/writer/writer_tally.h"
#include "common/load_pattern.h"
#include "controller/plan/plan_defaults.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {

// How long the write with this number, from 0, takes.
using LatencyOfCall = std::function<int64_t(size_t call)>;
inline const LatencyOfCall kUsualLatency = [](size_t) { return int64_t{200'000}; };

// What one queue manager's writer and recorder report of a step. `recording`: the writes that it plays; empty: it has
// clients.
struct SimulatedStep {
  SimulatedStep(v1::HostPlan plan, int64_t start_ns, const LoadPattern& recording, const LatencyOfCall& latency) {
    const bool plays = !recording.entries.empty();
    if (plays) {
      v1::PatternParts& parts = *plan.mutable_log()->mutable_pattern();
      parts.add_entries(recording.entries.size());
      parts.add_length_ns(recording.length_ns);
      parts.add_stream_of_writer(0);
    }
    auto setup = MakeWorkSetup(plan);
    if (!setup.ok()) throw std::runtime_error(std::string(setup.status().message()));
    if (plays) {
      PatternIntake intake(plan.log().pattern());
      v1::PatternChunk chunk;
      for (const PatternEntry& entry : recording.entries) AddEntry(entry, chunk);
      if (!intake.Take(chunk).ok()) throw std::runtime_error("the recording was refused");
      setup->streams = intake.Finish().value();
    }
    const WriteLoopParams loop = setup->LoopOf(0, start_ns, 1);
    FakeWriter writer(FakeWriter::MakeSource(setup->FilesOf(1).block_bytes), SampleRing::kDefaultCapacity);
    writer.env.latency = latency;
    writer.Run(loop);
    std::atomic<int64_t> stop_trace_at_ns{0};
    WriterTally tally(setup->TallyOf(0, start_ns, 1), writer.state, stop_trace_at_ns);
    tally.Poll(writer.env.now_ns + kNsPerSecond, frames);
    *done.add_writers() = tally.Totals(loop.end_ns);
    tally.AddMoreTotals(loop.end_ns, done);
  }

  google::protobuf::RepeatedPtrField<v1::Frame> frames;
  v1::StepDone done;
};

// The journal of a run of alpha alone, whose only queue manager has what `set` sets in the plan's group_commit.
inline std::vector<v1::JournalRecord> CommitsJournal(const std::function<void(v1::GroupCommit& commits)>& set,
                                                     const std::vector<std::string>& criteria = {},
                                                     const LoadPattern& recording = {},
                                                     const LatencyOfCall& latency = kUsualLatency) {
  SimRun run;
  run.criteria = criteria;
  run.duration_ns = 2 * kNsPerSecond;
  run.hosts.push_back(
      {.label = "alpha", .steps = {{Steady(run.duration_ns, 200'000)}}, .sees = {}, .lost_after_ns = {}});
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  std::unique_ptr<SimulatedStep> simulated;
  v1::LogStep step;
  v1::HostPlan host_plan;
  bool placed = false;
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) {
      v1::TestPlan& plan = *record.mutable_run_begin()->mutable_plan();
      set(*plan.mutable_group_commit());
      FillDefaults(plan);
      step = ExpandSteps(plan)[0];
      record.mutable_run_begin()->clear_steps();
      *record.mutable_run_begin()->add_steps() = step;
    } else if (record.has_host_joined()) {
      v1::HostPlan& plan = *record.mutable_host_joined()->mutable_plan();
      plan.mutable_log()->clear_steps();
      *plan.mutable_log()->add_steps() = step;
      host_plan = plan;
      host_plan.set_run_id("00ff");
      host_plan.set_run_token(std::string(16, 'x'));
      host_plan.set_host_label("alpha");
      host_plan.set_frame_interval_ns(run.interval_ns);
      v1::LogWorkload& workload = *host_plan.mutable_log()->mutable_workload();
      workload.set_dir("/mnt/mqlog");
      workload.set_file_prefix("S");
      workload.set_qm(1);
      workload.set_num_files(3);
      workload.set_file_size_bytes(16 << 20);
      workload.set_sync(v1::SYNC_MODE_DSYNC);
      workload.set_direct(v1::DIRECT_MODE_AUTO);
    } else if (record.has_step_begin()) {
      simulated = std::make_unique<SimulatedStep>(host_plan, record.step_begin().host_start_ns(0), recording, latency);
    } else if (record.has_frames()) {
      record.mutable_frames()->clear_frames();
      if (!std::exchange(placed, true)) *record.mutable_frames()->mutable_frames() = simulated->frames;
    } else if (record.has_step_done()) {
      *record.mutable_step_done()->mutable_done()->mutable_writers() = simulated->done.writers();
    }
  }
  return records;
}

}  // namespace plimsoll::tests
