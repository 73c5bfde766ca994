#include "tests/unit/ha/sim_drill.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/plan/plan_defaults.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kBeginNs = 1'000 * kNsPerSecond;
constexpr uint64_t kLap = 30;
constexpr uint64_t kExtentBlocks = 10;
constexpr int64_t kWriteNs = kNsPerMs;

v1::TestPlan PlanOf(const SimDrill& drill) {
  v1::TestPlan plan;
  plan.mutable_workload()->set_dir("/mnt/log");
  plan.mutable_workload()->set_file_size_bytes(kExtentBlocks * 4096);
  plan.mutable_workload()->set_num_files(kLap / kExtentBlocks);
  plan.mutable_ha()->add_pairs("alpha+beta");
  plan.mutable_ha()->set_rounds(drill.rounds);
  plan.mutable_ha()->add_faults(drill.fault);
  for (const v1::HaFaultKind fault : drill.faults) plan.mutable_ha()->add_faults(fault);
  plan.mutable_ha()->set_fence(drill.fence);
  plan.mutable_ha()->set_one_kernel(drill.one_kernel);
  plan.mutable_criteria()->Assign(drill.criteria.begin(), drill.criteria.end());
  plan.set_seed(1);
  FillDefaults(plan);
  return plan;
}

struct Block {
  uint32_t epoch = 0;
  uint64_t sequence = 0;
  bool torn = false;
};

class Maker {
 public:
  explicit Maker(const SimDrill& drill) : drill_(drill) {}

  std::vector<v1::JournalRecord> Make() {
    Begin();
    uint32_t active = 1;
    Grant(active, 0, now_ns_, 0);
    for (uint32_t round = 1; round <= drill_.rounds; ++round) {
      Write(active, Host(active));
      const bool last = round == drill_.rounds;
      const uint32_t standby = active + 1;
      Round(round, active, standby, last);
      const bool kept = FaultOf(round) == v1::HA_FAULT_KIND_SERVER_RESTART ||
                        (FaultOf(round) == v1::HA_FAULT_KIND_HANG && drill_.granted_early_ns == 0 &&
                         !(last && drill_.granted_in_hang));
      if (!kept) active = standby;
      if (last && drill_.never_released) break;
    }
    Finish(active);
    StableSort(records_, [](const auto& a, const auto& b) { return a.time_ns() < b.time_ns(); });
    return records_;
  }

 private:
  v1::HaFaultKind FaultOf(uint32_t round) const {
    return drill_.faults.empty() ? drill_.fault : drill_.faults.at(round - 1);
  }
  uint32_t Host(uint32_t instance) const { return (instance - 1) % 2; }
  int64_t Clock(uint32_t host, int64_t timeline_ns) const {
    if (host == 0) return timeline_ns;
    return static_cast<int64_t>(drill_.clock_speed * static_cast<double>(timeline_ns)) + 100'000 * kNsPerSecond;
  }
  v1::JournalRecord& Add(int64_t at_ns) {
    v1::JournalRecord& record = records_.emplace_back();
    record.set_time_ns(at_ns);
    return record;
  }
  v1::HaEvent& Event(uint32_t instance, int64_t at_ns) {
    v1::HostHaEvents& from_host = *Add(at_ns + kNsPerMs).mutable_ha()->mutable_events();
    from_host.set_host(Host(instance));
    v1::HaEvent& event = *from_host.mutable_events()->add_events();
    event.set_instance(instance);
    event.set_qm(1);
    event.set_at_ns(Clock(Host(instance), at_ns));
    return event;
  }
  void Ledger(uint32_t instance, uint32_t epoch, uint64_t first, uint64_t last, int64_t start_ns, int64_t end_ns) {
    v1::HostHaEvents& from_host = *Add(end_ns + 2 * kNsPerMs).mutable_ha()->mutable_events();
    from_host.set_host(Host(instance));
    v1::HaLedgerEntry& entry = *from_host.mutable_events()->add_ledger();
    entry.set_instance(instance);
    entry.set_qm(1);
    entry.set_epoch(epoch);
    entry.set_first_sequence(first);
    entry.set_last_sequence(last);
    entry.set_last_start_ns(Clock(Host(instance), start_ns));
    entry.set_last_end_ns(Clock(Host(instance), end_ns));
  }
  void Probes(int64_t from_ns, int64_t to_ns) {
    for (int64_t at_ns = from_ns; at_ns < to_ns; at_ns += 100 * kNsPerMs) {
      for (uint32_t host = 0; host < 2; ++host) {
        v1::ProbeBatch& batch = *Add(at_ns + drill_.round_trip_ns).mutable_probes();
        batch.set_host(host);
        v1::ProbeResult& probe = *batch.add_probes();
        probe.set_sent_ns(at_ns);
        probe.set_agent_received_ns(Clock(host, at_ns + drill_.round_trip_ns / 2));
        probe.set_agent_sent_ns(Clock(host, at_ns + drill_.round_trip_ns / 2));
        probe.set_received_ns(at_ns + drill_.round_trip_ns);
      }
    }
  }
  void Advance(int64_t by_ns) {
    Probes(now_ns_, now_ns_ + by_ns);
    now_ns_ += by_ns;
  }

