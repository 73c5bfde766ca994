// The report of plimsoll fsck as text.
#pragma once

#include <string>

#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {

// Verdicts first, then each check with its outcome, time and evidence, then hosts and notes. Text that came from agents
// is neutral in it.
std::string RenderCheckText(const v1::CheckReport& report);

}  // namespace plimsoll
