#include "controller/analysis/step_report.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "controller/analysis/step_slowest.h"
#include "controller/analysis/step_stalls.h"

namespace plimsoll {
namespace {

// A writer that waited longer than this share of the time for its recorder measured the harness.
constexpr double kRingWaitShare = 0.001;
// Time in writes and between them must add up to the time that passed, within this.
constexpr double kAccountedTolerancePercent = 1;
// A clock whose smallest step is more than this share of the median cannot tell latencies apart.
constexpr double kClockStepShare = 0.01;
// A write that was in flight for longer when the data end is told to be missing.
constexpr int64_t kTellMissingWriteNs = 1'000'000'000;
// Why a host's data end where nothing that is recorded ended them.
constexpr char kJournalEnds[] = "the journal ends";

std::string WriterName(const std::string& host, uint32_t qm) {
  return absl::StrCat(host, "/qm", qm);
}

}  // namespace

std::string StepReporter::StepName() const {
  return absl::StrCat("step ", stats_.index() + 1);
}

bool StepReporter::WasLostHere(const HostFacts& facts) const {
  return facts.lost && facts.lost->step() == static_cast<int32_t>(stats_.index());
}

bool StepReporter::LeftEarly(const HostFacts& facts, const HostStep& part) const {
  if (!part.done()) return true;
  if (part.stopped().empty()) return false;
  // A host that ended with the others gives the step's own reason, which the stop message carried.
  return part.stopped() != stats_.cut_short() || WasLostHere(facts);
}

bool StepReporter::WasDropped(const HostFacts& facts, const HostStep& part) const {
  if (!part.done()) return facts.lost.has_value();
  const bool failed = std::any_of(facts.faults.begin(), facts.faults.end(), [this](const HostFacts::Fault& fault) {
    return fault.fault.step() == static_cast<int32_t>(stats_.index());
  });
  return failed && LeftEarly(facts, part);
}

std::string StepReporter::WhyEarly(const HostFacts& facts, const HostStep& part) const {
  if (part.done()) return part.stopped();
  if (WasLostHere(facts)) return facts.lost->reason();
  for (const HostFacts::Fault& fault : facts.faults) {
    if (fault.fault.step() == static_cast<int32_t>(stats_.index())) return fault.fault.fault().message();
  }
  return kJournalEnds;
}

MeasuredStretch StepReporter::StretchOf(uint32_t host, const HostFacts& facts, const HostStep& part) const {
  MeasuredStretch stretch;
  stretch.done = part.done();
  stretch.left_early = LeftEarly(facts, part);
  stretch.start_ns = stats_.HostMeasuredStartNs(host);
  if (!part.done()) {
    stretch.measured_ns = part.covered_ns();
  } else if (part.stopped().empty()) {
    stretch.measured_ns = stats_.shape().duration_ns;
  } else {
    for (const auto& writer : part.writers()) {
      if (!writer || !stretch.start_ns) continue;
      stretch.measured_ns = std::max(stretch.measured_ns, writer->last_end_ns() - *stretch.start_ns);
    }
    stretch.measured_ns = std::min(stretch.measured_ns, stats_.shape().duration_ns);
    if (stretch.measured_ns == 0) stretch.measured_ns = part.covered_ns();
  }
  return stretch;
}

ScopeSums StepReporter::AddWriters(uint32_t host, const HostFacts& facts, HostStep& part) {
  part.Finish();
  const MeasuredStretch stretch = StretchOf(host, facts, part);
  const std::string why = stretch.left_early ? WhyEarly(facts, part) : "";
  ScopeSums all;
  all.measured_ns = stretch.measured_ns;
  all.whole_ns = stretch.measured_ns;
  all.lost = WasDropped(facts, part);
  for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
    const WriterStats* writer = part.writers()[qm - 1].get();
    if (writer == nullptr) {
      if (part.done()) {
        data_missing_ = true;
        all.missing_writes = UINT64_MAX;
        run_.reasons.Add("silent",
                         absl::StrCat(WriterName(facts.label(), qm), ", ", StepName(), ": nothing was reported."));
      }
      continue;
    }
    MeasuredStretch own = stretch;
    if (!part.done()) own.measured_ns = writer->covered_ns();
    ScopeSums sums = SumsOfWriter(*writer, host, qm, own, facts.rate_per_second(), facts.random_arrivals());
    if (!part.done()) AddInFlight(host, facts, qm, *writer, sums);
    sums.lost = all.lost;
    sums.clock_step_ns = facts.joined.description().clock_resolution_ns();
    if (any_rate_ && facts.rate_per_second() <= 0) sums.unscheduled.Merge(writer->latency());
    data_missing_ = data_missing_ || sums.missing_writes > 0;
    CheckWriter(host, facts.label(), qm, *writer, sums);
    AddScope({v1::SCOPE_KIND_QM, facts.label(), qm, facts.storage, why}, sums, &part.percentiles().qm(qm));
    all.Merge(sums);
  }
  if (stretch.left_early) all.data_until_ns = part.done() ? stretch.measured_ns : part.all_covered_ns();
  return all;
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
  AddStartSkew();
  PlanSeries();

