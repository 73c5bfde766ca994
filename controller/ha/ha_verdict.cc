// The verdict of a drill: what was found, held against its criteria.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/ha/ha_analysis.h"

namespace plimsoll {
namespace {

// The first few.
std::string SomeOf(const std::vector<std::string>& proofs) {
  constexpr size_t kMostProofs = 3;
  const size_t shown = std::min(proofs.size(), kMostProofs);
  const std::string text = absl::StrJoin(proofs.begin(), proofs.begin() + static_cast<std::ptrdiff_t>(shown), "; ");
  return shown < proofs.size() ? absl::StrCat(text, "; and ", proofs.size() - shown, " more") : text;
}

// What was found of a count, or of the longest time, and may be more; a time that may be 0 within its error.
std::string ValueText(bool is_time, int64_t low, int64_t high) {
  const bool open = high == INT64_MAX;
  if (!is_time) {
    return open && low == 0 ? "" : absl::StrCat(open ? "at least " : "", FormatCount(static_cast<uint64_t>(low)));
  }
  // Bounds stay bounds: what is over the lower one is rounded down, what is below the upper one up.
  if (open) return absl::StrCat("over ", FormatRoundedTime(low / kNsPerMs * kNsPerMs));
  if (low <= 0) {
    return absl::StrCat("at most ",
                        FormatRoundedTime((std::max<int64_t>(high, 1) + kNsPerMs - 1) / kNsPerMs * kNsPerMs));
  }
  return FormatRoundedTime(low + (high - low) / 2);
}

v1::Outcome OutcomeOf(const HaCriterion& criterion, int64_t low, int64_t high) {
  if (criterion.comparison == HaComparison::kEqual) {
    if (low == high && low == criterion.limit) return v1::OUTCOME_PASS;
    return criterion.limit < low || criterion.limit > high ? v1::OUTCOME_FAIL : v1::OUTCOME_INCONCLUSIVE;
  }
  const bool low_holds = Fulfils(criterion, low);
  if (low_holds != Fulfils(criterion, high)) return v1::OUTCOME_INCONCLUSIVE;
  return low_holds ? v1::OUTCOME_PASS : v1::OUTCOME_FAIL;
}

}  // namespace

bool HaAnalysis::PhaseValue(const std::string& name, bool median, Bounds& value) const {
  const auto found = phases_.find(name);
  if (found == phases_.end()) return false;
  std::vector<int64_t> lows = found->second.at_least_ns;
  std::vector<int64_t> highs(found->second.at_least_ns.size(), INT64_MAX);
  for (const v1::HaSpan& span : found->second.spans) {
    lows.push_back(span.ns() - span.error_ns());
    highs.push_back(span.ns() + span.error_ns());
  }
  if (lows.empty()) return false;
  std::sort(lows.begin(), lows.end());
  std::sort(highs.begin(), highs.end());
  const size_t at = median ? (lows.size() - 1) / 2 : lows.size() - 1;
  value = {lows[at], highs[at]};
  return true;
}

std::string HaAnalysis::ProofOf(int metric) const {
  std::vector<std::string> proofs;
  switch (static_cast<HaMetric>(metric)) {
    case HaMetric::kLost:
    case HaMetric::kOverwritten:
      return ProofOfLoss();
    case HaMetric::kSplitBrain:
      proofs = split_brains_;
      proofs.insert(proofs.end(), late_writers_.begin(), late_writers_.end());
      break;
    case HaMetric::kLateWriters:
      proofs = late_writers_;
      break;
    case HaMetric::kNotReleased:
      proofs = not_released_;
      break;
    case HaMetric::kTakeoverMax:
    case HaMetric::kTakeoverMedian:
    case HaMetric::kGapMax:
    case HaMetric::kGapMedian:
    case HaMetric::kGrantMax:
      proofs = not_released_;
      for (const auto* more : {&waited_, &released_late_}) proofs.insert(proofs.end(), more->begin(), more->end());
      break;
    default:
      return "";
  }
  return SomeOf(proofs);
}

std::string HaAnalysis::ProofOfLoss() const {
  std::vector<std::string> kinds;
  for (const auto& [count, name] : {std::pair(total_.missing(), "missing"), std::pair(total_.torn(), "torn"),
                                    std::pair(total_.misplaced(), "misplaced"),
                                    std::pair(total_.overwritten(), "overwritten by an old active instance")}) {
    if (count > 0) kinds.push_back(absl::StrCat(FormatCount(count), " ", name));
  }
  if (kinds.empty()) return "";
  std::string proof = absl::StrCat("acknowledged writes that are lost: ", absl::StrJoin(kinds, ", "));
  if (total_.overwritten_in_flight() > 0) {
    absl::StrAppend(&proof, " (", FormatCount(total_.overwritten_in_flight()),
                    " of them by the write that was in flight at the fault and landed after the takeover)");
  }
  if (overwrites_.empty()) return proof;
  return absl::StrCat(proof, ": ", SomeOf(overwrites_),
                      plan_.ha().fence() == v1::HA_FENCE_NONE
                          ? "; locks on the extents (--fence extents) let the storage refuse such a write"
                          : "; its extents were locked (--fence extents), and the storage or the host released the "
                            "locks before the write was over");
}

const std::string& HaAnalysis::DoubtAbout(int metric) const {
  static const std::string kNone;
  switch (static_cast<HaMetric>(metric)) {
    case HaMetric::kLost:
    case HaMetric::kTorn:
    case HaMetric::kMisplaced:
    case HaMetric::kOverwritten:
    case HaMetric::kOrderBroken:
      return log_doubt_;
    case HaMetric::kSplitBrain:
    case HaMetric::kLateWriters:
      // Blocks in the log prove late writes, too.
      if (!clock_doubt_.empty()) return clock_doubt_;
      return holder_doubt_.empty() ? log_doubt_ : holder_doubt_;
    case HaMetric::kNotReleased:
    case HaMetric::kTakeoverMax:
    case HaMetric::kTakeoverMedian:
    case HaMetric::kGapMax:
    case HaMetric::kGapMedian:
    case HaMetric::kGrantMax:
      return clock_doubt_.empty() ? takeover_doubt_ : clock_doubt_;
    case HaMetric::kReplayMax:
    case HaMetric::kOwnMax:
      return clock_doubt_.empty() ? kNone : clock_doubt_;
    default:
      return kNone;
  }
}

bool HaAnalysis::ValueOf(int metric, Bounds& value) const {
  const auto count = [&](uint64_t number) {
    value.low = static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX));
    value.high = DoubtAbout(metric).empty() ? value.low : INT64_MAX;
    return true;
  };
  switch (static_cast<HaMetric>(metric)) {
    case HaMetric::kLost:
      return count(total_.lost());
    case HaMetric::kTorn:
      return count(total_.torn());
    case HaMetric::kMisplaced:
      return count(total_.misplaced());
    case HaMetric::kOverwritten:
      return count(total_.overwritten());
    case HaMetric::kOrderBroken:
      return count(total_.order_broken());
    case HaMetric::kSplitBrain:
      return count(total_.split_brain());
    case HaMetric::kLateWriters:
      return count(total_.late_writers());
    case HaMetric::kNotReleased:
      return count(total_.not_released());
    case HaMetric::kTakeoverMax:
      return PhaseValue("takeover", false, value);
    case HaMetric::kTakeoverMedian:
      return PhaseValue("takeover", true, value);
    case HaMetric::kGapMax:
      return PhaseValue("gap", false, value);
    case HaMetric::kGapMedian:
      return PhaseValue("gap", true, value);
    case HaMetric::kGrantMax:
      return PhaseValue("to_granted", false, value);
    case HaMetric::kReplayMax:
      return PhaseValue("to_replayed", false, value);
    case HaMetric::kOwnMax:
      return PhaseValue("own", false, value);
  }
  return false;
}

