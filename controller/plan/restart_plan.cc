#include "controller/plan/restart_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/field_rules.h"
#include "common/page_stamp.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"
#include "controller/report/restart_model.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

constexpr uint32_t kUsualRecords[] = {500, 1'000, 2'000};
// More would be a plan by mistake.
constexpr uint64_t kMostTrials = 100'000;
constexpr size_t kMostRestartDirs = 64;
constexpr uint64_t kMostLogBytes = uint64_t{1} << 40;
constexpr uint64_t kMostQueueBytes = uint64_t{1} << 40;

uint64_t PagesUp(uint64_t bytes) {
  return (bytes + kStampedPageBytes - 1) / kStampedPageBytes * kStampedPageBytes;
}

uint64_t ShareUp(uint64_t all, uint64_t parts) {
  return (all + parts - 1) / parts;
}

uint64_t LogCapacity(const v1::TestPlan& plan) {
  return plan.workload().file_size_bytes() * plan.workload().num_files();
}

// Of the largest record of any case; with messages of 100 MiB and 10^7 records less than 2^50.
uint64_t LargestLogBytes(const v1::TestPlan& plan) {
  uint64_t largest = 0;
  for (const uint64_t message_bytes : plan.restart_time().message_size_bytes()) {
    const std::vector<uint64_t> records = RestartRecords(plan, message_bytes);
    largest = std::max(largest, std::ranges::max(records) * (kPutRecordBytes + message_bytes));
  }
  return PagesUp(largest);
}

uint64_t LargestMetadataBytes(const v1::RestartPlan& restart) {
  return PagesUp(std::ranges::max(restart.depth()) * restart.metadata_bytes());
}

// Of one queue.
uint64_t LargestMessageArea(const v1::TestPlan& plan) {
  const v1::RestartPlan& restart = plan.restart_time();
  uint64_t largest = 0;
  for (const uint64_t message_bytes : restart.message_size_bytes()) {
    const std::vector<uint64_t> records = RestartRecords(plan, message_bytes);
    largest =
        std::max({largest, ShareUp(std::ranges::max(records), restart.queues()) * (kPutRecordBytes + message_bytes),
                  ShareUp(std::ranges::max(restart.uncommitted()), restart.queues()) * message_bytes});
  }
  return PagesUp(largest);
}

void FillRestartDefaults(v1::TestPlan& plan) {
  v1::RestartPlan& restart = *plan.mutable_restart_time();
  FillMessage(restart);
  if (restart.records().empty() && restart.log_used_percent().empty()) {
    for (const uint32_t records : kUsualRecords) restart.add_records(records);
  }
}

class RestartChecker {
 public:
  explicit RestartChecker(const v1::TestPlan& plan) : plan_(plan), restart_(plan.restart_time()) {}

  std::vector<PlanProblem> Run() {
    if (const RunKindFacts& kind = FactsOf(RunKindOf(plan_)); kind.kind != RunKind::kRestart) {
      Add(PlanKey(kind.section), " and ", PlanKey("restart_time"), " are both given: a plan is ", kind.noun,
          ", or one of restart I/O");
      return problems_;
    }
    CheckDirs();
    CheckLists();
    if (problems_.empty()) CheckSizes();
    return problems_;
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    problems_.emplace_back(parts...);
  }

  void CheckDirs() {
    const std::vector<std::string> dirs = RestartDirs(plan_);
    std::set<std::string> seen;
    for (const std::string& dir : dirs) {
      if (!seen.insert(dir).second) Add(PlanKey("workload.qm_dirs"), ": ", dir, " is listed twice; list it once");
    }
    if (dirs.size() > kMostRestartDirs) {
      Add(PlanKey("workload.qm_dirs"), ": ", dirs.size(), " directories; at most ", kMostRestartDirs, " are compared");
    }
    if (plan_.hosts_size() > 1) {
      Add(PlanKey("hosts"), ": ", plan_.hosts_size(),
          " hosts are listed, and a queue manager restarts on one: name that one");
    }
    if (!plan_.criteria().empty()) {
      Add(PlanKey("criteria"), ": a measurement of restart I/O is a model and decides nothing; leave them out");
    }
    for (const auto& [given, key] : {std::pair(plan_.workload().rate_per_second() > 0, "workload.rate"),
                                     std::pair(!plan_.workload().files().empty(), "workload.files"),
                                     std::pair(plan_.keep_files(), "keep_files")}) {
      if (given) Add(PlanKey(key), ": has no meaning for the I/O of a restart; leave it out");
    }
    if (plan_.workload().file_size_bytes() % kStampedPageBytes != 0) {
      Add(PlanKey("workload.file_size"), " ", FormatSize(plan_.workload().file_size_bytes()), " is not a multiple of ",
          FormatSize(kStampedPageBytes));
    }
  }

