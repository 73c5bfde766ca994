// Watches that the measured writes leave the space that must stay free.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/posix.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// A file system whose space is watched.
struct WatchedSpace {
  // A file or directory there; O_PATH is enough.
  UniqueFd fd;
  std::string path;  // for messages
};

// Measures the free space while writers fill new or sparse files: they may fit when a run starts, and others may use up
// the space meanwhile. Writers do not measure it themselves, since a system call between two writes would be in the
// figures.
//
// A thread of its own, because the call blocks while a file system hangs. How long it waits follows from the free
// space: as long as writers at 8 GB/s need to use up what may be used, at least 10 ms, at most 1 s.
class SpaceWatch {
 public:
  // Calls `on_low` on its thread, with RESOURCE_EXHAUSTED, each time that it finds less free than must stay free. The
  // workload must outlive the object.
  SpaceWatch(std::vector<WatchedSpace> watched, const v1::LogWorkload& workload,
             std::function<void(const absl::Status&)> on_low);
  // Ends the thread, and waits for a measurement under way.
  ~SpaceWatch();
  SpaceWatch(const SpaceWatch&) = delete;
  SpaceWatch& operator=(const SpaceWatch&) = delete;

  // Starts the thread. Throws std::system_error where the system gives none.
  void Start();

  // Measures all of them once; returns how long to wait until the next time.
  std::chrono::nanoseconds Measure() const;

 private:
  void Run();

  const std::vector<WatchedSpace> watched_;
  const v1::LogWorkload& workload_;
  const std::function<void(const absl::Status&)> on_low_;
  Mutex mutex_;
  CondVar changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll
