// Why an agent cannot be reached, in words that lead to the way out.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace plimsoll {

// What gRPC 1.51 says of a connection that could not be made, as the cause and what to do about it: "connection
// refused: no agent is listening; start plimsoll-agent there". `address` is the agent's, "node1:7461" or
// "unix:/run/a.sock". A text that is not known stays as it is. The code stays.
absl::Status ExplainConnectError(const std::string& address, const absl::Status& failure);

// The line that tells of it, "node1:7461: connection refused: ...". A name that cannot be resolved is printed
// without its port.
std::string UnreachableInWords(const std::string& address, const absl::Status& failure);

// The line of a host whose --dir cannot be used; `error` is the agent's text.
std::string DirectoryInWords(const std::string& label, const std::string& error);

}  // namespace plimsoll
