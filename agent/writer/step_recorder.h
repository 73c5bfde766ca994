// Records one step of one host: all writers' frames, the host's samples, faults and totals.
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
#include "google/protobuf/repeated_field.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Records one step of one host: polls every writer's tally and passes complete frames on.
//
// It has no thread or clock of its own: the recorder's thread polls it; tests poll it with simulated times. Not
// thread-safe.
//
// The frames of one cut are sent together, as soon as the last writer's frame is complete, or kPatienceNs after the
// first: a writer that is preempted before it publishes delays the other frames no longer than that.
class StepRecorder {
 public:
  // Interval between polls. Rings have room for four times as many samples as a million writes per second make in it.
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

  // Drains what the writers have published by `now_ns`, and sends complete frames to the sink. `late_ns`: how much
  // later than requested the caller was woken. Returns when to poll again.
  int64_t Poll(int64_t now_ns, int64_t late_ns);

  // Every writer has left its loop and all frames are sent.
  bool done() const { return done_; }

  // The step's last message, once done. `reason`: why a stop was requested; writers that failed, or found the lease
  // expired, set the reason themselves.
  v1::StepDone Finish(const std::string& reason) const;

 private:
  struct Writer;

  void ReportFailures();
  // WriterTally::Poll's `last_end_ns`.
  int64_t LastEndNs() const;
  // Whether some frames of a cut are complete and others are not.
  bool IncompleteCut() const;
  void Send(int64_t now_ns);
  // Kernel statistics and the recorder's scheduling delay since the previous sample.
  void AddSample(int64_t now_ns);

  const StepTimes times_;
  const uint32_t step_;
  const bool one_pass_;
  const StopControl& control_;
  const Hooks hooks_;
  WorkSink& sink_;
  std::vector<std::unique_ptr<Writer>> writers_;
  v1::FrameBatch batch_;
  int64_t batch_since_ns_ = 0;
  int64_t next_sample_ns_ = 0;
  int64_t last_sample_ns_ = 0;
  uint64_t late_max_ns_ = 0;
  // Wake-ups that are later than this are reported; 0: no report.
  const int64_t reported_late_ns_;
  google::protobuf::RepeatedPtrField<v1::RecorderPause> pauses_;
  std::string failed_;
  bool done_ = false;
};

}  // namespace plimsoll
