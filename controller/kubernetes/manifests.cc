#include "controller/kubernetes/manifests.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/protocol.h"

namespace plimsoll {
namespace {

// Words in {braces} are replaced: lower-case ones by an option's value, which CheckManifestOptions found to be plain,
// upper-case ones by what depends on the options.

constexpr char kHead[] = R"(# Agents of plimsoll {version} on volumes of the StorageClass "{class}".
# `kubectl delete -f` of these manifests removes all of it, with the volumes that were made for it.
)";

// Secrets are made by hand: their keys belong in no manifest.
constexpr char kJobHead[] = R"(#
# The Job needs what is made beforehand by
#   plimsoll tls init certificates --hosts '{hosts}'
#   mkdir agents && cp certificates/ca.crt certificates/{name}-*.{name}.* agents
#   kubectl create secret generic {name}-agents{IN_NAMESPACE} --from-file=agents
#   kubectl create secret generic {name}-controller{IN_NAMESPACE} --from-file=certificates/ca.crt \
#     --from-file=certificates/controller.crt --from-file=certificates/controller.key
#   kubectl create configmap {name}-plan{IN_NAMESPACE} --from-file=accept.yaml
)";

constexpr char kSharedClaim[] = R"(---
# One volume, which all pods mount at once, as the instances of a multi-instance queue manager do.
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: "{name}"{NAMESPACE}
  labels:
    app: "{name}"
spec:
  storageClassName: "{class}"
  accessModes: [ReadWriteMany]
  resources:
    requests:
      storage: "{size}"
)";

constexpr char kService[] = R"(---
# Names for the pods: {name}-0.{name} and so on.
apiVersion: v1
kind: Service
metadata:
  name: "{name}"{NAMESPACE}
  labels:
    app: "{name}"
spec:
  clusterIP: None
  selector:
    app: "{name}"
{PORTS})";

constexpr char kPorts[] = R"(  publishNotReadyAddresses: true
  ports:
    - name: agent
      port: {port}
)";

constexpr char kStatefulSet[] = R"(---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: "{name}"{NAMESPACE}
  labels:
    app: "{name}"
spec:
  serviceName: "{name}"
  replicas: {replicas}
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      app: "{name}"
  template:
    metadata:
      labels:
        app: "{name}"
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Agents remove their files before they end; 30 s may be too short for that.
      terminationGracePeriodSeconds: 120
{POD_SECURITY}{NODE_SELECTOR}      affinity:
        podAntiAffinity:
          # One pod a node: pods of one node share its kernel, its cache and its connection to the storage.
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app: "{name}"
      topologySpreadConstraints:
        # Over zones as far as there are some.
        - topologyKey: topology.kubernetes.io/zone
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: "{name}"
      containers:
        - name: agent
          image: "{image}"
          imagePullPolicy: IfNotPresent
{AGENT}{RESOURCES}{CONTAINER_SECURITY}          volumeMounts:
            - name: data
              mountPath: /data
{AGENT_MOUNT}            - name: tmp
              mountPath: /tmp
      volumes:
{DATA_VOLUME}{AGENT_VOLUME}{TMP_VOLUME}{CLAIM_TEMPLATES})";

constexpr char kIdleAgent[] = R"(          command: [plimsoll-agent, --idle]
)";

constexpr char kListeningAgent[] = R"(          command:
            - plimsoll-agent
            - --root=/data
            - --listen=0.0.0.0:{port}
            - --tls-ca=/tls/ca.crt
            - --tls-cert=/tls/$(POD_NAME).{name}.crt
            - --tls-key=/tls/$(POD_NAME).{name}.key
          ports:
            - name: agent
              containerPort: {port}
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
)";

constexpr char kPodSecurity[] = R"(      securityContext:
        # No runAsUser: it is that of the image, or the one that OpenShift assigns.
        runAsNonRoot: true
{FS_GROUP}        seccompProfile:
          type: RuntimeDefault
)";

constexpr char kFsGroup[] = R"(        fsGroup: {fs_group}
        fsGroupChangePolicy: OnRootMismatch
)";

constexpr char kResources[] =
    R"(          # No limit for the CPU: where it is reached, the kernel suspends the agent for the rest of each 100 ms, and a write
          # that is under way then takes so much longer, as if it were the storage. The request is what a busy node leaves.
          resources:
            requests:
              cpu: "{cpu}"
              memory: "{memory}"
            limits:
              memory: "{memory}"
)";

constexpr char kContainerSecurity[] = R"(          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
)";

constexpr char kSharedVolume[] = R"(        - name: data
          persistentVolumeClaim:
            claimName: "{name}"
)";

constexpr char kTmpVolume[] = R"(        - name: tmp
          emptyDir:
            sizeLimit: 64Mi
)";

constexpr char kClaimTemplates[] = R"(  # A volume for each pod, which goes with the StatefulSet.
  persistentVolumeClaimRetentionPolicy:
    whenDeleted: Delete
    whenScaled: Delete
  volumeClaimTemplates:
    - apiVersion: v1
      kind: PersistentVolumeClaim
      metadata:
        name: data
        labels:
          app: "{name}"
      spec:
        storageClassName: "{class}"
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: "{size}"
)";

constexpr char kTlsMount[] = R"(            - name: tls
              mountPath: /tls
              readOnly: true
)";

