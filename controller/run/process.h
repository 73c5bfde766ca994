// What a command needs of its process: descriptors, Ctrl-C as an event, and the agent that a run without hosts starts
// for itself.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/posix.h"
#include "controller/run/event_queue.h"

namespace plimsoll {

// Raises the limit to what the system allows without asking (RLIMIT_NOFILE's hard limit): each agent takes a
// connection, and many systems start programs with 1,024. Where that fails the limit stays as it is.
void RaiseDescriptorLimit();

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

// A `plimsoll-agent` of the same build on a private Unix socket (mode 0600, in a directory of mode 0700), in a process
// session of its own, so that Ctrl-C does not reach it. It ends by itself when this object or this process goes, as
// soon as its session is over: it outlives a killed controller by its lease, and cleans up.
class ChildAgent {
 public:
  // Returns when it listens. `root` is the one directory below which it may write. The program is looked for beside
  // this one (/proc/self/exe). `more` are further arguments for it.
  static absl::StatusOr<std::unique_ptr<ChildAgent>> Start(const std::string& root,
                                                           const std::vector<std::string>& more = {});
  // Closes the pipe that holds the child and waits for its end.
  ~ChildAgent();
  ChildAgent(const ChildAgent&) = delete;
  ChildAgent& operator=(const ChildAgent&) = delete;

  // For MakeGrpcAgentClient.
  const std::string& address() const { return address_; }
  // Does not wait for the child's end any more: it cleans up and ends by itself, as soon as it can. Returns its id.
  pid_t Detach() { return std::exchange(pid_, -1); }

 private:
  ChildAgent() = default;

  pid_t pid_ = -1;
  UniqueFd hold_;  // the write end of the child's standard input
  std::string directory_;
  std::string address_;
};

}  // namespace plimsoll
