#include "agent/writer/log_work.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/writer/file_env.h"
#include "agent/writer/step_recorder.h"
#include "agent/writer/worker_threads.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kProgressEvery{100};

}  // namespace

absl::StatusOr<std::unique_ptr<LogWork>> LogWork::Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                         const TargetFiles& targets,
                                                         const std::atomic<int64_t>& lease_deadline_ns,
                                                         WorkSink& sink) {
  PLIMSOLL_ASSIGN_OR_RETURN(WorkSetup setup, MakeWorkSetup(plan));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<LogPlace> places, MakeLogPlaces(sandbox, targets, setup));
  return std::unique_ptr<LogWork>(
      new LogWork(std::move(setup), PatternIntake(plan.log().pattern()), std::move(places), lease_deadline_ns, sink));
}

WorkKind LogWork::Kind(const Sandbox& sandbox, const TargetFiles& targets) {
  return {[](const v1::HostPlan& plan) { return LogDemand(plan.log().workload(), plan.log().steps()); },
          [&sandbox, &targets](const v1::HostPlan& plan, const std::atomic<int64_t>& lease_deadline_ns,
                               WorkSink& sink) -> absl::StatusOr<std::unique_ptr<Work>> {
            return Create(plan, sandbox, targets, lease_deadline_ns, sink);
          }};
}

LogWork::LogWork(WorkSetup setup, PatternIntake intake, std::vector<LogPlace> places,
                 const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink)
    : setup_(std::move(setup)),
      intake_(std::move(intake)),
      places_(std::move(places)),
      sink_(sink),
      control_(lease_deadline_ns),
      read_back_(setup_, places_, control_) {}

LogWork::~LogWork() {
  Stop("the session ended");
  WaitIdle(StopControl::kNever);
  EndThreads().IgnoreError();
}

absl::Status LogWork::Take(const v1::PatternChunk& chunk) {
  return intake_.Take(chunk);
}

absl::StatusOr<v1::Prepared> LogWork::Prepare(const std::function<void(uint64_t, uint64_t)>& progress) {
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kNew) return absl::FailedPreconditionError("prepared already");
    phase_ = Phase::kPreparing;
  }
  absl::Status status = TakeStreams();
  if (status.ok()) status = AwaitFilled(StartWriters(), progress);
  if (status.ok()) status = AgreeOnDirect();
  if (status.ok()) status = StartRecorder();
  absl::StatusOr<v1::Prepared> prepared = status.ok() ? DescribePrepared() : status;
  const MutexLock lock(mutex_);
  phase_ = prepared.ok() ? Phase::kReady : Phase::kEnded;
  changed_.NotifyAll();
  return prepared;
}

absl::Status LogWork::TakeStreams() {
  PLIMSOLL_ASSIGN_OR_RETURN(setup_.streams, intake_.Finish());
  return absl::OkStatus();
}

uint32_t LogWork::StartWriters() {
  const bool spin = setup_.workload.qm() <= UsableCpus();
  uint32_t started = 0;
  try {
    for (uint32_t qm = 1; qm <= setup_.workload.qm(); ++qm) {
      writers_.push_back(std::make_unique<Writer>(
          qm, Writer::Surroundings{.setup = setup_,
                                   .ops = *places_[setup_.dir_of_writer[qm - 1]].ops,
                                   .gate = gate_,
                                   .control = control_,
                                   .before_piece = [this] { return MayFill(); },
                                   .after_piece = [this](uint64_t bytes) { filled_bytes_.fetch_add(bytes); },
                                   .prepared = [this](const absl::Status& status) { OnPrepared(status); },
                                   .spin = spin,
                                   // One writer alone goes where the kernel likes: agents that share a machine would
                                   // all take the first CPU.
                                   .pin = spin && setup_.workload.qm() > 1}));
    }
    // Release: InFlight's threads see the vector whole.
    writers_made_.store(true, std::memory_order_release);
    for (const auto& writer : writers_) {
      writer->Start();
      ++started;
    }
  } catch (const std::exception& error) {
    OnNoThread(absl::StrCat("qm", started + 1), error.what());
  }
  return started;
}

