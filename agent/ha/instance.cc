#include "agent/ha/instance.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/host/counters.h"
#include "agent/writer/file_env.h"
#include "agent/writer/step_recorder.h"
#include "agent/writer/worker_threads.h"
#include "agent/writer/write_loop.h"
#include "agent/writer/writer_state.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// A loop whose lease is over ends by itself; one that hangs is ended after this.
constexpr int64_t kLeaseGraceNs = kNsPerSecond;
// Tick of the watching thread, while there is no ledger to send.
constexpr int64_t kIdleTickNs = 10 * kNsPerMs;

std::string Text(const absl::Status& status) {
  return std::string(status.message());
}

constexpr int kExitCannotBegin = 4;

// Reads on until there is a whole order; false where the agent is gone, or what it sends is none.
bool NextOrder(int fd, MessageReader& reader, v1::HaInstanceOrder& order) {
  while (true) {
    const absl::StatusOr<bool> got = reader.Next(order);
    if (!got.ok()) return false;
    if (*got) return true;
    std::array<char, 4096> bytes{};
    const ssize_t size = recv(fd, bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    reader.Append(bytes.data(), static_cast<size_t>(size));
  }
}

// The write loop's world in an instance (see RunWriteLoop): the kernel's files, a shared memory that shows each write,
// and a log that may be full. Beside FileEnv it stores, with plain stores, the start of a write before its system call
// and its completion at the clock reading behind it: a process that is killed between the two leaves one write in
// doubt.
class HaEnv {
 public:
  struct Log {
    std::span<const int> fds;
    // Blocks until the first place comes again.
    uint64_t blocks_per_lap = 0;
    uint64_t first_sequence = 1;
    // Completion is that of the sync.
    bool sync_each_write = false;
    SyncCall sync = SyncCall::kNone;
  };

  // Blocks up to `checkpointed` need no replay, those up to `read_back` were read back: a place is free to be written
  // again once its block is among both. What is referred to must outlive the object.
  HaEnv(const Log& log, const std::atomic<uint64_t>& checkpointed, const std::atomic<uint64_t>& read_back,
        const StopControl& control, InstanceBoard& board)
      : files_(log.fds, nullptr, 0, log.sync),
        log_(log),
        checkpointed_(checkpointed),
        read_back_(read_back),
        control_(control),
        board_(board),
        next_(log.first_sequence) {}

  int64_t Now() {
    now_ns_ = MonotonicNowNs();
    if (returned_) Publish();
    return now_ns_;
  }

  int64_t Write(uint32_t extent, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) {
    start_ns_ = now_ns_;
    // Release: a reader that sees this value sees the write before it.
    board_.in_flight_since_ns.store(start_ns_, std::memory_order_release);
    const int64_t written = files_.Write(extent, offset_bytes, data, size_bytes);
    returned_ = !log_.sync_each_write && written == static_cast<int64_t>(size_bytes);
    return written;
  }

  int Sync(uint32_t extent) {
    const int result = files_.Sync(extent);
    returned_ = result == 0;
    return result;
  }

  static void SleepUntil(int64_t moment_ns) { SleepUntilNs(moment_ns); }
  static void AwaitRoom() { FileEnv::AwaitRoom(); }
  void Yield() { files_.Yield(); }

  // Waits while the block in the place of this one is needed for replay, or was not read back.
  void AwaitPlace(uint64_t sequence) {
    if (HasPlace(sequence)) [[likely]]
      return;
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const int64_t since_ns = MonotonicNowNs();
    const uint64_t before_ns = board_.full_wait_ns.load(kRelaxed);
    board_.full_sequence.store(sequence, kRelaxed);
    // Release: who sees the new count sees the block.
    board_.full_waits.store(board_.full_waits.load(kRelaxed) + 1, std::memory_order_release);
    int64_t now_ns = since_ns;
    while (!HasPlace(sequence) && now_ns < control_.limit_ns()) {
      SleepUntilNs(now_ns + kPlaceSleepNs);
      now_ns = MonotonicNowNs();
      board_.full_wait_ns.store(before_ns + static_cast<uint64_t>(now_ns - since_ns), kRelaxed);
    }
  }

 private:
  static constexpr int64_t kPlaceSleepNs = 200'000;

  bool HasPlace(uint64_t sequence) const {
    // Acquire: the checkpoint is durable, and what was read back is reported.
    return sequence <= checkpointed_.load(std::memory_order_acquire) + log_.blocks_per_lap &&
           sequence <= read_back_.load(std::memory_order_acquire) + log_.blocks_per_lap;
  }

  void Publish() {
    returned_ = false;
    const uint64_t sequence = next_++;
    InstanceBoard::Moments& moments = board_.moments[sequence % InstanceBoard::kMoments];
    moments.start_ns.store(start_ns_, std::memory_order_relaxed);
    moments.end_ns.store(now_ns_, std::memory_order_relaxed);
    if (sequence == log_.first_sequence) [[unlikely]] {
      board_.first_start_ns.store(start_ns_, std::memory_order_relaxed);
      board_.first_end_ns.store(now_ns_, std::memory_order_relaxed);
    }
    // Release: the moments are there.
    board_.completed.store(sequence, std::memory_order_release);
    board_.in_flight_since_ns.store(0, std::memory_order_relaxed);
  }

  FileEnv files_;
  const Log log_;
  const std::atomic<uint64_t>& checkpointed_;
  const std::atomic<uint64_t>& read_back_;
  const StopControl& control_;
  InstanceBoard& board_;
  uint64_t next_;
  int64_t now_ns_ = 0;
  int64_t start_ns_ = 0;
  bool returned_ = false;
};

}  // namespace

