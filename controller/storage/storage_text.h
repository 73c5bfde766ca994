// What lies below a directory, in an administrator's words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Facts and advice as lines of at most 100 columns, without what steers a terminal. A directory that could not be
// looked at gives its error. `block_size_bytes` is the largest write that the log will make.
std::vector<std::string> TextOfStorage(const v1::DirectoryDescription& directory, uint64_t block_size_bytes);

}  // namespace plimsoll
