#include "controller/analysis/host_stalls.h"

#include <algorithm>
#include <cstddef>

#include "common/status_macros.h"

namespace plimsoll {

CoveredTime::CoveredTime(std::vector<TimeStretch> stretches) {
  std::sort(stretches.begin(), stretches.end(),
            [](const TimeStretch& a, const TimeStretch& b) { return a.begin_ns < b.begin_ns; });
  for (const TimeStretch& stretch : stretches) {
    if (stretch.end_ns <= stretch.begin_ns) continue;
    if (!stretches_.empty() && stretch.begin_ns <= stretches_.back().end_ns) {
      stretches_.back().end_ns = std::max(stretches_.back().end_ns, stretch.end_ns);
    } else {
      stretches_.push_back(stretch);
    }
  }
  int64_t sum_ns = 0;
  for (const TimeStretch& stretch : stretches_) {
    before_ns_.push_back(sum_ns);
    sum_ns += stretch.end_ns - stretch.begin_ns;
  }
}

int64_t CoveredTime::Before(int64_t moment_ns) const {
  const auto next = std::partition_point(stretches_.begin(), stretches_.end(), [moment_ns](const TimeStretch& stretch) {
    return stretch.begin_ns < moment_ns;
  });
  if (next == stretches_.begin()) return 0;
  const auto last = static_cast<size_t>(next - stretches_.begin()) - 1;
  return before_ns_[last] + std::min(moment_ns, stretches_[last].end_ns) - stretches_[last].begin_ns;
}

int64_t CoveredTime::Within(int64_t from_ns, int64_t to_ns) const {
  return from_ns < to_ns ? Before(to_ns) - Before(from_ns) : 0;
}

void ServiceGaps::Take(const v1::Frame& frame) {
  const v1::Distribution& latency = frame.latency();
  const int64_t first_start_ns = frame.first_start_ns();
  const int64_t last_end_ns = frame.last_end_ns();
  if (latency.count() == 0 || first_start_ns <= 0 || first_start_ns < last_end_ns_ || last_end_ns < first_start_ns) {
    return;
  }
  const int64_t span_ns = last_end_ns - first_start_ns;
  const auto sum_ns = static_cast<int64_t>(std::min<uint64_t>(latency.sum_ns(), INT64_MAX));
  if (sum_ns > span_ns) return;
  // Neither is longer than the sum.
  const auto longest_ns = static_cast<int64_t>(std::min<uint64_t>(latency.max_ns(), static_cast<uint64_t>(sum_ns)));
  // Of a single write everything is known; else the bounds are those of the longest one.
  const bool single = latency.count() == 1;
  const int64_t first_end_ns = single ? last_end_ns : first_start_ns + longest_ns;
  if (last_end_ns_ == 0) {
    first_end_ns_ = first_end_ns;
  } else {
    // From the start of the last write before to the end of the first one here.
    Keep(last_start_ns_, first_end_ns, first_end_ns - last_start_ns_);
  }
  if (!single) {
    // From the start of one write to the end of the next: at most two writes, and all time between writes.
    const int64_t idle_ns = span_ns - sum_ns;
    Keep(first_start_ns, last_end_ns, std::min(2 * longest_ns, sum_ns) + idle_ns);
  }
  last_start_ns_ = single ? first_start_ns : last_end_ns - longest_ns;
  last_end_ns_ = last_end_ns;
}

void ServiceGaps::Keep(int64_t begin_ns, int64_t end_ns, int64_t longest_ns) {
  if (longest_ns < least_ns_) return;
  while (gaps_.size() >= kMostGaps) {
    least_ns_ *= 2;
    std::erase_if(gaps_, [this](const ServiceGap& gap) { return gap.longest_ns < least_ns_; });
  }
  if (longest_ns >= least_ns_) gaps_.push_back({begin_ns, end_ns, longest_ns});
}

namespace {

// Beside a median of so many writes a stretch of less than three halves of it is not kept for itself: for it not to be
// usual in the end the median of the whole step would have to be a quarter less, and a tenth of what it is for it to be
// a stall by medians.
constexpr uint64_t kWritesForMedian = 100;

bool IsHardlyUnusual(const WriterStretch& stretch, int64_t median_ns, uint64_t writes) {
  return writes >= kWritesForMedian && stretch.length_ns() < median_ns + median_ns / 2;
}

// A count that others only claim is not added beyond this.
constexpr uint64_t kMostLeftOut = uint64_t{1} << 62;

// Spans of time with omitted stall intervals that are kept separately for a host; the others are merged.
constexpr size_t kMostLeftOutSpans = 1'000;

// How many lengths of missing stretches are told apart.
constexpr size_t kMostMissing = 100;

bool IsSaneStretch(int64_t begin_ns, int64_t end_ns) {
  return IsSaneMoment(begin_ns) && IsSaneMoment(end_ns) && begin_ns < end_ns;
}

WriterStretch FromProto(const v1::StalledStretch& told) {
  WriterStretch stretch;
  stretch.begin_ns = told.begin_ns();
  stretch.end_ns = told.end_ns();
  stretch.first_seq = told.first_seq();
  stretch.in_flight_ns = told.in_flight_ns();
  stretch.writes = told.writes();
  stretch.longest_ns = told.longest_ns() > 0 ? std::min(told.longest_ns(), stretch.length_ns()) : stretch.length_ns();
  return stretch;
}

absl::Status CheckStretch(const v1::StalledStretch& stall, int64_t last_end_ns) {
  if (!IsSaneStretch(stall.begin_ns(), stall.end_ns()))
    return absl::InvalidArgumentError("a stall at a time that no clock shows");
  if (stall.begin_ns() < last_end_ns) return absl::InvalidArgumentError("stalls of one writer that overlap");
  if (stall.in_flight_ns() < 0 || stall.in_flight_ns() > stall.end_ns() - stall.begin_ns()) {
    return absl::InvalidArgumentError("a stall with a write in flight for longer than it lasts");
  }
  return absl::OkStatus();
}

// Makes one that follows a part of the row, where it touches it. A null row: there is none.
bool JoinRow(const WriterStretch& stretch, WriterStretch* last) {
  if (last == nullptr || !last->in_a_row || stretch.begin_ns > last->end_ns) return false;
  WriterStretch& row = *last;
  row.end_ns = stretch.end_ns;
  row.in_flight_ns += stretch.in_flight_ns;
  row.writes += stretch.writes;
  row.longest_ns = std::max(row.longest_ns, stretch.longest_ns);
  return true;
}

}  // namespace

absl::Status HostStalls::Check(const v1::Frame& frame) const {
  const auto writer = writers_.find(frame.qm());
  int64_t last_end_ns = writer == writers_.end() ? 0 : writer->second.last_end_ns;
  for (const v1::StalledStretch& stall : frame.stalls()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckStretch(stall, last_end_ns));
    last_end_ns = stall.end_ns();
  }
  return frame.has_growing_stall() ? CheckStretch(frame.growing_stall(), last_end_ns) : absl::OkStatus();
}