Instance::Instance(v1::HaInstanceSetup setup, int orders_fd, MessageReader& orders, InstanceReporter& reporter,
                   InstanceBoard& board)
    : order_(std::move(setup)),
      orders_fd_(orders_fd),
      orders_(orders),
      reporter_(reporter),
      board_(board),
      control_(board.lease_deadline_ns) {}

void Instance::Run() {
  // The two threads end with the process.
  StartThread("orders", [this] { RunOrders(); }).detach();
  watch_ = StartThread("watch", [this] { RunWatch(); });
  absl::Status status = Open();
  if (status.ok() && order_.scan()) Scan();
  if (status.ok()) {
    locks_->BecomeActive();
    status = TakeOver();
  }
  if (!status.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, Text(status));
  WriteLog();
}

absl::Status Instance::Open() {
  const uint32_t qm = order_.start().qm();
  PLIMSOLL_ASSIGN_OR_RETURN(setup_, MakeHaSetup(PlanOf(order_)));
  PLIMSOLL_ASSIGN_OR_RETURN(sandbox_, Sandbox::Create({order_.roots().begin(), order_.roots().end()}, ""));
  PLIMSOLL_ASSIGN_OR_RETURN(files_, OpenQmFiles(*setup_, qm, *sandbox_, order_.scan()));
  checkpoint_file_.emplace(files_.checkpoint.fd.get(), files_.checkpoint.path, setup_->log.run_token, qm);
  if (!order_.scan()) {
    // Before there is a lock to hold: it takes milliseconds.
    try {
      const std::vector<uint64_t> sizes = {setup_->block_bytes()};
      source_ = std::make_unique<BlockSource>(BlockSource::Identity{setup_->log.run_token, setup_->log.host_index, qm},
                                              sizes);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for the blocks of qm", qm));
    }
    checkpointer_.emplace(*checkpoint_file_, board_, reporter_, setup_->checkpoint_ns);
    locks_.emplace(*setup_, files_, reporter_);
    course_.store(&*locks_);
  }
  v1::HaEvent event;
  v1::HaStarted& started = *event.mutable_started();
  started.set_pid(getpid());
  started.set_spawned_ns(order_.spawned_ns());
  started.set_open_flags(files_.open_flags);
  started.set_direct_refused(files_.direct_refused);
  started.set_small_files_direct_refused(files_.small_files_direct_refused);
  reporter_.Send(std::move(event));
  return absl::OkStatus();
}

void Instance::Scan() {
  v1::HaEvent event;
  const int64_t began_ns = MonotonicNowNs();
  const absl::StatusOr<CheckpointRecord> checkpoint = checkpoint_file_->Read();
  if (!checkpoint.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, Text(checkpoint.status()));
  const LogShape shape = setup_->ShapeOf(order_.start().qm());
  LogReader reader(files_, shape);
  LogScan scan(shape);
  for (uint64_t place = 0; place < shape.blocks_per_lap(); ++place) {
    const auto block = reader.Read(place);
    if (!block.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, Text(block.status()));
    scan.Take(*block);
  }
  v1::HaScanned& scanned = *event.mutable_scanned();
  scanned = scan.Finish();
  scanned.set_began_ns(began_ns);
  scanned.set_checkpoint_sequence(checkpoint->sequence);
  scanned.set_checkpoint_epoch(checkpoint->epoch);
  reporter_.Send(std::move(event));
  reporter_.Exit(v1::HaEnded::REASON_ORDERED);
}

