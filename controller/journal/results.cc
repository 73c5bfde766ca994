#include "controller/journal/results.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/journal/recent_frames.h"
#include "controller/journal/record_layout.h"

namespace plimsoll {
namespace {

constexpr size_t kFlushBytes = size_t{256} << 10;

void PutLittleEndian(uint64_t value, size_t bytes, std::string& out) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

// A record without a number has nothing that an older program would misread.
uint16_t FormatOf(const v1::JournalRecord& record) {
  return record.number() == 0 ? kUnnumberedFormat : kJournalFormat;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Create(const std::string& path, int directory,
                                                                     JournalCalls calls) {
  UniqueFd held;
  if (directory >= 0) {
    held = UniqueFd(fcntl(directory, F_DUPFD_CLOEXEC, 0));
    if (!held.valid()) return PosixError("open", path, errno);
  }
  return Make(path, std::move(held), std::move(calls));
}

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Make(const std::string& path, UniqueFd directory,
                                                                   JournalCalls calls) {
  auto writer = std::unique_ptr<JournalWriter>(new JournalWriter(path, std::move(directory), std::move(calls)));
  writer->fd_ = UniqueFd(
      openat(writer->Place(), writer->Name().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!writer->fd_.valid()) return PosixError("open", path, errno);
  writer->buffer_.assign(kJournalMagic.data(), kJournalMagic.size());
  writer->bytes_ = writer->buffer_.size();
  return writer;
}

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::CreateBeside(const std::string& suffix) const {
  UniqueFd held;
  if (directory_.valid()) {
    held = UniqueFd(fcntl(directory_.get(), F_DUPFD_CLOEXEC, 0));
    if (!held.valid()) return PosixError("open", path_, errno);
  }
  return Make(absl::StrCat(path_, suffix), std::move(held), calls_);
}

int JournalWriter::Place() const {
  return directory_.valid() ? directory_.get() : AT_FDCWD;
}

std::string JournalWriter::Name() const {
  return directory_.valid() ? path_.substr(path_.rfind('/') + 1) : path_;
}

absl::Status JournalWriter::Append(const v1::JournalRecord& record) {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  const std::string payload = record.SerializeAsString();
  PutLittleEndian(payload.size(), 4, buffer_);
  PutLittleEndian(FormatOf(record), 2, buffer_);
  PutLittleEndian(0, 2, buffer_);
  PutLittleEndian(RecordCrc(payload), 4, buffer_);
  buffer_ += payload;
  bytes_ += kRecordHeaderBytes + payload.size();
  return buffer_.size() >= kFlushBytes ? Flush() : absl::OkStatus();
}

absl::Status JournalWriter::Flush() {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t n = calls_.write(fd_.get(), buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      failed_ = PosixError("write", path_, errno);
      buffer_.clear();
      return failed_;  // a record that was cut short is what a reader expects of a cut-off journal
    }
    done += static_cast<size_t>(n);
  }
  buffer_.clear();
  // A file without a name takes what is written and does not keep it.
  struct stat info{};
  if (fstat(fd_.get(), &info) == 0 && info.st_nlink == 0) failed_ = PosixError("write", path_, ENOENT);
  return failed_;
}

absl::Status JournalWriter::Sync() {
  PLIMSOLL_RETURN_IF_ERROR(Flush());
  // A file system that has no fsync keeps things as it does.
  if (calls_.sync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS) failed_ = PosixError("fsync", path_, errno);
  return failed_;
}

absl::Status JournalWriter::Clear() {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  buffer_.clear();
  bytes_ = 0;
  if (calls_.truncate(fd_.get(), 0) != 0 || lseek(fd_.get(), 0, SEEK_SET) != 0) {
    failed_ = PosixError("truncate", path_, errno);
    return failed_;
  }
  buffer_.assign(kJournalMagic.data(), kJournalMagic.size());
  bytes_ = buffer_.size();
  return absl::OkStatus();
}

absl::Status JournalWriter::Remove() {
  buffer_.clear();
  bytes_ = 0;
  if (unlinkat(Place(), Name().c_str(), 0) != 0 && errno != ENOENT) return PosixError("remove", path_, errno);
  return absl::OkStatus();
}

absl::StatusOr<std::string> FindJournal(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::NotFoundError(absl::StrCat(path, " does not exist"))
                           : PosixError("stat", path, errno);
  }
  if (!S_ISDIR(info.st_mode)) return path;
  std::string journal = absl::StrCat(path, path.back() == '/' ? "" : "/", "journal");
  if (stat(journal.c_str(), &info) != 0 && errno == ENOENT) {
    return absl::NotFoundError(
        absl::StrCat(path,
                     " holds no results of a run: there is no file 'journal' in it; name the directory that "
                     "`plimsoll run` printed"));
  }
  return journal;
}

absl::StatusOr<JournalParts> JournalParts::Open(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenRegularFile(path));
  return JournalParts(path, std::move(fd));
}

absl::Status JournalParts::Read(uint64_t offset, size_t size, std::string& part) const {
  part.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd_.get(), part.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return PosixError("read", path_, errno);
    if (n == 0) return absl::DataLossError(absl::StrCat(path_, " shrank while it was being read"));
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

namespace {

namespace fs = std::filesystem;

constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kPermissions = 0777;

// What `path` leads to, through all symbolic links; the last of them may lead to what is not there yet.
absl::StatusOr<fs::path> BehindLinks(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  fs::path place = path;
  for (int i = 0; i < kMostLinks; ++i) {
    struct stat status{};
    if (lstat(place.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return place;
    std::string target(PATH_MAX, '\0');
    const ssize_t length = readlink(place.c_str(), target.data(), target.size());
    if (length < 0) return PosixError("readlink", path, errno);
    target.resize(static_cast<size_t>(length));
    // A relative one starts at the link's own directory; an absolute one replaces all of it.
    place = place.parent_path() / target;
  }
  return PosixError("open", path, ELOOP);
}

bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Opens an existing path that is written in place, such as a pipe or a device; invalid where the file is replaced.
absl::StatusOr<UniqueFd> OpenInPlace(const std::string& path, const struct stat& there) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open_already{};
    if (fstat(stream, &open_already) != 0 || !IsSame(there, open_already)) continue;
    UniqueFd fd(fcntl(stream, F_DUPFD_CLOEXEC, 0));
    if (!fd.valid()) return PosixError("open", path, errno);
    return fd;
  }
  if (S_ISREG(there.st_mode)) return UniqueFd();
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return PosixError("open", path, errno);
  return fd;
}

absl::StatusOr<std::string> RandomName() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) return PosixError("getrandom", "", errno);
  return absl::StrCat(".plimsoll-", absl::Hex(number, absl::kZeroPad16));
}

}  // namespace

