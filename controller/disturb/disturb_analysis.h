// What disturbances did to a load, and whether every acknowledged write is still there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "controller/disturb/load_seconds.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// What it adds to a verdict's criteria.
inline constexpr char kNothingLostCriterion[] = "lost==0";

// Rides on the analysis of a log run with one step. A pure function of the records. Not thread-safe.
class DisturbAnalysis {
 public:
  explicit DisturbAnalysis(const v1::RunBegin& begin)
      : plan_(begin.plan()), block_size_bytes_(begin.steps().empty() ? 0 : begin.steps(0).block_size_bytes()) {}

  // Every record of the journal, in order. INVALID_ARGUMENT: it contradicts another one, and is left out.
  absl::Status Take(const v1::JournalRecord& record, const Timeline& timeline);
  // A frame of the step's writes that went into its report.
  void OnFrame(uint32_t host, const v1::Frame& frame, const Timeline& timeline);

  // Once, after the last record: sets the section of `report`, which has its steps, and adds to `reasons` what prevents
  // a PASS.
  void Finish(const Timeline& timeline, const std::function<std::string(uint32_t host)>& label_of, v1::Report& report,
              std::vector<std::string>& reasons);
  // After Finish: adds kNothingLostCriterion to a verdict that has criteria, or where it fails. An acknowledged write
  // that is lost makes the verdict FAIL.
  void AddTo(v1::VerdictReport& verdict) const;

 private:
  using WriterKey = std::pair<uint32_t, uint32_t>;  // host and queue manager

  struct Pause {
    int64_t length_ns = 0;
    uint32_t host = 0;
    uint32_t qm = 0;
    // The host's clock.
    int64_t begin_ns = 0;
    // The write is not known to have completed.
    bool open = false;
  };
  // A command, and the time from its start to that of the next one.
  struct Phase {
    uint32_t disturbance = 0;
    bool undo = false;
    std::vector<std::string> arguments = {};
    // Moments of the timeline; nothing: it has not ended.
    int64_t start_ns = 0;
    std::optional<int64_t> end_ns = {};
    int32_t exit_code = -1;
    std::string error = {};
    Pause longest = {};
    // A write that was in flight then is not known to have completed: the longest pause is at least so long.
    bool open = false;
  };
  // What is known by the end.
  struct Known {
    const Timeline& timeline;
    int64_t measured_ns = 0;
    std::vector<LoadSecond> seconds;
    std::optional<LoadBaseline> baseline;
  };
  // When the load was as before, or why that is not known. A load that was not as before has neither.
  struct Recovery {
    std::optional<int64_t> after_ns = {};
    std::string unknown = {};
  };
  struct Loss {
    uint64_t blocks = 0;
    std::string host;
    uint32_t qm = 0;
    std::string text;
  };

  absl::Status TakeDisturb(int64_t time_ns, const v1::DisturbRecord& record);
  Phase* FindPhase(uint32_t disturbance, bool undo);
  // A write that may be the longest of the phases that it overlaps.
  void Consider(const Pause& write, const Timeline& timeline);
  // A write that began at that moment of the timeline, or before, will not complete.
  void NoteOpen(int64_t since_ns);
  // When a write that was in flight since a moment of the host's clock began; `otherwise_ns` where that is not known.
  static int64_t BeginOfOpen(uint32_t host, int64_t in_flight_ns, int64_t otherwise_ns, const Timeline& timeline);
  void TakeLost(int64_t time_ns, const v1::HostLost& lost, const Timeline& timeline);
  void TakeFault(int64_t time_ns, const v1::HostFault& fault, const Timeline& timeline);
  // Whether every write of the frame had completed before the first command started.
  bool EndedBefore(uint32_t host, const v1::Frame& frame, const Timeline& timeline) const;
  // Marks the seconds of a write that was in flight for a second or longer.
  void NotePaused(const Pause& write, const Timeline& timeline);
  // From the beginning of the measured time.
  int64_t OffsetNs(int64_t moment_ns) const { return Clamp64(Int128{moment_ns} - measured_start_ns_); }
  // When the phase ends, as an offset: with the next one, or the step.
  int64_t PhaseEndNs(size_t phase, const Known& known) const;
  // Where the pause is `open` the load is not as before.
  Recovery RecoveryIn(int64_t begin_ns, int64_t end_ns, const Pause& pause, bool open, const Known& known) const;
  // Where the pause lies on the timeline, as offsets, and the error of that; nothing where no probe places it.
  std::optional<MappedMoment> BeginOf(const Pause& pause, const Known& known) const;
  void SetCommand(size_t phase, const Known& known, v1::DisturbCommandReport& command) const;
  void SetDisturbance(uint32_t number, const Known& known, const std::function<std::string(uint32_t)>& label_of,
                      v1::DisturbanceReport& report) const;
  void AddCommandReasons(std::vector<std::string>& reasons) const;
  // Why not everything of the host was read back, or of one of its queue managers; empty: it was.
  std::string ReadBackProblem(uint32_t host) const;
  std::string WriterProblem(uint32_t host, const v1::WriterReadBack& answer) const;
  void SetReadBack(const std::function<std::string(uint32_t)>& label_of, v1::DisturbReport& report,
                   std::vector<std::string>& reasons);

  const v1::TestPlan plan_;
  const uint64_t block_size_bytes_;
  uint32_t step_ = 0;
  int64_t measured_start_ns_ = 0;
  std::vector<Phase> phases_;
  // Queue managers of each host that joined, and the hosts that were to write.
  std::map<uint32_t, uint32_t> qms_;
  std::set<uint32_t> writing_;
  std::map<uint32_t, std::string> lost_;
  // The first fault of each writer.
  std::map<WriterKey, int64_t> faults_;
  // Writes that completed, by each writer's own count.
  std::map<WriterKey, uint64_t> completed_;
  // The completed writes that had certainly ended before the first command started: of frames that had arrived, or
  // whose clock shows it.
  std::map<WriterKey, uint64_t> completed_before_;
  // Start, by the host's clock, of the write that was in flight when the writer's last frame was cut; 0: none was.
  std::map<WriterKey, int64_t> in_flight_since_;
  // Writes that were in flight for a second or longer: the second of the measured time in which such a write began, and
  // the last one in which one of these ended.
  std::map<uint64_t, uint64_t> paused_;
  std::map<uint32_t, v1::ReadBackDone> read_back_;
  Loss loss_;
  bool all_read_back_ = false;
};

}  // namespace plimsoll
