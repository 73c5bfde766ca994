#include "agent/host/counters.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/storage_stack.h"
#include "agent/host/throttling.h"
#include "common/posix.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// The kernel counts in sectors of 512 bytes whatever the device's block.
constexpr uint64_t kSectorBytes = 512;

uint64_t Since(uint64_t now, uint64_t then) {
  return now >= then ? now - then : 0;
}

uint64_t MsSince(uint64_t now, uint64_t then) {
  if (now >= then) return now - then;
  constexpr uint64_t kWrap = uint64_t{1} << 32;
  return then < kWrap ? now + kWrap - then : 0;
}

// Field `index` as a number; 0 where there is none.
uint64_t Field(const std::vector<std::string>& fields, size_t index) {
  uint64_t value = 0;
  return index < fields.size() && absl::SimpleAtoi(fields[index], &value) ? value : 0;
}

std::vector<std::string> Fields(const std::string& line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// Behind "WRITE:" stand operations, transmissions, timeouts, bytes sent, bytes received, then milliseconds: waiting to
// be sent, until the answer came, in all.
v1::NfsOperation ParseOperation(const std::vector<std::string>& fields) {
  v1::NfsOperation operation;
  operation.set_operations(Field(fields, 1));
  operation.set_transmissions(Field(fields, 2));
  operation.set_timeouts(Field(fields, 3));
  operation.set_queue_ms(Field(fields, 6));
  operation.set_round_trip_ms(Field(fields, 7));
  operation.set_execute_ms(Field(fields, 8));
  return operation;
}

// Applies `combine` to each counter of `a` and `b`.
template <typename Combine>
v1::NfsOperation Combined(const v1::NfsOperation& a, const v1::NfsOperation& b, Combine combine) {
  v1::NfsOperation operation;
  operation.set_operations(combine(a.operations(), b.operations()));
  operation.set_transmissions(combine(a.transmissions(), b.transmissions()));
  operation.set_timeouts(combine(a.timeouts(), b.timeouts()));
  operation.set_queue_ms(combine(a.queue_ms(), b.queue_ms()));
  operation.set_round_trip_ms(combine(a.round_trip_ms(), b.round_trip_ms()));
  operation.set_execute_ms(combine(a.execute_ms(), b.execute_ms()));
  return operation;
}

// Whether the line opens the part of an NFS mount on `mount_point`: "device filer:/mq mounted on /mnt with fstype nfs4
// statvers=1.1".
bool OpensNfsMount(const std::vector<std::string>& fields, const std::string& mount_point) {
  return fields.size() >= 8 && fields[2] == "mounted" && fields[3] == "on" && fields[5] == "with" &&
         fields[6] == "fstype" && (fields[7] == "nfs" || fields[7] == "nfs4") &&
         DecodeMountText(fields[4]) == mount_point;
}

// The fields of each line about the NFS mount on `mount_point` in the text of mountstats; nothing where no NFS is
// mounted there. Of several mounts on one directory the last covers the others.
std::optional<std::vector<std::vector<std::string>>> LinesOfNfsMount(const std::string& text,
                                                                     const std::string& mount_point) {
  std::optional<std::vector<std::vector<std::string>>> found;
  bool inside = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields = Fields(line);
    if (fields.empty()) continue;
    if (fields[0] == "device") {
      inside = OpensNfsMount(fields, mount_point);
      if (inside) found.emplace();
    } else if (inside) {
      found->push_back(std::move(fields));
    }
  }
  return found;
}

}  // namespace

std::optional<v1::DiskCounters> ParseDiskStats(const std::string& text, dev_t device) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = Fields(line);
    if (fields.size() < 14) continue;
    if (fields[0] != absl::StrCat(major(device)) || fields[1] != absl::StrCat(minor(device))) continue;
    v1::DiskCounters disk;
    disk.set_device(fields[2]);
    disk.set_reads(Field(fields, 3));
    disk.set_read_bytes(Field(fields, 5) * kSectorBytes);
    disk.set_read_time_ms(Field(fields, 6));
    disk.set_writes(Field(fields, 7));
    disk.set_written_bytes(Field(fields, 9) * kSectorBytes);
    disk.set_write_time_ms(Field(fields, 10));
    disk.set_in_flight(Field(fields, 11));
    disk.set_busy_ms(Field(fields, 12));
    disk.set_flushes(Field(fields, 18));
    disk.set_flush_time_ms(Field(fields, 19));
    return disk;
  }
  return std::nullopt;
}

