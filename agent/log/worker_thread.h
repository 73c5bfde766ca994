// A named thread that takes no signals.
#pragma once

#include <pthread.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>

namespace plimsoll {

// Blocks every signal of the calling thread for a scope.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Starts `body` on a thread named `name` (at most 15 bytes) with every signal blocked, from its first instruction on:
// a signal is the main thread's business, and must not cut a measured write short. Throws std::system_error where the
// system gives no thread.
template <typename Body>
std::thread StartThread(const std::string& name, Body body) {
  const AllSignalsBlocked blocked;
  return std::thread([name, run = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), name.c_str());
    run();
  });
}

}  // namespace plimsoll
