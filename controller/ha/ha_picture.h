// The picture of one fault, from what the instances did around it, and which rounds of a drill have one. What the
// instances did lately (events, writes by time, frames) is kept for the pictures alone (ha_tracks.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/ha/ha_facts.h"
#include "controller/ha/ha_takeover.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/ha.pb.h"
#include "plimsoll/v1/ha_report.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// How many writes completed when, in bins of equal length, those without a write left out. Beyond kMostBins two
// neighbouring bins become one. Moments are of one host's clock.
class HaWriteBins {
 public:
  static constexpr size_t kMostBins = 8'192;
  static constexpr int64_t kLeastBinNs = 2'000'000;

  void Add(int64_t at_ns, uint64_t writes);
  // Forgets what ended before this.
  void Trim(int64_t before_ns);
  // The middle of each bin with a write, rising.
  void ForEach(const std::function<void(int64_t at_ns, uint64_t writes)>& take) const;
  int64_t bin_ns() const { return bin_ns_; }
  size_t size() const { return bins_.size(); }

 private:
  struct Bin {
    int64_t number = 0;
    uint64_t writes = 0;
  };
  int64_t bin_ns_ = kLeastBinNs;
  std::deque<Bin> bins_;
};

// One frame of an instance, or several neighbouring ones.
struct HaFrame {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  int64_t slowest_from_ns = 0;
  uint64_t slowest_ns = 0;
};

// One frame for the time and the writes of both.
HaFrame JoinFrames(const HaFrame& first, const HaFrame& second);

// One instance. Moments are of its host's clock.
struct HaTrack {
  uint32_t instance = 0;
  uint32_t qm = 0;
  uint32_t host = 0;
  std::optional<int64_t> started_ns;
  std::optional<int64_t> active_ns;  // the lock `active` was granted
  std::optional<int64_t> writing_ns;
  std::optional<int64_t> killed_ns;
  std::optional<int64_t> lock_lost_ns;
  std::optional<int64_t> ended_ns;
  // Its host was away and is back in a new session: it has ended, but when is not known.
  bool left = false;
  struct Lock {
    v1::HaLock lock = v1::HA_LOCK_UNSPECIFIED;
    int64_t granted_ns = 0;
  };
  std::vector<Lock> locks;
  struct Stop {
    int64_t from_ns = 0;
    std::optional<int64_t> to_ns;
  };
  std::vector<Stop> stops;
  HaWriteBins writes;
  std::deque<HaFrame> frames;
};

// Keeps the last seconds of each instance, and everything since `Hold` of those that it names. Memory grows with the
// instances that run, not with time. What no instance can have sent is left out. Not thread-safe.
class HaTracks {
 public:
  static constexpr int64_t kKeptNs = 3'000'000'000;
  static constexpr size_t kMostFrames = 1'024;

  void SetFrameInterval(int64_t interval_ns) { interval_ns_ = interval_ns; }
  int64_t frame_interval_ns() const { return interval_ns_; }

  void TakeEvents(uint32_t host, const v1::HaEvents& events);
  void TakeFrame(uint32_t host, const v1::Frame& frame);

  // From now on nothing is forgotten of the queue managers' writes, nor of any frame, until Drop.
  void Hold(const std::vector<uint32_t>& qms);
  // Forgets what is older than kKeptNs again, and the instances that have ended.
  void Drop();
  // A new session of the host has begun: the instances of the one before have ended.
  void OnHostBack(uint32_t host);

  const std::map<uint32_t, HaTrack>& tracks() const { return tracks_; }
  const HaTrack* Find(uint32_t instance) const;

 private:
  HaTrack* Get(uint32_t host, uint32_t instance, uint32_t qm);
  bool IsHeld(uint32_t qm) const;
  void TakeEvent(HaTrack& track, const v1::HaEvent& event);

  int64_t interval_ns_ = 250'000'000;
  bool holding_ = false;
  std::vector<uint32_t> held_qms_;
  std::map<uint32_t, HaTrack> tracks_;
  // Instances that were forgotten: what still comes of them makes no new ones.
  std::set<uint32_t> gone_;
};

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
  // Judged takeover of each queue manager of the round, in the round's order.
  std::vector<HaJudgedTakeover> judged;
  std::vector<Away> away;
  // What its instances did, where the round's judgement came later than what may be shown.
  std::optional<HaTracks> tracks;
  // Nothing is known of what came later.
  int64_t known_until_ns = 0;
};

// A pure function. Sizes are bounded by the constants above; `facts` know by which clock an instance's moments are.
v1::HaPicture DrawHaPicture(const HaScene& scene, const HaTracks& tracks, const HaFacts& facts,
                            const Timeline& timeline, const std::map<uint32_t, std::string>& labels);

// Takes the records of a drill in their order, and draws a round when it is judged. Judges nothing: what contradicts
// itself is left out. Memory is bounded by the pictures that may be shown and by what HaTracks holds. Not thread-safe.
class HaPictures {
 public:
  static constexpr size_t kMost = 20;

  // Every record of the journal; `facts` knows it and those before it.
  void Take(const v1::JournalRecord& record, const HaFacts& facts);

  // Draws the round that is on or has just ended, if its picture may be shown: before the first record after the one
  // by which it was judged.
  void Close(const HaRoundFacts& round, const HaJudgedRound& judged, const HaFacts& facts, const Timeline& timeline);

  // Once, after the last record, with the report's rounds: adds the pictures to it, in the order of the rounds.
  void Finish(v1::HaReport& report);

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
  static Rank RankOf(const v1::HaRoundReport& round);
  void TakeOfDrill(const v1::HaRecord& record, int64_t now_ns, const HaFacts& facts);
  // What the instances did until now is all that is shown of the round.
  void EndWatch();
  // Where the picture goes; null: others come before it.
  Kept* PlaceFor(const Kept& one);

  HaTracks tracks_;
  std::map<uint32_t, std::string> labels_;
  std::vector<HaScene::Away> away_;
  // The round that is on, or has just ended.
  std::optional<HaScene> scene_;
  std::vector<Kept> kept_;
  int64_t last_ns_ = 0;
};

}  // namespace plimsoll
