// The recorded writes of a pattern in their order, at the moments at which they are played.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/load_pattern.h"

namespace plimsoll {

// Walks a pattern from its start, and again from there whenever its length is over, without end.
//
// A moment is start + floor(lap x length / factor) + floor(time since the lap's start / factor): it follows from the
// recording's own integers, never from the moment before, so that nothing drifts. Never goes back. Takes some
// nanoseconds a write, and allocates nothing. Not thread-safe.
class PatternCursor {
 public:
  // CheckPattern accepts `pattern`, which must outlive the object. `load_factor`, above 0: how many times faster than
  // recorded the writes come.
  PatternCursor(const LoadPattern& pattern, int64_t start_ns, double load_factor)
      : pattern_(&pattern), start_ns_(start_ns), load_factor_(load_factor), lap_start_ns_(start_ns) {
    EnterEntry();
  }

  // When the current write is played, and its pages.
  int64_t moment_ns() const { return moment_ns_; }
  uint64_t pages() const { return entry().pages; }

  void Advance() {
    if (write_ < entry().count) {
      ++write_;
      SetMoment();
    } else {
      LeaveEntry();
      EnterEntry();
    }
  }

 private:
  const PatternEntry& entry() const { return pattern_->entries[at_]; }
  int64_t Played(double recorded_ns) const { return static_cast<int64_t>(recorded_ns / load_factor_); }

  void LeaveEntry() {
    before_ns_ += entry().gap_ns;
    if (++at_ < pattern_->entries.size()) return;
    at_ = 0;
    before_ns_ = 0;
    ++lap_;
    lap_start_ns_ = start_ns_ + Played(static_cast<double>(lap_) * static_cast<double>(pattern_->length_ns));
  }
  // Passes pauses by. There is a write in each pattern.
  void EnterEntry() {
    while (entry().count == 0) LeaveEntry();
    write_ = 1;
    SetMoment();
  }
  void SetMoment() {
    const uint64_t within_ns = uint64_t{entry().gap_ns} * write_ / entry().count;
    // At most 30 days: exact as a double.
    moment_ns_ = lap_start_ns_ + Played(static_cast<double>(before_ns_ + within_ns));
  }

  const LoadPattern* pattern_;
  int64_t start_ns_;
  double load_factor_;
  uint64_t lap_ = 0;
  int64_t lap_start_ns_;
  // The current entry, the recorded time before it since the lap's start, and the number, from 1, of its current write.
  size_t at_ = 0;
  uint64_t before_ns_ = 0;
  uint32_t write_ = 1;
  int64_t moment_ns_ = 0;
};

}  // namespace plimsoll
