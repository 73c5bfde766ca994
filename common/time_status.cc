#include "common/time_status.h"

#include <sys/timex.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/units.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// What a kernel has of the name of a process is 15 characters at most.
constexpr std::pair<const char*, const char*> kTimeServices[] = {
    {"chronyd", "chronyd"}, {"ntpd", "ntpd"}, {"systemd-timesyn", "systemd-timesyncd"}, {"phc2sys", "phc2sys"}};
// No host has more processes.
constexpr int kMostProcesses = 100'000;

// A look for the time service reads a file of each process of the host, and agents of one machine are asked at once: it
// is looked for again after a minute.
constexpr int64_t kLookAgainNs = 60 * kNsPerSecond;

// As it was found within the last minute. Any thread.
std::string RecentTimeService() {
  static Mutex mutex;
  static std::string service;
  static std::optional<MonotonicNs> looked;
  const MutexLock lock(mutex);
  const MonotonicNs now = SystemClock::Read();
  if (!looked || now - *looked >= kLookAgainNs) {
    service = TimeServiceIn("/proc");
    looked = now;
  }
  return service;
}

uint64_t FromMicroseconds(int64_t time_us) {
  return static_cast<uint64_t>(std::clamp<int64_t>(time_us, 0, INT64_MAX / kNsPerUs) * kNsPerUs);
}

}  // namespace

std::string TimeServiceIn(const std::string& proc) {
  std::error_code error;
  int seen = 0;
  for (fs::directory_iterator process(proc, error); !error && process != fs::directory_iterator();
       process.increment(error)) {
    const std::string pid = process->path().filename();
    if (pid.empty() || pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (++seen > kMostProcesses) break;
    std::ifstream file(absl::StrCat(process->path().string(), "/comm"));
    std::string name;
    std::getline(file, name);
    for (const auto& [comm, service] : kTimeServices) {
      if (name == comm) return service;
    }
  }
  return "";
}

std::optional<v1::TimeStatus> ReadTimeStatus() {
  timex state{};
  const int result = adjtimex(&state);
  if (result < 0) return std::nullopt;
  v1::TimeStatus status;
  status.set_synchronized(result != TIME_ERROR && (state.status & STA_UNSYNC) == 0);
  status.set_max_error_ns(FromMicroseconds(state.maxerror));
  status.set_estimated_error_ns(FromMicroseconds(state.esterror));
  if (std::string service = RecentTimeService(); !service.empty()) status.set_service(std::move(service));
  return status;
}

}  // namespace plimsoll
