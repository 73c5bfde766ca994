// Frames of a step that folds its frames by age, as they came, until what the fold makes of them is in the journal.
//
// They lie in two files beside it, `journal.recent-0` and `journal.recent-1`, which take turns. A file is cleared and
// used again once the journal holds everything that the fold made of it, and is on the disk so far. So whenever the
// program or the machine stops, each frame is in the journal, in one of these files, or in both; and MinutesSettled,
// the last one in the journal, says which frames of these files are in the journal, too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/journal/results.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

inline constexpr std::array<const char*, 2> kRecentSuffixes = {".recent-0", ".recent-1"};

// The names, or paths, of all files that the journal with this name may have, itself first.
std::vector<std::string> JournalFileNames(const std::string& journal);

// Not thread-safe.
class RecentFrames {
 public:
  // The other file takes its turn when one holds frames of so many seconds. Longer while frames of the other one
  // wait for a host that is silent. The journal has few records meanwhile, so that a switch costs little; 200 hosts
  // with 8 queue managers of 300 writes/s fill some 370 MB in two minutes.
  static constexpr int64_t kSecondsOfFile = 120;

  // The journal outlives the object.
  explicit RecentFrames(JournalWriter& journal, int64_t seconds_of_file = kSecondsOfFile)
      : journal_(journal), seconds_of_file_(seconds_of_file) {}

  // Keeps a record of frames. `second`: the largest one in which one of its frames begins.
  absl::Status Append(const v1::JournalRecord& record, int64_t second);
  // The journal is about to be given what follows from all frames that begin below `second`. Returns how many records
  // have others; these are written out then, so that a reader who finds fewer knows that some are missing.
  absl::StatusOr<uint64_t> Settle(int64_t second);
  // No frame is kept that was not settled.
  bool settled() const;
  absl::Status Flush();
  // Everything is settled: clears the files.
  absl::Status Clear();
  // Removes the files. Called last.
  absl::Status Remove();

  uint64_t bytes() const;

 private:
  // One of the two files.
  struct Turn {
    std::unique_ptr<JournalWriter> file;
    bool empty = true;
    // The first and the last second in which a frame of the file begins.
    int64_t first_second = 0;
    int64_t last_second = 0;
    bool settled = true;
  };
  // Lets the other file take its turn, if it can and it is time.
  absl::Status Switch(int64_t second);

  JournalWriter& journal_;
  const int64_t seconds_of_file_;
  std::array<Turn, kRecentSuffixes.size()> turns_;
  size_t now_ = 0;
  // The largest second in which a frame begins, for each record with frames that are not settled.
  std::vector<int64_t> waiting_;
};

}  // namespace plimsoll
