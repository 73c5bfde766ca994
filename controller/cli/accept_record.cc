#include "controller/cli/accept_record.h"

#include <filesystem>
#include <ostream>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/accept/accept_render.h"
#include "controller/accept/accept_report.h"
#include "controller/cli/compare_flags.h"
#include "controller/compare/report_json.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/yaml_tree.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

constexpr char kAcceptRecordName[] = "accept.json";
constexpr uint64_t kAcceptRecordFormat = 1;
constexpr size_t kMostAcceptBytes = size_t{64} << 20;

std::string AcceptRecordPath(const std::string& directory) {
  return (std::filesystem::path(directory) / kAcceptRecordName).string();
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

}  // namespace

bool IsAcceptDirectory(const std::string& directory) {
  std::error_code error;
  return std::filesystem::is_regular_file(AcceptRecordPath(directory), error);
}

absl::StatusOr<v1::AcceptReport> LoadAcceptDirectory(const std::string& directory) {
  const std::string path = AcceptRecordPath(directory);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostAcceptBytes));
  v1::AcceptReport report;
  absl::Status read = ParseJson(text, kAcceptRecordFormat, "the record of an acceptance (accept.json)", report);
  if (read.ok()) read = CheckRuns(report);
  if (!read.ok()) return absl::Status(read.code(), absl::StrCat(path, ": ", std::string(read.message())));
  for (v1::AcceptRun& run : *report.mutable_runs()) {
    // Under way when the acceptance was cut off.
    if (!run.began() || run.outcome() != v1::OUTCOME_UNSPECIFIED) continue;
    const absl::StatusOr<v1::Report> found = LoadReport((std::filesystem::path(directory) / DirectoryOf(run)).string());
    if (found.ok()) {
      run.set_directory(DirectoryOf(run));
      TakeRun(*found, run, report);
    } else {
      TakeFailure("the acceptance was cut off", run);
    }
  }
  JudgeAcceptance(report);
  return report;
}

absl::Status WriteAcceptRecord(const ResultsDirectory& results, const v1::AcceptReport& report) {
  return results.Write(kAcceptRecordName, RenderJson(report));
}

absl::Status WriteAcceptFiles(const ResultsDirectory& results, const v1::AcceptReport& report) {
  absl::Status first = WriteAcceptRecord(results, report);
  first.Update(results.Write("accept.txt", RenderAcceptText(report)));
  first.Update(results.Write("accept.html", RenderAcceptPage(report)));
  return first;
}

int PrintAcceptance(const v1::AcceptReport& report, const std::string& path, const AcceptView& view,
                    const absl::Status& written, CommandLine& line) {
  absl::Status kept = written;
  // Green only where the exit code is.
  if (kept.ok() && !view.junit.empty()) kept.Update(WriteFile(view.junit, RenderAcceptJUnit(report)));
  line.out << (view.json               ? RenderJson(report)
               : !view.summary.empty() ? RenderAcceptMarkdown(report, path)
                                       : absl::StrCat(PaintVerdicts(RenderAcceptText(report), line.color_out),
                                                      "\nResults in ", SanitizeForTerminal(path), "\n"))
           << std::flush;
  int code = report.outcome() == v1::OUTCOME_PASS   ? static_cast<int>(Exit::kOk)
             : report.outcome() == v1::OUTCOME_FAIL ? static_cast<int>(Exit::kFailed)
                                                    : static_cast<int>(Exit::kInconclusive);
  if (!kept.ok()) {
    PrintError(line, kept, Exit::kInconclusive);
    if (code == static_cast<int>(Exit::kOk)) code = static_cast<int>(Exit::kInconclusive);
  }
  WroteOutput(line, absl::StrCat("; the report is in ", path));
  return code;
}

}  // namespace plimsoll
