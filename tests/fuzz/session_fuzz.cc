// A controller that says anything at all, in any order, to a session that really writes: it never crashes, goes from
// state to state as proto/README.md says, touches nothing outside its root nor anybody else's files in it, accounts for
// every write, and leaves nothing behind.
//
// An input is a list of ControllerMessages. Bit 0 of an item's route: wait for the answer before the next one; bit 1: a
// Prepare is not followed by a Fill that the input does not have. Sizes
// and times that the agent takes are made small after it has been shown the large ones, so that an input takes
// milliseconds; directories lie below one of the test's own.
#include <dirent.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "agent/host/target_files.h"
#include "agent/session/session.h"
#include "agent/writer/log_work.h"
#include "agent/writer/work_setup.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "common/trace.h"
#include "common/units.h"
#include "tests/fuzz/file_tree.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/temp_directory.h"

namespace plimsoll::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPatienceNs = 300 * kNsPerMs;
// Size of the files that plans may write to.
constexpr uint64_t kFileBytes = uint64_t{64} << 10;

// A root with somebody else's log in it, a link that leads out of it, and two files that plans may write to: `target`,
// which the agent allows them to overwrite, and `kept`, which an earlier plan created.
class Place {
 public:
  Place() : base_(directory_.path()) {
    directory_.MakeDirectory("root/mq");
    directory_.MakeDirectory("outside");
    directory_.MakeDirectory("root/plimsoll-0123abcd/stranger/qm1/active");
    std::ofstream(base_ + "/outside/precious") << "do not touch";
    std::ofstream(base_ + "/root/plimsoll-0123abcd/stranger/qm1/active/S0000000.LOG") << "a queue manager's log";
    std::ofstream(base_ + "/root/file") << "no directory";
    fs::create_directory_symlink("../outside", base_ + "/root/link");
    auto sandbox = Sandbox::Create({base_ + "/root"}, "fuzz-agent");
    Require(sandbox.ok(), "a sandbox over a fresh directory");
    sandbox_ = *std::move(sandbox);
    std::ofstream(base_ + "/root/target") << std::string(kFileBytes, 't');
    auto targets = TargetFiles::Create(*sandbox_, {true, {base_ + "/root/target"}});
    Require(targets.ok(), "an agent that allows files");
    targets_ = *std::move(targets);
    Require(targets_->Make(base_ + "/root/kept", kFileBytes, 0).ok(), "a file that is kept");
    for (const char* name : {"/root/target", "/root/kept", "/root/.plimsoll-kept"}) {
      std::ifstream file(base_ + name, std::ios::binary);
      writable_[base_ + name].assign(std::istreambuf_iterator<char>(file), {});
    }
    before_ = LookAt(base_);
  }

  const Sandbox& sandbox() const { return *sandbox_; }
  const TargetFiles& targets() const { return *targets_; }
  // The place, below the test's directory, of an absolute path of a plan.
  std::string Below(const std::string& path) const { return path.starts_with('/') ? base_ + path : path; }

  // Only the files that plans may write to have changed, if the plan uses paths. Only files in the root are new, if
  // files were to be kept. Puts everything back.
  void Check(bool may_write, bool may_keep) {
    if (may_write) Restore();
    std::map<std::string, std::string> after = LookAt(base_);
    for (const auto& [path, what] : before_) {
      Require(after.contains(path), "something is gone", [&] { return path; });
      Require(after[path] == what, "something was changed", [&] { return path + ": " + after[path]; });
      after.erase(path);
    }
    for (const auto& left : after) {
      Require(may_keep && left.first.starts_with(base_ + "/root/"), "something was left", [&] { return left.first; });
    }
    for (auto kept = after.rbegin(); kept != after.rend(); ++kept) fs::remove_all(kept->first);
  }

 private:
  // In place: the marker names the kept file by its inode.
  void Restore() const {
    for (const auto& [path, content] : writable_) {
      Require(fs::is_regular_file(fs::symlink_status(path)), "a file that plans may write to is gone",
              [&] { return path; });
      std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    }
  }

  tests::TempDirectory directory_;
  const std::string base_;
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<TargetFiles> targets_;
  // Files that plans may write to, and the marker of kept files, by path, and what they hold.
  std::map<std::string, std::string> writable_;
  std::map<std::string, std::string> before_;
};

size_t EntriesOf(const char* directory) {
  size_t entries = 0;
  DIR* const open = opendir(directory);
  Require(open != nullptr, "opendir");
  while (readdir(open) != nullptr) ++entries;
  closedir(open);
  return entries;
}

// Numbers above `limit` that the agent takes become small ones; those that it refuses stay.
template <typename Value>
Value Small(Value value, Value limit) {
  return value > limit ? value % limit + 1 : value;
}

