// The agent's end of `plimsoll-agent --stdio`: connections that come over its standard input and output.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/link/stdio_link.h"
#include "common/mutex.h"
#include "common/posix.h"

namespace plimsoll {

// Serves the link (common/link) on a thread of its own, from Serve to Finish.
class StdioChannel {
 public:
  // Takes standard input and output away from the process: what reads or prints, and every program that it starts, gets
  // /dev/null and standard error in their places. Call it before a thread or a process is started. FAILED_PRECONDITION
  // where one of them is a terminal, which would change the bytes.
  static absl::StatusOr<std::unique_ptr<StdioChannel>> Take();
  ~StdioChannel();
  StdioChannel(const StdioChannel&) = delete;
  StdioChannel& operator=(const StdioChannel&) = delete;

  // Reports that the agent listens. From now on `take` gets a socket for each connection, on the channel's thread.
  void Serve(std::function<void(UniqueFd socket)> take);
  // Once it returns, `take` is neither running nor called again. Open connections continue.
  void StopTaking();
  // Becomes readable once the controller's end has come: its last frame, the end of standard input, or bytes that make
  // no sense.
  int ended() const { return ended_.get(); }
  // Why the controller's end came, where it was neither its last frame nor the end of standard input. After `ended`.
  const std::string& error() const { return error_; }
  // Sends what is left, and the last frame, for at most `limit_ns`; then the thread ends.
  void Finish(int64_t limit_ns);

 private:
  StdioChannel(UniqueFd input, UniqueFd output);
  void Run();
  void Read();
  // The controller's end has come.
  void End(const std::string& error);

  const UniqueFd input_;
  const UniqueFd output_;
  const UniqueFd ended_;
  const UniqueFd wake_;
  // Set once, before `wake_` is written to.
  std::atomic<bool> finish_{false};
  int64_t finish_limit_ns_ = 0;
  // Written before `ended_`.
  std::string error_;
  Mutex mutex_;
  std::function<void(UniqueFd socket)> take_ ABSL_GUARDED_BY(mutex_);
  // Of the thread alone.
  std::optional<StdioLink> link_;
  bool reading_ = true;
  bool writing_ = true;
  std::thread thread_;
};

}  // namespace plimsoll
