// Comparing runs that were measured in turn.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "controller/compare/compare.h"

namespace plimsoll {

absl::Status PairUp(std::vector<SideInput>& sides) {
  if (sides.size() != 2) {
    return absl::FailedPreconditionError(absl::StrCat("pairs need two sides, A and B, there are ", sides.size()));
  }
  if (sides[0].runs.size() == 1 && sides[1].runs.size() == 1) {
    for (SideInput& side : sides) {
      const RunInput whole = std::move(side.runs.front());
      side.runs.clear();
      std::map<uint64_t, size_t> seen;
      for (const v1::StepReport& step : whole.report.steps()) {
        const size_t number = seen[step.block_size_bytes()]++;
        if (number >= kMostRounds) break;
        if (number == side.runs.size()) {
          RunInput& run = side.runs.emplace_back();
          run.source = absl::StrCat(whole.source, " (repetition ", number + 1, ")");
          run.report = whole.report;
          run.report.clear_steps();
        }
        *side.runs[number].report.add_steps() = step;
      }
      if (side.runs.empty()) side.runs.push_back(whole);
    }
  }
  if (sides[0].runs.size() != sides[1].runs.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("pairs need as many runs of one side as of the other: ", sides[0].runs.size(), " of ",
                     SideLabel(sides, 0), " and ", sides[1].runs.size(), " of ", SideLabel(sides, 1)));
  }
  if (sides[0].runs.size() > kMostRounds) {
    return absl::FailedPreconditionError(
        absl::StrCat("at most ", kMostRounds, " pairs can be compared, there are ", sides[0].runs.size()));
  }
  return absl::OkStatus();
}

v1::PairedDesign CompleteDesign(v1::PairedDesign design, size_t rounds) {
  const auto complete = static_cast<uint32_t>(rounds);
  design.set_complete_rounds(complete);
  if (design.looks().empty()) {
    if (design.planned_rounds() == 0) design.set_planned_rounds(complete);
    SetLooks({{rounds, 1}}, design);
  }
  return design;
}

void SetLooks(const std::vector<Look>& looks, v1::PairedDesign& design) {
  design.clear_looks();
  for (const Look& one : looks) {
    v1::PairedLook& look = *design.add_looks();
    look.set_rounds(static_cast<uint32_t>(one.rounds));
    look.set_share(one.share);
  }
}

std::vector<Look> LooksOf(const v1::PairedDesign& design) {
  std::vector<Look> looks;
  for (const v1::PairedLook& look : design.looks()) looks.push_back({look.rounds(), look.share()});
  return looks;
}

bool IsDecided(const v1::Comparison& comparison, const std::vector<v1::Figure>& figures) {
  if (comparison.gate() == v1::OUTCOME_INCONCLUSIVE) return false;
  const double least = std::log1p(comparison.options().min_effect_percent() / 100);
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (const v1::PairComparison& pair : block_size.pairs()) {
      for (const v1::Figure figure : figures) {
        const auto row = std::find_if(pair.rows().begin(), pair.rows().end(),
                                      [figure](const v1::ComparedRow& one) { return one.figure() == figure; });
        if (row == pair.rows().end() || !row->has_low() || !(row->low() > 0) || !std::isfinite(row->high()))
          return false;
        if (row->finding() == v1::FINDING_INCONCLUSIVE) return false;
        const double low = std::log(row->low());
        const double high = std::log(row->high());
        const bool clear = row->finding() == v1::FINDING_BETTER || row->finding() == v1::FINDING_WORSE;
        if (!(clear && (low > least || high < -least)) && high - low > 2 * least) return false;
      }
    }
  }
  return !comparison.block_sizes().empty();
}

}  // namespace plimsoll
