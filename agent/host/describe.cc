#include "agent/host/describe.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/host/beneath.h"
#include "agent/host/mount_counters.h"
#include "agent/host/space.h"
#include "agent/host/storage_stack.h"
#include "common/clock.h"
#include "common/kernel_clock.h"
#include "common/protocol.h"
#include "common/this_program.h"
#include "common/time_status.h"

// Since Linux 6.1; older headers lack it.
#ifndef STATX_DIOALIGN
#define STATX_DIOALIGN 0x00002000U
#endif

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr char kControlFile[] = "amqhlctl.lfh";
constexpr int kMaxSearchDepth = 4;
constexpr int kMaxSearchEntries = 10'000;
constexpr size_t kMaxFound = 10;
// Every run has a directory of this name and its id in hexadecimal digits.
constexpr char kRunDirectory[] = "/plimsoll-";

// Whether a path is inside a run's directory: extents of a run, or what an interrupted one left.
bool IsOwnRun(const std::string& path) {
  for (size_t at = path.find(kRunDirectory); at != std::string::npos; at = path.find(kRunDirectory, at + 1)) {
    const size_t id = at + sizeof(kRunDirectory) - 1;
    const size_t end = path.find_first_not_of("0123456789abcdef", id);
    if (end != std::string::npos && end > id && path[end] == '/') return true;
  }
  return false;
}

bool OnDevice(const std::string& path, dev_t device) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && info.st_dev == device;
}

void FindControlFiles(const std::string& mount_point, dev_t device, const std::function<bool()>& cancelled,
                      std::vector<std::string>& found) {
  std::error_code error;
  fs::recursive_directory_iterator entry(mount_point, fs::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && entry != fs::recursive_directory_iterator() && seen < kMaxSearchEntries;
       ++seen, entry.increment(error)) {
    if (cancelled()) return;
    const std::string& path = entry->path().native();
    if (entry->path().filename() == kControlFile && OnDevice(path, device)) found.push_back(path);
    if (found.size() >= kMaxFound) return;
    std::error_code ignored;
    // Another file system below is another storage.
    if (entry->is_directory(ignored) && (entry.depth() + 1 >= kMaxSearchDepth || !OnDevice(path, device))) {
      entry.disable_recursion_pending();
    }
  }
}

void FindHolders(dev_t device, const std::function<bool()>& cancelled, std::vector<std::string>& found) {
  std::error_code error;
  const std::string self = std::to_string(getpid());
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", error)) {
    if (cancelled()) return;
    const std::string pid = process.path().filename();
    if (pid == self || !std::all_of(pid.begin(), pid.end(), absl::ascii_isdigit)) continue;
    for (fs::directory_iterator file(process.path() / "fd", error); !error && file != fs::directory_iterator();
         file.increment(error)) {
      std::error_code ignored;
      const std::string target = fs::read_symlink(file->path(), ignored);
      if (!IsQueueManagerLog(target) || IsOwnRun(target)) continue;
      if (!OnDevice(file->path(), device)) continue;
      const std::string name = ReadTextLine(absl::StrCat("/proc/", pid, "/comm"));
      found.push_back(absl::StrCat("process ", pid, " (", name, ") holds ", target));
      break;
    }
    if (found.size() >= kMaxFound) return;
  }
}

}  // namespace

bool IsQueueManagerLog(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == kControlFile) return true;
  constexpr size_t kExtentNameBytes = 12;  // S0000000.LOG
  return name.size() == kExtentNameBytes && name[0] == 'S' && name.substr(8) == ".LOG" &&
         std::all_of(name.begin() + 1, name.begin() + 8, absl::ascii_isdigit);
}

std::vector<std::string> FindQueueManagers(const std::string& directory, const std::string& mount_point,
                                           const std::function<bool()>& cancelled) {
  std::vector<std::string> found;
  struct stat info{};
  if (stat(directory.c_str(), &info) != 0) return found;
  FindHolders(info.st_dev, cancelled, found);
  if (found.size() < kMaxFound) {
    FindControlFiles(mount_point.empty() ? directory : mount_point, info.st_dev, cancelled, found);
  }
  return found;
}

