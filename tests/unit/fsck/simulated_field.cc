#include "tests/unit/fsck/simulated_field.h"

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kHostsApartNs = 7'000'000'000;
constexpr int64_t kClockErrorNs = 100'000;
// What a stream gets done before it is killed.
constexpr uint64_t kStreamed = 100;
constexpr uint64_t kStreamPages = 16;
constexpr int64_t kOutageNs = 5'000'000'000;
constexpr uint64_t kContended = 10;
// Beyond the lease of the model's server.
constexpr int64_t kSilenceNs = 90'000'000'000;

uint64_t EndOf(uint64_t start, uint64_t length) {
  return length == 0 ? UINT64_MAX : start + length;
}

v1::CheckPage Stamp(size_t host, uint32_t process, uint32_t epoch, uint32_t page, uint64_t sequence) {
  v1::CheckPage stamp;
  stamp.set_page(page);
  stamp.set_state(v1::CHECK_PAGE_STATE_WHOLE);
  stamp.set_host(static_cast<uint32_t>(host));
  stamp.set_process(process);
  stamp.set_epoch(epoch);
  stamp.set_written_page(page);
  stamp.set_sequence(sequence);
  return stamp;
}

void Refuse(v1::CheckAnswer& answer, absl::StatusCode code, const std::string& message) {
  answer.set_code(static_cast<int32_t>(code));
  answer.set_message(message);
}

}  // namespace

SimulatedField::SimulatedField(size_t hosts, Lies lies) : lies_(lies) {
  for (size_t host = 0; host < hosts; ++host) labels_.push_back(absl::StrCat("host", host + 1));
}

int64_t SimulatedField::HostNow(size_t host) const {
  return now_ns_ + static_cast<int64_t>(host) * kHostsApartNs;
}

MappedMoment SimulatedField::ToLocal(size_t host, int64_t host_ns) const {
  return {host_ns - static_cast<int64_t>(host) * kHostsApartNs, kClockErrorNs};
}

v1::CheckAnswer SimulatedField::Begin(size_t host, const v1::CheckCommand& command) const {
  v1::CheckAnswer answer;
  answer.set_process(command.process());
  answer.set_started_ns(HostNow(host));
  return answer;
}

void SimulatedField::Answer(uint64_t id, size_t host, v1::CheckAnswer answer) {
  answer.set_id(id);
  if (answer.ended_ns() == 0) answer.set_ended_ns(HostNow(host));
  // Wall clocks agree.
  answer.set_wall_ns(now_ns_);
  answers_[id] = std::move(answer);
}

uint64_t SimulatedField::Send(size_t host, const v1::CheckCommand& command) {
  const uint64_t id = ++next_id_;
  if (lies_.lost_at_command != 0 && ++commands_ >= lies_.lost_at_command) lost_ = true;
  if (lost_) {
    v1::CheckAnswer answer;
    Refuse(answer, absl::StatusCode::kUnavailable, "the host is not in session");
    answers_[id] = answer;
    return id;
  }
  std::optional<v1::CheckAnswer> answer = Carry(host, command);
  if (answer.has_value()) {
    Answer(id, host, *std::move(answer));
  } else {
    pending_.push_back({id, host, command});
  }
  now_ns_ += kMs;
  GrantWaiters();
  return id;
}

v1::CheckAnswer SimulatedField::Await(uint64_t sent) {
  if (answers_.count(sent) == 0) FinishContenders();
  if (answers_.count(sent) == 0) {
    // Nothing else will happen: its time runs out.
    const auto waiting =
        std::find_if(pending_.begin(), pending_.end(), [&](const Pending& each) { return each.id == sent; });
    v1::CheckAnswer answer = Begin(waiting->host, waiting->command);
    now_ns_ += waiting->command.lock().limit_ns();
    Answer(sent, waiting->host, answer);
    pending_.erase(waiting);
  }
  return answers_[sent];
}

bool SimulatedField::Conflicts(uint32_t process, const FileName& file, uint64_t start, uint64_t end,
                               bool shared) const {
  const auto held = locks_.find(file);
  if (held == locks_.end()) return false;
  return std::any_of(held->second.begin(), held->second.end(), [&](const Lock& lock) {
    if (lock.process == process) return false;
    if (lock.shared && shared && !lies_.shared_is_exclusive) return false;
    if (lock.shared && !shared && lies_.shared_blocks_nothing) return false;
    if (!lock.shared && shared && lies_.exclusive_lets_shared) return false;
    const auto holder = processes_.find(lock.process);
    const size_t host = processes_.at(process).host;
    if (lies_.locks_local && holder != processes_.end() && holder->second.host != host) return false;
    return lies_.ranges_are_whole_files || (lock.start < end && start < lock.end);
  });
}

