// The kernel's counters beside the measured latencies: they separate network from server, and load generator from
// storage.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/host/storage_stack.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// One device's line of /proc/diskstats, counters since boot. Nothing where the device is not there. Kernels before 5.5
// do not report flushes: 0.
std::optional<v1::DiskCounters> ParseDiskStats(const std::string& text, dev_t device);
// The device's line, with the flushes of its disk if it is a partition: the kernel counts them there only.
std::optional<v1::DiskCounters> ParseDiskStats(const std::string& text, const BlockDevice& device);

// READ, WRITE and COMMIT of the NFS mount on `mount_point` in /proc/self/mountstats, counters since it was mounted; of
// several mounted over one another, the uppermost. READ includes READ_PLUS, by which newer kernels read from NFS 4.2.
// Nothing where there is no such NFS mount. Where an operation is not listed its message is absent.
std::optional<v1::NfsCounters> ParseMountStats(const std::string& text, const std::string& mount_point);

// Bytes that the NFS mount on `mount_point` has read from its server since it was mounted, by buffered and by direct
// reads; of several mounted over one another, the uppermost. Nothing where there is no such NFS mount, or where its
// bytes are not listed.
std::optional<uint64_t> ParseNfsReadBytes(const std::string& text, const std::string& mount_point);

// By how much the requests that the connections of the NFS mount on `mount_point` have sent exceed the answers that
// they have received: the requests in flight, and one for each that was sent again. Of several mounted over one
// another, the uppermost's. Nothing where there is no such NFS mount, and where it has no connection, or one whose
// counters are not understood.
std::optional<uint64_t> ParseNfsUnanswered(const std::string& text, const std::string& mount_point);

// Time that a thread was runnable but waited for a CPU, from its schedstat ("<run ns> <wait ns> <slices>"). Nothing
// where the text is not understood.
std::optional<uint64_t> ParseRunDelayNs(const std::string& text);

// What was counted from `then` to `now`; gauges are those of `now`. Milliseconds of /proc/diskstats have 32 bits and
// may wrap once; other counters that went back (a remount) give 0.
v1::DiskCounters DiskSince(const v1::DiskCounters& now, const v1::DiskCounters& then);
v1::NfsCounters NfsSince(const v1::NfsCounters& now, const v1::NfsCounters& then);

// The devices' counters added up, named "sda1,sdb1", but for busy_ms, which is the first one's; the mounts' likewise.
// At least one.
v1::DiskCounters SumOf(const std::vector<v1::DiskCounters>& disks);
v1::NfsCounters SumOf(const std::vector<v1::NfsCounters>& mounts);

// For how long a host's devices were busy: between any two samples the busiest of them. Not thread-safe.
class BusiestTime {
 public:
  // The devices' counters since the same moment as in all calls, in the same order. Returns the total.
  uint64_t Add(const std::vector<v1::DiskCounters>& since);

 private:
  std::vector<uint64_t> last_ms_;
  uint64_t total_ms_ = 0;
};

// Reads /proc/diskstats of the devices below directories, and of block devices themselves, or /proc/self/mountstats of
// the directories' NFS mounts, this process's CPU time, and for how long limits of its cgroup throttled it. Counters
// count from Reset. Not thread-safe.
class HostCounters {
 public:
  // Finds the storage stack of the directories and block devices at `paths` once; what is not known is left out of the
  // samples: where one of several devices or mounts cannot be read, all of them. Of several devices busy_ms is as
  // BusiestTime has it. May hang with a hung file system; afterwards only /proc is read.
  explicit HostCounters(const std::vector<std::string>& paths);
  // With the cpu.stat files of a cgroup, and of those above it, in place of this process' own.
  HostCounters(const std::vector<std::string>& paths, std::vector<std::string> cpu_stats);
  ~HostCounters();

  // Starts counting anew. `writer_tids`: kernel thread ids of the writers, whose CPU waits are added up.
  void Reset(const std::vector<int>& writer_tids);
  // The counters since Reset; the caller fills step, time and recorder_late_max_ns. A writer that has ended counts with
  // what it had when it was last sampled. Before the first Reset everything counts from construction, without writers.
  v1::HostSample Sample() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
