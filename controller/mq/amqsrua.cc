// What `amqsrua -m QM -c DISK -t Log` printed.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/histogram.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/mq/mq_files.h"
#include "controller/mq/mq_text.h"
#include "controller/mq/text_lines.h"

namespace plimsoll {
namespace {

constexpr char kHowMade[] = "make the file with 'amqsrua -m QM -c DISK -t Log'";
constexpr std::string_view kHeading = "publication received";
// How far a printed rate may be from its count; it is printed besides, and the count decides.
constexpr double kRateTolerance = 0.01;
// amqsrua itself gives no rates below it.
constexpr int64_t kShortestMs = 10;
constexpr int64_t kMsPerSecond = 1000;
constexpr int64_t kLongestSeconds = int64_t{100} * 366 * 86'400;
// No criterion about a latency has a higher limit.
constexpr int64_t kLongestMeanNs = HistogramLayout::kMaxValueNs;
// A single write may wait for storage that is away.
constexpr int64_t kLongestWriteNs = kLongestSeconds * kNsPerSecond;
// Names that notes mention.
constexpr size_t kMostNames = 20;

enum class Unit { kCount, kDelta, kMicroseconds, kPercent, kMegabytes, kLsn };

// The text of each element in lower case, by number, and how amqsrua prints its value.
struct ElementText {
  std::string_view name;
  Unit unit;
};
constexpr std::array<ElementText, kLogElements> kElements = {{
    {"log - bytes in use", Unit::kCount},
    {"log - bytes max", Unit::kCount},
    {"log file system - bytes in use", Unit::kCount},
    {"log file system - bytes max", Unit::kCount},
    {"log - physical bytes written", Unit::kDelta},
    {"log - logical bytes written", Unit::kDelta},
    {"log - write latency", Unit::kMicroseconds},
    {"log - current primary space in use", Unit::kPercent},
    {"log - workload primary space utilization", Unit::kPercent},
    {"log - bytes required for media recovery", Unit::kMegabytes},
    {"log - bytes occupied by reusable extents", Unit::kMegabytes},
    {"log - bytes occupied by extents waiting to be archived", Unit::kMegabytes},
    {"log - write size", Unit::kCount},
    {"log file system - free space", Unit::kPercent},
    {"log - disk written log sequence number", Unit::kLsn},
    {"log - quorum log sequence number", Unit::kLsn},
    {"log - slowest write since restart", Unit::kMicroseconds},
    {"log - timestamp of slowest write", Unit::kCount},
}};

const char* FormOf(Unit unit) {
  switch (unit) {
    case Unit::kDelta:
      return "a whole number, and a rate such as '366/sec' where it is not 0";
    case Unit::kMicroseconds:
      return "a whole number and 'uSec'";
    case Unit::kPercent:
      return "a number such as '49.58%'";
    case Unit::kMegabytes:
      return "a whole number and 'MB'";
    case Unit::kLsn:
      return "a log sequence number such as '<0:0:1:2> 0x0000000000000001', or a whole number";
    case Unit::kCount:
      break;
  }
  return "a whole number";
}

// Whether a plan or its comments hold the element's value.
bool IsNeeded(LogElement element) {
  switch (element) {
    case LogElement::kPhysicalBytesWritten:
    case LogElement::kLogicalBytesWritten:
    case LogElement::kWriteLatency:
    case LogElement::kWriteSize:
    case LogElement::kSlowestWrite:
    case LogElement::kSlowestWriteTime:
      return true;
    default:
      return false;
  }
}

// A number with `decimals` digits behind the point, or the comma of other locales, in units of the last one; both may
// be missing with the digits.
std::optional<int64_t> TakeDecimal(std::string_view& text, int decimals) {
  std::optional<int64_t> whole = TakeNumber(text);
  if (!whole.has_value()) return std::nullopt;
  int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  if (*whole > INT64_MAX / scale - 1) return std::nullopt;
  int64_t value = *whole * scale;
  if (!TakeText(text, ".") && !TakeText(text, ",")) return value;
  for (int i = 0; i < decimals; ++i) {
    if (text.empty() || !IsDigit(text.front())) return std::nullopt;
    scale /= 10;
    value += (text.front() - '0') * scale;
    text.remove_prefix(1);
  }
  return value;
}

// "10.001 seconds", "1 days,2 hours,3 minutes,4.500 seconds".
std::optional<int64_t> ParseInterval(std::string_view text) {
  int64_t seconds = 0;
  for (const auto& [name, length_s] :
       {std::pair<std::string_view, int64_t>{"day", 86'400}, {"hour", 3'600}, {"minute", 60}}) {
    std::string_view rest = text;
    const std::optional<int64_t> count = TakeNumber(rest);
    rest = Trimmed(rest);
    if (!count.has_value() || !TakeText(rest, name)) continue;
    TakeText(rest, "s");
    rest = Trimmed(rest);
    if (!TakeText(rest, ",") || *count > kLongestSeconds / length_s) return std::nullopt;
    seconds += *count * length_s;
    text = Trimmed(rest);
  }
  const std::optional<int64_t> last_ms = TakeDecimal(text, 3);
  text = Trimmed(text);
  if (!last_ms.has_value() || !TakeText(text, "second")) return std::nullopt;
  TakeText(text, "s");
  if (!text.empty() || *last_ms > kLongestSeconds * kMsPerSecond || seconds > kLongestSeconds) return std::nullopt;
  return seconds * kMsPerSecond + *last_ms;
}

bool AreDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), IsDigit);
}