absl::Status Instance::TakeOver() {
  const int64_t began_ns = MonotonicNowNs();
  PLIMSOLL_ASSIGN_OR_RETURN(const CheckpointRecord record, checkpointer_->RaiseEpoch(setup_->log.host_index));
  epoch_ = record.epoch;
  board_.epoch.store(epoch_, std::memory_order_relaxed);
  v1::HaEvent event;
  event.mutable_epoch_raised()->set_epoch(epoch_);
  event.mutable_epoch_raised()->set_previous_epoch(epoch_ - 1);
  event.mutable_epoch_raised()->set_began_ns(began_ns);
  reporter_.Send(std::move(event));
  StartVerifying();
  return Replay(record.sequence);
}

absl::Status Instance::Replay(uint64_t checkpoint_sequence) {
  v1::HaEvent event;
  v1::HaReplayed& replayed = *event.mutable_replayed();
  replayed.set_began_ns(MonotonicNowNs());
  const LogShape shape = setup_->ShapeOf(order_.start().qm());
  LogReader reader(files_, shape);
  LogReplay replay(shape, checkpoint_sequence);
  while (replay.next() != 0) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::span<const std::byte> block, reader.Read(shape.PlaceOf(replay.next())));
    replay.Take(block);
  }
  last_sequence_ = replay.last_sequence();
  replayed.set_checkpoint_sequence(checkpoint_sequence);
  replayed.set_last_sequence(last_sequence_);
  replayed.set_last_epoch(replay.last_epoch());
  replayed.set_pages_checked(replay.pages_checked());
  *replayed.mutable_faults() = replay.faults();
  reporter_.Send(std::move(event));
  read_back_.emplace(files_, shape, board_, reporter_, last_sequence_);
  return absl::OkStatus();
}

void Instance::StartVerifying() {
  const LockVerification::Record record{setup_->log.run_token, order_.start().qm(), setup_->log.host_index, epoch_};
  verification_.emplace(files_.active.fd.get(), files_.active.path, record, setup_->verify_timeout_ns,
                        board_.lease_deadline_ns);
  // Release: the watching thread sees the object.
  verifying_.store(true, std::memory_order_release);
  StartThread("verify", [this] { RunVerification(); }).detach();
}

void Instance::RunVerification() {
  int64_t next_ns = MonotonicNowNs();
  while (true) {
    next_ns = std::max(next_ns + setup_->verify_ns, MonotonicNowNs());
    SleepUntilNs(next_ns);
    // The watching thread ends the process.
    if (MonotonicNowNs() >= control_.lease_deadline_ns()) return;
    v1::HaEvent event;
    const int64_t began_ns = MonotonicNowNs();
    const absl::Status status = verification_->Verify();
    if (status.ok()) {
      event.mutable_verified()->set_began_ns(began_ns);
      reporter_.Send(std::move(event));
      continue;
    }
    // The watching thread ends the process.
    if (absl::IsDeadlineExceeded(status)) return;
    LoseLock(status.code(), Text(status));
  }
}

void Instance::LoseLock(absl::StatusCode code, const std::string& reason) {
  v1::HaEvent event;
  event.mutable_lock_lost()->set_lock(v1::HA_LOCK_ACTIVE);
  event.mutable_lock_lost()->set_code(static_cast<int32_t>(code));
  event.mutable_lock_lost()->set_reason(reason);
  v1::HaEnded ended;
  ended.set_reason(v1::HaEnded::REASON_LOCK_LOST);
  ended.set_message(reason);
  reporter_.Exit(std::move(ended), &event);
}

