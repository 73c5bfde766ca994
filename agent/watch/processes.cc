#include "agent/watch/processes.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/host/describe.h"
#include "agent/host/storage_stack.h"
#include "agent/writer/log_files.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

namespace files = std::filesystem;

constexpr char kDeleted[] = " (deleted)";

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string ProcessPath(uint32_t pid, const std::string& name) {
  return absl::StrCat("/proc/", pid, "/", name);
}

// The kernel cuts a name after 15 bytes, maybe within a character.
std::string ReadProcessName(uint32_t pid) {
  return SanitizeForTerminal(ReadTextLine(ProcessPath(pid, "comm")));
}

// Where a descriptor's link leads; empty where it cannot be read.
std::string DescriptorPath(uint32_t pid, int fd) {
  std::error_code error;
  const std::string target = files::read_symlink(absl::StrCat("/proc/", pid, "/fd/", fd), error).string();
  return std::string(absl::StripSuffix(target, kDeleted));
}

// Numbers of the descriptors that are open.
absl::StatusOr<std::vector<int>> ListDescriptors(uint32_t pid) {
  std::vector<int> fds;
  std::error_code error;
  for (files::directory_iterator file(ProcessPath(pid, "fd"), error); !error && file != files::directory_iterator();
       file.increment(error)) {
    int fd = 0;
    if (absl::SimpleAtoi(file->path().filename().string(), &fd)) fds.push_back(fd);
  }
  if (!error) return fds;
  if (error.value() == ENOENT || error.value() == ESRCH) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " does not exist"));
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the files of process ", pid,
                   " cannot be seen: it belongs to another user; run the agent as root, as that user, "
                   "or give it CAP_SYS_PTRACE (",
                   error.message(), ", ", error.value(), ")"));
}

std::string DirectoryName(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

bool IsBelowDirectory(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path[directory.size()] == '/' && absl::StartsWith(path, directory);
}

// Number of the file system that this host has at the path; 0: not known.
dev_t DeviceBelow(const std::string& path) {
  const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
  const Mount* const mount = FindMount(mounts, 0, 0, path);
  return mount == nullptr ? 0 : mount->device;
}

OpenedFile OpenedFileOf(uint32_t pid, const std::string& path, const FdInfo& info) {
  return {path, info.inode, [pid, mount_id = info.mount_id]() -> dev_t {
            if (mount_id == 0) return 0;
            for (const Mount& mount : ParseMountInfo(ReadTextFile(ProcessPath(pid, "mountinfo")))) {
              if (mount.id == mount_id) return mount.device;
            }
            return 0;
          }};
}

// Calls `use(pid)` for each process but this one.
template <typename Use>
void ForEachProcess(Use&& use) {
  const auto self = static_cast<uint32_t>(getpid());
  std::error_code error;
  for (files::directory_iterator entry("/proc", error); !error && entry != files::directory_iterator();
       entry.increment(error)) {
    uint32_t pid = 0;
    if (absl::SimpleAtoi(entry->path().filename().string(), &pid) && pid != self) use(pid);
  }
}

}  // namespace

LogDirectory::LogDirectory(std::string path, Named named)
    : path_(std::move(path)), named_(named), resolved_path_(path_) {}

bool LogDirectory::IsBelow(const std::string& path) const {
  return !path_.empty() && (IsBelowDirectory(path, path_) || IsBelowDirectory(path, resolved_path_));
}

bool LogDirectory::Holds(const OpenedFile& file) {
  if (IsBelow(file.path)) {
    const dev_t device = named_ == Named::kByHost ? file.device() : 0;
    // The file system that this host has there now: it may be mounted after the watch began, on a takeover.
    if (device == 0 || device == device_ || device == DeviceBelow(file.path)) return true;
  }
  if (device_ == 0) return false;
  const std::string directory = DirectoryName(file.path);
  if (other_paths_.contains(directory)) return file.device() == device_;
  const auto found = inodes_.find(BaseName(file.path));
  // Another file system may have a file of that name and inode: two new ones often do.
  if (file.inode == 0 || found == inodes_.end() || found->second != file.inode || file.device() != device_)
    return false;
  other_paths_.insert(directory);
  return true;
}

std::optional<DescriptorFile> LogDirectory::FileOfName(const std::string& name) {
  if (name.empty() || name.front() != '/' || absl::StrContains(name, "/../")) return std::nullopt;
  DescriptorFile file;
  file.path = SanitizeForTerminal(name);
  file.log = IsBelow(name);
  if (file.log) {
    file.extent = ExtentOf(name);
    file.position = 0;
    return file;
  }
  if (inodes_.contains(BaseName(name)) || other_paths_.contains(DirectoryName(name)) || IsQueueManagerLog(name)) {
    return std::nullopt;
  }
  return file;
}

