#include "agent/check/check_process.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/check/check_operations.h"
#include "agent/host/sandbox.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/units.h"

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

namespace {

// How often the lease is looked at between two orders, in milliseconds.
constexpr int kLookAtLeaseMs = 50;

// The next packet; none where the other end is gone, or the lease has expired.
std::optional<std::string> NextPacket(const LeasePage& lease) {
  std::string packet(kMostCheckPacketBytes, '\0');
  while (true) {
    if (SystemClock::Read().value >= lease.deadline_ns()) return std::nullopt;
    pollfd wait{kCheckSocketFd, POLLIN, 0};
    const int ready = poll(&wait, 1, kLookAtLeaseMs);
    if (ready < 0 && errno != EINTR) return std::nullopt;
    if (ready <= 0) continue;
    const ssize_t size = recv(kCheckSocketFd, packet.data(), packet.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    packet.resize(static_cast<size_t>(size));
    return packet;
  }
}

bool SendAnswer(const v1::CheckAnswer& answer) {
  const std::string packet = answer.SerializeAsString();
  while (send(kCheckSocketFd, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

int RunCheckProcess(int parent) {
  // The signal is sent at the end of the thread that started this process; one that ended before sent none.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) return 1;
  const absl::StatusOr<LeasePage> lease = LeasePage::Open(UniqueFd(kCheckLeaseFd));
  if (!lease.ok()) return 1;
  const std::optional<std::string> first = NextPacket(*lease);
  v1::CheckSetup setup;
  if (!first.has_value() || !setup.ParseFromString(*first)) return 1;
  v1::CheckAnswer ready;
  ready.set_id(setup.id());
  ready.set_process(setup.process());
  ready.set_started_ns(SystemClock::Read().value);
  const auto sandbox = Sandbox::Create(std::vector<std::string>(setup.roots().begin(), setup.roots().end()), "");
  ready.set_ended_ns(SystemClock::Read().value);
  ready.set_code(static_cast<int32_t>(sandbox.status().code()));
  ready.set_message(std::string(sandbox.status().message()));
  if (!SendAnswer(ready) || !sandbox.ok()) return 1;
  const uint32_t process = setup.process();
  CheckOperations operations(setup, **sandbox, *lease, [process](uint64_t sequence) {
    v1::CheckAnswer progress;
    progress.set_process(process);
    progress.set_acknowledged(sequence);
    SendAnswer(progress);
  });
  while (const std::optional<std::string> packet = NextPacket(*lease)) {
    v1::CheckOrder order;
    if (!order.ParseFromString(*packet) || !SendAnswer(operations.Execute(order))) break;
  }
  // Without destructors: closing takes its time where the storage hangs, and the kernel gives the locks back.
  _exit(0);
}

}  // namespace plimsoll
