#include "agent/writer/space_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/space.h"
#include "agent/writer/worker_threads.h"
#include "common/protocol.h"

namespace plimsoll {
namespace {

constexpr std::chrono::nanoseconds kShortestWait = std::chrono::milliseconds(10);
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::seconds(1);
// Faster than the writers of a host write, and what others write beside them.
constexpr uint64_t kMostBytesPerNs = 8;

}  // namespace

SpaceWatch::SpaceWatch(std::vector<WatchedSpace> watched, const v1::LogWorkload& workload,
                       std::function<void(const absl::Status&)> on_low)
    : watched_(std::move(watched)), workload_(workload), on_low_(std::move(on_low)) {}

SpaceWatch::~SpaceWatch() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void SpaceWatch::Start() {
  thread_ = StartThread("space", [this] { Run(); });
}

std::chrono::nanoseconds SpaceWatch::Measure() const {
  std::chrono::nanoseconds wait = kLongestWait;
  for (const WatchedSpace& one : watched_) {
    const absl::StatusOr<Space> space = SpaceOf(one.fd.get(), one.path);
    // The writers themselves report a storage that fails.
    if (!space.ok() || space->total_bytes == 0) continue;
    const uint64_t min_free_bytes = MinFreeBytes(workload_, space->total_bytes);
    if (space->free_bytes < min_free_bytes) {
      on_low_(TooLittleSpace(absl::StrCat("writing to ", one.path, " stopped"), space->free_bytes, min_free_bytes,
                             "a smaller --file-size or fewer --files"));
    }
    const uint64_t usable_bytes = space->free_bytes - std::min(space->free_bytes, min_free_bytes);
    const std::chrono::nanoseconds lasts(static_cast<int64_t>(usable_bytes / kMostBytesPerNs));
    wait = std::min(wait, std::max(lasts, kShortestWait));
  }
  return wait;
}

void SpaceWatch::Run() {
  while (true) {
    const auto wake = std::chrono::steady_clock::now() + Measure();
    const MutexLock lock(mutex_);
    while (!ended_ && changed_.WaitUntil(mutex_, wake)) {
    }
    if (ended_) return;
  }
}

}  // namespace plimsoll
