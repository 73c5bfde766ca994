#include "controller/analysis/host_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/algorithm.h"
#include "common/integers.h"
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

namespace {

// Rates over less than this, as over what is left of a step after its last second, are no use in a row of their own.
constexpr int64_t kLeastRowNs = 100 * kNsPerMs;

// 0 where there is nothing to divide by.
double Ratio(uint64_t amount, uint64_t by) {
  return by == 0 ? 0 : static_cast<double>(amount) / static_cast<double>(by);
}

double Percent(double part_ns, int64_t length_ns) {
  return 100 * part_ns / static_cast<double>(length_ns);
}

// A device is not busier than always; the kernel counts in ticks and may report a little more.
double BusyPercent(uint64_t busy_ms, int64_t length_ns) {
  return std::min(Percent(static_cast<double>(busy_ms) * static_cast<double>(kNsPerMs), length_ns), 100.0);
}

// Appends to a column in which some rows have no value.
template <typename T>
void Push(google::protobuf::RepeatedField<T>& column, int row, T value) {
  column.Resize(row, 0);
  column.Add(value);
}

// A column that was begun is as long as the others.
template <typename T>
void Complete(google::protobuf::RepeatedField<T>& column, int rows) {
  if (!column.empty()) column.Resize(rows, 0);
}

}  // namespace

void HostLoad::Disk::Add(const Disk& other) {
  writes = SaturatingAdd(writes, other.writes);
  written_bytes = SaturatingAdd(written_bytes, other.written_bytes);
  write_time_ms = SaturatingAdd(write_time_ms, other.write_time_ms);
  flushes = SaturatingAdd(flushes, other.flushes);
  flush_time_ms = SaturatingAdd(flush_time_ms, other.flush_time_ms);
  busy_ms = SaturatingAdd(busy_ms, other.busy_ms);
  reads = SaturatingAdd(reads, other.reads);
  read_bytes = SaturatingAdd(read_bytes, other.read_bytes);
  read_time_ms = SaturatingAdd(read_time_ms, other.read_time_ms);
}

void HostLoad::Nfs::Add(const Nfs& other) {
  operations = SaturatingAdd(operations, other.operations);
  retransmits = SaturatingAdd(retransmits, other.retransmits);
  timeouts = SaturatingAdd(timeouts, other.timeouts);
  queue_ms = SaturatingAdd(queue_ms, other.queue_ms);
  round_trip_ms = SaturatingAdd(round_trip_ms, other.round_trip_ms);
  execute_ms = SaturatingAdd(execute_ms, other.execute_ms);
}

v1::NfsOperationReport HostLoad::Nfs::Make() const {
  v1::NfsOperationReport report;
  report.set_operations(operations);
  report.set_retransmits(retransmits);
  report.set_timeouts(timeouts);
  report.set_queue_ms(Ratio(queue_ms, operations));
  report.set_round_trip_ms(Ratio(round_trip_ms, operations));
  report.set_execute_ms(Ratio(execute_ms, operations));
  return report;
}

uint64_t HostLoad::Rise(uint64_t before, uint64_t now) {
  if (now >= before) return now - before;
  went_back_ = true;
  return 0;
}

HostLoad::Disk HostLoad::DiskRise(const v1::DiskCounters& now) {
  const v1::DiskCounters& before = last_.disk();
  Disk disk;
  disk.writes = Rise(before.writes(), now.writes());
  disk.written_bytes = Rise(before.written_bytes(), now.written_bytes());
  disk.write_time_ms = Rise(before.write_time_ms(), now.write_time_ms());
  disk.flushes = Rise(before.flushes(), now.flushes());
  disk.flush_time_ms = Rise(before.flush_time_ms(), now.flush_time_ms());
  disk.busy_ms = Rise(before.busy_ms(), now.busy_ms());
  if (!reads_ || !now.has_reads()) return disk;
  disk.reads = Rise(before.reads(), now.reads());
  disk.read_bytes = Rise(before.read_bytes(), now.read_bytes());
  disk.read_time_ms = Rise(before.read_time_ms(), now.read_time_ms());
  return disk;
}

