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

// Response times in powers of two: below 1 us, then from 2^k us to below 2^(k+1) us for k = 0 ... 20, the last one
// without an upper end.
using XdiskBuckets = std::array<uint64_t, 22>;

// The bucket of a response time.
size_t XdiskBucketOf(uint64_t time_ns);

// The reads, or the writes, of one line. All are 0 if there was none.
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
// The buckets are those of `distribution`, which may be null.
XdiskSide XdiskSideOf(const v1::LatencyReport& latency, double per_second, const v1::DistributionReport* distribution);

// What the kernel counts of the devices under the files, as iostat prints it; different names are joined by commas. No
// name: the devices are unknown, as with tmpfs and NFS.
struct XdiskDevices {
  std::string name;
  double writes_per_second = 0;
  double bytes_per_second = 0;
  double write_ms = 0;
  double flushes_per_second = 0;
  double flush_ms = 0;
  double busy_percent = 0;

  // Rates add up, times are means over the operations, and the busiest device counts.
  void Add(const XdiskDevices& other);
};

// Between two samples of a host, over `length_ns`.
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

// The whole run's: its first step. Nothing if no step has figures. Rates of hosts add up, also where their passes took
// different times; response times are those of all hosts' operations.
std::optional<XdiskResult> XdiskResultOf(const v1::Report& report);

}  // namespace plimsoll
