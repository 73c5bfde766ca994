#include "controller/app/protection.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/app/mount_protection.h"
#include "controller/app/run_length.h"
#include "controller/app/watch_protection.h"
#include "controller/report/watched.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

std::string Milliseconds(double ns) {
  return absl::StrFormat("%.3f ms", ns / static_cast<double>(kNsPerMs));
}

}  // namespace

Protection::Protection(const v1::TestPlan& plan, const Clock& clock, Words words)
    : clock_(clock),
      name_(plan.protect()),
      context_(absl::StrCat("--protect ", name_, ": ")),
      factor_(ProtectFactor(plan)),
      words_(std::move(words)),
      rule_(factor_),
      last_(clock.Now()) {}

std::variant<Failure, std::unique_ptr<Protection>> Protection::Start(const Options& options) {
  EventQueue own(*options.around.clock);
  EventQueue& events = options.events != nullptr ? *options.events : own;
  // Before the threads of the protection, which inherit the blocked signals.
  std::optional<Interrupts> interrupts;
  if (options.around.catches_signals) interrupts.emplace(events);
  std::unique_ptr<Protection> protection;
  if (ProtectsMount(options.plans.front())) {
    protection = std::make_unique<MountProtection>(options);
  } else {
    protection = std::make_unique<WatchProtection>(options);
  }
  if (std::optional<Failure> failure = protection->AwaitBaseline(events)) return *std::move(failure);
  return protection;
}

void Protection::Begin(const std::string& where, double error_ns) {
  MutexLock lock(mutex_);
  where_ = where;
  rule_ = SlowdownRule(factor_, error_ns);
}

void Protection::Add(const ProtectedSecond& second, MonotonicNs now) {
  MutexLock lock(mutex_);
  // A run may ask again only after what was wrong is over.
  if (stop_.empty() && rule_.has_baseline()) stop_ = ReasonNow(now);
  rule_.Add(second);
  last_ = now;
  began_ = true;
  missing_host_.clear();
  if (stop_.empty()) stop_ = ReasonNow(now);
  changed_.NotifyAll();
}

void Protection::Miss(const std::string& host, MonotonicNs now) {
  MutexLock lock(mutex_);
  if (!began_) last_ = now;
  began_ = true;
  missing_host_ = host;
}

void Protection::EndWith(Failure failure, const std::string& reason) {
  MutexLock lock(mutex_);
  over_ = std::move(failure);
  reason_ = reason;
  changed_.NotifyAll();
}

bool Protection::IsBlind(MonotonicNs now) const {
  return now - last_ > kGuardBlindNs;
}

std::string Protection::BlindText() const {
  return absl::StrCat("nothing was seen of it ", missing_host_.empty() ? "" : absl::StrCat("on ", missing_host_, " "),
                      "for more than ", FormatReadableDuration(kGuardBlindNs));
}

std::optional<Failure> Protection::AwaitBaseline(const EventQueue& events) {
  // How often it looks for an interrupt.
  constexpr int64_t kLookNs = 100 * kNsPerMs;
  MutexLock lock(mutex_);
  while (!over_.has_value() && !rule_.has_baseline() && events.interrupts() == 0) {
    // Until the first second the agents are reached, which has limits of its own.
    if (began_ && IsBlind(clock_.Now())) return Failure{Exit::kCannotRun, {context_ + BlindText()}};
    clock_.WaitUntil(mutex_, changed_, clock_.Now() + kLookNs);
  }
  if (events.interrupts() > 0) return Failure{Exit::kInconclusive, {"interrupted: nothing was measured"}};
  if (over_.has_value()) {
    Failure failure = *over_;
    for (std::string& line : failure.lines) line.insert(0, context_);
    return failure;
  }
  if (rule_.can_compare()) return std::nullopt;
  const std::string why =
      rule_.baseline_writes() == 0
          ? absl::StrCat(words_.nothing, " in ", SlowdownRule::kBaselineSeconds,
                         " s, so that there is nothing to compare with: run while it works, or leave it out")
          : absl::StrCat("the ", rule_.baseline_writes(), " writes of ", SlowdownRule::kBaselineSeconds, " s took ",
                         Milliseconds(rule_.baseline_sum_ns()),
                         " together, too little for the kernel's counters of whole milliseconds: run while more is "
                         "written, or protect the queue manager itself (--protect QM)");
  return Failure{Exit::kCannotRun, {context_ + why}};
}

std::string Protection::Name() const {
  return where_.empty() ? name_ : absl::StrCat(name_, " (", where_, ")");
}

std::string Protection::Before() const {
  return absl::StrCat(words_.writes, " took ", Milliseconds(rule_.baseline_ns()), " on average in the ",
                      SlowdownRule::kBaselineSeconds, " s before the run");
}

std::string Protection::MustStop(MonotonicNs now) const {
  MutexLock lock(mutex_);
  return stop_.empty() ? ReasonNow(now) : stop_;
}

std::string Protection::ReasonNow(MonotonicNs now) const {
  if (rule_.slowed()) {
    return absl::StrCat(context_, words_.writes, " took ", Milliseconds(rule_.recent_ns()), " on average in ",
                        SlowdownRule::kRecentSeconds, " s, more than ", FormatTargetRate(factor_), " times the ",
                        Milliseconds(rule_.baseline_ns()), " of before the run");
  }
  if (over_.has_value()) return context_ + reason_;
  return IsBlind(now) ? context_ + BlindText() : "";
}

std::string Protection::BaselineText() const {
  MutexLock lock(mutex_);
  return absl::StrCat(Name(), ": ", Before(), ", which ends if they take more than ", FormatTargetRate(factor_),
                      " times as long");
}

std::string Protection::SummaryText() const {
  MutexLock lock(mutex_);
  return absl::StrCat("Protected ", Name(), ": ", Before(), ", ", Milliseconds(rule_.since_ns()), " since, and up to ",
                      Milliseconds(rule_.worst_ns()), " in ", SlowdownRule::kRecentSeconds, " s.");
}

std::shared_ptr<RunGuard> WithProtection(std::shared_ptr<RunGuard> guard, Protection& protection) {
  if (guard == nullptr) guard = std::make_shared<RunGuard>(std::vector<AbortCondition>(), std::nullopt);
  guard->Ask([&protection](MonotonicNs now) { return protection.MustStop(now); });
  guard->Tell([&protection] { return protection.SummaryText(); });
  return guard;
}

int RunProtected(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
                 const RunSurroundings& around) {
  auto started = Protection::Start({.plans = {plan},
                                    .access = access,
                                    .around = around,
                                    .length_ns = RunLengthNs(plan),
                                    .out = how.out.empty() ? "" : absl::StrCat(how.out, "-protected"),
                                    .events = how.events});
  if (const Failure* const failure = std::get_if<Failure>(&started)) {
    if (how.end != nullptr) {
      how.end->errors = failure->lines;
      how.end->interrupted = failure->code == Exit::kInconclusive;
    }
    return PrintFailure(console, *failure);
  }
  Protection& protection = *std::get<std::unique_ptr<Protection>>(started);
  PlanRun guarded = how;
  guarded.protection = &protection;
  guarded.beside = protection.ForRun();
  return RunPlan(plan, guarded, access, console, around);
}

}  // namespace plimsoll
