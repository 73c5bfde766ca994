#include "controller/analysis/step_stats.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "controller/analysis/cpu_wait.h"
#include "controller/analysis/watch_report.h"
#include "controller/fold/aged_seconds.h"

namespace plimsoll {

WriterStats* HostStep::Writer(uint32_t qm, uint32_t operation) {
  if (operation >= writers_.size() || qm == 0 || qm > blocks_.size() || !Writes(qm)) return nullptr;
  std::unique_ptr<WriterStats>& writer = writers_[operation][qm - 1];
  if (!writer) {
    StepShape own = shape_;
    own.rated = IsRated(operation);
    // The part of a write has no bytes of its own.
    writer = std::make_unique<WriterStats>(own, IsWhole(operation) ? *blocks_[qm - 1] : BlockRange());
  }
  return writer.get();
}

int64_t HostStep::last_end_ns(uint32_t qm) const {
  const WriterStats* const writer = writers()[qm - 1].get();
  const WriterStats* const reads_too = reads(qm);
  return std::max(writer == nullptr ? 0 : writer->last_end_ns(), reads_too == nullptr ? 0 : reads_too->last_end_ns());
}

int64_t HostStep::usual_ns(uint32_t qm) const {
  const WriterStats* const writer = writers()[qm - 1].get();
  const WriterStats* const reads_too = reads(qm);
  return static_cast<int64_t>(std::max(writer == nullptr ? 0 : writer->latency().PercentileNs(50),
                                       reads_too == nullptr ? 0 : reads_too->latency().PercentileNs(50)));
}

absl::Status HostStep::NoWriter(uint32_t qm, uint32_t operation) const {
  if (operation >= writers_.size())
    return absl::InvalidArgumentError("an operation that the step does not have, or this version does not know");
  const bool silent = qm >= 1 && qm <= blocks_.size();
  return absl::InvalidArgumentError(silent ? "a writer that is silent in the step"
                                           : "a writer that the host does not have");
}

uint32_t HostStep::active_writers() const {
  return static_cast<uint32_t>(
      std::count_if(blocks_.begin(), blocks_.end(), [](const auto& block) { return block.has_value(); }));
}

absl::Status HostStep::AddFrame(const v1::Frame& frame, SumGuard& guard) {
  if (done_) return absl::InvalidArgumentError("a frame after the step's end");
  WriterStats* writer = Writer(frame.qm(), frame.operation());
  if (writer == nullptr) return NoWriter(frame.qm(), frame.operation());
  if (frame.operation() != kMainOperation) {
    PLIMSOLL_RETURN_IF_ERROR(writer->Add(frame, guard));
    if (folded_ && writer->PartOf(frame).value_or(FramePart::kWarmup) == FramePart::kMeasured) {
      folded_->Add(frame, IsRated(frame.operation()));
    }
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(stalls_.Check(frame));
  PLIMSOLL_RETURN_IF_ERROR(writer->Add(frame, guard));
  // The median is only looked up where it is needed.
  stalls_.Take(frame, frame.stalls().empty() ? 0 : usual_ns(frame.qm()), writer->latency().count());
  PLIMSOLL_ASSIGN_OR_RETURN(const FramePart part, writer->PartOf(frame));
  if (part == FramePart::kWarmup) AddWarmup(frame);
  if (folded_ && part == FramePart::kMeasured) folded_->Add(frame, shape_.rated);
  if (part != FramePart::kMeasured || frame.latency().count() == 0) return absl::OkStatus();
  const std::optional<WideRange> seconds = SecondsOf(shape_, frame, frame.first_interval());
  if (!seconds) return absl::OkStatus();
  if (frame.has_aged()) {
    SpoilAged(frame);
    return absl::OkStatus();
  }
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
    if (seconds->first == seconds->last) {
      percentiles_[kind].Add(frame.qm(), seconds->first, TimesOf(frame, kind));
    } else {
      // The series has one row for all of them, and its percentiles are not known.
      percentiles_[kind].Spoil(frame.qm(), seconds->first);
    }
  }
  return absl::OkStatus();
}

void HostStep::Fold(std::unique_ptr<FoldedHost> folded) {
  folded_ = std::move(folded);
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) percentiles_[kind].KeepBelow(folded_->step().whole_seconds());
}

