#include "tests/unit/run/failure_outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/render/json.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kHeartbeatsPerLease = 10;

const v1::ScopeReport* FindScope(const v1::StepReport& step, v1::ScopeKind kind, const std::string& host) {
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == kind && scope.host() == host) return &scope;
  }
  return nullptr;
}

uint64_t ClusterWrites(const v1::Report& report) {
  if (report.steps().empty()) return 0;
  const v1::ScopeReport* cluster = FindScope(report.steps(0), v1::SCOPE_KIND_CLUSTER, "");
  return cluster == nullptr ? 0 : cluster->writes();
}

// What the report was made from is in the journal: the same comes out of it again.
v1::Report ReportThatTheJournalHolds(FailureScene& scene) {
  std::string damage;
  const v1::Report report = scene.JournalReport(&damage);
  EXPECT_EQ(damage, "");
  EXPECT_EQ(RenderJson(report), scene.File("report.json"));
  return report;
}

void ExpectNothing(FailureScene& scene) {
  EXPECT_FALSE(scene.Exists("")) << "nothing was measured, and yet there is " << scene.out();
}

// Until when a host's data reach and why they end there: said of the step, and, of a lost host, of the host too.
void ExpectEndIsReported(const v1::Report& report, const v1::HostReport& host, bool ended_early) {
  const v1::ScopeReport* scope = FindScope(report.steps(0), v1::SCOPE_KIND_HOST, host.label());
  ASSERT_NE(scope, nullptr) << host.label();
  EXPECT_EQ(scope->has_data_until(), ended_early) << host.label();
  EXPECT_EQ(scope->has_data_until_reason(), ended_early) << host.label();
  if (host.has_lost()) {
    EXPECT_EQ(host.lost().has_data_until(), ended_early) << host.label();
  }
}

void ExpectReport(FailureScene& scene) {
  const v1::Report report = ReportThatTheJournalHolds(scene);
  ASSERT_EQ(report.steps_size(), 1);
  EXPECT_NE(report.verdict().outcome(), v1::OUTCOME_DONE);
  EXPECT_GT(ClusterWrites(report), 0U);
  for (const v1::HostReport& host : report.hosts()) {
    EXPECT_GT(FindScope(report.steps(0), v1::SCOPE_KIND_HOST, host.label())->writes(), 0U) << host.label();
    // alpha had told all of the step where it was over.
    const bool early =
        scene.row().state == "running" ? host.has_lost() || host.faults_size() > 0 : host.label() == "beta";
    ExpectEndIsReported(report, host, early);
  }
}

