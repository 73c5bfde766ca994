// What is wrong, or worth knowing, about the storage of a directory that is meant for a recovery log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

enum class AdviceLevel {
  kProblem,  // a log must not lie there like this
  kWarning,  // slower or less safe than it could be
  kHint,     // worth knowing
};

struct StorageAdvice {
  AdviceLevel level = AdviceLevel::kHint;
  std::string what;    // what was found, as a short clause
  std::string why;     // what follows from it, and what to do
  std::string source;  // where that is written
};

// Options of a mount by name; those without a value have an empty one. Of two alike the last counts, as in the kernel.
absl::flat_hash_map<std::string, std::string> ParseMountOptions(const std::string& options);

bool IsNfsType(const std::string& fs_type);

// What `directory` gives rise to, the worst first. `block_size_bytes` is the largest write that the log will make.
// Uses only an agent's description; what a client cannot see (whether an NFS server's export is sync) is a hint to ask.
std::vector<StorageAdvice> AdviseOnStorage(const v1::DirectoryDescription& directory, uint64_t block_size_bytes);

}  // namespace plimsoll
