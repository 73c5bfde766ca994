#include "controller/plan/plan_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

std::vector<std::string> Problems(const std::string& text) {
  return ProblemsOf(PlanOf(text));
}

TEST(PlanCheck, ADirectoryIsAllThatAPlanNeeds) {
  EXPECT_THAT(Problems("workload: {dir: /mnt/a}\n"), IsEmpty());
  EXPECT_THAT(CheckPlan(PlanOf("workload: {dir: /mnt/a}\n")), IsOk());
}

TEST(PlanCheck, TheDirectoryMustBeGivenAndAbsolute) {
  EXPECT_THAT(Problems("name: x\n"), ElementsAre("--dir (workload.dir) is missing: name the directory on the storage "
                                                 "under test, as the host sees it"));
  EXPECT_THAT(Problems("workload: {dir: mnt/a}\n"),
              ElementsAre("--dir (workload.dir) 'mnt/a' is not absolute: begin it with '/'"));
  EXPECT_THAT(Problems("hosts: [{address: a, workload: {dir: /x}}, {address: b, workload: {dir: /y}}]\n"), IsEmpty());
  EXPECT_THAT(Problems("hosts: [a, {address: b, workload: {dir: /y}}]\n"), ElementsAre(HasSubstr("is missing")));
  EXPECT_THAT(Problems("workload: {dir: /x}\nhosts: [{address: b, workload: {dir: y}}]\n"),
              ElementsAre("--dir (workload.dir) 'y' on b:7461 is not absolute: begin it with '/'"));
}

TEST(PlanCheck, AProtectedMountHasAMountPointAndAHostOfThePlan) {
  const std::string plan = "workload: {dir: /x}\nhosts: [a, b]\nprotect: ";
  for (const char* const good : {"mount=/mnt/mq", "mount=/", "a:7461/mount=/mnt/mq", "QM1"}) {
    EXPECT_THAT(Problems(plan + good + "\n"), IsEmpty()) << good;
  }
  EXPECT_THAT(Problems(plan + "mount=mnt\n"),
              ElementsAre("--protect (protect): 'mount=mnt' names no mount point, as mount=/mnt/mqlog and "
                          "node1/mount=/mnt/mqlog do"));
  EXPECT_THAT(Problems(plan + "mount=\n"), ElementsAre(HasSubstr("names no mount point")));
  EXPECT_THAT(Problems(plan + "c/mount=/mnt\n"), ElementsAre(HasSubstr("'c' is not a host of the plan")));
}

TEST(PlanCheck, ABlockMustFitItsExtentOnEveryHost) {
  EXPECT_THAT(Problems("workload: {dir: /x, file_size: 64k}\nblock_size: [4k, 128k]\n"),
              ElementsAre("--bsize (block_size) 128k is larger than an extent of 64k: use at most 64k, or a larger "
                          "--file-size (workload.file_size)"));
  EXPECT_THAT(Problems("workload: {dir: /x}\nblock_size: 128k\nhosts: [a, {address: b, workload: {file_size: 64k}}]\n"),
              ElementsAre(HasSubstr("128k is larger than an extent of 64k on b:7461: use")));
  EXPECT_THAT(Problems("workload: {dir: /x, file_size: 64k}\nblock_size: 64k\n"), IsEmpty());
}

TEST(PlanCheck, OnlyRunsAndSearchesReadOrAccessBlocksInRandomOrder) {
  const std::string read = "--read-percent (read): ";
  const std::string random = "--access (access): ";
  const std::string why = " only writes, in the order of a log; leave it out, or measure it with `plimsoll run`";
  const std::string placement =
      "workload: {dir: /x}\nhosts: [a, b]\nplacement: [{qm: A, home: a, standby: b, rate: 5}]\n";
  const std::string drill = "workload: {dir: /x}\nha: {pairs: [a+b]}\n";
  const std::string acceptance = "workload: {dir: /x, rate: 100}\naccept: {}\ncriteria: ['avg<5ms']\n";
  EXPECT_THAT(Problems(drill + "read: 1\n"), ElementsAre(read + "an HA drill" + why));
  EXPECT_THAT(Problems(drill + "access: random\n"), ElementsAre(random + "an HA drill" + why));
  EXPECT_THAT(Problems(acceptance + "read: 100\n"), ElementsAre(read + "an acceptance" + why));
  EXPECT_THAT(Problems(placement + "read: 50\n"),
              ElementsAre(read + "a placement" + why + " and without the placement"));
  EXPECT_THAT(Problems(placement + "access: random\nread: 50\n"),
              ElementsAre(random + "a placement" + why + " and without the placement"));
  // Values that only write, in the order of a log, may be given.
  for (const std::string& plan : {drill, placement}) {
    EXPECT_EQ(Problems(plan + "read: 0\naccess: sequential\n"), Problems(plan));
  }
  for (const std::string percent : {"0", "1", "100"}) {
    for (const std::string access : {"sequential", "random"}) {
      const std::string rest = "read: " + percent + "\naccess: " + access + "\n";
      EXPECT_THAT(Problems("workload: {dir: /x}\n" + rest), IsEmpty()) << rest;
      EXPECT_THAT(Problems("workload: {dir: /x}\nlimit: {}\ncriteria: ['avg<5ms']\n" + rest), IsEmpty()) << rest;
    }
  }
}

