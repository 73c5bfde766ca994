// The entries of one error log of MQ that belong to starts of queue managers: AMQERR01.LOG, and AMQERR01.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "controller/mq/mq_text.h"
#include "controller/mq/text_lines.h"

namespace plimsoll {

enum class StartEventKind {
  // AMQ5051I of LOGGER-IO.
  kBegin,
  // AMQ7229I.
  kReplayed,
  // AMQ8003I.
  kStarted,
  // AMQ8024I.
  kInitiator,
  // AMQ5041I of LOGGER-IO.
  kLoggerEnded,
  // AMQ8004I.
  kEnded,
};

// What an entry contributes to a restart.
struct StartEvent {
  StartEventKind kind = StartEventKind::kBegin;
  int64_t time_ms = 0;
  std::string queue_manager;
  std::string process;
  std::string file;
  // LOGGER-IO was started by its process before.
  bool again = false;
  std::optional<uint64_t> records;
};

// The parts of an entry that matter here; empty: not in the entry.
struct ErrorLogEntry {
  // Of its first line.
  size_t line = 0;
  // In front of Process(...); only in text.
  std::string date;
  std::string process;
  std::string queue_manager;
  std::string time;
  std::string arith_insert1;
  std::string arith_insert2;
  std::string comment_insert1;
};

// Reads one file in parts. Holds one line and the events. Not thread-safe.
//
// In text, an entry begins with a line with a date and Process(...). Attributes follow, "Name(value)", and then its
// message, "AMQ5051I: ..."; its explanation is passed over. In JSON, an entry is an object in a line of its own, behind
// whatever a log collector put in front of it.
class ErrorLogReader {
 public:
  explicit ErrorLogReader(const std::string& file) : file_(file), problems_(file) {}
  ErrorLogReader(const ErrorLogReader&) = delete;
  ErrorLogReader& operator=(const ErrorLogReader&) = delete;

  // The next bytes of the file.
  void Feed(std::string_view bytes);

  // Adds what was found to `events`, in the file's order, and to `notes`; once, after the last Feed. INVALID_ARGUMENT
  // with a line for each problem.
  absl::Status Finish(std::vector<StartEvent>& events, std::vector<std::string>& notes);

 private:
  void ReadLine(std::string_view raw);
  void ReadJson(std::string_view text);
  // The line that an entry begins with: "11/22/2017 04:20:46 PM - Process(71.1) User(root) Program(amqzxma0)"; false if
  // it is none.
  bool BeginEntry(const std::string& plain);
  // A line behind it, up to the message.
  void ReadHeaderLine(std::string_view raw);
  // Whether the line begins with an attribute; takes those that matter. An insert is alone in its line, and may hold
  // anything. Of an attribute that is given twice, within an insert of several lines, the first one counts.
  bool TakeAttributes(std::string_view line);
  void AddEntry(const ErrorLogEntry& entry, uint64_t number, std::string_view message);
  // Milliseconds since 1970; nothing if the entry has no certain time, which is a problem.
  std::optional<int64_t> TimeOf(const ErrorLogEntry& entry);
  void AddNotes(std::vector<std::string>& notes) const;

  const std::string file_;
  FileProblems problems_;
  std::vector<StartEvent> events_;
  TextLines lines_{[this](std::string_view line) { ReadLine(line); }};
  uint64_t bytes_ = 0;
  // Lines read so far.
  size_t line_ = 0;
  // Between the first line of an entry and its message.
  bool in_header_ = false;
  ErrorLogEntry entry_;
  FirstLines first_lines_;
  uint64_t entries_ = 0;
  bool has_bad_date_ = false;
  uint64_t more_bad_dates_ = 0;
  uint64_t local_times_ = 0;
  uint64_t without_queue_manager_ = 0;
  uint64_t broken_json_ = 0;
  size_t first_broken_json_ = 0;
};

}  // namespace plimsoll
