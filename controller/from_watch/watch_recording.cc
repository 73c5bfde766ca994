#include "controller/from_watch/watch_recording.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/analysis/step_report.h"
#include "controller/export/write_stream.h"
#include "controller/from_watch/pattern_entries.h"
#include "controller/playback/pattern_file.h"
#include "controller/report/run_kind.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

// What is played again are the writes of a log that somebody else wrote.
absl::Status CheckWatchesLog(const v1::Report& report, const std::string& where) {
  const v1::TestPlan& plan = report.plan();
  if (!plan.has_watch()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", FactsOf(RunKindOf(report)).noun,
                     ", whose writes are Plimsoll's own: name the results of `plimsoll watch`, or run its plan.yaml"));
  }
  if (!WatchesLog(plan.watch())) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": a watch of calls (", absl::StrJoin(plan.watch().calls(), ", "),
                     "), which has no log writes to play: watch a log, with -m QM or --log-dir"));
  }
  if (report.steps().empty()) {
    const std::string& why = report.run().state_reason();
    return absl::InvalidArgumentError(absl::StrCat(where, ": a watch that never began",
                                                   why.empty() ? "" : absl::StrCat(" (", why, ")"), ": watch again"));
  }
  return absl::OkStatus();
}

// How a report says that it left a record out (Analyzer).
constexpr char kLeftOut[] = "Left out: ";

// A sentence as it follows a name and a colon.
std::string WithoutStop(const std::string& sentence) {
  return sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence;
}

uint64_t PagesOf(uint64_t bytes) {
  return std::max<uint64_t>(bytes / kPatternPageBytes + (bytes % kPatternPageBytes > 0 ? 1 : 0), 1);
}

// Writes in one second of a stream.
struct SecondOfWrites {
  int64_t begin_ns = 0;
  int64_t length_ns = 0;
  uint64_t writes = 0;
  uint64_t bytes = 0;
};

// Calls `visit` with each second of the series that has a write, in order. A row of several seconds is spread over them
// evenly. A watch has no row of writes that were in flight at its end.
absl::Status ForEachRow(const v1::SeriesReport& series,
                        const std::function<absl::Status(const SecondOfWrites&)>& visit) {
  std::map<int, int64_t> lengths_ns;
  for (const v1::IrregularRow& row : series.irregular()) {
    if (!row.closing()) lengths_ns[static_cast<int>(row.row())] = row.length_ns();
  }
  for (int row = 0; row < series.second_size(); ++row) {
    const auto irregular = lengths_ns.find(row);
    const int64_t length_ns = irregular == lengths_ns.end() ? kNsPerSecond : irregular->second;
    const auto parts = static_cast<uint64_t>(std::max<int64_t>((length_ns + kNsPerSecond - 1) / kNsPerSecond, 1));
    const uint64_t writes = series.writes(row);
    const uint64_t bytes = series.bytes(row);
    for (uint64_t part = 0; part < parts; ++part) {
      // What is left over goes to the first parts.
      SecondOfWrites second{(int64_t{series.second(row)} + static_cast<int64_t>(part)) * kNsPerSecond, 0,
                            writes / parts + (part < writes % parts ? 1 : 0),
                            bytes / parts + (part < bytes % parts ? 1 : 0)};
      second.length_ns = std::min(length_ns - static_cast<int64_t>(part) * kNsPerSecond, kNsPerSecond);
      if (second.writes > 0) PLIMSOLL_RETURN_IF_ERROR(visit(second));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WatchRecording> WatchRecording::Make(const RunIndex& index, const std::string& where) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWatchesLog(index.report(), where));
  WatchRecording recording(index);
  recording.header_.set_format(kPatternFormat);
  recording.header_.set_run_id(index.report().run().id());
  recording.FindWriters();
  if (recording.writers_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": no log write was seen: watch again while the queue manager is under load"));
  }
  recording.AddNotes();
  const std::string most = FormatCount(kMostPatternEntries);
  absl::Status counted = absl::ResourceExhaustedError("");
  if (recording.HasAllWrites()) {
    counted = recording.Count();
    if (absl::IsResourceExhausted(counted)) {
      recording.UseSeconds(absl::StrCat("the watch has more than ", most,
                                        " writes and long pauses together, the most of a pattern file"));
    }
  }
  if (recording.per_second_) counted = recording.Count();
  if (absl::IsResourceExhausted(counted)) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": even by second the watch has more than ", most,
                                                   " entries, the most of a pattern file: watch for a shorter time, or "
                                                   "fewer queue managers at once"));
  }
  if (counted.ok()) counted = recording.CheckLength();
  if (counted.ok()) counted = PatternSums::CheckHeader(recording.header_);
  if (!counted.ok()) return WithContext(where, counted);
  return recording;
}

