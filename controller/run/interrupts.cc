#include "controller/run/interrupts.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "common/unique_fd.h"

namespace plimsoll {
namespace {

// A SIGHUP that is ignored, as under nohup, stays ignored: blocked, it would be seen all the same.
sigset_t Watched() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  struct sigaction hang_up{};
  if (sigaction(SIGHUP, nullptr, &hang_up) != 0 || hang_up.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

Interrupts::Interrupts(EventQueue& events) : events_(events), stop_fd_(eventfd(0, EFD_CLOEXEC)) {
  const sigset_t signals = Watched();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { Watch(); });
}

Interrupts::~Interrupts() {
  eventfd_write(stop_fd_, 1);
  thread_.join();
  close(stop_fd_);
}

void Interrupts::Watch() {
  const sigset_t signals = Watched();
  const UniqueFd signal_fd(signalfd(-1, &signals, SFD_CLOEXEC));
  std::array<pollfd, 2> waits = {{{signal_fd.get(), POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
  while (true) {
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) return;
    signalfd_siginfo info{};
    if (waits[0].revents != 0 && read(signal_fd.get(), &info, sizeof(info)) == sizeof(info)) events_.Interrupt();
  }
}

}  // namespace plimsoll
