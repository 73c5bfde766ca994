// What keeps a container for agents that are started in it later: a process that does nothing until it is stopped.
#pragma once

namespace plimsoll {

// `plimsoll-agent --idle`: waits for SIGTERM or SIGINT, and collects every child that ends, so that a container whose
// first process this is fills with no zombies. Opens nothing, and listens nowhere.
//
// As the first process of a PID namespace, it sends SIGTERM to all others when it is stopped, and ends after the last
// of them: the kernel kills them with it, before agents among them could remove their files. What never ends is left
// to the container's own limit, after which the runtime kills all of them.
//
// To be called before any thread is made. Returns the exit code of the program.
int RunIdle();

}  // namespace plimsoll
