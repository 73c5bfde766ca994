#include "tests/bench/swarm_session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/units.h"

namespace plimsoll {
namespace {

int64_t NowNs() {
  return SystemClock().Now().value;
}

}  // namespace

void SwarmSession::Attach(Stream& stream) {
  MutexLock lock(mutex_);
  stream_ = &stream;
}

void SwarmSession::Detach() {
  MutexLock lock(mutex_);
  stream_ = nullptr;
  writer_.reset();
}

void SwarmSession::OnWritten() {
  MutexLock lock(mutex_);
  writing_ = false;
  SendNext();
}

void SwarmSession::Send(v1::AgentMessage message) {
  outbox_.push_back(std::move(message));
  SendNext();
}

void SwarmSession::SendNext() {
  if (stream_ == nullptr || writing_) return;
  if (!outbox_.empty()) {
    writing_ = true;
    stream_->Write(std::move(outbox_.front()));
    outbox_.pop_front();
  } else if (released_) {
    stream_->End();
  }
}

bool SwarmSession::Handle(const v1::ControllerMessage& message) {
  MutexLock lock(mutex_);
  v1::AgentMessage answer;
  switch (message.message_case()) {
    case v1::ControllerMessage::kPrepare: {
      plan_ = message.prepare().plan();
      answer.mutable_placed()->add_visible_hosts(plan_.host_label());
      break;
    }
    case v1::ControllerMessage::kLook:
      answer.mutable_placed()->set_round(message.look().round());
      answer.mutable_placed()->add_visible_hosts(kFirstSwarmName);
      break;
    case v1::ControllerMessage::kFill: {
      v1::Prepared& prepared = *answer.mutable_prepared();
      prepared.set_directory(absl::StrCat(plan_.log().workload().dir(), "/", plan_.host_label()));
      prepared.set_direct(true);
      prepared.set_open_flags("O_RDWR|O_DSYNC|O_DIRECT");
      prepared.add_visible_hosts(plan_.host_label());
      // All share one storage: each sees the first.
      prepared.add_visible_hosts(kFirstSwarmName);
      break;
    }
    case v1::ControllerMessage::kArm: {
      const v1::Arm& arm = message.arm();
      step_ = arm.step();
      const v1::LogStep& step = plan_.log().steps(static_cast<int>(step_));
      const StepTimes times(arm.start_ns(), step.warmup_ns(), step.duration_ns(), plan_.frame_interval_ns());
      writer_.emplace(step_, times, step.block_size_bytes(), plan_.log().trace(), number_ + 1);
      next_sample_ns_ = arm.start_ns() + kNsPerSecond;
      answer.mutable_armed()->set_step(step_);
      answer.mutable_armed()->set_start_ns(arm.start_ns());
      answer.mutable_armed()->set_now_ns(NowNs());
      break;
    }
    case v1::ControllerMessage::kHeartbeat:
      answer.mutable_alive()->set_id(message.heartbeat().id());
      answer.mutable_alive()->set_state(writer_.has_value() ? "running" : "ready");
      break;
    case v1::ControllerMessage::kStop:
      if (writer_.has_value()) FinishStep(message.stop().reason());
      return false;
    case v1::ControllerMessage::kRelease:
      answer.mutable_released();
      released_ = true;
      break;
    case v1::ControllerMessage::kCommand:
    case v1::ControllerMessage::kPatternChunk:
    case v1::ControllerMessage::MESSAGE_NOT_SET:
      return false;
  }
  Send(std::move(answer));
  return message.has_arm();
}

std::optional<int64_t> SwarmSession::Tick(int64_t now_ns) {
  MutexLock lock(mutex_);
  if (!writer_.has_value()) return std::nullopt;
  if (writer_->due_ns() > now_ns) return writer_->due_ns();
  v1::AgentMessage message;
  while (!writer_->done() && writer_->due_ns() <= now_ns) writer_->Cut(now_ns, *message.mutable_frames());
  if (now_ns >= next_sample_ns_) AddSample(now_ns, *message.mutable_frames());
  Send(std::move(message));
  if (!writer_->done()) return writer_->due_ns();
  FinishStep("");
  return std::nullopt;
}

void SwarmSession::AddSample(int64_t now_ns, v1::FrameBatch& batch) {
  next_sample_ns_ += kNsPerSecond;
  v1::HostSample& sample = *batch.mutable_sample();
  sample.set_step(step_);
  sample.set_time_ns(now_ns);
  sample.set_recorder_late_max_ns(100'000);
  sample.mutable_disk()->set_device("sda");
}

void SwarmSession::FinishStep(const std::string& stopped) {
  v1::AgentMessage message;
  v1::StepDone& done = *message.mutable_step_done();
  done.set_step(step_);
  done.set_stopped(stopped);
  *done.add_writers() = writer_->Totals();
  writer_.reset();
  Send(std::move(message));
}

SwarmTicker::~SwarmTicker() {
  {
    MutexLock lock(mutex_);
    over_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void SwarmTicker::Add(std::shared_ptr<SwarmSession> session) {
  MutexLock lock(mutex_);
  due_.emplace(NowNs(), std::move(session));
  changed_.NotifyAll();
}

void SwarmTicker::Run() {
  while (true) {
    std::shared_ptr<SwarmSession> session;
    {
      MutexLock lock(mutex_);
      while (!over_ && (due_.empty() || due_.begin()->first > NowNs())) {
        if (due_.empty()) {
          changed_.Wait(mutex_);
        } else {
          // libstdc++'s steady_clock is CLOCK_MONOTONIC.
          changed_.WaitUntil(mutex_,
                             std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due_.begin()->first)));
        }
      }
      if (over_) return;
      session = std::move(due_.begin()->second);
      due_.erase(due_.begin());
    }
    const std::optional<int64_t> next_ns = session->Tick(NowNs());
    if (!next_ns.has_value()) continue;
    MutexLock lock(mutex_);
    due_.emplace(*next_ns, std::move(session));
  }
}

SwarmSession::Stream::Stream(std::shared_ptr<SwarmSession> session, SwarmTicker& ticker)
    : session_(std::move(session)), ticker_(ticker) {
  session_->Attach(*this);
  StartRead(&incoming_);
}

void SwarmSession::Stream::OnReadDone(bool ok) {
  if (!ok) {
    End();
    return;
  }
  if (session_->Handle(incoming_)) ticker_.Add(session_);
  incoming_.Clear();
  StartRead(&incoming_);
}

void SwarmSession::Stream::OnWriteDone(bool ok) {
  if (ok) session_->OnWritten();
}

void SwarmSession::Stream::OnDone() {
  session_->Detach();
  delete this;
}

void SwarmSession::Stream::Write(v1::AgentMessage message) {
  outgoing_ = std::move(message);
  StartWrite(&outgoing_);
}

void SwarmSession::Stream::End() {
  if (!finished_.exchange(true)) Finish(grpc::Status::OK);
}

}  // namespace plimsoll
