// The lines of `plimsoll watch`: for each interval, how often each operation completed and how long it took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Makes lines of the records of a watch, at most 80 columns wide unless figures grow beyond what any run reaches. Each
// interval has a line for each operation: count, maximum, minimum and average of the interval, and the same since the
// start. A heading stands above every tenth interval. Where the longest time of an operation grows, a line names the
// old one and the new one, and where and when it was. Pure: the same records give the same lines. Not thread-safe.
class WatchLines {
 public:
  // `histogram_rows`: rows of the histogram below the lines of each interval; 0: there is none.
  WatchLines(int64_t interval_ns, uint32_t histogram_rows)
      : interval_ns_(interval_ns), histogram_rows_(histogram_rows) {}

  // Returns the lines of the intervals that the record completes, without line breaks. Interval by interval, as soon as
  // all hosts have passed it.
  std::vector<std::string> Take(const v1::JournalRecord& record);

 private:
  // One operation in one interval, or since the start.
  struct Sums {
    Histogram latency;
    // The longest one: its writer, and when it began, on the timeline.
    uint32_t host = 0;
    uint32_t qm = 0;
    int64_t start_ns = 0;

    void Add(const Sums& other);
  };
  struct WatchedHost {
    std::string label;
    std::vector<std::string> writers;
    // By writer: its processes, as "amqzlaa0[4711]" or "5 processes".
    std::vector<std::string> processes;
    // Start of the measured part, in the host's clock.
    int64_t start_ns = 0;
    // By writer: the first interval that no frame has covered yet.
    std::map<uint32_t, int64_t> next_interval;
    bool over = false;
  };

  void Begin(const v1::RunBegin& begin, int64_t time_ns);
  void TakeFrame(uint32_t host, const v1::Frame& frame);
  // The lines of all intervals that are complete; `all`: of those that were begun, too.
  std::vector<std::string> Complete(bool all);
  void AddRow(int64_t row, std::vector<Sums>& interval, std::vector<std::string>& lines);
  void AddHeading(std::vector<std::string>& lines) const;
  void AddMaximum(size_t operation, uint64_t before_ns, std::vector<std::string>& lines) const;
  void AddHistograms(int64_t end_ns, const std::vector<Sums>& interval, std::vector<std::string>& lines) const;
  std::string TimeOf(int64_t timeline_ns) const;
  // "node1/QM1, amqzlaa0[4711]".
  std::string PlaceOf(uint32_t host, uint32_t qm) const;

  const int64_t interval_ns_;
  const uint32_t histogram_rows_;
  // Frame intervals of one line.
  int64_t frames_per_row_ = 1;
  int64_t frame_interval_ns_ = 0;
  int64_t duration_ns_ = 0;
  int64_t wall_offset_ns_ = 0;
  int64_t measured_start_ns_ = 0;
  int64_t warmup_ns_ = 0;
  std::vector<std::string> names_;
  std::map<uint32_t, WatchedHost> hosts_;
  // Intervals that are not complete yet.
  std::map<int64_t, std::vector<Sums>> rows_;
  std::vector<Sums> total_;
  int64_t next_row_ = 0;
  // The first interval that no frame of any host has covered.
  int64_t covered_ = 0;
  uint32_t rows_shown_ = 0;
};

}  // namespace plimsoll
