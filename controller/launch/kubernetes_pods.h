// The pods that `kubectl get pods --output=json` lists.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// Names of the pods that run and are not about to end, sorted. UNAVAILABLE where the text is not such a list.
absl::StatusOr<std::vector<std::string>> RunningPods(const std::string& json);

}  // namespace plimsoll
