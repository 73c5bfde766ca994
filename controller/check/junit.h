// The report of plimsoll fsck as JUnit XML.
#pragma once

#include <string>

#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {

// One test suite with a test case for each check: class "fsck.<requirement>", its reason as the message of a failure
// (failed, or a needed thing that the file system does not have), an error (undecided) or a skip (not tested, or not
// supported), its evidence as standard output. The suite's properties are level and verdicts.
std::string RenderJUnit(const v1::CheckReport& report);

}  // namespace plimsoll
