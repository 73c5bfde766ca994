// What `plimsoll ab` is given: its options, and the plans of both sides.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/cli/asked_agents.h"
#include "controller/cli/compare_flags.h"
#include "controller/cli/plan_flags.h"
#include "controller/compare/comparable.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

struct AbFlags {
  std::vector<std::string> plans;
  std::unique_ptr<PlanFlags> plan;
  std::string vary;
  uint32_t rounds = 8;
  std::optional<uint64_t> order_seed;
  std::string stop_on = "iops,avg,p50,p99";
  bool all_rounds = false;
  bool anew = false;
  std::string toggle;
  std::string between;
  bool allow_commands = false;
  std::string between_limit = "5m";
  std::string out;
  bool quiet = false;
  bool dry_run = false;
  AccessFlags access;
  CompareFlags compare;
};

struct AbSide {
  std::string name;
  v1::TestPlan plan;
};

// Both sides with their plans, checked: those of two plan files, of one with --vary, or of one with --toggle.
// `differs` gets the option that varies. The errors of reading them, or the plans' problems, a line each.
absl::StatusOr<std::vector<AbSide>> LoadSides(const AbFlags& flags, StatedDifferences& differs);

// FAILED_PRECONDITION where the plans alone make the sides impossible to compare, before anything is measured.
absl::Status CheckPlansComparable(const std::vector<AbSide>& sides, const StatedDifferences& differs);

}  // namespace plimsoll
