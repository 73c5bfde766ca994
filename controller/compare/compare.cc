#include "controller/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/compare/compare_words.h"
#include "controller/compare/control.h"
#include "controller/render/json.h"
#include "controller/report/main_operation.h"
#include "controller/report/playback.h"
#include "controller/report/scopes.h"
#include "controller/statistics/run_statistics.h"

namespace plimsoll {
namespace {

// "Plimsoll". The generator always starts from here, so that the same runs give the same comparison.
constexpr uint64_t kSeed = 0x506C'696D'736F'6C6C;

uint64_t SeedFor(uint64_t block_size_bytes, size_t side) {
  // Two seeds apart, since whole runs take one for each side of a pair.
  return kSeed ^ (block_size_bytes * 4096 + 2 * side);
}

v1::ComparedRun Describe(const RunInput& run) {
  v1::ComparedRun described;
  const v1::RunReport& about = run.report.run();
  described.set_source(run.source);
  described.set_id(about.id());
  described.set_name(about.name());
  if (about.has_begin()) *described.mutable_begin() = about.begin();
  described.set_version(about.version());
  described.set_state(about.state());
  described.set_outcome(run.report.verdict().outcome());
  described.set_hosts(about.hosts());
  described.set_queue_managers(about.queue_managers());
  for (const v1::StorageReport& storage : run.report.storages()) {
    described.add_storages(absl::StrCat(storage.fs_type(), storage.fs_type().empty() ? "" : " ", storage.fs_source()));
  }
  return described;
}

// The value that a standard normal variable exceeds with that probability, by bisection.
double NormalTail(double probability) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > probability ? low : high) = middle;
  }
  return low;
}

// A difference of p99 smaller than this, in percent, would hardly have been significant among so many tests: from the
// row's own interval, taken to be that of a normal distribution. 100: half or double at least. Nothing where it was not
// tested.
std::optional<double> DetectableP99(const v1::PairComparison& pair, size_t tests, const CompareSettings& settings) {
  for (const v1::ComparedRow& row : pair.rows()) {
    if (row.figure() != v1::FIGURE_P99 || !row.counted() || !row.has_low() || !row.has_high()) continue;
    if (!(row.low() > 0) || !std::isfinite(row.high())) return 100;
    const double half_width = std::log(row.high() / row.low()) / 2;
    // The intervals of rounds are adjusted already.
    const double wider =
        settings.paired ? 1 : NormalTail(kLevel / (2 * static_cast<double>(tests))) / NormalTail(kLevel / 2);
    return 100 * std::expm1(std::max(half_width * wider, std::log1p(settings.min_effect)));
  }
  return std::nullopt;
}

class Comparer {
 public:
  Comparer(const std::vector<SideInput>& sides, const CompareSettings& settings)
      : sides_(sides),
        settings_(settings),
        gate_replicates_(settings.replicates),
        plan_(sides.front().runs.front().report.plan()) {
    // The smallest p-value, adjusted for all tests that there can be, must be at most half of the level.
    constexpr size_t kTestsWithIops = 5;
    constexpr size_t kTestsOfAPart = 4;
    size_t tests_of_a_pair = 0;
    for (const uint64_t size : CommonBlockSizes(sides)) {
      tests_of_a_pair += kTestsWithIops;
      for (const std::string& name : CommonOperations(sides, size)) {
        tests_of_a_pair += IsPartName(name) ? kTestsOfAPart : kTestsWithIops;
      }
    }
    const size_t tests = tests_of_a_pair * (sides.size() - 1);
    const auto wanted = static_cast<size_t>(2 * static_cast<double>(tests) / kLevel);
    settings_.replicates = std::max(settings_.replicates, std::min(wanted, kMostReplicates));
  }

  v1::Comparison Compare() {
    AddOptions();
    for (size_t i = 0; i < sides_.size(); ++i) {
      v1::ComparedSide& side = *comparison_.add_sides();
      side.set_label(SideLabel(sides_, i));
      for (const RunInput& run : sides_[i].runs) *side.add_runs() = Describe(run);
    }
    for (const std::string& warning : ComparisonWarnings(sides_, settings_.differs)) {
      comparison_.add_warnings(warning);
    }
    for (const v1::ComparedDifference& difference : SideDifferences(sides_))
      *comparison_.add_differences() = difference;
    if (settings_.control) AddControl();
    for (const uint64_t size : CommonBlockSizes(sides_)) AddBlockSize(size);
    Judge();
    for (const std::string& sentence : MethodInWords(comparison_)) comparison_.add_method(sentence);
    for (const std::string& sentence : LimitsInWords(sides_, comparison_)) comparison_.add_limits(sentence);
    const bool recording = std::ranges::any_of(sides_, [](const SideInput& side) {
      const v1::TestPlan& plan = side.runs.front().report.plan();
      return PlaysPattern(plan) && !PlaysWritesAsRecorded(plan);
    });
    if (recording) {
      comparison_.add_limits(
          "Commits are simulated, one for each recorded write, and on slower storage they leave in fewer and larger "
          "writes: fewer, larger or slower writes alone are no worse. The commits show which side is faster.");
    } else if (plan_.has_group_commit() && !PlaysPattern(plan_)) {
      comparison_.add_limits(
          "Clients and commits are simulated, and commits make the number and the sizes of the writes: fewer, larger "
          "or slower writes alone are no worse. The commits show which side is faster.");
    }
    return std::move(comparison_);
  }

