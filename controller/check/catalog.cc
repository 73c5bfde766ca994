#include "controller/check/catalog.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr v1::CheckRequirement kIntegrity = v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY;
constexpr v1::CheckRequirement kExclusive = v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS;
constexpr v1::CheckRequirement kReleased = v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE;
constexpr v1::CheckRequirement kNone = v1::CHECK_REQUIREMENT_NONE;
constexpr v1::CheckLevel kQuick = v1::CHECK_LEVEL_QUICK;
constexpr v1::CheckLevel kStandard = v1::CHECK_LEVEL_STANDARD;
constexpr v1::CheckLevel kFull = v1::CHECK_LEVEL_FULL;

// Processes of one host at once: those of a check, and one more while another ends.
constexpr uint32_t kQuickProcesses = 8;

std::vector<CatalogEntry> MakeCatalog() {
  return {
      {.name = "lock.exclusive",
       .requirement = kExclusive,
       .level = kQuick,
       .proves = "a lock that one host holds is refused to every other, and what is written under it is not lost",
       .decides = true,
       .needed = true,
       .run = CheckLockExclusive},
      {.name = "lock.byte-ranges",
       .requirement = kExclusive,
       .level = kQuick,
       .proves = "locks of ranges conflict between hosts exactly where the ranges overlap",
       .needed = true,
       .run = CheckLockByteRanges},
      {.name = "lock.released-at-process-death",
       .requirement = kReleased,
       .level = kQuick,
       .proves = "the lock of a process that is killed is granted to another host",
       .needed = true,
       .run = CheckLockReleasedAtProcessDeath},
      {.name = "lock.wait-poll",
       .requirement = kReleased,
       .level = kQuick,
       .proves = "a standby that polls (F_SETLK) is granted the lock when it is released, and not before",
       .needed = true,
       .run = CheckLockWaitPoll},
      {.name = "lock.wait-blocking",
       .requirement = kReleased,
       .level = kQuick,
       .proves = "a standby that waits (F_SETLKW) is granted the lock when it is released, and not before",
       .needed = true,
       .run = CheckLockWaitBlocking},
      {.name = "data.concurrent-writes",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "pages of one file that several hosts write at once are all kept, each of them whole",
       .run = CheckDataConcurrentWrites},
      {.name = "data.visible-after-close",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "what one host writes and closes, another reads when it opens the file",
       .run = CheckDataVisibleAfterClose},
      {.name = "data.visible-after-lock-handover",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "what one owner of a lock writes, the next owner reads, without opening the file again",
       .needed = true,
       .run = CheckDataVisibleAfterLockHandover},
      {.name = "data.rename-atomic",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "a file that is renamed over another is found under the name, whole, at every moment",
       .run = CheckDataRenameAtomic},
      {.name = "data.dsync-survives-writer-death",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "a synchronous write that was acknowledged is there after its writer was killed",
       .hosts = 1,
       .run = CheckDataDsyncSurvivesWriterDeath},
      {.name = "data.order-two-files",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "synchronous writes to two files become visible, and survive, in their order",
       .hosts = 1,
       .run = CheckDataOrderTwoFiles},
      {.name = "data.direct-buffered-agree",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "reads and writes with O_DIRECT and through the page cache see the same content",
       .hosts = 1,
       .run = CheckDataDirectBufferedAgree},
      {.name = "time.timestamps-against-host-clocks",
       .requirement = kNone,
       .level = kQuick,
       .proves = "the storage's times of files and the hosts' clocks differ by at most a second",
       .hosts = 1,
       .run = CheckTimeTimestamps},
      {.name = "lock.storm",
       .requirement = kExclusive,
       .level = kStandard,
       .proves = "a lock that many processes of all hosts contend for has one owner at a time",
       .needed = true,
       .run = CheckLockStorm},
      {.name = "lock.ping-pong",
       .requirement = kNone,
       .level = kStandard,
       .proves = "how many locks a second go round the hosts",
       .run = CheckLockPingPong},
      {.name = "lock.courtesy",
       .requirement = kExclusive,
       .level = kStandard,
       .proves = "a lock is kept, and its holder writes on, after no host made a call for longer than a lease",
       .run = CheckLockCourtesy},
      {.name = "lock.capacity",
       .requirement = kExclusive,
       .level = kStandard,
       .proves = "20 processes of a host can hold a lock in each of 16 files at once",
       .run = CheckLockCapacity},
      {.name = "lock.content-visible-to-next-owner",
       .requirement = kIntegrity,
       .level = kStandard,
       .proves = "what the killed owner of a lock wrote without flushing it, the next owner reads",
       .run = CheckLockContentVisibleToNextOwner},
      {.name = "data.dsync-survives-server-restart",
       .requirement = kIntegrity,
       .level = kFull,
       .proves = "a synchronous write that was acknowledged is there after the storage's server has restarted",
       .hosts = 1,
       .decides = true,
       .faults = {CheckField::Fault::kRestartServer},
       .run = CheckDataDsyncSurvivesServerRestart},
      {.name = "lock.after-server-restart",
       .requirement = kExclusive,
       .level = kFull,
       .proves = "a lock is still its holder's after the storage's server has restarted",
       .faults = {CheckField::Fault::kRestartServer},
       .run = CheckLockAfterServerRestart},
      // Last: a host is lost by it.
      {.name = "lock.released-at-host-death",
       .requirement = kReleased,
       .level = kFull,
       .proves = "the lock of a host that dies is granted to another host before the dead one has restarted",
       .decides = true,
       .faults = {CheckField::Fault::kKillHost, CheckField::Fault::kRestoreHost},
       .run = CheckLockReleasedAtHostDeath},
  };
}

}  // namespace

