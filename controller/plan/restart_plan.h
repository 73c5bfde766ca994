// The `restart_time` section of a plan: what is measured, and what it takes of the storage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/restart.pb.h"

namespace plimsoll {

// Directories that are compared with one another, in their order: --vary dir=A,B (workload.qm_dirs), or --dir alone.
std::vector<std::string> RestartDirs(const v1::TestPlan& plan);

// Numbers of records for messages of that size: those of the plan, or what its share of the log holds, at least 1.
std::vector<uint64_t> RestartRecords(const v1::TestPlan& plan, uint64_t message_bytes);

// Everything that a round measures in each directory, in its order; `trial` and `side` are not set. The plan is
// checked.
std::vector<v1::RestartTrial> RestartCases(const v1::TestPlan& plan);

// What the agent makes: log and queue files as large as the largest case needs.
v1::RestartWork MakeRestartWork(const v1::TestPlan& plan);

// These files as a workload, whose bytes are compared with the free space. By host, of which there is one.
std::vector<v1::LogWorkload> RestartFilledWorkloads(const v1::TestPlan& plan);

// Lines for --dry-run: directories, bytes, what is measured.
std::vector<std::string> DescribeRestart(const v1::TestPlan& plan);

}  // namespace plimsoll
