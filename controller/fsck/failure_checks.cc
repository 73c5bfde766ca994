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
// A lock that nobody reclaims is free after the server's time of grace, 90 s by default.
constexpr int64_t kWatchAfterRestartNs = 120 * kNsPerSecond;
// Longer than leases are by default, and than servers take to find out.
constexpr int64_t kHostDeathLimitNs = 300 * kNsPerSecond;
constexpr int64_t kBackLimitNs = 300 * kNsPerSecond;
constexpr int64_t kPollAtFailureNs = 100 * kNsPerMs;

v1::CheckCommand RestartStream(const CheckRun& run, uint32_t handle) {
  v1::CheckCommand command;
  command.mutable_stream()->add_handles(handle);
  command.mutable_stream()->set_pages(kRestartPages);
  command.mutable_stream()->set_epoch(run.epoch());
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
void RestartServer(CheckRun& run, const CheckedProcess& witness, const std::function<void()>& just_before,
                   const std::function<void()>& lost_file) {
  const uint64_t writing = run.Send(witness, RestartStream(run, 1), 2 * kRestartCallNs);
  // Opens its file before: a server in its time of grace takes no new ones.
  const CheckedProcess after = run.Start(witness.host);
  run.Open(after, witness.host, CheckRun::How::kDirect);
  if (run.over()) return;
  run.field().Pause(kBeforeRestartNs);
  just_before();
  if (run.over()) return;
  const absl::Status status = run.field().Provoke(CheckField::Fault::kRestartServer, 0);
  if (!status.ok()) return run.Undecided(absl::StrCat("--restart-server: ", std::string(status.message())));
  // Until it writes again: one more page, behind all that waits.
  run.field().Pause(kBeforeRestartNs);
  v1::CheckCommand write;
  write.mutable_write()->set_first(kRestartPages);
  write.mutable_write()->set_count(1);
  write.mutable_write()->set_epoch(run.epoch());
  write.mutable_write()->set_sequence(1);
  write.set_process(after.number);
  write.set_timeout_ns(kRestartCallNs);
  const v1::CheckAnswer wrote = run.field().Await(run.field().Send(after.host, write));
  // A file that the server lost is none to write to; `lost_file` looks whether it did.
  if (wrote.code() != 0) {
    if (wrote.error_number() == EIO || wrote.error_number() == ESTALE) lost_file();
    run.Undecided(absl::StrCat(run.label(after.host), ": ", wrote.message()));
  }
  if (!run.over()) run.field().Pause(kBeforeRestartNs);
  const v1::CheckAnswer killed = run.Kill(witness);
  if (run.over() || writing == 0) return;
  const double gap_s = static_cast<double>(killed.longest_gap_ns()) / kNsPerSecond;
  if (killed.longest_gap_ns() < kOutageNs) {
    run.Undecided(
        absl::StrFormat("--restart-server restarted nothing that writes depend on: the longest gap between %d "
                        "writes beside it was %.3f s",
                        killed.acknowledged(), gap_s));
  }
  run.Note(absl::StrFormat("writes stalled for %.1f s while the server restarted", gap_s));
}

// Opens the file of a writer after the restart. Its name was made durable and its first page written synchronously, and
// another process has opened it before: where it is gone, or empty, so is what was acknowledged.
void OpenAfterRestart(CheckRun& run, const CheckedProcess& reader, size_t writer, uint64_t acknowledged) {
  if (run.over()) return;
  v1::CheckCommand open;
  open.mutable_open()->set_host(run.label(writer));
  open.mutable_open()->set_file(run.file());
  open.mutable_open()->set_direct(true);
  open.set_process(reader.number);
  open.set_timeout_ns(kRestartCallNs);
  const v1::CheckAnswer opened = run.field().Await(run.field().Send(reader.host, open));
  switch (static_cast<absl::StatusCode>(opened.code())) {
    case absl::StatusCode::kOk:
      return;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDataLoss:
      return run.Fail(absl::StrCat("acknowledged write lost: ", run.label(reader.host), ": ", opened.message(), "; ",
                                   run.label(writer), " had acknowledged ", FormatCount(acknowledged),
                                   " writes to that file, which was opened before the restart"));
    default:
      return run.Undecided(absl::StrCat(run.label(reader.host), ": ", opened.message()));
  }
}

}  // namespace