// The value between two digits positions of a moment.
int PartOf(std::string_view digits, size_t at) {
  return (digits[at] - '0') * 10 + digits[at + 1] - '0';
}

// "20171004" and "13560170" as "2017-10-04 13:56:01.70"; empty where they are not a date and time.
std::string FormatPut(std::string_view date, std::string_view time) {
  if (date.size() != 8 || time.size() != 8 || !AreDigits(date) || !AreDigits(time)) return "";
  const int month = PartOf(date, 4);
  const int day = PartOf(date, 6);
  if (month < 1 || month > 12 || day < 1 || day > 31) return "";
  if (PartOf(time, 0) > 23 || PartOf(time, 2) > 59 || PartOf(time, 4) > 60) return "";
  const std::string d(date);
  const std::string t(time);
  return absl::StrCat(d.substr(0, 4), "-", d.substr(4, 2), "-", d.substr(6), " ", t.substr(0, 2), ":", t.substr(2, 2),
                      ":", t.substr(4, 2), ".", t.substr(6));
}

// The word behind `label` ("putdate:"), up to a blank; the rest of the line for the last one.
std::string_view Behind(std::string_view line, std::string_view label, bool to_end) {
  const size_t at = line.find(label);
  if (at == std::string_view::npos) return {};
  line = Trimmed(line.substr(at + label.size()));
  return to_end ? line : line.substr(0, line.find(' '));
}

// Names without the values behind them, for notes: up to the first digit, '<' or the end; the line where that is
// nothing.
std::string NameIn(std::string_view line) {
  const std::string_view name = Trimmed(line.substr(0, line.find_first_of("0123456789<")));
  return std::string(name.empty() ? line : name);
}

// The element whose name the text, in lower case, begins with.
std::optional<size_t> ElementAt(std::string_view text) {
  for (size_t i = 0; i < kLogElements; ++i) {
    const std::string_view name = kElements[i].name;
    if (text.substr(0, name.size()) != name) continue;
    if (text.size() == name.size() || std::string_view(" :=").find(text[name.size()]) != std::string_view::npos)
      return i;
  }
  return std::nullopt;
}

// The line with " - " behind the object of each element, where a mail or a converter made "--" or "---" of a dash, or
// left out its blanks.
std::string WithPlainDashes(const std::string& line) {
  constexpr size_t kLongestDash = 3;
  // No object and no element has a longer name: so much of the line is looked at on either side of a dash.
  constexpr size_t kLongestName = 80;
  std::string text;
  size_t copied = 0;
  size_t end = 0;
  for (size_t dash = line.find('-'); dash != std::string::npos; dash = line.find('-', end)) {
    end = std::min(line.find_first_not_of('-', dash), line.size());
    if (end - dash > kLongestDash || (dash > 0 && line.compare(dash - 1, 3, " - ") == 0)) continue;
    size_t front_end = dash;
    while (front_end > 0 && line[front_end - 1] == ' ') --front_end;
    const size_t front_begin = front_end - std::min(front_end, kLongestName);
    const std::string front = absl::AsciiStrToLower(line.substr(front_begin, front_end - front_begin));
    const std::string rest =
        absl::AsciiStrToLower(std::string(Trimmed(std::string_view(line).substr(end, kLongestName))));
    for (const char* const object : {"log file system", "log"}) {
      if (!absl::EndsWith(front, object) || !ElementAt(absl::StrCat(object, " - ", rest)).has_value()) continue;
      text.append(line, copied, front_end - copied);
      text += " - ";
      copied = line.find_first_not_of(' ', end);
      break;
    }
  }
  return text.append(line, copied, std::string::npos);
}

