#include "agent/ha/qm_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/ha/log_upkeep.h"
#include "agent/host/run_directory.h"
#include "agent/writer/block_source.h"
#include "agent/writer/log_files.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// Makes a file of `pages` pages, of which the first carries the run's token.
absl::Status MakeMarkedFile(const HaSetup& setup, uint32_t qm, RunDirectory& directory, const std::string& name,
                            uint64_t pages) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, directory.CreateFile(name, O_RDWR | O_DSYNC));
  const std::string path = absl::StrCat(directory.path(), "/", name);
  std::vector<std::byte> bytes(pages * kStampedPageBytes);
  const uint64_t checksum = PayloadChecksum(std::span(bytes).subspan(kStampBytes, kStampedPageBytes - kStampBytes));
  WriteStamp({setup.log.run_token, setup.log.host_index, qm, 0, 0, 0}, checksum, bytes.data());
  const ssize_t size = pwrite(fd.get(), bytes.data(), bytes.size(), 0);
  if (size < 0) return PosixError("pwrite", path, errno);
  if (size != static_cast<ssize_t>(bytes.size())) {
    return absl::DataLossError(absl::StrCat("pwrite ", path, ": only ", size, " of ", bytes.size(), " bytes"));
  }
  if (fsync(fd.get()) != 0) return PosixError("fsync", path, errno);
  return absl::OkStatus();
}

// With O_DIRECT where `direct` says so and the file system takes it; `refused` is why not.
absl::StatusOr<QmFiles::File> OpenLogFile(const SharedDirectory& directory, const std::string& name, int flags,
                                          v1::DirectMode mode, bool& direct, std::string& refused) {
  QmFiles::File file;
  file.path = absl::StrCat(directory.path(), "/", name);
  absl::StatusOr<UniqueFd> fd = directory.OpenFile(name, flags | (direct ? O_DIRECT : 0));
  if (direct && absl::IsInvalidArgument(fd.status()) && mode != v1::DIRECT_MODE_ON) {
    direct = false;
    refused = std::string(fd.status().message());
    fd = directory.OpenFile(name, flags);
  }
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  file.fd = *std::move(fd);
  return file;
}

}  // namespace

std::string CheckpointName(uint32_t qm) {
  return absl::StrCat("qm", qm, "/active/checkpoint");
}

std::string LockName(uint32_t qm, v1::HaLock lock) {
  const char* name = lock == v1::HA_LOCK_MASTER    ? "master"
                     : lock == v1::HA_LOCK_ACTIVE  ? "active"
                     : lock == v1::HA_LOCK_STANDBY ? "standby"
                                                   : "poll";
  return absl::StrCat("qm", qm, "/data/", name);
}

absl::StatusOr<MadeFiles> MakeQmFiles(const HaSetup& setup, uint32_t qm, RunDirectory& log_directory,
                                      RunDirectory& data_directory, const std::function<absl::Status()>& before,
                                      const std::function<void(uint64_t)>& after) {
  const LogFilesOptions options = setup.log.FilesOf(qm);
  std::vector<uint64_t> sizes = options.block_bytes;
  for (const uint64_t bytes : LogFiles::ChunkSizes(setup.log.workload.file_size_bytes())) sizes.push_back(bytes);
  std::unique_ptr<BlockSource> source;
  try {
    source = std::make_unique<BlockSource>(BlockSource::Identity{setup.log.run_token, setup.log.host_index, qm}, sizes);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for the blocks of qm", qm));
  }
  const std::unique_ptr<FileOps> ops = MakeSystemFileOps(log_directory);
  LogFiles files(options, *ops);
  PLIMSOLL_RETURN_IF_ERROR(files.Prepare(*source, before, after));
  PLIMSOLL_RETURN_IF_ERROR(
      MakeMarkedFile(setup, qm, log_directory, CheckpointName(qm), kCheckpointBytes / kStampedPageBytes));
  for (const v1::HaLock lock : {v1::HA_LOCK_MASTER, v1::HA_LOCK_STANDBY, v1::HA_LOCK_POLL}) {
    PLIMSOLL_RETURN_IF_ERROR(MakeMarkedFile(setup, qm, data_directory, LockName(qm, lock), 1));
  }
  PLIMSOLL_RETURN_IF_ERROR(MakeMarkedFile(setup, qm, data_directory, LockName(qm, v1::HA_LOCK_ACTIVE), 2));
  return MadeFiles{files.direct(), files.direct_refused(), files.open_flags()};
}

absl::StatusOr<QmFiles> OpenQmFiles(const HaSetup& setup, uint32_t qm, const Sandbox& sandbox, bool for_scan) {
  const HaSetup::QueueManager* const queue_manager = setup.Find(qm);
  if (queue_manager == nullptr) return absl::InvalidArgumentError(absl::StrCat("the plan has no qm", qm));
  const SharedDirectory::Owner owner{setup.log.run_id, setup.log.run_token, queue_manager->home};
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<SharedDirectory> log,
                            sandbox.OpenSharedDirectory(setup.log.dirs.front(), owner));
  QmFiles files;
  files.directory = log->path();
  files.direct = setup.log.workload.direct() != v1::DIRECT_MODE_OFF;
  const int access = for_scan ? O_RDONLY : O_RDWR | SyncFlags(setup.log.workload.sync());
  for (uint32_t extent = 0; extent < setup.log.workload.num_files(); ++extent) {
    PLIMSOLL_ASSIGN_OR_RETURN(QmFiles::File file,
                              OpenLogFile(*log, ExtentName(qm, setup.log.workload.file_prefix(), extent), access,
                                          setup.log.workload.direct(), files.direct, files.direct_refused));
    files.extents.push_back(std::move(file));
  }
  const int flags = fcntl(files.extents.front().fd.get(), F_GETFL);
  files.open_flags = FlagsInWords(flags);
  // The small files ask for O_DIRECT whatever the log does: what is read must be the storage's, not this host's
  // cache's.
  bool direct = true;
  std::string& refused = files.small_files_direct_refused;
  const int durable = for_scan ? O_RDONLY : O_RDWR | O_DSYNC;
  PLIMSOLL_ASSIGN_OR_RETURN(files.checkpoint,
                            OpenLogFile(*log, CheckpointName(qm), durable, v1::DIRECT_MODE_AUTO, direct, refused));
  if (for_scan) return files;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<SharedDirectory> data,
                            sandbox.OpenSharedDirectory(setup.data_dir, owner));
  direct = true;
  for (auto& [lock, file] : {std::pair<v1::HaLock, QmFiles::File*>{v1::HA_LOCK_MASTER, &files.master},
                             {v1::HA_LOCK_ACTIVE, &files.active},
                             {v1::HA_LOCK_STANDBY, &files.standby},
                             {v1::HA_LOCK_POLL, &files.poll}}) {
    PLIMSOLL_ASSIGN_OR_RETURN(*file,
                              OpenLogFile(*data, LockName(qm, lock), durable, v1::DIRECT_MODE_AUTO, direct, refused));
  }
  return files;
}

}  // namespace plimsoll
