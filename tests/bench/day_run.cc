#include "tests/bench/day_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/app/runs.h"
#include "controller/live/run_log.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "tests/bench/day_fleet.h"

namespace plimsoll::tests {
namespace {

using RealClock = std::chrono::steady_clock;

double SecondsSince(RealClock::time_point begin) {
  return std::chrono::duration<double>(RealClock::now() - begin).count();
}

// "VmHWM" or "VmRSS" of this process.
uint64_t ProcessMemory(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!absl::StartsWith(line, key + ":")) continue;
    std::istringstream words(line.substr(key.size() + 1));
    uint64_t kib = 0;
    words >> kib;
    return kib << 10U;
  }
  return 0;
}

// From here on VmHWM is the peak since now.
void ForgetPeak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

uint64_t SizeOf(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

v1::TestPlan PlanOf(const DayFleet& fleet) {
  const DaySize& size = fleet.load().size();
  v1::TestPlan plan;
  for (const std::string& address : fleet.addresses()) plan.add_hosts()->set_address(address);
  plan.mutable_workload()->set_dir("/simulated");
  plan.mutable_workload()->set_qm(size.queue_managers);
  plan.mutable_workload()->set_rate_per_second(size.rate);
  plan.add_block_size_bytes(DayLoad::kBlockBytes);
  plan.set_duration_ns(size.length_s * kNsPerSecond);
  plan.set_trace(v1::TOGGLE_OFF);
  plan.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  FillDefaults(plan);
  return plan;
}

// Virtual time costs nothing, so that the fleet could run away from the controller: it waits, in real time, until all
// that it sent in the last seconds is journaled and analysed.
class Throttle {
 public:
  explicit Throttle(uint32_t hosts) : records_(uint64_t{hosts} * kSeconds) {}

  void Attach(RunLog& log) {
    log.Watch([this, &log](const v1::JournalRecord& record) {
      if (!record.has_frames() || ++given_ < records_) return;
      given_ = 0;
      log.Flush();
      log.analyzer();
    });
  }

 private:
  static constexpr uint64_t kSeconds = 4;

  const uint64_t records_;
  uint64_t given_ = 0;
};

// Watches the run, and ends it at a limit.
class DayWatch {
 public:
  DayWatch(DayFleet& fleet, const DayLimits& limits, std::string out, bool progress, EventQueue& events,
           DayResult& result)
      : fleet_(fleet), limits_(limits), out_(std::move(out)), progress_(progress), events_(events), result_(result) {
    fleet.OnMinute([this](int64_t minute) { OnMinute(minute); });
    fleet.OnReleased([this] { OnReleased(); });
  }

  double machine_s() const { return SecondsSince(begin_); }
  // The outputs are written.
  void OnOutputs() {
    result_.outputs_s = SecondsSince(released_);
    result_.outputs_peak_bytes = ProcessMemory("VmHWM");
  }

 private:
  void OnMinute(int64_t minute) {
    if (minute % 60 == 0) EndHour(minute / 60);
    if (!result_.trouble.empty()) return;
    std::error_code error;
    const auto space = std::filesystem::space(out_, error);
    if (machine_s() * 1e9 > static_cast<double>(limits_.machine_ns)) {
      result_.trouble = "the machine's time for it was over";
    } else if (const uint64_t bytes = ProcessMemory("VmRSS"); bytes > limits_.memory_bytes) {
      result_.trouble = absl::StrCat("the process had ", FormatSizeForPeople(bytes), " of memory");
    } else if (!error && space.available < limits_.free_bytes) {
      result_.trouble = absl::StrCat("the file system of ", out_, " had ", FormatSizeForPeople(space.available),
                                     " left, with a journal of ", FormatSizeForPeople(JournalBytes(out_)));
    }
    if (!result_.trouble.empty()) events_.Interrupt();
  }

  void EndHour(int64_t hour) {
    DayHour& row = result_.hours.emplace_back();
    row.hour = hour;
    row.peak_bytes = ProcessMemory("VmHWM");
    row.resident_bytes = ProcessMemory("VmRSS");
    row.machine_s = machine_s();
    row.journal_bytes = JournalBytes(out_);
    ForgetPeak();
    if (!progress_) return;
    std::fprintf(stderr, "hour %lld: peak %s, journal %s, after %.0f s\n", static_cast<long long>(hour),
                 FormatSizeForPeople(row.peak_bytes).c_str(), FormatSizeForPeople(row.journal_bytes).c_str(),
                 row.machine_s);
  }

  void OnReleased() {
    int64_t sent_s = 0;
    for (const DayHostRecord& host : fleet_.hosts()) sent_s = std::max(sent_s, host.sent_s);
    const int64_t hours = (sent_s + 3'599) / 3'600;
    if (result_.hours.empty() || result_.hours.back().hour < hours) EndHour(hours);
    released_ = RealClock::now();
  }

  DayFleet& fleet_;
  const DayLimits limits_;
  const std::string out_;
  const bool progress_;
  EventQueue& events_;
  DayResult& result_;
  const RealClock::time_point begin_ = RealClock::now();
  RealClock::time_point released_ = begin_;
};

}  // namespace

uint64_t JournalBytes(const std::string& results) {
  std::error_code error;
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(results, error)) {
    const std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, "journal")) bytes += SizeOf(entry.path());
  }
  return bytes;
}

DayResult PlayDay(const DaySize& size, const DayLimits& limits, const std::string& out, bool progress,
                  const std::function<void(v1::Report& report)>& plant, const std::optional<v1::StepFoldRules>& fold) {
  DayResult result;
  VirtualClock world;
  const DayLoad load(size);
  DayFleet fleet(world, load);
  EventQueue events(world);
  const v1::TestPlan plan = PlanOf(fleet);
  if (const absl::Status status = CheckPlan(plan); !status.ok()) {
    result.trouble = std::string(status.message());
    return result;
  }
  result.before_bytes = ProcessMemory("VmRSS");
  ForgetPeak();
  DayWatch watch(fleet, limits, out, progress, events, result);
  Throttle throttle(size.hosts);
  PartEnd end;
  PlanRun how;
  how.out = out;
  how.quiet = true;
  how.end = &end;
  how.events = &events;
  how.finish = [&watch](const v1::Report& /*report*/, const std::string& /*results*/) {
    watch.OnOutputs();
    return absl::OkStatus();
  };
  RunSurroundings around;
  around.clock = &world;
  around.progress = stderr;
  around.catches_signals = false;
  around.make_client = [&fleet](const std::string& address, AgentListener& listener) {
    return fleet.MakeClient(address, listener);
  };
  around.fold = fold;
  around.on_log = [&throttle](RunLog& log) { throttle.Attach(log); };
  std::ostringstream printed;
  std::ostringstream errors;
  Console console{printed, errors};
  RunPlan(plan, how, AgentAccess(), console, around);
  result.machine_s = watch.machine_s();
  if (!end.report) {
    result.trouble = end.ErrorText();
    return result;
  }
  if (!end.errors.empty()) result.trouble = end.ErrorText();
  result.report = std::move(*end.report);
  if (plant) plant(result.report);
  for (const DayHostRecord& host : fleet.hosts()) result.played_s = std::max(result.played_s, host.sent_s);
  result.writer_seconds = fleet.frames();
  result.journal_bytes = JournalBytes(out);
  result.page_bytes = SizeOf(std::filesystem::path(out) / "report.html");
  result.columns = ColumnsOf(result.report);
  result.differences = RecountDay(fleet, result.report);
  return result;
}

}  // namespace plimsoll::tests
