// Agents that say anything at all, in any order: the controller never crashes, never waits for ever, and its report
// tells of the frames that came, each once, and of nothing else. What `plimsoll report` would make of the journal is
// the same report.
//
// The first item's route says what the two agents do by themselves, see Habits. The items after it are what they say:
// each time that the coordinator turns to one of them, the next one comes.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/judge.h"
#include "controller/live/live_feed.h"
#include "controller/live/views.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/text.h"
#include "controller/run/coordinator.h"
#include "controller/run/run_records.h"
#include "tests/direct_agent.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/report_sums.h"
#include "tests/temp_directory.h"

namespace plimsoll::fuzz {
namespace {

constexpr size_t kHosts = 2;

// What an agent does by itself, as bits of the first item's route.
enum Habits : uint8_t {
  kAnswersProbes = 1,
  kPrepares = 2,
  kArms = 4,
  kReleases = 8,
  kContinueOnLoss = 16,
  kTwoSteps = 32,
  // One pass over named files.
  kNamedFiles = 64,
};

// What an item is. Bits 0: host; 1 and 2: kind; 3: the next item comes along with it.
enum class Kind : uint8_t { kMessage = 0, kProbes = 1, kClosed = 2, kInterrupt = 3 };
size_t HostOf(const Item& item) {
  return item.route & 1U;
}
Kind KindOf(const Item& item) {
  return static_cast<Kind>(item.route >> 1 & 3U);
}
bool HasMore(const Item& item) {
  return (item.route & 8U) != 0;
}

// Moves on with each look at it, so that a run of minutes takes no time; a wait returns at once.
class FuzzClock final : public Clock {
 public:
  MonotonicNs Now() const override { return {now_ns_ += 2 * kNsPerMs}; }
  WallNs WallNow() const override { return {1'795'202'411 * kNsPerSecond + now_ns_}; }
  void SleepUntil(MonotonicNs moment) const override { now_ns_ = std::max(now_ns_, moment.value); }
  bool WaitUntil(Mutex& /*mutex*/, CondVar& /*changed*/, MonotonicNs /*moment*/) const override { return false; }

 private:
  mutable int64_t now_ns_ = kNsPerSecond;
};

// Moments in items count from the start that the host was told. Wraps around, as two's complement does.
int64_t Rebased(int64_t moment_ns, int64_t start_ns) {
  if (moment_ns == 0) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(moment_ns) + static_cast<uint64_t>(start_ns));
}

void Rebase(v1::Frame& frame, int64_t start_ns) {
  frame.set_first_start_ns(Rebased(frame.first_start_ns(), start_ns));
  frame.set_last_end_ns(Rebased(frame.last_end_ns(), start_ns));
  frame.set_in_flight_since_ns(Rebased(frame.in_flight_since_ns(), start_ns));
  frame.set_cut_ns(Rebased(frame.cut_ns(), start_ns));
  if (frame.has_slowest()) frame.mutable_slowest()->set_start_ns(Rebased(frame.slowest().start_ns(), start_ns));
  for (v1::WriteSample& slow : *frame.mutable_slow()) slow.set_start_ns(Rebased(slow.start_ns(), start_ns));
  for (v1::StalledInterval& stall : *frame.mutable_stalls()) {
    stall.set_begin_ns(Rebased(stall.begin_ns(), start_ns));
    stall.set_end_ns(Rebased(stall.end_ns(), start_ns));
  }
}

void Rebase(v1::AgentMessage& message, int64_t start_ns) {
  if (message.has_frames()) {
    for (v1::Frame& frame : *message.mutable_frames()->mutable_frames()) Rebase(frame, start_ns);
    if (!message.frames().has_sample()) return;
    v1::HostSample& sample = *message.mutable_frames()->mutable_sample();
    sample.set_time_ns(Rebased(sample.time_ns(), start_ns));
  } else if (message.has_step_done()) {
    for (v1::WriterTotals& totals : *message.mutable_step_done()->mutable_writers()) {
      totals.set_first_start_ns(Rebased(totals.first_start_ns(), start_ns));
      totals.set_last_end_ns(Rebased(totals.last_end_ns(), start_ns));
    }
  }
}

// The messages that the agents are going to send, and the frames that they have sent.
class Script {
 public:
  Script(const uint8_t* data, size_t size) {
    const std::vector<Item> items = ReadItems(data, size);
    if (items.empty()) return;
    habits_ = items.front().route;
    items_.assign(items.begin() + 1, items.end());
  }

  bool Has(Habits habit) const { return (habits_ & habit) != 0; }
  bool over() const { return items_.empty(); }
  void Listen(size_t host, AgentListener& listener) { listeners_[host] = &listener; }
  void SetStart(size_t host, int64_t start_ns) { start_ns_[host] = start_ns; }
  void Interrupts(EventQueue& events) { events_ = &events; }

