#include "controller/run/record_sink.h"

#include <chrono>

namespace plimsoll {

RecordSink::RecordSink(std::function<void(const v1::JournalRecord&)> take, std::function<void()> rest)
    : take_(std::move(take)), rest_(std::move(rest)), thread_([this] { Run(); }) {}

RecordSink::~RecordSink() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void RecordSink::Give(Record record, size_t bytes) {
  MutexLock lock(mutex_);
  waiting_.emplace_back(std::move(record), bytes);
  waiting_bytes_ += bytes;
  at_rest_ = false;
  changed_.NotifyAll();
}

size_t RecordSink::waiting_bytes() const {
  MutexLock lock(mutex_);
  return waiting_bytes_;
}

void RecordSink::Drain() {
  MutexLock lock(mutex_);
  while (!at_rest_) changed_.Wait(mutex_);
}

bool RecordSink::DrainFor(int64_t timeout_ns) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  MutexLock lock(mutex_);
  while (!at_rest_ && changed_.WaitUntil(mutex_, deadline)) {
  }
  return at_rest_;
}

void RecordSink::Run() {
  while (true) {
    std::pair<Record, size_t> next;
    {
      MutexLock lock(mutex_);
      while (at_rest_ && !closing_) changed_.Wait(mutex_);
      if (at_rest_) return;
      if (!waiting_.empty()) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
    }
    // Without one, all were taken.
    const bool rests = next.first == nullptr;
    if (rests) {
      rest_();
    } else {
      take_(*next.first);
      next.first.reset();
    }
    MutexLock lock(mutex_);
    waiting_bytes_ -= next.second;
    if (rests && waiting_.empty()) {
      at_rest_ = true;
      changed_.NotifyAll();
    }
  }
}

}  // namespace plimsoll
