#include <google/protobuf/descriptor.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/files_plan.h"
#include "controller/plan/group_commit_plan.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_yaml.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr char kExampleHead[] =
    "# A plan for 'plimsoll run PLAN.yaml'. Every key may be left out but 'dir'; options override the plan.\n"
    "# Sizes: bytes, or k, m, g, t (base 1024). Times: ns, us, ms, s, m, h, d; a bare number is in seconds unless "
    "noted.\n";

constexpr char kAcceptHead[] =
    "# A plan for 'plimsoll accept PLAN.yaml'. Every key may be left out but 'dir' and 'criteria'; options override "
    "the plan.\n"
    "# Sizes: bytes, or k, m, g, t (base 1024). Times: ns, us, ms, s, m, h, d; a bare number is in seconds unless "
    "noted.\n";

// Text of the values, as a plan holds them.
std::string ExampleValue(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  std::string text = rule.default_value().empty() ? rule.example() : rule.default_value();
  // A choice and a switch without a default.
  if (text.empty() && KindOf(field) == ValueKind::kEnum) text = EnumWords(*field.enum_type()).front();
  if (text.empty() && KindOf(field) == ValueKind::kBool) text = "true";
  std::vector<std::string> values = field.is_repeated() ? SplitList(field, text) : std::vector<std::string>{text};
  if (KindOf(field) == ValueKind::kText) {
    for (std::string& value : values) value = YamlText(value);
  }
  return field.is_repeated() ? absl::StrCat("[", absl::StrJoin(values, ", "), "]") : values.front();
}

// Stands in place of other keys, which the example has: it is shown as a comment.
bool IsAlternative(const FieldDescriptor& field) {
  return IsFilesField(field) ||
         &field == v1::LogWorkload::descriptor()->FindFieldByNumber(v1::LogWorkload::kQmDirsFieldNumber) ||
         &field == v1::TestPlan::descriptor()->FindFieldByNumber(v1::TestPlan::kBlockSizeMixFieldNumber);
}

class ExampleWriter {
 public:
  // `sections`: those to show; others belong to other commands.
  explicit ExampleWriter(std::set<const Descriptor*> sections = {}) : sections_(std::move(sections)) {}

  // `in_list`: the message is an element of a list, and its first key stands behind a dash. `brief`: only fields with
  // an example, since the same message is shown in full elsewhere.
  void Write(const Descriptor& message, int indent, bool in_list, bool brief) {
    bool first = true;
    for (const FieldDescriptor& field : FieldsOf(message)) {
      if (brief && (RuleOf(field).example().empty() || IsFilesField(field))) continue;
      if (RuleOf(field).section() && sections_.count(field.message_type()) == 0) continue;
      WriteField(field, indent, in_list && first, in_list);
      first = false;
    }
  }

  const std::string& text() const { return text_; }

 private:
  void WriteField(const FieldDescriptor& field, int indent, bool dash, bool in_list) {
    const std::string margin(static_cast<size_t>(dash ? indent - 2 : indent), ' ');
    const std::string summary = Summary(field);
    const std::string& flag = RuleOf(field).flag();
    if (indent == 0) text_ += "\n";
    absl::StrAppend(&text_, margin, "# ", RuleOf(field).help(), "\n");
    if (!flag.empty() || !summary.empty()) {
      absl::StrAppend(&text_, margin, "#   ", flag.empty() ? "" : absl::StrCat("--", flag),
                      flag.empty() || summary.empty() ? "" : ": ", summary, "\n");
    }
    absl::StrAppend(&text_, margin, dash ? "- " : "", IsAlternative(field) ? "# " : "", FieldKey(field), ":");
    if (KindOf(field) != ValueKind::kMessage) {
      absl::StrAppend(&text_, " ", ExampleValue(field), "\n");
    } else {
      text_ += "\n";
      Write(*field.message_type(), indent + (field.is_repeated() ? 4 : 2), field.is_repeated(), in_list);
    }
  }

  const std::set<const Descriptor*> sections_;
  std::string text_;
};

}  // namespace

std::string ExamplePlan() {
  ExampleWriter writer;
  writer.Write(*v1::TestPlan::descriptor(), 0, false, false);
  return kExampleHead + writer.text();
}

