// What is known of a host: its facts and its storage, what measuring cost it, and what its kernel reports of the
// storage below.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/protocol.h"
#include "google/protobuf/message.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The smallest and the largest of a writer's blocks.
struct BlockRange {
  uint64_t least = 0;
  uint64_t most = 0;
};

// Writers that a host can have at most, as in plan.proto.
inline constexpr uint32_t kMaxQms = 4096;

struct HostFacts {
  v1::HostJoined joined;
  std::optional<v1::Prepared> prepared;
  // When and why it was lost.
  std::optional<v1::HostLost> lost;
  // Its files at the end of the run.
  std::optional<v1::HostReleased> released;
  int64_t lost_at_ns = 0;
  struct Fault {
    int64_t at_ns = 0;
    v1::HostFault fault;
  };
  std::vector<Fault> faults;
  // What the agent of a watch counted beside the operations.
  std::optional<v1::WatchDone> watched;
  // From 1; 0: not known.
  uint32_t storage = 0;
  // A host of its storage writes in several directories: what one host shows of the storage may be of another file
  // system than what the others show.
  bool mixed_storage = false;

  // It watches a program, and writes nothing.
  bool watches() const { return joined.plan().has_watch(); }
  // Whether its agent reports stall intervals.
  bool reports_stalls() const {
    return (watches() ? joined.plan().watch().stall_ns() : joined.plan().log().stall_ns()) > 0;
  }
  const v1::WatchPlan& watch_plan() const { return joined.plan().watch().watch(); }
  const std::string& label() const { return joined.label(); }
  const v1::LogWorkload& workload() const { return WorkloadOf(joined.plan()); }
  // Queue managers that the host has.
  uint32_t qms() const;
  // Its writers in a step, by number: the size of their blocks, or nothing of one that is silent by plan.
  std::vector<std::optional<BlockRange>> Blocks(const v1::LogStep& step) const;
  // No writer of the host writes in the step: the plan has it down, or it is the standby of others.
  bool IsSilent(const v1::LogStep& step) const;
  // Asked writes per second of a writer in a step, and of any of them; 0: closed loop.
  double rate_per_second(const v1::LogStep& step, uint32_t qm) const;
  double rate_per_second(const v1::LogStep& step) const;
  // The lowest rate of those that write.
  double least_rate_per_second(const v1::LogStep& step) const;
  // In a placement, the queue manager that a writer simulates; else null.
  const v1::LogQueueManager* Placed(uint32_t qm) const;
  // Its name in a placement or a watch; empty: it has none. And "node1/PAYMENTS", or "node1/qm2".
  std::string QmName(uint32_t qm) const;
  std::string WriterName(uint32_t qm) const;
  // Whether its writers start their first writes at moments of their own, with a rate. Plans without it start all
  // at once.
  bool spreads_starts(const v1::LogStep& step) const {
    return rate_per_second(step) > 0 && (arrival(step) == v1::ARRIVAL_EVEN || arrival(step) == v1::ARRIVAL_POISSON);
  }
  // Whether its writers measure an operation of the step, by its place in the step's list.
  bool Measures(const v1::LogStep& step, uint32_t operation) const {
    if (operation == kMainOperation) return true;
    if (operation >= static_cast<uint32_t>(step.operations_size())) return false;
    return operation == ReadOperationOf(step) || IsCall(step, operation) || SyncsAfterWrite(workload().sync());
  }
  // Whether the writes of a rate start at random.
  bool random_arrivals(const v1::LogStep& step) const { return arrival(step) == v1::ARRIVAL_POISSON; }

 private:
  v1::Arrival arrival(const v1::LogStep& step) const {
    return step.has_arrival() ? step.arrival() : workload().arrival();
  }
};

// By number of the host.
using HostTable = std::map<uint32_t, HostFacts>;

// Sets those fields of `to` that `from` has under the same name and with the same type: what an agent reports of its
// host is in a report as soon as both messages have it.
void CopySharedFields(const google::protobuf::Message& from, google::protobuf::Message& to);

// Gives the hosts what the end of the run says of their files.
void SetReleased(const v1::RunEnd& end, HostTable& hosts);

// The report's lines about a host, without its clock, its loss and its faults.
v1::HostReport MakeHostReport(const HostFacts& facts);

// Groups hosts that see one another's run directories in any of the directories in which they write, and sets each
// host's storage. Hosts that are not prepared have none. Storages are numbered in the order of their first host.
std::vector<v1::StorageReport> GroupStorages(HostTable& hosts);

// Rows that the columns of all hosts of a report may take: at most 88 bytes each.
inline constexpr uint64_t kLoadRows = 500'000;

// NFS WRITE and COMMIT calls that a kernel retransmitted in the measured time, as far as samples separate them.
struct RetransmitBounds {
  uint64_t least = 0;
  // UINT64_MAX: not known.
  uint64_t most = 0;
  // Moment of the last sample that had them, agent's clock.
  int64_t until_ns = 0;
  // A counter went back.
  bool went_back = false;
};

