#include "controller/plan/ha_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/field_rules.h"
#include "common/page_stamp.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/criteria_check.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"

namespace plimsoll {
namespace {

// An agent's lease in a drill, beyond the longest takeover that is waited for.
constexpr int64_t kHaSpareLeaseNs = 30 * kNsPerSecond;
// How long a host may take to return, and how much longer than its agent's lease at least.
constexpr int64_t kHaRestoreNs = 300 * kNsPerSecond;
constexpr int64_t kHaSpareRestoreNs = 60 * kNsPerSecond;

constexpr int64_t kHangMarginNs = kNsPerSecond;
constexpr int64_t kTakeoverMarginNs = kNsPerSecond;

constexpr std::array<v1::HaFaultKind, 6> kCommandFaults = {
    v1::HA_FAULT_KIND_FREEZE,         v1::HA_FAULT_KIND_CUT,      v1::HA_FAULT_KIND_REBOOT, v1::HA_FAULT_KIND_POWEROFF,
    v1::HA_FAULT_KIND_SERVER_RESTART, v1::HA_FAULT_KIND_LOCK_LOSS};

// A command to show how one is given; empty: the fault needs none of that kind.
std::string ExampleOf(v1::HaFaultKind fault, bool undo) {
  switch (fault) {
    case v1::HA_FAULT_KIND_FREEZE:
      return undo ? "virsh resume {host}" : "virsh suspend {host}";
    case v1::HA_FAULT_KIND_POWEROFF:
      return undo ? "virsh start {host}" : "virsh destroy {host}";
    case v1::HA_FAULT_KIND_REBOOT:
      return undo ? "" : "virsh reset {host}";
    default:
      return absl::StrCat("./", HaFaultWord(fault), undo ? "-undo" : "", " {host}");
  }
}

std::string OptionsFor(v1::HaFaultKind fault) {
  std::string options;
  for (const bool undo : {false, true}) {
    const std::string command = ExampleOf(fault, undo);
    if (!command.empty())
      absl::StrAppend(&options, undo ? " --undo '" : " --do '", HaFaultWord(fault), "=", command, "'");
  }
  return options;
}

void CheckPairs(const v1::TestPlan& plan, std::vector<PlanProblem>& problems) {
  if (plan.ha().pairs().empty()) {
    problems.emplace_back(PlanKey("ha.pairs"), " is missing: name pairs of hosts, such as node1+node2");
  }
  std::set<std::string> seen;
  for (const std::string& pair : plan.ha().pairs()) {
    const std::vector<std::string> hosts = PairHosts(pair);
    if (hosts.size() != 2 || hosts[0].empty() || hosts[1].empty()) {
      problems.emplace_back(PlanKey("ha.pairs"), ": ", Quoted(pair), " is not a pair of hosts: write node1+node2");
      continue;
    }
    for (const std::string& host : hosts) {
      if (seen.insert(host).second) continue;
      problems.emplace_back(PlanKey("ha.pairs"), ": ", host, " is listed twice; a host belongs to one pair");
    }
  }
  for (const v1::HostSpec& host : plan.hosts()) {
    if (seen.contains(host.address())) continue;
    problems.emplace_back(PlanKey("hosts"), ": ", host.address(), " is in none of the pairs; add it, or leave it out");
  }
  const uint32_t most = LargestOfWorkload(v1::LogWorkload::kQmFieldNumber);
  if (uint64_t{plan.workload().qm()} * static_cast<uint64_t>(plan.ha().pairs_size()) > most) {
    problems.emplace_back(PlanKey("workload.qm"), " times the pairs is more than ", most);
  }
}

void CheckLog(const v1::TestPlan& plan, std::vector<PlanProblem>& problems) {
  if (plan.block_size_bytes_size() != 1 || plan.block_size_bytes(0) % kStampedPageBytes != 0 ||
      plan.block_size_bytes(0) == 0) {
    problems.emplace_back(PlanKey("block_size"), ": a drill writes blocks of one size, a multiple of ",
                          FormatSize(kStampedPageBytes));
  }
  for (int host = 0; host < plan.hosts_size(); ++host) {
    const v1::LogWorkload workload = EffectiveWorkload(plan, host);
    if (!workload.qm_dirs().empty()) {
      problems.emplace_back(PlanKey("workload.qm_dirs"),
                            ": a drill writes below one directory that both hosts of a pair share; give ",
                            PlanKey("workload.dir"), ", and run a drill for each directory");
      return;
    }
    if (workload.qm() != plan.workload().qm() || workload.file_size_bytes() != plan.workload().file_size_bytes() ||
        workload.num_files() != plan.workload().num_files()) {
      problems.emplace_back(
          PlanKey("hosts"), ": ", plan.hosts(host).address(),
          " has a qm, file_size or num_files of its own; both hosts of a pair use the same logs, set it for all");
    }
    for (const uint64_t block_bytes : plan.block_size_bytes()) {
      if (block_bytes == 0 || workload.file_size_bytes() % block_bytes == 0) continue;
      problems.emplace_back(PlanKey("workload.file_size"), " ", FormatSize(workload.file_size_bytes()),
                            " is not a multiple of the block size ", FormatSize(block_bytes));
      return;
    }
    if (workload.sync() == v1::SYNC_MODE_NONE) {
      problems.emplace_back(PlanKey("workload.sync"), " none acknowledges what is not durable; use dsync");
      return;
    }
    if (workload.direct() == v1::DIRECT_MODE_OFF) {
      problems.emplace_back(PlanKey("workload.direct"),
                            " off: a takeover must read the log past the cache; leave it at auto");
      return;
    }
  }
  const std::string& data_dir = plan.ha().data_dir();
  if (!data_dir.empty() && data_dir[0] != '/') {
    problems.emplace_back(PlanKey("ha.data_dir"), " ", Quoted(data_dir), " is not absolute: begin it with '/'");
  }
}

void CheckTimes(const v1::TestPlan& plan, std::vector<PlanProblem>& problems) {
  if (plan.lease_ns() <= TakeoverWaitNs(plan.ha())) {
    problems.emplace_back(
        PlanKey("lease"), " ", FormatReadableDuration(plan.lease_ns()), " is not more than a second longer than ",
        PlanKey("ha.takeover_limit"), " ", FormatReadableDuration(plan.ha().takeover_limit_ns()),
        ": the lease would stop an old active instance that storage must keep out; use a longer lease");
  }
  if (plan.ha().restore_limit_ns() <= plan.lease_ns()) {
    problems.emplace_back(PlanKey("ha.restore_limit"), " ", FormatReadableDuration(plan.ha().restore_limit_ns()),
                          " is not longer than ", PlanKey("lease"), " ", FormatReadableDuration(plan.lease_ns()),
                          ": a host cannot return before the lease of its earlier session is over; use a longer limit");
  }
}

void CheckCommands(const v1::HaPlan& plan, std::vector<PlanProblem>& problems) {
  std::set<v1::HaFaultKind> given;
  for (const v1::HaFaultCommands& commands : plan.commands()) {
    const std::string word = HaFaultWord(commands.fault());
    if (!NeedsCommands(commands.fault())) {
      problems.emplace_back(PlanKey("ha.commands"), ": ", word, " takes no commands: the agents do it");
    }
    if (!given.insert(commands.fault()).second) {
      problems.emplace_back(PlanKey("ha.commands"), ": ", word, " is given twice");
    }
    if (commands.do_().empty() || commands.do_(0).empty()) {
      problems.emplace_back(PlanKey("ha.commands"), ": ", word, " has no 'do': list the program and its arguments");
    }
    for (const auto* list : {&commands.do_(), &commands.undo()}) {
      if (list->empty() || !absl::StrContains(list->Get(0), " ")) continue;
      problems.emplace_back(PlanKey("ha.commands"), ": ", Quoted(list->Get(0)),
                            " is not a program: commands run without a shell; list the program and its arguments");
    }
  }
  for (const int fault : plan.faults()) {
    const auto kind = static_cast<v1::HaFaultKind>(fault);
    if (!NeedsCommands(kind) || given.contains(kind)) continue;
    problems.emplace_back(PlanKey("ha.faults"), " ", HaFaultWord(kind), " needs commands: set them in ",
                          PlanKey("ha.commands"), " of a plan, or pass options:", OptionsFor(kind),
                          " --allow-commands (docs/ha.md)");
  }
}

}  // namespace

std::vector<HaPair> HaPairs(const v1::TestPlan& plan) {
  std::map<std::string, size_t> numbers;
  for (int host = 0; host < plan.hosts_size(); ++host) numbers[plan.hosts(host).address()] = static_cast<size_t>(host);
  std::vector<HaPair> pairs;
  for (const std::string& text : plan.ha().pairs()) {
    const std::vector<std::string> hosts = PairHosts(text);
    const auto qms = plan.workload().qm();
    pairs.push_back(
        {numbers.at(hosts.at(0)), numbers.at(hosts.at(1)), static_cast<uint32_t>(pairs.size()) * qms + 1, qms});
  }
  return pairs;
}

std::string HaFaultWord(v1::HaFaultKind fault) {
  const auto* value = v1::HaFaultKind_descriptor()->FindValueByNumber(fault);
  return value == nullptr ? "?" : EnumWord(*value);
}

bool NeedsCommands(v1::HaFaultKind fault) {
  return fault != v1::HA_FAULT_KIND_SWITCH && fault != v1::HA_FAULT_KIND_KILL && fault != v1::HA_FAULT_KIND_HANG;
}

const v1::HaFaultCommands* CommandsOf(const v1::HaPlan& plan, v1::HaFaultKind fault) {
  for (const v1::HaFaultCommands& commands : plan.commands()) {
    if (commands.fault() == fault) return &commands;
  }
  return nullptr;
}

absl::StatusOr<std::vector<std::string>> SplitCommand(const std::string& text) {
  std::vector<std::string> words;
  char quote = 0;
  bool in_word = false;
  for (const char letter : text) {
    if (quote != 0 && letter == quote) {
      quote = 0;
    } else if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
      if (!in_word) words.emplace_back();
      in_word = true;
    } else if (quote == 0 && absl::ascii_isspace(static_cast<unsigned char>(letter))) {
      in_word = false;
    } else {
      if (!in_word) words.emplace_back();
      in_word = true;
      words.back().push_back(letter);
    }
  }
  if (quote != 0) return absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": a quote is not closed"));
  if (words.empty() || words[0].empty()) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " names no program"));
  }
  return words;
}

