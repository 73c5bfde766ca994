#include "controller/run/preparation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/integers.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/fleet/agent_trust.h"

namespace plimsoll {
namespace {

using Hosts = std::vector<std::unique_ptr<Host>>;

// Room that is left alone on every storage beside what the run asks for: markers, directories, the file system's own.
constexpr uint64_t kSpareBytes = uint64_t{1} << 20;

// In which it writes, as far as they are described; at least one.
size_t DirectoriesOf(const Host& host) {
  const auto described = host.description.ok() ? static_cast<size_t>(host.description->directories_size()) : 0;
  return std::clamp<size_t>(described, 1, std::max<size_t>(host.directories, 1));
}

const v1::DirectoryDescription& DirectoryOf(const Host& host, size_t number = 0) {
  const bool described = host.description.ok() && number < static_cast<size_t>(host.description->directories_size());
  return described ? host.description->directories(static_cast<int>(number))
                   : v1::DirectoryDescription::default_instance();
}

std::string Who(const Host& host) {
  return host.address.empty() || host.address == host.label ? host.label
                                                            : absl::StrCat(host.label, " (", host.address, ")");
}

std::optional<Failure> CheckReachable(const Hosts& hosts) {
  Failure failure{Exit::kCannotRun, {}};
  for (const auto& host : hosts) {
    if (!host->description.ok()) {
      failure.lines.push_back(UnreachableInWords(host->address, host->description.status()));
    } else if (host->description->has_holder()) {
      const v1::SessionHolder& holder = host->description->holder();
      failure.lines.push_back(absl::StrCat(host->address, ": the agent is busy: ", HolderInWords(holder),
                                           " has held it for ", holder.age_ns() / static_cast<uint64_t>(kNsPerSecond),
                                           " s (", holder.doing(),
                                           "); wait for its end, or end it with Ctrl-C at its controller"));
    } else if (host->description->protocol_version() != kProtocolVersion) {
      failure.lines.push_back(absl::StrCat(host->address, ": the agent is version ", host->description->version(),
                                           " (protocol ", host->description->protocol_version(), "), this is ",
                                           kVersion, " (protocol ", kProtocolVersion,
                                           "): install versions with one protocol on both"));
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
    const v1::LogWorkload& workload = workloads[host->index];
    for (size_t number = 0; number < DirectoriesOf(*host); ++number) {
      const v1::DirectoryDescription& directory = DirectoryOf(*host, number);
      // CheckFiles reports files whose directory cannot be described.
      if (UsesPaths(workload) && (!workload.create() || !directory.error().empty())) continue;
      if (!directory.error().empty()) {
        failure.lines.push_back(DirectoryInWords(host->label, directory.error(), DirectoryOption(workload)));
        continue;
      }
      const absl::Status fits =
          CheckFreeFiles(absl::StrCat(host->label, ": ", directory.path()), directory.total_files(),
                         directory.free_files(), FilesIn(workload, directory.path()),
                         MinFreeFiles(workload, directory.total_files()), FilesLoweredBy(workload));
      if (!fits.ok()) failure.lines.emplace_back(fits.message());
      if (workload.direct() == v1::DIRECT_MODE_OFF || directory.direct_offset_align() == 0) continue;
      for (const uint64_t block : block_sizes) {
        if (block % directory.direct_offset_align() == 0) continue;
        failure.lines.push_back(absl::StrCat(host->label, ": --bsize ", FormatSize(block), " is not a multiple of the ",
                                             directory.direct_offset_align(), "-byte block of ", directory.path(),
                                             ", which O_DIRECT requires; use a multiple, or --direct off"));
      }
      if (workload.file_size_bytes() % directory.direct_offset_align() != 0) {
        failure.lines.push_back(absl::StrCat(host->label, ": --file-size ", FormatSize(workload.file_size_bytes()),
                                             " is not a multiple of the ", directory.direct_offset_align(),
                                             "-byte block of ", directory.path(),
                                             ", which O_DIRECT requires; use a multiple, or --direct off"));
      }
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

// What a host last saw in one of its directories. `hosts` is a part of Host::placed: a copy for each pair of hosts
// would take longer than everything else.
struct PlaceSeen {
  HostSpace space;
  const google::protobuf::RepeatedPtrField<std::string>& hosts;
};

// Nothing before it has looked, or where it has not so many.
std::optional<PlaceSeen> SeenBy(const Host& host, size_t number) {
  if (!host.placed.has_value()) return std::nullopt;
  const auto seen = [](const auto& placed) {
    return PlaceSeen{{placed.total_bytes(), placed.free_bytes(), placed.min_free_bytes()}, placed.visible_hosts()};
  };
  if (number == 0) return seen(*host.placed);
  if (number > static_cast<size_t>(host.placed->more_size())) return std::nullopt;
  return seen(host.placed->more(static_cast<int>(number) - 1));
}

HostSpace SpaceOf(const Host& host, size_t number, const v1::LogWorkload& workload) {
  const std::optional<PlaceSeen> seen = SeenBy(host, number);
  if (seen.has_value() && seen->space.total_bytes > 0) return seen->space;
  const v1::DirectoryDescription& directory = DirectoryOf(host, number);
  // A file system that does not report its size has no share to keep free.
  const bool known = workload.has_min_free_bytes() || directory.total_bytes() > 0;
  return {directory.total_bytes(), directory.free_bytes(), known ? MinFreeBytes(workload, directory.total_bytes()) : 0};
}

// What a host's directory can have in common with another, and how messages name it.
struct SharingSign {
  std::string sign;
  std::string evidence;
  // Shows little: file systems of one size that are empty have it in common.
  bool weak = false;
  // File systems of one host that surely have space of their own may have it in common.
  bool of_disk = false;
};

std::vector<SharingSign> SharingSigns(const Host& host, size_t number) {
  const v1::DirectoryDescription& directory = DirectoryOf(host, number);
  std::vector<SharingSign> signs;
  const std::string& boot_id = host.description.ok() ? host.description->boot_id() : host.label;
  signs.push_back({absl::StrCat("device ", boot_id, " ", directory.device()), "one device of one kernel"});
  if (!directory.remote().empty()) {
    signs.push_back({absl::StrCat("remote ", directory.remote()), absl::StrCat("both mount ", directory.remote())});
  }
  if (!directory.remote_file_system().empty()) {
    signs.push_back({absl::StrCat("file system ", directory.remote_file_system()), "one file system of one server"});
  }
  for (const v1::BlockLayer& layer : directory.block_layers()) {
    if (layer.world_wide_name().empty()) continue;
    signs.push_back({absl::StrCat("unit ", layer.world_wide_name()),
                     absl::StrCat("one disk, ", layer.world_wide_name()), false, true});
  }
  // Measured at one time: a storage in use changes from the description to the look.
  const auto add_space = [&signs](const char* when, uint64_t total_bytes, uint64_t free_bytes) {
    if (total_bytes == 0) return;
    signs.push_back({absl::StrCat(when, " ", total_bytes, " ", free_bytes), "equal size and free space", true, true});
  };
  add_space("described", directory.total_bytes(), directory.free_bytes());
  if (const std::optional<PlaceSeen> seen = SeenBy(host, number); seen.has_value()) {
    add_space(host.placed->round() == 0 ? "placed" : "looked", seen->space.total_bytes, seen->space.free_bytes);
  }
  return signs;
}

// The host's devices of each world wide name in a storage stack.
std::map<std::string, std::set<std::string>> UnitsOf(const v1::DirectoryDescription& directory) {
  std::map<std::string, std::set<std::string>> units;
  for (const v1::BlockLayer& layer : directory.block_layers()) {
    if (!layer.world_wide_name().empty()) units[layer.world_wide_name()].insert(layer.name());
  }
  return units;
}

// Whether two directories of one host surely lie on file systems with space of their own: on block devices of their
// own, also where these are partitions or volumes of one disk, or on two file systems in memory. All else is in doubt:
// overlay and FUSE file systems, and datasets of ZFS, have devices of their own and share their space.
bool HaveOwnSpace(const Host& host, size_t a, size_t b) {
  const v1::DirectoryDescription& first = DirectoryOf(host, a);
  const v1::DirectoryDescription& second = DirectoryOf(host, b);
  if (first.device() == second.device() || !first.remote().empty() || !second.remote().empty()) return false;
  if (first.fs_type() == "tmpfs" && second.fs_type() == "tmpfs") return true;
  if (first.block_layers().empty() || second.block_layers().empty()) return false;
  if (first.block_layers(0).name() == second.block_layers(0).name()) return false;
  // Two devices of one name are two paths to one disk, which may be one file system.
  const std::map<std::string, std::set<std::string>> others = UnitsOf(second);
  for (const auto& [unit, devices] : UnitsOf(first)) {
    const auto other = others.find(unit);
    if (other == others.end()) continue;
    const bool in_common = std::any_of(devices.begin(), devices.end(),
                                       [&](const std::string& device) { return other->second.contains(device); });
    if (!in_common) return false;
  }
  return true;
}

}  // namespace

std::string HolderInWords(const v1::SessionHolder& holder) {
  // Between the opening of its stream and its plan a session has no name.
  if (holder.run_id().empty()) return absl::StrCat("a session of ", holder.peer(), " that has just started");
  return absl::StrCat("run ", holder.run_id(), " of ", holder.peer());
}

namespace {

// Groups the directories of all hosts.
class StorageFinder {
 public:
  explicit StorageFinder(const Hosts& hosts) : hosts_(hosts) {
    for (const auto& host : hosts) {
      first_of_.push_back(places_.size());
      labels_.emplace(host->label, host->index);
      for (size_t number = 0; number < DirectoriesOf(*host); ++number) places_.push_back({host->index, number});
    }
    groups_.emplace(places_.size());
  }

  std::vector<SharedStorage> Find() {
    JoinBySigns();
    for (size_t place = 0; place < places_.size(); ++place) JoinByLook(place);
    std::map<size_t, std::set<std::string>> evidence_of;
    std::set<size_t> known;
    for (const Joint& joint : joints_) {
      evidence_of[groups_->Root(joint.place)].insert(joint.evidence);
      if (!joint.weak) known.insert(groups_->Root(joint.place));
    }
    std::vector<SharedStorage> storages;
    std::map<size_t, size_t> number_of;
    for (size_t place = 0; place < places_.size(); ++place) {
      const size_t root = groups_->Root(place);
      const auto [at, added] = number_of.emplace(root, storages.size());
      if (added) {
        storages.emplace_back().evidence = absl::StrJoin(evidence_of[root], "; ");
        storages.back().guessed = evidence_of.contains(root) && !known.contains(root);
      }
      SharedStorage& storage = storages[at->second];
      storage.places.push_back(places_[place]);
      // Places are in the order of their hosts.
      if (storage.hosts.empty() || storage.hosts.back() != places_[place].host) {
        storage.hosts.push_back(places_[place].host);
      }
    }
    return storages;
  }

 private:
  // Why a place shares a storage with an earlier one.
  struct Joint {
    size_t place = 0;
    std::string evidence;
    bool weak = false;
  };
  // Places that have a sign in common.
  struct Holders {
    // Places of earlier hosts, one of each group.
    std::vector<size_t> earlier;
    // Places of the host whose turn it is.
    std::vector<size_t> here;
  };

  void Join(size_t a, size_t b, const std::string& evidence, bool weak = false) {
    if (groups_->Root(a) == groups_->Root(b)) return;
    groups_->Join(a, b);
    joints_.push_back({a, evidence, weak});
  }

  // Two directories of one host with space of their own are joined by what neither disproves, on this host. By what
  // they have in common with another host's directory both may be in its group: which of them it is on, if any, is not
  // known.
  void JoinBySigns() {
    std::map<std::string, Holders> with;
    for (size_t place = 0; place < places_.size(); ++place) {
      const auto& [host, number] = places_[place];
      for (const SharingSign& sign : SharingSigns(*hosts_[host], number)) {
        Holders& holders = with[sign.sign];
        if (!holders.here.empty() && places_[holders.here.front()].host != host) EndHost(holders);
        for (const size_t other : holders.earlier) Join(other, place, sign.evidence, sign.weak);
        for (const size_t other : holders.here) {
          if (sign.of_disk && HaveOwnSpace(*hosts_[host], places_[other].directory, number)) continue;
          Join(other, place, sign.evidence, sign.weak);
        }
        holders.here.push_back(place);
      }
    }
  }

  void EndHost(Holders& holders) {
    for (const size_t place : holders.here) {
      const bool there = std::any_of(holders.earlier.begin(), holders.earlier.end(),
                                     [&](size_t other) { return groups_->Root(other) == groups_->Root(place); });
      if (!there) holders.earlier.push_back(place);
    }
    holders.here.clear();
  }

  // Hosts whose run directories are seen from this one. A host makes its directory wherever it writes: which of those
  // is seen shows by which of them sees this host's, and by their paths.
  void JoinByLook(size_t place) {
    const auto& [host, number] = places_[place];
    const std::optional<PlaceSeen> seen = SeenBy(*hosts_[host], number);
    if (!seen.has_value()) return;
    for (const std::string& label : seen->hosts) {
      const auto found = labels_.find(label);
      if (found == labels_.end() || found->second == host) continue;
      for (const size_t other : SeenPlaces(place, found->second)) {
        Join(place, other, "they see one another's run directories");
      }
    }
  }

  std::vector<size_t> SeenPlaces(size_t place, size_t other_host) const {
    const Host& own = *hosts_[places_[place].host];
    const Host& other = *hosts_[other_host];
    // There is one that it can be.
    if (DirectoriesOf(other) == 1) return {first_of_[other_host]};
    std::vector<size_t> all;
    std::vector<size_t> mutual;
    std::vector<size_t> same_path;
    for (size_t number = 0; number < DirectoriesOf(other); ++number) {
      all.push_back(first_of_[other_host] + number);
      const std::optional<PlaceSeen> seen = SeenBy(other, number);
      if (!seen.has_value() || std::find(seen->hosts.begin(), seen->hosts.end(), own.label) == seen->hosts.end()) {
        continue;
      }
      mutual.push_back(all.back());
      if (DirectoryOf(other, number).path() == DirectoryOf(own, places_[place].directory).path()) {
        same_path.push_back(all.back());
      }
    }
    return !same_path.empty() ? same_path : !mutual.empty() ? mutual : all;
  }

  const Hosts& hosts_;
  std::vector<HostPlace> places_;
  // By host: the place of its first directory.
  std::vector<size_t> first_of_;
  std::map<std::string, size_t> labels_;
  std::optional<Groups> groups_;
  std::vector<Joint> joints_;
};

}  // namespace

std::vector<SharedStorage> FindSharedStorage(const Hosts& hosts) {
  return StorageFinder(hosts).Find();
}

namespace {

// The most that one storage can be asked to hold by the directories of its group. Only one of a host's directories with
// space of their own can be on it: the one that needs the most counts.
uint64_t NeededOn(const SharedStorage& storage, const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads) {
  const std::vector<HostPlace>& places = storage.places;
  uint64_t needed = 0;
  for (size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    const size_t host = places[begin].host;
    while (end < places.size() && places[end].host == host) ++end;
    Groups groups(end - begin);
    for (size_t a = begin; a < end; ++a) {
      for (size_t b = a + 1; b < end; ++b) {
        if (!HaveOwnSpace(*hosts[host], places[a].directory, places[b].directory)) groups.Join(a - begin, b - begin);
      }
    }
    const std::vector<HostBytes> bytes = BytesOf(workloads[host]);
    std::map<size_t, uint64_t> sums;
    uint64_t most = 0;
    for (size_t place = begin; place < end; ++place) {
      if (places[place].directory >= bytes.size()) continue;
      uint64_t& sum = sums[groups.Root(place - begin)];
      sum = SaturatingAdd(sum, bytes[places[place].directory].bytes);
      most = std::max(most, sum);
    }
    needed = SaturatingAdd(needed, most);
  }
  return needed;
}

}  // namespace

std::optional<Failure> CheckSpace(const Hosts& hosts, const std::vector<v1::LogWorkload>& workloads) {
  Failure failure{Exit::kWrong, {}};
  for (const SharedStorage& storage : FindSharedStorage(hosts)) {
    const uint64_t needed = NeededOn(storage, hosts, workloads);
    // Files that exist take no more space.
    if (needed == 0) continue;
    uint64_t free = UINT64_MAX;
    uint64_t kept = 0;
    std::vector<std::string> who;
    std::vector<std::string> paths;
    for (const auto& [index, number] : storage.places) {
      const HostSpace space = SpaceOf(*hosts[index], number, workloads[index]);
      free = std::min(free, space.free_bytes);
      kept = std::max(kept, space.min_free_bytes);
      if (who.empty() || who.back() != hosts[index]->label) who.push_back(hosts[index]->label);
      const std::string& path = DirectoryOf(*hosts[index], number).path();
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    }
    if (LeavesFree(free, SaturatingAdd(needed, kSpareBytes), kept)) continue;
    const bool several = workloads[storage.hosts.front()].qm_dirs_size() > 0;
    if (!several) paths.resize(1);
    const std::string shared =
        storage.hosts.size() > 1    ? absl::StrCat("the storage that they share (", storage.evidence, ")")
        : storage.places.size() > 1 ? absl::StrCat("the storage of several directories (", storage.evidence, ")")
                                    : std::string("the storage");
    failure.lines.push_back(absl::StrCat(
        absl::StrJoin(who, ", "), ": ", shared, " below ", absl::StrJoin(paths, ", "), " has ",
        FormatSizeForPeople(free), " free, the run needs ", FormatSizeForPeople(needed), " (", FormatCount(needed),
        " bytes) and leaves ", FormatSizeForPeople(kept), " free (--min-free): ",
        UsesFiles(workloads[storage.hosts.front()])
            ? "name fewer files (--files), lower --file-size, or free space"
            : "prepare fewer queue managers (--qm, placement), lower --num-files or --file-size, or free space",
        storage.guessed ? "; if these are different file systems, create a file of another size on one of them" : ""));
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
    if (!host->description.ok()) continue;
    if (const std::string& version = host->description->version(); !version.empty() && version != kVersion) {
      warnings.push_back(absl::StrCat(Who(*host), ": the agent is version ", version, ", this is ", kVersion,
                                      "; both speak protocol ", kProtocolVersion));
    }
    if (host->description->directories_size() == 0) continue;
    for (size_t number = 0; number < DirectoriesOf(*host); ++number) {
      const v1::DirectoryDescription& directory = DirectoryOf(*host, number);
      if (!directory.caveat().empty()) {
        warnings.push_back(absl::StrCat(Who(*host), ": ", directory.path(), ": ", directory.caveat()));
      }
      for (const std::string& sign : directory.queue_managers()) {
        const std::string text = absl::StrCat(Who(*host), ": a queue manager seems to use this file system (", sign,
                                              "): the run will slow it down");
        // Two directories of one file system have the same ones.
        if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) warnings.push_back(text);
      }
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
  if (options_.pattern.read) {
    const absl::Status sent =
        SendPattern(options_.pattern, fleet_, *options_.driver, [this] { return FailureSoFar().has_value(); });
    if (failure = FailureSoFar(); failure.has_value()) return failure;
    if (!sent.ok()) return Failure{Exit::kWrong, {std::string(sent.message())}};
  }
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
    return options_.driver->interrupted() || !MustStop().empty() ||
           All([phase](const Host& host) { return host.phase == phase; }) ||
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
  if (const std::string why = MustStop(); !why.empty()) {
    return Failure{Exit::kInconclusive, {absl::StrCat("ended while preparing: ", why, ": nothing was measured")}};
  }
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : fleet_.hosts()) {
    if (host->fault.has_value()) {
      failure.lines.push_back(absl::StrCat(host->label, ": ", host->fault->message()));
      if (!IsWrongInput(host->fault->code())) failure.code = Exit::kCannotRun;
    } else if (host->lost()) {
      failure.lines.push_back(absl::StrCat(host->label, " (", host->address, ") was lost while preparing"));
      failure.lines.push_back(CleanupAdvice(host->Joined(options_.plans[host->index])));
      failure.code = Exit::kCannotRun;
    }
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

}  // namespace plimsoll
