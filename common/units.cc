#include "common/units.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plimsoll {
namespace {

struct Unit {
  const char* name;
  int64_t value;
};

constexpr std::array<Unit, 7> kTimeUnits = {{{"d", 86'400 * kNsPerSecond},
                                             {"h", 3'600 * kNsPerSecond},
                                             {"m", 60 * kNsPerSecond},
                                             {"s", kNsPerSecond},
                                             {"ms", kNsPerMs},
                                             {"us", kNsPerUs},
                                             {"ns", 1}}};

constexpr std::array<Unit, 4> kSizeUnits = {
    {{"t", int64_t{1} << 40}, {"g", int64_t{1} << 30}, {"m", int64_t{1} << 20}, {"k", int64_t{1} << 10}}};

absl::Status BadSize(const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a size: expected bytes, or a number with k, m, g or t, such as 64k"));
}

absl::Status BadDuration(const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a time: expected a number with ns, us, ms, s, m, h or d, such as 10s"));
}

// Value of `suffix` in the table; 0 where it is not there.
template <size_t N>
int64_t UnitValue(const std::array<Unit, N>& units, const std::string& suffix) {
  for (const Unit& unit : units) {
    if (suffix == unit.name) return unit.value;
  }
  return 0;
}

}  // namespace

absl::StatusOr<uint64_t> ParseSize(const std::string& text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return BadSize(text);
  std::string suffix = absl::AsciiStrToLower(std::string(rest, end));
  if (suffix.empty() || suffix == "b") return number;
  if (suffix.size() == 3 && suffix.substr(1) == "ib") suffix.resize(1);
  if (suffix.size() == 2 && suffix[1] == 'b') suffix.resize(1);
  const auto factor = static_cast<uint64_t>(UnitValue(kSizeUnits, suffix));
  if (factor == 0) return BadSize(text);
  if (number > std::numeric_limits<uint64_t>::max() / factor) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is more than 64 bits hold"));
  }
  return number * factor;
}

absl::StatusOr<int64_t> ParseDuration(const std::string& text, int64_t bare_unit_ns) {
  // The whole part is read as an integer, so that long times stay exact to the nanosecond.
  size_t pos = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++pos;
  uint64_t whole = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + pos, end, whole);
  if (error != std::errc()) return BadDuration(text);
  std::string tail(rest, end);
  std::string fraction;
  if (!tail.empty() && tail[0] == '.') {
    size_t digits = 1;
    while (digits < tail.size() && absl::ascii_isdigit(static_cast<unsigned char>(tail[digits]))) ++digits;
    fraction = tail.substr(1, digits - 1);
    tail = tail.substr(digits);
    if (fraction.empty()) return BadDuration(text);
  }
  const int64_t unit_ns = tail.empty() ? bare_unit_ns : UnitValue(kTimeUnits, tail);
  if (unit_ns == 0) return BadDuration(text);
  long double value = static_cast<long double>(whole);
  if (!fraction.empty()) {
    value += std::stold("0." + fraction);
  }
  value *= static_cast<long double>(unit_ns);
  if (value > static_cast<long double>(std::numeric_limits<int64_t>::max() / 2)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is too long a time"));
  }
  const auto result = static_cast<int64_t>(std::roundl(value));
  return negative ? -result : result;
}

std::string FormatSize(uint64_t size_bytes) {
  if (size_bytes != 0) {
    for (const Unit& unit : kSizeUnits) {
      if (size_bytes % static_cast<uint64_t>(unit.value) == 0) {
        return absl::StrCat(size_bytes / static_cast<uint64_t>(unit.value), unit.name);
      }
    }
  }
  return absl::StrCat(size_bytes);
}

std::string FormatSizeForPeople(uint64_t size_bytes) {
  for (const Unit& unit : kSizeUnits) {
    const auto value = static_cast<uint64_t>(unit.value);
    if (size_bytes < value) continue;
    // At most one decimal, and only where it says all.
    const uint64_t tenths = size_bytes / value * 10 + size_bytes % value * 10 / value;
    const bool exact = size_bytes % value * 10 % value == 0;
    if (!exact && size_bytes < 10 * value) continue;
    const std::string name = absl::StrCat(absl::AsciiStrToUpper(unit.name), "iB");
    if (tenths % 10 == 0) return absl::StrCat(FormatCount(tenths / 10), " ", name);
    return absl::StrCat(FormatCount(tenths / 10), ".", tenths % 10, " ", name);
  }
  return absl::StrCat(FormatCount(size_bytes), " B");
}

std::string FormatDuration(int64_t duration_ns) {
  if (duration_ns == 0) return "0s";
  for (const Unit& unit : kTimeUnits) {
    if (duration_ns % unit.value == 0) return absl::StrCat(duration_ns / unit.value, unit.name);
  }
  return absl::StrCat(duration_ns, "ns");
}

std::string FormatCount(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t pos = digits.size(); pos > 3;) {
    pos -= 3;
    digits.insert(pos, 1, ',');
  }
  return digits;
}

std::string FormatUtc(int64_t utc_ns) {
  int64_t seconds = utc_ns / kNsPerSecond;
  int64_t ns = utc_ns % kNsPerSecond;
  if (ns < 0) {
    ns += kNsPerSecond;
    --seconds;
  }
  const time_t when = seconds;
  std::tm utc{};
  gmtime_r(&when, &utc);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                         utc.tm_hour, utc.tm_min, utc.tm_sec, ns);
}

}  // namespace plimsoll
