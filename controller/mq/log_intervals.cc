#include "controller/mq/log_intervals.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/histogram.h"
#include "common/text.h"
#include "controller/mq/mq_text.h"

namespace plimsoll {
namespace {

constexpr int64_t kIntervalMsPerSecond = 1000;
constexpr uint64_t kLeastBlockBytes = 4096;
constexpr double kMedianPercent = 50;
constexpr double kP95Percent = 95;

// The elements that are stored, and where.
struct StoredElement {
  LogElement element;
  int64_t StoredInterval::* field;
};
constexpr std::array kStored = {
    StoredElement{LogElement::kPhysicalBytesWritten, &StoredInterval::physical_bytes},
    StoredElement{LogElement::kLogicalBytesWritten, &StoredInterval::logical_bytes},
    StoredElement{LogElement::kWriteSize, &StoredInterval::write_size},
    StoredElement{LogElement::kWriteLatency, &StoredInterval::latency_us},
    StoredElement{LogElement::kSlowestWrite, &StoredInterval::slowest_us},
    StoredElement{LogElement::kSlowestWriteTime, &StoredInterval::slowest_time},
};

double StoredBytesPerSecond(const StoredInterval& interval) {
  return interval.length_ms <= 0 ? 0
                                 : static_cast<double>(std::max<int64_t>(interval.physical_bytes, 0)) *
                                       kIntervalMsPerSecond / static_cast<double>(interval.length_ms);
}

// Positions in rising order of bytes per second; of intervals with the same figure the later one comes first.
std::vector<size_t> ByBytesPerSecond(const std::vector<StoredInterval>& intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&intervals](size_t a, size_t b) {
    const double of_a = StoredBytesPerSecond(intervals[a]);
    const double of_b = StoredBytesPerSecond(intervals[b]);
    return of_a != of_b ? of_a < of_b : a > b;
  });
  return order;
}

// The digits of "2017-10-04 13:56:01.70", and back.
int64_t DigitsOf(const std::string& put) {
  int64_t digits = 0;
  for (const char c : put) {
    if (IsDigit(c)) digits = digits * 10 + (c - '0');
  }
  return digits;
}

std::string PutOf(int64_t digits) {
  const int64_t time = digits % 100'000'000;
  const int64_t date = digits / 100'000'000;
  return absl::StrFormat("%04d-%02d-%02d %02d:%02d:%02d.%02d", date / 10'000, date / 100 % 100, date % 100,
                         time / 1'000'000, time / 10'000 % 100, time / 100 % 100, time % 100);
}

}  // namespace

double LogInterval::BytesPerSecond() const {
  const int64_t bytes = value(LogElement::kPhysicalBytesWritten).value_or(0);
  return length_ms <= 0 ? 0 : static_cast<double>(bytes) * kIntervalMsPerSecond / static_cast<double>(length_ms);
}

double LogInterval::WritesPerSecond() const {
  const int64_t size = value(LogElement::kWriteSize).value_or(0);
  return size <= 0 ? 0 : BytesPerSecond() / static_cast<double>(size);
}

StoredInterval StoredInterval::Of(const LogInterval& interval) {
  StoredInterval stored;
  stored.line = interval.line;
  stored.put = DigitsOf(interval.put);
  stored.length_ms = interval.length_ms;
  for (const auto& [element, field] : kStored) stored.*field = interval.value(element).value_or(-1);
  return stored;
}

LogInterval StoredInterval::ToInterval() const {
  LogInterval interval;
  interval.line = line;
  interval.put = PutOf(put);
  interval.length_ms = length_ms;
  for (const auto& [element, field] : kStored) {
    if (this->*field >= 0) interval.values[static_cast<size_t>(element)] = this->*field;
  }
  return interval;
}

std::string IntervalChoice::Text() const {
  if (by == By::kPeak) return "the peak";
  if (by == By::kLine) return absl::StrCat("the interval at line ", line);
  return percentile == kMedianPercent ? std::string("the median") : absl::StrCat("p", percentile);
}

absl::StatusOr<IntervalChoice> ParseIntervalChoice(const std::string& text) {
  IntervalChoice choice;
  if (text == "peak") return choice;
  choice.by = IntervalChoice::By::kPercentile;
  choice.percentile = kMedianPercent;
  if (text == "median") return choice;
  constexpr std::string_view kDecimal = "0123456789.";
  if (text.size() > 1 && text.size() < 10 && text.front() == 'p' &&
      text.find_first_not_of(kDecimal, 1) == std::string::npos &&
      absl::SimpleAtod(text.substr(1), &choice.percentile) && choice.percentile > 0 && choice.percentile <= 100) {
    return choice;
  }
  choice.by = IntervalChoice::By::kLine;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos &&
      absl::SimpleAtoi(text, &choice.line) && choice.line > 0) {
    return choice;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(text),
                   " is not an interval: expected peak, median, a percentile such as p95, or the line of an "
                   "interval's heading in the file"));
}

const StoredInterval& IntervalAt(const std::vector<StoredInterval>& intervals, double percentile) {
  const uint64_t rank = PercentileRank(intervals.size(), percentile);
  return intervals[ByBytesPerSecond(intervals)[std::clamp<uint64_t>(rank, 1, intervals.size()) - 1]];
}

std::vector<LoadPoint> LoadPoints(const std::vector<StoredInterval>& intervals, size_t most) {
  std::vector<StoredInterval> sized;
  std::copy_if(intervals.begin(), intervals.end(), std::back_inserter(sized),
               [](const StoredInterval& each) { return each.write_size > 0; });
  if (sized.empty()) return {};
  const std::vector<size_t> order = ByBytesPerSecond(sized);
  const auto smaller = [&sized](size_t a, size_t b) { return sized[a].write_size < sized[b].write_size; };
  const auto [smallest, largest] = std::minmax_element(order.begin(), order.end(), smaller);
  // Positions in `order`.
  std::set<size_t> kept = {order.size() - 1, static_cast<size_t>(smallest - order.begin()),
                           static_cast<size_t>(largest - order.begin())};
  for (const double percent : {kMedianPercent, kP95Percent}) kept.insert(PercentileRank(order.size(), percent) - 1);
  const size_t even = std::min(order.size(), most - std::min(most, kept.size()));
  for (size_t i = 1; i <= even; ++i) kept.insert(order.size() * i / even - 1);
  std::vector<LoadPoint> points;
  size_t next = 0;
  for (const size_t position : kept) {
    const StoredInterval& interval = sized[order[position]];
    points.push_back({static_cast<uint64_t>(interval.write_size), StoredBytesPerSecond(interval),
                      static_cast<uint32_t>(position + 1 - next)});
    next = position + 1;
  }
  return points;
}

std::vector<uint64_t> SweepSizes(uint64_t smallest_write, uint64_t largest_write, uint64_t largest) {
  std::vector<uint64_t> sizes;
  for (uint64_t size = kLeastBlockBytes; size <= largest; size *= 2) {
    // The last one that is not above the smallest write, and what follows up to the first that is not below the
    // largest.
    if (size * 2 <= smallest_write && size * 2 <= largest) continue;
    sizes.push_back(size);
    if (size >= largest_write) break;
  }
  if (!sizes.empty() && sizes.back() < std::min(largest_write, largest)) sizes.push_back(largest);
  return sizes;
}

}  // namespace plimsoll