void Instance::WriteLog() {
  const uint32_t qm = order_.start().qm();
  const int64_t start_ns = MonotonicNowNs();
  WriteLoopParams params = setup_->log.LoopOf(0, start_ns, qm);
  params.epoch = epoch_;
  params.first_block = last_sequence_;
  TallyParams tally = setup_->log.TallyOf(0, start_ns, qm);
  tally.step = order_.start().instance();
  tally.first_block = last_sequence_;
  std::vector<int> fds;
  fds.reserve(files_.extents.size());
  for (const QmFiles::File& extent : files_.extents) fds.push_back(extent.fd.get());

  v1::HaEvent event;
  event.set_at_ns(start_ns);
  event.mutable_writing()->set_epoch(epoch_);
  event.mutable_writing()->set_first_sequence(last_sequence_ + 1);
  event.mutable_writing()->set_reads_back(true);
  reporter_.Send(std::move(event));
  HaEnv env({.fds = fds,
             .blocks_per_lap = params.layout.blocks_per_lap(),
             .first_sequence = last_sequence_ + 1,
             .sync_each_write = params.sync_each_write,
             .sync = SyncCallOf(setup_->log.workload.sync())},
            checkpointer_->sequence(), read_back_->sequence(), control_, board_);
  checkpointer_->Start(last_sequence_);
  read_back_->Start();
  std::thread recorder = StartThread("recorder", [this, &tally] { RunRecorder(tally); });
  ledger_.emplace(board_, reporter_, last_sequence_);
  // Release: the watching thread sees the ledger.
  writing_.store(true, std::memory_order_release);
  RunWriteLoop(params, control_, *source_, state_, env);

  recorder.join();
  const bool ordered = state_.end == LoopEnd::kStopped;
  read_back_->Finish();
  checkpointer_->Finish(ordered);
  // The last writes reach the ledger before the end.
  stop_watch_.store(true, std::memory_order_relaxed);
  watch_.join();
  WatchWriter();
  v1::HaEnded ended;
  switch (state_.end) {
    case LoopEnd::kStopped:
      ended.set_reason(v1::HaEnded::REASON_ORDERED);
      break;
    case LoopEnd::kLease:
      ended.set_reason(v1::HaEnded::REASON_LEASE);
      break;
    case LoopEnd::kFailed:
      ended.set_reason(v1::HaEnded::REASON_WRITE_FAILED);
      ended.set_message(DescribeFailure());
      break;
    case LoopEnd::kRanToEnd:
      ended.set_reason(v1::HaEnded::REASON_FAILED);
      ended.set_message("an instance writes for 7 days at most");
      break;
  }
  v1::WriterTotals& totals = *ended.mutable_totals();
  totals.set_qm(qm);
  totals.set_writes(state_.writes.load());
  totals.set_bytes(state_.bytes.load());
  totals.set_latency_sum_ns(state_.latency_sum_ns.load());
  totals.set_latency_max_ns(state_.latency_max_ns.load());
  totals.set_first_start_ns(state_.first_start_ns.load());
  totals.set_last_end_ns(state_.last_end_ns.load());
  totals.set_ring_full_waits(state_.ring_full_waits.load());
  totals.set_ring_full_wait_ns(state_.ring_full_wait_ns.load());
  reporter_.Exit(std::move(ended));
}

std::string Instance::DescribeFailure() const {
  const WriteFailure& failure = state_.failure;
  const std::string& path = files_.extents[failure.extent].path;
  if (failure.kind == WriteFailure::Kind::kShortWrite) {
    return absl::StrCat("pwritev2 ", path, ": short write at offset ", failure.offset_bytes, ": ", failure.done_bytes,
                        " of ", failure.asked_bytes, " bytes");
  }
  const bool sync = failure.kind == WriteFailure::Kind::kSync;
  const std::string call = sync ? SyncCallName(SyncCallOf(setup_->log.workload.sync())) : "pwritev2";
  return absl::StrCat(Text(PosixError(call, path, failure.error_number)), ", ", failure.asked_bytes,
                      " bytes at offset ", failure.offset_bytes);
}

void Instance::RunRecorder(const TallyParams& tally) {
  HostCounters counters(std::vector<std::string>{files_.directory});
  counters.Reset({getpid()});
  WriterState* const states[] = {&state_};
  StepRecorder::Hooks hooks;
  hooks.sample_host = [&counters] { return counters.Sample(); };
  hooks.describe_failure = [this](uint32_t qm, const WriteFailure& /*failure*/) {
    v1::Fault fault;
    fault.set_message(DescribeFailure());
    fault.set_qm(qm);
    return fault;
  };
  StepRecorder recorder(std::span(&tally, 1), states, control_, never_, std::move(hooks), reporter_);
  int64_t wake_ns = MonotonicNowNs();
  while (!recorder.done()) {
    SleepUntilNs(wake_ns);
    const int64_t now_ns = MonotonicNowNs();
    wake_ns = recorder.Poll(now_ns, now_ns - wake_ns);
  }
}

