#include "controller/ha/ha_analysis.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/ha/log_check.h"
#include "controller/plan/criteria.h"

namespace plimsoll {
namespace {

// "88 ms", "13.578 s".
std::string TakeoverTime(int64_t takeover_ns) {
  if (takeover_ns < kNsPerSecond) return FormatLength(takeover_ns / kNsPerMs * kNsPerMs);
  return absl::StrFormat("%.3f s", static_cast<double>(takeover_ns / kNsPerMs) / 1e3);
}

constexpr size_t kLeastFor90 = 100;
constexpr size_t kLeastFor99 = 1'000;

struct PhaseName {
  const char* name;
  bool (v1::HaTakeoverReport::*has)() const;
  const v1::HaSpan& (v1::HaTakeoverReport::*get)() const;
};
constexpr std::array<PhaseName, 8> kPhaseNames = {
    {{"gap", &v1::HaTakeoverReport::has_gap, &v1::HaTakeoverReport::gap},
     {"to_free", &v1::HaTakeoverReport::has_to_free, &v1::HaTakeoverReport::to_free},
     {"free_to_granted", &v1::HaTakeoverReport::has_free_to_granted, &v1::HaTakeoverReport::free_to_granted},
     {"to_granted", &v1::HaTakeoverReport::has_to_granted, &v1::HaTakeoverReport::to_granted},
     {"to_replayed", &v1::HaTakeoverReport::has_to_replayed, &v1::HaTakeoverReport::to_replayed},
     {"to_first_write", &v1::HaTakeoverReport::has_to_first_write, &v1::HaTakeoverReport::to_first_write},
     {"takeover", &v1::HaTakeoverReport::has_takeover, &v1::HaTakeoverReport::takeover},
     {"own", &v1::HaTakeoverReport::has_own, &v1::HaTakeoverReport::own}}};

void AddFindings(const v1::HaFindings& more, v1::HaFindings& sum) {
  sum.set_lost(sum.lost() + more.lost());
  sum.set_missing(sum.missing() + more.missing());
  sum.set_torn(sum.torn() + more.torn());
  sum.set_misplaced(sum.misplaced() + more.misplaced());
  sum.set_overwritten(sum.overwritten() + more.overwritten());
  sum.set_order_broken(sum.order_broken() + more.order_broken());
  sum.set_split_brain(sum.split_brain() + more.split_brain());
  sum.set_late_writers(sum.late_writers() + more.late_writers());
  sum.set_not_released(sum.not_released() + more.not_released());
  sum.set_in_doubt_absent(sum.in_doubt_absent() + more.in_doubt_absent());
  sum.set_in_doubt_present(sum.in_doubt_present() + more.in_doubt_present());
  sum.set_in_doubt_late(sum.in_doubt_late() + more.in_doubt_late());
  sum.set_released_late(sum.released_late() + more.released_late());
}

HaLogShape ShapeOf(const v1::TestPlan& plan) {
  HaLogShape shape;
  shape.block_bytes = plan.block_size_bytes_size() > 0 ? std::max<uint64_t>(plan.block_size_bytes(0), 1) : 4096;
  shape.extent_blocks = std::max<uint64_t>(plan.workload().file_size_bytes() / shape.block_bytes, 1);
  shape.lap_blocks = shape.extent_blocks * std::max<uint32_t>(plan.workload().num_files(), 1);
  return shape;
}

// Nearest rank of sorted values.
int64_t RankOf(const std::vector<int64_t>& sorted, size_t percent) {
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

bool Timed(const v1::HaSpan& a, const v1::HaSpan& b) {
  return std::pair(a.ns(), a.error_ns()) < std::pair(b.ns(), b.error_ns());
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

HaAnalysis::HaAnalysis(const v1::TestPlan& plan) : plan_(plan) {
  for (const std::string& text : plan.criteria()) {
    const auto criterion = ParseHaCriterion(text);
    if (!criterion.ok()) continue;
    const bool below =
        criterion->comparison == HaComparison::kLess || criterion->comparison == HaComparison::kLessOrEqual;
    const bool releases = criterion->metric == HaMetric::kTakeoverMax || criterion->metric == HaMetric::kGapMax ||
                          criterion->metric == HaMetric::kGrantMax;
    if (below && releases) release_limit_ns_ = std::min(release_limit_ns_, criterion->limit);
  }
}

absl::Status HaAnalysis::Take(const v1::JournalRecord& record, const Timeline& timeline) {
  for (const v1::HaLedgerEntry& entry : record.ha().events().events().ledger()) {
    // What was read after a death is late by nature: it narrows no doubt.
    if (entry.recovered() || entry.last_end_ns() < 0 || entry.last_end_ns() > INT64_MAX / 4) continue;
    const auto end = MomentOf(timeline, timeline.ClockOf(record.ha().events().host()), entry.last_end_ns());
    if (end.has_value()) max_window_ns_ = std::max(max_window_ns_, record.time_ns() - end->low_ns);
  }
  const absl::Status taken = facts_.Take(record, timeline);
  pictures_.Take(record, facts_, timeline);
  return taken;
}

void HaAnalysis::Finish(const Timeline& timeline, const std::function<std::string(uint32_t)>& label_of,
                        v1::Report& report, std::vector<std::string>& reasons) {
  v1::HaReport& ha = *report.mutable_ha();
  ha.set_unfenced(plan_.ha().fence() == v1::HA_FENCE_NONE);
  ha.set_max_in_doubt_window_ns(max_window_ns_);
  for (const HaRoundFacts& round : facts_.rounds()) FinishRound(timeline, round, label_of, ha, reasons);
  if (facts_.rounds().empty()) {
    reasons.emplace_back("No round began.");
  } else if (facts_.rounds().size() < plan_.ha().rounds()) {
    reasons.push_back(absl::StrCat("Only ", facts_.rounds().size(), " of ", plan_.ha().rounds(), " rounds ran."));
  }
  for (const auto& [host, refused] : facts_.DirectRefused()) {
    report.add_notes(absl::StrCat(label_of(host), ": O_DIRECT was refused (", refused,
                                  "); what was read back there may come from the host's own cache."));
  }
  const uint32_t qms = plan_.workload().qm() * static_cast<uint32_t>(plan_.ha().pairs_size());
  for (uint32_t qm = 1; qm <= qms; ++qm) FinishQueueManager(timeline, qm, label_of, ha, reasons);
  for (const v1::HaQueueManagerReport& qm : ha.queue_managers()) AddFindings(qm.findings(), total_);
  *ha.mutable_findings() = total_;
  AddPhases(ha);
  pictures_.Finish(facts_, timeline, ha);
}

void HaAnalysis::FinishRound(const Timeline& timeline, const HaRoundFacts& round,
                             const std::function<std::string(uint32_t)>& label_of, v1::HaReport& report,
                             std::vector<std::string>& reasons) {
  v1::HaRoundReport& line = *report.add_rounds();
  line.set_number(round.begin.round());
  line.set_fault(round.begin.fault());
  *line.mutable_begin() = timeline.ToUtc(round.begin_ns);
  line.set_host(label_of(round.begin.host()));
  for (const std::string& error : round.command_errors) line.add_reasons(error);
  if (round.end.has_value() && !round.end->cut_short().empty()) {
    line.set_cut_short(round.end->cut_short());
    line.add_reasons(round.end->cut_short());
  }
  const int64_t hang_ns = plan_.ha().server_lease_ns() + 2 * plan_.ha().lock_poll_ns();
  for (const v1::HaRoundQueueManager& qm : round.begin.queue_managers()) {
    HaJudgedTakeover judged = JudgeTakeover(timeline, facts_, round, qm, hang_ns, known_[qm.qm()]);
    for (const auto& [number, host] : {std::pair(qm.active(), true), std::pair(qm.standby(), false)}) {
      const HaInstanceFacts* instance = facts_.Find(number);
      if (instance == nullptr) continue;
      *(host ? judged.report.mutable_old_host() : judged.report.mutable_new_host()) = label_of(instance->host);
    }
    if (judged.report.outcome() == v1::HA_TAKEOVER_OUTCOME_NONE) {
      judged.report.mutable_findings()->set_not_released(1);
      // Of a round that was cut short, for as long as it went on.
      const int64_t limit_ns = plan_.ha().takeover_limit_ns();
      const int64_t waited_ns = judged.at_least_ns < limit_ns ? judged.at_least_ns / kNsPerMs * kNsPerMs : limit_ns;
      not_released_.push_back(absl::StrCat("round ", line.number(), ": the lock of qm", qm.qm(),
                                           " was never released within ", FormatDuration(waited_ns)));
      for (const char* phase : {"takeover", "gap", "to_granted"}) {
        phases_[phase].at_least_ns.push_back(judged.at_least_ns);
      }
    }
    for (const std::string& reason : judged.reasons) line.add_reasons(absl::StrCat("qm", qm.qm(), ": ", reason));
    if (judged.report.outcome() == v1::HA_TAKEOVER_OUTCOME_TAKEN) {
      for (const PhaseName& phase : kPhaseNames) {
        if ((judged.report.*phase.has)()) phases_[phase.name].spans.push_back((judged.report.*phase.get)());
      }
    }
    NoteLateRelease(line.number(), judged.report);
    AddFindings(judged.report.findings(), found_[qm.qm()]);
    if (judged.report.new_instance() != 0) judged_[qm.active()] = qm.standby();
    *line.add_takeovers() = std::move(judged.report);
  }
  for (const std::string& reason : line.reasons()) {
    reasons.push_back(absl::StrCat("Round ", line.number(), ": ", reason, "."));
  }
}

void HaAnalysis::NoteLateRelease(uint32_t round, v1::HaTakeoverReport& takeover) {
  const v1::HaSpan& free = takeover.to_free();
  if (!takeover.has_to_free() || free.ns() - free.error_ns() <= release_limit_ns_) return;
  takeover.mutable_findings()->set_released_late(1);
  released_late_.push_back(absl::StrCat("round ", round, ": the lock of qm", takeover.qm(), " was released late: ",
                                        absl::StrFormat("%.3f s", static_cast<double>(free.ns()) / 1e9),
                                        " after the fault, limit ", FormatDuration(release_limit_ns_)));
}

void HaAnalysis::FinishQueueManager(const Timeline& timeline, uint32_t qm,
                                    const std::function<std::string(uint32_t)>& label_of, v1::HaReport& report,
                                    std::vector<std::string>& reasons) {
  v1::HaQueueManagerReport& line = *report.add_queue_managers();
  line.set_qm(qm);
  v1::HaFindings& findings = *line.mutable_findings();
  findings = found_[qm];
  const bool fenced = !report.unfenced();
  const auto doubt = [&](const std::string& text) { reasons.push_back(absl::StrCat("qm", qm, ": ", text, ".")); };

  std::vector<HaAcknowledged> acknowledged;
  const HaInstanceFacts* before = nullptr;
  bool late = false;
  std::vector<size_t> judged;
  HaReadings readings;
  bool reads_back = false;
  for (const HaInstanceFacts* active : facts_.Actives(qm)) {
    const std::string host = label_of(active->host);
    if (std::find(line.hosts().begin(), line.hosts().end(), host) == line.hosts().end()) line.add_hosts(host);
    line.set_active_instances(line.active_instances() + 1);
    if (before != nullptr) {
      const HaSuccession succession = JudgeSuccession(timeline, facts_, *before, *active);
      if (!succession.unknown.empty()) doubt(succession.unknown);
      if (succession.late_writer) findings.set_late_writers(findings.late_writers() + 1);
      late = late || succession.late_writer;
      if (succession.both_held || (succession.late_writer && fenced)) {
        findings.set_split_brain(findings.split_brain() + 1);
      }
      const std::string who = absl::StrCat("qm", qm, ": instance ", active->number, " on ", host);
      const std::string old = absl::StrCat("instance ", before->number, " on ", label_of(before->host));
      if (succession.both_held) {
        split_brains_.push_back(absl::StrCat(who, " was granted the lock that ", old, " held"));
      } else if (succession.late_writer) {
        late_writers_.push_back(
            absl::StrCat("late write: ", who, " was granted the lock, and ", old, " wrote after that"));
      }
      // What the old one wrote later was acknowledged to nobody who could still rely on it.
      acknowledged.back().last = acknowledged.back().last_before_next =
          AcknowledgedBefore(timeline, *before, *active).last_sequence;
      if (active->replayed.has_value()) {
        acknowledged.back().next_replayed = active->replayed->event.last_sequence();
        const auto takeover = judged_.find(before->number);
        if (takeover != judged_.end() && takeover->second == active->number) judged.push_back(acknowledged.size() - 1);
      }
      readings.Append(ReadBackBefore(timeline, *before, active));
    }
    reads_back = reads_back || (active->writing.has_value() && active->writing->event.reads_back());
    const HaLedger& ledger = active->ledger;
    const bool begins = ledger.entries == 0 ? !active->first_write.has_value()
                                            : active->writing.has_value() &&
                                                  ledger.first_sequence == active->writing->event.first_sequence();
    if (ledger.broken || !begins) doubt(absl::StrCat("the ledger of instance ", active->number, " has a hole"));
    uint64_t last = ledger.last_sequence;
    if (ledger.entries > 0 && active->ended.has_value()) {
      last = std::max(last, active->ended->event.last_sequence());
    }
    acknowledged.push_back({ledger.entries > 0 ? ledger.epoch : 0, ledger.first_sequence, last, last, UINT64_MAX});
    if (ledger.entries > 0) line.set_acknowledged(line.acknowledged() + last - ledger.first_sequence + 1);
    before = active;
  }
  if (line.acknowledged() == 0) doubt("no write was acknowledged");
  if (before != nullptr && EndedByItself(*before)) {
    const std::string& message = before->ended->event.message();
    doubt(absl::StrCat("instance ", before->number, " ended by itself", message.empty() ? "" : ": ", message));
  }

  KnowLostTails(acknowledged, judged, known_[qm]);
  // What was written again by now, then what is still there.
  if (before != nullptr) readings.Append(ReadBackBefore(timeline, *before, nullptr));
  HaLogFindings log;
  if (reads_back) log = CheckReadBack(readings, acknowledged, ShapeOf(plan_), known_[qm]);
  if (!log.unknown.empty()) doubt(log.unknown);
  const HaInstanceFacts* scan = facts_.ScanOf(qm);
  line.set_scanned(scan != nullptr);
  if (scan == nullptr) {
    doubt("its log was not scanned at the end");
  } else {
    const HaLogFindings left = CheckScan(scan->scanned->event, acknowledged, ShapeOf(plan_), known_[qm]);
    if (!left.unknown.empty()) doubt(left.unknown);
    log.Add(left);
  }
  findings.set_missing(findings.missing() + log.missing);
  findings.set_torn(findings.torn() + log.torn);
  findings.set_misplaced(findings.misplaced() + log.misplaced);
  findings.set_overwritten(findings.overwritten() + log.overwritten);
  findings.set_order_broken(findings.order_broken() + log.order_broken);
  findings.set_lost(findings.lost() + log.missing + log.torn + log.misplaced + (fenced ? log.overwritten : 0));
  findings.set_in_doubt_late(findings.in_doubt_late() + log.in_doubt_late);
  if (log.late > 0 && !late) {
    late_writers_.push_back(absl::StrCat("late write: qm", qm, ": the log held ", FormatCount(log.late),
                                         " blocks that an old active instance wrote after the takeover"));
    findings.set_late_writers(findings.late_writers() + 1);
    if (fenced) findings.set_split_brain(findings.split_brain() + 1);
  }
  if (log.in_doubt_over_acknowledged > 0) {
    doubt(
        "the write in flight at a fault landed after the takeover, over a block that the new active instance had "
        "acknowledged");
  }
}

void HaAnalysis::KnowLostTails(const std::vector<HaAcknowledged>& acknowledged, const std::vector<size_t>& judged,
                               std::set<uint64_t>& known) const {
  // Of a damaged journal; what is beyond counts again.
  constexpr size_t kMostKnown = 1'000'000;
  for (const size_t at : judged) {
    const HaAcknowledged& old = acknowledged[at];
    // What was written again since is looked for as any other block.
    uint64_t again = old.next_replayed;
    for (size_t later = at + 1; later < acknowledged.size(); ++later) {
      again = std::max(again, acknowledged[later].last);
    }
    for (uint64_t sequence = again; sequence < old.last && known.size() < kMostKnown; ++sequence) {
      known.insert(sequence + 1);
    }
  }
}

void HaAnalysis::AddPhases(v1::HaReport& report) const {
  for (const PhaseName& name : kPhaseNames) {
    const auto found = phases_.find(name.name);
    if (found == phases_.end() || found->second.spans.empty()) continue;
    std::vector<v1::HaSpan> spans = found->second.spans;
    std::sort(spans.begin(), spans.end(), Timed);
    v1::HaPhaseReport& line = *report.add_phases();
    line.set_phase(name.name);
    line.set_count(spans.size());
    *line.mutable_min() = spans.front();
    *line.mutable_median() = spans[(spans.size() - 1) / 2];
    *line.mutable_max() = spans.back();
    std::vector<int64_t> sorted;
    for (const v1::HaSpan& span : spans) sorted.push_back(span.ns());
    if (sorted.size() >= kLeastFor90) line.set_p90_ns(RankOf(sorted, 90));
    if (sorted.size() >= kLeastFor99) line.set_p99_ns(RankOf(sorted, 99));
  }
}

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
  constexpr size_t kMostProofs = 3;
  std::vector<std::string> proofs;
  switch (static_cast<HaMetric>(metric)) {
    case HaMetric::kLost:
      for (const auto& [count, name] : {std::pair(total_.missing(), "missing"), std::pair(total_.torn(), "torn"),
                                        std::pair(total_.misplaced(), "misplaced"),
                                        std::pair(plan_.ha().fence() == v1::HA_FENCE_NONE ? 0 : total_.overwritten(),
                                                  "overwritten by an old active instance")}) {
        if (count > 0) proofs.push_back(absl::StrCat(FormatCount(count), " ", name));
      }
      return proofs.empty() ? "" : absl::StrCat("acknowledged writes that are lost: ", absl::StrJoin(proofs, ", "));
    case HaMetric::kSplitBrain:
      proofs = split_brains_;
      proofs.insert(proofs.end(), late_writers_.begin(), late_writers_.end());
      break;
    case HaMetric::kLateWriters:
      proofs = late_writers_;
      break;
    case HaMetric::kNotReleased:
    case HaMetric::kTakeoverMax:
    case HaMetric::kTakeoverMedian:
    case HaMetric::kGapMax:
    case HaMetric::kGapMedian:
    case HaMetric::kGrantMax:
      proofs = not_released_;
      proofs.insert(proofs.end(), released_late_.begin(), released_late_.end());
      break;
    default:
      return "";
  }
  const size_t more = proofs.size() - std::min(proofs.size(), kMostProofs);
  proofs.resize(proofs.size() - more);
  return absl::StrCat(absl::StrJoin(proofs, "; "), more > 0 ? absl::StrCat("; and ", more, " more") : "");
}

bool HaAnalysis::ValueOf(int metric, Bounds& value) const {
  const auto count = [&value](uint64_t number) {
    value.low = value.high = static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX));
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
    } else {
      const bool is_time = InfoOf(criterion->metric).is_time;
      const bool open = value.high == INT64_MAX;
      const int64_t shown = open ? value.low : value.low + (value.high - value.low) / 2;
      line.set_outcome(OutcomeOf(*criterion, value.low, value.high));
      line.set_value(static_cast<double>(shown));
      line.set_value_text(is_time ? absl::StrCat(open ? "over " : "", TakeoverTime(shown))
                                  : FormatCount(static_cast<uint64_t>(shown)));
      if (line.outcome() == v1::OUTCOME_FAIL) line.set_reason(ProofOf(static_cast<int>(criterion->metric)));
      if (line.outcome() == v1::OUTCOME_INCONCLUSIVE) {
        line.set_reason(open ? "a takeover was not waited for long enough"
                             : "it lies within the clocks' error of the limit");
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
  if (plan_.ha().fence() == v1::HA_FENCE_NONE && total_.late_writers() > 0) {
    verdict.set_remark(absl::StrCat("unfenced writer: ", total_.late_writers(),
                                    " old active instances wrote after the takeover (--fence none)"));
  }
  return verdict;
}

}  // namespace plimsoll
