// Checks of data.
#pragma once

#include <cstddef>
#include <cstdint>

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

// What `reader` read of the first `pages` pages of a stream by a process on `writer` that ended after it had
// acknowledged `acknowledged`: FAIL where an acknowledged write is not there. The one that was in flight may be.
void JudgeStream(CheckRun& run, const CheckedProcess& reader, size_t writer, const v1::CheckAnswer& read,
                 uint32_t pages, uint64_t acknowledged);

}  // namespace plimsoll
