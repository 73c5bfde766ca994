#include "controller/metrics/live_metrics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "controller/render/prometheus_text.h"
#include "controller/report/main_operation.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

struct PhaseName {
  LivePhase phase;
  const char* name;
};
constexpr PhaseName kPhaseNames[] = {
    {LivePhase::kIdle, "idle"},         {LivePhase::kPreparing, "preparing"}, {LivePhase::kSettling, "settling"},
    {LivePhase::kStarting, "starting"}, {LivePhase::kRunning, "running"},     {LivePhase::kDraining, "draining"},
    {LivePhase::kMeasured, "measured"}, {LivePhase::kBetween, "between"},     {LivePhase::kReleasing, "releasing"},
};

// Bounds of the buckets in seconds, as they are spelled.
const std::array<std::string, kBucketBoundsNs.size() + 1>& BucketTexts() {
  static const auto* const texts = [] {
    auto* const made = new std::array<std::string, kBucketBoundsNs.size() + 1>();
    for (size_t i = 0; i < kBucketBoundsNs.size(); ++i) {
      (*made)[i] = PrometheusText::Number(static_cast<double>(kBucketBoundsNs[i]) / kNsPerSecond);
    }
    made->back() = "+Inf";
    return made;
  }();
  return *texts;
}

MetricLabels WriterLabels(const MetricsSnapshot::Writer& writer) {
  return {{"host", std::get<0>(writer)}, {"qm", std::get<1>(writer)}, {"operation", std::get<2>(writer)}};
}

// The samples of a histogram, appended as text: of a large run they are most of a scrape.
void AddHistogram(const std::string& name, const MetricsSnapshot::Writer& writer, const BucketedTimes& times,
                  std::string& text) {
  const std::string labels = PrometheusText::LabelText(WriterLabels(writer));
  const std::string open = labels.substr(0, labels.size() - 1);
  uint64_t cumulative = 0;
  for (size_t i = 0; i < times.counts.size(); ++i) {
    cumulative += times.counts[i];
    absl::StrAppend(&text, name, "_bucket", open, ",le=\"", BucketTexts()[i], "\"} ", cumulative, "\n");
  }
  absl::StrAppend(&text, name, "_sum", labels, " ",
                  PrometheusText::Number(static_cast<double>(times.sum_ns) / kNsPerSecond), "\n");
  absl::StrAppend(&text, name, "_count", labels, " ", times.count, "\n");
}

}  // namespace

std::string RenderMetrics(const MetricsSnapshot& snapshot) {
  PrometheusText text;
  text.Begin("plimsoll_run_info", "gauge", "The run that the metrics are about; always 1.");
  text.Count(
      {{"run_id", snapshot.run_id}, {"name", snapshot.name}, {"command", snapshot.command}, {"version", kVersion}}, 1);
  text.Begin("plimsoll_phase", "gauge", "1 for what the run does.");
  for (const PhaseName& each : kPhaseNames) {
    text.Count({{"phase", each.name}}, each.phase == snapshot.phase ? 1 : 0);
  }
  text.Begin("plimsoll_step", "gauge", "Step that runs, or ran last, from 1; 0 before the first one.");
  text.Count({}, snapshot.step);
  text.Begin("plimsoll_planned_steps", "gauge", "Steps that are known beforehand.");
  text.Count({}, snapshot.steps);
  text.Begin("plimsoll_host_up", "gauge", "Whether the host takes part in the run: 0 once it is lost.");
  for (const auto& [host, state] : snapshot.hosts) text.Count({{"host", host}}, state.up ? 1 : 0);
  text.Begin("plimsoll_clock_error_bound_seconds", "gauge",
             "Bound of the error with which the clock of the host is known.");
  for (const auto& [host, state] : snapshot.hosts) {
    if (state.clock_error_ns > 0) {
      text.Sample({{"host", host}}, static_cast<double>(state.clock_error_ns) / kNsPerSecond);
    }
  }
  text.Begin("plimsoll_operations_total", "counter", "Operations of the measured parts of all steps so far.");
  for (const auto& [writer, times] : snapshot.operations) text.Count(WriterLabels(writer), times.service.count);
  text.Begin("plimsoll_bytes_total", "counter", "Bytes of these operations.");
  for (const auto& [writer, times] : snapshot.operations) {
    if (!times.is_part) text.Count(WriterLabels(writer), times.bytes);
  }
  text.Begin("plimsoll_stalls_total", "counter", "Stalls that are over, as they are known while the run is under way.");
  text.Count({}, snapshot.stalls);
  AddVerdictMetric(snapshot.outcome, text);
  constexpr char kService[] = "plimsoll_operation_duration_seconds";
  text.Begin(kService, "histogram", "Service times: the time of the system call of an operation.");
  std::string all = text.Take();
  bool rated = false;
  for (const auto& [writer, times] : snapshot.operations) {
    AddHistogram(kService, writer, times.service, all);
    rated = rated || times.response.count > 0;
  }
  if (!rated) return all;
  constexpr char kResponse[] = "plimsoll_operation_response_seconds";
  PrometheusText more;
  more.Begin(kResponse, "histogram", "Response times with a target rate: from the scheduled start of an operation.");
  all += more.Take();
  for (const auto& [writer, times] : snapshot.operations) {
    if (times.response.count > 0) AddHistogram(kResponse, writer, times.response, all);
  }
  return all;
}

