#include "controller/plan/files_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

constexpr char kRun[] = "workload: {dir: /mnt/x, qm: 4, files: [F...]}\n";
constexpr char kPaths[] = "workload: {qm: 2, files: [/data/a, /data/b]}\n";

v1::TestPlan FilledFiles(const std::string& yaml) {
  v1::TestPlan plan = PlanOf(yaml);
  FillDefaults(plan);
  return plan;
}

std::vector<std::string> FilesProblemsOf(const std::string& yaml) {
  return ProblemsOf(PlanOf(yaml));
}

// The plan of kPaths with more keys of its workload and of itself.
std::string Paths(const std::string& workload, const std::string& more = "") {
  return absl::StrCat("workload: {qm: 2, files: [/data/a, /data/b], ", workload, "}\n", more);
}

TEST(FilesPlan, NumberedNamesAreAsManyAsThreads) {
  EXPECT_THAT(FilledFiles(kRun).workload().files(), ElementsAre("F000", "F001", "F002", "F003"));
  EXPECT_THAT(FilledFiles("workload: {files: [/d/f..., /d/g]}\n").workload().files(), ElementsAre("/d/f000", "/d/g"));
  EXPECT_THAT(FilledFiles("workload: {dir: /x, qm: [1, 2], files: [F...]}\n").workload().files(), SizeIs(2))
      << "the largest number of a sweep";
  const v1::TestPlan many = FilledFiles("workload: {dir: /x, qm: 1200, files: [F...]}\n");
  EXPECT_EQ(many.workload().files(999), "F999");
  EXPECT_EQ(many.workload().files(1000), "F1000");
}

TEST(FilesPlan, DefaultsAreThoseOfFilesAndNotOfExtents) {
  const v1::LogWorkload made = FilledFiles(kRun).workload();
  EXPECT_EQ(made.file_size_bytes(), 16U << 20U);
  EXPECT_EQ(made.share(), v1::FILE_SHARE_OWN);
  EXPECT_FALSE(made.has_num_files());
  EXPECT_FALSE(made.has_file_prefix());
  EXPECT_FALSE(made.one_pass());
  const v1::LogWorkload found = FilledFiles(kPaths).workload();
  EXPECT_EQ(found.dir(), "/data");
  EXPECT_FALSE(found.has_file_size_bytes()) << "files that exist have the size that they have";
  EXPECT_EQ(FilledFiles(Paths("file_size: 1m")).workload().file_size_bytes(), 1U << 20U);
  EXPECT_EQ(FilledFiles("workload: {files: [/a]}\n").workload().dir(), "/");
  const v1::TestPlan created = FilledFiles(Paths("create: true"));
  EXPECT_EQ(created.workload().file_size_bytes(), 16U << 20U);
  EXPECT_TRUE(created.workload().one_pass());
  EXPECT_FALSE(FilledFiles("workload: {dir: /x}\n").workload().has_share());
  EXPECT_FALSE(EffectiveWorkload(FilledFiles(kPaths), 0).has_num_files());
  EXPECT_FALSE(EffectiveWorkload(PlanOf(kPaths), 0).has_file_size_bytes());
}

TEST(FilesPlan, APassHasADayAndNoWarmUpUnlessThePlanSaysOtherwise) {
  const v1::TestPlan plan = FilledFiles("workload: {dir: /x, files: [F...], one_pass: true}\n");
  EXPECT_EQ(plan.duration_ns(), 24 * 3600 * kNsPerSecond);
  EXPECT_EQ(plan.warmup_ns(), 0);
  EXPECT_EQ(FilledFiles("workload: {dir: /x, files: [F...], one_pass: true}\nduration: 5s\n").duration_ns(),
            5 * kNsPerSecond);
  EXPECT_EQ(FilledFiles(kRun).duration_ns(), 10 * kNsPerSecond);
}

TEST(FilesPlan, AFilledPlanIsReadBackAsItIsAndCanBeRun) {
  for (const std::string& yaml :
       {std::string(kRun), std::string(kPaths), Paths("create: true"), Paths("overwrite: true, pause: 80"),
        Paths("share: ranges", "hosts: [a, b]\nread: 100\n"),
        std::string("workload: {files: [/d/'it is', /d/#b]}\n")}) {
    const v1::TestPlan filled = FilledFiles(yaml);
    EXPECT_THAT(ProblemsOf(filled), IsEmpty()) << yaml;
    v1::TestPlan again = PlanOf(WritePlan(filled));
    EXPECT_THAT(ProblemsOf(again), IsEmpty()) << yaml;
    FillDefaults(again);
    EXPECT_EQ(again.DebugString(), filled.DebugString()) << yaml;
  }
}

