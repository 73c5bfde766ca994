#include "controller/criteria/criteria.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

using enum CriterionScope;

constexpr char kNoWrite[] = "nothing was written";
constexpr char kNoSecond[] = "the step has no whole second";
constexpr char kNoTrend[] = "the step has fewer than five whole seconds";

std::vector<MetricInfo> MakeMetrics() {
  const std::vector<CriterionScope> every_qm = {kQm, kHost, kStorage, kCluster};
  const std::vector<CriterionScope> together = {kCluster, kStorage, kHost, kQm};
  const std::vector<CriterionScope> whole = {kCluster};
  return {
      {Metric::kPercentile, "pN", "", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false,
       "latency that N % of the writes do not exceed, N between 0 and 100 (p50, p99, p99.9)", kNoWrite},
      {Metric::kMin, "min", "", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false, "lowest latency",
       kNoWrite},
      {Metric::kMax, "max", "", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false, "highest latency",
       kNoWrite},
      {Metric::kAverage, "avg", "mean", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false,
       "mean latency", kNoWrite},
      {Metric::kWeightedAverage, "wavg", "", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false,
       "WAvg of the report", kNoWrite},
      {Metric::kWritesPerSecond, "iops", "", MetricUnit::kWritesPerSecond, "", Better::kHigher, together, false, false,
       "writes per second over the step", "nothing was measured"},
      {Metric::kBytesPerSecond, "mbps", "mb/s", MetricUnit::kBytesPerSecond, "", Better::kHigher, together, false,
       false, "megabytes (10^6 bytes) per second over the step", "nothing was measured"},
      {Metric::kMinWritesPerSecond, "min_second_iops", "", MetricUnit::kWritesPerSecond, "", Better::kHigher, together,
       false, false, "writes in the worst whole second of the step", kNoSecond},
      {Metric::kMinBytesPerSecond, "min_second_mbps", "", MetricUnit::kBytesPerSecond, "", Better::kHigher, together,
       false, false, "megabytes in the worst whole second of the step", kNoSecond},
      {Metric::kWrites, "writes", "", MetricUnit::kCount, "writes", Better::kHigher, together, false, false,
       "writes of the step", "never"},
      {Metric::kRateAchieved, "rate_achieved", "", MetricUnit::kPercent, "", Better::kHigher, every_qm, false, false,
       "writes that completed within the measured time, in percent of those due by the target rate (`rate`)",
       "no queue manager has a target rate; one write of a queue manager more or less decides"},
      {Metric::kNotIssued, "not_issued", "", MetricUnit::kCount, "writes", Better::kLower, together, false, false,
       "writes that were due and not issued when the step ended",
       "no queue manager has a target rate, or a writer's own count is missing"},
      {Metric::kStalls, "stalls", "", MetricUnit::kCount, "stalls", Better::kLower, whole, false, true,
       "stalls of the step",
       "the hosts do not report stalls; `storage` or `host_path`: which of them a stall was is undetermined"},
      {Metric::kLongestStall, "longest_stall", "", MetricUnit::kNanoseconds, "", Better::kLower, whole, false, true,
       "length of the longest stall; 0s: there was none", "likewise; or the limit is below what counts as a stall"},
      {Metric::kSteady, "steady", "", MetricUnit::kYesNo, "", Better::kHigher, whole, false, false,
       "whether IO/s is steady by SNIA's rule; `steady` alone requires it", kNoTrend},
      {Metric::kDriftIops, "drift_iops", "", MetricUnit::kSignedPercent, "", Better::kHigher, whole, false, false,
       "change of IO/s from the first to the last third of the step", kNoTrend},
      {Metric::kDriftLatency, "drift_latency", "", MetricUnit::kSignedPercent, "", Better::kLower, whole, false, false,
       "change of the mean service time from the first to the last third of the step", kNoTrend},
      {Metric::kFairness,
       "fairness",
       "",
       MetricUnit::kRatio,
       "",
       Better::kHigher,
       {kQm, kHost},
       false,
       false,
       "Jain's index of IO/s among the queue managers, or with `@host` among the hosts; 1: all have the same",
       "there are fewer than two of them"},
      {Metric::kStartSkew, "start_skew", "", MetricUnit::kNanoseconds, "", Better::kLower, whole, false, false,
       "latest minus earliest first write of the hosts", "a host has no first write, or its clock is not known"},
      {Metric::kClockError,
       "clock_error",
       "",
       MetricUnit::kNanoseconds,
       "",
       Better::kLower,
       {kHost},
       false,
       false,
       "bound of a host's clock error while steps ran",
       "the host answered no clock probe"},
      {Metric::kNfsRetransmits,
       "nfs_retransmits",
       "",
       MetricUnit::kCount,
       "retransmits",
       Better::kLower,
       {kCluster, kHost},
       false,
       false,
       "NFS WRITE and COMMIT calls that a host's kernel retransmitted",
       "a host reports no NFS mount below its directory, its counters went back, or calls were retransmitted as the "
       "warm-up "
       "ended"},
      {Metric::kHosts, "hosts", "", MetricUnit::kCount, "hosts", Better::kHigher, whole, false, false,
       "hosts that were measured to the end of the step; where `hosts>=N` is given and holds, a host that was lost or "
       "failed is not a reason for INCONCLUSIVE",
       "never"},
  };
}

