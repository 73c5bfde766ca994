#include "agent/writer/log_places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/named_files.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

void AddOnce(const std::string& path, std::vector<std::string>& paths) {
  if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
}

std::optional<uint64_t> MinFreeAsked(const v1::LogWorkload& workload) {
  return workload.has_min_free_bytes() ? std::optional(workload.min_free_bytes()) : std::nullopt;
}

absl::StatusOr<std::vector<LogPlace>> MakeRunDirectories(const Sandbox& sandbox, const WorkSetup& setup) {
  std::vector<LogPlace> places;
  std::map<std::pair<dev_t, ino_t>, std::string> known;
  for (const std::string& dir : setup.dirs) {
    if (setup.dirs.size() > 1) {
      PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, sandbox.OpenDirectory(dir));
      struct stat info{};
      if (fstat(fd.get(), &info) != 0) return PosixError("fstat", dir, errno);
      const auto [first, added] = known.emplace(std::pair(info.st_dev, info.st_ino), dir);
      if (!added) {
        return absl::InvalidArgumentError(
            absl::StrCat(dir, " is the same directory as ", first->second, ": give it one name in the plan"));
      }
    }
    LogPlace& place = places.emplace_back();
    PLIMSOLL_ASSIGN_OR_RETURN(place.directory,
                              sandbox.MakeRunDirectory(dir, setup.run_id, setup.run_token, setup.host_label));
    place.path = place.directory->path();
    place.counted = {place.path};
    if (UsesFiles(setup.workload)) {
      place.ops = MakeRunFiles(*place.directory, setup.workload.file_size_bytes(),
                               {.run_token = setup.run_token, .host_index = setup.host_index});
    } else {
      place.ops = MakeSystemFileOps(*place.directory);
    }
  }
  return places;
}

// Unit of stat's st_blocks.
constexpr uint64_t kStatBlockBytes = 512;

// What the files that `create` makes take of one file system.
struct NewFiles {
  std::string path;  // of the first one's directory
  uint64_t bytes = 0;
  // Free for them, with what the files that they replace take.
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};

// Whether a file can be made, or made again over one that this agent's `create` has left.
absl::Status CheckMayMake(const v1::FileDescription& file) {
  const bool is_new = file.error_code() == static_cast<int32_t>(absl::StatusCode::kNotFound);
  if (!is_new && !file.error().empty()) {
    return absl::Status(static_cast<absl::StatusCode>(file.error_code()), file.error());
  }
  if (!is_new && !file.kept()) {
    return absl::AlreadyExistsError(absl::StrCat(
        file.path(), " exists, and this agent's create has not made it; use another name, or leave out --create"));
  }
  if (!file.write_error().empty()) return absl::PermissionDeniedError(file.write_error());
  return absl::OkStatus();
}

absl::Status CheckMayMakeAll(const Sandbox& sandbox, const TargetFiles& targets, const WorkSetup& setup,
                             const std::vector<std::string>& names) {
  const v1::LogWorkload& workload = setup.workload;
  std::map<dev_t, NewFiles> file_systems;
  for (const std::string& name : names) {
    PLIMSOLL_RETURN_IF_ERROR(CheckMayMake(targets.Describe(name)));
    const std::string dir = DirectoryOfPath(name);
    PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, sandbox.OpenDirectory(dir));
    struct stat info{};
    if (fstat(fd.get(), &info) != 0) return PosixError("fstat", dir, errno);
    NewFiles& made = file_systems[info.st_dev];
    if (made.path.empty()) {
      struct statvfs space{};
      if (fstatvfs(fd.get(), &space) != 0) return PosixError("fstatvfs", dir, errno);
      made = {.path = dir,
              .free_bytes = uint64_t{space.f_bavail} * space.f_frsize,
              .total_bytes = uint64_t{space.f_blocks} * space.f_frsize};
    }
    const std::string in_dir = name.substr(name.rfind('/') + 1);
    if (fstatat(fd.get(), in_dir.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      made.free_bytes += static_cast<uint64_t>(info.st_blocks) * kStatBlockBytes;
    }
    made.bytes += workload.file_size_bytes();
  }
  for (const auto& [device, made] : file_systems) {
    const uint64_t min_free_bytes = MinFreeBytes(workload, made.total_bytes);
    const bool fits = made.free_bytes >= made.bytes && made.free_bytes - made.bytes >= min_free_bytes;
    if (made.total_bytes == 0 || fits) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        "the files to create in ", made.path, " and below take ", FormatSizeForPeople(made.bytes),
        "; its file system has ", FormatSizeForPeople(made.free_bytes), " free, and ",
        FormatSizeForPeople(min_free_bytes),
        " must remain free (--min-free); free space there, or use a smaller --file-size or fewer --files"));
  }
  return absl::OkStatus();
}

