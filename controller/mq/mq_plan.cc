#include "controller/mq/mq_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/mq/mq_files.h"
#include "controller/mq/mq_text.h"
#include "controller/plan/mq_log_plan.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_yaml.h"

namespace plimsoll {
namespace {

constexpr uint64_t kPageBytes = 4096;
// Less than this is not a load, and would be written as a rate of 0, which asks for as much as possible.
constexpr double kLeastWritesPerSecond = 0.01;
constexpr double kMostWritesPerSecond = 1e6;
constexpr uint64_t kLargestLogBuffer = 4096 * kPageBytes;
constexpr int64_t kUsPerSecond = 1'000'000;
// The largest block that a plan can hold.
constexpr uint64_t kLargestBlock = uint64_t{64} << 20U;

// Text from files, on one line whatever it holds.
std::string Comment(const std::string& text) {
  return text.empty() ? "#\n" : absl::StrCat("# ", SanitizeForTerminal(text), "\n");
}

// "1,202.31".
std::string TwoDecimals(double value) {
  const auto hundredths = static_cast<uint64_t>(std::llround(std::min(value, 1e15) * 100));
  return absl::StrCat(FormatCount(hundredths / 100), absl::StrFormat(".%02d", hundredths % 100));
}

std::string MegabytesPerSecond(double bytes_per_second) {
  return absl::StrFormat("%.2f MB/s", bytes_per_second / kBytesPerMegabyte);
}

std::string Bytes(int64_t bytes) {
  return absl::StrCat(FormatCount(static_cast<uint64_t>(std::max<int64_t>(bytes, 0))), " bytes");
}

// "log.txt:21, put 2017-10-04 13:56:01.70 GMT, 10.001 s long".
std::string PlaceOfInterval(const LogRecording& recording, const LogInterval& interval) {
  return absl::StrFormat("%s:%d, put %s GMT, %d.%03d s long", recording.file, interval.line, interval.put,
                         interval.length_ms / 1000, interval.length_ms % 1000);
}

class PlanMaker {
 public:
  PlanMaker(const std::vector<QmLog>& logs, const std::vector<LogRecording>& recordings, const MqPlaces& places,
            const MqLoad& load)
      : logs_(logs), recordings_(recordings), places_(places), load_(load), largest_(&logs.front()) {
    for (const QmLog& log : logs) {
      if (log.log_bytes() > largest_->log_bytes()) largest_ = &log;
    }
  }

  absl::StatusOr<MqPlan> Make() {
    PLIMSOLL_RETURN_IF_ERROR(CheckPlaces());
    PLIMSOLL_RETURN_IF_ERROR(ChooseIntervals());
    PLIMSOLL_RETURN_IF_ERROR(load_.sweep ? MakeSweep() : CheckLoad());
    AddLogNotes();
    ChooseForAll();
    AddHead();
    AddQueueManagers();
    AddLoad();
    AddUnknown();
    AddKeys();
    // What is handed out runs, with a directory.
    PLIMSOLL_ASSIGN_OR_RETURN(v1::TestPlan plan, ReadPlan(plan_.yaml, "plan"));
    if (!HasDirectories()) plan.mutable_workload()->set_dir("/");
    PLIMSOLL_RETURN_IF_ERROR(CheckPlan(plan, PlanPlaces()));
    plan_.brief = absl::StrCat(Counted(logs_.size(), "queue manager"), ", ", Counted(largest_->primary_files, "extent"),
                               " of ", FormatSizeForPeople(largest_->extent_bytes()), " each");
    if (load_.sweep) {
      absl::StrAppend(&plan_.brief, ", ", Counted(sizes_.size(), "block size"), ", ", Counted(points_.size(), "point"),
                      " of MQ's");
    } else if (busiest_ != nullptr) {
      absl::StrAppend(&plan_.brief, ", blocks of ", FormatSizeForPeople(block_bytes_), ", ", TwoDecimals(rate_),
                      " writes/s each");
    }
    return plan_;
  }

 private:
  // Whether the logs' own directories are those of the plan.
  bool UsesLogPaths() const {
    return places_.dir.empty() && places_.qm_dirs.empty() &&
           std::none_of(logs_.begin(), logs_.end(), [](const QmLog& log) { return log.path.empty(); });
  }
  bool HasDirectories() const { return UsesLogPaths() || !places_.dir.empty() || !places_.qm_dirs.empty(); }

