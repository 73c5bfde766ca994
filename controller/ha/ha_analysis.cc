#include "controller/ha/ha_analysis.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/ha/log_check.h"

namespace plimsoll {
namespace {

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
  sum.set_overwritten_in_flight(sum.overwritten_in_flight() + more.overwritten_in_flight());
}

HaLogShape ShapeOf(const v1::TestPlan& plan) {
  HaLogShape shape;
  shape.block_bytes = plan.block_size_bytes_size() > 0 ? std::max<uint64_t>(plan.block_size_bytes(0), 1) : 4096;
  shape.extent_blocks = std::max<uint64_t>(plan.workload().file_size_bytes() / shape.block_bytes, 1);
  shape.lap_blocks = shape.extent_blocks * std::max<uint32_t>(plan.workload().num_files(), 1);
  return shape;
}

// Nearest rank of sorted values.
const v1::HaSpan& RankOf(const std::vector<v1::HaSpan>& sorted, size_t percent) {
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

std::string OneKernelText(const HaKernel& first, const HaKernel& second) {
  const bool known = !first.boot_id.empty() && !second.boot_id.empty();
  if (known && first.boot_id != second.boot_id) return "";
  return absl::StrCat(first.label, " and ", second.label, known ? " share" : " may share", " one kernel");
}

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
  if (record.has_host_joined()) {
    boot_ids_.emplace(record.host_joined().host(), record.host_joined().description().boot_id());
  }
  const absl::Status taken = facts_.Take(record, timeline);
  // A round is over when the next one begins: its old active instances have ended by then, and all that they did is
  // known.
  if (facts_.rounds().size() > 1) JudgeRounds(timeline, facts_.rounds().size() - 1);
  pictures_.Take(record, facts_);
  return taken;
}

void HaAnalysis::JudgeRounds(const Timeline& timeline, size_t rounds) {
  while (judged_rounds_.size() < rounds) {
    const HaRoundFacts& round = facts_.rounds()[judged_rounds_.size()];
    judged_rounds_.push_back(JudgeRound(timeline, round, known_));
    pictures_.Close(round, judged_rounds_.back(), facts_, timeline);
  }
}

void HaAnalysis::Finish(const Timeline& timeline, const std::function<std::string(uint32_t)>& label_of,
                        v1::Report& report, std::vector<std::string>& reasons) {
  v1::HaReport& ha = *report.mutable_ha();
  ha.set_unfenced(plan_.ha().fence() == v1::HA_FENCE_NONE);
  ha.set_max_in_doubt_window_ns(max_window_ns_);
  JudgeRounds(timeline, facts_.rounds().size());
  for (size_t i = 0; i < judged_rounds_.size(); ++i) {
    FinishRound(timeline, facts_.rounds()[i], judged_rounds_[i], label_of, ha, reasons);
  }
  if (facts_.rounds().empty()) {
    reasons.emplace_back("No round began.");
    takeover_doubt_ = "no round began";
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
  pictures_.Finish(ha);
  if (!facts_.rounds().empty()) shared_kernels_ = SharedKernels(label_of);
  if (!shared_kernels_.empty() && !plan_.ha().one_kernel()) {
    reasons.push_back(absl::StrCat(
        shared_kernels_, ": locks between hosts were not tested; --one-kernel judges a trial on one kernel."));
  }
}

HaJudgedRound HaAnalysis::JudgeRound(const Timeline& timeline, const HaRoundFacts& round,
                                     std::map<uint32_t, std::set<uint64_t>>& known) const {
  HaJudgedRound judged;
  v1::HaRoundReport& line = judged.report;
  line.set_number(round.begin.round());
  line.set_fault(round.begin.fault());
  for (const std::string& error : round.command_errors) line.add_reasons(error);
  if (round.end.has_value() && !round.end->cut_short().empty()) {
    line.set_cut_short(round.end->cut_short());
    line.add_reasons(round.end->cut_short());
  }
  const int64_t hang_ns = plan_.ha().server_lease_ns() + 2 * plan_.ha().lock_poll_ns();
  for (const v1::HaRoundQueueManager& qm : round.begin.queue_managers()) {
    HaJudgedTakeover one = JudgeTakeover(timeline, facts_, round, qm, hang_ns, known[qm.qm()]);
    v1::HaFindings& findings = *one.report.mutable_findings();
    if (one.report.outcome() == v1::HA_TAKEOVER_OUTCOME_NONE) {
      // In a round that was cut short it is not known whether the lock would have been released in time.
      if (!line.cut_short().empty() && one.at_least_ns < plan_.ha().takeover_limit_ns()) {
        one.report.set_outcome(v1::HA_TAKEOVER_OUTCOME_UNKNOWN);
      } else {
        findings.set_not_released(1);
      }
    }
    // A lock that was released, but later than the criteria allow a takeover to take.
    const v1::HaSpan& free = one.report.to_free();
    if (one.report.has_to_free() && free.ns() - free.error_ns() > release_limit_ns_) findings.set_released_late(1);
    if (one.succession.has_value()) {
      findings.set_late_writers(one.succession->late_writer ? 1 : 0);
      const bool fenced = plan_.ha().fence() != v1::HA_FENCE_NONE;
      findings.set_split_brain(one.succession->both_held || (one.succession->late_writer && fenced) ? 1 : 0);
    }
    for (const std::string& reason : one.reasons) line.add_reasons(absl::StrCat("qm", qm.qm(), ": ", reason));
    *line.add_takeovers() = one.report;
    judged.takeovers.push_back(std::move(one));
  }
  return judged;
}

void HaAnalysis::FinishRound(const Timeline& timeline, const HaRoundFacts& round, const HaJudgedRound& judged,
                             const std::function<std::string(uint32_t)>& label_of, v1::HaReport& report,
                             std::vector<std::string>& reasons) {
  v1::HaRoundReport& line = *report.add_rounds();
  line = judged.report;
  *line.mutable_begin() = timeline.ToUtc(round.begin_ns);
  line.set_host(label_of(round.begin.host()));
  for (int i = 0; i < line.takeovers_size(); ++i) {
    v1::HaTakeoverReport& takeover = *line.mutable_takeovers(i);
    const v1::HaRoundQueueManager& qm = round.begin.queue_managers(i);
    const HaJudgedTakeover& one = judged.takeovers[static_cast<size_t>(i)];
    for (const auto& [number, host] : {std::pair(qm.active(), true), std::pair(qm.standby(), false)}) {
      const HaInstanceFacts* instance = facts_.Find(number);
      if (instance == nullptr) continue;
      *(host ? takeover.mutable_old_host() : takeover.mutable_new_host()) = label_of(instance->host);
    }
    const std::string lock = absl::StrCat("round ", line.number(), ": the lock of qm", qm.qm());
    if (takeover.findings().not_released() > 0) {
      not_released_.push_back(
          absl::StrCat(lock, " was never released within ", FormatDuration(plan_.ha().takeover_limit_ns())));
    }
    const bool unknown = takeover.outcome() == v1::HA_TAKEOVER_OUTCOME_UNKNOWN;
    if (unknown && one.at_least_ns > 0) {
      waited_.push_back(absl::StrCat(lock, " was not released by the round's end, ",
                                     FormatLength(one.at_least_ns / kNsPerMs * kNsPerMs), " after the fault"));
    }
    const bool taken = takeover.outcome() == v1::HA_TAKEOVER_OUTCOME_TAKEN;
    const bool untimed = taken && !(takeover.has_takeover() && takeover.has_gap() && takeover.has_to_granted());
    for (const auto& [phase, has] :
         {std::pair("takeover", takeover.has_takeover()), std::pair("gap", takeover.has_gap()),
          std::pair("to_granted", takeover.has_to_granted())}) {
      if (takeover.findings().not_released() > 0 || unknown || (taken && !has)) {
        phases_[phase].at_least_ns.push_back(one.at_least_ns);
      }
    }
    if (takeover.findings().released_late() > 0) {
      released_late_.push_back(absl::StrCat(
          lock, " was released late: ", absl::StrFormat("%.3f s", static_cast<double>(takeover.to_free().ns()) / 1e9),
          " after the fault, limit ", FormatDuration(release_limit_ns_)));
    }
    if (taken) {
      for (const PhaseName& phase : kPhaseNames) {
        if ((takeover.*phase.has)()) phases_[phase.name].spans.push_back((takeover.*phase.get)());
      }
    }
    if (one.succession.has_value()) taken_in_[{qm.active(), qm.standby()}] = {report.rounds_size() - 1, i};
    const auto doubt = [&](const std::string& text, std::string& first) {
      if (!text.empty() && first.empty()) first = absl::StrCat("round ", line.number(), ": qm", qm.qm(), ": ", text);
    };
    doubt(one.log_doubt, log_doubt_);
    if (unknown || untimed) {
      doubt(one.reasons.empty() ? "the round was cut short before the lock was released" : one.reasons.front(),
            takeover_doubt_);
    }
    if (one.succession.has_value()) doubt(one.succession->unknown, holder_doubt_);
    AddFindings(takeover.findings(), found_[qm.qm()]);
  }
  for (const std::string& reason : line.reasons()) {
    reasons.push_back(absl::StrCat("Round ", line.number(), ": ", reason, "."));
  }
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
  const auto doubt_first = [&](const std::string& text, std::string& first) {
    doubt(text);
    if (first.empty()) first = absl::StrCat("qm", qm, ": ", text);
  };
  const auto log_doubt = [&](const std::string& text) { doubt_first(text, log_doubt_); };
  const auto holder_doubt = [&](const std::string& text) { doubt_first(text, holder_doubt_); };

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
      const auto place = taken_in_.find({before->number, active->number});
      const HaJudgedTakeover* takeover = nullptr;
      if (place != taken_in_.end()) {
        takeover = &judged_rounds_[static_cast<size_t>(place->second.round)]
                        .takeovers[static_cast<size_t>(place->second.takeover)];
      }
      const HaSuccession succession =
          takeover != nullptr ? *takeover->succession : JudgeSuccession(timeline, facts_, *before, *active);
      if (takeover == nullptr) {
        if (!succession.unknown.empty()) holder_doubt(succession.unknown);
        if (succession.late_writer) findings.set_late_writers(findings.late_writers() + 1);
        if (succession.both_held || (succession.late_writer && fenced)) {
          findings.set_split_brain(findings.split_brain() + 1);
        }
      }
      late = late || succession.late_writer;
      const std::string who = absl::StrCat("qm", qm, ": instance ", active->number, " on ", host);
      const std::string old = absl::StrCat("instance ", before->number, " on ", label_of(before->host));
      if (succession.both_held) {
        split_brains_.push_back(absl::StrCat(who, " was granted the lock that ", old, " held"));
      } else if (succession.late_writer) {
        late_writers_.push_back(
            absl::StrCat("late write: ", who, " was granted the lock, and ", old, " wrote after that"));
      }
      // The old instance's later writes were acknowledged to no caller that could still rely on them.
      acknowledged.back().last = acknowledged.back().last_before_next =
          takeover != nullptr ? takeover->report.acknowledged()
                              : AcknowledgedBefore(timeline, *before, *active).last_sequence;
      if (active->replayed.has_value()) {
        acknowledged.back().next_replayed = active->replayed->event.last_sequence();
        if (takeover != nullptr) judged.push_back(acknowledged.size() - 1);
      }
      readings.Append(ReadBackBefore(timeline, *before, active));
    }
    reads_back = reads_back || (active->writing.has_value() && active->writing->event.reads_back());
    const HaLedger& ledger = active->ledger;
    const bool begins = ledger.entries == 0 ? !active->first_write.has_value()
                                            : active->writing.has_value() &&
                                                  ledger.first_sequence == active->writing->event.first_sequence();
    if (ledger.broken || !begins) log_doubt(absl::StrCat("the ledger of instance ", active->number, " has a hole"));
    uint64_t last = ledger.last_sequence;
    if (ledger.entries > 0 && active->ended.has_value()) {
      last = std::max(last, active->ended->event.last_sequence());
    }
    acknowledged.push_back({ledger.entries > 0 ? ledger.epoch : 0, ledger.first_sequence, last, last, UINT64_MAX});
    if (ledger.entries > 0) line.set_acknowledged(line.acknowledged() + last - ledger.first_sequence + 1);
    before = active;
  }
  if (line.acknowledged() == 0) log_doubt("no write was acknowledged");
  if (before != nullptr && EndedByItself(*before)) {
    const std::string& message = before->ended->event.message();
    doubt(absl::StrCat("instance ", before->number, " ended by itself", message.empty() ? "" : ": ", message));
  }

