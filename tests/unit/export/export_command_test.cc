#include "controller/cli/export_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "tests/temp_directory.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ExportCommandTest : public ::testing::Test {
 protected:
  ExportCommandTest() {
    std::mt19937_64 random(71);
    run_ = testing::TwoHosts(random);
    records_ = testing::MakeJournal(run_);
    testing::AddTraces(run_, records_, random);
  }
  void Write() { testing::WriteJournal(directory_.Sub("journal"), records_); }
  int Run(std::vector<std::string> args) {
    args.insert(args.begin(), {"export", directory_.path()});
    return RunAsIs(args);
  }
  int RunAsIs(const std::vector<std::string>& args) {
    err_.str("");
    CLI::App app("Plimsoll", "plimsoll");
    CommandLine line{out_, err_, {}};
    AddExportCommand(app, line);
    return ParseAndRun(app, args, line);
  }

  testing::TempDirectory directory_;
  testing::SimRun run_;
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
    EXPECT_EQ(err_.str(), "");
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

TEST_F(ExportCommandTest, AnUnknownFormatIsRefusedWithTheListOfThem) {
  Write();
  EXPECT_EQ(Run({"--format", "perfeto"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("unknown format 'perfeto'; formats are csv, fio-log, hlog, perfetto, fio-json"));
  EXPECT_THAT(err_.str(), HasSubstr("did you mean perfetto?"));
}

TEST_F(ExportCommandTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(Run({"--format", "csv"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("journal: No such file"));
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

TEST_F(ExportCommandTest, ACutOffJournalGivesWhatIsWholeAndIsTold) {
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
  EXPECT_THAT(err_.str(), HasSubstr("writes are in no trace and not here"));
  EXPECT_EQ(out_.str(), "timeline_ns,utc,host,qm,step,seq,latency_ns,bytes,error_ns\r\n");
  EXPECT_EQ(Run({"--format", "hlog"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(err_.str(), "") << "it needs no traces";
}

TEST_F(ExportCommandTest, AnOutputThatGoesAwayIsTold) {
  Write();
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(Run({"--format", "csv"}), static_cast<int>(Exit::kInconclusive));
  EXPECT_EQ(err_.str(), "plimsoll: standard output could not be written\n");
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(Run({"--format", "csv", "--output", "/dev/full"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("/dev/full: No space left on device"));
}

}  // namespace
}  // namespace plimsoll
