// What the commands do, alone or as parts of one another: runs of a plan, HA drills, and checks of a shared file
// system.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "controller/analysis/analyzer.h"
#include "controller/app/agents.h"
#include "controller/app/console.h"
#include "controller/fsck/fsck_check.h"
#include "controller/journal/digest.h"
#include "controller/journal/results.h"
#include "controller/live/live_feed.h"
#include "controller/render/text.h"
#include "controller/run/coordinator.h"
#include "controller/run/fold_choice.h"
#include "controller/run/held_program.h"
#include "plimsoll/v1/check_report.pb.h"
#include "plimsoll/v1/controller.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// How a part ended, for the command that it is a part of.
struct PartEnd {
  // An interrupt came while it ran, whether it cut anything short or came too late for that: no other part may begin.
  bool interrupted = false;
  // Why its guard ended it (RunGuard); empty: it did not. No other part may begin then.
  std::string guarded;
  // Why it has no result, or what of it could not be kept; without line ends.
  std::vector<std::string> errors;
  // What it reports, where it has measured anything.
  std::optional<v1::Report> report;

  // All errors in one text; "nothing was measured" where there is none.
  std::string ErrorText() const;
};

// An interrupt that came where nothing was watching for one: Interrupts leaves the signals blocked.
bool IsInterruptPending();

class Protection;

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
  // What results record of the controller; empty: nothing.
  std::function<v1::ControllerFacts()> describe_controller;
  // Called with the run's log, before its first record, on the thread that runs it. Empty: not called.
  std::function<void(RunLog& log)> on_log;
  // How long steps of runs that write logs fold their frames by age; nothing: none does.
  std::optional<v1::StepFoldRules> fold = UsualFold();
};

// The machine's own.
RunSurroundings OwnSurroundings();

// How the sessions of a run and of another one are held by the same agents.
struct RunBeside {
  // Empty: the run takes one itself.
  std::string run_id;
  // Prepare.beside_key of its sessions; empty: no other may be held beside them.
  std::string own_key;
  // The run whose session the agents may hold already, and that session's key; empty: there is none.
  std::string beside_id;
  std::string beside_key;
};

// How a run takes turns with others: it prepares once, and keeps its sessions between its turns.
struct RunInTurn {
  // The most turns that it gets, and the time that steps of others take meanwhile on the same agents: what their
  // --max-duration must allow.
  uint32_t turns = 1;
  int64_t others_ns = 0;
  // See Coordinator::Options. The steps before `step` are reported, and `analyzer` has them.
  std::function<Coordinator::Turn(uint32_t step, const Analyzer& analyzer)> turn;
  std::function<std::optional<v1::LogStep>()> next_step;
};

// How a plan is run, alone or as a part of something else.
struct PlanRun {
  // Directory of the results; not there yet. Empty: the default one.
  std::string out;
  bool quiet = false;
  // What becomes of a line for people before it is shown; empty: nothing.
  std::function<std::string(const std::string& line)> reword;
  // Without the warnings that an earlier run of this plan has given.
  bool repeated = false;
  bool dry_run = false;
  // Whether commands of the plan (`disturb`) may run on this machine.
  bool allow_commands = false;
  // Further options of agents that are started for it.
  std::vector<std::string> agent_options;
  // Plans for the same agents that are run after this one: it is refused where an agent's caps do not allow one of
  // them.
  std::vector<v1::TestPlan> later;
  // Where it stands in the whole, as a terminal shows it meanwhile; empty: it runs alone.
  std::function<std::string()> whole;
  // Gets how it ended. Null if the caller does not need it.
  PartEnd* end = nullptr;
  // Null: it takes no turns. Outlives the run.
  const RunInTurn* turn = nullptr;
  RunBeside beside;
  // Gets the interrupts, and outlives the run. Null: the run has a queue of its own.
  EventQueue* events = nullptr;
  // What is watched so that the run does not harm it; outlives the run. Null: the run starts what its plan asks for.
  Protection* protection = nullptr;
  // Lines of figures in place of other progress while it measures, one for each interval of this length; 0: none.
  int64_t interval_ns = 0;
  // In a watch: rows of the histogram below the lines of each interval; 0: none.
  uint32_t histogram_rows = 0;
  // Views of the run beside that of the terminal, which shows warnings alone where quiet.
  std::vector<std::shared_ptr<LiveObserver>> views;
  // Called once, with the report and the path of the results, which are written. An error makes the run inconclusive.
  std::function<absl::Status(const v1::Report& report, const std::string& results)> finish;
  // File of the JUnit XML; empty: none.
  std::string junit;
  // File of the metrics of the end result (RenderMetrics); empty: none.
  std::string metrics_file;
  // The report as it is printed, `kept_files` saying what removes the files that stay; empty: nothing is printed.
  std::function<std::string(const v1::Report& report, const ReportPlace& place,
                            const std::vector<std::string>& kept_files)>
      text;
};

// Runs a plan that is checked, with every default: log writing, or a search for the highest load. The report goes to
// console.out, errors to console.err. Returns the exit code. Where nothing was measured there is not a directory. The
// second Ctrl-C ends the process.
int RunPlan(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
            const RunSurroundings& around);
// Runs an HA drill, whose plan has a seed, as RunPlan runs a plan.
int RunDrill(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
             const RunSurroundings& around);

// Measures the storage's share of a restart by a plan that has a seed, as RunPlan runs a plan.
int RunRestart(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
               const RunSurroundings& around);

// Watches what a plan that is checked, with every default, asks for, as RunPlan runs a plan: `how.interval_ns` is the
// length of the intervals of its lines, and not 0. `program`: the process of the plan's `pid`, which is released when
// the step starts. Null where it runs already.
int RunWatch(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
             const RunSurroundings& around, HeldProgram* program);

