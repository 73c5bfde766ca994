// The steps of made-up reports.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "plimsoll/v1/report.pb.h"
#include "tests/unit/page/report_builder.h"

namespace plimsoll::tests {

// When made-up runs begin: 2026-11-20 19:00:00 UTC.
inline constexpr int64_t kBeginSeconds = 1'795'201'200;

// Numbers that look random and are the same everywhere.
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 1) {}
  // In [0, 1).
  double Next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<double>(state_ >> 11U) / 9007199254740992.0;
  }
  // Around 1.
  double Around(double spread) { return 1 + spread * (Next() + Next() - 1); }

 private:
  uint64_t state_;
};

// One second of one writer, or of several.
struct Second {
  uint64_t writes = 0;
  uint64_t sum_ns = 0;
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t p99_9_ns = 0;
  uint64_t max_ns = 0;
};

inline uint64_t Whole(double value) {
  return static_cast<uint64_t>(std::llround(value));
}

// The moment so long after the run's begin.
void SetMoment(int64_t after_ns, google::protobuf::Timestamp* moment);

// Adds the step after those that the report has, with its scopes and series.
void AddStep(const MadeUp& made_up, uint64_t block, v1::Report& report);

// Adds stalls, slowest writes, load, distributions, fairness and trend; `cluster` are its seconds.
void AddDetails(const MadeUp& made_up, const std::vector<Second>& cluster, v1::StepReport& step);

// Adds the parts of the writes that the step has: the call takes a quarter of each write, the sync the rest.
void AddParts(v1::StepReport& step);

// Adds reads beside the writes that the step has: each takes half as long as a write. `read_percent`: below 100.
void AddReads(uint32_t read_percent, v1::StepReport& step);

}  // namespace plimsoll::tests
