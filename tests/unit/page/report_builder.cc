#include "tests/unit/page/report_builder.h"

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/verdict_cause.h"
#include "tests/unit/page/made_up_step.h"

namespace plimsoll::tests {
namespace {

void AddHost(const MadeUp& made_up, size_t index, v1::Report& report) {
  v1::HostReport& host = *report.add_hosts();
  host.set_number(static_cast<uint32_t>(index));
  host.set_label(made_up.hosts[index]);
  host.set_address(absl::StrCat("10.0.0.", 11 + index, ":7461"));
  host.set_version("0.1.0");
  host.set_kernel("Linux 6.1.0-28-amd64 x86_64");
  host.set_cpus(16);
  host.set_usable_cpus(16);
  host.set_memory_bytes(67'430'000'000);
  *host.mutable_workload() = report.plan().workload();
  host.set_storage(static_cast<uint32_t>(index) % static_cast<uint32_t>(made_up.storages) + 1);
  v1::MountReport& mount = *host.mutable_mount();
  mount.set_directory("/mnt/mqlog/plimsoll-7f3a21");
  mount.set_fs_type("nfs4");
  mount.set_fs_source("filer1:/mq");
  mount.set_remote("filer1:/mq");
  mount.set_mount_point("/mnt/mqlog");
  mount.set_mount_options("rw,hard,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp");
  mount.set_total_bytes(2'199'023'255'552);
  mount.set_free_bytes(1'820'000'000'000);
  mount.set_direct(true);
  mount.set_open_flags("O_RDWR|O_DSYNC|O_DIRECT");
  v1::ClockReport& clock = *host.mutable_clock();
  clock.set_offset_ns(static_cast<int64_t>(index) * 86'400'123'456'789 - 1'000'000);
  clock.set_error_ns(58'000 + static_cast<int64_t>(index) * 1'500);
  clock.set_drift_ppm(0.4 + 0.3 * static_cast<double>(index));
  clock.set_min_round_trip_ns(81'000);
  clock.set_probes(36'000);
  clock.set_wall_clock_difference_ns(310'000);
  clock.set_time_synchronized(true);
  clock.set_source("tsc");
}

}  // namespace

v1::Report MakeReport(const MadeUp& made_up) {
  v1::Report report;
  report.set_format(1);
  v1::RunReport& run = *report.mutable_run();
  run.set_id("7f3a21");
  run.set_name(made_up.name);
  run.set_version("0.1.0");
  run.set_state(v1::RUN_STATE_COMPLETE);
  SetMoment(0, run.mutable_begin());
  SetMoment((65 + made_up.seconds) * kNsPerSecond, run.mutable_end());
  run.set_hosts(static_cast<uint32_t>(made_up.hosts.size()));
  run.set_queue_managers(static_cast<uint32_t>(made_up.hosts.size()) * static_cast<uint32_t>(made_up.qms));
  v1::TestPlan& plan = *report.mutable_plan();
  plan.set_name(made_up.name);
  v1::LogWorkload& workload = *plan.mutable_workload();
  workload.set_dir("/mnt/mqlog");
  workload.set_qm(static_cast<uint32_t>(made_up.qms));
  workload.set_file_size_bytes(16 << 20U);
  workload.set_num_files(3);
  workload.set_file_prefix("S");
  workload.set_sync(v1::SYNC_MODE_DSYNC);
  workload.set_direct(v1::DIRECT_MODE_AUTO);
  for (const uint64_t block : made_up.block_sizes) plan.add_block_size_bytes(block);
  plan.set_duration_ns(made_up.seconds * kNsPerSecond);
  plan.set_repeat(1);
  if (made_up.read_percent > 0) plan.set_read_percent(made_up.read_percent);
  plan.set_lease_ns(10 * kNsPerSecond);
  plan.set_on_host_loss(v1::HOST_LOSS_POLICY_ABORT);
  plan.add_criteria("p99<10ms");
  v1::VerdictReport& verdict = *report.mutable_verdict();
  verdict.set_outcome(v1::OUTCOME_PASS);
  v1::CriterionReport& criterion = *verdict.add_criteria();
  criterion.set_criterion("p99<10ms");
  criterion.set_outcome(v1::OUTCOME_PASS);
  criterion.set_value_text("1.942 ms");
  criterion.set_step(1);
  for (size_t host = 0; host < made_up.hosts.size(); ++host) AddHost(made_up, host, report);
  for (int storage = 1; storage <= made_up.storages; ++storage) {
    v1::StorageReport& told = *report.add_storages();
    told.set_number(static_cast<uint32_t>(storage));
    told.set_fs_type("nfs4");
    told.set_fs_source("filer1:/mq");
  }
  for (const uint64_t block : made_up.block_sizes) AddStep(made_up, block, report);
  report.add_notes("The storage below /mnt/mqlog is shared by hosts that were not part of this run.");
  return report;
}

v1::Report HourReport() {
  MadeUp made_up;
  made_up.hosts.clear();
  for (int host = 1; host <= 16; ++host) made_up.hosts.push_back(absl::StrCat("node", host));
  made_up.qms = 4;
  made_up.seconds = 3'600;
  return MakeReport(made_up);
}

v1::Report HostileReport() {
  const std::string script = "<script>window.broken=1</script>";
  MadeUp made_up;
  made_up.name = "</script><script>window.broken=1</script><!-- & \"title'";
  made_up.hosts = {script, "<img src=x onerror=window.broken=1>",
                   "quo\"te' & \xC3\xA4\xE6\x9C\xAC \xE2\x80\xAE"
                   "back \xF3\xA0\x81\x81",
                   "</title><style>body{display:none}</style>"};
  made_up.seconds = 8;
  v1::Report report = MakeReport(made_up);
  report.mutable_run()->set_id("\"><b>id");
  report.mutable_run()->set_version(script);
  report.add_notes("Note with " + script + " and \x1b[31mcolour");
  report.mutable_verdict()->add_reasons(script);
  report.mutable_verdict()->mutable_criteria(0)->set_criterion(script);
  report.mutable_verdict()->mutable_criteria(0)->set_host(script);
  report.mutable_plan()->add_criteria(script);
  for (v1::HostReport& host : *report.mutable_hosts()) {
    host.set_address("javascript:window.broken=1");
    host.set_kernel(script);
    host.mutable_mount()->set_mount_options("rw," + script);
    host.mutable_mount()->set_fs_source(script);
    host.mutable_mount()->set_remote(script);
    host.mutable_mount()->set_open_flags(script);
    host.mutable_mount()->set_caveat(script);
    host.mutable_clock()->set_source(script);
    host.mutable_workload()->set_dir("/mnt/" + script);
    host.mutable_workload()->set_file_prefix(script);
  }
  v1::FaultReport& fault = *report.mutable_hosts(0)->add_faults();
  fault.set_message(script);
  report.mutable_hosts(1)->mutable_lost()->set_reason(script);
  for (v1::HostLoadReport& load : *report.mutable_steps(0)->mutable_load()) {
    load.set_bottleneck(script);
    load.mutable_disk()->set_device(script);
  }
  report.mutable_steps(0)->set_cut_short(script);
  for (const std::string& warning : VerdictWarnings(report)) report.mutable_verdict()->add_warnings(warning);
  report.mutable_verdict()->add_warnings(script);
  return report;
}

v1::Report CutOffReport() {
  MadeUp made_up;
  made_up.block_sizes.clear();
  v1::Report report = MakeReport(made_up);
  report.mutable_run()->set_state(v1::RUN_STATE_CUT_OFF);
  report.mutable_run()->set_state_reason("the journal ends before the first step");
  report.mutable_verdict()->set_outcome(v1::OUTCOME_INCONCLUSIVE);
  report.mutable_verdict()->clear_criteria();
  report.mutable_verdict()->add_reasons("the run ended before its time");
  return report;
}

}  // namespace plimsoll::tests
