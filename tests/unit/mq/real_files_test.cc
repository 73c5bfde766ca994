// MQ's files as people have them: published samples, fragments, ConfigMaps, and what mails, pages, terminals and log
// collectors make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "controller/mq/mq_files.h"
#include "controller/mq/mq_text.h"
#include "tests/testing.h"
#include "tests/unit/mq/mq_samples.h"

namespace plimsoll {
namespace {

// Its rates are those of an interval of 10.0026 s, as in the sample that IBM published.
constexpr char kRounded[] =
    "Publication received PutDate:20250114 PutTime:09152233 Interval:10.000 seconds\n"
    "Log - bytes in use 83886080\n"
    "Log file system - bytes in use 914132992\n"
    "Log - physical bytes written 401408000 40130286/sec\n"
    "Log - logical bytes written 371300000 37120182/sec\n"
    "Log - write latency 310 uSec\n"
    "Log - write size 24500\n"
    "Log - current primary space in use 142.10%\n"
    "Log - workload primary space utilization 138.02%\n";

LogRecording Recorded(const std::string& text) {
  const absl::StatusOr<LogRecording> recording = ReadAmqsrua(text, "log.txt");
  EXPECT_TRUE(recording.ok()) << recording.status().message() << "\n" << text;
  return recording.ok() ? *recording : LogRecording();
}

std::string RecordingError(const std::string& text) {
  const absl::StatusOr<LogRecording> recording = ReadAmqsrua(text, "log.txt");
  EXPECT_FALSE(recording.ok()) << text;
  return std::string(recording.status().message());
}

void ExpectSame(const std::string& text) {
  const LogInterval interval = Recorded(text).busiest;
  EXPECT_EQ(interval.values, Recorded(kRounded).busiest.values) << text;
  EXPECT_EQ(interval.length_ms, 10'000) << text;
}

std::string EachLine(const std::string& text, const std::string& front, const std::string& behind = "") {
  std::string changed;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&changed, front, line, behind, "\n");
  }
  return changed;
}

TEST(RealRecording, APrintedRateWithinAPercentIsNotedAndOneFurtherOffIsRefused) {
  const LogRecording recording = Recorded(kRounded);
  EXPECT_EQ(recording.busiest.value(LogElement::kPhysicalBytesWritten), 401'408'000);
  EXPECT_DOUBLE_EQ(recording.busiest.WritesPerSecond(), 401'408'000 / 10.0 / 24'500);
  EXPECT_THAT(recording.notes, ElementsAre("2 printed rates differ from count and interval by up to 0.026 %: taken for "
                                           "rounding; the plan follows from count and interval"));
  EXPECT_THAT(Recorded(absl::StrReplaceAll(kRounded, {{"40130286/sec", "39740000/sec"}})).notes,
              ElementsAre(HasSubstr("by up to 0.998 %")));
  EXPECT_THAT(RecordingError(absl::StrReplaceAll(kRounded, {{"40130286/sec", "39720000/sec"}})),
              HasSubstr("log.txt:4: 'log - physical bytes written': 39720000/sec does not fit 401408000 in 10s"));
}

TEST(RealRecording, TextThatWentThroughAMailOrAPageIsRead) {
  ExpectSame(absl::StrReplaceAll(kRounded, {{" - ", " \u2013 "}}));
  ExpectSame(absl::StrReplaceAll(kRounded, {{" - ", " \u2014 "}, {" ", "\u00a0"}}));
  ExpectSame(absl::StrReplaceAll(kRounded, {{" - ", " &ndash; "}, {"bytes ", "bytes&nbsp;"}}));
  ExpectSame(absl::StrReplaceAll(kRounded, {{" - ", " \x96 "}, {"uSec", "\xb5Sec"}}));
  ExpectSame(absl::StrReplaceAll(kRounded, {{" - ", " \u00e2\u20ac\u201c "}}));
  ExpectSame(absl::StrReplaceAll(kRounded, {{" - ", "&mdash;"}}));
  for (const char* dash : {" -- ", " --- ", "--", "---", "- ", " -", "-"}) {
    ExpectSame(absl::StrReplaceAll(kRounded, {{" - ", dash}}));
    ExpectSame(EachLine(absl::StrReplaceAll(kRounded, {{" - ", dash}}), "2025-01-14 09:15:22 - "));
    ExpectSame(absl::StrReplaceAll(kRounded, {{" - ", dash}, {"\n", " "}}) + "\n");
  }
  ExpectSame(absl::StrReplaceAll(kRounded, {{" ", "  "}, {"uSec", "\u00b5s"}}));
  ExpectSame(absl::StrReplaceAll(kRounded, {{" ", "\t"}}));
  ExpectSame(EachLine(kRounded, "> "));
  ExpectSame(EachLine(kRounded, "> >\u200b "));
  ExpectSame(EachLine(kRounded, "| ", " |"));
  ExpectSame(EachLine(kRounded, "* `", "`"));
  ExpectSame(EachLine(kRounded, "   ", "\r"));
  ExpectSame(absl::StrReplaceAll(kRounded, {{"\n", "\r"}}));
  ExpectSame("\xef\xbb\xbf" + std::string(kRounded));
  ExpectSame(tests::Utf16(kRounded, false));
  ExpectSame(tests::Utf16(absl::StrReplaceAll(kRounded, {{"\n", "\r\n"}}), true));
  ExpectSame("```text\n" + std::string(kRounded) + "```\n");
  // A page that lost the ends of its lines, and a mail that broke one.
  ExpectSame(absl::StrReplaceAll(kRounded, {{"\n", ""}}) + "\n");
  ExpectSame(absl::StrReplaceAll(kRounded, {{" Interval", "\nInterval"}}));
}

TEST(RealRecording, WhatALogCollectorWritesInFrontOfEachLineIsPassedOver) {
  const std::string two = absl::StrCat(kRounded, "\n", kRounded, "\n");
  for (const std::string front : {"2025-01-14T09:15:22.330000000Z ", "2025-01-14 09:15:22,330 INFO ", "[09:15:22] ",
                                  "Jan 14 09:15:22 mqhost amqsrua[4711]: ", "mq-1  | ", "amqsrua: "}) {
    std::string text = EachLine(absl::StrReplaceAll(two, {{"\n\n", "\n@\n"}}), front);
    text = absl::StrReplaceAll(text, {{"@", ""}});
    EXPECT_EQ(Recorded(text).publications, 2U) << text;
    ExpectSame(text);
  }
  // An object's name is in front of elements of another class, and not of the heading.
  EXPECT_THAT(RecordingError(EachLine(absl::StrReplaceAll(kRounded, {{"Log ", "QMB      Log "}}), "")),
              HasSubstr("log.txt:2: 'QMB Log - bytes in use' is not an element of DISK/Log"));
}

TEST(RealRecording, DigitsInGroupsAndDecimalsOfOtherLocalesAreRead) {
  for (const char* separator : {",", ".", "'", "\u2019"}) {
    const auto grouped = [&](const std::string& text) { return absl::StrReplaceAll(text, {{"_", separator}}); };
    ExpectSame(absl::StrReplaceAll(kRounded, {{"401408000 40130286", grouped("401_408_000 40_130_286")},
                                              {"24500", grouped("24_500")},
                                              {"83886080", grouped("83_886_080")}}));
  }
  ExpectSame(absl::StrReplaceAll(kRounded, {{"10.000", "10,000"}, {"142.10", "142,10"}, {"138.02%", "138,02 %"}}));
  const std::string long_interval = absl::StrReplaceAll(
      kRounded, {{"10.000 seconds", "1 minutes,0,500 seconds"}, {" 40130286/sec", ""}, {" 37120182/sec", ""}});
  EXPECT_EQ(Recorded(long_interval).busiest.length_ms, 60'500);
  // Blanks do not tell a count's groups from the rate.
  for (const char* wrong : {"401 408 000 40 130 286", "401,408,00 40130286", "401,408.000 40130286"}) {
    EXPECT_THAT(RecordingError(absl::StrReplaceAll(kRounded, {{"401408000 40130286", wrong}})),
                HasSubstr("log.txt:4: 'log - physical bytes written' has '"));
  }
  for (const char* wrong : {"24 500", "24.5", "2450,0"}) {
    EXPECT_THAT(RecordingError(absl::StrReplaceAll(kRounded, {{"24500", wrong}})),
                HasSubstr("log.txt:7: 'log - write size' has '"));
  }
}

TEST(RealRecording, AValueThatNoPlanNeedsIsLeftOutWithANote) {
  const LogRecording recording = Recorded(absl::StrReplaceAll(kRounded, {{"142.10%", "much"}}));
  EXPECT_THAT(recording.notes.front(),
              HasSubstr("line 8: 'log - current primary space in use' has 'much', which cannot "
                        "be read, and no plan needs it: left out"));
}

TEST(RealRecording, AFileInWhichNothingIsFoundIsNamedWithItsFirstLines) {
  EXPECT_EQ(RecordingError("\nCPU : Platform central processing units\n==>DISK\nthree\nfour\n"),
            "log.txt: holds no line 'Publication received ...'; make the file with 'amqsrua -m QM -c DISK -t Log'; it "
            "begins with 'CPU : Platform central processing units' (line 2), '==>DISK' (line 3), 'three' (line 4)");
  EXPECT_THAT(RecordingError("Log - write size 24500\n"),
              HasSubstr("it begins with 'Log - write size 24500' (line 1)"));
  EXPECT_THAT(RecordingError("Publication received PutDate:20250114 PutTime:09152233 Interval:10.000 seconds\n"
                             "Log - Bytes physisch geschrieben 401408000\n"),
              HasSubstr("line 2: 'Log - Bytes physisch geschrieben' is not known here and was left out"));
  EXPECT_EQ(RecordingError("Publication received PutDate:20250114 PutTime:09152233 Interval:10.000 seconds\n"
                           "Log = a 1\nLog = b 2\nLog = c 3\nLog = d 4\nLog = e 5\n"),
            "log.txt: holds no interval in which MQ wrote to its log (1 publication of 1): record a time with load, or "
            "leave out --amqsrua; line 2: 'Log = a' is not known here and was left out; line 3: 'Log = b' is not known "
            "here and was left out; line 4: 'Log = c' is not known here and was left out; more lines were left out; 1 "
            "publication of 1 without 'Log - physical bytes written' counted as idle");
  EXPECT_THAT(
      RecordingError("Publication received PutDate:20250114 PutTime:09152233\nLog - physical bytes written 5\n"),
      HasSubstr("1 publication of 1 without an interval left out"));
  // A last line without an end is believed where a unit ends it.
  const std::string open =
      absl::StrCat(absl::StrReplaceAll(kRounded, {{"Log - write size 24500\n", ""}}), "Log - write size 24500");
  EXPECT_THAT(RecordingError(open), HasSubstr("the last line has no line break and was left out"));
  ExpectSame(std::string(kRounded).substr(0, sizeof kRounded - 2));
}

QmLog Stanza(const std::string& text) {
  const absl::StatusOr<QmLog> log = ReadQmIni(text, "qm.ini");
  EXPECT_TRUE(log.ok()) << log.status().message() << "\n" << text;
  return log.ok() ? *log : QmLog();
}

std::string StanzaError(const std::string& text) {
  const absl::StatusOr<QmLog> log = ReadQmIni(text, "qm.ini");
  EXPECT_FALSE(log.ok()) << text;
  return std::string(log.status().message());
}

constexpr char kGuide[] =
    "Log:\n"
    "   LogType          = REPLICATED\n"
    "   LogManagement    = Automatic\n"
    "   LogPath          = /var/mqm/log/PAY02/\n"
    "   LogFilePages     = 8192          # 32 MB per extent\n"
    "   LogPrimaryFiles  = 10\n"
    "   LogSecondaryFiles = 11\n";

void ExpectGuide(const std::string& text) {
  const QmLog log = Stanza(text);
  EXPECT_EQ(log.file_pages, 8192U) << text;
  EXPECT_EQ(log.primary_files, 10U) << text;
  EXPECT_EQ(log.secondary_files, 11U) << text;
  EXPECT_EQ(log.type, "REPLICATED") << text;
  EXPECT_EQ(log.path, "/var/mqm/log/PAY02") << text;
}

TEST(RealIni, ARemarkBehindAValueOrAHeadingIsLeftOutWithANote) {
  ExpectGuide(kGuide);
  EXPECT_THAT(Stanza(kGuide).notes,
              ElementsAre("line 5: what stands behind a value or a heading was taken as a remark, and "
                          "whether MQ does so is not known: put remarks on lines of their own"));
  const std::string everywhere = absl::StrReplaceAll(
      kGuide,
      {{"Log:\n", "Log:   # the log\n"}, {"REPLICATED", "REPLICATED ; Native HA"}, {"PAY02/", "PAY02/\t# PAY"}});
  ExpectGuide(everywhere);
  EXPECT_THAT(Stanza(everywhere).notes, ElementsAre(HasSubstr("lines 1, 2, 4, 5: ")));
  ExpectGuide(absl::StrReplaceAll(kGuide, {{"Log:\n", "Log: the recovery log\n"}}));
}

TEST(RealIni, TextThatWentThroughAMailOrAPageIsRead) {
  ExpectGuide(EachLine(kGuide, "> "));
  ExpectGuide(EachLine(kGuide, ">> "));
  ExpectGuide(EachLine(kGuide, "\u00a0\u00a0", "\r"));
  ExpectGuide(absl::StrReplaceAll(kGuide, {{" ", "\u00a0"}}));
  ExpectGuide(absl::StrReplaceAll(kGuide, {{" = ", "\t=\t"}}));
  ExpectGuide(absl::StrReplaceAll(kGuide, {{"= REPLICATED", "= \u201cREPLICATED\u201d"}, {"= 10", "= \"10\""}}));
  ExpectGuide(absl::StrReplaceAll(kGuide, {{"Log:", "**Log:**"}}));
  ExpectGuide(absl::StrReplaceAll(kGuide, {{"Log:", "[Log]"}}));
  ExpectGuide(tests::Utf16(kGuide, false));
  ExpectGuide("\xef\xbb\xbf" + std::string(kGuide));
  ExpectGuide("# A guide\n\n```ini\n" + std::string(kGuide) +
              "```\n\n- **`LogType=REPLICATED`**: the log is replicated\n");
  ExpectGuide("-----\n" + std::string(kGuide) + "-----\nTCP:\n   KeepAlive=YES\n");
  const QmLog lower = Stanza(absl::StrReplaceAll(kGuide, {{"Log:", "LOG:"}, {"LogFilePages", "logfilepages"}}));
  EXPECT_EQ(lower.file_pages, 8192U);
  EXPECT_THAT(lower.notes,
              ::testing::Contains(HasSubstr("line 5: the attribute was recognised without regard to upper")));
}

TEST(RealIni, AnIniWithinAConfigMapIsRead) {
  const std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mq-ini\ndata:\n  example.ini: |\n" +
                          EachLine(kGuide, "    ");
  ExpectGuide(map);
  ExpectGuide(map + "  example.mqsc: |-\n    DEFINE QLOCAL(A) REPLACE\n    ALTER QMGR DESCR('x=y')\n");
  ExpectGuide("data:\n  qm.ini: >-\n" + EachLine(kGuide, "    ") + "kind: ConfigMap\nmetadata:\n  name: x\n");
  EXPECT_THAT(StanzaError(map + "  other.ini: |\n" + EachLine(kGuide, "    ")),
              ::testing::StartsWith("qm.ini:15: a second Log stanza; the first is at line 7"));
  EXPECT_EQ(StanzaError(map + "  other.ini: |\n" + EachLine(kGuide, "    ")).find('\n'), std::string::npos);
  EXPECT_THAT(StanzaError("data:\n  qm.ini: \"Log:\\n   LogPrimaryFiles=90\\n\"\nkind: ConfigMap\n"),
              HasSubstr("qm.ini:2: the stanzas are in one quoted text: write it to a file of its own"));
  EXPECT_THAT(StanzaError("kind: QueueManager\nspec:\n  queueManager:\n    ini: []\n"),
              HasSubstr("has no Log stanza ('Log:' on its own line); pass the queue manager's qm.ini; it begins with "
                        "'kind: QueueManager' (line 1), 'spec:' (line 2), 'queueManager:' (line 3)"));
  EXPECT_THAT(StanzaError("LogPrimaryFiles=90\n"), HasSubstr("it begins with 'LogPrimaryFiles=90' (line 1)"));
}

TEST(RealIni, NoAttributeIsLostUnnoticed) {
  EXPECT_THAT(StanzaError("Log:\n   LogPrimaryFiles: 90\n"),
              HasSubstr("qm.ini:2: 'LogPrimaryFiles: 90' is not an attribute: expected NAME=VALUE"));
  EXPECT_THAT(StanzaError("Log:\n   LogPrimaryFile:\n"), HasSubstr("qm.ini:2: 'LogPrimaryFile:' is not an attribute"));
  EXPECT_THAT(StanzaError("Log:\n   LogPrimaryFiles=9\nNote: larger extents below\n   LogFilePages=8192\n"),
              HasSubstr("qm.ini:4: 'LogFilePages=8192' is outside of the Log stanza since line 3, which is neither an "
                        "attribute nor a heading: remove that line"));
  EXPECT_THAT(StanzaError("Log:\n   +LogPrimaryFiles=9\n"), HasSubstr("qm.ini:2: '+LogPrimaryFiles' is not a known"));
  EXPECT_THAT(StanzaError("Log:\n   These are larger\n"),
              HasSubstr("qm.ini:2: 'These are larger' is not an attribute"));
}

}  // namespace
}  // namespace plimsoll