void SimulatedField::Unlock(uint32_t process, const FileName& file, uint64_t start, uint64_t end) {
  std::vector<Lock> stay;
  for (const Lock& lock : locks_[file]) {
    if (lock.shared && lies_.shared_go_at_once) continue;
    if (lock.process != process || lock.end <= start || end <= lock.start) {
      stay.push_back(lock);
      continue;
    }
    if (lock.start < start) stay.push_back({process, lock.start, start, lock.shared});
    if (end < lock.end) stay.push_back({process, end, lock.end, lock.shared});
  }
  locks_[file] = stay;
}

void SimulatedField::TakeLock(size_t host, const v1::CheckCommand& command, v1::CheckAnswer& answer) {
  const v1::CheckLock& lock = command.lock();
  const FileName& file = processes_[command.process()].handles[lock.handle()].file;
  const uint64_t end = EndOf(lock.start(), lock.length());
  answer.set_attempts(1);
  if (lies_.lock_error != 0) {
    answer.set_error_number(lies_.lock_error);
    return Refuse(answer, absl::StatusCode::kUnavailable, "fcntl host1/qm1: refused");
  }
  if (lock.kind() == v1::CheckLock::KIND_UNLOCK) {
    if (!lies_.kept_at_unlock) Unlock(command.process(), file, lock.start(), end);
    answer.set_granted(true);
    return;
  }
  const bool conflicts = Conflicts(command.process(), file, lock.start(), end, lock.shared());
  if (lock.kind() == v1::CheckLock::KIND_TEST) {
    const bool in_the_way = lies_.shared_is_seen_in_the_way && lock.shared() && !locks_[file].empty();
    answer.set_granted((!conflicts && !in_the_way) || lies_.test_is_blind);
    return;
  }
  ++lock_attempts_;
  const bool lied = lies_.grant_from_attempt != 0 && lock_attempts_ >= lies_.grant_from_attempt;
  size_t held = 0;
  for (const auto& [name, locks] : locks_) held += locks.size();
  if (lies_.most_locks != 0 && held >= static_cast<size_t>(lies_.most_locks)) {
    return Refuse(answer, absl::StatusCode::kResourceExhausted, "fcntl: Disk quota exceeded (122)");
  }
  answer.set_granted(!conflicts || lied);
  if (!answer.granted()) return;
  Unlock(command.process(), file, lock.start(), end);
  locks_[file].push_back({command.process(), lock.start(), end, lock.shared()});
  if (!lies_.cache_is_stale_after_lock) caches_.erase({host, file});
}

v1::CheckPage SimulatedField::PageOf(size_t host, const Handle& handle, uint32_t page) {
  const auto read = [page](const Content& content) {
    const auto found = content.find(page);
    v1::CheckPage seen;
    seen.set_page(page);
    seen.set_state(v1::CHECK_PAGE_STATE_EMPTY);
    return found == content.end() ? seen : found->second;
  };
  if (handle.direct) return read(files_[handle.file]);
  const auto [cached, added] = caches_.try_emplace({host, handle.file}, files_[handle.file]);
  return read(cached->second);
}

void SimulatedField::Put(const FileName& file, const v1::CheckPage& page, size_t host, bool direct) {
  if (lies_.page_of_neighbour_lost && page.page() > 0 && page.sequence() == 8 && page.host() == 0) return;
  if (direct || !lies_.direct_misses_cache) files_[file][page.page()] = page;
  if (!direct) caches_.try_emplace({host, file}, files_[file]).first->second[page.page()] = page;
  if (direct) caches_.erase({host, file});
  modified_ns_[file] = now_ns_ + lies_.storage_clock_off_ns;
}

void SimulatedField::PutStream(const Process& process, uint32_t number, const v1::CheckStream& stream, uint64_t last) {
  for (uint64_t sequence = 1; sequence <= last; ++sequence) {
    const auto page = static_cast<uint32_t>((sequence - 1) % stream.pages());
    for (const uint32_t handle : stream.handles()) {
      v1::CheckPage stamp = Stamp(process.host, number, stream.epoch(), page, sequence);
      if (lies_.torn_at_death && sequence == kStreamed) stamp.set_state(v1::CHECK_PAGE_STATE_TORN);
      Put(process.handles.at(handle).file, stamp, process.host, true);
    }
  }
}

