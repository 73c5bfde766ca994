#include "controller/ha/ha_picture.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/algorithm.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Ledger entries are up to 2 ms apart.
constexpr int64_t kLeastPictureBinNs = 4 * kNsPerMs;

int64_t MiddleOf(const HaMoment& moment) {
  return moment.low_ns + (moment.high_ns - moment.low_ns) / 2;
}

void AddTo(v1::HaPictureWrites& sum, uint64_t count, uint64_t sum_ns, uint64_t max_ns) {
  sum.set_count(sum.count() + count);
  sum.set_sum_ns(sum.sum_ns() + sum_ns);
  sum.set_max_ns(std::max(sum.max_ns(), max_ns));
}

class Painter {
 public:
  Painter(const HaScene& scene, const HaTracks& tracks, const HaFacts& facts, const Timeline& timeline,
          const std::map<uint32_t, std::string>& labels)
      : scene_(scene), tracks_(tracks), facts_(facts), timeline_(timeline), labels_(labels) {}

  v1::HaPicture Draw() {
    picture_.set_round(scene_.round.begin.round());
    SetTimes();
    for (const HaScene::Command& command : scene_.commands) {
      v1::HaPictureCommand& line = *picture_.add_commands();
      line.set_undo(command.undo);
      line.set_from_ns(command.from_ns - zero_ns_);
      line.set_to_ns(std::min(command.to_ns.value_or(zero_ns_ + picture_.to_ns()) - zero_ns_, picture_.to_ns()));
      line.set_failed(command.failed);
    }
    std::vector<size_t> order(scene_.judged.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto gap = [this](size_t i) {
      const v1::HaTakeoverReport& report = scene_.judged[i].report;
      return report.outcome() == v1::HA_TAKEOVER_OUTCOME_NONE ? INT64_MAX : report.gap().ns();
    };
    StableSort(order, [&](size_t a, size_t b) { return gap(a) > gap(b); });
    const size_t shown = std::min(order.size(), kMostPictureQueueManagers);
    picture_.set_queue_managers_left_out(static_cast<uint32_t>(order.size() - shown));
    order.resize(shown);
    std::sort(order.begin(), order.end());
    for (const size_t i : order) {
      AddQueueManager(scene_.judged[i], scene_.round.begin.queue_managers(static_cast<int>(i)));
    }
    AddOthers();
    return std::move(picture_);
  }

 private:
  // The middle of what is known of a moment of an instance.
  std::optional<int64_t> At(const HaTrack& track, int64_t agent_ns) const {
    const HaInstanceFacts* const facts = facts_.Find(track.instance);
    if (facts == nullptr) return std::nullopt;
    const auto moment = MomentOf(timeline_, facts->clock, agent_ns);
    if (!moment.has_value()) return std::nullopt;
    return MiddleOf(*moment);
  }
  std::optional<int64_t> At(const HaTrack& track, const std::optional<int64_t>& agent_ns) const {
    return agent_ns.has_value() ? At(track, *agent_ns) : std::nullopt;
  }
  std::string LabelOf(uint32_t host) const {
    const auto found = labels_.find(host);
    return found == labels_.end() ? absl::StrCat("host number ", host) : found->second;
  }
  const HaTrack* OldOf(const HaJudgedTakeover& judged) const { return tracks_.Find(judged.report.old_instance()); }

  // Zero, where the takeovers are over, and what is shown around the two.
  void SetTimes() {
    const HaRoundFacts& round = scene_.round;
    const bool hang = round.begin.fault() == v1::HA_FAULT_KIND_HANG;
    std::optional<int64_t> fault_ns;
    std::optional<int64_t> over_ns;
    const auto is_fault = [&](int64_t at_ns) { fault_ns = std::min(fault_ns.value_or(at_ns), at_ns); };
    const auto is_over = [&](int64_t at_ns) { over_ns = std::max(over_ns.value_or(at_ns), at_ns); };
    for (const HaJudgedTakeover& judged : scene_.judged) {
      if (judged.moments.fault.has_value()) is_fault(judged.moments.fault->low_ns);
      if (judged.moments.first_write.has_value()) is_over(judged.moments.first_write->high_ns);
      // An instance that hangs and goes on does so by signals.
      const HaTrack* const old = OldOf(judged);
      if (!hang || old == nullptr || old->stops.empty()) continue;
      if (const auto stopped = At(*old, old->stops.back().from_ns); stopped.has_value()) is_fault(*stopped);
      if (const auto resumed = At(*old, old->stops.back().to_ns); resumed.has_value()) is_over(*resumed);
    }
    zero_ns_ = fault_ns.value_or(round.begin_ns);
    // Without a takeover, the round's end: so long it was waited for.
    over_ns_ = over_ns.value_or(round.end.has_value() ? round.end_ns : scene_.known_until_ns);
    over_ns_ = std::max(over_ns_, zero_ns_ + kNsPerMs);
    // What the old active instances did after it is shown where it is not far away.
    const int64_t far_ns = over_ns_ + 2 * (over_ns_ - zero_ns_) + 2 * kNsPerSecond;
    int64_t end_ns = over_ns_;
    for (const HaJudgedTakeover& judged : scene_.judged) {
      const HaTrack* const old = OldOf(judged);
      if (old == nullptr || hang) continue;
      std::optional<int64_t> last_ns = old->ended_ns;
      old->writes.ForEach([&](int64_t at_ns, uint64_t) { last_ns = std::max(last_ns.value_or(at_ns), at_ns); });
      const auto last = At(*old, last_ns);
      if (last.has_value() && *last < far_ns) end_ns = std::max(end_ns, *last);
    }
    const int64_t around_ns = std::max((end_ns - zero_ns_) * 3 / 10, kLeastAroundPictureNs);
    const int64_t to_ns = std::min(end_ns + std::min(around_ns, kMostAfterPictureNs), scene_.known_until_ns);
    picture_.set_from_ns(-std::min(around_ns, kMostBeforePictureNs));
    picture_.set_to_ns(std::max(to_ns, over_ns_) - zero_ns_);
    const int64_t length_ns = picture_.to_ns() - picture_.from_ns();
    picture_.set_bin_ns(std::max(kLeastPictureBinNs, (length_ns + kMostPictureBins - 1) / kMostPictureBins));
    picture_.set_frame_ns(tracks_.frame_interval_ns());
    *picture_.mutable_zero() = timeline_.ToUtc(zero_ns_);
  }

  void AddQueueManager(const HaJudgedTakeover& judged, const v1::HaRoundQueueManager& qm) {
    v1::HaPictureQueueManager& line = *picture_.add_queue_managers();
    line.set_qm(qm.qm());
    const HaTakeoverMoments& known = judged.moments;
    const auto relative = [this](const HaMoment& moment) { return MiddleOf(moment) - zero_ns_; };
    if (known.last_write.has_value()) line.set_last_write_ns(relative(*known.last_write));
    if (known.fault.has_value()) {
      line.set_fault_ns(known.fault->low_ns - zero_ns_);
      line.set_fault_until_ns(known.fault->high_ns - zero_ns_);
    }
    if (known.free.has_value()) line.set_free_ns(relative(*known.free));
    if (known.granted.has_value()) line.set_granted_ns(relative(*known.granted));
    if (known.replayed.has_value()) line.set_replayed_ns(relative(*known.replayed));
    if (known.first_write.has_value()) line.set_first_write_ns(relative(*known.first_write));
    std::vector<uint32_t> hosts;
    for (const uint32_t instance : {qm.active(), qm.standby()}) {
      const HaTrack* const track = tracks_.Find(instance);
      if (track == nullptr || std::find(hosts.begin(), hosts.end(), track->host) != hosts.end()) continue;
      hosts.push_back(track->host);
      v1::HaPictureLane& lane = *line.add_lanes();
      lane.set_host(LabelOf(track->host));
      const int64_t length_ns = picture_.to_ns() - picture_.from_ns();
      const int64_t bins = (length_ns + picture_.bin_ns() - 1) / picture_.bin_ns();
      lane.mutable_writes()->Resize(static_cast<int>(bins), 0);
      for (const auto& [number, one] : tracks_.tracks()) {
        if (one.qm == qm.qm() && one.host == track->host) AddInstance(one, lane);
      }
      if (const auto error = timeline_.ErrorAt(track->host, zero_ns_); error.has_value()) {
        picture_.set_error_ns(std::max(picture_.error_ns(), *error));
      }
    }
  }

  // Until when it is known to have run, and until when it may have; relative to zero.
  struct Life {
    int64_t known_until_ns = 0;
    int64_t until_ns = 0;
  };
  Life LifeOf(const HaTrack& track) const {
    const int64_t end_ns = picture_.to_ns();
    if (const auto ended = At(track, track.ended_ns); ended.has_value()) {
      return {*ended - zero_ns_, *ended - zero_ns_};
    }
    for (const HaScene::Away& away : scene_.away) {
      if (away.host != track.host) continue;
      // A new session's instances are others.
      const int64_t back_ns = track.left && away.to_ns.has_value() ? *away.to_ns - zero_ns_ : end_ns;
      if (track.left || !away.to_ns.has_value()) return {away.from_ns - zero_ns_, back_ns};
    }
    return {end_ns, end_ns};
  }

  void AddInstance(const HaTrack& track, v1::HaPictureLane& lane) const {
    const auto relative = [&](const std::optional<int64_t>& agent_ns) -> std::optional<int64_t> {
      const auto at_ns = At(track, agent_ns);
      if (!at_ns.has_value()) return std::nullopt;
      return *at_ns - zero_ns_;
    };
    const Life life = LifeOf(track);
    const auto add_state = [&](v1::HaPictureState::State state, int64_t from_ns, int64_t to_ns) {
      from_ns = std::max(from_ns, picture_.from_ns());
      to_ns = std::min({to_ns, picture_.to_ns(), life.until_ns});
      if (from_ns >= to_ns) return;
      v1::HaPictureState& line = *lane.add_states();
      line.set_instance(track.instance);
      line.set_state(state);
      line.set_from_ns(from_ns);
      line.set_to_ns(to_ns);
    };
    const int64_t killed_ns = relative(track.killed_ns).value_or(life.known_until_ns);
    const int64_t end_ns = std::min(killed_ns, life.known_until_ns);
    const int64_t started_ns = relative(track.started_ns).value_or(picture_.from_ns());
    const int64_t active_ns = std::min(relative(track.active_ns).value_or(end_ns), end_ns);
    const int64_t writing_ns = std::min(relative(track.writing_ns).value_or(end_ns), end_ns);
    add_state(v1::HaPictureState::STATE_STANDBY, started_ns, active_ns);
    add_state(v1::HaPictureState::STATE_REPLAYING, active_ns, writing_ns);
    add_state(v1::HaPictureState::STATE_ACTIVE, writing_ns, end_ns);
    if (life.until_ns > life.known_until_ns) {
      add_state(v1::HaPictureState::STATE_UNKNOWN, std::max(life.known_until_ns, started_ns), life.until_ns);
    }
    for (const HaTrack::Stop& stop : track.stops) {
      add_state(v1::HaPictureState::STATE_STOPPED, relative(stop.from_ns).value_or(end_ns),
                relative(stop.to_ns).value_or(picture_.to_ns()));
    }
    for (const HaTrack::Lock& lock : track.locks) {
      int64_t until_ns = std::min(life.known_until_ns, picture_.to_ns());
      if (const auto lost = relative(track.lock_lost_ns); lost.has_value()) until_ns = std::min(until_ns, *lost);
      // An instance that has `active` gives `standby` up for the next one.
      if (lock.lock == v1::HA_LOCK_STANDBY) until_ns = std::min(until_ns, active_ns);
      const int64_t from_ns = std::max(relative(lock.granted_ns).value_or(until_ns), picture_.from_ns());
      if (from_ns >= until_ns) continue;
      v1::HaPictureLock& line = *lane.add_locks();
      line.set_instance(track.instance);
      line.set_lock(lock.lock);
      line.set_from_ns(from_ns);
      line.set_to_ns(until_ns);
    }
    track.writes.ForEach([&](int64_t agent_ns, uint64_t writes) {
      const auto at_ns = relative(agent_ns);
      if (!at_ns.has_value() || *at_ns < picture_.from_ns() || *at_ns >= picture_.to_ns()) return;
      const auto bin = static_cast<int>((*at_ns - picture_.from_ns()) / picture_.bin_ns());
      const uint64_t sum = lane.writes(bin) + writes;
      lane.set_writes(bin, static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX)));
    });
  }

  // The queue managers of the pairs that the fault was not meant for.
  void AddOthers() {
    std::map<uint32_t, v1::HaPictureOther> others;
    for (const auto& [number, track] : tracks_.tracks()) {
      const auto is_struck = [&](const v1::HaRoundQueueManager& qm) { return qm.qm() == track.qm; };
      const auto& struck = scene_.round.begin.queue_managers();
      if (track.frames.empty() || std::any_of(struck.begin(), struck.end(), is_struck)) continue;
      v1::HaPictureOther& other = others[track.qm];
      other.set_qm(track.qm);
      other.set_host(LabelOf(track.host));
      // There even where no frame came in that time.
      other.mutable_before();
      other.mutable_during();
      AddFrames(track, other);
    }
    v1::HaPictureWrites& before = *picture_.mutable_others_before();
    v1::HaPictureWrites& during = *picture_.mutable_others_during();
    std::vector<v1::HaPictureOther> slowest_first;
    for (auto& [qm, other] : others) {
      if (other.frames().empty()) continue;
      AddTo(before, other.before().count(), other.before().sum_ns(), other.before().max_ns());
      AddTo(during, other.during().count(), other.during().sum_ns(), other.during().max_ns());
      slowest_first.push_back(std::move(other));
    }
    StableSort(slowest_first, [](const v1::HaPictureOther& a, const v1::HaPictureOther& b) {
      return a.during().max_ns() > b.during().max_ns();
    });
    const size_t shown = std::min(slowest_first.size(), kMostPictureOthers);
    picture_.set_others_left_out(static_cast<uint32_t>(slowest_first.size() - shown));
    slowest_first.resize(shown);
    std::sort(slowest_first.begin(), slowest_first.end(),
              [](const v1::HaPictureOther& a, const v1::HaPictureOther& b) { return a.qm() < b.qm(); });
    for (v1::HaPictureOther& other : slowest_first) *picture_.add_others() = std::move(other);
  }

  void AddFrames(const HaTrack& track, v1::HaPictureOther& other) const {
    std::vector<HaFrame> frames;
    for (HaFrame frame : track.frames) {
      const auto from = At(track, frame.from_ns);
      const auto to = At(track, frame.to_ns);
      const auto slowest = At(track, frame.slowest_from_ns);
      if (!from.has_value() || !to.has_value()) continue;
      frame.from_ns = *from - zero_ns_;
      frame.to_ns = *to - zero_ns_;
      frame.slowest_from_ns = frame.count > 0 && slowest.has_value() ? *slowest - zero_ns_ : frame.from_ns;
      if (frame.to_ns <= picture_.from_ns() || frame.from_ns >= picture_.to_ns()) continue;
      if (frame.to_ns <= 0) {
        AddTo(*other.mutable_before(), frame.count, frame.sum_ns, frame.slowest_ns);
      } else if (frame.from_ns < over_ns_ - zero_ns_) {
        AddTo(*other.mutable_during(), frame.count, frame.sum_ns, frame.slowest_ns);
      }
      frames.push_back(frame);
    }
    while (frames.size() > kMostPictureFrames) {
      std::vector<HaFrame> fewer;
      for (size_t i = 0; i < frames.size(); i += 2) {
        fewer.push_back(i + 1 < frames.size() ? JoinFrames(frames[i], frames[i + 1]) : frames[i]);
      }
      frames = std::move(fewer);
    }
    for (const HaFrame& frame : frames) {
      v1::HaPictureFrame& line = *other.add_frames();
      line.set_from_ns(frame.from_ns);
      line.set_to_ns(frame.to_ns);
      line.set_count(frame.count);
      line.set_sum_ns(frame.sum_ns);
      line.set_slowest_from_ns(frame.slowest_from_ns);
      line.set_slowest_ns(frame.slowest_ns);
    }
  }

  const HaScene& scene_;
  const HaTracks& tracks_;
  const HaFacts& facts_;
  const Timeline& timeline_;
  const std::map<uint32_t, std::string>& labels_;
  int64_t zero_ns_ = 0;
  // When the last queue manager of the round wrote again, or the round ended.
  int64_t over_ns_ = 0;
  v1::HaPicture picture_;
};