void LiveMetrics::OnBegin(Analyzer& analyzer) {
  analyzer.SetFrameListener([this](uint32_t host, const v1::Frame& frame) { AddFrame(host, frame); });
}

LiveWant LiveMetrics::Wants(LivePhase phase) const {
  const bool has_figures =
      phase == LivePhase::kRunning || phase == LivePhase::kDraining || phase == LivePhase::kMeasured;
  return {kNsPerSecond, has_figures ? LiveNeed::kFigures : LiveNeed::kPhase};
}

void LiveMetrics::OnMoment(const std::shared_ptr<const LiveMoment>& moment) {
  const LiveView& view = moment->view;
  MutexLock lock(mutex_);
  now_.phase = moment->phase;
  if (view.now.step == 0) return;
  if (view.now.step != now_.step) {
    earlier_stalls_ += std::exchange(step_stalls_, 0);
    now_.step = view.now.step;
  }
  // Stalls that a late host joins become one: a counter does not go back.
  step_stalls_ = std::max(step_stalls_, view.stalls_so_far);
  now_.stalls = earlier_stalls_ + step_stalls_;
  for (const LiveHost& host : view.now.hosts) {
    const auto known = now_.hosts.find(host.label);
    if (known != now_.hosts.end() && host.clock_error_ns > 0) known->second.clock_error_ns = host.clock_error_ns;
  }
}

void LiveMetrics::OnRecord(const v1::JournalRecord& record) {
  if (record.has_run_begin()) {
    const v1::RunBegin& run = record.run_begin();
    MutexLock lock(mutex_);
    now_.run_id = run.run_id();
    now_.name = run.plan().name();
    now_.command = FactsOf(RunKindOf(run.plan())).command;
    now_.step = 0;
    now_.steps = static_cast<uint32_t>(run.steps_size());
    earlier_stalls_ += std::exchange(step_stalls_, 0);
    run_hosts_.clear();
    steps_.clear();
    for (int i = 0; i < run.steps_size(); ++i) SetStep(static_cast<uint32_t>(i), run.steps(i));
  } else if (record.has_step_begin() && record.step_begin().has_added()) {
    MutexLock lock(mutex_);
    SetStep(record.step_begin().step(), record.step_begin().added());
  } else if (record.has_host_joined()) {
    const v1::HostJoined& joined = record.host_joined();
    MutexLock lock(mutex_);
    RunHost& host = run_hosts_[joined.host()];
    host.label = joined.label();
    host.facts.joined = joined;
    now_.hosts[joined.label()].up = true;
  } else if (record.has_host_lost()) {
    MutexLock lock(mutex_);
    const auto host = run_hosts_.find(record.host_lost().host());
    if (host != run_hosts_.end()) now_.hosts[host->second.label].up = false;
  }
}

void LiveMetrics::OnReport(const v1::Report& report) {
  if (!of_parts_) SetOutcome(report.verdict().outcome());
}

void LiveMetrics::SetOutcome(v1::Outcome outcome) {
  MutexLock lock(mutex_);
  now_.outcome = outcome;
}

MetricsSnapshot LiveMetrics::Snapshot() const {
  MutexLock lock(mutex_);
  return now_;
}

void LiveMetrics::SetStep(uint32_t step, const v1::LogStep& spec) {
  std::vector<StepOperation> operations;
  const uint32_t read = ReadOperationOf(spec).value_or(kMainOperation);
  for (uint32_t i = 0; i < KnownOperations(spec); ++i) {
    StepOperation operation;
    const bool named = static_cast<int>(i) < spec.operations_size();
    operation.name = named ? spec.operations(static_cast<int>(i)).name() : "write";
    if (i == kMainOperation && spec.read_percent() == kOnlyReads) operation.name = kReadName;
    operation.is_part = i != kMainOperation && i != read && !IsCall(spec, i);
    operations.push_back(std::move(operation));
  }
  steps_[step] = std::move(operations);
}

void LiveMetrics::AddFrame(uint32_t host, const v1::Frame& frame) {
  // The warm-up is in no count.
  if (frame.first_interval() < 0 && !frame.closing()) return;
  MutexLock lock(mutex_);
  const auto known = run_hosts_.find(host);
  const auto step = steps_.find(frame.step());
  if (known == run_hosts_.end() || step == steps_.end() || frame.operation() >= step->second.size()) return;
  RunHost& from = known->second;
  const auto [qm, is_new] = from.qms.try_emplace(frame.qm());
  if (is_new) {
    qm->second = from.facts.QmName(frame.qm());
    if (qm->second.empty()) qm->second = absl::StrCat(frame.qm());
  }
  const StepOperation& operation = step->second[frame.operation()];
  OperationTimes& times = now_.operations[{from.label, qm->second, operation.name}];
  times.is_part = operation.is_part;
  times.service.Add(frame.latency());
  times.response.Add(frame.response());
  times.bytes += frame.bytes();
}

}  // namespace plimsoll
