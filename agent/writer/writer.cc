#include "agent/writer/writer.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"
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
  std::vector<uint64_t> sizes = setup.FilesOf(qm_).block_bytes;
  for (const uint64_t bytes : LogFiles::ChunkSizes(setup.workload.file_size_bytes())) sizes.push_back(bytes);
  const BlockSource::Identity identity{setup.run_token, setup.host_index, qm_};
  try {
    source_ = std::make_unique<BlockSource>(identity, sizes);
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
  around_.prepared(filled);
  if (!filled.ok()) return;

  std::vector<int> fds;
  fds.reserve(files_.size());
  for (uint32_t extent = 0; extent < files_.size(); ++extent) fds.push_back(files_.fd(extent));
  CpuPin pin;
  FileEnv env(fds, &pin);
  uint64_t arming = 0;
  const uint64_t cpu = FirstCpuOf(static_cast<uint64_t>(getpid()), around_.setup.workload.qm()) + qm_ - 1;
  if (around_.pin) pin.Hold(cpu);
  while (const std::optional<StartGate::Start> start = around_.gate.AwaitStart(arming, 0, around_.spin ? kSpinNs : 0)) {
    arming = start->arming;
    if (!around_.setup.Writes(start->step, qm_)) continue;
    RunWriteLoop(around_.setup.LoopOf(start->step, start->start_ns, qm_), around_.control, *source_, state_, env);
    if (around_.pin) pin.Hold(cpu);
  }
}

absl::Status Writer::Describe(const WriteFailure& failure) const {
  const std::string& path = files_.path(failure.extent);
  if (failure.kind == WriteFailure::Kind::kShortWrite) {
    return absl::DataLossError(absl::StrCat("pwritev2 ", path, ": short write at offset ", failure.offset_bytes, ": ",
                                            failure.written_bytes, " of ", failure.asked_bytes, " bytes"));
  }
  const bool sync = failure.kind == WriteFailure::Kind::kSync;
  const absl::Status status = PosixError(sync ? "fdatasync" : "pwritev2", path, failure.error_number);
  return absl::Status(status.code(), absl::StrCat(std::string(status.message()), ", ", failure.asked_bytes,
                                                  " bytes at offset ", failure.offset_bytes));
}

}  // namespace plimsoll
