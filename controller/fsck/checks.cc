#include "controller/fsck/checks.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/junit_xml.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

constexpr v1::CheckRequirement kIntegrity = v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY;
constexpr v1::CheckRequirement kExclusive = v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS;
constexpr v1::CheckRequirement kReleased = v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE;
constexpr v1::CheckRequirement kNone = v1::CHECK_REQUIREMENT_NONE;
constexpr v1::CheckLevel kQuick = v1::CHECK_LEVEL_QUICK;
constexpr v1::CheckLevel kStandard = v1::CHECK_LEVEL_STANDARD;
constexpr v1::CheckLevel kFull = v1::CHECK_LEVEL_FULL;

// Processes of one host at once: those of a check, and one more while another ends.
constexpr uint32_t kQuickProcesses = 8;

std::vector<CatalogEntry> MakeCatalog() {
  return {
      {.name = "lock.exclusive",
       .requirement = kExclusive,
       .level = kQuick,
       .proves = "a lock that one host holds is refused to every other, and what is written under it is not lost",
       .decides = true,
       .needed = true,
       .run = CheckLockExclusive},
      {.name = "lock.byte-ranges",
       .requirement = kExclusive,
       .level = kQuick,
       .proves = "locks of ranges conflict between hosts exactly where the ranges overlap",
       .needed = true,
       .run = CheckLockByteRanges},
      {.name = "lock.shared",
       .requirement = kExclusive,
       .level = kQuick,
       .proves = "shared locks of hosts go together; an exclusive one goes with no other, whichever came first",
       .needed = true,
       .run = CheckLockShared},
      {.name = "lock.released-at-process-death",
       .requirement = kReleased,
       .level = kQuick,
       .proves = "the lock of a process that is killed is granted to another host",
       .needed = true,
       .run = CheckLockReleasedAtProcessDeath},
      {.name = "lock.wait-poll",
       .requirement = kReleased,
       .level = kQuick,
       .proves = "a standby that polls (F_SETLK) is granted the lock when it is released, and not before",
       .needed = true,
       .run = CheckLockWaitPoll},
      {.name = "lock.wait-blocking",
       .requirement = kReleased,
       .level = kQuick,
       .proves = "a standby that waits (F_SETLKW) is granted the lock when it is released, and not before",
       .needed = true,
       .run = CheckLockWaitBlocking},
      {.name = "data.concurrent-writes",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "pages of one file that several hosts write at once are all kept, each of them whole",
       .run = CheckDataConcurrentWrites},
      {.name = "data.visible-after-close",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "what one host writes and closes, another reads when it opens the file",
       .run = CheckDataVisibleAfterClose},
      {.name = "data.visible-after-lock-handover",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "what one owner of a lock writes, the next owner reads, without opening the file again",
       .needed = true,
       .run = CheckDataVisibleAfterLockHandover},
      {.name = "data.rename-atomic",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "a file that is renamed over another is found under the name, whole, at every moment",
       .run = CheckDataRenameAtomic},
      {.name = "data.dsync-survives-writer-death",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "a synchronous write that was acknowledged is there after its writer was killed",
       .hosts = 1,
       .run = CheckDataDsyncSurvivesWriterDeath},
      {.name = "data.order-two-files",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "synchronous writes to two files become visible, and survive, in their order",
       .hosts = 1,
       .run = CheckDataOrderTwoFiles},
      {.name = "data.direct-buffered-agree",
       .requirement = kIntegrity,
       .level = kQuick,
       .proves = "reads and writes with O_DIRECT and through the page cache see the same content",
       .hosts = 1,
       .run = CheckDataDirectBufferedAgree},
      {.name = "time.timestamps-against-host-clocks",
       .requirement = kNone,
       .level = kQuick,
       .proves = "the storage's times of files and the hosts' clocks differ by at most a second",
       .hosts = 1,
       .run = CheckTimeTimestamps},
      {.name = "lock.storm",
       .requirement = kExclusive,
       .level = kStandard,
       .proves = "a lock that many processes of all hosts contend for has one owner at a time",
       .needed = true,
       .run = CheckLockStorm},
      {.name = "lock.ping-pong",
       .requirement = kNone,
       .level = kStandard,
       .proves = "how many locks a second go round the hosts",
       .run = CheckLockPingPong},
      {.name = "lock.courtesy",
       .requirement = kExclusive,
       .level = kStandard,
       .proves = "a lock is kept, and its holder writes on, after no host made a call for longer than a lease",
       .run = CheckLockCourtesy},
      {.name = "lock.capacity",
       .requirement = kExclusive,
       .level = kStandard,
       .proves = "20 processes of a host can hold a lock in each of 16 files at once",
       .run = CheckLockCapacity},
      {.name = "lock.content-visible-to-next-owner",
       .requirement = kIntegrity,
       .level = kStandard,
       .proves = "what the killed owner of a lock wrote without flushing it, the next owner reads",
       .run = CheckLockContentVisibleToNextOwner},
      {.name = "data.dsync-survives-server-restart",
       .requirement = kIntegrity,
       .level = kFull,
       .proves = "a synchronous write that was acknowledged is there after the storage's server has restarted",
       .hosts = 1,
       .decides = true,
       .faults = {FsckField::Fault::kRestartServer},
       .run = CheckDataDsyncSurvivesServerRestart},
      {.name = "lock.after-server-restart",
       .requirement = kExclusive,
       .level = kFull,
       .proves = "a lock is still its holder's after the storage's server has restarted",
       .faults = {FsckField::Fault::kRestartServer},
       .run = CheckLockAfterServerRestart},
      // Last: a host is lost by it.
      {.name = "lock.released-at-host-death",
       .requirement = kReleased,
       .level = kFull,
       .proves = "the lock of a host that dies is granted to another host before the dead one has restarted",
       .decides = true,
       .faults = {FsckField::Fault::kKillHost, FsckField::Fault::kRestoreHost},
       .run = CheckLockReleasedAtHostDeath},
  };
}

}  // namespace

