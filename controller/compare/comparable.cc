#include "controller/compare/comparable.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/compare/run_facts.h"
#include "controller/compare/step_data.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

// Calls `visit` with each run and the label of its side; of several runs a side "A1".
template <typename Visit>
void ForEachRun(const std::vector<SideInput>& sides, const Visit& visit) {
  for (size_t side = 0; side < sides.size(); ++side) {
    for (size_t run = 0; run < sides[side].runs.size(); ++run) {
      const std::string label = SideLabel(side);
      visit(sides[side].runs[run], sides[side].runs.size() == 1 ? label : absl::StrCat(label, run + 1));
    }
  }
}

std::string Joined(const std::set<std::string>& values) {
  return values.empty() ? "none" : absl::StrJoin(values, ", ");
}

std::set<std::string> FactOf(const SideInput& side, const RunFact& fact) {
  std::set<std::string> values;
  for (const RunInput& run : side.runs) {
    const std::set<std::string> of_run = fact.values(run.report);
    values.insert(of_run.begin(), of_run.end());
  }
  return values;
}

// Refuses where a fact of one run is not that of the first run.
absl::Status SameEverywhere(const std::vector<SideInput>& sides, const RunFact& fact) {
  const RunInput& first = sides.front().runs.front();
  const std::set<std::string> wanted = fact.values(first.report);
  for (const SideInput& side : sides) {
    for (const RunInput& run : side.runs) {
      const std::set<std::string> values = fact.values(run.report);
      if (values == wanted) continue;
      return absl::FailedPreconditionError(absl::StrCat("not comparable: ", fact.what, ": ", Joined(wanted), " in ",
                                                        first.source, ", ", Joined(values), " in ", run.source, "; ",
                                                        fact.why));
    }
  }
  return absl::OkStatus();
}

std::string SizesOf(const v1::Report& report) {
  std::vector<std::string> sizes;
  for (const uint64_t size : BlockSizes(report)) sizes.push_back(FormatSize(size));
  return sizes.empty() ? "none" : absl::StrJoin(sizes, ",");
}

void AddRunWarnings(const RunInput& run, const std::string& label, std::vector<std::string>& warnings) {
  const v1::RunReport& about = run.report.run();
  if (about.state() != v1::RUN_STATE_COMPLETE) {
    warnings.push_back(absl::StrCat(label, " is incomplete (", EnumName(*v1::RunState_descriptor(), about.state()), ")",
                                    about.state_reason().empty() ? "" : ": ", about.state_reason()));
  }
  if (run.report.verdict().outcome() == v1::OUTCOME_INCONCLUSIVE) {
    warnings.push_back(absl::StrCat(label, " is INCONCLUSIVE: ", absl::StrJoin(run.report.verdict().reasons(), "; ")));
  }
  for (const v1::HostReport& host : run.report.hosts()) {
    if (host.has_lost()) {
      warnings.push_back(absl::StrCat(label, " lost host ", host.label(),
                                      host.lost().step() == 0 ? "" : absl::StrCat(" in step ", host.lost().step())));
    }
  }
  for (const v1::StepReport& step : run.report.steps()) {
    if (!step.cut_short().empty()) {
      warnings.push_back(absl::StrCat(label, ": step ", step.number(), " (",
                                      FormatSizeForPeople(step.block_size_bytes()),
                                      ") ended early: ", step.cut_short()));
    }
  }
}

void AddSameRunWarnings(const std::vector<SideInput>& sides, std::vector<std::string>& warnings) {
  std::map<std::string, std::string> seen;
  ForEachRun(sides, [&](const RunInput& run, const std::string& label) {
    // An id is short; with the moment it is the run's alone.
    const v1::RunReport& about = run.report.run();
    const auto [found, added] = seen.try_emplace(absl::StrCat(about.id(), FormatMoment(about.begin())), label);
    if (!added) warnings.push_back(absl::StrCat(found->second, " and ", label, " are the same run, ", about.id()));
  });
}

