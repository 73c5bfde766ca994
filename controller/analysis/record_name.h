// What sentences call a record of the journal.
#pragma once

#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// "frames", "loss"; "unknown" for a kind that this version does not know. Never null.
const char* RecordName(const v1::JournalRecord& record);

}  // namespace plimsoll
