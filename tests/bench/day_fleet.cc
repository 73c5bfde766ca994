#include "tests/bench/day_fleet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll::tests {
namespace {

// One way through the network, and back.
constexpr int64_t kThereNs = 90 * kNsPerUs;
constexpr int64_t kRoundTripNs = 200 * kNsPerUs;
// A recorder cuts its frames so long after their end, and more by up to as much again.
constexpr int64_t kCutNs = 2 * kNsPerMs;

std::string NameOf(uint32_t host) {
  return absl::StrFormat("day%03d", host + 1);
}

}  // namespace

// One agent, until its controller drops it.
class DayAgent final : public DirectAgent {
 public:
  DayAgent(DayFleet& fleet, uint32_t number, AgentListener& listener)
      : DirectAgent(fleet.world_, listener), fleet_(fleet), load_(fleet.load_), number_(number) {}

  void Describe(v1::DescribeRequest request, int64_t /*timeout_ns*/) override {
    v1::HostDescription description = DescriptionOf(NameOf(number_), request);
    description.set_version(kVersion);
    description.set_boot_id(absl::StrCat("boot of ", NameOf(number_)));
    description.set_cpus(8);
    description.set_usable_cpus(8);
    description.set_clock_resolution_ns(1);
    listener_.OnDescribed(std::move(description));
  }

  void Probe(int count) override {
    if (silent_) return;
    const int64_t asked_ns = clock_.Now().value;
    const DriftingClock& own = *record().clock;
    fleet_.world_.At({asked_ns + count * kRoundTripNs}, [this, asked_ns, count, &own] {
      if (silent_) return;
      int64_t sent_ns = asked_ns;
      AnswerProbes(count, [&](v1::ProbeResult& probe) {
        probe.set_sent_ns(sent_ns);
        probe.set_agent_received_ns(own.AtWorld({sent_ns + kThereNs}));
        probe.set_agent_sent_ns(probe.agent_received_ns() + 5 * kNsPerUs);
        probe.set_agent_wall_clock_ns(clock_.WallNow().value);
        sent_ns += kRoundTripNs;
        probe.set_received_ns(sent_ns);
      });
    });
  }

  void OpenSession() override {}
  void CloseSession() override { silent_ = true; }
  void Renew(v1::RenewRequest /*request*/, int64_t /*timeout_ns*/) override {
    if (!silent_) listener_.OnRenewed();
  }

  void Send(v1::ControllerMessage message) override {
    if (silent_) return;
    switch (message.message_case()) {
      case v1::ControllerMessage::kPrepare:
        plan_ = message.prepare().plan();
        return Place(0);
      case v1::ControllerMessage::kLook:
        return Place(message.look().round());
      case v1::ControllerMessage::kFill:
        return Answer([&](v1::AgentMessage& answer) {
          v1::Prepared& prepared = *answer.mutable_prepared();
          prepared.set_directory(absl::StrCat(plan_.log().workload().dir(), "/", plan_.host_label()));
          prepared.set_direct(true);
          prepared.set_open_flags("O_RDWR|O_DSYNC|O_DIRECT");
          ShowHosts(*prepared.mutable_visible_hosts());
        });
      case v1::ControllerMessage::kArm:
        return Arm(message.arm());
      case v1::ControllerMessage::kHeartbeat:
        return Answer([&](v1::AgentMessage& answer) {
          answer.mutable_alive()->set_id(message.heartbeat().id());
          answer.mutable_alive()->set_state(running_ ? "running" : "ready");
          answer.mutable_alive()->set_progress(static_cast<uint64_t>(record().sent_s));
        });
      case v1::ControllerMessage::kStop:
        if (running_) FinishStep(message.stop().reason());
        return;
      case v1::ControllerMessage::kCommand:
        return Answer([&](v1::AgentMessage& answer) { answer.mutable_command_done()->set_id(message.command().id()); });
      case v1::ControllerMessage::kRelease:
        Answer([](v1::AgentMessage& answer) { answer.mutable_released(); });
        fleet_.Released();
        return listener_.OnSessionClosed(absl::OkStatus());
      case v1::ControllerMessage::kPatternChunk:
      case v1::ControllerMessage::MESSAGE_NOT_SET:
        return;
    }
  }

 private:
  DayHostRecord& record() { return fleet_.hosts_[number_]; }

  // All hosts share one storage: each sees the first.
  void ShowHosts(google::protobuf::RepeatedPtrField<std::string>& hosts) const {
    *hosts.Add() = plan_.host_label();
    if (number_ > 0) *hosts.Add() = NameOf(0);
  }

  void Place(uint32_t round) {
    Answer([&](v1::AgentMessage& answer) {
      answer.mutable_placed()->set_round(round);
      ShowHosts(*answer.mutable_placed()->mutable_visible_hosts());
    });
  }

  void Arm(const v1::Arm& arm) {
    step_ = arm.step();
    record().start_ns = arm.start_ns();
    fleet_.Began(record().clock->InWorld(arm.start_ns()));
    writers_.clear();
    const auto intervals_per_second = static_cast<uint32_t>(kNsPerSecond / plan_.frame_interval_ns());
    for (uint32_t qm = 1; qm <= load_.size().queue_managers; ++qm) {
      DayWriter writer(load_, number_, qm, fleet_.StallsOf(number_, qm));
      DayFrames frames(load_, writer, arm.start_ns(), plan_.log().stall_ns() / 2, intervals_per_second);
      writers_.emplace_back(std::move(writer), std::move(frames));
    }
    running_ = true;
    Answer([&](v1::AgentMessage& answer) {
      answer.mutable_armed()->set_step(arm.step());
      answer.mutable_armed()->set_start_ns(arm.start_ns());
      answer.mutable_armed()->set_now_ns(record().clock->AtWorld(clock_.Now()));
    });
    AwaitSecond();
  }

