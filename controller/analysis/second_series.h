// What a scope wrote in each second of a step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace plimsoll {

// Values by second. Memory is that of the seconds that something was put into, in chunks of 64, however late they are.
template <typename T>
class BySecond {
 public:
  // The second's value, made where there is none.
  T& operator[](uint32_t second) {
    const uint32_t number = second / kChunk;
    auto found = Find(chunks_.begin(), chunks_.end(), number);
    if (found == chunks_.end() || found->first != number) {
      found = chunks_.insert(found, {number, std::make_unique<std::array<T, kChunk>>()});
    }
    return (*found->second)[second % kChunk];
  }
  // The second's value, or nothing but zeros.
  T Get(uint32_t second) const {
    const uint32_t number = second / kChunk;
    const auto found = Find(chunks_.begin(), chunks_.end(), number);
    return found == chunks_.end() || found->first != number ? T{} : (*found->second)[second % kChunk];
  }
  // Calls visit(second, value) for every second that may hold something, in order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [number, chunk] : chunks_) {
      for (uint32_t i = 0; i < kChunk; ++i) visit(number * kChunk + i, (*chunk)[i]);
    }
  }

 private:
  static constexpr uint32_t kChunk = 64;
  using Chunk = std::pair<uint32_t, std::unique_ptr<std::array<T, kChunk>>>;

  // The first chunk that is not before `number`. Most look-ups are in the last one, or behind it.
  template <typename Iterator>
  static Iterator Find(Iterator begin, Iterator end, uint32_t number) {
    if (begin == end || (end - 1)->first < number) return end;
    if ((end - 1)->first == number) return end - 1;
    return std::lower_bound(begin, end, number, [](const Chunk& chunk, uint32_t n) { return chunk.first < n; });
  }

  std::vector<Chunk> chunks_;  // by their numbers
};

// The writes that completed in a range of time.
struct WriteSums {
  uint64_t writes = 0;
  uint64_t latency_sum_ns = 0;
  uint64_t latency_max_ns = 0;

  void Merge(const WriteSums& other);
};

// Seconds [first, last] of which only the sum is known.
struct WideRange {
  uint32_t first = 0;
  uint32_t last = 0;
  bool operator==(const WideRange&) const = default;
};

// Extremes over whole seconds. A wide range counts each of its seconds with its average.
struct SecondExtremes {
  uint32_t seconds = 0;
  uint32_t averaged_seconds = 0;
  uint64_t writes = 0;
  uint64_t min_writes = 0;
  uint64_t max_writes = 0;
  // The worst second has at most so many, whatever the seconds of wide ranges were.
  uint64_t most_min_writes = 0;
};

// One row of a series: seconds [first, last] and what completed in them.
struct SeriesRow {
  uint32_t first = 0;
  uint32_t last = 0;
  WriteSums sums;
};

// Per-second sums of a writer, or of any number of them merged. Not thread-safe.
class SecondSeries {
 public:
  void Add(uint32_t second, const WriteSums& sums) {
    seconds_[second].Merge(sums);
    ++frames_;
  }
  // What cannot be split into seconds. `first` < `last`.
  void AddWide(uint32_t first, uint32_t last, const WriteSums& sums);
  void Merge(const SecondSeries& other);
  // The other's writes, each counted `times` over, without latencies: with the size of a block, a series of bytes.
  void MergeWrites(const SecondSeries& other, uint64_t times);

  // What completed in that second; what cannot be split into seconds counts in its first one.
  WriteSums At(uint32_t second) const { return seconds_.Get(second); }
  // How many frames it was made of, with writes or without.
  uint64_t frames() const { return frames_; }
  // A frame covered time in which no write completed.
  void AddSilent() { ++frames_; }
  // How many rows ForEachRow(seconds) makes.
  uint64_t RowCount(uint32_t seconds) const;
  // The second after the last one with a write.
  uint32_t EndSecond() const;
  // Over seconds 0 ... whole_seconds - 1.
  SecondExtremes Extremes(uint32_t whole_seconds) const;
  // Rows for seconds 0 ... seconds - 1, zeros included; where wide ranges overlap, they are one row.
  void ForEachRow(uint32_t seconds, const std::function<void(const SeriesRow&)>& visit) const;

 private:
  // Sorted, and joined where they overlap.
  std::vector<WideRange> JoinedRanges() const;

  BySecond<WriteSums> seconds_;  // a wide range's sums are at its first second
  std::vector<WideRange> wide_;
  uint64_t frames_ = 0;
};

}  // namespace plimsoll
