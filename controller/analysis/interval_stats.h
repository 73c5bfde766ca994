// The course of a step in intervals of a few seconds, for whoever watches a run or reads what one would have seen.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "common/histogram.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/second_percentiles.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Exact figures of some writes.
struct IntervalSums {
  uint64_t writes = 0;
  absl::uint128 latency_sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;

  void Add(const v1::Distribution& latency);
  void Merge(const IntervalSums& other);
  double avg_ns() const { return writes == 0 ? 0 : static_cast<double>(latency_sum_ns) / static_cast<double>(writes); }
};

// All hosts' writes in one interval of a step, and in the step so far.
struct IntervalRow {
  // From 1, of so many.
  uint32_t step = 0;
  uint32_t steps = 0;
  // Steps of a round, where they go on until they are steady; else 0.
  uint32_t round_steps = 0;
  // 0: the queue managers have different ones.
  uint64_t block_size_bytes = 0;
  // In a placement, the host that is down; empty: none is.
  std::string down_host = {};
  // The row ends so long after the measured start.
  int64_t end_ns = 0;
  IntervalSums interval;
  // Percentiles of the interval; 0: there is no write, or they are not known.
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  IntervalSums total;
  // The largest latency of the rows before; 0: this is the step's first row with a write.
  uint64_t max_before_ns = 0;
  // Whose the largest latency is; empty if no frame reported it.
  std::string max_host;
  uint32_t max_qm = 0;
  // In a placement, the queue manager's name; else empty.
  std::string max_name = {};
  // The results of a host came slower than it wrote: writes of this row may belong to the one before or after it.
  bool blurred = false;
};

// Takes a run's records in order and makes the rows. The same records give the same rows, whether they come live or
// from a journal. Intervals are aligned to the step's measured start; a row is there as soon as all hosts that still
// run have passed its end, and lost ones do not hold it back. The last row of a step holds the writes that were in
// flight at its end, so that the rows add up to the step's writes. Malformed records may make wrong rows, but no more
// than a million. Not thread-safe.
class IntervalStats {
 public:
  using OnRow = std::function<void(const IntervalRow&)>;

  // `interval_ns`: whole seconds.
  IntervalStats(int64_t interval_ns, OnRow on_row) : interval_ns_(interval_ns), on_row_(std::move(on_row)) {}

  void Add(const v1::JournalRecord& record);
  // After the last record: what a journal that ends in the middle of a step still holds.
  void Finish() { EndStep(); }

 private:
  struct Host {
    std::string label;
    HostFacts facts;
    bool lost = false;
    // By number - 1: the first interval of frames that the writer has not passed.
    std::vector<int64_t> next;
  };
  // One row that is not there yet, or all that are.
  struct Pending {
    IntervalSums sums;
    // Null where there is no write, or where the percentiles are not known.
    std::unique_ptr<Histogram> latency;
    bool percentiles_unknown = false;
    std::string max_host;
    uint32_t max_qm = 0;
    std::string max_name;
    bool blurred = false;

    // `keep`: whether there is room for percentiles.
    void Add(const v1::Distribution& added, bool keep);
    void Merge(const Pending& other);
  };

  void BeginStep(const v1::StepBegin& begin);
  void AddFrames(const v1::HostFrames& frames);
  void AddFrame(const v1::Frame& frame, Host& host);
  // Gives out the rows that all hosts have passed.
  void GivePassed();
  void GiveRowsBelow(int64_t row);
  // The next one; what was left for rows before is in it.
  void GiveRow(int64_t end_ns);
  void EndStep();

  const int64_t interval_ns_;
  const OnRow on_row_;
  v1::RunBegin run_;
  // Length of a frame's interval, and how many of them the step has at most.
  int64_t frame_ns_ = 0;
  std::map<uint32_t, Host> hosts_;
  uint64_t rows_given_ = 0;

  // The step that runs.
  bool running_ = false;
  uint32_t step_ = 0;
  int64_t duration_ns_ = 0;
  uint64_t block_size_bytes_ = 0;
  std::string down_host_;
  // Marks are frames' intervals.
  LowestMark passed_;
  // How far any data reach.
  int64_t reached_ns_ = 0;
  // Number of the row that is next, and of the step's last one.
  int64_t next_row_ = 0;
  int64_t last_row_ = 0;
  std::map<int64_t, Pending> pending_;
  // All rows that were given.
  Pending so_far_;
};

}  // namespace plimsoll
