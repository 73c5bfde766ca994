#include "controller/analysis/host_facts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/algorithm.h"
#include "common/protocol.h"
#include "controller/report/watched.h"
#include "controller/timeline/timeline.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace plimsoll {
namespace {

// The description of a directory under test; an empty one if the host sent none.
v1::DirectoryDescription DirectoryOf(const HostFacts& facts, const std::string& dir) {
  const v1::HostDescription& host = facts.joined.description();
  for (const v1::DirectoryDescription& directory : host.directories()) {
    if (directory.path() == dir) return directory;
  }
  return host.directories_size() == 1 ? host.directories(0) : v1::DirectoryDescription();
}

// Directories in which the host writes; no more than a plan can have, whatever a journal holds.
std::vector<std::string> DirsUnderTest(const HostFacts& facts) {
  std::vector<std::string> dirs = DirsOf(facts.workload());
  if (dirs.size() > kMaxDirectories) dirs.resize(kMaxDirectories);
  return dirs;
}

bool SameType(const google::protobuf::FieldDescriptor& a, const google::protobuf::FieldDescriptor& b) {
  return a.type() == b.type() && a.is_repeated() == b.is_repeated() && a.enum_type() == b.enum_type() &&
         a.message_type() == b.message_type();
}

}  // namespace

void CopySharedFields(const google::protobuf::Message& from, google::protobuf::Message& to) {
  using google::protobuf::FieldDescriptor;
  using google::protobuf::Reflection;
  const Reflection& read = *from.GetReflection();
  const Reflection& write = *to.GetReflection();
  const google::protobuf::Descriptor& type = *to.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const target = type.field(i);
    const FieldDescriptor* const source = from.GetDescriptor()->FindFieldByName(target->name());
    if (source == nullptr || !SameType(*source, *target)) continue;
    if (source->has_presence() && !read.HasField(from, source)) continue;
    const auto copy = [&](auto get, auto set, auto get_one, auto add) {
      if (!target->is_repeated()) return (write.*set)(&to, target, (read.*get)(from, source));
      write.ClearField(&to, target);
      for (int at = 0; at < read.FieldSize(from, source); ++at) {
        (write.*add)(&to, target, (read.*get_one)(from, source, at));
      }
    };
    switch (target->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        copy(&Reflection::GetString, &Reflection::SetString, &Reflection::GetRepeatedString, &Reflection::AddString);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        copy(&Reflection::GetBool, &Reflection::SetBool, &Reflection::GetRepeatedBool, &Reflection::AddBool);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        copy(&Reflection::GetInt32, &Reflection::SetInt32, &Reflection::GetRepeatedInt32, &Reflection::AddInt32);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        copy(&Reflection::GetUInt32, &Reflection::SetUInt32, &Reflection::GetRepeatedUInt32, &Reflection::AddUInt32);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        copy(&Reflection::GetInt64, &Reflection::SetInt64, &Reflection::GetRepeatedInt64, &Reflection::AddInt64);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        copy(&Reflection::GetUInt64, &Reflection::SetUInt64, &Reflection::GetRepeatedUInt64, &Reflection::AddUInt64);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        copy(&Reflection::GetDouble, &Reflection::SetDouble, &Reflection::GetRepeatedDouble, &Reflection::AddDouble);
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        copy(&Reflection::GetFloat, &Reflection::SetFloat, &Reflection::GetRepeatedFloat, &Reflection::AddFloat);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        copy(&Reflection::GetEnumValue, &Reflection::SetEnumValue, &Reflection::GetRepeatedEnumValue,
             &Reflection::AddEnumValue);
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (!target->is_repeated()) {
          write.MutableMessage(&to, target)->CopyFrom(read.GetMessage(from, source));
          break;
        }
        write.ClearField(&to, target);
        for (int at = 0; at < read.FieldSize(from, source); ++at) {
          write.AddMessage(&to, target)->CopyFrom(read.GetRepeatedMessage(from, source, at));
        }
        break;
    }
  }
}

uint32_t HostFacts::qms() const {
  if (watches()) return static_cast<uint32_t>(std::clamp<int>(watch_plan().queue_managers_size(), 1, kMaxQms));
  return std::clamp<uint32_t>(workload().qm(), 1, kMaxQms);
}

