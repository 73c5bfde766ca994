#include "controller/check/junit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/terminal_text.h"
#include "common/units.h"
#include "controller/check/catalog.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

enum class CaseKind { kPassed, kFailure, kError, kSkipped };

CaseKind KindOf(const v1::CheckResult& check) {
  switch (check.outcome()) {
    case v1::CHECK_OUTCOME_PASS:
      return CaseKind::kPassed;
    case v1::CHECK_OUTCOME_FAIL:
      return CaseKind::kFailure;
    case v1::CHECK_OUTCOME_UNDECIDED:
      return CaseKind::kError;
    case v1::CHECK_OUTCOME_UNSUPPORTED:
      for (const CatalogEntry& entry : CheckCatalog()) {
        if (entry.name == check.name() && entry.needed) return CaseKind::kFailure;
      }
      return CaseKind::kSkipped;
    default:
      return CaseKind::kSkipped;
  }
}

// XML knows no control characters, not even as references.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(SanitizeForTerminal(text),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string SecondsOf(int64_t duration_ns) {
  return absl::StrFormat("%.3f", static_cast<double>(duration_ns) / kNsPerSecond);
}

void AddCase(const v1::CheckResult& check, std::string& out) {
  absl::StrAppend(&out, "  <testcase classname=\"fsck.",
                  EnumName(*v1::CheckRequirement_descriptor(), check.requirement()), "\" name=\"",
                  Escaped(check.name()), "\" time=\"", SecondsOf(check.duration_ns()), "\">\n");
  const std::string message = absl::StrCat(" message=\"", Escaped(check.reason()), "\"");
  switch (KindOf(check)) {
    case CaseKind::kFailure:
      absl::StrAppend(&out, "    <failure", message, "/>\n");
      break;
    case CaseKind::kError:
      absl::StrAppend(&out, "    <error", message, "/>\n");
      break;
    case CaseKind::kSkipped:
      absl::StrAppend(&out, "    <skipped", message, "/>\n");
      break;
    case CaseKind::kPassed:
      break;
  }
  if (!check.evidence().empty()) {
    absl::StrAppend(&out, "    <system-out>");
    for (const std::string& sentence : check.evidence()) absl::StrAppend(&out, Escaped(sentence), "\n");
    absl::StrAppend(&out, "</system-out>\n");
  }
  absl::StrAppend(&out, "  </testcase>\n");
}

void AddProperty(const std::string& name, const std::string& value, std::string& out) {
  absl::StrAppend(&out, "    <property name=\"", Escaped(name), "\" value=\"", Escaped(value), "\"/>\n");
}

}  // namespace

std::string RenderJUnit(const v1::CheckReport& report) {
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  for (const v1::CheckResult& check : report.checks()) {
    const CaseKind kind = KindOf(check);
    failures += kind == CaseKind::kFailure ? 1 : 0;
    errors += kind == CaseKind::kError ? 1 : 0;
    skipped += kind == CaseKind::kSkipped ? 1 : 0;
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  absl::StrAppend(&out, "<testsuite name=\"plimsoll fsck ", Escaped(report.directory()), "\" tests=\"",
                  report.checks_size(), "\" failures=\"", failures, "\" errors=\"", errors, "\" skipped=\"", skipped,
                  "\" time=\"", SecondsOf(report.duration_ns()), "\">\n  <properties>\n");
  AddProperty("level", LevelName(report.level()), out);
  AddProperty("verdict", VerdictName(report.verdict()), out);
  for (const v1::CheckRequirementResult& requirement : report.requirements()) {
    AddProperty(RequirementName(requirement.requirement()), VerdictName(requirement.verdict()), out);
  }
  for (const v1::CheckHost& host : report.hosts()) AddProperty("host", host.label(), out);
  absl::StrAppend(&out, "  </properties>\n");
  for (const v1::CheckResult& check : report.checks()) AddCase(check, out);
  absl::StrAppend(&out, "</testsuite>\n");
  return out;
}

}  // namespace plimsoll
