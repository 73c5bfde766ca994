// The directory of a run's results: files that appear whole or not at all, written through a descriptor of their
// directory; and the journal in it, the append-only file of everything that the controller received. Its format is
// described in proto/plimsoll/v1/journal.proto.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/posix.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Format version of a record. Readers know this one and all before it.
inline constexpr uint16_t kJournalFormat = 5;
// That of records without a number (JournalRecord.number), which are as those of the version before.
inline constexpr uint16_t kUnnumberedFormat = 4;

// The system's calls, or what a test puts in their place.
struct JournalCalls {
  std::function<ssize_t(int fd, const void* data, size_t size)> write = ::write;
  std::function<int(int fd)> sync = ::fdatasync;
  std::function<int(int fd, off_t size)> truncate = ::ftruncate;
};

// Writes records. What Flush has written survives the process, and what Sync has written the machine. Not thread-safe.
class JournalWriter {
 public:
  // Makes the file; ALREADY_EXISTS where it is there. With `directory`, a descriptor, it is made in that directory
  // under the last component of `path`.
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Create(const std::string& path, int directory = -1,
                                                               JournalCalls calls = {});
  // Makes another such file in the directory, whose name is this one's with the suffix.
  absl::StatusOr<std::unique_ptr<JournalWriter>> CreateBeside(const std::string& suffix) const;

  // Appends to the buffer, which flushes itself from 256 KiB on. After a failed write nothing more is written, so that
  // the file stays a prefix of what was given, and every later call returns the first error.
  absl::Status Append(const v1::JournalRecord& record);
  absl::Status Flush();
  // Waits until everything is on the disk.
  absl::Status Sync();
  // Begins again: the file holds no record.
  absl::Status Clear();
  // Removes the file. Called last.
  absl::Status Remove();
  // Size of the file once it is flushed.
  uint64_t bytes() const { return bytes_; }

 private:
  JournalWriter(std::string path, UniqueFd directory, JournalCalls calls)
      : path_(std::move(path)), directory_(std::move(directory)), calls_(std::move(calls)) {}
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Make(const std::string& path, UniqueFd directory,
                                                             JournalCalls calls);
  // For openat and its like: where the file is, and its name there.
  int Place() const;
  std::string Name() const;

  std::string path_;
  // The directory that the file was made in; no descriptor: `path_` alone is its place.
  UniqueFd directory_;
  JournalCalls calls_;
  UniqueFd fd_;
  std::string buffer_;
  uint64_t bytes_ = 0;
  absl::Status failed_;
};

// What a journal ended with.
struct JournalEnd {
  uint64_t records = 0;
  // Size of the file `journal` up to the last record that was read of it.
  uint64_t bytes = 0;
  // Bytes of all its files behind the last whole record, or behind one that is missing: the journal was cut off. 0: it
  // ends with a record.
  uint64_t trailing_bytes = 0;
};

// Calls `visit` with every whole record, in order, those of frames that are not settled yet (recent_frames.h) among the
// others. A record of such frames may lack those that are settled. A cut-off end is not an error (see JournalEnd);
// everything behind a record that none of the files holds counts as cut off, too. DATA_LOSS where a
// checksum is wrong in the middle, INVALID_ARGUMENT where the file is not a journal, FAILED_PRECONDITION where a newer
// version wrote it. Memory: one record at a time, at most 64 MiB.
absl::StatusOr<JournalEnd> ReadJournal(const std::string& path,
                                       const std::function<void(const v1::JournalRecord&)>& visit);

// The first record of a journal, RunBegin in one of plimsoll, without reading the others. NOT_FOUND where no record is
// whole yet; else as ReadJournal.
absl::StatusOr<v1::JournalRecord> ReadFirstRecord(const std::string& path);

