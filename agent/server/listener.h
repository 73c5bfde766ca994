// The sockets on which the agent takes connections.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/server/listen_address.h"
#include "common/unique_fd.h"

namespace plimsoll {

// Bound and listening, non-blocking. A Unix socket's file is its owner's alone, and goes with this object.
class Listener {
 public:
  // UNAVAILABLE where another program has the address, or it is not this host's. A socket file that nobody listens on
  // is replaced; nothing else is.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const ListenAddress& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::vector<UniqueFd>& sockets() const { return sockets_; }
  // As given, with the port that it got in place of port 0.
  const std::string& name() const { return name_; }

 private:
  Listener() = default;
  absl::Status OpenUnix(const ListenAddress& address);
  absl::Status OpenTcp(const ListenAddress& address);

  std::vector<UniqueFd> sockets_;
  std::string name_;
  std::string unix_path_;
  ino_t unix_inode_ = 0;
};

}  // namespace plimsoll
