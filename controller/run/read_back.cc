#include "controller/run/read_back.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll {

void ReadBacks::OnReadBack(const Host& host, v1::ReadBackDone& done) {
  // One that nothing waits for any more is kept all the same.
  awaited_.erase(host.index);
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
