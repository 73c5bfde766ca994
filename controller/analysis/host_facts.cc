#include "controller/analysis/host_facts.h"

#include <algorithm>
#include <cmath>

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

// Finds the first host of a host's group, and shortens the way for the next search.
uint32_t Root(std::map<uint32_t, uint32_t>& parents, uint32_t host) {
  while (parents.at(host) != host) {
    parents[host] = parents.at(parents.at(host));
    host = parents.at(host);
  }
  return host;
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
  std::map<uint32_t, uint32_t> parents;
  std::map<std::string, uint32_t> numbers;
  for (const auto& [number, facts] : hosts) {
    parents[number] = number;
    numbers[facts.label()] = number;
  }
  for (const auto& [number, facts] : hosts) {
    if (!facts.prepared) continue;
    for (const std::string& label : facts.prepared->visible_hosts()) {
      const auto seen = numbers.find(label);
      if (seen == numbers.end() || !hosts.at(seen->second).prepared) continue;
      const uint32_t mine = Root(parents, number);
      const uint32_t theirs = Root(parents, seen->second);
      // The lower number is the root, so that a group is found at its first host.
      parents[std::max(mine, theirs)] = std::min(mine, theirs);
    }
  }
  std::vector<v1::StorageReport> storages;
  for (auto& [number, facts] : hosts) {
    facts.storage = 0;
    if (!facts.prepared) continue;
    const uint32_t first = Root(parents, number);
    if (first == number) {
      v1::StorageReport& storage = storages.emplace_back();
      storage.set_number(static_cast<uint32_t>(storages.size()));
      const v1::DirectoryDescription directory = DirectoryOf(facts);
      storage.set_fs_type(directory.fs_type());
      storage.set_fs_source(directory.fs_source());
    }
    facts.storage = first == number ? static_cast<uint32_t>(storages.size()) : hosts.at(first).storage;
    storages[facts.storage - 1].add_hosts(facts.label());
  }
  return storages;
}

}  // namespace plimsoll
