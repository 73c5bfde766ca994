// Where everything that a run receives goes: the journal first, then the analysis, each on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "controller/analysis/analyzer.h"
#include "controller/journal/results.h"
#include "controller/live/run_journal.h"
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
  // Bytes of the records that were given and not yet taken, the one that is being taken included.
  size_t waiting_bytes() const;
  // Waits until every record was taken and `rest` has returned.
  void Drain();
  // As Drain, for at most so long; false where it was not enough.
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

// Keeps the journal and feeds the same records to the analyser, so that the report made at the end is the one that the
// journal gives again. A journal that can no longer be written stops nothing: the analysis continues.
//
// Journal and analysis have a thread each: neither a disk that hangs nor the report of a large step keeps the caller
// from what it has to do in time. The journal's thread writes out what it was given as soon as nothing more is waiting.
// What waits for the two is bounded as long as the caller appends nothing that it need not while full(). Not
// thread-safe: one thread calls.
class RunLog {
 public:
  static constexpr size_t kMostWaitingBytes = size_t{256} << 20;

  // `journal` may be null: nothing is kept on disk.
  RunLog(std::unique_ptr<JournalWriter> journal, const Clock& clock, size_t most_waiting_bytes = kMostWaitingBytes);

  // Stamps the record with the time and keeps it.
  void Append(v1::JournalRecord record);
  void Note(const std::string& text);
  // `watch` is given every record that is kept, by the thread that appends it, in the order of their registration.
  void Watch(std::function<void(const v1::JournalRecord& record)> watch) { watches_.push_back(std::move(watch)); }
  // The next call of Append, Flush or Tend calls `warn` when the journal can no longer be written.
  void OnJournalLoss(std::function<void(const absl::Status& status)> warn) { journal_loss_ = std::move(warn); }
  // Waits until everything is written out.
  void Flush();
  // As Flush, for at most so long; false where it was not enough.
  bool FlushFor(int64_t timeout_ns);
  // Looks at what became of the journal.
  void Tend();
  // More is waiting for the journal's disk or for the analysis than should be.
  bool full() const;

  // Waits until everything was analysed; it stays so until the next record.
  Analyzer& analyzer();
  // As analyzer(), for at most so long; null where it was not enough.
  const Analyzer* AnalyzerWithin(int64_t timeout_ns) { return analysis_->DrainFor(timeout_ns) ? &analyzer_ : nullptr; }
  // Size of the journal's files together, as far as they were given to its thread's disk; 0 without a journal.
  uint64_t journal_bytes() const { return journal_ == nullptr ? 0 : journal_->bytes(); }
  // Why the journal is incomplete; OK where it is not.
  const absl::Status& journal_status() const { return journal_status_; }

 private:
  // Called on the journal's thread.
  void SetWritten(const absl::Status& status) {
    MutexLock lock(mutex_);
    written_.Update(status);
  }

  const Clock& clock_;
  const size_t most_waiting_bytes_;
  std::unique_ptr<RunJournal> journal_;
  absl::Status journal_status_;
  Analyzer analyzer_;
  std::vector<std::function<void(const v1::JournalRecord&)>> watches_;
  std::function<void(const absl::Status&)> journal_loss_;
  Mutex mutex_;
  // What the journal's thread came upon.
  absl::Status written_ ABSL_GUARDED_BY(mutex_);
  // Last: their threads use what is above. The first is null without a journal.
  std::unique_ptr<RecordSink> journal_sink_;
  std::unique_ptr<RecordSink> analysis_;
};

}  // namespace plimsoll
