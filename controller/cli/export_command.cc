#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command_line/command_line.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/commands.h"
#include "controller/cli/compare_command.h"
#include "controller/cli/outputs.h"
#include "controller/cli/result_list.h"
#include "controller/export/formats.h"
#include "controller/export/output.h"
#include "controller/export/run_index.h"
#include "controller/export/write_stream.h"
#include "controller/fleet/exit_code.h"
#include "controller/journal/results.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

constexpr char kStandardOutput[] = "-";

struct ExportFlags {
  std::string directory;
  std::string format;
  std::string output;
  uint32_t step = 0;
  bool warmup = false;
  bool unix_epoch = false;
  // 0: not given.
  uint32_t slowest = 0;
};

// Why the run has nothing that a format could hold; OK where a step of it began.
absl::Status CheckHasSteps(const std::string& directory, const RunIndex& index) {
  const RunKindFacts& kind = FactsOf(RunKindOf(index.report()));
  if (kind.not_exportable != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(directory, ": ", kind.noun, kind.not_exportable));
  }
  if (!index.steps().empty()) return absl::OkStatus();
  const std::string& why = index.report().run().state_reason();
  return absl::InvalidArgumentError(absl::StrCat(directory, ": a run of which no step began",
                                                 why.empty() ? "" : absl::StrCat(" (", why, ")"),
                                                 ": there are no writes to export"));
}

// Opens the output where the format is one stream, and runs the export. `path` is empty for standard output; `results`
// is the directory that holds its last component `name`, where the program chose that, else no descriptor.
absl::StatusOr<uint64_t> RunExport(const ExportFormat& format, ExportTask& task, const std::string& path,
                                   const UniqueFd& results, const std::string& name, std::ostream& out) {
  if (format.makes_directory) {
    task.directory = path;
    task.results = results.get();
    return format.run(task);
  }
  std::unique_ptr<Output> output;
  if (path.empty()) {
    output = MakeStreamOutput(out);
  } else {
    if (IsSameFile(path, task.index.journal_path())) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is the journal itself: name another file with --output"));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(output, results.valid() ? OpenOutputIn(results.get(), name, path) : OpenFileOutput(path));
  }
  task.output = output.get();
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t writes, format.run(task));
  PLIMSOLL_RETURN_IF_ERROR(output->Finish());
  return writes;
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  names.reserve(std::size(kExportFormats));
  for (const ExportFormat& format : kExportFormats) names.emplace_back(format.name);
  return names;
}

std::string FormatsHelp() {
  return absl::StrJoin(kExportFormats, ", ", [](std::string* text, const ExportFormat& format) {
    absl::StrAppend(text, format.name, " (", format.help, ")");
  });
}

std::string OutputHelp() {
  std::string directories;
  std::string defaults = "standard output";
  for (const ExportFormat& format : kExportFormats) {
    if (format.makes_directory) absl::StrAppend(&directories, directories.empty() ? "" : ", ", format.name);
    if (format.default_name != nullptr) absl::StrAppend(&defaults, "; DIR/", format.default_name);
  }
  return absl::StrCat("File to write, - for standard output; for ", directories,
                      " the directory to create (if not given: ", defaults, ")");
}

