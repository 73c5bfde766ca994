#include "agent/fsck/fsck_work.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "agent/fsck/fsck_operations.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr uint32_t kMostFsckFiles = 1000;
constexpr uint32_t kMostFsckPages = 1000;
constexpr uint32_t kMostFsckProcesses = 1000;

uint64_t FileBytes(const v1::CheckWork& check) {
  return FsckPageOffset(check.pages());
}

// The file that CheckReplace makes beside the others is one more.
WorkDemand FsckDemandOf(const v1::HostPlan& plan) {
  const v1::CheckWork& check = plan.check();
  WorkDemand demand;
  demand.bytes.value = (uint64_t{check.files()} + 1) * FileBytes(check);
  demand.bytes.asked = absl::StrCat("asks for ", FormatSize(demand.bytes.value), " bytes of files for the check");
  demand.bytes.lowered_by = "--level";
  demand.files.value = uint64_t{check.files()} + 1;
  demand.files.asked = absl::StrCat("asks for ", demand.files.value, " files for the check");
  demand.threads.value = check.processes();
  demand.threads.asked = absl::StrCat("asks for ", check.processes(), " processes for the check");
  demand.threads.lowered_by = "--level";
  return demand;
}

}  // namespace

WorkKind FsckWork::Kind(const Sandbox& sandbox) {
  return {FsckDemandOf,
          [&sandbox](const v1::HostPlan& plan, const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink)
              -> absl::StatusOr<std::unique_ptr<Work>> { return Create(plan, sandbox, lease_deadline_ns, sink); }};
}

absl::StatusOr<std::unique_ptr<FsckWork>> FsckWork::Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                           const std::atomic<int64_t>& lease_deadline_ns,
                                                           WorkSink& sink, const std::string& program) {
  const v1::CheckWork& check = plan.check();
  std::array<uint8_t, 16> token{};
  if (!plan.has_check() || check.files() == 0 || check.pages() == 0 || check.processes() == 0) {
    return absl::InvalidArgumentError("the plan asks for no check");
  }
  if (check.files() > kMostFsckFiles || check.pages() > kMostFsckPages || check.processes() > kMostFsckProcesses) {
    return absl::InvalidArgumentError("a check has at most 1000 files, 1000 pages in each, and 1000 processes");
  }
  if (plan.run_token().size() != token.size()) return absl::InvalidArgumentError("run_token must be 16 bytes");
  std::copy_n(plan.run_token().begin(), token.size(), token.begin());
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<RunDirectory> directory,
                            sandbox.MakeRunDirectory(check.dir(), plan.run_id(), token, plan.host_label()));
  PLIMSOLL_ASSIGN_OR_RETURN(const Space space, directory->MeasureSpace());
  const uint64_t need = (uint64_t{check.files()} + 1) * FileBytes(check);
  const uint64_t stays = MinFreeBytes(std::nullopt, space.total_bytes);
  if (space.total_bytes > 0 && !LeavesFree(space.free_bytes, need, stays)) {
    return absl::ResourceExhaustedError(absl::StrCat(directory->path(), ": ", FormatSizeForPeople(space.free_bytes),
                                                     " are free; the check needs ", FormatSizeForPeople(need),
                                                     " and leaves ", FormatSizeForPeople(stays), " free"));
  }
  return std::unique_ptr<FsckWork>(new FsckWork(plan, sandbox, lease_deadline_ns, sink, program, std::move(directory)));
}

FsckWork::FsckWork(v1::HostPlan plan, const Sandbox& sandbox, const std::atomic<int64_t>& lease_deadline_ns,
                   WorkSink& sink, std::string program, std::unique_ptr<RunDirectory> directory)
    : plan_(std::move(plan)),
      sandbox_(sandbox),
      lease_deadline_ns_(lease_deadline_ns),
      sink_(sink),
      program_(std::move(program)),
      directory_(std::move(directory)) {}

FsckWork::~FsckWork() = default;

absl::StatusOr<v1::Placed> FsckWork::Look(const v1::Look& look) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> visible,
                            directory_->VisibleHosts({look.hosts().begin(), look.hosts().end()}));
  seen_.insert(visible.begin(), visible.end());
  PLIMSOLL_ASSIGN_OR_RETURN(const Space space, directory_->MeasureSpace());
  v1::Placed placed;
  for (const std::string& host : seen_) placed.add_visible_hosts(host);
  placed.set_total_bytes(space.total_bytes);
  placed.set_free_bytes(space.free_bytes);
  placed.set_min_free_bytes(MinFreeBytes(std::nullopt, space.total_bytes));
  return placed;
}

absl::Status FsckWork::SyncDirectories() const {
  // From that of the files to that in which the run's directory is: a name that was made outlives the storage's server.
  std::string path = absl::StrCat(directory_->path(), "/", FsckFileName(0));
  const size_t above = directory_->path().rfind('/', directory_->path().rfind('/') - 1);
  for (size_t at = path.rfind('/'); at >= above && at != 0 && at != std::string::npos; at = path.rfind('/')) {
    path.resize(at);
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // One that may be written to and not be read is somebody else's.
    if (!fd.valid() && errno == EACCES) continue;
    if (!fd.valid()) return PosixError("open", path, errno);
    if (fsync(fd.get()) != 0) return PosixError("fsync", path, errno);
  }
  return absl::OkStatus();
}

