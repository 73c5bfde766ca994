#include "controller/journal/recent_frames.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"

namespace plimsoll {

std::vector<std::string> JournalFileNames(const std::string& journal) {
  std::vector<std::string> names = {journal};
  for (const char* const suffix : kRecentSuffixes) names.push_back(journal + suffix);
  return names;
}

absl::Status RecentFrames::Append(const v1::JournalRecord& record, int64_t second) {
  PLIMSOLL_RETURN_IF_ERROR(Switch(second));
  Turn& turn = turns_[now_];
  if (turn.file == nullptr) {
    PLIMSOLL_ASSIGN_OR_RETURN(turn.file, journal_.CreateBeside(kRecentSuffixes[now_]));
  }
  if (turn.empty) turn.first_second = turn.last_second = second;
  turn.empty = false;
  turn.last_second = std::max(turn.last_second, second);
  turn.settled = false;
  waiting_.push_back(second);
  return turn.file->Append(record);
}

absl::Status RecentFrames::Switch(int64_t second) {
  const Turn& turn = turns_[now_];
  Turn& other = turns_[1 - now_];
  if (turn.empty || second - turn.first_second < seconds_of_file_ || !other.settled) return absl::OkStatus();
  if (other.file != nullptr && !other.empty) {
    PLIMSOLL_RETURN_IF_ERROR(journal_.Sync());
    PLIMSOLL_RETURN_IF_ERROR(other.file->Clear());
    other.empty = true;
  }
  // What the other one takes up comes later than all of this.
  PLIMSOLL_RETURN_IF_ERROR(turn.file->Flush());
  now_ = 1 - now_;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> RecentFrames::Settle(int64_t second) {
  std::erase_if(waiting_, [second](int64_t of_record) { return of_record < second; });
  for (Turn& turn : turns_) turn.settled |= turn.last_second < second;
  PLIMSOLL_RETURN_IF_ERROR(Flush());
  return waiting_.size();
}

bool RecentFrames::settled() const {
  return std::all_of(turns_.begin(), turns_.end(), [](const Turn& turn) { return turn.settled; });
}

absl::Status RecentFrames::Flush() {
  absl::Status status;
  for (const Turn& turn : turns_) {
    if (turn.file != nullptr) status.Update(turn.file->Flush());
  }
  return status;
}

absl::Status RecentFrames::Clear() {
  if (turns_[0].empty && turns_[1].empty) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(journal_.Sync());
  for (Turn& turn : turns_) {
    if (turn.file == nullptr || turn.empty) continue;
    PLIMSOLL_RETURN_IF_ERROR(turn.file->Clear());
    turn.empty = true;
  }
  return absl::OkStatus();
}

absl::Status RecentFrames::Remove() {
  absl::Status status;
  for (Turn& turn : turns_) {
    if (turn.file != nullptr) status.Update(turn.file->Remove());
    turn.file.reset();
  }
  return status;
}

uint64_t RecentFrames::bytes() const {
  uint64_t bytes = 0;
  for (const Turn& turn : turns_) bytes += turn.file == nullptr ? 0 : turn.file->bytes();
  return bytes;
}

}  // namespace plimsoll