HostLoad::Nfs HostLoad::NfsRise(const v1::NfsOperation& before, const v1::NfsOperation& now) {
  const uint64_t operations = Rise(before.operations(), now.operations());
  const uint64_t transmissions = Rise(before.transmissions(), now.transmissions());
  const bool known = now.operations() >= before.operations();
  return {operations,
          known ? transmissions - std::min(operations, transmissions) : 0,
          Rise(before.timeouts(), now.timeouts()),
          Rise(before.queue_ms(), now.queue_ms()),
          Rise(before.round_trip_ms(), now.round_trip_ms()),
          Rise(before.execute_ms(), now.execute_ms())};
}

// Kept apart from the figures: the counts of an interval across the measured start may belong to either side.
void HostLoad::BoundRetransmits(const v1::HostSample& sample) {
  if (!sample.has_nfs()) return;
  const bool measured = sample.time_ns() > measured_start_ns_;
  const bool whole = retransmits_.until_ns >= measured_start_ns_;
  retransmits_.until_ns = sample.time_ns();
  if (!measured) return;
  const auto add = [&](const v1::NfsOperation& before, const v1::NfsOperation& now) {
    if (now.operations() < before.operations() || now.transmissions() < before.transmissions()) {
      retransmits_.went_back = true;
      retransmits_.most = UINT64_MAX;
      return;
    }
    const uint64_t operations = now.operations() - before.operations();
    const uint64_t transmissions = now.transmissions() - before.transmissions();
    const uint64_t again = transmissions - std::min(operations, transmissions);
    if (whole) retransmits_.least = SaturatingAdd(retransmits_.least, again);
    retransmits_.most = SaturatingAdd(retransmits_.most, again);
  };
  add(last_.nfs().write(), sample.nfs().write());
  add(last_.nfs().commit(), sample.nfs().commit());
}

void HostLoad::BoundCpuWait(const v1::HostSample& sample) {
  if (sample.writer_cpu_wait_ns() < last_.writer_cpu_wait_ns()) {
    whole_cpu_wait_ns_ = std::numeric_limits<double>::infinity();
  } else {
    whole_cpu_wait_ns_ += static_cast<double>(sample.writer_cpu_wait_ns() - last_.writer_cpu_wait_ns());
  }
  for (const v1::RecorderPause& pause : sample.pauses()) {
    if (!IsSaneMoment(pause.begin_ns()) || !IsSaneMoment(pause.end_ns()) || pause.end_ns() <= pause.begin_ns())
      continue;
    whole_paused_ns_ += static_cast<double>(pause.end_ns() - pause.begin_ns());
  }
  if (sample.has_throttled_ns()) {
    // Each writer, for no longer than the time that passed, however many CPUs the kernel added up.
    const auto throttled_ns = static_cast<double>(Rise(last_.throttled_ns(), sample.throttled_ns()));
    whole_paused_ns_ += std::min(throttled_ns, static_cast<double>(sample.time_ns() - last_ns_));
    if (sample.throttled_ns() < last_.throttled_ns()) whole_paused_ns_ = std::numeric_limits<double>::infinity();
  }
  if (sample.pauses_left_out() > 0) whole_paused_ns_ = std::numeric_limits<double>::infinity();
}

double HostLoad::MostCpuWaitNs(int64_t until_ns) const {
  // What no sample covers may have been waiting altogether.
  const auto unsampled_ns = static_cast<double>(std::max<int64_t>(until_ns - last_ns_, 0));
  return whole_cpu_wait_ns_ + (whole_paused_ns_ + unsampled_ns) * std::max<uint32_t>(writers_, 1);
}

double HostLoad::CpuWaitPercent(uint64_t wait_ns, int64_t length_ns) const {
  return Percent(static_cast<double>(wait_ns), length_ns) / std::max<uint32_t>(writers_, 1);
}

