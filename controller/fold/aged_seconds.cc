#include "controller/fold/aged_seconds.h"

#include <algorithm>

#include "common/histogram.h"

namespace plimsoll {
namespace {

// A frame covers at most a minute, and its arrays no more.
constexpr int64_t kMostAgedSeconds = 60;

uint64_t AboveNs(uint64_t base_ns, int64_t above_ns) {
  return base_ns + static_cast<uint64_t>(above_ns);
}

}  // namespace

void ForEachAgedSecond(const v1::Frame& frame, int64_t intervals_per_second,
                       const std::function<void(const AgedSecond&)>& visit) {
  const v1::AgedSeconds& aged = frame.aged();
  for (int i = 0; i < aged.writes_size(); ++i) {
    AgedSecond second;
    second.second = frame.first_interval() / intervals_per_second + i;
    second.writes = aged.writes(i);
    second.bytes = aged.bytes().empty() ? second.writes * aged.bytes_per_write() : aged.bytes(i);
    second.latency_sum_ns = aged.latency_sum_ns(i);
    second.latency_max_ns = aged.latency_max_ns(i);
    const bool responses = !aged.response_sum_above_ns().empty();
    second.response_sum_ns = AboveNs(second.latency_sum_ns, responses ? aged.response_sum_above_ns(i) : 0);
    second.response_max_ns = AboveNs(second.latency_max_ns, responses ? aged.response_max_above_ns(i) : 0);
    visit(second);
  }
}

absl::Status CheckAgedSeconds(const v1::Frame& frame, int64_t intervals_per_second) {
  const v1::AgedSeconds& aged = frame.aged();
  const int64_t first = frame.first_interval() / intervals_per_second;
  const int64_t last =
      (frame.first_interval() + std::max<int64_t>(frame.interval_count(), 1) - 1) / intervals_per_second;
  const int size = aged.writes_size();
  if (frame.closing() || frame.first_interval() < 0 || size != last - first + 1 || size > kMostAgedSeconds) {
    return absl::InvalidArgumentError("a folded frame of other seconds than its intervals");
  }
  const bool responses = frame.response().count() > 0;
  const int of_response = responses ? size : 0;
  if (aged.latency_sum_ns_size() != size || aged.latency_max_ns_size() != size ||
      (!aged.bytes().empty() && (aged.bytes_size() != size || aged.bytes_per_write() != 0)) ||
      aged.response_sum_above_ns_size() != of_response || aged.response_max_above_ns_size() != of_response) {
    return absl::InvalidArgumentError("a folded frame that lacks seconds");
  }
  absl::uint128 writes = 0;
  absl::uint128 bytes = 0;
  absl::uint128 sum_ns = 0;
  absl::uint128 response_sum_ns = 0;
  bool whole = true;
  bool sane = true;
  uint64_t max_ns = 0;
  uint64_t response_max_ns = 0;
  ForEachAgedSecond(frame, intervals_per_second, [&](const AgedSecond& second) {
    writes += second.writes;
    bytes += aged.bytes().empty() ? absl::uint128(second.writes) * aged.bytes_per_write() : second.bytes;
    sum_ns += second.latency_sum_ns;
    max_ns = std::max(max_ns, second.latency_max_ns);
    response_sum_ns += second.response_sum_ns;
    response_max_ns = std::max(response_max_ns, second.response_max_ns);
    whole = whole && second.response_sum_ns != UINT64_MAX;
    sane = sane && (second.writes > 0 || (second.latency_sum_ns == 0 && second.latency_max_ns == 0 &&
                                          second.response_sum_ns == 0 && second.response_max_ns == 0));
  });
  const bool agree = writes == frame.latency().count() && bytes == frame.bytes() && sum_ns == SumNs(frame.latency()) &&
                     max_ns == frame.latency().max_ns();
  const bool responses_agree = !responses || ((!whole || response_sum_ns == SumNs(frame.response())) &&
                                              response_max_ns == frame.response().max_ns());
  if (!sane || !agree || !responses_agree) {
    return absl::InvalidArgumentError("a folded frame whose seconds do not add up to it");
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
