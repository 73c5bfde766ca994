// An acceptance: from what its parts report to its verdict, what the plan has them do, as people read it, and the
// result as text, Markdown, JUnit XML and a page. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/check_report.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// "storage", "fsck", "load", "limit", "ha", "restart-time", "disturb".
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
// Takes the verdict of a load's or search's report. A load in a closed loop whose load generator may be CPU-bound is
// no PASS: the storage may not have got the load that was to be accepted. A limit below the plan's load is not a PASS:
// it does not show that the storage carries the load, and only the load itself can show that it does not.
void TakeRun(const v1::Report& found, v1::AcceptRun& run, v1::AcceptReport& report);
// It began and has no report.
void TakeFailure(const std::string& why, v1::AcceptRun& run);

// The results of the run, which has ended, are not those that were recorded: it is INCONCLUSIVE.
void TakeDifference(const std::string& what, v1::AcceptRun& run);

// What the verdicts of load and search do not say, as sentences with the names of the runs. Stands beside every
// verdict.
std::vector<std::string> AcceptWarnings(const v1::AcceptReport& report);
// Whether a note of the run is one of these.
bool IsVerdictWarning(const v1::AcceptRun& run, const std::string& note);

// Sets the verdict from the runs: FAIL where one fails; else PASS where all of them are complete and passed, and
// nothing of the results was altered; else INCONCLUSIVE. Sets its reasons and limits, and the spread of the figures.
// May be called again after each run.
void JudgeAcceptance(v1::AcceptReport& report);

// "The plan leaves out fsck."; empty: it has all parts. Stands beside every verdict.
std::string LeftOutText(const v1::AcceptReport& report);
// Adds the limits that follow from the plan (accept_limits.cc): parts that it does not have, and what no part tests.
void AddLimits(v1::AcceptReport& report);
// Adds the text unless it is among these.
void AddOnce(const std::string& text, google::protobuf::RepeatedPtrField<std::string>& texts);

// What the parts do by the plan (accept_configuration.cc). The functions below take a plan that has its defaults.

// What was tested, as names and values: change and operator, the load, how it writes, the search, the criteria of each;
// for the parts that the plan has.
std::vector<std::pair<std::string, std::string>> AcceptConfiguration(const v1::AcceptReport& report);
// What made the acceptance: the command, the controller's program, how far its UTC times can be off; what is known.
std::vector<std::pair<std::string, std::string>> AcceptEvidence(const v1::AcceptReport& report);

// Target rates of the hosts' queue managers, in writes per second. A placement has none of them.
struct LoadRates {
  // Rates of the hosts that have one; 0 if no host has.
  double least = 0;
  double most = 0;
  // Addresses of those that write as fast as possible; "" for this machine.
  std::vector<std::string> unpaced;
};
LoadRates LoadRatesOf(const v1::TestPlan& plan);
// "20 to 200 writes/s of each queue manager, as fast as possible on node2".
std::string RateText(const LoadRates& rates);

// Queue managers of the host that has most.
double MostQueueManagers(const v1::TestPlan& plan);

// How load and search write where that is not as MQ's logger does (O_DSYNC and O_DIRECT), as a sentence; empty: they
// do, or the plan has neither.
std::string UnlikeMqText(const v1::TestPlan& plan);

// The result as people and programs read it (accept_render.cc).

// At most 80 columns wide, UTF-8, without control characters but line breaks, whatever hosts and plans contain. The
// verdict and why it is not PASS come first, then the parts, the spread of their figures, what limits the verdict,
// notes, and the hosts.
std::string RenderAcceptText(const v1::AcceptReport& report);

// In what follows, `digest` is that of the results as people see it (controller/journal/digest.h); empty: not shown.

// What matters most of it, in at most kBriefLines lines: the verdict, a line for each run, each criterion with its
// worst run, figures and notes. Ends with AcceptResultsLine.
std::string RenderAcceptBrief(const v1::AcceptReport& report, const std::string& results,
                              const std::string& digest = "");
// The digest, in a line of its own, then the verdict and the directory of the results.
std::string AcceptResultsLine(const v1::AcceptReport& report, const std::string& results,
                              const std::string& digest = "");

// A short summary for a pull request. Texts from hosts and plans stand in <code>. `results`: the directory.
std::string RenderAcceptMarkdown(const v1::AcceptReport& report, const std::string& results,
                                 const std::string& digest = "");

// One test suite with a test case for each run of a part, of class "accept.load": a failure where it fails, an error
// where it is inconclusive or was not done. The case "accept.conclusive" is an error where nothing was done. So the
// suite is green where the verdict is PASS, and nowhere else.
std::string RenderAcceptJUnit(const v1::AcceptReport& report);
// In Prometheus' text format: the verdict, the outcomes of the parts, and their figures.
std::string RenderAcceptMetrics(const v1::AcceptReport& report);

// One file of HTML, with lines for signatures, and links to the results of the parts beside it.
std::string RenderAcceptPage(const v1::AcceptReport& report, const std::string& digest = "");

}  // namespace plimsoll
