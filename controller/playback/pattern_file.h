// A pattern file: the log writes of watched queue managers, which `plimsoll plan from-watch` writes and a run plays.
//
// It holds "PLIMPTRN", then a PatternHeader and PatternChunks, each behind its length as a varint. The chunks of a
// stream follow each other, the streams in the header's order.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/load_pattern.h"
#include "common/posix.h"
#include "common/sha256.h"
#include "controller/journal/results.h"
#include "plimsoll/v1/group_commit.pb.h"

namespace plimsoll {

// Format of the files that this version writes, and the only one that it reads.
inline constexpr uint32_t kPatternFormat = 1;
// Streams of a file, at most.
inline constexpr int kMostPatternStreams = 1024;
// Name of the file beside the journal of its watch.
inline constexpr char kPatternFileName[] = "pattern.plimsoll";

// Compares the entries of a pattern with what its header states of each stream. Not thread-safe.
class PatternSums {
 public:
  // INVALID_ARGUMENT if no pattern can have the header: no stream or too many, too many entries, lengths that differ or
  // that no recording has, a name with control characters. FAILED_PRECONDITION for another format.
  static absl::Status CheckHeader(const v1::PatternHeader& header);

  // `header` passed CheckHeader.
  explicit PatternSums(const v1::PatternHeader& header) : header_(header) {}

  // The next entry; streams come in order. INVALID_ARGUMENT if the header has no place for it.
  absl::Status Add(uint32_t stream, const PatternEntry& entry);
  // INVALID_ARGUMENT if the header states more than was added.
  absl::Status Finish() const;

 private:
  // Whether the entries of the stream so far are those that the header states.
  absl::Status CheckStream() const;

  v1::PatternHeader header_;
  // Of the stream that is under way.
  int stream_ = 0;
  uint64_t entries_ = 0;
  uint64_t writes_ = 0;
  uint64_t pages_ = 0;
  uint64_t gaps_ns_ = 0;
};

// A pattern file that was checked as a whole: every chunk is well made, and each stream has the entries, writes and
// bytes that the header states. The file stays open, so that Read gets the file that was checked even if the path leads
// elsewhere meanwhile. Memory: one chunk. Read may be called on several threads at once.
class PatternFile {
 public:
  // `sha256`: the digest that the file must have, in hexadecimal digits; empty: any. INVALID_ARGUMENT if it has another
  // one, or is damaged, cut off, too large or no pattern file; FAILED_PRECONDITION for another format. Errors name the
  // file and the way out.
  static absl::StatusOr<PatternFile> Open(const std::string& path, const std::string& sha256 = "");

  const v1::PatternHeader& header() const { return header_; }
  // Digest of the whole file, 64 hexadecimal digits in lower case.
  const std::string& sha256() const { return sha256_; }
  const std::string& path() const { return path_; }

  // Calls `take` with each chunk of these streams, in the order of the file. Returns the first error of `take`, or
  // DATA_LOSS if the file has changed since it was opened; what `take` was given must not be used then.
  absl::Status Read(const std::set<uint32_t>& streams, const std::function<absl::Status(v1::PatternChunk)>& take) const;

 private:
  PatternFile(std::string path, UniqueFd fd, uint64_t bytes)
      : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes) {}

  // Reads the whole file, gives each message to one of the functions, and returns the digest of what was read.
  absl::StatusOr<std::string> Walk(const std::function<absl::Status(v1::PatternHeader)>& take_header,
                                   const std::function<absl::Status(v1::PatternChunk)>& take_chunk) const;
  absl::Status Damaged(uint64_t byte, const std::string& what) const;

  std::string path_;
  UniqueFd fd_;
  // Its size when it was opened; what is added later is not read.
  uint64_t bytes_ = 0;
  v1::PatternHeader header_;
  std::string sha256_;
};

// Writes a pattern file chunk by chunk. Not thread-safe.
class PatternFileWriter {
 public:
  // `header` states all that Add will be given. The error of PatternSums::CheckHeader, or of the file.
  static absl::StatusOr<PatternFileWriter> Create(FileWriter file, const v1::PatternHeader& header);

  // The next entry of a stream; streams come in order.
  absl::Status Add(uint32_t stream, const PatternEntry& entry);
  // Makes the file appear, and returns its digest. INVALID_ARGUMENT, and there is no file, if something else was added
  // than the header states.
  absl::StatusOr<std::string> Finish();

 private:
  PatternFileWriter(FileWriter file, const v1::PatternHeader& header) : file_(std::move(file)), sums_(header) {}
  absl::Status Write(const std::string& bytes);
  absl::Status WriteMessage(const google::protobuf::MessageLite& message);
  absl::Status WriteChunk();

  FileWriter file_;
  PatternSums sums_;
  Sha256Sum sum_;
  v1::PatternChunk chunk_;
};

}  // namespace plimsoll
