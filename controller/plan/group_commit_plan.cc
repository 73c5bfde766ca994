#include "controller/plan/group_commit_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/plan_defaults.h"
#include "controller/report/playback.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;

// What a client of IBM's lab did between two commits (mqio_v1, page 37; docs/group-commit.md).
constexpr int64_t kUsualThinkNs = 38'000;
// MQ's smallest extent: LogFilePages 64.
constexpr uint64_t kLeastExtentBytes = 64 * uint64_t{4096};
constexpr double kMostCommits = 1'000'000;

// What the section of a plan simulates, as problems name it.
struct CommitSource {
  explicit CommitSource(const v1::TestPlan& plan)
      : pattern(PlaysPattern(plan)),
        name(pattern ? "group_commit.pattern" : "group_commit.clients"),
        over(pattern ? "--over load-factor (limit.over)" : "--over clients (limit.over)") {}

  bool pattern;
  PlanKey name;
  const char* over;
  const char* pace = pattern ? "the recording sets the pace" : "clients set the pace";
  const char* sizes =
      pattern ? "the recorded writes make the size of each write" : "commits make the size of each write";
};

bool IsSha256(const std::string& text) {
  constexpr size_t kDigits = 64;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Keys of clients beside a recording, and those of a recording without one.
std::vector<PlanProblem> SourceProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  const PlanKey pattern("group_commit.pattern");
  for (const FieldDescriptor& field : FieldsOf(*v1::GroupCommit::descriptor())) {
    if (CountOf(field, plan.group_commit()) == 0) continue;
    const PlanKey key("group_commit." + FieldKey(field));
    if (PlaysPattern(plan) && IsOfClients(field)) {
      problems.emplace_back(key, " and ", pattern,
                            " are both given: recorded writes are played in place of clients, leave one of them out");
    } else if (!PlaysPattern(plan) && IsOfPattern(field)) {
      problems.emplace_back(key, " needs ", pattern, ": it is about a recording; give its file, or leave it out");
    }
  }
  return problems;
}

// What would judge writes that are issued as they were recorded.
// Whether the criterion is about commits. True if it cannot be read: CheckCriteria has named it.
bool MayBeOnCommits(const std::string& text) {
  const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
  return !criterion.ok() || criterion->operation == kCommitName;
}

std::vector<PlanProblem> JudgingProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  if (!PlaysWritesAsRecorded(plan)) {
    if (PlaysPattern(plan) && !plan.criteria().empty() && !std::ranges::any_of(plan.criteria(), MayBeOnCommits)) {
      problems.emplace_back(
          PlanKey("criteria"),
          ": a run that plays a recording needs one about commits, such as commit_p99<10ms: where the storage falls "
          "behind, commits wait, and the writes only become larger");
    }
    return problems;
  }
  const PlanKey playback("group_commit.playback", "--playback writes (group_commit.playback)");
  const auto add = [&](const PlanKey& key) {
    problems.emplace_back(key, " and ", playback, " are both given: the recorded writes are ", kNotWhatMqIssues,
                          ", so that they are never judged; leave it out, or use --playback demand");
  };
  if (!plan.criteria().empty()) add(PlanKey("criteria"));
  if (plan.has_limit()) add(PlanKey("limit"));
  return problems;
}

}  // namespace

bool IsOfClients(const FieldDescriptor& field) {
  if (field.containing_type() != v1::GroupCommit::descriptor()) return false;
  switch (field.number()) {
    case v1::GroupCommit::kClientsFieldNumber:
    case v1::GroupCommit::kMessageSizeBytesFieldNumber:
    case v1::GroupCommit::kThinkTimeNsFieldNumber:
    case v1::GroupCommit::kClientRatePerSecondFieldNumber:
    case v1::GroupCommit::kLogWriteIntegrityFieldNumber:
      return true;
    default:
      return false;
  }
}

bool IsOfPattern(const FieldDescriptor& field) {
  if (field.containing_type() != v1::GroupCommit::descriptor()) return false;
  switch (field.number()) {
    case v1::GroupCommit::kPatternFieldNumber:
    case v1::GroupCommit::kPatternSha256FieldNumber:
    case v1::GroupCommit::kPlaybackFieldNumber:
    case v1::GroupCommit::kLoadFactorFieldNumber:
      return true;
    default:
      return false;
  }
}

