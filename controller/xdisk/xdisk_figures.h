// The figures of one of xdisk's lines of output.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Response times by powers of two: below 1 us, then from 2^k us to below 2^(k+1) us for k = 0 to 20. The last bucket
// has no upper end.
using XdiskBuckets = std::array<uint64_t, 22>;

// The bucket of a response time.
size_t XdiskBucketOf(uint64_t time_ns);

// The reads, or the writes, of one line; all figures are 0 if the line has no such operation.
struct XdiskSide {
  uint64_t count = 0;
  double per_second = 0;
  double min_ns = 0;
  double max_ns = 0;
  double avg_ns = 0;
  double weighted_avg_ns = 0;
  XdiskBuckets buckets = {};
};

XdiskSide XdiskSideOf(const Histogram& histogram, double per_second);
// The buckets follow from `distribution`; null: they stay 0.
XdiskSide XdiskSideOf(const v1::LatencyReport& latency, double per_second, const v1::DistributionReport* distribution);

// The kernel's statistics of reads.
struct XdiskDeviceReads {
  double per_second = 0;
  double bytes_per_second = 0;
  double read_ms = 0;
};

// The kernel's statistics of the devices under the files, as iostat prints them; different names are joined by commas.
// An empty name: the devices are unknown, as with tmpfs and NFS.
struct XdiskDevices {
  std::string name;
  double writes_per_second = 0;
  double bytes_per_second = 0;
  double write_ms = 0;
  double flushes_per_second = 0;
  double flush_ms = 0;
  double busy_percent = 0;
  // Absent if an agent does not report them.
  std::optional<XdiskDeviceReads> reads = {};

  // Adds the devices of another host: sums of the rates, means of the times over the operations, and the utilisation of
  // the busiest device. Reads stay known only if they are known of all devices.
  void Add(const XdiskDevices& other);
};

// The devices between two samples of a host that are `length_ns` > 0 apart.
XdiskDevices XdiskDevicesOf(const v1::DiskCounters& first, const v1::DiskCounters& last, int64_t length_ns);

struct XdiskFigures {
  // Label of the host; empty: all hosts.
  std::string host;
  XdiskSide reads;
  XdiskSide writes;
  XdiskDevices devices;

  double per_second() const { return reads.per_second + writes.per_second; }
};

// One line for all hosts, and one for each.
struct XdiskResult {
  XdiskFigures all;
  std::vector<XdiskFigures> hosts;
};

// Returns the figures of the run's first step, or nothing if it has none. The rate of all hosts is the sum of their own
// rates, even if their passes took different times; response times are those of all hosts' operations.
std::optional<XdiskResult> XdiskResultOf(const v1::Report& report);

}  // namespace plimsoll
