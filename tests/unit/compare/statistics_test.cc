#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "common/student_t.h"
#include "controller/statistics/run_statistics.h"
#include "controller/statistics/second_statistics.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

std::vector<double> FirstOrder(double phi, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  double value = normal(random);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    value = phi * value + std::sqrt(1 - phi * phi) * normal(random);
    values.push_back(value);
  }
  return values;
}

RatioSeries OverOne(std::vector<double> values) {
  const size_t count = values.size();
  return {std::move(values), std::vector<double>(count, 1.0)};
}

TEST(Autocorrelation, OfAKnownSeries) {
  const std::vector<double> values = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(Autocovariance(values, 0), 1.25);
  EXPECT_DOUBLE_EQ(Autocovariance(values, 1), (0.75 - 0.25 + 0.75) / 4);
  EXPECT_EQ(Autocovariance(values, 4), 0);
  EXPECT_EQ(Autocorrelation(values), 0) << "too few to tell";
  EXPECT_EQ(Autocorrelation(std::vector<double>(50, 7.0)), 0);
}

TEST(Autocorrelation, IsThatOfTheProcessOnAverage) {
  for (const double phi : {-0.3, 0.0, 0.5, 0.8}) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 2'000; ++seed) sum += Autocorrelation(FirstOrder(phi, 60, seed));
    EXPECT_NEAR(sum / 2'000, phi, 0.02) << phi;
  }
}

TEST(Autocorrelation, InflatesTheVarianceOfAMeanAsItsSumSays) {
  for (const double phi : {-0.4, 0.0, 0.3, 0.9}) {
    for (const size_t count : {1U, 2U, 7U, 60U}) {
      double sum = 1;
      for (size_t k = 1; k < count; ++k) {
        sum += 2 * (1 - static_cast<double>(k) / static_cast<double>(count)) * std::pow(phi, static_cast<double>(k));
      }
      EXPECT_NEAR(VarianceInflation(phi, count), sum, 1e-12) << phi << " " << count;
    }
  }
  EXPECT_DOUBLE_EQ(EffectiveCount(0, 60), 60);
  EXPECT_NEAR(EffectiveCount(0.5, 60), 20, 1);
}

TEST(Autocorrelation, CountForIsTheLeastThatIsEnough) {
  for (const double phi : {0.0, 0.5, 0.97}) {
    const size_t count = CountFor(phi, 15);
    EXPECT_GE(EffectiveCount(phi, count), 15);
    EXPECT_LT(EffectiveCount(phi, count - 1), 15);
  }
}

TEST(BlockLength, GrowsWithTheAutocorrelation) {
  const auto average = [](double phi, size_t count) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) sum += static_cast<double>(BlockLength(FirstOrder(phi, count, seed)));
    return sum / 50;
  };
  EXPECT_LT(average(0, 600), average(0.3, 600));
  EXPECT_LT(average(0.3, 600), average(0.6, 600));
  // What is best for the mean of an AR(1) process: (1.5 (2 phi / (1 - phi^2))^2 n)^(1/3) = 11.7.
  EXPECT_NEAR(average(0.5, 600), 11.7, 3);
  EXPECT_EQ(BlockLength(std::vector<double>(100, 3.0)), 1U);
  EXPECT_EQ(BlockLength({1, 2}), 1U);
}

TEST(BlockResamples, DrawsEveryObservationEquallyOften) {
  const BlockResamples resamples(60, 7, 5'000, 1);
  EXPECT_EQ(resamples.blocks(), 9U);
  EXPECT_EQ(resamples.replicates(), 5'000U);
  std::vector<int> drawn(60);
  for (size_t replicate = 0; replicate < resamples.replicates(); ++replicate) {
    for (size_t block = 0; block < resamples.blocks(); ++block) ++drawn[resamples.starts(replicate)[block]];
  }
  for (const int count : drawn) EXPECT_NEAR(count, 750, 150);
}

TEST(BlockResamples, AreTheSameForTheSameSeedOnEveryMachine) {
  const BlockResamples resamples(60, 7, 2, 1);
  // The upper 32 bits of std::mt19937_64(1), times 60, by 2^32.
  std::mt19937_64 random(1);
  for (size_t block = 0; block < 9; ++block) {
    EXPECT_EQ(resamples.starts(0)[block], static_cast<uint32_t>(((random() >> 32) * 60) >> 32));
  }
  EXPECT_NE(BlockResamples(60, 7, 2, 2).starts(0)[0], resamples.starts(0)[0]);
}

TEST(Holm, AdjustsAsInHolmsPaper) {
  const std::vector<double> adjusted = HolmAdjusted({0.01, 0.04, 0.03, 0.005});
  EXPECT_THAT(adjusted, ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.06, 1e-12), DoubleNear(0.06, 1e-12),
                                    DoubleNear(0.02, 1e-12)));
  EXPECT_THAT(HolmAdjusted({0.7, 0.6}), ElementsAre(1.0, 1.0));
  EXPECT_TRUE(HolmAdjusted({}).empty());
}

