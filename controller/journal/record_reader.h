// Reads one file of a journal, record by record.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/posix.h"
#include "controller/journal/results.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Memory: one record at a time, at most 64 MiB. Not thread-safe.
class RecordReader {
 public:
  // INVALID_ARGUMENT where the file is not a journal.
  static absl::StatusOr<RecordReader> Open(const std::string& path);

  // Replaces `record` with the next one. False where no further record is whole, also when called again. DATA_LOSS
  // where a checksum is wrong in the middle, FAILED_PRECONDITION where a newer version wrote the record; after an error
  // it is not called again.
  absl::StatusOr<bool> Next(v1::JournalRecord& record);

  const std::string& path() const { return path_; }
  // Where the last record lies.
  RawRecord raw() const { return {offset_, payload_}; }
  // What was read so far; once Next has returned false, how the file ends.
  const JournalEnd& end() const { return end_; }
  // Bytes of the file, as it is now, behind the records that were read.
  absl::StatusOr<uint64_t> UnreadBytes() const;

 private:
  RecordReader(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
  JournalEnd end_;
  uint64_t offset_ = 0;
  std::string payload_;
  bool over_ = false;
};

}  // namespace plimsoll