  absl::Status CheckPlaces() const {
    if (!places_.qm_dirs.empty() && places_.qm_dirs.size() != logs_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--qm-dirs lists ", CountOfDirectories(places_.qm_dirs.size()),
                                                     " for ", logs_.size(),
                                                     " --qm-ini: list one for each, in their order"));
    }
    return UsesLogPaths() ? CheckPaths() : absl::OkStatus();
  }

  static std::string CountOfDirectories(size_t count) {
    return absl::StrCat(count, count == 1 ? " directory" : " directories");
  }

  absl::Status CheckPaths() const {
    if (logs_.size() > kMaxDirectories) {
      return absl::InvalidArgumentError(
          absl::StrCat("--qm-ini: ", logs_.size(), " queue managers, each with a LogPath of its own; a host writes in ",
                       "at most ", kMaxDirectories, " directories: make several plans, each from at most ",
                       kMaxDirectories, " qm.ini, or pass --dir"));
    }
    // Two queue managers of a host cannot share a log: a file was given twice, or one was copied.
    std::map<std::string, const QmLog*> paths;
    for (const QmLog& log : logs_) {
      const auto [first, added] = paths.emplace(log.path, &log);
      if (added) continue;
      FileProblems problems(log.file);
      problems.Add(log.path_line, absl::StrCat("LogPath ", log.path, " is also that of ", first->second->file, ":",
                                               first->second->path_line,
                                               "; each queue manager of a host has a log of its own: give each qm.ini "
                                               "once, or pass --dir or --qm-dirs"));
      return problems.ToStatus();
    }
    return absl::OkStatus();
  }

  // One interval of a recording.
  struct Chosen {
    const LogRecording* recording = nullptr;
    LogInterval interval;
  };

  static Chosen ByRank(const LogRecording& recording, double percentile) {
    return {&recording, IntervalAt(recording.intervals, percentile).ToInterval()};
  }