absl::StatusOr<FileWriter> FileWriter::CreateTemporary(UniqueFd directory, const std::string& name,
                                                       const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string temporary, RandomName());
  UniqueFd fd(
      openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!fd.valid()) return PosixError("open", path, errno);
  FileWriter writer(path, std::move(fd));
  writer.directory_ = std::move(directory);
  writer.name_ = name;
  writer.temporary_ = temporary;
  return writer;
}

absl::StatusOr<FileWriter> FileWriter::ToPath(const std::string& path) {
  struct stat there{};
  const bool exists = stat(path.c_str(), &there) == 0;
  if (exists) {
    PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenInPlace(path, there));
    if (fd.valid()) return FileWriter(path, std::move(fd));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const fs::path place, BehindLinks(path));
  if (place.filename().empty()) return PosixError("open", path, EISDIR);
  const std::string parent = place.has_parent_path() ? place.parent_path().string() : ".";
  UniqueFd directory(open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return PosixError("open", path, errno);
  PLIMSOLL_ASSIGN_OR_RETURN(FileWriter writer, CreateTemporary(std::move(directory), place.filename().string(), path));
  // As readable as what it replaces.
  if (exists && fchmod(writer.fd_.get(), there.st_mode & kPermissions) != 0) return PosixError("chmod", path, errno);
  return writer;
}

absl::StatusOr<FileWriter> FileWriter::InDirectory(int directory, const std::string& name, const std::string& path) {
  UniqueFd held(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!held.valid()) return PosixError("open", path, errno);
  return CreateTemporary(std::move(held), name, path);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      directory_(std::move(other.directory_)),
      name_(std::move(other.name_)),
      temporary_(std::exchange(other.temporary_, "")) {}

FileWriter::~FileWriter() {
  if (!temporary_.empty()) unlinkat(directory_.get(), temporary_.c_str(), 0);
}

absl::Status FileWriter::Write(std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return PosixError("write", path_, errno);
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Finish() {
  // A quota or a network file system may report a failed write only now.
  if (close(fd_.Release()) != 0) return PosixError("close", path_, errno);
  if (temporary_.empty()) return absl::OkStatus();
  if (renameat(directory_.get(), temporary_.c_str(), directory_.get(), name_.c_str()) != 0) {
    return PosixError("rename to", path_, errno);
  }
  temporary_.clear();
  return absl::OkStatus();
}

absl::StatusOr<HeldDirectory> MakeDirectories(int where, const std::string& path, Links links) {
  const fs::path whole = path;
  const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  HeldDirectory held;
  held.fd = whole.is_absolute() ? UniqueFd(open("/", flags)) : UniqueFd(openat(where, ".", flags));
  if (!held.fd.valid()) return PosixError("open", path, errno);
  for (const fs::path& component : whole.relative_path()) {
    if (component.empty()) continue;  // behind a slash at the end
    const char* name = component.c_str();
    const int no_links = links == Links::kRefuse ? O_NOFOLLOW : 0;
    UniqueFd next(openat(held.fd.get(), name, flags | no_links));
    int why = errno;
    held.parent.Reset();
    if (!next.valid() && why == ENOENT) {
      const bool made = mkdirat(held.fd.get(), name, kDirectoryMode) == 0;
      if (!made && errno != EEXIST) return PosixError("mkdir", path, errno);
      // It has just been made, here or by another run: a link that has its name now was put there by somebody else.
      next = UniqueFd(openat(held.fd.get(), name, flags | O_NOFOLLOW));
      why = errno;
      if (made && next.valid()) held.parent = std::move(held.fd);
      held.name = component.string();
    }
    if (!next.valid()) {
      struct stat facts{};
      if (why == ENOTDIR && fstatat(held.fd.get(), name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode)) {
        return absl::FailedPreconditionError(
            absl::StrCat(path, ": ", component.string(),
                         " is a symbolic link, and a path that plimsoll chose follows none; name another place"));
      }
      return PosixError("open", path, why);
    }
    held.fd = std::move(next);
  }
  return held;
}

absl::StatusOr<bool> IsEmptyDirectory(const UniqueFd& directory, const std::string& path) {
  UniqueFd readable(openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.valid()) return PosixError("open", path, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(readable.get()), closedir);
  if (entries == nullptr) return PosixError("opendir", path, errno);
  readable.Release();  // closedir closes it
  while (const dirent* entry = readdir(entries.get())) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) return false;
  }
  return true;
}

