// The end of a step that was disturbed.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "controller/run/coordinator.h"

namespace plimsoll {

void Coordinator::EndDisturbances(uint32_t step) {
  if (options_.disturber == nullptr) return;
  options_.disturber->Finish();
  if (!options_.disturber->idle()) options_.feed->Releasing("undoing a disturbance");
  if (!PumpUntil([this] { return options_.disturber->idle(); })) return options_.disturber->Leave();
  const auto must_end = [this] { return driver_.interrupted() || !StoppedByGuard().empty(); };
  if (must_end()) return;
  if (options_.guard != nullptr) {
    if (const std::string why = options_.guard->MayNotBegin(ReadBackNs(), clock_.Now()); !why.empty()) {
      return log_.Note(absl::StrCat("The files were not read back: ", why, "."));
    }
  }
  options_.feed->Releasing("reading the files back");
  // A host whose writers failed has acknowledged writes, too.
  for (auto& host : fleet_.hosts()) {
    if (host->phase != Host::Phase::kReady) continue;
    v1::Command command;
    command.mutable_read_back()->set_step(step);
    read_backs_.Expect(*host, SendCommand(*host, std::move(command)));
  }
  PumpUntil([&] { return read_backs_.done() || must_end(); });
  read_backs_.Forget();
}

}  // namespace plimsoll
