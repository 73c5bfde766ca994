// What a journal tells of a host, apart from what it measured.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Writers that a host can have at most, as plan.proto says.
inline constexpr uint32_t kMaxQms = 4096;

struct HostFacts {
  v1::HostJoined joined;
  std::optional<v1::Prepared> prepared;
  // When and why it was lost.
  std::optional<v1::HostLost> lost;
  int64_t lost_at_ns = 0;
  struct Fault {
    int64_t at_ns = 0;
    v1::HostFault fault;
  };
  std::vector<Fault> faults;
  // From 1; 0: not known.
  uint32_t storage = 0;

  const std::string& label() const { return joined.label(); }
  const v1::LogWorkload& workload() const { return joined.plan().log().workload(); }
  uint32_t qms() const;
  // Asked writes per second of each writer; 0: closed loop.
  double rate_per_second() const;
  // Whether its writers start their first writes at moments of their own, with a rate. Plans that do not say start all
  // at once.
  bool spreads_starts() const {
    return rate_per_second() > 0 &&
           (workload().arrival() == v1::ARRIVAL_EVEN || workload().arrival() == v1::ARRIVAL_POISSON);
  }
  // Whether the writes of a rate start at random.
  bool random_arrivals() const { return workload().arrival() == v1::ARRIVAL_POISSON; }
};

// By number of the host.
using HostTable = std::map<uint32_t, HostFacts>;

// The report's lines about a host, without its clock, its loss and its faults.
v1::HostReport MakeHostReport(const HostFacts& facts);

// Groups hosts that see one another's run directories, and sets each host's storage. Hosts that are not prepared have
// none. Storages are numbered in the order of their first host.
std::vector<v1::StorageReport> GroupStorages(HostTable& hosts);

}  // namespace plimsoll
