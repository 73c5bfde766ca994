// What `amqsrua -m QM -c DISK -t Log` printed.
#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/mq/mq_files.h"

namespace plimsoll {
namespace {

constexpr char kHowMade[] = "make the file with 'amqsrua -m QM -c DISK -t Log'";
constexpr std::string_view kHeading = "publication received";
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

// Takes a whole number of at least 0 from the front of the text.
std::optional<int64_t> TakeNumber(std::string_view& text, int base = 10) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeText(std::string_view& text, std::string_view wanted) {
  if (text.substr(0, wanted.size()) != wanted) return false;
  text.remove_prefix(wanted.size());
  return true;
}

// The text must be lower case. A number with `decimals` digits behind the point, in units of the last one; the point
// may be missing with its digits.
std::optional<int64_t> TakeDecimal(std::string_view& text, int decimals) {
  std::optional<int64_t> whole = TakeNumber(text);
  if (!whole.has_value()) return std::nullopt;
  int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  if (*whole > INT64_MAX / scale - 1) return std::nullopt;
  int64_t value = *whole * scale;
  if (!TakeText(text, ".")) return value;
  for (int i = 0; i < decimals; ++i) {
    if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) return std::nullopt;
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
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
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

// Names without the values behind them, for notes: up to the first digit, '<' or the end.
std::string NameIn(std::string_view line) {
  return std::string(Trimmed(line.substr(0, line.find_first_of("0123456789<"))));
}

// "1 publication of 12", "3 publications of 12".
std::string OfPublications(uint64_t count, uint64_t all) {
  return absl::StrCat(FormatCount(count), count == 1 ? " publication" : " publications", " of ", FormatCount(all));
}

class AmqsruaReader {
 public:
  explicit AmqsruaReader(const std::string& file_name) : problems_(file_name) { recording_.file = file_name; }

  absl::StatusOr<LogRecording> Read(const std::string& text) {
    if (text.find('\0') != std::string::npos) {
      problems_.Add(0, absl::StrCat("is not a text file; ", kHowMade));
      return problems_.ToStatus();
    }
    std::vector<std::string_view> lines = LinesOf(text);
    // Digits of its value may be missing.
    const bool cut = !text.empty() && text.back() != '\n' && !lines.empty();
    if (cut) lines.pop_back();
    for (size_t i = 0; i < lines.size(); ++i) ReadLine(i + 1, lines[i]);
    EndPublication();
    if (cut) recording_.notes.emplace_back("the last line has no line break and was left out: it may have been cut");
    Finish();
    if (!problems_.empty()) return problems_.ToStatus();
    return recording_;
  }

 private:
  enum class State {
    // Before the first heading.
    kBefore,
    kIn,
    // In a publication whose lines are left out.
    kSkipping,
  };

  void ReadLine(size_t number, std::string_view line) {
    line = Trimmed(line);
    if (line.empty()) return;
    const std::string lower = absl::AsciiStrToLower(std::string(line));
    if (std::string_view(lower).substr(0, kHeading.size()) == kHeading) return BeginPublication(number, lower);
    if (state_ == State::kBefore) {
      ++lines_before_;
      return;
    }
    if (absl::StartsWith(lower, "unrecognised resource usage message")) {
      ++unrecognised_;
      state_ = State::kSkipping;
      return;
    }
    if (state_ == State::kSkipping) return;
    if (absl::StartsWith(lower, "parameter(")) {
      ++parameters_;
      return;
    }
    ReadElement(number, line, lower);
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
    if (interval.empty()) {
      ++without_interval_;
      return;
    }
    const std::optional<int64_t> length_ms = ParseInterval(interval);
    if (!length_ms.has_value()) {
      return problems_.Add(number, absl::StrCat("the interval ", Quoted(interval),
                                                " cannot be read; expected "
                                                "'[D days,][H hours,][M minutes,]S.mmm seconds'"));
    }
    now_.length_ms = *length_ms;
    state_ = State::kIn;
  }

  void ReadElement(size_t number, std::string_view line, std::string_view lower) {
    for (size_t i = 0; i < kLogElements; ++i) {
      const std::string_view name = kElements[i].name;
      if (lower.substr(0, name.size()) != name || (lower.size() > name.size() && lower[name.size()] != ' ')) continue;
      if (now_.values[i].has_value()) {
        return problems_.Add(number, absl::StrCat("'", std::string(line.substr(0, name.size())),
                                                  "' is given twice in the publication of line ", now_.line,
                                                  "; a line 'Publication received ...' is missing between"));
      }
      now_.values[i] = ReadValue(number, kElements[i], Trimmed(lower.substr(name.size())));
      if (kElements[i].unit == Unit::kMicroseconds && now_.values[i].has_value()) {
        const bool mean = i == static_cast<size_t>(LogElement::kWriteLatency);
        CheckTime(number, name, *now_.values[i], mean ? kLongestMeanNs : kLongestWriteNs);
      }
      // A value that cannot be read is reported once.
      if (!now_.values[i].has_value()) now_.values[i] = 0;
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

  std::optional<int64_t> ReadValue(size_t number, const ElementText& element, std::string_view text) {
    const std::string_view whole = text;
    std::optional<int64_t> value;
    bool good = false;
    // Of no use here: whatever MQ means by it.
    const bool may_be_negative = element.unit == Unit::kPercent || element.unit == Unit::kMegabytes;
    const bool negative = may_be_negative && TakeText(text, "-");
    switch (element.unit) {
      case Unit::kPercent:
        value = TakeDecimal(text, 2);
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
          good = true;
        }
        break;
      default:
        value = TakeNumber(text);
        good = true;
        if (element.unit == Unit::kMicroseconds) good = TakeText(text, " usec");
        // Versions of MQ differ in whether these are in MB.
        if (element.unit == Unit::kMegabytes) TakeText(text, "mb");
        if (element.unit == Unit::kDelta && !text.empty())
          return ReadRate(number, element, value, whole, Trimmed(text));
        break;
    }
    if (value.has_value() && good && text.empty()) return negative ? -*value : *value;
    AddBadValue(number, element, whole);
    return std::nullopt;
  }

  void CheckTime(size_t number, std::string_view name, int64_t value_us, int64_t longest_ns) {
    if (value_us <= longest_ns / kNsPerUs) return;
    problems_.Add(number, absl::StrCat("'", std::string(name), "': ", value_us, " uSec are more than ",
                                       FormatDuration(longest_ns), ": the file is damaged, record it again"));
  }

  // `text`: what stands behind the count.
  std::optional<int64_t> ReadRate(size_t number, const ElementText& element, std::optional<int64_t> count,
                                  std::string_view whole, std::string_view text) {
    const std::optional<int64_t> rate = TakeNumber(text);
    if (!count.has_value() || !rate.has_value() || text != "/sec") {
      AddBadValue(number, element, whole);
      return std::nullopt;
    }
    // The interval is printed in whole milliseconds, the rate as a whole number.
    const auto length_ms = static_cast<double>(now_.length_ms);
    const double low = static_cast<double>(*count) * kMsPerSecond / (length_ms + 1);
    const double high = static_cast<double>(*count) * kMsPerSecond / std::max(length_ms - 1, 0.5);
    if (static_cast<double>(*rate) < low - 1 || static_cast<double>(*rate) > high + 1) {
      problems_.Add(number, absl::StrCat("'", std::string(element.name), "': ", *rate, "/sec does not fit ", *count,
                                         " in ", FormatDuration(now_.length_ms * kNsPerMs), "; ", kHowMade));
    }
    return count;
  }

  void AddBadValue(size_t number, const ElementText& element, std::string_view text) {
    problems_.Add(number, absl::StrCat("'", std::string(element.name), "' has ", Quoted(text), "; expected ",
                                       FormOf(element.unit)));
  }

  void EndPublication() {
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
    if (now_.BytesPerSecond() > recording_.busiest.BytesPerSecond()) recording_.busiest = now_;
    if (now_.WritesPerSecond() > recording_.most_writes.WritesPerSecond()) recording_.most_writes = now_;
  }

  void Finish() {
    const uint64_t all = recording_.publications;
    const auto note = [&](uint64_t count, const std::string& what) {
      if (count > 0) recording_.notes.push_back(absl::StrCat(OfPublications(count, all), " ", what));
    };
    if (lines_before_ > 0 && all > 0) {
      recording_.notes.push_back(absl::StrCat(FormatCount(lines_before_), lines_before_ == 1 ? " line" : " lines",
                                              " before the first publication left out"));
    }
    note(unrecognised_, "that amqsrua itself did not recognise left out");
    note(without_interval_, "without an interval left out");
    note(too_short_, "of less than 10 ms left out");
    note(without_bytes_, "without 'Log - physical bytes written' counted as idle");
    note(without_size_, "with writes, but without 'Log - write size'");
    if (parameters_ > 0) {
      recording_.notes.push_back(
          absl::StrCat(FormatCount(parameters_), " values that amqsrua itself did not recognise left out"));
    }
    if (!problems_.empty()) return;
    if (all == 0) return problems_.Add(0, absl::StrCat("holds no line 'Publication received ...'; ", kHowMade));
    if (recording_.with_writes == 0) {
      return problems_.Add(0, absl::StrCat("holds no interval in which MQ wrote to its log (", OfPublications(all, all),
                                           "): record a time with load, or leave out --amqsrua"));
    }
    if (recording_.busiest.WritesPerSecond() <= 0) {
      problems_.Add(
          recording_.busiest.line,
          "the busiest interval has no 'Log - write size', which MQ publishes since 9.0.4, so its rate of writes "
          "is not known: leave out --amqsrua, and pass --bsize and --rate to `plimsoll run`");
    }
  }

  FileProblems problems_;
  LogRecording recording_;
  LogInterval now_;
  State state_ = State::kBefore;
  std::set<std::string> names_;
  uint64_t lines_before_ = 0;
  uint64_t unrecognised_ = 0;
  uint64_t parameters_ = 0;
  uint64_t without_interval_ = 0;
  uint64_t too_short_ = 0;
  uint64_t without_bytes_ = 0;
  uint64_t without_size_ = 0;
};

}  // namespace

double LogInterval::BytesPerSecond() const {
  const int64_t bytes = value(LogElement::kPhysicalBytesWritten).value_or(0);
  return length_ms <= 0 ? 0 : static_cast<double>(bytes) * kMsPerSecond / static_cast<double>(length_ms);
}

double LogInterval::WritesPerSecond() const {
  const int64_t size = value(LogElement::kWriteSize).value_or(0);
  return size <= 0 ? 0 : BytesPerSecond() / static_cast<double>(size);
}

absl::StatusOr<LogRecording> ReadAmqsrua(const std::string& text, const std::string& file_name) {
  return AmqsruaReader(file_name).Read(text);
}

}  // namespace plimsoll
