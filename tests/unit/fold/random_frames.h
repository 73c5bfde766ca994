// Frames as the agents of some hosts could have sent them, and what is in them.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "common/units.h"
#include "controller/fold/step_fold.h"
#include "plimsoll/v1/frame.pb.h"
#include "tests/unit/analysis/random_numbers.h"

namespace plimsoll::tests {

// Host, writer and operation.
using StreamKey = std::tuple<uint32_t, uint32_t, uint32_t>;
// A frame and its host.
using HostFrame = std::pair<uint32_t, v1::Frame>;

struct FrameScene {
  int64_t interval_ns = 500 * kNsPerMs;
  uint32_t hosts = 2;
  uint32_t qms = 2;
  uint32_t operations = 1;
  bool rated = false;
  // Measured seconds that have frames, from the first to the one before the last.
  int64_t from_second = 0;
  int64_t to_second = 300;
  // Writes of an interval, at most.
  int64_t most_writes = 6;
  // One interval of so many holds a stall of 0.1 to 4 s; 0: none does.
  int64_t intervals_of_stall = 150;
  // Some stalls are reported once they are over, up to so long after.
  int64_t latest_report_ns = 0;
  // One frame of so many is coalesced with the next ones, up to 3 s; 0: frames are never coalesced.
  int64_t frames_of_coalesced = 100;

  // Start of the measured part in each host's clock.
  static int64_t MeasuredStartNs(uint32_t host) { return (host + 1) * 1'000 * kNsPerSecond; }
};

// What a second of a stream holds.
struct SecondTruth {
  uint64_t writes = 0;
  uint64_t bytes = 0;
  uint64_t latency_sum_ns = 0;
  uint64_t latency_max_ns = 0;
  uint64_t response_sum_ns = 0;
  uint64_t response_max_ns = 0;
  bool operator==(const SecondTruth&) const = default;
};

struct Frames {
  // Each stream's frames, in order, with a closing one.
  std::map<StreamKey, std::vector<v1::Frame>> streams;
};

Frames MakeFrames(const FrameScene& scene, Random& random);

// All frames in one order in which they could arrive: those of a stream stay in order, and the operations of a writer
// together; writers and hosts run ahead of one another by some seconds.
std::vector<HostFrame> Arrive(const Frames& frames, Random& random, size_t most_ahead = 20);

// The seconds of measured frames, folded or not. Those of frames over several seconds count in their first one.
std::map<int64_t, SecondTruth> SecondsOf(const std::vector<v1::Frame>& frames, int64_t interval_ns);

// A fold of a scene that keeps what it gives out.
class RecordedFold {
 public:
  RecordedFold(const FoldRules& rules, const FrameScene& scene);

  StepFold& fold() { return fold_; }
  void TakeAll(const std::vector<HostFrame>& frames) {
    for (const auto& [host, frame] : frames) fold_.Take(host, frame);
  }
  const std::vector<HostFrame>& out() const { return out_; }
  // Marks, each with how many frames had been given out.
  const std::vector<std::pair<StepFold::Mark, size_t>>& marks() const { return marks_; }
  // What was given out by stream.
  std::map<StreamKey, std::vector<v1::Frame>> ByStream() const;

 private:
  std::vector<HostFrame> out_;
  std::vector<std::pair<StepFold::Mark, size_t>> marks_;
  StepFold fold_;
};

// The frames as bytes, for comparisons.
std::vector<std::string> BytesOf(const std::vector<HostFrame>& frames);

}  // namespace plimsoll::tests
