#include "controller/plan/plan_check.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/abort_condition.h"
#include "controller/criteria/criteria.h"
#include "controller/criteria/end_time.h"
#include "controller/plan/criteria_check.h"
#include "controller/plan/files_plan.h"
#include "controller/plan/group_commit_plan.h"
#include "controller/plan/host_list.h"
#include "controller/plan/mq_log_plan.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/sweep.h"
#include "controller/report/run_kind.h"
#include "controller/report/swept_load.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Workload = v1::LogWorkload;
using Plan = v1::TestPlan;

constexpr uint64_t kExtentUnitBytes = 4096;
// Least length of a round until a step is steady: five shorter ones show nothing of a storage.
constexpr int64_t kLeastRoundNs = kNsPerSecond;
constexpr int kMaxCriteria = 1000;
constexpr int kMaxConditions = 100;
// More need not be found to report 20 of them.
constexpr size_t kMostProblems = 1000;
constexpr int64_t kHourNs = 3600 * kNsPerSecond;
constexpr int64_t kDayNs = 24 * kHourNs;
constexpr int64_t kMaxTotalNs = 3650 * kDayNs;

class Checker {
 public:
  explicit Checker(const Plan& plan) : plan_(plan) {}

  std::vector<PlanProblem> Run() {
    CheckRanges(plan_, "", "");
    // Rules that tie values together mean little where a value alone is wrong.
    if (!problems_.empty()) return problems_;
    CheckHosts();
    const size_t of_hosts = problems_.size();
    for (const PlanProblem& problem : SweepProblems(plan_)) Add(problem);
    CheckMix();
    CheckAccess();
    CheckGuard();
    for (const PlanProblem& problem : FilesProblems(plan_)) Add(problem);
    for (const PlanProblem& problem : MqLogProblems(plan_)) Add(problem);
    for (const PlanProblem& problem : GroupCommitProblems(plan_)) Add(problem);
    if (problems_.size() > of_hosts) return problems_;
    for (const PlanKind* const kind : kPlanKinds) {
      if (!kind->of_parts || !HasSection(plan_, kind->kind)) continue;
      for (const PlanProblem& problem : kind->problems(plan_)) AddNew(problem);
      return problems_;
    }
    const bool placed = HasPlacement(plan_);
    const auto of_placement = placed ? PlacementProblems(plan_) : std::vector<PlanProblem>();
    for (const PlanProblem& problem : of_placement) Add(problem);
    if (CheckSteps() && plan_.until_steady_ns() > 0) CheckUntilSteady();
    bool dirs_once = CheckDirOnce(plan_.workload(), "");
    for (const v1::HostSpec& host : plan_.hosts()) {
      dirs_once = CheckDirOnce(host.workload(), " on " + host.address()) && dirs_once;
    }
    if (of_placement.empty() && dirs_once && !plan_.has_watch()) CheckWorkloads();
    if (PlanKindOf(plan_).spell_criterion == nullptr) CheckCriteria();
    for (const PlanKind* const kind : kPlanKinds) {
      if (kind->problems == nullptr || !HasSection(plan_, kind->kind)) continue;
      for (const PlanProblem& problem : kind->problems(plan_)) Add(problem);
    }
    return problems_;
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    if (problems_.size() < kMostProblems) problems_.emplace_back(parts...);
  }

  void AddNew(const PlanProblem& problem) {
    const auto is_same = [&problem](const PlanProblem& other) { return other.text == problem.text; };
    if (std::none_of(problems_.begin(), problems_.end(), is_same)) Add(problem);
  }

  // Each value by its own rule; a plan may come from elsewhere than from our readers. `section` begins the keys of the
  // message: "workload."; empty: it is the plan's own, or an element of a list.
  void CheckRanges(const Message& message, const std::string& section, const std::string& where) {
    for (const FieldDescriptor& field : FieldsOf(*message.GetDescriptor())) {
      // A sweep is checked with the keys that fill it.
      if (RuleOf(field).no_key()) continue;
      for (int n = 0; n < CountOf(field, message); ++n) {
        if (KindOf(field) != ValueKind::kMessage) {
          const auto value = ParseValue(field, FormatValue(field, message, n));
          const std::string key = section + FieldKey(field);
          const PlanKey name = RuleOf(field).flag().empty() ? PlanKey(key, key) : PlanKey(key);
          if (!value.ok()) Add(name, where, ": ", value.status().message());
        } else if (field.is_repeated()) {
          const Message& item = message.GetReflection()->GetRepeatedMessage(message, &field, n);
          CheckRanges(item, "", absl::StrCat(" of ", FieldKey(field), " #", n + 1));
        } else {
          CheckRanges(message.GetReflection()->GetMessage(message, &field), FieldKey(field) + ".", where);
        }
      }
    }
  }

