#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/fsck/checks.h"

namespace plimsoll {
namespace {

constexpr uint32_t kRestartPages = 16;
constexpr int64_t kBeforeRestartNs = kNsPerSecond;
// Writes went on beside the command without a gap of this length: nothing that they needed was away.
constexpr int64_t kOutageNs = kNsPerSecond;
// A call to a server that restarts: its boot, and its time of grace.
constexpr int64_t kRestartCallNs = 600 * kNsPerSecond;
// A lock that no client reclaims is free after the server's time of grace, 90 s by default.
constexpr int64_t kWatchAfterRestartNs = 120 * kNsPerSecond;
// Longer than leases are by default, and than servers take to find out.
constexpr int64_t kHostDeathLimitNs = 300 * kNsPerSecond;
constexpr int64_t kBackLimitNs = 300 * kNsPerSecond;
constexpr int64_t kPollAtFailureNs = 100 * kNsPerMs;

v1::CheckCommand RestartStream(const FsckCheck& check, uint32_t handle) {
  v1::CheckCommand command;
  command.mutable_stream()->add_handles(handle);
  command.mutable_stream()->set_pages(kRestartPages);
  command.mutable_stream()->set_epoch(check.epoch());
  command.mutable_stream()->set_limit_ns(kRestartCallNs);
  return command;
}

v1::CheckCommand PollCommand(int64_t limit_ns) {
  v1::CheckCommand command;
  command.mutable_lock()->set_kind(v1::CheckLock::KIND_POLL);
  command.mutable_lock()->set_length(1);
  command.mutable_lock()->set_interval_ns(kPollAtFailureNs);
  command.mutable_lock()->set_limit_ns(limit_ns);
  return command;
}

// Has the server restarted, while a process writes all the time: a command beside which the writes went on restarted
// nothing. `witness` has file 1 open. `just_before` is called right before the command.
void RestartServer(FsckCheck& check, const CheckedProcess& witness, const std::function<void()>& just_before,
                   const std::function<void()>& lost_file) {
  const uint64_t writing = check.Send(witness, RestartStream(check, 1), 2 * kRestartCallNs);
  // Opens its file before: a server in its time of grace takes no new ones.
  const CheckedProcess after = check.Start(witness.host);
  check.Open(after, witness.host, FsckCheck::How::kDirect);
  if (check.over()) return;
  check.field().Pause(kBeforeRestartNs);
  just_before();
  if (check.over()) return;
  const absl::Status status = check.field().Provoke(FsckField::Fault::kRestartServer, 0);
  if (!status.ok()) return check.Undecided(absl::StrCat("--restart-server: ", std::string(status.message())));
  // Until it writes again: one more page, behind all that waits.
  check.field().Pause(kBeforeRestartNs);
  v1::CheckCommand write;
  write.mutable_write()->set_first(kRestartPages);
  write.mutable_write()->set_count(1);
  write.mutable_write()->set_epoch(check.epoch());
  write.mutable_write()->set_sequence(1);
  write.set_process(after.number);
  write.set_timeout_ns(kRestartCallNs);
  const v1::CheckAnswer wrote = check.field().Await(check.field().Send(after.host, write));
  // A file that the server lost is none to write to; `lost_file` looks whether it did.
  if (wrote.code() != 0) {
    if (wrote.error_number() == EIO || wrote.error_number() == ESTALE) lost_file();
    check.Undecided(absl::StrCat(check.label(after.host), ": ", wrote.message()));
  }
  if (!check.over()) check.field().Pause(kBeforeRestartNs);
  const v1::CheckAnswer killed = check.Kill(witness);
  if (check.over() || writing == 0) return;
  const double gap_s = static_cast<double>(killed.longest_gap_ns()) / kNsPerSecond;
  if (killed.longest_gap_ns() < kOutageNs) {
    check.Undecided(
        absl::StrFormat("--restart-server restarted nothing that writes depend on: the longest gap between %d "
                        "writes beside it was %.3f s",
                        killed.acknowledged(), gap_s));
  }
  check.Note(absl::StrFormat("writes stalled for %.1f s while the server restarted", gap_s));
}

// Opens the file of a writer after the restart. Its name was made durable and its first page written synchronously, and
// another process has opened it before: where it is gone, or empty, so is what was acknowledged.
void OpenAfterRestart(FsckCheck& check, const CheckedProcess& reader, size_t writer, uint64_t acknowledged) {
  if (check.over()) return;
  v1::CheckCommand open;
  open.mutable_open()->set_host(check.label(writer));
  open.mutable_open()->set_file(check.file());
  open.mutable_open()->set_direct(true);
  open.set_process(reader.number);
  open.set_timeout_ns(kRestartCallNs);
  const v1::CheckAnswer opened = check.field().Await(check.field().Send(reader.host, open));
  switch (static_cast<absl::StatusCode>(opened.code())) {
    case absl::StatusCode::kOk:
      return;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDataLoss:
      return check.Fail(absl::StrCat("acknowledged write lost: ", check.label(reader.host), ": ", opened.message(),
                                     "; ", check.label(writer), " had acknowledged ", FormatCount(acknowledged),
                                     " writes to that file, which was opened before the restart"));
    default:
      return check.Undecided(absl::StrCat(check.label(reader.host), ": ", opened.message()));
  }
}

}  // namespace

void CheckDataDsyncSurvivesServerRestart(FsckCheck& check) {
  const size_t last = check.hosts() - 1;
  const CheckedProcess witness = check.Start(last);
  check.Open(witness, last, FsckCheck::How::kDirect, 1);
  const std::vector<CheckedProcess> writers = check.StartAll();
  for (const CheckedProcess& writer : writers) {
    check.Open(writer, writer.host, FsckCheck::How::kDirect);
    const CheckedProcess reader = check.Start(check.hosts() > 1 ? check.Other(writer.host) : writer.host);
    check.Open(reader, writer.host, FsckCheck::How::kDirect);
    check.Kill(reader);
    check.Send(writer, RestartStream(check, 0), 2 * kRestartCallNs);
  }
  std::vector<uint64_t> acknowledged;
  uint64_t total = 0;
  const auto open_all = [&check, &writers, &acknowledged] {
    for (const CheckedProcess& writer : writers) {
      for (size_t host = 0; host < check.hosts() && !check.over(); ++host) {
        const CheckedProcess reader = check.Start(host);
        OpenAfterRestart(check, reader, writer.host, acknowledged[writer.host]);
        check.Kill(reader);
      }
    }
  };
  // They end just before, so that nothing is written over what was acknowledged, and little time passes in which the
  // server could write out what it should have written before.
  const auto end_writers = [&] {
    for (const CheckedProcess& writer : writers) {
      acknowledged.push_back(check.Kill(writer).acknowledged());
      total += acknowledged.back();
      if (acknowledged.back() == 0) check.Undecided(absl::StrCat(check.label(writer.host), " acknowledged no write"));
    }
  };
  RestartServer(check, witness, end_writers, open_all);
  for (const CheckedProcess& writer : writers) {
    for (size_t host = 0; host < check.hosts() && !check.over(); ++host) {
      const CheckedProcess reader = check.Start(host);
      OpenAfterRestart(check, reader, writer.host, acknowledged[writer.host]);
      v1::CheckCommand read;
      read.mutable_read()->set_count(kRestartPages);
      const v1::CheckAnswer answer = check.Ask(reader, std::move(read), kRestartCallNs);
      JudgeStream(check, reader, writer.host, answer, kRestartPages, acknowledged[writer.host]);
      check.Kill(reader);
    }
  }
  check.Note(absl::StrCat(FormatCount(total),
                          " writes were acknowledged just before the server restarted; the last one ",
                          "of each page is there, on every host"));
}

void CheckLockAfterServerRestart(FsckCheck& check) {
  const CheckedProcess holder = check.Start(0);
  const CheckedProcess other = check.Start(check.Other(0));
  const CheckedProcess witness = check.Start(other.host);
  check.Open(holder, 0, FsckCheck::How::kDirect);
  check.Open(other, 0, FsckCheck::How::kDirect);
  check.Open(witness, witness.host, FsckCheck::How::kDirect, 1);
  check.MustGet(holder);
  check.MustBeRefused(other, holder);
  RestartServer(check, witness, [] {}, [] {});
  const v1::CheckAnswer tried = check.Ask(other, PollCommand(kWatchAfterRestartNs), kRestartCallNs);
  if (tried.code() == 0 && tried.granted()) {
    check.Fail(absl::StrCat("granted twice: ", check.label(other.host), " was granted the lock that ", check.label(0),
                            " held when the server restarted, and had not released"));
  }
  check.MustStillWrite(holder, "after the restart", kRestartCallNs);
  check.Note(absl::StrCat("refused to the other host for ", FormatDuration(kWatchAfterRestartNs),
                          " after the restart; its holder writes on"));
}

void CheckLockReleasedAtHostDeath(FsckCheck& check) {
  const size_t victim = check.hosts() - 1;
  const CheckedProcess holder = check.Start(victim);
  // The lock's file is that of a host that stays.
  const CheckedProcess waiter = check.Start(check.Other(victim));
  check.Open(holder, waiter.host, FsckCheck::How::kDirect);
  check.Open(waiter, waiter.host, FsckCheck::How::kDirect);
  check.MustGet(holder);
  check.MustBeRefused(waiter, holder);
  const std::string boot_id = check.field().BootId(victim);
  const uint64_t waiting = check.Send(waiter, PollCommand(kHostDeathLimitNs), kHostDeathLimitNs + FsckCheck::kCallNs);
  if (check.over()) return;
  check.field().Pause(kBeforeRestartNs);
  check.field().ExpectLoss(victim);
  const int64_t begin_ns = check.field().NowNs();
  const absl::Status killed = check.field().Provoke(FsckField::Fault::kKillHost, victim);
  if (!killed.ok()) check.Undecided(absl::StrCat("--kill-host: ", std::string(killed.message())));
  const v1::CheckAnswer granted = check.Await(waiter, waiting);
  const absl::Status restored = check.field().Provoke(FsckField::Fault::kRestoreHost, victim);
  if (!restored.ok()) check.Undecided(absl::StrCat("--restore-host: ", std::string(restored.message())));
  if (check.over()) return;
  if (!granted.granted()) {
    check.Fail(absl::StrCat("never released: ", check.label(waiter.host), " was not granted the lock within ",
                            FormatDuration(kHostDeathLimitNs), " of the death of ", check.label(victim)));
    return;
  }
  const MappedMoment grant = check.field().ToLocal(waiter.host, granted.ended_ns());
  if (grant.local_ns + grant.error_ns < begin_ns) {
    check.Fail(absl::StrCat("granted twice: ", check.label(waiter.host), " was granted the lock before ",
                            check.label(victim), " was killed"));
  }
  // The death of the agent alone would have released the lock by way of the host's own kernel.
  const absl::StatusOr<std::string> back = check.field().AwaitBoot(victim, kBackLimitNs);
  if (!back.ok()) {
    check.Undecided(absl::StrCat(check.label(victim), " did not restart, so that its death is not certain: ",
                                 std::string(back.status().message())));
  } else if (*back == boot_id) {
    check.Undecided(
        absl::StrCat("--kill-host did not kill ", check.label(victim), ": its kernel is the one from before"));
  }
  check.Note(absl::StrFormat("granted %.1f s after the command that killed %s began",
                             static_cast<double>(grant.local_ns - begin_ns) / kNsPerSecond, check.label(victim)));
}

}  // namespace plimsoll
