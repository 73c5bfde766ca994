// Acceptances that come with the program, with the sources of their limits.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/plan/accept_plan.h"

namespace plimsoll {
namespace {

constexpr char kEtcdLimits[] =
    R"(  # etcd, which writes a log in the same way: 99 % of its writes to stable storage within 10 ms.
  - p99<10ms
  # `etcdctl check perf`: the slowest request within 0.5 s. It judges requests, which take longer than their writes.
  - max<500ms
)";

// For multi-instance queue managers, MQ itself has one.
constexpr char kMqLimits[] =
    R"(  # MQ's own limit: the active instance of a multi-instance queue manager ends after twice FileLockHeartBeatLen (10 s) without
  # an answer from the storage, and its standby instance takes over.
  - max<20s
  # A percentile of your own is stricter, such as etcd's, which writes a log in the same way: 99 % of its writes to stable storage
  # within 10 ms.
  # - p99<10ms
)";

// What is particular to one kind of storage: values, and whole lines of comments.
struct Storage {
  const char* title;
  const char* name;
  const char* hosts;
  const char* dir;
  // Lines of the workload and of the end of the plan that are about queue managers.
  const char* queue_managers;
  const char* placement = "";
  const char* replaced = "";
  const char* on_block_size = "";
  const char* on_settle = "";
  const char* on_limits;
  const char* limits = kEtcdLimits;
  const char* on_parts;
};

std::string PlanFor(const Storage& storage) {
  return absl::StrCat(
      "# Acceptance of ", storage.title, ".\n#\n#   plimsoll accept FILE --hosts ", storage.hosts, " --dir ",
      storage.dir,
      R"( --rate 200
#
# Replace hosts, dir, )",
      storage.replaced,
      R"(and the load (block_size and rate), which `plimsoll plan from-mq` reads from qm.ini and amqsrua.
)",
      "name: ", storage.name, "\nhosts: ", storage.hosts, "\n\nworkload:\n  dir: ", storage.dir, "\n",
      storage.queue_managers,
      R"(  # LogFilePages 16384 and LogPrimaryFiles 16, as in every run of IBM's performance lab (IBM MQ Performance Best Practices 1.0.1).
  # That is 1 GiB for each queue manager.
  file_size: 64m
  num_files: 16
  # Writes per second of each queue manager: unknown; replace it.
  rate: 100

)",
      storage.on_block_size,
      R"(# Size of a log write: 44 to 63 KB with 60 requesters and messages of 2 KB (IBM, mqio_v1, tables 12 to 14). Yours: amqsrua.
block_size: 64k
duration: 60s
warmup: 10s
)",
      storage.on_settle, R"(settle: 60s

# IBM publishes no limit for the latency of a log write: that limit is unknown. For comparison, IBM measured averages with writes of
)",
      storage.on_limits, R"(criteria:
)",
      storage.limits,
      R"(  # Added by plimsoll: rate_achieved>=99% (etcdctl check perf of etcd: 90 %) and steady (SNIA PTS 2.0.1: a range of five
  # intervals of at most 20 %, a slope of at most 10 %).

accept:
)",
      storage.on_parts, R"(  parts: [storage, fsck, load, limit]
  runs: 3
  search_step: 20s

limit:
  budget: 20m
  hold: 60s
)",
      storage.placement);
}

constexpr Storage kTwelve = {
    .title = "the storage of 12 multi-instance queue managers on 4 hosts",
    .name = "12 multi-instance queue managers on 4 hosts",
    .hosts = "node[1-4]",
    .dir = "/mnt/mqha",
    .queue_managers = "",
    .placement =
        R"(
# The load runs with all hosts up and then with each host down, its queue managers on their standby hosts. The search for the
# limit runs with all hosts up and 3 queue managers on each, all with the same load.
placement:
  - {qm: QM01, home: node1, standby: node2}
  - {qm: QM02, home: node1, standby: node3}
  - {qm: QM03, home: node1, standby: node4}
  - {qm: QM04, home: node2, standby: node3}
  - {qm: QM05, home: node2, standby: node4}
  - {qm: QM06, home: node2, standby: node1}
  - {qm: QM07, home: node3, standby: node4}
  - {qm: QM08, home: node3, standby: node1}
  - {qm: QM09, home: node3, standby: node2}
  - {qm: QM10, home: node4, standby: node1}
  - {qm: QM11, home: node4, standby: node2}
  - {qm: QM12, home: node4, standby: node3}
)",
    .replaced = "names and hosts of the queue managers, ",
    .on_settle = "# Arrays and filers write back what preparing left in their caches.\n",
    .on_limits = "# this size of 0.302 ms on a SAN (8 Gb FC) and 0.262 ms on NFS (10 Gb) (mqio_v1, tables 12 to 14).\n",
    .limits = kMqLimits,
    .on_parts =
        "  # fsck: a file system for multi-instance queue managers must keep writes and locks between hosts (IBM's "
        "testing "
        "statement).\n"};

constexpr Storage kNfs = {
    .title = "one NFS filer for recovery logs",
    .name = "NFS filer",
    .hosts = "node[1-2]",
    .dir = "/mnt/mqlog",
    .queue_managers = "  qm: 1\n",
    .on_block_size = "# At most the mount's wsize, or each write becomes several and a COMMIT.\n",
    .on_settle = "# A filer writes back what preparing left in its cache.\n",
    .on_limits =
        R"(# this size of 0.262 ms on NFS over 10 Gb, 0.348 ms with 10 km in between and 0.793 ms over 1 Gb (mqio_v1, tables 12 to 14).
)",
    .on_parts =
        "  # storage fails where the mount is soft, or NFS before version 4 (IBM's testing statement; nfs(5)).\n"};

constexpr Storage kSan = {
    .title = "a file system on a SAN for recovery logs",
    .name = "SAN file system",
    .hosts = "node[1-2]",
    .dir = "/mnt/mqlog",
    .queue_managers = "  qm: 1\n",
    .on_settle = "# An array writes back what preparing left in its cache.\n",
    .on_limits =
        "# this size of 0.302 ms on a SAN (8 Gb FC) and 0.039 ms on disks behind a RAID cache (mqio_v1, tables 12 to "
        "14).\n",
    .on_parts =
        R"(  # fsck needs a file system that the hosts share, such as GPFS or GFS2. For one that each host has to itself, such as XFS, leave
  # fsck out.
)"};

}  // namespace

const std::vector<ReadyPlan>& ReadyAcceptPlans() {
  static const std::vector<ReadyPlan> kPlans = {
      {"mi12", "12 multi-instance queue managers on 4 hosts", PlanFor(kTwelve)},
      {"nfs", "one NFS filer", PlanFor(kNfs)},
      {"san", "a file system on a SAN", PlanFor(kSan)},
  };
  return kPlans;
}

}  // namespace plimsoll
