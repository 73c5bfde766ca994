#include "controller/mq/mq_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "controller/mq/mq_text.h"
#include "controller/plan/plan_schema.h"

namespace plimsoll {
namespace {

constexpr uint32_t kFewestFiles = 3;
constexpr uint32_t kMostFiles = 511;
constexpr char kLogPath[] = "LogPath";

// An attribute that is a number, with the bounds of AIX and Linux.
struct NumberAttribute {
  const char* name;
  uint32_t min;
  uint32_t max;
  uint32_t QmLog::* field;
};
constexpr std::array kNumbers = {
    NumberAttribute{"LogPrimaryFiles", 2, 510, &QmLog::primary_files},
    NumberAttribute{"LogSecondaryFiles", 1, 509, &QmLog::secondary_files},
    NumberAttribute{"LogFilePages", 64, 65535, &QmLog::file_pages},
    NumberAttribute{"LogBufferPages", 0, 4096, &QmLog::buffer_pages},
};

// An attribute that is a word; a field of null: it does not matter here.
struct WordAttribute {
  const char* name;
  std::array<const char*, 3> words;
  std::string QmLog::* field;
};
constexpr std::array kWords = {
    WordAttribute{"LogType", {"CIRCULAR", "LINEAR", "REPLICATED"}, &QmLog::type},
    WordAttribute{"LogWriteIntegrity", {"SingleWrite", "DoubleWrite", "TripleWrite"}, &QmLog::write_integrity},
    WordAttribute{"LogManagement", {"Manual", "Automatic", "Archive"}, nullptr},
};

std::vector<std::string> AttributeNames() {
  std::vector<std::string> names;
  for (const NumberAttribute& number : kNumbers) names.emplace_back(number.name);
  for (const WordAttribute& word : kWords) names.emplace_back(word.name);
  names.emplace_back(kLogPath);
  return names;
}

bool IsLog(std::string_view name) {
  return absl::EqualsIgnoreCase(std::string(name), "Log");
}

// Without the marks by which a page makes a word bold or shows it as code.
std::string_view WithoutMarks(std::string_view text) {
  constexpr std::string_view kMarks = " *`\"'";
  const size_t begin = text.find_first_not_of(kMarks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kMarks) - begin + 1);
}

bool IsRemark(std::string_view text) {
  return !text.empty() && (text.front() == '#' || text.front() == ';');
}

// "[Log]" as "Log:", which is how other kinds of ini files and some guides have it.
std::string_view Bracketed(std::string_view line) {
  return line.size() > 2 && line.front() == '[' && line.back() == ']' ? line.substr(1, line.size() - 2)
                                                                      : std::string_view();
}

class QmIniReader {
 public:
  explicit QmIniReader(const std::string& file_name) : problems_(file_name) { log_.file = file_name; }

  absl::StatusOr<QmLog> Read(const std::string& bytes) {
    const std::string text = DecodeText(bytes);
    if (text.find('\0') != std::string::npos) {
      problems_.Add(0, "is not a text file; pass the queue manager's qm.ini");
      return problems_.ToStatus();
    }
    size_t number = 0;
    for (const std::string_view line : LinesOf(text)) ReadLine(++number, line);
    if (log_.line == 0) {
      ReportMissingStanza();
    } else {
      Finish();
    }
    if (!problems_.empty()) return problems_.ToStatus();
    return log_;
  }

 private:
  void ReadLine(size_t number, std::string_view raw) {
    const std::string plain = PlainLine(raw);
    const std::string_view line = plain;
    // The fence of a code block on a page ends what stands in it.
    if (line.substr(0, 3) == "```") in_log_ = false;
    if (IsRemark(line) || line.substr(0, 3) == "```" || !HasWord(line)) return;
    if (log_.line == 0) first_lines_.Add(number, line);
    if (const std::string_view name = Bracketed(line); !name.empty()) return BeginStanza(number, name);
    const size_t colon = line.find(':');
    if (colon < line.find('=')) return ReadHeading(number, line, colon);
    if (in_log_ || left_ != 0) ReadAttribute(number, line, raw);
  }

