#include "controller/mq/mq_files.h"

#include <array>
#include <map>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/plan/plan_schema.h"

namespace plimsoll {
namespace {

constexpr size_t kMostProblems = 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

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

// "Log" of "Log:"; empty where the line is not the heading of a stanza.
std::string_view StanzaName(std::string_view line) {
  if (line.empty() || line.back() != ':' || line.find('=') != std::string_view::npos) return {};
  return Trimmed(line.substr(0, line.size() - 1));
}

bool IsLog(std::string_view name) {
  return absl::EqualsIgnoreCase(std::string(name), "Log");
}

class QmIniReader {
 public:
  explicit QmIniReader(const std::string& file_name) : problems_(file_name) { log_.file = file_name; }

  absl::StatusOr<QmLog> Read(const std::string& text) {
    if (text.find('\0') != std::string::npos) {
      problems_.Add(0, "is not a text file; pass the queue manager's qm.ini");
      return problems_.ToStatus();
    }
    size_t number = 0;
    for (const std::string_view line : LinesOf(text)) ReadLine(++number, Trimmed(line));
    if (log_.line == 0) {
      ReportMissingStanza();
    } else {
      Finish();
    }
    if (!problems_.empty()) return problems_.ToStatus();
    return log_;
  }

 private:
  void ReadLine(size_t number, std::string_view line) {
    if (line.empty() || line.front() == '#' || line.front() == ';') return;
    if (const std::string_view name = StanzaName(line); !name.empty()) return BeginStanza(number, name);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && IsLog(Trimmed(line.substr(0, colon)))) {
      BeginStanza(number, "Log");
      return problems_.Add(number, "nothing may follow 'Log:' on its line; begin a new line after it");
    }
    if (in_log_) ReadAttribute(number, line);
  }

  void BeginStanza(size_t number, std::string_view name) {
    in_log_ = IsLog(name);
    log_defaults_ = log_defaults_ || absl::EqualsIgnoreCase(std::string(name), "LogDefaults");
    if (!in_log_) return;
    if (log_.line != 0) {
      problems_.Add(number, absl::StrCat("a second Log stanza; the first is at line ", log_.line,
                                         ", and which of them MQ takes is not known here: leave one"));
    } else {
      log_.line = number;
    }
  }

  void ReadAttribute(size_t number, std::string_view line) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return problems_.Add(number,
                           absl::StrCat(Quoted(line), " is not an attribute: expected NAME=VALUE in the Log stanza"));
    }
    const std::string name(Trimmed(line.substr(0, equals)));
    const std::string value(Trimmed(line.substr(equals + 1)));
    if (const auto [first, added] = seen_.emplace(name, number); !added) {
      return problems_.Add(
          number, absl::StrCat(Quoted(name), " is given twice; the first is at line ", first->second, ": leave one"));
    }
    if (name == kLogPath) return ReadPath(number, value);
    for (const NumberAttribute& attribute : kNumbers) {
      if (name == attribute.name) return ReadNumber(number, attribute, value);
    }
    for (const WordAttribute& attribute : kWords) {
      if (name == attribute.name) return ReadWord(number, attribute, value);
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

  void ReadPath(size_t number, const std::string& value) {
    log_.path_line = number;
    if (value.empty() || value.front() != '/') {
      return problems_.Add(number, absl::StrCat(kLogPath, " ", Quoted(value),
                                                " is not absolute; agents run on Linux: begin it with '/'"));
    }
    if (value.size() > kMaxTextBytes) {
      return problems_.Add(number, absl::StrCat(kLogPath, " ", Quoted(value), " is longer than the ", kMaxTextBytes,
                                                " bytes that a plan can hold: use a shorter one"));
    }
    if (FindInvalidUtf8(value) != std::string_view::npos || HasControl(value)) {
      return problems_.Add(number, absl::StrCat(kLogPath, " ", Quoted(value),
                                                " holds control characters or is not UTF-8: a plan cannot name it"));
    }
    if (value.find_first_of("#;") != std::string::npos) {
      return problems_.Add(number, absl::StrCat(kLogPath, " ", Quoted(value),
                                                " holds '#' or ';', and whether MQ takes the rest as a comment is not "
                                                "known here: put comments on lines of their own"));
    }
    log_.path = value;
    while (log_.path.size() > 1 && log_.path.back() == '/') log_.path.pop_back();
  }

  void ReportMissingStanza() {
    problems_.Add(0, log_defaults_
                         ? "has no Log stanza, but LogDefaults, which belongs to mqs.ini; pass the queue manager's "
                           "own qm.ini"
                         : "has no Log stanza ('Log:' on its own line); pass the queue manager's qm.ini");
  }

  void Finish() {
    for (const std::string& name : AttributeNames()) {
      if (seen_.count(name) == 0 && name != "LogManagement") log_.defaulted.push_back(name);
    }
    if (seen_.count(kLogPath) == 0) {
      problems_.Add(log_.line, "the Log stanza has no LogPath, and its default is not known here: add 'LogPath=/...'");
    }
    const uint32_t files = log_.primary_files + log_.secondary_files;
    if (files < kFewestFiles || files > kMostFiles) {
      problems_.Add(log_.line,
                    absl::StrCat("LogPrimaryFiles and LogSecondaryFiles make ", files, " files; MQ has from ",
                                 kFewestFiles, " to ", kMostFiles, " together: correct one of them"));
    }
  }

  FileProblems problems_;
  QmLog log_;
  bool in_log_ = false;
  bool log_defaults_ = false;
  // Line of each attribute.
  std::map<std::string, size_t> seen_;
};

}  // namespace

void FileProblems::Add(size_t line, std::string_view text) {
  if (problems_.size() == kMostProblems) {
    ++left_out_;
    return;
  }
  problems_.push_back(absl::StrCat(file_, line == 0 ? "" : absl::StrCat(":", line), ": ", std::string(text)));
}

absl::Status FileProblems::ToStatus() const {
  if (problems_.empty()) return absl::OkStatus();
  std::vector<std::string> lines = problems_;
  if (left_out_ > 0) lines.push_back(absl::StrCat(file_, ": ", FormatCount(left_out_), " more of these"));
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

absl::StatusOr<QmLog> ReadQmIni(const std::string& text, const std::string& file_name) {
  return QmIniReader(file_name).Read(text);
}

}  // namespace plimsoll
