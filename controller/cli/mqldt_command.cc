#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/command_line/command_line.h"
#include "common/field_rules.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/app/runs.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/translated_lines.h"
#include "controller/live/live_feed.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/mqldt.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

// mqldt's own limit.
constexpr uint32_t kMostQms = 10;
// Buffers of an agent begin at a page.
constexpr uint32_t kBufferAlignment = 4096;
constexpr uint64_t kLeastFile = 4096;
constexpr uint64_t kLargestFile = uint64_t{1} << 40U;
constexpr uint64_t kLargestBlockKib = uint64_t{64} << 10U;
constexpr size_t kMostBlockSizes = 10'000;
// Limit of the table that is printed at the end; a row has some 200 bytes.
constexpr size_t kMostCsvBytes = size_t{64} << 20U;
constexpr uint64_t kLongestDelayUs = uint64_t{3600} * 1'000'000;
constexpr int64_t kLongestRunS = int64_t{3650} * 86'400;

// Files consist of pages of so many bytes.
constexpr uint64_t kFilePage = 4096;

struct MqldtFlags {
  MqldtOptions options;
  std::string out;
  // Whether the variables of mqldt's container set the options.
  bool by_variables = false;
};

// A message about a plan in mqldt's words: with the names of its options, or of its container's variables, and without
// ways out that it does not have.
std::string InMqldtWords(const std::string& message, bool by_variables) {
  std::string options = absl::StrReplaceAll(message, {{"--file-size (workload.file_size)", "--fileSize"},
                                                      {"--file-size", "--fileSize"},
                                                      {"--num-files (workload.num_files)", "--numFiles"},
                                                      {"--num-files", "--numFiles"},
                                                      {"--file-prefix (workload.file_prefix)", "--filePrefix"},
                                                      {"--cpu-load (workload.cpu_load)", "--backgroundThreads"},
                                                      {"--cpu-load", "--backgroundThreads"},
                                                      {"--bsize (block_size)", "--bsize"},
                                                      {"--duration (duration)", "--duration"},
                                                      {"--delay (workload.delay)", "--delay"},
                                                      {"--dir (workload.dir)", "--dir"},
                                                      {" and --repeat (repeat) make ", " makes "},
                                                      {" (--qm, placement)", " (--qm)"},
                                                      {", or --direct off", ""},
                                                      {" (--min-free)", ""},
                                                      {" (--timeout)", ""}});
  if (!by_variables) return options;
  return absl::StrReplaceAll(options, {{"--fileSize", "MQLDT_FILESIZE"},
                                       {"--numFiles", "MQLDT_NUMFILES"},
                                       {"--duration", "MQLDT_DURATION"},
                                       {"--bsize", "MQLDT_BLOCKSIZE"},
                                       {"--qm", "MQLDT_QM"},
                                       {"--dir", "MQLDT_DIRECTORY"},
                                       {"--csvFile", "MQLDT_CSVFILE"}});
}

// A whole number in mqldt's own units; `unit` such as "bytes". Takes no sign: the parser would wrap it.
CLI::Validator WholeNumber(uint64_t least, uint64_t most, const std::string& unit) {
  return {[least, most, unit](std::string& text) -> std::string {
            uint64_t value = 0;
            const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
              return absl::ascii_isdigit(static_cast<unsigned char>(c));
            });
            if (digits && absl::SimpleAtoi(text, &value) && value >= least && value <= most) return "";
            const absl::StatusOr<uint64_t> size = ParseSize(text);
            const bool in_range = unit == "bytes" && size.ok() && *size >= least && *size <= most;
            return absl::StrCat(Quoted(text), " is not a whole number of ", unit, " from ", least, " to ", most,
                                in_range ? absl::StrCat(": write ", *size) : "");
          },
          ""};
}