void HostStep::ClosePassedSeconds() {
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
    percentiles_[kind].CloseBelow(passed_seconds());
    warmup_[kind].CloseBelow(passed_warmup_seconds());
  }
  if (!folded_) return;
  const uint32_t aged_below = folded_->Close(passed_seconds());
  if (aged_below == 0) return;
  const uint32_t from = folded_->step().keeps_writer_seconds() ? folded_->step().whole_seconds() : 0;
  for (const auto& writers : writers_) {
    for (const auto& writer : writers) {
      if (writer) writer->AgeBelow(from, aged_below);
    }
  }
}

void HostStep::SpoilAged(const v1::Frame& frame) {
  ForEachAgedSecond(frame, kNsPerSecond / shape_.interval_ns, [&](const AgedSecond& second) {
    if (second.writes == 0) return;
    for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
      percentiles_[kind].Spoil(frame.qm(), static_cast<uint32_t>(second.second));
    }
  });
}

void HostStep::AddWarmup(const v1::Frame& frame) {
  if (frame.latency().count() == 0) return;
  const std::optional<WideRange> seconds = SecondsOf(shape_, frame, frame.first_interval() + shape_.warmup_intervals());
  if (!seconds) return;
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
    const v1::Distribution& times = TimesOf(frame, kind);
    warmup_series_[kind].Add(seconds->first, WriteSumsOf(times, frame.bytes()));
    if (seconds->first == seconds->last) {
      warmup_[kind].Add(frame.qm(), seconds->first, times);
    } else {
      warmup_[kind].Spoil(frame.qm(), seconds->first);
    }
  }
}

uint32_t HostStep::passed_warmup_seconds() const {
  const int64_t intervals = shape_.warmup_intervals();
  const int64_t next = all_next_interval().value_or(-intervals);
  // The last second of the warm-up may be a part of one.
  const int64_t passed = next >= 0 ? shape_.SecondOf(intervals + kNsPerSecond / shape_.interval_ns - 1)
                                   : shape_.SecondOf(next + intervals);
  return static_cast<uint32_t>(std::clamp<int64_t>(passed, 0, kMaxSeriesSeconds));
}

void HostStep::NoteRefusal(uint32_t qm) {
  for (uint32_t operation = 0; operation < writers_.size(); ++operation) {
    if (WriterStats* writer = Writer(qm, operation); writer != nullptr) writer->NoteRefusal();
  }
}

absl::Status HostStep::AddSample(const v1::HostSample& sample) {
  if (done_) return absl::InvalidArgumentError("a sample after the step's end");
  return stalls_.AddPauses(sample);
}

absl::Status HostStep::SetTotals(const v1::WriterTotals& totals, SumGuard& guard) {
  WriterStats* writer = Writer(totals.qm(), totals.operation());
  if (writer == nullptr) return NoWriter(totals.qm(), totals.operation());
  return writer->SetTotals(totals, guard);
}

void HostStep::ForgetBelow(uint32_t second) {
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) percentiles_[kind].ForgetBelow(second);
  for (const auto& writers : writers_) {
    for (const auto& writer : writers) {
      if (writer) writer->ForgetBelow(second);
    }
  }
}

void HostStep::SetDone(const std::string& stopped) {
  done_ = true;
  stopped_ = stopped;
}

int64_t HostStep::covered_ns() const {
  int64_t covered_ns = 0;
  for (const auto& writer : writers()) {
    if (writer) covered_ns = std::max(covered_ns, writer->covered_ns());
  }
  return covered_ns;
}

int64_t HostStep::all_covered_ns() const {
  int64_t covered_ns = shape_.duration_ns;
  for (size_t qm = 1; qm <= blocks_.size(); ++qm) {
    const auto& writer = writers()[qm - 1];
    if (Writes(qm)) covered_ns = std::min(covered_ns, writer ? writer->covered_ns() : 0);
  }
  return covered_ns;
}

std::optional<int64_t> HostStep::all_next_interval() const {
  int64_t next = INT64_MAX;
  for (size_t qm = 1; qm <= blocks_.size(); ++qm) {
    if (!Writes(qm)) continue;
    const auto& writer = writers()[qm - 1];
    if (!writer || !writer->started()) return std::nullopt;
    next = std::min(next, writer->next_interval());
  }
  if (next == INT64_MAX) return std::nullopt;
  return next;
}

bool StepStats::WasLostHere(const HostFacts& facts) const {
  return facts.lost && facts.lost->step() == static_cast<int32_t>(index_);
}

bool StepStats::Failed(const HostFacts& facts) const {
  return std::any_of(facts.faults.begin(), facts.faults.end(), [this](const HostFacts::Fault& fault) {
    return fault.fault.step() == static_cast<int32_t>(index_);
  });
}

