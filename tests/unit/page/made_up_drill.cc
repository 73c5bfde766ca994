// The report of an HA drill that never was.
#include <algorithm>
#include <string>

#include "common/units.h"
#include "tests/unit/page/report_builder.h"

namespace plimsoll::tests {
namespace {

void SetSpan(int64_t ns, v1::HaSpan* span) {
  span->set_ns(ns);
  span->set_error_ns(kNsPerMs / 10);
}

v1::HaPictureState& AddState(v1::HaPictureState::State state, uint32_t instance, int64_t from_ns, int64_t to_ns,
                             v1::HaPictureLane& lane) {
  v1::HaPictureState& one = *lane.add_states();
  one.set_instance(instance);
  one.set_state(state);
  one.set_from_ns(from_ns);
  one.set_to_ns(to_ns);
  return one;
}

void AddLock(v1::HaLock lock, uint32_t instance, int64_t from_ns, int64_t to_ns, v1::HaPictureLane& lane) {
  v1::HaPictureLock& one = *lane.add_locks();
  one.set_instance(instance);
  one.set_lock(lock);
  one.set_from_ns(from_ns);
  one.set_to_ns(to_ns);
}

// From a second before the fault to four after it: free after 1 s, granted after 2 s, replayed after 2.5 s, written
// after 3 s.
v1::HaPicture MakePicture(uint32_t round, const std::string& old_host, const std::string& new_host) {
  constexpr int64_t kMs = kNsPerMs;
  v1::HaPicture picture;
  picture.set_round(round);
  picture.mutable_zero()->set_seconds(1'800'000'000);
  picture.set_from_ns(-1'000 * kMs);
  picture.set_to_ns(4'000 * kMs);
  picture.set_error_ns(kMs / 10);
  picture.set_bin_ns(50 * kMs);
  picture.set_frame_ns(250 * kMs);
  v1::HaPictureQueueManager& qm = *picture.add_queue_managers();
  qm.set_qm(1);
  qm.set_last_write_ns(-10 * kMs);
  qm.set_fault_ns(0);
  qm.set_fault_until_ns(0);
  qm.set_free_ns(1'000 * kMs);
  qm.set_granted_ns(2'000 * kMs);
  qm.set_replayed_ns(2'500 * kMs);
  qm.set_first_write_ns(3'000 * kMs);
  v1::HaPictureLane& old = *qm.add_lanes();
  old.set_host(old_host);
  AddState(v1::HaPictureState::STATE_ACTIVE, 1, picture.from_ns(), 0, old);
  AddLock(v1::HA_LOCK_ACTIVE, 1, picture.from_ns(), 0, old);
  v1::HaPictureLane& next = *qm.add_lanes();
  next.set_host(new_host);
  AddState(v1::HaPictureState::STATE_STANDBY, 2, picture.from_ns(), 2'000 * kMs, next);
  AddState(v1::HaPictureState::STATE_REPLAYING, 2, 2'000 * kMs, 2'600 * kMs, next);
  AddState(v1::HaPictureState::STATE_ACTIVE, 2, 2'600 * kMs, picture.to_ns(), next);
  AddLock(v1::HA_LOCK_STANDBY, 2, picture.from_ns(), 2'000 * kMs, next);
  AddLock(v1::HA_LOCK_ACTIVE, 2, 2'000 * kMs, picture.to_ns(), next);
  for (int bin = 0; bin < 100; ++bin) {
    old.add_writes(bin < 20 ? 10 : 0);
    next.add_writes(bin >= 80 ? 5 : 0);
  }
  picture.mutable_others_before();
  picture.mutable_others_during();
  v1::HaPictureOther& other = *picture.add_others();
  other.set_qm(2);
  other.set_host("gamma");
  for (int frame = 0; frame < 20; ++frame) {
    v1::HaPictureFrame& one = *other.add_frames();
    one.set_from_ns(picture.from_ns() + frame * picture.frame_ns());
    one.set_to_ns(one.from_ns() + picture.frame_ns());
    one.set_count(100);
    one.set_sum_ns(100 * kMs);
    one.set_slowest_from_ns(one.from_ns() + 10 * kMs);
    one.set_slowest_ns(static_cast<uint64_t>(frame == 6 ? 80 * kMs : 4 * kMs));
    v1::HaPictureWrites& sum = *(one.to_ns() <= 0 ? other.mutable_before() : other.mutable_during());
    sum.set_count(sum.count() + one.count());
    sum.set_sum_ns(sum.sum_ns() + one.sum_ns());
    sum.set_max_ns(std::max(sum.max_ns(), one.slowest_ns()));
  }
  return picture;
}

}  // namespace

v1::Report DrillReport(uint32_t rounds, const std::string& first_host) {
  MadeUp made_up;
  made_up.name = "A drill";
  made_up.details = false;
  made_up.seconds = 1;
  v1::Report report = MakeReport(made_up);
  report.clear_steps();
  report.mutable_plan()->mutable_ha()->add_pairs("alpha+beta");
  report.mutable_plan()->mutable_ha()->set_rounds(rounds);
  v1::HaReport& ha = *report.mutable_ha();
  for (uint32_t number = 1; number <= rounds; ++number) {
    v1::HaRoundReport& round = *ha.add_rounds();
    round.set_number(number);
    round.set_fault(number % 10 == 0 ? v1::HA_FAULT_KIND_HANG : v1::HA_FAULT_KIND_KILL);
    round.set_host(number % 2 == 1 ? first_host : "beta");
    for (uint32_t qm = 1; qm <= 2; ++qm) {
      v1::HaTakeoverReport& one = *round.add_takeovers();
      one.set_qm(qm);
      one.set_old_host(round.host());
      one.set_new_host(number % 2 == 1 ? "beta" : first_host);
      one.set_outcome(v1::HA_TAKEOVER_OUTCOME_KEPT);
      if (number % 10 == 0) continue;
      one.set_outcome(v1::HA_TAKEOVER_OUTCOME_TAKEN);
      const int64_t more_ns = number == 7 ? kNsPerSecond : 0;
      SetSpan(3'010 * kNsPerMs + more_ns, one.mutable_gap());
      SetSpan(1'000 * kNsPerMs, one.mutable_to_free());
      SetSpan(2'000 * kNsPerMs, one.mutable_to_granted());
      SetSpan(500 * kNsPerMs + more_ns, one.mutable_to_replayed());
      SetSpan(500 * kNsPerMs, one.mutable_to_first_write());
      SetSpan(3'000 * kNsPerMs + more_ns, one.mutable_takeover());
    }
    if (number == 4) round.mutable_takeovers(1)->mutable_findings()->set_lost(3);
    if (number == 5) round.add_reasons("the do command: exit code 1");
  }
  for (const uint32_t number : {4U, 7U}) {
    if (number <= rounds) {
      const v1::HaTakeoverReport& one = ha.rounds(static_cast<int>(number) - 1).takeovers(0);
      *ha.add_pictures() = MakePicture(number, one.old_host(), one.new_host());
    }
  }
  v1::HaQueueManagerReport& qm = *ha.add_queue_managers();
  qm.set_qm(1);
  qm.add_hosts(first_host);
  qm.add_hosts("beta");
  qm.set_acknowledged(123'456);
  qm.mutable_findings();
  ha.mutable_findings()->set_lost(3);
  return report;
}

}  // namespace plimsoll::tests
