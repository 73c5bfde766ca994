#include "controller/analysis/step_report.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/clock_check.h"
#include "controller/analysis/commit_report.h"
#include "controller/analysis/cpu_wait.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/report/main_operation.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

// A writer that waited longer than this share of the time for its recorder measured the load generator.
constexpr double kRingWaitShare = 0.001;
// Time in writes and between them must add up to the time that passed, within this.
constexpr double kAccountedTolerancePercent = 1;
// A clock whose smallest step is more than this share of the median cannot resolve latencies.
constexpr double kClockStepShare = 0.01;
// A write that was in flight for longer when the data end is reported as missing.
constexpr int64_t kLongOpenWriteNs = 1'000'000'000;
// Why a host's data end where nothing that is recorded ended them.
constexpr char kJournalEnds[] = "the journal ends";

}  // namespace

std::string StepReporter::StepName() const {
  return absl::StrCat("step ", stats_.index() + 1);
}

std::string StepReporter::WhyEarly(const HostFacts& facts, const HostStep& part) const {
  if (part.done()) return part.stopped();
  if (stats_.WasLostHere(facts)) return facts.lost->reason();
  for (const HostFacts::Fault& fault : facts.faults) {
    if (fault.fault.step() == static_cast<int32_t>(stats_.index())) return fault.fault.fault().message();
  }
  return kJournalEnds;
}

void StepReporter::OnSilentWriter(const HostFacts& facts, uint32_t qm, uint32_t operation) {
  if (operation == kMainOperation) data_missing_ = true;
  const std::string of = operation == kMainOperation ? "" : absl::StrCat(" of the ", OperationName(operation));
  run_.reasons.Add("silent", absl::StrCat(facts.WriterName(qm), ", ", StepName(), ": nothing was reported", of, "."));
}

void StepReporter::OnAbsentHost(const HostFacts& facts) {
  // A host that was lost before has its own sentence.
  NoteBook& book = facts.lost ? run_.notes : run_.loss_reasons;
  book.Add("absent", absl::StrCat(facts.label(), " took no part in ", StepName(), "."));
}

void StepReporter::OnScope(const StepScope& scope, const ScopeSums& sums) {
  const bool of_host = scope.kind == v1::SCOPE_KIND_QM || scope.kind == v1::SCOPE_KIND_HOST;
  Named name{scope.kind, of_host ? scope.facts->label() : "", scope.qm, scope.storage};
  if (scope.kind == v1::SCOPE_KIND_QM) name.queue_manager = scope.facts->QmName(scope.qm);
  if (scope.operation != kMainOperation) return AddOperationScope(name, sums, scope);
  if (scope.left_early) name.why_early = WhyEarly(*scope.facts, *scope.part);
  switch (scope.kind) {
    case v1::SCOPE_KIND_QM:
      AddInFlight(scope);
      data_missing_ = data_missing_ || sums.missing_writes > 0;
      CheckWriter(scope.host, *scope.facts, scope.qm, *scope.writer, sums);
      break;
    case v1::SCOPE_KIND_HOST:
      if (sums.generator_bound) cpu_waits_[scope.host] = sums.cpu_wait_ns;
      if (scope.storage != 0) storages_.insert(scope.storage);
      CheckHost(*scope.facts, sums);
      AddDistributions(name, sums);
      break;
    case v1::SCOPE_KIND_STORAGE:
      break;
    default:
      cluster_rows_reported_ = AccountsForRows(name, sums);
  }
  AddScope(name, sums, scope);
  const bool storage = scope.kind == v1::SCOPE_KIND_STORAGE && storages_.size() > 1;
  if (storage || scope.kind == v1::SCOPE_KIND_CLUSTER) AddDistributions(name, sums);
}