std::optional<v1::DiskCounters> ParseDiskStats(const std::string& text, const BlockDevice& device) {
  std::optional<v1::DiskCounters> counters = ParseDiskStats(text, device.number);
  if (!counters.has_value() || device.disk_number == device.number) return counters;
  if (const auto disk = ParseDiskStats(text, device.disk_number); disk.has_value()) {
    counters->set_flushes(disk->flushes());
    counters->set_flush_time_ms(disk->flush_time_ms());
  }
  return counters;
}

std::optional<v1::NfsCounters> ParseMountStats(const std::string& text, const std::string& mount_point) {
  const std::optional<std::vector<std::vector<std::string>>> lines = LinesOfNfsMount(text, mount_point);
  if (!lines.has_value()) return std::nullopt;
  v1::NfsCounters counters;
  for (const std::vector<std::string>& fields : *lines) {
    if (fields[0] == "READ:" || fields[0] == "READ_PLUS:") {
      *counters.mutable_read() = Combined(counters.read(), ParseOperation(fields), std::plus());
    } else if (fields[0] == "WRITE:") {
      *counters.mutable_write() = ParseOperation(fields);
    } else if (fields[0] == "COMMIT:") {
      *counters.mutable_commit() = ParseOperation(fields);
    }
  }
  return counters;
}

std::optional<uint64_t> ParseNfsReadBytes(const std::string& text, const std::string& mount_point) {
  // Behind "bytes:" are what programs read and wrote, the same with O_DIRECT, and what was read from the server.
  constexpr size_t kServerReadAt = 5;
  const std::optional<std::vector<std::vector<std::string>>> lines = LinesOfNfsMount(text, mount_point);
  if (!lines.has_value()) return std::nullopt;
  for (const std::vector<std::string>& fields : *lines) {
    if (fields[0] == "bytes:" && fields.size() > kServerReadAt) return Field(fields, kServerReadAt);
  }
  return std::nullopt;
}

std::optional<uint64_t> ParseNfsUnanswered(const std::string& text, const std::string& mount_point) {
  // Behind "xprt: tcp" and "xprt: rdma" are port, binds, connects, connect time and idle time, then requests sent and
  // answers received.
  constexpr size_t kSentAt = 7;
  const std::optional<std::vector<std::vector<std::string>>> lines = LinesOfNfsMount(text, mount_point);
  if (!lines.has_value()) return std::nullopt;
  std::optional<uint64_t> unanswered;
  for (const std::vector<std::string>& fields : *lines) {
    if (fields[0] != "xprt:") continue;
    if (fields.size() <= kSentAt + 1 || (fields[1] != "tcp" && fields[1] != "rdma")) return std::nullopt;
    unanswered = unanswered.value_or(0) + Since(Field(fields, kSentAt), Field(fields, kSentAt + 1));
  }
  return unanswered;
}

std::optional<uint64_t> ParseRunDelayNs(const std::string& text) {
  const std::vector<std::string> fields = absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  uint64_t delay_ns = 0;
  if (fields.size() < 3 || !absl::SimpleAtoi(fields[1], &delay_ns)) return std::nullopt;
  return delay_ns;
}

v1::DiskCounters DiskSince(const v1::DiskCounters& now, const v1::DiskCounters& then) {
  v1::DiskCounters disk = now;
  disk.set_writes(Since(now.writes(), then.writes()));
  disk.set_written_bytes(Since(now.written_bytes(), then.written_bytes()));
  disk.set_write_time_ms(MsSince(now.write_time_ms(), then.write_time_ms()));
  disk.set_flushes(Since(now.flushes(), then.flushes()));
  disk.set_flush_time_ms(MsSince(now.flush_time_ms(), then.flush_time_ms()));
  disk.set_busy_ms(MsSince(now.busy_ms(), then.busy_ms()));
  disk.set_reads(Since(now.reads(), then.reads()));
  disk.set_read_bytes(Since(now.read_bytes(), then.read_bytes()));
  disk.set_read_time_ms(MsSince(now.read_time_ms(), then.read_time_ms()));
  return disk;
}

