// What a scope wrote in each second of a step.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace plimsoll {

// Values by second. Seconds that nothing was put into cost nothing but a pointer for each 64 of them.
template <typename T>
class BySecond {
 public:
  // The second's value, made where there is none.
  T& operator[](uint32_t second) {
    const size_t chunk = second / kChunk;
    if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<std::array<T, kChunk>>();
    return (*chunks_[chunk])[second % kChunk];
  }
  // The second's value, or nothing but zeros.
  T Get(uint32_t second) const {
    const size_t chunk = second / kChunk;
    if (chunk >= chunks_.size() || !chunks_[chunk]) return T{};
    return (*chunks_[chunk])[second % kChunk];
  }
  // Calls visit(second, value) for every second that may hold something, in order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      if (!chunks_[chunk]) continue;
      for (size_t i = 0; i < kChunk; ++i) visit(static_cast<uint32_t>(chunk * kChunk + i), (*chunks_[chunk])[i]);
    }
  }

 private:
  static constexpr size_t kChunk = 64;
  std::vector<std::unique_ptr<std::array<T, kChunk>>> chunks_;
};

// The writes that completed in a stretch of time.
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
  void Add(uint32_t second, const WriteSums& sums) { seconds_[second].Merge(sums); }
  // What cannot be split into seconds. `first` < `last`.
  void AddWide(uint32_t first, uint32_t last, const WriteSums& sums);
  void Merge(const SecondSeries& other);

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
};

}  // namespace plimsoll
