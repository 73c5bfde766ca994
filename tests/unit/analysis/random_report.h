// Reports of any content and size, for tests of what is made of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

// Reports as no run makes them, but within what figures can be.
class RandomReport {
 public:
  // `most_hosts`: of one report in three; others have up to 10.
  explicit RandomReport(uint64_t seed, uint64_t most_hosts = 60) : random_(seed), most_hosts_(most_hosts) {}

  v1::Report Make() {
    v1::Report report;
    report.mutable_run()->set_id("7f3a21");
    report.mutable_run()->set_name(Name());
    report.mutable_run()->set_state(static_cast<v1::RunState>(1 + Below(4)));
    report.mutable_run()->set_state_reason(Name());
    const uint64_t hosts = 1 + Below(Below(3) == 0 ? most_hosts_ : 10);
    const uint64_t qms = 1 + Below(6);
    report.mutable_run()->set_hosts(static_cast<uint32_t>(hosts));
    report.mutable_run()->set_queue_managers(static_cast<uint32_t>(hosts * qms));
    const std::string common = Name();
    for (uint64_t i = 0; i < hosts; ++i) {
      v1::HostReport& host = *report.add_hosts();
      host.set_label(absl::StrCat(common, i, Below(2) == 0 ? Name() : ".example.org"));
      host.set_address(Name());
      host.mutable_workload()->set_dir("/" + Name());
      host.mutable_mount()->set_fs_type("nfs4");
      host.mutable_mount()->set_fs_source(Name());
      host.mutable_mount()->set_mount_options(Name());
      host.mutable_clock()->set_probes(Below(2));
      host.mutable_clock()->set_error_ns(TimeNs());
      host.mutable_clock()->set_wall_clock_difference_ns(-TimeNs());
      if (Below(5) == 0) host.mutable_lost()->set_reason(Name());
      hosts_.push_back(host.label());
    }
    const uint64_t steps = 1 + Below(12);
    const bool paced = Below(2) == 0;
    for (uint64_t i = 0; i < steps; ++i) {
      report.mutable_plan()->add_block_size_bytes(4096);
      AddStep(static_cast<uint32_t>(i + 1), static_cast<uint32_t>(qms), paced, *report.add_steps());
    }
    AddVerdict(static_cast<uint32_t>(steps), *report.mutable_verdict());
    for (uint64_t i = Below(20); i > 0; --i) report.add_notes(Name() + " " + Name());
    return report;
  }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  int64_t TimeNs() { return static_cast<int64_t>(Below(100'000'000'000) >> Below(30)); }

  std::string Name() {
    static const std::vector<std::string> kParts = {
        "node", "a", "logger-7", "\u65e5\u672c", "\u00e4", ".", "\x1b[31m", "datacentre", " ", "0"};
    std::string name;
    for (uint64_t i = 1 + Below(20); i > 0; --i) name += kParts[Below(kParts.size())];
    return name;
  }

  void SetLatency(v1::LatencyReport& latency) {
    latency.set_count(Below(20) == 0 ? 0 : 1 + Below(1'000'000));
    std::vector<uint64_t> times;
    for (int i = 0; i < 7; ++i) times.push_back(static_cast<uint64_t>(TimeNs()));
    std::sort(times.begin(), times.end());
    latency.set_min_ns(times[0]);
    latency.set_p50_ns(times[1]);
    latency.set_avg_ns(static_cast<double>(times[2]));
    latency.set_wavg_ns(static_cast<double>(times[1]));
    latency.set_p90_ns(times[3]);
    latency.set_p99_ns(times[4]);
    latency.set_p99_9_ns(times[5]);
    latency.set_p99_99_ns(times[5]);
    latency.set_max_ns(times[6]);
    if (Below(4) == 0) latency.add_thin("p99_9");
  }

  void AddScope(v1::ScopeKind kind, const std::string& host, uint32_t qm, bool paced, v1::StepReport& step) {
    v1::ScopeReport& scope = *step.add_scopes();
    scope.set_kind(kind);
    scope.set_host(host);
    scope.set_qm(qm);
    scope.set_writes(Below(1'000'000'000));
    scope.set_bytes(scope.writes() * 4096);
    scope.set_iops(static_cast<double>(Below(1'000'000)));
    scope.set_mb_per_second(static_cast<double>(Below(20'000'000)) / 1'000);
    SetLatency(*scope.mutable_latency());
    scope.mutable_bandwidth()->set_seconds(1);
    scope.mutable_bandwidth()->set_max_bytes_per_second(Below(20'000'000'000));
    if (paced) {
      scope.mutable_rate()->set_asked_iops(static_cast<double>(Below(1'000'000)));
      scope.mutable_rate()->set_held(Below(2) == 0);
      scope.mutable_rate()->set_unserved(Below(10'000'000));
      scope.mutable_rate()->set_max_behind_ns(static_cast<uint64_t>(TimeNs()));
      SetLatency(*scope.mutable_rate()->mutable_response());
    }
    if (kind == v1::SCOPE_KIND_CLUSTER) SetSlowest(*scope.mutable_slowest());
  }

  void SetSlowest(v1::SlowestReport& slowest) {
    slowest.set_host(hosts_[Below(hosts_.size())]);
    slowest.set_qm(1 + static_cast<uint32_t>(Below(6)));
    slowest.set_number(Below(1'000'000'000));
    slowest.set_extent(static_cast<uint32_t>(Below(100)));
    slowest.set_offset_bytes(Below(1'000'000'000));
    slowest.mutable_start()->set_seconds(static_cast<int64_t>(1'795'402'411 + Below(100'000)));
    slowest.set_error_ns(TimeNs());
    slowest.set_latency_ns(static_cast<uint64_t>(TimeNs()));
  }

  void AddStep(uint32_t number, uint32_t qms, bool paced, v1::StepReport& step) {
    step.set_number(number);
    step.set_block_size_bytes(uint64_t{512} << Below(12));
    if (Below(4) == 0) step.set_cut_short(Name());
    for (const std::string& host : hosts_) {
      for (uint32_t qm = 1; qm <= qms; ++qm) AddScope(v1::SCOPE_KIND_QM, host, qm, paced, step);
      AddScope(v1::SCOPE_KIND_HOST, host, 0, paced, step);
    }
    AddScope(v1::SCOPE_KIND_CLUSTER, "", 0, paced, step);
    for (int i = 0; i < 10; ++i) SetSlowest(*step.add_slowest());
    step.mutable_trend()->set_stretch_ns(1'000'000'000);
    step.mutable_stalls()->set_threshold_ns(100'000'000);
    for (uint64_t i = Below(20); i > 0; --i) {
      v1::StallReport& stall = *step.mutable_stalls()->add_stalls();
      stall.set_stall_class(static_cast<v1::StallClass>(1 + Below(7)));
      stall.set_length_ns(TimeNs());
      stall.set_error_ns(TimeNs());
      stall.set_open(Below(2) == 0);
      stall.mutable_begin()->set_seconds(static_cast<int64_t>(1'795'402'411 + Below(1'000'000)));
      for (uint64_t host = 0; host < 1 + Below(hosts_.size()); ++host) stall.add_hosts(hosts_[host]);
      for (uint64_t writer = Below(16); writer > 0; --writer) stall.add_writers()->set_writes(Below(100'000));
      step.mutable_stalls()->set_count(step.stalls().count() + 1);
    }
    for (const std::string& host : hosts_) {
      v1::HostLoadReport& load = *step.add_load();
      load.set_host(host);
      load.set_agent_cpu_percent(static_cast<double>(Below(6'400)) / 10);
      load.set_recorder_late_max_ns(static_cast<uint64_t>(TimeNs()));
      load.set_pauses(static_cast<uint32_t>(Below(2)));
      load.set_paused_ns(TimeNs());
      if (Below(2) == 0) load.set_bottleneck(Name());
      load.mutable_disk()->set_device(Name());
      load.mutable_disk()->set_writes(Below(1'000'000));
      load.mutable_disk()->set_write_ms(static_cast<double>(TimeNs()) / 1e6);
      load.mutable_nfs()->mutable_write()->set_operations(Below(100'000'000));
      load.mutable_nfs()->mutable_write()->set_execute_ms(static_cast<double>(TimeNs()) / 1e6);
      load.mutable_nfs()->mutable_commit()->set_operations(Below(2));
    }
  }

  void AddVerdict(uint32_t steps, v1::VerdictReport& verdict) {
    verdict.set_outcome(static_cast<v1::Outcome>(1 + Below(4)));
    for (uint64_t i = Below(4); i > 0; --i) {
      v1::CriterionReport& criterion = *verdict.add_criteria();
      criterion.set_criterion(absl::StrCat("p99.99@64k:storage", std::string(Below(60), '9'), "<10ms"));
      criterion.set_outcome(static_cast<v1::Outcome>(1 + Below(3)));
      if (Below(2) == 0) criterion.set_reason(Name());
      for (uint32_t number = 1; number <= steps; ++number) {
        v1::CriterionStepReport& step = *criterion.add_steps();
        step.set_step(number);
        step.set_outcome(static_cast<v1::Outcome>(1 + Below(3)));
        step.set_value_text(absl::StrCat(Below(1'000'000'000), " writes/s"));
        step.set_kind(v1::SCOPE_KIND_QM);
        step.set_host(hosts_[Below(hosts_.size())]);
        step.set_qm(1);
      }
    }
    for (uint64_t i = Below(15); i > 0; --i) verdict.add_reasons(Name());
  }

  std::mt19937_64 random_;
  uint64_t most_hosts_;
  std::vector<std::string> hosts_;
};

}  // namespace plimsoll::tests
