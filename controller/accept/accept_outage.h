// Interruptions of queue managers in an acceptance: by faults of its drills, and by disturbances of the storage.
#pragma once

#include <string>
#include <vector>

#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Sets the run's outages by kind of fault, and the acknowledged writes that the drill looked for.
void AddDrillOutages(const v1::Report& found, v1::AcceptRun& run);

// Sets the run's outages by disturbance, and the acknowledged writes that were read back; adds figures, and what the
// run found to `shown`.
void AddDisturbOutages(const v1::Report& found, v1::AcceptRun& run, std::vector<std::string>& shown,
                       v1::AcceptReport& report);
// A load under disturbances fails where an acknowledged write was lost. It passes only where every disturbance was made
// and undone, no queue manager still waited or failed at the end, and every host read all of its writes back.
void ConfirmDisturbances(const v1::Report& found, v1::AcceptRun& run);

// Replaces LostWritesText for a load under disturbances where something may be lost.
inline constexpr char kNotAllReadBack[] = "acknowledged writes not all read back";
// "0 of 12,345 acknowledged writes lost"; empty where nothing was read back, or not everything.
std::string LostWritesText(const v1::AcceptRun& run);
// "at most 8.214 s", "more than 8.214 s".
std::string OutageText(const v1::AcceptOutage& outage);
// A disturbance in words: "takeover: at most 8.214 s, as before after 11.4 s", "takeover: was not started".
std::string DisturbanceText(const v1::AcceptOutage& outage);
// A recovery in words: "as before after 11.4 s", "not as before".
std::string RecoveryText(const v1::AcceptOutage& outage);
// "8.214 s".
std::string SecondsText(double seconds);

}  // namespace plimsoll
