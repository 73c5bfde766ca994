// Percentiles of each second, without keeping a histogram for each second.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/distributions.h"
#include "controller/analysis/second_table.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Percentiles by second of several hosts together. A second is kept as a histogram until it is closed; what comes for a
// closed second makes that second's percentiles unknown. Not thread-safe.
class MergedPercentiles {
 public:
  // Where more than `open_seconds` are open, the oldest is closed. `keep`, which may be null and otherwise outlives the
  // object, is given the distribution of every second when it is closed.
  explicit MergedPercentiles(size_t open_seconds = 256, SecondDistributions* keep = nullptr)
      : open_seconds_(open_seconds), keep_(keep) {}

  void Add(uint32_t second, const Histogram& part);
  // Writes that were not added belong to that second: its percentiles stay unknown.
  void Spoil(uint32_t second) { table_.Spoil(second); }
  // Nothing more comes for the seconds below `second`.
  void CloseBelow(uint32_t second);
  void Finish() { CloseBelow(UINT32_MAX); }

  const SecondTable& table() const { return table_; }

 private:
  void CloseOldest();

  size_t open_seconds_;
  SecondDistributions* keep_;
  std::map<uint32_t, Histogram> open_;
  SecondTable table_;
};

// Where a host's seconds go when they are closed. Null where nobody wants them; all that is there outlives the host.
struct PercentileSinks {
  MergedPercentiles* storage = nullptr;
  MergedPercentiles* cluster = nullptr;
  // To add a second up in, shared by all hosts: a thousand of their own would take 40 MB. Never null.
  Histogram* host_scratch = nullptr;
  Histogram* qm_scratch = nullptr;
};

// Percentiles by second of a host and of each of its writers, from their frames. A second is closed, and handed on, as
// soon as all writers have passed it. Where a host has one writer, it is added up once. Not thread-safe.
class HostPercentiles {
 public:
  static constexpr size_t kOpenSeconds = 256;

  HostPercentiles(uint32_t qms, const PercentileSinks& sinks) : sinks_(sinks), qms_(qms > 1 ? qms : 0) {}

  // Of writer `qm`, from 1.
  void Add(uint32_t qm, uint32_t second, const v1::Distribution& latency);
  // Writes of that writer are not known by second.
  void Spoil(uint32_t qm, uint32_t second);
  // Every writer has passed the seconds below `second`.
  void CloseBelow(uint32_t second);
  void Finish() { CloseBelow(UINT32_MAX); }

  const SecondTable& host() const { return host_; }
  const SecondTable& qm(uint32_t qm) const { return qm >= 1 && qm <= qms_.size() ? qms_[qm - 1] : host_; }

 private:
  struct Part {
    uint32_t qm = 0;
    v1::Distribution latency;
  };
  void CloseOldest();
  // Adds up [first, last) in `sum`; false where something could not be added.
  static bool AddUp(std::vector<Part>::const_iterator first, std::vector<Part>::const_iterator last, Histogram& sum);

  PercentileSinks sinks_;
  std::map<uint32_t, std::vector<Part>> open_;
  SecondTable host_;
  // Empty where there is one writer: it is the host.
  std::vector<SecondTable> qms_;
};

}  // namespace plimsoll
