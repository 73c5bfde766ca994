// The straight line through times over records.
#include "controller/restart/line_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "tests/testing.h"

namespace plimsoll {
namespace {

TEST(FitLine, FindsAnExactLineWithoutError) {
  const std::optional<LineFit> fit = FitLine({{500, 1.25}, {1000, 2.25}, {2000, 4.25}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->slope, 0.002, 1e-15);
  EXPECT_NEAR(fit->intercept, 0.25, 1e-12);
  EXPECT_NEAR(fit->r_squared, 1, 1e-12);
  EXPECT_NEAR(fit->slope_half_width, 0, 1e-12);
  EXPECT_NEAR(fit->At(60'000), 120.25, 1e-9);
}

// Draper and Smith's formulas by hand: x = 1..5, y = 2, 4, 5, 4, 5: slope 0.6, intercept 2.2, residual variance 0.8,
// t(0.975, 3) = 3.182.
TEST(FitLine, HasTheIntervalsOfTheTextbook) {
  const std::optional<LineFit> fit = FitLine({{1, 2}, {2, 4}, {3, 5}, {4, 4}, {5, 5}});
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->slope, 0.6, 1e-12);
  EXPECT_NEAR(fit->intercept, 2.2, 1e-12);
  EXPECT_NEAR(fit->r_squared, 0.6, 1e-12);
  EXPECT_NEAR(fit->slope_half_width, 3.18245 * std::sqrt(0.8 / 10), 1e-4);
  EXPECT_NEAR(fit->HalfWidthAt(3), 3.18245 * std::sqrt(0.8 / 5), 1e-4);
  EXPECT_NEAR(fit->HalfWidthAt(8), 3.18245 * std::sqrt(0.8 * (1.0 / 5 + 25.0 / 10)), 1e-4);
}

TEST(FitLine, NeedsThreePointsAndTwoPlaces) {
  EXPECT_FALSE(FitLine({}).has_value());
  EXPECT_FALSE(FitLine({{1, 1}, {2, 2}}).has_value());
  EXPECT_FALSE(FitLine({{7, 1}, {7, 2}, {7, 3}}).has_value());
}

// Of 400 lines with planted noise the true slope lies in the 95 % interval of all but some twenty.
TEST(FitLine, ItsIntervalCoversTheTrueSlopeAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.1);
  int covered = 0;
  for (int line = 0; line < 400; ++line) {
    std::vector<LinePoint> points;
    for (int round = 0; round < 5; ++round) {
      for (const double x : {0.5, 1.0, 2.0}) points.push_back({x, 3 * x + 1 + noise(random)});
    }
    const std::optional<LineFit> fit = FitLine(points);
    ASSERT_TRUE(fit.has_value());
    covered += std::abs(fit->slope - 3) <= fit->slope_half_width ? 1 : 0;
  }
  EXPECT_GE(covered, 365);
  EXPECT_LE(covered, 395);
}

TEST(MedianOf, IsTheMiddleOfAnOddNumberAndTheMeanOfTheTwoInTheMiddleOfAnEvenOne) {
  EXPECT_EQ(MedianOf({3}), 3);
  EXPECT_EQ(MedianOf({9, 1, 4}), 4);
  EXPECT_EQ(MedianOf({9, 1, 4, 5}), 4.5);
}

}  // namespace
}  // namespace plimsoll
