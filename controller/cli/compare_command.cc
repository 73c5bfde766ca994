#include "controller/cli/compare_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/command_line/command_line.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/analysis/analyzer.h"
#include "controller/cli/ab_record.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/result_list.h"
#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/report_json.h"
#include "controller/compare/step_data.h"
#include "controller/compare/watched_sides.h"
#include "controller/journal/results.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"

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

absl::StatusOr<v1::Report> LoadJson(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxJsonBytes));
  absl::StatusOr<v1::Report> report = ParseReportJson(text);
  if (!report.ok()) return WithContext(path, report.status());
  return report;
}

// A report.json begins with a brace, a journal does not.
absl::StatusOr<bool> BeginsWithBrace(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd file, OpenRegularFile(path));
  std::string start(4096, '\0');
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t size, ReadFully(file.get(), path, start.data(), start.size()));
  start.resize(size);
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(start), "{");
}

}  // namespace

absl::Status CheckOneRun(const std::string& path) {
  if (IsAbDirectory(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the rounds of `plimsoll ab`, not one run; `plimsoll compare ", ShellQuoted(path),
                     "` compares them, and each run is in a directory below it"));
  }
  std::error_code error;
  if (fs::exists(absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", "accept.json"), error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the parts of `plimsoll accept`, not one run; name one of them, such as load-1 below it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Report> LoadReport(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return absl::NotFoundError(absl::StrCat(path, " does not exist"));
  if (!fs::is_directory(status)) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool json, BeginsWithBrace(path));
    return json || absl::EndsWith(path, ".json") ? LoadJson(path) : LoadJournal(path);
  }
  const std::string journal = absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", "journal");
  if (fs::exists(journal, error)) return LoadJournal(journal);
  const std::string json = absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", "report.json");
  if (fs::exists(json, error)) return LoadJson(json);
  PLIMSOLL_RETURN_IF_ERROR(CheckOneRun(path));
  return absl::NotFoundError(absl::StrCat(path, ": holds neither a journal nor a report.json: no result of a run"));
}

absl::StatusOr<SideInput> LoadSide(const std::string& argument) {
  std::vector<std::string> paths = {argument};
  std::error_code error;
  if (!fs::exists(argument, error)) paths = absl::StrSplit(argument, ',');
  SideInput side;
  for (const std::string& path : paths) {
    if (path.empty()) return absl::InvalidArgumentError(absl::StrCat(Quoted(argument), ": a result's name is empty"));
    PLIMSOLL_ASSIGN_OR_RETURN(v1::Report report, LoadReport(path));
    side.runs.push_back({path, std::move(report)});
  }
  return side;
}

absl::StatusOr<double> ParsePercent(const std::string& flag, const std::string& text) {
  double percent = 0;
  const std::string number(absl::StripSuffix(text, "%"));
  if (!absl::SimpleAtod(number, &percent) || !(percent >= 0) || percent > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", Quoted(text), " is not a percentage from 0 to 1000, such as 10%"));
  }
  return percent / 100;
}

absl::Status CheckSideName(const std::string& name) {
  constexpr size_t kLongest = 24;
  const bool printable = SanitizeForTerminal(name) == name && name.find('\n') == std::string::npos;
  if (!name.empty() && printable && DisplayWidth(name) <= kLongest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(name), " is not a name of a side: 1 to ", kLongest, " printable characters"));
}

