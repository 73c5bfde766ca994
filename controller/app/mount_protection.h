// A mount that a run must not slow down, by what the hosts' kernels count of all writes to it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/app/agents.h"
#include "controller/app/protection.h"

namespace plimsoll {

// Asks agents for the mount's counters once a second, over connections of its own and without a session. Refuses a
// mount to which the runs write themselves, because their writes are in its counters, and runs on devices by name.
class MountProtection final : public Protection {
 public:
  // Begins to ask.
  explicit MountProtection(Options options);
  ~MountProtection() override;

 private:
  // A guarded host.
  struct Guarded {
    size_t host = 0;
    v1::MountCounters first;
  };

  void Run();
  // Reaches the agents and finds those whose hosts have the mount.
  std::optional<Failure> Connect(LaunchedAgents& agents);
  // Why none of the hosts that were asked first can be guarded, or one of them cannot; else they are in guarded_.
  std::optional<Failure> TakeFirst(Fleet& fleet, const std::vector<v1::HostDescription>& described);
  // The counters of the guarded hosts. UNAVAILABLE where one does not answer.
  absl::StatusOr<std::vector<v1::MountCounters>> Read(Fleet& fleet) const;

  const Options options_;
  const std::string mount_point_;
  EventQueue events_;
  // The thread's.
  std::vector<Guarded> guarded_;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace plimsoll
