#include "controller/run/preflight.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/agent_limits.h"
#include "common/units.h"
#include "common/version.h"

namespace plimsoll {
namespace {

using Hosts = std::vector<std::unique_ptr<Host>>;

// Room that is left alone on every storage beside what the run asks for: markers, directories, the file system's own.
constexpr uint64_t kSpareBytes = uint64_t{1} << 20;

const v1::DirectoryDescription& DirectoryOf(const Host& host) {
  return host.description->directories(0);
}

std::string Who(const Host& host) {
  return host.address.empty() || host.address == host.label ? host.label
                                                            : absl::StrCat(host.label, " (", host.address, ")");
}

// What the holder hangs in; empty where it does not.
std::string HangOf(const v1::SessionHolder& holder) {
  const bool hangs = absl::StrContains(holder.doing(), " for ");
  return hangs ? absl::StrCat(": ", holder.doing()) : "";
}

std::optional<Failure> CheckReachable(const Hosts& hosts) {
  Failure failure{Exit::kCannotRun, {}};
  for (const auto& host : hosts) {
    if (!host->description.ok()) {
      failure.lines.push_back(
          absl::StrCat("agent at ", host->address, ": ", std::string(host->description.status().message())));
    } else if (host->description->has_holder()) {
      const v1::SessionHolder& holder = host->description->holder();
      failure.lines.push_back(
          absl::StrCat("agent at ", host->address, " is busy: run ", holder.run_id(), " of ", holder.peer(),
                       " holds it for ", holder.age_ns() / static_cast<uint64_t>(kNsPerSecond), " s", HangOf(holder)));
    } else if (host->description->protocol_version() != kProtocolVersion) {
      failure.lines.push_back(absl::StrCat("agent at ", host->address, " is version ", host->description->version(),
                                           ", this is ", kVersion, ": install the same version on both"));
    }
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

std::optional<Failure> CheckDistinct(const Hosts& hosts) {
  std::map<std::string, const Host*> seen;
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : hosts) {
    const auto [first, added] = seen.emplace(host->description->instance_id(), host.get());
    if (!added) {
      failure.lines.push_back(absl::StrCat("--hosts: ", first->second->address, " and ", host->address,
                                           " are the same agent ('", host->description->name(), "'): name it once"));
    }
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

std::optional<Failure> CheckDirectories(const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads,
                                        const std::vector<uint64_t>& block_sizes) {
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : hosts) {
    const v1::DirectoryDescription& directory = DirectoryOf(*host);
    if (!directory.error().empty()) {
      failure.lines.push_back(absl::StrCat(host->label, ": --dir: ", directory.error()));
      continue;
    }
    const v1::LogWorkload& workload = workloads[host->index];
    if (workload.direct() == v1::DIRECT_MODE_OFF || directory.direct_offset_align() == 0) continue;
    for (const uint64_t block : block_sizes) {
      if (block % directory.direct_offset_align() == 0) continue;
      failure.lines.push_back(absl::StrCat(host->label, ": --bsize ", FormatSize(block), " is not a multiple of the ",
                                           directory.direct_offset_align(), "-byte block of ", directory.path(),
                                           ", which O_DIRECT asks for: take a multiple, or --direct off"));
    }
    if (workload.file_size_bytes() % directory.direct_offset_align() != 0) {
      failure.lines.push_back(absl::StrCat(host->label, ": --file-size ", FormatSize(workload.file_size_bytes()),
                                           " is not a multiple of the ", directory.direct_offset_align(),
                                           "-byte block of ", directory.path(),
                                           ", which O_DIRECT asks for: take a multiple, or --direct off"));
    }
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

std::optional<Failure> CheckSpace(const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads) {
  Failure failure{Exit::kWrong, {}};
  for (const std::vector<size_t>& group : GuessSharedStorage(hosts)) {
    uint64_t needed = kSpareBytes;
    uint64_t free = UINT64_MAX;
    std::string who;
    for (const size_t index : group) {
      needed += BytesOf(workloads[index]).bytes;
      free = std::min(free, DirectoryOf(*hosts[index]).free_bytes());
      absl::StrAppend(&who, who.empty() ? "" : ", ", hosts[index]->label);
    }
    if (needed <= free) continue;
    const Host& first = *hosts[group.front()];
    failure.lines.push_back(absl::StrCat(who, ": ", group.size() > 1 ? "the storage that they share" : "the storage",
                                         " below ", DirectoryOf(first).path(), " has ", FormatSizeForPeople(free),
                                         " free, the run needs ", FormatSizeForPeople(needed - kSpareBytes), " (",
                                         FormatCount(needed - kSpareBytes),
                                         " bytes): lower --qm, --num-files or --file-size, or free space"));
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

}  // namespace

HostBytes BytesOf(const v1::LogWorkload& workload) {
  HostBytes bytes;
  bytes.directory = workload.dir();
  bytes.writers = workload.qm();
  bytes.files = uint64_t{workload.qm()} * workload.num_files();
  if (__builtin_mul_overflow(bytes.files, workload.file_size_bytes(), &bytes.bytes)) bytes.bytes = UINT64_MAX / 2;
  return bytes;
}

std::vector<std::vector<size_t>> GuessSharedStorage(const Hosts& hosts) {
  std::map<std::string, size_t> group_of;
  std::vector<std::vector<size_t>> groups;
  for (const auto& host : hosts) {
    const v1::DirectoryDescription& directory = DirectoryOf(*host);
    const std::string key = !directory.remote().empty()
                                ? absl::StrCat("remote ", directory.remote())
                                : absl::StrCat("local ", host->description->boot_id(), " ", directory.device());
    const auto [group, added] = group_of.emplace(key, groups.size());
    if (added) groups.emplace_back();
    groups[group->second].push_back(host->index);
  }
  return groups;
}

std::optional<Failure> CheckHosts(const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads,
                                  const std::vector<uint64_t>& block_sizes) {
  if (auto failure = CheckReachable(hosts)) return failure;
  if (auto failure = CheckDistinct(hosts)) return failure;
  if (auto failure = CheckDirectories(hosts, workloads, block_sizes)) return failure;
  return CheckSpace(hosts, workloads);
}

std::optional<Failure> CheckCaps(const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads,
                                 const std::vector<v1::LogStep>& steps) {
  const google::protobuf::RepeatedPtrField<v1::LogStep> all(steps.begin(), steps.end());
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : hosts) {
    const absl::Status status = CheckAgentLimits(host->description->limits(), workloads[host->index], all);
    if (!status.ok()) failure.lines.push_back(absl::StrCat(Who(*host), ": ", std::string(status.message())));
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

std::vector<std::string> Warnings(const Hosts& hosts) {
  std::vector<std::string> warnings;
  for (const auto& host : hosts) {
    if (!host->description.ok() || host->description->directories_size() == 0) continue;
    const v1::DirectoryDescription& directory = DirectoryOf(*host);
    if (!directory.caveat().empty()) {
      warnings.push_back(absl::StrCat(Who(*host), ": ", directory.path(), ": ", directory.caveat()));
    }
    for (const std::string& sign : directory.queue_managers()) {
      warnings.push_back(absl::StrCat(Who(*host), ": a queue manager seems to use this file system (", sign,
                                      "): the run will slow it down"));
    }
  }
  return warnings;
}

}  // namespace plimsoll
