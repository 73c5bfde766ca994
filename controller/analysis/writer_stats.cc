#include "controller/analysis/writer_stats.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/stable_sort.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr size_t kSlowestKept = 10;

// Everything about a distribution that Histogram::Merge does not look at.
absl::Status CheckSums(const v1::Distribution& values) {
  if (values.count() == 0) {
    if (SumNs(values) != 0 || values.min_ns() != 0 || values.max_ns() != 0)
      return absl::InvalidArgumentError("figures without a count");
    return absl::OkStatus();
  }
  const auto count = static_cast<Uint128>(values.count());
  const auto sum = static_cast<Uint128>(SumNs(values));
  if (sum < count * values.min_ns() || sum > count * values.max_ns()) {
    return absl::InvalidArgumentError("a sum outside minimum and maximum times count");
  }
  return absl::OkStatus();
}

WriteSums SumsOf(const v1::Distribution& latency) {
  return {latency.count(), latency.sum_ns(), latency.max_ns()};
}

// Whether a moment can be used; 0 stands for none.
bool SaneOrNone(int64_t moment_ns) {
  return moment_ns == 0 || IsSaneMoment(moment_ns);
}

// Slow writes must be writes of the frame.
absl::Status CheckSlow(const v1::Frame& frame) {
  uint64_t last_seq = 0;
  for (const v1::WriteSample& write : frame.slow()) {
    // Below zero wraps around, and is too much.
    if (write.seq() <= last_seq || write.seq() - frame.first_seq() >= frame.latency().count() ||
        write.latency_ns() > frame.latency().max_ns()) {
      return absl::InvalidArgumentError("a slow write that is none of the frame's");
    }
    if (!IsSaneMoment(write.start_ns()))
      return absl::InvalidArgumentError("a slow write at a time that no clock shows");
    last_seq = write.seq();
  }
  return absl::OkStatus();
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

}  // namespace

absl::StatusOr<FramePart> WriterStats::PartOf(const v1::Frame& frame) const {
  const int64_t first = frame.first_interval();
  const int64_t count = std::max<int64_t>(frame.interval_count(), 1);
  if (frame.closing()) {
    if (first < 0 || first > shape_.measured_intervals())
      return absl::InvalidArgumentError("a closing interval outside the step");
    return FramePart::kClosing;
  }
  if (first < 0) {
    if (first < -shape_.warmup_intervals()) return absl::InvalidArgumentError("an interval before the step's start");
    if (first + count > 0) return absl::InvalidArgumentError("warm-up and measured writes in one frame");
    return FramePart::kWarmup;
  }
  if (first + count > shape_.measured_intervals())
    return absl::InvalidArgumentError("an interval after the step's end");
  return FramePart::kMeasured;
}

absl::Status WriterStats::Check(const v1::Frame& frame) const {
  if (closed_) return absl::InvalidArgumentError("a frame after the closing one");
  if (started_ && frame.first_interval() < next_interval_) {
    return absl::InvalidArgumentError(absl::StrCat("interval ", frame.first_interval(), " for the second time"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckSums(frame.latency()));
  PLIMSOLL_RETURN_IF_ERROR(CheckSums(frame.response()));
  const uint64_t writes = frame.latency().count();
  if (frame.response().count() != 0 && frame.response().count() != writes) {
    return absl::InvalidArgumentError("as many response times as writes are needed");
  }
  if (static_cast<Uint128>(writes) * shape_.block_size_bytes != frame.bytes()) {
    return absl::InvalidArgumentError("bytes that are not writes times block size");
  }
  if (frame.untraced_writes() > writes) return absl::InvalidArgumentError("more untraced writes than writes");
  for (const int64_t moment : {frame.first_start_ns(), frame.last_end_ns(), frame.in_flight_since_ns(), frame.cut_ns(),
                               frame.slowest().start_ns(), frame.first_phase_ns()}) {
    if (!SaneOrNone(moment)) return absl::InvalidArgumentError("a moment that no clock shows");
  }
  return CheckSlow(frame);
}

void WriterStats::KeepSlow(const v1::Frame& frame) {
  // Frames and the samples in them come in order: where the sort changes nothing the earlier one is in front.
  slow_.insert(slow_.end(), frame.slow().begin(), frame.slow().end());
  StableSort(slow_, [](const v1::WriteSample& a, const v1::WriteSample& b) { return a.latency_ns() > b.latency_ns(); });
  if (slow_.size() > kSlowestKept) slow_.resize(kSlowestKept);
}

absl::Status WriterStats::Add(const v1::Frame& frame, SumGuard& guard) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FramePart part, PartOf(frame));
  PLIMSOLL_RETURN_IF_ERROR(Check(frame));
  const v1::Distribution& latency = frame.latency();
  const bool measured = part != FramePart::kWarmup;
  if (!guard.Admit({latency.count(), static_cast<Uint128>(SumNs(latency)), frame.bytes(), Magnitude(frame.between_ns()),
                    frame.ring_full_waits(), frame.ring_full_wait_ns()})) {
    return absl::InvalidArgumentError("sums beyond 63 bits");
  }
  // Into an empty histogram first, so that nothing is half added.
  Histogram responses;
  PLIMSOLL_RETURN_IF_ERROR(responses.Merge(frame.response()));
  if (measured) {
    PLIMSOLL_RETURN_IF_ERROR(latency_.Merge(latency));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(Histogram().Merge(latency));
  }

  if (measured) {
    response_.Merge(responses);
    measured_bytes_ += frame.bytes();
    between_ns_ += frame.between_ns();
    untraced_writes_ += frame.untraced_writes();
    ring_full_waits_ += frame.ring_full_waits();
    ring_full_wait_ns_ += frame.ring_full_wait_ns();
    last_end_ns_ = std::max(last_end_ns_, frame.last_end_ns());
    // A sample that is not the frame's maximum is no use; the figures do not depend on it.
    if (latency.count() > 0 && frame.has_slowest() && frame.slowest().latency_ns() == latency.max_ns() &&
        (!slowest_ || slowest_->latency_ns() < latency.max_ns())) {
      slowest_ = frame.slowest();
    }
    if (!frame.slow().empty()) KeepSlow(frame);
  } else {
    warmup_.Merge(SumsOf(latency));
    warmup_bytes_ += frame.bytes();
  }
  if (frame.first_seq() == 1) {
    first_start_ns_ = frame.first_start_ns();
    first_phase_ns_ = frame.first_phase_ns();
  }
  if (part == FramePart::kMeasured) AddToSeries(frame);
  if (part == FramePart::kClosing) closing_.Merge(SumsOf(latency));
  in_flight_since_ns_ = frame.in_flight_since_ns();
  last_cut_ns_ = frame.cut_ns();
  started_ = true;
  closed_ = part == FramePart::kClosing;
  next_interval_ = frame.first_interval() + (closed_ ? 0 : std::max<int64_t>(frame.interval_count(), 1));
  return absl::OkStatus();
}

