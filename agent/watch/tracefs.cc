#include "agent/watch/tracefs.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr const char* kTraceFsPaths[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

constexpr char kUprobeEvents[] = "uprobe_events";

// What gives an agent that is not root access to tracefs.
constexpr char kTraceFsAdvice[] =
    "run the agent as root or give it CAP_DAC_READ_SEARCH, CAP_PERFMON and CAP_SYS_PTRACE (docs/watch.md)";

// An instance that no path leads to. Nothing is left of it when its descriptor is closed.
UniqueFd OpenUnmounted() {
  const UniqueFd context(fsopen("tracefs", FSOPEN_CLOEXEC));
  if (!context.valid()) return {};
  if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return UniqueFd(fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
}

}  // namespace

absl::StatusOr<TraceFs> TraceFs::Open() {
  for (const char* path : kTraceFsPaths) {
    UniqueFd root(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid() && errno == EACCES) {
      return absl::PermissionDeniedError(
          absl::StrCat(path, " cannot be read, which tracing system calls needs: ", kTraceFsAdvice));
    }
    if (!root.valid()) continue;
    // The mount point exists without tracefs, too. Not faccessat, which leaves the capabilities of the agent's file
    // out.
    struct stat events{};
    if (fstatat(root.get(), "events", &events, 0) == 0) return TraceFs(std::move(root), path);
    if (errno == EACCES) {
      return absl::PermissionDeniedError(
          absl::StrCat(path, " cannot be searched, which tracing system calls needs: ", kTraceFsAdvice));
    }
  }
  UniqueFd root = OpenUnmounted();
  if (root.valid()) return TraceFs(std::move(root), "tracefs");
  if (errno == ENODEV) {
    return absl::FailedPreconditionError(
        "this kernel was built without tracefs, so that no system call can be traced; watch with --calls only, or use "
        "another kernel (CONFIG_FTRACE_SYSCALLS)");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "tracefs is not mounted and cannot be opened otherwise (", std::string(PosixError("fsopen", "", errno).message()),
      "): as root, run mount -t tracefs tracefs /sys/kernel/tracing, or give the agent CAP_SYS_ADMIN"));
}

absl::StatusOr<std::string> TraceFs::Read(const std::string& name) const {
  return ReadAt(absl::StrCat("events/", name));
}

absl::StatusOr<std::string> TraceFs::ReadAt(const std::string& name) const {
  const std::string path = absl::StrCat(path_, "/", name);
  const UniqueFd fd(openat(root_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) {
    return absl::FailedPreconditionError(
        absl::StrCat("this kernel has no tracepoint for system calls: ", path,
                     " does not exist; use a kernel with CONFIG_FTRACE_SYSCALLS, or watch with --calls only"));
  }
  if (!fd.valid() && errno == EACCES) {
    return absl::PermissionDeniedError(absl::StrCat(path, " cannot be read: ", kTraceFsAdvice));
  }
  if (!fd.valid()) return PosixError("open", path, errno);
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t got = read(fd.get(), part.data(), part.size());
    if (got < 0) return PosixError("read", path, errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
  }
}

absl::Status TraceFs::UprobeError(int error_number) const {
  const std::string path = absl::StrCat(path_, "/", kUprobeEvents);
  if (error_number == ENOENT) {
    return absl::FailedPreconditionError(
        absl::StrCat("this kernel has no uprobes (", path,
                     " does not exist), so that no call can be timed; leave out --calls, or use a kernel with "
                     "CONFIG_UPROBE_EVENTS"));
  }
  if (error_number == EACCES || error_number == EPERM) {
    return absl::PermissionDeniedError(absl::StrCat(
        path,
        " cannot be written, which timing calls needs: run the agent as root or give it CAP_DAC_OVERRIDE, and "
        "CAP_PERFMON (docs/watch.md)"));
  }
  return PosixError("write", path, error_number);
}

absl::Status TraceFs::DefineUprobe(const std::string& line) const {
  const UniqueFd fd(openat(root_.get(), kUprobeEvents, O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd.valid()) return UprobeError(errno);
  const std::string text = line + "\n";
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return UprobeError(errno);
  return absl::OkStatus();
}

std::vector<std::string> TraceFs::Uprobes() const {
  const absl::StatusOr<std::string> text = ReadAt(kUprobeEvents);
  if (!text.ok()) return {};
  return absl::StrSplit(*text, '\n', absl::SkipEmpty());
}

absl::StatusOr<uint64_t> TraceFs::IdOf(const std::string& tracepoint) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, Read(absl::StrCat(tracepoint, "/id")));
  uint64_t id = 0;
  if (absl::SimpleAtoi(text, &id)) return id;
  return absl::InternalError(absl::StrCat(path_, "/events/", tracepoint, "/id holds no number"));
}

absl::Status TraceFs::CheckField(const std::string& tracepoint, const std::string& field, uint32_t offset,
                                 uint32_t size) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string format, Read(absl::StrCat(tracepoint, "/format")));
  if (FormatHasField(format, field, offset, size)) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("this kernel's tracepoint ", tracepoint,
                                               " has another layout: no field ", field, " at offset ", offset));
}

bool FormatHasField(const std::string& format, const std::string& field, uint32_t offset, uint32_t size) {
  return absl::StrContains(format, absl::StrCat(" ", field, ";\toffset:", offset, ";\tsize:", size, ";"));
}

}  // namespace plimsoll
