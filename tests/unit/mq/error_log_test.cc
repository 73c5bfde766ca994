// Restarts out of error logs: the rules, in text as MQ 9.1 and MQ 8 write it and in JSON.
#include "controller/mq/error_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "tests/random_seed.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr char kBegan[] = "AMQ5051I: The queue manager task 'LOGGER-IO' has started.";
constexpr char kQmStarted[] = "AMQ8003I: IBM MQ queue manager 'QM1' started using V9.3.0.5.";
constexpr char kInitiatorStarted[] = "AMQ8024I: IBM MQ channel initiator started.";
constexpr char kQmEnded[] = "AMQ8004I: IBM MQ queue manager 'QM1' ended.";
constexpr char kLoggerInsert[] = "                    CommentInsert1(LOGGER-IO)\n";

// Parts of an entry that tests vary.
struct EntryParts {
  std::string queue_manager = "QM1";
  std::string process = "4711.3";
  // Further lines of the header.
  std::string inserts;
  // Empty: no Time(...).
  std::string time_line = "                    Time(@)\n";
  std::string date = "03/01/26 04:30:00";
};

// An entry at `time`, "2026-03-01T04:30:00.123Z".
std::string EntryOf(const std::string& time, const std::string& message, const EntryParts& parts = {}) {
  return absl::StrCat(
      parts.date, " - Process(", parts.process, ") User(mqm) Program(amqzmuc0)\n",
      "                    Host(node1.example) Installation(Installation1)\n",
      "                    VRMF(9.3.0.5) QMgr(", parts.queue_manager, ")\n",
      absl::StrReplaceAll(parts.time_line, {{"@", time}}), parts.inserts, "\n", message, "\n",
      "\nEXPLANATION:\nThis is what happened, in a sentence of some length that goes over\nmore than one "
      "line.\nACTION:\nNone.\n----- amqxample.c : 1655 ------------------------------------------------"
      "-------\n");
}

std::string LoggerBegan(const std::string& time, EntryParts parts = {}) {
  parts.inserts = absl::StrCat("                    ArithInsert2(1)\n", kLoggerInsert);
  return EntryOf(time, kBegan, parts);
}

std::string TaskBegan(const std::string& time, const std::string& task) {
  EntryParts parts;
  parts.inserts = absl::StrCat("                    ArithInsert2(1)\n                    CommentInsert1(", task, ")\n");
  return EntryOf(time, absl::StrCat("AMQ5051I: The queue manager task '", task, "' has started."), parts);
}

std::string LoggerDone(const std::string& time, EntryParts parts = {}) {
  parts.inserts = kLoggerInsert;
  return EntryOf(time, "AMQ5041I: The queue manager task 'LOGGER-IO' has ended.", parts);
}

std::string Replayed(const std::string& time, const std::string& records) {
  EntryParts parts;
  parts.inserts =
      absl::StrCat("                    ArithInsert1(", records, ")\n                    CommentInsert1(QM1)\n");
  return EntryOf(
      time,
      absl::StrCat("AMQ7229I: ", records, " log records accessed on queue manager 'QM1' during the log replay\nphase."),
      parts);
}

// A whole start of QM1 in the minute "2026-03-01T04:30" that takes 12.5 s.
std::string WholeStart(const std::string& minute, const std::string& records = "2000") {
  return LoggerBegan(minute + ":00.250Z") + Replayed(minute + ":08.000Z", records) +
         TaskBegan(minute + ":08.100Z", "CHECKPOINT") + EntryOf(minute + ":12.000Z", kQmStarted) +
         EntryOf(minute + ":12.750Z", kInitiatorStarted);
}

RestartLog LogOf(const std::vector<ErrorLogText>& logs) {
  const absl::StatusOr<RestartLog> log = FindRestarts(logs);
  EXPECT_THAT(log, IsOk());
  return log.ok() ? *log : RestartLog();
}

RestartLog LogOf(const std::string& text) {
  return LogOf(std::vector<ErrorLogText>{{"AMQERR01.LOG", text}});
}

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<RestartLog> log = FindRestarts({{"AMQERR01.LOG", text}});
  EXPECT_THAT(log, StatusIs(absl::StatusCode::kInvalidArgument, "AMQERR01.LOG:"));
  return std::string(log.status().message());
}

