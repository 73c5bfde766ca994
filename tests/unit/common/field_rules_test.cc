// The rules of a plan's fields.
#include "common/field_rules.h"

#include <gtest/gtest.h>

#include <limits>

#include "common/units.h"
#include "plimsoll/v1/plan.pb.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
using google::protobuf::FieldDescriptor;
using Workload = v1::LogWorkload;

const FieldDescriptor& WorkloadField(int number) {
  return *Workload::descriptor()->FindFieldByNumber(number);
}

v1::LogWorkload GoodWorkload() {
  v1::LogWorkload workload;
  workload.set_qm(1);
  workload.set_file_size_bytes(1 << 20);
  workload.set_num_files(3);
  return workload;
}

TEST(FieldRules, BoundsAreIncludedInTheirFieldsUnit) {
  const FieldDescriptor& size = WorkloadField(Workload::kFileSizeBytesFieldNumber);
  EXPECT_TRUE(InRange(size, uint64_t{4096}));
  EXPECT_FALSE(InRange(size, uint64_t{4095}));
  EXPECT_TRUE(InRange(size, uint64_t{2} << 40U));
  EXPECT_FALSE(InRange(size, (uint64_t{2} << 40U) + 1));
  const FieldDescriptor& delay = WorkloadField(Workload::kDelayNsFieldNumber);
  EXPECT_TRUE(InRange(delay, int64_t{0}));
  EXPECT_FALSE(InRange(delay, int64_t{-1}));
  EXPECT_EQ(LargestOf(delay), FieldNumber(3600 * kNsPerSecond));
  EXPECT_FALSE(LargestOf(WorkloadField(Workload::kFilePrefixFieldNumber)).has_value());
  EXPECT_EQ(LargestOfWorkload(Workload::kQmFieldNumber), 4096U);
  EXPECT_EQ(LargestOfWorkload(Workload::kNumFilesFieldNumber), 511U);
}

TEST(FieldRules, ZeroIsAcceptedBesideARangeThatLacksIt) {
  const FieldDescriptor& rate = WorkloadField(Workload::kRatePerSecondFieldNumber);
  for (const double good : {0.0, -0.0, 0.001, 1.0, 1e6}) EXPECT_TRUE(InRange(rate, good)) << good;
  for (const double bad :
       {0.0005, -0.001, 1e6 + 1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(InRange(rate, bad)) << bad;
  }
  EXPECT_EQ(RangeText(rate), "from 0.001 to 1000000, or 0");
}

TEST(FieldRules, AMessageIsCheckedFieldByFieldWhetherGivenOrNot) {
  v1::LogWorkload workload = GoodWorkload();
  EXPECT_THAT(CheckRanges(workload), IsOk());
  workload.clear_qm();
  EXPECT_THAT(CheckRanges(workload), StatusIs(StatusCode::kInvalidArgument, "qm must be from 1 to 4096; it is 0"));
  workload = GoodWorkload();
  workload.set_delay_ns(2 * 3600 * kNsPerSecond);
  EXPECT_THAT(CheckRanges(workload), StatusIs(StatusCode::kInvalidArgument, "delay must be from 0us to 1h; it is 2h"));
}

}  // namespace
}  // namespace plimsoll
