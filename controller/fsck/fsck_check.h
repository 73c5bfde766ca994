// What every check needs: the hosts as a check commands them, processes on them, questions, and the first finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock_fit.h"
#include "plimsoll/v1/check.pb.h"
#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {

// Agents, or a model of them. For one thread.
class FsckField {
 public:
  virtual ~FsckField() = default;

  // Hosts that take part, from 0; a host's label also names it in commands.
  virtual size_t hosts() const = 0;
  virtual const std::string& label(size_t host) const = 0;
  // Whether two hosts share a kernel.
  virtual bool SameKernel(size_t a, size_t b) const = 0;

  // Sends a command, and returns what Await takes for its answer.
  virtual uint64_t Send(size_t host, const v1::CheckCommand& command) = 0;
  // Waits for the answer. Where the agent refuses the command, is lost, or an interrupt came, it has a code and a
  // message.
  virtual v1::CheckAnswer Await(uint64_t sent) = 0;
  // Lets so much time pass, or less where an interrupt comes.
  virtual void Pause(int64_t duration_ns) = 0;
  // An interrupt came, or a host is lost: no further check begins.
  virtual bool over() const = 0;

  // What a command of the user's own does.
  enum class Fault { kKillHost, kRestoreHost, kRestartServer };
  virtual bool CanProvoke(Fault fault) const = 0;
  // Runs the command to its end, for `host` where it is about one; an error where it failed.
  virtual absl::Status Provoke(Fault fault, size_t host) = 0;
  // From now on the loss of this host does not end the checks.
  virtual void ExpectLoss(size_t host) = 0;
  // The boot id of the host's kernel when the check began, and of that which answers after the host was lost; an error
  // where it does not answer within the limit.
  virtual std::string BootId(size_t host) const = 0;
  virtual absl::StatusOr<std::string> AwaitBoot(size_t host, int64_t limit_ns) = 0;

  // A moment of the host's clock on one clock for all, with the error.
  virtual MappedMoment ToLocal(size_t host, int64_t host_ns) const = 0;
  // That clock, now.
  virtual int64_t NowNs() const = 0;
};

// Pages of each file, in front of which stands the one with the run's token.
inline constexpr uint32_t kFsckPages = 32;
// Files that each host makes: two for each check.
inline constexpr uint32_t kFilesPerCheck = 2;

// A process on a host.
struct CheckedProcess {
  size_t host = 0;
  uint32_t number = 0;
};

// One check under way. The first finding stands: after it nothing more is sent, and answers are empty. So a check asks
// and expects from top to bottom, and looks at over() only where it loops. For one thread.
class FsckCheck {
 public:
  // `index`: of the check in the catalog, from which its files follow. `next_process`: numbers of processes are used
  // once in a session. Both references outlive the object.
  FsckCheck(FsckField& field, uint32_t index, uint32_t& next_process, v1::CheckResult& result);
  // Kills the processes that it started.
  ~FsckCheck();
  FsckCheck(const FsckCheck&) = delete;
  FsckCheck& operator=(const FsckCheck&) = delete;

  FsckField& field() { return field_; }
  size_t hosts() const { return field_.hosts(); }
  const std::string& label(size_t host) const { return field_.label(host); }
  // A host with another kernel than `host`; where there is none, the next one.
  size_t Other(size_t host) const;
  // Distinguishes the checks' writes.
  uint32_t epoch() const { return index_ + 1; }
  // Number of the check's file `which`, below kFilesPerCheck, on every host.
  uint32_t file(uint32_t which = 0) const { return index_ * kFilesPerCheck + which; }

  bool over() const { return decided_; }
  // Findings; the first one stands.
  void Fail(const std::string& reason) { Decide(v1::CHECK_OUTCOME_FAIL, reason); }
  void Undecided(const std::string& reason) { Decide(v1::CHECK_OUTCOME_UNDECIDED, reason); }
  void Unsupported(const std::string& reason) { Decide(v1::CHECK_OUTCOME_UNSUPPORTED, reason); }
  void Note(const std::string& sentence);

  CheckedProcess Start(size_t host);
  // One on each host.
  std::vector<CheckedProcess> StartAll();
  // Kills it; the answer has what it had acknowledged.
  v1::CheckAnswer Kill(const CheckedProcess& process);

  // Sends; 0 after a finding.
  uint64_t Send(const CheckedProcess& process, v1::CheckCommand command, int64_t timeout_ns = kCallNs);
  // The answer; empty, with a code, after a finding. Where the call failed, that is a finding: of locks that the file
  // system does not have UNSUPPORTED, else UNDECIDED.
  v1::CheckAnswer Await(const CheckedProcess& process, uint64_t sent);
  v1::CheckAnswer Ask(const CheckedProcess& process, v1::CheckCommand command, int64_t timeout_ns = kCallNs);

  // Opens file `which` of `owner`, as handle `which`. Direct: with O_DIRECT and O_DSYNC.
  enum class How { kBuffered, kDirect };
  v1::CheckAnswer Open(const CheckedProcess& process, size_t owner, How how, uint32_t which = 0);
  void Close(const CheckedProcess& process, uint32_t which = 0);
  // Locks on handle 0.
  v1::CheckAnswer Lock(const CheckedProcess& process, v1::CheckLock::Kind kind, uint64_t start = 0, uint64_t length = 1,
                       bool shared = false);
  void Unlock(const CheckedProcess& process, uint64_t start = 0, uint64_t length = 1);
  // Write and read pages of handle `which`: `count` pages from `first` on.
  v1::CheckAnswer Write(const CheckedProcess& process, uint64_t sequence, uint32_t first, uint32_t count,
                        uint32_t which = 0);
  v1::CheckAnswer Read(const CheckedProcess& process, uint32_t first, uint32_t count, uint32_t which = 0);

  // Takes the lock where it should be free: UNDECIDED where it is refused.
  void MustGet(const CheckedProcess& process, uint64_t start = 0, uint64_t length = 1);
  // Tries the lock that `holder` has: FAIL where it is granted.
  void MustBeRefused(const CheckedProcess& process, const CheckedProcess& holder, uint64_t start = 0,
                     uint64_t length = 1);
  // The holder of a lock writes to handle 0, which is open with O_DIRECT and O_DSYNC: FAIL where its kernel refuses,
  // since the lock could not be kept. `when`: "after the restart".
  void MustStillWrite(const CheckedProcess& holder, const std::string& when, int64_t timeout_ns = kCallNs);

  // The pages must be whole, of this check, from `writer`'s host and carry `sequence`, which had been acknowledged.
  // FAIL else; `how` is how they were read: "after it was closed".
  void MustHold(const CheckedProcess& reader, const v1::CheckAnswer& answer, size_t writer, uint64_t sequence,
                const std::string& how);
  // "page 3 as sequence 4 of alpha", "page 3 torn".
  std::string InWords(const v1::CheckPage& page) const;

  // How long a call to the storage may take.
  static constexpr int64_t kCallNs = 30'000'000'000;

 private:
  void Decide(v1::CheckOutcome outcome, const std::string& reason);

  FsckField& field_;
  const uint32_t index_;
  uint32_t& next_process_;
  v1::CheckResult& result_;
  bool decided_ = false;
  std::map<uint32_t, size_t> started_;  // hosts, by process
};

}  // namespace plimsoll
