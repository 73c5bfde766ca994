#include "controller/render/text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/algorithm.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/render/columns.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/report/main_operation.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMicrosecondsBelowNs = 100'000;
constexpr uint64_t kLargestP99InMicrosecondsNs = 100'000'000;
constexpr uint64_t kLargestInMicrosecondsNs = 10'000'000'000;

uint64_t FeltP99Ns(const v1::ScopeReport& scope) {
  const v1::LatencyReport& latency = FeltLatency(scope);
  return latency.count() == 0 ? std::numeric_limits<uint64_t>::max() : latency.p99_ns();
}

}  // namespace

bool HasTargetRate(const v1::StepReport& step) {
  return absl::c_any_of(step.scopes(), [](const v1::ScopeReport& scope) { return scope.has_rate(); });
}

std::optional<v1::ScopeReport> ReadScope(const v1::OperationReport& reads, const v1::ScopeReport& scope) {
  const v1::OperationScopeReport* const own = FindScope(reads, scope);
  if (own == nullptr) return std::nullopt;
  v1::ScopeReport made;
  made.set_kind(scope.kind());
  made.set_host(scope.host());
  made.set_qm(scope.qm());
  made.set_storage(scope.storage());
  if (scope.has_queue_manager()) made.set_queue_manager(scope.queue_manager());
  if (scope.has_data_until()) *made.mutable_data_until() = scope.data_until();
  made.set_writes(own->throughput().count());
  made.set_bytes(own->throughput().bytes());
  made.set_iops(own->throughput().iops());
  made.set_mb_per_second(own->throughput().mb_per_second());
  *made.mutable_latency() = own->latency();
  if (own->has_response()) *made.mutable_rate()->mutable_response() = own->response();
  return made;
}

std::vector<std::string> StepHeadings(const v1::Report& report) {
  std::vector<std::string> headings = {"step", "block"};
  if (report.plan().sweep().rate_per_second_size() > 0) headings.emplace_back("rate/QM");
  if (report.plan().sweep().qm_size() > 0) headings.emplace_back("QMs");
  return headings;
}

std::vector<std::string> StepCells(const v1::Report& report, const v1::StepReport& step) {
  std::vector<std::string> cells = {absl::StrCat(step.number()), FormatBlockSize(step.block_size_bytes())};
  const double rate = step.rate_per_second();
  if (report.plan().sweep().rate_per_second_size() > 0) cells.push_back(rate > 0 ? FormatTargetRate(rate) : kDash);
  if (report.plan().sweep().qm_size() > 0) cells.push_back(absl::StrCat(step.queue_managers()));
  return cells;
}

std::vector<const v1::ScopeReport*> BestAndWorst(std::vector<const v1::ScopeReport*> scopes) {
  if (scopes.size() <= kMostRows) return scopes;
  StableSort(scopes, [](const v1::ScopeReport* a, const v1::ScopeReport* b) { return FeltP99Ns(*a) < FeltP99Ns(*b); });
  const auto end = static_cast<std::ptrdiff_t>(kRowsOfAnEnd);
  scopes.erase(scopes.begin() + end, scopes.end() - end);
  return scopes;
}

LatencyUnit UnitFor(const std::vector<const v1::StepReport*>& steps) {
  bool fast = false;
  bool slow = false;
  const auto look = [&fast, &slow](v1::ScopeKind kind, const v1::LatencyReport& latency) {
    slow = slow || latency.p99_ns() >= kLargestP99InMicrosecondsNs || latency.max_ns() >= kLargestInMicrosecondsNs;
    fast = fast || (kind == v1::SCOPE_KIND_CLUSTER && latency.count() > 0 && latency.p50_ns() < kMicrosecondsBelowNs);
  };
  for (const v1::StepReport* step : steps) {
    for (const v1::ScopeReport& scope : step->scopes()) {
      look(scope.kind(), scope.latency());
      look(scope.kind(), FeltLatency(scope));
    }
    const v1::OperationReport* const reads = ReadsOf(*step);
    if (reads == nullptr) continue;
    for (const v1::OperationScopeReport& scope : reads->scopes()) {
      look(scope.kind(), scope.latency());
      look(scope.kind(), scope.response());
    }
  }
  if (fast && !slow) return {kNsPerUs, "us"};
  return {};
}

