#include "controller/mq/error_log_entries.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr std::string_view kLoggerTask = "LOGGER-IO";
// In the first line of an entry, behind its date.
constexpr std::string_view kProcessMark = "Process(";
constexpr std::string_view kJsonIdMark = "\"ibm_message";
constexpr char kWhichFile[] =
    "pass AMQERR01.LOG or AMQERR01.json of the queue manager's directory 'errors', not the console output of a "
    "container";
// MQ's own limit.
constexpr size_t kLongestQueueManager = 48;
// 1970 to 2200.
constexpr int64_t kLatestSecond = int64_t{7'258'118'400};

// An attribute of an entry: its name in text, and in lower case in JSON.
struct EntryAttribute {
  std::string_view name;
  std::string_view json_name;
  std::string ErrorLogEntry::* field;
};
constexpr std::array kEntryAttributes = {
    EntryAttribute{"Process", "ibm_processid", &ErrorLogEntry::process},
    EntryAttribute{"QMgr", "ibm_servername", &ErrorLogEntry::queue_manager},
    EntryAttribute{"Time", "ibm_datetime", &ErrorLogEntry::time},
    EntryAttribute{"ArithInsert1", "ibm_arithinsert1", &ErrorLogEntry::arith_insert1},
    EntryAttribute{"ArithInsert2", "ibm_arithinsert2", &ErrorLogEntry::arith_insert2},
    EntryAttribute{"CommentInsert1", "ibm_commentinsert1", &ErrorLogEntry::comment_insert1},
};

std::optional<uint64_t> WholeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The number of "AMQ5051I: ..." and of "AMQ5051: ..."; takes it and its colon from the front of the text.
std::optional<uint64_t> TakeMessageNumber(std::string_view& text) {
  constexpr size_t kFewestDigits = 4;
  constexpr size_t kMostDigits = 5;
  std::string_view rest = text;
  if (!TakeText(rest, "AMQ")) return std::nullopt;
  size_t digits = 0;
  while (digits < rest.size() && IsDigit(rest[digits])) ++digits;
  if (digits < kFewestDigits || digits > kMostDigits) return std::nullopt;
  const std::optional<uint64_t> number = WholeNumber(rest.substr(0, digits));
  rest.remove_prefix(digits);
  if (!rest.empty() && absl::ascii_isupper(static_cast<unsigned char>(rest.front()))) rest.remove_prefix(1);
  if (!TakeText(rest, ":")) return std::nullopt;
  text = Trimmed(rest);
  return number;
}

// Whether AMQ5051I or AMQ5041I is about the task that writes the log. Before MQ 9.0.4 only the message names it.
bool IsOfLogger(const ErrorLogEntry& entry, std::string_view message) {
  if (!entry.comment_insert1.empty()) return entry.comment_insert1 == kLoggerTask;
  return message.find(kLoggerTask) != std::string_view::npos;
}

std::optional<StartEventKind> EventKindOf(uint64_t number, const ErrorLogEntry& entry, std::string_view message) {
  switch (number) {
    case 5051:
      return IsOfLogger(entry, message) ? std::optional(StartEventKind::kBegin) : std::nullopt;
    case 5041:
      return IsOfLogger(entry, message) ? std::optional(StartEventKind::kLoggerEnded) : std::nullopt;
    case 7229:
      return StartEventKind::kReplayed;
    case 8003:
      return StartEventKind::kStarted;
    case 8004:
      return StartEventKind::kEnded;
    case 8024:
      return StartEventKind::kInitiator;
    default:
      return std::nullopt;
  }
}

// The count of AMQ7229I: MQ writes no insert for 0, nor any before 9.0.4, so then the number that the message begins
// with. A blank must follow it, or the line may have been cut.
std::optional<uint64_t> ReplayedRecords(const ErrorLogEntry& entry, std::string_view message) {
  if (const std::optional<uint64_t> records = WholeNumber(entry.arith_insert1)) return records;
  const size_t blank = message.find(' ');
  return blank == std::string_view::npos ? std::nullopt : WholeNumber(message.substr(0, blank));
}

// Milliseconds since 1970 of a text of one of the formats, in UTC unless it names a zone.
std::optional<int64_t> ParseLogTime(const std::string& text, std::initializer_list<const char*> formats) {
  for (const char* const format : formats) {
    absl::Time time;
    if (!absl::ParseTime(format, text, absl::UTCTimeZone(), &time, nullptr)) continue;
    if (time >= absl::UnixEpoch() && time < absl::FromUnixSeconds(kLatestSecond)) return absl::ToUnixMillis(time);
  }
  return std::nullopt;
}

// Takes the members of one JSON object that are attributes of an entry; passes over those of inner objects and arrays.
class JsonEntryTaker : public nlohmann::json_sax<nlohmann::json> {
 public:
  const ErrorLogEntry& entry() const { return entry_; }
  const std::string& id() const { return id_; }
  const std::string& message() const { return message_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t value) override { return TakeValue(absl::StrCat(value)); }
  bool number_unsigned(number_unsigned_t value) override { return TakeValue(absl::StrCat(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return TakeValue(text); }
  bool string(string_t& value) override { return TakeValue(value); }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(size_t /*size*/) override { return Begin(); }
  bool end_object() override { return End(); }
  bool start_array(size_t /*size*/) override { return Begin(); }
  bool end_array() override { return End(); }
  bool key(string_t& name) override {
    if (depth_ == 1) key_ = absl::AsciiStrToLower(name);
    return true;
  }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  bool Begin() {
    ++depth_;
    return true;
  }
  bool End() {
    --depth_;
    return true;
  }
  bool TakeValue(const std::string& value) {
    if (depth_ != 1) return true;
    if (key_ == "ibm_messageid") id_ = value;
    if (key_ == "message") message_ = value;
    for (const EntryAttribute& attribute : kEntryAttributes) {
      if (attribute.json_name == key_) entry_.*attribute.field = value;
    }
    return true;
  }

  int depth_ = 0;
  std::string key_;
  std::string id_;
  std::string message_;
  ErrorLogEntry entry_;
};

// Bytes that are not UTF-8, which a JSON text must be, as U+FFFD.
std::string AsUtf8(std::string_view bytes) {
  std::string text(bytes);
  if (FindInvalidUtf8(text) == std::string_view::npos) return text;
  std::string valid;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    AppendUtf8(point.value, valid);
    at += point.bytes;
  }
  return valid;
}

}  // namespace

void ErrorLogReader::Feed(std::string_view bytes) {
  bytes_ += bytes.size();
  lines_.Feed(bytes);
}

absl::Status ErrorLogReader::Finish(std::vector<StartEvent>& events, std::vector<std::string>& notes) {
  if (const std::string last = lines_.End(); !last.empty()) ReadLine(last);
  if (bytes_ == 0) {
    notes.push_back(absl::StrCat(file_, ": the file is empty"));
    return absl::OkStatus();
  }
  if (entries_ == 0 && lines_.has_nul()) {
    problems_.Add(0, absl::StrCat("is not a text file, so not an error log of MQ; ", kWhichFile));
  } else if (entries_ == 0) {
    problems_.Add(0, absl::StrCat("is not an error log of MQ; ", kWhichFile, first_lines_.Text()));
  }
  if (more_bad_dates_ > 0) {
    problems_.Add(0, absl::StrCat(Counted(more_bad_dates_, "more date"), " of this kind"));
  }
  AddNotes(notes);
  events.insert(events.end(), std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end()));
  return problems_.ToStatus();
}

