// Intervals in which writers stood, and the stalls that they make.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "common/units.h"
#include "controller/analysis/stalls.h"

namespace plimsoll::tests {

// Three hosts with two writers each on storage 1, one with two writers on storage 2, all of which run for 10 s.
class StallsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kMs = kNsPerMs;
  static constexpr int64_t kErrorNs = 100 * kNsPerUs;

  StallsTest() {
    for (uint32_t number = 0; number < 4; ++number) {
      hosts_[number] = {.storage = number < 3 ? 1U : 2U,
                        .qms = 2,
                        .from_ns = 0,
                        .to_ns = 10'000 * kMs,
                        .between_writes_ns = 0,
                        .paused = {}};
    }
  }
  // Writer `qm` of a host stood, times in ms.
  StalledInterval& StalledFor(uint32_t host, uint32_t qm, int64_t begin_ms, int64_t end_ms) {
    StalledInterval& interval = intervals_.emplace_back();
    interval.host = host;
    interval.qm = qm;
    interval.begin_ns = begin_ms * kMs;
    interval.end_ns = end_ms * kMs;
    interval.error_ns = error_ns_;
    return interval;
  }
  void BothStalled(uint32_t host, int64_t begin_ms, int64_t end_ms) {
    StalledFor(host, 1, begin_ms, end_ms);
    StalledFor(host, 2, begin_ms, end_ms);
  }
  void Paused(uint32_t host, int64_t begin_ms, int64_t end_ms) {
    hosts_[host].paused = CoveredTime({{begin_ms * kMs, end_ms * kMs}});
  }
  std::vector<Stall> Find() const {
    return FindStalls(hosts_, intervals_, [this](uint32_t, int64_t) { return error_ns_; });
  }
  Stall FindOne() const {
    const std::vector<Stall> stalls = Find();
    EXPECT_THAT(stalls, ::testing::SizeIs(1));
    return stalls.empty() ? Stall() : stalls[0];
  }

  int64_t error_ns_ = kErrorNs;
  std::map<uint32_t, StallHost> hosts_;
  std::vector<StalledInterval> intervals_;
};

}  // namespace plimsoll::tests