v1::NfsCounters NfsSince(const v1::NfsCounters& now, const v1::NfsCounters& then) {
  v1::NfsCounters nfs;
  if (now.has_write()) *nfs.mutable_write() = Combined(now.write(), then.write(), Since);
  if (now.has_commit()) *nfs.mutable_commit() = Combined(now.commit(), then.commit(), Since);
  if (now.has_read()) *nfs.mutable_read() = Combined(now.read(), then.read(), Since);
  return nfs;
}

v1::DiskCounters SumOf(const std::vector<v1::DiskCounters>& disks) {
  v1::DiskCounters sum = disks.front();
  for (auto disk = std::next(disks.begin()); disk != disks.end(); ++disk) {
    sum.set_device(absl::StrCat(sum.device(), ",", disk->device()));
    sum.set_writes(sum.writes() + disk->writes());
    sum.set_written_bytes(sum.written_bytes() + disk->written_bytes());
    sum.set_write_time_ms(sum.write_time_ms() + disk->write_time_ms());
    sum.set_in_flight(sum.in_flight() + disk->in_flight());
    sum.set_flushes(sum.flushes() + disk->flushes());
    sum.set_flush_time_ms(sum.flush_time_ms() + disk->flush_time_ms());
    sum.set_reads(sum.reads() + disk->reads());
    sum.set_read_bytes(sum.read_bytes() + disk->read_bytes());
    sum.set_read_time_ms(sum.read_time_ms() + disk->read_time_ms());
  }
  return sum;
}

v1::NfsCounters SumOf(const std::vector<v1::NfsCounters>& mounts) {
  v1::NfsCounters sum = mounts.front();
  const auto add = [](const v1::NfsOperation& one, v1::NfsOperation& to) { to = Combined(to, one, std::plus()); };
  for (auto mount = std::next(mounts.begin()); mount != mounts.end(); ++mount) {
    if (mount->has_write()) add(mount->write(), *sum.mutable_write());
    if (mount->has_commit()) add(mount->commit(), *sum.mutable_commit());
    if (mount->has_read()) add(mount->read(), *sum.mutable_read());
  }
  return sum;
}

uint64_t BusiestTime::Add(const std::vector<v1::DiskCounters>& since) {
  last_ms_.resize(since.size(), 0);
  uint64_t most_ms = 0;
  for (size_t i = 0; i < since.size(); ++i) {
    most_ms = std::max(most_ms, since[i].busy_ms() - std::min(last_ms_[i], since[i].busy_ms()));
    last_ms_[i] = since[i].busy_ms();
  }
  return total_ms_ += most_ms;
}

namespace {

uint64_t ProcessCpuNs() {
  timespec used{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return 0;
  return static_cast<uint64_t>(int64_t{used.tv_sec} * kNsPerSecond + used.tv_nsec);
}

std::optional<uint64_t> RunDelayNs(int tid) {
  return ParseRunDelayNs(ReadTextFile(absl::StrCat("/proc/self/task/", tid, "/schedstat")));
}

}  // namespace

struct HostCounters::State {
  // The devices and mounts of the directories, each once.
  std::vector<BlockDevice> devices;
  std::vector<std::string> nfs_mount_points;
  // Mounts of one file system of a server share their counters, and their device.
  std::set<dev_t> nfs_devices;

  // At Reset; as many as there are devices and mounts, or none.
  uint64_t cpu_ns = 0;
  std::vector<v1::DiskCounters> disks;
  std::vector<v1::NfsCounters> mounts;
  BusiestTime busiest;
  struct Delay {
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
  };
  std::map<int, Delay> delays;

  std::vector<std::string> cpu_stats;
  std::optional<uint64_t> throttled_ns;

  void AddDevice(const BlockDevice& device) {
    const auto same = [&device](const BlockDevice& known) { return known.number == device.number; };
    if (std::none_of(devices.begin(), devices.end(), same)) devices.push_back(device);
  }

  void AddNfsMount(const std::string& point, dev_t device) {
    if (nfs_devices.insert(device).second) nfs_mount_points.push_back(point);
  }

