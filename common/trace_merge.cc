#include "common/trace_merge.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace plimsoll {

TraceMerge::TraceMerge(std::vector<Writer> writers) : losers_(writers.size()) {
  std::sort(writers.begin(), writers.end(),
            [](const Writer& a, const Writer& b) { return std::tie(a.host, a.qm) < std::tie(b.host, b.qm); });
  for (Writer& writer : writers) lanes_.push_back({writer, {}, 0, INT64_MIN});
}

absl::Status TraceMerge::Refill(Lane& lane) {
  lane.at = 0;
  PLIMSOLL_RETURN_IF_ERROR(lane.writer.source->Next(lane.piece));
  for (const TracedWrite& write : lane.piece) {
    if (write.start_ns < lane.last_start_ns) {
      return absl::InvalidArgumentError(absl::StrCat("trace of host ", lane.writer.host, " qm ", lane.writer.qm,
                                                     " goes back from ", lane.last_start_ns, " to ", write.start_ns,
                                                     " ns"));
    }
    lane.last_start_ns = write.start_ns;
  }
  return absl::OkStatus();
}

TraceMerge::Head TraceMerge::HeadOf(size_t lane) const {
  const Lane& from = lanes_[lane];
  if (from.at == from.piece.size()) return {INT64_MAX, lane + lanes_.size()};
  return {from.piece[from.at].start_ns, lane};
}

// Plays all matches below a node; the loser stays there, the winner is returned.
TraceMerge::Head TraceMerge::Play(size_t node) {
  if (node >= lanes_.size()) return HeadOf(node - lanes_.size());
  Head a = Play(2 * node);
  Head b = Play(2 * node + 1);
  if (Before(b, a)) std::swap(a, b);
  losers_[node] = b;
  return a;
}

absl::Status TraceMerge::Begin() {
  for (Lane& lane : lanes_) PLIMSOLL_RETURN_IF_ERROR(Refill(lane));
  winner_ = Play(1);
  begun_ = true;
  return absl::OkStatus();
}

absl::Status TraceMerge::Next(size_t most, std::vector<MergedWrite>& merged) {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  if (lanes_.empty()) return absl::OkStatus();
  if (!begun_) PLIMSOLL_RETURN_IF_ERROR(failed_ = Begin());
  for (; most > 0 && winner_.rank < lanes_.size(); --most) {
    const size_t won = winner_.rank;
    Lane& lane = lanes_[won];
    merged.push_back({lane.piece[lane.at], lane.writer.host, lane.writer.qm});
    if (++lane.at == lane.piece.size()) PLIMSOLL_RETURN_IF_ERROR(failed_ = Refill(lane));
    Head head = HeadOf(won);
    for (size_t node = (won + lanes_.size()) / 2; node > 0; node /= 2) {
      if (Before(losers_[node], head)) std::swap(losers_[node], head);
    }
    winner_ = head;
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
