// Plans that name their files, as an agent checks and divides them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "agent/writer/work_setup.h"
#include "common/protocol.h"
#include "common/units.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_plan.h"

namespace plimsoll::tests {
namespace {

v1::HostPlan FilesPlan(const std::vector<std::string>& names) {
  v1::HostPlan plan = TwoQueueManagers();
  v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
  workload.set_dir("/mnt/data");
  workload.clear_num_files();
  workload.clear_file_prefix();
  workload.mutable_files()->Assign(names.begin(), names.end());
  if (UsesPaths(workload)) workload.clear_file_size_bytes();
  workload.set_share(v1::FILE_SHARE_OWN);
  return plan;
}

TEST(FilesSetup, ThreadsOfPlainNamesHaveRegionsAtOnce) {
  v1::HostPlan plan = FilesPlan({"F000", "F001", "F002"});
  plan.mutable_log()->mutable_workload()->set_qm(5);
  const auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  ASSERT_THAT(setup->regions, SizeIs(5));
  // Threads 0 and 1 have the first file, 2 and 3 the second, 4 the third.
  EXPECT_EQ(setup->regions[3], (FileRegion{1, 1 << 19, 1 << 19}));
  EXPECT_EQ(setup->total_bytes(), uint64_t{3} << 20);
  EXPECT_EQ(setup->BytesOfWriter(5), uint64_t{1} << 20);
  const LogFilesOptions options = setup->FilesOf(4);
  ASSERT_TRUE(options.part);
  EXPECT_EQ(options.part->file, "files/F001");
  EXPECT_EQ(options.part->offset_bytes, 1U << 19);
  EXPECT_TRUE(options.part->fill);
  EXPECT_FALSE(options.part->read_only);
  const WriteLoopParams loop = setup->LoopOf(0, 1000, 4);
  EXPECT_EQ(loop.layout.blocks_per_lap(), 128U);
  EXPECT_FALSE(loop.access) << "a log's loop does";
  const TallyParams tally = setup->TallyOf(0, 1000, 4);
  EXPECT_EQ(tally.first_extent, 1U);
  EXPECT_EQ(tally.base_bytes, 1U << 19);
  EXPECT_EQ(tally.pass_blocks, 0U);
}

TEST(FilesSetup, FilesThatExistAreDividedWhenTheirSizesAreKnown) {
  v1::HostPlan plan = FilesPlan({"/mnt/data/a", "/mnt/data/b"});
  plan.mutable_log()->mutable_workload()->set_qm(3);
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  step.set_read_percent(kOnlyReads);
  SetOperations(/*parts=*/false, step);
  auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk()) << "file_size is not given";
  EXPECT_THAT(setup->regions, IsEmpty());
  ASSERT_THAT(setup->Divide({10 * 4096 + 1, 4096}), IsOk());
  EXPECT_EQ(setup->regions, (std::vector<FileRegion>{{0, 0, 5 * 4096}, {0, 5 * 4096, 5 * 4096}, {1, 0, 4096}}));
  EXPECT_EQ(setup->total_bytes(), 0U) << "nothing is filled";
  EXPECT_EQ(setup->FilesOf(3).part->file, "/mnt/data/b");
  EXPECT_TRUE(setup->FilesOf(3).part->read_only);
  EXPECT_FALSE(setup->FilesOf(3).part->fill);
  EXPECT_THAT(setup->Divide({4096, 4096}), StatusIs(absl::StatusCode::kInvalidArgument, "/mnt/data/a has 4k"));
}

TEST(FilesSetup, RangesAreDividedInTheLargestBlocksOfAllStepsAndOverAllHosts) {
  v1::HostPlan plan = FilesPlan({"/mnt/data/a"});
  plan.mutable_log()->set_hosts(2);
  plan.set_host_index(1);
  v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
  workload.set_share(v1::FILE_SHARE_RANGES);
  v1::LogStep& more = *plan.mutable_log()->add_steps();
  more = plan.log().steps(0);
  more.set_block_size_bytes(16384);
  auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  ASSERT_THAT(setup->Divide({8 * 16384}), IsOk());
  EXPECT_EQ(setup->regions, (std::vector<FileRegion>{{0, 4 * 16384, 2 * 16384}, {0, 6 * 16384, 2 * 16384}}));
  workload.set_share(v1::FILE_SHARE_ALL);
  setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  ASSERT_THAT(setup->Divide({8 * 16384}), IsOk());
  EXPECT_EQ(setup->regions, (std::vector<FileRegion>{{0, 0, 4 * 16384}, {0, 4 * 16384, 4 * 16384}}));
}

TEST(FilesSetup, OnePassAndPausesHaveTheirLoop) {
  v1::HostPlan plan = FilesPlan({"F000"});
  v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
  workload.set_one_pass(true);
  auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  const WriteLoopParams loop = setup->LoopOf(0, 1000, 2);
  ASSERT_TRUE(loop.access);
  EXPECT_FALSE(loop.access->random());
  EXPECT_EQ(loop.pass_blocks, 128U);
  EXPECT_EQ(setup->TallyOf(0, 1000, 2).pass_blocks, 128U);
  v1::AddStep add;
  add.set_step(1);
  *add.mutable_spec() = plan.log().steps(0);
  EXPECT_THAT(setup->Add(add), StatusIs(absl::StatusCode::kInvalidArgument, "each block is taken once"));

  workload.set_one_pass(false);
  workload.set_pause_percent(80);
  workload.set_sync(v1::SYNC_MODE_FSYNC);
  SetOperations(/*parts=*/true, *plan.mutable_log()->mutable_steps(0));
  setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  const WriteLoopParams pausing = setup->LoopOf(0, 1000, 1);
  ASSERT_TRUE(pausing.access);
  EXPECT_EQ(pausing.pause_percent, 80);
  EXPECT_EQ(pausing.pass_blocks, 0U);
  EXPECT_TRUE(pausing.sync_each_write);
  EXPECT_TRUE(pausing.measure_parts);
  EXPECT_EQ(setup->TallyOf(0, 1000, 1).pause_percent, 80);
}

TEST(FilesSetup, AnAddedStepWritesOnlyWhereTheFilesAreOpenForThat) {
  v1::HostPlan plan = FilesPlan({"/mnt/data/a"});
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  // One list of operations for all: the read is the only one.
  step.set_read_percent(kOnlyReads);
  SetOperations(/*parts=*/false, step);
  auto setup = MakeWorkSetup(plan);
  ASSERT_THAT(setup, IsOk());
  ASSERT_THAT(setup->Divide({1 << 20}), IsOk());
  v1::AddStep add;
  add.set_step(1);
  *add.mutable_spec() = step;
  ASSERT_THAT(setup->Add(add), IsOk());
  add.set_step(2);
  add.mutable_spec()->set_read_percent(0);
  add.mutable_spec()->mutable_operations(0)->set_name("write");
  add.mutable_spec()->mutable_operations(0)->clear_kind();
  EXPECT_THAT(setup->Add(add), StatusIs(absl::StatusCode::kInvalidArgument, "open for reading alone"));
}

TEST(FilesSetup, RefusesWhatIsWrongAndNamesIt) {
  struct Case {
    std::string text;
    std::vector<std::string> names;
    std::function<void(v1::HostPlan&, v1::LogWorkload&, v1::LogStep&)> spoil;
  };
  const auto nothing = [](v1::HostPlan&, v1::LogWorkload&, v1::LogStep&) {};
  const std::vector<std::string> plain = {"F000"};
  const std::vector<std::string> path = {"/mnt/data/a"};
  std::vector<std::string> many;
  for (int i = 0; i <= 4096; ++i) many.push_back("F" + std::to_string(i));
  std::vector<std::string> long_ones;
  for (int i = 0; i < 33; ++i) long_ones.push_back("/" + std::string(4000, 'x') + std::to_string(i));
  const std::vector<Case> cases = {
      {"all names or all absolute paths", {"F000", "/mnt/a"}, nothing},
      {"all names or all absolute paths", {"/mnt/a", "a"}, nothing},
      {"files: 'a/b' must be", {"a/b"}, nothing},
      {"files: '..' must be", {".."}, nothing},
      {"files: '' must be", {""}, nothing},
      {"the controller must list them", {"F..."}, nothing},
      {"the controller must list them", {"/mnt/F..."}, nothing},
      {"is not the path of a file", {"/mnt/data/"}, nothing},
      {"is not the path of a file", {std::string("/mnt/\0data", 10)}, nothing},
      {"at most 4095 are accepted", {"/" + std::string(4095, 'x')}, nothing},
      {"files: 'F000' is listed twice", {"F000", "F001", "F000"}, nothing},
      {"at most 4096 names are accepted; they are 4097", many, nothing},
      {"at most 131072 are accepted", long_ones, nothing},
      {"qm_dirs and files", plain, [](auto&, auto& workload, auto&) { workload.add_qm_dirs("/a"); }},
      {"placement", plain, [](auto& plan, auto&, auto&) { plan.mutable_log()->add_queue_managers(); }},
      {"dir must be", plain, [](auto&, auto& workload, auto&) { workload.set_dir("x"); }},
      {"file_size must be from 4k", plain, [](auto&, auto& workload, auto&) { workload.clear_file_size_bytes(); }},
      {"share must be own with plain names", plain,
       [](auto&, auto& workload, auto&) { workload.set_share(v1::FILE_SHARE_ALL); }},
      {"share must be own, ranges or all", path,
       [](auto&, auto& workload, auto&) { workload.set_share(static_cast<v1::FileShare>(9)); }},
      {"the host has number 3, and the run has only 2", path,
       [](auto& plan, auto& workload, auto&) {
         workload.set_share(v1::FILE_SHARE_RANGES);
         plan.mutable_log()->set_hosts(2);
         plan.set_host_index(3);
       }},
      {"create needs absolute paths", plain, [](auto&, auto& workload, auto&) { workload.set_create(true); }},
      {"create needs share own", path,
       [](auto&, auto& workload, auto&) {
         workload.set_create(true);
         workload.set_share(v1::FILE_SHARE_ALL);
       }},
      {"file_size must be from 4k", path, [](auto&, auto& workload, auto&) { workload.set_create(true); }},
      {"create takes one step; the plan has 2", path,
       [](auto& plan, auto& workload, auto& step) {
         workload.set_create(true);
         const v1::LogStep same = step;
         *plan.mutable_log()->add_steps() = same;
       }},
      {"create writes only", path,
       [](auto&, auto& workload, auto& step) {
         workload.set_create(true);
         workload.set_file_size_bytes(1 << 20);
         step.set_read_percent(50);
         SetOperations(/*parts=*/false, step);
       }},
      {"warmup must be 0 with one_pass", plain,
       [](auto&, auto& workload, auto& step) {
         workload.set_one_pass(true);
         step.set_warmup_ns(kNsPerSecond);
       }},
      {"rate and one_pass", plain,
       [](auto&, auto& workload, auto&) {
         workload.set_one_pass(true);
         workload.set_rate_per_second(5);
       }},
      {"rate and one_pass", plain,
       [](auto&, auto& workload, auto& step) {
         workload.set_one_pass(true);
         step.set_rate_per_second(5);
       }},
      {"all threads of the host", plain,
       [](auto&, auto& workload, auto& step) {
         workload.set_one_pass(true);
         step.set_qm(1);
       }},
      {"one_pass needs one block size", plain,
       [](auto&, auto& workload, auto& step) {
         workload.set_one_pass(true);
         step.clear_block_size_bytes();
         for (const uint64_t bytes : {4096U, 8192U}) {
           v1::SizeShare& share = *step.add_size_mix();
           share.set_block_size_bytes(bytes);
           share.set_percent(50);
         }
       }},
      {"pause excludes delay and rate", plain,
       [](auto&, auto& workload, auto&) {
         workload.set_pause_percent(80);
         workload.set_delay_ns(5);
       }},
      {"pause excludes delay and rate", plain,
       [](auto&, auto& workload, auto& step) {
         workload.set_pause_percent(80);
         step.set_rate_per_second(5);
       }},
      {"pause must be from 0 to 10000", plain,
       [](auto&, auto& workload, auto&) { workload.set_pause_percent(10'001); }},
      {"pause must be from 0 to 10000", plain, [](auto&, auto& workload, auto&) { workload.set_pause_percent(-1); }},
      {"F000 has 1m, which is not a block of 2m for each of 2 threads", plain,
       [](auto&, auto&, auto& step) { step.set_block_size_bytes(2 << 20); }},
      {"share needs files", {}, nothing},
      {"create needs files",
       {},
       [](auto&, auto& workload, auto&) {
         workload.clear_share();
         workload.set_create(true);
       }},
      {"one_pass needs files",
       {},
       [](auto&, auto& workload, auto&) {
         workload.clear_share();
         workload.set_one_pass(true);
       }},
      {"overwrite needs files",
       {},
       [](auto&, auto& workload, auto&) {
         workload.clear_share();
         workload.set_overwrite(true);
       }},
      {"pause needs files",
       {},
       [](auto&, auto& workload, auto&) {
         workload.clear_share();
         workload.set_pause_percent(1);
       }},
  };
  for (const Case& wrong : cases) {
    v1::HostPlan plan = FilesPlan(wrong.names);
    wrong.spoil(plan, *plan.mutable_log()->mutable_workload(), *plan.mutable_log()->mutable_steps(0));
    EXPECT_THAT(MakeWorkSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, wrong.text));
  }
}

}  // namespace
}  // namespace plimsoll::tests