  void CheckLists() {
    if (!restart_.records().empty() && !restart_.log_used_percent().empty()) {
      Add(PlanKey("restart_time.records"), " and ", PlanKey("restart_time.log_used"),
          " are both given: the share of the log says how many records there are; leave one of them out");
    }
    const auto twice = [this](const auto& values, const char* key) {
      const std::set<std::decay_t<decltype(values[0])>> once(values.begin(), values.end());
      if (once.size() < static_cast<size_t>(values.size())) {
        Add(PlanKey(key), " lists a value twice; list every value once");
      }
    };
    twice(restart_.records(), "restart_time.records");
    twice(restart_.log_used_percent(), "restart_time.log_used");
    twice(restart_.redo(), "restart_time.redo");
    twice(restart_.depth(), "restart_time.depth");
    twice(restart_.message_size_bytes(), "restart_time.message_size");
    twice(restart_.uncommitted(), "restart_time.uncommitted");
    twice(restart_.transactions(), "restart_time.transactions");
    twice(restart_.load(), "restart_time.load");
  }

  void CheckSizes() {
    const uint64_t log_bytes = LargestLogBytes(plan_);
    if (log_bytes > kMostLogBytes) {
      Add(PlanKey("restart_time.records"), ": a log of ", FormatSizeForPeople(log_bytes), " is more than ",
          FormatSizeForPeople(kMostLogBytes), "; ask for fewer records or smaller messages");
      return;
    }
    const uint64_t queue_bytes = LargestMetadataBytes(restart_) + LargestMessageArea(plan_);
    if (queue_bytes > kMostQueueBytes) {
      Add(PlanKey("restart_time.depth"), ": a queue file of ", FormatSizeForPeople(queue_bytes), " is more than ",
          FormatSizeForPeople(kMostQueueBytes), "; ask for less depth, fewer uncommitted or smaller messages");
      return;
    }
    const uint64_t trials = RestartCases(plan_).size() * RestartDirs(plan_).size() * restart_.rounds();
    if (trials > kMostTrials) {
      Add(PlanKey("restart_time.rounds"), ": ", trials, " measurements are more than ", kMostTrials,
          "; ask for fewer rounds, or for shorter lists");
    }
  }

  const v1::TestPlan& plan_;
  const v1::RestartPlan& restart_;
  std::vector<PlanProblem> problems_;
};

std::vector<PlanProblem> RestartPlanProblems(const v1::TestPlan& plan) {
  return RestartChecker(plan).Run();
}

}  // namespace

std::vector<std::string> RestartDirs(const v1::TestPlan& plan) {
  const v1::LogWorkload workload = EffectiveWorkload(plan, 0);
  if (workload.qm_dirs().empty()) return {workload.dir()};
  return {workload.qm_dirs().begin(), workload.qm_dirs().end()};
}

std::vector<uint64_t> RestartRecords(const v1::TestPlan& plan, uint64_t message_bytes) {
  const v1::RestartPlan& restart = plan.restart_time();
  std::vector<uint64_t> records(restart.records().begin(), restart.records().end());
  for (const double percent : restart.log_used_percent()) {
    const double bytes = static_cast<double>(LogCapacity(plan)) * percent / 100;
    const double count = std::floor(bytes / static_cast<double>(kPutRecordBytes + message_bytes));
    records.push_back(std::max<uint64_t>(1, static_cast<uint64_t>(count)));
  }
  return records;
}