// What mqldt's options rule out together.
absl::Status CheckOptions(const MqldtOptions& options, const std::vector<uint64_t>& block_sizes) {
  const uint64_t largest = *std::max_element(block_sizes.begin(), block_sizes.end());
  const uint64_t rounded = options.file_size_bytes / kFilePage * kFilePage;
  if (largest > rounded) {
    return absl::InvalidArgumentError(
        absl::StrCat("--fileSize ", options.file_size_bytes,
                     rounded == options.file_size_bytes ? "" : absl::StrCat(", rounded down to ", rounded, ","),
                     " is less than the largest block size, ", largest >> 10U, "K: use --fileSize ",
                     (largest + kFilePage - 1) / kFilePage * kFilePage, " or more"));
  }
  const uint64_t most_s = static_cast<uint64_t>(kLongestRunS) / block_sizes.size();
  if (options.duration_s > most_s) {
    return absl::InvalidArgumentError(absl::StrCat("--duration ", options.duration_s, " for each of ",
                                                   block_sizes.size(), " block sizes is more than ", kLongestRunS,
                                                   " seconds in all: use ", most_s, " or less"));
  }
  return absl::OkStatus();
}

// The block sizes of --bsize. As with mqldt each ends in k or K.
absl::StatusOr<std::vector<uint64_t>> BlockSizes(const std::string& list) {
  std::vector<uint64_t> sizes;
  for (const absl::string_view item : absl::StrSplit(list, ',')) {
    uint64_t kib = 0;
    absl::string_view digits = item;
    if (!absl::ConsumeSuffix(&digits, "k") && !absl::ConsumeSuffix(&digits, "K")) digits = "";
    if (!absl::SimpleAtoi(digits, &kib) || kib == 0 || kib > kLargestBlockKib) {
      return absl::InvalidArgumentError(absl::StrCat("--bsize: '", std::string(item),
                                                     "' is not a block size from 1K to ", kLargestBlockKib,
                                                     "K: write 16K, or several as 16K,32K"));
    }
    sizes.push_back(kib << 10U);
  }
  if (sizes.size() > kMostBlockSizes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bsize: ", sizes.size(), " block sizes; a run has at most ", kMostBlockSizes));
  }
  return sizes;
}

// The directory of one of several queue managers; made where it is missing, those above it are not.
absl::StatusOr<std::string> QmDirectory(const std::string& dir, uint32_t qm) {
  const std::string path = absl::StrCat(dir, qm);
  std::error_code error;
  std::filesystem::create_directory(path, error);
  if (error) return LocalDirectoryError(path, error);
  return LocalDirectory(path);
}

v1::TestPlan PlanOf(const MqldtOptions& options, const std::vector<uint64_t>& block_sizes) {
  v1::TestPlan plan;
  plan.set_name("mqldt");
  for (const uint64_t size : block_sizes) plan.add_block_size_bytes(size);
  plan.set_duration_ns(int64_t{options.duration_s} * kNsPerSecond);
  plan.set_warmup_ns(0);
  v1::LogWorkload& workload = *plan.mutable_workload();
  workload.set_file_size_bytes(options.file_size_bytes);
  workload.set_num_files(options.num_files);
  workload.set_file_prefix(options.file_prefix);
  workload.set_delay_ns(static_cast<int64_t>(options.delay_us) * kNsPerUs);
  return plan;
}

// What mqldt shows while it writes: on standard error the seconds, on standard output the figures of each block size.
class MqldtView final : public LiveObserver {
 public:
  MqldtView(const MqldtOptions& options, Console& line) : options_(options), line_(line) {}

  // The seconds of the step, as the first host reports them.
  void OnRecord(const v1::JournalRecord& record) override {
    if (record.has_run_begin()) run_ = record.run_begin();
    if (record.has_step_begin()) {
      const uint64_t bytes = run_.steps(static_cast<int>(record.step_begin().step())).block_size_bytes();
      line_.err << "Executing test for write blocksize " << bytes << " bytes (" << bytes / 1024
                << "KB). Seconds elapsed -> " << std::flush;
      elapsed_s_ = 0;
    }
    if (!record.has_frames() || record.frames().host() != 0) return;
    for (const v1::Frame& frame : record.frames().frames()) {
      if (frame.closing()) continue;
      const int64_t end_ns = (int64_t{frame.first_interval()} + frame.interval_count()) * run_.frame_interval_ns();
      ShowSeconds(end_ns / kNsPerSecond);
    }
  }

