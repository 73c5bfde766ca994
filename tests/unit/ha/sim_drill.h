// Makes the journals that drills on storage of any honesty would have left behind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

// What becomes of the write that was in flight at the fault.
enum class InFlight { kNone, kAbsent, kPresent, kTorn, kLate };

struct SimDrill {
  uint32_t rounds = 3;
  // Writes of each active instance, with an entry in the ledger each.
  uint64_t writes = 45;
  v1::HaFaultKind fault = v1::HA_FAULT_KIND_KILL;
  v1::HaFence fence = v1::HA_FENCE_EXTENTS;
  InFlight in_flight = InFlight::kNone;
  // In the last round:
  // So many of the last acknowledged writes are not there when the log is replayed.
  uint64_t dropped = 0;
  // The acknowledged write that is so many before the last is torn.
  std::optional<uint64_t> torn;
  // An acknowledged write in the middle is missing, and later ones are there.
  bool hole = false;
  // An old-epoch write lands over a block that the new active instance acknowledged, so many behind the one in flight.
  uint64_t late_behind = 0;
  // The old active instance starts and completes a write so long after the grant; 0: none.
  int64_t late_by_ns = 0;
  // The lock is granted so long after the fault.
  int64_t takeover_ns = 2'000'000'000;
  // The old active instance goes on 5 ms after the grant, with so many writes, one every 2 ms, which land.
  uint64_t zombie_writes = 0;
  // The lock is granted so long before the fault.
  int64_t granted_early_ns = 0;
  // With it: the active instance had ended by itself 2 ms before that, and the kill found none.
  bool ended_by_itself = false;
  // The lock is granted while the active instance hangs, which fails at its first write when it is resumed.
  bool granted_in_hang = false;
  // In each round with a hang: how long it lasts.
  int64_t hang_ns = 200'000'000'000;
  // The lock is never released.
  bool never_released = false;
  // With it: so long after the fault the drill is interrupted; 0: it is not.
  int64_t interrupted_after_ns = 0;
  // So fast the second host's clock runs, against the controller's.
  double clock_speed = 1;
  // The second host's clock is not known better than this.
  int64_t round_trip_ns = 80'000;
  // The command of the fault fails.
  bool command_fails = false;
  // The final scan is missing.
  bool no_scan = false;
  // The ledger has a hole.
  bool ledger_hole = false;
  // The first entry of the last instance's ledger is missing.
  bool ledger_begins_late = false;
  // The last active instance fails after the last round.
  bool fails_at_the_end = false;
  // The last active instance raises no epoch.
  bool epoch_not_raised = false;
  // After the last round an acknowledged block is lost before the final scan.
  bool lost_before_scan = false;
  // Instances read blocks back before their places are written again; and report that they do, but not what they read.
  bool reads_back = true;
  bool keeps_readings_to_itself = false;
  // The storage acknowledges the writes with these numbers, and does not do them.
  std::set<uint64_t> never_done;
  // In this round in place of the last one: the write of `late_behind`.
  uint32_t late_round = 0;
  // In place of `fault`, round by round. A server restart leaves the lock with its instance.
  std::vector<v1::HaFaultKind> faults;
  // Commands of a fault take so long; and so many writes are acknowledged while they run.
  int64_t command_ns = 5'000'000;
  uint64_t writes_during_command = 0;
  // Contact with the victim is lost so long after the command began; 0: it is not.
  int64_t away_after_ns = 0;
  // So long before the grant the lock is free.
  int64_t free_before_grant_ns = 10'000'000;
  // An instance had to open its small files without O_DIRECT.
  bool direct_refused = false;
  // Boot ids of the kernels of alpha and beta.
  std::vector<std::string> boot_ids = {"kernel of alpha", "kernel of beta"};
  bool one_kernel = false;
  // In place of the default ones.
  std::vector<std::string> criteria;
  // In this round the hang ends after a second.
  uint32_t short_hang_round = 0;
};

// The records, in order: two hosts whose clocks are far apart, one queue manager, a log of 30 blocks.
std::vector<v1::JournalRecord> MakeDrillJournal(const SimDrill& drill);

// What the analysis makes of it.
v1::Report AnalyzeDrill(const SimDrill& drill);

}  // namespace plimsoll::tests
