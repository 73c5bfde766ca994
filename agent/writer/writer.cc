#include "agent/writer/writer.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/writer/file_env.h"
#include "agent/writer/write_loop.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

// What a sleeping thread needs to be running again, on an idle machine; spinning for that long before the start takes
// the wake-up out of the start skew.
constexpr int64_t kSpinNs = 80'000;

}  // namespace

Writer::Writer(uint32_t qm, Surroundings around)
    : around_(std::move(around)), files_(around_.setup.FilesOf(qm), around_.ops), qm_(qm) {}

Writer::~Writer() {
  Join();
}

void Writer::Start() {
  thread_ = StartThread(absl::StrCat("qm", qm_), [this] { Run(); });
}

void Writer::Join() {
  if (thread_.joinable()) thread_.join();
  files_.Close();
}

absl::Status Writer::Fill() {
  const WorkSetup& setup = around_.setup;
  const LogFilesOptions options = setup.FilesOf(qm_);
  std::vector<uint64_t> sizes = options.block_bytes;
  for (const uint64_t bytes : LogFiles::ChunkSizes(options)) sizes.push_back(bytes);
  const BlockSource::Identity identity{setup.run_token, setup.host_index, qm_};
  try {
    source_ = std::make_unique<BlockSource>(identity, sizes);
    if (setup.AnyReads()) source_->MakeReadBuffer();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for the blocks of qm", qm_));
  }
  // Shown like a measured write's, so that a filling that hangs is seen.
  const absl::Status filled = files_.Prepare(
      *source_,
      [this] {
        state_.mark.store(MonotonicNowNs(), std::memory_order_relaxed);
        return around_.before_piece();
      },
      [this](uint64_t bytes) {
        filled_bytes_.fetch_add(bytes, std::memory_order_relaxed);
        around_.after_piece(bytes);
      });
  state_.mark.store(WriterState::kIdle, std::memory_order_relaxed);
  return filled;
}

void Writer::Run() {
  tid_.store(gettid(), std::memory_order_release);
  // The kernel may delay a timer by the slack, 50 us by default.
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  const absl::Status filled = Fill();
  preparing_.store(false, std::memory_order_relaxed);
  around_.prepared(filled);
  if (!filled.ok()) return;

  std::vector<int> fds;
  fds.reserve(files_.size());
  for (uint32_t extent = 0; extent < files_.size(); ++extent) fds.push_back(files_.fd(extent));
  CpuPin pin;
  FileEnv env(fds, &pin, files_.base_bytes(), SyncCallOf(around_.setup.workload.sync()));
  uint64_t arming = 0;
  const uint64_t cpu = FirstCpuOf(static_cast<uint64_t>(getpid()), around_.setup.workload.qm()) + qm_ - 1;
  if (around_.pin) pin.Hold(cpu);
  while (const std::optional<StartGate::Start> start = around_.gate.AwaitStart(arming, 0, around_.spin ? kSpinNs : 0)) {
    arming = start->arming;
    if (!around_.setup.Writes(start->step, qm_)) continue;
    WriteLoopParams loop = around_.setup.LoopOf(start->step, start->start_ns, qm_);
    loop.read_buffer = source_->read_buffer();
    RunWriteLoop(loop, around_.control, *source_, state_, env);
    if (around_.pin) pin.Hold(cpu);
  }
}

absl::Status Writer::Describe(const WriteFailure& failure) const {
  const std::string& path = files_.path(failure.extent);
  const uint64_t offset_bytes = files_.base_bytes() + failure.offset_bytes;
  using Kind = WriteFailure::Kind;
  if (failure.kind == Kind::kShortWrite || failure.kind == Kind::kShortRead) {
    return absl::DataLossError(absl::StrCat(failure.kind == Kind::kShortRead ? "preadv2 " : "pwritev2 ", path,
                                            failure.kind == Kind::kShortRead ? ": short read" : ": short write",
                                            " at offset ", offset_bytes, ": ", failure.done_bytes, " of ",
                                            failure.asked_bytes, " bytes"));
  }
  const std::string call = failure.kind == Kind::kSync   ? SyncCallName(SyncCallOf(around_.setup.workload.sync()))
                           : failure.kind == Kind::kRead ? "preadv2"
                                                         : "pwritev2";
  const absl::Status status = PosixError(call, path, failure.error_number);
  return absl::Status(status.code(), absl::StrCat(std::string(status.message()), ", ", failure.asked_bytes,
                                                  " bytes at offset ", offset_bytes));
}

}  // namespace plimsoll
