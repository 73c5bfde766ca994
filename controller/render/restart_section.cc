// What text and files show of a measurement of restart I/O.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/field_rules.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

constexpr char kRestartWords[] = "The storage's share of a restart, in a model: not MQ's restart time";
// A directory is cut to so many columns, in the middle.
constexpr size_t kDirectoryWidth = 24;
constexpr size_t kDirectoryTail = 12;

const char* RedoWord(v1::RestartRedoWay way) {
  return way == v1::RESTART_REDO_WAY_COALESCED ? "coalesced" : "per-record";
}

const char* LoadWord(v1::RestartLoadWay way) {
  return way == v1::RESTART_LOAD_WAY_SERIAL ? "serial" : "parallel";
}

std::string DirectoryCell(const v1::RestartSide& side) {
  return ShortenMiddle(SanitizeForTerminal(side.directory()), kDirectoryWidth, kDirectoryTail);
}

// Seconds with about four digits.
std::string TimeCell(double seconds) {
  return FormatFixed(seconds, seconds < 10 ? 3 : seconds < 100 ? 2 : 1);
}

// The slope and the extension of every line, `rows` of them at most.
std::vector<std::string> TextRestartAnswer(const v1::RestartReport& restart, size_t rows = SIZE_MAX) {
  std::vector<std::string> lines = {kRestartWords};
  TextTable table({"directory", "redo", "message", "s/1,000", "+-", "R2", "calls/rec", "|",
                   absl::StrCat("s at ", FormatCount(restart.extended_to_records())), "+-"},
                  2, {0});
  size_t shown = 0;
  size_t left_out = 0;
  for (const v1::RestartSide& side : restart.sides()) {
    for (const v1::RestartRedoReport& redo : side.redo()) {
      if (shown == rows) {
        ++left_out;
        continue;
      }
      ++shown;
      const bool fitted = redo.has_slope_us();
      // Microseconds a record are milliseconds for a thousand of them.
      table.AddRow({DirectoryCell(side), RedoWord(redo.way()), FormatSize(redo.message_size_bytes()),
                    fitted ? TimeCell(redo.slope_us() / 1e3) : kDash,
                    fitted ? TimeCell(redo.slope_error_us() / 1e3) : kDash,
                    fitted ? FormatFixed(redo.r_squared(), 3) : kDash, FormatFixed(redo.calls_per_record(), 3),
                    redo.has_extended_seconds() ? TimeCell(redo.extended_seconds()) : kDash,
                    redo.has_extended_seconds() ? TimeCell(redo.extended_error_seconds()) : kDash});
    }
  }
  AppendLines(table.Lines(), lines);
  if (left_out > 0) lines.push_back(absl::StrCat("  ... and ", left_out, " more lines (report.txt)"));
  AddIndented(
      "Seconds to read the log and apply its records, for 1,000 more of them and extended to the number above; +-: 95 "
      "% "
      "confidence; \u2013: it may be nothing. coalesced: MQ since 9.1.1; per-record: before",
      lines);
  return lines;
}

std::vector<std::string> TextLoads(const v1::RestartReport& restart, size_t rows = SIZE_MAX) {
  TextTable table({"directory", "load", "depth", "median", "min", "max", "MB", "calls"}, 2, {0});
  size_t shown = 0;
  for (const v1::RestartSide& side : restart.sides()) {
    for (const v1::RestartLoadReport& load : side.load()) {
      if (shown++ >= rows) continue;
      table.AddRow({DirectoryCell(side), LoadWord(load.way()), FormatCount(load.depth()),
                    TimeCell(load.median_seconds()), TimeCell(load.min_seconds()), TimeCell(load.max_seconds()),
                    FormatFixed(static_cast<double>(load.bytes()) / 1e6, 1), FormatCount(load.calls())});
    }
  }
  if (shown == 0) return {};
  std::vector<std::string> lines = {"Loading the queues, in seconds"};
  AppendLines(table.Lines(), lines);
  if (shown > rows) lines.push_back(absl::StrCat("  ... and ", shown - rows, " more lines (report.txt)"));
  return lines;
}