// Where headings and elements begin in a line, in lower case: usually one, at its front. A page may have lost the ends
// of lines, and a log collector writes in front of them.
std::vector<size_t> MarksIn(std::string_view line) {
  std::vector<size_t> marks;
  for (const std::string_view mark : {kHeading, std::string_view("log - "), std::string_view("log file system - ")}) {
    for (size_t at = line.find(mark); at != std::string_view::npos; at = line.find(mark, at + 1)) {
      if (mark == kHeading || ElementAt(line.substr(at)).has_value()) marks.push_back(at);
    }
  }
  std::sort(marks.begin(), marks.end());
  return marks;
}

// "1 publication of 12", "3 publications of 12".
std::string OfPublications(uint64_t count, uint64_t all) {
  return absl::StrCat(Counted(count, "publication"), " of ", FormatCount(all));
}

}  // namespace

class AmqsruaReader::Parser {
 public:
  explicit Parser(const std::string& file_name) : problems_(file_name), not_text_(file_name) {
    recording_.file = file_name;
  }

  void Feed(std::string_view bytes) {
    if (!lines_.has_nul()) lines_.Feed(bytes);
  }

  absl::StatusOr<LogRecording> Finish() {
    const std::string last = lines_.End();
    if (lines_.has_nul()) {
      not_text_.Add(0, absl::StrCat("is not a text file; ", kHowMade));
      return not_text_.ToStatus();
    }
    if (lines_.too_long() != 0) {
      problems_.Add(lines_.too_long(), absl::StrCat("is longer than ", FormatSizeForPeople(TextLines::kLongestLine),
                                                    ": its line breaks are lost; ", kHowMade));
    }
    // Digits of its value may be missing, unless a unit follows them.
    const bool cut = !last.empty() && !HasUnit(last);
    if (!last.empty() && !cut) ReadLine(++line_, last);
    EndPublication();
    line_notes_ = recording_.notes.size();
    if (cut) recording_.notes.emplace_back("the last line has no line break and was left out: it may have been cut");
    AddNotes();
    if (!problems_.empty()) return problems_.ToStatus();
    return std::move(recording_);
  }

 private:
  enum class State {
    // Before the first heading.
    kBefore,
    kIn,
    // In a publication whose lines are left out.
    kSkipping,
    // Behind a heading without an interval, which may be on the next line.
    kAwaitingInterval,
  };

  static bool HasUnit(std::string_view line) {
    const std::string lower = absl::AsciiStrToLower(std::string(Trimmed(line)));
    return absl::EndsWith(lower, "%") || absl::EndsWith(lower, "/sec") || absl::EndsWith(lower, "usec");
  }

  void ReadLine(size_t number, std::string_view raw) {
    const std::string line = WithPlainDashes(OneBlankEach(PlainLine(raw)));
    if (line.empty()) return;
    const std::string lower = absl::AsciiStrToLower(line);
    const std::vector<size_t> marks = MarksIn(lower);
    const std::string_view front = std::string_view(line).substr(0, marks.empty() ? line.size() : marks.front());
    for (size_t i = 0; i < marks.size(); ++i) {
      const size_t length = (i + 1 < marks.size() ? marks[i + 1] : line.size()) - marks[i];
      const std::string_view part = Trimmed(std::string_view(line).substr(marks[i], length));
      const std::string_view lower_part = Trimmed(std::string_view(lower).substr(marks[i], length));
      if (lower_part.substr(0, kHeading.size()) == kHeading) {
        BeginPublication(number, lower_part);
        words_in_front_ = WordsIn(front);
      } else if (i == 0 && words_in_front_ == 0 && HasWord(front)) {
        // An object's name is in front of the elements of other classes.
        return ReadOther(number, line, lower);
      } else {
        ReadElement(number, part, lower_part);
      }
    }
    if (!marks.empty()) return;
    const std::string_view rest = WithoutWords(line, words_in_front_);
    if (HasWord(rest)) ReadOther(number, rest, std::string_view(lower).substr(line.size() - rest.size()));
  }

