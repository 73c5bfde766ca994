#include "controller/check/check_report.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/check/catalog.h"
#include "controller/render/json.h"
#include "controller/render/junit_xml.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

constexpr std::array kRequirements = {v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY,
                                      v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS,
                                      v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE};

void SkipCheck(const std::string& reason, v1::CheckResult& result) {
  result.set_outcome(v1::CHECK_OUTCOME_NOT_TESTED);
  result.set_reason(reason);
}

// The first option that the check needs and that was not given; empty: none.
std::string MissingOption(const CheckField& field, const CatalogEntry& entry) {
  for (const CheckField::Fault fault : entry.faults) {
    if (!field.CanProvoke(fault)) return FaultOption(fault);
  }
  return "";
}

const CatalogEntry* FindEntry(const std::string& name) {
  for (const CatalogEntry& entry : CheckCatalog()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

v1::CheckRequirementResult JudgeRequirement(v1::CheckRequirement requirement, const std::vector<std::string>& untested,
                                            const v1::CheckReport& report) {
  v1::CheckRequirementResult judged;
  judged.set_requirement(requirement);
  bool failed = false;
  std::vector<std::string> failures;
  std::vector<std::string> open = untested;
  for (const v1::CheckResult& check : report.checks()) {
    if (check.requirement() != requirement) continue;
    const CatalogEntry* const entry = FindEntry(check.name());
    const bool omitted = check.level() > report.level();
    if (omitted) judged.add_omitted(check.name());
    const std::string because = absl::StrCat(check.name(), ": ", check.reason());
    switch (check.outcome()) {
      case v1::CHECK_OUTCOME_PASS:
        break;
      case v1::CHECK_OUTCOME_FAIL:
        failed = true;
        failures.push_back(because);
        break;
      case v1::CHECK_OUTCOME_UNSUPPORTED:
        if (entry == nullptr || !entry->needed) break;
        failed = true;
        failures.push_back(absl::StrCat(check.name(), " is not supported: ", check.reason()));
        break;
      default:
        // A check that the level omits leaves the requirement open only where nothing else tests the same.
        if (!omitted || entry == nullptr || entry->decides) open.push_back(because);
        break;
    }
  }
  if (failed) {
    judged.set_verdict(v1::CHECK_VERDICT_FAIL);
    for (std::string& reason : failures) judged.add_reasons(std::move(reason));
  } else if (!open.empty()) {
    judged.set_verdict(v1::CHECK_VERDICT_NOT_TESTED);
    for (std::string& reason : open) judged.add_reasons(std::move(reason));
  } else {
    judged.set_verdict(v1::CHECK_VERDICT_PASS);
  }
  return judged;
}

}  // namespace

std::vector<v1::CheckResult> RunChecks(CheckField& field, v1::CheckLevel level, const std::set<std::string>& only,
                                       const std::function<void(const CatalogEntry&)>& announce) {
  std::vector<v1::CheckResult> results;
  uint32_t next_process = 0;
  uint32_t index = 0;
  for (const CatalogEntry& entry : CheckCatalog()) {
    v1::CheckResult& result = results.emplace_back();
    result.set_name(entry.name);
    result.set_requirement(entry.requirement);
    result.set_level(entry.level);
    result.set_proves(entry.proves);
    const uint32_t own_index = index++;
    if (entry.level > level) {
      SkipCheck(absl::StrCat("needs --level ", LevelName(entry.level)), result);
    } else if (!only.empty() && only.count(entry.name) == 0) {
      SkipCheck("left out by --only", result);
    } else if (const std::string option = MissingOption(field, entry); !option.empty()) {
      SkipCheck(absl::StrCat("needs ", option), result);
    } else if (field.hosts() < entry.hosts) {
      SkipCheck(absl::StrCat("needs ", entry.hosts, " hosts"), result);
    } else if (field.over()) {
      SkipCheck("the check was ended early", result);
    } else {
      announce(entry);
      const int64_t begin_ns = field.NowNs();
      {
        CheckRun run(field, own_index, next_process, result);
        entry.run(run);
        if (field.over()) run.Undecided("the check was ended early");
      }
      if (result.outcome() == v1::CHECK_OUTCOME_UNSPECIFIED) result.set_outcome(v1::CHECK_OUTCOME_PASS);
      result.set_duration_ns(field.NowNs() - begin_ns);
    }
  }
  return results;
}

void JudgeChecks(const std::vector<std::string>& untested, v1::CheckReport& report) {
  bool failed = false;
  bool passed = true;
  report.clear_requirements();
  for (const v1::CheckRequirement requirement : kRequirements) {
    v1::CheckRequirementResult judged = JudgeRequirement(requirement, untested, report);
    failed = failed || judged.verdict() == v1::CHECK_VERDICT_FAIL;
    passed = passed && judged.verdict() == v1::CHECK_VERDICT_PASS;
    *report.add_requirements() = std::move(judged);
  }
  report.set_verdict(failed ? v1::CHECK_VERDICT_FAIL : passed ? v1::CHECK_VERDICT_PASS : v1::CHECK_VERDICT_NOT_TESTED);
}

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
    AddWrapped(absl::StrCat(host.label(), ": ", host.fs_type(), host.fs_source().empty() ? "" : " from ",
                            host.fs_source(), " (", host.mount_options(), "), ", host.kernel()),
               2, out);
  }
  if (!report.notes().empty()) absl::StrAppend(&out, "\nNotes\n");
  for (const std::string& note : report.notes()) AddWrapped(note, 2, out);
  return out;
}

namespace {

JUnitCase::Kind KindOf(const v1::CheckResult& check) {
  switch (check.outcome()) {
    case v1::CHECK_OUTCOME_PASS:
      return JUnitCase::Kind::kPassed;
    case v1::CHECK_OUTCOME_FAIL:
      return JUnitCase::Kind::kFailure;
    case v1::CHECK_OUTCOME_UNDECIDED:
      return JUnitCase::Kind::kError;
    case v1::CHECK_OUTCOME_UNSUPPORTED:
      for (const CatalogEntry& entry : CheckCatalog()) {
        if (entry.name == check.name() && entry.needed) return JUnitCase::Kind::kFailure;
      }
      return JUnitCase::Kind::kSkipped;
    default:
      return JUnitCase::Kind::kSkipped;
  }
}

}  // namespace

std::string RenderJUnit(const v1::CheckReport& report) {
  JUnitSuite suite;
  suite.name = absl::StrCat("plimsoll fsck ", report.directory());
  suite.duration_ns = report.duration_ns();
  suite.properties = {{"level", LevelName(report.level())}, {"verdict", VerdictName(report.verdict())}};
  for (const v1::CheckRequirementResult& requirement : report.requirements()) {
    suite.properties.emplace_back(RequirementName(requirement.requirement()), VerdictName(requirement.verdict()));
  }
  for (const v1::CheckHost& host : report.hosts()) suite.properties.emplace_back("host", host.label());
  for (const v1::CheckResult& check : report.checks()) {
    JUnitCase& one = suite.cases.emplace_back();
    one.class_name = absl::StrCat("fsck.", EnumName(*v1::CheckRequirement_descriptor(), check.requirement()));
    one.name = check.name();
    one.duration_ns = check.duration_ns();
    one.kind = KindOf(check);
    one.message = check.reason();
    one.output.assign(check.evidence().begin(), check.evidence().end());
  }
  return RenderJUnitSuite(suite);
}

}  // namespace plimsoll