  KnowLostTails(acknowledged, judged, known_[qm]);
  // What was written again by now, then what is still there.
  if (before != nullptr) readings.Append(ReadBackBefore(timeline, *before, nullptr));
  HaLogFindings log;
  if (reads_back) log = CheckReadBack(readings, acknowledged, ShapeOf(plan_), known_[qm]);
  if (!log.unknown.empty()) log_doubt(log.unknown);
  const HaInstanceFacts* scan = facts_.ScanOf(qm);
  line.set_scanned(scan != nullptr);
  if (scan == nullptr) {
    log_doubt("its log was not scanned at the end");
  } else {
    const HaLogFindings left = CheckScan(scan->scanned->event, acknowledged, ShapeOf(plan_), known_[qm]);
    if (!left.unknown.empty()) log_doubt(left.unknown);
    log.Add(left);
  }
  findings.set_missing(findings.missing() + log.missing);
  findings.set_torn(findings.torn() + log.torn);
  findings.set_misplaced(findings.misplaced() + log.misplaced);
  findings.set_overwritten(findings.overwritten() + log.overwritten);
  findings.set_order_broken(findings.order_broken() + log.order_broken);
  findings.set_lost(findings.lost() + log.missing + log.torn + log.misplaced + log.overwritten);
  findings.set_in_doubt_late(findings.in_doubt_late() + log.in_doubt_late);
  if (log.late > 0 && !late) {
    late_writers_.push_back(absl::StrCat("late write: qm", qm, ": the log held ", FormatCount(log.late),
                                         " blocks that an old active instance wrote after the takeover"));
    findings.set_late_writers(findings.late_writers() + 1);
    if (fenced) findings.set_split_brain(findings.split_brain() + 1);
  }
  for (const auto& [epoch, overwrites] : log.overwritten_by) {
    findings.set_overwritten_in_flight(findings.overwritten_in_flight() + overwrites.in_flight);
  }
  NoteOverwrites(qm, log, label_of, report);
}

