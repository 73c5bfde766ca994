#include "controller/run/journal_size.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// A frame, and for each of its writes. A frame of a second with 300 writes takes 1,317 B by `scripts/bench day`, with
// what its host adds; one of 250 ms with 75 such writes 480 B. Frames of many writes take less, since latencies repeat.
constexpr double kBytesOfFrame = 200;
constexpr double kBytesOfWrite = 3.75;
// A folded minute of a writer with 300 writes/s and response times, whose latencies spread as those of `scripts/bench
// day`: two distributions of 7 kB, and the figures of each second.
constexpr double kBytesOfFoldedMinute = 14'900;
constexpr double kSecondsOfMinute = 60;
constexpr double kSecondsOfHour = 3'600;

// What of a limit is left for the end of the run: frames that are under way, those that are settled only then, the
// answers of the hosts.
constexpr uint64_t kEndShare = 16;

double SecondsIn(int64_t length_ns) {
  return static_cast<double>(length_ns) / kNsPerSecond;
}

}  // namespace

uint64_t JournalBytesOf(const JournalLoad& load) {
  const double measured_s = SecondsIn(load.measured_ns);
  double whole_s = measured_s;
  if (load.fold) {
    whole_s = std::min(measured_s, static_cast<double>(load.fold->whole_seconds()));
    // With so many stalls that no more seconds stay whole.
    const double folded_hours = (measured_s - whole_s) / kSecondsOfHour;
    whole_s += folded_hours * static_cast<double>(load.fold->most_whole_of_hour());
  }
  const double interval_s = SecondsIn(load.interval_ns);
  const double frames = (SecondsIn(load.warmup_ns) + whole_s) / interval_s;
  const double of_writer = frames * (kBytesOfFrame + kBytesOfWrite * load.writes_per_second * interval_s) +
                           (measured_s - whole_s) / kSecondsOfMinute * kBytesOfFoldedMinute;
  return static_cast<uint64_t>(of_writer * static_cast<double>(load.writers));
}

std::string OverJournalLimit(uint64_t journal_bytes, uint64_t limit_bytes) {
  if (journal_bytes < limit_bytes - limit_bytes / kEndShare) return "";
  return absl::StrCat("--journal-limit: the journal has ", FormatSizeForPeople(journal_bytes), " of ",
                      FormatSizeForPeople(limit_bytes),
                      ", and the rest is for the end of the run; use a larger limit, fewer queue managers, a shorter "
                      "run, or --trace off");
}

}  // namespace plimsoll
