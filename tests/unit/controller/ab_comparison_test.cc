// The comparison of the rounds of `plimsoll ab` is made again from their journals.
#include "controller/cli/ab_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "controller/cli/ab_record.h"
#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/step_data.h"
#include "controller/render/json.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Two sealed rounds, whose journals are those of an acceptance, and their comparison as `plimsoll ab` keeps it.
class AbComparisonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(path());
    const fs::path runs = fs::path(PLIMSOLL_SOURCE_DIR) / "tests/data/acceptance";
    AbRecord record;
    record.names = {"san", "nfs"};
    record.planned_rounds = 10;
    record.order_seed = 7;
    record.min_effect = "5%";
    record.judged.emplace();
    record.rounds = {{"AB", {"round-01-a"}, {"round-01-b"}}, {"BA", {"round-02-a"}, {"round-02-b"}}};
    record.ended = "Interrupted in round 3.";
    for (const char* round : {"round-01", "round-02"}) {
      for (const auto& [side, run] : {std::pair("-a", "load-1"), std::pair("-b", "load-2")}) {
        fs::copy(runs / run, path() / (std::string(round) + side));
      }
    }
    SealRuns(path().string(), record);
    Write("ab.json", WriteAbRecord(record));
    Keep();
  }

  fs::path path() const { return fs::path(directory_.path()) / "ab"; }
  std::string Read(const std::string& name) const {
    std::ifstream file(path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(path() / name) << text; }

  void Keep() const {
    absl::StatusOr<AbResults> ab = LoadAbDirectory(path().string());
    ASSERT_THAT(ab, IsOk());
    UseResponseTimes(ab->sides);
    CompareSettings settings;
    settings.min_effect = 0.05;
    settings.paired = DesignOf(ab->record);
    const absl::StatusOr<v1::Comparison> comparison = Compare(ab->sides, settings);
    ASSERT_THAT(comparison, IsOk());
    Write("compare.json", RenderJson(*comparison));
    Write("compare.txt", RenderCompareText(*comparison));
    Write("compare.csv", RenderCompareCsv(*comparison));
  }

  std::vector<std::string> Differences() const {
    const absl::StatusOr<ComparisonDifferences> found = CheckAbComparison(path().string());
    EXPECT_THAT(found, IsOk());
    return found.ok() ? found->differences : std::vector<std::string>();
  }

  tests::TempDirectory directory_;
};

TEST_F(AbComparisonTest, IsTheOneThatIsKeptWhereverTheResultsAre) {
  EXPECT_THAT(Differences(), IsEmpty());
  const fs::path moved = fs::path(directory_.path()) / "elsewhere";
  fs::rename(path(), moved);
  const absl::StatusOr<ComparisonDifferences> found = CheckAbComparison(moved.string());
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(found->differences, IsEmpty());
  EXPECT_EQ(found->other_text, "");
}

TEST_F(AbComparisonTest, AFindingThatTheJournalsDoNotGiveIsNamed) {
  const std::string whole = Read("compare.json");
  const std::string better = "\"finding\": \"better\"";
  const std::string changed = absl::StrReplaceAll(whole, {{"\"finding\": \"not_clear\"", better},
                                                          {"\"finding\": \"not_tested\"", better},
                                                          {"\"finding\": \"small\"", better},
                                                          {"\"finding\": \"inconclusive\"", better}});
  ASSERT_NE(changed, whole);
  Write("compare.json", changed);
  EXPECT_THAT(Differences(), ElementsAre(StartsWith("compare.json has findings that the journals do not give")));
}

TEST_F(AbComparisonTest, AFigureThatTheJournalsDoNotGiveIsNamed) {
  const std::string whole = Read("compare.json");
  const std::string changed = absl::StrReplaceAll(whole, {{"\"replicates\": ", "\"replicates\": 1"}});
  ASSERT_NE(changed, whole);
  Write("compare.json", changed);
  EXPECT_THAT(Differences(), ElementsAre("compare.json is not the comparison that the journals give"));
  const absl::StatusOr<ComparisonDifferences> found = CheckAbComparison(path().string());
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(found->other_text, HasSubstr("the findings are the same"));
}

TEST_F(AbComparisonTest, ATextOrTableThatShowsAnotherComparisonIsNamed) {
  for (const char* name : {"compare.txt", "compare.csv"}) {
    const std::string whole = Read(name);
    Write(name, whole + " ");
    EXPECT_THAT(Differences(), ElementsAre(std::string(name) + " does not show the comparison that the journals give"));
    Write(name, whole);
  }
}

TEST_F(AbComparisonTest, ChangedJournalsGiveNone) {
  fs::copy_file(path() / "round-01-b/journal", path() / "round-01-a/journal", fs::copy_options::overwrite_existing);
  EXPECT_EQ(CheckAbComparison(path().string()).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace plimsoll
