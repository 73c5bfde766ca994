// plimsoll-agent: writes on one host what a controller asks for.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/fsck/fsck_process.h"
#include "agent/fsck/fsck_work.h"
#include "agent/ha/ha_work.h"
#include "agent/ha/instance.h"
#include "agent/host/describe.h"
#include "agent/host/sandbox.h"
#include "agent/host/storage_stack.h"
#include "agent/host/target_files.h"
#include "agent/idle.h"
#include "agent/restart/restart_work.h"
#include "agent/server/agent_server.h"
#include "agent/server/stdio_channel.h"
#include "agent/service/agent_service.h"
#include "agent/watch/watch_work.h"
#include "agent/work/work.h"
#include "agent/writer/log_work.h"
#include "common/clock.h"
#include "common/command_line/command_line.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/this_program.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Exit codes of plimsoll-agent.
constexpr int kExitOk = 0;
constexpr int kExitWrongInput = 2;
constexpr int kExitNoSession = 3;  // with --exit-with-stdin and --stdio: none came in time
constexpr int kExitCannotRun = 4;

constexpr char kKeepLeftovers[] = "--keep-leftovers";
constexpr char kExitWithStdin[] = "--exit-with-stdin";
constexpr char kStdio[] = "--stdio";
constexpr char kSessionWait[] = "--session-wait";
constexpr char kUnixScheme[] = "unix:";
constexpr char kIdleOption[] = "--idle";
// For the last bytes to a controller that may be out of reach.
constexpr int64_t kFinishLimitNs = 2 * kNsPerSecond;

struct AgentFlags {
  std::vector<std::string> roots;
  ServerOptions server = {absl::StrCat("127.0.0.1:", kDefaultPort), false, {}, {}};
  std::string name;
  std::string log_level = "info";
  std::string max_bytes;
  uint32_t max_writers = 0;
  std::string max_duration;
  uint64_t max_files = 0;
  bool keep_leftovers = false;
  FilePermissions files;
  bool allow_watch = false;
  bool allow_drop_caches = false;
  bool child = false;
  bool exit_with_stdin = false;
  std::string session_wait = "60s";
  int64_t session_wait_ns = 0;
  std::string stop_wait = "10s";
  int64_t stop_wait_ns = 0;
  std::vector<std::string> cleanup_command;

  // The program that started the agent holds it by its standard input.
  bool held() const { return exit_with_stdin || server.stdio; }
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

// The unit, where systemd started this very process.
std::string SystemdUnit() {
  const char* started = std::getenv("SYSTEMD_EXEC_PID");
  if (started == nullptr || std::to_string(getpid()) != started) return "";
  const std::string group = ReadTextLine("/proc/self/cgroup");
  const std::string unit = group.substr(group.rfind('/') + 1);
  return absl::EndsWith(unit, ".service") ? unit : "";
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

// HostDescription.cleanup_command: what starts an agent that removes what this one leaves.
std::vector<std::string> CleanupCommand(const AgentFlags& flags) {
  if (std::string unit = SystemdUnit(); !unit.empty()) return {"systemctl", "start", std::move(unit)};
  std::error_code error;
  std::vector<std::string> command = {std::filesystem::read_symlink("/proc/self/exe", error).string(), "--name",
                                      flags.name.empty() ? HostName() : flags.name};
  for (const std::string& root : flags.roots) command.insert(command.end(), {"--root", AbsolutePath(root)});
  return command;
}

enum class End { kSignal, kStdin, kIdle };

// Waits for SIGTERM or SIGINT; for a child also for the end of its standard input, which is its controller's end; with
// --exit-with-stdin, too, for a line there, or until no session has come for --session-wait. With --stdio,
// `channel_end` becomes readable at the controller's end; otherwise it is -1.
End WaitForEnd(int signal_fd, int channel_end, const AgentFlags& flags, AgentService& service) {
  const bool watched = flags.child || flags.exit_with_stdin;
  std::array<pollfd, 3> waits = {
      {{signal_fd, POLLIN, 0}, {watched ? STDIN_FILENO : -1, POLLIN, 0}, {channel_end, POLLIN, 0}}};
  while (true) {
    int timeout_ms = -1;
    if (flags.held()) {
      const int64_t left_ns = service.CloseWhenIdle(flags.session_wait_ns);
      if (left_ns <= 0) return End::kIdle;
      timeout_ms = static_cast<int>(std::min<int64_t>(left_ns / kNsPerMs + 1, std::numeric_limits<int>::max()));
    }
    if (poll(waits.data(), waits.size(), timeout_ms) <= 0) continue;
    if (waits[0].revents != 0) return End::kSignal;
    if (waits[2].revents != 0) return End::kStdin;
    if ((waits[1].revents & POLLIN) != 0) {
      std::array<char, 64> line{};
      if (read(STDIN_FILENO, line.data(), line.size()) <= 0 || flags.exit_with_stdin) return End::kStdin;
    } else if (waits[1].revents != 0) {
      return End::kStdin;
    }
  }
}

// A child's socket is in a directory that its controller made for it; a controller that was killed cannot remove
// it.
void RemoveSocket(const std::string& listen) {
  if (!absl::StartsWith(listen, kUnixScheme)) return;
  const std::string path = listen.substr(5);
  unlink(path.c_str());
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) rmdir(path.substr(0, slash).c_str());
}

// The text of a line of the log: one line, whatever is in it.
class SanitizedMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& destination) override {
    const std::string text = SanitizeForTerminal({message.payload.data(), message.payload.size()});
    destination.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<SanitizedMessage>(); }
};

