#include "tests/unit/compare/simulated_tables.h"

#include <algorithm>

namespace plimsoll::testing {

TableRates CompareTables(const SimulatedLaw& law, double slower, size_t tables, size_t replicates, uint64_t seed) {
  const std::vector<uint64_t> block_sizes = {4'096, 16'384, 65'536};
  std::mt19937_64 random(seed);
  SimulatedLaw slower_law = law;
  slower_law.latency_ns *= slower;
  slower_law.writes /= slower;
  CompareSettings settings;
  settings.replicates = replicates;
  settings.percentile_intervals = false;
  TableRates rates;
  for (size_t table = 0; table < tables; ++table) {
    std::vector<SideInput> sides(2);
    sides[0].runs.push_back({"a", SimulateReport(law, block_sizes, random)});
    sides[1].runs.push_back({"b", SimulateReport(slower_law, block_sizes, random)});
    const absl::StatusOr<v1::Comparison> comparison = Compare(sides, settings);
    if (!comparison.ok()) return {};
    bool any = false;
    bool needed = false;
    for (const v1::BlockSizeComparison& block_size : comparison->block_sizes()) {
      needed = needed || block_size.pairs(0).needed_seconds() > 0;
      for (const v1::ComparedRow& row : block_size.pairs(0).rows()) {
        any = any || row.finding() == v1::FINDING_BETTER || row.finding() == v1::FINDING_WORSE;
        if (row.figure() != v1::FIGURE_AVG) continue;
        ++rates.means;
        if (row.finding() == v1::FINDING_WORSE) ++rates.means_longer;
      }
    }
    ++rates.tables;
    if (any) ++rates.any_clear;
    if (needed) ++rates.run_longer;
  }
  return rates;
}

}  // namespace plimsoll::testing
