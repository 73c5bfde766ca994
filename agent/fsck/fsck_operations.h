// What a process of a check does with open files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/fsck/fsck_process.h"
#include "agent/host/sandbox.h"
#include "common/page_stamp.h"
#include "common/posix.h"
#include "plimsoll/v1/check.pb.h"

namespace plimsoll {

// Name of file `number` in its host's directory: that of an extent, so that whatever removes what a killed agent left
// knows it.
std::string FsckFileName(uint32_t number);

// Offset of a page, in bytes. In front of page 0 is the page with the run's token.
uint64_t FsckPageOffset(uint32_t page);

// A page in memory, aligned as O_DIRECT asks.
struct alignas(kStampedPageBytes) FsckPageBytes {
  std::array<std::byte, kStampedPageBytes> bytes{};
};

// Fills the page: the stamp, and content that is another one for each stamp.
void FillFsckPage(const PageStamp& stamp, FsckPageBytes& page);

// What a page of the run with this token, read as page `number`, holds.
v1::CheckPage ReadFsckPage(const FsckPageBytes& page, uint32_t number, const std::array<uint8_t, 16>& run_token);

// Largest number of entries of a list in an answer.
inline constexpr int kMostListedInAnswer = 2000;

// Carries out one order after another, each of which may block for as long as the storage pleases. No write, and no
// lock, is begun at or after the lease's deadline. For one thread of a process that has no other: a descriptor that is
// closed elsewhere in the process would take its locks with it.
class FsckOperations {
 public:
  // `acknowledged` is called after each sequence of a CheckStream that all its files have acknowledged. `sandbox` and
  // `lease` outlive the object.
  FsckOperations(v1::CheckSetup setup, const Sandbox& sandbox, const LeasePage& lease,
                 std::function<void(uint64_t)> acknowledged);

  v1::CheckAnswer Execute(const v1::CheckOrder& order);

 private:
  struct OpenFile {
    UniqueFd fd;
    std::string path;
  };
  enum class Lock { kGranted, kRefused, kInterrupted };

  absl::Status Dispatch(const v1::CheckCommand& command, v1::CheckAnswer& answer);
  absl::Status Open(const v1::CheckOpen& open, v1::CheckAnswer& answer);
  absl::Status Close(const v1::CheckClose& close);
  absl::Status TakeLock(const v1::CheckLock& lock, v1::CheckAnswer& answer);
  absl::Status Write(const v1::CheckWrite& write, v1::CheckAnswer& answer);
  absl::Status Read(const v1::CheckRead& read, v1::CheckAnswer& answer);
  absl::Status Contend(const v1::CheckContend& contend, v1::CheckAnswer& answer);
  absl::Status Stream(const v1::CheckStream& stream, v1::CheckAnswer& answer);
  absl::Status Watch(const v1::CheckWatch& watch, v1::CheckAnswer& answer);
  absl::Status Replace(const v1::CheckReplace& replace, v1::CheckAnswer& answer);
  absl::Status ReplaceOnce(int directory_fd, const v1::CheckReplace& replace, uint64_t sequence,
                           v1::CheckAnswer& answer);
  absl::Status Look(const v1::CheckLook& look, v1::CheckAnswer& answer);
  absl::Status Stat(const v1::CheckStat& stat, v1::CheckAnswer& answer);
  absl::Status PingPong(const v1::CheckPingPong& ping_pong, v1::CheckAnswer& answer);

  // The error of a call to the storage, with its errno in the answer.
  static absl::Status CallFailed(const std::string& operation, const std::string& path, int error_number,
                                 v1::CheckAnswer& answer);
  absl::StatusOr<const OpenFile*> Find(uint32_t handle) const;
  // One fcntl call; an error is noted in the answer.
  static absl::StatusOr<Lock> CallLock(const OpenFile& file, int command, int type, uint64_t start, uint64_t length,
                                       v1::CheckAnswer& answer);
  absl::Status WritePage(const OpenFile& file, uint32_t page, uint32_t epoch, uint64_t sequence,
                         v1::CheckAnswer& answer);
  absl::StatusOr<v1::CheckPage> ReadPage(const OpenFile& file, uint32_t page, v1::CheckAnswer& answer) const;
  absl::Status MayWrite() const;

  const v1::CheckSetup setup_;
  std::array<uint8_t, 16> run_token_{};
  const Sandbox& sandbox_;
  const LeasePage& lease_;
  const std::function<void(uint64_t)> acknowledged_;
  std::map<uint32_t, OpenFile> files_;
};

}  // namespace plimsoll