// "QM1 1772339400 12.5 s 2000", "QM1 1772339400 12 s AMQ8003I".
std::vector<std::string> Brief(const RestartLog& log) {
  std::vector<std::string> each;
  for (const v1::RealRestart& restart : log.restarts) {
    each.push_back(absl::StrCat(restart.queue_manager(), " ", restart.begin_s(), " ", restart.seconds(), " s",
                                restart.has_records() ? absl::StrCat(" ", restart.records()) : "",
                                restart.without_channel_initiator() ? " AMQ8003I" : ""));
  }
  return each;
}

TEST(ErrorLog, ARestartLastsFromTheStartOfTheLoggerToTheChannelInitiator) {
  const RestartLog log = LogOf(WholeStart("2026-03-01T04:30"));
  ASSERT_THAT(log.restarts, SizeIs(1));
  const v1::RealRestart& restart = log.restarts[0];
  EXPECT_EQ(restart.queue_manager(), "QM1");
  EXPECT_EQ(restart.begin_s(), 1'772'339'400);
  EXPECT_DOUBLE_EQ(restart.seconds(), 12.5);
  EXPECT_EQ(restart.records(), 2000U);
  EXPECT_FALSE(restart.has_without_channel_initiator());
  EXPECT_EQ(restart.file(), "AMQERR01.LOG");
  EXPECT_THAT(log.notes, IsEmpty());
}

TEST(ErrorLog, WithoutAChannelInitiatorItEndsWithTheQueueManagersStart) {
  const std::string began = LoggerBegan("2026-03-01T04:30:00.000Z");
  const std::string started = EntryOf("2026-03-01T04:30:12.000Z", kQmStarted);
  EXPECT_THAT(Brief(LogOf(began + started)), ElementsAre("QM1 1772339400 12 s AMQ8003I"));
  // The next start has one; its AMQ8024I is not that of the first.
  EXPECT_THAT(Brief(LogOf(began + started + WholeStart("2026-03-01T04:31"))),
              ElementsAre("QM1 1772339400 12 s AMQ8003I", "QM1 1772339460 12.5 s 2000"));
}

TEST(ErrorLog, AMessageOfTheChannelInitiatorAfterTheEndOrLongAfterTheStartDoesNotCount) {
  const std::string start = LoggerBegan("2026-03-01T04:30:00.000Z") + EntryOf("2026-03-01T04:30:12.000Z", kQmStarted);
  const RestartLog by_hand = LogOf(start + EntryOf("2026-03-01T09:00:00.000Z", kInitiatorStarted));
  EXPECT_THAT(Brief(by_hand), ElementsAre("QM1 1772339400 12 s AMQ8003I"));
  EXPECT_THAT(by_hand.notes, ElementsAre(HasSubstr("1 AMQ8024I message more than 10 minutes after AMQ8003I")));
  EXPECT_THAT(Brief(LogOf(start + EntryOf("2026-03-01T04:30:20.000Z", kQmEnded) +
                          EntryOf("2026-03-01T04:30:30.000Z", kInitiatorStarted))),
              ElementsAre("QM1 1772339400 12 s AMQ8003I"));
  EXPECT_THAT(Brief(LogOf(WholeStart("2026-03-01T04:30") + EntryOf("2026-03-01T04:35:00.000Z", kInitiatorStarted))),
              ElementsAre("QM1 1772339400 12.5 s 2000"));
}

TEST(ErrorLog, OtherTasksBeginNothing) {
  EXPECT_THAT(Brief(LogOf(TaskBegan("2026-03-01T04:29:00.000Z", "CHECKPOINT") + WholeStart("2026-03-01T04:30"))),
              ElementsAre("QM1 1772339400 12.5 s 2000"));
}

TEST(ErrorLog, ALoggerThatItsProcessStartsAgainBeginsNoSecondRestart) {
  EntryParts again;
  again.inserts = absl::StrCat("                    ArithInsert2(2)\n", kLoggerInsert);
  EXPECT_THAT(Brief(LogOf(LoggerBegan("2026-03-01T04:30:00.000Z") + EntryOf("2026-03-01T04:30:01.000Z", kBegan, again) +
                          EntryOf("2026-03-01T04:30:12.000Z", kInitiatorStarted))),
              ElementsAre("QM1 1772339400 12 s"));
}

TEST(ErrorLog, StartsThatDoNotFinishAreLeftOutAndCounted) {
  // crtmqm starts and ends the logger before the first start.
  EntryParts created;
  created.process = "100.3";
  const RestartLog log =
      LogOf(LoggerBegan("2026-03-01T04:28:00.000Z", created) + LoggerDone("2026-03-01T04:28:00.100Z", created) +
            // Killed while it replays.
            LoggerBegan("2026-03-01T04:29:00.000Z") + WholeStart("2026-03-01T04:30"));
  EXPECT_THAT(Brief(log), ElementsAre("QM1 1772339400 12.5 s 2000"));
  EXPECT_THAT(log.notes, ElementsAre(HasSubstr("QM1: 2 starts without AMQ8003I or AMQ8024I left out, the first at "
                                               "2026-03-01 04:28:00 UTC")));
}

TEST(ErrorLog, TheEndOfAnEarlierLoggerDoesNotEndTheNextStart) {
  EntryParts previous;
  previous.process = "100.1";
  EXPECT_THAT(Brief(LogOf(LoggerBegan("2026-03-01T04:30:00.000Z") + LoggerDone("2026-03-01T04:30:00.100Z", previous) +
                          EntryOf("2026-03-01T04:30:12.000Z", kInitiatorStarted))),
              ElementsAre("QM1 1772339400 12 s"));
}

TEST(ErrorLog, AnEndWithoutItsBeginIsCounted) {
  const RestartLog log = LogOf(EntryOf("2026-03-01T04:28:00.000Z", kQmStarted) +
                               EntryOf("2026-03-01T04:28:01.000Z", kInitiatorStarted) + WholeStart("2026-03-01T04:30"));
  EXPECT_THAT(Brief(log), ElementsAre("QM1 1772339400 12.5 s 2000"));
  EXPECT_THAT(log.notes,
              ElementsAre(AllOf(HasSubstr("QM1: 1 AMQ8003I message without AMQ5051I"), HasSubstr("AMQERR02"))));
}

TEST(ErrorLog, OfSeveralCountsOfRecordsTheLargestIsTaken) {
  EXPECT_THAT(Brief(LogOf(LoggerBegan("2026-03-01T04:30:00.000Z") + Replayed("2026-03-01T04:30:03.000Z", "60000") +
                          Replayed("2026-03-01T04:30:04.000Z", "61234") + Replayed("2026-03-01T04:30:05.000Z", "7") +
                          EntryOf("2026-03-01T04:30:12.000Z", kInitiatorStarted))),
              ElementsAre("QM1 1772339400 12 s 61234"));
}

TEST(ErrorLog, RecordsWithoutAnInsertComeFromTheMessage) {
  const auto with = [](const std::string& message) {
    return Brief(LogOf(LoggerBegan("2026-03-01T04:30:00.000Z") + EntryOf("2026-03-01T04:30:03.000Z", message) +
                       EntryOf("2026-03-01T04:30:12.000Z", kInitiatorStarted)));
  };
  // MQ writes no insert for 0.
  EXPECT_THAT(with("AMQ7229I: 0 log records accessed on queue manager 'QM1' during the log replay\nphase."),
              ElementsAre("QM1 1772339400 12 s 0"));
  EXPECT_THAT(with("AMQ7229I: 41 Protokolls\x84tze wurden aufgerufen."), ElementsAre("QM1 1772339400 12 s 41"));
  EXPECT_THAT(with("AMQ7229I: Nombre d'enregistrements : 41"), ElementsAre("QM1 1772339400 12 s"));
  // Digits may be missing.
  EXPECT_THAT(with("AMQ7229I: 12"), ElementsAre("QM1 1772339400 12 s"));
}

TEST(ErrorLog, TheSeverityAndTheLanguageDoNotMatter) {
  EXPECT_THAT(Brief(LogOf(absl::StrReplaceAll(WholeStart("2026-03-01T04:30"), {{"AMQ5051I", "AMQ5051"},
                                                                               {"AMQ7229I", "AMQ7229"},
                                                                               {"AMQ8003I", "AMQ8003"},
                                                                               {"AMQ8024I", "AMQ8024"},
                                                                               {"has started", "wurde gestartet"},
                                                                               {"EXPLANATION", "ERKL\x8eRUNG"}}))),
              ElementsAre("QM1 1772339400 12.5 s 2000"));
}

TEST(ErrorLog, FilesAreMergedByTimeInWhateverOrderTheyAreGiven) {
  const std::string whole = WholeStart("2026-03-01T04:30");
  const size_t cut = whole.find("03/01/26", 1);
  const ErrorLogText older{"errors/AMQERR02.LOG", whole.substr(0, cut)};
  const ErrorLogText newer{"errors/AMQERR01.LOG", whole.substr(cut)};
  const RestartLog log = LogOf({newer, older});
  EXPECT_THAT(Brief(log), ElementsAre("QM1 1772339400 12.5 s 2000"));
  EXPECT_EQ(log.restarts[0].file(), "errors/AMQERR02.LOG");
  EXPECT_THAT(Brief(LogOf({older, newer})), ElementsAre("QM1 1772339400 12.5 s 2000"));
}

TEST(ErrorLog, OfTheSameMomentTheOlderFilesEntriesComeFirst) {
  const std::string moment = "2026-03-01T04:30:00.000Z";
  EXPECT_THAT(Brief(LogOf({{"AMQERR01.LOG", EntryOf(moment, kQmStarted)}, {"AMQERR03.LOG", LoggerBegan(moment)}})),
              ElementsAre("QM1 1772339400 0 s AMQ8003I"));
}

TEST(ErrorLog, EntriesThatSeveralFilesHoldCountOnce) {
  const std::string whole = WholeStart("2026-03-01T04:30") + WholeStart("2026-03-01T04:40", "500");
  const RestartLog log = LogOf({{"a/AMQERR01.LOG", whole}, {"b/AMQERR01.LOG", whole}});
  EXPECT_THAT(Brief(log), ElementsAre("QM1 1772339400 12.5 s 2000", "QM1 1772340000 12.5 s 500"));
  EXPECT_THAT(log.notes, IsEmpty());
}

TEST(ErrorLog, QueueManagersAreKeptApart) {
  EntryParts other;
  other.queue_manager = "PAY.QM2";
  const RestartLog log =
      LogOf(LoggerBegan("2026-03-01T04:30:00.000Z") + LoggerBegan("2026-03-01T04:30:01.000Z", other) +
            EntryOf("2026-03-01T04:30:05.000Z", kInitiatorStarted, other) +
            EntryOf("2026-03-01T04:30:12.000Z", kInitiatorStarted));
  EXPECT_THAT(Brief(log), ElementsAre("QM1 1772339400 12 s", "PAY.QM2 1772339401 4 s"));
}

TEST(ErrorLog, EntriesWithoutAQueueManagerAreLeftOutAndCounted) {
  const std::string text = absl::StrReplaceAll(WholeStart("2026-03-01T04:30"), {{" QMgr(QM1)", ""}});
  const RestartLog log = LogOf(text);
  EXPECT_THAT(log.restarts, IsEmpty());
  EXPECT_THAT(log.notes, ElementsAre("AMQERR01.LOG: 4 entries without QMgr(...) left out"));
}

TEST(ErrorLog, ADateCountsOnlyIfItIsIsoAndThereIsNoTime) {
  EntryParts iso;
  iso.time_line = "";
  iso.date = "2026-03-01 04:30:00";
  EntryParts later = iso;
  later.date = "2026-03-01 04:30:12";
  const RestartLog log = LogOf(LoggerBegan("", iso) + EntryOf("", kInitiatorStarted, later));
  EXPECT_THAT(Brief(log), ElementsAre("QM1 1772339400 12 s"));
  EXPECT_THAT(log.notes, ElementsAre(HasSubstr("2 times of the host's local clock")));
}

TEST(ErrorLog, AnyOtherDateIsRefusedByNameWithTheWayOut) {
  for (const char* const date : {"03/01/26 04:30:00 PM", "01.03.2026 04:30:00", "26-03-01 04:30:00",
                                 "2026-02-30 04:30:00", "2026-03-01 04:30:00 PM"}) {
    EntryParts parts;
    parts.time_line = "";
    parts.date = date;
    // What is not about a start needs no time.
    const std::string other = EntryOf("", "AMQ9410I: Repository manager started.", parts);
    EXPECT_THAT(LogOf(other).notes, IsEmpty());
    EXPECT_THAT(
        ErrorOf(other + LoggerBegan("", parts) + EntryOf("", kQmStarted, parts)),
        AllOf(StartsWith("AMQERR01.LOG:13: the date '" + std::string(date) +
                         "' depends on the host's locale and could mean two days"),
              HasSubstr("pass logs of MQ 9.1 or later"), HasSubstr("\nAMQERR01.LOG: 1 more date of this kind")));
  }
}

TEST(ErrorLog, ATimeThatIsNoneIsRefused) {
  EXPECT_THAT(ErrorOf(LoggerBegan("2026-13-01T04:30:00.000Z")),
              StartsWith("AMQERR01.LOG:1: the entry's time '2026-13-01T04:30:00.000Z' is not one such as"));
  EXPECT_THAT(ErrorOf(LoggerBegan("infinite-future")), HasSubstr("is not one such as"));
  EXPECT_THAT(ErrorOf(LoggerBegan("9999-01-01T04:30:00.000Z")), HasSubstr("is not one such as"));
}

TEST(ErrorLog, AFileWithoutAnEntryIsRefusedByNameAndAllFilesAreReported) {
  EXPECT_THAT(ErrorOf("Mar  1 04:30:00 node1 systemd[1]: Started MQ.\n\n"),
              AllOf(StartsWith("AMQERR01.LOG: is not an error log of MQ; pass AMQERR01.LOG or AMQERR01.json"),
                    EndsWith("; it begins with 'Mar  1 04:30:00 node1 systemd[1]: Started MQ.' (line 1)")));
  // What a container prints has no queue manager.
  EXPECT_THAT(ErrorOf("2026-03-01T04:30:00.000Z AMQ8003I: IBM MQ queue manager 'QM1' started using V9.3.0.5.\n"),
              HasSubstr("not the console output of a container"));
  EXPECT_THAT(ErrorOf(std::string("\x1f\x8b\x00\x08", 4)), HasSubstr("is not a text file"));
  const absl::StatusOr<RestartLog> log = FindRestarts({{"one", "x\n"}, {"two", "y\n"}});
  EXPECT_THAT(std::string(log.status().message()), AllOf(HasSubstr("one: is not"), HasSubstr("\ntwo: is not")));
}

TEST(ErrorLog, AnEmptyFileIsLeftOutWithANote) {
  const RestartLog log = LogOf({{"AMQERR01.LOG", WholeStart("2026-03-01T04:30")}, {"AMQERR02.LOG", ""}});
  EXPECT_THAT(log.restarts, SizeIs(1));
  EXPECT_THAT(log.notes, ElementsAre("AMQERR02.LOG: the file is empty"));
}

TEST(ErrorLog, InsertsMayHoldAnything) {
  EntryParts odd;
  odd.inserts =
      "                    RemoteHost(10.1.2.3 (a))\n"
      "                    CommentInsert1(LOGGER-IO)\n"
      "                    CommentInsert2(/opt/mqm (Installation1)) QMgr(OTHER)\n"
      "                    CommentInsert3(first line\n"
      "                    QMgr(EVIL) Time(1999-01-01T00:00:00.000Z)\n"
      "                    2026-03-01 Process(1.1) {\"ibm_\": 1})\n";
  EXPECT_THAT(Brief(LogOf(EntryOf("2026-03-01T04:30:00.000Z", kBegan, odd) +
                          EntryOf("2026-03-01T04:30:12.000Z", kInitiatorStarted))),
              ElementsAre("QM1 1772339400 12 s"));
}

TEST(ErrorLog, LineEndsEncodingsQuotationsAndZeroBytesDoNotMatter) {
  const std::string text = WholeStart("2026-03-01T04:30");
  EXPECT_THAT(Brief(LogOf(absl::StrReplaceAll(text, {{"\n", "\r\n"}}))), ElementsAre("QM1 1772339400 12.5 s 2000"));
  EXPECT_THAT(Brief(LogOf("> " + absl::StrReplaceAll(text, {{"\n", "\n> "}, {" - ", " \u2013 "}}))),
              ElementsAre("QM1 1772339400 12.5 s 2000"));
  std::string wide = "\xff\xfe";
  for (const char c : text) wide += {c, '\0'};
  EXPECT_THAT(Brief(LogOf(wide)), ElementsAre("QM1 1772339400 12.5 s 2000"));
  const RestartLog crashed = LogOf(EntryOf("2026-03-01T04:00:00.000Z", kQmEnded) + std::string(4096, '\0') + text);
  EXPECT_THAT(Brief(crashed), ElementsAre("QM1 1772339400 12.5 s 2000"));
  EXPECT_THAT(crashed.notes, ElementsAre(HasSubstr("zero bytes")));
}

TEST(ErrorLog, NamesHoldNothingThatMovesATerminalOrIsNotUtf8) {
  EntryParts odd;
  odd.queue_manager = "Q\x1b[2J\xff";
  const RestartLog log =
      LogOf(LoggerBegan("2026-03-01T04:30:00.000Z", odd) + EntryOf("2026-03-01T04:30:12.000Z", kInitiatorStarted, odd));
  ASSERT_THAT(log.restarts, SizeIs(1));
  EXPECT_FALSE(HasControl(log.restarts[0].queue_manager()));
  EXPECT_EQ(FindInvalidUtf8(log.restarts[0].queue_manager()), std::string::npos);
}

// One line of AMQERR01.json.
std::string JsonEntry(const std::string& time, const std::string& id, const std::string& text,
                      const std::string& members = "") {
  return absl::StrCat(R"({"ibm_messageId":")", id, R"(","ibm_arithInsert1":0,)", members, R"("ibm_datetime":")", time,
                      R"(","ibm_serverName":"QM1","type":"mq_log","host":"mq-0","loglevel":"INFO",)",
                      R"("module":"amqxample.c:1655","ibm_processId":4711,"ibm_threadId":3,"message":")", id, ": ",
                      text, "\"}\n");
}