std::string StepsText(const std::string& what, const std::vector<std::string>& steps, size_t most) {
  const std::vector<std::string> shown(steps.begin(),
                                       steps.begin() + static_cast<std::ptrdiff_t>(std::min(steps.size(), most)));
  return absl::StrCat(what, steps.size() == 1 ? ": step " : ": steps ", absl::StrJoin(shown, ", "),
                      shown.size() < steps.size() ? absl::StrCat(" and ", steps.size() - shown.size(), " more") : "");
}

std::string QmText(const v1::Report& report, const std::string& host, uint32_t qm) {
  for (const v1::HostReport& one : report.hosts()) {
    if (one.label() != host || qm == 0 || qm > static_cast<uint32_t>(one.queue_managers_size())) continue;
    return one.queue_managers(static_cast<int>(qm) - 1).name();
  }
  return absl::StrCat("qm", qm);
}

namespace {

constexpr size_t kLabelWidth = 18;
constexpr size_t kFlagWidth = 15;

// In front of the number of queue managers of a run whose steps have different ones.
const char* UpTo(const v1::Report& report) {
  return report.plan().sweep().qm_size() > 0 ? "up to " : "";
}

// What a writer of the run is called: with named files a thread.
std::string WriterNoun(const v1::Report& report, const char* otherwise) {
  return UsesFiles(report.plan().workload()) ? "thread" : otherwise;
}

// "3 hosts x 2 QMs", or how many there are where hosts differ.
std::string Size(const v1::Report& report) {
  const v1::RunReport& run = report.run();
  std::set<uint32_t> qms;
  for (const v1::HostReport& host : report.hosts()) qms.insert(host.workload().qm());
  if (qms.size() == 1 && !HasPlacement(report))
    return absl::StrCat(Counted(run.hosts(), "host"), " x ", UpTo(report),
                        Counted(*qms.begin(), WriterNoun(report, "QM")));
  return absl::StrCat(Counted(run.hosts(), "host"), ", ", Counted(run.queue_managers(), WriterNoun(report, "QM")));
}

// A sentence in lines; a number stays with its percent sign.
std::vector<std::string> WrapSentence(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : Wrap(absl::StrReplaceAll(SanitizeForTerminal(text), {{" %", "\u00a0%"}}), width)) {
    lines.push_back(absl::StrReplaceAll(line, {{"\u00a0%", " %"}}));
  }
  return lines;
}

// Lines of one row of the configuration, wrapped under its value.
void AddRow(const ConfigurationRow& row, std::vector<std::string>& lines) {
  const bool below = row.text == ConfigurationRow::Text::kBelow;
  // At least one blank, however long the option.
  std::string front = absl::StrCat("  ", PadRight(below ? "" : row.label, kLabelWidth),
                                   PadRight(row.option, std::max(kFlagWidth, row.option.size() + 1)));
  for (const std::string& line : Wrap(SanitizeForTerminal(row.value), kTextWidth - front.size())) {
    lines.push_back(front + line);
    front.assign(front.size(), ' ');
  }
}

}  // namespace

void AddIndented(const std::string& text, std::vector<std::string>& lines) {
  for (const std::string& line : WrapSentence(text, kTextWidth - 2)) lines.push_back("  " + line);
}

std::string ExtentName(const v1::Report& report, const std::string& host, uint32_t extent) {
  std::string prefix = "S";
  for (const v1::HostReport& one : report.hosts()) {
    if (one.label() != host) continue;
    const auto& files = one.workload().files();
    if (!files.empty()) return extent < static_cast<uint32_t>(files.size()) ? files[static_cast<int>(extent)] : "";
    if (one.workload().has_file_prefix()) prefix = one.workload().file_prefix();
  }
  return absl::StrFormat("%s%07d.LOG", prefix, extent);
}

std::vector<std::string> UnderHeading(const std::string& heading, const std::string& text) {
  constexpr size_t kHeadingWidth = 10;
  std::vector<std::string> lines;
  for (const std::string& line : WrapSentence(text, kTextWidth - kHeadingWidth)) {
    lines.push_back(PadRight(lines.empty() ? heading : "", kHeadingWidth) + line);
  }
  return lines;
}

