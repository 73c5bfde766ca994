#include "agent/session/outbox.h"

#include <utility>

#include "agent/session/coalesce.h"

namespace plimsoll {

void Outbox::Append(v1::AgentMessage message) {
  const size_t bytes = message.ByteSizeLong();
  bytes_ += bytes;
  entries_.push_back({std::move(message), bytes});
}

void Outbox::Resize(Entry& entry) {
  bytes_ -= entry.bytes;
  entry.bytes = entry.message.ByteSizeLong();
  bytes_ += entry.bytes;
}

void Outbox::Push(v1::AgentMessage message) {
  MutexLock lock(mutex_);
  if (closed_) return;
  if (message.has_alive() && Full() && entries_.back().message.has_alive()) {
    entries_.back().message = std::move(message);
    Resize(entries_.back());
    return;
  }
  Append(std::move(message));
}

Outbox::Entry* Outbox::NewestFrames() {
  // Frames may pass what says no more than that the agent lives, and nothing else.
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->message.has_frames()) return &*entry;
    if (!entry->message.has_alive()) break;
  }
  return nullptr;
}

void Outbox::PushFrames(v1::FrameBatch frames) {
  MutexLock lock(mutex_);
  if (closed_) return;
  const bool keep_trace = bytes_ <= limits_.drop_traces_above_bytes;
  if (Entry* newest = Full() ? NewestFrames() : nullptr; newest != nullptr) {
    CoalesceBatch(std::move(frames), keep_trace, *newest->message.mutable_frames());
    Resize(*newest);
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
