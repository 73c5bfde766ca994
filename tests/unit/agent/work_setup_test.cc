#include "agent/writer/work_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/field_rules.h"
#include "common/protocol.h"
#include "common/units.h"
#include "plimsoll/v1/plan.pb.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_plan.h"

namespace plimsoll::tests {
namespace {

v1::HostPlan GoodPlan() {
  v1::HostPlan plan = TwoQueueManagers();
  plan.set_host_label("node-1.example");
  plan.mutable_log()->mutable_steps(0)->set_warmup_ns(kNsPerMs);
  return plan;
}

TEST(WorkSetup, AStepOfSeveralSizesMixesThemInAnOrderOfEachWritersOwn) {
  v1::HostPlan plan = GoodPlan();
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  step.set_block_size_bytes(0);
  for (const auto& [bytes, percent] : {std::pair{4096U, 70U}, {65536U, 30U}}) {
    v1::SizeShare& share = *step.add_size_mix();
    share.set_block_size_bytes(bytes);
    share.set_percent(percent);
  }
  const auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  EXPECT_EQ(setup->FilesOf(1).block_bytes, (std::vector<uint64_t>{65536, 4096}));
  const WriteLoopParams one = setup->LoopOf(0, 1000, 1);
  const WriteLoopParams two = setup->LoopOf(0, 1000, 2);
  EXPECT_EQ(one.layout.block_bytes(), 65536U);
  ASSERT_TRUE(one.mix && two.mix && setup->TallyOf(0, 1000, 1).mix);
  const auto order = [](const SizeMix& mix) {
    std::vector<uint32_t> sizes;
    for (uint64_t block = 0; block < 100; ++block) sizes.push_back(mix.SizeOf(block));
    return sizes;
  };
  EXPECT_NE(order(*one.mix), order(*two.mix));
  EXPECT_EQ(order(*one.mix), order(*setup->TallyOf(0, 1000, 1).mix));

  // A later step has the sizes of the first one.
  v1::LogStep& later = *plan.mutable_log()->add_steps();
  later.set_duration_ns(kNsPerSecond);
  const auto two_steps = MakeWorkSetup(plan);
  ASSERT_THAT(two_steps, IsOk());
  EXPECT_EQ(order(*two_steps->LoopOf(1, 1000, 1).mix), order(*one.mix));
  plan.mutable_log()->mutable_steps()->RemoveLast();

  step.set_block_size_bytes(4096);
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "one block size, or block_size_mix"));
  step.set_block_size_bytes(0);
  step.mutable_size_mix(0)->set_percent(60);
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "90 % together"));
  step.mutable_size_mix(0)->set_percent(70);
  step.mutable_size_mix(1)->set_block_size_bytes(2 << 20);
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "larger than an extent"));
}

TEST(WorkSetup, AStepThatReadsMeasuresReads) {
  v1::HostPlan plan = GoodPlan();
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  EXPECT_FALSE(MakeWorkSetup(plan)->LoopOf(0, 1000, 1).access);
  step.set_read_percent(30);
  step.set_random_order(true);
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "must measure reads"));
  SetOperations(/*parts=*/false, step);
  const auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  EXPECT_TRUE(setup->AnyReads());
  ASSERT_TRUE(setup->LoopOf(0, 1000, 1).access && setup->TallyOf(0, 1000, 1).access);
  EXPECT_TRUE(setup->LoopOf(0, 1000, 1).access->random());
  EXPECT_EQ(setup->LoopOf(0, 1000, 1).access->read_operation(), 1U);
  step.set_read_percent(101);
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "0 to 100"));
  step.set_read_percent(30);
  // The first step has the list of operations for all.
  v1::LogStep& second = *plan.mutable_log()->add_steps();
  second = step;
  second.clear_operations();
  ASSERT_THAT(MakeWorkSetup(plan), IsOk());
  EXPECT_TRUE(MakeWorkSetup(plan)->LoopOf(1, 1000, 1).access);
  SetOperations(/*parts=*/true, second);
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "the same operations"));
  plan.mutable_log()->mutable_steps()->RemoveLast();
  SetOperations(/*parts=*/true, step);
  plan.mutable_log()->mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  const auto with_parts = MakeWorkSetup(plan);
  ASSERT_THAT(with_parts, IsOk());
  EXPECT_EQ(with_parts->LoopOf(0, 1000, 1).access->read_operation(), 3U);
  EXPECT_TRUE(with_parts->LoopOf(0, 1000, 1).measure_parts);
  step.set_random_order(true);
  step.set_block_size_bytes(0);
  for (const uint64_t bytes : {4096U, 8192U}) {
    v1::SizeShare& share = *step.add_size_mix();
    share.set_block_size_bytes(bytes);
    share.set_percent(50);
  }
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "random_order needs one block size"));
  step.set_random_order(false);
  EXPECT_THAT(MakeWorkSetup(plan), IsOk());
}

