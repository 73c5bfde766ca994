// Where everything that a run receives goes: the journal first, then the analysis, each on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "controller/analysis/analyzer.h"
#include "controller/journal/results.h"
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

// The figures of a run that is under way, from its analysis.
//
// Reads the analyser between two records: on the thread that gives them, once all that were given are in it. Not
// thread-safe.
class LiveReader {
 public:
  // `sink` hands records to `analyzer`; both outlive the object.
  LiveReader(const Analyzer& analyzer, RecordSink& sink) : analyzer_(analyzer), sink_(sink) {}

  // As Analyzer::Live. Waits for the analysis for so long at most; nothing where that was not enough.
  std::optional<LiveSnapshot> Read(int64_t now_ns, int64_t after_second, int64_t patience_ns);
  // After a Read that gave something, and before the next record. As they are now or were a little before: looking
  // takes a small part of the time at most.
  const std::vector<LiveCriterion>& Criteria();

 private:
  const Analyzer& analyzer_;
  RecordSink& sink_;
  std::vector<LiveCriterion> criteria_;
  // This machine's own clock.
  int64_t next_look_ns_ = 0;
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
  // `watch` is given every record that is kept, by the thread that appends it.
  void Watch(std::function<void(const v1::JournalRecord& record)> watch) { watch_ = std::move(watch); }
  // The next call of Append, Flush or Tend calls `warn` when the journal can no longer be written.
  void OnJournalLoss(std::function<void(const absl::Status& status)> warn) { journal_loss_ = std::move(warn); }
  // Waits until everything is written out.
  void Flush();
  // The same for at most so long; false where it was not enough.
  bool FlushFor(int64_t timeout_ns);
  // Looks at what became of the journal.
  void Tend();
  // More is waiting for the journal's disk or for the analysis than should be.
  bool full() const;

  // Waits until everything was analysed, for at most so long; false where it was not enough.
  bool AnalysedWithin(int64_t timeout_ns) { return analysis_->DrainFor(timeout_ns); }

  LiveReader& live() { return live_; }
  // Waits until everything was analysed.
  Analyzer& analyzer();
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
  std::unique_ptr<JournalWriter> journal_;
  absl::Status journal_status_;
  Analyzer analyzer_;
  std::function<void(const v1::JournalRecord&)> watch_;
  std::function<void(const absl::Status&)> journal_loss_;
  Mutex mutex_;
  // What the journal's thread came upon.
  absl::Status written_ ABSL_GUARDED_BY(mutex_);
  // Last: their threads use what is above. The first is null without a journal.
  std::unique_ptr<RecordSink> journal_sink_;
  std::unique_ptr<RecordSink> analysis_;
  LiveReader live_{analyzer_, *analysis_};
};

}  // namespace plimsoll
