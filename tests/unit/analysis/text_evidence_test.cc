// What a report shows of the programs that made it, of its command, and of how far its UTC times can be off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// The journal of two hosts, as a controller and agents leave it that record what they are.
std::vector<v1::JournalRecord> RecordsWithEvidence() {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(tests::TwoHosts());
  v1::ControllerFacts& controller = *records.front().mutable_run_begin()->mutable_controller();
  controller.set_program_sha256(std::string(64, 'c'));
  controller.set_command(
      "plimsoll run --hosts 'node[1-2]' --dir /mnt/mqlog --duration 60 --require 'p99<10ms' --rate 200");
  controller.mutable_time()->set_synchronized(true);
  controller.mutable_time()->set_max_error_ns(12'000'000);
  controller.mutable_time()->set_estimated_error_ns(80'000);
  controller.mutable_time()->set_service("chronyd");
  for (v1::JournalRecord& record : records) {
    if (!record.has_host_joined()) continue;
    v1::HostDescription& description = *record.mutable_host_joined()->mutable_description();
    description.set_program_sha256(std::string(64, 'a'));
    description.set_time_error_ns(record.host_joined().label() == "beta" ? 16'000'000 : 3'000'000);
    description.set_time_estimated_error_ns(90'000);
    description.set_time_service("ntpd");
  }
  return records;
}

// Without line breaks and indentation.
std::string Unwrapped(std::string text) {
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}

TEST(Evidence, IsInTheReportAsTheJournalHasIt) {
  const v1::Report report = tests::Analyze(RecordsWithEvidence());
  EXPECT_EQ(report.run().controller().program_sha256(), std::string(64, 'c'));
  EXPECT_EQ(report.run().controller().time().max_error_ns(), 12'000'000U);
  ASSERT_EQ(report.hosts_size(), 2);
  for (const v1::HostReport& host : report.hosts()) {
    EXPECT_EQ(host.program_sha256(), std::string(64, 'a'));
    EXPECT_EQ(host.clock().time_service(), "ntpd");
    EXPECT_EQ(host.clock().time_estimated_error_ns(), 90'000U);
  }
}

TEST(Evidence, IsInTheTextWithTheWordsForUtc) {
  const std::string text = RenderText(tests::Analyze(RecordsWithEvidence()));
  EXPECT_THAT(text, HasSubstr("\nCommand   plimsoll run --hosts 'node[1-2]' --dir /mnt/mqlog --duration 60 \\\n"
                              "          --require 'p99<10ms' --rate 200\n"));
  EXPECT_THAT(text, HasSubstr("\nUTC       The controller's clock is synchronised by chronyd, "));
  EXPECT_THAT(Unwrapped(text),
              HasSubstr("maximum error 12.000 ms, estimated error 80 us: UTC times can be off by as much. Measured "
                        "latencies do not depend on it. Clocks by which the hosts write logs of their own: "
                        "synchronised on 2 hosts, maximum error 16.000 ms (beta)."));
  EXPECT_THAT(text, HasSubstr("\n  controller: plimsoll 0.1.0\n  " + std::string(64, 'c') + "\n"));
  EXPECT_THAT(text, HasSubstr("\n  agents of alpha, beta: plimsoll-agent 0.1.0\n  " + std::string(64, 'a') + "\n"));
}

TEST(Evidence, NamesHostsWithAnotherProgramAndThoseWhoseClocksAreNotSynchronised) {
  std::vector<v1::JournalRecord> records = RecordsWithEvidence();
  records.front().mutable_run_begin()->mutable_controller()->mutable_time()->set_synchronized(false);
  for (v1::JournalRecord& record : records) {
    if (!record.has_host_joined() || record.host_joined().label() != "beta") continue;
    v1::HostDescription& description = *record.mutable_host_joined()->mutable_description();
    description.set_program_sha256(std::string(64, 'b'));
    description.set_time_synchronized(false);
  }
  const v1::Report report = tests::Analyze(records);
  EXPECT_THAT(absl::StrJoin(TextPrograms(report), "\n"),
              HasSubstr("  agent of alpha: plimsoll-agent 0.1.0\n  " + std::string(64, 'a') +
                        "\n  agent of beta: plimsoll-agent 0.1.0\n  " + std::string(64, 'b')));
  const std::string utc = Unwrapped(absl::StrJoin(TextUtc(report), " "));
  EXPECT_THAT(utc, HasSubstr("is not synchronised, although there is a process chronyd: how far UTC times are off is "
                             "not known. Measured latencies do not depend on it."));
  EXPECT_THAT(utc, HasSubstr("synchronised on 1 host, maximum error 3.000 ms; not synchronised on beta."));
  EXPECT_THAT(utc, Not(HasSubstr("can be off by as much")));
}

TEST(Evidence, OfAnEarlierVersionIsNotShown) {
  const v1::Report report = tests::Analyze(tests::MakeJournal(tests::TwoHosts()));
  EXPECT_THAT(TextCommand(report), IsEmpty());
  EXPECT_THAT(TextUtc(report), IsEmpty());
  EXPECT_THAT(TextPrograms(report), IsEmpty());
  const std::string json = RenderJson(report);
  for (const char* name : {"controller", "program_sha256", "time_service", "time_estimated_error_ns"}) {
    EXPECT_THAT(json, Not(HasSubstr(std::string("\"") + name + "\""))) << name;
  }
}

TEST(Evidence, TheNodeOfAPodIsShownWithItsHost) {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(tests::TwoHosts());
  for (v1::JournalRecord& record : records) {
    if (record.has_host_joined() && record.host_joined().label() == "beta") {
      record.mutable_host_joined()->set_node("worker-7\x1b[2J");
    }
  }
  const v1::Report report = tests::Analyze(records);
  EXPECT_FALSE(report.hosts(0).has_node());
  EXPECT_EQ(report.hosts(1).node(), "worker-7\x1b[2J");
  const std::string text = Unwrapped(absl::StrJoin(TextHosts(report), " "));
  EXPECT_THAT(text, HasSubstr(", node worker-7"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("alpha at alpha, node")));
}

TEST(Evidence, FitsTheWidthAndSteersNoTerminal) {
  std::vector<v1::JournalRecord> records = RecordsWithEvidence();
  records.front().mutable_run_begin()->mutable_controller()->set_command(
      "plimsoll run \x1b[2J --dir /mnt/mqlog --hosts " + std::string(300, 'n'));
  records.front().mutable_run_begin()->mutable_controller()->mutable_time()->set_service("\x1b[2Jchronyd");
  const v1::Report report = tests::Analyze(records);
  for (const std::vector<std::string>& lines : {TextCommand(report), TextUtc(report), TextPrograms(report)}) {
    EXPECT_THAT(lines, Each(ResultOf(DisplayWidth, Le(kTextWidth))));
    EXPECT_THAT(lines, Each(Not(HasSubstr("\x1b"))));
  }
}

}  // namespace
}  // namespace plimsoll
