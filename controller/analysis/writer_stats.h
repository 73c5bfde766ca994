// What one writer did in one step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/histogram.h"
#include "controller/analysis/second_series.h"
#include "controller/analysis/step_shape.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Where a frame's writes belong.
enum class FramePart { kWarmup, kMeasured, kClosing };

// Adds up one writer's frames of one step, which come in order. Not thread-safe.
class WriterStats {
 public:
  explicit WriterStats(const StepShape& shape) : shape_(shape) {}

  // INVALID_ARGUMENT, and nothing is changed, where the frame contradicts itself, the step or the frames before it.
  absl::Status Add(const v1::Frame& frame, SumGuard& guard);
  // INVALID_ARGUMENT, and nothing is changed, where the totals contradict themselves or came before.
  absl::Status SetTotals(const v1::WriterTotals& totals, SumGuard& guard);

  // Something that the agent sent of this writer could not be taken.
  void NoteRefusal() { refused_ = true; }

  // Where the frame's writes belong; INVALID_ARGUMENT where its intervals are none of the step's.
  absl::StatusOr<FramePart> PartOf(const v1::Frame& frame) const;

  // The step's measured part, closing frames included.
  const Histogram& latency() const { return latency_; }
  // Empty without a rate. Unserved writes included.
  const Histogram& response() const { return response_; }
  const SecondSeries& series() const { return series_; }
  // Writes that were in flight at the step's end.
  const WriteSums& closing() const { return closing_; }
  int64_t between_ns() const { return between_ns_; }
  uint64_t warmup_writes() const { return warmup_.writes; }
  uint64_t untraced_writes() const { return untraced_writes_; }
  uint64_t ring_full_waits() const { return ring_full_waits_; }
  uint64_t ring_full_wait_ns() const { return ring_full_wait_ns_; }
  // Slowest measured write; absent where there was none or no frame told it.
  const std::optional<v1::WriteSample>& slowest() const { return slowest_; }
  // The ten slowest of the measured part, as far as frames told them; the slowest first, of equal ones the earlier.
  const std::vector<v1::WriteSample>& slow() const { return slow_; }
  // End of the last measured write, agent's clock; 0: none.
  int64_t last_end_ns() const { return last_end_ns_; }
  // Start of the writer's very first write, agent's clock; 0: not known.
  int64_t first_start_ns() const;
  // How long after the step's start that write was scheduled; nothing where the frame that tells it is missing.
  const std::optional<int64_t>& first_phase_ns() const { return first_phase_ns_; }
  // Start of the write in flight when the last frame was cut, and that cut; 0: none.
  int64_t in_flight_since_ns() const { return in_flight_since_ns_; }
  int64_t last_cut_ns() const { return last_cut_ns_; }
  bool closed() const { return closed_; }
  // It told something.
  bool started() const { return started_; }
  // The interval after the last one that is known.
  int64_t next_interval() const { return next_interval_; }
  int64_t covered_ns() const { return shape_.CoveredNs(next_interval_); }
  // What the writer counted itself; absent before it was told.
  const std::optional<v1::WriterTotals>& totals() const { return totals_; }
  // How many measured writes the frames may lack; UINT64_MAX: nobody knows. `done`: the writer's own count is due.
  uint64_t MissingWrites(bool done) const;
  // How frames and the writer's own count differ, for people; empty where they agree or nothing can be compared.
  std::string Disagreement() const;

 private:
  absl::Status Check(const v1::Frame& frame) const;
  void AddToSeries(const v1::Frame& frame);
  void KeepSlow(const v1::Frame& frame);

  StepShape shape_;
  Histogram latency_;
  Histogram response_;
  SecondSeries series_;
  WriteSums warmup_;
  WriteSums closing_;
  uint64_t measured_bytes_ = 0;
  uint64_t warmup_bytes_ = 0;
  int64_t between_ns_ = 0;
  uint64_t untraced_writes_ = 0;
  uint64_t ring_full_waits_ = 0;
  uint64_t ring_full_wait_ns_ = 0;
  std::optional<v1::WriteSample> slowest_;
  std::vector<v1::WriteSample> slow_;
  int64_t first_start_ns_ = 0;
  std::optional<int64_t> first_phase_ns_;
  int64_t last_end_ns_ = 0;
  int64_t in_flight_since_ns_ = 0;
  int64_t last_cut_ns_ = 0;
  bool refused_ = false;
  bool closed_ = false;
  bool started_ = false;
  int64_t next_interval_ = 0;
  std::optional<v1::WriterTotals> totals_;
};

}  // namespace plimsoll
