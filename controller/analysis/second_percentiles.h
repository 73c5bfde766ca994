// Percentiles of each second of a step, without keeping a histogram for each second: of writers, hosts, storages and
// the cluster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/second_series.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Marks that hosts pass one after the other, and the one that all of them have passed. A host that passes a mark costs
// the logarithm of the number of hosts. Not thread-safe.
class LowestMark {
 public:
  // The host takes part and has passed nothing yet. No effect where it takes part already.
  void Expect(uint32_t host) {
    if (hosts_.try_emplace(host, 0).second) ++count_[0];
  }
  // The host has passed everything below `mark`; it never goes back. No effect where it does not take part.
  void Pass(uint32_t host, int64_t mark) {
    const auto found = hosts_.find(host);
    if (found == hosts_.end() || mark <= found->second) return;
    Drop(found->second);
    found->second = mark;
    ++count_[mark];
  }
  // Nobody waits for the host any more.
  void Leave(uint32_t host) {
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return;
    Drop(found->second);
    hosts_.erase(found);
  }

  bool empty() const { return hosts_.empty(); }
  // Every host that takes part has passed everything below it; INT64_MAX where there is none.
  int64_t lowest() const { return count_.empty() ? INT64_MAX : count_.begin()->first; }

 private:
  void Drop(int64_t mark) {
    const auto found = count_.find(mark);
    if (--found->second == 0) count_.erase(found);
  }

  std::map<uint32_t, int64_t> hosts_;
  // How many hosts are at a mark.
  std::map<int64_t, uint32_t> count_;
};

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
  // Something of that second is missing: its percentiles are not known, whatever else is reported of it.
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
  // Of a second that is closed, or of what has come of one that is not. `max_ns`: the largest latency of all of it.
  SecondQuantiles SoFar(uint32_t second, uint64_t max_ns) const;

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

// Adds up what hosts hand on, and closes a second when all hosts that still run have passed it. A storage is added up
// only where it has several hosts and not all of them: its one host's seconds, or the cluster's, are its own. Not
// thread-safe.
class StepPercentiles {
 public:
  // `keep_seconds`: the distribution of every second of the cluster is kept.
  explicit StepPercentiles(bool keep_seconds);
  StepPercentiles(const StepPercentiles&) = delete;
  StepPercentiles& operator=(const StepPercentiles&) = delete;

  // The hosts that were ordered to start, each with its storage (0: not known). Where hosts are armed again, the first
  // call decides about the storages.
  void Expect(const std::map<uint32_t, uint32_t>& storage_of_host);
  // Where the host hands its seconds on, for as long as the object lives.
  PercentileSinks SinksOf(uint32_t host);
  // The host has handed on all seconds below `second`.
  void Pass(uint32_t host, uint32_t second);
  // The host has handed on all that it ever will.
  void Leave(uint32_t host);
  // All hosts have.
  void Finish();

  // All hosts that still run have passed the seconds below it; INT64_MAX: none runs.
  int64_t passed_seconds() const { return passed_.lowest(); }

  const SecondTable& cluster() const { return cluster_.table(); }
  // The cluster's second, also while hosts have not passed it.
  SecondQuantiles ClusterSoFar(uint32_t second, uint64_t max_ns) const { return cluster_.SoFar(second, max_ns); }
  // Of a storage with exactly these hosts; null where none was added up.
  const SecondTable* Storage(const std::set<uint32_t>& hosts) const;
  bool keeps_seconds() const { return keeps_seconds_; }
  // Of the cluster; empty unless they are kept.
  const SecondDistributions& seconds() const { return seconds_; }

 private:
  struct Shared {
    std::set<uint32_t> hosts;
    std::unique_ptr<MergedPercentiles> merged;
  };
  void ClosePassed();

  const bool keeps_seconds_;
  SecondDistributions seconds_;
  MergedPercentiles cluster_;
  std::vector<Shared> storages_;
  bool storages_set_ = false;
  LowestMark passed_;
  Histogram host_scratch_;
  Histogram qm_scratch_;
};

}  // namespace plimsoll
