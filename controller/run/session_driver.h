// Keeps the sessions with agents alive, and reports their ends.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/fleet.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// What sessions are kept for: a run, cleaning. The driver calls it on the thread that drives.
class SessionCourse {
 public:
  virtual ~SessionCourse() = default;

  // What a host sent, an Alive too.
  virtual void OnMessage(Host& host, v1::AgentMessage& message) = 0;
  // The answers to probes of the host's clock; the host's own fit has them already.
  virtual void OnProbes(Host& /*host*/, v1::ProbeBatch& /*probes*/) {}
  // The host's stream has ended while it was in session: the course loses the host, or takes it for gone.
  virtual void OnClosed(Host& host, const absl::Status& status) = 0;
  // The host is lost now, and its stream is being closed.
  virtual void OnLost(Host& host, const std::string& reason) = 0;
  // Whether what the course waits for is the host's to do now; empty: it is not. Else what, as in "while it prepared".
  virtual std::string Awaited(const Host& /*host*/, MonotonicNs /*now*/) const { return ""; }
  // Whether enough is waiting to be worked off: nothing more is taken from the queue meanwhile.
  virtual bool Full() { return false; }
  // A sentence for later readers of the run.
  virtual void Note(const std::string& /*text*/) {}
  // When the driver calls Update next.
  virtual MonotonicNs next_update() const { return kNever; }
  virtual void Update(MonotonicNs /*now*/) {}

 protected:
  static constexpr MonotonicNs kNever{INT64_MAX};
};

// One thread: it waits for events and handles them in order. Each host's lease is kept by heartbeats and, where its
// connection is cut for a moment, by Renew over a new one; a host that sends nothing for a lease is lost; so is one
// that makes no progress for the hang limit while the course waits for it. The hosts' clocks are asked all the while.
class SessionDriver {
 public:
  struct Options {
    Fleet* fleet = nullptr;
    EventQueue* events = nullptr;
    const Clock* clock = nullptr;
    SessionCourse* course = nullptr;
    int64_t lease_ns = 0;
    int64_t hang_limit_ns = 0;
    // Prepare.beside_key of every session; empty: no other may be held beside it.
    std::string beside_key = {};
  };
  using Condition = std::function<bool()>;

  // Probes of a burst, which pins a clock at one moment.
  static constexpr int kBurstProbes = 8;

  explicit SessionDriver(Options options);

  // Opens the session of the host with this plan, whose lease is the driver's.
  void Open(Host& host, const v1::HostPlan& plan);
  // No host is in session any more.
  void Close() { open_ = false; }
  // Handles events and timers until the condition holds. False when a second interrupt came.
  bool PumpUntil(const Condition& done);
  // As PumpUntil, at the latest until `pause_ns` from now.
  bool PumpFor(int64_t pause_ns, const Condition& done);
  // Gives the host up. Does nothing where it is lost already.
  void Lose(Host& host, const std::string& reason);
  // Exchanges `probes` probes with the host's clock.
  static void Probe(Host& host, int probes);
  // Probes every host's clock shortly before and after this moment, beside the regular probes; with more than ten hosts
  // it does nothing. A later call replaces the moment.
  void ProbeAround(MonotonicNs start);
  // Ends the host's part: it stops filling, answers a last burst of probes, which pins its clock at the end of the
  // run, and releases what it holds.
  static void Release(Host& host, bool keep_files, int probes = kBurstProbes);
  // Probes of that burst where each host has been probed after the last step already. With more than ten hosts there
  // are fewer, because the probes of the hosts wait for one another.
  int ProbesAtEnd() const;
  // Sends a command, and returns the number that its CommandDone will carry.
  uint64_t SendCommand(Host& host, v1::Command command);
  // Sends a part of a recording. The caller has waited for HasRoomFor: parts that have not left are in memory, at most
  // kMostUnsentOfHost for each host and kMostUnsent, of 128 KiB each, for all.
  void SendChunk(Host& host, v1::PatternChunk chunk);
  bool HasRoomFor(const Host& host) const {
    return host.unsent_chunks < kMostUnsentOfHost && unsent_chunks_ < kMostUnsent;
  }
  static constexpr size_t kMostUnsentOfHost = 2;
  static constexpr size_t kMostUnsent = 256;
  // The number that the next command will carry.
  uint64_t next_command_id() const { return command_id_ + 1; }

  // An interrupt came: the course should come to its end. A second one: leave at once.
  bool interrupted() const { return interrupted_; }
  bool left() const { return left_; }
  int64_t heartbeat_period_ns() const { return heartbeat_period_ns_; }

 private:
  // Waits for events, at most until the next timer. Takes none while the course is full: the hosts' silence does not
  // count then.
  void TakeEvents();
  void Handle(Event& event);
  void RunTimers(MonotonicNs now);
  MonotonicNs NextTimer() const;
  // A controller that was suspended received nothing meanwhile: that is not the hosts' silence.
  void AllowForOwnStandstill(MonotonicNs now);
  void SendHeartbeats();
  void LoseSilentHosts(MonotonicNs now);
  // Keeps the leases of hosts that do not answer over their connection, over new ones.
  void RenewDeafHosts();
  // Loses hosts that have made no progress for the hang limit while the course waits for them.
  void LoseHungHosts(MonotonicNs now);
  // Probes a host again at once if its answer was delayed: its clock would stay uncertain for a whole period.
  void ProbeAgainIfDelayed(Host& host, const v1::ProbeBatch& probes);
  // So many of the host's parts of a recording are no longer in memory.
  void ForgetChunks(Host& host, size_t chunks);
  // Whether the message shows progress since the one before.
  static bool ShowsProgress(Host& host, const v1::AgentMessage& message);

  const Options options_;
  const Clock& clock_;
  Fleet& fleet_;
  SessionCourse& course_;
  std::vector<v1::RenewRequest> renewals_;  // by host
  std::vector<int> probed_again_;           // by host, since its last regular probe
  int all_probed_again_ = 0;                // of all hosts, since the last regular probes
  bool open_ = false;
  bool interrupted_ = false;
  bool left_ = false;
  // Since when no event is taken, because the course is full.
  std::optional<MonotonicNs> unread_since_;
  // Taken from the queue and not handled yet.
  std::deque<Event> pending_;
  // When PumpFor is over; none: there is none.
  std::optional<MonotonicNs> pause_end_;
  // Of all hosts.
  size_t unsent_chunks_ = 0;
  uint64_t command_id_ = 0;
  uint64_t heartbeat_id_ = 0;
  const int64_t heartbeat_period_ns_;
  const int64_t probe_period_ns_;
  MonotonicNs timers_ran_;
  MonotonicNs next_heartbeat_;
  MonotonicNs next_probe_;
  // When all clocks are probed beside that, in order.
  std::deque<MonotonicNs> around_start_;
  // No host can have been silent for a lease before this.
  MonotonicNs next_silence_;
};

}  // namespace plimsoll
