#include "controller/run/run_log.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll {

RunLog::RunLog(std::unique_ptr<JournalWriter> journal, const Clock& clock, size_t most_waiting_bytes)
    : clock_(clock),
      most_waiting_bytes_(most_waiting_bytes),
      journal_(std::move(journal)),
      analysis_(
          std::make_unique<RecordSink>([this](const v1::JournalRecord& record) { analyzer_.Add(record); }, [] {})) {
  if (journal_ == nullptr) return;
  journal_sink_ =
      std::make_unique<RecordSink>([this](const v1::JournalRecord& record) { SetWritten(journal_->Append(record)); },
                                   [this] { SetWritten(journal_->Flush()); });
}

void RunLog::Append(v1::JournalRecord record) {
  record.set_time_ns(clock_.Now().value);
  const auto shared = std::make_shared<const v1::JournalRecord>(std::move(record));
  const size_t bytes = shared->ByteSizeLong();
  if (journal_sink_ != nullptr) journal_sink_->Give(shared, bytes);
  analysis_->Give(shared, bytes);
  live_.Add(*shared);
  if (watch_) watch_(*shared);
  Tend();
}

void RunLog::Note(const std::string& text) {
  v1::JournalRecord record;
  record.mutable_note()->set_text(text);
  Append(std::move(record));
}

void RunLog::Flush() {
  if (journal_sink_ != nullptr) journal_sink_->Drain();
  Tend();
}

bool RunLog::FlushFor(int64_t timeout_ns) {
  const bool written = journal_sink_ == nullptr || journal_sink_->DrainFor(timeout_ns);
  Tend();
  return written;
}

bool RunLog::full() const {
  return analysis_->waiting_bytes() >= most_waiting_bytes_ ||
         (journal_sink_ != nullptr && journal_sink_->waiting_bytes() >= most_waiting_bytes_);
}

Analyzer& RunLog::analyzer() {
  analysis_->Drain();
  return analyzer_;
}

void RunLog::Tend() {
  if (!journal_status_.ok()) return;
  {
    MutexLock lock(mutex_);
    journal_status_ = written_;
  }
  if (journal_status_.ok()) return;
  if (journal_loss_) journal_loss_(journal_status_);
  v1::JournalRecord record;
  record.set_time_ns(clock_.Now().value);
  record.mutable_note()->set_text(absl::StrCat("the journal is incomplete (", std::string(journal_status_.message()),
                                               "): this report cannot be made again from it"));
  const size_t bytes = record.ByteSizeLong();
  analysis_->Give(std::make_shared<const v1::JournalRecord>(std::move(record)), bytes);
}

}  // namespace plimsoll
