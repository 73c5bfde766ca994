// Takes commands for the fault file system while it runs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "tests/faultfs/fault_rules.h"

namespace plimsoll::faultfs {

// A Unix socket: one line in, one line out ("ok ..." or "error ..."), as many lines a connection as its client likes.
// "add RULE" -> "ok NUMBER"; "hits NUMBER" -> "ok HITS WAITING"; "release NUMBER"; "clear".
class ControlSocket {
 public:
  // `rules` outlives the object.
  static absl::StatusOr<std::unique_ptr<ControlSocket>> Listen(const std::string& path, FaultRules& rules);
  // Ends the thread; a client that is connected is hung up on.
  ~ControlSocket();

 private:
  ControlSocket(std::string path, UniqueFd listener, FaultRules& rules);
  void Serve();
  void ServeClient(int fd);
  std::string Answer(const std::string& line);

  const std::string path_;
  UniqueFd listener_;
  FaultRules& rules_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace plimsoll::faultfs
