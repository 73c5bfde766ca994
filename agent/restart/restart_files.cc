#include "agent/restart/restart_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/space.h"
#include "agent/writer/log_files.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// Number in the name of the directory "qm1", which holds log and queue files (ExtentName).
constexpr uint32_t kQueueManager = 1;
constexpr char kExtentPrefix[] = "S";

absl::Status WriteTo(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return PosixError("open", path, errno);
  const ssize_t written = write(fd.get(), text.data(), text.size());
  if (written < 0) return PosixError("write", path, errno);
  if (static_cast<size_t>(written) != text.size()) {
    return absl::DataLossError(absl::StrCat("write ", path, ": only ", written, " bytes were written"));
  }
  return absl::OkStatus();
}

}  // namespace

RestartFiles::RestartFiles(const RestartSetup& setup, uint32_t side, std::unique_ptr<RunDirectory> directory)
    : setup_(setup), side_(side), directory_(std::move(directory)), ops_(MakeSystemFileOps(*directory_)) {
  const v1::RestartWork& work = setup_.work;
  const uint64_t extents = setup_.Extents();
  log_.reserve(extents);
  for (uint64_t number = 0; number < extents; ++number) {
    const uint64_t begin = number * work.log_file_bytes();
    log_.push_back(MakeFile(ExtentName(kQueueManager, kExtentPrefix, static_cast<uint32_t>(number)),
                            std::min(work.log_file_bytes(), work.log_bytes() - begin), kLogEpoch,
                            begin / kStampedPageBytes + 1));
  }
  queues_.reserve(work.queues());
  for (uint32_t queue = 0; queue < work.queues(); ++queue) {
    queues_.push_back(MakeFile(absl::StrCat("qm", kQueueManager, "/", kQueuesDirectory, "/queue", queue + 1),
                               work.queue_bytes(), kFirstQueueEpoch + queue, 1));
  }
  rollback_ = MakeFile(absl::StrCat(kFilesDirectory, "/rollback.log"), kRollbackFileBytes, kRollbackEpoch, 1);
}

RestartFile RestartFiles::MakeFile(const std::string& relative, uint64_t size_bytes, uint32_t epoch,
                                   uint64_t first_sequence) const {
  RestartFile file;
  file.relative = relative;
  file.path = absl::StrCat(directory_->path(), "/", relative);
  file.size_bytes = size_bytes;
  file.stamp.run_token = setup_.run_token;
  file.stamp.host_index = setup_.host_index;
  file.stamp.qm = side_ + 1;
  file.stamp.epoch = epoch;
  file.stamp.sequence = first_sequence;
  return file;
}

absl::Status RestartFiles::Fill(RestartCaller& caller, const std::function<void(uint64_t)>& filled) {
  const uint64_t page_bytes = kStampedPageBytes;
  Filling filling{
      caller, filled,
      BlockSource({.run_token = setup_.run_token, .host_index = setup_.host_index, .qm = side_ + 1}, {&page_bytes, 1}),
      PageBuffer(kPieceBytes)};
  for (RestartFile& file : log_) PLIMSOLL_RETURN_IF_ERROR(FillFile(file, O_RDWR, filling));
  for (RestartFile& file : queues_) PLIMSOLL_RETURN_IF_ERROR(FillFile(file, O_RDWR, filling));
  PLIMSOLL_RETURN_IF_ERROR(FillFile(rollback_, O_RDWR | O_DSYNC, filling));
  if (direct_ && setup_.work.queue_io() == v1::RESTART_QUEUE_IO_BUFFERED) {
    for (const RestartFile& file : queues_) PLIMSOLL_RETURN_IF_ERROR(ClearDirect(file));
  }
  const RestartFile& shown = log_.empty() ? queues_.front() : log_.front();
  const int flags = ops_->GetFlags(shown.fd.get());
  if (flags < 0) return PosixError("fcntl F_GETFL", shown.path, -flags);
  open_flags_ = FlagsInWords(flags);
  return absl::OkStatus();
}

