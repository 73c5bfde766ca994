#include "tests/unit/run/simulated_agent.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "tests/direct_agent.h"

namespace plimsoll::tests {
namespace {

// What a message that is not a frame takes on the wire, some hundred bytes of headers included.
constexpr size_t kSmallBytes = 150;
constexpr size_t kHeaderBytes = 100;

}  // namespace

// All calls come from the world's thread, which coordinates the run.
class SimulatedAgent::Client final : public AgentClient {
 public:
  Client(SimulatedAgent& agent, std::shared_ptr<Controller> controller)
      : agent_(agent), controller_(std::move(controller)) {}
  // Its connections are closed, whatever ends the process.
  ~Client() override {
    controller_->listener = nullptr;
    agent_.ToAgent(kSmallBytes, [&agent = agent_] { agent.StreamBroke(); });
  }

  void Describe(v1::DescribeRequest request, int64_t /*timeout_ns*/) override {
    agent_.ToAgent(kSmallBytes, [&agent = agent_, request] {
      agent.ToController(kSmallBytes, [description = agent.Describe(request)](Controller& controller) {
        controller.listener->OnDescribed(description);
      });
    });
  }
  void Probe(int count) override {
    const bool under_way = controller_->probes_wanted > 0;
    controller_->probes_wanted += count;
    if (!under_way) agent_.ExchangeProbe();
  }
  void OpenSession() override {
    controller_->session_open = true;
    agent_.ToAgent(kSmallBytes, [&agent = agent_] { agent.Open(); });
  }
  void Send(v1::ControllerMessage message) override {
    if (!controller_->session_open) return;
    agent_.ToAgent(kSmallBytes, [&agent = agent_, message] { agent.Deliver(message); });
  }
  void CloseSession() override {
    if (!std::exchange(controller_->session_open, false)) return;
    agent_.ToAgent(kSmallBytes, [&agent = agent_] { agent.StreamBroke(); });
    controller_->listener->OnSessionClosed(absl::CancelledError("given up"));
  }
  // Lost where no connection can be made; a later one may get through.
  void Renew(v1::RenewRequest request, int64_t /*timeout_ns*/) override {
    if (!agent_.link_.up()) return;
    agent_.world_.At(agent_.world_.Now() + agent_.link_.round_trip_ns(), agent_.process_,
                     [&agent = agent_, controller = controller_, request] {
                       if (agent.killed_ || agent.session_ == nullptr || !agent.link_.up()) return;
                       if (!agent.session_->Renew(request.run_id(), request.run_token())) return;
                       agent.last_message_ = agent.world_.Now();
                       agent.world_.Changed();
                       agent.Arrive(controller, [&agent](Controller& to) {
                         agent.last_sent_received_ = agent.world_.Now();
                         to.listener->OnRenewed();
                       });
                     });
  }

