#include "agent/fsck/fsck_operations.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/host/beneath.h"
#include "agent/host/run_ownership.h"
#include "agent/host/sandbox.h"
#include "common/clock.h"
#include "common/integers.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {

std::string FsckFileName(uint32_t number) {
  return absl::StrFormat("qm1/active/S%07d.LOG", number);
}

uint64_t FsckPageOffset(uint32_t page) {
  return (uint64_t{page} + 1) * kStampedPageBytes;
}

void FillFsckPage(const PageStamp& stamp, FsckPageBytes& page) {
  // A linear congruential generator: no two stamps of a run have the same content.
  uint64_t state = stamp.sequence * 0x9e3779b97f4a7c15 + (uint64_t{stamp.host_index} << 48) +
                   (uint64_t{stamp.qm} << 32) + (uint64_t{stamp.epoch} << 16) + stamp.page;
  for (size_t at = kStampBytes; at < page.bytes.size(); at += sizeof(state)) {
    state = state * 6364136223846793005 + 1442695040888963407;
    StoreLittle(state, page.bytes.data() + at);
  }
  WriteStamp(stamp, PayloadChecksum(std::span(page.bytes).subspan(kStampBytes)), page.bytes.data());
}

v1::CheckPage ReadFsckPage(const FsckPageBytes& page, uint32_t number, const std::array<uint8_t, 16>& run_token) {
  v1::CheckPage seen;
  seen.set_page(number);
  if (std::all_of(page.bytes.begin(), page.bytes.end(), [](std::byte byte) { return byte == std::byte{0}; })) {
    seen.set_state(v1::CHECK_PAGE_STATE_EMPTY);
    return seen;
  }
  PageStamp stamp;
  const StampState state = ReadStamp(page.bytes, stamp);
  if (state == StampState::kForeign || stamp.run_token != run_token) {
    seen.set_state(v1::CHECK_PAGE_STATE_FOREIGN);
    return seen;
  }
  seen.set_state(state == StampState::kWhole ? v1::CHECK_PAGE_STATE_WHOLE : v1::CHECK_PAGE_STATE_TORN);
  seen.set_host(stamp.host_index);
  seen.set_process(stamp.qm);
  seen.set_epoch(stamp.epoch);
  seen.set_written_page(stamp.page);
  seen.set_sequence(stamp.sequence);
  return seen;
}

namespace {

constexpr mode_t kFsckFileMode = 0600;

int64_t NowNs() {
  return SystemClock::Read().value;
}

bool Same(const v1::CheckPage& a, const v1::CheckPage& b) {
  return a.state() == b.state() && a.sequence() == b.sequence() && a.epoch() == b.epoch() && a.host() == b.host() &&
         a.process() == b.process();
}

void AddSight(const v1::CheckSight& sight, v1::CheckAnswer& answer) {
  auto& sights = *answer.mutable_sights();
  const int size = sights.size();
  if (size > 0 && Same(sights[size - 1].first(), sight.first()) && Same(sights[size - 1].second(), sight.second())) {
    return;
  }
  if (size < kMostListedInAnswer) {
    *sights.Add() = sight;
  } else {
    sights[size - 1] = sight;
  }
}

}  // namespace

FsckOperations::FsckOperations(v1::CheckSetup setup, const Sandbox& sandbox, const LeasePage& lease,
                               std::function<void(uint64_t)> acknowledged)
    : setup_(std::move(setup)), sandbox_(sandbox), lease_(lease), acknowledged_(std::move(acknowledged)) {
  const std::string& token = setup_.run_token();
  std::copy_n(token.begin(), std::min(token.size(), run_token_.size()), run_token_.begin());
}

v1::CheckAnswer FsckOperations::Execute(const v1::CheckOrder& order) {
  v1::CheckAnswer answer;
  answer.set_id(order.id());
  answer.set_process(order.command().process());
  answer.set_started_ns(NowNs());
  const absl::Status status = Dispatch(order.command(), answer);
  // Commands that measured themselves more closely have set their end.
  if (answer.ended_ns() == 0) answer.set_ended_ns(NowNs());
  answer.set_wall_ns(SystemClock().WallNow().value);
  answer.set_code(static_cast<int32_t>(status.code()));
  answer.set_message(std::string(status.message()));
  return answer;
}

