#include "agent/ha/ha_work.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kFillProgressNs = 100 * kNsPerMs;
// How often the lease is handed on, and a stopped process is looked at, where nothing else happens.
constexpr int kLeaseTickMs = 10;
constexpr int kStopTickMs = 1;
// An instance that is still there so long after the lease is stopped or hangs, and cannot end by itself.
constexpr int64_t kOverdueNs = 2 * kNsPerSecond;

}  // namespace

absl::StatusOr<std::unique_ptr<HaWork>> HaWork::Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                       const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink,
                                                       const std::string& program) {
  PLIMSOLL_ASSIGN_OR_RETURN(HaSetup setup, MakeHaSetup(plan));
  v1::HaInstanceSetup instances;
  for (const std::string& root : sandbox.roots()) instances.add_roots(root);
  instances.set_run_id(plan.run_id());
  instances.set_run_token(plan.run_token());
  instances.set_host_label(plan.host_label());
  instances.set_host_index(plan.host_index());
  instances.set_frame_interval_ns(plan.frame_interval_ns());
  *instances.mutable_work() = plan.ha();
  // Instances get the roots as this process has resolved them, so the directories must be inside those.
  PLIMSOLL_ASSIGN_OR_RETURN(setup.log.dirs.front(), sandbox.PathOf(setup.log.dirs.front()));
  PLIMSOLL_ASSIGN_OR_RETURN(setup.data_dir, sandbox.PathOf(setup.data_dir));
  instances.mutable_work()->mutable_workload()->set_dir(setup.log.dirs.front());
  instances.mutable_work()->set_data_dir(setup.data_dir);
  std::unique_ptr<HaWork> work(
      new HaWork(std::move(setup), std::move(instances), sandbox, lease_deadline_ns, sink, program));
  PLIMSOLL_RETURN_IF_ERROR(work->MakePlaces());
  work->wake_fd_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!work->wake_fd_.valid()) return PosixError("eventfd", "", errno);
  try {
    work->supervisor_ = StartThread("instances", [raw = work.get()] { raw->Supervise(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread for the instances: ", error.what()));
  }
  return work;
}

WorkKind HaWork::Kind(const Sandbox& sandbox, const std::string& program) {
  return {HaDemand,
          [&sandbox, program](const v1::HostPlan& plan, const std::atomic<int64_t>& lease_deadline_ns,
                              WorkSink& sink) -> absl::StatusOr<std::unique_ptr<Work>> {
            return Create(plan, sandbox, lease_deadline_ns, sink, program);
          }};
}

HaWork::HaWork(HaSetup setup, v1::HaInstanceSetup instances, const Sandbox& sandbox,
               const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink, std::string program)
    : setup_(std::move(setup)),
      instance_setup_(std::move(instances)),
      sandbox_(sandbox),
      lease_deadline_ns_(lease_deadline_ns),
      sink_(sink),
      program_(std::move(program)) {}

HaWork::~HaWork() {
  Stop("the session ended");
  {
    const MutexLock lock(mutex_);
    stop_supervising_ = true;
  }
  Wake();
  if (supervisor_.joinable()) supervisor_.join();
}

absl::Status HaWork::MakePlaces() {
  PLIMSOLL_ASSIGN_OR_RETURN(Place log, MakePlace(setup_.log.dirs.front()));
  places_.push_back(std::move(log));
  if (setup_.data_dir == setup_.log.dirs.front()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(Place data, MakePlace(setup_.data_dir));
  places_.push_back(std::move(data));
  if ((places_[0].made == nullptr) == (places_[1].made == nullptr)) return absl::OkStatus();
  const Place& there = places_[0].made == nullptr ? places_[0] : places_[1];
  return absl::FailedPreconditionError(absl::StrCat(
      there.path, " is there from an earlier session of the drill, but the host's other directory is not"));
}

absl::StatusOr<HaWork::Place> HaWork::MakePlace(const std::string& dir) const {
  const WorkSetup& log = setup_.log;
  Place place;
  place.dir = dir;
  auto made = sandbox_.MakeRunDirectory(dir, log.run_id, log.run_token, log.host_label, /*shared=*/true);
  if (made.ok()) {
    place.made = *std::move(made);
    place.path = place.made->path();
    return place;
  }
  if (!absl::IsAlreadyExists(made.status())) return made.status();
  const auto shared = sandbox_.OpenSharedDirectory(dir, {log.run_id, log.run_token, log.host_label});
  // The directory may be that of an earlier session of this drill, or of another owner.
  if (!shared.ok()) return made.status();
  place.path = (*shared)->path();
  return place;
}

absl::StatusOr<std::set<std::string>> HaWork::HostsIn(const Place& place,
                                                      const std::vector<std::string>& expected) const {
  std::set<std::string> hosts;
  if (place.made != nullptr) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> visible, place.made->VisibleHosts(expected));
    hosts.insert(visible.begin(), visible.end());
    return hosts;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto listed, sandbox_.ListRunDirectories(place.dir));
  for (const v1::RunDirectoryDescription& directory : listed) {
    if (directory.run_id() == setup_.log.run_id) hosts.insert(directory.host_label());
  }
  return hosts;
}

absl::StatusOr<v1::Placed> HaWork::Look(const v1::Look& look) {
  const std::vector<std::string> expected(look.hosts().begin(), look.hosts().end());
  PLIMSOLL_ASSIGN_OR_RETURN(std::set<std::string> hosts, HostsIn(places_.front(), expected));
  if (places_.size() > 1) {
    // A host that shares one of the two directories alone cannot be the partner.
    PLIMSOLL_ASSIGN_OR_RETURN(const std::set<std::string> in_data, HostsIn(data_place(), expected));
    std::erase_if(hosts, [&in_data](const std::string& host) { return !in_data.contains(host); });
  }
  seen_.insert(hosts.begin(), hosts.end());
  v1::Placed placed;
  for (const std::string& host : seen_) placed.add_visible_hosts(host);
  if (places_.front().made == nullptr) return placed;
  PLIMSOLL_ASSIGN_OR_RETURN(const Space space, places_.front().made->MeasureSpace());
  placed.set_total_bytes(space.total_bytes);
  placed.set_free_bytes(space.free_bytes);
  placed.set_min_free_bytes(MinFreeBytes(setup_.log.workload, space.total_bytes));
  return placed;
}

absl::Status HaWork::MayFill() const {
  if (cancelled_.load(std::memory_order_relaxed)) return absl::CancelledError("stopped while preparing");
  if (MonotonicNowNs() >= lease_deadline_ns_.load(std::memory_order_relaxed)) {
    return absl::DeadlineExceededError("the lease expired while preparing: no message from the controller");
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Prepared> HaWork::Prepare(const std::function<void(uint64_t, uint64_t)>& progress) {
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kNew) return absl::FailedPreconditionError("prepared already");
    phase_ = Phase::kPreparing;
  }
  absl::StatusOr<v1::Prepared> prepared = MakeFiles(progress);
  filling_since_ns_.store(0, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  if (prepared.ok() && phase_ != Phase::kPreparing) return absl::CancelledError("stopped while preparing");
  phase_ = prepared.ok() ? Phase::kReady : Phase::kEnded;
  prepared_ = prepared.ok();
  return prepared;
}

absl::StatusOr<v1::Prepared> HaWork::MakeFiles(const std::function<void(uint64_t, uint64_t)>& progress) {
  std::vector<uint32_t> own;
  for (const HaSetup::QueueManager& queue_manager : setup_.queue_managers) {
    if (queue_manager.home == setup_.log.host_label) own.push_back(queue_manager.qm);
  }
  const uint64_t total_bytes = setup_.log.workload.file_size_bytes() * setup_.log.workload.num_files() * own.size();
  v1::Prepared prepared;
  prepared.set_directory(places_.front().path);
  prepared.set_direct(setup_.log.workload.direct() != v1::DIRECT_MODE_OFF);
  int64_t reported_ns = 0;
  for (const uint32_t qm : own) {
    filling_qm_.store(qm, std::memory_order_relaxed);
    if (places_.front().made == nullptr) {
      // Whole, or the earlier session did not end preparing.
      PLIMSOLL_ASSIGN_OR_RETURN(const QmFiles files, OpenQmFiles(setup_, qm, sandbox_, /*for_scan=*/false));
      prepared.set_direct(files.direct);
      prepared.set_direct_refused(files.direct_refused);
      prepared.set_open_flags(files.open_flags);
      continue;
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const MadeFiles made,
                              MakeQmFiles(
                                  setup_, qm, *places_.front().made, *data_place().made,
                                  [this] {
                                    filling_since_ns_.store(MonotonicNowNs(), std::memory_order_relaxed);
                                    return MayFill();
                                  },
                                  [&](uint64_t bytes) {
                                    const uint64_t done_bytes =
                                        filled_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
                                    const int64_t now_ns = MonotonicNowNs();
                                    if (now_ns - reported_ns < kFillProgressNs) return;
                                    reported_ns = now_ns;
                                    progress(done_bytes, total_bytes);
                                  }));
    prepared.set_direct(made.direct);
    prepared.set_direct_refused(made.direct_refused);
    prepared.set_open_flags(made.open_flags);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::set<std::string> hosts, HostsIn(places_.front(), {}));
  seen_.insert(hosts.begin(), hosts.end());
  for (const std::string& host : seen_) prepared.add_visible_hosts(host);
  prepared.set_prepared_bytes(filled_bytes_.load(std::memory_order_relaxed));
  progress(total_bytes, total_bytes);
  return prepared;
}

absl::Status HaWork::Do(const v1::Command& command) {
  if (!command.has_ha()) return Work::Do(command);
  const MutexLock lock(mutex_);
  if (phase_ != Phase::kReady) return absl::FailedPreconditionError("the drill is not prepared, or is over");
  return Enqueue(command.ha());
}

absl::Status HaWork::Enqueue(const v1::HaCommand& command) {
  switch (command.order_case()) {
    case v1::HaCommand::kStart:
      PLIMSOLL_RETURN_IF_ERROR(CheckNew(command.start().instance(), command.start().qm()));
      numbers_[command.start().instance()] = true;
      ++running_;
      break;
    case v1::HaCommand::kScan:
      PLIMSOLL_RETURN_IF_ERROR(CheckNew(command.scan().instance(), command.scan().qm()));
      numbers_[command.scan().instance()] = true;
      ++running_;
      break;
    case v1::HaCommand::kEnd:
      PLIMSOLL_RETURN_IF_ERROR(CheckRunning(command.end().instance()));
      break;
    case v1::HaCommand::kKill:
      PLIMSOLL_RETURN_IF_ERROR(CheckRunning(command.kill().instance()));
      break;
    case v1::HaCommand::kHang:
      PLIMSOLL_RETURN_IF_ERROR(CheckRunning(command.hang().instance()));
      break;
    case v1::HaCommand::kResume:
      PLIMSOLL_RETURN_IF_ERROR(CheckRunning(command.resume().instance()));
      break;
    case v1::HaCommand::kFinish:
      break;
    default:
      return absl::UnimplementedError("this agent does not support this drill command");
  }
  commands_.push_back(command);
  Wake();
  return absl::OkStatus();
}

absl::Status HaWork::CheckNew(uint32_t number, uint32_t qm) const {
  if (setup_.Find(qm) == nullptr) return absl::InvalidArgumentError(absl::StrCat("the plan has no qm", qm));
  if (number == 0) return absl::InvalidArgumentError("an instance's number is at least 1");
  if (!numbers_.contains(number)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("there is, or was, an instance ", number));
}

absl::Status HaWork::CheckRunning(uint32_t number) const {
  const auto found = numbers_.find(number);
  if (found == numbers_.end()) return absl::NotFoundError(absl::StrCat("there is no instance ", number));
  if (!found->second) return absl::FailedPreconditionError(absl::StrCat("instance ", number, " has ended"));
  return absl::OkStatus();
}

void HaWork::Stop(const std::string& /*reason*/) {
  const MutexLock lock(mutex_);
  cancelled_.store(true, std::memory_order_relaxed);
  phase_ = Phase::kEnded;
  commands_.emplace_back().mutable_finish();
  Wake();
}

void HaWork::Abandon(const std::string& /*reason*/) {
  // Filling is cancelled; instances end with the lease.
  const MutexLock lock(mutex_);
  cancelled_.store(true, std::memory_order_relaxed);
  phase_ = Phase::kEnded;
}

std::string HaWork::State() const {
  const MutexLock lock(mutex_);
  if (phase_ == Phase::kNew || phase_ == Phase::kPreparing) return "preparing";
  return running_ > 0 ? "running" : "ready";
}

std::vector<v1::InFlight> HaWork::InFlight(int64_t min_age_ns) const {
  std::vector<v1::InFlight> in_flight;
  const int64_t now_ns = MonotonicNowNs();
  const auto add = [&](uint32_t qm, int64_t since_ns, const std::string& path) {
    if (since_ns == 0 || now_ns - since_ns < min_age_ns) return;
    v1::InFlight& entry = in_flight.emplace_back();
    entry.set_qm(qm);
    entry.set_since_ns(since_ns);
    entry.set_age_ns(now_ns - since_ns);
    entry.set_path(path);
  };
  const MutexLock lock(mutex_);
  for (const auto& instance : instances_) {
    const HaSetup::QueueManager* const queue_manager = setup_.Find(instance->qm());
    const BlockPlace at =
        setup_.ShapeOf(instance->qm()).layout().PlaceOf(instance->board().completed.load(std::memory_order_relaxed));
    add(instance->qm(), instance->board().in_flight_since_ns.load(std::memory_order_relaxed),
        absl::StrCat(setup_.log.dirs.front(), "/plimsoll-", setup_.log.run_id, "/", queue_manager->home, "/",
                     ExtentName(instance->qm(), setup_.log.workload.file_prefix(), at.extent)));
  }
  const size_t instances = in_flight.size();
  add(filling_qm_.load(std::memory_order_relaxed), filling_since_ns_.load(std::memory_order_relaxed),
      places_.front().path);
  if (in_flight.size() > instances) in_flight.back().set_filling(true);
  return in_flight;
}

uint64_t HaWork::Progress() const {
  return messages_.load(std::memory_order_relaxed) + filled_bytes_.load(std::memory_order_relaxed);
}

std::string HaWork::Directory() const {
  return places_.front().path;
}

bool HaWork::WaitIdle(int64_t timeout_ns) {
  const auto wake = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  const MutexLock lock(mutex_);
  while (running_ > 0) {
    if (!changed_.WaitUntil(mutex_, wake) && running_ > 0) return false;
  }
  return true;
}

v1::Released HaWork::Release(bool keep_files) {
  v1::Released released;
  bool prepared = false;
  {
    const MutexLock lock(mutex_);
    prepared = prepared_;
  }
  for (Place& place : places_) {
    // Files that were not all made are of no use to a later session.
    if (keep_files && prepared) {
      if (place.made != nullptr) place.made->Keep();
      continue;
    }
    if (place.made != nullptr) {
      const absl::StatusOr<uint64_t> removed = place.made->Remove();
      if (removed.ok()) {
        released.set_removed_files(released.removed_files() + *removed);
      } else {
        released.set_left_behind(std::string(removed.status().message()));
      }
      continue;
    }
    if (keep_files) continue;
    const auto cleaned = sandbox_.Clean(place.dir, setup_.log.run_id, [] { return absl::OkStatus(); });
    if (!cleaned.ok()) released.set_left_behind(std::string(cleaned.status().message()));
    for (const v1::CleanedDirectory& directory : cleaned.value_or(std::vector<v1::CleanedDirectory>())) {
      released.set_removed_files(released.removed_files() + directory.removed_files());
      // The partner's own session may still hold its directory.
      if (directory.host_label() == setup_.log.host_label && !directory.left().empty()) {
        released.set_left_behind(directory.left());
      }
    }
  }
  return released;
}

void HaWork::Wake() const {
  // Full, it wakes as well.
  eventfd_write(wake_fd_.get(), 1);
}

// The thread that starts instances, passes on their messages and reaps them.

void HaWork::Supervise() {
  while (true) {
    AwaitNews();
    std::deque<v1::HaCommand> commands;
    bool stop = false;
    {
      const MutexLock lock(mutex_);
      commands.swap(commands_);
      stop = stop_supervising_;
    }
    const int64_t lease_ns = lease_deadline_ns_.load(std::memory_order_relaxed);
    for (const auto& instance : instances_) instance->SetLease(lease_ns);
    for (const v1::HaCommand& command : commands) CarryOut(command);
    LookAtInstances();
    if (MonotonicNowNs() - kOverdueNs > lease_ns) KillAll();
    if (stop && instances_.empty()) return;
  }
}

void HaWork::AwaitNews() const {
  std::vector<pollfd> waits = {{wake_fd_.get(), POLLIN, 0}};
  int timeout_ms = instances_.empty() ? -1 : kLeaseTickMs;
  for (const auto& instance : instances_) {
    waits.push_back({instance->socket(), POLLIN, 0});
    if (instance->stopping()) timeout_ms = kStopTickMs;
  }
  poll(waits.data(), waits.size(), timeout_ms);
  eventfd_t ignored = 0;
  if ((waits.front().revents & POLLIN) != 0) eventfd_read(wake_fd_.get(), &ignored);
}

void HaWork::CarryOut(const v1::HaCommand& command) {
  const auto signal = [this](uint32_t number, v1::HaSignalled::Signal which) {
    for (const auto& instance : instances_) {
      if (instance->number() != number) continue;
      std::vector<v1::AgentMessage> messages;
      instance->Signal(which, messages);
      PassOn(std::move(messages));
    }
  };
  switch (command.order_case()) {
    case v1::HaCommand::kStart:
      return StartInstance(command.start(), /*scan=*/false);
    case v1::HaCommand::kScan: {
      v1::HaStart start;
      start.set_instance(command.scan().instance());
      start.set_qm(command.scan().qm());
      return StartInstance(start, /*scan=*/true);
    }
    case v1::HaCommand::kEnd:
      for (const auto& instance : instances_) {
        // An instance that cannot be reached has ended, or ends by the lease.
        if (instance->number() == command.end().instance()) instance->OrderEnd().IgnoreError();
      }
      return;
    case v1::HaCommand::kKill:
      return signal(command.kill().instance(), v1::HaSignalled::SIGNAL_KILL);
    case v1::HaCommand::kHang:
      return signal(command.hang().instance(), v1::HaSignalled::SIGNAL_STOP);
    case v1::HaCommand::kResume:
      return signal(command.resume().instance(), v1::HaSignalled::SIGNAL_RESUME);
    case v1::HaCommand::kFinish:
      return KillAll();
    default:
      return;
  }
}

void HaWork::KillAll() {
  std::vector<v1::AgentMessage> messages;
  for (const auto& instance : instances_) {
    if (!instance->killed()) instance->Signal(v1::HaSignalled::SIGNAL_KILL, messages);
  }
  PassOn(std::move(messages));
}

void HaWork::StartInstance(const v1::HaStart& start, bool scan) {
  {
    // A stop came between the command and now.
    const MutexLock lock(mutex_);
    if (phase_ == Phase::kEnded) cancelled_.store(true, std::memory_order_relaxed);
  }
  absl::StatusOr<std::unique_ptr<InstanceHandle>> instance = absl::CancelledError("the drill is over");
  if (!cancelled_.load(std::memory_order_relaxed)) {
    v1::HaInstanceSetup setup = instance_setup_;
    *setup.mutable_start() = start;
    setup.set_scan(scan);
    instance = InstanceHandle::Start(program_, std::move(setup), lease_deadline_ns_.load(std::memory_order_relaxed));
  }
  if (!instance.ok()) return ReportNotStarted(start, instance.status());
  const MutexLock lock(mutex_);
  instances_.push_back(*std::move(instance));
}

void HaWork::ReportNotStarted(const v1::HaStart& start, const absl::Status& status) {
  std::vector<v1::AgentMessage> messages(1);
  v1::HaEvent& event = *messages.front().mutable_ha()->add_events();
  event.set_instance(start.instance());
  event.set_qm(start.qm());
  event.set_at_ns(MonotonicNowNs());
  event.mutable_ended()->set_reason(v1::HaEnded::REASON_FAILED);
  event.mutable_ended()->set_message(std::string(status.message()));
  event.mutable_ended()->set_exit_code(-1);
  PassOn(std::move(messages));
  OnEnded(start.instance());
}

void HaWork::LookAtInstances() {
  std::vector<std::shared_ptr<InstanceHandle>> left;
  std::vector<uint32_t> ended;
  for (const auto& instance : instances_) {
    PassOn(instance->Look());
    if (instance->ended()) {
      ended.push_back(instance->number());
    } else {
      left.push_back(instance);
    }
  }
  if (ended.empty()) return;
  {
    const MutexLock lock(mutex_);
    instances_.swap(left);
  }
  for (const uint32_t number : ended) OnEnded(number);
}

void HaWork::PassOn(std::vector<v1::AgentMessage> messages) {
  for (v1::AgentMessage& message : messages) {
    messages_.fetch_add(1, std::memory_order_relaxed);
    if (message.has_frames()) {
      sink_.OnFrames(std::move(*message.mutable_frames()));
    } else {
      sink_.OnMessage(std::move(message));
    }
  }
}

void HaWork::OnEnded(uint32_t number) {
  const MutexLock lock(mutex_);
  numbers_[number] = false;
  --running_;
  changed_.NotifyAll();
}

}  // namespace plimsoll
