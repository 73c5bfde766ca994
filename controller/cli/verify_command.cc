// `plimsoll verify`: whether results are those that were recorded, file by file, and whether their verdict follows from
// them.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/app/runs.h"
#include "controller/cli/ab_comparison.h"
#include "controller/cli/ab_record.h"
#include "controller/cli/accept_record.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/result_list.h"
#include "controller/compare/report_json.h"
#include "controller/fleet/exit_code.h"
#include "controller/journal/digest.h"
#include "controller/journal/results.h"
#include "controller/render/json.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr char kJournalFile[] = "journal";
constexpr char kReportFile[] = "report.json";
// Far more than the report of the largest run.
constexpr size_t kMostReportBytes = size_t{256} << 20;
// What the results of each kind have: of a run, of `plimsoll accept`, of `plimsoll ab`, and of two parts of an
// acceptance.
const std::vector<std::vector<std::string>> kNeededFiles = {
    {kJournalFile, kReportFile}, {"accept.json"}, {"ab.json", "compare.json"}, {"storage.json"}, {"fsck.json"}};

struct VerifyFlags {
  std::string directory;
  std::string digest;
};

// What was found, each thing once.
class Findings {
 public:
  // A sentence that begins with the name of the file.
  void Differs(const std::string& text) {
    if (absl::c_linear_search(differences_, text)) return;
    differences_.push_back(text);
    named_.insert(text.substr(0, text.find(' ')));
  }
  // What another check found: left out where it is about a file that is named already.
  void DiffersToo(const std::string& text) {
    for (const absl::string_view word : absl::StrSplit(text, ' ')) {
      if (IsNamed(std::string(word))) return;
    }
    Differs(text);
  }
  // What to know of results that are as they were recorded.
  void Remark(const std::string& text) { remarks_.push_back(text); }
  void Undecided(const std::string& text) {
    if (!absl::c_linear_search(undecided_, text)) undecided_.push_back(text);
  }

  bool IsNamed(const std::string& file) const { return named_.contains(file); }
  const std::vector<std::string>& differences() const { return differences_; }
  const std::vector<std::string>& undecided() const { return undecided_; }
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  std::vector<std::string> differences_;
  std::vector<std::string> undecided_;
  std::vector<std::string> remarks_;
  std::set<std::string> named_;
};

// The 64 digits of "sha256:..." or of the digits alone; empty: it is neither.
std::string ParseDigest(const std::string& text) {
  const std::string digits = absl::AsciiStrToLower(std::string(absl::StripPrefix(text, "sha256:")));
  const bool good = digits.size() == 64 &&
                    absl::c_all_of(digits, [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); });
  return good ? digits : "";
}

bool IsRegular(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path, error));
}

absl::StatusOr<v1::Report> DeriveReport(const std::string& journal) {
  Analyzer analyzer;
  const absl::StatusOr<std::string> damage = ReadWholeRecords(
      journal, [&analyzer](const v1::JournalRecord& record, const RawRecord& /*raw*/) { analyzer.Add(record); });
  if (!damage.ok()) return damage.status();
  if (!damage->empty()) analyzer.AddDamage(DamageNote(*damage));
  return analyzer.Finish();
}

bool SameVerdict(const v1::VerdictReport& one, const v1::VerdictReport& other) {
  return one.outcome() == other.outcome() &&
         absl::c_equal(one.criteria(), other.criteria(), [](const auto& mine, const auto& theirs) {
           return mine.criterion() == theirs.criterion() && mine.outcome() == theirs.outcome();
         });
}

// Holds the files of a run's results that show the report against it.
void CheckShown(const fs::path& place, const std::string& prefix, const v1::Report& report, Findings& findings) {
  for (const auto& [name, content] : ReportFiles(report)) {
    if (!IsRegular(place / name)) continue;
    const absl::StatusOr<std::string> text = ReadFile((place / name).string(), kMostReportBytes);
    if (text.ok() && *text != content) {
      findings.DiffersToo(absl::StrCat(prefix, name, " does not show the report that the journal gives"));
    }
  }
}