// The caps of --max-bytes, --max-writers and --max-duration.
absl::StatusOr<v1::AgentLimits> Limits(const AgentFlags& flags) {
  v1::AgentLimits limits;
  limits.set_max_writers(flags.max_writers);
  limits.set_max_files(flags.max_files);
  if (!flags.max_bytes.empty()) {
    const auto bytes = ParseSize(flags.max_bytes);
    if (!bytes.ok()) return WithContext("--max-bytes", bytes.status());
    if (*bytes == 0) return absl::InvalidArgumentError("--max-bytes must be above 0; leave it out for no cap");
    limits.set_max_bytes(*bytes);
  }
  if (!flags.max_duration.empty()) {
    const auto duration_ns = ParseDuration(flags.max_duration);
    if (!duration_ns.ok()) return WithContext("--max-duration", duration_ns.status());
    if (*duration_ns <= 0) return absl::InvalidArgumentError("--max-duration must be above 0; leave it out for no cap");
    limits.set_max_duration_ns(*duration_ns);
  }
  return limits;
}

// Ends the process although threads hang in the kernel. Those keep its sockets open as long as they hang, so that the
// address is given back here; the calls that they serve never end.
[[noreturn]] void LeaveHanging(AgentServer& server) {
  server.StopListening();
  spdlog::default_logger()->flush();
  _exit(kExitCannotRun);
}

