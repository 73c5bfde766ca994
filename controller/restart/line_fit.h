// The straight line through points, by least squares. Pure functions of numbers.
#pragma once

#include <optional>
#include <vector>

namespace plimsoll {

struct LinePoint {
  double x = 0;
  double y = 0;
};

// y = intercept + slope x, with the residuals' variance on n - 2 degrees of freedom (Draper and Smith, Applied
// Regression Analysis, 1998, chapter 1).
struct LineFit {
  double slope = 0;
  double intercept = 0;
  // Share of the variance of y that the line explains; 1 where all y are equal.
  double r_squared = 0;
  // Half width of the slope's 95 % confidence interval.
  double slope_half_width = 0;

  double At(double x) const { return intercept + slope * x; }
  // Half width of the 95 % confidence interval of the mean of y at x.
  double HalfWidthAt(double x) const;

  // Of the points.
  double mean_x = 0;
  double sum_of_squares_x = 0;
  double count = 0;
  // Half width at the mean of x, times the square root of count.
  double unit_half_width = 0;
};

// Nothing where there are fewer than three points, or all x are equal.
std::optional<LineFit> FitLine(const std::vector<LinePoint>& points);

// The middle one of the values, or the mean of the two in the middle; there is at least one.
double MedianOf(std::vector<double> values);

}  // namespace plimsoll
