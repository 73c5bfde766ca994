#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/analysis/analyzer.h"
#include "controller/cli/commands.h"
#include "controller/compare/comparable.h"
#include "controller/compare/compare.h"
#include "controller/compare/compare_page.h"
#include "controller/compare/compare_text.h"
#include "controller/compare/report_json.h"
#include "controller/plan/yaml_tree.h"
#include "controller/render/json.h"
#include "controller/run/journal.h"
#include "controller/run/results.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Far more than the report of the largest run.
constexpr size_t kMaxJsonBytes = size_t{256} << 20;

absl::StatusOr<v1::Report> LoadJournal(const std::string& path) {
  Analyzer analyzer;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::string damage,
      ReadWholeRecords(path, [&](const v1::JournalRecord& record, const RawRecord& /*raw*/) { analyzer.Add(record); }));
  // The comparison warns of it.
  if (!damage.empty()) analyzer.AddDamage(damage + ".");
  return analyzer.Finish();
}

// A pipe would block, and a device may have no end.
absl::Status CheckRegular(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
}

absl::StatusOr<v1::Report> LoadJson(const std::string& path) {
  PLIMSOLL_RETURN_IF_ERROR(CheckRegular(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxJsonBytes));
  absl::StatusOr<v1::Report> report = ParseReportJson(text);
  if (!report.ok()) {
    return absl::Status(report.status().code(), absl::StrCat(path, ": ", std::string(report.status().message())));
  }
  return report;
}

// A report.json begins with a brace, a journal does not.
bool BeginsWithBrace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = '\0';
  file >> first;
  return file && first == '{';
}

// The report of `path`: of a directory from its journal, or where that is missing from its report.json; of a file from
// what it is, a report.json or a journal. NOT_FOUND where there is nothing; else the error names the fault.
absl::StatusOr<v1::Report> LoadReport(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return absl::NotFoundError(absl::StrCat(path, ": there is no such result"));
  if (!fs::is_directory(status)) {
    PLIMSOLL_RETURN_IF_ERROR(CheckRegular(path));
    return absl::EndsWith(path, ".json") || BeginsWithBrace(path) ? LoadJson(path) : LoadJournal(path);
  }
  const std::string journal = absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", "journal");
  if (fs::exists(journal, error)) return LoadJournal(journal);
  const std::string json = absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", "report.json");
  if (fs::exists(json, error)) return LoadJson(json);
  return absl::NotFoundError(absl::StrCat(path, ": holds neither a journal nor a report.json: no result of a run"));
}

// One side of the command line: results separated by commas. An argument that names something that exists is that one
// result, whatever commas its name has. Sources are the paths as they are given.
absl::StatusOr<SideInput> LoadSide(const std::string& argument) {
  std::vector<std::string> paths = {argument};
  std::error_code error;
  if (!fs::exists(argument, error)) paths = absl::StrSplit(argument, ',');
  SideInput side;
  for (const std::string& path : paths) {
    if (path.empty()) return absl::InvalidArgumentError(absl::StrCat("\"", argument, "\": a result's name is empty"));
    PLIMSOLL_ASSIGN_OR_RETURN(v1::Report report, LoadReport(path));
    side.runs.push_back({path, std::move(report)});
  }
  return side;
}

struct CompareFlags {
  std::vector<std::string> sides;
  std::string min_effect = "3%";
  std::string fail_if_slower;
  std::string gate;
  bool json = false;
  std::string csv;
  std::string html;
};

// "10%" or "10" as 0.1.
absl::StatusOr<double> ParsePercent(const std::string& flag, const std::string& text) {
  double percent = 0;
  const std::string number(absl::StripSuffix(text, "%"));
  if (!absl::SimpleAtod(number, &percent) || !(percent >= 0) || percent > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": \"", text, "\" is not a percentage from 0 to 1000, such as 10%"));
  }
  return percent / 100;
}

