// Gathers one step of one host: polls every writer's tally and hands on what is complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/work/work.h"
#include "agent/writer/writer_state.h"
#include "agent/writer/writer_tally.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Has no thread and no clock of its own: the recorder's thread polls it, tests poll it with made-up moments. Not
// thread-safe.
//
// Frames of one cut leave together, as soon as the last writer's is there, or kPatienceNs after the first: one that
// hangs between its clock and its ring holds nobody back for longer.
class StepRecorder {
 public:
  // Rings hold four times what a million writes a second bring in this time.
  static constexpr int64_t kTickNs = 4'000'000;
  static constexpr int64_t kPatienceNs = 20'000'000;

  struct Hooks {
    // The host's counters, once a second and at the step's end.
    std::function<v1::HostSample()> sample_host;
    // A failed write as an error that names its file.
    std::function<v1::Fault(uint32_t qm, const WriteFailure&)> describe_failure;
  };

  // `params` and `states` are the writers', in the order of their numbers. `states`, `control`, `stop_trace_at_ns` and
  // `sink` must outlive the object.
  StepRecorder(std::span<const TallyParams> params, std::span<WriterState* const> states, const StopControl& control,
               const std::atomic<int64_t>& stop_trace_at_ns, Hooks hooks, WorkSink& sink);
  ~StepRecorder();

  // Takes what the writers have published by `now_ns`, and gives the sink what is complete. `late_ns`: how much
  // later than it had asked the caller was woken. Returns when to poll again.
  int64_t Poll(int64_t now_ns, int64_t late_ns);

  // Every writer has left its loop and all frames have left.
  bool done() const { return done_; }

  // The step's last message, once done. `reason`: why somebody asked for a stop; writers that failed, or found the
  // lease run out, name the reason themselves.
  v1::StepDone Finish(const std::string& reason) const;

 private:
  struct Writer;

  void ReportFailures();
  // Whether frames of a cut are there while others are still to come.
  bool IncompleteCut() const;
  void Send(int64_t now_ns);
  // The kernel's figures and the recorder's own lateness, since the sample before.
  void AddSample(int64_t now_ns);

  const StepTimes times_;
  const uint32_t step_;
  const StopControl& control_;
  const Hooks hooks_;
  WorkSink& sink_;
  std::vector<std::unique_ptr<Writer>> writers_;
  v1::FrameBatch batch_;
  int64_t batch_since_ns_ = 0;
  int64_t next_sample_ns_ = 0;
  int64_t last_sample_ns_ = 0;
  uint64_t late_max_ns_ = 0;
  // A wake-up that is later than this is reported; 0: none is.
  const int64_t reported_late_ns_;
  google::protobuf::RepeatedPtrField<v1::RecorderPause> pauses_;
  std::string failed_;
  bool done_ = false;
};

}  // namespace plimsoll
