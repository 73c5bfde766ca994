#include "controller/run/preparation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/integers.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/analysis/groups.h"
#include "controller/run/agent_trust.h"

namespace plimsoll {
namespace {

using Hosts = std::vector<std::unique_ptr<Host>>;

// Room that is left alone on every storage beside what the run asks for: markers, directories, the file system's own.
constexpr uint64_t kSpareBytes = uint64_t{1} << 20;

const v1::DirectoryDescription& DirectoryOf(const Host& host) {
  const bool described = host.description.ok() && !host.description->directories().empty();
  return described ? host.description->directories(0) : v1::DirectoryDescription::default_instance();
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
      failure.lines.push_back(UnreachableInWords(host->address, host->description.status()));
    } else if (host->description->has_holder()) {
      const v1::SessionHolder& holder = host->description->holder();
      failure.lines.push_back(absl::StrCat(host->address, ": the agent is busy: ", HolderInWords(holder),
                                           " holds it for ", holder.age_ns() / static_cast<uint64_t>(kNsPerSecond),
                                           " s", HangOf(holder)));
    } else if (host->description->protocol_version() != kProtocolVersion) {
      failure.lines.push_back(absl::StrCat(host->address, ": the agent is version ", host->description->version(),
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
      failure.lines.push_back(DirectoryInWords(host->label, directory.error()));
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

// Free space as last measured.
struct HostSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t min_free_bytes = 0;
};

HostSpace SpaceOf(const Host& host, const v1::LogWorkload& workload) {
  if (host.placed.has_value() && host.placed->total_bytes() > 0) {
    return {host.placed->total_bytes(), host.placed->free_bytes(), host.placed->min_free_bytes()};
  }
  const v1::DirectoryDescription& directory = DirectoryOf(host);
  const auto asked = workload.has_min_free_bytes() ? std::optional(workload.min_free_bytes()) : std::nullopt;
  // A file system that does not tell its size has no share to keep free.
  const bool known = asked.has_value() || directory.total_bytes() > 0;
  return {directory.total_bytes(), directory.free_bytes(), known ? MinFreeBytes(asked, directory.total_bytes()) : 0};
}

// What a host's directory can have in common with another's, and how messages name it.
std::vector<std::pair<std::string, std::string>> SharingSigns(const Host& host) {
  const v1::DirectoryDescription& directory = DirectoryOf(host);
  std::vector<std::pair<std::string, std::string>> signs;
  const std::string& boot_id = host.description.ok() ? host.description->boot_id() : host.label;
  signs.emplace_back(absl::StrCat("device ", boot_id, " ", directory.device()), "one device of one kernel");
  if (!directory.remote().empty()) {
    signs.emplace_back(absl::StrCat("remote ", directory.remote()), absl::StrCat("both mount ", directory.remote()));
  }
  if (!directory.remote_file_system().empty()) {
    signs.emplace_back(absl::StrCat("file system ", directory.remote_file_system()), "one file system of one server");
  }
  for (const v1::BlockLayer& layer : directory.block_layers()) {
    if (layer.world_wide_name().empty()) continue;
    signs.emplace_back(absl::StrCat("unit ", layer.world_wide_name()),
                       absl::StrCat("one disk, ", layer.world_wide_name()));
  }
  // Measured at one time: a storage in use changes from the description to the look.
  const auto add_space = [&signs](const char* when, uint64_t total_bytes, uint64_t free_bytes) {
    if (total_bytes == 0) return;
    signs.emplace_back(absl::StrCat(when, " ", total_bytes, " ", free_bytes), "equal size and free space");
  };
  add_space("described", directory.total_bytes(), directory.free_bytes());
  if (host.placed.has_value()) {
    add_space(host.placed->round() == 0 ? "placed" : "looked", host.placed->total_bytes(), host.placed->free_bytes());
  }
  return signs;
}

}  // namespace

std::string HolderInWords(const v1::SessionHolder& holder) {
  // Between the opening of its stream and its plan a session has no name.
  if (holder.run_id().empty()) return absl::StrCat("a session of ", holder.peer(), " that has just started");
  return absl::StrCat("run ", holder.run_id(), " of ", holder.peer());
}

HostBytes BytesOf(const v1::LogWorkload& workload) {
  HostBytes bytes;
  bytes.directory = workload.dir();
  bytes.writers = workload.qm();
  bytes.files = uint64_t{workload.qm()} * workload.num_files();
  if (__builtin_mul_overflow(bytes.files, workload.file_size_bytes(), &bytes.bytes)) bytes.bytes = UINT64_MAX / 2;
  return bytes;
}

std::vector<SharedStorage> FindSharedStorage(const Hosts& hosts) {
  Groups groups(hosts.size());
  // Pairs that share a storage, and why.
  std::vector<std::pair<size_t, std::string>> joints;
  const auto join = [&groups, &joints](size_t a, size_t b, const std::string& evidence) {
    if (groups.Root(a) == groups.Root(b)) return;
    groups.Join(a, b);
    joints.emplace_back(a, evidence);
  };
  std::map<std::string, size_t> first_with;
  std::map<std::string, size_t> labels;
  for (const auto& host : hosts) {
    labels.emplace(host->label, host->index);
    for (const auto& [sign, evidence] : SharingSigns(*host)) {
      const auto [first, added] = first_with.emplace(sign, host->index);
      if (!added) join(first->second, host->index, evidence);
    }
  }
  for (const auto& host : hosts) {
    if (!host->placed.has_value()) continue;
    for (const std::string& label : host->placed->visible_hosts()) {
      const auto seen = labels.find(label);
      if (seen != labels.end()) join(host->index, seen->second, "they see one another's run directories");
    }
  }
  std::map<size_t, std::set<std::string>> evidence_of;
  for (const auto& [host, evidence] : joints) evidence_of[groups.Root(host)].insert(evidence);
  std::vector<SharedStorage> storages;
  std::map<size_t, size_t> place;
  for (const auto& host : hosts) {
    const size_t root = groups.Root(host->index);
    const auto [at, added] = place.emplace(root, storages.size());
    if (added) storages.push_back({{}, absl::StrJoin(evidence_of[root], "; ")});
    storages[at->second].hosts.push_back(host->index);
  }
  return storages;
}

std::optional<Failure> CheckSpace(const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads) {
  Failure failure{Exit::kWrong, {}};
  for (const SharedStorage& storage : FindSharedStorage(hosts)) {
    uint64_t needed = 0;
    uint64_t free = UINT64_MAX;
    uint64_t kept = 0;
    std::string who;
    for (const size_t index : storage.hosts) {
      needed = SaturatingAdd(needed, BytesOf(workloads[index]).bytes);
      const HostSpace space = SpaceOf(*hosts[index], workloads[index]);
      free = std::min(free, space.free_bytes);
      kept = std::max(kept, space.min_free_bytes);
      absl::StrAppend(&who, who.empty() ? "" : ", ", hosts[index]->label);
    }
    if (SaturatingAdd(needed, SaturatingAdd(kept, kSpareBytes)) <= free) continue;
    const bool shared = storage.hosts.size() > 1;
    failure.lines.push_back(absl::StrCat(
        who, ": ", shared ? absl::StrCat("the storage that they share (", storage.evidence, ")") : "the storage",
        " below ", DirectoryOf(*hosts[storage.hosts.front()]).path(), " has ", FormatSizeForPeople(free),
        " free, the run needs ", FormatSizeForPeople(needed), " (", FormatCount(needed), " bytes) and leaves ",
        FormatSizeForPeople(kept),
        " free (--min-free): prepare fewer queue managers (--qm, placement), lower --num-files or --file-size, or free "
        "space"));
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

std::optional<Failure> CheckHosts(const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads,
                                  const std::vector<uint64_t>& block_sizes) {
  if (auto failure = CheckReachable(hosts)) return failure;
  if (auto failure = CheckDistinct(hosts)) return failure;
  if (auto failure = CheckDirectories(hosts, workloads, block_sizes)) return failure;
  return CheckSpace(hosts, workloads);
}

std::optional<Failure> CheckCaps(const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads,
                                 const std::vector<v1::LogStep>& steps, const TimeInWords& time) {
  const google::protobuf::RepeatedPtrField<v1::LogStep> all(steps.begin(), steps.end());
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : hosts) {
    WorkDemand demand = LogDemand(workloads[host->index], all);
    if (!time.asked.empty()) {
      demand.duration_ns.asked = time.asked;
      demand.duration_ns.lowered_by = time.lowered_by;
    }
    const absl::Status status = CheckDemand(host->description->limits(), demand);
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

namespace {

constexpr int64_t kSecondLookNs = kNsPerSecond;

// Errors that an agent finds in the request, as opposed to trouble of its own.
bool IsWrongInput(int32_t code) {
  switch (static_cast<absl::StatusCode>(code)) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Preparation::All(const std::function<bool(const Host&)>& condition) const {
  return std::all_of(fleet_.hosts().begin(), fleet_.hosts().end(), [&](const auto& host) { return condition(*host); });
}

std::optional<Failure> Preparation::Run() {
  for (auto& host : fleet_.hosts()) options_.driver->Open(*host, options_.plans[host->index]);
  Await(Host::Phase::kPlaced);
  std::optional<Failure> failure = FailureSoFar();
  if (!failure.has_value() && fleet_.size() > 1) {
    LookAll();
    // What one look cannot know (a server that answers from a copy of its own) a second one a little later can; hosts
    // that all share one storage need none.
    if (!FailureSoFar().has_value() && FindSharedStorage(fleet_.hosts()).size() > 1) {
      options_.driver->PumpFor(kSecondLookNs, [this] { return FailureSoFar().has_value(); });
      if (!FailureSoFar().has_value()) LookAll();
    }
    failure = FailureSoFar();
  }
  if (failure.has_value()) return failure;
  if (failure = CheckSpace(fleet_.hosts(), options_.workloads); failure.has_value()) return failure;
  for (auto& host : fleet_.hosts()) {
    host->phase = Host::Phase::kFilling;
    v1::ControllerMessage message;
    message.mutable_fill();
    host->client->Send(std::move(message));
  }
  Await(Host::Phase::kReady);
  return FailureSoFar();
}

void Preparation::OnPlaced(Host& host, v1::Placed& placed) {
  // An answer to an earlier look shows less than the awaited one.
  if (placed.round() != look_round_) return;
  if (host.phase != Host::Phase::kPlacing && host.phase != Host::Phase::kLooking) return;
  host.placed = std::move(placed);
  host.phase = Host::Phase::kPlaced;
}

void Preparation::Await(Host::Phase phase) {
  options_.driver->PumpUntil([this, phase] {
    return options_.driver->interrupted() || All([phase](const Host& host) { return host.phase == phase; }) ||
           !All([](const Host& host) { return !host.lost() && !host.fault.has_value(); });
  });
}

void Preparation::LookAll() {
  v1::ControllerMessage message;
  message.mutable_look()->set_round(++look_round_);
  for (const auto& host : fleet_.hosts()) message.mutable_look()->add_hosts(host->label);
  for (auto& host : fleet_.hosts()) {
    host->phase = Host::Phase::kLooking;
    host->client->Send(message);
  }
  Await(Host::Phase::kPlaced);
}

std::optional<Failure> Preparation::FailureSoFar() const {
  if (options_.driver->interrupted()) {
    return Failure{Exit::kInconclusive, {"interrupted while preparing: nothing was measured"}};
  }
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : fleet_.hosts()) {
    if (host->fault.has_value()) {
      failure.lines.push_back(absl::StrCat(host->label, ": ", host->fault->message()));
      if (!IsWrongInput(host->fault->code())) failure.code = Exit::kCannotRun;
    } else if (host->lost()) {
      failure.lines.push_back(absl::StrCat(host->label, " (", host->address, ") was lost while preparing"));
      if (const std::string advice = host->CleanupAdvice(); !advice.empty()) failure.lines.push_back(advice);
      failure.code = Exit::kCannotRun;
    }
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

}  // namespace plimsoll
