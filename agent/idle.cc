#include "agent/idle.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "common/posix.h"

namespace plimsoll {
namespace {

// How often it looks whether others are left: processes that entered the namespace are no children of this one.
constexpr int kLookMs = 20;
constexpr int kForever = -1;

void CollectChildren() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

// The next signal; 0 where none comes in this time.
int NextSignal(int signal_fd, int timeout_ms) {
  pollfd wait = {signal_fd, POLLIN, 0};
  signalfd_siginfo info{};
  if (poll(&wait, 1, timeout_ms) <= 0 || read(signal_fd, &info, sizeof(info)) != sizeof(info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace

int RunIdle() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, number);
  // A blocked signal waits for the first process of a namespace, too; one without a handler would be dropped there.
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  // Where the parent ignored it, it would not come.
  std::signal(SIGCHLD, SIG_DFL);
  const UniqueFd signal_fd(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!signal_fd.valid()) {
    std::fprintf(stderr, "plimsoll-agent: --idle cannot wait for signals: %s (%d)\n", std::strerror(errno), errno);
    return 1;
  }
  // Those that ended before the signal was blocked.
  CollectChildren();
  while (true) {
    const int number = NextSignal(signal_fd.get(), kForever);
    if (number == SIGTERM || number == SIGINT) break;
    CollectChildren();
  }
  if (getpid() != 1) return 0;
  kill(-1, SIGTERM);
  while (kill(-1, 0) == 0 || errno == EPERM) {
    NextSignal(signal_fd.get(), kLookMs);
    CollectChildren();
  }
  return 0;
}

}  // namespace plimsoll
