// The directory of a run's results.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/run/journal.h"

namespace plimsoll {

// Holds `plan.yaml`, `journal` and the outputs. Not thread-safe.
class ResultsDirectory {
 public:
  // Makes `path`, with the directories above it. An existing one must be empty: results are never overwritten.
  static absl::StatusOr<ResultsDirectory> Create(const std::string& path);

  const std::string& path() const { return path_; }
  absl::StatusOr<std::unique_ptr<JournalWriter>> CreateJournal() const;
  // Nothing was measured: removes what Create made and what this object put there.
  void Discard() const;

 private:
  explicit ResultsDirectory(std::string path, bool made) : path_(std::move(path)), made_(made) {}

  std::string path_;
  bool made_;
};

// "plimsoll-results/20261120T192011Z-7f3a21", where --out says nothing.
std::string DefaultResultsPath(WallNs now, const std::string& run_id);

// Writes the file whole, or leaves the old one: through a temporary file beside it.
absl::Status WriteFile(const std::string& path, const std::string& content);

}  // namespace plimsoll
