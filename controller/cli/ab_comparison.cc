#include "controller/cli/ab_comparison.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "controller/cli/ab_record.h"
#include "controller/cli/compare_command.h"
#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/report_json.h"
#include "controller/compare/step_data.h"
#include "controller/render/json.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr char kComparisonFile[] = "compare.json";
constexpr uint64_t kComparisonFormat = 1;
// Far more than the comparison of the most block sizes.
constexpr size_t kMostComparisonBytes = size_t{64} << 20;

absl::StatusOr<std::string> ReadBelow(const std::string& directory, const std::string& name) {
  return ReadFile((fs::path(directory) / name).string(), kMostComparisonBytes);
}

// How the rounds were compared. A record of an earlier version does not have all of it: the rest is taken from what
// the comparison itself says.
absl::StatusOr<CompareSettings> SettingsOf(const AbRecord& record, const v1::Comparison& kept) {
  CompareFlags flags;
  flags.min_effect = record.min_effect;
  if (record.judged.has_value()) {
    flags.fail_if_slower = record.judged->fail_if_slower;
    flags.gate = record.judged->gate;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(CompareSettings settings, flags.Settings());
  if (!record.judged.has_value() && kept.options().has_fail_if_slower_percent()) {
    settings.fail_if_slower = kept.options().fail_if_slower_percent() / 100;
    settings.gate.clear();
    for (const int figure : kept.options().gate()) settings.gate.push_back(static_cast<v1::Figure>(figure));
  }
  settings.differs.insert(record.differs.begin(), record.differs.end());
  settings.paired = DesignOf(record);
  return settings;
}

bool ComparesServiceTimes(const AbRecord& record, const v1::Comparison& kept) {
  return record.judged.has_value() ? record.judged->times == "service" : !kept.response_times();
}

// Results may have been moved, and a comparison names where they were: a run is the one of the same name.
void TakeSources(const v1::Comparison& kept, std::vector<SideInput>& sides) {
  for (size_t side = 0; side < sides.size() && side < static_cast<size_t>(kept.sides_size()); ++side) {
    const auto& runs = kept.sides(static_cast<int>(side)).runs();
    for (size_t run = 0; run < sides[side].runs.size() && run < static_cast<size_t>(runs.size()); ++run) {
      const std::string& source = runs.at(static_cast<int>(run)).source();
      std::string& again = sides[side].runs[run].source;
      if (fs::path(source).filename() == fs::path(again).filename()) again = source;
    }
  }
}

bool SameRows(const v1::PairComparison& one, const v1::PairComparison& other) {
  return one.side() == other.side() &&
         absl::c_equal(one.rows(), other.rows(), [](const auto& mine, const auto& theirs) {
           return mine.figure() == theirs.figure() && mine.finding() == theirs.finding() &&
                  mine.gate() == theirs.gate();
         });
}

template <typename Compared>
bool SamePairs(const Compared& one, const Compared& other) {
  return absl::c_equal(one.pairs(), other.pairs(), SameRows);
}

bool SameFindings(const v1::Comparison& one, const v1::Comparison& other) {
  return one.gate() == other.gate() && one.headline() == other.headline() &&
         absl::c_equal(one.block_sizes(), other.block_sizes(), [](const auto& mine, const auto& theirs) {
           return mine.block_size_bytes() == theirs.block_size_bytes() && SamePairs(mine, theirs) &&
                  absl::c_equal(mine.operations(), theirs.operations(),
                                [](const auto& a, const auto& b) { return a.name() == b.name() && SamePairs(a, b); });
         });
}

}  // namespace

absl::StatusOr<ComparisonDifferences> CheckAbComparison(const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(AbResults ab, LoadAbDirectory(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadBelow(directory, kComparisonFile));
  v1::Comparison kept;
  PLIMSOLL_RETURN_IF_ERROR(
      ParseJson(text, kComparisonFormat, absl::StrCat("a comparison (", kComparisonFile, ")"), kept));
  PLIMSOLL_ASSIGN_OR_RETURN(const CompareSettings settings, SettingsOf(ab.record, kept));
  if (!ComparesServiceTimes(ab.record, kept)) UseResponseTimes(ab.sides);
  TakeSources(kept, ab.sides);
  PLIMSOLL_ASSIGN_OR_RETURN(const v1::Comparison derived, Compare(ab.sides, settings));
  ComparisonDifferences found;
  if (!SameFindings(kept, derived)) {
    found.differences.push_back(
        absl::StrCat(kComparisonFile, " has findings that the journals do not give; they give: ", derived.headline()));
    return found;
  }
  if (text != RenderJson(derived)) {
    found.other_text = absl::StrCat(kComparisonFile,
                                    " is not byte for byte what this build makes of the journals; the findings are "
                                    "the same");
    // The findings alone must be the same in that of another version.
    if (kept.version() == kVersion && ab.record.judged.has_value()) {
      found.differences.push_back(absl::StrCat(kComparisonFile, " is not the comparison that the journals give"));
    }
    return found;
  }
  for (const auto& [name, content] :
       {std::pair("compare.txt", RenderCompareText(derived)), {"compare.csv", RenderCompareCsv(derived)}}) {
    const absl::StatusOr<std::string> shown = ReadBelow(directory, name);
    if (shown.ok() && *shown != content) {
      found.differences.push_back(absl::StrCat(name, " does not show the comparison that the journals give"));
    }
  }
  return found;
}

}  // namespace plimsoll
