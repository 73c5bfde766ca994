// Manifests that start agents in a Kubernetes cluster, on volumes of the StorageClass under test.
#pragma once

#include <string>

#include "controller/kubernetes/manifest_options.h"

namespace plimsoll {

// The YAML for `kubectl apply -f -`, of options that CheckManifestOptions accepts: the claims, a headless Service and a
// StatefulSet with one pod a node. Its pods idle, for `--launch kubernetes`; with `job`, they are agents that listen
// with TLS, and a Job runs `plimsoll accept`. All pods keep to the level "restricted" of Pod Security.
std::string Manifests(const ManifestOptions& options);

}  // namespace plimsoll
