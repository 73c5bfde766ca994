// gRPC's own log.
#pragma once

namespace plimsoll {

// Silences gRPC's own remarks, which would stand between the lines of a run; what they mean is told by the statuses.
// Whoever sets GRPC_VERBOSITY wants them. What gRPC says when it ends the program is printed all the same. Any thread,
// as often as wanted.
void SilenceGrpc();

}  // namespace plimsoll
