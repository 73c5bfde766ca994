// Takes a measurement of restart I/O from its session to the last round.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/clock.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/live/live_feed.h"
#include "controller/live/run_log.h"
#include "controller/run/preparation.h"
#include "controller/run/session_driver.h"
#include "plimsoll/v1/controller.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/restart.pb.h"

namespace plimsoll {

// One thread, the driver's. Has the host make its files in every directory, then orders one measurement after another:
// each round measures every case once in each directory. The directories take turns within a case, in their order in
// odd rounds and in reverse in even ones, so that what drifts hits all of them alike. A measurement that fails is in
// the journal, and the others follow; a host that is lost ends the run.
class RestartCourse final : private SessionCourse {
 public:
  struct Options {
    // Checked, every default filled in, with a seed. Has one host.
    v1::TestPlan plan;
    v1::HostPlan host_plan;
    // What the journal records of the controller.
    v1::ControllerFacts controller;
    Fleet* fleet = nullptr;
    EventQueue* events = nullptr;
    const Clock* clock = nullptr;
    RunLog* log = nullptr;
    LiveFeed* feed = nullptr;
    // Is given a line for each round.
    std::function<void(const std::string& line)> say;
  };

  explicit RestartCourse(Options options);

  // Runs to the end. A failure means that nothing was measured; without one there is something to report.
  std::optional<Failure> Run();
  // A second interrupt: the caller leaves at once. The host cleans up when its lease runs out.
  bool left() const { return driver_.left(); }

 private:
  void OnMessage(Host& host, v1::AgentMessage& message) override;
  void OnProbes(Host& host, v1::ProbeBatch& probes) override;
  void OnClosed(Host& host, const absl::Status& status) override;
  void OnLost(Host& host, const std::string& reason) override;
  std::string Awaited(const Host& host, MonotonicNs now) const override;
  bool Full() override;
  void Note(const std::string& text) override { log_.Note(text); }
  MonotonicNs next_update() const override { return options_.feed->next_update(); }
  void Update(MonotonicNs now) override { options_.feed->Update(now, fleet_.hosts()); }

  void RunRounds();
  // Orders the measurement, and waits for its end.
  void Measure(uint32_t round, v1::RestartTrial trial);
  void Release();
  // Why the run must end now; empty: it need not.
  std::string MustEnd() const;
  Host& host() { return fleet_.host(0); }

  const Options options_;
  const Clock& clock_;
  Fleet& fleet_;
  RunLog& log_;
  SessionDriver driver_;
  Preparation preparation_;
  // Number of the last measurement that was ordered, and of the one that is under way; 0: no measurement is.
  uint32_t last_trial_ = 0;
  uint32_t running_trial_ = 0;
  // Number of its command.
  uint64_t running_command_ = 0;
  // Measurements that the host has answered, complete or not.
  uint32_t answered_ = 0;
  bool prepared_ = false;
  // The host was lost, or failed.
  std::string fatal_;
};

}  // namespace plimsoll