  std::vector<v1::DiskCounters> ReadDisks() const {
    std::vector<v1::DiskCounters> all;
    if (devices.empty()) return all;
    const std::string text = ReadTextFile("/proc/diskstats");
    std::set<dev_t> disks_seen;
    for (const BlockDevice& device : devices) {
      auto counters = ParseDiskStats(text, device);
      if (!counters.has_value()) return {};
      // Two partitions of one disk have the same flushes.
      if (!disks_seen.insert(device.disk_number).second) {
        counters->set_flushes(0);
        counters->set_flush_time_ms(0);
      }
      all.push_back(*std::move(counters));
    }
    return all;
  }

  std::vector<v1::NfsCounters> ReadMounts() const {
    std::vector<v1::NfsCounters> all;
    if (nfs_mount_points.empty()) return all;
    const std::string text = ReadTextFile("/proc/self/mountstats");
    for (const std::string& point : nfs_mount_points) {
      auto counters = ParseMountStats(text, point);
      if (!counters.has_value()) return {};
      all.push_back(*std::move(counters));
    }
    return all;
  }
};

HostCounters::HostCounters(const std::vector<std::string>& paths) : HostCounters(paths, OwnCpuStatFiles()) {}

HostCounters::HostCounters(const std::vector<std::string>& paths, std::vector<std::string> cpu_stats)
    : state_(std::make_unique<State>()) {
  state_->cpu_stats = std::move(cpu_stats);
  const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
  for (const std::string& path : paths) {
    const UniqueFd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat info{};
    if (!fd.valid() || fstat(fd.get(), &info) != 0) continue;
    const bool is_device = S_ISBLK(info.st_mode);
    if (!is_device && !S_ISDIR(info.st_mode)) continue;
    const auto device = FindBlockDevice(is_device ? info.st_rdev : info.st_dev);
    if (device.has_value()) state_->AddDevice(*device);
    if (is_device) continue;
    const Mount* mount = FindMount(mounts, MountIdOf(fd.get()), info.st_dev, path);
    if (mount != nullptr && IsNfs(*mount)) state_->AddNfsMount(mount->mount_point, info.st_dev);
  }
  Reset({});
}

HostCounters::~HostCounters() = default;

void HostCounters::Reset(const std::vector<int>& writer_tids) {
  state_->delays.clear();
  for (const int tid : writer_tids) {
    const uint64_t delay_ns = RunDelayNs(tid).value_or(0);
    state_->delays[tid] = {delay_ns, delay_ns};
  }
  state_->disks = state_->ReadDisks();
  state_->mounts = state_->ReadMounts();
  state_->busiest = BusiestTime();
  state_->throttled_ns = ReadThrottledNs(state_->cpu_stats);
  state_->cpu_ns = ProcessCpuNs();
}

v1::HostSample HostCounters::Sample() const {
  v1::HostSample sample;
  sample.set_agent_cpu_ns(ProcessCpuNs() - state_->cpu_ns);
  uint64_t wait_ns = 0;
  for (auto& [tid, delay] : state_->delays) {
    delay.last_ns = RunDelayNs(tid).value_or(delay.last_ns);
    wait_ns += delay.last_ns - delay.first_ns;
  }
  sample.set_writer_cpu_wait_ns(wait_ns);
  if (const auto throttled_ns = ReadThrottledNs(state_->cpu_stats); throttled_ns && state_->throttled_ns) {
    sample.set_throttled_ns(Since(*throttled_ns, *state_->throttled_ns));
  }
  std::vector<v1::DiskCounters> disks = state_->ReadDisks();
  if (!disks.empty() && disks.size() == state_->disks.size()) {
    for (size_t i = 0; i < disks.size(); ++i) disks[i] = DiskSince(disks[i], state_->disks[i]);
    *sample.mutable_disk() = SumOf(disks);
    sample.mutable_disk()->set_busy_ms(state_->busiest.Add(disks));
  }
  std::vector<v1::NfsCounters> mounts = state_->ReadMounts();
  if (!mounts.empty() && mounts.size() == state_->mounts.size()) {
    for (size_t i = 0; i < mounts.size(); ++i) mounts[i] = NfsSince(mounts[i], state_->mounts[i]);
    *sample.mutable_nfs() = SumOf(mounts);
  }
  return sample;
}

}  // namespace plimsoll
