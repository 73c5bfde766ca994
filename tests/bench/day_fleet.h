// A fleet of agents for one day, in this process and in virtual time: the controller's way to each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/fleet/agent_client.h"
#include "tests/bench/day_load.h"
#include "tests/bench/day_writer.h"
#include "tests/direct_agent.h"
#include "tests/virtual_clock.h"

namespace plimsoll::tests {

// What a host has done, which outlives the run.
struct DayHostRecord {
  // Its clock, and when its step began on it; 0: it did not.
  std::unique_ptr<DriftingClock> clock;
  int64_t start_ns = 0;
  // Seconds of its step whose frames were sent, and what they hold by writer.
  int64_t sent_s = 0;
  std::vector<v1::WriterTotals> totals;
};

// Makes the clients of all agents of the day. Everything happens on the world's thread.
class DayFleet {
 public:
  // `world` and `load` outlive the object.
  DayFleet(VirtualClock& world, const DayLoad& load);

  const DayLoad& load() const { return load_; }
  VirtualClock& world() { return world_; }
  // Addresses of the hosts, in their order.
  const std::vector<std::string>& addresses() const { return addresses_; }
  std::unique_ptr<AgentClient> MakeClient(const std::string& address, AgentListener& listener);

  const std::vector<DayHostRecord>& hosts() const { return hosts_; }
  DayHostRecord& host(uint32_t number) { return hosts_[number]; }
  // Frames sent, over all hosts.
  uint64_t frames() const { return frames_; }
  // Called when the last host has released what it held.
  void OnReleased(std::function<void()> call) { on_released_ = std::move(call); }
  // Called after each minute of the step, with its number, from 1.
  void OnMinute(std::function<void(int64_t minute)> call) { on_minute_ = std::move(call); }

  // The stalls of a writer, on its host's clock from its step's start; of a host whose step has begun.
  std::vector<DayWriter::Stall> StallsOf(uint32_t host, uint32_t qm) const;

 private:
  friend class DayAgent;

  // A host was armed for that start, in the world's time.
  void Began(MonotonicNs start);
  void Released();

  VirtualClock& world_;
  const DayLoad& load_;
  std::vector<std::string> addresses_;
  std::map<std::string, uint32_t> number_of_;
  std::vector<DayHostRecord> hosts_;
  uint64_t frames_ = 0;
  bool begun_ = false;
  uint32_t released_ = 0;
  std::function<void()> on_released_ = [] {};
  std::function<void(int64_t)> on_minute_ = [](int64_t /*minute*/) {};
};

}  // namespace plimsoll::tests