absl::Status FsckOperations::Dispatch(const v1::CheckCommand& command, v1::CheckAnswer& answer) {
  switch (command.action_case()) {
    case v1::CheckCommand::kOpen:
      return Open(command.open(), answer);
    case v1::CheckCommand::kClose:
      return Close(command.close());
    case v1::CheckCommand::kLock:
      return TakeLock(command.lock(), answer);
    case v1::CheckCommand::kWrite:
      return Write(command.write(), answer);
    case v1::CheckCommand::kRead:
      return Read(command.read(), answer);
    case v1::CheckCommand::kContend:
      return Contend(command.contend(), answer);
    case v1::CheckCommand::kStream:
      return Stream(command.stream(), answer);
    case v1::CheckCommand::kWatch:
      return Watch(command.watch(), answer);
    case v1::CheckCommand::kReplace:
      return Replace(command.replace(), answer);
    case v1::CheckCommand::kLook:
      return Look(command.look(), answer);
    case v1::CheckCommand::kStat:
      return Stat(command.stat(), answer);
    case v1::CheckCommand::kPingPong:
      return PingPong(command.ping_pong(), answer);
    default:
      return absl::UnimplementedError("this agent does not support this operation");
  }
}

absl::Status FsckOperations::CallFailed(const std::string& operation, const std::string& path, int error_number,
                                        v1::CheckAnswer& answer) {
  answer.set_error_number(error_number);
  return PosixError(operation, path, error_number);
}

absl::StatusOr<const FsckOperations::OpenFile*> FsckOperations::Find(uint32_t handle) const {
  const auto found = files_.find(handle);
  if (found == files_.end()) return absl::FailedPreconditionError(absl::StrCat("no file is open as ", handle));
  return &found->second;
}

absl::Status FsckOperations::MayWrite() const {
  return NowNs() < lease_.deadline_ns() ? absl::OkStatus() : absl::CancelledError("the lease has expired");
}

absl::Status FsckOperations::Open(const v1::CheckOpen& open, v1::CheckAnswer& answer) {
  const RunFile file{setup_.run_id(), run_token_, open.host(), FsckFileName(open.file())};
  const int flags = O_RDWR | (open.dsync() ? O_DSYNC : 0);
  absl::StatusOr<UniqueFd> fd = sandbox_.OpenRunFile(setup_.dir(), file, flags | (open.direct() ? O_DIRECT : 0));
  answer.set_direct(open.direct());
  if (open.direct() && absl::IsInvalidArgument(fd.status())) {
    answer.set_direct(false);
    fd = sandbox_.OpenRunFile(setup_.dir(), file, flags);
  }
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  files_[open.handle()] = {*std::move(fd), absl::StrCat(open.host(), "/", FsckFileName(open.file()))};
  return absl::OkStatus();
}

absl::Status FsckOperations::Close(const v1::CheckClose& close) {
  PLIMSOLL_RETURN_IF_ERROR(Find(close.handle()).status());
  // NFS writes out at the close, and reports its errors there.
  const int fd = files_[close.handle()].fd.Release();
  const std::string path = files_[close.handle()].path;
  files_.erase(close.handle());
  if (::close(fd) != 0) return PosixError("close", path, errno);
  return absl::OkStatus();
}

