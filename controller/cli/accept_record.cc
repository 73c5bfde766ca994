#include "controller/cli/accept_record.h"

#include <google/protobuf/util/message_differencer.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "controller/accept/accept_parts.h"
#include "controller/accept/accept_report.h"
#include "controller/analysis/analyzer.h"
#include "controller/cli/outputs.h"
#include "controller/compare/report_json.h"
#include "controller/journal/digest.h"
#include "controller/journal/sha256.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr char kAcceptRecordName[] = "accept.json";
constexpr uint64_t kAcceptRecordFormat = 1;
constexpr size_t kMostAcceptBytes = size_t{64} << 20;

std::string AcceptRecordPath(const std::string& directory) {
  return (fs::path(directory) / kAcceptRecordName).string();
}

bool HasJournal(const v1::AcceptRun& run) {
  return run.part() != v1::ACCEPT_PART_STORAGE && run.part() != v1::ACCEPT_PART_FSCK;
}

// The file that the run's outcome follows from, in its directory.
std::string EvidenceOf(const v1::AcceptRun& run) {
  if (HasJournal(run)) return "journal";
  return run.part() == v1::ACCEPT_PART_STORAGE ? "storage.json" : "fsck.json";
}

// "load-1/journal".
std::string EvidencePath(const v1::AcceptRun& run) {
  return absl::StrCat(DirectoryOf(run), "/", EvidenceOf(run));
}

absl::StatusOr<std::string> DigestOf(const std::string& directory, const v1::AcceptRun& run) {
  return Sha256Below(directory, DirectoryOf(run), EvidenceOf(run));
}

// That the record names the runs of its plan, once each, with the directories that they have.
absl::Status CheckRuns(const v1::AcceptReport& report) {
  const auto wrong = [](const std::string& what) { return absl::InvalidArgumentError(what); };
  if (!report.plan().has_accept()) return wrong("it has no plan of an acceptance");
  // What later versions refuse in a plan does not make an old record unreadable.
  constexpr uint32_t kMostRunsOfPart = 20;
  if (report.plan().accept().runs() > kMostRunsOfPart || static_cast<size_t>(report.plan().hosts_size()) > kMaxHosts) {
    return wrong("no plan has so many runs or hosts");
  }
  v1::TestPlan plan = report.plan();
  FillDefaults(plan);
  const v1::AcceptReport planned = PlannedAcceptance(plan);
  if (planned.runs_size() != report.runs_size()) return wrong("its runs are not those of its plan");
  for (int i = 0; i < planned.runs_size(); ++i) {
    const v1::AcceptRun& run = report.runs(i);
    if (run.part() != planned.runs(i).part() || run.run() != planned.runs(i).run()) {
      return wrong("its runs are not those of its plan");
    }
    if (!run.directory().empty() && run.directory() != DirectoryOf(run)) {
      return wrong(absl::StrCat("the results of ", RunName(run), " are not where an acceptance keeps them"));
    }
    if (!run.began() && (run.complete() || run.outcome() != v1::OUTCOME_UNSPECIFIED)) {
      return wrong(absl::StrCat(RunName(run), " has a result and was not done"));
    }
  }
  return absl::OkStatus();
}

// What a journal shows.
struct JournalRun {
  v1::TestPlan plan;
  v1::Report report;
};

absl::StatusOr<JournalRun> ReadJournalRun(const std::string& path) {
  JournalRun run;
  Analyzer analyzer;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string damage,
                            ReadWholeRecords(path, [&](const v1::JournalRecord& record, const RawRecord& /*raw*/) {
                              if (record.has_run_begin()) run.plan = record.run_begin().plan();
                              analyzer.Add(record);
                            }));
  if (!damage.empty()) analyzer.AddDamage(damage + ".");
  run.report = analyzer.Finish();
  return run;
}

// The first field in which the plans differ; empty: none. Seeds are drawn when a plan is run.
std::string PlanDifference(v1::TestPlan planned, v1::TestPlan run) {
  planned.clear_seed();
  run.clear_seed();
  FillDefaults(run);
  const google::protobuf::Descriptor& type = *v1::TestPlan::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    google::protobuf::util::MessageDifferencer differencer;
    if (!differencer.CompareWithFields(planned, run, {type.field(i)}, {type.field(i)})) return type.field(i)->name();
  }
  return "";
}