std::vector<v1::RestartTrial> RestartCases(const v1::TestPlan& plan) {
  const v1::RestartPlan& restart = plan.restart_time();
  std::vector<v1::RestartTrial> cases;
  for (const uint64_t message_bytes : restart.message_size_bytes()) {
    for (const uint64_t records : RestartRecords(plan, message_bytes)) {
      for (const int way : restart.redo()) {
        v1::RestartRedo& redo = *cases.emplace_back().mutable_redo();
        redo.set_way(static_cast<v1::RestartRedoWay>(way));
        redo.set_records(records);
        redo.set_record_bytes(kPutRecordBytes + message_bytes);
        redo.set_round_trips_per_record(restart.round_trips_per_record());
      }
    }
  }
  for (const uint64_t depth : restart.depth()) {
    if (depth == 0) continue;
    for (const int way : restart.load()) {
      v1::RestartLoad& load = *cases.emplace_back().mutable_load();
      load.set_way(static_cast<v1::RestartLoadWay>(way));
      load.set_bytes_per_queue(depth * restart.metadata_bytes());
    }
  }
  for (const uint64_t message_bytes : restart.message_size_bytes()) {
    for (const uint64_t messages : restart.uncommitted()) {
      if (messages == 0) continue;
      std::set<uint64_t> counts;  // a transaction has a message at least
      for (const uint64_t transactions : restart.transactions()) counts.insert(std::min(transactions, messages));
      for (const uint64_t transactions : counts) {
        v1::RestartUndo& undo = *cases.emplace_back().mutable_undo();
        undo.set_messages(messages);
        undo.set_message_bytes(message_bytes);
        undo.set_transactions(transactions);
      }
    }
  }
  return cases;
}

v1::RestartWork MakeRestartWork(const v1::TestPlan& plan) {
  const v1::RestartPlan& restart = plan.restart_time();
  v1::RestartWork work;
  for (const std::string& dir : RestartDirs(plan)) work.add_dirs(dir);
  work.set_log_bytes(LargestLogBytes(plan));
  work.set_log_file_bytes(plan.workload().file_size_bytes());
  work.set_queues(restart.queues());
  work.set_metadata_bytes(LargestMetadataBytes(restart));
  work.set_queue_bytes(kStampedPageBytes + work.metadata_bytes() + LargestMessageArea(plan));
  work.set_queue_io(restart.queue_io());
  work.set_drop_caches(restart.drop_caches());
  if (plan.workload().has_min_free_bytes()) work.set_min_free_bytes(plan.workload().min_free_bytes());
  work.set_seed(plan.seed());
  return work;
}

std::vector<v1::LogWorkload> RestartFilledWorkloads(const v1::TestPlan& plan) {
  const v1::RestartWork work = MakeRestartWork(plan);
  v1::LogWorkload filled = EffectiveWorkload(plan, 0);
  filled.set_file_size_bytes(work.log_bytes() + work.queues() * work.queue_bytes());
  filled.set_num_files(1);
  return {filled};
}

std::vector<std::string> DescribeRestart(const v1::TestPlan& plan) {
  const v1::RestartPlan& restart = plan.restart_time();
  const v1::RestartWork work = MakeRestartWork(plan);
  const std::vector<std::string> dirs = RestartDirs(plan);
  const uint64_t of_each = work.log_bytes() + work.queues() * work.queue_bytes();
  return {
      absl::StrCat("Directories  ", absl::StrJoin(dirs, ", ")),
      absl::StrCat("Bytes        ", FormatSizeForPeople(of_each), " in each: a log of ",
                   FormatSizeForPeople(work.log_bytes()), ", ", work.queues(), " queue files of ",
                   FormatSizeForPeople(work.queue_bytes())),
      absl::StrCat("Measured     ", RestartCases(plan).size() * dirs.size(), " times in each of ", restart.rounds(),
                   " rounds"),
  };
}

constinit const PlanKind kRestartPlanKind{.kind = RunKind::kRestart,
                                          .fill = FillRestartDefaults,
                                          .problems = RestartPlanProblems,
                                          .steps = [](const v1::TestPlan&) { return std::vector<v1::LogStep>(); },
                                          .of = "a measurement of restart I/O on ",
                                          .no_rounds = "a measurement of restart I/O has rounds of its own",
                                          .reference = R"(
The storage's share of a restart, for `plimsoll restart-time` ([restart-time.md](restart-time.md)). The directories that are compared are
`workload.qm_dirs` (`--vary dir=A,B`), or `workload.dir`. Of the other keys of `workload`, `file_size` and `num_files` are the size of the log
that `log_used` is a share of, and `min_free` is kept free.
)"};

}  // namespace plimsoll
