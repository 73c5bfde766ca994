#include "controller/fsck_course/fsck_course.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/fsck/fsck_check.h"
#include "controller/plan/ha_plan.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

// How often the hosts look for one another, and how far apart: an NFS client may remember for a moment that a name was
// not there.
constexpr uint32_t kLooks = 4;
constexpr int64_t kLookAgainNs = kNsPerSecond;
// An agent answers when a command's time is up; this much later something else is wrong.
constexpr int64_t kAnswerSlackNs = 30 * kNsPerSecond;
// A command of the user's own may take so long.
constexpr int64_t kCommandLimitNs = 600 * kNsPerSecond;
constexpr int64_t kLookAtCommandNs = 20 * kNsPerMs;
// Where no command could be sent, so that its number cannot be another's.
constexpr uint64_t kNotSent = UINT64_MAX;

v1::CheckAnswer NoAnswer(absl::StatusCode code, const std::string& message) {
  v1::CheckAnswer answer;
  answer.set_code(static_cast<int32_t>(code));
  answer.set_message(message);
  return answer;
}

}  // namespace

FsckCourse::FsckCourse(Options options)
    : options_(std::move(options)),
      clock_(*options_.clock),
      fleet_(*options_.fleet),
      driver_({.fleet = options_.fleet,
               .events = options_.events,
               .clock = options_.clock,
               .course = this,
               .lease_ns = options_.lease_ns,
               // Each command has a limit of its own.
               .hang_limit_ns = INT64_MAX}) {}

bool FsckCourse::SameKernel(size_t a, size_t b) const {
  return fleet_.host(a).description->boot_id() == fleet_.host(b).description->boot_id();
}

std::optional<Failure> FsckCourse::Begin() {
  for (const auto& host : fleet_.hosts()) {
    v1::HostPlan plan;
    plan.set_run_id(options_.run_id);
    plan.set_run_token(options_.run_token);
    plan.set_host_label(host->label);
    plan.set_host_index(static_cast<uint32_t>(host->index));
    plan.set_lease_ns(options_.lease_ns);
    v1::CheckWork& check = *plan.mutable_check();
    check.set_dir(options_.directory);
    check.set_files(options_.files);
    check.set_pages(kFsckPages);
    check.set_processes(options_.processes);
    driver_.Open(*host, plan);
  }
  if (!AwaitAll(Host::Phase::kPlaced)) return WhyEnded();
  if (!Look()) return AllWell() ? NotShared() : WhyEnded();
  v1::ControllerMessage fill;
  fill.mutable_fill();
  SendAll(fill, Host::Phase::kFilling);
  if (!AwaitAll(Host::Phase::kReady)) return WhyEnded();
  return std::nullopt;
}

bool FsckCourse::AwaitAll(Host::Phase phase) {
  const auto arrived = [&] {
    return std::ranges::all_of(fleet_.hosts(), [&](const auto& host) { return host->phase == phase; });
  };
  return driver_.PumpUntil([&] { return arrived() || !AllWell(); }) && AllWell();
}

void FsckCourse::SendAll(const v1::ControllerMessage& message, Host::Phase phase) {
  for (const auto& host : fleet_.hosts()) {
    if (!host->in_session()) continue;
    host->phase = phase;
    host->client->Send(message);
  }
}

bool FsckCourse::Look() {
  for (uint32_t round = 1; round <= kLooks; ++round) {
    v1::ControllerMessage message;
    message.mutable_look()->set_round(round);
    for (const auto& host : fleet_.hosts()) message.mutable_look()->add_hosts(host->label);
    SendAll(message, Host::Phase::kLooking);
    if (!AwaitAll(Host::Phase::kPlaced)) return false;
    const bool all = std::ranges::all_of(fleet_.hosts(), [&](const auto& host) {
      return host->placed.has_value() && host->placed->visible_hosts_size() >= static_cast<int>(fleet_.size());
    });
    if (all) return true;
    if (round < kLooks) Pause(kLookAgainNs);
  }
  return false;
}

Failure FsckCourse::NotShared() {
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : fleet_.hosts()) {
    const auto& visible = host->placed->visible_hosts();
    const std::set<std::string> seen(visible.begin(), visible.end());
    std::vector<std::string> unseen;
    for (const auto& other : fleet_.hosts()) {
      if (seen.count(other->label) == 0) unseen.push_back(other->label);
    }
    if (unseen.empty()) continue;
    const v1::DirectoryDescription& directory = host->description->directories(0);
    failure.lines.push_back(absl::StrCat(host->label, ": ", options_.directory, " (", directory.fs_type(),
                                         directory.fs_source().empty() ? "" : " from ", directory.fs_source(),
                                         ") does not show what ", absl::StrJoin(unseen, ", "),
                                         " made there: it is not one shared directory; nothing was checked"));
  }
  for (std::string& line : End()) failure.lines.push_back(std::move(line));
  return failure;
}

Failure FsckCourse::WhyEnded() {
  Failure failure{Exit::kCannotRun, losses_};
  if (losses_.empty()) failure = {Exit::kInconclusive, {"interrupted: nothing was checked"}};
  if (denied_) failure.code = Exit::kWrong;
  for (std::string& line : End()) failure.lines.push_back(std::move(line));
  return failure;
}

std::vector<std::string> FsckCourse::End() {
  v1::ControllerMessage release;
  release.mutable_release();
  SendAll(release, Host::Phase::kReleasing);
  driver_.PumpUntil(
      [this] { return std::ranges::none_of(fleet_.hosts(), [](const auto& host) { return host->in_session(); }); });
  driver_.Close();
  return left_behind_;
}

