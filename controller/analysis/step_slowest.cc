#include "controller/analysis/step_slowest.h"

#include <algorithm>
#include <vector>

#include "common/stable_sort.h"

namespace plimsoll {
namespace {

constexpr size_t kShown = 10;

}  // namespace

v1::SlowestReport MakeSlowestReport(const RunContext& run, uint32_t host, uint32_t qm, const v1::WriteSample& write) {
  v1::SlowestReport slowest;
  slowest.set_host(run.hosts.at(host).label());
  slowest.set_qm(qm);
  slowest.set_number(write.seq());
  slowest.set_extent(write.extent());
  slowest.set_offset_bytes(write.offset_bytes());
  slowest.set_latency_ns(write.latency_ns());
  if (const auto moment = run.timeline.ToTimeline(host, write.start_ns())) {
    *slowest.mutable_start() = run.timeline.ToUtc(moment->local_ns);
    slowest.set_error_ns(moment->error_ns);
  }
  return slowest;
}

void AddSlowest(StepStats& stats, const RunContext& run, v1::StepReport& report) {
  struct Candidate {
    uint32_t host = 0;
    uint32_t qm = 0;
    const v1::WriteSample* write = nullptr;
  };
  std::vector<Candidate> slowest;
  for (const auto& [number, part] : stats.hosts()) {
    if (!run.hosts.contains(number)) continue;
    for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
      const WriterStats* writer = part.writers()[qm - 1].get();
      if (writer == nullptr) continue;
      for (const v1::WriteSample& write : writer->slow()) slowest.push_back({number, qm, &write});
    }
  }
  StableSort(slowest,
             [](const Candidate& a, const Candidate& b) { return a.write->latency_ns() > b.write->latency_ns(); });
  slowest.resize(std::min(slowest.size(), kShown));
  for (const Candidate& one : slowest) *report.add_slowest() = MakeSlowestReport(run, one.host, one.qm, *one.write);
}

}  // namespace plimsoll
