#include "controller/restart/restart_analysis.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/report/restart_model.h"
#include "controller/restart/line_fit.h"

namespace plimsoll {
namespace {

constexpr double kUsPerSecond = 1e6;

double SecondsOf(int64_t time_ns) {
  return static_cast<double>(time_ns) / static_cast<double>(kNsPerSecond);
}

double ElapsedSeconds(const v1::RestartTrialDone& done) {
  return SecondsOf(done.end_ns() - done.start_ns());
}

uint64_t QueueCalls(const v1::RestartTrialDone& done) {
  return done.queue_reads().count() + done.queue_writes().count();
}

// Median, shortest and longest of the times, into the fields that every list of the report has for them.
template <typename Row>
void SetTimes(const std::vector<double>& seconds, Row& row) {
  row.set_rounds(static_cast<uint32_t>(seconds.size()));
  row.set_median_seconds(MedianOf(seconds));
  row.set_min_seconds(std::ranges::min(seconds));
  row.set_max_seconds(std::ranges::max(seconds));
}

// Answers cannot come from an honest agent with these: times that run backwards, or beyond what arithmetic bears.
bool IsCredible(const v1::RestartTrialDone& done) {
  constexpr uint64_t kMost = uint64_t{1} << 60;
  if (!IsSaneMoment(done.start_ns()) || !IsSaneMoment(done.end_ns()) || done.end_ns() < done.start_ns()) return false;
  return std::ranges::all_of(
      std::initializer_list<const v1::RestartCalls*>{&done.log_reads(), &done.queue_reads(), &done.queue_writes(),
                                                     &done.log_writes(), &done.flushes()},
      [](const v1::RestartCalls* calls) {
        return calls->count() < kMost && calls->bytes() < kMost && IsSaneMoment(calls->sum_ns()) &&
               IsSaneMoment(calls->max_ns());
      });
}

std::vector<std::string> AssumptionsOf(const v1::TestPlan& plan) {
  const v1::RestartPlan& restart = plan.restart_time();
  std::vector<std::string> assumptions = {
      absl::StrCat("Every record is that of a persistent put: ", kPutRecordBytes,
                   " bytes and its message. It belongs to the next of ", restart.queues(),
                   " queues in turn, and its message follows the one before in the queue's file."),
      "The log is read from the last checkpoint on with O_DIRECT, 1 MiB in a call.",
      absl::StrCat(restart.queue_io() == v1::RESTART_QUEUE_IO_BUFFERED
                       ? "Queue files are read and written through the page cache, which is emptied before"
                       : "Queue files are read and written with O_DIRECT",
                   "; which way a queue manager does it is not known."),
  };
  assumptions.emplace_back(
      "At the end of each measurement every queue file that was written is flushed once (fdatasync). Checking and "
      "stamping pages, which takes about 1 us each, is in the times.");
  for (const int way : restart.redo()) {
    if (way == v1::RESTART_REDO_WAY_COALESCED) {
      assumptions.emplace_back(
          "coalesced: pages of up to 64 MiB of records are sorted and merged, each range read and written in one "
          "call.");
    } else {
      assumptions.push_back(
          absl::StrFormat("per-record: %g calls to the queue files for each record%s", restart.round_trips_per_record(),
                          restart.round_trips_per_record() == 2.4
                              ? ", fitted to one study of IBM's (MQ 9.1.0); what those calls were is not known."
                              : "."));
    }
  }
  if (std::ranges::any_of(restart.depth(), [](uint32_t depth) { return depth > 0; })) {
    assumptions.push_back(absl::StrCat("Loading a queue reads ", restart.metadata_bytes(),
                                       " bytes for each message on it; how many MQ reads is not known."));
  }
  if (std::ranges::any_of(restart.uncommitted(), [](uint32_t messages) { return messages > 0; })) {
    assumptions.emplace_back(
        "Backing out reads and writes one page for each message in random order, and writes one log record for each "
        "transaction. What a queue manager computes meanwhile is not in it: on IBM's SAN that was most of the time.");
  }
  assumptions.emplace_back("What the cache of a file server or of a disk array held is not known.");
  return assumptions;
}

}  // namespace

absl::Status RestartAnalysis::Take(const v1::JournalRecord& record, const Timeline& /*timeline*/) {
  if (record.has_host_joined() && record.host_joined().host() == 0) {
    work_ = record.host_joined().plan().restart();
    host_ = record.host_joined().description();
  }
  if (record.restart().has_trial_begin()) {
    const v1::RestartTrialBegin& begin = record.restart().trial_begin();
    if (begin.trial().side() >= static_cast<uint32_t>(work_.dirs_size())) {
      return absl::InvalidArgumentError(absl::StrCat("a measurement in directory ", begin.trial().side() + 1, " of ",
                                                     work_.dirs_size(), " is not in the plan"));
    }
    if (!ordered_.try_emplace(begin.trial().trial(), Trial{begin.round(), begin.trial(), {}}).second) {
      return absl::InvalidArgumentError(absl::StrCat("measurement ", begin.trial().trial(), " was ordered twice"));
    }
  }
  if (record.restart().has_trial_done()) return TakeDone(record.restart().trial_done());
  return absl::OkStatus();
}

absl::Status RestartAnalysis::TakeDone(const v1::RestartTrialDone& done) {
  const auto ordered = ordered_.find(done.trial());
  if (ordered == ordered_.end() || answered_.contains(done.trial())) {
    return absl::InvalidArgumentError(
        absl::StrCat("an answer to measurement ", done.trial(), ", which was not asked for or is answered already"));
  }
  if (!IsCredible(done)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the answer to measurement ", done.trial(), " has times or counts that cannot be"));
  }
  Trial trial = ordered->second;
  trial.done = done;
  answered_.emplace(done.trial(), std::move(trial));
  return absl::OkStatus();
}

std::vector<const RestartAnalysis::Trial*> RestartAnalysis::TrialsOf(
    uint32_t side, const std::function<bool(const v1::RestartTrial&)>& wanted) const {
  std::vector<const Trial*> trials;
  for (const auto& [number, trial] : answered_) {
    if (trial.order.side() == side && trial.done.code() == 0 && wanted(trial.order)) trials.push_back(&trial);
  }
  return trials;
}

void RestartAnalysis::AddRedo(uint32_t side, v1::RestartSide& report) const {
  // In the order in which they were measured first.
  std::vector<std::pair<int, uint64_t>> kinds;
  for (const Trial* const trial : TrialsOf(side, [](const v1::RestartTrial& order) { return order.has_redo(); })) {
    const std::pair<int, uint64_t> kind(trial->order.redo().way(), trial->order.redo().record_bytes());
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  for (const auto& [way, record_bytes] : kinds) {
    v1::RestartRedoReport& redo = *report.add_redo();
    redo.set_way(static_cast<v1::RestartRedoWay>(way));
    redo.set_message_size_bytes(record_bytes - std::min(record_bytes, kPutRecordBytes));
    std::map<uint64_t, std::vector<const Trial*>> by_records;
    std::vector<LinePoint> points;
    uint64_t records = 0;
    uint64_t calls = 0;
    for (const Trial* const trial : TrialsOf(side, [&](const v1::RestartTrial& order) {
           return order.has_redo() && order.redo().way() == way && order.redo().record_bytes() == record_bytes;
         })) {
      by_records[trial->order.redo().records()].push_back(trial);
      points.push_back({static_cast<double>(trial->order.redo().records()), ElapsedSeconds(trial->done)});
      records += trial->order.redo().records();
      calls += QueueCalls(trial->done);
    }
    redo.set_calls_per_record(static_cast<double>(calls) / static_cast<double>(std::max<uint64_t>(records, 1)));
    for (const auto& [count, trials] : by_records) {
      v1::RestartPoint& point = *redo.add_points();
      point.set_records(count);
      std::vector<double> seconds;
      std::vector<double> log_seconds;
      std::vector<double> queue_seconds;
      for (const Trial* const trial : trials) {
        seconds.push_back(ElapsedSeconds(trial->done));
        log_seconds.push_back(SecondsOf(trial->done.log_reads().sum_ns()));
        queue_seconds.push_back(SecondsOf(trial->done.queue_reads().sum_ns() + trial->done.queue_writes().sum_ns() +
                                          trial->done.flushes().sum_ns()));
      }
      SetTimes(seconds, point);
      point.set_log_seconds(MedianOf(log_seconds));
      point.set_queue_seconds(MedianOf(queue_seconds));
      point.set_log_bytes(trials.front()->done.log_reads().bytes());
      point.set_queue_calls(QueueCalls(trials.front()->done));
    }
    const std::optional<LineFit> fit = FitLine(points);
    if (!fit.has_value()) continue;
    redo.set_slope_us(fit->slope * kUsPerSecond);
    redo.set_intercept_us(fit->intercept * kUsPerSecond);
    redo.set_slope_error_us(fit->slope_half_width * kUsPerSecond);
    redo.set_r_squared(fit->r_squared);
    // A line that may end at zero or below says nothing about the time.
    const double extended = fit->At(static_cast<double>(kExtendedToRecords));
    const double half_width = fit->HalfWidthAt(static_cast<double>(kExtendedToRecords));
    if (extended <= half_width) continue;
    redo.set_extended_seconds(extended);
    redo.set_extended_error_seconds(half_width);
  }
}

void RestartAnalysis::AddLoad(uint32_t side, v1::RestartSide& report) const {
  std::map<std::pair<uint64_t, int>, std::vector<const Trial*>> kinds;
  for (const Trial* const trial : TrialsOf(side, [](const v1::RestartTrial& order) { return order.has_load(); })) {
    kinds[{trial->order.load().bytes_per_queue(), trial->order.load().way()}].push_back(trial);
  }
  for (const auto& [kind, trials] : kinds) {
    v1::RestartLoadReport& load = *report.add_load();
    load.set_way(static_cast<v1::RestartLoadWay>(kind.second));
    load.set_depth(kind.first / std::max<uint64_t>(plan_.restart_time().metadata_bytes(), 1));
    std::vector<double> seconds;
    for (const Trial* const trial : trials) seconds.push_back(ElapsedSeconds(trial->done));
    SetTimes(seconds, load);
    load.set_bytes(trials.front()->done.queue_reads().bytes());
    load.set_calls(trials.front()->done.queue_reads().count());
  }
}

void RestartAnalysis::AddUndo(uint32_t side, v1::RestartSide& report) const {
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, std::vector<const Trial*>> kinds;
  for (const Trial* const trial : TrialsOf(side, [](const v1::RestartTrial& order) { return order.has_undo(); })) {
    const v1::RestartUndo& order = trial->order.undo();
    kinds[{order.message_bytes(), order.messages(), order.transactions()}].push_back(trial);
  }
  for (const auto& [kind, trials] : kinds) {
    v1::RestartUndoReport& undo = *report.add_undo();
    undo.set_message_size_bytes(std::get<0>(kind));
    undo.set_uncommitted(std::get<1>(kind));
    undo.set_transactions(std::get<2>(kind));
    std::vector<double> seconds;
    for (const Trial* const trial : trials) seconds.push_back(ElapsedSeconds(trial->done));
    SetTimes(seconds, undo);
    undo.set_queue_calls(QueueCalls(trials.front()->done));
    undo.set_log_writes(trials.front()->done.log_writes().count());
  }
}

v1::RestartSide RestartAnalysis::SideOf(uint32_t side) const {
  v1::RestartSide report;
  report.set_directory(work_.dirs(static_cast<int>(side)));
  for (const v1::DirectoryDescription& directory : host_.directories()) {
    if (directory.path() != report.directory()) continue;
    report.set_fs_type(directory.fs_type());
    report.set_fs_source(directory.fs_source());
    break;
  }
  AddRedo(side, report);
  AddLoad(side, report);
  AddUndo(side, report);
  const bool buffered = plan_.restart_time().queue_io() == v1::RESTART_QUEUE_IO_BUFFERED;
  bool counted = false;
  bool cold = true;
  for (const Trial* const trial : TrialsOf(side, [](const v1::RestartTrial& order) { return order.has_redo(); })) {
    if (!trial->done.has_storage_read_bytes()) continue;
    counted = true;
    // Pages of queue files are read beside the log: with O_DIRECT every one of them from the storage, too.
    const uint64_t direct_bytes = buffered ? 0 : trial->done.queue_reads().bytes();
    cold = cold && trial->done.storage_read_bytes() >= trial->done.log_reads().bytes() + direct_bytes;
  }
  // Through the page cache, what was read of queue files may stand for what was not read of the log.
  if (counted && (!buffered || !cold)) report.set_cold(cold);
  return report;
}

void RestartAnalysis::Finish(const Timeline& /*timeline*/,
                             const std::function<std::string(uint32_t host)>& /*label_of*/, v1::Report& report,
                             std::vector<std::string>& reasons) {
  v1::RestartReport& restart = *report.mutable_restart_time();
  restart.set_extended_to_records(kExtendedToRecords);
  for (uint32_t side = 0; side < static_cast<uint32_t>(work_.dirs_size()); ++side) *restart.add_sides() = SideOf(side);
  *restart.mutable_real() = plan_.restart_time().real();
  for (const std::string& assumption : AssumptionsOf(plan_)) restart.add_assumptions(assumption);
  for (const auto& [number, trial] : answered_) {
    if (trial.done.code() != 0 || !trial.order.has_redo()) continue;
    v1::RestartMeasurement& measurement = *restart.add_measurements();
    measurement.set_round(trial.round);
    measurement.set_side(trial.order.side());
    measurement.set_way(trial.order.redo().way());
    measurement.set_message_size_bytes(trial.order.redo().record_bytes() -
                                       std::min(trial.order.redo().record_bytes(), kPutRecordBytes));
    measurement.set_records(trial.order.redo().records());
    measurement.set_seconds(ElapsedSeconds(trial.done));
  }
  AddReasons(reasons);
}

void RestartAnalysis::AddReasons(std::vector<std::string>& reasons) const {
  std::map<std::string, size_t> failed;  // by what was wrong
  size_t complete = 0;
  for (const auto& [number, trial] : answered_) {
    if (trial.done.code() == 0) {
      ++complete;
    } else {
      ++failed[trial.done.message()];
    }
  }
  for (const auto& [message, count] : failed) {
    reasons.push_back(absl::StrCat(count == 1 ? "A measurement" : absl::StrCat(count, " measurements"),
                                   " failed: ", SanitizeForTerminal(message), "."));
  }
  if (complete == 0) reasons.emplace_back("Nothing was measured.");
  if (answered_.size() < ordered_.size()) {
    reasons.push_back(absl::StrCat("Of ", ordered_.size(), " measurements, ", answered_.size(), " came to an end."));
  }
}

v1::VerdictReport RestartAnalysis::Judge(const std::vector<std::string>& reasons) const {
  v1::VerdictReport verdict;
  for (const std::string& reason : reasons) verdict.add_reasons(reason);
  verdict.set_outcome(reasons.empty() ? v1::OUTCOME_DONE : v1::OUTCOME_INCONCLUSIVE);
  return verdict;
}

std::unique_ptr<SectionAnalysis> MakeRestartAnalysis(const v1::TestPlan& plan, uint32_t /*rules*/);
std::unique_ptr<SectionAnalysis> MakeRestartAnalysis(const v1::TestPlan& plan, uint32_t /*rules*/) {
  return std::make_unique<RestartAnalysis>(plan);
}

}  // namespace plimsoll
