// `plimsoll run`, the main job, and runs and checks as the parts of another command.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/analysis/analyzer.h"
#include "controller/cli/asked_agents.h"
#include "controller/cli/command.h"
#include "controller/cli/plan_flags.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/report/run_kind.h"
#include "controller/run/coordinator.h"
#include "plimsoll/v1/check_report.pb.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Several runs as the parts of one command: what they print, how they ended, and interrupts between them.

// How a part ended, for the command that it is a part of.
struct PartEnd {
  // An interrupt came while it ran, whether it cut anything short or came too late for that: no other part may begin.
  bool interrupted = false;
  // Why it has no result, or what of it could not be kept; without line ends.
  std::vector<std::string> errors;
  // What it reports, where it has measured anything.
  std::optional<v1::Report> report;

  // All of them; "nothing was measured" where there is none.
  std::string ErrorText() const;
};

// The command line of a part: its report is swallowed, what it prints on standard error goes on as it is. `line`
// outlives it. Not thread-safe.
class PartLine {
 public:
  explicit PartLine(const CommandLine& line) : line_{report_, line.err, {}, false, line.color_err} {}
  PartLine(const PartLine&) = delete;
  PartLine& operator=(const PartLine&) = delete;

  CommandLine& line() { return line_; }

 private:
  std::ostringstream report_;
  CommandLine line_;
};

// An interrupt that came where nothing was watching for one: Interrupts leaves the signals blocked.
bool IsInterruptPending();

// The world that a run takes place in.
struct RunSurroundings {
  // Outlives the action.
  const Clock* clock = nullptr;
  // Where progress and warnings go.
  std::FILE* progress = nullptr;
  // Whether SIGINT, SIGTERM and SIGHUP interrupt the run.
  bool catches_signals = true;
  // How agents are reached; empty: over gRPC.
  AgentClientFactory make_client;
};

// The machine's own.
RunSurroundings OwnSurroundings();

// The plan of `file` ("": an empty one), of a run, a search or an acceptance, changed by `change`, checked, with every
// default. The errors of reading it, of `change`, and the plan's problems, a line each.
absl::StatusOr<v1::TestPlan> LoadRunPlan(const std::string& file, RunKind kind,
                                         const std::function<absl::Status(v1::TestPlan&)>& change);

// How a run takes turns with others: it prepares once, and keeps its sessions between its turns.
struct RunInTurn {
  std::string run_id;
  // Prepare.beside_key of its sessions.
  std::string own_key;
  // The run whose session the same agents may hold already, and that session's key; empty: there is none.
  std::string beside_id;
  std::string beside_key;
  // The most turns that it gets, and the time that steps of others take meanwhile on the same agents: what their
  // --max-duration must allow.
  uint32_t turns = 1;
  int64_t others_ns = 0;
  // Gets the interrupts; outlives the run.
  EventQueue* events = nullptr;
  // See Coordinator::Options. The steps before `step` are reported, and `analyzer` has them.
  std::function<Coordinator::Turn(uint32_t step, const Analyzer& analyzer)> turn;
  std::function<std::optional<v1::LogStep>()> next_step;
};

// Where the plan may take longer, or write more, than an agent was started to allow, a line for each such host: kWrong.
// A search counts with its budget, rounds until steadiness with the time that they may take, a run that takes turns
// (null: it does not) with all of them and with the others' time. After CheckHosts.
std::optional<Failure> CheckPlanCaps(const std::vector<std::unique_ptr<Host>>& hosts, const v1::TestPlan& plan,
                                     const RunInTurn* turn = nullptr);

// How a plan of LoadRunPlan is run as a part of something else.
struct PlanRun {
  // Directory of the results; not there yet. Empty: the default one.
  std::string out;
  bool quiet = false;
  // Without the warnings that an earlier run of this plan has given.
  bool repeated = false;
  bool dry_run = false;
  // Plans for the same agents that are run after this one: it is refused where an agent's caps do not allow one of
  // them.
  std::vector<v1::TestPlan> later;
  // Where it stands in the whole, as a terminal shows it meanwhile; empty: it runs alone.
  std::function<std::string()> whole;
  // Gets how it ended. Null if the caller does not need it.
  PartEnd* end = nullptr;
  // Null: it takes no turns. Outlives the run.
  const RunInTurn* turn = nullptr;
  // For a command that shows the run in its own way, all three; quiet is set, too, and nothing is printed of the
  // report. Called with every record that is kept.
  std::function<void(const v1::JournalRecord& record)> watch;
  // Called with the report of each step, once it is made, on another thread than `watch`; never before the records of
  // the step, nor after those of the next.
  std::function<void(const v1::StepReport& step)> on_step;
  // Called once, with the report and the path of the results, which are written. An error makes the run inconclusive.
  std::function<absl::Status(const v1::Report& report, const std::string& results)> finish;
};

// What `plimsoll run` does with the plan: the report goes to line.out, errors to line.err. Returns the exit code. Where
// nothing was measured there is not a directory. The second Ctrl-C ends the process.
int RunPlan(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, CommandLine& line,
            const RunSurroundings& around);

// The quick checks of a shared file system as a part of something else.
struct QuickChecks {
  AgentList agents;
  AccessFlags access;
  std::string directory;
  int64_t lease_ns = 0;
  // Without progress on line.err.
  bool quiet = false;
  // Called once, with the report; not where nothing was checked.
  std::function<void(const v1::CheckReport& report)> finish;
};

// What `plimsoll fsck` does (fsck_command.cc); errors go to line.err and to `end`. Returns its exit code.
int RunQuickChecks(const QuickChecks& checks, CommandLine& line, PartEnd& end);

// AddRunCommand (commands.h) in another world than the machine's own.
void AddRunCommand(CLI::App& app, CommandLine& line, const RunSurroundings& around);

}  // namespace plimsoll
