#include "controller/run/read_back.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll {

int64_t ReadBackReserveNs(const std::vector<v1::LogWorkload>& workloads) {
  constexpr uint64_t kMostSeconds = INT64_MAX / kNsPerSecond / 2;
  uint64_t most_bytes = 0;
  for (const v1::LogWorkload& workload : workloads) most_bytes = std::max(most_bytes, ExtentBytes(workload));
  const uint64_t seconds = most_bytes / kAssumedReadBytesPerSecond + (most_bytes % kAssumedReadBytesPerSecond != 0);
  return static_cast<int64_t>(std::min(seconds, kMostSeconds)) * kNsPerSecond;
}

void ReadBacks::OnReadBack(const Host& host, v1::ReadBackDone& done) {
  if (awaited_.erase(host.index) == 0) return;
  v1::JournalRecord record;
  v1::HostReadBack& read_back = *record.mutable_disturb()->mutable_read_back();
  read_back.set_host(static_cast<uint32_t>(host.index));
  *read_back.mutable_done() = std::move(done);
  log_.Append(std::move(record));
}

void ReadBacks::OnCommandDone(const Host& host, const v1::CommandDone& done) {
  const auto awaited = awaited_.find(host.index);
  if (awaited == awaited_.end() || awaited->second != done.id() || done.code() == 0) return;
  v1::ReadBackDone refused;
  refused.set_error(absl::StrCat("the agent refused to read them back: ", done.message()));
  OnReadBack(host, refused);
}

}  // namespace plimsoll
