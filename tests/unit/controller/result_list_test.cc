// The list of results: what each directory records of itself is shown, what is damaged or unfinished never has a
// verdict, and `latest~N` names the N-th of the list.
#include "controller/cli/result_list.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/journal/results.h"
#include "controller/render/json.h"
#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/report.pb.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFirstBegin = 1'795'202'411;

std::string PathOf(const absl::StatusOr<std::string>& resolved) {
  return resolved.ok() ? *resolved : std::string(resolved.status().message());
}

class ResultListTest : public ::testing::Test {
 protected:
  ResultListTest() : before_(fs::current_path()) { fs::current_path(directory_.path()); }
  ~ResultListTest() override { fs::current_path(before_); }

  void Put(const std::string& result, const std::string& file, const std::string& text) {
    directory_.MakeDirectory(absl::StrCat(kResultsDirectory, "/", result));
    std::ofstream(At(result, file), std::ios::binary) << text;
  }
  std::string At(const std::string& result, const std::string& file) const {
    return directory_.Sub(absl::StrCat(kResultsDirectory, "/", result, "/", file));
  }

  static v1::Report Passed(const std::string& title, int64_t begin_s) {
    v1::Report report;
    report.set_format(1);
    report.mutable_run()->set_id("7f3a21");
    report.mutable_run()->set_name(title);
    report.mutable_run()->set_hosts(3);
    report.mutable_run()->mutable_begin()->set_seconds(begin_s);
    report.mutable_verdict()->set_outcome(v1::OUTCOME_PASS);
    return report;
  }

  std::vector<ListedResult> List() {
    absl::StatusOr<std::vector<ListedResult>> results = ListResults(kResultsDirectory);
    EXPECT_THAT(results, IsOk());
    return results.ok() ? *std::move(results) : std::vector<ListedResult>();
  }
  ListedResult OnlyOne() {
    const std::vector<ListedResult> results = List();
    EXPECT_EQ(results.size(), 1U);
    return results.empty() ? ListedResult() : results.front();
  }

  TempDirectory directory_;

 private:
  const fs::path before_;
};

TEST_F(ResultListTest, ShowsWhatARunRecordsOfItself) {
  v1::Report report = Passed("SAN, new firmware", kFirstBegin);
  report.mutable_verdict()->set_scope("on one kernel");
  report.mutable_plan()->mutable_ha();
  Put("san", "report.json", RenderJson(report));
  const ListedResult result = OnlyOne();
  EXPECT_EQ(result.state, ResultState::kComplete);
  EXPECT_EQ(result.name, "san");
  EXPECT_EQ(result.path, "plimsoll-results/san");
  EXPECT_EQ(result.outcome, "pass");
  EXPECT_EQ(result.scope, "on one kernel");
  EXPECT_EQ(result.title, "SAN, new firmware");
  EXPECT_EQ(result.command, "ha");
  EXPECT_EQ(result.run_id, "7f3a21");
  EXPECT_EQ(result.hosts, 3U);
  EXPECT_EQ(result.begin_s, kFirstBegin);
}

TEST_F(ResultListTest, AReportWhoseVerdictIsLongerThanTheFirstPartIsReadToItsPlan) {
  v1::Report report = Passed("long", kFirstBegin);
  for (int i = 0; i < 20'000; ++i) report.mutable_verdict()->add_reasons(absl::StrCat("a reason of some length, ", i));
  report.mutable_plan()->mutable_limit();
  Put("long", "report.json", RenderJson(report));
  EXPECT_EQ(OnlyOne().state, ResultState::kComplete);
  EXPECT_EQ(OnlyOne().command, "limit");
}

TEST_F(ResultListTest, AReportThatIsCutOffAnywhereHasNoVerdict) {
  v1::Report report = Passed("cut", kFirstBegin);
  report.mutable_plan()->mutable_hosts()->Add();
  report.add_notes("behind the plan");
  const std::string text = RenderJson(report);
  // Without its last line break it is whole.
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    Put("cut", "report.json", text.substr(0, length));
    ASSERT_EQ(OnlyOne().state, ResultState::kUnreadable) << text.substr(0, length);
    ASSERT_EQ(OnlyOne().outcome, "");
  }
  Put("cut", "report.json", text);
  EXPECT_EQ(OnlyOne().state, ResultState::kComplete);
}

TEST_F(ResultListTest, WhatIsNotAReportIsUnreadableAndSaysWhy) {
  Put("one", "report.json", "[]");
  EXPECT_EQ(OnlyOne().state, ResultState::kUnreadable);
  Put("one", "report.json", std::string(1'000'000, '['));
  EXPECT_EQ(OnlyOne().reason, "report.json is not a result of plimsoll");
  Put("one", "report.json", "{\"format\": 1, \"run\": nonsense}");
  EXPECT_THAT(OnlyOne().reason, StartsWith("report.json is not JSON at byte "));
  v1::Report report = Passed("newer", kFirstBegin);
  report.set_format(17);
  Put("one", "report.json", RenderJson(report));
  EXPECT_EQ(OnlyOne().reason, "report.json has format 17, which this version does not read");
  fs::remove(At("one", "report.json"));
  fs::create_directory(At("one", "report.json"));
  EXPECT_EQ(OnlyOne().state, ResultState::kUnreadable);
}