absl::Status FsckOperations::WritePage(const OpenFile& file, uint32_t page, uint32_t epoch, uint64_t sequence,
                                       v1::CheckAnswer& answer) {
  FsckPageBytes content;
  FillFsckPage({run_token_, setup_.host_index(), setup_.process(), epoch, page, sequence}, content);
  PLIMSOLL_RETURN_IF_ERROR(MayWrite());
  const ssize_t written =
      pwrite(file.fd.get(), content.bytes.data(), content.bytes.size(), static_cast<off_t>(FsckPageOffset(page)));
  if (written < 0) return CallFailed("pwrite", file.path, errno, answer);
  if (static_cast<size_t>(written) != content.bytes.size()) {
    return absl::DataLossError(absl::StrCat("pwrite ", file.path, ": only ", written, " bytes were written"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::CheckPage> FsckOperations::ReadPage(const OpenFile& file, uint32_t page,
                                                       v1::CheckAnswer& answer) const {
  // What lies behind the end of the file reads as zeros.
  FsckPageBytes content;
  const ssize_t size =
      pread(file.fd.get(), content.bytes.data(), content.bytes.size(), static_cast<off_t>(FsckPageOffset(page)));
  if (size < 0) return CallFailed("pread", file.path, errno, answer);
  return ReadFsckPage(content, page, run_token_);
}

absl::Status FsckOperations::Write(const v1::CheckWrite& write, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(write.handle()));
  for (uint32_t round = 0; round < std::max(write.rounds(), 1U); ++round) {
    for (uint32_t number = 0; number < write.count(); ++number) {
      const uint32_t page = write.first() + number * std::max(write.stride(), 1U);
      PLIMSOLL_RETURN_IF_ERROR(WritePage(*file, page, write.epoch(), write.sequence() + round, answer));
    }
    answer.set_acknowledged(round + 1);
  }
  if (write.flush() && fsync(file->fd.get()) != 0) return CallFailed("fsync", file->path, errno, answer);
  return absl::OkStatus();
}

absl::Status FsckOperations::Read(const v1::CheckRead& read, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(read.handle()));
  for (uint32_t number = 0; number < read.count(); ++number) {
    PLIMSOLL_ASSIGN_OR_RETURN(*answer.add_pages(), ReadPage(*file, read.first() + number, answer));
  }
  return absl::OkStatus();
}

absl::Status FsckOperations::Stream(const v1::CheckStream& stream, v1::CheckAnswer& answer) {
  const int64_t limit_ns = NowNs() + stream.limit_ns();
  for (uint64_t sequence = 1; NowNs() < limit_ns; ++sequence) {
    const auto page = static_cast<uint32_t>((sequence - 1) % std::max(stream.pages(), 1U));
    for (const uint32_t handle : stream.handles()) {
      PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(handle));
      PLIMSOLL_RETURN_IF_ERROR(WritePage(*file, page, stream.epoch(), sequence, answer));
    }
    answer.set_acknowledged(sequence);
    acknowledged_(sequence);
  }
  return absl::OkStatus();
}

absl::Status FsckOperations::Watch(const v1::CheckWatch& watch, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const first, Find(watch.first()));
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const second, Find(watch.second()));
  const int64_t limit_ns = NowNs() + watch.limit_ns();
  do {
    v1::CheckSight sight;
    PLIMSOLL_ASSIGN_OR_RETURN(*sight.mutable_first(), ReadPage(*first, 0, answer));
    PLIMSOLL_ASSIGN_OR_RETURN(*sight.mutable_second(), ReadPage(*second, 0, answer));
    answer.set_acknowledged(answer.acknowledged() + 1);
    AddSight(sight, answer);
  } while (NowNs() < limit_ns);
  return absl::OkStatus();
}

absl::Status FsckOperations::ReplaceOnce(int directory_fd, const v1::CheckReplace& replace, uint64_t sequence,
                                         v1::CheckAnswer& answer) {
  const auto name_of = [](uint32_t number) {
    const std::string relative = FsckFileName(number);
    return relative.substr(relative.rfind('/') + 1);
  };
  const std::string spare = name_of(setup_.spare_file());
  PLIMSOLL_RETURN_IF_ERROR(MayWrite());
  OpenFile file{UniqueFd(), absl::StrCat(setup_.host_label(), "/", FsckFileName(setup_.spare_file()))};
  PLIMSOLL_ASSIGN_OR_RETURN(file.fd, OpenBeneath(directory_fd, spare, O_RDWR | O_CREAT | O_EXCL, MountRule::kMustStay,
                                                 file.path, kFsckFileMode));
  FsckPageBytes token;
  FillFsckPage({run_token_, setup_.host_index(), 0, 0, 0, 0}, token);
  if (pwrite(file.fd.get(), token.bytes.data(), token.bytes.size(), 0) != static_cast<ssize_t>(token.bytes.size())) {
    return CallFailed("pwrite", file.path, errno, answer);
  }
  PLIMSOLL_RETURN_IF_ERROR(WritePage(file, 0, replace.epoch(), sequence, answer));
  if (fsync(file.fd.get()) != 0) return CallFailed("fsync", file.path, errno, answer);
  file.fd.Reset();
  PLIMSOLL_RETURN_IF_ERROR(MayWrite());
  if (renameat(directory_fd, spare.c_str(), directory_fd, name_of(replace.target()).c_str()) != 0) {
    return CallFailed("rename", file.path, errno, answer);
  }
  return absl::OkStatus();
}

absl::Status FsckOperations::Replace(const v1::CheckReplace& replace, v1::CheckAnswer& answer) {
  if (replace.target() >= setup_.spare_file()) return absl::InvalidArgumentError("no such file was made");
  const std::string relative = FsckFileName(0);
  const std::string way = absl::StrCat(RunDirectoryName(setup_.run_id()), "/", setup_.host_label(), "/",
                                       relative.substr(0, relative.rfind('/')));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd top, sandbox_.OpenDirectory(setup_.dir()));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd directory,
                            OpenBeneath(top.get(), way, kOpenDirectory, MountRule::kMustStay, way));
  for (uint32_t round = 0; round < replace.rounds(); ++round) {
    PLIMSOLL_RETURN_IF_ERROR(ReplaceOnce(directory.get(), replace, replace.sequence() + round, answer));
    answer.set_acknowledged(round + 1);
  }
  return absl::OkStatus();
}

