#include "controller/cli/outputs.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command_line/command_line.h"
#include "common/posix.h"
#include "common/units.h"
#include "controller/cli/command.h"
#include "controller/journal/digest.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Why no file or directory can be made in `directory`; empty: one can.
std::string WhyNotIn(const fs::path& directory, const std::string& option) {
  std::error_code error;
  if (!fs::exists(directory, error)) {
    return absl::StrCat(directory.string(), " does not exist; create it or pass another ", option);
  }
  if (!fs::is_directory(directory, error)) {
    return absl::StrCat(directory.string(), " is not a directory; pass another ", option);
  }
  if (access(directory.c_str(), W_OK | X_OK) == 0) return "";
  return absl::StrCat(std::string(PosixError("write in", directory.string(), errno).message()), "; pass another ",
                      option);
}

// Why no file can be written at `path`; empty: one can.
std::string WhyNotWritable(const std::string& path, const std::string& option) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::is_directory(there)) return absl::StrCat(path, " is a directory; name a file in it");
  // A pipe or a device.
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    return access(path.c_str(), W_OK) == 0 ? "" : std::string(PosixError("write to", path, errno).message());
  }
  const fs::path parent = fs::path(path).parent_path();
  const std::string why = WhyNotIn(parent.empty() ? "." : parent, option);
  return why.empty() ? "" : absl::StrCat(path, " cannot be written: ", why);
}

// Why there cannot be new results in the directory `out`; empty: there can.
std::string WhyNoResults(const std::string& out) {
  std::error_code error;
  fs::path place = fs::path(out).lexically_normal();
  if (fs::exists(place, error)) {
    if (!fs::is_directory(place, error)) return absl::StrCat(out, " exists and is not a directory; name another one");
    if (!fs::is_empty(place, error) && !error) {
      return absl::StrCat(out, " is not empty: results are never overwritten; name another directory");
    }
    return WhyNotIn(place, "--out");
  }
  while (place.has_relative_path() && !fs::exists(place, error)) place = place.parent_path();
  const std::string why = WhyNotIn(place.empty() ? "." : place, "--out");
  return why.empty() ? "" : absl::StrCat(out, " cannot be made: ", why);
}

}  // namespace

absl::Status CheckWritable(const std::string& option, const std::string& path) {
  const std::string why = WhyNotWritable(path, option);
  return why.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat(option, ": ", why));
}

CLI::Option* AddOutputFile(CLI::App& command, const std::string& names, std::string& path, const std::string& help) {
  const std::string option = names.substr(0, names.find(','));
  return AddValue(command, names, "FILE", path, help)->check([option](const std::string& given) {
    return WhyNotWritable(given, option);
  });
}

CLI::Option* AddResultsOption(CLI::App& command, std::string& out) {
  return AddValue(command, "--out", "DIR", out, "Directory for the results (default: plimsoll-results/<UTC time>-<id>)")
      ->check(WhyNoResults);
}

std::string ReportText(const v1::Report& report, const ViewFlags& view, const ReportPlace& place,
                       const std::vector<std::string>& kept_files) {
  if (view.json) return RenderJson(report);
  if (!view.summary.empty()) return RenderMarkdown(report, place.path, place.digest);
  if (!view.full && view.histogram_rows == 0) return RenderBrief(report, place, kept_files);
  if (view.full) {
    std::string text = RenderText(report, view.histogram_rows) + "\n";
    for (const std::string& kept : kept_files) absl::StrAppend(&text, kept, "\n");
    return text + ResultsLine(report, place);
  }
  std::string text = RenderBrief(report, place, kept_files);
  std::string histograms;
  for (const v1::StepReport& step : report.steps()) {
    absl::StrAppend(&histograms, "Step ", step.number(), "\n",
                    absl::StrJoin(TextHistogram(step, view.histogram_rows, MainOperations(report.plan())), "\n"),
                    "\n\n");
  }
  // The digest, the verdict and the results stay the last lines.
  return text.insert(text.size() - ResultsLine(report, place).size(), histograms);
}

std::string DamageNote(const std::string& damage) {
  return absl::StrCat(damage, "; the report covers what comes before it.");
}

namespace {

// A line a day is the least that anybody watches.
constexpr int64_t kMaxIntervalNs = 86'400 * kNsPerSecond;

}  // namespace

CLI::Option* AddJsonFlag(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "Print the report as JSON instead of text");
}

CLI::Option* AddSummaryFlag(CLI::App& command, std::string& summary) {
  return AddValue(command, "--summary", "FORMAT", summary,
                  "Print a short summary instead of the report: md (Markdown, for pull requests)")
      ->check(OneOf({"md"}));
}

CLI::Option* AddFullFlag(CLI::App& command, bool& full) {
  return command.add_flag("--full", full,
                          "Print everything, as report.txt has it (default: what matters most, in at most 40 lines)");
}

CLI::Option* AddJUnitFlag(CLI::App& command, std::string& junit) {
  return AddOutputFile(command, "--junit", junit,
                       "Also write the verdict as JUnit XML: a test case for each criterion and step");
}

void ViewFlags::AddTo(CLI::App& command, const std::string& where) {
  AddValue(command, "--interval", "TIME", interval_text,
           absl::StrCat("Print the figures of all hosts once per interval (whole seconds), ", where));
  // A flag, so that the value can only stand behind "=" and no argument is taken for it.
  command.add_flag(absl::StrCat("--histogram{", kHistogramRows, "}"), histogram_text,
                   "Show the latencies of each step as a histogram of this many rows (--histogram=60)");
  AddFullFlag(command, full);
  AddSummaryFlag(command, summary)->excludes("--histogram")->excludes("--full");
  AddJUnitFlag(command, junit);
}

absl::Status ViewFlags::Read() {
  if (!interval_text.empty()) {
    const absl::StatusOr<int64_t> interval = ParseDuration(interval_text);
    if (!interval.ok()) return WithContext("--interval", interval.status());
    if (*interval < kNsPerSecond || *interval > kMaxIntervalNs || *interval % kNsPerSecond != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--interval: ", interval_text, " is not a number of whole seconds from 1 to 86400"));
    }
    interval_ns = *interval;
  }
  if (!histogram_text.empty()) {
    const char* end = histogram_text.data() + histogram_text.size();
    const auto [stop, error] = std::from_chars(histogram_text.data(), end, histogram_rows);
    if (error != std::errc() || stop != end || histogram_rows < 2 || histogram_rows > kMaxHistogramRows) {
      return absl::InvalidArgumentError(
          absl::StrCat("--histogram: '", histogram_text, "' is not a number of rows from 2 to ", kMaxHistogramRows));
    }
  }
  return absl::OkStatus();
}

PlanRun ViewFlags::Applied(PlanRun how) {
  how.interval_ns = interval_ns;
  how.junit = junit;
  how.text = [this](const v1::Report& report, const ReportPlace& place, const std::vector<std::string>& kept) {
    return ReportText(report, *this, place, kept);
  };
  metrics.Show(MetricsFlags::Of::kRun, how);
  return how;
}

}  // namespace plimsoll
