#include "controller/cli/result_list.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/compare/report_json.h"
#include "controller/journal/results.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr char kAcceptFile[] = "accept.json";
constexpr char kAbFile[] = "ab.json";
constexpr char kRunReportFile[] = "report.json";
constexpr char kRunJournalFile[] = "journal";
constexpr char kLatest[] = "latest";

// What is shown is within the first of these bytes of a usual report; a file of which it is not within the last of them
// is not one of plimsoll.
constexpr size_t kFirstPartBytes = size_t{64} << 10;
constexpr size_t kMostPartBytes = size_t{64} << 20;
constexpr size_t kPartGrowth = 16;
constexpr size_t kTailBytes = 8;
constexpr uint64_t kReadFormats[] = {1, 2};
constexpr char kNotOurs[] = "is not a result of plimsoll";

// Takes what is shown from a report.json, accept.json or ab.json while it is parsed, and stops as soon as it has all of
// it: the plan comes behind it. Nothing else is kept, whatever the file holds.
class HeadReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool value) override {
    if (Path() == "ended") ended = value;
    return true;
  }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t value) override {
    if (Path() == "format") format = value;
    if (Path() == "run/hosts") hosts = value;
    return true;
  }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& value) override {
    const std::string path = Path();
    if (path == "verdict/outcome" || path == "outcome") outcome = value;
    if (path == "verdict/scope") scope = value;
    if (path == "run/name" || path == "name") title = value;
    if (path == "run/id" || path == "id") run_id = value;
    if (path == "run/begin" || path == "begin") begin = value;
    if (path == "ended" && !value.empty()) ended = true;
    if (path == "names/" && names.size() < kMostNames) names.push_back(value);
    return true;
  }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override {
    if (Path() == "hosts/") ++listed_hosts;
    if (keys_.size() == 2 && keys_.front() == "plan") sections.insert(keys_.back());
    return Enter();
  }
  bool key(string_t& value) override {
    keys_.back() = value;
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    if (Path() == "plan") done = true;
    if (keys_.empty()) done = true;
    return !done;
  }
  bool start_array(std::size_t /*size*/) override { return Enter(); }
  bool end_array() override {
    keys_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    error_at = position;
    return false;
  }

  bool done = false;
  // 0: none, or too deep.
  size_t error_at = 0;
  uint64_t format = 0;
  uint64_t hosts = 0;
  uint64_t listed_hosts = 0;
  bool ended = false;
  std::string outcome;
  std::string scope;
  std::string title;
  std::string run_id;
  std::string begin;
  std::vector<std::string> names;
  // Members of the plan that are objects.
  std::set<std::string> sections;

 private:
  static constexpr size_t kMostNames = 2;
  // Deeper than anything that plimsoll writes.
  static constexpr size_t kMostDepth = 64;

  bool Enter() {
    keys_.emplace_back();
    return keys_.size() < kMostDepth;
  }
  // The keys down to the value; empty deeper down than anything that is shown.
  std::string Path() const { return keys_.size() > 2 ? "" : absl::StrJoin(keys_, "/"); }

  std::vector<std::string> keys_;
};

// The head of the file. An error says what is wrong with it, and not which file it is.
absl::StatusOr<HeadReader> ReadHead(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd file, OpenRegularFile(path));
  struct stat info{};
  if (fstat(file.get(), &info) != 0) return PosixError("stat", path, errno);
  const auto size = static_cast<size_t>(info.st_size);
  std::string text;
  for (size_t most = kFirstPartBytes;; most *= kPartGrowth) {
    const size_t before = text.size();
    text.resize(std::min(most, size));
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t read,
                              ReadFully(file.get(), path, text.data() + before, text.size() - before));
    text.resize(before + read);
    HeadReader head;
    nlohmann::json::sax_parse(text, &head, nlohmann::json::input_format_t::json, /*strict=*/false);
    if (head.done) {
      // What is missing at the end was not needed, and yet the file is not as it was written: only its last brace
      // begins a line.
      std::string tail(std::min<size_t>(size, kTailBytes), '\0');
      const ssize_t n = pread(file.get(), tail.data(), tail.size(), static_cast<off_t>(size - tail.size()));
      tail.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
      if (!absl::EndsWith(absl::StripTrailingAsciiWhitespace(tail), "\n}")) return absl::DataLossError("is cut off");
      if (std::find(std::begin(kReadFormats), std::end(kReadFormats), head.format) == std::end(kReadFormats)) {
        return absl::FailedPreconditionError(
            absl::StrCat("has format ", head.format, ", which this version does not read"));
      }
      return head;
    }
    const bool all = text.size() >= size || read == 0;
    // An error before the end of what was read does not go away with more.
    if (all || head.error_at < text.size()) {
      return absl::DataLossError(head.error_at == 0             ? kNotOurs
                                 : head.error_at >= text.size() ? "is cut off"
                                                                : absl::StrCat("is not JSON at byte ", head.error_at));
    }
    if (most >= kMostPartBytes) return absl::DataLossError(kNotOurs);
  }
}

