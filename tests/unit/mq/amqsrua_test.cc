#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "controller/mq/mq_files.h"
#include "tests/testing.h"
#include "tests/unit/mq/mq_samples.h"

namespace plimsoll {
namespace {

LogRecording Read(const std::string& text) {
  const absl::StatusOr<LogRecording> recording = ReadAmqsrua(text, "log.txt");
  EXPECT_TRUE(recording.ok()) << recording.status().message();
  return recording.ok() ? *recording : LogRecording();
}

std::string ReadError(const std::string& text) {
  const absl::StatusOr<LogRecording> recording = ReadAmqsrua(text, "log.txt");
  EXPECT_FALSE(recording.ok()) << text;
  return std::string(recording.status().message());
}

// A publication of ten seconds.
std::string Publication(int64_t bytes, int64_t size, const std::string& more = "") {
  return absl::StrCat("Publication received PutDate:20171004 PutTime:13560170 Interval:10.000 seconds\n",
                      "Log - physical bytes written ", bytes,
                      bytes < 5 ? " " : absl::StrCat(" ", (bytes + 5) / 10, "/sec"), "\nLog - write size ", size, "\n",
                      more, "\n");
}

// The heading with another interval.
int64_t LengthOf(const std::string& interval) {
  return Read(absl::StrCat("Publication received PutDate:20171004 PutTime:13560170 Interval:", interval,
                           "\nLog - physical bytes written 4\nLog - write size 4\n"))
      .busiest.length_ms;
}

TEST(Amqsrua, APublicationOfMq904) {
  const LogRecording recording = Read(tests::kPublication);
  EXPECT_EQ(recording.publications, 1U);
  EXPECT_EQ(recording.with_writes, 1U);
  const LogInterval& interval = recording.busiest;
  EXPECT_EQ(interval.line, 1U);
  EXPECT_EQ(interval.put, "2017-10-04 13:56:01.70");
  EXPECT_EQ(interval.length_ms, 10'001);
  EXPECT_EQ(interval.value(LogElement::kPhysicalBytesWritten), 3'660'836'864);
  EXPECT_EQ(interval.value(LogElement::kLogicalBytesWritten), 3'655'298'220);
  EXPECT_EQ(interval.value(LogElement::kWriteLatency), 306);
  EXPECT_EQ(interval.value(LogElement::kWriteSize), 304'454);
  EXPECT_DOUBLE_EQ(interval.BytesPerSecond(), 3'660'836'864 / 10.001);
  EXPECT_DOUBLE_EQ(interval.WritesPerSecond(), 3'660'836'864 / 10.001 / 304'454);
  EXPECT_THAT(recording.notes, ElementsAre());
}

TEST(Amqsrua, AllEighteenElements) {
  const LogInterval interval = Read(tests::kWholePublication).busiest;
  const std::array<int64_t, kLogElements> expected = {
      50331648, 83886080, 16434135040, 19549782016, 93784500, 90000000, 994,     15082, 4958,
      12,       0,        3,           4099,        8105,     0xfa170,  1024368, 71902, 1709251199000000};
  for (size_t i = 0; i < kLogElements; ++i) EXPECT_EQ(interval.values[i], expected[i]) << "element " << i;
}

TEST(Amqsrua, EitherCaseIsTheSame) {
  for (const std::string& text :
       {absl::AsciiStrToLower(tests::kWholePublication), absl::AsciiStrToUpper(tests::kWholePublication),
        absl::StrReplaceAll(tests::kWholePublication, {{"slowest write", "Slowest write"}})}) {
    EXPECT_EQ(Read(text).busiest.values, Read(tests::kWholePublication).busiest.values) << text;
    EXPECT_EQ(Read(text).busiest.length_ms, ((24 + 2) * 60 + 3) * 60'000 + 4'500);
  }
}

TEST(Amqsrua, IntervalsOfAnyLength) {
  EXPECT_EQ(LengthOf("0.010 seconds"), 10);
  EXPECT_EQ(LengthOf("59.999 seconds"), 59'999);
  EXPECT_EQ(LengthOf("4 minutes,6.840 seconds"), 246'840);
  EXPECT_EQ(LengthOf("1 hours,0 minutes,0.001 seconds"), 3'600'001);
  EXPECT_EQ(LengthOf("12 days, 0 hours, 0 minutes, 1.000 seconds"), 12LL * 86'400'000 + 1'000);
  for (const char* wrong : {"10", "10 minutes", "ten seconds", "10.0x1 seconds", "-1.000 seconds", "10.001 seconds ago",
                            "99999999999999999999 days,1.000 seconds", "4 minutes 1.000 seconds"}) {
    EXPECT_THAT(
        ReadError(absl::StrCat("Publication received PutDate:20171004 PutTime:13560170 Interval:", wrong, "\n")),
        HasSubstr("log.txt:1: the interval "))
        << wrong;
  }
}

TEST(Amqsrua, ARateOfZeroIsMissingAndItsBlankStays) {
  // Four bytes in ten seconds are no byte per second.
  const LogRecording recording = Read(Publication(4, 4) + Publication(0, 0));
  EXPECT_EQ(recording.publications, 2U);
  EXPECT_EQ(recording.with_writes, 1U);
  EXPECT_DOUBLE_EQ(recording.busiest.BytesPerSecond(), 0.4);
}

TEST(Amqsrua, TheBusiestIntervalHasTheMostBytesPerSecond) {
  const std::string longer =
      absl::StrReplaceAll(Publication(200'000, 4'096), {{"10.000", "1 minutes,0.000"}, {"20000/sec", "3333/sec"}});
  const LogRecording recording = Read(Publication(100'000, 50'000) + longer + Publication(99'000, 1'000));
  EXPECT_EQ(recording.busiest.line, 1U);
  EXPECT_EQ(recording.most_writes.line, 9U);
  EXPECT_DOUBLE_EQ(recording.most_writes.WritesPerSecond(), 9.9);
  // Of equals the first.
  EXPECT_EQ(Read(Publication(5'000, 10) + Publication(5'000, 10)).busiest.line, 1U);
}

TEST(Amqsrua, WhatCannotBeJudgedIsLeftOutAndNoted) {
  const LogRecording recording =
      Read("CPU : Platform central processing units\n==>DISK\n" + Publication(5'000, 10) +
           "Publication received PutDate:20171004 PutTime:13560170 Interval:0.009 seconds\nLog - physical bytes "
           "written 90000\n\n"
           "Publication received PutDate:20171004 PutTime:13560170\nLog - physical bytes written 90000 9000/sec\n\n"
           "Publication received PutDate:20171004 PutTime:13560170 Interval:10.000 seconds\n"
           "Unrecognised resource usage message for class DISK 7\nwhatever 5\n\n" +
           Publication(2'000, 10, "Parameter(99) Value(5) not recognised\nLog - colour of extents 7\n") +
           "Publication received PutDate:20171004 PutTime:13560170 Interval:10.000 seconds\nLog - write size 9\n\n");
  EXPECT_EQ(recording.publications, 6U);
  EXPECT_EQ(recording.with_writes, 2U);
  EXPECT_EQ(recording.busiest.line, 3U);
  EXPECT_THAT(recording.notes, ElementsAre(HasSubstr("'Log - colour of extents' is not known here and was left out"),
                                           "2 lines before the first publication left out",
                                           "1 publication of 6 that amqsrua itself did not recognise left out",
                                           "1 publication of 6 without an interval left out",
                                           "1 publication of 6 of less than 10 ms left out",
                                           "1 publication of 6 without 'Log - physical bytes written' counted as idle",
                                           "1 values that amqsrua itself did not recognise left out"));
}

TEST(Amqsrua, ALineThatMayHaveBeenCutIsNotBelieved) {
  const std::string whole = Publication(5'000, 10) + Publication(90'000, 10);
  // The second publication's size would be 1.
  const std::string cut = whole.substr(0, whole.rfind("10\n") + 1);
  const LogRecording recording =
      Read(Publication(5'000, 10) + "Publication received PutDate:20171004 PutTime:13560170 Interval:10.000 sec");
  EXPECT_EQ(recording.publications, 1U);
  EXPECT_THAT(recording.notes, ElementsAre("the last line has no line break and was left out: it may have been cut"));
  EXPECT_THAT(ReadError(cut), HasSubstr("log.txt:5: the busiest interval has no 'Log - write size'"));
}

TEST(Amqsrua, OtherClassesAreRefusedOnceByName) {
  const std::string cpu =
      "Publication received PutDate:20171004 PutTime:13560170 Interval:10.000 seconds\nUser CPU time percentage "
      "0.01%\n\n";
  EXPECT_EQ(ReadError(cpu + cpu),
            "log.txt:2: 'User CPU time percentage' is not an element of DISK/Log; make the file with 'amqsrua -m QM -c "
            "DISK -t Log'");
}

TEST(Amqsrua, AValueThatIsNotAsPrintedIsRefused) {
  const std::string head = "Publication received PutDate:20171004 PutTime:13560170 Interval:10.000 seconds\n";
  EXPECT_EQ(ReadError(head + "Log - write size many\n"),
            "log.txt:2: 'log - write size' has 'many'; expected a whole number");
  EXPECT_EQ(ReadError(head + "Log - write latency 306\n"),
            "log.txt:2: 'log - write latency' has '306'; expected a whole number and 'uSec'");
  for (const char* line :
       {"Log - physical bytes written", "Log - physical bytes written -5", "Log - physical bytes written 50 5",
        "Log - write size 99999999999999999999", "Log - write size 1.5", "Log - write size 5 6",
        "Log - slowest write since restart 5 hours", "Log - physical bytes written 401 408 000 40 140 800/sec"}) {
    EXPECT_THAT(ReadError(head + line + "\n"), HasSubstr("log.txt:2: 'log - ")) << line;
  }
  EXPECT_EQ(ReadError(head + "Log - physical bytes written 1000 500/sec\n"),
            "log.txt:2: 'log - physical bytes written': 500/sec does not fit 1000 in 10s; make the file with 'amqsrua "
            "-m QM -c DISK -t Log'");
  EXPECT_THAT(ReadError(head + "Log - write size 5\nlog - Write Size 5\n"),
              HasSubstr("log.txt:3: 'log - Write Size' is given twice in the publication of line 1"));
}

TEST(Amqsrua, ATimeThatNoWriteTakesIsRefused) {
  const std::string mean = "Log - write latency ";
  const std::string slowest = "Log - slowest write since restart ";
  EXPECT_EQ(
      ReadError(Publication(5'000, 10, mean + "9223372036854775807 uSec\n")),
      "log.txt:4: 'log - write latency': 9223372036854775807 uSec are more than 1h: the file is damaged, record it "
      "again");
  EXPECT_THAT(ReadError(Publication(5'000, 10, mean + "3600000001 uSec\n")), HasSubstr("are more than 1h: "));
  EXPECT_THAT(ReadError(Publication(5'000, 10, slowest + "9223372036854775807 uSec\n")),
              HasSubstr("log.txt:4: 'log - slowest write since restart': 9223372036854775807 uSec are more than "));
  // Storage may be away for longer than an hour.
  const LogRecording recording =
      Read(Publication(5'000, 10, mean + "3600000000 uSec\n" + slowest + "86400000000 uSec\n"));
  EXPECT_EQ(recording.busiest.value(LogElement::kWriteLatency), 3'600'000'000);
  EXPECT_EQ(recording.busiest.value(LogElement::kSlowestWrite), 86'400'000'000);
}

TEST(Amqsrua, AWrongFileIsOneLine) {
  EXPECT_EQ(ReadError(""),
            "log.txt: holds no line 'Publication received ...'; make the file with 'amqsrua -m QM -c DISK -t Log'");
  EXPECT_THAT(ReadError("{\"a\": 1}\n"), HasSubstr("holds no line 'Publication received"));
  EXPECT_THAT(ReadError(std::string("P\0", 2)), HasSubstr("log.txt: is not a text file"));
  EXPECT_THAT(ReadError("Publication received at noon\n"),
              HasSubstr("log.txt:1: 'publication received at noon' has no PutDate"));
  EXPECT_THAT(ReadError("Publication received PutDate:20171304 PutTime:13560170 Interval:10.000 seconds\n"),
              HasSubstr("has no PutDate"));
  EXPECT_EQ(ReadError(Publication(0, 0)),
            "log.txt: holds no interval in which MQ wrote to its log (1 publication of 1): record a time with load, or "
            "leave out "
            "--amqsrua");
}

}  // namespace
}  // namespace plimsoll
