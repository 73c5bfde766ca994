#include "controller/mq/error_log.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/files.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/mq/error_log_entries.h"
#include "controller/mq/mq_text.h"

namespace plimsoll {
namespace {

constexpr size_t kMostRestartNotes = 20;
constexpr int64_t kMsPerRestartSecond = 1000;
// The channel initiator starts within seconds. A later AMQ8024I is that of a START CHINIT by an operator.
constexpr int64_t kLatestInitiatorMs = int64_t{10} * 60 * kMsPerRestartSecond;

// "2026-03-01 04:30:15 UTC".
std::string LogTimeText(int64_t time_ms) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixMillis(time_ms), absl::UTCTimeZone());
}

// Follows the starts of one queue manager; the events come by time.
class StartTracker {
 public:
  StartTracker(const std::string& queue_manager, std::vector<v1::RealRestart>& restarts)
      : queue_manager_(queue_manager), restarts_(restarts) {}

  void Take(const StartEvent& event) {
    switch (event.kind) {
      case StartEventKind::kBegin:
        if (begin_.has_value() && event.again && event.process == begin_->process) return;
        Close();
        begin_ = event;
        return;
      case StartEventKind::kReplayed:
        if (begin_.has_value() && event.records.has_value()) records_ = std::max(records_.value_or(0), *event.records);
        return;
      case StartEventKind::kStarted:
        if (!begin_.has_value()) ++without_begin_;
        if (begin_.has_value() && !started_ms_.has_value()) started_ms_ = event.time_ms;
        return;
      case StartEventKind::kInitiator:
        if (!begin_.has_value()) return;
        if (started_ms_.has_value() && event.time_ms > *started_ms_ + kLatestInitiatorMs) {
          ++late_initiators_;
          return Close();
        }
        Add(event.time_ms, false);
        return Reset();
      case StartEventKind::kLoggerEnded:
        // Each start has a process of its own for the task, and the message may follow the next start's first one.
        if (begin_.has_value() && event.process == begin_->process) Close();
        return;
      case StartEventKind::kEnded:
        return Close();
    }
  }

  // After the last event.
  void Finish(std::vector<std::string>& notes) {
    Close();
    const auto add = [&](const std::string& text) { notes.push_back(absl::StrCat(queue_manager_, ": ", text)); };
    if (unfinished_ > 0) {
      add(absl::StrCat(Counted(unfinished_, "start"), " without AMQ8003I or AMQ8024I left out, the first at ",
                       LogTimeText(first_unfinished_ms_), "; crtmqm and a start that fails leave one"));
    }
    if (without_begin_ > 0) {
      add(absl::StrCat(Counted(without_begin_, "AMQ8003I message"),
                       " without AMQ5051I of LOGGER-IO before left out: pass the older files AMQERR02 and AMQERR03, "
                       "too; the console output of a container leaves AMQ5051I out"));
    }
    if (late_initiators_ > 0) {
      add(absl::StrCat(Counted(late_initiators_, "AMQ8024I message"),
                       " more than 10 minutes after AMQ8003I left out: not a part of the restart"));
    }
  }

 private:
  // Ends the current start, if there is one, without AMQ8024I.
  void Close() {
    if (begin_.has_value() && started_ms_.has_value()) {
      Add(*started_ms_, true);
    } else if (begin_.has_value() && ++unfinished_ == 1) {
      first_unfinished_ms_ = begin_->time_ms;
    }
    Reset();
  }

  void Add(int64_t end_ms, bool without_initiator) {
    v1::RealRestart& restart = restarts_.emplace_back();
    restart.set_queue_manager(queue_manager_);
    restart.set_begin_s(begin_->time_ms / kMsPerRestartSecond);
    restart.set_seconds(static_cast<double>(end_ms - begin_->time_ms) / kMsPerRestartSecond);
    if (without_initiator) restart.set_without_channel_initiator(true);
    if (records_.has_value()) restart.set_records(*records_);
    restart.set_file(SanitizeForTerminal(begin_->file));
  }

  void Reset() {
    begin_.reset();
    started_ms_.reset();
    records_.reset();
  }

  const std::string queue_manager_;
  std::vector<v1::RealRestart>& restarts_;
  std::optional<StartEvent> begin_;
  std::optional<int64_t> started_ms_;
  std::optional<uint64_t> records_;
  uint64_t unfinished_ = 0;
  int64_t first_unfinished_ms_ = 0;
  uint64_t without_begin_ = 0;
  uint64_t late_initiators_ = 0;
};

