// What a run shows while it is under way, read from the figures that its report is made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/seconds.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

class Judge;
class StepStats;
class Timeline;
struct StepShape;

// Writes of one second of a step: of a host, or of all of them. Latencies are what callers felt: of a step with a
// target rate response times, of others service times.
struct LiveFigures {
  uint64_t writes = 0;
  double iops = 0;
  double mb_per_second = 0;
  // 0: no write, or not known.
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t max_ns = 0;
  uint64_t p99_9_ns = 0;
  double avg_ns = 0;
};

// One second of a step, over all hosts.
struct LiveSecond {
  // From 0, the whole seconds of the warm-up first.
  int64_t number = 0;
  bool warmup = false;
  // It ends so long after the begin of the warm-up, or of the measured part.
  int64_t end_ns = 0;
  LiveFigures cluster;
  // The host with the largest p99, where there are several.
  std::string worst_host;
  LiveFigures worst;
  // Age, at its end, of the oldest write that was in flight then and still is; 0: there is no such write. Of all hosts,
  // and of those on which no write ended in the second.
  int64_t waiting_ns = 0;
  int64_t idle_waiting_ns = 0;
  // Whose waiting_ns is: "alpha/qm1".
  std::string waiting_writer;
  // A host whose writes of the second are not in it, although it takes part in the step: it is late, or lost. Empty:
  // all are.
  std::string missing_host = {};
};

struct LiveHost {
  std::string label;
  bool lost = false;
  // It has reported the end of the step.
  bool done = false;
  // Figures of the newest second that is shown; has_figures is false where the host has not passed it.
  bool has_figures = false;
  LiveFigures figures;
  // How long its oldest write has been in flight, and whose it is; 0: no write is, or it is not known.
  int64_t oldest_write_ns = 0;
  uint32_t oldest_write_qm = 0;
  // In a placement, its name; else empty.
  std::string oldest_write_name = {};
  // For how long no message came from it, and the bound of its clock's error (0: not known); the maker of the view sets
  // them.
  int64_t silent_ns = 0;
  int64_t clock_error_ns = 0;
};

// Stall intervals of writers that overlap. The report decides what they have in common.
struct LiveStall {
  // From the measured start.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  // Some of it is not over.
  bool open = false;
  // "alpha/qm1", at most 16 of them; and how many writers and hosts there are.
  std::vector<std::string> names;
  uint64_t writers = 0;
  uint64_t hosts = 0;
  // What identifies its stall intervals within the step: host, QM and begin on the host's clock.
  std::vector<std::tuple<uint32_t, uint32_t, int64_t>> keys;
};

enum class LiveState { kUndecided, kPassing, kFailing };

struct LiveCriterion {
  std::string text;
  LiveState state = LiveState::kUndecided;
  // The worst value so far and where it is; empty: there is none.
  std::string value;
  std::string place;
};

struct LiveSnapshot {
  // From 1; 0: none runs.
  uint32_t step = 0;
  uint32_t steps = 0;
  // Steps of a round, where they go on until they are steady; else 0.
  uint32_t round_steps = 0;
  uint32_t repetition = 0;
  uint32_t repetitions = 0;
  // Its latencies are response times.
  bool response_times = false;
  const char* time_name() const { return response_times ? "response time" : "service time"; }
  // 0: the queue managers have different ones.
  uint64_t block_size_bytes = 0;
  // In a placement, the host that is down; empty if no host is.
  std::string down_host = {};
  // What a sweep gives to the step (SweptParts).
  std::vector<std::string> swept = {};
  // Time of the step that has passed, the warm-up left out (negative during it), and the planned lengths.
  int64_t elapsed_ns = 0;
  int64_t duration_ns = 0;
  // The step ends with a pass over its blocks: duration_ns is its limit, and when it ends is not known.
  bool one_pass = false;
  int64_t warmup_ns = 0;
  // Planned length of the steps after this one.
  int64_t later_steps_ns = 0;
  // In the order of the plan.
  std::vector<LiveHost> hosts;
  // The complete seconds after the given one, the last 600 of them.
  std::vector<LiveSecond> seconds;
  // Stalls of the last minute, in the order of time.
  std::vector<LiveStall> stalls;
};

// Before the first step, and between steps.
LiveSnapshot MakeIdleSnapshot(const v1::RunBegin& run, const HostTable& hosts);

// A second is complete when every host that still runs has passed it, or three quarters of a second after its end
// where one has: a silent host does not hold back the others' figures. `after_second`: the last number that is known;
// -1 if no number is.
LiveSnapshot MakeLiveSnapshot(const v1::RunBegin& run, const StepStats& step, const HostTable& hosts,
                              const Timeline& timeline, int64_t now_ns, int64_t after_second);

// The judge's own reading of what was measured so far, of the steps before and of `step` (null: none runs). Figures
// that only a whole step has (steadiness, drift, fairness, classes of stalls) leave their criterion undecided.
std::vector<LiveCriterion> MakeLiveCriteria(const Judge& judge, const StepStats* step, const HostTable& hosts,
                                            const Timeline& timeline);

// Exact figures of the writes of an interval, or of several.
struct IntervalSums : WriteSums {
  uint64_t latency_min_ns = UINT64_MAX;

  void Merge(const IntervalSums& other) {
    WriteSums::Merge(other);
    latency_min_ns = std::min(latency_min_ns, other.latency_min_ns);
  }
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
  // In a placement, the host that is down; empty if no host is.
  std::string down_host = {};
  // What a sweep gives to the step (SweptParts).
  std::vector<std::string> swept = {};
  // Its latencies are response times.
  bool response_times = false;
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

// The course of a step in intervals of a few seconds: the frames that are in the step's figures, in rows.
//
// The same records give the same rows, whether they come live or from a journal. Intervals are aligned to the step's
// measured start; a row is given as soon as all hosts that still run have passed its end, and lost ones do not hold it
// back. The last row of a step holds the writes that were in flight at its end, so that the rows add up to the step's
// writes. Rows that are given number a million at most, whatever a journal claims. Not thread-safe.
class IntervalRows {
 public:
  using OnRow = std::function<void(const IntervalRow&)>;

  // `interval_ns`: whole seconds.
  IntervalRows(int64_t interval_ns, OnRow on_row);

  // Another step begins; the one before it has ended.
  void Begin(const v1::RunBegin& run, const StepStats& step, const HostTable& hosts);
  // A frame that the step has taken.
  void Add(const StepStats& step, const HostFacts& facts, const v1::Frame& frame);
  // Gives the rows that all hosts have passed.
  void GivePassed(const StepStats& step);
  // Gives what is left of the step. Anything later goes into another row, at the next call.
  void End(const StepStats& step);

 private:
  // One row that was not given yet, or all that were.
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

  // Adds a folded frame that covers several rows, by its seconds. Percentiles of these rows are not known.
  void AddAged(const StepStats& step, const HostFacts& facts, const v1::Frame& frame);
  // Number of the step's last row.
  int64_t LastRow(const StepShape& shape) const;
  void GiveRowsBelow(int64_t row, const StepShape& shape);
  // The next one; what was left for rows before is in it.
  void GiveRow(int64_t end_ns);

  const int64_t interval_ns_;
  const OnRow on_row_;
  uint64_t rows_given_ = 0;

  // What all rows of the step report of it, and the number of the next one.
  IntervalRow head_;
  int64_t next_row_ = 0;
  std::map<int64_t, Pending> pending_;
  // All rows that were given.
  Pending so_far_;
};

}  // namespace plimsoll