// After a round has ended its instances are watched for so long, or until the next fault.
constexpr int64_t kWatchNs = kMostAfterPictureNs + kNsPerSecond;
// Bound what a damaged journal can make us hold.
constexpr size_t kMostPictureCommands = 8;
constexpr size_t kMostPictureAways = 1'000;

}  // namespace

v1::HaPicture DrawHaPicture(const HaScene& scene, const HaTracks& tracks, const HaFacts& facts,
                            const Timeline& timeline, const std::map<uint32_t, std::string>& labels) {
  return Painter(scene, tracks, facts, timeline, labels).Draw();
}

void HaPictures::Take(const v1::JournalRecord& record, const HaFacts& facts) {
  const int64_t now_ns = record.time_ns();
  if (scene_.has_value() && scene_->round.end.has_value() && now_ns > scene_->round.end_ns + kWatchNs) EndWatch();
  last_ns_ = std::max(last_ns_, now_ns);
  switch (record.record_case()) {
    case v1::JournalRecord::kRunBegin: {
      const int64_t interval_ns = record.run_begin().frame_interval_ns();
      if (interval_ns >= kNsPerMs && interval_ns <= kNsPerSecond) tracks_.SetFrameInterval(interval_ns);
      return;
    }
    case v1::JournalRecord::kHostJoined:
      labels_.emplace(record.host_joined().host(), record.host_joined().label());
      return;
    case v1::JournalRecord::kFrames:
      for (const v1::Frame& frame : record.frames().frames()) tracks_.TakeFrame(record.frames().host(), frame);
      return;
    case v1::JournalRecord::kHa:
      return TakeOfDrill(record.ha(), now_ns, facts);
    default:
      return;
  }
}

