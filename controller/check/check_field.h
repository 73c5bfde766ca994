// The hosts, as a check commands them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock_fit.h"
#include "plimsoll/v1/check.pb.h"

namespace plimsoll {

// Agents, or a model of them. For one thread.
class CheckField {
 public:
  virtual ~CheckField() = default;

  // Hosts that take part, from 0; a host's label also names it in commands.
  virtual size_t hosts() const = 0;
  virtual const std::string& label(size_t host) const = 0;
  // Whether two hosts share a kernel.
  virtual bool SameKernel(size_t a, size_t b) const = 0;

  // Sends a command, and returns what Await takes for its answer.
  virtual uint64_t Send(size_t host, const v1::CheckCommand& command) = 0;
  // Waits for the answer. Where the agent refuses the command, is lost, or an interrupt came, it has a code and says
  // so.
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
  // That this host is lost from now on ends nothing.
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

}  // namespace plimsoll