  void CheckHosts() {
    if (static_cast<size_t>(plan_.hosts_size()) > kMaxHosts) {
      return Add(PlanKey("hosts", "--hosts (hosts): "), plan_.hosts_size(), " hosts; a run has at most ", kMaxHosts);
    }
    std::set<std::string> paired;
    for (const std::string& pair : plan_.ha().pairs()) {
      for (const std::string& address : PairHosts(pair)) paired.insert(address);
    }
    std::set<std::string> seen;
    for (const v1::HostSpec& host : plan_.hosts()) {
      const PlanKey name =
          paired.contains(host.address()) ? PlanKey("ha.pairs") : PlanKey("hosts.address", "--hosts (hosts.address)");
      const auto addresses = ParseHostList(host.address());
      if (!addresses.ok()) {
        Add(name, ": ", std::string(addresses.status().message()));
      } else if (addresses->size() != 1) {
        Add(name, ": ", Quoted(host.address()), " is more than one host; list each of them");
      } else if (const std::string& address = addresses->front();
                 !seen.insert(absl::StartsWith(address, "unix:") ? address : absl::AsciiStrToLower(address)).second) {
        Add(PlanKey("hosts", "--hosts (hosts): "), address, " is listed twice; list every agent once");
      }
    }
  }

  void CheckWorkloads() {
    if (HasPlacement(plan_)) CheckPlacementDirs();
    bool common_checked = false;
    for (int host = 0; host < std::max(1, plan_.hosts_size()); ++host) {
      const bool own = host < plan_.hosts_size() && plan_.hosts(host).has_workload();
      if (!own && common_checked) continue;
      common_checked = common_checked || !own;
      CheckWorkload(EffectiveWorkload(plan_, host), own ? absl::StrCat(" on ", plan_.hosts(host).address()) : "");
    }
  }

  void CheckWorkload(const Workload& workload, const std::string& where) {
    CheckDirs(workload, where);
    if (!UsesFiles(workload)) CheckPrefix(workload.file_prefix(), where);
    CheckArrival(workload, where);
    const uint64_t extent_bytes = workload.file_size_bytes();
    // A file that exists is used in whole blocks.
    const bool exists = UsesPaths(workload) && !workload.create();
    if (!exists && workload.direct() != v1::DIRECT_MODE_OFF && extent_bytes % kExtentUnitBytes != 0) {
      Add(PlanKey("workload.file_size"), " ", FormatSize(extent_bytes), where, " is not a multiple of ",
          FormatSize(kExtentUnitBytes), ": use ", FormatSize((extent_bytes / kExtentUnitBytes + 1) * kExtentUnitBytes),
          ", or ", PlanKey("workload.direct", "--direct off"));
    }
    for (const uint64_t block_bytes : plan_.block_size_bytes()) {
      if (HasPlacement(plan_)) break;  // its queue managers' are looked at with the placement
      const char* const key = plan_.has_block_size_mix() ? "block_size_mix" : "block_size";
      const PlanKey block(key, absl::StrCat(PlanKey(key).text, " ", FormatSize(block_bytes)));
      for (const PlanProblem& problem : BlockProblems(block, block_bytes, workload, where)) Add(problem);
    }
    if (workload.rate_per_second() > 0 && workload.delay_ns() > 0) {
      Add(PlanKey("workload.rate"), " and ", PlanKey("workload.delay"), where,
          " are both given: a rate sets the pauses by itself, leave one of them out");
    }
  }

  void CheckArrival(const Workload& workload, const std::string& where) {
    if (workload.arrival() != v1::ARRIVAL_POISSON || workload.rate_per_second() > 0) return;
    if (plan_.limit().over() == v1::LIMIT_OVER_RATE) return;
    if (HasPlacement(plan_)) return;  // each of its queue managers has a rate
    Add(PlanKey("workload.arrival"), " poisson", where, " needs a rate: give ", PlanKey("workload.rate"),
        ", the average over time");
  }

