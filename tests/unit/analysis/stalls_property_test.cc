// What must hold for stalls, whatever intervals they are made from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "controller/analysis/stalls.h"
#include "controller/timeline/timeline.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/random_numbers.h"

namespace plimsoll {
namespace {

constexpr int64_t kMs = kNsPerMs;
constexpr int64_t kStepNs = 60 * kNsPerSecond;

// Hosts with clocks that are wrong by what only the test knows, and what truly happened.
struct Scene {
  std::map<uint32_t, StallHost> hosts;
  std::map<uint32_t, int64_t> errors_ns;
  std::map<uint32_t, int64_t> wrong_ns;
  std::vector<StalledInterval> intervals;

  std::vector<Stall> Find() const {
    return FindStalls(hosts, intervals, [this](uint32_t host, int64_t) { return errors_ns.at(host); });
  }
  // As the host's clock has it.
  void Stand(uint32_t host, uint32_t qm, int64_t begin_ns, int64_t end_ns, int64_t paused_ns = 0) {
    StalledInterval& interval = intervals.emplace_back();
    interval.host = host;
    interval.qm = qm;
    interval.begin_ns = begin_ns + wrong_ns.at(host);
    interval.end_ns = end_ns + wrong_ns.at(host);
    interval.error_ns = errors_ns.at(host);
    interval.in_flight_ns = end_ns - begin_ns;
    interval.paused_ns = paused_ns;
  }
};

Scene RandomHosts(Random& random, int64_t most_error_ns) {
  Scene scene;
  const int64_t hosts = Between(random, 1, 6);
  for (uint32_t number = 0; number < hosts; ++number) {
    scene.errors_ns[number] = Between(random, 0, most_error_ns);
    scene.wrong_ns[number] = Between(random, -scene.errors_ns[number], scene.errors_ns[number]);
    scene.hosts[number] = {.storage = static_cast<uint32_t>(Between(random, 0, 2)),
                           .qms = static_cast<uint32_t>(Between(random, 1, 3)),
                           .from_ns = 0,
                           .to_ns = kStepNs,
                           .between_writes_ns = 0,
                           .paused = {}};
  }
  return scene;
}

// Known pauses, far apart, of known writers: exactly they are found, with their class, within the clocks' errors.
TEST(StallsProperty, NamesExactlyTheKnownPauses) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int round = 0; round < 2'000; ++round) {
    SCOPED_TRACE(round);
    Scene scene = RandomHosts(random, 20 * kMs);
    for (auto& [number, host] : scene.hosts) host.storage = 1;
    struct Known {
      int64_t begin_ns = 0;
      int64_t end_ns = 0;
      v1::StallClass stall_class = v1::STALL_CLASS_UNSPECIFIED;
      std::vector<uint32_t> hosts;
    };
    std::vector<Known> truth;
    std::map<uint32_t, std::vector<TimeRange>> pauses;
    for (int64_t at_ns = 2 * kNsPerSecond; at_ns < kStepNs - 3 * kNsPerSecond; at_ns += 3 * kNsPerSecond) {
      Known& known = truth.emplace_back();
      known.begin_ns = at_ns;
      known.end_ns = at_ns + Between(random, 200, 2'000) * kMs;
      const auto one = static_cast<uint32_t>(Between(random, 0, static_cast<int64_t>(scene.hosts.size()) - 1));
      switch (Between(random, 0, 3)) {
        case 0:  // the storage
          for (const auto& [number, host] : scene.hosts) {
            known.hosts.push_back(number);
            for (uint32_t qm = 1; qm <= host.qms; ++qm) scene.Stand(number, qm, known.begin_ns, known.end_ns);
          }
          known.stall_class = scene.hosts.size() > 1 ? v1::STALL_CLASS_ALL_HOSTS : v1::STALL_CLASS_SINGLE_HOST;
          break;
        case 1:  // one host's path
          known.hosts = {one};
          for (uint32_t qm = 1; qm <= scene.hosts[one].qms; ++qm) scene.Stand(one, qm, known.begin_ns, known.end_ns);
          known.stall_class = scene.hosts.size() > 1 ? v1::STALL_CLASS_ONE_HOST : v1::STALL_CLASS_SINGLE_HOST;
          break;
        case 2:  // one host did not run
          known.hosts = {one};
          for (uint32_t qm = 1; qm <= scene.hosts[one].qms; ++qm) {
            scene.Stand(one, qm, known.begin_ns, known.end_ns, known.end_ns - known.begin_ns - 4 * kMs);
          }
          pauses[one].push_back({known.begin_ns + scene.wrong_ns[one], known.end_ns + scene.wrong_ns[one]});
          known.stall_class = v1::STALL_CLASS_HOST_PAUSED;
          break;
        default:  // one writer
          known.hosts = {one};
          scene.Stand(one, 1, known.begin_ns, known.end_ns);
          known.stall_class = scene.hosts[one].qms > 1 ? v1::STALL_CLASS_ONE_QM
                              : scene.hosts.size() > 1 ? v1::STALL_CLASS_ONE_HOST
                                                       : v1::STALL_CLASS_SINGLE_HOST;
      }
    }
    for (auto& [number, of_host] : pauses) scene.hosts[number].paused = CoveredTime(of_host);
    std::shuffle(scene.intervals.begin(), scene.intervals.end(), random);
    const std::vector<Stall> stalls = scene.Find();
    ASSERT_EQ(stalls.size(), truth.size());
    for (size_t i = 0; i < stalls.size(); ++i) {
      EXPECT_EQ(stalls[i].stall_class, truth[i].stall_class);
      EXPECT_EQ(stalls[i].hosts, truth[i].hosts);
      EXPECT_EQ(stalls[i].others.size(), scene.hosts.size() - truth[i].hosts.size());
      EXPECT_LE(std::abs(stalls[i].begin_ns - truth[i].begin_ns), stalls[i].error_ns);
      EXPECT_LE(std::abs(stalls[i].end_ns - truth[i].end_ns), stalls[i].error_ns);
      EXPECT_FALSE(stalls[i].unsure);
    }
  }
}

// Whatever the clocks' errors: hosts are said to have stood together, or to have run, only where that is so.
TEST(StallsProperty, NeverSaysWhatTheClocksLeaveOpen) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int round = 0; round < 10'000; ++round) {
    SCOPED_TRACE(round);
    Scene scene = RandomHosts(random, Between(random, 0, 3) * 1'000 * kMs);
    std::map<uint32_t, std::vector<TimeRange>> truth;
    for (const auto& [number, host] : scene.hosts) {
      for (int64_t n = Between(random, 0, 2); n > 0; --n) {
        const int64_t begin_ns = Between(random, 20'000, 26'000) * kMs;
        const int64_t end_ns = begin_ns + Between(random, 1, 4'000) * kMs;
        scene.Stand(number, static_cast<uint32_t>(Between(random, 1, host.qms)), begin_ns, end_ns);
        truth[number].push_back({begin_ns, end_ns});
      }
    }
    for (const Stall& stall : scene.Find()) {
      // Two that stood together overlap in truth, each with at least one of the others.
      for (const size_t a : stall.intervals) {
        const StalledInterval& own = scene.intervals[a];
        const bool connected =
            stall.intervals.size() == 1 || std::any_of(stall.intervals.begin(), stall.intervals.end(), [&](size_t b) {
              const StalledInterval& other = scene.intervals[b];
              const int64_t shift_ns = scene.wrong_ns[other.host] - scene.wrong_ns[own.host];
              const int64_t overlap_ns =
                  std::min(own.end_ns, other.end_ns - shift_ns) - std::max(own.begin_ns, other.begin_ns - shift_ns);
              const int64_t shorter_ns = std::min(own.end_ns - own.begin_ns, other.end_ns - other.begin_ns);
              return a != b && 2 * overlap_ns >= shorter_ns;
            });
        EXPECT_TRUE(connected);
      }
      // One that is said to have run did not stand for half of the shorter of both, measured against any that did.
      for (const uint32_t other : stall.others) {
        for (const TimeRange& stood : truth[other]) {
          for (const size_t place : stall.intervals) {
            const StalledInterval& one = scene.intervals[place];
            const int64_t begin_ns = one.begin_ns - scene.wrong_ns[one.host];
            const int64_t end_ns = one.end_ns - scene.wrong_ns[one.host];
            const int64_t overlap_ns = std::min(end_ns, stood.end_ns) - std::max(begin_ns, stood.begin_ns);
            EXPECT_LT(2 * overlap_ns, std::min(end_ns - begin_ns, stood.end_ns - stood.begin_ns));
          }
        }
      }
    }
  }
}

// Whether a writer of the stall's only host, beside those that stood, is known to have run: the host's data cover half
// of the stall, and no interval of that writer overlaps one of the stall's by half of the shorter one.
bool SiblingRan(const Scene& scene, const Stall& stall, const std::set<uint32_t>& qms) {
  const StallHost& host = scene.hosts.at(stall.hosts[0]);
  const int64_t from_ns = std::max(stall.begin_ns, host.from_ns);
  const int64_t to_ns = std::min(stall.end_ns, host.to_ns);
  const int64_t seen_ns = std::max<int64_t>(to_ns - from_ns, 0) - host.paused.Within(from_ns, to_ns);
  const int64_t length_ns = stall.end_ns - stall.begin_ns;
  if (seen_ns < length_ns - length_ns / 2) return false;
  const auto overlaps = [](const StalledInterval& own, const StalledInterval& stood) {
    const int64_t overlap_ns = std::min(own.end_ns, stood.end_ns) - std::max(own.begin_ns, stood.begin_ns);
    const int64_t shorter_ns = std::min(own.end_ns - own.begin_ns, stood.end_ns - stood.begin_ns);
    return overlap_ns >= shorter_ns - shorter_ns / 2;
  };
  std::set<uint32_t> silent = qms;
  for (const StalledInterval& own : scene.intervals) {
    if (own.host != stall.hosts[0]) continue;
    for (const size_t place : stall.intervals) {
      if (overlaps(own, scene.intervals[place])) silent.insert(own.qm);
    }
  }
  return silent.size() < host.qms;
}

// Any intervals, moments at the ends of what is allowed too: each is in one stall, and the classes fit who stood.
TEST(StallsProperty, EveryIntervalIsInOneStall) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  constexpr int64_t kMost = int64_t{1} << 61;
  for (int round = 0; round < 3'000; ++round) {
    SCOPED_TRACE(round);
    Scene scene = RandomHosts(random, 300 * kMs);
    const bool extreme = Between(random, 0, 4) == 0;
    if (extreme) {
      for (auto& [number, error_ns] : scene.errors_ns) error_ns = Between(random, 0, int64_t{1} << 59);
    }
    for (auto& [number, host] : scene.hosts) {
      const int64_t from_ns = extreme ? Between(random, -kMost, kMost - 2) : Between(random, 20'000, 23'000) * kMs;
      const int64_t to_ns = extreme ? Between(random, from_ns + 1, kMost) : from_ns + Between(random, 1, 1'000) * kMs;
      if (Between(random, 0, 2) == 0) host.paused = CoveredTime({{from_ns, to_ns}});
      if (extreme && Between(random, 0, 1) == 0) {
        host.from_ns = from_ns;
        host.to_ns = to_ns;
      }
    }
    for (int64_t n = Between(random, 0, 30); n > 0; --n) {
      StalledInterval& interval = scene.intervals.emplace_back();
      interval.host = static_cast<uint32_t>(Between(random, 0, static_cast<int64_t>(scene.hosts.size()) - 1));
      interval.qm = static_cast<uint32_t>(Between(random, 1, scene.hosts[interval.host].qms));
      interval.begin_ns = extreme ? Between(random, -kMost, kMost - 2) : Between(random, 20'000, 23'000) * kMs;
      interval.end_ns =
          extreme ? Between(random, interval.begin_ns + 1, kMost) : interval.begin_ns + Between(random, 1, 1'000) * kMs;
      interval.error_ns = scene.errors_ns[interval.host];
      interval.paused_ns = Between(random, 0, 3) == 0 ? interval.end_ns - interval.begin_ns : 0;
      interval.counts = Between(random, 0, 5) != 0;
      interval.open = Between(random, 0, 5) == 0;
    }
    const std::vector<Stall> stalls = scene.Find();
    std::multiset<size_t> seen;
    for (const Stall& stall : stalls) {
      seen.insert(stall.intervals.begin(), stall.intervals.end());
      std::set<uint32_t> hosts;
      std::set<uint32_t> qms;
      for (const size_t place : stall.intervals) {
        const StalledInterval& interval = scene.intervals[place];
        hosts.insert(interval.host);
        qms.insert(interval.qm);
        EXPECT_TRUE(interval.counts);
        EXPECT_EQ(scene.hosts[interval.host].storage, stall.storage);
        EXPECT_GE(interval.begin_ns, stall.begin_ns);
        EXPECT_LE(interval.end_ns, stall.end_ns);
        EXPECT_LE(interval.error_ns, stall.error_ns);
        EXPECT_EQ(stall.stall_class == v1::STALL_CLASS_HOST_PAUSED,
                  interval.paused_ns * 2 >= interval.end_ns - interval.begin_ns && interval.paused_ns > 0);
      }
      EXPECT_EQ(std::vector<uint32_t>(hosts.begin(), hosts.end()), stall.hosts);
      for (const uint32_t other : stall.others) EXPECT_FALSE(hosts.contains(other));
      const bool all_qms = qms.size() == scene.hosts[stall.hosts[0]].qms;
      const bool sibling_ran = SiblingRan(scene, stall, qms);
      switch (stall.stall_class) {
        case v1::STALL_CLASS_HOST_PAUSED:
          EXPECT_EQ(hosts.size(), 1U);
          break;
        case v1::STALL_CLASS_ALL_HOSTS:
          EXPECT_TRUE(hosts.size() > 1 && stall.others.empty());
          break;
        case v1::STALL_CLASS_SOME_HOSTS:
          EXPECT_TRUE(hosts.size() > 1 && !stall.others.empty());
          break;
        case v1::STALL_CLASS_ONE_HOST:
          EXPECT_TRUE(hosts.size() == 1 && !sibling_ran && !stall.others.empty());
          break;
        case v1::STALL_CLASS_SINGLE_HOST:
          EXPECT_TRUE(hosts.size() == 1 && !sibling_ran && stall.others.empty());
          break;
        case v1::STALL_CLASS_ONE_QM:
          EXPECT_TRUE(hosts.size() == 1 && !all_qms && sibling_ran && qms.size() == 1);
          break;
        case v1::STALL_CLASS_SOME_QMS:
          EXPECT_TRUE(hosts.size() == 1 && !all_qms && sibling_ran && qms.size() > 1);
          break;
        default:
          ADD_FAILURE() << "a stall without a class";
      }
    }
    std::multiset<size_t> wanted;
    for (size_t i = 0; i < scene.intervals.size(); ++i) {
      if (scene.intervals[i].counts) wanted.insert(i);
    }
    EXPECT_EQ(seen, wanted);
    EXPECT_TRUE(std::is_sorted(stalls.begin(), stalls.end(),
                               [](const Stall& a, const Stall& b) { return a.begin_ns < b.begin_ns; }));
  }
}

}  // namespace
}  // namespace plimsoll
