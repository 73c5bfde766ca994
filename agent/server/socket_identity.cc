#include "agent/server/socket_identity.h"

#include <sys/socket.h>

namespace plimsoll {

uint64_t SocketIdentity(int descriptor) {
  uint64_t cookie = 0;
  socklen_t length = sizeof(cookie);
  return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

}  // namespace plimsoll