absl::Status SetCommand(const std::string& text, bool undo, v1::HaPlan& plan) {
  const size_t equals = text.find('=');
  const std::string word = text.substr(0, equals);
  const v1::HaFaultKind* found = nullptr;
  for (const v1::HaFaultKind& kind : kCommandFaults) {
    if (word == HaFaultWord(kind)) found = &kind;
  }
  if (equals == std::string::npos || found == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected FAULT=COMMAND, such as ", undo ? "'freeze=virsh resume {host}'" : "'freeze=virsh suspend {host}'",
        ", with one of ",
        absl::StrJoin(kCommandFaults, ", ",
                      [](std::string* out, v1::HaFaultKind kind) { absl::StrAppend(out, HaFaultWord(kind)); }),
        "; not ", Quoted(text)));
  }
  auto words = SplitCommand(text.substr(equals + 1));
  if (!words.ok()) return words.status();
  v1::HaFaultCommands* commands = nullptr;
  for (v1::HaFaultCommands& one : *plan.mutable_commands()) {
    if (one.fault() == *found) commands = &one;
  }
  if (commands == nullptr) {
    commands = plan.add_commands();
    commands->set_fault(*found);
  }
  auto& list = undo ? *commands->mutable_undo() : *commands->mutable_do_();
  list.Assign(words->begin(), words->end());
  return absl::OkStatus();
}

