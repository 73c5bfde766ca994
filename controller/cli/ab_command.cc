// `plimsoll ab`: two configurations measured in turn, until the difference is known or the rounds are used up.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/clock.h"
#include "common/command_line.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/ab_record.h"
#include "controller/cli/ab_sides.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/compare_flags.h"
#include "controller/cli/compare_input.h"
#include "controller/cli/plan_flags.h"
#include "controller/cli/run_command.h"
#include "controller/cli/run_parts.h"
#include "controller/cli/turn_run.h"
#include "controller/compare/compare_page.h"
#include "controller/compare/compare_text.h"
#include "controller/compare/paired_runs.h"
#include "controller/plan/ha_plan.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/json.h"
#include "controller/run/command_runner.h"
#include "controller/run/event_queue.h"
#include "controller/run/process.h"
#include "controller/run/results.h"

namespace plimsoll {
namespace {

// How often the runs in turn are looked at.
constexpr int64_t kLookAtRunsNs = 20 * kNsPerMs;

constexpr char kInterrupted[] = "interrupted";

// A program to run before each side.
class Between {
 public:
  // INVALID_ARGUMENT where the command or the limit cannot be read, or commands are not allowed.
  static absl::StatusOr<Between> Create(const AbFlags& flags) {
    Between between;
    if (flags.between.empty()) return between;
    if (!flags.allow_commands) {
      return absl::InvalidArgumentError("--between runs a command on this machine: read it, and give --allow-commands");
    }
    absl::StatusOr<std::vector<std::string>> arguments = SplitCommand(flags.between);
    if (!arguments.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--between: ", std::string(arguments.status().message())));
    }
    between.arguments_ = *std::move(arguments);
    const absl::StatusOr<int64_t> limit_ns = ParseDuration(flags.between_limit);
    if (!limit_ns.ok() || *limit_ns < kNsPerSecond || *limit_ns > 3600 * kNsPerSecond) {
      return absl::InvalidArgumentError(
          absl::StrCat("--between-limit: \"", flags.between_limit, "\" is not a time from 1s to 1h"));
    }
    between.limit_ns_ = *limit_ns;
    return between;
  }

  // Runs it for that side of the round, numbered from 1, while `interrupted` is false. Returns why the side cannot be
  // measured; "" where it can.
  std::string Run(const AbSide& side, char letter, size_t round, const Clock& clock, EventQueue& events,
                  const std::function<bool()>& interrupted) const {
    if (arguments_.empty()) return "";
    std::vector<std::string> arguments = arguments_;
    for (std::string& argument : arguments) {
      argument = absl::StrReplaceAll(
          argument, {{"{side}", side.name}, {"{letter}", std::string(1, letter)}, {"{round}", absl::StrCat(round)}});
    }
    const absl::StatusOr<std::unique_ptr<RunningCommand>> command = MakeCommandRunner()->Start(arguments);
    if (!command.ok()) return std::string(command.status().message());
    constexpr int64_t kPollNs = 20 * kNsPerMs;
    const MonotonicNs deadline = clock.Now() + limit_ns_;
    while (clock.Now() < deadline) {
      if (const std::optional<std::string> ended = (*command)->Poll(); ended.has_value()) return *ended;
      events.WaitUntil(clock.Now() + kPollNs);
      if (interrupted()) {
        (*command)->Kill();
        return kInterrupted;
      }
    }
    (*command)->Kill();
    return absl::StrCat("it did not end within ", FormatDuration(limit_ns_));
  }

