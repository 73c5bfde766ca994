// How the conductor prepares the hosts: they make their directories, look for one another, and fill.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/run/conductor.h"
#include "controller/run/preflight.h"

namespace plimsoll {
namespace {

constexpr int64_t kSecondLookNs = kNsPerSecond;

// What an agent says is wrong with what it was asked for, as against trouble of its own.
bool IsWrongInput(int32_t code) {
  switch (static_cast<absl::StatusCode>(code)) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<Failure> Conductor::PrepareAll() {
  for (auto& host : fleet_.hosts()) driver_.Open(*host, options_.host_plans[host->index]);
  options_.progress->Preparing();
  AwaitPreparing(Host::Phase::kPlaced);
  std::optional<Failure> failure = PreparationFailure();
  if (!failure.has_value() && fleet_.size() > 1) {
    LookAll();
    // What one look cannot know (a server that answers from a copy of its own) a second one a little later can; hosts
    // that all share one storage need none.
    if (!PreparationFailure().has_value() && FindSharedStorage(fleet_.hosts()).size() > 1) {
      Pause(kSecondLookNs);
      if (!PreparationFailure().has_value()) LookAll();
    }
    failure = PreparationFailure();
  }
  if (failure.has_value()) return failure;
  std::vector<v1::LogWorkload> workloads;
  for (const v1::HostPlan& plan : options_.host_plans) workloads.push_back(plan.log().workload());
  if (failure = CheckSpace(fleet_.hosts(), workloads); failure.has_value()) return failure;
  for (auto& host : fleet_.hosts()) {
    host->phase = Host::Phase::kFilling;
    v1::ControllerMessage message;
    message.mutable_fill();
    Send(*host, std::move(message));
  }
  AwaitPreparing(Host::Phase::kReady);
  return PreparationFailure();
}

void Conductor::AwaitPreparing(Host::Phase phase) {
  PumpUntil([this, phase] {
    return driver_.interrupted() || All([phase](const Host& host) { return host.phase == phase; }) ||
           !All([](const Host& host) { return !host.lost() && !host.fault.has_value(); });
  });
}

void Conductor::LookAll() {
  v1::ControllerMessage message;
  message.mutable_look()->set_round(++look_round_);
  for (const auto& host : fleet_.hosts()) message.mutable_look()->add_hosts(host->label);
  for (auto& host : fleet_.hosts()) {
    host->phase = Host::Phase::kLooking;
    Send(*host, message);
  }
  AwaitPreparing(Host::Phase::kPlaced);
}

void Conductor::Settle() {
  if (options_.plan.settle_ns() <= 0) return;
  options_.progress->Settling(clock_.Now(), options_.plan.settle_ns());
  Pause(options_.plan.settle_ns());
  options_.progress->StepEnds();
}

std::optional<Failure> Conductor::PreparationFailure() const {
  if (driver_.interrupted()) return Failure{Exit::kInconclusive, {"interrupted while preparing: nothing was measured"}};
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : fleet_.hosts()) {
    if (host->fault.has_value()) {
      failure.lines.push_back(absl::StrCat(host->label, ": ", host->fault->message()));
      if (!IsWrongInput(host->fault->code())) failure.code = Exit::kCannotRun;
    } else if (host->lost()) {
      failure.lines.push_back(absl::StrCat(host->label, " (", host->address, ") was lost while preparing"));
      failure.code = Exit::kCannotRun;
    }
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

}  // namespace plimsoll
