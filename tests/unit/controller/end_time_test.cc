#include "controller/criteria/end_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

WallNs Berlin(absl::CivilSecond civil) {
  absl::TimeZone zone;
  EXPECT_TRUE(absl::LoadTimeZone("Europe/Berlin", &zone));
  return WallNs{absl::ToUnixNanos(absl::FromCivil(civil, zone))};
}

WallNs Utc(absl::CivilSecond civil) {
  return WallNs{absl::ToUnixNanos(absl::FromCivil(civil, absl::UTCTimeZone()))};
}

// Where the controller's local time is that of Berlin.
class EndTime : public ::testing::Test {
 protected:
  EndTime() { setenv("TZ", "Europe/Berlin", /*overwrite=*/1); }
  ~EndTime() override { unsetenv("TZ"); }
};

TEST_F(EndTime, OfDayIsTheNextTimeThatTheClockShowsIt) {
  const WallNs now = Berlin(absl::CivilSecond(2026, 3, 1, 22, 15, 0));
  EXPECT_EQ(ParseEndTime("04:30", now)->value, Berlin(absl::CivilSecond(2026, 3, 2, 4, 30, 0)).value);
  EXPECT_EQ(ParseEndTime("22:16", now)->value, Berlin(absl::CivilSecond(2026, 3, 1, 22, 16, 0)).value);
  EXPECT_EQ(ParseEndTime("22:15:01", now)->value, Berlin(absl::CivilSecond(2026, 3, 1, 22, 15, 1)).value);
  EXPECT_EQ(ParseEndTime(" 22:15 ", now)->value, Berlin(absl::CivilSecond(2026, 3, 2, 22, 15, 0)).value)
      << "it is over today";
}

TEST_F(EndTime, MayHaveADate) {
  const WallNs now = Berlin(absl::CivilSecond(2026, 3, 1, 22, 15, 0));
  EXPECT_EQ(ParseEndTime("2026-03-03 04:30", now)->value, Berlin(absl::CivilSecond(2026, 3, 3, 4, 30, 0)).value);
  EXPECT_EQ(ParseEndTime("2026-03-03T04:30:10", now)->value, Berlin(absl::CivilSecond(2026, 3, 3, 4, 30, 10)).value);
  EXPECT_THAT(ParseEndTime("2026-03-01 22:15", now),
              StatusIs(absl::StatusCode::kInvalidArgument, "is over: it is 2026-03-01 22:15:00 CET"));
}

TEST_F(EndTime, IsTheEarlierOneWhereSummerTimeMakesItTwoOrNone) {
  // 02:30 comes twice, at 00:30 and 01:30 UTC; in spring there is none between 01:00 and 03:00.
  EXPECT_EQ(ParseEndTime("02:30", Berlin(absl::CivilSecond(2026, 10, 24, 23, 0, 0)))->value,
            Utc(absl::CivilSecond(2026, 10, 25, 0, 30, 0)).value);
  EXPECT_EQ(ParseEndTime("02:30", Berlin(absl::CivilSecond(2026, 3, 28, 23, 0, 0)))->value,
            Utc(absl::CivilSecond(2026, 3, 29, 0, 30, 0)).value);
}

TEST_F(EndTime, IsShownInUtcToo) {
  EXPECT_EQ(EndTimeText(Berlin(absl::CivilSecond(2026, 3, 2, 0, 30, 0))), "00:30:00 CET (2026-03-01 23:30:00 UTC)");
}

TEST_F(EndTime, RefusesWhatIsNoTime) {
  for (const char* text : {"", "4", "25:00", "04:60", "tomorrow", "04:30 CET", "2026-13-01 04:30", "2026-03-01"}) {
    EXPECT_THAT(ParseEndTime(text, WallNs{0}), StatusIs(absl::StatusCode::kInvalidArgument, "is not a time of day"))
        << text;
  }
}

}  // namespace
}  // namespace plimsoll::tests