  // A line with a colon before any '=': the heading of a stanza, or, in a file that holds a qm.ini, text around it.
  void ReadHeading(size_t number, std::string_view line, size_t colon) {
    const std::string_view name = WithoutMarks(line.substr(0, colon));
    const std::string_view behind = WithoutMarks(line.substr(colon + 1));
    if (IsLog(name)) {
      if (behind.find('=') != std::string_view::npos && !IsRemark(behind)) {
        BeginStanza(number, name);
        return problems_.Add(number, "nothing may follow 'Log:' on its line; begin a new line after it");
      }
      if (!behind.empty()) remarks_.push_back(number);
      return BeginStanza(number, name);
    }
    if (in_log_ && (IsAttribute(name) || !ClosestWord(std::string(name), AttributeNames()).empty())) {
      return AddNoAttribute(number, line);
    }
    // "example.ini: |" and "kind: ConfigMap" of a ConfigMap, or a sentence; what follows is not a stanza of MQ's.
    const bool stanza = behind.empty() || IsRemark(behind) || behind.front() == '|' || behind.front() == '>';
    if (!stanza && in_log_) left_ = number;
    if (behind.find("Log:\\n") != std::string_view::npos) escaped_log_ = number;
    if (stanza) return BeginStanza(number, name);
    in_log_ = false;
  }

  void BeginStanza(size_t number, std::string_view name) {
    in_log_ = IsLog(name);
    left_ = 0;
    log_defaults_ = log_defaults_ || absl::EqualsIgnoreCase(std::string(name), "LogDefaults");
    if (!in_log_) return;
    if (log_.line == 0) {
      log_.line = number;
      return;
    }
    in_log_ = false;
    problems_.Add(number, absl::StrCat("a second Log stanza; the first is at line ", log_.line,
                                       ", and which of them MQ takes is not known here: leave one, or pass each queue "
                                       "manager's qm.ini by itself"));
  }

  static bool IsAttribute(std::string_view name) {
    const std::vector<std::string> names = AttributeNames();
    return std::any_of(names.begin(), names.end(),
                       [&name](const std::string& each) { return absl::EqualsIgnoreCase(each, std::string(name)); });
  }

  void AddNoAttribute(size_t number, std::string_view line) {
    problems_.Add(number, absl::StrCat(Quoted(line), " is not an attribute: expected NAME=VALUE in the Log stanza"));
  }

  // `raw`: the line as it is in the file.
  void ReadAttribute(size_t number, std::string_view line, std::string_view raw) {
    const size_t equals = line.find('=');
    if (!in_log_) {
      if (left_ == 0 || equals == std::string_view::npos || !IsAttribute(WithoutMarks(line.substr(0, equals)))) return;
      return problems_.Add(number, absl::StrCat(Quoted(line), " is outside of the Log stanza since line ", left_,
                                                ", which is neither an attribute nor a heading: remove that line"));
    }
    if (equals == std::string_view::npos) return AddNoAttribute(number, line);
    const std::string given(WithoutMarks(line.substr(0, equals)));
    std::string name = given;
    for (const std::string& known : AttributeNames()) {
      if (absl::EqualsIgnoreCase(known, given)) name = known;
    }
    if (name != given) other_case_.push_back(number);
    std::string_view value = Trimmed(line.substr(equals + 1));
    for (size_t at = 1; at < value.size(); ++at) {
      if (!IsRemark(value.substr(at)) || value[at - 1] != ' ') continue;
      remarks_.push_back(number);
      value = Trimmed(value.substr(0, at));
      break;
    }
    if (value.size() > 1 && value.front() == value.back() && (value.front() == '"' || value.front() == '\'')) {
      value = Trimmed(value.substr(1, value.size() - 2));
    }
    if (const auto [first, added] = seen_.emplace(name, number); !added) {
      return problems_.Add(
          number, absl::StrCat(Quoted(name), " is given twice; the first is at line ", first->second, ": leave one"));
    }
    const std::string text(value);
    if (name == kLogPath) return ReadPath(number, text, raw);
    for (const NumberAttribute& attribute : kNumbers) {
      if (name == attribute.name) return ReadNumber(number, attribute, text);
    }
    for (const WordAttribute& attribute : kWords) {
      if (name == attribute.name) return ReadWord(number, attribute, text);
    }
    const std::string closest = ClosestWord(name, AttributeNames());
    problems_.Add(number, absl::StrCat(Quoted(name), " is not a known attribute of the Log stanza; ",
                                       closest.empty() ? "without it the file can be read"
                                                       : absl::StrCat("did you mean '", closest, "'?")));
  }

  void ReadNumber(size_t number, const NumberAttribute& attribute, const std::string& value) {
    uint32_t read = 0;
    if (!absl::SimpleAtoi(value, &read) || read < attribute.min || read > attribute.max) {
      return problems_.Add(
          number, absl::StrCat(attribute.name, " ", Quoted(value), " is not a whole number from ", attribute.min,
                               " to ", attribute.max, ", as MQ has it on AIX and Linux"));
    }
    log_.*attribute.field = read;
  }