void HaPictures::TakeOfDrill(const v1::HaRecord& record, int64_t now_ns, const HaFacts& facts) {
  switch (record.record_case()) {
    case v1::HaRecord::kEvents:
      return tracks_.TakeEvents(record.events().host(), record.events().events());
    case v1::HaRecord::kRoundBegin: {
      // A round that the facts refused has no picture.
      if (scene_.has_value() || facts.rounds().empty() ||
          facts.rounds().back().begin.round() != record.round_begin().round())
        return;
      scene_.emplace();
      scene_->round = facts.rounds().back();
      std::vector<uint32_t> qms;
      for (const v1::HaRoundQueueManager& qm : record.round_begin().queue_managers()) qms.push_back(qm.qm());
      return tracks_.Hold(qms);
    }
    case v1::HaRecord::kFaultCommand:
      if (scene_.has_value() && scene_->commands.size() < kMostPictureCommands) {
        scene_->commands.push_back({record.fault_command().undo(), now_ns, std::nullopt, false});
      }
      return;
    case v1::HaRecord::kFaultCommandDone:
      if (scene_.has_value() && !scene_->commands.empty()) {
        scene_->commands.back().to_ns = now_ns;
        scene_->commands.back().failed = !record.fault_command_done().error().empty();
      }
      return;
    case v1::HaRecord::kHostAway: {
      // Its last message came before the record.
      const int64_t last_message_ns = record.host_away().last_heard_ns();
      if (away_.size() < kMostPictureAways) {
        away_.push_back({record.host_away().host(), last_message_ns > 0 ? std::min(last_message_ns, now_ns) : now_ns,
                         std::nullopt});
      }
      return;
    }
    case v1::HaRecord::kHostBack:
      for (HaScene::Away& away : away_) {
        if (away.host == record.host_back().host() && !away.to_ns.has_value()) away.to_ns = now_ns;
      }
      return tracks_.OnHostBack(record.host_back().host());
    case v1::HaRecord::kRoundEnd:
      if (scene_.has_value() && !facts.rounds().empty()) scene_->round = facts.rounds().back();
      return;
    default:
      return;
  }
}

