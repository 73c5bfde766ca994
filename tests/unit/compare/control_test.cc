// Storage against its control, by host.
#include "controller/compare/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/units.h"
#include "tests/testing.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll::tests {
namespace {

// A run of one step that starts so many seconds after a moment, with a mean and a p99 in ms for each host.
v1::Report RunOf(int64_t start_s, const std::vector<std::pair<double, uint64_t>>& hosts,
                 const std::string& mount = "/mnt/mq") {
  v1::Report report;
  v1::StepReport& step = *report.add_steps();
  step.set_block_size_bytes(4'096);
  step.mutable_start()->set_seconds(1'700'000'000 + start_s);
  step.set_measured_ns(20 * kNsPerSecond + kNsPerSecond / 2);
  v1::ScopeReport& cluster = *step.add_scopes();
  cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
  cluster.set_measured_ns(step.measured_ns());
  cluster.mutable_latency()->set_count(1'000);
  for (size_t i = 0; i < hosts.size(); ++i) {
    v1::HostReport& host = *report.add_hosts();
    host.set_label(absl::StrCat("node", i + 1));
    host.mutable_mount()->set_mount_point(mount);
    v1::ScopeReport& scope = *step.add_scopes();
    scope.set_kind(v1::SCOPE_KIND_HOST);
    scope.set_host(host.label());
    v1::LatencyReport& latency = *scope.mutable_latency();
    latency.set_count(1'000);
    latency.set_avg_ns(hosts[i].first * kNsPerMs);
    latency.set_p99_ns(hosts[i].second * kNsPerMs);
    latency.set_max_ns(3 * latency.p99_ns());
  }
  return report;
}

std::vector<SideInput> SidesOf(std::vector<v1::Report> storage, std::vector<v1::Report> control) {
  std::vector<SideInput> sides = {Side(std::move(storage)), Side(std::move(control))};
  sides[0].name = "storage";
  sides[1].name = "control";
  return sides;
}

TEST(Control, HasBothWindowsAndTheMeansOfTheRoundsByHost) {
  const v1::ControlComparison control =
      CompareControl(SidesOf({RunOf(0, {{4, 8}, {1, 2}}), RunOf(60, {{16, 32}, {1, 2}})},
                             {RunOf(30, {{1, 2}, {1, 2}}), RunOf(90, {{1, 2}, {1, 2}})}));
  ASSERT_EQ(control.windows_size(), 2);
  EXPECT_EQ(control.windows(0).begin().seconds(), 1'700'000'000);
  EXPECT_EQ(control.windows(0).end().seconds(), 1'700'000'080);
  EXPECT_EQ(control.windows(0).end().nanos(), 500'000'000);
  EXPECT_EQ(control.windows(1).begin().seconds(), 1'700'000'030);
  ASSERT_EQ(control.hosts_size(), 2);
  EXPECT_EQ(control.hosts(0).host(), "node1");
  EXPECT_NEAR(control.hosts(0).first_avg_ns(), 8 * kNsPerMs, 1);
  EXPECT_NEAR(control.hosts(0).first_p99_ns(), 16 * kNsPerMs, 1);
  EXPECT_EQ(control.hosts(0).first_max_ns(), 96U * kNsPerMs);
  EXPECT_NEAR(control.hosts(0).second_p99_ns(), 2 * kNsPerMs, 1);
  EXPECT_THAT(Strings(control.summary()),
              ElementsAre("The same plan in turns: storage from 2023-11-14 22:13:20 UTC to 2023-11-14 22:14:40 UTC, "
                          "control from 2023-11-14 22:13:50 UTC to 2023-11-14 22:15:10 UTC.",
                          "4 KiB: p99 of storage is on node1 8.00 times, and on node2 1.00 times that of control."));
}

TEST(Control, HostsThatAreAlikeAreNamedTogether) {
  const auto summary = [](const std::vector<std::pair<double, uint64_t>>& storage) {
    const v1::ControlComparison control =
        CompareControl(SidesOf({RunOf(0, storage)}, {RunOf(30, {{1, 10}, {1, 10}, {1, 10}})}));
    return control.summary(1);
  };
  EXPECT_EQ(summary({{9, 200}, {9, 300}, {9, 25}}),
            "4 KiB: p99 of storage is on node[1-3] 2.50 to 30.0 times that of control.");
  EXPECT_EQ(summary({{1, 10}, {1, 19}, {1, 5}}),
            "4 KiB: p99 of storage is on node[1-3] 0.50 to 1.90 times that of control.");
}

TEST(Control, WithoutAPercentileOfEveryRoundTheMeanIsWhatDiffers) {
  v1::Report thin = RunOf(60, {{4, 8}});
  thin.mutable_steps(0)->mutable_scopes(1)->mutable_latency()->add_thin("p99");
  const v1::ControlComparison control =
      CompareControl(SidesOf({RunOf(0, {{4, 8}}), thin}, {RunOf(30, {{1, 2}}), RunOf(90, {{1, 2}})}));
  EXPECT_FALSE(control.hosts(0).has_first_p99_ns());
  EXPECT_TRUE(control.hosts(0).has_second_p99_ns());
  EXPECT_EQ(control.summary(1), "4 KiB: the mean of storage is on node1 4.00 times that of control.");
}

TEST(Control, OnTheSameFileSystemItControlsNothing) {
  EXPECT_EQ(ControlDoubt(SidesOf({RunOf(0, {{1, 2}})}, {RunOf(0, {{1, 2}}, "/")})), "");
  EXPECT_EQ(ControlDoubt(SidesOf({RunOf(0, {{1, 2}, {1, 2}})}, {RunOf(0, {{1, 2}, {1, 2}})})),
            "On node[1-2] both directories are on one file system: control controls nothing there; name a directory on "
            "other storage.");
}

TEST(Control, AnotherMountOfTheSameDeviceOrExportIsTheSameFileSystem) {
  const auto doubt = [](const std::string& first, const std::string& second, bool remote) {
    const auto on = [remote](const std::string& mount_point, const std::string& source) {
      v1::Report report = RunOf(0, {{1, 2}}, mount_point);
      report.mutable_hosts(0)->mutable_mount()->set_fs_source(source);
      if (remote) report.mutable_hosts(0)->mutable_mount()->set_remote(source);
      return report;
    };
    return ControlDoubt(SidesOf({on("/mnt/mq", first)}, {on("/mnt/other", second)}));
  };
  EXPECT_THAT(doubt("/dev/sda1", "/dev/sda1", false), HasSubstr("On node1 both directories are on one file system"));
  EXPECT_THAT(doubt("filer:/mq", "filer:/mq", true), HasSubstr("On node1 both directories are on one file system"));
  EXPECT_EQ(doubt("/dev/sda1", "/dev/sda2", false), "");
  EXPECT_EQ(doubt("filer:/mq", "filer:/other", true), "");
  EXPECT_EQ(doubt("tmpfs", "tmpfs", false), "") << "two of them";
}

TEST(Control, IsPartOfAComparisonThatAsksForIt) {
  std::vector<SideInput> sides = {Side({Simulated(2, 1)}), Side({Simulated(1, 2)})};
  EXPECT_FALSE(Compared(sides).has_control());
  CompareSettings settings = Quick();
  settings.control = true;
  EXPECT_EQ(Compared(sides, settings).control().windows_size(), 2);
}

}  // namespace
}  // namespace plimsoll::tests
