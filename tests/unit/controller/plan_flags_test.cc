#include "controller/cli/plan_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/command_line/command_line.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// Parses `args` and puts them over a plan.
absl::StatusOr<v1::TestPlan> Apply(const std::string& yaml, const std::vector<std::string>& args) {
  CLI::App app;
  const PlanFlags flags(app);
  std::string file;
  app.add_option("file", file);
  app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  auto plan = ReadPlan(yaml, "plan.yaml");
  EXPECT_THAT(plan, IsOk());
  if (!plan.ok()) return plan;
  if (absl::Status status = flags.ApplyTo(*plan); !status.ok()) return status;
  return plan;
}

v1::TestPlan MustApply(const std::string& yaml, const std::vector<std::string>& args) {
  const auto plan = Apply(yaml, args);
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? *plan : v1::TestPlan();
}

std::vector<std::string> Addresses(const v1::TestPlan& plan) {
  std::vector<std::string> addresses;
  for (const v1::HostSpec& host : plan.hosts()) addresses.push_back(host.address());
  return addresses;
}

TEST(PlanFlags, ARateAndABlockSizeOverrideThoseOfEachQueueManagerOfAPlacement) {
  constexpr char kPlan[] = "placement: [{qm: A, home: a, standby: b, rate: 5, block_size: 8k}]\n";
  const v1::TestPlan rate = MustApply(kPlan, {"--rate", "70"});
  EXPECT_FALSE(rate.placement(0).has_rate_per_second());
  EXPECT_EQ(rate.placement(0).block_size_bytes(), 8192U);
  const v1::TestPlan size = MustApply(kPlan, {"--bsize", "64k"});
  EXPECT_FALSE(size.placement(0).has_block_size_bytes());
  EXPECT_EQ(size.placement(0).rate_per_second(), 5);
}

TEST(PlanFlags, AListOfRatesOrQueueManagersIsASweepAndOneValueEndsThatOfThePlan) {
  const v1::TestPlan swept = MustApply("workload: {rate: 5}\n", {"--rate", "100, 0,200", "--qm", "1,2,4"});
  EXPECT_THAT(swept.sweep().rate_per_second(), ElementsAre(100, 0, 200));
  EXPECT_THAT(swept.sweep().qm(), ElementsAre(1, 2, 4));
  EXPECT_EQ(swept.workload().rate_per_second(), 200);
  EXPECT_EQ(swept.workload().qm(), 4U);
  const v1::TestPlan half = MustApply("workload: {rate: [5, 6], qm: [1, 2]}\n", {"--rate", "7"});
  EXPECT_THAT(half.sweep().rate_per_second(), IsEmpty());
  EXPECT_EQ(half.workload().rate_per_second(), 7);
  EXPECT_THAT(half.sweep().qm(), ElementsAre(1, 2));
  const v1::TestPlan one = MustApply("workload: {rate: [5, 6]}\n", {"--rate", "7"});
  EXPECT_FALSE(one.has_sweep());
  const v1::TestPlan hosts = MustApply("hosts: [{address: a, workload: {qm: 3}}]\n", {"--qm", "1,2"});
  EXPECT_FALSE(hosts.hosts(0).workload().has_qm()) << "an option overrides what a host has of its own";
  EXPECT_EQ(Apply("{}", {"--qm", "1,x"}).status().message(),
            "--qm: 'x' is not a whole number: expected a whole number from 1 to 4096");
}

TEST(PlanFlags, OfABlockSizeAndAMixTheOptionReplacesWhatThePlanHas) {
  const v1::TestPlan mixed = MustApply("block_size: [4k]\n", {"--bsize-mix", "4k=70,64k=30"});
  EXPECT_TRUE(mixed.block_size_bytes().empty());
  const v1::TestPlan plain = MustApply("block_size: [4k, 64k]\nblock_size_mix: 4k=70,64k=30\n", {"--bsize", "8k"});
  EXPECT_FALSE(plain.has_block_size_mix());
  EXPECT_THAT(plain.block_size_bytes(), ElementsAre(8192));
  EXPECT_THAT(Apply("block_size: [4k]\n", {"--bsize", "8k", "--bsize-mix", "4k=70,64k=30"}),
              StatusIs(kInvalid, "are both given"));
}

