#include "controller/analysis/scope_sums.h"

#include <algorithm>
#include <cmath>

#include "common/saturating_add.h"
#include "common/units.h"
#include "controller/analysis/figures.h"

namespace plimsoll {
namespace {

// A rate counts as held where this much of it was served; one write may still be due.
constexpr double kHeldShare = 0.99;

// End of what is known of a writer, in its clock: its step's end, or the start of the write that was in flight then.
int64_t EndOfKnown(const WriterStats& writer, int64_t start_ns, const MeasuredStretch& stretch) {
  const int64_t last_end_ns = std::max(writer.last_end_ns(), start_ns);
  if (writer.in_flight_since_ns() != 0 && !writer.closed()) {
    // The recorder was a little late to look: what it saw in flight may have started after its data end.
    const int64_t data_end_ns = std::max(start_ns + stretch.measured_ns, last_end_ns);
    return std::clamp(writer.in_flight_since_ns(), last_end_ns, data_end_ns);
  }
  return std::max(last_end_ns, start_ns + stretch.measured_ns);
}

}  // namespace

void ScopeSums::Merge(const ScopeSums& other) {
  latency.Merge(other.latency);
  response.Merge(other.response);
  series.Merge(other.series);
  closing.Merge(other.closing);
  closing_length_ns = std::max(closing_length_ns, other.closing_length_ns);
  measured_ns = std::max(measured_ns, other.measured_ns);
  whole_ns = std::min(whole_ns, other.whole_ns);
  if (other.data_until_ns) {
    data_until_ns = data_until_ns ? std::min(*data_until_ns, *other.data_until_ns) : other.data_until_ns;
  }
  in_flight_ages_ns.insert(in_flight_ages_ns.end(), other.in_flight_ages_ns.begin(), other.in_flight_ages_ns.end());
  elapsed_ns += other.elapsed_ns;
  between_ns += other.between_ns;
  warmup_writes += other.warmup_writes;
  untraced_writes += other.untraced_writes;
  ring_full_waits += other.ring_full_waits;
  ring_full_wait_ns += other.ring_full_wait_ns;
  if (other.slowest && (!slowest || slowest->latency_ns() < other.slowest->latency_ns())) {
    slowest = other.slowest;
    slowest_host = other.slowest_host;
    slowest_qm = other.slowest_qm;
  }
  asked_iops += other.asked_iops;
  rate_held = rate_held && other.rate_held;
  not_issued += other.not_issued;
  not_issued_unknown = not_issued_unknown || other.not_issued_unknown;
  rate_due += other.rate_due;
  rate_completed += other.rate_completed;
  rate_open += other.rate_open;
  unscheduled.Merge(other.unscheduled);
  missing_writes = SaturatingAdd(missing_writes, other.missing_writes);
  lost = lost || other.lost;
  clock_step_ns = std::max(clock_step_ns, other.clock_step_ns);
  max_behind_writes = std::max(max_behind_writes, other.max_behind_writes);
  max_behind_ns = std::max(max_behind_ns, other.max_behind_ns);
}

double ScopeSums::AccountedPercent() const {
  const Int128 accounted_ns = static_cast<Int128>(latency.sum_ns()) + between_ns;
  if (elapsed_ns <= 0) return accounted_ns == 0 ? 100 : 0;
  return 100 * static_cast<double>(accounted_ns) / static_cast<double>(elapsed_ns);
}

ScopeSums SumsOfWriter(const WriterStats& writer, uint32_t host, uint32_t qm, const MeasuredStretch& stretch,
                       double rate_per_second, bool random_arrivals) {
  ScopeSums sums;
  sums.latency.Merge(writer.latency());
  sums.response.Merge(writer.response());
  sums.series.Merge(writer.series());
  sums.closing = writer.closing();
  sums.measured_ns = stretch.measured_ns;
  sums.whole_ns = stretch.measured_ns;
  if (stretch.left_early) sums.data_until_ns = stretch.done ? stretch.measured_ns : writer.covered_ns();
  sums.warmup_writes = writer.warmup_writes();
  sums.untraced_writes = writer.untraced_writes();
  sums.ring_full_waits = writer.ring_full_waits();
  sums.ring_full_wait_ns = writer.ring_full_wait_ns();
  sums.slowest = writer.slowest();
  sums.slowest_host = host;
  sums.slowest_qm = qm;
  sums.missing_writes = writer.MissingWrites(stretch.done);

  sums.between_ns = writer.between_ns();
  if (stretch.start_ns) {
    const int64_t start_ns = *stretch.start_ns;
    const int64_t end_ns = EndOfKnown(writer, start_ns, stretch);
    sums.elapsed_ns = end_ns - start_ns;
    sums.between_ns += end_ns - std::max(writer.last_end_ns(), start_ns);
    if (writer.closing().writes > 0) {
      sums.closing_length_ns = std::max<int64_t>(writer.last_end_ns() - start_ns - stretch.measured_ns, 0);
    }
  } else {
    sums.elapsed_ns = static_cast<Int128>(writer.latency().sum_ns()) + writer.between_ns();
  }

  if (rate_per_second > 0) {
    sums.asked_iops = rate_per_second;
    if (writer.totals()) {
      sums.not_issued = writer.totals()->unserved();
      sums.max_behind_writes = writer.totals()->max_behind_writes();
      sums.max_behind_ns = writer.totals()->max_behind_ns();
    }
    sums.not_issued_unknown = !writer.totals();
    double due = rate_per_second * static_cast<double>(stretch.measured_ns) / static_cast<double>(kNsPerSecond);
    if (writer.totals() && writer.totals()->has_due()) {
      // What was due in the warm-up and is caught up with, or carried on, is no part of it.
      due = static_cast<double>(writer.totals()->due());
    } else if (random_arrivals) {
      // How many were due is known from the writer alone; without its word, what chance takes from the average is
      // allowed.
      due = writer.totals() ? static_cast<double>(writer.latency().count()) + static_cast<double>(sums.not_issued)
                            : std::max(0.0, due - 4 * std::sqrt(due));
    }
    sums.rate_due = static_cast<uint64_t>(due);
    sums.rate_completed = std::min(sums.CompletedWrites(), sums.rate_due);
    // One write more or less is a matter of when the last one was due.
    sums.rate_open = sums.rate_completed < sums.rate_due ? 1 : 0;
    sums.rate_held =
        static_cast<double>(sums.rate_completed + sums.rate_open) >= kHeldShare * static_cast<double>(sums.rate_due);
  }
  return sums;
}

v1::ScopeReport MakeScopeReport(const ScopeSums& sums, uint64_t block_size_bytes, const SecondExtremes& extremes) {
  v1::ScopeReport report;
  const uint64_t writes = sums.CompletedWrites();
  report.set_writes(writes);
  report.set_bytes(writes * block_size_bytes);
  report.set_measured_ns(sums.measured_ns);
  if (sums.measured_ns > 0) {
    const double seconds = static_cast<double>(sums.measured_ns) / static_cast<double>(kNsPerSecond);
    report.set_iops(static_cast<double>(writes) / seconds);
    report.set_mb_per_second(static_cast<double>(report.bytes()) / seconds / kBytesPerMegabyte);
  }
  *report.mutable_latency() = MakeLatencyReport(sums.latency);
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
  bandwidth.set_seconds(extremes.seconds);
  if (extremes.seconds > 0) {
    bandwidth.set_max_bytes_per_second(extremes.max_writes * block_size_bytes);
    bandwidth.set_min_bytes_per_second(extremes.min_writes * block_size_bytes);
    bandwidth.set_avg_bytes_per_second(static_cast<double>(extremes.writes * block_size_bytes) / extremes.seconds);
    bandwidth.set_averaged_seconds(extremes.averaged_seconds);
  }
  report.set_ring_full_waits(sums.ring_full_waits);
  report.set_ring_full_wait_ns(sums.ring_full_wait_ns);
  report.set_warmup_writes(sums.warmup_writes);
  report.set_untraced_writes(sums.untraced_writes);
  v1::ClosingReport& closing = *report.mutable_closing();
  closing.set_writes(sums.closing.writes);
  closing.set_bytes(sums.closing.writes * block_size_bytes);
  closing.set_latency_sum_ns(sums.closing.latency_sum_ns);
  closing.set_latency_max_ns(sums.closing.latency_max_ns);
  closing.set_length_ns(sums.closing_length_ns);
  return report;
}

}  // namespace plimsoll