 private:
  std::vector<std::string> arguments_;
  int64_t limit_ns_ = 0;
};

class Ab {
 public:
  Ab(const AbFlags& flags, std::vector<AbSide> sides, CompareSettings settings, std::vector<v1::Figure> stop_on,
     Between between, AgentAccess access, CommandLine& line, const RunSurroundings& around)
      : flags_(flags),
        sides_(std::move(sides)),
        settings_(std::move(settings)),
        stop_on_(std::move(stop_on)),
        between_(std::move(between)),
        access_(std::move(access)),
        line_(line),
        around_(around) {
    record_.names = {sides_[0].name, sides_[1].name};
    record_.planned_rounds = flags_.rounds;
    record_.order_seed = flags_.order_seed ? *flags_.order_seed : std::random_device()();
    record_.differs.assign(settings_.differs.begin(), settings_.differs.end());
    record_.min_effect = flags_.compare.min_effect;
    for (const std::string& name : record_.names) inputs_.push_back({{}, name});
  }

  int Execute() {
    if (flags_.dry_run) return DryRun();
    const std::string id = NewRunId();
    absl::StatusOr<ResultsDirectory> results = flags_.out.empty()
                                                   ? ResultsDirectory::CreateDefault(around_.clock->WallNow(), id)
                                                   : ResultsDirectory::Create(flags_.out);
    if (!results.ok()) return PrintError(line_, results.status(), Exit::kWrong);
    path_ = results->path();
    if (const absl::Status kept = Keep(*results); !kept.ok()) return PrintError(line_, kept, Exit::kWrong);
    if (PreparesOnce()) {
      MeasureInTurn(*results);
    } else {
      EachRound(*results, [this](size_t round, const std::string& order) { MeasureRound(round, order); });
    }
    return Report(*results);
  }

 private:
  absl::Status Keep(const ResultsDirectory& results) const { return results.Write("ab.json", WriteAbRecord(record_)); }

  void Say(const std::string& text) const {
    if (!flags_.quiet) line_.err << "plimsoll: " << SanitizeForTerminal(text) << std::endl;
  }

  // Whether the files of both sides stay where they are from the first round to the last. Not where the command may
  // need the file system for itself, nor where a run does more than to measure its steps.
  bool PreparesOnce() const {
    if (!flags_.toggle.empty()) return true;
    if (flags_.anew || !flags_.between.empty()) return false;
    return std::none_of(sides_.begin(), sides_.end(), [](const AbSide& side) {
      bool busy_threads = false;
      for (int host = 0; host < std::max(1, side.plan.hosts_size()); ++host) {
        busy_threads = busy_threads || EffectiveWorkload(side.plan, host).cpu_load() > 0;
      }
      return busy_threads || side.plan.until_steady_ns() > 0;
    });
  }

  // Calls `measure` for one round after the other until they end, and keeps the record.
  void EachRound(const ResultsDirectory& results,
                 const std::function<void(size_t round, const std::string& order)>& measure) {
    const std::vector<std::string> order = DrawOrder(record_.order_seed, flags_.rounds);
    for (size_t round = 1; round <= order.size() && record_.ended.empty(); ++round) {
      Say(absl::StrCat("round ", round, " of ", flags_.rounds, ": ", sides_[order[round - 1] == "AB" ? 0 : 1].name,
                       ", then ", sides_[order[round - 1] == "AB" ? 1 : 0].name));
      measure(round, order[round - 1]);
      if (record_.ended.empty() && round == order.size()) record_.ended = "All planned rounds were measured.";
      if (const absl::Status kept = Keep(results); !kept.ok()) PrintError(line_, kept, Exit::kInconclusive);
    }
  }

  void CutShort(const std::string& why) {
    cut_short_ = true;
    record_.ended = why;
  }

  std::string Where(size_t side, size_t round) const { return absl::StrCat(sides_[side].name, " in round ", round); }

  // Runs the command; false where the side cannot be measured.
  bool RunBetween(size_t side, size_t round, EventQueue& events, const std::function<bool()>& interrupted) {
    const std::string failed =
        between_.Run(sides_[side], side == 0 ? 'A' : 'B', round, *around_.clock, events, interrupted);
    if (failed.empty()) return true;
    CutShort(failed == kInterrupted ? absl::StrCat("Interrupted before ", Where(side, round), ".")
                                    : absl::StrCat("--between failed before ", Where(side, round), ": ", failed, "."));
    return false;
  }

