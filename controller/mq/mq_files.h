// The two files that MQ gives us: the Log stanza of a qm.ini, and what `amqsrua -m QM -c DISK -t Log` printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/mq/log_intervals.h"

namespace plimsoll {

// One queue manager's log, as its qm.ini describes it.
struct QmLog {
  std::string file;
  // Line of the stanza's heading.
  size_t line = 0;
  uint32_t primary_files = 3;
  uint32_t secondary_files = 2;
  // Pages of 4 KiB in an extent.
  uint32_t file_pages = 4096;
  // 0: MQ's own choice, 512 pages.
  uint32_t buffer_pages = 0;
  // "CIRCULAR", "LINEAR" or "REPLICATED"; empty: not given.
  std::string type;
  // Absolute, without slashes at the end; empty: the file has none that a plan can name, and `no_path` says why.
  std::string path;
  size_t path_line = 0;
  std::string no_path;
  // "SingleWrite", "DoubleWrite" or "TripleWrite".
  std::string write_integrity = "TripleWrite";
  // Attributes that are not given and have MQ's default.
  std::vector<std::string> defaulted;
  // How lines were read of which it is not known how MQ reads them, a sentence each.
  std::vector<std::string> notes;

  uint64_t extent_bytes() const { return uint64_t{file_pages} * 4096; }
  uint64_t log_bytes() const { return extent_bytes() * primary_files; }
};

// Reads the stanza, also of a part of a qm.ini, and of one within a ConfigMap, a mail or a page; other stanzas are
// skipped. What begins with '#' or ';', also behind a value or a heading, is a remark. An attribute that is not known,
// is given twice or has a value that MQ does not take is INVALID_ARGUMENT, and so is a file without the stanza; all of
// them, a line each:
//   QM1/qm.ini:12: 'LogFilePage' is not a known attribute of the Log stanza; did you mean 'LogFilePages'?
absl::StatusOr<QmLog> ReadQmIni(const std::string& text, const std::string& file_name);

// A file of publications.
struct LogRecording {
  std::string file;
  uint64_t publications = 0;
  // Publications in which MQ wrote to the log.
  uint64_t with_writes = 0;
  // Most physical bytes per second.
  LogInterval busiest;
  // Most writes per second.
  LogInterval most_writes;
  // All with writes, in the file's order.
  std::vector<StoredInterval> intervals;
  // What was left out, a sentence each.
  std::vector<std::string> notes;
};

// More intervals than these, a recording of some 230 days, are INVALID_ARGUMENT.
inline constexpr size_t kMostIntervals = 2'000'000;

// Reads all publications. Names of elements in either case; an interval of any length; digits in groups; a time stamp
// in front of each line, or several elements on one. A rate that is left out is computed, one that differs from its
// count by up to 1 % is noted, and one that contradicts it is an error. Publications that cannot be judged (other
// classes, shorter than 10 ms), elements that later versions may add and values that no plan needs are left out with a
// note. Anything else, and a file in which MQ wrote nothing, is INVALID_ARGUMENT, a line each:
//   log.txt:7: 'User CPU time percentage' is not an element of DISK/Log; make the file with 'amqsrua -m QM ...'
//
// Takes the file in parts, in little more memory than its intervals need: days of output are hundreds of megabytes.
class AmqsruaReader {
 public:
  explicit AmqsruaReader(const std::string& file_name);
  ~AmqsruaReader();

  // The next bytes of the file.
  void Feed(std::string_view bytes);
  // Once, behind the last of the bytes.
  absl::StatusOr<LogRecording> Finish();

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace plimsoll
