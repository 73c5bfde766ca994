#include "controller/app/watch_protection.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

// The plan of the watch.
v1::TestPlan WatchPlanOf(const v1::TestPlan& run, int64_t length_ns) {
  v1::TestPlan plan;
  const auto [host, qm, log_dir, mount_point] = ProtectedOf(run.protect());
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

// Takes the seconds of the watch.
class WatchProtection::Seconds final : public LiveObserver {
 public:
  explicit Seconds(WatchProtection& owner) : owner_(owner) {}

  LiveWant Wants(LivePhase /*phase*/) const override { return {kPeriodNs, LiveNeed::kFigures}; }
  void OnMoment(const std::shared_ptr<const LiveMoment>& moment) override {
    if (moment->phase != LivePhase::kRunning) return;
    for (const LiveSecond& second : moment->view.seconds) {
      if (second.number <= last_second_) continue;
      last_second_ = second.number;
      if (!second.missing_host.empty()) {
        owner_.Miss(second.missing_host, moment->now);
        continue;
      }
      ProtectedSecond taken{second.cluster.writes, second.cluster.avg_ns * static_cast<double>(second.cluster.writes)};
      // Beside what other hosts write, too: a log that hangs must not hide behind them.
      if (second.idle_waiting_ns > 0) {
        ++taken.writes;
        taken.latency_sum_ns += static_cast<double>(second.idle_waiting_ns);
      }
      owner_.Add(taken, moment->now);
    }
  }

 private:
  WatchProtection& owner_;
  int64_t last_second_ = -1;
};

WatchProtection::WatchProtection(Options options)
    : Protection(options.plans.front(), *options.around.clock, {"its log writes", "it wrote nothing to its log"}),
      options_(std::move(options)),
      events_(clock_) {
  beside_.run_id = NewRunId();
  beside_.own_key = NewRunToken();
  thread_ = std::thread([this] { Run(); });
}

WatchProtection::~WatchProtection() {
  events_.Interrupt();
  thread_.join();
}

void WatchProtection::Run() {
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
      RunWatch(WatchPlanOf(options_.plans.front(), options_.length_ns), how, options_.access, console, around, nullptr);
  Failure failure{code == static_cast<int>(Exit::kWrong) ? Exit::kWrong : Exit::kCannotRun, end_.errors};
  if (failure.lines.empty()) failure.lines.emplace_back("the watch ended before it had seen anything");
  EndWith(std::move(failure), absl::StrCat("the watch ended: ", end_.ErrorText()));
}

}  // namespace plimsoll