void HostStalls::Writer::Miss(int64_t begin_ns, int64_t length_ns) {
  if (!missing.empty() && length_ns <= missing.back().length_ns) return;
  if (missing.size() < kMostMissing) {
    missing.push_back({begin_ns, length_ns});
  } else {
    missing.back().length_ns = length_ns;
  }
}

void HostStalls::Keep(const WriterStretch& stretch, uint32_t qm, Writer& writer) {
  if (budget_->stretches_left == 0) {
    ++budget_->stretches_left_out;
    if (!MakeRoomFor(stretch.length_ns())) return LeaveOut(stretch);
  }
  --budget_->stretches_left;
  budget_->kept.push({stretch.length_ns(), budget_->next_number++, this, qm, stretch.begin_ns});
  writer.stretches.emplace(stretch.begin_ns, stretch);
}

bool HostStalls::MakeRoomFor(int64_t length_ns) {
  auto& kept = budget_->kept;
  while (!kept.empty()) {
    KeptStretch shortest = kept.top();
    auto& stretches = shortest.host->writers_.at(shortest.qm).stretches;
    const auto stretch = stretches.find(shortest.begin_ns);
    const int64_t now_ns = stretch->second.length_ns();
    if (now_ns == shortest.length_ns && now_ns >= length_ns) return false;
    kept.pop();
    if (now_ns != shortest.length_ns) {
      shortest.length_ns = now_ns;
      kept.push(shortest);
      continue;
    }
    shortest.host->LeaveOut(stretch->second);
    stretches.erase(stretch);
    ++budget_->stretches_left;
    return true;
  }
  return false;
}

void HostStalls::LeaveOut(const WriterStretch& stretch) {
  TimeStretch span{stretch.begin_ns, stretch.end_ns};
  // Those that it overlaps or touches.
  const auto first = std::partition_point(left_out_.begin(), left_out_.end(),
                                          [&](const TimeStretch& each) { return each.end_ns < span.begin_ns; });
  auto last = first;
  for (; last != left_out_.end() && last->begin_ns <= span.end_ns; ++last) {
    span.begin_ns = std::min(span.begin_ns, last->begin_ns);
    span.end_ns = std::max(span.end_ns, last->end_ns);
  }
  left_out_.insert(left_out_.erase(first, last), span);
  if (left_out_.size() <= kMostLeftOutSpans) return;
  // The two that are closest become one.
  size_t closest = 1;
  for (size_t i = 2; i < left_out_.size(); ++i) {
    const auto apart_ns = [this](size_t at) { return left_out_[at].begin_ns - left_out_[at - 1].end_ns; };
    if (apart_ns(i) < apart_ns(closest)) closest = i;
  }
  left_out_[closest - 1].end_ns = left_out_[closest].end_ns;
  left_out_.erase(left_out_.begin() + static_cast<std::ptrdiff_t>(closest));
}

