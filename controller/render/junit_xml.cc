#include "controller/render/junit_xml.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "controller/report/swept_load.h"
#include "google/protobuf/util/time_util.h"

namespace plimsoll {
namespace {

// XML knows neither control characters nor U+FFFE and U+FFFF, not even as references.
std::string XmlText(const std::string& text) {
  return absl::StrReplaceAll(SanitizeForTerminal(text), {{"&", "&amp;"},
                                                         {"<", "&lt;"},
                                                         {">", "&gt;"},
                                                         {"\"", "&quot;"},
                                                         {"\xef\xbf\xbe", "\xef\xbf\xbd"},
                                                         {"\xef\xbf\xbf", "\xef\xbf\xbd"}});
}

std::string Attribute(const char* name, const std::string& value) {
  return absl::StrCat(" ", name, "=\"", XmlText(value), "\"");
}

std::string SecondsText(int64_t duration_ns) {
  return absl::StrFormat("%.3f", static_cast<double>(std::max<int64_t>(duration_ns, 0)) / kNsPerSecond);
}

// The element of a case that did not pass; null for one that did.
const char* ElementOf(JUnitCase::Kind kind) {
  switch (kind) {
    case JUnitCase::Kind::kFailure:
      return "failure";
    case JUnitCase::Kind::kError:
      return "error";
    case JUnitCase::Kind::kSkipped:
      return "skipped";
    case JUnitCase::Kind::kPassed:
      break;
  }
  return nullptr;
}

void AddJUnitCase(const JUnitCase& one, std::string& out) {
  absl::StrAppend(&out, "  <testcase", Attribute("classname", one.class_name), Attribute("name", one.name),
                  Attribute("time", SecondsText(one.duration_ns)), ">\n");
  if (const char* const element = ElementOf(one.kind); element != nullptr) {
    absl::StrAppend(&out, "    <", element, Attribute("message", one.message), "/>\n");
  }
  if (!one.output.empty()) {
    absl::StrAppend(&out, "    <system-out>");
    for (const std::string& line : one.output) absl::StrAppend(&out, XmlText(line), "\n");
    absl::StrAppend(&out, "</system-out>\n");
  }
  absl::StrAppend(&out, "  </testcase>\n");
}

constexpr char kConclusive[] = "conclusive";

JUnitCase::Kind KindOfOutcome(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_PASS:
      return JUnitCase::Kind::kPassed;
    case v1::OUTCOME_FAIL:
      return JUnitCase::Kind::kFailure;
    default:
      return JUnitCase::Kind::kError;
  }
}

bool IsGreen(const std::vector<JUnitCase>& cases, size_t from) {
  return std::all_of(cases.begin() + static_cast<std::ptrdiff_t>(from), cases.end(),
                     [](const JUnitCase& one) { return one.kind == JUnitCase::Kind::kPassed; });
}

JUnitPlace PlaceOfStep(const v1::Report& report, uint32_t number) {
  const v1::StepReport* const step = StepByNumber(report, number);
  if (step == nullptr) return {number == 0 ? "run" : absl::StrCat("run.step ", number), 0};
  const std::string load = absl::StrJoin(SweptParts(*step, report.plan()), ", ");
  return {absl::StrCat("run.step ", number, " (", FormatBlockSize(step->block_size_bytes()),
                       step->has_down_host() ? absl::StrCat(", ", step->down_host(), " down") : "",
                       load.empty() ? "" : ", ", load, ")"),
          step->measured_ns()};
}

// "worst 14.211 ms, beta/qm2".
std::string WorstOf(const v1::CriterionStepReport& result) {
  if (result.value_text().empty()) return "";
  const std::string place = FormatPlace(0, result.host(), result.qm(), result.storage(), result.queue_manager());
  return absl::StrCat("worst ", result.value_text(), ", ", place.empty() ? "cluster" : place);
}

// A drill has no steps: its criteria hold for all of it.
void AddDrillCriterion(const v1::CriterionReport& criterion, std::vector<JUnitCase>& cases) {
  JUnitCase& one = cases.emplace_back();
  one.class_name = "run.drill";
  one.name = criterion.criterion();
  one.kind = KindOfOutcome(criterion.outcome());
  std::vector<std::string> why;
  for (const std::string& text : {criterion.value_text(), criterion.reason()}) {
    if (!text.empty()) why.push_back(text);
  }
  one.message = absl::StrCat(OutcomeText(criterion.outcome()), why.empty() ? "" : ": ", absl::StrJoin(why, "; "));
  if (one.kind == JUnitCase::Kind::kPassed && !criterion.value_text().empty()) one.output = {criterion.value_text()};
}

// The primary cause, and the reasons beside it.
std::string WhyInconclusive(const v1::Report& report) {
  std::vector<std::string> why = SecondaryReasons(report.verdict());
  if (const std::string cause = PrimaryCause(report.verdict()); !cause.empty()) why.insert(why.begin(), cause);
  return why.empty() ? "" : absl::StrCat(": ", absl::StrJoin(why, "; "));
}

}  // namespace