void Instance::RunWatch() {
  while (!stop_watch_.load(std::memory_order_relaxed)) {
    const bool writing = writing_.load(std::memory_order_acquire);
    SleepUntilNs(MonotonicNowNs() + (writing ? Ledger::kTickNs : kIdleTickNs));
    const int64_t now_ns = MonotonicNowNs();
    if (writing) WatchWriter();
    if (verifying_.load(std::memory_order_acquire) && verification_->Overdue(now_ns)) {
      LoseLock(absl::StatusCode::kDeadlineExceeded,
               absl::StrCat("verifying the lock on ", files_.active.path, " has not returned for ",
                            FormatDuration(setup_->verify_timeout_ns)));
    }
    CheckLease(now_ns);
  }
}

void Instance::WatchWriter() {
  ledger_->Flush(MonotonicNowNs);
  if (!reported_first_write_ && board_.completed.load(std::memory_order_acquire) > 0) {
    reported_first_write_ = true;
    v1::HaEvent event;
    event.set_at_ns(board_.first_end_ns.load(std::memory_order_relaxed));
    event.mutable_first_write()->set_epoch(epoch_);
    event.mutable_first_write()->set_sequence(last_sequence_ + 1);
    event.mutable_first_write()->set_start_ns(board_.first_start_ns.load(std::memory_order_relaxed));
    reporter_.Send(std::move(event));
  }
  const uint64_t full_waits = board_.full_waits.load(std::memory_order_acquire);
  if (full_waits != reported_full_waits_) {
    reported_full_waits_ = full_waits;
    v1::HaEvent event;
    event.mutable_log_full()->set_sequence(board_.full_sequence.load(std::memory_order_relaxed));
    event.mutable_log_full()->set_checkpoint_sequence(
        std::min(checkpointer_->sequence().load(std::memory_order_relaxed),
                 read_back_->sequence().load(std::memory_order_relaxed)));
    reporter_.Send(std::move(event));
  }
}

void Instance::CheckLease(int64_t now_ns) {
  const int64_t deadline_ns = control_.lease_deadline_ns();
  if (now_ns < deadline_ns) return;
  if (writing_.load(std::memory_order_relaxed) && now_ns - deadline_ns < kLeaseGraceNs) return;
  reporter_.Exit(v1::HaEnded::REASON_LEASE);
}

void Instance::RunOrders() {
  v1::HaInstanceOrder order;
  while (NextOrder(orders_fd_, orders_, order)) {
    if (!order.has_end()) continue;
    // An instance that still waits for a lock, or for the storage, has nothing to finish.
    const LockCourse* const course = course_.load();
    if (course != nullptr && course->has_active()) {
      control_.StopAt(MonotonicNowNs());
    } else {
      reporter_.Exit(v1::HaEnded::REASON_ORDERED);
    }
  }
  _exit(InstanceReporter::kExitByItself);
}

int RunInstanceProcess() {
  // Ends with its agent, however that ends. If the agent ended before this call, it is no longer the parent.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const absl::StatusOr<BoardMapping> board = BoardMapping::Open(kInstanceBoardFd);
  if (!board.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s is for agents alone\n", kInstanceOption);
    return kExitCannotBegin;
  }
  if (getppid() != (*board)->agent_pid.load()) return kExitCannotBegin;
  // The kernel may delay a timer by the slack, 50 us by default.
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  MessageReader orders;
  v1::HaInstanceOrder order;
  if (!NextOrder(kInstanceSocketFd, orders, order) || !order.has_setup()) return kExitCannotBegin;
  MessageSender sender(kInstanceSocketFd);
  const v1::HaStart& start = order.setup().start();
  InstanceReporter reporter(sender, start.instance(), start.qm());
  prctl(PR_SET_NAME, ("qm" + std::to_string(start.qm())).c_str());
  Instance instance(std::move(*order.mutable_setup()), kInstanceSocketFd, orders, reporter, **board);
  instance.Run();
}

}  // namespace plimsoll
