#include "controller/kubernetes/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

ManifestOptions Options() {
  ManifestOptions options;
  options.storage_class = "nfs-csi";
  options.image = "registry.example.com/mq/plimsoll:1.0";
  return options;
}

// The object of this kind; fails where there is not exactly one.
YAML::Node ObjectOf(const ManifestOptions& options, const std::string& kind) {
  YAML::Node found;
  int count = 0;
  for (const YAML::Node& object : YAML::LoadAll(Manifests(options))) {
    if (object["kind"].as<std::string>("") != kind) continue;
    found.reset(object);
    ++count;
  }
  EXPECT_EQ(count, 1) << kind;
  return found;
}

YAML::Node PodOf(const YAML::Node& object) {
  return object["spec"]["template"]["spec"];
}

std::vector<std::string> KindsOf(const ManifestOptions& options) {
  std::vector<std::string> kinds;
  for (const YAML::Node& object : YAML::LoadAll(Manifests(options))) {
    if (object.IsMap()) kinds.push_back(object["kind"].as<std::string>());
  }
  return kinds;
}

std::vector<std::string> Words(const YAML::Node& list) {
  return list.as<std::vector<std::string>>();
}

// Every form of the manifests.
std::vector<ManifestOptions> Forms() {
  std::vector<ManifestOptions> forms;
  for (const bool shared : {true, false}) {
    for (const bool job : {true, false}) {
      for (const bool more : {true, false}) {
        ManifestOptions options = Options();
        options.shared = shared;
        options.job = job;
        if (more) {
          options.name_space = "mq";
          options.node_selectors = {"node-role.kubernetes.io/mq=", "disk=fast"};
          options.fs_group = 10'001;
          if (job) options.results_claim = "evidence";
        }
        forms.push_back(options);
      }
    }
  }
  return forms;
}

TEST(Manifests, ASharedVolumeIsOneClaimThatEveryPodMounts) {
  const ManifestOptions options = Options();
  EXPECT_THAT(KindsOf(options), testing::ElementsAre("PersistentVolumeClaim", "Service", "StatefulSet"));
  const YAML::Node claim = ObjectOf(options, "PersistentVolumeClaim");
  EXPECT_EQ(claim["spec"]["storageClassName"].as<std::string>(), "nfs-csi");
  EXPECT_THAT(Words(claim["spec"]["accessModes"]), testing::ElementsAre("ReadWriteMany"));
  const YAML::Node set = ObjectOf(options, "StatefulSet");
  EXPECT_FALSE(set["spec"]["volumeClaimTemplates"].IsDefined());
  EXPECT_EQ(PodOf(set)["volumes"][0]["persistentVolumeClaim"]["claimName"].as<std::string>(),
            claim["metadata"]["name"].as<std::string>());
}

TEST(Manifests, AVolumeForEachPodGoesWithTheStatefulSet) {
  ManifestOptions options = Options();
  options.shared = false;
  options.size = "5Gi";
  EXPECT_THAT(KindsOf(options), testing::ElementsAre("Service", "StatefulSet"));
  const YAML::Node set = ObjectOf(options, "StatefulSet")["spec"];
  const YAML::Node claim = set["volumeClaimTemplates"][0];
  EXPECT_THAT(Words(claim["spec"]["accessModes"]), testing::ElementsAre("ReadWriteOnce"));
  EXPECT_EQ(claim["spec"]["resources"]["requests"]["storage"].as<std::string>(), "5Gi");
  EXPECT_EQ(set["persistentVolumeClaimRetentionPolicy"]["whenDeleted"].as<std::string>(), "Delete");
  // The template's volume is the one that is mounted.
  EXPECT_EQ(set["template"]["spec"]["containers"][0]["volumeMounts"][0]["name"].as<std::string>(),
            claim["metadata"]["name"].as<std::string>());
}

