#include "controller/fsck/fsck_check.h"

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kStartNs = 10 * kNsPerSecond;

// What fcntl returns where the file system, or its server, has no locks.
bool MeansNoLocks(int error_number) {
  return error_number == ENOLCK || error_number == ENOSYS || error_number == EOPNOTSUPP || error_number == EINVAL;
}

}  // namespace

FsckCheck::FsckCheck(FsckField& field, uint32_t index, uint32_t& next_process, v1::CheckResult& result)
    : field_(field), index_(index), next_process_(next_process), result_(result) {}

FsckCheck::~FsckCheck() {
  std::vector<uint64_t> sent;
  for (const auto& [number, host] : started_) {
    v1::CheckCommand command;
    command.set_process(number);
    command.set_timeout_ns(kCallNs);
    command.mutable_kill();
    sent.push_back(field_.Send(host, command));
  }
  for (const uint64_t each : sent) field_.Await(each);
}

size_t FsckCheck::Other(size_t host) const {
  for (size_t step = 1; step < hosts(); ++step) {
    const size_t other = (host + step) % hosts();
    if (!field_.SameKernel(host, other)) return other;
  }
  return (host + 1) % hosts();
}

void FsckCheck::Decide(v1::CheckOutcome outcome, const std::string& reason) {
  if (decided_) return;
  decided_ = true;
  result_.set_outcome(outcome);
  result_.set_reason(reason);
}

void FsckCheck::Note(const std::string& sentence) {
  if (!decided_) result_.add_evidence(sentence);
}

CheckedProcess FsckCheck::Start(size_t host) {
  const CheckedProcess process{host, ++next_process_};
  if (decided_) return process;
  v1::CheckCommand command;
  command.mutable_start();
  started_[process.number] = host;
  Ask(process, std::move(command), kStartNs);
  return process;
}

std::vector<CheckedProcess> FsckCheck::StartAll() {
  std::vector<CheckedProcess> processes;
  for (size_t host = 0; host < hosts(); ++host) processes.push_back(Start(host));
  return processes;
}

v1::CheckAnswer FsckCheck::Kill(const CheckedProcess& process) {
  v1::CheckCommand command;
  command.mutable_kill();
  v1::CheckAnswer answer = Ask(process, std::move(command));
  if (answer.code() == 0) started_.erase(process.number);
  return answer;
}

uint64_t FsckCheck::Send(const CheckedProcess& process, v1::CheckCommand command, int64_t timeout_ns) {
  if (decided_) return 0;
  command.set_process(process.number);
  command.set_timeout_ns(timeout_ns);
  return field_.Send(process.host, command);
}

v1::CheckAnswer FsckCheck::Await(const CheckedProcess& process, uint64_t sent) {
  v1::CheckAnswer answer;
  answer.set_code(static_cast<int32_t>(absl::StatusCode::kCancelled));
  if (sent == 0) return answer;
  answer = field_.Await(sent);
  if (answer.code() == 0) return answer;
  const std::string reason = absl::StrCat(label(process.host), ": ", answer.message());
  const bool of_lock = answer.message().rfind("fcntl", 0) == 0;
  if (of_lock && MeansNoLocks(answer.error_number())) {
    Unsupported(reason);
  } else {
    Undecided(reason);
  }
  return answer;
}

v1::CheckAnswer FsckCheck::Ask(const CheckedProcess& process, v1::CheckCommand command, int64_t timeout_ns) {
  return Await(process, Send(process, std::move(command), timeout_ns));
}

v1::CheckAnswer FsckCheck::Open(const CheckedProcess& process, size_t owner, How how, uint32_t which) {
  v1::CheckCommand command;
  v1::CheckOpen& open = *command.mutable_open();
  open.set_handle(which);
  open.set_host(label(owner));
  open.set_file(file(which));
  open.set_direct(how == How::kDirect);
  open.set_dsync(how == How::kDirect);
  return Ask(process, std::move(command));
}

void FsckCheck::Close(const CheckedProcess& process, uint32_t which) {
  v1::CheckCommand command;
  command.mutable_close()->set_handle(which);
  Ask(process, std::move(command));
}

v1::CheckAnswer FsckCheck::Lock(const CheckedProcess& process, v1::CheckLock::Kind kind, uint64_t start,
                                uint64_t length, bool shared) {
  v1::CheckCommand command;
  v1::CheckLock& lock = *command.mutable_lock();
  lock.set_kind(kind);
  lock.set_shared(shared);
  lock.set_start(start);
  lock.set_length(length);
  return Ask(process, std::move(command));
}

