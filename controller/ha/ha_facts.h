// What happened in an HA drill by its journal, instance by instance and round by round.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/ha/log_check.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// A moment of an instance's writing between two entries of its ledger: what it had acknowledged before.
struct HaWritePause {
  uint64_t last_sequence = 0;
  int64_t last_end_ns = 0;
  // When the last write of the entry after it had ended.
  int64_t next_end_ns = 0;
};

// The writes that an instance acknowledged: a run of sequence numbers. Moments are of its host's clock.
struct HaLedger {
  uint64_t entries = 0;
  uint32_t epoch = 0;
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;
  int64_t last_start_ns = 0;
  int64_t last_end_ns = 0;
  // An entry is missing, or contradicts the one before it.
  bool broken = false;
  // In their order: those before the grant to another instance of the queue manager, as far as the journal had it then:
  // the last kMostHaPauses / 2 and more, and before these the breaks of more than kHaPauseNs; then as many behind the
  // grant as there is room for. None where the instance had ended before there was another.
  std::vector<HaWritePause> pauses;
  // The journal has the grant to another instance.
  bool overtaken = false;
};
// What an instance read back at once, and when that arrived at the controller.
struct HaReadPiece {
  int64_t arrived_ns = 0;  // on the timeline
  int64_t read_ns = 0;     // on its host's clock: it was read by then
  HaReadings readings;
};
// The last so many are kept apart.
inline constexpr size_t kMostHaReadPieces = 64;

inline constexpr int64_t kHaPauseNs = 500'000'000;
inline constexpr size_t kMostHaPauses = 512;

// An event of an instance, and when it was, on its host's clock.
template <typename Event>
struct HaEventAt {
  int64_t at_ns = 0;
  Event event;
};

// One instance, or one scan. Moments are of its host's clock unless noted otherwise.
struct HaInstanceFacts {
  uint32_t number = 0;
  uint32_t qm = 0;
  uint32_t host = 0;
  // Clock of its moments: the host's when it was started (Timeline::ClockOf), and whether that is still open.
  uint32_t clock = 0;
  bool clock_open = false;
  std::optional<HaEventAt<v1::HaStarted>> started;
  std::optional<HaEventAt<v1::HaLockGranted>> active;  // the lock `active`
  std::optional<HaEventAt<v1::HaLockFree>> free;
  std::optional<HaEventAt<v1::HaLockLost>> lock_lost;
  std::optional<HaEventAt<v1::HaEpochRaised>> epoch;
  std::optional<HaEventAt<v1::HaReplayed>> replayed;
  std::optional<HaEventAt<v1::HaWriting>> writing;
  std::optional<HaEventAt<v1::HaFirstWrite>> first_write;
  std::optional<HaEventAt<v1::HaSignalled>> killed;
  std::optional<HaEventAt<v1::HaScanned>> scanned;
  std::optional<HaEventAt<v1::HaEnded>> ended;
  HaLedger ledger;
  // What it read back of the log: all but the last pieces together, those by themselves. Once the journal has the grant
  // to another instance there are no more of them than that.
  HaReadings read_back;
  std::deque<HaReadPiece> last_read_back;
  uint64_t last_read_sequence = 0;
  // The command of a fault was run against it while it was active: what it writes after that may be a zombie's.
  bool struck_by_command = false;
  // Times between SIGSTOP and SIGCONT, on its host's clock; the last one may be open.
  struct Hang {
    int64_t stopped_ns = 0;
    std::optional<int64_t> resumed_ns;
  };
  std::vector<Hang> hangs;
  // On the timeline: when the last order that resumes it was sent; 0: none was.
  int64_t resume_ordered_ns = 0;
  // On the timeline: when the first order that ends it was sent, and when that was answered; 0: none was.
  int64_t end_ordered_ns = 0;
  int64_t end_taken_ns = 0;
};

struct HaRoundFacts {
  v1::HaRoundBegin begin;
  int64_t begin_ns = 0;  // on the timeline, as all others here
  // The command that causes the fault; 0: there was none, or it did not end.
  int64_t command_ns = 0;
  int64_t command_done_ns = 0;
  // Commands that failed.
  std::vector<std::string> command_errors;
  // Contact with the victim was lost; 0: it was not.
  int64_t away_ns = 0;
  std::optional<v1::HaRoundEnd> end;
  int64_t end_ns = 0;
};

// Takes the records of a drill in their order, with the timeline of those before; others are none of its business. What
// contradicts itself is INVALID_ARGUMENT and left out. Memory grows with the instances and rounds, not with the writes.
// Not thread-safe.
class HaFacts {
 public:
  absl::Status Take(const v1::JournalRecord& record, const Timeline& timeline);

  const std::map<uint32_t, HaInstanceFacts>& instances() const { return instances_; }
  const std::vector<HaRoundFacts>& rounds() const { return rounds_; }
  // Null where nothing arrived of it.
  const HaInstanceFacts* Find(uint32_t instance) const;
  // Instances of the queue manager that got the lock `active`, by epoch.
  std::vector<const HaInstanceFacts*> Actives(uint32_t qm) const;
  // The last scan of the queue manager's log; null: there was none.
  const HaInstanceFacts* ScanOf(uint32_t qm) const;
  // By host, why an instance there had to open a file without O_DIRECT.
  std::map<uint32_t, std::string> DirectRefused() const;
  // Whether contact with the host was ever lost.
  bool WasAway(uint32_t host) const { return away_.contains(host); }

 private:
  absl::Status TakeOfDrill(int64_t now_ns, const v1::HaRecord& record, const Timeline& timeline);
  absl::Status OnEvent(int64_t now_ns, uint32_t host, const v1::HaEvent& event, const Timeline& timeline);
  absl::Status OnLedger(uint32_t host, const v1::HaLedgerEntry& entry, const Timeline& timeline);
  void OnCommand(int64_t time_ns, const v1::HostCommand& command);
  void OnCommandDone(int64_t time_ns, const v1::HostCommandDone& done);
  // The instance of that number on that host, made where it is new. INVALID_ARGUMENT where the host was not ordered to
  // start one of that number for the queue manager.
  absl::StatusOr<HaInstanceFacts*> Get(uint32_t host, uint32_t instance, uint32_t qm, const Timeline& timeline);
  HaRoundFacts* RoundOf(uint32_t round);
  static absl::Status NoteReadBack(int64_t now_ns, const v1::HaEvent& event, HaInstanceFacts& instance);
  static void NotePause(const HaWritePause& pause, HaLedger& ledger);
  static void TrimPauses(HaLedger& ledger);

  struct Ordered {
    uint32_t host = 0;
    uint32_t qm = 0;
  };
  // What hosts were ordered to start: instances and scans. Others there are not.
  std::map<uint32_t, Ordered> ordered_;
  std::map<uint32_t, HaInstanceFacts> instances_;
  std::vector<HaRoundFacts> rounds_;
  // Hosts with which contact was ever lost.
  std::set<uint32_t> away_;
  // By queue manager, the instance that was granted the lock last.
  std::map<uint32_t, uint32_t> last_active_;
  std::set<uint32_t> joined_;
  // Numbers of orders that end an instance, by host and command.
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> ending_;
};

}  // namespace plimsoll
