#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "absl/strings/str_split.h"
#include "common/protocol.h"
#include "controller/export/formats.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/hdr_decode.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll {
namespace {

struct LogLine {
  std::string tag;
  double from_s = 0;
  double length_s = 0;
  double max_ms = 0;
  tests::DecodedHdr hdr;
  uint64_t count() const {
    uint64_t sum = 0;
    for (const auto& [index, n] : hdr.counts) sum += n;
    return sum;
  }
};

class HlogExportTest : public ::testing::Test {
 protected:
  std::vector<LogLine> Export(const tests::SimRun& run, const WriteFilter& filter = {}) {
    const std::string path = directory_.Sub("journal" + std::to_string(++journals_));
    tests::WriteJournal(path, tests::MakeJournal(run));
    auto index = RunIndex::Read(path);
    EXPECT_THAT(index, IsOk());
    index_ = std::move(index).value();
    std::ostringstream text;
    auto output = MakeStreamOutput(text);
    const auto writes = ExportHlog(*index_, filter, *output);
    EXPECT_THAT(writes, IsOk());
    writes_ = writes.value_or(0);
    EXPECT_THAT(output->Finish(), IsOk());
    return Parse(text.str());
  }
  std::vector<LogLine> Parse(const std::string& text) {
    std::vector<LogLine> lines;
    std::istringstream stream(text);
    std::string line;
    while (std::getline(stream, line)) {
      if (line[0] == '#' || line[0] == '"') {
        head_.push_back(line);
        continue;
      }
      LogLine parsed;
      std::vector<std::string> cells = absl::StrSplit(line, ',');
      if (cells[0].rfind("Tag=", 0) == 0) {
        parsed.tag = cells[0].substr(4);
        cells.erase(cells.begin());
      }
      EXPECT_EQ(cells.size(), 4U) << line;
      parsed.from_s = std::stod(cells[0]);
      parsed.length_s = std::stod(cells[1]);
      parsed.max_ms = std::stod(cells[2]);
      parsed.hdr = tests::DecodeHdrLine(cells[3]);
      EXPECT_EQ(parsed.hdr.error, "");
      lines.push_back(parsed);
    }
    return lines;
  }
  // Counts by index over the lines of a tag.
  static std::map<uint32_t, uint64_t> Sum(const std::vector<LogLine>& lines, const std::string& tag) {
    std::map<uint32_t, uint64_t> sum;
    for (const LogLine& line : lines) {
      if (line.tag != tag) continue;
      for (const auto& [index, count] : line.hdr.counts) sum[index] += count;
    }
    return sum;
  }
  // Time of a write, or of one of its parts.
  static uint64_t TimeNs(const tests::SimHost& host, const tests::SimWrite& write, uint64_t number,
                         uint32_t operation) {
    const int64_t sync_ns = operation == kMainOperation ? 0 : host.sync_ns(number);
    return static_cast<uint64_t>(operation == kSyncOperation ? sync_ns : write.latency_ns - sync_ns);
  }
  // What the times of the writes, or of one of their parts, make of it.
  static std::map<uint32_t, uint64_t> Wanted(const tests::SimRun& run, uint32_t step, bool warmup, int host, int qm,
                                             uint32_t operation = kMainOperation) {
    std::map<uint32_t, uint64_t> counts;
    for (size_t h = 0; h < run.hosts.size(); ++h) {
      for (size_t q = 0; q < run.hosts[h].steps[step].size(); ++q) {
        if (host >= 0 && (static_cast<int>(h) != host || static_cast<int>(q) != qm - 1)) continue;
        uint64_t number = 0;
        for (const tests::SimWrite& write : run.hosts[h].steps[step][q]) {
          const uint64_t time_ns = TimeNs(run.hosts[h], write, ++number, operation);
          if ((write.end_ns() < 0) == warmup) ++counts[HistogramLayout::IndexOf(time_ns)];
        }
      }
    }
    return counts;
  }

