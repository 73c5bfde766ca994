// The section of an HA drill as the JSON that its part of the page is made from.
#pragma once

#include "controller/render/json.h"
#include "plimsoll/v1/ha_report.pb.h"

namespace plimsoll {

// Writes one value:
//   {"report": the section as in report.json, without rounds and pictures,
//   "takeovers": {"of": how many there were, "worst": whether of each round only that with the longest gap is here,
//   since
//     there are more than `limit` of them, "hosts", "faults", "outcomes": names, and packed columns (packing.h), all in
//     the order of the rounds: round, qm, fault, outcome, old_host, new_host (numbers of names, from 0), doubtful (1:
//     the round proves nothing), lost, and in microseconds gap, gap_error, free, granted, replayed, first_write,
//     takeover, takeover_error
//     (-1: there is none)},
//   "pictures": as in report.json}.
void WriteHaPageData(const v1::HaReport& report, int limit, JsonWriter& json);

}  // namespace plimsoll
