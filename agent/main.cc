// plimsoll-agent: writes on one host what a controller asks for.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/host/describe.h"
#include "agent/host/sandbox.h"
#include "agent/log/log_work.h"
#include "agent/session/agent_service.h"
#include "agent/work/clean_work.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "common/units.h"
#include "common/version.h"

namespace plimsoll {
namespace {

// Exit codes of plimsoll-agent.
constexpr int kExitOk = 0;
constexpr int kExitWrongInput = 2;
constexpr int kExitCannotRun = 4;

struct AgentFlags {
  std::vector<std::string> roots;
  std::string listen = absl::StrCat("127.0.0.1:", kDefaultPort);
  std::string name;
  std::string log_level = "info";
  std::string max_bytes;
  uint32_t max_writers = 0;
  std::string max_duration;
  bool keep_leftovers = false;
  bool insecure = false;
  bool child = false;
};

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "host";
  return name.data();
}

std::string RandomId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

bool IsLocal(const std::string& listen) {
  return absl::StartsWith(listen, "unix:") || absl::StartsWith(listen, "127.") ||
         absl::StartsWith(listen, "localhost:") || absl::StartsWith(listen, "[::1]:");
}

// Waits for SIGTERM or SIGINT; for a child also for the end of its standard input, which is its controller's end.
// Returns true for a signal.
bool WaitForEnd(int signal_fd, bool child) {
  std::array<pollfd, 2> waits = {{{signal_fd, POLLIN, 0}, {child ? STDIN_FILENO : -1, POLLIN, 0}}};
  while (true) {
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[0].revents != 0) return true;
    if ((waits[1].revents & (POLLHUP | POLLERR)) != 0) return false;
    if ((waits[1].revents & POLLIN) != 0) {
      std::array<char, 64> ignored{};
      if (read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) return false;
    }
  }
}

// A child's socket stands in a directory that its controller made for it; a controller that was killed cannot remove
// it.
void RemoveSocket(const std::string& listen) {
  if (!absl::StartsWith(listen, "unix:")) return;
  const std::string path = listen.substr(5);
  unlink(path.c_str());
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) rmdir(path.substr(0, slash).c_str());
}

// The caps of --max-bytes, --max-writers and --max-duration.
absl::StatusOr<v1::AgentLimits> Limits(const AgentFlags& flags) {
  v1::AgentLimits limits;
  limits.set_max_writers(flags.max_writers);
  if (!flags.max_bytes.empty()) {
    const auto bytes = ParseSize(flags.max_bytes);
    if (!bytes.ok())
      return absl::InvalidArgumentError(absl::StrCat("--max-bytes: ", std::string(bytes.status().message())));
    if (*bytes == 0) return absl::InvalidArgumentError("--max-bytes must be above 0; leave it out for no cap");
    limits.set_max_bytes(*bytes);
  }
  if (!flags.max_duration.empty()) {
    const auto duration_ns = ParseDuration(flags.max_duration);
    if (!duration_ns.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--max-duration: ", std::string(duration_ns.status().message())));
    }
    if (*duration_ns <= 0) return absl::InvalidArgumentError("--max-duration must be above 0; leave it out for no cap");
    limits.set_max_duration_ns(*duration_ns);
  }
  return limits;
}