void WatchRecording::FindWriters() {
  std::map<std::string, const v1::HostReport*> hosts;
  for (const v1::HostReport& host : index_.report().hosts()) hosts[host.label()] = &host;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> places;
  for (uint32_t place = 0; place < index_.writers().size(); ++place) {
    places[{index_.writers()[place].host, index_.writers()[place].qm}] = place;
  }
  std::vector<std::string> idle;
  for (const v1::ScopeReport& scope : step().scopes()) {
    if (scope.kind() != v1::SCOPE_KIND_QM) continue;
    const auto host = hosts.find(scope.host());
    const auto place = host == hosts.end() ? places.end() : places.find({host->second->number(), scope.qm()});
    if (scope.latency().count() == 0 && scope.has_data_until_reason()) {
      notes_.push_back(absl::StrCat("no log write of ", scope.host(), "/", scope.queue_manager(),
                                    " is known: ", WithoutStop(scope.data_until_reason()), "; it is left out"));
      continue;
    }
    if (scope.latency().count() == 0 || place == places.end()) {
      idle.push_back(absl::StrCat(scope.host(), "/", scope.queue_manager()));
      continue;
    }
    RecordedWriter& writer = writers_.emplace_back();
    writer.writer = place->second;
    writer.address = host->second->address();
    writer.figures = &scope;
    for (const v1::SeriesReport& series : step().series()) {
      const bool is_its =
          series.kind() == v1::SCOPE_KIND_QM && series.host() == scope.host() && series.qm() == scope.qm();
      if (is_its) writer.series = &series;
    }
    v1::PatternStream& stream = *header_.add_streams();
    stream.set_host(scope.host());
    stream.set_queue_manager(scope.queue_manager());
  }
  if (!idle.empty()) {
    notes_.push_back(
        absl::StrCat(absl::StrJoin(idle, ", "), idle.size() == 1 ? " has" : " have",
                     " no log write in the watch, as a standby instance or an idle queue manager: left out"));
  }
}

void WatchRecording::AddNotes() {
  const v1::Report& report = index_.report();
  if (!index_.damage().empty()) {
    notes_.push_back(WithoutStop(index_.damage()));
  } else if (report.run().state() != v1::RUN_STATE_COMPLETE) {
    notes_.push_back(absl::StrCat(
        "the watch did not reach its end",
        report.run().state_reason().empty() ? "" : absl::StrCat(": ", WithoutStop(report.run().state_reason()))));
  }
  for (const std::string& reason : report.verdict().reasons()) {
    if (reason.starts_with(kLeftOut)) {
      notes_.push_back(absl::StrCat("a part of the watch could not be used: ", WithoutStop(reason)));
    }
  }
  for (const RecordedWriter& writer : writers_) {
    if (!writer.figures->has_data_until_reason()) continue;
    notes_.push_back(absl::StrCat("the data of ", writer.figures->host(), "/", writer.figures->queue_manager(),
                                  " end early: ", WithoutStop(writer.figures->data_until_reason()),
                                  "; its stream is silent from there to the end"));
  }
  for (const v1::WatchHostReport& host : report.watch().hosts()) {
    for (const std::string& doubt : host.doubts()) {
      notes_.push_back(absl::StrCat("the recording is a lower bound: ", WithoutStop(doubt)));
    }
  }
  std::set<std::string> unprobed;
  for (const RecordedWriter& writer : writers_) {
    const uint32_t host = index_.writers()[writer.writer].host;
    if (!index_.timeline().ToTimeline(host, 0)) unprobed.insert(writer.figures->host());
  }
  for (const std::string& host : unprobed) {
    notes_.push_back(absl::StrCat(host, ": no clock probe was answered; its writes are placed by an assumed clock"));
  }
}

