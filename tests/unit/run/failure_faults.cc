#include "tests/unit/run/failure_faults.h"

#include <cerrno>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kCutNs = 1'500 * kNsPerMs;
constexpr int64_t kDayNs = 86'400 * kNsPerSecond;

void DropBoth(SimulatedAgent& agent) {
  agent.link().Drop(SimulatedLink::kToAgent);
  agent.link().Drop(SimulatedLink::kToController);
}

void KillBeta(FailureScene& scene) {
  scene.beta().Kill();
  scene.LetBetaGo();
}

void SuspendBeta(FailureScene& scene) {
  scene.beta().Suspend();
  scene.LetBetaGo();
}

void Unplug(FailureScene& scene) {
  DropBoth(scene.beta());
}

void UnplugForAWhile(FailureScene& scene) {
  DropBoth(scene.beta());
  scene.After(kCutNs, [&scene] {
    scene.beta().link().Restore();
    scene.LetBetaGo();
  });
}

void UnplugAll(FailureScene& scene) {
  DropBoth(scene.alpha());
  DropBoth(scene.beta());
}

void KillController(FailureScene& scene) {
  scene.world().KillOwnProcess();
}

// Until both agents have ended their sessions: that is what says that their leases have expired.
void SuspendController(FailureScene& scene) {
  scene.world().own_process().Suspend();
  scene.When(
      [&scene] {
        return absl::StrContains(scene.log_of(scene.alpha()), " ends: ") &&
               absl::StrContains(scene.log_of(scene.beta()), " ends: ");
      },
      [&scene] { scene.ResumeController(); });
}

void FillResultsDisk(FailureScene& scene) {
  scene.FillResultsDisk();
  scene.LetBetaGo();
}

void RemoveResults(FailureScene& scene) {
  std::filesystem::remove_all(scene.out());
  scene.When([&scene] { return absl::StrContains(scene.printed(), "the journal cannot be written"); },
             [&scene] { scene.LetBetaGo(); });
}

FailureScene::Fault WriteError(int error_number) {
  return [error_number](FailureScene& scene) {
    // In draining the write that hangs ends with the error.
    if (scene.row().state == "draining") return scene.LetBetaGo();
    scene.beta().storage().FailWrites(error_number);
    if (scene.row().state == "preparing") scene.LetBetaGo();
  };
}

void RemoveDirectory(FailureScene& scene) {
  scene.beta().storage().RemoveDirectory();
  scene.LetBetaGo();
}

bool ShowsHang(FailureScene& scene) {
  return absl::StrContains(scene.beta().state(), " has been ");
}

void HangForAWhile(FailureScene& scene) {
  if (scene.row().state != "draining") {
    scene.LetBetaGo();
    scene.beta().storage().HangNextWrite();
  }
  const bool shown = scene.row().state != "preparing";
  scene.When(
      [&scene, shown] {
        return ShowsHang(scene) && (!shown || absl::StrContains(scene.printed(), "beta/qm1 in one write for "));
      },
      [&scene] { scene.LetGo(); });
}

void HangForEver(FailureScene& scene) {
  if (scene.row().state == "draining") return;
  scene.LetBetaGo();
  scene.beta().storage().HangNextWrite();
}

void HangRemoval(FailureScene& scene) {
  scene.beta().storage().HangRemoval();
}

void JumpWallClock(FailureScene& scene) {
  scene.beta().clock().SetWallClock(kDayNs);
  scene.LetBetaGo();
}

}  // namespace

const std::map<std::string, FailureScene::Fault>& SimulatedFaults() {
  static const std::map<std::string, FailureScene::Fault> kFaults = {
      {"agent-killed", KillBeta},
      {"agent-frozen", SuspendBeta},
      {"link-down", Unplug},
      {"packets-dropped", Unplug},
      {"packets-dropped-out", [](FailureScene& scene) { scene.beta().link().Drop(SimulatedLink::kToController); }},
      {"packets-dropped-in", [](FailureScene& scene) { scene.beta().link().Drop(SimulatedLink::kToAgent); }},
      {"cut-short", UnplugForAWhile},
      {"drop-short", UnplugForAWhile},
      {"controller-killed", KillController},
      {"controller-frozen", SuspendController},
      {"controller-cut-off", UnplugAll},
      {"results-full", FillResultsDisk},
      {"results-gone", RemoveResults},
      {"write-enospc", WriteError(ENOSPC)},
      {"write-edquot", WriteError(EDQUOT)},
      {"write-eio", WriteError(EIO)},
      {"write-estale", WriteError(ESTALE)},
      {"write-erofs", WriteError(EROFS)},
      {"directory-removed", RemoveDirectory},
      {"hang-returns", HangForAWhile},
      {"hang-for-ever", HangForEver},
      {"removal-hangs", HangRemoval},
      {"wall-clock", JumpWallClock},
      // The narrow way is there from the beginning.
      {"slow-stream", [](FailureScene& /*scene*/) {}},
  };
  return kFaults;
}

std::vector<Course> CoursesOf(const FailureRow& row) {
  if (row.fault == "controller-frozen") {
    std::vector<Course> courses = {
        {.name = "all that came is read at once"},
        {.name = "the controller runs before anything is read", .reads_alpha_ns = kNsPerMs, .reads_beta_ns = kNsPerMs},
        {.name = "alpha is read first", .reads_beta_ns = 20 * kNsPerMs},
        {.name = "beta is read first", .reads_alpha_ns = 20 * kNsPerMs},
        {.name = "alpha is read first, message by message", .reads_beta_ns = 400 * kNsPerMs, .gap_ns = kNsPerMs},
        {.name = "beta is read first, message by message", .reads_alpha_ns = 400 * kNsPerMs, .gap_ns = kNsPerMs},
        {.name = "both are read message by message", .gap_ns = kNsPerMs},
        {.name = "the writers find out before their sessions", .sessions_late_ns = 40 * kNsPerMs},
        {.name = "the writers find out before their sessions, alpha is read first",
         .reads_beta_ns = 20 * kNsPerMs,
         .sessions_late_ns = 40 * kNsPerMs},
        {.name = "the writers find out before their sessions, beta is read first",
         .reads_alpha_ns = 20 * kNsPerMs,
         .sessions_late_ns = 40 * kNsPerMs},
    };
    return courses;
  }
  if (row.fault == "slow-stream") return {{.name = "at once"}};
  // Where in the rhythm of heartbeats, probes and frames it happens.
  return {{.name = "at once"},
          {.name = "a third of a heartbeat later", .later_ns = 33 * kNsPerMs},
          {.name = "most of a heartbeat later", .later_ns = 91 * kNsPerMs}};
}

}  // namespace plimsoll::tests
