// The journal of a small run of the programs themselves, cut at every byte.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/live_stats.h"
#include "controller/export/formats.h"
#include "controller/journal/results.h"
#include "controller/page/report_page.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/junit_xml.h"
#include "controller/render/mqldt.h"
#include "controller/render/text.h"
#include "tests/report_sums.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr char kJournal[] = PLIMSOLL_SOURCE_DIR "/tests/data/journals/format1-protocol2/journal";
constexpr size_t kMagicBytes = 8;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class JournalCutTest : public ::testing::Test {
 protected:
  // The report of the file, as `plimsoll report` makes it.
  v1::Report Report() {
    Analyzer analyzer;
    sums_ = {};
    sums_.Watch(analyzer);
    records_.clear();
    const auto end = ReadJournal(path_, [&](const v1::JournalRecord& record) {
      analyzer.Add(record);
      records_.push_back(record);
    });
    EXPECT_THAT(end, IsOk());
    if (end->trailing_bytes > 0) analyzer.AddDamage("The journal is cut off at byte " + FormatCount(end->bytes) + ".");
    return analyzer.Finish();
  }

  // Every output that is made of a report, or of records.
  void MakeOutputs(const v1::Report& report) {
    EXPECT_FALSE(RenderText(report, 40).empty());
    EXPECT_FALSE(RenderJson(report).empty());
    EXPECT_FALSE(RenderCsv(report).empty());
    EXPECT_FALSE(RenderTimelineCsv(report).empty());
    EXPECT_FALSE(RenderMqldtCsv(report).empty());
    EXPECT_FALSE(RenderReportPage(report).empty());
    EXPECT_FALSE(RenderReportJUnit(report).empty());
    EXPECT_FALSE(RenderMarkdown(report, "results").empty());
    Analyzer live;
    uint64_t writes = 0;
    live.SetIntervalListener(kNsPerSecond, [&writes](const IntervalRow& row) { writes += row.interval.writes; });
    for (const v1::JournalRecord& record : records_) live.Add(record);
    const LiveSnapshot shown = live.Live(records_.empty() ? 0 : records_.back().time_ns(), -1);
    EXPECT_LE(shown.seconds.size(), 600);
    EXPECT_LE(live.LiveCriteria().size(), 100);
    live.Finish();
    EXPECT_EQ(writes, sums_.writes());
  }

  // Every export of the file.
  void MakeExports() {
    const auto index = RunIndex::Read(path_);
    if (!index.ok()) {
      EXPECT_THAT(index, StatusIs(absl::StatusCode::kInvalidArgument, path_));
      EXPECT_TRUE(records_.empty());
      return;
    }
    const auto exported = [&](const auto& run) -> uint64_t {
      auto writes = WriteStream::Open(**index, {});
      EXPECT_THAT(writes, IsOk());
      std::ostringstream text;
      const std::unique_ptr<Output> output = MakeStreamOutput(text);
      const absl::StatusOr<uint64_t> done = run(**writes, *output);
      EXPECT_THAT(done, IsOk());
      EXPECT_THAT(output->Finish(), IsOk());
      return done.ok() ? *done : 0;
    };
    EXPECT_EQ(exported([&](WriteStream& writes, Output& output) { return ExportCsv(**index, {}, writes, output); }),
              sums_.writes());
    exported([&](WriteStream& writes, Output& output) { return ExportPerfetto(**index, writes, output); });
    exported([&](WriteStream&, Output& output) { return ExportHlog(**index, {}, output); });
    exported([&](WriteStream&, Output& output) { return ExportFioJson(**index, {}, output); });
    exported([&](WriteStream& writes, Output&) {
      return ExportFioLogs(**index, {}, writes, directory_.path() + "/fio-log");
    });
    std::filesystem::remove_all(directory_.path() + "/fio-log");
  }

  tests::TempDirectory directory_;
  const std::string path_ = directory_.path() + "/journal";
  tests::ReportSums sums_;
  std::vector<v1::JournalRecord> records_;
};

TEST_F(JournalCutTest, CutAtEveryByteItGivesTheReportOfWhatIsWholeOrAClearError) {
  const std::string whole = ReadFile(kJournal);
  ASSERT_GT(whole.size(), 1'000U);
  std::ofstream(path_, std::ios::binary) << whole;
  const uint64_t all_writes = (Report(), sums_.writes());
  ASSERT_GT(all_writes, 0U);
  const size_t all_records = records_.size();

  size_t records = all_records;
  uint64_t writes = all_writes;
  std::string told;
  for (size_t cut = whole.size(); cut-- > 0;) {
    SCOPED_TRACE(cut);
    std::filesystem::resize_file(path_, cut);
    if (cut < kMagicBytes) {
      EXPECT_THAT(ReadJournal(path_, [](const v1::JournalRecord&) { FAIL(); }),
                  StatusIs(absl::StatusCode::kInvalidArgument, "not a journal of plimsoll (or holds nothing yet)"));
      continue;
    }
    const v1::Report report = Report();
    EXPECT_EQ(sums_.Problem(report), "");
    EXPECT_NE(report.verdict().outcome(), v1::OUTCOME_PASS);
    EXPECT_EQ(report.run().state(), v1::RUN_STATE_CUT_OFF);
    // A cut takes away records, one after the other, and never adds writes.
    EXPECT_LE(records_.size(), records);
    EXPECT_GE(records_.size() + 1, records);
    EXPECT_LE(sums_.writes(), writes);
    records = records_.size();
    writes = sums_.writes();
    // Outputs are functions of the report: within a record every cut has the same.
    const std::string now = report.SerializeAsString();
    if (now != told) {
      MakeOutputs(report);
      MakeExports();
    }
    told = now;
    if (HasFailure()) return;
  }
  EXPECT_EQ(records, 0U);
}

}  // namespace
}  // namespace plimsoll
