// What hosts read back of their files once the disturbances of a step are over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "controller/fleet/fleet.h"
#include "controller/live/run_log.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The rate at which a host is assumed to read its logs back before the run knows how fast its storage is.
inline constexpr uint64_t kAssumedReadBytesPerSecond = 100'000'000;
// How long hosts with these workloads take at that rate to read all blocks of their logs, all hosts at once.
int64_t ReadBackReserveNs(const std::vector<v1::LogWorkload>& workloads);

// Keeps track of the hosts that were given the command, and puts their answers into the journal. One thread.
class ReadBacks {
 public:
  // `log` outlives the object.
  explicit ReadBacks(RunLog* log) : log_(*log) {}

  // The host was given the command with this number.
  void Expect(const Host& host, uint64_t command_id) { awaited_[host.index] = command_id; }
  bool Awaits(const Host& host) const { return awaited_.contains(host.index); }
  // Waits for no further answer.
  void Forget() { awaited_.clear(); }
  // Whether each host has answered, or is lost.
  bool done() const { return awaited_.empty(); }

  // Takes one answer of each host, and none that nothing waits for.
  void OnReadBack(const Host& host, v1::ReadBackDone& done);
  // A refusal is an answer. Of another command: does nothing.
  void OnCommandDone(const Host& host, const v1::CommandDone& done);
  void OnLost(const Host& host) { awaited_.erase(host.index); }

 private:
  RunLog& log_;
  // Number of the command, by host.
  std::map<size_t, uint64_t> awaited_;
};

}  // namespace plimsoll