const std::vector<CatalogEntry>& FsckCatalog() {
  static const std::vector<CatalogEntry> catalog = MakeCatalog();
  return catalog;
}

uint32_t CatalogFiles() {
  return static_cast<uint32_t>(FsckCatalog().size()) * kFilesPerCheck;
}

uint32_t CatalogProcesses(v1::CheckLevel level) {
  if (level == v1::CHECK_LEVEL_QUICK) return kQuickProcesses;
  return std::max(kCapacityProcesses, kStormProcessesPerHost) + kQuickProcesses;
}

std::string FaultOption(FsckField::Fault fault) {
  switch (fault) {
    case FsckField::Fault::kKillHost:
      return "--kill-host";
    case FsckField::Fault::kRestoreHost:
      return "--restore-host";
    default:
      return "--restart-server";
  }
}

std::string LevelName(v1::CheckLevel level) {
  switch (level) {
    case v1::CHECK_LEVEL_QUICK:
      return "quick";
    case v1::CHECK_LEVEL_STANDARD:
      return "standard";
    default:
      return "full";
  }
}

std::string RequirementName(v1::CheckRequirement requirement) {
  switch (requirement) {
    case v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY:
      return "data write integrity";
    case v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS:
      return "guaranteed exclusive access";
    case v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE:
      return "locks released on failure";
    default:
      return "no requirement";
  }
}

std::string OutcomeName(v1::CheckOutcome outcome) {
  switch (outcome) {
    case v1::CHECK_OUTCOME_PASS:
      return "pass";
    case v1::CHECK_OUTCOME_FAIL:
      return "FAIL";
    case v1::CHECK_OUTCOME_UNSUPPORTED:
      return "unsupported";
    case v1::CHECK_OUTCOME_UNDECIDED:
      return "undecided";
    default:
      return "not tested";
  }
}

std::string VerdictName(v1::CheckVerdict verdict) {
  switch (verdict) {
    case v1::CHECK_VERDICT_PASS:
      return "PASS";
    case v1::CHECK_VERDICT_FAIL:
      return "FAIL";
    default:
      return "NOT TESTED";
  }
}

