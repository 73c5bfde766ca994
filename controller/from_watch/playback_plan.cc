#include "controller/from_watch/playback_plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/load_pattern.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_yaml.h"

namespace plimsoll {
namespace {

// MQ's default of LogBufferPages.
constexpr uint32_t kUsualBufferPages = 512;
constexpr int64_t kLeastDurationNs = 100 * kNsPerMs;

// A name of an agent, a file or a process, on one line whatever it holds.
std::string PlaybackComment(const std::string& text) {
  return text.empty() ? "#\n" : absl::StrCat("# ", SanitizeForTerminal(text), "\n");
}

std::string Milliseconds(double ns) {
  return absl::StrCat(FormatFixed(ns / static_cast<double>(kNsPerMs), 3), " ms");
}

// "4.733s".
std::string RoundedLength(int64_t ns) {
  return FormatReadableDuration((ns + kNsPerMs / 2) / kNsPerMs * kNsPerMs);
}

std::string P99Of(const v1::LatencyReport& latency) {
  const bool thin = std::ranges::find(latency.thin(), "p99") != latency.thin().end();
  return thin ? kDash : Milliseconds(static_cast<double>(latency.p99_ns()));
}

// The value behind an option of the command that a watch with --profile suggests; empty: there is none.
std::string OptionOf(const std::string& command, const std::string& option) {
  const std::vector<std::string> words = absl::StrSplit(command, ' ');
  const auto found = std::ranges::find(words, option);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

class PlaybackPlanMaker {
 public:
  PlaybackPlanMaker(const v1::Report& report, const WatchRecording& recording, const PlaybackChoice& choice)
      : report_(report),
        recording_(recording),
        choice_(choice),
        length_ns_(recording.header().streams(0).length_ns()) {}

  std::string Make() {
    AddHead();
    AddRecorded();
    AddMode();
    AddUnknown();
    AddKeys();
    return yaml_;
  }

 private:
  void Add(const std::string& text) { yaml_ += text; }
  void Say(const std::string& text) { Add(PlaybackComment(text)); }
  bool by_demand() const { return choice_.playback != v1::PLAYBACK_MODE_WRITES; }

  void AddHead() {
    Say(absl::StrCat("A plan for 'plimsoll run', made by 'plimsoll plan from-watch' from ", choice_.results,
                     ". Options override it."));
    if (recording_.notes().empty()) return;
    Say("");
    Say("To know before it runs:");
    for (const std::string& note : recording_.notes()) Say(absl::StrCat("- ", note));
  }

  void AddRecorded() {
    const double seconds = static_cast<double>(length_ns_) / static_cast<double>(kNsPerSecond);
    Add("\n");
    Say(absl::StrCat("Recorded in ", RoundedLength(length_ns_), ", run ", recording_.header().run_id(),
                     recording_.per_second() ? ", by second:" : ":"));
    for (size_t i = 0; i < recording_.writers().size(); ++i) {
      const v1::PatternStream& stream = recording_.header().streams(static_cast<int>(i));
      const v1::LatencyReport& latency = recording_.writers()[i].figures->latency();
      const double writes = static_cast<double>(stream.writes());
      Say(absl::StrCat("- ", stream.host(), "/", stream.queue_manager(), ": ", FormatCount(stream.writes()),
                       " writes, ", FormatFixed(writes / seconds, 2), " writes/s of ",
                       FormatCount(stream.bytes() / std::max<uint64_t>(stream.writes(), 1)), " bytes on average (",
                       FormatFixed(static_cast<double>(stream.bytes()) / seconds / kBytesPerMegabyte, 2), " MB/s)"));
      if (stream.paged_bytes() > stream.bytes()) {
        const double more =
            static_cast<double>(stream.paged_bytes()) / static_cast<double>(std::max<uint64_t>(stream.bytes(), 1));
        Say(absl::StrCat("  played in whole pages of 4 KiB, ", FormatFixed((more - 1) * 100, 1), " % more bytes"));
      }
      Say(absl::StrCat("  latency on its own storage: mean ", Milliseconds(latency.avg_ns()), ", p99 ", P99Of(latency),
                       ", max ", Milliseconds(static_cast<double>(latency.max_ns()))));
    }
    Say("");
    Say("Compare these latencies with those of the run:");
    Say(absl::StrCat("  plimsoll run plan.yaml --dir DIR --out simulated && plimsoll compare ",
                     ShellQuoted(choice_.results), " simulated"));
  }

  void AddMode() {
    Add("\n");
    if (by_demand()) {
      Say("By demand: the bytes of each recorded write arrive in the log buffer when the write began. While a write "
          "is");
      Say("under way, what arrives gathers, and leaves with the next one; each recorded write counts as one commit.");
      Say("--load-factor 2 plays it twice as fast; `plimsoll limit plan.yaml --over load-factor --load-factor 10");
      Say("--require 'commit_p99<10ms'` searches for the highest load. --playback writes plays exactly the recorded "
          "writes.");
    } else {
      Say("Exactly the recorded writes, one after another, each not before its moment. This is not what MQ would "
          "issue");
      Say("on other storage, where waiting commits gather into larger writes: such a run takes no criteria and no "
          "search.");
    }
  }

  void AddUnknown() {
    Add("\n");
    Say("Not known, or not simulated:");
    if (by_demand()) {
      Say("- How many commits a recorded write held: it counts as one.");
      Say("- Recorded writes hold whole pages, a last page that was written again included. Where they merge on "
          "slower");
      Say("  storage, MQ would have written such a page once: the bytes are then those of the recording, or more than "
          "MQ's.");
    }
    Say("- What clients would do on other storage: here the load arrives as recorded, however long commits wait.");
    Say("- The number and the size of the queue manager's extents, which a watch does not see: file_size and num_files "
        "are");
    Say("  Plimsoll's defaults; LogFilePages x 4096 and LogPrimaryFiles of its qm.ini are the right ones.");
    const std::string& command = report_.watch().simulation();
    if (command.empty()) {
      Say("- How the log was opened: O_DSYNC and O_DIRECT are assumed; `plimsoll watch --profile` shows it.");
    }
  }

  // The hosts that wrote, in the order of their streams, as a plan lists them.
  void AddHosts() {
    Add("\n");
    Say("Agents; without them one on this machine is started for the run. The writers of the hosts, in order, play "
        "the");
    Say("recorded queue managers in order, and begin again with the first one where there are more writers.");
    struct Host {
      std::string address;
      uint32_t writers = 0;
    };
    std::vector<Host> hosts;
    for (size_t i = 0; i < recording_.writers().size(); ++i) {
      const RecordedWriter& writer = recording_.writers()[i];
      const bool same = i > 0 && recording_.writers()[i - 1].figures->host() == writer.figures->host();
      if (!same) hosts.push_back({writer.address, 0});
      ++hosts.back().writers;
    }
    if (hosts.size() == 1) return Say("hosts: [node1:7461]");
    Say("As they were watched:");
    Say("hosts:");
    for (const Host& host : hosts) {
      Say(absl::StrCat("  - address: ", YamlText(SanitizeForTerminal(host.address))));
      Say(absl::StrCat("    workload: {qm: ", host.writers, "}"));
    }
  }

  void AddKeys() {
    const auto& streams = recording_.header().streams();
    const std::string who = streams.size() == 1 ? streams.Get(0).queue_manager()
                                                : Counted(static_cast<uint64_t>(streams.size()), "queue manager");
    const v1::LatencyReport& latency = recording_.writers().front().figures->latency();
    Add(absl::StrCat(
        "\nname: ",
        YamlText(SanitizeForTerminal(absl::StrCat(
            "Playback of ", who,
            streams.size() == 1 ? absl::StrCat("; its mean log write took ", Milliseconds(latency.avg_ns())) : ""))),
        "\n"));
    AddHosts();
    Add("\nworkload:\n");
    Add("  # The directory under test is given to `plimsoll run`: --dir, or --qm-dirs with one for each queue "
        "manager\n");
    Add("  # One for each recorded queue manager, on each host of the plan\n");
    Add(absl::StrCat("  qm: ", streams.size(), "\n"));
    const std::string& command = report_.watch().simulation();
    const std::string sync = OptionOf(command, "--sync");
    const std::string direct = OptionOf(command, "--direct");
    if (!sync.empty() && !direct.empty()) {
      Add("  # As the watch saw the log opened (--profile)\n");
      Add(absl::StrCat("  sync: ", sync, "\n  direct: ", direct, "\n"));
    }
    Add("\ngroup_commit:\n");
    Add(absl::StrCat("  pattern: ", YamlText(choice_.pattern), "\n"));
    Add("  # Another file is refused\n");
    Add(absl::StrCat("  pattern_sha256: ", YamlText(choice_.sha256), "\n"));
    Add(absl::StrCat("  playback: ", by_demand() ? "demand" : "writes", "\n"));
    Add("  # How many times faster than recorded; --load-factor overrides it\n");
    Add(absl::StrCat("  load_factor: ", FormatTargetRate(choice_.load_factor), "\n"));
    const uint32_t pages = std::max<uint32_t>(kUsualBufferPages, recording_.most_pages());
    Add(absl::StrCat(
        "  # Largest write, in pages of 4 KiB: MQ's default (LogBufferPages), or the largest one recorded, ",
        recording_.most_pages(), "\n"));
    Add(absl::StrCat("  log_buffer_pages: ", pages, "\n"));
    Add("\n# As long as the recording, which begins again when its length, divided by the load factor, is over\n");
    // Not a moment longer: the recording would begin again.
    const int64_t duration_ns = std::max(length_ns_ / kNsPerMs * kNsPerMs, kLeastDurationNs);
    Add(absl::StrCat("duration: ", FormatDuration(duration_ns), "\n"));
    Add("# The recording begins with the step: a warm-up would not count its first writes\n");
    Add("warmup: 0s\n");
  }

  const v1::Report& report_;
  const WatchRecording& recording_;
  const PlaybackChoice& choice_;
  const int64_t length_ns_;
  std::string yaml_;
};

}  // namespace

absl::StatusOr<std::string> MakePlaybackPlan(const v1::Report& report, const WatchRecording& recording,
                                             const PlaybackChoice& choice) {
  std::string yaml = PlaybackPlanMaker(report, recording, choice).Make();
  // What is handed out runs, with a directory.
  PLIMSOLL_ASSIGN_OR_RETURN(v1::TestPlan plan, ReadPlan(yaml, "plan"));
  plan.mutable_workload()->set_dir("/");
  PLIMSOLL_RETURN_IF_ERROR(CheckPlan(plan, PlanPlaces()));
  return yaml;
}

std::string RecordingInBrief(const WatchRecording& recording) {
  uint64_t writes = 0;
  for (const v1::PatternStream& stream : recording.header().streams()) writes += stream.writes();
  return absl::StrCat(Counted(recording.writers().size(), "queue manager"), ", ", FormatCount(writes), " writes in ",
                      RoundedLength(recording.header().streams(0).length_ns()),
                      recording.per_second() ? ", by second" : "");
}

}  // namespace plimsoll