void ExpectEmpty(FailureScene& scene) {
  const v1::Report report = ReportThatTheJournalHolds(scene);
  ASSERT_EQ(report.steps_size(), 1);
  EXPECT_NE(report.steps(0).cut_short(), "");
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

void ExpectMeasured(FailureScene& scene) {
  const v1::Report report = ReportThatTheJournalHolds(scene);
  ASSERT_EQ(report.steps_size(), 1);
  EXPECT_EQ(report.steps(0).cut_short(), "");
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  for (const v1::HostReport& host : report.hosts()) {
    EXPECT_GT(FindScope(report.steps(0), v1::SCOPE_KIND_HOST, host.label())->writes(), 0U);
    ExpectEndIsReported(report, host, false);
  }
}

void ExpectWhole(FailureScene& scene) {
  const v1::Report report = ReportThatTheJournalHolds(scene);
  EXPECT_EQ(report.run().state(), v1::RUN_STATE_COMPLETE);
  ASSERT_EQ(report.steps_size(), 1);
  EXPECT_GT(ClusterWrites(report), 0U);
  for (const v1::HostReport& host : report.hosts()) {
    EXPECT_FALSE(host.has_lost()) << host.label();
    EXPECT_EQ(FindScope(report.steps(0), v1::SCOPE_KIND_HOST, host.label())->untraced_writes(), 0U);
    ExpectEndIsReported(report, host, false);
  }
}

void ExpectJournal(FailureScene& scene) {
  const v1::Report report = scene.JournalReport();
  EXPECT_EQ(report.run().state(), v1::RUN_STATE_CUT_OFF);
  const bool measured = scene.row().state == "running" || scene.row().state == "draining";
  if (measured) {
    EXPECT_GT(ClusterWrites(report), 0U);
  }
}

void ExpectPrinted(FailureScene& scene) {
  EXPECT_THAT(scene.printed(), HasSubstr("cluster"));
  EXPECT_FALSE(scene.Exists("report.json"));
  EXPECT_TRUE(scene.Exists("journal"));
}

void ExpectRemade(FailureScene& scene) {
  const nlohmann::json report = nlohmann::json::parse(scene.File("report.json"));
  for (const nlohmann::json& scope : report.at("steps").at(0).at("scopes")) EXPECT_GT(scope.at("writes"), 0);
  EXPECT_FALSE(scene.Exists("journal"));
}

// What a run takes at most from the moment at which it decides to end: four messages to each host and back (stop, a
// clock probe behind one that is under way, release), what its writers do meanwhile, and a write that fills an extent.
int64_t SettleNs(FailureScene& scene) {
  const bool preparing = scene.row().state == "preparing" || scene.row().state == "ready";
  return 4 * scene.alpha().link().round_trip_ns() + 50 * kNsPerMs + (preparing ? 250 * kNsPerMs : 0);
}

// `moment` lies between `from` and what a run takes to end after it.
void ExpectSoonAfter(FailureScene& scene, MonotonicNs moment, MonotonicNs from, const char* what,
                     int64_t later_ns = 0) {
  EXPECT_GE(moment - from, 0) << what;
  EXPECT_LE(moment - from, SettleNs(scene) + later_ns) << what;
}

void ExpectAtOnce(FailureScene& scene) {
  ExpectSoonAfter(scene, scene.ended_at(), scene.injected_at(), "from the fault to the end");
}

void ExpectLease(FailureScene& scene) {
  const int64_t lease_ns = scene.row().lease_ns;
  if (scene.resumed_at()) {
    // The agents' leases; then at once, but for what the course itself takes to read.
    ExpectSoonAfter(scene, *scene.resumed_at(), scene.injected_at() + lease_ns - lease_ns / kHeartbeatsPerLease,
                    "from the suspension to the agents' end", lease_ns / kHeartbeatsPerLease);
    const Course& course = scene.course();
    ExpectSoonAfter(scene, scene.ended_at(), *scene.resumed_at(), "from the resumption to the end",
                    std::max(course.reads_alpha_ns, course.reads_beta_ns) + 100 * course.gap_ns);
    return;
  }
  MonotonicNs last_message = scene.beta_last_message_at();
  if (!scene.alpha().link().up()) last_message = std::max(last_message, scene.alpha_last_message_at());
  // The controller counts from what it has heard, the agent from what it has: whichever finds out first.
  const MonotonicNs silent = last_message + lease_ns;
  const MonotonicNs expired = scene.beta_last_received_at() + lease_ns;
  const MonotonicNs told = scene.ended_at() >= silent ? silent : expired;
  ExpectSoonAfter(scene, scene.ended_at(), told, "from the lease's end to the run's");
}

void ExpectLeaseAgain(FailureScene& scene) {
  ASSERT_TRUE(scene.resumed_at().has_value());
  EXPECT_GE(scene.beta_last_message_at(), *scene.resumed_at());
  ExpectSoonAfter(scene, scene.ended_at(), scene.beta_last_message_at() + scene.row().lease_ns,
                  "from the lease's end to the run's");
}

void ExpectHangLimit(FailureScene& scene) {
  const int64_t heartbeat_ns = scene.row().lease_ns / kHeartbeatsPerLease;
  MonotonicNs from = scene.beta_progressed_at();
  if (const std::optional<MonotonicNs> end = scene.beta().step_end(); end) from = std::max(from, *end);
  // Looked at with each heartbeat, and the wait begins with one.
  ExpectSoonAfter(scene, scene.ended_at(), from + scene.row().hang_limit_ns, "from the limit to the end",
                  2 * heartbeat_ns);
}

void ExpectOwnLength(FailureScene& scene) {
  const std::optional<MonotonicNs> step_end = scene.beta().step_end();
  ASSERT_TRUE(step_end.has_value());
  ASSERT_TRUE(scene.prepared_at().has_value());
  const MonotonicNs start = *step_end - scene.row().duration_ns;
  // After a cut the connection resumes with its next retransmission; what waits for it comes after that.
  const MonotonicNs resumes{scene.beta().link().resumes_ns()};
  MonotonicNs could_start = *scene.prepared_at();
  if (resumes <= start) could_start = std::max(could_start, resumes);
  MonotonicNs could_end = std::max(*step_end, scene.let_go_at());
  if (resumes <= scene.ended_at()) could_end = std::max(could_end, resumes);
  // Probes, and a lead of ten round trips.
  ExpectSoonAfter(scene, start, could_start, "from the last host's preparation to the start",
                  20 * scene.alpha().link().round_trip_ns() + 100 * kNsPerMs);
  ExpectSoonAfter(scene, scene.ended_at(), could_end, "from the step's end to the run's");
}

void ExpectLonger(FailureScene& scene) {
  EXPECT_GT(scene.ended_at() - scene.injected_at(), scene.row().duration_ns * 3 / 2);
}

// Both agents, or one, end their sessions within a lease from now, and release what they made.
void ExpectEnds(FailureScene& scene, std::vector<SimulatedAgent*> agents) {
  const MonotonicNs limit = scene.world().Now() + scene.row().lease_ns + SettleNs(scene);
  scene.world().RunUntil(limit, [&] {
    return std::all_of(agents.begin(), agents.end(), [](const SimulatedAgent* agent) { return agent->over(); });
  });
  for (const SimulatedAgent* agent : agents) {
    EXPECT_TRUE(agent->over()) << agent->name();
    EXPECT_TRUE(agent->released()) << agent->name();
  }
}

void ExpectByItself(FailureScene& scene) {
  scene.LetGo();
  ExpectEnds(scene, {&scene.alpha(), &scene.beta()});
}

void ExpectAlphaOnly(FailureScene& scene) {
  ExpectEnds(scene, {&scene.alpha()});
  EXPECT_FALSE(scene.beta().over());
}

void ExpectStartedAgain(FailureScene& scene) {
  scene.LetGo();
  ExpectAlphaOnly(scene);
  EXPECT_TRUE(scene.beta().killed());
}

// That no write starts after the lease is looked at with each write (SimulatedWork).
void ExpectWhenWoken(FailureScene& scene) {
  scene.LetGo();
  ExpectAlphaOnly(scene);
  scene.beta().Resume();
  ExpectEnds(scene, {&scene.beta()});
}

void ExpectWhenLetGo(FailureScene& scene) {
  ExpectAlphaOnly(scene);
  scene.LetGo();
  ExpectEnds(scene, {&scene.beta()});
}

}  // namespace

