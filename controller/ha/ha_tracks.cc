// What the instances of a drill did lately, for the pictures of its faults.
#include <algorithm>

#include "controller/ha/ha_picture.h"

namespace plimsoll {
namespace {

// Bounds what a damaged journal can make us hold.
constexpr size_t kMostTracks = 100'000;
constexpr size_t kMostLocks = 16;
constexpr size_t kMostStops = 100;
constexpr int64_t kMostTrackNs = INT64_MAX / 4;

bool IsTrackMoment(int64_t moment_ns) {
  return moment_ns >= 0 && moment_ns <= kMostTrackNs;
}

void KeepEarliest(std::optional<int64_t>& kept, int64_t at_ns) {
  if (!kept.has_value()) kept = at_ns;
}

}  // namespace

void HaWriteBins::Add(int64_t at_ns, uint64_t writes) {
  const int64_t number = at_ns / bin_ns_;
  if (!bins_.empty() && number <= bins_.back().number) {
    // Entries come in order; what does not is counted with the last.
    bins_.back().writes += writes;
    return;
  }
  bins_.push_back({number, writes});
  if (bins_.size() <= kMostBins) return;
  bin_ns_ *= 2;
  std::deque<Bin> wider;
  for (const Bin& bin : bins_) {
    if (!wider.empty() && wider.back().number == bin.number / 2) {
      wider.back().writes += bin.writes;
    } else {
      wider.push_back({bin.number / 2, bin.writes});
    }
  }
  bins_ = std::move(wider);
}

void HaWriteBins::Trim(int64_t before_ns) {
  while (!bins_.empty() && (bins_.front().number + 1) * bin_ns_ <= before_ns) bins_.pop_front();
}

void HaWriteBins::ForEach(const std::function<void(int64_t at_ns, uint64_t writes)>& take) const {
  for (const Bin& bin : bins_) take(bin.number * bin_ns_ + bin_ns_ / 2, bin.writes);
}

HaFrame JoinFrames(const HaFrame& first, const HaFrame& second) {
  const HaFrame& slower = first.slowest_ns >= second.slowest_ns ? first : second;
  return {first.from_ns,
          std::max(first.to_ns, second.to_ns),
          first.count + second.count,
          first.sum_ns + second.sum_ns,
          slower.slowest_from_ns,
          slower.slowest_ns};
}

const HaTrack* HaTracks::Find(uint32_t instance) const {
  const auto found = tracks_.find(instance);
  return found == tracks_.end() ? nullptr : &found->second;
}

HaTrack* HaTracks::Get(uint32_t host, uint32_t instance, uint32_t qm) {
  const auto found = tracks_.find(instance);
  if (found != tracks_.end()) {
    return found->second.host == host && found->second.qm == qm ? &found->second : nullptr;
  }
  if (tracks_.size() >= kMostTracks || gone_.contains(instance)) return nullptr;
  HaTrack& made = tracks_[instance];
  made.instance = instance;
  made.qm = qm;
  made.host = host;
  return &made;
}

bool HaTracks::IsHeld(uint32_t qm) const {
  return holding_ && std::find(held_qms_.begin(), held_qms_.end(), qm) != held_qms_.end();
}

void HaTracks::TakeEvents(uint32_t host, const v1::HaEvents& events) {
  for (const v1::HaLedgerEntry& entry : events.ledger()) {
    if (!IsTrackMoment(entry.last_end_ns()) || entry.last_sequence() < entry.first_sequence()) continue;
    HaTrack* const track = Get(host, entry.instance(), entry.qm());
    if (track == nullptr) continue;
    track->writes.Add(entry.last_end_ns(), entry.last_sequence() - entry.first_sequence() + 1);
    if (!IsHeld(track->qm)) track->writes.Trim(entry.last_end_ns() - kKeptNs);
  }
  for (const v1::HaEvent& event : events.events()) {
    // What it did came before; a scan is not drawn as an instance.
    if (!IsTrackMoment(event.at_ns()) || event.has_scanned()) continue;
    HaTrack* const track = Get(host, event.instance(), event.qm());
    if (track != nullptr) TakeEvent(*track, event);
  }
}

void HaTracks::TakeEvent(HaTrack& track, const v1::HaEvent& event) {
  const int64_t at_ns = event.at_ns();
  switch (event.event_case()) {
    case v1::HaEvent::kStarted:
      KeepEarliest(track.started_ns, at_ns);
      break;
    case v1::HaEvent::kLockGranted:
      if (event.lock_granted().lock() == v1::HA_LOCK_ACTIVE) KeepEarliest(track.active_ns, at_ns);
      if (track.locks.size() < kMostLocks) track.locks.push_back({event.lock_granted().lock(), at_ns});
      break;
    case v1::HaEvent::kLockFree:
      // The poller keeps the lock that it found free.
      if (track.locks.size() < kMostLocks) track.locks.push_back({v1::HA_LOCK_POLL, at_ns});
      break;
    case v1::HaEvent::kLockLost:
      KeepEarliest(track.lock_lost_ns, at_ns);
      break;
    case v1::HaEvent::kWriting:
      KeepEarliest(track.writing_ns, at_ns);
      break;
    case v1::HaEvent::kSignalled:
      if (event.signalled().signal() == v1::HaSignalled::SIGNAL_KILL) {
        KeepEarliest(track.killed_ns, at_ns);
      } else if (event.signalled().signal() == v1::HaSignalled::SIGNAL_STOP) {
        if (track.stops.size() < kMostStops) track.stops.push_back({at_ns, std::nullopt});
      } else if (!track.stops.empty()) {
        KeepEarliest(track.stops.back().to_ns, at_ns);
      }
      break;
    case v1::HaEvent::kEnded:
      KeepEarliest(track.ended_ns, at_ns);
      break;
    default:
      break;  // nothing that is drawn
  }
}

void HaTracks::TakeFrame(uint32_t host, const v1::Frame& frame) {
  // A frame's step is its instance. One that is not known has not begun to write.
  const auto found = tracks_.find(frame.step());
  HaTrack* const track = found == tracks_.end() ? nullptr : &found->second;
  if (track == nullptr || track->host != host || track->qm != frame.qm() || !track->writing_ns.has_value()) return;
  if (frame.interval_count() > (1U << 20U) || frame.first_interval() < 0) return;
  HaFrame one;
  one.from_ns = *track->writing_ns + frame.first_interval() * interval_ns_;
  one.to_ns = one.from_ns + std::max<int64_t>(frame.interval_count(), 1) * interval_ns_;
  // The closing frame is as long as its writes took.
  if (frame.closing()) one.to_ns = std::max(frame.last_end_ns(), one.from_ns);
  if (!IsTrackMoment(one.from_ns) || !IsTrackMoment(one.to_ns) || !IsTrackMoment(frame.slowest().start_ns())) return;
  one.count = frame.latency().count();
  one.sum_ns = frame.latency().sum_ns();
  one.slowest_from_ns = frame.slowest().start_ns();
  one.slowest_ns = frame.latency().max_ns();
  track->frames.push_back(one);
  if (!holding_) {
    while (track->frames.front().to_ns < one.to_ns - kKeptNs) track->frames.pop_front();
  } else if (track->frames.size() > kMostFrames) {
    std::deque<HaFrame> fewer;
    for (size_t i = 0; i < track->frames.size(); i += 2) {
      fewer.push_back(i + 1 < track->frames.size() ? JoinFrames(track->frames[i], track->frames[i + 1])
                                                   : track->frames[i]);
    }
    track->frames = std::move(fewer);
  }
}

void HaTracks::Hold(const std::vector<uint32_t>& qms) {
  holding_ = true;
  held_qms_ = qms;
}

void HaTracks::Drop() {
  holding_ = false;
  held_qms_.clear();
  std::erase_if(tracks_, [this](const auto& one) {
    const bool over = one.second.ended_ns.has_value() || one.second.left;
    if (over) gone_.insert(one.first);
    return over;
  });
  for (auto& [number, track] : tracks_) {
    while (!track.frames.empty() && track.frames.front().to_ns < track.frames.back().to_ns - kKeptNs) {
      track.frames.pop_front();
    }
    // Hangs that are over are in the pictures.
    std::erase_if(track.stops, [](const HaTrack::Stop& stop) { return stop.to_ns.has_value(); });
  }
}

void HaTracks::OnHostBack(uint32_t host) {
  for (auto& [number, track] : tracks_) track.left = track.left || track.host == host;
}

}  // namespace plimsoll
