// How a session prepares: takes the plan, makes the work, looks for the other hosts, fills.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/session/session.h"
#include "common/agent_limits.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "common/version.h"

namespace plimsoll {
namespace {

// As the plan has it.
constexpr int64_t kLongestLeaseNs = 3600 * kNsPerSecond;

constexpr size_t kMostNameBytes = 255;

bool IsPlain(const std::string& name) {
  return name.size() <= kMostNameBytes && std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
         });
}

}  // namespace

absl::Status Session::PrepareWork(const v1::Prepare& prepare) {
  if (prepare.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the controller speaks protocol ", prepare.protocol_version(),
                                                      ", this agent (", kVersion, ") speaks ", kProtocolVersion,
                                                      ": install the same version on both"));
  }
  const v1::HostPlan& plan = prepare.plan();
  // They are shown to others before the plan as a whole is checked.
  if (!IsPlain(plan.run_id()) || !IsPlain(plan.host_label())) {
    return absl::InvalidArgumentError("run_id and host_label must be at most 255 letters, digits, '.', '_' and '-'");
  }
  if (plan.lease_ns() <= 0 || plan.lease_ns() > kLongestLeaseNs) {
    return absl::InvalidArgumentError(
        absl::StrCat("lease must be above 0 and at most 1h; it is ", FormatDuration(plan.lease_ns())));
  }
  lease_.SetLength(options_.clock->Now(), plan.lease_ns());
  {
    MutexLock lock(mutex_);
    run_id_ = plan.run_id();
    run_token_ = plan.run_token();
    SetPhase(kPreparing);
    keep_files_ = plan.keep_files();
  }
  spdlog::info("session of {}: run {} as {}", options_.peer, plan.run_id(), plan.host_label());
  const auto kind = options_.work.find(plan.work_case());
  if (kind == options_.work.end()) {
    return absl::UnimplementedError(
        absl::StrCat("this agent (", kVersion, ") knows no work of the kind that is asked for"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckDemand(options_.limits, kind->second.demand_of(plan)));
  budget_.SetMax(options_.limits.max_duration_ns());
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<Work> made, kind->second.make(plan, lease_.deadline_ns(), *this));
  std::shared_ptr<Work> work = std::move(made);
  std::optional<std::string> stop;
  {
    MutexLock lock(mutex_);
    work_ = work;
    awaits_fill_ = true;
    stop = broken_.has_value() ? broken_ : stop_reason_;
  }
  if (stop.has_value()) {
    work->Stop(*stop);  // it came while there was nothing to stop yet
    return absl::CancelledError("stopped while preparing");
  }
  return TellPlace(*work, v1::Look());
}

absl::Status Session::TellPlace(Work& work, const v1::Look& look) {
  v1::AgentMessage message;
  PLIMSOLL_ASSIGN_OR_RETURN(*message.mutable_placed(), work.Look(look));
  message.mutable_placed()->set_round(look.round());
  Send(std::move(message));
  return absl::OkStatus();
}

absl::Status Session::FillWork(Work& work) {
  if (!prepared_.has_value()) {
    {
      MutexLock lock(mutex_);
      awaits_fill_ = false;
      ++phases_;
      // One that came right behind Fill: from here on Deliver tells the work itself.
      for (const v1::ControllerMessage& message : inbox_) {
        if (message.has_stop()) return absl::CancelledError("stopped while preparing");
      }
    }
    PLIMSOLL_ASSIGN_OR_RETURN(prepared_, work.Prepare([this](uint64_t done_bytes, uint64_t total_bytes) {
      v1::AgentMessage progress;
      progress.mutable_prepare_progress()->set_done_bytes(done_bytes);
      progress.mutable_prepare_progress()->set_total_bytes(total_bytes);
      Send(std::move(progress));
    }));
    MutexLock lock(mutex_);
    SetPhase(kWorking);
  }
  v1::AgentMessage message;
  *message.mutable_prepared() = *prepared_;
  Send(std::move(message));
  return absl::OkStatus();
}

}  // namespace plimsoll
