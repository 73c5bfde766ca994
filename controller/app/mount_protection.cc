#include "controller/app/mount_protection.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/app/file_checks.h"
#include "controller/app/mount_counts.h"
#include "controller/fleet/agent_trust.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_defaults.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

constexpr int64_t kReadPeriodNs = kNsPerSecond;
constexpr char kEndedAsking[] = "it ended while the agents were asked";

// A host with the directories in which the runs write there.
struct GuardedPlace {
  AgentPlace place;
  std::vector<std::string> directories;
  // A device to which one of them writes; nothing: none does.
  std::optional<std::string> device;
};

// The hosts that `protect` names, each once, of all plans.
std::vector<GuardedPlace> PlacesOf(const std::vector<v1::TestPlan>& plans) {
  std::vector<GuardedPlace> places;
  const std::string host = ProtectedOf(plans.front().protect()).host;
  const absl::StatusOr<std::vector<std::string>> named = ParseHostList(host);
  for (const v1::TestPlan& plan : plans) {
    const std::vector<AgentPlace> of_plan = LogPlaces(plan);
    const std::vector<v1::LogWorkload> workloads = EffectiveWorkloads(plan);
    for (size_t i = 0; i < of_plan.size(); ++i) {
      const AgentPlace& place = of_plan[i];
      if (!host.empty() && !(named.ok() && place.address == named->front())) continue;
      const auto same = [&place](const GuardedPlace& known) { return known.place.address == place.address; };
      auto known = std::ranges::find_if(places, same);
      if (known == places.end()) known = places.insert(known, GuardedPlace{{place.address, {}}, {}, {}});
      std::ranges::copy_if(place.roots, std::back_inserter(known->place.roots), [&known](const AgentRoot& root) {
        return std::ranges::find(known->place.roots, root.path, &AgentRoot::path) == known->place.roots.end();
      });
      std::ranges::copy(UsesPaths(workloads[i]) ? DirectoriesOfFiles(workloads[i]) : DirsOf(workloads[i]),
                        std::back_inserter(known->directories));
      if (UsesPaths(workloads[i]) && !known->device.has_value()) known->device = DeviceOf(workloads[i]);
    }
  }
  return places;
}

}  // namespace

MountProtection::MountProtection(Options options)
    : Protection(options.plans.front(), *options.around.clock, {"writes to it", "nothing was written to it"}),
      options_(std::move(options)),
      mount_point_(ProtectedOf(options_.plans.front().protect()).mount_point.value_or("")),
      events_(clock_) {
  thread_ = std::thread([this] { Run(); });
}

MountProtection::~MountProtection() {
  events_.Interrupt();
  thread_.join();
}

void MountProtection::Run() {
  LaunchedAgents agents(clock_, events_, [](const std::string& /*line*/) {}, options_.around.make_client);
  if (std::optional<Failure> failure = Connect(agents)) {
    const std::string reason = failure->lines.front();
    EndWith(*std::move(failure), reason);
    agents.End();
    return;
  }
  Fleet& fleet = agents.fleet();
  std::vector<std::string> labels;
  std::vector<v1::MountCounters> first;
  for (Guarded& guarded : guarded_) {
    labels.push_back(fleet.host(guarded.host).label);
    first.push_back(std::move(guarded.first));
  }
  MountCounts counts(std::move(labels), std::move(first));
  Begin(counts.Where(), counts.ErrorNs());
  MonotonicNs next = clock_.Now();
  while (events_.interrupts() == 0) {
    // An answer that took longer than a second is not made up for.
    next = std::max(next, clock_.Now()) + kReadPeriodNs;
    events_.WaitUntil(next);
    if (events_.interrupts() > 0) break;
    absl::StatusOr<std::vector<v1::MountCounters>> readings = Read(fleet);
    if (events_.interrupts() > 0) break;
    const absl::StatusOr<ProtectedSecond> second =
        readings.ok() ? counts.Add(*std::move(readings)) : absl::StatusOr<ProtectedSecond>(readings.status());
    if (!second.ok()) {
      const std::string reason(second.status().message());
      EndWith({Exit::kCannotRun, {reason}}, reason);
      break;
    }
    Add(*second, clock_.Now());
  }
  agents.End();
}

