// What hosts read back of their files once the disturbances of a step are over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "controller/fleet/fleet.h"
#include "controller/live/run_log.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

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
