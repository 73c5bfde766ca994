#include "controller/analysis/scope_sums.h"

#include <algorithm>
#include <cmath>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/algorithm.h"
#include "common/integers.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/fold/aged_seconds.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

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

absl::Status CheckStartDelay(const v1::StartDelay& delay, uint64_t writes) {
  if (delay.late_writes() > writes || (delay.late_writes() > 0) != (delay.max_ns() > kPromptStartNs)) {
    return absl::InvalidArgumentError("start delays that the writes cannot have");
  }
  return absl::OkStatus();
}

// Whether a moment can be used; 0 stands for none.
bool SaneOrNone(int64_t moment_ns) {
  return moment_ns == 0 || IsSaneMoment(moment_ns);
}

using WriteSamples = google::protobuf::RepeatedPtrField<v1::WriteSample>;

// Slow writes must be writes of the frame.
absl::Status CheckSlow(const v1::Frame& frame, const WriteSamples& writes) {
  uint64_t last_seq = 0;
  for (const v1::WriteSample& write : writes) {
    // Below zero wraps around, and is too much.
    if (write.seq() <= last_seq || write.seq() - frame.first_seq() >= frame.latency().count() ||
        write.latency_ns() > frame.latency().max_ns() || write.response_ns() > frame.response().max_ns()) {
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

WriteSums WriteSumsOf(const v1::Distribution& latency, uint64_t bytes) {
  return {latency.count(), latency.sum_ns_high() > 0 ? UINT64_MAX : latency.sum_ns(), latency.max_ns(), bytes};
}

const v1::Distribution& TimesOf(const v1::Frame& frame, TimeKind kind) {
  return kind == TimeKind::kResponse && frame.response().count() > 0 ? frame.response() : frame.latency();
}

std::optional<WideRange> SecondsOf(const StepShape& shape, const v1::Frame& frame, int64_t first_interval) {
  const int64_t first = shape.SecondOf(first_interval);
  const int64_t last = shape.SecondOf(first_interval + std::max<int64_t>(frame.interval_count(), 1) - 1);
  if (last >= kMaxSeriesSeconds) return std::nullopt;
  return WideRange{static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
}

namespace {

void AddAgedToSeries(const StepShape& shape, bool rated, const v1::Frame& frame, PerTime<SecondSeries>& series) {
  ForEachAgedSecond(frame, kNsPerSecond / shape.interval_ns, [rated, &series](const AgedSecond& second) {
    if (second.writes == 0) return;
    const auto number = static_cast<uint32_t>(second.second);
    series[TimeKind::kService].AddSums(number,
                                       {second.writes, second.latency_sum_ns, second.latency_max_ns, second.bytes});
    if (!rated) return;
    series[TimeKind::kResponse].AddSums(number,
                                        {second.writes, second.response_sum_ns, second.response_max_ns, second.bytes});
  });
  for (const TimeKind kind : TimeKindsOf(rated)) series[kind].CountFrames(frame.aged().frames());
}

}  // namespace

void AddToSeries(const StepShape& shape, bool rated, const v1::Frame& frame, PerTime<SecondSeries>& series) {
  const std::optional<WideRange> seconds = SecondsOf(shape, frame, frame.first_interval());
  if (!seconds) return;
  if (frame.has_aged()) return AddAgedToSeries(shape, rated, frame, series);
  for (const TimeKind kind : TimeKindsOf(rated)) {
    const WriteSums sums = WriteSumsOf(TimesOf(frame, kind), frame.bytes());
    if (seconds->first != seconds->last) {
      series[kind].AddWide(seconds->first, seconds->last, sums);
    } else if (sums.writes > 0) {
      series[kind].Add(seconds->first, sums);
    } else {
      series[kind].AddSilent();
    }
  }
}

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
  if (frame.bytes() < static_cast<Uint128>(writes) * blocks_.least ||
      frame.bytes() > static_cast<Uint128>(writes) * blocks_.most) {
    return absl::InvalidArgumentError("bytes that are not writes times block size");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckStartDelay(frame.start_delay(), writes));
  if (frame.untraced_writes() > writes) return absl::InvalidArgumentError("more untraced writes than writes");
  for (const int64_t moment : {frame.first_start_ns(), frame.last_end_ns(), frame.in_flight_since_ns(), frame.cut_ns(),
                               frame.slowest().start_ns(), frame.first_phase_ns()}) {
    if (!SaneOrNone(moment)) return absl::InvalidArgumentError("a moment that no clock shows");
  }
  if (frame.has_aged()) PLIMSOLL_RETURN_IF_ERROR(CheckAgedSeconds(frame, kNsPerSecond / shape_.interval_ns));
  PLIMSOLL_RETURN_IF_ERROR(CheckSlow(frame, frame.slow()));
  return CheckSlow(frame, frame.slow_responses());
}

namespace {

uint64_t SlownessNs(const v1::WriteSample& write, TimeKind kind) {
  return kind == TimeKind::kService ? write.latency_ns() : write.response_ns();
}

// Frames and the samples in them come in order: where the sort changes nothing the earlier one is in front.
void KeepSlow(const WriteSamples& writes, TimeKind kind, std::vector<v1::WriteSample>& slow) {
  if (writes.empty()) return;
  slow.insert(slow.end(), writes.begin(), writes.end());
  StableSort(slow, [kind](const v1::WriteSample& a, const v1::WriteSample& b) {
    return SlownessNs(a, kind) > SlownessNs(b, kind);
  });
  if (slow.size() > kSlowestKept) slow.resize(kSlowestKept);
}

}  // namespace

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
    const bool fastest = latency.count() > 0 && (latency_.count() == 0 || latency.min_ns() < latency_.min_ns());
    PLIMSOLL_RETURN_IF_ERROR(latency_.Merge(latency));
    if (fastest) fastest_seq_ = frame.fastest_seq();
  } else {
    PLIMSOLL_RETURN_IF_ERROR(Histogram().Merge(latency));
  }

  if (measured) {
    response_.Merge(responses);
    AddStartDelay(frame.start_delay(), start_delay_);
    if (part == FramePart::kMeasured) measured_bytes_ += frame.bytes();
    between_ns_ += frame.between_ns();
    counts_.set_untraced_writes(counts_.untraced_writes() + frame.untraced_writes());
    counts_.set_ring_full_waits(counts_.ring_full_waits() + frame.ring_full_waits());
    counts_.set_ring_full_wait_ns(counts_.ring_full_wait_ns() + frame.ring_full_wait_ns());
    last_end_ns_ = std::max(last_end_ns_, frame.last_end_ns());
    // A sample that is not the frame's maximum is of no use; the figures do not depend on it.
    if (latency.count() > 0 && frame.has_slowest() && frame.slowest().latency_ns() == latency.max_ns() &&
        (!slowest_ || slowest_->latency_ns() < latency.max_ns())) {
      slowest_ = frame.slowest();
    }
    KeepSlow(frame.slow(), TimeKind::kService, slow_[TimeKind::kService]);
    KeepSlow(frame.slow_responses(), TimeKind::kResponse, slow_[TimeKind::kResponse]);
  } else {
    warmup_.Merge(WriteSumsOf(latency, frame.bytes()));
    counts_.set_warmup_writes(warmup_.writes);
  }
  if (frame.first_seq() == 1) {
    first_start_ns_ = frame.first_start_ns();
    first_phase_ns_ = frame.first_phase_ns();
  }
  if (part == FramePart::kMeasured) AddToSeries(shape_, shape_.rated, frame, series_);
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
    if (part == FramePart::kClosing) closing_[kind].Merge(WriteSumsOf(TimesOf(frame, kind), frame.bytes()));
  }
  in_flight_since_ns_ = frame.in_flight_since_ns();
  last_cut_ns_ = frame.cut_ns();
  started_ = true;
  closed_ = part == FramePart::kClosing;
  next_interval_ = frame.first_interval() + (closed_ ? 0 : std::max<int64_t>(frame.interval_count(), 1));
  return absl::OkStatus();
}