// The number of "AMQERR03.LOG": the higher, the older. 0 for any other name.
int64_t RotationOf(const std::string& path) {
  const std::string name = absl::AsciiStrToLower(path.substr(path.rfind('/') + 1));
  std::string_view rest = name;
  if (!TakeText(rest, "amqerr")) return 0;
  return TakeNumber(rest).value_or(0);
}

// The positions 0 to `size` - 1 in the order of `less`, and of their own where that has none: a stable sort. Clang
// refuses that of libstdc++ 12, which uses a deprecated function.
template <typename Less>
std::vector<size_t> StableOrder(size_t size, const Less& less) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&less](size_t a, size_t b) { return less(a, b) || (!less(b, a) && a < b); });
  return order;
}

RestartLog TrackStarts(const std::vector<StartEvent>& events, std::vector<std::string> notes) {
  std::vector<v1::RealRestart> restarts;
  std::map<std::string, StartTracker> trackers;
  std::set<std::tuple<std::string, StartEventKind, std::string, bool, std::optional<uint64_t>>> of_this_moment;
  int64_t moment_ms = -1;
  for (const size_t i :
       StableOrder(events.size(), [&](size_t a, size_t b) { return events[a].time_ms < events[b].time_ms; })) {
    const StartEvent& event = events[i];
    if (event.time_ms != moment_ms) of_this_moment.clear();
    moment_ms = event.time_ms;
    // Entries that overlapping copies of a log, or its text and its JSON, hold.
    if (!of_this_moment.emplace(event.queue_manager, event.kind, event.process, event.again, event.records).second)
      continue;
    trackers.try_emplace(event.queue_manager, event.queue_manager, restarts).first->second.Take(event);
  }
  RestartLog log;
  for (auto& [name, tracker] : trackers) tracker.Finish(log.doubts);
  notes.insert(notes.end(), log.doubts.begin(), log.doubts.end());
  for (const size_t i : StableOrder(restarts.size(), [&](size_t a, size_t b) {
         if (restarts[a].begin_s() != restarts[b].begin_s()) return restarts[a].begin_s() < restarts[b].begin_s();
         return restarts[a].queue_manager() < restarts[b].queue_manager();
       })) {
    log.restarts.push_back(std::move(restarts[i]));
  }
  if (notes.size() > kMostRestartNotes) {
    const size_t more = notes.size() - kMostRestartNotes;
    notes.resize(kMostRestartNotes);
    notes.push_back(Counted(more, "more note"));
  }
  log.notes = std::move(notes);
  return log;
}

// `read` feeds the file at a position in `paths` to the reader.
template <typename Read>
absl::StatusOr<RestartLog> ReadAll(const std::vector<std::string>& paths, const Read& read) {
  std::vector<StartEvent> events;
  std::vector<std::string> notes;
  std::vector<std::string> problems;
  // The oldest first, so that entries of the same moment in two files come in their order.
  for (const size_t i :
       StableOrder(paths.size(), [&](size_t a, size_t b) { return RotationOf(paths[a]) > RotationOf(paths[b]); })) {
    ErrorLogReader reader(paths[i]);
    absl::Status status = read(i, reader);
    if (status.ok()) status = reader.Finish(events, notes);
    if (!status.ok()) problems.emplace_back(status.message());
  }
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  return TrackStarts(events, std::move(notes));
}

}  // namespace

absl::StatusOr<RestartLog> FindRestarts(const std::vector<ErrorLogText>& logs) {
  std::vector<std::string> paths;
  for (const ErrorLogText& log : logs) paths.push_back(log.file);
  return ReadAll(paths, [&logs](size_t i, ErrorLogReader& reader) {
    reader.Feed(logs[i].text);
    return absl::OkStatus();
  });
}

absl::StatusOr<RestartLog> ReadRestarts(const std::vector<std::string>& paths) {
  return ReadAll(paths, [&paths](size_t i, ErrorLogReader& reader) {
    return ReadInParts(paths[i], kMostErrorLogBytes, FileKind::kAny,
                       [&reader](std::string_view bytes) { reader.Feed(bytes); });
  });
}

}  // namespace plimsoll
