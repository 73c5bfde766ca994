// An agent over gRPC.
#pragma once

#include <memory>
#include <string>

#include "common/clock.h"
#include "controller/run/agent_client.h"
#include "controller/run/agent_trust.h"

namespace plimsoll {

// `address` is HOST:PORT, [V6]:PORT or unix:PATH. `clock` stamps the probes and outlives the client. A null `trust`
// means no TLS. Where a Describe fails because one side does not trust the other, its status says why.
std::unique_ptr<AgentClient> MakeGrpcAgentClient(const std::string& address, const Clock& clock,
                                                 AgentListener& listener,
                                                 std::shared_ptr<const AgentTrust> trust = nullptr);

}  // namespace plimsoll
