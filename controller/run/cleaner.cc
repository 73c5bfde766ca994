#include "controller/run/cleaner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/algorithm.h"
#include "controller/run/session_driver.h"

namespace plimsoll {
namespace {

// The sessions of all hosts that clean, from Prepare to their ends. A host that is lost, or that an interrupt leaves,
// has its answer all the same.
class Cleaning final : public SessionCourse {
 public:
  Cleaning(Fleet& fleet, const std::vector<size_t>& asked, int64_t lease_ns, const Clock& clock, EventQueue& events)
      : fleet_(fleet),
        asked_(asked),
        driver_({.fleet = &fleet,
                 .events = &events,
                 .clock = &clock,
                 .course = this,
                 .lease_ns = lease_ns,
                 // Cleaning waits for its host as long as that takes.
                 .hang_limit_ns = INT64_MAX}) {}

  std::vector<CleanAnswer> Run(v1::HostPlan plan) {
    for (const size_t index : asked_) {
      plan.set_host_label(fleet_.host(index).label);
      driver_.Open(fleet_.host(index), plan);
    }
    if (driver_.PumpUntil([this] { return driver_.interrupted() || Over(); }) && !Over()) {
      v1::ControllerMessage stop;
      stop.mutable_stop()->set_reason("interrupted");
      for (const size_t index : asked_) {
        if (fleet_.host(index).in_session()) fleet_.host(index).client->Send(stop);
      }
      driver_.PumpUntil([this] { return Over(); });
    }
    std::vector<CleanAnswer> answers;
    for (const size_t index : asked_) {
      if (fleet_.host(index).in_session()) Fail(index, absl::CancelledError("interrupted"));
      answers.push_back(std::move(answers_[index]));
    }
    return answers;
  }

 private:
  void OnMessage(Host& host, v1::AgentMessage& message) override {
    if (message.has_fault()) {
      Fail(host.index, absl::Status(static_cast<absl::StatusCode>(message.fault().code()), message.fault().message()));
    }
    v1::ControllerMessage next;
    if (message.has_placed()) {
      host.phase = Host::Phase::kFilling;
      next.mutable_fill();
    } else if (message.has_prepared()) {
      const auto& cleaned = message.prepared().cleaned();
      answers_[host.index].cleaned.assign(cleaned.begin(), cleaned.end());
      host.phase = Host::Phase::kReleasing;
      next.mutable_release();
    } else {
      return;
    }
    host.client->Send(std::move(next));
  }
  void OnClosed(Host& host, const absl::Status& status) override {
    if (host.phase != Host::Phase::kReleasing) {
      Fail(host.index, status.ok() ? absl::UnavailableError("the session ended early") : status);
    }
    host.phase = Host::Phase::kGone;
  }
  void OnLost(Host& host, const std::string& reason) override { Fail(host.index, absl::UnavailableError(reason)); }

  bool Over() const {
    return std::none_of(asked_.begin(), asked_.end(), [this](size_t index) { return fleet_.host(index).in_session(); });
  }
  // The first error is the cause.
  void Fail(size_t host, const absl::Status& status) { answers_[host].status.Update(status); }

  Fleet& fleet_;
  const std::vector<size_t>& asked_;
  std::map<size_t, CleanAnswer> answers_;
  SessionDriver driver_;
};

}  // namespace

std::vector<FoundRun> FoundRuns(const std::vector<std::unique_ptr<Host>>& hosts) {
  // A directory's place in the list, by run and label.
  std::map<std::pair<std::string, std::string>, size_t> places;
  std::vector<FoundRun> found;
  for (const auto& host : hosts) {
    if (!host->description.ok() || host->description->directories().empty()) continue;
    for (const v1::RunDirectoryDescription& directory : host->description->directories(0).run_directories()) {
      const auto [place, added] = places.emplace(std::pair(directory.run_id(), directory.host_label()), found.size());
      if (added) {
        found.push_back({host->index, directory});
      } else if (directory.owner() == v1::RUN_DIRECTORY_OWNER_THIS_AGENT) {
        found[place->second] = {host->index, directory};
      }
    }
  }
  StableSort(found, [](const FoundRun& a, const FoundRun& b) {
    return std::pair(a.host, a.directory.path()) < std::pair(b.host, b.directory.path());
  });
  return found;
}

bool MayClean(const v1::RunDirectoryDescription& directory, const std::string& run_id) {
  if (directory.in_use()) return false;
  const bool own = directory.owner() == v1::RUN_DIRECTORY_OWNER_THIS_AGENT;
  if (run_id.empty()) return own && !directory.kept() && !directory.shared();
  return directory.run_id() == run_id && (own || directory.shared());
}

std::vector<CleanAnswer> CleanHosts(Fleet& fleet, const std::vector<size_t>& asked, const std::string& directory,
                                    const std::string& run_id, const std::string& session_id, int64_t lease_ns,
                                    const Clock& clock, EventQueue& events) {
  v1::HostPlan plan;
  plan.set_run_id(session_id);
  plan.set_lease_ns(lease_ns);
  plan.mutable_clean()->set_dir(directory);
  plan.mutable_clean()->set_run_id(run_id);
  return Cleaning(fleet, asked, lease_ns, clock, events).Run(std::move(plan));
}

}  // namespace plimsoll
