// The directory of a run's results.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/run/file_writer.h"
#include "controller/run/journal.h"

namespace plimsoll {

// Holds `plan.yaml`, `journal` and the outputs. The directory is held open: everything goes into it, wherever its path
// leads meanwhile, and no name in it is followed where it is a symbolic link. Not thread-safe.
class ResultsDirectory {
 public:
  // Makes `path`, with the directories above it. An existing one must be empty: results are never overwritten.
  static absl::StatusOr<ResultsDirectory> Create(const std::string& path);
  // "plimsoll-results/20261120T192011Z-7f3a21" below the working directory, where --out says nothing.
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
