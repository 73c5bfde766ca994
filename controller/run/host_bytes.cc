// What a run makes on a host before it measures, and what named the place.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol.h"
#include "controller/report/used_files.h"
#include "controller/run/preparation.h"

namespace plimsoll {
namespace {

// Named files that the run makes in the directory.
uint64_t FilesMadeIn(const v1::LogWorkload& workload, const std::string& dir) {
  const std::vector<std::string> used = UsedFiles(workload);
  if (!UsesPaths(workload)) return used.size();
  if (!workload.create()) return 0;
  // The agent checks the other directories when it makes the files.
  return static_cast<uint64_t>(std::ranges::count(used, dir, DirectoryOfPath));
}

}  // namespace

std::vector<HostBytes> BytesOf(const v1::LogWorkload& workload) {
  std::vector<HostBytes> all;
  for (const std::string& dir : DirsOf(workload)) {
    HostBytes& bytes = all.emplace_back();
    bytes.directory = dir;
    bytes.writers = WritersIn(workload, dir);
    bytes.files = uint64_t{bytes.writers} * workload.num_files();
    if (UsesFiles(workload)) bytes.files = FilesMadeIn(workload, dir);
    if (__builtin_mul_overflow(bytes.files, workload.file_size_bytes(), &bytes.bytes)) bytes.bytes = UINT64_MAX / 2;
  }
  return all;
}

std::string DirectoryOption(const v1::LogWorkload& workload) {
  if (UsesPaths(workload)) return "--files";
  return workload.qm_dirs().empty() ? "--dir" : "";
}

}  // namespace plimsoll