bool StepStats::LeftEarly(const HostFacts& facts, const HostStep& part, StepPhase phase) const {
  if (!part.done()) return phase == StepPhase::kOver || facts.lost.has_value();
  if (part.stopped().empty()) return false;
  // A host that ended with the others gives the step's own reason, which the stop message carried.
  return part.stopped() != cut_short_ || WasLostHere(facts);
}

MeasuredPart StepStats::MeasuredPartOf(uint32_t host, const HostFacts& facts, const HostStep& part,
                                       StepPhase phase) const {
  MeasuredPart measured;
  measured.done = part.done();
  measured.left_early = LeftEarly(facts, part, phase);
  measured.start_ns = HostMeasuredStartNs(host);
  if (!part.done()) {
    measured.measured_ns = part.covered_ns();
  } else if (part.stopped().empty() &&
             (!shape_.one_pass || (shape_.watched && part.covered_ns() >= shape_.duration_ns))) {
    measured.measured_ns = shape_.duration_ns;
  } else {
    for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
      if (!part.writers()[qm - 1] || !measured.start_ns) continue;
      measured.measured_ns = std::max(measured.measured_ns, part.last_end_ns(qm) - *measured.start_ns);
    }
    measured.measured_ns = std::min(measured.measured_ns, shape_.duration_ns);
    if (measured.measured_ns == 0) measured.measured_ns = part.covered_ns();
  }
  return measured;
}

int64_t StepStats::LengthNs(uint32_t host, const HostFacts& facts, const HostStep& part) const {
  return shape_.one_pass ? MeasuredPartOf(host, facts, part, StepPhase::kOver).measured_ns : shape_.duration_ns;
}

int64_t StepStats::CoveredNs() const {
  if (!shape_.one_pass) return shape_.duration_ns;
  int64_t covered_ns = 0;
  for (const auto& [number, part] : hosts_) covered_ns = std::max(covered_ns, part.covered_ns());
  return covered_ns;
}

std::optional<OpenWrite> StepStats::OpenWriteOf(const HostFacts& facts, const HostStep& part, uint32_t qm,
                                                uint32_t operation) const {
  if (part.done() && facts.watched) {
    for (const v1::OpenOperation& open : facts.watched->open()) {
      if (open.qm() == qm && open.operation() == operation) {
        return OpenWrite{open.since_ns(), std::max<int64_t>(open.age_ns(), 0), open.path()};
      }
    }
    return std::nullopt;
  }
  const WriterStats& writer = *part.writers()[qm - 1];
  if (part.done() || writer.closed()) return std::nullopt;
  OpenWrite write{writer.in_flight_since_ns(), writer.last_cut_ns() - writer.in_flight_since_ns()};
  // The agent's last report of it is newer than the last frame.
  if (WasLostHere(facts)) {
    for (const v1::InFlight& last : facts.lost->in_flight()) {
      if (last.qm() != qm || last.filling() || last.since_ns() < part.last_end_ns(qm)) continue;
      write = {last.since_ns(), last.age_ns(), last.path()};
    }
  }
  if (write.since_ns == 0) return std::nullopt;
  write.age_ns = std::max<int64_t>(write.age_ns, 0);
  return write;
}