TEST(WorkSetup, AStepWhoseOperationsAllReadHasNoPartsOfWrites) {
  v1::HostPlan plan = GoodPlan();
  plan.mutable_log()->mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  step.set_read_percent(kOnlyReads);
  SetOperations(/*parts=*/true, step);
  const auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  EXPECT_TRUE(setup->AnyReads());
  const WriteLoopParams loop = setup->LoopOf(0, 1000, 1);
  ASSERT_TRUE(loop.access);
  EXPECT_EQ(loop.access->read_operation(), kMainOperation);
  EXPECT_TRUE(loop.access->Reads(0));
  EXPECT_FALSE(loop.measure_parts);
  EXPECT_FALSE(setup->TallyOf(0, 1000, 1).measure_parts);
  // A list with the write would make the step measure writes.
  step.set_read_percent(99);
  SetOperations(/*parts=*/false, step);
  step.set_read_percent(kOnlyReads);
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "measures its reads alone"));
}

TEST(WorkSetup, AnAddedStepReadsAsItsPlanDoes) {
  v1::HostPlan plan = GoodPlan();
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  step.set_read_percent(30);
  SetOperations(/*parts=*/false, step);
  auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  v1::AddStep add;
  add.set_step(1);
  *add.mutable_spec() = step;
  // The first step has the list of operations for all.
  add.mutable_spec()->clear_operations();
  add.mutable_spec()->set_random_order(true);
  ASSERT_THAT(setup->Add(add), IsOk());
  EXPECT_THAT(setup->Add(add), IsOk()) << "the same once more";
  const std::optional<Access> access = setup->LoopOf(1, 1000, 1).access;
  ASSERT_TRUE(access);
  EXPECT_TRUE(access->random());
  EXPECT_EQ(access->read_operation(), 1U);
  EXPECT_FALSE(setup->LoopOf(0, 1000, 1).access->random());
  add.set_step(2);
  add.mutable_spec()->set_read_percent(kOnlyReads);
  EXPECT_THAT(setup->Add(add), StatusIs(absl::StatusCode::kInvalidArgument, "measures its reads alone"));
  add.mutable_spec()->set_read_percent(30);
  SetOperations(/*parts=*/true, *add.mutable_spec());
  EXPECT_THAT(setup->Add(add), StatusIs(absl::StatusCode::kInvalidArgument, "the same operations"));
}

TEST(WorkSetup, AnAddedStepReadsOnlyWhereOneOfThePlanDoes) {
  v1::HostPlan plan = GoodPlan();
  auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  v1::AddStep add;
  add.set_step(1);
  *add.mutable_spec() = plan.log().steps(0);
  add.mutable_spec()->set_read_percent(30);
  EXPECT_THAT(setup->Add(add), StatusIs(absl::StatusCode::kInvalidArgument, "must measure reads"));
  SetOperations(/*parts=*/false, *add.mutable_spec());
  EXPECT_THAT(setup->Add(add), StatusIs(absl::StatusCode::kInvalidArgument, "the same operations"));
  // The plan measures reads and makes none: no writer has a buffer for them.
  *plan.mutable_log()->mutable_steps(0)->mutable_operations() = add.spec().operations();
  setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  EXPECT_FALSE(setup->AnyReads());
  EXPECT_THAT(setup->Add(add), StatusIs(absl::StatusCode::kInvalidArgument, "no step of the plan does"));
}

