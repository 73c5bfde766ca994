// The files of a journal as a program or a machine that stops leaves them behind.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/journal/results.h"

namespace plimsoll::tests {

// Remembers what a JournalWriter, and those beside it, ask of the system, which does it, too. One thread.
class JournalDisk {
 public:
  using Files = std::map<std::string, std::string>;

  JournalCalls calls() {
    JournalCalls calls;
    calls.write = [this](int fd, const void* data, size_t size) {
      const ssize_t n = ::write(fd, data, size);
      if (n > 0) {
        const auto* const bytes = static_cast<const char*>(data);
        done_.push_back({Kind::kWrite, NameOf(fd), std::string(bytes, static_cast<size_t>(n))});
      }
      return n;
    };
    calls.sync = [this](int fd) {
      done_.push_back({Kind::kSync, NameOf(fd), ""});
      return 0;
    };
    calls.truncate = [this](int fd, off_t size) {
      done_.push_back({Kind::kClear, NameOf(fd), ""});
      return ::ftruncate(fd, size);
    };
    return calls;
  }

  // How many calls there were.
  size_t calls_done() const { return done_.size(); }
  size_t Count(const std::string& kind) const {
    return static_cast<size_t>(std::count_if(done_.begin(), done_.end(), [&](const Call& call) {
      return call.kind == (kind == "sync" ? Kind::kSync : Kind::kClear);
    }));
  }

  // The program is killed after so many calls, and within the next one if that writes: after that share of its bytes.
  Files AfterKill(size_t calls, double share) const {
    Files files;
    for (size_t i = 0; i < calls; ++i) Do(done_[i], files);
    if (calls < done_.size() && done_[calls].kind == Kind::kWrite) {
      const std::string& bytes = done_[calls].bytes;
      files[done_[calls].name] += bytes.substr(0, static_cast<size_t>(share * static_cast<double>(bytes.size())));
    }
    return files;
  }

  // The machine loses power after so many calls. Of each file there is at least what was on the disk, and of the rest
  // what `random` lets be written: `random(n)` is a number from 0 to n. A file that was cleared may have what it had.
  Files AfterPowerLoss(size_t calls, const std::function<uint64_t(uint64_t most)>& random) const {
    Files files;
    Files before_clear;
    std::map<std::string, size_t> synced;
    for (size_t i = 0; i < calls; ++i) {
      const Call& call = done_[i];
      if (call.kind == Kind::kSync) synced[call.name] = files[call.name].size();
      if (call.kind == Kind::kClear) before_clear[call.name] = files[call.name];
      Do(call, files);
    }
    for (auto& [name, bytes] : files) {
      const size_t least = std::min(synced[name], bytes.size());
      if (before_clear.contains(name) && random(2) == 0) bytes = before_clear[name];
      bytes.resize(least + random(bytes.size() - least));
    }
    return files;
  }

  static void Put(const Files& files, const std::string& directory) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    for (const auto& [name, bytes] : files) std::ofstream(directory + "/" + name, std::ios::binary) << bytes;
  }

 private:
  enum class Kind { kWrite, kSync, kClear };
  struct Call {
    Kind kind = Kind::kWrite;
    std::string name;
    std::string bytes;
  };

  static std::string NameOf(int fd) {
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).filename().string();
  }
  static void Do(const Call& call, Files& files) {
    if (call.kind == Kind::kWrite) files[call.name] += call.bytes;
    if (call.kind == Kind::kClear) files[call.name].clear();
  }

  std::vector<Call> done_;
};

}  // namespace plimsoll::tests
