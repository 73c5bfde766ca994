#include "controller/render/watch_lines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

constexpr uint32_t kIntervalsUnderAHeading = 10;
// Columns, each with a blank in front.
constexpr size_t kSecondsColumn = 6;
constexpr size_t kOperationColumn = 10;
constexpr size_t kCountsColumn = 8;
constexpr size_t kTotalsColumn = 10;
constexpr size_t kLongestColumn = 8;
constexpr size_t kShortestColumn = 7;
constexpr size_t kAverageColumn = 7;
// A run of ten days in lines of a second, all hosts silent but one: more are not held.
constexpr size_t kMostOpenRows = 100'000;

std::string Cell(const std::string& text, size_t width) {
  return " " + PadLeft(text, width - 1);
}

// Whole microseconds.
std::string Micros(double time_ns, size_t width) {
  return Cell(absl::StrFormat("%.0f", time_ns / static_cast<double>(kNsPerUs)), width);
}

std::string CountCell(uint64_t count, size_t width) {
  const std::string text = FormatCount(count);
  return Cell(text.size() < width ? text : absl::StrCat(count), width);
}

// Maximum, minimum and average; dashes where nothing completed.
std::string Times(const Histogram& latency) {
  if (latency.count() == 0) {
    return absl::StrCat(Cell(kDash, kLongestColumn), Cell(kDash, kShortestColumn), Cell(kDash, kAverageColumn));
  }
  return absl::StrCat(Micros(static_cast<double>(latency.max_ns()), kLongestColumn),
                      Micros(static_cast<double>(latency.min_ns()), kShortestColumn),
                      Micros(latency.mean_ns(), kAverageColumn));
}

std::string TimeHeadings() {
  return absl::StrCat(Cell("max", kLongestColumn), Cell("min", kShortestColumn), Cell("avg", kAverageColumn));
}

// "10", "13.25".
std::string IntervalEnd(int64_t length_ns) {
  std::string text = absl::StrFormat("%.2f", static_cast<double>(length_ns) / static_cast<double>(kNsPerSecond));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string ProcessesText(const v1::WatchedWriter& writer) {
  if (writer.processes_size() == 1) {
    return absl::StrCat(SanitizeForTerminal(writer.processes(0).name()), "[", writer.processes(0).pid(), "]");
  }
  return writer.processes().empty() ? "" : absl::StrCat(writer.processes_size(), " processes");
}

std::string MaximumMs(uint64_t time_ns) {
  return FormatFixed(static_cast<double>(time_ns) / static_cast<double>(kNsPerMs), 3);
}

}  // namespace

void WatchLines::Sums::Add(const Sums& other) {
  if (other.latency.count() > 0 && (latency.count() == 0 || other.latency.max_ns() > latency.max_ns())) {
    host = other.host;
    qm = other.qm;
    start_ns = other.start_ns;
  }
  latency.Merge(other.latency);
}

std::vector<std::string> WatchLines::Take(const v1::JournalRecord& record) {
  switch (record.record_case()) {
    case v1::JournalRecord::kRunBegin:
      Begin(record.run_begin(), record.time_ns());
      return {};
    case v1::JournalRecord::kHostJoined: {
      WatchedHost& host = hosts_[record.host_joined().host()];
      host.label = SanitizeForTerminal(record.host_joined().label());
      host.writers = WatchedWriterNames(record.host_joined().plan().watch().watch());
      return {};
    }
    case v1::JournalRecord::kHostPrepared: {
      WatchedHost& host = hosts_[record.host_prepared().host()];
      for (const v1::WatchedWriter& writer : record.host_prepared().prepared().watch().writers()) {
        host.processes.push_back(ProcessesText(writer));
      }
      return {};
    }
    case v1::JournalRecord::kStepBegin:
      measured_start_ns_ = record.step_begin().start_ns() + warmup_ns_;
      for (auto& [number, host] : hosts_) {
        const auto place = static_cast<int>(number);
        const int64_t start_ns =
            place < record.step_begin().host_start_ns_size() ? record.step_begin().host_start_ns(place) : 0;
        host.start_ns = start_ns + warmup_ns_;
        host.over = start_ns == 0;
      }
      return {};
    case v1::JournalRecord::kFrames:
      for (const v1::Frame& frame : record.frames().frames()) TakeFrame(record.frames().host(), frame);
      return Complete(/*all=*/false);
    case v1::JournalRecord::kStepDone:
      hosts_[record.step_done().host()].over = true;
      return Complete(/*all=*/false);
    case v1::JournalRecord::kHostLost:
      hosts_[record.host_lost().host()].over = true;
      return Complete(/*all=*/false);
    case v1::JournalRecord::kStepEnd:
      return Complete(/*all=*/true);
    default:
      return {};
  }
}

