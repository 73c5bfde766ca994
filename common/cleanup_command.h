// The command that removes the files of an agent that was killed, as its controller prints it.
#pragma once

#include <string>

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// HostDescription.cleanup_command as one line for a POSIX shell, without what controls a terminal. Empty where the
// agent sent none, and where what it sent starts another program than plimsoll-agent, `plimsoll clean` or `systemctl
// start`: somebody may paste it into a root shell.
std::string CleanupCommandLine(const v1::HostDescription& host);

// What to do about the files of a lost host, as a clause; empty without such a command.
std::string CleanupAdvice(const std::string& label, const v1::HostDescription& host);

}  // namespace plimsoll
