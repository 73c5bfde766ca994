// The log writes of a watch as the streams of a pattern.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/load_pattern.h"
#include "controller/export/run_index.h"
#include "controller/journal/results.h"
#include "plimsoll/v1/group_commit.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// A queue manager that wrote during the watch.
struct RecordedWriter {
  // Its place in RunIndex::writers().
  uint32_t writer = 0;
  // Address of its host's agent.
  std::string address;
  // Its part of the report, which the index holds.
  const v1::ScopeReport* figures = nullptr;
  // Its writes by second; null: the report has none.
  const v1::SeriesReport* series = nullptr;
};

// One stream for each queue manager of a watch that wrote, in the order of the report. All streams begin with the
// measured part of the watch, and are as long. They hold single writes where the journal has the trace of each, and
// otherwise, for all streams, the number and the bytes of each second. Memory: that of the index, and one block of the
// traces. Not thread-safe.
class WatchRecording {
 public:
  // `index` must outlive the object; `where` is the path of the results, for messages. INVALID_ARGUMENT if these are
  // not the results of a watch of log writes, or cannot be a pattern.
  static absl::StatusOr<WatchRecording> Make(const RunIndex& index, const std::string& where);

  // What the pattern file begins with.
  const v1::PatternHeader& header() const { return header_; }
  // Of each stream.
  const std::vector<RecordedWriter>& writers() const { return writers_; }
  // Pages of the largest write, or of the largest mean of a second.
  uint16_t most_pages() const { return most_pages_; }
  // Whether the streams hold the number and the bytes of each second.
  bool per_second() const { return per_second_; }
  // What a reader of the plan must know, without a full stop.
  const std::vector<std::string>& notes() const { return notes_; }

  // Writes the pattern file and returns its digest.
  absl::StatusOr<std::string> Write(FileWriter file) const;

 private:
  using Visit = std::function<absl::Status(uint32_t stream, const PatternEntry& entry)>;

  explicit WatchRecording(const RunIndex& index) : index_(index) {}

  const v1::StepReport& step() const { return index_.report().steps(0); }
  void FindWriters();
  void AddNotes();
  // Whether the journal has a trace of each write, and few enough for a pattern; a note says so if it has not.
  bool HasAllWrites();
  void UseSeconds(const std::string& why);
  // Fills the header: counts what the streams will hold. RESOURCE_EXHAUSTED if that is more than a pattern holds.
  absl::Status Count();
  absl::Status CheckLength() const;
  // Calls `visit` with each entry of each stream, in order. `bytes`, if not null, receives the recorded bytes of each
  // stream.
  absl::Status ForEachEntry(const Visit& visit, std::vector<uint64_t>* bytes, int64_t* end_ns) const;
  absl::Status ForEachTraced(uint32_t stream, const Visit& visit, uint64_t& bytes, int64_t& end_ns) const;
  absl::Status ForEachSecond(uint32_t stream, const Visit& visit, uint64_t& bytes, int64_t& end_ns) const;
  absl::Status TooLarge(uint32_t stream, uint64_t bytes) const;
  std::string NameOf(uint32_t stream) const;

  const RunIndex& index_;
  v1::PatternHeader header_;
  std::vector<RecordedWriter> writers_;
  std::vector<std::string> notes_;
  bool per_second_ = false;
  uint16_t most_pages_ = 0;
};

}  // namespace plimsoll
