// Plans and trials of restart I/O that an agent refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing.h"
#include "tests/unit/agent/restart_fixture.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

class RestartRefusalsTest : public RestartWorkTest {
 protected:
  using ChangePlan = std::function<void(v1::RestartWork&)>;
  using ChangeTrial = std::function<void(v1::RestartTrial&)>;
};

TEST_F(RestartRefusalsTest, ImpossiblePlansAreRefusedBeforeAnythingIsMade) {
  const std::vector<std::pair<ChangePlan, std::string>> changes = {
      {[](auto& work) { work.clear_dirs(); }, "names no directory"},
      {[](auto& work) {
         for (int i = 0; i < 64; ++i) work.add_dirs("/mnt/" + std::to_string(i));
       },
       "names 65 directories; at most 64"},
      {[](auto& work) { work.set_log_bytes(kLogBytes + 1); },
       "log_bytes is 3145729, which is not a multiple of a page"},
      {[](auto& work) { work.set_log_file_bytes(1000); }, "log_file_bytes is 1000"},
      {[](auto& work) { work.set_queue_bytes(kQueueBytes - 512); }, "queue_bytes is"},
      {[](auto& work) { work.set_metadata_bytes(1); }, "metadata_bytes is 1"},
      {[](auto& work) { work.set_log_file_bytes(0); }, "log_file_bytes is 0"},
      {[](auto& work) { work.set_queue_bytes(kMetadataBytes); },
       "begins with a page of 4096 bytes and 256k of metadata"},
      {[](auto& work) { work.set_log_bytes(uint64_t{1} << 60); }, "at most 16t are possible"},
      {[](auto& work) { work.set_queues(0); }, "has 0 queues; 1 to 1000"},
      {[](auto& work) { work.set_queues(1001); }, "has 1001 queues; 1 to 1000"},
      {[](auto& work) { work.clear_queue_io(); }, "queue_io 0 is unknown"},
      {[](auto& work) { work.set_queue_io(static_cast<v1::RestartQueueIo>(9)); }, "queue_io 9 is unknown"},
      {[](auto& work) {
         work.set_log_bytes(uint64_t{1} << 40);
         work.set_log_file_bytes(kPage);
       },
       "at most 200,000 are possible: use a larger --file-size"},
  };
  const v1::RestartWork good = restart();
  for (const auto& [change, text] : changes) {
    restart() = good;
    change(restart());
    EXPECT_THAT(Create(), StatusIs(StatusCode::kInvalidArgument, text)) << text;
  }
  restart() = good;
  EXPECT_TRUE(fs::is_empty(temp_.Sub("first")));
  plan_.set_run_token("short");
  EXPECT_THAT(Create(), StatusIs(StatusCode::kInvalidArgument, "run_token must be 16 bytes"));
}

TEST_F(RestartRefusalsTest, ADirectoryThatIsListedTwiceIsRefused) {
  const std::string first = restart().dirs(0);
  restart().add_dirs(first);
  EXPECT_THAT(Create(), StatusIs(StatusCode::kInvalidArgument, "is the same directory as " + first));
  EXPECT_TRUE(fs::is_empty(first));
  restart().mutable_dirs()->RemoveLast();
}

TEST_F(RestartRefusalsTest, DroppingCachesNeedsTheAgentsOption) {
  restart().set_drop_caches(true);
  const WorkKind kind = RestartWork::Kind(*sandbox_, false);
  EXPECT_THAT(kind.make(plan_, lease_deadline_ns_, sink_).status(),
              StatusIs(StatusCode::kPermissionDenied, "start plimsoll-agent on this host with --allow-drop-caches"));
  EXPECT_TRUE(fs::is_empty(temp_.Sub("first")));
  EXPECT_THAT(RestartWork::Kind(*sandbox_, true).make(plan_, lease_deadline_ns_, sink_).status(), IsOk());
}

TEST_F(RestartRefusalsTest, TheDemandIsThatOfAllDirectories) {
  const WorkKind kind = RestartWork::Kind(*sandbox_, false);
  restart().add_dirs("/mnt/second");
  const WorkDemand demand = kind.demand_of(plan_);
  EXPECT_EQ(demand.bytes.value, 2 * (kLogBytes + kQueues * kQueueBytes + kMiB));
  // Three extents, ten queue files, and the file that transactions write to.
  EXPECT_EQ(demand.files.value, 2U * 14);
  EXPECT_EQ(demand.threads.value, kQueues);
  EXPECT_THAT(demand.bytes.asked, EndsWith("bytes of log and queue files in 2 directories"));
  restart().mutable_dirs()->RemoveLast();
}

TEST_F(RestartRefusalsTest, TheDemandOfAPlanThatNoHostCanHaveIsTheLargestNumber) {
  v1::HostPlan plan = plan_;
  v1::RestartWork& work = *plan.mutable_restart();
  work.set_log_bytes(UINT64_MAX);
  work.set_log_file_bytes(1);
  work.set_queues(UINT32_MAX);
  work.set_queue_bytes(UINT64_MAX);
  const WorkDemand demand = RestartWork::Kind(*sandbox_, false).demand_of(plan);
  EXPECT_EQ(demand.bytes.value, UINT64_MAX);
  EXPECT_EQ(demand.files.value, UINT64_MAX);
  EXPECT_EQ(demand.threads.value, UINT32_MAX);
  EXPECT_EQ(RestartWork::Kind(*sandbox_, false).demand_of(v1::HostPlan()).threads.value, 1U);
}

