#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "controller/export/formats.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll {
namespace {

// Records of the run's journal, with the traces of its operations.
std::vector<v1::JournalRecord> TracedJournal(const tests::SimRun& run) {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  std::mt19937_64 random(1);
  tests::AddTraces(run, records, random);
  return records;
}

class CsvExportTest : public ::testing::Test {
 protected:
  std::string Export(const std::vector<v1::JournalRecord>& records, const WriteFilter& filter) {
    tests::WriteJournal(directory_.Sub("journal"), records);
    auto index = RunIndex::Read(directory_.Sub("journal"));
    EXPECT_THAT(index, IsOk());
    auto stream = WriteStream::Open(**index, filter);
    EXPECT_THAT(stream, IsOk());
    std::ostringstream text;
    auto output = MakeStreamOutput(text);
    const auto lines = ExportCsv(**index, filter, **stream, *output);
    EXPECT_THAT(lines, IsOk());
    EXPECT_THAT(output->Finish(), IsOk());
    lines_ = lines.value_or(0);
    return text.str();
  }
  tests::TempDirectory directory_;
  uint64_t lines_ = 0;
};

// Two writes of one host, one of them in the warm-up.
tests::SimRun TwoWrites(const std::string& label) {
  tests::SimRun run;
  run.warmup_ns = 250 * kNsPerMs;
  run.hosts.push_back({label, 0, {{{{-200'000'000, 1'000}, {300'000, 123'456}}}}, {}, 0, {}, 1});
  return run;
}

TEST_F(CsvExportTest, ReportsEachWriteInOneLine) {
  const tests::SimRun run = TwoWrites("alpha");
  const std::vector<v1::JournalRecord> records = TracedJournal(run);
  const std::string csv = Export(records, {});
  EXPECT_EQ(lines_, 1U);
  // The simulated probes tell the clock to 40 us, plus 2 us for the ends of a cell and the slew since the probe.
  const size_t error_at = csv.rfind(',') + 1;
  EXPECT_EQ(csv.substr(0, error_at),
            "timeline_ns,utc,host,qm,step,seq,latency_ns,bytes,error_ns\r\n"
            "502300300000,2026-11-20T19:20:13.300300000Z,alpha,1,1,2,123456,4096,");
  EXPECT_GT(std::stoll(csv.substr(error_at)), 40'000);
  EXPECT_EQ(csv.substr(csv.size() - 2), "\r\n");
}

// Run of one host with four operations, that percentage of which read.
tests::SimRun FourOperations(uint32_t read_percent) {
  tests::SimRun run;
  run.read_percent = read_percent;
  run.hosts.push_back(
      {"alpha", 0, {{{{100'000, 1'000}, {200'000, 2'000}, {300'000, 3'000}, {400'000, 4'000}}}}, {}, 0, {}, 1});
  return run;
}

// Number, latency and last cell of each line, the heading first.
std::vector<std::string> NumbersLatenciesAndEnds(const std::string& csv) {
  std::vector<std::string> found;
  const std::vector<std::string> lines = absl::StrSplit(csv, "\r\n", absl::SkipEmpty());
  for (const std::string& line : lines) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    found.push_back(absl::StrJoin({cells.at(5), cells.at(6), cells.back()}, " "));
  }
  return found;
}

TEST_F(CsvExportTest, ReadsAndWritesOfARunAreInTheOrderOfTimeAndCountedApart) {
  const tests::SimRun run = FourOperations(50);
  const std::vector<v1::JournalRecord> records = TracedJournal(run);
  EXPECT_THAT(NumbersLatenciesAndEnds(Export(records, {})),
              ElementsAre("seq latency_ns operation", "1 1000 write", "1 2000 read", "2 3000 write", "2 4000 read"));
  EXPECT_EQ(lines_, 4U);
}

TEST_F(CsvExportTest, OperationsThatAllReadAreNamedSo) {
  const tests::SimRun run = FourOperations(100);
  const std::vector<v1::JournalRecord> records = TracedJournal(run);
  EXPECT_THAT(NumbersLatenciesAndEnds(Export(records, {})),
              ElementsAre("seq latency_ns operation", "1 1000 read", "2 2000 read", "3 3000 read", "4 4000 read"));
}

TEST_F(CsvExportTest, AReadHasNoParts) {
  tests::SimRun run = FourOperations(50);
  run.hosts[0].sync_ns = [](uint64_t) { return 400; };
  const std::vector<v1::JournalRecord> records = TracedJournal(run);
  const std::string csv = Export(records, {std::nullopt, /*warmup=*/true});
  EXPECT_THAT(csv, HasSubstr(",bytes,error_ns,write_call_ns,sync_ns,part,operation\r\n"));
  EXPECT_THAT(csv, HasSubstr(",600,400,measured,write\r\n"));
  EXPECT_THAT(csv, HasSubstr(",,,measured,read\r\n"));
  EXPECT_EQ(lines_, 4U);
}

TEST_F(CsvExportTest, ReportsThePartsOfAWriteBesideIt) {
  tests::SimRun run = TwoWrites("alpha");
  run.hosts[0].sync_ns = [](uint64_t number) { return number == 1 ? 900 : 123'000; };
  const std::vector<v1::JournalRecord> records = TracedJournal(run);
  const std::string csv = Export(records, {std::nullopt, /*warmup=*/true});
  EXPECT_EQ(lines_, 2U);
  EXPECT_THAT(csv,
              HasSubstr("timeline_ns,utc,host,qm,step,seq,latency_ns,bytes,error_ns,write_call_ns,sync_ns,part\r\n"));
  EXPECT_THAT(csv, HasSubstr(",1000,4096,"));
  EXPECT_THAT(csv, HasSubstr(",100,900,warmup\r\n"));
  EXPECT_THAT(csv, HasSubstr(",123456,4096,"));
  EXPECT_THAT(csv, HasSubstr(",456,123000,measured\r\n"));
}

// Two writers of one host, which have the file's halves of two blocks each.
tests::SimRun TwoThreads() {
  tests::SimRun run;
  const tests::SimWriter writer = {{100'000, 1'000}, {200'000, 2'000}, {300'000, 3'000}};
  run.hosts.push_back({"alpha", 0, {{writer, writer}}, {}, 0, {}, 1});
  return run;
}

std::vector<std::string> FilesAndOffsets(const std::string& csv) {
  std::vector<std::string> found;
  const std::vector<std::string> lines = absl::StrSplit(csv, "\r\n", absl::SkipEmpty());
  for (const std::string& line : lines) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    found.push_back(absl::StrJoin({cells.at(3), cells.at(cells.size() - 2), cells.back()}, " "));
  }
  return found;
}

TEST_F(CsvExportTest, OperationsOnFilesHaveTheirPlaces) {
  std::vector<v1::JournalRecord> records = TracedJournal(TwoThreads());
  tests::UseOneFile(4 * 4096 + 100, records);
  EXPECT_THAT(FilesAndOffsets(Export(records, {})),
              ElementsAre("qm file offset", "1 /data/a 0", "2 /data/a 8192", "1 /data/a 4096", "2 /data/a 12288",
                          "1 /data/a 0", "2 /data/a 8192"));
}

TEST_F(CsvExportTest, AnOffsetIsEmptyIfTheSizeOfTheFileIsNotInTheJournal) {
  std::vector<v1::JournalRecord> records = TracedJournal(TwoThreads());
  tests::UseOneFile(std::nullopt, records);
  EXPECT_THAT(FilesAndOffsets(Export(records, {})),
              ElementsAre("qm file offset", "1 /data/a ", "2 /data/a ", "1 /data/a ", "2 /data/a ", "1 /data/a ",
                          "2 /data/a "));
}

TEST_F(CsvExportTest, AFileThatExistedHasTheSizeThatItsHostReported) {
  std::vector<v1::JournalRecord> records = TracedJournal(TwoThreads());
  tests::UseOneFile(std::nullopt, records);
  tests::ReportFileBytes({4 * 4096 + 100}, records);
  EXPECT_THAT(FilesAndOffsets(Export(records, {})),
              ElementsAre("qm file offset", "1 /data/a 0", "2 /data/a 8192", "1 /data/a 4096", "2 /data/a 12288",
                          "1 /data/a 0", "2 /data/a 8192"));
}

TEST_F(CsvExportTest, SizesOfOtherFilesThanThoseOfThePlanGiveNoOffset) {
  std::vector<v1::JournalRecord> records = TracedJournal(TwoThreads());
  tests::UseOneFile(std::nullopt, records);
  tests::ReportFileBytes({4 * 4096, 4 * 4096}, records);
  EXPECT_THAT(FilesAndOffsets(Export(records, {})),
              ElementsAre("qm file offset", "1 /data/a ", "2 /data/a ", "1 /data/a ", "2 /data/a ", "1 /data/a ",
                          "2 /data/a "));
}

TEST_F(CsvExportTest, MarksTheWarmUp) {
  const tests::SimRun run = TwoWrites("alpha");
  const std::vector<v1::JournalRecord> records = TracedJournal(run);
  std::istringstream csv(Export(records, {std::nullopt, true}));
  EXPECT_EQ(lines_, 2U);
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line, "timeline_ns,utc,host,qm,step,seq,latency_ns,bytes,error_ns,part\r");
  std::getline(csv, line);
  EXPECT_NE(line.find("19:20:13.100000000Z,alpha,1,1,1,1000,4096,"), std::string::npos) << line;
  EXPECT_EQ(line.substr(line.rfind(',')), ",warmup\r");
  std::getline(csv, line);
  EXPECT_EQ(line.substr(line.rfind(',')), ",measured\r");
}

TEST_F(CsvExportTest, KeepsTextFromHostsInItsCell) {
  const tests::SimRun run = TwoWrites("a,\"b\"\r\n=c");
  const std::vector<v1::JournalRecord> records = TracedJournal(run);
  EXPECT_NE(Export(records, {}).find("Z,\"a,\"\"b\"\"\uFFFD\uFFFD=c\",1,1,2,"), std::string::npos);
}

TEST_F(CsvExportTest, LeavesTheErrorEmptyWhereNoProbeWasAnswered) {
  const tests::SimRun run = TwoWrites("alpha");
  std::vector<v1::JournalRecord> records = TracedJournal(run);
  for (v1::JournalRecord& record : records) {
    if (record.has_probes()) record.mutable_probes()->clear_probes();
  }
  const std::string csv = Export(records, {});
  EXPECT_EQ(csv.substr(csv.find("\r\n") + 2),
            "502300300000,2026-11-20T19:20:13.300300000Z,alpha,1,1,2,123456,4096,\r\n");
}

}  // namespace
}  // namespace plimsoll
