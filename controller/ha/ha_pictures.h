// Which rounds of a drill have a picture, and what it is made from.
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
#include "controller/ha/ha_picture.h"
#include "controller/ha/ha_tracks.h"
#include "plimsoll/v1/ha_report.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

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