absl::StatusOr<CompareSettings> SettingsOf(const CompareFlags& flags) {
  CompareSettings settings;
  const absl::StatusOr<double> min_effect = ParsePercent("--min-effect", flags.min_effect);
  if (!min_effect.ok()) return min_effect.status();
  settings.min_effect = *min_effect;
  if (!flags.fail_if_slower.empty()) {
    const absl::StatusOr<double> limit = ParsePercent("--fail-if-slower", flags.fail_if_slower);
    if (!limit.ok()) return limit.status();
    settings.fail_if_slower = *limit;
  }
  if (!flags.gate.empty()) {
    if (!settings.fail_if_slower) return absl::InvalidArgumentError("--gate needs --fail-if-slower");
    absl::StatusOr<std::vector<v1::Figure>> gate = ParseGate(flags.gate);
    if (!gate.ok()) return absl::InvalidArgumentError(absl::StrCat("--gate: ", std::string(gate.status().message())));
    settings.gate = *std::move(gate);
  }
  return settings;
}

int CompareMain(const CompareFlags& flags, CommandLine& line) {
  if (flags.sides.size() < 2) return PrintError(line, "compare needs two results at least", Exit::kWrong);
  const absl::StatusOr<CompareSettings> settings = SettingsOf(flags);
  if (!settings.ok()) return PrintError(line, settings.status(), Exit::kWrong);
  std::vector<SideInput> sides;
  for (const std::string& argument : flags.sides) {
    absl::StatusOr<SideInput> side = LoadSide(argument);
    if (!side.ok()) return PrintError(line, side.status(), Exit::kWrong);
    sides.push_back(*std::move(side));
  }
  const absl::StatusOr<v1::Comparison> comparison = Compare(sides, *settings);
  if (!comparison.ok()) return PrintError(line, comparison.status(), Exit::kWrong);

  line.out << (flags.json ? RenderJson(*comparison) : RenderCompareText(*comparison)) << std::flush;
  if (!line.out) return PrintError(line, "standard output could not be written", Exit::kWrong);
  absl::Status written;
  if (!flags.csv.empty()) written.Update(WriteFile(flags.csv, RenderCompareCsv(*comparison)));
  if (!flags.html.empty()) written.Update(WriteFile(flags.html, RenderComparePage(sides, *comparison)));
  if (!written.ok()) return PrintError(line, written, Exit::kWrong);
  for (const std::string& slower : comparison->slower())
    line.err << "plimsoll: " << SanitizeForTerminal(slower) << '\n';
  for (const std::string& undecided : comparison->undecided()) {
    line.err << "plimsoll: undecided: " << SanitizeForTerminal(undecided) << '\n';
  }
  if (!comparison->slower().empty()) return static_cast<int>(Exit::kFailed);
  return static_cast<int>(comparison->undecided().empty() ? Exit::kOk : Exit::kInconclusive);
}

}  // namespace

void AddCompareCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* command = app.add_subcommand("compare", "Compare results, with significance tests");
  command
      ->add_option("RESULT", flags->sides,
                   WrapHelp("Result directories, or their report.json; each is compared with the first. Repeated runs "
                            "of one configuration, separated by commas, form one side"))
      ->required();
  command->add_option("--min-effect", flags->min_effect, WrapHelp("Smallest difference that counts (default: 3%)"))
      ->type_name("PERCENT");
  command
      ->add_option("--fail-if-slower", flags->fail_if_slower,
                   WrapHelp("Exit with 1 if a gated figure is slower by more than this, with 0 if none is (95 % "
                            "confidence), with 3 if undetermined"))
      ->type_name("PERCENT");
  command
      ->add_option("--gate", flags->gate,
                   WrapHelp("Figures that --fail-if-slower tests: iops, mb_per_second, avg, p50, p99, p99_9 "
                            "(default: iops,avg,p50,p99)"))
      ->type_name("FIGURES");
  command->add_flag("--json", flags->json, "Print the comparison as JSON instead of text");
  command->add_option("--csv", flags->csv, "Also write the tables as CSV")->type_name("FILE");
  command->add_option("--html", flags->html, "Also write an HTML page with charts")->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  plimsoll compare plimsoll-results/san plimsoll-results/nfs --html compare.html\n"
      "  plimsoll compare san1,san2,san3 nfs1,nfs2,nfs3 --fail-if-slower 10%");
  command->callback([flags, &line] { line.action = [flags, &line] { return CompareMain(*flags, line); }; });
}

}  // namespace plimsoll