  // Directories that queue managers of a placement have of their own are checked with it.
  void CheckPlacementDirs() {
    if (plan_.workload().has_dir()) CheckDir(plan_.workload().dir(), "");
    for (const v1::HostSpec& host : plan_.hosts()) {
      if (host.workload().has_dir()) CheckDir(host.workload().dir(), absl::StrCat(" on ", host.address()));
    }
  }

  void CheckDirs(const Workload& workload, const std::string& where) {
    // The directories that a placement's plan gives were checked by their own keys.
    if (HasPlacement(plan_) && !(workload.qm_dirs().empty() && workload.dir().empty())) return;
    if (workload.qm_dirs().empty()) return CheckDir(workload.dir(), where);
    const PlanKey name("workload.qm_dirs");
    for (int i = 0; i < workload.qm_dirs_size(); ++i) {
      if (!workload.qm_dirs(i).empty()) continue;
      return Add(name, where, ": entry ", i + 1, " is empty: name a directory for each queue manager");
    }
    if (const size_t dirs = DirsOf(workload).size(); dirs > kMaxDirectories) {
      return Add(name, where, ": ", dirs, " different directories; a host writes in at most ", kMaxDirectories);
    }
    if (static_cast<uint32_t>(workload.qm_dirs_size()) != workload.qm()) {
      Add(name, where, " lists ", workload.qm_dirs_size(), workload.qm_dirs_size() == 1 ? " directory" : " directories",
          ", and ", PlanKey("workload.qm"), " is ", workload.qm(),
          ": list one for each queue manager, or leave qm out");
    }
    for (const std::string& dir : DirsOf(workload)) {
      if (dir[0] == '/') continue;
      Add(name, where, ": ", Quoted(dir), " is not absolute: begin it with '/'");
    }
    if (const std::string twice = SameDirectoryProblem(workload); !twice.empty()) Add(name, where, ": ", twice);
  }

  // Where both are given, one of them would be ignored.
  bool CheckDirOnce(const Workload& own, const std::string& where) {
    if (!own.has_dir() || own.qm_dirs().empty()) return true;
    Add(PlanKey("workload.qm_dirs"), " and ", PlanKey("workload.dir"), where,
        " are both given: list a directory for each queue manager, or name one for all");
    return false;
  }

  void CheckDir(const std::string& dir, const std::string& where) {
    const PlanKey name("workload.dir");
    if (dir.empty()) {
      Add(name, where, " is missing: name the directory on the storage under test, as the host sees it");
    } else if (dir[0] != '/') {
      Add(name, " ", Quoted(dir), where, " is not absolute: begin it with '/'");
    }
  }

  void CheckPrefix(const std::string& prefix, const std::string& where) {
    if (!IsPlainName(prefix) || prefix[0] == '-') {
      Add(PlanKey("workload.file_prefix"), " ", Quoted(prefix), where,
          " is not a plain name: use 1 to 64 of A-Z a-z 0-9 . _ -, the first neither '.' nor '-'");
    }
  }

  void CheckMix() {
    if (!plan_.has_block_size_mix()) return;
    const PlanKey name("block_size_mix");
    const absl::StatusOr<v1::LogStep> mix = ParseSizeMix(plan_.block_size_mix());
    if (!mix.ok()) return Add(name, ": ", std::string(mix.status().message()));
    if (const RunKindFacts& kind = FactsOf(RunKindOf(plan_)); kind.kind != RunKind::kRun) {
      return Add(name, ": ", kind.noun, " takes no mix of block sizes; leave it out, or measure it with `plimsoll run`",
                 HasPlacement(plan_) ? " and without the placement" : "");
    }
    const auto& shares = mix->size_mix();
    const bool same = std::ranges::equal(plan_.block_size_bytes(), shares, {}, {}, &v1::SizeShare::block_size_bytes);
    if (!same) Add(PlanKey("block_size"), " and ", name, " are both given: the mix names its sizes itself");
  }

