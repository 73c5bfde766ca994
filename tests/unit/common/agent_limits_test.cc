// An agent's caps against a plan.
#include <gtest/gtest.h>

#include <limits>

#include "common/protocol.h"
#include "common/units.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

class AgentLimitsTest : public ::testing::Test {
 protected:
  AgentLimitsTest() {
    workload_.set_qm(2);
    workload_.set_num_files(3);
    workload_.set_file_size_bytes(1 << 20);
    workload_.set_cpu_load(1);
    for (int i = 0; i < 2; ++i) {
      v1::LogStep& step = *steps_.Add();
      step.set_duration_ns(10 * kNsPerSecond);
      step.set_warmup_ns(5 * kNsPerSecond);
    }
  }
  absl::Status Check() { return CheckDemand(limits_, LogDemand(workload_, steps_)); }

  v1::AgentLimits limits_;
  v1::LogWorkload workload_;
  google::protobuf::RepeatedPtrField<v1::LogStep> steps_;
};

TEST_F(AgentLimitsTest, WithoutCapsEverythingIsAllowed) {
  workload_.set_qm(4096);
  workload_.set_num_files(511);
  workload_.set_file_size_bytes(uint64_t{1} << 40U);
  steps_.Mutable(0)->set_duration_ns(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(AgentLimitsTest, APlanOfExactlyTheCapsIsAllowedAndOneMoreOfAnythingIsNot) {
  limits_.set_max_bytes(6 << 20);
  limits_.set_max_writers(3);
  limits_.set_max_duration_ns(30 * kNsPerSecond);
  EXPECT_THAT(Check(), IsOk());
  limits_.set_max_bytes((6 << 20) - 1);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "--max-bytes is 6291455, the plan asks for 6,291,456 bytes"));
  limits_.set_max_bytes(0);
  limits_.set_max_files(6);
  EXPECT_THAT(Check(), IsOk());
  limits_.set_max_files(5);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange,
                                "--max-files is 5, the plan asks for 6 extents (2 x 3): "
                                "lower --qm or --num-files"));
  limits_.set_max_files(0);
  limits_.set_max_writers(2);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "--max-writers is 2, the plan asks for 3"));
  limits_.set_max_writers(0);
  limits_.set_max_duration_ns(30 * kNsPerSecond - 1);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "the plan has 2 steps that take 30s with warm-up"));
}

TEST_F(AgentLimitsTest, FilesThatWouldNotLeaveTheirShareOfInodesFreeAreRefused) {
  // 3 for the host, and for each of 2 queue managers 3 extents and 2 directories.
  workload_.set_dir("/a");
  EXPECT_EQ(FilesIn(workload_, "/a"), 13U);
  EXPECT_EQ(MinFreeFiles(workload_, 1000), 50U);
  EXPECT_THAT(CheckFreeFiles("node1: /a", 1000, 63, 13, 50), IsOk());
  EXPECT_THAT(CheckFreeFiles("node1: /a", 1000, 62, 13, 50),
              StatusIs(StatusCode::kResourceExhausted,
                       "node1: /a has room for 62 more files (inodes), the run makes 13 and leaves 50 free"));
  EXPECT_THAT(CheckFreeFiles("node1: /a", 1000, 12, 13, 0), StatusIs(StatusCode::kResourceExhausted, "12 more files"));
  EXPECT_THAT(CheckFreeFiles("node1: /a", 0, 0, 13, 0), IsOk()) << "a file system that counts none";
  workload_.set_min_free_bytes(0);
  EXPECT_EQ(MinFreeFiles(workload_, 1000), 0U);
}