std::optional<int64_t> BeginOf(const std::string& moment) {
  const absl::StatusOr<google::protobuf::Timestamp> parsed = ParseMoment(moment);
  if (!parsed.ok()) return std::nullopt;
  return parsed->seconds();
}

// Of "20261120T192011Z-7f3a21".
std::optional<int64_t> BeginInName(const std::string& name) {
  constexpr size_t kLength = 16;
  if (name.size() < kLength || name[8] != 'T' || name[15] != 'Z') return std::nullopt;
  return BeginOf(absl::StrCat(name.substr(0, 4), "-", name.substr(4, 2), "-", name.substr(6, 2), "T", name.substr(9, 2),
                              ":", name.substr(11, 2), ":", name.substr(13, 3)));
}

std::string CommandOf(const std::set<std::string>& sections) {
  for (const RunKindFacts& facts : kRunKinds) {
    if (sections.contains(facts.section)) return facts.command;
  }
  return FactsOf(RunKind::kRun).command;
}

void TakeHead(const HeadReader& head, ListedResult& result) {
  result.state = ResultState::kComplete;
  result.outcome = head.outcome;
  result.scope = head.scope;
  result.title = head.title;
  result.run_id = head.run_id;
  result.hosts = std::max(head.hosts, head.listed_hosts);
  result.command = CommandOf(head.sections);
  result.begin_s = BeginOf(head.begin).value_or(result.begin_s);
}

void SetUnreadable(const char* file, const absl::Status& status, ListedResult& result) {
  result.state = ResultState::kUnreadable;
  result.outcome.clear();
  const std::string message(status.message());
  // The system's errors name the file.
  result.reason = absl::StrContains(message, file) ? message : absl::StrCat(file, " ", message);
}

void SetUnfinished(const std::string& why, ListedResult& result) {
  result.state = ResultState::kUnfinished;
  result.outcome.clear();
  result.reason = why;
}

void TakeFirstRecord(const fs::path& path, ListedResult& result) {
  const absl::StatusOr<v1::JournalRecord> first = ReadFirstRecord(path.string());
  SetUnfinished("no report yet: under way, or cut off", result);
  if (absl::IsNotFound(first.status())) return;
  if (!first.ok()) {
    result.state = ResultState::kUnreadable;
    result.reason = std::string(first.status().message());
    return;
  }
  const v1::RunBegin& run = first->run_begin();
  result.title = run.plan().name();
  result.run_id = run.run_id();
  result.hosts = static_cast<uint64_t>(run.plan().hosts_size());
  result.command = FactsOf(RunKindOf(run.plan())).command;
  if (run.wall_clock_ns() > 0) result.begin_s = run.wall_clock_ns() / kNsPerSecond;
}

