#include "controller/xdisk/xdisk_plan.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_replace.h"
#include "common/units.h"
#include "controller/plan/plan_schema.h"

namespace plimsoll {
namespace {

v1::SyncMode SyncOf(const XdiskOptions& options) {
  if (options.uses_fsync()) return v1::SYNC_MODE_FSYNC;
  // O_SYNC includes what O_DSYNC does.
  if (options.HasFlag('S')) return v1::SYNC_MODE_SYNC;
  if (options.HasFlag('W')) return v1::SYNC_MODE_DSYNC;
  return v1::SYNC_MODE_NONE;
}

// Several hosts use the same files, and each host uses all of them. A host creates files of its own.
v1::FileShare ShareOf(const XdiskOptions& options) {
  return options.hosts.size() > 1 && !options.creates() ? v1::FILE_SHARE_ALL : v1::FILE_SHARE_OWN;
}

// The options of xdisk that set the fields of a plan, by their keys.
struct OptionOfKey {
  const char* key;
  const char* option;
};
constexpr OptionOfKey kOptionsOfKeys[] = {
    {"access", "-S or -R"},
    {"block_size", "-b"},
    {"duration", "-t"},
    {"read", "-r"},
    {"warmup", "-w"},
    {"workload.create", "-C"},
    {"workload.dir", "-f"},
    {"workload.direct", "-OD"},
    {"workload.file_size", "-C or -s"},
    {"workload.files", "-f"},
    {"workload.one_pass", "-S1 or -R1"},
    {"workload.overwrite", "--overwrite"},
    {"workload.pause", "-z"},
    {"workload.qm", "-M (and -A)"},
    {"workload.share", "-n"},
    {"workload.sync", "-O"},
};

// What messages call things that are not named by an option alone.
constexpr OptionOfKey kPhrases[] = {
    {"fewer than --file-size", "fewer than -s"},
    {"a larger file, or a smaller --file-size", "a larger file, or a smaller -s"},
    {"a smaller --file-size, or leave it out", "a smaller -s, or leave it out"},
    {"with --create, or use a smaller --file-size", "with -C, or use a smaller -s"},
    {"a smaller --file-size or fewer --files", "a smaller -C, or fewer files (-f)"},
    {"lower --files or --file-size", "lower -C, or use fewer files (-f)"},
    {"the number of --files", "the number of files (-f)"},
    {"--files-from", "-F"},
    {"(--qm (workload.qm)", "(-M, -A"},
    {"(--qm", "(-M, -A"},
    {" or --cpu-load", ""},
    {"--duration, --warmup, --repeat or the number of block sizes", "-t or -w"},
    // xdisk has no option for the limit of a pass.
    {"within --duration ", "within "},
    {"use a longer --duration", "use smaller files or larger blocks (-b)"},
    {"--direct off (workload.direct)", "leave -OD out"},
    {"use --direct auto or off", "leave -OD out"},
    {"--direct off", "leave -OD out"},
    {"--hosts (hosts.address)", "-n"},
    {"--hosts (hosts)", "-n"},
    {"--hosts", "-n"},
    {"is not a file that --create left by this agent", "was not created by -C of this agent"},
    // xdisk passes the option to the agents that it starts.
    {"start the agent with --allow-target ",
     "pass --allow-target; with --launch none, start the agent with --allow-target "},
    // These are options of `plimsoll run` alone.
    {" (--hang-limit)", ""},
    {" (--min-free)", ""},
    {" (--timeout)", ""},
};

std::vector<std::pair<std::string, std::string>> TranslatedWords() {
  std::vector<std::pair<std::string, std::string>> words;
  for (const OptionOfKey& phrase : kPhrases) words.emplace_back(phrase.key, phrase.option);
  for (const OptionOfKey& known : kOptionsOfKeys) {
    // "--read-percent (read)", and where a message does not name the key, "--read-percent".
    const std::string name = PlanKey(known.key).text;
    words.emplace_back(name, known.option);
    words.emplace_back(name.substr(0, name.find(' ')), known.option);
  }
  return words;
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
  // The longest of several words that begin at one place is replaced.
  static const std::vector<std::pair<std::string, std::string>> kWords = TranslatedWords();
  return absl::StrReplaceAll(message, kWords);
}

}  // namespace plimsoll