std::vector<std::string> TextUndos(const v1::RestartReport& restart, size_t rows = SIZE_MAX) {
  TextTable table({"directory", "message", "uncommitted", "transactions", "median", "min", "max", "calls"}, 1, {0});
  size_t shown = 0;
  for (const v1::RestartSide& side : restart.sides()) {
    for (const v1::RestartUndoReport& undo : side.undo()) {
      if (shown++ >= rows) continue;
      table.AddRow({DirectoryCell(side), FormatSize(undo.message_size_bytes()), FormatCount(undo.uncommitted()),
                    FormatCount(undo.transactions()), TimeCell(undo.median_seconds()), TimeCell(undo.min_seconds()),
                    TimeCell(undo.max_seconds()), FormatCount(undo.queue_calls() + undo.log_writes())});
    }
  }
  if (shown == 0) return {};
  std::vector<std::string> lines = {"Backing out uncommitted messages, in seconds; MQ's own processing is not in it"};
  AppendLines(table.Lines(), lines);
  if (shown > rows) lines.push_back(absl::StrCat("  ... and ", shown - rows, " more lines (report.txt)"));
  return lines;
}

std::vector<std::string> TextPoints(const v1::RestartReport& restart) {
  TextTable table({"directory", "redo", "records", "median", "min", "max", "|", "log", "queues", "calls"}, 2, {0});
  for (const v1::RestartSide& side : restart.sides()) {
    for (const v1::RestartRedoReport& redo : side.redo()) {
      for (const v1::RestartPoint& point : redo.points()) {
        table.AddRow({DirectoryCell(side), RedoWord(redo.way()), FormatCount(point.records()),
                      TimeCell(point.median_seconds()), TimeCell(point.min_seconds()), TimeCell(point.max_seconds()),
                      TimeCell(point.log_seconds()), TimeCell(point.queue_seconds()),
                      FormatCount(point.queue_calls())});
      }
    }
  }
  std::vector<std::string> lines = {"Reading the log and applying its records, in seconds"};
  AppendLines(table.Lines(), lines);
  AddIndented("log, queues: time in calls that read the log, and in calls to queue files", lines);
  return lines;
}

