#include "controller/export/evidence_rows.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/export/exported_places.h"
#include "controller/journal/results.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {
namespace {

// What identifies an operation: writer, step, whether it is a read, number.
using OperationKey = std::tuple<uint32_t, uint32_t, bool, uint64_t>;

// Keeps the slowest of the rows that it is given; those that took equally long in the order of time.
class SlowestRows {
 public:
  explicit SlowestRows(size_t most) : most_(most) {}

  // Whether a row of this length may be among them.
  bool Takes(uint64_t length_ns) const { return length_ns >= least_ns_; }
  void Add(EvidenceRow row) {
    if (!Takes(row.length_ns)) return;
    rows_.push_back(std::move(row));
    if (rows_.size() >= 2 * most_ + kRoom) Trim();
  }
  std::vector<EvidenceRow> Take() {
    Trim();
    return std::move(rows_);
  }

 private:
  static constexpr size_t kRoom = 1000;

  void Trim() {
    std::ranges::sort(rows_, [](const EvidenceRow& a, const EvidenceRow& b) {
      return std::tuple(b.length_ns, a.start_ns, a.writer, a.seq) <
             std::tuple(a.length_ns, b.start_ns, b.writer, b.seq);
    });
    // A frame may name an operation twice.
    const auto same = [](const EvidenceRow& a, const EvidenceRow& b) {
      return a.seq != 0 && std::tuple(a.writer, a.step, a.kind, a.seq) == std::tuple(b.writer, b.step, b.kind, b.seq);
    };
    rows_.erase(std::unique(rows_.begin(), rows_.end(), same), rows_.end());
    if (rows_.size() < most_) return;
    rows_.resize(most_);
    least_ns_ = rows_.empty() ? UINT64_MAX : rows_.back().length_ns;
  }

  const size_t most_;
  std::vector<EvidenceRow> rows_;
  // The least length of the slowest ones; 0 until there are enough of them.
  uint64_t least_ns_ = 0;
};

// Paths of files, and offsets in them.
class Files {
 public:
  explicit Files(const RunIndex& index) : index_(index), places_(index) {
    for (const v1::HostReport& host : index.report().hosts()) hosts_[host.number()] = &host;
  }

  // Gives the row the place that follows from the plan and the operation's number.
  void Place(EvidenceRow& row) {
    ExportedWrite operation;
    operation.writer = row.writer;
    operation.step = row.step;
    operation.read = row.kind == EvidenceRow::Kind::kRead;
    operation.seq = row.seq;
    const std::optional<uint64_t> offset = places_.OffsetOf(operation);
    if (const std::string& name = places_.FileOf(row.writer); !name.empty()) {
      row.file = absl::StartsWith(name, "/") ? name : InDirectory(row.writer, name);
      row.offset = offset;
      return;
    }
    const uint64_t extent_bytes = WorkloadOfWriter(row.writer).file_size_bytes();
    if (!offset.has_value() || extent_bytes == 0) return;
    PlaceInExtent(static_cast<uint32_t>(*offset / extent_bytes), *offset % extent_bytes, row);
  }

  // Gives the row the place that its agent reported.
  void PlaceAsReported(const v1::WriteSample& sample, EvidenceRow& row) const {
    // The log of a watched program has files of its own, and a named file is divided among threads.
    if (index_.report().plan().has_watch() || UsesFiles(WorkloadOfWriter(row.writer))) return;
    PlaceInExtent(sample.extent(), sample.offset_bytes(), row);
  }

 private:
  const v1::LogWorkload& WorkloadOfWriter(uint32_t writer) const {
    return index_.hosts().at(index_.writers()[writer].host).workload();
  }

  void PlaceInExtent(uint32_t extent, uint64_t offset, EvidenceRow& row) const {
    const IndexedWriter& writer = index_.writers()[row.writer];
    const std::string name = ExtentName(index_.report(), index_.hosts().at(writer.host).label, extent);
    row.file = InDirectory(row.writer, absl::StrCat("qm", writer.qm, "/active/", name));
    if (!row.file.empty()) row.offset = offset;
  }

  // The path of what lies in the run's directory in which the writer writes; empty: that is not known.
  std::string InDirectory(uint32_t place, const std::string& name) const {
    const IndexedWriter& writer = index_.writers()[place];
    const auto host = hosts_.find(writer.host);
    if (host == hosts_.end()) return "";
    const std::string directory = MountOfWriter(*host->second, writer.qm).directory();
    return directory.empty() ? "" : absl::StrCat(directory, "/", name);
  }