std::vector<std::string> DescribeCommands(const v1::HaPlan& plan) {
  const auto in_words = [](const google::protobuf::RepeatedPtrField<std::string>& arguments) {
    return absl::StrJoin(arguments, " ", [](std::string* line, const std::string& argument) {
      absl::StrAppend(line, ShellQuoted(argument));
    });
  };
  std::vector<std::string> lines;
  for (const v1::HaFaultCommands& commands : plan.commands()) {
    lines.push_back(absl::StrCat(
        HaFaultWord(commands.fault()), ": runs on this machine, with --allow-commands: ", in_words(commands.do_()),
        commands.undo().empty() ? "" : absl::StrCat("; undone by: ", in_words(commands.undo()))));
  }
  return lines;
}

std::string FillHost(const std::string& argument, const std::string& address) {
  std::string host = address;
  if (!absl::StartsWith(address, "unix:")) {
    // A name of --launch ssh has no port, unless it is not ssh's own.
    const size_t colon = address.rfind(':');
    if (colon != std::string::npos && address.find(']', colon) == std::string::npos) host.resize(colon);
    if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  }
  return absl::StrReplaceAll(argument, {{"{host}", host}, {"{address}", address}});
}

int64_t HangNs(const v1::HaPlan& plan) {
  return plan.server_lease_ns() + 2 * plan.lock_poll_ns() + kHangMarginNs;
}

