// Until when the processes of a check may write.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

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

}  // namespace plimsoll
