// Two simulated agents, alpha and beta, and `plimsoll run` in this process, brought into a state so that something can
// go wrong in it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/v1/report.pb.h"
#include "tests/temp_directory.h"
#include "tests/unit/run/failure_table.h"
#include "tests/unit/run/simulated_agent.h"
#include "tests/virtual_clock.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace plimsoll::tests {

// What differs between two ways in which the same row may go.
struct Course {
  std::string name;
  // The fault comes so much later than the state.
  int64_t later_ns = 0;
  // When a controller that was suspended resumes: how soon its transport reads what each agent has sent meanwhile, and
  // how long it takes for each message.
  int64_t reads_alpha_ns = 0;
  int64_t reads_beta_ns = 0;
  int64_t gap_ns = 0;
  // How much later than it asked the agents' session threads are woken.
  int64_t sessions_late_ns = 0;
};

// One row of the table: as tests/integration/failures/scene.py, in virtual time. beta is the host that it happens to.
class FailureScene {
 public:
  using Fault = std::function<void(FailureScene& scene)>;

  FailureScene(const FailureRow& row, const Course& course);
  ~FailureScene();
  FailureScene(const FailureScene&) = delete;
  FailureScene& operator=(const FailureScene&) = delete;

  // Runs `plimsoll run` to its end. When the run has reached the row's state, `inject` happens.
  void Play(const Fault& inject);

  const FailureRow& row() const { return row_; }
  const Course& course() const { return course_; }
  VirtualClock& world() { return world_; }
  SimulatedAgent& alpha() { return alpha_; }
  SimulatedAgent& beta() { return beta_; }

  // For faults.
  // The action happens as soon as the condition holds.
  void When(std::function<bool()> condition, std::function<void()> action) {
    whens_.emplace_back(std::move(condition), std::move(action));
  }
  void After(int64_t duration_ns, std::function<void()> action) { world_.At(world_.Now() + duration_ns, action); }
  // Ends what holds the state; but for what holds alpha.
  void LetBetaGo();
  void LetGo();
  // The controller's process resumes, and reads what has come as the course says.
  void ResumeController();
  // Every write below the results' directory fails from now on.
  void FillResultsDisk();
  const std::string& out() const { return out_; }

  // What was printed and logged, so far.
  std::string printed() const;
  std::string log_of(const SimulatedAgent& agent) const;

  // What came of it.
  // The exit code; none: the controller was killed.
  std::optional<int> code() const { return code_; }
  // Whether the state was reached and the fault happened.
  bool injected() const { return injected_.has_value(); }
  MonotonicNs injected_at() const { return *injected_; }
  MonotonicNs ended_at() const { return ended_; }
  std::optional<MonotonicNs> resumed_at() const { return resumed_; }
  // When what held the state was let go last, before the run's end.
  MonotonicNs let_go_at() const { return let_go_; }
  // When every extent of both was filled.
  std::optional<MonotonicNs> prepared_at() const { return prepared_; }
  // The last message of beta that the controller heard during the run, and of the controller that beta heard.
  MonotonicNs beta_last_message_at() const { return beta_last_message_; }
  MonotonicNs beta_last_received_at() const { return beta_last_received_; }
  MonotonicNs alpha_last_message_at() const { return alpha_last_message_; }
  MonotonicNs beta_progressed_at() const { return beta_progressed_; }
  // The report that the journal gives; and the damage or cut, empty where it is whole.
  v1::Report JournalReport(std::string* damage = nullptr) const;
  std::string File(const std::string& name) const;
  bool Exists(const std::string& name) const;

 private:
  void HoldState();
  bool IsInState();
  // After each event of the world.
  void Watch();
  bool IsWritten(const std::string& text) const { return printed().find(text) != std::string::npos; }

  const FailureRow row_;
  const Course course_;
  VirtualClock world_;
  SimulatedAgent alpha_;
  SimulatedAgent beta_;
  TempDirectory directory_;
  const std::string out_ = directory_.path() + "/results";
  std::shared_ptr<std::vector<std::string>> log_ = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<spdlog::logger> logger_before_;
  char* progress_text_ = nullptr;
  size_t progress_size_ = 0;
  std::FILE* progress_;
  std::string results_;
  Fault inject_;
  bool in_state_ = false;
  std::vector<std::pair<std::function<bool()>, std::function<void()>>> whens_;
  std::optional<MonotonicNs> injected_;
  std::optional<MonotonicNs> prepared_;
  // When beta began to write.
  std::optional<MonotonicNs> running_since_;
  std::optional<MonotonicNs> resumed_;
  MonotonicNs let_go_;
  MonotonicNs ended_;
  MonotonicNs beta_last_message_;
  MonotonicNs beta_last_received_;
  MonotonicNs alpha_last_message_;
  MonotonicNs beta_progressed_;
  std::optional<int> code_;
};

}  // namespace plimsoll::tests