TEST(StudentT, IsThatOfTheTables) {
  EXPECT_NEAR(TwoSidedT(12.706204736, 1), 0.05, 1e-10);
  EXPECT_NEAR(TwoSidedT(2.228138852, 10), 0.05, 1e-10);
  EXPECT_NEAR(TwoSidedT(2.575829304, 1e9), 0.01, 1e-8);
  EXPECT_NEAR(CriticalT(0.001, 4), 8.610301581, 1e-8);
  EXPECT_EQ(TwoSidedT(0, 3), 1);
  EXPECT_EQ(TwoSidedT(std::numeric_limits<double>::infinity(), 3), 0);
}

TEST(RatioBootstrap, KnowsTheVarianceOfAMeanOfDependentSeconds) {
  // Of 60 values of an AR(1) process: its inflation over 60.
  for (const double phi : {0.0, 0.5}) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
      const RatioSeries series = OverOne(FirstOrder(phi, 60, seed));
      const BlockResamples resamples(60, BlockLength(series.numerator), 1, seed);
      sum += RatioBootstrap(series, Scale::kLinear, SeriesPhi(series), resamples).variance();
    }
    const double expected = VarianceInflation(phi, 60) / 60;
    EXPECT_NEAR(sum / 400, expected, 0.15 * expected) << phi;
  }
}