void StepReporter::AddOperationScope(const Named& name, const ScopeSums& sums, const StepScope& scope) {
  v1::OperationReport& operation = *report_.mutable_operations(static_cast<int>(scope.operation) - 1);
  if (scope.kind == v1::SCOPE_KIND_QM) {
    const char* const counted = scope.operation == stats_.read_operation() ? "reads"
                                : operation.name() == kCommitName          ? "commits"
                                : scope.operation >= stats_.first_call()   ? "calls"
                                                                           : "writes";
    if (const std::string difference = scope.writer->Disagreement(counted); !difference.empty()) {
      run_.reasons.Add("totals", absl::StrCat(scope.facts->WriterName(scope.qm), ", ", StepName(), ", ",
                                              operation.name(), ": ", difference, "."));
    }
  } else {
    if (scope.kind != v1::SCOPE_KIND_STORAGE || storages_.size() > 1) {
      AddDistribution(name, sums.latency, run_.operation_buckets_left, *operation.mutable_distributions());
    }
    AddOperationSeries(name, sums, scope, operation);
  }
  v1::OperationScopeReport& report = *operation.add_scopes();
  report.set_kind(name.kind);
  report.set_host(name.host);
  report.set_qm(name.qm);
  if (!name.queue_manager.empty()) report.set_queue_manager(name.queue_manager);
  report.set_storage(name.storage);
  *report.mutable_latency() = MakeLatencyReport(sums.latency);
  report.set_warmup_count(sums.counts.warmup_writes());
  v1::ScopeReport judged;
  if (!stats_.IsPart(scope.operation)) {
    const bool reads = scope.operation == stats_.read_operation();
    if (reads && scope.kind == v1::SCOPE_KIND_CLUSTER) reads_series_.Merge(sums.series);
    judged = MakeScopeReport(sums, WholeSecondsIn(sums.whole_ns));
    v1::OperationThroughputReport& throughput = *report.mutable_throughput();
    throughput.set_count(judged.writes());
    throughput.set_bytes(judged.bytes());
    throughput.set_iops(judged.iops());
    throughput.set_mb_per_second(judged.mb_per_second());
    if (judged.has_rate()) *report.mutable_response() = judged.rate().response();
  }
  SetSlowest(sums, judged);
  if (judged.has_slowest()) *report.mutable_slowest() = judged.slowest();
  CopySharedFields(report, judged);
  judged.set_measured_ns(sums.measured_ns);
  if (scope.kind == v1::SCOPE_KIND_CLUSTER && operation.name() == kCommitName && ManyCommitsWait(sums))
    run_.notes.Add("waiting commits", absl::StrCat(StepName(), ": ", WaitingCommits(sums), "."));
  Histogram both;
  run_.judge.Observe(report_.number(), stats_.shape().block_size_bytes,
                     {judged, sums, FeltLatency(sums, both), {}, !report_.cut_short().empty(), operation.name()});
}

v1::StepReport StepReporter::Make() {
  const StepShape& shape = stats_.shape();
  report_.set_number(stats_.index() + 1);
  report_.set_block_size_bytes(shape.block_size_bytes);
  report_.set_duration_ns(shape.duration_ns);
  report_.set_warmup_ns(shape.warmup_ns);
  report_.set_repetition(stats_.step().repetition() + 1);
  *report_.mutable_start() = run_.timeline.ToUtc(stats_.measured_start_ns());
  report_.set_cut_short(stats_.cut_short());
  SetChanges();
  for (uint32_t operation = 1; operation < stats_.operations(); ++operation) {
    report_.add_operations()->set_name(stats_.step().operations(static_cast<int>(operation)).name());
  }
  for (int unknown = static_cast<int>(stats_.operations()); unknown < stats_.step().operations_size(); ++unknown) {
    run_.reasons.Add("operation",
                     absl::StrCat(StepName(), ": this version does not know the operation '",
                                  stats_.step().operations(unknown).name(), "'; its figures are left out."));
  }
  AddStartSkew(stats_, run_, report_);
  PlanSeries();

  for (const auto& [number, facts] : run_.hosts) {
    // A host that was armed and reported nothing has its row of zeros.
    if (stats_.IsArmed(number)) stats_.Host(number, facts);
  }
  stats_.Finish();
  CheckClocks();
  const ScopeSums cluster = stats_.AddUp(run_.hosts, run_.judge.rules(), StepPhase::kOver, *this);
  report_.set_measured_ns(cluster.measured_ns);
  AddGroupCommit(report_);
  // The limit of a pass is not its length.
  if (shape.one_pass) report_.set_duration_ns(cluster.measured_ns);
  AddSlowest(stats_, run_, report_);
  stall_evidence_ = AddStalls(stats_, run_, cpu_waits_, report_);
  AddSeconds(cluster);
  AddFairness();
  AddTrend(cluster);
  AddLoad();
  JudgeStep();
  return std::move(report_);
}

