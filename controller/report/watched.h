// What a plan watches: its operations and the names of its writers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Whether the writes of a log are watched. Otherwise only calls are, and the first call is the main operation.
inline bool WatchesLog(const v1::WatchPlan& watch) {
  return !watch.queue_managers().empty() || watch.has_log_dir();
}

// The operation of a call: "MQPUT", and of "libmqm_r.so:MQPUT" the function alone.
inline std::string CallName(const std::string& call) {
  const size_t colon = call.rfind(':');
  return colon == std::string::npos ? call : call.substr(colon + 1);
}

// Names of the writers, by their numbers: queue managers, or the watched process.
inline std::vector<std::string> WatchedWriterNames(const v1::WatchPlan& watch) {
  std::vector<std::string> names(watch.queue_managers().begin(), watch.queue_managers().end());
  if (names.empty()) names.push_back(absl::StrCat("pid ", watch.pid()));
  return names;
}

// The main operation of a step that watches calls alone; empty: the step reads or writes.
inline std::string MainCall(const v1::LogStep& step) {
  const bool call = step.operations_size() > 0 && step.operations(0).kind() == v1::OPERATION_CALL;
  return call ? step.operations(0).name() : "";
}
inline std::string MainCall(const v1::TestPlan& plan) {
  const bool call = plan.has_watch() && !WatchesLog(plan.watch()) && !plan.watch().calls().empty();
  return call ? CallName(plan.watch().calls(0)) : "";
}

// The plural of a call's name: "MQPUT calls".
inline std::string CallsText(const std::string& call) {
  return absl::StrCat(call, " calls");
}

// With `protect`: how many times as long as before the run the writes may take.
inline double ProtectFactor(const v1::TestPlan& plan) {
  constexpr double kUsual = 2;
  return plan.has_protect_factor() ? plan.protect_factor() : kUsual;
}

// What `protect` names: a log directory, the same on all hosts; or a queue manager, or a mount, of one host or of all.
struct Protected {
  // Empty: all hosts.
  std::string host;
  // Queue manager and log directory are empty where the text names a mount, or nothing.
  std::string queue_manager;
  std::string log_dir;
  // As it is written, but for slashes at its end.
  std::optional<std::string> mount_point;
};
inline Protected ProtectedOf(const std::string& text) {
  if (text.starts_with('/')) return {"", "", text, std::nullopt};
  constexpr std::string_view kMount = "/mount=";
  // A slash in front, so that a mount of all hosts has one, too.
  const std::string whole = "/" + text;
  if (const size_t at = whole.find(kMount); at != std::string::npos) {
    std::string mount_point = whole.substr(at + kMount.size());
    while (mount_point.size() > 1 && mount_point.ends_with('/')) mount_point.pop_back();
    return {at == 0 ? "" : whole.substr(1, at - 1), "", "", std::move(mount_point)};
  }
  const size_t slash = text.rfind('/');
  if (slash == std::string::npos) return {"", text, "", std::nullopt};
  return {text.substr(0, slash), text.substr(slash + 1), "", std::nullopt};
}
inline bool ProtectsMount(const v1::TestPlan& plan) {
  return plan.has_protect() && ProtectedOf(plan.protect()).mount_point.has_value();
}

}  // namespace plimsoll
