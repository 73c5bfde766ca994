// A report as text for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/render/columns.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// How much of the verdict's reasons, and of the summary, is shown.
enum class TextDetail {
  // What fits on a screen with the rest of RenderBrief.
  kShort,
  // All.
  kFull,
};

// All of the report. At most 80 columns wide, UTF-8, without colour or control characters but line breaks, whatever
// hosts and plans contain. The verdict comes first, then its criteria and a summary of at most 15 lines, then
// everything else. Where steps read and write, the summary has a row for reads and one for writes, and at most 22
// lines. `histogram_rows`: each step is followed by the cluster's histogram of at most so many rows; 0: by none.
std::string RenderText(const v1::Report& report, uint32_t histogram_rows = 0);

// Where a report's files are.
struct ReportPlace {
  std::string path;
  // It was read from a journal that is in no directory of results.
  bool is_journal = false;
  // The digest of the results as people see it (controller/journal/digest.h); empty: not shown.
  std::string digest = {};
};

// Lines of RenderBrief at most.
inline constexpr size_t kBriefLines = 40;

// The report as commands print it: the verdict and its cause, the criteria that did not pass before others, the summary
// or the answer, what must not be missed, and where the rest is; the last line is ResultsLine. However many hosts,
// steps, stalls and notes there are, at most kBriefLines lines. `kept_files`: lines about files that stay on the hosts.
std::string RenderBrief(const v1::Report& report, const ReportPlace& place,
                        const std::vector<std::string>& kept_files = {});
// "PASS   Results in plimsoll-results/20261120T192011Z-7f3a21", with its line break; above it DigestLine.
std::string ResultsLine(const v1::Report& report, const ReportPlace& place);
// "Digest  sha256:...", with its line break; empty where the digest is.
std::string DigestLine(const std::string& digest);

// What simulated clients, or a recording, made of the log writes of a step that has them, in one sentence.
std::string GroupCommitText(const v1::Report& report, const v1::StepReport& step);

// Its parts, as lines; empty where there is nothing to show.
std::vector<std::string> TextVerdict(const v1::Report& report, TextDetail detail);
std::vector<std::string> TextCriteria(const v1::Report& report);
std::vector<std::string> TextSummary(const v1::Report& report, TextDetail detail);
// A queue manager's log against the storage.
std::vector<std::string> TextMqLog(const v1::Report& report);
// The run and its configuration.
std::vector<std::string> TextHeading(const v1::Report& report);
// One step, its stalls and its slowest writes.
std::vector<std::string> TextStep(const v1::Report& report, const v1::StepReport& step);
std::vector<std::string> TextStalls(const v1::Report& report, const v1::StepReport& step);
std::vector<std::string> TextSlowest(const v1::Report& report, const v1::StepReport& step);
// Parts of a step's: fairness and trend; the hosts' load.
std::vector<std::string> TextEvenness(const v1::StepReport& step);
// `read_percent`: as in the plan.
std::vector<std::string> TextLoad(const v1::StepReport& step, uint32_t read_percent = 0);
std::vector<std::string> TextClocks(const v1::Report& report);
std::vector<std::string> TextHosts(const v1::Report& report);
std::vector<std::string> TextNotes(const v1::Report& report);
std::vector<std::string> TextCommand(const v1::Report& report);
std::vector<std::string> TextUtc(const v1::Report& report);
std::vector<std::string> TextPrograms(const v1::Report& report);

// "PASS", "FAIL", "INCONCLUSIVE", or "COMPLETED (no criteria)".
std::string OutcomeText(v1::Outcome outcome);
// The outcome with what it is confined to: "PASS on one kernel; locks between hosts not tested".
std::string OutcomeText(const v1::VerdictReport& verdict);
// With its primary cause and the remark: "INCONCLUSIVE: node2 was suspended for 1.5 s".
std::string VerdictText(const v1::VerdictReport& verdict);

// Adds `text`, which may come from elsewhere, wrapped and indented by two columns.
void AddIndented(const std::string& text, std::vector<std::string>& lines);
// What a class of stalls shows about the cause: "all hosts: the storage".
const char* StallClassName(v1::StallClass stall_class);
// File of an extent of a host, by its number.
std::string ExtentName(const v1::Report& report, const std::string& host, uint32_t extent);

// `text` behind a heading of ten columns, wrapped; the heading is on the first line only.
std::vector<std::string> UnderHeading(const std::string& heading, const std::string& text);

