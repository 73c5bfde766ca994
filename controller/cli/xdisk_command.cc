#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/whole_run.h"
#include "controller/app/file_checks.h"
#include "controller/app/runs.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/translated_lines.h"
#include "controller/live/live_feed.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "controller/xdisk/xdisk_figures.h"
#include "controller/xdisk/xdisk_intervals.h"
#include "controller/xdisk/xdisk_options.h"
#include "controller/xdisk/xdisk_output.h"
#include "controller/xdisk/xdisk_plan.h"

namespace plimsoll {
namespace {

constexpr char kXdisk[] = "xdisk";

struct XdiskFlags {
  // The command line without the options with two dashes.
  std::vector<std::string> words;
  XdiskPermissions permissions;
  std::string out;
  AccessFlags access;
  // --launch.
  const CLI::Option* launch = nullptr;
};

// "2016.09.08-08:13:21".
std::string LocalTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char text[32] = "";
  if (localtime_r(&now, &local) != nullptr) std::strftime(text, sizeof text, "%Y.%m.%d-%H:%M:%S", &local);
  return text;
}

// Standard output, and the log of -L, which is appended to.
class XdiskPages {
 public:
  XdiskPages(std::ostream& out, const std::string& log) : out_(out), log_name_(log) {
    if (!log.empty()) log_.open(log, std::ios::app | std::ios::binary);
  }

  void Print(const std::string& text) {
    out_ << text << std::flush;
    if (log_name_.empty()) return;
    errno = 0;
    log_ << text << std::flush;
    if (!log_ && error_ == 0) error_ = errno == 0 ? EIO : errno;
  }
  // The first error of writing the log.
  absl::Status status() const { return error_ == 0 ? absl::OkStatus() : PosixError("-L", log_name_, error_); }

 private:
  std::ostream& out_;
  const std::string log_name_;
  std::ofstream log_;
  int error_ = 0;
};

// Prints information and header line once the run has begun: a run that is refused prints no table.
class XdiskHeading final : public LiveObserver {
 public:
  XdiskHeading(const XdiskOptions& options, XdiskPages& pages) : options_(options), pages_(pages) {}

  void OnRecord(const v1::JournalRecord& record) override {
    if (!record.has_run_begin()) return;
    if (!options_.quiet) pages_.Print(RenderXdiskInfo(options_, LocalTime()));
    if (!options_.no_header) pages_.Print(RenderXdiskHeader(options_));
  }

 private:
  const XdiskOptions& options_;
  XdiskPages& pages_;
};

// Prints the lines of -i while the run measures.
class XdiskView final : public LiveObserver {
 public:
  XdiskView(const XdiskOptions& options, XdiskPages& pages)
      : intervals_(int64_t{options.interval_s} * kNsPerSecond,
                   [&options, &pages](const XdiskResult& result) { pages.Print(RenderXdiskResult(options, result)); }) {
  }

  void OnRecord(const v1::JournalRecord& record) override { intervals_.Add(record); }
  bool printed_any() const { return intervals_.given() > 0; }

