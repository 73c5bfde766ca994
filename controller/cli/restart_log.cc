#include "controller/cli/restart_log.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/mq/error_log.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

constexpr int kSecondsDecimals = 3;
constexpr double kRecordsPerUnit = 1000;
// A line through fewer restarts, or through fewer counts of records, shows nothing.
constexpr size_t kFewestForFit = 3;
constexpr char kNoInitiatorMark[] = "  AMQ8003I";

struct FromLogFlags {
  std::vector<std::string> files;
  bool json = false;
};

std::string SecondsText(double seconds) {
  return FormatFixed(seconds, kSecondsDecimals);
}

// "2026-03-01 04:30:00".
std::string BeganText(int64_t begin_s) {
  google::protobuf::Timestamp moment;
  moment.set_seconds(begin_s);
  const std::string text = FormatDateTime(moment);
  return text.substr(0, text.rfind(' '));
}

std::string SecondsPerUnitText(const v1::RealRestart& restart) {
  if (restart.records() == 0) return kDash;
  return SecondsText(restart.seconds() / static_cast<double>(restart.records()) * kRecordsPerUnit);
}

std::vector<std::string> RestartTable(const std::vector<v1::RealRestart>& restarts) {
  TextTable table({"queue manager", "began (UTC)", "seconds", "records", "s per 1,000"}, 2);
  for (const v1::RealRestart& restart : restarts) {
    table.AddRow({restart.queue_manager(), BeganText(restart.begin_s()), SecondsText(restart.seconds()),
                  restart.has_records() ? FormatCount(restart.records()) : kDash, SecondsPerUnitText(restart)},
                 restart.without_channel_initiator() ? kNoInitiatorMark : "");
  }
  return table.Lines();
}

// Seconds by log records, fitted to restarts of one queue manager.
struct RestartFit {
  double seconds_per_unit = 0;
  double seconds_without_records = 0;
  size_t restarts = 0;
};

// The line of least squares; nothing where too few restarts have a count, or too few different ones.
std::optional<RestartFit> FitRestarts(const std::vector<const v1::RealRestart*>& restarts) {
  double sum_x = 0;
  double sum_y = 0;
  std::set<uint64_t> counts;
  RestartFit fit;
  for (const v1::RealRestart* const restart : restarts) {
    if (!restart->has_records()) continue;
    ++fit.restarts;
    counts.insert(restart->records());
    sum_x += static_cast<double>(restart->records()) / kRecordsPerUnit;
    sum_y += restart->seconds();
  }
  if (counts.size() < kFewestForFit) return std::nullopt;
  const double mean_x = sum_x / static_cast<double>(fit.restarts);
  const double mean_y = sum_y / static_cast<double>(fit.restarts);
  double squares = 0;
  double products = 0;
  for (const v1::RealRestart* const restart : restarts) {
    if (!restart->has_records()) continue;
    const double x = static_cast<double>(restart->records()) / kRecordsPerUnit - mean_x;
    squares += x * x;
    products += x * (restart->seconds() - mean_y);
  }
  fit.seconds_per_unit = products / squares;
  fit.seconds_without_records = mean_y - fit.seconds_per_unit * mean_x;
  return fit;
}

// "3 restarts: median 12.500 s, shortest 10.000 s, longest 62.125 s", and the fit.
std::vector<std::string> SummaryOf(const std::string& name, const std::vector<const v1::RealRestart*>& restarts) {
  std::vector<double> seconds;
  for (const v1::RealRestart* const restart : restarts) seconds.push_back(restart->seconds());
  std::ranges::sort(seconds);
  const size_t middle = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  const std::string front = name.empty() ? "" : absl::StrCat(name, ", ");
  std::vector<std::string> lines =
      Wrap(absl::StrCat(front, Counted(seconds.size(), "restart"), ": median ", SecondsText(median), " s, shortest ",
                        SecondsText(seconds.front()), " s, longest ", SecondsText(seconds.back()), " s"),
           kTextWidth);
  if (const std::optional<RestartFit> fit = FitRestarts(restarts)) {
    AppendLines(Wrap(absl::StrCat(front, "least squares (", FormatCount(fit->restarts),
                                  " restarts): ", SecondsText(fit->seconds_per_unit), " s per 1,000 records + ",
                                  SecondsText(fit->seconds_without_records), " s"),
                     kTextWidth),
                lines);
  }
  return lines;
}

std::vector<std::string> RestartLines(const std::vector<v1::RealRestart>& restarts) {
  std::vector<std::string> lines = RestartTable(restarts);
  if (std::ranges::any_of(restarts, [](const v1::RealRestart& each) { return each.without_channel_initiator(); })) {
    AppendLines(Wrap("AMQ8003I: the end of the restart, since no channel initiator started (AMQ8024I)", kTextWidth),
                lines);
  }
  lines.emplace_back();
  std::map<std::string, std::vector<const v1::RealRestart*>> by_name;
  for (const v1::RealRestart& restart : restarts) by_name[restart.queue_manager()].push_back(&restart);
  for (const auto& [name, own] : by_name) AppendLines(SummaryOf(by_name.size() == 1 ? "" : name, own), lines);
  return lines;
}

std::string RestartsAsJson(const std::vector<v1::RealRestart>& restarts) {
  JsonWriter json;
  json.BeginArray();
  for (const v1::RealRestart& restart : restarts) WriteJson(restart, json);
  json.EndArray();
  return json.Take();
}

int FromLogMain(const FromLogFlags& flags, CommandLine& line) {
  const absl::StatusOr<RestartLog> log = ReadRestarts(flags.files);
  if (!log.ok()) return PrintErrors(line, log.status(), Exit::kWrong);
  for (const std::string& note : log->notes) line.err << "note: " << SanitizeForTerminal(note) << '\n';
  if (flags.json) {
    line.out << RestartsAsJson(log->restarts);
  } else if (!log->restarts.empty()) {
    for (const std::string& text : RestartLines(log->restarts)) line.out << text << '\n';
  }
  if (!WroteOutput(line)) return static_cast<int>(Exit::kWrong);
  if (!log->restarts.empty()) return static_cast<int>(Exit::kOk);
  return PrintError(line,
                    "no restart found: one begins with AMQ5051I of the task LOGGER-IO, and ends with AMQ8024I or "
                    "AMQ8003I; pass the older files AMQERR02 and AMQERR03, too",
                    Exit::kInconclusive);
}

}  // namespace

void AddRestartLogCommand(CLI::App& restart_time, CommandLine& line) {
  CLI::App* command =
      restart_time.add_subcommand("from-log", "Print the restarts of real queue managers from their error logs");
  auto flags = std::make_shared<FromLogFlags>();
  AddValue(*command, "files", "FILE", flags->files,
           "Error logs of MQ in any order: AMQERR01.LOG and the older ones, or AMQERR01.json")
      ->required();
  command->add_flag("--json", flags->json, "Print the restarts as JSON instead of text");
  command->footer(
      "A restart lasts from AMQ5051I of the task LOGGER-IO to AMQ8024I, or to AMQ8003I if no channel\n"
      "initiator starts.\n"
      "Example:\n  plimsoll restart-time from-log /var/mqm/qmgrs/QM1/errors/AMQERR0*.LOG");
  command->callback([&line, flags] { line.action = [&line, flags] { return FromLogMain(*flags, line); }; });
}

}  // namespace plimsoll