v1::VerdictReport HaAnalysis::Judge(const std::vector<std::string>& reasons) const {
  v1::VerdictReport verdict;
  bool failed = false;
  bool undecided = !reasons.empty();
  for (const std::string& text : plan_.criteria()) {
    v1::CriterionReport& line = *verdict.add_criteria();
    line.set_criterion(text);
    const absl::StatusOr<HaCriterion> criterion = ParseHaCriterion(text);
    Bounds value;
    if (!criterion.ok()) {
      line.set_outcome(v1::OUTCOME_INCONCLUSIVE);
      line.set_reason(std::string(criterion.status().message()));
    } else if (!ValueOf(static_cast<int>(criterion->metric), value)) {
      line.set_outcome(v1::OUTCOME_INCONCLUSIVE);
      line.set_reason(InfoOf(criterion->metric).missing);
    } else if (&DoubtAbout(static_cast<int>(criterion->metric)) == &clock_doubt_) {
      line.set_outcome(v1::OUTCOME_INCONCLUSIVE);
      line.set_reason(clock_doubt_);
    } else {
      const bool is_time = InfoOf(criterion->metric).is_time;
      const bool open = value.high == INT64_MAX;
      line.set_outcome(OutcomeOf(*criterion, value.low, value.high));
      line.set_value(static_cast<double>(open                        ? value.low
                                         : is_time && value.low <= 0 ? std::max<int64_t>(value.high, 0)
                                                                     : value.low + (value.high - value.low) / 2));
      line.set_value_text(ValueText(is_time, value.low, value.high));
      if (line.outcome() == v1::OUTCOME_FAIL) line.set_reason(ProofOf(static_cast<int>(criterion->metric)));
      if (line.outcome() == v1::OUTCOME_INCONCLUSIVE) {
        const std::string& doubt = DoubtAbout(static_cast<int>(criterion->metric));
        line.set_reason(!is_time         ? doubt
                        : !open          ? "it lies within the clocks' error of the limit"
                        : !doubt.empty() ? doubt
                                         : "a takeover was not waited for long enough");
      }
    }
    failed = failed || line.outcome() == v1::OUTCOME_FAIL;
    undecided = undecided || line.outcome() == v1::OUTCOME_INCONCLUSIVE;
  }
  for (const std::string& reason : reasons) verdict.add_reasons(reason);
  verdict.set_outcome(failed                     ? v1::OUTCOME_FAIL
                      : undecided                ? v1::OUTCOME_INCONCLUSIVE
                      : plan_.criteria().empty() ? v1::OUTCOME_DONE
                                                 : v1::OUTCOME_PASS);
  const bool vouched = verdict.outcome() == v1::OUTCOME_PASS || verdict.outcome() == v1::OUTCOME_DONE;
  if (vouched && !shared_kernels_.empty()) verdict.set_scope("on one kernel; locks between hosts not tested");
  if (verdict.outcome() == v1::OUTCOME_PASS && plan_.ha().fence() != v1::HA_FENCE_NONE) {
    verdict.add_warnings(
        "the PASS rests on locks on the log's extents (--fence extents), and it is not known whether MQ locks its "
        "extents; to test without those locks, run a drill with --fence none as well");
  }
  if (plan_.ha().fence() == v1::HA_FENCE_NONE && total_.late_writers() > 0) {
    verdict.set_remark(absl::StrCat("unfenced writer: ", total_.late_writers(),
                                    " old active instances wrote after the takeover (--fence none)"));
  }
  return verdict;
}

