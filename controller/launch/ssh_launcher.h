// `--launch ssh`: agents on hosts that have nothing installed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/posix.h"
#include "controller/launch/agent_file.h"
#include "controller/launch/launcher.h"
#include "controller/launch/ssh_host.h"
#include "controller/run/process.h"

namespace plimsoll {

// An ssh client for each host, all at once. Each forwards a Unix socket in a private directory of this machine to the
// agent's own; no agent starts before all hosts have one. While the agents serve, a thread reads what the clients
// print, so that none ever blocks. A process of the launcher's own removes the directory, also where this one is
// killed; the kernel ends the clients then.
class SshLauncher final : public Launcher {
 public:
  // INVALID_ARGUMENT where --ssh-command or --launch-agent cannot be used; the system's error where the private
  // directory cannot be made. `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<Launcher>> Create(const LaunchOptions& options, const Clock& clock,
                                                          Watch watch);
  ~SshLauncher() override;
  SshLauncher(const SshLauncher&) = delete;
  SshLauncher& operator=(const SshLauncher&) = delete;

  std::vector<HostFailure> Launch(const std::vector<AgentPlace>& places,
                                  const std::vector<std::string>& arguments) override;
  std::vector<std::string> Names() const override;
  std::string Target(const std::string& name) const override;
  std::string Options() const override;
  std::vector<std::string> End(const std::set<std::string>& lost) override;

 private:
  SshLauncher(const LaunchOptions& options, const Clock& clock, Watch watch)
      : options_(options), clock_(clock), watch_(std::move(watch)) {}

  absl::Status PrepareDirectory();
  // Waits for what the hosts have, once: at most `timeout_ms`, or until `stop` is readable (-1: nothing is).
  void ServeOnce(int timeout_ms, int stop);
  // Serves the hosts until each is in one of the states, or the user has interrupted `interrupts` times.
  bool ServeUntil(const std::set<SshHost::State>& states, int interrupts);
  void Report(MonotonicNs begin);
  void StartReading();
  void StopReading();

  const LaunchOptions options_;
  const Clock& clock_;
  const Watch watch_;
  std::optional<AgentFile> agent_;
  SshSetup setup_;
  std::string directory_;
  std::unique_ptr<PipedProcess> remover_;
  std::vector<std::unique_ptr<SshHost>> hosts_;
  // Those that serve, by name.
  std::map<std::string, const SshHost*> serving_;
  // Between StartReading and StopReading the hosts are its own.
  std::thread reader_;
  UniqueFd stop_;
  MonotonicNs next_report_;
  // The last line of progress, and when it is shown again if nothing has changed.
  std::string reported_;
  MonotonicNs repeat_report_;
};

}  // namespace plimsoll