void HostLoad::AddPauses(const v1::HostSample& sample, bool counts) {
  for (const v1::RecorderPause& pause : sample.pauses()) {
    if (!IsSaneMoment(pause.begin_ns()) || !IsSaneMoment(pause.end_ns()) || pause.end_ns() <= pause.begin_ns() ||
        pause.end_ns() <= measured_start_ns_) {
      continue;
    }
    pauses_ = SaturatingAdd(pauses_, 1);
    // The sample's lateness may be of the warm-up; this is not.
    if (!counts) late_max_ns_ = std::max(late_max_ns_, static_cast<uint64_t>(pause.end_ns() - pause.begin_ns()));
    paused_ns_ = SaturatingAdd(paused_ns_, static_cast<uint64_t>(pause.end_ns() - pause.begin_ns()));
  }
}

void HostLoad::AddMeasured(const v1::HostSample& sample, uint64_t& rows_left) {
  const int64_t length_ns = sample.time_ns() - last_ns_;
  const uint64_t agent_cpu_ns = Rise(last_.agent_cpu_ns(), sample.agent_cpu_ns());
  const uint64_t cpu_wait_ns = Rise(last_.writer_cpu_wait_ns(), sample.writer_cpu_wait_ns());
  const Disk disk = sample.has_disk() ? DiskRise(sample.disk()) : Disk{};
  const Nfs write = sample.has_nfs() ? NfsRise(last_.nfs().write(), sample.nfs().write()) : Nfs{};
  const Nfs commit = sample.has_nfs() ? NfsRise(last_.nfs().commit(), sample.nfs().commit()) : Nfs{};
  const bool nfs_reads = reads_ && sample.nfs().has_read();
  const Nfs read = nfs_reads ? NfsRise(last_.nfs().read(), sample.nfs().read()) : Nfs{};
  sampled_ns_ += length_ns;
  agent_cpu_ns_ = SaturatingAdd(agent_cpu_ns_, agent_cpu_ns);
  cpu_wait_ns_ = SaturatingAdd(cpu_wait_ns_, cpu_wait_ns);
  if (sample.has_throttled_ns()) {
    throttled_ns_ = SaturatingAdd(throttled_ns_, Rise(last_.throttled_ns(), sample.throttled_ns()));
  }
  late_max_ns_ = std::max(late_max_ns_, sample.recorder_late_max_ns());
  disk_.Add(disk);
  read_.Add(read);
  write_.Add(write);
  commit_.Add(commit);

  if (length_ns < kLeastRowNs) return;
  if (rows_left == 0) {
    rows_missing_ = true;
    return;
  }
  --rows_left;
  const int row = columns_.offset_ns_size();
  columns_.add_offset_ns(sample.time_ns() - measured_start_ns_);
  columns_.add_agent_cpu(Percent(static_cast<double>(agent_cpu_ns), length_ns));
  columns_.add_writer_cpu_wait(CpuWaitPercent(cpu_wait_ns, length_ns));
  if (sample.has_disk()) {
    Push(*columns_.mutable_disk_write_ms(), row, Ratio(disk.write_time_ms, disk.writes));
    Push(*columns_.mutable_disk_busy(), row, BusyPercent(disk.busy_ms, length_ns));
  }
  if (reads_ && sample.disk().has_reads()) {
    Push(*columns_.mutable_disk_read_ms(), row, Ratio(disk.read_time_ms, disk.reads));
  }
  if (sample.has_nfs()) {
    Push(*columns_.mutable_nfs_round_trip_ms(), row, Ratio(write.round_trip_ms, write.operations));
    Push(*columns_.mutable_nfs_execute_ms(), row, Ratio(write.execute_ms, write.operations));
    Push(*columns_.mutable_nfs_retransmits(), row, SaturatingAdd(write.retransmits, commit.retransmits));
  }
  if (nfs_reads) {
    Push(*columns_.mutable_nfs_read_round_trip_ms(), row, Ratio(read.round_trip_ms, read.operations));
    Push(*columns_.mutable_nfs_read_execute_ms(), row, Ratio(read.execute_ms, read.operations));
  }
}

