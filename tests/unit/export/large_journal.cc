#include "tests/unit/export/large_journal.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "common/histogram.h"
#include "common/trace.h"
#include "common/units.h"
#include "controller/journal/results.h"

namespace plimsoll::tests {
namespace {

constexpr uint32_t kQms = 4;
constexpr int64_t kIntervalNs = 250 * kNsPerMs;
constexpr int64_t kBeginNs = 1'000 * kNsPerSecond;

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << '\n';
  std::abort();
}

int64_t AheadNs(uint32_t host) {
  return int64_t{host} * 10 * kNsPerSecond;
}

// One writer, whose frames are asked for in turn.
class LargeWriter {
 public:
  LargeWriter(uint32_t host, uint32_t qm, uint64_t writes, int64_t start_ns)
      : qm_(qm),
        left_(writes),
        next_ns_(start_ns + AheadNs(host)),
        interval_end_ns_(next_ns_),
        random_(host * 97 + qm) {
    // The last write of a frame ends before the interval does: latencies are drawn one ahead.
    Draw();
  }

  bool done() const { return left_ == 0; }

  v1::Frame Cut(int32_t interval, LargeFigures& figures) {
    v1::Frame frame;
    interval_end_ns_ += kIntervalNs;
    latency_.Clear();
    frame.set_qm(qm_);
    frame.set_first_interval(interval);
    frame.set_interval_count(1);
    if (left_ > 0 && end_ns() < interval_end_ns_) {
      frame.set_first_seq(seq_);
      frame.set_first_start_ns(next_ns_);
    }
    for (; left_ > 0 && end_ns() < interval_end_ns_; --left_, ++seq_) {
      latency_.Record(latency_ns_);
      encoder_.Add(next_ns_, latency_ns_);
      frame.set_last_end_ns(end_ns());
      next_ns_ = end_ns() + 1'000 + static_cast<int64_t>(random_() % 1'000);
      Draw();
    }
    *frame.mutable_latency() = latency_.ToProto();
    frame.set_bytes(latency_.count() * 4096);
    if (encoder_.size() > 0) frame.add_trace(encoder_.Finish());
    figures.writes += latency_.count();
    figures.sum_ns += absl::Uint128Low64(latency_.sum_ns());
    if (latency_.count() > 0) figures.min_ns = std::min(figures.min_ns, latency_.min_ns());
    figures.max_ns = std::max(figures.max_ns, latency_.max_ns());
    return frame;
  }

 private:
  int64_t end_ns() const { return next_ns_ + static_cast<int64_t>(latency_ns_); }
  void Draw() {
    const uint64_t bits = random_();
    latency_ns_ = bits % 1'000 == 0 ? 10'000'000 + bits % 7'000'000 : 200'000 + (bits >> 32U) % 200'000;
  }

  uint32_t qm_;
  uint64_t left_;
  uint64_t seq_ = 1;
  int64_t next_ns_;
  int64_t interval_end_ns_;
  uint64_t latency_ns_ = 0;
  std::mt19937_64 random_;
  Histogram latency_;
  TraceEncoder encoder_;
};

v1::JournalRecord At(int64_t time_ns) {
  v1::JournalRecord record;
  record.set_time_ns(time_ns);
  return record;
}

void AppendProbes(int64_t time_ns, uint32_t hosts, JournalWriter& journal) {
  for (uint32_t host = 0; host < hosts; ++host) {
    v1::JournalRecord record = At(time_ns);
    record.mutable_probes()->set_host(host);
    v1::ProbeResult& probe = *record.mutable_probes()->add_probes();
    probe.set_sent_ns(time_ns);
    probe.set_agent_received_ns(time_ns + 40'000 + AheadNs(host));
    probe.set_agent_sent_ns(time_ns + 40'000 + AheadNs(host));
    probe.set_received_ns(time_ns + 80'000);
    Must(journal.Append(record));
  }
}

void AppendBegin(uint32_t hosts, int64_t duration_ns, JournalWriter& journal) {
  v1::JournalRecord record = At(kBeginNs);
  v1::RunBegin& begin = *record.mutable_run_begin();
  begin.set_run_id("1a2b3c");
  begin.set_version("0.1.0");
  begin.set_wall_clock_ns(1'795'202'411 * kNsPerSecond);
  begin.set_frame_interval_ns(kIntervalNs);
  begin.mutable_plan()->set_max_slew_ppm(500);
  v1::LogStep& step = *begin.add_steps();
  step.set_block_size_bytes(4096);
  step.set_duration_ns(duration_ns);
  Must(journal.Append(record));
  for (uint32_t host = 0; host < hosts; ++host) {
    v1::JournalRecord join = At(kBeginNs);
    join.mutable_host_joined()->set_host(host);
    join.mutable_host_joined()->set_label("node" + std::to_string(host + 1));
    v1::LogWorkload& workload = *join.mutable_host_joined()->mutable_plan()->mutable_log()->mutable_workload();
    workload.set_qm(kQms);
    workload.set_file_size_bytes(16 << 20);
    workload.set_num_files(3);
    Must(journal.Append(join));
  }
}

}  // namespace

LargeFigures WriteLargeJournal(const std::string& path, uint32_t writers, uint64_t writes) {
  const uint32_t hosts = (writers + kQms - 1) / kQms;
  auto journal = JournalWriter::Create(path);
  Must(journal.status());
  // A write takes 312 us on average, 17 ms at most.
  const int64_t duration_ns = (static_cast<int64_t>(writes) * 400'000 / kIntervalNs + 2) * kIntervalNs;
  AppendBegin(hosts, duration_ns, **journal);
  int64_t now_ns = kBeginNs + kNsPerSecond;
  AppendProbes(now_ns, hosts, **journal);
  const int64_t start_ns = now_ns + kNsPerSecond;
  v1::JournalRecord begin = At(now_ns);
  begin.mutable_step_begin()->set_start_ns(start_ns);
  std::vector<std::vector<LargeWriter>> of_host(hosts);
  for (uint32_t host = 0; host < hosts; ++host) {
    begin.mutable_step_begin()->add_host_start_ns(start_ns + AheadNs(host));
    for (uint32_t qm = 1; qm <= kQms && host * kQms + qm <= writers; ++qm) {
      of_host[host].emplace_back(host, qm, writes, start_ns);
    }
  }
  Must((*journal)->Append(begin));
  LargeFigures figures;
  bool done = false;
  for (int32_t interval = 0; !done; ++interval) {
    done = true;
    now_ns = start_ns + (interval + 1) * kIntervalNs + kNsPerMs;
    for (uint32_t host = 0; host < hosts; ++host) {
      v1::JournalRecord record = At(now_ns);
      record.mutable_frames()->set_host(host);
      for (LargeWriter& writer : of_host[host]) {
        *record.mutable_frames()->add_frames() = writer.Cut(interval, figures);
        done = done && writer.done();
      }
      Must((*journal)->Append(record));
    }
    if (interval % 4 == 0) AppendProbes(now_ns, hosts, **journal);
  }
  v1::JournalRecord end = At(now_ns);
  end.mutable_step_end();
  Must((*journal)->Append(end));
  v1::JournalRecord run_end = At(now_ns);
  run_end.mutable_run_end();
  Must((*journal)->Append(run_end));
  Must((*journal)->Flush());
  return figures;
}

}  // namespace plimsoll::tests