absl::Status FsckWork::MakeFile(uint32_t number) {
  const std::string name = FsckFileName(number);
  const std::string path = absl::StrCat(directory_->path(), "/", name);
  if (stopped_.load(std::memory_order_relaxed)) return absl::CancelledError("stopped while preparing");
  if (SystemClock::Read().value >= lease_deadline_ns_.load(std::memory_order_relaxed)) {
    return absl::DeadlineExceededError("lease expired while preparing: no message from the controller");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, directory_->CreateFile(name, O_RDWR | O_DSYNC));
  PageStamp stamp;
  std::copy_n(plan_.run_token().begin(), stamp.run_token.size(), stamp.run_token.begin());
  stamp.host_index = plan_.host_index();
  FsckPageBytes page;
  FillFsckPage(stamp, page);
  const ssize_t written = pwrite(fd.get(), page.bytes.data(), page.bytes.size(), 0);
  if (written < 0) return PosixError("pwrite", path, errno);
  if (static_cast<size_t>(written) != page.bytes.size()) {
    return absl::DataLossError(absl::StrCat("pwrite ", path, ": only ", written, " bytes were written"));
  }
  // The rest is a hole, so that pages that no check has written read as zeros.
  if (ftruncate(fd.get(), static_cast<off_t>(FileBytes(plan_.check()))) != 0)
    return PosixError("ftruncate", path, errno);
  files_made_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::StatusOr<v1::Prepared> FsckWork::Prepare(const std::function<void(uint64_t, uint64_t)>& /*progress*/) {
  for (uint32_t number = 0; number < plan_.check().files(); ++number) PLIMSOLL_RETURN_IF_ERROR(MakeFile(number));
  PLIMSOLL_RETURN_IF_ERROR(SyncDirectories());
  directory_->ExpectFile(FsckFileName(plan_.check().files()));
  ProcessTable::Options options;
  options.program = program_;
  for (const std::string& root : sandbox_.roots()) options.setup.add_roots(root);
  options.setup.set_dir(plan_.check().dir());
  options.setup.set_run_id(plan_.run_id());
  options.setup.set_run_token(plan_.run_token());
  options.setup.set_host_label(plan_.host_label());
  options.setup.set_host_index(plan_.host_index());
  options.setup.set_spare_file(plan_.check().files());
  options.most = plan_.check().processes();
  options.lease_deadline_ns = &lease_deadline_ns_;
  options.answer = [this](v1::CheckAnswer answer) {
    v1::AgentMessage message;
    *message.mutable_check_answer() = std::move(answer);
    sink_.OnMessage(std::move(message));
  };
  PLIMSOLL_ASSIGN_OR_RETURN(std::shared_ptr<ProcessTable> table, ProcessTable::Create(std::move(options)));
  {
    const MutexLock lock(mutex_);
    processes_ = std::move(table);
  }
  if (stopped_.load(std::memory_order_relaxed)) return absl::CancelledError("stopped while preparing");
  v1::Prepared prepared;
  prepared.set_directory(directory_->path());
  for (const std::string& host : seen_) prepared.add_visible_hosts(host);
  prepared.set_prepared_bytes(uint64_t{plan_.check().files()} * kStampedPageBytes);
  return prepared;
}

std::shared_ptr<ProcessTable> FsckWork::processes() const {
  const MutexLock lock(mutex_);
  return processes_;
}

absl::Status FsckWork::Do(const v1::Command& command) {
  if (!command.has_check()) return absl::UnimplementedError("a check does not support this command");
  const std::shared_ptr<ProcessTable> table = processes();
  if (table == nullptr) return absl::FailedPreconditionError("the check is not prepared");
  return table->Do(command.id(), command.check());
}

void FsckWork::Stop(const std::string& /*reason*/) {
  stopped_.store(true, std::memory_order_relaxed);
  if (const std::shared_ptr<ProcessTable> table = processes(); table != nullptr) table->Stop();
}

std::vector<v1::InFlight> FsckWork::InFlight(int64_t min_age_ns) const {
  const std::shared_ptr<ProcessTable> table = processes();
  return table == nullptr ? std::vector<v1::InFlight>() : table->Overdue(min_age_ns);
}

uint64_t FsckWork::Progress() const {
  const std::shared_ptr<ProcessTable> table = processes();
  return files_made_.load(std::memory_order_relaxed) + directory_->removed_files() +
         (table == nullptr ? 0 : table->Progress());
}

bool FsckWork::WaitIdle(int64_t timeout_ns) {
  const std::shared_ptr<ProcessTable> table = processes();
  return table == nullptr || table->WaitEnded(timeout_ns);
}

v1::Released FsckWork::Release(bool keep_files) {
  {
    const MutexLock lock(mutex_);
    processes_ = nullptr;
  }
  v1::Released released;
  if (keep_files) {
    directory_->Keep();
    return released;
  }
  const absl::StatusOr<uint64_t> removed = directory_->Remove();
  if (removed.ok()) {
    released.set_removed_files(*removed);
  } else {
    released.set_left_behind(std::string(removed.status().message()));
  }
  return released;
}

}  // namespace plimsoll
