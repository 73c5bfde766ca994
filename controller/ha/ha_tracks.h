// What the instances of a drill did lately, for the pictures of its faults: events, writes by time, and frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/ha.pb.h"
#include "plimsoll/v1/ha_report.pb.h"

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

// Both as one.
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
  // Its host was away and is back in a new session: it has ended, nobody knows when.
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

}  // namespace plimsoll
