#include <map>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "controller/analysis/host_facts.h"
#include "controller/app/runs.h"
#include "controller/fsck/checks.h"
#include "controller/fsck_course/fsck_course.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/ha_plan.h"
#include "controller/run/process.h"
#include "controller/run/run_records.h"
#include "google/protobuf/util/time_util.h"

namespace plimsoll {
namespace {

constexpr uint32_t kCheckReportFormat = 1;
// Before the checks; while they run, clocks are asked all the time.
constexpr int kFirstProbes = 20;

Exit ExitOf(const v1::CheckReport& report) {
  switch (report.verdict()) {
    case v1::CHECK_VERDICT_PASS:
      return Exit::kOk;
    case v1::CHECK_VERDICT_FAIL:
      return Exit::kFailed;
    default:
      return Exit::kInconclusive;
  }
}

class Fsck {
 public:
  // `events` gets the interrupts.
  Fsck(const FsckRun& run, Console& console, EventQueue& events) : run_(run), console_(console), events_(events) {}

  int Execute() {
    if (auto failure = Connect()) return Fail(*failure);
    FsckCourse course({.fleet = &agents_.fleet(),
                       .events = &events_,
                       .clock = &clock_,
                       .directory = agents_.directory(),
                       .run_id = NewRunId(),
                       .run_token = NewRunToken(),
                       .lease_ns = run_.lease_ns,
                       .files = CatalogFiles(),
                       .processes = CatalogProcesses(run_.level),
                       .commands = run_.commands,
                       .describe = [this](const std::string& address, int64_t timeout_ns) {
                         return agents_.Ask(address, timeout_ns);
                       }});
    const WallNs begin = clock_.WallNow();
    const MonotonicNs begin_ns = clock_.Now();
    if (auto failure = course.Begin()) return Fail(*failure);
    v1::CheckReport report;
    report.set_format(kCheckReportFormat);
    report.set_run_id(course.run_id());
    report.set_directory(agents_.directory());
    report.set_level(run_.level);
    *report.mutable_start() = google::protobuf::util::TimeUtil::NanosecondsToTimestamp(begin.value);
    for (v1::CheckResult& result : RunChecks(course, run_.level, run_.only, [this](const CatalogEntry& entry) {
           if (!run_.quiet) console_.err << "checking " << entry.name << '\n' << std::flush;
         })) {
      *report.add_checks() = std::move(result);
    }
    const std::vector<std::string> left = course.End();
    if (course.left()) return static_cast<int>(Exit::kLeft);
    report.set_duration_ns(clock_.Now() - begin_ns);
    DescribeHosts(report);
    for (const std::string& loss : course.losses()) report.add_notes(absl::StrCat("ended early: ", loss));
    if (course.interrupted()) report.add_notes("ended early: interrupted");
    for (const std::string& each : left) report.add_notes(each);
    JudgeChecks(Untested(course, report), report);
    return run_.finish(report) ? static_cast<int>(ExitOf(report)) : static_cast<int>(Exit::kWrong);
  }

 private:
  int Fail(const Failure& failure) {
    if (run_.end != nullptr) run_.end->errors = failure.lines;
    return PrintFailure(console_, failure);
  }

  std::optional<Failure> Connect() {
    if (auto failure = agents_.Connect(run_.agents, run_.access, {run_.directory})) return failure;
    Fleet& fleet = agents_.fleet();
    if (fleet.size() > kMostCheckedHosts) {
      return Failure{Exit::kWrong,
                     {absl::StrCat("--hosts: fsck checks at most ", kMostCheckedHosts, " hosts at once, not ",
                                   fleet.size(), "; name fewer")}};
    }
    const std::vector<std::vector<std::string>> directories(fleet.size(), {agents_.directory()});
    if (auto failure = agents_.Describe(directories, kAskTimeoutNs, "interrupted: nothing was checked")) return failure;
    if (auto failure = agents_.CheckAnswers()) return failure;
    std::map<std::string, std::string> addresses;  // by the agent's instance
    for (const auto& host : fleet.hosts()) {
      const auto [first, added] = addresses.emplace(host->description->instance_id(), host->address);
      if (!added) {
        return Failure{Exit::kWrong,
                       {absl::StrCat(first->second, " and ", host->address, " are the same agent: name it once")}};
      }
    }
    fleet.ProbeAll(kFirstProbes, kAskTimeoutNs);
    return std::nullopt;
  }

  void DescribeHosts(v1::CheckReport& report) {
    for (const auto& host : agents_.fleet().hosts()) {
      const v1::HostDescription& description = *host->description;
      const v1::DirectoryDescription& directory = description.directories(0);
      v1::CheckHost& described = *report.add_hosts();
      CopySharedFields(description, described);
      CopySharedFields(directory, described);
      described.set_label(host->label);
      described.set_address(host->address);
      if (!host->node.empty()) described.set_node(host->node);
    }
  }

  // What keeps every requirement from PASS: checks that ran between fewer than two kernels.
  static std::vector<std::string> Untested(const FsckCourse& course, v1::CheckReport& report) {
    if (course.hosts() < 2) return {"one host alone: nothing was tested between hosts"};
    std::set<std::string> kernels;
    std::vector<std::string> labels;
    for (const v1::CheckHost& host : report.hosts()) {
      kernels.insert(host.boot_id());
      labels.push_back(host.label());
    }
    if (kernels.size() == 1) {
      return {absl::StrCat(absl::StrJoin(labels, ", "), " share one kernel: nothing was tested between hosts")};
    }
    if (kernels.size() < course.hosts()) {
      report.add_notes("some agents share a kernel; checks between them prove nothing about hosts");
    }
    return {};
  }

  const FsckRun& run_;
  Console& console_;
  EventQueue& events_;
  const SystemClock clock_;
  const Interrupts interrupts_{events_};
  AskedAgents agents_{clock_, events_, console_.err, run_.quiet, run_.directory_option};
};

}  // namespace

int RunFsck(const FsckRun& run, Console& console) {
  const SystemClock clock;
  EventQueue events(clock);
  const int code = Fsck(run, console, events).Execute();
  // Its agents have ended by now: an interrupt that came meanwhile counts, too.
  if (run.end != nullptr) run.end->interrupted = events.interrupts() > 0;
  return code;
}

}  // namespace plimsoll