// Nothing where the directory holds no results.
std::optional<ListedResult> ReadResult(const fs::path& directory) {
  ListedResult result;
  result.name = directory.filename().string();
  result.path = directory.string();
  struct stat info{};
  if (stat(directory.c_str(), &info) == 0) result.begin_s = info.st_mtim.tv_sec;
  result.begin_s = BeginInName(result.name).value_or(result.begin_s);
  for (const char* file : {kAcceptFile, kAbFile, kRunReportFile}) {
    if (!IsThere(directory / file)) continue;
    const absl::StatusOr<HeadReader> head = ReadHead((directory / file).string());
    if (!head.ok()) {
      SetUnreadable(file, head.status(), result);
      return result;
    }
    TakeHead(*head, result);
    const bool is_run = file == kRunReportFile;
    if (file == kAbFile) {
      result.command = "ab";
      result.title = absl::StrJoin(head->names, " / ");
    }
    if (!is_run && !head->ended) SetUnfinished("not ended: under way, or cut off", result);
    if (file != kAbFile && head->outcome.empty()) {
      SetUnreadable(file, absl::DataLossError("has no verdict"), result);
    }
    return result;
  }
  if (!IsThere(directory / kRunJournalFile)) return std::nullopt;
  TakeFirstRecord(directory / kRunJournalFile, result);
  return result;
}

}  // namespace

bool IsThere(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

absl::StatusOr<std::vector<ListedResult>> ListResults(const std::string& directory) {
  std::error_code error;
  const fs::file_status there = fs::status(directory, error);
  if (!fs::exists(there))
    return absl::NotFoundError(absl::StrCat(directory, " does not exist; name the directory that holds the results"));
  if (!fs::is_directory(there)) {
    return absl::InvalidArgumentError(absl::StrCat(directory, " is not a directory; name the one that holds results"));
  }
  std::vector<ListedResult> results;
  fs::directory_iterator entries(directory, error);
  if (error) return PosixError("read", directory, error.value());
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code unknown;
    if (fs::is_directory(entries->path(), unknown)) {
      if (std::optional<ListedResult> result = ReadResult(entries->path())) results.push_back(*std::move(result));
    }
  }
  if (error) return PosixError("read", directory, error.value());
  if (results.empty() && ReadResult(directory)) {
    return absl::InvalidArgumentError(absl::StrCat(
        directory, " is a result itself; name the directory that it is in, or read it with `plimsoll report ",
        directory, "`"));
  }
  std::sort(results.begin(), results.end(), [](const ListedResult& a, const ListedResult& b) {
    return std::tie(a.begin_s, a.name) > std::tie(b.begin_s, b.name);
  });
  return results;
}

absl::StatusOr<std::string> ResolveResult(const std::string& given) {
  const std::string name = given.substr(0, given.find('/'));
  absl::string_view number = name;
  if (!absl::ConsumePrefix(&number, kLatest)) return given;
  uint64_t before = 0;
  if (!number.empty() && (!absl::ConsumePrefix(&number, "~") || !absl::SimpleAtoi(number, &before))) return given;
  if (IsThere(name)) return given;
  const absl::StatusOr<std::vector<ListedResult>> results = ListResults(kResultsDirectory);
  if (!results.ok() || results->empty()) {
    return absl::NotFoundError(absl::StrCat(name, ": there are no results below ", kResultsDirectory, " in this ",
                                            "directory; name the directory of a result"));
  }
  if (before >= results->size()) {
    return absl::NotFoundError(
        absl::StrCat(name, ": ", kResultsDirectory, " holds ", Counted(results->size(), "result"), "; the oldest is ",
                     results->size() == 1 ? kLatest : absl::StrCat(kLatest, "~", results->size() - 1)));
  }
  return absl::StrCat((*results)[before].path, given.substr(name.size()));
}

absl::StatusOr<std::string> ResolveResults(const std::string& given) {
  if (IsThere(given)) return given;
  std::vector<std::string> paths = absl::StrSplit(given, ',');
  for (std::string& path : paths) {
    PLIMSOLL_ASSIGN_OR_RETURN(path, ResolveResult(path));
  }
  return absl::StrJoin(paths, ",");
}

CLI::Option* NamesResults(CLI::Option* option) {
  return option->transform(CLI::Validator(
      [](std::string& given) {
        const absl::StatusOr<std::string> path = ResolveResults(given);
        if (!path.ok()) return std::string(path.status().message());
        given = *path;
        return std::string();
      },
      ""));
}

}  // namespace plimsoll
