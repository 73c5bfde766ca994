#include "controller/fleet/fleet.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/kernel_clock.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxLabelBytes = 48;

// Puts what one agent sends into the run's queue.
class QueueingListener final : public AgentListener {
 public:
  QueueingListener(size_t host, const Clock& clock, EventQueue& events) : host_(host), clock_(clock), events_(events) {}

  void OnDescribed(absl::StatusOr<v1::HostDescription> description) override {
    Push(description.ok() ? std::move(description) : Plain(description.status()));
  }
  bool OnMessage(v1::AgentMessage message) override {
    const size_t bytes = message.SpaceUsedLong();
    return Push(std::move(message), bytes);
  }
  bool HasRoom() override { return events_.HasRoom(); }
  void OnSessionClosed(absl::Status status) override { Push(SessionClosed{Plain(status)}); }
  void OnProbes(v1::ProbeBatch probes) override { Push(std::move(probes)); }
  void OnRenewed() override { Push(Renewed{}); }
  void OnChunkSent() override { Push(ChunkSent{}); }

 private:
  // A peer's error text may be any bytes. In a message they must be UTF-8, or the journal cannot be read; on a
  // terminal they must not steer.
  static absl::Status Plain(const absl::Status& status) {
    return absl::Status(status.code(), SanitizeForTerminal(std::string(status.message())));
  }
  template <typename Body>
  bool Push(Body body, size_t bytes = 0) {
    return events_.Push({host_, clock_.Now(), std::move(body)}, bytes);
  }

  const size_t host_;
  const Clock& clock_;
  EventQueue& events_;
};

std::string PlainName(const std::string& name) {
  std::string plain;
  for (const char c : name.substr(0, kMaxLabelBytes)) {
    plain.push_back(IsPlainNameChar(c) ? c : '_');
  }
  if (plain.empty() || plain[0] == '.') plain.insert(0, "host");
  return plain;
}

}  // namespace

std::string Host::WriterName(uint32_t qm) const {
  const bool named = qm >= 1 && qm <= qm_names.size();
  return absl::StrCat(label, "/", named ? qm_names[qm - 1] : absl::StrCat("qm", qm));
}

v1::HostJoined Host::Joined(const v1::HostPlan& plan) const {
  v1::HostJoined joined;
  joined.set_host(static_cast<uint32_t>(index));
  joined.set_label(label);
  joined.set_address(address);
  if (description.ok()) *joined.mutable_description() = *description;
  *joined.mutable_plan() = plan;
  joined.set_launch(launch);
  joined.set_same_clock(same_clock);
  joined.mutable_launch_words()->Assign(launch_words.begin(), launch_words.end());
  joined.set_node(node);
  return joined;
}

Fleet::Fleet(const std::vector<std::string>& addresses, double max_slew_ppm, const AgentClientFactory& make_client,
             const Clock& clock, EventQueue& events)
    : clock_(clock), events_(events), own_clock_(ReadKernelClock()) {
  for (const std::string& address : addresses) {
    auto host = std::make_unique<Host>();
    host->index = hosts_.size();
    host->address = address;
    host->clock = ClockFit(max_slew_ppm);
    host->listener = std::make_unique<QueueingListener>(host->index, clock, events);
    host->client = make_client(address, *host->listener);
    hosts_.push_back(std::move(host));
  }
  events_.OnRoom([this] {
    for (const auto& host : hosts_) host->client->ReadOn();
  });
}

Fleet::~Fleet() {
  events_.OnRoom(nullptr);
  for (const auto& host : hosts_) host->client->BeginEnd();
}

bool Fleet::Absorb(Event& event) {
  if (auto* description = std::get_if<absl::StatusOr<v1::HostDescription>>(&event.body)) {
    Host& of = host(event.host);
    of.description = std::move(*description);
    of.described = true;
    // Known before its first probe, or not at all.
    if (of.clock.empty()) {
      // Cloned machines have one boot id, and a loopback or Unix socket may lead to another machine through a tunnel.
      of.same_clock = of.description.ok() && of.launch == v1::AGENT_LAUNCH_CHILD &&
                      KernelClock{of.description->boot_id(), of.description->time_namespace()}.IsThatOf(own_clock_);
      if (of.same_clock) of.clock.AssumeSame();
    }
    return true;
  }
  if (auto* probes = std::get_if<v1::ProbeBatch>(&event.body)) {
    AbsorbProbes(host(event.host), *probes);
    return true;
  }
  return false;
}

