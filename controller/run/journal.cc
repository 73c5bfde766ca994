#include "controller/run/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
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

// A pipe would block, and a device may have no end.
absl::StatusOr<UniqueFd> OpenToRead(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return PosixError("open", path, errno);
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", path, errno);
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  return fd;
}

// Reads up to `size` bytes; fewer at the file's end.
absl::StatusOr<size_t> ReadFully(int fd, const std::string& path, void* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(fd, static_cast<char*>(data) + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return PosixError("read", path, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
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
  // A file without a name takes what is written and keeps it for nobody.
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

absl::StatusOr<JournalEnd> ReadRawJournal(
    const std::string& path, const std::function<void(const v1::JournalRecord&, const RawRecord&)>& visit) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenToRead(path));
  std::array<char, kMagic.size()> magic{};
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t magic_bytes, ReadFully(fd.get(), path, magic.data(), magic.size()));
  if (magic_bytes != magic.size() || magic != kMagic) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a journal of plimsoll (or holds nothing yet)"));
  }
  JournalEnd end;
  end.bytes = magic.size();
  std::string payload;
  while (true) {
    std::array<unsigned char, kHeaderBytes> raw{};
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t header_bytes, ReadFully(fd.get(), path, raw.data(), raw.size()));
    if (header_bytes == 0) return end;
    end.trailing_bytes = header_bytes;
    if (header_bytes < raw.size()) return end;
    const RecordHeader header = ParseHeader(raw.data());
    if (header.format > kJournalFormat) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": record ", end.records + 1, " has format ",
                                                        header.format, ", this plimsoll knows up to ", kJournalFormat,
                                                        ": use the version that wrote it, or a newer one"));
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
}

absl::StatusOr<JournalParts> JournalParts::Open(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenToRead(path));
  return JournalParts(path, std::move(fd));
}

absl::Status JournalParts::Read(uint64_t offset, size_t size, std::string& part) const {
  part.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd_.get(), part.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return PosixError("read", path_, errno);
    if (n == 0) return absl::DataLossError(absl::StrCat(path_, " has become shorter while it was read"));
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