std::vector<std::optional<BlockRange>> HostFacts::Blocks(const v1::LogStep& step) const {
  if (watches()) return std::vector<std::optional<BlockRange>>(qms(), BlockRange{0, UINT64_MAX});
  const auto& placed = joined.plan().log().queue_managers();
  if (placed.empty()) {
    const uint32_t writers = step.qm() > 0 ? std::min(step.qm(), qms()) : qms();
    BlockRange sizes{step.block_size_bytes(), step.block_size_bytes()};
    if (!step.size_mix().empty()) sizes = {UINT64_MAX, 0};
    // Of writes and of commits, which have bytes of their own.
    if (step.has_group_commit()) sizes = {1, UINT64_MAX};
    for (const v1::SizeShare& share : step.size_mix()) {
      sizes = {std::min(sizes.least, share.block_size_bytes()), std::max(sizes.most, share.block_size_bytes())};
    }
    return std::vector<std::optional<BlockRange>>(writers, sizes);
  }
  std::vector<std::optional<BlockRange>> blocks(qms());
  for (uint32_t qm = 1; qm <= qms() && qm <= static_cast<uint32_t>(placed.size()); ++qm) {
    const v1::LogQueueManager& one = placed.Get(static_cast<int>(qm) - 1);
    if (HostOf(one, DownHostOf(step)) == joined.host()) {
      blocks[qm - 1] = {one.block_size_bytes(), one.block_size_bytes()};
    }
  }
  return blocks;
}

bool HostFacts::IsSilent(const v1::LogStep& step) const {
  return !AnyWrites(joined.plan().log(), joined.host(), step);
}

const v1::LogQueueManager* HostFacts::Placed(uint32_t qm) const {
  const auto& placed = joined.plan().log().queue_managers();
  return qm >= 1 && qm <= static_cast<uint32_t>(placed.size()) ? &placed.Get(static_cast<int>(qm) - 1) : nullptr;
}

std::string HostFacts::QmName(uint32_t qm) const {
  if (watches()) {
    const std::vector<std::string> names = WatchedWriterNames(watch_plan());
    return qm >= 1 && qm <= names.size() ? names[qm - 1] : "";
  }
  const v1::LogQueueManager* const placed = Placed(qm);
  return placed == nullptr ? "" : placed->name();
}

std::string HostFacts::WriterName(uint32_t qm) const {
  const std::string name = QmName(qm);
  return absl::StrCat(label(), "/", name.empty() ? absl::StrCat("qm", qm) : name);
}

double HostFacts::rate_per_second(const v1::LogStep& step, uint32_t qm) const {
  const v1::LogQueueManager* const placed = Placed(qm);
  const double rate = placed != nullptr            ? placed->rate_per_second()
                      : step.has_rate_per_second() ? step.rate_per_second()
                                                   : workload().rate_per_second();
  return std::isfinite(rate) && rate > 0 ? std::min(rate, 1e9) : 0;
}

double HostFacts::rate_per_second(const v1::LogStep& step) const {
  double largest = rate_per_second(step, 1);
  for (int qm = 2; qm <= joined.plan().log().queue_managers_size(); ++qm) {
    largest = std::max(largest, rate_per_second(step, static_cast<uint32_t>(qm)));
  }
  return largest;
}

double HostFacts::least_rate_per_second(const v1::LogStep& step) const {
  if (joined.plan().log().queue_managers().empty()) return rate_per_second(step, 1);
  double least = 0;
  for (uint32_t qm = 1; const v1::LogQueueManager& one : joined.plan().log().queue_managers()) {
    const double rate = rate_per_second(step, qm++);
    if (HostOf(one, DownHostOf(step)) != joined.host() || rate <= 0) continue;
    least = least == 0 ? rate : std::min(least, rate);
  }
  return least;
}

void SetReleased(const v1::RunEnd& end, HostTable& hosts) {
  for (const v1::HostReleased& released : end.released()) {
    if (const auto host = hosts.find(released.host()); host != hosts.end()) host->second.released = released;
  }
}

