#include "controller/from_watch/pattern_entries.h"

#include <algorithm>

#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr int64_t kLongestGapNs = UINT32_MAX;
constexpr uint64_t kMostInEntry = UINT16_MAX;

}  // namespace

absl::Status PatternEntries::Pause(int64_t until_ns) {
  while (end_ns_ < until_ns) {
    const int64_t gap_ns = std::min(until_ns - end_ns_, kLongestGapNs);
    PLIMSOLL_RETURN_IF_ERROR(visit_({static_cast<uint32_t>(gap_ns), 0, 0}));
    end_ns_ += gap_ns;
  }
  return absl::OkStatus();
}

absl::Status PatternEntries::Add(int64_t moment_ns, uint16_t pages, uint16_t count) {
  const int64_t until_ns = std::max<int64_t>(moment_ns, end_ns_ + count);
  if (until_ns - end_ns_ > kLongestGapNs) PLIMSOLL_RETURN_IF_ERROR(Pause(until_ns - kLongestGapNs));
  const auto gap_ns = static_cast<uint32_t>(until_ns - end_ns_);
  end_ns_ = until_ns;
  return visit_({gap_ns, pages, count});
}

absl::Status PatternEntries::AddRun(int64_t until_ns, uint16_t pages, uint64_t writes) {
  while (writes > 0) {
    const uint64_t count = std::min(writes, kMostInEntry);
    // In whole nanoseconds for each write, so that nothing overflows; the last part takes what is left.
    const int64_t each_ns = (until_ns - end_ns_) / static_cast<int64_t>(writes);
    const int64_t end_ns = count == writes ? until_ns : end_ns_ + each_ns * static_cast<int64_t>(count);
    PLIMSOLL_RETURN_IF_ERROR(Add(end_ns, pages, static_cast<uint16_t>(count)));
    writes -= count;
  }
  return absl::OkStatus();
}

absl::Status PatternEntries::AddEvenly(int64_t begin_ns, int64_t length_ns, uint64_t writes, uint64_t pages) {
  if (writes == 0) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(Pause(begin_ns));
  const auto smaller = static_cast<uint16_t>(pages / writes);
  const uint64_t larger_writes = pages % writes;
  const double share = static_cast<double>(larger_writes) / static_cast<double>(writes);
  const auto larger_ns = static_cast<int64_t>(share * static_cast<double>(length_ns));
  PLIMSOLL_RETURN_IF_ERROR(AddRun(begin_ns + larger_ns, static_cast<uint16_t>(smaller + 1), larger_writes));
  return AddRun(begin_ns + length_ns, smaller, writes - larger_writes);
}

}  // namespace plimsoll