// More steps than this are shown by their best and their worst in a summary.
inline constexpr size_t kMostRows = 8;
// So many of the best, and so many of the worst.
inline constexpr size_t kRowsOfAnEnd = 3;

// Heading of the column that names the operation of a row, where steps read and write.
inline constexpr char kOperationHeading[] = "op";

// The columns that name a step in a table: its number, its block size, and the rate and the number of queue managers
// that a sweep gives to it. Headings, and the cells of a row.
std::vector<std::string> StepHeadings(const v1::Report& report);
std::vector<std::string> StepCells(const v1::Report& report, const v1::StepReport& step);

// Whether a step had a target rate.
bool HasTargetRate(const v1::StepReport& step);

// The figures of these reads in a scope of the step, as the scope has them of its writes; without those that are not
// known of reads. Nothing if the report has none there.
std::optional<v1::ScopeReport> ReadScope(const v1::OperationReport& reads, const v1::ScopeReport& scope);

// "Not steady: steps 1, 3 and 2 more": at most so many of these numbers.
std::string StepsText(const std::string& what, const std::vector<std::string>& steps, size_t most);

// What a queue manager is called behind its host's name: its own name in a placement, or "qm2".
std::string QmText(const v1::Report& report, const std::string& host, uint32_t qm);

// Scopes with the lowest and with the highest p99 of what callers felt, from best to worst; one without a write is
// the worst. All of them, as they are, where they are at most kMostRows.
std::vector<const v1::ScopeReport*> BestAndWorst(std::vector<const v1::ScopeReport*> scopes);

// The unit of the latencies of tables about these steps, of writes and of reads.
LatencyUnit UnitFor(const std::vector<const v1::StepReport*>& steps);

// One setting of a run: a row of the text report's configuration and of the page's.
struct ConfigurationRow {
  // Whether the text has it; the page has all rows.
  enum class Text : uint8_t {
    kRow,
    // Without its label, below the row before.
    kBelow,
    kNone,
  };
  std::string label;
  // The option that sets it; empty: there is none.
  std::string option;
  std::string value;
  Text text = Text::kRow;
};

// All rows, in order; none without a value.
std::vector<ConfigurationRow> ConfigurationRows(const v1::Report& report);

// A wall clock in words: "synchronised by chronyd, maximum error 12 ms, estimated error 80 us", "not synchronised".
std::string TimeStatusText(const v1::TimeStatus& status);
// How far the UTC times of a result may be off, in sentences; empty if the result does not have it.
std::string UtcErrorText(const v1::ControllerFacts& controller);
// "plimsoll 0.2.0, SHA-256 9f86d0..."; empty if the digest is not known.
std::string ProgramText(const v1::ControllerFacts& controller, const std::string& version);

inline constexpr uint32_t kHistogramRows = 40;
inline constexpr uint32_t kMaxHistogramRows = 1'000;

// One row: values from `from_ns` to below `to_ns`, or to the largest where it is the tail.
struct HistogramRow {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  uint64_t count = 0;
  bool tail = false;
};

// At most `rows` (2 or more) rows of one round width (1, 2 or 5 times a power of ten) from the smallest value on, the
// narrowest that hold 95 % of the values in all but the last row and that the buckets can resolve; what is above is the
// tail. A bucket that lies in two rows is shared out in proportion, so that the counts are whole and add up exactly.
// `latency` narrows the outermost buckets; empty where there is no value.
std::vector<HistogramRow> HistogramRows(const v1::DistributionReport& distribution, const v1::LatencyReport& latency,
                                        uint32_t rows);

// The cluster's histogram of a step, and of each further operation but the parts of the main one, as lines at most 80
// columns wide; empty where the report has none. `main_operations`: what the step's main figures are about.
std::vector<std::string> TextHistogram(const v1::StepReport& step, uint32_t rows,
                                       const std::string& main_operations = "writes");

// The verdict, the criteria step by step, the figures of each step, what was doubtful, and where the results are; each
// table has at most 20 rows, those that failed or are undecided first. Texts from hosts and plans are in <code> and can
// neither be links, mentions nor markup. `results`: the directory; empty: not shown, as is an empty digest.
std::string RenderMarkdown(const v1::Report& report, const std::string& results, const std::string& digest = "");

// Text in Markdown that neither Markdown, HTML nor a forge takes for more than text; and in <code>, where forges look
// for no mentions: what others named. Empty where the text is.
std::string MdText(const std::string& text);
std::string MdCode(const std::string& text);

}  // namespace plimsoll