// How the journal of a run that is not sealed shows that it belongs to another one; empty: it does not.
std::string NotOfTheRun(const v1::TestPlan& plan, const v1::AcceptRun& run, const JournalRun& found) {
  const v1::TestPlan planned = PlanOfRun(plan, run.part(), run.run());
  if (const std::string field = PlanDifference(planned, found.plan); !field.empty()) {
    return absl::StrCat("the plan in it is not that of the acceptance (", field, ")");
  }
  using google::protobuf::util::TimeUtil;
  const google::protobuf::Timestamp& begin = found.report.run().begin();
  const bool before = begin < run.begin();
  const bool after = run.duration_ns() > 0 && begin > run.begin() + TimeUtil::NanosecondsToDuration(run.duration_ns());
  return before || after ? absl::StrCat("run ", found.report.run().id(), " in it began at ", FormatDateTime(begin),
                                        ", which is not within the part")
                         : "";
}

// A run with a journal counts only by what is derived from that journal.
void ClearDerived(v1::AcceptRun& run) {
  run.clear_complete();
  run.clear_result();
  run.clear_reasons();
  run.clear_notes();
  run.clear_criteria();
  run.clear_outages();
  run.clear_acknowledged_writes();
  run.clear_lost_writes();
  run.clear_looked_for_writes();
}

// The journal of the run, which is `under_way` where the acceptance was cut off. Its figures go into the report unless
// it differs from what was recorded; `changed`: its digest does.
void TakeJournal(const std::string& directory, bool under_way, bool changed, v1::AcceptRun& run,
                 v1::AcceptReport& report) {
  const v1::AcceptRun recorded = run;
  ClearDerived(run);
  std::vector<std::string> differs;
  const absl::StatusOr<JournalRun> found = ReadJournalRun((fs::path(directory) / EvidencePath(run)).string());
  if (!found.ok()) {
    TakeDifference(absl::StrCat(EvidencePath(run), " cannot be read: ", std::string(found.status().message())), run);
    return;
  }
  if (changed) {
    const std::string& id = found->report.run().id();
    differs.push_back(absl::StrCat(EvidencePath(run), " was changed or replaced: ",
                                   id == run.seal().run_id()
                                       ? "its SHA-256 is not the recorded one"
                                       : absl::StrCat("it is of run ", id, ", not of run ", run.seal().run_id())));
  } else if (run.seal().sha256().empty()) {
    if (const std::string other = NotOfTheRun(report.plan(), run, *found); !other.empty()) {
      differs.push_back(absl::StrCat(EvidencePath(run), " was replaced: ", other));
    }
  }
  v1::AcceptReport taken = report;
  TakeRun(found->report, run, taken);
  const v1::Outcome outcome = recorded.outcome();
  if (!under_way && run.outcome() != outcome) {
    // The run measured, and could not keep all of its results.
    const bool not_kept = outcome == v1::OUTCOME_INCONCLUSIVE && IsInOrder(run) && !changed;
    if (not_kept) {
      run.set_outcome(outcome);
      *run.mutable_reasons() = recorded.reasons();
    } else {
      differs.push_back(absl::StrCat("its journal shows ", OutcomeText(run.outcome()), " where ", OutcomeText(outcome),
                                     " was recorded"));
    }
  }
  if (!differs.empty()) ClearDerived(run);
  for (const std::string& what : differs) TakeDifference(what, run);
  if (!differs.empty()) return;
  *report.mutable_figures() = taken.figures();
  *report.mutable_hosts() = taken.hosts();
}

