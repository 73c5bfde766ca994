#include "controller/plan/criteria.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxLength = 200;
// The histogram ends here: a limit beyond it would always hold.
constexpr int64_t kMaxLatencyNs = 3'600 * kNsPerSecond;
// Beyond 2^53 a double no longer tells neighbouring counts apart.
constexpr double kMaxNumber = 9'007'199'254'740'992.0;

struct MetricName {
  const char* name;
  Metric metric;
};

// The first name of a metric is the one that FormatCriterion writes.
constexpr std::array<MetricName, 11> kMetrics = {{{"min", Metric::kMin},
                                                  {"max", Metric::kMax},
                                                  {"avg", Metric::kAverage},
                                                  {"mean", Metric::kAverage},
                                                  {"wavg", Metric::kWeightedAverage},
                                                  {"iops", Metric::kWritesPerSecond},
                                                  {"mbps", Metric::kBytesPerSecond},
                                                  {"mb/s", Metric::kBytesPerSecond},
                                                  {"min_second_iops", Metric::kMinWritesPerSecond},
                                                  {"min_second_mbps", Metric::kMinBytesPerSecond},
                                                  {"writes", Metric::kWrites}}};

constexpr std::array<const char*, 4> kScopes = {"cluster", "storage", "host", "qm"};
constexpr std::array<const char*, 4> kComparisons = {"<", "<=", ">", ">="};

absl::Status Bad(const std::string& text, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a criterion: ", why));
}

