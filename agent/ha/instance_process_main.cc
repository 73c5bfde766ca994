// How the process of an instance begins, and what it does with the agent's orders.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "agent/ha/instance.h"
#include "agent/writer/file_env.h"

namespace plimsoll {
namespace {

constexpr int kExitCannotBegin = 4;

// Reads on until there is a whole order; false where the agent is gone, or what it says is none.
bool NextOrder(int fd, MessageReader& reader, v1::HaInstanceOrder& order) {
  while (true) {
    const absl::StatusOr<bool> got = reader.Next(order);
    if (!got.ok()) return false;
    if (*got) return true;
    std::array<char, 4096> bytes{};
    const ssize_t size = recv(fd, bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    reader.Append(bytes.data(), static_cast<size_t>(size));
  }
}

}  // namespace

void Instance::RunOrders() {
  v1::HaInstanceOrder order;
  while (NextOrder(orders_fd_, orders_, order)) {
    if (!order.has_end()) continue;
    // Whoever still waits for a lock, or for the storage, has nothing to bring to an end.
    const LockCourse* const course = course_.load();
    if (course != nullptr && course->has_active()) {
      control_.StopAt(MonotonicNowNs());
    } else {
      reporter_.Exit(v1::HaEnded::REASON_ORDERED);
    }
  }
  _exit(InstanceReporter::kExitByItself);
}

int RunInstanceProcess() {
  // Ends with its agent, however that ends. If the agent ended before this call, it is no longer the parent.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const absl::StatusOr<BoardMapping> board = BoardMapping::Open(kInstanceBoardFd);
  if (!board.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s is for agents alone\n", kInstanceOption);
    return kExitCannotBegin;
  }
  if (getppid() != (*board)->agent_pid.load()) return kExitCannotBegin;
  // The kernel may delay a timer by the slack, 50 us by default.
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  MessageReader orders;
  v1::HaInstanceOrder order;
  if (!NextOrder(kInstanceSocketFd, orders, order) || !order.has_setup()) return kExitCannotBegin;
  MessageSender sender(kInstanceSocketFd);
  const v1::HaStart& start = order.setup().start();
  InstanceReporter reporter(sender, start.instance(), start.qm());
  prctl(PR_SET_NAME, ("qm" + std::to_string(start.qm())).c_str());
  Instance instance(std::move(*order.mutable_setup()), kInstanceSocketFd, orders, reporter, **board);
  instance.Run();
}

}  // namespace plimsoll
