// The options of `plimsoll kubernetes manifests`, and the rules of Kubernetes for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace plimsoll {

// The largest id of a group.
inline constexpr uint32_t kMaxGroup = 2'147'483'647;
// Pods, and so nodes.
inline constexpr uint32_t kMaxReplicas = 1'000;

struct ManifestOptions {
  // The StorageClass under test.
  std::string storage_class;
  // One claim that all pods mount (ReadWriteMany), or one for each pod (ReadWriteOnce).
  bool shared = true;
  uint32_t replicas = 3;
  // Of StatefulSet, Service and claim, and the label `app`.
  std::string name = "plimsoll";
  // Empty: the manifests name none, and kubectl chooses.
  std::string name_space;
  std::string image;
  // Quantities of Kubernetes.
  std::string size = "20Gi";
  std::string cpu = "1";
  std::string memory = "1Gi";
  // KEY=VALUE, which a node's labels must have.
  std::vector<std::string> node_selectors;
  // Group that the volumes are given to; 0: none.
  uint32_t fs_group = 0;
  // Agents that listen with TLS, and a Job that accepts the storage.
  bool job = false;
  // PersistentVolumeClaim for the Job's results; empty: they go with its pod.
  std::string results_claim;
};

// INVALID_ARGUMENT "--size: ..." where the API server would refuse a value, or where it would not stay one plain word
// in YAML.
absl::Status CheckManifestOptions(const ManifestOptions& options);

}  // namespace plimsoll