// `channel`: null without --stdio.
int Serve(const AgentFlags& flags, const ServerSetup& setup, const v1::AgentLimits& limits, StdioChannel* channel) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // Before any thread is made, so that all inherit it.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const UniqueFd signal_fd(signalfd(-1, &signals, SFD_CLOEXEC));

  const std::string name = flags.name.empty() ? HostName() : flags.name;
  // By root: an agent that a controller starts has the directories of its run, and one that cleans up after it may have
  // one of them.
  std::vector<std::string> root_ids;
  for (const std::string& root : flags.roots) root_ids.push_back(MakeAgentId(name, {root}));
  auto sandbox = Sandbox::Create(flags.roots, MakeAgentId(name, flags.roots), root_ids);
  if (!sandbox.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s\n", SanitizeForTerminal(std::string(sandbox.status().message())).c_str());
    return kExitWrongInput;
  }
  const auto files = TargetFiles::Create(**sandbox, flags.files);
  if (!files.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s\n", SanitizeForTerminal(std::string(files.status().message())).c_str());
    return kExitWrongInput;
  }
  if (!flags.keep_leftovers) {
    for (const std::string& path : (*sandbox)->RemoveLeftovers())
      spdlog::warn("removed leftovers of a previous agent: {}", path);
  }

  // Read now, so that no session waits for it.
  ThisProgramSha256();
  const SystemClock clock;
  const std::string instance_id = RandomId();
  AgentService::Options options;
  options.clock = &clock;
  options.describe = [&](const v1::DescribeRequest& request, const std::function<bool()>& cancelled) {
    v1::HostDescription host = DescribeHost(name, instance_id, **sandbox, **files, request, cancelled);
    host.mutable_cleanup_command()->Assign(flags.cleanup_command.begin(), flags.cleanup_command.end());
    return host;
  };
  options.limits = limits;
  options.work = {{v1::HostPlan::kLog, LogWork::Kind(**sandbox, **files)},
                  {v1::HostPlan::kClean, CleanWork::Kind(**sandbox)},
                  {v1::HostPlan::kCheck, FsckWork::Kind(**sandbox)},
                  {v1::HostPlan::kHa, HaWork::Kind(**sandbox, "/proc/self/exe")},
                  {v1::HostPlan::kWatch, WatchWork::Kind(flags.allow_watch)},
                  {v1::HostPlan::kRestart, RestartWork::Kind(**sandbox, flags.allow_drop_caches)}};
  if (setup.exposed()) {
    options.insecure_warning = "this session is not encrypted and its controller not authenticated (--insecure)";
  }
  AgentService service(std::move(options));

  absl::StatusOr<std::unique_ptr<AgentServer>> server = AgentServer::Start(setup, service, clock);
  if (!server.ok()) {
    spdlog::error("{}", std::string(server.status().message()));
    return kExitCannotRun;
  }
  spdlog::info("plimsoll-agent {} '{}' listens on {}", kVersion, name, (*server)->address());
  if (flags.child || flags.exit_with_stdin) {
    // The controller waits for this line, or for the end of the pipe.
    std::fputs("listening\n", stdout);
    std::fflush(stdout);
    std::freopen("/dev/null", "w", stdout);
  }

  if (channel != nullptr)
    channel->Serve([raw = server->get()](UniqueFd socket) { raw->TakeConnection(std::move(socket)); });

  const End end = WaitForEnd(signal_fd.get(), channel == nullptr ? -1 : channel->ended(), flags, service);
  if (channel != nullptr && end == End::kStdin && !channel->error().empty()) spdlog::error("{}", channel->error());
  if (end != End::kStdin || flags.held()) {
    int64_t patience_ns = flags.stop_wait_ns;
    if (end == End::kStdin) {
      // An instance of a drill is idle when its lease has ended it.
      patience_ns += service.LeaseNs();
      service.Abandon("the controller is gone");
    } else {
      service.Shutdown(end == End::kSignal ? "the agent was stopped" : "no session came");
    }
    if (const std::string hangs = service.WaitForEnd(patience_ns); !hangs.empty()) {
      spdlog::error(
          "ends although {} (--stop-wait {}); an agent with the same name and roots removes its files when it starts",
          hangs, flags.stop_wait);
      LeaveHanging(**server);
    }
  }
  // A child whose controller went lets the session end by its lease.
  service.WaitForSession();
  if (channel != nullptr) channel->StopTaking();
  server->reset();
  // What the sessions sent last goes before the last frame.
  if (channel != nullptr) channel->Finish(kFinishLimitNs);
  if (flags.child) RemoveSocket(flags.server.listen);
  spdlog::info("plimsoll-agent '{}' ends", name);
  if (channel != nullptr && end == End::kStdin && !channel->error().empty()) return kExitCannotRun;
  return end == End::kIdle ? kExitNoSession : kExitOk;
}

