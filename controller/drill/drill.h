// Takes an HA drill from the first session to the last.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/units.h"
#include "controller/drill/drill_instances.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/live/live_feed.h"
#include "controller/live/run_log.h"
#include "controller/plan/ha_plan.h"
#include "controller/run/preparation.h"
#include "controller/run/process.h"
#include "controller/run/session_driver.h"
#include "plimsoll/v1/controller.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// One thread, the driver's. Prepares every host, starts the active instance of each queue manager, then the standby
// one; each round waits until all of them are there and write, causes one fault at a random or a given moment, waits
// for the takeover, takes the fault back and starts the instance that is missing, so that the roles alternate. At the
// end all instances end in order, every log is scanned, and the files go.
//
// A host that the fault of the round takes away is not lost: its session is opened again until it is back. Every other
// loss ends the drill. What was begun is taken back in any case but a second interrupt.
class Drill final : private SessionCourse {
 public:
  struct Options {
    // Checked, every default filled in, with a seed.
    v1::TestPlan plan;
    std::vector<v1::HostPlan> host_plans;  // by host
    // What the journal records of the controller.
    v1::ControllerFacts controller;
    Fleet* fleet = nullptr;
    EventQueue* events = nullptr;
    const Clock* clock = nullptr;
    RunLog* log = nullptr;
    LiveFeed* feed = nullptr;
    CommandRunner* commands = nullptr;
    // Is given a line for each thing of note that happens.
    std::function<void(const std::string& line)> say;
  };

  explicit Drill(Options options);

  // Runs to the end. A failure means that nothing was drilled; without one there is something to report.
  std::optional<Failure> Run();
  // A second interrupt: the caller leaves at once. The instances end when their leases run out.
  bool left() const { return driver_.left(); }
  // Hosts whose files could not be removed by themselves: they are not there any more.
  std::vector<size_t> AbsentHosts() const;

 private:
  using Instance = DrillInstances::Instance;
  struct QueueManager {
    uint32_t number = 0;
    size_t pair = 0;
    Instance* active = nullptr;
    Instance* standby = nullptr;
  };

  // An instance that was ordered to end, or killed, is gone by then, unless its host's storage hangs.
  static constexpr int64_t kEndLimitNs = 30 * kNsPerSecond;

  // What the driver reports of the sessions.
  void OnMessage(Host& host, v1::AgentMessage& message) override;
  void OnProbes(Host& host, v1::ProbeBatch& probes) override;
  void OnClosed(Host& host, const absl::Status& status) override;
  void OnLost(Host& host, const std::string& reason) override;
  std::string Awaited(const Host& host, MonotonicNs now) const override;
  bool Full() override;
  void Note(const std::string& text) override { log_.Note(text); }
  MonotonicNs next_update() const override;
  void Update(MonotonicNs now) override;

  void OnPreparedAgain(Host& host);
  // Contact with the host is lost, and the fault of the round accounts for that.
  bool MayBeAway(const Host& host) const;
  void SetAway(Host& host, const std::string& reason);

  // Checks that the two hosts of each pair see what the other one made.
  std::optional<Failure> CheckPairs() const;
  // Every active instance, then every standby one. Empty: all are there; else what is wrong.
  std::string StartAll();
  std::string RunRound(uint32_t round);
  // When the fault of the round comes, from when all pairs are ready.
  int64_t NextMomentNs();
  // The round's fault, the takeover or what takes its place, and taking the fault back. Empty: it went its way.
  std::string CauseFault(uint32_t round, v1::HaFaultKind fault, const std::vector<QueueManager*>& victims);
  std::string RunHang(const std::vector<QueueManager*>& victims);
  // Swaps roles, sees the old instances end, and starts those that are missing.
  std::string Restore(v1::HaFaultKind fault, const std::vector<QueueManager*>& victims);
  // Until every queue manager has an active instance that writes and a standby one that waits.
  std::string AwaitReady();
  // An instance that ended, or got the lock, although no fault is on; empty: there is none.
  std::string WhyUnready() const;
  // As WhyUnready, or why the drill must end, once what is on its way has arrived.
  std::string Unready();
  // A standby instance got the lock; and of an active one that has not ended.
  bool AnyTookOver() const;
  bool GrantedTwice() const;
  // Ends every instance in order, and scans every log.
  void EndAll();
  void ScanAll();
  void ReleaseAll();

  // Runs a command to its end, with {host} filled in. Empty: it succeeded.
  std::string RunCommand(uint32_t round, bool undo, const std::vector<std::string>& arguments,
                         const std::string& address);

  // Until the condition holds, at most for so long; false: it does not hold. Ends early when the drill must end.
  bool AwaitFor(int64_t limit_ns, const std::function<bool()>& condition);
  // Why the drill must end now; empty: it need not.
  std::string MustEnd() const;
  size_t Partner(const QueueManager& qm, size_t host) const;

  const Options options_;
  const Clock& clock_;
  Fleet& fleet_;
  RunLog& log_;
  SessionDriver driver_;
  Preparation preparation_;
  DrillInstances instances_;
  const std::vector<HaPair> pairs_;
  std::mt19937_64 random_;
  std::vector<QueueManager> queue_managers_;
  // The round's victim, which a command may take away.
  std::optional<size_t> victim_;
  std::set<size_t> away_;
  MonotonicNs next_try_;
  bool scanning_ = false;
  bool prepared_ = false;
  // A host was lost, or failed, that had no reason to.
  std::string fatal_;
  std::string cut_short_;
};

}  // namespace plimsoll