// Takes a host's samples of one step, in order. The kernel's counters begin with the step: what they counted before the
// measured start is left out as far as a sample separates it; an interval between two samples counts where more than
// half of it lies after the measured start. A counter that goes back counts nothing until it rises again; no figure is
// negative, and sums stick at their largest value. Not thread-safe.
class HostLoad {
 public:
  // The step's start and that of its measured part, in the agent's clock, how many writers the host has, and whether
  // they read: without that, the kernel's reads are those of other programs, and are left out.
  HostLoad(int64_t start_ns, int64_t measured_start_ns, uint32_t writers, bool reads = false)
      : measured_start_ns_(measured_start_ns), writers_(writers), reads_(reads), last_ns_(start_ns) {
    retransmits_.until_ns = start_ns;
  }

  // From so long after the measured start on, a row is a minute: the intervals whose middles lie in it. Before the
  // first sample; by default every interval is a row.
  void MakeMinutes(int64_t from_ns) { minutes_from_ns_ = from_ns; }

  // INVALID_ARGUMENT, and nothing is changed, where the sample's moment is none, or not after the one before. Takes one
  // of `rows_left`; where there is none the sample is in the figures alone.
  absl::Status Add(const v1::HostSample& sample, uint64_t& rows_left);

  // Whether there is anything to report.
  bool empty() const { return sampled_ns_ == 0; }
  // Some samples found no row.
  bool rows_missing() const { return rows_missing_; }
  // A counter went back.
  bool went_back() const { return went_back_; }
  const RetransmitBounds& retransmits() const { return retransmits_; }
  // For how long its writers may have waited for a CPU, been suspended or been throttled, from the step's start to a
  // moment of the agent's clock, all of them taken together: an upper bound, infinite if it is not known.
  double MostCpuWaitNs(int64_t until_ns) const;

  // Everything but the host's name and the bottleneck.
  v1::HostLoadReport Make() const;

 private:
  // NFS figures of one interval, or of several.
  struct Nfs {
    uint64_t operations = 0;
    uint64_t retransmits = 0;
    uint64_t timeouts = 0;
    uint64_t queue_ms = 0;
    uint64_t round_trip_ms = 0;
    uint64_t execute_ms = 0;

    void Add(const Nfs& other);
    v1::NfsOperationReport Make() const;
  };
  struct Disk {
    uint64_t writes = 0;
    uint64_t written_bytes = 0;
    uint64_t write_time_ms = 0;
    uint64_t flushes = 0;
    uint64_t flush_time_ms = 0;
    uint64_t busy_ms = 0;
    uint64_t reads = 0;
    uint64_t read_bytes = 0;
    uint64_t read_time_ms = 0;

    void Add(const Disk& other);
  };

  // What becomes one row of the columns.
  struct Row {
    // Number of its minute; -1: it is a single interval.
    int64_t minute = -1;
    int64_t end_ns = 0;
    int64_t length_ns = 0;
    uint64_t agent_cpu_ns = 0;
    uint64_t cpu_wait_ns = 0;
    Disk disk;
    Nfs read;
    Nfs write;
    Nfs commit;
    bool has_disk = false;
    bool has_disk_reads = false;
    bool has_nfs = false;
    bool has_nfs_reads = false;
  };

  // Number of the minute that an interval belongs to; -1 where rows are not minutes yet.
  int64_t MinuteOf(int64_t from_ns, int64_t to_ns) const;
  // Appends row_ to the columns, and empties it.
  void GiveRow(uint64_t& rows_left);
  void AppendRow(const Row& given, v1::HostLoadReport& columns) const;
  // How much a counter rose.
  uint64_t Rise(uint64_t before, uint64_t now);
  Disk DiskRise(const v1::DiskCounters& now);
  Nfs NfsRise(const v1::NfsOperation& before, const v1::NfsOperation& now);
  void BoundRetransmits(const v1::HostSample& sample);
  void BoundCpuWait(const v1::HostSample& sample);
  // A sample at the end of an interval that counts.
  void AddMeasured(const v1::HostSample& sample, uint64_t& rows_left);
  // `counts`: the interval that the sample ends does.
  void AddPauses(const v1::HostSample& sample, bool counts);
  double CpuWaitPercent(uint64_t wait_ns, int64_t length_ns) const;

  int64_t measured_start_ns_;
  uint32_t writers_;
  bool reads_;
  // The sample before, or the step's start: its moment, and the last known value of each counter.
  int64_t last_ns_;
  v1::HostSample last_;
  bool begun_ = false;

  int64_t sampled_ns_ = 0;
  uint64_t agent_cpu_ns_ = 0;
  uint64_t cpu_wait_ns_ = 0;
  uint64_t throttled_ns_ = 0;
  // From the step's start on; infinite once the counter went back.
  double whole_cpu_wait_ns_ = 0;
  double whole_paused_ns_ = 0;
  uint64_t late_max_ns_ = 0;
  uint64_t pauses_ = 0;
  uint64_t paused_ns_ = 0;
  Disk disk_;
  Nfs read_;
  Nfs write_;
  Nfs commit_;
  RetransmitBounds retransmits_;
  v1::HostLoadReport columns_;
  int64_t minutes_from_ns_ = INT64_MAX;
  Row row_;
  bool rows_missing_ = false;
  bool went_back_ = false;
};

}  // namespace plimsoll