std::string UnitWords(const MetricInfo& info) {
  switch (info.unit) {
    case MetricUnit::kNanoseconds:
      return "time with unit";
    case MetricUnit::kWritesPerSecond:
      return "writes/s";
    case MetricUnit::kBytesPerSecond:
      return "MB/s";
    case MetricUnit::kCount:
      return absl::StrCat("number of ", info.noun);
    case MetricUnit::kPercent:
    case MetricUnit::kSignedPercent:
      return "percent";
    case MetricUnit::kRatio:
      return "0 to 1";
    case MetricUnit::kYesNo:
      break;
  }
  return "`yes`, `no`";
}

}  // namespace

const std::vector<MetricInfo>& Metrics() {
  static const auto& metrics = *new std::vector<MetricInfo>(MakeMetrics());
  return metrics;
}

const MetricInfo& InfoOf(Metric metric) {
  return Metrics()[static_cast<size_t>(metric)];
}

const char* ScopeName(CriterionScope scope) {
  switch (scope) {
    case kCluster:
      return "cluster";
    case kStorage:
      return "storage";
    case kHost:
      return "host";
    case kQm:
      break;
  }
  return "qm";
}

std::string MetricNames() {
  std::string names;
  for (const MetricInfo& info : Metrics()) {
    absl::StrAppend(&names,
                    names.empty()                ? ""
                    : &info == &Metrics().back() ? " or "
                                                 : ", ",
                    info.name, info.metric == Metric::kPercentile ? " (such as p99.9)" : "");
  }
  return names;
}

std::string MetricTable() {
  std::string table =
      "| Metric | Of what | Unit | Better | Where | No value where |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const MetricInfo& info : Metrics()) {
    absl::StrAppend(&table, "| `", info.name, "`",
                    info.alias[0] == '\0' ? "" : absl::StrCat(" (or `", info.alias, "`)"),
                    info.has_service_time ? absl::StrCat(", `service_", info.name, "`") : "",
                    info.has_stall_class ? absl::StrCat(", `", info.name, "[class]`") : "", " | ", info.meaning, " | ",
                    UnitWords(info), " | ", info.better == Better::kLower ? "lower" : "higher", " | ");
    for (const CriterionScope scope : info.scopes) {
      const bool first = scope == info.scopes.front();
      absl::StrAppend(&table, first ? "**`@" : ", `@", ScopeName(scope), first ? "`**" : "`");
    }
    absl::StrAppend(&table, " | ", info.missing, " |\n");
  }
  return table;
}

