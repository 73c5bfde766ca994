// Whether a descriptor is still the socket that it was.
#pragma once

#include <cstdint>

namespace plimsoll {

// A number that the kernel gives to one socket and to no other after it; 0: the descriptor is closed, or is no socket.
// gRPC closes the sockets that it was given, and the next file that is opened gets their descriptors' numbers: this may
// be asked of a file on a mount whose server is gone. It is never looked at, so that this never waits (fstat would).
uint64_t SocketIdentity(int descriptor);

}  // namespace plimsoll