namespace {

constexpr char kJournalName[] = "journal";

std::string DefaultResultsPath(WallNs now, const std::string& run_id) {
  const time_t seconds = now.value / kNsPerSecond;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return absl::StrFormat("plimsoll-results/%04d%02d%02dT%02d%02d%02dZ-%s", utc.tm_year + 1900, utc.tm_mon + 1,
                         utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, run_id);
}

}  // namespace

absl::StatusOr<ResultsDirectory> ResultsDirectory::Make(const std::string& path, Links links) {
  absl::StatusOr<HeldDirectory> directory = MakeDirectories(AT_FDCWD, path, links);
  if (!directory.ok() && directory.status().code() == absl::StatusCode::kFailedPrecondition) return directory.status();
  if (!directory.ok()) return WithContext("--out", directory.status());
  if (!directory->made()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool empty, IsEmptyDirectory(directory->fd, path));
    if (!empty) {
      return absl::InvalidArgumentError(
          absl::StrCat("--out ", path, " is not empty: results are never overwritten; name another directory"));
    }
  }
  if (faccessat(directory->fd.get(), ".", W_OK | X_OK, 0) != 0) return PosixError("--out: write to", path, errno);
  return ResultsDirectory(path, *std::move(directory));
}

absl::StatusOr<ResultsDirectory> ResultsDirectory::Create(const std::string& path) {
  struct stat facts{};
  if (stat(path.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("--out ", path, " exists and is not a directory"));
  }
  return Make(path, Links::kFollow);
}

absl::StatusOr<ResultsDirectory> ResultsDirectory::CreateDefault(WallNs now, const std::string& run_id) {
  return Make(DefaultResultsPath(now, run_id), Links::kRefuse);
}

absl::StatusOr<ResultsDirectory> ResultsDirectory::Open(const std::string& path) {
  HeldDirectory directory;
  directory.fd = UniqueFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.fd.valid()) return PosixError("open", path, errno);
  return ResultsDirectory(path, std::move(directory));
}

absl::StatusOr<std::unique_ptr<JournalWriter>> ResultsDirectory::CreateJournal() const {
  return JournalWriter::Create(absl::StrCat(path_, "/", kJournalName), directory_.fd.get());
}

std::vector<std::string> ResultsDirectory::JournalNames() const {
  std::vector<std::string> names = JournalFileNames(kJournalName);
  // The journal itself has to be there.
  std::erase_if(names, [this](const std::string& name) {
    struct stat facts{};
    return name != kJournalName && fstatat(directory_.fd.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0;
  });
  return names;
}

absl::Status ResultsDirectory::Write(const std::string& name, const std::string& content) const {
  PLIMSOLL_ASSIGN_OR_RETURN(FileWriter file,
                            FileWriter::InDirectory(directory_.fd.get(), name, absl::StrCat(path_, "/", name)));
  PLIMSOLL_RETURN_IF_ERROR(file.Write(content));
  return file.Finish();
}

absl::Status ResultsDirectory::Restore() {
  struct stat facts{};
  if (lstat(path_.c_str(), &facts) == 0 || errno != ENOENT) return absl::OkStatus();
  absl::StatusOr<HeldDirectory> again = MakeDirectories(AT_FDCWD, path_, Links::kFollow);
  if (!again.ok()) return again.status();
  if (again->made()) directory_ = *std::move(again);
  return absl::OkStatus();
}

void ResultsDirectory::Discard() const {
  for (const std::string& name : JournalFileNames(kJournalName)) unlinkat(directory_.fd.get(), name.c_str(), 0);
  unlinkat(directory_.fd.get(), "plan.yaml", 0);
  // Only where it is empty.
  if (directory_.made()) unlinkat(directory_.parent.get(), directory_.name.c_str(), AT_REMOVEDIR);
}

absl::Status WriteFile(const std::string& path, const std::string& content) {
  PLIMSOLL_ASSIGN_OR_RETURN(FileWriter file, FileWriter::ToPath(path));
  PLIMSOLL_RETURN_IF_ERROR(file.Write(content));
  return file.Finish();
}

}  // namespace plimsoll