std::string ExamplePlacement() {
  constexpr char kHead[] =
      R"(# Does the cluster carry its load with any one host down? For 'plimsoll run PLAN.yaml' (docs/placement.md).
# 'plimsoll plan check PLAN.yaml' shows which queue managers write on which host in each step, and the space needed.
# All other keys: 'plimsoll plan example'.

hosts: node[1-3]

workload:
  # Directory on the storage under test
  dir: /mnt/mqlog
  # The rate of queue managers that have none of their own
  rate: 100
  # When writes start: even, poisson (at random) or aligned
  arrival: poisson

# The block size of queue managers that have none of their own
block_size: 4k

# Of each step: all hosts up, and then each host down
duration: 60s
warmup: 5s

# Must hold in every step, as the rates must
criteria:
  - p99<10ms

placement:
)";
  constexpr char kMore[] = R"(  - {qm: ORDERS, home: node2, standby: node3, rate: 250}
  - {qm: STOCK, home: node3, standby: node1, block_size: 8k}
  - {qm: LEDGER, home: node3, standby: node2}
)";
  ExampleWriter writer;
  writer.Write(*v1::PlacedQueueManager::descriptor(), 4, true, false);
  return absl::StrCat(kHead, writer.text(), kMore);
}

std::string ExampleAcceptPlan() {
  ExampleWriter writer({v1::AcceptPlan::descriptor(), v1::LimitPlan::descriptor()});
  writer.Write(*v1::TestPlan::descriptor(), 0, false, false);
  const auto help = [](int number) { return RuleOf(*v1::TestPlan::descriptor()->FindFieldByNumber(number)).help(); };
  // Where there is a search, random arrivals are the default (FillDefaults); and both sections are of this command.
  return kAcceptHead + absl::StrReplaceAll(
                           writer.text(),
                           {{"--arrival: default even", "--arrival: default poisson"},
                            {"  arrival: even\n", "  arrival: poisson\n"},
                            // Without a rate, an acceptance needs a limit for stalls, too.
                            {"criteria: [\"p99<10ms\"]", "criteria: [\"p99<10ms\", \"max<500ms\"]"},
                            {help(v1::TestPlan::kLimitFieldNumber), "How the highest load is searched (docs/limit.md)"},
                            {help(v1::TestPlan::kAcceptFieldNumber), "What the acceptance does (docs/accept.md)"}});
}

namespace {

constexpr char kReferenceHead[] = R"(# Plans

<!-- Made by `plimsoll plan reference`. -->

A plan defines what to run: hosts, workload, steps, limits, criteria. It is a YAML file, or options of `plimsoll run`, or both:
options override the plan, also where a host of the plan has a value of its own. `plimsoll plan check FILE` checks a plan,
`plimsoll plan example` prints one.

## How values are written

- **Size**: bytes, or a number with `k`, `m`, `g`, `t`, in either case, base 1024: `4096`, `64k`, `1g`.
- **Time**: a number with `ns`, `us`, `ms`, `s`, `m`, `h`, `d`: `250us`, `1.5s`. A number alone is in seconds, for `delay` in
  microseconds.
- **List**: a YAML list, `[4k, 64k]`, or text with commas, `4k,64k`. `rate` and `qm` may be lists, too ([sweeps](#keys-of-workload)).
- A plan has no anchors, aliases or tags, is one UTF-8 document of at most 1 MiB, and names at most 4096 hosts.
- Each error is one line with its place: `plan.yaml:12:5: 'qmm' is not a key of workload; ...`.
)";

constexpr char kHosts[] = R"(
Each element is an address, or a map of these keys. `hosts` may also be text with commas, as for the option `--hosts`;
`--hosts-file` reads a file with addresses separated by blanks, commas or line ends, and comments after `#`. Both replace the
plan's hosts; a host that the plan lists keeps its own workload.

An address is `host`, `host:port`, `[v6]:port` or `unix:/path`; the port is 7461 unless given. Numbers in brackets make
several hosts: `node[1-4]`, `node[08-12].example`, `rack[1-2]-node[1,3,5-8]`. Numbers with leading zeros keep their width.
)";

constexpr char kWorkload[] = R"(
The plan's `workload` applies to every host; a host's own `workload` overrides it there.
)";

constexpr char kMqLog[] =
    R"(