// Holds the run against its seal. `sealed`: the record has seals; `intact`: it is as the acceptance wrote it.
void TakeAgain(const std::string& directory, bool sealed, bool intact, bool under_way, v1::AcceptRun& run,
               v1::AcceptReport& report) {
  run.clear_differs();
  if (under_way) {
    run.set_directory(DirectoryOf(run));
  } else if (!run.has_seal()) {
    run.mutable_seal()->set_outcome(run.outcome());
  } else {
    run.set_outcome(run.seal().outcome());
  }
  const absl::StatusOr<std::string> digest = DigestOf(directory, run);
  if (under_way && (!digest.ok() || !HasJournal(run))) {
    run.clear_directory();
    run.clear_reasons();
    return TakeFailure("the acceptance was cut off", run);
  }
  if (run.directory().empty()) {
    // A run without results never passed.
    if (run.outcome() != v1::OUTCOME_INCONCLUSIVE) TakeDifference("accept.json names no results of it", run);
    return;
  }
  if (!digest.ok()) {
    if (HasJournal(run)) ClearDerived(run);
    return TakeDifference(std::string(digest.status().message()), run);
  }
  const std::string& seal = run.seal().sha256();
  const bool changed = !seal.empty() && seal != *digest;
  if (HasJournal(run)) {
    TakeJournal(directory, under_way, changed, run, report);
  } else if (changed) {
    TakeDifference(absl::StrCat(EvidencePath(run), " was changed or replaced: its SHA-256 is not the recorded one"),
                   run);
  } else if (!intact) {
    TakeDifference("only accept.json has its result, and was changed", run);
  }
  if (under_way || !seal.empty()) return;
  // One whose results could not be kept has no seal, and did not pass.
  if (sealed && run.seal().outcome() != v1::OUTCOME_INCONCLUSIVE) {
    return TakeDifference("accept.json has no SHA-256 of its results", run);
  }
  const std::string note =
      absl::StrCat("not sealed: accept.json has no SHA-256 of ", EvidencePath(run),
                   HasJournal(run) ? "; the result is derived from it again" : "; the result is the recorded one");
  if (std::find(run.notes().begin(), run.notes().end(), note) == run.notes().end()) run.add_notes(note);
}

// Results of parts that the record does not have.
std::vector<std::string> UnknownParts(const std::string& directory, const v1::AcceptReport& report) {
  std::set<std::string> known;
  for (const v1::AcceptRun& run : report.runs()) {
    if (run.began()) known.insert(DirectoryOf(run));
  }
  std::set<std::string> unknown;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    for (const v1::AcceptPart part : kAcceptParts) {
      const std::string start = IsDoneOnce(part) ? PartName(part) : absl::StrCat(PartName(part), "-");
      const bool is_part =
          absl::StartsWith(name, start) && name.find_first_not_of("0123456789", start.size()) == std::string::npos;
      if (is_part && !known.contains(name)) unknown.insert(name);
    }
  }
  return {unknown.begin(), unknown.end()};
}

// As accept.json has it.
std::string RenderRecord(const v1::AcceptReport& report) {
  if (report.record_sha256() != kRenewedSeal) return RenderJson(report);
  v1::AcceptReport record = report;
  record.clear_record_sha256();
  return SealRecord(RenderJson(record));
}

}  // namespace

bool IsAcceptDirectory(const std::string& directory) {
  std::error_code error;
  return fs::is_regular_file(AcceptRecordPath(directory), error);
}

absl::StatusOr<v1::AcceptReport> LoadAcceptDirectory(const std::string& directory) {
  const std::string path = AcceptRecordPath(directory);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostAcceptBytes));
  v1::AcceptReport report;
  absl::Status read = ParseJson(text, kAcceptRecordFormat, "the record of an acceptance (accept.json)", report);
  if (read.ok()) read = CheckRuns(report);
  if (!read.ok()) return WithContext(path, read);
  const bool sealed = !report.record_sha256().empty() ||
                      std::any_of(report.runs().begin(), report.runs().end(), [](const v1::AcceptRun& run) {
                        return !run.seal().sha256().empty() || !run.seal().run_id().empty();
                      });
  const bool intact = !sealed || IsSealIntact(text);
  report.clear_figures();
  report.clear_altered();
  if (!intact) {
    report.add_altered("accept.json was changed after the acceptance wrote it: its SHA-256 is not the one in it");
  } else if (sealed) {
    report.set_record_sha256(kRenewedSeal);
  }
  for (const std::string& name : UnknownParts(directory, report)) {
    report.add_altered(absl::StrCat(name, " is not one of the parts that accept.json has"));
  }
  for (int i = 0; i < report.runs_size(); ++i) {
    v1::AcceptRun& run = *report.mutable_runs(i);
    if (!run.began()) continue;
    // The last one, where the acceptance was killed.
    const bool last = i + 1 == report.runs_size() || !report.runs(i + 1).began();
    const bool under_way =
        last && !report.ended() && !run.has_seal() && (sealed || run.outcome() == v1::OUTCOME_UNSPECIFIED);
    TakeAgain(directory, sealed, intact, under_way, run, report);
  }
  JudgeAcceptance(report);
  return report;
}

