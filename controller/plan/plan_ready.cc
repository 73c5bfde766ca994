// Plans of acceptances that are ready but for hosts, directory and rate.
#include <vector>

#include "controller/plan/plan_yaml.h"

namespace plimsoll {
namespace {

constexpr char kTwelve[] = R"(# Acceptance of the storage of 12 multi-instance queue managers on 4 hosts.
#
#   plimsoll accept FILE --hosts node[1-4] --dir /mnt/mqha --rate 200
#
# To be replaced: hosts, dir, and the load (block_size and rate), which `plimsoll plan from-mq` reads from qm.ini and amqsrua.
# Where any one host may fail, the other three have to carry its queue managers, too: accept that with another run of
#   plimsoll accept FILE --hosts node[1-3] --qm 4 ...
name: 12 multi-instance queue managers on 4 hosts
hosts: node[1-4]

workload:
  dir: /mnt/mqha
  # 12 queue managers, 3 active on each host.
  qm: 3
  # LogFilePages 16384 and LogPrimaryFiles 16, as in every run of IBM's performance lab (IBM MQ Performance Best Practices 1.0.1).
  # That is 1 GiB for each queue manager.
  file_size: 64m
  num_files: 16
  # Writes per second of each queue manager: unknown; replace it.
  rate: 100

# Size of a log write: 44 to 63 KB with 60 requesters and messages of 2 KB (IBM, mqio_v1, tables 12 to 14). Yours: amqsrua.
block_size: 64k
duration: 60s
warmup: 10s
# Arrays and filers write back what preparing left in their caches.
settle: 60s

# IBM publishes no limit for the latency of a log write: that limit is unknown. For comparison, IBM measured averages of 0.302 ms on
# a SAN (8 Gb FC) and 0.262 ms on NFS (10 Gb) with writes of this size (mqio_v1, tables 12 to 14).
criteria:
  # etcd, which writes a log in the same way: 99 % of its writes to stable storage within 10 ms.
  - p99<10ms
  # `etcdctl check perf`: the slowest request within 0.5 s. It judges requests, which take longer than their writes.
  - max<500ms
  # Added by plimsoll: rate_achieved>=99% (etcdctl check perf: 90 %) and steady (SNIA PTS 2.0.1: five intervals within 20 %,
  # slope of at most 10 %).

accept:
  # fsck: a file system for multi-instance queue managers must keep writes and locks between hosts (IBM's testing statement).
  parts: [storage, fsck, load, limit]
  runs: 3
  search_step: 20s

limit:
  budget: 20m
  hold: 60s
)";

constexpr char kNfs[] = R"(# Acceptance of one NFS filer for recovery logs.
#
#   plimsoll accept FILE --hosts node[1-2] --dir /mnt/mqlog --rate 200
#
# To be replaced: hosts, dir, and the load (block_size and rate), which `plimsoll plan from-mq` reads from qm.ini and amqsrua.
name: NFS filer
hosts: node[1-2]

workload:
  dir: /mnt/mqlog
  qm: 1
  # LogFilePages 16384 and LogPrimaryFiles 16, as in every run of IBM's performance lab (IBM MQ Performance Best Practices 1.0.1).
  file_size: 64m
  num_files: 16
  # Writes per second of each queue manager: unknown; replace it.
  rate: 100

# At most the mount's wsize, or each write becomes several and a COMMIT. Size of a log write: 44 to 63 KB with 60 requesters and
# messages of 2 KB (IBM, mqio_v1, tables 12 to 14). Yours: amqsrua.
block_size: 64k
duration: 60s
warmup: 10s
settle: 60s

# IBM publishes no limit for the latency of a log write: that limit is unknown. For comparison, IBM measured averages with writes of
# this size of 0.262 ms on NFS over 10 Gb, 0.348 ms with 10 km in between and 0.793 ms over 1 Gb (mqio_v1, tables 12 to 14).
criteria:
  # etcd, which writes a log in the same way: 99 % of its writes to stable storage within 10 ms.
  - p99<10ms
  # `etcdctl check perf`: the slowest request within 0.5 s. It judges requests, which take longer than their writes.
  - max<500ms
  # Added by plimsoll: rate_achieved>=99% (etcdctl check perf: 90 %) and steady (SNIA PTS 2.0.1: five intervals within 20 %,
  # slope of at most 10 %).

accept:
  # storage fails where the mount is soft, or NFS before version 4 (IBM's testing statement; nfs(5)).
  parts: [storage, fsck, load, limit]
  runs: 3
  search_step: 20s

limit:
  budget: 20m
  hold: 60s
)";

constexpr char kSan[] = R"(# Acceptance of a file system on a SAN for recovery logs.
#
#   plimsoll accept FILE --hosts node[1-2] --dir /mnt/mqlog --rate 200
#
# To be replaced: hosts, dir, and the load (block_size and rate), which `plimsoll plan from-mq` reads from qm.ini and amqsrua.
name: SAN file system
hosts: node[1-2]

workload:
  dir: /mnt/mqlog
  qm: 1
  # LogFilePages 16384 and LogPrimaryFiles 16, as in every run of IBM's performance lab (IBM MQ Performance Best Practices 1.0.1).
  file_size: 64m
  num_files: 16
  # Writes per second of each queue manager: unknown; replace it.
  rate: 100

# Size of a log write: 44 to 63 KB with 60 requesters and messages of 2 KB (IBM, mqio_v1, tables 12 to 14). Yours: amqsrua.
block_size: 64k
duration: 60s
warmup: 10s
# An array writes back what preparing left in its cache.
settle: 60s

# IBM publishes no limit for the latency of a log write: that limit is unknown. For comparison, IBM measured averages with writes of
# this size of 0.302 ms on a SAN (8 Gb FC) and 0.039 ms on disks behind a RAID cache (mqio_v1, tables 12 to 14).
criteria:
  # etcd, which writes a log in the same way: 99 % of its writes to stable storage within 10 ms.
  - p99<10ms
  # `etcdctl check perf`: the slowest request within 0.5 s. It judges requests, which take longer than their writes.
  - max<500ms
  # Added by plimsoll: rate_achieved>=99% (etcdctl check perf: 90 %) and steady (SNIA PTS 2.0.1: five intervals within 20 %,
  # slope of at most 10 %).

accept:
  # fsck needs a file system that the hosts share, such as GPFS or GFS2. For one that each host has to itself, such as XFS, leave
  # fsck out.
  parts: [storage, fsck, load, limit]
  runs: 3
  search_step: 20s

limit:
  budget: 20m
  hold: 60s
)";

}  // namespace

const std::vector<ReadyPlan>& ReadyAcceptPlans() {
  static const std::vector<ReadyPlan> kPlans = {
      {"mi12", "12 multi-instance queue managers on 4 hosts", kTwelve},
      {"nfs", "one NFS filer", kNfs},
      {"san", "a file system on a SAN", kSan},
  };
  return kPlans;
}

}  // namespace plimsoll