void WatchLines::Begin(const v1::RunBegin& begin, int64_t time_ns) {
  wall_offset_ns_ = begin.wall_clock_ns() - time_ns;
  frame_interval_ns_ = std::max<int64_t>(begin.frame_interval_ns(), kNsPerMs);
  frames_per_row_ = std::max<int64_t>(interval_ns_ / frame_interval_ns_, 1);
  if (begin.steps().empty()) return;
  const v1::LogStep& step = begin.steps(0);
  duration_ns_ = step.duration_ns();
  warmup_ns_ = step.warmup_ns();
  for (const v1::Operation& operation : step.operations()) names_.push_back(SanitizeForTerminal(operation.name()));
  total_.resize(names_.size());
}

void WatchLines::TakeFrame(uint32_t number, const v1::Frame& frame) {
  const auto found = hosts_.find(number);
  if (found == hosts_.end() || frame.operation() >= names_.size() || frame.first_interval() < 0) return;
  WatchedHost& host = found->second;
  const int64_t end = int64_t{frame.first_interval()} + (frame.closing() ? 0 : std::max(frame.interval_count(), 1U));
  const int64_t last_row = std::max<int64_t>((duration_ns_ - 1) / interval_ns_, 0);
  // What was in flight at the end belongs to the last interval; of a coalesced frame the last one counts.
  const int64_t row =
      std::clamp<int64_t>((std::max<int64_t>(end, 1) - 1) / frames_per_row_, next_row_, std::max(last_row, next_row_));
  if (frame.operation() == 0) host.next_interval[frame.qm()] = end;
  covered_ = std::max(covered_, end);
  if (!rows_.contains(row) && rows_.size() >= kMostOpenRows) return;
  std::vector<Sums>& sums = rows_[row];
  sums.resize(names_.size());
  Sums one{{}, number, frame.qm(), 0};
  // A frame that contradicts itself is left out here, as it is in the report.
  if (!one.latency.Merge(frame.latency()).ok() || one.latency.count() == 0) return;
  if (frame.has_slowest() && host.start_ns != 0) {
    one.start_ns = measured_start_ns_ + (frame.slowest().start_ns() - host.start_ns);
  }
  sums[frame.operation()].Add(one);
}

std::vector<std::string> WatchLines::Complete(bool all) {
  int64_t covered = INT64_MAX;
  bool any = false;
  for (const auto& [number, host] : hosts_) {
    if (host.over) continue;
    any = true;
    // Nothing is known of a writer before its first frame.
    if (host.next_interval.size() < host.writers.size()) covered = 0;
    for (const auto& [qm, next] : host.next_interval) covered = std::min(covered, next);
  }
  std::vector<std::string> lines;
  // The last one comes with the end of the step: what was in flight then belongs to it.
  const int64_t last_row = (duration_ns_ - 1) / interval_ns_;
  while (any && !all && next_row_ < last_row && (next_row_ + 1) * frames_per_row_ <= covered) {
    std::vector<Sums> sums = std::move(rows_[next_row_]);
    rows_.erase(next_row_);
    AddRow(next_row_++, sums, lines);
  }
  while (all && !rows_.empty()) {
    const auto first = rows_.begin();
    std::vector<Sums> sums = std::move(first->second);
    const int64_t row = first->first;
    rows_.erase(first);
    const bool empty = std::ranges::all_of(sums, [](const Sums& one) { return one.latency.count() == 0; });
    if (!empty || row * interval_ns_ < duration_ns_) AddRow(row, sums, lines);
    next_row_ = row + 1;
  }
  return lines;
}

void WatchLines::AddHeading(std::vector<std::string>& lines) const {
  const std::string every = absl::StrCat("every ", IntervalEnd(interval_ns_), " s, in us");
  constexpr size_t kInterval =
      kSecondsColumn + kOperationColumn + kCountsColumn + kLongestColumn + kShortestColumn + kAverageColumn;
  lines.push_back(absl::StrCat(PadRight("  " + every, kInterval), " | since the start"));
  lines.push_back(absl::StrCat(Cell("s", kSecondsColumn), " ", PadRight("operation", kOperationColumn - 1),
                               Cell("count", kCountsColumn), TimeHeadings(), " |", Cell("total", kTotalsColumn),
                               TimeHeadings()));
}

