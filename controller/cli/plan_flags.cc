#include "controller/cli/plan_flags.h"

#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "controller/cli/command.h"
#include "controller/plan/files_plan.h"
#include "controller/plan/group_commit_plan.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/sweep.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// An option whose values are kept as text. May repeat where `repeats`; takes one value each time, so that it does not
// swallow what follows it.
CLI::Option* AddTextOption(CLI::App& app, const std::string& names, const std::string& help, bool repeats) {
  CLI::Option* option = app.add_option(names, CLI::callback_t([](const CLI::results_t&) { return true; }), help);
  option->type_size(1)->expected(1);
  if (repeats) option->take_all();
  return option;
}

// As MQ's own commands have it.
constexpr char kQueueManagerOption[] = "queue-manager";

// Whether the option of a plan has no meaning for a program that is only watched.
bool SaysHowToWrite(const FieldDescriptor& field) {
  static constexpr int kFields[] = {
      v1::TestPlan::kBlockSizeBytesFieldNumber, v1::TestPlan::kBlockSizeMixFieldNumber,
      v1::TestPlan::kReadPercentFieldNumber,    v1::TestPlan::kAccessFieldNumber,
      v1::TestPlan::kRepeatFieldNumber,         v1::TestPlan::kKeepFilesFieldNumber,
      v1::TestPlan::kSeedFieldNumber,           v1::TestPlan::kSettleNsFieldNumber,
      v1::TestPlan::kUntilSteadyNsFieldNumber,  v1::TestPlan::kAbortIfFieldNumber,
      v1::TestPlan::kEndByFieldNumber,          v1::TestPlan::kProtectFieldNumber,
      v1::TestPlan::kProtectFactorFieldNumber,
  };
  return field.containing_type() == v1::TestPlan::descriptor() && absl::c_linear_search(kFields, field.number());
}

// Whether the option has a meaning for the I/O of a restart: where it goes, how large the log is, and who runs it.
bool IsForRestart(const FieldDescriptor& field) {
  static constexpr int kWorkloadFields[] = {
      v1::LogWorkload::kDirFieldNumber,
      v1::LogWorkload::kFileSizeBytesFieldNumber,
      v1::LogWorkload::kNumFilesFieldNumber,
      v1::LogWorkload::kMinFreeBytesFieldNumber,
  };
  static constexpr int kPlanFields[] = {
      v1::TestPlan::kNameFieldNumber, v1::TestPlan::kLeaseNsFieldNumber, v1::TestPlan::kHangLimitNsFieldNumber,
      v1::TestPlan::kSeedFieldNumber, v1::TestPlan::kChangeFieldNumber,  v1::TestPlan::kOperatorFieldNumber,
  };
  if (field.containing_type() == v1::LogWorkload::descriptor()) {
    return absl::c_linear_search(kWorkloadFields, field.number());
  }
  return field.containing_type() != v1::TestPlan::descriptor() || absl::c_linear_search(kPlanFields, field.number());
}

}  // namespace

PlanFlags::PlanFlags(CLI::App& app, RunKind kind) : kind_(kind) {
  if (kind == RunKind::kHa) {
    AddFlags(*v1::HaPlan::descriptor(), "Drill", app);
    AddFlags(*v1::LogWorkload::descriptor(), "Logs", app);
    AddFlags(*v1::TestPlan::descriptor(), "Run", app);
    return;
  }
  hosts_ =
      AddTextOption(
          app, "--hosts",
          "Hosts: host, host:port, [v6]:port, unix:/path, node[1-4], separated by commas (if not given: this machine)",
          true)
          ->type_name("LIST")
          ->group("Hosts");
  hosts_file_ = AddTextOption(app, "--hosts-file", "File with hosts, one per line, # for comments", false)
                    ->type_name("FILE")
                    ->group("Hosts");
  if (kind == RunKind::kWatch) {
    AddFlags(*v1::WatchPlan::descriptor(), "Watch", app);
    AddFlags(*v1::TestPlan::descriptor(), "Run", app);
    return;
  }
  if (kind == RunKind::kRestart) {
    AddFlags(*v1::RestartPlan::descriptor(), "Restart", app);
    AddFlags(*v1::LogWorkload::descriptor(), "Log", app);
    AddFlags(*v1::TestPlan::descriptor(), "Run", app);
    return;
  }
  if (kind == RunKind::kAccept) AddFlags(*v1::AcceptPlan::descriptor(), "Acceptance", app);
  if (kind != RunKind::kRun) AddFlags(*v1::LimitPlan::descriptor(), "Search", app);
  AddFlags(*v1::LogWorkload::descriptor(), "Workload of every host", app);
  if (kind == RunKind::kRun || kind == RunKind::kLimit) {
    AddFlags(*v1::GroupCommit::descriptor(), "Group commit", app);
  }
  AddFlags(*v1::TestPlan::descriptor(), "Run", app);
}

