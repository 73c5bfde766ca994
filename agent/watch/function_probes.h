// Probes at the entry and the return of functions, as the kernel defines them for tracing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/watch/perf_rings.h"
#include "agent/watch/tracefs.h"

namespace plimsoll {

// Whether the function is one of MQ's whose fifth argument is the length of the message's buffer.
bool HasBufferLength(const std::string& function);

// Defines uprobes in tracefs, by names of this process's own, and removes them at its end. A definition alone costs
// nothing: the kernel sets a breakpoint only in processes for which an event is opened. Those of an agent that was
// killed are removed by the next one.
//
// The uprobe device of perf would need no definition, but its events cannot be inherited: the kernel reads the path of
// the file anew, from the memory of the thread that starts another one, and that thread's clone() fails (seen on 6.18).
//
// Not thread-safe.
class FunctionProbes {
 public:
  // Fails where tracefs cannot be used, with the way out.
  static absl::StatusOr<FunctionProbes> Create();
  ~FunctionProbes();
  FunctionProbes(FunctionProbes&& other) noexcept = default;
  FunctionProbes& operator=(FunctionProbes&&) = delete;

  // Defines the two probes of a function at `offset` of the file, once. `number` is the function's number in the
  // records.
  absl::StatusOr<std::vector<PerfEventSpec>> Add(const std::string& path, uint64_t offset, const std::string& function,
                                                 int64_t number);

  // Whether the fifth argument of a function is known at its entry.
  static bool HasFifthArgument();

 private:
  explicit FunctionProbes(TraceFs tracefs);
  void RemoveOrphans() const;

  TraceFs tracefs_;
  std::string group_;
  std::vector<std::string> names_;
};

}  // namespace plimsoll
