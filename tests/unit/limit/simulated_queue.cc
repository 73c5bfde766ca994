#include "tests/unit/limit/simulated_queue.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/scope_sums.h"
#include "controller/limit/limit_analysis.h"
#include "controller/plan/plan_defaults.h"

namespace plimsoll::tests {

std::vector<SimulatedWriter> RunQueue(const SimulatedQueue& queue, double rate_per_second, int64_t warmup_ns,
                                      int64_t duration_ns, uint64_t seed) {
  struct Writer {
    double due_ns = 0;
    double free_ns = 0;
  };
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> interval(rate_per_second > 0 ? rate_per_second / 1e9 : 1);
  const auto end_ns = static_cast<double>(warmup_ns + duration_ns);
  std::vector<Writer> writers(queue.writers);
  std::vector<SimulatedWriter> results(queue.writers);
  const auto schedule = [&](Writer& writer) {
    writer.due_ns = rate_per_second > 0 ? writer.due_ns + interval(random) : writer.free_ns;
  };
  // Whose write is issued next comes first.
  using Issue = std::pair<double, size_t>;
  std::priority_queue<Issue, std::vector<Issue>, std::greater<>> issues;
  const auto issue = [&](size_t number) {
    Writer& writer = writers[number];
    schedule(writer);
    issues.emplace(std::max(writer.due_ns, writer.free_ns), number);
  };
  for (size_t i = 0; i < writers.size(); ++i) issue(i);
  double server_free_ns = 0;
  // Drawn apart, so that a queue without pauses has the same writes.
  std::mt19937_64 random_pauses(~seed);
  std::exponential_distribution<double> until_pause(1 / std::max(static_cast<double>(queue.pause_every_ns), 1.0));
  double pause_at_ns = queue.pause_every_ns > 0 ? until_pause(random_pauses) : INFINITY;
  // Reads have a generator of their own, too.
  std::mt19937_64 random_reads(seed + 1'000'003);
  std::uniform_int_distribution<uint32_t> percent(0, 99);
  while (true) {
    const auto [issued_ns, number] = issues.top();
    issues.pop();
    if (issued_ns >= end_ns) return results;
    Writer& writer = writers[number];
    for (; pause_at_ns <= std::max(server_free_ns, issued_ns); pause_at_ns += until_pause(random_pauses)) {
      server_free_ns = std::max(server_free_ns, pause_at_ns) + static_cast<double>(queue.pause_ns);
    }
    const bool reads = queue.read_percent > 0 && percent(random_reads) < queue.read_percent;
    server_free_ns =
        std::max(server_free_ns, issued_ns) + static_cast<double>(reads ? queue.read_ns : queue.service_ns);
    writer.free_ns = server_free_ns;
    SimulatedWriter& result = results[number];
    if (writer.due_ns >= static_cast<double>(warmup_ns) && writer.due_ns < end_ns) {
      const bool beside = reads && queue.read_percent < kOnlyReads;
      (beside ? result.read_response_ns : result.response_ns).push_back(std::llround(server_free_ns - writer.due_ns));
      if (!reads) result.sync_ns.push_back(std::llround(server_free_ns - issued_ns) - queue.write_call_ns);
      if (server_free_ns > end_ns) ++result.late;
    }
    issue(number);
  }
}

double ShareBeyond(const SimulatedQueue& queue, double rate_per_second, int64_t limit_ns) {
  constexpr double kWrites = 2e6;
  const double seconds = kWrites / (rate_per_second * queue.writers);
  uint64_t beyond = 0;
  uint64_t writes = 0;
  for (const SimulatedWriter& writer :
       RunQueue(queue, rate_per_second, kNsPerSecond, static_cast<int64_t>(seconds * 1e9), 4711)) {
    writes += writer.response_ns.size();
    beyond += static_cast<uint64_t>(std::count_if(writer.response_ns.begin(), writer.response_ns.end(),
                                                  [limit_ns](int64_t one) { return one > limit_ns; }));
  }
  return static_cast<double>(beyond) / static_cast<double>(std::max<uint64_t>(writes, 1));
}

double MeanResponse(const SimulatedQueue& queue, double rate_per_second) {
  constexpr double kWrites = 4e6;
  const double seconds = kWrites / (rate_per_second * queue.writers);
  double sum_ns = 0;
  double writes = 0;
  for (const SimulatedWriter& writer :
       RunQueue(queue, rate_per_second, kNsPerSecond, static_cast<int64_t>(seconds * 1e9), 4711)) {
    for (const int64_t one : writer.response_ns) sum_ns += static_cast<double>(one);
    writes += static_cast<double>(writer.response_ns.size());
  }
  return sum_ns / std::max(writes, 1.0);
}

double RateAtMean(const SimulatedQueue& queue, double mean_ns) {
  double low = 0;
  double high = 1e9 / static_cast<double>(queue.service_ns) / queue.writers;
  for (int i = 0; i < 12; ++i) {
    const double middle = (low + high) / 2;
    (MeanResponse(queue, middle) < mean_ns ? low : high) = middle;
  }
  return (low + high) / 2;
}

double ShareBeyondOfOne(int64_t service_ns, double rate_per_second, int64_t limit_ns) {
  const auto service = static_cast<double>(service_ns) / 1e9;
  const double wait = static_cast<double>(limit_ns - service_ns) / 1e9;
  const double load = rate_per_second * service;
  double sum = 0;
  double factorial = 1;
  for (int k = 0; k * service <= wait; ++k) {
    if (k > 0) factorial *= k;
    const double x = rate_per_second * (k * service - wait);
    sum += std::pow(x, k) / factorial * std::exp(-x);
  }
  return 1 - (1 - load) * sum;
}

double RateAt(const SimulatedQueue& queue, double share, int64_t limit_ns) {
  double low = 0;
  double high = 1e9 / static_cast<double>(queue.service_ns) / queue.writers;
  for (int i = 0; i < 14; ++i) {
    const double middle = (low + high) / 2;
    (ShareBeyond(queue, middle, limit_ns) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

namespace {

constexpr size_t kLateOf = 10;

// Makes every tenth operation start `delay_ns` late.
void StartLate(int64_t delay_ns, std::vector<int64_t>& response_ns) {
  for (size_t i = 0; i < response_ns.size(); i += kLateOf) response_ns[i] += delay_ns;
}

// Sets what an agent reports of `writes` operations of which every tenth started late.
void SetStartDelay(int64_t delay_ns, size_t writes, v1::StartDelay& delay) {
  delay.set_max_ns(static_cast<uint64_t>(delay_ns));
  delay.set_late_writes((writes + kLateOf - 1) / kLateOf);
}

// A writer's figures, as SumsOfWriter makes them of what an agent reports.
ScopeSums SumsOf(const SimulatedWriter& writer, double rate_per_second, int64_t duration_ns) {
  ScopeSums sums;
  sums.measured_ns = duration_ns;
  sums.whole_ns = duration_ns;
  for (const int64_t response_ns : writer.response_ns) sums.latency.Record(static_cast<uint64_t>(response_ns));
  if (rate_per_second <= 0) return sums;
  sums.response.Merge(sums.latency);
  sums.asked_iops = rate_per_second;
  sums.rate_due = writer.response_ns.size() + writer.read_response_ns.size();
  sums.rate_completed = sums.rate_due - writer.late;
  sums.rate_open = writer.late > 0 ? 1 : 0;
  sums.rate_held = static_cast<double>(sums.rate_completed) >= 0.99 * static_cast<double>(sums.rate_due);
  sums.not_issued = writer.late;
  return sums;
}

// The times of a writer's step as frames, in so many equal parts.
std::vector<v1::Frame> FramesOf(const std::vector<int64_t>& times_ns, uint32_t qm, uint32_t step, bool paced,
                                int64_t duration_ns, int64_t late_ns) {
  constexpr int64_t kFrameNs = 250 * kNsPerMs;
  const auto frame_count = static_cast<size_t>(std::clamp<int64_t>(duration_ns / kFrameNs, 2, 40));
  std::vector<v1::Frame> frames;
  for (size_t part = 0; part < frame_count; ++part) {
    const size_t count = times_ns.size();
    const auto from = times_ns.begin() + static_cast<ptrdiff_t>(part * count / frame_count);
    const auto to = times_ns.begin() + static_cast<ptrdiff_t>((part + 1) * count / frame_count);
    std::vector<uint32_t> buckets;
    for (auto one = from; one != to; ++one) buckets.push_back(HistogramLayout::IndexOf(static_cast<uint64_t>(*one)));
    std::sort(buckets.begin(), buckets.end());
    v1::Frame& frame = frames.emplace_back();
    frame.set_step(step);
    frame.set_qm(qm);
    frame.set_first_interval(static_cast<int32_t>(part));
    frame.set_interval_count(1);
    v1::Distribution& latency = paced ? *frame.mutable_response() : *frame.mutable_latency();
    if (from != to) latency.set_max_ns(static_cast<uint64_t>(*std::max_element(from, to)));
    latency.set_count(static_cast<uint64_t>(to - from));
    latency.set_sum_ns(static_cast<uint64_t>(std::accumulate(from, to, int64_t{0})));
    if (late_ns > 0) SetStartDelay(late_ns, static_cast<size_t>(to - from), *frame.mutable_start_delay());
    uint32_t last = 0;
    for (auto bucket = buckets.begin(); bucket != buckets.end();) {
      const auto next = std::upper_bound(bucket, buckets.end(), *bucket);
      latency.mutable_histogram()->add_index_delta(*bucket - last);
      latency.mutable_histogram()->add_count(static_cast<uint64_t>(next - bucket));
      last = *bucket;
      bucket = next;
    }
  }
  return frames;
}

// Adds what the writers measured of one part of their writes, the operation at that place of the step's list, to the
// report, and gives it to judge and analysis.
void AddPart(const v1::LogStep& step, uint32_t place, const SimulatedQueue& queue,
             const std::vector<SimulatedWriter>& results, v1::StepReport& report, Judge& judge,
             LimitAnalysis& analysis) {
  v1::OperationReport& operation = *report.add_operations();
  operation.set_name(step.operations(static_cast<int>(place)).name());
  const SecondExtremes extremes;
  for (size_t i = 0; i < results.size(); ++i) {
    std::vector<int64_t> times_ns = results[i].sync_ns;
    if (place == kWriteCallOperation) std::fill(times_ns.begin(), times_ns.end(), queue.write_call_ns);
    ScopeSums sums;
    sums.measured_ns = step.duration_ns();
    for (const int64_t time_ns : times_ns) sums.latency.Record(static_cast<uint64_t>(time_ns));
    for (const v1::ScopeKind kind : {v1::SCOPE_KIND_QM, v1::SCOPE_KIND_HOST}) {
      v1::OperationScopeReport& scope = *operation.add_scopes();
      scope.set_kind(kind);
      scope.set_host(absl::StrCat("node", i + 1));
      if (kind == v1::SCOPE_KIND_QM) scope.set_qm(1);
      *scope.mutable_latency() = MakeLatencyReport(sums.latency);
      v1::ScopeReport judged;
      judged.set_kind(kind);
      judged.set_host(scope.host());
      judged.set_qm(scope.qm());
      judged.set_measured_ns(step.duration_ns());
      judge.Observe(report.number(), step.block_size_bytes(),
                    {judged, sums, sums.latency, extremes, false, operation.name()});
    }
    const bool one_host = step.qm() > 0;
    const auto writer = static_cast<uint32_t>(i);
    for (v1::Frame& frame :
         FramesOf(times_ns, one_host ? writer + 1 : 1, report.number() - 1, false, step.duration_ns(), 0)) {
      frame.set_operation(place);
      analysis.OnFrame(one_host ? 0 : writer, frame, operation.name());
    }
  }
}

// Adds the reads beside the writes, or the commits, to the report, and gives them to judge and analysis. `place`: that
// of the operation in the step's list.
void AddWhole(const v1::LogStep& step, uint32_t place, int64_t late_ns, const SimulatedQueue& queue,
              const std::vector<SimulatedWriter>& results, v1::StepReport& report, Judge& judge,
              LimitAnalysis& analysis) {
  v1::OperationReport& operation = *report.add_operations();
  operation.set_name(step.operations(static_cast<int>(place)).name());
  const bool paced = step.rate_per_second() > 0;
  const SecondExtremes extremes;
  const auto add_scope = [&](v1::ScopeKind kind, const std::string& host, const ScopeSums& sums) {
    v1::ScopeReport judged = MakeScopeReport(sums, extremes.seconds);
    judged.set_kind(kind);
    judged.set_host(host);
    if (kind == v1::SCOPE_KIND_QM) judged.set_qm(1);
    v1::OperationScopeReport& scope = *operation.add_scopes();
    scope.set_kind(kind);
    scope.set_host(host);
    scope.set_qm(judged.qm());
    *scope.mutable_latency() = judged.latency();
    scope.mutable_throughput()->set_count(judged.writes());
    scope.mutable_throughput()->set_iops(judged.iops());
    if (paced) *scope.mutable_response() = judged.rate().response();
    Histogram both;
    judge.Observe(report.number(), step.block_size_bytes(),
                  {judged, sums, FeltLatency(sums, both), extremes, false, operation.name()});
  };
  ScopeSums cluster;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<int64_t>& times_ns = results[i].read_response_ns;
    ScopeSums sums;
    sums.measured_ns = step.duration_ns();
    sums.whole_ns = step.duration_ns();
    for (const int64_t time_ns : times_ns) sums.latency.Record(static_cast<uint64_t>(time_ns));
    if (paced) {
      sums.response.Merge(sums.latency);
      sums.asked_iops = step.rate_per_second();
    }
    if (late_ns > 0) {
      // The reads themselves were prompt.
      sums.latency = Histogram();
      sums.latency.RecordN(static_cast<uint64_t>(queue.read_ns), times_ns.size());
      SetStartDelay(late_ns, times_ns.size(), sums.start_delay);
    }
    for (const v1::ScopeKind kind : {v1::SCOPE_KIND_QM, v1::SCOPE_KIND_HOST}) {
      add_scope(kind, absl::StrCat("node", i + 1), sums);
    }
    cluster.Merge(sums);
    const bool one_host = step.qm() > 0;
    const auto writer = static_cast<uint32_t>(i);
    for (v1::Frame& frame :
         FramesOf(times_ns, one_host ? writer + 1 : 1, report.number() - 1, paced, step.duration_ns(), late_ns)) {
      frame.set_operation(place);
      analysis.OnFrame(one_host ? 0 : writer, frame, operation.name());
    }
  }
  add_scope(v1::SCOPE_KIND_CLUSTER, "", cluster);
}

// One step's report, and what the judge makes of it.
v1::StepReport RunStep(const SimulatedSearch& search, const v1::LogStep& step, uint32_t number, Judge& judge,
                       LimitAnalysis& analysis) {
  v1::StepReport report;
  report.set_number(number);
  report.set_block_size_bytes(step.block_size_bytes());
  report.set_duration_ns(step.duration_ns());
  report.set_measured_ns(step.duration_ns());
  report.set_purpose(step.purpose());
  if (step.has_rate_per_second()) report.set_rate_per_second(step.rate_per_second());
  if (step.qm() > 0) report.set_queue_managers(step.qm());
  const double load_factor = step.group_commit().load_factor();
  if (load_factor > 0) report.set_load_factor(load_factor);
  SimulatedQueue queue = search.queue;
  if (step.qm() > 0) queue.writers = step.qm();
  queue.read_percent = step.read_percent();
  search.change(number, queue);
  const double rate = load_factor > 0 ? load_factor * search.recorded_per_second : step.rate_per_second();
  auto results = RunQueue(queue, rate, step.warmup_ns(), step.duration_ns(), search.seed * 1000 + number);
  if (load_factor > 0) {
    // What arrives waits, and its commit is as long as that and the write.
    for (SimulatedWriter& writer : results) {
      writer.read_response_ns = writer.response_ns;
      std::fill(writer.response_ns.begin(), writer.response_ns.end(), queue.service_ns);
    }
  }
  const bool late = search.generator_rate > 0 && step.rate_per_second() > search.generator_rate;
  const int64_t late_ns = late ? search.start_delay_ns : 0;
  const std::optional<uint32_t> read_place = ReadOperationOf(step);
  const bool mix = read_place && *read_place != kMainOperation;
  for (SimulatedWriter& writer : results) StartLate(late_ns, mix ? writer.read_response_ns : writer.response_ns);
  const SecondExtremes extremes;
  ScopeSums cluster;
  for (size_t i = 0; i < results.size(); ++i) {
    ScopeSums sums = SumsOf(results[i], step.rate_per_second(), step.duration_ns());
    if (late && !mix) {
      // The writes themselves were prompt.
      sums.latency = Histogram();
      sums.latency.RecordN(static_cast<uint64_t>(queue.service_ns), results[i].response_ns.size());
      SetStartDelay(late_ns, results[i].response_ns.size(), sums.start_delay);
    }
    for (const v1::ScopeKind kind : {v1::SCOPE_KIND_QM, v1::SCOPE_KIND_HOST}) {
      v1::ScopeReport& scope = *report.add_scopes();
      scope = MakeScopeReport(sums, extremes.seconds);
      scope.set_kind(kind);
      scope.set_host(absl::StrCat("node", i + 1));
      if (kind == v1::SCOPE_KIND_QM) scope.set_qm(1);
      Histogram both;
      judge.Observe(number, step.block_size_bytes(), {scope, sums, FeltLatency(sums, both), extremes});
    }
    cluster.Merge(sums);
    // Where queue managers are the load, they all are on one host.
    const auto writer = static_cast<uint32_t>(i);
    const bool one_host = step.qm() > 0;
    for (const v1::Frame& frame : FramesOf(results[i].response_ns, one_host ? writer + 1 : 1, number - 1,
                                           step.rate_per_second() > 0, step.duration_ns(), mix ? 0 : late_ns)) {
      analysis.OnFrame(one_host ? 0 : writer, frame, "");
    }
  }
  for (uint32_t place = 1; place < static_cast<uint32_t>(step.operations_size()); ++place) {
    if (place == read_place || place == CommitOperationOf(step)) {
      AddWhole(step, place, late_ns, queue, results, report, judge, analysis);
    } else {
      AddPart(step, place, queue, results, report, judge, analysis);
    }
  }
  v1::ScopeReport& scope = *report.add_scopes();
  scope = MakeScopeReport(cluster, extremes.seconds);
  scope.set_kind(v1::SCOPE_KIND_CLUSTER);
  search.plant(report);
  judge.ObserveStep({report});
  return report;
}

}  // namespace

v1::TestPlan SearchPlan(const std::string& criterion) {
  v1::TestPlan plan;
  plan.mutable_workload()->set_dir("/mnt/mqlog");
  plan.add_criteria(criterion);
  plan.set_duration_ns(20 * kNsPerSecond);
  plan.set_warmup_ns(kNsPerSecond);
  plan.mutable_limit()->set_budget_ns(int64_t{24} * 3600 * kNsPerSecond);
  FillDefaults(plan);
  return plan;
}

v1::Report RunSearch(const SimulatedSearch& search) {
  LimitAnalysis analysis(search.plan, search.verdict_rules);
  Judge judge(search.plan, search.verdict_rules);
  int64_t now_ns = kNsPerSecond;
  const Timeline timeline;
  // Where queue managers are the load, they all are on one host.
  const bool on_hosts = search.plan.limit().over() != v1::LIMIT_OVER_QM;
  for (uint32_t host = 0; host < (on_hosts ? search.queue.writers : 1); ++host) {
    v1::JournalRecord record;
    record.mutable_host_joined()->set_host(host);
    record.mutable_host_joined()->set_label(absl::StrCat("node", host + 1));
    v1::LogWork& work = *record.mutable_host_joined()->mutable_plan()->mutable_log();
    *work.mutable_workload() = search.plan.workload();
    *work.add_steps() = ExpandSteps(search.plan).front();
    analysis.Take(record, timeline).IgnoreError();
  }
  v1::Report report;
  for (uint32_t host = 1; host <= (on_hosts ? search.queue.writers : 1); ++host) {
    report.add_hosts()->set_label(absl::StrCat("node", host));
  }
  std::optional<v1::LogStep> step = ExpandSteps(search.plan).front();
  for (uint32_t number = 1; step && number <= 1000; ++number) {
    v1::JournalRecord record;
    record.set_time_ns(now_ns);
    record.mutable_step_begin()->set_step(number - 1);
    analysis.Take(record, timeline).IgnoreError();
    const v1::StepReport& made = *report.add_steps() = RunStep(search, *step, number, judge, analysis);
    now_ns += step->warmup_ns() + step->duration_ns();
    std::vector<v1::CriterionReport> criteria;
    for (Judge::SoFar& each : judge.CriteriaSoFar()) criteria.push_back(std::move(each.report));
    analysis.OnStep(made, criteria, now_ns);
    step = analysis.NextStep();
  }
  std::vector<std::string> reasons;
  analysis.Finish(timeline, [](uint32_t /*host*/) { return ""; }, report, reasons);
  *report.mutable_verdict() = analysis.Judge(reasons);
  *report.mutable_plan() = search.plan;
  return report;
}

}  // namespace plimsoll::tests