 private:
  XdiskIntervals intervals_;
};

void PrintRemark(Console& line, const std::string& remark) {
  line.err << "plimsoll: " << SanitizeForTerminal(remark) << std::endl;
}

// Runs the plan, and prints its figures as xdisk does.
int RunXdisk(const XdiskOptions& options, const XdiskFlags& flags, const v1::TestPlan& plan, XdiskPages& pages,
             Console& line) {
  AccessFlags access_flags = flags.access;
  // Like xdisk, reaches named hosts over ssh unless the user chooses another way.
  if (flags.launch->count() == 0) access_flags.launch.how = options.hosts.empty() ? "none" : "ssh";
  const absl::StatusOr<AgentAccess> access = LoadAccess(access_flags);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  for (const std::string& remark : options.remarks) PrintRemark(line, remark);
  if (options.workflow) line.err << WritePlan(plan) << std::flush;
  PlanRun how;
  how.out = flags.out;
  how.quiet = !options.workflow;
  how.reword = InXdiskWords;
  how.agent_options = XdiskAgentArguments(options, flags.permissions);
  const auto view = options.interval_s > 0 ? std::make_shared<XdiskView>(options, pages) : nullptr;
  how.views = {std::make_shared<XdiskHeading>(options, pages)};
  if (view != nullptr) how.views.push_back(view);
  how.finish = [&](const v1::Report& report, const std::string& results) {
    // A pass may be shorter than an interval.
    const bool whole = view == nullptr || (options.one_pass && !view->printed_any());
    if (const std::optional<XdiskResult> result = XdiskResultOf(report); whole && result.has_value()) {
      pages.Print(RenderXdiskResult(options, *result));
    }
    if (!options.text.empty()) pages.Print(SanitizeForTerminal(options.text) + "\n");
    for (const std::string& reason : report.verdict().reasons()) {
      PrintRemark(line, absl::StrCat("the figures are inconclusive: ", reason));
    }
    for (const std::string& note : UnfilledFiles(report)) PrintRemark(line, note);
    PrintRemark(line, absl::StrCat("the journal, the report and its page are in ", results));
    return pages.status();
  };
  return RunPlan(plan, how, *access, line, OwnSurroundings());
}

int XdiskMain(const XdiskFlags& flags, CommandLine& shown) {
  std::error_code error;
  const absl::StatusOr<XdiskOptions> read =
      ParseXdiskOptions(flags.words, std::filesystem::current_path(error).string());
  if (!read.ok()) return PrintError(shown, read.status(), Exit::kWrong);
  const XdiskOptions& options = *read;
  if (!options.log.empty()) {
    if (const absl::Status status = CheckWritable("-L", options.log); !status.ok()) {
      return PrintError(shown, status, Exit::kWrong);
    }
  }
  XdiskPages pages(shown.out, options.log);
  if (options.header_only) {
    pages.Print(RenderXdiskHeader(options));
    return pages.status().ok() ? static_cast<int>(Exit::kOk) : PrintError(shown, pages.status(), Exit::kWrong);
  }
  v1::TestPlan plan = XdiskPlan(options, flags.permissions);
  FillDefaults(plan);
  TranslatedLines words(shown.err, InXdiskWords);
  std::ostream errors(&words);
  Console line{shown.out, errors, shown.color_out, shown.color_err, shown.output_failed};
  if (const absl::Status status = CheckPlan(plan, {}); !status.ok()) return PrintErrors(line, status, Exit::kWrong);
  if (options.hosts.empty()) {
    if (const absl::Status status = CheckLocalDirectoriesOf(plan.workload()); !status.ok()) {
      return PrintError(line, status, Exit::kWrong);
    }
  }
  const int code = RunXdisk(options, flags, plan, pages, line);
  shown.output_failed = line.output_failed;
  return code;
}

}  // namespace

void AddXdiskCommand(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(kXdisk, "Accept xdisk's options and print xdisk's output");
  auto flags = std::make_shared<XdiskFlags>();
  // For the help, the manual page and completion: ParseXdiskOptions reads them.
  for (const XdiskOption& option : XdiskOptionList()) {
    if (option.type == nullptr || option.digit) {
      command->add_flag_callback(option.name, [] {}, option.help);
    } else {
      command->add_option_function<std::string>(
                 option.name, [](const std::string& /*value*/) {}, option.help)
          ->type_name(option.type);
    }
  }
  command->add_flag("--overwrite", flags->permissions.overwrite,
                    "Write to files and devices that -C did not create; their contents are lost");
  command->add_flag("--allow-target", flags->permissions.allow_target,
                    "Let agents that are started on hosts open any file and device of -f");
  AddResultsOption(*command, flags->out);
  AddAccessFlags(*command, flags->access, /*only_asks=*/true);
  // -n and -N name the hosts.
  for (const char* other : {"--cluster", "--config"}) command->remove_option(command->get_option(other));
  flags->launch = command->get_option("--launch")->default_str("ssh with -n or -N");
  command->footer(
      "-h and -? print this help. docs/xdisk.md explains each option and what differs from xdisk.\n"
      "Examples:\n"
      "  plimsoll xdisk -C 1G -b 1M -M 4 -f /data/F... -OD\n"
      "  plimsoll xdisk -R -r 80 -b 16k -M 4 -f /data/F... -OD -t 300 -w 60\n"
      "  plimsoll xdisk -n host1,host2,host3,host4 -R -r50 -M4 -f/data/F... -b64k -OD -V -Q -t300");
  line.own_words[kXdisk] = [flags, command](const std::vector<std::string>& words) {
    XdiskWords split = SplitXdiskWords(words, [command](const std::string& name) {
      const CLI::Option* const option = command->get_option_no_throw(name);
      return option != nullptr && option->get_items_expected_min() > 0;
    });
    flags->words = std::move(split.own);
    return std::move(split.others);
  };
  command->callback([flags, &line] { line.action = [flags, &line] { return XdiskMain(*flags, line); }; });
}

}  // namespace plimsoll
