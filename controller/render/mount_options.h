// Mount options as they compare between hosts.
#pragma once

#include <string>

namespace plimsoll {

// `options` as /proc/mounts has them, without what is the client's own: NFS's clientaddr, which differs on every host
// of one and the same export.
std::string SharedMountOptions(const std::string& options);

}  // namespace plimsoll
