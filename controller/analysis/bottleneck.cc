#include "controller/analysis/bottleneck.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// From here on the load generator's share of the latencies is worth a warning.
constexpr double kCpuWaitPercent = 5;
constexpr uint64_t kLateNs = 50 * kNsPerMs;

}  // namespace

std::string BottleneckOf(const v1::HostLoadReport& load, double ring_wait_share) {
  std::vector<std::string> why;
  if (load.writer_cpu_wait_percent() > kCpuWaitPercent) {
    why.push_back(
        absl::StrFormat("its writers waited %.1f %% of their time for a CPU", load.writer_cpu_wait_percent()));
  }
  if (load.throttled_percent() > kCpuWaitPercent) {
    why.push_back(
        absl::StrFormat("the CPU limit of its cgroup throttled it for %.1f %% of the time", load.throttled_percent()));
  }
  if (load.recorder_late_max_ns() > kLateNs) {
    why.push_back(absl::StrFormat("its recorder ran up to %.0f ms late",
                                  static_cast<double>(load.recorder_late_max_ns()) / static_cast<double>(kNsPerMs)));
  }
  if (ring_wait_share > 0) {
    why.push_back(absl::StrFormat("a writer waited %.2f %% of its time for the recorder", 100 * ring_wait_share));
  }
  return absl::StrJoin(why, "; ");
}

}  // namespace plimsoll
