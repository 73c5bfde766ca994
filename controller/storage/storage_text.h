// The storage stack below a directory, in an administrator's words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Facts and advice but for the free space, as lines of at most 100 columns, without what controls a terminal. A
// directory that could not be examined gives its error. `block_size_bytes` is the largest write that the log will make.
std::vector<std::string> TextOfStorage(const v1::DirectoryDescription& directory, uint64_t block_size_bytes);

// One directory as each of several hosts sees it.
struct HostDirectory {
  std::string label;
  v1::DirectoryDescription directory;
};

// Where hosts differ, a row for each group of hosts that are alike; then each group's facts and advice.
std::vector<std::string> TextOfStorages(const std::vector<HostDirectory>& hosts, uint64_t block_size_bytes);

}  // namespace plimsoll