void FillGroupCommit(v1::TestPlan& plan) {
  if (!plan.has_group_commit()) return;
  v1::GroupCommit& commits = *plan.mutable_group_commit();
  if (!commits.has_pattern() && !commits.has_think_time_ns() && !commits.has_client_rate_per_second()) {
    commits.set_think_time_ns(kUsualThinkNs);
  }
  // Traces have no sizes of writes that have none of their own.
  if (!plan.has_trace()) plan.set_trace(v1::TOGGLE_OFF);
}

void ForgetGroupCommit(const v1::TestPlan& given, v1::TestPlan& plan) {
  if (!plan.has_group_commit()) return;
  v1::GroupCommit& commits = *plan.mutable_group_commit();
  for (const FieldDescriptor& field : FieldsOf(*v1::GroupCommit::descriptor())) {
    const bool other = commits.has_pattern() ? IsOfClients(field) : IsOfPattern(field);
    if (other && CountOf(field, given.group_commit()) == 0) commits.GetReflection()->ClearField(&commits, &field);
  }
}

std::vector<PlanProblem> GroupCommitProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  const auto add = [&problems](const auto&... parts) { problems.emplace_back(parts...); };
  const CommitSource source(plan);
  const PlanKey& name = source.name;
  if (plan.limit().over() == v1::LIMIT_OVER_CLIENTS && (!plan.has_group_commit() || source.pattern)) {
    add(PlanKey("limit.over", "--over clients (limit.over)"), " needs ", PlanKey("group_commit.clients"),
        ": give the largest number of clients");
  }
  if (plan.limit().over() == v1::LIMIT_OVER_LOAD_FACTOR && !source.pattern) {
    add(PlanKey("limit.over", "--over load-factor (limit.over)"), " needs ", PlanKey("group_commit.pattern"),
        ": give the recording, and the largest factor with ",
        PlanKey("group_commit.load_factor", "--load-factor (group_commit.load_factor)"));
  }
  if (!plan.has_group_commit()) return problems;
  const v1::GroupCommit& commits = plan.group_commit();
  if (const RunKindFacts& kind = FactsOf(RunKindOf(plan)); kind.kind != RunKind::kRun && kind.kind != RunKind::kLimit) {
    add(name, ": ", kind.noun, source.pattern ? " plays no recording" : " takes no clients",
        "; leave them out, or measure them with `plimsoll run`",
        HasPlacement(plan) ? " and without the placement" : "");
    return problems;
  }
  for (PlanProblem& problem : SourceProblems(plan)) problems.push_back(std::move(problem));
  if (!problems.empty()) return problems;
  if (!commits.has_clients() && !source.pattern) {
    add(name, " is missing: give the number of clients, whose log writes the other keys of group_commit describe, or ",
        PlanKey("group_commit.pattern"), " for a recording");
    return problems;
  }
  if (source.pattern && commits.pattern().empty()) {
    add(name, " is empty: name the file of a recording, which `plimsoll plan from-watch` makes");
  }
  if (commits.has_pattern_sha256() && !IsSha256(commits.pattern_sha256())) {
    add(PlanKey("group_commit.pattern_sha256"), ": ", Quoted(commits.pattern_sha256()),
        " is not a SHA-256: use 64 hexadecimal digits in lower case, or leave it out");
  }
  for (PlanProblem& problem : JudgingProblems(plan)) problems.push_back(std::move(problem));
  const PlanKey think("group_commit.think_time");
  const PlanKey rate("group_commit.client_rate");
  if (commits.has_think_time_ns() && commits.has_client_rate_per_second()) {
    add(think, " and ", rate, " are both given: clients either wait for their commits or come at a rate");
  }
  if (commits.clients() * commits.client_rate_per_second() > kMostCommits) {
    add(rate, ": ", FormatCount(commits.clients()), " clients make more than ", FormatCount(uint64_t{1'000'000}),
        " commits/s on each queue manager; use a lower rate or fewer ", name);
  }
  const auto excludes = [&](const PlanKey& other, const char* why) {
    add(name, " and ", other, " are both given: ", why, ", leave one of them out");
  };
  if (plan.has_block_size_mix()) {
    excludes(PlanKey("block_size_mix"), source.sizes);
  } else if (plan.block_size_bytes_size() > 1 ||
             (plan.block_size_bytes_size() == 1 && plan.block_size_bytes(0) != 4096)) {
    excludes(PlanKey("block_size"), source.sizes);
  }
  if (plan.read_percent() > 0) excludes(PlanKey("read"), "a log is only written");
  if (plan.access() == v1::ACCESS_RANDOM) excludes(PlanKey("access", "--access random (access)"), "a log has an order");
  if (plan.trace() == v1::TOGGLE_ON)
    excludes(PlanKey("trace", "--trace on (trace)"), "traces have no sizes of such writes");
  if (!plan.workload().files().empty()) excludes(PlanKey("workload.files"), "commits go to a queue manager's log");
  if (!plan.sweep().rate_per_second().empty()) {
    excludes(PlanKey("workload.rate"), source.pace);
    return problems;
  }
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) {
    if (workload.rate_per_second() > 0) {
      excludes(PlanKey("workload.rate"), source.pace);
    } else if (workload.delay_ns() > 0) {
      excludes(PlanKey("workload.delay"), source.pace);
    } else if (workload.file_size_bytes() < kLeastExtentBytes) {
      add(PlanKey("workload.file_size"), " ", FormatSize(workload.file_size_bytes()), " is too small for a log: use ",
          FormatSize(kLeastExtentBytes), " or more, as MQ does");
    } else {
      continue;
    }
    break;
  }
  if (RunKindOf(plan) == RunKind::kLimit && plan.limit().over() == v1::LIMIT_OVER_RATE) {
    add(PlanKey("limit.over", "--over rate (limit.over)"), " and ", name, " are both given: ", source.pace,
        "; search with ", source.over);
  }
  return problems;
}

