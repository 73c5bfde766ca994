#include "controller/accept/accept_outage.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/integers.h"
#include "common/units.h"
#include "controller/accept/accept_parts.h"
#include "controller/plan/ha_plan.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

constexpr char kNotStarted[] = "was not started";

double SecondsOf(int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerSecond);
}

// The longest one so far, or this one.
void TakeLongest(double seconds, v1::AcceptOutage& outage) {
  outage.set_longest_seconds(std::max(outage.longest_seconds(), seconds));
}

// Names of the disturbances; a name that was used before has its number in the list behind it.
std::vector<std::string> DisturbanceNames(const v1::DisturbReport& disturb) {
  std::vector<std::string> names;
  for (const v1::DisturbanceReport& each : disturb.disturbances()) {
    const bool used = std::ranges::find(names, each.name()) != names.end();
    names.push_back(used ? absl::StrCat(each.name(), " (", names.size() + 1, ")") : each.name());
  }
  return names;
}

// What keeps the disturbances, and what was read back, from showing that the storage held.
std::vector<std::string> DisturbanceDoubts(const v1::Report& found) {
  const v1::DisturbReport& disturb = found.disturb();
  std::vector<std::string> doubts;
  const auto begun = std::ranges::count_if(disturb.disturbances(), &v1::DisturbanceReport::has_do_);
  if (begun == 0 || begun < found.plan().disturb_size()) {
    doubts.push_back(absl::StrCat("only ", begun, " of ",
                                  Counted(static_cast<size_t>(found.plan().disturb_size()), "disturbance"),
                                  " began while the load ran"));
  }
  for (int i = 0; i < std::min(disturb.disturbances_size(), found.plan().disturb_size()); ++i) {
    if (found.plan().disturb(i).undo().empty() || disturb.disturbances(i).has_undo()) continue;
    doubts.push_back(absl::StrCat(disturb.disturbances(i).name(), " was not undone"));
  }
  for (const v1::DisturbanceReport& each : disturb.disturbances()) {
    if (!each.do_().error().empty()) doubts.push_back(absl::StrCat(each.name(), ": do: ", each.do_().error()));
    if (!each.undo().error().empty()) doubts.push_back(absl::StrCat(each.name(), ": undo: ", each.undo().error()));
    if (each.failed_writers() > 0) {
      doubts.push_back(absl::StrCat(each.name(), ": ", Counted(each.failed_writers(), "queue manager"),
                                    " ended with an error of the storage"));
    }
    if (each.pause_open()) {
      doubts.push_back(absl::StrCat(each.name(), ": a write did not end; the longest pause is at least ",
                                    SecondsText(SecondsOf(each.longest_pause_ns()))));
    }
  }
  if (disturb.read_back().empty() || disturb.read_back_size() < found.hosts_size()) {
    doubts.push_back(absl::StrCat("acknowledged writes were read back on ", disturb.read_back_size(), " of ",
                                  Counted(static_cast<size_t>(found.hosts_size()), "host")));
  }
  uint64_t doubtful_blocks = 0;
  for (const v1::HostReadBackReport& host : disturb.read_back()) {
    if (!host.error().empty())
      doubts.push_back(absl::StrCat("acknowledged writes were not all read back: ", host.error()));
    for (const v1::WriterReadBack& writer : host.writers()) {
      doubtful_blocks = SaturatingAdd(doubtful_blocks, writer.altered() + writer.unreadable());
    }
  }
  if (doubtful_blocks > 0) {
    doubts.push_back(absl::StrCat(Counted(doubtful_blocks, "block"),
                                  " of the logs could not be read, or changed without a write of the load"));
  }
  return doubts;
}

// Acknowledged writes that are not there: the last ones of their blocks.
uint64_t LostWrites(const v1::DisturbReport& disturb) {
  uint64_t lost = 0;
  for (const v1::HostReadBackReport& host : disturb.read_back()) {
    for (const v1::WriterReadBack& writer : host.writers()) {
      lost = SaturatingAdd(lost, writer.lost() + writer.torn() + writer.foreign());
    }
  }
  return lost;
}

}  // namespace

std::string SecondsText(double seconds) {
  return absl::StrFormat("%.3f s", seconds);
}

std::string OutageText(const v1::AcceptOutage& outage) {
  return absl::StrCat(outage.open() ? "more than " : "at most ", SecondsText(outage.longest_seconds()));
}

std::string RecoveryText(const v1::AcceptOutage& outage) {
  if (outage.recovery_unknown()) return "when the load was as before is not known";
  if (!outage.has_recovery_seconds()) return "not as before";
  if (outage.recovery_seconds() <= 0) return "as before all the time";
  return absl::StrFormat("as before after %.1f s", outage.recovery_seconds());
}

std::string LostWritesText(const v1::AcceptRun& run) {
  if (!run.has_acknowledged_writes()) return "";
  const bool all = !run.has_looked_for_writes() || run.looked_for_writes() >= run.acknowledged_writes();
  return absl::StrCat(FormatCount(run.lost_writes()), " of ",
                      all ? "" : absl::StrCat("the last ", FormatCount(run.looked_for_writes()), " of "),
                      FormatCount(run.acknowledged_writes()), " acknowledged writes lost");
}