TEST_F(AgentLimitsTest, NamedFilesCountWhereTheRunMakesThem) {
  for (const char* name : {"A", "B", "C"}) workload_.add_files(name);
  workload_.set_dir("/a");
  EXPECT_EQ(CountUsedFiles(workload_), 2U) << "as many as threads";
  EXPECT_EQ(ExtentBytes(workload_), uint64_t{2} << 20);
  EXPECT_EQ(FilesIn(workload_, "/a"), 6U) << "with the host's 3, and their directory";
  limits_.set_max_bytes((2 << 20) - 1);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange,
                                "the plan asks for 2,097,152 bytes of files (2 x 1m): lower --files or --file-size"));
  limits_.clear_max_bytes();
  limits_.set_max_files(1);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "the plan asks for 2 files: lower the number of --files"));

  workload_.clear_files();
  for (const char* path : {"/mnt/x/A", "/mnt/y/B", "/mnt/x/C"}) workload_.add_files(path);
  EXPECT_EQ(ExtentBytes(workload_), 0U) << "they exist";
  EXPECT_EQ(FilesIn(workload_, "/mnt/x"), 0U);
  EXPECT_THAT(Check(), IsOk());
  workload_.set_create(true);
  EXPECT_EQ(ExtentBytes(workload_), uint64_t{2} << 20);
  EXPECT_EQ(FilesIn(workload_, "/mnt/x"), 2U) << "A and the marker";
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "the plan asks for 2 files"));
  limits_.clear_max_files();
  limits_.set_max_writers(2);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "--max-writers is 2, the plan asks for 3"));
}

TEST_F(AgentLimitsTest, UsedFilesAreAsManyAsThreads) {
  for (const char* path : {"/mnt/x/A", "/mnt/y/B", "/mnt/x/C"}) workload_.add_files(path);
  EXPECT_THAT(UsedFiles(workload_), ElementsAre("/mnt/x/A", "/mnt/y/B"));
  EXPECT_EQ(NamedFilesIn(workload_, "/mnt/x"), 0U) << "they exist";
  workload_.set_create(true);
  EXPECT_EQ(NamedFilesIn(workload_, "/mnt/x"), 1U);
  workload_.set_qm(5);
  EXPECT_THAT(UsedFiles(workload_), SizeIs(3));
  EXPECT_EQ(NamedFilesIn(workload_, "/mnt/x"), 2U);
  // Threads 0 and 1 use the first file, 2 and 3 the second one, 4 the third one.
  EXPECT_EQ(FirstThreadOf(0, 3, 5), 0U);
  EXPECT_EQ(FirstThreadOf(1, 3, 5), 2U);
  EXPECT_EQ(FirstThreadOf(2, 3, 5), 4U);
  EXPECT_EQ(FirstThreadOf(3, 3, 5), 5U);
}

TEST(LeavesFree, HoldsUpToTheLastByteAndDoesNotOverflow) {
  EXPECT_TRUE(LeavesFree(100, 60, 40));
  EXPECT_FALSE(LeavesFree(100, 60, 41));
  EXPECT_FALSE(LeavesFree(100, 101, 0));
  EXPECT_FALSE(LeavesFree(100, UINT64_MAX, UINT64_MAX));
}

TEST_F(AgentLimitsTest, WhatDoesNotFitIntoANumberIsBeyondEveryCap) {
  limits_.set_max_bytes(std::numeric_limits<uint64_t>::max() - 1);
  workload_.set_file_size_bytes(std::numeric_limits<uint64_t>::max() / 2);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "--max-bytes"));
  limits_.clear_max_bytes();
  limits_.set_max_duration_ns(std::numeric_limits<int64_t>::max() - 1);
  for (v1::LogStep& step : steps_) step.set_duration_ns(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "--max-duration"));
}

TEST_F(AgentLimitsTest, NegativeTimesGiveNothingBack) {
  limits_.set_max_duration_ns(14 * kNsPerSecond);
  steps_.Mutable(1)->set_duration_ns(-3600 * kNsPerSecond);
  EXPECT_THAT(Check(), StatusIs(StatusCode::kOutOfRange, "take 20s"));
}

}  // namespace
}  // namespace plimsoll
