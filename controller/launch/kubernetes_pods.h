// The pods that `kubectl get pods --output=json` lists.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// Names of the pods that run and are not about to end, sorted. UNAVAILABLE where the text is not such a list.
absl::StatusOr<std::vector<std::string>> RunningPods(const std::string& json);

// The node of each pod that has one, by the pod's name; of a list, or of the one pod that `kubectl get pods POD`
// prints. Empty if the text is neither.
std::map<std::string, std::string> NodesOfPods(const std::string& json);

}  // namespace plimsoll