int Serve(const AgentFlags& flags, const v1::AgentLimits& limits) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // Before any thread is made, so that all inherit it.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const UniqueFd signal_fd(signalfd(-1, &signals, SFD_CLOEXEC));

  const std::string name = flags.name.empty() ? HostName() : flags.name;
  auto sandbox = Sandbox::Create(flags.roots, MakeAgentId(name, flags.roots));
  if (!sandbox.ok()) {
    spdlog::error("{}", std::string(sandbox.status().message()));
    return kExitWrongInput;
  }
  if (!flags.keep_leftovers) {
    for (const std::string& path : (*sandbox)->RemoveLeftovers())
      spdlog::warn("removed what an earlier agent left: {}", path);
  }

  const SystemClock clock;
  const std::string instance_id = RandomId();
  AgentService::Options options;
  options.clock = &clock;
  options.describe = [&](const v1::DescribeRequest& request) {
    return DescribeHost(name, instance_id, **sandbox, request);
  };
  options.limits = limits;
  options.make_work = [&](const v1::HostPlan& plan, const std::atomic<int64_t>& deadline_ns,
                          WorkSink& sink) -> absl::StatusOr<std::unique_ptr<Work>> {
    if (plan.has_clean()) return CleanWork::Create(plan, **sandbox, deadline_ns);
    return LogWork::Create(plan, **sandbox, deadline_ns, sink);
  };
  if (!IsLocal(flags.listen)) {
    options.insecure_warning = "this session is not encrypted and its controller not authenticated (--insecure)";
  }
  AgentService service(std::move(options));

  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(flags.listen, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(1 << 20);
  // A second agent on the same port must fail, not share it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A socket file is for its owner alone.
  const mode_t mask = umask(0177);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  umask(mask);
  if (server == nullptr || (port == 0 && !absl::StartsWith(flags.listen, "unix:"))) {
    spdlog::error("cannot listen on {}: is another agent there, or is the address not this host's? (--listen)",
                  flags.listen);
    return kExitCannotRun;
  }
  std::string where = flags.listen;
  if (const size_t colon = where.rfind(':'); !absl::StartsWith(where, "unix:") && colon != std::string::npos) {
    where = absl::StrCat(where.substr(0, colon), ":", port);
  }
  spdlog::info("plimsoll-agent {} '{}' listens on {}", kVersion, name, where);
  if (flags.child) {
    // The controller waits for this line, or for the end of the pipe.
    std::fputs("listening\n", stdout);
    std::fflush(stdout);
    std::freopen("/dev/null", "w", stdout);
  }

  if (WaitForEnd(signal_fd.get(), flags.child)) {
    service.Shutdown("the agent was told to end");
  }
  // A child whose controller went lets the session end by its lease.
  service.WaitForSession();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  if (flags.child) RemoveSocket(flags.listen);
  spdlog::info("plimsoll-agent '{}' ends", name);
  return kExitOk;
}

int Main(int argc, char** argv) {
  CLI::App app("plimsoll-agent writes on this host what a plimsoll controller asks for.", "plimsoll-agent");
  app.footer("Example:\n  plimsoll-agent --root /mnt/mqlog --listen 127.0.0.1:7461");
  AgentFlags flags;
  app.set_version_flag("--version", absl::StrCat("plimsoll-agent ", kVersion));
  app.add_option("--root", flags.roots, "Directory below which the agent may write; may be given several times")
      ->required()
      ->type_name("DIR");
  app.add_option("--listen", flags.listen, "Address to listen on: HOST:PORT, [V6]:PORT or unix:PATH")
      ->capture_default_str()
      ->type_name("ADDRESS");
  app.add_option("--name", flags.name, "This host's name in reports (default: the host name)")->type_name("NAME");
  app.add_option("--max-bytes", flags.max_bytes, "Refuse plans with more bytes of extents (default: no cap)")
      ->type_name("SIZE");
  app.add_option("--max-writers", flags.max_writers,
                 "Refuse plans with more writers and busy threads together (default: no cap)")
      ->check(CLI::Range(1U, 100'000U))
      ->type_name("N");
  app.add_option("--max-duration", flags.max_duration,
                 "Refuse plans whose steps take longer, and stop there (default: no cap)")
      ->type_name("TIME");
  app.add_flag("--keep-leftovers", flags.keep_leftovers,
               "Do not remove at the start what an earlier agent of this name and these roots left");
  app.add_flag("--insecure", flags.insecure,
               "Allow an address other than loopback: anyone who reaches it can write below the roots");
  app.add_option("--log-level", flags.log_level, "debug, info, warn or error")
      ->capture_default_str()
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  app.add_flag("--child", flags.child, "End with the process at standard input, after the session")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "plimsoll-agent: %s\n", error.what());
    return kExitWrongInput;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("agent"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
  if (!IsLocal(flags.listen) && !flags.insecure) {
    std::fprintf(
        stderr,
        "plimsoll-agent: --listen %s: anyone who reaches this address could write below the roots; listen on loopback "
        "or unix:PATH, or spell out --insecure\n",
        flags.listen.c_str());
    return kExitWrongInput;
  }
  const absl::StatusOr<v1::AgentLimits> limits = Limits(flags);
  if (!limits.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s\n", std::string(limits.status().message()).c_str());
    return kExitWrongInput;
  }
  return Serve(flags, *limits);
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return plimsoll::Main(argc, argv);
}