std::vector<std::string> TextReal(const v1::RestartReport& restart) {
  if (restart.real().empty()) return {};
  TextTable table({"queue manager", "seconds", "records", "s/1,000"}, 1, {0});
  for (const v1::RealRestart& real : restart.real()) {
    const bool counted = real.has_records() && real.records() > 0;
    table.AddRow({SanitizeForTerminal(real.queue_manager()), TimeCell(real.seconds()),
                  counted ? FormatCount(real.records()) : kDash,
                  counted ? TimeCell(real.seconds() / static_cast<double>(real.records()) * 1'000) : kDash},
                 real.without_channel_initiator() ? "*" : "");
  }
  std::vector<std::string> lines = {"Restarts of real queue managers, by their error logs"};
  AppendLines(table.Lines(), lines);
  const bool marked =
      std::ranges::any_of(restart.real(), [](const v1::RealRestart& real) { return real.without_channel_initiator(); });
  AddIndented(absl::StrCat("From AMQ5051I to AMQ8024I", marked ? "; * to AMQ8003I, with no channel initiator" : "",
                           ": everything that the queue manager did"),
              lines);
  return lines;
}

std::vector<std::string> TextCold(const v1::RestartReport& restart) {
  std::vector<std::string> lines;
  for (const v1::RestartSide& side : restart.sides()) {
    AddIndented(
        absl::StrCat(SanitizeForTerminal(side.directory()),
                     side.fs_type().empty() ? "" : absl::StrCat(" (", SanitizeForTerminal(side.fs_type()), ")"), ": ",
                     !side.has_cold() ? "whether the log was read from the storage is not known: the kernel "
                                        "has no counter for it"
                     : side.cold()
                         ? "as many bytes were read from the storage as the log and the calls to queue files have"
                         : "NOT ALL of it was read from the storage: a cache answered"),
        lines);
  }
  return lines;
}

std::vector<std::string> TextAssumptions(const v1::RestartReport& restart) {
  std::vector<std::string> lines = {"What the model assumes"};
  for (const std::string& assumption : restart.assumptions()) AddIndented(assumption, lines);
  return lines;
}

void RestartOptions(const v1::TestPlan& plan, std::vector<ConfigurationRow>& rows) {
  const v1::RestartPlan& restart = plan.restart_time();
  const auto add = [&rows](const char* label, const char* option, const std::string& value) {
    rows.push_back({label, option, value});
  };
  const auto listed = [&restart](int number) {
    const google::protobuf::FieldDescriptor& field = *v1::RestartPlan::descriptor()->FindFieldByNumber(number);
    std::vector<std::string> values;
    const int count = restart.GetReflection()->FieldSize(restart, &field);
    for (int i = 0; i < count; ++i) values.push_back(FormatValue(field, restart, i));
    return absl::StrJoin(values, ", ");
  };
  if (!restart.records().empty()) add("Records", "--records", listed(v1::RestartPlan::kRecordsFieldNumber));
  if (!restart.log_used_percent().empty()) {
    add("Log used", "--log-used",
        absl::StrCat(listed(v1::RestartPlan::kLogUsedPercentFieldNumber), " % of ", plan.workload().num_files(),
                     " extents of ", FormatSizeForPeople(plan.workload().file_size_bytes())));
  }
  add("Rounds", "--rounds", absl::StrCat(restart.rounds()));
  add("Redo", "--redo",
      absl::StrCat(listed(v1::RestartPlan::kRedoFieldNumber), "; ",
                   absl::StrFormat("%g calls per record", restart.round_trips_per_record())));
  add("Queues", "--queues",
      absl::StrCat(restart.queues(), ", ",
                   restart.queue_io() == v1::RESTART_QUEUE_IO_BUFFERED ? "through the page cache" : "O_DIRECT"));
  add("Depth", "--depth", listed(v1::RestartPlan::kDepthFieldNumber));
  add("Messages", "--message-size", listed(v1::RestartPlan::kMessageSizeBytesFieldNumber));
  add("Uncommitted", "--uncommitted",
      absl::StrCat(listed(v1::RestartPlan::kUncommittedFieldNumber), " in ",
                   listed(v1::RestartPlan::kTransactionsFieldNumber), " transactions"));
  if (restart.drop_caches()) add("Caches", "--drop-caches", "the host's page cache is dropped before each measurement");
}

std::vector<ConfigurationRow> RestartConfiguration(const v1::Report& report) {
  std::vector<ConfigurationRow> rows;
  std::vector<std::string> directories;
  for (const v1::RestartSide& side : report.restart_time().sides()) {
    directories.push_back(SanitizeForTerminal(side.directory()));
  }
  rows.push_back({"Directories", "--vary dir", absl::StrJoin(directories, ", ")});
  RestartOptions(report.plan(), rows);
  return rows;
}

std::vector<std::vector<std::string>> RestartParts(const v1::Report& report) {
  const v1::RestartReport& restart = report.restart_time();
  return {TextRestartAnswer(restart), TextCold(restart),   TextLoads(restart),      TextUndos(restart),
          TextReal(restart),          TextPoints(restart), TextAssumptions(restart)};
}

std::vector<std::vector<std::string>> RestartBrief(const v1::Report& report, size_t rows) {
  const v1::RestartReport& restart = report.restart_time();
  return {TextRestartAnswer(restart, rows), TextLoads(restart, rows), TextUndos(restart, rows), TextReal(restart)};
}

}  // namespace

constinit const TextSection kRestartTextSection{.kind = RunKind::kRestart,
                                                .options = RestartOptions,
                                                .parts = RestartParts,
                                                .brief = RestartBrief,
                                                .answers = true,
                                                .configuration = RestartConfiguration};

}  // namespace plimsoll