void MakeSmall(v1::LogStep& step) {
  step.set_duration_ns(Small<int64_t>(step.duration_ns(), 5 * kNsPerMs));
  step.set_warmup_ns(Small<int64_t>(step.warmup_ns(), 3 * kNsPerMs));
}

void MakeSmall(v1::HostPlan& plan) {
  v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
  workload.set_qm(Small(workload.qm(), 3U));
  workload.set_num_files(Small(workload.num_files(), 3U));
  if (workload.file_size_bytes() > 256 << 10) workload.set_file_size_bytes(256 << 10);
  workload.set_cpu_load(Small(workload.cpu_load(), 2U));
  workload.set_delay_ns(std::min<int64_t>(workload.delay_ns(), kNsPerMs));
  if (workload.pause_percent() > 100) workload.set_pause_percent(100);
  auto& streams = *plan.mutable_log()->mutable_pattern()->mutable_stream_of_writer();
  if (plan.log().has_pattern() && streams.size() > static_cast<int>(workload.qm())) {
    streams.Truncate(static_cast<int>(workload.qm()));
  }
  while (plan.log().steps_size() > 4) plan.mutable_log()->mutable_steps()->RemoveLast();
  for (v1::LogStep& step : *plan.mutable_log()->mutable_steps()) {
    MakeSmall(step);
    // Files that exist need no size in the plan.
    const uint64_t most_bytes = workload.has_file_size_bytes() ? workload.file_size_bytes() : kFileBytes;
    if (step.block_size_bytes() > most_bytes) step.set_block_size_bytes(most_bytes);
  }
}

// What one writer's frames of a step add up to.
struct Sums {
  uint64_t writes = 0;
  uint64_t bytes = 0;
  uint64_t latency_sum_ns = 0;
  uint64_t latency_max_ns = 0;
};

// Follows the agent's messages, and fails at one that the protocol does not allow.
class Listener {
 public:
  // Call it before the first plan is sent: the step's commits, which count in no trace.
  void Expect(const v1::LogStep& step) { commit_operation_ = CommitOperationOf(step); }
  // Call it before a command is sent: it allows one answer.
  void Expect(const v1::Command& command) {
    ++commands_[command.id()];
    if (!command.has_read_back()) return;
    ++read_back_orders_;
    read_back_ids_.insert(command.id());
  }

  void Receive(const v1::AgentMessage& message) {
    switch (message.message_case()) {
      case v1::AgentMessage::kPrepareProgress:
        Require(!prepared_ && !released_, "progress of what is prepared");
        Require(message.prepare_progress().done_bytes() >= done_bytes_, "progress that goes back");
        Require(message.prepare_progress().done_bytes() <= message.prepare_progress().total_bytes(), "more than all");
        done_bytes_ = message.prepare_progress().done_bytes();
        return;
      case v1::AgentMessage::kPlaced:
        Require(!prepared_ && !released_, "placed after it was prepared");
        return;
      case v1::AgentMessage::kPrepared:
        // A Fill that is repeated is answered with the same.
        Require(!released_, "prepared after its end");
        prepared_ = true;
        return;
      case v1::AgentMessage::kArmed:
        Require(prepared_ && !released_, "armed, but not prepared");
        ++answers_;
        if (!message.armed().late()) {
          ++armed_;
          pending_ = true;  // Where one had been armed and had not begun, this one replaces it.
        }
        return;
      case v1::AgentMessage::kFrames:
        Require(prepared_ && !released_, "frames of what is not prepared");
        for (const v1::Frame& frame : message.frames().frames()) ReceiveFrame(frame);
        return;
      case v1::AgentMessage::kStepDone:
        Require(prepared_ && !released_, "the end of a step that was not prepared");
        ReceiveDone(message.step_done());
        return;
      case v1::AgentMessage::kFault:
        Require(!message.fault().message().empty(), "a fault without a word");
        return;
      case v1::AgentMessage::kReleased:
        Require(!released_, "released twice");
        Require(message.released().left_behind().empty(), "left behind",
                [&] { return message.released().left_behind(); });
        released_ = true;
        return;
      case v1::AgentMessage::kAlive: {
        static const std::set<std::string> states = {"idle",    "preparing", "ready",        "armed",
                                                     "running", "draining",  "reading back", "cleaning up"};
        Require(states.contains(message.alive().state()), "no state", [&] { return message.alive().state(); });
        return;
      }
      case v1::AgentMessage::kCommandDone: {
        const v1::CommandDone& done = message.command_done();
        Require(commands_[done.id()] > 0, "an answer to no command", [&] { return done.DebugString(); });
        --commands_[done.id()];
        Require(done.code() == 0 || !done.message().empty(), "a refusal without a reason");
        if (done.code() != 0 && read_back_ids_.contains(done.id())) ++read_back_answers_;
        return;
      }
      case v1::AgentMessage::kReadBack:
        Require(prepared_ && !released_, "read back, but not prepared");
        Require(++read_backs_ <= read_back_orders_, "read back without an order");
        ++read_back_answers_;
        ReceiveReadBack(message.read_back());
        return;
      case v1::AgentMessage::kHa:
      case v1::AgentMessage::kCheckAnswer:
      case v1::AgentMessage::kRestart:
        Fail("a message of another kind of work");
      case v1::AgentMessage::MESSAGE_NOT_SET:
        Fail("an empty message");
    }
  }
  // After the last message.
  void Finish() const {
    Require(steps_done_ <= armed_, "more steps ended than were armed");
    Require(frames_.empty(), "frames of a step that never ended");
  }

