// The picture of one fault, from what the instances did around it, and which rounds of a drill have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/analysis/timeline.h"
#include "controller/ha/ha_facts.h"
#include "controller/ha/ha_takeover.h"
#include "controller/ha/ha_tracks.h"
#include "plimsoll/v1/ha_report.pb.h"
#include "plimsoll/v1/journal.pb.h"

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

// A pure function. Sizes are bounded by the constants above; `facts` know by which clock an instance's moments are.
v1::HaPicture DrawHaPicture(const HaScene& scene, const HaTracks& tracks, const HaFacts& facts,
                            const Timeline& timeline, const std::map<uint32_t, std::string>& labels);

// Takes the records of a drill in their order, and draws a round once the next one begins or some seconds after it
// ended. Judges nothing: what contradicts itself is left out. Memory is bounded by the pictures that may be shown and
// by what HaTracks holds. Not thread-safe.
class HaPictures {
 public:
  static constexpr size_t kMost = 20;

  // Every record of the journal; `facts` and `timeline` know it and those before it.
  void Take(const v1::JournalRecord& record, const HaFacts& facts, const Timeline& timeline);

  // Once, after the last record: adds the pictures to the report, in the order of the rounds.
  void Finish(const HaFacts& facts, const Timeline& timeline, v1::HaReport& report);

 private:
  // Which pictures are shown first.
  enum class Rank { kFailed, kUndecided, kPlain };
  struct Kept {
    Rank rank = Rank::kPlain;
    v1::HaFaultKind fault = v1::HA_FAULT_KIND_UNSPECIFIED;
    int64_t gap_ns = 0;
    uint32_t round = 0;
    v1::HaPicture picture;
  };

  static bool IsBefore(const Kept& a, const Kept& b);
  void TakeOfDrill(const v1::HaRecord& record, int64_t now_ns, const HaFacts& facts);
  // Draws the round that is on or has just ended, if there is one and its picture may be shown.
  void Close(const HaFacts& facts, const Timeline& timeline);
  // Where the picture goes; null: others come before it.
  Kept* PlaceFor(const Kept& one);

  HaTracks tracks_;
  std::map<uint32_t, std::string> labels_;
  std::vector<HaScene::Away> away_;
  // The round that is on, or has just ended.
  std::optional<HaScene> scene_;
  // Of each queue manager, blocks that earlier replays found to be wrong.
  std::map<uint32_t, std::set<uint64_t>> known_;
  std::vector<Kept> kept_;
  int64_t last_ns_ = 0;
};

}  // namespace plimsoll