std::string DisturbanceText(const v1::AcceptOutage& outage) {
  if (outage.count() == 0) return absl::StrCat(outage.cause(), ": ", kNotStarted);
  return absl::StrCat(outage.cause(), ": ", OutageText(outage), ", ", RecoveryText(outage));
}

void AddDrillOutages(const v1::Report& found, v1::AcceptRun& run) {
  run.clear_outages();
  // In the order of the kinds.
  std::map<v1::HaFaultKind, v1::AcceptOutage> by_fault;
  for (const v1::HaRoundReport& round : found.ha().rounds()) {
    for (const v1::HaTakeoverReport& takeover : round.takeovers()) {
      const bool none = takeover.outcome() == v1::HA_TAKEOVER_OUTCOME_NONE;
      if (!takeover.has_gap() && !none) continue;
      v1::AcceptOutage& outage = by_fault[round.fault()];
      outage.set_cause(HaFaultWord(round.fault()));
      outage.set_count(outage.count() + 1);
      if (none) outage.set_open(true);
      if (takeover.has_gap()) TakeLongest(SecondsOf(takeover.gap().ns() + takeover.gap().error_ns()), outage);
    }
  }
  for (const auto& [fault, outage] : by_fault) *run.add_outages() = outage;
  uint64_t acknowledged = 0;
  bool scanned = !found.ha().queue_managers().empty();
  for (const v1::HaQueueManagerReport& queue_manager : found.ha().queue_managers()) {
    acknowledged += queue_manager.acknowledged();
    scanned = scanned && queue_manager.scanned();
  }
  if (!scanned) return;
  run.set_acknowledged_writes(acknowledged);
  run.set_lost_writes(found.ha().findings().lost());
}

void AddDisturbOutages(const v1::Report& found, v1::AcceptRun& run, std::vector<std::string>& shown,
                       v1::AcceptReport& report) {
  const v1::DisturbReport& disturb = found.disturb();
  const std::vector<std::string> names = DisturbanceNames(disturb);
  run.clear_outages();
  for (int i = 0; i < disturb.disturbances_size(); ++i) {
    const v1::DisturbanceReport& each = disturb.disturbances(i);
    const std::string& name = names[static_cast<size_t>(i)];
    v1::AcceptOutage& outage = *run.add_outages();
    outage.set_cause(name);
    if (!each.has_do_()) {
      shown.push_back(absl::StrCat(name, ": ", kNotStarted));
      continue;
    }
    outage.set_count(1);
    TakeLongest(SecondsOf(each.longest_pause_ns()), outage);
    outage.set_open(each.pause_open());
    AddFigure(run, absl::StrCat("longest pause, ", name), "s", outage.longest_seconds(), report);
    std::string text = absl::StrCat(name, ": ", each.pause_open() ? "paused for more than " : "longest pause ",
                                    SecondsText(outage.longest_seconds()));
    if (each.has_recovery_ns()) {
      outage.set_recovery_seconds(SecondsOf(each.recovery_ns()));
      AddFigure(run, absl::StrCat("as before after, ", name), "s", outage.recovery_seconds(), report);
      absl::StrAppend(&text, ", ", RecoveryText(outage));
    } else if (each.has_recovery_unknown()) {
      outage.set_recovery_unknown(true);
      absl::StrAppend(&text, ", ", RecoveryText(outage));
    } else {
      absl::StrAppend(&text, absl::StrFormat(", not as before within %.1f s", SecondsOf(each.observed_ns())));
    }
    shown.push_back(text);
  }
  const uint64_t lost = LostWrites(disturb);
  const bool all = !disturb.read_back().empty() &&
                   std::ranges::all_of(disturb.read_back(), [](const auto& host) { return host.error().empty(); });
  // What was not looked for is not known to be there.
  if (all || lost > 0) {
    run.set_acknowledged_writes(disturb.acknowledged_writes());
    run.set_looked_for_writes(disturb.looked_for_writes());
    run.set_lost_writes(lost);
  }
  // Before the disturbances: a long list is cut.
  shown.insert(shown.begin(), all || lost > 0 ? LostWritesText(run) : kNotAllReadBack);
}

void ConfirmDisturbances(const v1::Report& found, v1::AcceptRun& run) {
  const uint64_t lost = LostWrites(found.disturb());
  if (lost > 0 && run.outcome() != v1::OUTCOME_FAIL) {
    run.set_outcome(v1::OUTCOME_FAIL);
    run.mutable_reasons()->Add(absl::StrCat(Counted(lost, "acknowledged write"), " lost"));
  }
  if (run.outcome() != v1::OUTCOME_PASS) return;
  for (const std::string& doubt : DisturbanceDoubts(found)) {
    run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    run.add_reasons(doubt);
  }
}

}  // namespace plimsoll