void LogWork::OnNoThread(const std::string& what, const std::string& why) {
  const MutexLock lock(mutex_);
  prepare_error_ = absl::ResourceExhaustedError(absl::StrCat("no thread or no memory for ", what, ": ", why));
  cancelled_.store(true, std::memory_order_relaxed);
}

absl::Status LogWork::AwaitFilled(uint32_t writers, const std::function<void(uint64_t, uint64_t)>& progress) {
  while (true) {
    bool complete = false;
    absl::Status error;
    {
      const auto wake = std::chrono::steady_clock::now() + kProgressEvery;
      const MutexLock lock(mutex_);
      while (prepared_writers_ < writers && changed_.WaitUntil(mutex_, wake)) {
      }
      complete = prepared_writers_ == writers;
      error = prepare_error_;
    }
    progress(filled_bytes_.load(std::memory_order_relaxed), setup_.total_bytes());
    if (complete) return error;
  }
}

absl::Status LogWork::StartRecorder() {
  std::vector<std::string> paths;
  for (const LogPlace& place : places_) paths.insert(paths.end(), place.counted.begin(), place.counted.end());
  counters_ = std::make_unique<HostCounters>(paths);
  try {
    load_.Start(setup_.workload.cpu_load());
    StartSpaceWatch();
    recorder_ = StartThread("recorder", [this] { RunRecorder(); });
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread for the recorder or the CPU load: ", error.what()));
  }
  return absl::OkStatus();
}

void LogWork::StartSpaceWatch() {
  std::vector<WatchedSpace> watched;
  for (LogPlace& place : places_) {
    std::ranges::move(place.growing, std::back_inserter(watched));
    place.growing.clear();
  }
  const bool nothing_stays = setup_.workload.has_min_free_bytes() && setup_.workload.min_free_bytes() == 0;
  if (watched.empty() || nothing_stays) return;
  space_watch_ = std::make_unique<SpaceWatch>(std::move(watched), setup_.workload,
                                              [this](const absl::Status& status) { OnLowSpace(status); });
  space_watch_->Start();
}

void LogWork::OnLowSpace(const absl::Status& status) {
  const MutexLock lock(mutex_);
  if (phase_ != Phase::kArmed || !gate_.begun() || !low_space_.ok()) return;
  low_space_ = status;
  if (stop_reason_.empty()) stop_reason_ = std::string(status.message());
  control_.StopAt(MonotonicNowNs());
}

absl::Status LogWork::MayFill() const {
  if (cancelled_.load(std::memory_order_relaxed)) return absl::CancelledError("stopped while preparing");
  if (MonotonicNowNs() >= control_.lease_deadline_ns()) {
    return absl::DeadlineExceededError("lease expired while preparing: no message from the controller");
  }
  return absl::OkStatus();
}

void LogWork::OnPrepared(const absl::Status& status) {
  const MutexLock lock(mutex_);
  ++prepared_writers_;
  // The first error is the cause; the others follow from it.
  if (!status.ok() && prepare_error_.ok()) {
    prepare_error_ = status;
    cancelled_.store(true, std::memory_order_relaxed);
  }
  changed_.NotifyAll();
}

