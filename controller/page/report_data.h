// A report as the JSON that its page is made from.
#pragma once

#include <string>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// How many rows the series of all steps may have together. Beyond that they are thinned (thinning.h): those of the
// cluster, the storages and the hosts all to the same rows, chosen by the cluster's figures, so that they still add up;
// those of a QM, and the load of a host, each to its own.
struct PageLimits {
  int wide_rows = 100'000;
  int qm_rows = 40'000;
  int load_rows = 20'000;
  // Entries of the distributions per second; a step that would exceed what is left of them has none.
  int second_buckets = 600'000;
};

// {"report": the report as in report.json, but without the columns below, "steps": [{
//   "series": [{kind, host, qm, storage, "of": rows before thinning, "irregular": [...] with "row" as here, and packed
//     columns (packing.h) named as in report.json; "bytes" only where a row's bytes are not its writes times the
//     block},
//     ...] - without those of the only storage, which are the cluster's, and those of a host's only QM, which are the
//     host's,
//   "distributions": [{kind, host, storage, from_ns, count}], "seconds": {second, buckets, bucket, count},
//   "load": [{host, "of", offset_ms, agent_cpu, writer_cpu_wait, disk_busy (in 0.01 %), disk_write_us,
//     nfs_round_trip_us, nfs_execute_us, nfs_retransmits}]}, one for each step]}
std::string ReportPageData(const v1::Report& report, const PageLimits& limits = {});

}  // namespace plimsoll