bool HaPictures::IsBefore(const Kept& a, const Kept& b) {
  return std::tuple(a.rank, -a.gap_ns, a.round) < std::tuple(b.rank, -b.gap_ns, b.round);
}

HaPictures::Kept* HaPictures::PlaceFor(const Kept& one) {
  // For each kind of fault as many are kept as may be shown of all.
  size_t count = 0;
  Kept* last = nullptr;
  for (Kept& other : kept_) {
    if (other.fault != one.fault) continue;
    ++count;
    if (last == nullptr || IsBefore(*last, other)) last = &other;
  }
  if (count < kMost) return &kept_.emplace_back();
  return IsBefore(one, *last) ? last : nullptr;
}

HaPictures::Rank HaPictures::RankOf(const v1::HaRoundReport& round) {
  const auto failed = [](const v1::HaTakeoverReport& one) {
    const v1::HaFindings& found = one.findings();
    return found.lost() + found.order_broken() + found.split_brain() + found.late_writers() + found.not_released() +
                   found.released_late() >
               0 ||
           one.outcome() == v1::HA_TAKEOVER_OUTCOME_UNWANTED;
  };
  if (std::any_of(round.takeovers().begin(), round.takeovers().end(), failed)) return Rank::kFailed;
  return round.reasons().empty() ? Rank::kPlain : Rank::kUndecided;
}