void CompareFlags::AddTo(CLI::App& command) {
  AddValue(command, "--names", "NAMES", names, "Names of the sides, in their order, separated by commas");
  AddValue(command, "--differs", "OPTIONS", differs,
           "Plan options that are meant to differ between the sides, such as sync,rate: "
           "these are listed, but neither refused nor warned about");
  AddValue(command, "--min-effect", "PERCENT", min_effect, "Smallest difference that counts (default: 3%)");
  AddValue(command, "--fail-if-slower", "PERCENT", fail_if_slower,
           "Exit with 1 if a gated figure is slower by more than this, with 0 if no figure is (95 % "
           "confidence), with 3 if undetermined");
  AddValue(command, "--gate", "FIGURES", gate,
           "Figures that --fail-if-slower tests: iops, mb_per_second, avg, p50, p99, p99_9 "
           "(default: iops,avg,p50,p99)");
  command
      .add_option("--times", times,
                  "Latencies that are compared where all runs have a target rate: response (default), or service, the "
                  "time of the write call")
      ->check(OneOf({"response", "service"}));
  command.add_flag("--json", json, "Print the comparison as JSON instead of text");
  AddOutputFile(command, "--csv", csv, "Also write the tables as CSV");
  AddOutputFile(command, "--html", html, "Also write an HTML page with charts");
}

absl::StatusOr<CompareSettings> CompareFlags::Settings() const {
  CompareSettings settings;
  PLIMSOLL_ASSIGN_OR_RETURN(settings.min_effect, ParsePercent("--min-effect", min_effect));
  if (!fail_if_slower.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(settings.fail_if_slower, ParsePercent("--fail-if-slower", fail_if_slower));
  }
  if (!gate.empty()) {
    if (!settings.fail_if_slower) return absl::InvalidArgumentError("--gate needs --fail-if-slower");
    absl::StatusOr<std::vector<v1::Figure>> figures = ParseGate(gate);
    if (!figures.ok()) return WithContext("--gate", figures.status());
    settings.gate = *std::move(figures);
  }
  if (!differs.empty()) {
    absl::StatusOr<StatedDifferences> stated = ParseDiffers(differs);
    if (!stated.ok()) return WithContext("--differs", stated.status());
    settings.differs = *std::move(stated);
  }
  return settings;
}

absl::Status CompareFlags::NameSides(std::vector<SideInput>& sides) const {
  if (names.empty()) return absl::OkStatus();
  const std::vector<std::string> listed = absl::StrSplit(names, ',');
  if (listed.size() != sides.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--names: ", listed.size(), " for ", sides.size(), " sides; give each side a name"));
  }
  for (size_t i = 0; i < sides.size(); ++i) {
    if (const absl::Status good = CheckSideName(listed[i]); !good.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--names: ", std::string(good.message())));
    }
    if (std::count(listed.begin(), listed.end(), listed[i]) > 1) {
      return absl::InvalidArgumentError(absl::StrCat("--names: ", Quoted(listed[i]), " is there twice"));
    }
    sides[i].name = listed[i];
  }
  return absl::OkStatus();
}

int PrintComparison(const CompareFlags& flags, const std::vector<SideInput>& sides, const v1::Comparison& comparison,
                    CommandLine& line) {
  line.out << (flags.json ? RenderJson(comparison) : RenderCompareText(comparison)) << std::flush;
  if (!WroteOutput(line)) return static_cast<int>(Exit::kWrong);
  absl::Status written;
  if (!flags.csv.empty()) written.Update(WriteFile(flags.csv, RenderCompareCsv(comparison)));
  if (!flags.html.empty()) written.Update(WriteFile(flags.html, RenderComparePage(sides, comparison)));
  if (!written.ok()) return PrintError(line, written, Exit::kWrong);
  // The text has them all.
  if (flags.json) {
    for (const std::string& slower : comparison.slower()) {
      line.err << "plimsoll: " << SanitizeForTerminal(slower) << '\n';
    }
    for (const std::string& undecided : comparison.undecided()) {
      line.err << "plimsoll: undecided: " << SanitizeForTerminal(undecided) << '\n';
    }
  }
  if (!comparison.slower().empty()) return static_cast<int>(Exit::kFailed);
  return static_cast<int>(comparison.undecided().empty() ? Exit::kOk : Exit::kInconclusive);
}

