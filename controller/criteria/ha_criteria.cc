// Criteria of HA drills.
#include <array>
#include <charconv>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestHaCriterion = 200;
constexpr int64_t kMostHaTimeNs = 24 * 3'600 * kNsPerSecond;
constexpr char kNoScan[] = "a queue manager's log was not read by a takeover or not scanned at the end";
constexpr char kNoTakeover[] = "there was no takeover";
// Longer comparisons first.
constexpr std::array<const char*, 6> kHaComparisons = {"<=", ">=", "==", "<", ">", ":"};
// For ":", the last one, that of a time.
constexpr std::array<HaComparison, 6> kHaComparisonOf = {HaComparison::kLessOrEqual, HaComparison::kGreaterOrEqual,
                                                         HaComparison::kEqual,       HaComparison::kLess,
                                                         HaComparison::kGreater,     HaComparison::kLess};

std::vector<HaMetricInfo> MakeHaMetrics() {
  return {
      {HaMetric::kLost, "lost", false,
       "acknowledged writes that are missing, torn, misplaced, or overwritten by an old active instance", kNoScan},
      {HaMetric::kTorn, "torn", false, "acknowledged writes of which a page is torn, or belongs to another write",
       kNoScan},
      {HaMetric::kMisplaced, "misplaced", false, "acknowledged writes in whose place other data were found", kNoScan},
      {HaMetric::kOverwritten, "overwritten", false,
       "acknowledged writes that an old active instance overwrote after the takeover", kNoScan},
      {HaMetric::kOrderBroken, "order_broken", false,
       "acknowledged writes that are missing although a later one is there, or that follow a later epoch", kNoScan},
      {HaMetric::kSplitBrain, "split_brain", false,
       "times at which two instances held the lock, or with `fence: extents` an old active instance wrote after the "
       "grant",
       "a moment is not known"},
      {HaMetric::kLateWriters, "late_writers", false,
       "old active instances that wrote after the grant, whatever the fence", "a moment is not known"},
      {HaMetric::kNotReleased, "not_released", false,
       "locks of a dead instance that were not released within `takeover_limit`", "a round did not run to its end"},
      {HaMetric::kTakeoverMax, "takeover_max", true, "longest time from the fault to the first new durable write",
       kNoTakeover},
      {HaMetric::kTakeoverMedian, "takeover_median", true, "median of it", kNoTakeover},
      {HaMetric::kGapMax, "gap_max", true,
       "longest time from the last acknowledged write of the old active instance to the first of the new one",
       kNoTakeover},
      {HaMetric::kGapMedian, "gap_median", true, "median of it", kNoTakeover},
      {HaMetric::kGrantMax, "grant_max", true, "longest time from the fault to the grant of the lock", kNoTakeover},
      {HaMetric::kReplayMax, "replay_max", true, "longest time from the grant until the log was read", kNoTakeover},
      {HaMetric::kOwnMax, "own_max", true,
       "longest time from the grant to the first new durable write, without reading the log", kNoTakeover},
  };
}

absl::Status BadCriterion(const std::string& text, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a criterion of an HA drill: ", why));
}

std::string TrimText(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::StatusOr<int64_t> ParseHaLimit(const HaMetricInfo& info, const std::string& text, const std::string& limit) {
  if (info.is_time) {
    const bool has_unit = !limit.empty() && absl::ascii_isalpha(static_cast<unsigned char>(limit.back()));
    const absl::StatusOr<int64_t> time_ns = has_unit ? ParseDuration(limit) : absl::InvalidArgumentError("");
    if (!time_ns.ok() || *time_ns < 0 || *time_ns > kMostHaTimeNs) {
      return BadCriterion(text,
                          absl::StrCat("expected a time from 0s to 24h with its unit, such as 60s, not '", limit, "'"));
    }
    return *time_ns;
  }
  int64_t count = 0;
  const auto [rest, error] = std::from_chars(limit.data(), limit.data() + limit.size(), count);
  if (error != std::errc() || rest != limit.data() + limit.size() || count < 0) {
    return BadCriterion(text, absl::StrCat("expected a whole number from 0, not '", limit, "'"));
  }
  return count;
}

// Puts the usual comparison in place of ":".
void SpellOut(const HaMetricInfo& info, const std::string& limit, HaCriterion& criterion) {
  if (!info.is_time) criterion.comparison = criterion.limit == 0 ? HaComparison::kEqual : HaComparison::kLessOrEqual;
  criterion.text = absl::StrCat(info.name, info.is_time ? "<" : criterion.limit == 0 ? "==" : "<=", limit);
}

}  // namespace

const std::vector<HaMetricInfo>& HaMetrics() {
  static const auto& metrics = *new std::vector<HaMetricInfo>(MakeHaMetrics());
  return metrics;
}

const HaMetricInfo& InfoOf(HaMetric metric) {
  return HaMetrics()[static_cast<size_t>(metric)];
}

absl::StatusOr<HaCriterion> ParseHaCriterion(const std::string& text) {
  HaCriterion criterion;
  criterion.text = TrimText(text);
  if (criterion.text.size() > kLongestHaCriterion) {
    return BadCriterion(criterion.text.substr(0, 40) + "...",
                        absl::StrCat("it is longer than ", kLongestHaCriterion, " letters"));
  }
  const std::string lower = absl::AsciiStrToLower(criterion.text);
  const size_t sign = lower.find_first_of("<>=:");
  size_t kind = 0;
  while (kind < kHaComparisons.size() &&
         (sign == std::string::npos || lower.rfind(kHaComparisons[kind], sign) != sign)) {
    ++kind;
  }
  if (kind == kHaComparisons.size()) {
    return BadCriterion(criterion.text,
                        "expected a metric, one of < <= > >= == or :, and a limit, such as takeover_max<60s or "
                        "takeover_max:60s");
  }
  criterion.comparison = kHaComparisonOf[kind];
  const std::string name = TrimText(lower.substr(0, sign));
  const std::string limit = TrimText(lower.substr(sign + std::string(kHaComparisons[kind]).size()));
  std::string names;
  for (const HaMetricInfo& info : HaMetrics()) {
    if (name == info.name) {
      absl::StatusOr<int64_t> value = ParseHaLimit(info, criterion.text, limit);
      if (!value.ok()) return value.status();
      criterion.metric = info.metric;
      criterion.limit = *value;
      if (std::string(kHaComparisons[kind]) == ":") SpellOut(info, limit, criterion);
      return criterion;
    }
    absl::StrAppend(&names, names.empty() ? "" : ", ", info.name);
  }
  return BadCriterion(criterion.text, absl::StrCat("expected one of ", names, ", not '", name, "'"));
}

bool Fulfils(const HaCriterion& criterion, int64_t value) {
  switch (criterion.comparison) {
    case HaComparison::kLess:
      return value < criterion.limit;
    case HaComparison::kLessOrEqual:
      return value <= criterion.limit;
    case HaComparison::kGreater:
      return value > criterion.limit;
    case HaComparison::kGreaterOrEqual:
      return value >= criterion.limit;
    case HaComparison::kEqual:
      break;
  }
  return value == criterion.limit;
}

std::string HaMetricTable() {
  std::string table = "| Metric | Of what | Unit | No value where |\n| --- | --- | --- | --- |\n";
  for (const HaMetricInfo& info : HaMetrics()) {
    absl::StrAppend(&table, "| `", info.name, "` | ", info.meaning, " | ", info.is_time ? "time with unit" : "number",
                    " | ", info.missing, " |\n");
  }
  return table;
}

}  // namespace plimsoll