std::vector<std::string> GroupCommitNotes(const v1::TestPlan& plan) {
  std::vector<std::string> notes;
  if (!plan.has_group_commit()) return notes;
  const std::string key = PlanKey("group_commit.log_write_integrity").text;
  if (plan.group_commit().log_write_integrity() == v1::LOG_WRITE_INTEGRITY_DOUBLEWRITE) {
    notes.push_back(absl::StrCat(key, " DoubleWrite is simulated as TripleWrite: how they differ is not public"));
  } else if (plan.group_commit().log_write_integrity() == v1::LOG_WRITE_INTEGRITY_SINGLEWRITE) {
    notes.push_back(absl::StrCat(key,
                                 " SingleWrite: safe for a queue manager only where the storage writes 4 KiB "
                                 "atomically, which is not tested"));
  }
  if (PlaysWritesAsRecorded(plan)) {
    notes.push_back(absl::StrCat(PlanKey("group_commit.playback").text, " writes: the recorded writes are ",
                                 kNotWhatMqIssues, "; the run is not judged"));
  }
  return notes;
}

void SetGroupCommit(const v1::TestPlan& plan, v1::LogStep& step) {
  if (!plan.has_group_commit()) return;
  const uint32_t clients = step.group_commit().clients();
  const double load_factor = step.group_commit().load_factor();
  v1::GroupCommit& commits = *step.mutable_group_commit();
  commits = plan.group_commit();
  if (clients > 0) commits.set_clients(clients);
  if (load_factor > 0) commits.set_load_factor(load_factor);
  if (commits.has_pattern()) {
    // Agents get its entries. A plan of many steps would repeat the path in each.
    commits.set_pattern(commits.pattern().substr(commits.pattern().rfind('/') + 1));
    commits.clear_pattern_sha256();
  }
  step.set_block_size_bytes(0);
}

const char kGroupCommitReference[] = R"(
Clients whose commits gather into the log writes of each queue manager, instead of `block_size`
([group-commit.md](group-commit.md)), or, with `pattern`, recorded log writes ([playback.md](playback.md)). Such a plan takes no `rate`, `delay`, `read`,
`access: random`, `files` or traces, and no placement. `clients`, `message_size`, `think_time`, `client_rate` and `log_write_integrity` describe clients and
are refused with a `pattern`; `pattern_sha256`, `playback` and `load_factor` are refused without one. With `playback: writes` the writes are
not what MQ would issue here: such a plan takes no `criteria`, and no `limit`.
)";

}  // namespace plimsoll