void LogDirectory::List() {
  inodes_.clear();
  std::error_code error;
  if (const files::path resolved = files::canonical(path_, error); !error) resolved_path_ = resolved.string();
  device_ = DeviceBelow(resolved_path_ + "/");
  for (files::directory_iterator file(path_, error); !error && file != files::directory_iterator();
       file.increment(error)) {
    struct stat info{};
    if (stat(file->path().c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      inodes_[file->path().filename().string()] = info.st_ino;
    }
  }
}

uint32_t LogDirectory::ExtentOf(const std::string& path) {
  const std::string name = BaseName(path);
  uint32_t number = 0;
  // S0000012.LOG
  if (IsQueueManagerLog(path) && absl::SimpleAtoi(name.substr(1, 7), &number)) return number;
  return numbers_.try_emplace(name, static_cast<uint32_t>(numbers_.size())).first->second;
}

FdInfo ParseFdInfo(const std::string& text) {
  FdInfo info;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(":\t "), absl::SkipEmpty());
    if (words.size() != 2) continue;
    if (words[0] == "pos") info.position = std::strtoull(words[1].c_str(), nullptr, 10);
    if (words[0] == "flags") info.flags = static_cast<int>(std::strtoul(words[1].c_str(), nullptr, 8));
    if (words[0] == "mnt_id") info.mount_id = std::strtoull(words[1].c_str(), nullptr, 10);
    if (words[0] == "ino") info.inode = std::strtoull(words[1].c_str(), nullptr, 10);
  }
  return info;
}

std::optional<DescriptorFile> ReadDescriptor(uint32_t pid, int fd, LogDirectory& log) {
  const std::string path = DescriptorPath(pid, fd);
  if (path.empty()) return std::nullopt;
  DescriptorFile file;
  // Messages hold valid UTF-8 only, which names of files need not be.
  file.path = SanitizeForTerminal(path);
  // Sockets, pipes and the like have no slash in front.
  if (path.front() != '/') return file;
  const FdInfo info = ParseFdInfo(ReadTextFile(absl::StrCat("/proc/", pid, "/fdinfo/", fd)));
  file.log = log.Holds(OpenedFileOf(pid, path, info));
  if (!file.log) return file;
  file.extent = log.ExtentOf(path);
  if ((info.flags & O_APPEND) == 0) file.position = info.position;
  return file;
}

std::string ReadText(uint32_t pid, uint64_t address) {
  std::string text;
  // Page by page: what follows the text may not be mapped.
  constexpr uint64_t kPageBytes = 4'096;
  while (text.size() < kPageBytes) {
    std::array<char, kPageBytes> part{};
    iovec local{part.data(), kPageBytes - address % kPageBytes};
    iovec remote{reinterpret_cast<void*>(address), local.iov_len};
    const ssize_t got = process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0);
    if (got <= 0) return "";
    const std::string_view read(part.data(), static_cast<size_t>(got));
    const size_t end = read.find('\0');
    text.append(read.substr(0, end));
    if (end != std::string_view::npos) return text;
    address += static_cast<uint64_t>(got);
  }
  return "";
}

absl::StatusOr<std::map<int, DescriptorFile>> ReadDescriptors(uint32_t pid, LogDirectory& log) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<int> fds, ListDescriptors(pid));
  std::map<int, DescriptorFile> descriptors;
  for (const int fd : fds) {
    if (const auto file = ReadDescriptor(pid, fd, log)) descriptors[fd] = *file;
  }
  return descriptors;
}

bool IsConstant(uint32_t pid, uint64_t address) {
  for (const absl::string_view line : absl::StrSplit(ReadTextFile(ProcessPath(pid, "maps")), '\n')) {
    // 7f12-7f34 r--p 00000000 fd:00 1234   /opt/mqm/lib64/libmqm_r.so
    uint64_t begin = 0;
    uint64_t end = 0;
    std::array<char, 5> access{};
    if (std::sscanf(std::string(line).c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, access.data()) != 3)
      continue;
    if (begin <= address && address < end) return access[1] != 'w' && access[3] == 'p';
  }
  return false;
}

namespace {

// Calls `use(const FdInfo&)` for each file of the log that the process has open.
template <typename Use>
void ForEachLogFile(uint32_t pid, LogDirectory& log, Use&& use) {
  const auto fds = ListDescriptors(pid);
  if (!fds.ok()) return;
  for (const int fd : *fds) {
    const std::string path = DescriptorPath(pid, fd);
    if (path.empty() || path.front() != '/') continue;
    const FdInfo info = ParseFdInfo(ReadTextFile(absl::StrCat("/proc/", pid, "/fdinfo/", fd)));
    if (log.Holds(OpenedFileOf(pid, path, info))) use(info);
  }
}

}  // namespace

std::vector<std::string> ReadOpenFlags(uint32_t pid, LogDirectory& log) {
  std::set<std::string> words;
  ForEachLogFile(pid, log, [&words](const FdInfo& info) {
    if ((info.flags & O_ACCMODE) == O_RDONLY) return;
    words.insert(FlagsInWords(info.flags) + ((info.flags & O_APPEND) != 0 ? "|O_APPEND" : ""));
  });
  return {words.begin(), words.end()};
}

