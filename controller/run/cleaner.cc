#include "controller/run/cleaner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/stable_sort.h"
#include "common/units.h"
#include "common/version.h"

namespace plimsoll {
namespace {

// One host's session, from Prepare to its end.
struct CleanSession {
  size_t host = 0;
  std::optional<v1::Prepared> prepared;
  absl::Status status;
  MonotonicNs last_heard;
  bool over = false;
};

void Prepare(Host& host, const v1::HostPlan& plan) {
  host.client->OpenSession();
  v1::ControllerMessage message;
  message.mutable_prepare()->set_protocol_version(kProtocolVersion);
  *message.mutable_prepare()->mutable_plan() = plan;
  host.client->Send(std::move(message));
}

void HandleMessage(Host& host, CleanSession& session, const v1::AgentMessage& message) {
  if (message.has_fault() && session.status.ok()) {
    session.status = absl::Status(static_cast<absl::StatusCode>(message.fault().code()), message.fault().message());
  }
  if (!message.has_prepared()) return;
  session.prepared = message.prepared();
  v1::ControllerMessage release;
  release.mutable_release();
  host.client->Send(std::move(release));
}

void HandleEvent(Fleet& fleet, CleanSession& session, const Event& event) {
  session.last_heard = event.time;
  if (const auto* message = std::get_if<v1::AgentMessage>(&event.body)) {
    HandleMessage(fleet.host(session.host), session, *message);
  } else if (const auto* closed = std::get_if<SessionClosed>(&event.body)) {
    session.over = true;
    if (session.status.ok() && !session.prepared.has_value()) {
      session.status = closed->status.ok() ? absl::UnavailableError("the session ended early") : closed->status;
    }
  }
}

void SendAll(Fleet& fleet, const std::vector<CleanSession>& sessions, const v1::ControllerMessage& message) {
  for (const CleanSession& session : sessions) {
    if (!session.over) fleet.host(session.host).client->Send(message);
  }
}

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
  std::vector<CleanSession> sessions;
  for (const size_t index : asked) {
    Host& host = fleet.host(index);
    v1::HostPlan plan;
    plan.set_run_id(session_id);
    plan.set_host_label(host.label);
    plan.set_lease_ns(lease_ns);
    plan.mutable_clean()->set_dir(directory);
    plan.mutable_clean()->set_run_id(run_id);
    sessions.push_back({index, std::nullopt, absl::OkStatus(), clock.Now(), false});
    Prepare(host, plan);
  }
  const int64_t heartbeat_ns = std::min(lease_ns / 4, kNsPerSecond);
  MonotonicNs next_heartbeat = clock.Now() + heartbeat_ns;
  bool stopped = false;
  while (!std::all_of(sessions.begin(), sessions.end(), [](const CleanSession& session) { return session.over; })) {
    for (const Event& event : events.TakeUntil(next_heartbeat)) {
      const auto session = std::find_if(sessions.begin(), sessions.end(),
                                        [&](const CleanSession& each) { return each.host == event.host; });
      if (session != sessions.end()) HandleEvent(fleet, *session, event);
    }
    if (events.interrupts() > 0 && !stopped) {
      stopped = true;
      v1::ControllerMessage stop;
      stop.mutable_stop()->set_reason("interrupted");
      SendAll(fleet, sessions, stop);
    }
    const MonotonicNs now = clock.Now();
    if (now >= next_heartbeat) {
      next_heartbeat = now + heartbeat_ns;
      v1::ControllerMessage beat;
      beat.mutable_heartbeat();
      SendAll(fleet, sessions, beat);
    }
    for (CleanSession& session : sessions) {
      const bool silent = now - session.last_heard > lease_ns;
      if (session.over || (!silent && events.interrupts() < 2)) continue;
      session.over = true;
      session.status = silent ? absl::UnavailableError(absl::StrCat("said nothing for ", FormatDuration(lease_ns)))
                              : absl::CancelledError("interrupted");
    }
  }
  std::vector<CleanAnswer> answers;
  for (const CleanSession& session : sessions) {
    CleanAnswer& answer = answers.emplace_back();
    answer.status = session.status;
    if (session.prepared.has_value()) {
      answer.cleaned.assign(session.prepared->cleaned().begin(), session.prepared->cleaned().end());
    }
  }
  return answers;
}

}  // namespace plimsoll
