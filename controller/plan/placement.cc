#include "controller/plan/placement.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/field_rules.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

// MQ's own limit of a queue manager's name.
constexpr size_t kMostNameLength = 48;
constexpr uint64_t kSectorBytes = 512;

// Number of the host with that address; nothing: the plan has none.
std::optional<uint32_t> HostNumber(const v1::TestPlan& plan, const std::string& address) {
  for (int host = 0; host < plan.hosts_size(); ++host) {
    if (plan.hosts(host).address() == address) return static_cast<uint32_t>(host);
  }
  return std::nullopt;
}

bool IsQmName(const std::string& name) {
  return !name.empty() && name.size() <= kMostNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsPlainNameChar(c) || c == '/' || c == '%'; });
}

std::string HostNames(const v1::TestPlan& plan) {
  constexpr int kMostNamed = 8;
  std::vector<std::string> names;
  for (int host = 0; host < std::min(plan.hosts_size(), kMostNamed); ++host) {
    names.push_back(ShortAddress(plan.hosts(host).address()));
  }
  if (plan.hosts_size() > kMostNamed) names.push_back(absl::StrCat(plan.hosts_size() - kMostNamed, " more"));
  return absl::StrJoin(names, ", ");
}

// Collects what is wrong.
class PlacementChecker {
 public:
  explicit PlacementChecker(const v1::TestPlan& plan) : plan_(plan) {}

  std::vector<PlanProblem> Run() {
    if (const RunKind kind = RunKindOf(plan_); kind != RunKind::kPlacement) {
      Add(PlanKey("placement"), ": ", FactsOf(kind).noun, " has none; give each its own plan");
      return problems_;
    }
    CheckWholePlan();
    for (int number = 0; number < plan_.placement_size(); ++number) CheckQueueManager(number);
    if (problems_.empty()) CheckHosts();
    CheckCriteria();
    return problems_;
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    problems_.emplace_back(parts...);
  }

  // What the placement stands in place of.
  void CheckWholePlan() {
    if (plan_.workload().has_qm() && plan_.workload().qm_dirs().empty()) {
      Add(PlanKey("workload.qm"), ": a placement lists the queue managers of each host; leave it out");
    }
    bool lists_dirs = !plan_.workload().qm_dirs().empty();
    for (const v1::HostSpec& host : plan_.hosts()) {
      lists_dirs = lists_dirs || !host.workload().qm_dirs().empty();
    }
    if (lists_dirs) {
      Add(PlanKey("workload.qm_dirs"),
          ": in a placement each queue manager names its own directory; give it there, as ",
          PlanKey("placement", "placement.dir"));
    }
    for (const v1::HostSpec& host : plan_.hosts()) {
      if (!host.workload().has_qm() || !host.workload().qm_dirs().empty()) continue;
      Add(PlanKey("hosts"), ": ", PlanKey("workload.qm", "workload.qm"), " on ", ShortAddress(host.address()),
          ": a placement lists the queue managers of each host; leave it out");
    }
    if (plan_.block_size_bytes_size() > 1) {
      Add(PlanKey("block_size"), ": a placement has one step for each host that is down, not one for each block size; ",
          "name one, or give each queue manager its own block_size");
    }
    for (int host = 0; host < plan_.hosts_size(); ++host) {
      if (EffectiveWorkload(plan_, host).delay_ns() == 0) continue;
      Add(PlanKey("workload.delay"), ": the rates of a placement set the pauses by themselves; leave it out");
      break;
    }
  }

