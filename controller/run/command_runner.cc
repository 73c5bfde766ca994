#include "controller/run/command_runner.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

class ChildProcess final : public RunningCommand {
 public:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() override {
    if (ended_.has_value()) return;
    Kill();
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::optional<std::string> Poll() override {
    if (ended_.has_value()) return ended_;
    int status = 0;
    const pid_t done = waitpid(pid_, &status, WNOHANG);
    if (done == 0 || (done < 0 && errno == EINTR)) return std::nullopt;
    if (done < 0) {
      ended_ = "its exit status is unknown";
    } else if (WIFEXITED(status)) {
      exit_code_ = WEXITSTATUS(status);
      ended_ = exit_code_ == 0 ? "" : absl::StrCat("exit code ", exit_code_);
    } else {
      ended_ = absl::StrCat("ended by signal ", WTERMSIG(status));
    }
    return ended_;
  }

  int exit_code() const override { return exit_code_; }
  void Kill() override {
    if (!ended_.has_value()) kill(-pid_, SIGKILL);
  }

 private:
  const pid_t pid_;
  std::optional<std::string> ended_;
  int exit_code_ = -1;
};

class ProcessRunner final : public CommandRunner {
 public:
  absl::StatusOr<std::unique_ptr<RunningCommand>> Start(const std::vector<std::string>& arguments) override {
    if (arguments.empty()) return absl::InvalidArgumentError("no program is named");
    std::vector<std::string> copy = arguments;
    std::vector<char*> argv;
    for (std::string& argument : copy) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files{};
    posix_spawnattr_t attributes{};
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    // Our own blocked and ignored signals are not its business.
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) return PosixError("start", arguments[0], error);
    return std::make_unique<ChildProcess>(pid);
  }
};

}  // namespace

std::unique_ptr<CommandRunner> MakeCommandRunner() {
  return std::make_unique<ProcessRunner>();
}

}  // namespace plimsoll
