// A process of a check: `plimsoll-agent --check-process PARENT`.
#pragma once

namespace plimsoll {

// The option that makes a process of the agent's program one; for nobody but the agent.
inline constexpr char kCheckProcessOption[] = "--check-process";

// What the agent gives it: a packet socket, and the page of the lease.
inline constexpr int kCheckSocketFd = 3;
inline constexpr int kCheckLeaseFd = 4;

// Most bytes of one packet either way.
inline constexpr int kMostCheckPacketBytes = 180'000;

// Takes its setup and then orders from the socket, one at a time, and answers them. Ends when the socket is closed,
// when the lease has expired, and (by a signal of the kernel) with the thread of process `parent` that started it.
// Returns the exit code.
int RunCheckProcess(int parent);

}  // namespace plimsoll
