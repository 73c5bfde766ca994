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

Span SpanOf(FsckCheck& check, size_t host, int64_t from_ns, int64_t to_ns) {
  const MappedMoment from = check.field().ToLocal(host, from_ns);
  const MappedMoment to = check.field().ToLocal(host, to_ns);
  return {SaturatedDifference(from.local_ns, from.error_ns), SaturatedSum(to.local_ns, to.error_ns)};
}

// The time in which a lock was held for certain: what is left of it when the clock's error is taken off.
Span CertainSpanOf(FsckCheck& check, size_t host, int64_t from_ns, int64_t to_ns) {
  const MappedMoment from = check.field().ToLocal(host, from_ns);
  const MappedMoment to = check.field().ToLocal(host, to_ns);
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
void MustNotConflict(FsckCheck& check, const CheckedProcess& process, uint64_t start, uint64_t length) {
  const v1::CheckAnswer answer = check.Lock(process, Kind::KIND_TRY, start, length);
  if (answer.code() == 0 && !answer.granted()) {
    check.Fail(absl::StrCat("refused: ", check.label(process.host), " was refused bytes from ", start,
                            ", which overlap with no lock"));
  }
}

const char* Mode(bool shared) {
  return shared ? "shared" : "exclusive";
}

// What `asker` gets beside the lock of `holder`, and what F_GETLK reports to it, where each is shared or exclusive:
// only two shared ones go together.
void MustAgree(FsckCheck& check, const CheckedProcess& asker, bool asked_shared, const CheckedProcess& holder,
               bool held_shared) {
  const std::string beside = absl::StrCat(" ", Mode(asked_shared), " lock beside the ", Mode(held_shared), " one of ",
                                          check.label(holder.host));
  const bool together = asked_shared && held_shared;
  const v1::CheckAnswer seen = check.Lock(asker, Kind::KIND_TEST, 0, 1, asked_shared);
  if (seen.code() == 0 && seen.granted() != together) {
    check.Fail(absl::StrCat(together ? "seen in the way" : "not seen", ": F_GETLK on ", check.label(asker.host),
                            ", for a", asked_shared ? "" : "n", beside));
  }
  const v1::CheckAnswer got = check.Lock(asker, Kind::KIND_TRY, 0, 1, asked_shared);
  if (got.code() == 0 && got.granted() != together) {
    check.Fail(absl::StrCat(together ? "refused: " : "granted twice: ", check.label(asker.host),
                            together ? " was refused its" : " was granted its", beside));
  }
}

// How a holder gives its lock up.
enum class ReleaseBy { kUnlock, kDie };

// `waiter` waits for the lock of `holder`, which releases it: it must be granted, soon, and not before. Returns how
// late, at most.
int64_t HandOver(FsckCheck& check, const CheckedProcess& holder, const CheckedProcess& waiter, Kind::Kind kind,
                 ReleaseBy by) {
  check.MustGet(holder);
  check.MustBeRefused(waiter, holder);
  const uint64_t waiting =
      check.Send(waiter, LockCommand(kind, kPollNs, kReleaseLimitNs), kReleaseLimitNs + FsckCheck::kCallNs);
  if (!check.over()) check.field().Pause(kSettleNs);
  const v1::CheckAnswer given = by == ReleaseBy::kDie ? check.Kill(holder) : check.Lock(holder, Kind::KIND_UNLOCK);
  const v1::CheckAnswer granted = check.Await(waiter, waiting);
  if (check.over() || granted.code() != 0) return 0;
  const std::string what = by == ReleaseBy::kDie ? "was killed" : "unlocked";
  if (!granted.granted()) {
    check.Fail(absl::StrCat("never released: ", check.label(waiter.host), " was not granted the lock within ",
                            FormatDuration(kReleaseLimitNs), " after ", check.label(holder.host), "'s holder ", what));
    return 0;
  }
  const Span grant = SpanOf(check, waiter.host, granted.ended_ns(), granted.ended_ns());
  const Span release = SpanOf(check, holder.host, given.started_ns(), given.ended_ns());
  if (grant.latest_ns < release.earliest_ns) {
    check.Fail(absl::StrCat("granted twice: ", check.label(waiter.host), " was granted the lock before ",
                            check.label(holder.host), "'s holder ", what));
  }
  // So that what comes next does not depend on how locks of the dead are treated.
  check.Unlock(waiter);
  return std::max<int64_t>(0, SaturatedDifference(grant.latest_ns, release.earliest_ns));
}

// Every host waits once for its neighbour.
void CheckWait(FsckCheck& check, Kind::Kind kind, const std::vector<ReleaseBy>& ways) {
  for (const ReleaseBy by : ways) {
    int64_t latest_ns = 0;
    for (size_t host = 0; host < check.hosts() && !check.over(); ++host) {
      const CheckedProcess waiter = check.Start(host);
      const CheckedProcess holder = check.Start(check.Other(host));
      check.Open(waiter, 0, FsckCheck::How::kBuffered);
      check.Open(holder, 0, FsckCheck::How::kBuffered);
      latest_ns = std::max(latest_ns, HandOver(check, holder, waiter, kind, by));
      check.Kill(waiter);
      if (by == ReleaseBy::kUnlock) check.Kill(holder);
    }
    check.Note(absl::StrCat("granted at most ", Seconds(latest_ns), " after the holder ",
                            by == ReleaseBy::kDie ? "was killed" : "unlocked"));
    if (kind == Kind::KIND_WAIT && latest_ns > kNsPerSecond) {
      check.Note("a queue manager that waits in F_SETLKW takes over as late; one that polls does not");
    }
  }
}

// What the holders of a contended lock report must fit one holder at a time: every sequence once, and no two at once.
void JudgeHolds(FsckCheck& check, const std::vector<CheckedProcess>& processes,
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
        check.Fail(absl::StrCat("granted twice, or read stale under the lock: ", check.label(other->second), " and ",
                                check.label(host), " both wrote number ", hold.sequence(),
                                " while they held the lock"));
      }
      holds.push_back({CertainSpanOf(check, host, hold.granted_ns(), hold.released_ns()), host});
    }
  }
  std::ranges::sort(holds, [](const Hold& a, const Hold& b) { return a.held.earliest_ns < b.held.earliest_ns; });
  const Hold* before = nullptr;
  for (const Hold& hold : holds) {
    // Where the clocks' errors are longer than the hold, nothing is certain.
    if (hold.held.earliest_ns > hold.held.latest_ns) continue;
    if (before != nullptr && hold.held.earliest_ns < before->held.latest_ns) {
      check.Fail(absl::StrCat("granted twice: ", check.label(before->host), " and ", check.label(hold.host),
                              " held the lock at one time"));
    }
    if (before == nullptr || hold.held.latest_ns > before->held.latest_ns) before = &hold;
  }
  if (last.code() == 0 && last.pages_size() == 1 && grants > 0) {
    const v1::CheckPage& page = last.pages(0);
    if (page.state() != v1::CHECK_PAGE_STATE_WHOLE || page.epoch() != check.epoch() || page.sequence() != grants) {
      check.Fail(absl::StrCat("granted twice, or read stale under the lock: ", FormatCount(grants),
                              " increments under the lock, and the counter reads ", check.InWords(page)));
    }
  }
  if (grants == 0) check.Undecided("no process was ever granted the lock");
  check.Note(absl::StrCat(FormatCount(grants), " times one of ", processes.size(),
                          " processes held the lock, and every one of its increments is there"));
}

