#include "controller/analysis/host_facts.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "controller/analysis/groups.h"

namespace plimsoll {
namespace {

// The description of the directory under test; an empty one where the host told none.
v1::DirectoryDescription DirectoryOf(const HostFacts& facts) {
  const v1::HostDescription& host = facts.joined.description();
  for (const v1::DirectoryDescription& directory : host.directories()) {
    if (directory.path() == facts.workload().dir()) return directory;
  }
  return host.directories_size() == 1 ? host.directories(0) : v1::DirectoryDescription();
}

}  // namespace

uint32_t HostFacts::qms() const {
  return std::clamp<uint32_t>(workload().qm(), 1, kMaxQms);
}

double HostFacts::rate_per_second() const {
  const double rate = workload().rate_per_second();
  return std::isfinite(rate) && rate > 0 ? std::min(rate, 1e9) : 0;
}

v1::HostReport MakeHostReport(const HostFacts& facts) {
  v1::HostReport report;
  const v1::HostDescription& host = facts.joined.description();
  report.set_number(facts.joined.host());
  report.set_label(facts.label());
  report.set_address(facts.joined.address());
  report.set_version(host.version());
  report.set_kernel(host.kernel());
  report.set_cpus(host.cpus());
  report.set_usable_cpus(host.usable_cpus());
  report.set_memory_bytes(host.memory_bytes());
  *report.mutable_workload() = facts.workload();
  report.set_storage(facts.storage);

  const v1::DirectoryDescription directory = DirectoryOf(facts);
  v1::MountReport& mount = *report.mutable_mount();
  mount.set_fs_type(directory.fs_type());
  mount.set_fs_source(directory.fs_source());
  mount.set_mount_point(directory.mount_point());
  mount.set_mount_options(directory.mount_options());
  mount.set_remote(directory.remote());
  mount.set_total_bytes(directory.total_bytes());
  mount.set_free_bytes(directory.free_bytes());
  mount.set_caveat(directory.caveat());
  if (facts.prepared) {
    mount.set_directory(facts.prepared->directory());
    mount.set_direct(facts.prepared->direct());
    mount.set_direct_refused(facts.prepared->direct_refused());
    mount.set_open_flags(facts.prepared->open_flags());
    mount.set_prepared_bytes(facts.prepared->prepared_bytes());
  }
  return report;
}

std::vector<v1::StorageReport> GroupStorages(HostTable& hosts) {
  std::vector<HostFacts*> prepared;
  std::unordered_map<std::string, size_t> places;
  for (auto& [number, facts] : hosts) {
    facts.storage = 0;
    if (!facts.prepared) continue;
    places[facts.label()] = prepared.size();
    prepared.push_back(&facts);
  }
  Groups groups(prepared.size());
  for (size_t place = 0; place < prepared.size(); ++place) {
    for (const std::string& label : prepared[place]->prepared->visible_hosts()) {
      if (const auto seen = places.find(label); seen != places.end()) groups.Join(place, seen->second);
    }
  }
  std::vector<v1::StorageReport> storages;
  for (size_t place = 0; place < prepared.size(); ++place) {
    HostFacts& facts = *prepared[place];
    const size_t first = groups.Root(place);
    if (first == place) {
      v1::StorageReport& storage = storages.emplace_back();
      storage.set_number(static_cast<uint32_t>(storages.size()));
      const v1::DirectoryDescription directory = DirectoryOf(facts);
      storage.set_fs_type(directory.fs_type());
      storage.set_fs_source(directory.fs_source());
    }
    facts.storage = first == place ? static_cast<uint32_t>(storages.size()) : prepared[first]->storage;
    storages[facts.storage - 1].add_hosts(facts.label());
  }
  return storages;
}

}  // namespace plimsoll
