// The percentiles of a scope in each second of a step.
#pragma once

#include <cstdint>

#include "common/histogram.h"
#include "controller/analysis/second_series.h"

namespace plimsoll {

// Percentiles of one second; all are 0 where there was no write, or where they are not known.
struct SecondQuantiles {
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t p99_9_ns = 0;
};

// Eight bytes a second: a percentile is kept as its bucket, and with the second's exact maximum, which the series has,
// gives the same figure as Histogram::PercentileNs. Not thread-safe.
class SecondTable {
 public:
  // All that was written in that second.
  void Close(uint32_t second, const Histogram& latency);
  bool closed(uint32_t second) const { return seconds_.Get(second).closed; }
  // Something of that second is missing: its percentiles are not known, whatever else is told of it.
  void Spoil(uint32_t second) { seconds_[second].spoilt = true; }
  bool spoilt(uint32_t second) const { return seconds_.Get(second).spoilt; }

  // `max_ns`: the largest latency of that second.
  SecondQuantiles Get(uint32_t second, uint64_t max_ns) const;

 private:
  struct Entry {
    uint16_t p50 = 0;
    uint16_t p99 = 0;
    uint16_t p99_9 = 0;
    bool closed = false;
    bool spoilt = false;
  };
  static_assert(HistogramLayout::kBuckets <= UINT16_MAX + 1);

  BySecond<Entry> seconds_;
};

}  // namespace plimsoll