 private:
  void AddControl() {
    *comparison_.mutable_control() = CompareControl(sides_);
    const std::string doubt = ControlDoubt(sides_);
    if (!doubt.empty()) comparison_.add_warnings(doubt);
  }

  void AddOptions() {
    comparison_.set_format(1);
    comparison_.set_version(kVersion);
    v1::CompareOptions& options = *comparison_.mutable_options();
    options.set_min_effect_percent(100 * settings_.min_effect);
    options.set_level_percent(100 * kLevel);
    if (settings_.fail_if_slower) {
      options.set_fail_if_slower_percent(100 * *settings_.fail_if_slower);
      for (const v1::Figure figure : settings_.gate) options.add_gate(figure);
    }
    options.set_replicates(static_cast<uint32_t>(settings_.replicates));
    for (const std::string& option : settings_.differs) options.add_differs(option);
    if (settings_.paired) *comparison_.mutable_paired() = *settings_.paired;
    if (sides_.front().runs.front().response_times) comparison_.set_response_times(true);
  }

  void AddBlockSize(uint64_t size) {
    v1::BlockSizeComparison& block_size = *comparison_.add_block_sizes();
    block_size.set_block_size_bytes(size);
    AddPairs(size, "", settings_, block_size);
    // The gate tests the main operation alone.
    CompareSettings ungated = settings_;
    ungated.fail_if_slower.reset();
    for (const std::string& name : CommonOperations(sides_, size)) {
      v1::OperationComparison& operation = *block_size.add_operations();
      operation.set_name(name);
      AddPairs(size, name, ungated, operation);
    }
  }

  // What an operation's figures are about: its name; for the main one (""), "read" where all operations read, the name
  // of the call where only calls are watched, else "".
  std::string Subject(const std::string& operation) const {
    if (!operation.empty()) return operation;
    return OnlyReads(plan_) ? kReadName : MainCall(plan_);
  }

  // Compares `operation`, or the main one if it is empty. `compared` receives sides and pairs.
  template <typename Compared>
  void AddPairs(uint64_t size, const std::string& operation, const CompareSettings& settings, Compared& compared) {
    std::vector<SideSteps> steps;
    const TimeUnit unit = CommonUnit(sides_, size);
    for (size_t i = 0; i < sides_.size(); ++i) {
      SideSteps& side = steps.emplace_back();
      side.label = SideLabel(sides_, i);
      if (Subject(operation) == kReadName) side.noun = kReadName;
      if (!operation.empty() && operation != kReadName && !IsPartName(operation)) side.noun = "call";
      // Whole runs are compared without looking at their seconds.
      const Histograms histograms = sides_[i].runs.size() == 1 ? Histograms::kMake : Histograms::kLeaveOut;
      for (const RunInput& run : sides_[i].runs) {
        side.runs.push_back(MakeStepData(run.report, size, histograms, operation, unit));
      }
      PrepareSteps(settings, gate_replicates_, SeedFor(size, i), side);
      v1::SideFigures& figures = *compared.add_sides();
      for (const StepData& run : side.runs) *figures.add_runs() = run.figures;
    }
    for (size_t i = 1; i < sides_.size(); ++i) {
      PairResult result = ComparePair(steps[0], steps[i], settings, gate_replicates_, SeedFor(size, i));
      *compared.add_pairs() = std::move(result.pair);
      doubts_.push_back(DifferenceDoubt(sides_, i, size));
      half_widths_.push_back(std::move(result.half_width));
      if (operation.empty()) gated_.push_back(std::move(result.gated));
      rounds_.insert(rounds_.end(), result.rounds.begin(), result.rounds.end());
    }
  }

