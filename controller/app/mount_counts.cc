#include "controller/app/mount_counts.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Counters of one mount that grow: writes, and the time of the writes and of what makes them stable.
struct WriteCounters {
  uint64_t writes = 0;
  uint64_t time_ms = 0;
};

WriteCounters WritesOf(const v1::MountCounters& mount) {
  if (mount.has_nfs()) {
    return {mount.nfs().write().operations(), mount.nfs().write().execute_ms() + mount.nfs().commit().execute_ms()};
  }
  return {mount.disk().writes(), mount.disk().write_time_ms() + mount.disk().flush_time_ms()};
}

// Readings of a second each, of which the smallest number of NFS requests without an answer is taken for those that
// were sent again, and get none. A write that hangs must not be among them before it is found to.
constexpr size_t kUnansweredReadings = 30;
static_assert(kUnansweredReadings > SlowdownRule::kBaselineSeconds + SilenceRule::kMoreSeconds);

// File systems without storage of their own: what is written there is in no counter of a mount.
constexpr std::array<std::string_view, 3> kNoStorage = {"tmpfs", "ramfs", "devtmpfs"};

}  // namespace

void SilenceRule::Add(uint64_t writes, bool may_wait) {
  silent_ = writes == 0 && may_wait ? silent_ + 1 : 0;
  if (seen_++ < SlowdownRule::kBaselineSeconds) longest_before_ = std::max(longest_before_, silent_);
}

MountCounts::MountCounts(std::vector<std::string> labels, std::vector<v1::MountCounters> first)
    : labels_(std::move(labels)), last_(std::move(first)), hosts_(last_.size()) {
  for (size_t host = 0; host < last_.size(); ++host) IsIdle(last_[host], hosts_[host]);
}

bool MountCounts::IsIdle(const v1::MountCounters& reading, PerHost& host) {
  if (!reading.has_nfs_unanswered()) return reading.idle();
  host.unanswered.push_back(reading.nfs_unanswered());
  if (host.unanswered.size() > kUnansweredReadings) host.unanswered.pop_front();
  return reading.nfs_unanswered() == *std::ranges::min_element(host.unanswered);
}

absl::StatusOr<ProtectedSecond> MountCounts::Add(std::vector<v1::MountCounters> readings) {
  ProtectedSecond second;
  for (size_t host = 0; host < last_.size(); ++host) {
    const v1::MountCounters& reading = readings[host];
    if (!reading.error().empty()) {
      return absl::FailedPreconditionError(absl::StrCat(labels_[host], ": ", reading.error()));
    }
    const WriteCounters now = WritesOf(reading);
    const WriteCounters before = WritesOf(last_[host]);
    if (reading.device() != last_[host].device() || now.writes < before.writes || now.time_ms < before.time_ms) {
      return absl::FailedPreconditionError(absl::StrCat(
          labels_[host], ": its counters do not continue: another file system was mounted there, or they wrapped"));
    }
    const uint64_t writes = now.writes - before.writes;
    second.writes += writes;
    PerHost& of_host = hosts_[host];
    // The flush of a write may end in a later second, in which no write does. What is older is of others: on a
    // partition, of those that flush the rest of its disk.
    of_host.pending_ms.push_back(now.time_ms - before.time_ms);
    if (of_host.pending_ms.size() > SlowdownRule::kRecentSeconds) of_host.pending_ms.pop_front();
    if (writes > 0) {
      const uint64_t time_ms = std::accumulate(of_host.pending_ms.begin(), of_host.pending_ms.end(), uint64_t{0});
      second.latency_sum_ns += static_cast<double>(time_ms) * kNsPerMs;
      of_host.pending_ms.clear();
    }
    SilenceRule& silence = of_host.silence;
    silence.Add(writes, !IsIdle(reading, of_host));
    if (!silence.too_long()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(labels_[host], ": no write to it has ended for ", silence.silent(),
                     " s, and requests may be in flight; before the run the longest such time was ",
                     silence.longest_before(), " s"));
  }
  last_ = std::move(readings);
  return second;
}

double MountCounts::ErrorNs() const {
  // The sum of the seconds that are compared is still the difference of two readings: in so few, only what is before
  // all of them is left out. Writes, and what makes them stable.
  constexpr double kSums = 2;
  return kSums * static_cast<double>(last_.size()) * kNsPerMs;
}

std::string MountCounts::Where() const {
  std::map<std::string, std::vector<std::string>> hosts;
  for (size_t host = 0; host < last_.size(); ++host) hosts[NameOf(last_[host])].push_back(labels_[host]);
  std::vector<std::string> parts;
  parts.reserve(hosts.size());
  for (const auto& [name, labels] : hosts) parts.push_back(absl::StrCat(name, " of ", absl::StrJoin(labels, ", ")));
  return absl::StrJoin(parts, " and ");
}

std::string NameOf(const v1::MountCounters& mount) {
  return mount.has_disk() ? mount.disk().device() : mount.fs_source();
}

std::string SharedWith(const v1::MountCounters& mount, const v1::DirectoryDescription& directory) {
  if (directory.device() == 0) {
    return absl::StrCat("what is below ", directory.path(), " is not known (", directory.error(), ")");
  }
  const auto has_layer = [&directory](const std::string& device) {
    return std::ranges::find(directory.block_layers(), device, &v1::BlockLayer::name) != directory.block_layers().end();
  };
  if (directory.device() == mount.device() || (mount.has_disk() && has_layer(mount.disk().device()))) {
    return absl::StrCat(directory.path(), " is on it (", NameOf(mount), ")");
  }
  // The flushes of a partition are counted with those of its disk.
  if (!mount.partitioned_disk().empty() && has_layer(mount.partitioned_disk())) {
    return absl::StrCat(directory.path(), " is on its disk (", mount.partitioned_disk(), ")");
  }
  if (!directory.remote().empty() || std::ranges::find(kNoStorage, directory.fs_type()) != kNoStorage.end()) return "";
  // A loop device writes to a file, which may be anywhere.
  const bool known = !directory.block_layers().empty() &&
                     std::ranges::none_of(directory.block_layers(), [](const v1::BlockLayer& layer) {
                       return absl::StartsWith(layer.name(), "loop");
                     });
  if (known) return "";
  return absl::StrCat("the storage below ", directory.path(), " (", directory.fs_type(),
                      ") is not known, and may be it");
}

}  // namespace plimsoll
