// Files and bytes that a run makes on a host before it measures, and the option that names their directory.
#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol.h"
#include "controller/run/preparation.h"

namespace plimsoll {

std::vector<HostBytes> BytesOf(const v1::LogWorkload& workload) {
  std::vector<HostBytes> all;
  for (const std::string& dir : DirsOf(workload)) {
    HostBytes& bytes = all.emplace_back();
    bytes.directory = dir;
    bytes.writers = WritersIn(workload, dir);
    bytes.files = UsesFiles(workload) ? NamedFilesIn(workload, dir) : uint64_t{bytes.writers} * workload.num_files();
    if (__builtin_mul_overflow(bytes.files, workload.file_size_bytes(), &bytes.bytes)) bytes.bytes = UINT64_MAX / 2;
  }
  return all;
}

std::string DirectoryOption(const v1::LogWorkload& workload) {
  if (UsesPaths(workload)) return "--files";
  return workload.qm_dirs().empty() ? "--dir" : "";
}

}  // namespace plimsoll
