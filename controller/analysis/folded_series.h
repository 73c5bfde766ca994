// What scopes above a single writer did over time, in a step whose frames are folded by age. Frames are added as they
// come, because sums by second of thousands of writers would fill the memory within hours.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "controller/analysis/seconds.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Series of a scope, by operation of the step.
using OperationSeries = std::vector<PerTime<SecondSeries>>;

// The cluster and its storages. Their series keep every second: there are few of them. Not thread-safe.
class FoldedStep {
 public:
  // `whole_seconds`: hosts and writers keep single seconds below this one. `keep_writer_seconds`: see there.
  FoldedStep(const StepShape& shape, uint32_t operations, uint32_t whole_seconds, bool keep_writer_seconds);
  FoldedStep(const FoldedStep&) = delete;
  FoldedStep& operator=(const FoldedStep&) = delete;

  // The hosts that were ordered to start, each with its storage (0: not known). As StepPercentiles::Expect.
  void Expect(const std::map<uint32_t, uint32_t>& storage_of_host);
  // The host has passed the seconds below `second`.
  void Pass(uint32_t host, uint32_t second);
  void Leave(uint32_t host);
  void Finish();

  const StepShape& shape() const { return shape_; }
  uint32_t operations() const { return operations_; }
  uint32_t whole_seconds() const { return whole_seconds_; }
  // Whether writers keep any single second once the first hour is over. Those of large clusters do not: no report has
  // room for their series by second.
  bool keeps_writer_seconds() const { return keeps_writer_seconds_; }
  // Percentiles and distributions by minute: what is a second there is a minute here.
  StepPercentiles& minutes(TimeKind kind) { return minutes_[kind]; }
  const StepPercentiles& minutes(TimeKind kind) const { return minutes_[kind]; }
  OperationSeries& cluster() { return cluster_; }
  const OperationSeries& cluster() const { return cluster_; }
  // Where the host's frames are added up with those of other hosts of that storage. Null for a storage of a single
  // host, or of all hosts: its series are that host's, or the cluster's.
  OperationSeries* JoinStorage(uint32_t storage, uint32_t host);
  // Series of a storage that exactly these hosts joined; null where there are none.
  const OperationSeries* Storage(const std::set<uint32_t>& hosts) const;

 private:
  const StepShape shape_;
  const uint32_t operations_;
  const uint32_t whole_seconds_;
  const bool keeps_writer_seconds_;
  PerTime<StepPercentiles> minutes_{/*keep_seconds=*/true};
  OperationSeries cluster_;
  struct Shared {
    explicit Shared(uint32_t operations) : series(operations) {}
    std::set<uint32_t> hosts;
    OperationSeries series;
  };
  std::map<uint32_t, Shared> storages_;
  bool storages_set_ = false;
};

// One host. Its series keep single seconds below FoldedStep::whole_seconds alone. Not thread-safe.
class FoldedHost {
 public:
  // `step` outlives the object. `qms`: writers of the host.
  FoldedHost(FoldedStep& step, uint32_t host, uint32_t storage, uint32_t qms);

  // Adds a frame of the measured part, which was checked. `rated`: whether its operation has response times.
  void Add(const v1::Frame& frame, bool rated);
  // Every writer has passed the seconds below `second`. Returns the second below which series can be aged; 0: there
  // is nothing new to age.
  uint32_t Close(uint32_t second);
  void Finish();

  const FoldedStep& step() const { return step_; }
  const PerTime<SecondSeries>& series(uint32_t operation) const { return series_[operation]; }
  const HostPercentiles& minutes(TimeKind kind) const { return minutes_[kind]; }

 private:
  FoldedStep& step_;
  // May be null: see FoldedStep::JoinStorage.
  OperationSeries* const storage_;
  OperationSeries series_;
  PerTime<HostPercentiles> minutes_;
  uint32_t aged_below_;
};

}  // namespace plimsoll