std::string JsonStart() {
  return JsonEntry("2026-03-01T04:30:00.250Z", "AMQ5051I", "The queue manager task 'LOGGER-IO' has started.",
                   R"("ibm_arithInsert2":1,"ibm_commentInsert1":"LOGGER-IO",)") +
         JsonEntry("2026-03-01T04:30:08.000Z", "AMQ7229I", "2000 log records accessed on queue manager 'QM1'.",
                   R"("ibm_arithInsert1":2000,)") +
         JsonEntry("2026-03-01T04:30:12.000Z", "AMQ8003I", "IBM MQ queue manager 'QM1' started using V9.3.0.5.") +
         JsonEntry("2026-03-01T04:30:12.750Z", "AMQ8024I", "IBM MQ channel initiator started.");
}

TEST(ErrorLog, EntriesInJsonAreRead) {
  EXPECT_THAT(Brief(LogOf(JsonStart())), ElementsAre("QM1 1772339400 12.5 s 2000"));
  // As kubectl prints it with time stamps, and with other programs' lines between.
  EXPECT_THAT(Brief(LogOf("{\"message\":\"CPU architecture: amd64\"}\n2026-03-01T04:30:00Z " +
                          absl::StrReplaceAll(JsonStart(), {{"\n", "\nnot JSON {\n2026-03-01T04:30:00Z "}}))),
              ElementsAre("QM1 1772339400 12.5 s 2000"));
  // Members of inner objects are not the entry's.
  EXPECT_THAT(
      Brief(LogOf(absl::StrReplaceAll(
          JsonStart(), {{"\"type\":", R"("labels":{"ibm_serverName":"OTHER","x":["ibm_messageId",{}]},"type":)"}}))),
      ElementsAre("QM1 1772339400 12.5 s 2000"));
}

