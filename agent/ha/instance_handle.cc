#include "agent/ha/instance_handle.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "agent/ha/instance.h"
#include "agent/ha/instance_channel.h"
#include "agent/writer/file_env.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr size_t kReadPieceBytes = size_t{64} << 10U;

// Own the attributes of posix_spawn.
struct SpawnActions {
  SpawnActions() { posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t actions;
};
struct SpawnAttributes {
  SpawnAttributes() { posix_spawnattr_init(&attributes); }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  posix_spawnattr_t attributes;
};

}  // namespace

absl::StatusOr<std::unique_ptr<InstanceHandle>> InstanceHandle::Start(const std::string& program,
                                                                      v1::HaInstanceSetup setup,
                                                                      int64_t lease_deadline_ns) {
  UniqueFd board_fd;
  PLIMSOLL_ASSIGN_OR_RETURN(BoardMapping board, BoardMapping::Create(board_fd));
  board->lease_deadline_ns.store(lease_deadline_ns);
  board->agent_pid.store(getpid());
  std::unique_ptr<InstanceHandle> handle(
      new InstanceHandle(setup.start().instance(), setup.start().qm(), std::move(board)));
  setup.set_spawned_ns(MonotonicNowNs());
  PLIMSOLL_RETURN_IF_ERROR(handle->Spawn(program, board_fd.get()));
  v1::HaInstanceOrder order;
  *order.mutable_setup() = std::move(setup);
  // An instance that has ended already is found by Look.
  MessageSender(handle->socket_.get()).Send(order).IgnoreError();
  return handle;
}

absl::Status InstanceHandle::Spawn(const std::string& program, int board_fd) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return PosixError("socketpair", "", errno);
  socket_ = UniqueFd(pair[0]);
  // Copies above those that the instance gets: so none of the two is in the other's place.
  constexpr int kAbove = kInstanceBoardFd + 1;
  const UniqueFd peer_below(pair[1]);
  const UniqueFd peer(fcntl(peer_below.get(), F_DUPFD_CLOEXEC, kAbove));
  const UniqueFd board(fcntl(board_fd, F_DUPFD_CLOEXEC, kAbove));
  if (!peer.valid() || !board.valid()) return PosixError("fcntl F_DUPFD_CLOEXEC", "", errno);

  SpawnActions actions;
  posix_spawn_file_actions_addopen(&actions.actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&actions.actions, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions.actions, peer.get(), kInstanceSocketFd);
  posix_spawn_file_actions_adddup2(&actions.actions, board.get(), kInstanceBoardFd);
  posix_spawn_file_actions_addclosefrom_np(&actions.actions, kAbove);
  // A process group of its own: a Ctrl-C at the agent's terminal is the agent's business.
  SpawnAttributes attributes;
  posix_spawnattr_setflags(&attributes.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes.attributes, &none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes.attributes, &all);

  std::string name = "plimsoll-agent";
  std::string option = kInstanceOption;
  std::array<char*, 3> arguments = {name.data(), option.data(), nullptr};
  const int error_number =
      posix_spawn(&pid_, program.c_str(), &actions.actions, &attributes.attributes, arguments.data(), environ);
  if (error_number == 0) return absl::OkStatus();
  pid_ = -1;
  return PosixError("posix_spawn", program, error_number);
}

v1::HaEvent& InstanceHandle::AddEvent(std::vector<v1::AgentMessage>& messages, int64_t at_ns) const {
  v1::HaEvent& event = *messages.emplace_back().mutable_ha()->add_events();
  event.set_instance(number_);
  event.set_qm(qm_);
  event.set_at_ns(at_ns);
  return event;
}

absl::Status InstanceHandle::OrderEnd() {
  v1::HaInstanceOrder order;
  order.mutable_end()->set_instance(number_);
  return MessageSender(socket_.get()).SendWithin(order, 0);
}

