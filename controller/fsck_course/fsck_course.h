// The checks over sessions with agents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/fsck/fsck_check.h"
#include "controller/run/session_driver.h"

namespace plimsoll {

// Holds a session with every agent of the fleet, for one thread: Begin, the checks, End.
class FsckCourse final : public FsckField, private SessionCourse {
 public:
  struct Options {
    Fleet* fleet = nullptr;
    EventQueue* events = nullptr;
    const Clock* clock = nullptr;
    std::string directory;
    std::string run_id;
    // 16 random bytes.
    std::string run_token;
    int64_t lease_ns = 0;
    uint32_t files = 0;
    uint32_t processes = 0;
    // Program and arguments that provoke a failure; those that are missing are provoked by nothing. "{host}" stands for
    // the host as the operator spelled it, without the port (FillHost).
    std::map<Fault, std::vector<std::string>> commands;
    // Asks the agent at an address what it is, waiting so long at most.
    std::function<absl::StatusOr<v1::HostDescription>(const std::string& address, int64_t timeout_ns)> describe;
  };
  // What the options point to outlives the object.
  explicit FsckCourse(Options options);

  // Opens the sessions, makes sure that the hosts share the directory, and has the files made. A failure is why there
  // is nothing to check; the sessions have ended then.
  std::optional<Failure> Begin();
  // Ends the sessions. What could not be removed, a line each.
  std::vector<std::string> End();
  // Why hosts were lost, a line each.
  const std::vector<std::string>& losses() const { return losses_; }
  bool interrupted() const { return driver_.interrupted(); }
  // A second interrupt came: the sessions end by themselves.
  bool left() const { return driver_.left(); }
  const std::string& run_id() const { return options_.run_id; }

  size_t hosts() const override { return fleet_.size(); }
  const std::string& label(size_t host) const override { return fleet_.host(host).label; }
  bool SameKernel(size_t a, size_t b) const override;
  uint64_t Send(size_t host, const v1::CheckCommand& command) override;
  v1::CheckAnswer Await(uint64_t sent) override;
  void Pause(int64_t duration_ns) override;
  bool over() const override;
  bool CanProvoke(Fault fault) const override { return options_.commands.count(fault) != 0; }
  absl::Status Provoke(Fault fault, size_t host) override;
  void ExpectLoss(size_t host) override { expected_losses_.insert(fleet_.host(host).label); }
  std::string BootId(size_t host) const override { return fleet_.host(host).description->boot_id(); }
  absl::StatusOr<std::string> AwaitBoot(size_t host, int64_t limit_ns) override;
  MappedMoment ToLocal(size_t host, int64_t host_ns) const override;
  int64_t NowNs() const override { return clock_.Now().value; }

 private:
  // A command that no answer has come for.
  struct Sent {
    size_t host = 0;
    int64_t deadline_ns = 0;
  };

  void OnMessage(Host& host, v1::AgentMessage& message) override;
  void OnClosed(Host& host, const absl::Status& status) override;
  void OnLost(Host& host, const std::string& reason) override;

  // Whether nothing keeps the hosts from going on: no host is lost, and there was no interrupt.
  bool AllWell() const { return losses_.empty() && !driver_.interrupted(); }
  // Pumps until all hosts have come into the phase; false where that will not be.
  bool AwaitAll(Host::Phase phase);
  void SendAll(const v1::ControllerMessage& message, Host::Phase phase);
  // Looks for the others' directories until every host sees all, or it is certain that one does not.
  bool Look();
  Failure NotShared();
  Failure WhyEnded();
  void Lost(const Host& host, const std::string& reason);

  const Options options_;
  const Clock& clock_;
  Fleet& fleet_;
  std::map<uint64_t, Sent> sent_;
  std::map<uint64_t, v1::CheckAnswer> answers_;
  std::vector<std::string> losses_;
  std::vector<std::string> left_behind_;
  std::set<std::string> expected_losses_;
  bool denied_ = false;
  SessionDriver driver_;
};

}  // namespace plimsoll
