// What `plimsoll ab` keeps of its rounds, and the order that it draws.
#include "controller/cli/ab_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

AbRecord Sample() {
  AbRecord record;
  record.names = {"san", "nfs \"2\""};
  record.planned_rounds = 10;
  record.order_seed = UINT64_MAX;
  record.differs = {"dir", "sync"};
  record.min_effect = "5%";
  record.rounds = {{"AB", {"round-01-a"}, {"round-01-b"}}, {"BA", {"round-02-a"}, {"round-02-b"}}};
  record.ended = "All planned rounds were measured.";
  return record;
}

TEST(AbRecord, IsReadBackAsItWasWritten) {
  const std::string text = WriteAbRecord(Sample());
  const absl::StatusOr<AbRecord> read = ReadAbRecord(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WriteAbRecord(*read), text);
  EXPECT_EQ(read->order_seed, UINT64_MAX);
  EXPECT_EQ(read->rounds[1].order, "BA");
}

TEST(AbRecord, RecordsWhatTheComparisonTests) {
  EXPECT_FALSE(ReadAbRecord(WriteAbRecord(Sample()))->judged.has_value()) << "as an earlier version left it";
  AbRecord record = Sample();
  record.judged = {"10%", "p99,iops", "service"};
  const std::string text = WriteAbRecord(record);
  const absl::StatusOr<AbRecord> read = ReadAbRecord(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WriteAbRecord(*read), text);
  ASSERT_TRUE(read->judged.has_value());
  EXPECT_EQ(read->judged->fail_if_slower, "10%");
  EXPECT_EQ(read->judged->gate, "p99,iops");
  EXPECT_EQ(read->judged->times, "service");
}

TEST(AbRecord, RecordsWhichStepsOfARunAPartIs) {
  AbRecord record = Sample();
  record.rounds = {{"AB", {"run", 0, 2}, {"run", 2, 2}}, {"BA", {"run", 6, 2}, {"run", 4, 2}}};
  const std::string text = WriteAbRecord(record);
  EXPECT_THAT(text, HasSubstr("\"format\": 2")) << "who reads whole runs only must not take it";
  const absl::StatusOr<AbRecord> read = ReadAbRecord(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WriteAbRecord(*read), text);
  v1::Report report;
  for (uint32_t number = 1; number <= 8; ++number) report.add_steps()->set_number(number);
  report.mutable_run()->set_id("7f3a21");
  const std::vector<RunInput> parts = PartInputs({read->rounds[0].first, read->rounds[1].first}, "ab/run", report);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].source, "ab/run (round 2)");
  EXPECT_EQ(parts[1].report.run().id(), "7f3a21");
  ASSERT_EQ(parts[1].report.steps_size(), 2);
  EXPECT_EQ(parts[1].report.steps(0).number(), 7U);
}

TEST(AbRecord, APartIsWholeWhereAllItsStepsRanToTheirEnd) {
  v1::Report report;
  for (uint32_t number = 1; number <= 3; ++number) report.add_steps()->set_number(number);
  EXPECT_TRUE(IsWhole({"run", 1, 2}, report));
  EXPECT_FALSE(IsWhole({"run", 2, 2}, report));
  v1::ScopeReport& cluster = *report.mutable_steps(2)->add_scopes();
  cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
  EXPECT_TRUE(IsWhole({"run", 1, 2}, report));
  cluster.mutable_data_until()->set_seconds(1);
  EXPECT_FALSE(IsWhole({"run", 1, 2}, report)) << "as in a journal that ends within the step";
  EXPECT_TRUE(IsWhole({"run", 0, 2}, report));
  report.mutable_steps(1)->set_cut_short("interrupted");
  EXPECT_FALSE(IsWhole({"run", 0, 2}, report));
}

TEST(AbRecord, APartThatItsRunDoesNotHaveIsEmpty) {
  v1::Report report;
  report.add_steps()->set_number(1);
  for (const AbPart& part : {AbPart{"run", 1, 1}, AbPart{"run", UINT32_MAX, UINT32_MAX}}) {
    EXPECT_EQ(PartInputs({part}, "ab/run", report).front().report.steps_size(), 0);
    EXPECT_FALSE(IsWhole(part, report));
  }
}

TEST(AbRecord, LeadsNowhereElse) {
  for (const char* name : {"../round-01-a", "/etc", "..", ""}) {
    AbRecord record = Sample();
    record.rounds[0].first.run = name;
    EXPECT_THAT(std::string(ReadAbRecord(WriteAbRecord(record)).status().message()), HasSubstr("not a directory of it"))
        << name;
  }
}

TEST(AbRecord, RefusesWhatItCannotMean) {
  const std::string text = WriteAbRecord(Sample());
  for (const auto& [what, instead] : std::vector<std::pair<std::string, std::string>>{
           {"\"format\": 1", "\"format\": 3"},
           {"\"BA\"", "\"BB\""},
           {"\"round-02-a\"", "\"round-02-a\", \"a_steps\": [0, 1]"},
           {"\"planned_rounds\": 10", "\"planned_rounds\": 1"},
           {"\"planned_rounds\": 10", "\"planned_rounds\": 61"},
           {"\"planned_rounds\": 10", "\"planned_rounds\": \"10\""},
           {"nfs \\\"2\\\"", "san"},
           {"\"rounds\"", "\"turns\""},
       }) {
    const std::string changed = absl::StrReplaceAll(text, {{what, instead}});
    ASSERT_NE(changed, text) << what;
    EXPECT_FALSE(ReadAbRecord(changed).ok()) << instead;
  }
  EXPECT_FALSE(ReadAbRecord("{").ok());
}

