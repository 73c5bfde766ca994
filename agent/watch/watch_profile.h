// How a watched program writes its log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "plimsoll/v1/watch.pb.h"

namespace plimsoll {

// What `plimsoll watch --profile` shows of all logs of a host together. Not thread-safe.
class ProfileTally {
 public:
  // A completed write of a log. `offset_bytes` is unknown for a write at a position that could not be followed.
  struct Write {
    // The log that it belongs to.
    uint32_t qm = 0;
    std::string call;
    std::string path;
    std::optional<uint64_t> offset_bytes;
    uint64_t bytes = 0;
  };
  void Take(const Write& write);
  // A sync of a file of the log.
  void TakeSync(const std::string& call) { ++calls_[call]; }
  // A write began while another one of the same log was in flight.
  void TakeOverlap() { ++overlapping_; }
  // At most `kMostTexts` of each are kept.
  void AddOpenFlags(const std::string& flags);
  bool has_open_flags() const { return !open_flags_.empty(); }
  void AddLock(const std::string& lock);

  v1::WatchProfile ToProto() const;

  static constexpr size_t kMostTexts = 64;

 private:
  std::map<std::string, uint64_t> calls_;
  std::map<uint64_t, uint64_t> sizes_;
  std::set<std::string> open_flags_;
  std::set<std::string> locks_;
  struct Log {
    std::string path;
    // Where the last write to the file ended.
    std::optional<uint64_t> end_bytes;
  };
  std::map<uint32_t, Log> logs_;
  uint64_t sequential_ = 0;
  uint64_t rewriting_ = 0;
  uint64_t other_ = 0;
  uint64_t unaligned_ = 0;
  uint64_t overlapping_ = 0;
  uint64_t extent_changes_ = 0;
};

}  // namespace plimsoll