  void CheckGuard() {
    const RunKindFacts& kind = FactsOf(RunKindOf(plan_));
    if (kind.kind == RunKind::kHa || kind.kind == RunKind::kWatch || kind.kind == RunKind::kRestart) {
      for (const auto& [given, key] :
           {std::pair(!plan_.abort_if().empty(), "abort_if"), std::pair(plan_.has_end_by(), "end_by"),
            std::pair(plan_.has_protect(), "protect"), std::pair(plan_.has_journal_limit_bytes(), "journal_limit")}) {
        if (given) return Add(PlanKey(key), ": ", kind.noun, " takes none; leave it out");
      }
      return;
    }
    if (plan_.has_protect_factor() && !plan_.has_protect()) {
      return Add(PlanKey("protect_factor"), " needs ", PlanKey("protect"),
                 ": name a queue manager or a mount, or leave it out");
    }
    if (plan_.has_protect()) CheckProtect();
    if (plan_.abort_if_size() > kMaxConditions) {
      return Add(PlanKey("abort_if"), ": ", plan_.abort_if_size(), " conditions; a run has at most ", kMaxConditions);
    }
    for (const std::string& text : plan_.abort_if()) {
      const absl::StatusOr<AbortCondition> condition = ParseAbortCondition(text);
      if (!condition.ok()) Add(PlanKey("abort_if"), ": ", std::string(condition.status().message()));
    }
    if (!plan_.has_end_by()) return;
    // Whether it is over is asked when the run begins.
    const absl::StatusOr<WallNs> end = ParseEndTime(plan_.end_by(), WallNs{0});
    if (!end.ok()) Add(PlanKey("end_by"), ": ", std::string(end.status().message()));
  }

  void CheckProtect() {
    const auto [host, qm, log_dir, mount_point] = ProtectedOf(plan_.protect());
    if (mount_point.has_value() && !mount_point->starts_with('/')) {
      return Add(PlanKey("protect"), ": ", Quoted(plan_.protect()),
                 " names no mount point, as mount=/mnt/mqlog and node1/mount=/mnt/mqlog do");
    }
    if (!mount_point.has_value() && qm.empty() && log_dir.size() < 2)
      return Add(PlanKey("protect"), ": ", Quoted(plan_.protect()), " names no queue manager, as QM1 or node1/QM1 do");
    if (host.empty() || plan_.hosts().empty()) {
      if (!host.empty())
        Add(PlanKey("protect"), ": ", Quoted(host),
            " is not a host of the plan, which runs on this machine: leave it out");
      return;
    }
    const absl::StatusOr<std::vector<std::string>> addresses = ParseHostList(host);
    const bool known =
        addresses.ok() && addresses->size() == 1 && std::ranges::any_of(plan_.hosts(), [&](const v1::HostSpec& each) {
          return each.address() == addresses->front();
        });
    if (!known)
      Add(PlanKey("protect"), ": ", Quoted(host), " is not a host of the plan: name one of them, or none for all");
  }

  // Reads and random order are for runs, and for searches.
  void CheckAccess() {
    const bool random = plan_.access() == v1::ACCESS_RANDOM;
    const PlanKey name(random ? "access" : "read");
    if (!random && plan_.read_percent() == 0) return;
    const RunKindFacts& kind = FactsOf(RunKindOf(plan_));
    if (kind.kind != RunKind::kRun && kind.kind != RunKind::kLimit) {
      return Add(name, ": ", kind.noun,
                 " only writes, in the order of a log; leave it out, or measure it with `plimsoll run`",
                 HasPlacement(plan_) ? " and without the placement" : "");
    }
    if (random && plan_.has_block_size_mix()) {
      Add(name, " random and ", PlanKey("block_size_mix"),
          " are both given: blocks in random order have one size, leave one of them out");
    }
  }

  // Whether there are no more than a run may have.
  bool CheckSteps() {
    const bool placed = HasPlacement(plan_);
    const uint64_t steps =
        (placed ? static_cast<uint64_t>(plan_.hosts_size()) + 1 : ListedSteps(plan_)) * plan_.repeat();
    if (steps > kMaxSteps) {
      const auto swept = [](const char* key, int values) {
        return values == 0 ? PlanKey("", "") : PlanKey(key, ", " + PlanKey(key).text);
      };
      Add(PlanKey(placed ? "placement" : "block_size"), swept("workload.rate", plan_.sweep().rate_per_second_size()),
          swept("workload.qm", plan_.sweep().qm_size()), " and ", PlanKey("repeat"), " make ", steps,
          " steps; a run has at most ", kMaxSteps);
      return false;
    }
    const int64_t step_ns = plan_.duration_ns() + plan_.warmup_ns();
    if (steps > 0 && step_ns > kMaxTotalNs / static_cast<int64_t>(steps)) {
      Add(PlanKey("duration"), ": ", steps, steps == 1 ? " step of " : " steps of ", FormatReadableDuration(step_ns),
          " with warm-up; a run takes at most ", FormatReadableDuration(kMaxTotalNs), ": use shorter or fewer steps");
      return false;
    }
    return true;
  }