Intervals of amqsrua's output as points, which the report shows over the measured bandwidth ([from-mq.md](from-mq.md#the-articles-chart)).
`plimsoll plan from-mq --sweep` writes them. The lists have the same length, by rising `bandwidth_mb`. They affect neither the run nor its verdict, and need
steps of log writes at full speed: no `rate`, `delay`, `read`, `block_size_mix`, `group_commit`, `files` or list of `qm`.
)";

constexpr char kSweeps[] = R"(
**Mixed sizes.** `block_size_mix: 4k=70,64k=30` (`--bsize-mix`) makes one step whose blocks have several sizes, with the share of each in percent:
2 to 16 sizes, multiples of 4k, 100 % together. Each queue manager draws the size of each of its blocks at random, in an order of its own that `seed`
determines; a block that does not fit into the rest of an extent begins the next one. Figures and criteria are those of all blocks together, and traces
have the size of each. Searches, drills, acceptances and placements take blocks of one size.

**Reads.** `read: 30` (`--read-percent`) makes 30 of each hundred operations of a queue manager read a block of its log files; the
others write. `seed` determines which read. `access: random` (`--access`) takes the blocks of all its files in random order, each once
before any is taken again. Every block was written before the run. Reads and writes have figures of their own. A `rate` is that of
reads and writes together, and an operation that was not issued counts among those that it belongs to. With `read: 100` all figures and
criteria are about the reads. Otherwise criteria are about the writes; `read_p99`, `read_max`, `read_iops`, `read_mbps` and so on name figures of the reads.
Reads through the page cache (without O_DIRECT) may show the host's memory: no criterion passes then. Drills, acceptances and
placements only write; blocks in random order have one size.

**Files.** `files: [F...]` (`--files`) reads and writes files of any kind in place of the extents of a log, with `qm` threads on each host: files that the
run makes and removes (plain names), or files and block devices that exist (absolute paths, which agents must allow). [files.md](files.md) has the
rules: how threads share files, `create`, `one_pass`, `share`, and what an agent lets a plan open. `num_files`, `file_prefix` and `qm_dirs` have no meaning
then, and the keys from `share` to `pause` have one only with `files`. A host's own workload cannot have them.

**Sweeps.** In the plan's own workload, `rate` and `qm` may be lists: `rate: [0, 100, 200]`, or `--rate 0,100,200 --qm 1,2,4`. The run
then has a step for each combination of block size, rate and number of queue managers. The block size changes least often, then the rate,
then the number of queue managers: `block_size: [4k, 64k]`, `rate: [100, 200]` and `qm: [1, 2]` make eight steps, the first four with 4k, and the
first two of these with a rate of 100. The rate 0 is a closed loop. Each host prepares once, for the largest number of queue managers; in
a step with fewer, the first ones write. Criteria must hold in every step; one for `rate_achieved` or `not_issued` is not about a closed loop.

A list must not have a value twice, and no host may have a value of its own for a key with a list. With a list of `qm`, `qm_dirs` is
refused. Searches (`limit`), drills (`ha`), acceptances, placements and `plimsoll ab` take one value. `plimsoll compare` refuses a sweep,
because it would pool steps with different loads.
)";

constexpr char kCriteria[] = R"(
## Criteria

`metric [@where] comparison limit`, such as `p99<10ms`, `max@host<=500ms`, `iops@4k>=2000`, `stalls[host_path]==0`, `steady`.

)";

constexpr char kCriteriaRules[] = R"(
The comparison is `<`, `<=`, `>`, `>=` or `==`, or `:`, which no shell takes for its own: `p99:10ms` is `p99<10ms`, `iops:2000`
is `iops>=2000`, `stalls:0` is `stalls==0`. It stands for `>=` where higher values are better; where lower ones are, for `<` before a
time, otherwise for `<=`, and for `==` before 0, except for latencies. `stalls@host_path:0` is `stalls[host_path]==0`. A bound on the
wrong side, such as `p99>10ms`, is refused; so is a criterion that no run of the plan could show to be met, such as `steady` in 3 s or
`hosts>=5` of one host, and a percentile for which `rate` or `delay` allow too few writes.