TEST(FilesPlan, ANameIsPlainOrAPathAndNeverOneFromTheCurrentDirectory) {
  const auto of_name = [](const std::string& name) {
    return FilesProblemsOf("workload: {dir: /x, files: ['" + name + "']}\n");
  };
  const std::string files = "--files (workload.files): ";
  EXPECT_THAT(of_name("sub/f"),
              ElementsAre(StartsWith(files + "'sub/f' is neither a plain name nor an absolute path")));
  EXPECT_THAT(of_name("./f"), ElementsAre(HasSubstr("is neither a plain name nor an absolute path")));
  EXPECT_THAT(of_name(".f"), ElementsAre(HasSubstr("is not a plain name: use 1 to 64 of")));
  EXPECT_THAT(of_name("..."), IsEmpty()) << "000 is a name";
  EXPECT_THAT(FilesProblemsOf("workload: {files: [/d/../f]}\n"),
              ElementsAre(HasSubstr("has '//', '.' or '..' in its path")));
  EXPECT_THAT(FilesProblemsOf("workload: {files: [/d/]}\n"),
              ElementsAre(HasSubstr("is a directory: name the file in it")));
  EXPECT_THAT(FilesProblemsOf("workload: {files: [/d/f, /d/f]}\n"), ElementsAre(HasSubstr("'/d/f' is listed twice")));
  EXPECT_THAT(FilesProblemsOf("workload: {files: [/d/f, g]}\n"),
              ElementsAre(HasSubstr("plain names and absolute paths are mixed")));
  EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, qm: 4096, files: [A..., B...]}\n"),
              ElementsAre(HasSubstr("8192 names; a plan has at most 4096")));
  std::string many;
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&many, i == 0 ? "" : ", ", "/d/", std::string(50, 'x'), i);
  EXPECT_THAT(FilesProblemsOf("workload: {files: [" + many + "]}\n"),
              ElementsAre(HasSubstr("a plan has at most 128k")));
}

TEST(FilesPlan, OptionsOfFilesNeedFilesAndThoseOfExtentsDoNotGoWithThem) {
  for (const std::string& key :
       std::vector<std::string>{"share: own", "create: true", "one_pass: true", "overwrite: true", "pause: 5"}) {
    EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, " + key + "}\n"),
                ElementsAre(HasSubstr("is for files: name them with --files (workload.files)")))
        << key;
    // What is equal to the plan's own value is no value of the host.
    if (key == "share: own") continue;
    EXPECT_THAT(FilesProblemsOf(absl::StrCat(kRun, "hosts: [{address: a, workload: {", key, "}}]\n")),
                ElementsAre(HasSubstr(" on a:7461: a host has no files of its own")))
        << key;
  }
  EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, create: false}\n"), IsEmpty())
      << "a switch that is off asks for nothing";
  EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, files: [F], num_files: 2}\n"),
              ElementsAre("--num-files (workload.num_files): with --files their names are their number; leave it out"));
  EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, files: [F], file_prefix: T}\n"),
              ElementsAre(HasSubstr("has its name")));
  EXPECT_THAT(FilesProblemsOf("workload: {qm_dirs: [/x], files: [F]}\n"),
              ElementsAre(HasSubstr("threads have no directories of their own")));
  EXPECT_THAT(FilesProblemsOf(Paths("dir: /other")), ElementsAre(HasSubstr("the run has no directory; leave it out")));
  EXPECT_THAT(FilesProblemsOf(Paths("dir: /data", "read: 100\n")), IsEmpty()) << "as a plan is written out";
  EXPECT_THAT(FilesProblemsOf("workload: {files: [F]}\n"), ElementsAre(StartsWith("--dir (workload.dir) is missing")));
}

TEST(FilesPlan, OnlyRunsAndSearchesUseFiles) {
  const std::string workload = "workload: {dir: /x, rate: 5, files: [F]}\n";
  const std::string why = " writes logs; leave it out, or measure the files with `plimsoll run`";
  EXPECT_THAT(FilesProblemsOf(workload + "ha: {pairs: [a+b]}\n"),
              ElementsAre("--files (workload.files): an HA drill" + why));
  EXPECT_THAT(FilesProblemsOf(workload + "accept: {}\ncriteria: ['avg<5ms']\n"),
              ElementsAre("--files (workload.files): an acceptance" + why));
  EXPECT_THAT(FilesProblemsOf(workload + "hosts: [a, b]\nplacement: [{qm: A, home: a, standby: b, rate: 5}]\n"),
              ElementsAre("--files (workload.files): a placement" + why + " and without the placement"));
  EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, files: [F]}\nlimit: {}\ncriteria: ['avg<5ms']\n"), IsEmpty());
}

