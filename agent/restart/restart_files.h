// The files of one directory in which restart I/O is measured: a log, queue files, and what transactions write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/host/run_directory.h"
#include "agent/restart/restart_calls.h"
#include "agent/restart/restart_pages.h"
#include "agent/restart/restart_setup.h"
#include "agent/writer/block_source.h"
#include "agent/writer/file_ops.h"

namespace plimsoll {

// One directory of the plan, a side of the comparison. Makes its files, keeps them open, and removes them.
//
// The files are "qm1/active/S0000000.LOG" and so on, "qm1/queues/queue1" and so on, and "files/rollback.log": names
// that an agent's successor knows as those of a run, so that it removes what a killed agent left. Not thread-safe, but
// any thread may read names and stamps of the files.
class RestartFiles {
 public:
  // Pieces in which files are filled, and in which the log is read.
  static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

  // `setup` outlives the object. `side`: number of the directory in the plan, from 0.
  RestartFiles(const RestartSetup& setup, uint32_t side, std::unique_ptr<RunDirectory> directory);

  RunDirectory& directory() const { return *directory_; }

  // Makes all files and writes each of them full once, with stamped pages: with O_DIRECT, or without where the file
  // system refuses it; at last fdatasync of each. No piece is written that would leave less than the plan's
  // min_free_bytes (RESOURCE_EXHAUSTED). `filled(bytes)` is called after each piece. What was made stays for the caller
  // to remove. Throws std::bad_alloc.
  absl::Status Fill(RestartCaller& caller, const std::function<void(uint64_t)>& filled);

  // Takes what a process has written and the kernel has cached of log and queue files out of the page cache. With
  // drop_caches in the plan, also flushes the file system and writes "1" to `drop_caches_path`, which empties the whole
  // page cache of the host.
  absl::Status EmptyCaches(RestartCaller& caller, const std::string& drop_caches_path) const;

  // After Fill: whether the log is read with O_DIRECT, and queue files, too, if the plan says so.
  bool direct() const { return direct_; }
  // Why there is no O_DIRECT; empty where there is.
  const std::string& direct_refused() const { return direct_refused_; }
  // Flags of an open extent, or if there is none of a queue file: "O_RDWR|O_DIRECT".
  const std::string& open_flags() const { return open_flags_; }

  const std::vector<RestartFile>& log() const { return log_; }
  const std::vector<RestartFile>& queues() const { return queues_; }
  const RestartFile& rollback() const { return rollback_; }

  // Closes all files. Their names stay.
  void Close();

 private:
  // What filling a file takes.
  struct Filling {
    RestartCaller& caller;
    const std::function<void(uint64_t)>& filled;
    BlockSource source;
    PageBuffer piece;
  };

  RestartFile MakeFile(const std::string& relative, uint64_t size_bytes, uint32_t epoch, uint64_t first_sequence) const;
  absl::Status Create(RestartFile& file, int flags);
  absl::Status CheckSpaceFor(const RestartFile& file, uint64_t size_bytes) const;
  absl::Status WritePiece(const RestartFile& file, uint64_t offset_bytes, std::span<const std::byte> piece,
                          RestartCaller& caller);
  absl::Status FillFile(RestartFile& file, int flags, Filling& filling);
  // Goes on without O_DIRECT, for this reason. `file` is the only one that is open with it.
  absl::Status DropDirect(const RestartFile& file, const std::string& reason);
  // Takes O_DIRECT from an open file.
  absl::Status ClearDirect(const RestartFile& file);

  const RestartSetup& setup_;
  const uint32_t side_;
  const std::unique_ptr<RunDirectory> directory_;
  const std::unique_ptr<FileOps> ops_;
  std::vector<RestartFile> log_;
  std::vector<RestartFile> queues_;
  RestartFile rollback_;
  bool direct_ = true;
  bool wrote_direct_ = false;  // a direct write succeeded: a later refusal is an error
  std::string direct_refused_;
  std::string open_flags_;
};

}  // namespace plimsoll