  const RunIndex& index_;
  ExportedPlaces places_;
  std::map<uint32_t, const v1::HostReport*> hosts_;
};

// The place of a writer in the index; nothing if none of its frames is in the report.
std::optional<uint32_t> FindWriter(const RunIndex& index, const std::string& label, uint32_t qm) {
  for (uint32_t place = 0; place < index.writers().size(); ++place) {
    const IndexedWriter& writer = index.writers()[place];
    if (writer.qm == qm && index.hosts().at(writer.host).label == label) return place;
  }
  return std::nullopt;
}

// Adds the slowest operations that are in the traces.
absl::Status AddTraced(WriteStream& writes, SlowestRows& slowest) {
  std::vector<ExportedWrite> batch;
  while (true) {
    PLIMSOLL_RETURN_IF_ERROR(writes.Next(batch));
    if (batch.empty()) return absl::OkStatus();
    for (const ExportedWrite& write : batch) {
      if (!slowest.Takes(write.latency_ns)) continue;
      EvidenceRow row;
      row.kind = write.read ? EvidenceRow::Kind::kRead : EvidenceRow::Kind::kWrite;
      row.writer = write.writer;
      row.step = write.step;
      row.start_ns = write.start_ns;
      row.error_ns = write.error_ns;
      row.length_ns = write.latency_ns;
      row.bytes = write.bytes;
      row.seq = write.seq;
      slowest.Add(std::move(row));
    }
  }
}

// A sample of a frame as a row; its place is the one that the agent reported.
EvidenceRow RowOfSample(const RunIndex& index, const Files& files, uint32_t writer, const v1::Frame& frame,
                        const v1::WriteSample& sample) {
  const IndexedWriter& indexed = index.writers()[writer];
  EvidenceRow row;
  row.kind = index.IsRead(frame.step(), frame.operation()) ? EvidenceRow::Kind::kRead : EvidenceRow::Kind::kWrite;
  row.writer = writer;
  row.step = frame.step();
  row.start_ns = sample.start_ns() - index.ArmedOffsetNs(indexed.host);
  if (const auto moment = index.timeline().ToTimeline(indexed.host, sample.start_ns())) {
    row.start_ns = moment->local_ns;
    row.error_ns = moment->error_ns;
  }
  row.length_ns = sample.latency_ns();
  row.bytes = index.BlockBytesOf(indexed, frame.step());
  row.seq = sample.seq();
  files.PlaceAsReported(sample, row);
  return row;
}

OperationKey KeyOf(const EvidenceRow& row) {
  return {row.writer, row.step, row.kind == EvidenceRow::Kind::kRead, row.seq};
}

// Finds operations that traces and frames both have.
class TracedRows {
 public:
  explicit TracedRows(std::vector<EvidenceRow>& rows) {
    for (EvidenceRow& row : rows) {
      if (row.seq != 0) {
        numbered_[KeyOf(row)] = &row;
      } else {
        others_.push_back(&row);
      }
    }
  }

  // Null if no trace has the operation of the row, which a frame names.
  EvidenceRow* Find(const EvidenceRow& row) const {
    if (const auto same = numbered_.find(KeyOf(row)); same != numbered_.end()) return same->second;
    for (EvidenceRow* const other : others_) {
      const int64_t apart_ns = std::abs(other->start_ns - row.start_ns);
      // The two starts were mapped in different ways, and a writer has one operation in flight at a time.
      const bool near = apart_ns <= static_cast<int64_t>(row.length_ns) + kMapSlackNs;
      if (near && other->length_ns == row.length_ns &&
          std::tuple(other->writer, other->step, other->kind) == std::tuple(row.writer, row.step, row.kind)) {
        return other;
      }
    }
    return nullptr;
  }

 private:
  static constexpr int64_t kMapSlackNs = 10'000;

