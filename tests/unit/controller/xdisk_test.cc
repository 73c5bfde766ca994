#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/xdisk/xdisk_options.h"
#include "controller/xdisk/xdisk_output.h"
#include "controller/xdisk/xdisk_plan.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Words separated by blanks, as a shell passes them.
std::vector<std::string> WordsOf(const std::string& line) {
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

XdiskOptions Read(const std::string& line) {
  absl::StatusOr<XdiskOptions> options = ParseXdiskOptions(WordsOf(line), "/home/me");
  EXPECT_TRUE(options.ok()) << line << ": " << options.status();
  return options.ok() ? *std::move(options) : XdiskOptions{};
}

std::string Refused(const std::string& line) {
  const absl::StatusOr<XdiskOptions> options = ParseXdiskOptions(WordsOf(line), "/home/me");
  EXPECT_FALSE(options.ok()) << line;
  return std::string(options.status().message());
}

v1::TestPlan PlanOf(const std::string& line, const XdiskPermissions& permissions = {}) {
  return XdiskPlan(Read(line), permissions);
}

TEST(XdiskOptions, ArgumentsMayBeAttachedOrSeparate) {
  for (const char* const line :
       {"-R -r50 -t30 -i5 -b4k -M4 -OD -f/data/F...", "-R -r 50 -t 30 -i 5 -b 4K -M 4 -O D -f /data/F..."}) {
    const XdiskOptions options = Read(line);
    EXPECT_TRUE(options.random);
    EXPECT_EQ(options.read_percent, 50U);
    EXPECT_EQ(options.duration_s, 30U);
    EXPECT_EQ(options.interval_s, 5U);
    EXPECT_EQ(options.block_size_bytes, 4096U);
    EXPECT_EQ(options.flags, "D");
    EXPECT_EQ(absl::StrJoin(options.files, " "), "/data/F000 /data/F001 /data/F002 /data/F003");
    EXPECT_EQ(options.files_text, "/data/F...");
  }
}

TEST(XdiskOptions, DefaultsAreThoseOfTheGuide) {
  const XdiskOptions options = Read("-S -f /data/file1");
  EXPECT_FALSE(options.random);
  EXPECT_FALSE(options.one_pass);
  EXPECT_EQ(options.processes, 1U);
  EXPECT_EQ(options.async, 0U);
  EXPECT_EQ(options.duration_s, 5U);
  EXPECT_EQ(options.warmup_s, 0U);
  EXPECT_EQ(options.block_size_bytes, 4096U);
  EXPECT_EQ(options.read_percent, 0U);
  EXPECT_EQ(options.snooze_percent, 0U);
  EXPECT_THAT(options.remarks, ElementsAre());
}

TEST(XdiskOptions, SuffixesAreOfAnyCaseAndOfPowersOfTwo) {
  for (const auto& [text, bytes] : std::vector<std::pair<std::string, uint64_t>>{
           {"512", 512}, {"1024", 1024}, {"1k", 1024}, {"32K", 32'768}, {"1m", 1 << 20}, {"64M", 64 << 20}}) {
    EXPECT_EQ(Read(absl::StrCat("-S -f /x -b", text)).block_size_bytes, bytes) << text;
  }
  EXPECT_EQ(Read("-C 50g -f /x").create_bytes, uint64_t{50} << 30U);
  EXPECT_EQ(Read("-S -s4G -f /dev/sdx").size_bytes, uint64_t{4} << 30U);
}

TEST(XdiskOptions, AFileOfTwoTebibytesIsALargestOne) {
  v1::TestPlan plan = PlanOf("-C 2T -b 1M -f /x");
  EXPECT_EQ(plan.workload().file_size_bytes(), uint64_t{2} << 40U);
  FillDefaults(plan);
  EXPECT_TRUE(CheckPlan(plan, {}).ok()) << CheckPlan(plan, {});
}

TEST(XdiskOptions, ADigitBehindSAndRChoosesOnePass) {
  EXPECT_FALSE(Read("-S0 -f /x").one_pass);
  EXPECT_FALSE(Read("-R0 -f /x").one_pass);
  EXPECT_TRUE(Read("-S1 -f /x").one_pass);
  EXPECT_TRUE(Read("-R1 -f /x").one_pass);
  EXPECT_EQ(Refused("-S2 -f /x"), "-S2: write -S, or -S1 to take each block once");
  EXPECT_EQ(Refused("-R 1 -f /x"), "unexpected argument '1': write -R1 without a blank");
}

TEST(XdiskOptions, OnePassIgnoresTimesAndRemarksOnIt) {
  const XdiskOptions options = Read("-S1 -t60 -w30 -f /x");
  EXPECT_EQ(options.warmup_s, 0U);
  EXPECT_THAT(options.remarks, ElementsAre("-t is ignored with -S1, which takes each block once",
                                           "-w is ignored with -S1, which takes each block once"));
  EXPECT_TRUE(Read("-C1M -R -f /x").random);
  EXPECT_TRUE(Read("-C1M -f /x").one_pass);
}

TEST(XdiskOptions, AWorkloadIsRequired) {
  EXPECT_THAT(Refused("-f /x"), StartsWith("-S, -R or -C is missing"));
  EXPECT_THAT(Refused("-S"), StartsWith("-f or -F is missing"));
  EXPECT_EQ(Refused("-S -R -f /x"), "-S and -R exclude each other: leave one of them out");
  EXPECT_EQ(Refused("-S -f /x -F /y"), "-f and -F exclude each other: leave one of them out");
}

TEST(XdiskOptions, NumbersOutOfRangeNameOptionAndLimits) {
  EXPECT_EQ(Refused("-S -f /x -M0"), "-M: '0' is not a whole number of processes from 1 to 128");
  EXPECT_EQ(Refused("-S -f /x -M 129"), "-M: '129' is not a whole number of processes from 1 to 128");
  EXPECT_EQ(Refused("-S -f /x -A129"), "-A: '129' is not a whole number of asynchronous operations from 1 to 128");
  EXPECT_EQ(Refused("-S -f /x -t4"), "-t: '4' is not a whole number of seconds from 5 to 86400");
  EXPECT_EQ(Refused("-S -f /x -w1"), "-w: '1' is not a whole number of seconds from 2 to 3600");
  EXPECT_EQ(Refused("-S -f /x -i3601"), "-i: '3601' is not a whole number of seconds from 2 to 3600");
  EXPECT_EQ(Refused("-S -f /x -r101"), "-r: '101' is not a whole number of percent from 0 to 100");
  EXPECT_EQ(Refused("-S -f /x -rx"), "-r: 'x' is not a whole number of percent from 0 to 100");
  EXPECT_EQ(Refused("-S -f /x -b511"), "-b: '511' is not a size from 512 to 64m, such as 64K, 100M or 2G");
  EXPECT_EQ(Refused("-S -f /x -b65M"), "-b: '65M' is not a size from 512 to 64m, such as 64K, 100M or 2G");
  EXPECT_EQ(Refused("-C 1000k -f /x"), "-C: '1000k' is not a size from 1m to 2t, such as 64K, 100M or 2G");
}

TEST(XdiskOptions, TooManyOperationsInFlightAreRefusedWithTheLimit) {
  EXPECT_EQ(
      Refused("-R -M128 -A128 -f /x"),
      "-M 128 and -A 128 make 16,384 operations in flight on a host; at most 4,096 are possible: use -A 32 or less");
  EXPECT_EQ(Read("-R -M128 -A32 -f /x").threads(), 4096U);
  EXPECT_EQ(Read("-R -M8 -A10 -f /x").threads(), 80U);
}

TEST(XdiskOptions, SnoozeIsIgnoredWithAsynchronousOperations) {
  const XdiskOptions options = Read("-R -z80 -A4 -f /x");
  EXPECT_EQ(options.snooze_percent, 0U);
  EXPECT_THAT(options.remarks, ElementsAre("-z is ignored with -A"));
  EXPECT_EQ(Read("-R -z200 -f /x").snooze_percent, 200U);
}

TEST(XdiskOptions, FlagsOfAixAreRefusedByName) {
  EXPECT_THAT(Refused("-R -OC -f /x"), StartsWith("-OC (O_CIO) is for AIX: "));
  EXPECT_THAT(Refused("-R -ORW -f /x"), StartsWith("-OR (O_RSYNC) is for AIX: "));
  EXPECT_THAT(Refused("-R -OfD -f /x"), StartsWith("-OfD: f (fsync) has no other flags beside it"));
  EXPECT_THAT(Refused("-R -Od -f /x"), StartsWith("-O: 'd' is not a flag"));
  EXPECT_THAT(Refused("-R -ODD -f /x"), StartsWith("-ODD: D was given twice"));
}

TEST(XdiskOptions, NumberedNamesNeedTheNumberOfProcessesBeforeThem) {
  EXPECT_EQ(Refused("-S -f /data/F... -M 4"), "-f /data/F... is numbered by -M: write -M 4 before -f");
  EXPECT_THAT(Read("-S -f /data/F...").files, ElementsAre("/data/F000"));
  EXPECT_THAT(Refused("-S -M2 -f /a/F...,/b/F..."), HasSubstr("has NAME... in a list"));
  const std::vector<std::string> files = Read("-S -M128 -f /data/F...").files;
  EXPECT_EQ(files.size(), 128U);
  EXPECT_EQ(files.back(), "/data/F127");
}

TEST(XdiskOptions, ListsHaveThreeSeparators) {
  for (const char* const list : {"/d/1,/d/2,/d/3", "/d/1:/d/2:/d/3", "/d/1#/d/2#/d/3"}) {
    EXPECT_THAT(Read(absl::StrCat("-S -M3 -f ", list)).files, ElementsAre("/d/1", "/d/2", "/d/3")) << list;
  }
  EXPECT_THAT(Refused("-S -f /d/1,,/d/2"), HasSubstr("has an empty name"));
  EXPECT_THAT(Refused("-S -M2 -f /d/1,/d/1"), HasSubstr("'/d/1' is in the list twice"));
}

TEST(XdiskOptions, FilesWithoutAProcessAreLeftOut) {
  const XdiskOptions options = Read("-S -M2 -f /d/1,/d/2,/d/3");
  EXPECT_THAT(options.files, ElementsAre("/d/1", "/d/2"));
  EXPECT_THAT(options.remarks, ElementsAre("-M 2 uses 2 of 3 files"));
}

TEST(XdiskOptions, RelativeNamesAreOfTheCurrentDirectoryAndNotForHosts) {
  EXPECT_THAT(Read("-S -f file1").files, ElementsAre("/home/me/file1"));
  EXPECT_THAT(Read("-S -f ./a/../file1").files, ElementsAre("/home/me/file1"));
  EXPECT_EQ(Refused("-S -n host1 -f file1"),
            "-f: 'file1' is not an absolute path, which hosts (-n, -N) need: begin it with /");
}

TEST(XdiskOptions, ListsOfFilesAndHostsAreReadFromFiles) {
  const tests::TempDirectory directory;
  const auto write = [&directory](const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(directory.path(), "/", name);
    std::ofstream(path) << text;
    return path;
  };
  // Separators are characters of a name here.
  const std::string files = write("files", "/dev/disk/pci-0:1\n/d/a,b\n");
  EXPECT_THAT(Read("-S -M2 -F " + files).files, ElementsAre("/dev/disk/pci-0:1", "/d/a,b"));
  const std::string hosts = write("hosts", "DB_server1\nDB_server2\n");
  EXPECT_THAT(Read("-S -f /x -N " + hosts).host_names, ElementsAre("DB_server1", "DB_server2"));
  const std::string empty_line = write("empty_line", "/a\n\n/b\n");
  EXPECT_EQ(Refused("-S -F " + empty_line),
            absl::StrCat("-F: ", empty_line, ":2: an empty line: write one name per line"));
  const std::string blank = write("blank", "/a \n");
  EXPECT_EQ(Refused("-S -F " + blank), absl::StrCat("-F: ", blank, ":1: a blank before or after the name: remove it"));
  EXPECT_THAT(Refused("-S -F /missing/list"), StartsWith("-F /missing/list: No such file"));
}

TEST(XdiskOptions, HostsHaveThreeSeparatorsAndAreSixteenAtMost) {
  for (const char* const list : {"h1,h2,h3", "h1:h2:h3", "h1#h2#h3"}) {
    EXPECT_THAT(Read(absl::StrCat("-S -f /x -n ", list)).host_names, ElementsAre("h1", "h2", "h3")) << list;
  }
  EXPECT_THAT(Refused("-S -f /x -n h[1-17]"), StartsWith("-n: 17 hosts; at most 16 are possible"));
  for (const char* const list : {"h1:7461", "h1:7461,h2:7461", "h1,[::1]", "[::1]:7461"}) {
    EXPECT_EQ(Refused(absl::StrCat("-S -f /x -n ", list)),
              "-n: ':' separates hosts; list hosts with a port in a file (-N)")
        << list;
  }
  EXPECT_EQ(Read("-S -f /x -n h[1,2,3]").hosts.size(), 3U);
  EXPECT_EQ(Refused("-S -f /x -n h1,h1"), "-n: h1 is in the list twice: name it once");
  EXPECT_EQ(Refused("-S -f /x -n h1 -N list"), "-n and -N exclude each other: leave one of them out");
  EXPECT_EQ(Refused("-S -f /x -n h1, h2"), "unexpected argument 'h2': write lists without blanks");
}

TEST(XdiskOptions, OptionsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(Refused("-C1M -r50 -f /x"), StartsWith("-C creates the files by writing them, -r 50 reads"));
  EXPECT_THAT(Refused("-C1M -s1M -f /x"), StartsWith("-s has no meaning with -C"));
  EXPECT_THAT(Refused("-C1M -b2M -f /x"), StartsWith("-b: a block of 2m is larger than -C 1m"));
  EXPECT_THAT(Refused("-S -t5 -i10 -f /x"), StartsWith("-i 10 is longer than -t 5, so that no line would be printed"));
  EXPECT_THAT(Refused("-C3T -f /x"), StartsWith("-C: '3T' is not a size from 1m to 2t"));
}

TEST(XdiskOptions, WordsThatAreNoOptionsAreNamed) {
  EXPECT_EQ(Refused("-S -f /x -k"), "unknown option '-k'; see plimsoll xdisk --help");
  EXPECT_EQ(Refused("-S -f /x here"), "unexpected argument 'here'; see plimsoll xdisk --help");
  EXPECT_EQ(Refused("-S -f /x -qV"), "-q takes no value: write -q -V");
  EXPECT_EQ(Refused("-S -f /x -x"), "-x needs a value: r, w or s");
  EXPECT_EQ(Refused("-S -f /x -t"), "-t needs a value: SECONDS");
  EXPECT_EQ(Refused("-S -f -M4"), "-f needs a value: NAMES");
  EXPECT_EQ(Refused("-S -f /x -t5 -t6"), "-t was given twice: give it once");
  EXPECT_EQ(Refused("-S -f /x -f /y"), "-f was given twice: list all values in one, separated by commas");
}

TEST(XdiskOptions, TheTextMayBeEmpty) {
  const absl::StatusOr<XdiskOptions> options = ParseXdiskOptions({"-S", "-f", "/x", "-T", ""}, "/home/me");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->text, "");
}

TEST(XdiskOptions, DistributionsFollowTheShareOfReads) {
  const auto shown = [](const std::string& line) {
    const XdiskOptions options = Read(line);
    return absl::StrCat(options.shows_reads ? "r" : "", options.shows_writes ? "w" : "");
  };
  EXPECT_EQ(shown("-S -f /x -r50 -xr"), "r");
  EXPECT_EQ(shown("-S -f /x -r50 -x w"), "w");
  EXPECT_EQ(shown("-S -f /x -r50 -xs"), "rw");
  EXPECT_EQ(shown("-S -f /x -r50 -xwr"), "rw");
  EXPECT_EQ(shown("-S -f /x -r0 -xs"), "w");
  EXPECT_EQ(shown("-S -f /x -r0 -xr"), "w");
  EXPECT_EQ(shown("-S -f /x -r100 -xw"), "r");
  EXPECT_EQ(shown("-S -f /x -r50"), "");
  EXPECT_EQ(shown("-P -xs"), "rw");
  EXPECT_THAT(Refused("-P -xq"), StartsWith("-x: 'q' is not of the letters"));
}

TEST(XdiskOptions, OutputOptionsImplyEachOther) {
  EXPECT_TRUE(Read("-S -f /x -Q").quiet);
  EXPECT_TRUE(Read("-S -f /x -Q").no_header);
  EXPECT_TRUE(Read("-S -f /x -V").quiet);
  EXPECT_FALSE(Read("-S -f /x -V").no_header);
  EXPECT_TRUE(Read("-P").header_only);
  EXPECT_EQ(Refused("-P -l fr_FR"), "-l: 'fr_FR' is not a locale that is known here: use en_US or de_DE");
}

TEST(XdiskOptions, LongOptionsAndHelpAreOfTheProgram) {
  const auto takes_value = [](const std::string& name) { return name == "--out"; };
  const XdiskWords words = SplitXdiskWords(
      {"-S", "--overwrite", "-f", "/x", "--out", "dir", "-T", "some text", "-?", "--out=d"}, takes_value);
  EXPECT_THAT(words.own, ElementsAre("-S", "-f", "/x", "-T", "some text"));
  EXPECT_THAT(words.others, ElementsAre("--overwrite", "--out", "dir", "--help", "--out=d"));
}

TEST(XdiskPlan, HoldsWhatTheOptionsSet) {
  const v1::TestPlan plan = PlanOf("-R -r80 -b16k -M4 -A2 -t300 -w60 -f /d/1,/d/2 -OSD");
  EXPECT_EQ(plan.read_percent(), 80U);
  EXPECT_EQ(plan.access(), v1::ACCESS_RANDOM);
  EXPECT_EQ(plan.duration_ns(), 300 * kNsPerSecond);
  EXPECT_EQ(plan.warmup_ns(), 60 * kNsPerSecond);
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(16'384U));
  EXPECT_EQ(plan.workload().qm(), 8U);
  EXPECT_THAT(plan.workload().files(), ElementsAre("/d/1", "/d/2"));
  EXPECT_EQ(plan.workload().sync(), v1::SYNC_MODE_SYNC);
  EXPECT_EQ(plan.workload().direct(), v1::DIRECT_MODE_ON);
  EXPECT_EQ(plan.workload().share(), v1::FILE_SHARE_OWN);
  EXPECT_FALSE(plan.workload().has_file_size_bytes());
  EXPECT_FALSE(plan.workload().has_overwrite());
  EXPECT_FALSE(plan.workload().has_pause_percent());
}

TEST(XdiskPlan, FlagsChooseHowFilesAreOpened) {
  const auto of = [](const std::string& flags) { return PlanOf("-S -f /x" + flags).workload(); };
  EXPECT_EQ(of("").sync(), v1::SYNC_MODE_NONE);
  EXPECT_EQ(of("").direct(), v1::DIRECT_MODE_OFF);
  EXPECT_EQ(of(" -Of").sync(), v1::SYNC_MODE_FSYNC);
  EXPECT_EQ(of(" -OS").sync(), v1::SYNC_MODE_SYNC);
  EXPECT_EQ(of(" -OW").sync(), v1::SYNC_MODE_DSYNC);
  EXPECT_EQ(of(" -OWS").sync(), v1::SYNC_MODE_SYNC);
  EXPECT_EQ(of(" -OD").sync(), v1::SYNC_MODE_NONE);
  EXPECT_EQ(of(" -OD").direct(), v1::DIRECT_MODE_ON);
}

TEST(XdiskPlan, HostsShareTheFilesThatExistAndCreateTheirOwn) {
  EXPECT_EQ(PlanOf("-R -f /x -n h1,h2").workload().share(), v1::FILE_SHARE_ALL);
  EXPECT_EQ(PlanOf("-R -f /x -n h1").workload().share(), v1::FILE_SHARE_OWN);
  EXPECT_EQ(PlanOf("-C1G -f /x -n h1,h2").workload().share(), v1::FILE_SHARE_OWN);
}

TEST(XdiskPlan, OnePassHasThePlansLimitOfTime) {
  const v1::TestPlan plan = PlanOf("-C 100M -f /x -w30 -z 50");
  EXPECT_TRUE(plan.workload().create());
  EXPECT_TRUE(plan.workload().one_pass());
  EXPECT_EQ(plan.workload().file_size_bytes(), uint64_t{100} << 20U);
  EXPECT_FALSE(plan.has_duration_ns());
  EXPECT_EQ(plan.warmup_ns(), 0);
  EXPECT_EQ(plan.workload().pause_percent(), 50);
}

TEST(XdiskPlan, EveryExampleOfTheGuideCanBeRun) {
  for (const char* const line :
       {"-R -r80 -b16k -M4 -f /data/F... -OD", "-S1 -r100 -b1M -M8 -f /data/F... -OD",
        "-S1 -r0 -b1M -M1 -f /data/F... -OD", "-R1 -r100 -b256k -M8 -f /data/F... -OD",
        "-S -r0 -b16k -M4 -t300 -f /data/F... -OD", "-R -r50 -b64k -M8 -t300 -f /data/F... -OD",
        "-n host1,host2,host3,host4 -R -r50 -M4 -f/data/F... -b64k -OD -V -Q -t300",
        "-R -r80 -b16k -M 8 -f /sap/oracle/data/F... -w600 -t300 -V -OD -L /tmp/xdisk.txt",
        "-S -r100 -b256k -M 1 -f /sap/oracle/data/F... -w600 -t 300 -V -OD", "-C10m -i5 -b64k -OD -f /backup/F...",
        "-R0 -r50 -t30 -i5 -b4k -OD -f /backup/F...", "-R -r50 -b8k -f /data/F1 -t10 -l de_DE -V"}) {
    v1::TestPlan plan = PlanOf(line, {.overwrite = true});
    FillDefaults(plan);
    EXPECT_TRUE(CheckPlan(plan, {}).ok()) << line << ": " << CheckPlan(plan, {});
  }
}

TEST(XdiskPlan, AgentsOfHostsGetThePermissionsThatTheUserGives) {
  EXPECT_THAT(XdiskAgentArguments(Read("-R -f /x"), {.allow_target = true}), ElementsAre());
  EXPECT_THAT(XdiskAgentArguments(Read("-R -M2 -f /x,/y -n h1"), {}), ElementsAre("--allow-kept"));
  EXPECT_THAT(XdiskAgentArguments(Read("-R -M2 -f /x,/y -n h1"), {.allow_target = true}),
              ElementsAre("--allow-kept", "--allow-target", "/x", "--allow-target", "/y"));
}

TEST(XdiskPlan, MessagesNameXdisksOptions) {
  EXPECT_EQ(InXdiskWords("--file-size (workload.file_size): too small for --bsize (block_size); use fewer --qm"),
            "-C or -s: too small for -b; use fewer -M (and -A)");
  EXPECT_EQ(InXdiskWords("/x has 10 bytes, fewer than --file-size 1g: use a larger file, or a smaller --file-size"),
            "/x has 10 bytes, fewer than -s 1g: use a larger file, or a smaller -s");
  EXPECT_EQ(InXdiskWords("4 threads (--qm); use another --bsize, or --direct off"),
            "4 threads (-M, -A); use another -b, or leave -OD out");
  EXPECT_EQ(InXdiskWords("or --direct off (workload.direct)"), "or leave -OD out");
  EXPECT_EQ(InXdiskWords("the pass was not finished within --duration 1 day; use a longer --duration"),
            "the pass was not finished within 1 day; use smaller files or larger blocks (-b)");
  EXPECT_EQ(InXdiskWords("/x is not a file that --create left by this agent (.plimsoll-kept in its directory lists "
                         "those); to allow it, start the agent with --allow-target /x"),
            "/x was not created by -C of this agent (.plimsoll-kept in its directory lists those); to allow it, pass "
            "--allow-target; with --launch none, start the agent with --allow-target /x");
}

// The fields of a plan that XdiskPlan sets.
TEST(XdiskPlan, MessagesHaveNoKeysOfThePlan) {
  for (const char* const key : {"access", "block_size", "duration", "read", "warmup", "workload.create",
                                "workload.direct", "workload.file_size", "workload.files", "workload.one_pass",
                                "workload.pause", "workload.qm", "workload.share", "workload.sync"}) {
    const std::string name = PlanKey(key).text;
    EXPECT_THAT(name, AllOf(StartsWith("--"), EndsWith(absl::StrCat(" (", key, ")"))));
    EXPECT_THAT(InXdiskWords(name), AllOf(StartsWith("-"), Not(HasSubstr("--")), Not(HasSubstr(key)))) << name;
    EXPECT_EQ(InXdiskWords(name.substr(0, name.find(' '))), InXdiskWords(name));
  }
  EXPECT_EQ(InXdiskWords(PlanKey("workload.overwrite").text), "--overwrite");
}

TEST(XdiskNumbers, HaveThreeSignificantDigits) {
  for (const auto& [value, text] : std::vector<std::pair<double, std::string>>{{0, "0.0"},
                                                                               {0.001, "0.001"},
                                                                               {0.1414, "0.141"},
                                                                               {0.9996, "1.00"},
                                                                               {1.2, "1.20"},
                                                                               {7.384, "7.38"},
                                                                               {9.996, "10.0"},
                                                                               {10.62, "10.6"},
                                                                               {99.96, "100"},
                                                                               {139.9, "140"},
                                                                               {4388, "4388"},
                                                                               {521'258, "521258"}}) {
    EXPECT_EQ(FormatXdiskNumber(value), text);
  }
  EXPECT_EQ(FormatXdiskNumber(521'258, "de_DE"), "521.258");
  EXPECT_EQ(FormatXdiskNumber(3'222'111.44, "en_US"), "3,222,111");
  EXPECT_EQ(FormatXdiskNumber(0.141, "de_DE"), "0.141");
  EXPECT_EQ(FormatXdiskNumber(123, "en_US"), "123");
}

TEST(XdiskHeader, IsTheGuidesToTheByte) {
  const std::string columns =
      "BS Proc AIO read% IO Flag IO/s MB/s rMin-ms rMax-ms rAvg-ms WtAvg wMin-ms wMax-ms wAvg-ms WwAvg";
  EXPECT_EQ(RenderXdiskHeader(Read("-P")), columns + "\n");
  EXPECT_EQ(RenderXdiskHeader(Read("-P -V")), columns + "\n");
  const std::string shares = " us 1 2 4 8 16 32 64 128 256 512 ms 1 2 4 8 16 32 64 128 256 512 s 1";
  EXPECT_EQ(RenderXdiskHeader(Read("-P -V -xr")), columns + shares + "\n");
  EXPECT_EQ(RenderXdiskHeader(Read("-P -V -xs")), columns + shares + shares + "\n");
  EXPECT_EQ(RenderXdiskHeader(Read("-P -V -c -r0 -xw")),
            columns + " Device w/s wMB/s w_await f/s f_await %util" + shares + "\n");
}

TEST(XdiskHeader, HasTheDevicesReadsUnlessNothingIsRead) {
  const std::string with_reads = " Device r/s rMB/s r_await w/s wMB/s w_await f/s f_await %util\n";
  for (const char* const line : {"-P -V -c", "-P -V -c -r100", "-R -r50 -V -c -f /data/file1"}) {
    EXPECT_THAT(RenderXdiskHeader(Read(line)), EndsWith(with_reads)) << line;
  }
  for (const char* const line : {"-P -V -c -r0", "-R -V -c -f /data/file1", "-C 1G -V -c -f /data/file1"}) {
    EXPECT_THAT(RenderXdiskHeader(Read(line)), EndsWith(" Device w/s wMB/s w_await f/s f_await %util\n")) << line;
  }
}

}  // namespace
}  // namespace plimsoll