  // What is neither a heading nor an element.
  void ReadOther(size_t number, std::string_view line, std::string_view lower) {
    if (state_ == State::kBefore) {
      ++lines_before_;
      return first_lines_.Add(number, line);
    }
    constexpr std::string_view kInterval = "interval:";
    if (state_ == State::kAwaitingInterval && lower.substr(0, kInterval.size()) == kInterval) {
      return ReadInterval(number, Trimmed(lower.substr(kInterval.size())));
    }
    if (absl::StartsWith(std::string(lower), "unrecognised resource usage message")) {
      ++unrecognised_;
      state_ = State::kSkipping;
      return;
    }
    if (state_ != State::kIn) return;
    if (absl::StartsWith(std::string(lower), "parameter(")) {
      ++parameters_;
      return;
    }
    const std::string name = NameIn(line);
    const bool first = names_.size() < kMostNames && names_.insert(name).second;
    if (absl::StartsWith(std::string(lower), "log ")) {
      if (first)
        recording_.notes.push_back(
            absl::StrCat("line ", number, ": ", Quoted(name), " is not known here and was left out"));
      return;
    }
    if (first) problems_.Add(number, absl::StrCat(Quoted(name), " is not an element of DISK/Log; ", kHowMade));
  }

  void BeginPublication(size_t number, std::string_view line) {
    EndPublication();
    ++recording_.publications;
    now_ = LogInterval();
    now_.line = number;
    state_ = State::kSkipping;
    now_.put = FormatPut(Behind(line, "putdate:", false), Behind(line, "puttime:", false));
    if (now_.put.empty()) {
      return problems_.Add(number,
                           absl::StrCat(Quoted(line), " has no PutDate:YYYYMMDD and PutTime:HHMMSSTH; ", kHowMade));
    }
    const std::string_view interval = Behind(line, "interval:", true);
    if (!interval.empty()) return ReadInterval(number, interval);
    state_ = State::kAwaitingInterval;
  }

  void ReadInterval(size_t number, std::string_view interval) {
    state_ = State::kSkipping;
    const std::optional<int64_t> length_ms = ParseInterval(interval);
    if (!length_ms.has_value()) {
      return problems_.Add(number, absl::StrCat("the interval ", Quoted(interval),
                                                " cannot be read; expected "
                                                "'[D days,][H hours,][M minutes,]S.mmm seconds'"));
    }
    now_.length_ms = *length_ms;
    state_ = State::kIn;
  }

  // `line` and `lower` begin with the element's name.
  void ReadElement(size_t number, std::string_view line, std::string_view lower) {
    if (state_ == State::kBefore) {
      ++lines_before_;
      return first_lines_.Add(number, line);
    }
    if (state_ != State::kIn) return;
    const size_t i = ElementAt(lower).value_or(0);
    const std::string_view name = kElements[i].name;
    if (now_.values[i].has_value()) {
      return problems_.Add(number, absl::StrCat("'", std::string(line.substr(0, name.size())),
                                                "' is given twice in the publication of line ", now_.line,
                                                "; a line 'Publication received ...' is missing between"));
    }
    std::string_view value = lower.substr(name.size());
    while (!value.empty() && (value.front() == ' ' || value.front() == ':' || value.front() == '='))
      value.remove_prefix(1);
    const auto element = static_cast<LogElement>(i);
    now_.values[i] = ReadValue(number, element, value);
    if (kElements[i].unit == Unit::kMicroseconds && now_.values[i].has_value()) {
      CheckTime(number, name, *now_.values[i], element == LogElement::kWriteLatency ? kLongestMeanNs : kLongestWriteNs);
    }
    // A value that cannot be read is reported once.
    if (!now_.values[i].has_value()) now_.values[i] = 0;
  }

