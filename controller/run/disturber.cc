#include "controller/run/disturber.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kPollDisturbanceNs = 20 * kNsPerMs;
constexpr MonotonicNs kNoUpdate{INT64_MAX};

const char* CommandWord(bool undo) {
  return undo ? "undo" : "do";
}

// Whether a program that could not be started may be there, and this machine or its storage be short of something.
bool MayStartLater(const absl::Status& status) {
  return !absl::IsNotFound(status) && !absl::IsPermissionDenied(status) && !absl::IsInvalidArgument(status);
}

}  // namespace

std::string Disturber::Name() const {
  return absl::StrCat("disturbance ", Quoted(SanitizeForTerminal(current().name())));
}

void Disturber::Begin(MonotonicNs start, MonotonicNs end) {
  start_ = start;
  end_ = end;
}

void Disturber::Finish() {
  if (!std::exchange(finishing_, true) && phase_ == Phase::kDoing && !current().undo().empty()) {
    options_.say(absl::StrCat(Name(), ": undo follows as soon as do has ended"));
  }
}

MonotonicNs Disturber::next_update() const {
  switch (phase_) {
    case Phase::kDoing:
    case Phase::kUndoing:
      return std::min(next_poll_, deadline_);
    case Phase::kHolding:
      return finishing_ ? MonotonicNs{0} : std::min(hold_until_, end_);
    case Phase::kWaiting:
      break;
  }
  if (start_ == kNoUpdate || finishing_ || next_ == options_.plan.disturb_size()) return kNoUpdate;
  return start_ + current().at_ns();
}

void Disturber::Update(MonotonicNs now) {
  if (now >= end_) finishing_ = true;
  if (now < next_update()) return;
  if (phase_ == Phase::kWaiting || phase_ == Phase::kHolding) {
    if (!Start(/*undo=*/phase_ == Phase::kHolding)) Next();
    return;
  }
  next_poll_ = now + kPollDisturbanceNs;
  if (running_ == nullptr) {
    if (!TryStart()) Next();
    return;
  }
  if (const std::optional<std::string> ended = running_->Poll(); ended.has_value()) {
    End(*ended);
  } else if (now >= deadline_) {
    Kill();
    End(absl::StrCat("killed after ", FormatReadableDuration(current().command_limit_ns()), " (command_limit)"));
  } else {
    return;
  }
  if (phase_ == Phase::kDoing && !current().undo().empty()) {
    phase_ = Phase::kHolding;
    hold_until_ = now + current().hold_ns();
  } else {
    Next();
  }
}

bool Disturber::Start(bool undo) {
  const auto& list = undo ? current().undo() : current().do_();
  const std::vector<std::string> arguments(list.begin(), list.end());
  v1::JournalRecord record;
  v1::DisturbCommand& begun = *record.mutable_disturb()->mutable_command();
  begun.set_disturbance(static_cast<uint32_t>(next_));
  begun.set_undo(undo);
  begun.mutable_arguments()->Assign(arguments.begin(), arguments.end());
  options_.log->Append(std::move(record));
  phase_ = undo ? Phase::kUndoing : Phase::kDoing;
  deadline_ = options_.clock->Now() + current().command_limit_ns();
  return TryStart();
}

bool Disturber::TryStart() {
  const bool undo = phase_ == Phase::kUndoing;
  const auto& list = undo ? current().undo() : current().do_();
  absl::StatusOr<std::unique_ptr<RunningCommand>> running = options_.commands->Start({list.begin(), list.end()});
  started_ = options_.clock->Now();
  next_poll_ = started_ + kPollDisturbanceNs;
  if (!running.ok()) {
    if (undo && !left_ && started_ < deadline_ && MayStartLater(running.status())) return true;
    End(std::string(running.status().message()));
    return false;
  }
  running_ = *std::move(running);
  deadline_ = started_ + current().command_limit_ns();
  options_.say(absl::StrCat(Name(), ": ", CommandWord(undo), " started"));
  return true;
}

void Disturber::End(const std::string& error) {
  const bool undo = phase_ == Phase::kUndoing;
  v1::JournalRecord record;
  v1::DisturbCommandDone& done = *record.mutable_disturb()->mutable_command_done();
  done.set_disturbance(static_cast<uint32_t>(next_));
  done.set_undo(undo);
  done.set_exit_code(running_ == nullptr ? -1 : running_->exit_code());
  done.set_error(error);
  options_.log->Append(std::move(record));
  running_.reset();
  if (error.empty()) {
    const int64_t took_ns = (options_.clock->Now() - started_) / kNsPerMs * kNsPerMs;
    options_.say(absl::StrCat(Name(), ": ", CommandWord(undo), " ended after ", FormatDuration(took_ns)));
    return;
  }
  const auto& list = undo ? current().undo() : current().do_();
  if (undo) {
    not_undone_.push_back(absl::StrCat("not undone: run by hand: ",
                                       absl::StrJoin(list, " ",
                                                     [](std::string* line, const std::string& argument) {
                                                       absl::StrAppend(line, ShellQuoted(argument));
                                                     }),
                                       " (disturbance ", Quoted(current().name()), ", undo: ", error, ")"));
    options_.log->Note(not_undone_.back());
  }
  options_.feed->Warn(absl::StrCat(Name(), ": ", CommandWord(undo), " failed: ",
                                   SanitizeForTerminal(absl::StrCat(absl::StrJoin(list, " "), ": ", error))));
}

void Disturber::Kill() {
  running_->Kill();
  running_->Leave();
}

void Disturber::Next() {
  phase_ = Phase::kWaiting;
  ++next_;
}

Disturber::~Disturber() {
  try {
    Leave();
  } catch (...) {  // NOLINT(bugprone-empty-catch): another one is under way already
  }
}

int64_t Disturber::AfterStepNs(const v1::TestPlan& plan) {
  int64_t longest_ns = 0;
  // A `do` that has just begun, and its `undo`: nothing else is started by then.
  for (const v1::Disturbance& one : plan.disturb())
    longest_ns = std::max(longest_ns, one.command_limit_ns() * (one.undo().empty() ? 1 : 2));
  return longest_ns;
}

void Disturber::Leave() {
  if (std::exchange(left_, true)) return;
  if (phase_ == Phase::kDoing) {
    Kill();
    End("killed: interrupted");
    if (current().undo().empty()) return Next();
    phase_ = Phase::kHolding;
  }
  if (phase_ == Phase::kHolding && !Start(/*undo=*/true)) return Next();
  if (phase_ != Phase::kUndoing) return;
  if (running_ == nullptr && !TryStart()) return Next();
  running_->Leave();
  options_.feed->Warn(absl::StrCat(Name(), ": undo was started and runs on; nothing waits for its end"));
}

}  // namespace plimsoll
