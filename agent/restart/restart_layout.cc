#include "agent/restart/restart_layout.h"

#include <cstddef>
#include <tuple>

namespace plimsoll {

RedoBatch::RedoBatch(uint64_t most_pages) {
  // Each record has at least one page, so that a full batch has at most kMostPages records.
  added_.reserve(kMostPages + 1);
  // Merging makes ranges fewer, and cutting adds at most one for each kMostPagesOfCall.
  merged_.reserve(kMostPages + 1 + (kMostPages + most_pages) / kMostPagesOfCall);
}

const std::vector<QueueRange>& RedoBatch::Merge() {
  merged_.clear();
  std::ranges::sort(added_, [](const QueueRange& a, const QueueRange& b) {
    return std::tie(a.queue, a.first) < std::tie(b.queue, b.first);
  });
  for (size_t next = 0; next < added_.size();) {
    const uint32_t queue = added_[next].queue;
    const uint64_t first = added_[next].first;
    uint64_t end = first;
    for (; next < added_.size() && added_[next].queue == queue && added_[next].first <= end; ++next) {
      end = std::max(end, added_[next].first + added_[next].pages);
    }
    for (uint64_t at = first; at < end; at += kMostPagesOfCall) {
      merged_.push_back({queue, at, std::min(kMostPagesOfCall, end - at)});
    }
  }
  added_.clear();
  pages_ = 0;
  return merged_;
}

}  // namespace plimsoll