TEST(PlanFlags, ReadsAndTheOrderOfBlocksReplaceThoseOfThePlan) {
  const v1::TestPlan plan = MustApply("read: 10\naccess: sequential\n", {"--read-percent", "30", "--access", "random"});
  EXPECT_EQ(plan.read_percent(), 30U);
  EXPECT_EQ(plan.access(), v1::ACCESS_RANDOM);
  const v1::TestPlan kept = MustApply("read: 100\naccess: random\n", {});
  EXPECT_EQ(kept.read_percent(), 100U);
  EXPECT_EQ(kept.access(), v1::ACCESS_RANDOM);
  EXPECT_THAT(Apply("{}", {"--read-percent", "101"}), StatusIs(kInvalid, "a whole number from 0 to 100"));
  EXPECT_THAT(Apply("{}", {"--read-percent=-1"}), StatusIs(kInvalid, "a whole number from 0 to 100"));
  EXPECT_THAT(Apply("{}", {"--access", "backwards"}), StatusIs(kInvalid, "expected one of sequential, random"));
}

TEST(PlanFlags, EveryFlagAndAliasOfTheRulesIsAnOption) {
  CLI::App app;
  const PlanFlags flags(app);
  for (const auto* message : {v1::TestPlan::descriptor(), v1::LogWorkload::descriptor()}) {
    for (int i = 0; i < message->field_count(); ++i) {
      const v1::FieldRule& rule = RuleOf(*message->field(i));
      if (rule.flag().empty()) continue;
      const CLI::Option* option = app.get_option("--" + rule.flag());
      for (const std::string& alias : rule.alias()) EXPECT_EQ(app.get_option("--" + alias), option);
    }
  }
}

TEST(PlanFlags, HelpShowsMeaningDefaultAndLimitsWithin100Columns) {
  CLI::App app;
  WrapHelp(app);
  const PlanFlags flags(app);
  const std::string help = app.help();
  EXPECT_THAT(help, HasSubstr("--file-size,--fileSize SIZE"));
  EXPECT_THAT(help, HasSubstr("(default 16m, from 4k to 2t)"));
  EXPECT_THAT(help, HasSubstr("--keep-files  "));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(PlanFlags, WithoutOptionsThePlanStays) {
  const v1::TestPlan plan = MustApply("name: x\nhosts: a\n", {});
  EXPECT_EQ(plan.name(), "x");
  EXPECT_FALSE(plan.has_workload());
  EXPECT_FALSE(plan.has_keep_files());
}

TEST(PlanFlags, OptionsOverrideThePlanAndEveryHostsOwnValue) {
  const v1::TestPlan plan =
      MustApply("duration: 1\nworkload: {dir: /a, qm: 2}\nhosts: [{address: a, workload: {qm: 3, dir: /b}}, b]\n",
                {"--qm", "8", "--duration", "30"});
  EXPECT_EQ(plan.duration_ns(), 30'000'000'000);
  EXPECT_EQ(plan.workload().qm(), 8U);
  EXPECT_EQ(plan.workload().dir(), "/a");
  EXPECT_FALSE(plan.hosts(0).workload().has_qm());
  EXPECT_EQ(plan.hosts(0).workload().dir(), "/b");
}

TEST(PlanFlags, TheOlderSpellingsWork) {
  const v1::TestPlan plan = MustApply("name: x\n", {"--dir=/x", "--filePrefix=AMQ", "--bsize=5K,9K", "--fileSize=64m",
                                                    "--numFiles=4", "--duration=60", "--qm=10", "--delay=500"});
  EXPECT_EQ(plan.workload().dir(), "/x");
  EXPECT_EQ(plan.workload().file_prefix(), "AMQ");
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(5120, 9216));
  EXPECT_EQ(plan.workload().file_size_bytes(), 64U << 20U);
  EXPECT_EQ(plan.workload().num_files(), 4U);
  EXPECT_EQ(plan.duration_ns(), 60'000'000'000);
  EXPECT_EQ(plan.workload().qm(), 10U);
  EXPECT_EQ(plan.workload().delay_ns(), 500'000) << "a bare delay is in microseconds";
}

TEST(PlanFlags, ListsMayRepeatAndReplaceThePlans) {
  const v1::TestPlan plan =
      MustApply("block_size: 1k\ncriteria: max<1s\n",
                {"--bsize", "4k", "--bsize", "8k,16k", "--require", "p99<10ms", "--require", "iops>=5"});
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(4096, 8192, 16384));
  EXPECT_THAT(plan.criteria(), ElementsAre("p99<10ms", "iops>=5"));
}

TEST(PlanFlags, AListDoesNotSwallowThePlansFile) {
  CLI::App app;
  const PlanFlags flags(app);
  std::string file;
  app.add_option("file", file);
  app.parse(std::vector<std::string>{"plan.yaml", "4k", "--bsize"});
  EXPECT_EQ(file, "plan.yaml");
}

TEST(PlanFlags, AFlagCanBeTurnedOff) {
  EXPECT_TRUE(MustApply("name: x\n", {"--keep-files"}).keep_files());
  EXPECT_FALSE(MustApply("keep_files: true\n", {"--keep-files=false"}).keep_files());
  EXPECT_THAT(Apply("name: x\n", {"--keep-files=maybe"}),
              StatusIs(kInvalid, "--keep-files: 'maybe' is not a yes or no"));
}

TEST(PlanFlags, ErrorsNameTheOption) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--file-size", "64q"}, "--file-size: '64q' is not a size: expected a size from 4k to 2t"},
      {{"--fileSize", "64q"}, "--file-size: '64q' is not a size"},
      {{"--duration", "0"}, "--duration: '0' is out of range: expected a time from 100ms to 3650d"},
      {{"--duration", "-5"}, "--duration: '-5' is out of range"},
      {{"--qm", "0"}, "--qm: '0' is out of range: expected a whole number from 1 to 4096"},
      {{"--sync", "osync"}, "--sync: 'osync' is not known: expected one of dsync"},
      {{"--bsize", "4k,"}, "--bsize: '' is not a size"},
      {{"--hosts", "a,b:x"}, "--hosts: 'b:x' is not a host"},
      {{"--hosts", ""}, "--hosts: '' is not a host"},
  };
  for (const auto& [args, message] : cases) EXPECT_THAT(Apply("name: x\n", args), StatusIs(kInvalid, message));
}

