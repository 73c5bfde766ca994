// The report as commands print it: what a reader must know, on one screen. What does not fit is left out by rank, and
// counted; report.txt has everything.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/analysis/judge.h"
#include "controller/render/merge_alike.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

using Lines = std::vector<std::string>;

constexpr char kCpuBound[] = "the load generator may be CPU-bound: ";
// The title and the headings of a table.
constexpr size_t kTableHead = 2;
// Lines of names of criteria that did not pass and have no row.
constexpr size_t kNamesLines = 4;

// What is left of `lines` in `most` lines.
Lines CutTo(Lines lines, size_t most) {
  if (lines.size() <= most || most == 0) {
    lines.resize(std::min(lines.size(), most));
    return lines;
  }
  const size_t left_out = lines.size() - most + 1;
  lines.resize(most - 1);
  lines.push_back(absl::StrCat("  ... and ", Counted(left_out, "more line"), " (report.txt)"));
  return lines;
}

// A part of the text.
struct BriefPart {
  // As many lines as it is given, at most.
  std::function<Lines(size_t most)> make;
  // So many of its lines it has whatever else there is, and so many before any other part has all of its own.
  size_t least = 0;
  size_t good = 0;
  // Lines that it has in all, and those that it is given.
  size_t whole = 0;
  size_t given = 0;
};

bool Passed(const v1::CriterionReport& criterion) {
  return criterion.outcome() == v1::OUTCOME_PASS;
}

// Failed before undecided before passed.
std::vector<const v1::CriterionReport*> BySeverity(const v1::Report& report) {
  std::vector<const v1::CriterionReport*> criteria;
  for (const v1::CriterionReport& criterion : report.verdict().criteria()) criteria.push_back(&criterion);
  const auto severity = [](const v1::CriterionReport& one) {
    return one.outcome() == v1::OUTCOME_FAIL ? 0 : Passed(one) ? 2 : 1;
  };
  StableSort(criteria, [&severity](const v1::CriterionReport* a, const v1::CriterionReport* b) {
    return severity(*a) < severity(*b);
  });
  return criteria;
}

// The worst value of each criterion over all steps; of those that do not fit, which ones did not pass.
Lines BriefCriteria(const v1::Report& report, size_t most) {
  const std::vector<const v1::CriterionReport*> criteria = BySeverity(report);
  if (criteria.empty()) return {};
  const size_t room = most > kTableHead ? most - kTableHead : 0;
  size_t rows = criteria.size();
  if (rows > room) {
    // A line counts those that passed.
    rows = room > 0 ? room - 1 : 0;
    const auto not_passed =
        static_cast<size_t>(absl::c_count_if(criteria, [](const auto* one) { return !Passed(*one); }));
    if (not_passed > rows) rows -= std::min(rows, kNamesLines);
  }
  const bool steps = report.steps_size() > 1;
  Lines headings = {"criterion", "result"};
  if (steps) headings.emplace_back("step");
  headings.insert(headings.end(), {"|", "worst value", "where"});
  TextTable table(headings, 2, {0, steps ? size_t{5} : size_t{4}});
  Lines below;
  for (size_t i = 0; i < rows; ++i) {
    const v1::CriterionReport& criterion = *criteria[i];
    const std::string place =
        FormatPlace(0, criterion.host(), criterion.qm(), criterion.storage(), criterion.queue_manager());
    Lines cells = {SanitizeForTerminal(criterion.criterion()), OutcomeText(criterion.outcome())};
    if (steps) cells.push_back(criterion.step() == 0 ? "run" : absl::StrCat(criterion.step()));
    const bool known = !criterion.value_text().empty();
    cells.insert(cells.end(),
                 {known ? criterion.value_text() : std::string(kDash), !known          ? ""
                                                                       : place.empty() ? "cluster"
                                                                                       : SanitizeForTerminal(place)});
    table.AddRow(cells);
    if (!criterion.reason().empty()) {
      AddIndented(absl::StrCat(criterion.criterion(), ": ", criterion.reason()), below);
    }
  }
  Lines lines = {"Criteria, worst value"};
  if (rows > 0) absl::c_copy(table.Lines(), std::back_inserter(lines));
  if (rows < criteria.size()) {
    Lines names;
    size_t passed = 0;
    for (size_t i = rows; i < criteria.size(); ++i) {
      if (Passed(*criteria[i])) {
        ++passed;
      } else {
        names.push_back(absl::StrCat(criteria[i]->criterion(), " ", OutcomeText(criteria[i]->outcome())));
      }
    }
    Lines more;
    if (!names.empty()) AddIndented(absl::StrCat("and ", absl::StrJoin(names, ", ")), more);
    absl::c_copy(CutTo(more, kNamesLines), std::back_inserter(lines));
    if (passed > 0) lines.push_back(absl::StrCat("  ... and ", FormatCount(passed), " more PASS (report.txt)"));
    return lines;
  }
  const size_t left = most - std::min(most, lines.size());
  absl::c_copy(CutTo(below, left), std::back_inserter(lines));
  return lines;
}

