#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/algorithm.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/export/formats.h"
#include "controller/export/output.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {
namespace {

using Layout = HistogramLayout;

// Version 2, words of at most 9 bytes.
constexpr uint32_t kCookie = 0x1c849303 | 0x10;
constexpr uint32_t kCompressedCookie = 0x1c849304 | 0x10;
constexpr uint32_t kSignificantDigits = 3;

template <typename Word>
void PutBigEndian(Word value, std::string& out) {
  for (size_t i = sizeof(Word); i-- > 0;) out.push_back(static_cast<char>(static_cast<uint8_t>(value >> (8 * i))));
}

// Seven bits a byte, the lowest first; the ninth byte holds eight.
void PutZigZag(int64_t value, std::string& out) {
  uint64_t left = (static_cast<uint64_t>(value) << 1U) ^ static_cast<uint64_t>(value >> 63);
  for (int i = 0; i < 8 && left >= 0x80; ++i, left >>= 7U) {
    out.push_back(static_cast<char>(static_cast<uint8_t>(left | 0x80U)));
  }
  out.push_back(static_cast<char>(static_cast<uint8_t>(left)));
}

void PutCounts(const Histogram& histogram, std::string& out) {
  const uint32_t last = Layout::IndexOf(std::min(histogram.max_ns(), Layout::kMaxValueNs));
  uint32_t index = 0;
  while (index <= last) {
    const uint64_t count = histogram.CountAt(index++);
    if (count != 0) {
      PutZigZag(static_cast<int64_t>(count), out);
      continue;
    }
    int64_t zeros = 1;
    for (; index <= last && histogram.CountAt(index) == 0; ++index) ++zeros;
    PutZigZag(zeros > 1 ? -zeros : 0, out);
  }
}

}  // namespace

std::string EncodeHdr(const Histogram& histogram) {
  std::string counts;
  PutCounts(histogram, counts);
  std::string encoded;
  PutBigEndian(kCookie, encoded);
  PutBigEndian(static_cast<uint32_t>(counts.size()), encoded);
  PutBigEndian(uint32_t{0}, encoded);
  PutBigEndian(kSignificantDigits, encoded);
  PutBigEndian(uint64_t{1}, encoded);
  PutBigEndian(Layout::kMaxValueNs, encoded);
  PutBigEndian(std::bit_cast<uint64_t>(1.0), encoded);
  return encoded + counts;
}

std::string EncodeHdrForLog(const Histogram& histogram) {
  const std::string encoded = EncodeHdr(histogram);
  uLongf size = compressBound(encoded.size());
  std::string packed(size, '\0');
  // Only too small a buffer or too little memory fail.
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(encoded.data()),
                encoded.size(), Z_DEFAULT_COMPRESSION) != Z_OK) {
    size = 0;
  }
  packed.resize(size);
  std::string whole;
  PutBigEndian(kCompressedCookie, whole);
  PutBigEndian(static_cast<uint32_t>(packed.size()), whole);
  return absl::Base64Escape(whole + packed);
}

namespace {

// A part of a step with the distribution of its main operation, or of another one. Times are from the step's measured
// start.
struct IntervalRow {
  // Place of the writer; kAllWriters for all of them.
  static constexpr uint32_t kAllWriters = UINT32_MAX;
  uint32_t writer = kAllWriters;
  // Place in the step's list of operations.
  uint32_t operation = kMainOperation;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  // It holds the operations that were in flight when the step ended.
  bool closing = false;
  Histogram latency;
};

// Adds a row of one writer to the row of all writers with its operation.
void AddToAll(const IntervalRow& row, std::map<uint32_t, IntervalRow>& all) {
  const auto [found, is_new] = all.try_emplace(row.operation);
  IntervalRow& sum = found->second;
  sum.operation = row.operation;
  sum.closing = row.closing;
  sum.from_ns = is_new ? row.from_ns : std::min(sum.from_ns, row.from_ns);
  sum.to_ns = is_new ? row.to_ns : std::max(sum.to_ns, row.to_ns);
  sum.latency.Merge(row.latency);
}

// A step's frames by whole seconds of the timeline: of a second first all writers' row of each operation, then each
// writer's. Where frames cover several seconds a row is as long. Holds the rows of seconds that some writer has not
// passed. Not thread-safe.
class IntervalRows {
 public:
  using Visit = std::function<absl::Status(const IntervalRow&)>;
  struct Shape {
    int64_t interval_ns = 0;
    int64_t duration_ns = 0;
    int64_t warmup_ns = 0;
  };

  // The place of an operation in the step's list, and that of a writer.
  using LaneKey = std::pair<uint32_t, uint32_t>;