absl::Status WriterStats::SetTotals(const v1::WriterTotals& totals, SumGuard& guard) {
  if (totals_) return absl::InvalidArgumentError("totals for the second time");
  PLIMSOLL_RETURN_IF_ERROR(CheckSums(totals.not_issued_age()));
  if (totals.not_issued_age().count() != totals.not_issued())
    return absl::InvalidArgumentError("the ages are of another number of writes than were not issued");
  if (!SaneOrNone(totals.first_start_ns()) || !SaneOrNone(totals.last_end_ns())) {
    return absl::InvalidArgumentError("a moment that no clock shows");
  }
  Histogram ages;
  PLIMSOLL_RETURN_IF_ERROR(ages.Merge(totals.not_issued_age()));
  PLIMSOLL_RETURN_IF_ERROR(CheckStartDelay(totals.start_delay(), totals.not_issued()));
  if (!guard.Admit({totals.not_issued(), totals.due()})) return absl::InvalidArgumentError("sums beyond 63 bits");
  response_.Merge(ages);
  AddStartDelay(totals.start_delay(), start_delay_);
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

std::string WriterStats::Disagreement(const std::string& operations) const {
  if (!totals_) return "";
  const auto differ = [](const char* what, uint64_t counted, uint64_t framed) {
    return counted == framed ? std::string()
                             : absl::StrCat("the writer counted ", FormatCount(counted), " ", what,
                                            ", its frames hold ", FormatCount(framed));
  };
  for (const std::string& difference :
       {differ(operations.c_str(), totals_->writes(), warmup_.writes + latency_.count()),
        differ("bytes", totals_->bytes(), warmup_.bytes + measured_bytes_ + closing().bytes),
        // The guard admits no more than 63 bits of it.
        differ("ns of latency", totals_->latency_sum_ns(),
               warmup_.latency_sum_ns + absl::Uint128Low64(latency_.sum_ns())),
        differ("ns of largest latency", totals_->latency_max_ns(),
               std::max(warmup_.latency_max_ns, latency_.max_ns()))}) {
    if (!difference.empty()) return difference;
  }
  return "";
}

namespace {

// A rate counts as held where this much of it was served; one write may still be due.
constexpr double kHeldShare = 0.99;

// End of what is known of a writer, in its clock: its step's end, or the start of the operation that was in flight
// then. `last_end_ns`: end of the writer's last operation, at least `start_ns`.
int64_t EndOfKnown(const WriterStats& writer, int64_t start_ns, int64_t last_end_ns, const MeasuredPart& measured) {
  if (writer.in_flight_since_ns() != 0 && !writer.closed()) {
    // The recorder was a little late to look: what it saw in flight may have started after its data end.
    const int64_t data_end_ns = std::max(start_ns + measured.measured_ns, last_end_ns);
    return std::clamp(writer.in_flight_since_ns(), last_end_ns, data_end_ns);
  }
  return std::max(last_end_ns, start_ns + measured.measured_ns);
}

void AddCounts(const v1::ScopeReport& from, v1::ScopeReport& to) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& fields = *from.GetReflection();
  const google::protobuf::Descriptor& type = *v1::ScopeReport::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_UINT64) continue;
    fields.SetUInt64(&to, field, fields.GetUInt64(to, field) + fields.GetUInt64(from, field));
  }
}

}  // namespace

