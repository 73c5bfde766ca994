#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "controller/mq/mq_files.h"
#include "tests/testing.h"
#include "tests/unit/mq/mq_samples.h"

namespace plimsoll {
namespace {

constexpr char kShortest[] = "Log:\n   LogPath=/log/QM1\n";

QmLog Good(const std::string& text) {
  const absl::StatusOr<QmLog> log = ReadQmIni(text, "QM1/qm.ini");
  EXPECT_TRUE(log.ok()) << log.status().message();
  return log.ok() ? *log : QmLog();
}

std::string IniError(const std::string& text) {
  const absl::StatusOr<QmLog> log = ReadQmIni(text, "QM1/qm.ini");
  EXPECT_FALSE(log.ok()) << text;
  return std::string(log.status().message());
}

// The stanza of kShortest with one more line.
std::string With(const std::string& line) {
  return kShortest + ("   " + line) + "\n";
}

TEST(QmIni, TheFormThatMqWritesIsRead) {
  const QmLog log = Good(tests::kQmIni);
  EXPECT_EQ(log.line, 9U);
  EXPECT_EQ(log.primary_files, 16U);
  EXPECT_EQ(log.secondary_files, 2U);
  EXPECT_EQ(log.extent_bytes(), 16384U * 4096);
  EXPECT_EQ(log.log_bytes(), 16U * 16384 * 4096);
  EXPECT_EQ(log.buffer_pages, 0U);
  EXPECT_EQ(log.type, "CIRCULAR");
  EXPECT_EQ(log.path, "/var/mqm/log/saturn!queue!manager");
  EXPECT_EQ(log.write_integrity, "TripleWrite");
  EXPECT_THAT(log.defaulted, ElementsAre());
}

TEST(QmIni, WhatIsNotGivenHasMqsDefaultAndIsNamed) {
  const QmLog log = Good(kShortest);
  EXPECT_EQ(log.primary_files, 3U);
  EXPECT_EQ(log.secondary_files, 2U);
  EXPECT_EQ(log.file_pages, 4096U);
  EXPECT_EQ(log.write_integrity, "TripleWrite");
  EXPECT_EQ(log.type, "");
  EXPECT_THAT(log.defaulted, ElementsAre("LogPrimaryFiles", "LogSecondaryFiles", "LogFilePages", "LogBufferPages",
                                         "LogType", "LogWriteIntegrity"));
}

TEST(QmIni, LineEndsBlanksCommentsAndTheCaseOfHeadingsDoNotMatter) {
  const QmLog log = Good(
      "\xef\xbb\xbf; made by hand\r\n\r\n  LOG:\r\n# one\r\n;two\r\n\tLogPrimaryFiles = 20 \r\n   "
      "LogPath=/log/QM1///\r\nTCP:\r\n   KeepAlive=YES");
  EXPECT_EQ(log.primary_files, 20U);
  EXPECT_EQ(log.path, "/log/QM1");
}

TEST(QmIni, EveryTypeAndIntegrityIsKnown) {
  for (const char* type : {"CIRCULAR", "LINEAR", "REPLICATED"})
    EXPECT_EQ(Good(With(std::string("LogType=") + type)).type, type);
  for (const char* how : {"SingleWrite", "DoubleWrite", "TripleWrite"}) {
    EXPECT_EQ(Good(With(std::string("LogWriteIntegrity=") + how)).write_integrity, how);
  }
  for (const char* how : {"Manual", "Automatic", "Archive"}) Good(With(std::string("LogManagement=") + how));
}

TEST(QmIni, OtherStanzasAreLeftAloneWhateverTheyHold) {
  EXPECT_EQ(Good("AccessMode:\n   what is this\n   LogPrimaryFiles=1\n" + std::string(kShortest) +
                 "Odd:\n   LogFilePages=1\n")
                .file_pages,
            4096U);
}

TEST(QmIni, WhatIsNotKnownIsRefusedByName) {
  EXPECT_EQ(IniError(With("LogFilePage=64")),
            "QM1/qm.ini:3: 'LogFilePage' is not a known attribute of the Log stanza; did you mean 'LogFilePages'?");
  EXPECT_EQ(IniError(With("Colour=red")),
            "QM1/qm.ini:3: 'Colour' is not a known attribute of the Log stanza; without it the file can be read");
  EXPECT_EQ(IniError(With("LogType=ROUND")),
            "QM1/qm.ini:3: LogType 'ROUND' is not known here; expected CIRCULAR, LINEAR, REPLICATED");
  EXPECT_EQ(IniError(With("LogPrimaryFiles")),
            "QM1/qm.ini:3: 'LogPrimaryFiles' is not an attribute: expected NAME=VALUE in the Log stanza");
}

TEST(QmIni, NumbersHaveTheBoundsOfAixAndLinux) {
  EXPECT_EQ(IniError(With("LogPrimaryFiles=511")),
            "QM1/qm.ini:3: LogPrimaryFiles '511' is not a whole number from 2 to 510, as MQ has it on AIX and Linux");
  for (const char* line : {"LogPrimaryFiles=1", "LogPrimaryFiles=-3", "LogSecondaryFiles=0", "LogSecondaryFiles=510",
                           "LogFilePages=63", "LogFilePages=65536", "LogFilePages=16k", "LogFilePages=",
                           "LogBufferPages=4097", "LogFilePages=99999999999999999999", "LogFilePages=4096#x",
                           "LogFilePages=4 096", "LogFilePages=4,096", "LogFilePages=4096 (16 MB)"}) {
    EXPECT_THAT(IniError(With(line)), HasSubstr("QM1/qm.ini:3: ")) << line;
  }
  EXPECT_THAT(
      IniError(With("LogPrimaryFiles=510\n   LogSecondaryFiles=2")),
      HasSubstr("QM1/qm.ini:1: LogPrimaryFiles and LogSecondaryFiles make 512 files; MQ has from 3 to 511 together"));
  EXPECT_EQ(Good(With("LogPrimaryFiles=510\n   LogSecondaryFiles=1")).primary_files, 510U);
}

TEST(QmIni, APathThatAPlanCannotNameIsLeftOutWithTheReason) {
  const auto why = [](const std::string& text) {
    const QmLog log = Good(text);
    EXPECT_EQ(log.path, "");
    return log.no_path;
  };
  EXPECT_EQ(why("Log:\n   LogPath=C:\\MQ\\log\\QM1\\\n"),
            "line 2: LogPath 'C:\\MQ\\log\\QM1\\' is not absolute on Linux, where agents run");
  EXPECT_THAT(why("Log:\n   LogPath=\n"), HasSubstr("is not absolute"));
  EXPECT_THAT(why("Log:\n   LogPath=$2/$3/\n"), HasSubstr("is not absolute"));
  EXPECT_THAT(why("Log:\n   LogPath=/" + std::string(4096, 'x') + "\n"), HasSubstr("is longer than the 4096 bytes"));
  EXPECT_THAT(why("Log:\n   LogPath=/log\x01/x\n"), HasSubstr("holds control characters"));
  EXPECT_THAT(why("Log:\n   LogPath=/log\xff/x\n"), HasSubstr("is not UTF-8"));
  EXPECT_THAT(why("Log:\n   LogPath=/log/a#b\n"), HasSubstr("holds '#' or ';'"));
  EXPECT_THAT(why("Log:\n   LogPath=/log/PAY\u201302\n"), HasSubstr("that a mail or a page may have changed"));
  EXPECT_EQ(why("Log:\n   LogType=LINEAR\n"), "the Log stanza has no LogPath, and its default is not known here");
  EXPECT_EQ(Good("Log:\n   LogPath=/log/\u65e5\u672c\n").no_path, "");
}

TEST(QmIni, WhatIsGivenTwiceIsRefused) {
  EXPECT_EQ(IniError(With("LogPath=/other")),
            "QM1/qm.ini:3: 'LogPath' is given twice; the first is at line 2: leave one");
  EXPECT_THAT(IniError(With("Log:")), HasSubstr("QM1/qm.ini:3: a second Log stanza; the first is at line 1"));
}

TEST(QmIni, AWrongFileIsOneLine) {
  EXPECT_EQ(IniError(""), "QM1/qm.ini: has no Log stanza ('Log:' on its own line); pass the queue manager's qm.ini");
  EXPECT_EQ(
      IniError("AllQueueManagers:\n   DefaultPrefix=/var/mqm\nLogDefaults:\n   LogDefaultPath=/var/mqm/log\n"),
      "QM1/qm.ini: has no Log stanza, but LogDefaults, which belongs to mqs.ini; pass the queue manager's own qm.ini");
  EXPECT_EQ(IniError(std::string("Log:\n\0\n", 7)), "QM1/qm.ini: is not a text file; pass the queue manager's qm.ini");
  EXPECT_THAT(IniError("Log: LogPath=/x\n"), HasSubstr("QM1/qm.ini:1: nothing may follow 'Log:' on its line"));
}

TEST(QmIni, EveryErrorHasALineAndThereIsAnEnd) {
  std::string text = "Log:\n   LogPath=x\n";
  for (int i = 0; i < 30; ++i) text += "   A" + std::to_string(i) + "=1\n";
  const std::string errors = IniError(text);
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 20);
  EXPECT_THAT(errors, ::testing::EndsWith("\nQM1/qm.ini: 10 more of these"));
}

}  // namespace
}  // namespace plimsoll