  // Takes a round whose sides were both measured whole.
  void AddRound(size_t round, AbRound measured, std::vector<RunInput> runs) {
    for (size_t side = 0; side < 2; ++side) inputs_[side].runs.push_back(std::move(runs[side]));
    record_.rounds.push_back(std::move(measured));
    LookAt(round);
  }

  // Both sides as runs that keep their sessions, in turn; with --toggle as steps of one such run.
  void MeasureInTurn(const ResultsDirectory& results) {
    EventQueue events(*around_.clock);
    std::optional<Interrupts> interrupts;
    if (around_.catches_signals) interrupts.emplace(events);
    TurnRuns runs;
    if (!Prepare(runs, events)) return EndRuns(runs, events, 0);
    EachRound(results, [&](size_t round, const std::string& order) {
      if (!MeasureTurns(round, order, runs, events)) EndRuns(runs, events, round);
    });
    EndRuns(runs, events, 0);
  }

  using TurnRuns = std::vector<std::unique_ptr<TurnRun>>;

  // Where the results of that side go, below the record's directory.
  std::string RunName(size_t side) const { return !flags_.toggle.empty() ? "run" : side == 0 ? "a" : "b"; }

  // Whether an agent has steps of both sides.
  bool AgentsServeBoth() const {
    if (!flags_.toggle.empty()) return true;
    std::set<std::string> addresses;
    for (const v1::HostSpec& host : sides_[0].plan.hosts()) addresses.insert(host.address());
    return std::any_of(sides_[1].plan.hosts().begin(), sides_[1].plan.hosts().end(),
                       [&addresses](const v1::HostSpec& host) { return addresses.contains(host.address()); });
  }

  // Has every run prepare, one after another. False where one could not.
  bool Prepare(TurnRuns& runs, EventQueue& events) {
    const size_t count = flags_.toggle.empty() ? 2 : 1;
    for (size_t side = 0; side < count; ++side) {
      TurnRun::Options options;
      options.plan = sides_[side].plan;
      options.out = (std::filesystem::path(path_) / RunName(side)).string();
      options.quiet = flags_.quiet;
      options.repeated = side > 0;
      options.turns = (AgentsServeBoth() ? 2 : 1) * flags_.rounds;
      options.beside = side > 0 ? runs.front().get() : nullptr;
      options.access = access_;
      options.around = around_;
      runs.push_back(std::make_unique<TurnRun>(std::move(options)));
      if (!AwaitTurn(runs, side, events)) return false;
    }
    return true;
  }

  // Until the condition holds; meanwhile every run gets the interrupts.
  void Await(const TurnRuns& runs, EventQueue& events, const std::function<bool()>& condition) {
    while (true) {
      for (; forwarded_ < events.interrupts(); ++forwarded_) {
        for (const auto& run : runs) run->Interrupt();
      }
      if (condition()) return;
      events.WaitUntil(around_.clock->Now() + kLookAtRunsNs);
    }
  }

  // Until that run waits for a turn; false where one of them has ended, which interrupts make them do.
  bool AwaitTurn(const TurnRuns& runs, size_t side, EventQueue& events) {
    const auto ended = [&runs] {
      return std::any_of(runs.begin(), runs.end(), [](const auto& run) { return run->over(); });
    };
    Await(runs, events, [&] { return ended() || runs[side]->waiting(); });
    return !ended();
  }