 private:
  SimulatedAgent& agent_;
  const std::shared_ptr<Controller> controller_;
};

SimulatedAgent::SimulatedAgent(VirtualClock& world, Options options)
    : world_(world),
      options_(std::move(options)),
      // To each agent a connection of its own.
      peer_(absl::StrCat("10.9.0.1:4", options_.name.size(), options_.name.front() % 100)),
      clock_(world, process_, options_.ahead_ns),
      session_clock_(world, process_, options_.ahead_ns),
      link_(world, options_.delay_ns),
      storage_(world, clock_, absl::StrCat("/simulated/plimsoll/", options_.name)) {}

SimulatedAgent::~SimulatedAgent() = default;

std::unique_ptr<AgentClient> SimulatedAgent::MakeClient(AgentListener& listener) {
  controller_ = std::make_shared<Controller>();
  controller_->listener = &listener;
  return std::make_unique<Client>(*this, controller_);
}

void SimulatedAgent::DelayReading(int64_t delay_ns, int64_t gap_ns) {
  controller_->readable = world_.Now() + delay_ns;
  controller_->gap_ns = gap_ns;
}

void SimulatedAgent::ToAgent(size_t bytes, std::function<void()> arrive) {
  link_.Send(SimulatedLink::kToAgent, bytes, [this, arrive = std::move(arrive)] {
    world_.At(world_.Now(), process_, [this, arrive] {
      if (!killed_) arrive();
    });
  });
}

void SimulatedAgent::ToController(size_t bytes, std::function<void(Controller&)> arrive) {
  link_.Send(SimulatedLink::kToController, bytes,
             [this, controller = controller_, arrive = std::move(arrive)] { Arrive(controller, arrive); });
}

void SimulatedAgent::Arrive(const std::shared_ptr<Controller>& controller,
                            const std::function<void(Controller&)>& arrive) {
  world_.At(world_.Now(), world_.own_process(), [this, controller, arrive] {
    const auto read = [controller, arrive] {
      if (controller->listener != nullptr) arrive(*controller);
    };
    if (world_.Now() >= controller->readable) return read();
    // Behind what arrived earlier.
    world_.At(controller->readable, read);
    controller->readable = controller->readable + controller->gap_ns;
  });
}

void SimulatedAgent::Open() {
  Session::Options options;
  WorkKind& kind = options.work[v1::HostPlan::kLog];
  kind.demand_of = [](const v1::HostPlan& plan) { return LogDemand(plan.log().workload(), plan.log().steps()); };
  kind.make = [this](const v1::HostPlan& plan, const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink) {
    const SimulatedWork::Surroundings around{
        .world = world_, .process = process_, .clock = clock_, .storage = storage_, .released = [this] {
          released_ = true;
        }};
    return SimulatedWork::Create(plan, around, lease_deadline_ns, sink);
  };
  options.clock = &session_clock_;
  options.peer = peer_;
  options.wake = [this] { SendAll(); };
  options.finished = [this](const absl::Status& status) {
    end_ = absl::Status(status.code(), status.message());
    SendAll();
    // The last that the session's thread does.
    world_.LeaveWorld();
  };
  last_message_ = world_.Now();
  session_ = std::make_unique<Session>(std::move(options));
  world_.AwaitNewThread();
}

void SimulatedAgent::Deliver(v1::ControllerMessage message) {
  last_message_ = world_.Now();
  if (message.has_prepare()) plan_ = message.prepare().plan();
  if (message.has_arm()) {
    const v1::LogStep& step = plan_.log().steps(static_cast<int>(message.arm().step()));
    step_end_ = clock_.InWorld({message.arm().start_ns() + step.warmup_ns() + step.duration_ns()});
  }
  session_->Deliver(std::move(message));
  world_.Changed();
}

void SimulatedAgent::StreamBroke() {
  if (session_ == nullptr) return;
  session_->Break("the controller is gone");
  session_->outbox().Close();
  world_.Changed();
}

void SimulatedAgent::SendAll() {
  WatchProgress();
  while (std::optional<v1::AgentMessage> message = session_->outbox().Pop()) {
    if (killed_) continue;
    const size_t bytes = message->ByteSizeLong() + kHeaderBytes;
    ToController(bytes, [this, message = *std::move(message)](Controller& controller) {
      if (!controller.session_open) return;
      last_sent_received_ = world_.Now();
      controller.listener->OnMessage(message);
    });
  }
  if (!end_.has_value() || std::exchange(end_sent_, true) || killed_) return;
  ToController(kSmallBytes, [status = *end_](Controller& controller) {
    if (std::exchange(controller.session_open, false)) controller.listener->OnSessionClosed(status);
  });
}

void SimulatedAgent::WatchProgress() {
  const uint64_t progress = session_->Progress();
  if (std::exchange(seen_progress_, progress) != progress) last_progress_ = world_.Now();
}

void SimulatedAgent::ExchangeProbe() {
  const int64_t sent_ns = world_.Now().value;
  ToAgent(kSmallBytes, [this, sent_ns] {
    v1::ProbeResult probe;
    probe.set_sent_ns(sent_ns);
    probe.set_agent_received_ns(clock_.Now().value);
    probe.set_agent_sent_ns(clock_.Now().value);
    probe.set_agent_wall_clock_ns(clock_.WallNow().value);
    ToController(kSmallBytes, [this, probe](Controller& controller) {
      v1::ProbeResult& result = *controller.probes.add_probes();
      result = probe;
      result.set_received_ns(world_.Now().value);
      if (--controller.probes_wanted > 0) return ExchangeProbe();
      controller.listener->OnProbes(std::exchange(controller.probes, {}));
    });
  });
}

v1::HostDescription SimulatedAgent::Describe(const v1::DescribeRequest& request) const {
  v1::HostDescription description = DescriptionOf(options_.name, request);
  description.set_version(kVersion);
  description.set_boot_id(options_.name);
  return description;
}

void SimulatedAgent::Kill() {
  killed_ = true;
  process_.Suspend();
  // Its kernel closes its connections.
  ToController(kSmallBytes, [](Controller& controller) {
    if (std::exchange(controller.probes_wanted, 0) > 0) {
      controller.listener->OnProbes(std::exchange(controller.probes, {}));
    }
    if (!std::exchange(controller.session_open, false)) return;
    controller.listener->OnSessionClosed(absl::UnavailableError("connection closed"));
  });
}

void SimulatedAgent::Bury() {
  storage_.LetGo();
  process_.Resume();
  StreamBroke();
}

std::string SimulatedAgent::state() const {
  if (session_ == nullptr || session_->over()) return "idle";
  return session_->holder().doing();
}

}  // namespace plimsoll::tests
