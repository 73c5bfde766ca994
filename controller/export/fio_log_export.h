// Every write in fio's latency logs.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "controller/export/write_stream.h"

namespace plimsoll {

// Makes `directory` (it must not be there, or be empty) and in it one completion latency log for each writer, named
// <host>_qm<n>_clat.<number of the writer in the run>.log: the number alone makes names differ, on file systems that do
// not tell upper from lower case too. A line: end of the write in ms since the start of the first step that is
// exported, latency in ns, 1 (a write), block size, offset as if the extents lay one behind the other (0 where the
// write's number is not known), 0 (no priority). Returns how many writes. What was made is removed where an error comes
// back. With `results`, a descriptor of the directory above, the last component of `directory` is a name that the
// program chose: it is made there, and refused where it is a symbolic link.
absl::StatusOr<uint64_t> ExportFioLogs(const RunIndex& index, const WriteFilter& filter, WriteStream& writes,
                                       const std::string& directory, int results = -1);

}  // namespace plimsoll