void PlanFlags::AddFlags(const Descriptor& message, const std::string& group, CLI::App& app) {
  for (const FieldDescriptor& field : FieldsOf(message)) {
    const v1::FieldRule& rule = RuleOf(field);
    if (rule.flag().empty() || (kind_ == RunKind::kHa && rule.run_only())) continue;
    if (kind_ == RunKind::kWatch && SaysHowToWrite(field)) continue;
    if (kind_ == RunKind::kRestart && !IsForRestart(field)) continue;
    // The parts of an acceptance write logs.
    if (kind_ == RunKind::kAccept && IsFilesField(field)) continue;
    // Each part of an acceptance removes its files.
    if (kind_ == RunKind::kAccept &&
        &field == v1::TestPlan::descriptor()->FindFieldByNumber(v1::TestPlan::kKeepFilesFieldNumber)) {
      continue;
    }
    std::string names = "--" + rule.flag();
    if (rule.flag() == kQueueManagerOption) names = absl::StrCat("-m,", names);
    for (const std::string& alias : rule.alias()) absl::StrAppend(&names, ",--", alias);
    const std::string summary = Summary(field);
    const bool sweeps = kind_ == RunKind::kRun && SweptListOf(field) != nullptr;
    const std::string about = absl::StrCat(rule.help(), sweeps ? "; a list makes a step for each" : "");
    const std::string help = summary.empty() ? about : absl::StrCat(about, " (", summary, ")");
    CLI::Option* option = nullptr;
    if (KindOf(field) == ValueKind::kBool) {
      option = app.add_flag(names, rule.help());
    } else if (!rule.bare_flag().empty()) {
      // A flag, so that the value can only stand behind "=" and no argument is taken for it.
      option = app.add_flag(absl::StrCat(names, "{", rule.bare_flag(), "}"), flag_values_.emplace_back(), help);
    } else {
      option = AddTextOption(app, names, help, field.is_repeated())->type_name(rule.metavar() + (sweeps ? ",..." : ""));
    }
    option->group(group);
    flags_.push_back({&field, option});
    if (field.containing_type() != v1::LogWorkload::descriptor() ||
        field.number() != v1::LogWorkload::kFilesFieldNumber) {
      continue;
    }
    files_from_ = AddTextOption(app, "--files-from", "File with the names for --files, one per line", false)
                      ->type_name("FILE")
                      ->group(group);
  }
}

absl::Status PlanFlags::ApplyTo(v1::TestPlan& plan) const {
  if (kind_ != RunKind::kHa) PLIMSOLL_RETURN_IF_ERROR(ApplyHosts(plan));
  const auto given = [this](const google::protobuf::Descriptor& message, int number) {
    const FieldDescriptor* const field = message.FindFieldByNumber(number);
    return absl::c_any_of(flags_,
                          [field](const Flag& flag) { return flag.field == field && flag.option->count() > 0; });
  };
  const google::protobuf::Descriptor& plan_fields = *v1::TestPlan::descriptor();
  if (given(plan_fields, v1::TestPlan::kBlockSizeBytesFieldNumber) &&
      given(plan_fields, v1::TestPlan::kBlockSizeMixFieldNumber)) {
    return absl::InvalidArgumentError("--bsize and --bsize-mix are both given: the mix names its sizes itself");
  }
  const google::protobuf::Descriptor& workload = *v1::LogWorkload::descriptor();
  if (given(workload, v1::LogWorkload::kDirFieldNumber) && given(workload, v1::LogWorkload::kQmDirsFieldNumber)) {
    return absl::InvalidArgumentError(
        "--dir and --qm-dirs are both given: name one directory for all queue managers, or one for each");
  }
  if (given(*v1::GroupCommit::descriptor(), v1::GroupCommit::kPatternFieldNumber)) {
    for (const Flag& flag : flags_) {
      if (!IsOfClients(*flag.field) || flag.option->count() == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat("--", RuleOf(*flag.field).flag(),
                                                     " and --pattern are both given: recorded writes are played in "
                                                     "place of clients"));
    }
  }
  if (files_from_ != nullptr && files_from_->count() > 0) {
    if (given(workload, v1::LogWorkload::kFilesFieldNumber)) {
      return absl::InvalidArgumentError("--files and --files-from are both given: name the files with one of them");
    }
    PLIMSOLL_RETURN_IF_ERROR(ApplyFilesFrom(plan));
  }
  for (const Flag& flag : flags_) {
    if (flag.option->count() == 0) continue;
    const std::vector<std::string>& texts = flag.option->results();
    PLIMSOLL_RETURN_IF_ERROR(
        SetPlanOption(*flag.field, flag.field->is_repeated() ? absl::StrJoin(texts, ",") : texts.back(), plan));
  }
  return absl::OkStatus();
}

