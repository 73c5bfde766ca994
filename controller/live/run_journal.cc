#include "controller/live/run_journal.h"

#include <algorithm>

#include "common/status_macros.h"
#include "controller/analysis/step_folding.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {

RunJournal::RunJournal(std::unique_ptr<JournalWriter> journal, int64_t seconds_of_file)
    : journal_(std::move(journal)), recent_(*journal_, seconds_of_file), bytes_(journal_->bytes()) {}

absl::Status RunJournal::Append(const v1::JournalRecord& record) {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  failed_ = Keep(record);
  bytes_ = journal_->bytes() + recent_.bytes();
  return failed_;
}

absl::Status RunJournal::Flush() {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  // A reader stops where a record is missing, which frames alone rarely let it notice.
  failed_ = recent_.Flush();
  failed_.Update(journal_->Flush());
  return failed_;
}

void RunJournal::Note(const v1::JournalRecord& record) {
  if (record.has_run_begin()) run_ = record.run_begin();
  if (record.has_host_joined()) hosts_[record.host_joined().host()].joined = record.host_joined();
  if (record.has_host_lost()) hosts_[record.host_lost().host()].lost = record.host_lost();
}

absl::Status RunJournal::Keep(const v1::JournalRecord& record) {
  Note(record);
  if (record.has_step_end() || record.has_run_end() || record.has_step_ahead()) PLIMSOLL_RETURN_IF_ERROR(EndStep());
  if (record.has_step_begin()) PLIMSOLL_RETURN_IF_ERROR(BeginStep(record.step_begin()));
  if (number_ == 0 && !step_) return journal_->Append(record);
  ++number_;
  time_ns_ = record.time_ns();
  if (step_ && record.has_frames()) {
    PLIMSOLL_RETURN_IF_ERROR(KeepFrames(record));
  } else {
    v1::JournalRecord numbered = record;
    numbered.set_number(number_);
    PLIMSOLL_RETURN_IF_ERROR(journal_->Append(numbered));
  }
  if (step_ && record.has_host_lost()) step_->fold.Leave(record.host_lost().host());
  if (step_ && record.has_step_done() && record.step_done().done().step() == step_->number) {
    step_->fold.Leave(record.step_done().host());
  }
  PLIMSOLL_RETURN_IF_ERROR(GiveOut());
  if (!record.has_run_end()) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(Flush());
  return recent_.Remove();
}

absl::Status RunJournal::BeginStep(const v1::StepBegin& begin) {
  const v1::LogStep* const spec = SpecOf(run_, begin);
  const bool again = step_ && step_->number == begin.step();
  if (!again) PLIMSOLL_RETURN_IF_ERROR(EndStep());
  if (!begin.has_fold() || spec == nullptr) return absl::OkStatus();
  if (!again) {
    const absl::StatusOr<FoldRules> rules =
        FoldRulesOf(begin.fold(), run_.frame_interval_ns(), StallOf(run_.plan()), spec->duration_ns());
    if (!rules.ok()) return absl::OkStatus();
    step_.emplace(begin.step(), *rules, [this](uint32_t host, v1::Frame&& frame) {
      // Others are in the journal already.
      if (WaitsToBeFolded(frame, step_->rules)) step_->given_out.emplace_back(host, std::move(frame));
    });
    step_->fold.OnMinute([this](const StepFold::Mark& mark) { step_->mark = mark; });
  }
  ExpectWriters(begin, *spec, hosts_, step_->fold);
  return absl::OkStatus();
}

absl::Status RunJournal::EndStep() {
  if (!step_) return absl::OkStatus();
  step_->fold.Finish();
  // A step that ended before there was anything to fold has no mark.
  if (recent_.settled() && step_->given_out.empty()) step_->mark.reset();
  PLIMSOLL_RETURN_IF_ERROR(GiveOut());
  step_.reset();
  return recent_.Clear();
}

absl::Status RunJournal::KeepFrames(const v1::JournalRecord& record) {
  v1::JournalRecord waiting;
  v1::JournalRecord others;
  const v1::HostFrames& frames = record.frames();
  int64_t last_second = 0;
  for (v1::JournalRecord* const part : {&waiting, &others}) {
    part->set_time_ns(record.time_ns());
    part->set_number(number_);
    part->mutable_frames()->set_host(frames.host());
  }
  if (frames.has_sample()) *others.mutable_frames()->mutable_sample() = frames.sample();
  for (const v1::Frame& frame : frames.frames()) {
    const bool folds = GoesToFold(frame, step_->number);
    if (folds && WaitsToBeFolded(frame, step_->rules)) {
      *waiting.mutable_frames()->add_frames() = frame;
      last_second = std::max(last_second, SecondOf(frame, step_->rules));
    } else {
      *others.mutable_frames()->add_frames() = frame;
    }
  }
  const bool any_waiting = !waiting.frames().frames().empty();
  const bool any_others = !others.frames().frames().empty() || others.frames().has_sample() || !any_waiting;
  waiting.mutable_frames()->set_split(any_waiting && any_others);
  others.mutable_frames()->set_split(any_waiting && any_others);
  if (any_waiting) PLIMSOLL_RETURN_IF_ERROR(recent_.Append(waiting, last_second));
  if (any_others) PLIMSOLL_RETURN_IF_ERROR(journal_->Append(others));
  for (const v1::Frame& frame : frames.frames()) {
    if (GoesToFold(frame, step_->number)) step_->fold.Take(frames.host(), frame);
  }
  return absl::OkStatus();
}

absl::Status RunJournal::GiveOut() {
  if (!step_ || !step_->mark) return absl::OkStatus();
  const StepFold::Mark mark = *std::exchange(step_->mark, std::nullopt);
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t waiting_records, recent_.Settle(mark.settled_seconds));
  v1::JournalRecord settled;
  settled.set_time_ns(time_ns_);
  settled.set_number(number_);
  std::vector<std::pair<uint32_t, v1::Frame>> later;
  for (auto& [host, frame] : step_->given_out) {
    if (SecondOf(frame, step_->rules) >= mark.settled_seconds) {
      later.emplace_back(host, std::move(frame));
      continue;
    }
    settled.mutable_frames()->set_host(host);
    settled.mutable_frames()->set_settled(true);
    settled.mutable_frames()->clear_frames();
    *settled.mutable_frames()->add_frames() = std::move(frame);
    PLIMSOLL_RETURN_IF_ERROR(journal_->Append(settled));
  }
  step_->given_out = std::move(later);
  v1::JournalRecord record;
  record.set_time_ns(time_ns_);
  record.set_number(number_);
  record.mutable_minutes_settled()->set_step(step_->number);
  record.mutable_minutes_settled()->set_settled_seconds(mark.settled_seconds);
  record.mutable_minutes_settled()->set_whole_of_hour(mark.whole_of_hour);
  record.mutable_minutes_settled()->set_waiting_records(waiting_records);
  return journal_->Append(record);
}

}  // namespace plimsoll
