// From what the parts of an acceptance report to its verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/check_report.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// "storage", "fsck", "load", "limit".
std::string PartName(v1::AcceptPart part);
// "storage", "load, run 2".
std::string RunName(const v1::AcceptRun& run);

// The next whole second: "30m 45s".
std::string FormatWholeSeconds(int64_t duration_ns);

// Where a run's results go, below those of the acceptance: "storage", "load-2".
std::string DirectoryOf(const v1::AcceptRun& run);

// An acceptance of which nothing is done yet: every run of every part. The plan has its defaults.
v1::AcceptReport PlannedAcceptance(const v1::TestPlan& plan);

// A host as the storage check sees it; its description has one directory.
struct StorageHost {
  std::string label;
  v1::HostDescription description;
};

// Each takes what one run of a part found into that run, which has begun, and its figures and facts into the report.

// FAIL where a log must not lie there like this (AdviceLevel::kProblem).
void TakeStorage(const std::vector<StorageHost>& hosts, uint64_t block_size_bytes, v1::AcceptRun& run,
                 v1::AcceptReport& report);
// PASS where every required check of the level passed between hosts with kernels of their own; others become notes.
// Requirements that the level cannot prove are limits of the verdict, not reasons against it.
void TakeChecks(const v1::CheckReport& checks, v1::AcceptRun& run, v1::AcceptReport& report);
// Of the load or a search: the verdict of its report. A load in a closed loop whose load generator may be CPU-bound is
// no PASS: the storage may not have got the load that was to be accepted. A limit below the plan's load is no PASS: it
// does not show that the storage carries the load, and only the load itself can show that it does not.
void TakeRun(const v1::Report& found, v1::AcceptRun& run, v1::AcceptReport& report);
// It began and has no report.
void TakeFailure(const std::string& why, v1::AcceptRun& run);

// Sets the verdict from the runs: FAIL where one fails; else PASS where all of them are complete and passed; else
// INCONCLUSIVE. Sets its reasons and limits, and the spread of the figures. May be called again after each run.
void JudgeAcceptance(v1::AcceptReport& report);

// "The plan leaves out fsck."; empty: it has all parts. Stands beside every verdict.
std::string LeftOutText(const v1::AcceptReport& report);

}  // namespace plimsoll