  const auto any = [this](const auto& condition) {
    return std::any_of(stats_.hosts().begin(), stats_.hosts().end(),
                       [&](const auto& host) { return condition(run_.hosts.at(host.first), host.second); });
  };
  const bool any_done = any([](const HostFacts& /*facts*/, const HostStep& part) { return part.done(); });
  const bool any_stayed = any([this](const HostFacts& facts, const HostStep& part) { return !LeftEarly(facts, part); });
  any_rate_ = std::any_of(run_.hosts.begin(), run_.hosts.end(),
                          [](const auto& host) { return host.second.rate_per_second() > 0; });
  std::map<uint32_t, ScopeSums> storages;
  ScopeSums cluster;
  std::set<uint32_t> absent_from;
  for (const auto& [number, facts] : run_.hosts) {
    const auto found = stats_.hosts().find(number);
    if (found == stats_.hosts().end()) {
      // A host that was armed and told nothing has its row of zeros.
      if (!stats_.IsArmed(number)) {
        // One that was lost before has its own sentence.
        NoteBook& book = facts.lost ? run_.notes : run_.loss_reasons;
        book.Add("absent", absl::StrCat(facts.label(), " took no part in ", StepName(), "."));
        cluster.lost = true;
        absent_from.insert(facts.storage);
        continue;
      }
      stats_.Host(number, facts.qms());
    }
    HostStep& part = stats_.hosts().at(number);
    ScopeSums sums = AddWriters(number, facts, part);
    CheckHost(facts, sums);
    AddDistribution({v1::SCOPE_KIND_HOST, facts.label(), 0, facts.storage}, sums);
    const std::string why = LeftEarly(facts, part) ? WhyEarly(facts, part) : "";
    AddScope({v1::SCOPE_KIND_HOST, facts.label(), 0, facts.storage, why}, sums, &part.percentiles().host());
    // A second that a lost host, or one that stopped by itself, did not live to see is a whole second of the others all
    // the same.
    const bool gone = any_stayed ? LeftEarly(facts, part) : any_done ? !part.done() : facts.lost.has_value();
    if (gone) sums.whole_ns = INT64_MAX;
    if (facts.storage != 0) storages[facts.storage].Merge(sums);
    cluster.Merge(sums);
  }
  stats_.percentiles().Finish();
  for (auto& [number, sums] : storages) {
    sums.whole_ns = std::min(sums.whole_ns, sums.measured_ns);
    sums.lost = sums.lost || absent_from.contains(number);
    AddScope({v1::SCOPE_KIND_STORAGE, "", 0, number}, sums, StoragePercentiles(number));
    if (storages.size() > 1) AddDistribution({v1::SCOPE_KIND_STORAGE, "", 0, number}, sums);
  }
  cluster.whole_ns = std::min(cluster.whole_ns, cluster.measured_ns);
  const Named everything{v1::SCOPE_KIND_CLUSTER, "", 0, 0};
  cluster_rows_told_ = AccountsForRows(everything, cluster);
  AddScope(everything, cluster, &stats_.percentiles().cluster());
  AddDistribution(everything, cluster);
  report_.set_measured_ns(cluster.measured_ns);
  AddSlowest(stats_, run_, report_);
  AddStalls(stats_, run_, report_);
  AddSeconds(cluster);
  AddFairness();
  AddTrend(cluster);
  AddLoad();
  JudgeStep();
  return std::move(report_);
}