void WatchLines::AddRow(int64_t row, std::vector<Sums>& interval, std::vector<std::string>& lines) {
  interval.resize(names_.size());
  if (rows_shown_++ % kIntervalsUnderAHeading == 0) AddHeading(lines);
  // The last one ends with the watch.
  const int64_t end_ns = std::min({(row + 1) * interval_ns_, duration_ns_, covered_ * frame_interval_ns_});
  for (size_t i = 0; i < names_.size(); ++i) {
    const uint64_t before_ns = total_[i].latency.max_ns();
    total_[i].Add(interval[i]);
    const Histogram& total = total_[i].latency;
    lines.push_back(absl::StrCat(Cell(i == 0 ? IntervalEnd(end_ns) : "", kSecondsColumn), " ",
                                 PadRight(Shorten(names_[i], kOperationColumn - 1), kOperationColumn - 1),
                                 CountCell(interval[i].latency.count(), kCountsColumn), Times(interval[i].latency),
                                 " |", CountCell(total.count(), kTotalsColumn), Times(total)));
    if (before_ns > 0 && total.max_ns() > before_ns) AddMaximum(i, before_ns, lines);
  }
  if (histogram_rows_ > 0) AddHistograms(end_ns, interval, lines);
}

void WatchLines::AddMaximum(size_t operation, uint64_t before_ns, std::vector<std::string>& lines) const {
  const Sums& total = total_[operation];
  std::string text = absl::StrCat("** Warning ** new maximum of ", names_[operation], ": ",
                                  MaximumMs(total.latency.max_ns()), " ms, was ", MaximumMs(before_ns), " ms");
  const std::string where = PlaceOf(total.host, total.qm);
  if (!where.empty()) absl::StrAppend(&text, "; ", where);
  if (total.start_ns != 0) absl::StrAppend(&text, ", ", TimeOf(total.start_ns));
  for (const std::string& line : Wrap(text, kTextWidth)) lines.push_back(line);
}

void WatchLines::AddHistograms(int64_t end_ns, const std::vector<Sums>& interval,
                               std::vector<std::string>& lines) const {
  std::vector<std::string> who;
  for (const auto& [number, host] : hosts_) {
    for (uint32_t qm = 1; qm <= host.writers.size(); ++qm) who.push_back(PlaceOf(number, qm));
  }
  constexpr size_t kMostNamedWriters = 4;
  const size_t more = who.size() > kMostNamedWriters ? who.size() - kMostNamedWriters : 0;
  who.resize(who.size() - more);
  const std::string writers =
      absl::StrCat(absl::StrJoin(who, "; "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
  for (size_t i = 0; i < names_.size(); ++i) {
    const Histogram& latency = interval[i].latency;
    if (latency.count() == 0) continue;
    v1::StepReport step;
    step.add_scopes()->set_kind(v1::SCOPE_KIND_CLUSTER);
    *step.mutable_scopes(0)->mutable_latency() = MakeLatencyReport(latency);
    *step.add_distributions() = MakeDistribution(latency);
    step.mutable_distributions(0)->set_kind(v1::SCOPE_KIND_CLUSTER);
    const std::string head =
        absl::StrCat(TimeOf(measured_start_ns_ + end_ns), " ", names_[i], writers.empty() ? "" : ", ", writers);
    lines.emplace_back();
    for (const std::string& line : Wrap(head, kTextWidth)) lines.push_back(line);
    AppendLines(TextHistogram(step, histogram_rows_, names_[i] + "s"), lines);
    lines.emplace_back();
  }
}

std::string WatchLines::TimeOf(int64_t timeline_ns) const {
  google::protobuf::Timestamp moment;
  const int64_t utc_ns = timeline_ns + wall_offset_ns_;
  if (utc_ns <= 0) return "";
  moment.set_seconds(utc_ns / kNsPerSecond);
  moment.set_nanos(static_cast<int32_t>(utc_ns % kNsPerSecond));
  return FormatTimeOfDay(moment, moment);
}

std::string WatchLines::PlaceOf(uint32_t number, uint32_t qm) const {
  const auto host = hosts_.find(number);
  if (host == hosts_.end() || qm == 0) return "";
  const std::vector<std::string>& writers = host->second.writers;
  const std::vector<std::string>& processes = host->second.processes;
  const std::string process = qm <= processes.size() && !processes[qm - 1].empty() ? ", " + processes[qm - 1] : "";
  return absl::StrCat(host->second.label, "/",
                      qm <= writers.size() ? SanitizeForTerminal(writers[qm - 1]) : absl::StrCat("qm", qm), process);
}

}  // namespace plimsoll