std::string HaAnalysis::LastRoundText(const Timeline& timeline) const {
  if (facts_.rounds().empty()) return "";
  std::map<uint32_t, std::set<uint64_t>> known = known_;
  const HaJudgedRound round = judged_rounds_.size() < facts_.rounds().size()
                                  ? JudgeRound(timeline, facts_.rounds().back(), known)
                                  : judged_rounds_.back();
  std::optional<v1::HaSpan> shortest;
  std::optional<v1::HaSpan> longest;
  uint64_t lost = 0;
  std::set<std::string> others;
  for (const v1::HaTakeoverReport& one : round.report.takeovers()) {
    lost += one.findings().lost();
    if (one.outcome() == v1::HA_TAKEOVER_OUTCOME_KEPT) others.insert("no takeover");
    if (one.outcome() == v1::HA_TAKEOVER_OUTCOME_NONE) {
      others.insert(round.report.cut_short().empty() ? "a lock was not released" : "no takeover yet");
    }
    if (one.outcome() == v1::HA_TAKEOVER_OUTCOME_UNWANTED) others.insert("a lock was granted twice");
    if (one.outcome() == v1::HA_TAKEOVER_OUTCOME_UNKNOWN) others.insert("the outcome is not known");
    if (!one.has_gap()) continue;
    if (!shortest.has_value() || IsShorter(one.gap(), *shortest)) shortest = one.gap();
    if (!longest.has_value() || IsShorter(*longest, one.gap())) longest = one.gap();
  }
  std::vector<std::string> parts;
  const auto text = [](const v1::HaSpan& span) {
    return ValueText(true, span.ns() - span.error_ns(), span.ns() + span.error_ns());
  };
  if (longest.has_value()) {
    const bool several = text(*shortest) != text(*longest);
    parts.push_back(absl::StrCat("gap ", text(*shortest), several ? absl::StrCat(" to ", text(*longest)) : ""));
  }
  parts.insert(parts.end(), others.begin(), others.end());
  if (lost > 0) parts.push_back(absl::StrCat(FormatCount(lost), " acknowledged writes lost"));
  if (!round.report.reasons().empty()) parts.push_back(absl::StrCat("inconclusive: ", round.report.reasons(0)));
  return absl::StrCat("round ", round.report.number(), ": ", absl::StrJoin(parts, "; "));
}

}  // namespace plimsoll