// A whole record as it lies in the file `journal`.
struct RawRecord {
  // First byte of the payload, counted from the file's beginning.
  uint64_t offset = 0;
  // Valid during the visit. Empty for records of frames that are not settled yet, which lie in another file and have no
  // traces.
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

// Writes one file. A regular file is written under a random name of its own in the same directory and takes its place
// in Finish; until then, and without Finish, whatever has its name stays as it is. The directory is held open, so that
// the file stays in it even when the directory's path leads elsewhere meanwhile. Not thread-safe.
class FileWriter {
 public:
  // A path that the user spelled out: symbolic links are followed and stay. What is not a regular file (a pipe, a
  // device), and a file that is the program's standard output or error, is written to at once. A file keeps its mode.
  static absl::StatusOr<FileWriter> ToPath(const std::string& path);
  // A name that the program chose, in a directory that outlives this call: a symbolic link of that name is replaced,
  // never followed. `path` is for error messages.
  static absl::StatusOr<FileWriter> InDirectory(int directory, const std::string& name, const std::string& path);

  // Removes what was not finished.
  ~FileWriter();
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Errors name the file.
  absl::Status Write(std::string_view bytes);
  // Makes the file appear. Called once, last.
  absl::Status Finish();

 private:
  FileWriter(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  static absl::StatusOr<FileWriter> CreateTemporary(UniqueFd directory, const std::string& name,
                                                    const std::string& path);

  std::string path_;
  UniqueFd fd_;
  // Where the file appears; empty names where it is written in place.
  UniqueFd directory_;
  std::string name_;
  std::string temporary_;
};

// A directory held open. Its descriptor serves openat and its like alone (O_PATH).
struct HeldDirectory {
  UniqueFd fd;
  // The directory that it lies in, and its name there; no descriptor where it was not made here.
  UniqueFd parent;
  std::string name;

  bool made() const { return parent.valid(); }
};

enum class Links { kFollow, kRefuse };

// Opens the directory, and makes it and those above it where they are missing: readable by everybody at most, writable
// by their owner alone, whatever the umask. With Links::kRefuse no component may be a symbolic link. `where` (no
// descriptor: AT_FDCWD) is where a relative path starts.
absl::StatusOr<HeldDirectory> MakeDirectories(int where, const std::string& path, Links links);

// Whether the directory holds nothing.
absl::StatusOr<bool> IsEmptyDirectory(const UniqueFd& directory, const std::string& path);

// Holds `plan.yaml`, `journal` and the outputs. The directory is held open: everything goes into it, wherever its path
// leads meanwhile, and no name in it is followed where it is a symbolic link. Not thread-safe.
class ResultsDirectory {
 public:
  // Makes `path`, with the directories above it. An existing one must be empty: results are never overwritten.
  static absl::StatusOr<ResultsDirectory> Create(const std::string& path);
  // "plimsoll-results/20261120T192011Z-7f3a21" below the working directory, without --out.
  // FAILED_PRECONDITION where the way there is a symbolic link.
  static absl::StatusOr<ResultsDirectory> CreateDefault(WallNs now, const std::string& run_id);
  // Opens a directory that is there, for outputs that are made again.
  static absl::StatusOr<ResultsDirectory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  // The directory itself, for openat and its like; valid as long as the object.
  int descriptor() const { return directory_.fd.get(); }
  absl::StatusOr<std::unique_ptr<JournalWriter>> CreateJournal() const;
  // The names of the files that the journal has now, which is one unless the run is under way or was cut off.
  std::vector<std::string> JournalNames() const;
  // Writes the file whole, or leaves the old one.
  absl::Status Write(const std::string& name, const std::string& content) const;
  // Where the directory was removed meanwhile: makes it again.
  absl::Status Restore();
  // Nothing was measured: removes what Create made and what this object put there.
  void Discard() const;

 private:
  ResultsDirectory(std::string path, HeldDirectory directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  static absl::StatusOr<ResultsDirectory> Make(const std::string& path, Links links);

  std::string path_;
  HeldDirectory directory_;
};

// Writes the file whole, or leaves the old one. For a path that the user spelled out (see FileWriter::ToPath).
absl::Status WriteFile(const std::string& path, const std::string& content);

}  // namespace plimsoll