  // `frames`: how many frames the step has of each operation and writer: after so many they hold nothing up.
  IntervalRows(const Shape& shape, const std::map<LaneKey, uint64_t>& frames, Visit visit);

  // A frame of the writer, in the order in which they came. `closing_to_ns`: for a closing frame, the end of its last
  // write. Passes on what `visit` returns.
  absl::Status Add(uint32_t writer, const v1::Frame& frame, int64_t closing_to_ns);
  // Visits what is left. Once, at the end.
  absl::Status Finish();

 private:
  struct Row {
    // Seconds that it covers, both included.
    int64_t first = 0;
    int64_t last = 0;
    IntervalRow row;
  };
  struct Lane {
    std::deque<Row> rows;
    uint64_t frames_left = 0;
    // The first second that is not complete.
    int64_t open_second = INT64_MIN;
  };

  int64_t SecondOf(int64_t moment_ns) const;
  absl::Status VisitBelow(int64_t second);
  absl::Status VisitGroup(std::vector<Row>& group);

  const Shape shape_;
  const Visit visit_;
  std::map<LaneKey, Lane> lanes_;
  std::vector<IntervalRow> closing_;
};

IntervalRows::IntervalRows(const Shape& shape, const std::map<LaneKey, uint64_t>& frames, Visit visit)
    : shape_(shape), visit_(std::move(visit)) {
  for (const auto& [key, count] : frames) lanes_[key].frames_left = count;
}

int64_t IntervalRows::SecondOf(int64_t moment_ns) const {
  const int64_t second = moment_ns / kNsPerSecond;
  return moment_ns % kNsPerSecond < 0 ? second - 1 : second;
}

absl::Status IntervalRows::Add(uint32_t writer, const v1::Frame& frame, int64_t closing_to_ns) {
  Lane& lane = lanes_[{frame.operation(), writer}];
  if (lane.frames_left > 0) --lane.frames_left;
  const int64_t count = std::max<int64_t>(frame.interval_count(), 1);
  const int64_t begin_ns = int64_t{frame.first_interval()} * shape_.interval_ns;
  if (frame.closing()) {
    IntervalRow& row = closing_.emplace_back();
    row.writer = writer;
    row.operation = frame.operation();
    row.closing = true;
    row.from_ns = std::min(begin_ns, shape_.duration_ns);
    row.to_ns = std::max(closing_to_ns, row.from_ns);
    PLIMSOLL_RETURN_IF_ERROR(row.latency.Merge(frame.latency()));
  } else {
    const int64_t end_ns = begin_ns + count * shape_.interval_ns;
    const int64_t first = SecondOf(begin_ns);
    const int64_t last = SecondOf(end_ns - 1);
    if (lane.rows.empty() || lane.rows.back().last < first) {
      Row& added = lane.rows.emplace_back();
      added.first = first;
      added.last = last;
      added.row.writer = writer;
      added.row.operation = frame.operation();
      added.row.from_ns = std::max(begin_ns, -shape_.warmup_ns);
    }
    Row& row = lane.rows.back();
    row.last = std::max(row.last, last);
    row.row.to_ns = std::min(end_ns, shape_.duration_ns);
    PLIMSOLL_RETURN_IF_ERROR(row.row.latency.Merge(frame.latency()));
    lane.open_second = SecondOf(end_ns);
  }
  int64_t open_second = INT64_MAX;
  for (const auto& [place, each] : lanes_) {
    if (each.frames_left > 0) open_second = std::min(open_second, each.open_second);
  }
  return VisitBelow(open_second);
}

absl::Status IntervalRows::VisitBelow(int64_t second) {
  while (true) {
    // The rows that overlap with the earliest one, with those that overlap with them, and so on.
    int64_t first = INT64_MAX;
    for (const auto& [place, lane] : lanes_) {
      if (!lane.rows.empty()) first = std::min(first, lane.rows.front().first);
    }
    if (first == INT64_MAX) return absl::OkStatus();
    int64_t last = first;
    std::map<LaneKey, size_t> taken;
    for (bool grown = true; grown;) {
      grown = false;
      for (const auto& [place, lane] : lanes_) {
        size_t& count = taken[place];
        for (; count < lane.rows.size() && lane.rows[count].first <= last; ++count) {
          grown = grown || lane.rows[count].last > last;
          last = std::max(last, lane.rows[count].last);
        }
      }
    }
    if (last >= second) return absl::OkStatus();
    std::vector<Row> group;
    for (auto& [place, lane] : lanes_) {
      for (size_t i = 0; i < taken[place]; ++i) {
        group.push_back(std::move(lane.rows.front()));
        lane.rows.pop_front();
      }
    }
    PLIMSOLL_RETURN_IF_ERROR(VisitGroup(group));
  }
}

absl::Status IntervalRows::VisitGroup(std::vector<Row>& group) {
  StableSort(group, [](const Row& a, const Row& b) { return a.first < b.first; });
  std::map<uint32_t, IntervalRow> all;
  for (const Row& row : group) AddToAll(row.row, all);
  for (const auto& [operation, row] : all) PLIMSOLL_RETURN_IF_ERROR(visit_(row));
  for (const Row& row : group) PLIMSOLL_RETURN_IF_ERROR(visit_(row.row));
  return absl::OkStatus();
}

absl::Status IntervalRows::Finish() {
  PLIMSOLL_RETURN_IF_ERROR(VisitBelow(INT64_MAX));
  std::map<uint32_t, IntervalRow> all;
  for (const IntervalRow& row : closing_) AddToAll(row, all);
  for (const auto& [operation, row] : all) PLIMSOLL_RETURN_IF_ERROR(visit_(row));
  StableSort(closing_, [](const IntervalRow& a, const IntervalRow& b) { return a.from_ns < b.from_ns; });
  for (const IntervalRow& row : closing_) PLIMSOLL_RETURN_IF_ERROR(visit_(row));
  closing_.clear();
  return absl::OkStatus();
}

int64_t UtcNs(const google::protobuf::Timestamp& moment) {
  return moment.seconds() * kNsPerSecond + moment.nanos();
}

// Whole milliseconds as seconds, "12.250".
std::string Seconds(int64_t ns) {
  return absl::StrFormat("%.3f", static_cast<double>(ns) / static_cast<double>(kNsPerSecond));
}

// Whether lines have the tag of their step.
bool HasSteps(const RunIndex& index, const WriteFilter& filter) {
  return !filter.step && index.steps().size() > 1;
}

// Whether the step's list has the operation. A damaged journal may begin a step again, with a shorter list.
bool HasOperation(const v1::LogStep& step, uint32_t operation) {
  return operation == kMainOperation || operation < static_cast<uint32_t>(step.operations_size());
}

class HlogWriter {
 public:
  HlogWriter(const RunIndex& index, const WriteFilter& filter, Output& output)
      : index_(index), filter_(filter), output_(output), several_steps_(HasSteps(index, filter)) {
    for (const IndexedWriter& writer : index.writers()) {
      // Not cut: names of different hosts stay different.
      tags_.push_back(absl::StrCat(SafeName(index.hosts().at(writer.host).label, SIZE_MAX), "/qm", writer.qm));
    }
  }

