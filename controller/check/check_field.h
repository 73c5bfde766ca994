// The hosts, as a check commands them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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

  // A moment of the host's clock on one clock for all, with the error.
  virtual MappedMoment ToLocal(size_t host, int64_t host_ns) const = 0;
  // That clock, now.
  virtual int64_t NowNs() const = 0;
};

}  // namespace plimsoll
