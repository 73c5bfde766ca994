// The result of an acceptance as text, Markdown and JUnit XML.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/accept/accept_parts.h"
#include "controller/accept/accept_report.h"
#include "controller/accept/accept_summary.h"
#include "controller/render/json.h"
#include "controller/render/junit_xml.h"
#include "controller/render/merge_alike.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "google/protobuf/util/time_util.h"

namespace plimsoll {
namespace {

using Lines = std::vector<std::string>;

constexpr size_t kMostNotes = 20;

int64_t LengthNs(const v1::AcceptReport& report) {
  if (!report.has_begin() || !report.has_end()) return 0;
  return google::protobuf::util::TimeUtil::DurationToNanoseconds(report.end() - report.begin());
}

std::string OutcomeOf(const v1::AcceptRun& run) {
  return run.began() ? OutcomeText(run.outcome()) : "DID NOT RUN";
}

// What the run found, in a line. Of results that differ from the record nothing is shown.
std::string FoundBy(const v1::AcceptRun& run) {
  return run.differs().empty() ? run.result() : "its results are not those that were recorded";
}

// Three decimals below 100, as latencies have them; two, or none, above.
std::string FigureCell(double value) {
  return value < 100 ? FormatFixed(value, 3) : FormatRate(value);
}

std::string SpreadCell(const v1::AcceptFigure& figure) {
  return figure.has_spread_percent() ? absl::StrCat(FormatFixed(figure.spread_percent(), 1), " %") : kDash;
}

std::string NameOf(const v1::AcceptFigure& figure) {
  return absl::StrCat(figure.name(), figure.unit().empty() ? "" : absl::StrCat(", ", figure.unit()));
}

// The value of each run, from the first to the last.
Lines ValueCells(const v1::AcceptFigure& figure, uint32_t runs) {
  Lines cells(runs, kDash);
  for (const v1::AcceptValue& value : figure.values()) {
    if (value.run() >= 1 && value.run() <= runs) cells[value.run() - 1] = FigureCell(value.value());
  }
  return cells;
}

// A list item of any length; `start` stands before its first line, as many blanks and `hang` more before the others.
void AddItem(const std::string& text, Lines& lines, std::string start = "  ", size_t hang = 2) {
  const size_t indent = start.size() + hang;
  for (const std::string& line : Wrap(SanitizeForTerminal(text), kTextWidth - indent)) {
    lines.push_back(start + line);
    start = std::string(indent, ' ');
  }
}

void AddList(const std::string& heading, const google::protobuf::RepeatedPtrField<std::string>& texts, Lines& lines) {
  if (texts.empty()) return;
  lines.emplace_back();
  lines.push_back(heading);
  for (const std::string& text : texts) AddItem(text, lines);
}

// The verdict, why it is not PASS, and what it does not say.
Lines VerdictLines(const v1::AcceptReport& report) {
  Lines lines = UnderHeading("Verdict", OutcomeText(report.outcome()));
  const auto add = [&lines](const std::string& text) {
    if (text.empty()) return;
    for (std::string& line : UnderHeading("", SanitizeForTerminal(text))) lines.push_back(std::move(line));
  };
  for (const std::string& reason : report.reasons()) AddItem(reason, lines, std::string(10, ' ') + "- ", 0);
  add(LeftOutText(report));
  for (const std::string& warning : AcceptWarnings(report)) add(absl::StrCat("Warning: ", warning));
  return lines;
}

// A line of the run without what it found.
std::string HeadOf(const v1::AcceptReport& report, const v1::AcceptRun& run) {
  size_t width = 0;
  for (const v1::AcceptRun& one : report.runs()) width = std::max(width, RunName(one).size());
  const std::string time = run.began() ? FormatWholeSeconds(run.duration_ns()) : "";
  return absl::StrCat("  ", PadRight(RunName(run), width), "  ", PadRight(OutcomeOf(run), 12), "  ", PadLeft(time, 7),
                      "  ");
}

std::string WithoutBlanksAtEnd(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

void AddParts(const v1::AcceptReport& report, Lines& lines) {
  lines.emplace_back();
  lines.emplace_back("Parts");
  for (const v1::AcceptRun& run : report.runs()) {
    const std::string head = HeadOf(report, run);
    std::string start = head;
    const Lines found = Wrap(SanitizeForTerminal(FoundBy(run)), kTextWidth - head.size());
    if (found.empty()) lines.push_back(WithoutBlanksAtEnd(head));
    for (const std::string& line : found) {
      lines.push_back(start + line);
      start = std::string(head.size(), ' ');
    }
  }
}

Lines SpreadLines(const v1::AcceptReport& report) {
  if (report.figures().empty()) return {};
  uint32_t runs = 0;
  for (const v1::AcceptFigure& figure : report.figures()) {
    for (const v1::AcceptValue& value : figure.values()) runs = std::max(runs, value.run());
  }
  // More would not fit beside the names.
  constexpr uint32_t kMostRunColumns = 4;
  const bool columns = runs <= kMostRunColumns;
  Lines headings = {"part", "figure"};
  for (uint32_t run = 1; columns && run <= runs; ++run) headings.push_back(absl::StrCat("run ", run));
  if (!columns) headings.insert(headings.end(), {"least", "most"});
  headings.emplace_back("spread");
  TextTable table(headings, 2, {1});
  for (const v1::AcceptFigure& figure : report.figures()) {
    Lines cells = {PartName(figure.part()), SanitizeForTerminal(NameOf(figure))};
    const Lines values =
        columns ? ValueCells(figure, runs) : Lines{FigureCell(figure.least()), FigureCell(figure.most())};
    cells.insert(cells.end(), values.begin(), values.end());
    cells.push_back(SpreadCell(figure));
    table.AddRow(cells);
  }
  Lines lines = {"Figures by run; spread: largest less smallest, in percent of the mean"};
  for (std::string& line : table.Lines()) lines.push_back(std::move(line));
  return lines;
}

void AddNotes(const v1::AcceptReport& report, Lines& lines) {
  const auto notes = AcceptNotes(report);
  if (notes.empty()) return;
  lines.emplace_back();
  lines.emplace_back("Notes");
  for (size_t i = 0; i < std::min(notes.size(), kMostNotes); ++i) {
    AddItem(absl::StrCat(notes[i].runs, ": ", notes[i].text), lines);
  }
  if (notes.size() > kMostNotes) AddItem(absl::StrCat(notes.size() - kMostNotes, " more in accept.json"), lines);
}

// What is left of `lines` in `most` lines.
Lines CutLines(Lines lines, size_t most) {
  if (lines.size() <= most) return lines;
  if (most == 0) return {};
  const size_t left_out = lines.size() - most + 1;
  lines.resize(most - 1);
  lines.push_back(absl::StrCat("  ... and ", Counted(left_out, "more line"), " (accept.txt)"));
  return lines;
}

// A line for each run; of too many, those that did not pass.
Lines BriefParts(const v1::AcceptReport& report, size_t most) {
  const bool all = static_cast<size_t>(report.runs_size()) < most;
  Lines lines = {"Parts"};
  size_t passed = 0;
  for (const v1::AcceptRun& run : report.runs()) {
    if (!all && IsInOrder(run)) {
      ++passed;
      continue;
    }
    const std::string head = HeadOf(report, run);
    lines.push_back(
        WithoutBlanksAtEnd(absl::StrCat(head, Shorten(SanitizeForTerminal(FoundBy(run)), kTextWidth - head.size()))));
  }
  if (passed == 0) return CutLines(lines, most);
  lines = CutLines(lines, most - std::min<size_t>(most, 1));
  if (most > 0) lines.push_back(absl::StrCat("  ... and ", Counted(passed, "run"), " that passed (accept.txt)"));
  return lines;
}

// Each criterion with its worst run, those that did not pass first.
Lines BriefCriteriaOfRuns(const v1::AcceptReport& report, size_t most) {
  const std::vector<WorstCriterion> rows = WorstCriteria(report);
  if (rows.empty()) return {};
  TextTable table({"part", "criterion", "result", "run", "|", "worst value", "where"}, 3, {1, 6});
  for (const WorstCriterion& row : rows) {
    const bool known = !row.criterion->value_text().empty();
    table.AddRow({PartName(row.run->part()), SanitizeForTerminal(row.criterion->criterion()),
                  OutcomeText(row.criterion->outcome()), absl::StrCat(row.run->run()),
                  known ? row.criterion->value_text() : std::string(kDash),
                  known ? SanitizeForTerminal(PlaceOf(*row.criterion)) : ""});
  }
  Lines lines = {"Criteria, worst run"};
  for (std::string& line : table.Lines()) lines.push_back(std::move(line));
  return CutLines(std::move(lines), most);
}

// The notes of all runs, each kind once for all hosts, steps and runs.
Lines BriefNotes(const v1::AcceptReport& report, size_t most) {
  Lines hosts;
  for (const v1::AcceptHost& host : report.hosts()) hosts.push_back(host.label());
  Lines notes;
  for (const AcceptNote& note : AcceptNotes(report)) notes.push_back(note.text);
  if (notes.empty()) return {};
  Lines lines = {"Notes"};
  for (const std::string& note : MergeAlike(notes, hosts)) AddItem(note, lines);
  return CutLines(std::move(lines), most);
}

void AddRow(const Lines& cells, std::string& out) {
  absl::StrAppend(&out, "| ", absl::StrJoin(cells, " | "), " |\n");
}

}  // namespace

std::string RenderAcceptText(const v1::AcceptReport& report) {
  Lines lines = VerdictLines(report);
  const auto add = [&lines](const std::string& heading, const std::string& text) {
    if (text.empty()) return;
    for (std::string& line : UnderHeading(heading, SanitizeForTerminal(text))) lines.push_back(std::move(line));
  };
  lines.emplace_back();
  add("Name", report.name());
  add("Date", absl::StrCat(FormatDateTime(report.begin()),
                           report.has_end() ? absl::StrCat(", ", FormatWholeSeconds(LengthNs(report))) : std::string(),
                           ", acceptance ", report.id(), ", plimsoll ", report.version()));
  for (const auto& [heading, value] : AcceptConfiguration(report)) add(heading, value);
  for (const auto& [heading, value] : AcceptEvidence(report)) add(heading, value);
  const std::vector<AcceptAnswer> answers = AcceptAnswers(report);
  if (!answers.empty()) lines.emplace_back();
  for (const AcceptAnswer& answer : answers) add(answer.heading, absl::StrCat(answer.title, ": ", answer.text));
  AddParts(report, lines);
  if (Lines spread = SpreadLines(report); !spread.empty()) {
    lines.emplace_back();
    for (std::string& line : spread) lines.push_back(std::move(line));
  }
  AddList("Limits of this verdict", report.limits(), lines);
  AddNotes(report, lines);
  if (!report.hosts().empty()) {
    lines.emplace_back();
    lines.emplace_back("Hosts");
    for (const v1::AcceptHost& host : report.hosts()) {
      AddItem(absl::StrCat(host.label(), host.has_node() ? " on node " : "", host.node(), ": ", host.directory(), ", ",
                           host.fs_type(), " from ", host.fs_source(), " (", host.mount_options(), "), kernel ",
                           host.kernel(), ", agent ", host.version()),
              lines);
    }
  }
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

std::string AcceptResultsLine(const v1::AcceptReport& report, const std::string& results, const std::string& digest) {
  return absl::StrCat(DigestLine(digest), OutcomeText(report.outcome()), "   Results in ", SanitizeForTerminal(results),
                      "\n");
}

std::string RenderAcceptBrief(const v1::AcceptReport& report, const std::string& results, const std::string& digest) {
  struct Part {
    std::function<Lines(size_t most)> make;
    // Lines that the part has whatever else there is.
    size_t least = 0;
    size_t given = 0;
  };
  std::vector<Part> parts = {
      {[&report](size_t most) { return CutLines(VerdictLines(report), most); }, 10},
      {[&report](size_t most) { return BriefParts(report, most); }, 6},
      {[&report](size_t most) { return BriefCriteriaOfRuns(report, most); }, 6},
      {[&report](size_t most) { return CutLines(SpreadLines(report), most); }, 4},
      {[&report](size_t most) { return BriefNotes(report, most); }, 3},
  };
  constexpr size_t kAll = 100'000;
  // A line is for where the rest is, one for the digest, one for the results, and a blank one stands behind each part.
  size_t left = kBriefLines - (digest.empty() ? 2 : 3);
  for (Part& part : parts) {
    part.given = std::min(part.least, part.make(kAll).size());
    if (part.given > 0) left -= part.given + 1;
  }
  for (Part& part : parts) {
    const size_t more = std::min(left, part.make(kAll).size() - part.given);
    part.given += more;
    left -= more;
  }
  std::string text;
  for (const Part& part : parts) {
    const Lines lines = part.make(part.given);
    for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
    if (!lines.empty()) text += '\n';
  }
  return absl::StrCat(text, "Everything is in accept.txt (--full prints it), the page to sign is accept.html.\n",
                      AcceptResultsLine(report, results, digest));
}

std::string RenderAcceptMarkdown(const v1::AcceptReport& report, const std::string& results,
                                 const std::string& digest) {
  std::string out = absl::StrCat("### Plimsoll acceptance: ", OutcomeText(report.outcome()), "\n\n");
  if (const std::string left_out = LeftOutText(report); !left_out.empty()) absl::StrAppend(&out, left_out, "\n\n");
  for (const std::string& warning : AcceptWarnings(report)) {
    absl::StrAppend(&out, "**Warning:** ", MdText(warning), "\n\n");
  }
  if (!report.name().empty()) absl::StrAppend(&out, MdCode(report.name()), "\n\n");
  for (const auto& [heading, value] : AcceptConfiguration(report)) {
    absl::StrAppend(&out, heading, ": ", MdText(value), "\n\n");
  }
  for (const AcceptAnswer& answer : AcceptAnswers(report)) {
    absl::StrAppend(&out, answer.title, ": ", MdText(answer.text), "\n\n");
  }
  AddRow({"part", "result", "time", "found"}, out);
  AddRow({"---", "---", "---:", "---"}, out);
  for (const v1::AcceptRun& run : report.runs()) {
    AddRow({RunName(run), OutcomeOf(run), run.began() ? FormatWholeSeconds(run.duration_ns()) : kDash,
            MdCode(FoundBy(run))},
           out);
  }
  if (!report.figures().empty()) {
    out += "\n";
    AddRow({"part", "figure", "least", "most", "spread"}, out);
    AddRow({"---", "---", "---:", "---:", "---:"}, out);
    for (const v1::AcceptFigure& figure : report.figures()) {
      AddRow({PartName(figure.part()), MdText(NameOf(figure)), FigureCell(figure.least()), FigureCell(figure.most()),
              SpreadCell(figure)},
             out);
    }
  }
  for (const auto& [heading, texts] :
       {std::pair("Why it is not PASS", &report.reasons()), {"Limits of this verdict", &report.limits()}}) {
    if (texts->empty()) continue;
    absl::StrAppend(&out, "\n", heading, ":\n\n");
    for (const std::string& text : *texts) absl::StrAppend(&out, "- ", MdText(text), "\n");
  }
  if (!results.empty())
    absl::StrAppend(&out, "\nResults: ", MdCode(results), ", acceptance ", MdCode(report.id()), "\n");
  if (!digest.empty()) absl::StrAppend(&out, "\nDigest: `", digest, "`\n");
  return out;
}

std::string RenderAcceptJUnit(const v1::AcceptReport& report) {
  JUnitSuite suite;
  suite.name = report.name().empty() ? "plimsoll accept" : absl::StrCat("plimsoll accept: ", report.name());
  suite.duration_ns = LengthNs(report);
  if (report.has_begin()) suite.timestamp = FormatMoment(report.begin()).substr(0, 19);
  suite.properties = {
      {"verdict", OutcomeText(report.outcome())}, {"acceptance", report.id()}, {"version", report.version()}};
  for (const std::string& warning : AcceptWarnings(report)) suite.properties.emplace_back("warning", warning);
  for (const v1::AcceptHost& host : report.hosts()) suite.properties.emplace_back("host", host.label());
  for (const v1::AcceptRun& run : report.runs()) {
    JUnitCase& one = suite.cases.emplace_back();
    one.class_name = absl::StrCat("accept.", PartName(run.part()));
    one.name = absl::StrCat("run ", run.run());
    one.duration_ns = run.duration_ns();
    one.kind = IsInOrder(run)                      ? JUnitCase::Kind::kPassed
               : run.outcome() == v1::OUTCOME_FAIL ? JUnitCase::Kind::kFailure
                                                   : JUnitCase::Kind::kError;
    Lines why(run.differs().begin(), run.differs().end());
    why.insert(why.end(), run.reasons().begin(), run.reasons().end());
    if (!run.began()) why = {report.cut_short().empty() ? "the acceptance was cut off" : report.cut_short()};
    one.message = absl::StrCat(OutcomeOf(run), why.empty() ? "" : ": ", absl::StrJoin(why, "; "));
    if (const std::string found = FoundBy(run); !found.empty()) one.output = {found};
    for (const std::string& note : run.notes()) {
      if (IsVerdictWarning(run, note)) one.output.push_back(note);
    }
    const std::string name = absl::StrCat("accept.", PartName(run.part()), ".run ", run.run());
    const auto place_of = [&name](uint32_t step) {
      return JUnitPlace{step == 0 ? name : absl::StrCat(name, ".step ", step), 0};
    };
    for (const v1::CriterionReport& criterion : run.criteria()) {
      // What holds without a step to show it is in the run's own case.
      if (criterion.steps().empty() && criterion.outcome() == v1::OUTCOME_PASS) continue;
      AddCriterionCases(criterion, name, place_of, suite.cases);
    }
  }
  JUnitCase& conclusive = suite.cases.emplace_back();
  conclusive.class_name = "accept";
  conclusive.name = "conclusive";
  const bool green = report.outcome() == v1::OUTCOME_PASS;
  const bool others_are = std::all_of(suite.cases.begin(), suite.cases.end(),
                                      [](const JUnitCase& one) { return one.kind == JUnitCase::Kind::kPassed; });
  if (!green && others_are) {
    conclusive.kind = JUnitCase::Kind::kError;
    conclusive.message = absl::StrCat(OutcomeText(report.outcome()), ": ", absl::StrJoin(report.reasons(), "; "));
  }
  return RenderJUnitSuite(suite);
}

}  // namespace plimsoll