absl::Status CheckPlanKind(const v1::TestPlan& plan, RunKind kind, const std::string& file) {
  const RunKindFacts& found = FactsOf(RunKindOf(plan));
  if (found.kind == RunKind::kRun || std::string(found.command) == FactsOf(kind).command) return absl::OkStatus();
  if (kind == RunKind::kAccept && found.in_acceptance) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, " is the plan of ", found.noun, " (", found.section,
                                                 "): run it with `plimsoll ", found.command, "`"));
}

const FieldDescriptor* FindPlanOption(const std::string& name) {
  for (const Descriptor* message :
       {v1::LogWorkload::descriptor(), v1::TestPlan::descriptor(), v1::GroupCommit::descriptor()}) {
    for (const FieldDescriptor& field : FieldsOf(*message)) {
      const v1::FieldRule& rule = RuleOf(field);
      if (rule.flag().empty()) continue;
      if (rule.flag() == name || absl::c_linear_search(rule.alias(), name)) return &field;
    }
  }
  return nullptr;
}

namespace {

// The directory that a plan has from its files by their paths is not that of other files.
void ForgetDirectoryOfFiles(v1::TestPlan& plan) {
  v1::LogWorkload& workload = *plan.mutable_workload();
  if (UsesPaths(workload) && workload.dir() == DirectoryOfPath(workload.files(0))) workload.clear_dir();
}

// --dir stands in place of all directories that a plan has, --qm-dirs of the one. As many queue managers remain.
void ReplaceDirectories(const FieldDescriptor& field, v1::TestPlan& plan) {
  const auto replace = [&field](v1::LogWorkload& workload, bool own) {
    if (field.number() == v1::LogWorkload::kDirFieldNumber && !workload.qm_dirs().empty()) {
      if (!workload.has_qm()) workload.set_qm(static_cast<uint32_t>(workload.qm_dirs_size()));
      workload.clear_qm_dirs();
    } else if (field.number() == v1::LogWorkload::kQmDirsFieldNumber) {
      workload.clear_dir();
      // Directories that were listed before were counted by their list.
      if (own) workload.clear_qm();
    }
  };
  replace(*plan.mutable_workload(), false);
  for (v1::HostSpec& host : *plan.mutable_hosts()) {
    if (host.has_workload()) replace(*host.mutable_workload(), true);
  }
  if (field.number() != v1::LogWorkload::kDirFieldNumber) return;
  for (v1::PlacedQueueManager& qm : *plan.mutable_placement()) qm.clear_dir();
}

// Of clients and a recording each replaces the other of the plan, and its block sizes. The digest of a recording is not
// that of another one.
void ReplaceCommits(const FieldDescriptor& field, v1::TestPlan& plan) {
  if (field.containing_type() != v1::GroupCommit::descriptor()) return;
  const bool pattern = field.number() == v1::GroupCommit::kPatternFieldNumber;
  if (!pattern && field.number() != v1::GroupCommit::kClientsFieldNumber) return;
  plan.clear_block_size_bytes();
  plan.clear_block_size_mix();
  v1::GroupCommit& commits = *plan.mutable_group_commit();
  for (const FieldDescriptor& other : FieldsOf(*v1::GroupCommit::descriptor())) {
    if (pattern ? IsOfClients(other) : IsOfPattern(other)) commits.GetReflection()->ClearField(&commits, &other);
  }
  commits.clear_pattern_sha256();
}

}  // namespace

