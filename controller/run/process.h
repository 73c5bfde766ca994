// What a command needs of its process: descriptors, Ctrl-C as an event, programs that it speaks with, and the agent
// that a run without hosts starts for itself.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/posix.h"
#include "controller/fleet/agent_client.h"

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

// What the thread that started a program had for its end, "exit code 2" or "signal 9".
std::string HowItEnded(int wait_status);

// Where this user's sockets go: XDG_RUNTIME_DIR where it is this user's alone, since `sudo` and `su` may leave another
// user's there, or else /tmp.
std::string RuntimeDirectory();

// Makes a directory in `place` with a unique name, for this user alone (0700). Returns its path, or the
// system's error.
absl::StatusOr<std::string> MakePrivateDirectory(const std::string& place);

// The path of a program that lies beside this one.
std::string ProgramBeside(const std::string& name);

// A program with pipes at its three standard streams, in a process session of its own, so that Ctrl-C does not reach it
// and it can ask nothing on the terminal. Our ends of the pipes do not block; SIGPIPE must be ignored where they are
// written to. One thread.
class PipedProcess {
 public:
  enum class Life {
    // The kernel ends it (SIGTERM) where the thread that started it ends first, however that happens.
    kEndsWithThread,
    // It finds out by itself, from the end of its standard input.
    kOutlives
  };
  // Starts a program with its arguments, the first of which is looked up in PATH. No shell sees them. The system's
  // error where it cannot be started.
  static absl::StatusOr<std::unique_ptr<PipedProcess>> Start(const std::vector<std::string>& arguments, Life life);
  // Kills it where it still runs, and waits for its end.
  ~PipedProcess();
  PipedProcess(const PipedProcess&) = delete;
  PipedProcess& operator=(const PipedProcess&) = delete;

  // Descriptors for poll, read and write; -1 where closed.
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  int errors() const { return errors_.get(); }
  void CloseInput() { input_.Reset(); }
  void CloseOutput() { output_.Reset(); }
  void CloseErrors() { errors_.Reset(); }

  // The status of waitpid(2) once it has ended; nothing while it runs.
  std::optional<int> Poll();
  // Waits for its end.
  void Wait();
  // Does nothing once it has ended.
  void Signal(int number);

 private:
  PipedProcess() = default;

  pid_t pid_ = -1;
  std::optional<int> ended_;
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd errors_;
};

// A `plimsoll-agent` of the same build on a private Unix socket (mode 0600, in a directory of mode 0700), in a process
// session of its own, so that Ctrl-C does not reach it. It ends by itself when this object or this process goes, as
// soon as its session is over: it outlives a killed controller by its lease, and cleans up.
class ChildAgent {
 public:
  // Returns when it listens. `roots` are the directories below which it may write, at least one. The program is looked
  // for beside this one (/proc/self/exe). `more` are further arguments for it.
  static absl::StatusOr<std::unique_ptr<ChildAgent>> Start(const std::vector<std::string>& roots,
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

// One program that was started for a user's command: one that causes a fault, or one of --between. The destructor kills
// it where it still runs.
class RunningCommand {
 public:
  virtual ~RunningCommand() = default;
  // Why it counts as failed once it has ended: "" where it succeeded. Nothing while it runs.
  virtual std::optional<std::string> Poll() = 0;
  // 0 where it succeeded; -1: none, or it did not end.
  virtual int exit_code() const = 0;
  virtual void Kill() = 0;
  // The destructor neither kills it nor waits for its end.
  virtual void Leave() {}
};

class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // Starts a program with its arguments, the first of which is looked up in PATH. No shell sees them.
  virtual absl::StatusOr<std::unique_ptr<RunningCommand>> Start(const std::vector<std::string>& arguments) = 0;
};

// Each command in a process session of its own, so that Ctrl-C at the terminal does not end it and it can ask nothing
// there, with standard input from /dev/null. Its output goes to our standard error with each Poll and at its end, as
// far as that takes it without waiting: a reader of ours that hangs or has gone neither stops nor kills the command.
// One thread.
std::unique_ptr<CommandRunner> MakeCommandRunner();

}  // namespace plimsoll