const ExportFormat* FindFormat(const std::string& name) {
  for (const ExportFormat& format : kExportFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

// The file or directory to write; empty for standard output.
absl::StatusOr<std::string> PathOf(const ExportFlags& flags, const ExportFormat& format, bool is_file) {
  if (flags.output == kStandardOutput) {
    if (format.makes_directory) {
      return absl::InvalidArgumentError(
          absl::StrCat(format.name, " makes a directory of files: name it with --output"));
    }
    return std::string();
  }
  if (!flags.output.empty()) return flags.output;
  if (format.default_name == nullptr) return std::string();
  if (is_file)
    return absl::InvalidArgumentError(
        absl::StrCat(format.name, " needs --output: a journal by itself has no directory for it"));
  return absl::StrCat(flags.directory, "/", format.default_name);
}

// Writes that should have a trace and have none.
uint64_t DroppedWrites(const RunIndex& index, const WriteFilter& filter) {
  uint64_t dropped = 0;
  for (const auto& [step, counts] : index.untraced()) {
    if (filter.step && *filter.step != step) continue;
    dropped += counts.dropped_measured + (filter.warmup ? counts.dropped_warmup : 0);
  }
  return dropped;
}

// What a reader of the export must know, on standard error.
void PrintNotes(const RunIndex& index, const ExportFormat& format, const WriteFilter& filter, uint64_t writes,
                uint64_t moved, CommandLine& line) {
  const auto note = [&line](const std::string& text) { line.err << "plimsoll: " << SanitizeForTerminal(text) << '\n'; };
  if (!index.damage().empty())
    note(absl::StrCat(index.damage(),
                      index.damaged() ? "; the export ends there." : "; the export holds what is there."));
  if (const std::string remark = format.remark == nullptr ? "" : format.remark(index, filter); !remark.empty()) {
    note(remark);
  }
  if (format.needs_traces || index.frames_left_out()) {
    for (const std::string& problem : index.problems()) note(problem);
  }
  if (!format.needs_traces) return;
  uint64_t untraced = 0;
  for (const auto& [step, counts] : index.untraced()) {
    if (filter.step && *filter.step != step) continue;
    untraced += counts.measured + (filter.warmup ? counts.warmup : 0);
  }
  if (untraced > 0) {
    note(absl::StrCat(FormatCount(untraced), " of ", FormatCount(untraced + writes), " ", index.OperationsText(),
                      " were not traced and are not exported (",
                      index.report().plan().has_group_commit()
                          ? "runs with --clients or --pattern have no traces; hlog and fio-json have all writes"
                          : "--trace, --trace-limit",
                      ")."));
  }
  if (const uint64_t dropped = DroppedWrites(index, filter); dropped > 0) {
    note(
        absl::StrCat("the traces of ", FormatCount(dropped),
                     index.report().plan().has_watch()
                         ? " of them are left out, since they overlapped with a later one at an interval's end, or the "
                           "controller did not keep up; hlog and fio-json have all "
                         : " of them were dropped because the controller did not keep up; hlog and fio-json have all ",
                     index.OperationsText(), "."));
  }
  if (moved > 0) {
    note(absl::StrCat(FormatCount(moved), " ", index.OperationsText(),
                      " were moved to the start of the one before them, and their errors "
                      "widened: their host's clock stepped."));
  }
  std::set<uint32_t> hosts;
  for (const IndexedWriter& writer : index.writers()) hosts.insert(writer.host);
  for (const uint32_t host : hosts) {
    if (index.timeline().ToTimeline(host, 0)) continue;
    note(absl::StrCat(index.hosts().at(host).label, ": no clock probe was answered; its ", index.OperationsText(),
                      " are placed by an assumed clock, and their "
                      "error is not known."));
  }
}

int ExportMain(const ExportFlags& flags, CommandLine& line) {
  const ExportFormat* format = FindFormat(flags.format);
  if (format == nullptr) {
    const std::string closest = ClosestWord(flags.format, FormatNames());
    return PrintError(
        line,
        absl::StrCat("unknown format ", Quoted(flags.format), "; formats are ", absl::StrJoin(FormatNames(), ", "),
                     closest.empty() ? "" : absl::StrCat(" (did you mean ", closest, "?)")),
        Exit::kWrong);
  }
  if (flags.warmup && !format->has_warmup) {
    return PrintError(line, absl::StrCat(format->name, " holds the measured part only: --warmup cannot be in it"),
                      Exit::kWrong);
  }
  if (flags.unix_epoch && !format->has_unix_epoch) {
    return PrintError(line, absl::StrCat("--log-unix-epoch is for fio-log: ", format->name, " has times of its own"),
                      Exit::kWrong);
  }
  if (flags.slowest > 0 && !format->has_slowest) {
    return PrintError(line, absl::StrCat("--slowest is for evidence: ", format->name, " has all writes and reads"),
                      Exit::kWrong);
  }
  if (const absl::Status one = CheckOneRun(flags.directory); !one.ok()) return PrintError(line, one, Exit::kWrong);
  if (!flags.output.empty() && flags.output != kStandardOutput && !format->makes_directory) {
    const absl::Status writable = CheckWritable("--output", flags.output);
    if (!writable.ok()) return PrintError(line, writable, Exit::kWrong);
  }
  const absl::StatusOr<std::string> journal = FindJournal(flags.directory);
  if (!journal.ok()) return PrintError(line, journal.status(), Exit::kWrong);
  const bool is_file = *journal == flags.directory;
  const absl::StatusOr<std::string> path = PathOf(flags, *format, is_file);
  if (!path.ok()) return PrintError(line, path.status(), Exit::kWrong);
  const absl::StatusOr<std::unique_ptr<RunIndex>> index = RunIndex::Read(*journal);
  if (!index.ok()) return PrintError(line, index.status(), Exit::kWrong);
  if (const absl::Status steps = CheckHasSteps(flags.directory, **index); !steps.ok()) {
    return PrintError(line, steps, Exit::kWrong);
  }

  WriteFilter filter;
  filter.warmup = flags.warmup;
  if (flags.step > 0) filter.step = flags.step - 1;
  if (filter.step && !(*index)->steps().contains(*filter.step)) {
    return PrintError(
        line, absl::StrCat("the run has no step ", flags.step, " (steps that began: ", (*index)->steps().size(), ")"),
        Exit::kWrong);
  }
  UniqueFd results;
  if (flags.output.empty() && !path->empty()) {
    results = UniqueFd(open(flags.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!results.valid()) return PrintError(line, PosixError("open", flags.directory, errno), Exit::kWrong);
  }
  const absl::StatusOr<std::unique_ptr<WriteStream>> writes = WriteStream::Open(**index, filter);
  if (!writes.ok()) return PrintError(line, writes.status(), Exit::kWrong);
  ExportTask task{**index, filter, **writes};
  task.unix_epoch = flags.unix_epoch;
  if (flags.slowest > 0) task.slowest = flags.slowest;
  const absl::StatusOr<uint64_t> done =
      RunExport(*format, task, *path, results, results.valid() ? format->default_name : "", line.out);
  // Not an error, as in other tools: the reader of the pipe has closed it.
  if (absl::IsCancelled(done.status())) return static_cast<int>(Exit::kOk);
  if (!done.ok()) {
    const bool unwritten = path->empty() && !absl::IsInvalidArgument(done.status());
    return PrintError(line, done.status(), unwritten ? Exit::kInconclusive : Exit::kWrong);
  }
  PrintNotes(**index, *format, filter, *done, (*writes)->moved(), line);
  if (!path->empty()) {
    line.err << absl::StrCat(FormatCount(*done), " ",
                             format->counts != nullptr ? format->counts : (*index)->OperationsText(), " are in ", *path,
                             "\n");
  }
  const bool left_out = (*index)->contradicted() || DroppedWrites(**index, filter) > 0;
  const bool whole = (*index)->damage().empty() && !(*index)->frames_left_out() && !(left_out && format->needs_traces);
  return static_cast<int>(whole ? Exit::kOk : Exit::kInconclusive);
}

}  // namespace

void AddExportCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = app.add_subcommand("export", "Export every write and read of a run for other tools");
  NamesResults(command->add_option("DIR", flags->directory, "Directory of the results, or a journal"))->required();
  command->add_option("--format", flags->format, FormatsHelp())->required();
  command->add_option("--output", flags->output, OutputHelp());
  command->add_option("--step", flags->step, "Export this step only (the first is 1)")
      ->check(NumberIn(CLI::PositiveNumber, "above 0"));
  command->add_flag("--warmup", flags->warmup, "Include the warm-up, marked as such");
  command->add_flag("--log-unix-epoch", flags->unix_epoch,
                    "Of fio-log: times in ms since 1970 instead of since the first step, as fio's option of that name");
  command
      ->add_option("--slowest", flags->slowest,
                   absl::StrCat("Of evidence: number of slowest writes and reads (default: ", kSlowestOperations, ")"))
      ->check(NumberFrom(1U, kMostSlowestOperations));
  command->footer(
      "Example:\n  plimsoll export plimsoll-results/20261120T192011Z-7f3a21 --format csv --output writes.csv");
  command->callback([flags, &line] { line.action = [flags, &line] { return ExportMain(*flags, line); }; });
}

}  // namespace plimsoll
