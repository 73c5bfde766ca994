#include "controller/live/run_log.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll {

RecordSink::RecordSink(std::function<void(const v1::JournalRecord&)> take, std::function<void()> rest)
    : take_(std::move(take)), rest_(std::move(rest)), thread_([this] { Run(); }) {}

RecordSink::~RecordSink() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void RecordSink::Give(Record record, size_t bytes) {
  MutexLock lock(mutex_);
  waiting_.emplace_back(std::move(record), bytes);
  waiting_bytes_ += bytes;
  at_rest_ = false;
  changed_.NotifyAll();
}

size_t RecordSink::waiting_bytes() const {
  MutexLock lock(mutex_);
  return waiting_bytes_;
}

void RecordSink::Drain() {
  MutexLock lock(mutex_);
  while (!at_rest_) changed_.Wait(mutex_);
}

bool RecordSink::DrainFor(int64_t timeout_ns) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  MutexLock lock(mutex_);
  while (!at_rest_ && changed_.WaitUntil(mutex_, deadline)) {
  }
  return at_rest_;
}

void RecordSink::Run() {
  while (true) {
    std::pair<Record, size_t> next;
    {
      MutexLock lock(mutex_);
      while (at_rest_ && !closing_) changed_.Wait(mutex_);
      if (at_rest_) return;
      if (!waiting_.empty()) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
    }
    // Without one, all were taken.
    const bool rests = next.first == nullptr;
    if (rests) {
      rest_();
    } else {
      take_(*next.first);
      next.first.reset();
    }
    MutexLock lock(mutex_);
    waiting_bytes_ -= next.second;
    if (rests && waiting_.empty()) {
      at_rest_ = true;
      changed_.NotifyAll();
    }
  }
}

RunLog::RunLog(std::unique_ptr<JournalWriter> journal, const Clock& clock, size_t most_waiting_bytes)
    : clock_(clock),
      most_waiting_bytes_(most_waiting_bytes),
      journal_(journal == nullptr ? nullptr : std::make_unique<RunJournal>(std::move(journal))),
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
  const size_t bytes = shared->SpaceUsedLong();
  if (journal_sink_ != nullptr) journal_sink_->Give(shared, bytes);
  analysis_->Give(shared, bytes);
  for (const auto& watch : watches_) watch(*shared);
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
