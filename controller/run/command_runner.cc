// Commands of the user's own, as processes.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

// What a command prints goes into a file in memory, and from there to standard error. A command that writes straight to
// our standard error, or into a pipe, would be killed by SIGPIPE at its next line where the reader has gone, and with
// the reader the command that undoes what was done to the storage.
class CommandOutput {
 public:
  // Without a file (fd() is -1) there is no output.
  CommandOutput() : file_(memfd_create("plimsoll-command", MFD_CLOEXEC)) {
    if (!file_.valid()) return;
    // Where a standard stream of ours is closed, its number is not taken.
    if (file_.get() <= STDERR_FILENO) file_ = UniqueFd(fcntl(file_.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    // Whatever the command does with its descriptors, its lines follow one another.
    fcntl(file_.get(), F_SETFL, O_APPEND);
  }

  int fd() const { return file_.get(); }

  // Copies what is new to standard error, as far as that takes it without waiting, and gives its memory back. Of what
  // it does not take, the last kMostBytes are kept for the next call.
  void Copy() {
    struct stat facts{};
    if (!file_.valid() || fstat(file_.get(), &facts) != 0) return;
    // The command may have truncated it.
    if (facts.st_size < copied_) copied_ = 0;
    copied_ = std::max(copied_, facts.st_size - kMostBytes);
    while (copied_ < facts.st_size && CopyPiece()) {
    }
    // Sizes stay: a writer goes on at the end.
    if (copied_ > 0) fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, copied_);
  }

 private:
  static constexpr off_t kMostBytes = off_t{64} << 10;

  // Whether standard error has taken some.
  bool CopyPiece() {
    // A pipe with room has room for so much.
    std::array<char, 512> piece{};
    pollfd to{STDERR_FILENO, POLLOUT, 0};
    if (poll(&to, 1, 0) != 1 || (to.revents & POLLOUT) == 0) return false;
    const ssize_t got = pread(file_.get(), piece.data(), piece.size(), copied_);
    if (got <= 0) return false;
    const ssize_t put = write(STDERR_FILENO, piece.data(), static_cast<size_t>(got));
    if (put <= 0) return false;
    copied_ += put;
    return true;
  }

  UniqueFd file_;
  off_t copied_ = 0;
};

// Children that nothing waits for. Reap takes their exit statuses all the same, so that no zombie stays.
using LeftChildren = std::vector<pid_t>;

void Reap(LeftChildren& left) {
  std::erase_if(left, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

class ChildProcess final : public RunningCommand {
 public:
  ChildProcess(pid_t pid, CommandOutput output, std::shared_ptr<LeftChildren> left_children)
      : pid_(pid), output_(std::move(output)), left_children_(std::move(left_children)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() override {
    if (!ended_.has_value() && !left_) {
      Kill();
      while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    output_.Copy();
    if (!ended_.has_value() && left_) left_children_->push_back(pid_);
  }

  std::optional<std::string> Poll() override {
    if (ended_.has_value()) return ended_;
    Reap(*left_children_);
    int status = 0;
    const pid_t done = waitpid(pid_, &status, WNOHANG);
    output_.Copy();
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
  void Leave() override { left_ = true; }

 private:
  const pid_t pid_;
  CommandOutput output_;
  const std::shared_ptr<LeftChildren> left_children_;
  bool left_ = false;
  std::optional<std::string> ended_;
  int exit_code_ = -1;
};

class ProcessRunner final : public CommandRunner {
 public:
  absl::StatusOr<std::unique_ptr<RunningCommand>> Start(const std::vector<std::string>& arguments) override {
    if (arguments.empty()) return absl::InvalidArgumentError("no program given");
    Reap(*left_children_);
    std::vector<std::string> copy = arguments;
    std::vector<char*> argv;
    for (std::string& argument : copy) argv.push_back(argument.data());
    argv.push_back(nullptr);
    CommandOutput output;
    posix_spawn_file_actions_t files{};
    posix_spawnattr_t attributes{};
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    const int output_fd = output.fd() >= 0 ? output.fd() : STDIN_FILENO;
    posix_spawn_file_actions_adddup2(&files, output_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output_fd, STDERR_FILENO);
    // Our own blocked and ignored signals are not its business.
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) return PosixError("start", arguments[0], error);
    return std::make_unique<ChildProcess>(pid, std::move(output), left_children_);
  }

 private:
  const std::shared_ptr<LeftChildren> left_children_ = std::make_shared<LeftChildren>();
};

}  // namespace

std::unique_ptr<CommandRunner> MakeCommandRunner() {
  return std::make_unique<ProcessRunner>();
}

}  // namespace plimsoll