// Holds the report.json of a run, in the directory `part` (empty: none) of the results, against its journal. `sealed`:
// the list of files is the one whose digest was given. Returns the verdict that the journal gives; empty: it gives
// none.
std::string CheckRunReport(const std::string& directory, const std::string& part, bool sealed, Findings& findings) {
  const std::string prefix = part.empty() ? "" : absl::StrCat(part, "/");
  const fs::path place = fs::path(directory) / part;
  // What was changed, is missing, or a link, is named already: nothing follows from such a journal.
  if (findings.IsNamed(prefix + kJournalFile) || findings.IsNamed(part)) return "";
  if (!IsRegular(place / kJournalFile) || !IsRegular(place / kReportFile)) return "";
  const absl::StatusOr<v1::Report> derived = DeriveReport((place / kJournalFile).string());
  if (!derived.ok()) {
    findings.Undecided(
        absl::StrCat("no report follows from ", prefix, kJournalFile, ": ", std::string(derived.status().message())));
    return "";
  }
  const std::string verdict = OutcomeText(derived->verdict());
  const absl::StatusOr<std::string> text = ReadFile((place / kReportFile).string(), kMostReportBytes);
  if (text.ok() && *text == RenderJson(*derived)) {
    // This build makes the same report: the other files that show it are the same, too. With the digest they are.
    if (!sealed) CheckShown(place, prefix, *derived, findings);
    return verdict;
  }
  const absl::StatusOr<v1::Report> recorded = text.ok() ? ParseReportJson(*text) : text.status();
  if (!recorded.ok()) {
    findings.Undecided(absl::StrCat(prefix, kReportFile, ": ", std::string(recorded.status().message())));
  } else if (recorded->verdict().outcome() != derived->verdict().outcome()) {
    findings.Differs(absl::StrCat(prefix, kReportFile, " has the verdict ", OutcomeText(recorded->verdict()),
                                  ", and the journal gives ", verdict));
  } else if (!SameVerdict(recorded->verdict(), derived->verdict())) {
    findings.Differs(absl::StrCat(prefix, kReportFile, " has results of criteria that the journal does not give"));
  } else if (sealed && !findings.IsNamed(prefix + kReportFile)) {
    // The digest shows that it is what was recorded.
    findings.Remark(absl::StrCat(prefix, kReportFile,
                                 " is not byte for byte what this build makes of the journal; the "
                                 "verdict and the results of the criteria are the same"));
  } else if (derived->run().version() == kVersion) {
    // Of another version's report, the verdict alone must be the same.
    findings.DiffersToo(absl::StrCat(prefix, kReportFile, " is not the report that the journal gives"));
  }
  return verdict;
}

// Holds the comparison of `plimsoll ab` against the journals of its rounds, which are as they were sealed.
void CheckComparison(const std::string& directory, bool sealed, Findings& findings) {
  // What was changed is named already.
  if (findings.IsNamed("compare.json")) return;
  const absl::StatusOr<ComparisonDifferences> found = CheckAbComparison(directory);
  if (!found.ok()) {
    findings.Undecided(absl::StrCat("the rounds cannot be compared again: ", std::string(found.status().message())));
    return;
  }
  if (sealed && !found->other_text.empty()) {
    // The digest shows that it is what was recorded.
    findings.Remark(found->other_text);
    return;
  }
  for (const std::string& text : found->differences) findings.DiffersToo(text);
}

// Holds the verdict against what it follows from, in the way of the results' kind. Returns the derived one; empty:
// there is none.
std::string CheckVerdict(const std::string& directory, const std::vector<std::string>& listed, bool sealed,
                         Findings& findings) {
  std::string verdict = CheckRunReport(directory, "", sealed, findings);
  for (const std::string& name : listed) {
    if (absl::EndsWith(name, absl::StrCat("/", kReportFile))) {
      CheckRunReport(directory, name.substr(0, name.find('/')), sealed, findings);
    }
  }
  absl::StatusOr<std::vector<std::string>> seals = std::vector<std::string>();
  if (IsAcceptDirectory(directory)) {
    v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
    seals = AcceptDifferences(directory, outcome);
    if (seals.ok()) verdict = OutcomeText(outcome);
  } else if (IsAbDirectory(directory)) {
    seals = AbDifferences(directory);
    if (seals.ok() && seals->empty()) CheckComparison(directory, sealed, findings);
  }
  if (!seals.ok()) {
    findings.Undecided(std::string(seals.status().message()));
  } else {
    for (const std::string& text : *seals) findings.DiffersToo(text);
  }
  return verdict;
}

// Names what the results must have and the list does not. False where the directory holds no results.
bool CheckListed(const std::string& directory, const std::vector<std::string>& listed, bool has_list,
                 Findings& findings) {
  bool any = false;
  for (const std::vector<std::string>& files : kNeededFiles) {
    const bool concerned = absl::c_any_of(files, [&](const std::string& file) {
      return absl::c_linear_search(listed, file) || IsThere(fs::path(directory) / file);
    });
    if (!concerned) continue;
    any = true;
    for (const std::string& file : files) {
      if (has_list && !absl::c_linear_search(listed, file)) {
        findings.Differs(absl::StrCat(kDigestName, " does not list ", file));
      }
    }
  }
  return any;
}

