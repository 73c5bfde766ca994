#include "controller/cli/plan_from_watch.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/cli/compare_command.h"
#include "controller/cli/outputs.h"
#include "controller/cli/plan_flags.h"
#include "controller/cli/result_list.h"
#include "controller/export/output.h"
#include "controller/export/run_index.h"
#include "controller/from_watch/playback_plan.h"
#include "controller/from_watch/watch_recording.h"
#include "controller/journal/results.h"
#include "controller/playback/pattern_file.h"

namespace plimsoll {
namespace {

struct FromWatchFlags {
  std::string directory;
  std::string out;
  std::string pattern;
  std::string load_factor;
  std::string playback;
};

// The values of --load-factor and --playback, as `plimsoll run` takes them.
absl::StatusOr<PlaybackChoice> ReadChoice(const FromWatchFlags& flags) {
  v1::TestPlan plan;
  if (!flags.load_factor.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(SetPlanOption(*FindPlanOption("load-factor"), flags.load_factor, plan));
  }
  if (!flags.playback.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(SetPlanOption(*FindPlanOption("playback"), flags.playback, plan));
  }
  PlaybackChoice choice;
  choice.results = flags.directory;
  if (plan.group_commit().has_load_factor()) choice.load_factor = plan.group_commit().load_factor();
  if (plan.group_commit().has_playback()) choice.playback = plan.group_commit().playback();
  return choice;
}

// The pattern file: at the path that the user named, or beside the journal.
absl::StatusOr<FileWriter> OpenPattern(const FromWatchFlags& flags, const std::string& journal,
                                       const std::string& path) {
  if (flags.pattern.empty()) {
    const UniqueFd results(open(flags.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!results.valid()) return PosixError("open", flags.directory, errno);
    return FileWriter::InDirectory(results.get(), kPatternFileName, path);
  }
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pattern ", path, " is not a regular file, which a run could read: name another one"));
  }
  if (IsSameFile(path, journal)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pattern ", path, " is the journal of the watch: name another file"));
  }
  return FileWriter::ToPath(path);
}

struct MadePlan {
  std::string yaml;
  std::string brief;
  std::vector<std::string> notes;
};

absl::StatusOr<MadePlan> MakePlan(const FromWatchFlags& flags, PlaybackChoice choice) {
  PLIMSOLL_RETURN_IF_ERROR(CheckOneRun(flags.directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string journal, FindJournal(flags.directory));
  if (flags.pattern.empty() && journal == flags.directory) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.directory,
                     " is a journal by itself, which has no directory for the pattern: name a file with --pattern"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<RunIndex> index, RunIndex::Read(journal));
  PLIMSOLL_ASSIGN_OR_RETURN(const WatchRecording recording, WatchRecording::Make(*index, flags.directory));

  const std::string path =
      !flags.pattern.empty()
          ? flags.pattern
          : absl::StrCat(flags.directory, absl::EndsWith(flags.directory, "/") ? "" : "/", kPatternFileName);
  PLIMSOLL_ASSIGN_OR_RETURN(FileWriter file, OpenPattern(flags, journal, path));
  PLIMSOLL_ASSIGN_OR_RETURN(choice.sha256, recording.Write(std::move(file)));
  // A run opens it in this way.
  PLIMSOLL_RETURN_IF_ERROR(PatternFile::Open(path, choice.sha256).status());
  std::error_code error;
  choice.pattern = std::filesystem::canonical(path, error).string();
  if (error) return PosixError("realpath", path, error.value());
  if (!flags.out.empty() && (IsSameFile(flags.out, path) || IsSameFile(flags.out, journal))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out ", flags.out, " is the pattern file or the journal: name another file for the plan"));
  }
  MadePlan made;
  PLIMSOLL_ASSIGN_OR_RETURN(made.yaml, MakePlaybackPlan(index->report(), recording, choice));
  made.brief = absl::StrCat(RecordingInBrief(recording), "; the pattern is ", choice.pattern);
  made.notes = recording.notes();
  return made;
}

int FromWatchMain(const FromWatchFlags& flags, CommandLine& line) {
  const absl::StatusOr<PlaybackChoice> choice = ReadChoice(flags);
  if (!choice.ok()) return PrintError(line, choice.status(), Exit::kWrong);
  const absl::StatusOr<MadePlan> plan = MakePlan(flags, *choice);
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  for (const std::string& note : plan->notes) line.err << "note: " << SanitizeForTerminal(note) << '\n';
  if (flags.out.empty()) {
    line.out << plan->yaml << std::flush;
    if (!WroteOutput(line)) return static_cast<int>(Exit::kWrong);
    line.err << SanitizeForTerminal(plan->brief) << '\n';
    return static_cast<int>(Exit::kOk);
  }
  if (const absl::Status written = WriteFile(flags.out, plan->yaml); !written.ok()) {
    return PrintError(line, written, Exit::kWrong);
  }
  line.out << SanitizeForTerminal(absl::StrCat(flags.out, ": ", plan->brief)) << '\n';
  return static_cast<int>(Exit::kOk);
}

}  // namespace

void AddFromWatchCommand(CLI::App& plan, CommandLine& line) {
  CLI::App* command = plan.add_subcommand("from-watch", "Make a plan that plays the log writes of a watch");
  auto flags = std::make_shared<FromWatchFlags>();
  NamesResults(AddValue(*command, "DIR", "DIR", flags->directory, "Directory of the results of `plimsoll watch`"))
      ->required();
  AddOutputFile(*command, "--out", flags->out, "Write the plan to this file instead of standard output");
  AddOutputFile(*command, "--pattern", flags->pattern,
                absl::StrCat("Write the recorded writes to this file (if not given: DIR/", kPatternFileName, ")"));
  AddValue(*command, "--load-factor", "N", flags->load_factor,
           "How many times faster than recorded the plan plays the load (if not given: 1)");
  AddValue(*command, "--playback", "MODE", flags->playback,
           "demand (recorded bytes arrive over time, and gather while a write is under way; the default) or writes "
           "(exactly the recorded writes)");
  command->footer(
      "The plan's comments name what was recorded, and what is unknown (docs/playback.md).\n"
      "Example:\n  plimsoll plan from-watch watched --out plan.yaml && plimsoll run plan.yaml --dir /mnt/mqlog");
  command->callback([&line, flags] { line.action = [&line, flags] { return FromWatchMain(*flags, line); }; });
}

}  // namespace plimsoll
