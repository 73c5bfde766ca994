#include "controller/journal/results.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

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
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr std::array<char, 8> kMagic = {'P', 'L', 'I', 'M', 'J', 'R', 'N', 'L'};
constexpr size_t kHeaderBytes = 12;
constexpr size_t kFlushBytes = size_t{256} << 10;
constexpr uint32_t kMaxRecordBytes = uint32_t{64} << 20;

struct RecordHeader {
  uint32_t length = 0;
  uint16_t format = 0;
  uint16_t reserved = 0;  // zero: anything else is damage
  uint32_t crc = 0;
};

uint32_t Crc(const void* data, size_t size) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const unsigned char*>(data), size));
}

void PutLittleEndian(uint64_t value, size_t bytes, std::string& out) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

uint64_t GetLittleEndian(const unsigned char* data, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{data[i]} << (8 * i);
  return value;
}

RecordHeader ParseHeader(const unsigned char* data) {
  RecordHeader header;
  header.length = static_cast<uint32_t>(GetLittleEndian(data, 4));
  header.format = static_cast<uint16_t>(GetLittleEndian(data + 4, 2));
  header.reserved = static_cast<uint16_t>(GetLittleEndian(data + 6, 2));
  header.crc = static_cast<uint32_t>(GetLittleEndian(data + 8, 4));
  return header;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Create(const std::string& path, int directory,
                                                                     WriteCall write_call) {
  const std::string name = directory < 0 ? path : path.substr(path.rfind('/') + 1);
  UniqueFd fd(openat(directory < 0 ? AT_FDCWD : directory, name.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd.valid()) return PosixError("open", path, errno);
  auto writer = std::unique_ptr<JournalWriter>(new JournalWriter(path, std::move(fd), std::move(write_call)));
  writer->buffer_.assign(kMagic.data(), kMagic.size());
  return writer;
}

absl::Status JournalWriter::Append(const v1::JournalRecord& record) {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  const std::string payload = record.SerializeAsString();
  PutLittleEndian(payload.size(), 4, buffer_);
  PutLittleEndian(kJournalFormat, 2, buffer_);
  PutLittleEndian(0, 2, buffer_);
  PutLittleEndian(Crc(payload.data(), payload.size()), 4, buffer_);
  buffer_ += payload;
  return buffer_.size() >= kFlushBytes ? Flush() : absl::OkStatus();
}

absl::Status JournalWriter::Flush() {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t n = write_(fd_.get(), buffer_.data() + done, buffer_.size() - done);
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

absl::StatusOr<JournalEnd> ReadJournal(const std::string& path,
                                       const std::function<void(const v1::JournalRecord&)>& visit) {
  return ReadRawJournal(path, [&visit](const v1::JournalRecord& record, const RawRecord& /*raw*/) { visit(record); });
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

absl::StatusOr<std::string> ReadWholeRecords(
    const std::string& path, const std::function<void(const v1::JournalRecord&, const RawRecord&)>& visit) {
  uint64_t records = 0;
  const absl::StatusOr<JournalEnd> end =
      ReadRawJournal(path, [&](const v1::JournalRecord& record, const RawRecord& raw) {
        ++records;
        visit(record, raw);
      });
  if (!end.ok() && end.status().code() != absl::StatusCode::kDataLoss) return end.status();
  if (records == 0) return absl::InvalidArgumentError(path + ": holds no record of a run yet");
  if (!end.ok()) return std::string(end.status().message());
  if (end->trailing_bytes == 0) return std::string();
  return absl::StrCat("The journal is cut off at byte ", FormatCount(end->bytes));
}

namespace {

// As ReadRawJournal; stops behind `most_records`.
absl::StatusOr<JournalEnd> ReadRecords(const std::string& path, uint64_t most_records,
                                       const std::function<void(const v1::JournalRecord&, const RawRecord&)>& visit) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenRegularFile(path));
  std::array<char, kMagic.size()> magic{};
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t magic_bytes, ReadFully(fd.get(), path, magic.data(), magic.size()));
  if (magic_bytes != magic.size() || magic != kMagic) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a journal of plimsoll (or holds nothing yet)"));
  }
  JournalEnd end;
  end.bytes = magic.size();
  std::string payload;
  while (end.records < most_records) {
    std::array<unsigned char, kHeaderBytes> raw{};
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t header_bytes, ReadFully(fd.get(), path, raw.data(), raw.size()));
    if (header_bytes == 0) return end;
    end.trailing_bytes = header_bytes;
    if (header_bytes < raw.size()) return end;
    const RecordHeader header = ParseHeader(raw.data());
    if (header.format > kJournalFormat) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": record ", end.records + 1, " has format ", header.format, "; this version reads formats up to ",
          kJournalFormat, "; use the version that wrote it, or a newer one"));
    }
    if (header.length > kMaxRecordBytes || header.format == 0 || header.reserved != 0) {
      return absl::DataLossError(
          absl::StrCat(path, ": record ", end.records + 1, " at byte ", end.bytes, " is damaged"));
    }
    payload.resize(header.length);
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t payload_bytes, ReadFully(fd.get(), path, payload.data(), payload.size()));
    end.trailing_bytes += payload_bytes;
    if (payload_bytes < payload.size()) return end;
    v1::JournalRecord record;
    if (const absl::Status cost = CheckParseBudget(*record.descriptor(), payload); !cost.ok()) {
      return absl::DataLossError(absl::StrCat(path, ": record ", end.records + 1, " at byte ", end.bytes,
                                              " is damaged: ", std::string(cost.message())));
    }
    if (Crc(payload.data(), payload.size()) != header.crc ||
        !record.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
      return absl::DataLossError(
          absl::StrCat(path, ": record ", end.records + 1, " at byte ", end.bytes, " is damaged (checksum)"));
    }
    visit(record, {end.bytes + kHeaderBytes, payload});
    ++end.records;
    end.bytes += end.trailing_bytes;
    end.trailing_bytes = 0;
  }
  return end;
}

}  // namespace

absl::StatusOr<JournalEnd> ReadRawJournal(
    const std::string& path, const std::function<void(const v1::JournalRecord&, const RawRecord&)>& visit) {
  return ReadRecords(path, UINT64_MAX, visit);
}

absl::StatusOr<v1::JournalRecord> ReadFirstRecord(const std::string& path) {
  v1::JournalRecord first;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const JournalEnd end,
      ReadRecords(path, 1, [&first](const v1::JournalRecord& record, const RawRecord& /*raw*/) { first = record; }));
  if (end.records == 0) return absl::NotFoundError(path + ": holds no record of a run yet");
  return first;
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
  unlinkat(directory_.fd.get(), kJournalName, 0);
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
