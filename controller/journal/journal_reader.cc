// Reads a journal: the file itself, and among its records those of frames that are not settled yet.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/journal/recent_frames.h"
#include "controller/journal/record_layout.h"
#include "controller/journal/record_reader.h"
#include "controller/journal/results.h"

namespace plimsoll {
namespace {

using VisitRaw = std::function<void(const v1::JournalRecord&, const RawRecord&)>;

// How far the frames of the other files are settled.
struct SettledSoFar {
  // The last MinutesSettled, and how many records are before it; 0: there is none.
  uint64_t number = 0;
  uint64_t records_before = 0;
  v1::MinutesSettled mark;
  int64_t intervals_per_second = 1;

  // Whether the frame is settled. All frames of earlier steps are.
  bool Covers(uint64_t of_record, const v1::Frame& frame) const {
    if (of_record > number || frame.step() > mark.step()) return false;
    return frame.step() < mark.step() || frame.first_interval() / intervals_per_second < mark.settled_seconds();
  }
};

// Looks for it in all of the journal that can be read.
absl::StatusOr<SettledSoFar> FindSettled(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(path));
  SettledSoFar settled;
  v1::JournalRecord record;
  for (uint64_t records = 0;; ++records) {
    const absl::StatusOr<bool> more = reader.Next(record);
    // The second reading reports it.
    if (!more.ok() || !*more) return settled;
    const int64_t interval_ns = record.run_begin().frame_interval_ns();
    if (interval_ns > 0 && interval_ns <= kNsPerSecond) settled.intervals_per_second = kNsPerSecond / interval_ns;
    if (!record.has_minutes_settled()) continue;
    settled.number = record.number();
    settled.records_before = records;
    settled.mark = record.minutes_settled();
  }
}

// The files of frames that are not settled yet, as one.
class RecentReader {
 public:
  static absl::StatusOr<RecentReader> Open(const std::string& journal);

  // Neither of the files is there: the run is over, or folds nothing.
  bool absent() const { return absent_; }
  // Reads the first record with a frame that is not settled.
  absl::Status Begin(const SettledSoFar& settled);
  // The next record; null: there is none.
  v1::JournalRecord* next() { return has_next_ ? &next_ : nullptr; }
  // Reads the record after it.
  absl::Status Advance(const SettledSoFar& settled);
  // Bytes of the files behind the records that were taken.
  uint64_t unread_bytes() const;

 private:
  struct File {
    RecordReader reader;
    v1::JournalRecord first;
  };
  // Takes out what is settled; false where that is all.
  static bool LeaveUnsettled(const SettledSoFar& settled, v1::JournalRecord& record);

  bool absent_ = true;
  absl::Status damage_;
  std::vector<File> files_;
  size_t file_ = 0;
  // The first record of files_[file_] was not taken yet.
  bool at_first_ = true;
  v1::JournalRecord next_;
  bool has_next_ = false;
  uint64_t last_number_ = 0;
};

absl::StatusOr<RecentReader> RecentReader::Open(const std::string& journal) {
  RecentReader recent;
  for (const char* const suffix : kRecentSuffixes) {
    const std::string path = absl::StrCat(journal, suffix);
    struct stat info{};
    if (stat(path.c_str(), &info) != 0 && errno == ENOENT) continue;
    recent.absent_ = false;
    // A file that was just made, or cleared.
    if (S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) <= kJournalMagic.size()) continue;
    absl::StatusOr<RecordReader> reader = RecordReader::Open(path);
    // What the journal has before its frames is still worth reading.
    if (absl::IsInvalidArgument(reader.status())) {
      recent.damage_ = absl::DataLossError(absl::StrCat(path, " is damaged: it is not a journal of plimsoll"));
      continue;
    }
    PLIMSOLL_RETURN_IF_ERROR(reader.status());
    recent.files_.push_back({*std::move(reader), {}});
  }
  return recent;
}

absl::Status RecentReader::Begin(const SettledSoFar& settled) {
  PLIMSOLL_RETURN_IF_ERROR(damage_);
  for (File& file : files_) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool any, file.reader.Next(file.first));
    // Without a record its place is the last one.
    if (!any) file.first.set_number(UINT64_MAX);
  }
  std::sort(files_.begin(), files_.end(),
            [](const File& a, const File& b) { return a.first.number() < b.first.number(); });
  return Advance(settled);
}

