// The configuration of a run: one list for the text report and the page.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"
#include "controller/report/playback.h"
#include "controller/report/run_kind.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

constexpr char kDiffers[] = "differs between hosts; see Hosts";

// What is mounted below a directory, in a few words.
std::string MountText(const v1::MountReport& mount) {
  if (mount.fs_type().empty()) return "";
  const std::string& source = mount.remote().empty() ? mount.fs_source() : mount.remote();
  return absl::StrCat(mount.fs_type(), source.empty() ? "" : " from ", source,
                      mount.mount_options().empty() ? "" : ", ", SharedMountOptions(mount.mount_options()));
}

// Where a host's queue managers have directories of their own, what is true of all of these, or what is true of each:
// "/mnt/qm1: ext4 from /dev/sdb1".
template <typename Get>
std::string OfMounts(const v1::HostReport& host, Get get) {
  const std::vector<std::string> dirs = DirsOf(host.workload());
  const std::vector<v1::MountReport> mounts = MountsOf(host);
  std::set<std::string> different;
  for (const v1::MountReport& mount : mounts) different.insert(get(mount));
  if (different.size() == 1) return *different.begin();
  std::vector<std::string> each;
  for (size_t i = 0; i < mounts.size() && i < dirs.size(); ++i) {
    each.push_back(absl::StrCat(dirs[i], ": ", get(mounts[i])));
  }
  return absl::StrJoin(each, "; ");
}

std::string MountOf(const v1::HostReport& host) {
  return OfMounts(host, MountText);
}

// A value that all hosts have, or `several`. A host of which it is not known is left out.
template <typename Get>
std::string Common(const v1::Report& report, const std::string& several, Get get) {
  std::set<std::string> values;
  for (const v1::HostReport& host : report.hosts()) {
    if (std::string value = get(host); !value.empty()) values.insert(std::move(value));
  }
  return values.size() == 1 ? *values.begin() : values.empty() ? "" : several;
}

// "qm1, qm3-qm8": writers of a host, in order.
std::string WriterNumbers(const std::vector<uint32_t>& writers) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; begin < writers.size(); begin = end) {
    while (end < writers.size() && writers[end] - writers[begin] == end - begin) ++end;
    // Two are no range.
    if (end - begin == 2) end = begin + 1;
    if (parts.size() == kMostNamed) {
      parts.push_back(absl::StrCat(writers.size() - begin, " more"));
      break;
    }
    parts.push_back(absl::StrCat("qm", writers[begin]));
    if (end - begin > 1) absl::StrAppend(&parts.back(), "-qm", writers[end - 1]);
  }
  return absl::StrJoin(parts, ", ");
}

// The directories in which a host writes; where its queue managers have directories of their own, with who writes in
// which: "/mnt/q1 (qm1, qm3), /mnt/q2 (qm2)". Queue managers of a placement are listed with their directories.
std::string DirectoriesText(const v1::HostReport& host) {
  const v1::LogWorkload& workload = host.workload();
  if (workload.qm_dirs().empty() || !host.queue_managers().empty()) return absl::StrJoin(DirsOf(workload), ", ");
  std::map<std::string, std::vector<uint32_t>> writers;
  for (int i = 0; i < workload.qm_dirs_size(); ++i)
    writers[workload.qm_dirs(i)].push_back(static_cast<uint32_t>(i) + 1);
  std::vector<std::string> parts;
  for (const std::string& dir : DirsOf(workload)) {
    parts.push_back(absl::StrCat(dir, " (", WriterNumbers(writers[dir]), ")"));
  }
  return absl::StrJoin(parts, ", ");
}

std::string Extents(const v1::LogWorkload& workload) {
  return absl::StrCat(workload.num_files(), " x ", FormatSizeForPeople(workload.file_size_bytes()), " (--file-size ",
                      FormatSize(workload.file_size_bytes()), ")");
}

