#include "controller/cli/export_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/posix_error.h"
#include "common/status_macros.h"
#include "common/terminal_text.h"
#include "common/unique_fd.h"
#include "common/units.h"
#include "controller/export/csv_export.h"
#include "controller/export/fio_json_export.h"
#include "controller/export/fio_log_export.h"
#include "controller/export/hlog_export.h"
#include "controller/export/output.h"
#include "controller/export/perfetto_export.h"
#include "controller/export/run_index.h"
#include "controller/export/write_stream.h"
#include "controller/plan/text.h"
#include "controller/run/exit_code.h"

namespace plimsoll {
namespace {

constexpr char kStandardOutput[] = "-";

struct ExportFlags {
  std::string directory;
  std::string format;
  std::string output;
  uint32_t step = 0;
  bool warmup = false;
};

// What is exported, and where to.
struct Task {
  const RunIndex& index;
  WriteFilter filter;
  // Empty for standard output.
  std::string path;
  // The directory that holds the path's last component, where that is a name of ours and not one that the user spelled
  // out; else no descriptor.
  UniqueFd results;
  std::string name;
  std::ostream& out;
  // Null for formats that are made without traces.
  WriteStream* writes = nullptr;
};

struct Format {
  const char* name;
  // Below DIR, where --output is not given; null: standard output.
  const char* default_name;
  bool needs_traces;
  // Whether the warm-up can be in it.
  bool has_warmup;
  // Returns how many writes it wrote.
  absl::StatusOr<uint64_t> (*run)(const Task& task);
};

// Makes the output, lets `write` fill it and finishes it.
template <typename Write>
absl::StatusOr<uint64_t> ToOutput(const Task& task, const Write& write) {
  std::unique_ptr<Output> output;
  if (task.path.empty()) {
    output = MakeStreamOutput(task.out);
  } else {
    if (IsSameFile(task.path, task.index.journal_path())) {
      return absl::InvalidArgumentError(
          absl::StrCat(task.path, " is the journal itself: name another file with --output"));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(output, task.results.valid() ? OpenOutputIn(task.results.get(), task.name, task.path)
                                                           : OpenFileOutput(task.path));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t writes, write(*output));
  PLIMSOLL_RETURN_IF_ERROR(output->Finish());
  return writes;
}

const std::array kFormats = {
    Format{"csv", nullptr, true, true,
           [](const Task& task) {
             return ToOutput(
                 task, [&task](Output& output) { return ExportCsv(task.index, task.filter, *task.writes, output); });
           }},
    Format{"fio-log", "fio-log", true, true,
           [](const Task& task) {
             return ExportFioLogs(task.index, task.filter, *task.writes, task.path, task.results.get());
           }},
    Format{"hlog", nullptr, false, true,
           [](const Task& task) {
             return ToOutput(task, [&task](Output& output) { return ExportHlog(task.index, task.filter, output); });
           }},
    Format{"perfetto", "trace.perfetto-trace", true, true,
           [](const Task& task) {
             return ToOutput(task,
                             [&task](Output& output) { return ExportPerfetto(task.index, *task.writes, output); });
           }},
    Format{"fio-json", nullptr, false, false,
           [](const Task& task) {
             return ToOutput(task, [&task](Output& output) { return ExportFioJson(task.index, task.filter, output); });
           }},
};

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  names.reserve(std::size(kFormats));
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

const Format* FindFormat(const std::string& name) {
  for (const Format& format : kFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

// The file or directory to write; empty for standard output.
absl::StatusOr<std::string> PathOf(const ExportFlags& flags, const Format& format, bool is_file) {
  const bool is_directory = std::string(format.name) == "fio-log";
  if (flags.output == kStandardOutput) {
    if (is_directory) return absl::InvalidArgumentError("fio-log makes a directory of files: name it with --output");
    return std::string();
  }
  if (!flags.output.empty()) return flags.output;
  if (format.default_name == nullptr) return std::string();
  if (is_file) return absl::InvalidArgumentError(absl::StrCat("name where ", format.name, " shall go with --output"));
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
void PrintNotes(const RunIndex& index, const Format& format, const WriteFilter& filter, uint64_t writes, uint64_t moved,
                CommandLine& line) {
  const auto note = [&line](const std::string& text) { line.err << "plimsoll: " << SanitizeForTerminal(text) << '\n'; };
  if (!index.damage().empty()) note(absl::StrCat(index.damage(), "."));
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
    note(absl::StrCat(FormatCount(untraced), " of ", FormatCount(untraced + writes),
                      " writes are in no trace and not here (--trace, --trace-limit)."));
  }
  if (const uint64_t dropped = DroppedWrites(index, filter); dropped > 0) {
    note(absl::StrCat(
        "the traces of ", FormatCount(dropped),
        " of them were dropped because the controller did not keep up; hlog and fio-json have all writes."));
  }
  if (moved > 0) {
    note(absl::StrCat(FormatCount(moved),
                      " writes were moved to the start of the one before them, and their errors "
                      "widened: their host's clock stepped."));
  }
  std::set<uint32_t> hosts;
  for (const IndexedWriter& writer : index.writers()) hosts.insert(writer.host);
  for (const uint32_t host : hosts) {
    if (index.timeline().ToTimeline(host, 0)) continue;
    note(absl::StrCat(index.hosts().at(host).label,
                      ": no clock probe was answered; its writes stand where its clock was believed to be, and their "
                      "error is not known."));
  }
}

int ExportMain(const ExportFlags& flags, CommandLine& line) {
  const Format* format = FindFormat(flags.format);
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
  const bool is_file = std::filesystem::is_regular_file(flags.directory);
  const absl::StatusOr<std::string> path = PathOf(flags, *format, is_file);
  if (!path.ok()) return PrintError(line, path.status(), Exit::kWrong);
  const absl::StatusOr<std::unique_ptr<RunIndex>> index =
      RunIndex::Read(is_file ? flags.directory : flags.directory + "/journal");
  if (!index.ok()) return PrintError(line, index.status(), Exit::kWrong);

  WriteFilter filter;
  filter.warmup = flags.warmup;
  if (flags.step > 0) filter.step = flags.step - 1;
  if (filter.step && !(*index)->steps().contains(*filter.step)) {
    return PrintError(
        line, absl::StrCat("the run has no step ", flags.step, " (steps that began: ", (*index)->steps().size(), ")"),
        Exit::kWrong);
  }
  Task task{**index, filter, *path, UniqueFd(), "", line.out};
  if (flags.output.empty() && !path->empty()) {
    task.name = format->default_name;
    task.results = UniqueFd(open(flags.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!task.results.valid()) return PrintError(line, PosixError("open", flags.directory, errno), Exit::kWrong);
  }
  const absl::StatusOr<std::unique_ptr<WriteStream>> writes = WriteStream::Open(**index, filter);
  if (!writes.ok()) return PrintError(line, writes.status(), Exit::kWrong);
  task.writes = writes->get();
  const absl::StatusOr<uint64_t> done = format->run(task);
  if (!done.ok()) return PrintError(line, done.status(), path->empty() ? Exit::kInconclusive : Exit::kWrong);
  PrintNotes(**index, *format, filter, *done, (*writes)->moved(), line);
  if (!path->empty()) line.err << absl::StrCat(FormatCount(*done), " writes are in ", *path, "\n");
  const bool left_out = (*index)->contradicted() || DroppedWrites(**index, filter) > 0;
  const bool whole = (*index)->damage().empty() && !(*index)->frames_left_out() && !(left_out && format->needs_traces);
  return static_cast<int>(whole ? Exit::kOk : Exit::kInconclusive);
}

}  // namespace

void AddExportCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = app.add_subcommand("export", "Every write of a run in the formats that other tools read");
  command->add_option("DIR", flags->directory, "Directory of the results, or a journal")->required();
  command
      ->add_option("--format", flags->format,
                   WrapHelp("csv (one line a write), fio-log (fio's latency logs), hlog (HdrHistogram interval log), "
                            "perfetto (for ui.perfetto.dev), fio-json (fio's json+)"))
      ->required();
  command->add_option("--output", flags->output,
                      WrapHelp("File to write, - for standard output; for fio-log the directory to make (if not given: "
                               "standard output; DIR/fio-log; DIR/trace.perfetto-trace)"));
  command->add_option("--step", flags->step, "This step only, from 1")->check(CLI::PositiveNumber);
  command->add_flag("--warmup", flags->warmup, "Writes of the warm-up, too, marked as such");
  command->footer(
      "Example:\n  plimsoll export plimsoll-results/20261120T192011Z-7f3a21 --format csv --output writes.csv");
  command->callback([flags, &line] { line.action = [flags, &line] { return ExportMain(*flags, line); }; });
}

}  // namespace plimsoll
