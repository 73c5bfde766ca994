// All checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/check/check_run.h"
#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {

struct CatalogEntry {
  std::string name;
  v1::CheckRequirement requirement = v1::CHECK_REQUIREMENT_UNSPECIFIED;
  // The lowest level that has it.
  v1::CheckLevel level = v1::CHECK_LEVEL_UNSPECIFIED;
  std::string proves;
  // Hosts that it takes.
  size_t hosts = 2;
  // Without a pass of this one its requirement has no PASS, whatever the level: nothing else tests the same.
  bool decides = false;
  // A file system that does not have what it checks does not meet the requirement.
  bool needed = false;
  // Commands of the user's own that it takes.
  std::vector<CheckField::Fault> faults = {};
  void (*run)(CheckRun&) = nullptr;
};

// In the order in which they run.
const std::vector<CatalogEntry>& CheckCatalog();

// Files that each host makes, and processes that a host has at once, for checks up to this level.
uint32_t CatalogFiles();
uint32_t CatalogProcesses(v1::CheckLevel level);

// "quick", "data write integrity", "not tested".
// The option that gives the command for it.
std::string FaultOption(CheckField::Fault fault);

std::string LevelName(v1::CheckLevel level);
std::string RequirementName(v1::CheckRequirement requirement);
std::string OutcomeName(v1::CheckOutcome outcome);
std::string VerdictName(v1::CheckVerdict verdict);

}  // namespace plimsoll
