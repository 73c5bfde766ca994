#include "controller/app/protection.h"

#include <algorithm>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/live/live_feed.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/report/watched.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

// How long preparing and cleaning up may take, before the watch ends by itself.
constexpr int64_t kBesideStepsNs = 15 * 60 * kNsPerSecond;
// Interval of the lines of the watch, which are not shown.
constexpr int64_t kLineNs = 60 * kNsPerSecond;
constexpr int64_t kPeriodNs = 250 * kNsPerMs;

std::string Milliseconds(double ns) {
  return absl::StrFormat("%.3f ms", ns / static_cast<double>(kNsPerMs));
}

// The plan of the watch.
v1::TestPlan WatchPlanOf(const v1::TestPlan& run, int64_t length_ns) {
  v1::TestPlan plan;
  const auto [host, qm, log_dir] = ProtectedLogOf(run.protect());
  plan.mutable_watch()->add_queue_managers(log_dir.empty() ? qm : "protected");
  if (!log_dir.empty()) plan.mutable_watch()->set_log_dir(log_dir);
  // The host's own may be written in another way.
  const absl::StatusOr<std::vector<std::string>> named = ParseHostList(host);
  for (const v1::HostSpec& each : run.hosts()) {
    if (host.empty() || (named.ok() && each.address() == named->front())) plan.add_hosts()->set_address(each.address());
  }
  plan.set_duration_ns(SlowdownRule::kBaselineSeconds * kNsPerSecond + length_ns + kBesideStepsNs);
  plan.set_warmup_ns(0);
  plan.set_trace(v1::TOGGLE_OFF);
  plan.set_lease_ns(run.lease_ns());
  plan.set_max_slew_ppm(run.max_slew_ppm());
  plan.set_name(absl::StrCat("Protected: ", run.protect()));
  FillDefaults(plan);
  return plan;
}

}  // namespace

void SlowdownRule::Add(const ProtectedSecond& second) {
  const auto add = [&second](ProtectedSecond& sum) {
    sum.writes += second.writes;
    sum.latency_sum_ns += second.latency_sum_ns;
  };
  if (seen_++ < kBaselineSeconds) return add(baseline_);
  add(since_);
  recent_.push_back(second);
  if (recent_.size() > kRecentSeconds) recent_.pop_front();
  recent_sum_ = {};
  for (const ProtectedSecond& each : recent_) {
    recent_sum_.writes += each.writes;
    recent_sum_.latency_sum_ns += each.latency_sum_ns;
  }
  worst_ns_ = std::max(worst_ns_, recent_ns());
}

// Takes the seconds of the watch.
class Protection::Seconds final : public LiveObserver {
 public:
  explicit Seconds(Protection& owner) : owner_(owner) {}

  LiveWant Wants(LivePhase /*phase*/) const override { return {kPeriodNs, LiveNeed::kFigures}; }
  void OnMoment(const std::shared_ptr<const LiveMoment>& moment) override {
    if (moment->phase != LivePhase::kRunning) return;
    MutexLock lock(owner_.mutex_);
    for (const LiveSecond& second : moment->view.seconds) {
      if (second.number <= last_second_) continue;
      last_second_ = second.number;
      ProtectedSecond taken{second.cluster.writes, second.cluster.avg_ns * static_cast<double>(second.cluster.writes)};
      // Beside what other hosts write, too: a log that hangs must not hide behind them.
      if (second.idle_waiting_ns > 0) {
        ++taken.writes;
        taken.latency_sum_ns += static_cast<double>(second.idle_waiting_ns);
      }
      owner_.rule_.Add(taken);
      owner_.last_ = moment->now;
      owner_.changed_.NotifyAll();
    }
  }

 private:
  Protection& owner_;
  int64_t last_second_ = -1;
};

Protection::Protection(Options options)
    : options_(std::move(options)),
      name_(options_.plan.protect()),
      factor_(ProtectFactor(options_.plan)),
      events_(*options_.around.clock),
      rule_(factor_),
      last_(options_.around.clock->Now()) {
  beside_.run_id = NewRunId();
  beside_.own_key = NewRunToken();
  thread_ = std::thread([this] { Run(); });
}

Protection::~Protection() {
  events_.Interrupt();
  thread_.join();
}

