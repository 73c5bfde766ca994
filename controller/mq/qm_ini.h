// The Log stanza of a queue manager's qm.ini.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// One queue manager's log, as its qm.ini describes it.
struct QmLog {
  std::string file;
  // Of the stanza's heading.
  size_t line = 0;
  uint32_t primary_files = 3;
  uint32_t secondary_files = 2;
  // Pages of 4 KiB in an extent.
  uint32_t file_pages = 4096;
  // 0: MQ's own choice, 512 pages.
  uint32_t buffer_pages = 0;
  // "CIRCULAR", "LINEAR" or "REPLICATED"; empty: not given.
  std::string type;
  // Absolute, without slashes at the end.
  std::string path;
  size_t path_line = 0;
  // "SingleWrite", "DoubleWrite" or "TripleWrite".
  std::string write_integrity = "TripleWrite";
  // Attributes that are not given and have MQ's default.
  std::vector<std::string> defaulted;

  uint64_t extent_bytes() const { return uint64_t{file_pages} * 4096; }
  uint64_t log_bytes() const { return extent_bytes() * primary_files; }
};

// Reads the stanza; other stanzas are skipped. An attribute that is not known, is given twice or has a value that MQ
// does not take is INVALID_ARGUMENT, and so is a file without the stanza or its LogPath; all of them, a line each:
//   QM1/qm.ini:12: 'LogFilePage' is no attribute of the Log stanza that is known here; did you mean 'LogFilePages'?
absl::StatusOr<QmLog> ReadQmIni(const std::string& text, const std::string& file_name);

}  // namespace plimsoll