absl::Status RecentReader::Advance(const SettledSoFar& settled) {
  has_next_ = false;
  while (file_ < files_.size()) {
    File& file = files_[file_];
    if (at_first_ && file.first.number() != UINT64_MAX) {
      next_ = std::move(file.first);
    } else {
      absl::StatusOr<bool> more = false;
      if (!at_first_) more = file.reader.Next(next_);
      PLIMSOLL_RETURN_IF_ERROR(more.status());
      if (!*more) {
        ++file_;
        at_first_ = true;
        continue;
      }
    }
    at_first_ = false;
    if (!next_.has_frames() || next_.frames().settled() || next_.number() <= last_number_) {
      return absl::DataLossError(absl::StrCat(file.reader.path(), ": record ", file.reader.end().records,
                                              " is damaged: it does not belong there"));
    }
    last_number_ = next_.number();
    if (LeaveUnsettled(settled, next_)) {
      has_next_ = true;
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

bool RecentReader::LeaveUnsettled(const SettledSoFar& settled, v1::JournalRecord& record) {
  auto& frames = *record.mutable_frames()->mutable_frames();
  const auto kept = std::remove_if(frames.begin(), frames.end(),
                                   [&](const v1::Frame& frame) { return settled.Covers(record.number(), frame); });
  frames.erase(kept, frames.end());
  return !frames.empty();
}

uint64_t RecentReader::unread_bytes() const {
  uint64_t bytes = 0;
  for (const File& file : files_) bytes += file.reader.UnreadBytes().value_or(0);
  return bytes;
}

// The records of the journal that has frames in other files, in the order of their numbers. Up to the last
// MinutesSettled they lie in this order.
class MergedReader {
 public:
  MergedReader(RecordReader journal, RecentReader recent, SettledSoFar settled, const VisitRaw& visit)
      : journal_(std::move(journal)), recent_(std::move(recent)), settled_(std::move(settled)), visit_(visit) {}

  absl::StatusOr<JournalEnd> Read();

 private:
  enum class Taken { kYes, kMissing };

  // Reads the journal's next record that counts.
  absl::Status AdvanceJournal();
  absl::StatusOr<Taken> TakeNext(uint64_t number);
  absl::Status VisitRecent();
  absl::Status VisitJournal();

  RecordReader journal_;
  RecentReader recent_;
  const SettledSoFar settled_;
  const VisitRaw& visit_;
  v1::JournalRecord record_;
  bool has_record_ = false;
  // What is wrong with the journal behind the last record.
  absl::Status damage_;
  // Place of the journal behind the records that were visited.
  uint64_t bytes_ = 0;
  uint64_t visited_ = 0;
  // Number that the next record has; 0: none had one so far.
  uint64_t next_number_ = 0;
  // Records up to the last MinutesSettled, with frames of later seconds.
  uint64_t waited_ = 0;
};

absl::Status MergedReader::AdvanceJournal() {
  has_record_ = false;
  if (!damage_.ok()) return absl::OkStatus();
  while (true) {
    bytes_ = journal_.end().bytes;
    const absl::StatusOr<bool> more = journal_.Next(record_);
    if (!more.ok()) {
      damage_ = more.status();
      return absl::OkStatus();
    }
    if (!*more) return absl::OkStatus();
    // Its mark is missing: what it was made of is in the other files.
    const bool unfinished = record_.frames().settled() && journal_.end().records > settled_.records_before;
    if (unfinished) continue;
    has_record_ = true;
    if (next_number_ == 0 || record_.number() != 0) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(journal_.path(), ": record ", journal_.end().records, " is damaged: it has no number"));
  }
}

absl::Status MergedReader::VisitRecent() {
  static const std::string nothing;
  visit_(*recent_.next(), {0, nothing});
  ++visited_;
  return recent_.Advance(settled_);
}

absl::Status MergedReader::VisitJournal() {
  visit_(record_, journal_.raw());
  ++visited_;
  return AdvanceJournal();
}

absl::StatusOr<MergedReader::Taken> MergedReader::TakeNext(uint64_t number) {
  const v1::JournalRecord* const recent = recent_.next();
  const bool of_recent = recent != nullptr && recent->number() == number;
  const bool of_journal = has_record_ && record_.number() == number;
  const bool settled_once = of_recent && number <= settled_.number;
  if (settled_once) {
    ++waited_;
  } else {
    if (waited_ < settled_.mark.waiting_records()) return Taken::kMissing;
    const bool split = (of_recent && recent->frames().split()) || (of_journal && record_.frames().split());
    if (number > next_number_ || (split && !(of_recent && of_journal))) return Taken::kMissing;
    if (number < next_number_) {
      return absl::DataLossError(
          absl::StrCat(journal_.path(), ": the record after record ", visited_, " is damaged: its number is ", number));
    }
    next_number_ = number + 1;
  }
  if (of_recent) PLIMSOLL_RETURN_IF_ERROR(VisitRecent());
  if (of_journal && !settled_once) PLIMSOLL_RETURN_IF_ERROR(VisitJournal());
  return Taken::kYes;
}

absl::StatusOr<JournalEnd> MergedReader::Read() {
  PLIMSOLL_RETURN_IF_ERROR(AdvanceJournal());
  while (has_record_ && settled_.number > 0 && visited_ <= settled_.records_before) {
    PLIMSOLL_RETURN_IF_ERROR(VisitJournal());
  }
  if (settled_.number > 0) next_number_ = settled_.number + 1;
  PLIMSOLL_RETURN_IF_ERROR(recent_.Begin(settled_));
  while (has_record_ || recent_.next() != nullptr) {
    if (has_record_ && record_.number() == 0 && next_number_ == 0) {
      PLIMSOLL_RETURN_IF_ERROR(VisitJournal());
      continue;
    }
    uint64_t number = UINT64_MAX;
    if (has_record_) number = record_.number();
    if (recent_.next() != nullptr) number = std::min(number, recent_.next()->number());
    if (next_number_ == 0) {
      // The first record with a number is that of a step's begin, without which no other one follows.
      if (!has_record_) break;
      next_number_ = record_.number();
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const Taken taken, TakeNext(number));
    if (taken == Taken::kMissing) break;
  }
  if (!has_record_ && !damage_.ok()) return damage_;
  const bool lacks = waited_ < settled_.mark.waiting_records();
  JournalEnd end;
  end.records = visited_;
  end.bytes = bytes_;
  const uint64_t of_journal = (has_record_ ? journal_.end().bytes - bytes_ : 0) + journal_.UnreadBytes().value_or(0);
  end.trailing_bytes = of_journal + recent_.unread_bytes();
  // One that was read and not taken, or is not there.
  if (recent_.next() != nullptr) end.trailing_bytes += recent_.next()->ByteSizeLong();
  if (lacks) end.trailing_bytes = std::max<uint64_t>(end.trailing_bytes, 1);
  return end;
}

// As ReadRawJournal, of the one file.
absl::StatusOr<JournalEnd> ReadRecords(RecordReader& reader, uint64_t most_records, const VisitRaw& visit) {
  v1::JournalRecord record;
  while (reader.end().records < most_records) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool more, reader.Next(record));
    if (!more) break;
    visit(record, reader.raw());
  }
  return reader.end();
}

}  // namespace

