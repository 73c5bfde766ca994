#include "agent/host/counters.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/host/block_device.h"
#include "agent/host/counter_text.h"
#include "agent/host/mounts.h"
#include "agent/host/text_file.h"
#include "common/unique_fd.h"
#include "common/units.h"

namespace plimsoll {
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