  void ReadWord(size_t number, const WordAttribute& attribute, const std::string& value) {
    for (const char* const word : attribute.words) {
      if (!absl::EqualsIgnoreCase(value, word)) continue;
      if (attribute.field != nullptr) log_.*attribute.field = word;
      return;
    }
    problems_.Add(number, absl::StrCat(attribute.name, " ", Quoted(value), " is not known here; expected ",
                                       absl::StrJoin(attribute.words, ", ")));
  }

  // A path that a plan cannot name is not an error: a directory may be given in its place.
  void ReadPath(size_t number, const std::string& value, std::string_view raw) {
    log_.path_line = number;
    const auto cannot = [&](const std::string& why) {
      log_.no_path = absl::StrCat("line ", number, ": ", kLogPath, " ", Quoted(value), " ", why);
    };
    if (value.empty() || value.front() != '/') return cannot("is not absolute on Linux, where agents run");
    if (value.size() > kMaxTextBytes) {
      return cannot(absl::StrCat("is longer than the ", kMaxTextBytes, " bytes that a plan can hold"));
    }
    if (FindInvalidUtf8(value) != std::string_view::npos || HasControl(value)) {
      return cannot("holds control characters or is not UTF-8");
    }
    if (raw.find(value) == std::string_view::npos) {
      return cannot("holds dashes, quotes or blanks that a mail or a page may have changed");
    }
    if (value.find_first_of("#;") != std::string::npos) {
      return cannot("holds '#' or ';', and whether MQ takes the rest as a comment is not known here");
    }
    log_.path = value;
    while (log_.path.size() > 1 && log_.path.back() == '/') log_.path.pop_back();
  }

  void ReportMissingStanza() {
    if (escaped_log_ != 0) {
      return problems_.Add(escaped_log_,
                           "the stanzas are in one quoted text: write it to a file of its own, such as with 'kubectl "
                           "get configmap NAME -o jsonpath={.data.KEY}'");
    }
    problems_.Add(0, log_defaults_
                         ? "has no Log stanza, but LogDefaults, which belongs to mqs.ini; pass the queue manager's "
                           "own qm.ini"
                         : absl::StrCat("has no Log stanza ('Log:' on its own line); pass the queue manager's qm.ini",
                                        first_lines_.Text()));
  }

  void Finish() {
    for (const std::string& name : AttributeNames()) {
      if (seen_.count(name) == 0 && name != "LogManagement" && name != kLogPath) log_.defaulted.push_back(name);
    }
    if (seen_.count(kLogPath) == 0) log_.no_path = "the Log stanza has no LogPath, and its default is not known here";
    AddLinesNote(remarks_,
                 "what stands behind a value or a heading was taken as a remark, and whether MQ does so is not "
                 "known: put remarks on lines of their own");
    AddLinesNote(other_case_,
                 "the attribute was recognised without regard to upper and lower case, and whether MQ does "
                 "so is not known");
    const uint32_t files = log_.primary_files + log_.secondary_files;
    if (files < kFewestFiles || files > kMostFiles) {
      problems_.Add(log_.line,
                    absl::StrCat("LogPrimaryFiles and LogSecondaryFiles make ", files, " files; MQ has from ",
                                 kFewestFiles, " to ", kMostFiles, " together: correct one of them"));
    }
  }

  void AddLinesNote(const std::vector<size_t>& lines, const std::string& what) {
    if (lines.empty()) return;
    log_.notes.push_back(absl::StrCat(lines.size() == 1 ? "line " : "lines ", absl::StrJoin(lines, ", "), ": ", what));
  }

  FileProblems problems_;
  FirstLines first_lines_;
  QmLog log_;
  bool in_log_ = false;
  bool log_defaults_ = false;
  // The line that ended the stanza and is not a heading; 0: none.
  size_t left_ = 0;
  // A line that holds a stanza as quoted text; 0: none.
  size_t escaped_log_ = 0;
  // Lines with a remark behind what they hold, and with an attribute in other case.
  std::vector<size_t> remarks_;
  std::vector<size_t> other_case_;
  // Line of each attribute.
  std::map<std::string, size_t> seen_;
};

}  // namespace

absl::StatusOr<QmLog> ReadQmIni(const std::string& text, const std::string& file_name) {
  return QmIniReader(file_name).Read(text);
}

}  // namespace plimsoll