void FsckCheck::Unlock(const CheckedProcess& process, uint64_t start, uint64_t length) {
  Lock(process, v1::CheckLock::KIND_UNLOCK, start, length);
}

v1::CheckAnswer FsckCheck::Write(const CheckedProcess& process, uint64_t sequence, uint32_t first, uint32_t count,
                                 uint32_t which) {
  v1::CheckCommand command;
  v1::CheckWrite& write = *command.mutable_write();
  write.set_handle(which);
  write.set_first(first);
  write.set_count(count);
  write.set_epoch(epoch());
  write.set_sequence(sequence);
  return Ask(process, std::move(command));
}

v1::CheckAnswer FsckCheck::Read(const CheckedProcess& process, uint32_t first, uint32_t count, uint32_t which) {
  v1::CheckCommand command;
  v1::CheckRead& read = *command.mutable_read();
  read.set_handle(which);
  read.set_first(first);
  read.set_count(count);
  return Ask(process, std::move(command));
}

void FsckCheck::MustGet(const CheckedProcess& process, uint64_t start, uint64_t length) {
  const v1::CheckAnswer answer = Lock(process, v1::CheckLock::KIND_TRY, start, length);
  if (answer.code() == 0 && !answer.granted()) {
    Undecided(absl::StrCat(label(process.host), " was refused a lock that no process held (bytes from ", start, ")"));
  }
}

void FsckCheck::MustBeRefused(const CheckedProcess& process, const CheckedProcess& holder, uint64_t start,
                              uint64_t length) {
  const v1::CheckAnswer answer = Lock(process, v1::CheckLock::KIND_TRY, start, length);
  if (answer.code() == 0 && answer.granted()) {
    Fail(absl::StrCat("granted twice: ", label(process.host), " was granted the lock that ", label(holder.host),
                      " held (bytes from ", start, ")"));
  }
}

void FsckCheck::MustStillWrite(const CheckedProcess& holder, const std::string& when, int64_t timeout_ns) {
  if (over()) return;
  v1::CheckCommand command;
  command.set_process(holder.number);
  command.set_timeout_ns(timeout_ns);
  command.mutable_write()->set_count(1);
  command.mutable_write()->set_epoch(epoch());
  command.mutable_write()->set_sequence(1);
  const v1::CheckAnswer wrote = field_.Await(field_.Send(holder.host, command));
  if (wrote.error_number() == EIO || wrote.error_number() == ESTALE) {
    Fail(absl::StrCat("lost: ", label(holder.host), "'s holder could not write ", when, ": ", wrote.message()));
  } else if (wrote.code() != 0) {
    Undecided(absl::StrCat(label(holder.host), ": ", wrote.message()));
  }
}

std::string FsckCheck::InWords(const v1::CheckPage& page) const {
  switch (page.state()) {
    case v1::CHECK_PAGE_STATE_WHOLE:
      break;
    case v1::CHECK_PAGE_STATE_TORN:
      return absl::StrCat("page ", page.page(), " torn (the stamp of sequence ", page.sequence(), ")");
    case v1::CHECK_PAGE_STATE_EMPTY:
      return absl::StrCat("page ", page.page(), " empty");
    default:
      return absl::StrCat("page ", page.page(), " with content that no host wrote");
  }
  std::string words = absl::StrCat("page ", page.page(), " as sequence ", page.sequence(), " of ",
                                   page.host() < hosts() ? label(page.host()) : "an unknown host");
  if (page.written_page() != page.page()) absl::StrAppend(&words, ", written as page ", page.written_page());
  if (page.epoch() != epoch()) absl::StrAppend(&words, ", of another check");
  return words;
}

void FsckCheck::MustHold(const CheckedProcess& reader, const v1::CheckAnswer& answer, size_t writer, uint64_t sequence,
                         const std::string& how) {
  if (answer.code() != 0) return;
  for (const v1::CheckPage& page : answer.pages()) {
    if (page.state() == v1::CHECK_PAGE_STATE_WHOLE && page.host() == writer && page.sequence() == sequence &&
        page.epoch() == epoch() && page.written_page() == page.page()) {
      continue;
    }
    Fail(absl::StrCat(label(reader.host), " read ", InWords(page), " ", how, "; ", label(writer),
                      "'s write of sequence ", sequence, " had been acknowledged"));
    return;
  }
}

}  // namespace plimsoll
