// The named files of a workload that uses files in place of logs.
#pragma once

#include <string>
#include <vector>

#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The files that a host's threads use, of a workload with its defaults: the first ones, one for each thread, or all.
std::vector<std::string> UsedFiles(const v1::LogWorkload& workload);

// The used files as people read them: "/data/a", "/data/f000 ... /data/f015 (16 files)".
std::string ShortenFiles(const v1::LogWorkload& workload);

}  // namespace plimsoll