  // A round; false where the rounds end in it, and one of the runs may be why.
  bool MeasureTurns(size_t round, const std::string& order, const TurnRuns& runs, EventQueue& events) {
    AbRound measured;
    measured.order = order;
    std::vector<RunInput> inputs(2);
    for (const char letter : order) {
      const size_t side = letter == 'A' ? 0 : 1;
      const size_t number = std::min(side, runs.size() - 1);
      TurnRun& run = *runs[number];
      if (!RunBetween(side, round, events, [&events] { return events.interrupts() > 0; })) return false;
      if (!AwaitTurn(runs, number, events)) return false;
      run.Grant();
      if (!AwaitTurn(runs, number, events)) return false;
      const AbPart part{RunName(number), run.first_step(), run.steps_per_turn()};
      v1::Report report = run.LastTurn();
      report.mutable_run()->set_state(v1::RUN_STATE_COMPLETE);
      report.mutable_run()->clear_state_reason();
      const std::string source = (std::filesystem::path(path_) / part.run).string();
      std::string trouble = TroubleOf(report);
      for (const v1::StepReport& step : report.steps()) {
        if (trouble.empty()) trouble = step.cut_short();
      }
      if (!trouble.empty()) {
        CutShort(absl::StrCat("The rounds ended with ", Where(side, round), ": ", trouble, "."));
        return false;
      }
      inputs[side] = {absl::StrCat(source, " (round ", round, ")"), std::move(report)};
      (side == 0 ? measured.first : measured.second) = part;
    }
    AddRound(round, std::move(measured), std::move(inputs));
    return true;
  }