  void CheckQueueManager(int number) {
    const v1::PlacedQueueManager& qm = plan_.placement(number);
    const std::string at = absl::StrCat("placement[", number + 1, "]");
    const std::string name = qm.has_qm() ? qm.qm() : "a queue manager";
    if (!qm.has_qm()) {
      Add(PlanKey(at), ": a queue manager without its name; expected the key 'qm'");
    } else if (!IsQmName(qm.qm())) {
      Add(PlanKey(at + ".qm"), ": ", Quoted(qm.qm()), " is not a queue manager name: use 1 to ", kMostNameLength,
          " of A-Z a-z 0-9 . _ - / %");
    } else if (const auto [first, is_new] = names_.emplace(qm.qm(), number + 1); !is_new) {
      Add(PlanKey(at + ".qm"), ": ", qm.qm(), " is there already, as number ", first->second,
          ": a queue manager has one home and one standby");
    }
    CheckHost(qm.has_home(), qm.home(), absl::StrCat(at, ".home"), name, "the host on which it runs");
    CheckHost(qm.has_standby(), qm.standby(), absl::StrCat(at, ".standby"), name, "the host that takes it over");
    if (qm.has_home() && qm.has_standby() && qm.home() == qm.standby()) {
      Add(PlanKey(at + ".standby"), ": ", name, " has its home on ", ShortAddress(qm.home()),
          " too; its standby must be another host");
    }
    if (!qm.has_rate_per_second() && HostNumber(plan_, qm.home()).has_value()) {
      Add(PlanKey(at), ": ", name, " has no rate: give it one, or one for all as ",
          PlanKey("workload.rate", "workload.rate"));
    }
    CheckDir(qm, at, name);
    CheckBlocks(qm, at, name);
    CheckRate(qm, at, name);
  }

  void CheckHost(bool given, const std::string& address, const std::string& key, const std::string& name,
                 const char* what) {
    if (!given) {
      const size_t dot = key.rfind('.');
      return Add(PlanKey(key.substr(0, dot)), ": ", name, " has no '", key.substr(dot + 1), "': name ", what);
    }
    if (HostNumber(plan_, address).has_value()) return;
    const auto parsed = ParseHostList(address);
    if (!parsed.ok()) return Add(PlanKey(key), ": ", std::string(parsed.status().message()));
    if (parsed->size() > 1) return Add(PlanKey(key), ": ", Quoted(address), " is more than one host; name one");
    Add(PlanKey(key), ": ", Quoted(ShortAddress(address)), " is not one of ", PlanKey("hosts"), " (", HostNames(plan_),
        "); name one of them, or list it there too");
  }

  void CheckDir(const v1::PlacedQueueManager& qm, const std::string& at, const std::string& name) {
    if (qm.has_dir()) {
      if (qm.dir().empty() || qm.dir()[0] != '/') {
        Add(PlanKey(at + ".dir"), ": ", Quoted(qm.dir()), " of ", name, " is not absolute: begin it with '/'");
      }
      return;
    }
    // Where none has one, the plan's own is missed.
    const auto has_dir = [](const v1::PlacedQueueManager& one) { return one.has_dir(); };
    if (std::none_of(plan_.placement().begin(), plan_.placement().end(), has_dir)) return;
    for (const std::string& address : {qm.home(), qm.standby()}) {
      const std::optional<uint32_t> host = HostNumber(plan_, address);
      if (!host.has_value() || plan_.workload().has_dir()) continue;
      if (plan_.hosts(static_cast<int>(*host)).workload().has_dir()) continue;
      Add(PlanKey(at), ": ", name, " has no directory on ", ShortAddress(address),
          ": give it a dir, or one for all as ", PlanKey("workload.dir"));
      return;
    }
  }

  // Its home and its standby may have workloads of their own.
  void CheckBlocks(const v1::PlacedQueueManager& qm, const std::string& at, const std::string& name) {
    const PlanKey block(at + ".block_size",
                        absl::StrCat(at, ".block_size: ", FormatSize(qm.block_size_bytes()), " of ", name));
    std::set<std::string> seen;
    for (const std::string& address : {qm.home(), qm.standby()}) {
      const std::optional<uint32_t> host = HostNumber(plan_, address);
      // The workload of an unknown host is not known.
      if (!host.has_value()) continue;
      const auto number = static_cast<int>(*host);
      const std::string where =
          plan_.hosts(number).has_workload() ? absl::StrCat(" on ", ShortAddress(address)) : std::string();
      for (const PlanProblem& problem :
           BlockProblems(block, qm.block_size_bytes(), EffectiveWorkload(plan_, number), where)) {
        if (seen.insert(problem.text).second) Add(problem);
      }
    }
  }

