// Sizes of the model by which the storage's share of a restart is measured.
#pragma once

#include <cstdint>

namespace plimsoll {

// Bytes of a log record of a persistent put beside its message: IBM's figure for planning the size of a log.
inline constexpr uint64_t kPutRecordBytes = 750;
// Records to which fits are extended: those of IBM's study of restart times (March 2019, figure 2).
inline constexpr uint64_t kExtendedToRecords = 60'000;

}  // namespace plimsoll
