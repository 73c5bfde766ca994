#include "controller/restart/line_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/student_t.h"

namespace plimsoll {
namespace {

constexpr size_t kFewestPoints = 3;
constexpr double kErrorChance = 0.05;

}  // namespace

double LineFit::HalfWidthAt(double x) const {
  const double distance = x - mean_x;
  return unit_half_width * std::sqrt(1 / count + distance * distance / sum_of_squares_x);
}

std::optional<LineFit> FitLine(const std::vector<LinePoint>& points) {
  if (points.size() < kFewestPoints) return std::nullopt;
  LineFit fit;
  fit.count = static_cast<double>(points.size());
  double mean_y = 0;
  for (const LinePoint& point : points) {
    fit.mean_x += point.x / fit.count;
    mean_y += point.y / fit.count;
  }
  double products = 0;
  double squares_y = 0;
  for (const LinePoint& point : points) {
    const double x = point.x - fit.mean_x;
    const double y = point.y - mean_y;
    fit.sum_of_squares_x += x * x;
    squares_y += y * y;
    products += x * y;
  }
  if (fit.sum_of_squares_x <= 0) return std::nullopt;
  fit.slope = products / fit.sum_of_squares_x;
  fit.intercept = mean_y - fit.slope * fit.mean_x;
  double squares_left = 0;
  for (const LinePoint& point : points) {
    const double rest = point.y - fit.At(point.x);
    squares_left += rest * rest;
  }
  fit.r_squared = squares_y > 0 ? std::clamp(1 - squares_left / squares_y, 0.0, 1.0) : 1;
  const double degrees = fit.count - 2;
  fit.unit_half_width = CriticalT(kErrorChance, degrees) * std::sqrt(squares_left / degrees);
  fit.slope_half_width = fit.unit_half_width / std::sqrt(fit.sum_of_squares_x);
  return fit;
}

double MedianOf(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace plimsoll
