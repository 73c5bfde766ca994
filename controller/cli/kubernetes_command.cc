#include <memory>
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/command_line/command_line.h"
#include "common/protocol.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/kubernetes/manifests.h"

namespace plimsoll {
namespace {

struct ManifestFlags {
  ManifestOptions options;
  std::string access_mode = "RWX";
};

int PrintManifests(ManifestFlags flags, CommandLine& line) {
  flags.options.shared = flags.access_mode == "RWX";
  if (const absl::Status status = CheckManifestOptions(flags.options); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  line.out << Manifests(flags.options);
  return static_cast<int>(Exit::kOk);
}

}  // namespace

void AddKubernetesCommand(CLI::App& app, CommandLine& line) {
  CLI::App* kubernetes = app.add_subcommand("kubernetes", "Print manifests for agents in a Kubernetes cluster");
  kubernetes->footer("Example:\n  plimsoll kubernetes manifests --storage-class nfs-csi | kubectl apply -f -");
  auto flags = std::make_shared<ManifestFlags>();
  ManifestOptions& options = flags->options;
  // An image that no registry has: it is loaded into the nodes, unless --image names another.
  options.image = absl::StrCat("localhost/plimsoll:", kVersion);
  CLI::App* manifests = kubernetes->add_subcommand(
      "manifests", "Print the YAML of one agent a node, with volumes of the StorageClass under test");
  AddValue(*manifests, "--storage-class", "NAME", options.storage_class, "StorageClass under test")->required();
  AddValue(*manifests, "--access-mode", "MODE", flags->access_mode,
           "RWX: one volume that all agents share; RWO: one for each agent")
      ->capture_default_str()
      ->check(OneOf({"RWX", "RWO"}));
  AddValue(*manifests, "--size", "SIZE", options.size, "Size of a volume")->capture_default_str();
  AddValue(*manifests, "--replicas", "N", options.replicas, "Agents, each on a node of its own")
      ->capture_default_str()
      ->check(NumberFrom(1U, kMaxReplicas));
  AddValue(*manifests, "--name", "NAME", options.name, "Name of all that is made, and its label app")
      ->capture_default_str();
  AddValue(*manifests, "--namespace", "NAME", options.name_space, "Namespace (default: that of kubectl)");
  AddValue(*manifests, "--image", "IMAGE", options.image, "Image of the programs (scripts/portable --image)")
      ->capture_default_str();
  AddValue(*manifests, "--node-selector", "KEY=VALUE", options.node_selectors,
           "Label that nodes must have; repeat for several")
      ->type_size(1)
      ->expected(1)
      ->take_all();
  AddValue(*manifests, "--cpu", "N", options.cpu, "CPUs to request for an agent; no limit is set")
      ->capture_default_str();
  AddValue(*manifests, "--memory", "SIZE", options.memory, "Memory of an agent: request and limit")
      ->capture_default_str();
  AddValue(*manifests, "--fs-group", "GID", options.fs_group,
           "Group that new volumes are given to, where they are root's alone; not on OpenShift, which assigns one")
      ->check(NumberFrom(1U, kMaxGroup));
  manifests->add_flag("--job", options.job,
                      "Agents that listen, with TLS, and a Job that runs plimsoll accept and ends with its exit code");
  AddValue(*manifests, "--results-claim", "NAME", options.results_claim,
           "With --job: an existing PersistentVolumeClaim for the results (default: the log alone keeps the report)");
  manifests->footer(
      "Examples:\n"
      "  plimsoll kubernetes manifests --storage-class nfs-csi --namespace mq | kubectl apply -f -\n"
      "  plimsoll accept --launch kubernetes --selector app=plimsoll --namespace mq --dir /data \\\n"
      "    --rate 200 --require 'p99<10ms'\n"
      "  plimsoll kubernetes manifests --storage-class nfs-csi --namespace mq | kubectl delete -f -");
  manifests->callback([flags, &line] { line.action = [flags, &line] { return PrintManifests(*flags, line); }; });
}

}  // namespace plimsoll