  void OnStep(const v1::StepReport& step) override {
    line_.out << options_.duration_s << '/' << options_.duration_s << "\n\n"
              << RenderMqldtStep(step, options_.qm) << std::flush;
    if (!step.cut_short().empty()) {
      line_.err << "plimsoll: the step ended early: " << SanitizeForTerminal(step.cut_short()) << std::endl;
    }
  }

 private:
  void ShowSeconds(int64_t elapsed_s) {
    if (elapsed_s <= elapsed_s_) return;
    elapsed_s_ = elapsed_s;
    const std::string shown = absl::StrCat(elapsed_s, "/", options_.duration_s, " ");
    line_.err << shown << std::string(shown.size(), '\b') << std::flush;
  }

  const MqldtOptions& options_;
  Console& line_;
  v1::RunBegin run_;
  int64_t elapsed_s_ = 0;
};

// The CSV of one run: a file of its own, or with several queue managers more lines of the one that is there.
absl::Status KeepCsv(const MqldtOptions& options, const v1::Report& report) {
  if (options.csv_file.empty()) return absl::OkStatus();
  const std::string csv = RenderMqldtCsv(report, options.qm);
  if (options.qm == 1) return WriteFile(options.csv_file, csv);
  std::ofstream file(options.csv_file, std::ios::app | std::ios::binary);
  file << csv << std::flush;
  return file ? absl::OkStatus() : PosixError("--csvFile", options.csv_file, errno);
}

