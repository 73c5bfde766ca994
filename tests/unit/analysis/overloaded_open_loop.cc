// Open loops from the agent's write loop to the journal.
#include <atomic>
#include <string>
#include <utility>

#include "agent/writer/work_setup.h"
#include "agent/writer/writer_tally.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/analysis/planted_scenarios.h"

namespace plimsoll::tests {
namespace {

// What the agent needs to know beyond what the builder's journals tell.
WorkSetup SetupOf(v1::HostPlan plan, const SimRun& run) {
  plan.set_run_id("7f3a21");
  plan.set_run_token(std::string(16, 't'));
  plan.set_host_label(run.hosts[0].label);
  plan.set_frame_interval_ns(run.interval_ns);
  plan.mutable_log()->set_seed(12);
  v1::LogStep& step = *plan.mutable_log()->add_steps();
  step.set_block_size_bytes(run.block_sizes[0]);
  step.set_duration_ns(run.duration_ns);
  step.set_warmup_ns(run.warmup_ns);
  return MakeWorkSetup(plan).value();
}

}  // namespace

Records Written(const OpenLoopRun& loop) {
  SimRun run = Fleet(1, 1, loop.duration_ns, kMs, loop.criteria);
  run.warmup_ns = loop.warmup_ns;
  run.hosts[0].rate_per_second = loop.rate_per_second;
  // The builder's writer does nothing: the agent's takes its place.
  run.hosts[0].steps[0][0].clear();
  Records records;
  WorkSetup setup;
  int64_t start_ns = 0;
  for (v1::JournalRecord& record : Journal(run)) {
    if (record.has_frames()) continue;
    if (record.has_host_joined()) {
      v1::HostPlan& plan = *record.mutable_host_joined()->mutable_plan();
      plan.mutable_log()->mutable_workload()->set_arrival(loop.arrival);
      setup = SetupOf(plan, run);
    }
    if (record.has_step_begin()) start_ns = record.step_begin().host_start_ns(0);
    if (record.has_step_done()) {
      FakeWriter writer({run.block_sizes[0]});
      const std::atomic<int64_t> stop_trace_at_ns{StopControl::kNever};
      WriterTally tally(setup.TallyOf(0, start_ns, 1), writer.state, stop_trace_at_ns);
      v1::JournalRecord frames;
      frames.set_time_ns(record.time_ns());
      frames.mutable_frames()->set_host(0);
      writer.env.latency = [&](size_t) { return loop.service_ns(writer.env.now_ns - start_ns); };
      writer.env.in_sleep = [&] { writer.env.now_ns += loop.late_ns(writer.env.now_ns - start_ns); };
      writer.env.in_write = [&] { tally.Poll(writer.env.now_ns, *frames.mutable_frames()->mutable_frames()); };
      const WriteLoopParams params = setup.LoopOf(0, start_ns, 1);
      writer.Run(params);
      tally.Poll(writer.env.now_ns, *frames.mutable_frames()->mutable_frames());
      records.push_back(std::move(frames));
      *record.mutable_step_done()->mutable_done()->mutable_writers(0) = tally.Totals(params.end_ns);
    }
    records.push_back(std::move(record));
  }
  return records;
}

Records OverloadedOpenLoop(std::vector<std::string> criteria) {
  OpenLoopRun run;
  run.rate_per_second = 20'000;
  run.duration_ns = 4 * kSecond;
  run.service_ns = [](int64_t) { return int64_t{263'650}; };
  run.criteria = std::move(criteria);
  return Written(run);
}

Records SometimesWithoutACpu(int64_t service_ns, std::vector<std::string> criteria) {
  OpenLoopRun run;
  run.rate_per_second = 20;
  run.duration_ns = 20 * kSecond;
  run.service_ns = [service_ns](int64_t) { return service_ns; };
  run.late_ns = [](int64_t since_start_ns) { return std::max<int64_t>(18 * kMs - since_start_ns % (250 * kMs), 0); };
  run.criteria = std::move(criteria);
  return Written(run);
}

Records BacklogOfTheWarmup(v1::Arrival arrival) {
  OpenLoopRun run;
  run.rate_per_second = 1'000;
  run.arrival = arrival;
  run.warmup_ns = kSecond;
  run.duration_ns = 4 * kSecond;
  run.service_ns = [](int64_t since_start_ns) { return since_start_ns < kSecond ? 2 * kMs : 950'000; };
  run.criteria = {"service_p99<10ms"};
  return Written(run);
}

}  // namespace plimsoll::tests
