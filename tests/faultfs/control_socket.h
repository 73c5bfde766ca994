// Takes commands for the fault file system while it runs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "common/posix.h"
#include "tests/faultfs/fault_rules.h"
#include "tests/faultfs/lock_table.h"
#include "tests/faultfs/volatile_writes.h"

namespace plimsoll::faultfs {

// A Unix socket: one line in, one line out ("ok ..." or "error ..."), as many lines a connection as its client likes.
// "add RULE" -> "ok NUMBER"; "hits NUMBER" -> "ok HITS WAITING"; "release NUMBER"; "clear"; "lost NUMBER" -> "ok
// PATH:OFFSET ..."; "expire PID" -> "ok LOCKS".
class ControlSocket {
 public:
  // What the commands are about; it outlives the object.
  struct Subjects {
    FaultRules& rules;
    LockTable& locks;
    const VolatileWrites& volatile_writes;
  };
  static absl::StatusOr<std::unique_ptr<ControlSocket>> Listen(const std::string& path, const Subjects& subjects);
  // Ends the thread; a client that is connected is hung up on.
  ~ControlSocket();

 private:
  ControlSocket(std::string path, UniqueFd listener, const Subjects& subjects);
  void Serve();
  void ServeClient(int fd);
  std::string Answer(const std::string& line);

  const std::string path_;
  UniqueFd listener_;
  const Subjects subjects_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace plimsoll::faultfs