TEST(ErrorLog, TextAndJsonOfTheSameStartCountOnce) {
  EXPECT_THAT(Brief(LogOf({{"AMQERR01.LOG", WholeStart("2026-03-01T04:30")}, {"AMQERR01.json", JsonStart()}})),
              ElementsAre("QM1 1772339400 12.5 s 2000"));
}

TEST(ErrorLog, DamagedLinesOfJsonAreLeftOutWithANote) {
  const std::string torn = JsonStart().substr(0, 100) + "\n" + JsonStart();
  const RestartLog log = LogOf(torn);
  EXPECT_THAT(Brief(log), ElementsAre("QM1 1772339400 12.5 s 2000"));
  EXPECT_THAT(log.notes, ElementsAre("AMQERR01.LOG: 1 line left out, which is not a whole JSON object; the first is "
                                     "line 1"));
  EXPECT_THAT(Brief(LogOf(absl::StrReplaceAll(JsonStart(), {{"mq-0", "mq\xff"}}))),
              ElementsAre("QM1 1772339400 12.5 s 2000"));
  EXPECT_THAT(ErrorOf(JsonEntry("yesterday", "AMQ8003I", "IBM MQ queue manager 'QM1' started.")),
              HasSubstr("AMQERR01.LOG:1: the entry's time 'yesterday' is not one such as"));
}

