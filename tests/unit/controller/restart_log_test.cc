// What `plimsoll restart-time from-log` prints, and its exit codes.
#include "controller/cli/restart_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/render/plain_text.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class RestartLogCommandTest : public ::testing::Test {
 protected:
  // Runs `from-log` with these words behind it.
  int FromLog(const std::vector<std::string>& words) {
    out_.str("");
    err_.str("");
    CLI::App app("Plimsoll", "plimsoll");
    CommandLine line{{out_, err_}};
    AddRestartLogCommand(*app.add_subcommand("restart-time", "Measure"), line);
    std::vector<std::string> args = {"restart-time", "from-log"};
    args.insert(args.end(), words.begin(), words.end());
    return ParseAndRun(app, args, line);
  }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.Sub(name)) << text;
    return directory_.Sub(name);
  }

  const TempDirectory directory_;
  std::ostringstream out_;
  std::ostringstream err_;
};

std::string ErrorLogEntryOf(const std::string& queue_manager, const std::string& time, const std::string& message,
                            const std::string& inserts = "") {
  return absl::StrCat("03/01/26 04:30:00 - Process(4711.3) User(mqm) Program(amqzxma0)\n",
                      "                    Host(node1) Installation(Installation1)\n",
                      "                    VRMF(9.3.0.5) QMgr(", queue_manager, ")\n", "                    Time(",
                      time, ")\n", inserts, "\n", message,
                      "\n\nEXPLANATION:\nNone.\nACTION:\nNone.\n----- amqxample.c : 1 -----\n");
}

// A start in the hour "2026-03-01T04", of so many seconds and log records.
std::string StartOf(const std::string& queue_manager, const std::string& hour, int seconds, int records,
                    const std::string& end = "AMQ8024I: IBM MQ channel initiator started.") {
  return absl::StrCat(
      ErrorLogEntryOf(queue_manager, hour + ":00:00.000Z", "AMQ5051I: The queue manager task 'LOGGER-IO' has started.",
                      "                    CommentInsert1(LOGGER-IO)\n"),
      ErrorLogEntryOf(queue_manager, hour + ":00:01.000Z", absl::StrCat("AMQ7229I: ", records, " log records accessed"),
                      absl::StrCat("                    ArithInsert1(", records, ")\n")),
      ErrorLogEntryOf(queue_manager, absl::StrCat(hour, ":00:", seconds, ".000Z"), end));
}

TEST_F(RestartLogCommandTest, EachRestartIsARowAndAllOfThemAreSummedUp) {
  const std::string log =
      Write("AMQERR01.LOG", StartOf("QM1", "2026-03-01T04", 12, 2000) + StartOf("QM1", "2026-03-01T05", 22, 4000) +
                                StartOf("QM1", "2026-03-01T06", 52, 10000, "AMQ8003I: IBM MQ queue manager started."));
  EXPECT_EQ(FromLog({log}), static_cast<int>(Exit::kOk)) << err_.str();
  EXPECT_EQ(out_.str(),
            "  queue manager  began (UTC)          seconds  records  s per 1,000\n"
            "  QM1            2026-03-01 04:00:00   12.000    2,000        6.000\n"
            "  QM1            2026-03-01 05:00:00   22.000    4,000        5.500\n"
            "  QM1            2026-03-01 06:00:00   52.000   10,000        5.200  AMQ8003I\n"
            "AMQ8003I: the end of the restart, since no channel initiator started (AMQ8024I)\n"
            "\n"
            "3 restarts: median 22.000 s, shortest 12.000 s, longest 52.000 s\n"
            "least squares (3 restarts): 5.000 s per 1,000 records + 2.000 s\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(RestartLogCommandTest, QueueManagersAreSummedUpApartWithin80Columns) {
  const std::string long_name = "PAYMENTS.EUROPE.PRODUCTION.QUEUEMANAGER.NUMBER0";
  const std::string log = Write("AMQERR01.LOG", StartOf(long_name + "1", "2026-03-01T04", 12, 2000) +
                                                    StartOf(long_name + "2", "2026-03-01T05", 13, 0));
  EXPECT_EQ(FromLog({log}), static_cast<int>(Exit::kOk)) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(long_name + "1, 1 restart: median 12.000 s"),
                                HasSubstr(long_name + "2, 1 restart: median 13.000 s"), Not(HasSubstr("least"))));
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(out_.str(), '\n'))) {
    EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
  }
}

TEST_F(RestartLogCommandTest, NoLineIsFittedToFewerThanThreeCounts) {
  const std::string log =
      Write("AMQERR01.LOG", StartOf("QM1", "2026-03-01T04", 12, 2000) + StartOf("QM1", "2026-03-01T05", 22, 4000) +
                                StartOf("QM1", "2026-03-01T06", 52, 4000));
  EXPECT_EQ(FromLog({log}), static_cast<int>(Exit::kOk)) << err_.str();
  EXPECT_THAT(out_.str(), Not(HasSubstr("least squares")));
}

TEST_F(RestartLogCommandTest, JsonHasEachRestart) {
  const std::string log = Write("AMQERR01.LOG", StartOf("QM1", "2026-03-01T04", 12, 2000));
  EXPECT_EQ(FromLog({"--json", log}), static_cast<int>(Exit::kOk)) << err_.str();
  EXPECT_EQ(out_.str(), absl::StrCat("[\n  {\n    \"queue_manager\": \"QM1\",\n    \"begin_s\": 1772337600,\n"
                                     "    \"seconds\": 12,\n    \"records\": 2000,\n    \"file\": \"",
                                     log, "\"\n  }\n]\n"));
}

TEST_F(RestartLogCommandTest, WithoutARestartItEndsWith3AndReportsWhatIsMissing) {
  const std::string log = Write(
      "AMQERR01.LOG", ErrorLogEntryOf("QM1", "2026-03-01T04:00:00.000Z", "AMQ8003I: IBM MQ queue manager started."));
  EXPECT_EQ(FromLog({log}), static_cast<int>(Exit::kInconclusive));
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), AllOf(StartsWith("note: QM1: 1 AMQ8003I message without AMQ5051I"),
                                HasSubstr("\nplimsoll: no restart found: ")));
  EXPECT_EQ(FromLog({"--json", log}), static_cast<int>(Exit::kInconclusive));
  EXPECT_EQ(out_.str(), "[]\n");
}

TEST_F(RestartLogCommandTest, FilesThatAreNoneAreRefusedWith2) {
  const std::string log = Write("AMQERR01.LOG", "hello\n");
  EXPECT_EQ(FromLog({log, directory_.Sub("missing")}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), AllOf(HasSubstr(absl::StrCat("plimsoll: ", log, ": is not an error log of MQ")),
                                HasSubstr(absl::StrCat("\nplimsoll: open ", directory_.Sub("missing")))));
  EXPECT_EQ(FromLog({}), static_cast<int>(Exit::kWrong));
}

}  // namespace
}  // namespace plimsoll