ScopeSums StepStats::AddUpHost(uint32_t host, const HostFacts& facts, const HostStep& part, uint32_t rules,
                               StepPhase phase, bool any_rate, uint32_t operation, ScopeVisitor& visitor) const {
  const bool is_main = operation == kMainOperation;
  const bool is_part = IsPart(operation);
  const bool mixed = read_operation() != kMainOperation;
  const MeasuredPart measured = MeasuredPartOf(host, facts, part, phase);
  const bool bounds = !WatchDoubts(facts).empty();
  ScopeSums all;
  all.measured_ns = measured.measured_ns;
  all.whole_ns = measured.measured_ns;
  // It was lost, or a write of it failed: the others went on without it.
  all.lost = part.done() ? measured.left_early && Failed(facts) : facts.lost.has_value();
  const std::optional<double> allowed_ns = CpuWaitToAllow(*this, host, facts, rules, measured.measured_ns);
  all.generator_bound = allowed_ns.has_value();
  for (uint32_t qm = 1; qm <= part.writers(operation).size(); ++qm) {
    const WriterStats* writer = part.writers(operation)[qm - 1].get();
    const WriterStats* whole = part.writers()[qm - 1].get();
    if (writer == nullptr) {
      if (!part.done() || !part.Writes(qm) || !facts.Measures(step_, operation)) continue;
      all.missing_writes = UINT64_MAX;
      // A writer that is silent altogether is named once.
      if (is_main || whole != nullptr) visitor.OnSilentWriter(facts, qm, operation);
      continue;
    }
    MeasuredPart own = measured;
    if (!part.done()) own.measured_ns = writer->covered_ns();
    // A part has no schedule of its own: what a writer is late by is the whole write's.
    const double rate_per_second = is_part ? 0 : facts.rate_per_second(step_, qm);
    const AskedLoad asked{rate_per_second, facts.random_arrivals(step_)};
    ReadsBeside beside;
    if (mixed) {
      beside.stats = part.reads(qm);
      beside.missing = beside.stats != nullptr ? beside.stats->MissingWrites(own.done) : own.done ? UINT64_MAX : 0;
    }
    ScopeSums sums =
        is_main ? SumsOfWriter(*writer, beside, host, qm, own, asked) : SumsOfOperation(*writer, host, qm, own, asked);
    if (!is_main && !is_part && whole != nullptr) {
      // What a writer waited for its recorder is in the frames of its writes.
      sums.elapsed_ns = SumsOfWriter(*whole, beside, host, qm, own, asked).elapsed_ns;
      sums.counts.set_ring_full_waits(whole->counts().ring_full_waits());
      sums.counts.set_ring_full_wait_ns(whole->counts().ring_full_wait_ns());
    }
    sums.clock_step_ns = facts.joined.description().clock_resolution_ns();
    if (!is_part && any_rate && rate_per_second <= 0) sums.unscheduled.Merge(writer->latency());
    // Each write has the part.
    if (is_part && (whole == nullptr || whole->latency().count() != writer->latency().count() ||
                    whole->counts().warmup_writes() != writer->counts().warmup_writes())) {
      sums.missing_writes = UINT64_MAX;
    }
    // The journal does not show whether an operation in flight read or wrote, nor which part a write had reached.
    if (whole != nullptr) {
      const bool of_watch = part.done() && facts.watched;
      const auto open = OpenWriteOf(facts, part, qm, of_watch ? operation : kMainOperation);
      if (open) sums.in_flight_ages_ns.push_back(of_watch || (is_main && !mixed) ? open->age_ns : 0);
    }
    if (bounds) sums.missing_writes = UINT64_MAX;
    sums.lost = all.lost;
    sums.generator_bound = all.generator_bound;
    sums.cpu_wait_ns = allowed_ns.value_or(0);
    visitor.OnScope({v1::SCOPE_KIND_QM, host, &facts, &part, qm, writer, facts.storage, measured.left_early, operation},
                    sums);
    if (folded_) sums.DropSeries();
    all.Merge(sums);
  }
  if (folded_) {
    all.series.Merge(part.folded()->series(operation)[TimeKind::kService]);
    all.response_series.Merge(part.folded()->series(operation)[TimeKind::kResponse]);
  }
  // Each of the writers has the wait of them all.
  all.cpu_wait_ns = allowed_ns.value_or(0);
  if (measured.left_early) all.data_until_ns = part.done() ? measured.measured_ns : part.all_covered_ns();
  visitor.OnScope({v1::SCOPE_KIND_HOST, host, &facts, &part, 0, nullptr, facts.storage, measured.left_early, operation},
                  all);
  return all;
}

ScopeSums StepStats::AddUp(const HostTable& hosts, uint32_t rules, StepPhase phase, ScopeVisitor& visitor) const {
  ScopeSums writes = AddUpOperation(hosts, rules, phase, kMainOperation, visitor);
  for (uint32_t operation = 1; operation < operations(); ++operation) {
    AddUpOperation(hosts, rules, phase, operation, visitor);
  }
  return writes;
}

