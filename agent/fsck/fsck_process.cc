#include "agent/fsck/fsck_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/fsck/fsck_operations.h"
#include "agent/host/sandbox.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr size_t kLeasePageBytes = 4096;

static_assert(std::atomic<int64_t>::is_always_lock_free, "processes share it");

}  // namespace

absl::StatusOr<LeasePage> LeasePage::Map(UniqueFd fd) {
  void* const memory = mmap(nullptr, kLeasePageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return PosixError("mmap", "the page of the lease", errno);
  return LeasePage(std::move(fd), static_cast<std::atomic<int64_t>*>(memory));
}

absl::StatusOr<LeasePage> LeasePage::Create() {
  UniqueFd fd(memfd_create("plimsoll-lease", MFD_CLOEXEC));
  if (!fd.valid() || ftruncate(fd.get(), kLeasePageBytes) != 0) {
    return PosixError("memfd_create", "the page of the lease", errno);
  }
  return Map(std::move(fd));
}

absl::StatusOr<LeasePage> LeasePage::Open(UniqueFd fd) {
  return Map(std::move(fd));
}

LeasePage::LeasePage(LeasePage&& other) noexcept
    : fd_(std::move(other.fd_)), deadline_ns_(std::exchange(other.deadline_ns_, nullptr)) {}

LeasePage::~LeasePage() {
  if (deadline_ns_ != nullptr) munmap(deadline_ns_, kLeasePageBytes);
}

namespace {

// How often the lease is looked at between two orders, in milliseconds.
constexpr int kLookAtLeaseMs = 50;

// The next packet; none where the other end is gone, or the lease has expired.
std::optional<std::string> NextPacket(const LeasePage& lease) {
  std::string packet(kMostFsckPacketBytes, '\0');
  while (true) {
    if (SystemClock::Read().value >= lease.deadline_ns()) return std::nullopt;
    pollfd wait{kFsckSocketFd, POLLIN, 0};
    const int ready = poll(&wait, 1, kLookAtLeaseMs);
    if (ready < 0 && errno != EINTR) return std::nullopt;
    if (ready <= 0) continue;
    const ssize_t size = recv(kFsckSocketFd, packet.data(), packet.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    packet.resize(static_cast<size_t>(size));
    return packet;
  }
}

bool SendAnswer(const v1::CheckAnswer& answer) {
  const std::string packet = answer.SerializeAsString();
  while (send(kFsckSocketFd, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

int RunFsckProcess(int parent) {
  // The signal is sent at the end of the thread that started this process; one that ended before sent none.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) return 1;
  const absl::StatusOr<LeasePage> lease = LeasePage::Open(UniqueFd(kFsckLeaseFd));
  if (!lease.ok()) return 1;
  const std::optional<std::string> first = NextPacket(*lease);
  v1::CheckSetup setup;
  if (!first.has_value() || !setup.ParseFromString(*first)) return 1;
  v1::CheckAnswer ready;
  ready.set_id(setup.id());
  ready.set_process(setup.process());
  ready.set_started_ns(SystemClock::Read().value);
  const auto sandbox = Sandbox::Create(std::vector<std::string>(setup.roots().begin(), setup.roots().end()), "");
  ready.set_ended_ns(SystemClock::Read().value);
  ready.set_code(static_cast<int32_t>(sandbox.status().code()));
  ready.set_message(std::string(sandbox.status().message()));
  if (!SendAnswer(ready) || !sandbox.ok()) return 1;
  const uint32_t process = setup.process();
  FsckOperations operations(setup, **sandbox, *lease, [process](uint64_t sequence) {
    v1::CheckAnswer progress;
    progress.set_process(process);
    progress.set_acknowledged(sequence);
    SendAnswer(progress);
  });
  while (const std::optional<std::string> packet = NextPacket(*lease)) {
    v1::CheckOrder order;
    if (!order.ParseFromString(*packet) || !SendAnswer(operations.Execute(order))) break;
  }
  // Without destructors: closing takes its time where the storage hangs, and the kernel gives the locks back.
  _exit(0);
}

namespace {

// How often the lease is handed on to the processes.
constexpr int64_t kHandLeaseOnNs = 20 * kNsPerMs;
constexpr int64_t kLongestStartNs = 10 * kNsPerSecond;

int64_t TableNowNs() {
  return SystemClock::Read().value;
}

// posix_spawn's attribute objects, destroyed on every path.
struct FsckSpawnSetup {
  FsckSpawnSetup() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~FsckSpawnSetup() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  FsckSpawnSetup(const FsckSpawnSetup&) = delete;
  FsckSpawnSetup& operator=(const FsckSpawnSetup&) = delete;

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessTable>> ProcessTable::Create(Options options) {
  PLIMSOLL_ASSIGN_OR_RETURN(LeasePage lease, LeasePage::Create());
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return PosixError("eventfd", "", errno);
  std::unique_ptr<ProcessTable> table(new ProcessTable(std::move(options), std::move(lease), std::move(wake)));
  try {
    table->thread_ = std::thread([raw = table.get()] { raw->Run(); });
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread for the processes of the check: ", error.what()));
  }
  return table;
}

ProcessTable::ProcessTable(Options options, LeasePage lease, UniqueFd wake)
    : options_(std::move(options)), lease_(std::move(lease)), wake_(std::move(wake)) {}

ProcessTable::~ProcessTable() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

absl::Status ProcessTable::Do(uint64_t id, const v1::CheckCommand& command) {
  if (command.process() == 0) return absl::InvalidArgumentError("processes are numbered from 1");
  {
    const MutexLock lock(mutex_);
    if (stopped_) return absl::FailedPreconditionError("the check was stopped");
    jobs_.push_back({id, command});
  }
  progress_.fetch_add(1, std::memory_order_relaxed);
  eventfd_write(wake_.get(), 1);
  return absl::OkStatus();
}

void ProcessTable::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    jobs_.clear();
  }
  eventfd_write(wake_.get(), 1);
}

bool ProcessTable::WaitEnded(int64_t timeout_ns) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  const MutexLock lock(mutex_);
  while (!ended_) {
    if (!changed_.WaitUntil(mutex_, deadline)) return ended_;
  }
  return true;
}

std::vector<v1::InFlight> ProcessTable::Overdue(int64_t min_age_ns) const {
  std::vector<v1::InFlight> overdue;
  const int64_t now_ns = TableNowNs();
  const MutexLock lock(mutex_);
  for (v1::InFlight each : overdue_) {
    each.set_age_ns(now_ns - each.since_ns());
    if (each.age_ns() >= min_age_ns) overdue.push_back(std::move(each));
  }
  return overdue;
}

void ProcessTable::Run() {
  bool stopping = false;
  while (true) {
    lease_.set_deadline_ns(options_.lease_deadline_ns->load(std::memory_order_relaxed));
    TakeJobs();
    for (auto& [number, process] : processes_) Receive(number, process);
    Reap();
    AnswerLate();
    PublishOverdue();
    SendAll();
    {
      const MutexLock lock(mutex_);
      stopping = stopped_;
    }
    if (stopping || TableNowNs() >= lease_.deadline_ns()) KillAll();
    if (stopping && processes_.empty()) break;
    Wait();
  }
  const MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

void ProcessTable::Wait() {
  std::vector<pollfd> waits = {{wake_.get(), POLLIN, 0}};
  for (const auto& [number, process] : processes_) {
    waits.push_back({process.socket.get(), POLLIN, 0});
    waits.push_back({process.pid_fd.get(), POLLIN, 0});
  }
  // Deadlines are looked at whenever the lease is handed on.
  const int timeout_ms = processes_.empty() ? -1 : static_cast<int>(kHandLeaseOnNs / kNsPerMs);
  poll(waits.data(), waits.size(), timeout_ms);
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
}

void ProcessTable::TakeJobs() {
  std::deque<Job> jobs;
  {
    const MutexLock lock(mutex_);
    if (!stopped_) jobs = std::exchange(jobs_, {});
  }
  for (const Job& job : jobs) Carry(job);
}

void ProcessTable::Carry(const Job& job) {
  const uint32_t number = job.command.process();
  const int64_t now_ns = TableNowNs();
  if (job.command.has_start()) return StartProcess(job);
  const auto found = processes_.find(number);
  if (found == processes_.end()) {
    return Answer(job.id, number, absl::NotFoundError(absl::StrCat("process ", number, " does not run")), now_ns, 0);
  }
  Process& process = found->second;
  if (job.command.has_kill()) {
    process.kill_id = job.id;
    process.killed_ns = now_ns;
    process.waiting[job.id] = {now_ns + job.command.timeout_ns()};
    kill(process.pid, SIGKILL);
    return;
  }
  v1::CheckOrder order;
  order.set_id(job.id);
  *order.mutable_command() = job.command;
  if (const absl::Status status = Hand(process, order.SerializeAsString()); !status.ok()) {
    return Answer(job.id, number, status, now_ns, 0);
  }
  process.waiting[job.id] = {now_ns + job.command.timeout_ns()};
}

void ProcessTable::StartProcess(const Job& job) {
  const uint32_t number = job.command.process();
  const int64_t now_ns = TableNowNs();
  if (processes_.count(number) != 0 || processes_.size() >= options_.most) {
    return Answer(job.id, number, absl::ResourceExhaustedError("all requested processes exist already"), now_ns, 0);
  }
  absl::StatusOr<Process> process = Spawn();
  if (!process.ok()) return Answer(job.id, number, process.status(), now_ns, 0);
  v1::CheckSetup setup = options_.setup;
  setup.set_id(job.id);
  setup.set_process(number);
  const absl::Status handed = Hand(*process, setup.SerializeAsString());
  const int64_t timeout_ns = job.command.timeout_ns() > 0 ? job.command.timeout_ns() : kLongestStartNs;
  process->waiting[job.id] = {now_ns + timeout_ns};
  processes_[number] = *std::move(process);
  // Where nothing could be handed to it, it has ended, and that is answered as such.
  if (!handed.ok()) kill(processes_[number].pid, SIGKILL);
}

absl::StatusOr<ProcessTable::Process> ProcessTable::Spawn() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return PosixError("socketpair", "", errno);
  Process process;
  process.socket = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  FsckSpawnSetup setup;
  // Above the numbers that they get, so that neither is overwritten before it is copied.
  const UniqueFd socket(fcntl(theirs.get(), F_DUPFD_CLOEXEC, 10));
  const UniqueFd lease(fcntl(lease_.fd(), F_DUPFD_CLOEXEC, 10));
  if (!socket.valid() || !lease.valid()) return PosixError("fcntl", "F_DUPFD", errno);
  posix_spawn_file_actions_adddup2(&setup.files, socket.get(), kFsckSocketFd);
  posix_spawn_file_actions_adddup2(&setup.files, lease.get(), kFsckLeaseFd);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&setup.attributes, &none);
  // Ctrl-C at the agent's terminal is the agent's.
  posix_spawnattr_setpgroup(&setup.attributes, 0);
  posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string program = options_.program;
  std::string option = kFsckProcessOption;
  std::string parent = std::to_string(getpid());
  std::array<char*, 4> argv = {program.data(), option.data(), parent.data(), nullptr};
  const int error = posix_spawn(&process.pid, program.c_str(), &setup.files, &setup.attributes, argv.data(), environ);
  if (error != 0) return PosixError("start", program, error);
  process.pid_fd = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!process.pid_fd.valid()) {
    const int open_error = errno;
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
    return PosixError("pidfd_open", "", open_error);
  }
  return process;
}

absl::Status ProcessTable::Hand(Process& process, const std::string& packet) {
  if (packet.size() > kMostFsckPacketBytes) return absl::InvalidArgumentError("the operation is too large");
  if (send(process.socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
    return absl::OkStatus();
  }
  if (errno == EAGAIN) return absl::ResourceExhaustedError("too many operations wait for the process");
  return PosixError("send", "to the process", errno);
}

void ProcessTable::Receive(uint32_t number, Process& process) {
  std::string packet(kMostFsckPacketBytes, '\0');
  while (true) {
    const ssize_t size = recv(process.socket.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    v1::CheckAnswer answer;
    if (!answer.ParseFromArray(packet.data(), static_cast<int>(size))) continue;
    if (answer.id() == 0) {
      CountGap(process);
      process.acknowledged = answer.acknowledged();
      process.acknowledged_ns = TableNowNs();
      continue;
    }
    answer.set_process(number);
    process.overdue.erase(answer.id());
    // An answer that came too late has been answered for.
    if (process.waiting.erase(answer.id()) != 0) outgoing_.push_back(std::move(answer));
  }
}

void ProcessTable::CountGap(Process& process) {
  if (process.acknowledged_ns == 0) return;
  process.longest_gap_ns = std::max(process.longest_gap_ns, TableNowNs() - process.acknowledged_ns);
}

void ProcessTable::KillAll() {
  for (auto& [number, process] : processes_) kill(process.pid, SIGKILL);
}

void ProcessTable::Reap() {
  for (auto it = processes_.begin(); it != processes_.end();) {
    auto& [number, process] = *it;
    int status = 0;
    if (waitpid(process.pid, &status, WNOHANG) != process.pid) {
      ++it;
      continue;
    }
    const int64_t now_ns = TableNowNs();
    // What it sent before its end is there, all of it.
    Receive(number, process);
    CountGap(process);
    const std::string how = WIFSIGNALED(status) ? absl::StrCat("by signal ", WTERMSIG(status))
                                                : absl::StrCat("with exit code ", WEXITSTATUS(status));
    for (const auto& [id, waiting] : process.waiting) {
      if (id == process.kill_id) {
        Answer(id, number, absl::OkStatus(), process.killed_ns, process.acknowledged, process.longest_gap_ns);
      } else {
        Answer(id, number, absl::AbortedError(absl::StrCat("the process ended ", how)), now_ns, process.acknowledged);
      }
    }
    it = processes_.erase(it);
  }
}

void ProcessTable::AnswerLate() {
  const int64_t now_ns = TableNowNs();
  for (auto& [number, process] : processes_) {
    for (auto it = process.waiting.begin(); it != process.waiting.end();) {
      if (now_ns < it->second.deadline_ns) {
        ++it;
        continue;
      }
      Answer(it->first, number, absl::DeadlineExceededError("the call to the storage did not return in time"), now_ns,
             process.acknowledged);
      process.overdue[it->first] = now_ns;
      it = process.waiting.erase(it);
    }
  }
}

void ProcessTable::PublishOverdue() {
  std::vector<v1::InFlight> overdue;
  for (const auto& [number, process] : processes_) {
    for (const auto& [id, since_ns] : process.overdue) {
      v1::InFlight& each = overdue.emplace_back();
      each.set_qm(number);
      each.set_since_ns(since_ns);
      each.set_path(options_.setup.dir());
    }
  }
  const MutexLock lock(mutex_);
  overdue_ = std::move(overdue);
}

void ProcessTable::Answer(uint64_t id, uint32_t process, const absl::Status& status, int64_t started_ns,
                          uint64_t acknowledged, int64_t longest_gap_ns) {
  v1::CheckAnswer answer;
  answer.set_id(id);
  answer.set_process(process);
  answer.set_code(static_cast<int32_t>(status.code()));
  answer.set_message(std::string(status.message()));
  answer.set_started_ns(started_ns);
  answer.set_ended_ns(TableNowNs());
  answer.set_wall_ns(SystemClock().WallNow().value);
  answer.set_acknowledged(acknowledged);
  answer.set_longest_gap_ns(longest_gap_ns);
  outgoing_.push_back(std::move(answer));
}

void ProcessTable::SendAll() {
  for (v1::CheckAnswer& answer : std::exchange(outgoing_, {})) {
    progress_.fetch_add(1, std::memory_order_relaxed);
    {
      const MutexLock lock(mutex_);
      if (stopped_) return;
    }
    options_.answer(std::move(answer));
  }
}

}  // namespace plimsoll