void StepReporter::SetChanges() {
  const v1::LogStep& step = stats_.step();
  if (step.has_rate_per_second()) report_.set_rate_per_second(step.rate_per_second());
  if (step.qm() > 0) report_.set_queue_managers(step.qm());
  SetCommitLoad(step, report_);
  if (step.has_down_host()) {
    const auto down = run_.hosts.find(step.down_host());
    report_.set_down_host(down == run_.hosts.end() ? absl::StrCat("host number ", step.down_host())
                                                   : down->second.label());
  }
  if (step.purpose() != v1::STEP_PURPOSE_UNSPECIFIED) report_.set_purpose(step.purpose());
}

void StepReporter::JudgeStep() {
  StepFigures figures{report_};
  figures.data_missing = data_missing_;
  figures.generator_bound = !cpu_waits_.empty();
  for (const auto& [number, wait_ns] : cpu_waits_) figures.cpu_wait_ns += wait_ns;
  figures.stalls = std::move(stall_evidence_);
  for (const auto& [number, facts] : run_.hosts) {
    const auto part = stats_.hosts().find(number);
    if (part == stats_.hosts().end() || !stats_.IsArmed(number)) continue;
    if (part->second.done()) {
      figures.hosts_to_end += stats_.LeftEarly(facts, part->second, StepPhase::kOver) ? 0U : 1U;
    } else {
      figures.hosts_undecided += facts.lost ? 0U : 1U;
    }
  }
  for (const auto& [number, load] : stats_.loads()) {
    if (load.empty() || !run_.hosts.contains(number)) continue;
    figures.retransmits[run_.hosts.at(number).label()] = RetransmitsOf(number, load.retransmits());
  }
  run_.judge.ObserveStep(figures);
}

RetransmitFigures StepReporter::RetransmitsOf(uint32_t host, const RetransmitBounds& bounds) const {
  RetransmitFigures figures;
  figures.least = static_cast<double>(bounds.least);
  figures.most = bounds.most == UINT64_MAX ? kNoBound : static_cast<double>(bounds.most);
  if (bounds.went_back) {
    figures.doubt = "a kernel counter of the host decreased";
  } else if (bounds.least != bounds.most) {
    figures.doubt = "calls were retransmitted between two samples of the host, the first of them in the warm-up";
  }
  // A host that left early has data to that moment alone, and is judged as one that was lost.
  const std::optional<int64_t> start_ns = stats_.HostMeasuredStartNs(host);
  const HostFacts& facts = run_.hosts.at(host);
  const HostStep& part = stats_.hosts().at(host);
  const bool to_end = start_ns && bounds.until_ns - *start_ns >= stats_.LengthNs(host, facts, part);
  if (!to_end && !stats_.LeftEarly(facts, part, StepPhase::kOver)) {
    figures.most = kNoBound;
    figures.doubt = "no sample of the host covers them to the end of the step";
  }
  return figures;
}

