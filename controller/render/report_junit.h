// A report as JUnit XML.
#pragma once

#include <string>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// One test suite. Each criterion in each step is a test case of class "run.step N (BLOCK)", or "run.drill" for an HA
// drill: a failure where it fails, an error where it is inconclusive. The case "run.conclusive" is an error where the
// verdict is inconclusive for another reason, and where the plan has no criteria. So the suite is green where the
// verdict is PASS, and nowhere else.
std::string RenderReportJUnit(const v1::Report& report);

// What stands in the file while the run goes on, and stays where it ends without a report: an error.
std::string RenderUnfinishedJUnit();

}  // namespace plimsoll