  std::optional<int64_t> ReadValue(size_t number, LogElement of, std::string_view text) {
    const ElementText& element = kElements[static_cast<size_t>(of)];
    const std::string_view whole = text;
    std::optional<int64_t> value;
    bool good = true;
    // Negative values are of no use here, whatever MQ means by them.
    const bool may_be_negative = element.unit == Unit::kPercent || element.unit == Unit::kMegabytes;
    const bool negative = may_be_negative && TakeText(text, "-");
    switch (element.unit) {
      case Unit::kPercent:
        value = TakeDecimal(text, 2);
        text = Trimmed(text);
        good = TakeText(text, "%");
        break;
      case Unit::kLsn:
        if (const size_t hex = text.find(" 0x"); TakeText(text, "<") && hex != std::string_view::npos) {
          text = whole.substr(hex + 3);
          uint64_t bits = 0;
          const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
          good = error == std::errc();
          value = static_cast<int64_t>(bits);
          text.remove_prefix(static_cast<size_t>(end - text.data()));
        } else {
          text = whole;
          value = TakeNumber(text);
        }
        break;
      default:
        value = TakeGroupedNumber(text);
        if (element.unit == Unit::kDelta && !text.empty()) return ReadRate(number, of, value, whole, Trimmed(text));
        text = Trimmed(text);
        if (element.unit == Unit::kMicroseconds) good = TakeText(text, "usec") || TakeText(text, "us");
        // Versions of MQ differ in whether these are in MB.
        if (element.unit == Unit::kMegabytes) TakeText(text, "mb");
        break;
    }
    if (value.has_value() && good && text.empty()) return negative ? -*value : *value;
    AddBadValue(number, of, whole);
    return std::nullopt;
  }

  void CheckTime(size_t number, std::string_view name, int64_t value_us, int64_t longest_ns) {
    if (value_us <= longest_ns / kNsPerUs) return;
    problems_.Add(number, absl::StrCat("'", std::string(name), "': ", value_us, " uSec are more than ",
                                       FormatDuration(longest_ns), ": the file is damaged, record it again"));
  }

  // `text`: what stands behind the count.
  std::optional<int64_t> ReadRate(size_t number, LogElement of, std::optional<int64_t> count, std::string_view whole,
                                  std::string_view text) {
    const std::optional<int64_t> rate = TakeGroupedNumber(text);
    text = Trimmed(text);
    if (!count.has_value() || !rate.has_value() || (text != "/sec" && text != "/s")) {
      AddBadValue(number, of, whole);
      return std::nullopt;
    }
    // The interval is printed in whole milliseconds, the rate as a whole number.
    const auto length_ms = static_cast<double>(now_.length_ms);
    const auto shown = static_cast<double>(*rate);
    const double low = static_cast<double>(*count) * kMsPerSecond / (length_ms + 1);
    const double high = static_cast<double>(*count) * kMsPerSecond / std::max(length_ms - 1, 0.5);
    if (shown >= low - 1 && shown <= high + 1) return count;
    if (shown < low * (1 - kRateTolerance) - 1 || shown > high * (1 + kRateTolerance) + 1) {
      problems_.Add(number, absl::StrCat("'", std::string(kElements[static_cast<size_t>(of)].name), "': ", *rate,
                                         "/sec does not fit ", *count, " in ",
                                         FormatDuration(now_.length_ms * kNsPerMs), "; ", kHowMade));
      return count;
    }
    ++rounded_rates_;
    largest_rounding_ =
        std::max(largest_rounding_, std::abs(shown * length_ms / kMsPerSecond / static_cast<double>(*count) - 1));
    return count;
  }

  void AddBadValue(size_t number, LogElement of, std::string_view text) {
    const ElementText& element = kElements[static_cast<size_t>(of)];
    const std::string what = absl::StrCat("'", std::string(element.name), "' has ", Quoted(text));
    if (IsNeeded(of)) return problems_.Add(number, absl::StrCat(what, "; expected ", FormOf(element.unit)));
    if (names_.size() < kMostNames && names_.insert(std::string(element.name)).second) {
      recording_.notes.push_back(
          absl::StrCat("line ", number, ": ", what, ", which cannot be read, and no plan needs it: left out"));
    }
  }

  void EndPublication() {
    if (state_ == State::kAwaitingInterval) ++without_interval_;
    if (state_ != State::kIn) return;
    if (now_.length_ms < kShortestMs) {
      ++too_short_;
      return;
    }
    const std::optional<int64_t> bytes = now_.value(LogElement::kPhysicalBytesWritten);
    if (!bytes.has_value()) ++without_bytes_;
    if (bytes.value_or(0) == 0) return;
    ++recording_.with_writes;
    if (now_.value(LogElement::kWriteSize).value_or(0) == 0) ++without_size_;
    if (recording_.intervals.size() < kMostIntervals) {
      recording_.intervals.push_back(StoredInterval::Of(now_));
    } else if (recording_.with_writes == kMostIntervals + 1) {
      problems_.Add(now_.line, absl::StrCat("more than ", FormatCount(kMostIntervals),
                                            " intervals with writes: split the file, and pass one part"));
    }
    if (now_.BytesPerSecond() > recording_.busiest.BytesPerSecond()) recording_.busiest = now_;
    if (now_.WritesPerSecond() > recording_.most_writes.WritesPerSecond()) recording_.most_writes = now_;
  }