TEST(FilesPlan, SharedFilesHavePathsAndEquallyManyThreads) {
  EXPECT_THAT(
      FilesProblemsOf("workload: {dir: /x, files: [F], share: all}\n"),
      ElementsAre(StartsWith("--share (workload.share) all: files that the run makes are in a directory of each")));
  EXPECT_THAT(
      FilesProblemsOf(Paths("share: ranges", "read: 100\nhosts: [a, {address: b, workload: {qm: 3}}]\n")),
      ElementsAre(HasSubstr("--qm (workload.qm) on b:7461: --share (workload.share) ranges divides each file")));
  EXPECT_THAT(FilesProblemsOf(Paths("share: all", "read: 100\nhosts: [a, {address: b, workload: {qm: 3}}]\n")),
              IsEmpty());
}

TEST(FilesPlan, CreateFillsNewFilesOnceInOneStep) {
  EXPECT_THAT(FilesProblemsOf(Paths("create: true")), IsEmpty());
  EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, files: [F], create: true}\n"),
              ElementsAre(HasSubstr("kept files need absolute paths")));
  EXPECT_THAT(FilesProblemsOf(Paths("create: true", "read: 50\n")),
              ElementsAre(HasSubstr("a new file has nothing to read")));
  EXPECT_THAT(FilesProblemsOf(Paths("create: true, share: all", "hosts: [a, b]\n")),
              ElementsAre(HasSubstr("one host creates the files, and then all use them")));
  const std::string once = "--create (workload.create) fills the files once, in one step; leave it out";
  EXPECT_THAT(FilesProblemsOf(Paths("create: true", "block_size: [4k, 8k]\n")), ElementsAre(HasSubstr(once)));
  EXPECT_THAT(FilesProblemsOf(Paths("create: true", "block_size_mix: 4k=50,8k=50\n")), ElementsAre(HasSubstr(once)));
  EXPECT_THAT(FilesProblemsOf(Paths("create: true", "repeat: 2\n")), ElementsAre(HasSubstr(once)));
  EXPECT_THAT(FilesProblemsOf("workload: {qm: [1, 2], files: [/data/a], create: true}\n"),
              ElementsAre(HasSubstr(once)));
}

TEST(FilesPlan, APassHasNoRateNoWarmUpAndNoRounds) {
  const auto pass = [](const std::string& workload, const std::string& more) {
    return FilesProblemsOf(Paths("one_pass: true, overwrite: true" + workload, more));
  };
  EXPECT_THAT(pass("", ""), IsEmpty());
  EXPECT_THAT(pass("", "repeat: 3\nblock_size: [4k, 8k]\naccess: random\nread: 50\n"), IsEmpty());
  EXPECT_THAT(pass("", "warmup: 1s\n"), ElementsAre(HasSubstr("--one-pass (workload.one_pass) has no warm-up")));
  EXPECT_THAT(pass(", rate: 5", ""), ElementsAre(HasSubstr("takes the blocks as fast as possible")));
  EXPECT_THAT(pass("", "duration: 10s\nuntil_steady: 10m\n"), ElementsAre(HasSubstr("ends with its pass")));
  EXPECT_THAT(pass("", "block_size_mix: 4k=50,8k=50\n"), ElementsAre(HasSubstr("give one size")));
  EXPECT_THAT(pass("", "limit: {}\ncriteria: ['avg<5ms']\nduration: 10s\n"),
              ElementsAre(HasSubstr("a search measures each load for a time")));
}

TEST(FilesPlan, APauseIsATimeOrAPercentage) {
  EXPECT_THAT(FilesProblemsOf(Paths("pause: 80", "read: 100\n")), IsEmpty());
  EXPECT_THAT(FilesProblemsOf(Paths("pause: 80, delay: 1ms")),
              ElementsAre(HasSubstr("give the pause as a time or in")));
  EXPECT_THAT(FilesProblemsOf(Paths("pause: 80, rate: 5")), ElementsAre(HasSubstr("a rate sets the pauses by itself")));
}

TEST(FilesPlan, OverwritingIsForFilesThatTheRunDoesNotMake) {
  EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, files: [F], overwrite: true}\n"),
              ElementsAre(HasSubstr("the run makes files with plain names itself")));
  EXPECT_THAT(FilesProblemsOf(kPaths), IsEmpty()) << "the agent knows which files it kept";
}

