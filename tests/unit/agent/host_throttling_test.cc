// For how long a CPU limit suspended the agent: which files say so, and what they say.
#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "agent/host/counters.h"
#include "agent/host/throttling.h"
#include "tests/temp_directory.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr char kVersion2Stat[] =
    "usage_usec 614361\nuser_usec 600000\nsystem_usec 14361\nnr_periods 30\nnr_throttled 26\nthrottled_usec 1043972\n";
constexpr char kVersion1Stat[] = "nr_periods 30\nnr_throttled 26\nthrottled_time 1043972485\nnr_bursts 0\n";

TEST(Throttling, IsReadInTheUnitOfEachVersion) {
  EXPECT_THAT(ParseThrottledNs(kVersion2Stat), Optional(1'043'972'000U));
  EXPECT_THAT(ParseThrottledNs(kVersion1Stat), Optional(1'043'972'485U));
}

TEST(Throttling, IsUnknownWhereThereIsNoLimitToBeThrottledBy) {
  // The root of version 2.
  EXPECT_EQ(ParseThrottledNs("usage_usec 614361\nuser_usec 600000\nsystem_usec 14361\n"), std::nullopt);
  EXPECT_EQ(ParseThrottledNs(""), std::nullopt);
  EXPECT_EQ(ParseThrottledNs("throttled_usec many\n"), std::nullopt);
}

TEST(CpuStatFiles, OfAServiceAreItsOwnAndThoseOfTheSlicesAbove) {
  EXPECT_THAT(CpuStatFiles("0::/system.slice/plimsoll-agent.service\n",
                           "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"),
              ElementsAre("/sys/fs/cgroup/system.slice/plimsoll-agent.service/cpu.stat",
                          "/sys/fs/cgroup/system.slice/cpu.stat", "/sys/fs/cgroup/cpu.stat"));
}

TEST(CpuStatFiles, OfAContainerIsTheOneThatItsNamespaceShows) {
  EXPECT_THAT(CpuStatFiles("0::/\n", "512 510 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n"),
              ElementsAre("/sys/fs/cgroup/cpu.stat"));
}

TEST(CpuStatFiles, OfAContainerWithoutANamespaceAreFoundBelowTheRootOfTheMount) {
  EXPECT_THAT(
      CpuStatFiles("11:cpu,cpuacct:/kubepods/pod1/c2\n1:name=systemd:/kubepods/pod1/c2\n0::/\n",
                   "600 590 0:33 /kubepods/pod1/c2 /sys/fs/cgroup/systemd ro - cgroup cgroup rw,name=systemd\n"
                   "601 590 0:30 /kubepods/pod1/c2 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"),
      ElementsAre("/sys/fs/cgroup/cpu,cpuacct/cpu.stat"));
}

TEST(CpuStatFiles, AreThoseOfTheHierarchyThatHasTheController) {
  // Version 2 is mounted, too, without it; `cpuset` and `cpuacct` are others.
  EXPECT_THAT(CpuStatFiles("3:cpuset:/a\n2:cpuacct:/b\n1:cpu:/c\n0::/d\n",
                           "34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                           "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
                           "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"),
              ElementsAre("/sys/fs/cgroup/cpu/c/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"));
}

TEST(CpuStatFiles, AreNoneWhereTheCgroupIsNotBelowTheMount) {
  constexpr char kOther[] = "30 23 0:27 /kubepods/pod1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  EXPECT_THAT(CpuStatFiles("0::/kubepods/pod12\n", kOther), IsEmpty());
  EXPECT_THAT(CpuStatFiles("0::/../pod2\n", "30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"), IsEmpty());
  EXPECT_THAT(CpuStatFiles("0::/a\n", ""), IsEmpty());
  EXPECT_THAT(CpuStatFiles("", kOther), IsEmpty());
}

class HostThrottling : public ::testing::Test {
 protected:
  std::string Stat(const std::string& name, const std::string& text) {
    std::ofstream(temp_.Sub(name)) << text;
    return temp_.Sub(name);
  }

  tests::TempDirectory temp_;
};

TEST_F(HostThrottling, CountsFromResetOnInTheCgroupAndThoseAbove) {
  const std::vector<std::string> files = {Stat("container", "throttled_usec 1000\n"),
                                          Stat("pod", "throttled_usec 500\n"), Stat("root", "usage_usec 7\n")};
  HostCounters counters({"/proc"}, files);
  EXPECT_EQ(counters.Sample().throttled_ns(), 0U);
  Stat("container", "throttled_usec 1030\n");
  Stat("pod", "throttled_usec 510\n");
  EXPECT_EQ(counters.Sample().throttled_ns(), 40'000U);
  counters.Reset({});
  EXPECT_EQ(counters.Sample().throttled_ns(), 0U);
}

TEST_F(HostThrottling, IsLeftOutOfSamplesWhereItIsNotKnown) {
  EXPECT_FALSE(HostCounters({"/proc"}, {}).Sample().has_throttled_ns());
  const std::string file = Stat("container", "usage_usec 7\n");
  const HostCounters counters({"/proc"}, {file});
  // It is not known from when on it counts.
  Stat("container", "throttled_usec 1000\n");
  EXPECT_FALSE(counters.Sample().has_throttled_ns());
}

}  // namespace
}  // namespace plimsoll
