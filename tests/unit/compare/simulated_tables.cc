#include "tests/unit/compare/simulated_tables.h"

#include <algorithm>

namespace plimsoll::tests {
namespace {

bool Holds(const v1::ComparedRow& row, double truth) {
  return row.low() <= truth && truth <= row.high();
}

}  // namespace

TableRates CompareTables(const SimulatedLaw& law, double slower, size_t tables, size_t replicates, uint64_t seed,
                         Intervals intervals) {
  const std::vector<uint64_t> block_sizes = {4'096, 16'384, 65'536};
  std::mt19937_64 random(seed);
  SimulatedLaw slower_law = law;
  slower_law.latency_ns *= slower;
  slower_law.writes /= slower;
  CompareSettings settings;
  settings.replicates = replicates;
  settings.percentile_intervals = intervals == Intervals::kMeanAndPercentiles;
  TableRates rates;
  for (size_t table = 0; table < tables; ++table) {
    std::vector<SideInput> sides(2);
    sides[0].runs.push_back({"a", SimulateReport(law, block_sizes, random)});
    sides[1].runs.push_back({"b", SimulateReport(slower_law, block_sizes, random)});
    const absl::StatusOr<v1::Comparison> comparison = Compare(sides, settings);
    if (!comparison.ok()) return {};
    bool any = false;
    bool by_chance = false;
    bool needed = false;
    for (const v1::BlockSizeComparison& block_size : comparison->block_sizes()) {
      needed = needed || block_size.pairs(0).needed_seconds() > 0;
      for (const v1::ComparedRow& row : block_size.pairs(0).rows()) {
        const bool clear = row.finding() == v1::FINDING_BETTER || row.finding() == v1::FINDING_WORSE;
        any = any || clear;
        by_chance = by_chance || clear || row.finding() == v1::FINDING_SMALL;
        if (row.figure() == v1::FIGURE_P99 && row.has_low()) {
          ++rates.p99_intervals;
          if (Holds(row, slower)) ++rates.p99_covered;
        }
        if (row.figure() != v1::FIGURE_AVG) continue;
        ++rates.means;
        if (row.finding() == v1::FINDING_WORSE) ++rates.means_longer;
        if (!row.has_low()) continue;
        ++rates.mean_intervals;
        if (Holds(row, slower)) ++rates.mean_covered;
      }
    }
    ++rates.tables;
    if (any) ++rates.any_clear;
    if (by_chance) ++rates.any_by_chance;
    if (needed) ++rates.run_longer;
  }
  return rates;
}

}  // namespace plimsoll::tests