void SimulatedField::Pause(int64_t duration_ns) {
  now_ns_ += duration_ns;
  if (duration_ns < kSilenceNs) return;
  was_silent_ = true;
  if (lies_.locks_lost_in_silence) locks_.clear();
}

absl::Status SimulatedField::Provoke(Fault fault, size_t host) {
  if (lies_.command_fails) return absl::AbortedError("reset ended with exit code 1");
  if (fault == Fault::kRestartServer && !lies_.restarts_nothing) {
    outage_ = true;
    restarted_ = true;
    if (lies_.locks_lost_at_restart) locks_.clear();
    // The last writes were in the server's memory alone.
    for (uint64_t lost = 0; lost < lies_.lost_at_restart; ++lost) {
      for (auto& [file, pages] : files_) {
        for (auto& [number, page] : pages) {
          if (page.sequence() + lost == kStreamed) page.set_sequence(page.sequence() - kStreamPages);
        }
      }
    }
  }
  if (fault == Fault::kKillHost) {
    std::vector<uint32_t> dying;
    for (const auto& [number, process] : processes_) {
      if (process.host == host) dying.push_back(number);
    }
    for (const uint32_t number : dying) {
      for (auto& [file, locks] : locks_) {
        if (!lies_.kept_at_host_death) Unlock(number, file, 0, UINT64_MAX);
      }
    }
    now_ns_ += kMs;
    GrantWaiters();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SimulatedField::AwaitBoot(size_t host, int64_t limit_ns) {
  if (lies_.never_back) {
    now_ns_ += limit_ns;
    return absl::UnavailableError("connection refused");
  }
  return lies_.kills_agent_alone ? labels_[host] : absl::StrCat(labels_[host], ", booted again");
}

void SimulatedField::Kill(uint32_t number, v1::CheckAnswer& answer) {
  const Process process = processes_[number];
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (it->command.process() != number) {
      ++it;
      continue;
    }
    if (it->command.has_stream()) {
      answer.set_acknowledged(kStreamed);
      answer.set_longest_gap_ns(outage_ ? kOutageNs : kMs);
      PutStream(process, number, it->command.stream(), kStreamed - lies_.lost_at_death);
    }
    v1::CheckAnswer aborted = Begin(it->host, it->command);
    Refuse(aborted, absl::StatusCode::kAborted, "the process ended by signal 9");
    Answer(it->id, it->host, aborted);
    it = pending_.erase(it);
  }
  if (!lies_.kept_at_death) {
    for (auto& [file, locks] : locks_) Unlock(number, file, 0, UINT64_MAX);
  }
  processes_.erase(number);
}

void SimulatedField::GrantWaiters() {
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (!it->command.has_lock()) {
      ++it;
      continue;
    }
    v1::CheckAnswer answer = Begin(it->host, it->command);
    if (lies_.waiter_gets_it_early) {
      answer.set_granted(true);
    } else {
      TakeLock(it->host, it->command, answer);
    }
    if (!answer.granted()) {
      ++it;
      continue;
    }
    answer.set_ended_ns(HostNow(it->host) + lies_.hears_late_ns);
    Answer(it->id, it->host, answer);
    it = pending_.erase(it);
  }
}

void SimulatedField::FinishContenders() {
  uint64_t counter = 0;
  int64_t moment_ns = now_ns_;
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (!it->command.has_contend()) {
      ++it;
      continue;
    }
    v1::CheckAnswer answer = Begin(it->host, it->command);
    const FileName& file = processes_[it->command.process()].handles[0].file;
    if (lies_.contended_twice) counter = 0;
    if (lies_.contended_overlap) moment_ns = now_ns_;
    for (uint64_t grant = 0; grant < kContended; ++grant) {
      v1::CheckHold& hold = *answer.add_holds();
      const int64_t offset_ns = HostNow(it->host) - now_ns_;
      hold.set_granted_ns(moment_ns + offset_ns);
      hold.set_released_ns(moment_ns + kMs + offset_ns);
      hold.set_sequence(++counter);
      moment_ns += 2 * kMs;
    }
    answer.set_acknowledged(kContended);
    Put(file, Stamp(it->host, it->command.process(), it->command.contend().epoch(), 0, counter), it->host, true);
    Answer(it->id, it->host, answer);
    it = pending_.erase(it);
  }
}

