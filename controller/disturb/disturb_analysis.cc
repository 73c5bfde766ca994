#include "controller/disturb/disturb_analysis.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/integers.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/report/log_size.h"

namespace plimsoll {
namespace {

constexpr size_t kMostReadBackReasons = 5;
// A write that is in flight for so long makes the seconds that it overlaps differ from those before.
constexpr int64_t kPausedNs = kNsPerSecond;

const char* CommandName(bool undo) {
  return undo ? "undo" : "do";
}

uint64_t LostBlocks(const v1::WriterReadBack& writer) {
  return writer.lost() + writer.torn() + writer.foreign() + writer.altered();
}

// An honest agent counts no more blocks than it has.
bool IsCredible(const v1::WriterReadBack& writer) {
  constexpr uint64_t kMost = uint64_t{1} << 58;
  return std::ranges::all_of(
      std::initializer_list<uint64_t>{writer.acknowledged_writes(), writer.blocks(), writer.lost(), writer.torn(),
                                      writer.foreign(), writer.altered(), writer.unreadable()},
      [](uint64_t count) { return count < kMost; });
}

// Acknowledged writes that a reader can look for: the last one to each block.
uint64_t LookedFor(const v1::WriterReadBack& writer) {
  return std::min(writer.acknowledged_writes(), writer.blocks());
}

std::string BlocksText(uint64_t blocks) {
  return absl::StrCat(FormatCount(blocks), blocks == 1 ? " block" : " blocks");
}

}  // namespace

absl::Status DisturbAnalysis::Take(const v1::JournalRecord& record, const Timeline& timeline) {
  switch (record.record_case()) {
    case v1::JournalRecord::kHostJoined:
      qms_[record.host_joined().host()] = record.host_joined().plan().log().workload().qm();
      break;
    case v1::JournalRecord::kStepBegin:
      step_ = record.step_begin().step();
      measured_start_ns_ = Clamp64(Int128{record.step_begin().start_ns()} + plan_.warmup_ns());
      writing_.clear();
      completed_before_.clear();
      for (int host = 0; host < record.step_begin().host_start_ns_size(); ++host) {
        if (record.step_begin().host_start_ns(host) != 0) writing_.insert(static_cast<uint32_t>(host));
      }
      break;
    case v1::JournalRecord::kStepDone:
      for (const v1::WriterTotals& totals : record.step_done().done().writers()) {
        if (totals.operation() == kMainOperation)
          completed_[{record.step_done().host(), totals.qm()}] = totals.writes();
      }
      break;
    case v1::JournalRecord::kHostLost:
      TakeLost(record.time_ns(), record.host_lost(), timeline);
      break;
    case v1::JournalRecord::kFault:
      if (record.fault().fault().qm() != 0) TakeFault(record.time_ns(), record.fault(), timeline);
      break;
    case v1::JournalRecord::kDisturb:
      return TakeDisturb(record.time_ns(), record.disturb());
    default:
      break;
  }
  return absl::OkStatus();
}

void DisturbAnalysis::TakeLost(int64_t time_ns, const v1::HostLost& lost, const Timeline& timeline) {
  lost_.emplace(lost.host(), lost.reason());
  // After the step the host writes no more, and reads back.
  if (lost.step() < 0) return;
  // It may have been silent for a lease.
  int64_t since_ns = Clamp64(Int128{time_ns} - plan_.lease_ns());
  for (const v1::InFlight& write : lost.in_flight()) {
    if (write.filling() || write.read_percent() == kOnlyReads) continue;
    Consider({write.age_ns(), lost.host(), write.qm(), write.since_ns(), true}, timeline);
    since_ns = std::min(since_ns, BeginOfOpen(lost.host(), write.since_ns(), since_ns, timeline));
  }
  for (const auto& [writer, in_flight_ns] : in_flight_since_) {
    if (writer.first == lost.host())
      since_ns = std::min(since_ns, BeginOfOpen(lost.host(), in_flight_ns, since_ns, timeline));
  }
  NoteOpen(since_ns);
}

void DisturbAnalysis::TakeFault(int64_t time_ns, const v1::HostFault& fault, const Timeline& timeline) {
  const WriterKey writer(fault.host(), fault.fault().qm());
  faults_.emplace(writer, time_ns);
  const auto in_flight = in_flight_since_.find(writer);
  const int64_t in_flight_ns = in_flight == in_flight_since_.end() ? 0 : in_flight->second;
  NoteOpen(std::min(time_ns, BeginOfOpen(fault.host(), in_flight_ns, time_ns, timeline)));
}

int64_t DisturbAnalysis::BeginOfOpen(uint32_t host, int64_t in_flight_ns, int64_t otherwise_ns,
                                     const Timeline& timeline) {
  if (in_flight_ns == 0 || !IsSaneMoment(in_flight_ns)) return otherwise_ns;
  const std::optional<MappedMoment> begin = timeline.ToTimeline(host, in_flight_ns);
  return begin.has_value() ? begin->local_ns : otherwise_ns;
}

void DisturbAnalysis::NoteOpen(int64_t since_ns) {
  for (size_t i = 0; i < phases_.size(); ++i) {
    if (i + 1 == phases_.size() || phases_[i + 1].start_ns > since_ns) phases_[i].open = true;
  }
}

DisturbAnalysis::Phase* DisturbAnalysis::FindPhase(uint32_t disturbance, bool undo) {
  const auto found = std::ranges::find_if(phases_, [disturbance, undo](const Phase& phase) {
    return phase.disturbance == disturbance && phase.undo == undo;
  });
  return found == phases_.end() ? nullptr : &*found;
}

absl::Status DisturbAnalysis::TakeDisturb(int64_t time_ns, const v1::DisturbRecord& record) {
  switch (record.record_case()) {
    case v1::DisturbRecord::kCommand: {
      const v1::DisturbCommand& command = record.command();
      const bool known = command.disturbance() < static_cast<uint32_t>(plan_.disturb_size());
      if (!known || FindPhase(command.disturbance(), command.undo()) != nullptr)
        return absl::InvalidArgumentError(known ? "a command starts for the second time" : "it is not in the plan");
      const bool follows = command.undo() ? FindPhase(command.disturbance(), false) != nullptr
                                          : phases_.empty() || phases_.back().disturbance < command.disturbance();
      if (!follows || (!phases_.empty() && time_ns < phases_.back().start_ns))
        return absl::InvalidArgumentError("its command is out of order");
      phases_.push_back({.disturbance = command.disturbance(),
                         .undo = command.undo(),
                         .arguments = {command.arguments().begin(), command.arguments().end()},
                         .start_ns = time_ns});
      return absl::OkStatus();
    }
    case v1::DisturbRecord::kCommandDone: {
      const v1::DisturbCommandDone& done = record.command_done();
      Phase* const phase = FindPhase(done.disturbance(), done.undo());
      if (phase == nullptr || phase->end_ns.has_value() || time_ns < phase->start_ns)
        return absl::InvalidArgumentError("no such command was running");
      phase->end_ns = time_ns;
      phase->exit_code = done.exit_code();
      phase->error = done.error();
      return absl::OkStatus();
    }
    case v1::DisturbRecord::kReadBack: {
      const v1::HostReadBack& read_back = record.read_back();
      if (!qms_.contains(read_back.host())) return absl::InvalidArgumentError("its host did not join");
      if (!std::ranges::all_of(read_back.done().writers(), IsCredible))
        return absl::InvalidArgumentError("its counts are not possible");
      if (!read_back_.emplace(read_back.host(), read_back.done()).second)
        return absl::InvalidArgumentError("its host answers for the second time");
      return absl::OkStatus();
    }
    case v1::DisturbRecord::RECORD_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("its kind is not known here");
}

void DisturbAnalysis::OnFrame(uint32_t host, const v1::Frame& frame, const Timeline& timeline) {
  const WriterKey writer(host, frame.qm());
  in_flight_since_[writer] = frame.in_flight_since_ns();
  if (EndedBefore(host, frame, timeline)) completed_before_[writer] += frame.latency().count();
  if (phases_.empty()) return;
  const auto consider = [&](const v1::WriteSample& write) {
    const Pause pause{Clamp64(Int128{write.latency_ns()}), host, frame.qm(), write.start_ns(), false};
    Consider(pause, timeline);
    NotePaused(pause, timeline);
  };
  for (const v1::WriteSample& write : frame.slow()) consider(write);
  if (frame.has_slowest()) consider(frame.slowest());
  // One that fails never is a sample.
  if (frame.in_flight_since_ns() == 0) return;
  Consider({Clamp64(Int128{frame.cut_ns()} - frame.in_flight_since_ns()), host, frame.qm(), frame.in_flight_since_ns(),
            true},
           timeline);
}

bool DisturbAnalysis::EndedBefore(uint32_t host, const v1::Frame& frame, const Timeline& timeline) const {
  // The journal has a command before it starts.
  if (phases_.empty()) return true;
  if (frame.last_end_ns() == 0 || !IsSaneMoment(frame.last_end_ns())) return false;
  const std::optional<MappedMoment> end = timeline.ToTimeline(host, frame.last_end_ns());
  return end.has_value() && Int128{end->local_ns} + end->error_ns < phases_.front().start_ns;
}

void DisturbAnalysis::NotePaused(const Pause& write, const Timeline& timeline) {
  if (write.length_ns < kPausedNs || !IsSaneMoment(write.length_ns) || !IsSaneMoment(write.begin_ns)) return;
  const std::optional<MappedMoment> begin = timeline.ToTimeline(write.host, write.begin_ns);
  if (!begin.has_value()) return;
  const int64_t end_ns = OffsetNs(Clamp64(Int128{begin->local_ns} + write.length_ns));
  if (end_ns < 0) return;
  const uint64_t first = WholeSecondsIn(std::max<int64_t>(OffsetNs(begin->local_ns), 0));
  uint64_t& last = paused_[first];
  last = std::max<uint64_t>(last, WholeSecondsIn(end_ns));
}

void DisturbAnalysis::Consider(const Pause& write, const Timeline& timeline) {
  if (write.length_ns <= 0 || !IsSaneMoment(write.length_ns) || !IsSaneMoment(write.begin_ns)) return;
  std::optional<MappedMoment> begin;
  for (size_t i = 0; i < phases_.size(); ++i) {
    Pause& longest = phases_[i].longest;
    const bool same =
        longest.host == write.host && longest.qm == write.qm && longest.begin_ns == write.begin_ns && longest.open;
    if (write.length_ns < longest.length_ns || (write.length_ns == longest.length_ns && !same)) continue;
    if (!begin.has_value()) begin = timeline.ToTimeline(write.host, write.begin_ns);
    if (!begin.has_value()) return;
    // What may have been in flight then, within the clock error, was.
    const Int128 end_ns = Int128{begin->local_ns} + write.length_ns + begin->error_ns;
    const bool before_next =
        i + 1 == phases_.size() || Int128{begin->local_ns} - begin->error_ns < phases_[i + 1].start_ns;
    if (end_ns >= phases_[i].start_ns && before_next) longest = write;
  }
}

int64_t DisturbAnalysis::PhaseEndNs(size_t phase, const Known& known) const {
  const int64_t next_ns = phase + 1 < phases_.size() ? OffsetNs(phases_[phase + 1].start_ns) : INT64_MAX;
  return std::max(std::min(next_ns, known.measured_ns), OffsetNs(phases_[phase].start_ns));
}

std::optional<MappedMoment> DisturbAnalysis::BeginOf(const Pause& pause, const Known& known) const {
  if (pause.length_ns == 0) return std::nullopt;
  std::optional<MappedMoment> begin = known.timeline.ToTimeline(pause.host, pause.begin_ns);
  if (begin.has_value()) begin->local_ns = OffsetNs(begin->local_ns);
  return begin;
}

DisturbAnalysis::Recovery DisturbAnalysis::RecoveryIn(int64_t begin_ns, int64_t end_ns, const Pause& pause, bool open,
                                                      const Known& known) const {
  if (!known.baseline.has_value()) return {{}, "too few seconds with writes before the first disturbance"};
  if (open) return {};
  if (!IsLongEnough(known.seconds, {begin_ns, end_ns})) {
    return {{},
            absl::StrFormat("observed for %.1f s, too short for %d seconds in a row",
                            static_cast<double>(end_ns - begin_ns) / static_cast<double>(kNsPerSecond), kCalmSeconds)};
  }
  StepTime paused;
  if (const std::optional<MappedMoment> begin = BeginOf(pause, known); begin.has_value()) {
    paused = {begin->local_ns, Clamp64(Int128{begin->local_ns} + pause.length_ns)};
  }
  return {RecoveryOf(known.seconds, *known.baseline, {begin_ns, end_ns}, paused)};
}

void DisturbAnalysis::SetCommand(size_t phase, const Known& known, v1::DisturbCommandReport& command) const {
  const Phase& of = phases_[phase];
  const int64_t begin_ns = OffsetNs(of.start_ns);
  const int64_t end_ns = PhaseEndNs(phase, known);
  for (const std::string& argument : of.arguments) command.add_arguments(argument);
  command.set_start_ns(begin_ns);
  if (of.end_ns.has_value()) command.set_duration_ns(*of.end_ns - of.start_ns);
  command.set_exit_code(of.exit_code);
  command.set_error(of.end_ns.has_value() ? of.error : "it did not end");
  command.set_longest_pause_ns(of.longest.length_ns);
  const bool open = of.open || of.longest.open;
  command.set_pause_open(open);
  const Recovery recovery = RecoveryIn(begin_ns, end_ns, of.longest, open, known);
  if (recovery.after_ns.has_value()) command.set_recovery_ns(*recovery.after_ns);
  if (!recovery.unknown.empty()) command.set_recovery_unknown(recovery.unknown);
  command.set_observed_ns(end_ns - begin_ns);
}

void DisturbAnalysis::SetDisturbance(uint32_t number, const Known& known,
                                     const std::function<std::string(uint32_t)>& label_of,
                                     v1::DisturbanceReport& report) const {
  report.set_name(plan_.disturb(static_cast<int>(number)).name());
  Pause longest;
  bool open = false;
  std::optional<size_t> first;
  size_t last = 0;
  for (size_t i = 0; i < phases_.size(); ++i) {
    if (phases_[i].disturbance != number) continue;
    SetCommand(i, known, phases_[i].undo ? *report.mutable_undo() : *report.mutable_do_());
    if (phases_[i].longest.length_ns > longest.length_ns) longest = phases_[i].longest;
    open = open || phases_[i].open || phases_[i].longest.open;
    if (!first.has_value()) first = i;
    last = i;
  }
  if (!first.has_value()) return;
  const int64_t begin_ns = OffsetNs(phases_[*first].start_ns);
  const int64_t end_ns = PhaseEndNs(last, known);
  report.set_longest_pause_ns(longest.length_ns);
  report.set_pause_open(open);
  if (const std::optional<MappedMoment> begin = BeginOf(longest, known); begin.has_value()) {
    report.set_pause_host(label_of(longest.host));
    report.set_pause_qm(longest.qm);
    report.set_pause_start_ns(Clamp64(Int128{begin->local_ns} - begin_ns));
    report.set_pause_error_ns(begin->error_ns);
  }
  report.set_observed_ns(end_ns - begin_ns);
  const v1::DisturbCommandReport& before = report.do_();
  const v1::DisturbCommandReport& after = report.undo();
  const v1::DisturbCommandReport& lasting = report.has_undo() ? after : before;
  if (lasting.has_recovery_unknown()) {
    report.set_recovery_unknown(lasting.recovery_unknown());
  } else if (!report.has_undo()) {
    if (before.has_recovery_ns()) report.set_recovery_ns(before.recovery_ns());
  } else if (after.has_recovery_ns() && after.recovery_ns() > 0) {
    report.set_recovery_ns(after.start_ns() + after.recovery_ns() - begin_ns);
  } else if (after.has_recovery_ns()) {
    // A short hold may have been too short to see it.
    const auto recovery_ns = before.has_recovery_ns() ? std::optional<int64_t>(before.recovery_ns())
                                                      : RecoveryIn(begin_ns, end_ns, longest, open, known).after_ns;
    if (recovery_ns.has_value()) report.set_recovery_ns(*recovery_ns);
  }
  const int64_t until_ns = last + 1 < phases_.size() ? phases_[last + 1].start_ns : INT64_MAX;
  report.set_failed_writers(static_cast<uint32_t>(std::ranges::count_if(faults_, [&](const auto& fault) {
    return fault.second >= phases_[*first].start_ns && fault.second < until_ns;
  })));
}

void DisturbAnalysis::AddCommandReasons(std::vector<std::string>& reasons) const {
  for (uint32_t number = 0; number < static_cast<uint32_t>(plan_.disturb_size()); ++number) {
    const v1::Disturbance& one = plan_.disturb(static_cast<int>(number));
    const auto add = [&](bool undo, const std::string& what) {
      reasons.push_back(absl::StrCat("Disturbance ", Quoted(one.name()), ": ", CommandName(undo), " ", what, "."));
    };
    for (const bool undo : {false, true}) {
      const auto phase = std::ranges::find_if(
          phases_, [&](const Phase& each) { return each.disturbance == number && each.undo == undo; });
      if (phase == phases_.end()) {
        if (!undo) {
          add(undo, "was not started");
          break;
        }
        const auto of_do = std::ranges::find(phases_, number, &Phase::disturbance);
        // Nothing was done where `do` could not even be started.
        const bool done = !of_do->end_ns.has_value() || of_do->error.empty() || of_do->exit_code >= 0;
        if (!one.undo().empty() && done) add(undo, "was not started");
      } else if (!phase->end_ns.has_value()) {
        add(undo, "did not end");
      } else if (!phase->error.empty()) {
        add(undo, absl::StrCat("failed: ", phase->error));
      }
    }
  }
}

std::string DisturbAnalysis::ReadBackProblem(uint32_t host) const {
  const auto found = read_back_.find(host);
  if (found == read_back_.end()) {
    const auto lost = lost_.find(host);
    return lost == lost_.end() ? "there is no answer" : absl::StrCat("it was lost: ", lost->second);
  }
  const v1::ReadBackDone& done = found->second;
  // Only a host that joined has an answer.
  if (!done.error().empty()) return done.error();
  if (done.step() != step_) return "the answer is about another step";
  std::map<uint32_t, const v1::WriterReadBack*> writers;
  for (const v1::WriterReadBack& writer : done.writers()) writers[writer.qm()] = &writer;
  for (uint32_t qm = 1; qm <= qms_.at(host); ++qm) {
    const auto writer = writers.find(qm);
    if (writer == writers.end()) return absl::StrCat("there is no answer of qm", qm);
    if (std::string why = WriterProblem(host, *writer->second); !why.empty()) return why;
  }
  return "";
}

std::string DisturbAnalysis::WriterProblem(uint32_t host, const v1::WriterReadBack& answer) const {
  const std::string name = absl::StrCat("qm", answer.qm());
  if (answer.unreadable() > 0) return absl::StrCat(BlocksText(answer.unreadable()), " of ", name, " could not be read");
  const WriterKey key(host, answer.qm());
  const auto completed = completed_.find(key);
  if (completed == completed_.end()) {
    return absl::StrCat("how often ", name, " wrote is not known: the host did not report the end of the step");
  }
  if (answer.acknowledged_writes() < completed->second) {
    return absl::StrCat(name, " looked for ", FormatCount(answer.acknowledged_writes()), " of ",
                        FormatCount(completed->second), " acknowledged writes");
  }
  if (answer.written_blocks() != LookedFor(answer) ||
      Int128{answer.read_bytes()} < Int128{answer.blocks()} * block_size_bytes_) {
    return absl::StrCat(name, " did not read its whole log: ", FormatCount(answer.read_bytes()), " bytes of ",
                        BlocksText(answer.blocks()), ", ", FormatCount(answer.written_blocks()), " of them written");
  }
  if (!answer.direct() && !answer.dropped_cache()) {
    return absl::StrCat(name, " was read through the host's page cache, which may hide a lost write");
  }
  const auto before = completed_before_.find(key);
  const uint64_t wrote_before = before == completed_before_.end() ? 0 : before->second;
  const uint64_t wrote_since = answer.acknowledged_writes() - std::min(answer.acknowledged_writes(), wrote_before);
  if (wrote_since <= answer.blocks()) return "";
  return absl::StrCat(name, " wrote ", FormatCount(wrote_since),
                      " times since the first command, and its log has only ", BlocksText(answer.blocks()),
                      ": the earlier ones were overwritten and could not be looked for; use a larger file_size or "
                      "num_files (at least ",
                      FormatSize(LogSizeFor(wrote_since, block_size_bytes_)), " together)");
}

void DisturbAnalysis::SetReadBack(const std::function<std::string(uint32_t)>& label_of, v1::DisturbReport& report,
                                  std::vector<std::string>& reasons) {
  size_t problems = 0;
  for (const uint32_t host : writing_) {
    v1::HostReadBackReport& line = *report.add_read_back();
    line.set_host(label_of(host));
    line.set_error(ReadBackProblem(host));
    if (const auto found = read_back_.find(host); found != read_back_.end())
      *line.mutable_writers() = found->second.writers();
    for (const v1::WriterReadBack& writer : line.writers()) {
      const uint64_t lost = LostBlocks(writer);
      report.set_acknowledged_writes(SaturatingAdd(report.acknowledged_writes(), writer.acknowledged_writes()));
      report.set_looked_for_writes(SaturatingAdd(report.looked_for_writes(), LookedFor(writer)));
      report.set_lost_blocks(SaturatingAdd(report.lost_blocks(), lost));
      if (lost > 0 && loss_.blocks == 0) {
        loss_.host = line.host();
        loss_.qm = writer.qm();
        if (!writer.findings().empty()) {
          const v1::ReadBackFinding& first = writer.findings(0);
          loss_.text = absl::StrCat(first.path(), " at offset ", FormatCount(first.offset_bytes()), ": ", first.text());
        }
      }
      // The counts of one agent must not hide the losses of another host.
      loss_.blocks = SaturatingAdd(loss_.blocks, lost);
    }
    if (line.error().empty() || ++problems > kMostReadBackReasons) continue;
    reasons.push_back(
        absl::StrCat(line.host(), ": its acknowledged writes were not all read back: ", line.error(), "."));
  }
  if (problems > kMostReadBackReasons) {
    reasons.push_back(absl::StrCat("The acknowledged writes of ", problems - kMostReadBackReasons,
                                   " more hosts were not all read back."));
  }
  if (report.read_back().empty()) reasons.emplace_back("Nothing was read back.");
  all_read_back_ = problems == 0 && !report.read_back().empty();
}

void DisturbAnalysis::Finish(const Timeline& timeline, const std::function<std::string(uint32_t host)>& label_of,
                             v1::Report& report, std::vector<std::string>& reasons) {
  Known known{timeline, 0, {}, std::nullopt};
  if (!report.steps().empty()) {
    known.measured_ns = report.steps(0).measured_ns();
    known.seconds = LoadSecondsOf(report.steps(0));
  }
  uint64_t paused_until = 0;
  for (size_t second = 0; second < known.seconds.size(); ++second) {
    if (const auto found = paused_.find(second); found != paused_.end())
      paused_until = std::max(paused_until, found->second + 1);
    known.seconds[second].paused = second < paused_until;
  }
  v1::DisturbReport& made = *report.mutable_disturb();
  if (!phases_.empty()) known.baseline = BaselineOf(known.seconds, OffsetNs(phases_.front().start_ns));
  if (known.baseline.has_value()) {
    made.set_baseline_seconds(known.baseline->seconds);
    made.set_baseline_writes_per_second(known.baseline->writes_per_second);
    made.set_least_writes_per_second(static_cast<double>(known.baseline->least_writes));
    made.set_most_average_latency_ns(known.baseline->most_average_ns);
  }
  for (uint32_t number = 0; number < static_cast<uint32_t>(plan_.disturb_size()); ++number)
    SetDisturbance(number, known, label_of, *made.add_disturbances());
  AddCommandReasons(reasons);
  SetReadBack(label_of, made, reasons);
}

void DisturbAnalysis::AddTo(v1::VerdictReport& verdict) const {
  if (verdict.criteria().empty() && loss_.blocks == 0) return;
  // It comes first: whatever else failed, a lost write weighs more.
  google::protobuf::RepeatedPtrField<v1::CriterionReport> others;
  others.Swap(verdict.mutable_criteria());
  v1::CriterionReport& lost = *verdict.add_criteria();
  lost.set_criterion(kNothingLostCriterion);
  lost.set_step(1);
  lost.set_scope(v1::SCOPE_KIND_CLUSTER);
  lost.set_kind(v1::SCOPE_KIND_CLUSTER);
  if (loss_.blocks > 0) {
    lost.set_outcome(v1::OUTCOME_FAIL);
    lost.set_reason(absl::StrCat(BlocksText(loss_.blocks), loss_.blocks == 1 ? " does" : " do",
                                 " not hold the last acknowledged write",
                                 loss_.text.empty() ? "" : absl::StrCat("; first: ", loss_.text)));
    lost.set_kind(v1::SCOPE_KIND_QM);
    lost.set_host(loss_.host);
    lost.set_qm(loss_.qm);
    verdict.set_outcome(v1::OUTCOME_FAIL);
  } else if (!all_read_back_) {
    lost.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    lost.set_reason("not every write that was acknowledged since the first command was looked for");
  } else {
    lost.set_outcome(v1::OUTCOME_PASS);
  }
  if (loss_.blocks > 0 || all_read_back_) {
    lost.set_value(static_cast<double>(loss_.blocks));
    lost.set_value_text(BlocksText(loss_.blocks));
  }
  v1::CriterionStepReport& in_step = *lost.add_steps();
  in_step.set_step(1);
  in_step.set_outcome(lost.outcome());
  in_step.set_value(lost.value());
  in_step.set_value_text(lost.value_text());
  in_step.set_kind(lost.kind());
  in_step.set_host(lost.host());
  in_step.set_qm(lost.qm());
  in_step.set_reason(lost.reason());
  in_step.set_scopes(1);
  in_step.set_beyond(loss_.blocks > 0 ? 1 : 0);
  for (v1::CriterionReport& other : others) *verdict.add_criteria() = std::move(other);
}

}  // namespace plimsoll