  bool prepared() const { return prepared_; }
  int answers() const { return answers_; }
  // Every order to read back has its result, or was refused.
  bool has_read_back() const { return read_back_answers_ >= read_back_orders_; }
  // No step is armed whose end was not reported.
  bool at_rest() const { return !pending_; }

 private:
  void ReceiveFrame(const v1::Frame& frame) {
    Histogram histogram;
    Require(histogram.Merge(frame.latency()).ok(), "a distribution that is none", [&] { return frame.DebugString(); });
    std::vector<TracedWrite> writes;
    for (const std::string& block : frame.trace()) {
      Require(DecodeTrace(block, writes).ok(), "a trace that does not unpack");
    }
    // The parts of a write have neither bytes nor a trace, and commits have no trace.
    const bool is_part = frame.operation() != kMainOperation && frame.bytes() == 0;
    const bool is_commit = frame.operation() == commit_operation_;
    const uint64_t traced = is_part || is_commit ? 0 : frame.latency().count();
    Require(writes.size() + frame.untraced_writes() == traced, "a trace that lacks a write",
            [&] { return frame.DebugString(); });
    Sums& sums = frames_[{frame.step(), frame.qm(), frame.operation()}];
    sums.writes += frame.latency().count();
    sums.bytes += frame.bytes();
    sums.latency_sum_ns += frame.latency().sum_ns();
    sums.latency_max_ns = std::max(sums.latency_max_ns, frame.latency().max_ns());
  }

  void ReceiveDone(const v1::StepDone& done) {
    ++steps_done_;
    pending_ = false;
    for (const v1::WriterTotals& totals : done.writers()) {
      const Sums sums = frames_[{done.step(), totals.qm(), totals.operation()}];
      Require(sums.writes == totals.writes() && sums.bytes == totals.bytes() &&
                  sums.latency_sum_ns == totals.latency_sum_ns() && sums.latency_max_ns == totals.latency_max_ns(),
              "frames and totals differ", [&] { return done.DebugString(); });
    }
    frames_.clear();
  }

  static void ReceiveReadBack(const v1::ReadBackDone& done) {
    Require(done.error().empty() || done.writers().empty(), "read back in part");
    for (const v1::WriterReadBack& writer : done.writers()) {
      Require(writer.lost() + writer.torn() + writer.foreign() + writer.altered() + writer.unreadable() == 0,
              "a log that does not hold what was written", [&] { return done.DebugString(); });
    }
  }

  std::optional<uint32_t> commit_operation_;
  bool prepared_ = false;
  bool released_ = false;
  uint64_t done_bytes_ = 0;
  std::map<uint64_t, int> commands_;  // Those without an answer, by their id.
  int read_back_orders_ = 0;
  std::set<uint64_t> read_back_ids_;
  int read_backs_ = 0;
  int read_back_answers_ = 0;
  int answers_ = 0;
  int armed_ = 0;
  bool pending_ = false;
  int steps_done_ = 0;
  // By step, queue manager and operation.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Sums> frames_;
};

// One session from its opening to its end.
class Talk {
 public:
  explicit Talk(Place& place) : place_(place) {
    Session::Options options;
    WorkKind& kind = options.work[v1::HostPlan::kLog];
    kind = LogWork::Kind(place_.sandbox(), place_.targets());
    kind.make = [this](const v1::HostPlan& asked, const std::atomic<int64_t>& deadline_ns,
                       WorkSink& sink) -> absl::StatusOr<std::unique_ptr<Work>> {
      v1::HostPlan plan = asked;
      v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
      workload.set_dir(place_.Below(workload.dir()));
      for (std::string& file : *workload.mutable_files()) file = place_.Below(file);
      if (const auto setup = MakeWorkSetup(plan); !setup.ok()) return setup.status();
      MakeSmall(plan);
      return LogWork::Create(plan, place_.sandbox(), place_.targets(), deadline_ns, sink);
    };
    options.clock = &clock_;
    options.peer = "fuzz";
    options.wake = [this] { Notify(); };
    options.finished = [this](const absl::Status& status) {
      MutexLock lock(mutex_);
      end_ = status;
      changed_.NotifyAll();
    };
    session_ = std::make_unique<Session>(std::move(options));
  }

