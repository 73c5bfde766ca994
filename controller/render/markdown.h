// A report's summary as Markdown, for pull requests.
#pragma once

#include <string>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The verdict, the criteria step by step, the figures of each step, what was doubtful, and where the results are; each
// table has at most 20 rows, those that failed or are undecided first. Texts from hosts and plans stand in <code> and
// can neither be links, mentions nor markup. `results`: the directory; empty: not said.
std::string RenderMarkdown(const v1::Report& report, const std::string& results);

}  // namespace plimsoll
