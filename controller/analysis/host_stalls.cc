#include "controller/analysis/host_stalls.h"

#include <algorithm>

namespace plimsoll {
namespace {

// Beside a median of so many writes a stretch of less than so many medians is not kept: the median of the whole step
// would have to be a tenth of what it is for it to be a stall.
constexpr uint64_t kWritesForMedian = 100;
constexpr int64_t kMediansKept = 2;

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

bool IsSaneStretch(int64_t begin_ns, int64_t end_ns) {
  return IsSaneMoment(begin_ns) && IsSaneMoment(end_ns) && begin_ns < end_ns;
}

// Adds a stretch that follows; one that touches the last one is part of it.
void Append(const WriterStretch& stretch, std::vector<WriterStretch>& stretches) {
  if (stretches.empty() || stretch.begin_ns > stretches.back().end_ns) {
    stretches.push_back(stretch);
    return;
  }
  stretches.back().end_ns = stretch.end_ns;
  stretches.back().in_flight_ns += stretch.in_flight_ns;
  stretches.back().open = stretch.open;
}

}  // namespace

absl::Status HostStalls::Check(const v1::Frame& frame) const {
  const auto writer = writers_.find(frame.qm());
  int64_t last_end_ns = writer == writers_.end() ? 0 : writer->second.last_end_ns;
  for (const v1::StalledStretch& stall : frame.stalls()) {
    if (!IsSaneStretch(stall.begin_ns(), stall.end_ns())) return Bad("a stall at a time that no clock shows");
    if (stall.begin_ns() < last_end_ns) return Bad("stalls of one writer that overlap");
    if (stall.in_flight_ns() < 0 || stall.in_flight_ns() > stall.end_ns() - stall.begin_ns()) {
      return Bad("a stall with a write in flight for longer than it lasts");
    }
    last_end_ns = stall.end_ns();
  }
  return absl::OkStatus();
}

void HostStalls::Take(const v1::Frame& frame, int64_t median_ns, uint64_t writes) {
  if (frame.stalls().empty()) return;
  Writer& writer = writers_[frame.qm()];
  for (const v1::StalledStretch& stall : frame.stalls()) {
    const WriterStretch stretch{stall.begin_ns(), stall.end_ns(), stall.first_seq(), stall.in_flight_ns()};
    writer.last_end_ns = stretch.end_ns;
    const bool by_median = stall_ns_ == 0;
    if (by_median && writes >= kWritesForMedian && stretch.length_ns() < kMediansKept * median_ns) {
      ++writer.not_kept;
      writer.longest_not_kept_ns = std::max(writer.longest_not_kept_ns, stretch.length_ns());
      continue;
    }
    const bool touches = !by_median && !writer.stretches.empty() && stretch.begin_ns <= writer.stretches.back().end_ns;
    if (!touches) {
      if (budget_->stretches_left == 0) {
        ++budget_->stretches_left_out;
        continue;
      }
      --budget_->stretches_left;
      writer.stretches.push_back(stretch);
    } else {
      Append(stretch, writer.stretches);
    }
  }
}

absl::Status HostStalls::AddPauses(const v1::HostSample& sample) {
  for (const v1::RecorderPause& pause : sample.pauses()) {
    if (!IsSaneStretch(pause.begin_ns(), pause.end_ns())) return Bad("a pause at a time that no clock shows");
  }
  for (const v1::RecorderPause& pause : sample.pauses()) {
    if (budget_->pauses_left == 0) {
      ++budget_->pauses_left_out;
      continue;
    }
    --budget_->pauses_left;
    pauses_.push_back({pause.begin_ns(), pause.end_ns()});
  }
  return absl::OkStatus();
}

HostStalls::Stretches HostStalls::OfWriter(uint32_t qm, int64_t threshold_ns) {
  Stretches found;
  const auto writer = writers_.find(qm);
  if (writer == writers_.end()) return found;
  for (const WriterStretch& stretch : writer->second.stretches) {
    if (stretch.length_ns() >= threshold_ns) {
      Append(stretch, found.stalls);
    } else {
      found.others.push_back(stretch);
    }
  }
  if (writer->second.longest_not_kept_ns >= threshold_ns) budget_->stretches_left_out += writer->second.not_kept;
  writer->second.not_kept = 0;
  return found;
}

}  // namespace plimsoll