bool HasLogToWrite(uint32_t pid, LogDirectory& log) {
  bool writes = false;
  ForEachLogFile(pid, log, [&writes](const FdInfo& info) { writes = writes || (info.flags & O_ACCMODE) != O_RDONLY; });
  return writes;
}

bool HasSubmissionThread(uint32_t pid) {
  std::error_code error;
  for (files::directory_iterator task(ProcessPath(pid, "task"), error); !error && task != files::directory_iterator();
       task.increment(error)) {
    if (absl::StartsWith(ReadTextLine(task->path().string() + "/comm"), "iou-sqp-")) return true;
  }
  return false;
}

std::vector<uint32_t> FindHolders(LogDirectory& log, size_t& hidden) {
  std::vector<uint32_t> holders;
  ForEachProcess([&](uint32_t pid) {
    const auto fds = ListDescriptors(pid);
    if (absl::IsPermissionDenied(fds.status())) ++hidden;
    if (!fds.ok()) return;
    for (const int fd : *fds) {
      const auto file = ReadDescriptor(pid, fd, log);
      if (!file || !file->log) continue;
      holders.push_back(pid);
      return;
    }
  });
  std::ranges::sort(holders);
  return holders;
}

std::string FindLogDirectory(uint32_t pid) {
  const auto fds = ListDescriptors(pid);
  if (!fds.ok()) return "";
  for (const int fd : *fds) {
    const std::string path = DescriptorPath(pid, fd);
    const std::string name = BaseName(path);
    if (IsQueueManagerLog(path) && name.front() == 'S') return path.substr(0, path.size() - name.size() - 1);
  }
  return "";
}

absl::StatusOr<WatchedProcess> WatchedProcess::Open(uint32_t pid) {
  const std::string path = absl::StrCat("/proc/", pid);
  UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() && errno == ENOENT) {
    return absl::NotFoundError(
        absl::StrCat("no process ", pid,
                     " on this host: it has ended, or the agent runs in another PID namespace (a "
                     "container); run the agent where ps shows the process"));
  }
  if (!directory.valid()) return PosixError("open", path, errno);
  const std::string tgid = absl::StrCat("\nTgid:\t", pid, "\n");
  if (const std::string status = ReadTextFile(path + "/status"); !status.empty() && !absl::StrContains(status, tgid)) {
    return absl::InvalidArgumentError(absl::StrCat(pid, " is a thread, not a process: use the number of its process"));
  }
  const UniqueFd program(open(ProcessPath(pid, "exe").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<unsigned char, EI_NIDENT> ident{};
  if (program.valid() && read(program.get(), ident.data(), ident.size()) == EI_NIDENT &&
      ident[EI_CLASS] == ELFCLASS32) {
    return absl::UnimplementedError(
        absl::StrCat("process ", pid,
                     " runs a 32-bit program, whose system calls have other numbers; only 64-bit programs can be "
                     "watched"));
  }
  return WatchedProcess(pid, ReadProcessName(pid), std::move(directory));
}

void WatchedProcess::ReadName() {
  name_ = ReadProcessName(pid_);
}

bool WatchedProcess::ended() const {
  // Nothing in the directory of a process that is gone can be opened, even if its number is in use again.
  const UniqueFd stat(openat(directory_.get(), "stat", O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  const ssize_t got = stat.valid() ? read(stat.get(), text.data(), text.size()) : -1;
  if (got <= 0) return true;
  // "4711 (name) Z": it has ended, and its parent has not taken note.
  const std::string line(text.data(), static_cast<size_t>(got));
  const size_t state = line.rfind(") ");
  return state != std::string::npos && (line[state + 2] == 'Z' || line[state + 2] == 'X');
}

uint32_t WatchedProcess::CountThreads() const {
  std::error_code error;
  uint32_t threads = 0;
  for (files::directory_iterator task(ProcessPath(pid_, "task"), error); !error && task != files::directory_iterator();
       task.increment(error)) {
    ++threads;
  }
  return threads;
}

std::vector<std::string> DescribeLocks(const std::string& proc_locks, const std::map<uint64_t, std::string>& inodes) {
  std::set<std::string> found;
  for (const absl::string_view line : absl::StrSplit(proc_locks, '\n')) {
    std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 8) continue;
    const bool waits = words[1] == "->";
    if (waits) words.erase(words.begin() + 1);
    // 1: POSIX ADVISORY WRITE 4711 fd:00:2531452 0 EOF
    uint64_t inode = 0;
    if (words.size() < 6 || !absl::SimpleAtoi(words[5].substr(words[5].rfind(':') + 1), &inode)) continue;
    const auto name = inodes.find(inode);
    if (name == inodes.end()) continue;
    found.insert(absl::StrCat(name->second, ": ", words[1], " ", words[3] == "WRITE" ? "write" : "read", ", pid ",
                              words[4], ", ", waits ? "waiting" : "held"));
  }
  return {found.begin(), found.end()};
}

}  // namespace plimsoll