void Fleet::AbsorbProbes(Host& host, const v1::ProbeBatch& probes) {
  host.probing = false;
  std::vector<int64_t> round_trips_ns;
  for (const v1::ProbeResult& probe : probes.probes()) {
    host.clock.Add({probe.sent_ns(), probe.agent_received_ns(), probe.agent_sent_ns(), probe.received_ns()});
    round_trips_ns.push_back(probe.received_ns() - probe.sent_ns());
    host.last_probed = std::max(host.last_probed, MonotonicNs{probe.sent_ns()});
    const int64_t wall_at_reception = clock_.WallNow().value - (clock_.Now().value - probe.received_ns());
    const int64_t half_trip = (probe.received_ns() - probe.sent_ns()) / 2;
    host.wall_difference_ns = probe.agent_wall_clock_ns() - (wall_at_reception - half_trip);
  }
  if (probes.probes().empty()) return;
  // A round trip that a retransmission made long does not predict those to come.
  const auto worst_of_best_half = round_trips_ns.begin() + (probes.probes_size() - 1) / 2;
  std::nth_element(round_trips_ns.begin(), worst_of_best_half, round_trips_ns.end());
  host.worst_round_trip_ns = *worst_of_best_half;
}

void Fleet::DescribeAll(const std::vector<std::vector<std::string>>& directories, int64_t timeout_ns,
                        const std::vector<std::vector<std::string>>& files) {
  for (auto& host : hosts_) {
    host->described = false;
    v1::DescribeRequest request;
    for (const std::string& directory : directories[host->index]) request.add_directories(directory);
    if (!files.empty()) request.mutable_files()->Assign(files[host->index].begin(), files[host->index].end());
    host->client->Describe(std::move(request), timeout_ns);
  }
  AwaitDescriptions(timeout_ns);
}

void Fleet::ListRunDirectories(const std::string& directory, int64_t timeout_ns) {
  for (auto& host : hosts_) {
    host->described = false;
    v1::DescribeRequest request;
    request.add_directories(directory);
    request.set_list_run_directories(true);
    host->client->Describe(std::move(request), timeout_ns);
  }
  AwaitDescriptions(timeout_ns);
}

void Fleet::ReadMountCounters(const std::vector<size_t>& hosts, const std::string& mount_point, int64_t timeout_ns) {
  for (const size_t index : hosts) {
    hosts_[index]->described = false;
    v1::DescribeRequest request;
    request.set_counters_of_mount(mount_point);
    hosts_[index]->client->Describe(std::move(request), timeout_ns);
  }
  AwaitDescriptions(timeout_ns);
}

void Fleet::AwaitDescriptions(int64_t timeout_ns) {
  // Every call ends by itself, at the latest with its deadline.
  while (!std::ranges::all_of(hosts_, [](const auto& host) { return host->described; }) && events_.interrupts() == 0) {
    for (Event& event : events_.TakeUntil(clock_.Now() + timeout_ns)) Absorb(event);
  }
}

void Fleet::FindQueueManagers(int64_t timeout_ns) {
  std::set<std::pair<std::string, uint64_t>> asked;
  std::vector<std::pair<Host*, v1::HostDescription>> before;
  for (auto& host : hosts_) {
    if (!host->description.ok() || host->description->directories().empty()) continue;
    v1::DescribeRequest request;
    bool unasked = false;
    for (const v1::DirectoryDescription& directory : host->description->directories()) {
      if (static_cast<size_t>(request.directories_size()) == host->directories) break;
      unasked = asked.emplace(host->description->boot_id(), directory.device()).second || unasked;
      request.add_directories(directory.path());
    }
    if (!unasked) continue;
    before.emplace_back(host.get(), *host->description);
    host->described = false;
    request.set_look_for_queue_managers(true);
    host->client->Describe(std::move(request), timeout_ns);
  }
  AwaitDescriptions(timeout_ns);
  // A host that did not answer this time is judged by its session, not by this.
  for (auto& [host, description] : before) {
    if (!host->description.ok()) host->description = std::move(description);
  }
}

void Fleet::ProbeAll(int count, int64_t timeout_ns) {
  for (auto& host : hosts_) {
    if (host->lost() || !host->description.ok()) continue;
    host->probing = true;
    host->client->Probe(count);
  }
  const MonotonicNs deadline = clock_.Now() + timeout_ns;
  while (std::ranges::any_of(hosts_, [](const auto& host) { return host->probing; }) && clock_.Now() < deadline &&
         events_.interrupts() == 0) {
    for (Event& event : events_.TakeUntil(deadline)) Absorb(event);
  }
}

void LabelHosts(std::vector<std::unique_ptr<Host>>& hosts) {
  std::set<std::string> taken;
  for (auto& host : hosts) {
    const std::string name = PlainName(host->description.ok() ? host->description->name() : host->address);
    host->label = name;
    for (int n = 2; !taken.insert(host->label).second; ++n) host->label = absl::StrCat(name, "-", n);
  }
}

}  // namespace plimsoll