void Contend(FsckCheck& check, const std::vector<CheckedProcess>& processes, int64_t duration_ns) {
  std::vector<uint64_t> sent;
  for (const CheckedProcess& process : processes) {
    v1::CheckCommand command;
    v1::CheckContend& contend = *command.mutable_contend();
    contend.set_byte(kContendByte);
    contend.set_epoch(check.epoch());
    contend.set_limit_ns(duration_ns);
    sent.push_back(check.Send(process, std::move(command), duration_ns + FsckCheck::kCallNs));
  }
  std::vector<v1::CheckAnswer> answers;
  for (size_t i = 0; i < processes.size(); ++i) answers.push_back(check.Await(processes[i], sent[i]));
  const v1::CheckAnswer last = check.Read(processes[0], 0, 1);
  if (!check.over()) JudgeHolds(check, processes, answers, last);
}

}  // namespace

void CheckLockExclusive(FsckCheck& check) {
  const std::vector<CheckedProcess> processes = check.StartAll();
  for (const CheckedProcess& process : processes) check.Open(process, 0, FsckCheck::How::kDirect);
  int refused = 0;
  for (const CheckedProcess& holder : processes) {
    check.MustGet(holder);
    for (const CheckedProcess& other : processes) {
      if (other.number == holder.number) continue;
      check.MustBeRefused(other, holder);
      const v1::CheckAnswer seen = check.Lock(other, Kind::KIND_TEST);
      if (seen.code() == 0 && seen.granted()) {
        check.Fail(absl::StrCat("not seen: F_GETLK on ", check.label(other.host), " reports no lock while ",
                                check.label(holder.host), " holds one"));
      }
      ++refused;
    }
    check.Unlock(holder);
  }
  check.Note(absl::StrCat(refused, " attempts on locks that another host held were refused"));
  Contend(check, processes, kContendNs);
}

