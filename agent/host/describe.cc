#include "agent/host/describe.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/block_device.h"
#include "agent/host/block_stack.h"
#include "agent/host/mounts.h"
#include "agent/host/queue_managers.h"
#include "agent/host/text_file.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/version.h"

// Since Linux 6.1; older headers lack it.
#ifndef STATX_DIOALIGN
#define STATX_DIOALIGN 0x00002000U
#endif

namespace plimsoll {
namespace {

uint32_t UsableCpus() {
  // Room for 8,192 CPUs: with less than the kernel's own size the call fails.
  std::array<cpu_set_t, 8> set{};
  if (sched_getaffinity(0, sizeof(set), set.data()) != 0) return 0;
  return static_cast<uint32_t>(CPU_COUNT_S(sizeof(set), set.data()));
}

// The fastest of several batches: others are disturbed. A batch is long enough for clocks that step by a microsecond.
uint64_t ClockPairCostNs() {
  constexpr int kBatches = 20;
  constexpr int kPairs = 50;
  int64_t best_ns = INT64_MAX;
  for (int batch = 0; batch < kBatches; ++batch) {
    const MonotonicNs start = SystemClock::Read();
    for (int pair = 0; pair < kPairs; ++pair) {
      SystemClock::Read();
      SystemClock::Read();
    }
    best_ns = std::min(best_ns, SystemClock::Read() - start);
  }
  return static_cast<uint64_t>(best_ns / kPairs);
}

// The step in which the clock counts: the greatest common divisor of the differences seen. (The smallest difference
// alone would be the cost of a read.) A clock that stands still over all reads (some 20 ms of them) has none: 0.
uint64_t ClockStepNs() {
  constexpr int kReads = 1000;
  constexpr int kMaxReads = 1'000'000;
  int64_t step_ns = 0;
  MonotonicNs last = SystemClock::Read();
  for (int read = 0; read < kReads || (step_ns == 0 && read < kMaxReads); ++read) {
    const MonotonicNs now = SystemClock::Read();
    if (now > last) step_ns = std::gcd(step_ns, now - last);
    last = now;
  }
  return static_cast<uint64_t>(step_ns);
}

void DescribeClock(v1::HostDescription& host) {
  host.set_clock_source(ReadTextLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  host.set_clock_read_ns(ClockPairCostNs());
  host.set_clock_resolution_ns(ClockStepNs());
  // Reading needs no privilege. Where a container forbids it all the same, the clock counts as not synchronized.
  timex state{};
  if (const int result = adjtimex(&state); result >= 0) {
    host.set_time_synchronized(result != TIME_ERROR && (state.status & STA_UNSYNC) == 0);
    host.set_time_error_ns(static_cast<uint64_t>(std::max<int64_t>(state.maxerror, 0) * kNsPerUs));
  }
  host.set_wall_clock_ns(SystemClock().WallNow().value);
}

void DescribeAlignment(int fd, dev_t device, v1::DirectoryDescription& description) {
  struct statx info{};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 && (info.stx_mask & STATX_DIOALIGN) != 0 &&
      info.stx_dio_offset_align != 0) {
    description.set_direct_memory_align(info.stx_dio_mem_align);
    description.set_direct_offset_align(info.stx_dio_offset_align);
    return;
  }
  // Most file systems tell it for files only, and there is none yet. The device's logical block always suffices.
  if (const auto block_device = FindBlockDevice(device); block_device.has_value()) {
    description.set_direct_memory_align(block_device->logical_block_bytes);
    description.set_direct_offset_align(block_device->logical_block_bytes);
  }
}

v1::DirectoryDescription DescribeDirectory(const Sandbox& sandbox, const std::string& path) {
  v1::DirectoryDescription description;
  description.set_path(path);
  if (const absl::Status status = sandbox.Check(path); !status.ok()) {
    description.set_error(std::string(status.message()));
    description.set_error_code(static_cast<int32_t>(status.code()));
  }
  // A directory that cannot be written is described all the same; one outside the roots is not.
  const auto fd = sandbox.OpenDirectory(path);
  if (!fd.ok()) return description;
  struct stat info{};
  if (fstat(fd->get(), &info) != 0) return description;
  description.set_device(info.st_dev);
  struct statvfs space{};
  if (fstatvfs(fd->get(), &space) == 0) {
    description.set_total_bytes(uint64_t{space.f_blocks} * space.f_frsize);
    description.set_free_bytes(uint64_t{space.f_bavail} * space.f_frsize);
  }
  const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
  if (const Mount* mount = FindMount(mounts, MountIdOf(fd->get()), info.st_dev, path); mount != nullptr) {
    description.set_fs_type(mount->fs_type);
    description.set_fs_source(mount->source);
    description.set_mount_point(mount->mount_point);
    description.set_mount_options(mount->options);
    description.set_remote(RemoteOf(*mount));
    if (IsNfs(*mount)) {
      description.set_remote_file_system(NfsFileSystemOf(ReadTextFile("/proc/fs/nfsfs/volumes"), info.st_dev));
    }
    description.set_caveat(CaveatOf(*mount));
    for (v1::BlockLayer& layer : DescribeBlockStack(DeviceOfSource(info.st_dev, mount->source))) {
      *description.add_block_layers() = std::move(layer);
    }
  }
  for (std::string& one : ExportsOf(path)) description.add_exports(std::move(one));
  DescribeAlignment(fd->get(), info.st_dev, description);
  return description;
}

void ListRuns(const Sandbox& sandbox, v1::DirectoryDescription& directory) {
  auto listed = sandbox.ListRunDirectories(directory.path());
  if (!listed.ok()) {
    directory.set_error(std::string(listed.status().message()));
    directory.set_error_code(static_cast<int32_t>(listed.status().code()));
    return;
  }
  for (v1::RunDirectoryDescription& run : *listed) *directory.add_run_directories() = std::move(run);
}

}  // namespace

v1::HostDescription DescribeHost(const std::string& name, const std::string& instance_id, const Sandbox& sandbox,
                                 const v1::DescribeRequest& request, const std::function<bool()>& cancelled) {
  v1::HostDescription host;
  host.set_version(kVersion);
  host.set_protocol_version(kProtocolVersion);
  host.set_instance_id(instance_id);
  host.set_name(name);
  host.set_boot_id(ReadTextLine("/proc/sys/kernel/random/boot_id"));
  if (utsname system{}; uname(&system) == 0) {
    host.set_kernel(absl::StrCat(system.sysname, " ", system.release, " ", system.machine));
  }
  host.set_cpus(static_cast<uint32_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 0L)));
  host.set_usable_cpus(UsableCpus());
  host.set_memory_bytes(static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                        static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  DescribeClock(host);
  for (const std::string& root : sandbox.roots()) host.add_roots(root);
  for (const std::string& path : request.directories()) {
    if (cancelled()) break;
    v1::DirectoryDescription& directory = *host.add_directories();
    directory = DescribeDirectory(sandbox, path);
    if (request.list_run_directories() && directory.error().empty()) ListRuns(sandbox, directory);
    if (!request.look_for_queue_managers() || directory.mount_point().empty()) continue;
    for (std::string& sign : FindQueueManagers(path, directory.mount_point(), cancelled)) {
      directory.add_queue_managers(std::move(sign));
    }
  }
  return host;
}

}  // namespace plimsoll