ScopeSums StepStats::AddUpOperation(const HostTable& hosts, uint32_t rules, StepPhase phase, uint32_t operation,
                                    ScopeVisitor& visitor) const {
  const auto any = [this, &hosts](const auto& condition) {
    return std::any_of(hosts_.begin(), hosts_.end(),
                       [&](const auto& host) { return condition(hosts.at(host.first), host.second); });
  };
  const bool any_done = any([](const HostFacts& /*facts*/, const HostStep& part) { return part.done(); });
  const bool any_stayed =
      any([&](const HostFacts& facts, const HostStep& part) { return !LeftEarly(facts, part, phase); });
  const bool any_rate = std::any_of(hosts.begin(), hosts.end(),
                                    [this](const auto& host) { return host.second.rate_per_second(step_) > 0; });
  std::map<uint32_t, ScopeSums> storages;
  ScopeSums cluster;
  const auto add = [&](const HostFacts& facts, const ScopeSums& sums) {
    if (facts.storage != 0) storages[facts.storage].Merge(sums);
    cluster.Merge(sums);
  };
  std::set<uint32_t> absent_from;
  for (const auto& [number, facts] : hosts) {
    if (!facts.Measures(step_, operation)) continue;
    const auto found = hosts_.find(number);
    if (found != hosts_.end()) {
      const HostStep& part = found->second;
      ScopeSums sums = AddUpHost(number, facts, part, rules, phase, any_rate, operation, visitor);
      // A second that a lost host, or one that stopped by itself, did not live to see is a whole second of the others
      // all the same.
      const bool gone = any_stayed ? LeftEarly(facts, part, phase) : any_done ? !part.done() : facts.lost.has_value();
      if (gone) sums.whole_ns = INT64_MAX;
      if (folded_) sums.DropSeries();
      add(facts, sums);
    } else if (IsArmed(number)) {
      // Its first frames are under way: not even the first second is whole.
      ScopeSums nothing;
      nothing.whole_ns = facts.lost ? INT64_MAX : 0;
      nothing.lost = facts.lost.has_value();
      add(facts, nothing);
    } else if (facts.lost || !facts.IsSilent(step_)) {
      if (operation == kMainOperation) visitor.OnAbsentHost(facts);
      cluster.lost = true;
      absent_from.insert(facts.storage);
    }
  }
  for (auto& [number, sums] : storages) {
    sums.whole_ns = std::min(sums.whole_ns, sums.measured_ns);
    sums.lost = sums.lost || absent_from.contains(number);
    if (folded_) SetStorageSeries(hosts, number, operation, sums);
    visitor.OnScope({.kind = v1::SCOPE_KIND_STORAGE, .storage = number, .operation = operation}, sums);
  }
  cluster.whole_ns = std::min(cluster.whole_ns, cluster.measured_ns);
  if (folded_) {
    cluster.series.Merge(folded_->cluster()[operation][TimeKind::kService]);
    cluster.response_series.Merge(folded_->cluster()[operation][TimeKind::kResponse]);
  }
  visitor.OnScope({.kind = v1::SCOPE_KIND_CLUSTER, .operation = operation}, cluster);
  return cluster;
}

absl::Status StepStats::Begin(const v1::StepBegin& begin, const HostTable& hosts) {
  if (!IsSaneMoment(begin.start_ns())) return absl::InvalidArgumentError("a start that no clock shows");
  for (const int64_t start_ns : begin.host_start_ns()) {
    if (!IsSaneMoment(start_ns)) return absl::InvalidArgumentError("a host's start that no clock shows");
  }
  begin_ = begin;
  const std::map<uint32_t, uint32_t> storages = StoragesOfArmed(hosts);
  if (folded_) folded_->Expect(storages);
  std::map<uint32_t, uint32_t> no_storages = storages;
  for (auto& [number, storage] : no_storages) storage = 0;
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
    percentiles_[kind].Expect(storages);
    warmup_percentiles_[kind].Expect(no_storages);
  }
  return absl::OkStatus();
}

std::map<uint32_t, uint32_t> StepStats::StoragesOfArmed(const HostTable& hosts) const {
  std::map<uint32_t, uint32_t> storages;
  for (const auto& [number, facts] : hosts) {
    if (IsArmed(number) && !facts.lost) storages[number] = facts.storage;
  }
  return storages;
}

void StepStats::Fold(uint32_t whole_seconds, bool keep_writer_seconds, const HostTable& hosts) {
  folded_ = std::make_unique<FoldedStep>(shape_, operations(), whole_seconds, keep_writer_seconds);
  folded_->Expect(StoragesOfArmed(hosts));
  // Rather minutes from the begin on than columns that end within the first hour.
  const bool room = hosts.size() * uint64_t{whole_seconds} <= kLoadRows;
  load_minutes_from_ns_ = room ? int64_t{whole_seconds} * kNsPerSecond : 0;
}

bool StepStats::OutlastsWholeSeconds() const {
  if (!folded_) return false;
  const int64_t whole_ns = int64_t{folded_->whole_seconds()} * kNsPerSecond;
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [whole_ns](const auto& host) { return host.second.covered_ns() > whole_ns; });
}