namespace {

constexpr std::array kRequirements = {v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY,
                                      v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS,
                                      v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE};

void SkipCheck(const std::string& reason, v1::CheckResult& result) {
  result.set_outcome(v1::CHECK_OUTCOME_NOT_TESTED);
  result.set_reason(reason);
}

// The first option that the check needs and that was not given; empty: none.
std::string MissingOption(const FsckField& field, const CatalogEntry& entry) {
  for (const FsckField::Fault fault : entry.faults) {
    if (!field.CanProvoke(fault)) return FaultOption(fault);
  }
  return "";
}

const CatalogEntry* FindEntry(const std::string& name) {
  for (const CatalogEntry& entry : FsckCatalog()) {
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

std::vector<v1::CheckResult> RunChecks(FsckField& field, v1::CheckLevel level, const std::set<std::string>& only,
                                       const std::function<void(const CatalogEntry&)>& announce) {
  std::vector<v1::CheckResult> results;
  uint32_t next_process = 0;
  uint32_t index = 0;
  for (const CatalogEntry& entry : FsckCatalog()) {
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
        FsckCheck check(field, own_index, next_process, result);
        entry.run(check);
        if (field.over()) check.Undecided("the check was ended early");
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

// "alpha", or "alpha on node worker-1".
std::string HostName(const v1::CheckHost& host) {
  return absl::StrCat(host.label(), host.has_node() ? " on node " : "", host.node());
}

void AddCheck(const v1::CheckResult& check, std::string& out) {
  const std::string time =
      check.duration_ns() > 0 ? absl::StrFormat("%.1f s", static_cast<double>(check.duration_ns()) / kNsPerSecond) : "";
  absl::StrAppend(&out, "  ", PadRight(check.name(), 39), PadRight(OutcomeName(check.outcome()), 13), time, "\n");
  if (!check.reason().empty()) AddWrapped(check.reason(), 6, out);
  for (const std::string& sentence : check.evidence()) AddWrapped(sentence, 6, out);
}

}  // namespace

std::string RenderFsckText(const v1::CheckReport& report) {
  std::string out = absl::StrCat("Verdict   ", VerdictName(report.verdict()), "  (level ", LevelName(report.level()),
                                 ", ", SanitizeForTerminal(report.directory()), ")\n\nRequirements\n");
  for (const v1::CheckRequirementResult& requirement : report.requirements()) AddRequirement(requirement, out);
  absl::StrAppend(&out, "\nChecks\n");
  for (const v1::CheckResult& check : report.checks()) {
    if (check.level() <= report.level()) AddCheck(check, out);
  }
  absl::StrAppend(&out, "\nHosts\n");
  for (const v1::CheckHost& host : report.hosts()) {
    AddWrapped(absl::StrCat(HostName(host), ": ", host.fs_type(), host.fs_source().empty() ? "" : " from ",
                            host.fs_source(), " (", host.mount_options(), "), ", host.kernel()),
               2, out);
  }
  if (!report.notes().empty()) absl::StrAppend(&out, "\nNotes\n");
  for (const std::string& note : report.notes()) AddWrapped(note, 2, out);
  return out;
}

namespace {

// Checks of the level by how they ended, the worst first, and of each kind those with one reason together.
std::vector<std::string> ChecksThatDidNotPass(const v1::CheckReport& report, std::string& counts) {
  std::vector<std::string> parts;
  std::vector<std::string> sentences;
  for (const v1::CheckOutcome outcome : {v1::CHECK_OUTCOME_PASS, v1::CHECK_OUTCOME_FAIL, v1::CHECK_OUTCOME_UNDECIDED,
                                         v1::CHECK_OUTCOME_NOT_TESTED, v1::CHECK_OUTCOME_UNSUPPORTED}) {
    size_t count = 0;
    std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
    for (const v1::CheckResult& check : report.checks()) {
      if (check.level() > report.level() || check.outcome() != outcome) continue;
      ++count;
      auto same = std::ranges::find_if(by_reason, [&check](const auto& one) { return one.first == check.reason(); });
      if (same == by_reason.end()) same = by_reason.insert(same, {check.reason(), {}});
      same->second.push_back(check.name());
    }
    if (count > 0) parts.push_back(absl::StrCat(OutcomeName(outcome), " ", count));
    if (outcome == v1::CHECK_OUTCOME_PASS) continue;
    for (const auto& [reason, names] : by_reason) {
      sentences.push_back(
          absl::StrCat(OutcomeName(outcome), ": ", absl::StrJoin(names, ", "), reason.empty() ? "" : ": ", reason));
    }
  }
  counts = absl::StrJoin(parts, ", ");
  return sentences;
}

// Wrapped sentences under a heading, in at most so many lines; empty: there are none.
std::string BriefSentences(const std::string& heading, const std::vector<std::string>& sentences, size_t most) {
  if (sentences.empty() || most < 2) return "";
  std::vector<std::string> lines;
  for (const std::string& sentence : sentences) {
    const std::vector<std::string> wrapped = Wrap(SanitizeForTerminal(sentence), kTextWidth - 4);
    for (size_t i = 0; i < wrapped.size(); ++i) lines.push_back(absl::StrCat(i == 0 ? "  " : "    ", wrapped[i]));
  }
  if (lines.size() + 1 > most) {
    const size_t left_out = lines.size() + 2 - most;
    lines.resize(most - 2);
    lines.push_back(absl::StrCat("  ... and ", left_out, left_out == 1 ? " more line" : " more lines", " (--full)"));
  }
  return absl::StrCat(heading, "\n", absl::StrJoin(lines, "\n"), "\n");
}

size_t CountOfLines(const std::string& text) {
  return static_cast<size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

std::string RenderFsckBrief(const v1::CheckReport& report) {
  const std::string directory = SanitizeForTerminal(report.directory());
  std::string out = absl::StrCat("Verdict   ", VerdictName(report.verdict()), "  (level ", LevelName(report.level()),
                                 ", ", directory, ")\n\nRequirements\n");
  for (const v1::CheckRequirementResult& requirement : report.requirements()) {
    std::string line = absl::StrCat("  ", PadRight(RequirementName(requirement.requirement()), 29),
                                    VerdictName(requirement.verdict()));
    if (!requirement.reasons().empty()) absl::StrAppend(&line, "  ", SanitizeForTerminal(requirement.reasons(0)));
    absl::StrAppend(&out, Shorten(line, kTextWidth), "\n");
  }
  const std::string last =
      absl::StrCat("\n--full shows everything.\n", VerdictName(report.verdict()), "   ", directory, "\n");
  constexpr size_t kNotesLines = 8;
  std::string notes = BriefSentences("\nNotes", {report.notes().begin(), report.notes().end()}, kNotesLines);
  std::string counts;
  const std::vector<std::string> sentences = ChecksThatDidNotPass(report, counts);
  const size_t used = CountOfLines(out) + CountOfLines(notes) + CountOfLines(last) + 1;
  const std::string heading = absl::StrCat("Checks    ", counts.empty() ? "none" : counts);
  const std::string checks = BriefSentences(heading, sentences, kBriefLines - std::min(kBriefLines, used));
  return absl::StrCat(out, "\n", checks.empty() ? heading + "\n" : checks, notes, last);
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
      for (const CatalogEntry& entry : FsckCatalog()) {
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
  for (const v1::CheckHost& host : report.hosts()) suite.properties.emplace_back("host", HostName(host));
  for (const v1::CheckResult& check : report.checks()) {
    JUnitCase& one = suite.cases.emplace_back();
    one.class_name = absl::StrCat("fsck.", EnumName(*v1::CheckRequirement_descriptor(), check.requirement()));
    one.name = check.name();
    one.duration_ns = check.duration_ns();
    one.kind = KindOf(check);
    one.message = check.reason();
    one.output.assign(check.evidence().begin(), check.evidence().end());
  }
  for (const v1::CheckRequirementResult& requirement : report.requirements()) {
    JUnitCase& one = suite.cases.emplace_back();
    one.class_name = "fsck.requirement";
    one.name = EnumName(*v1::CheckRequirement_descriptor(), requirement.requirement());
    one.kind = requirement.verdict() == v1::CHECK_VERDICT_PASS   ? JUnitCase::Kind::kPassed
               : requirement.verdict() == v1::CHECK_VERDICT_FAIL ? JUnitCase::Kind::kFailure
                                                                 : JUnitCase::Kind::kError;
    if (one.kind != JUnitCase::Kind::kPassed) {
      one.message = absl::StrCat(VerdictName(requirement.verdict()), ": ", absl::StrJoin(requirement.reasons(), "; "));
    }
  }
  return RenderJUnitSuite(suite);
}

}  // namespace plimsoll