std::optional<Failure> MountProtection::Connect(LaunchedAgents& agents) {
  const v1::TestPlan& plan = options_.plans.front();
  std::vector<AgentPlace> places;
  std::vector<std::vector<std::string>> directories;
  for (GuardedPlace& place : PlacesOf(options_.plans)) {
    if (place.device.has_value()) {
      return Failure{Exit::kWrong,
                     {absl::StrCat(*place.device,
                                   " is a device, of which it is not checked whether the mount is on it: protect the "
                                   "queue manager itself (--protect QM), or measure files in a directory")}};
    }
    places.push_back(std::move(place.place));
    directories.push_back(std::move(place.directories));
  }
  if (auto failure = agents.Launch(options_.access, places, {kKeepLeftovers}, plan.max_slew_ppm(), kEndedAsking)) {
    return failure;
  }
  if (!agents.not_started().empty()) return AsFailure(agents.not_started());
  if (auto failure = agents.Describe(directories, plan.lease_ns(), kEndedAsking)) return failure;
  Fleet& fleet = agents.fleet();
  std::vector<v1::HostDescription> described;
  for (const auto& host : fleet.hosts()) {
    if (!host->description.ok()) {
      return Failure{Exit::kCannotRun, {UnreachableInWords(host->address, host->description.status())}};
    }
    described.push_back(*host->description);
  }
  std::vector<size_t> all(fleet.size());
  std::iota(all.begin(), all.end(), size_t{0});
  fleet.ReadMountCounters(all, mount_point_, plan.lease_ns());
  return TakeFirst(fleet, described);
}

std::optional<Failure> MountProtection::TakeFirst(Fleet& fleet, const std::vector<v1::HostDescription>& described) {
  Failure not_mounted{Exit::kWrong, {}};
  for (const auto& host : fleet.hosts()) {
    if (!host->description.ok()) {
      return Failure{Exit::kCannotRun, {UnreachableInWords(host->address, host->description.status())}};
    }
    const v1::MountCounters& mount = host->description->mount_counters();
    if (mount.error_code() == static_cast<int32_t>(absl::StatusCode::kNotFound)) {
      not_mounted.lines.push_back(absl::StrCat(host->label, ": ", mount.error()));
      continue;
    }
    if (!mount.error().empty()) {
      return Failure{Exit::kWrong,
                     {absl::StrCat(host->label, ": ", mount.error(),
                                   ": protect the queue manager itself (--protect QM), or leave it out")}};
    }
    if (!mount.has_disk() && !mount.has_nfs()) {
      return Failure{Exit::kCannotRun,
                     {absl::StrCat(host->label, ": agent ", described[host->index].version(),
                                   " reports no counters of a mount: install the version of the controller")}};
    }
    for (const v1::DirectoryDescription& directory : described[host->index].directories()) {
      const std::string shared = SharedWith(mount, directory);
      if (shared.empty()) continue;
      return Failure{Exit::kWrong,
                     {absl::StrCat(host->label, ": ", shared,
                                   ", so that the run's own writes would be in its counters: protect the queue manager "
                                   "itself (--protect QM), or measure other storage")}};
    }
    guarded_.push_back({host->index, mount});
  }
  if (guarded_.empty()) return not_mounted;
  return std::nullopt;
}

absl::StatusOr<std::vector<v1::MountCounters>> MountProtection::Read(Fleet& fleet) const {
  std::vector<size_t> hosts;
  hosts.reserve(guarded_.size());
  for (const Guarded& guarded : guarded_) hosts.push_back(guarded.host);
  fleet.ReadMountCounters(hosts, mount_point_, kGuardBlindNs);
  std::vector<v1::MountCounters> readings;
  for (const size_t index : hosts) {
    const Host& host = fleet.host(index);
    if (!host.description.ok()) {
      return absl::UnavailableError(UnreachableInWords(host.label, host.description.status()));
    }
    readings.push_back(host.description->mount_counters());
  }
  return readings;
}

}  // namespace plimsoll
