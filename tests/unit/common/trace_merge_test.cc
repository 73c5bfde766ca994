#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "common/trace.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Gives out a vector in pieces of given sizes; then an error, where there is one.
class VectorSource : public TraceSource {
 public:
  VectorSource(std::vector<TracedWrite> writes, size_t piece, absl::Status end = absl::OkStatus())
      : writes_(std::move(writes)), piece_(piece), end_(std::move(end)) {}

  absl::Status Next(std::vector<TracedWrite>& writes) override {
    const size_t size = std::min(piece_, writes_.size() - at_);
    if (size == 0 && !end_.ok()) return end_;
    writes.assign(writes_.begin() + static_cast<std::ptrdiff_t>(at_),
                  writes_.begin() + static_cast<std::ptrdiff_t>(at_ + size));
    at_ += size;
    return absl::OkStatus();
  }

 private:
  std::vector<TracedWrite> writes_;
  size_t piece_;
  absl::Status end_;
  size_t at_ = 0;
};

TEST(TraceMerge, GivesTheTotalOrderHoweverTracesAreCut) {
  constexpr uint64_t kSeed = 1;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 300; ++i) {
    const size_t count = random() % 20;
    std::vector<VectorSource> sources;
    sources.reserve(count);
    std::vector<TraceMerge::Writer> writers;
    std::vector<std::tuple<int64_t, uint32_t, uint32_t, size_t, uint64_t>> expected;
    for (size_t w = 0; w < count; ++w) {
      const auto host = static_cast<uint32_t>(w / 4);
      const auto qm = static_cast<uint32_t>(w % 4 + 1);
      std::vector<int64_t> starts(random() % 200);
      // Many equal starts, and some at the very end of time.
      for (int64_t& start : starts) start = random() % 50 == 0 ? INT64_MAX : static_cast<int64_t>(random() % 500);
      std::sort(starts.begin(), starts.end());
      std::vector<TracedWrite> writes;
      for (const int64_t start : starts) {
        expected.emplace_back(start, host, qm, writes.size(), random() % 1'000);
        writes.push_back({start, std::get<4>(expected.back())});
      }
      sources.emplace_back(std::move(writes), 1 + random() % 50);
      writers.push_back({host, qm, &sources.back()});
    }
    std::sort(expected.begin(), expected.end());
    std::shuffle(writers.begin(), writers.end(), random);
    TraceMerge merge(writers);
    std::vector<MergedWrite> merged;
    for (size_t before = SIZE_MAX; before != merged.size();) {
      before = merged.size();
      ASSERT_THAT(merge.Next(1 + random() % 300, merged), IsOk());
    }
    std::vector<MergedWrite> wanted;
    wanted.reserve(expected.size());
    for (const auto& [start, host, qm, place, latency] : expected) wanted.push_back({{start, latency}, host, qm});
    ASSERT_EQ(merged, wanted) << "seed " << kSeed << ", case " << i;
  }
}

TEST(TraceMerge, OfNothingIsOver) {
  TraceMerge merge({});
  std::vector<MergedWrite> merged;
  EXPECT_THAT(merge.Next(10, merged), IsOk());
  EXPECT_TRUE(merged.empty());
}

TEST(TraceMerge, RefusesASourceThatGoesBack) {
  VectorSource back({{5, 1}, {6, 1}, {4, 1}}, 2);
  VectorSource good({{1, 1}, {9, 1}}, 1);
  TraceMerge merge({{0, 1, &good}, {3, 7, &back}});
  std::vector<MergedWrite> merged;
  EXPECT_THAT(merge.Next(10, merged),
              StatusIs(absl::StatusCode::kInvalidArgument, "host 3 qm 7 goes back from 6 to 4 ns"));
  EXPECT_THAT(merge.Next(10, merged), StatusIs(absl::StatusCode::kInvalidArgument, "goes back"));
}

TEST(TraceMerge, PassesOnTheErrorOfASource) {
  VectorSource broken({{5, 1}}, 1, absl::DataLossError("cut off"));
  TraceMerge merge({{0, 1, &broken}});
  std::vector<MergedWrite> merged;
  EXPECT_THAT(merge.Next(10, merged), StatusIs(absl::StatusCode::kDataLoss, "cut off"));
  EXPECT_EQ(merged.size(), 1U);
}

}  // namespace
}  // namespace plimsoll