  void CheckRate(const v1::PlacedQueueManager& qm, const std::string& at, const std::string& name) {
    const double seconds = static_cast<double>(plan_.duration_ns()) / static_cast<double>(kNsPerSecond);
    if (qm.rate_per_second() <= 0 || qm.rate_per_second() * seconds >= 1) return;
    Add(PlanKey(at + ".rate"), ": ", absl::StrFormat("%g", qm.rate_per_second()), " writes/s of ", name,
        " is less than one write in ", PlanKey("duration"), " ", FormatReadableDuration(plan_.duration_ns()), ": use ",
        static_cast<int64_t>(std::ceil(1 / qm.rate_per_second())), "s or more, or a higher rate");
  }

  void CheckHosts() {
    for (int host = 0; host < plan_.hosts_size(); ++host) {
      const size_t qms = QueueManagersOf(plan_, static_cast<uint32_t>(host)).size();
      const std::string address = ShortAddress(plan_.hosts(host).address());
      if (qms == 0) {
        Add(PlanKey("hosts"), ": ", address, " is neither home nor standby of a queue manager in ",
            PlanKey("placement"), ": leave it out");
      }
      if (const uint32_t most = LargestOfWorkload(v1::LogWorkload::kQmFieldNumber); qms > most) {
        Add(PlanKey("placement"), ": ", address, " is home or standby of ", qms, " queue managers; a host has at most ",
            most);
      }
      if (const size_t dirs = DirsOf(EffectiveWorkload(plan_, host)).size(); dirs > kMaxDirectories) {
        Add(PlanKey("placement"), ": the queue managers of ", address, " have ", dirs,
            " different directories; a host writes in at most ", kMaxDirectories);
      }
      if (const std::string twice = SameDirectoryProblem(EffectiveWorkload(plan_, host)); !twice.empty()) {
        Add(PlanKey("placement"), ": on ", address, " ", twice);
      }
    }
  }

  void CheckCriteria() {
    for (const std::string& text : plan_.criteria()) {
      const auto criterion = ParseCriterion(text);
      if (!criterion.ok()) continue;
      if (criterion->block_size_bytes != 0) {
        Add(PlanKey("criteria"), ": ", Quoted(text),
            " is about one block size; in a placement each queue manager has its own: leave it out");
      }
      if (criterion->metric == Metric::kRateAchieved && criterion->block_size_bytes == 0 && !IsLeastRate(*criterion) &&
          !IsReversed(*criterion)) {
        Add(PlanKey("criteria"), ": ", Quoted(text),
            " does not demand the rate of each queue manager, as a placement must: leave it out for at least 99 %, or "
            "name a least share of each, such as rate_achieved>=95%");
      }
      if (criterion->metric == Metric::kFairness) {
        Add(PlanKey("criteria"), ": ", Quoted(text), ": the loads of a placement differ by plan: leave it out");
      }
      if (criterion->metric == Metric::kHosts) {
        Add(PlanKey("criteria"), ": ", Quoted(text),
            ": a placement is about each host's failure, so every host must be measured: leave it out");
      }
    }
  }

  const v1::TestPlan& plan_;
  std::vector<PlanProblem> problems_;
  std::map<std::string, int> names_;
};

// "PAYMENTS (16k, 400/s)".
std::string LoadText(const v1::LogQueueManager& qm) {
  return absl::StrFormat("%s (%s, %g/s)", qm.name(), FormatSize(qm.block_size_bytes()), qm.rate_per_second());
}

}  // namespace

void FillPlacement(v1::TestPlan& plan) {
  for (v1::PlacedQueueManager& qm : *plan.mutable_placement()) {
    if (qm.has_home()) qm.set_home(WithPort(qm.home()));
    if (qm.has_standby()) qm.set_standby(WithPort(qm.standby()));
  }
  if (plan.hosts().empty()) {
    std::set<std::string> listed;
    // What is not a host is left to the check.
    const auto add = [&](const std::string& address) {
      const auto hosts = ParseHostList(address);
      if (!hosts.ok() || hosts->size() != 1 || !listed.insert(address).second) return;
      plan.add_hosts()->set_address(address);
    };
    for (const v1::PlacedQueueManager& qm : plan.placement()) add(qm.home());
    for (const v1::PlacedQueueManager& qm : plan.placement()) add(qm.standby());
  }
  for (v1::PlacedQueueManager& qm : *plan.mutable_placement()) {
    if (!qm.has_block_size_bytes() && plan.block_size_bytes_size() == 1) {
      qm.set_block_size_bytes(plan.block_size_bytes(0));
    }
    const std::optional<uint32_t> home = HostNumber(plan, qm.home());
    if (qm.has_rate_per_second() || !home.has_value()) continue;
    const double rate = EffectiveWorkload(plan, static_cast<int>(*home)).rate_per_second();
    if (rate > 0) qm.set_rate_per_second(rate);
  }
}

