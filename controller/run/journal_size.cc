#include "controller/run/journal_size.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// A frame of a second with 300 writes, and what its host adds: 1,317 B a writer and second, by `scripts/bench day`.
// Frames of shorter intervals hold fewer writes and are smaller: what is made of it is an upper estimate.
constexpr uint64_t kBytesOfFrame = 1'317;
// A folded minute of a writer with 300 writes/s: a distribution, and the figures of each second. Made of frames whose
// latencies are spread as widely as those of `scripts/bench day`, whose rows show what a day takes.
constexpr uint64_t kBytesOfFoldedMinute = 2'000;
constexpr int64_t kSecondsOfMinute = 60;
constexpr int64_t kSecondsOfHour = 3'600;

// What of a limit is left for the end of the run: frames that are under way, those that are settled only then, the
// answers of the hosts.
constexpr uint64_t kEndShare = 16;

uint64_t SecondsIn(int64_t length_ns) {
  return static_cast<uint64_t>(std::max<int64_t>(length_ns, 0) / kNsPerSecond);
}

}  // namespace

uint64_t JournalBytesOf(const JournalLoad& load) {
  const auto frames_a_second = static_cast<uint64_t>(kNsPerSecond / load.interval_ns);
  const uint64_t measured_s = SecondsIn(load.measured_ns);
  uint64_t whole_s = measured_s;
  if (load.fold) {
    whole_s = std::min(whole_s, static_cast<uint64_t>(load.fold->whole_seconds()));
    // A step with as many stalls as can be kept whole has more.
    const uint64_t folded_hours = (measured_s - whole_s) / kSecondsOfHour;
    whole_s += std::min(folded_hours * static_cast<uint64_t>(load.fold->most_whole_of_hour()), measured_s - whole_s);
  }
  const uint64_t minutes = (measured_s - whole_s + kSecondsOfMinute - 1) / kSecondsOfMinute;
  const uint64_t of_writer =
      (whole_s + SecondsIn(load.warmup_ns)) * frames_a_second * kBytesOfFrame + minutes * kBytesOfFoldedMinute;
  return of_writer * load.writers * load.steps;
}

std::string OverJournalLimit(uint64_t journal_bytes, uint64_t limit_bytes) {
  if (journal_bytes < limit_bytes - limit_bytes / kEndShare) return "";
  return absl::StrCat("--journal-limit: the journal has ", FormatSizeForPeople(journal_bytes), " of ",
                      FormatSizeForPeople(limit_bytes),
                      ", and the rest is for the end of the run; use a larger limit, fewer queue managers, a shorter "
                      "run, or --trace off");
}

}  // namespace plimsoll