std::vector<std::string> TextHeading(const v1::Report& report) {
  const v1::RunReport& run = report.run();
  if (run.id().empty()) return UnderHeading("Plimsoll", run.state_reason());
  std::vector<std::string> lines = UnderHeading("Run", absl::StrCat(run.id(), ", ", FormatDateTime(run.begin()), ", ",
                                                                    Size(report), ", Plimsoll ", run.version()));
  if (!run.name().empty()) {
    for (const std::string& line : UnderHeading("", run.name())) lines.push_back(line);
  }
  AppendLines(TextCommand(report), lines);
  lines.emplace_back("Configuration");
  for (const ConfigurationRow& row : ConfigurationRows(report)) {
    if (row.text != ConfigurationRow::Text::kNone) AddRow(row, lines);
  }
  return lines;
}

std::string RenderText(const v1::Report& report, uint32_t histogram_rows) {
  std::string text;
  const auto append = [&text](const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    if (!text.empty()) text += '\n';
    for (const std::string& line : lines) text += line + '\n';
  };
  append(TextVerdict(report, TextDetail::kFull));
  const TextSection* const section = TextSectionOf(report);
  if (section != nullptr) {
    for (const std::vector<std::string>& lines : section->parts(report)) append(lines);
  } else {
    append(TextCriteria(report));
    append(TextSummary(report, TextDetail::kFull));
  }
  append(TextMqLog(report));
  append(TextHeading(report));
  for (const v1::StepReport& step : report.steps()) {
    append(TextStep(report, step));
    append(TextStalls(report, step));
    append(TextSlowest(report, step));
    if (histogram_rows > 0) append(TextHistogram(step, histogram_rows, MainOperations(report.plan())));
  }
  append(TextClocks(report));
  append(TextUtc(report));
  append(TextHosts(report));
  append(TextPrograms(report));
  append(TextNotes(report));
  return text;
}

// Plain text: everything that Markdown, HTML or a forge may take for more is a character reference.
std::string MdText(const std::string& text) {
  const std::string neutral = SanitizeForTerminal(text);
  std::string escaped;
  for (size_t i = 0; i < neutral.size(); ++i) {
    const char c = neutral[i];
    const auto byte = static_cast<unsigned char>(c);
    // A colon that begins no address.
    const bool before_blank = i + 1 == neutral.size() || neutral[i + 1] == ' ';
    const bool plain = byte >= 0x80 || absl::ascii_isalnum(byte) || c == ' ' || c == '.' || c == ',' || c == '-' ||
                       c == '/' || c == '(' || c == ')' || c == ';' || c == '%' || c == '=' ||
                       (c == ':' && before_blank);
    if (plain) {
      escaped += c;
    } else {
      absl::StrAppend(&escaped, "&#", byte, ";");
    }
  }
  return escaped;
}

// What others named. Forges look for no mentions in it.
std::string MdCode(const std::string& text) {
  return text.empty() ? std::string() : absl::StrCat("<code>", MdText(text), "</code>");
}

namespace {

constexpr size_t kMostTableRows = 20;
constexpr size_t kMostDoubts = 20;

void AddMdRow(const std::vector<std::string>& cells, std::string& out) {
  absl::StrAppend(&out, "| ", absl::StrJoin(cells, " | "), " |\n");
}

// Names are left-aligned, the rest right-aligned.
void AddHeadings(const std::vector<std::string>& headings, size_t left, std::string& out) {
  AddMdRow(headings, out);
  std::vector<std::string> rules;
  for (size_t i = 0; i < headings.size(); ++i) rules.emplace_back(i < left ? "---" : "---:");
  AddMdRow(rules, out);
}

struct CriterionRow {
  const v1::CriterionReport* criterion = nullptr;
  // Null: it was held against no step.
  const v1::CriterionStepReport* result = nullptr;