void AddCriterionCases(const v1::CriterionReport& criterion, const std::string& whole_class,
                       const std::function<JUnitPlace(uint32_t step)>& place_of, std::vector<JUnitCase>& cases) {
  const size_t begin = cases.size();
  for (const v1::CriterionStepReport& result : criterion.steps()) {
    JUnitCase& one = cases.emplace_back();
    const JUnitPlace place = place_of(result.step());
    one.class_name = place.class_name;
    one.duration_ns = place.duration_ns;
    one.name = criterion.criterion();
    one.kind = KindOfOutcome(result.outcome());
    const std::string worst = WorstOf(result);
    std::vector<std::string> why;
    if (!worst.empty()) why.push_back(worst);
    if (!result.reason().empty()) why.push_back(result.reason());
    // What failed or decided nothing, if the step itself does not have it.
    if (result.reason().empty() && one.kind != JUnitCase::Kind::kPassed && !criterion.reason().empty()) {
      why.push_back(criterion.reason());
    }
    one.message = absl::StrCat(OutcomeText(result.outcome()), why.empty() ? "" : ": ", absl::StrJoin(why, "; "));
    if (one.kind == JUnitCase::Kind::kPassed && !worst.empty()) one.output = {worst};
  }
  const bool looked_at = cases.size() > begin;
  if (looked_at && (criterion.outcome() == v1::OUTCOME_PASS || !IsGreen(cases, begin))) return;
  JUnitCase& whole = cases.emplace_back();
  whole.class_name = whole_class;
  whole.name = criterion.criterion();
  whole.kind = criterion.outcome() == v1::OUTCOME_FAIL ? JUnitCase::Kind::kFailure : JUnitCase::Kind::kError;
  whole.message = absl::StrCat(OutcomeText(criterion.outcome()), ": ",
                               !criterion.reason().empty() ? criterion.reason() : "no step was tested against it");
}

std::string RenderJUnitSuite(const JUnitSuite& suite) {
  const auto count = [&suite](JUnitCase::Kind kind) {
    return absl::StrCat(std::ranges::count_if(suite.cases, [kind](const JUnitCase& one) { return one.kind == kind; }));
  };
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  absl::StrAppend(
      &out, "<testsuite", Attribute("name", suite.name), Attribute("tests", absl::StrCat(suite.cases.size())),
      Attribute("failures", count(JUnitCase::Kind::kFailure)), Attribute("errors", count(JUnitCase::Kind::kError)),
      Attribute("skipped", count(JUnitCase::Kind::kSkipped)), Attribute("time", SecondsText(suite.duration_ns)),
      suite.timestamp.empty() ? "" : Attribute("timestamp", suite.timestamp), ">\n  <properties>\n");
  for (const auto& [name, value] : suite.properties) {
    absl::StrAppend(&out, "    <property", Attribute("name", name), Attribute("value", value), "/>\n");
  }
  absl::StrAppend(&out, "  </properties>\n");
  for (const JUnitCase& one : suite.cases) AddJUnitCase(one, out);
  absl::StrAppend(&out, "</testsuite>\n");
  return out;
}

std::string RenderReportJUnit(const v1::Report& report) {
  const v1::VerdictReport& verdict = report.verdict();
  JUnitSuite suite;
  suite.name = report.run().name().empty() ? "plimsoll" : absl::StrCat("plimsoll: ", report.run().name());
  suite.duration_ns =
      google::protobuf::util::TimeUtil::DurationToNanoseconds(report.run().end() - report.run().begin());
  if (report.run().has_begin()) suite.timestamp = FormatMoment(report.run().begin()).substr(0, 19);
  suite.properties = {
      {"verdict", OutcomeText(verdict)}, {"run", report.run().id()}, {"version", report.run().version()}};
  for (const std::string& warning : verdict.warnings()) suite.properties.emplace_back("warning", warning);
  for (const v1::HostReport& host : report.hosts()) suite.properties.emplace_back("host", host.label());
  const TextSection* const section = TextSectionOf(report);
  for (const v1::CriterionReport& criterion : verdict.criteria()) {
    if (section != nullptr && section->steps == nullptr) {
      AddDrillCriterion(criterion, suite.cases);
    } else {
      AddCriterionCases(criterion, "run", [&report](uint32_t step) { return PlaceOfStep(report, step); }, suite.cases);
    }
  }

  JUnitCase conclusive;
  conclusive.class_name = "run";
  conclusive.name = kConclusive;
  if (verdict.criteria().empty()) {
    conclusive.kind = JUnitCase::Kind::kError;
    conclusive.message =
        absl::StrCat("no criteria: the plan requires nothing, so nothing has passed; add criteria or pass --require",
                     verdict.outcome() == v1::OUTCOME_DONE ? "" : WhyInconclusive(report));
  } else if (!verdict.reasons().empty() || (verdict.outcome() != v1::OUTCOME_PASS && IsGreen(suite.cases, 0))) {
    conclusive.kind = JUnitCase::Kind::kError;
    conclusive.message = absl::StrCat(OutcomeText(verdict), WhyInconclusive(report));
  }
  for (const std::string& warning : verdict.warnings()) {
    conclusive.output.push_back(absl::StrCat("Warning: ", warning));
  }
  suite.cases.push_back(conclusive);
  return RenderJUnitSuite(suite);
}

std::string RenderUnfinishedJUnit() {
  JUnitSuite suite;
  suite.name = "plimsoll";
  suite.cases.emplace_back();
  suite.cases.back().class_name = "run";
  suite.cases.back().name = kConclusive;
  suite.cases.back().kind = JUnitCase::Kind::kError;
  suite.cases.back().message = "the run ended without a saved report; its own output shows why";
  return RenderJUnitSuite(suite);
}

}  // namespace plimsoll
