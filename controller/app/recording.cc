#include "controller/app/recording.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/report/playback.h"

namespace plimsoll {
namespace {

// Names in a list, before the others are counted.
constexpr size_t kMostNames = 4;

std::string NamesOfMany(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNames);
  const std::string text = absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
  return shown == names.size() ? text : absl::StrCat(text, " and ", FormatCount(names.size() - shown), " more");
}

std::string NameOfStream(const v1::PatternStream& stream) {
  return absl::StrCat(stream.host(), "/", stream.queue_manager());
}

uint64_t WritersOf(const std::vector<v1::LogWorkload>& workloads) {
  uint64_t writers = 0;
  for (const v1::LogWorkload& workload : workloads) writers += workload.qm();
  return writers;
}

// What of the recording the steps do not reach; empty: each of them plays all of it.
std::string UnplayedNote(int64_t length_ns, const v1::TestPlan& plan) {
  const bool over_factor = plan.limit().over() == v1::LIMIT_OVER_LOAD_FACTOR;
  const int64_t step_ns = plan.warmup_ns() + plan.duration_ns();
  const double factor = over_factor ? 1 : plan.group_commit().load_factor();
  const double played_ns = static_cast<double>(step_ns) * factor;
  if (played_ns >= static_cast<double>(length_ns)) return "";
  const std::string played = FormatReadableDuration(static_cast<int64_t>(played_ns));
  const std::string length = FormatReadableDuration(length_ns);
  return over_factor ? absl::StrCat("A step plays the first ", played,
                                    " of the recording, times its load factor, and the "
                                    "recording has ",
                                    length, ": use a longer --duration to play more of it.")
                     : absl::StrCat("Each step plays the first ", played, " of the recording, which has ", length,
                                    ": use a longer --duration to play more of it.");
}

}  // namespace

absl::StatusOr<std::optional<PatternFile>> OpenRecording(const v1::TestPlan& plan) {
  if (!PlaysPattern(plan)) return std::optional<PatternFile>();
  PLIMSOLL_ASSIGN_OR_RETURN(PatternFile file,
                            PatternFile::Open(plan.group_commit().pattern(), plan.group_commit().pattern_sha256()));
  return std::optional<PatternFile>(std::move(file));
}

std::vector<HostRecording> ShareRecording(const v1::PatternHeader& recording,
                                          const std::vector<v1::LogWorkload>& workloads) {
  std::vector<HostRecording> hosts;
  uint64_t writer = 0;
  for (const v1::LogWorkload& workload : workloads) {
    std::vector<uint32_t> of_writers;
    for (uint32_t qm = 0; qm < workload.qm(); ++qm, ++writer) {
      of_writers.push_back(static_cast<uint32_t>(writer % static_cast<uint64_t>(recording.streams_size())));
    }
    HostRecording& host = hosts.emplace_back();
    const std::set<uint32_t> streams(of_writers.begin(), of_writers.end());
    host.streams.assign(streams.begin(), streams.end());
    for (const uint32_t stream : host.streams) {
      host.parts.add_entries(recording.streams(static_cast<int>(stream)).entries());
      host.parts.add_length_ns(recording.streams(static_cast<int>(stream)).length_ns());
    }
    for (const uint32_t stream : of_writers) {
      const auto number = std::lower_bound(host.streams.begin(), host.streams.end(), stream) - host.streams.begin();
      host.parts.add_stream_of_writer(static_cast<uint32_t>(number));
    }
  }
  return hosts;
}

std::vector<std::string> RecordingNotes(const v1::PatternHeader& recording, const v1::TestPlan& plan,
                                        const std::vector<v1::LogWorkload>& workloads) {
  std::vector<std::string> names;
  std::vector<std::string> per_second;
  uint64_t writes = 0;
  uint64_t bytes = 0;
  for (const v1::PatternStream& stream : recording.streams()) {
    names.push_back(NameOfStream(stream));
    if (stream.per_second()) per_second.push_back(names.back());
    writes += stream.writes();
    bytes += stream.paged_bytes();
  }
  const int64_t length_ns = recording.streams(0).length_ns();
  std::vector<std::string> notes = {absl::StrCat(
      "The recording (watch ", recording.run_id(), ") has ", FormatCount(writes), " log writes of ", NamesOfMany(names),
      " within ", FormatReadableDuration(length_ns), ", ", FormatSizeForPeople(bytes), " in whole pages.")};
  if (!per_second.empty()) {
    notes.push_back(absl::StrCat("Of ", NamesOfMany(per_second),
                                 " only the counts and bytes of each second were recorded: the writes of a second are "
                                 "spread evenly over it and have its mean size, so that bursts within a second, and "
                                 "the sizes of single writes, are not played."));
  }
  if (std::string unplayed = UnplayedNote(length_ns, plan); !unplayed.empty()) notes.push_back(std::move(unplayed));
  const uint64_t writers = WritersOf(workloads);
  const auto streams = static_cast<uint64_t>(recording.streams_size());
  if (writers < streams) {
    notes.push_back(absl::StrCat("Only the first ", FormatCount(writers), " of the ", FormatCount(streams),
                                 " recorded queue managers are played: the plan has as many (--qm, --hosts)."));
  } else if (writers > streams) {
    notes.push_back(absl::StrCat("The plan has ", FormatCount(writers), " queue managers, and the recording ",
                                 FormatCount(streams), ": the recorded ones are played several times at once."));
  }
  return notes;
}

std::vector<std::string> DescribeRecording(const PatternFile& file, const std::vector<std::unique_ptr<Host>>& hosts,
                                           const std::vector<v1::LogWorkload>& workloads) {
  const v1::PatternHeader& recording = file.header();
  std::vector<std::vector<std::string>> players(static_cast<size_t>(recording.streams_size()));
  uint64_t writer = 0;
  for (const auto& host : hosts) {
    for (uint32_t qm = 1; qm <= workloads[host->index].qm(); ++qm, ++writer) {
      players[writer % players.size()].push_back(absl::StrCat(host->label, "/qm", qm));
    }
  }
  std::vector<std::vector<std::string>> rows = {{"recorded", "writes", "bytes", "played by"}};
  for (size_t i = 0; i < players.size(); ++i) {
    const v1::PatternStream& stream = recording.streams(static_cast<int>(i));
    rows.push_back({SanitizeForTerminal(NameOfStream(stream)), FormatCount(stream.writes()),
                    FormatSizeForPeople(stream.paged_bytes()),
                    players[i].empty() ? "none" : SanitizeForTerminal(NamesOfMany(players[i]))});
  }
  std::vector<std::string> lines = {
      SanitizeForTerminal(absl::StrCat("Recording ", file.path(), " (sha256 ", file.sha256(), "), ",
                                       FormatReadableDuration(recording.streams(0).length_ns()), ":"))};
  for (std::string& line : AlignColumns(rows, "lrrl")) lines.push_back(std::move(line));
  return lines;
}

}  // namespace plimsoll