absl::Status FsckOperations::Look(const v1::CheckLook& look, v1::CheckAnswer& answer) {
  const RunFile file{setup_.run_id(), run_token_, look.host(), FsckFileName(look.file())};
  const int64_t limit_ns = NowNs() + look.limit_ns();
  do {
    absl::StatusOr<UniqueFd> fd = sandbox_.OpenRunFile(setup_.dir(), file, O_RDONLY);
    answer.set_acknowledged(answer.acknowledged() + 1);
    if (absl::IsNotFound(fd.status())) {
      answer.set_missing(answer.missing() + 1);
    } else if (absl::IsAborted(fd.status())) {
      answer.set_replaced(answer.replaced() + 1);
    } else {
      PLIMSOLL_RETURN_IF_ERROR(fd.status());
      absl::StatusOr<v1::CheckPage> page =
          ReadPage({*std::move(fd), absl::StrCat(look.host(), "/", file.relative)}, 0, answer);
      if (!page.ok() && answer.error_number() == ESTALE) {
        // A server without open files, as of NFSv3, removes what is replaced at once.
        answer.set_error_number(0);
        answer.set_replaced(answer.replaced() + 1);
        continue;
      }
      PLIMSOLL_RETURN_IF_ERROR(page.status());
      v1::CheckSight sight;
      *sight.mutable_first() = *std::move(page);
      AddSight(sight, answer);
    }
  } while (NowNs() < limit_ns);
  return absl::OkStatus();
}

absl::Status FsckOperations::Stat(const v1::CheckStat& stat, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(stat.handle()));
  struct statx info{};
  if (statx(file->fd.get(), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_MTIME, &info) != 0) {
    return CallFailed("statx", file->path, errno, answer);
  }
  answer.set_modified_ns(info.stx_mtime.tv_sec * kNsPerSecond + info.stx_mtime.tv_nsec);
  return absl::OkStatus();
}

namespace {

constexpr int64_t kContendAgainNs = kNsPerMs;
constexpr int64_t kShortestPollNs = kNsPerMs;

int64_t LockNowNs() {
  return SystemClock::Read().value;
}

void SleepForNs(int64_t duration_ns) {
  timespec pause{duration_ns / kNsPerSecond, duration_ns % kNsPerSecond};
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
  }
}

// While it lives, SIGALRM interrupts a blocking call from the moment on, again and again: a signal that came just
// before the call would otherwise be lost.
class InterruptAfter {
 public:
  explicit InterruptAfter(int64_t after_ns) {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    const int64_t first_us = std::max<int64_t>(after_ns / kNsPerUs, 1);
    const itimerval timer{{0, 20'000}, {first_us / 1'000'000, first_us % 1'000'000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  ~InterruptAfter() {
    const itimerval none{};
    setitimer(ITIMER_REAL, &none, nullptr);
  }
  InterruptAfter(const InterruptAfter&) = delete;
  InterruptAfter& operator=(const InterruptAfter&) = delete;
};

}  // namespace

absl::StatusOr<FsckOperations::Lock> FsckOperations::CallLock(const OpenFile& file, int command, int type,
                                                              uint64_t start, uint64_t length,
                                                              v1::CheckAnswer& answer) {
  struct flock range{};
  range.l_type = static_cast<short>(type);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(start);
  range.l_len = static_cast<off_t>(length);
  if (fcntl(file.fd.get(), command, &range) == 0) {
    const bool free = command != F_GETLK || range.l_type == F_UNLCK;
    return free ? Lock::kGranted : Lock::kRefused;
  }
  const int error_number = errno;
  if (error_number == EAGAIN || error_number == EACCES) return Lock::kRefused;
  if (error_number == EINTR) return Lock::kInterrupted;
  return CallFailed("fcntl", file.path, error_number, answer);
}

absl::Status FsckOperations::TakeLock(const v1::CheckLock& lock, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(lock.handle()));
  const int type = lock.shared() ? F_RDLCK : F_WRLCK;
  const int64_t limit_ns = LockNowNs() + lock.limit_ns();
  Lock outcome = Lock::kRefused;
  switch (lock.kind()) {
    case v1::CheckLock::KIND_TRY:
    case v1::CheckLock::KIND_POLL:
      while (true) {
        PLIMSOLL_RETURN_IF_ERROR(MayWrite());
        answer.set_attempts(answer.attempts() + 1);
        PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_SETLK, type, lock.start(), lock.length(), answer));
        answer.set_ended_ns(LockNowNs());
        if (outcome == Lock::kGranted || lock.kind() == v1::CheckLock::KIND_TRY) break;
        if (answer.ended_ns() >= limit_ns) break;
        SleepForNs(std::max(lock.interval_ns(), kShortestPollNs));
      }
      break;
    case v1::CheckLock::KIND_WAIT: {
      PLIMSOLL_RETURN_IF_ERROR(MayWrite());
      const InterruptAfter interrupt(lock.limit_ns());
      do {
        answer.set_attempts(answer.attempts() + 1);
        PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_SETLKW, type, lock.start(), lock.length(), answer));
        answer.set_ended_ns(LockNowNs());
      } while (outcome == Lock::kInterrupted && answer.ended_ns() < limit_ns);
      break;
    }
    case v1::CheckLock::KIND_TEST: {
      PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_GETLK, type, lock.start(), lock.length(), answer));
      break;
    }
    case v1::CheckLock::KIND_UNLOCK: {
      PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_SETLK, F_UNLCK, lock.start(), lock.length(), answer));
      break;
    }
    default:
      return absl::UnimplementedError("this agent does not support this lock type");
  }
  answer.set_granted(outcome == Lock::kGranted);
  return absl::OkStatus();
}