  void Say(const Item& item) {
    v1::ControllerMessage message;
    if (!message.ParseFromString(item.payload)) return;
    const bool wait = (item.route & 1U) != 0;
    if (message.has_arm()) {
      // A small number counts from now on, in steps of 10 ns.
      if (message.arm().start_ns() >= 0 && message.arm().start_ns() < kNsPerMs) {
        message.mutable_arm()->set_start_ns(clock_.Now().value + message.arm().start_ns() * 10);
        ++started_soon_;
      }
      ++arms_;
    }
    if (message.has_command()) {
      if (message.command().has_add_step()) {
        MakeSmall(*message.mutable_command()->mutable_add_step()->mutable_spec());
      }
      listener_.Expect(message.command());
    }
    const v1::LogWorkload& workload = message.prepare().plan().log().workload();
    may_write_ |= UsesPaths(workload);
    may_keep_ |= message.release().keep_files() || message.prepare().plan().keep_files() || workload.create();
    const bool prepare = message.has_prepare();
    const bool fill = message.has_fill();
    const bool arm = message.has_arm();
    const bool read_back = message.command().has_read_back();
    if (prepare && !had_prepare_) {
      had_prepare_ = true;
      const v1::LogWork& work = message.prepare().plan().log();
      if (!work.steps().empty()) listener_.Expect(work.steps(0));
    }
    session_->Deliver(std::move(message));
    if (prepare && (item.route & 2U) == 0) {
      v1::ControllerMessage begin;
      begin.mutable_fill();
      session_->Deliver(std::move(begin));
    }
    if (!wait) return;
    const bool fills = prepare ? (item.route & 2U) == 0 : fill;
    if (fills) Await([this] { return listener_.prepared(); });
    if (arm) Await([this] { return listener_.answers() >= arms_; });
    if (arm && started_soon_ == arms_) Await([this] { return listener_.at_rest(); });
    if (read_back) Await([this] { return listener_.has_read_back(); });
  }

  // Ends the session where it goes on, and checks what it left.
  void End() {
    session_->Break("the input is over");
    {
      MutexLock lock(mutex_);
      while (!end_.has_value()) changed_.Wait(mutex_);
    }
    Require(session_->over(), "a session that has finished and is not over");
    ReceiveAll();
    listener_.Finish();
    Require(session_->Describe().find('\n') == std::string::npos, "a description of several lines");
    session_.reset();
    place_.Check(may_write_, may_keep_);
  }

 private:
  void Notify() {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.NotifyAll();
  }

  void ReceiveAll() {
    while (const auto message = session_->outbox().Pop()) listener_.Receive(*message);
  }

  // Receives messages until the condition holds, the session is over, or it takes too long to matter.
  template <typename Condition>
  void Await(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatienceNs);
    while (true) {
      ReceiveAll();
      if (condition()) return;
      MutexLock lock(mutex_);
      if (end_.has_value()) return;
      if (!woken_ && !changed_.WaitUntil(mutex_, deadline)) return;
      woken_ = false;
    }
  }

  Place& place_;
  const SystemClock clock_;
  Listener listener_;
  bool had_prepare_ = false;
  int arms_ = 0;
  int started_soon_ = 0;
  bool may_write_ = false;
  bool may_keep_ = false;
  Mutex mutex_;
  CondVar changed_;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Session> session_;
};

void TrySession(const uint8_t* data, size_t size) {
  static Place place;
  spdlog::set_level(spdlog::level::off);
  const size_t descriptors = EntriesOf("/proc/self/fd");
  const size_t threads = EntriesOf("/proc/self/task");
  {
    Talk talk(place);
    for (const Item& item : ReadItems(data, size)) talk.Say(item);
    talk.End();
  }
  Require(EntriesOf("/proc/self/fd") == descriptors, "a descriptor is left open");
  // One that was joined is in /proc a moment longer.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (EntriesOf("/proc/self/task") > threads) {
    Require(std::chrono::steady_clock::now() < deadline, "a thread is left");
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::fuzz::Silence();
  plimsoll::fuzz::TrySession(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return plimsoll::fuzz::MutateItems(
      [](const plimsoll::fuzz::Item&) { return std::make_unique<plimsoll::v1::ControllerMessage>(); }, data, size,
      max_size, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t max_size, unsigned int seed) {
  return plimsoll::fuzz::CrossItems(one, one_size, other, other_size, out, max_size, seed);
}
