#include "controller/journal/record_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "controller/journal/record_layout.h"

namespace plimsoll {
namespace {

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

absl::StatusOr<RecordReader> RecordReader::Open(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenRegularFile(path));
  std::array<char, kJournalMagic.size()> magic{};
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t magic_bytes, ReadFully(fd.get(), path, magic.data(), magic.size()));
  if (magic_bytes != magic.size() || magic != kJournalMagic) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a journal of plimsoll (or holds nothing yet)"));
  }
  RecordReader reader(path, std::move(fd));
  reader.end_.bytes = magic.size();
  return reader;
}

absl::StatusOr<bool> RecordReader::Next(v1::JournalRecord& record) {
  if (over_) return false;
  std::array<unsigned char, kRecordHeaderBytes> raw{};
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t header_bytes, ReadFully(fd_.get(), path_, raw.data(), raw.size()));
  end_.trailing_bytes = header_bytes;
  over_ = header_bytes < raw.size();
  if (over_) return false;
  const RecordHeader header = ParseHeader(raw.data());
  if (header.format > kJournalFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        path_, ": record ", end_.records + 1, " has format ", header.format, "; this version reads formats up to ",
        kJournalFormat, "; use the version that wrote it, or a newer one"));
  }
  if (header.length > kMaxRecordBytes || header.format == 0 || header.reserved != 0) {
    return absl::DataLossError(
        absl::StrCat(path_, ": record ", end_.records + 1, " at byte ", end_.bytes, " is damaged"));
  }
  payload_.resize(header.length);
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t payload_bytes, ReadFully(fd_.get(), path_, payload_.data(), payload_.size()));
  end_.trailing_bytes += payload_bytes;
  over_ = payload_bytes < payload_.size();
  if (over_) return false;
  if (const absl::Status cost = CheckParseBudget(*record.descriptor(), payload_); !cost.ok()) {
    return absl::DataLossError(absl::StrCat(path_, ": record ", end_.records + 1, " at byte ", end_.bytes,
                                            " is damaged: ", std::string(cost.message())));
  }
  if (RecordCrc(payload_) != header.crc || !record.ParseFromArray(payload_.data(), static_cast<int>(payload_.size()))) {
    return absl::DataLossError(
        absl::StrCat(path_, ": record ", end_.records + 1, " at byte ", end_.bytes, " is damaged (checksum)"));
  }
  offset_ = end_.bytes + kRecordHeaderBytes;
  ++end_.records;
  end_.bytes += end_.trailing_bytes;
  end_.trailing_bytes = 0;
  return true;
}

absl::StatusOr<uint64_t> RecordReader::UnreadBytes() const {
  struct stat info{};
  if (fstat(fd_.get(), &info) != 0) return PosixError("stat", path_, errno);
  const auto size = static_cast<uint64_t>(info.st_size);
  return size > end_.bytes ? size - end_.bytes : 0;
}

}  // namespace plimsoll