  tests::TempDirectory directory_;
  int journals_ = 0;
  std::unique_ptr<RunIndex> index_;
  std::vector<std::string> head_;
  uint64_t writes_ = 0;
};

TEST_F(HlogExportTest, HoldsEveryWriteBucketForBucket) {
  constexpr uint64_t kSeed = 41;
  std::mt19937_64 random(kSeed);
  for (uint32_t coalesce : {1U, 3U, 5U}) {
    tests::SimRun run = tests::TwoHosts(random);
    run.hosts[1].coalesce = coalesce;
    const std::vector<LogLine> lines = Export(run, {std::nullopt, true});
    uint64_t writes = 0;
    for (uint32_t step = 0; step < 2; ++step) {
      const std::string tag = "step" + std::to_string(step + 1);
      EXPECT_EQ(Sum(lines, tag), Wanted(run, step, false, -1, 0));
      EXPECT_EQ(Sum(lines, tag + "/alpha/qm2"), Wanted(run, step, false, 0, 2));
      EXPECT_EQ(Sum(lines, tag + "/beta/qm1"), Wanted(run, step, false, 1, 1));
      EXPECT_EQ(Sum(lines, tag + "/warmup"), Wanted(run, step, true, -1, 0));
      EXPECT_EQ(Sum(lines, tag + "/warmup/alpha/qm1"), Wanted(run, step, true, 0, 1));
      writes += index_->report().steps(static_cast<int>(step)).scopes().rbegin()->latency().count();
      writes += index_->report().steps(static_cast<int>(step)).scopes().rbegin()->warmup_writes();
    }
    EXPECT_EQ(writes_, writes);
  }
}

TEST_F(HlogExportTest, HasOneLineASecondInTheOrderOfTime) {
  std::mt19937_64 random(42);
  tests::SimRun run = tests::TwoHosts(random);
  const std::vector<LogLine> lines = Export(run, {0, false});
  // Of one step, lines of all writers have no tag: 2.3 s make three lines; what was in flight at the end makes a
  // fourth.
  std::vector<LogLine> all;
  for (const LogLine& line : lines) {
    if (line.tag.empty()) all.push_back(line);
  }
  ASSERT_EQ(all.size(), 4U);
  const double begin_s = all[0].from_s;
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(all[i].from_s, begin_s + (i < 3 ? static_cast<double>(i) : 2.3), 1e-3);
  EXPECT_DOUBLE_EQ(all[0].length_s, 1);
  EXPECT_DOUBLE_EQ(all[2].length_s, 0.3);
  EXPECT_GT(all[3].count(), 0U);
  EXPECT_LE(all[3].length_s, 0.021);
  for (size_t i = 1; i < lines.size(); ++i) EXPECT_GE(lines[i].from_s, lines[i - 1].from_s) << i;
  // A line's count is that of the report's second.
  const v1::SeriesReport& series = tests::Series(index_->report().steps(0), v1::SCOPE_KIND_CLUSTER);
  for (int row = 0; row < series.writes_size(); ++row) {
    EXPECT_EQ(all[static_cast<size_t>(row)].count(), series.writes(row));
    EXPECT_NEAR(all[static_cast<size_t>(row)].max_ms, static_cast<double>(series.latency_max_ns(row)) / 1e6, 5e-4);
  }
}

TEST_F(HlogExportTest, OfAHostWithWideFramesHasLongLinesAndTheOthersKeepTheirSeconds) {
  std::mt19937_64 random(43);
  tests::SimRun run = tests::TwoHosts(random);
  run.hosts[1].coalesce = 6;
  const std::vector<LogLine> lines = Export(run, {0, false});
  std::map<std::string, std::vector<double>> lengths;
  for (const LogLine& line : lines) lengths[line.tag].push_back(line.length_s);
  // Intervals 0 to 5 and 6 to 9 meet inside the second second.
  EXPECT_EQ(lengths["beta/qm1"][0], 2.3);
  EXPECT_EQ(lengths["alpha/qm1"][0], 1);
  EXPECT_EQ(lengths[""][0], 2.3);
}

TEST_F(HlogExportTest, OfAHostThatIsLostEndsWithItsData) {
  std::mt19937_64 random(44);
  tests::SimRun run = tests::TwoHosts(random);
  run.hosts[1].lost_after_ns = kNsPerSecond;
  const std::vector<LogLine> lines = Export(run, {0, false});
  size_t of_lost = 0;
  size_t of_other = 0;
  for (const LogLine& line : lines) {
    if (line.tag == "beta/qm1") ++of_lost;
    if (line.tag == "alpha/qm1") ++of_other;
  }
  EXPECT_EQ(of_lost, 1U);
  EXPECT_GE(of_other, 3U);
  EXPECT_EQ(writes_, index_->report().steps(0).scopes().rbegin()->latency().count());
}

TEST_F(HlogExportTest, HoldsThePartsOfTheWritesUnderTagsOfTheirOwn) {
  std::mt19937_64 random(46);
  for (uint32_t coalesce : {1U, 3U}) {
    tests::SimRun run = tests::TwoHosts(random);
    run.hosts[1].coalesce = coalesce;
    const std::vector<LogLine> whole = Export(run, {std::nullopt, true});
    const uint64_t writes = writes_;
    for (tests::SimHost& host : run.hosts) {
      host.sync_ns = [](uint64_t number) { return static_cast<int64_t>(10'000 + number % 7 * 5'000); };
    }
    const std::vector<LogLine> lines = Export(run, {std::nullopt, true});
    EXPECT_EQ(writes_, writes) << "parts are no writes";
    const std::pair<uint32_t, std::string> parts[] = {{kWriteCallOperation, "write_call"}, {kSyncOperation, "sync"}};
    for (const auto& [part, name] : parts) {
      for (uint32_t step = 0; step < 2; ++step) {
        const std::string tag = "step" + std::to_string(step + 1);
        EXPECT_EQ(Sum(lines, tag + "/" + name), Wanted(run, step, false, -1, 0, part));
        EXPECT_EQ(Sum(lines, tag + "/" + name + "/alpha/qm2"), Wanted(run, step, false, 0, 2, part));
        EXPECT_EQ(Sum(lines, tag + "/" + name + "/beta/qm1"), Wanted(run, step, false, 1, 1, part));
        EXPECT_EQ(Sum(lines, tag + "/warmup/" + name), Wanted(run, step, true, -1, 0, part));
        EXPECT_EQ(Sum(lines, tag + "/warmup/" + name + "/alpha/qm1"), Wanted(run, step, true, 0, 1, part));
      }
    }
    // The lines of the writes are those of the run without parts.
    std::vector<LogLine> of_writes;
    for (const LogLine& line : lines) {
      if (line.tag.find("write_call") == std::string::npos && line.tag.find("sync") == std::string::npos) {
        of_writes.push_back(line);
      }
    }
    EXPECT_LT(of_writes.size(), lines.size());
    ASSERT_EQ(of_writes.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(of_writes[i].tag, whole[i].tag) << i;
      EXPECT_EQ(of_writes[i].from_s, whole[i].from_s) << i;
      EXPECT_EQ(of_writes[i].length_s, whole[i].length_s) << i;
      EXPECT_EQ(of_writes[i].hdr.counts, whole[i].hdr.counts) << i;
    }
  }
}

TEST_F(HlogExportTest, PutsThePartsOfASecondBehindItsWritesInTheOrderOfTheStep) {
  std::mt19937_64 random(47);
  for (uint32_t coalesce : {1U, 3U}) {
    tests::SimRun run = tests::TwoHosts(random);
    run.hosts[1].coalesce = coalesce;
    for (tests::SimHost& host : run.hosts) host.sync_ns = [](uint64_t) { return 10'000; };
    const std::vector<LogLine> lines = Export(run, {0, false});
    ASSERT_GE(lines.size(), 3U);
    EXPECT_EQ(lines[0].tag, "");
    EXPECT_EQ(lines[1].tag, "write_call");
    EXPECT_EQ(lines[2].tag, "sync");
    for (size_t i = 1; i < lines.size(); ++i) EXPECT_GE(lines[i].from_s, lines[i - 1].from_s) << i;
  }
}

// Counts by index of the reads, or of the writes, of a step's measured part or warm-up: of all writers, or of one.
std::map<uint32_t, uint64_t> CountsOf(const tests::SimRun& run, uint32_t step, bool warmup, bool reads,
                                      const std::string& label = "", uint32_t only = 0) {
  std::map<uint32_t, uint64_t> counts;
  for (const tests::SimHost& host : run.hosts) {
    for (uint32_t qm = 1; qm <= host.steps[step].size(); ++qm) {
      if (only != 0 && (host.label != label || qm != only)) continue;
      for (const tests::SimWrite& one : tests::OperationsOf(run, host, step, qm, reads)) {
        if ((one.end_ns() < 0) == warmup) ++counts[HistogramLayout::IndexOf(static_cast<uint64_t>(one.latency_ns))];
      }
    }
  }
  return counts;
}

TEST_F(HlogExportTest, HoldsTheReadsBesideTheWritesUnderTagsOfTheirOwn) {
  std::mt19937_64 random(48);
  for (uint32_t coalesce : {1U, 3U}) {
    tests::SimRun run = tests::TwoHosts(random);
    run.read_percent = 40;
    run.hosts[1].coalesce = coalesce;
    const std::vector<LogLine> lines = Export(run, {std::nullopt, true});
    uint64_t operations = 0;
    for (uint32_t step = 0; step < 2; ++step) {
      const std::string tag = "step" + std::to_string(step + 1);
      EXPECT_EQ(Sum(lines, tag), CountsOf(run, step, false, false));
      EXPECT_EQ(Sum(lines, tag + "/read"), CountsOf(run, step, false, true));
      EXPECT_EQ(Sum(lines, tag + "/alpha/qm2"), CountsOf(run, step, false, false, "alpha", 2));
      EXPECT_EQ(Sum(lines, tag + "/read/alpha/qm2"), CountsOf(run, step, false, true, "alpha", 2));
      EXPECT_EQ(Sum(lines, tag + "/warmup/read"), CountsOf(run, step, true, true));
      EXPECT_EQ(Sum(lines, tag + "/warmup/read/beta/qm1"), CountsOf(run, step, true, true, "beta", 1));
      for (const tests::SimHost& host : run.hosts) {
        for (const tests::SimWriter& writer : host.steps[step]) operations += writer.size();
      }
    }
    EXPECT_EQ(writes_, operations);
  }
  EXPECT_EQ(head_[0], "#[Plimsoll run 7f3a21; latencies of reads and writes in nanoseconds]");
}

TEST_F(HlogExportTest, HasALineOfWhatWasInFlightAtTheEndAlone) {
  tests::SimRun run;
  run.read_percent = 50;
  // A write, and the read that goes on beyond the end.
  run.hosts.push_back({"alpha", 0, {{{{0, 1'000}, {run.duration_ns - 500, 2'000}}}}, {}, 0, {}, 1});
  std::vector<std::string> tags;
  for (const LogLine& line : Export(run)) tags.push_back(line.tag + " " + std::to_string(line.count()));
  EXPECT_THAT(tags, ElementsAre(" 1", "read 0", "alpha/qm1 1", "read/alpha/qm1 0", "read 1", "read/alpha/qm1 1"));
  EXPECT_EQ(writes_, 2U);
}

TEST_F(HlogExportTest, HasReadsAloneUnderTheTagsOfWritesAndSaysSo) {
  std::mt19937_64 random(49);
  tests::SimRun run = tests::TwoHosts(random);
  const std::vector<LogLine> of_writes = Export(run);
  run.read_percent = 100;
  head_.clear();
  const std::vector<LogLine> of_reads = Export(run);
  ASSERT_EQ(of_reads.size(), of_writes.size());
  for (size_t i = 0; i < of_reads.size(); ++i) {
    EXPECT_EQ(of_reads[i].tag, of_writes[i].tag) << i;
    EXPECT_EQ(of_reads[i].hdr.counts, of_writes[i].hdr.counts) << i;
  }
  EXPECT_EQ(head_[0], "#[Plimsoll run 7f3a21; latencies of reads in nanoseconds]");
}

TEST_F(HlogExportTest, BeginsWithTheHeadOfItsFormat) {
  std::mt19937_64 random(45);
  tests::SimRun run = tests::TwoHosts(random);
  Export(run);
  ASSERT_EQ(head_.size(), 5U);
  EXPECT_EQ(head_[0], "#[Plimsoll run 7f3a21; latencies of writes in nanoseconds]");
  EXPECT_EQ(head_[1], "#[Histogram log format version 1.3]");
  EXPECT_EQ(head_[2], "#[StartTime: 1795202411.000 (seconds since epoch), 2026-11-20T19:20:11.000000000Z]");
  EXPECT_EQ(head_[3], "#[BaseTime: 1795202411.000 (seconds since epoch)]");
  EXPECT_EQ(head_[4], "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"");
}

TEST_F(HlogExportTest, SpellsTagsWithoutWhatSeparatesThem) {
  tests::SimRun run;
  run.hosts.push_back({"a, b\n", 0, {{tests::Steady(run.duration_ns, 100'000)}}, {}, 0, {}, 1});
  for (const LogLine& line : Export(run)) {
    EXPECT_TRUE(line.tag.empty() || line.tag == "a%2C%20b%0A/qm1") << line.tag;
  }
}

}  // namespace
}  // namespace plimsoll