std::optional<v1::CheckAnswer> SimulatedField::Carry(size_t host, const v1::CheckCommand& command) {
  v1::CheckAnswer answer = Begin(host, command);
  const uint32_t number = command.process();
  if (command.has_start()) {
    processes_[number].host = host;
    return answer;
  }
  if (processes_.count(number) == 0) {
    Refuse(answer, absl::StatusCode::kNotFound, "no such process");
    return answer;
  }
  Process& process = processes_[number];
  switch (command.action_case()) {
    case v1::CheckCommand::kKill:
      Kill(number, answer);
      return answer;
    case v1::CheckCommand::kOpen: {
      const FileName file{command.open().host(), command.open().file()};
      const bool direct = command.open().direct() && !lies_.direct_refused;
      if (restarted_ && lies_.file_lost_at_restart) {
        Refuse(answer, absl::StatusCode::kNotFound, "open host1/qm1: No such file or directory (2)");
        return answer;
      }
      if (restarted_ && lies_.file_emptied_at_restart) {
        Refuse(answer, absl::StatusCode::kDataLoss, "qm1 does not carry the run's token: its first page is empty");
        return answer;
      }
      process.handles[command.open().handle()] = {file, direct};
      answer.set_direct(direct);
      if (!lies_.cache_is_stale_after_open) caches_.erase({host, file});
      return answer;
    }
    case v1::CheckCommand::kClose:
      process.handles.erase(command.close().handle());
      return answer;
    case v1::CheckCommand::kLock:
      TakeLock(host, command, answer);
      if (answer.code() == 0 && !answer.granted() &&
          (command.lock().kind() == v1::CheckLock::KIND_POLL || command.lock().kind() == v1::CheckLock::KIND_WAIT)) {
        return std::nullopt;
      }
      return answer;
    case v1::CheckCommand::kWrite: {
      const v1::CheckWrite& write = command.write();
      if (((restarted_ && lies_.holder_fails_after_restart) || (was_silent_ && lies_.holder_fails_after_silence)) &&
          write.first() == 0) {
        answer.set_error_number(EIO);
        Refuse(answer, absl::StatusCode::kUnavailable, "pwrite: Input/output error (5)");
        return answer;
      }
      const Handle& handle = process.handles[write.handle()];
      const uint64_t last = write.sequence() + std::max(write.rounds(), 1U) - 1;
      for (uint32_t i = 0; i < write.count(); ++i) {
        const uint32_t page = write.first() + i * std::max(write.stride(), 1U);
        Put(handle.file, Stamp(host, number, write.epoch(), page, last), host, handle.direct);
      }
      answer.set_acknowledged(std::max(write.rounds(), 1U));
      return answer;
    }
    case v1::CheckCommand::kRead:
      for (uint32_t i = 0; i < command.read().count(); ++i) {
        *answer.add_pages() = PageOf(host, process.handles[command.read().handle()], command.read().first() + i);
      }
      return answer;
    case v1::CheckCommand::kWatch: {
      for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
        v1::CheckSight& sight = *answer.add_sights();
        *sight.mutable_first() = Stamp(host, number, 0, 0, sequence);
        *sight.mutable_second() = Stamp(host, number, 0, 0, lies_.second_file_first ? sequence - 1 : sequence);
      }
      answer.set_acknowledged(10);
      return answer;
    }
    case v1::CheckCommand::kReplace: {
      const v1::CheckReplace& replace = command.replace();
      const FileName file{label(host), replace.target()};
      Put(file, Stamp(host, number, replace.epoch(), 0, replace.sequence() + replace.rounds() - 1), host, true);
      answer.set_acknowledged(replace.rounds());
      return answer;
    }
    case v1::CheckCommand::kLook: {
      const Content& content = files_[{command.look().host(), command.look().file()}];
      if (content.count(0) != 0) *answer.add_sights()->mutable_first() = content.at(0);
      answer.set_acknowledged(10);
      answer.set_missing(lies_.missing_names);
      return answer;
    }
    case v1::CheckCommand::kStat:
      answer.set_modified_ns(modified_ns_[process.handles[command.stat().handle()].file]);
      return answer;
    case v1::CheckCommand::kPingPong:
      answer.set_acknowledged(3000);
      return answer;
    default:
      // Streams, until they are killed, and contenders.
      return std::nullopt;
  }
}

}  // namespace plimsoll::tests