TEST(WorkSetup, TakesAGoodPlan) {
  v1::HostPlan plan = GoodPlan();
  plan.set_host_index(5);
  plan.mutable_log()->mutable_workload()->set_rate_per_second(100);
  const auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  EXPECT_EQ(setup->total_bytes(), 6U << 20U);
  EXPECT_EQ(setup->host_index, 5U);
  EXPECT_EQ(setup->run_token[15], 'x');
  const WriteLoopParams loop = setup->LoopOf(0, 1000, 1);
  EXPECT_EQ(loop.epoch, 1U);
  EXPECT_EQ(loop.end_ns, 1000 + kNsPerSecond + kNsPerMs);
  ASSERT_TRUE(loop.schedule);
  EXPECT_EQ(loop.schedule->DueAt(1), 1000 + 10 * kNsPerMs);
  EXPECT_EQ(setup->LoopOf(0, 1000, 2).schedule->DueAt(0), 1000) << "a plan that does not say starts all at once";
  EXPECT_EQ(setup->TallyOf(0, 1000, 2).qm, 2U);
  EXPECT_EQ(setup->TimesOf(0, 1000).measured_start_ns(), 1000 + kNsPerMs);
}

TEST(WorkSetup, EvenWritersOfAllHostsStartOneAfterTheOther) {
  v1::HostPlan plan = GoodPlan();
  plan.mutable_log()->mutable_workload()->set_qm(2);
  plan.mutable_log()->mutable_workload()->set_rate_per_second(100);
  plan.mutable_log()->mutable_workload()->set_arrival(v1::ARRIVAL_EVEN);
  plan.mutable_log()->set_hosts(5);
  std::vector<int64_t> starts;
  for (uint32_t writer = 1; writer <= 2; ++writer) {
    for (uint32_t host = 0; host < 5; ++host) {
      plan.set_host_index(host);
      const auto setup = MakeWorkSetup(plan);
      ASSERT_THAT(setup, IsOk());
      const WriteLoopParams loop = setup->LoopOf(0, 1000, writer);
      EXPECT_EQ(loop.schedule->DueAt(0), setup->TallyOf(0, 1000, writer).schedule->DueAt(0));
      starts.push_back(loop.schedule->DueAt(0) - 1000);
    }
  }
  for (size_t i = 0; i < starts.size(); ++i) EXPECT_EQ(starts[i], static_cast<int64_t>(i) * kNsPerMs);
}

