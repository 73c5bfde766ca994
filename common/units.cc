#include "common/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plimsoll {
namespace {

__extension__ using Wide = unsigned __int128;

// Digits behind the point that are read.
constexpr uint64_t kMostFraction = 1'000'000'000'000'000'000;

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

// Other spellings that are read and never written.
constexpr std::array<Unit, 9> kMoreTimeUnits = {{{"day", 86'400 * kNsPerSecond},
                                                 {"days", 86'400 * kNsPerSecond},
                                                 {"hour", 3'600 * kNsPerSecond},
                                                 {"hours", 3'600 * kNsPerSecond},
                                                 {"min", 60 * kNsPerSecond},
                                                 {"mins", 60 * kNsPerSecond},
                                                 {"sec", kNsPerSecond},
                                                 {"secs", kNsPerSecond},
                                                 {"µs", kNsPerUs}}};

constexpr std::array<Unit, 4> kSizeUnits = {
    {{"t", int64_t{1} << 40}, {"g", int64_t{1} << 30}, {"m", int64_t{1} << 20}, {"k", int64_t{1} << 10}}};

absl::Status BadSize(const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a size: expected bytes, or a number with k, m, g or t, such as 64k"));
}

absl::Status BadDuration(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is not a time: expected a number with ns, us, ms, s, m, h or d, such as 10s or 1h30m"));
}

absl::Status TooLong(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is too long: the maximum is 146 years"));
}

// Value of `suffix` in the table; 0 where it is not there.
template <size_t N>
int64_t UnitValue(const std::array<Unit, N>& units, const std::string& suffix) {
  for (const Unit& unit : units) {
    if (suffix == unit.name) return unit.value;
  }
  return 0;
}

// 0 where there is no such unit.
int64_t TimeUnit(const std::string& name) {
  const int64_t value = UnitValue(kTimeUnits, name);
  return value != 0 ? value : UnitValue(kMoreTimeUnits, name);
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
  const bool negative = !text.empty() && text[0] == '-';
  const char* const end = text.data() + text.size();
  const char* at = text.data() + (negative ? 1 : 0);
  // Above all that a time may be, which no unit is.
  int64_t last_unit_ns = std::numeric_limits<int64_t>::max();
  Wide total_ns = 0;
  do {
    uint64_t whole = 0;
    const auto [rest, error] = std::from_chars(at, end, whole);
    if (error == std::errc::result_out_of_range) return TooLong(text);
    if (error != std::errc()) return BadDuration(text);
    // All in integers, so that every time is exact to the nanosecond.
    at = rest;
    uint64_t fraction = 0;
    uint64_t fraction_of = 1;
    if (at != end && *at == '.') {
      const char* digits = ++at;
      for (; at != end && absl::ascii_isdigit(static_cast<unsigned char>(*at)); ++at) {
        // More digits than these are below a nanosecond of any unit.
        if (fraction_of >= kMostFraction) continue;
        fraction = fraction * 10 + static_cast<uint64_t>(*at - '0');
        fraction_of *= 10;
      }
      if (at == digits) return BadDuration(text);
    }
    const char* const unit_end =
        std::find_if(at, end, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
    const std::string unit(at, unit_end);
    at = unit_end;
    // "1h30" could be minutes or seconds.
    const bool bare = unit.empty() && at == end && last_unit_ns == std::numeric_limits<int64_t>::max();
    const int64_t unit_ns = bare ? bare_unit_ns : TimeUnit(unit);
    // "30m1h" is more likely a mistake than meant.
    if (unit_ns <= 0 || unit_ns >= last_unit_ns) return BadDuration(text);
    last_unit_ns = unit_ns;
    const auto factor = static_cast<uint64_t>(unit_ns);
    total_ns += Wide{whole} * factor + (Wide{fraction} * factor + fraction_of / 2) / fraction_of;
    if (total_ns > static_cast<Wide>(std::numeric_limits<int64_t>::max() / 2)) return TooLong(text);
  } while (at != end);
  const auto result_ns = static_cast<int64_t>(total_ns);
  return negative ? -result_ns : result_ns;
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
    // One decimal, rounded down; a number below ten only if it is exact.
    const uint64_t tenths = size_bytes / value * 10 + size_bytes % value * 10 / value;
    const bool exact = size_bytes % value * 10 % value == 0;
    if (!exact && size_bytes < 10 * value) continue;
    const std::string name = absl::StrCat(absl::AsciiStrToUpper(unit.name), "iB");
    if (tenths % 10 == 0) return absl::StrCat(FormatCount(tenths / 10), " ", name);
    return absl::StrCat(FormatCount(tenths / 10), ".", tenths % 10, " ", name);
  }
  return absl::StrCat(FormatCount(size_bytes), " B");
}

std::string FormatBlockSize(uint64_t block_size_bytes) {
  return block_size_bytes == 0 ? "mixed" : FormatSizeForPeople(block_size_bytes);
}

std::string FormatDuration(int64_t duration_ns) {
  if (duration_ns == 0) return "0s";
  for (const Unit& unit : kTimeUnits) {
    if (duration_ns % unit.value == 0) return absl::StrCat(duration_ns / unit.value, unit.name);
  }
  return absl::StrCat(duration_ns, "ns");
}

std::string FormatReadableDuration(int64_t duration_ns) {
  for (const int64_t unit_ns : {TimeUnit("d"), TimeUnit("h")}) {
    const int64_t rest_ns = duration_ns % unit_ns;
    if (duration_ns < unit_ns || rest_ns == 0) continue;
    return absl::StrCat(FormatDuration(duration_ns - rest_ns), FormatReadableDuration(rest_ns));
  }
  if (duration_ns < kNsPerSecond || duration_ns % kNsPerSecond == 0) return FormatDuration(duration_ns);
  std::string digits = absl::StrFormat("%d.%09d", duration_ns / kNsPerSecond, duration_ns % kNsPerSecond);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits + "s";
}

std::string FormatLength(int64_t length_ns) {
  std::string text = FormatDuration(length_ns);
  const size_t unit = text.find_first_not_of("-0123456789");
  if (unit != std::string::npos) text.insert(unit, 1, ' ');
  return text;
}

namespace {

int64_t RoundedMs(int64_t time_ns) {
  const int64_t half_ns = time_ns < 0 ? -kNsPerMs / 2 : kNsPerMs / 2;
  return time_ns / kNsPerMs + (time_ns % kNsPerMs + half_ns) / kNsPerMs;
}

}  // namespace

std::string FormatSeconds(int64_t time_ns) {
  return FormatFixed(static_cast<double>(RoundedMs(time_ns)) / 1e3, 3);
}

std::string FormatRoundedTime(int64_t time_ns) {
  const int64_t ms = RoundedMs(time_ns);
  return ms > -1'000 && ms < 1'000 ? absl::StrCat(ms, " ms") : absl::StrCat(FormatSeconds(time_ns), " s");
}

std::string FormatCount(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t pos = digits.size(); pos > 3;) {
    pos -= 3;
    digits.insert(pos, 1, ',');
  }
  return digits;
}

std::string Counted(uint64_t count, const std::string& noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

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

std::string FormatTargetRate(double per_second) {
  const std::string digits = absl::StrFormat("%.6g", per_second);
  const size_t point = digits.find('.');
  const bool all = per_second < 10'000 && point != std::string::npos;
  return per_second < 1000 ? digits : FormatFixed(per_second, all ? static_cast<int>(digits.size() - point - 1) : 0);
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
