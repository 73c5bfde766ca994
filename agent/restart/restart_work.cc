#include "agent/restart/restart_work.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <map>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/host/space.h"
#include "agent/restart/restart_phases.h"
#include "agent/restart/restart_trials.h"
#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"
#include "common/integers.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kReportFillingEveryNs = 100 * kNsPerMs;

using RunDirectories = std::vector<std::unique_ptr<RunDirectory>>;

absl::StatusOr<RunDirectories> MakeDirectories(const Sandbox& sandbox, const RestartSetup& setup) {
  RunDirectories directories;
  std::map<std::pair<dev_t, ino_t>, std::string> known;
  for (const std::string& dir : setup.work.dirs()) {
    if (setup.work.dirs_size() > 1) {
      PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, sandbox.OpenDirectory(dir));
      struct stat info{};
      if (fstat(fd.get(), &info) != 0) return PosixError("fstat", dir, errno);
      const auto [first, added] = known.emplace(std::pair(info.st_dev, info.st_ino), dir);
      if (!added) {
        return absl::InvalidArgumentError(
            absl::StrCat(dir, " is the same directory as ", first->second, ": list it once in the plan"));
      }
    }
    PLIMSOLL_ASSIGN_OR_RETURN(directories.emplace_back(),
                              sandbox.MakeRunDirectory(dir, setup.run_id, setup.run_token, setup.host_label));
  }
  return directories;
}

// What the files take of one file system.
struct FilesOfDevice {
  const RunDirectory* first = nullptr;
  uint64_t bytes = 0;
  uint64_t files = 0;
};

// Directories on one file system share its space.
absl::Status CheckRestartSpace(const RunDirectories& directories, const RestartSetup& setup) {
  std::map<dev_t, FilesOfDevice> devices;
  for (const auto& directory : directories) {
    FilesOfDevice& made = devices[directory->device()];
    if (made.first == nullptr) made.first = directory.get();
    made.bytes = SaturatingAdd(made.bytes, setup.BytesOfDir());
    made.files += setup.FilesOfDir();
  }
  for (const auto& [device, made] : devices) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Space space, made.first->MeasureSpace());
    // With --min-free 0 no inodes stay free either, which is how extents are checked.
    const bool nothing_stays = setup.work.has_min_free_bytes() && setup.work.min_free_bytes() == 0;
    PLIMSOLL_RETURN_IF_ERROR(CheckFreeFiles(made.first->path(), space.total_files, space.free_files, made.files,
                                            nothing_stays ? 0 : space.total_files / 20, "--queues"));
    const uint64_t stays = setup.MinFree(space.total_bytes);
    if (space.total_bytes == 0 || LeavesFree(space.free_bytes, made.bytes, stays)) continue;
    return TooLittleSpace(absl::StrCat("the log and queue files in ", made.first->path(),
                                       " and elsewhere on its file system take ", FormatSizeForPeople(made.bytes)),
                          space.free_bytes, stays, kRestartLessBytes);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RestartWork>> RestartWork::Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                                 bool allow_drop_caches,
                                                                 const std::atomic<int64_t>& lease_deadline_ns,
                                                                 WorkSink& sink, const std::string& drop_caches_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(RestartSetup setup, MakeRestartSetup(plan, allow_drop_caches));
  PLIMSOLL_ASSIGN_OR_RETURN(RunDirectories directories, MakeDirectories(sandbox, setup));
  PLIMSOLL_RETURN_IF_ERROR(CheckRestartSpace(directories, setup));
  return std::unique_ptr<RestartWork>(
      new RestartWork(std::move(setup), std::move(directories), lease_deadline_ns, sink, drop_caches_path));
}

WorkKind RestartWork::Kind(const Sandbox& sandbox, bool allow_drop_caches) {
  return {RestartDemand,
          [&sandbox, allow_drop_caches](const v1::HostPlan& plan, const std::atomic<int64_t>& lease_deadline_ns,
                                        WorkSink& sink) -> absl::StatusOr<std::unique_ptr<Work>> {
            return Create(plan, sandbox, allow_drop_caches, lease_deadline_ns, sink);
          }};
}

RestartWork::RestartWork(RestartSetup setup, RunDirectories directories, const std::atomic<int64_t>& lease_deadline_ns,
                         WorkSink& sink, std::string drop_caches_path)
    : setup_(std::move(setup)),
      seen_(directories.size()),
      sink_(sink),
      drop_caches_path_(std::move(drop_caches_path)),
      control_(lease_deadline_ns),
      slots_(setup_.work.queues()) {
  for (auto& directory : directories) {
    sides_.push_back(
        std::make_unique<RestartFiles>(setup_, static_cast<uint32_t>(sides_.size()), std::move(directory)));
  }
}

