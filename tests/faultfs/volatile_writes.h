// Writes that were acknowledged, can be read, and are lost all the same when a program closes their file: a cache that
// forgets at a crash.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "common/posix.h"

namespace plimsoll::faultfs {

// Thread-safe. Writes of one rule are remembered in their order, over all files.
class VolatileWrites {
 public:
  // What a write of these bytes is about to replace. 0 or an errno; `fd` may be open in any way.
  class Replaced {
   public:
    int Read(int fd, const std::string& path, size_t size, off_t offset);

   private:
    friend class VolatileWrites;
    void PutBack() const;

    UniqueFd fd_;
    std::string path_;
    off_t offset_ = 0;
    std::vector<char> bytes_;
    // Where the file ended before; a write behind that has made it longer.
    off_t file_bytes_ = 0;
  };

  // The write was done. Of each rule the last `most` are remembered.
  void Add(uint64_t rule, size_t most, Replaced replaced);
  // The file was closed: what a rule remembers is lost, of all its files, where one of them is this one. Returns the
  // rules that this ended.
  std::vector<uint64_t> Close(const std::string& path);
  // "PATH:OFFSET" of each write that was lost, in the order in which they were made.
  std::vector<std::string> LostBy(uint64_t rule) const;

 private:
  mutable Mutex mutex_;
  std::map<uint64_t, std::deque<Replaced>> remembered_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::vector<std::string>> lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::faultfs