absl::StatusOr<std::vector<std::string>> AcceptDifferences(const std::string& directory, v1::Outcome& outcome) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadFile(AcceptRecordPath(directory), kMostAcceptBytes));
  v1::AcceptReport recorded;
  PLIMSOLL_RETURN_IF_ERROR(ParseJson(text, kAcceptRecordFormat, kAcceptRecordName, recorded));
  PLIMSOLL_ASSIGN_OR_RETURN(const v1::AcceptReport derived, LoadAcceptDirectory(directory));
  outcome = derived.outcome();
  std::vector<std::string> differences(derived.altered().begin(), derived.altered().end());
  for (const v1::AcceptRun& run : derived.runs()) {
    for (const std::string& what : run.differs()) differences.push_back(absl::StrCat(RunName(run), ": ", what));
  }
  if (differences.empty() && recorded.outcome() != derived.outcome()) {
    differences.push_back(absl::StrCat(kAcceptRecordName, " has the verdict ", OutcomeText(recorded.outcome()),
                                       ", and its parts give ", OutcomeText(derived.outcome())));
  }
  // Of another version, or of a record that was written in another way, the text may be another one.
  if (differences.empty() && text == RenderRecord(derived)) {
    constexpr char kTextName[] = "accept.txt";
    const absl::StatusOr<std::string> shown = ReadFile((fs::path(directory) / kTextName).string(), kMostAcceptBytes);
    if (shown.ok() && *shown != RenderAcceptText(derived)) {
      differences.push_back(absl::StrCat(kTextName, " does not show the acceptance that the parts give"));
    }
  }
  return differences;
}

void SealRun(const std::string& directory, const std::string& run_id, v1::AcceptRun& run) {
  run.mutable_seal()->set_outcome(run.outcome());
  if (run.directory().empty()) return;
  run.mutable_seal()->set_run_id(run_id);
  absl::StatusOr<std::string> digest = DigestOf(directory, run);
  if (digest.ok()) {
    run.mutable_seal()->set_sha256(*std::move(digest));
    return;
  }
  run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  run.mutable_seal()->set_outcome(run.outcome());
  run.add_reasons(absl::StrCat("its results could not be kept: ", std::string(digest.status().message())));
}

absl::Status WriteAcceptRecord(const ResultsDirectory& results, const v1::AcceptReport& report) {
  return results.Write(kAcceptRecordName, RenderRecord(report));
}

absl::Status WriteAcceptFiles(const ResultsDirectory& results, Seal seal, const v1::AcceptReport& report,
                              std::string* digest_text) {
  absl::Status first = WriteAcceptRecord(results, report);
  first.Update(results.Write("accept.txt", RenderAcceptText(report)));
  std::vector<ResultsPart> parts;
  for (const v1::AcceptRun& run : report.runs()) {
    if (!run.directory().empty()) parts.push_back({DirectoryOf(run), EvidenceOf(run)});
  }
  const absl::StatusOr<DigestState> digest = SealResults(results, seal, {kAcceptRecordName, "accept.txt"}, parts);
  first.Update(SealFailure(digest));
  if (seal == Seal::kReplace) first.Update(ChangedBeforeSeal(digest));
  *digest_text = DigestText(digest);
  first.Update(results.Write("accept.html", RenderAcceptPage(report, *digest_text)));
  return first;
}

int PrintAcceptance(const v1::AcceptReport& report, const AcceptPlace& place, const AcceptView& view,
                    const absl::Status& written, CommandLine& line) {
  absl::Status kept = written;
  // Green only where the exit code is.
  if (kept.ok() && !view.junit.empty()) kept.Update(WriteFile(view.junit, RenderAcceptJUnit(report)));
  const std::string text =
      view.full ? absl::StrCat(RenderAcceptText(report), "\n", AcceptResultsLine(report, place.path, place.digest))
                : RenderAcceptBrief(report, place.path, place.digest);
  line.out << (view.json               ? RenderRecord(report)
               : !view.summary.empty() ? RenderAcceptMarkdown(report, place.path, place.digest)
                                       : PaintVerdicts(text, line.color_out))
           << std::flush;
  int code = report.outcome() == v1::OUTCOME_PASS   ? static_cast<int>(Exit::kOk)
             : report.outcome() == v1::OUTCOME_FAIL ? static_cast<int>(Exit::kFailed)
                                                    : static_cast<int>(Exit::kInconclusive);
  if (!kept.ok()) {
    PrintError(line, kept, Exit::kInconclusive);
    if (code == static_cast<int>(Exit::kOk)) code = static_cast<int>(Exit::kInconclusive);
  }
  WroteOutput(line, absl::StrCat("; the report is in ", place.path));
  return code;
}

}  // namespace plimsoll