void Protection::Run() {
  PlanRun how;
  how.out = options_.out;
  how.quiet = true;
  how.interval_ns = kLineNs;
  how.beside = beside_;
  how.events = &events_;
  how.end = &end_;
  how.views.push_back(std::make_shared<Seconds>(*this));
  // Interrupts come from the run that is guarded.
  RunSurroundings around = options_.around;
  around.catches_signals = false;
  Console console{report_, errors_};
  const int code =
      RunWatch(WatchPlanOf(options_.plan, options_.length_ns), how, options_.access, console, around, nullptr);
  MutexLock lock(mutex_);
  code_ = code;
  over_ = true;
  changed_.NotifyAll();
}

std::variant<Failure, std::unique_ptr<Protection>> Protection::Start(Options options) {
  std::unique_ptr<Protection> protection(new Protection(std::move(options)));
  if (std::optional<Failure> failure = protection->AwaitBaseline()) return *std::move(failure);
  return protection;
}

std::optional<Failure> Protection::AwaitBaseline() {
  const std::string context = absl::StrCat("--protect ", name_, ": ");
  MutexLock lock(mutex_);
  while (!over_ && !rule_.has_baseline()) {
    options_.around.clock->WaitUntil(mutex_, changed_, options_.around.clock->Now() + kNsPerSecond);
  }
  if (over_) {
    Failure failure{code_ == static_cast<int>(Exit::kWrong) ? Exit::kWrong : Exit::kCannotRun, {}};
    for (const std::string& error : end_.errors) failure.lines.push_back(context + error);
    if (failure.lines.empty()) failure.lines.push_back(context + "the watch ended before it had seen anything");
    return failure;
  }
  if (rule_.baseline_ns() > 0) return std::nullopt;
  return Failure{Exit::kCannotRun,
                 {absl::StrCat(context, "it wrote nothing to its log in ", SlowdownRule::kBaselineSeconds,
                               " s, so that there is nothing to compare with: run while it works, or leave it out")}};
}

std::string Protection::MustStop(MonotonicNs now) const {
  MutexLock lock(mutex_);
  const std::string context = absl::StrCat("--protect ", name_, ": ");
  if (rule_.slowed()) {
    return absl::StrCat(context, "its log writes took ", Milliseconds(rule_.recent_ns()), " on average in ",
                        SlowdownRule::kRecentSeconds, " s, more than ", FormatTargetRate(factor_), " times the ",
                        Milliseconds(rule_.baseline_ns()), " of before the run");
  }
  if (over_) return absl::StrCat(context, "the watch ended: ", end_.ErrorText());
  if (now - last_ > kGuardBlindNs) {
    return absl::StrCat(context, "nothing was seen of it for more than ", FormatReadableDuration(kGuardBlindNs));
  }
  return "";
}

std::string Protection::BaselineText() const {
  MutexLock lock(mutex_);
  return absl::StrCat(name_, ": its log writes took ", Milliseconds(rule_.baseline_ns()), " on average in the ",
                      SlowdownRule::kBaselineSeconds, " s before the run, which ends if they take more than ",
                      FormatTargetRate(factor_), " times as long");
}

std::string Protection::SummaryText() const {
  MutexLock lock(mutex_);
  return absl::StrCat("Protected ", name_, ": its log writes took ", Milliseconds(rule_.baseline_ns()),
                      " on average in the ", SlowdownRule::kBaselineSeconds, " s before the run, ",
                      Milliseconds(rule_.since_ns()), " since, and up to ", Milliseconds(rule_.worst_ns()), " in ",
                      SlowdownRule::kRecentSeconds, " s.");
}

std::shared_ptr<RunGuard> WithProtection(std::shared_ptr<RunGuard> guard, Protection& protection) {
  if (guard == nullptr) guard = std::make_shared<RunGuard>(std::vector<AbortCondition>(), std::nullopt);
  guard->Ask([&protection](MonotonicNs now) { return protection.MustStop(now); });
  guard->Tell([&protection] { return protection.SummaryText(); });
  return guard;
}

int RunProtected(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
                 const RunSurroundings& around) {
  auto started = Protection::Start({.plan = plan,
                                    .access = access,
                                    .around = around,
                                    .length_ns = WritingTimeOf(plan).ns + plan.settle_ns(),
                                    .out = how.out.empty() ? "" : absl::StrCat(how.out, "-protected")});
  if (const Failure* const failure = std::get_if<Failure>(&started)) {
    if (how.end != nullptr) how.end->errors = failure->lines;
    return PrintFailure(console, *failure);
  }
  Protection& protection = *std::get<std::unique_ptr<Protection>>(started);
  PlanRun guarded = how;
  guarded.protection = &protection;
  guarded.beside = protection.ForRun();
  return RunPlan(plan, guarded, access, console, around);
}

}  // namespace plimsoll
