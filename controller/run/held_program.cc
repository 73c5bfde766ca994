#include "controller/run/held_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

// As shells have it.
constexpr int kCannotExecute = 126;

bool IsExecutable(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && access(path.c_str(), X_OK) == 0;
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), F_OK) != 0) return PosixError("execute", name, errno);
    if (!IsExecutable(name)) return absl::NotFoundError(absl::StrCat(name, " is not an executable file"));
    std::array<char, 4096> resolved{};
    return realpath(name.c_str(), resolved.data()) != nullptr ? std::string(resolved.data()) : name;
  }
  const char* const places = std::getenv("PATH");
  const std::vector<std::string> directories = absl::StrSplit(places == nullptr ? "/usr/bin:/bin" : places, ':');
  for (const std::string& place : directories) {
    std::string path = absl::StrCat(place.empty() ? "." : place, "/", name);
    if (IsExecutable(path)) return FindProgram(path);
  }
  return absl::NotFoundError(absl::StrCat(name, " is not in PATH; name the program with its directory"));
}

// Runs in the new process, up to the program: only what is safe after a fork.
[[noreturn]] void WaitAndExecute(int gate, char* const* argv, const char* path) {
  int64_t at_ns = 0;
  size_t got = 0;
  while (got < sizeof(at_ns)) {
    const ssize_t count = read(gate, reinterpret_cast<char*>(&at_ns) + got, sizeof(at_ns) - got);
    if (count < 0 && errno == EINTR) continue;
    // The controller ended without releasing it.
    if (count <= 0) _exit(kCannotExecute);
    got += static_cast<size_t>(count);
  }
  const timespec moment{at_ns / kNsPerSecond, at_ns % kNsPerSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr) == EINTR) {
  }
  execv(path, argv);
  constexpr char kText[] = "plimsoll: the program cannot be executed\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) _exit(kCannotExecute);
  _exit(kCannotExecute);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HeldProgram>> HeldProgram::Start(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return absl::InvalidArgumentError("no program given");
  std::unique_ptr<HeldProgram> program(new HeldProgram);
  absl::StatusOr<std::string> path = FindProgram(arguments[0]);
  if (!path.ok()) return path.status();
  program->path_ = *std::move(path);
  std::vector<std::string> copy = arguments;
  std::vector<char*> argv;
  for (std::string& argument : copy) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return PosixError("pipe", "", errno);
  const UniqueFd wait_end(ends[0]);
  program->gate_ = UniqueFd(ends[1]);
  program->pid_ = fork();
  if (program->pid_ < 0) return PosixError("fork", "", errno);
  if (program->pid_ > 0) return program;
  // Else it would wait for itself.
  close(ends[1]);
  // Our own blocked and ignored signals are not its business.
  for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  WaitAndExecute(wait_end.get(), argv.data(), program->path_.c_str());
}

HeldProgram::~HeldProgram() {
  gate_.Reset();
  if (released_ || pid_ <= 0 || ended_.has_value()) return;
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void HeldProgram::Release(int64_t at_ns) {
  if (released_) return;
  released_ = true;
  // The pipe holds it; a process that has ended needs none.
  if (write(gate_.get(), &at_ns, sizeof(at_ns)) < 0) return;
}

std::optional<std::string> HeldProgram::End() {
  if (ended_.has_value() || pid_ <= 0) return ended_;
  int status = 0;
  const pid_t done = waitpid(pid_, &status, WNOHANG);
  if (done == 0 || (done < 0 && errno == EINTR)) return std::nullopt;
  ended_ = done < 0 ? "its exit status is unknown" : HowItEnded(status);
  return ended_;
}

}  // namespace plimsoll
