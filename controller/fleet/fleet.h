// The hosts of a run, as the controller knows them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/clock_fit.h"
#include "common/kernel_clock.h"
#include "common/protocol.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/exit_code.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// One host. Touched by the coordinating thread only.
struct Host {
  // Phase of its session. kPlacing: it makes its directory; kPlaced: it has, and the others are awaited; kLooking: it
  // looks for theirs; kFilling: it makes its files; kReady: it does what the course orders.
  enum class Phase { kKnown, kPlacing, kPlaced, kLooking, kFilling, kReady, kReleasing, kGone, kLost };

  size_t index = 0;
  std::string address;
  // Unique in the run; the agent's name unless two have the same.
  std::string label;
  v1::AgentLaunch launch = v1::AGENT_LAUNCH_UNSPECIFIED;
  // What starts the agent again, as the journal has it.
  std::vector<std::string> launch_words = {};
  // The node of its pod, as the journal has it.
  std::string node = {};
  // In a placement, the names of its queue managers, by number; else empty.
  std::vector<std::string> qm_names = {};
  // "node1/qm2", or "node1/PAYMENTS" in a placement.
  std::string WriterName(uint32_t qm) const;

  std::unique_ptr<AgentListener> listener;
  std::unique_ptr<AgentClient> client;

  absl::StatusOr<v1::HostDescription> description = absl::UnknownError("not asked");
  bool described = false;
  // In how many directories it writes: the first so many of its description.
  size_t directories = 1;
  ClockFit clock{500};
  // It reads this process' clock (HostJoined.same_clock).
  bool same_clock = false;
  bool probing = false;
  MonotonicNs last_probed;          // when the newest of the probes that were answered was sent
  int64_t worst_round_trip_ns = 0;  // of the last burst's best half
  int64_t wall_difference_ns = 0;   // the host's wall clock minus ours, at the last probe

  Phase phase = Phase::kKnown;
  MonotonicNs last_message;
  // The last heartbeat that the agent is known to have received. What it sends may arrive while what is sent to it does
  // not.
  uint64_t answered_heartbeat = 0;
  // When the controller began to wait for it, where it does; when it last reported progress, and how far it was.
  std::optional<MonotonicNs> awaited_since;
  MonotonicNs last_progress;
  uint64_t progress = 0;
  // Parts of a recording that were given to its client and have not left this process.
  size_t unsent_chunks = 0;
  // What it last saw of the others and of the space.
  std::optional<v1::Placed> placed;
  uint64_t prepare_done_bytes = 0;
  uint64_t prepare_total_bytes = 0;
  // The first fault that it reported; its writers have stopped.
  std::optional<v1::Fault> fault;
  std::optional<v1::Released> released;
  std::vector<v1::InFlight> in_flight;  // long ones, as of the last Alive

  bool lost() const { return phase == Phase::kLost; }
  // As the journal has it, with its part of the plan.
  v1::HostJoined Joined(const v1::HostPlan& plan) const;
  // Its session is open, as far as is known.
  bool in_session() const { return phase != Phase::kKnown && phase != Phase::kGone && phase != Phase::kLost; }
};

// Makes the clients, asks them all at once, and keeps what they answer. One thread; events come through the queue.
class Fleet {
 public:
  // `directories[i]` is what host i is asked about. `clock` and `events` outlive the fleet.
  Fleet(const std::vector<std::string>& addresses, double max_slew_ppm, const AgentClientFactory& make_client,
        const Clock& clock, EventQueue& events);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  std::vector<std::unique_ptr<Host>>& hosts() { return hosts_; }
  size_t size() const { return hosts_.size(); }
  Host& host(size_t index) { return *hosts_[index]; }

  // Looks for live queue managers on every file system of the hosts' directories, asking one host for each that a
  // kernel mounts, about all of its directories. Waits at most `timeout_ns`; what is found goes into Host::description.
  void FindQueueManagers(int64_t timeout_ns);
  // Asks every host for its facts, waiting at most `timeout_ns`. What failed is in Host::description.
  // Returns early on an interrupt.
  // `files[i]` are the files that host i is asked about, too; empty: none are asked about.
  void DescribeAll(const std::vector<std::vector<std::string>>& directories, int64_t timeout_ns,
                   const std::vector<std::vector<std::string>>& files = {});
  // Asks every host for the run directories in `directory`, waiting at most `timeout_ns`; otherwise as DescribeAll.
  void ListRunDirectories(const std::string& directory, int64_t timeout_ns);
  // Asks these hosts, by number, for the kernel's counters of the mount on `mount_point`, waiting at most `timeout_ns`.
  // The answers take the place of the descriptions. Returns early on an interrupt.
  void ReadMountCounters(const std::vector<size_t>& hosts, const std::string& mount_point, int64_t timeout_ns);
  // A burst of probes to every host that is not lost, waiting for all answers, at most `timeout_ns`.
  void ProbeAll(int count, int64_t timeout_ns);

  // Takes in a description or probes; false for any other event.
  bool Absorb(Event& event);
  // Adds the probes to the host's clock fit.
  void AbsorbProbes(Host& host, const v1::ProbeBatch& probes);

 private:
  // Until every host that was asked has answered, or an interrupt came.
  void AwaitDescriptions(int64_t timeout_ns);

  const Clock& clock_;
  EventQueue& events_;
  const KernelClock own_clock_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

// Gives every host a label: its agent's name, made plain and unique ("alpha", "alpha-2").
void LabelHosts(std::vector<std::unique_ptr<Host>>& hosts);

}  // namespace plimsoll
