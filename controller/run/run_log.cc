#include "controller/run/run_log.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll {

void RunLog::Append(v1::JournalRecord record) {
  record.set_time_ns(clock_.Now().value);
  if (journal_ != nullptr) Keep(journal_->Append(record));
  analyzer_.Add(record);
  live_.Add(record);
  if (watch_) watch_(record);
}

void RunLog::Note(const std::string& text) {
  v1::JournalRecord record;
  record.mutable_note()->set_text(text);
  Append(std::move(record));
}

void RunLog::Flush() {
  if (journal_ != nullptr) Keep(journal_->Flush());
}

void RunLog::Keep(const absl::Status& status) {
  if (status.ok() || !journal_status_.ok()) return;
  journal_status_ = status;
  if (journal_loss_) journal_loss_(status);
  v1::JournalRecord record;
  record.set_time_ns(clock_.Now().value);
  record.mutable_note()->set_text(absl::StrCat("the journal is incomplete (", std::string(status.message()),
                                               "): this report cannot be made again from it"));
  analyzer_.Add(record);
}

}  // namespace plimsoll