std::vector<PlanProblem> PlacementProblems(const v1::TestPlan& plan) {
  return PlacementChecker(plan).Run();
}

std::vector<PlanProblem> BlockProblems(const PlanKey& block, uint64_t block_bytes, const v1::LogWorkload& workload,
                                       const std::string& where) {
  std::vector<PlanProblem> problems;
  const std::string extent = FormatSize(workload.file_size_bytes());
  // Sizes of files are checked with their threads.
  if (!UsesFiles(workload) && block_bytes > workload.file_size_bytes()) {
    problems.emplace_back(block, " is larger than an extent of ", extent, where, ": use at most ", extent,
                          ", or a larger ", PlanKey("workload.file_size"));
  }
  if (workload.direct() == v1::DIRECT_MODE_ON && block_bytes % kSectorBytes != 0) {
    problems.emplace_back(block, where, " is not a multiple of ", kSectorBytes, ", which O_DIRECT needs: use ",
                          FormatSize((block_bytes / kSectorBytes + 1) * kSectorBytes), ", or ",
                          PlanKey("workload.direct", "--direct off"));
  }
  return problems;
}

std::string SameDirectoryProblem(const v1::LogWorkload& workload) {
  std::map<std::string, std::string> known;
  for (const std::string& dir : DirsOf(workload)) {
    std::string path = std::filesystem::path(dir).lexically_normal().string();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const auto [first, is_new] = known.emplace(path, dir);
    if (is_new) continue;
    return absl::StrCat(Quoted(dir), " is the same directory as ", Quoted(first->second), ": give it one name");
  }
  return "";
}

std::vector<v1::LogQueueManager> QueueManagersOf(const v1::TestPlan& plan, uint32_t host) {
  std::map<std::string, uint32_t> numbers;
  for (int i = 0; i < plan.hosts_size(); ++i) numbers.emplace(plan.hosts(i).address(), static_cast<uint32_t>(i));
  std::vector<v1::LogQueueManager> all;
  for (int number = 0; number < plan.placement_size(); ++number) {
    const v1::PlacedQueueManager& placed = plan.placement(number);
    const auto home = numbers.find(placed.home());
    const auto standby = numbers.find(placed.standby());
    if (home == numbers.end() || standby == numbers.end()) continue;
    if (home->second != host && standby->second != host) continue;
    v1::LogQueueManager& qm = all.emplace_back();
    qm.set_name(placed.qm());
    qm.set_block_size_bytes(placed.block_size_bytes());
    qm.set_rate_per_second(placed.rate_per_second());
    qm.set_home(home->second);
    qm.set_standby(standby->second);
    qm.set_number(static_cast<uint32_t>(number));
  }
  return all;
}

void PlaceQueueManagers(const v1::TestPlan& plan, uint32_t host, v1::LogWorkload& workload) {
  const std::vector<v1::LogQueueManager> here = QueueManagersOf(plan, host);
  workload.set_qm(static_cast<uint32_t>(here.size()));
  workload.clear_qm_dirs();
  const auto placed = [&plan](const v1::LogQueueManager& qm) -> const v1::PlacedQueueManager& {
    return plan.placement(static_cast<int>(qm.number()));
  };
  if (std::none_of(here.begin(), here.end(), [&](const auto& qm) { return placed(qm).has_dir(); })) return;
  for (const v1::LogQueueManager& qm : here) {
    workload.add_qm_dirs(placed(qm).has_dir() ? placed(qm).dir() : workload.dir());
  }
}

std::vector<v1::LogStep> PlacementSteps(const v1::TestPlan& plan) {
  const std::vector<uint64_t> sizes = BlockSizesOf(plan);
  v1::LogStep step;
  if (sizes.size() == 1) step.set_block_size_bytes(sizes.front());
  step.set_duration_ns(plan.duration_ns());
  step.set_warmup_ns(plan.warmup_ns());
  std::vector<v1::LogStep> steps = {step};
  for (int host = 0; host < plan.hosts_size(); ++host) {
    step.set_down_host(static_cast<uint32_t>(host));
    steps.push_back(step);
  }
  return steps;
}