TEST_F(RestartRefusalsTest, DirectoriesOnOneFileSystemShareItsSpace) {
  // Each takes 60 % of what is free; nothing is written yet.
  const uint64_t free_bytes = fs::space(temp_.path()).available;
  restart().set_queue_bytes(free_bytes / kQueues * 6 / 10 / kPage * kPage);
  ASSERT_GT(restart().queue_bytes(), kPage + kMetadataBytes) << "too little space for the test";
  EXPECT_THAT(Create(), IsOk());
  work_.reset();
  restart().add_dirs(temp_.MakeDirectory("second"));
  EXPECT_THAT(Create(), StatusIs(StatusCode::kResourceExhausted, "and elsewhere on its file system take"));
}

TEST_F(RestartRefusalsTest, APlanThatWouldLeaveTooLittleSpaceIsRefused) {
  restart().set_min_free_bytes(uint64_t{1} << 60);
  EXPECT_THAT(Create(), StatusIs(StatusCode::kResourceExhausted, "must remain free (--min-free)"));
}

TEST_F(RestartRefusalsTest, ATrialThatDoesNotFitTheFilesIsRefused) {
  restart().set_log_bytes(2 * kMiB);
  CreateAndPrepare();
  const auto refused = [this](v1::RestartTrial trial, const ChangeTrial& change, const std::string& text) {
    change(trial);
    EXPECT_THAT(Order(trial), StatusIs(StatusCode::kInvalidArgument, text)) << trial.ShortDebugString();
  };
  const v1::RestartTrial redo = Redo(v1::RESTART_REDO_WAY_PER_RECORD, 700);
  refused(redo, [](auto& trial) { trial.set_side(1); }, "directory 1 (counted from 0) of 1");
  refused(redo, [](auto& trial) { trial.clear_phase(); }, "does not support the trial's phase");
  refused(redo, [](auto& trial) { trial.mutable_redo()->clear_way(); }, "does not support way 0 of redo");
  refused(redo, [](auto& trial) { trial.mutable_redo()->set_records(0); }, "0 records; 1 to 1000000000");
  refused(redo, [](auto& trial) { trial.mutable_redo()->set_records(UINT64_MAX); }, "records; 1 to 1000000000");
  refused(redo, [](auto& trial) { trial.mutable_redo()->set_record_bytes(0); }, "records have 0 bytes");
  refused(redo, [](auto& trial) { trial.mutable_redo()->set_record_bytes(UINT64_MAX); }, "bytes; 1 to 134217728");
  refused(
      redo, [](auto& trial) { trial.mutable_redo()->set_record_bytes(5000); },
      "700 records of 5000 bytes in 10 queues do not fit in the 294912 bytes");
  refused(
      redo, [](auto& trial) { trial.mutable_redo()->set_records(750); },
      "750 records of 2798 bytes do not fit in the log, which has 2097152 bytes");
  for (const double round_trips : {0.0, -1.0, 1001.0, std::nan(""), HUGE_VAL}) {
    refused(
        redo, [&](auto& trial) { trial.mutable_redo()->set_round_trips_per_record(round_trips); },
        "round_trips_per_record is");
  }
  const v1::RestartTrial load = Load(v1::RESTART_LOAD_WAY_PARALLEL, kMetadataBytes);
  refused(load, [](auto& trial) { trial.mutable_load()->clear_way(); }, "does not support way 0 of loading");
  refused(load, [](auto& trial) { trial.mutable_load()->set_bytes_per_queue(0); }, "0 bytes of each queue");
  refused(
      load, [](auto& trial) { trial.mutable_load()->set_bytes_per_queue(kMetadataBytes + 1); },
      "262145 bytes of each queue, whose files have 262144 bytes of metadata");
  const v1::RestartTrial undo = Undo(300, 7);
  refused(undo, [](auto& trial) { trial.mutable_undo()->set_transactions(0); }, "0 transactions");
  refused(undo, [](auto& trial) { trial.mutable_undo()->set_messages(0); }, "0 messages");
  refused(
      undo, [](auto& trial) { trial.mutable_undo()->set_messages(1441); },
      "1441 messages of 2048 bytes in 10 queues do not fit in the 294912 bytes");
  // As many as fit are taken.
  Complete(Undo(1440, 7));
}

TEST_F(RestartRefusalsTest, OtherCommandsAndTrialsOfFilesThatAreNotPreparedAreRefused) {
  ASSERT_THAT(Create(), IsOk());
  EXPECT_THAT(Order(Undo(1, 1)), StatusIs(StatusCode::kFailedPrecondition, "are not prepared"));
  v1::Command command;
  command.mutable_stop_trace();
  EXPECT_THAT(work_->Do(command), StatusIs(StatusCode::kUnimplemented, "does not support this command"));
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_THAT(Prepare(), StatusIs(StatusCode::kFailedPrecondition, "prepared already"));
}

}  // namespace
}  // namespace plimsoll
