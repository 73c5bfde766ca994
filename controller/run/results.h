// The directory of a run's results: files that appear whole or not at all, written through a descriptor of their
// directory.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/posix.h"
#include "controller/run/journal.h"

namespace plimsoll {

// Writes one file. A regular file is written under a random name of its own in the same directory and takes its place
// in Finish; until then, and without Finish, whatever has its name stays as it is. The directory is held open, so that
// the file stays in it even when the directory's path leads elsewhere meanwhile. Not thread-safe.
class FileWriter {
 public:
  // A path that the user spelled out: symbolic links are followed and stay. What is no regular file (a pipe, a device),
  // and a file that is the program's standard output or error, is written to at once. A file keeps its mode.
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
// by nobody but their owner, whatever the umask. With Links::kRefuse no component may be a symbolic link. `where` (no
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
  // One that is there, for outputs that are made again.
  static absl::StatusOr<ResultsDirectory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  absl::StatusOr<std::unique_ptr<JournalWriter>> CreateJournal() const;
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