void HaAnalysis::NoteOverwrites(uint32_t qm, const HaLogFindings& log,
                                const std::function<std::string(uint32_t)>& label_of, v1::HaReport& report) {
  const std::vector<const HaInstanceFacts*> actives = facts_.Actives(qm);
  // The instance of an epoch, and the one that was active after it; null where there is none.
  const auto of_epoch = [&actives](uint32_t epoch) -> std::pair<const HaInstanceFacts*, const HaInstanceFacts*> {
    for (size_t i = 0; i < actives.size(); ++i) {
      if (actives[i]->ledger.epoch == epoch) return {actives[i], i + 1 < actives.size() ? actives[i + 1] : nullptr};
    }
    return {nullptr, nullptr};
  };
  const auto name = [&label_of](const HaInstanceFacts& instance) {
    return absl::StrCat("instance ", instance.number, " on ", label_of(instance.host));
  };
  for (const auto& [epoch, overwrites] : log.overwritten_by) {
    const auto [old, next] = of_epoch(epoch);
    const HaInstanceFacts* const victim = of_epoch(overwrites.first_epoch).first;
    if (old == nullptr || next == nullptr || victim == nullptr) continue;
    std::string where = absl::StrCat("qm", qm);
    if (const auto place = taken_in_.find({old->number, next->number}); place != taken_in_.end()) {
      v1::HaRoundReport& round = *report.mutable_rounds(place->second.round);
      where = absl::StrCat("round ", round.number(), ", ", where);
      v1::HaFindings& findings = *round.mutable_takeovers(place->second.takeover)->mutable_findings();
      findings.set_lost(findings.lost() + overwrites.blocks);
      findings.set_overwritten(findings.overwritten() + overwrites.blocks);
      findings.set_overwritten_in_flight(findings.overwritten_in_flight() + overwrites.in_flight);
    }
    overwrites_.push_back(absl::StrCat(
        where, ": ", name(*old), " overwrote ",
        overwrites.blocks == 1
            ? absl::StrCat("block ", overwrites.first_sequence)
            : absl::StrCat(FormatCount(overwrites.blocks), " blocks from block ", overwrites.first_sequence, " on"),
        ", which ", name(*victim), " had acknowledged"));
  }
}

