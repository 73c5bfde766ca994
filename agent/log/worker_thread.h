// A named thread that takes no signals.
#pragma once

#include <pthread.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>

namespace plimsoll {

// Starts `body` on a thread named `name` (at most 15 bytes) with every signal blocked, from its first instruction on:
// a signal is the main thread's business, and must not cut a measured write short.
template <typename Body>
std::thread StartThread(const std::string& name, Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread([name, run = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), name.c_str());
    run();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace plimsoll
