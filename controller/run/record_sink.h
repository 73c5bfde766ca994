// Hands the records of a run to one consumer on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "common/mutex.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Keeps the order. Give never blocks, whatever the consumer does: the giver looks at waiting_bytes() and stops by
// itself. Thread-safe.
class RecordSink {
 public:
  using Record = std::shared_ptr<const v1::JournalRecord>;

  // On the sink's thread, `take` is called with each record, and `rest` when all that were given have been taken.
  RecordSink(std::function<void(const v1::JournalRecord&)> take, std::function<void()> rest);
  // Hands over what is left, however long that takes.
  ~RecordSink();
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;

  // `bytes`: what the record counts in waiting_bytes().
  void Give(Record record, size_t bytes);
  // Of the records that were given and not yet taken, the one that is being taken included.
  size_t waiting_bytes() const;
  // Waits until every record was taken and `rest` has returned.
  void Drain();
  // The same for at most so long; false where it was not enough.
  bool DrainFor(int64_t timeout_ns);

 private:
  void Run();

  const std::function<void(const v1::JournalRecord&)> take_;
  const std::function<void()> rest_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<std::pair<Record, size_t>> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Everything was taken, and `rest` has returned.
  bool at_rest_ ABSL_GUARDED_BY(mutex_) = true;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll
