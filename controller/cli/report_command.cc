#include "controller/cli/report_command.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "controller/analysis/analyzer.h"
#include "controller/analysis/verdict.h"
#include "controller/cli/outputs.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/run/exit_code.h"
#include "controller/run/journal.h"

namespace plimsoll {
namespace {

struct ReportFlags {
  std::string directory;
  bool json = false;
  bool print_only = false;
};

int ReportMain(const ReportFlags& flags) {
  const bool is_file = std::filesystem::is_regular_file(flags.directory);
  const std::string journal = is_file ? flags.directory : flags.directory + "/journal";
  Analyzer analyzer;
  const absl::StatusOr<JournalEnd> end =
      ReadJournal(journal, [&analyzer](const v1::JournalRecord& record) { analyzer.Add(record); });
  if (!end.ok() && end.status().code() != absl::StatusCode::kDataLoss) {
    std::fprintf(stderr, "plimsoll: %s\n", std::string(end.status().message()).c_str());
    return static_cast<int>(Exit::kWrong);
  }
  if (!end.ok()) {
    // What comes before the damage is whole.
    std::fprintf(stderr, "plimsoll: %s; the report covers what comes before\n",
                 std::string(end.status().message()).c_str());
  }
  const absl::StatusOr<v1::Report> report = analyzer.Finish();
  if (!report.ok()) {
    std::fprintf(stderr, "plimsoll: %s: %s\n", journal.c_str(), std::string(report.status().message()).c_str());
    return static_cast<int>(Exit::kWrong);
  }
  std::cout << (flags.json ? RenderJson(*report) : RenderText(*report)) << std::flush;
  if (!flags.print_only && !is_file) {
    if (const absl::Status written = WriteReportFiles(flags.directory, *report); !written.ok()) {
      std::fprintf(stderr, "plimsoll: %s\n", std::string(written.message()).c_str());
    }
  }
  return ExitCode(*report);
}

}  // namespace

void AddReportCommand(CLI::App& app, std::function<int()>& action) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = app.add_subcommand("report", "Make every output of a run again, from its journal alone");
  command->add_option("DIR", flags->directory, "Directory of the results, or a journal")->required();
  command->add_flag("--json", flags->json, "Print the report as JSON instead of text");
  command->add_flag("--print-only", flags->print_only, "Print only; leave the files as they are");
  command->footer("Example:\n  plimsoll report plimsoll-results/20261120T192011Z-7f3a21");
  command->callback([flags, &action] { action = [flags] { return ReportMain(*flags); }; });
}

}  // namespace plimsoll