void ScopeSums::Merge(const ScopeSums& other) {
  if (other.latency.count() > 0 && (latency.count() == 0 || other.latency.min_ns() < latency.min_ns())) {
    fastest_seq = other.fastest_seq;
  }
  latency.Merge(other.latency);
  response.Merge(other.response);
  AddStartDelay(other.start_delay, start_delay);
  series.Merge(other.series);
  closing.Merge(other.closing);
  response_series.Merge(other.response_series);
  response_closing.Merge(other.response_closing);
  bytes += other.bytes;
  closing_length_ns = std::max(closing_length_ns, other.closing_length_ns);
  measured_ns = std::max(measured_ns, other.measured_ns);
  whole_ns = std::min(whole_ns, other.whole_ns);
  if (other.data_until_ns) {
    data_until_ns = data_until_ns ? std::min(*data_until_ns, *other.data_until_ns) : other.data_until_ns;
  }
  in_flight_ages_ns.insert(in_flight_ages_ns.end(), other.in_flight_ages_ns.begin(), other.in_flight_ages_ns.end());
  elapsed_ns += other.elapsed_ns;
  between_ns += other.between_ns;
  AddCounts(other.counts, counts);
  if (other.slowest && (!slowest || slowest->latency_ns() < other.slowest->latency_ns())) {
    slowest = other.slowest;
    slowest_host = other.slowest_host;
    slowest_qm = other.slowest_qm;
  }
  asked_iops += other.asked_iops;
  rate_held = rate_held && other.rate_held;
  not_issued += other.not_issued;
  not_issued_by_delay += other.not_issued_by_delay;
  not_issued_unknown = not_issued_unknown || other.not_issued_unknown;
  rate_due += other.rate_due;
  rate_completed += other.rate_completed;
  rate_open += other.rate_open;
  unscheduled.Merge(other.unscheduled);
  missing_writes = SaturatingAdd(missing_writes, other.missing_writes);
  missing_reads = SaturatingAdd(missing_reads, other.missing_reads);
  lost = lost || other.lost;
  generator_bound = generator_bound || other.generator_bound;
  cpu_wait_ns += other.cpu_wait_ns;
  clock_step_ns = std::max(clock_step_ns, other.clock_step_ns);
  max_behind_writes = std::max(max_behind_writes, other.max_behind_writes);
  max_behind_ns = std::max(max_behind_ns, other.max_behind_ns);
}