  // What needs all rows: p-values adjusted, findings, words.
  void Judge() {
    std::vector<double> p;
    ForEachRow([&p](v1::ComparedRow& row) {
      if (row.counted()) p.push_back(row.p());
    });
    comparison_.set_tests(static_cast<uint32_t>(p.size()));
    const std::vector<double> adjusted =
        settings_.paired ? PairedPValues(rounds_, LooksOf(*settings_.paired), Tail::kBoth) : HolmAdjusted(p);
    size_t next = 0;
    ForEachRow([&](v1::ComparedRow& row) {
      if (row.counted()) row.set_adjusted_p(adjusted[next++]);
    });
    auto half_width = half_widths_.begin();
    auto doubt = doubts_.begin();
    const auto judge = [&](const std::string& name, auto& compared) {
      int side = 0;
      for (v1::PairComparison& pair : *compared.mutable_pairs()) {
        JudgePair(*doubt++, pair);
        const auto p99 = DetectableP99(pair, p.size(), settings_);
        if (p99) pair.set_detectable_p99_percent(*p99);
        if (*half_width) {
          const double width = (*half_width)(kLevel / static_cast<double>(p.size()));
          pair.set_detectable_percent(100 * (std::exp(std::max(width, std::log1p(settings_.min_effect))) - 1));
        }
        ++half_width;
        pair.set_summary(Summary(pair, Subject(name), {SideLabel(sides_, 0), compared.sides(0)},
                                 {pair.side(), compared.sides(++side)}, settings_));
      }
    };
    for (v1::BlockSizeComparison& block_size : *comparison_.mutable_block_sizes()) {
      judge("", block_size);
      for (v1::OperationComparison& operation : *block_size.mutable_operations()) judge(operation.name(), operation);
    }
    if (settings_.fail_if_slower) JudgeGate();
    comparison_.set_headline(HeadlineInWords(comparison_, MainOperations(plan_)));
  }

  // Three answers. A row is beyond the limit where that is significant among all gated rows together; it is within
  // where its own bound is, for all of them have to be. Another row can only turn the second answer into one of the
  // others, and the first into the third.
  void JudgeGate() {
    std::vector<double> p;
    std::vector<RoundDifferences> rounds;
    for (const std::vector<GatedRow>& pair : gated_) {
      for (const GatedRow& gated : pair) {
        if (!gated.slower_p) continue;
        p.push_back(*gated.slower_p);
        rounds.push_back(gated.rounds);
      }
    }
    const std::vector<double> adjusted =
        settings_.paired ? PairedPValues(rounds, LooksOf(*settings_.paired), Tail::kAbove) : HolmAdjusted(p);
    auto next = adjusted.begin();
    auto of_pair = gated_.begin();
    for (v1::BlockSizeComparison& block_size : *comparison_.mutable_block_sizes()) {
      for (v1::PairComparison& pair : *block_size.mutable_pairs()) {
        for (const GatedRow& gated : *of_pair++) {
          JudgeGated(block_size, gated, gated.slower_p ? std::optional(*next++) : std::nullopt, pair);
        }
      }
    }
    for (const std::string& trouble : RunTroubles(sides_)) comparison_.add_undecided(trouble);
    comparison_.set_gate(!comparison_.slower().empty()      ? v1::OUTCOME_FAIL
                         : !comparison_.undecided().empty() ? v1::OUTCOME_INCONCLUSIVE
                                                            : v1::OUTCOME_PASS);
    comparison_.set_gate_summary(GateInWords(comparison_));
  }

  void JudgeGated(const v1::BlockSizeComparison& block_size, const GatedRow& gated, std::optional<double> adjusted_p,
                  v1::PairComparison& pair) {
    const std::string where = absl::StrCat(pair.side(), " against ", SideLabel(sides_, 0), " at ",
                                           FormatBlockSize(block_size.block_size_bytes()), ": ");
    const std::string name = FigureName(gated.figure);
    v1::ComparedRow* row = gated.row < 0 ? nullptr : pair.mutable_rows(gated.row);
    if (row != nullptr) row->set_gate(v1::OUTCOME_INCONCLUSIVE);
    if (!adjusted_p) {
      comparison_.add_undecided(absl::StrCat(where, name, " was not tested: ", gated.reason));
      return;
    }
    row->set_slower_p(*adjusted_p);
    if (row->finding() == v1::FINDING_INCONCLUSIVE) {
      comparison_.add_undecided(absl::StrCat(where, name, " may not be that of the storage: ", row->reason()));
    } else if (*adjusted_p < kLevel) {
      row->set_gate(v1::OUTCOME_FAIL);
      comparison_.add_slower(absl::StrCat(
          pair.side(), " is slower than ", SideLabel(sides_, 0), " at ", FormatBlockSize(block_size.block_size_bytes()),
          ": ", name, row->ratio() > 1 ? " longer by " : " lower by ", ChangeInWords(row->ratio())));
    } else if (*gated.within_p <= kLevel) {
      row->set_gate(v1::OUTCOME_PASS);
    } else {
      comparison_.add_undecided(
          absl::StrCat(where, name,
                       std::isfinite(row->slower_bound_percent())
                           ? absl::StrCat(" may be slower by up to ", PercentInWords(row->slower_bound_percent()), " %")
                           : " may be slower by any amount",
                       " (one-sided bound of 95 %)"));
    }
  }