// One run of mqldt. `shown` takes what mqldt itself shows; its errors take what can go wrong.
int Measure(const MqldtFlags& flags, CommandLine& shown) {
  TranslatedLines words(shown.err,
                        [&flags](const std::string& line) { return InMqldtWords(line, flags.by_variables); });
  std::ostream errors(&words);
  Console line{shown.out, errors, shown.color_out, shown.color_err, shown.output_failed};
  MqldtOptions options = flags.options;
  const absl::StatusOr<std::vector<uint64_t>> block_sizes = BlockSizes(options.block_sizes);
  if (!block_sizes.ok()) return PrintError(line, block_sizes.status(), Exit::kWrong);
  if (const absl::Status status = CheckOptions(options, *block_sizes); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  if (const uint64_t odd = options.file_size_bytes % kFilePage; odd != 0) {
    options.file_size_bytes -= odd;
    line.err << "plimsoll: --fileSize " << options.file_size_bytes + odd << " is not a multiple of " << kFilePage
             << ": the files have " << options.file_size_bytes << " bytes" << std::endl;
  }
  if (!options.csv_file.empty()) {
    if (const absl::Status status = CheckWritable("--csvFile", options.csv_file); !status.ok()) {
      return PrintError(line, status, Exit::kWrong);
    }
  }
  v1::TestPlan plan = PlanOf(options, *block_sizes);
  v1::TestPlan checked = plan;
  checked.mutable_workload()->set_dir("/");
  FillDefaults(checked);
  if (const absl::Status status = CheckPlan(checked, {}); !status.ok()) return PrintErrors(line, status, Exit::kWrong);

  line.out << '\n' << RenderMqldtOptions(options);
  if (options.background_threads > 0) line.out << options.background_threads << " backgound threads started\n";
  if (options.qm > 1) line.out << "Running simulation of " << options.qm << " Queue Managers\n";
  // An agent for each queue manager, since each has a directory of its own.
  std::vector<std::unique_ptr<ChildAgent>> agents;
  for (uint32_t qm = 1; qm <= options.qm; ++qm) {
    line.out << "Creating files...for thread: " << (options.qm == 1 ? 0 : qm) << std::endl;
    const absl::StatusOr<std::string> dir =
        options.qm == 1 ? LocalDirectory(options.dir) : QmDirectory(options.dir, qm);
    if (!dir.ok()) return PrintError(line, dir.status(), Exit::kWrong);
    absl::StatusOr<std::unique_ptr<ChildAgent>> agent = ChildAgent::Start({*dir}, {"--name", absl::StrCat("qm", qm)});
    if (!agent.ok()) return PrintError(line, agent.status(), Exit::kCannotRun);
    v1::HostSpec& host = *plan.add_hosts();
    host.set_address((*agent)->address());
    host.mutable_workload()->set_dir(*dir);
    if (qm == 1 && options.background_threads > 0) host.mutable_workload()->set_cpu_load(options.background_threads);
    agents.push_back(*std::move(agent));
  }
  FillDefaults(plan);

  const absl::StatusOr<AgentAccess> access = LoadAccess({});
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  PlanRun how;
  how.out = flags.out;
  how.quiet = true;
  how.views = {std::make_shared<MqldtView>(options, shown)};
  how.finish = [&](const v1::Report& report, const std::string& results) {
    line.err << "plimsoll: the journal, the report and its page are in " << SanitizeForTerminal(results) << std::endl;
    return KeepCsv(options, report);
  };
  return RunPlan(plan, how, *access, line, OwnSurroundings());
}

// The variable's value, or `otherwise` where it is not set or empty.
std::string Variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

constexpr const char* kVariables[] = {"MQLDT_DIRECTORY", "MQLDT_CSVFILE", "MQLDT_FILESIZE", "MQLDT_NUMFILES",
                                      "MQLDT_DURATION",  "MQLDT_QM",      "MQLDT_BLOCKSIZE"};

bool AnyVariable() {
  return std::any_of(std::begin(kVariables), std::end(kVariables),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

template <typename Number>
absl::Status ReadVariable(const char* name, const char* otherwise, Number least, Number most, Number& value) {
  const std::string text = Variable(name, otherwise);
  if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": '", text, "' is not a whole number from ", least, " to ", most));
}

std::string Banner(const std::string& title) {
  const std::string rule(28, '-');
  return absl::StrCat(rule, "\n", title, std::string(rule.size() - title.size(), '-'), "\n", rule, "\n");
}

// What mqldt's container does with its variables: one sweep over block sizes, or 1, 2 ... MQLDT_QM queue managers.
absl::Status ReadVariables(MqldtOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(
      ReadVariable<uint64_t>("MQLDT_FILESIZE", "67108864", kLeastFile, kLargestFile, options.file_size_bytes));
  PLIMSOLL_RETURN_IF_ERROR(ReadVariable<uint32_t>(
      "MQLDT_NUMFILES", "16", 1, LargestOfWorkload(v1::LogWorkload::kNumFilesFieldNumber), options.num_files));
  PLIMSOLL_RETURN_IF_ERROR(ReadVariable<uint32_t>("MQLDT_DURATION", "60", 1, 86'400 * 365, options.duration_s));
  PLIMSOLL_RETURN_IF_ERROR(ReadVariable<uint32_t>("MQLDT_QM", "1", 1, kMostQms, options.qm));
  options.dir = Variable("MQLDT_DIRECTORY", "/var/mqldt");
  options.csv_file = Variable("MQLDT_CSVFILE", "mqldt.csv");
  options.block_sizes = options.qm == 1 ? "16K,32K,64K,128K,256K,512K,1024K" : Variable("MQLDT_BLOCKSIZE", "128K");
  return absl::OkStatus();
}

int MeasureByVariables(MqldtFlags flags, CommandLine& line) {
  flags.by_variables = true;
  MqldtOptions& options = flags.options;
  if (const absl::Status status = ReadVariables(options); !status.ok()) return PrintError(line, status, Exit::kWrong);
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char date[80] = "";
  if (localtime_r(&now, &local) != nullptr) std::strftime(date, sizeof date, "%a %b %e %H:%M:%S %Z %Y", &local);
  line.out << Banner("Running MQLDT Tests ") << date << "\n" << std::endl;
  const uint32_t most = options.qm;
  if (most > 1) {
    std::error_code error;
    options.dir += "/mqldt";
    std::filesystem::create_directories(options.dir, error);
    if (error) return PrintError(line, LocalDirectoryError(options.dir, error), Exit::kWrong);
  }
  int code = 0;
  for (options.qm = 1; options.qm <= most && code == 0; ++options.qm) {
    // Alone it has the directory itself even for a sweep over block sizes.
    code = Measure(flags, line);
  }
  line.out << Banner("CSV Results ") << ReadFile(options.csv_file, kMostCsvBytes).value_or("") << std::flush;
  return code;
}

int MqldtMain(const MqldtFlags& flags, bool by_variables, CommandLine& line) {
  if (by_variables) return MeasureByVariables(flags, line);
  if (flags.options.block_sizes.empty()) {
    return PrintError(line, "--bsize is missing: --bsize=16K, or several as --bsize=16K,32K", Exit::kWrong);
  }
  return Measure(flags, line);
}

}  // namespace

void AddMqldtCommand(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("mqldt", "Accept mqldt's options and print mqldt's output");
  auto flags = std::make_shared<MqldtFlags>();
  MqldtOptions& options = flags->options;
  AddValue(*command, "--bsize,-b", "LIST", options.block_sizes, "Block sizes, each with K: 16K or 16K,32K");
  AddValue(*command, "--dir,-d", "DIR", options.dir,
           "Directory on the storage; with several queue managers their numbers are appended, and "
           "missing directories are created")
      ->capture_default_str();
  AddValue(*command, "--filePrefix,-f", "TEXT", options.file_prefix, "Prefix of the files' names")
      ->capture_default_str();
  AddValue(*command, "--fileSize,-s", "BYTES", options.file_size_bytes, "Size of a file in bytes (LogFilePages x 4096)")
      ->check(WholeNumber(kLeastFile, kLargestFile, "bytes"))
      ->capture_default_str();
  AddValue(*command, "--numFiles,-n", "N", options.num_files, "Files of a queue manager (LogPrimaryFiles)")
      ->check(NumberFrom(1U, LargestOfWorkload(v1::LogWorkload::kNumFilesFieldNumber)))
      ->capture_default_str();
  AddValue(*command, "--duration,-t", "SECONDS", options.duration_s, "Seconds for each block size")
      ->check(NumberFrom(1U, 86'400U * 365))
      ->capture_default_str();
  AddOutputFile(*command, "--csvFile,-c", options.csv_file, "Also write mqldt's CSV to this file");
  AddValue(*command, "--qm,-q", "N", options.qm, "Queue managers, each in its own directory")
      ->check(NumberFrom(1U, kMostQms))
      ->capture_default_str();
  AddValue(*command, "--delay,-z", "US", options.delay_us, "Pause after each write in microseconds")
      ->check(WholeNumber(0, kLongestDelayUs, "microseconds"))
      ->capture_default_str();
  AddValue(*command, "--alignment,-a", "BYTES", options.alignment_bytes,
           "Alignment of the buffers: 0, or up to 4096 bytes")
      ->check(NumberFrom(0U, kBufferAlignment));
  AddValue(*command, "--backgroundThreads,-p", "N", options.background_threads,
           "Threads that each keep a CPU busy during the run")
      ->check(NumberFrom(0U, 1024U))
      ->capture_default_str();
  AddResultsOption(*command, flags->out);
  command->footer(
      "Without options, the MQLDT_* variables of mqldt's container apply if any is set. docs/mqldt.md\n"
      "lists the differences from mqldt.\n"
      "Examples:\n"
      "  plimsoll mqldt --dir=/mnt/mqlog --bsize=16K,64K --fileSize=67108864 --numFiles=16 --duration=40\n"
      "  plimsoll mqldt -d /mnt/mqlog/qm -b 128K -q 3 -c san.csv");
  command->callback([flags, command, &line] {
    const bool by_variables = command->parsed() && command->count_all() <= 1 && AnyVariable();
    line.action = [flags, by_variables, &line] { return MqldtMain(*flags, by_variables, line); };
  });
}

}  // namespace plimsoll