int64_t TakeoverWaitNs(const v1::HaPlan& plan) {
  return plan.takeover_limit_ns() + kTakeoverMarginNs;
}

std::vector<std::string> DescribeDrill(const v1::TestPlan& plan) {
  const v1::HaPlan& ha = plan.ha();
  const v1::LogWorkload& workload = plan.workload();
  const uint64_t log_bytes = workload.file_size_bytes() * workload.num_files();
  const uint64_t logs = uint64_t{workload.qm()} * static_cast<uint64_t>(ha.pairs_size());
  std::vector<std::string> words;
  int64_t hangs_ns = 0;
  int64_t most_ns = 0;
  for (uint32_t round = 0; round < ha.rounds(); ++round) {
    const auto fault = static_cast<v1::HaFaultKind>(
        ha.faults(static_cast<int>(round / static_cast<uint32_t>(ha.pairs_size())) % ha.faults_size()));
    if (fault == v1::HA_FAULT_KIND_HANG) hangs_ns += HangNs(ha);
    most_ns += fault == v1::HA_FAULT_KIND_HANG ? HangNs(ha) + ha.takeover_limit_ns() : TakeoverWaitNs(ha);
    // `do`, `undo`, and the host's return.
    if (NeedsCommands(fault)) most_ns += 2 * ha.command_limit_ns() + ha.restore_limit_ns();
  }
  for (const int fault : ha.faults()) words.push_back(HaFaultWord(static_cast<v1::HaFaultKind>(fault)));
  const int64_t rounds = ha.rounds();
  const int64_t before_ns = rounds * (ha.has_at_ns() ? ha.at_ns() : ha.window_ns() / 2);
  return {
      absl::StrCat("Directory  ", workload.dir(),
                   ha.data_dir().empty() ? ", for logs and locks" : absl::StrCat(", locks in ", ha.data_dir())),
      absl::StrCat(
          "Bytes      ", FormatSizeForPeople(logs * log_bytes), ": ", logs, logs == 1 ? " log of " : " logs of ",
          workload.num_files(), " extents of ", FormatSizeForPeople(workload.file_size_bytes()),
          ", written again and again in blocks of ", FormatSizeForPeople(plan.block_size_bytes(0)),
          workload.rate_per_second() > 0
              ? absl::StrCat(", ", FormatTargetRate(workload.rate_per_second()), " a second for each queue manager")
              : ""),
      absl::StrCat("Faults     ", absl::StrJoin(words, ", "), ", each ",
                   ha.has_at_ns() ? absl::StrCat(FormatLength(ha.at_ns()), " after all pairs are ready")
                                  : absl::StrCat("at a random moment within ", FormatLength(ha.window_ns()))),
      absl::StrCat("Time       about ", FormatLength(before_ns + hangs_ns), " and the takeovers, each at most ",
                   FormatLength(ha.takeover_limit_ns()), "; at most ",
                   FormatLength(most_ns + rounds * (ha.has_at_ns() ? ha.at_ns() : ha.window_ns())),
                   " in all, with filling, starting and scanning on top"),
  };
}

