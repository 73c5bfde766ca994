// The kernel's counters beside our own latencies: they tell network from server and harness from storage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Reads /proc/diskstats of the device below a directory, or /proc/self/mountstats of its NFS mount, and this process's
// CPU time. Counters count from Reset. Not thread-safe.
class HostCounters {
 public:
  // Finds out once what lies below `directory`; what is not known is left out of the samples. May hang with a hung file
  // system; afterwards only /proc is read.
  explicit HostCounters(const std::string& directory);
  ~HostCounters();

  // Starts counting anew. `writer_tids`: kernel thread ids of the writers, whose CPU waits are added up.
  void Reset(const std::vector<int>& writer_tids);
  // The counters since Reset; the caller fills step, time and recorder_late_max_ns. A writer that has ended counts with
  // what it had when it was last sampled. Before the first Reset everything counts from construction, without writers.
  v1::HostSample Sample() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
