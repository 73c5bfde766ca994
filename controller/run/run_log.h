// Where everything that a run receives goes: the journal first, then the analysis and the live figures.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/clock.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/live_stats.h"
#include "controller/run/journal.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Keeps the journal and feeds the same records to the analyser, so that the report made at the end is the one that the
// journal gives again. A journal that can no longer be written stops nothing: the analysis goes on. Not thread-safe.
class RunLog {
 public:
  // `journal` may be null: nothing is kept on disk.
  RunLog(std::unique_ptr<JournalWriter> journal, const Clock& clock) : journal_(std::move(journal)), clock_(clock) {}

  // Stamps the record with the time and keeps it.
  void Append(v1::JournalRecord record);
  void Note(const std::string& text);
  // `watch` is given every record that is kept, after the analysis.
  void Watch(std::function<void(const v1::JournalRecord& record)> watch) { watch_ = std::move(watch); }
  // `warn` is told at once when the journal can no longer be written.
  void OnJournalLoss(std::function<void(const absl::Status& status)> warn) { journal_loss_ = std::move(warn); }
  // Writes out what is buffered.
  void Flush();

  const LiveStats& live() const { return live_; }
  Analyzer& analyzer() { return analyzer_; }
  // Why the journal is incomplete; OK where it is not.
  const absl::Status& journal_status() const { return journal_status_; }

 private:
  void Keep(const absl::Status& status);

  std::unique_ptr<JournalWriter> journal_;
  const Clock& clock_;
  absl::Status journal_status_;
  Analyzer analyzer_;
  LiveStats live_;
  std::function<void(const v1::JournalRecord&)> watch_;
  std::function<void(const absl::Status&)> journal_loss_;
};

}  // namespace plimsoll