bool WatchRecording::HasAllWrites() {
  uint64_t writes = 0;
  for (const RecordedWriter& writer : writers_) writes += writer.figures->latency().count();
  uint64_t untraced = 0;
  for (const RecordedWriter& writer : writers_) untraced += writer.figures->untraced_writes();
  if (untraced > 0) {
    UseSeconds(absl::StrCat(FormatCount(untraced), " of ", FormatCount(writes),
                            " writes are in no trace (--trace, --trace-limit, or a controller that did not keep up)"));
  } else if (index_.contradicted()) {
    UseSeconds("the traces of the journal contradict its figures");
  } else if (writes > kMostPatternEntries) {
    UseSeconds(absl::StrCat("the watch has ", FormatCount(writes), " writes, and a pattern file at most ",
                            FormatCount(kMostPatternEntries)));
  }
  return !per_second_;
}

void WatchRecording::UseSeconds(const std::string& why) {
  per_second_ = true;
  notes_.push_back(absl::StrCat(why,
                                ": the pattern has the number and the bytes of each second, in writes of their mean "
                                "size that are evenly spread, and not when each write began"));
}

absl::Status WatchRecording::Count() {
  const int streams = header_.streams_size();
  std::vector<uint64_t> bytes(static_cast<size_t>(streams));
  std::vector<v1::PatternStream> counted(static_cast<size_t>(streams));
  uint64_t entries = 0;
  most_pages_ = 0;
  int64_t end_ns = 0;
  PLIMSOLL_RETURN_IF_ERROR(ForEachEntry(
      [&](uint32_t number, const PatternEntry& entry) {
        if (++entries > kMostPatternEntries) return absl::ResourceExhaustedError("entries");
        v1::PatternStream& stream = counted[number];
        stream.set_entries(stream.entries() + 1);
        stream.set_writes(stream.writes() + entry.count);
        stream.set_paged_bytes(stream.paged_bytes() + uint64_t{entry.count} * entry.pages * kPatternPageBytes);
        most_pages_ = std::max(most_pages_, entry.pages);
        return absl::OkStatus();
      },
      &bytes, &end_ns));
  // The writes of one moment may reach a few nanoseconds beyond the end.
  const int64_t length_ns = std::max(step().measured_ns(), end_ns);
  for (int i = 0; i < streams; ++i) {
    v1::PatternStream& stream = *header_.mutable_streams(i);
    const v1::PatternStream& sums = counted[static_cast<size_t>(i)];
    stream.set_entries(sums.entries());
    stream.set_writes(sums.writes());
    stream.set_bytes(bytes[static_cast<size_t>(i)]);
    stream.set_paged_bytes(sums.paged_bytes());
    stream.set_length_ns(length_ns);
    stream.set_per_second(per_second_);
    const uint64_t measured = writers_[static_cast<size_t>(i)].figures->latency().count();
    if (per_second_ && sums.writes() < measured) {
      notes_.push_back(absl::StrCat(NameOf(static_cast<uint32_t>(i)), ": ", FormatCount(measured - sums.writes()),
                                    " of ", FormatCount(measured),
                                    " writes are not in the report's seconds, and are missing"));
    }
  }
  return absl::OkStatus();
}

absl::Status WatchRecording::CheckLength() const {
  const int64_t length_ns = header_.streams(0).length_ns();
  if (length_ns >= kLeastPatternNs && length_ns <= kLongestPatternNs) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a watch of ", FormatReadableDuration(length_ns),
                                                 "; a pattern has 1ms to 30d: watch for a ",
                                                 length_ns < kLeastPatternNs ? "longer" : "shorter", " time"));
}

