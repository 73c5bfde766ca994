#include "controller/app/planned_run.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/analysis/judge.h"
#include "controller/journal/digest.h"
#include "controller/live/views.h"
#include "controller/page/report_page.h"
#include "controller/plan/plan_yaml.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/junit_xml.h"
#include "controller/render/prometheus_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/run/controller_facts.h"
#include "controller/run/preparation.h"

namespace plimsoll {
namespace {

// Where a run keeps what it measures.
struct OpenResults {
  ResultsDirectory directory;
  std::unique_ptr<JournalWriter> journal;
};

// Makes the directory `out` (empty: the default one of this run), with the plan and an empty journal in it.
absl::StatusOr<OpenResults> CreateResults(const std::string& out, WallNs now, const std::string& run_id,
                                          const v1::TestPlan& plan) {
  absl::StatusOr<ResultsDirectory> directory =
      out.empty() ? ResultsDirectory::CreateDefault(now, run_id) : ResultsDirectory::Create(out);
  PLIMSOLL_RETURN_IF_ERROR(directory.status());
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<JournalWriter> journal, directory->CreateJournal());
  PLIMSOLL_RETURN_IF_ERROR(directory->Write("plan.yaml", WritePlan(plan)));
  return OpenResults{*std::move(directory), std::move(journal)};
}

}  // namespace

std::string PartEnd::ErrorText() const {
  return errors.empty() ? "nothing was measured" : absl::StrJoin(errors, "; ");
}

bool IsInterruptPending() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

RunSurroundings OwnSurroundings() {
  static const SystemClock clock;
  RunSurroundings around;
  around.clock = &clock;
  around.progress = stderr;
  around.describe_controller = DescribeController;
  return around;
}

std::vector<std::pair<std::string, std::string>> ReportFiles(const v1::Report& report) {
  std::vector<std::pair<std::string, std::string>> files = {{"report.txt", RenderText(report)},
                                                            {"report.json", RenderJson(report)},
                                                            {"report.csv", RenderCsv(report)},
                                                            {"timeline.csv", RenderTimelineCsv(report)}};
  if (HasMinutes(report)) files.emplace_back("minutes.csv", RenderMinutesCsv(report));
  if (const TextSection* const section = TextSectionOf(report); section != nullptr && section->file != nullptr) {
    files.emplace_back(section->file, section->render_file(report));
  }
  return files;
}

absl::Status WriteReportFiles(const ResultsDirectory& results, Seal seal, const v1::Report& report,
                              std::string* digest_text) {
  absl::Status first;
  std::vector<std::string> sealed = results.JournalNames();
  for (const auto& [name, content] : ReportFiles(report)) {
    first.Update(results.Write(name, content));
    sealed.push_back(name);
  }
  const absl::StatusOr<DigestState> digest = SealResults(results, seal, sealed);
  first.Update(SealFailure(digest));
  *digest_text = DigestText(digest);
  first.Update(results.Write("report.html", RenderReportPage(report, *digest_text)));
  return first;
}

absl::Status WriteJUnit(const std::string& path, const v1::Report& report) {
  return path.empty() ? absl::OkStatus() : WriteFile(path, RenderReportJUnit(report));
}

absl::Status WriteUnfinishedJUnit(const std::string& path) {
  std::error_code error;
  if (path.empty()) return absl::OkStatus();
  if (std::filesystem::exists(path, error) && std::filesystem::is_other(path, error)) return absl::OkStatus();
  return WriteFile(path, RenderUnfinishedJUnit());
}

PlannedRun::PlannedRun(v1::TestPlan plan, const PlanRun& how, AgentAccess access, Console& console,
                       const RunSurroundings& around, EventQueue& events, const Kind& kind, const std::string& run_id,
                       const std::string& beside_key)
    : plan_(std::move(plan)),
      how_(how),
      access_(std::move(access)),
      console_(console),
      clock_(*around.clock),
      run_id_(run_id),
      events_(events),
      agents_(
          clock_, events_, [this](const std::string& text) { Say(text); }, around.make_client, beside_key),
      kind_(kind),
      on_log_(around.on_log) {
  if (around.catches_signals) interrupts_.emplace(events_);
  // Its thread takes none of the signals: they are blocked by now.
  if (around.describe_controller) controller_ = std::async(std::launch::async, around.describe_controller).share();
  std::FILE* const out = around.progress;
  if (kind.in_place && !how.quiet) {
    feed_.Add(std::make_shared<TerminalView>(
        out, TerminalView::Options{how.whole, kind.table && how.interval_ns == 0, console.color_err}));
  } else {
    feed_.Add(std::make_shared<PlainLines>(out, how.quiet             ? PlainLines::Of::kWarnings
                                                : how.interval_ns > 0 ? PlainLines::Of::kPhases
                                                                      : PlainLines::Of::kSteps));
  }
  if (how.interval_ns > 0 && !kind.own_lines) {
    feed_.Add(std::make_shared<IntervalView>(how.interval_ns, [this](const std::string& text) { feed_.Line(text); }));
  }
  for (const auto& view : how.views) feed_.Add(view);
  feed_.Reword(how.reword);
}

