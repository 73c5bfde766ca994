#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/launch/client_launcher.h"
#include "controller/launch/command_host.h"
#include "controller/launch/kubernetes_pods.h"
#include "controller/launch/launcher.h"
#include "controller/plan/ha_plan.h"
#include "controller/plan/host_list.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

constexpr LaunchOption kKubectl = {"--kubectl", "COMMAND", "Kubernetes client with its options, such as oc", "kubectl"};
constexpr LaunchOption kContext = {"--context", "NAME", "Context of the kubeconfig (default: the current one)"};
constexpr LaunchOption kNamespace = {"--namespace", "NAME", "Namespace of the pods (default: the context's)"};
constexpr LaunchOption kSelector = {"--selector", "LABELS",
                                    "Labels of the pods to use if no --hosts name them, such as app=plimsoll-agent"};
constexpr LaunchOption kContainer = {"--container", "NAME",
                                     "Container with the agent (default: the pod's default one)"};
constexpr std::array kKubernetesOptions = {kKubectl, kContext, kNamespace, kSelector, kContainer, kAgentOption};

// For the API server to answer with the pods to use, and with what is only shown.
constexpr int64_t kListLimitNs = 60 * kNsPerSecond;
constexpr int64_t kNodesLimitNs = 10 * kNsPerSecond;
// Some 10 KiB a pod.
constexpr size_t kMostListBytes = 64 << 20;

// The client with what names cluster and namespace.
absl::StatusOr<std::vector<std::string>> KubectlWords(const LaunchOptions& options) {
  absl::StatusOr<std::vector<std::string>> words = SplitCommand(options.Value(kKubectl));
  if (!words.ok()) return WithContext("--kubectl", words.status());
  if (options.Given(kContext)) words->push_back(absl::StrCat("--context=", options.Value(kContext)));
  if (options.Given(kNamespace)) words->push_back(absl::StrCat("--namespace=", options.Value(kNamespace)));
  return words;
}

absl::Status CheckKubernetesOptions(const LaunchOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(KubectlWords(options).status());
  return CheckAgentOptions(options);
}

// What a program prints, until its end. UNAVAILABLE, with its last line: it fails, prints too much or takes longer than
// `limit_ns`.
absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& command, int64_t limit_ns) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<PipedProcess> process,
                            PipedProcess::Start(command, PipedProcess::Life::kEndsWithThread));
  process->CloseInput();
  const MonotonicNs limit = SystemClock::Read() + limit_ns;
  std::string output;
  std::string errors;
  std::array<char, 16 << 10> bytes{};
  while (process->output() >= 0 || process->errors() >= 0) {
    const int64_t left_ns = limit - SystemClock::Read();
    if (left_ns <= 0) {
      return absl::UnavailableError(absl::StrCat("no answer within ", FormatDuration(limit_ns)));
    }
    if (output.size() > kMostListBytes || errors.size() > kMostListBytes) {
      return absl::UnavailableError("it prints too much");
    }
    std::array<pollfd, 2> waits = {{{process->output(), POLLIN, 0}, {process->errors(), POLLIN, 0}}};
    if (poll(waits.data(), waits.size(), static_cast<int>(left_ns / kNsPerMs) + 1) <= 0) continue;
    for (size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents == 0) continue;
      const ssize_t got = read(waits[i].fd, bytes.data(), bytes.size());
      if (got > 0) {
        (i == 0 ? output : errors).append(bytes.data(), static_cast<size_t>(got));
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        i == 0 ? process->CloseOutput() : process->CloseErrors();
      }
    }
  }
  process->Wait();
  const std::string ended = HowItEnded(process->Poll().value_or(0));
  if (ended == "exit code 0") return output;
  const std::string last = LastLine(errors);
  return absl::UnavailableError(absl::StrCat("it ended with ", ended, last.empty() ? "" : ": ", last));
}

absl::StatusOr<std::vector<std::string>> FindPods(const LaunchOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckLaunchOptions(options));
  if (!options.Given(kSelector)) {
    return absl::InvalidArgumentError(
        "--launch kubernetes needs pods: name them with --hosts, or choose them with --selector");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> command, KubectlWords(options));
  command.insert(command.end(),
                 {"get", "pods", absl::StrCat("--selector=", options.Value(kSelector)), "--output=json"});
  const absl::StatusOr<std::string> json = OutputOf(command, kListLimitNs);
  if (!json.ok()) return WithContext(absl::StrCat("--kubectl ", options.Value(kKubectl)), json.status());
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> pods, RunningPods(*json));
  if (pods.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--selector ", options.Value(kSelector), ": no such pod is running",
                                                   options.Given(kNamespace)
                                                       ? absl::StrCat(" in namespace ", options.Value(kNamespace))
                                                       : "; it may be in another --namespace"));
  }
  for (std::string& pod : pods) pod = WithPort(pod);
  return pods;
}

// The nodes of pods, by the pods' names: those that have the labels of `selector`, which the user may list anyway, or
// these `pods` where it is empty. Empty if the user may not read them, or the API server does not answer.
std::map<std::string, std::string> FindNodes(std::vector<std::string> command, const std::string& selector,
                                             const std::vector<std::string>& pods) {
  command.insert(command.end(), {"get", "pods"});
  if (selector.empty()) {
    command.insert(command.end(), pods.begin(), pods.end());
  } else {
    command.push_back(absl::StrCat("--selector=", selector));
  }
  command.emplace_back("--output=json");
  const absl::StatusOr<std::string> json = OutputOf(command, kNodesLimitNs);
  return json.ok() ? NodesOfPods(*json) : std::map<std::string, std::string>();
}

absl::StatusOr<std::unique_ptr<Launcher>> MakeKubernetesLauncher(const LaunchOptions& options, const Clock& clock,
                                                                 const Launcher::Watch& watch) {
  HostCommand command;
  PLIMSOLL_ASSIGN_OR_RETURN(command.words, KubectlWords(options));
  const std::vector<std::string> kubectl = command.words;
  const std::string& program = kubectl.front();
  command.client = program.substr(program.rfind('/') + 1);
  command.way_out = "install kubectl, or pass another --kubectl";
  command.words.insert(command.words.end(), {"exec", "-i", kHostInCommand});
  if (options.Given(kContainer)) command.words.push_back(absl::StrCat("--container=", options.Value(kContainer)));
  command.words.emplace_back("--");
  ClientLauncher::Setup setup = CommandLaunch(std::move(command), "kubernetes", options, clock);
  setup.find_nodes = [kubectl, selector = options.Value(kSelector)](const std::vector<std::string>& pods) {
    return FindNodes(kubectl, selector, pods);
  };
  return ClientLauncher::Create(std::move(setup), clock, watch);
}

}  // namespace

const LauncherKind kKubernetesLauncher = {.name = "kubernetes",
                                          .help = "kubernetes (in pods, by kubectl exec)",
                                          .options = kKubernetesOptions,
                                          .needs_hosts = true,
                                          .encrypts = true,
                                          .recorded = v1::AGENT_LAUNCH_KUBERNETES,
                                          .check = CheckKubernetesOptions,
                                          .make = MakeKubernetesLauncher,
                                          .find_hosts = FindPods};

}  // namespace plimsoll