TEST(Manifests, NoTwoPodsShareANode) {
  for (const ManifestOptions& options : Forms()) {
    const YAML::Node object = ObjectOf(options, "StatefulSet");
    const YAML::Node term =
        PodOf(object)["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
    EXPECT_EQ(term["topologyKey"].as<std::string>(), "kubernetes.io/hostname");
    EXPECT_EQ(term["labelSelector"]["matchLabels"]["app"].as<std::string>(),
              object["spec"]["template"]["metadata"]["labels"]["app"].as<std::string>());
  }
}

TEST(Manifests, EveryPodKeepsToTheRestrictedLevel) {
  for (const ManifestOptions& options : Forms()) {
    for (const YAML::Node& object : YAML::LoadAll(Manifests(options))) {
      if (!object.IsMap() || !object["spec"]["template"].IsDefined()) continue;
      const YAML::Node pod = PodOf(object);
      EXPECT_TRUE(pod["securityContext"]["runAsNonRoot"].as<bool>());
      // OpenShift assigns one and refuses others.
      EXPECT_FALSE(pod["securityContext"]["runAsUser"].IsDefined());
      EXPECT_EQ(pod["securityContext"]["fsGroup"].as<uint32_t>(0), options.fs_group);
      EXPECT_EQ(pod["securityContext"]["seccompProfile"]["type"].as<std::string>(), "RuntimeDefault");
      EXPECT_FALSE(pod["automountServiceAccountToken"].as<bool>());
      ASSERT_EQ(pod["containers"].size(), 1U);
      const YAML::Node security = pod["containers"][0]["securityContext"];
      EXPECT_FALSE(security["allowPrivilegeEscalation"].as<bool>());
      EXPECT_TRUE(security["readOnlyRootFilesystem"].as<bool>());
      EXPECT_THAT(Words(security["capabilities"]["drop"]), testing::ElementsAre("ALL"));
    }
  }
}

TEST(Manifests, CpusAreRequestedAndNeverLimited) {
  for (ManifestOptions options : Forms()) {
    options.cpu = "1500m";
    options.memory = "2Gi";
    const YAML::Node resources = PodOf(ObjectOf(options, "StatefulSet"))["containers"][0]["resources"];
    EXPECT_EQ(resources["requests"]["cpu"].as<std::string>(), "1500m");
    EXPECT_FALSE(resources["limits"]["cpu"].IsDefined());
    EXPECT_EQ(resources["limits"]["memory"].as<std::string>(), "2Gi");
  }
}

TEST(Manifests, PodsIdleUntilAgentsAreStartedInThem) {
  const YAML::Node container = PodOf(ObjectOf(Options(), "StatefulSet"))["containers"][0];
  EXPECT_THAT(Words(container["command"]), testing::ElementsAre("plimsoll-agent", "--idle"));
  EXPECT_FALSE(container["ports"].IsDefined());
  EXPECT_FALSE(ObjectOf(Options(), "Service")["spec"]["ports"].IsDefined());
}

TEST(Manifests, TheJobDialsEachAgentByTheNameInItsCertificate) {
  ManifestOptions options = Options();
  options.job = true;
  options.name = "mqtest";
  options.replicas = 4;
  const YAML::Node agent = PodOf(ObjectOf(options, "StatefulSet"));
  const YAML::Node job = PodOf(ObjectOf(options, "Job"));
  EXPECT_THAT(Words(agent["containers"][0]["command"]),
              testing::IsSupersetOf({"--listen=0.0.0.0:7461", "--tls-cert=/tls/$(POD_NAME).mqtest.crt"}));
  EXPECT_THAT(Words(job["containers"][0]["command"]),
              testing::IsSupersetOf({"accept", "--hosts=mqtest-[0-3].mqtest", "--dir=/data"}));
  EXPECT_EQ(ObjectOf(options, "Service")["spec"]["ports"][0]["port"].as<int>(), 7461);
  // Its key is not among those of the agents, nor theirs among the Job's.
  EXPECT_EQ(agent["volumes"][1]["secret"]["secretName"].as<std::string>(), "mqtest-agents");
  EXPECT_EQ(job["volumes"][1]["secret"]["secretName"].as<std::string>(), "mqtest-controller");
  // An agent refuses a key that others may read: 0440.
  EXPECT_EQ(agent["volumes"][1]["secret"]["defaultMode"].as<int>(), 0440);
  EXPECT_THAT(Manifests(options), HasSubstr("tls init certificates --hosts 'mqtest-[0-3].mqtest'"));
}

TEST(Manifests, OneAgentAloneIsDialledWithoutARange) {
  ManifestOptions options = Options();
  options.job = true;
  options.replicas = 1;
  EXPECT_THAT(Manifests(options), HasSubstr("--hosts=plimsoll-0.plimsoll\n"));
}

TEST(Manifests, AJobIsRepeatedOnlyWhileAgentsCannotBeReached) {
  ManifestOptions options = Options();
  options.job = true;
  const YAML::Node job = ObjectOf(options, "Job");
  const YAML::Node rule = job["spec"]["podFailurePolicy"]["rules"][0];
  EXPECT_EQ(rule["action"].as<std::string>(), "FailJob");
  EXPECT_EQ(rule["onExitCodes"]["operator"].as<std::string>(), "NotIn");
  EXPECT_THAT(rule["onExitCodes"]["values"].as<std::vector<int>>(), testing::ElementsAre(4));
  EXPECT_EQ(rule["onExitCodes"]["containerName"].as<std::string>(),
            PodOf(job)["containers"][0]["name"].as<std::string>());
  // Such a policy is for pods that are never started again.
  EXPECT_EQ(PodOf(job)["restartPolicy"].as<std::string>(), "Never");
}

TEST(Manifests, ResultsOfAJobAreKeptWhereAClaimIsGiven) {
  ManifestOptions options = Options();
  options.job = true;
  EXPECT_TRUE(PodOf(ObjectOf(options, "Job"))["volumes"][2]["emptyDir"].IsDefined());
  options.results_claim = "evidence";
  EXPECT_EQ(PodOf(ObjectOf(options, "Job"))["volumes"][2]["persistentVolumeClaim"]["claimName"].as<std::string>(),
            "evidence");
}

TEST(Manifests, ANamespaceIsThatOfEveryObjectAndOfEveryCommand) {
  ManifestOptions options = Options();
  options.job = true;
  options.name_space = "mq-test";
  for (const YAML::Node& object : YAML::LoadAll(Manifests(options))) {
    if (!object.IsMap()) continue;
    EXPECT_EQ(object["metadata"]["namespace"].as<std::string>(""), "mq-test");
  }
  EXPECT_THAT(Manifests(options), HasSubstr("create secret generic plimsoll-agents --namespace mq-test"));
  options.name_space = "";
  EXPECT_THAT(Manifests(options), Not(HasSubstr("namespace")));
}

TEST(Manifests, NoWordOfATemplateIsLeft) {
  for (const ManifestOptions& options : Forms()) {
    ASSERT_EQ(CheckManifestOptions(options), absl::OkStatus());
    std::string text = Manifests(options);
    // The one pair of braces that YAML has.
    if (const size_t empty = text.find("emptyDir: {}"); empty != std::string::npos) text.erase(empty, 12);
    EXPECT_THAT(text, Not(HasSubstr("{")));
    EXPECT_THAT(text, Not(HasSubstr("}")));
  }
}

std::string RefusalOf(void (*change)(ManifestOptions&)) {
  ManifestOptions options = Options();
  change(options);
  return std::string(CheckManifestOptions(options).message());
}

TEST(ManifestOptions, WhatKubernetesWouldRefuseIsRefusedWithItsOption) {
  const auto refuses = [](const char* option, void (*change)(ManifestOptions&)) {
    EXPECT_THAT(RefusalOf(change), testing::StartsWith(option));
  };
  refuses("--storage-class: ", [](ManifestOptions& options) { options.storage_class = ""; });
  refuses("--storage-class: ", [](ManifestOptions& options) { options.storage_class = "Fast"; });
  refuses("--storage-class: ", [](ManifestOptions& options) { options.storage_class = "fast..nfs"; });
  refuses("--name: ", [](ManifestOptions& options) { options.name = "1st"; });
  refuses("--name: ", [](ManifestOptions& options) { options.name = "under_score"; });
  refuses("--name: ", [](ManifestOptions& options) { options.name = std::string(53, 'a'); });
  refuses("--namespace: ", [](ManifestOptions& options) { options.name_space = "mq-"; });
  refuses("--image: ", [](ManifestOptions& options) { options.image = ""; });
  refuses("--image: ", [](ManifestOptions& options) { options.image = "plimsoll:1\" # "; });
  refuses("--size: ", [](ManifestOptions& options) { options.size = "20g"; });
  refuses("--size: ", [](ManifestOptions& options) { options.size = "0Gi"; });
  refuses("--memory: ", [](ManifestOptions& options) { options.memory = "1"; });
  refuses("--cpu: ", [](ManifestOptions& options) { options.cpu = "0"; });
  refuses("--cpu: ", [](ManifestOptions& options) { options.cpu = "m"; });
  refuses("--node-selector: ", [](ManifestOptions& options) { options.node_selectors = {"disk"}; });
  refuses("--node-selector: ", [](ManifestOptions& options) { options.node_selectors = {"disk=a b"}; });
  refuses("--node-selector: ", [](ManifestOptions& options) { options.node_selectors = {"disk=a", "disk=b"}; });
  refuses("--results-claim ", [](ManifestOptions& options) { options.results_claim = "evidence"; });
}

TEST(ManifestOptions, NoTextBreaksOutOfItsQuotes) {
  // Every character of ASCII in the middle of each value: what is accepted stays one value of the document.
  for (int c = 1; c < 128; ++c) {
    const std::string text = "a" + std::string(1, static_cast<char>(c)) + "b";
    ManifestOptions options = Options();
    const auto accepted = [&options](std::string ManifestOptions::* field, const std::string& value) {
      ManifestOptions changed = options;
      changed.*field = value;
      return CheckManifestOptions(changed).ok();
    };
    for (const auto field : {&ManifestOptions::storage_class, &ManifestOptions::image}) {
      if (!accepted(field, text)) continue;
      options.*field = text;
    }
    ManifestOptions selecting = options;
    selecting.node_selectors = {"k=" + text};
    if (CheckManifestOptions(selecting).ok()) options = selecting;
    const YAML::Node pod = PodOf(ObjectOf(options, "StatefulSet"));
    EXPECT_EQ(pod["containers"][0]["image"].as<std::string>(), options.image);
    EXPECT_EQ(ObjectOf(options, "PersistentVolumeClaim")["spec"]["storageClassName"].as<std::string>(),
              options.storage_class);
    if (options.node_selectors.empty()) continue;
    EXPECT_EQ(pod["nodeSelector"]["k"].as<std::string>(), text);
  }
}

TEST(ManifestOptions, UsualValuesAreAccepted) {
  ManifestOptions options = Options();
  options.storage_class = "ocs-storagecluster-cephfs.v2";
  options.name = std::string(52, 'a');
  options.image = "registry.example.com:5000/mq/plimsoll@sha256:0123456789abcdef";
  options.size = "512Mi";
  options.cpu = "500m";
  options.node_selectors = {"topology.kubernetes.io/region=eu-de", "cluster.ocs.openshift.io/openshift-storage="};
  EXPECT_EQ(CheckManifestOptions(options), absl::OkStatus());
}

}  // namespace
}  // namespace plimsoll
