// What an agent can tell about its host.
#pragma once

#include <functional>
#include <string>

#include "agent/host/sandbox.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// The host's facts and each asked directory's. Fields that the kernel does not tell stay empty; `holder` is the
// caller's to fill. Takes some microseconds, but hangs with a hung file system: call it on a thread that may hang.
// Stops early, with less in the answer, once `cancelled` says that nobody waits for it any more.
v1::HostDescription DescribeHost(const std::string& name, const std::string& instance_id, const Sandbox& sandbox,
                                 const v1::DescribeRequest& request, const std::function<bool()>& cancelled);

}  // namespace plimsoll
