#include "controller/analysis/interval_stats.h"

#include <algorithm>
#include <utility>

#include "common/histogram.h"
#include "common/integers.h"
#include "common/units.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/timeline.h"

namespace plimsoll {
namespace {

// Whatever a damaged journal claims.
constexpr uint64_t kMaxRows = 1'000'000;
constexpr size_t kMaxPending = 100'000;
// Rows that wait and have percentiles: 50 KiB each.
constexpr size_t kMaxHistograms = 256;

}  // namespace

void IntervalSums::Add(const v1::Distribution& latency) {
  if (latency.count() > 0) Merge({latency.count(), SumNs(latency), latency.min_ns(), latency.max_ns()});
}

void IntervalSums::Merge(const IntervalSums& other) {
  writes = SaturatingAdd(writes, other.writes);
  latency_sum_ns += other.latency_sum_ns;
  min_ns = std::min(min_ns, other.min_ns);
  max_ns = std::max(max_ns, other.max_ns);
}

void IntervalStats::Pending::Add(const v1::Distribution& added, bool keep) {
  sums.Add(added);
  if (keep && latency == nullptr) latency = std::make_unique<Histogram>();
  percentiles_unknown = percentiles_unknown || !keep || !latency->Merge(added).ok();
}

void IntervalStats::Pending::Merge(const Pending& other) {
  if (other.sums.max_ns > sums.max_ns) {
    max_host = other.max_host;
    max_qm = other.max_qm;
    max_name = other.max_name;
  }
  sums.Merge(other.sums);
  percentiles_unknown = percentiles_unknown || other.percentiles_unknown;
  if (other.latency != nullptr) {
    if (latency == nullptr) latency = std::make_unique<Histogram>();
    latency->Merge(*other.latency);
  }
  blurred = blurred || other.blurred;
}

void IntervalStats::Add(const v1::JournalRecord& record) {
  switch (record.record_case()) {
    case v1::JournalRecord::kRunBegin:
      // The first one counts: rows refer to its steps.
      if (run_.run_id().empty() && run_.steps().empty()) run_ = record.run_begin();
      break;
    case v1::JournalRecord::kHostJoined: {
      const v1::HostJoined& joined = record.host_joined();
      Host& host = hosts_[joined.host()];
      host.label = joined.label();
      host.facts.joined = joined;
      break;
    }
    case v1::JournalRecord::kStepBegin:
      BeginStep(record.step_begin());
      break;
    case v1::JournalRecord::kFrames:
      AddFrames(record.frames());
      break;
    case v1::JournalRecord::kStepDone:
      if (record.step_done().done().step() == step_) passed_.Leave(record.step_done().host());
      GivePassed();
      break;
    case v1::JournalRecord::kHostLost: {
      const auto found = hosts_.find(record.host_lost().host());
      if (found != hosts_.end()) found->second.lost = true;
      passed_.Leave(record.host_lost().host());
      GivePassed();
      break;
    }
    case v1::JournalRecord::kStepEnd:
      if (record.step_end().step() == step_) EndStep();
      break;
    default:
      break;
  }
}

void IntervalStats::BeginStep(const v1::StepBegin& begin) {
  // A step that is armed again has given nothing yet.
  if (running_ && begin.step() != step_) EndStep();
  running_ = false;
  const v1::LogStep* const spec = SpecOf(run_, begin);
  if (spec == nullptr) return;
  const int64_t duration_ns = spec->duration_ns();
  if (duration_ns <= 0 || !IsSaneMoment(duration_ns)) return;
  running_ = true;
  step_ = begin.step();
  duration_ns_ = duration_ns;
  block_size_bytes_ = spec->block_size_bytes();
  const auto down = spec->has_down_host() ? hosts_.find(spec->down_host()) : hosts_.end();
  down_host_ = down == hosts_.end() ? "" : down->second.label;
  frame_ns_ = std::clamp<int64_t>(run_.frame_interval_ns(), kNsPerMs, kNsPerSecond);
  next_row_ = 0;
  last_row_ = (duration_ns - 1) / interval_ns_;
  reached_ns_ = 0;
  pending_.clear();
  so_far_ = {};
  passed_ = {};
  for (auto& [number, host] : hosts_) {
    host.next.clear();
    // One that is silent by plan keeps nobody back.
    for (const auto& block : host.facts.Blocks(*spec)) host.next.push_back(block ? 0 : INT64_MAX);
    const bool armed = number < static_cast<uint32_t>(begin.host_start_ns_size()) &&
                       begin.host_start_ns(static_cast<int>(number)) != 0;
    if (armed && !host.lost) passed_.Expect(number);
  }
}

void IntervalStats::AddFrames(const v1::HostFrames& frames) {
  const auto found = hosts_.find(frames.host());
  if (!running_ || found == hosts_.end()) return;
  Host& host = found->second;
  for (const v1::Frame& frame : frames.frames()) {
    if (frame.step() == step_) AddFrame(frame, host);
  }
  if (host.next.empty()) return;
  passed_.Pass(frames.host(), *std::min_element(host.next.begin(), host.next.end()));
  GivePassed();
}

void IntervalStats::AddFrame(const v1::Frame& frame, Host& host) {
  const int64_t first = frame.first_interval();
  const int64_t end = first + (frame.closing() ? 0 : std::max<int64_t>(frame.interval_count(), 1));
  // Warm-up, or no interval of the step.
  if (first < 0 || end > (duration_ns_ + frame_ns_ - 1) / frame_ns_) return;
  if (frame.qm() >= 1 && frame.qm() <= host.next.size()) {
    host.next[frame.qm() - 1] = std::max(host.next[frame.qm() - 1], end);
  }
  reached_ns_ = std::max(reached_ns_, std::min(end * frame_ns_, duration_ns_));
  if (frame.latency().count() == 0) return;
  // A frame over several rows counts in its last one; so does, in the next row, one that comes too late.
  const int64_t first_row = std::clamp(first * frame_ns_ / interval_ns_, next_row_, last_row_);
  const int64_t row =
      frame.closing() ? last_row_ : std::clamp((end * frame_ns_ - 1) / interval_ns_, first_row, last_row_);
  Pending& pending = pending_[row];
  if (frame.latency().max_ns() > pending.sums.max_ns) {
    const bool known = frame.has_slowest();
    pending.max_host = known ? host.label : std::string();
    pending.max_qm = known ? frame.qm() : 0;
    pending.max_name = known ? host.facts.QmName(frame.qm()) : "";
  }
  pending.Add(frame.latency(), pending_.size() <= kMaxHistograms);
  if (frame.closing() || (first_row == row && first * frame_ns_ / interval_ns_ == row)) return;
  for (int64_t shared = first_row; shared <= row && pending_.size() < kMaxPending; ++shared) {
    pending_[shared].blurred = true;
  }
}

void IntervalStats::GivePassed() {
  if (!running_ || passed_.empty()) return;
  // The last row waits for the step's end: writes are still in flight.
  GiveRowsBelow(std::min(passed_.lowest() * frame_ns_ / interval_ns_, last_row_));
}

void IntervalStats::GiveRowsBelow(int64_t row) {
  while (next_row_ < row && rows_given_ < kMaxRows) GiveRow((next_row_ + 1) * interval_ns_);
  next_row_ = std::max(next_row_, row);
}

void IntervalStats::GiveRow(int64_t end_ns) {
  Pending row;
  // What is left from rows before counts here.
  while (!pending_.empty() && pending_.begin()->first <= next_row_) {
    row.Merge(pending_.begin()->second);
    pending_.erase(pending_.begin());
  }
  IntervalRow given;
  given.step = step_ + 1;
  given.steps = std::max(static_cast<uint32_t>(run_.steps_size()), step_ + 1);
  given.round_steps = run_.plan().until_steady_ns() > 0 ? static_cast<uint32_t>(run_.steps_size()) : 0;
  given.block_size_bytes = block_size_bytes_;
  given.down_host = down_host_;
  given.end_ns = std::min(end_ns, duration_ns_);
  given.interval = row.sums;
  if (row.latency != nullptr && !row.percentiles_unknown) {
    given.p50_ns = row.latency->PercentileNs(50);
    given.p99_ns = row.latency->PercentileNs(99);
  }
  given.blurred = row.blurred;
  given.max_before_ns = so_far_.sums.max_ns;
  row.latency.reset();
  so_far_.Merge(row);
  given.total = so_far_.sums;
  given.max_host = so_far_.max_host;
  given.max_qm = so_far_.max_qm;
  given.max_name = so_far_.max_name;
  ++next_row_;
  ++rows_given_;
  on_row_(given);
}

void IntervalStats::EndStep() {
  if (!running_) return;
  running_ = false;
  if (reached_ns_ == 0 && pending_.empty()) return;
  const bool whole = reached_ns_ >= duration_ns_;
  const int64_t final_row = whole ? last_row_ : std::max((reached_ns_ - 1) / interval_ns_, next_row_);
  GiveRowsBelow(final_row);
  // If the data end with a row that was given, only writes in flight remain.
  const bool complete = next_row_ * interval_ns_ >= reached_ns_ && pending_.empty();
  if (next_row_ > final_row || complete || rows_given_ >= kMaxRows) return;
  next_row_ = std::max(final_row, pending_.empty() ? 0 : pending_.rbegin()->first);
  GiveRow(std::max(reached_ns_, std::min(final_row * interval_ns_, duration_ns_)));
}

}  // namespace plimsoll
