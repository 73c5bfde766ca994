#include "controller/mq/file_problems.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr size_t kMostProblems = 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

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

}  // namespace plimsoll
