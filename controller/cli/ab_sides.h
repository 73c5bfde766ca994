// The two sides of `plimsoll ab`: its options, the plans of both sides, and the command that it runs before each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/app/agents.h"
#include "controller/cli/compare_command.h"
#include "controller/cli/plan_flags.h"
#include "controller/compare/comparable.h"
#include "controller/compare/compare.h"
#include "controller/fleet/agent_client.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

struct AbFlags {
  std::vector<std::string> plans;
  std::unique_ptr<PlanFlags> plan;
  std::string vary;
  std::string control;
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

// The two sides with their plans, checked: those of two plan files, of one with --vary, with --control or with
// --toggle. `differs` gets the option that varies. The errors of reading them, or the plans' problems, a line each.
absl::StatusOr<std::vector<AbSide>> LoadSides(const AbFlags& flags, StatedDifferences& differs);

// FAILED_PRECONDITION where the plans alone make the sides impossible to compare, or to judge where something is gated,
// before anything is measured.
absl::Status CheckPlansComparable(const std::vector<AbSide>& sides, const CompareSettings& settings);

// The command that `plimsoll ab` runs on this machine before each side of each round: a program with its arguments;
// without --between there is none. Not thread-safe.
class Between {
 public:
  // What Run returns where it was stopped.
  static constexpr char kStopped[] = "stopped";

  // INVALID_ARGUMENT where the command or the limit cannot be read, or commands are not allowed.
  static absl::StatusOr<Between> Create(const AbFlags& flags);

  // Runs it for that side of the round, numbered from 1, until it ends or `stop` returns true, which is asked again and
  // again and whenever an interrupt comes to `events`. Returns why the side cannot be measured; "" where it can.
  std::string Run(const AbSide& side, char letter, size_t round, const Clock& clock, EventQueue& events,
                  const std::function<bool()>& stop) const;

 private:
  std::vector<std::string> arguments_;
  int64_t limit_ns_ = 0;
};

}  // namespace plimsoll