// Of 1,600 queue managers on 200 hosts with 30 writes/s each, on storage that serves one write after another and is
// busy for half of the time.
constexpr int64_t kHalfBusyServiceNs = kNsPerSecond / (2 * 1'600 * 30);

TEST(WorkSetup, TheStepsOfASearchHaveRandomArrivalsOfTheirOwnAndThoseOfAListTheSame) {
  v1::HostPlan plan = GoodPlan();
  plan.mutable_log()->mutable_workload()->set_rate_per_second(100);
  plan.mutable_log()->mutable_workload()->set_arrival(v1::ARRIVAL_POISSON);
  auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  v1::AddStep add;
  *add.mutable_spec() = plan.log().steps(0);
  const auto due = [&](uint32_t step) { return setup->ScheduleOf(step, 0, 1)->DueAt(5); };
  add.set_step(1);
  ASSERT_THAT(setup->Add(add), IsOk());
  EXPECT_EQ(due(1), due(0));
  add.mutable_spec()->set_purpose(v1::STEP_PURPOSE_SEARCH);
  for (const uint32_t step : {2U, 3U}) {
    add.set_step(step);
    ASSERT_THAT(setup->Add(add), IsOk());
  }
  EXPECT_NE(due(2), due(0));
  EXPECT_NE(due(3), due(2)) << "the same load once more is another sample of it";
}

// Median of the response times of all writes that are due in one second.
int64_t MedianResponseNs(v1::Arrival arrival) {
  v1::HostPlan plan = GoodPlan();
  plan.mutable_log()->set_hosts(200);
  plan.mutable_log()->set_seed(7);
  v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
  workload.set_qm(8);
  workload.set_rate_per_second(30);
  workload.set_arrival(arrival);
  std::vector<int64_t> due;
  for (uint32_t host = 0; host < 200; ++host) {
    plan.set_host_index(host);
    const auto setup = MakeWorkSetup(plan);
    EXPECT_THAT(setup, IsOk());
    for (uint32_t writer = 1; writer <= 8; ++writer) {
      const std::optional<RateSchedule> schedule = setup->ScheduleOf(0, 0, writer);
      for (uint64_t n = 0; n < schedule->DueBefore(kNsPerSecond); ++n) due.push_back(schedule->DueAt(n));
    }
  }
  std::sort(due.begin(), due.end());
  std::vector<int64_t> responses;
  int64_t free_ns = 0;
  for (const int64_t moment : due) {
    free_ns = std::max(free_ns, moment) + kHalfBusyServiceNs;
    responses.push_back(free_ns - moment);
  }
  const auto median = responses.begin() + static_cast<std::ptrdiff_t>(responses.size() / 2);
  std::nth_element(responses.begin(), median, responses.end());
  return *median;
}

TEST(WorkSetup, EvenWritersOnHalfBusyStorageTakeTheServiceTimeWhereAlignedOnesQueueForMilliseconds) {
  EXPECT_EQ(kHalfBusyServiceNs, 10'416);
  EXPECT_EQ(MedianResponseNs(v1::ARRIVAL_EVEN), kHalfBusyServiceNs);
  // Half of the 1,600 writes of a period are before it.
  EXPECT_NEAR(static_cast<double>(MedianResponseNs(v1::ARRIVAL_ALIGNED)), 8.33e6, 0.1e6);
  // Theory of queues: half of the writes find it idle, and those that wait do so for about a service time.
  EXPECT_LT(MedianResponseNs(v1::ARRIVAL_POISSON), 3 * kHalfBusyServiceNs);
}

TEST(WorkSetup, RandomWritersHaveArrivalsOfTheirOwnTheSameInEveryStep) {
  v1::HostPlan plan = GoodPlan();
  plan.mutable_log()->mutable_workload()->set_rate_per_second(100);
  plan.mutable_log()->mutable_workload()->set_arrival(v1::ARRIVAL_POISSON);
  plan.mutable_log()->set_seed(77);
  const auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  EXPECT_NE(setup->LoopOf(0, 1000, 1).schedule->DueAt(5), setup->LoopOf(0, 1000, 2).schedule->DueAt(5));
  EXPECT_EQ(setup->LoopOf(0, 1000, 1).schedule->DueAt(5), setup->TallyOf(0, 1000, 1).schedule->DueAt(5));
}

TEST(WorkSetup, RefusesWhatIsWrongAndNamesIt) {
  struct Case {
    std::string text;
    std::function<void(v1::HostPlan&, v1::LogWorkload&, v1::LogStep&)> spoil;
  };
  const std::vector<Case> cases = {
      {"run_id", [](auto& plan, auto&, auto&) { plan.set_run_id("../x"); }},
      {"run_id", [](auto& plan, auto&, auto&) { plan.set_run_id(""); }},
      {"run_token", [](auto& plan, auto&, auto&) { plan.set_run_token("short"); }},
      {"host_label", [](auto& plan, auto&, auto&) { plan.set_host_label("a/b"); }},
      {"host_label", [](auto& plan, auto&, auto&) { plan.set_host_label(".."); }},
      {"frame_interval", [](auto& plan, auto&, auto&) { plan.set_frame_interval_ns(300 * kNsPerMs); }},
      {"frame_interval", [](auto& plan, auto&, auto&) { plan.set_frame_interval_ns(0); }},
      {"does not know", [](auto& plan, auto&, auto&) { plan.clear_log(); }},
      {"no step", [](auto& plan, auto&, auto&) { plan.mutable_log()->clear_steps(); }},
      {"dir must be", [](auto&, auto& workload, auto&) { workload.set_dir("relative"); }},
      {"qm_dirs must be as many as the queue managers, 2; they are 1",
       [](auto&, auto& workload, auto&) { workload.add_qm_dirs("/a"); }},
      {"qm_dirs: 'b' must be an absolute path",
       [](auto&, auto& workload, auto&) {
         workload.add_qm_dirs("/a");
         workload.add_qm_dirs("b");
       }},
      {"qm_dirs: a host writes in at most 64 directories; they are 65",
       [](auto&, auto& workload, auto&) {
         workload.set_qm(65);
         for (int qm = 0; qm < 65; ++qm) workload.add_qm_dirs("/" + std::to_string(qm));
       }},
      {"qm must be from 1 to 4096; it is 0", [](auto&, auto& workload, auto&) { workload.set_qm(0); }},
      {"qm", [](auto&, auto& workload, auto&) { workload.set_qm(4097); }},
      {"file_size must be from 4k to 2t; it is 100",
       [](auto&, auto& workload, auto&) { workload.set_file_size_bytes(100); }},
      {"num_files", [](auto&, auto& workload, auto&) { workload.set_num_files(512); }},
      {"file_prefix", [](auto&, auto& workload, auto&) { workload.set_file_prefix("../S"); }},
      {"file_prefix", [](auto&, auto& workload, auto&) { workload.set_file_prefix(""); }},
      {"sync must be", [](auto&, auto& workload, auto&) { workload.clear_sync(); }},
      {"direct must be", [](auto&, auto& workload, auto&) { workload.clear_direct(); }},
      {"delay", [](auto&, auto& workload, auto&) { workload.set_delay_ns(-1); }},
      {"rate", [](auto&, auto& workload, auto&) { workload.set_rate_per_second(-1); }},
      {"rate", [](auto&, auto& workload, auto&) { workload.set_rate_per_second(2e6); }},
      {"rate",
       [](auto&, auto& workload, auto&) { workload.set_rate_per_second(std::numeric_limits<double>::quiet_NaN()); }},
      {"rate must be from 0.001 to 1000000, or 0; it is 0.0005",
       [](auto&, auto& workload, auto&) { workload.set_rate_per_second(0.0005); }},
      {"rate and delay exclude",
       [](auto&, auto& workload, auto&) {
         workload.set_rate_per_second(5);
         workload.set_delay_ns(5);
       }},
      {"arrival must be even, poisson or aligned",
       [](auto&, auto& workload, auto&) { workload.set_arrival(static_cast<v1::Arrival>(9)); }},
      {"at most 4096 hosts", [](auto& plan, auto&, auto&) { plan.mutable_log()->set_hosts(4097); }},
      {"cpu_load", [](auto&, auto& workload, auto&) { workload.set_cpu_load(5000); }},
      {"block_size must be from 512", [](auto&, auto&, auto& step) { step.set_block_size_bytes(100); }},
      {"block_size 2m is larger than an extent of 1m; use a larger --file-size",
       [](auto&, auto&, auto& step) { step.set_block_size_bytes(2 << 20); }},
      {"duration", [](auto&, auto&, auto& step) { step.set_duration_ns(0); }},
      {"duration", [](auto&, auto&, auto& step) { step.set_duration_ns(-5); }},
      {"warmup", [](auto&, auto&, auto& step) { step.set_warmup_ns(-5); }},
      {"stall must be from 1ms to 1h; it is 999us",
       [](auto& plan, auto&, auto&) { plan.mutable_log()->set_stall_ns(kNsPerMs - 1000); }},
      {"stall", [](auto& plan, auto&, auto&) { plan.mutable_log()->set_stall_ns(-1); }},
      {"stall", [](auto& plan, auto&, auto&) { plan.mutable_log()->set_stall_ns(3601 * kNsPerSecond); }},
      {"too long for this frame_interval",
       [](auto& plan, auto&, auto& step) {
         plan.set_frame_interval_ns(kNsPerMs);
         step.set_duration_ns(3000 * 86400 * kNsPerSecond);
       }},
  };
  for (const Case& wrong : cases) {
    v1::HostPlan plan = GoodPlan();
    wrong.spoil(plan, *plan.mutable_log()->mutable_workload(), *plan.mutable_log()->mutable_steps(0));
    if (plan.log().steps_size() == 0 && wrong.text == "does not know") plan.clear_work();
    EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, wrong.text));
  }
}

