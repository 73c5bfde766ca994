// One writer's thread: it prepares the writer's extents, then runs step after step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "agent/writer/block_source.h"
#include "agent/writer/file_ops.h"
#include "agent/writer/log_files.h"
#include "agent/writer/work_setup.h"
#include "agent/writer/worker_threads.h"
#include "agent/writer/writer_state.h"

namespace plimsoll {

// One writer: the thread that writes as a queue manager's logger does, or a thread that reads and writes a named file.
//
// Owns the thread, the extents, the pool and the ring. The thread fills the extents, or opens the file, then goes
// through the start gate again and again until it is closed. Only the thread touches extents and pool while it lives.
class Writer {
 public:
  struct Surroundings {
    const WorkSetup& setup;
    FileOps& ops;
    StartGate& gate;
    StopControl& control;
    // Called on the writer's thread: before each piece that is filled (an error ends the filling), after it with its
    // bytes, and at the end with what came of it.
    std::function<absl::Status()> before_piece;
    std::function<void(uint64_t)> after_piece;
    std::function<void(absl::Status)> prepared;
    // Whether the final phase before a start is spent spinning.
    bool spin = false;
    // Whether writers wait for a start each on a CPU of its own.
    bool pin = false;
  };

  // `qm` from 1. What `around` refers to must outlive the object.
  Writer(uint32_t qm, Surroundings around);
  // Joins: the gate must be closed, or the filling must have failed.
  ~Writer();

  // Starts the thread.
  void Start();
  // Waits for the thread and closes the extents.
  void Join();

  uint32_t qm() const { return qm_; }
  WriterState& state() { return state_; }
  const WriterState& state() const { return state_; }
  // Kernel's id of the thread, once `prepared` was called.
  int tid() const { return tid_.load(std::memory_order_acquire); }
  // Bytes of the extents that it has filled. Any thread.
  uint64_t filled_bytes() const { return filled_bytes_.load(std::memory_order_relaxed); }
  // Whether it is not ready for a first step: it fills, or opens its file. Any thread.
  bool preparing() const { return preparing_.load(std::memory_order_relaxed); }
  // Only while the thread waits at the gate, or has ended.
  LogFiles& files() { return files_; }

  // The error that a failed write stands for, naming the file.
  absl::Status Describe(const WriteFailure& failure) const;

 private:
  void Run();
  absl::Status Fill();

  // First, since it starts on a cache line.
  WriterState state_;
  const Surroundings around_;
  LogFiles files_;
  std::unique_ptr<BlockSource> source_;
  std::thread thread_;
  const uint32_t qm_;
  std::atomic<int> tid_{0};
  std::atomic<uint64_t> filled_bytes_{0};
  std::atomic<bool> preparing_{true};
};

}  // namespace plimsoll