  // Waits until all runs have cleaned up and written their reports. Of one that ended by itself (in round `round`, or
  // before the first: 0): why.
  void EndRuns(TurnRuns& runs, EventQueue& events, size_t round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]->over() || !record_.ended.empty()) continue;
      runs[i]->Join();
      const std::string out = (std::filesystem::path(path_) / RunName(i)).string();
      const absl::StatusOr<v1::Report> report = LoadReport(out);
      std::string trouble = report.ok() ? TroubleOf(*report) : "";
      if (trouble.empty()) trouble = runs[i]->end().ErrorText();
      const std::string where = flags_.toggle.empty() ? sides_[i].name : "the run";
      code_ = runs[i]->code();
      CutShort(forwarded_ > 0
                   ? absl::StrCat("Interrupted ", round == 0 ? "before round 1" : absl::StrCat("in round ", round), ".")
               : round == 0 ? absl::StrCat("The rounds could not begin with ", where, ": ", trouble, ".")
                            : absl::StrCat("The rounds ended with ", where, " in round ", round, ": ", trouble, "."));
    }
    for (const auto& run : runs) run->Finish();
    for (const auto& run : runs) {
      Await(runs, events, [&run] { return run->over(); });
      run->Join();
      line_.err << run->errors() << std::flush;
    }
    runs.clear();
  }

  // Both sides in the order, each a run with a session of its own; adds the round to the record where both were
  // measured whole, and ends the rounds where one was not.
  void MeasureRound(size_t round, const std::string& order) {
    AbRound measured;
    measured.order = order;
    std::vector<RunInput> runs(2);
    bool interrupted = false;
    for (const char letter : order) {
      const size_t side = letter == 'A' ? 0 : 1;
      const std::string name = absl::StrFormat("round-%02d-%c", round, letter == 'A' ? 'a' : 'b');
      (side == 0 ? measured.first : measured.second).run = name;
      const std::string where = Where(side, round);
      {
        EventQueue events(*around_.clock);
        const Interrupts interrupts(events);
        if (!RunBetween(side, round, events, [&events] { return events.interrupts() > 0; })) return;
      }
      if (interrupted || IsInterruptPending()) {
        CutShort(absl::StrCat("Interrupted before ", where, "."));
        return;
      }
      PlanRun how;
      how.out = (std::filesystem::path(path_) / name).string();
      how.quiet = flags_.quiet;
      how.repeated = round > 1;
      PartEnd end;
      how.end = &end;
      PartLine part(line_);
      code_ = RunPlan(sides_[side].plan, how, access_, part.line(), around_);
      absl::StatusOr<v1::Report> loaded = LoadReport(how.out);
      const std::string trouble = loaded.ok() ? TroubleOf(*loaded) : end.ErrorText();
      if (!trouble.empty()) {
        CutShort(absl::StrCat("The rounds ended with ", where, ": ", trouble, "."));
        return;
      }
      code_ = 0;
      runs[side] = {how.out, *std::move(loaded)};
      // It came too late to cut this run short: the next one does not begin.
      interrupted = end.interrupted;
    }
    AddRound(round, std::move(measured), std::move(runs));
    if (interrupted && record_.ended.empty() && round < flags_.rounds) {
      CutShort(absl::StrCat("Interrupted after round ", round, "."));
    }
  }

  // Why a run is no whole measurement of its side; "" where it is one.
  static std::string TroubleOf(const v1::Report& report) {
    if (report.run().state() != v1::RUN_STATE_COMPLETE) {
      return report.run().state_reason().empty() ? "it was cut short" : report.run().state_reason();
    }
    for (const v1::HostReport& host : report.hosts()) {
      if (host.has_lost()) return absl::StrCat("host ", host.label(), " was lost");
    }
    return "";
  }

  // After a round that the design tests: ends the rounds where they have said what they can say.
  void LookAt(size_t round) {
    const std::vector<plimsoll::Look> looks = PlannedLooks(flags_.rounds);
    const bool is_look =
        std::any_of(looks.begin(), looks.end(), [round](const plimsoll::Look& look) { return look.rounds == round; });
    const absl::StatusOr<v1::Comparison> comparison = Comparison();
    if (!comparison.ok()) {
      comparable_ = false;
      code_ = static_cast<int>(Exit::kWrong);
      CutShort(absl::StrCat("The sides cannot be compared: ", std::string(comparison.status().message()), "."));
      return;
    }
    for (const v1::BlockSizeComparison& block_size : comparison->block_sizes()) {
      for (const v1::ComparedRow& row : block_size.pairs(0).rows()) {
        if (row.figure() != v1::FIGURE_IOPS || row.rounds().ratio().empty()) continue;
        Say(absl::StrFormat("round %d: IO/s of %s / %s at %s: %.3f; of all rounds so far %.3f%s", round,
                            record_.names[1], record_.names[0], FormatSizeForPeople(block_size.block_size_bytes()),
                            *row.rounds().ratio().rbegin(), row.ratio(),
                            row.has_low() ? absl::StrFormat(" (%.3f to %.3f)", row.low(), row.high()) : ""));
      }
    }
    if (is_look && round < flags_.rounds && !flags_.all_rounds && IsDecided(*comparison, stop_on_)) {
      record_.ended = absl::StrCat("They ended after ", round, " because every figure of --stop-on was decided.");
    }
  }

  absl::StatusOr<v1::Comparison> Comparison() const {
    CompareSettings settings = settings_;
    settings.paired = DesignOf(record_);
    return Compare(inputs_, settings);
  }

  int Report(ResultsDirectory& results) {
    if (record_.rounds.empty() || !comparable_) {
      std::error_code ignored;
      const bool measured = std::any_of(
          std::filesystem::directory_iterator(path_, ignored), std::filesystem::directory_iterator(),
          [&ignored](const std::filesystem::directory_entry& entry) { return entry.is_directory(ignored); });
      PrintError(line_,
                 absl::StrCat(record_.ended, " No comparison was made",
                              measured ? absl::StrCat("; what was measured is in ", path_) : ""),
                 Exit::kInconclusive);
      if (!measured) {
        std::filesystem::remove(std::filesystem::path(path_) / "ab.json", ignored);
        results.Discard();
      }
      return code_ == static_cast<int>(Exit::kOk) || code_ == static_cast<int>(Exit::kFailed)
                 ? static_cast<int>(Exit::kInconclusive)
                 : code_;
    }
    // What its verdict says of a run is known once it has ended.
    if (absl::StatusOr<AbResults> ended = LoadAbDirectory(path_); ended.ok()) inputs_ = std::move(ended->sides);
    const absl::StatusOr<v1::Comparison> comparison = Comparison();
    if (!comparison.ok()) return PrintError(line_, comparison.status(), Exit::kWrong);
    absl::Status written = results.Restore();
    written.Update(results.Write("compare.txt", RenderCompareText(*comparison)));
    written.Update(results.Write("compare.json", RenderJson(*comparison)));
    written.Update(results.Write("compare.csv", RenderCompareCsv(*comparison)));
    written.Update(results.Write("compare.html", RenderComparePage(inputs_, *comparison)));
    int code = PrintComparison(flags_.compare, inputs_, *comparison, line_);
    if (!flags_.compare.json) line_.out << "Results in " << SanitizeForTerminal(path_) << std::endl;
    if (cut_short_) PrintError(line_, record_.ended, Exit::kInconclusive);
    if (!written.ok()) PrintError(line_, written, Exit::kInconclusive);
    if ((cut_short_ || !written.ok()) && code == static_cast<int>(Exit::kOk)) {
      code = static_cast<int>(Exit::kInconclusive);
    }
    return code;
  }

  int DryRun() {
    for (const AbSide& side : sides_) {
      line_.out << SanitizeForTerminal(side.name) << ":\n";
      PlanRun how;
      how.dry_run = true;
      how.quiet = true;
      const int code = RunPlan(side.plan, how, access_, line_, around_);
      if (code != static_cast<int>(Exit::kOk)) return code;
    }
    line_.out << "Up to " << flags_.rounds << " rounds of " << SanitizeForTerminal(record_.names[0]) << " and "
              << SanitizeForTerminal(record_.names[1]) << ", with "
              << (!flags_.toggle.empty() ? "the same files"
                  : PreparesOnce()       ? "files of their own for all rounds"
                                         : "new files for each side of each round")
              << "; the order within a round is drawn." << std::endl;
    return static_cast<int>(Exit::kOk);
  }

  const AbFlags& flags_;
  const std::vector<AbSide> sides_;
  const CompareSettings settings_;
  const std::vector<v1::Figure> stop_on_;
  const Between between_;
  const AgentAccess access_;
  CommandLine& line_;
  const RunSurroundings around_;
  AbRecord record_;
  std::string path_;
  // The complete rounds.
  std::vector<SideInput> inputs_;
  // Interrupts that the runs in turn have.
  int forwarded_ = 0;
  // Whether the rounds ended for another reason than that they were done.
  bool cut_short_ = false;
  // Whether what the runs report can be compared.
  bool comparable_ = true;
  // Exit code of the run that ended the rounds; 0: none did.
  int code_ = 0;
};

