#include "agent/check/lease_page.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/posix_error.h"

namespace plimsoll {
namespace {

constexpr size_t kLeasePageBytes = 4096;

static_assert(std::atomic<int64_t>::is_always_lock_free, "processes share it");

}  // namespace

absl::StatusOr<LeasePage> LeasePage::Map(UniqueFd fd) {
  void* const memory = mmap(nullptr, kLeasePageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return PosixError("mmap", "the page of the lease", errno);
  return LeasePage(std::move(fd), static_cast<std::atomic<int64_t>*>(memory));
}

absl::StatusOr<LeasePage> LeasePage::Create() {
  UniqueFd fd(memfd_create("plimsoll-lease", MFD_CLOEXEC));
  if (!fd.valid() || ftruncate(fd.get(), kLeasePageBytes) != 0) {
    return PosixError("memfd_create", "the page of the lease", errno);
  }
  return Map(std::move(fd));
}

absl::StatusOr<LeasePage> LeasePage::Open(UniqueFd fd) {
  return Map(std::move(fd));
}

LeasePage::LeasePage(LeasePage&& other) noexcept
    : fd_(std::move(other.fd_)), deadline_ns_(std::exchange(other.deadline_ns_, nullptr)) {}

LeasePage::~LeasePage() {
  if (deadline_ns_ != nullptr) munmap(deadline_ns_, kLeasePageBytes);
}

}  // namespace plimsoll