namespace {

constexpr size_t kMaxLength = 200;
// The histogram ends here: longer latencies are not distinguished.
constexpr int64_t kMaxLatencyNs = 3'600 * kNsPerSecond;
// Beyond 2^53 a double no longer distinguishes neighbouring counts.
constexpr double kMaxNumber = 9'007'199'254'740'992.0;

constexpr std::array<const char*, 5> kComparisons = {"<", "<=", ">", ">=", "=="};
constexpr char kServicePrefix[] = "service_";
// Operations that a metric can name in place of the write: as SetOperations does, and MQ's calls.
constexpr std::array<const char*, 9> kOperations = {"sync",   "write_call", kReadName, kCommitName, "mqput",
                                                    "mqput1", "mqget",      "mqcmit",  "mqback"};
constexpr char kClassPrefix[] = "STALL_CLASS_";

// Words for classes that users think in, beside the classes' own names.
struct ClassAlias {
  const char* name;
  v1::StallClass stall_class;
};
constexpr std::array<ClassAlias, 3> kClassAliases = {{{"storage", v1::STALL_CLASS_ALL_HOSTS},
                                                      {"host_path", v1::STALL_CLASS_ONE_HOST},
                                                      {"storage_or_path", v1::STALL_CLASS_SINGLE_HOST}}};

// "one_host"; empty for the class that stands for none.
std::string ClassName(int stall_class) {
  const google::protobuf::EnumValueDescriptor* value = v1::StallClass_descriptor()->FindValueByNumber(stall_class);
  if (value == nullptr || value->number() == v1::STALL_CLASS_UNSPECIFIED) return "";
  return absl::AsciiStrToLower(value->name().substr(sizeof(kClassPrefix) - 1));
}

std::optional<v1::StallClass> ClassOf(const std::string& name) {
  for (const ClassAlias& alias : kClassAliases) {
    if (name == alias.name) return alias.stall_class;
  }
  for (int i = 0; i < v1::StallClass_descriptor()->value_count(); ++i) {
    const int number = v1::StallClass_descriptor()->value(i)->number();
    if (!name.empty() && name == ClassName(number)) return static_cast<v1::StallClass>(number);
  }
  return std::nullopt;
}

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

absl::Status SetPercentile(const std::string& text, const std::string& name, Criterion& criterion) {
  const std::optional<double> percentile = ParseNumber(name.substr(1));
  if (!percentile.has_value() || *percentile <= 0 || *percentile >= 100) {
    return Bad(text, absl::StrCat("'", name, "' is not a percentile between p0 and p100, such as p99.9",
                                  percentile == 100.0 ? "; the highest latency is max" : ""));
  }
  criterion.metric = Metric::kPercentile;
  criterion.percentile = *percentile;
  return absl::OkStatus();
}

absl::Status SetStallClass(const std::string& text, const std::string& name, Criterion& criterion) {
  const std::optional<v1::StallClass> stall_class = ClassOf(name);
  if (!stall_class)
    return Bad(text, absl::StrCat("expected one of the classes ", StallClassNames(), ", not '", name, "'"));
  criterion.stall_class = *stall_class;
  return absl::OkStatus();
}

// `name` may end with a class of stalls in brackets.
absl::Status SetMetric(const std::string& text, std::string name, Criterion& criterion) {
  const std::string whole = name;
  std::optional<std::string> stall_class;
  const size_t bracket = name.find('[');
  if (bracket != std::string::npos && name.back() == ']') {
    stall_class = Trim(name.substr(bracket + 1, name.size() - bracket - 2));
    name = Trim(name.substr(0, bracket));
  }
  std::string of_latency = name;
  criterion.service_time = name.rfind(kServicePrefix, 0) == 0;
  if (criterion.service_time) of_latency = name.substr(sizeof(kServicePrefix) - 1);
  for (const std::string operation : kOperations) {
    if (criterion.service_time || name.rfind(operation + "_", 0) != 0) continue;
    criterion.operation = operation;
    of_latency = name.substr(operation.size() + 1);
  }
  const bool is_percentile =
      of_latency.size() > 1 && of_latency[0] == 'p' && absl::ascii_isdigit(static_cast<unsigned char>(of_latency[1]));
  if (is_percentile && !stall_class) return SetPercentile(text, of_latency, criterion);
  for (const MetricInfo& info : Metrics()) {
    const bool is_throughput = info.metric == Metric::kWritesPerSecond || info.metric == Metric::kBytesPerSecond;
    const bool has_rate =
        criterion.operation == kReadName || criterion.operation == kCommitName || IsCallName(criterion.operation);
    const bool of_operation = info.has_service_time || (has_rate && is_throughput);
    const std::string& wanted = of_operation ? of_latency : name;
    if (wanted.empty() || info.metric == Metric::kPercentile || (wanted != info.name && wanted != info.alias)) continue;
    criterion.metric = info.metric;
    if (!stall_class) return absl::OkStatus();
    if (info.has_stall_class) return SetStallClass(text, *stall_class, criterion);
  }
  return Bad(text, absl::StrCat("expected ", MetricNames(), ", not '", whole, "'"));
}

absl::Status SetWhere(const std::string& text, const std::string& word, Criterion& criterion, bool& has_scope) {
  if (InfoOf(criterion.metric).has_stall_class && ClassOf(word)) {
    if (criterion.stall_class != v1::STALL_CLASS_UNSPECIFIED) return Bad(text, "expected one class of stalls, not two");
    return SetStallClass(text, word, criterion);
  }
  for (const CriterionScope scope :
       {CriterionScope::kCluster, CriterionScope::kStorage, CriterionScope::kHost, CriterionScope::kQm}) {
    if (word != ScopeName(scope)) continue;
    if (has_scope) return Bad(text, "expected one of @cluster, @storage, @host and @qm, not two");
    const MetricInfo& info = InfoOf(criterion.metric);
    if (std::find(info.scopes.begin(), info.scopes.end(), scope) == info.scopes.end()) {
      const auto name = [](std::string* out, CriterionScope one) { absl::StrAppend(out, "@", ScopeName(one)); };
      return Bad(
          text, absl::StrCat(info.name, " can be looked at ", absl::StrJoin(info.scopes, ", ", name), ", not @", word));
    }
    has_scope = true;
    criterion.scope = scope;
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
    return Bad(text, absl::StrCat("expected a time from 0s to 1h, not '", limit, "'; histograms end at 1h"));
  }
  return static_cast<double>(*latency_ns);
}

absl::StatusOr<double> ParsePercent(const std::string& text, std::string limit, bool is_signed) {
  if (!limit.empty() && limit.back() == '%') limit = Trim(limit.substr(0, limit.size() - 1));
  const std::optional<double> number = ParseNumber(limit);
  constexpr double kMostPercent = 1e9;
  if (!number || std::abs(*number) > kMostPercent || (!is_signed && *number < 0)) {
    return Bad(text, absl::StrCat("expected a number of percent", is_signed ? "" : " from 0", ", such as ",
                                  is_signed ? "-10%" : "99%", ", not '", limit, "'"));
  }
  return *number;
}

absl::StatusOr<double> ParsePlain(const std::string& text, const std::string& limit, MetricUnit unit) {
  const std::optional<double> number = ParseNumber(limit);
  const bool megabytes = unit == MetricUnit::kBytesPerSecond;
  const bool ratio = unit == MetricUnit::kRatio;
  const double most = megabytes ? kMaxNumber / kBytesPerMegabyte : ratio ? 1 : kMaxNumber;
  if (!number.has_value() || *number < 0 || *number > most) {
    return Bad(text, absl::StrCat("expected a number from 0", ratio ? " to 1, such as 0.9" : ", such as 2000",
                                  ", not '", limit, "'"));
  }
  // Whole bytes, so that the limit in megabytes reads back as it was written.
  return megabytes ? std::round(*number * kBytesPerMegabyte) : *number;
}

absl::StatusOr<double> ParseLimit(const std::string& text, const std::string& limit, const Criterion& criterion) {
  const MetricUnit unit = InfoOf(criterion.metric).unit;
  switch (unit) {
    case MetricUnit::kNanoseconds:
      if (criterion.comparison == Comparison::kEqual && InfoOf(criterion.metric).has_service_time) {
        return Bad(text, "a latency never equals a limit; expected one of < <= > >=");
      }
      return ParseLatency(text, limit);
    case MetricUnit::kPercent:
    case MetricUnit::kSignedPercent:
      return ParsePercent(text, limit, unit == MetricUnit::kSignedPercent);
    case MetricUnit::kYesNo:
      if (criterion.comparison != Comparison::kEqual || (limit != "yes" && limit != "no")) {
        return Bad(text,
                   absl::StrCat("expected ", InfoOf(criterion.metric).name, " alone, or ==yes or ==no behind it"));
      }
      return limit == "yes" ? 1.0 : 0.0;
    case MetricUnit::kWritesPerSecond:
    case MetricUnit::kBytesPerSecond:
    case MetricUnit::kCount:
    case MetricUnit::kRatio:
      break;
  }
  return ParsePlain(text, limit, unit);
}

std::string FormatLimit(const Criterion& criterion) {
  switch (InfoOf(criterion.metric).unit) {
    case MetricUnit::kNanoseconds:
      return FormatDuration(static_cast<int64_t>(criterion.limit));
    case MetricUnit::kBytesPerSecond:
      return FormatNumber(criterion.limit / kBytesPerMegabyte);
    case MetricUnit::kPercent:
    case MetricUnit::kSignedPercent:
      return FormatNumber(criterion.limit) + "%";
    case MetricUnit::kYesNo:
      return criterion.limit == 0 ? "no" : "yes";
    case MetricUnit::kWritesPerSecond:
    case MetricUnit::kCount:
    case MetricUnit::kRatio:
      break;
  }
  return FormatNumber(criterion.limit);
}

constexpr char kUsual = ':';

// What kUsual stands for.
Comparison UsualComparison(const Criterion& criterion) {
  const MetricInfo& info = InfoOf(criterion.metric);
  if (info.unit == MetricUnit::kYesNo) return Comparison::kEqual;
  if (info.better == Better::kHigher) return Comparison::kGreaterOrEqual;
  if (criterion.limit == 0 && !info.has_service_time) return Comparison::kEqual;
  return info.unit == MetricUnit::kNanoseconds ? Comparison::kLess : Comparison::kLessOrEqual;
}

// Where the comparison begins, and what it is; nothing where there is none, and where it is the usual one.
std::optional<Comparison> FindComparison(const std::string& text, size_t& begin) {
  begin = text.find_first_of("<>=:");
  if (begin == std::string::npos) return std::nullopt;
  const bool or_equal = begin + 1 < text.size() && text[begin + 1] == '=';
  if (text[begin] == '<') return or_equal ? Comparison::kLessOrEqual : Comparison::kLess;
  if (text[begin] == '>') return or_equal ? Comparison::kGreaterOrEqual : Comparison::kGreater;
  if (or_equal) return Comparison::kEqual;
  return std::nullopt;
}

}  // namespace