absl::Status SetPlanOption(const FieldDescriptor& field, const std::string& given, v1::TestPlan& plan) {
  // A share of a CPU may be written with its sign: --max-overhead 1%.
  const bool of_watch = field.containing_type() == v1::WatchPlan::descriptor();
  const bool percent = of_watch && KindOf(field) == ValueKind::kNumber;
  const std::string text(percent ? absl::StripSuffix(given, "%") : given);
  const bool in_workload = field.containing_type() == v1::LogWorkload::descriptor();
  const FieldDescriptor* const section = SectionField(*field.containing_type());
  Message& message = section == nullptr ? plan : *plan.GetReflection()->MutableMessage(&plan, section);
  const FieldDescriptor* const list = SweptListOf(field);
  const bool listed = text.find(',') != std::string::npos;
  if (in_workload && field.number() == v1::LogWorkload::kFilesFieldNumber) ForgetDirectoryOfFiles(plan);
  const absl::Status status = list == nullptr
                                  ? SetFromText(field, text, message)
                                  : SetWorkloadValues(field, listed ? SplitList(*list, text) : std::vector{text}, plan);
  if (!status.ok()) return WithOption(RuleOf(field).flag(), status);
  // Of --bsize, --bsize-mix, --clients and --pattern each replaces the others of the plan.
  ReplaceCommits(field, plan);
  if (&field == v1::TestPlan::descriptor()->FindFieldByNumber(v1::TestPlan::kBlockSizeMixFieldNumber)) {
    plan.clear_block_size_bytes();
  } else if (&field == v1::TestPlan::descriptor()->FindFieldByNumber(v1::TestPlan::kBlockSizeBytesFieldNumber)) {
    plan.clear_block_size_mix();
  }
  // An option overrides what a host, or a queue manager of a placement, has of its own.
  for (v1::PlacedQueueManager& qm : *plan.mutable_placement()) {
    if (&field == v1::LogWorkload::descriptor()->FindFieldByNumber(v1::LogWorkload::kRatePerSecondFieldNumber)) {
      qm.clear_rate_per_second();
    } else if (&field == v1::TestPlan::descriptor()->FindFieldByNumber(v1::TestPlan::kBlockSizeBytesFieldNumber)) {
      qm.clear_block_size_bytes();
    }
  }
  if (!in_workload) return absl::OkStatus();
  ReplaceDirectories(field, plan);
  for (v1::HostSpec& host : *plan.mutable_hosts()) {
    if (!host.has_workload()) continue;
    v1::LogWorkload& own = *host.mutable_workload();
    own.GetReflection()->ClearField(&own, &field);
  }
  return absl::OkStatus();
}

absl::Status PlanFlags::ApplyFilesFrom(v1::TestPlan& plan) const {
  constexpr char kOption[] = "files-from";
  const std::string& path = files_from_->results().back();
  const auto text = ReadFile(path, kMaxFilesText, FileKind::kAny);
  if (!text.ok()) return WithOption(kOption, text.status());
  const auto names = ReadFileNames(*text, path);
  if (!names.ok()) return WithOption(kOption, names.status());
  ForgetDirectoryOfFiles(plan);
  plan.mutable_workload()->clear_files();
  for (const std::string& name : *names) plan.mutable_workload()->add_files(name);
  for (v1::HostSpec& host : *plan.mutable_hosts()) {
    if (host.has_workload()) host.mutable_workload()->clear_files();
  }
  return absl::OkStatus();
}

absl::Status PlanFlags::ApplyHosts(v1::TestPlan& plan) const {
  std::vector<std::string> addresses;
  if (hosts_->count() > 0) {
    auto listed = ParseHostList(absl::StrJoin(hosts_->results(), ","));
    if (!listed.ok()) return WithOption("hosts", listed.status());
    addresses = *std::move(listed);
  }
  if (hosts_file_->count() > 0) {
    const std::string& path = hosts_file_->results().back();
    const auto text = ReadFile(path, kMaxHostsFileBytes, FileKind::kAny);
    if (!text.ok()) return WithOption("hosts-file", text.status());
    const auto listed = ReadHostsFile(*text, path);
    if (!listed.ok()) return WithOption("hosts-file", listed.status());
    addresses.insert(addresses.end(), listed->begin(), listed->end());
  }
  if (addresses.empty() && plan.hosts().empty() && launch_ != nullptr && launch_->kind().find_hosts != nullptr) {
    PLIMSOLL_ASSIGN_OR_RETURN(addresses, launch_->kind().find_hosts(*launch_));
  }
  if (addresses.empty()) return absl::OkStatus();
  std::map<std::string, v1::HostSpec> known;
  for (const v1::HostSpec& host : plan.hosts()) known[WithPort(host.address())] = host;
  plan.clear_hosts();
  for (const std::string& address : addresses) {
    v1::HostSpec& host = *plan.add_hosts();
    if (const auto found = known.find(address); found != known.end()) host = found->second;
    host.set_address(address);
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
