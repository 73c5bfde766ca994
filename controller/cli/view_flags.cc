#include "controller/cli/view_flags.h"

#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/cli/command.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

// A line a day is the least that anybody watches.
constexpr int64_t kMaxIntervalNs = 86'400 * kNsPerSecond;

}  // namespace

CLI::Option* AddSummaryFlag(CLI::App& command, std::string& summary) {
  return command
      .add_option("--summary", summary,
                  WrapHelp("Print a short summary instead of the report: md (Markdown, for pull requests)"))
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"md"}));
}

CLI::Option* AddJUnitFlag(CLI::App& command, std::string& junit) {
  return command
      .add_option("--junit", junit,
                  WrapHelp("Write the verdict as JUnit XML, too: a test case for each criterion and step"))
      ->type_name("FILE");
}

void ViewFlags::AddTo(CLI::App& command, const std::string& where) {
  command
      .add_option("--interval", interval_text,
                  WrapHelp(absl::StrCat("Print a line per interval (whole seconds), over all hosts, ", where)))
      ->type_name("TIME");
  // A flag, so that the value can only stand behind "=" and no argument is taken for it.
  command.add_flag(absl::StrCat("--histogram{", kHistogramRows, "}"), histogram_text,
                   WrapHelp("Show the latencies of each step as a histogram of this many rows (--histogram=60)"));
  command.add_flag(
      "--full", full,
      WrapHelp("Show every host and queue manager where there are more than 8 (default: the 3 best and the "
               "3 worst)"));
  AddSummaryFlag(command, summary)->excludes("--histogram")->excludes("--full");
  AddJUnitFlag(command, junit);
}

absl::Status ViewFlags::Read() {
  if (!interval_text.empty()) {
    const absl::StatusOr<int64_t> interval = ParseDuration(interval_text);
    if (!interval.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--interval: ", std::string(interval.status().message())));
    }
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

IntervalPrinter::IntervalPrinter(int64_t interval_ns, std::function<void(const std::string& line)> print)
    : lines_(interval_ns), stats_(interval_ns, [this, print = std::move(print)](const IntervalRow& row) {
        for (const std::string& line : lines_.Add(row)) print(line);
      }) {}

}  // namespace plimsoll
