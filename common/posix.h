// System calls: owners of file descriptors, errors as absl::Status, the CPUs of this process.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace plimsoll {

// Closes its descriptor when it goes. -1 stands for none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { Reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = other.Release();
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives the descriptor to the caller.
  int Release() { return std::exchange(fd_, -1); }
  void Reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// "pwritev2 /mnt/a/S0000003.LOG: No space left on device (28)", with the status code that the errno stands for.
// `subject` names the file, address or object; may be empty.
absl::Status PosixError(const std::string& operation, const std::string& subject, int error_number);

// `status` with "CONTEXT: " in front of its message.
absl::Status WithContext(const std::string& context, const absl::Status& status);

// CPUs that this process may run on; 0 where the kernel does not report them.
uint32_t UsableCpus();

}  // namespace plimsoll
