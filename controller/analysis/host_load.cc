// What measuring cost a host, and its kernel's statistics of the storage below.
#include <algorithm>
#include <limits>

#include "common/integers.h"
#include "common/units.h"
#include "controller/analysis/host_facts.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {
namespace {

// Rates over less than this, as over what is left of a step after its last second, are no use in a row of their own.
constexpr int64_t kLeastRowNs = 100 * kNsPerMs;

constexpr int64_t kMinuteNs = 60 * kNsPerSecond;

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

int64_t HostLoad::MinuteOf(int64_t from_ns, int64_t to_ns) const {
  const int64_t middle_ns = from_ns + (to_ns - from_ns) / 2 - measured_start_ns_;
  return middle_ns < minutes_from_ns_ ? -1 : middle_ns / kMinuteNs;
}

void HostLoad::AddMeasured(const v1::HostSample& sample, uint64_t& rows_left) {
  const int64_t minute = MinuteOf(last_ns_, sample.time_ns());
  if (row_.length_ns > 0 && minute != row_.minute) GiveRow(rows_left);

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

  if (minute < 0 && length_ns < kLeastRowNs) return;
  row_.minute = minute;
  row_.end_ns = sample.time_ns();
  row_.length_ns += length_ns;
  row_.agent_cpu_ns = SaturatingAdd(row_.agent_cpu_ns, agent_cpu_ns);
  row_.cpu_wait_ns = SaturatingAdd(row_.cpu_wait_ns, cpu_wait_ns);
  row_.disk.Add(disk);
  row_.read.Add(read);
  row_.write.Add(write);
  row_.commit.Add(commit);
  row_.has_disk = row_.has_disk || sample.has_disk();
  row_.has_disk_reads = row_.has_disk_reads || (reads_ && sample.disk().has_reads());
  row_.has_nfs = row_.has_nfs || sample.has_nfs();
  row_.has_nfs_reads = row_.has_nfs_reads || nfs_reads;
  if (minute < 0) GiveRow(rows_left);
}

void HostLoad::GiveRow(uint64_t& rows_left) {
  if (rows_left == 0) {
    rows_missing_ = true;
  } else {
    --rows_left;
    AppendRow(row_, columns_);
  }
  row_ = Row();
}

void HostLoad::AppendRow(const Row& given, v1::HostLoadReport& columns) const {
  const int row = columns.offset_ns_size();
  columns.add_offset_ns(given.end_ns - measured_start_ns_);
  columns.add_agent_cpu(Percent(static_cast<double>(given.agent_cpu_ns), given.length_ns));
  columns.add_writer_cpu_wait(CpuWaitPercent(given.cpu_wait_ns, given.length_ns));
  if (given.has_disk) {
    Push(*columns.mutable_disk_write_ms(), row, Ratio(given.disk.write_time_ms, given.disk.writes));
    Push(*columns.mutable_disk_busy(), row, BusyPercent(given.disk.busy_ms, given.length_ns));
  }
  if (given.has_disk_reads) {
    Push(*columns.mutable_disk_read_ms(), row, Ratio(given.disk.read_time_ms, given.disk.reads));
  }
  if (given.has_nfs) {
    Push(*columns.mutable_nfs_round_trip_ms(), row, Ratio(given.write.round_trip_ms, given.write.operations));
    Push(*columns.mutable_nfs_execute_ms(), row, Ratio(given.write.execute_ms, given.write.operations));
    Push(*columns.mutable_nfs_retransmits(), row, SaturatingAdd(given.write.retransmits, given.commit.retransmits));
  }
  if (given.has_nfs_reads) {
    Push(*columns.mutable_nfs_read_round_trip_ms(), row, Ratio(given.read.round_trip_ms, given.read.operations));
    Push(*columns.mutable_nfs_read_execute_ms(), row, Ratio(given.read.execute_ms, given.read.operations));
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
  if (row_.length_ns > 0 && !rows_missing_) AppendRow(row_, report);
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
