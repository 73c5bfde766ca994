#include "controller/export/hlog_export.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/export/file_names.h"
#include "controller/export/hdr_encoding.h"
#include "controller/export/interval_rows.h"

namespace plimsoll {
namespace {

int64_t UtcNs(const google::protobuf::Timestamp& moment) {
  return moment.seconds() * kNsPerSecond + moment.nanos();
}

// Whole milliseconds as seconds, "12.250".
std::string Seconds(int64_t ns) {
  return absl::StrFormat("%.3f", static_cast<double>(ns) / static_cast<double>(kNsPerSecond));
}

class HlogWriter {
 public:
  HlogWriter(const RunIndex& index, const WriteFilter& filter, Output& output)
      : index_(index), filter_(filter), output_(output), several_steps_(!filter.step && index.steps().size() > 1) {
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
    return output_.Append(
        absl::StrCat("#[Plimsoll run ", SafeName(index_.run().run_id()), "; latencies of writes in nanoseconds]\n",
                     "#[Histogram log format version 1.3]\n#[StartTime: ", begin, " (seconds since epoch), ",
                     FormatUtc(base_ns_), "]\n#[BaseTime: ", begin, " (seconds since epoch)]\n",
                     "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"));
  }

  absl::Status Add(uint32_t writer, const v1::Frame& frame) {
    const bool warmup = !frame.closing() && frame.first_interval() < 0;
    if (filter_.step && *filter_.step != frame.step()) return absl::OkStatus();
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
    std::map<uint32_t, uint64_t> measured;
    std::map<uint32_t, uint64_t> warmup;
    for (uint32_t place = 0; place < index_.writers().size(); ++place) {
      const auto frames = index_.writers()[place].frames.find(number);
      if (frames == index_.writers()[place].frames.end()) continue;
      if (frames->second.measured > 0) measured[place] = frames->second.measured;
      if (frames->second.warmup > 0) warmup[place] = frames->second.warmup;
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
    std::string tag;
    const auto add = [&tag](const std::string& name) { absl::StrAppend(&tag, tag.empty() ? "" : "/", name); };
    if (several_steps_) add(absl::StrCat("step", uint64_t{step_} + 1));
    if (!part.empty()) add(part);
    if (row.writer != IntervalRow::kAllWriters) add(tags_[row.writer]);
    if (row.writer == IntervalRow::kAllWriters) writes_ += row.latency.count();
    const int64_t begin_ns = index_.steps().at(step_).measured_start_ns() + row.from_ns - index_.begin_ns();
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

absl::StatusOr<uint64_t> ExportHlog(const RunIndex& index, const WriteFilter& filter, Output& output) {
  return HlogWriter(index, filter, output).Write();
}

}  // namespace plimsoll