  v1::Outcome outcome() const { return result == nullptr ? criterion->outcome() : result->outcome(); }
};

void AddCriteria(const v1::Report& report, std::string& out) {
  std::vector<CriterionRow> rows;
  for (const v1::CriterionReport& criterion : report.verdict().criteria()) {
    for (const v1::CriterionStepReport& result : criterion.steps()) rows.push_back({&criterion, &result});
    if (criterion.steps().empty()) rows.push_back({&criterion, nullptr});
  }
  if (rows.empty()) return;
  const size_t all = rows.size();
  if (all > kMostTableRows) {
    const auto severity = [](const CriterionRow& row) {
      return row.outcome() == v1::OUTCOME_FAIL ? 0 : row.outcome() == v1::OUTCOME_PASS ? 2 : 1;
    };
    StableSort(rows, [&](const CriterionRow& a, const CriterionRow& b) { return severity(a) < severity(b); });
    rows.resize(kMostTableRows);
  }
  out += "\n";
  AddHeadings({"criterion", "result", "where", "step", "block", "worst value"}, 3, out);
  for (const CriterionRow& row : rows) {
    const v1::CriterionStepReport* const result = row.result;
    const v1::StepReport* const step = result == nullptr ? nullptr : StepByNumber(report, result->step());
    const std::string& value_text = result == nullptr ? row.criterion->value_text() : result->value_text();
    const std::string place =
        result == nullptr ? ""
                          : FormatPlace(0, result->host(), result->qm(), result->storage(), result->queue_manager());
    AddMdRow({MdCode(row.criterion->criterion()), OutcomeText(row.outcome()), place.empty() ? "cluster" : MdCode(place),
              step == nullptr ? "run" : absl::StrCat(step->number()),
              step == nullptr ? kDash : FormatBlockSize(step->block_size_bytes()),
              value_text.empty() ? kDash : MdText(value_text)},
             out);
  }
  if (rows.size() < all) {
    absl::StrAppend(&out, "\n", rows.size(), " of ", FormatCount(all),
                    " results, those that failed or are undecided first.\n");
  }
}

void AddMdFigures(const v1::Report& report, std::string& out) {
  std::vector<const v1::StepReport*> steps;
  bool paced = false;
  bool mixed = false;
  for (const v1::StepReport& step : report.steps()) {
    if (ClusterOf(step) == nullptr) continue;
    steps.push_back(&step);
    paced = paced || HasTargetRate(step);
    mixed = mixed || ReadsOf(step) != nullptr;
  }
  if (steps.empty()) return;
  const LatencyUnit unit = UnitFor(steps);
  const size_t all = steps.size();
  steps.resize(std::min(all, mixed ? kMostTableRows / 2 : kMostTableRows));
  absl::StrAppend(&out, "\nAll hosts, ", paced ? "response" : "service", " time in ", unit.name, ":\n\n");
  const FigureTable figures = FigureTable::Summary(paced, /*swept=*/false, mixed);
  std::vector<std::string> headings = StepHeadings(report);
  if (mixed) headings.emplace_back(kOperationHeading);
  figures.AddHeadings(headings);
  std::erase(headings, "|");
  const auto target = static_cast<size_t>(std::ranges::find(headings, "target") - headings.begin());
  headings.emplace_back("stalls");
  AddHeadings(headings, 0, out);
  std::vector<std::string> missed;
  for (const v1::StepReport* step : steps) {
    const v1::ScopeReport& cluster = *ClusterOf(*step);
    std::vector<std::string> cells = StepCells(report, *step);
    if (mixed) cells.emplace_back(MainOperation(report.plan()));
    figures.AddCells(cluster, unit, cells);
    if (cluster.has_rate() && !cluster.rate().held()) {
      missed.push_back(absl::StrCat(step->number()));
      if (!mixed) cells[target] += " (missed)";
    }
    cells.push_back(step->has_stalls() ? FormatCount(step->stalls().count()) : kDash);
    AddMdRow(cells, out);
    const v1::OperationReport* const reads = ReadsOf(*step);
    const std::optional<v1::ScopeReport> own = reads == nullptr ? std::nullopt : ReadScope(*reads, cluster);
    if (!own) continue;
    cells = StepCells(report, *step);
    cells.emplace_back(kReadName);
    figures.AddCells(*own, unit, cells);
    // Stalls are those of all operations together.
    cells.emplace_back();
    AddMdRow(cells, out);
  }
  if (mixed && !missed.empty()) {
    absl::StrAppend(&out, "\n", StepsText("Target rate of reads and writes missed", missed, kMostTableRows), "\n");
  }
  if (steps.size() < all) absl::StrAppend(&out, "\nThe first ", steps.size(), " of ", FormatCount(all), " steps.\n");
}

void AddDoubts(const v1::Report& report, std::string& out) {
  std::vector<std::string> doubts;
  const v1::VerdictReport& verdict = report.verdict();
  if (!verdict.remark().empty()) doubts.push_back(MdText(verdict.remark()));
  for (const std::string& reason : SecondaryReasons(verdict)) doubts.push_back(MdText(reason));
  for (const v1::CriterionReport& criterion : verdict.criteria()) {
    if (!criterion.reason().empty())
      doubts.push_back(absl::StrCat(MdCode(criterion.criterion()), ": ", MdText(criterion.reason())));
  }
  std::vector<std::string> unsteady;
  std::vector<std::string> bound;
  for (const v1::StepReport& step : report.steps()) {
    if (step.has_trend() && !step.trend().steady()) unsteady.push_back(absl::StrCat(step.number()));
    if (IsCpuBound(step)) bound.push_back(absl::StrCat(step.number()));
  }
  if (!unsteady.empty()) doubts.push_back(StepsText("Not steady", unsteady, kMostTableRows));
  if (!bound.empty()) doubts.push_back(StepsText("The load generator may be CPU-bound", bound, kMostTableRows));
  for (const std::string& note : report.notes()) doubts.push_back(MdText(note));
  if (doubts.empty()) return;
  out += "\nCaveats and notes:\n\n";
  for (size_t i = 0; i < std::min(doubts.size(), kMostDoubts); ++i) absl::StrAppend(&out, "- ", doubts[i], "\n");
  if (doubts.size() > kMostDoubts) {
    absl::StrAppend(&out, "- ", FormatCount(doubts.size() - kMostDoubts), " more in the report\n");
  }
}

}  // namespace

