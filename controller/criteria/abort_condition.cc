#include "controller/criteria/abort_condition.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr char kExample[] = "write it as in 'p99>20ms for 5s'";
constexpr char kMetrics[] = "a second has p50, p99, p99.9, max, avg, iops and mbps";
constexpr int64_t kLongestNs = 3600 * kNsPerSecond;

// What is wrong with a criterion as a condition of a second; empty: nothing is.
std::string Problem(const Criterion& criterion) {
  switch (criterion.metric) {
    case Metric::kPercentile:
      if (criterion.percentile != 50 && criterion.percentile != 99 && criterion.percentile != 99.9) return kMetrics;
      break;
    case Metric::kMax:
    case Metric::kAverage:
    case Metric::kWritesPerSecond:
    case Metric::kBytesPerSecond:
      break;
    default:
      return kMetrics;
  }
  if (criterion.service_time || !criterion.operation.empty()) {
    return "the figures of a second are those of all operations, as the live view shows them; leave the part before "
           "'_' out";
  }
  if (criterion.block_size_bytes != 0) return "it holds in every step; leave the block size out";
  if (criterion.scope == CriterionScope::kHost) {
    const bool of_hosts =
        criterion.metric == Metric::kMax || (criterion.metric == Metric::kPercentile && criterion.percentile == 99);
    if (!of_hosts) return "only p99 and max are known for each host; leave '@host' out";
  } else if (criterion.scope != CriterionScope::kCluster) {
    return "'@cluster' or '@host' says where it is looked at";
  }
  if (criterion.comparison == Comparison::kEqual) return "'==' is not a limit; use '<' or '>'";
  if (WantsSmall(criterion) == (InfoOf(criterion.metric).better == Better::kLower)) {
    Criterion meant = Reversed(criterion);
    if (meant.scope == CriterionScope::kCluster) meant.scope = InfoOf(meant.metric).scopes.front();
    return absl::StrCat("it is true of a good second and would end a run that is well; did you mean '",
                        FormatCriterion(meant), "'?");
  }
  return "";
}

}  // namespace

absl::StatusOr<AbortCondition> ParseAbortCondition(const std::string& text) {
  AbortCondition condition;
  condition.text = std::string(absl::StripAsciiWhitespace(text));
  const auto wrong = [&condition](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("'", condition.text, "': ", why));
  };
  std::string criterion = condition.text;
  if (const size_t at = absl::AsciiStrToLower(condition.text).rfind(" for "); at != std::string::npos) {
    criterion.resize(at);
    const absl::StatusOr<int64_t> length_ns =
        ParseDuration(std::string(absl::StripAsciiWhitespace(condition.text.substr(at + 5))));
    if (!length_ns.ok()) return wrong(absl::StrCat(length_ns.status().message(), "; ", kExample));
    if (*length_ns < kNsPerSecond || *length_ns > kLongestNs || *length_ns % kNsPerSecond != 0) {
      return wrong("the time after 'for' is in whole seconds, from 1s to 1h");
    }
    condition.seconds = static_cast<uint32_t>(*length_ns / kNsPerSecond);
  }
  // A colon stands for the comparison of a criterion, which wants the opposite.
  if (absl::StrContains(criterion, ':')) return wrong(absl::StrCat("':' is for criteria; ", kExample));
  const absl::StatusOr<Criterion> parsed = ParseCriterion(criterion);
  if (!parsed.ok()) return wrong(absl::StrCat(parsed.status().message(), "; ", kExample));
  condition.criterion = *parsed;
  if (!absl::StrContains(criterion, '@')) condition.criterion.scope = CriterionScope::kCluster;
  if (const std::string problem = Problem(condition.criterion); !problem.empty()) return wrong(problem);
  return condition;
}

}  // namespace plimsoll