void StepReporter::JudgeStep() {
  StepFigures figures{report_};
  figures.data_missing = data_missing_;
  for (const auto& [number, facts] : run_.hosts) {
    const auto part = stats_.hosts().find(number);
    if (part == stats_.hosts().end() || !stats_.IsArmed(number)) continue;
    if (part->second.done()) {
      figures.hosts_to_end += LeftEarly(facts, part->second) ? 0U : 1U;
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
    figures.doubt = "a counter of the host's kernel went back";
  } else if (bounds.least != bounds.most) {
    figures.doubt = "calls were sent again between two samples of the host, the first of them in the warm-up";
  }
  // A host that left early has data to that moment alone, and is judged as one that was lost.
  const std::optional<int64_t> start_ns = stats_.HostMeasuredStartNs(host);
  const bool to_end = start_ns && bounds.until_ns - *start_ns >= stats_.shape().duration_ns;
  if (!to_end && !LeftEarly(run_.hosts.at(host), stats_.hosts().at(host))) {
    figures.most = kNoBound;
    figures.doubt = "no sample of the host tells of them to the end of the step";
  }
  return figures;
}

void StepReporter::AddScope(const Named& name, const ScopeSums& sums, const SecondTable* percentiles) {
  const SecondExtremes extremes = sums.series.Extremes(WholeSecondsIn(sums.whole_ns));
  v1::ScopeReport& scope = *report_.add_scopes();
  scope = MakeScopeReport(sums, stats_.shape().block_size_bytes, extremes);
  scope.set_kind(name.kind);
  scope.set_host(name.host);
  scope.set_qm(name.qm);
  scope.set_storage(name.storage);
  if (sums.data_until_ns) {
    *scope.mutable_data_until() = run_.timeline.ToUtc(stats_.measured_start_ns() + *sums.data_until_ns);
    if (!name.why_early.empty()) scope.set_data_until_reason(name.why_early);
  }
  SetSlowest(sums, scope);
  const bool mixed = sums.asked_iops > 0 && sums.unscheduled.count() > 0;
  Histogram both;
  if (mixed) {
    both.Merge(sums.response);
    both.Merge(sums.unscheduled);
  }
  const Histogram& response = sums.asked_iops <= 0 ? sums.latency : mixed ? both : sums.response;
  run_.judge.Observe(report_.number(), stats_.shape().block_size_bytes,
                     {scope, sums, response, extremes, !report_.cut_short().empty()});
  AddSeries(name, sums, percentiles);
}

void StepReporter::SetSlowest(const ScopeSums& sums, v1::ScopeReport& scope) const {
  if (!sums.slowest || !run_.hosts.contains(sums.slowest_host)) return;
  *scope.mutable_slowest() = MakeSlowestReport(run_, sums.slowest_host, sums.slowest_qm, *sums.slowest);
}

void StepReporter::AddInFlight(uint32_t host, const HostFacts& facts, uint32_t qm, const WriterStats& writer,
                               ScopeSums& sums) {
  if (writer.closed()) return;
  int64_t since_ns = writer.in_flight_since_ns();
  int64_t age_ns = writer.last_cut_ns() - since_ns;
  std::string path;
  // What the agent said of it last is newer than the last frame.
  if (facts.lost && facts.lost->step() == static_cast<int32_t>(stats_.index())) {
    for (const v1::InFlight& last : facts.lost->in_flight()) {
      if (last.qm() != qm || last.filling() || last.since_ns() < writer.last_end_ns()) continue;
      since_ns = last.since_ns();
      age_ns = last.age_ns();
      path = last.path();
    }
  }
  if (since_ns == 0) return;
  age_ns = std::max<int64_t>(age_ns, 0);
  sums.in_flight_ages_ns.push_back(age_ns);
  v1::InFlightReport& in_flight = *report_.add_in_flight();
  in_flight.set_host(facts.label());
  in_flight.set_qm(qm);
  in_flight.set_age_ns(age_ns);
  in_flight.set_path(path);
  if (const auto moment = run_.timeline.ToTimeline(host, since_ns)) {
    *in_flight.mutable_since() = run_.timeline.ToUtc(moment->local_ns);
  }
  if (age_ns < kTellMissingWriteNs) return;
  NoteBook& book = facts.lost ? run_.loss_reasons : run_.reasons;
  book.Add("in flight", absl::StrFormat("%s, %s: the figures lack a write that had been in flight for %.1f s "
                                        "when the host was last heard.",
                                        WriterName(facts.label(), qm), StepName(), static_cast<double>(age_ns) / 1e9));
}

void StepReporter::AddStartSkew() {
  struct First {
    int64_t earliest_ns = INT64_MAX;
    int64_t latest_ns = INT64_MIN;
    int64_t error_ns = 0;
  };
  std::map<uint32_t, First> firsts;
  std::set<uint32_t> unknown;
  for (const auto& [number, part] : stats_.hosts()) {
    const HostFacts& facts = run_.hosts.at(number);
    for (const auto& writer : part.writers()) {
      if (!writer || writer->first_start_ns() == 0) continue;
      // Writers whose starts are spread over a period, or random, are as late as they are after their own.
      if (!writer->first_phase_ns() && facts.spreads_starts()) {
        unknown.insert(number);
        continue;
      }
      const auto moment =
          run_.timeline.ToTimeline(number, writer->first_start_ns() - writer->first_phase_ns().value_or(0));
      if (!moment) continue;
      First& first = firsts[number];
      first.earliest_ns = std::min(first.earliest_ns, moment->local_ns);
      first.latest_ns = std::max(first.latest_ns, moment->local_ns);
      first.error_ns = std::max(first.error_ns, moment->error_ns);
    }
  }
  for (const uint32_t number : unknown) firsts.erase(number);
  if (firsts.empty()) return;
  const auto earliest = std::min_element(firsts.begin(), firsts.end(), [](const auto& a, const auto& b) {
    return a.second.earliest_ns < b.second.earliest_ns;
  });
  const auto latest = std::max_element(firsts.begin(), firsts.end(), [](const auto& a, const auto& b) {
    return a.second.latest_ns < b.second.latest_ns;
  });
  v1::StartSkewReport& skew = *report_.mutable_start_skew();
  skew.set_skew_ns(Clamp64(Int128{latest->second.latest_ns} - earliest->second.earliest_ns));
  // Within their errors any two hosts may be the earliest and the latest; a host's own writers share its clock.
  Int128 most_ns = skew.skew_ns();
  for (const auto& [late, of_late] : firsts) {
    for (const auto& [early, of_early] : firsts) {
      if (late == early) continue;
      most_ns =
          std::max(most_ns, Int128{of_late.latest_ns} + of_late.error_ns - of_early.earliest_ns + of_early.error_ns);
    }
  }
  skew.set_error_ns(Clamp64(most_ns - skew.skew_ns()));
  for (const auto& [number, first] : firsts) {
    v1::HostStartReport& host = *skew.add_hosts();
    host.set_host(run_.hosts.at(number).label());
    host.set_behind_ns(Clamp64(Int128{first.latest_ns} - earliest->second.earliest_ns));
    host.set_error_ns(first.error_ns);
  }
}

void StepReporter::CheckWriter(uint32_t host, const std::string& label, uint32_t qm, const WriterStats& writer,
                               const ScopeSums& sums) {
  const std::string who = absl::StrCat(WriterName(label, qm), ", ", StepName(), ": ");
  if (const std::string difference = writer.Disagreement(); !difference.empty()) {
    run_.reasons.Add("totals", absl::StrCat(who, difference, "."));
  }
  const double accounted = sums.AccountedPercent();
  if (accounted < 100 - kAccountedTolerancePercent || accounted > 100 + kAccountedTolerancePercent) {
    run_.reasons.Add(
        "accounted",
        absl::StrFormat("%stime in writes and between them is %.1f %% of the time that passed.", who, accounted));
  }
  const auto measured_ns = static_cast<double>(sums.measured_ns);
  if (static_cast<double>(sums.ring_full_wait_ns) > kRingWaitShare * measured_ns) {
    double& share = ring_wait_share_[host];
    share = std::max(share, static_cast<double>(sums.ring_full_wait_ns) / std::max(measured_ns, 1.0));
    run_.reasons.Add(
        "ring", absl::StrFormat("%sthe harness was the bottleneck: the writer waited %.2f %% of the time "
                                "(%s times) for its recorder.",
                                who, 100 * static_cast<double>(sums.ring_full_wait_ns) / std::max(measured_ns, 1.0),
                                FormatCount(sums.ring_full_waits)));
  }
  if (sums.asked_iops > 0 && !sums.rate_held) {
    run_.notes.Add("rate",
                   absl::StrFormat("%starget rate missed: %.6g writes/s; %s writes not issued at the end, backlog "
                                   "of up to %.3f s.",
                                   who, sums.asked_iops, FormatCount(sums.not_issued),
                                   static_cast<double>(sums.max_behind_ns) / 1e9));
  }
  if (sums.latency.clamped() > 0) {
    run_.notes.Add("clamped", absl::StrCat(who, FormatCount(sums.latency.clamped()),
                                           " writes took more than 1 h; only sum and maximum tell how long."));
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
  if (sums.untraced_writes > 0) {
    run_.notes.Add("untraced", absl::StrCat(who, FormatCount(sums.untraced_writes), " of ",
                                            FormatCount(sums.latency.count()), " writes are in no trace."));
  }
}

}  // namespace plimsoll
