#include "controller/criteria/end_time.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "common/text.h"

namespace plimsoll {
namespace {

// The earlier moment that a civil time may mean.
absl::Time EarlierMoment(absl::CivilSecond civil) {
  const absl::TimeZone::TimeInfo info = absl::LocalTimeZone().At(civil);
  return std::min(info.pre, info.post);
}

// The text as a time of some format, in UTC: its fields are what counts.
std::optional<absl::CivilSecond> Read(const std::string& text, std::initializer_list<const char*> formats) {
  for (const char* const format : formats) {
    absl::Time time;
    if (absl::ParseTime(format, text, &time, nullptr)) return absl::ToCivilSecond(time, absl::UTCTimeZone());
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<WallNs> ParseEndTime(const std::string& text, WallNs now) {
  const std::string trimmed(absl::StripAsciiWhitespace(text));
  const absl::Time from = absl::FromUnixNanos(now.value);
  if (const auto time = Read(trimmed, {"%H:%M", "%H:%M:%S"})) {
    const absl::CivilDay today(absl::ToCivilSecond(from, absl::LocalTimeZone()));
    for (int days = 0;; ++days) {
      const absl::CivilDay day = today + days;
      const absl::Time moment = EarlierMoment(
          absl::CivilSecond(day.year(), day.month(), day.day(), time->hour(), time->minute(), time->second()));
      if (moment > from) return WallNs{absl::ToUnixNanos(moment)};
    }
  }
  const auto date = Read(trimmed, {"%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"});
  if (!date) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), " is not a time of day: write it as in 04:30 or '2026-03-01 04:30', by this machine's clock"));
  }
  const absl::Time moment = EarlierMoment(*date);
  if (moment <= from) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), " is over: it is ", absl::FormatTime("%Y-%m-%d %H:%M:%S %Z", from, absl::LocalTimeZone()),
        " by this machine's clock"));
  }
  // A year that this clock cannot hold ends nothing.
  return WallNs{absl::ToUnixNanos(std::min(moment, absl::FromUnixNanos(INT64_MAX)))};
}

std::string EndTimeText(WallNs moment) {
  const absl::Time time = absl::FromUnixNanos(moment.value);
  const std::string local = absl::FormatTime("%H:%M:%S %Z", time, absl::LocalTimeZone());
  return absl::StrCat(local, " (", absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone()), ")");
}

}  // namespace plimsoll