// A plan that the controller accepts must not fail on the agent: what the rules beside a plan's fields allow at most
// and at least, the agent takes.
TEST(WorkSetup, TakesEveryBoundOfAPlansRules) {
  const google::protobuf::Descriptor& type = *v1::LogWorkload::descriptor();
  int bounds = 0;
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    const v1::FieldRule& rule = RuleOf(field);
    for (const std::string& text : {rule.min(), rule.max(), rule.or_zero() ? std::string("0") : std::string()}) {
      if (text.empty()) continue;
      v1::HostPlan plan = GoodPlan();
      v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
      const google::protobuf::Reflection& reflection = *workload.GetReflection();
      switch (KindOf(field)) {
        case ValueKind::kSize:
          reflection.SetUInt64(&workload, &field, ParseSize(text).value());
          break;
        case ValueKind::kTime:
          reflection.SetInt64(&workload, &field, ParseDuration(text).value());
          break;
        case ValueKind::kNumber:
          reflection.SetDouble(&workload, &field, std::stod(text));
          break;
        default:
          reflection.SetUInt32(&workload, &field, static_cast<uint32_t>(std::stoul(text)));
      }
      if (field.number() == v1::LogWorkload::kPausePercentFieldNumber) workload.add_files("F000");
      ++bounds;
      EXPECT_THAT(MakeWorkSetup(plan), IsOk()) << field.name() << " " << text;
    }
  }
  EXPECT_GE(bounds, 15);
  const auto largest_ns = [](int number) { return std::get<int64_t>(LargestOf(PlanField(number)).value()); };
  v1::HostPlan plan = GoodPlan();
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  step.set_duration_ns(largest_ns(v1::TestPlan::kDurationNsFieldNumber));
  step.set_warmup_ns(largest_ns(v1::TestPlan::kWarmupNsFieldNumber));
  plan.mutable_log()->set_stall_ns(largest_ns(v1::TestPlan::kStallNsFieldNumber));
  plan.mutable_log()->set_hosts(kMaxRunHosts);
  plan.mutable_log()->mutable_workload()->set_file_size_bytes(64 << 20);
  step.set_block_size_bytes(std::get<uint64_t>(LargestOf(PlanField(v1::TestPlan::kBlockSizeBytesFieldNumber)).value()));
  EXPECT_THAT(MakeWorkSetup(plan), IsOk());
  step.set_duration_ns(step.duration_ns() + 1);
  EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "duration must be from"));
}