  void CheckUntilSteady() {
    const PlanKey name("until_steady");
    const std::string length = " " + FormatReadableDuration(plan_.until_steady_ns());
    if (const char* const why = PlanKindOf(plan_).no_rounds; why != nullptr) {
      return Add(name, ": ", why, "; leave it out");
    }
    if (plan_.duration_ns() < kLeastRoundNs) {
      return Add(PlanKey("duration"), " ", FormatReadableDuration(plan_.duration_ns()), " is too short for a round of ",
                 name, ": use ", FormatReadableDuration(kLeastRoundNs), " or more");
    }
    const uint32_t rounds = MostRounds(plan_);
    if (rounds < kSteadyRounds) {
      return Add(name, length, " is too short for ", kSteadyRounds, " rounds of ",
                 FormatReadableDuration(plan_.duration_ns()), ": use ",
                 FormatReadableDuration(kSteadyRounds * plan_.duration_ns()), " or more, or a shorter ",
                 PlanKey("duration"));
    }
    const uint64_t steps = uint64_t{rounds} * ExpandSteps(plan_).size();
    const int64_t step_ns = plan_.duration_ns() + plan_.warmup_ns();
    if (steps > kMaxSteps || step_ns > kMaxTotalNs / static_cast<int64_t>(steps)) {
      return Add(name, length, " makes up to ", steps, " steps of ", FormatReadableDuration(step_ns),
                 "; a run has at most ", kMaxSteps, " steps and takes at most ", FormatReadableDuration(kMaxTotalNs),
                 ": use a shorter one, or a longer ", PlanKey("duration"));
    }
    for (const std::string& text : plan_.criteria()) {
      const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
      if (!criterion.ok() || criterion->metric != Metric::kSteady) continue;
      Add(PlanKey("criteria"), ": ", Quoted(text), " is about one step, and ", name,
          " requires steadiness over its rounds: leave one of them out");
    }
  }

  void CheckCriteria() {
    const PlanKey name("criteria");
    if (plan_.criteria_size() > kMaxCriteria) {
      return Add(name, ": ", plan_.criteria_size(), " criteria; a run has at most ", kMaxCriteria);
    }
    for (const PlanProblem& problem : CriteriaProblems(plan_)) Add(problem);
    if (HasPlacement(plan_) && !problems_.empty()) return;
    for (const PlanProblem& problem : UndecidableCriteria(plan_)) Add(problem);
  }

  const Plan& plan_;
  std::vector<PlanProblem> problems_;
};

Plan Filled(const Plan& plan) {
  Plan filled = plan;
  FillDefaults(filled);
  return filled;
}

}  // namespace

std::vector<PlanProblem> PlanProblems(const v1::TestPlan& plan) {
  const Plan filled = Filled(plan);
  return Checker(filled).Run();
}

absl::Status CheckPlan(const v1::TestPlan& plan, const PlanPlaces& places) {
  const std::vector<std::string> problems = places.Locate(PlanProblems(plan));
  return problems.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
}

std::vector<std::string> PlanNotes(const v1::TestPlan& plan) {
  const Plan filled = Filled(plan);
  std::vector<std::string> notes;
  std::set<std::string> unsynced;
  for (int host = 0; host < std::max(1, filled.hosts_size()); ++host) {
    const Workload workload = EffectiveWorkload(filled, host);
    // Reads have no sync, and writes of files with O_DIRECT go past the page cache.
    const bool past_cache = UsesFiles(workload) && workload.direct() == v1::DIRECT_MODE_ON;
    if (workload.sync() != v1::SYNC_MODE_NONE || filled.read_percent() == kOnlyReads || past_cache) continue;
    unsynced.insert(filled.hosts_size() == 0 ? "this machine" : filled.hosts(host).address());
  }
  if (UsesFiles(filled.workload())) notes = FilesNotes(filled);
  for (std::string& note : GroupCommitNotes(filled)) notes.push_back(std::move(note));
  if (!unsynced.empty()) {
    notes.push_back(absl::StrCat(PlanKey("workload.sync").text, " none on ", *unsynced.begin(),
                                 unsynced.size() > 1 ? absl::StrCat(" and ", unsynced.size() - 1, " more") : "",
                                 ": measures memory, not storage; for comparison only"));
  }
  return notes;
}

}  // namespace plimsoll