absl::Status WatchRecording::ForEachEntry(const Visit& visit, std::vector<uint64_t>* bytes, int64_t* end_ns) const {
  for (uint32_t stream = 0; stream < writers_.size(); ++stream) {
    uint64_t stream_bytes = 0;
    int64_t stream_end_ns = 0;
    PLIMSOLL_RETURN_IF_ERROR(per_second_ ? ForEachSecond(stream, visit, stream_bytes, stream_end_ns)
                                         : ForEachTraced(stream, visit, stream_bytes, stream_end_ns));
    if (bytes != nullptr) (*bytes)[stream] = stream_bytes;
    if (end_ns != nullptr) *end_ns = std::max(*end_ns, stream_end_ns);
  }
  return absl::OkStatus();
}

absl::Status WatchRecording::ForEachTraced(uint32_t stream, const Visit& visit, uint64_t& bytes,
                                           int64_t& end_ns) const {
  WriteFilter filter;
  filter.step = step().number() - 1;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<WriteStream> writes, WriteStream::Open(index_, filter));
  const int64_t start_ns = index_.steps().at(*filter.step).measured_start_ns();
  PatternEntries entries([&](const PatternEntry& entry) { return visit(stream, entry); });
  PLIMSOLL_RETURN_IF_ERROR(writes->ForWriter(writers_[stream].writer, [&](const ExportedWrite& write) {
    const uint64_t pages = PagesOf(write.bytes);
    if (pages > kMostWritePages) return TooLarge(stream, write.bytes);
    bytes += write.bytes;
    return entries.AddWrite(write.start_ns - start_ns, static_cast<uint16_t>(pages));
  }));
  end_ns = entries.end_ns();
  return absl::OkStatus();
}

absl::Status WatchRecording::ForEachSecond(uint32_t stream, const Visit& visit, uint64_t& bytes,
                                           int64_t& end_ns) const {
  const v1::SeriesReport* const series = writers_[stream].series;
  if (series == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(stream), ": the watch is too long for writes by second, of which a report has at most ",
                     FormatCount(kSeriesRows), ": watch for a shorter time, or fewer queue managers at once"));
  }
  PatternEntries entries([&](const PatternEntry& entry) { return visit(stream, entry); });
  PLIMSOLL_RETURN_IF_ERROR(ForEachRow(*series, [&](const SecondOfWrites& second) {
    const uint64_t pages = std::max(PagesOf(second.bytes), second.writes);
    const uint64_t largest = (pages + second.writes - 1) / second.writes;
    if (largest > kMostWritePages) return TooLarge(stream, second.bytes / second.writes);
    bytes += second.bytes;
    return entries.AddEvenly(second.begin_ns, second.length_ns, second.writes, pages);
  }));
  end_ns = entries.end_ns();
  return absl::OkStatus();
}

absl::Status WatchRecording::TooLarge(uint32_t stream, uint64_t bytes) const {
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(stream), " wrote ", FormatSizeForPeople(bytes), " at once; the largest log write of a queue ",
                   "manager has ", FormatSizeForPeople(kMostWritePages * kPatternPageBytes),
                   ", and no larger one can be played: watch the directory of a queue manager's log"));
}

std::string WatchRecording::NameOf(uint32_t stream) const {
  const v1::PatternStream& named = header_.streams(static_cast<int>(stream));
  return absl::StrCat(named.host(), "/", named.queue_manager());
}

absl::StatusOr<std::string> WatchRecording::Write(FileWriter file) const {
  PLIMSOLL_ASSIGN_OR_RETURN(PatternFileWriter pattern, PatternFileWriter::Create(std::move(file), header_));
  PLIMSOLL_RETURN_IF_ERROR(ForEachEntry(
      [&pattern](uint32_t stream, const PatternEntry& entry) { return pattern.Add(stream, entry); }, nullptr, nullptr));
  return pattern.Finish();
}

}  // namespace plimsoll