TEST(PlanFlags, HostsReplaceThePlansAndKeepTheirWorkload) {
  const v1::TestPlan plan = MustApply("hosts: [{address: a, workload: {qm: 3}}, {address: b, workload: {qm: 4}}, c]\n",
                                      {"--hosts", "b:7461,[::1]:70", "--hosts", "node[1-2],[::1]"});
  EXPECT_THAT(Addresses(plan), ElementsAre("b:7461", "[::1]:70", "node1:7461", "node2:7461", "[::1]:7461"));
  EXPECT_EQ(plan.hosts(0).workload().qm(), 4U);
  EXPECT_FALSE(plan.hosts(1).has_workload());
}

TEST(PlanFlags, AnOptionReachesTheHostsThatOptionsName) {
  const v1::TestPlan plan = MustApply("hosts: [{address: b, workload: {qm: 4}}]\n", {"--qm", "9", "--hosts", "b"});
  EXPECT_EQ(plan.workload().qm(), 9U);
  EXPECT_FALSE(plan.hosts(0).workload().has_qm());
}

class HostsFileTest : public ::testing::Test {
 public:
  ~HostsFileTest() override { std::filesystem::remove_all(dir_); }

 protected:
  HostsFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-XXXXXX").string();
    dir_ = mkdtemp(name.data());
  }

  std::string Write(const std::string& text) const {
    const std::string path = dir_ + "/hosts";
    std::ofstream(path) << text;
    return path;
  }

  std::string dir_;
};

TEST_F(HostsFileTest, AddsToTheHostsOfTheCommandLine) {
  const std::string path = Write("# rack\nb:70 c\n");
  EXPECT_THAT(Addresses(MustApply("hosts: x\n", {"--hosts", "a", "--hosts-file", path})),
              ElementsAre("a:7461", "b:70", "c:7461"));
}