  // The coordinator has turned to an agent: what comes next comes.
  void Next() {
    for (bool more = true; more && !items_.empty();) {
      const Item item = std::move(items_.front());
      items_.pop_front();
      more = HasMore(item);
      Say(item);
    }
  }

  // Takes a frame off what was said. False where it was not.
  bool Take(uint32_t host, const v1::Frame& frame) {
    const auto found = frames_.find({host, frame.SerializeAsString()});
    if (found == frames_.end() || found->second == 0) return false;
    --found->second;
    return true;
  }

 private:
  void Say(const Item& item) {
    const size_t host = HostOf(item);
    switch (KindOf(item)) {
      case Kind::kMessage: {
        v1::AgentMessage message;
        if (!message.ParseFromString(item.payload)) return;
        Rebase(message, start_ns_[host]);
        for (const v1::Frame& frame : message.frames().frames()) {
          ++frames_[{static_cast<uint32_t>(host), frame.SerializeAsString()}];
        }
        listeners_[host]->OnMessage(std::move(message));
        return;
      }
      case Kind::kProbes: {
        v1::ProbeBatch probes;
        if (probes.ParseFromString(item.payload)) listeners_[host]->OnProbes(std::move(probes));
        return;
      }
      case Kind::kClosed: {
        const auto code = static_cast<absl::StatusCode>(item.payload.empty() ? 0 : item.payload.front() % 17);
        return listeners_[host]->OnSessionClosed(absl::Status(code, item.payload));
      }
      case Kind::kInterrupt:
        return events_->Interrupt();
    }
  }

  uint8_t habits_ = 0;
  std::deque<Item> items_;
  std::array<AgentListener*, kHosts> listeners_{};
  std::array<int64_t, kHosts> start_ns_{};
  EventQueue* events_ = nullptr;
  // How often each frame was said and not taken.
  std::map<std::pair<uint32_t, std::string>, int> frames_;
};

class ScriptedAgent final : public tests::DirectAgent {
 public:
  ScriptedAgent(Script& script, size_t host, const Clock& clock, AgentListener& listener)
      : DirectAgent(clock, listener), script_(script), host_(host) {
    script.Listen(host, listener);
  }

  void Describe(v1::DescribeRequest request, int64_t /*timeout_ns*/) override {
    listener_.OnDescribed(tests::DescriptionOf(host_ == 0 ? "alpha" : "beta", request, 0));
  }
  void Probe(int count) override {
    script_.Next();
    if (!script_.Has(kAnswersProbes)) return;
    AnswerProbes(count, [this](v1::ProbeResult& probe) {
      const int64_t sent_ns = clock_.Now().value;
      probe.set_sent_ns(sent_ns);
      probe.set_agent_received_ns(sent_ns + kAheadNs);
      probe.set_agent_sent_ns(sent_ns + kAheadNs);
      probe.set_received_ns(sent_ns + 80 * kNsPerUs);
    });
  }
  void OpenSession() override {}
  void CloseSession() override { listener_.OnSessionClosed(absl::CancelledError("given up")); }
  // Answered as long as the agents have something to say: then the lease may run out.
  void Renew(v1::RenewRequest /*request*/, int64_t /*timeout_ns*/) override {
    if (script_.over()) return;
    listener_.OnRenewed();
    script_.Next();
  }
  void Send(v1::ControllerMessage message) override {
    if (message.has_prepare() && script_.Has(kPrepares)) {
      Answer([](v1::AgentMessage& m) { m.mutable_placed(); });
    } else if (message.has_look() && script_.Has(kPrepares)) {
      Answer([&](v1::AgentMessage& m) { m.mutable_placed()->set_round(message.look().round()); });
    } else if (message.has_fill() && script_.Has(kPrepares)) {
      Answer([](v1::AgentMessage& m) { m.mutable_prepared()->set_directory("/fake"); });
    } else if (message.has_arm()) {
      script_.SetStart(host_, message.arm().start_ns());
      if (script_.Has(kArms)) Answer([&](v1::AgentMessage& m) { m.mutable_armed()->set_step(message.arm().step()); });
    } else if (message.has_release() && script_.Has(kReleases)) {
      Answer([](v1::AgentMessage& m) { m.mutable_released(); });
      listener_.OnSessionClosed(absl::OkStatus());
    }
    script_.Next();
  }

 private:
  static constexpr int64_t kAheadNs = 1'000 * kNsPerSecond;

