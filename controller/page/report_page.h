// The report as report.html, and the JSON that the page is made from.
#pragma once

#include <google/protobuf/message.h>

#include <set>
#include <string>

#include "controller/render/json.h"
#include "plimsoll/v1/ha_report.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// How many rows the series of all steps may have together, those of response times, of reads beside the writes and of
// the writes' parts among them. Beyond that they are thinned (html_page.h): those of the cluster, the storages and the
// hosts all to the same rows, so that they still add up; those of a QM, and the load of a host, each to its own. Half
// of the common rows are chosen by the cluster's figures, half by the writes and the longest writes of the storages and
// hosts, in longer intervals; where these are so many that not even one interval of the whole step has room, by the
// longest writes of them all.
struct PageLimits {
  int wide_rows = 100'000;
  int qm_rows = 40'000;
  int load_rows = 20'000;
  // Entries of the distributions per second; a step that would exceed what is left of them has none.
  int second_buckets = 600'000;
  // Buckets of the scopes' distributions; those of a scope that would exceed what is left are left out. The cluster's
  // come first, then the storages', then the hosts'; in each of these the writes' and the reads' before those of the
  // writes' parts.
  int distribution_buckets = 300'000;
  // Takeovers of an HA drill; beyond that the page has one of each round, that with the longest gap.
  int takeovers = 50'000;
};

// {"report": the report as in report.json, but without the columns below,
// "configuration": [[label, option, value]], "steps": [{
//   "row_seconds": 60 where series and seconds below hold the report's minutes, since the step was folded by age,
//   "series": [{kind, host, qm, storage, "of": rows before thinning, "irregular": [...] with "row" as here, and packed
//     columns (html_page.h) named as in report.json; "bytes" only where a row's bytes are not its writes times the
//     block},
//     ...] - without those of the only storage, which are the cluster's, and those of a host's only QM, which are the
//     host's,
//   "kept": "all", "each" (the extremes of each storage and host are in the common rows), "longest" (of the longest
//     writes only),
//   "distributions": [{kind, host, storage, from_ns, count}], "distributions_left_out": how many,
//   "seconds": {second, buckets, bucket, count},
//   "response": of a step with a target rate: series, kept, distributions, distributions_left_out and seconds of the
//     response times,
//   "operations": where the parts of a write, or reads beside the writes, were measured, for each of them, in the
//     report's order: series, without percentiles, and of a part without bytes, kept, distributions and
//     distributions_left_out,
//   "load": [{host, "of", offset_ms, agent_cpu, writer_cpu_wait, disk_busy (in 0.01 %), disk_read_us, disk_write_us,
//     nfs_read_round_trip_us, nfs_read_execute_us, nfs_round_trip_us, nfs_execute_us, nfs_retransmits}]}, one for each
//     step],
// "ha": of a drill alone, see WriteHaPageData,
// "digest": of the results, where it is known}
std::string ReportPageData(const v1::Report& report, const PageLimits& limits = {}, const std::string& digest = "");

// The page that shows a report (docs/reading.md): a pure function of it. Figures are those of report.json. Where a run
// is so long that its seconds would make the page too large, series are thinned (PageLimits). `digest`: of the results
// (controller/journal/digest.h), as the page shows it; empty: not shown.
std::string RenderReportPage(const v1::Report& report, const std::string& digest = "");

// Adds the fields of `from` to `to`, all but some.
void CopyBut(const google::protobuf::Message& from, const std::set<std::string>& left_out,
             google::protobuf::Message& to);

// Writes one value:
//   {"report": the section as in report.json, without rounds and pictures,
//   "takeovers": {"of": how many there were, "worst": whether of each round only that with the longest gap is here,
//   since
//     there are more than `limit` of them, "hosts", "faults", "outcomes": names, and packed columns (html_page.h), all
//     in the order of the rounds: round, qm, fault, outcome, old_host, new_host (numbers of names, from 0), doubtful
//     (1: the round proves nothing), lost, and in microseconds gap, gap_error, free, granted, replayed, first_write,
//     takeover, takeover_error
//     (-1: there is none)},
//   "pictures": as in report.json}.
void WriteHaPageData(const v1::HaReport& report, int limit, JsonWriter& json);

}  // namespace plimsoll