double ScopeSums::AccountedPercent() const {
  const Int128 accounted_ns = static_cast<Int128>(latency.sum_ns()) + between_ns;
  if (elapsed_ns <= 0) return accounted_ns == 0 ? 100 : 0;
  return 100 * static_cast<double>(accounted_ns) / static_cast<double>(elapsed_ns);
}

const Histogram& FeltLatency(const ScopeSums& sums, Histogram& both) {
  if (sums.asked_iops <= 0) {
    if (sums.not_issued == 0) return sums.latency;
    both.Clear();
    both.Merge(sums.latency);
    both.Merge(sums.response);
    return both;
  }
  if (sums.unscheduled.count() == 0) return sums.response;
  both.Clear();
  both.Merge(sums.response);
  both.Merge(sums.unscheduled);
  return both;
}

ScopeSums SumsOfOperation(const WriterStats& writer, uint32_t host, uint32_t qm, const MeasuredPart& measured,
                          const AskedLoad& asked) {
  ScopeSums sums;
  sums.latency.Merge(writer.latency());
  sums.response.Merge(writer.response());
  sums.start_delay = writer.start_delay();
  sums.series.Merge(writer.series());
  sums.closing = writer.closing();
  sums.response_series.Merge(writer.series(TimeKind::kResponse));
  sums.response_closing = writer.closing(TimeKind::kResponse);
  sums.bytes = writer.measured_bytes();
  sums.measured_ns = measured.measured_ns;
  sums.whole_ns = measured.measured_ns;
  if (measured.left_early) sums.data_until_ns = measured.done ? measured.measured_ns : writer.covered_ns();
  sums.counts = writer.counts();
  sums.slowest = writer.slowest();
  sums.slowest_host = host;
  sums.slowest_qm = qm;
  sums.fastest_seq = writer.fastest_seq();
  sums.missing_writes = writer.MissingWrites(measured.done);
  if (measured.start_ns && writer.closing().writes > 0) {
    sums.closing_length_ns = std::max<int64_t>(writer.last_end_ns() - *measured.start_ns - measured.measured_ns, 0);
  }
  if (asked.rate_per_second > 0) {
    sums.asked_iops = asked.rate_per_second;
    sums.not_issued_unknown = !writer.totals();
  } else if (writer.totals()) {
    // Commits of an open loop that had arrived when the step ended.
    sums.not_issued = writer.totals()->not_issued();
  }
  return sums;
}

