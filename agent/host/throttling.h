// For how long the limit of CPU time of this process' cgroup suspended it, as container limits do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll {

// The throttled time of a cgroup's cpu.stat since it was made, of version 2 ("throttled_usec") and of version 1
// ("throttled_time", in nanoseconds). Nothing where the text has neither, as at the root of the hierarchy.
std::optional<uint64_t> ParseThrottledNs(const std::string& text);

// The cpu.stat files of a process' cgroup and of those above it, as far as the process sees them: a limit of a pod
// suspends its containers, too. `cgroups` and `mountinfo` are the texts of /proc/self/cgroup and /proc/self/mountinfo.
// The hierarchy is the one that has the CPU controller, of version 1 or 2. Empty where it is not mounted.
std::vector<std::string> CpuStatFiles(const std::string& cgroups, const std::string& mountinfo);

// The cpu.stat files of this process' cgroup and of those above it.
std::vector<std::string> OwnCpuStatFiles();

// The throttled times of these files, added up: the kernel adds up CPUs, too. Nothing where no file has one.
std::optional<uint64_t> ReadThrottledNs(const std::vector<std::string>& cpu_stats);

}  // namespace plimsoll
