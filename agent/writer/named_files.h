// The files that a plan names, below the writers that use parts of them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/run_directory.h"
#include "agent/host/target_files.h"
#include "agent/writer/log_files.h"
#include "common/mutex.h"
#include "common/page_stamp.h"
#include "common/posix.h"

namespace plimsoll {

// Makes or finds each file once, holds it, and opens it anew for each writer: that very file, whatever has its name by
// then. Thread-safe.
class NamedFiles final : public FileOps {
 public:
  struct Held {
    uint64_t size_bytes = 0;
    bool block_device = false;
    // Opens the file once more, with these flags. INVALID_ARGUMENT where its file system refuses them.
    std::function<absl::StatusOr<UniqueFd>(int flags)> open;
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
  int64_t Write(int fd, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) override;
  int Sync(int fd) override;
  int GetFlags(int fd) override;
  int SetFlags(int fd, int flags) override;
  uint32_t DirectAlignBytes(int fd) override;
  // Of the run's directory; nothing is known of other files, which take no further space.
  absl::StatusOr<RunDirectory::Space> MeasureSpace() override;
  void Close() override;

 private:
  RunDirectory* const directory_;
  const Find find_;
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Held> held_ ABSL_GUARDED_BY(mutex_);
  // By device and inode, or the number of a block device and 0.
  std::map<std::pair<dev_t, ino_t>, std::string> names_ ABSL_GUARDED_BY(mutex_);
};

// Files of `size_bytes`, a page at least, that are made in the run's directory, which must outlive the object. Each
// begins with a page that carries `stamp`, so that a later agent knows whose it is if this one is killed.
std::unique_ptr<NamedFiles> MakeRunFiles(RunDirectory& directory, uint64_t size_bytes, const PageStamp& stamp);

// Files that exist and that a plan uses as `use`. `targets` must outlive the object.
std::unique_ptr<NamedFiles> MakeTargetFiles(const TargetFiles& targets, FileUse use, bool overwrite);

// Files of `size_bytes` that are made where the plan says, and are kept. `min_free_asked`: LogWorkload.min_free_bytes.
// `targets` must outlive the object.
std::unique_ptr<NamedFiles> MakeKeptFiles(const TargetFiles& targets, uint64_t size_bytes,
                                          std::optional<uint64_t> min_free_asked);

}  // namespace plimsoll