TEST(PlanCheck, BlocksInRandomOrderHaveOneSize) {
  const std::string mix = "workload: {dir: /x}\nblock_size_mix: 4k=70,64k=30\n";
  EXPECT_THAT(Problems(mix + "access: random\n"),
              ElementsAre("--access (access) random and --bsize-mix (block_size_mix) are both given: blocks in random "
                          "order have one size, leave one of them out"));
  EXPECT_THAT(Problems(mix + "access: random\nread: 30\n"), SizeIs(1));
  EXPECT_THAT(Problems(mix + "read: 30\n"), IsEmpty());
  EXPECT_THAT(Problems("workload: {dir: /x}\nblock_size: [4k, 64k]\naccess: random\n"), IsEmpty()) << "a step each";
}

TEST(PlanCheck, ExtentsAreWholePagesUnlessODirectIsOff) {
  EXPECT_THAT(Problems("workload: {dir: /x, file_size: 5000}\n"),
              ElementsAre("--file-size (workload.file_size) 5000 is not a multiple of 4k: use 8k, or --direct off"));
  EXPECT_THAT(Problems("workload: {dir: /x, file_size: 5000, direct: off}\n"), IsEmpty());
}

TEST(PlanCheck, BlocksAreWholeSectorsWhereODirectIsDemanded) {
  EXPECT_THAT(
      Problems("workload: {dir: /x, direct: on}\nblock_size: 1000\n"),
      ElementsAre("--bsize (block_size) 1000 is not a multiple of 512, which O_DIRECT needs: use 1k, or --direct "
                  "off"));
  EXPECT_THAT(Problems("workload: {dir: /x}\nblock_size: 1000\n"), IsEmpty()) << "the agent knows the storage";
}

TEST(PlanCheck, ThePrefixIsAPlainName) {
  for (const std::string prefix : {"", ".x", "-x", "a/b", "..", "a b", "\xC3\xA4"}) {
    v1::TestPlan plan = PlanOf("workload: {dir: /x}\n");
    plan.mutable_workload()->set_file_prefix(prefix);
    EXPECT_THAT(ProblemsOf(plan),
                ElementsAre("--file-prefix (workload.file_prefix) '" + prefix +
                            "' is not a plain name: use 1 to 64 of A-Z a-z 0-9 . _ -, the first neither '.' nor '-'"));
  }
  EXPECT_THAT(Problems("workload: {dir: /x, file_prefix: MQ_a.b-1}\n"), IsEmpty());
}

TEST(PlanCheck, RateAndDelayExcludeEachOther) {
  EXPECT_THAT(
      Problems("workload: {dir: /x, rate: 10, delay: 5}\n"),
      ElementsAre("--rate (workload.rate) and --delay (workload.delay) are both given: a rate sets the pauses by "
                  "itself, leave one of them out"));
  EXPECT_THAT(Problems("workload: {dir: /x, delay: 5}\nhosts: [{address: a, workload: {rate: 1}}]\n"),
              ElementsAre(HasSubstr("on a:7461 are both given")));
  EXPECT_THAT(Problems("workload: {dir: /x, rate: 10, delay: 0}\n"), IsEmpty());
}

TEST(PlanCheck, AHostIsListedOnce) {
  EXPECT_THAT(Problems("workload: {dir: /x}\nhosts: a, b, A:7461\n"),
              ElementsAre("--hosts (hosts): A:7461 is listed twice; list every agent once"));
  EXPECT_THAT(Problems("workload: {dir: /x}\nhosts: 'unix:/a, unix:/A'\n"), IsEmpty());
}

TEST(PlanCheck, AddressesThatNoReaderSawAreChecked) {
  v1::TestPlan plan = PlanOf("workload: {dir: /x}\n");
  plan.add_hosts()->set_address("a b");
  plan.add_hosts()->set_address("n[1-2]");
  plan.add_hosts();
  EXPECT_THAT(ProblemsOf(plan),
              ElementsAre(HasSubstr("--hosts (hosts.address): 'a b' is not a host"),
                          "--hosts (hosts.address): 'n[1-2]' is more than one host; list each of them",
                          HasSubstr("--hosts (hosts.address): '' is not a host")));
}

