// The report as report.html.
#pragma once

#include <string>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The page that shows a report (docs/reading.md): a pure function of it. Figures are those of report.json. Where a run
// is so long that its seconds would make the page too large, series are thinned (report_data.h).
std::string RenderReportPage(const v1::Report& report);

}  // namespace plimsoll