std::string RenderMarkdown(const v1::Report& report, const std::string& results, const std::string& digest) {
  const v1::RunReport& run = report.run();
  std::string out = absl::StrCat("### Plimsoll: ", OutcomeText(report.verdict()), "\n\n");
  if (const std::string cause = PrimaryCause(report.verdict()); !cause.empty()) {
    absl::StrAppend(&out, "**", MdText(cause), "**\n\n");
  }
  for (const std::string& warning : report.verdict().warnings()) {
    absl::StrAppend(&out, "**Warning:** ", MdText(warning), "\n\n");
  }
  if (!run.name().empty()) absl::StrAppend(&out, MdCode(run.name()), "\n\n");
  absl::StrAppend(&out, Counted(run.hosts(), "host"), ", ", UpTo(report),
                  Counted(run.queue_managers(), WriterNoun(report, "queue manager")));
  if (run.has_begin()) absl::StrAppend(&out, ", ", FormatDateTime(run.begin()));
  out += "\n";
  if (const TextSection* const section = TextSectionOf(report); section != nullptr && section->answers) {
    out += "\n```text\n";
    const auto parts = section->parts(report);
    // Nothing in it ends the block.
    for (const std::string& line : parts.front()) out += absl::StrReplaceAll(line, {{"`", "'"}}) + "\n";
    out += "```\n";
  }
  AddCriteria(report, out);
  AddMdFigures(report, out);
  for (const v1::StepReport& step : report.steps()) {
    if (step.has_group_commit()) {
      absl::StrAppend(&out, "\n", report.steps_size() > 1 ? absl::StrCat("Step ", step.number(), ": ") : "",
                      GroupCommitText(report, step), "\n");
    }
  }
  if (report.has_mq_log()) {
    // Nothing in it ends the block.
    const std::string text = absl::StrReplaceAll(absl::StrJoin(TextMqLog(report), "\n"), {{"`", "'"}});
    absl::StrAppend(&out, "\n```text\n", text, "\n```\n");
  }
  AddDoubts(report, out);
  if (!results.empty()) absl::StrAppend(&out, "\nResults: ", MdCode(results), ", run ", MdCode(run.id()), "\n");
  if (!digest.empty()) absl::StrAppend(&out, "\nDigest: `", digest, "`\n");
  return out;
}

}  // namespace plimsoll
