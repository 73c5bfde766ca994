#include <memory>
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/judge.h"
#include "controller/app/runs.h"
#include "controller/cli/accept_record.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/result_list.h"
#include "controller/fleet/exit_code.h"
#include "controller/journal/digest.h"
#include "controller/journal/results.h"
#include "controller/live/views.h"

namespace plimsoll {
namespace {

struct ReportFlags {
  std::string directory;
  bool print_only = false;
  ViewFlags view;
};

// Reports an acceptance: the report over its parts.
int ReportAcceptance(const ReportFlags& flags, CommandLine& line) {
  const AcceptView view{flags.view.json, flags.view.full, flags.view.summary, flags.view.junit};
  if (flags.view.interval_ns > 0 || flags.view.histogram_rows > 0) {
    return PrintError(line,
                      absl::StrCat(flags.directory,
                                   " is an acceptance; --interval and --histogram show one run: name the "
                                   "directory of one of its parts, such as ",
                                   flags.directory, "/load-1"),
                      Exit::kWrong);
  }
  const absl::StatusOr<v1::AcceptReport> report = LoadAcceptDirectory(flags.directory);
  if (!report.ok()) return PrintErrors(line, report.status(), Exit::kWrong);
  absl::Status written;
  std::string digest;
  if (flags.print_only) {
    digest = DigestText(CheckDigest(flags.directory));
  } else {
    const absl::StatusOr<ResultsDirectory> results = ResultsDirectory::Open(flags.directory);
    written = results.ok() ? WriteAcceptFiles(*results, Seal::kKeep, *report, &digest) : results.status();
  }
  return PrintAcceptance(*report, {flags.directory, digest}, view, written, line);
}

int ReportMain(ReportFlags& flags, CommandLine& line) {
  if (const absl::Status status = flags.view.Read(); !status.ok()) return PrintError(line, status, Exit::kWrong);

  if (const absl::Status status = WriteUnfinishedJUnit(flags.view.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  if (IsAcceptDirectory(flags.directory)) return ReportAcceptance(flags, line);
  const absl::StatusOr<std::string> journal = FindJournal(flags.directory);
  if (!journal.ok()) return PrintError(line, journal.status(), Exit::kWrong);
  const bool is_file = *journal == flags.directory;
  Analyzer analyzer;
  std::unique_ptr<IntervalView> intervals;
  if (flags.view.interval_ns > 0) {
    intervals = std::make_unique<IntervalView>(flags.view.interval_ns,
                                               [&line](const std::string& text) { line.out << text << "\n"; });
    intervals->OnBegin(analyzer);
  }
  const absl::StatusOr<std::string> damage =
      ReadWholeRecords(*journal, [&](const v1::JournalRecord& record, const RawRecord& /*raw*/) {
        analyzer.Add(record);
        if (intervals) intervals->OnRecord(record);
      });
  if (!damage.ok()) return PrintError(line, damage.status(), Exit::kWrong);
  if (!damage->empty()) analyzer.AddDamage(DamageNote(*damage));
  const v1::Report report = analyzer.Finish();
  if (intervals) {
    intervals->OnEnd();
    line.out << "\n";
  }
  absl::Status kept;
  std::string digest;
  if (!is_file && flags.print_only) {
    digest = DigestText(CheckDigest(flags.directory));
  } else if (!is_file) {
    const absl::StatusOr<ResultsDirectory> results = ResultsDirectory::Open(flags.directory);
    kept = results.ok() ? WriteReportFiles(*results, Seal::kKeep, report, &digest) : results.status();
  }
  line.out << PaintVerdicts(
                  ReportText(report, flags.view, {.path = flags.directory, .is_journal = is_file, .digest = digest}),
                  line.color_out && flags.view.summary.empty())
           << std::flush;
  WroteOutput(line);
  if (!kept.ok()) return PrintError(line, kept, Exit::kWrong);
  if (const absl::Status written = WriteJUnit(flags.view.junit, report); !written.ok()) {
    return PrintError(line, written, Exit::kWrong);
  }
  return ExitCode(report);
}

}  // namespace

void AddReportCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = app.add_subcommand("report", "Recreate the report of a run from its journal");
  NamesResults(command->add_option("DIR", flags->directory, "Directory of the results, or a journal"))->required();
  CLI::Option* json = AddJsonFlag(*command, flags->view.json);
  command->add_flag("--print-only", flags->print_only, "Print the report without writing its files again");
  flags->view.AddTo(*command, "before the report");
  json->excludes("--interval")->excludes("--histogram")->excludes("--full")->excludes("--summary");
  command->get_option("--summary")->excludes("--interval");
  command->footer("Example:\n  plimsoll report plimsoll-results/20261120T192011Z-7f3a21");
  command->callback([flags, &line] { line.action = [flags, &line] { return ReportMain(*flags, line); }; });
}

}  // namespace plimsoll
