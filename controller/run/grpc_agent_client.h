// An agent over gRPC.
#pragma once

#include <memory>
#include <string>

#include "common/clock.h"
#include "controller/run/agent_client.h"

namespace plimsoll {

// `address` is HOST:PORT, [V6]:PORT or unix:PATH. `clock` stamps the probes and outlives the client.
std::unique_ptr<AgentClient> MakeGrpcAgentClient(const std::string& address, const Clock& clock,
                                                 AgentListener& listener);

}  // namespace plimsoll
