// What the kernels of hosts count of the writes to a protected mount, second by second.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/app/slowdown_rule.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Whether a host writes nothing for longer than it did before the run, although it may be waiting: the kernel counts a
// write when it has ended, so that one that hangs is in no counter. One thread.
class SilenceRule {
 public:
  // How much longer than the longest silence of the baseline, in seconds.
  static constexpr uint32_t kMoreSeconds = 5;

  // `may_wait`: something may be in flight. The first SlowdownRule::kBaselineSeconds are the baseline.
  void Add(uint64_t writes, bool may_wait);
  // Seconds in a row up to the last one without a write, in which something may have been in flight.
  uint32_t silent() const { return silent_; }
  uint32_t longest_before() const { return longest_before_; }
  bool too_long() const { return seen_ > SlowdownRule::kBaselineSeconds && silent_ >= longest_before_ + kMoreSeconds; }

 private:
  uint32_t seen_ = 0;
  uint32_t silent_ = 0;
  uint32_t longest_before_ = 0;
};

// Makes the seconds of all hosts together from the readings of their counters. One thread.
class MountCounts {
 public:
  // `labels` names the hosts, `first` is where their counters start.
  MountCounts(std::vector<std::string> labels, std::vector<v1::MountCounters> first);

  // What was written since the readings before: a host each, in the order of the labels. The time of flushes, and of
  // COMMIT on NFS, counts with the writes; that of up to four seconds in which no write of the host ended, with the
  // next that does. FAILED_PRECONDITION names the host whose counters show nothing any more: it has
  // another file system there, or is silent for too long.
  absl::StatusOr<ProtectedSecond> Add(std::vector<v1::MountCounters> readings);

  // By how much sums of any seconds may be off, because the kernel's sums are in whole milliseconds.
  double ErrorNs() const;
  // "filer:/mq of node1, node2 and sda1 of node3".
  std::string Where() const;

 private:
  struct PerHost {
    SilenceRule silence;
    // Time of writes and flushes in each of the latest seconds since the last one in which a write ended.
    std::deque<uint64_t> pending_ms;
    // MountCounters.nfs_unanswered of the latest readings.
    std::deque<uint64_t> unanswered;
  };

  // Whether nothing is in flight, as far as that is known; keeps the number of requests without an answer.
  static bool IsIdle(const v1::MountCounters& reading, PerHost& host);

  const std::vector<std::string> labels_;
  std::vector<v1::MountCounters> last_;
  std::vector<PerHost> hosts_;
};

// What a mount is: the server's export, or the block device.
std::string NameOf(const v1::MountCounters& mount);

// Why writes to the directory may be in the counters of the mount on the same host: they are, or what is below the
// directory is not known. Empty: they are not.
std::string SharedWith(const v1::MountCounters& mount, const v1::DirectoryDescription& directory);

}  // namespace plimsoll