absl::StatusOr<JournalEnd> ReadRawJournal(const std::string& path, const VisitRaw& visit) {
  PLIMSOLL_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(path));
  PLIMSOLL_ASSIGN_OR_RETURN(RecentReader recent, RecentReader::Open(path));
  if (recent.absent()) return ReadRecords(reader, UINT64_MAX, visit);
  PLIMSOLL_ASSIGN_OR_RETURN(SettledSoFar settled, FindSettled(path));
  return MergedReader(std::move(reader), std::move(recent), std::move(settled), visit).Read();
}

absl::StatusOr<JournalEnd> ReadJournal(const std::string& path,
                                       const std::function<void(const v1::JournalRecord&)>& visit) {
  return ReadRawJournal(path, [&visit](const v1::JournalRecord& record, const RawRecord& /*raw*/) { visit(record); });
}

absl::StatusOr<v1::JournalRecord> ReadFirstRecord(const std::string& path) {
  v1::JournalRecord first;
  PLIMSOLL_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(path));
  PLIMSOLL_ASSIGN_OR_RETURN(
      const JournalEnd end,
      ReadRecords(reader, 1, [&first](const v1::JournalRecord& record, const RawRecord& /*raw*/) { first = record; }));
  if (end.records == 0) return absl::NotFoundError(path + ": holds no record of a run yet");
  return first;
}

absl::StatusOr<std::string> ReadWholeRecords(const std::string& path, const VisitRaw& visit) {
  uint64_t records = 0;
  const absl::StatusOr<JournalEnd> end =
      ReadRawJournal(path, [&](const v1::JournalRecord& record, const RawRecord& raw) {
        ++records;
        visit(record, raw);
      });
  if (!end.ok() && end.status().code() != absl::StatusCode::kDataLoss) return end.status();
  if (records == 0) return absl::InvalidArgumentError(path + ": holds no record of a run yet");
  if (!end.ok()) return std::string(end.status().message());
  if (end->trailing_bytes == 0) return std::string();
  return absl::StrCat("The journal is cut off at byte ", FormatCount(end->bytes));
}

}  // namespace plimsoll
