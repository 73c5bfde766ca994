// Why a connection to an agent came to nothing: a handshake of our own, since gRPC does not tell.
#pragma once

#include <chrono>
#include <string>

#include "controller/run/agent_trust.h"

namespace plimsoll {

// Dials the agent once more, as the client did, and says in one sentence what one side has against the other: TLS met
// none, or the other way round; a certificate of another CA, expired, for another name; what the agent's alert said.
// Empty where there is nothing of that kind. Takes at most `limit` and the time of a name's lookup.
std::string DiagnoseHandshake(const std::string& address, const AgentTrust& trust,
                              std::chrono::milliseconds limit = std::chrono::seconds(3));

}  // namespace plimsoll
