#include "controller/ha/ha_pictures.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/stable_sort.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// After a round has ended its instances are watched for so long, or until the next fault.
constexpr int64_t kWatchNs = kMostAfterPictureNs + kNsPerSecond;
// Bound what a damaged journal can make us hold.
constexpr size_t kMostPictureCommands = 8;
constexpr size_t kMostPictureAways = 1'000;

bool HasFailed(const v1::HaTakeoverReport& report) {
  const v1::HaFindings& found = report.findings();
  return found.lost() > 0 || found.order_broken() > 0 || report.outcome() == v1::HA_TAKEOVER_OUTCOME_NONE ||
         report.outcome() == v1::HA_TAKEOVER_OUTCOME_UNWANTED;
}

}  // namespace

void HaPictures::Take(const v1::JournalRecord& record, const HaFacts& facts, const Timeline& timeline) {
  const int64_t now_ns = record.time_ns();
  if (scene_.has_value() && scene_->round.end.has_value() && now_ns > scene_->round.end_ns + kWatchNs) {
    Close(facts, timeline);
  }
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
      if (record.ha().has_round_begin()) Close(facts, timeline);
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
      // One that the facts refused has no picture.
      if (facts.rounds().empty() || facts.rounds().back().begin.round() != record.round_begin().round()) return;
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
      // What was last heard of it lies before the record.
      const int64_t heard_ns = record.host_away().last_heard_ns();
      if (away_.size() < kMostPictureAways) {
        away_.push_back({record.host_away().host(), heard_ns > 0 ? std::min(heard_ns, now_ns) : now_ns, std::nullopt});
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
  // Of each kind of fault as many are kept as may be shown of all.
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

void HaPictures::Close(const HaFacts& facts, const Timeline& timeline) {
  if (!scene_.has_value()) return;
  const std::vector<HaRoundFacts>& rounds = facts.rounds();
  const auto round = std::find_if(rounds.rbegin(), rounds.rend(), [this](const HaRoundFacts& other) {
    return other.begin.round() == scene_->round.begin.round();
  });
  if (round != rounds.rend()) scene_->round = *round;
  Kept one;
  one.fault = scene_->round.begin.fault();
  one.round = scene_->round.begin.round();
  const auto worsen = [&one](Rank rank) { one.rank = std::min(one.rank, rank); };
  if (!scene_->round.end.has_value() || !scene_->round.end->cut_short().empty()) worsen(Rank::kUndecided);
  if (!scene_->round.command_errors.empty()) worsen(Rank::kUndecided);
  for (const v1::HaRoundQueueManager& qm : scene_->round.begin.queue_managers()) {
    HaJudgedTakeover judged = JudgeTakeover(timeline, facts, scene_->round, qm, 0, known_[qm.qm()]);
    const HaInstanceFacts* const old = facts.Find(qm.active());
    const HaInstanceFacts* const next = facts.Find(qm.standby());
    if (old != nullptr && next != nullptr && judged.report.new_instance() != 0) {
      const HaSuccession succession = JudgeSuccession(timeline, facts, *old, *next);
      if (succession.both_held || succession.late_writer) worsen(Rank::kFailed);
      if (!succession.unknown.empty()) worsen(Rank::kUndecided);
    }
    if (HasFailed(judged.report)) worsen(Rank::kFailed);
    if (!judged.reasons.empty()) worsen(Rank::kUndecided);
    one.gap_ns = std::max(one.gap_ns, judged.report.gap().ns());
    scene_->judged.push_back(std::move(judged));
  }
  if (Kept* const place = PlaceFor(one); place != nullptr) {
    scene_->known_until_ns = last_ns_;
    scene_->away = away_;
    one.picture = DrawHaPicture(*scene_, tracks_, facts, timeline, labels_);
    *place = std::move(one);
  }
  scene_.reset();
  tracks_.Drop();
  std::erase_if(away_, [](const HaScene::Away& away) { return away.to_ns.has_value(); });
}

void HaPictures::Finish(const HaFacts& facts, const Timeline& timeline, v1::HaReport& report) {
  Close(facts, timeline);
  std::sort(kept_.begin(), kept_.end(), IsBefore);
  // Those that failed or prove nothing, the longest gap of each kind of fault, then the longest gaps.
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