int Main(int argc, char** argv) {
  CLI::App app("Writes log files on this host on behalf of a plimsoll controller.", "plimsoll-agent");
  WrapHelp(app);
  app.footer("Example:\n  plimsoll-agent --root /mnt/mqlog --listen 127.0.0.1:7461");
  AgentFlags flags;
  app.set_version_flag("--version", absl::StrCat("plimsoll-agent ", kVersion));
  CLI::Option* root =
      app.add_option("--root", flags.roots, "Directory below which the agent may write; repeat for several")
          ->required()
          ->type_name("DIR");
  app.add_option("--listen", flags.server.listen, "Address to listen on: HOST:PORT, [V6]:PORT or unix:PATH")
      ->capture_default_str()
      ->type_name("ADDRESS");
  app.add_option("--name", flags.name, "This host's name in reports (default: the host name)")->type_name("NAME");
  app.add_option("--max-bytes", flags.max_bytes, "Refuse plans with more bytes of extents (default: no cap)")
      ->type_name("SIZE");
  app.add_option("--max-files", flags.max_files, "Refuse plans with more extents (default: no cap)")
      ->check(NumberFrom(uint64_t{1}, uint64_t{1'000'000'000}))
      ->type_name("N");
  app.add_option("--max-writers", flags.max_writers,
                 "Refuse plans with more writers and --cpu-load threads in total (default: no cap)")
      ->check(NumberFrom(1U, 100'000U))
      ->type_name("N");
  app.add_option("--max-duration", flags.max_duration,
                 "Refuse plans whose steps take longer in total, and stop a run at that limit (default: no cap)")
      ->type_name("TIME");
  app.add_flag(kKeepLeftovers, flags.keep_leftovers,
               "Keep the leftovers of a previous agent with this name and these roots");
  app.add_flag("--allow-kept", flags.files.kept,
               "Allow plans to make files below the roots that stay (--create), and to use those again");
  app.add_option("--allow-target", flags.files.targets,
                 "Allow plans to read this file, block device, or what is in this directory, and with --overwrite to "
                 "write there; repeat for several")
      ->type_size(1)
      ->expected(1)
      ->take_all()
      ->type_name("PATH");
  app.add_flag("--allow-watch", flags.allow_watch, "Allow plans to watch processes of this host; reads only");
  app.add_flag("--allow-drop-caches", flags.allow_drop_caches,
               "Allow plans to drop the page cache of this host (--drop-caches); needs root");
  AddTlsFlags(app, flags.server.tls);
  app.add_option("--allow", flags.server.allow,
                 "Certificate name of a controller that may use this agent; repeat for several (default: any "
                 "certificate of the CA)")
      ->type_size(1)
      ->expected(1)
      ->take_all()
      ->type_name("NAME")
      ->group("TLS");
  app.add_flag("--insecure", flags.server.insecure,
               "Allow a non-loopback address without TLS: anyone who reaches it can write below the roots");
  app.add_option("--log-level", flags.log_level, "debug, info, warn or error")
      ->capture_default_str()
      ->check(OneOf({"debug", "info", "warn", "error"}));
  app.add_option("--stop-wait", flags.stop_wait, "On SIGTERM, time to wait for a storage call that does not return")
      ->capture_default_str()
      ->type_name("TIME");
  app.add_flag(kExitWithStdin, flags.exit_with_stdin,
               "Print 'listening' on standard output; clean up and exit at the end of standard input or at a line on "
               "it (for agents that a script starts)");
  app.add_flag(
      kStdio, flags.server.stdio,
      "Serve the program that started this agent over standard input and output instead of listening; clean up "
      "and exit at the end of standard input (for agents started by plimsoll --launch)");
  app.add_option(kSessionWait, flags.session_wait,
                 "With --exit-with-stdin or --stdio: also exit after this long without a session")
      ->capture_default_str()
      ->type_name("TIME");
  bool idle = false;
  app.add_flag(
      kIdleOption, idle,
      "Write nothing and listen nowhere: wait for SIGTERM, as the first process of a container in which agents "
      "are started later; alone");
  app.add_flag("--child", flags.child, "End with the process at standard input, after the session")->group("");
  // Not an option for users: how the build makes manual pages and completion.
  if (argc == 3 && std::string(argv[1]) == kManualOption) {
    const absl::Status written = WriteManual(app, argv[2]);
    if (!written.ok()) std::fprintf(stderr, "plimsoll-agent: %s\n", std::string(written.message()).c_str());
    return written.ok() ? kExitOk : kExitCannotRun;
  }
  const absl::StatusOr<std::vector<std::string>> words = PrepareWords(app, {argv + 1, argv + argc});
  if (!words.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s\n", SanitizeForTerminal(std::string(words.status().message())).c_str());
    return kExitWrongInput;
  }
  if (std::find(words->begin(), words->end(), kIdleOption) != words->end()) root->required(false);
  try {
    // The parser takes its arguments from the back.
    app.parse(std::vector<std::string>(words->rbegin(), words->rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "plimsoll-agent: %s\n", SanitizeForTerminal(CommandLineError(app, error)).c_str());
    return kExitWrongInput;
  }
  if (idle) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() == 0 || option->get_name() == kIdleOption) continue;
      std::fprintf(stderr, "plimsoll-agent: --idle goes alone: drop %s\n", option->get_name().c_str());
      return kExitWrongInput;
    }
    return RunIdle();
  }
  for (const auto& [option, text, length_ns] : {std::tuple("--stop-wait", &flags.stop_wait, &flags.stop_wait_ns),
                                                {kSessionWait, &flags.session_wait, &flags.session_wait_ns}}) {
    const absl::StatusOr<int64_t> read_ns = ParseDuration(*text);
    if (!read_ns.ok()) {
      std::fprintf(stderr, "plimsoll-agent: %s: %s\n", option, std::string(read_ns.status().message()).c_str());
      return kExitWrongInput;
    }
    *length_ns = *read_ns;
  }
  // As --dir of a run, one may be named from here.
  for (std::vector<std::string>* paths : {&flags.roots, &flags.files.targets}) {
    for (std::string& path : *paths) {
      std::error_code error;
      if (!path.empty() && path[0] != '/') path = (std::filesystem::current_path(error) / path).string();
    }
  }
  flags.cleanup_command = CleanupCommand(flags);
  spdlog::set_default_logger(spdlog::stderr_logger_mt("agent"));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<SanitizedMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %*");
  spdlog::set_formatter(std::move(formatter));
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
  std::unique_ptr<StdioChannel> channel;
  if (flags.server.stdio) {
    if (app.get_option("--listen")->count() > 0 || flags.child || flags.exit_with_stdin) {
      std::fprintf(stderr, "plimsoll-agent: %s: leave out --listen and %s\n", kStdio, kExitWithStdin);
      return kExitWrongInput;
    }
    absl::StatusOr<std::unique_ptr<StdioChannel>> taken = StdioChannel::Take();
    if (!taken.ok()) {
      std::fprintf(stderr, "plimsoll-agent: %s\n", std::string(taken.status().message()).c_str());
      return kExitWrongInput;
    }
    channel = *std::move(taken);
  }
  const absl::StatusOr<ServerSetup> setup = PrepareServer(flags.server);
  if (!setup.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s\n", std::string(setup.status().message()).c_str());
    return setup.status().code() == absl::StatusCode::kUnavailable ? kExitCannotRun : kExitWrongInput;
  }
  const absl::StatusOr<v1::AgentLimits> limits = Limits(flags);
  if (!limits.ok()) {
    std::fprintf(stderr, "plimsoll-agent: %s\n", std::string(limits.status().message()).c_str());
    return kExitWrongInput;
  }
  return Serve(flags, *setup, *limits, channel.get());
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  // Not an option of the agent: how it starts itself for a check.
  if (argc == 3 && std::string(argv[1]) == plimsoll::kFsckProcessOption) {
    return plimsoll::RunFsckProcess(std::atoi(argv[2]));
  }
  // Started by an agent, as an instance of a drill.
  if (argc == 2 && std::string(argv[1]) == plimsoll::kInstanceOption) return plimsoll::RunInstanceProcess();
  return plimsoll::Main(argc, argv);
}