// The parts of a kind of run with a section of its own, or the summary, with as many rows as fit.
Lines BriefSection(const v1::Report& report, size_t most) {
  const TextSection* const section = TextSectionOf(report);
  Lines lines;
  for (const size_t rows : {size_t{16}, size_t{12}, size_t{8}, size_t{6}, size_t{4}, size_t{2}}) {
    lines.clear();
    const std::vector<Lines> parts =
        section != nullptr ? section->brief(report, rows) : std::vector<Lines>{TextSummary(report, TextDetail::kShort)};
    for (const Lines& part : parts) absl::c_copy(part, std::back_inserter(lines));
    if (lines.size() <= most || section == nullptr) break;
  }
  return CutTo(lines, most);
}

// What simulated clients, or a recording, made of the writes: every output says that commits are simulated. A search
// has its own section.
Lines BriefGroupCommit(const v1::Report& report, size_t most) {
  Lines lines;
  if (report.has_limit()) return lines;
  for (const v1::StepReport& step : report.steps()) {
    if (!step.has_group_commit()) continue;
    const std::string where = report.steps_size() > 1 ? absl::StrCat("Step ", step.number(), ": ") : "";
    AddIndented(where + GroupCommitText(report, step), lines);
  }
  return CutTo(std::move(lines), most);
}

// What the hosts' load and the notes say, each kind once for all hosts and steps.
Lines BriefWarnings(const v1::Report& report, size_t most) {
  std::vector<std::string> hosts;
  for (const v1::HostReport& host : report.hosts()) hosts.push_back(host.label());
  std::vector<std::string> sentences;
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::HostLoadReport& load : step.load()) {
      if (load.bottleneck().empty()) continue;
      sentences.push_back(absl::StrCat(load.host(), ", step ", step.number(), ": ", kCpuBound, load.bottleneck(), "."));
    }
  }
  for (const v1::HostReport& host : report.hosts()) {
    if (!host.has_lost()) continue;
    sentences.push_back(absl::StrCat(
        host.label(), ": lost: ", host.lost().reason(),
        host.lost().cleanup_command().empty() ? "" : "; report.txt has the command that removes its files"));
  }
  bool left_out = false;
  for (const std::string& note : report.notes()) {
    // Notes on CPU-bound load generators are known from the load.
    const bool known = absl::StrContains(note, kCpuBound) || (left_out && absl::StartsWith(note, "... and "));
    left_out = known;
    if (!known) sentences.push_back(note);
  }
  Lines lines;
  const std::vector<std::string> merged = MergeAlike(sentences, hosts);
  for (size_t i = 0; i < merged.size(); ++i) {
    Lines next;
    AddIndented(merged[i], next);
    const bool last = i + 1 == merged.size();
    if (1 + lines.size() + next.size() + (last ? 0 : 1) > most) {
      lines.push_back(absl::StrCat("  ... and ", FormatCount(merged.size() - i), i == 0 ? " " : " more ",
                                   i + 1 == merged.size() ? "warning or note" : "warnings and notes", " (report.txt)"));
      break;
    }
    absl::c_copy(next, std::back_inserter(lines));
  }
  if (!lines.empty()) lines.insert(lines.begin(), "Warnings and notes");
  return lines;
}

