#include "agent/writer/named_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "absl/strings/str_cat.h"
#include "agent/writer/file_env.h"
#include "common/page_stamp.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// Opens the file of an open descriptor once more.
absl::StatusOr<UniqueFd> OpenAgain(int fd, const std::string& path, int flags) {
  UniqueFd again(open(absl::StrCat("/proc/self/fd/", fd).c_str(), flags | O_CLOEXEC));
  if (!again.valid()) return PosixError("open", path, errno);
  return again;
}

absl::Status WriteFirstPage(int fd, const std::string& path, const PageStamp& stamp) {
  std::array<std::byte, kStampedPageBytes> page{};
  WriteStamp(stamp, PayloadChecksum(std::span(page).subspan(kStampBytes)), page.data());
  const int64_t written = WriteAt(fd, 0, page.data(), page.size());
  if (written < 0) return PosixError("pwritev2", path, static_cast<int>(-written));
  if (written == static_cast<int64_t>(page.size())) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("pwritev2 ", path, ": short write at offset 0: ", written, " of ", page.size(), " bytes"));
}

NamedFiles::Held HoldTarget(TargetFile file) {
  const auto shared = std::make_shared<TargetFile>(std::move(file));
  NamedFiles::Held held{.size_bytes = shared->size_bytes(),
                        .block_device = shared->block_device(),
                        .open = [shared](int flags) { return shared->Open(flags); }};
  if (shared->is_new()) held.remove_new = [shared] { return shared->RemoveNew(); };
  return held;
}

}  // namespace

absl::StatusOr<const NamedFiles::Held*> NamedFiles::Hold(const std::string& name) {
  const MutexLock lock(mutex_);
  if (closed_) return absl::FailedPreconditionError(absl::StrCat(PathOf(name), " was closed"));
  if (const auto known = held_.find(name); known != held_.end()) return &known->second;
  PLIMSOLL_ASSIGN_OR_RETURN(Held held, find_(name));
  if (held.remove_new) removals_.push_back(held.remove_new);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, held.open(O_RDONLY));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", PathOf(name), errno);
  const auto id = S_ISBLK(info.st_mode) ? std::pair<dev_t, ino_t>(info.st_rdev, 0)
                                        : std::pair<dev_t, ino_t>(info.st_dev, info.st_ino);
  if (const auto [first, added] = names_.emplace(id, name); !added) {
    return absl::FailedPreconditionError(
        absl::StrCat(PathOf(name), " is the same file as ", PathOf(first->second), ": give it one name in the plan"));
  }
  return &held_.emplace(name, std::move(held)).first->second;
}

absl::StatusOr<UniqueFd> NamedFiles::Create(const std::string& relative, int flags) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Held* const held, Hold(relative));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, held->open(flags));
  // Writing a run's own files full shows it.
  if (directory_ == nullptr && (flags & O_DIRECT) != 0) {
    alignas(kStampedPageBytes) std::array<std::byte, kStampedPageBytes> page{};
    const int64_t read = ReadAt(fd.get(), 0, page.data(), page.size());
    if (read == -EINVAL) return PosixError("preadv2", PathOf(relative), EINVAL);
  }
  return fd;
}

std::string NamedFiles::PathOf(const std::string& relative) const {
  return directory_ == nullptr ? relative : absl::StrCat(directory_->path(), "/", relative);
}

absl::StatusOr<Space> NamedFiles::MeasureSpace() {
  if (directory_ == nullptr) return Space{};
  return directory_->MeasureSpace();
}

absl::StatusOr<uint64_t> NamedFiles::RemoveNew() {
  const MutexLock lock(mutex_);
  uint64_t removed = 0;
  absl::Status status;
  for (const auto& remove : std::exchange(removals_, {})) {
    const absl::StatusOr<bool> one = remove();
    if (one.ok() && *one) ++removed;
    status.Update(one.status());
  }
  PLIMSOLL_RETURN_IF_ERROR(status);
  return removed;
}

void NamedFiles::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  held_.clear();
  removals_.clear();
}

std::unique_ptr<NamedFiles> MakeRunFiles(RunDirectory& directory, uint64_t size_bytes, const PageStamp& stamp) {
  return std::make_unique<NamedFiles>(
      &directory, [&directory, size_bytes, stamp](const std::string& name) -> absl::StatusOr<NamedFiles::Held> {
        const std::string path = absl::StrCat(directory.path(), "/", name);
        PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, directory.CreateFile(name, O_RDWR));
        PLIMSOLL_RETURN_IF_ERROR(WriteFirstPage(fd.get(), path, stamp));
        // At once, so that the threads that fill their parts do not each extend the file.
        if (ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) {
          const absl::Status status = PosixError("ftruncate", path, errno);
          return absl::Status(status.code(), absl::StrCat(status.message(), "; use a smaller --file-size"));
        }
        const auto shared = std::make_shared<UniqueFd>(std::move(fd));
        return NamedFiles::Held{.size_bytes = size_bytes,
                                .open = [shared, path](int flags) { return OpenAgain(shared->get(), path, flags); }};
      });
}

std::unique_ptr<NamedFiles> MakeTargetFiles(const TargetFiles& targets, FileUse use, bool overwrite) {
  return std::make_unique<NamedFiles>(
      nullptr, [&targets, use, overwrite](const std::string& name) -> absl::StatusOr<NamedFiles::Held> {
        PLIMSOLL_ASSIGN_OR_RETURN(TargetFile file, targets.Open(name, use, overwrite));
        return HoldTarget(std::move(file));
      });
}

std::unique_ptr<NamedFiles> MakeKeptFiles(const TargetFiles& targets, uint64_t size_bytes,
                                          std::optional<uint64_t> min_free_asked) {
  return std::make_unique<NamedFiles>(
      nullptr, [&targets, size_bytes, min_free_asked](const std::string& name) -> absl::StatusOr<NamedFiles::Held> {
        PLIMSOLL_ASSIGN_OR_RETURN(TargetFile file, targets.Make(name, size_bytes, min_free_asked));
        return HoldTarget(std::move(file));
      });
}

}  // namespace plimsoll
