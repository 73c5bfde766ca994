// From checks to verdicts, and the report of plimsoll fsck as text and as JUnit XML.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "controller/check/catalog.h"
#include "controller/check/check_run.h"
#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {

// Runs the checks of a level over the field, in the catalog's order. The results hold every check of the catalog, those
// that this level omits as not tested; so are those that `only` does not name, where it names any. `announce` is called
// before each check that runs.
std::vector<v1::CheckResult> RunChecks(CheckField& field, v1::CheckLevel level, const std::set<std::string>& only,
                                       const std::function<void(const CatalogEntry&)>& announce);

// Fills in the verdicts from the report's level and checks. `untested` is what keeps all requirements from PASS,
// whatever the checks found, such as hosts that share a kernel; mostly empty.
//
// A requirement FAILs where one of its checks failed, or found that the file system does not have what the requirement
// needs. It PASSes where each of its checks that the level has passed (one that the file system does not support and
// that no requirement needs does not count), and those that decide it did, whatever the level. Else it is NOT TESTED.
void JudgeChecks(const std::vector<std::string>& untested, v1::CheckReport& report);

// Verdicts first, then each check with its outcome, time and evidence, then hosts and notes. Text that came from agents
// is neutral in it.
std::string RenderCheckText(const v1::CheckReport& report);

// One test suite with a test case for each check: class "fsck.<requirement>", its reason as the message of a failure
// (failed, or a needed thing that the file system does not have), an error (undecided) or a skip (not tested, or not
// supported), its evidence as standard output. The suite's properties are level and verdicts.
std::string RenderJUnit(const v1::CheckReport& report);

}  // namespace plimsoll