void FsckCourse::OnMessage(Host& host, v1::AgentMessage& message) {
  if (message.has_check_answer()) {
    const uint64_t id = message.check_answer().id();
    if (sent_.erase(id) != 0) answers_[id] = std::move(*message.mutable_check_answer());
  } else if (message.has_command_done()) {
    // Taken: what comes of it follows. Else this is the answer.
    const v1::CommandDone& done = message.command_done();
    if (done.code() != 0 && sent_.erase(done.id()) != 0) {
      answers_[done.id()] = NoAnswer(static_cast<absl::StatusCode>(done.code()), done.message());
    }
  } else if (message.has_placed()) {
    host.placed = message.placed();
    host.phase = Host::Phase::kPlaced;
  } else if (message.has_prepared()) {
    host.phase = Host::Phase::kReady;
  } else if (message.has_fault()) {
    const auto code = static_cast<absl::StatusCode>(message.fault().code());
    if (code == absl::StatusCode::kPermissionDenied || code == absl::StatusCode::kInvalidArgument ||
        code == absl::StatusCode::kResourceExhausted || code == absl::StatusCode::kOutOfRange ||
        code == absl::StatusCode::kNotFound) {
      denied_ = true;
    }
    Lost(host, message.fault().message());
  } else if (message.has_released() && !message.released().left_behind().empty()) {
    left_behind_.push_back(absl::StrCat(host.label, ": not removed: ", message.released().left_behind()));
  }
}

void FsckCourse::OnClosed(Host& host, const absl::Status& status) {
  if (host.phase != Host::Phase::kReleasing) {
    Lost(host, status.ok() ? "the session ended early" : std::string(status.message()));
  }
  host.phase = Host::Phase::kGone;
}

void FsckCourse::OnLost(Host& host, const std::string& reason) {
  Lost(host, reason);
}

void FsckCourse::Lost(const Host& host, const std::string& reason) {
  // A fault comes before the end of its stream, and is the cause.
  if (expected_losses_.count(host.label) != 0) return;
  const std::string front = absl::StrCat(host.label, ": ");
  const bool known =
      std::ranges::any_of(losses_, [&](const std::string& line) { return line.compare(0, front.size(), front) == 0; });
  if (!known) losses_.push_back(absl::StrCat(front, reason));
}

uint64_t FsckCourse::Send(size_t host, const v1::CheckCommand& command) {
  if (!fleet_.host(host).in_session()) return kNotSent;
  v1::Command envelope;
  *envelope.mutable_check() = command;
  const uint64_t id = driver_.SendCommand(fleet_.host(host), std::move(envelope));
  sent_[id] = {host, clock_.Now().value + command.timeout_ns() + kAnswerSlackNs};
  return id;
}

v1::CheckAnswer FsckCourse::Await(uint64_t sent) {
  if (sent == kNotSent) return NoAnswer(absl::StatusCode::kUnavailable, "the host is not in session");
  const auto waiting = sent_.find(sent);
  if (waiting != sent_.end()) {
    const Host& host = fleet_.host(waiting->second.host);
    const int64_t left_ns = waiting->second.deadline_ns - clock_.Now().value;
    driver_.PumpFor(std::max<int64_t>(left_ns, 0),
                    [&] { return answers_.count(sent) != 0 || !host.in_session() || driver_.interrupted(); });
  }
  const auto answer = answers_.find(sent);
  if (answer == answers_.end()) {
    sent_.erase(sent);
    if (driver_.interrupted()) return NoAnswer(absl::StatusCode::kCancelled, "interrupted");
    return NoAnswer(absl::StatusCode::kUnavailable, "no answer");
  }
  v1::CheckAnswer taken = std::move(answer->second);
  answers_.erase(answer);
  return taken;
}

void FsckCourse::Pause(int64_t duration_ns) {
  driver_.PumpFor(duration_ns, [this] { return !AllWell(); });
}

absl::Status FsckCourse::Provoke(Fault fault, size_t host) {
  std::vector<std::string> arguments = options_.commands.at(fault);
  // As the operator calls the host: its agent's name for it is the agent's choice.
  for (std::string& argument : arguments) argument = FillHost(argument, fleet_.host(host).address);
  const auto command = MakeCommandRunner()->Start(arguments);
  if (!command.ok()) return command.status();
  const int64_t deadline_ns = NowNs() + kCommandLimitNs;
  while (true) {
    if (const std::optional<std::string> ended = (*command)->Poll(); ended.has_value()) {
      return ended->empty() ? absl::OkStatus() : absl::AbortedError(absl::StrCat(arguments[0], " failed: ", *ended));
    }
    if (over()) return absl::CancelledError("ended early");
    if (NowNs() >= deadline_ns) {
      return absl::DeadlineExceededError(absl::StrCat("it still runs after ", FormatDuration(kCommandLimitNs)));
    }
    Pause(kLookAtCommandNs);
  }
}

absl::StatusOr<std::string> FsckCourse::AwaitBoot(size_t host, int64_t limit_ns) {
  const int64_t deadline_ns = NowNs() + limit_ns;
  // Short against the lease: no other session is kept meanwhile.
  const int64_t ask_ns = std::min(options_.lease_ns / 4, kNsPerSecond);
  absl::Status status = absl::DeadlineExceededError("its agent still answers in the session from before");
  while (NowNs() < deadline_ns && !over()) {
    // While the session lasts the host has not died.
    if (!fleet_.host(host).in_session()) {
      const absl::StatusOr<v1::HostDescription> description = options_.describe(fleet_.host(host).address, ask_ns);
      if (description.ok()) return description->boot_id();
      status = description.status();
    }
    Pause(ask_ns);
  }
  return status;
}

bool FsckCourse::over() const {
  return !AllWell();
}

MappedMoment FsckCourse::ToLocal(size_t host, int64_t host_ns) const {
  return fleet_.host(host).clock.ToLocal(host_ns);
}

}  // namespace plimsoll