TEST(WorkSetup, TheTallyKnowsWhatAStallIs) {
  v1::HostPlan plan = GoodPlan();
  plan.mutable_log()->set_stall_ns(70 * kNsPerMs);
  plan.mutable_log()->mutable_workload()->clear_rate_per_second();
  plan.mutable_log()->mutable_workload()->set_delay_ns(5 * kNsPerMs);
  const auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  const TallyParams params = setup->TallyOf(0, kNsPerSecond, 1);
  EXPECT_EQ(params.stall_ns, 70 * kNsPerMs);
  EXPECT_EQ(params.reported_from_ns, 35 * kNsPerMs) << "what is a little too short keeps its host from vouching";
  EXPECT_EQ(params.delay_ns, 5 * kNsPerMs);
}

TEST(WorkSetup, EachBlockSizeIsListedOnce) {
  v1::HostPlan plan = GoodPlan();
  for (const uint64_t size : {8192U, 4096U, 8192U}) {
    v1::LogStep& step = *plan.mutable_log()->add_steps();
    step = plan.log().steps(0);
    step.set_block_size_bytes(size);
  }
  const auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  EXPECT_EQ(setup->FilesOf(1).block_bytes, (std::vector<uint64_t>{4096, 8192}));
}

// Two queue managers: one at home on host 1 with its standby on host 2, the other the other way round.
v1::HostPlan PlacedPlan(uint32_t host) {
  v1::HostPlan plan = GoodPlan();
  plan.set_host_index(host);
  plan.mutable_log()->set_placed(10);
  for (const uint32_t number : {4U, 7U}) {
    v1::LogQueueManager& qm = *plan.mutable_log()->add_queue_managers();
    qm.set_name("QM");
    qm.set_block_size_bytes(number == 4 ? 16384 : 512);
    qm.set_rate_per_second(number == 4 ? 100 : 50);
    qm.set_home(number == 4 ? 1 : 2);
    qm.set_standby(number == 4 ? 2 : 1);
    qm.set_number(number);
  }
  for (const uint32_t down : {1U, 2U, 9U}) {
    v1::LogStep& step = *plan.mutable_log()->add_steps();
    step = plan.log().steps(0);
    step.set_down_host(down);
  }
  return plan;
}