  void Begin() {
    v1::RunBegin& begin = *Add(kBeginNs).mutable_run_begin();
    begin.set_run_id("abcdef");
    *begin.mutable_plan() = PlanOf(drill_);
    begin.set_frame_interval_ns(250 * kNsPerMs);
    for (uint32_t host = 0; host < 2; ++host) {
      v1::HostJoined& joined = *Add(kBeginNs).mutable_host_joined();
      joined.set_host(host);
      joined.set_label(host == 0 ? "alpha" : "beta");
      joined.mutable_description()->set_boot_id(drill_.boot_ids.at(host));
      joined.mutable_plan()->mutable_ha();
    }
    for (uint32_t instance = 1; instance <= drill_.rounds + 2; ++instance) {
      v1::HostCommand& command = *Add(kBeginNs).mutable_host_command();
      command.set_host(Host(instance));
      command.mutable_command()->set_id(10'000 + instance);
      command.mutable_command()->mutable_ha()->mutable_start()->set_instance(instance);
      command.mutable_command()->mutable_ha()->mutable_start()->set_qm(1);
    }
    if (drill_.direct_refused) Event(2, kBeginNs).mutable_started()->set_small_files_direct_refused("Invalid argument");
    Advance(kNsPerSecond);
  }

  void Grant(uint32_t instance, int64_t free_ns, int64_t at_ns, uint64_t replayed) {
    if (!drill_.epoch_not_raised || instance != drill_.rounds + 1) ++epoch_;
    if (free_ns != 0) {
      v1::HaEvent& free = Event(instance, free_ns);
      free.mutable_lock_free()->set_last_held_ns(Clock(Host(instance), free_ns - 50 * kNsPerMs));
      free.mutable_lock_free()->set_asked_ns(free.at_ns());
    }
    Event(instance, at_ns).mutable_lock_granted()->set_lock(v1::HA_LOCK_ACTIVE);
    Event(instance, at_ns + kNsPerMs).mutable_epoch_raised()->set_epoch(epoch_);
    v1::HaEvent& replay = Event(instance, at_ns + 20 * kNsPerMs);
    replay.mutable_replayed()->set_began_ns(Clock(Host(instance), at_ns + 2 * kNsPerMs));
    replay.mutable_replayed()->set_last_sequence(replayed);
    replay.mutable_replayed()->set_pages_checked(kLap);
    for (const auto& [place, block] : log_) {
      if (!block.torn) continue;
      v1::HaFaultyBlock& faulty = *replay.mutable_replayed()->mutable_faults()->add_blocks();
      faulty.set_kind(v1::HaFaultyBlock::KIND_TORN);
      faulty.set_sequence(block.sequence);
    }
    if (hole_ != 0) {
      v1::HaFaultyBlock& faulty = *replay.mutable_replayed()->mutable_faults()->add_blocks();
      faulty.set_kind(v1::HaFaultyBlock::KIND_MISSING);
      faulty.set_sequence(hole_);
    }
    v1::HaWriting& writing = *Event(instance, at_ns + 21 * kNsPerMs).mutable_writing();
    writing.set_first_sequence(replayed + 1);
    writing.set_reads_back(drill_.reads_back);
    read_ = replayed + 1 > kLap ? replayed + 1 - kLap : 0;
    Event(instance, at_ns + 23 * kNsPerMs).mutable_first_write()->set_sequence(replayed + 1);
    next_ = replayed + 1;
    first_write_ns_ = at_ns + 22 * kNsPerMs;
    now_ns_ = std::max(now_ns_, first_write_ns_);
  }

  void Put(uint32_t epoch, uint64_t sequence) {
    if (drill_.never_done.contains(sequence)) return;
    Block& block = log_[(sequence - 1) % kLap];
    before_[(sequence - 1) % kLap] = block;
    block = {epoch, sequence, false};
  }

  // The place has what it had before the write that the storage dropped.
  void Drop(uint64_t sequence) { log_[(sequence - 1) % kLap] = before_[(sequence - 1) % kLap]; }

  // A quarter of a lap before the place comes again.
  void ReadBack(uint32_t instance, uint64_t written, int64_t at_ns) {
    if (!drill_.reads_back || drill_.keeps_readings_to_itself) return;
    for (; read_ + kLap < written + kLap / 4; ++read_) {
      const uint64_t sequence = read_ + 1;
      const Block& block = log_[(sequence - 1) % kLap];
      v1::HaReadBack& read = *Event(instance, at_ns).mutable_read_back();
      read.set_first_sequence(sequence);
      read.set_last_sequence(sequence);
      if (block.sequence == sequence && !block.torn) {
        v1::HaReadRange& range = *read.add_ranges();
        range.set_epoch(block.epoch);
        range.set_first_sequence(sequence);
        range.set_blocks(1);
        continue;
      }
      v1::HaFaultyBlock& faulty = *read.mutable_faults()->add_blocks();
      faulty.set_kind(block.torn ? v1::HaFaultyBlock::KIND_TORN : v1::HaFaultyBlock::KIND_MISSING);
      faulty.set_sequence(sequence);
      faulty.set_found_epoch(block.epoch);
      faulty.set_found_sequence(block.sequence);
    }
  }

  void Write(uint32_t instance, uint32_t /*host*/) {
    int64_t at_ns = std::max(now_ns_, first_write_ns_);
    for (uint64_t i = 0; i < drill_.writes; ++i, ++next_, at_ns += kWriteNs) {
      Put(epoch_, next_);
      if (drill_.ledger_hole && i == 20) continue;
      if (drill_.ledger_begins_late && i == 0) continue;
      Ledger(instance, epoch_, next_, next_, at_ns, at_ns + kWriteNs);
      ReadBack(instance, next_, at_ns + kWriteNs);
    }
    Advance(at_ns - now_ns_ + 5 * kNsPerMs);
  }

  void Signal(uint32_t instance, v1::HaSignalled::Signal signal, int64_t at_ns) {
    v1::HaSignalled& signalled = *Event(instance, at_ns).mutable_signalled();
    signalled.set_signal(signal);
    signalled.set_began_ns(Clock(Host(instance), at_ns - 50'000));
  }

  void Round(uint32_t number, uint32_t active, uint32_t standby, bool last) {
    const v1::HaFaultKind kind = FaultOf(number);
    uint64_t acknowledged = next_ - 1;
    v1::HaRoundBegin& begin = *Add(now_ns_).mutable_ha()->mutable_round_begin();
    begin.set_round(number);
    begin.set_fault(kind);
    begin.set_host(Host(active));
    v1::HaRoundQueueManager& qm = *begin.add_queue_managers();
    qm.set_qm(1);
    qm.set_active(active);
    qm.set_standby(standby);
    const int64_t fault_ns = now_ns_ + 10 * kNsPerMs;
    if (kind == v1::HA_FAULT_KIND_KILL) {
      v1::HostCommand& command = *Add(fault_ns - kNsPerMs).mutable_host_command();
      command.set_host(Host(active));
      command.mutable_command()->set_id(number);
      command.mutable_command()->mutable_ha()->mutable_kill()->set_instance(active);
      const bool by_itself = last && drill_.ended_by_itself;
      if (!by_itself) {
        v1::HaSignalled& killed = *Event(active, fault_ns).mutable_signalled();
        killed.set_signal(v1::HaSignalled::SIGNAL_KILL);
        killed.set_began_ns(Clock(Host(active), fault_ns - 50'000));
      }
      const int64_t ended_ns = by_itself ? fault_ns - drill_.granted_early_ns - 2 * kNsPerMs : fault_ns + kNsPerMs;
      v1::HaEnded& ended = *Event(active, ended_ns).mutable_ended();
      ended.set_reason(by_itself ? v1::HaEnded::REASON_WRITE_FAILED : v1::HaEnded::REASON_SIGNAL);
      ended.set_last_sequence(acknowledged);
      if (drill_.in_flight != InFlight::kNone) ended.set_in_flight_since_ns(Clock(Host(active), fault_ns - 100'000));
    } else if (kind != v1::HA_FAULT_KIND_HANG) {
      Add(fault_ns).mutable_ha()->mutable_fault_command()->set_round(number);
      for (uint64_t i = 0; i < drill_.writes_during_command; ++i, ++next_) {
        const int64_t start_ns = fault_ns + static_cast<int64_t>(i) * kWriteNs;
        Put(epoch_, next_);
        Ledger(active, epoch_, next_, next_, start_ns, start_ns + kWriteNs);
        ReadBack(active, next_, start_ns + kWriteNs);
      }
      acknowledged = next_ - 1;
      if (drill_.away_after_ns != 0) {
        Add(fault_ns + drill_.away_after_ns).mutable_ha()->mutable_host_away()->set_host(Host(active));
      }
      v1::HaFaultCommandDone& done = *Add(fault_ns + drill_.command_ns).mutable_ha()->mutable_fault_command_done();
      done.set_round(number);
      if (last && drill_.command_fails) done.set_error("virsh suspend alpha: exit code 1");
    }
    const uint64_t doubtful = acknowledged + 1;
    const uint32_t old_epoch = epoch_;
    uint64_t replayed = acknowledged;
    if (drill_.in_flight == InFlight::kPresent) {
      Put(epoch_, doubtful);
      replayed = doubtful;
    }
    if (drill_.in_flight == InFlight::kTorn) {
      Put(epoch_, doubtful);
      log_[(doubtful - 1) % kLap].torn = true;
    }
    for (uint64_t gone = 0; last && gone < drill_.dropped; ++gone) Drop(replayed--);
    if (last && drill_.torn.has_value()) log_[(acknowledged - *drill_.torn - 1) % kLap].torn = true;
    hole_ = last && drill_.hole ? acknowledged - 5 : 0;
    const bool hang = kind == v1::HA_FAULT_KIND_HANG;
    const bool kept = kind == v1::HA_FAULT_KIND_SERVER_RESTART;
    const bool lies = last && drill_.granted_early_ns > 0;
    const bool in_hang = last && drill_.granted_in_hang;
    if (hang) Signal(active, v1::HaSignalled::SIGNAL_STOP, fault_ns);
    if (kept) {
      Event(standby, now_ns_).mutable_started();
      Advance(kNsPerSecond);
    } else if (!(last && drill_.never_released) && (!hang || lies || in_hang)) {
      const int64_t granted_ns = lies ? fault_ns - drill_.granted_early_ns : fault_ns + drill_.takeover_ns;
      Advance(granted_ns > now_ns_ ? granted_ns - now_ns_ : 0);
      Grant(standby, granted_ns - drill_.free_before_grant_ns, granted_ns, replayed);
      // The tail that was torn is written anew.
      for (auto& [place, block] : log_) block.torn = block.torn && block.sequence < next_;
      if (last && drill_.late_by_ns != 0) {
        const int64_t late_ns = granted_ns + drill_.late_by_ns;
        Ledger(active, old_epoch, doubtful, doubtful, late_ns, late_ns + kWriteNs);
      }
      for (uint64_t i = 0; last && i < drill_.zombie_writes; ++i) {
        const int64_t start_ns = granted_ns + 5 * kNsPerMs + static_cast<int64_t>(i) * 2 * kNsPerMs;
        Ledger(active, old_epoch, doubtful + i, doubtful + i, start_ns, start_ns + kWriteNs);
      }
      Write(standby, Host(standby));
      if (drill_.in_flight == InFlight::kLate && last) Put(old_epoch, doubtful);
      const bool late = drill_.late_round == 0 ? last : number == drill_.late_round;
      if (late && drill_.late_behind > 0) Put(old_epoch, doubtful + drill_.late_behind);
    } else {
      Event(standby, now_ns_).mutable_started();
      Advance(last && drill_.interrupted_after_ns > 0 ? drill_.interrupted_after_ns
              : !hang                                 ? 61 * kNsPerSecond
              : number == drill_.short_hang_round     ? kNsPerSecond
                                                      : drill_.hang_ns);
    }
    if (hang) {
      v1::HostCommand& command = *Add(now_ns_).mutable_host_command();
      command.set_host(Host(active));
      command.mutable_command()->set_id(1000 + number);
      command.mutable_command()->mutable_ha()->mutable_resume()->set_instance(active);
      Signal(active, v1::HaSignalled::SIGNAL_RESUME, now_ns_ + kNsPerMs);
      if (in_hang) {
        v1::HaEnded& ended = *Event(active, now_ns_ + 2 * kNsPerMs).mutable_ended();
        ended.set_reason(v1::HaEnded::REASON_WRITE_FAILED);
        ended.set_last_sequence(acknowledged);
      }
      Advance(5 * kNsPerMs);
    }
    v1::HaRoundEnd& end = *Add(now_ns_).mutable_ha()->mutable_round_end();
    end.set_round(number);
    if (last && drill_.interrupted_after_ns > 0) end.set_cut_short("interrupted");
  }

  void Finish(uint32_t active) {
    if (drill_.lost_before_scan) log_[(next_ - 3) % kLap] = {};
    Advance(kNsPerSecond);
    v1::HostCommand& command = *Add(now_ns_).mutable_host_command();
    command.set_host(Host(active));
    command.mutable_command()->set_id(1'000);
    command.mutable_command()->mutable_ha()->mutable_end()->set_instance(active);
    v1::HaEnded& ended = *Event(active, now_ns_ + kNsPerMs).mutable_ended();
    ended.set_last_sequence(next_ - 1);
    if (drill_.fails_at_the_end) {
      ended.set_reason(v1::HaEnded::REASON_WRITE_FAILED);
      ended.set_message("No space left on device");
    }
    if (!drill_.no_scan) {
      v1::HaScanned& scan = *Event(active + 1, now_ns_ + 50 * kNsPerMs).mutable_scanned();
      for (uint64_t place = 0; place < kLap; ++place) {
        const Block block = log_[place];
        if (block.torn) {
          v1::HaFaultyBlock& faulty = *scan.mutable_faults()->add_blocks();
          faulty.set_kind(v1::HaFaultyBlock::KIND_TORN);
          faulty.set_extent(static_cast<uint32_t>(place / kExtentBlocks));
          faulty.set_offset_bytes(place % kExtentBlocks * 4096);
          faulty.set_found_epoch(block.epoch);
          faulty.set_found_sequence(block.sequence);
          continue;
        }
        v1::HaLogRange& range = *scan.add_ranges();
        range.set_first_place(place);
        range.set_blocks(1);
        range.set_epoch(block.epoch);
        range.set_first_sequence(block.sequence);
      }
    }
    Advance(kNsPerSecond);
    Add(now_ns_ + kNsPerSecond).mutable_run_end();
  }

  const SimDrill drill_;
  std::vector<v1::JournalRecord> records_;
  int64_t now_ns_ = kBeginNs;
  int64_t first_write_ns_ = 0;
  uint32_t epoch_ = 0;
  uint64_t next_ = 1;
  uint64_t hole_ = 0;
  uint64_t read_ = 0;
  std::map<uint64_t, Block> log_;
  std::map<uint64_t, Block> before_;
};

}  // namespace

std::vector<v1::JournalRecord> MakeDrillJournal(const SimDrill& drill) {
  return Maker(drill).Make();
}

v1::Report AnalyzeDrill(const SimDrill& drill) {
  Analyzer analyzer;
  for (const v1::JournalRecord& record : MakeDrillJournal(drill)) analyzer.Add(record);
  return analyzer.Finish();
}

}  // namespace plimsoll::tests