void HaPictures::EndWatch() {
  if (scene_->tracks.has_value()) return;
  scene_->known_until_ns = last_ns_;
  scene_->away = away_;
  scene_->tracks = tracks_;
  tracks_.Drop();
  std::erase_if(away_, [](const HaScene::Away& away) { return away.to_ns.has_value(); });
}

void HaPictures::Close(const HaRoundFacts& round, const HaJudgedRound& judged, const HaFacts& facts,
                       const Timeline& timeline) {
  if (!scene_.has_value()) return;
  EndWatch();
  scene_->round = round;
  scene_->judged = judged.takeovers;
  Kept one;
  one.fault = round.begin.fault();
  one.round = round.begin.round();
  one.rank = RankOf(judged.report);
  for (const v1::HaTakeoverReport& takeover : judged.report.takeovers()) {
    one.gap_ns = std::max(one.gap_ns, takeover.gap().ns());
  }
  if (Kept* const place = PlaceFor(one); place != nullptr) {
    one.picture = DrawHaPicture(*scene_, *scene_->tracks, facts, timeline, labels_);
    *place = std::move(one);
  }
  scene_.reset();
}

void HaPictures::Finish(v1::HaReport& report) {
  // What the logs showed after the drill counts for the round in which it happened.
  std::map<uint32_t, Rank> ranks;
  for (const v1::HaRoundReport& round : report.rounds()) ranks[round.number()] = RankOf(round);
  for (Kept& one : kept_) one.rank = ranks[one.round];
  std::sort(kept_.begin(), kept_.end(), IsBefore);
  // Rounds that failed or prove nothing, the longest gap of each kind of fault, then the longest gaps.
  std::set<v1::HaFaultKind> seen;
  std::set<uint32_t> first;
  for (const Kept& one : kept_) {
    if (seen.insert(one.fault).second || one.rank != Rank::kPlain) first.insert(one.round);
  }
  StableSort(kept_,
             [&first](const Kept& a, const Kept& b) { return first.contains(a.round) && !first.contains(b.round); });
  kept_.resize(std::min(kept_.size(), kMost));
  std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.round < b.round; });
  for (Kept& one : kept_) *report.add_pictures() = std::move(one.picture);
  kept_.clear();
}

}  // namespace plimsoll
