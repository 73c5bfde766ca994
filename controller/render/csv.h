// A report as CSV (RFC 4180): a heading, then rows; a cell is quoted where it must be; control characters are replaced.
#pragma once

#include <string>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// One row a step and scope. Thin percentiles and what does not apply are empty cells.
std::string RenderCsv(const v1::Report& report);

// One row a step, scope and second.
std::string RenderTimelineCsv(const v1::Report& report);

// mqldt's columns, one row a step, over all writers of all hosts.
std::string RenderMqldtCsv(const v1::Report& report);

}  // namespace plimsoll
