// One writer of a simulated fleet, second by second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/writer/operation_tally.h"
#include "agent/writer/stall_watch.h"
#include "plimsoll/v1/frame.pb.h"
#include "tests/bench/day_load.h"

namespace plimsoll::tests {

// What the writer's writes are. Goes through its seconds in order; the same arguments give the same writes.
class DayWriter {
 public:
  // A stall as it comes to this writer: from the step's start, on its host's clock.
  struct Stall {
    int64_t begin_ns = 0;
    int64_t length_ns = 0;
  };

  // `load` outlives the object. The stalls are in their order.
  DayWriter(const DayLoad& load, uint32_t host, uint32_t qm, std::vector<Stall> stalls)
      : load_(load), host_(host), qm_(qm), phase_ns_(load.PhaseNs(host, qm)), stalls_(std::move(stalls)) {}

  // Goes on to the next second.
  void Advance();

  // Number of the second that Advance came to.
  int64_t second() const { return second_; }
  // Its place among DayLoad::usual_seconds(); nothing where it is none of them: then its writes are in writes().
  const std::optional<size_t>& usual() const { return usual_; }
  const std::vector<DayWrite>& writes() const { return writes_; }
  // Number of its first write, from 0, which may be in flight and end later.
  uint64_t first_write() const { return first_write_; }
  // The write that is in flight at its end, if one is.
  const std::optional<DayWrite>& in_flight() const { return in_flight_; }
  // Number of the first write after it, from 0, and when that is due.
  uint64_t next_write() const { return next_write_; }
  int64_t next_due_ns() const { return load_.DueNs(host_, qm_, next_write_); }
  int64_t phase_ns() const { return phase_ns_; }

 private:
  // The next write, whose latency is drawn now.
  DayWrite Begin(int64_t due_ns);

  const DayLoad& load_;
  const uint32_t host_;
  const uint32_t qm_;
  const int64_t phase_ns_;
  const std::vector<Stall> stalls_;
  size_t next_stall_ = 0;
  int64_t second_ = -1;
  std::optional<size_t> usual_;
  std::vector<DayWrite> writes_;
  uint64_t first_write_ = 0;
  uint64_t next_write_ = 0;
  std::optional<DayWrite> in_flight_;
  int64_t previous_end_ns_ = 0;
};

// What an agent reports of the writer: a frame a second, and its totals. `start_ns`: the step's start on its clock.
class DayFrames {
 public:
  // `reported_from_ns`: stall intervals of that length are reported. `intervals_per_second`: of the run's frames.
  DayFrames(const DayLoad& load, const DayWriter& writer, int64_t start_ns, int64_t reported_from_ns,
            uint32_t intervals_per_second);

  // Sets the frame of the second that the writer is in; once for each. It is cut at `cut_ns`.
  void Cut(const DayWriter& writer, int64_t cut_ns, v1::Frame& frame);
  v1::WriterTotals Totals() const { return totals_; }

 private:
  void CutUsual(const DayWriter& writer, v1::Frame& frame);
  void CutOther(const DayWriter& writer, v1::Frame& frame);
  // `write`: as a writer whose step starts at 0 and whose first write is due `shift_ns` later has it.
  void Offer(const DayWrite& write, uint64_t number, int64_t shift_ns);
  void ReportSlow(const SlowestWrites& slow, uint64_t first_seq,
                  google::protobuf::RepeatedPtrField<v1::WriteSample>& samples) const;

  const DayLoad& load_;
  const int64_t start_ns_;
  const uint32_t intervals_per_second_;
  StallWatch stalls_;
  SlowestWrites slow_;
  SlowestWrites slow_responses_;
  int64_t previous_end_ns_ = 0;
  v1::WriterTotals totals_;
};

// Where block `number` of a writer's log lies; extents have 64 MiB.
BlockPlace DayPlace(uint64_t number);

}  // namespace plimsoll::tests
