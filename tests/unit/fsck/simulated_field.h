// A model of hosts and a shared file system that can be set to lie.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/fsck/fsck_check.h"

namespace plimsoll::tests {

// What is wrong with the model. Everything else is as POSIX has it.
struct Lies {
  // Locks of other hosts do not count: each host has its own.
  bool locks_local = false;
  // A lock is granted whoever holds it, from the n-th attempt of all on; 0: never.
  int grant_from_attempt = 0;
  bool test_is_blind = false;
  bool kept_at_death = false;
  bool kept_at_unlock = false;
  // A waiter is granted the lock although it is still held.
  bool waiter_gets_it_early = false;
  // Two hosts hold a contended lock at one time: the counter misses increments.
  bool contended_twice = false;
  // The same, and only the times show it.
  bool contended_overlap = false;
  bool ranges_are_whole_files = false;
  // Shared locks: count as exclusive ones; are in nobody's way; are granted beside an exclusive one; F_GETLK takes them
  // for exclusive ones; the unlock of one ends them all.
  bool shared_is_exclusive = false;
  bool shared_blocks_nothing = false;
  bool exclusive_lets_shared = false;
  bool shared_is_seen_in_the_way = false;
  bool shared_go_at_once = false;
  int64_t hears_late_ns = 0;
  // fcntl fails with it; 0: it does not.
  int lock_error = 0;
  int most_locks = 0;
  // Hosts keep what they have read for good.
  bool cache_is_stale_after_open = false;
  bool cache_is_stale_after_lock = false;
  // At a writer's death its last writes go, so many.
  uint64_t lost_at_death = 0;
  // At a writer's death the page of its last acknowledged write is torn.
  bool torn_at_death = false;
  bool second_file_first = false;
  bool page_of_neighbour_lost = false;
  uint64_t missing_names = 0;
  bool direct_refused = false;
  // O_DIRECT reads do not see what was written through the cache.
  bool direct_misses_cache = false;
  int64_t storage_clock_off_ns = 0;
  // At the server's restart the files go that were made last: a name that is not found any more, or a file that is
  // empty.
  bool file_lost_at_restart = false;
  bool file_emptied_at_restart = false;
  // At the server's restart the last writes that were acknowledged go, so many of each stream.
  uint64_t lost_at_restart = 0;
  // The same for all locks.
  bool locks_lost_at_restart = false;
  bool holder_fails_after_restart = false;
  // The same after a time in which nobody made a call.
  bool locks_lost_in_silence = false;
  bool holder_fails_after_silence = false;
  // The command does nothing.
  bool restarts_nothing = false;
  bool command_fails = false;
  bool kept_at_host_death = false;
  // What is killed is the agent, and its processes with it.
  bool kills_agent_alone = false;
  bool never_back = false;
  // From this command on the host does not answer any more; 0: it does.
  int lost_at_command = 0;
};

// Two hosts or more. Time passes by a millisecond a command, and where something waits; the hosts' clocks are apart.
class SimulatedField final : public FsckField {
 public:
  explicit SimulatedField(size_t hosts = 2, Lies lies = {});

  size_t hosts() const override { return labels_.size(); }
  const std::string& label(size_t host) const override { return labels_[host]; }
  bool SameKernel(size_t a, size_t b) const override { return a == b; }
  uint64_t Send(size_t host, const v1::CheckCommand& command) override;
  v1::CheckAnswer Await(uint64_t sent) override;
  void Pause(int64_t duration_ns) override;
  bool over() const override { return lost_; }
  bool CanProvoke(Fault /*fault*/) const override { return commands_given_; }
  absl::Status Provoke(Fault fault, size_t host) override;
  void ExpectLoss(size_t /*host*/) override {}
  std::string BootId(size_t host) const override { return labels_[host]; }
  absl::StatusOr<std::string> AwaitBoot(size_t host, int64_t limit_ns) override;
  MappedMoment ToLocal(size_t host, int64_t host_ns) const override;
  int64_t NowNs() const override { return now_ns_; }

  void GiveNoCommands() { commands_given_ = false; }
  // Processes that were started and not killed.
  size_t processes() const { return processes_.size(); }

 private:
  using FileName = std::pair<std::string, uint32_t>;
  using Content = std::map<uint32_t, v1::CheckPage>;
  struct Lock {
    uint32_t process = 0;
    uint64_t start = 0;
    uint64_t end = 0;  // first byte behind
    bool shared = false;
  };
  struct Handle {
    FileName file;
    bool direct = false;
  };
  struct Process {
    size_t host = 0;
    std::map<uint32_t, Handle> handles;
  };
  struct Pending {
    uint64_t id = 0;
    size_t host = 0;
    v1::CheckCommand command;
  };

  int64_t HostNow(size_t host) const;
  v1::CheckAnswer Begin(size_t host, const v1::CheckCommand& command) const;
  void Answer(uint64_t id, size_t host, v1::CheckAnswer answer);
  // Carries the command out; nothing where it waits.
  std::optional<v1::CheckAnswer> Carry(size_t host, const v1::CheckCommand& command);
  void TakeLock(size_t host, const v1::CheckCommand& command, v1::CheckAnswer& answer);
  bool Conflicts(uint32_t process, const FileName& file, uint64_t start, uint64_t end, bool shared) const;
  void Unlock(uint32_t process, const FileName& file, uint64_t start, uint64_t end);
  void Kill(uint32_t number, v1::CheckAnswer& answer);
  void PutStream(const Process& process, uint32_t number, const v1::CheckStream& stream, uint64_t last);
  void GrantWaiters();
  void FinishContenders();
  v1::CheckPage PageOf(size_t host, const Handle& handle, uint32_t page);
  void Put(const FileName& file, const v1::CheckPage& page, size_t host, bool direct);

  const Lies lies_;
  std::vector<std::string> labels_;
  int64_t now_ns_ = 1'000'000'000;
  uint64_t next_id_ = 0;
  int commands_ = 0;
  int lock_attempts_ = 0;
  bool lost_ = false;
  bool commands_given_ = true;
  bool outage_ = false;
  bool restarted_ = false;
  bool was_silent_ = false;
  std::map<uint32_t, Process> processes_;
  std::map<FileName, Content> files_;
  std::map<std::pair<size_t, FileName>, Content> caches_;
  std::map<FileName, std::vector<Lock>> locks_;
  std::deque<Pending> pending_;
  std::map<uint64_t, v1::CheckAnswer> answers_;
  std::map<FileName, int64_t> modified_ns_;
};

}  // namespace plimsoll::tests
