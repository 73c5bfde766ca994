// The storage below one simulated agent: how long calls take, and what goes wrong with them.
#pragma once

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/log_files.h"
#include "common/posix.h"
#include "common/units.h"
#include "tests/virtual_clock.h"

namespace plimsoll::tests {

// Holds nothing of what is written. Descriptors are those of /dev/null. Calls come from the agent's threads, faults
// from the world's: one thread runs at a time.
class SimulatedStorage final : public FileOps {
 public:
  static constexpr int64_t kWriteNs = 100 * kNsPerUs;

  SimulatedStorage(VirtualClock& world, const ThreadClock& clock, std::string directory)
      : world_(world), clock_(clock), directory_(std::move(directory)) {}

  // From the write with this number on (from 0, those that fill extents included) each takes so long, until LetGo.
  void Delay(uint64_t from_write, int64_t each_ns) {
    delay_from_ = from_write;
    delay_ns_ = each_ns;
  }
  // The write with this number hangs until LetGo, then ends with the error (0: well).
  void HangWrite(uint64_t write, int error_number) {
    hang_write_ = write;
    hang_error_ = error_number;
  }
  void HangNextWrite() { HangWrite(writes_, 0); }
  // The first call that removes something hangs until LetGo.
  void HangRemoval() { hang_removal_ = true; }
  // Every write that ends from now on ends with this error; 0: none does.
  void FailWrites(int error_number) { error_number_ = error_number; }
  // Somebody removes the directory: what is open stays writable, nothing new can be made.
  void RemoveDirectory() { removed_ = true; }
  // Ends delays and hangs.
  void LetGo() {
    delay_from_ = hang_write_ = UINT64_MAX;
    hang_removal_ = false;
    world_.Changed();
  }

  uint64_t writes() const { return writes_; }
  // A call hangs.
  bool hangs() const { return hangs_; }
  bool removed() const { return removed_; }
  const std::string& directory() const { return directory_; }

  absl::StatusOr<UniqueFd> Create(const std::string& relative, int flags) override {
    if (removed_) return PosixError("openat2", PathOf(relative), ENOENT);
    UniqueFd fd(open("/dev/null", O_RDWR | O_CLOEXEC));
    flags_[fd.get()] = flags;
    return fd;
  }
  std::string PathOf(const std::string& relative) const override { return absl::StrCat(directory_, "/", relative); }
  int64_t Write(int /*fd*/, uint64_t /*offset_bytes*/, const std::byte* /*data*/, size_t size_bytes) override {
    const uint64_t number = writes_++;
    if (number == hang_write_) {
      Hang(hang_write_);
      if (hang_error_ != 0) return -hang_error_;
    } else {
      clock_.SleepUntil(clock_.Now() + (number >= delay_from_ ? delay_ns_ : kWriteNs));
    }
    return error_number_ != 0 ? -error_number_ : static_cast<int64_t>(size_bytes);
  }
  int Sync(int /*fd*/) override { return 0; }
  int GetFlags(int fd) override { return flags_[fd]; }
  int SetFlags(int fd, int flags) override {
    flags_[fd] = flags;
    return 0;
  }
  uint32_t DirectAlignBytes(int /*fd*/) override { return 0; }
  absl::StatusOr<Space> MeasureSpace() override { return Space{uint64_t{1} << 40, uint64_t{1} << 40}; }

  // Closing and removing the files.
  void Remove() {
    if (hang_removal_) Hang(hang_removal_);
  }

 private:
  // Until LetGo.
  template <typename Until>
  void Hang(const Until& until) {
    const Until held = until;
    hangs_ = true;
    const MutexLock lock(mutex_);
    while (until == held) clock_.WaitUntil(mutex_, changed_, clock_.Now() + 1'000 * kNsPerSecond);
    hangs_ = false;
  }

  VirtualClock& world_;
  const ThreadClock& clock_;
  const std::string directory_;
  // The lock that a wait needs: nothing is shared, since one thread runs at a time.
  Mutex mutex_;
  CondVar changed_;
  uint64_t writes_ = 0;
  uint64_t delay_from_ = UINT64_MAX;
  int64_t delay_ns_ = 0;
  uint64_t hang_write_ = UINT64_MAX;
  int hang_error_ = 0;
  bool hang_removal_ = false;
  int error_number_ = 0;
  bool removed_ = false;
  bool hangs_ = false;
  std::map<int, int> flags_;
};

}  // namespace plimsoll::tests