std::vector<uint64_t> BlockSizesOf(const v1::TestPlan& plan) {
  std::set<uint64_t> sizes;
  for (const v1::PlacedQueueManager& qm : plan.placement()) sizes.insert(qm.block_size_bytes());
  if (sizes.empty()) sizes.insert(plan.block_size_bytes().begin(), plan.block_size_bytes().end());
  return {sizes.begin(), sizes.end()};
}

std::string ShortAddress(const std::string& address) {
  return std::string(absl::StripSuffix(address, absl::StrCat(":", kDefaultPort)));
}

std::vector<std::string> DescribeQmDirs(const v1::LogWorkload& workload) {
  std::vector<std::string> lines;
  if (workload.qm_dirs().empty()) return lines;
  for (const std::string& dir : DirsOf(workload)) {
    v1::LogWorkload part = workload;
    part.set_qm(WritersIn(workload, dir));
    lines.push_back(absl::StrCat("  ", dir, ": ", FormatSizeForPeople(ExtentBytes(part)), " for ", part.qm(),
                                 part.qm() == 1 ? " queue manager" : " queue managers"));
  }
  return lines;
}

std::vector<std::string> DescribePlacement(const v1::TestPlan& plan) {
  std::vector<std::string> lines = {"Which queue managers write where (> = taken over by its standby host):"};
  std::vector<std::vector<v1::LogQueueManager>> qms;
  for (int host = 0; host < plan.hosts_size(); ++host) {
    qms.push_back(QueueManagersOf(plan, static_cast<uint32_t>(host)));
  }
  const auto name = [&plan](uint32_t host) { return ShortAddress(plan.hosts(static_cast<int>(host)).address()); };
  const std::vector<v1::LogStep> steps = PlacementSteps(plan);
  for (size_t number = 0; number < steps.size(); ++number) {
    const std::optional<uint32_t> down = DownHostOf(steps[number]);
    lines.push_back(absl::StrCat("  step ", number + 1, ", ",
                                 down ? absl::StrCat(name(*down), " down") : std::string("all hosts up")));
    for (uint32_t host = 0; host < qms.size(); ++host) {
      std::vector<std::string> here;
      for (const v1::LogQueueManager& qm : qms[host]) {
        if (HostOf(qm, down) != host) continue;
        here.push_back(absl::StrCat(qm.home() == host ? "" : ">", LoadText(qm)));
      }
      if (down != host)
        lines.push_back(absl::StrCat("    ", name(host), ": ", here.empty() ? "none" : absl::StrJoin(here, ", ")));
    }
  }
  lines.emplace_back("What each host prepares:");
  uint64_t total_bytes = 0;
  for (uint32_t host = 0; host < qms.size(); ++host) {
    const auto home = std::count_if(qms[host].begin(), qms[host].end(),
                                    [host](const v1::LogQueueManager& qm) { return qm.home() == host; });
    const v1::LogWorkload workload = EffectiveWorkload(plan, static_cast<int>(host));
    const uint64_t bytes = ExtentBytes(workload);
    total_bytes += bytes;
    lines.push_back(absl::StrCat("  ", name(host), ": ", FormatSizeForPeople(bytes), " for ", home, " at home and ",
                                 static_cast<int64_t>(qms[host].size()) - home, " on standby"));
    for (const std::string& line : DescribeQmDirs(workload)) lines.push_back("  " + line);
  }
  lines.push_back(absl::StrCat("  in all: ", FormatSizeForPeople(total_bytes)));
  return lines;
}

constinit const PlanKind kPlacementPlanKind{
    .kind = RunKind::kPlacement,
    .steps = PlacementSteps,
    .no_rounds = "the rates of a placement make its IO/s steady, whatever the storage does",
    .reference = R"(
Queue managers with a home and a standby host ([placement.md](placement.md)); `plimsoll plan example --placement` prints such a plan.
Each element is a map of these keys. It replaces `qm`, and the step for each block size; `hosts` may be left out. Every
queue manager needs a rate, which is a criterion of its own; other criteria are for all block sizes, and `hosts` and `fairness` are none.
)"};

}  // namespace plimsoll
