#include "controller/check/outside_command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

// posix_spawn's attribute objects, destroyed on every path.
struct OutsideSpawnSetup {
  OutsideSpawnSetup() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~OutsideSpawnSetup() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  OutsideSpawnSetup(const OutsideSpawnSetup&) = delete;
  OutsideSpawnSetup& operator=(const OutsideSpawnSetup&) = delete;

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
};

}  // namespace

std::vector<std::string> CommandArguments(const std::string& text, const std::string& host) {
  std::vector<std::string> arguments = absl::StrSplit(text, ' ', absl::SkipEmpty());
  // After the splitting: a host's name never becomes two arguments.
  for (std::string& argument : arguments) absl::StrReplaceAll({{"{host}", host}}, &argument);
  return arguments;
}

absl::StatusOr<std::unique_ptr<OutsideCommand>> OutsideCommand::Start(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return absl::InvalidArgumentError("the command is empty");
  std::vector<std::string> own = arguments;
  std::vector<char*> argv;
  for (std::string& argument : own) argv.push_back(argument.data());
  argv.push_back(nullptr);
  OutsideSpawnSetup setup;
  posix_spawn_file_actions_addopen(&setup.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // The report is on standard output.
  posix_spawn_file_actions_adddup2(&setup.files, STDERR_FILENO, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&setup.attributes, &none);
  posix_spawnattr_setpgroup(&setup.attributes, 0);
  posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &setup.files, &setup.attributes, argv.data(), environ);
  if (error != 0) return PosixError("start", arguments[0], error);
  return std::unique_ptr<OutsideCommand>(new OutsideCommand(pid, arguments[0]));
}

std::optional<absl::Status> OutsideCommand::Poll() {
  if (ended_.has_value()) return ended_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    ended_ = absl::OkStatus();
  } else {
    ended_ = absl::AbortedError(WIFEXITED(status) ? absl::StrCat(name_, " ended with exit code ", WEXITSTATUS(status))
                                                  : absl::StrCat(name_, " was ended by signal ", WTERMSIG(status)));
  }
  return ended_;
}

OutsideCommand::~OutsideCommand() {
  if (ended_.has_value()) return;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace plimsoll
