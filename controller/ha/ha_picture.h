// The picture of one fault, from what the instances did around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/analysis/timeline.h"
#include "controller/ha/ha_facts.h"
#include "controller/ha/ha_takeover.h"
#include "controller/ha/ha_tracks.h"
#include "plimsoll/v1/ha_report.pb.h"

namespace plimsoll {

inline constexpr size_t kMostPictureQueueManagers = 4;
inline constexpr size_t kMostPictureOthers = 8;
inline constexpr size_t kMostPictureFrames = 100;
inline constexpr int64_t kMostPictureBins = 240;
// What is shown before the fault and after the end is a part of the time between them, within these.
inline constexpr int64_t kLeastAroundPictureNs = 300'000'000;
inline constexpr int64_t kMostBeforePictureNs = HaTracks::kKeptNs;
inline constexpr int64_t kMostAfterPictureNs = 5'000'000'000;

// What a picture is made from. Moments are of the timeline.
struct HaScene {
  struct Command {
    bool undo = false;
    int64_t from_ns = 0;
    std::optional<int64_t> to_ns;
    bool failed = false;
  };
  // Contact with a host was lost.
  struct Away {
    uint32_t host = 0;
    int64_t from_ns = 0;
    std::optional<int64_t> to_ns;
  };
  HaRoundFacts round;
  std::vector<Command> commands;
  // Of each queue manager of the round, in its order.
  std::vector<HaJudgedTakeover> judged;
  std::vector<Away> away;
  // Nothing is known of what came later.
  int64_t known_until_ns = 0;
};

// A pure function. Sizes are bounded by the constants above; `facts` say by which clock an instance's moments are.
v1::HaPicture DrawHaPicture(const HaScene& scene, const HaTracks& tracks, const HaFacts& facts,
                            const Timeline& timeline, const std::map<uint32_t, std::string>& labels);

}  // namespace plimsoll