int AbMain(AbFlags& flags, CommandLine& line, const RunSurroundings& around) {
  if (flags.rounds < kFewestRounds || flags.rounds > kMostRounds) {
    return PrintError(line,
                      absl::StrCat("--rounds ", flags.rounds, ": from ", kFewestRounds, " to ", kMostRounds,
                                   "; fewer cannot show a difference at 5 %"),
                      Exit::kWrong);
  }
  absl::StatusOr<CompareSettings> settings = flags.compare.Settings();
  if (!settings.ok()) return PrintError(line, settings.status(), Exit::kWrong);
  absl::StatusOr<std::vector<v1::Figure>> stop_on = ParseGate(flags.stop_on);
  if (!stop_on.ok()) {
    return PrintError(line, absl::StrCat("--stop-on: ", std::string(stop_on.status().message())), Exit::kWrong);
  }
  absl::StatusOr<Between> between = Between::Create(flags);
  if (!between.ok()) return PrintError(line, between.status(), Exit::kWrong);
  absl::StatusOr<std::vector<AbSide>> sides = LoadSides(flags, settings->differs);
  if (!sides.ok()) return PrintErrors(line, sides.status(), Exit::kWrong);
  std::vector<SideInput> names(2);
  if (const absl::Status named = flags.compare.NameSides(names); !named.ok()) {
    return PrintError(line, named, Exit::kWrong);
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!names[i].name.empty()) (*sides)[i].name = names[i].name;
  }
  if (const absl::Status comparable = CheckPlansComparable(*sides, settings->differs); !comparable.ok()) {
    return PrintError(line, comparable, Exit::kWrong);
  }
  absl::StatusOr<AgentAccess> access = LoadAccess(flags.access);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  return Ab(flags, *std::move(sides), *std::move(settings), *std::move(stop_on), *std::move(between),
            *std::move(access), line, around)
      .Execute();
}

}  // namespace

