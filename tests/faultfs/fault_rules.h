// What goes wrong, when and where: the rules that the fault file system asks before each operation.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"

namespace plimsoll::faultfs {

// One rule. `operation` is a name such as "write" or "*"; `pattern` a shell pattern over the path below the mount, with
// '/' like any other character.
struct Rule {
  std::string operation;
  std::string pattern;
  // The first matching operations that pass untouched, and how many are hit after those; 0: all.
  uint64_t after = 0;
  uint64_t count = 0;
  // The process that it is for; 0: all.
  pid_t process = 0;

  // 0: none. An errno that the operation ends with.
  int error_number = 0;
  int64_t delay_ms = 0;
  // One server takes the operations in turn, each for so long; 0: there is none.
  int64_t serve_us = 0;
  // Holds the operation until Release; with hang_ms, at most for that long.
  bool hang = false;
  int64_t hang_ms = 0;
  // A hang ends with EINTR when the caller is killed, as on an NFS mount; otherwise nothing ends it but Release.
  bool interruptible = false;
  // write, fsync: answered with success, done in no part.
  bool drop = false;
  // write: only so many bytes are done, and success (or error_number) is answered.
  std::optional<uint64_t> torn_bytes;
  // write: done, and the last so many are lost when a program closes a file that one of them was made to.
  uint64_t volatile_writes = 0;
  // lock: granted whoever holds it, and not kept.
  bool grant = false;
};

// Thread-safe.
class FaultRules {
 public:
  // What is left to do of a rule after its delay or hang.
  struct Verdict {
    int error_number = 0;
    bool drop = false;
    std::optional<uint64_t> torn_bytes;
    bool grant = false;
    uint64_t volatile_writes = 0;
    // The rule that caught the operation; 0: none did.
    uint64_t rule = 0;
  };
  // Who asks for an operation; both are called only where a rule needs to know.
  struct Caller {
    std::function<pid_t()> process;
    // Whether it was killed.
    std::function<bool()> interrupted;
  };
  struct Hits {
    uint64_t hits = 0;     // operations that it caught
    uint64_t waiting = 0;  // of those, how many it holds now
  };

  // Parses and adds "OPERATION PATTERN [after=N] [count=N] ACTION...", see README.md. Returns the rule's number.
  absl::StatusOr<uint64_t> Add(const std::string& text);
  absl::StatusOr<Hits> HitsOf(uint64_t number) const;
  // Takes the rule away and lets go what it holds.
  absl::Status Release(uint64_t number);
  void ReleaseAll();

  // The verdict of the first rule that catches the operation, after having waited as it asks.
  Verdict Ask(const std::string& operation, const std::string& path, const Caller& caller);

 private:
  struct Entry {
    Rule rule;
    uint64_t number = 0;
    uint64_t matched = 0;
    Hits hits;
    bool released = false;
    // When the server has done all that came.
    std::chrono::steady_clock::time_point served_until;
  };

  std::shared_ptr<Entry> Catch(const std::string& operation, const std::string& path, const Caller& caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::shared_ptr<Entry>> rules_ ABSL_GUARDED_BY(mutex_);
};

// Parses the text of a rule; the error says what is wrong with it.
absl::StatusOr<Rule> ParseRule(const std::string& text);

}  // namespace plimsoll::faultfs
