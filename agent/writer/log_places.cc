#include "agent/writer/log_places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/space.h"
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

// What the files that `create` makes take of one file system.
struct NewFiles {
  UniqueFd directory;
  std::string path;  // of the directory
  Space space;
  uint64_t bytes = 0;
  // Files that do not exist yet.
  uint64_t new_files = 0;
};

absl::Status CheckRoom(const NewFiles& made, const v1::LogWorkload& workload) {
  PLIMSOLL_RETURN_IF_ERROR(CheckFreeFiles(made.path, made.space.total_files, made.space.free_files, made.new_files,
                                          MinFreeFiles(workload, made.space.total_files), FilesLoweredBy(workload)));
  const uint64_t min_free_bytes = MinFreeBytes(workload, made.space.total_bytes);
  if (made.space.total_bytes == 0 || LeavesFree(made.space.free_bytes, made.bytes, min_free_bytes)) {
    return absl::OkStatus();
  }
  return TooLittleSpace(absl::StrCat("the files to create in ", made.path, " and on its file system take ",
                                     FormatSizeForPeople(made.bytes)),
                        made.space.free_bytes, min_free_bytes, "a smaller --file-size or fewer --files");
}

// Checks that all files can be made. Returns, for each file system that they are on, a directory there.
absl::StatusOr<std::vector<WatchedSpace>> CheckMakeAll(const TargetFiles& targets, const v1::LogWorkload& workload) {
  std::map<dev_t, NewFiles> file_systems;
  for (const std::string& name : UsedFiles(workload)) {
    PLIMSOLL_ASSIGN_OR_RETURN(TargetFiles::Room room, targets.CheckMake(name));
    NewFiles& made = file_systems[room.device];
    if (made.path.empty()) {
      made.path = DirectoryOfPath(name);
      made.directory = std::move(room.directory.fd);
      made.space = room.space;
    }
    made.space.free_bytes += room.reusable_bytes;
    made.bytes += workload.file_size_bytes();
    made.new_files += room.exists ? 0 : 1;
  }
  std::vector<WatchedSpace> watched;
  for (auto& [device, made] : file_systems) {
    PLIMSOLL_RETURN_IF_ERROR(CheckRoom(made, workload));
    watched.push_back({std::move(made.directory), std::move(made.path)});
  }
  return watched;
}

// The part of a file that exists that the plan uses.
absl::StatusOr<uint64_t> UsedBytes(const std::string& name, uint64_t size_bytes, const v1::LogWorkload& workload) {
  if (!workload.has_file_size_bytes()) return size_bytes;
  if (size_bytes >= workload.file_size_bytes()) return workload.file_size_bytes();
  return absl::FailedPreconditionError(
      absl::StrCat(name, " has ", FormatSize(size_bytes), ", less than file_size, which is ",
                   FormatSize(workload.file_size_bytes()), "; use a smaller --file-size, or leave it out"));
}

// What writing the holes of files that exist takes of one file system.
struct Growth {
  UniqueFd file;
  std::string path;  // of the file
  uint64_t bytes = 0;
};

// Refuses what would be read and is a hole: the file system returns zeros for it without asking the storage. Adds what
// writing the file would take of its file system.
absl::Status CheckAllocated(const std::string& name, const NamedFiles::Held& held, uint64_t used_bytes,
                            const WorkSetup& setup, std::map<dev_t, Growth>& growth) {
  if (held.block_device) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, held.open(O_RDONLY));
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
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t allocated_bytes, AllocatedBytes(fd.get(), name));
  if (allocated_bytes >= used_bytes) return absl::OkStatus();
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", name, errno);
  Growth& of_device = growth[info.st_dev];
  of_device.bytes += used_bytes - allocated_bytes;
  if (!of_device.path.empty()) return absl::OkStatus();
  of_device.path = name;
  of_device.file = std::move(fd);
  return absl::OkStatus();
}

// Checks that the holes can be written. Returns a file of each file system that has some.
absl::StatusOr<std::vector<WatchedSpace>> CheckGrowth(std::map<dev_t, Growth> growth, const v1::LogWorkload& workload) {
  std::vector<WatchedSpace> watched;
  for (auto& [device, grown] : growth) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Space space, SpaceOf(grown.file.get(), grown.path));
    const uint64_t min_free_bytes = MinFreeBytes(workload, space.total_bytes);
    if (space.total_bytes > 0 && !LeavesFree(space.free_bytes, grown.bytes, min_free_bytes)) {
      return TooLittleSpace(absl::StrCat(grown.path, ": writing the holes of the files there takes up to ",
                                         FormatSizeForPeople(grown.bytes)),
                            space.free_bytes, min_free_bytes, "a smaller --file-size");
    }
    watched.push_back({std::move(grown.file), std::move(grown.path)});
  }
  return watched;
}

absl::StatusOr<LogPlace> FindNamedFiles(const TargetFiles& targets, WorkSetup& setup) {
  const v1::LogWorkload& workload = setup.workload;
  LogPlace place;
  place.path = setup.dirs.front();
  if (workload.create()) {
    PLIMSOLL_ASSIGN_OR_RETURN(place.growing, CheckMakeAll(targets, workload));
    for (const std::string& name : UsedFiles(workload)) AddOnce(DirectoryOfPath(name), place.counted);
    place.ops = MakeKeptFiles(
        targets, workload.file_size_bytes(),
        workload.has_min_free_bytes() ? std::optional<uint64_t>(workload.min_free_bytes()) : std::nullopt);
    return place;
  }
  auto files = MakeTargetFiles(targets, setup.OnlyReads() ? FileUse::kRead : FileUse::kWrite, workload.overwrite());
  std::map<dev_t, Growth> growth;
  for (const std::string& name : UsedFiles(workload)) {
    PLIMSOLL_ASSIGN_OR_RETURN(const NamedFiles::Held* const held, files->Hold(name));
    PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t used_bytes, UsedBytes(name, held->size_bytes, workload));
    PLIMSOLL_RETURN_IF_ERROR(CheckAllocated(name, *held, used_bytes, setup, growth));
    place.file_bytes.push_back(used_bytes);
    AddOnce(held->block_device ? name : DirectoryOfPath(name), place.counted);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(place.growing, CheckGrowth(std::move(growth), workload));
  PLIMSOLL_RETURN_IF_ERROR(setup.Divide(place.file_bytes));
  place.ops = std::move(files);
  return place;
}

}  // namespace

absl::StatusOr<std::vector<LogPlace>> MakeLogPlaces(const Sandbox& sandbox, const TargetFiles& targets,
                                                    WorkSetup& setup) {
  if (!UsesPaths(setup.workload)) return MakeRunDirectories(sandbox, setup);
  PLIMSOLL_ASSIGN_OR_RETURN(LogPlace place, FindNamedFiles(targets, setup));
  std::vector<LogPlace> places;
  places.push_back(std::move(place));
  return places;
}

}  // namespace plimsoll