absl::Status RestartFiles::FillFile(RestartFile& file, int flags, Filling& filling) {
  PLIMSOLL_RETURN_IF_ERROR(filling.caller.MayCall());
  PLIMSOLL_RETURN_IF_ERROR(Create(file, flags));
  // Each page is a block of its own, so that its number is its sequence number. Copying it costs some 0.1 us.
  filling.source.StartEpoch(file.stamp.epoch, kStampedPageBytes, file.size_bytes / kStampedPageBytes);
  uint64_t sequence = file.stamp.sequence;
  for (uint64_t offset = 0; offset < file.size_bytes;) {
    const std::span<std::byte> piece = filling.piece.First(std::min(kPieceBytes, file.size_bytes - offset));
    for (uint64_t at = 0; at < piece.size(); at += kStampedPageBytes) {
      std::memcpy(piece.data() + at, filling.source.Next(sequence++), kStampedPageBytes);
    }
    PLIMSOLL_RETURN_IF_ERROR(CheckSpaceFor(file, piece.size()));
    PLIMSOLL_RETURN_IF_ERROR(WritePiece(file, offset, piece, filling.caller));
    offset += piece.size();
    filling.filled(piece.size());
  }
  CallTally uncounted;
  return filling.caller.Flush(file, uncounted);
}

absl::Status RestartFiles::Create(RestartFile& file, int flags) {
  absl::StatusOr<UniqueFd> fd = ops_->Create(file.relative, flags | (direct_ ? O_DIRECT : 0));
  // Before anything was written a refusal of O_DIRECT decides for all files of the directory.
  if (direct_ && !wrote_direct_ && absl::IsInvalidArgument(fd.status())) {
    direct_ = false;
    direct_refused_ = std::string(fd.status().message());
    fd = ops_->Create(file.relative, flags);
  }
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  file.fd = *std::move(fd);
  if (!direct_ || wrote_direct_) return absl::OkStatus();
  const uint32_t align_bytes = ops_->DirectAlignBytes(file.fd.get());
  if (align_bytes <= kStampedPageBytes) return absl::OkStatus();
  return DropDirect(file, absl::StrCat("O_DIRECT requires offsets that are multiples of ", align_bytes, " bytes"));
}

absl::Status RestartFiles::CheckSpaceFor(const RestartFile& file, uint64_t size_bytes) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Space space, ops_->MeasureSpace());
  const uint64_t stays = setup_.MinFree(space.total_bytes);
  if (space.total_bytes == 0 || LeavesFree(space.free_bytes, size_bytes, stays)) return absl::OkStatus();
  return TooLittleSpace(absl::StrCat("filling ", file.path, " stopped"), space.free_bytes, stays, kRestartLessBytes);
}

absl::Status RestartFiles::WritePiece(const RestartFile& file, uint64_t offset_bytes, std::span<const std::byte> piece,
                                      RestartCaller& caller) {
  CallTally uncounted;
  absl::Status status = caller.Write(file, offset_bytes, piece, uncounted);
  if (direct_ && !wrote_direct_ && absl::IsInvalidArgument(status)) {
    // Some file systems accept the flag and refuse the write.
    PLIMSOLL_RETURN_IF_ERROR(DropDirect(file, std::string(status.message())));
    status = caller.Write(file, offset_bytes, piece, uncounted);
  }
  wrote_direct_ = wrote_direct_ || (direct_ && status.ok());
  return status;
}

absl::Status RestartFiles::DropDirect(const RestartFile& file, const std::string& reason) {
  direct_ = false;
  direct_refused_ = reason;
  return ClearDirect(file);
}

absl::Status RestartFiles::ClearDirect(const RestartFile& file) {
  const int flags = ops_->GetFlags(file.fd.get());
  if (flags < 0) return PosixError("fcntl F_GETFL", file.path, -flags);
  const int result = ops_->SetFlags(file.fd.get(), flags & ~O_DIRECT);
  return result == 0 ? absl::OkStatus() : PosixError("fcntl F_SETFL", file.path, -result);
}

absl::Status RestartFiles::EmptyCaches(RestartCaller& caller, const std::string& drop_caches_path) const {
  CallTally uncounted;
  for (const std::vector<RestartFile>* const files : {&log_, &queues_}) {
    for (const RestartFile& file : *files) {
      // A page that is not yet written back would stay.
      PLIMSOLL_RETURN_IF_ERROR(caller.Flush(file, uncounted));
      const int error = posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_DONTNEED);
      if (error != 0) return PosixError("posix_fadvise", file.path, error);
    }
  }
  if (!setup_.work.drop_caches()) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(caller.SyncFileSystem(rollback_));
  // That may have taken minutes.
  PLIMSOLL_RETURN_IF_ERROR(caller.MayCall());
  return WriteTo(drop_caches_path, "1");
}

void RestartFiles::Close() {
  for (std::vector<RestartFile>* const files : {&log_, &queues_}) {
    for (RestartFile& file : *files) file.fd.Reset();
  }
  rollback_.fd.Reset();
}

}  // namespace plimsoll
