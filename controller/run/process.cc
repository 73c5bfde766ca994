#include "controller/run/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

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

absl::StatusOr<std::string> MakePrivateDirectory(const std::string& place) {
  // mkdtemp(3) replaces the six X, and asks for just these.
  std::string directory = absl::StrCat(place, "/plimsoll-XXXXXX");
  if (mkdtemp(directory.data()) == nullptr) return PosixError("mkdtemp", directory, errno);
  return directory;
}

std::string ProgramBeside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

std::string HowItEnded(int status) {
  if (WIFEXITED(status)) return absl::StrCat("exit code ", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) return absl::StrCat("signal ", WTERMSIG(status));
  return "unknown";
}

namespace {

// posix_spawn's attribute objects, destroyed on every path.
struct SpawnSetup {
  SpawnSetup() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
};

}  // namespace

std::string RuntimeDirectory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  struct stat facts{};
  const bool ours = runtime != nullptr && lstat(runtime, &facts) == 0 && S_ISDIR(facts.st_mode) &&
                    facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                    access(runtime, W_OK) == 0;
  return ours ? runtime : "/tmp";
}

namespace {

// The child's half of Start, between fork and exec, where only what is safe in a signal handler may be called. Returns
// where it cannot start the program.
void Become(char* const* argv, const std::array<int, 3>& streams, PipedProcess::Life life, pid_t parent) {
  setsid();
  if (life == PipedProcess::Life::kEndsWithThread) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // Where the parent had ended before.
    if (getppid() != parent) _exit(0);
  }
  for (int stream = 0; stream < 3; ++stream) {
    if (dup2(streams[static_cast<size_t>(stream)], stream) < 0) return;
  }
  // Our own blocked and ignored signals are not its business.
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(argv[0], argv);
}

// Makes both ends above the standard streams, so that neither is lost when the other is put in its place.
absl::Status MakePipe(UniqueFd& read_end, UniqueFd& write_end) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return PosixError("pipe", "", errno);
  for (int& end : ends) {
    if (end > STDERR_FILENO) continue;
    const UniqueFd low(end);
    end = fcntl(low.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  }
  read_end = UniqueFd(ends[0]);
  write_end = UniqueFd(ends[1]);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PipedProcess>> PipedProcess::Start(const std::vector<std::string>& arguments,
                                                                  Life life) {
  if (arguments.empty()) return absl::InvalidArgumentError("no program given");
  auto process = std::unique_ptr<PipedProcess>(new PipedProcess);
  UniqueFd child_input;
  UniqueFd child_output;
  UniqueFd child_errors;
  UniqueFd error_read;
  UniqueFd error_write;
  PLIMSOLL_RETURN_IF_ERROR(MakePipe(child_input, process->input_));
  PLIMSOLL_RETURN_IF_ERROR(MakePipe(process->output_, child_output));
  PLIMSOLL_RETURN_IF_ERROR(MakePipe(process->errors_, child_errors));
  PLIMSOLL_RETURN_IF_ERROR(MakePipe(error_read, error_write));
  for (const UniqueFd* end : {&process->input_, &process->output_, &process->errors_}) {
    fcntl(end->get(), F_SETFL, O_NONBLOCK);
  }
  std::vector<std::string> copy = arguments;
  std::vector<char*> argv;
  argv.reserve(copy.size() + 1);
  for (std::string& argument : copy) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  // Not posix_spawn, which knows no PR_SET_PDEATHSIG.
  process->pid_ = fork();
  if (process->pid_ < 0) return PosixError("fork", "", errno);
  if (process->pid_ == 0) {
    Become(argv.data(), {child_input.get(), child_output.get(), child_errors.get()}, life, parent);
    const int error = errno;
    static_cast<void>(!write(error_write.get(), &error, sizeof(error)));
    _exit(127);
  }
  error_write.Reset();
  int error = 0;
  ssize_t got = 0;
  while ((got = read(error_read.get(), &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  if (got == sizeof(error)) return PosixError("start", arguments[0], error);
  return process;
}

PipedProcess::~PipedProcess() {
  if (pid_ < 0) return;
  Signal(SIGKILL);
  Wait();
}

std::optional<int> PipedProcess::Poll() {
  int status = 0;
  if (!ended_.has_value() && waitpid(pid_, &status, WNOHANG) == pid_) ended_ = status;
  return ended_;
}

void PipedProcess::Wait() {
  int status = 0;
  while (!ended_.has_value()) {
    if (waitpid(pid_, &status, 0) == pid_ || errno != EINTR) ended_ = status;
  }
}

void PipedProcess::Signal(int number) {
  if (!ended_.has_value()) kill(pid_, number);
}

absl::StatusOr<std::unique_ptr<ChildAgent>> ChildAgent::Start(const std::vector<std::string>& roots,
                                                              const std::vector<std::string>& more) {
  auto child = std::unique_ptr<ChildAgent>(new ChildAgent);
  PLIMSOLL_ASSIGN_OR_RETURN(child->directory_, MakePrivateDirectory(RuntimeDirectory()));
  child->address_ = absl::StrCat("unix:", child->directory_, "/agent.sock");

  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return PosixError("pipe", "", errno);
  const UniqueFd read_end(ends[0]);
  child->hold_ = UniqueFd(ends[1]);
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return PosixError("pipe", "", errno);
  const UniqueFd ready(ends[0]);
  UniqueFd ready_write_end(ends[1]);

  SpawnSetup setup;
  posix_spawn_file_actions_adddup2(&setup.files, read_end.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&setup.files, ready_write_end.get(), STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&setup.attributes, &none);
  posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);

  const std::string program = ProgramBeside("plimsoll-agent");
  std::vector<std::string> arguments = {program, "--child", "--listen", child->address_, "--log-level", "error"};
  for (const std::string& root : roots) arguments.insert(arguments.end(), {"--root", root});
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int error = posix_spawn(&child->pid_, program.c_str(), &setup.files, &setup.attributes, argv.data(), environ);
  if (error != 0) {
    child->pid_ = -1;
    return PosixError("start", program, error);
  }
  ready_write_end.Reset();
  // One line when it listens; the end of the pipe when it ended before (its reason is on standard error).
  char byte = 0;
  ssize_t got = 0;
  while ((got = read(ready.get(), &byte, 1)) < 0 && errno == EINTR) {
  }
  if (got <= 0) {
    int status = 0;
    while (waitpid(child->pid_, &status, 0) < 0 && errno == EINTR) {
    }
    child->pid_ = -1;
    return absl::UnavailableError(absl::StrCat(program, " ended before it listened (", HowItEnded(status), ")"));
  }
  return child;
}

ChildAgent::~ChildAgent() {
  hold_.Reset();
  if (pid_ >= 0) {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (directory_.empty()) return;
  unlink(absl::StrCat(directory_, "/agent.sock").c_str());
  rmdir(directory_.c_str());
}

}  // namespace plimsoll