  absl::StatusOr<uint64_t> Write() {
    PLIMSOLL_RETURN_IF_ERROR(PutHeader());
    PLIMSOLL_RETURN_IF_ERROR(
        index_.ForEachFrame([this](uint32_t writer, const v1::Frame& frame) { return Add(writer, frame); }));
    PLIMSOLL_RETURN_IF_ERROR(EndStep());
    return writes_;
  }

 private:
  absl::Status PutHeader() {
    base_ns_ = UtcNs(index_.timeline().ToUtc(index_.begin_ns()));
    const std::string begin = Seconds(base_ns_);
    return output_.Append(absl::StrCat(
        "#[Plimsoll run ", SafeName(index_.run().run_id()), "; latencies of ", index_.OperationsText(),
        " in nanoseconds]\n", "#[Histogram log format version 1.3]\n#[StartTime: ", begin, " (seconds since epoch), ",
        FormatUtc(base_ns_), "]\n#[BaseTime: ", begin, " (seconds since epoch)]\n",
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"));
  }

  absl::Status Add(uint32_t writer, const v1::Frame& frame) {
    const bool warmup = !frame.closing() && frame.first_interval() < 0;
    if (filter_.step && *filter_.step != frame.step()) return absl::OkStatus();
    if (!HasOperation(index_.steps().at(frame.step()).step, frame.operation())) return absl::OkStatus();
    if (!rows_ || step_ != frame.step()) {
      PLIMSOLL_RETURN_IF_ERROR(EndStep());
      BeginStep(frame.step());
    }
    if (warmup) return filter_.warmup ? warmup_rows_->Add(writer, frame, 0) : absl::OkStatus();
    return rows_->Add(writer, frame, ClosingEndNs(index_.writers()[writer].host, frame));
  }

  // End of the frame's last write, from the step's measured start.
  int64_t ClosingEndNs(uint32_t host, const v1::Frame& frame) const {
    const IndexedStep& step = index_.steps().at(step_);
    const bool armed = host < static_cast<uint32_t>(step.begin.host_start_ns_size());
    if (!frame.closing() || !armed || frame.last_end_ns() == 0) return 0;
    return frame.last_end_ns() - step.begin.host_start_ns(static_cast<int>(host)) - step.step.warmup_ns();
  }

  void BeginStep(uint32_t number) {
    step_ = number;
    const IndexedStep& step = index_.steps().at(number);
    const int64_t interval_ns = index_.report().run().frame_interval_ns();
    const IntervalRows::Shape shape{interval_ns, step.step.duration_ns(), step.step.warmup_ns()};
    std::map<IntervalRows::LaneKey, uint64_t> measured;
    std::map<IntervalRows::LaneKey, uint64_t> warmup;
    for (uint32_t place = 0; place < index_.writers().size(); ++place) {
      const auto& frames = index_.writers()[place].frames;
      for (auto found = frames.lower_bound({number, 0}); found != frames.end(); ++found) {
        const auto& [of_step, operation] = found->first;
        if (of_step != number || !HasOperation(step.step, operation)) break;
        if (found->second.measured > 0) measured[{operation, place}] = found->second.measured;
        if (found->second.warmup > 0) warmup[{operation, place}] = found->second.warmup;
      }
    }
    rows_ = std::make_unique<IntervalRows>(shape, measured, [this](const IntervalRow& row) { return Put(row, ""); });
    warmup_rows_ =
        std::make_unique<IntervalRows>(shape, warmup, [this](const IntervalRow& row) { return Put(row, "warmup"); });
  }

  absl::Status EndStep() {
    if (!rows_) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(warmup_rows_->Finish());
    PLIMSOLL_RETURN_IF_ERROR(rows_->Finish());
    rows_.reset();
    warmup_rows_.reset();
    return absl::OkStatus();
  }

  absl::Status Put(const IntervalRow& row, const std::string& part) {
    // The closing frames of a writer that both reads and writes hold one operation: the frame of its writes may be
    // empty.
    if (row.closing && row.latency.count() == 0 && index_.HasReads()) return absl::OkStatus();
    std::string tag;
    const auto add = [&tag](const std::string& name) { absl::StrAppend(&tag, tag.empty() ? "" : "/", name); };
    if (several_steps_) add(absl::StrCat("step", uint64_t{step_} + 1));
    if (!part.empty()) add(part);
    const IndexedStep& step = index_.steps().at(step_);
    const bool is_main = row.operation == kMainOperation;
    if (!is_main) add(SafeName(step.step.operations(static_cast<int>(row.operation)).name(), SIZE_MAX));
    if (row.writer != IntervalRow::kAllWriters) add(tags_[row.writer]);
    const bool is_part = !is_main && !index_.IsRead(step_, row.operation);
    if (row.writer == IntervalRow::kAllWriters && !is_part) writes_ += row.latency.count();
    const int64_t begin_ns = step.measured_start_ns() + row.from_ns - index_.begin_ns();
    return output_.Append(absl::StrCat(tag.empty() ? "" : absl::StrCat("Tag=", tag, ","), Seconds(begin_ns), ",",
                                       Seconds(row.to_ns - row.from_ns), ",",
                                       absl::StrFormat("%.3f", static_cast<double>(row.latency.max_ns()) / 1e6), ",",
                                       EncodeHdrForLog(row.latency), "\n"));
  }

  const RunIndex& index_;
  const WriteFilter filter_;
  Output& output_;
  const bool several_steps_;
  std::vector<std::string> tags_;
  int64_t base_ns_ = 0;
  uint32_t step_ = 0;
  std::unique_ptr<IntervalRows> rows_;
  std::unique_ptr<IntervalRows> warmup_rows_;
  uint64_t writes_ = 0;
};

}  // namespace

std::string HlogRemark(const RunIndex& index, const WriteFilter& filter) {
  if (!HasSteps(index, filter)) return "";
  const uint32_t first = index.steps().begin()->first + 1;
  return absl::StrCat("each line has the tag of its step, step", first, " to step", index.steps().rbegin()->first + 1,
                      ", and of a single writer step", first,
                      "/HOST/qmN: HistogramLogProcessor needs one of them, such "
                      "as -tag step",
                      first, ", or export one step with --step ", first, ".");
}

absl::StatusOr<uint64_t> ExportHlog(const RunIndex& index, const WriteFilter& filter, Output& output) {
  return HlogWriter(index, filter, output).Write();
}

}  // namespace plimsoll
