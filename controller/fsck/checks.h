// All checks: what each proves, the functions that carry them out, the verdicts that follow from them, and the report
// of plimsoll fsck as text and as JUnit XML.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "controller/fsck/fsck_check.h"
#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {

// See the catalog for what each proves.
void CheckLockExclusive(FsckCheck& check);
void CheckLockByteRanges(FsckCheck& check);
void CheckLockShared(FsckCheck& check);
void CheckLockReleasedAtProcessDeath(FsckCheck& check);
void CheckLockWaitPoll(FsckCheck& check);
void CheckLockWaitBlocking(FsckCheck& check);
void CheckLockStorm(FsckCheck& check);
void CheckLockPingPong(FsckCheck& check);
void CheckLockCourtesy(FsckCheck& check);
void CheckLockCapacity(FsckCheck& check);
void CheckLockContentVisibleToNextOwner(FsckCheck& check);

// Processes on one host that lock.capacity and lock.storm use.
inline constexpr uint32_t kCapacityProcesses = 20;
inline constexpr uint32_t kStormProcessesPerHost = 8;

// See the catalog for what each proves.
void CheckDataConcurrentWrites(FsckCheck& check);
void CheckDataVisibleAfterClose(FsckCheck& check);
void CheckDataVisibleAfterLockHandover(FsckCheck& check);
void CheckDataRenameAtomic(FsckCheck& check);
void CheckDataDsyncSurvivesWriterDeath(FsckCheck& check);
void CheckDataOrderTwoFiles(FsckCheck& check);
void CheckDataDirectBufferedAgree(FsckCheck& check);
void CheckTimeTimestamps(FsckCheck& check);

// What `reader` read of the first `pages` pages of a stream by a process on `writer` that ended after it had
// acknowledged `acknowledged`: FAIL where an acknowledged write is not there. The one that was in flight may be.
void JudgeStream(FsckCheck& check, const CheckedProcess& reader, size_t writer, const v1::CheckAnswer& read,
                 uint32_t pages, uint64_t acknowledged);

// See the catalog for what each proves. The last one loses a host: nothing comes after it.
void CheckDataDsyncSurvivesServerRestart(FsckCheck& check);
void CheckLockAfterServerRestart(FsckCheck& check);
void CheckLockReleasedAtHostDeath(FsckCheck& check);

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
  std::vector<FsckField::Fault> faults = {};
  void (*run)(FsckCheck&) = nullptr;
};

// In the order in which they run.
const std::vector<CatalogEntry>& FsckCatalog();

// Files that each host makes, and processes that a host has at once, for checks up to this level.
uint32_t CatalogFiles();
uint32_t CatalogProcesses(v1::CheckLevel level);

// The option that gives the command for it.
std::string FaultOption(FsckField::Fault fault);

// "quick", "data write integrity", "not tested".
std::string LevelName(v1::CheckLevel level);
std::string RequirementName(v1::CheckRequirement requirement);
std::string OutcomeName(v1::CheckOutcome outcome);
std::string VerdictName(v1::CheckVerdict verdict);

// Runs the checks of a level over the field, in the catalog's order. The results hold every check of the catalog, those
// that this level omits as not tested; so are those that `only` does not name, where it names any. `announce` is called
// before each check that runs.
std::vector<v1::CheckResult> RunChecks(FsckField& field, v1::CheckLevel level, const std::set<std::string>& only,
                                       const std::function<void(const CatalogEntry&)>& announce);

// Fills in the verdicts from the report's level and checks. `untested` is what keeps all requirements from PASS,
// whatever the checks found, such as hosts that share a kernel; mostly empty.
//
// A requirement FAILs where one of its checks failed, or found that the file system does not have what the requirement
// needs. It PASSes where each of its checks that the level has passed (one that the file system does not support and
// that no requirement needs does not count), and those that decide it did, whatever the level. Else it is NOT TESTED.
void JudgeChecks(const std::vector<std::string>& untested, v1::CheckReport& report);

// Verdicts first, then each check with its outcome, time and evidence, then hosts and notes. Text that came from agents
// is neutral in it.
std::string RenderFsckText(const v1::CheckReport& report);

// What matters most of it, in at most kBriefLines lines: a line for each requirement, how many checks ended in which
// way, those that did not pass, alike ones together, and notes. Ends with the verdict and the directory.
std::string RenderFsckBrief(const v1::CheckReport& report);

// One test suite with a test case for each check: class "fsck.<requirement>", its reason as the message of a failure
// (failed, or a needed thing that the file system does not have), an error (undecided) or a skip (not tested, or not
// supported), its evidence as standard output. The suite's properties are level and verdicts.
std::string RenderJUnit(const v1::CheckReport& report);

}  // namespace plimsoll
