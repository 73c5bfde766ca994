// Where everything that a run receives goes: the journal first, then the analysis and the live figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/mutex.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/live_stats.h"
#include "controller/run/journal.h"
#include "controller/run/record_sink.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Keeps the journal and feeds the same records to the analyser, so that the report made at the end is the one that the
// journal gives again. A journal that can no longer be written stops nothing: the analysis goes on.
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

  const LiveStats& live() const { return live_; }
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
  LiveStats live_;
  std::function<void(const v1::JournalRecord&)> watch_;
  std::function<void(const absl::Status&)> journal_loss_;
  Mutex mutex_;
  // What the journal's thread came upon.
  absl::Status written_ ABSL_GUARDED_BY(mutex_);
  // Last: their threads use what is above. The first is null without a journal.
  std::unique_ptr<RecordSink> journal_sink_;
  std::unique_ptr<RecordSink> analysis_;
};

}  // namespace plimsoll
