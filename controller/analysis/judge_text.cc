#include "controller/analysis/judge_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// "1 stall", "2 stalls".
std::string CountText(uint64_t count, std::string noun) {
  if (count == 1) noun.pop_back();
  return absl::StrCat(FormatCount(count), " ", noun);
}

}  // namespace

std::string FormatMetricValue(const MetricInfo& info, double value) {
  switch (info.unit) {
    case MetricUnit::kNanoseconds:
      return absl::StrFormat("%.3f ms", value / static_cast<double>(kNsPerMs));
    case MetricUnit::kWritesPerSecond:
      return value < 100 ? absl::StrFormat("%.2f writes/s", value)
                         : absl::StrCat(FormatCount(static_cast<uint64_t>(std::llround(value))), " writes/s");
    case MetricUnit::kBytesPerSecond:
      return absl::StrFormat("%.2f MB/s", value / kBytesPerMegabyte);
    case MetricUnit::kCount:
      return CountText(static_cast<uint64_t>(std::llround(value)), info.noun);
    case MetricUnit::kPercent:
      // Rounded down, so that what is not reached does not look as if it were.
      return absl::StrFormat("%.2f %%", std::floor(value * 100) / 100);
    case MetricUnit::kSignedPercent:
      return absl::StrFormat("%+.2f %%", value);
    case MetricUnit::kRatio:
      return absl::StrFormat("%.4f", value);
    case MetricUnit::kYesNo:
      break;
  }
  return value == 0 ? "no" : "yes";
}

std::string FormatPlace(uint32_t step, const std::string& host, uint32_t qm, uint32_t storage) {
  std::string place = step == 0 ? "" : absl::StrCat("step ", step);
  const auto add = [&place](const std::string& more) { absl::StrAppend(&place, place.empty() ? "" : ", ", more); };
  if (host.empty() && storage != 0) add(absl::StrCat("storage ", storage));
  if (!host.empty()) add(absl::StrCat(host, qm == 0 ? "" : absl::StrCat("/qm", qm)));
  return place;
}

}  // namespace plimsoll