// 288 is 0440: an agent refuses a key that every user of its host may read.
constexpr char kTlsVolume[] = R"(        - name: tls
          secret:
            secretName: "{name}-{SIDE}"
            defaultMode: 288 # 0440
)";

constexpr char kJob[] = R"(---
apiVersion: batch/v1
kind: Job
metadata:
  name: "{name}-accept"{NAMESPACE}
  labels:
    app: "{name}-accept"
spec:
  # Again only where agents could not be reached yet (exit code 4: nothing ran). Every other exit code is the result.
  backoffLimit: 6
  podFailurePolicy:
    rules:
      - action: FailJob
        onExitCodes:
          containerName: accept
          operator: NotIn
          values: [4]
  template:
    metadata:
      labels:
        app: "{name}-accept"
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 120
{POD_SECURITY}{NODE_SELECTOR}      containers:
        - name: accept
          image: "{image}"
          imagePullPolicy: IfNotPresent
          command:
            - plimsoll
            - accept
            - /plan/accept.yaml
            - --hosts={hosts}
            - --dir=/data
            - --tls-ca=/tls/ca.crt
            - --tls-cert=/tls/controller.crt
            - --tls-key=/tls/controller.key
            - --out=/results/$(POD_NAME)
            - --full
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
          workingDir: /results
{RESOURCES}{CONTAINER_SECURITY}          volumeMounts:
            - name: plan
              mountPath: /plan
              readOnly: true
            - name: tls
              mountPath: /tls
              readOnly: true
            - name: results
              mountPath: /results
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: plan
          configMap:
            name: "{name}-plan"
{TLS_VOLUME}{RESULTS_VOLUME}{TMP_VOLUME})";

constexpr char kResultsClaim[] = R"(        - name: results
          persistentVolumeClaim:
            claimName: "{results_claim}"
)";

// The log keeps the report, with its verdict.
constexpr char kResultsGo[] = R"(        - name: results
          emptyDir: {}
)";

using Replacements = std::vector<std::pair<std::string, std::string>>;

std::string NodeSelector(const ManifestOptions& options) {
  if (options.node_selectors.empty()) return "";
  std::string text = "      nodeSelector:\n";
  for (const std::string& selector : options.node_selectors) {
    const size_t equals = selector.find('=');
    absl::StrAppend(&text, "        \"", selector.substr(0, equals), "\": \"", selector.substr(equals + 1), "\"\n");
  }
  return text;
}

// The parts that are put together by upper-case words.
Replacements Parts(const ManifestOptions& options) {
  const auto if_given = [](bool given, const char* text) { return std::string(given ? text : ""); };
  return {
      {"{NAMESPACE}", if_given(!options.name_space.empty(), "\n  namespace: \"{name_space}\"")},
      {"{IN_NAMESPACE}", if_given(!options.name_space.empty(), " --namespace {name_space}")},
      {"{PORTS}", if_given(options.job, kPorts)},
      {"{POD_SECURITY}",
       absl::StrReplaceAll(kPodSecurity, {{"{FS_GROUP}", if_given(options.fs_group != 0, kFsGroup)}})},
      {"{NODE_SELECTOR}", NodeSelector(options)},
      {"{AGENT}", options.job ? kListeningAgent : kIdleAgent},
      {"{AGENT_MOUNT}", if_given(options.job, kTlsMount)},
      {"{AGENT_VOLUME}", options.job ? absl::StrReplaceAll(kTlsVolume, {{"{SIDE}", "agents"}}) : ""},
      {"{RESOURCES}", kResources},
      {"{CONTAINER_SECURITY}", kContainerSecurity},
      {"{DATA_VOLUME}", if_given(options.shared, kSharedVolume)},
      {"{TMP_VOLUME}", kTmpVolume},
      {"{CLAIM_TEMPLATES}", if_given(!options.shared, kClaimTemplates)},
      {"{TLS_VOLUME}", absl::StrReplaceAll(kTlsVolume, {{"{SIDE}", "controller"}})},
      {"{RESULTS_VOLUME}", options.results_claim.empty() ? kResultsGo : kResultsClaim},
  };
}

Replacements Values(const ManifestOptions& options) {
  const std::string& name = options.name;
  const std::string hosts = options.replicas == 1 ? absl::StrCat(name, "-0.", name)
                                                  : absl::StrCat(name, "-[0-", options.replicas - 1, "].", name);
  return {
      {"{version}", kVersion},
      {"{class}", options.storage_class},
      {"{name}", name},
      {"{name_space}", options.name_space},
      {"{image}", options.image},
      {"{size}", options.size},
      {"{cpu}", options.cpu},
      {"{memory}", options.memory},
      {"{replicas}", absl::StrCat(options.replicas)},
      {"{fs_group}", absl::StrCat(options.fs_group)},
      {"{results_claim}", options.results_claim},
      {"{port}", absl::StrCat(kDefaultPort)},
      {"{hosts}", hosts},
  };
}

}  // namespace

std::string Manifests(const ManifestOptions& options) {
  std::string text = kHead;
  if (options.job) text += kJobHead;
  if (options.shared) text += kSharedClaim;
  text += kService;
  text += kStatefulSet;
  if (options.job) text += kJob;
  return absl::StrReplaceAll(absl::StrReplaceAll(text, Parts(options)), Values(options));
}

}  // namespace plimsoll