void StepReporter::AddScope(const Named& name, const ScopeSums& sums, const StepScope& of) {
  const SecondExtremes extremes = sums.series.Extremes(WholeSecondsIn(sums.whole_ns));
  v1::ScopeReport& scope = *report_.add_scopes();
  scope = MakeScopeReport(sums, extremes.seconds);
  scope.set_kind(name.kind);
  scope.set_host(name.host);
  scope.set_qm(name.qm);
  if (!name.queue_manager.empty()) scope.set_queue_manager(name.queue_manager);
  scope.set_storage(name.storage);
  if (sums.data_until_ns) {
    *scope.mutable_data_until() = run_.timeline.ToUtc(stats_.measured_start_ns() + *sums.data_until_ns);
    if (!name.why_early.empty()) scope.set_data_until_reason(name.why_early);
  }
  SetSlowest(sums, scope);
  Histogram both;
  run_.judge.Observe(report_.number(), stats_.shape().block_size_bytes,
                     {scope, sums, FeltLatency(sums, both), extremes, !report_.cut_short().empty()});
  AddSeries(name, sums, of);
}

void StepReporter::SetSlowest(const ScopeSums& sums, v1::ScopeReport& scope) const {
  if (!sums.slowest || !run_.hosts.contains(sums.slowest_host)) return;
  *scope.mutable_slowest() = MakeSlowestReport(run_, sums.slowest_host, sums.slowest_qm, *sums.slowest);
}

void StepReporter::AddInFlight(const StepScope& scope) {
  const HostFacts& facts = *scope.facts;
  const std::optional<OpenWrite> write = stats_.OpenWriteOf(facts, *scope.part, scope.qm);
  if (!write) return;
  v1::InFlightReport& in_flight = *report_.add_in_flight();
  in_flight.set_host(facts.label());
  in_flight.set_qm(scope.qm);
  in_flight.set_age_ns(write->age_ns);
  in_flight.set_path(write->path);
  if (const auto moment = run_.timeline.ToTimeline(scope.host, write->since_ns)) {
    *in_flight.mutable_since() = run_.timeline.ToUtc(moment->local_ns);
  }
  // TakeWatchDone handles those of a watch.
  if (write->age_ns < kLongOpenWriteNs || facts.watched) return;
  NoteBook& book = facts.lost ? run_.loss_reasons : run_.reasons;
  book.Add("in flight",
           absl::StrFormat(
               "%s, %s: the figures do not include %s that had been in flight for %.1f s at the host's last message.",
               facts.WriterName(scope.qm), StepName(), OneOperation(stats_.step().read_percent()),
               static_cast<double>(write->age_ns) / 1e9));
}

void StepReporter::CheckWriter(uint32_t host, const HostFacts& facts, uint32_t qm, const WriterStats& writer,
                               const ScopeSums& sums) {
  const std::string who = absl::StrCat(facts.WriterName(qm), ", ", StepName(), ": ");
  const char* const operation = AnyOperation(stats_.step().read_percent());
  if (const std::string difference = writer.Disagreement(MainOperations(stats_.step())); !difference.empty()) {
    run_.reasons.Add("totals", absl::StrCat(who, difference, "."));
  }
  const double accounted = sums.AccountedPercent();
  // Threads of a watched program may write at the same time.
  const bool one_by_one = !stats_.shape().watched;
  if (one_by_one && (accounted < 100 - kAccountedTolerancePercent || accounted > 100 + kAccountedTolerancePercent)) {
    run_.reasons.Add("accounted", absl::StrFormat("%stime in %ss and between them is %.1f %% of the time that passed.",
                                                  who, operation, accounted));
  }
  const auto measured_ns = static_cast<double>(sums.measured_ns);
  if (static_cast<double>(sums.counts.ring_full_wait_ns()) > kRingWaitShare * measured_ns) {
    double& share = ring_wait_share_[host];
    share = std::max(share, static_cast<double>(sums.counts.ring_full_wait_ns()) / std::max(measured_ns, 1.0));
    run_.reasons.Add(
        "ring",
        absl::StrFormat("%sthe load generator was the bottleneck: the writer waited %.2f %% of the time "
                        "(%s times) for its recorder.",
                        who, 100 * static_cast<double>(sums.counts.ring_full_wait_ns()) / std::max(measured_ns, 1.0),
                        FormatCount(sums.counts.ring_full_waits())));
  }
  if (sums.asked_iops > 0 && !sums.rate_held) {
    run_.notes.Add("rate",
                   absl::StrFormat("%starget rate missed: %s %ss/s; %s %ss not issued at the end, backlog "
                                   "of up to %.3f s.",
                                   who, FormatTargetRate(sums.asked_iops), operation, FormatCount(sums.not_issued),
                                   operation, static_cast<double>(sums.max_behind_ns) / 1e9));
  }
  if (sums.latency.clamped() > 0) {
    run_.notes.Add("clamped", absl::StrCat(who, FormatCount(sums.latency.clamped()), MainText(),
                                           " took more than 1 h; only sum and maximum show how long.",
                                           sums.latency.max_ns() < kLongestLatencyNs
                                               ? ""
                                               : " One took 78 h or longer: how long is not known."));
  }
}

