// Verifies that an active instance still has its lock, as MQ does.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/page_stamp.h"

namespace plimsoll {

// A heartbeat record, written with O_DIRECT and O_DSYNC and read back through the descriptor that holds the lock: a
// client whose lock was lost gets EIO or ESTALE there. Verify is one thread's; Overdue is another's, which also watches
// while a call does not return.
class LockVerification {
 public:
  struct Record {
    std::array<uint8_t, 16> run_token{};
    uint32_t qm = 0;
    uint32_t host_index = 0;
    uint32_t epoch = 0;
  };

  // `fd` must outlive the object; `path` is for errors.
  LockVerification(int fd, std::string path, const Record& record, int64_t timeout_ns,
                   const std::atomic<int64_t>& lease_deadline_ns);

  // One verification. DEADLINE_EXCEEDED: the lease is over, and nothing was written. Another error says that the lock
  // is lost: a call failed, another record was read than was written, or another instance of this or a later epoch has
  // written its own (ABORTED).
  absl::Status Verify();

  // To be called every few ms: whether a verification has been under way for longer than the timeout. Time in which
  // the caller itself did not run, such as that of a stopped process, does not count.
  bool Overdue(int64_t now_ns);

 private:
  // Whether the record that was found may be there before the next one is written.
  bool MayFollow(const PageStamp& found) const;

  // A longer pause between two calls of Overdue counts as this much.
  static constexpr int64_t kLongestTickNs = 100'000'000;

  const int fd_;
  const std::string path_;
  const Record record_;
  const int64_t timeout_ns_;
  const std::atomic<int64_t>& lease_deadline_ns_;
  uint64_t count_ = 0;
  // Number of the verification under way; 0: none is.
  std::atomic<uint64_t> under_way_{0};
  // Overdue's.
  uint64_t watched_ = 0;
  int64_t watched_for_ns_ = 0;
  int64_t last_tick_ns_ = 0;
};

}  // namespace plimsoll
