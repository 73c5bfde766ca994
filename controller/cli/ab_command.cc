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
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/app/protection.h"
#include "controller/app/runs.h"
#include "controller/cli/ab_record.h"
#include "controller/cli/ab_sides.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/compare_command.h"
#include "controller/cli/outputs.h"
#include "controller/cli/plan_flags.h"
#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/step_data.h"
#include "controller/fleet/agent_client.h"
#include "controller/journal/digest.h"
#include "controller/journal/results.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/run/process.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

// How often the runs in turn are looked at.
constexpr int64_t kLookAtRunsNs = 20 * kNsPerMs;

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
    record_.judged = {flags_.compare.fail_if_slower, flags_.compare.gate, flags_.compare.times};
    record_.control = settings_.control;
    for (const std::string& name : record_.names) inputs_.push_back({{}, name});
  }

  int Execute() {
    if (flags_.dry_run) return DryRun();
    if (const std::optional<Failure> failure = Protect()) return PrintFailure(line_, *failure);
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
  // Starts what guards both sides, whose baseline comes before either prepares. Nothing where the plans protect
  // nothing.
  std::optional<Failure> Protect() {
    if (!sides_[0].plan.has_protect()) return std::nullopt;
    auto started =
        Protection::Start({.plans = {sides_[0].plan, sides_[1].plan}, .access = access_, .around = around_, .out = ""});
    if (Failure* const failure = std::get_if<Failure>(&started)) return std::move(*failure);
    protection_ = std::move(std::get<std::unique_ptr<Protection>>(started));
    return std::nullopt;
  }

  absl::Status Keep(const ResultsDirectory& results) const { return results.Write("ab.json", WriteAbRecord(record_)); }

  // Lists what the comparison follows from: the record and the runs of its rounds, and what it is shown in.
  absl::StatusOr<DigestState> SealAll(const ResultsDirectory& results) const {
    std::vector<ResultsPart> parts;
    for (const auto& [run, seal] : record_.seals) parts.push_back({run, "journal"});
    return SealResults(results, Seal::kReplace, {"ab.json", "compare.txt", "compare.json", "compare.csv"}, parts);
  }

  void Say(const std::string& text) const {
    if (!flags_.quiet) line_.err << "plimsoll: " << SanitizeForTerminal(text) << std::endl;
  }

  // Whether the files of both sides stay where they are from the first round to the last. Not where the command may
  // need the file system for itself, nor where a run measures its steps more than once.
  bool PreparesOnce() const {
    if (!flags_.toggle.empty()) return true;
    if (flags_.anew || !flags_.between.empty()) return false;
    return std::ranges::none_of(
        sides_, [](const AbSide& side) { return side.plan.until_steady_ns() > 0 || side.plan.repeat() > 1; });
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
      // Journals that all rounds share grow until the end.
      if (!PreparesOnce()) SealRuns(path_, record_);
      if (const absl::Status kept = Keep(results); !kept.ok()) PrintError(line_, kept, Exit::kInconclusive);
    }
  }

  void CutShort(const std::string& why) {
    cut_short_ = true;
    record_.ended = why;
  }

  std::string Where(size_t side, size_t round) const { return absl::StrCat(sides_[side].name, " in round ", round); }

  // Runs the command, until `stop` returns true; false where the side cannot be measured.
  bool RunBetween(size_t side, size_t round, EventQueue& events, const std::function<bool()>& stop) {
    const std::string failed = between_.Run(sides_[side], side == 0 ? 'A' : 'B', round, *around_.clock, events, stop);
    if (failed.empty()) return true;
    // Otherwise it was stopped because a run has ended: EndRuns reports why.
    if (failed == Between::kStopped && events.interrupts() == 0) return false;
    CutShort(failed == Between::kStopped
                 ? absl::StrCat("Interrupted before ", Where(side, round), ".")
                 : absl::StrCat("--between failed before ", Where(side, round), ": ", failed, "."));
    return false;
  }

  // Whether what is protected allows it: it may have become slower since the side before, when no run looked at it.
  bool MayMeasure(size_t side, size_t round) {
    const std::string why = protection_ == nullptr ? "" : protection_->MustStop(around_.clock->Now());
    if (why.empty()) return true;
    CutShort(absl::StrCat("The rounds ended before ", Where(side, round), ": ", why, "."));
    return false;
  }

  // Takes a round whose sides were both measured whole.
  void AddRound(size_t round, AbRound measured, std::vector<RunInput> runs) {
    for (size_t side = 0; side < 2; ++side) inputs_[side].runs.push_back(std::move(runs[side]));
    record_.rounds.push_back(std::move(measured));
    LookAt(round);
  }

  // Measures the two sides as runs that keep their sessions, in turn; with --toggle as steps of one such run.
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

  // Time of the side's steps in a round.
  int64_t StepsNs(size_t side) const {
    const std::vector<v1::LogStep> steps = ExpandSteps(sides_[side].plan);
    return TotalStepNs({steps.begin(), steps.end()});
  }

  // Its hosts, each with its directory.
  std::set<std::pair<std::string, std::string>> PlacesOf(size_t side) const {
    const v1::TestPlan& plan = sides_[side].plan;
    std::set<std::pair<std::string, std::string>> places;
    for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) {
      places.emplace(plan.hosts().empty() ? "" : plan.hosts(host).address(), EffectiveWorkload(plan, host).dir());
    }
    return places;
  }

  // Whether an agent has steps of both sides.
  bool AgentsServeBoth() const {
    std::set<std::string> addresses;
    for (const auto& [address, dir] : PlacesOf(0)) addresses.insert(address);
    const auto others = PlacesOf(1);
    return std::ranges::any_of(others, [&addresses](const auto& place) { return addresses.contains(place.first); });
  }

  // Has every run prepare, in turn. False where one could not.
  bool Prepare(TurnRuns& runs, EventQueue& events) {
    const size_t count = flags_.toggle.empty() ? 2 : 1;
    for (size_t side = 0; side < count; ++side) {
      TurnRun::Options options;
      options.plan = sides_[side].plan;
      options.how.out = (std::filesystem::path(path_) / RunName(side)).string();
      options.how.quiet = flags_.quiet;
      options.how.protection = protection_.get();
      options.how.repeated = side > 0 && PlacesOf(0) == PlacesOf(1);
      options.turns = (count == 1 ? 2 : 1) * flags_.rounds;
      if (count == 2 && AgentsServeBoth()) options.others_ns = flags_.rounds * StepsNs(1 - side);
      options.beside = side > 0 ? runs.front().get() : nullptr;
      options.access = access_;
      options.around = around_;
      runs.push_back(std::make_unique<TurnRun>(std::move(options)));
      if (!AwaitTurn(runs, side, events)) return false;
    }
    return true;
  }

  // Until that run waits for a turn; false where one of them has ended, which an interrupt makes them do.
  bool AwaitTurn(const TurnRuns& runs, size_t side, EventQueue& events) {
    while (!AnyOver(runs)) {
      for (const auto& run : runs) PassOn(events.interrupts(), *run);
      if (runs[side]->waiting()) return true;
      events.WaitUntil(around_.clock->Now() + kLookAtRunsNs);
    }
    return false;
  }

  static bool AnyOver(const TurnRuns& runs) {
    return std::ranges::any_of(runs, [](const auto& run) { return run->over(); });
  }

  // So that the run has had so many interrupts.
  static void PassOn(int interrupts, TurnRun& run) {
    while (run.interrupts() < interrupts) run.Interrupt();
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
      if (!RunBetween(side, round, events, [&] { return events.interrupts() > 0 || AnyOver(runs); })) return false;
      if (!MayMeasure(side, round)) return false;
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
      inputs[side] = {source, std::move(report)};
      (side == 0 ? measured.first : measured.second) = part;
    }
    AddRound(round, std::move(measured), std::move(inputs));
    return true;
  }

  // Waits until all runs have cleaned up and written their reports. Of one that ended by itself (in round `round`, or
  // before the first: 0): why. Does nothing where they have ended already.
  void EndRuns(TurnRuns& runs, EventQueue& events, size_t round) {
    const int before = events.interrupts();
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]->over() || !record_.ended.empty()) continue;
      runs[i]->Join();
      const std::optional<v1::Report>& report = runs[i]->end().report;
      std::string trouble = report.has_value() ? TroubleOf(*report) : "";
      if (trouble.empty()) trouble = runs[i]->end().ErrorText();
      const std::string where = flags_.toggle.empty() ? sides_[i].name : "the run";
      code_ = runs[i]->code();
      CutShort(before > 0
                   ? absl::StrCat("Interrupted ", round == 0 ? "before round 1" : absl::StrCat("in round ", round), ".")
               : round == 0 ? absl::StrCat("No round could begin: ", flags_.toggle.empty() ? "side " : "",
                                           flags_.toggle.empty() ? Quoted(where) : where, ": ", trouble, ".")
                            : absl::StrCat("The rounds ended with ", where, " in round ", round, ": ", trouble, "."));
    }
    for (const auto& run : runs) run->Finish();
    while (!std::ranges::all_of(runs, [](const auto& run) { return run->over(); })) {
      for (const auto& run : runs) {
        // The first Ctrl-C asks for the end, which has begun; the second one leaves at once.
        if (run->interrupts() > 0 || events.interrupts() >= 2) PassOn(events.interrupts(), *run);
      }
      events.WaitUntil(around_.clock->Now() + kLookAtRunsNs);
    }
    for (size_t side = 0; side < 2 && !runs.empty(); ++side) TakeEnd(*runs[std::min(side, runs.size() - 1)], side);
    runs.clear();
  }

  // What the run of that side reports in the end, with its verdict, in place of what was known turn by turn.
  void TakeEnd(TurnRun& run, size_t side) {
    run.Join();
    const PartEnd& end = run.end();
    if (end.report.has_value()) {
      std::vector<AbPart> parts;
      for (const AbRound& round : record_.rounds) parts.push_back(side == 0 ? round.first : round.second);
      if (side == 0 && settings_.control) verdict_.Take(*end.report);
      inputs_[side].runs = PartInputs(parts, (std::filesystem::path(path_) / RunName(side)).string(), *end.report);
    }
    // The errors of a run that measured nothing are in record_.ended already. With --toggle both sides share one run.
    if (!end.report.has_value() || end.errors.empty() || (side == 1 && !flags_.toggle.empty())) return;
    not_kept_ = true;
    line_.err << run.errors() << std::flush;
  }

  // Measures the two sides in the order, each in a run with a session of its own. Adds the round to the record if each
  // side was measured whole; otherwise ends the rounds.
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
        interrupted = interrupted || events.interrupts() > 0;
      }
      if (interrupted || IsInterruptPending()) {
        CutShort(absl::StrCat("Interrupted before ", where, "."));
        return;
      }
      if (!MayMeasure(side, round)) return;
      PlanRun how;
      how.out = (std::filesystem::path(path_) / name).string();
      how.quiet = flags_.quiet;
      how.protection = protection_.get();
      how.repeated = round > 1;
      PartEnd end;
      how.end = &end;
      code_ = RunPlan(sides_[side].plan, how, access_, line_, around_);
      const std::string trouble = end.report.has_value() ? TroubleOf(*end.report) : end.ErrorText();
      if (!trouble.empty()) {
        CutShort(absl::StrCat("The rounds ended with ", where, ": ", trouble, "."));
        return;
      }
      code_ = 0;
      if (side == 0 && settings_.control) verdict_.Take(*end.report);
      runs[side] = {how.out, *std::move(end.report)};
      not_kept_ = not_kept_ || !end.errors.empty();
      // It came too late to cut this run short: the next one does not begin.
      interrupted = end.interrupted;
    }
    AddRound(round, std::move(measured), std::move(runs));
    if (interrupted && record_.ended.empty() && round < flags_.rounds) {
      CutShort(absl::StrCat("Interrupted after round ", round, "."));
    }
  }

  // After a round that the design tests: ends the rounds where they have said what they can say.
  void LookAt(size_t round) {
    const std::vector<plimsoll::Look> looks = PlannedLooks(flags_.rounds);
    const bool is_look =
        std::ranges::any_of(looks, [round](const plimsoll::Look& look) { return look.rounds == round; });
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
                            record_.names[1], record_.names[0], FormatBlockSize(block_size.block_size_bytes()),
                            *row.rounds().ratio().rbegin(), row.ratio(),
                            row.has_low() ? absl::StrFormat(" (%.3f to %.3f)", row.low(), row.high()) : ""));
      }
    }
    if (is_look && round < flags_.rounds && !flags_.all_rounds && IsDecided(*comparison, stop_on_)) {
      record_.ended = absl::StrCat("They ended after ", round, " because every figure of --stop-on was decided.");
    }
  }

  absl::StatusOr<v1::Comparison> Comparison() {
    if (flags_.compare.times != "service") UseResponseTimes(inputs_);
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
    const absl::StatusOr<v1::Comparison> comparison = Comparison();
    if (!comparison.ok()) return PrintError(line_, comparison.status(), Exit::kWrong);
    absl::Status written = results.Restore();
    SealRuns(path_, record_);
    written.Update(Keep(results));
    written.Update(results.Write("compare.txt", RenderCompareText(*comparison)));
    written.Update(results.Write("compare.json", RenderJson(*comparison)));
    written.Update(results.Write("compare.csv", RenderCompareCsv(*comparison)));
    written.Update(results.Write("compare.html", RenderComparePage(inputs_, *comparison)));
    const absl::StatusOr<DigestState> digest = SealAll(results);
    written.Update(SealFailure(digest));
    written.Update(ChangedBeforeSeal(digest));
    if (!flags_.compare.json) line_.out << verdict_.Text(sides_[0].name);
    int code = verdict_.With(PrintComparison(flags_.compare, inputs_, *comparison, line_));
    if (!flags_.compare.json) {
      line_.out << DigestLine(DigestText(digest)) << "Results in " << SanitizeForTerminal(path_) << std::endl;
    }
    if (cut_short_) PrintError(line_, record_.ended, Exit::kInconclusive);
    if (!written.ok()) PrintError(line_, written, Exit::kInconclusive);
    if ((cut_short_ || not_kept_ || !written.ok()) && code == static_cast<int>(Exit::kOk)) {
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
    if (!flags_.between.empty()) {
      line_.out << SanitizeForTerminal(
                       absl::StrCat("Between rounds, with --allow-commands, on this machine: ", flags_.between))
                << std::endl;
    }
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
  // Null: the plans protect nothing.
  std::unique_ptr<Protection> protection_;
  AbRecord record_;
  std::string path_;
  // The complete rounds.
  std::vector<SideInput> inputs_;
  // Whether results of a run, such as its journal, could not be kept.
  bool not_kept_ = false;
  // Whether the rounds ended for another reason than that they were done.
  bool cut_short_ = false;
  // Whether what the runs report can be compared.
  bool comparable_ = true;
  // With --control: that of the first side; else none.
  StorageVerdict verdict_;
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
  settings->control = !flags.control.empty();
  std::vector<SideInput> names(2);
  if (const absl::Status named = flags.compare.NameSides(names); !named.ok()) {
    return PrintError(line, named, Exit::kWrong);
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!names[i].name.empty()) (*sides)[i].name = names[i].name;
  }
  if (const absl::Status comparable = CheckPlansComparable(*sides, *settings); !comparable.ok()) {
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
  command->add_option("PLAN", flags->plans, "Two plans in YAML, A and B, or one with --vary; options override both");
  AddValue(*command, "--vary", "OPTION=A,B", flags->vary,
           "Plan option in which the sides differ, and its two values: dir=/san,/nfs, sync=dsync,none");
  AddValue(*command, "--control", "DIR", flags->control,
           "Measure the same plan in this directory of the same hosts, on other storage, beside that in --dir, which "
           "alone is judged by the criteria")
      ->excludes("--vary");
  AddValue(*command, "--rounds", "COUNT", flags->rounds,
           "Maximum number of rounds, from 6 to 60; each measures both sides once, in random order")
      ->capture_default_str();
  AddValue(*command, "--stop-on", "FIGURES", flags->stop_on,
           "Figures that must all be decided before the rounds may end early: their 95 % interval "
           "lies beyond --min-effect, or is no wider than it")
      ->capture_default_str();
  command->add_flag("--all-rounds", flags->all_rounds, "Measure all rounds, even if the figures are decided earlier");
  AddValue(*command, "--order-seed", "NUMBER", flags->order_seed,
           "Seed of the order within the rounds (default: random; the result names it)");
  command->add_flag(
      "--anew", flags->anew,
      "Prepare each side again in each round, in its own session (implied by --between unless --toggle is given)");
  AddValue(*command, "--between", "COMMAND", flags->between,
           "Command to run on this machine before each side of each round, without a shell; {side}, "
           "{letter} and {round} are replaced");
  AddValue(*command, "--between-limit", "TIME", flags->between_limit, "Time limit for that command")
      ->capture_default_str();
  AddValue(*command, "--toggle", "TIME", flags->toggle,
           "With --between and one plan: switch sides within one run, with steps of this length in "
           "place of --duration; the files stay in place");
  command->add_flag("--allow-commands", flags->allow_commands, "Run the command of --between on this machine");
  flags->compare.AddTo(*command);
  flags->plan = std::make_unique<PlanFlags>(*command);
  AddResultsOption(*command, flags->out);
  command->add_flag("--quiet,-q", flags->quiet, "Print no progress on standard error");
  AddAccessFlags(*command, flags->access);
  flags->plan->FindHostsBy(flags->access.launch);
  command->add_flag("--dry-run", flags->dry_run,
                    "Show hosts, directories, files and bytes of both sides; change nothing");
  command->footer(
      "Examples:\n"
      "  plimsoll ab san.yaml nfs.yaml --rounds 8\n"
      "  plimsoll ab --vary dir=/mnt/san,/mnt/nfs --hosts node[1-3] --bsize 4k,64k --duration 20\n"
      "  plimsoll ab plan.yaml --vary sync=dsync,fdatasync --fail-if-slower 10%\n"
      "  plimsoll ab --dir /mnt/mqlog --control /var/tmp --hosts node[1-3] --require p99:10ms\n"
      "  plimsoll ab plan.yaml plan.yaml --names 64k,1m --between './remount {side}' --allow-commands\n"
      "  plimsoll ab plan.yaml --names near,far --toggle 2s --between './delay {side}' --allow-commands");
  command->callback(
      [flags, &line, around] { line.action = [flags, &line, around] { return AbMain(*flags, line, around); }; });
}

}  // namespace plimsoll
