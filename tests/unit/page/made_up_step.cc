#include "tests/unit/page/made_up_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll::tests {
namespace {

// A writer in closed loop around `base_ns`; every host stands in one second of 97, and the first one in others besides.
std::vector<Second> WriterSeconds(int host, int qm, int seconds, double base_ns) {
  Noise noise(static_cast<uint64_t>(host) * 100 + static_cast<uint64_t>(qm) + 1);
  std::vector<Second> made;
  for (int at = 0; at < seconds; ++at) {
    const double slow = 1 + 0.15 * std::sin(at / 40.0 + host);
    const double avg_ns = base_ns * slow * noise.Around(0.08);
    const bool stalled = at % 97 == 41 || (host == 0 && at % 61 == 17);
    const double busy_s = stalled ? 0.62 : 0.996;
    Second second;
    second.writes = Whole(busy_s * 1e9 / avg_ns);
    second.p50_ns = Whole(avg_ns * 0.94);
    second.p99_ns = Whole(avg_ns * 1.9 * noise.Around(0.1));
    second.p99_9_ns = Whole(avg_ns * 4.5 * noise.Around(0.3));
    second.max_ns = stalled ? Whole(0.36e9 * noise.Around(0.05)) : Whole(avg_ns * 9 * noise.Around(0.5));
    second.sum_ns = Whole(static_cast<double>(second.writes) * avg_ns) + (stalled ? second.max_ns : 0);
    made.push_back(second);
  }
  return made;
}

// Seconds of several writers as one.
std::vector<Second> Together(const std::vector<std::vector<Second>>& writers, int seconds) {
  std::vector<Second> all(static_cast<size_t>(seconds));
  for (size_t at = 0; at < all.size(); ++at) {
    Second& sum = all[at];
    double p50_ns = 0;
    for (const std::vector<Second>& writer : writers) {
      const Second& one = writer[at];
      sum.writes += one.writes;
      sum.sum_ns += one.sum_ns;
      p50_ns += static_cast<double>(one.p50_ns);
      sum.p99_ns = std::max(sum.p99_ns, one.p99_ns);
      sum.p99_9_ns = std::max(sum.p99_9_ns, one.p99_9_ns);
      sum.max_ns = std::max(sum.max_ns, one.max_ns);
    }
    sum.p50_ns = Whole(p50_ns / static_cast<double>(writers.size()));
  }
  return all;
}

struct Names {
  v1::ScopeKind kind = v1::SCOPE_KIND_CLUSTER;
  std::string host;
  uint32_t qm = 0;
  uint32_t storage = 0;
};

void SetLatency(const std::vector<Second>& seconds, v1::LatencyReport* latency) {
  uint64_t p50_ns = 0;
  for (const Second& second : seconds) {
    latency->set_count(latency->count() + second.writes);
    latency->set_sum_ns(latency->sum_ns() + second.sum_ns);
    latency->set_max_ns(std::max(latency->max_ns(), second.max_ns));
    latency->set_p99_ns(std::max(latency->p99_ns(), second.p99_ns));
    latency->set_p99_9_ns(std::max(latency->p99_9_ns(), second.p99_9_ns));
    p50_ns = std::max(p50_ns, second.p50_ns);
  }
  latency->set_avg_ns(static_cast<double>(latency->sum_ns()) /
                      static_cast<double>(std::max<uint64_t>(latency->count(), 1)));
  latency->set_wavg_ns(latency->avg_ns() * 0.97);
  latency->set_min_ns(Whole(latency->avg_ns() * 0.6));
  latency->set_p50_ns(std::min(p50_ns, Whole(latency->avg_ns())));
  latency->set_p90_ns((latency->p50_ns() + latency->p99_ns()) / 2);
  latency->set_p99_99_ns(std::max(latency->p99_9_ns(), latency->max_ns() / 2));
  if (latency->count() < 100'000) latency->add_thin("p99_99");
}

void AddScope(const Names& names, const std::vector<Second>& seconds, uint64_t block, v1::StepReport& step) {
  v1::ScopeReport& scope = *step.add_scopes();
  v1::SeriesReport& series = *step.add_series();
  scope.set_kind(names.kind);
  scope.set_host(names.host);
  scope.set_qm(names.qm);
  scope.set_storage(names.storage);
  series.set_kind(names.kind);
  series.set_host(names.host);
  series.set_qm(names.qm);
  series.set_storage(names.storage);
  SetLatency(seconds, scope.mutable_latency());
  scope.set_writes(scope.latency().count());
  scope.set_bytes(scope.writes() * block);
  scope.set_measured_ns(step.measured_ns());
  const double length_s = static_cast<double>(step.measured_ns()) / 1e9;
  scope.set_iops(static_cast<double>(scope.writes()) / length_s);
  scope.set_mb_per_second(static_cast<double>(scope.bytes()) / 1e6 / length_s);
  scope.set_time_between_writes_ns(step.measured_ns() / 250);
  scope.set_accounted_percent(100);
  v1::BandwidthReport& bandwidth = *scope.mutable_bandwidth();
  bandwidth.set_seconds(static_cast<uint32_t>(seconds.size()));
  bandwidth.set_min_bytes_per_second(UINT64_MAX);
  bandwidth.set_avg_bytes_per_second(static_cast<double>(scope.bytes()) / length_s);
  uint32_t number = 0;
  for (const Second& second : seconds) {
    bandwidth.set_max_bytes_per_second(std::max(bandwidth.max_bytes_per_second(), second.writes * block));
    bandwidth.set_min_bytes_per_second(std::min(bandwidth.min_bytes_per_second(), second.writes * block));
    series.add_second(number++);
    series.add_writes(second.writes);
    series.add_bytes(second.writes * block);
    series.add_latency_sum_ns(second.sum_ns);
    series.add_latency_max_ns(second.max_ns);
    series.add_p50_ns(second.p50_ns);
    series.add_p99_ns(second.p99_ns);
    series.add_p99_9_ns(second.p99_9_ns);
  }
}

}  // namespace

void SetMoment(int64_t after_ns, google::protobuf::Timestamp* moment) {
  moment->set_seconds(kBeginSeconds + after_ns / kNsPerSecond);
  moment->set_nanos(static_cast<int32_t>(after_ns % kNsPerSecond));
}

void AddStep(const MadeUp& made_up, uint64_t block, v1::Report& report) {
  v1::StepReport& step = *report.add_steps();
  const int number = report.steps_size();
  step.set_number(static_cast<uint32_t>(number));
  step.set_block_size_bytes(block);
  step.set_duration_ns(made_up.seconds * kNsPerSecond);
  step.set_measured_ns(step.duration_ns());
  step.set_repetition(1);
  SetMoment((60 + (number - 1) * (made_up.seconds + 5)) * kNsPerSecond, step.mutable_start());

  const double base_ns = 380'000 + 9.5 * static_cast<double>(block);
  std::vector<std::vector<Second>> everything;
  std::map<uint32_t, std::vector<std::vector<Second>>> by_storage;
  std::vector<std::pair<Names, std::vector<Second>>> hosts;
  for (size_t host = 0; host < made_up.hosts.size(); ++host) {
    const uint32_t storage = static_cast<uint32_t>(host) % static_cast<uint32_t>(made_up.storages) + 1;
    std::vector<std::vector<Second>> writers;
    for (int qm = 1; qm <= made_up.qms; ++qm) {
      writers.push_back(WriterSeconds(static_cast<int>(host), qm, made_up.seconds, base_ns));
      AddScope({v1::SCOPE_KIND_QM, made_up.hosts[host], static_cast<uint32_t>(qm), storage}, writers.back(), block,
               step);
    }
    hosts.push_back({{v1::SCOPE_KIND_HOST, made_up.hosts[host], 0, storage}, Together(writers, made_up.seconds)});
    everything.push_back(hosts.back().second);
    by_storage[storage].push_back(hosts.back().second);
  }
  for (const auto& [names, seconds] : hosts) AddScope(names, seconds, block, step);
  for (const auto& [storage, members] : by_storage) {
    AddScope({v1::SCOPE_KIND_STORAGE, "", 0, storage}, Together(members, made_up.seconds), block, step);
  }
  const std::vector<Second> cluster = Together(everything, made_up.seconds);
  AddScope({v1::SCOPE_KIND_CLUSTER, "", 0, 0}, cluster, block, step);

  v1::StartSkewReport& skew = *step.mutable_start_skew();
  for (size_t host = 0; host < made_up.hosts.size(); ++host) {
    v1::HostStartReport& start = *skew.add_hosts();
    start.set_host(made_up.hosts[host]);
    start.set_behind_ns(static_cast<int64_t>(host * 37 % 11) * 9'400);
    start.set_error_ns(58'000 + static_cast<int64_t>(host) * 1'500);
    skew.set_skew_ns(std::max(skew.skew_ns(), start.behind_ns()));
    skew.set_error_ns(std::max(skew.error_ns(), 2 * start.error_ns()));
  }
  if (made_up.details) AddDetails(made_up, cluster, step);
  if (made_up.parts) AddParts(step);
  if (made_up.read_percent > 0 && made_up.read_percent < kOnlyReads) AddReads(made_up.read_percent, step);
}

}  // namespace plimsoll::tests