int VerifyMain(const VerifyFlags& flags, CommandLine& line) {
  const std::string& directory = flags.directory;
  const std::string expected = ParseDigest(flags.digest);
  if (!flags.digest.empty() && expected.empty()) {
    return PrintError(line,
                      absl::StrCat("--digest: ", Quoted(flags.digest),
                                   " is not a SHA-256: give the 64 hexadecimal digits that the command printed"),
                      Exit::kWrong);
  }
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return PrintError(
        line,
        absl::StrCat(directory,
                     IsThere(directory) ? " is not a directory; name the directory of the results" : " does not exist"),
        Exit::kWrong);
  }
  const absl::StatusOr<DigestState> state = CheckDigest(directory);
  const std::vector<std::string> listed = state.ok() ? state->listed : std::vector<std::string>();
  Findings findings;
  if (state.ok()) {
    for (const std::string& text : state->differences) findings.Differs(text);
    for (const std::string& text : state->unreadable) findings.Undecided(text);
    if (!expected.empty() && expected != state->digest) {
      findings.Differs(
          absl::StrCat(kDigestName, " was changed or is of other results: its SHA-256 is not that of --digest"));
    }
  }
  if (!absl::IsNotFound(state.status()) && !SealFailure(state).ok()) {
    return PrintError(line, state.status(), Exit::kInconclusive);
  }
  if (!CheckListed(directory, listed, state.ok(), findings)) {
    return PrintError(line,
                      absl::StrCat(directory, " holds no results: no journal, report.json, accept.json or ab.json"),
                      Exit::kWrong);
  }
  if (absl::IsNotFound(state.status())) {
    return PrintError(line,
                      absl::StrCat(directory, ": ", kDigestName,
                                   " is missing: the command was cut off, is of an earlier version, or the file was "
                                   "removed",
                                   IsThere(fs::path(directory) / kJournalFile) || IsAcceptDirectory(directory)
                                       ? "; `plimsoll report` makes one of the files as they are now"
                                       : ""),
                      Exit::kInconclusive);
  }
  if (!state.ok()) findings.Differs(std::string(state.status().message()));
  const bool sealed = state.ok() && expected == state->digest;
  const std::string verdict = CheckVerdict(directory, listed, sealed, findings);

  if (state.ok()) {
    if (expected.empty()) line.out << WriteFileSums(state->files);
    line.out << DigestLine(absl::StrCat("sha256:", state->digest)) << std::flush;
  }
  for (const std::string& text : findings.remarks()) line.out << SanitizeForTerminal(text) << "\n";
  for (const std::string& text : findings.differences()) {
    PrintError(line, absl::StrCat(directory, ": ", text), Exit::kFailed);
  }
  for (const std::string& text : findings.undecided()) {
    PrintError(line, absl::StrCat(directory, ": ", text), Exit::kInconclusive);
  }
  const size_t differences = findings.differences().size();
  const size_t undecided = findings.undecided().size();
  line.out << (differences > 0 ? absl::StrCat("CHANGED   ", Counted(differences, "difference"), " in ")
               : undecided > 0
                   ? absl::StrCat("INCONCLUSIVE   ", Counted(undecided, "problem"), " in ")
                   : absl::StrCat("INTACT   ", verdict.empty() ? "" : absl::StrCat("verdict ", verdict, ", "),
                                  Counted(listed.size(), "file"), " in "))
           << SanitizeForTerminal(directory) << std::endl;
  const Exit code = differences > 0 ? Exit::kFailed : undecided > 0 ? Exit::kInconclusive : Exit::kOk;
  return static_cast<int>(WroteOutput(line) || code != Exit::kOk ? code : Exit::kWrong);
}

}  // namespace

void AddVerifyCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = app.add_subcommand("verify", "Check that results are those that were recorded");
  NamesResults(command->add_option("DIR", flags->directory, "Directory of the results"))->required();
  AddValue(*command, "--digest", "SHA256", flags->digest,
           "Digest that the command printed when it ended (default: print the digest, and the sum of each file)");
  command->footer(
      "Exit codes: 0 intact; 1 a file was changed, is missing or is a link, or the verdict does not\n"
      "follow from the journal; 2 DIR holds no results; 3 not decided.\n"
      "Example:\n  plimsoll verify plimsoll-results/20261120T192011Z-7f3a21 --digest sha256:9f86d081...");
  command->callback([flags, &line] { line.action = [flags, &line] { return VerifyMain(*flags, line); }; });
}

}  // namespace plimsoll