void AddAbCommand(CLI::App& app, CommandLine& line) {
  const RunSurroundings around = OwnSurroundings();
  auto flags = std::make_shared<AbFlags>();
  CLI::App* command = app.add_subcommand("ab", "Measure two configurations in turn, and compare them round by round");
  command->add_option("PLAN", flags->plans,
                      WrapHelp("Two plans in YAML, A and B, or one with --vary; options override both"));
  command
      ->add_option(
          "--vary", flags->vary,
          WrapHelp("Plan option in which the sides differ, and its two values: dir=/san,/nfs, sync=dsync,none"))
      ->type_name("OPTION=A,B");
  command
      ->add_option("--rounds", flags->rounds,
                   WrapHelp("Most rounds, from 6 to 60; each measures both sides once, in an order drawn at random"))
      ->capture_default_str()
      ->type_name("COUNT");
  command
      ->add_option("--stop-on", flags->stop_on,
                   WrapHelp("Figures that must all be decided for the rounds to end early: the interval is beyond "
                            "--min-effect, or as narrow as it"))
      ->capture_default_str()
      ->type_name("FIGURES");
  command->add_flag("--all-rounds", flags->all_rounds, "Measure all rounds, even if the figures are decided earlier");
  command
      ->add_option("--order-seed", flags->order_seed,
                   WrapHelp("Seed of the order within the rounds (default: random; the result names it)"))
      ->type_name("NUMBER");
  command->add_flag("--anew", flags->anew,
                    WrapHelp("Prepare each side anew in each round, in a session of its own; with --between always"));
  command
      ->add_option("--between", flags->between,
                   WrapHelp("Command to run on this machine before each side of each round, without a shell; {side}, "
                            "{letter} and {round} are replaced"))
      ->type_name("COMMAND");
  command->add_option("--between-limit", flags->between_limit, "Longest time that the command may take")
      ->capture_default_str()
      ->type_name("TIME");
  command
      ->add_option("--toggle", flags->toggle,
                   WrapHelp("With --between and one plan: switch sides within one run each time that so much was "
                            "measured; the files stay"))
      ->type_name("TIME");
  command->add_flag("--allow-commands", flags->allow_commands, "Run the command of --between on this machine");
  flags->compare.AddTo(*command);
  flags->plan = std::make_unique<PlanFlags>(*command);
  command->add_option("--out", flags->out, "Directory for the results (default: plimsoll-results/<UTC time>-<id>)")
      ->type_name("DIR");
  command->add_flag("--quiet,-q", flags->quiet, "Print no progress on standard error");
  AddAccessFlags(*command, flags->access);
  command->add_flag("--dry-run", flags->dry_run,
                    "Show hosts, directories, files and bytes of both sides; change nothing");
  command->footer(
      "Examples:\n"
      "  plimsoll ab san.yaml nfs.yaml --rounds 8\n"
      "  plimsoll ab --vary dir=/mnt/san,/mnt/nfs --hosts node[1-3] --bsize 4k,64k --duration 20\n"
      "  plimsoll ab plan.yaml --vary sync=dsync,fdatasync --fail-if-slower 10%\n"
      "  plimsoll ab plan.yaml plan.yaml --names 64k,1m --between './remount {side}' --allow-commands\n"
      "  plimsoll ab plan.yaml --names near,far --toggle 2s --between './delay {side}' --allow-commands");
  command->callback(
      [flags, &line, around] { line.action = [flags, &line, around] { return AbMain(*flags, line, around); }; });
}

}  // namespace plimsoll
