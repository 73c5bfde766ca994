#include "controller/analysis/second_series.h"

#include <algorithm>

namespace plimsoll {

void WriteSums::Merge(const WriteSums& other) {
  writes += other.writes;
  latency_sum_ns += other.latency_sum_ns;
  latency_max_ns = std::max(latency_max_ns, other.latency_max_ns);
}

void SecondSeries::AddWide(uint32_t first, uint32_t last, const WriteSums& sums) {
  seconds_[first].Merge(sums);
  wide_.push_back({first, last});
  ++frames_;
}

void SecondSeries::Merge(const SecondSeries& other) {
  other.seconds_.ForEach([this](uint32_t second, const WriteSums& sums) {
    if (sums.writes > 0) seconds_[second].Merge(sums);
  });
  wide_.insert(wide_.end(), other.wide_.begin(), other.wide_.end());
  frames_ += other.frames_;
}

void SecondSeries::MergeWrites(const SecondSeries& other, uint64_t times) {
  other.seconds_.ForEach([this, times](uint32_t second, const WriteSums& sums) {
    if (sums.writes > 0) seconds_[second].writes += sums.writes * times;
  });
  wide_.insert(wide_.end(), other.wide_.begin(), other.wide_.end());
  frames_ += other.frames_;
}

uint64_t SecondSeries::RowCount(uint32_t seconds) const {
  uint64_t rows = seconds;
  for (const WideRange& range : JoinedRanges()) {
    if (range.first < seconds) rows -= std::min(range.last, seconds - 1) - range.first;
  }
  return rows;
}

uint32_t SecondSeries::EndSecond() const {
  uint32_t end = 0;
  seconds_.ForEach([&end](uint32_t second, const WriteSums& sums) {
    if (sums.writes > 0) end = second + 1;
  });
  for (const WideRange& range : wide_) end = std::max(end, range.last + 1);
  return end;
}

std::vector<WideRange> SecondSeries::JoinedRanges() const {
  std::vector<WideRange> ranges = wide_;
  std::sort(ranges.begin(), ranges.end(), [](const WideRange& a, const WideRange& b) { return a.first < b.first; });
  std::vector<WideRange> joined;
  for (const WideRange& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

SecondExtremes SecondSeries::Extremes(uint32_t whole_seconds) const {
  SecondExtremes extremes;
  extremes.seconds = whole_seconds;
  if (whole_seconds == 0) return extremes;
  const std::vector<WideRange> ranges = JoinedRanges();
  std::vector<uint64_t> range_writes(ranges.size());
  uint64_t seen = 0;
  extremes.min_writes = UINT64_MAX;
  extremes.most_min_writes = UINT64_MAX;
  const auto take = [&extremes](uint64_t writes) {
    extremes.min_writes = std::min(extremes.min_writes, writes);
    extremes.max_writes = std::max(extremes.max_writes, writes);
    extremes.most_min_writes = std::min(extremes.most_min_writes, writes);
  };
  size_t next = 0;
  seconds_.ForEach([&](uint32_t second, const WriteSums& sums) {
    while (next < ranges.size() && ranges[next].last < second) ++next;
    if (next < ranges.size() && ranges[next].first <= second) {
      range_writes[next] += sums.writes;
      return;
    }
    if (second >= whole_seconds) return;
    ++seen;
    extremes.writes += sums.writes;
    take(sums.writes);
  });
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].first >= whole_seconds) break;
    // A range that reaches beyond the last whole second is shared out evenly; nothing better is known.
    const uint64_t length = ranges[i].last - ranges[i].first + 1;
    const uint32_t inside = std::min(ranges[i].last, whole_seconds - 1) - ranges[i].first + 1;
    extremes.writes += range_writes[i] / length * inside + range_writes[i] % length * inside / length;
    extremes.averaged_seconds += inside;
    const uint64_t most_of_worst = std::min(extremes.most_min_writes, range_writes[i] / inside);
    take(range_writes[i] / length);
    extremes.most_min_writes = most_of_worst;
    seen += inside;
  }
  if (seen < whole_seconds) take(0);
  return extremes;
}

void SecondSeries::ForEachRow(uint32_t seconds, const std::function<void(const SeriesRow&)>& visit) const {
  const std::vector<WideRange> ranges = JoinedRanges();
  size_t next = 0;
  for (uint32_t second = 0; second < seconds; ++second) {
    SeriesRow row{second, second, seconds_.Get(second)};
    if (next < ranges.size() && ranges[next].first == second) {
      row.last = ranges[next].last;
      while (second < row.last) row.sums.Merge(seconds_.Get(++second));
      ++next;
    }
    visit(row);
  }
}

}  // namespace plimsoll