  void AddNotes() {
    const uint64_t all = recording_.publications;
    const auto note = [&](uint64_t count, const std::string& what) {
      if (count > 0) recording_.notes.push_back(absl::StrCat(OfPublications(count, all), " ", what));
    };
    if (lines_before_ > 0 && all > 0) {
      recording_.notes.push_back(
          absl::StrCat(Counted(lines_before_, "line"), " before the first publication left out"));
    }
    note(unrecognised_, "that amqsrua itself did not recognise left out");
    note(without_interval_, "without an interval left out");
    note(too_short_, "of less than 10 ms left out");
    note(without_bytes_, "without 'Log - physical bytes written' counted as idle");
    note(without_size_, "with writes, but without 'Log - write size'");
    if (rounded_rates_ > 0) {
      recording_.notes.push_back(absl::StrCat(
          FormatCount(rounded_rates_), rounded_rates_ == 1 ? " printed rate differs" : " printed rates differ",
          " from count and interval by up to ", absl::StrFormat("%.3f", largest_rounding_ * 100),
          " %: taken for rounding; the plan follows from count and interval"));
    }
    if (parameters_ > 0) {
      recording_.notes.push_back(
          absl::StrCat(FormatCount(parameters_), " values that amqsrua itself did not recognise left out"));
    }
    if (!problems_.empty()) return;
    if (all == 0)
      return problems_.Add(0,
                           absl::StrCat("holds no line 'Publication received ...'; ", kHowMade, first_lines_.Text()));
    if (recording_.with_writes == 0) {
      return problems_.Add(0, absl::StrCat("holds no interval in which MQ wrote to its log (", OfPublications(all, all),
                                           "): record a time with load, or leave out --amqsrua", Notes()));
    }
    if (recording_.busiest.WritesPerSecond() <= 0) {
      problems_.Add(
          recording_.busiest.line,
          absl::StrCat("the busiest interval has no 'Log - write size', which MQ publishes since 9.0.4, so its rate of "
                       "writes is not known: leave out --amqsrua, and pass --bsize and --rate to `plimsoll run`",
                       Notes()));
    }
  }

  // What was left out, for the message of a file in which nothing is left; of the lines the first three.
  std::string Notes() const {
    constexpr size_t kMostLines = 3;
    std::vector<std::string> notes = recording_.notes;
    if (line_notes_ > kMostLines) {
      const auto first = notes.begin() + kMostLines;
      *first = "more lines were left out";
      notes.erase(first + 1, notes.begin() + static_cast<std::ptrdiff_t>(line_notes_));
    }
    return notes.empty() ? "" : absl::StrCat("; ", absl::StrJoin(notes, "; "));
  }

  FileProblems problems_;
  FileProblems not_text_;
  LogRecording recording_;
  LogInterval now_;
  TextLines lines_{[this](std::string_view line) { ReadLine(++line_, line); }};
  // Lines read so far.
  size_t line_ = 0;
  State state_ = State::kBefore;
  std::set<std::string> names_;
  FirstLines first_lines_;
  // Notes that name a line; the first of all.
  size_t line_notes_ = 0;
  // Words of a time stamp or a container's name in front of the heading, and so of each line behind it.
  size_t words_in_front_ = 0;
  uint64_t lines_before_ = 0;
  uint64_t unrecognised_ = 0;
  uint64_t parameters_ = 0;
  uint64_t without_interval_ = 0;
  uint64_t too_short_ = 0;
  uint64_t without_bytes_ = 0;
  uint64_t without_size_ = 0;
  uint64_t rounded_rates_ = 0;
  double largest_rounding_ = 0;
};

AmqsruaReader::AmqsruaReader(const std::string& file_name) : parser_(std::make_unique<Parser>(file_name)) {}

AmqsruaReader::~AmqsruaReader() = default;

void AmqsruaReader::Feed(std::string_view bytes) {
  parser_->Feed(bytes);
}

absl::StatusOr<LogRecording> AmqsruaReader::Finish() {
  return parser_->Finish();
}

}  // namespace plimsoll