  std::map<OperationKey, EvidenceRow*> numbered_;
  // Those whose numbers are not known.
  std::vector<EvidenceRow*> others_;
};

// Adds the operations that frames name, and gives `traced` rows of the same operations the places that they have there.
absl::Status AddNamed(const RunIndex& index, const WriteFilter& filter, const Files& files,
                      std::vector<EvidenceRow>& traced, SlowestRows& slowest) {
  const TracedRows known(traced);
  return index.ForEachFrame([&](uint32_t writer, const v1::Frame& frame) {
    const bool warmup = !frame.closing() && frame.first_interval() < 0;
    const bool whole = frame.operation() == kMainOperation || index.IsRead(frame.step(), frame.operation());
    if (warmup || !whole || (filter.step && *filter.step != frame.step())) return absl::OkStatus();
    const auto add = [&](const v1::WriteSample& sample) {
      if (!IsSaneMoment(sample.start_ns()) || !IsSaneMoment(static_cast<int64_t>(sample.latency_ns()))) return;
      EvidenceRow row = RowOfSample(index, files, writer, frame, sample);
      EvidenceRow* const same = known.Find(row);
      if (same == nullptr) return slowest.Add(std::move(row));
      same->seq = row.seq;
      if (!row.file.empty()) std::tie(same->file, same->offset) = std::tie(row.file, row.offset);
    };
    if (frame.has_slowest()) add(frame.slowest());
    for (const v1::WriteSample& sample : frame.slow()) add(sample);
    return absl::OkStatus();
  });
}

// A moment that the report has in UTC, on the timeline.
int64_t OnTimeline(const RunIndex& index, const google::protobuf::Timestamp& utc) {
  const google::protobuf::Timestamp begin = index.timeline().ToUtc(index.begin_ns());
  return index.begin_ns() + (utc.seconds() - begin.seconds()) * kNsPerSecond + (utc.nanos() - begin.nanos());
}

void AddStalls(const RunIndex& index, const WriteFilter& filter, Files& files, std::vector<EvidenceRow>& rows) {
  for (const v1::StepReport& step : index.report().steps()) {
    if (step.number() == 0 || (filter.step && *filter.step != step.number() - 1)) continue;
    const auto known = index.steps().find(step.number() - 1);
    uint32_t number = 0;
    for (const v1::StallReport& stall : step.stalls().stalls()) {
      ++number;
      for (const v1::StalledWriterReport& stalled : stall.writers()) {
        const std::optional<uint32_t> writer = FindWriter(index, stalled.host(), stalled.qm());
        if (!writer.has_value() || known == index.steps().end()) continue;
        EvidenceRow row;
        row.kind = EvidenceRow::Kind::kStall;
        row.writer = *writer;
        row.step = known->first;
        row.start_ns = OnTimeline(index, stalled.begin());
        row.error_ns = stall.error_ns();
        row.length_ns = static_cast<uint64_t>(std::max<int64_t>(stalled.length_ns(), 0));
        row.seq = stalled.number();
        row.stall = &stall;
        row.stalled = &stalled;
        row.stall_number = number;
        // Where a step both reads and writes, the number does not show which of the two came first.
        const uint32_t read_percent = known->second.step.read_percent();
        if (read_percent == 0) files.Place(row);
        rows.push_back(std::move(row));
      }
    }
  }
}

}  // namespace

const v1::MountReport& MountOfWriter(const v1::HostReport& host, uint32_t qm) {
  const v1::LogWorkload& workload = host.workload();
  if (qm == 0 || qm > static_cast<uint32_t>(workload.qm_dirs_size())) return host.mount();
  const std::vector<std::string> dirs = DirsOf(workload);
  const auto at = std::ranges::find(dirs, workload.qm_dirs(static_cast<int>(qm) - 1)) - dirs.begin();
  return at >= 1 && at <= host.more_mounts_size() ? host.more_mounts(static_cast<int>(at) - 1) : host.mount();
}

absl::StatusOr<std::vector<EvidenceRow>> CollectEvidence(const RunIndex& index, const WriteFilter& filter,
                                                         WriteStream& writes, size_t most) {
  SlowestRows by_trace(most);
  PLIMSOLL_RETURN_IF_ERROR(AddTraced(writes, by_trace));
  std::vector<EvidenceRow> traced = by_trace.Take();
  Files files(index);
  for (EvidenceRow& row : traced) files.Place(row);
  SlowestRows all(most);
  PLIMSOLL_RETURN_IF_ERROR(AddNamed(index, filter, files, traced, all));
  for (EvidenceRow& row : traced) all.Add(std::move(row));
  std::vector<EvidenceRow> rows = all.Take();
  AddStalls(index, filter, files, rows);
  return rows;
}

absl::Status AddCounters(const RunIndex& index, std::vector<EvidenceRow>& rows) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<EvidenceRow*>> by_host_and_step;
  for (EvidenceRow& row : rows) {
    row.counters.begin_ns = index.steps().at(row.step).begin.start_ns();
    by_host_and_step[{index.writers()[row.writer].host, row.step}].push_back(&row);
  }
  const auto take = [&](const v1::JournalRecord& record) {
    if (!record.has_frames() || !record.frames().has_sample()) return;
    v1::HostSample sample = record.frames().sample();
    const auto found = by_host_and_step.find({record.frames().host(), sample.step()});
    if (found == by_host_and_step.end() || !IsSaneMoment(sample.time_ns())) return;
    const auto moment = index.timeline().ToTimeline(record.frames().host(), sample.time_ns());
    if (!moment) return;
    sample.clear_pauses();
    for (EvidenceRow* const row : found->second) {
      CounterWindow& window = row->counters;
      if (window.closed) continue;
      window.end_ns = moment->local_ns;
      if (moment->local_ns <= row->start_ns) {
        window.begin_ns = moment->local_ns;
        window.before = sample;
        continue;
      }
      window.recorder_late_max_ns = std::max(window.recorder_late_max_ns, sample.recorder_late_max_ns());
      if (moment->local_ns < row->start_ns + static_cast<int64_t>(row->length_ns)) continue;
      window.after = sample;
      window.closed = true;
    }
  };
  const absl::StatusOr<JournalEnd> end = ReadJournal(index.journal_path(), take);
  // What is damaged was reported before.
  if (!end.ok() && end.status().code() != absl::StatusCode::kDataLoss) return end.status();
  return absl::OkStatus();
}

}  // namespace plimsoll