const std::vector<CatalogEntry>& CheckCatalog() {
  static const std::vector<CatalogEntry> catalog = MakeCatalog();
  return catalog;
}

uint32_t CatalogFiles() {
  return static_cast<uint32_t>(CheckCatalog().size()) * kFilesPerCheck;
}

uint32_t CatalogProcesses(v1::CheckLevel level) {
  if (level == v1::CHECK_LEVEL_QUICK) return kQuickProcesses;
  return std::max(kCapacityProcesses, kStormProcessesPerHost) + kQuickProcesses;
}

std::string FaultOption(CheckField::Fault fault) {
  switch (fault) {
    case CheckField::Fault::kKillHost:
      return "--kill-host";
    case CheckField::Fault::kRestoreHost:
      return "--restore-host";
    default:
      return "--restart-server";
  }
}

std::string LevelName(v1::CheckLevel level) {
  switch (level) {
    case v1::CHECK_LEVEL_QUICK:
      return "quick";
    case v1::CHECK_LEVEL_STANDARD:
      return "standard";
    default:
      return "full";
  }
}

std::string RequirementName(v1::CheckRequirement requirement) {
  switch (requirement) {
    case v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY:
      return "data write integrity";
    case v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS:
      return "guaranteed exclusive access";
    case v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE:
      return "locks released on failure";
    default:
      return "no requirement";
  }
}

std::string OutcomeName(v1::CheckOutcome outcome) {
  switch (outcome) {
    case v1::CHECK_OUTCOME_PASS:
      return "pass";
    case v1::CHECK_OUTCOME_FAIL:
      return "FAIL";
    case v1::CHECK_OUTCOME_UNSUPPORTED:
      return "unsupported";
    case v1::CHECK_OUTCOME_UNDECIDED:
      return "undecided";
    default:
      return "not tested";
  }
}

std::string VerdictName(v1::CheckVerdict verdict) {
  switch (verdict) {
    case v1::CHECK_VERDICT_PASS:
      return "PASS";
    case v1::CHECK_VERDICT_FAIL:
      return "FAIL";
    default:
      return "NOT TESTED";
  }
}

}  // namespace plimsoll
