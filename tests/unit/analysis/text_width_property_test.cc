// No line of a text report is wider than 80 columns, whatever it is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "plimsoll/v1/report.pb.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/random_report.h"

namespace plimsoll {
namespace {

TEST(TextReportProperty, NoLineIsWiderThanEightyColumnsNorCutAndTheVerdictIsFirst) {
  const uint64_t seed = tests::RandomSeed();
  for (uint64_t round = 0; round < 60; ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, " round ", round));
    const v1::Report report = tests::RandomReport(seed + round).Make();
    EXPECT_LE(TextSummary(report, TextDetail::kShort).size(), 15U);
    const std::string text = RenderText(report, 40);
    EXPECT_THAT(text, StartsWith("Verdict   "));
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      // A path stays whole.
      if (line.substr(line.rfind(' ') + 1).starts_with('/')) continue;
      ASSERT_LE(DisplayWidth(line), 80) << line;
      ASSERT_FALSE(line.ends_with("\u2026")) << line;
      ASSERT_EQ(line.find('\x1b'), std::string::npos) << line;
    }
  }
}

}  // namespace
}  // namespace plimsoll