TEST(AbRecord, GivesTheDesignItsLooksAndItsOrder) {
  const v1::PairedDesign design = DesignOf(Sample());
  EXPECT_EQ(design.planned_rounds(), 10U);
  ASSERT_EQ(design.looks_size(), 2);
  EXPECT_EQ(design.looks(0).rounds(), 7U);
  EXPECT_EQ(design.order(1), "BA");
  AbRecord killed = Sample();
  killed.ended.clear();
  EXPECT_EQ(DesignOf(killed).ended(), "The rounds were cut off.");
}

namespace fs = std::filesystem;

// The rounds of a directory, sealed: their journals are those of an acceptance.
class SealedAbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path runs = fs::path(PLIMSOLL_SOURCE_DIR) / "tests/data/acceptance";
    AbRecord record = Sample();
    for (const char* round : {"round-01", "round-02"}) {
      for (const auto& [side, run] : {std::pair("-a", "load-1"), std::pair("-b", "load-2")}) {
        fs::copy(runs / run, path() / (std::string(round) + side));
      }
    }
    SealRuns(path().string(), record);
    WriteRecord(WriteAbRecord(record));
  }

  fs::path path() const { return directory_.path(); }
  void WriteRecord(const std::string& text) const { std::ofstream(path() / "ab.json") << text; }
  std::string Record() const {
    std::ifstream file(path() / "ab.json");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  absl::Status Load() const { return LoadAbDirectory(path().string()).status(); }

 private:
  tests::TempDirectory directory_;
};

TEST_F(SealedAbTest, IsReadWhereNothingWasChanged) {
  EXPECT_TRUE(Load().ok()) << Load();
  const absl::StatusOr<AbRecord> read = ReadAbRecord(Record());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->seals.size(), 4U);
  EXPECT_EQ(WriteAbRecord(*read), Record());
}

TEST_F(SealedAbTest, NoSideIsComparedThatIsMissingOrNotTheOneThatWasMeasured) {
  fs::copy_file(path() / "round-01-b/journal", path() / "round-02-a/journal", fs::copy_options::overwrite_existing);
  EXPECT_EQ(Load().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Load().message()),
              HasSubstr("INCONCLUSIVE: these are not the results that were measured: round-02-a/journal was changed or "
                        "replaced"));
  fs::remove_all(path() / "round-01-b");
  EXPECT_THAT(std::string(Load().message()), HasSubstr("round-01-b is missing; round-02-a/journal was"));
  // A report in place of the journal is no evidence.
  fs::remove(path() / "round-01-a/journal");
  std::ofstream(path() / "round-01-a/report.json") << "{\"format\": 1, \"run\": {}, \"steps\": []}";
  EXPECT_THAT(std::string(Load().message()), HasSubstr("round-01-a/journal is missing"));
}

TEST_F(SealedAbTest, RoundsWithoutSealsAreReadWithAWarning) {
  absl::StatusOr<AbRecord> record = ReadAbRecord(Record());
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(SealWarning(*record), "");
  record->seals.clear();
  WriteRecord(WriteAbRecord(*record));
  const absl::StatusOr<AbResults> unsealed = LoadAbDirectory(path().string());
  ASSERT_TRUE(unsealed.ok()) << unsealed.status();
  EXPECT_THAT(SealWarning(unsealed->record), HasSubstr("not sealed: ab.json has no SHA-256 of the journals"));
}

TEST_F(SealedAbTest, EachRoundCanBeSealedWhenItIsComplete) {
  const std::string all = Record();
  absl::StatusOr<AbRecord> record = ReadAbRecord(all);
  ASSERT_TRUE(record.ok());
  record->seals.clear();
  const AbRound second = record->rounds.back();
  record->rounds.pop_back();
  SealRuns(path().string(), *record);
  EXPECT_EQ(record->seals.size(), 2U);
  WriteRecord(WriteAbRecord(*record));
  EXPECT_TRUE(Load().ok()) << Load();
  record->rounds.push_back(second);
  SealRuns(path().string(), *record);
  EXPECT_EQ(WriteAbRecord(*record), all);
}

TEST_F(SealedAbTest, ARecordThatWasChangedIsNotCompared) {
  for (const auto& [what, instead] : std::vector<std::pair<std::string, std::string>>{
           {"\"5%\"", "\"9%\""}, {"\"BA\"", "\"AB\""}, {"\"seals\"", "\"seats\""}}) {
    const std::string text = Record();
    WriteRecord(absl::StrReplaceAll(text, {{what, instead}}));
    EXPECT_EQ(Load().code(), absl::StatusCode::kDataLoss) << what;
    EXPECT_THAT(std::string(Load().message()), HasSubstr("ab.json was changed")) << what;
    WriteRecord(text);
  }
  EXPECT_TRUE(Load().ok());
}

TEST(DrawOrder, IsAFairCoinForEachRoundAndTheSameForASeed) {
  EXPECT_EQ(DrawOrder(5, 60), DrawOrder(5, 60));
  EXPECT_NE(DrawOrder(5, 60), DrawOrder(6, 60));
  const std::vector<std::string> more = DrawOrder(5, 60);
  EXPECT_EQ(DrawOrder(5, 8), std::vector<std::string>(more.begin(), more.begin() + 8));
  size_t first = 0;
  size_t again = 0;
  constexpr size_t kSeeds = 1'000;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<std::string> order = DrawOrder(seed, 10);
    first += static_cast<size_t>(std::count(order.begin(), order.end(), "AB"));
    for (size_t i = 1; i < order.size(); ++i) again += order[i] == order[i - 1] ? 1U : 0U;
  }
  // Of 10,000 coins and 9,000 pairs of neighbours; five standard deviations are 250 and 237.
  EXPECT_NEAR(static_cast<double>(first), 5'000, 250);
  EXPECT_NEAR(static_cast<double>(again), 4'500, 237);
}

}  // namespace
}  // namespace plimsoll