absl::Status FsckOperations::Contend(const v1::CheckContend& contend, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(contend.handle()));
  const int64_t limit_ns = LockNowNs() + contend.limit_ns();
  while (LockNowNs() < limit_ns) {
    PLIMSOLL_RETURN_IF_ERROR(MayWrite());
    answer.set_attempts(answer.attempts() + 1);
    PLIMSOLL_ASSIGN_OR_RETURN(const Lock outcome, CallLock(*file, F_SETLK, F_WRLCK, contend.byte(), 1, answer));
    if (outcome != Lock::kGranted) {
      SleepForNs(kContendAgainNs);
      continue;
    }
    v1::CheckHold hold;
    hold.set_granted_ns(LockNowNs());
    PLIMSOLL_ASSIGN_OR_RETURN(const v1::CheckPage before, ReadPage(*file, contend.page(), answer));
    hold.set_sequence((before.epoch() == contend.epoch() ? before.sequence() : 0) + 1);
    PLIMSOLL_RETURN_IF_ERROR(WritePage(*file, contend.page(), contend.epoch(), hold.sequence(), answer));
    // Before the call that releases the lock: until here no other process may have had it.
    hold.set_released_ns(LockNowNs());
    PLIMSOLL_RETURN_IF_ERROR(CallLock(*file, F_SETLK, F_UNLCK, contend.byte(), 1, answer).status());
    answer.set_acknowledged(answer.acknowledged() + 1);
    if (answer.holds_size() < kMostListedInAnswer) *answer.add_holds() = hold;
  }
  return absl::OkStatus();
}

absl::Status FsckOperations::PingPong(const v1::CheckPingPong& ping_pong, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(ping_pong.handle()));
  const uint32_t locks = std::max(ping_pong.locks(), 2U);
  const int64_t limit_ns = LockNowNs() + ping_pong.limit_ns();
  const InterruptAfter interrupt(ping_pong.limit_ns());
  uint32_t held = 0;
  PLIMSOLL_ASSIGN_OR_RETURN(Lock outcome, CallLock(*file, F_SETLKW, F_WRLCK, ping_pong.start(), 1, answer));
  while (outcome == Lock::kGranted && LockNowNs() < limit_ns) {
    PLIMSOLL_RETURN_IF_ERROR(MayWrite());
    const uint32_t next = (held + 1) % locks;
    PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_SETLKW, F_WRLCK, ping_pong.start() + next, 1, answer));
    if (outcome != Lock::kGranted) break;
    PLIMSOLL_RETURN_IF_ERROR(CallLock(*file, F_SETLK, F_UNLCK, ping_pong.start() + held, 1, answer).status());
    held = next;
    answer.set_acknowledged(answer.acknowledged() + 1);
  }
  return CallLock(*file, F_SETLK, F_UNLCK, ping_pong.start(), locks, answer).status();
}

}  // namespace plimsoll
