// Ctrl-C as an event.
#pragma once

#include <thread>

#include "controller/run/event_queue.h"

namespace plimsoll {

// While it lives, SIGINT, SIGTERM and SIGHUP go to the queue as interrupts and do nothing else; a SIGHUP that was
// ignored when it was made (nohup) stays so. Make it before any other thread, so that all inherit the blocked signals;
// one at a time.
class Interrupts {
 public:
  explicit Interrupts(EventQueue& events);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  void Watch();

  EventQueue& events_;
  int stop_fd_;
  std::thread thread_;
};

}  // namespace plimsoll
