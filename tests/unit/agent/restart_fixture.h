// A RestartWork over real directories, a sink that keeps the results of its trials, and small trials.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "agent/host/sandbox.h"
#include "agent/restart/restart_work.h"
#include "common/mutex.h"
#include "common/page_stamp.h"
#include "common/units.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll::tests {

// Keeps the results, by the numbers of their trials.
class TrialSink final : public WorkSink {
 public:
  void OnFrames(v1::FrameBatch /*frames*/) override {}
  void OnStepDone(v1::StepDone /*done*/) override {}
  void OnFault(v1::Fault fault) override { ADD_FAILURE() << fault.message(); }
  void OnMessage(v1::AgentMessage message) override {
    const MutexLock lock(mutex_);
    results_[message.restart().trial()] = message.restart();
    changed_.NotifyAll();
  }
  v1::RestartTrialDone Await(uint32_t trial) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    const MutexLock lock(mutex_);
    while (results_.count(trial) == 0) {
      if (!changed_.WaitUntil(mutex_, deadline)) {
        ADD_FAILURE() << "no result of trial " << trial;
        return {};
      }
    }
    return results_[trial];
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<uint32_t, v1::RestartTrialDone> results_ ABSL_GUARDED_BY(mutex_);
};

// Files of a plan, in one directory: a log of 3 MiB in extents of 1.25 MiB, so that the last one is shorter, and ten
// queue files with 256 KiB of metadata and 288 KiB of messages.
class RestartWorkTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kPage = kStampedPageBytes;
  static constexpr uint64_t kMiB = uint64_t{1} << 20;
  static constexpr uint64_t kLogBytes = 3 * kMiB;
  static constexpr uint64_t kExtentBytes = 320 * kPage;
  static constexpr uint32_t kQueues = 10;
  static constexpr uint64_t kMetadataBytes = 64 * kPage;
  static constexpr uint64_t kAreaBytes = 72 * kPage;
  static constexpr uint64_t kQueueBytes = kPage + kMetadataBytes + kAreaBytes;
  // A put of 2 KiB.
  static constexpr uint64_t kRecordBytes = 750 + 2048;
  static constexpr char kRunToken[] = "0123456789abcdef";

  RestartWorkTest() : sandbox_(*Sandbox::Create({temp_.path()}, kMine)) {
    plan_.set_run_id("0a1b");
    plan_.set_run_token(kRunToken);
    plan_.set_host_label("alpha");
    plan_.set_host_index(3);
    restart().add_dirs(temp_.MakeDirectory("first"));
    restart().set_log_bytes(kLogBytes);
    restart().set_log_file_bytes(kExtentBytes);
    restart().set_queues(kQueues);
    restart().set_queue_bytes(kQueueBytes);
    restart().set_metadata_bytes(kMetadataBytes);
    restart().set_queue_io(v1::RESTART_QUEUE_IO_DIRECT);
    restart().set_min_free_bytes(0);
    restart().set_seed(7);
  }

 public:
  ~RestartWorkTest() override {
    Release();
    for (const std::string& dir : restart().dirs()) {
      std::error_code error;
      EXPECT_TRUE(std::filesystem::is_empty(dir, error)) << dir;
    }
  }

 protected:
  v1::RestartWork& restart() { return *plan_.mutable_restart(); }

  absl::Status Create(bool allow_drop_caches = false, const std::string& drop_caches_path = "/dev/null") {
    auto work = RestartWork::Create(plan_, *sandbox_, allow_drop_caches, lease_deadline_ns_, sink_, drop_caches_path);
    if (!work.ok()) return work.status();
    work_ = *std::move(work);
    return absl::OkStatus();
  }
  absl::StatusOr<v1::Prepared> Prepare() {
    return work_->Prepare([this](uint64_t done, uint64_t total) { filled_ = {done, total}; });
  }
  void CreateAndPrepare() {
    ASSERT_THAT(Create(), IsOk());
    ASSERT_THAT(Prepare(), IsOk());
  }
  // Ends the work as a session does.
  void Release() {
    if (work_ == nullptr) return;
    work_->Stop("over");
    EXPECT_TRUE(work_->WaitIdle(120 * kNsPerSecond));
    const v1::Released released = work_->Release(false);
    EXPECT_EQ(released.left_behind(), "");
    released_files_ = released.removed_files();
    work_.reset();
  }

  v1::RestartTrial Redo(v1::RestartRedoWay way, uint64_t records) {
    v1::RestartTrial trial;
    trial.set_trial(++last_trial_);
    trial.mutable_redo()->set_way(way);
    trial.mutable_redo()->set_records(records);
    trial.mutable_redo()->set_record_bytes(kRecordBytes);
    trial.mutable_redo()->set_round_trips_per_record(2.4);
    return trial;
  }
  v1::RestartTrial Load(v1::RestartLoadWay way, uint64_t bytes_per_queue) {
    v1::RestartTrial trial;
    trial.set_trial(++last_trial_);
    trial.mutable_load()->set_way(way);
    trial.mutable_load()->set_bytes_per_queue(bytes_per_queue);
    return trial;
  }
  v1::RestartTrial Undo(uint64_t messages, uint64_t transactions) {
    v1::RestartTrial trial;
    trial.set_trial(++last_trial_);
    trial.mutable_undo()->set_messages(messages);
    trial.mutable_undo()->set_message_bytes(2048);
    trial.mutable_undo()->set_transactions(transactions);
    return trial;
  }
  absl::Status Order(const v1::RestartTrial& trial) {
    v1::Command command;
    command.set_id(trial.trial());
    *command.mutable_restart() = trial;
    return work_->Do(command);
  }
  v1::RestartTrialDone Run(const v1::RestartTrial& trial) {
    const absl::Status ordered = Order(trial);
    EXPECT_THAT(ordered, IsOk());
    return ordered.ok() ? sink_.Await(trial.trial()) : v1::RestartTrialDone();
  }
  // A trial that has to succeed.
  v1::RestartTrialDone Complete(const v1::RestartTrial& trial) {
    v1::RestartTrialDone done = Run(trial);
    EXPECT_EQ(done.code(), 0) << done.message();
    EXPECT_GT(done.start_ns(), 0);
    EXPECT_GE(done.end_ns(), done.start_ns());
    EXPECT_EQ(done.has_storage_read_bytes(), !done.counted_at().empty());
    return done;
  }

  // Path of a file of the run in the plan's first directory.
  std::string PathOf(const std::string& relative) const { return temp_.Sub("first/plimsoll-0a1b/alpha/" + relative); }
  static std::string ReadPage(const std::string& path, uint64_t page) {
    std::string bytes(kPage, '\0');
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(page * kPage));
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(file.good()) << path;
    return bytes;
  }
  static void WritePage(const std::string& path, uint64_t page, const std::string& bytes) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(page * kPage));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    EXPECT_TRUE(file.good()) << path;
  }
  static PageStamp StampOf(const std::string& page) {
    PageStamp stamp;
    EXPECT_EQ(ReadStamp(std::as_bytes(std::span(page.data(), page.size())), stamp), StampState::kWhole);
    return stamp;
  }

  TempDirectory temp_;
  std::unique_ptr<Sandbox> sandbox_;
  v1::HostPlan plan_;
  std::atomic<int64_t> lease_deadline_ns_{std::numeric_limits<int64_t>::max()};
  TrialSink sink_;
  std::pair<uint64_t, uint64_t> filled_;
  uint64_t released_files_ = 0;
  uint32_t last_trial_ = 0;
  std::unique_ptr<RestartWork> work_;
};

}  // namespace plimsoll::tests