  // Until the recorder cuts the frames of the next second.
  void AwaitSecond() {
    const int64_t late_ns = (record().sent_s * 7 + number_ * 13) % 100 * kCutNs / 100;
    const int64_t cut_ns = record().start_ns + (record().sent_s + 1) * kNsPerSecond + kCutNs + late_ns;
    fleet_.world_.At(record().clock->InWorld(cut_ns), [this, cut_ns] { SendSecond(cut_ns); });
  }

  void SendSecond(int64_t cut_ns) {
    if (!running_ || silent_) return;
    v1::AgentMessage message;
    v1::FrameBatch& batch = *message.mutable_frames();
    for (uint32_t i = 0; i < writers_.size(); ++i) {
      auto& [writer, frames] = writers_[i];
      writer.Advance();
      v1::Frame& frame = *batch.add_frames();
      frames.Cut(writer, cut_ns, frame);
      frame.set_step(step_);
      frame.set_qm(i + 1);
    }
    AddSample(cut_ns, batch);
    ++record().sent_s;
    fleet_.frames_ += writers_.size();
    Give(std::move(message));
    silent_ = load_.lost_host() == number_ && record().sent_s == load_.lost_after_s();
    if (silent_) KeepTotals();
    if (record().sent_s == load_.size().length_s) return FinishStep("");
    AwaitSecond();
  }

  // Counters as of a disk that serves its writes.
  void AddSample(int64_t cut_ns, v1::FrameBatch& batch) {
    for (const v1::Frame& frame : batch.frames()) {
      disk_.set_writes(disk_.writes() + frame.latency().count());
      disk_.set_written_bytes(disk_.written_bytes() + frame.bytes());
      disk_time_ns_ += frame.latency().sum_ns();
    }
    disk_.set_write_time_ms(disk_time_ns_ / 1'000'000);
    disk_.set_busy_ms(static_cast<uint64_t>(record().sent_s + 1) * 400);
    v1::HostSample& sample = *batch.mutable_sample();
    sample.set_step(step_);
    sample.set_time_ns(cut_ns);
    sample.set_agent_cpu_ns(static_cast<uint64_t>(record().sent_s + 1) * 20'000'000);
    sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(record().sent_s + 1) * 100'000);
    sample.set_recorder_late_max_ns(80'000);
    *sample.mutable_disk() = disk_;
    sample.mutable_disk()->set_device("sda");
  }

  void KeepTotals() {
    record().totals.clear();
    for (uint32_t i = 0; i < writers_.size(); ++i) {
      record().totals.push_back(writers_[i].second.Totals());
      record().totals.back().set_qm(i + 1);
    }
  }

  void FinishStep(const std::string& stopped) {
    running_ = false;
    KeepTotals();
    Answer([&](v1::AgentMessage& answer) {
      answer.mutable_step_done()->set_step(step_);
      answer.mutable_step_done()->set_stopped(stopped);
      answer.mutable_step_done()->mutable_writers()->Assign(record().totals.begin(), record().totals.end());
    });
  }

  DayFleet& fleet_;
  const DayLoad& load_;
  const uint32_t number_;
  v1::HostPlan plan_;
  uint32_t step_ = 0;
  bool running_ = false;
  // It was lost, or its session was closed.
  bool silent_ = false;
  std::vector<std::pair<DayWriter, DayFrames>> writers_;
  v1::DiskCounters disk_;
  uint64_t disk_time_ns_ = 0;
};

DayFleet::DayFleet(VirtualClock& world, const DayLoad& load) : world_(world), load_(load) {
  for (uint32_t host = 0; host < load.size().hosts; ++host) {
    addresses_.push_back(absl::StrCat(NameOf(host), ":7461"));
    number_of_[addresses_.back()] = host;
    hosts_.emplace_back().clock = std::make_unique<DriftingClock>(load.size().seed, host);
  }
}

std::unique_ptr<AgentClient> DayFleet::MakeClient(const std::string& address, AgentListener& listener) {
  return std::make_unique<DayAgent>(*this, number_of_.at(address), listener);
}

std::vector<DayWriter::Stall> DayFleet::StallsOf(uint32_t host, uint32_t qm) const {
  const DayHostRecord& record = hosts_[host];
  const MonotonicNs start = record.clock->InWorld(record.start_ns);
  std::vector<DayWriter::Stall> stalls;
  for (const DayStall& stall : load_.stalls()) {
    if (!stall.Affects(host, qm)) continue;
    stalls.push_back({record.clock->AtWorld(start + stall.begin_ns) - record.start_ns, stall.length_ns});
  }
  return stalls;
}

void DayFleet::Began(MonotonicNs start) {
  if (std::exchange(begun_, true)) return;
  for (int64_t minute = 1; minute <= load_.size().length_s / 60; ++minute) {
    world_.At(start + minute * 60 * kNsPerSecond, [this, minute] { on_minute_(minute); });
  }
}

void DayFleet::Released() {
  if (++released_ + (load_.lost_host() ? 1 : 0) == load_.size().hosts) on_released_();
}

}  // namespace plimsoll::tests