std::string HaAnalysis::SharedKernels(const std::function<std::string(uint32_t)>& label_of) const {
  constexpr size_t kMostShown = 3;
  std::map<uint32_t, std::set<uint32_t>> hosts;
  for (const auto& [number, instance] : facts_.instances()) hosts[instance.qm].insert(instance.host);
  const auto kernel_of = [&](uint32_t host) {
    const auto found = boot_ids_.find(host);
    return HaKernel{label_of(host), found == boot_ids_.end() ? "" : found->second};
  };
  std::set<std::string> shared;
  for (const auto& [qm, pair] : hosts) {
    const std::string text = OneKernelText(kernel_of(*pair.begin()), kernel_of(*pair.rbegin()));
    if (pair.size() > 1 && !text.empty() && shared.size() < kMostShown) shared.insert(text);
  }
  return absl::StrJoin(shared, "; ");
}

void HaAnalysis::KnowLostTails(const std::vector<HaAcknowledged>& acknowledged, const std::vector<size_t>& judged,
                               std::set<uint64_t>& known) const {
  // Limit for a damaged journal; blocks beyond it count again.
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
    std::sort(spans.begin(), spans.end(), IsShorter);
    v1::HaPhaseReport& line = *report.add_phases();
    line.set_phase(name.name);
    line.set_count(spans.size());
    *line.mutable_min() = spans.front();
    *line.mutable_median() = spans[(spans.size() - 1) / 2];
    *line.mutable_max() = spans.back();
    if (spans.size() >= kLeastFor90) {
      line.set_p90_ns(RankOf(spans, 90).ns());
      line.set_p90_error_ns(RankOf(spans, 90).error_ns());
    }
    if (spans.size() >= kLeastFor99) {
      line.set_p99_ns(RankOf(spans, 99).ns());
      line.set_p99_error_ns(RankOf(spans, 99).error_ns());
    }
  }
}

std::unique_ptr<SectionAnalysis> MakeHaAnalysis(const v1::TestPlan& plan, uint32_t /*rules*/);
std::unique_ptr<SectionAnalysis> MakeHaAnalysis(const v1::TestPlan& plan, uint32_t /*rules*/) {
  return std::make_unique<HaAnalysis>(plan);
}

}  // namespace plimsoll