RestartWork::~RestartWork() {
  Stop("the session ended");
  WaitIdle(StopControl::kNever);
  EndThread();
}

absl::StatusOr<v1::Placed> RestartWork::Look(const v1::Look& look) {
  const std::vector<std::string> expected(look.hosts().begin(), look.hosts().end());
  // Fills in the same figures for the first directory and for each further one.
  const auto look_at = [&](size_t side, auto& placed) -> absl::Status {
    const RunDirectory& directory = sides_[side]->directory();
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, directory.VisibleHosts(expected));
    seen_[side].insert(hosts.begin(), hosts.end());
    PLIMSOLL_ASSIGN_OR_RETURN(const Space space, directory.MeasureSpace());
    for (const std::string& host : seen_[side]) placed.add_visible_hosts(host);
    placed.set_total_bytes(space.total_bytes);
    placed.set_free_bytes(space.free_bytes);
    placed.set_min_free_bytes(setup_.MinFree(space.total_bytes));
    return absl::OkStatus();
  };
  v1::Placed placed;
  for (size_t side = 0; side < sides_.size(); ++side) {
    PLIMSOLL_RETURN_IF_ERROR(side == 0 ? look_at(side, placed) : look_at(side, *placed.add_more()));
  }
  return placed;
}

absl::StatusOr<v1::Prepared> RestartWork::Prepare(const std::function<void(uint64_t, uint64_t)>& progress) {
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kNew) return absl::FailedPreconditionError("prepared already");
    phase_ = Phase::kPreparing;
  }
  const absl::Status status = PrepareAll(progress);
  absl::StatusOr<v1::Prepared> prepared = status.ok() ? DescribePrepared() : status;
  const MutexLock lock(mutex_);
  phase_ = prepared.ok() ? Phase::kReady : Phase::kEnded;
  changed_.NotifyAll();
  return prepared;
}

absl::Status RestartWork::PrepareAll(const std::function<void(uint64_t, uint64_t)>& progress) {
  const uint64_t total_bytes = setup_.BytesOfDir() * sides_.size();
  int64_t reported_ns = MonotonicNowNs();
  progress(0, total_bytes);
  const auto filled = [&](uint64_t bytes) {
    const uint64_t done_bytes = filled_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const int64_t now_ns = MonotonicNowNs();
    if (done_bytes < total_bytes && now_ns - reported_ns < kReportFillingEveryNs) return;
    reported_ns = now_ns;
    progress(done_bytes, total_bytes);
  };
  RestartCaller caller("preparing", control_, calls_, slots_.front());
  try {
    for (const auto& files : sides_) PLIMSOLL_RETURN_IF_ERROR(files->Fill(caller, filled));
    thread_ = StartThread("restart", [this] { RunTrials(); });
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory to fill the log and queue files");
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread to measure restart I/O: ", error.what()));
  }
  return caller.MayCall();
}

absl::StatusOr<v1::Prepared> RestartWork::DescribePrepared() {
  const auto describe = [&](size_t side, auto& prepared) -> absl::Status {
    const RestartFiles& files = *sides_[side];
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, files.directory().VisibleHosts());
    seen_[side].insert(hosts.begin(), hosts.end());
    prepared.set_directory(files.directory().path());
    prepared.set_direct(files.direct());
    prepared.set_direct_refused(files.direct_refused());
    prepared.set_open_flags(files.open_flags());
    for (const std::string& host : seen_[side]) prepared.add_visible_hosts(host);
    return absl::OkStatus();
  };
  v1::Prepared prepared;
  for (size_t side = 0; side < sides_.size(); ++side) {
    PLIMSOLL_RETURN_IF_ERROR(side == 0 ? describe(side, prepared) : describe(side, *prepared.add_more()));
  }
  prepared.set_prepared_bytes(filled_bytes_.load(std::memory_order_relaxed));
  return prepared;
}

absl::Status RestartWork::Do(const v1::Command& command) {
  if (!command.has_restart()) return Work::Do(command);
  const v1::RestartTrial& trial = command.restart();
  PLIMSOLL_RETURN_IF_ERROR(CheckTrial(setup_, trial));
  const MutexLock lock(mutex_);
  if (stopped_) return absl::FailedPreconditionError("measuring was stopped; no trial is taken any more");
  if (phase_ == Phase::kTrial) {
    return absl::FailedPreconditionError(
        absl::StrCat("trial ", trial_, " is still running; trial ", trial.trial(), " must wait for its end"));
  }
  if (phase_ != Phase::kReady) return absl::FailedPreconditionError("the log and queue files are not prepared");
  phase_ = Phase::kTrial;
  trial_ = trial.trial();
  ordered_ = trial;
  changed_.NotifyAll();
  return absl::OkStatus();
}

