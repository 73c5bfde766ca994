#include "controller/export/interval_rows.h"

#include <algorithm>
#include <utility>

#include "common/stable_sort.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {

IntervalRows::IntervalRows(const Shape& shape, const std::map<uint32_t, uint64_t>& frames, Visit visit)
    : shape_(shape), visit_(std::move(visit)) {
  for (const auto& [writer, count] : frames) lanes_[writer].frames_left = count;
}

int64_t IntervalRows::SecondOf(int64_t moment_ns) const {
  const int64_t second = moment_ns / kNsPerSecond;
  return moment_ns % kNsPerSecond < 0 ? second - 1 : second;
}

absl::Status IntervalRows::Add(uint32_t writer, const v1::Frame& frame, int64_t closing_to_ns) {
  Lane& lane = lanes_[writer];
  if (lane.frames_left > 0) --lane.frames_left;
  const int64_t count = std::max<int64_t>(frame.interval_count(), 1);
  const int64_t begin_ns = int64_t{frame.first_interval()} * shape_.interval_ns;
  if (frame.closing()) {
    IntervalRow& row = closing_.emplace_back();
    row.writer = writer;
    row.closing = true;
    row.from_ns = std::min(begin_ns, shape_.duration_ns);
    row.to_ns = std::max(closing_to_ns, row.from_ns);
    PLIMSOLL_RETURN_IF_ERROR(row.latency.Merge(frame.latency()));
  } else {
    const int64_t end_ns = begin_ns + count * shape_.interval_ns;
    const int64_t first = SecondOf(begin_ns);
    const int64_t last = SecondOf(end_ns - 1);
    if (lane.rows.empty() || lane.rows.back().last < first) {
      Row& added = lane.rows.emplace_back();
      added.first = first;
      added.last = last;
      added.row.writer = writer;
      added.row.from_ns = std::max(begin_ns, -shape_.warmup_ns);
    }
    Row& row = lane.rows.back();
    row.last = std::max(row.last, last);
    row.row.to_ns = std::min(end_ns, shape_.duration_ns);
    PLIMSOLL_RETURN_IF_ERROR(row.row.latency.Merge(frame.latency()));
    lane.open_second = SecondOf(end_ns);
  }
  int64_t open_second = INT64_MAX;
  for (const auto& [place, each] : lanes_) {
    if (each.frames_left > 0) open_second = std::min(open_second, each.open_second);
  }
  return VisitBelow(open_second);
}

absl::Status IntervalRows::VisitBelow(int64_t second) {
  while (true) {
    // The rows that overlap with the earliest one, with those that overlap with them, and so on.
    int64_t first = INT64_MAX;
    for (const auto& [place, lane] : lanes_) {
      if (!lane.rows.empty()) first = std::min(first, lane.rows.front().first);
    }
    if (first == INT64_MAX) return absl::OkStatus();
    int64_t last = first;
    std::map<uint32_t, size_t> taken;
    for (bool grown = true; grown;) {
      grown = false;
      for (const auto& [place, lane] : lanes_) {
        size_t& count = taken[place];
        for (; count < lane.rows.size() && lane.rows[count].first <= last; ++count) {
          grown = grown || lane.rows[count].last > last;
          last = std::max(last, lane.rows[count].last);
        }
      }
    }
    if (last >= second) return absl::OkStatus();
    std::vector<Row> group;
    for (auto& [place, lane] : lanes_) {
      for (size_t i = 0; i < taken[place]; ++i) {
        group.push_back(std::move(lane.rows.front()));
        lane.rows.pop_front();
      }
    }
    PLIMSOLL_RETURN_IF_ERROR(VisitGroup(group));
  }
}

absl::Status IntervalRows::VisitGroup(std::vector<Row>& group) {
  StableSort(group, [](const Row& a, const Row& b) { return a.first < b.first; });
  IntervalRow all;
  all.from_ns = INT64_MAX;
  all.to_ns = INT64_MIN;
  for (const Row& row : group) {
    all.from_ns = std::min(all.from_ns, row.row.from_ns);
    all.to_ns = std::max(all.to_ns, row.row.to_ns);
    all.latency.Merge(row.row.latency);
  }
  PLIMSOLL_RETURN_IF_ERROR(visit_(all));
  for (const Row& row : group) PLIMSOLL_RETURN_IF_ERROR(visit_(row.row));
  return absl::OkStatus();
}

absl::Status IntervalRows::Finish() {
  PLIMSOLL_RETURN_IF_ERROR(VisitBelow(INT64_MAX));
  if (closing_.empty()) return absl::OkStatus();
  IntervalRow all;
  all.closing = true;
  all.from_ns = INT64_MAX;
  all.to_ns = INT64_MIN;
  for (const IntervalRow& row : closing_) {
    all.from_ns = std::min(all.from_ns, row.from_ns);
    all.to_ns = std::max(all.to_ns, row.to_ns);
    all.latency.Merge(row.latency);
  }
  PLIMSOLL_RETURN_IF_ERROR(visit_(all));
  StableSort(closing_, [](const IntervalRow& a, const IntervalRow& b) { return a.from_ns < b.from_ns; });
  for (const IntervalRow& row : closing_) PLIMSOLL_RETURN_IF_ERROR(visit_(row));
  closing_.clear();
  return absl::OkStatus();
}

}  // namespace plimsoll