int PlannedRun::Execute() {
  if (const auto failure = Connect()) return Over(Fail(*failure));
  if (how_.dry_run) {
    DryRun();
    return Over(static_cast<int>(Exit::kOk));
  }
  absl::StatusOr<OpenResults> opened = CreateResults(how_.out, clock_.WallNow(), run_id_, plan_);
  if (!opened.ok()) return Over(Fail({Exit::kWrong, {std::string(opened.status().message())}}));
  ResultsDirectory& results = opened->directory;
  if (!how_.repeated) {
    for (const std::string& warning : Warnings(fleet().hosts())) feed_.Warn(warning);
    for (const std::string& note : Notes(results.path())) feed_.Warn(note);
  }
  RunLog log(std::move(opened->journal), clock_);
  feed_.Attach(log);
  if (on_log_) on_log_(log);
  log.OnJournalLoss([this](const absl::Status& status) {
    feed_.Warn(absl::StrCat("the journal cannot be written any more: ", std::string(status.message()), "; ",
                            kind_.continues, ", and the report is made from memory"));
  });
  const std::optional<Failure> failure = Course(log);
  feed_.Waiting();
  if (!left_) EndAgents();
  if (left_) {
    log.FlushFor(kNsPerSecond);
    const std::string left = absl::StrCat("exited at once; ", LeftText(results.path()));
    // The errors of a run that takes turns are shown by who gives them, who does not get to it.
    if (how_.turn != nullptr) {
      feed_.Warn(left);
    } else {
      PrintError(console_, left, Exit::kLeft);
    }
    // Streams and threads are not waited for: a second Ctrl-C means exit at once.
    console_.err.flush();
    _exit(static_cast<int>(Exit::kLeft));
  }
  if (failure.has_value()) {
    results.Discard();
    return Fail(*failure);
  }
  return Report(results, log);
}

int PlannedRun::Fail(const Failure& failure) {
  if (how_.end != nullptr) how_.end->errors = failure.lines;
  return PrintFailure(console_, failure);
}

std::optional<Failure> PlannedRun::Connect() {
  const std::vector<AgentPlace> places = Places();
  const std::string interrupted = absl::StrCat("interrupted: ", kind_.interrupted);
  std::vector<std::string> options = AgentOptions();
  options.insert(options.end(), how_.agent_options.begin(), how_.agent_options.end());
  if (how_.dry_run) options.emplace_back(kKeepLeftovers);
  if (auto failure = agents_.Launch(access_, places, options, plan_.max_slew_ppm(), interrupted)) return failure;
  if (!agents_.not_started().empty()) return AsFailure(agents_.not_started());
  if (auto failure = agents_.Describe(Directories(places), DescribeTimeoutNs(), interrupted, Files())) return failure;
  return Check();
}

std::vector<std::vector<std::string>> PlannedRun::Directories(const std::vector<AgentPlace>& places) const {
  std::vector<std::vector<std::string>> directories;
  for (const AgentPlace& place : places) {
    directories.emplace_back();
    for (const AgentRoot& root : place.roots) directories.back().push_back(root.path);
  }
  return directories;
}

void PlannedRun::EndAgents() {
  for (const std::string& note : agents_.End()) feed_.Warn(note);
}

int PlannedRun::Over(int code) {
  EndAgents();
  return code;
}

int PlannedRun::Report(ResultsDirectory& results, RunLog& log) {
  const v1::Report report = log.analyzer().Finish();
  feed_.End();
  absl::Status written = results.Restore();
  std::string digest;
  written.Update(WriteReportFiles(results, Seal::kReplace, report, &digest));
  if (how_.finish) written.Update(how_.finish(report, results.path()));
  // Green only where the exit code is.
  if (written.ok() && log.journal_status().ok()) {
    written.Update(WriteJUnit(how_.junit, report));
    if (!how_.metrics_file.empty()) written.Update(WriteFile(how_.metrics_file, RenderMetrics(report)));
    if (written.ok()) feed_.Report(report);
  }
  const std::string text =
      how_.text ? how_.text(report, {.path = results.path(), .digest = digest}, KeptFiles(report)) : "";
  console_.out << PaintVerdicts(text, console_.color_out) << std::flush;
  int code = ExitCode(report);
  // The measurement stands where its journal or a file could not be kept, but that must not look like success.
  for (const absl::Status& status : {log.journal_status(), written}) {
    if (status.ok()) continue;
    if (how_.end != nullptr) how_.end->errors.emplace_back(status.message());
    PrintError(console_, status, Exit::kInconclusive);
    if (code == static_cast<int>(Exit::kOk)) code = static_cast<int>(Exit::kInconclusive);
  }
  WroteOutput(console_, absl::StrCat("; the report is in ", results.path()));
  if (how_.end != nullptr) how_.end->report = report;
  return code;
}

}  // namespace plimsoll
