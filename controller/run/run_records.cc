#include "controller/run/run_records.h"

#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {
namespace {

constexpr int kRunIdBytes = 3;
constexpr int kRunTokenBytes = 16;

std::string RandomBytes(int count) {
  std::random_device random;
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random() & 0xffU));
  return bytes;
}

}  // namespace

std::string NewRunId() {
  return absl::BytesToHexString(RandomBytes(kRunIdBytes));
}

std::string NewRunToken() {
  return RandomBytes(kRunTokenBytes);
}

void AppendRunBegin(const v1::TestPlan& plan, const std::vector<v1::HostPlan>& host_plans,
                    const std::vector<v1::LogStep>& steps, const v1::ControllerFacts& controller, const Clock& clock,
                    Fleet& fleet, RunLog& log) {
  v1::JournalRecord record;
  v1::RunBegin& begin = *record.mutable_run_begin();
  begin.set_run_id(host_plans.front().run_id());
  begin.set_version(kVersion);
  *begin.mutable_plan() = plan;
  begin.set_wall_clock_ns(clock.WallNow().value);
  begin.set_frame_interval_ns(kFrameIntervalNs);
  for (const v1::LogStep& step : steps) *begin.add_steps() = step;
  begin.set_verdict_rules(kVerdictRules);
  if (controller.ByteSizeLong() > 0) *begin.mutable_controller() = controller;
  log.Append(std::move(record));
  for (const auto& host : fleet.hosts()) {
    v1::JournalRecord joined;
    *joined.mutable_host_joined() = host->Joined(host_plans[host->index]);
    log.Append(std::move(joined));
  }
  // Every session is in the journal before it begins.
  log.Flush();
}

void AppendRunEnd(const std::string& cut_short, Fleet& fleet, RunLog& log) {
  v1::JournalRecord record;
  v1::RunEnd& end = *record.mutable_run_end();
  end.set_cut_short(cut_short);
  for (const auto& host : fleet.hosts()) {
    if (!host->released.has_value()) continue;
    v1::HostReleased& released = *end.add_released();
    released.set_host(static_cast<uint32_t>(host->index));
    released.set_removed_files(host->released->removed_files());
    released.set_left_behind(host->released->left_behind());
    if (released.left_behind().empty()) continue;
    end.add_left_behind(absl::StrCat(host->label, ": ", released.left_behind()));
  }
  log.Append(std::move(record));
  log.Flush();
}

}  // namespace plimsoll