void StepReporter::CheckHost(const HostFacts& facts, const ScopeSums& sums) {
  const std::string who = absl::StrCat(facts.label(), ", ", StepName(), ": ");
  const auto resolution_ns = static_cast<double>(facts.joined.description().clock_resolution_ns());
  const auto median_ns = static_cast<double>(sums.latency.PercentileNs(50));
  if (sums.latency.count() > 0 && resolution_ns > kClockStepShare * median_ns && resolution_ns > 1) {
    run_.reasons.Add("clock", absl::StrFormat("%sthe clock is too coarse: its smallest step is %.0f ns, the median "
                                              "latency %.0f ns.",
                                              who, resolution_ns, median_ns));
  }
  // Plans with clients have no traces, and need no reminder.
  if (sums.counts.untraced_writes() > 0 && !stats_.step().has_group_commit()) {
    run_.notes.Add("untraced", absl::StrCat(who, FormatCount(sums.counts.untraced_writes()), " of ",
                                            FormatCount(sums.latency.count()), MainText(), " are in no trace."));
  }
}

void StepReporter::CheckClocks() {
  const int64_t from_ns = stats_.measured_start_ns();
  int64_t longest_ns = stats_.shape().one_pass ? 0 : stats_.shape().duration_ns;
  for (const auto& [number, part] : stats_.hosts()) {
    const auto facts = run_.hosts.find(number);
    if (facts != run_.hosts.end()) longest_ns = std::max(longest_ns, stats_.LengthNs(number, facts->second, part));
  }
  const int64_t to_ns = Clamp64(Int128{from_ns} + longest_ns);
  std::vector<HostClockChange> changes;
  std::vector<std::string> unseen;
  for (const auto& [number, part] : stats_.hosts()) {
    if (!run_.hosts.contains(number)) continue;
    const std::string& label = run_.hosts.at(number).label();
    const CoveredTime pauses(part.stalls().pauses());
    const ClockChange change = run_.timeline.ChangeOver(
        number, from_ns, to_ns, [&pauses](int64_t from, int64_t to) { return pauses.Within(from, to); });
    changes.push_back({label, change});
    // A lost host has worse trouble than an unknown clock speed.
    const int64_t length_ns = stats_.LengthNs(number, run_.hosts.at(number), part);
    const int64_t measured_ns = part.done() ? std::min(part.covered_ns(), length_ns) : 0;
    const int64_t unseen_ns = run_.timeline.UnseenNs(number, from_ns, Clamp64(Int128{from_ns} + measured_ns));
    if (IsUnseen(unseen_ns, measured_ns)) {
      unseen.push_back(absl::StrCat("the speed of ", label, "'s clock is not known: it answered no probe for ",
                                    FormatLength(unseen_ns / kNsPerMs * kNsPerMs), " of ", StepName()));
    }
    if (!IsWrongPace(change)) continue;
    run_.notes.Add("pace",
                   absl::StrCat(label, ", ", StepName(), ": ", PaceFigures(change, run_.timeline.max_slew_ppm()),
                                ". Latencies come from that clock."));
    double& speed_ppm = run_.wrong_speeds_ppm[number];
    if (std::abs(PacePpm(change)) >= std::abs(speed_ppm)) speed_ppm = PacePpm(change);
  }
  std::vector<std::string> wrong = WrongClocks(changes);
  wrong.insert(wrong.end(), unseen.begin(), unseen.end());
  for (const std::string& what : wrong) run_.reasons.Add(kClockPaceReason, absl::StrCat(what, "."));
  if (!wrong.empty()) run_.judge.Distrust(report_.number(), absl::StrJoin(wrong, "; "));
}