  // `doubt`: why a difference may not come from the storage; "": nothing suggests it.
  void JudgePair(const std::string& doubt, v1::PairComparison& pair) {
    const v1::ComparedRow* iops = nullptr;
    for (v1::ComparedRow& row : *pair.mutable_rows()) {
      if (row.figure() == v1::FIGURE_IOPS) iops = &row;
      if (row.figure() == v1::FIGURE_MB_PER_SECOND && iops != nullptr) {
        if (iops->has_adjusted_p()) row.set_adjusted_p(iops->adjusted_p());
        row.set_finding(iops->finding());
      } else if (row.counted()) {
        row.set_finding(FindingOf(row));
      }
      if (doubt.empty() || row.finding() == v1::FINDING_NOT_TESTED) continue;
      row.set_finding(v1::FINDING_INCONCLUSIVE);
      row.set_reason(doubt);
    }
  }

  v1::Finding FindingOf(const v1::ComparedRow& row) const {
    if (row.adjusted_p() >= kLevel) return v1::FINDING_NOT_CLEAR;
    if (std::abs(std::log(row.ratio())) <= std::log1p(settings_.min_effect)) return v1::FINDING_SMALL;
    const bool larger_is_better = row.figure() == v1::FIGURE_IOPS;
    return (row.ratio() > 1) == larger_is_better ? v1::FINDING_BETTER : v1::FINDING_WORSE;
  }

  // Visits rows in the order in which AddPairs added them.
  template <typename Visit>
  void ForEachRow(const Visit& visit) {
    const auto visit_pairs = [&visit](auto& compared) {
      for (v1::PairComparison& pair : *compared.mutable_pairs()) {
        for (v1::ComparedRow& row : *pair.mutable_rows()) visit(row);
      }
    };
    for (v1::BlockSizeComparison& block_size : *comparison_.mutable_block_sizes()) {
      visit_pairs(block_size);
      for (v1::OperationComparison& operation : *block_size.mutable_operations()) visit_pairs(operation);
    }
  }

  const std::vector<SideInput>& sides_;
  CompareSettings settings_;
  // Before there are more of them for many tests.
  const size_t gate_replicates_;
  // The first run's plan. All runs have the same main operation.
  const v1::TestPlan& plan_;
  v1::Comparison comparison_;
  // By pair, in the order in which AddPairs added them; what is gated, of pairs of the main operation alone.
  std::vector<std::function<double(double)>> half_widths_;
  std::vector<std::vector<GatedRow>> gated_;
  std::vector<std::string> doubts_;
  // Differences of runs in pairs, by row that counts.
  std::vector<RoundDifferences> rounds_;
};

}  // namespace

absl::StatusOr<std::vector<v1::Figure>> ParseGate(const std::string& names) {
  std::vector<v1::Figure> gate;
  for (const auto& part : absl::StrSplit(names, ',')) {
    const std::string name(part);
    v1::Figure found = v1::FIGURE_UNSPECIFIED;
    for (const v1::Figure figure : {v1::FIGURE_IOPS, v1::FIGURE_MB_PER_SECOND, v1::FIGURE_AVG, v1::FIGURE_P50,
                                    v1::FIGURE_P99, v1::FIGURE_P99_9}) {
      if (EnumName(*v1::Figure_descriptor(), figure) == name) found = figure;
    }
    if (found == v1::FIGURE_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(name), " is not one of iops, mb_per_second, avg, p50, p99 and p99_9"));
    }
    if (std::find(gate.begin(), gate.end(), found) != gate.end()) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(name), " is listed twice"));
    }
    gate.push_back(found);
  }
  return gate;
}

absl::StatusOr<v1::Comparison> Compare(const std::vector<SideInput>& sides, const CompareSettings& given) {
  CompareSettings settings = given;
  if (settings.paired) {
    if (sides.size() != 2 || sides[0].runs.size() != sides[1].runs.size()) {
      return absl::FailedPreconditionError("pairs need two sides with as many runs each");
    }
    settings.paired = CompleteDesign(*settings.paired, sides[0].runs.size());
  }
  if (absl::Status comparable = CheckComparable(sides, settings.differs); !comparable.ok()) return comparable;
  if (settings.fail_if_slower) PLIMSOLL_RETURN_IF_ERROR(CheckJudged(sides));
  if (const size_t sizes = CommonBlockSizes(sides).size(); sizes > kMostBlockSizes) {
    return absl::FailedPreconditionError(absl::StrCat("not comparable: ", FormatCount(sizes),
                                                      " block sizes were measured in all runs; compare at most ",
                                                      kMostBlockSizes, " of them"));
  }
  return Comparer(sides, settings).Compare();
}

}  // namespace plimsoll
