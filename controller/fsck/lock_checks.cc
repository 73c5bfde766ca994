#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/fsck/checks.h"

namespace plimsoll {
namespace {

using Kind = v1::CheckLock;

constexpr int64_t kContendNs = 500 * kNsPerMs;
constexpr int64_t kStormNs = 3 * kNsPerSecond;
constexpr int64_t kPingPongNs = 3 * kNsPerSecond;
// A lock that is not free after this is not released at all: twice the 30 s after which some servers notify a waiter.
constexpr int64_t kReleaseLimitNs = 60 * kNsPerSecond;
constexpr int64_t kPollNs = 20 * kNsPerMs;
// Long enough for a waiter on another host to be waiting.
constexpr int64_t kSettleNs = 200 * kNsPerMs;
// Beyond every lease that servers have by default (90 s with Linux).
constexpr int64_t kCourtesyNs = 100 * kNsPerSecond;
constexpr uint32_t kCapacityFiles = 16;
// Bytes of the locks of different parts of a check lie apart.
constexpr uint64_t kContendByte = 4096;
constexpr uint64_t kCapacityByte = uint64_t{1} << 30;

std::string Seconds(int64_t duration_ns) {
  return absl::StrFormat("%.3f s", static_cast<double>(duration_ns) / kNsPerSecond);
}

// Something that took place between two moments of one clock for all hosts, its errors taken in.
struct Span {
  int64_t earliest_ns = 0;
  int64_t latest_ns = 0;
};

int64_t SaturatedDifference(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return a < b ? INT64_MIN : INT64_MAX;
  return difference;
}
int64_t SaturatedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

Span SpanOf(CheckRun& run, size_t host, int64_t from_ns, int64_t to_ns) {
  const MappedMoment from = run.field().ToLocal(host, from_ns);
  const MappedMoment to = run.field().ToLocal(host, to_ns);
  return {SaturatedDifference(from.local_ns, from.error_ns), SaturatedSum(to.local_ns, to.error_ns)};
}

// The time in which a lock was held for certain: what is left of it when the clock's error is taken off.
Span CertainSpanOf(CheckRun& run, size_t host, int64_t from_ns, int64_t to_ns) {
  const MappedMoment from = run.field().ToLocal(host, from_ns);
  const MappedMoment to = run.field().ToLocal(host, to_ns);
  return {SaturatedSum(from.local_ns, from.error_ns), SaturatedDifference(to.local_ns, to.error_ns)};
}

v1::CheckCommand LockCommand(Kind::Kind kind, int64_t interval_ns, int64_t limit_ns) {
  v1::CheckCommand command;
  v1::CheckLock& lock = *command.mutable_lock();
  lock.set_kind(kind);
  lock.set_length(1);
  lock.set_interval_ns(interval_ns);
  lock.set_limit_ns(limit_ns);
  return command;
}

// Takes a range that only touches what others hold.
void MustNotConflict(CheckRun& run, const CheckedProcess& process, uint64_t start, uint64_t length) {
  const v1::CheckAnswer answer = run.Lock(process, Kind::KIND_TRY, start, length);
  if (answer.code() == 0 && !answer.granted()) {
    run.Fail(absl::StrCat("refused: ", run.label(process.host), " was refused bytes from ", start,
                          ", which overlap with no lock"));
  }
}

const char* Mode(bool shared) {
  return shared ? "shared" : "exclusive";
}

// What `asker` gets beside the lock of `holder`, and what F_GETLK reports to it, where each is shared or exclusive:
// only two shared ones go together.
void MustAgree(CheckRun& run, const CheckedProcess& asker, bool asked_shared, const CheckedProcess& holder,
               bool held_shared) {
  const std::string beside =
      absl::StrCat(" ", Mode(asked_shared), " lock beside the ", Mode(held_shared), " one of ", run.label(holder.host));
  const bool together = asked_shared && held_shared;
  const v1::CheckAnswer seen = run.Lock(asker, Kind::KIND_TEST, 0, 1, asked_shared);
  if (seen.code() == 0 && seen.granted() != together) {
    run.Fail(absl::StrCat(together ? "seen in the way" : "not seen", ": F_GETLK on ", run.label(asker.host), ", for a",
                          asked_shared ? "" : "n", beside));
  }
  const v1::CheckAnswer got = run.Lock(asker, Kind::KIND_TRY, 0, 1, asked_shared);
  if (got.code() == 0 && got.granted() != together) {
    run.Fail(absl::StrCat(together ? "refused: " : "granted twice: ", run.label(asker.host),
                          together ? " was refused its" : " was granted its", beside));
  }
}

// How a holder gives its lock up.
enum class ReleaseBy { kUnlock, kDie };

// `waiter` waits for the lock of `holder`, which releases it: it must be granted, soon, and not before. Returns how
// late, at most.
int64_t HandOver(CheckRun& run, const CheckedProcess& holder, const CheckedProcess& waiter, Kind::Kind kind,
                 ReleaseBy by) {
  run.MustGet(holder);
  run.MustBeRefused(waiter, holder);
  const uint64_t waiting =
      run.Send(waiter, LockCommand(kind, kPollNs, kReleaseLimitNs), kReleaseLimitNs + CheckRun::kCallNs);
  if (!run.over()) run.field().Pause(kSettleNs);
  const v1::CheckAnswer given = by == ReleaseBy::kDie ? run.Kill(holder) : run.Lock(holder, Kind::KIND_UNLOCK);
  const v1::CheckAnswer granted = run.Await(waiter, waiting);
  if (run.over() || granted.code() != 0) return 0;
  const std::string what = by == ReleaseBy::kDie ? "was killed" : "unlocked";
  if (!granted.granted()) {
    run.Fail(absl::StrCat("never released: ", run.label(waiter.host), " was not granted the lock within ",
                          FormatDuration(kReleaseLimitNs), " after ", run.label(holder.host), "'s holder ", what));
    return 0;
  }
  const Span grant = SpanOf(run, waiter.host, granted.ended_ns(), granted.ended_ns());
  const Span release = SpanOf(run, holder.host, given.started_ns(), given.ended_ns());
  if (grant.latest_ns < release.earliest_ns) {
    run.Fail(absl::StrCat("granted twice: ", run.label(waiter.host), " was granted the lock before ",
                          run.label(holder.host), "'s holder ", what));
  }
  // So that what comes next does not depend on how locks of the dead are treated.
  run.Unlock(waiter);
  return std::max<int64_t>(0, SaturatedDifference(grant.latest_ns, release.earliest_ns));
}

// Every host waits once for its neighbour.
void CheckWait(CheckRun& run, Kind::Kind kind, std::vector<ReleaseBy> ways) {
  for (const ReleaseBy by : ways) {
    int64_t latest_ns = 0;
    for (size_t host = 0; host < run.hosts() && !run.over(); ++host) {
      const CheckedProcess waiter = run.Start(host);
      const CheckedProcess holder = run.Start(run.Other(host));
      run.Open(waiter, 0, CheckRun::How::kBuffered);
      run.Open(holder, 0, CheckRun::How::kBuffered);
      latest_ns = std::max(latest_ns, HandOver(run, holder, waiter, kind, by));
      run.Kill(waiter);
      if (by == ReleaseBy::kUnlock) run.Kill(holder);
    }
    run.Note(absl::StrCat("granted at most ", Seconds(latest_ns), " after the holder ",
                          by == ReleaseBy::kDie ? "was killed" : "unlocked"));
    if (kind == Kind::KIND_WAIT && latest_ns > kNsPerSecond) {
      run.Note("a queue manager that waits in F_SETLKW takes over as late; one that polls does not");
    }
  }
}

// What the holders of a contended lock report must fit one holder at a time: every sequence once, and no two at once.
void JudgeHolds(CheckRun& run, const std::vector<CheckedProcess>& processes,
                const std::vector<v1::CheckAnswer>& answers, const v1::CheckAnswer& last) {
  uint64_t grants = 0;
  struct Hold {
    Span held;
    size_t host = 0;
  };
  std::vector<Hold> holds;
  std::map<uint64_t, size_t> writers;  // host, by sequence
  for (size_t i = 0; i < processes.size(); ++i) {
    grants += answers[i].acknowledged();
    for (const v1::CheckHold& hold : answers[i].holds()) {
      const size_t host = processes[i].host;
      const auto [other, first] = writers.emplace(hold.sequence(), host);
      if (!first) {
        run.Fail(absl::StrCat("granted twice, or read stale under the lock: ", run.label(other->second), " and ",
                              run.label(host), " both wrote number ", hold.sequence(), " while they held the lock"));
      }
      holds.push_back({CertainSpanOf(run, host, hold.granted_ns(), hold.released_ns()), host});
    }
  }
  std::sort(holds.begin(), holds.end(),
            [](const Hold& a, const Hold& b) { return a.held.earliest_ns < b.held.earliest_ns; });
  const Hold* before = nullptr;
  for (const Hold& hold : holds) {
    // Where the clocks' errors are longer than the hold, nothing is certain.
    if (hold.held.earliest_ns > hold.held.latest_ns) continue;
    if (before != nullptr && hold.held.earliest_ns < before->held.latest_ns) {
      run.Fail(absl::StrCat("granted twice: ", run.label(before->host), " and ", run.label(hold.host),
                            " held the lock at one time"));
    }
    if (before == nullptr || hold.held.latest_ns > before->held.latest_ns) before = &hold;
  }
  if (last.code() == 0 && last.pages_size() == 1 && grants > 0) {
    const v1::CheckPage& page = last.pages(0);
    if (page.state() != v1::CHECK_PAGE_STATE_WHOLE || page.epoch() != run.epoch() || page.sequence() != grants) {
      run.Fail(absl::StrCat("granted twice, or read stale under the lock: ", FormatCount(grants),
                            " increments under the lock, and the counter reads ", run.InWords(page)));
    }
  }
  if (grants == 0) run.Undecided("no process was ever granted the lock");
  run.Note(absl::StrCat(FormatCount(grants), " times one of ", processes.size(),
                        " processes held the lock, and every one of its increments is there"));
}

void Contend(CheckRun& run, const std::vector<CheckedProcess>& processes, int64_t duration_ns) {
  std::vector<uint64_t> sent;
  for (const CheckedProcess& process : processes) {
    v1::CheckCommand command;
    v1::CheckContend& contend = *command.mutable_contend();
    contend.set_byte(kContendByte);
    contend.set_epoch(run.epoch());
    contend.set_limit_ns(duration_ns);
    sent.push_back(run.Send(process, std::move(command), duration_ns + CheckRun::kCallNs));
  }
  std::vector<v1::CheckAnswer> answers;
  for (size_t i = 0; i < processes.size(); ++i) answers.push_back(run.Await(processes[i], sent[i]));
  const v1::CheckAnswer last = run.Read(processes[0], 0, 1);
  if (!run.over()) JudgeHolds(run, processes, answers, last);
}

}  // namespace

void CheckLockExclusive(CheckRun& run) {
  const std::vector<CheckedProcess> processes = run.StartAll();
  for (const CheckedProcess& process : processes) run.Open(process, 0, CheckRun::How::kDirect);
  int refused = 0;
  for (const CheckedProcess& holder : processes) {
    run.MustGet(holder);
    for (const CheckedProcess& other : processes) {
      if (other.number == holder.number) continue;
      run.MustBeRefused(other, holder);
      const v1::CheckAnswer seen = run.Lock(other, Kind::KIND_TEST);
      if (seen.code() == 0 && seen.granted()) {
        run.Fail(absl::StrCat("not seen: F_GETLK on ", run.label(other.host), " reports no lock while ",
                              run.label(holder.host), " holds one"));
      }
      ++refused;
    }
    run.Unlock(holder);
  }
  run.Note(absl::StrCat(refused, " attempts on locks that another host held were refused"));
  Contend(run, processes, kContendNs);
}

void CheckLockByteRanges(CheckRun& run) {
  const std::vector<CheckedProcess> processes = run.StartAll();
  for (const CheckedProcess& process : processes) run.Open(process, 0, CheckRun::How::kBuffered);
  const CheckedProcess& a = processes[0];
  const CheckedProcess& b = processes[run.Other(0)];
  // The largest offset that a lock can begin at.
  constexpr uint64_t kFarthest = (uint64_t{1} << 63) - 2;
  run.MustGet(a, 0, 10);
  MustNotConflict(run, b, 10, 10);
  run.MustBeRefused(b, a, 9, 1);
  run.MustBeRefused(b, a, 9, 2);
  run.MustBeRefused(a, b, 10, 1);
  run.MustBeRefused(a, b, 5, 100);
  // A hole in the middle, and what stays on both sides of it.
  run.Unlock(a, 4, 2);
  MustNotConflict(run, b, 4, 2);
  run.MustBeRefused(b, a, 3, 1);
  run.MustBeRefused(b, a, 6, 1);
  run.MustBeRefused(a, b, 4, 1);
  // To the end of the file, wherever that is.
  MustNotConflict(run, a, 1000, 0);
  run.MustBeRefused(b, a, uint64_t{1} << 40, 1);
  run.MustBeRefused(b, a, kFarthest, 1);
  MustNotConflict(run, b, 999, 1);
  run.Unlock(a, 0, 0);
  run.Unlock(b, 0, 0);
  MustNotConflict(run, b, kFarthest, 1);
  run.MustBeRefused(a, b, kFarthest, 1);
  run.Note("ranges that touch do not conflict, ranges that overlap in one byte do; up to the largest offset");
}

void CheckLockShared(CheckRun& run) {
  const std::vector<CheckedProcess> processes = run.StartAll();
  for (const CheckedProcess& process : processes) run.Open(process, 0, CheckRun::How::kBuffered);
  const auto hold = [&run](const CheckedProcess& process, bool shared) {
    const v1::CheckAnswer answer = run.Lock(process, Kind::KIND_TRY, 0, 1, shared);
    if (answer.code() == 0 && !answer.granted()) {
      run.Undecided(absl::StrCat(run.label(process.host), " was refused a lock that no process held"));
    }
  };
  for (const CheckedProcess& holder : processes) {
    const CheckedProcess& asker = processes[run.Other(holder.host)];
    hold(holder, true);
    MustAgree(run, asker, /*asked_shared=*/false, holder, /*held_shared=*/true);
    MustAgree(run, asker, /*asked_shared=*/true, holder, /*held_shared=*/true);
    // The one of two that stays still counts.
    run.Unlock(holder);
    MustAgree(run, holder, /*asked_shared=*/false, asker, /*held_shared=*/true);
    run.Unlock(asker);
    hold(holder, false);
    MustAgree(run, asker, /*asked_shared=*/true, holder, /*held_shared=*/false);
    run.Unlock(holder);
  }
  run.Note("two hosts hold a shared lock at once; beside it an exclusive one is refused, and the other way round");
}

void CheckLockReleasedAtProcessDeath(CheckRun& run) {
  CheckWait(run, Kind::KIND_POLL, {ReleaseBy::kDie});
}

void CheckLockWaitPoll(CheckRun& run) {
  CheckWait(run, Kind::KIND_POLL, {ReleaseBy::kUnlock});
}

void CheckLockWaitBlocking(CheckRun& run) {
  CheckWait(run, Kind::KIND_WAIT, {ReleaseBy::kUnlock, ReleaseBy::kDie});
}

void CheckLockStorm(CheckRun& run) {
  std::vector<CheckedProcess> processes;
  for (uint32_t i = 0; i < kStormProcessesPerHost; ++i) {
    for (const CheckedProcess& process : run.StartAll()) processes.push_back(process);
  }
  for (const CheckedProcess& process : processes) run.Open(process, 0, CheckRun::How::kDirect);
  Contend(run, processes, kStormNs);
}

void CheckLockPingPong(CheckRun& run) {
  const std::vector<CheckedProcess> processes = run.StartAll();
  for (const CheckedProcess& process : processes) run.Open(process, 0, CheckRun::How::kBuffered);
  std::vector<uint64_t> sent;
  for (const CheckedProcess& process : processes) {
    v1::CheckCommand command;
    command.mutable_ping_pong()->set_locks(static_cast<uint32_t>(processes.size()) + 1);
    command.mutable_ping_pong()->set_limit_ns(kPingPongNs);
    sent.push_back(run.Send(process, std::move(command), kPingPongNs + CheckRun::kCallNs));
  }
  uint64_t locks = 0;
  for (size_t i = 0; i < processes.size(); ++i) {
    const v1::CheckAnswer answer = run.Await(processes[i], sent[i]);
    locks += answer.acknowledged();
    run.Note(absl::StrCat(run.label(processes[i].host), ": ",
                          FormatCount(answer.acknowledged() * kNsPerSecond / kPingPongNs), " locks/s"));
  }
  if (locks == 0) run.Undecided("no lock was handed on");
  run.Note(absl::StrCat("all hosts: ", FormatCount(locks * kNsPerSecond / kPingPongNs), " locks/s"));
}

void CheckLockCourtesy(CheckRun& run) {
  const CheckedProcess holder = run.Start(0);
  const CheckedProcess other = run.Start(run.Other(0));
  run.Open(holder, 0, CheckRun::How::kDirect);
  run.Open(other, 0, CheckRun::How::kDirect);
  run.MustGet(holder);
  if (!run.over()) run.field().Pause(kCourtesyNs);
  if (run.field().over()) run.Undecided("ended early");
  run.MustBeRefused(other, holder);
  run.MustStillWrite(holder, "after the silence");
  run.Note(absl::StrCat("held for ", FormatDuration(kCourtesyNs),
                        " without a call; still refused to the other host, and its holder writes on"));
}

void CheckLockCapacity(CheckRun& run) {
  std::vector<CheckedProcess> processes;
  for (uint32_t i = 0; i < kCapacityProcesses; ++i) processes.push_back(run.Start(0));
  uint32_t pairs = 0;
  for (size_t i = 0; i < processes.size() && !run.over(); ++i) {
    for (uint32_t file = 0; file < kCapacityFiles; ++file) {
      v1::CheckCommand open;
      open.mutable_open()->set_handle(file);
      open.mutable_open()->set_host(run.label(0));
      // Files of other checks, whose processes have ended.
      open.mutable_open()->set_file(file);
      run.Ask(processes[i], std::move(open));
      v1::CheckCommand lock;
      lock.mutable_lock()->set_handle(file);
      lock.mutable_lock()->set_kind(Kind::KIND_TRY);
      lock.mutable_lock()->set_start(kCapacityByte + i);
      lock.mutable_lock()->set_length(1);
      if (run.over()) break;
      // A limit is what this looks for: no finding of its own.
      const v1::CheckAnswer answer = run.field().Await(run.Send(processes[i], std::move(lock)));
      if (answer.code() == 0 && answer.granted()) {
        ++pairs;
        continue;
      }
      run.Fail(absl::StrCat("only ", pairs, " locks of one process in one file each: ", run.label(0), ": ",
                            answer.code() == 0 ? "refused a lock that no process held" : answer.message()));
    }
  }
  run.Note(absl::StrCat(pairs, " locks at once: ", kCapacityProcesses, " processes on ", run.label(0), " in ",
                        kCapacityFiles, " files"));
}

void CheckLockContentVisibleToNextOwner(CheckRun& run) {
  for (size_t host = 0; host < run.hosts() && !run.over(); ++host) {
    const CheckedProcess holder = run.Start(host);
    const CheckedProcess next = run.Start(run.Other(host));
    run.Open(holder, 0, CheckRun::How::kBuffered);
    run.Open(next, 0, CheckRun::How::kBuffered);
    run.MustGet(holder);
    // Into the next owner's cache, as it was.
    run.Read(next, 0, 1);
    run.Write(holder, host + 1, 0, 1);
    const uint64_t waiting =
        run.Send(next, LockCommand(Kind::KIND_POLL, kPollNs, kReleaseLimitNs), kReleaseLimitNs + CheckRun::kCallNs);
    run.Kill(holder);
    const v1::CheckAnswer granted = run.Await(next, waiting);
    if (granted.code() == 0 && !granted.granted()) run.Undecided("the lock of the killed holder was not granted");
    run.MustHold(next, run.Read(next, 0, 1), host, host + 1, "under the lock that the killed writer had held");
    run.Kill(next);
  }
  run.Note("what the owner of a lock wrote without flushing it, the next owner reads after the first one was killed");
}

}  // namespace plimsoll