ScopeSums SumsOfWriter(const WriterStats& writer, const ReadsBeside& beside, uint32_t host, uint32_t qm,
                       const MeasuredPart& measured, const AskedLoad& asked) {
  const double rate_per_second = asked.rate_per_second;
  const WriterStats* const reads = beside.stats;
  ScopeSums sums = SumsOfOperation(writer, host, qm, measured, asked);
  sums.missing_reads = beside.missing;
  Int128 reading_ns = 0;
  uint64_t operations = writer.latency().count();
  uint64_t completed = sums.CompletedWrites();
  int64_t last_end_ns = writer.last_end_ns();
  if (reads != nullptr) {
    reading_ns = static_cast<Int128>(reads->latency().sum_ns());
    operations += reads->latency().count();
    completed += reads->latency().count() - reads->closing().writes;
    last_end_ns = std::max(last_end_ns, reads->last_end_ns());
  }
  const auto writing_ns = static_cast<Int128>(writer.latency().sum_ns());
  // The time between a writer's writes includes that of its reads.
  sums.between_ns = writer.between_ns() + reading_ns;
  if (measured.start_ns) {
    const int64_t start_ns = *measured.start_ns;
    last_end_ns = std::max(last_end_ns, start_ns);
    const int64_t end_ns = EndOfKnown(writer, start_ns, last_end_ns, measured);
    sums.elapsed_ns = end_ns - start_ns;
    sums.between_ns += end_ns - last_end_ns;
  } else {
    sums.elapsed_ns = writing_ns + sums.between_ns;
  }
  if (rate_per_second <= 0) return sums;

  const v1::WriterTotals* const totals = writer.totals() ? &*writer.totals() : nullptr;
  const v1::WriterTotals* const of_reads = reads != nullptr && reads->totals() ? &*reads->totals() : nullptr;
  if (totals != nullptr) {
    sums.not_issued = totals->not_issued();
    uint64_t delay_ns = totals->start_delay().max_ns();
    uint64_t oldest_ns = totals->not_issued_age().max_ns();
    if (of_reads != nullptr) {
      sums.not_issued = SaturatingAdd(sums.not_issued, of_reads->not_issued());
      delay_ns = std::max(delay_ns, of_reads->start_delay().max_ns());
      oldest_ns = std::max(oldest_ns, of_reads->not_issued_age().max_ns());
    }
    // The first of them when its turn came, and each other one when the one before it, taken as an average one, would
    // have ended.
    if (delay_ns > 0) {
      const double average_ns =
          static_cast<double>(writing_ns + reading_ns) / static_cast<double>(std::max<uint64_t>(operations, 1));
      const double could = 1 + static_cast<double>(delay_ns) / std::max(average_ns, 1.0);
      sums.not_issued_by_delay = static_cast<uint64_t>(std::min(static_cast<double>(sums.not_issued), could));
    }
    // A write that was never issued has no start that shows how late it was.
    sums.max_behind_writes = std::max(totals->max_behind_writes(), sums.not_issued);
    sums.max_behind_ns = std::max(totals->max_behind_ns(), oldest_ns);
  }
  double due = rate_per_second * static_cast<double>(measured.measured_ns) / static_cast<double>(kNsPerSecond);
  if (totals != nullptr && totals->has_due()) {
    // Writes that were due in the warm-up and are caught up with, or carried on, do not belong to it.
    due = static_cast<double>(totals->due());
  } else if (asked.random_arrivals) {
    // How many were due is known from the writer alone; without its word, what chance takes from the average is
    // allowed.
    due = totals != nullptr ? static_cast<double>(operations) + static_cast<double>(sums.not_issued)
                            : std::max(0.0, due - 4 * std::sqrt(due));
  }
  sums.rate_due = static_cast<uint64_t>(due);
  sums.rate_completed = std::min(completed, sums.rate_due);
  // One write more or less is a matter of when the last one was due.
  sums.rate_open = sums.rate_completed < sums.rate_due ? 1 : 0;
  const uint64_t most = SaturatingAdd(sums.rate_completed + sums.rate_open, sums.missing_reads);
  sums.rate_held = static_cast<double>(most) >= kHeldShare * static_cast<double>(sums.rate_due);
  return sums;
}

v1::ScopeReport MakeScopeReport(const ScopeSums& sums, uint32_t whole_seconds) {
  v1::ScopeReport report = sums.counts;
  const uint64_t writes = sums.CompletedWrites();
  report.set_writes(writes);
  report.set_bytes(sums.bytes);
  report.set_measured_ns(sums.measured_ns);
  if (sums.measured_ns > 0) {
    report.set_iops(PerSecond(writes, sums.measured_ns));
    report.set_mb_per_second(PerSecond(report.bytes(), sums.measured_ns) / kBytesPerMegabyte);
  }
  *report.mutable_latency() = MakeLatencyReport(sums.latency);
  report.set_fastest_number(sums.fastest_seq);
  if (sums.asked_iops > 0) {
    v1::RateReport& rate = *report.mutable_rate();
    rate.set_asked_iops(sums.asked_iops);
    rate.set_held(sums.rate_held);
    *rate.mutable_response() = MakeLatencyReport(sums.response);
    rate.set_unserved(sums.not_issued);
    rate.set_max_behind_writes(sums.max_behind_writes);
    rate.set_max_behind_ns(sums.max_behind_ns);
  }
  report.set_time_between_writes_ns(Clamp64(sums.between_ns));
  report.set_accounted_percent(sums.AccountedPercent());
  v1::BandwidthReport& bandwidth = *report.mutable_bandwidth();
  bandwidth.set_seconds(whole_seconds);
  if (whole_seconds > 0) {
    const SecondExtremes bytes = sums.series.Extremes(whole_seconds, &WriteSums::bytes);
    bandwidth.set_max_bytes_per_second(bytes.max);
    bandwidth.set_min_bytes_per_second(bytes.min);
    bandwidth.set_avg_bytes_per_second(static_cast<double>(bytes.sum) / whole_seconds);
    bandwidth.set_averaged_seconds(bytes.averaged_seconds);
  }
  v1::ClosingReport& closing = *report.mutable_closing();
  closing.set_writes(sums.closing.writes);
  closing.set_bytes(sums.closing.bytes);
  closing.set_latency_sum_ns(sums.closing.latency_sum_ns);
  closing.set_latency_max_ns(sums.closing.latency_max_ns);
  closing.set_length_ns(sums.closing_length_ns);
  return report;
}

}  // namespace plimsoll