std::string SizeOfFiles(const v1::LogWorkload& workload) {
  if (!workload.has_file_size_bytes()) return "as found";
  return absl::StrCat(FormatSizeForPeople(workload.file_size_bytes()), " (--file-size ",
                      FormatSize(workload.file_size_bytes()), ")",
                      UsesPaths(workload) && !workload.create() ? ", the first part of each" : "");
}

std::string ShareText(const v1::TestPlan& plan) {
  if (plan.hosts_size() < 2) return "";
  switch (plan.workload().share()) {
    case v1::FILE_SHARE_RANGES:
      return "ranges: all hosts share the files, and each thread has its own part";
    case v1::FILE_SHARE_ALL:
      return "all: each host uses all of the shared files";
    default:
      return "own: each host has files of its own";
  }
}

// "random, each block once before any is taken again"; empty: in their order, again and again.
std::string AccessText(const v1::TestPlan& plan) {
  const bool random = plan.access() == v1::ACCESS_RANDOM;
  if (plan.workload().one_pass()) return random ? "one pass in random order" : "one pass, each block once";
  return random ? "random, each block once before any is taken again" : "";
}

// "; starts spread evenly"; empty for a run of a version that knew no other way.
std::string Arrivals(const v1::LogWorkload& workload, const v1::TestPlan& plan) {
  switch (workload.arrival()) {
    case v1::ARRIVAL_EVEN:
      return ", spread evenly";
    case v1::ARRIVAL_POISSON:
      return absl::StrCat(" at random (--seed ", plan.seed(), ")");
    case v1::ARRIVAL_ALIGNED:
      return ", all at once";
    default:
      return "";
  }
}

// "100", or of a sweep "100, 200"; a closed loop is "0 (closed loop)" there.
std::string Rates(const v1::LogWorkload& workload, const v1::TestPlan& plan) {
  if (plan.sweep().rate_per_second().empty()) return absl::StrCat(workload.rate_per_second());
  return absl::StrJoin(plan.sweep().rate_per_second(), ", ", [](std::string* out, double rate) {
    absl::StrAppend(out, rate, rate > 0 ? "" : " (closed loop)");
  });
}

std::string Writes(const v1::HostReport& host, const v1::TestPlan& plan) {
  const v1::LogWorkload& workload = host.workload();
  std::string text = OfMounts(host, [](const v1::MountReport& mount) -> std::string {
    return mount.direct()                    ? "O_DIRECT accepted"
           : !mount.direct_refused().empty() ? "O_DIRECT refused"
                                             : "without O_DIRECT";
  });
  text += HasPlacement(plan) ? absl::StrCat(", each QM at its own rate", Arrivals(workload, plan))
          : workload.rate_per_second() > 0
              ? absl::StrCat(", ", Rates(workload, plan), " ", AnyOperation(plan.read_percent()), "s/s per ",
                             UsesFiles(workload) ? "thread" : "QM", Arrivals(workload, plan))
              : absl::StrCat(", one in flight per ", UsesFiles(workload) ? "thread" : "QM");
  if (workload.delay_ns() > 0) text += absl::StrCat(", ", FormatLength(workload.delay_ns()), " pause after each");
  if (workload.pause_percent() > 0) {
    text += absl::StrCat(", pause of ", workload.pause_percent(), " % of the mean latency after each");
  }
  if (workload.cpu_load() > 0) text += absl::StrCat(", ", workload.cpu_load(), " busy threads per host");
  return text;
}

std::string SyncOption(const v1::HostReport& host) {
  return absl::StrCat("--sync ", EnumName(*v1::SyncMode_descriptor(), host.workload().sync()));
}

std::string OpenFlags(const v1::HostReport& host) {
  return OfMounts(host, [](const v1::MountReport& mount) { return mount.open_flags(); });
}

