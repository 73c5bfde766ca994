// The recording that a plan plays: its file, who plays what of it, and what a reader must know.
#include "controller/app/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// An hour of so many queue managers: QM1 has 1,000 writes in 10 entries, QM2 2,000 in 20, and so on.
v1::PatternHeader HourOf(int streams) {
  v1::PatternHeader header;
  header.set_format(kPatternFormat);
  header.set_run_id("7f3a21");
  for (int i = 1; i <= streams; ++i) {
    v1::PatternStream& stream = *header.add_streams();
    stream.set_host("node1");
    stream.set_queue_manager(absl::StrCat("QM", i));
    stream.set_entries(uint64_t{10} * static_cast<uint64_t>(i));
    stream.set_writes(uint64_t{1'000} * static_cast<uint64_t>(i));
    stream.set_paged_bytes(uint64_t{4'096'000} * static_cast<uint64_t>(i));
    stream.set_length_ns(3600 * kNsPerSecond);
  }
  return header;
}

// Hosts with so many queue managers each.
std::vector<v1::LogWorkload> HostsWith(const std::vector<uint32_t>& qms) {
  std::vector<v1::LogWorkload> workloads;
  for (const uint32_t qm : qms) workloads.emplace_back().set_qm(qm);
  return workloads;
}

v1::TestPlan RecordedHourPlan(int64_t duration_ns, double load_factor = 1) {
  v1::TestPlan plan;
  plan.set_duration_ns(duration_ns);
  plan.set_warmup_ns(0);
  plan.mutable_group_commit()->set_pattern("/var/watched/pattern.plimsoll");
  plan.mutable_group_commit()->set_load_factor(load_factor);
  FillDefaults(plan);
  return plan;
}

TEST(ShareRecording, TheWritersOfAllHostsPlayTheStreamsInOrderAndBeginAgain) {
  const std::vector<HostRecording> hosts = ShareRecording(HourOf(3), HostsWith({2, 3, 1}));
  ASSERT_THAT(hosts, SizeIs(3));
  EXPECT_THAT(hosts[0].streams, ElementsAre(0U, 1U));
  EXPECT_THAT(hosts[0].parts.stream_of_writer(), ElementsAre(0U, 1U));
  // Its writers play QM3, QM1 and QM2, which it gets in the order of the file.
  EXPECT_THAT(hosts[1].streams, ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(hosts[1].parts.stream_of_writer(), ElementsAre(2U, 0U, 1U));
  EXPECT_THAT(hosts[1].parts.entries(), ElementsAre(10U, 20U, 30U));
  EXPECT_THAT(hosts[2].streams, ElementsAre(2U));
  EXPECT_THAT(hosts[2].parts.stream_of_writer(), ElementsAre(0U));
  EXPECT_THAT(hosts[2].parts.entries(), ElementsAre(30U));
  EXPECT_THAT(hosts[2].parts.length_ns(), ElementsAre(3600 * kNsPerSecond));
}

TEST(ShareRecording, AHostGetsEachOfItsStreamsOnceHoweverManyWritersPlayIt) {
  const std::vector<HostRecording> hosts = ShareRecording(HourOf(2), HostsWith({5}));
  EXPECT_THAT(hosts[0].streams, ElementsAre(0U, 1U));
  EXPECT_THAT(hosts[0].parts.entries(), ElementsAre(10U, 20U));
  EXPECT_THAT(hosts[0].parts.stream_of_writer(), ElementsAre(0U, 1U, 0U, 1U, 0U));
}

TEST(RecordingNotes, NameTheRecordingAndNothingElseWhereAllOfItIsPlayed) {
  EXPECT_THAT(
      RecordingNotes(HourOf(2), RecordedHourPlan(3600 * kNsPerSecond), HostsWith({1, 1})),
      ElementsAre("The recording (watch 7f3a21) has 3,000 log writes of node1/QM1, node1/QM2 within 1h, 11.7 MiB "
                  "in whole pages."));
}

TEST(RecordingNotes, SayWhatIsNotPlayed) {
  const auto notes = [](const v1::PatternHeader& recording, const v1::TestPlan& plan, std::vector<uint32_t> qms) {
    return absl::StrJoin(RecordingNotes(recording, plan, HostsWith(qms)), "\n");
  };
  EXPECT_THAT(notes(HourOf(1), RecordedHourPlan(60 * kNsPerSecond), {1}),
              HasSubstr("\nEach step plays the first 1m of the recording, which has 1h: use a longer --duration"));
  // Played faster, the same time holds more of it.
  EXPECT_THAT(notes(HourOf(1), RecordedHourPlan(60 * kNsPerSecond, 30), {1}), HasSubstr("the first 30m of"));
  EXPECT_THAT(notes(HourOf(1), RecordedHourPlan(60 * kNsPerSecond, 60), {1}), Not(HasSubstr("the first")));
  v1::TestPlan search = RecordedHourPlan(60 * kNsPerSecond, 10);
  search.mutable_limit()->set_over(v1::LIMIT_OVER_LOAD_FACTOR);
  EXPECT_THAT(notes(HourOf(1), search, {1}), HasSubstr("the first 1m of the recording, times its load factor"));
  EXPECT_THAT(notes(HourOf(6), RecordedHourPlan(3600 * kNsPerSecond), {1, 1}),
              AllOf(HasSubstr("node1/QM1, node1/QM2, node1/QM3, node1/QM4 and 2 more"),
                    HasSubstr("\nOnly the first 2 of the 6 recorded queue managers are played")));
  EXPECT_THAT(notes(HourOf(2), RecordedHourPlan(3600 * kNsPerSecond), {3}),
              HasSubstr("\nThe plan has 3 queue managers, and the recording 2: the recorded ones are played several "
                        "times at once."));
}

TEST(RecordingNotes, SayThatOnlySecondsWereRecorded) {
  v1::PatternHeader recording = HourOf(2);
  recording.mutable_streams(1)->set_per_second(true);
  EXPECT_THAT(RecordingNotes(recording, RecordedHourPlan(3600 * kNsPerSecond), HostsWith({2})),
              ElementsAre(HasSubstr("3,000 log writes"),
                          HasSubstr("Of node1/QM2 only the counts and bytes of each second were recorded")));
}

class RecordingFile : public ::testing::Test {
 protected:
  // Writes a recording of two queue managers, and returns its digest.
  std::string Write() {
    v1::PatternHeader header = HourOf(2);
    for (v1::PatternStream& stream : *header.mutable_streams()) {
      stream.set_entries(1);
      stream.set_writes(3);
      stream.set_bytes(3 * 2 * kPatternPageBytes);
      stream.set_paged_bytes(3 * 2 * kPatternPageBytes);
    }
    absl::StatusOr<FileWriter> file = FileWriter::ToPath(path_);
    EXPECT_THAT(file, IsOk());
    absl::StatusOr<PatternFileWriter> writer = PatternFileWriter::Create(*std::move(file), header);
    EXPECT_THAT(writer, IsOk());
    for (uint32_t stream = 0; stream < 2; ++stream) EXPECT_THAT(writer->Add(stream, {3'000, 2, 3}), IsOk());
    const absl::StatusOr<std::string> digest = writer->Finish();
    EXPECT_THAT(digest, IsOk());
    return digest.value_or("");
  }

  v1::TestPlan PlanOfFile(const std::string& digest = "") const {
    v1::TestPlan plan;
    plan.mutable_group_commit()->set_pattern(path_);
    if (!digest.empty()) plan.mutable_group_commit()->set_pattern_sha256(digest);
    return plan;
  }

  TempDirectory directory_;
  const std::string path_ = directory_.path() + "/pattern.plimsoll";
};

TEST_F(RecordingFile, OpensWithItsDigestOrWithoutOneAndWithNoOther) {
  const std::string digest = Write();
  for (const std::string& given : {digest, std::string()}) {
    const auto opened = OpenRecording(PlanOfFile(given));
    ASSERT_THAT(opened, IsOk());
    ASSERT_TRUE(opened->has_value());
    EXPECT_EQ((*opened)->sha256(), digest);
  }
  EXPECT_THAT(OpenRecording(PlanOfFile(std::string(64, '0'))).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, path_));
}

TEST_F(RecordingFile, OnlyAPlanWithOneHasIt) {
  const auto none = OpenRecording(v1::TestPlan());
  ASSERT_THAT(none, IsOk());
  EXPECT_FALSE(none->has_value());
  EXPECT_THAT(std::string(OpenRecording(PlanOfFile()).status().message()), HasSubstr(path_));
}

TEST_F(RecordingFile, IsShownWithWhoPlaysWhatOfIt) {
  const std::string digest = Write();
  const auto opened = OpenRecording(PlanOfFile());
  ASSERT_THAT(opened, IsOk());
  std::vector<std::unique_ptr<Host>> hosts;
  for (const char* label : {"alpha", "beta"}) {
    hosts.push_back(std::make_unique<Host>());
    hosts.back()->index = hosts.size() - 1;
    hosts.back()->label = label;
  }
  const std::vector<std::string> lines = DescribeRecording(**opened, hosts, HostsWith({1, 2}));
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0], absl::StrCat("Recording ", path_, " (sha256 ", digest, "), 1h:"));
  EXPECT_THAT(lines[2], AllOf(HasSubstr("node1/QM1"), HasSubstr(" 3 "), HasSubstr("alpha/qm1, beta/qm2")));
  EXPECT_THAT(lines[3], AllOf(HasSubstr("node1/QM2"), HasSubstr("beta/qm1")));
  // Fewer writers than recorded queue managers.
  hosts.pop_back();
  EXPECT_THAT(DescribeRecording(**opened, hosts, HostsWith({1}))[3], HasSubstr("none"));
}

}  // namespace
}  // namespace plimsoll
