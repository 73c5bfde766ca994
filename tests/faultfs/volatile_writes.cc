#include "tests/faultfs/volatile_writes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace plimsoll::faultfs {

int VolatileWrites::Replaced::Read(int fd, const std::string& path, size_t size, off_t offset) {
  // Without O_DIRECT, whose demands on memory and lengths a rest of a file does not meet.
  fd_ = UniqueFd(open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_DSYNC | O_CLOEXEC));
  struct stat facts{};
  if (!fd_.valid() || fstat(fd_.get(), &facts) != 0) return errno;
  path_ = path;
  offset_ = offset;
  file_bytes_ = facts.st_size;
  bytes_.resize(size);
  const ssize_t got = pread(fd_.get(), bytes_.data(), size, offset);
  if (got < 0) return errno;
  bytes_.resize(static_cast<size_t>(got));
  return 0;
}

void VolatileWrites::Replaced::PutBack() const {
  size_t done = 0;
  while (done < bytes_.size()) {
    const ssize_t put =
        pwrite(fd_.get(), bytes_.data() + done, bytes_.size() - done, offset_ + static_cast<off_t>(done));
    if (put <= 0) return;
    done += static_cast<size_t>(put);
  }
  struct stat facts{};
  if (fstat(fd_.get(), &facts) != 0 || facts.st_size <= file_bytes_) return;
  if (ftruncate(fd_.get(), file_bytes_) != 0) return;
}

void VolatileWrites::Add(uint64_t rule, size_t most, Replaced replaced) {
  const MutexLock lock(mutex_);
  std::deque<Replaced>& writes = remembered_[rule];
  writes.push_back(std::move(replaced));
  while (writes.size() > most) writes.pop_front();
}

std::vector<uint64_t> VolatileWrites::Close(const std::string& path) {
  const MutexLock lock(mutex_);
  std::vector<uint64_t> ended;
  for (auto rule = remembered_.begin(); rule != remembered_.end();) {
    std::deque<Replaced>& writes = rule->second;
    if (std::none_of(writes.begin(), writes.end(), [&](const Replaced& one) { return one.path_ == path; })) {
      ++rule;
      continue;
    }
    for (auto one = writes.rbegin(); one != writes.rend(); ++one) one->PutBack();
    for (const Replaced& one : writes) {
      lost_[rule->first].push_back(one.path_ + ":" + std::to_string(one.offset_));
    }
    ended.push_back(rule->first);
    rule = remembered_.erase(rule);
  }
  return ended;
}

std::vector<std::string> VolatileWrites::LostBy(uint64_t rule) const {
  const MutexLock lock(mutex_);
  const auto found = lost_.find(rule);
  return found == lost_.end() ? std::vector<std::string>() : found->second;
}

}  // namespace plimsoll::faultfs