// The part of a file that exists that the plan uses.
absl::StatusOr<uint64_t> UsedBytes(const std::string& name, uint64_t size_bytes, const v1::LogWorkload& workload) {
  if (!workload.has_file_size_bytes()) return size_bytes;
  if (size_bytes >= workload.file_size_bytes()) return workload.file_size_bytes();
  return absl::FailedPreconditionError(
      absl::StrCat(name, " has ", FormatSize(size_bytes), ", less than file_size, which is ",
                   FormatSize(workload.file_size_bytes()), "; use a smaller --file-size, or leave it out"));
}

// What writing files that exist may still take of one file system, since parts of them are holes.
struct Growth {
  std::string path;  // of the first file
  uint64_t bytes = 0;
};

// Refuses what would be read and is a hole: the file system returns zeros for it without asking the storage. Adds what
// writing the file would take of its file system.
absl::Status CheckAllocated(const std::string& name, const NamedFiles::Held& held, uint64_t used_bytes,
                            const WorkSetup& setup, std::map<dev_t, Growth>& growth) {
  if (held.block_device) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, held.open(O_RDONLY));
  if (setup.AnyReads()) {
    // Where the file system knows no holes, the end of the file is the first one.
    const off_t hole = lseek(fd.get(), 0, SEEK_HOLE);
    if (hole >= 0 && static_cast<uint64_t>(hole) < used_bytes) {
      return absl::FailedPreconditionError(absl::StrCat(
          name, " has a hole at byte ", hole,
          ": reading there asks nothing of the storage; write the file full first, with --create, or use a smaller "
          "--file-size"));
    }
  }
  if (setup.OnlyReads()) return absl::OkStatus();
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", name, errno);
  const uint64_t allocated_bytes = static_cast<uint64_t>(info.st_blocks) * kStatBlockBytes;
  if (allocated_bytes >= used_bytes) return absl::OkStatus();
  Growth& of_device = growth[info.st_dev];
  if (of_device.path.empty()) of_device.path = name;
  of_device.bytes += used_bytes - allocated_bytes;
  return absl::OkStatus();
}

absl::Status CheckGrowth(const std::map<dev_t, Growth>& growth, const v1::LogWorkload& workload) {
  for (const auto& [device, file] : growth) {
    struct statvfs space{};
    if (statvfs(file.path.c_str(), &space) != 0) return PosixError("statvfs", file.path, errno);
    const uint64_t free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
    const uint64_t min_free_bytes = MinFreeBytes(workload, uint64_t{space.f_blocks} * space.f_frsize);
    if (free_bytes >= file.bytes && free_bytes - file.bytes >= min_free_bytes) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        file.path, ": writing the holes of the files there takes up to ", FormatSizeForPeople(file.bytes),
        "; the file system has ", FormatSizeForPeople(free_bytes), " free, and ", FormatSizeForPeople(min_free_bytes),
        " must remain free (--min-free); free space there, or use a smaller --file-size"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LogPlace> FindNamedFiles(const Sandbox& sandbox, const TargetFiles& targets, WorkSetup& setup) {
  const v1::LogWorkload& workload = setup.workload;
  const std::vector<std::string> names(workload.files().begin(),
                                       workload.files().begin() + static_cast<int>(CountUsedFiles(workload)));
  LogPlace place;
  place.path = setup.dirs.front();
  if (workload.create()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckMayMakeAll(sandbox, targets, setup, names));
    for (const std::string& name : names) AddOnce(DirectoryOfPath(name), place.counted);
    place.ops = MakeKeptFiles(targets, workload.file_size_bytes(), MinFreeAsked(workload));
    return place;
  }
  auto files = MakeTargetFiles(targets, setup.OnlyReads() ? FileUse::kRead : FileUse::kWrite, workload.overwrite());
  std::vector<uint64_t> sizes;
  std::map<dev_t, Growth> growth;
  for (const std::string& name : names) {
    PLIMSOLL_ASSIGN_OR_RETURN(const NamedFiles::Held* const held, files->Hold(name));
    PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t used_bytes, UsedBytes(name, held->size_bytes, workload));
    PLIMSOLL_RETURN_IF_ERROR(CheckAllocated(name, *held, used_bytes, setup, growth));
    sizes.push_back(used_bytes);
    AddOnce(held->block_device ? name : DirectoryOfPath(name), place.counted);
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckGrowth(growth, workload));
  PLIMSOLL_RETURN_IF_ERROR(setup.Divide(sizes));
  place.ops = std::move(files);
  return place;
}

}  // namespace

absl::StatusOr<std::vector<LogPlace>> MakeLogPlaces(const Sandbox& sandbox, const TargetFiles& targets,
                                                    WorkSetup& setup) {
  if (!UsesPaths(setup.workload)) return MakeRunDirectories(sandbox, setup);
  PLIMSOLL_ASSIGN_OR_RETURN(LogPlace place, FindNamedFiles(sandbox, targets, setup));
  std::vector<LogPlace> places;
  places.push_back(std::move(place));
  return places;
}

}  // namespace plimsoll
