#include "controller/check/report_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/terminal_text.h"
#include "common/units.h"
#include "controller/check/catalog.h"
#include "controller/render/plain_text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

// Indented lines of the text, which is neutral after this.
void AddWrapped(const std::string& text, size_t indent, std::string& out) {
  for (const std::string& line : Wrap(SanitizeForTerminal(text), kTextWidth - indent)) {
    absl::StrAppend(&out, std::string(indent, ' '), line, "\n");
  }
}

void AddRequirement(const v1::CheckRequirementResult& requirement, std::string& out) {
  absl::StrAppend(&out, "  ", PadRight(RequirementName(requirement.requirement()), 29),
                  VerdictName(requirement.verdict()), "\n");
  for (const std::string& reason : requirement.reasons()) AddWrapped(reason, 6, out);
  if (!requirement.omitted().empty()) {
    AddWrapped(absl::StrCat("omitted at this level: ", absl::StrJoin(requirement.omitted(), ", ")), 6, out);
  }
}

void AddCheck(const v1::CheckResult& check, std::string& out) {
  const std::string time =
      check.duration_ns() > 0 ? absl::StrFormat("%.1f s", static_cast<double>(check.duration_ns()) / kNsPerSecond) : "";
  absl::StrAppend(&out, "  ", PadRight(check.name(), 39), PadRight(OutcomeName(check.outcome()), 13), time, "\n");
  if (!check.reason().empty()) AddWrapped(check.reason(), 6, out);
  for (const std::string& sentence : check.evidence()) AddWrapped(sentence, 6, out);
}

}  // namespace

std::string RenderCheckText(const v1::CheckReport& report) {
  std::string out = absl::StrCat("Verdict   ", VerdictName(report.verdict()), "  (level ", LevelName(report.level()),
                                 ", ", SanitizeForTerminal(report.directory()), ")\n\nRequirements\n");
  for (const v1::CheckRequirementResult& requirement : report.requirements()) AddRequirement(requirement, out);
  absl::StrAppend(&out, "\nChecks\n");
  for (const v1::CheckResult& check : report.checks()) {
    if (check.level() <= report.level()) AddCheck(check, out);
  }
  absl::StrAppend(&out, "\nHosts\n");
  for (const v1::CheckHost& host : report.hosts()) {
    AddWrapped(absl::StrCat(host.label(), ": ", host.fs_type(), " from ", host.fs_source(), " (", host.mount_options(),
                            "), ", host.kernel()),
               2, out);
  }
  if (!report.notes().empty()) absl::StrAppend(&out, "\nNotes\n");
  for (const std::string& note : report.notes()) AddWrapped(note, 2, out);
  return out;
}

}  // namespace plimsoll
