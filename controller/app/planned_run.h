// A run of a plan, of any kind: its agents, its results, its course and its report, in this order.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "controller/app/runs.h"
#include "controller/run/process.h"

namespace plimsoll {

// One run, in the order in which its parts come into being. A kind of run is a class that says what is its own.
class PlannedRun {
 public:
  virtual ~PlannedRun() = default;
  PlannedRun(const PlannedRun&) = delete;
  PlannedRun& operator=(const PlannedRun&) = delete;

  // As RunPlan.
  int Execute();

 protected:
  struct Kind {
    // What sentences say of it: after an interrupt "nothing was measured", without a journal "measuring continues".
    const char* interrupted;
    const char* continues;
    // Whether a line is rewritten in place (a terminal), and whether a table takes its place while steps run.
    bool in_place;
    bool table;
    // It prints lines of its own for each interval, in place of those of a run.
    bool own_lines = false;
  };

  // What is referred to outlives the object. `events` gets the interrupts.
  PlannedRun(v1::TestPlan plan, const PlanRun& how, AgentAccess access, Console& console, const RunSurroundings& around,
             EventQueue& events, const Kind& kind, const std::string& run_id, const std::string& beside_key = "");

  // The agents that the plan needs, by host, and the directories below which those that are started may write.
  virtual std::vector<AgentPlace> Places() const = 0;
  // Options of agents that are started, beside their roots.
  virtual std::vector<std::string> AgentOptions() const { return {}; }
  // By host, what it is asked about: directories, and files of a plan that names paths. The places are those of Places.
  virtual std::vector<std::vector<std::string>> Directories(const std::vector<AgentPlace>& places) const;
  virtual std::vector<std::vector<std::string>> Files() const { return {}; }
  // How long the hosts may take to describe themselves.
  virtual int64_t DescribeTimeoutNs() const { return plan_.lease_ns(); }
  // What is wrong with the hosts, which have described themselves.
  virtual std::optional<Failure> Check() = 0;
  // Prints what would be done.
  virtual void DryRun() = 0;
  // What a person should know before it begins, beside the warnings about hosts.
  virtual std::vector<std::string> Notes(const std::string& results) const = 0;
  // From the first session to the last; sets left_ after a second interrupt.
  virtual std::optional<Failure> Course(RunLog& log) = 0;
  // After a second interrupt: what becomes of what the agents do, and of the results.
  virtual std::string LeftText(const std::string& results) const = 0;
  // With --keep-files or --create: where they are, the command that removes them, or whether they are full.
  virtual std::vector<std::string> KeptFiles(const v1::Report& /*report*/) const { return {}; }

  Fleet& fleet() const { return agents_.fleet(); }
  // What the journal records of this process.
  v1::ControllerFacts Controller() const { return controller_.valid() ? controller_.get() : v1::ControllerFacts(); }
  // A line of progress.
  void Say(const std::string& text) {
    if (!how_.quiet) feed_.Line(text);
  }

  const v1::TestPlan plan_;
  const PlanRun& how_;
  const AgentAccess access_;
  Console& console_;
  const Clock& clock_;
  const std::string run_id_;
  EventQueue& events_;
  bool left_ = false;
  std::optional<Interrupts> interrupts_;
  LiveFeed feed_;
  LaunchedAgents agents_;

 private:
  int Fail(const Failure& failure);
  std::optional<Failure> Connect();
  // Ends the agents that were started for this run.
  void EndAgents();
  // Where nothing was measured: the exit code, once a host on which something may still run has been named.
  int Over(int code);
  int Report(ResultsDirectory& results, RunLog& log);

  const Kind kind_;
  const std::function<void(RunLog&)> on_log_;
  // Made while the agents describe themselves, because it reads this whole program.
  std::shared_future<v1::ControllerFacts> controller_;
};

}  // namespace plimsoll