std::optional<v1::RestartTrial> RestartWork::AwaitTrial() {
  const MutexLock lock(mutex_);
  while (!ordered_.has_value() && !closed_) changed_.Wait(mutex_);
  return std::exchange(ordered_, std::nullopt);
}

void RestartWork::RunTrials() {
  const TrialSurroundings around{setup_, control_, calls_, slots_, drop_caches_path_};
  while (const std::optional<v1::RestartTrial> trial = AwaitTrial()) {
    v1::AgentMessage message;
    *message.mutable_restart() = RunTrial(around, *sides_[trial->side()], *trial);
    {
      const MutexLock lock(mutex_);
      // Before the message, so that a command that answers it is taken.
      phase_ = Phase::kReady;
      delivering_ = true;
    }
    sink_.OnMessage(std::move(message));
    const MutexLock lock(mutex_);
    delivering_ = false;
    changed_.NotifyAll();
  }
}

void RestartWork::Stop(const std::string& /*reason*/) {
  const MutexLock lock(mutex_);
  stopped_ = true;
  control_.StopAt(MonotonicNowNs());
}

std::string RestartWork::State() const {
  const MutexLock lock(mutex_);
  switch (phase_) {
    case Phase::kNew:
    case Phase::kPreparing:
      return "preparing";
    case Phase::kTrial:
      return MonotonicNowNs() < control_.limit_ns() ? "running" : "draining";
    default:
      return "ready";
  }
}

std::vector<v1::InFlight> RestartWork::InFlight(int64_t min_age_ns) const {
  bool filling = false;
  {
    const MutexLock lock(mutex_);
    filling = phase_ == Phase::kPreparing;
  }
  std::vector<v1::InFlight> in_flight;
  const int64_t now_ns = MonotonicNowNs();
  for (const CallSlot& slot : slots_) {
    // Acquire: the file is that of the call, or of a later one.
    const int64_t since_ns = slot.since_ns.load(std::memory_order_acquire);
    if (since_ns == CallSlot::kIdle || now_ns - since_ns < min_age_ns) continue;
    const RestartFile& file = *slot.file.load(std::memory_order_relaxed);
    v1::InFlight& entry = in_flight.emplace_back();
    entry.set_qm(file.stamp.qm);
    entry.set_since_ns(since_ns);
    entry.set_age_ns(now_ns - since_ns);
    entry.set_path(file.path);
    entry.set_filling(filling);
    if (slot.reads.load(std::memory_order_relaxed)) entry.set_read_percent(kOnlyReads);
  }
  return in_flight;
}

uint64_t RestartWork::Progress() const {
  uint64_t progress = calls_.load(std::memory_order_relaxed);
  for (const auto& files : sides_) progress += files->directory().removed_files();
  return progress;
}

std::string RestartWork::Directory() const {
  return absl::StrJoin(sides_, ", ", [](std::string* text, const std::unique_ptr<RestartFiles>& files) {
    absl::StrAppend(text, files->directory().path());
  });
}

bool RestartWork::WaitIdle(int64_t timeout_ns) {
  const auto now = std::chrono::steady_clock::now();
  const auto longest = std::chrono::steady_clock::time_point::max() - now;
  const auto deadline = now + std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds(timeout_ns), longest);
  const MutexLock lock(mutex_);
  while (phase_ == Phase::kPreparing || phase_ == Phase::kTrial || delivering_) {
    if (!changed_.WaitUntil(mutex_, deadline) && std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

v1::Released RestartWork::Release(bool keep_files) {
  EndThread();
  v1::Released released;
  std::vector<std::string> left_behind;
  for (const auto& files : sides_) {
    if (keep_files) {
      files->directory().Keep();
      continue;
    }
    const absl::StatusOr<uint64_t> removed = files->directory().Remove();
    if (removed.ok()) {
      released.set_removed_files(released.removed_files() + *removed);
    } else {
      left_behind.emplace_back(removed.status().message());
    }
  }
  released.set_left_behind(absl::StrJoin(left_behind, "; "));
  return released;
}

void RestartWork::EndThread() {
  {
    const MutexLock lock(mutex_);
    phase_ = Phase::kEnded;
    closed_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  for (const auto& files : sides_) files->Close();
}

}  // namespace plimsoll