TEST_F(HostsFileTest, FilesFromReadsTheNamesOfFilesInPlaceOfThoseOfThePlan) {
  const std::string path = Write("/d/a\n/d/b,c\n");
  const v1::TestPlan plan = MustApply("workload: {dir: /old, files: [/old/f]}\n", {"--files-from", path});
  EXPECT_THAT(plan.workload().files(), ElementsAre("/d/a", "/d/b,c"));
  EXPECT_FALSE(plan.workload().has_dir()) << "the directory was that of the file before";
  EXPECT_FALSE(MustApply("workload: {dir: /old, files: [/old/f]}\n", {"--files", "/d/a"}).workload().has_dir());
  EXPECT_THAT(MustApply("workload: {dir: /x}\n", {"--files", "A,B", "--files", "C..."}).workload().files(),
              ElementsAre("A", "B", "C..."));
  EXPECT_THAT(Apply("name: x\n", {"--files-from", path, "--files", "F"}), StatusIs(kInvalid, "are both given"));
  EXPECT_THAT(Apply("name: x\n", {"--files-from", Write("a\n\nb\n")}),
              StatusIs(kInvalid, "--files-from: " + path + ":2: the line is empty"));
  EXPECT_THAT(Apply("name: x\n", {"--files-from", Write(std::string(200'000, 'x'))}), StatusIs(kInvalid, path));
}

TEST_F(HostsFileTest, ErrorsNameTheFile) {
  const std::string path = Write("a\nb:x\n");
  EXPECT_THAT(Apply("name: x\n", {"--hosts-file", path}), StatusIs(kInvalid, "--hosts-file: " + path + ":2: 'b:x'"));
  EXPECT_THAT(Apply("name: x\n", {"--hosts-file", dir_ + "/none"}),
              StatusIs(absl::StatusCode::kNotFound, "--hosts-file: open " + dir_ + "/none: No such file"));
  EXPECT_THAT(Apply("name: x\n", {"--hosts-file", dir_}),
              StatusIs(kInvalid, "--hosts-file: " + dir_ + " is a directory; name a file in it"));
}

TEST(PlanFlags, ClientsAndARecordingReplaceEachOtherInAPlan) {
  constexpr char kRecording[] = "group_commit: {pattern: /p, pattern_sha256: ab, playback: writes, load_factor: 2}\n";
  const v1::GroupCommit clients = MustApply(kRecording, {"--clients", "60"}).group_commit();
  EXPECT_EQ(clients.clients(), 60U);
  EXPECT_FALSE(clients.has_pattern() || clients.has_pattern_sha256() || clients.has_playback());
  EXPECT_FALSE(clients.has_load_factor());
  constexpr char kClients[] = "block_size: 4k\ngroup_commit: {clients: 60, think_time: 1ms, log_buffer_pages: 256}\n";
  const v1::TestPlan recording = MustApply(kClients, {"--pattern", "/p", "--load-factor", "3"});
  EXPECT_THAT(recording.block_size_bytes(), IsEmpty());
  EXPECT_EQ(recording.group_commit().pattern(), "/p");
  EXPECT_EQ(recording.group_commit().load_factor(), 3);
  EXPECT_EQ(recording.group_commit().log_buffer_pages(), 256U);
  EXPECT_FALSE(recording.group_commit().has_clients() || recording.group_commit().has_think_time_ns());
}

TEST(PlanFlags, AnotherRecordingHasNotTheDigestOfThatOfThePlan) {
  constexpr char kRecording[] = "group_commit: {pattern: /p, pattern_sha256: ab, load_factor: 2}\n";
  const v1::GroupCommit other = MustApply(kRecording, {"--pattern", "/q"}).group_commit();
  EXPECT_EQ(other.pattern(), "/q");
  EXPECT_FALSE(other.has_pattern_sha256());
  EXPECT_EQ(other.load_factor(), 2);
  EXPECT_TRUE(MustApply(kRecording, {"--load-factor", "3"}).group_commit().has_pattern_sha256());
}

TEST(PlanFlags, OptionsOfClientsBesideARecordingAreRefusedByName) {
  for (const char* const option : {"--clients", "--message-size", "--think-time", "--client-rate"}) {
    EXPECT_THAT(Apply("name: a\n", {"--pattern", "/p", option, "5"}),
                StatusIs(kInvalid, absl::StrCat(option, " and --pattern are both given")));
  }
}

}  // namespace
}  // namespace plimsoll
