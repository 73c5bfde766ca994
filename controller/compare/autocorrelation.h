// How much the seconds of a run depend on the seconds before them.
#pragma once

#include <cstddef>
#include <vector>

namespace plimsoll {

// Sample autocovariance of `values` at `lag`, with the divisor n (Box, Jenkins, Reinsel: Time Series Analysis, 2.1.5).
// 0 where the lag reaches beyond the values.
double Autocovariance(const std::vector<double>& values, size_t lag);

// Autocorrelation of neighbours (phi of an AR(1) process), in [-0.99, 0.99]. The sample's is too low by (1 + 3 phi) / n
// on average (Kendall, Note on bias in the estimation of autocorrelation, Biometrika 41, 1954); this is corrected:
// (n r + 1) / (n - 3). 0 for fewer than 8 values, and where all are equal.
double Autocorrelation(const std::vector<double>& values);

// By how much the variance of a mean of `count` neighbouring values of an AR(1) process is larger than that of as many
// independent ones: 1 + 2 sum over k < count of (1 - k / count) phi^k.
double VarianceInflation(double phi, size_t count);

// How many independent values tell as much about the mean as `count` neighbouring ones.
double EffectiveCount(double phi, size_t count);

// The least count whose EffectiveCount reaches `effective`.
size_t CountFor(double phi, double effective);

}  // namespace plimsoll
