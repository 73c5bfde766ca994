// Text of MQ's files as it reaches us: from Windows, through a mail, a wiki or a log collector. And what is wrong in
// such a file, one line each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace plimsoll {

// Collects "file:line: what; way out". Keeps the first ones and counts the rest.
class FileProblems {
 public:
  explicit FileProblems(std::string file) : file_(std::move(file)) {}

  // `line` counts from 1; 0: the file as a whole.
  void Add(size_t line, std::string_view text);
  bool empty() const { return problems_.empty(); }
  // INVALID_ARGUMENT with a line for each problem, or OK.
  absl::Status ToStatus() const;

 private:
  std::string file_;
  std::vector<std::string> problems_;
  size_t left_out_ = 0;
};

// The first lines that a reader did not know, for the message of a file in which it found nothing.
class FirstLines {
 public:
  void Add(size_t number, std::string_view line);
  // "; it begins with 'CPU : x' (line 1), 'y' (line 2)"; empty where no line was added.
  std::string Text() const;

 private:
  static constexpr size_t kMost = 3;
  std::vector<std::string> lines_;
};

// UTF-16 without a byte order mark as UTF-8; what is not a character becomes U+FFFD.
std::string FromUtf16(std::string_view bytes, bool big_endian);

// UTF-16 with a byte order mark, as PowerShell and Notepad write it, becomes UTF-8; a line may end with LF, CR LF or
// CR. Everything else stays as it is.
std::string DecodeText(std::string text);

// Lines of a text without their ends, and without a byte order mark. The last one is there even where nothing ends it.
std::vector<std::string_view> LinesOf(std::string_view text);

// The line in plain ASCII punctuation, without blanks at both ends: typographic dashes, quotes and blanks, those of
// Windows code page 1252, HTML entities and tabs are replaced; characters that show nothing and the '>' or '|' of a
// quotation in front are removed.
std::string PlainLine(std::string_view line);

// Without blanks and tabs at both ends.
std::string_view Trimmed(std::string_view text);

// The line with one blank between words, without the marks of tables, lists and code.
std::string OneBlankEach(std::string_view line);
// Words are what blanks separate.
size_t WordsIn(std::string_view text);
std::string_view WithoutWords(std::string_view text, size_t words);
// Whether the text holds a letter or a digit.
bool HasWord(std::string_view text);

bool IsDigit(char c);
// Each takes what it names from the front of the text; false or nothing where that is not there.
bool TakeText(std::string_view& text, std::string_view wanted);
// A whole number of at least 0.
std::optional<int64_t> TakeNumber(std::string_view& text);
// Its digits may be in groups of three: "401,408,000", "401.408.000".
std::optional<int64_t> TakeGroupedNumber(std::string_view& text);

}  // namespace plimsoll
