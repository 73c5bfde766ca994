#include "tests/faultfs/fault_rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace plimsoll::faultfs {
namespace {

// How often a hang looks whether its caller was killed.
constexpr std::chrono::milliseconds kLook{20};

constexpr std::array<std::pair<const char*, int>, 12> kErrors = {{{"EIO", EIO},
                                                                  {"ESTALE", ESTALE},
                                                                  {"EROFS", EROFS},
                                                                  {"EDQUOT", EDQUOT},
                                                                  {"ENOSPC", ENOSPC},
                                                                  {"EACCES", EACCES},
                                                                  {"EPERM", EPERM},
                                                                  {"ENOENT", ENOENT},
                                                                  {"EAGAIN", EAGAIN},
                                                                  {"EINVAL", EINVAL},
                                                                  {"ETIMEDOUT", ETIMEDOUT},
                                                                  {"EFBIG", EFBIG}}};

constexpr std::array<const char*, 20> kOperations = {"*",      "getattr",     "mkdir",          "unlink",    "rmdir",
                                                     "rename", "truncate",    "open",           "create",    "read",
                                                     "write",  "statfs",      "flush",          "fsync",     "readdir",
                                                     "lock",   "lock_shared", "lock_exclusive", "fallocate", "release"};

absl::StatusOr<int64_t> Number(const std::string& word, const std::string& value) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", word, "' is no number"));
  }
  return number;
}

absl::Status TakeWord(const std::string& word, Rule& rule) {
  const size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (key == "drop" || key == "grant" || key == "interruptible" || (key == "hang" && value.empty())) {
    (key == "drop" ? rule.drop : key == "grant" ? rule.grant : key == "hang" ? rule.hang : rule.interruptible) = true;
    return absl::OkStatus();
  }
  if (key == "error") {
    const auto* known =
        std::find_if(kErrors.begin(), kErrors.end(), [&](const auto& one) { return value == one.first; });
    if (known == kErrors.end())
      return absl::InvalidArgumentError(absl::StrCat("'", word, "': that error is not known"));
    rule.error_number = known->second;
    return absl::OkStatus();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t number, Number(word, value));
  if (key == "after") {
    rule.after = static_cast<uint64_t>(number);
  } else if (key == "count") {
    rule.count = static_cast<uint64_t>(number);
  } else if (key == "delay_ms") {
    rule.delay_ms = number;
  } else if (key == "serve_us") {
    rule.serve_us = number;
  } else if (key == "hang_ms") {
    rule.hang = true;
    rule.hang_ms = number;
  } else if (key == "pid") {
    rule.process = static_cast<pid_t>(number);
  } else if (key == "volatile") {
    rule.volatile_writes = static_cast<uint64_t>(number);
  } else if (key == "torn") {
    rule.torn_bytes = static_cast<uint64_t>(number);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("'", word, "' is not known"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Rule> ParseRule(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.size() < 3) {
    return absl::InvalidArgumentError("a rule is: OPERATION PATTERN [pid=N] [after=N] [count=N] ACTION...");
  }
  Rule rule;
  rule.operation = words[0];
  rule.pattern = words[1];
  if (std::find(kOperations.begin(), kOperations.end(), rule.operation) == kOperations.end()) {
    return absl::InvalidArgumentError(absl::StrCat("operation '", rule.operation, "' is not known"));
  }
  for (size_t i = 2; i < words.size(); ++i) PLIMSOLL_RETURN_IF_ERROR(TakeWord(words[i], rule));
  if (rule.error_number == 0 && rule.delay_ms == 0 && rule.serve_us == 0 && !rule.hang && !rule.drop &&
      !rule.torn_bytes && !rule.grant && rule.volatile_writes == 0) {
    return absl::InvalidArgumentError("the rule does nothing");
  }
  return rule;
}

absl::StatusOr<uint64_t> FaultRules::Add(const std::string& text) {
  PLIMSOLL_ASSIGN_OR_RETURN(Rule rule, ParseRule(text));
  const MutexLock lock(mutex_);
  auto entry = std::make_shared<Entry>();
  entry->rule = std::move(rule);
  entry->number = ++last_;
  rules_[last_] = std::move(entry);
  return last_;
}

absl::StatusOr<FaultRules::Hits> FaultRules::HitsOf(uint64_t number) const {
  const MutexLock lock(mutex_);
  const auto found = rules_.find(number);
  if (found == rules_.end()) return absl::NotFoundError(absl::StrCat("no rule ", number));
  return found->second->hits;
}

absl::Status FaultRules::Release(uint64_t number) {
  const MutexLock lock(mutex_);
  const auto found = rules_.find(number);
  if (found == rules_.end()) return absl::NotFoundError(absl::StrCat("no rule ", number));
  found->second->released = true;
  rules_.erase(found);
  changed_.NotifyAll();
  return absl::OkStatus();
}

void FaultRules::ReleaseAll() {
  const MutexLock lock(mutex_);
  for (auto& [number, entry] : rules_) entry->released = true;
  rules_.clear();
  changed_.NotifyAll();
}

std::shared_ptr<FaultRules::Entry> FaultRules::Catch(const std::string& operation, const std::string& path,
                                                     const Caller& caller) {
  for (auto& [number, entry] : rules_) {
    const Rule& rule = entry->rule;
    if (rule.operation != "*" && rule.operation != operation) continue;
    if (fnmatch(rule.pattern.c_str(), path.c_str(), 0) != 0) continue;
    if (rule.process != 0 && rule.process != caller.process()) continue;
    ++entry->matched;
    if (entry->matched <= rule.after || (rule.count > 0 && entry->hits.hits >= rule.count)) continue;
    ++entry->hits.hits;
    return entry;
  }
  return nullptr;
}

FaultRules::Verdict FaultRules::Ask(const std::string& operation, const std::string& path, const Caller& caller) {
  const MutexLock lock(mutex_);
  const std::shared_ptr<Entry> entry = Catch(operation, path, caller);
  if (entry == nullptr) return {};
  const Rule& rule = entry->rule;
  const auto now = std::chrono::steady_clock::now();
  const auto never = std::chrono::steady_clock::time_point::max();
  auto until = now + std::chrono::milliseconds(rule.delay_ms);
  if (rule.serve_us > 0) {
    entry->served_until = std::max(now, entry->served_until) + std::chrono::microseconds(rule.serve_us);
    until = std::max(until, entry->served_until);
  }
  if (rule.hang) until = rule.hang_ms > 0 ? until + std::chrono::milliseconds(rule.hang_ms) : never;
  bool killed = false;
  ++entry->hits.waiting;
  while (!entry->released && !killed && std::chrono::steady_clock::now() < until) {
    changed_.WaitUntil(mutex_, std::min(until, std::chrono::steady_clock::now() + kLook));
    killed = rule.interruptible && caller.interrupted();
  }
  --entry->hits.waiting;
  Verdict verdict;
  verdict.rule = entry->number;
  if (killed) {
    verdict.error_number = EINTR;
    return verdict;
  }
  verdict.error_number = rule.error_number;
  verdict.drop = rule.drop;
  verdict.torn_bytes = rule.torn_bytes;
  verdict.grant = rule.grant;
  verdict.volatile_writes = rule.volatile_writes;
  return verdict;
}

}  // namespace plimsoll::faultfs
