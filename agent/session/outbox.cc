#include "agent/session/outbox.h"

#include <utility>

#include "agent/session/coalesce.h"

namespace plimsoll {

void Outbox::Append(v1::AgentMessage message) {
  const size_t bytes = message.ByteSizeLong();
  bytes_ += bytes;
  entries_.push_back({std::move(message), bytes});
}

void Outbox::Push(v1::AgentMessage message) {
  MutexLock lock(mutex_);
  if (!closed_) Append(std::move(message));
}

void Outbox::PushFrames(v1::FrameBatch frames) {
  MutexLock lock(mutex_);
  if (closed_) return;
  const bool keep_trace = bytes_ <= limits_.drop_traces_above_bytes;
  if (bytes_ > limits_.coalesce_above_bytes && !entries_.empty() && entries_.back().message.has_frames()) {
    Entry& newest = entries_.back();
    CoalesceBatch(std::move(frames), keep_trace, *newest.message.mutable_frames());
    bytes_ -= newest.bytes;
    newest.bytes = newest.message.ByteSizeLong();
    bytes_ += newest.bytes;
    return;
  }
  if (!keep_trace) DropTraces(frames);
  v1::AgentMessage message;
  *message.mutable_frames() = std::move(frames);
  Append(std::move(message));
}

std::optional<v1::AgentMessage> Outbox::Pop() {
  MutexLock lock(mutex_);
  if (entries_.empty()) return std::nullopt;
  v1::AgentMessage message = std::move(entries_.front().message);
  bytes_ -= entries_.front().bytes;
  entries_.pop_front();
  return message;
}

bool Outbox::empty() const {
  MutexLock lock(mutex_);
  return entries_.empty();
}

void Outbox::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  entries_.clear();
  bytes_ = 0;
}

size_t Outbox::queued_bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace plimsoll