TEST(ErrorLog, FilesAreReadAndWhatCannotBeReadIsNamed) {
  const TempDirectory directory;
  const std::string path = directory.Sub("AMQERR01.LOG");
  std::ofstream(path) << WholeStart("2026-03-01T04:30");
  const absl::StatusOr<RestartLog> log = ReadRestarts({path});
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT(Brief(*log), ElementsAre("QM1 1772339400 12.5 s 2000"));
  EXPECT_EQ(log->restarts[0].file(), path);
  const std::string missing = directory.Sub("AMQERR02.LOG");
  EXPECT_THAT(ReadRestarts({path, missing}), StatusIs(absl::StatusCode::kInvalidArgument, missing));
  EXPECT_THAT(ReadRestarts({directory.path()}), StatusIs(absl::StatusCode::kInvalidArgument, "is a directory"));
}

TEST(ErrorLog, AFileBeyondTheLimitIsRefused) {
  const TempDirectory directory;
  const std::string path = directory.Sub("AMQERR01.LOG");
  std::ofstream(path) << WholeStart("2026-03-01T04:30");
  std::filesystem::resize_file(path, kMostErrorLogBytes + 1);
  EXPECT_THAT(ReadRestarts({path}), StatusIs(absl::StatusCode::kInvalidArgument, "is larger than 67108864 bytes"));
}