TEST(WorkSetup, AQueueManagerOfAPlacementWritesAtHomeOrWhereItsStandbyIs) {
  const auto home = MakeWorkSetup(PlacedPlan(1));
  ASSERT_THAT(home, IsOk());
  const auto writes = [&home](uint32_t step) {
    return std::vector<bool>{home->Writes(step, 1), home->Writes(step, 2)};
  };
  EXPECT_EQ(writes(0), (std::vector<bool>{true, false})) << "all up";
  EXPECT_EQ(writes(1), (std::vector<bool>{false, false})) << "this host is down";
  EXPECT_EQ(writes(2), (std::vector<bool>{true, true})) << "the other one is";
  EXPECT_EQ(writes(3), (std::vector<bool>{true, false})) << "another host is, which is neither";
  EXPECT_FALSE(home->AnyWrites(1));
  EXPECT_TRUE(home->AnyWrites(2));
}

TEST(WorkSetup, AQueueManagerOfAPlacementHasItsOwnBlocksAndTheSameArrivalsOnBothHosts) {
  v1::HostPlan plan = PlacedPlan(1);
  plan.mutable_log()->set_seed(5);
  for (const v1::Arrival arrival : {v1::ARRIVAL_EVEN, v1::ARRIVAL_POISSON}) {
    plan.mutable_log()->mutable_workload()->set_arrival(arrival);
    plan.set_host_index(1);
    const auto home = MakeWorkSetup(plan);
    plan.set_host_index(2);
    const auto standby = MakeWorkSetup(plan);
    ASSERT_THAT(home, IsOk());
    ASSERT_THAT(standby, IsOk());
    for (uint64_t write = 0; write < 100; ++write) {
      const int64_t due_ns = home->ScheduleOf(0, 1000, 1)->DueAt(write);
      ASSERT_EQ(due_ns, standby->ScheduleOf(1, 1000, 1)->DueAt(write));
      if (arrival == v1::ARRIVAL_EVEN) {
        // The fifth of ten that share the period.
        ASSERT_EQ(due_ns, 1000 + 4 * kNsPerMs + static_cast<int64_t>(write) * 10 * kNsPerMs);
      }
    }
  }
  const auto setup = MakeWorkSetup(plan);
  EXPECT_EQ(setup->FilesOf(1).block_bytes, std::vector<uint64_t>{16384});
  EXPECT_EQ(setup->FilesOf(2).block_bytes, std::vector<uint64_t>{512});
  EXPECT_EQ(setup->LoopOf(0, 0, 2).layout.block_bytes(), 512U);
  EXPECT_EQ(setup->TallyOf(0, 0, 1).layout.block_bytes(), 16384U);
}

TEST(WorkSetup, RefusesAPlacementThatIsNotThisHosts) {
  const auto refused = [](const std::function<void(v1::LogWork&)>& change, const std::string& why) {
    v1::HostPlan plan = PlacedPlan(1);
    change(*plan.mutable_log());
    EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, why));
  };
  refused([](v1::LogWork& work) { work.mutable_queue_managers()->RemoveLast(); }, "1 queue managers");
  refused([](v1::LogWork& work) { work.mutable_queue_managers(0)->set_home(3); }, "needs two hosts");
  refused([](v1::LogWork& work) { work.mutable_queue_managers(0)->set_standby(1); }, "needs two hosts");
  refused([](v1::LogWork& work) { work.mutable_queue_managers(0)->set_block_size_bytes(2 << 20); }, "larger than");
  refused([](v1::LogWork& work) { work.mutable_queue_managers(1)->set_block_size_bytes(0); }, "block_size must be");
  refused([](v1::LogWork& work) { work.mutable_queue_managers(1)->set_rate_per_second(0); }, "rate must be");
  refused([](v1::LogWork& work) { work.set_placed(7); }, "fewer queue managers");
  refused([](v1::LogWork& work) { work.mutable_steps(0)->set_qm(1); }, "a step of a placement");
  refused([](v1::LogWork& work) { work.mutable_steps(0)->set_random_order(true); }, "neither read_percent nor");
  refused(
      [](v1::LogWork& work) {
        work.mutable_steps(0)->set_read_percent(10);
        SetOperations(/*parts=*/false, *work.mutable_steps(0));
      },
      "neither read_percent nor");
  refused([](v1::LogWork& work) { work.mutable_workload()->set_delay_ns(1); }, "exclude one another");
}

}  // namespace
}  // namespace plimsoll::tests