void CheckLockByteRanges(FsckCheck& check) {
  const std::vector<CheckedProcess> processes = check.StartAll();
  for (const CheckedProcess& process : processes) check.Open(process, 0, FsckCheck::How::kBuffered);
  const CheckedProcess& a = processes[0];
  const CheckedProcess& b = processes[check.Other(0)];
  // The largest offset that a lock can begin at.
  constexpr uint64_t kFarthest = (uint64_t{1} << 63) - 2;
  check.MustGet(a, 0, 10);
  MustNotConflict(check, b, 10, 10);
  check.MustBeRefused(b, a, 9, 1);
  check.MustBeRefused(b, a, 9, 2);
  check.MustBeRefused(a, b, 10, 1);
  check.MustBeRefused(a, b, 5, 100);
  // A hole in the middle, and what stays on both sides of it.
  check.Unlock(a, 4, 2);
  MustNotConflict(check, b, 4, 2);
  check.MustBeRefused(b, a, 3, 1);
  check.MustBeRefused(b, a, 6, 1);
  check.MustBeRefused(a, b, 4, 1);
  // To the end of the file, wherever that is.
  MustNotConflict(check, a, 1000, 0);
  check.MustBeRefused(b, a, uint64_t{1} << 40, 1);
  check.MustBeRefused(b, a, kFarthest, 1);
  MustNotConflict(check, b, 999, 1);
  check.Unlock(a, 0, 0);
  check.Unlock(b, 0, 0);
  MustNotConflict(check, b, kFarthest, 1);
  check.MustBeRefused(a, b, kFarthest, 1);
  check.Note("ranges that touch do not conflict, ranges that overlap in one byte do; up to the largest offset");
}

void CheckLockShared(FsckCheck& check) {
  const std::vector<CheckedProcess> processes = check.StartAll();
  for (const CheckedProcess& process : processes) check.Open(process, 0, FsckCheck::How::kBuffered);
  const auto hold = [&check](const CheckedProcess& process, bool shared) {
    const v1::CheckAnswer answer = check.Lock(process, Kind::KIND_TRY, 0, 1, shared);
    if (answer.code() == 0 && !answer.granted()) {
      check.Undecided(absl::StrCat(check.label(process.host), " was refused a lock that no process held"));
    }
  };
  for (const CheckedProcess& holder : processes) {
    const CheckedProcess& asker = processes[check.Other(holder.host)];
    hold(holder, true);
    MustAgree(check, asker, /*asked_shared=*/false, holder, /*held_shared=*/true);
    MustAgree(check, asker, /*asked_shared=*/true, holder, /*held_shared=*/true);
    // The one of two that stays still counts.
    check.Unlock(holder);
    MustAgree(check, holder, /*asked_shared=*/false, asker, /*held_shared=*/true);
    check.Unlock(asker);
    hold(holder, false);
    MustAgree(check, asker, /*asked_shared=*/true, holder, /*held_shared=*/false);
    check.Unlock(holder);
  }
  check.Note("two hosts hold a shared lock at once; beside it an exclusive one is refused, and the other way round");
}

void CheckLockReleasedAtProcessDeath(FsckCheck& check) {
  CheckWait(check, Kind::KIND_POLL, {ReleaseBy::kDie});
}

void CheckLockWaitPoll(FsckCheck& check) {
  CheckWait(check, Kind::KIND_POLL, {ReleaseBy::kUnlock});
}

void CheckLockWaitBlocking(FsckCheck& check) {
  CheckWait(check, Kind::KIND_WAIT, {ReleaseBy::kUnlock, ReleaseBy::kDie});
}

void CheckLockStorm(FsckCheck& check) {
  std::vector<CheckedProcess> processes;
  for (uint32_t i = 0; i < kStormProcessesPerHost; ++i) {
    for (const CheckedProcess& process : check.StartAll()) processes.push_back(process);
  }
  for (const CheckedProcess& process : processes) check.Open(process, 0, FsckCheck::How::kDirect);
  Contend(check, processes, kStormNs);
}

