#include "controller/render/merge_alike.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace plimsoll {
namespace {

// Digits that a name's number has at most: more are no number of a host.
constexpr size_t kMostDigits = 9;
// Stands for a number in a pattern; no text of a report has it.
constexpr char kNumber = '\x01';
constexpr char kStep[] = "step ";
// The number behind it is a process's name: sentences about two processes are not alike.
constexpr char kProcess[] = "process ";

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

// A name around its last number.
struct NumberedName {
  std::string before;
  std::string after;
  // Digits, where there are leading zeros; else 0.
  size_t width = 0;
  auto operator<=>(const NumberedName&) const = default;
};

std::optional<std::pair<NumberedName, uint32_t>> SplitName(const std::string& name) {
  size_t end = name.size();
  while (end > 0 && !IsDigit(name[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  uint32_t number = 0;
  const std::string digits = name.substr(begin, end - begin);
  if (digits.empty() || digits.size() > kMostDigits || !absl::SimpleAtoi(digits, &number)) return std::nullopt;
  const bool padded = digits.size() > 1 && digits[0] == '0';
  return std::pair(NumberedName{name.substr(0, begin), name.substr(end), padded ? digits.size() : 0}, number);
}

std::string JoinRanges(std::vector<uint32_t> numbers, size_t width, const char* separator) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  const auto text = [width](uint32_t number) {
    const std::string digits = absl::StrCat(number);
    return std::string(width - std::min(width, digits.size()), '0') + digits;
  };
  std::vector<std::string> ranges;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    ranges.push_back(first == last ? text(numbers[first])
                                   : absl::StrCat(text(numbers[first]), "-", text(numbers[last])));
    first = last + 1;
  }
  return absl::StrJoin(ranges, separator);
}

struct Subject {
  std::string host;
  std::string qm;
  std::optional<uint32_t> step;
};

// What stands in front of ": ": a host or its queue manager, a step, or both; nothing where it is something else.
std::optional<Subject> SubjectOf(std::string head, const std::set<std::string>& hosts) {
  Subject subject;
  size_t at = head.rfind(kStep);
  if (at != std::string::npos && (at == 0 || absl::EndsWith(head.substr(0, at), ", "))) {
    uint32_t step = 0;
    if (!absl::SimpleAtoi(head.substr(at + sizeof(kStep) - 1), &step)) return std::nullopt;
    subject.step = step;
    head.resize(at == 0 ? 0 : at - 2);
  }
  if (head.empty()) return subject;
  if (!hosts.contains(head)) {
    at = head.rfind('/');
    if (at == std::string::npos || !hosts.contains(head.substr(0, at))) return std::nullopt;
    subject.qm = head;
    head.resize(at);
  }
  subject.host = head;
  return subject;
}

// A text with its numbers taken out.
struct Pattern {
  std::string text;
  std::vector<std::string> numbers;
};

Pattern PatternOf(const std::string& text) {
  Pattern pattern;
  for (size_t i = 0; i < text.size();) {
    const bool begins = IsDigit(text[i]) && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '(');
    if (!begins || absl::EndsWith(pattern.text, kProcess)) {
      pattern.text += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && (IsDigit(text[end]) || ((text[end] == '.' || text[end] == ',') &&
                                                        end + 1 < text.size() && IsDigit(text[end + 1])))) {
      ++end;
    }
    pattern.numbers.push_back(text.substr(i, end - i));
    pattern.text += kNumber;
    i = end;
  }
  return pattern;
}

double ValueOf(const std::string& number) {
  return std::strtod(absl::StrReplaceAll(number, {{",", ""}}).c_str(), nullptr);
}

// "17.2", or "17.2–20" of several.
std::string RangeOf(const std::vector<std::string>& numbers) {
  const auto [least, most] = std::ranges::minmax_element(
      numbers, [](const std::string& a, const std::string& b) { return ValueOf(a) < ValueOf(b); });
  return ValueOf(*least) == ValueOf(*most) ? *least : absl::StrCat(*least, "\u2013", *most);
}

// Sentences that are one.
struct Alike {
  std::vector<Subject> subjects;
  Pattern pattern;
  // All values of each number.
  std::vector<std::vector<std::string>> numbers;
  // The text of a sentence that is like no other.
  std::string whole;
};

std::string TextOf(const Alike& alike) {
  if (alike.subjects.size() <= 1) return alike.whole;
  std::vector<std::string> hosts;
  std::vector<uint32_t> steps;
  std::set<std::string> qms;
  for (const Subject& subject : alike.subjects) {
    if (!subject.host.empty()) hosts.push_back(subject.host);
    if (!subject.qm.empty()) qms.insert(subject.qm);
    if (subject.step) steps.push_back(*subject.step);
  }
  std::vector<std::string> head;
  if (qms.size() == 1) {
    head.push_back(*qms.begin());
  } else if (!hosts.empty()) {
    head.push_back(
        absl::StrCat(JoinNames(hosts), qms.empty() ? "" : absl::StrCat(" (", qms.size(), " queue managers)")));
  }
  if (!steps.empty()) {
    const std::string numbers = JoinNumbers(steps);
    head.push_back(
        absl::StrCat(numbers.find_first_not_of("0123456789") == std::string::npos ? "step " : "steps ", numbers));
  }
  std::string text = absl::StrCat(absl::StrJoin(head, ", "), ": ");
  size_t next = 0;
  for (const char c : alike.pattern.text) {
    if (c == kNumber) {
      text += RangeOf(alike.numbers[next++]);
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string JoinNames(const std::vector<std::string>& names, size_t most) {
  // Groups in order, each with its numbers; of a name without a number there are none.
  std::vector<std::pair<NumberedName, std::vector<uint32_t>>> groups;
  std::map<NumberedName, size_t> places;
  for (const std::string& name : names) {
    const auto split = SplitName(name);
    const NumberedName key = split ? split->first : NumberedName{name, "", SIZE_MAX};
    const auto [found, added] = places.try_emplace(key, groups.size());
    if (added) groups.push_back({key, {}});
    if (split) groups[found->second].second.push_back(split->second);
  }
  std::vector<std::string> texts;
  size_t more = 0;
  for (const auto& [name, numbers] : groups) {
    if (texts.size() >= most) {
      more += std::max<size_t>(std::set<uint32_t>(numbers.begin(), numbers.end()).size(), 1);
      continue;
    }
    const std::string ranges = JoinRanges(numbers, numbers.empty() ? 0 : name.width, ",");
    const bool one = ranges.find_first_of(",-") == std::string::npos;
    texts.push_back(absl::StrCat(name.before, one ? "" : "[", ranges, one ? "" : "]", name.after));
  }
  return absl::StrCat(absl::StrJoin(texts, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::string JoinNumbers(std::vector<uint32_t> numbers) {
  return JoinRanges(std::move(numbers), 0, ", ");
}

std::vector<std::string> MergeAlike(const std::vector<std::string>& sentences, const std::vector<std::string>& hosts) {
  const std::set<std::string> known(hosts.begin(), hosts.end());
  std::vector<Alike> all;
  // By the pattern, and whether a host, a queue manager and a step are named.
  std::map<std::tuple<std::string, bool, bool, bool>, size_t> places;
  for (const std::string& sentence : sentences) {
    const size_t colon = sentence.find(": ");
    const auto subject = colon == std::string::npos ? std::nullopt : SubjectOf(sentence.substr(0, colon), known);
    if (!subject) {
      all.push_back({{}, {}, {}, sentence});
      continue;
    }
    Pattern pattern = PatternOf(sentence.substr(colon + 2));
    const auto [found, added] = places.try_emplace(
        std::tuple(pattern.text, subject->host.empty(), subject->qm.empty(), subject->step.has_value()), all.size());
    if (added) all.push_back({{}, pattern, std::vector<std::vector<std::string>>(pattern.numbers.size()), sentence});
    Alike& alike = all[found->second];
    alike.subjects.push_back(*subject);
    for (size_t i = 0; i < pattern.numbers.size(); ++i) alike.numbers[i].push_back(pattern.numbers[i]);
  }
  std::vector<std::string> merged;
  std::transform(all.begin(), all.end(), std::back_inserter(merged), TextOf);
  return merged;
}

}  // namespace plimsoll
