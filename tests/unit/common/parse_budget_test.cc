#include <gtest/gtest.h>

#include <string>

#include "common/protocol.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/journal.pb.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// A description with so many empty directories: three bytes each.
std::string EmptyDirectories(size_t count) {
  v1::HostDescription one;
  one.add_directories();
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += one.SerializeAsString();
  return bytes;
}

TEST(CheckParseBudget, RefusesMillionsOfEmptySubmessages) {
  EXPECT_THAT(CheckParseBudget(*v1::HostDescription::descriptor(), EmptyDirectories(4'000'000)),
              StatusIs(absl::StatusCode::kResourceExhausted, "12000000 bytes would take more than 512 MiB"));
  EXPECT_THAT(CheckParseBudget(*v1::HostDescription::descriptor(), EmptyDirectories(1000)), IsOk());
}

TEST(CheckParseBudget, LooksIntoSubmessages) {
  v1::JournalRecord record;
  for (int i = 0; i < 1'000'000; ++i) record.mutable_frames()->add_frames()->add_slow();
  EXPECT_THAT(CheckParseBudget(*record.descriptor(), record.SerializeAsString(), uint64_t{64} << 20),
              StatusIs(absl::StatusCode::kResourceExhausted, "64 MiB"));
}

TEST(CheckParseBudget, NeverEstimatesLessThanIsTaken) {
  v1::JournalRecord record;
  record.set_time_ns(5);
  for (int i = 0; i < 1000; ++i) {
    v1::Frame& frame = *record.mutable_frames()->add_frames();
    frame.set_qm(1);
    frame.add_trace(std::string(100, 'x'));
    for (uint32_t j = 0; j < 50; ++j) {
      frame.mutable_latency()->mutable_histogram()->add_index_delta(j);
      frame.mutable_latency()->mutable_histogram()->add_count(j);
    }
    frame.add_slow()->set_seq(7);
  }
  const std::string bytes = record.SerializeAsString();
  v1::JournalRecord parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_THAT(CheckParseBudget(*record.descriptor(), bytes, parsed.SpaceUsedLong() - 1),
              StatusIs(absl::StatusCode::kResourceExhausted, ""));
  EXPECT_THAT(CheckParseBudget(*record.descriptor(), bytes), IsOk());
}

TEST(CheckParseBudget, LeavesWhatIsNoMessageToTheParser) {
  for (const std::string& bytes : {std::string("\x0a\xff\xff\xff\xff\x0f"), std::string("\x0b"), std::string("\x08")}) {
    EXPECT_THAT(CheckParseBudget(*v1::JournalRecord::descriptor(), bytes), IsOk());
    v1::JournalRecord record;
    EXPECT_FALSE(record.ParseFromString(bytes));
  }
}

}  // namespace
}  // namespace plimsoll
