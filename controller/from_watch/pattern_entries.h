// Moments and sizes of writes as the entries of a pattern.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "common/load_pattern.h"

namespace plimsoll {

// Turns the writes of one stream, in the order of their moments, into entries. Each entry takes at least 1 ns for each
// of its writes: where moments are equal, or go back, a write has the first moment that is free. Not thread-safe.
class PatternEntries {
 public:
  using Visit = std::function<absl::Status(const PatternEntry& entry)>;

  explicit PatternEntries(Visit visit) : visit_(std::move(visit)) {}

  // One write at a moment, in nanoseconds since the recording's start. `pages` is 1 to kMostWritePages.
  absl::Status AddWrite(int64_t moment_ns, uint16_t pages) { return Add(moment_ns, pages, 1); }
  // `writes` writes, evenly spread over `length_ns` from `begin_ns` on, of `pages` pages together: sizes differ by one
  // page at most. `pages` is at least `writes` and at most kMostWritePages of them.
  absl::Status AddEvenly(int64_t begin_ns, int64_t length_ns, uint64_t writes, uint64_t pages);

  // The moment of the last write.
  int64_t end_ns() const { return end_ns_; }

 private:
  // `count` writes, the last of them at the moment.
  absl::Status Add(int64_t moment_ns, uint16_t pages, uint16_t count);
  // `writes` writes until `until_ns`.
  absl::Status AddRun(int64_t until_ns, uint16_t pages, uint64_t writes);
  // Pauses until `until_ns`, if that lies ahead.
  absl::Status Pause(int64_t until_ns);

  const Visit visit_;
  int64_t end_ns_ = 0;
};

}  // namespace plimsoll
