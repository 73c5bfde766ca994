#include "controller/render/interval_lines.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text_numbers.h"

namespace plimsoll {
namespace {

constexpr uint32_t kLinesUnderAHeading = 10;
constexpr size_t kNameWidth = 40;

std::string FixedMilliseconds(double time_ns) {
  return FormatFixed(time_ns / static_cast<double>(kNsPerMs), 3);
}

// Maximum, minimum and average; dashes where there is no write.
std::string Latencies(const IntervalSums& sums) {
  const bool any = sums.writes > 0;
  const auto cell = [any](double time_ns, size_t width) {
    return PadLeft(any ? FixedMilliseconds(time_ns) : std::string(kDash), width);
  };
  return absl::StrCat(cell(static_cast<double>(sums.max_ns), 11), cell(static_cast<double>(sums.min_ns), 10),
                      cell(sums.avg_ns(), 10));
}

// "10 s", "13.25 s".
std::string Seconds(int64_t length_ns) {
  std::string text = absl::StrFormat("%.3f", static_cast<double>(length_ns) / static_cast<double>(kNsPerSecond));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

}  // namespace

void IntervalLines::AddHeading(std::vector<std::string>& lines) const {
  const std::string length = absl::StrCat(interval_ns_ / kNsPerSecond, "s ");
  lines.push_back(absl::StrCat(PadLeft("time", 8), PadLeft(length + "count", 12), " |", PadLeft("total", 13),
                               PadLeft("max", 11), PadLeft("min", 10), PadLeft("avg", 10), " |",
                               PadLeft(length + "max", 11), PadLeft("min", 10), PadLeft("avg", 10)));
}

std::vector<std::string> IntervalLines::Add(const IntervalRow& row) {
  std::vector<std::string> lines;
  if (row.step != step_) {
    if (step_ != 0) lines.emplace_back();
    lines.push_back(absl::StrCat("Step ", row.step, " of ", row.steps, "   ", FormatSizeForPeople(row.block_size_bytes),
                                 "   writes of all hosts; latency in ms, of the step so far and of the interval"));
    step_ = row.step;
    lines_ = 0;
  }
  if (lines_ % kLinesUnderAHeading == 0) AddHeading(lines);
  ++lines_;
  lines.push_back(absl::StrCat(PadLeft(Seconds(row.end_ns), 8), PadLeft(FormatCount(row.interval.writes), 12), " |",
                               PadLeft(FormatCount(row.total.writes), 13), Latencies(row.total), " |",
                               Latencies(row.interval), row.blurred ? "~" : ""));
  if (row.max_before_ns > 0 && row.total.max_ns > row.max_before_ns) {
    const std::string whose = row.max_host.empty() ? std::string()
                                                   : absl::StrCat(" (", Shorten(Neutralise(row.max_host), kNameWidth),
                                                                  "/qm", row.max_qm, ")");
    lines.push_back(absl::StrCat("** Warning ** the maximum grew from ",
                                 FixedMilliseconds(static_cast<double>(row.max_before_ns)), " ms to ",
                                 FixedMilliseconds(static_cast<double>(row.total.max_ns)), " ms", whose));
  }
  return lines;
}

}  // namespace plimsoll
