#include "controller/cli/compare_flags.h"

#include <algorithm>
#include <cctype>
#include <ostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/compare/compare_page.h"
#include "controller/compare/compare_text.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/run/results.h"

namespace plimsoll {

absl::StatusOr<double> ParsePercent(const std::string& flag, const std::string& text) {
  double percent = 0;
  const std::string number(absl::StripSuffix(text, "%"));
  if (!absl::SimpleAtod(number, &percent) || !(percent >= 0) || percent > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": \"", text, "\" is not a percentage from 0 to 1000, such as 10%"));
  }
  return percent / 100;
}

absl::Status CheckSideName(const std::string& name) {
  constexpr size_t kLongest = 24;
  const bool printable = SanitizeForTerminal(name) == name && name.find('\n') == std::string::npos;
  if (!name.empty() && printable && DisplayWidth(name) <= kLongest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is not a name of a side: 1 to ", kLongest, " printable characters"));
}

void CompareFlags::AddTo(CLI::App& command) {
  command.add_option("--names", names, WrapHelp("Names of the sides, in their order, separated by commas"))
      ->type_name("NAMES");
  command
      .add_option("--differs", differs,
                  WrapHelp("Plan options that are meant to differ between the sides, such as sync,rate: they are "
                           "listed, and neither refused nor warned about"))
      ->type_name("OPTIONS");
  command.add_option("--min-effect", min_effect, WrapHelp("Smallest difference that counts (default: 3%)"))
      ->type_name("PERCENT");
  command
      .add_option("--fail-if-slower", fail_if_slower,
                  WrapHelp("Exit with 1 if a gated figure is slower by more than this, with 0 if none is (95 % "
                           "confidence), with 3 if undetermined"))
      ->type_name("PERCENT");
  command
      .add_option("--gate", gate,
                  WrapHelp("Figures that --fail-if-slower tests: iops, mb_per_second, avg, p50, p99, p99_9 "
                           "(default: iops,avg,p50,p99)"))
      ->type_name("FIGURES");
  command.add_flag("--json", json, "Print the comparison as JSON instead of text");
  command.add_option("--csv", csv, "Also write the tables as CSV")->type_name("FILE");
  command.add_option("--html", html, "Also write an HTML page with charts")->type_name("FILE");
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
    if (!figures.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--gate: ", std::string(figures.status().message())));
    }
    settings.gate = *std::move(figures);
  }
  if (!differs.empty()) {
    absl::StatusOr<StatedDifferences> stated = ParseDiffers(differs);
    if (!stated.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--differs: ", std::string(stated.status().message())));
    }
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
      return absl::InvalidArgumentError(absl::StrCat("--names: \"", listed[i], "\" is there twice"));
    }
    sides[i].name = listed[i];
  }
  return absl::OkStatus();
}

int PrintComparison(const CompareFlags& flags, const std::vector<SideInput>& sides, const v1::Comparison& comparison,
                    CommandLine& line) {
  line.out << (flags.json ? RenderJson(comparison) : RenderCompareText(comparison)) << std::flush;
  if (!line.out) return PrintError(line, "standard output could not be written", Exit::kWrong);
  absl::Status written;
  if (!flags.csv.empty()) written.Update(WriteFile(flags.csv, RenderCompareCsv(comparison)));
  if (!flags.html.empty()) written.Update(WriteFile(flags.html, RenderComparePage(sides, comparison)));
  if (!written.ok()) return PrintError(line, written, Exit::kWrong);
  for (const std::string& slower : comparison.slower()) line.err << "plimsoll: " << SanitizeForTerminal(slower) << '\n';
  for (const std::string& undecided : comparison.undecided()) {
    line.err << "plimsoll: undecided: " << SanitizeForTerminal(undecided) << '\n';
  }
  if (!comparison.slower().empty()) return static_cast<int>(Exit::kFailed);
  return static_cast<int>(comparison.undecided().empty() ? Exit::kOk : Exit::kInconclusive);
}

}  // namespace plimsoll