bool IsCallName(const std::string& operation) {
  return operation.starts_with("mq");
}

std::string StallClassNames() {
  std::string names;
  for (int i = 0; i < v1::StallClass_descriptor()->value_count(); ++i) {
    const int number = v1::StallClass_descriptor()->value(i)->number();
    const std::string name = ClassName(number);
    if (name.empty()) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    for (const ClassAlias& alias : kClassAliases) {
      if (alias.stall_class == number) absl::StrAppend(&names, " (or ", alias.name, ")");
    }
  }
  return names;
}

absl::StatusOr<Criterion> ParseCriterion(const std::string& text) {
  Criterion criterion;
  criterion.text = Trim(text);
  if (criterion.text.size() > kMaxLength) {
    return Bad(criterion.text.substr(0, 40) + "...", absl::StrCat("it is longer than ", kMaxLength, " letters"));
  }
  std::string lower = absl::AsciiStrToLower(criterion.text);
  size_t sign = 0;
  std::optional<Comparison> comparison = FindComparison(lower, sign);
  if (sign == std::string::npos) {
    // "steady" alone requires it.
    const std::string name = Trim(lower.substr(0, lower.find('@')));
    for (const MetricInfo& info : Metrics()) {
      if (info.unit != MetricUnit::kYesNo || name != info.name) continue;
      comparison = Comparison::kEqual;
      sign = lower.size();
      lower += "==yes";
    }
  }
  const bool usual = sign < lower.size() && lower[sign] == kUsual;
  if (!comparison && !usual) {
    return Bad(criterion.text,
               "expected a metric, one of < <= > >= == or :, and a limit, such as p99<10ms or p99:10ms");
  }
  const std::vector<std::string> words = absl::StrSplit(lower.substr(0, sign), '@');
  PLIMSOLL_RETURN_IF_ERROR(SetMetric(criterion.text, Trim(words[0]), criterion));
  criterion.scope = InfoOf(criterion.metric).scopes.front();
  bool has_scope = false;
  for (size_t i = 1; i < words.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(SetWhere(criterion.text, Trim(words[i]), criterion, has_scope));
  }
  criterion.comparison = comparison ? *comparison : UsualComparison(criterion);
  const size_t length = comparison ? std::string(kComparisons[static_cast<size_t>(*comparison)]).size() : 1;
  PLIMSOLL_ASSIGN_OR_RETURN(criterion.limit, ParseLimit(criterion.text, Trim(lower.substr(sign + length)), criterion));
  if (usual) criterion.comparison = UsualComparison(criterion);
  const bool class_without_brackets =
      criterion.stall_class != v1::STALL_CLASS_UNSPECIFIED && lower.find('[') == std::string::npos;
  if (usual || class_without_brackets) criterion.text = FormatCriterion(criterion);
  return criterion;
}

