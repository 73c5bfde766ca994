// A run of two fake hosts, in virtual time, and the journal that it leaves behind.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/units.h"
#include "controller/live/live_feed.h"
#include "controller/live/views.h"
#include "controller/plan/plan_defaults.h"
#include "controller/run/coordinator.h"
#include "controller/run/run_records.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/run/fake_commands.h"
#include "tests/unit/run/fake_fleet.h"
#include "tests/virtual_clock.h"

namespace plimsoll::tests {

// Something that does not return for a while.
class Hang {
 public:
  void Begin() { Set(true); }
  void End() { Set(false); }
  // At most for so long that a test that fails ends.
  void WaitWhileHung() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    MutexLock lock(mutex_);
    while (hung_ && changed_.WaitUntil(mutex_, deadline)) {
    }
  }

 private:
  void Set(bool hung) {
    MutexLock lock(mutex_);
    hung_ = hung;
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  bool hung_ ABSL_GUARDED_BY(mutex_) = false;
};

// Two hosts, alpha and beta, whose clocks are 100,000 s apart; a host that is lost ends the run.
class CoordinatorTest : public ::testing::Test {
 protected:
  // Lets `hang` begin when both hosts run, and end with the heartbeat 10 s later, which ends the run, too.
  void HangForTenSeconds(Hang& hang) {
    for (FakeScript& script : scripts_) script.run_until_stopped = true;
    scripts_[1].on_running = [this, &hang] {
      hang.Begin();
      hung_since_ = clock_.Now();
    };
    scripts_[0].on_heartbeat = [this, &hang] {
      if (!hung_since_.has_value() || clock_.Now() - *hung_since_ < 10 * kNsPerSecond) {
        ++heartbeats_;
        return;
      }
      hang.End();
      events_.Interrupt();
      scripts_[0].on_heartbeat = [] {};
    };
  }

  explicit CoordinatorTest() : scripts_(2), diaries_(2) {
    scripts_[1].name = "beta";
    scripts_[1].clock_offset_ns = 100'000 * kNsPerSecond;
    plan_.mutable_workload()->set_dir("/fake");
    plan_.add_hosts()->set_address("alpha:1");
    plan_.add_hosts()->set_address("beta:1");
    plan_.add_block_size_bytes(4096);
    plan_.set_lease_ns(2 * kNsPerSecond);
    plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_ABORT);
  }

  // Gives the run so many hosts.
  void AddHostsUpTo(size_t hosts) {
    diaries_.resize(hosts);
    while (scripts_.size() < hosts) {
      FakeScript& script = scripts_.emplace_back();
      script.name = "host" + std::to_string(scripts_.size());
      plan_.add_hosts()->set_address(script.name + ":1");
    }
  }

  std::optional<Failure> Run() {
    FillDefaults(plan_);
    std::vector<std::string> addresses;
    for (const v1::HostSpec& host : plan_.hosts()) addresses.push_back(host.address());
    Fleet fleet(
        addresses, 500,
        [this, &addresses](const std::string& address, AgentListener& listener) {
          const auto i = static_cast<size_t>(std::ranges::find(addresses, address) - addresses.begin());
          return std::make_unique<FakeAgent>(scripts_[i], diaries_[i], clock_, listener);
        },
        clock_, events_);
    fleet.DescribeAll(std::vector<std::vector<std::string>>(addresses.size(), {"/fake"}), kNsPerSecond);
    LabelHosts(fleet.hosts());
    JournalCalls calls;
    calls.write = [this](int fd, const void* data, size_t size) {
      disk_.WaitWhileHung();
      return write(fd, data, size);
    };
    auto journal = JournalWriter::Create(path_, /*directory=*/-1, std::move(calls));
    EXPECT_THAT(journal, IsOk());
    RunLog log(*std::move(journal), clock_, most_waiting_bytes_);
    on_log_(log);
    LiveFeed feed;
    feed.Add(std::make_shared<PlainLines>(stderr, PlainLines::Of::kWarnings));
    Coordinator::Options options;
    options.plan = plan_;
    options.steps = ExpandSteps(plan_);
    if (next_step_) options.next_step = [this, &log] { return next_step_(log); };
    options.turn = turn_;
    options.pattern = pattern_;
    options.notes = notes_;
    options.fleet = &fleet;
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.feed = &feed;
    options.fold = fold_;
    options.guard = guard_.get();
    if (guard_ != nullptr) feed.Add(guard_);
    Disturber disturber({plan_, &commands_, &clock_, &log, &feed, [](const std::string& /*text*/) {}});
    if (!plan_.disturb().empty()) options.disturber = &disturber;
    for (int i = 0; i < plan_.hosts_size(); ++i) {
      options.host_plans.push_back(MakeHostPlan(plan_, i, fleet.host(static_cast<size_t>(i)).label, "7f3a21",
                                                std::string(16, 't'), kFrameIntervalNs));
    }
    Coordinator coordinator(std::move(options));
    std::optional<Failure> failure = coordinator.Run();
    left_ = coordinator.left();
    log.Flush();
    EXPECT_THAT(ReadJournal(path_, [this](const v1::JournalRecord& record) { records_.push_back(record); }), IsOk());
    return failure;
  }

  std::vector<v1::JournalRecord> Records(v1::JournalRecord::RecordCase wanted) const {
    std::vector<v1::JournalRecord> found;
    for (const v1::JournalRecord& record : records_) {
      if (record.record_case() == wanted) found.push_back(record);
    }
    return found;
  }

  // Nobody waits for real: leases and limits are looked at to the nanosecond.
  VirtualClock clock_;
  // Reads on after each message: the smallest bound that there is.
  EventQueue events_{clock_, /*most_waiting_bytes=*/1};
  TempDirectory directory_;
  const std::string path_ = directory_.path() + "/journal";
  v1::TestPlan plan_;
  std::vector<FakeScript> scripts_;
  std::vector<FakeDiary> diaries_;
  std::vector<v1::JournalRecord> records_;
  bool left_ = false;
  // Steps beyond the plan's; none: there are no others.
  std::function<std::optional<v1::LogStep>(RunLog&)> next_step_;
  // Of steps that wait for their turn; none: they do not.
  std::function<Coordinator::Turn(uint32_t step)> turn_;
  // What the hosts play; without `read`: nothing.
  PatternSource pattern_;
  std::vector<std::string> notes_;
  std::optional<v1::StepFoldRules> fold_ = UsualFold();
  // Null: there is none.
  std::shared_ptr<RunGuard> guard_;
  // What the plan's disturbances start.
  FakeCommands commands_{clock_};
  // The journal's.
  Hang disk_;
  size_t most_waiting_bytes_ = RunLog::kMostWaitingBytes;
  std::function<void(RunLog&)> on_log_ = [](RunLog&) {};
  std::optional<MonotonicNs> hung_since_;
  uint64_t heartbeats_ = 0;
};

}  // namespace plimsoll::tests
