// The agent's end of one instance: its process, its socket, and the memory that both share.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/ha/instance_channel.h"
#include "common/posix.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/ha_instance.pb.h"

namespace plimsoll {

// Not thread-safe, but for board(). Used by one thread alone, which starts the process and outlives it: the kernel
// kills an instance when the thread that started it ends.
class InstanceHandle {
 public:
  // Starts `program` (the agent's own) as the instance of `setup`.
  static absl::StatusOr<std::unique_ptr<InstanceHandle>> Start(const std::string& program, v1::HaInstanceSetup setup,
                                                               int64_t lease_deadline_ns);
  // The process must have ended.
  ~InstanceHandle() = default;

  uint32_t number() const { return number_; }
  uint32_t qm() const { return qm_; }
  int socket() const { return socket_.get(); }
  // Any thread.
  const InstanceBoard& board() const { return *board_; }
  // No write of the instance starts at or after it.
  void SetLease(int64_t deadline_ns) const { board_->lease_deadline_ns.store(deadline_ns, std::memory_order_relaxed); }

  // Has the instance end in order.
  absl::Status OrderEnd();
  // Sends the signal, and adds its HaEvents to `messages`; that of a stop in a later Look, when the process has
  // stopped.
  void Signal(v1::HaSignalled::Signal signal, std::vector<v1::AgentMessage>& messages);
  // SIGKILL was sent.
  bool killed() const { return killed_; }
  // Whether a stop was sent whose events are not in `messages` yet.
  bool stopping() const { return stop_began_ns_ != 0; }

  // Takes what the instance has sent, without waiting, and what became of it: the messages to pass on. After the last
  // one ended() is true: its HaEnded, with how the process ended and what the shared memory holds, comes with the
  // writes that the ledger lacks.
  std::vector<v1::AgentMessage> Look();
  bool ended() const { return ended_; }

 private:
  InstanceHandle(uint32_t number, uint32_t qm, BoardMapping board)
      : number_(number), qm_(qm), board_(std::move(board)) {}

  absl::Status Spawn(const std::string& program, int board_fd);
  // Notes what the agent itself needs of a message; false where it is not to be passed on now.
  void Take(v1::AgentMessage message, std::vector<v1::AgentMessage>& messages);
  void CheckStopped(std::vector<v1::AgentMessage>& messages);
  void ReportEnd(std::vector<v1::AgentMessage>& messages);
  v1::HaEvent& AddEvent(std::vector<v1::AgentMessage>& messages, int64_t at_ns) const;

  const uint32_t number_;
  const uint32_t qm_;
  const BoardMapping board_;
  pid_t pid_ = -1;
  UniqueFd socket_;
  MessageReader reader_;
  int64_t stop_began_ns_ = 0;
  // What the instance reported of its end.
  v1::HaEnded reported_end_;
  // The last block in its ledger, as far as it arrived; before the first entry the last one that replay found.
  uint64_t in_ledger_ = 0;
  bool killed_ = false;
  bool ended_ = false;
};

}  // namespace plimsoll