void CheckDataDsyncSurvivesServerRestart(CheckRun& run) {
  const size_t last = run.hosts() - 1;
  const CheckedProcess witness = run.Start(last);
  run.Open(witness, last, CheckRun::How::kDirect, 1);
  const std::vector<CheckedProcess> writers = run.StartAll();
  for (const CheckedProcess& writer : writers) {
    run.Open(writer, writer.host, CheckRun::How::kDirect);
    const CheckedProcess reader = run.Start(run.hosts() > 1 ? run.Other(writer.host) : writer.host);
    run.Open(reader, writer.host, CheckRun::How::kDirect);
    run.Kill(reader);
    run.Send(writer, RestartStream(run, 0), 2 * kRestartCallNs);
  }
  std::vector<uint64_t> acknowledged;
  uint64_t total = 0;
  const auto open_all = [&run, &writers, &acknowledged] {
    for (const CheckedProcess& writer : writers) {
      for (size_t host = 0; host < run.hosts() && !run.over(); ++host) {
        const CheckedProcess reader = run.Start(host);
        OpenAfterRestart(run, reader, writer.host, acknowledged[writer.host]);
        run.Kill(reader);
      }
    }
  };
  // They end just before, so that nothing is written over what was acknowledged, and little time passes in which the
  // server could write out what it should have written before.
  const auto end_writers = [&] {
    for (const CheckedProcess& writer : writers) {
      acknowledged.push_back(run.Kill(writer).acknowledged());
      total += acknowledged.back();
      if (acknowledged.back() == 0) run.Undecided(absl::StrCat(run.label(writer.host), " acknowledged no write"));
    }
  };
  RestartServer(run, witness, end_writers, open_all);
  for (const CheckedProcess& writer : writers) {
    for (size_t host = 0; host < run.hosts() && !run.over(); ++host) {
      const CheckedProcess reader = run.Start(host);
      OpenAfterRestart(run, reader, writer.host, acknowledged[writer.host]);
      v1::CheckCommand read;
      read.mutable_read()->set_count(kRestartPages);
      const v1::CheckAnswer answer = run.Ask(reader, std::move(read), kRestartCallNs);
      JudgeStream(run, reader, writer.host, answer, kRestartPages, acknowledged[writer.host]);
      run.Kill(reader);
    }
  }
  run.Note(absl::StrCat(FormatCount(total), " writes were acknowledged just before the server restarted; the last one ",
                        "of each page is there, on every host"));
}

void CheckLockAfterServerRestart(CheckRun& run) {
  const CheckedProcess holder = run.Start(0);
  const CheckedProcess other = run.Start(run.Other(0));
  const CheckedProcess witness = run.Start(other.host);
  run.Open(holder, 0, CheckRun::How::kDirect);
  run.Open(other, 0, CheckRun::How::kDirect);
  run.Open(witness, witness.host, CheckRun::How::kDirect, 1);
  run.MustGet(holder);
  run.MustBeRefused(other, holder);
  RestartServer(run, witness, [] {}, [] {});
  const v1::CheckAnswer tried = run.Ask(other, PollCommand(kWatchAfterRestartNs), kRestartCallNs);
  if (tried.code() == 0 && tried.granted()) {
    run.Fail(absl::StrCat("granted twice: ", run.label(other.host), " was granted the lock that ", run.label(0),
                          " held when the server restarted, and had not released"));
  }
  run.MustStillWrite(holder, "after the restart", kRestartCallNs);
  run.Note(absl::StrCat("refused to the other host for ", FormatDuration(kWatchAfterRestartNs),
                        " after the restart; its holder writes on"));
}

void CheckLockReleasedAtHostDeath(CheckRun& run) {
  const size_t victim = run.hosts() - 1;
  const CheckedProcess holder = run.Start(victim);
  // The lock's file is that of a host that stays.
  const CheckedProcess waiter = run.Start(run.Other(victim));
  run.Open(holder, waiter.host, CheckRun::How::kDirect);
  run.Open(waiter, waiter.host, CheckRun::How::kDirect);
  run.MustGet(holder);
  run.MustBeRefused(waiter, holder);
  const std::string boot_id = run.field().BootId(victim);
  const uint64_t waiting = run.Send(waiter, PollCommand(kHostDeathLimitNs), kHostDeathLimitNs + CheckRun::kCallNs);
  if (run.over()) return;
  run.field().Pause(kBeforeRestartNs);
  run.field().ExpectLoss(victim);
  const int64_t begin_ns = run.field().NowNs();
  const absl::Status killed = run.field().Provoke(CheckField::Fault::kKillHost, victim);
  if (!killed.ok()) run.Undecided(absl::StrCat("--kill-host: ", std::string(killed.message())));
  const v1::CheckAnswer granted = run.Await(waiter, waiting);
  const absl::Status restored = run.field().Provoke(CheckField::Fault::kRestoreHost, victim);
  if (!restored.ok()) run.Undecided(absl::StrCat("--restore-host: ", std::string(restored.message())));
  if (run.over()) return;
  if (!granted.granted()) {
    run.Fail(absl::StrCat("never released: ", run.label(waiter.host), " was not granted the lock within ",
                          FormatDuration(kHostDeathLimitNs), " of the death of ", run.label(victim)));
    return;
  }
  const MappedMoment grant = run.field().ToLocal(waiter.host, granted.ended_ns());
  if (grant.local_ns + grant.error_ns < begin_ns) {
    run.Fail(absl::StrCat("granted twice: ", run.label(waiter.host), " was granted the lock before ", run.label(victim),
                          " was killed"));
  }
  // The death of the agent alone would have released the lock by way of the host's own kernel.
  const absl::StatusOr<std::string> back = run.field().AwaitBoot(victim, kBackLimitNs);
  if (!back.ok()) {
    run.Undecided(absl::StrCat(run.label(victim), " did not restart, so that its death is not certain: ",
                               std::string(back.status().message())));
  } else if (*back == boot_id) {
    run.Undecided(absl::StrCat("--kill-host did not kill ", run.label(victim), ": its kernel is the one from before"));
  }
  run.Note(absl::StrFormat("granted %.1f s after the command that killed %s began",
                           static_cast<double>(grant.local_ns - begin_ns) / kNsPerSecond, run.label(victim)));
}

}  // namespace plimsoll