TEST_F(ResultListTest, AJournalWithoutAReportIsUnfinished) {
  directory_.MakeDirectory("plimsoll-results/cut");
  {
    const auto journal = JournalWriter::Create(At("cut", "journal"));
    ASSERT_THAT(journal, IsOk());
    v1::JournalRecord record;
    record.mutable_run_begin()->mutable_plan()->set_name("before the crash");
    record.mutable_run_begin()->set_wall_clock_ns(kFirstBegin * 1'000'000'000);
    ASSERT_THAT((*journal)->Append(record), IsOk());
    ASSERT_THAT((*journal)->Flush(), IsOk());
  }
  const ListedResult result = OnlyOne();
  EXPECT_EQ(result.state, ResultState::kUnfinished);
  EXPECT_EQ(result.title, "before the crash");
  EXPECT_EQ(result.begin_s, kFirstBegin);
  EXPECT_EQ(result.outcome, "");
  Put("cut", "journal", "not a journal");
  EXPECT_EQ(OnlyOne().state, ResultState::kUnreadable);
}

TEST_F(ResultListTest, AnAcceptanceThatHasNotEndedIsUnfinished) {
  v1::AcceptReport report;
  report.set_format(1);
  report.set_outcome(v1::OUTCOME_PASS);
  report.mutable_begin()->set_seconds(kFirstBegin);
  report.add_hosts()->set_label("node1");
  report.add_hosts()->set_label("node2");
  report.mutable_plan()->mutable_accept();
  Put("acceptance", "accept.json", RenderJson(report));
  EXPECT_EQ(OnlyOne().state, ResultState::kUnfinished);
  EXPECT_EQ(OnlyOne().outcome, "");
  report.set_ended(true);
  Put("acceptance", "accept.json", RenderJson(report));
  EXPECT_EQ(OnlyOne().state, ResultState::kComplete);
  EXPECT_EQ(OnlyOne().outcome, "pass");
  EXPECT_EQ(OnlyOne().command, "accept");
  EXPECT_EQ(OnlyOne().hosts, 2U);
}

TEST_F(ResultListTest, OtherDirectoriesAndFilesAreLeftOut) {
  directory_.MakeDirectory("plimsoll-results/empty");
  std::ofstream(directory_.Sub("plimsoll-results/notes.txt")) << "{}";
  EXPECT_THAT(List(), IsEmpty());
  EXPECT_FALSE(ListResults("missing").ok());
  Put("run", "report.json", RenderJson(Passed("", kFirstBegin)));
  EXPECT_THAT(std::string(ListResults("plimsoll-results/run").status().message()), HasSubstr("is a result itself"));
}

TEST_F(ResultListTest, LatestNamesResultsFromTheNewestOn) {
  Put("b-oldest", "report.json", RenderJson(Passed("", kFirstBegin)));
  Put("a-newest", "report.json", RenderJson(Passed("", kFirstBegin + 100)));
  // Its name has the time, and its file shows nothing.
  Put("20261120T192111Z-7f3a21", "report.json", "");
  EXPECT_EQ(PathOf(ResolveResult("latest")), "plimsoll-results/a-newest");
  EXPECT_EQ(PathOf(ResolveResult("latest~0")), "plimsoll-results/a-newest");
  EXPECT_EQ(PathOf(ResolveResult("latest~2")), "plimsoll-results/b-oldest");
  EXPECT_EQ(PathOf(ResolveResult("latest~2/load-1")), "plimsoll-results/b-oldest/load-1");
  EXPECT_EQ(PathOf(ResolveResult("latest~3")), "latest~3: plimsoll-results holds 3 results; the oldest is latest~2");
  EXPECT_EQ(PathOf(ResolveResults("latest~2,other,latest")),
            "plimsoll-results/b-oldest,other,plimsoll-results/a-newest");
}

TEST_F(ResultListTest, OnlyANameThatIsNotThereIsResolved) {
  EXPECT_THAT(PathOf(ResolveResult("latest")), HasSubstr("there are no results"));
  for (const char* other : {"latest~", "latest~x", "latest-1", "latests", "./latest", "results/latest"}) {
    EXPECT_EQ(PathOf(ResolveResult(other)), other);
  }
  directory_.MakeDirectory("latest");
  EXPECT_EQ(PathOf(ResolveResult("latest")), "latest");
}

}  // namespace
}  // namespace plimsoll
