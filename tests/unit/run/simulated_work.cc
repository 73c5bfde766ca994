#include "tests/unit/run/simulated_work.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/worker_threads.h"
#include "agent/writer/write_loop.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kProgressEveryNs = 100 * kNsPerMs;
constexpr int64_t kLongNs = 1'000'000 * kNsPerSecond;

}  // namespace

absl::StatusOr<std::unique_ptr<Work>> SimulatedWork::Create(const v1::HostPlan& plan, const Surroundings& around,
                                                            const std::atomic<int64_t>& lease_deadline_ns,
                                                            WorkSink& sink) {
  PLIMSOLL_ASSIGN_OR_RETURN(WorkSetup setup, MakeWorkSetup(plan));
  if (setup.workload.qm() != 1) return absl::UnimplementedError("a simulated agent has one writer");
  return std::make_unique<SimulatedWork>(std::move(setup), around, lease_deadline_ns, sink);
}

SimulatedWork::SimulatedWork(WorkSetup setup, const Surroundings& around, const std::atomic<int64_t>& lease_deadline_ns,
                             WorkSink& sink)
    : setup_(std::move(setup)),
      around_(around),
      sink_(sink),
      control_(lease_deadline_ns),
      files_(setup_.FilesOf(1), around_.storage) {}

SimulatedWork::~SimulatedWork() {
  Stop("the session ended");
  WaitIdle(kLongNs);
  EndWriter();
}

void SimulatedWork::Wait(int64_t until_ns) const {
  const MutexLock lock(mutex_);
  around_.clock.WaitUntil(mutex_, changed_, {until_ns});
}

absl::StatusOr<v1::Prepared> SimulatedWork::Prepare(const std::function<void(uint64_t, uint64_t)>& progress) {
  phase_ = Phase::kPreparing;
  writer_ = std::thread([this] { RunWriter(); });
  around_.world.AwaitNewThread();
  while (!filled_) {
    const int64_t wake_ns = around_.clock.Now().value + kProgressEveryNs;
    while (!filled_ && around_.clock.Now().value < wake_ns) Wait(wake_ns);
    progress(filled_bytes_, setup_.total_bytes());
  }
  phase_ = fill_status_.ok() ? Phase::kReady : Phase::kEnded;
  PLIMSOLL_RETURN_IF_ERROR(fill_status_);
  v1::Prepared prepared;
  prepared.set_directory(around_.storage.directory());
  prepared.set_direct(files_.direct());
  prepared.set_open_flags(files_.open_flags());
  prepared.set_prepared_bytes(filled_bytes_);
  return prepared;
}

absl::Status SimulatedWork::MayFill() const {
  if (cancelled_) return absl::CancelledError("stopped while preparing");
  if (around_.clock.Now().value >= control_.lease_deadline_ns()) {
    return absl::DeadlineExceededError("lease expired while preparing: no message from the controller");
  }
  return absl::OkStatus();
}

absl::Status SimulatedWork::Fill() {
  std::vector<uint64_t> sizes = setup_.FilesOf(1).block_bytes;
  for (const uint64_t bytes : LogFiles::ChunkSizes(setup_.workload.file_size_bytes())) sizes.push_back(bytes);
  source_ = std::make_unique<BlockSource>(BlockSource::Identity{setup_.run_token, setup_.host_index, 1}, sizes);
  const absl::Status filled = files_.Prepare(
      *source_,
      [this] {
        state_.mark.store(around_.clock.Now().value, std::memory_order_relaxed);
        return MayFill();
      },
      [this](uint64_t bytes) { filled_bytes_ += bytes; });
  state_.mark.store(WriterState::kIdle, std::memory_order_relaxed);
  return filled;
}

void SimulatedWork::RunWriter() {
  Wait(around_.clock.Now().value);
  fill_status_ = Fill();
  filled_ = true;
  around_.world.Changed();
  while (fill_status_.ok() && phase_ != Phase::kEnded) {
    if (phase_ != Phase::kArmed || begun_) {
      Wait(around_.clock.Now().value + kLongNs);
    } else if (around_.clock.Now().value < start_ns_ && stop_reason_.empty()) {
      Wait(start_ns_);
    } else {
      BeginStep();
      Env env{*this};
      RunWriteLoop(setup_.LoopOf(step_, start_ns_, 1), control_, *source_, state_, env);
    }
  }
  writer_over_ = true;
  around_.world.Changed();
  around_.world.LeaveWorld();
}

int64_t SimulatedWork::Env::Write(uint32_t /*extent*/, uint64_t offset_bytes, const std::byte* data,
                                  size_t size_bytes) const {
  EXPECT_LT(Now(), work.control_.lease_deadline_ns()) << "a write starts after the lease: " << work.Directory();
  return work.around_.storage.Write(-1, offset_bytes, data, size_bytes);
}

v1::Armed SimulatedWork::Arm(const v1::Arm& arm) {
  v1::Armed armed;
  armed.set_step(arm.step());
  armed.set_start_ns(arm.start_ns());
  const int64_t now_ns = around_.clock.Now().value;
  armed.set_now_ns(now_ns);
  armed.set_late(true);
  if ((phase_ != Phase::kReady && phase_ != Phase::kArmed) || begun_ || arm.step() >= setup_.steps.size()) return armed;
  phase_ = Phase::kReady;
  if (arm.start_ns() < now_ns + StartGate::kLeastLeadNs) return armed;
  phase_ = Phase::kArmed;
  step_ = arm.step();
  start_ns_ = arm.start_ns();
  stop_reason_.clear();
  armed.set_late(false);
  around_.world.Changed();
  return armed;
}

