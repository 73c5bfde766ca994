// The loading of queues: reads the metadata of each queue's messages.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "agent/restart/restart_phases.h"
#include "agent/writer/worker_threads.h"
#include "common/mutex.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr uint64_t kLoadCallBytes = uint64_t{64} << 10;

// Reads `pages` pages of the file, behind its first one, in calls of kLoadCallBytes; ends early where `ended` is set.
// Beside the calls, each page costs the check of its stamp, some 0.5 us. Allocates nothing.
absl::Status LoadQueue(const RestartFile& file, uint64_t pages, const std::atomic<bool>& ended,
                       const PageBuffer& buffer, RestartCaller& caller, CallTally& tally) {
  constexpr uint64_t kPagesOfCall = kLoadCallBytes / kStampedPageBytes;
  for (uint64_t done = 0; done < pages && !ended.load(std::memory_order_relaxed);) {
    const uint64_t now = std::min(kPagesOfCall, pages - done);
    const std::span<std::byte> into = buffer.First(now * kStampedPageBytes);
    PLIMSOLL_RETURN_IF_ERROR(caller.Read(file, (1 + done) * kStampedPageBytes, into, tally));
    PLIMSOLL_RETURN_IF_ERROR(CheckPages(file, 1 + done, into));
    done += now;
  }
  return absl::OkStatus();
}

class SerialLoad final : public TrialPhase {
 public:
  SerialLoad(const TrialParts& parts, uint64_t pages) : parts_(parts), pages_(pages), buffer_(kLoadCallBytes) {}

  absl::Status Run() override {
    const std::atomic<bool> never{false};
    for (const RestartFile& file : parts_.files.queues()) {
      PLIMSOLL_RETURN_IF_ERROR(LoadQueue(file, pages_, never, buffer_, parts_.caller, parts_.tally.queue_reads));
    }
    return absl::OkStatus();
  }

 private:
  const TrialParts& parts_;
  const uint64_t pages_;
  const PageBuffer buffer_;
};

// One thread for each queue. They wait for Run, so that making them is not measured.
class ParallelLoad final : public TrialPhase {
 public:
  ParallelLoad(const TrialParts& parts, uint64_t pages) : parts_(parts), pages_(pages) {
    const size_t queues = parts_.files.queues().size();
    buffers_.reserve(queues);
    for (size_t queue = 0; queue < queues; ++queue) buffers_.emplace_back(kLoadCallBytes);
    threads_.reserve(queues);
  }

  ~ParallelLoad() override {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      changed_.NotifyAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  absl::Status Prepare() override {
    try {
      for (size_t queue = 0; queue < buffers_.size(); ++queue) {
        threads_.push_back(StartThread("restart-load", [this, queue] { RunThread(queue); }));
      }
    } catch (const std::exception& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no thread to load queue ", threads_.size() + 1, ": ", error.what()));
    }
    return absl::OkStatus();
  }

  absl::Status Run() override {
    const MutexLock lock(mutex_);
    running_ = threads_.size();
    begun_ = true;
    changed_.NotifyAll();
    while (running_ > 0) changed_.Wait(mutex_);
    parts_.tally.queue_reads.Add(reads_);
    return status_;
  }

 private:
  void RunThread(size_t queue) {
    {
      const MutexLock lock(mutex_);
      while (!begun_ && !closed_) changed_.Wait(mutex_);
      if (!begun_) return;
    }
    RestartCaller caller(kMeasuring, parts_.control, parts_.progress, parts_.slots[queue]);
    CallTally reads;
    const absl::Status status =
        LoadQueue(parts_.files.queues()[queue], pages_, failed_, buffers_[queue], caller, reads);
    const MutexLock lock(mutex_);
    reads_.Add(reads);
    // The first error ends the trial; the other threads begin no further call.
    status_.Update(status);
    if (!status.ok()) failed_.store(true, std::memory_order_relaxed);
    if (--running_ == 0) changed_.NotifyAll();
  }

  const TrialParts& parts_;
  const uint64_t pages_;
  std::vector<PageBuffer> buffers_;
  std::atomic<bool> failed_{false};

  Mutex mutex_;
  CondVar changed_;
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  CallTally reads_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<TrialPhase> MakeLoad(const TrialParts& parts, const v1::RestartLoad& load) {
  const uint64_t pages = PagesOfBytes(load.bytes_per_queue());
  if (load.way() == v1::RESTART_LOAD_WAY_SERIAL) return std::make_unique<SerialLoad>(parts, pages);
  return std::make_unique<ParallelLoad>(parts, pages);
}

}  // namespace plimsoll