void CheckLockPingPong(FsckCheck& check) {
  const std::vector<CheckedProcess> processes = check.StartAll();
  for (const CheckedProcess& process : processes) check.Open(process, 0, FsckCheck::How::kBuffered);
  std::vector<uint64_t> sent;
  for (const CheckedProcess& process : processes) {
    v1::CheckCommand command;
    command.mutable_ping_pong()->set_locks(static_cast<uint32_t>(processes.size()) + 1);
    command.mutable_ping_pong()->set_limit_ns(kPingPongNs);
    sent.push_back(check.Send(process, std::move(command), kPingPongNs + FsckCheck::kCallNs));
  }
  uint64_t locks = 0;
  for (size_t i = 0; i < processes.size(); ++i) {
    const v1::CheckAnswer answer = check.Await(processes[i], sent[i]);
    locks += answer.acknowledged();
    check.Note(absl::StrCat(check.label(processes[i].host), ": ",
                            FormatCount(answer.acknowledged() * kNsPerSecond / kPingPongNs), " locks/s"));
  }
  if (locks == 0) check.Undecided("no lock was handed on");
  check.Note(absl::StrCat("all hosts: ", FormatCount(locks * kNsPerSecond / kPingPongNs), " locks/s"));
}

void CheckLockCourtesy(FsckCheck& check) {
  const CheckedProcess holder = check.Start(0);
  const CheckedProcess other = check.Start(check.Other(0));
  check.Open(holder, 0, FsckCheck::How::kDirect);
  check.Open(other, 0, FsckCheck::How::kDirect);
  check.MustGet(holder);
  if (!check.over()) check.field().Pause(kCourtesyNs);
  if (check.field().over()) check.Undecided("ended early");
  check.MustBeRefused(other, holder);
  check.MustStillWrite(holder, "after the silence");
  check.Note(absl::StrCat("held for ", FormatDuration(kCourtesyNs),
                          " without a call; still refused to the other host, and its holder writes on"));
}

void CheckLockCapacity(FsckCheck& check) {
  std::vector<CheckedProcess> processes;
  for (uint32_t i = 0; i < kCapacityProcesses; ++i) processes.push_back(check.Start(0));
  uint32_t pairs = 0;
  for (size_t i = 0; i < processes.size() && !check.over(); ++i) {
    for (uint32_t file = 0; file < kCapacityFiles; ++file) {
      v1::CheckCommand open;
      open.mutable_open()->set_handle(file);
      open.mutable_open()->set_host(check.label(0));
      // Files of other checks, whose processes have ended.
      open.mutable_open()->set_file(file);
      check.Ask(processes[i], std::move(open));
      v1::CheckCommand lock;
      lock.mutable_lock()->set_handle(file);
      lock.mutable_lock()->set_kind(Kind::KIND_TRY);
      lock.mutable_lock()->set_start(kCapacityByte + i);
      lock.mutable_lock()->set_length(1);
      if (check.over()) break;
      // A limit is what this looks for: no finding of its own.
      const v1::CheckAnswer answer = check.field().Await(check.Send(processes[i], std::move(lock)));
      if (answer.code() == 0 && answer.granted()) {
        ++pairs;
        continue;
      }
      check.Fail(absl::StrCat("only ", pairs, " locks of one process in one file each: ", check.label(0), ": ",
                              answer.code() == 0 ? "refused a lock that no process held" : answer.message()));
    }
  }
  check.Note(absl::StrCat(pairs, " locks at once: ", kCapacityProcesses, " processes on ", check.label(0), " in ",
                          kCapacityFiles, " files"));
}

void CheckLockContentVisibleToNextOwner(FsckCheck& check) {
  for (size_t host = 0; host < check.hosts() && !check.over(); ++host) {
    const CheckedProcess holder = check.Start(host);
    const CheckedProcess next = check.Start(check.Other(host));
    check.Open(holder, 0, FsckCheck::How::kBuffered);
    check.Open(next, 0, FsckCheck::How::kBuffered);
    check.MustGet(holder);
    // Into the next owner's cache, as it was.
    check.Read(next, 0, 1);
    check.Write(holder, host + 1, 0, 1);
    const uint64_t waiting =
        check.Send(next, LockCommand(Kind::KIND_POLL, kPollNs, kReleaseLimitNs), kReleaseLimitNs + FsckCheck::kCallNs);
    check.Kill(holder);
    const v1::CheckAnswer granted = check.Await(next, waiting);
    if (granted.code() == 0 && !granted.granted()) check.Undecided("the lock of the killed holder was not granted");
    check.MustHold(next, check.Read(next, 0, 1), host, host + 1, "under the lock that the killed writer had held");
    check.Kill(next);
  }
  check.Note("what the owner of a lock wrote without flushing it, the next owner reads after the first one was killed");
}

}  // namespace plimsoll
