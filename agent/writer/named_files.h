// The files that a plan names, below the writers that use parts of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "agent/host/run_directory.h"
#include "agent/host/space.h"
#include "agent/host/target_files.h"
#include "agent/writer/file_ops.h"
#include "common/mutex.h"
#include "common/page_stamp.h"
#include "common/posix.h"

namespace plimsoll {

// Makes or finds each file once, holds it, and opens it anew for each writer: that very file, whatever has its name by
// then. Thread-safe.
class NamedFiles final : public DescriptorOps {
 public:
  struct Held {
    uint64_t size_bytes = 0;
    bool block_device = false;
    // Opens the file once more, with these flags. INVALID_ARGUMENT where its file system refuses them.
    std::function<absl::StatusOr<UniqueFd>(int flags)> open;
    // Removes a file that was made new and would stay; returns whether it did. Empty if there is none to remove.
    std::function<absl::StatusOr<bool>()> remove_new = {};
  };
  // Makes or finds the file with this name. NamedFiles makes one call at a time, and one for each name.
  using Find = std::function<absl::StatusOr<Held>(const std::string& name)>;

  // `directory`, which names that are no absolute paths are below, must outlive the object; null with absolute paths.
  NamedFiles(RunDirectory* directory, Find find) : directory_(directory), find_(std::move(find)) {}

  // Makes or finds the file now. FAILED_PRECONDITION where another name was the same file. The pointer is valid until
  // Close.
  absl::StatusOr<const Held*> Hold(const std::string& name);

  // Opens the file, and makes or finds it where that was not done. A file that no run fills is also read with O_DIRECT,
  // a page of it: some file systems accept the flag, and refuse the transfers (INVALID_ARGUMENT).
  absl::StatusOr<UniqueFd> Create(const std::string& relative, int flags) override;
  std::string PathOf(const std::string& relative) const override;
  // Measures the run's directory. Absolute paths report no space: preparing them writes nothing.
  absl::StatusOr<Space> MeasureSpace() override;
  absl::StatusOr<uint64_t> RemoveNew() override;
  void Close() override;

 private:
  RunDirectory* const directory_;
  const Find find_;
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Held> held_ ABSL_GUARDED_BY(mutex_);
  // Held::remove_new of each file that has it, also of those that could not be held.
  std::vector<std::function<absl::StatusOr<bool>()>> removals_ ABSL_GUARDED_BY(mutex_);
  // By device and inode, or the number of a block device and 0.
  std::map<std::pair<dev_t, ino_t>, std::string> names_ ABSL_GUARDED_BY(mutex_);
};

// Makes files of `size_bytes`, a page at least, in the run's directory, which must outlive the object. Each begins with
// a page that carries `stamp`, so that a later agent knows whose it is if this one is killed.
std::unique_ptr<NamedFiles> MakeRunFiles(RunDirectory& directory, uint64_t size_bytes, const PageStamp& stamp);

// Finds files that exist, for the plan's `use`. `targets` must outlive the object.
std::unique_ptr<NamedFiles> MakeTargetFiles(const TargetFiles& targets, FileUse use, bool overwrite);

// Makes files of `size_bytes` where the plan says, which are kept. `min_free_asked`: LogWorkload.min_free_bytes.
// `targets` must outlive the object.
std::unique_ptr<NamedFiles> MakeKeptFiles(const TargetFiles& targets, uint64_t size_bytes,
                                          std::optional<uint64_t> min_free_asked);

}  // namespace plimsoll