  Script& script_;
  const size_t host_;
};

v1::TestPlan MakePlan(const Script& script) {
  v1::TestPlan plan;
  plan.mutable_workload()->set_dir("/fake");
  plan.mutable_workload()->set_qm(2);
  plan.add_hosts()->set_address("alpha:1");
  plan.add_hosts()->set_address("beta:1");
  plan.add_block_size_bytes(4096);
  if (script.Has(kTwoSteps)) plan.add_block_size_bytes(8192);
  if (script.Has(kNamedFiles)) {
    plan.mutable_workload()->add_files("F000");
    plan.mutable_workload()->add_files("F001");
    plan.mutable_workload()->set_one_pass(true);
  }
  plan.set_duration_ns(kNsPerSecond);
  plan.set_lease_ns(kNsPerSecond);
  plan.set_trace_limit_bytes(4096);
  plan.add_criteria("p99<10s");
  if (script.Has(kContinueOnLoss)) plan.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  FillDefaults(plan);
  return plan;
}

// What the journal gives again.
std::string ReportAgain(const std::string& path) {
  Analyzer analyzer;
  const auto end = ReadJournal(path, [&](const v1::JournalRecord& record) { analyzer.Add(record); });
  Require(end.ok() && end->trailing_bytes == 0, "a journal that was written whole does not read back");
  return analyzer.Finish().DebugString();
}

std::optional<Failure> Coordinate(const Script& script, Fleet& fleet, EventQueue& events, const Clock& clock,
                                  RunLog& log, LiveFeed& feed) {
  Coordinator::Options options;
  options.plan = MakePlan(script);
  options.steps = ExpandSteps(options.plan);
  options.fleet = &fleet;
  options.events = &events;
  options.clock = &clock;
  options.log = &log;
  options.feed = &feed;
  for (int i = 0; i < static_cast<int>(kHosts); ++i) {
    options.host_plans.push_back(MakeHostPlan(options.plan, i, fleet.host(static_cast<size_t>(i)).label, "7f3a21",
                                              std::string(16, 't'), kFrameIntervalNs));
  }
  Coordinator coordinator(std::move(options));
  return coordinator.Run();
}

void TryRun(const uint8_t* data, size_t size) {
  static const tests::TempDirectory directory;
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  const std::string path = directory.path() + "/journal";
  std::filesystem::remove(path);

  const FuzzClock clock;
  EventQueue events(clock);
  Script script(data, size);
  script.Interrupts(events);
  Fleet fleet(
      {"alpha:1", "beta:1"}, 500,
      [&](const std::string& address, AgentListener& listener) {
        return std::make_unique<ScriptedAgent>(script, address == "alpha:1" ? 0 : 1, clock, listener);
      },
      clock, events);
  fleet.DescribeAll({{"/fake"}, {"/fake"}}, kNsPerSecond);
  LabelHosts(fleet.hosts());
  auto journal = JournalWriter::Create(path);
  Require(journal.ok(), "the journal's file");
  LiveFeed feed;
  feed.Add(std::make_shared<PlainLines>(nowhere, PlainLines::Of::kSteps));
  RunLog log(*std::move(journal), clock);
  feed.Attach(log);
  tests::ReportSums sums;
  // The analysis has a thread of its own.
  std::vector<std::pair<uint32_t, v1::Frame>> analysed;
  log.analyzer().SetFrameListener(
      [&analysed](uint32_t host, const v1::Frame& frame) { analysed.emplace_back(host, frame); });

  const std::optional<Failure> failure = Coordinate(script, fleet, events, clock, log, feed);
  log.Flush();
  log.analyzer();  // waits for it
  for (const auto& [host, frame] : analysed) {
    Require(script.Take(host, frame), "a frame that no agent sent, or for the second time",
            [&taken = frame] { return taken.DebugString(); });
    sums.Add(host, frame);
  }
  if (failure.has_value()) Require(!failure->lines.empty(), "a failure without a word");
  bool trouble = false;
  for (const auto& host : fleet.hosts()) trouble |= host->lost() || host->fault.has_value();
  const v1::Report report = log.analyzer().Finish();
  const std::string problem = sums.Problem(report);
  Require(problem.empty(), "a wrong sum", [&] { return absl::StrCat(problem, report.DebugString()); });
  Require(!trouble || report.verdict().outcome() != v1::OUTCOME_PASS, "a PASS in spite of a lost or failed host",
          [&] { return report.DebugString(); });
  Require(RenderText(report).find('\x1b') == std::string::npos, "an escape in the report");
  const std::string told = report.DebugString();
  const std::string again = ReportAgain(path);
  Require(told == again, "the journal gives another report", [&] { return told + "\n---- again:\n" + again; });
}

std::unique_ptr<google::protobuf::Message> PrototypeOf(const Item& item) {
  if (KindOf(item) == Kind::kProbes) return std::make_unique<v1::ProbeBatch>();
  if (KindOf(item) == Kind::kMessage) return std::make_unique<v1::AgentMessage>();
  return nullptr;
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::fuzz::Silence();
  plimsoll::fuzz::TryRun(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return plimsoll::fuzz::MutateItems(plimsoll::fuzz::PrototypeOf, data, size, max_size, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t max_size, unsigned int seed) {
  return plimsoll::fuzz::CrossItems(one, one_size, other, other_size, out, max_size, seed);
}