void ErrorLogReader::ReadLine(std::string_view raw) {
  ++line_;
  // A crash of the host may leave zeros in the file, also in front of the next entry.
  std::string without_nul;
  if (raw.find('\0') != std::string_view::npos) {
    std::copy_if(raw.begin(), raw.end(), std::back_inserter(without_nul), [](char c) { return c != '\0'; });
    raw = without_nul;
  }
  if (const size_t brace = raw.find('{'); brace != std::string_view::npos) {
    if (raw.find(kJsonIdMark, brace) != std::string_view::npos) return ReadJson(raw.substr(brace));
  }
  if (in_header_) return ReadHeaderLine(raw);
  if (raw.find(kProcessMark) != std::string_view::npos && BeginEntry(PlainLine(raw))) return;
  if (entries_ == 0 && HasWord(raw)) first_lines_.Add(line_, raw);
}

void ErrorLogReader::ReadJson(std::string_view text) {
  in_header_ = false;
  JsonEntryTaker taker;
  if (!nlohmann::json::sax_parse(AsUtf8(text), &taker)) {
    if (++broken_json_ == 1) first_broken_json_ = line_;
    return;
  }
  const std::string whole =
      absl::StartsWith(taker.message(), taker.id()) ? taker.message() : absl::StrCat(taker.id(), ": ", taker.message());
  ErrorLogEntry entry = taker.entry();
  entry.line = line_;
  std::string_view message = whole;
  if (const std::optional<uint64_t> number = TakeMessageNumber(message)) AddEntry(entry, *number, message);
}

bool ErrorLogReader::BeginEntry(const std::string& plain) {
  const std::string_view line = plain;
  const size_t mark = line.find(kProcessMark);
  if (mark == std::string_view::npos) return false;
  std::string_view date = Trimmed(line.substr(0, mark));
  if (date.size() < 2 || date.back() != '-') return false;
  date = Trimmed(date.substr(0, date.size() - 1));
  entry_ = ErrorLogEntry();
  entry_.line = line_;
  entry_.date = date;
  in_header_ = true;
  TakeAttributes(line.substr(mark));
  return true;
}

