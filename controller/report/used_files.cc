#include "controller/report/used_files.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll {

std::vector<std::string> UsedFiles(const v1::LogWorkload& workload) {
  return {workload.files().begin(), workload.files().begin() + static_cast<int>(CountUsedFiles(workload))};
}

std::string ShortenFiles(const v1::LogWorkload& workload) {
  const std::vector<std::string> files = UsedFiles(workload);
  if (files.empty()) return "";
  if (files.size() == 1) return files.front();
  return absl::StrCat(files.front(), files.size() == 2 ? ", " : " ... ", files.back(), " (",
                      FormatCount(static_cast<uint64_t>(files.size())), " files)");
}

}  // namespace plimsoll