void StepStats::SetStorageSeries(const HostTable& hosts, uint32_t storage, uint32_t operation, ScopeSums& sums) const {
  std::set<uint32_t> members;
  std::vector<const PerTime<SecondSeries>*> with_frames;
  for (const auto& [number, part] : hosts_) {
    if (hosts.at(number).storage != storage) continue;
    members.insert(number);
    const PerTime<SecondSeries>& of_host = part.folded()->series(operation);
    if (of_host[TimeKind::kService].frames() > 0) with_frames.push_back(&of_host);
  }
  const OperationSeries* const shared = folded_->Storage(members);
  const PerTime<SecondSeries>* series = nullptr;
  if (with_frames.size() == 1) {
    series = with_frames.front();
  } else if (shared != nullptr) {
    series = &(*shared)[operation];
  } else if (members.size() == hosts_.size()) {
    series = &folded_->cluster()[operation];
  }
  if (series == nullptr) return;
  sums.series.Merge((*series)[TimeKind::kService]);
  sums.response_series.Merge((*series)[TimeKind::kResponse]);
}

HostStep& StepStats::Host(uint32_t host, const HostFacts& facts) {
  if (const auto known = hosts_.find(host); known != hosts_.end()) return known->second;
  const auto sinks = [host](PerTime<StepPercentiles>& percentiles) {
    return PerTime(percentiles[TimeKind::kService].SinksOf(host), percentiles[TimeKind::kResponse].SinksOf(host));
  };
  const std::vector<std::optional<BlockRange>> blocks = facts.Blocks(step_);
  HostStep& part = hosts_
                       .try_emplace(host, shape_, blocks, operations(), read_operation(), first_call(),
                                    sinks(percentiles_), sinks(warmup_percentiles_), stall_budget_)
                       .first->second;
  if (folded_) {
    part.Fold(std::make_unique<FoldedHost>(*folded_, host, facts.storage, static_cast<uint32_t>(blocks.size())));
  }
  return part;
}

void StepStats::ClosePassedSeconds(uint32_t host) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  HostStep& part = found->second;
  part.ClosePassedSeconds();
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
    percentiles_[kind].Pass(host, part.passed_seconds());
    warmup_percentiles_[kind].Pass(host, part.passed_warmup_seconds());
  }
  if (folded_) folded_->Pass(host, part.passed_seconds());
}

absl::Status StepStats::AddSample(uint32_t host, const HostFacts& facts, const v1::HostSample& sample,
                                  uint64_t& rows_left) {
  HostStep& part = Host(host, facts);
  PLIMSOLL_RETURN_IF_ERROR(part.AddSample(sample));
  const std::optional<int64_t> start_ns = HostStartNs(host);
  if (!start_ns) return absl::OkStatus();
  const bool reads = step_.read_percent() > 0;
  const auto [load, added] =
      loads_.try_emplace(host, *start_ns, *start_ns + shape_.warmup_ns, part.active_writers(), reads);
  if (added && folded_) load->second.MakeMinutes(load_minutes_from_ns_);
  return load->second.Add(sample, rows_left);
}

void StepStats::Leave(uint32_t host) {
  const auto found = hosts_.find(host);
  if (found != hosts_.end()) found->second.Finish();
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
    percentiles_[kind].Leave(host);
    warmup_percentiles_[kind].Leave(host);
  }
  if (folded_) folded_->Leave(host);
}

void StepStats::Finish() {
  for (auto& [number, part] : hosts_) part.Finish();
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) percentiles_[kind].Finish();
  if (folded_) folded_->Finish();
}

void StepStats::ForgetBelow(uint32_t second) {
  for (auto& [number, part] : hosts_) part.ForgetBelow(second);
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) percentiles_[kind].ForgetBelow(second);
}

std::optional<int64_t> StepStats::HostStartNs(uint32_t host) const {
  if (host >= static_cast<uint32_t>(begin_.host_start_ns_size())) return std::nullopt;
  const int64_t start_ns = begin_.host_start_ns(static_cast<int>(host));
  if (start_ns == 0) return std::nullopt;
  return start_ns;
}

std::optional<int64_t> StepStats::HostMeasuredStartNs(uint32_t host) const {
  const std::optional<int64_t> start_ns = HostStartNs(host);
  if (!start_ns) return std::nullopt;
  return *start_ns + shape_.warmup_ns;
}

}  // namespace plimsoll
