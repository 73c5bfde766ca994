// What a plan with an `ha` section asks for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Two hosts of a plan that has its defaults, by their number in it.
struct HaPair {
  size_t first = 0;
  size_t second = 0;
  // Numbers of its queue managers in the drill: first_qm to first_qm + qms - 1.
  uint32_t first_qm = 1;
  uint32_t qms = 1;
};

// In the order of the plan, which has no problems.
std::vector<HaPair> HaPairs(const v1::TestPlan& plan);

// As a plan spells it: "server-restart".
std::string HaFaultWord(v1::HaFaultKind fault);

// Whether the fault is caused by commands on the controller, not by orders to the agents.
bool NeedsCommands(v1::HaFaultKind fault);

// The commands of a fault; null where the plan has none.
const v1::HaFaultCommands* CommandsOf(const v1::HaPlan& plan, v1::HaFaultKind fault);

// Splits a command as `--do` and `--undo` take it: at blanks, except within '...' or "...", which are taken away. No
// other character means anything. INVALID_ARGUMENT where a quote is not closed, or there is no program.
absl::StatusOr<std::vector<std::string>> SplitCommand(const std::string& text);

// Takes "FAULT=COMMAND" into the plan's commands, in place of what it has there. INVALID_ARGUMENT as SplitCommand, or
// where there is no such fault.
absl::Status SetCommand(const std::string& text, bool undo, v1::HaPlan& plan);

// The commands of a plan's faults, a line each, for people to read before they allow them: "freeze: runs on this
// machine, with --allow-commands: virsh suspend '{host}'; undone by: virsh resume '{host}'".
std::vector<std::string> DescribeCommands(const v1::HaPlan& plan);

// `argument` with {host} and {address} replaced by the host at `address` ("node1:7461").
std::string FillHost(const std::string& argument, const std::string& address);

// How long a hang lasts: longer than the server's lease and two polls.
int64_t HangNs(const v1::HaPlan& plan);

// How long a takeover is waited for: a little longer than its limit, so that one that did not come took longer for
// certain, whatever the clocks' errors.
int64_t TakeoverWaitNs(const v1::HaPlan& plan);

// What a checked drill does, one line each: where it writes, how much, its faults, and how long it takes.
std::vector<std::string> DescribeDrill(const v1::TestPlan& plan);

// One host's part of a checked drill. `run_token` is 16 bytes.
v1::HostPlan MakeHaHostPlan(const v1::TestPlan& plan, size_t host, const std::vector<std::string>& labels,
                            const std::string& run_id, const std::string& run_token, int64_t frame_interval_ns);

// What each host fills: the plan's workload of it, with as many queue managers as it makes the files of.
std::vector<v1::LogWorkload> HaFilledWorkloads(const v1::TestPlan& plan);

}  // namespace plimsoll
