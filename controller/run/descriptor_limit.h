// How many descriptors this process may open.
#pragma once

namespace plimsoll {

// Raises the limit to what the system allows without asking (RLIMIT_NOFILE's hard limit): each agent takes a
// connection, and many systems start programs with 1,024. Where that fails the limit stays as it is.
void RaiseDescriptorLimit();

}  // namespace plimsoll