void StepReporter::AddDistributions(const Named& name, const ScopeSums& sums) {
  uint64_t& left = run_.distribution_buckets_left;
  AddDistribution(name, sums.latency, left, *report_.mutable_distributions());
  if (!stats_.shape().rated) return;
  Histogram both;
  AddDistribution(name, FeltLatency(sums, both), left, *report_.mutable_response()->mutable_distributions());
}

void StepReporter::AddDistribution(const Named& name, const Histogram& latency, uint64_t& buckets_left,
                                   google::protobuf::RepeatedPtrField<v1::DistributionReport>& distributions) {
  v1::DistributionReport distribution = MakeDistribution(latency);
  const auto buckets = static_cast<uint64_t>(distribution.from_ns_size());
  if (buckets > buckets_left) {
    if (!distributions_missing_) {
      run_.notes.Add("distributions", absl::StrCat(StepName(),
                                                   ": distributions of single hosts, storages or the "
                                                   "cluster are left out: all steps together have more "
                                                   "than ",
                                                   FormatCount(kDistributionBuckets), " buckets."));
    }
    distributions_missing_ = true;
    return;
  }
  buckets_left -= buckets;
  distribution.set_kind(name.kind);
  distribution.set_host(name.host);
  distribution.set_storage(name.storage);
  *distributions.Add() = std::move(distribution);
}

void StepReporter::AddFairness() {
  std::vector<double> hosts;
  std::vector<double> qms;
  for (const v1::ScopeReport& scope : OfKind(report_.scopes(), v1::SCOPE_KIND_HOST)) hosts.push_back(scope.iops());
  for (const v1::ScopeReport& scope : OfKind(report_.scopes(), v1::SCOPE_KIND_QM)) qms.push_back(scope.iops());
  // Queue managers of a placement have loads of their own: a difference between them is not unfair.
  const bool placed = std::any_of(run_.hosts.begin(), run_.hosts.end(),
                                  [](const auto& host) { return host.second.Placed(1) != nullptr; });
  // Nothing was shared out where nothing was written; watched programs have loads of their own, too.
  if (qms.size() < 2 || placed || stats_.shape().watched || *std::max_element(qms.begin(), qms.end()) <= 0) return;
  report_.mutable_fairness()->set_hosts(JainIndex(hosts));
  report_.mutable_fairness()->set_queue_managers(JainIndex(qms));
}

void StepReporter::AddTrend(const ScopeSums& cluster) {
  // In a pass, threads end one by one.
  const bool whole = stats_.shape().watched && cluster.measured_ns >= stats_.shape().duration_ns;
  if (!cluster_rows_reported_ || (stats_.shape().one_pass && !whole)) return;
  SecondSeries series;
  series.Merge(cluster.series);
  series.Merge(reads_series_);
  const auto trend = MakeTrend(WholeSeconds(series, WholeSecondsIn(cluster.whole_ns)));
  if (!trend) return;
  *report_.mutable_trend() = *trend;
  const std::string note = UnsettledNote(*trend, HostsWereTroubled());
  if (!note.empty() && !stats_.shape().watched) run_.notes.Add("unsettled", absl::StrCat(StepName(), ": ", note));
}

}  // namespace plimsoll
