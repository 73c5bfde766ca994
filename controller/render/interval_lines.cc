#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/render/live_view.h"
#include "controller/render/plain_text.h"
#include "controller/report/main_operation.h"

namespace plimsoll {
namespace {

constexpr uint32_t kLinesUnderAHeading = 10;
// Columns of a host's name that a warning leaves at least.
constexpr size_t kLeastName = 8;
// Columns, each with a blank in front.
constexpr size_t kTimeColumn = 6;
constexpr size_t kCountColumn = 9;
constexpr size_t kTotalColumn = 10;
constexpr size_t kMaxColumn = 9;
constexpr size_t kMinColumn = 8;

// `text` right-aligned behind a blank.
std::string Column(const std::string& text, size_t width) {
  return " " + PadLeft(text, width - 1);
}

// Milliseconds with three decimals. Where that is wider than `width`: first without separators, then with fewer
// decimals.
std::string FixedMilliseconds(double time_ns, size_t width = SIZE_MAX) {
  const double time_ms = time_ns / static_cast<double>(kNsPerMs);
  std::string text = FormatFixed(time_ms, 3);
  for (int decimals = 3; text.size() > width && decimals >= 0; --decimals)
    text = absl::StrFormat("%.*f", decimals, time_ms);
  return text;
}

std::string CountColumn(uint64_t count, size_t width) {
  const std::string text = FormatCount(count);
  return Column(text.size() < width ? text : absl::StrCat(count), width);
}

// Maximum, minimum and average; dashes where there is no write.
std::string Latencies(const IntervalSums& sums) {
  const bool any = sums.writes > 0;
  const auto cell = [any](double time_ns, size_t width) {
    return Column(any ? FixedMilliseconds(time_ns, width - 1) : std::string(kDash), width);
  };
  return absl::StrCat(cell(static_cast<double>(sums.latency_max_ns), kMaxColumn),
                      cell(static_cast<double>(sums.latency_min_ns), kMinColumn), cell(sums.avg_ns(), kMinColumn));
}

// Percentiles and maximum of an interval.
std::string IntervalLatencies(const IntervalRow& row) {
  const auto cell = [](uint64_t time_ns, size_t width) {
    return Column(time_ns > 0 ? FixedMilliseconds(static_cast<double>(time_ns), width - 1) : std::string(kDash), width);
  };
  return absl::StrCat(cell(row.p50_ns, kMinColumn), cell(row.p99_ns, kMinColumn),
                      cell(row.interval.latency_max_ns, kMaxColumn));
}

std::string IntervalHeadings() {
  return absl::StrCat(Column("p50", kMinColumn), Column("p99", kMinColumn), Column("max", kMaxColumn));
}

std::string LatencyHeadings() {
  return absl::StrCat(Column("max", kMaxColumn), Column("min", kMinColumn), Column("avg", kMinColumn));
}

// "10", "13.25".
std::string Seconds(int64_t length_ns) {
  std::string text = absl::StrFormat("%.3f", static_cast<double>(length_ns) / static_cast<double>(kNsPerSecond));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

void IntervalLines::AddHeading(std::vector<std::string>& lines) const {
  const char* const operations = MainOperations(read_percent_);
  lines.push_back(absl::StrCat(Column("s", kTimeColumn), Column(operations, kCountColumn), " |",
                               Column("in total", kTotalColumn), LatencyHeadings(), " |", IntervalHeadings()));
}

std::vector<std::string> IntervalLines::Add(const IntervalRow& row) {
  std::vector<std::string> lines;
  if (row.step != step_) {
    if (step_ != 0) lines.emplace_back();
    lines.push_back(absl::StrCat(
        "Step ", FormatStepNumber(row.step, row.steps, row.round_steps), "   ", FormatBlockSize(row.block_size_bytes),
        row.down_host.empty() ? "" : absl::StrCat("   ", SanitizeForTerminal(row.down_host), " down"),
        row.swept.empty() ? "" : "   ", absl::StrJoin(row.swept, "   "), "   ", MainOperations(read_percent_),
        " of all hosts; ", row.response_times ? "response" : "service", " time in ms"));
    lines.push_back(absl::StrCat(
        PadRight(absl::StrCat("  every ", interval_ns_ / kNsPerSecond, " s"), kTimeColumn + kCountColumn),
        " | step so far", std::string(kTotalColumn + kMaxColumn + 2 * kMinColumn - 12, ' '), " | interval"));
    step_ = row.step;
    lines_ = 0;
  }
  if (lines_ % kLinesUnderAHeading == 0) AddHeading(lines);
  ++lines_;
  lines.push_back(absl::StrCat(Column(Seconds(row.end_ns), kTimeColumn), CountColumn(row.interval.writes, kCountColumn),
                               " |", CountColumn(row.total.writes, kTotalColumn), Latencies(row.total), " |",
                               IntervalLatencies(row), row.blurred ? "~" : ""));
  if (row.max_before_ns > 0 && row.total.latency_max_ns > row.max_before_ns) {
    std::string warning =
        absl::StrCat("** Warning ** new maximum: ", FixedMilliseconds(static_cast<double>(row.total.latency_max_ns)),
                     " ms, was ", FixedMilliseconds(static_cast<double>(row.max_before_ns)), " ms");
    if (!row.max_host.empty()) {
      const std::string qm = absl::StrCat(
          "/", row.max_name.empty() ? absl::StrCat("qm", row.max_qm) : SanitizeForTerminal(row.max_name), ")");
      const size_t used = warning.size() + 2 + qm.size();
      const size_t left = used + kLeastName < kTextWidth ? kTextWidth - used : kLeastName;
      absl::StrAppend(&warning, " (", ShortenMiddle(SanitizeForTerminal(row.max_host), left, left / 2), qm);
    }
    lines.push_back(warning);
  }
  return lines;
}

}  // namespace plimsoll
