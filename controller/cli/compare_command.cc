#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "controller/cli/ab_record.h"
#include "controller/cli/commands.h"
#include "controller/cli/compare_flags.h"
#include "controller/compare/compare.h"

namespace plimsoll {
namespace {

struct CompareCommandFlags {
  std::vector<std::string> results;
  bool paired = false;
  CompareFlags compare;
};

// The sides that the command line names; of a single directory of `plimsoll ab`, its rounds as they were planned.
absl::StatusOr<std::vector<SideInput>> LoadSides(CompareCommandFlags& flags, const CLI::App& command,
                                                 CompareSettings& settings) {
  std::vector<SideInput> sides;
  if (flags.results.size() == 1 && IsAbDirectory(flags.results[0])) {
    PLIMSOLL_ASSIGN_OR_RETURN(AbResults ab, LoadAbDirectory(flags.results[0]));
    settings.paired = DesignOf(ab.record);
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
  absl::StatusOr<std::vector<SideInput>> sides = LoadSides(flags, command, *settings);
  if (!sides.ok()) return PrintError(line, sides.status(), Exit::kWrong);
  if (const absl::Status named = flags.compare.NameSides(*sides); !named.ok()) {
    return PrintError(line, named, Exit::kWrong);
  }
  const absl::StatusOr<v1::Comparison> comparison = Compare(*sides, *settings);
  if (!comparison.ok()) return PrintError(line, comparison.status(), Exit::kWrong);
  return PrintComparison(flags.compare, *sides, *comparison, line);
}

}  // namespace

void AddCompareCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<CompareCommandFlags>();
  CLI::App* command = app.add_subcommand("compare", "Compare results, with significance tests");
  command
      ->add_option("RESULT", flags->results,
                   WrapHelp("Result directories, or their report.json; each is compared with the first. Repeated runs "
                            "of one configuration, separated by commas, form one side. A directory of `plimsoll ab` by "
                            "itself is compared round by round"))
      ->required();
  command->add_flag("--paired", flags->paired,
                    WrapHelp("The n-th runs of two sides were measured in turn and belong together; of one run a side, "
                             "the n-th steps of each block size (--repeat)"));
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