void WriterStats::AddToSeries(const v1::Frame& frame) {
  const int64_t first = shape_.SecondOf(frame.first_interval());
  const int64_t last = shape_.SecondOf(frame.first_interval() + std::max<int64_t>(frame.interval_count(), 1) - 1);
  if (last >= kMaxSeriesSeconds) return;
  const WriteSums sums = SumsOf(frame.latency());
  if (first == last) {
    if (sums.writes > 0) {
      series_.Add(static_cast<uint32_t>(first), sums);
    } else {
      series_.AddSilent();
    }
  } else {
    series_.AddWide(static_cast<uint32_t>(first), static_cast<uint32_t>(last), sums);
  }
}

absl::Status WriterStats::SetTotals(const v1::WriterTotals& totals, SumGuard& guard) {
  if (totals_) return absl::InvalidArgumentError("totals for the second time");
  PLIMSOLL_RETURN_IF_ERROR(CheckSums(totals.unserved_age()));
  if (totals.unserved_age().count() != totals.unserved())
    return absl::InvalidArgumentError("as many ages as unserved writes are needed");
  if (!SaneOrNone(totals.first_start_ns()) || !SaneOrNone(totals.last_end_ns())) {
    return absl::InvalidArgumentError("a moment that no clock shows");
  }
  Histogram ages;
  PLIMSOLL_RETURN_IF_ERROR(ages.Merge(totals.unserved_age()));
  if (!guard.Admit({totals.unserved(), totals.due()})) return absl::InvalidArgumentError("sums beyond 63 bits");
  response_.Merge(ages);
  totals_ = totals;
  return absl::OkStatus();
}

int64_t WriterStats::first_start_ns() const {
  return totals_ && totals_->first_start_ns() != 0 ? totals_->first_start_ns() : first_start_ns_;
}

uint64_t WriterStats::MissingWrites(bool done) const {
  if (!totals_) return refused_ || done ? UINT64_MAX : 0;
  const uint64_t framed = warmup_.writes + latency_.count();
  if (totals_->writes() > framed) return totals_->writes() - framed;
  return Disagreement().empty() ? 0 : UINT64_MAX;
}

std::string WriterStats::Disagreement() const {
  if (!totals_) return "";
  const auto differ = [](const char* what, uint64_t counted, uint64_t framed) {
    return counted == framed ? std::string()
                             : absl::StrCat("the writer counted ", FormatCount(counted), " ", what,
                                            ", its frames hold ", FormatCount(framed));
  };
  for (const std::string& difference : {differ("writes", totals_->writes(), warmup_.writes + latency_.count()),
                                        differ("bytes", totals_->bytes(), warmup_bytes_ + measured_bytes_),
                                        // The guard admits no more than 63 bits of it.
                                        differ("ns of latency", totals_->latency_sum_ns(),
                                               warmup_.latency_sum_ns + absl::Uint128Low64(latency_.sum_ns())),
                                        differ("ns of largest latency", totals_->latency_max_ns(),
                                               std::max(warmup_.latency_max_ns, latency_.max_ns()))}) {
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace plimsoll
