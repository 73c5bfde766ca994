#include "controller/render/junit_xml.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "common/units.h"

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

}  // namespace

std::string RenderJUnitSuite(const JUnitSuite& suite) {
  const auto count = [&suite](JUnitCase::Kind kind) {
    return absl::StrCat(std::count_if(suite.cases.begin(), suite.cases.end(),
                                      [kind](const JUnitCase& one) { return one.kind == kind; }));
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

}  // namespace plimsoll