namespace {

struct CompareCommandFlags {
  std::vector<std::string> results;
  bool paired = false;
  CompareFlags compare;
};

// The sides that the command line names; of a single directory of `plimsoll ab`, its rounds as they were planned, and
// what SealWarning returns.
absl::StatusOr<std::vector<SideInput>> LoadSides(CompareCommandFlags& flags, const CLI::App& command,
                                                 CompareSettings& settings, std::string& seal_warning) {
  std::vector<SideInput> sides;
  if (flags.results.size() == 1 && IsAbDirectory(flags.results[0])) {
    PLIMSOLL_ASSIGN_OR_RETURN(AbResults ab, LoadAbDirectory(flags.results[0]));
    settings.paired = DesignOf(ab.record);
    seal_warning = SealWarning(ab.record);
    settings.differs.insert(ab.record.differs.begin(), ab.record.differs.end());
    if (command.count("--min-effect") == 0) {
      PLIMSOLL_ASSIGN_OR_RETURN(settings.min_effect, ParsePercent("min_effect", ab.record.min_effect));
    }
    return std::move(ab.sides);
  }
  if (flags.results.size() < 2) {
    return absl::InvalidArgumentError("compare needs two results at least, or a directory of `plimsoll ab`");
  }
  for (const std::string& argument : flags.results) {
    PLIMSOLL_ASSIGN_OR_RETURN(SideInput side, LoadSide(argument));
    sides.push_back(std::move(side));
  }
  if (flags.paired) {
    PLIMSOLL_RETURN_IF_ERROR(PairUp(sides));
    settings.paired.emplace();
  }
  return sides;
}

int CompareMain(CompareCommandFlags& flags, const CLI::App& command, CommandLine& line) {
  absl::StatusOr<CompareSettings> settings = flags.compare.Settings();
  if (!settings.ok()) return PrintError(line, settings.status(), Exit::kWrong);
  std::string seal_warning;
  absl::StatusOr<std::vector<SideInput>> sides = LoadSides(flags, command, *settings, seal_warning);
  if (!sides.ok()) {
    return PrintError(line, sides.status(), absl::IsDataLoss(sides.status()) ? Exit::kInconclusive : Exit::kWrong);
  }
  if (const absl::Status named = flags.compare.NameSides(*sides); !named.ok()) {
    return PrintError(line, named, Exit::kWrong);
  }
  if (flags.compare.times != "service") UseResponseTimes(*sides);
  if (const absl::Status aligned = AlignWithWatched(*sides); !aligned.ok()) {
    return PrintError(line, aligned, Exit::kWrong);
  }
  absl::StatusOr<v1::Comparison> comparison = Compare(*sides, *settings);
  if (!comparison.ok()) return PrintError(line, comparison.status(), Exit::kWrong);
  if (!seal_warning.empty()) comparison->add_warnings(seal_warning);
  return PrintComparison(flags.compare, *sides, *comparison, line);
}

}  // namespace

void AddCompareCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<CompareCommandFlags>();
  CLI::App* command = app.add_subcommand("compare", "Compare results, with significance tests");
  NamesResults(
      command->add_option("RESULT", flags->results,
                          "Result directories, or their report.json; each is compared with the first. Repeated runs "
                          "of one configuration, separated by commas, form one side. A `plimsoll ab` directory given "
                          "alone is compared round by round"))
      ->required();
  command->add_flag("--paired", flags->paired,
                    "Compare the n-th run of one side with the n-th of the other; with one run per side, the "
                    "n-th step of each block size (--repeat)");
  flags->compare.AddTo(*command);
  command->footer(
      "Examples:\n"
      "  plimsoll compare plimsoll-results/san plimsoll-results/nfs --html compare.html\n"
      "  plimsoll compare san1,san2,san3 nfs1,nfs2,nfs3 --fail-if-slower 10%\n"
      "  plimsoll compare --paired --names san,nfs a1,a2,a3,a4,a5,a6 b1,b2,b3,b4,b5,b6");
  command->callback([flags, command, &line] {
    line.action = [flags, command, &line] { return CompareMain(*flags, *command, line); };
  });
}

}  // namespace plimsoll
