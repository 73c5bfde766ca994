// Percentiles by second of a step's storages and of its cluster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/distributions.h"
#include "controller/analysis/lowest_mark.h"
#include "controller/analysis/second_percentiles.h"

namespace plimsoll {

// Adds up what hosts hand on, and closes a second when all hosts that still run have passed it. A storage is added up
// only where it has several hosts and not all of them: its one host's seconds, or the cluster's, are its own. Not
// thread-safe.
class StepPercentiles {
 public:
  // `keep_seconds`: the distribution of every second of the cluster is kept.
  explicit StepPercentiles(bool keep_seconds);
  StepPercentiles(const StepPercentiles&) = delete;
  StepPercentiles& operator=(const StepPercentiles&) = delete;

  // The hosts that were told to start, each with its storage (0: not known). Where hosts are armed again, the first
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

  const SecondTable& cluster() const { return cluster_.table(); }
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