std::string Trim(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

// A plain decimal number; nothing where the text is anything else.
std::optional<double> ParseNumber(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string FormatNumber(double value) {
  std::array<char, 400> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return {buffer.data(), result.ptr};
}

absl::Status SetMetric(const std::string& text, const std::string& name, Criterion& criterion) {
  for (const MetricName& known : kMetrics) {
    if (name == known.name) {
      criterion.metric = known.metric;
      return absl::OkStatus();
    }
  }
  if (name.size() > 1 && name[0] == 'p' && absl::ascii_isdigit(static_cast<unsigned char>(name[1]))) {
    const std::optional<double> percentile = ParseNumber(name.substr(1));
    if (!percentile.has_value() || *percentile <= 0 || *percentile >= 100) {
      return Bad(text, absl::StrCat("'", name, "' is not a percentile between p0 and p100, such as p99.9",
                                    percentile == 100.0 ? "; the highest latency is max" : ""));
    }
    criterion.metric = Metric::kPercentile;
    criterion.percentile = *percentile;
    return absl::OkStatus();
  }
  return Bad(text, absl::StrCat("expected pN (such as p99.9), min, max, avg, wavg, iops, mbps, min_second_iops, "
                                "min_second_mbps or writes, not '",
                                name, "'"));
}

absl::Status SetWhere(const std::string& text, const std::string& word, Criterion& criterion, bool& has_scope) {
  for (size_t i = 0; i < kScopes.size(); ++i) {
    if (word != kScopes[i]) continue;
    if (has_scope) return Bad(text, "expected one of @cluster, @storage, @host and @qm, not two");
    has_scope = true;
    criterion.scope = static_cast<CriterionScope>(i);
    return absl::OkStatus();
  }
  const absl::StatusOr<uint64_t> size = ParseSize(word);
  if (!size.ok() || *size == 0) {
    return Bad(text,
               absl::StrCat("expected @cluster, @storage, @host, @qm or a block size such as @4k, not '@", word, "'"));
  }
  if (criterion.block_size_bytes != 0) return Bad(text, "expected one block size, not two");
  criterion.block_size_bytes = *size;
  return absl::OkStatus();
}

absl::StatusOr<double> ParseLatency(const std::string& text, const std::string& limit) {
  // A number alone could mean seconds or milliseconds to its reader. Digits and a unit are short.
  const bool has_unit = !limit.empty() && absl::ascii_isalpha(static_cast<unsigned char>(limit.back()));
  const absl::StatusOr<int64_t> latency_ns =
      has_unit && limit.size() <= 40 ? ParseDuration(limit) : absl::InvalidArgumentError("");
  if (!latency_ns.ok()) {
    return Bad(text, absl::StrCat("expected a time with its unit, such as 10ms, not '", limit, "'"));
  }
  if (*latency_ns < 0 || *latency_ns > kMaxLatencyNs) {
    return Bad(text, absl::StrCat("expected a time from 0s to 1h, not '", limit, "'"));
  }
  return static_cast<double>(*latency_ns);
}

absl::Status SetLimit(const std::string& text, const std::string& limit, Criterion& criterion) {
  if (UnitOf(criterion.metric) == MetricUnit::kNanoseconds) {
    PLIMSOLL_ASSIGN_OR_RETURN(criterion.limit, ParseLatency(text, limit));
    return absl::OkStatus();
  }
  const std::optional<double> number = ParseNumber(limit);
  const bool megabytes = UnitOf(criterion.metric) == MetricUnit::kBytesPerSecond;
  if (!number.has_value() || *number < 0 || *number > (megabytes ? kMaxNumber / kBytesPerMegabyte : kMaxNumber)) {
    return Bad(text, absl::StrCat("expected a number from 0, such as 2000, not '", limit, "'"));
  }
  // Whole bytes, so that the limit in megabytes comes back as it was written.
  criterion.limit = megabytes ? std::round(*number * kBytesPerMegabyte) : *number;
  return absl::OkStatus();
}

}  // namespace

MetricUnit UnitOf(Metric metric) {
  switch (metric) {
    case Metric::kPercentile:
    case Metric::kMin:
    case Metric::kMax:
    case Metric::kAverage:
    case Metric::kWeightedAverage:
      return MetricUnit::kNanoseconds;
    case Metric::kWritesPerSecond:
    case Metric::kMinWritesPerSecond:
      return MetricUnit::kWritesPerSecond;
    case Metric::kBytesPerSecond:
    case Metric::kMinBytesPerSecond:
      return MetricUnit::kBytesPerSecond;
    case Metric::kWrites:
      break;
  }
  return MetricUnit::kWrites;
}

absl::StatusOr<Criterion> ParseCriterion(const std::string& text) {
  Criterion criterion;
  criterion.text = Trim(text);
  if (criterion.text.size() > kMaxLength) {
    return Bad(criterion.text.substr(0, 40) + "...", absl::StrCat("it is longer than ", kMaxLength, " letters"));
  }
  const std::string lower = absl::AsciiStrToLower(criterion.text);
  const size_t sign = lower.find_first_of("<>");
  if (sign == std::string::npos) {
    return Bad(criterion.text, "expected a metric, one of < <= > >=, and a limit, such as p99<10ms");
  }
  const bool or_equal = sign + 1 < lower.size() && lower[sign + 1] == '=';
  if (lower[sign] == '<') {
    criterion.comparison = or_equal ? Comparison::kLessOrEqual : Comparison::kLess;
  } else {
    criterion.comparison = or_equal ? Comparison::kGreaterOrEqual : Comparison::kGreater;
  }
  const std::vector<std::string> words = absl::StrSplit(lower.substr(0, sign), '@');
  PLIMSOLL_RETURN_IF_ERROR(SetMetric(criterion.text, Trim(words[0]), criterion));
  bool has_scope = false;
  for (size_t i = 1; i < words.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(SetWhere(criterion.text, Trim(words[i]), criterion, has_scope));
  }
  PLIMSOLL_RETURN_IF_ERROR(SetLimit(criterion.text, Trim(lower.substr(sign + (or_equal ? 2 : 1))), criterion));
  return criterion;
}

std::string FormatCriterion(const Criterion& criterion) {
  std::string text;
  if (criterion.metric == Metric::kPercentile) text = absl::StrCat("p", FormatNumber(criterion.percentile));
  for (const MetricName& known : kMetrics) {
    if (text.empty() && known.metric == criterion.metric) text = known.name;
  }
  if (criterion.scope != CriterionScope::kCluster) {
    absl::StrAppend(&text, "@", kScopes[static_cast<size_t>(criterion.scope)]);
  }
  if (criterion.block_size_bytes != 0) absl::StrAppend(&text, "@", FormatSize(criterion.block_size_bytes));
  absl::StrAppend(&text, kComparisons[static_cast<size_t>(criterion.comparison)]);
  switch (UnitOf(criterion.metric)) {
    case MetricUnit::kNanoseconds:
      return text + FormatDuration(static_cast<int64_t>(criterion.limit));
    case MetricUnit::kBytesPerSecond:
      return text + FormatNumber(criterion.limit / kBytesPerMegabyte);
    case MetricUnit::kWritesPerSecond:
    case MetricUnit::kWrites:
      break;
  }
  return text + FormatNumber(criterion.limit);
}

bool Fulfils(const Criterion& criterion, double value) {
  switch (criterion.comparison) {
    case Comparison::kLess:
      return value < criterion.limit;
    case Comparison::kLessOrEqual:
      return value <= criterion.limit;
    case Comparison::kGreater:
      return value > criterion.limit;
    case Comparison::kGreaterOrEqual:
      break;
  }
  return value >= criterion.limit;
}

}  // namespace plimsoll
