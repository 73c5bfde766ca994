// What is wrong in a file that people hand us, one line each.
#pragma once

#include <cstddef>
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

// Lines of a text without their ends (LF or CR LF), and without a byte order mark. The last one is there even where
// nothing ends it.
std::vector<std::string_view> LinesOf(std::string_view text);

// Without blanks and tabs at both ends.
std::string_view Trimmed(std::string_view text);

}  // namespace plimsoll