A criterion must hold in every step, or, with a block size as in `p99@64k<20ms`, in every step with that block size. It must hold for all writers taken together (`@cluster`), for each storage
(`@storage`: the hosts that see each other's files), for each host (`@host`) or for each queue manager (`@qm`); the default is the
bold one in the table. A scope and a block size can be combined: `p99@host@64k<20ms`.

**Latencies** are response times: with `rate` from the scheduled start of a write, otherwise the same as its service time, the
time of the write alone. `service_p99`, `service_max` and so on name the service time. With `sync: fdatasync` that includes the sync:
`sync_p99`, `sync_max` and so on name the time of the sync alone, `write_call_p99` that of the write before it. With `read`, `read_p99` and so on
name the latency of the reads. Without a scope a latency must hold for
every queue manager, because a queue manager waits only for its own writes, and one slow host among 200 would not show in the sum.
The largest limit is 1 h, where histograms end.

**A target rate is a criterion.** If a queue manager has a `rate` and the plan has criteria, `rate_achieved>=99%` is added, which the
report shows; with a `placement` also where the plan has none. A `rate_achieved` criterion of the plan replaces it, for its block size or
for all of them; with a `placement` only one for the least share of each queue manager, such as `rate_achieved>=95%`. Writes due in the
warm-up do not count: a backlog from the warm-up shows in the response times.

**A steady state.** `steady` judges five equal parts of one step. With `until_steady` the steps of the plan are measured in rounds, each
of them once in a round, until the range of IO/s (largest less smallest) of the last five rounds of every step is at most 20 % of their
mean, and the line through them rises or falls by at most 10 % of it (SNIA PTS 2.0.1). A round takes the step's `duration`, 1 s or more. All
other criteria must hold in every round. If the rounds are not steady when each step was measured for as long as `until_steady` allows, the
run is INCONCLUSIVE. With a `rate`, IO/s is what the schedule makes it: there
`rate_achieved` and the latencies show what the storage does.

**Percentiles and chance.** Among many queue managers some percentile lies above its limit by chance. A percentile fails where the
writes beyond the limit are too many to be chance: binomial, at 1 % over all scopes and steps of the criterion, by
Bonferroni's correction. If it is above the limit but may be chance, or has fewer than ten writes beyond the percentile, the
criterion is INCONCLUSIVE, and its reason states how long a step must be to decide it.

**Missing data decide nothing.** If data were refused or a clock is coarse, a criterion passes or fails only if it would for any value
of the missing part; the same applies where several seconds arrived as one average (`min_second_iops`). If there is no value (last
column), the criterion is INCONCLUSIVE. A run that lost a host, or with a failed write on a host, is INCONCLUSIVE unless a criterion
such as `hosts>=199` holds; a limit that the measured data exceed is still FAIL.

**A clock at the wrong speed decides nothing.** Latencies come from the clock of their host. If that clock gained and lost more in a
step than `--max-slew` allows for its length, beside what it lost while its host reported to be suspended, no figure of the step
passes or fails a criterion: the run is INCONCLUSIVE and names the clock with its speed. The same holds where a host answered no clock
probe for more than a second and a tenth of a step: then the clock's speed is not known. Bounds decide, so that a clock within
`--max-slew` is never accused. If most hosts deviate alike, the controller's own clock is named. `hosts` and `nfs_retransmits`, which no
clock measures, are decided all the same; so are steps in which the clocks were right.

**Waiting for a CPU decides nothing.** If a host's writers waited for a CPU for more than 5 % of the time, or its recorder ran more than
50 ms late, that host may be too busy to measure the storage. A criterion then fails only by what waiting cannot explain: latencies by
more than all writers of the host waited in all, throughput and rates by more than the waiting can have cost. Otherwise it is
INCONCLUSIVE, and the way out is a run with idle CPUs. A PASS of `plimsoll run` stays: the criteria hold for the writes that were
measured, whose latencies include the waiting. In a closed loop, without a target rate, there may have been fewer writes than the storage would
have let through: the PASS is one for the load that was reached, which the line below the verdict says. `plimsoll accept` does not take it for
the load to accept ([accept.md](accept.md)).

**Late starts decide nothing either.** With a target rate, the part of a response time by which the writer itself started late, although
no write of it was in flight, is its start delay. A response time fails a criterion only if it exceeds the limit without its start delay,
however short the delays are. `rate_achieved` and `not_issued` fail only by more writes than the writer could have issued in the time it
lost that way. Otherwise the criterion is INCONCLUSIVE, and the reason names the longest delay.

**A percentile does not see a stall of a closed loop.** Without a target rate, a writer that hangs for seconds has one slow write among
thousands. If the step of a PASS had stalls that no criterion about `max`, `stalls` or `longest_stall` tests, a warning stands beside the
verdict. With a `rate`, the response times of the writes that were overdue show the stall.

Classes of stalls for `stalls[class]` and `longest_stall[class]`: )";