TEST(RatioBootstrap, ReplicatesScatterAsTheirErrorsSay) {
  RatioSeries series{FirstOrder(0.4, 120, 3), {}};
  for (double& value : series.numerator) value = 1'000 + 50 * value;
  series.denominator.assign(120, 2.0);
  const BlockResamples resamples(120, 6, 20'000, 5);
  const RatioBootstrap bootstrap(series, Scale::kLog, 0.4, resamples);
  EXPECT_NEAR(bootstrap.value(), std::log(500), 0.02);
  double mean = 0;
  double squares = 0;
  double variance = 0;
  for (size_t i = 0; i < bootstrap.replicates(); ++i) {
    mean += bootstrap.deviation(i);
    squares += bootstrap.deviation(i) * bootstrap.deviation(i);
    variance += bootstrap.variance(i);
  }
  const auto n = static_cast<double>(bootstrap.replicates());
  EXPECT_NEAR(mean / n, 0, 4 * std::sqrt(squares / n / n));
  EXPECT_NEAR(squares / n, variance / n, 0.05 * variance / n);
}

TEST(RatioBootstrap, WeighsSecondsByTheirWrites) {
  // Half of the seconds make ten times the writes, at a fifth of the latency: the mean is that of all writes.
  RatioSeries series;
  for (int i = 0; i < 20; ++i) {
    const double writes = i % 2 == 0 ? 100 : 1'000;
    series.denominator.push_back(writes);
    series.numerator.push_back(writes * (i % 2 == 0 ? 5 : 1));
  }
  const RatioBootstrap bootstrap(series, Scale::kLinear, 0, BlockResamples(20, 1, 10, 1));
  EXPECT_DOUBLE_EQ(bootstrap.value(), 15'000.0 / 11'000);
}

TEST(RatioBootstrap, FigureOfFewIndependentSecondsIsNoBetterKnownThanThatOfOne) {
  const RatioSeries series = OverOne(FirstOrder(0.97, 60, 2));
  const double second = Autocovariance(series.numerator, 0);
  const BlockResamples resamples(60, 10, 1, 1);
  EXPECT_GE(RatioBootstrap(series, Scale::kLinear, 0.97, resamples).variance(), second * (1 - 1e-9));
  EXPECT_LT(RatioBootstrap(series, Scale::kLinear, 0, resamples).variance(), second);
}

TEST(StudentisedDifference, WithoutAnyScatterEveryDifferenceIsBeyondChance) {
  const BlockResamples resamples(10, 1, 99, 1);
  const auto constant = [&resamples](double value) {
    return RatioBootstrap(OverOne(std::vector<double>(10, value)), Scale::kLog, 0, resamples);
  };
  EXPECT_EQ(StudentisedDifference(constant(5), constant(5)).PValue(), 1);
  EXPECT_DOUBLE_EQ(StudentisedDifference(constant(5), constant(6)).PValue(), 0.01);
  // Numbers that are not exact in binary are as constant.
  EXPECT_EQ(StudentisedDifference(constant(0.1), constant(0.3 / 3)).PValue(), 1);
  EXPECT_DOUBLE_EQ(StudentisedDifference(constant(0.1), constant(0.3)).PValue(), 0.01);
  const RatioSeries tenths{std::vector<double>(10, 0.1 * 3'840'111), std::vector<double>(10, 3'840'111)};
  EXPECT_EQ(RatioBootstrap(tenths, Scale::kLog, 0, resamples).variance(), 0);
}

TEST(StudentisedDifference, CriticalValueAndPValueAgree) {
  const BlockResamples first(60, 3, 999, 1);
  const BlockResamples second(60, 3, 999, 2);
  const StudentisedDifference difference(RatioBootstrap(OverOne(FirstOrder(0.2, 60, 1)), Scale::kLinear, 0.2, first),
                                         RatioBootstrap(OverOne(FirstOrder(0.2, 60, 2)), Scale::kLinear, 0.2, second));
  const double edge = difference.Critical(0.05) * difference.error();
  EXPECT_LE(difference.PValue(difference.difference() - edge * 1.0001), 0.05);
  EXPECT_GT(difference.PValue(difference.difference() - edge * 0.9999), 0.05);
  EXPECT_EQ(difference.Critical(1e-9), std::numeric_limits<double>::infinity());
}

SecondHistograms Histograms(size_t seconds, uint32_t shift, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(600 + shift, 8);
  SecondHistograms histograms;
  for (size_t i = 0; i < seconds; ++i) {
    std::vector<SecondHistograms::Bucket> buckets;
    buckets.reserve(100);
    for (int write = 0; write < 100; ++write) buckets.push_back({static_cast<uint32_t>(normal(random)), 1});
    histograms.Add(buckets);
  }
  return histograms;
}

TEST(SecondHistograms, CountsAndInterpolates) {
  SecondHistograms histograms;
  histograms.Add({});
  histograms.Add({{10, 4}, {12, 4}});
  histograms.Add({{8, 2}});
  EXPECT_EQ(histograms.observations(), 3U);
  EXPECT_EQ(histograms.writes(), 10);
  EXPECT_EQ(histograms.lowest(), 8);
  EXPECT_EQ(histograms.highest(), 13);
  EXPECT_DOUBLE_EQ(histograms.ShareBelow(8.5), 0.1);
  EXPECT_DOUBLE_EQ(histograms.ShareBelow(11), 0.6);
  EXPECT_DOUBLE_EQ(histograms.ShareBelow(12.75), 0.9);
  EXPECT_DOUBLE_EQ(histograms.ShareBelow(99), 1);
  EXPECT_DOUBLE_EQ(histograms.Quantile(0.4), 10.5);
  EXPECT_DOUBLE_EQ(histograms.Quantile(1), 13);
  const RatioSeries series = histograms.SharesBelow(10.5);
  EXPECT_THAT(series.numerator, ElementsAre(0, 2, 2));
  EXPECT_THAT(series.denominator, ElementsAre(0, 8, 2));
}

TEST(PercentileTest, FindsAShiftAndItsInterval) {
  const SecondHistograms first = Histograms(60, 0, 1);
  const SecondHistograms second = Histograms(60, 8, 2);
  const BlockResamples first_resamples(60, 2, 1'999, 1);
  const BlockResamples second_resamples(60, 2, 1'999, 2);
  const double ratio = std::exp2((second.Quantile(0.5) - first.Quantile(0.5)) / 32);
  const PercentileTest test = TestPercentile({first, first_resamples}, {second, second_resamples}, 0.5, ratio, 0.05);
  EXPECT_LE(test.p, 0.001);
  EXPECT_EQ(test.p, PercentilePValue({first, first_resamples}, {second, second_resamples}, 0.5, ratio));
  const double truth = std::exp2(8.0 / 32);
  EXPECT_LT(test.low, truth);
  EXPECT_GT(test.high, truth);
  // The median of 6,000 values is known to 1.25 x 8 / sqrt(6,000) = 0.13 buckets, the difference of two to 0.18.
  EXPECT_NEAR(std::log2(test.high / test.low) * 32, 4 * 0.18, 0.3);
}

TEST(PercentileTest, OfTheSameDataFindsNothing) {
  const SecondHistograms histograms = Histograms(60, 0, 1);
  const BlockResamples first(60, 2, 199, 1);
  const BlockResamples second(60, 2, 199, 2);
  const PercentileTest test = TestPercentile({histograms, first}, {histograms, second}, 0.99, 1, 0.05);
  EXPECT_EQ(test.p, 1);
  EXPECT_LT(test.low, 1);
  EXPECT_GT(test.high, 1);
}

TEST(WholeRuns, MethodDependsOnTheFewer) {
  EXPECT_EQ(MethodForRuns(1, 5), RunsMethod::kStudent);
  EXPECT_EQ(MethodForRuns(2, 2), RunsMethod::kStudent);
  EXPECT_EQ(MethodForRuns(3, 4), RunsMethod::kWelch);
  EXPECT_EQ(MethodForRuns(6, 6), RunsMethod::kBootstrap);
}

TEST(WholeRuns, StudentsTest) {
  // Means 2 and 5, pooled variance 1 with 2 degrees of freedom, error 1.
  const RunsTest test = TestRuns({1.5, 2.5}, {4.5, 5.5}, 0.05, 99, 1);
  EXPECT_DOUBLE_EQ(test.difference, 3);
  EXPECT_NEAR(test.error, std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(test.p, TwoSidedT(3 / std::sqrt(0.5), 2), 1e-12);
  EXPECT_NEAR(test.half_width, 4.30265273 * std::sqrt(0.5), 1e-6);
}

TEST(WholeRuns, WelchsTest) {
  // Variances 1 and 9 over 3: error sqrt(10 / 3), degrees (10/3)^2 / ((1/9 + 9) / 2).
  const RunsTest test = TestRuns({1, 2, 3}, {7, 10, 13}, 0.05, 99, 1);
  EXPECT_NEAR(test.error, std::sqrt(10.0 / 3), 1e-12);
  EXPECT_NEAR(test.p, TwoSidedT(8 / std::sqrt(10.0 / 3), (100.0 / 9) / ((1.0 / 9 + 9) / 2)), 1e-12);
}

TEST(WholeRuns, OneRunIsHeldAgainstTheScatterOfTheOthers) {
  const RunsTest test = TestRuns({1}, {2, 3, 4}, 0.05, 99, 1);
  EXPECT_NEAR(test.error, std::sqrt(4.0 / 3), 1e-12);
}

TEST(WholeRuns, AreRightAboutEqualSidesAsOftenAsTheySay) {
  for (const size_t runs : {2U, 3U, 6U}) {
    std::mt19937_64 random(runs);
    std::normal_distribution<double> normal;
    int wrong = 0;
    for (uint64_t i = 0; i < 400; ++i) {
      std::vector<double> first;
      std::vector<double> second;
      for (size_t run = 0; run < runs; ++run) {
        first.push_back(normal(random));
        second.push_back(normal(random));
      }
      wrong += TestRuns(first, second, 0.05, 499, i).p <= 0.05 ? 1 : 0;
    }
    EXPECT_LE(wrong, 32) << runs << " runs a side: 20 of 400 are expected";
    EXPECT_GE(wrong, 6) << runs << " runs a side: whoever never finds anything is not right either";
  }
}

TEST(SecondHistograms, ExpectingBucketsChangesNothingButTheWork) {
  const std::vector<std::vector<SecondHistograms::Bucket>> seconds = {
      {}, {{700, 3}, {705, 1}}, {{400, 2}}, {{1200, 1}, {5'000, 9}}, {{700, 4}}};
  SecondHistograms plain;
  SecondHistograms expecting;
  expecting.Expect(400, 1200);
  for (const auto& second : seconds) {
    plain.Add(second);
    expecting.Add(second);
  }
  EXPECT_EQ(plain.lowest(), expecting.lowest());
  EXPECT_EQ(plain.highest(), expecting.highest());
  EXPECT_EQ(plain.writes(), expecting.writes());
  for (const double position : {399.0, 400.5, 702.3, 1200.0, 1300.0}) {
    EXPECT_EQ(plain.SharesBelow(position).numerator, expecting.SharesBelow(position).numerator) << position;
    EXPECT_EQ(plain.ShareBelow(position), expecting.ShareBelow(position)) << position;
  }
  EXPECT_EQ(plain.Quantile(0.9), expecting.Quantile(0.9));
}

}  // namespace
}  // namespace plimsoll