absl::Status HostLoad::Add(const v1::HostSample& sample, uint64_t& rows_left) {
  const int64_t time_ns = sample.time_ns();
  if (!IsSaneMoment(time_ns)) return absl::InvalidArgumentError("a moment that no clock shows");
  if (time_ns <= last_ns_) {
    // A step that is stopped before it begins is sampled before its start.
    return begun_ ? absl::InvalidArgumentError("it is not later than the one before") : absl::OkStatus();
  }
  begun_ = true;
  BoundRetransmits(sample);
  BoundCpuWait(sample);
  // An interval with more than half in the warm-up counts as warm-up: samples come a little after each whole second.
  const bool counts = time_ns - measured_start_ns_ >= measured_start_ns_ - last_ns_;
  if (time_ns > measured_start_ns_) AddPauses(sample, counts);
  if (counts) AddMeasured(sample, rows_left);
  last_ns_ = time_ns;
  // A counter that a sample lacks counts from the last one that had it.
  v1::HostSample next = sample;
  next.clear_pauses();
  if (!next.has_disk() && last_.has_disk()) next.mutable_disk()->Swap(last_.mutable_disk());
  if (!next.has_nfs() && last_.has_nfs()) next.mutable_nfs()->Swap(last_.mutable_nfs());
  if (!next.has_throttled_ns() && last_.has_throttled_ns()) next.set_throttled_ns(last_.throttled_ns());
  last_.Swap(&next);
  return absl::OkStatus();
}

v1::HostLoadReport HostLoad::Make() const {
  v1::HostLoadReport report = columns_;
  const int rows = report.offset_ns_size();
  Complete(*report.mutable_disk_write_ms(), rows);
  Complete(*report.mutable_disk_busy(), rows);
  Complete(*report.mutable_nfs_round_trip_ms(), rows);
  Complete(*report.mutable_nfs_execute_ms(), rows);
  Complete(*report.mutable_nfs_retransmits(), rows);
  Complete(*report.mutable_disk_read_ms(), rows);
  Complete(*report.mutable_nfs_read_round_trip_ms(), rows);
  Complete(*report.mutable_nfs_read_execute_ms(), rows);
  report.set_sampled_ns(sampled_ns_);
  if (sampled_ns_ > 0) {
    report.set_agent_cpu_percent(Percent(static_cast<double>(agent_cpu_ns_), sampled_ns_));
    report.set_writer_cpu_wait_percent(CpuWaitPercent(cpu_wait_ns_, sampled_ns_));
    // The kernel adds up CPUs.
    const double throttled_percent = std::min(Percent(static_cast<double>(throttled_ns_), sampled_ns_), 100.0);
    if (last_.has_throttled_ns()) report.set_throttled_percent(throttled_percent);
  }
  report.set_recorder_late_max_ns(late_max_ns_);
  report.set_pauses(static_cast<uint32_t>(std::min<uint64_t>(pauses_, UINT32_MAX)));
  report.set_paused_ns(static_cast<int64_t>(std::min<uint64_t>(paused_ns_, INT64_MAX)));
  if (last_.has_disk()) {
    v1::DiskReport& disk = *report.mutable_disk();
    disk.set_device(last_.disk().device());
    disk.set_writes(disk_.writes);
    disk.set_written_bytes(disk_.written_bytes);
    disk.set_write_ms(Ratio(disk_.write_time_ms, disk_.writes));
    disk.set_flushes(disk_.flushes);
    disk.set_flush_ms(Ratio(disk_.flush_time_ms, disk_.flushes));
    if (sampled_ns_ > 0) disk.set_busy_percent(BusyPercent(disk_.busy_ms, sampled_ns_));
    if (reads_ && last_.disk().has_reads()) {
      disk.set_reads(disk_.reads);
      disk.set_read_bytes(disk_.read_bytes);
      disk.set_read_ms(Ratio(disk_.read_time_ms, disk_.reads));
    }
  }
  if (last_.has_nfs()) {
    *report.mutable_nfs()->mutable_write() = write_.Make();
    *report.mutable_nfs()->mutable_commit() = commit_.Make();
    if (reads_ && last_.nfs().has_read()) *report.mutable_nfs()->mutable_read() = read_.Make();
  }
  return report;
}

}  // namespace plimsoll