namespace {

// Adds the hosts that only the pairs name.
void FillPairedHosts(v1::TestPlan& plan) {
  std::set<std::string> listed;
  for (const v1::HostSpec& host : plan.hosts()) listed.insert(WithPort(host.address()));
  for (const std::string& pair : plan.ha().pairs()) {
    for (const std::string& address : PairHosts(pair)) {
      if (!address.empty() && listed.insert(address).second) plan.add_hosts()->set_address(address);
    }
  }
}

// Fills in the defaults that a drill has of its own, and its hosts, which the pairs name.
void FillHaDefaults(v1::TestPlan& plan) {
  FillMessage(*plan.mutable_ha());
  FillPairedHosts(plan);
  // An acceptance has a lease and criteria of its own: those of its drills are filled in when they are made.
  if (RunKindOf(plan) != RunKind::kHa) return;
  if (!plan.has_lease_ns()) plan.set_lease_ns(plan.ha().takeover_limit_ns() + kHaSpareLeaseNs);
  if (!plan.ha().has_restore_limit_ns()) {
    plan.mutable_ha()->set_restore_limit_ns(std::max(kHaRestoreNs, plan.lease_ns() + kHaSpareRestoreNs));
  }
  if (plan.criteria().empty()) {
    for (const char* criterion : {"lost==0", "split_brain==0"}) plan.add_criteria(criterion);
    if (AnyTakeover(plan.ha())) plan.add_criteria("takeover_max<60s");
  }
}

std::vector<PlanProblem> HaPlanProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  CheckPairs(plan, problems);
  CheckLog(plan, problems);
  CheckTimes(plan, problems);
  CheckCommands(plan.ha(), problems);
  for (PlanProblem& problem : HaCriteriaProblems(plan)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace

v1::HostPlan MakeHaHostPlan(const v1::TestPlan& plan, size_t host, const std::vector<std::string>& labels,
                            const std::string& run_id, const std::string& run_token, int64_t frame_interval_ns) {
  v1::HostPlan of;
  of.set_run_id(run_id);
  of.set_run_token(run_token);
  of.set_host_label(labels[host]);
  of.set_host_index(static_cast<uint32_t>(host));
  of.set_lease_ns(plan.lease_ns());
  of.set_frame_interval_ns(frame_interval_ns);
  // A drill outlives its sessions: only Release removes its files.
  of.set_keep_files(true);
  v1::HaWork& work = *of.mutable_ha();
  *work.mutable_workload() = EffectiveWorkload(plan, static_cast<int>(host));
  const v1::HaPlan& ha = plan.ha();
  work.set_data_dir(ha.data_dir());
  work.set_block_size_bytes(plan.block_size_bytes(0));
  for (const HaPair& pair : HaPairs(plan)) {
    if (pair.first != host && pair.second != host) continue;
    for (uint32_t i = 0; i < pair.qms; ++i) {
      v1::HaQueueManager& qm = *work.add_queue_managers();
      qm.set_qm(pair.first_qm + i);
      qm.set_home(labels[pair.first]);
    }
  }
  work.set_lock_wait(ha.lock_wait());
  work.set_lock_poll_ns(ha.lock_poll_ns());
  work.set_free_poll_ns(ha.free_poll_ns());
  work.set_verify_ns(ha.verify_ns());
  work.set_fence(ha.fence());
  work.set_checkpoint_ns(ha.checkpoint_ns());
  work.set_seed(plan.seed());
  work.set_hosts(static_cast<uint32_t>(plan.hosts_size()));
  return of;
}

std::vector<v1::LogWorkload> HaFilledWorkloads(const v1::TestPlan& plan) {
  std::vector<v1::LogWorkload> workloads = EffectiveWorkloads(plan);
  for (v1::LogWorkload& workload : workloads) workload.set_qm(0);
  for (const HaPair& pair : HaPairs(plan)) {
    v1::LogWorkload& first = workloads[pair.first];
    first.set_qm(first.qm() + pair.qms);
  }
  return workloads;
}

constinit const PlanKind kHaPlanKind{.kind = RunKind::kHa,
                                     .fill = FillHaDefaults,
                                     .problems = HaPlanProblems,
                                     .spell_criterion =
                                         [](const std::string& text) {
                                           const absl::StatusOr<HaCriterion> criterion = ParseHaCriterion(text);
                                           return criterion.ok() ? criterion->text : text;
                                         },
                                     .of = "a drill of ",
                                     .no_rounds = "a drill has rounds of its own, of one fault each",
                                     .reference = R"(
An HA drill, for `plimsoll ha` ([ha.md](ha.md)). Hosts that are not in `hosts` are added from the pairs. `lease` is 30 seconds longer
than `takeover_limit` where it is not given, and the criteria are `lost==0`, `split_brain==0` and `takeover_max<60s`.
)",
                                     .reference_end = R"(
On the command line `--do FAULT=COMMAND` and `--undo FAULT=COMMAND` give the same, split at blanks outside quotes ([ha.md](ha.md#faults)).
)"};

}  // namespace plimsoll
