#include "controller/cli/storage_command.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/tls/tls_flags.h"
#include "common/units.h"
#include "controller/cli/agent_list.h"
#include "controller/cli/asked_agents.h"
#include "controller/plan/host_list.h"
#include "controller/render/plain_text.h"
#include "controller/run/exit_code.h"
#include "controller/run/fleet.h"
#include "controller/storage/storage_text.h"

namespace plimsoll {
namespace {

// A directory on a server that does not answer makes its agent wait; the others are shown.

struct StorageFlags {
  AgentList agents;
  TlsPaths tls;
  std::string directory;
  // Busy queue managers write some hundred KiB at a time.
  std::string block_size = "128k";
};

int Fail(const Failure& failure, CommandLine& line) {
  for (const std::string& text : failure.lines) PrintError(line, text, failure.code);
  return static_cast<int>(failure.code);
}

int StorageMain(const StorageFlags& flags, CommandLine& line) {
  const absl::StatusOr<uint64_t> block_size_bytes = ParseSize(flags.block_size);
  if (!block_size_bytes.ok() || *block_size_bytes == 0) {
    return PrintError(line,
                      absl::StrCat("--bsize ", flags.block_size, ": a size such as 128k, the largest write of the log"),
                      Exit::kWrong);
  }
  const SystemClock clock;
  EventQueue events(clock);
  AskedAgents agents(clock, events);
  if (auto failure = agents.Connect(flags.agents, flags.tls, flags.directory, {"--keep-leftovers"});
      failure.has_value()) {
    return Fail(*failure, line);
  }
  Fleet& fleet = agents.fleet();
  fleet.DescribeAll(std::vector<std::vector<std::string>>(fleet.size(), {agents.directory()}), kAskTimeoutNs);
  LabelHosts(fleet.hosts());
  bool first = true;
  for (const auto& host : fleet.hosts()) {
    if (!host->description.ok()) continue;
    if (!first) line.out << '\n';
    first = false;
    line.out << SanitizeForTerminal(absl::StrCat(host->label, " (", host->address, ")")) << '\n';
    for (const std::string& text : TextOfStorage(host->description->directories(0), *block_size_bytes)) {
      line.out << text << '\n';
    }
  }
  line.out.flush();
  if (auto failure = agents.CheckAnswers(); failure.has_value()) return Fail(*failure, line);
  return static_cast<int>(Exit::kOk);
}

}  // namespace

void AddStorageCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<StorageFlags>();
  CLI::App* command =
      app.add_subcommand("storage", "Tell what lies under a directory, and what of it is wrong for a recovery log");
  command->add_option("DIR", flags->directory, "The directory, as the hosts see it")->required()->type_name("");
  command->add_option("--hosts", flags->agents.hosts, "Agents; none: this machine, by an agent started for it")
      ->type_name("LIST");
  command->add_option("--hosts-file", flags->agents.hosts_file, "File with agents, one or more a line, # for comments")
      ->type_name("FILE");
  command->add_option("--bsize", flags->block_size, "Largest write that the log will make")
      ->capture_default_str()
      ->type_name("SIZE");
  AddTlsFlags(*command, flags->tls);
  command->footer(
      "Nothing is written, and nothing but the directory's file system is looked at.\n"
      "Example:\n  plimsoll storage /mnt/mqlog --hosts node[1-4]");
  command->callback([flags, &line] { line.action = [flags, &line] { return StorageMain(*flags, line); }; });
}

}  // namespace plimsoll
