// What a plan asks of watching, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/watch/function_symbols.h"
#include "agent/writer/writer_tally.h"
#include "common/protocol.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

struct WatchSetup {
  v1::WatchPlan plan;
  std::vector<v1::LogStep> steps;
  int64_t interval_ns = 0;
  bool trace = false;
  int64_t stall_ns = 0;
  uint32_t operations = 0;
  // Places of the operations in the step's list; nothing where they are not watched.
  std::optional<uint32_t> write_operation;
  std::optional<uint32_t> sync_operation;
  // The functions, and the place of each one's operation.
  std::vector<FunctionName> functions;
  std::vector<uint32_t> function_operations;

  StepTimes TimesOf(uint32_t step, int64_t start_ns) const {
    return {start_ns, steps[step].warmup_ns(), steps[step].duration_ns(), interval_ns};
  }
  // Number of writers in the report.
  uint32_t writers() const { return plan.has_pid() ? 1 : static_cast<uint32_t>(plan.queue_managers_size()); }
};

// Name of the operation that holds fsync and fdatasync of log files, where a step asks for it.
inline constexpr char kWatchedSync[] = "sync";

// INVALID_ARGUMENT names the field that is wrong.
absl::StatusOr<WatchSetup> MakeWatchSetup(const v1::HostPlan& plan);

// What watching asks for: time. It makes no file and no thread that writes.
WorkDemand WatchDemand(const v1::HostPlan& plan);

}  // namespace plimsoll