void HostStalls::Take(const v1::Frame& frame, int64_t median_ns, uint64_t writes) {
  service_[frame.qm()].Take(frame);
  const bool tells = !frame.stalls().empty() || frame.has_growing_stall() || frame.stalls_left_out() > 0;
  const auto known = writers_.find(frame.qm());
  if (!tells && known == writers_.end()) return;
  Writer& writer = known == writers_.end() ? writers_[frame.qm()] : known->second;
  for (const v1::StalledStretch& stall : frame.stalls()) {
    WriterStretch stretch = FromProto(stall);
    writer.last_end_ns = stretch.end_ns;
    if (!IsHardlyUnusual(stretch, median_ns, writes)) {
      Keep(stretch, frame.qm(), writer);
    } else if (stall_ns_ > 0 && stretch.longest_ns >= stall_ns_) {
      stretch.in_a_row = true;
      WriterStretch* last = writer.stretches.empty() ? nullptr : &writer.stretches.rbegin()->second;
      if (!JoinRow(stretch, last)) Keep(stretch, frame.qm(), writer);
    } else {
      ++writer.not_kept;
      writer.longest_not_kept_ns = std::max(writer.longest_not_kept_ns, stretch.longest_ns);
      writer.Miss(stretch.begin_ns, stretch.length_ns());
    }
  }
  if (frame.stalls_left_out() > 0) {
    const uint64_t left_out = std::min(frame.stalls_left_out(), kMostLeftOut - budget_->stretches_left_out);
    budget_->stretches_left_out += left_out;
    // They came after those that were told.
    writer.Miss(writer.last_end_ns, INT64_MAX);
  }
  writer.growing.reset();
  if (frame.has_growing_stall()) writer.growing = FromProto(frame.growing_stall());
}

absl::Status HostStalls::AddPauses(const v1::HostSample& sample) {
  for (const v1::RecorderPause& pause : sample.pauses()) {
    if (!IsSaneStretch(pause.begin_ns(), pause.end_ns()))
      return absl::InvalidArgumentError("a pause at a time that no clock shows");
  }
  budget_->pauses_left_out += std::min(sample.pauses_left_out(), kMostLeftOut - budget_->pauses_left_out);
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

HostStalls::Stretches HostStalls::OfWriter(uint32_t qm, int64_t threshold_ns, int64_t median_ns) {
  Stretches found;
  const auto known = writers_.find(qm);
  if (known == writers_.end()) return found;
  Writer& writer = known->second;
  const int64_t usual_ns = kMediansUsual * median_ns;
  for (const auto& [begin_ns, kept] : writer.stretches) {
    WriterStretch stretch = kept;
    const bool usual = stretch.in_a_row || stretch.length_ns() < usual_ns;
    if (stretch.longest_ns < threshold_ns) {
      if (!usual) found.others.push_back(stretch);
      continue;
    }
    stretch.in_a_row = usual;
    WriterStretch* last = found.stalls.empty() ? nullptr : &found.stalls.back();
    if (!usual || !JoinRow(stretch, last)) found.stalls.push_back(stretch);
  }
  for (WriterStretch& stretch : found.stalls) stretch.in_a_row = stretch.in_a_row && stretch.writes > 1;
  if (writer.longest_not_kept_ns >= threshold_ns) budget_->stretches_left_out += writer.not_kept;
  writer.not_kept = 0;
  const int64_t matters_ns = std::min(threshold_ns, usual_ns);
  const auto first = std::find_if(writer.missing.begin(), writer.missing.end(),
                                  [&](const Missing& missing) { return missing.length_ns >= matters_ns; });
  if (first != writer.missing.end()) found.complete_until_ns = first->begin_ns;
  return found;
}

std::vector<WriterStretch> HostStalls::EndedAfter(uint32_t qm, int64_t moment_ns) const {
  std::vector<WriterStretch> ended;
  const auto found = writers_.find(qm);
  if (found == writers_.end()) return ended;
  const auto& stretches = found->second.stretches;
  for (auto each = stretches.rbegin(); each != stretches.rend() && each->second.end_ns > moment_ns; ++each) {
    ended.push_back(each->second);
  }
  return ended;
}

std::optional<WriterStretch> HostStalls::GrowingOf(uint32_t qm) const {
  const auto writer = writers_.find(qm);
  return writer == writers_.end() ? std::nullopt : writer->second.growing;
}

const ServiceGaps* HostStalls::ServiceOf(uint32_t qm) const {
  const auto writer = service_.find(qm);
  return writer == service_.end() ? nullptr : &writer->second;
}

}  // namespace plimsoll
