#include "agent/watch/watch_profile.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/algorithm.h"

namespace plimsoll {
namespace {

constexpr uint64_t kAssumedPageBytes = 4'096;
// Sizes that are counted one by one, and those that are shown.
constexpr size_t kMostCountedSizes = 4'096;
constexpr size_t kMostShownSizes = 64;

}  // namespace

void ProfileTally::Take(const Write& write) {
  ++calls_[write.call];
  if (sizes_.size() < kMostCountedSizes || sizes_.contains(write.bytes)) ++sizes_[write.bytes];
  Log& log = logs_[write.qm];
  if (log.path != write.path) {
    if (!log.path.empty()) ++extent_changes_;
    log = {write.path, std::nullopt};
  }
  const bool aligned = write.bytes % kAssumedPageBytes == 0 && write.offset_bytes.value_or(0) % kAssumedPageBytes == 0;
  if (!aligned) ++unaligned_;
  if (!log.end_bytes || !write.offset_bytes) {
    ++other_;
  } else if (*write.offset_bytes == *log.end_bytes) {
    ++sequential_;
  } else if (*write.offset_bytes < *log.end_bytes) {
    ++rewriting_;
  } else {
    ++other_;
  }
  log.end_bytes = write.offset_bytes ? std::optional(*write.offset_bytes + write.bytes) : std::nullopt;
}

void ProfileTally::AddOpenFlags(const std::string& flags) {
  if (open_flags_.size() < kMostTexts) open_flags_.insert(flags);
}

void ProfileTally::AddLock(const std::string& lock) {
  if (locks_.size() < kMostTexts) locks_.insert(lock);
}

v1::WatchProfile ProfileTally::ToProto() const {
  v1::WatchProfile profile;
  for (const std::string& flags : open_flags_) profile.add_open_flags(flags);
  for (const std::string& lock : locks_) profile.add_locks(lock);
  for (const auto& [call, count] : calls_) profile.add_calls(absl::StrCat(call, " ", count));
  std::vector<std::pair<uint64_t, uint64_t>> sizes(sizes_.begin(), sizes_.end());
  StableSort(sizes, [](const auto& a, const auto& b) { return a.second > b.second; });
  sizes.resize(std::min(sizes.size(), kMostShownSizes));
  for (const auto& [bytes, writes] : sizes) {
    v1::WatchedSize& size = *profile.add_sizes();
    size.set_bytes(bytes);
    size.set_writes(writes);
  }
  profile.set_sequential_writes(sequential_);
  profile.set_rewriting_writes(rewriting_);
  profile.set_other_writes(other_);
  profile.set_unaligned_writes(unaligned_);
  profile.set_overlapping_writes(overlapping_);
  profile.set_extent_changes(extent_changes_);
  return profile;
}

}  // namespace plimsoll
