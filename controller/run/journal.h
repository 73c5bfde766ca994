// The append-only file of everything that the controller received. Its format is described in
// proto/plimsoll/v1/journal.proto.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/posix.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Format version of a record. Readers know this one and all before it.
inline constexpr uint16_t kJournalFormat = 2;

// Writes records. What Flush has written survives the process (not the machine: there is no fsync). Not thread-safe.
class JournalWriter {
 public:
  // write(2), or what a test puts in its place.
  using WriteCall = std::function<ssize_t(int fd, const void* data, size_t size)>;

  // Makes the file; ALREADY_EXISTS where it is there. With `directory`, a descriptor, it is made in that directory
  // under the last component of `path`.
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Create(const std::string& path, int directory = -1,
                                                               WriteCall write_call = write);

  // Appends to the buffer, which flushes itself from 256 KiB on. After a failed write nothing more is written, so that
  // the file stays a prefix of what was given, and every later call returns the first error.
  absl::Status Append(const v1::JournalRecord& record);
  absl::Status Flush();

 private:
  JournalWriter(std::string path, UniqueFd fd, WriteCall write_call)
      : path_(std::move(path)), fd_(std::move(fd)), write_(std::move(write_call)) {}

  std::string path_;
  UniqueFd fd_;
  WriteCall write_;
  std::string buffer_;
  absl::Status failed_;
};

// What a journal ended with.
struct JournalEnd {
  uint64_t records = 0;
  uint64_t bytes = 0;
  // Bytes behind the last whole record: the journal was cut off. 0: it ends with a record.
  uint64_t trailing_bytes = 0;
};

// Calls `visit` with every whole record, in order. A cut-off end is not an error (see JournalEnd). DATA_LOSS where a
// checksum is wrong in the middle, INVALID_ARGUMENT where the file is no journal, FAILED_PRECONDITION where a newer
// version wrote it. Memory: one record at a time, at most 64 MiB.
absl::StatusOr<JournalEnd> ReadJournal(const std::string& path,
                                       const std::function<void(const v1::JournalRecord&)>& visit);

// A whole record as it lies in its file.
struct RawRecord {
  // First byte of the payload, counted from the file's beginning.
  uint64_t offset = 0;
  // Valid during the visit.
  const std::string& payload;
};

// Like ReadJournal; `visit` also learns where the record lies, for who wants to read parts of it again later.
absl::StatusOr<JournalEnd> ReadRawJournal(const std::string& path,
                                          const std::function<void(const v1::JournalRecord&, const RawRecord&)>& visit);

// The journal that a user means by `path`: the file itself, or the one in a directory of results. NOT_FOUND where there
// is none.
absl::StatusOr<std::string> FindJournal(const std::string& path);

// Like ReadRawJournal, for callers that continue with what comes before the damage: returns what is wrong with the
// journal, as a sentence without its full stop, where it is damaged or cut off; empty: it is whole. INVALID_ARGUMENT
// also where it holds no record.
absl::StatusOr<std::string> ReadWholeRecords(
    const std::string& path, const std::function<void(const v1::JournalRecord&, const RawRecord&)>& visit);

// Parts of a journal again, by their places. Not thread-safe.
class JournalParts {
 public:
  static absl::StatusOr<JournalParts> Open(const std::string& path);

  // Replaces what `part` holds with `size` bytes from `offset` on. DATA_LOSS where the file has become shorter.
  absl::Status Read(uint64_t offset, size_t size, std::string& part) const;

 private:
  JournalParts(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace plimsoll