std::string FormatCriterion(const Criterion& criterion) {
  const MetricInfo& info = InfoOf(criterion.metric);
  std::string text = criterion.service_time ? kServicePrefix : "";
  if (!criterion.operation.empty()) absl::StrAppend(&text, criterion.operation, "_");
  if (criterion.metric == Metric::kPercentile) {
    absl::StrAppend(&text, "p", FormatNumber(criterion.percentile));
  } else {
    absl::StrAppend(&text, info.name);
  }
  if (criterion.stall_class != v1::STALL_CLASS_UNSPECIFIED)
    absl::StrAppend(&text, "[", ClassName(criterion.stall_class), "]");
  if (criterion.scope != info.scopes.front()) absl::StrAppend(&text, "@", ScopeName(criterion.scope));
  if (criterion.block_size_bytes != 0) absl::StrAppend(&text, "@", FormatSize(criterion.block_size_bytes));
  return absl::StrCat(text, kComparisons[static_cast<size_t>(criterion.comparison)], FormatLimit(criterion));
}

bool IsLeastRate(const Criterion& criterion) {
  return criterion.metric == Metric::kRateAchieved && criterion.scope == CriterionScope::kQm &&
         criterion.block_size_bytes == 0 &&
         (criterion.comparison == Comparison::kGreaterOrEqual || criterion.comparison == Comparison::kGreater);
}

bool IsReversed(const Criterion& criterion) {
  const MetricInfo& info = InfoOf(criterion.metric);
  const bool either = info.unit == MetricUnit::kSignedPercent || info.metric == Metric::kWrites;
  if (criterion.comparison == Comparison::kEqual || either) return false;
  return WantsSmall(criterion) != (info.better == Better::kLower);
}

Criterion Reversed(Criterion criterion) {
  // In their order: < <= > >=.
  constexpr int kApart = 2;
  const int number = static_cast<int>(criterion.comparison);
  if (criterion.comparison == Comparison::kEqual) return criterion;
  criterion.comparison = static_cast<Comparison>(number < kApart ? number + kApart : number - kApart);
  criterion.text = FormatCriterion(criterion);
  return criterion;
}

bool WantsSmall(const Criterion& criterion) {
  return criterion.comparison == Comparison::kLess || criterion.comparison == Comparison::kLessOrEqual;
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
      return value >= criterion.limit;
    case Comparison::kEqual:
      break;
  }
  return value == criterion.limit;
}

}  // namespace plimsoll
