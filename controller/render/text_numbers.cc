#include "controller/render/text_numbers.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/render/json.h"

namespace plimsoll {

std::string FormatFixed(double value, int decimals) {
  if (!std::isfinite(value)) return kDash;
  std::string digits = absl::StrFormat("%.*f", decimals, value);
  // Minus nothing is nothing.
  if (digits.find_first_not_of("-0.") == std::string::npos && digits[0] == '-') digits.erase(0, 1);
  const size_t first = digits[0] == '-' ? 1 : 0;
  size_t pos = digits.find('.');
  if (pos == std::string::npos) pos = digits.size();
  for (; pos > first + 3;) {
    pos -= 3;
    digits.insert(pos, 1, ',');
  }
  return digits;
}

std::string FormatRate(double per_second) {
  return FormatFixed(per_second, per_second < 100 ? 2 : 0);
}

std::string FormatThroughput(double mb_per_second) {
  return FormatFixed(mb_per_second, mb_per_second < 1'000 ? 2 : mb_per_second < 10'000 ? 1 : 0);
}

std::string FormatLatency(double time_ns, int64_t unit_ns) {
  const double value = time_ns / static_cast<double>(unit_ns);
  return FormatFixed(value, value < 100 ? 3 : value < 1'000 ? 2 : value < 10'000 ? 1 : 0);
}

std::string FormatShortTime(int64_t time_ns) {
  const auto value = static_cast<double>(time_ns);
  const double size = std::abs(value);
  if (size < 1e3) return absl::StrFormat("%.0f ns", value);
  if (size < 1e4) return absl::StrFormat("%.1f us", value / 1e3);
  if (size < 1e6) return absl::StrFormat("%.0f us", value / 1e3);
  if (size < 1e9) return absl::StrFormat("%.3f ms", value / 1e6);
  return FormatFixed(value / 1e9, 3) + " s";
}

std::string FormatLength(int64_t length_ns) {
  std::string text = FormatDuration(length_ns);
  const size_t unit = text.find_first_not_of("-0123456789");
  if (unit != std::string::npos) text.insert(unit, 1, ' ');
  return text;
}

std::string FormatDateTime(const google::protobuf::Timestamp& moment) {
  const std::string utc = FormatMoment(moment);
  return absl::StrCat(utc.substr(0, 10), " ", utc.substr(11, 8), " UTC");
}

std::string FormatTimeOfDay(const google::protobuf::Timestamp& moment, const google::protobuf::Timestamp& begin) {
  const std::string utc = FormatMoment(moment);
  const std::string time = utc.substr(11, 12);
  const std::string date = utc.substr(0, 10);
  return date == FormatMoment(begin).substr(0, 10) ? time : absl::StrCat(date, " ", time);
}

std::string SharedMountOptions(const std::string& options) {
  std::vector<std::string> shared;
  for (std::string& option : std::vector<std::string>(absl::StrSplit(options, ','))) {
    if (!absl::StartsWith(option, "clientaddr=")) shared.push_back(std::move(option));
  }
  return absl::StrJoin(shared, ",");
}

}  // namespace plimsoll