const std::map<std::string, OutcomeCheck>& KeptChecks() {
  static const std::map<std::string, OutcomeCheck> kChecks = {
      {"NOTHING", ExpectNothing},   {"EMPTY", ExpectEmpty},     {"REPORT", ExpectReport},   {"WHOLE", ExpectWhole},
      {"MEASURED", ExpectMeasured}, {"JOURNAL", ExpectJournal}, {"PRINTED", ExpectPrinted}, {"REMADE", ExpectRemade}};
  return kChecks;
}

const std::map<std::string, OutcomeCheck>& CleanedChecks() {
  static const std::map<std::string, OutcomeCheck> kChecks = {{"BY_ITSELF", ExpectByItself},
                                                              {"STARTED_AGAIN", ExpectStartedAgain},
                                                              {"WHEN_WOKEN", ExpectWhenWoken},
                                                              {"WHEN_LET_GO", ExpectWhenLetGo}};
  return kChecks;
}

const std::map<std::string, OutcomeCheck>& TakesChecks() {
  static const std::map<std::string, OutcomeCheck> kChecks = {
      {"AT_ONCE", ExpectAtOnce},       {"LEASE", ExpectLease},          {"LEASE_AGAIN", ExpectLeaseAgain},
      {"HANG_LIMIT", ExpectHangLimit}, {"OWN_LENGTH", ExpectOwnLength}, {"UNTIL_ALL_CAME", ExpectLonger}};
  return kChecks;
}

void ExpectSeen(FailureScene& scene) {
  for (const std::vector<std::string>& alternatives : scene.row().sees) {
    bool seen = false;
    for (const std::string& line : alternatives) {
      std::string text = scene.printed();
      std::string wanted = line;
      for (const SimulatedAgent* agent : {&scene.alpha(), &scene.beta()}) {
        const std::string mark = absl::StrCat(agent->name(), ": [log] ");
        if (!absl::StartsWith(line, mark)) continue;
        wanted = line.substr(mark.size());
        // What an agent logs may come after the controller's end.
        scene.world().RunUntil(scene.world().Now() + kNsPerSecond,
                               [&] { return IsSeenIn(wanted, scene.log_of(*agent)); });
        text = scene.log_of(*agent);
      }
      seen = seen || IsSeenIn(wanted, text);
    }
    EXPECT_TRUE(seen) << "nobody says " << ::testing::PrintToString(alternatives);
  }
}

}  // namespace plimsoll::tests