std::string QueueManagers(const v1::Report& report) {
  if (HasPlacement(report.plan())) {
    return absl::StrCat(FormatCount(static_cast<uint64_t>(report.plan().placement_size())),
                        ", each on a home and a standby host");
  }
  if (const auto& qms = report.plan().sweep().qm(); !qms.empty()) {
    return absl::StrCat(absl::StrJoin(qms, ", "), " per host");
  }
  const TextSection* const section = TextSectionOf(report);
  return Common(report, kDiffers, [section](const v1::HostReport& host) {
    return absl::StrCat(FormatCount(host.workload().qm()), " per ",
                        section == nullptr ? "host" : section->queue_managers_per);
  });
}

// "192 MiB written to prepare; 12 files removed on 4 hosts, nothing left"; empty: no host has reported it.
std::string CleanUpText(const v1::Report& report) {
  uint64_t hosts = 0;
  uint64_t removed = 0;
  uint64_t prepared_bytes = 0;
  std::vector<std::string> left;
  std::vector<std::string> unknown;
  for (const v1::HostReport& host : report.hosts()) {
    prepared_bytes += host.mount().prepared_bytes();
    if (!host.has_clean_up()) {
      unknown.push_back(host.label());
      continue;
    }
    ++hosts;
    removed += host.clean_up().removed_files();
    if (!host.clean_up().left_behind().empty()) left.push_back(host.label());
  }
  if (hosts == 0 || report.plan().has_watch()) return "";
  const auto names = [](std::vector<std::string> labels) {
    constexpr size_t kMostNamed = 4;
    const size_t more = labels.size() - std::min(labels.size(), kMostNamed);
    labels.resize(labels.size() - more);
    return absl::StrCat(absl::StrJoin(labels, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
  };
  const bool kept = report.plan().keep_files() || report.plan().workload().create();
  return absl::StrCat(
      FormatSizeForPeople(prepared_bytes), " written to prepare; ", FormatCount(removed),
      removed == 1 ? " file" : " files", " removed on ", hosts == 1 ? "1 host" : FormatCount(hosts) + " hosts",
      !left.empty() ? absl::StrCat(", not all on ", names(left), " (see the notes)")
      : kept        ? ", the others kept as asked"
                    : ", nothing left",
      unknown.empty()
          ? ""
          : absl::StrCat("; not known of ", names(unknown), ": the agents there remove their files by themselves"));
}

// "60 per QM, 2 KiB messages, 38us between commits on average (simulated); TripleWrite, 512 buffer pages"
std::string ClientsText(const v1::TestPlan& plan) {
  const v1::GroupCommit& commits = plan.group_commit();
  const bool most = plan.limit().over() == v1::LIMIT_OVER_CLIENTS;
  return absl::StrCat(most ? "up to " : "", FormatCount(commits.clients()), " per QM (simulated), ",
                      FormatSizeForPeople(commits.message_size_bytes()), " messages, ",
                      commits.has_client_rate_per_second()
                          ? absl::StrCat(FormatTargetRate(commits.client_rate_per_second()), " commits/s each")
                          : absl::StrCat(FormatLength(commits.think_time_ns()), " between commits on average"),
                      "; ", LogWriteIntegrityName(commits.log_write_integrity()), ", buffer of ",
                      commits.log_buffer_pages(), " pages");
}

// "/var/watched/pattern.plimsoll (sha256 9f86d081884c7d65...), by demand, 1.5 times as fast as recorded; each recorded
// write is a commit (simulated); buffer of 512 pages"
std::string RecordingText(const v1::TestPlan& plan) {
  constexpr size_t kShownDigits = 16;
  const v1::GroupCommit& commits = plan.group_commit();
  const std::string& digest = commits.pattern_sha256();
  const bool most = plan.limit().over() == v1::LIMIT_OVER_LOAD_FACTOR;
  return absl::StrCat(
      commits.pattern(), digest.empty() ? "" : absl::StrCat(" (sha256 ", digest.substr(0, kShownDigits), "...)"),
      PlaysWritesAsRecorded(plan) ? absl::StrCat(", writes as recorded, ", kNotWhatMqIssues, ", ") : ", by demand, ",
      most ? "up to " : "", LoadFactorText(commits.load_factor()), "; each recorded write is a commit (simulated)",
      PlaysWritesAsRecorded(plan) ? "" : absl::StrCat("; buffer of ", commits.log_buffer_pages(), " pages"));
}

std::string Steps(const v1::TestPlan& plan) {
  const bool pass = plan.workload().one_pass();
  std::string text = absl::StrCat(pass ? "one pass, at most " : "", FormatLength(plan.duration_ns()), " per step");
  if (plan.warmup_ns() > 0) absl::StrAppend(&text, ", ", FormatLength(plan.warmup_ns()), " warm-up");
  if (plan.settle_ns() > 0) absl::StrAppend(&text, ", ", FormatLength(plan.settle_ns()), " to settle before the first");
  if (plan.until_steady_ns() > 0) {
    absl::StrAppend(&text, ", in rounds until steady, at most ", FormatLength(plan.until_steady_ns()), " each");
  }
  if (plan.repeat() > 1) absl::StrAppend(&text, ", all steps ", plan.repeat(), " times");
  return text;
}

}  // namespace

std::vector<ConfigurationRow> ConfigurationRows(const v1::Report& report) {
  using Text = ConfigurationRow::Text;
  const v1::TestPlan& plan = report.plan();
  const TextSection* const section = TextSectionOf(report);
  std::vector<ConfigurationRow> rows = {{"Change", "--change", plan.change()},
                                        {"Operator", "--operator", plan.operator_()}};
  const v1::ControllerFacts& controller = report.run().controller();
  rows.push_back({"Command", "", controller.command(), Text::kNone});
  rows.push_back({"Controller", "", ProgramText(controller, report.run().version()), Text::kNone});
  rows.push_back({"UTC", "", UtcErrorText(controller), Text::kNone});
  if (section != nullptr && section->configuration != nullptr) {
    absl::c_move(section->configuration(report), std::back_inserter(rows));
    std::erase_if(rows, [](const ConfigurationRow& row) { return row.value.empty(); });
    return rows;
  }
  // An HA drill has none.
  const bool steps = section == nullptr || section->steps != nullptr;
  const bool random = plan.access() == v1::ACCESS_RANDOM;
  const bool mixed = ReadsAndWrites(plan.read_percent());
  const std::string block = mixed ? "Block size" : OnlyReads(plan) ? "Read block size" : "Write block size";
  std::vector<std::string> sizes;
  for (const uint64_t size : plan.block_size_bytes()) sizes.push_back(FormatSize(size));
  if (plan.has_block_size_mix()) {
    rows.push_back({block + "s", "--bsize-mix",
                    absl::StrCat(absl::StrReplaceAll(plan.block_size_mix(), {{"=", " "}, {",", " %, "}}), " %")});
  } else if (PlaysPattern(plan)) {
    rows.push_back({"Recording", "--pattern", RecordingText(plan)});
  } else if (plan.has_group_commit()) {
    rows.push_back({"Clients", "--clients", ClientsText(plan)});
  } else if (!HasPlacement(plan)) {
    rows.push_back({block, "--bsize", absl::StrJoin(sizes, ", ")});
  }
  if (plan.read_percent() > 0) {
    rows.push_back({"Reads", "--read-percent", absl::StrCat(plan.read_percent(), " % of operations")});
  }
  if (const std::string access = AccessText(plan); !access.empty()) {
    const char* const pass = plan.workload().create() ? "--create" : "--one-pass";
    rows.push_back({"Access", plan.workload().one_pass() ? pass : "--access", access});
  }
  if (UsesFiles(plan.workload())) {
    rows.push_back({"Files", "--files", Common(report, kDiffers, [](const v1::HostReport& host) {
                      return ShortenFiles(host.workload());
                    })});
    rows.push_back({"File size", "",
                    Common(report, kDiffers, [](const v1::HostReport& host) { return SizeOfFiles(host.workload()); })});
    rows.push_back({"Share", "--share", ShareText(plan)});
  }
  const bool lists_dirs = std::any_of(report.hosts().begin(), report.hosts().end(),
                                      [](const auto& host) { return !host.workload().qm_dirs().empty(); });
  const std::string directories = Common(report, kDiffers, DirectoriesText);
  if (UsesPaths(plan.workload())) {
    // The directory is that of the first file.
  } else if (!lists_dirs) {
    rows.push_back({"Directory", "--dir", directories});
  } else {
    rows.push_back({"Directories", HasPlacement(plan) ? "" : "--qm-dirs", directories});
  }
  rows.push_back({"File system", "", Common(report, kDiffers, MountOf), Text::kBelow});
  if (UsesFiles(plan.workload())) {
    rows.push_back({"Threads", "--qm", absl::StrCat(QueueManagers(report), "; qm1 is thread 1")});
  } else {
    rows.push_back({"Queue managers", "--qm", QueueManagers(report), plan.has_sweep() ? Text::kRow : Text::kNone});
    rows.push_back({"Extents per QM", "--num-files",
                    Common(report, kDiffers, [](const v1::HostReport& host) { return Extents(host.workload()); })});
  }
  if (section != nullptr) section->options(plan, rows);
  if (steps) rows.push_back({"Duration", "--duration", Steps(plan)});
  rows.push_back({plan.read_percent() > 0 ? "Operations" : "Writes", Common(report, "--sync", SyncOption),
                  Common(report, kDiffers, [&plan](const v1::HostReport& host) { return Writes(host, plan); }),
                  steps ? Text::kRow : Text::kNone});
  rows.push_back({"Open flags", "", Common(report, kDiffers, OpenFlags), steps ? Text::kBelow : Text::kNone});
  if (steps && report.run().hosts() > 1) {
    const bool goes_on = plan.on_host_loss() == v1::HOST_LOSS_POLICY_CONTINUE;
    rows.push_back(
        {"If a host is lost", "--on-host-loss", goes_on ? "continue with the others" : "abort: stop the others"});
  }
  rows.push_back({"Ends early if", "--abort-if", absl::StrJoin(plan.abort_if(), ", or ")});
  rows.push_back({"Ends by", "--end-by", plan.end_by()});
  rows.push_back({"Journal at most", "--journal-limit",
                  plan.has_journal_limit_bytes() ? FormatSizeForPeople(plan.journal_limit_bytes()) : ""});
  if (plan.has_protect()) {
    rows.push_back({"Protects", "--protect",
                    absl::StrCat(plan.protect(), ": the run ends if ",
                                 ProtectsMount(plan) ? "writes to it take " : "its log writes take ",
                                 FormatTargetRate(ProtectFactor(plan)), " times as long as before it")});
  }
  if (plan.has_mq_log()) rows.push_back({"MQ's log", "", plan.mq_log().source(), Text::kNone});
  rows.push_back({"Criteria", "--require", absl::StrJoin(plan.criteria(), ", "), Text::kNone});
  if (steps) {
    rows.push_back({"Stall threshold", "--stall",
                    plan.stall_ns() > 0 ? FormatLength(plan.stall_ns())
                                        : "100 ms or 20\u00d7 the writer\u2019s median, whichever is greater",
                    Text::kNone});
    if (plan.lease_ns() > 0) rows.push_back({"Lease", "--lease", FormatLength(plan.lease_ns()), Text::kNone});
  }
  if (plan.has_seed()) {
    // The rate's row has the seed of arrivals.
    const bool shown = plan.has_block_size_mix() || plan.has_group_commit() || random || mixed;
    rows.push_back({"Seed", "--seed", absl::StrCat(plan.seed()), shown ? Text::kRow : Text::kNone});
  }
  rows.push_back({"Cleaned up", "", CleanUpText(report)});
  std::erase_if(rows, [](const ConfigurationRow& row) { return row.value.empty(); });
  return rows;
}

}  // namespace plimsoll
