#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "controller/plan/criteria.h"
#include "controller/plan/metrics.h"
#include "controller/plan/plan_example.h"
#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr char kReferenceHead[] = R"(# Plans

<!-- Made by `plimsoll plan reference`. -->

A plan says what to run: hosts, workload, steps, limits, criteria. It is a YAML file, or options of `plimsoll run`, or both:
options override the plan, also where a host of the plan has a value of its own. `plimsoll plan check FILE` checks a plan,
`plimsoll plan example` prints one.

## How values are written

- **Size**: bytes, or a number with `k`, `m`, `g`, `t`, in either case, base 1024: `4096`, `64k`, `1g`.
- **Time**: a number with `ns`, `us`, `ms`, `s`, `m`, `h`, `d`: `250us`, `1.5s`. A number alone is in seconds, for `delay` in
  microseconds.
- **List**: a YAML list, `[4k, 64k]`, or text with commas, `4k,64k`.
- A plan has no anchors, aliases or tags, is one UTF-8 document of at most 1 MiB, and names at most 4096 hosts.
- Whatever is wrong is told in one line with its place: `plan.yaml:12:5: 'qmm' is not a key of workload; ...`.
)";

constexpr char kHosts[] = R"(
Each element is an address, or a map of these keys. `hosts` may also be text with commas, as for the option `--hosts`;
`--hosts-file` reads a file with addresses separated by blanks, commas or line ends, and comments after `#`. Both replace the
plan's hosts; a host that the plan lists keeps its own workload.

An address is `host`, `host:port`, `[v6]:port` or `unix:/path`; the port is 7461 unless given. Numbers in brackets make
several hosts: `node[1-4]`, `node[08-12].example`, `rack[1-2]-node[1,3,5-8]`. Numbers with leading zeros keep their width.
)";

constexpr char kWorkload[] = R"(
The plan's `workload` holds for every host; a host's own `workload` says what differs there.
)";

constexpr char kCriteria[] = R"(
## Criteria

`metric [@where] comparison limit`, such as `p99<10ms`, `max@host<=500ms`, `iops@4k>=2000`, `stalls[host_path]==0`, `steady`.

)";

constexpr char kCriteriaRules[] = R"(
The comparison is `<`, `<=`, `>`, `>=` or `==`. A criterion must hold in every step, or, with a block size as in
`p99@64k<20ms`, in every step with that block size. It must hold for all writers taken together (`@cluster`), for each storage
(`@storage`: the hosts that see one another's files), for each host (`@host`) or for each queue manager (`@qm`); where it names
none, the bold one of the table is meant. A scope and a block size may stand together: `p99@host@64k<20ms`.

**Latencies** are response times: with `rate` from the scheduled start of a write, otherwise the same as its service time, the
time of the write alone. `service_p99`, `service_max` and so on name the service time. Without a scope a latency must hold for
every queue manager, since a queue manager waits for its own writes only: taken together, one slow host among 200 is not seen.
The limit is 1 h at most: histograms end there.

**A target rate is a demand.** Where any queue manager has a `rate` and the plan has criteria, `rate_achieved>=99%` is added, and
the report says so. A `rate_achieved` criterion of the plan replaces it, for its block size or for all of them. What was due in the
warm-up is not asked for again: a backlog that it leaves shows in the response times.

**Percentiles and chance.** Among many queue managers some percentile lies above its limit by chance. A percentile fails where the
writes beyond the limit are too many to be chance: binomial, at 1 % over all scopes and steps that the criterion looks at, by
Bonferroni's correction. Where it is above the limit and may be chance, or has fewer than ten writes beyond the percentile, the
criterion is INCONCLUSIVE, and its reason says how long a step would have to be to decide it.

**What is not known decides nothing.** Where data were refused or a clock is coarse, a criterion passes or fails only if it does
so whatever the missing part was; so it does where several seconds arrived as one average (`min_second_iops`). Where there is no
value (last column), the criterion is INCONCLUSIVE. A run that lost a host, or on one of whose hosts a write failed, is INCONCLUSIVE
unless a criterion such as `hosts>=199` is given and holds; a limit that the measured data break is FAIL all the same.

Classes of stalls for `stalls[class]` and `longest_stall[class]`: )";

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
  if (!rule.flag().empty()) options.push_back(Code("--" + rule.flag()));
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
  for (int i = 0; i < message.field_count(); ++i) table += Row(*message.field(i));
  return table;
}

}  // namespace

std::string PlanReference() {
  return absl::StrCat(kReferenceHead, "\n## Keys of the plan\n", Table(*v1::TestPlan::descriptor()),
                      "\n## Keys of `hosts`\n", kHosts, Table(*v1::HostSpec::descriptor()), "\n## Keys of `workload`\n",
                      kWorkload, Table(*v1::LogWorkload::descriptor()), kCriteria, MetricTable(), kCriteriaRules,
                      StallClassNames(), ".\n\n## Example\n\n```yaml\n", ExamplePlan(), "```\n");
}

}  // namespace plimsoll
