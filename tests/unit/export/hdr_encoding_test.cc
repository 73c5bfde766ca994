#include <gtest/gtest.h>

#include <random>

#include "controller/export/formats.h"
#include "tests/testing.h"
#include "tests/unit/export/hdr_decode.h"

namespace plimsoll {
namespace {

void ExpectSameBuckets(const Histogram& histogram) {
  const DecodedHdr decoded = DecodeHdrLine(EncodeHdrForLog(histogram));
  ASSERT_EQ(decoded.error, "");
  EXPECT_EQ(decoded.significant_digits, 3U);
  EXPECT_EQ(decoded.lowest, 1U);
  EXPECT_EQ(decoded.highest, HistogramLayout::kMaxValueNs);
  std::map<uint32_t, uint64_t> wanted;
  for (uint32_t index = 0; index < HistogramLayout::kBuckets; ++index) {
    if (histogram.CountAt(index) > 0) wanted[index] = histogram.CountAt(index);
  }
  EXPECT_EQ(decoded.counts, wanted);
}

TEST(HdrEncoding, HoldsEveryBucket) {
  std::mt19937_64 random(31);
  for (int i = 0; i < 300; ++i) {
    Histogram histogram;
    for (uint64_t left = random() % 2'000; left > 0; --left) {
      // Up to 2^43 ns: some above 1 h.
      histogram.RecordN(random() >> (21 + random() % 43), 1 + (random() >> (random() % 60 + 4)) % (1 << 20));
    }
    ExpectSameBuckets(histogram);
  }
}

TEST(HdrEncoding, HoldsTheExtremes) {
  ExpectSameBuckets(Histogram());
  Histogram zero;
  zero.Record(0);
  ExpectSameBuckets(zero);
  Histogram ends;
  ends.Record(0);
  ends.Record(1);
  ends.RecordN(UINT64_MAX, uint64_t{1} << 52U);
  ExpectSameBuckets(ends);
}

}  // namespace
}  // namespace plimsoll
