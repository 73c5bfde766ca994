// Keeps the slowest writes of one writer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/log/ring.h"

namespace plimsoll {

// The ten slowest of all that were offered; of equal ones the earlier. Allocates nothing; one compare for a write that
// is not among them. Not thread-safe.
class SlowestWrites {
 public:
  static constexpr size_t kKept = 10;

  struct Entry {
    uint64_t seq = 0;
    Sample sample;
  };

  // Writes come in the order of their numbers.
  void Offer(uint64_t seq, const Sample& sample) {
    if (static_cast<int64_t>(sample.latency_ns) > floor_ns_) [[unlikely]]
      Insert({seq, sample});
  }

  // Calls `use(const Entry&)` for those with numbers from `seq` on, in the order of their numbers.
  template <typename Use>
  void ForEachFrom(uint64_t seq, Use&& use) const {
    std::array<Entry, kKept> found;
    size_t count = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].seq >= seq) found[count++] = entries_[i];
    }
    std::sort(found.begin(), found.begin() + count, [](const Entry& a, const Entry& b) { return a.seq < b.seq; });
    for (size_t i = 0; i < count; ++i) use(found[i]);
  }

 private:
  void Insert(const Entry& entry) {
    size_t place = count_ < kKept ? count_++ : kKept - 1;
    for (; place > 0 && entries_[place - 1].sample.latency_ns < entry.sample.latency_ns; --place) {
      entries_[place] = entries_[place - 1];
    }
    entries_[place] = entry;
    if (count_ == kKept) floor_ns_ = static_cast<int64_t>(entries_.back().sample.latency_ns);
  }

  // The slowest first.
  std::array<Entry, kKept> entries_;
  size_t count_ = 0;
  // What a write must exceed; below zero while there is room.
  int64_t floor_ns_ = -1;
};

}  // namespace plimsoll
