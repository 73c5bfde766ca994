// Percentiles of each second, without keeping a histogram for each second.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/second_series.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Percentiles of one second; both 0 where there was no write, or where they are not known.
struct SecondQuantiles {
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
};

// Percentiles by second of all hosts together. A histogram is kept for each of the last kOpenSeconds seconds that
// something was put into; what comes for an older second makes that second's percentiles unknown. Not thread-safe.
class ClusterPercentiles {
 public:
  static constexpr size_t kOpenSeconds = 256;

  void Add(uint32_t second, const Histogram& part);
  // Percentiles of the writes put into that second are not all there: they stay unknown.
  void Spoil(uint32_t second);
  // No Add after this.
  void Finish();
  SecondQuantiles Get(uint32_t second) const;
  // One histogram for all hosts to add a second up in: a thousand of their own would take 40 MB.
  Histogram& scratch() { return scratch_; }

 private:
  struct Closed {
    SecondQuantiles quantiles;
    bool closed = false;
    bool spoilt = false;
  };
  void CloseOldest();

  std::map<uint32_t, Histogram> open_;
  BySecond<Closed> closed_;
  Histogram scratch_;
};

// The same for one host, from the frames of its writers. A second is closed, and handed on to the cluster, as soon as
// all writers have passed it. Not thread-safe.
class HostPercentiles {
 public:
  static constexpr size_t kOpenSeconds = 256;

  // `cluster` must outlive the object.
  explicit HostPercentiles(ClusterPercentiles& cluster) : cluster_(cluster) {}

  void Add(uint32_t second, const v1::Distribution& latency);
  void Spoil(uint32_t second);
  // Every writer has passed the seconds below `second`.
  void CloseBelow(uint32_t second);
  void Finish() { CloseBelow(UINT32_MAX); }
  SecondQuantiles Get(uint32_t second) const;

 private:
  struct Closed {
    SecondQuantiles quantiles;
    bool closed = false;
    bool spoilt = false;
  };
  void CloseOldest();

  ClusterPercentiles& cluster_;
  std::map<uint32_t, std::vector<v1::Distribution>> open_;
  BySecond<Closed> closed_;
};

}  // namespace plimsoll
