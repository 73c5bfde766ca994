// A step whose frames are folded by age: the report takes what the fold gives out, live views every frame as it comes.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/step_folding.h"

namespace plimsoll {
namespace {

constexpr int64_t kMinuteSeconds = 60;
// Live views show ten minutes at most.
constexpr uint32_t kLiveSeconds = 1'200;

}  // namespace

absl::Status Analyzer::BeginFold(const v1::StepBegin& begin) {
  const StepShape& shape = step_->shape();
  if (!begin.has_fold()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const FoldRules rules,
                            FoldRulesOf(begin.fold(), shape.interval_ns, shape.stall_ns, shape.duration_ns));
  if (section_ || disturb_ || shape.one_pass) return absl::InvalidArgumentError("its kind of run folds no frames");
  if (!fold_) {
    fold_ = std::make_unique<StepFold>(rules, [this](uint32_t host, v1::Frame&& frame) {
      TakeFrame(host, frame, /*may_be_folded=*/true);
      hosts_with_settled_.insert(host);
    });
    live_step_ = std::make_unique<StepStats>(step_->index(), step_->step(), shape, /*keep_seconds=*/false);
    // A step without a second to fold has the report of one without a fold.
    if (shape.duration_ns > rules.whole_seconds * kNsPerSecond) {
      if (!step_->hosts().empty()) return absl::InvalidArgumentError("its frames were not folded from the begin on");
      step_->Fold(static_cast<uint32_t>(rules.whole_seconds), KeepsWriterSeconds(rules.whole_seconds), hosts_);
    }
  }
  ExpectWriters(begin, step_->step(), hosts_, *fold_);
  return live_step_->Begin(begin, hosts_);
}

bool Analyzer::KeepsWriterSeconds(int64_t whole_seconds) const {
  uint64_t scopes = 1;
  for (const auto& [number, facts] : hosts_) scopes += 2 + facts.Blocks(step_->step()).size();
  return scopes * static_cast<uint64_t>(whole_seconds) <= series_rows_;
}

void Analyzer::OnFramesToFold(const v1::HostFrames& frames) {
  const uint32_t host = frames.host();
  const HostFacts& facts = hosts_.at(host);
  for (const v1::Frame& frame : frames.frames()) {
    if (frame.step() != step_->index() || (frame.has_aged() && !frames.settled())) {
      TakeFrame(host, frame, /*may_be_folded=*/false);
      continue;
    }
    const bool shown = live_step_->Host(host, facts).AddFrame(frame, live_step_->guard()).ok();
    if (shown && on_frame_) on_frame_(host, frame);
    if (shown && rows_ && frame.operation() == kMainOperation) rows_->Add(*live_step_, facts, frame);
    if (frames.settled()) {
      fold_->Restore(host, frame);
      TakeFrame(host, frame, /*may_be_folded=*/true);
      hosts_with_settled_.insert(host);
    } else {
      fold_->Take(host, frame);
    }
  }
  for (const uint32_t number : hosts_with_settled_) step_->ClosePassedSeconds(number);
  hosts_with_settled_.clear();
  live_step_->ClosePassedSeconds(host);
  if (const int64_t passed = live_step_->percentiles().passed_seconds(); passed > kLiveSeconds && passed != INT64_MAX) {
    live_step_->ForgetBelow(static_cast<uint32_t>(passed) - kLiveSeconds);
  }
  if (rows_) rows_->GivePassed(*live_step_);
}

absl::Status Analyzer::OnMinutesSettled(const v1::MinutesSettled& settled) {
  PLIMSOLL_RETURN_IF_ERROR(CheckStep(settled.step()));
  if (!fold_) return absl::InvalidArgumentError("the step folds no frames");
  if (settled.settled_seconds() < 0 || settled.settled_seconds() > kMaxSeriesSeconds ||
      settled.settled_seconds() % kMinuteSeconds != 0 || settled.whole_of_hour() < 0) {
    return absl::InvalidArgumentError("a mark that no fold makes");
  }
  fold_->Resume({settled.settled_seconds(), settled.whole_of_hour()});
  return absl::OkStatus();
}

void Analyzer::TakeStepDone(const v1::HostStepDone& done, StepStats& step, bool reported) {
  HostStep& part = step.Host(done.host(), hosts_.at(done.host()));
  for (const v1::WriterTotals& totals : done.done().writers()) {
    const absl::Status taken = part.SetTotals(totals, step.guard());
    if (taken.ok() || !reported) continue;
    part.NoteRefusal(totals.qm());
    Refuse(
        absl::StrCat("totals of ", hosts_.at(done.host()).WriterName(totals.qm()), ": ", std::string(taken.message())));
  }
  part.SetDone(done.done().stopped());
  step.Leave(done.host());
}

void Analyzer::FinishFold() {
  if (!fold_) return;
  fold_->Finish();
  fold_.reset();
  live_step_.reset();
  for (const v1::HostStepDone& done : dones_to_take_) TakeStepDone(done, *step_, true);
  for (const uint32_t host : hosts_to_leave_) step_->Leave(host);
  hosts_with_settled_.clear();
  dones_to_take_.clear();
  hosts_to_leave_.clear();
}

}  // namespace plimsoll
