#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/cli/commands.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

class ExportCommandTest : public ::testing::Test {
 protected:
  ExportCommandTest() {
    std::mt19937_64 random(71);
    run_ = tests::TwoHosts(random);
    records_ = tests::MakeJournal(run_);
    tests::AddTraces(run_, records_, random);
  }
  void Write() { tests::WriteJournal(directory_.Sub("journal"), records_); }
  int Run(std::vector<std::string> args) {
    args.insert(args.begin(), {"export", directory_.path()});
    return RunAsIs(args);
  }
  int RunAsIs(const std::vector<std::string>& args) {
    err_.str("");
    CLI::App app("Plimsoll", "plimsoll");
    CommandLine line{{out_, err_}};
    AddExportCommand(app, line);
    return ParseAndRun(app, args, line);
  }

  tests::TempDirectory directory_;
  tests::SimRun run_;
  std::vector<v1::JournalRecord> records_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ExportCommandTest, WritesEveryFormatAndSaysWhere) {
  Write();
  for (const char* format : {"csv", "hlog", "fio-json"}) {
    out_.str("");
    EXPECT_EQ(Run({"--format", format}), static_cast<int>(Exit::kOk)) << format << err_.str();
    EXPECT_GT(out_.str().size(), 1'000U) << format;
    EXPECT_EQ(err_.str().empty(), format != std::string("hlog")) << err_.str();
    const std::string file = directory_.Sub(std::string("out.") + format);
    EXPECT_EQ(Run({"--format", format, "--output", file}), static_cast<int>(Exit::kOk));
    EXPECT_EQ(fs::file_size(file), out_.str().size()) << format;
    EXPECT_THAT(err_.str(), HasSubstr(" writes are in " + file));
  }
  EXPECT_EQ(Run({"--format", "fio-log"}), static_cast<int>(Exit::kOk));
  EXPECT_TRUE(fs::exists(directory_.Sub("fio-log/alpha_qm1_clat.1.log")));
  EXPECT_EQ(Run({"--format", "perfetto"}), static_cast<int>(Exit::kOk));
  EXPECT_GT(fs::file_size(directory_.Sub("trace.perfetto-trace")), 1'000U);
}

TEST_F(ExportCommandTest, AnIntervalLogOfSeveralStepsNamesItsTags) {
  Write();
  EXPECT_EQ(Run({"--format", "hlog"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(err_.str(),
            "plimsoll: each line has the tag of its step, step1 to step2, and of a single writer step1/HOST/qmN: "
            "HistogramLogProcessor needs one of them, such as -tag step1, or export one step with --step 1.\n");
  EXPECT_EQ(Run({"--format", "hlog", "--step", "2"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(err_.str(), "") << "its lines of all writers have no tag";
}

TEST_F(ExportCommandTest, TimesOfTheUnixEpochAreForFiosLogs) {
  Write();
  for (const char* format : {"csv", "hlog", "perfetto", "fio-json"}) {
    EXPECT_EQ(Run({"--format", format, "--log-unix-epoch"}), static_cast<int>(Exit::kWrong)) << format;
    EXPECT_THAT(err_.str(), HasSubstr("--log-unix-epoch is for fio-log")) << format;
  }
  EXPECT_EQ(Run({"--format", "fio-log", "--log-unix-epoch"}), static_cast<int>(Exit::kOk));
}

TEST_F(ExportCommandTest, ANumberOfSlowestOperationsIsForEvidence) {
  Write();
  for (const char* format : {"csv", "hlog", "perfetto", "fio-json"}) {
    EXPECT_EQ(Run({"--format", format, "--slowest", "5"}), static_cast<int>(Exit::kWrong)) << format;
    EXPECT_THAT(err_.str(), HasSubstr("--slowest is for evidence")) << format;
  }
  EXPECT_EQ(Run({"--format", "evidence", "--warmup"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("evidence holds the measured part only"));
  EXPECT_EQ(Run({"--format", "evidence", "--slowest", "5", "--step", "2"}), static_cast<int>(Exit::kOk)) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("# slowest: the 5 slowest writes (at most 5)"));
  EXPECT_THAT(out_.str(), HasSubstr("\r\nwrite,2,"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("\r\nwrite,1,")));
}

TEST_F(ExportCommandTest, ARunWithoutWritesToExportIsRefusedInEachFormatWithItsKind) {
  const auto expect_refused = [this](const std::string& why) {
    for (const char* format : {"csv", "fio-log", "hlog", "perfetto", "fio-json", "evidence"}) {
      EXPECT_EQ(Run({"--format", format}), static_cast<int>(Exit::kWrong)) << format;
      EXPECT_THAT(err_.str(), HasSubstr(why)) << format;
      EXPECT_EQ(out_.str(), "") << format;
    }
    EXPECT_FALSE(fs::exists(directory_.Sub("fio-log")));
    EXPECT_FALSE(fs::exists(directory_.Sub("trace.perfetto-trace")));
    fs::remove(directory_.Sub("journal"));
  };
  std::erase_if(records_, [](const v1::JournalRecord& record) {
    return record.has_step_begin() || record.has_frames() || record.has_step_done() || record.has_step_end();
  });
  Write();
  expect_refused(": a run of which no step began");
  records_.front().mutable_run_begin()->mutable_plan()->mutable_ha();
  Write();
  expect_refused(": an HA drill, whose instances write no steps: there are no writes to export");
  std::ofstream(directory_.Sub("accept.json")) << "{}";
  expect_refused(": the parts of `plimsoll accept`, not one run; name one of them, such as load-1 below it");
}

TEST_F(ExportCommandTest, AnUnknownFormatIsRefusedWithTheListOfThem) {
  Write();
  EXPECT_EQ(Run({"--format", "perfeto"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("unknown format 'perfeto'; formats are csv, fio-log, hlog, perfetto, fio-json"));
  EXPECT_THAT(err_.str(), HasSubstr("did you mean perfetto?"));
}

TEST_F(ExportCommandTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(Run({"--format", "csv"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("holds no results of a run"));
  Write();
  EXPECT_EQ(Run({"--format", "csv", "--step", "3"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("no step 3"));
  EXPECT_EQ(Run({"--format", "fio-json", "--warmup"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(Run({"--format", "fio-log", "--output", "-"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(Run({"--format", "csv", "--output", directory_.Sub("no/such")}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr(directory_.Sub("no/such")));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ExportCommandTest, TakesAJournalInsteadOfADirectory) {
  Write();
  EXPECT_EQ(RunAsIs({"export", directory_.Sub("journal"), "--format", "csv"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(RunAsIs({"export", directory_.Sub("journal"), "--format", "perfetto"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("--output"));
  out_.str("");
  EXPECT_EQ(RunAsIs({"export", directory_.Sub("journal"), "--format", "perfetto", "--output", "-"}),
            static_cast<int>(Exit::kOk));
  EXPECT_GT(out_.str().size(), 1'000U);
}

TEST_F(ExportCommandTest, ACutOffJournalGivesWhatIsWholeAndIsReported) {
  Write();
  fs::resize_file(directory_.Sub("journal"), fs::file_size(directory_.Sub("journal")) / 2);
  for (const char* format : {"csv", "hlog", "fio-json"}) {
    out_.str("");
    EXPECT_EQ(Run({"--format", format}), static_cast<int>(Exit::kInconclusive)) << format;
    EXPECT_THAT(err_.str(), HasSubstr("is cut off at byte"));
    EXPECT_GT(out_.str().size(), 1'000U) << format;
  }
}

TEST_F(ExportCommandTest, UntracedWritesAreCountedAndNoFault) {
  for (v1::JournalRecord& record : records_) {
    if (!record.has_frames()) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      frame.clear_trace();
      frame.set_untraced_writes(frame.latency().count());
    }
  }
  Write();
  EXPECT_EQ(Run({"--format", "csv"}), static_cast<int>(Exit::kOk));
  EXPECT_THAT(err_.str(), HasSubstr("writes were not traced and are not exported"));
  EXPECT_EQ(out_.str(), "timeline_ns,utc,host,qm,step,seq,latency_ns,bytes,error_ns\r\n");
  EXPECT_EQ(Run({"--format", "hlog", "--step", "1"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(err_.str(), "") << "it needs no traces";
}

TEST_F(ExportCommandTest, DroppedTracesMakeTheExportInconclusive) {
  v1::TestPlan& plan = *records_.front().mutable_run_begin()->mutable_plan();
  plan.set_trace(v1::TOGGLE_ON);
  plan.set_trace_limit_bytes(1 << 30);
  // Of the second step, whose measured part has more frames than one.
  uint64_t dropped = 0;
  for (v1::JournalRecord& record : records_) {
    if (!record.has_frames() || dropped > 0) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.step() == 0 || frame.first_interval() < 0) continue;
      frame.clear_trace();
      frame.set_untraced_writes(frame.latency().count());
      dropped += frame.latency().count();
    }
  }
  ASSERT_GT(dropped, 0U);
  Write();
  EXPECT_EQ(Run({"--format", "csv"}), static_cast<int>(Exit::kInconclusive));
  EXPECT_THAT(err_.str(), HasSubstr(absl::StrCat("the traces of ", FormatCount(dropped), " of them were dropped")));
  EXPECT_EQ(Run({"--format", "csv", "--step", "1"}), static_cast<int>(Exit::kOk)) << "of another step";
  EXPECT_EQ(Run({"--format", "hlog"}), static_cast<int>(Exit::kOk)) << "it needs no traces";
  // The limit was asked for.
  plan.set_trace_limit_bytes(1);
  fs::remove(directory_.Sub("journal"));
  Write();
  EXPECT_EQ(Run({"--format", "csv"}), static_cast<int>(Exit::kOk));
  EXPECT_THAT(err_.str(), HasSubstr("were not traced and are not exported"));
  // So was a run without traces.
  plan.set_trace(v1::TOGGLE_OFF);
  plan.set_trace_limit_bytes(1 << 30);
  fs::remove(directory_.Sub("journal"));
  Write();
  EXPECT_EQ(Run({"--format", "csv"}), static_cast<int>(Exit::kOk));
}

TEST_F(ExportCommandTest, TheJournalIsNotReplaced) {
  Write();
  const auto size = fs::file_size(directory_.Sub("journal"));
  fs::create_symlink("journal", directory_.Sub("link"));
  for (const char* output : {"journal", "link"}) {
    EXPECT_EQ(Run({"--format", "csv", "--output", directory_.Sub(output)}), static_cast<int>(Exit::kWrong));
    EXPECT_THAT(err_.str(), HasSubstr("is the journal itself: name another file with --output"));
    EXPECT_EQ(fs::file_size(directory_.Sub("journal")), size);
  }
}

TEST_F(ExportCommandTest, AStepWhoseBeginningIsRefusedIsLeftOutAndReported) {
  for (v1::JournalRecord& record : records_) {
    if (record.has_step_begin() && record.step_begin().step() == 1) record.mutable_step_begin()->set_start_ns(-1);
  }
  Write();
  for (const char* format : {"csv", "fio-log", "perfetto", "hlog", "fio-json"}) {
    EXPECT_EQ(Run({"--format", format}), static_cast<int>(Exit::kInconclusive)) << format;
    EXPECT_THAT(err_.str(), HasSubstr("writes of step 2, whose beginning is not in the journal")) << format;
  }
}

TEST_F(ExportCommandTest, AStepThatIsRefusedForTheSecondTimeChangesNothing) {
  std::optional<v1::JournalRecord> again;
  std::vector<v1::JournalRecord> records;
  for (const v1::JournalRecord& record : records_) {
    if (record.has_run_end()) {
      // The first step is long over.
      again->mutable_step_begin()->set_start_ns(7);
      for (int64_t& start_ns : *again->mutable_step_begin()->mutable_host_start_ns()) start_ns = 9;
      records.push_back(*again);
    }
    records.push_back(record);
    if (record.has_step_begin() && !again) again = record;
  }
  ASSERT_EQ(records.size(), records_.size() + 1);
  records_ = records;
  Write();
  EXPECT_EQ(RunAsIs({"export", directory_.Sub("journal"), "--format", "fio-log", "--output", directory_.Sub("again")}),
            static_cast<int>(Exit::kOk));
  std::ifstream log(directory_.Sub("again/alpha_qm1_clat.1.log"));
  uint64_t first_ms = UINT64_MAX;
  log >> first_ms;
  EXPECT_LT(first_ms, 1'000U) << "times are from the first step's start";
}

TEST_F(ExportCommandTest, AnOutputThatGoesAwayIsReported) {
  Write();
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(Run({"--format", "csv"}), static_cast<int>(Exit::kInconclusive));
  EXPECT_EQ(err_.str(), "plimsoll: standard output could not be written\n");
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(Run({"--format", "csv", "--output", "/dev/full"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("/dev/full: No space left on device"));
}

TEST_F(ExportCommandTest, NamesThatNobodySpelledOutAreNotFollowedWhereTheyAreLinks) {
  Write();
  const tests::TempDirectory elsewhere;
  fs::create_directory(elsewhere.Sub("logs"));
  std::ofstream(elsewhere.Sub("mine")) << "mine";
  fs::create_directory_symlink(elsewhere.Sub("logs"), directory_.Sub("fio-log"));
  fs::create_symlink(elsewhere.Sub("mine"), directory_.Sub("trace.perfetto-trace"));
  EXPECT_EQ(Run({"--format", "fio-log"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("fio-log is a symbolic link"));
  EXPECT_TRUE(fs::is_empty(elsewhere.Sub("logs")));
  EXPECT_EQ(Run({"--format", "perfetto"}), static_cast<int>(Exit::kOk)) << err_.str();
  EXPECT_EQ(fs::file_size(elsewhere.Sub("mine")), 4U);
  EXPECT_FALSE(fs::is_symlink(directory_.Sub("trace.perfetto-trace")));
  EXPECT_EQ(Run({"--format", "fio-log", "--output", directory_.Sub("fio-log")}), static_cast<int>(Exit::kOk))
      << "a link that was spelled out: " << err_.str();
  EXPECT_FALSE(fs::is_empty(elsewhere.Sub("logs")));
}

}  // namespace
}  // namespace plimsoll