// The agents of a plan of log writing, by host, and the directories below which they write.
std::vector<AgentPlace> LogPlaces(const v1::TestPlan& plan);

// Where the plan may take longer, or write more, than an agent was started to allow, a line for each such host: kWrong.
// A search counts with its budget, rounds until steadiness with the time that they may take, a run that takes turns
// (null: it does not) with all of them and with the others' time. After CheckHosts.
std::optional<Failure> CheckPlanCaps(const std::vector<std::unique_ptr<Host>>& hosts, const v1::TestPlan& plan,
                                     const RunInTurn* turn = nullptr);

// A run that takes turns with another one: it prepares once, and keeps its sessions and files while the other measures.
// Measures the steps of its plan once a turn, in a thread of its own. All calls from one thread.
class TurnRun {
 public:
  struct Options {
    // Without --repeat and --until-steady.
    v1::TestPlan plan;
    // Where its results go, and what it shows: `end` and `turn` are the object's.
    PlanRun how;
    // As in RunInTurn.
    uint32_t turns = 1;
    int64_t others_ns = 0;
    // Another one whose sessions the same agents may hold already; it has prepared. Null: there is none.
    const TurnRun* beside = nullptr;
    AgentAccess access;
    RunSurroundings around;
  };

  // Begins to prepare. What the options refer to outlives the object.
  explicit TurnRun(Options options);
  // Waits for its end, which Finish or Interrupt brings about.
  ~TurnRun();
  TurnRun(const TurnRun&) = delete;
  TurnRun& operator=(const TurnRun&) = delete;

  // Whether it waits for a turn: it has prepared, and reported the turn before.
  bool waiting() const;
  // Whether it has ended, by itself or not.
  bool over() const;

  // Its turn: it measures its steps once more. Only while it waits.
  void Grant();
  // What it reports of its last turn: facts and steps, no verdict. While it waits.
  v1::Report LastTurn() const;
  // Index of the last turn's first step, and the number of its steps.
  uint32_t first_step() const {
    MutexLock lock(mutex_);
    return granted_steps_ - steps_per_turn();
  }
  uint32_t steps_per_turn() const { return static_cast<uint32_t>(steps_.size()); }

  // It has had its last turn: it cleans up, and writes its report where it has measured anything.
  void Finish();
  // Ctrl-C: the first ends it early, the second leaves at once (RunPlan).
  void Interrupt() { events_.Interrupt(); }
  int interrupts() const { return events_.interrupts(); }
  // Waits for its end.
  void Join();

  // Once it has ended: the exit code, how it ended, and its errors as lines for standard error.
  int code() const { return code_; }
  const PartEnd& end() const { return end_; }
  std::string errors() const { return errors_.str(); }

 private:
  void Run();
  Coordinator::Turn TurnOf(uint32_t step, const Analyzer& analyzer);
  std::optional<v1::LogStep> NextStep() const;

  const Options options_;
  // Steps of one turn.
  const std::vector<v1::LogStep> steps_;
  EventQueue events_;
  RunInTurn turn_;
  RunBeside beside_;
  std::ostringstream report_;
  std::ostringstream errors_;
  PartEnd end_;
  int code_ = 0;

  mutable Mutex mutex_;
  // Steps that may begin.
  uint32_t granted_steps_ ABSL_GUARDED_BY(mutex_) = 0;
  // The step that it asked for last; those before it are reported. Nothing: it prepares.
  std::optional<uint32_t> asked_step_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  v1::Report last_turn_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: starts when everything else is there
};

// The checks of a shared file system.
struct FsckRun {
  AgentList agents;
  AccessFlags access;
  std::string directory;
  // What the command line calls the directory.
  std::string directory_option = "--dir";
  v1::CheckLevel level = v1::CHECK_LEVEL_QUICK;
  // Names of checks; none: all of the level.
  std::set<std::string> only;
  // What provokes a failure, with its arguments.
  std::map<FsckField::Fault, std::vector<std::string>> commands;
  int64_t lease_ns = 0;
  // Without progress on console.err.
  bool quiet = false;
  // Gets how it ended. Null if the caller does not need it.
  PartEnd* end = nullptr;
  // Called once, with the report; not where nothing was checked. Returns whether it could be kept.
  std::function<bool(const v1::CheckReport& report)> finish;
};

// Runs the checks; errors go to console.err. Returns the exit code: Exit::kWrong where the report could not be kept.
int RunFsck(const FsckRun& run, Console& console);

// The files that a report is shown in, but its page, by name: report.txt, report.json, report.csv and timeline.csv; of
// steps with series by minute minutes.csv, of a search curve.csv, too. They follow from the report alone.
std::vector<std::pair<std::string, std::string>> ReportFiles(const v1::Report& report);

// Writes ReportFiles and report.html into `results`; and digest.txt over all of them but the page, which shows the
// digest, and over the journal. Goes on past a failure
// and returns the first. `digest_text` gets DigestText.
absl::Status WriteReportFiles(const ResultsDirectory& results, Seal seal, const v1::Report& report,
                              std::string* digest_text);

// The report as JUnit XML in the file `path`; nothing where that is empty.
absl::Status WriteJUnit(const std::string& path, const v1::Report& report);

// Writes the file before there is a report, with an error in it, so that a file of an earlier run does not pass for
// one of this. Shows, too, whether the file can be written. Pipes and devices are left alone.
absl::Status WriteUnfinishedJUnit(const std::string& path);

}  // namespace plimsoll