  absl::Status ChooseIntervals() {
    const IntervalChoice& choice = load_.interval;
    if (recordings_.empty() && (load_.sweep || choice.by != IntervalChoice::By::kPeak)) {
      return absl::InvalidArgumentError(
          absl::StrCat(load_.sweep ? "--sweep" : "--interval", " needs --amqsrua: the intervals are in its output"));
    }
    if (choice.by == IntervalChoice::By::kLine && recordings_.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat("--interval ", choice.line,
                                                     " is a line of one file, and there are several --amqsrua: pass "
                                                     "one, or choose by rank, such as --interval p95"));
    }
    for (const LogRecording& recording : recordings_) {
      PLIMSOLL_RETURN_IF_ERROR(ChooseInterval(recording));
      const LogInterval& interval = chosen_.back().interval;
      if (interval.WritesPerSecond() > 0) continue;
      FileProblems problems(recording.file);
      problems.Add(interval.line, absl::StrCat("the interval (", choice.Text(),
                                               ") has no 'Log - write size', so its rate of writes is not known: "
                                               "choose another --interval"));
      return problems.ToStatus();
    }
    for (const Chosen& each : chosen_) {
      if (busiest_ == nullptr || each.interval.BytesPerSecond() > busiest_->interval.BytesPerSecond()) busiest_ = &each;
    }
    if (busiest_ == nullptr) return absl::OkStatus();
    block_bytes_ = BlockSizeFor(busiest_->interval.value(LogElement::kWriteSize).value_or(0));
    rate_ = RateFor(busiest_->interval, block_bytes_);
    return absl::OkStatus();
  }

  absl::Status ChooseInterval(const LogRecording& recording) {
    const IntervalChoice& choice = load_.interval;
    if (choice.by == IntervalChoice::By::kPeak) {
      chosen_.push_back({&recording, recording.busiest});
      return absl::OkStatus();
    }
    if (choice.by == IntervalChoice::By::kPercentile) {
      chosen_.push_back(ByRank(recording, choice.percentile));
      return absl::OkStatus();
    }
    const auto after = std::ranges::lower_bound(recording.intervals, choice.line, {}, &StoredInterval::line);
    if (after != recording.intervals.end() && after->line == choice.line) {
      chosen_.push_back({&recording, after->ToInterval()});
      return absl::OkStatus();
    }
    const size_t nearest = after != recording.intervals.end() ? after->line : recording.intervals.back().line;
    FileProblems problems(recording.file);
    problems.Add(choice.line, absl::StrCat("no interval with writes begins here; pass the line of a 'Publication "
                                           "received', such as --interval ",
                                           nearest));
    return problems.ToStatus();
  }

  // Points and block sizes of all intervals.
  absl::Status MakeSweep() {
    std::vector<StoredInterval> all;
    for (const LogRecording& recording : recordings_) {
      for (const StoredInterval& interval : recording.intervals) {
        if (interval.write_size > 0) all.push_back(interval);
        if (interval.write_size <= static_cast<int64_t>(kLargestLogBuffer)) continue;
        FileProblems problems(recording.file);
        problems.Add(interval.line, TooLarge(static_cast<uint64_t>(interval.write_size)));
        return problems.ToStatus();
      }
    }
    sized_ = all.size();
    points_ = LoadPoints(all, kMostMqPoints);
    const auto [smallest, largest] = std::ranges::minmax(points_, {}, &LoadPoint::write_size_bytes);
    sizes_ = SweepSizes(smallest.write_size_bytes, largest.write_size_bytes,
                        std::min(kLargestBlock, largest_->extent_bytes()));
    if (largest.write_size_bytes > sizes_.back()) {
      plan_.notes.push_back(absl::StrCat("the largest writes, ", Bytes(static_cast<int64_t>(largest.write_size_bytes)),
                                         " on average, do not fit into an extent of ", largest_->file,
                                         ": the report names their intervals without a comparison"));
    }
    return absl::OkStatus();
  }

  static std::string TooLarge(uint64_t bytes) {
    return absl::StrCat("writes of ", FormatSize(bytes), " on average are more than MQ's largest log buffer, ",
                        FormatSize(kLargestLogBuffer), ": the file is damaged, record it again");
  }

  absl::Status CheckLoad() const {
    if (busiest_ == nullptr) return absl::OkStatus();
    FileProblems problems(busiest_->recording->file);
    if (block_bytes_ > kLargestLogBuffer) {
      problems.Add(busiest_->interval.line, TooLarge(block_bytes_));
    } else if (rate_ > kMostWritesPerSecond) {
      problems.Add(busiest_->interval.line,
                   absl::StrCat(TwoDecimals(rate_), " writes/s are more than a plan can hold, ",
                                TwoDecimals(kMostWritesPerSecond), ": the file is damaged, record it again"));
    } else if (block_bytes_ > largest_->extent_bytes()) {
      problems.Add(
          busiest_->interval.line,
          absl::StrCat("writes of ", FormatSize(block_bytes_), " are larger than an extent of ", largest_->file, ", ",
                       FormatSize(largest_->extent_bytes()), ": pass the files of one queue manager"));
    } else if (rate_ < kLeastWritesPerSecond) {
      problems.Add(busiest_->interval.line,
                   "MQ wrote less than once in 100 s in this interval: record a time with load, "
                   "or leave out --amqsrua");
    }
    return problems.ToStatus();
  }

  void AddLogNotes() {
    for (const QmLog& log : logs_) {
      for (const std::string& note : log.notes) plan_.notes.push_back(absl::StrCat(log.file, ": ", note));
      if (log.no_path.empty() || HasDirectories()) continue;
      plan_.notes.push_back(
          absl::StrCat(log.file, ": ", log.no_path,
                       ": the plan has no directory; pass --dir or --qm-dirs here or to `plimsoll run`"));
    }
  }

  // A plan knows one size of log and one load for all queue managers of a host.
  void ChooseForAll() {
    const bool sizes_differ = std::any_of(logs_.begin(), logs_.end(), [&](const QmLog& log) {
      return log.file_pages != largest_->file_pages || log.primary_files != largest_->primary_files;
    });
    if (sizes_differ) {
      plan_.notes.push_back(
          absl::StrCat("the queue managers' logs differ in size, and a plan has one size for all: chosen is "
                       "the largest, of ",
                       largest_->file));
    }
    if (busiest_ == nullptr) {
      plan_.notes.emplace_back(
          "without --amqsrua MQ's block size and rate are not known: the plan writes Plimsoll's default, one "
          "write after another");
      return;
    }
    if (load_.sweep) {
      if (logs_.size() > 1) {
        plan_.notes.push_back(
            absl::StrCat("all ", logs_.size(),
                         " queue managers write at once, and the report compares each interval with the mean "
                         "bandwidth of one of them: an interval in which others were idle may exceed it"));
      }
    } else if (recordings_.size() > 1 || logs_.size() > 1) {
      plan_.notes.push_back(absl::StrCat(
          "a plan has one load for all queue managers: chosen is the largest, of ", busiest_->recording->file,
          logs_.size() > 1 ? absl::StrCat(", for each of the ", logs_.size(), " queue managers") : ""));
    }
    for (const LogRecording& recording : recordings_) {
      for (const std::string& note : recording.notes) plan_.notes.push_back(absl::StrCat(recording.file, ": ", note));
    }
  }

  void Add(const std::string& text) { plan_.yaml += text; }
  void Say(const std::string& text) { Add(Comment(text)); }

  void AddHead() {
    Say("A plan for 'plimsoll run', made by 'plimsoll plan from-mq'. Options override it.");
    if (plan_.notes.empty()) return;
    Say("");
    Say("To know before it runs:");
    for (const std::string& note : plan_.notes) Say(absl::StrCat("- ", note));
  }

  void AddQueueManagers() {
    Add("\n");
    Say("Queue managers, from the Log stanza of each qm.ini:");
    for (const QmLog& log : logs_) {
      Say(absl::StrCat("- ", log.file, ":", log.line, ": ", log.path.empty() ? "no usable LogPath" : log.path, ", ",
                       log.primary_files, " primary and ", log.secondary_files, " secondary extents of ",
                       FormatCount(log.file_pages), " pages (", FormatSizeForPeople(log.extent_bytes()), "), ",
                       log.type.empty() ? "type not given" : log.type, ", ", log.write_integrity));
      if (!log.defaulted.empty()) {
        Say(absl::StrCat("  not given, so MQ's default",
                         log.type.empty() ? " (that of LogType is not known here, and does not matter)" : "", ": ",
                         absl::StrJoin(log.defaulted, ", ")));
      }
    }
  }

  void AddLoad() {
    if (busiest_ == nullptr) return;
    Add("\n");
    if (load_.sweep) return AddSweep();
    switch (load_.interval.by) {
      case IntervalChoice::By::kPeak:
        Say("Load, from the interval with the most physical bytes per second of each recording:");
        break;
      case IntervalChoice::By::kPercentile:
        Say(absl::StrCat("Load, from ", load_.interval.Text(), " of each recording, by the physical bytes per second ",
                         "of its intervals with writes:"));
        break;
      case IntervalChoice::By::kLine:
        Say(absl::StrCat("Load, from ", load_.interval.Text(), ":"));
        break;
    }
    for (const Chosen& each : chosen_) AddInterval(each);
    const LogInterval& interval = busiest_->interval;
    if (const LogInterval& other = busiest_->recording->most_writes; interval.line != other.line) {
      Say(absl::StrCat("  The interval with the most writes per second is another one: ",
                       PlaceOfInterval(*busiest_->recording, other)));
      Say(absl::StrCat("    ", TwoDecimals(other.WritesPerSecond()), " writes/s of ",
                       Bytes(other.value(LogElement::kWriteSize).value_or(0)), " on average"));
    }
    Say("");
    Say("--interval chooses another one: peak, a percentile such as p95, or the line of its heading. By physical bytes "
        "per second:");
    for (const LogRecording& recording : recordings_) AddRanks(recording);
    const double bytes = interval.BytesPerSecond();
    const double played = rate_ * static_cast<double>(block_bytes_);
    Say("");
    Say(absl::StrCat("1x of it: the average write, ", Bytes(interval.value(LogElement::kWriteSize).value_or(0)),
                     ", is rounded to the nearest whole number of log pages (4096 bytes),"));
    Say(absl::StrCat("and the rate is such that neither writes nor bytes per second are less than MQ's: ",
                     absl::StrFormat("%+.1f %%", (rate_ / interval.WritesPerSecond() - 1) * 100 + 0.0), " writes, ",
                     absl::StrFormat("%+.1f %%", (played / bytes - 1) * 100 + 0.0), " bytes."));
    AddLatency(interval);
  }

  // Peak, p95 and median of a recording.
  void AddRanks(const LogRecording& recording) {
    const auto add = [this](const char* name, const Chosen& each) {
      Say(absl::StrFormat("  %-6s %s: %s, average write %s", name, PlaceOfInterval(*each.recording, each.interval),
                          MegabytesPerSecond(each.interval.BytesPerSecond()),
                          Bytes(each.interval.value(LogElement::kWriteSize).value_or(0))));
    };
    add("peak", {&recording, recording.busiest});
    add("p95", ByRank(recording, 95));
    add("median", ByRank(recording, 50));
  }

  void AddSweep() {
    Say("Measures how fast the storage is at the write sizes that MQ had; the report shows MQ's intervals over it.");
    Say("By physical bytes per second of the intervals with writes:");
    for (const LogRecording& recording : recordings_) {
      Say(absl::StrCat("- ", recording.file, " (", FormatCount(recording.with_writes), " of ",
                       FormatCount(recording.publications), " publications have writes)"));
      AddRanks(recording);
    }
  }

  // The points, so many values a line.
  void AddPoints() {
    Add("\n# MQ's intervals by rising bandwidth, in MB (10^6 bytes) per second: the report sets them against what is "
        "measured\n");
    if (points_.size() < sized_) {
      Say(absl::StrCat(FormatCount(points_.size()), " of ", FormatCount(sized_),
                       " intervals, at even distances by rank; intervals: how many each of them stands for"));
    }
    constexpr size_t kLongestFile = 255;
    const std::string& file = recordings_.front().file;
    const bool named = recordings_.size() == 1 && file.size() <= kLongestFile;
    const std::string source =
        absl::StrCat(Counted(sized_, "interval"), " of ", named ? file : Counted(recordings_.size(), "file"));
    Add(absl::StrCat("mq_log:\n  source: ", YamlText(SanitizeForTerminal(source)), "\n"));
    AddList("write_size", [](const LoadPoint& point) { return absl::StrCat(point.write_size_bytes); });
    AddList("bandwidth_mb",
            [](const LoadPoint& point) { return absl::StrCat(point.bytes_per_second / kBytesPerMegabyte); });
    if (points_.size() < sized_) {
      AddList("intervals", [](const LoadPoint& point) { return absl::StrCat(point.intervals); });
    }
  }

  template <typename Text>
  void AddList(const char* key, const Text& text) {
    constexpr size_t kInLine = 12;
    Add(absl::StrCat("  ", key, ": ["));
    for (size_t i = 0; i < points_.size(); ++i) {
      if (i > 0) Add(i % kInLine == 0 ? ",\n    " : ", ");
      Add(text(points_[i]));
    }
    Add("]\n");
  }

  void AddInterval(const Chosen& chosen) {
    const LogRecording& recording = *chosen.recording;
    const LogInterval& interval = chosen.interval;
    Say(absl::StrCat("- ", PlaceOfInterval(recording, interval), " (", FormatCount(recording.with_writes), " of ",
                     FormatCount(recording.publications), " publications have writes)"));
    std::string text = absl::StrCat("  ", Bytes(interval.value(LogElement::kPhysicalBytesWritten).value_or(0)),
                                    " physical (", MegabytesPerSecond(interval.BytesPerSecond()), ")");
    if (const auto logical = interval.value(LogElement::kLogicalBytesWritten); logical.has_value()) {
      absl::StrAppend(&text, ", ", Bytes(*logical), " logical");
    }
    Say(text);
    Say(absl::StrCat("  average write ", Bytes(interval.value(LogElement::kWriteSize).value_or(0)), ", so ",
                     TwoDecimals(interval.WritesPerSecond()), " writes/s"));
    if (const auto latency = interval.value(LogElement::kWriteLatency); latency.has_value()) {
      const double busy = interval.WritesPerSecond() * static_cast<double>(*latency) / kUsPerSecond * 100;
      Say(absl::StrCat(
          "  mean write latency ", FormatCount(static_cast<uint64_t>(*latency)), " us, so ",
          absl::StrFormat("%.0f %%", busy), " of the time a write was outstanding",
          busy > 105 ? ": more than one at a time, which MQ's logger does not do; these figures contradict one another"
                     : ""));
    }
    if (const auto slowest = interval.value(LogElement::kSlowestWrite); slowest.has_value()) {
      const auto at = interval.value(LogElement::kSlowestWriteTime);
      const bool dated = at.has_value() && *at > 0 && *at < INT64_MAX / 1000;
      Say(absl::StrCat("  slowest write since the queue manager's restart ",
                       FormatCount(static_cast<uint64_t>(*slowest)), " us",
                       dated ? absl::StrCat(", at ", FormatUtc(*at * 1000)) : ""));
    }
  }

  void AddLatency(const LogInterval& interval) {
    const auto latency = interval.value(LogElement::kWriteLatency);
    Say("");
    if (!latency.has_value()) {
      Say("The interval has no 'Log - write latency': there is nothing of MQ's to compare latencies with.");
      return;
    }
    Say(absl::StrCat("MQ's own mean write latency in it, ", FormatCount(static_cast<uint64_t>(*latency)),
                     " us, is in the title below, so that it stands in the report: compare"));
    Say("it with the mean service time of the report (avg), the time of the write call. Which span MQ's figure has "
        "exactly is not");
    Say("known, and MQ publishes no percentiles. As a criterion, where MQ's storage of today is the limit:");
    Say(absl::StrCat("  criteria: [\"service_avg<=", *latency, "us\"]"));
  }

  void AddUnknown() {
    Add("\n");
    Say("Not known, or not simulated:");
    if (load_.sweep) {
      Say("- How the sizes of writes are distributed: each point has the average of its interval. A storage that is "
          "measured with");
      Say("  writes of one size may be faster or slower with a mix of them.");
    } else if (busiest_ != nullptr) {
      Say("- When writes start within an interval: amqsrua publishes means. They start at random here (arrival: "
          "poisson). MQ has");
      Say("  one write outstanding, and what arrives meanwhile leaves with the next one; here each is a write of its "
          "own.");
      Say("- How the sizes of writes are distributed: all have the average here.");
    }
    const auto any = [&](const auto& is) { return std::any_of(logs_.begin(), logs_.end(), is); };
    if (any([](const QmLog& log) { return log.write_integrity == "TripleWrite"; })) {
      Say("- TripleWrite writes a partly filled last page that has grown elsewhere first, then over itself; where is "
          "not known,");
      Say("  so each write is one write here.");
    }
    if (any([](const QmLog& log) { return log.write_integrity == "DoubleWrite"; })) {
      Say("- What DoubleWrite writes besides is not known, so it is not simulated.");
    }
    if (any([](const QmLog& log) { return log.type == "LINEAR"; })) {
      Say("- Linear logging makes new extents, or reuses old ones; here a fixed set is written in turn.");
    }
    if (any([](const QmLog& log) { return log.type == "REPLICATED"; })) {
      Say("- Native HA (REPLICATED) sends the log to two other instances; here the local log alone is written.");
    }
    Say("- Secondary extents, which MQ makes when the primary ones are full, are not simulated.");
  }

  void AddDirectories() {
    if (!HasDirectories()) {
      Add("  # The directory under test is given to `plimsoll run`: --dir, or --qm-dirs with one for each queue "
          "manager\n");
      return;
    }
    if (!UsesLogPaths()) {
      Add("  # As given to `plimsoll plan from-mq`\n");
      if (places_.qm_dirs.empty()) return Add(absl::StrCat("  dir: ", YamlText(places_.dir), "\n"));
      Add("  qm_dirs:\n");
      for (const std::string& dir : places_.qm_dirs) Add(absl::StrCat("    - ", YamlText(dir), "\n"));
      return;
    }
    if (logs_.size() == 1) {
      Add(absl::StrCat("  ", Comment(absl::StrCat("LogPath of ", largest_->file, ":", largest_->path_line,
                                                  ". The run makes and removes a directory of its own below it,"))));
      Add("  # and opens nothing else there; a queue manager that runs on it is slowed down. --dir names new "
          "storage.\n");
      Add(absl::StrCat("  dir: ", YamlText(largest_->path), "\n"));
      return;
    }
    Add("  # LogPath of each. The run makes and removes a directory of its own below each of them, and opens nothing "
        "else\n");
    Add("  # there; queue managers that run on them are slowed down. --qm-dirs names new storage, --dir one for "
        "all.\n");
    Add("  qm_dirs:\n");
    for (const QmLog& log : logs_) {
      Add(absl::StrCat("    ", Comment(absl::StrCat(log.file, ":", log.path_line))));
      Add(absl::StrCat("    - ", YamlText(log.path), "\n"));
    }
  }

  void AddKeys() {
    std::string name = load_.sweep ? std::string("Bandwidth at the write sizes of MQ's log")
                                   : absl::StrCat("Load of ", Counted(logs_.size(), "queue manager"));
    if (busiest_ != nullptr && !load_.sweep) {
      const auto latency = busiest_->interval.value(LogElement::kWriteLatency);
      const bool peak = load_.interval.by == IntervalChoice::By::kPeak;
      absl::StrAppend(&name, " at 1x", peak ? "" : absl::StrCat(" of ", load_.interval.Text()), "; ",
                      latency.has_value() ? absl::StrCat("MQ's mean write latency was ",
                                                         FormatCount(static_cast<uint64_t>(*latency)), " us")
                                          : std::string("MQ's write latency is not known"));
    }
    Add(absl::StrCat("\nname: ", YamlText(name), "\n"));
    Add("\n# Agents; without them one on this machine is started for the run\n# hosts: [node1:7461]\n");
    Add("\nworkload:\n");
    AddDirectories();
    Add("  # One for each qm.ini\n");
    Add(absl::StrCat("  qm: ", logs_.size(), "\n"));
    Add("  # LogFilePages x 4096\n");
    Add(absl::StrCat("  file_size: ", FormatSize(largest_->extent_bytes()), "\n"));
    Add("  # LogPrimaryFiles\n");
    Add(absl::StrCat("  num_files: ", largest_->primary_files, "\n"));
    if (busiest_ == nullptr) return;
    if (load_.sweep) {
      Add("\n# Powers of two that enclose MQ's writes, each a step at full speed\n");
      Add(absl::StrCat(
          "block_size: [",
          absl::StrJoin(sizes_, ", ", [](std::string* out, uint64_t size) { absl::StrAppend(out, FormatSize(size)); }),
          "]\n"));
      return AddPoints();
    }
    Add("  # Writes per second of each queue manager, 1x; --rate overrides it\n");
    Add(absl::StrFormat("  rate: %.3f\n", rate_));
    Add("  arrival: poisson\n");
    Add(absl::StrCat("\nblock_size: ", FormatSize(block_bytes_), "\n"));
  }

  const std::vector<QmLog>& logs_;
  const std::vector<LogRecording>& recordings_;
  const MqPlaces& places_;
  const MqLoad& load_;
  const QmLog* largest_;
  // One of each recording, and that which is played.
  std::vector<Chosen> chosen_;
  const Chosen* busiest_ = nullptr;
  uint64_t block_bytes_ = 0;
  double rate_ = 0;
  // In a sweep: all intervals with an average write, as points; and the block sizes.
  size_t sized_ = 0;
  std::vector<LoadPoint> points_;
  std::vector<uint64_t> sizes_;
  MqPlan plan_;
};

}  // namespace

uint64_t BlockSizeFor(int64_t average_bytes) {
  const uint64_t bytes = static_cast<uint64_t>(std::max<int64_t>(average_bytes, 0));
  return std::max<uint64_t>((bytes + kPageBytes / 2) / kPageBytes, 1) * kPageBytes;
}

double RateFor(const LogInterval& interval, uint64_t block_size_bytes) {
  return std::max(interval.WritesPerSecond(), interval.BytesPerSecond() / static_cast<double>(block_size_bytes));
}

absl::StatusOr<MqPlan> MakeMqPlan(const std::vector<QmLog>& logs, const std::vector<LogRecording>& recordings,
                                  const MqPlaces& places, const MqLoad& load) {
  return PlanMaker(logs, recordings, places, load).Make();
}

}  // namespace plimsoll
