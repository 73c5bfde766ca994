// Checks of locks.
#pragma once

#include "controller/check/check_run.h"

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

}  // namespace plimsoll
