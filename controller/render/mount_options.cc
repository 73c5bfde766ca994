#include "controller/render/mount_options.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace plimsoll {

std::string SharedMountOptions(const std::string& options) {
  std::vector<std::string> shared;
  for (std::string& option : std::vector<std::string>(absl::StrSplit(options, ','))) {
    if (!absl::StartsWith(option, "clientaddr=")) shared.push_back(std::move(option));
  }
  return absl::StrJoin(shared, ",");
}

}  // namespace plimsoll