void ErrorLogReader::ReadHeaderLine(std::string_view raw) {
  const std::string plain = PlainLine(raw);
  std::string_view line = plain;
  if (line.empty() || TakeAttributes(line)) return;
  if (const std::optional<uint64_t> number = TakeMessageNumber(line)) {
    in_header_ = false;
    return AddEntry(entry_, *number, line);
  }
  if (BeginEntry(plain)) return;
  // The end of an entry without a message. Anything else is a further line of an insert.
  if (absl::StartsWith(plain, "-----")) in_header_ = false;
}

bool ErrorLogReader::TakeAttributes(std::string_view line) {
  bool found = false;
  while (!line.empty()) {
    const size_t open = line.find('(');
    const std::string_view name = Trimmed(line.substr(0, open));
    const bool is_name =
        std::ranges::all_of(name, [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); });
    if (open == std::string_view::npos || name.empty() || !is_name) break;
    found = true;
    line.remove_prefix(open + 1);
    size_t close = 0;
    if (absl::StartsWith(std::string(name), "CommentInsert")) {
      close = std::min(line.rfind(')'), line.size());
    } else {
      while (close < line.size() && !(line[close] == ')' && (close + 1 == line.size() || line[close + 1] == ' ')))
        ++close;
    }
    for (const EntryAttribute& attribute : kEntryAttributes) {
      std::string& field = entry_.*attribute.field;
      if (attribute.name == name && field.empty()) field = Trimmed(line.substr(0, close));
    }
    line = Trimmed(line.substr(std::min(close + 1, line.size())));
  }
  return found;
}

void ErrorLogReader::AddEntry(const ErrorLogEntry& entry, uint64_t number, std::string_view message) {
  ++entries_;
  const std::optional<StartEventKind> kind = EventKindOf(number, entry, message);
  if (!kind.has_value()) return;
  if (entry.queue_manager.empty() || entry.queue_manager.size() > kLongestQueueManager) {
    ++without_queue_manager_;
    return;
  }
  const std::optional<int64_t> time_ms = TimeOf(entry);
  if (!time_ms.has_value()) return;
  StartEvent event;
  event.kind = *kind;
  event.time_ms = *time_ms;
  event.queue_manager = SanitizeForTerminal(entry.queue_manager);
  // Without the number of its thread.
  event.process = entry.process.substr(0, entry.process.find('.'));
  event.file = file_;
  if (*kind == StartEventKind::kBegin) event.again = WholeNumber(entry.arith_insert2).value_or(1) > 1;
  if (*kind == StartEventKind::kReplayed) event.records = ReplayedRecords(entry, message);
  events_.push_back(std::move(event));
}

std::optional<int64_t> ErrorLogReader::TimeOf(const ErrorLogEntry& entry) {
  if (!entry.time.empty()) {
    const std::optional<int64_t> time_ms = ParseLogTime(entry.time, {absl::RFC3339_full});
    if (!time_ms.has_value()) {
      problems_.Add(entry.line, absl::StrCat("the entry's time ", Quoted(entry.time),
                                             " is not one such as 2026-03-01T04:30:15.123Z: the file is damaged, "
                                             "copy it again"));
    }
    return time_ms;
  }
  const std::optional<int64_t> time_ms = ParseLogTime(entry.date, {"%Y-%m-%d %H:%M:%E*S", "%Y-%m-%dT%H:%M:%E*S"});
  if (time_ms.has_value()) {
    ++local_times_;
    return time_ms;
  }
  if (has_bad_date_) {
    ++more_bad_dates_;
    return std::nullopt;
  }
  has_bad_date_ = true;
  if (entry.date.empty()) {
    problems_.Add(entry.line, "the entry has no ibm_datetime: the file is damaged, copy it again");
  } else {
    problems_.Add(entry.line,
                  absl::StrCat("the date ", Quoted(entry.date),
                               " depends on the host's locale and could mean two days, and the entry has no Time(...); "
                               "pass logs of MQ 9.1 or later, whose entries have it"));
  }
  return std::nullopt;
}

void ErrorLogReader::AddNotes(std::vector<std::string>& notes) const {
  const auto add = [&](const std::string& text) { notes.push_back(absl::StrCat(file_, ": ", text)); };
  if (entries_ > 0 && lines_.has_nul()) add("zero bytes, which a crash of the host may have left, were passed over");
  if (local_times_ > 0) {
    add(absl::StrCat(Counted(local_times_, "time"),
                     " of the host's local clock, in whole seconds, taken for UTC: MQ writes Time(...) since 9.1"));
  }
  if (without_queue_manager_ > 0) {
    add(absl::StrCat(FormatCount(without_queue_manager_), without_queue_manager_ == 1 ? " entry" : " entries",
                     " without QMgr(...) left out"));
  }
  if (broken_json_ > 0) {
    add(absl::StrCat(Counted(broken_json_, "line"), " left out, which ",
                     broken_json_ == 1 ? "is not a whole JSON object" : "are not whole JSON objects",
                     "; the first is line ", first_broken_json_));
  }
}

}  // namespace plimsoll