v1::HostReport MakeHostReport(const HostFacts& facts) {
  v1::HostReport report;
  const v1::HostDescription& host = facts.joined.description();
  report.set_number(facts.joined.host());
  report.set_label(facts.label());
  report.set_address(facts.joined.address());
  if (!facts.joined.node().empty()) report.set_node(facts.joined.node());
  CopySharedFields(host, report);
  *report.mutable_workload() = facts.workload();
  *report.mutable_queue_managers() = facts.joined.plan().log().queue_managers();
  report.set_storage(facts.storage);
  if (facts.released) CopySharedFields(*facts.released, *report.mutable_clean_up());
  if (facts.watches()) {
    report.mutable_workload()->set_qm(facts.qms());
    for (uint32_t qm = 1; qm <= facts.qms(); ++qm) report.add_queue_managers()->set_name(facts.QmName(qm));
    if (facts.prepared && !facts.prepared->watch().writers().empty()) {
      const v1::WatchedWriter& first = facts.prepared->watch().writers(0);
      CopySharedFields(first, *report.mutable_mount());
      if (!first.log_dir().empty()) report.mutable_workload()->set_dir(first.log_dir());
      report.mutable_mount()->set_directory(first.log_dir());
      report.mutable_mount()->set_direct(facts.prepared->direct());
      report.mutable_mount()->set_open_flags(facts.prepared->open_flags());
    }
    return report;
  }

  const std::vector<std::string> dirs = DirsUnderTest(facts);
  CopySharedFields(DirectoryOf(facts, dirs.front()), *report.mutable_mount());
  if (facts.prepared) CopySharedFields(*facts.prepared, *report.mutable_mount());
  for (size_t number = 1; number < dirs.size(); ++number) {
    v1::MountReport& mount = *report.add_more_mounts();
    CopySharedFields(DirectoryOf(facts, dirs[number]), mount);
    const auto more = static_cast<int>(number) - 1;
    if (facts.prepared && more < facts.prepared->more_size()) CopySharedFields(facts.prepared->more(more), mount);
    if (mount.directory().empty()) mount.set_directory(dirs[number]);
  }
  return report;
}

namespace {

// Labels of the hosts that a host saw in any of its directories.
std::set<std::string> SeenHosts(const v1::Prepared& prepared) {
  std::set<std::string> labels(prepared.visible_hosts().begin(), prepared.visible_hosts().end());
  for (const v1::PreparedDirectory& more : prepared.more()) {
    labels.insert(more.visible_hosts().begin(), more.visible_hosts().end());
  }
  return labels;
}

// Names what a host's further directories are, where that is not there yet.
void AddMoreFileSystems(const HostFacts& facts, v1::StorageReport& storage) {
  const std::vector<std::string> dirs = DirsUnderTest(facts);
  const auto text = [](const std::string& type, const std::string& source) {
    return source.empty() ? type : absl::StrCat(type, " from ", source);
  };
  std::set<std::string> known(storage.more_file_systems().begin(), storage.more_file_systems().end());
  known.insert(text(storage.fs_type(), storage.fs_source()));
  for (size_t number = 0; dirs.size() > 1 && number < dirs.size(); ++number) {
    const v1::DirectoryDescription directory = DirectoryOf(facts, dirs[number]);
    std::string name = text(directory.fs_type(), directory.fs_source());
    if (!directory.fs_type().empty() && known.insert(name).second) storage.add_more_file_systems(std::move(name));
  }
}

}  // namespace

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
    for (const std::string& label : SeenHosts(*prepared[place]->prepared)) {
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
      const v1::DirectoryDescription directory = DirectoryOf(facts, facts.workload().dir());
      storage.set_fs_type(directory.fs_type());
      storage.set_fs_source(directory.fs_source());
      if (facts.watches() && !facts.prepared->watch().writers().empty()) {
        CopySharedFields(facts.prepared->watch().writers(0), storage);
      }
    }
    facts.storage = first == place ? static_cast<uint32_t>(storages.size()) : prepared[first]->storage;
    storages[facts.storage - 1].add_hosts(facts.label());
    AddMoreFileSystems(facts, storages[facts.storage - 1]);
  }
  std::set<uint32_t> mixed;
  for (const HostFacts* facts : prepared) {
    if (DirsOf(facts->workload()).size() > 1) mixed.insert(facts->storage);
  }
  for (HostFacts* facts : prepared) facts->mixed_storage = mixed.count(facts->storage) > 0;
  return storages;
}

}  // namespace plimsoll