TEST(PlanCheck, ValuesThatNoReaderSawAreChecked) {
  v1::TestPlan plan = PlanOf("workload: {dir: /x}\nhosts: [a]\n");
  plan.set_duration_ns(0);
  plan.set_trace(v1::TOGGLE_UNSPECIFIED);
  plan.mutable_hosts(0)->mutable_workload()->set_qm(0);
  EXPECT_THAT(ProblemsOf(plan),
              ElementsAre("--qm (workload.qm) of hosts #1: '0' is out of range: expected a whole number from 1 to 4096",
                          "--duration (duration): '0s' is out of range: expected a time from 100ms to 3650d",
                          "--trace (trace): 'unspecified' is not known: expected one of on, off"));
  EXPECT_THAT(CheckPlan(plan), StatusIs(absl::StatusCode::kInvalidArgument, "--qm (workload.qm) of hosts #1"));
}

TEST(PlanCheck, StepsAreBoundedInNumberAndTime) {
  v1::TestPlan plan = PlanOf("workload: {dir: /x}\nrepeat: 1000\nduration: 100ms\n");
  for (int i = 0; i < 10; ++i) plan.add_block_size_bytes(4096);
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  plan.add_block_size_bytes(4096);
  EXPECT_THAT(ProblemsOf(plan),
              ElementsAre("--bsize (block_size) and --repeat (repeat) make 11000 steps; a run has at most 10000"));
  EXPECT_THAT(
      Problems("workload: {dir: /x}\nrepeat: 1000\nduration: 3650d\nwarmup: 0s\n"),
      ElementsAre("--duration (duration): 1000 steps of 3650d with warm-up; a run takes at most 3650d: use shorter or "
                  "fewer steps"));
  EXPECT_THAT(Problems("workload: {dir: /x}\nduration: 3650d\nwarmup: 1h\n"),
              ElementsAre("--duration (duration): 1 step of 3650d1h with warm-up; a run takes at most 3650d: use "
                          "shorter or fewer steps"));
}

TEST(PlanCheck, ATimeIsNamedInReadableUnits) {
  EXPECT_THAT(Problems("workload: {dir: /x}\nblock_size: [4k, 8k]\nduration: 3650d\nwarmup: 2s\n"),
              ElementsAre(HasSubstr("2 steps of 3650d2s with warm-up; a run takes at most 3650d")));
  EXPECT_THAT(
      Problems("workload: {dir: /x}\ncriteria: [p99<5ms]\nduration: 10s\nwarmup: 500ms\nlimit: {budget: 30s}\n"),
      Contains(HasSubstr("6 steps of 10.5s and a hold of 1m: use 123.5s or more")));
}

TEST(PlanCheck, CriteriaAreReadAndFitTheSteps) {
  EXPECT_THAT(Problems("workload: {dir: /x}\ncriteria: p99<10ms, max@host<1s, iops@4k>=1\n"), IsEmpty());
  EXPECT_THAT(
      Problems("workload: {dir: /x}\ncriteria: [p99<10, p99@64k<1ms]\n"),
      ElementsAre("--require (criteria): 'p99<10' is not a criterion: expected a time with its unit, such as "
                  "10ms, not '10'",
                  "--require (criteria): 'p99@64k<1ms' applies to blocks of 64k, which --bsize (block_size) does "
                  "not list"));
}

TEST(PlanCheck, TheNumberOfProblemsIsBounded) {
  v1::TestPlan plan = PlanOf("workload: {dir: /x}\n");
  for (int i = 0; i < 1000; ++i) plan.add_criteria("x");
  EXPECT_THAT(ProblemsOf(plan), SizeIs(1000));
  const std::string told(CheckPlan(plan).message());
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 20);
  EXPECT_THAT(told, EndsWith("\nmore errors follow; correct these first"));
}

TEST(PlanNotes, WritesWithoutSynchronisationAreNoted) {
  EXPECT_THAT(PlanNotes(PlanOf("workload: {dir: /x}\ncriteria: p99<1ms\n")), IsEmpty());
  EXPECT_THAT(PlanNotes(PlanOf("workload: {dir: /x, sync: none}\ncriteria: p99<1ms\n")),
              ElementsAre("--sync (workload.sync) none on this machine: measures memory, not storage; for comparison "
                          "only"));
  EXPECT_THAT(PlanNotes(PlanOf("workload: {dir: /x, sync: none}\nhosts: a, b, c\n")),
              ElementsAre(HasSubstr("none on a:7461 and 2 more:")));
}

}  // namespace
}  // namespace plimsoll