void InstanceHandle::Signal(v1::HaSignalled::Signal signal, std::vector<v1::AgentMessage>& messages) {
  const int number = signal == v1::HaSignalled::SIGNAL_KILL   ? SIGKILL
                     : signal == v1::HaSignalled::SIGNAL_STOP ? SIGSTOP
                                                              : SIGCONT;
  const int64_t began_ns = MonotonicNowNs();
  // The process still exists, since only this handle waits for it.
  kill(pid_, number);
  killed_ = killed_ || signal == v1::HaSignalled::SIGNAL_KILL;
  if (signal == v1::HaSignalled::SIGNAL_STOP) {
    stop_began_ns_ = began_ns;
    return;
  }
  v1::HaEvent& event = AddEvent(messages, MonotonicNowNs());
  event.mutable_signalled()->set_signal(signal);
  event.mutable_signalled()->set_began_ns(began_ns);
}

void InstanceHandle::CheckStopped(std::vector<v1::AgentMessage>& messages) {
  if (stop_began_ns_ == 0) return;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG) != 0 || info.si_pid != pid_) return;
  v1::HaEvent& event = AddEvent(messages, MonotonicNowNs());
  event.mutable_signalled()->set_signal(v1::HaSignalled::SIGNAL_STOP);
  event.mutable_signalled()->set_began_ns(stop_began_ns_);
  stop_began_ns_ = 0;
}

std::vector<v1::AgentMessage> InstanceHandle::Look() {
  std::vector<v1::AgentMessage> messages;
  CheckStopped(messages);
  std::vector<char> piece(kReadPieceBytes);
  bool closed = false;
  while (!closed) {
    const ssize_t size = recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size > 0) {
      reader_.Append(piece.data(), static_cast<size_t>(size));
    } else {
      closed = true;
    }
    v1::AgentMessage message;
    while (reader_.Next(message).value_or(false)) Take(std::move(message), messages);
  }
  // Its only copy of the socket goes with the last thread of the process.
  if (closed) ReportEnd(messages);
  return messages;
}

void InstanceHandle::Take(v1::AgentMessage message, std::vector<v1::AgentMessage>& messages) {
  if (message.has_ha()) {
    v1::HaEvents& ha = *message.mutable_ha();
    for (const v1::HaLedgerEntry& entry : ha.ledger()) in_ledger_ = entry.last_sequence();
    for (int i = 0; i < ha.events_size();) {
      if (ha.events(i).has_replayed()) in_ledger_ = ha.events(i).replayed().last_sequence();
      if (!ha.events(i).has_ended()) {
        ++i;
        continue;
      }
      // Reported when the process is gone.
      reported_end_ = std::move(*ha.mutable_events(i)->mutable_ended());
      ha.mutable_events()->DeleteSubrange(i, 1);
    }
    if (ha.events().empty() && ha.ledger().empty()) return;
  }
  messages.push_back(std::move(message));
}

void InstanceHandle::ReportEnd(std::vector<v1::AgentMessage>& messages) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  const int64_t now_ns = MonotonicNowNs();
  ended_ = true;
  v1::HaEnded ended = std::move(reported_end_);
  if (info.si_code == CLD_EXITED) {
    ended.set_exit_code(info.si_status);
  } else {
    ended.set_exit_code(-1);
    ended.set_signal(info.si_status);
    ended.set_reason(v1::HaEnded::REASON_SIGNAL);
  }
  if (ended.reason() == v1::HaEnded::REASON_UNSPECIFIED) {
    ended.set_reason(v1::HaEnded::REASON_FAILED);
    ended.set_message("the instance ended without a reason");
  }
  ended.set_epoch(board_->epoch.load());
  ended.set_in_flight_since_ns(board_->in_flight_since_ns.load());
  ended.set_log_full_waits(board_->full_waits.load());
  ended.set_log_full_wait_ns(board_->full_wait_ns.load());
  // No process writes there any more, so the last write is always found.
  if (const std::optional<CompletedWrite> last = LastCompleted(*board_)) {
    ended.set_last_sequence(last->sequence);
    ended.set_last_end_ns(last->end_ns);
    // It was completed, and its mark not taken back yet.
    if (ended.in_flight_since_ns() == last->start_ns) ended.set_in_flight_since_ns(0);
    if (last->sequence > in_ledger_) {
      v1::HaLedgerEntry& entry = *messages.emplace_back().mutable_ha()->add_ledger();
      entry = MakeLedgerEntry(ended.epoch(), in_ledger_, *last, now_ns);
      entry.set_instance(number_);
      entry.set_qm(qm_);
      entry.set_recovered(true);
    }
  }
  *AddEvent(messages, now_ns).mutable_ended() = std::move(ended);
}

}  // namespace plimsoll
