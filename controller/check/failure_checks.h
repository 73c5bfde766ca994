// Checks that provoke the failure of a host or of the storage's server, by commands of the user's own.
#pragma once

#include "controller/check/check_run.h"

namespace plimsoll {

// See the catalog for what each proves. The last one loses a host: nothing comes after it.
void CheckDataDsyncSurvivesServerRestart(CheckRun& run);
void CheckLockAfterServerRestart(CheckRun& run);
void CheckLockReleasedAtHostDeath(CheckRun& run);

}  // namespace plimsoll
