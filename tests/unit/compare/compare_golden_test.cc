// The formats of a comparison, from fixed reports to exact bytes.
//
// After a wanted change: PLIMSOLL_UPDATE_GOLDEN=1 build/dev/bin/compare_golden_test, then look at the differences.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "controller/render/json.h"
#include "tests/golden_files.h"
#include "tests/testing.h"
#include "tests/unit/compare/simulated_reports.h"

namespace plimsoll {
namespace {

void ExpectGoldenComparison(const std::string& name, const std::vector<SideInput>& sides,
                            const CompareSettings& settings) {
  const absl::StatusOr<v1::Comparison> comparison = Compare(sides, settings);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  ExpectGolden("tests/golden/" + name + ".txt", RenderCompareText(*comparison));
  ExpectGolden("tests/golden/" + name + ".json", RenderJson(*comparison));
  ExpectGolden("tests/golden/" + name + ".csv", RenderCompareCsv(*comparison));
}

v1::Report Report(double slower, double phi, size_t seconds, uint64_t seed) {
  tests::SimulatedLaw law;
  law.phi = phi;
  law.seconds = seconds;
  law.latency_ns *= slower;
  law.writes /= slower;
  std::mt19937_64 random(seed);
  v1::Report report = tests::SimulateReport(law, {4'096, 65'536}, random);
  report.mutable_run()->set_id("7f3a2" + std::to_string(seed));
  return report;
}

SideInput Side(const std::vector<v1::Report>& reports) {
  SideInput side;
  for (const v1::Report& report : reports) side.runs.push_back({"plimsoll-results/" + report.run().id(), report});
  return side;
}

// One run a side: storage, mount and kernel differ, one is slower.
TEST(CompareGolden, OneRunASide) {
  v1::Report second = Report(1.12, 0.3, 60, 2);
  second.mutable_hosts(0)->set_kernel("Linux 6.8.0 x86_64");
  second.mutable_hosts(0)->mutable_mount()->set_mount_options("hard,wsize=1048576");
  second.mutable_hosts(0)->mutable_mount()->set_remote("filer2:/mq");
  second.mutable_storages(0)->set_fs_source("filer2:/mq");
  CompareSettings settings;
  settings.fail_if_slower = 0.05;
  ExpectGoldenComparison("compare", {Side({Report(1, 0.3, 60, 1)}), Side({second})}, settings);
}

// Several runs a side, another one that was interrupted early, and a third side whose seconds depend on one another.
TEST(CompareGolden, SeveralSides) {
  v1::Report interrupted = Report(1, 0.2, 9, 5);
  interrupted.mutable_run()->set_state(v1::RUN_STATE_INTERRUPTED);
  interrupted.mutable_run()->set_state_reason("interrupted");
  interrupted.mutable_verdict()->set_outcome(v1::OUTCOME_INCONCLUSIVE);
  interrupted.mutable_verdict()->add_reasons("the run was interrupted in step 2");
  interrupted.mutable_run()->set_queue_managers(2);
  ExpectGoldenComparison("compare_sides",
                         {Side({Report(1, 0.3, 60, 1)}), Side({Report(0.8, 0.3, 60, 2), Report(0.81, 0.3, 60, 3)}),
                          Side({Report(1, 0.9, 60, 4)}), Side({interrupted})},
                         CompareSettings());
}

// Two named sides in turn, on a machine that becomes slower from round to round, ended at a look.
TEST(CompareGolden, SidesInTurn) {
  std::vector<SideInput> sides(2);
  CompareSettings settings;
  settings.fail_if_slower = 0.05;
  settings.differs = {"sync"};
  settings.paired.emplace();
  settings.paired->set_planned_rounds(12);
  SetLooks(PlannedLooks(12), *settings.paired);
  settings.paired->set_order_seed(42);
  settings.paired->set_ended("They ended after 7 because every figure of --stop-on was decided.");
  for (uint64_t round = 0; round < 7; ++round) {
    const double machine = 1 + 0.1 * static_cast<double>(round);
    for (uint64_t side = 0; side < 2; ++side) {
      sides[side].runs.push_back({"ab/round-0" + std::to_string(round + 1) + (side == 0 ? "-a" : "-b"),
                                  Report(machine * (side == 0 ? 1 : 1.15), 0.3, 20, 10 + 2 * round + side)});
    }
    settings.paired->add_order(round % 3 == 0 ? "AB" : "BA");
  }
  sides[0].name = "san";
  sides[1].name = "nfs-over-wan";
  ExpectGoldenComparison("compare_paired", sides, settings);
}

// The committed schema is made from compare.proto, with its comments as descriptions.
TEST(CompareGolden, SchemaIsThatOfTheProto) {
  tests::ExpectGoldenSchema("docs/compare.schema.json", "Comparison");
}

}  // namespace
}  // namespace plimsoll