void SimulatedWork::BeginStep() {
  begun_ = true;
  const std::vector<TallyParams> params = {setup_.TallyOf(step_, start_ns_, 1)};
  const std::vector<WriterState*> states = {&state_};
  StepRecorder::Hooks hooks;
  hooks.sample_host = [] { return v1::HostSample(); };
  hooks.describe_failure = [this](uint32_t qm, const WriteFailure& failure) { return DescribeFailure(qm, failure); };
  recorder_ = std::make_unique<StepRecorder>(params, states, control_, stop_trace_at_ns_, std::move(hooks), sink_);
  const int64_t first_ns = stop_reason_.empty() ? start_ns_ + StepRecorder::kTickNs : around_.clock.Now().value;
  around_.world.At(around_.clock.InWorld({first_ns}), around_.process, [this, first_ns] { Poll(first_ns); });
}

void SimulatedWork::Poll(int64_t asked_ns) {
  const int64_t now_ns = around_.clock.Now().value;
  const int64_t next_ns = recorder_->Poll(now_ns, now_ns - asked_ns);
  if (recorder_->done()) return FinishStep();
  around_.world.At(around_.clock.InWorld({next_ns}), around_.process, [this, next_ns] { Poll(next_ns); });
}

void SimulatedWork::FinishStep() {
  v1::StepDone done = recorder_->Finish(stop_reason_);
  state_.Reset();
  control_.Clear();
  begun_ = false;
  phase_ = Phase::kReady;
  sink_.OnStepDone(std::move(done));
  around_.world.Changed();
}

void SimulatedWork::Stop(const std::string& reason) {
  if (phase_ == Phase::kNew || phase_ == Phase::kPreparing) cancelled_ = true;
  if (phase_ != Phase::kArmed) return;
  if (stop_reason_.empty()) stop_reason_ = reason;
  control_.StopAt(around_.clock.Now().value);
  around_.world.Changed();
}

absl::Status SimulatedWork::Do(const v1::Command& command) {
  stop_trace_at_ns_.store(command.stop_trace().at_ns(), std::memory_order_relaxed);
  return absl::OkStatus();
}

int64_t SimulatedWork::StepNs(uint32_t step) const {
  return setup_.steps[step].warmup_ns + setup_.steps[step].duration_ns;
}

std::string SimulatedWork::State() const {
  if (phase_ == Phase::kNew || phase_ == Phase::kPreparing) return "preparing";
  if (phase_ != Phase::kArmed) return "ready";
  if (!begun_) return "armed";
  const int64_t end_ns = setup_.TimesOf(step_, start_ns_).end_ns();
  return around_.clock.Now().value < std::min(end_ns, control_.limit_ns()) ? "running" : "draining";
}

std::vector<v1::InFlight> SimulatedWork::InFlight(int64_t min_age_ns) const {
  const int64_t now_ns = around_.clock.Now().value;
  const int64_t since_ns = state_.mark.load(std::memory_order_relaxed);
  if (since_ns <= 0 || now_ns - since_ns < min_age_ns) return {};
  v1::InFlight entry;
  entry.set_qm(1);
  entry.set_since_ns(since_ns);
  entry.set_age_ns(now_ns - since_ns);
  entry.set_filling(filled_bytes_ < setup_.total_bytes());
  const uint32_t extent =
      entry.filling() ? static_cast<uint32_t>(filled_bytes_ / setup_.workload.file_size_bytes()) : state_.extent.load();
  entry.set_path(around_.storage.PathOf(ExtentName(1, setup_.workload.file_prefix(), extent)));
  return {entry};
}

uint64_t SimulatedWork::Progress() const {
  return filled_bytes_ + state_.writes.load(std::memory_order_relaxed);
}

std::string SimulatedWork::Directory() const {
  return around_.storage.directory();
}

bool SimulatedWork::WaitIdle(int64_t timeout_ns) {
  const int64_t deadline_ns = around_.clock.Now().value + timeout_ns;
  while (phase_ == Phase::kPreparing || phase_ == Phase::kArmed) {
    if (around_.clock.Now().value >= deadline_ns) return false;
    Wait(deadline_ns);
  }
  return true;
}

v1::Released SimulatedWork::Release(bool /*keep_files*/) {
  EndWriter();
  v1::Released released;
  around_.storage.Remove();
  if (around_.storage.removed()) {
    released.set_left_behind(absl::StrCat(Directory(), " was removed while it was in use"));
  } else {
    released.set_removed_files(files_.size());
  }
  files_.Close();
  around_.released();
  return released;
}

void SimulatedWork::EndWriter() {
  phase_ = Phase::kEnded;
  if (!writer_.joinable()) return;
  around_.world.Changed();
  while (!writer_over_) Wait(around_.clock.Now().value + kLongNs);
  writer_.join();
}

v1::Fault SimulatedWork::DescribeFailure(uint32_t qm, const WriteFailure& failure) const {
  const absl::Status status = PosixError("pwritev2", files_.path(failure.extent), failure.error_number);
  v1::Fault fault;
  fault.set_code(static_cast<int32_t>(status.code()));
  fault.set_message(
      absl::StrCat(status.message(), ", ", failure.asked_bytes, " bytes at offset ", failure.offset_bytes));
  fault.set_qm(qm);
  return fault;
}

}  // namespace plimsoll::tests
