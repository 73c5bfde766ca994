#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "controller/live/run_log.h"

namespace plimsoll {
namespace {

RecordSink::Record Numbered(int64_t number) {
  auto record = std::make_shared<v1::JournalRecord>();
  record->set_time_ns(number);
  return record;
}

TEST(RecordSink, TakesEveryRecordInOrderAndThenRests) {
  std::vector<int64_t> taken;
  size_t at_rest = 0;
  RecordSink sink([&taken](const v1::JournalRecord& record) { taken.push_back(record.time_ns()); },
                  [&taken, &at_rest] { at_rest = taken.size(); });
  for (int64_t i = 0; i < 1'000; ++i) sink.Give(Numbered(i), 10);
  sink.Drain();
  EXPECT_EQ(at_rest, 1'000U);
  EXPECT_EQ(sink.waiting_bytes(), 0U);
  ASSERT_EQ(taken.size(), 1'000U);
  for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], static_cast<int64_t>(i));
}

TEST(RecordSink, GivingNeverWaitsForAConsumerThatHangs) {
  Mutex mutex;
  CondVar changed;
  bool released = false;
  std::vector<int64_t> taken;
  {
    RecordSink sink(
        [&](const v1::JournalRecord& record) {
          MutexLock lock(mutex);
          while (!released) changed.Wait(mutex);
          taken.push_back(record.time_ns());
        },
        [] {});
    for (int64_t i = 0; i < 100; ++i) sink.Give(Numbered(i), 10);
    EXPECT_EQ(sink.waiting_bytes(), 1'000U);
    EXPECT_FALSE(sink.DrainFor(1));
    MutexLock lock(mutex);
    released = true;
    changed.NotifyAll();
  }
  EXPECT_EQ(taken.size(), 100U) << "what is left is handed over at the end";
}

}  // namespace
}  // namespace plimsoll
