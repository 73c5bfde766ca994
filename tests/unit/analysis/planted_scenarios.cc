#include "tests/unit/analysis/planted_scenarios.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"

namespace plimsoll::tests {

void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

SimRun Fleet(int hosts, int qms, int64_t duration_ns, int64_t latency_ns, std::vector<std::string> criteria) {
  SimRun run;
  run.duration_ns = duration_ns;
  run.stall_ns = 100 * kMs;
  run.stall_given = true;
  run.criteria = std::move(criteria);
  for (int i = 1; i <= hosts; ++i) {
    SimHost& host = run.hosts.emplace_back();
    host.label = absl::StrCat("h", i);
    // A chain: who sees one another shares a storage.
    host.sees = {absl::StrCat("h", i - 1), absl::StrCat("h", i + 1)};
    host.steps.emplace_back(static_cast<size_t>(qms), Steady(duration_ns, latency_ns, 10'000));
  }
  return run;
}

Records Journal(const SimRun& run) {
  return MakeJournal(run);
}

Records SickHost(const std::string& criterion) {
  SimRun run = Fleet(200, 1, 2 * kSecond, 2 * kMs, {criterion});
  run.hosts[122].steps[0][0] = Steady(run.duration_ns, 100 * kMs, 10'000);
  run.stall_ns = 0;
  return Journal(run);
}

SimWriter OneIn(uint64_t every, int64_t duration_ns, uint64_t first) {
  return ClosedLoop(duration_ns, 10'000, [every, first](uint64_t number, int64_t) {
    return number % every == first % every ? 20 * kMs : kMs;
  });
}

SimRun OpenLoop(int64_t issued_per_second, std::vector<std::string> criteria) {
  SimRun run = Fleet(2, 1, 4 * kSecond, 300'000, std::move(criteria));
  for (SimHost& host : run.hosts) host.rate_per_second = 1'000;
  SimHost& behind = run.hosts[1];
  behind.steps[0][0] = Steady(run.duration_ns, 300'000, kSecond / issued_per_second - 300'000);
  run.hosts[0].steps[0][0] = Steady(run.duration_ns, 300'000, 700'000);
  behind.not_issued = static_cast<uint64_t>(std::max<int64_t>(4 * (1'000 - issued_per_second), 0));
  if (behind.not_issued > 0) behind.schedule_lag_ns = 500 * kMs;
  return run;
}

SimRun ShortOfCpu(std::vector<std::string> criteria) {
  SimRun run = Fleet(2, 1, 2 * kSecond, kMs, std::move(criteria));
  SimHost& busy = run.hosts[1];
  busy.steps[0][0] = Steady(run.duration_ns, 8 * kMs);
  busy.sample = [](uint32_t, int64_t since_start_ns) {
    v1::HostSample sample;
    sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(since_start_ns) / 2);
    return sample;
  };
  return run;
}

SimRun Throttled(std::vector<std::string> criteria) {
  SimRun run = ShortOfCpu(std::move(criteria));
  run.hosts[1].sample = [](uint32_t, int64_t since_start_ns) {
    v1::HostSample sample;
    sample.set_throttled_ns(static_cast<uint64_t>(since_start_ns) / 2);
    return sample;
  };
  return run;
}

Records WithRefusedFrame(const SimRun& run, int interval) {
  Records records = Journal(run);
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames() || record.frames().host() != 1) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.first_interval() == interval && !frame.closing()) frame.set_bytes(frame.bytes() + 1);
    }
  }
  return records;
}

Records Edited(const SimRun& run, const std::function<void(v1::JournalRecord&)>& edit) {
  Records records = Journal(run);
  for (v1::JournalRecord& record : records) edit(record);
  return records;
}

Records NotIssuedByAStartDelay(int64_t issued_per_second, int64_t delay_ns, std::vector<std::string> criteria) {
  return Edited(OpenLoop(issued_per_second, std::move(criteria)), [delay_ns](v1::JournalRecord& record) {
    if (!record.has_step_done()) return;
    for (v1::WriterTotals& totals : *record.mutable_step_done()->mutable_done()->mutable_writers()) {
      if (totals.not_issued() == 0) continue;
      totals.mutable_start_delay()->set_max_ns(static_cast<uint64_t>(delay_ns));
      if (totals.start_delay().max_ns() > kPromptStartNs) {
        totals.mutable_start_delay()->set_late_writes(totals.not_issued());
      }
    }
  });
}

Records Without(const SimRun& run, const std::function<bool(const v1::JournalRecord&)>& drop) {
  Records records = Journal(run);
  records.erase(std::remove_if(records.begin(), records.end(), drop), records.end());
  return records;
}

SimRun OneLost(std::vector<std::string> criteria) {
  SimRun run = Fleet(3, 1, 2 * kSecond, kMs, std::move(criteria));
  run.hosts[1].lost_after_ns = kSecond;
  return run;
}

Records OneFailed(std::vector<std::string> criteria) {
  constexpr char kWhy[] = "pwritev2 /mnt/mqlog/S0000001.LOG: Input/output error (5)";
  SimRun run = Fleet(3, 1, 2 * kSecond, kMs, std::move(criteria));
  run.hosts[1].steps[0][0] = Steady(kSecond, kMs, 10'000);
  Records records;
  for (v1::JournalRecord& record : Journal(run)) {
    if (record.has_frames() && record.frames().host() == 1 && record.frames().frames(0).first_interval() >= 5) continue;
    if (record.has_step_done() && record.step_done().host() == 1) {
      record.mutable_step_done()->mutable_done()->set_stopped(kWhy);
      v1::JournalRecord failed;
      failed.set_time_ns(record.time_ns());
      failed.mutable_fault()->set_host(1);
      failed.mutable_fault()->set_step(0);
      failed.mutable_fault()->mutable_fault()->set_qm(1);
      failed.mutable_fault()->mutable_fault()->set_message(kWhy);
      records.push_back(std::move(failed));
    }
    records.push_back(std::move(record));
  }
  return records;
}

SimRun OverNfs(int hosts, std::function<uint64_t(int host, int64_t second)> again, std::vector<std::string> criteria) {
  SimRun run = Fleet(hosts, 1, 4 * kSecond, kMs, std::move(criteria));
  for (int i = 0; i < hosts; ++i) {
    run.hosts[static_cast<size_t>(i)].sample = [i, again](uint32_t /*step*/, int64_t since_start_ns) {
      const int64_t second = since_start_ns / kSecond;
      v1::HostSample sample;
      v1::NfsOperation& write = *sample.mutable_nfs()->mutable_write();
      write.set_operations(static_cast<uint64_t>(second * 100));
      write.set_transmissions(write.operations() + again(i, second));
      return sample;
    };
  }
  return run;
}

Records SpreadStarts(std::vector<std::string> criteria, bool first_frame_refused) {
  SimRun run = Fleet(2, 1, 2 * kSecond, kMs, std::move(criteria));
  for (SimHost& host : run.hosts) {
    host.rate_per_second = 500;
    host.steps[0][0] = Steady(run.duration_ns, kMs, kMs);
  }
  run.hosts[1].steps[0][0] = ClosedLoop(run.duration_ns, kMs, [](uint64_t, int64_t) { return kMs; }, 0, 15 * kMs);
  return Edited(run, [first_frame_refused](v1::JournalRecord& record) {
    if (record.has_host_joined()) {
      v1::HostPlan& plan = *record.mutable_host_joined()->mutable_plan();
      plan.mutable_log()->mutable_workload()->set_arrival(v1::ARRIVAL_EVEN);
    }
    if (!record.has_frames() || record.frames().host() != 1) return;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.first_seq() != 1) continue;
      frame.set_first_phase_ns(15 * kMs);
      if (first_frame_refused) frame.set_bytes(frame.bytes() + 1);
    }
  });
}

SimRun Stalled(bool all, std::vector<std::string> criteria) {
  SimRun run = Fleet(3, 1, 3 * kSecond, kMs, std::move(criteria));
  for (size_t i = 0; i < (all ? 3U : 1U); ++i) {
    run.hosts[i].steps[0][0] = ClosedLoop(
        run.duration_ns, 10'000, WithStalls([](uint64_t, int64_t) { return kMs; }, {{1'500 * kMs, 2'000 * kMs}}));
  }
  return run;
}

SimRun Slower(int64_t later_ns, std::vector<std::string> criteria) {
  SimRun run = Fleet(1, 1, 10 * kSecond, kMs, std::move(criteria));
  run.hosts[0].steps[0][0] = ClosedLoop(run.duration_ns, 10'000, [later_ns](uint64_t, int64_t start_ns) {
    return start_ns < 5 * kSecond ? kMs : later_ns;
  });
  return run;
}

Records SlowGenerator(std::vector<std::string> criteria) {
  SimRun run = Fleet(2, 1, 2 * kSecond, kMs, std::move(criteria));
  run.hosts[1].steps[0][0] = Steady(run.duration_ns, kMs, 111'000);
  return Edited(run, [](v1::JournalRecord& record) {
    if (!record.has_frames() || record.frames().host() != 1) return;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.closing()) continue;
      frame.set_ring_full_waits(1);
      frame.set_ring_full_wait_ns(25 * kMs);
    }
  });
}

SimRun Averaged(std::vector<std::string> criteria) {
  SimRun run = Fleet(2, 1, 4 * kSecond, kMs, std::move(criteria));
  run.hosts[1].coalesce = 8;
  return run;
}

Records ManyAtTheLimit() {
  SimRun run = Fleet(200, 8, 2 * kSecond, kMs, {"p98<10ms"});
  run.stall_ns = 0;
  uint64_t seed = 0x2545F4914F6CDD1D;
  for (SimHost& host : run.hosts) {
    for (SimWriter& writer : host.steps[0]) {
      writer = ClosedLoop(run.duration_ns, 10'000, [&seed](uint64_t, int64_t) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed % 1'000 < 19 ? 20 * kMs : kMs;
      });
    }
  }
  return Journal(run);
}

}  // namespace plimsoll::tests
