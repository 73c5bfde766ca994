// Storage against a control: the same plan on other storage of the same hosts, measured in the same rounds. It shows
// whether what is slow is the storage or the hosts.
#pragma once

#include <string>
#include <vector>

#include "controller/compare/comparable.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// From how many times the control's latency on a host its storage counts as slower in the summary.
inline constexpr double kControlFactor = 2;

// When both sides were measured, and how the latencies of storage (the first of two sides) and control differ by host,
// at the block sizes and hosts that every run has.
v1::ControlComparison CompareControl(const std::vector<SideInput>& sides);

// Why the second side controls nothing: the file system of both directories is the same one on some hosts. Empty: it is
// another one on each.
std::string ControlDoubt(const std::vector<SideInput>& sides);

}  // namespace plimsoll