void AddLoadWarnings(const std::vector<SideInput>& sides, std::vector<std::string>& warnings) {
  for (const RunFact& fact : LoadFacts()) {
    const std::set<std::string> first = FactOf(sides.front(), fact);
    for (size_t side = 1; side < sides.size(); ++side) {
      const std::set<std::string> other = FactOf(sides[side], fact);
      if (other == first) continue;
      warnings.push_back(absl::StrCat(SideLabel(side), " and ", SideLabel(0), " do not carry the same load, ",
                                      fact.what, ": ", Joined(other), " against ", Joined(first), "; ", fact.why));
    }
  }
  for (size_t side = 0; side < sides.size(); ++side) {
    for (const RunFact& fact : LoadFacts()) {
      std::set<std::set<std::string>> different;
      for (const RunInput& run : sides[side].runs) different.insert(fact.values(run.report));
      if (different.size() < 2) continue;
      warnings.push_back(absl::StrCat("the runs of ", SideLabel(side), " do not carry the same load, ", fact.what, ": ",
                                      Joined(FactOf(sides[side], fact))));
    }
  }
}

}  // namespace

std::string SideLabel(size_t index) {
  std::string label(1, static_cast<char>('A' + index % 26));
  return index < 26 ? label : SideLabel(index / 26 - 1) + label;
}

absl::Status CheckComparable(const std::vector<SideInput>& sides) {
  // As many as a plan can have; the work that follows grows with their square.
  constexpr int kMostSteps = 10'000;
  absl::Status too_many;
  ForEachRun(sides, [&too_many](const RunInput& run, const std::string& /*label*/) {
    if (run.report.steps_size() > kMostSteps) {
      too_many.Update(absl::InvalidArgumentError(absl::StrCat(run.source, ": it has ", run.report.steps_size(),
                                                              " steps, and a run has at most ", kMostSteps)));
    }
  });
  if (!too_many.ok()) return too_many;
  absl::Status empty;
  ForEachRun(sides, [&empty](const RunInput& run, const std::string& /*label*/) {
    if (BlockSizes(run.report).empty()) {
      empty.Update(absl::FailedPreconditionError(absl::StrCat(run.source, ": nothing was measured in this run")));
    }
  });
  if (!empty.ok()) return empty;
  if (CommonBlockSizes(sides).empty()) {
    std::vector<std::string> parts;
    ForEachRun(sides, [&parts](const RunInput& run, const std::string& /*label*/) {
      parts.push_back(absl::StrCat(SizesOf(run.report), " in ", run.source));
    });
    return absl::FailedPreconditionError(
        absl::StrCat("not comparable: no block size was measured in all runs: ", absl::StrJoin(parts, ", ")));
  }
  for (const RunFact& fact : DecisiveFacts()) {
    if (const absl::Status same = SameEverywhere(sides, fact); !same.ok()) return same;
  }
  return absl::OkStatus();
}

std::vector<uint64_t> CommonBlockSizes(const std::vector<SideInput>& sides) {
  std::map<uint64_t, size_t> runs_with;
  size_t runs = 0;
  ForEachRun(sides, [&](const RunInput& run, const std::string& /*label*/) {
    ++runs;
    for (const uint64_t size : BlockSizes(run.report)) ++runs_with[size];
  });
  std::vector<uint64_t> common;
  for (const auto& [size, count] : runs_with) {
    if (count == runs) common.push_back(size);
  }
  return common;
}

std::vector<std::string> RunTroubles(const std::vector<SideInput>& sides) {
  std::vector<std::string> troubles;
  ForEachRun(sides,
             [&troubles](const RunInput& run, const std::string& label) { AddRunWarnings(run, label, troubles); });
  return troubles;
}

std::vector<std::string> ComparisonWarnings(const std::vector<SideInput>& sides) {
  std::vector<std::string> warnings = RunTroubles(sides);
  AddSameRunWarnings(sides, warnings);
  AddLoadWarnings(sides, warnings);
  return warnings;
}

std::vector<v1::ComparedDifference> SideDifferences(const std::vector<SideInput>& sides) {
  std::vector<v1::ComparedDifference> differences;
  for (const RunFact& fact : AllFacts()) {
    std::set<std::set<std::string>> different;
    for (const SideInput& side : sides) different.insert(FactOf(side, fact));
    if (different.size() < 2) continue;
    v1::ComparedDifference& difference = differences.emplace_back();
    difference.set_what(fact.what);
    for (const SideInput& side : sides) difference.add_values(Joined(FactOf(side, fact)));
  }
  return differences;
}

}  // namespace plimsoll
