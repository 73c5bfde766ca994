// The instances of a drill's queue managers: what they were ordered to do, and what their hosts report of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/clock.h"
#include "controller/fleet/fleet.h"
#include "controller/live/run_log.h"
#include "controller/run/session_driver.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Orders to a host that is not ready go nowhere. One thread, the driver's.
class DrillInstances {
 public:
  // An instance, as far as its host reported it.
  struct Instance {
    uint32_t number = 0;
    uint32_t qm = 0;
    size_t host = 0;
    bool waits = false;    // has the lock `standby`
    bool granted = false;  // has, or had, the lock `active`
    bool writes = false;   // its first write is durable
    bool ended = false;
    std::string end_text;
    MonotonicNs last_write;  // when its last ledger entry came
  };

  // Fleet, driver and log outlive the object.
  DrillInstances(Fleet* fleet, SessionDriver* driver, RunLog* log) : fleet_(*fleet), driver_(*driver), log_(*log) {}

  // Has the host start an instance of the queue manager, or one that only scans its log. The result lives as long as
  // this object.
  Instance* Start(uint32_t qm, size_t host);
  Instance* Scan(uint32_t qm, size_t host);
  void End(const Instance& instance);
  void Kill(const Instance& instance);
  // Suspends its process, and resumes it.
  void Hang(const Instance& instance);
  void Resume(const Instance& instance);
  // Ends whatever is still there on the host.
  void Finish(size_t host);

  // What a host sent.
  void OnEvents(const Host& host, const v1::HaEvents& events);
  // A host refused an order: the instance that it was to start is none.
  void OnRefused(const Host& host, const v1::CommandDone& done);
  // The host's earlier session is over, and with that session's lease its instances.
  void OnSessionOver(const Host& host);

  // Whether one of them on the host has not ended; whether all have ended, but for those whose hosts are not there.
  bool AnyOn(size_t host) const;
  bool AllOver() const;
  // Whether the host is in session and ready for orders.
  bool IsThere(size_t host) const { return fleet_.host(host).phase == Host::Phase::kReady; }
  // "instance 3 of qm1 on alpha".
  std::string NameOf(const Instance& instance) const;

 private:
  // `kind` makes the order, which names the instance.
  template <typename T>
  Instance* Add(uint32_t qm, size_t host, T* (v1::HaCommand::*kind)());
  template <typename T>
  void Send(const Instance& instance, T* (v1::HaCommand::*kind)());
  void Order(size_t host, v1::HaCommand order);

  Fleet& fleet_;
  SessionDriver& driver_;
  RunLog& log_;
  std::map<uint32_t, Instance> instances_;
  // Orders that start an instance or a scan, by host and number of the command.
  std::map<std::pair<size_t, uint64_t>, uint32_t> starts_;
};

}  // namespace plimsoll
