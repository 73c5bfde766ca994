// What parts of an acceptance would report.
#pragma once

#include <string>
#include <vector>

#include "controller/accept/accept_report.h"
#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/check_report.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

// Two hosts, 200 writes/s of each of 4 queue managers; with its defaults.
v1::TestPlan AcceptPlanOf(uint32_t runs = 3);

// alpha and beta, on NFS with these mount options.
std::vector<StorageHost> NfsHosts(const std::string& mount_options = "rw,vers=4.2,hard,wsize=1048576,proto=tcp");

// Level quick, between hosts with kernels of their own: two checks, and one of level full.
v1::CheckReport Checks(v1::CheckOutcome exclusive = v1::CHECK_OUTCOME_PASS);

// One step of 4 KiB with this p99; FAIL above 10 ms.
v1::Report LoadReportOf(double p99_ms, double iops = 800);
// A search that found this limit and held it.
v1::Report SearchReportOf(double limit);

// An acceptance whose parts all passed, with moments and lengths; `p99_ms` of each load.
v1::AcceptReport WholeAcceptance(const std::vector<double>& p99_ms = {3.1, 3.4, 3.2});
// The runs that are left, in order; each begins.
v1::AcceptRun& NextRun(v1::AcceptReport& report);

}  // namespace plimsoll::tests
