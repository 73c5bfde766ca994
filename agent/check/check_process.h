// A process of a check: `plimsoll-agent --check-process PARENT`.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/posix.h"

namespace plimsoll {

// One page of memory (a memfd) that the agent and its check processes share: the moment of CLOCK_MONOTONIC at and after
// which no write starts. Only the agent moves it. Thread-safe.
class LeasePage {
 public:
  // The agent's: a page of its own, with a deadline that has passed.
  static absl::StatusOr<LeasePage> Create();
  // A process's: the page behind the descriptor that it was given.
  static absl::StatusOr<LeasePage> Open(UniqueFd fd);
  ~LeasePage();
  LeasePage(LeasePage&& other) noexcept;
  LeasePage& operator=(LeasePage&& other) = delete;

  int fd() const { return fd_.get(); }
  int64_t deadline_ns() const { return deadline_ns_->load(std::memory_order_relaxed); }
  // Relaxed: the moment stands alone, and an old one is an earlier one.
  void set_deadline_ns(int64_t deadline_ns) { deadline_ns_->store(deadline_ns, std::memory_order_relaxed); }

 private:
  LeasePage(UniqueFd fd, std::atomic<int64_t>* deadline_ns) : fd_(std::move(fd)), deadline_ns_(deadline_ns) {}
  static absl::StatusOr<LeasePage> Map(UniqueFd fd);

  UniqueFd fd_;
  std::atomic<int64_t>* deadline_ns_;
};

// The option that makes a process of the agent's program one; for nobody but the agent.
inline constexpr char kCheckProcessOption[] = "--check-process";

// What the agent gives it: a packet socket, and the page of the lease.
inline constexpr int kCheckSocketFd = 3;
inline constexpr int kCheckLeaseFd = 4;

// Most bytes of one packet either way.
inline constexpr int kMostCheckPacketBytes = 180'000;

// Takes its setup and then orders from the socket, one at a time, and answers them. Ends when the socket is closed,
// when the lease has expired, and (by a signal of the kernel) with the thread of process `parent` that started it.
// Returns the exit code.
int RunCheckProcess(int parent);

}  // namespace plimsoll