// What has been read is never wrong: of a part of a log there are the whole restarts, and the last one at most as it
// would end with AMQ8003I.
TEST(ErrorLog, EveryPrefixOfALogIsRead) {
  for (const std::string& text : {WholeStart("2026-03-01T04:30") + WholeStart("2026-03-01T04:40", "500"),
                                  JsonStart() + absl::StrReplaceAll(JsonStart(), {{"T04:30", "T04:40"}})}) {
    const RestartLog whole = LogOf(text);
    ASSERT_THAT(whole.restarts, SizeIs(2));
    for (size_t length = 0; length < text.size(); ++length) {
      const absl::StatusOr<RestartLog> log = FindRestarts({{"AMQERR01.LOG", text.substr(0, length)}});
      if (!log.ok()) {
        EXPECT_THAT(std::string(log.status().message()), StartsWith("AMQERR01.LOG: is not an error log of MQ"))
            << length;
        continue;
      }
      ASSERT_THAT(log->restarts, SizeIs(Le(2U))) << length;
      for (size_t i = 0; i < log->restarts.size(); ++i) {
        EXPECT_EQ(log->restarts[i].begin_s(), whole.restarts[i].begin_s()) << length;
        EXPECT_EQ(log->restarts[i].records(), whole.restarts[i].records()) << length;
        EXPECT_EQ(log->restarts[i].seconds(), log->restarts[i].without_channel_initiator() ? 11.75 : 12.5) << length;
      }
    }
  }
}

TEST(ErrorLog, AnyBytesAreReadOrRefusedByName) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(absl::StrCat("PLIMSOLL_SEED=", seed));
  std::mt19937_64 random(seed);
  const std::string text = WholeStart("2026-03-01T04:30") + JsonStart();
  for (int round = 0; round < 500; ++round) {
    std::string changed = text;
    for (uint64_t changes = random() % 20; changes > 0; --changes) {
      const size_t at = random() % changed.size();
      if (random() % 2 == 0) {
        changed[at] = static_cast<char>(random() % 256);
      } else {
        changed.erase(at, random() % 40);
      }
    }
    const absl::StatusOr<RestartLog> log = FindRestarts({{"AMQERR01.LOG", changed}});
    if (!log.ok()) {
      EXPECT_THAT(std::string(log.status().message()), StartsWith("AMQERR01.LOG:"));
      continue;
    }
    for (const v1::RealRestart& restart : log->restarts) {
      EXPECT_GE(restart.seconds(), 0);
      EXPECT_EQ(FindInvalidUtf8(restart.queue_manager()), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace plimsoll