// "3 stalls (2 x all hosts: the storage; 1 x one QM of a host); the longest 1.204 s in step 2 on node[1-3]".
Lines BriefStalls(const v1::Report& report, size_t most) {
  bool known = false;
  uint64_t count = 0;
  std::map<int, uint64_t> classes;
  const v1::StallReport* longest = nullptr;
  uint32_t step_number = 0;
  for (const v1::StepReport& step : report.steps()) {
    if (!step.has_stalls()) continue;
    known = true;
    count += step.stalls().count();
    for (const v1::StallCount& one : step.stalls().classes()) classes[one.stall_class()] += one.count();
    for (const v1::StallReport& stall : step.stalls().stalls()) {
      if (longest != nullptr && longest->length_ns() >= stall.length_ns()) continue;
      longest = &stall;
      step_number = step.number();
    }
  }
  if (!known) return {};
  if (count == 0) return {"Stalls    none"};
  std::vector<std::string> parts;
  for (const auto& [stall_class, stalls] : classes) {
    parts.push_back(absl::StrCat(FormatCount(stalls), " x ", StallClassName(static_cast<v1::StallClass>(stall_class))));
  }
  std::string text = absl::StrCat(FormatCount(count), parts.empty() ? "" : ": ", absl::StrJoin(parts, "; "));
  if (longest != nullptr) {
    absl::StrAppend(&text, "; longest ", FormatShortTime(longest->length_ns()), " in step ", step_number, ", ",
                    SanitizeForTerminal(JoinNames({longest->hosts().begin(), longest->hosts().end()}, 2)));
  }
  return CutTo(UnderHeading("Stalls", text), most);
}

}  // namespace

std::string DigestLine(const std::string& digest) {
  return digest.empty() ? "" : absl::StrCat("Digest  ", digest, "\n");
}

std::string ResultsLine(const v1::Report& report, const ReportPlace& place) {
  return absl::StrCat(DigestLine(place.digest), OutcomeText(report.verdict()), "   ",
                      place.is_journal ? "From the journal " : "Results in ", SanitizeForTerminal(place.path), "\n");
}

std::string RenderBrief(const v1::Report& report, const ReportPlace& place,
                        const std::vector<std::string>& kept_files) {
  const auto of = [&report](Lines (*make)(const v1::Report& report, size_t most)) {
    return [&report, make](size_t most) { return make(report, most); };
  };
  size_t not_passed = 0;
  for (const v1::CriterionReport& criterion : report.verdict().criteria()) not_passed += Passed(criterion) ? 0U : 1U;
  constexpr size_t kAll = 1'000;
  // In the order in which they are shown.
  std::vector<BriefPart> parts = {
      {[&report](size_t most) { return CutTo(TextVerdict(report, TextDetail::kShort), most); }, 8, 10},
      {of(BriefCriteria), kTableHead + std::min<size_t>(not_passed, 4) + (not_passed > 4 ? kNamesLines : 0) + 1, 12},
      {of(BriefSection), 7, 14},
      {of(BriefGroupCommit), 2, 4},
      {[&report](size_t most) { return CutTo(TextMqLog(report), most); }, 0, 6},
      {of(BriefWarnings), 3, 6},
      {of(BriefStalls), 2, 2},
      {[&kept_files](size_t most) { return CutTo(kept_files, most); }, 2, 4},
  };
  // One line is for where the rest is, one for the digest, one for the results; a blank one stands behind each part.
  size_t left = kBriefLines - (place.digest.empty() ? 2 : 3);
  for (BriefPart& part : parts) {
    part.whole = part.make(kAll).size();
    part.given = std::min(part.least, part.whole);
    left -= std::min(left, part.given == 0 ? 0 : part.given + 1);
  }
  for (const bool all : {false, true}) {
    for (BriefPart& part : parts) {
      const size_t wanted = all ? part.whole : std::min(part.good, part.whole);
      const size_t more = std::min(left, wanted - std::min(wanted, part.given));
      part.given += more;
      left -= more;
    }
  }
  std::string text;
  for (const BriefPart& part : parts) {
    const Lines lines = part.make(part.given);
    for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
    if (!lines.empty()) text += '\n';
  }
  text += place.is_journal ? "--full shows everything.\n"
                           : "Everything is in report.txt (--full prints it), charts are in report.html.\n";
  return text + ResultsLine(report, place);
}

}  // namespace plimsoll
