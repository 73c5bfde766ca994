#include "controller/xdisk/xdisk_plan.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/units.h"

namespace plimsoll {
namespace {

v1::SyncMode SyncOf(const XdiskOptions& options) {
  if (options.uses_fsync()) return v1::SYNC_MODE_FSYNC;
  // O_SYNC includes what O_DSYNC does.
  if (options.HasFlag('S')) return v1::SYNC_MODE_SYNC;
  if (options.HasFlag('W')) return v1::SYNC_MODE_DSYNC;
  return v1::SYNC_MODE_NONE;
}

// Hosts have the same files, each takes all of them. What they create is each host's own.
v1::FileShare ShareOf(const XdiskOptions& options) {
  return options.hosts.size() > 1 && !options.creates() ? v1::FILE_SHARE_ALL : v1::FILE_SHARE_OWN;
}

}  // namespace

v1::TestPlan XdiskPlan(const XdiskOptions& options, const XdiskPermissions& permissions) {
  v1::TestPlan plan;
  plan.set_name("xdisk");
  for (const std::string& host : options.hosts) plan.add_hosts()->set_address(host);
  plan.add_block_size_bytes(options.block_size_bytes);
  plan.set_read_percent(options.read_percent);
  plan.set_access(options.random ? v1::ACCESS_RANDOM : v1::ACCESS_SEQUENTIAL);
  plan.set_warmup_ns(int64_t{options.warmup_s} * kNsPerSecond);
  // One pass takes as long as it takes; the plan's default is its limit.
  if (!options.one_pass) plan.set_duration_ns(int64_t{options.duration_s} * kNsPerSecond);
  v1::LogWorkload& workload = *plan.mutable_workload();
  for (const std::string& file : options.files) workload.add_files(file);
  workload.set_share(ShareOf(options));
  workload.set_qm(options.threads());
  workload.set_sync(SyncOf(options));
  workload.set_direct(options.HasFlag('D') ? v1::DIRECT_MODE_ON : v1::DIRECT_MODE_OFF);
  if (options.creates()) {
    workload.set_create(true);
    workload.set_file_size_bytes(options.create_bytes);
  } else if (options.size_bytes > 0) {
    workload.set_file_size_bytes(options.size_bytes);
  }
  if (options.one_pass) workload.set_one_pass(true);
  if (permissions.overwrite) workload.set_overwrite(true);
  if (options.snooze_percent > 0) workload.set_pause_percent(options.snooze_percent);
  return plan;
}

std::vector<std::string> XdiskAgentArguments(const XdiskOptions& options, const XdiskPermissions& permissions) {
  if (options.hosts.empty()) return {};
  std::vector<std::string> arguments = {"--allow-kept"};
  if (!permissions.allow_target) return arguments;
  for (const std::string& file : options.files) {
    arguments.emplace_back("--allow-target");
    arguments.push_back(file);
  }
  return arguments;
}

std::string InXdiskWords(const std::string& message) {
  return absl::StrReplaceAll(message,
                             {{"fewer than --file-size", "fewer than -s"},
                              {"a larger file, or a smaller --file-size", "a larger file, or a smaller -s"},
                              {"a smaller --file-size, or leave it out", "a smaller -s, or leave it out"},
                              {"with --create, or use a smaller --file-size", "with -C, or use a smaller -s"},
                              {"a smaller --file-size or fewer --files", "a smaller -C, or fewer files (-f)"},
                              {"--file-size (workload.file_size)", "-C or -s"},
                              {"--file-size", "-C or -s"},
                              {"--files-from", "-F"},
                              {"--files (workload.files)", "-f"},
                              {"--files", "-f"},
                              {"--bsize (block_size)", "-b"},
                              {"--bsize", "-b"},
                              {" (block_size)", ""},
                              {"(--qm (workload.qm)", "(-M, -A"},
                              {"(--qm", "(-M, -A"},
                              {"--qm (workload.qm)", "-M (and -A)"},
                              {"--qm", "-M (and -A)"},
                              {"--duration (duration)", "-t"},
                              {"--duration", "-t"},
                              {"--warmup (warmup)", "-w"},
                              {"--warmup", "-w"},
                              {"--read-percent (read_percent)", "-r"},
                              {"--read-percent", "-r"},
                              {"--access (access)", "-S or -R"},
                              {"--access", "-S or -R"},
                              {"--create (workload.create)", "-C"},
                              {"--create", "-C"},
                              {"--one-pass (workload.one_pass)", "-S1 or -R1"},
                              {"--one-pass", "-S1 or -R1"},
                              {"--overwrite (workload.overwrite)", "--overwrite"},
                              {"--pause-percent (workload.pause_percent)", "-z"},
                              {"--pause-percent", "-z"},
                              {"--share (workload.share)", "-n"},
                              {"--share", "-n"},
                              {"--direct (workload.direct)", "-OD"},
                              {"--direct off (workload.direct)", "leave -OD out"},
                              {"--direct off", "leave -OD out"},
                              {"use --direct auto or off", "leave -OD out"},
                              {"--direct", "-OD"},
                              {"--sync (workload.sync)", "-O"},
                              {"--sync", "-O"},
                              {"--hosts (hosts)", "-n"},
                              {"--hosts", "-n"},
                              {"--dir (workload.dir)", "-f"},
                              {"is not a file that --create left by this agent", "was not created by -C of this agent"},
                              // xdisk passes the option to the agents that it starts.
                              {"start the agent with --allow-target ",
                               "pass --allow-target; with --launch none, start the agent with --allow-target "},
                              {" (--min-free)", ""},
                              {" (--timeout)", ""}});
}

}  // namespace plimsoll