namespace {

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
// alone would be the cost of a read.) A clock that does not advance over all reads (some 20 ms of them) has none: 0.
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
  // Where a container forbids reading it, the clock counts as not synchronized.
  if (const std::optional<v1::TimeStatus> status = ReadTimeStatus(); status.has_value()) {
    host.set_time_synchronized(status->synchronized());
    host.set_time_error_ns(status->max_error_ns());
    host.set_time_estimated_error_ns(status->estimated_error_ns());
    if (status->has_service()) host.set_time_service(status->service());
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
  // Most file systems report it for files only, and there is none yet. The device's logical block always suffices.
  if (const auto block_device = FindBlockDevice(device); block_device.has_value()) {
    description.set_direct_memory_align(block_device->logical_block_bytes);
    description.set_direct_offset_align(block_device->logical_block_bytes);
  }
}

v1::DirectoryDescription DescribeDirectory(const Sandbox& sandbox, const TargetFiles& files, const std::string& path) {
  v1::DirectoryDescription description;
  description.set_path(path);
  // A directory that cannot be written is described all the same; one outside the roots only where targets are.
  auto fd = sandbox.OpenDirectory(path);
  absl::Status status = sandbox.Check(path);
  if (!status.ok() && files.MayDescribe(path)) {
    if (!fd.ok()) fd = OpenFromRoot(path, kOpenDirectory);
    status = fd.status();
  }
  if (!status.ok()) {
    description.set_error(std::string(status.message()));
    description.set_error_code(static_cast<int32_t>(status.code()));
  }
  if (!fd.ok()) return description;
  struct stat info{};
  if (fstat(fd->get(), &info) != 0) return description;
  description.set_device(info.st_dev);
  if (const absl::StatusOr<Space> space = SpaceOf(fd->get(), path); space.ok()) {
    description.set_total_bytes(space->total_bytes);
    description.set_free_bytes(space->free_bytes);
    description.set_total_files(space->total_files);
    description.set_free_files(space->free_files);
  }
  const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
  const Mount* const listed = FindMount(mounts, MountIdOf(fd->get()), info.st_dev, path);
  const Mount mount = listed != nullptr ? *listed : MountWithoutTable(fd->get());
  description.set_fs_type(mount.fs_type);
  description.set_fs_source(mount.source);
  description.set_mount_point(mount.mount_point);
  description.set_mount_options(mount.options);
  description.set_remote(RemoteOf(mount));
  if (IsNfs(mount)) {
    description.set_remote_file_system(NfsFileSystemOf(ReadTextFile("/proc/fs/nfsfs/volumes"), info.st_dev));
  }
  description.set_caveat(CaveatOf(mount));
  for (v1::BlockLayer& layer : DescribeBlockStack(DeviceOfSource(info.st_dev, mount.source))) {
    *description.add_block_layers() = std::move(layer);
  }
  for (std::string& one : ExportsOf(path)) description.add_exports(std::move(one));
  DescribeAlignment(fd->get(), info.st_dev, description);
  return description;
}

// As many as a plan may name. No answer has more, however many a caller asks for.
constexpr int kMaxDescribedFiles = 4096;

void DescribeFiles(const TargetFiles& files, const v1::DescribeRequest& request, const std::function<bool()>& cancelled,
                   v1::HostDescription& host) {
  for (const std::string& path : request.files()) {
    if (cancelled() || host.files_size() == kMaxDescribedFiles) return;
    *host.add_files() = files.Describe(path);
  }
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
                                 const TargetFiles& files, const v1::DescribeRequest& request,
                                 const std::function<bool()>& cancelled) {
  v1::HostDescription host;
  host.set_version(kVersion);
  if (!ThisProgramSha256().empty()) host.set_program_sha256(ThisProgramSha256());
  host.set_protocol_version(kProtocolVersion);
  host.set_instance_id(instance_id);
  host.set_name(name);
  if (!request.counters_of_mount().empty()) {
    *host.mutable_mount_counters() = ReadMountCounters(request.counters_of_mount());
    return host;
  }
  const KernelClock clock = ReadKernelClock();
  host.set_boot_id(clock.boot_id);
  host.set_time_namespace(clock.time_namespace);
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
    directory = DescribeDirectory(sandbox, files, path);
    if (request.list_run_directories() && directory.error().empty()) ListRuns(sandbox, directory);
    if (!request.look_for_queue_managers() || directory.device() == 0) continue;
    for (std::string& sign : FindQueueManagers(path, directory.mount_point(), cancelled)) {
      directory.add_queue_managers(std::move(sign));
    }
  }
  DescribeFiles(files, request, cancelled, host);
  return host;
}

}  // namespace plimsoll