constexpr char kHaCriteriaRules[] = R"(
`metric comparison limit`, such as `takeover_max<30s` or `takeover_max:30s`; it must hold over the whole drill. Lower values are better,
and a lower bound is refused. A time is known within the error of two clocks: if that error could change the result, the criterion is INCONCLUSIVE.

)";

std::string Code(const std::string& text) {
  return text.empty() ? "" : absl::StrCat("`", text, "`");
}

std::string ValueWord(const FieldDescriptor& field) {
  std::string word;
  switch (KindOf(field)) {
    case ValueKind::kSize:
      word = "size";
      break;
    case ValueKind::kTime:
      word = "time";
      break;
    case ValueKind::kInteger:
      word = "whole number";
      break;
    case ValueKind::kNumber:
      word = "number";
      break;
    case ValueKind::kEnum:
      return absl::StrJoin(EnumWords(*field.enum_type()), ", ",
                           [](std::string* out, const std::string& value) { absl::StrAppend(out, Code(value)); });
    case ValueKind::kBool:
      return "`true`, `false`";
    case ValueKind::kText:
      word = "text";
      break;
    case ValueKind::kMessage:
      word = "map";
      break;
  }
  return field.is_repeated() ? absl::StrCat("list: ", word) : word;
}

std::string Row(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  std::vector<std::string> options;
  if (!rule.flag().empty()) {
    options.push_back(Code(absl::StrCat("--", rule.flag(), rule.bare_flag().empty() ? "" : "[=TIME]")));
  }
  for (const std::string& alias : rule.alias()) options.push_back(Code("--" + alias));
  const std::vector<std::string> cells = {Code(FieldKey(field)), absl::StrJoin(options, ", "),
                                          ValueWord(field),      Code(rule.default_value()),
                                          RangeText(field),      rule.help()};
  std::string row = "|";
  for (const std::string& cell : cells) {
    absl::StrAppend(&row, cell.empty() ? "" : " ", absl::StrReplaceAll(cell, {{"|", "\\|"}}), " |");
  }
  return row + "\n";
}

std::string Table(const Descriptor& message) {
  std::string table =
      "\n| Key | Option | Value | Default | Limits | Meaning |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const FieldDescriptor& field : FieldsOf(message)) {
    if (!RuleOf(field).no_key()) table += Row(field);
  }
  return table;
}

std::string Sections() {
  std::string text;
  for (const PlanKind* const kind : kPlanKinds) {
    const FieldDescriptor& field = *FindField(*v1::TestPlan::descriptor(), FactsOf(kind->kind).section);
    absl::StrAppend(&text, "\n## Keys of `", FieldKey(field), "`\n", kind->reference, Table(*field.message_type()));
    for (const FieldDescriptor& below : FieldsOf(*field.message_type())) {
      if (below.message_type() == nullptr || RuleOf(below).no_key()) continue;
      absl::StrAppend(&text, "\n## Keys of `", FieldKey(below), "` in `", FieldKey(field), "`\n",
                      Table(*below.message_type()));
    }
    text += kind->reference_end;
  }
  return text;
}

}  // namespace

std::string PlanReference() {
  return absl::StrCat(kReferenceHead, "\n## Keys of the plan\n", Table(*v1::TestPlan::descriptor()),
                      "\n## Keys of `hosts`\n", kHosts, Table(*v1::HostSpec::descriptor()), "\n## Keys of `workload`\n",
                      kWorkload, Table(*v1::LogWorkload::descriptor()), kSweeps, "\n## Keys of `group_commit`\n",
                      kGroupCommitReference, Table(*v1::GroupCommit::descriptor()), Sections(),
                      "\n## Keys of `mq_log`\n", kMqLog, Table(*v1::MqLog::descriptor()), kCriteria, MetricTable(),
                      kCriteriaRules, StallClassNames(), ".\n\n## Criteria of HA drills\n", kHaCriteriaRules,
                      HaMetricTable(), "\n## Example\n\n```yaml\n", ExamplePlan(), "```\n");
}

}  // namespace plimsoll
