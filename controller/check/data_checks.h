// Checks of data.
#pragma once

#include "controller/check/check_run.h"

namespace plimsoll {

// See the catalog for what each proves.
void CheckDataConcurrentWrites(CheckRun& run);
void CheckDataVisibleAfterClose(CheckRun& run);
void CheckDataVisibleAfterLockHandover(CheckRun& run);
void CheckDataRenameAtomic(CheckRun& run);
void CheckDataDsyncSurvivesWriterDeath(CheckRun& run);
void CheckDataOrderTwoFiles(CheckRun& run);
void CheckDataDirectBufferedAgree(CheckRun& run);
void CheckTimeTimestamps(CheckRun& run);

}  // namespace plimsoll
