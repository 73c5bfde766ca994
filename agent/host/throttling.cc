#include "agent/host/throttling.h"

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/storage_stack.h"
#include "common/posix.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// The process' cgroup in the hierarchy with the CPU controller: "4:cpu,cpuacct:/kubepods/pod1", or "0::/system.slice"
// of version 2, which has the controller where version 1 does not.
struct CpuCgroup {
  std::string path;
  bool version_1 = false;
};

bool HasWord(const std::string& list, const char* word) {
  const std::vector<std::string> words = absl::StrSplit(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<CpuCgroup> FindCpuCgroup(const std::string& cgroups) {
  std::optional<CpuCgroup> found;
  std::istringstream lines(cgroups);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (HasWord(fields[1], "cpu")) return CpuCgroup{fields[2], true};
    if (fields[0] == "0" && fields[1].empty()) found = {fields[2], false};
  }
  return found;
}

// The path below `root`, with a leading slash or empty; nothing where it is not there.
std::optional<std::string> BelowRoot(const std::string& path, const std::string& root) {
  const std::string base = root == "/" ? "" : root;
  if (!absl::StartsWith(path, base) || absl::StrContains(path, "/..")) return std::nullopt;
  std::string rest = path.substr(base.size());
  if (rest == "/") rest.clear();
  if (!rest.empty() && rest[0] != '/') return std::nullopt;
  return rest;
}

}  // namespace

std::optional<uint64_t> ParseThrottledNs(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    uint64_t value = 0;
    if (fields.size() != 2 || !absl::SimpleAtoi(fields[1], &value)) continue;
    if (fields[0] == "throttled_time") return value;
    if (fields[0] == "throttled_usec") return value * static_cast<uint64_t>(kNsPerUs);
  }
  return std::nullopt;
}

std::vector<std::string> CpuStatFiles(const std::string& cgroups, const std::string& mountinfo) {
  const std::optional<CpuCgroup> cgroup = FindCpuCgroup(cgroups);
  if (!cgroup.has_value()) return {};
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    // "40 31 0:37 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu"
    const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> mount = absl::StrSplit(halves[0], ' ');
    const std::vector<std::string> file_system = absl::StrSplit(halves[1], ' ');
    if (mount.size() < 5 || file_system.size() < 3) continue;
    if (file_system[0] != (cgroup->version_1 ? "cgroup" : "cgroup2")) continue;
    if (cgroup->version_1 && !HasWord(file_system[2], "cpu")) continue;
    std::optional<std::string> below = BelowRoot(cgroup->path, DecodeMountText(mount[3]));
    if (!below.has_value()) continue;
    std::vector<std::string> files;
    while (true) {
      files.push_back(absl::StrCat(DecodeMountText(mount[4]), *below, "/cpu.stat"));
      if (below->empty()) return files;
      below->resize(below->rfind('/'));
    }
  }
  return {};
}

std::vector<std::string> OwnCpuStatFiles() {
  return CpuStatFiles(ReadTextFile("/proc/self/cgroup"), ReadTextFile("/proc/self/mountinfo"));
}

std::optional<uint64_t> ReadThrottledNs(const std::vector<std::string>& cpu_stats) {
  std::optional<uint64_t> sum_ns;
  for (const std::string& file : cpu_stats) {
    if (const auto throttled_ns = ParseThrottledNs(ReadTextFile(file)); throttled_ns.has_value()) {
      sum_ns = sum_ns.value_or(0) + *throttled_ns;
    }
  }
  return sum_ns;
}

}  // namespace plimsoll
