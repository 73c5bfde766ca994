#include "agent/host/counters.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ctime>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/storage_stack.h"
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

v1::NfsOperation OperationSince(const v1::NfsOperation& now, const v1::NfsOperation& then) {
  v1::NfsOperation operation;
  operation.set_operations(Since(now.operations(), then.operations()));
  operation.set_transmissions(Since(now.transmissions(), then.transmissions()));
  operation.set_timeouts(Since(now.timeouts(), then.timeouts()));
  operation.set_queue_ms(Since(now.queue_ms(), then.queue_ms()));
  operation.set_round_trip_ms(Since(now.round_trip_ms(), then.round_trip_ms()));
  operation.set_execute_ms(Since(now.execute_ms(), then.execute_ms()));
  return operation;
}

// Whether the line opens the part of an NFS mount on `mount_point`: "device filer:/mq mounted on /mnt with fstype nfs4
// statvers=1.1".
bool OpensNfsMount(const std::vector<std::string>& fields, const std::string& mount_point) {
  return fields.size() >= 8 && fields[2] == "mounted" && fields[3] == "on" && fields[5] == "with" &&
         fields[6] == "fstype" && (fields[7] == "nfs" || fields[7] == "nfs4") &&
         DecodeMountText(fields[4]) == mount_point;
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

std::optional<v1::NfsCounters> ParseMountStats(const std::string& text, const std::string& mount_point) {
  std::optional<v1::NfsCounters> found;
  bool inside = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = Fields(line);
    if (fields.empty()) continue;
    if (fields[0] == "device") {
      inside = OpensNfsMount(fields, mount_point);
      if (inside) found.emplace();
    } else if (inside && fields[0] == "WRITE:") {
      *found->mutable_write() = ParseOperation(fields);
    } else if (inside && fields[0] == "COMMIT:") {
      *found->mutable_commit() = ParseOperation(fields);
    }
  }
  return found;
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
  return disk;
}

v1::NfsCounters NfsSince(const v1::NfsCounters& now, const v1::NfsCounters& then) {
  v1::NfsCounters nfs;
  if (now.has_write()) *nfs.mutable_write() = OperationSince(now.write(), then.write());
  if (now.has_commit()) *nfs.mutable_commit() = OperationSince(now.commit(), then.commit());
  return nfs;
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
  std::optional<BlockDevice> device;
  // Mount point of the NFS mount; empty where it is none.
  std::string nfs_mount_point;

  // At Reset.
  uint64_t cpu_ns = 0;
  std::optional<v1::DiskCounters> disk;
  std::optional<v1::NfsCounters> nfs;
  struct Delay {
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
  };
  std::map<int, Delay> delays;

  std::optional<v1::DiskCounters> ReadDisk() const {
    if (!device.has_value()) return std::nullopt;
    const std::string text = ReadTextFile("/proc/diskstats");
    auto counters = ParseDiskStats(text, device->number);
    if (counters.has_value() && device->disk_number != device->number) {
      // Flushes go to the whole disk, and the kernel counts them there only.
      if (const auto disk_counters = ParseDiskStats(text, device->disk_number); disk_counters.has_value()) {
        counters->set_flushes(disk_counters->flushes());
        counters->set_flush_time_ms(disk_counters->flush_time_ms());
      }
    }
    return counters;
  }

  std::optional<v1::NfsCounters> ReadNfs() const {
    if (nfs_mount_point.empty()) return std::nullopt;
    return ParseMountStats(ReadTextFile("/proc/self/mountstats"), nfs_mount_point);
  }
};

HostCounters::HostCounters(const std::string& directory) : state_(std::make_unique<State>()) {
  const UniqueFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info{};
  if (fd.valid() && fstat(fd.get(), &info) == 0) {
    state_->device = FindBlockDevice(info.st_dev);
    const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
    const Mount* mount = FindMount(mounts, MountIdOf(fd.get()), info.st_dev, directory);
    if (mount != nullptr && IsNfs(*mount)) state_->nfs_mount_point = mount->mount_point;
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
  state_->disk = state_->ReadDisk();
  state_->nfs = state_->ReadNfs();
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
  const auto disk = state_->ReadDisk();
  if (disk.has_value() && state_->disk.has_value()) *sample.mutable_disk() = DiskSince(*disk, *state_->disk);
  const auto nfs = state_->ReadNfs();
  if (nfs.has_value() && state_->nfs.has_value()) *sample.mutable_nfs() = NfsSince(*nfs, *state_->nfs);
  return sample;
}

}  // namespace plimsoll