TEST(FilesPlan, EachThreadNeedsABlock) {
  EXPECT_THAT(
      FilesProblemsOf("workload: {dir: /x, files: [F], file_size: 64k}\nblock_size: 128k\n"),
      ElementsAre("--file-size (workload.file_size): F of 64k has no block of 128k (--bsize): use a larger file, "
                  "or smaller blocks"));
  EXPECT_THAT(
      FilesProblemsOf("workload: {dir: /x, qm: 5, files: [F], file_size: 16k}\n"),
      ElementsAre(HasSubstr("F of 16k has fewer than 5 blocks of 4k (--bsize), one for each of its 5 threads: use")));
  EXPECT_THAT(FilesProblemsOf("workload: {dir: /x, qm: 4, files: [F], file_size: 16k}\n"), IsEmpty());
  // Threads 0 and 1 are on the first file, the third one is on the second.
  v1::LogWorkload workload = FilledFiles("workload: {files: [/a, /b], qm: 3, share: ranges}\n").workload();
  EXPECT_EQ(TooSmallFor(workload, 0, 4 * 4096, 2, 4096), "");
  EXPECT_THAT(TooSmallFor(workload, 0, 3 * 4096, 2, 4096), HasSubstr("one for each of its 4 threads on all hosts"));
  EXPECT_EQ(TooSmallFor(workload, 1, 2 * 4096, 2, 4096), "");
  EXPECT_THAT(TooSmallFor(workload, 1, 4096, 2, 4096), HasSubstr("fewer than 2 blocks"));
}

TEST(FilesPlan, FilesWithoutAThreadAreNoted) {
  EXPECT_THAT(FilesNotes(FilledFiles("workload: {dir: /x, qm: 2, files: [A, B, C]}\n")),
              ElementsAre("--files (workload.files): 1 of 3 files are not used: there are 2 threads (--qm)"));
  EXPECT_THAT(FilesNotes(FilledFiles(kRun)), IsEmpty());
  EXPECT_THAT(UsedFiles(FilledFiles("workload: {dir: /x, qm: 2, files: [A, B, C]}\n").workload()),
              ElementsAre("A", "B"));
}

TEST(FilesPlan, ASearchOverThreadsSpreadsEachLoadOverTheFilesAlike) {
  const auto search = [](const std::string& workload, const std::string& over) {
    return FilesProblemsOf(
        absl::StrCat("workload: {dir: /x, ", workload, "}\nlimit: {over: ", over, "}\ncriteria: ['avg<5ms']\n"));
  };
  EXPECT_THAT(
      search("qm: 8, files: [A, B]", "qm"),
      ElementsAre("--files (workload.files): 2 files are fewer than --qm (workload.qm) 8, so that the lower loads "
                  "of --over qm would use only the first files: name one file, or one for each thread, or "
                  "search with --over rate"));
  EXPECT_THAT(search("qm: 8, files: [A, B]", "rate"), IsEmpty());
  EXPECT_THAT(search("qm: 8, files: [A]", "qm"), IsEmpty());
  EXPECT_THAT(search("qm: 8, files: [F...]", "qm"), IsEmpty());
}

// The size of files that are made is checked with the first file alone: it must not take long.
TEST(FilesPlan, ThousandsOfFilesOnSeveralHostsAreCheckedInTime) {
  std::string hosts;
  for (int host = 1; host <= 8; ++host) absl::StrAppend(&hosts, host == 1 ? "" : ", ", "h", host);
  EXPECT_THAT(FilesProblemsOf(absl::StrCat("workload: {dir: /x, qm: 4096, files: [F...]}\nhosts: [", hosts, "]\n")),
              IsEmpty());
}

TEST(FilesPlan, AListFileHasANameALine) {
  const auto error_of = [](const std::string& text) {
    return std::string(ReadFileNames(text, "list").status().message());
  };
  EXPECT_THAT(*ReadFileNames("/d/a\n/d/b,c\n", "list"), ElementsAre("/d/a", "/d/b,c"));
  EXPECT_THAT(*ReadFileNames("A...", "list"), ElementsAre("A..."));
  EXPECT_THAT(error_of("a\n\nb\n"), StartsWith("list:2: the line is empty"));
  EXPECT_THAT(error_of(""), StartsWith("list has no names"));
  EXPECT_THAT(error_of("a\r\n"), HasSubstr("list:1: "));
  std::string many;
  for (int i = 0; i < 4097; ++i) absl::StrAppend(&many, i, "\n");
  EXPECT_THAT(error_of(many), HasSubstr("4097 names; a plan has at most 4096"));
}

TEST(FilesPlan, ASyncAfterEachWriteIsMeasuredByItself) {
  EXPECT_TRUE(MeasuresParts(FilledFiles("workload: {dir: /x, sync: fsync}\n")));
  EXPECT_TRUE(MeasuresParts(FilledFiles("workload: {dir: /x}\nhosts: [a, {address: b, workload: {sync: fsync}}]\n")));
  EXPECT_FALSE(MeasuresParts(FilledFiles("workload: {dir: /x, sync: sync}\n")));
}

}  // namespace
}  // namespace plimsoll
