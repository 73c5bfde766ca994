// All checks: what each proves, and the functions that carry them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "controller/check/check_run.h"
#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {

// See the catalog for what each proves.
void CheckLockExclusive(CheckRun& run);
void CheckLockByteRanges(CheckRun& run);
void CheckLockReleasedAtProcessDeath(CheckRun& run);
void CheckLockWaitPoll(CheckRun& run);
void CheckLockWaitBlocking(CheckRun& run);
void CheckLockStorm(CheckRun& run);
void CheckLockPingPong(CheckRun& run);
void CheckLockCourtesy(CheckRun& run);
void CheckLockCapacity(CheckRun& run);
void CheckLockContentVisibleToNextOwner(CheckRun& run);

// Processes on one host that lock.capacity and lock.storm use.
inline constexpr uint32_t kCapacityProcesses = 20;
inline constexpr uint32_t kStormProcessesPerHost = 8;

// See the catalog for what each proves.
void CheckDataConcurrentWrites(CheckRun& run);
void CheckDataVisibleAfterClose(CheckRun& run);
void CheckDataVisibleAfterLockHandover(CheckRun& run);
void CheckDataRenameAtomic(CheckRun& run);
void CheckDataDsyncSurvivesWriterDeath(CheckRun& run);
void CheckDataOrderTwoFiles(CheckRun& run);
void CheckDataDirectBufferedAgree(CheckRun& run);
void CheckTimeTimestamps(CheckRun& run);

// What `reader` read of the first `pages` pages of a stream by a process on `writer` that ended after it had
// acknowledged `acknowledged`: FAIL where an acknowledged write is not there. The one that was in flight may be.
void JudgeStream(CheckRun& run, const CheckedProcess& reader, size_t writer, const v1::CheckAnswer& read,
                 uint32_t pages, uint64_t acknowledged);

// See the catalog for what each proves. The last one loses a host: nothing comes after it.
void CheckDataDsyncSurvivesServerRestart(CheckRun& run);
void CheckLockAfterServerRestart(CheckRun& run);
void CheckLockReleasedAtHostDeath(CheckRun& run);

struct CatalogEntry {
  std::string name;
  v1::CheckRequirement requirement = v1::CHECK_REQUIREMENT_UNSPECIFIED;
  // The lowest level that has it.
  v1::CheckLevel level = v1::CHECK_LEVEL_UNSPECIFIED;
  std::string proves;
  // Hosts that it takes.
  size_t hosts = 2;
  // Without a pass of this one its requirement has no PASS, whatever the level: nothing else tests the same.
  bool decides = false;
  // A file system that does not have what it checks does not meet the requirement.
  bool needed = false;
  // Commands of the user's own that it takes.
  std::vector<CheckField::Fault> faults = {};
  void (*run)(CheckRun&) = nullptr;
};

// In the order in which they run.
const std::vector<CatalogEntry>& CheckCatalog();

// Files that each host makes, and processes that a host has at once, for checks up to this level.
uint32_t CatalogFiles();
uint32_t CatalogProcesses(v1::CheckLevel level);

// The option that gives the command for it.
std::string FaultOption(CheckField::Fault fault);

// "quick", "data write integrity", "not tested".
std::string LevelName(v1::CheckLevel level);
std::string RequirementName(v1::CheckRequirement requirement);
std::string OutcomeName(v1::CheckOutcome outcome);
std::string VerdictName(v1::CheckVerdict verdict);

}  // namespace plimsoll
