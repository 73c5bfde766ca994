#include "controller/run/run_guard.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/criteria/end_time.h"

namespace plimsoll {
namespace {

constexpr int64_t kLookPeriodNs = 250 * kNsPerMs;

// What a condition looks at in a second; nothing: there is nothing to look at.
std::optional<double> ValueOf(const Criterion& criterion, const LiveSecond& second) {
  const bool of_hosts = criterion.scope == CriterionScope::kHost;
  // With one host, the worst is all there is.
  const LiveFigures& figures = of_hosts && !second.worst_host.empty() ? second.worst : second.cluster;
  const auto latency = [&](double latency_ns, int64_t waiting_ns) -> std::optional<double> {
    const double value = std::max(latency_ns, static_cast<double>(waiting_ns));
    return value > 0 ? std::optional(value) : std::nullopt;
  };
  const int64_t waiting_ns = of_hosts || second.cluster.writes == 0 ? second.idle_waiting_ns : 0;
  switch (criterion.metric) {
    case Metric::kMax:
      return latency(static_cast<double>(second.cluster.max_ns), second.waiting_ns);
    case Metric::kAverage:
      return latency(figures.avg_ns, waiting_ns);
    case Metric::kWritesPerSecond:
      return figures.iops;
    case Metric::kBytesPerSecond:
      return figures.mb_per_second * kBytesPerMegabyte;
    default:
      break;
  }
  constexpr double kMedian = 50;
  constexpr double k99 = 99;
  const uint64_t percentile_ns = criterion.percentile == kMedian ? figures.p50_ns
                                 : criterion.percentile == k99   ? figures.p99_ns
                                                                 : figures.p99_9_ns;
  return latency(static_cast<double>(percentile_ns), waiting_ns);
}

std::string ValueText(const Criterion& criterion, double value) {
  switch (criterion.metric) {
    case Metric::kWritesPerSecond:
      return absl::StrFormat("%.1f/s", value);
    case Metric::kBytesPerSecond:
      return absl::StrFormat("%.3f MB/s", value / kBytesPerMegabyte);
    default:
      return absl::StrFormat("%.3f ms", value / static_cast<double>(kNsPerMs));
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<RunGuard>> RunGuard::Make(const v1::TestPlan& plan, const Clock& clock) {
  if (plan.abort_if().empty() && !plan.has_end_by() && !plan.has_journal_limit_bytes()) {
    return std::shared_ptr<RunGuard>();
  }
  std::vector<AbortCondition> conditions;
  for (const std::string& text : plan.abort_if()) {
    PLIMSOLL_ASSIGN_OR_RETURN(AbortCondition condition, ParseAbortCondition(text));
    conditions.push_back(std::move(condition));
  }
  std::optional<End> end;
  if (plan.has_end_by()) {
    const WallNs now = clock.WallNow();
    PLIMSOLL_ASSIGN_OR_RETURN(const WallNs moment, ParseEndTime(plan.end_by(), now));
    end = End{clock.Now() + (moment.value - now.value), EndTimeText(moment)};
  }
  return std::make_shared<RunGuard>(std::move(conditions), std::move(end));
}

std::string RunGuard::MustStop(MonotonicNs now) {
  if (reason_.empty()) reason_ = ReasonNow(now);
  return reason_;
}

std::string RunGuard::ReasonNow(MonotonicNs now) const {
  if (end_.has_value() && now >= end_->moment - kCleanUpReserveNs) {
    return absl::StrCat("--end-by: its files have to be removed by ", end_->text);
  }
  if (!conditions_.empty() && waiting_since_.has_value() && now - *waiting_since_ > kGuardBlindNs) {
    return absl::StrCat("--abort-if: there were no complete figures for more than ",
                        FormatReadableDuration(kGuardBlindNs), ", so that nothing guarded the storage");
  }
  for (const auto& other : others_) {
    if (std::string why = other(now); !why.empty()) return why;
  }
  return "";
}

std::string RunGuard::MayNotBegin(int64_t length_ns, MonotonicNs now) const {
  if (!end_.has_value() || now + length_ns <= end_->moment - kCleanUpReserveNs) return "";
  return absl::StrCat("--end-by: ", FormatReadableDuration(length_ns), " and ",
                      FormatReadableDuration(kCleanUpReserveNs), " for removing files do not fit in before ",
                      end_->text);
}

std::vector<std::string> RunGuard::Notes(MonotonicNs now) const {
  std::vector<std::string> notes;
  if (end_.has_value() && now > end_->moment) {
    notes.push_back(absl::StrFormat("--end-by: the files were removed %.1f s after %s.",
                                    static_cast<double>(now - end_->moment) / kNsPerSecond, end_->text));
  }
  for (const auto& note : notes_) {
    if (std::string text = note(); !text.empty()) notes.push_back(std::move(text));
  }
  return notes;
}

LiveWant RunGuard::Wants(LivePhase /*phase*/) const {
  return conditions_.empty() ? LiveWant{} : LiveWant{kLookPeriodNs, LiveNeed::kFigures};
}

void RunGuard::OnMoment(const std::shared_ptr<const LiveMoment>& moment) {
  if (moment->phase == LivePhase::kStarting && moment->begins) {
    step_ = moment->view.now.step;
    second_ = -1;
    waiting_since_ = moment->now;
    std::fill(runs_.begin(), runs_.end(), Run());
    return;
  }
  if (moment->phase != LivePhase::kRunning) {
    waiting_since_.reset();
    return;
  }
  for (const LiveSecond& second : moment->view.seconds) {
    if (second.number <= second_) continue;
    second_ = second.number;
    waiting_since_ = moment->now;
    Look(second, moment->view.now.step);
  }
}

void RunGuard::Look(const LiveSecond& second, uint32_t step) {
  for (size_t i = 0; i < conditions_.size(); ++i) {
    const AbortCondition& condition = conditions_[i];
    Run& run = runs_[i];
    const std::optional<double> value = ValueOf(condition.criterion, second);
    if (!value.has_value()) continue;
    if (!Fulfils(condition.criterion, *value)) {
      run = {};
      continue;
    }
    run.least = run.seconds == 0 ? *value : std::min(run.least, *value);
    run.most = std::max(run.most, *value);
    if (++run.seconds < condition.seconds || !reason_.empty()) continue;
    const std::string least = ValueText(condition.criterion, run.least);
    const std::string most = ValueText(condition.criterion, run.most);
    const bool waits = static_cast<double>(second.waiting_ns) >= *value && !WantsSmall(condition.criterion);
    reason_ = absl::StrCat(
        "--abort-if '", condition.text, "': ", least == most ? most : absl::StrCat(least, " to ", most), " in ",
        condition.seconds == 1 ? "a second" : absl::StrCat(condition.seconds, " seconds in a row"), ", up to second ",
        second.end_ns / kNsPerSecond, second.warmup ? " of the warm-up" : "", " of step ", step,
        waits ? absl::StrCat("; a write of ", second.waiting_writer, " had not returned") : "");
  }
}

}  // namespace plimsoll