absl::Status LogWork::AgreeOnDirect() {
  // Each directory's file system accepts it or does not.
  std::vector<std::string> refused(places_.size());
  for (const auto& writer : writers_) {
    std::string& reason = refused[setup_.dir_of_writer[writer->qm() - 1]];
    if (reason.empty()) reason = writer->files().direct_refused();
  }
  for (const auto& writer : writers_) {
    const std::string& reason = refused[setup_.dir_of_writer[writer->qm() - 1]];
    if (!reason.empty()) PLIMSOLL_RETURN_IF_ERROR(writer->files().DropDirect(reason));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Placed> LogWork::Look(const v1::Look& look) {
  const std::vector<std::string> expected(look.hosts().begin(), look.hosts().end());
  // Fills in the same figures for the first directory and for each further one.
  const auto look_at = [&](LogPlace& place, auto& placed) -> absl::Status {
    if (place.directory == nullptr) {
      placed.add_visible_hosts(setup_.host_label);
      return absl::OkStatus();
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, place.directory->VisibleHosts(expected));
    place.seen.insert(hosts.begin(), hosts.end());
    PLIMSOLL_ASSIGN_OR_RETURN(const Space space, place.directory->MeasureSpace());
    // What FilesIn counts for the host itself is made by now.
    constexpr uint64_t kMadeFiles = 3;
    const std::string& dir = setup_.dirs[static_cast<size_t>(&place - &places_.front())];
    PLIMSOLL_RETURN_IF_ERROR(
        CheckFreeFiles(place.path, space.total_files, space.free_files, FilesIn(setup_.workload, dir) - kMadeFiles,
                       MinFreeFiles(setup_.workload, space.total_files), FilesLoweredBy(setup_.workload)));
    for (const std::string& host : place.seen) placed.add_visible_hosts(host);
    placed.set_total_bytes(space.total_bytes);
    placed.set_free_bytes(space.free_bytes);
    placed.set_min_free_bytes(MinFreeBytes(setup_.workload, space.total_bytes));
    return absl::OkStatus();
  };
  v1::Placed placed;
  for (LogPlace& place : places_) {
    PLIMSOLL_RETURN_IF_ERROR(&place == &places_.front() ? look_at(place, placed) : look_at(place, *placed.add_more()));
  }
  return placed;
}

absl::StatusOr<v1::Prepared> LogWork::DescribePrepared() {
  const auto describe = [&](LogPlace& place, auto& prepared) -> absl::Status {
    prepared.set_directory(place.path);
    const auto number = static_cast<size_t>(&place - &places_.front());
    const auto writer = std::ranges::find_if(writers_, [&](const auto& one) { return IsIn(number, one->qm()); });
    const LogFiles& files = (*writer)->files();
    prepared.set_direct(files.direct());
    prepared.set_direct_refused(files.direct_refused());
    prepared.set_open_flags(files.open_flags());
    if (place.directory == nullptr) {
      prepared.add_visible_hosts(setup_.host_label);
      return absl::OkStatus();
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, place.directory->VisibleHosts());
    place.seen.insert(hosts.begin(), hosts.end());
    for (const std::string& host : place.seen) prepared.add_visible_hosts(host);
    return absl::OkStatus();
  };
  v1::Prepared prepared;
  for (LogPlace& place : places_) {
    PLIMSOLL_RETURN_IF_ERROR(&place == &places_.front() ? describe(place, prepared)
                                                        : describe(place, *prepared.add_more()));
  }
  prepared.set_prepared_bytes(filled_bytes_.load(std::memory_order_relaxed));
  for (const uint64_t bytes : places_.front().file_bytes) prepared.add_file_bytes(bytes);
  return prepared;
}

int64_t LogWork::StepNs(uint32_t step) const {
  const MutexLock lock(mutex_);
  if (step >= setup_.steps.size()) return 0;
  // Neither is above what a plan may ask for (work_setup.cc), so that the sum fits.
  return setup_.steps[step].warmup_ns + setup_.steps[step].duration_ns;
}

v1::Armed LogWork::Arm(const v1::Arm& arm) {
  const MutexLock lock(mutex_);
  v1::Armed armed;
  armed.set_step(arm.step());
  armed.set_start_ns(arm.start_ns());
  const int64_t now_ns = MonotonicNowNs();
  armed.set_now_ns(now_ns);
  armed.set_late(true);
  const bool open = phase_ == Phase::kReady || phase_ == Phase::kArmed;
  // A host without a writer in the step has nothing to start.
  if (!open || arm.step() >= setup_.steps.size() || !setup_.AnyWrites(arm.step())) return armed;
  // Differences are not made: they may not fit in 64 bits.
  if (arm.start_ns() < now_ns + StartGate::kLeastLeadNs || arm.start_ns() > now_ns + StartGate::kMostLeadNs) {
    if (gate_.Disarm()) phase_ = Phase::kReady;
    return armed;
  }
  if (!gate_.Arm(arm.step(), arm.start_ns())) return armed;
  phase_ = Phase::kArmed;
  stop_reason_.clear();
  step_end_ns_ = setup_.TimesOf(arm.step(), arm.start_ns()).end_ns();
  armed.set_late(false);
  return armed;
}

void LogWork::Stop(const std::string& reason) {
  const MutexLock lock(mutex_);
  if (phase_ == Phase::kNew || phase_ == Phase::kPreparing) cancelled_.store(true, std::memory_order_relaxed);
  if (phase_ == Phase::kReadingBack) read_back_.Stop(reason);
  if (phase_ != Phase::kArmed) return;
  if (stop_reason_.empty()) stop_reason_ = reason;
  control_.StopAt(MonotonicNowNs());
  // A step that has not begun begins now, and ends at once like any other.
  gate_.OpenNow();
}

absl::Status LogWork::Do(const v1::Command& command) {
  if (command.has_add_step()) return Add(command.add_step());
  if (command.has_read_back()) return StartReadBack(command.read_back());
  if (!command.has_stop_trace()) return SteppedWork::Do(command);
  stop_trace_at_ns_.store(command.stop_trace().at_ns(), std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status LogWork::Add(const v1::AddStep& add) {
  const MutexLock lock(mutex_);
  if (phase_ != Phase::kReady) return absl::FailedPreconditionError("a step can be added between steps alone");
  return setup_.Add(add);
}

absl::Status LogWork::StartReadBack(const v1::ReadBack& order) {
  std::thread previous;
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kReady) return absl::FailedPreconditionError("logs can be read back between steps alone");
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<WrittenLog> logs, read_back_.Begin(order.step()));
    previous = std::exchange(reader_, std::thread());
    try {
      reader_ =
          StartThread("read back", [this, step = order.step(), logs = std::move(logs)] { RunReadBack(step, logs); });
      phase_ = Phase::kReadingBack;
    } catch (const std::exception& error) {
      reader_ = std::move(previous);
      return absl::ResourceExhaustedError(absl::StrCat("no thread to read the logs back: ", error.what()));
    }
  }
  // It has reported, and needs the mutex once more.
  if (previous.joinable()) previous.join();
  return absl::OkStatus();
}

void LogWork::RunReadBack(uint32_t step, const std::vector<WrittenLog>& logs) {
  v1::AgentMessage message;
  *message.mutable_read_back() = read_back_.Run(step, logs);
  {
    const MutexLock lock(mutex_);
    // The sink takes one call at a time.
    while (delivering_) changed_.Wait(mutex_);
    // Before the message, so that an Arm that answers it is taken.
    phase_ = Phase::kReady;
    delivering_ = true;
    changed_.NotifyAll();
  }
  sink_.OnMessage(std::move(message));
  const MutexLock lock(mutex_);
  delivering_ = false;
  changed_.NotifyAll();
}

std::string LogWork::State() const {
  const MutexLock lock(mutex_);
  switch (phase_) {
    case Phase::kNew:
    case Phase::kPreparing:
      return "preparing";
    case Phase::kArmed:
      if (!gate_.begun()) return "armed";
      return MonotonicNowNs() < std::min(step_end_ns_, control_.limit_ns()) ? "running" : "draining";
    case Phase::kReadingBack:
      return "reading back";
    default:
      return "ready";
  }
}

std::vector<v1::InFlight> LogWork::InFlight(int64_t min_age_ns) const {
  std::vector<v1::InFlight> in_flight;
  if (!writers_made_.load(std::memory_order_acquire)) return in_flight;
  const int64_t now_ns = MonotonicNowNs();
  for (const auto& writer : writers_) {
    // Acquire: the extent is that of the write that the mark shows.
    const int64_t since_ns = writer->state().mark.load(std::memory_order_acquire);
    if (since_ns <= 0 || now_ns - since_ns < min_age_ns) continue;
    v1::InFlight& entry = in_flight.emplace_back();
    entry.set_qm(writer->qm());
    entry.set_since_ns(since_ns);
    entry.set_age_ns(now_ns - since_ns);
    entry.set_filling(writer->preparing());
    // All steps read the same share: those that a search adds read as much as its first.
    if (!entry.filling()) entry.set_read_percent(setup_.steps.front().read_percent);
    entry.set_path(PathAt(*writer));
  }
  if (std::optional<v1::InFlight> read = read_back_.InFlight(now_ns); read && read->age_ns() >= min_age_ns) {
    in_flight.push_back(*std::move(read));
  }
  return in_flight;
}

std::string LogWork::PathAt(const Writer& writer) const {
  const FileOps& ops = *places_[setup_.dir_of_writer[writer.qm() - 1]].ops;
  if (!setup_.regions.empty()) return ops.PathOf(setup_.FileOf(writer.qm()));
  const auto filled = static_cast<uint32_t>(writer.filled_bytes() / setup_.workload.file_size_bytes());
  const uint32_t extent = writer.preparing() ? std::min(filled, setup_.workload.num_files() - 1)
                                             : writer.state().extent.load(std::memory_order_relaxed);
  return ops.PathOf(ExtentName(writer.qm(), setup_.workload.file_prefix(), extent));
}

uint64_t LogWork::Progress() const {
  uint64_t progress = filled_bytes_.load(std::memory_order_relaxed) + read_back_.progress();
  for (const LogPlace& place : places_) progress += place.directory ? place.directory->removed_files() : 0;
  if (!writers_made_.load(std::memory_order_acquire)) return progress;
  for (const auto& writer : writers_) {
    progress += writer->state().writes.load(std::memory_order_relaxed);
    progress += writer->state().reads.load(std::memory_order_relaxed);
  }
  return progress;
}

std::string LogWork::Directory() const {
  if (places_.front().directory == nullptr) return "";
  return absl::StrJoin(places_, ", ",
                       [](std::string* text, const LogPlace& place) { absl::StrAppend(text, place.path); });
}

bool LogWork::WaitIdle(int64_t timeout_ns) {
  const auto now = std::chrono::steady_clock::now();
  const auto longest = std::chrono::steady_clock::time_point::max() - now;
  const auto deadline = now + std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds(timeout_ns), longest);
  const MutexLock lock(mutex_);
  while (phase_ == Phase::kPreparing || phase_ == Phase::kArmed || phase_ == Phase::kReadingBack || delivering_) {
    if (!changed_.WaitUntil(mutex_, deadline) && std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

v1::Released LogWork::Release(bool keep_files) {
  v1::Released released;
  std::vector<std::string> left_behind;
  const auto add = [&](const absl::StatusOr<uint64_t>& removed) {
    if (removed.ok()) {
      released.set_removed_files(released.removed_files() + *removed);
    } else {
      left_behind.emplace_back(removed.status().message());
    }
  };
  add(EndThreads());
  for (const LogPlace& place : places_) {
    // Files that the plan gave by their paths stay: they exist, or are kept.
    if (place.directory == nullptr) continue;
    if (keep_files) {
      place.directory->Keep();
      continue;
    }
    add(place.directory->Remove());
  }
  released.set_left_behind(absl::StrJoin(left_behind, "; "));
  return released;
}

absl::StatusOr<uint64_t> LogWork::EndThreads() {
  std::thread reader;
  {
    const MutexLock lock(mutex_);
    // One that a command has started since the caller found the work idle.
    if (phase_ == Phase::kReadingBack) read_back_.Stop("the session ended");
    while (phase_ == Phase::kReadingBack) changed_.Wait(mutex_);
    phase_ = Phase::kEnded;
    reader = std::exchange(reader_, std::thread());
  }
  if (reader.joinable()) reader.join();
  gate_.Close();
  for (const auto& writer : writers_) writer->Join();
  if (recorder_.joinable()) recorder_.join();
  space_watch_.reset();
  uint64_t removed = 0;
  absl::Status status;
  for (const LogPlace& place : places_) {
    if (!began_step_) {
      const absl::StatusOr<uint64_t> of_place = place.ops->RemoveNew();
      removed += of_place.value_or(0);
      status.Update(of_place.status());
    }
    place.ops->Close();
  }
  PLIMSOLL_RETURN_IF_ERROR(status);
  return removed;
}

void LogWork::RunRecorder() {
  uint64_t arming = 0;
  while (const auto armed = gate_.AwaitArming(arming)) {
    // From the arming on, since the start itself belongs to the writers.
    std::vector<int> tids;
    tids.reserve(writers_.size());
    for (const auto& writer : writers_) tids.push_back(writer->tid());
    counters_->Reset(tids);
    const auto start = gate_.AwaitStart(arming, StepRecorder::kTickNs, 0);
    if (!start) return;
    arming = start->arming;
    began_step_ = true;
    load_.Begin();
    RecordStep(*start);
  }
}

void LogWork::RecordStep(const StartGate::Start& start) {
  std::vector<TallyParams> params;
  std::vector<WriterState*> states;
  for (const auto& writer : writers_) {
    if (!setup_.Writes(start.step, writer->qm())) continue;
    params.push_back(setup_.TallyOf(start.step, start.start_ns, writer->qm()));
    states.push_back(&writer->state());
  }
  StepRecorder::Hooks hooks;
  hooks.sample_host = [this] { return counters_->Sample(); };
  hooks.describe_failure = [this](uint32_t qm, const WriteFailure& failure) {
    return FaultOf(writers_[qm - 1]->Describe(failure), qm);
  };
  StepRecorder recorder(params, states, control_, stop_trace_at_ns_, std::move(hooks), sink_);
  // The gate was asked to wake this thread a tick after the start; one that was stopped opens earlier.
  int64_t wake_ns = std::min(MonotonicNowNs(), start.start_ns + StepRecorder::kTickNs);
  while (!recorder.done()) {
    SleepUntilNs(wake_ns);
    const int64_t now_ns = MonotonicNowNs();
    wake_ns = recorder.Poll(now_ns, now_ns - wake_ns);
  }
  load_.End();

  std::string reason;
  absl::Status low_space;
  {
    const MutexLock lock(mutex_);
    reason = stop_reason_;
    low_space = std::exchange(low_space_, absl::OkStatus());
  }
  v1::StepDone done = recorder.Finish(reason);
  // All writers may have ended before the watch stopped them.
  if (!low_space.ok() && !done.stopped().empty()) sink_.OnFault(FaultOf(low_space, 0));
  {
    const MutexLock lock(mutex_);
    read_back_.NoteStep(start.step, params, states);
    // Writers are at the gate: what they showed is cleared before anything can begin again.
    for (WriterState* state : states) state->Reset();
    control_.Clear();
    low_space_ = absl::OkStatus();
    gate_.End();
    // Before the message, so that an Arm that answers it is taken.
    phase_ = Phase::kReady;
    delivering_ = true;
  }
  sink_.OnStepDone(std::move(done));
  const MutexLock lock(mutex_);
  delivering_ = false;
  changed_.NotifyAll();
}

v1::Fault LogWork::FaultOf(const absl::Status& status, uint32_t qm) {
  v1::Fault fault;
  fault.set_code(static_cast<int32_t>(status.code()));
  fault.set_message(std::string(status.message()));
  fault.set_qm(qm);
  return fault;
}

}  // namespace plimsoll
